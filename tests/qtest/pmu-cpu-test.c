/*
 * Test of the CPU properties that ask for a PMU.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * QEMU does what the properties ask for, or refuses it.  The message then names
 * the option, the value, and what is possible.
 */

#include "qemu/osdep.h"

#include "pmu/machine.h"
#include "qapi/error.h"
#include "qobject/qjson.h"
#include "qobject/qlist.h"

typedef struct Refusal {
    const char *name;
    const char *cpu;
    const char *says[5];
} Refusal;

static const Refusal refusals[] = {
    { "amd", "EPYC,+perf-metrics",
      { "perf-metrics", "EPYC", "its PMU has no PERF_METRICS",
        "Icelake-Server", "SapphireRapids" } },
    { "other-intel", "Skylake-Server,+perf-metrics",
      { "perf-metrics", "Skylake-Server", "Icelake-Server",
        "SapphireRapids" } },
    { "snowridge", "Snowridge,+perf-metrics",
      { "perf-metrics", "Snowridge", "Icelake-Server" } },
    { "snowridge-pmu", "Snowridge,pmu=on",
      { "pmu=on", "Snowridge", "its PMU is not modelled", "Icelake-Server",
        "pentium3" } },
    { "i486", "486,pmu=on",
      { "pmu=on", "486", "its PMU is not modelled", "pentium, pentium2",
        "EPYC" } },
    { "default", "qemu64,+perf-metrics",
      { "perf-metrics", "qemu64", "Icelake-Server" } },
    { "max-metrics", "max,+perf-metrics",
      { "perf-metrics", "max", "Icelake-Server", "SapphireRapids" } },
    { "older-version", "qemu64,pmu=on,pmu-version=3",
      { "pmu-version=3 needs architectural performance monitoring: this CPU "
        "has the registers of AMD\n" } },
    { "older-events", "Nehalem,pmu=on,pmu-events-off=128",
      { "pmu-events-off=128 is out of range: this CPU has 7 architectural "
        "events, so that it must be 0 to 127\n" } },
    { "older-profile", "pentium3,pmu=on,pmu-profile=skx",
      { "pmu-profile=skx needs architectural performance monitoring: this CPU "
        "has the registers of P6\n" } },
    { "older-check", "kvm64,pmu=on,pmu-check=log",
      { "pmu-check needs architectural performance monitoring, version 2 or "
        "later\n" } },
    { "older-recorder", "coreduo,pmu=on,pmu-recorder=100",
      { "pmu-recorder needs architectural performance monitoring, version 2 "
        "or later\n" } },
    { "contradiction", "Icelake-Server,+perf-metrics,pmu=off",
      { "perf-metrics=on", "pmu=off" } },
    { "contradiction-before", "Icelake-Server,pmu=off,perf-metrics=on",
      { "perf-metrics=on", "pmu=off" } },
    { "width-small", "Icelake-Server,+perf-metrics,perf-metrics-width=7",
      { "perf-metrics-width=7", "8", "48" } },
    { "width-zero", "Icelake-Server,+perf-metrics,perf-metrics-width=0",
      { "perf-metrics-width=0", "8", "48" } },
    { "width-large", "Icelake-Server,+perf-metrics,perf-metrics-width=49",
      { "perf-metrics-width=49", "8", "48" } },
    { "width-absurd", "Icelake-Server,+perf-metrics,perf-metrics-width=300",
      { "perf-metrics-width=300", "8", "48" } },
    { "width-text", "Icelake-Server,+perf-metrics,perf-metrics-width=wide",
      { "perf-metrics-width", "wide" } },
    { "width-without", "Icelake-Server,pmu=on,perf-metrics-width=16",
      { "perf-metrics-width=16", "perf-metrics=on" } },
    { "sampling-without", "Icelake-Server,pmu-sampling=off",
      { "pmu-sampling=off", "pmu=on or perf-metrics=on" } },
    { "enforce", "Icelake-Server,+perf-metrics,enforce=on",
      { "TCG doesn't support requested features" } },
    { "no-pdcm", "Icelake-Server,+perf-metrics,-pdcm",
      { "perf-metrics", "pdcm" } },
    { "vendor", "Icelake-Server,+perf-metrics,vendor=AuthenticAMD",
      { "perf-metrics", "its PMU is not modelled" } },
    { "figure-small", "Icelake-Server,+perf-metrics,pmu-rob=7",
      { "pmu-rob=7 is out of range: it must be 8 to 1024\n" } },
    { "figure-large", "Icelake-Server,+perf-metrics,pmu-rob=1025",
      { "pmu-rob=1025 is out of range: it must be 8 to 1024\n" } },
    { "figure-zero", "Icelake-Server,pmu=on,pmu-width=0",
      { "pmu-width=0 is out of range: it must be 1 to 15\n" } },
    { "figure-negative", "Icelake-Server,pmu=on,pmu-prefetch-distance=-2",
      { "pmu-prefetch-distance=-2 is out of range: it must be 0 to 63\n" } },
    { "figure-text", "Icelake-Server,pmu=on,pmu-rob=large",
      { "pmu-rob=large", "pmu-rob must be a whole number, 8 to 1024\n" } },
    { "figure-size", "Icelake-Server,pmu=on,pmu-l2-size=128M",
      { "pmu-l2-size=134217728 is out of range: it must be 4096 to "
        "67108864\n" } },
    { "figure-size-text", "Icelake-Server,pmu=on,pmu-l2-size=large",
      { "pmu-l2-size=large", "pmu-l2-size must be a size in bytes, 4096 to "
        "67108864\n" } },
    { "figures-sets", "Icelake-Server,pmu=on,pmu-l2-size=2M",
      { "qemu-system-x86_64: pmu-l2-size=2097152 and pmu-l2-ways=20 do not go "
        "together: pmu-l2-size must be 64 times pmu-l2-ways times a whole "
        "number\n" } },
    { "figures-order", "SapphireRapids,pmu=on,pmu-l2-latency=76",
      { "qemu-system-x86_64: pmu-l2-latency=76 is more than "
        "pmu-l3-latency=75\n" } },
    { "figure-without", "Icelake-Server,pmu-l2-size=2M",
      { "qemu-system-x86_64: pmu-l2-size=2097152 needs pmu=on or "
        "perf-metrics=on\n" } },
    { "figure-other-cpu", "EPYC,pmu-rob=512",
      { "qemu-system-x86_64: pmu-rob=512 needs pmu=on or "
        "perf-metrics=on\n" } },
    { "what-if-version", "Icelake-Server,pmu=on,pmu-version=1",
      { "pmu-version=1 is out of range: it must be 2 to 5\n" } },
    { "what-if-counters", "Icelake-Server,pmu=on,pmu-counters=9",
      { "pmu-counters=9 is out of range: it must be 1 to 8\n" } },
    { "what-if-fixed", "Icelake-Server,pmu=on,pmu-fixed=2",
      { "pmu-fixed=2: it must be 0, 3 or 4\n" } },
    { "what-if-width", "Icelake-Server,pmu=on,pmu-counter-width=31",
      { "pmu-counter-width=31 is out of range: it must be 32 to 48\n" } },
    { "what-if-events",
      "Icelake-Server,pmu=on,pmu-version=4,pmu-events-off=128",
      { "pmu-events-off=128 is out of range: this CPU has 7 architectural "
        "events, so that it must be 0 to 127\n" } },
    { "what-if-metrics", "Icelake-Server,+perf-metrics,pmu-fixed=3",
      { "pmu-fixed=3 contradicts perf-metrics=on, which needs fixed counter 3: "
        "use pmu=on instead\n" } },
    { "what-if-profile-metrics",
      "Icelake-Server,+perf-metrics,pmu-profile=skx",
      { "pmu-profile=skx contradicts perf-metrics=on" } },
    { "what-if-clear", "Icelake-Server,pmu=on,pmu-metrics-clear=1",
      { "pmu-metrics-clear=1 needs perf-metrics=on\n" } },
    { "what-if-profile", "Icelake-Server,pmu=on,pmu-profile=esxi-like",
      { "pmu-profile=esxi-like is not known: it must be one of icx, skx, "
        "kvm-legacy\n" } },
    { "what-if-without", "Icelake-Server,pmu-version=3",
      { "pmu-version=3 needs pmu=on or perf-metrics=on\n" } },
    { "what-if-profile-without", "EPYC,pmu-profile=skx",
      { "pmu-profile=skx needs pmu=on or perf-metrics=on\n" } },
    { "check-mode", "Icelake-Server,pmu=on,pmu-check=loud",
      { "pmu-check=loud: it must be off, log, event, stop or exit\n" } },
    { "check-without", "Icelake-Server,pmu-check=log",
      { "qemu-system-x86_64: pmu-check needs pmu=on or perf-metrics=on\n" } },
    { "check-other-cpu", "EPYC,pmu-check-rules=-P2",
      { "pmu-check-rules needs pmu=on or perf-metrics=on\n" } },
    { "check-off", "Icelake-Server,pmu=on,pmu-check-rules=-P2",
      { "pmu-check-rules needs pmu-check=log, event, stop or exit\n" } },
    { "check-rule", "Icelake-Server,pmu=on,pmu-check=log,pmu-check-rules=+X1",
      { "pmu-check-rules=+X1: '+X1' is none of +RULE", "M1 to M11" } },
    { "check-suppress",
      "Icelake-Server,pmu=on,pmu-check=log,pmu-check-suppress=/nonexistent",
      { "pmu-check-suppress=/nonexistent: ", "No such file" } },
    { "check-map",
      "Icelake-Server,pmu=on,pmu-check=log,pmu-check-map=/dev/null",
      { "pmu-check-map=/dev/null: there is no symbol in it" } },
    { "check-text",
      "Icelake-Server,pmu=on,pmu-check=log,pmu-check-text=0x2-0x1",
      { "pmu-check-text=0x2-0x1: it must be FIRST-END" } },
    { "check-report",
      "Icelake-Server,pmu=on,pmu-check=log,pmu-check-report=/nonexistent/x",
      { "pmu-check-report=/nonexistent/x: no file can be created there: ",
        "No such file" } },
    { "check-report-directory",
      "Icelake-Server,pmu=on,pmu-check=log,pmu-check-report=/",
      { "pmu-check-report=/: it must be the name of a file\n" } },
    { "check-min-period",
      "Icelake-Server,pmu=on,pmu-check=log,pmu-check-min-period=-4",
      { "pmu-check-min-period=-4 is out of range: it must be 0 to "
        "140737488355328\n" } },
    { "check-min-period-large",
      "Icelake-Server,pmu=on,pmu-check=log,"
      "pmu-check-min-period=140737488355329",
      { "pmu-check-min-period=140737488355329 is out of range: it must be 0 to "
        "140737488355328\n" } },
    { "recorder", "Icelake-Server,pmu=on,pmu-recorder=1048577",
      { "pmu-recorder=1048577 is out of range: it must be 0 to 1048576\n" } },
    { "recorder-without", "Icelake-Server,pmu-recorder=10",
      { "pmu-recorder needs pmu=on or perf-metrics=on\n" } },
    { "figure-max", "max,pmu-rob=512",
      { "qemu-system-x86_64: pmu-rob=512 needs pmu=on or "
        "perf-metrics=on\n" } },
};

static void test_refusal(const void *data)
{
    const Refusal *row = data;
    g_autofree char *cpu = g_shell_quote(row->cpu);
    g_autofree char *args = g_strdup_printf("-cpu %s", cpu);
    int status;
    g_autofree char *output = pmu_start_and_quit(args, &status);
    unsigned lines = 0;

    pmu_expect(status, 1, "exit status with -cpu %s", row->cpu);
    for (int i = 0; i < ARRAY_SIZE(row->says) && row->says[i]; i++) {
        if (!strstr(output, row->says[i])) {
            g_test_message("the message does not say '%s'", row->says[i]);
            g_test_fail();
        }
    }
    /* Expect one line of error, besides warnings about features. */
    for (char *line = output; (line = strchr(line, '\n')); line++) {
        lines++;
    }
    for (char *line = output; (line = strstr(line, "warning:")); line++) {
        lines--;
    }
    pmu_expect(lines, 1, "lines of error message");
}

/*
 * QEMU warns of a feature that TCG lacks if the user asked for it.  If only the
 * CPU model implies it, and this model has the PMU, there is no warning.
 */
typedef struct Warning {
    const char *name;
    const char *cpu;
    unsigned lines;             /* of warnings */
    const char *says;           /* what each line says, or NULL */
} Warning;

static const Warning warnings[] = {
    { "icelake", "Icelake-Server,+perf-metrics" },
    { "icelake-newest", "Icelake-Server-v7,+perf-metrics" },
    { "icelake-pmu", "Icelake-Server,pmu=on" },
    { "sapphire-rapids", "SapphireRapids,+perf-metrics" },
    { "users", "Icelake-Server,+perf-metrics,+avx512f", 1, "avx512f" },
    { "users-on", "Icelake-Server,avx512f=on,+perf-metrics", 1, "avx512f" },
};

static void test_warning(const void *data)
{
    const Warning *row = data;
    g_autofree char *args = g_strdup_printf("-smp 2 -cpu %s", row->cpu);
    int status;
    g_autofree char *output = pmu_start_and_quit(args, &status);
    g_auto(GStrv) lines = g_strsplit(output, "\n", -1);
    unsigned number = 0;

    pmu_expect(status, 0, "exit status with -cpu %s", row->cpu);
    for (int i = 0; lines[i] && *lines[i]; i++, number++) {
        if (!row->says || !strstr(lines[i], "TCG doesn't support") ||
            !strstr(lines[i], row->says)) {
            g_test_message("-cpu %s says: %s", row->cpu, lines[i]);
            g_test_fail();
        }
    }
    /* Both CPUs print each warning. */
    pmu_expect(number, 2 * row->lines, "lines of warnings with -cpu %s",
               row->cpu);
}

/* Features without a warning are filtered, too; QMP lists them. */
static void test_filtered(void)
{
    QTestState *qts = qtest_init(PMU_CPU_METRICS "-accel tcg");
    QDict *answer = qtest_qmp(qts, "{ 'execute': 'qom-get', 'arguments': {"
                              "'path': '/machine/unattached/device[0]',"
                              "'property': 'filtered-features' } }");
    QListEntry *entry;
    bool avx512f = false;

    QLIST_FOREACH_ENTRY(qdict_get_qlist(answer, "return"), entry) {
        QDict *word = qobject_to(QDict, qlist_entry_obj(entry));

        if (g_str_equal(qdict_get_str(word, "cpuid-register"), "EBX") &&
            qdict_get_int(word, "cpuid-input-eax") == 7) {
            avx512f = qdict_get_int(word, "features") >> 16 & 1;
        }
    }
    g_assert_true(avx512f);
    qobject_unref(answer);
    qtest_quit(qts);
}

typedef struct Accepted {
    const char *name;
    const char *cpu;
    uint32_t version;           /* CPUID.1:EAX without stepping */
    uint64_t capabilities;      /* IA32_PERF_CAPABILITIES */
    bool pmu, pdcm;
} Accepted;

static const Accepted accepted[] = {
    /* The plain model has model number 134, Tremont; a PMU makes it 106. */
    { "plain", "Icelake-Server,+perf-metrics", 0x606a0, 0xa000, true, true },
    { "plain-pmu", "Icelake-Server,pmu=on", 0x606a0, 0x2000, true, true },
    { "v1", "Icelake-Server-v1,+perf-metrics", 0x606a0, 0xa000, true, true },
    { "v4", "Icelake-Server-v4,+perf-metrics", 0x606a0, 0xa000, true, true },
    { "alias", "Icelake-Server-noTSX,+perf-metrics", 0x606a0, 0xa000, true,
      true },
    { "newest", "Icelake-Server-v7,+perf-metrics", 0x606a0, 0xa000, true,
      true },
    { "users-model", "Icelake-Server,+perf-metrics,model=134", 0x80660,
      0xa000, true, true },
    { "users-model-first", "Icelake-Server,model=125,+perf-metrics", 0x706d0,
      0xa000, true, true },
    { "spelled-out", "Icelake-Server,perf-metrics=on,pmu=on", 0x606a0, 0xa000,
      true, true },
    { "off", "Icelake-Server,pmu=on,perf-metrics=off", 0x606a0, 0x2000, true,
      true },
    { "no-full-width", "Icelake-Server,+perf-metrics,-full-width-write",
      0x606a0, 0x8000, true, true },
    { "width-least", "Icelake-Server,+perf-metrics,perf-metrics-width=8",
      0x606a0, 0xa000, true, true },
    { "width-most", "Icelake-Server,+perf-metrics,perf-metrics-width=48",
      0x606a0, 0xa000, true, true },
    { "sapphire-rapids", "SapphireRapids,+perf-metrics", 0x806f0, 0xa000,
      true, true },
    { "max-as-icelake",
      "max,vendor=GenuineIntel,family=6,model=106,+perf-metrics", 0x606a0,
      0xa000, true, true },
    { "none", "Icelake-Server", 0x80660, 0, false, false },
    { "pmu-off", "Icelake-Server,pmu=off", 0x80660, 0, false, false },
    { "max", "max,model=6,family=6", 0x00660, 0, false, false },
    { "max-as-icelake-without", "max,vendor=GenuineIntel,family=6,model=106",
      0x606a0, 0, false, false },
};

static void test_accepted(const void *data)
{
    const Accepted *row = data;
    g_autofree char *args = g_strdup_printf("-cpu %s,check=off", row->cpu);
    g_autoptr(PmuScript) s = pmu_script_new();
    unsigned version = pmu_op(s, OP_CPUID, 1, 0, 0);
    unsigned leaf = pmu_op(s, OP_CPUID, 10, 0, 0);
    unsigned capabilities = pmu_rdmsr(s, MSR_CAPABILITIES);

    pmu_run(s, args);
    pmu_expect(pmu_value(s, version) & 0xffff0ff0, row->version,
               "CPUID.1:EAX of %s", row->cpu);
    pmu_expect(s->result[0][version].value[1] >> 15 & 1, row->pdcm,
               "PDCM of %s", row->cpu);
    pmu_expect(pmu_value(s, leaf), row->pmu ? 0x08300805 : 0,
               "CPUID.0AH:EAX of %s", row->cpu);
    pmu_expect(pmu_register(s, capabilities), row->capabilities,
               "IA32_PERF_CAPABILITIES of %s", row->cpu);
}

/* Returns property @name of vCPU @number, as it is after the start. */
static int64_t cpu_property(PmuMachine *machine, unsigned number,
                            const char *name)
{
    g_autoptr(QDict) cpus = qtest_qmp(machine->qts,
                                      "{'execute': 'query-cpus-fast'}");
    g_autoptr(QDict) value = NULL;
    const QListEntry *entry = qlist_first(qdict_get_qlist(cpus, "return"));

    while (number--) {
        entry = qlist_next(entry);
    }
    value = qtest_qmp(machine->qts,
                      "{'execute': 'qom-get', 'arguments': {'path': %s, "
                      "'property': %s}}",
                      qdict_get_str(qobject_to(QDict, qlist_entry_obj(entry)),
                                    "qom-path"), name);
    g_assert_true(qdict_haskey(value, "return"));
    return qdict_get_int(value, "return");
}

/* PMUs with other registers: their CPUID, and GLOBAL_CTRL after RESET. */
typedef struct WhatIf {
    const char *cpu;
    uint32_t eax, ebx, ecx, edx;
    uint64_t capabilities, global_ctrl;
} WhatIf;

/* Up to version 4, there are seven architectural events, without slots. */
#define EAX(version, counters, width) \
    (((version) >= 5 ? 8 : 7) << 24 | (width) << 16 | (counters) << 8 | \
     (version))
#define EDX(fixed, width, deprecated) \
    ((fixed) | (width) << 5 | (deprecated) << 15)

static const WhatIf what_ifs[] = {
    { "pmu-version=4", EAX(4, 8, 48), 0, 0, EDX(4, 48, 0), 0x2000, 0xff },
    { "pmu-counters=3", EAX(5, 3, 48), 0, 15, EDX(4, 48, 1), 0x2000, 7 },
    { "pmu-fixed=3", EAX(5, 8, 48), 0, 7, EDX(3, 48, 1), 0x2000, 0xff },
    { "pmu-fixed=0", EAX(5, 8, 48), 0, 0, EDX(0, 48, 1), 0x2000, 0xff },
    { "pmu-counter-width=40", EAX(5, 8, 40), 0, 15, EDX(4, 40, 1), 0x2000,
      0xff },
    { "pmu-anythread=1", EAX(5, 8, 48), 0, 15, EDX(4, 48, 0), 0x2000, 0xff },
    { "pmu-events-off=0x41", EAX(5, 8, 48), 0x41, 15, EDX(4, 48, 1), 0x2000,
      0xff },
    { "pmu-reset-gc=0", EAX(5, 8, 48), 0, 15, EDX(4, 48, 1), 0x2000, 0 },
    { "perf-metrics=on,pmu-metrics-clear=1", EAX(5, 8, 48), 0, 15,
      EDX(4, 48, 1), 0x8a000, 0xff },
    { "pmu-profile=icx", EAX(5, 8, 48), 0, 15, EDX(4, 48, 1), 0x2000, 0xff },
    { "pmu-profile=skx", EAX(4, 4, 48), 0, 0, EDX(3, 48, 0), 0x2000, 15 },
    { "pmu-profile=skx,pmu-counters=8", EAX(4, 8, 48), 0, 0, EDX(3, 48, 0),
      0x2000, 0xff },
    { "pmu-profile=kvm-legacy", EAX(2, 4, 48), 0, 0, EDX(3, 48, 0), 0, 0 },
    { "pmu-profile=kvm-legacy,full-width-write=on", EAX(2, 4, 48), 0, 0,
      EDX(3, 48, 0), 0x2000, 0 },
};

static void test_what_if(const void *data)
{
    const WhatIf *row = data;
    g_autofree char *args = g_strdup_printf(
        "-cpu Icelake-Server,pmu=on,check=off,%s", row->cpu);
    g_autoptr(PmuScript) s = pmu_script_new();
    unsigned leaf = pmu_op(s, OP_CPUID, 10, 0, 0);
    unsigned capabilities = pmu_rdmsr(s, MSR_CAPABILITIES);
    unsigned global_ctrl = pmu_rdmsr(s, MSR_GLOBAL_CTRL), any;
    uint64_t value[2];

    pmu_wrmsr(s, MSR_EVTSEL(0), EVENT_INSTRUCTIONS | EVTSEL_ANY);
    any = pmu_rdmsr(s, MSR_EVTSEL(0));
    pmu_run(s, args);
    memcpy(value, s->result[0][leaf].value, sizeof(value));
    pmu_expect((uint32_t)value[0], row->eax, "EAX of %s", row->cpu);
    pmu_expect(value[0] >> 32, row->ebx, "EBX of %s", row->cpu);
    pmu_expect((uint32_t)value[1], row->ecx, "ECX of %s", row->cpu);
    pmu_expect(value[1] >> 32, row->edx, "EDX of %s", row->cpu);
    pmu_expect(pmu_register(s, capabilities), row->capabilities,
               "IA32_PERF_CAPABILITIES of %s", row->cpu);
    pmu_expect(pmu_register(s, global_ctrl), row->global_ctrl,
               "IA32_PERF_GLOBAL_CTRL of %s", row->cpu);
    if ((row->eax & 0xff) >= 3) {
        pmu_expect(pmu_register(s, any) & EVTSEL_ANY,
                   row->edx >> 15 ? 0 : EVTSEL_ANY, "AnyThread of %s",
                   row->cpu);
    }
}

/* With pmu-metrics-clear, RDPMC at CPL 3 clears PERF_METRICS and slots. */
static void test_metrics_clear(void)
{
    g_autoptr(PmuScript) s = pmu_script_new();
    unsigned first, second, slots;

    pmu_op(s, OP_CR4, 0, 1 << 8, 0);
    pmu_wrmsr(s, MSR_GLOBAL_CTRL, 0);
    pmu_wrmsr(s, MSR_FIXED_CTR(3), 1000);
    pmu_wrmsr(s, MSR_PERF_METRICS, 0x40302010);
    pmu_wrmsr(s, MSR_FIXED_CTR_CTRL, 0x4000);
    first = pmu_op(s, OP_RDPMC, 0x20000000, RDPMC_CPL3, 0);
    second = pmu_op(s, OP_RDPMC, 0x20000000, RDPMC_CPL3, 0);
    slots = pmu_rdmsr(s, MSR_FIXED_CTR(3));
    pmu_run(s, "-cpu Icelake-Server,+perf-metrics,check=off,"
            "pmu-metrics-clear=1");
    pmu_expect(pmu_register(s, first), 0x40302010, "first RDPMC");
    pmu_expect(pmu_register(s, second), 0, "second RDPMC");
    pmu_expect(pmu_register(s, slots), 0, "IA32_FIXED_CTR3");
}

typedef struct Figure {
    const char *cpu, *property;
    int64_t value;
} Figure;

static const Figure figures[] = {
    { "Icelake-Server,+perf-metrics", "pmu-rob", 352 },
    { "SapphireRapids,+perf-metrics", "pmu-rob", 512 },
    { "Icelake-Server,+perf-metrics,pmu-rob=8", "pmu-rob", 8 },
    { "Icelake-Server,+perf-metrics,pmu-rob=1024", "pmu-rob", 1024 },
    { "Icelake-Server,pmu=on,pmu_rob=400", "pmu-rob", 400 },
    /* A figure that is not set reads as -1 or 0; these may be set, too. */
    { "Icelake-Server,pmu=on,pmu-rob=-1", "pmu-rob", 352 },
    { "Icelake-Server,pmu=on,pmu-l2-size=0", "pmu-l2-size", 1280 << 10 },
    { "Icelake-Server", "pmu-rob", -1 },
    { "Icelake-Server", "pmu-l2-size", 0 },
    { "Icelake-Server,pmu=on,pmu-prefetch-distance=0",
      "pmu-prefetch-distance", 0 },
    { "Icelake-Server,pmu=on,pmu-l2-size=2M,pmu-l2-ways=16", "pmu-l2-size",
      2 << 20 },
    { "Icelake-Server,pmu=on,pmu-l2-ways=16,pmu-l2-size=2097152",
      "pmu-l2-ways", 16 },
    { "Icelake-Server,pmu=on,pmu-frequency=3500", "pmu-tsc-frequency",
      2800 },
    { "max,vendor=GenuineIntel,family=6,model=143,pmu=on,pmu-width=8",
      "pmu-width", 8 },
};

static void test_figures(void)
{
    for (int i = 0; i < ARRAY_SIZE(figures); i++) {
        const Figure *row = &figures[i];
        g_autofree char *args = g_strdup_printf("-cpu %s,check=off", row->cpu);
        g_autoptr(PmuScript) s = pmu_script_new();
        PmuMachine machine;

        pmu_start(&machine, s, args);
        pmu_expect(cpu_property(&machine, 0, row->property), row->value,
                   "%s of %s", row->property, row->cpu);
        pmu_stop(&machine);
    }
}

/* Returns the cycles of a load that finds its line in the L2 of @cpu. */
static uint64_t chase_cycles(const char *cpu)
{
    g_autofree char *args = g_strdup_printf("-cpu %s,check=off", cpu);
    g_autoptr(PmuScript) s = pmu_script_new();
    unsigned loads = 16384, before, after;

    pmu_wrmsr(s, MSR_FIXED_CTR_CTRL, FIXED_ALL(1));
    pmu_op(s, OP_RUN, BLOCK_CHASE, GLOBAL_FIXED(1), loads);
    before = pmu_rdpmc(s, 0x40000001);
    pmu_op(s, OP_RUN, BLOCK_CHASE, GLOBAL_FIXED(1), loads);
    after = pmu_rdpmc(s, 0x40000001);
    pmu_run(s, args);
    return (pmu_register(s, after) - pmu_register(s, before)) / loads;
}

/* Figures of the core that the user sets change what a guest counts. */
static void test_figures_matter(void)
{
    uint64_t own = chase_cycles("Icelake-Server,pmu=on");
    uint64_t slow = chase_cycles("Icelake-Server,pmu=on,pmu-l2-latency=60");
    uint64_t small = chase_cycles("Icelake-Server,pmu=on,pmu-l2-size=256K,"
                                  "pmu-l2-ways=8");

    g_test_message("L2 of 14 cycles: %" PRIu64 " a load; of 60: %" PRIu64
                   "; of 256 KiB: %" PRIu64, own, slow, small);
    g_assert_cmpuint(slow, >=, own + 40);
    g_assert_cmpuint(slow, <=, own + 60);
    g_assert_cmpuint(small, >=, own + 25);
}

/* query-cpu-model-expansion returns and accepts figures that are set. */
static void test_expansion(void)
{
    QTestState *qts = qtest_init("-machine none -accel tcg");
    g_autoptr(QDict) first = qtest_qmp(qts,
        "{'execute': 'query-cpu-model-expansion', 'arguments': {"
        "'type': 'full', 'model': {'name': 'Icelake-Server'}}}");
    g_autoptr(QDict) second = NULL;
    QDict *model = qdict_get_qdict(qdict_get_qdict(first, "return"), "model");

    pmu_expect(qdict_get_int(qdict_get_qdict(model, "props"), "pmu-rob"), -1,
               "pmu-rob");
    second = qtest_qmp(qts,
        "{'execute': 'query-cpu-model-expansion', 'arguments': {"
        "'type': 'full', 'model': {'name': 'Icelake-Server', 'props': {"
        "'pmu': true, 'pmu-rob': 400, 'pmu-l2-size': 0}}}}");
    model = qdict_get_qdict(qdict_get_qdict(second, "return"), "model");
    pmu_expect(qdict_get_int(qdict_get_qdict(model, "props"), "pmu-rob"), 400,
               "pmu-rob that was set");
    qtest_quit(qts);
}

/* A leaf of CPUID.  EAX of leaf 4 only has the bits of LEAF_4_SELF. */
typedef struct Leaf {
    uint32_t leaf, subleaf;
    uint32_t eax, ebx, ecx, edx;
} Leaf;

#define LEAF_4_SELF         0x1ff       /* type, level, self-initializing */
#define LEAF_4_SHARING(eax) ((eax) >> 14 & 0xfff)

#define WAYS(n)             (((n) - 1) << 22 | 63)
#define SETS(n)             ((n) - 1)

typedef struct Caches {
    const char *name;
    const char *args;
    Leaf leaves[8];
} Caches;

/* Silicon: leaves 4 and 80000006H of a Xeon Gold 6330 (InstLatx64). */
static const Caches caches[] = {
    { "icelake", "-cpu Icelake-Server,+perf-metrics",
      { { 4, 0, 0x121, WAYS(12), SETS(64), 0 },
        { 4, 1, 0x122, WAYS(8), SETS(64), 0 },
        { 4, 2, 0x143, WAYS(20), SETS(1024), 0 },
        { 4, 3, 0x163, WAYS(12), SETS(65536), 4 },
        { 4, 4, 0, 0, 0, 0 },
        { 2, 0, 1, 0, 0xff, 0xff30ff },
        { 0x80000005, 0, 0, 0, 0, 0 },
        { 0x80000006, 0, 0, 0, 0x05007040, 0 } } },
    { "sapphire-rapids", "-cpu SapphireRapids,pmu=on",
      { { 4, 0, 0x121, WAYS(12), SETS(64), 0 },
        { 4, 2, 0x143, WAYS(16), SETS(2048), 0 },
        { 4, 3, 0x163, WAYS(15), SETS(65536), 4 },
        { 0x80000006, 0, 0, 0, 0x08008040, 0 } } },
    { "changed", "-cpu Icelake-Server,pmu=on,pmu-l1d-size=16K,pmu-l1d-ways=4,"
      "pmu-l1i-size=64K,pmu-l2-size=240K,pmu-l2-ways=10,pmu-l3-size=3M,"
      "pmu-l3-ways=24",
      { { 4, 0, 0x121, WAYS(4), SETS(64), 0 },
        { 4, 1, 0x122, WAYS(8), SETS(128), 0 },
        /* Complex indexing: not the low bits of an address choose the set. */
        { 4, 2, 0x143, WAYS(10), SETS(384), 4 },
        { 4, 3, 0x163, WAYS(24), SETS(2048), 4 },
        { 0x80000006, 0, 0, 0, 0x00f07040, 0 } } },
    { "no-l3", "-cpu Icelake-Server,pmu=on,l3-cache=off",
      { { 4, 2, 0x143, WAYS(20), SETS(1024), 0 },
        { 4, 3, 0, 0, 0, 0 } } },
    /* QEMU's own values, without a PMU. */
    { "without", "-cpu Icelake-Server",
      { { 4, 0, 0x121, WAYS(8), SETS(64), 1 },
        { 4, 1, 0x122, WAYS(8), SETS(64), 1 },
        { 4, 2, 0x143, WAYS(16), SETS(4096), 1 },
        { 4, 3, 0x163, WAYS(16), SETS(16384), 6 },
        { 2, 0, 1, 0, 0x4d, 0x2c307d },
        { 0x80000005, 0, 0x01ff01ff, 0x01ff01ff, 0x40020140, 0x40020140 },
        { 0x80000006, 0, 0, 0x42004200, 0x02008140, 0x00808140 } } },
    { "legacy", "-cpu Icelake-Server,pmu=on,legacy-cache=on",
      { { 4, 0, 0x121, WAYS(8), SETS(64), 1 },
        { 4, 2, 0x143, WAYS(16), SETS(4096), 1 },
        { 0x80000006, 0, 0, 0x42004200, 0x02008140, 0x00808140 } } },
};

static void expect_leaf(const PmuScript *s, const Leaf *leaf, unsigned index)
{
    uint64_t eax_ebx = pmu_value(s, index);
    uint64_t ecx_edx = s->result[0][index].value[1];
    uint32_t eax = eax_ebx;

    if (leaf->leaf == 4) {
        eax &= LEAF_4_SELF;
    }
    pmu_expect(eax, leaf->eax, "CPUID.%XH.%u:EAX", leaf->leaf, leaf->subleaf);
    pmu_expect(eax_ebx >> 32, leaf->ebx, "CPUID.%XH.%u:EBX", leaf->leaf,
               leaf->subleaf);
    pmu_expect((uint32_t)ecx_edx, leaf->ecx, "CPUID.%XH.%u:ECX", leaf->leaf,
               leaf->subleaf);
    pmu_expect(ecx_edx >> 32, leaf->edx, "CPUID.%XH.%u:EDX", leaf->leaf,
               leaf->subleaf);
}

/* CPUID tells the guest of the caches that are modelled. */
static void test_caches(const void *data)
{
    const Caches *row = data;
    g_autofree char *args = g_strdup_printf("%s,check=off", row->args);
    g_autoptr(PmuScript) s = pmu_script_new();
    unsigned index[ARRAY_SIZE(row->leaves)];
    unsigned n;

    for (n = 0; n < ARRAY_SIZE(row->leaves) && row->leaves[n].leaf; n++) {
        index[n] = pmu_op(s, OP_CPUID, row->leaves[n].leaf,
                          row->leaves[n].subleaf, 0);
    }
    pmu_run(s, args);
    while (n--) {
        expect_leaf(s, &row->leaves[n], index[n]);
    }
}

/* Loads of BLOCK_CHASE, from a line each.  The lines fit L2, but not L1D. */
#define CHASE_LOADS             16384

/* Indices of operations that read the counters of L3 references and misses. */
typedef struct Chase {
    unsigned references, misses;
} Chase;

static void count_llc(PmuScript *s)
{
    uint64_t on = EVTSEL_OS | EVTSEL_EN;

    pmu_wrmsr(s, MSR_GLOBAL_CTRL, 0);
    pmu_wrmsr(s, MSR_EVTSEL(0), EVENT_LLC_REFERENCES | on);
    pmu_wrmsr(s, MSR_EVTSEL(1), EVENT_LLC_MISSES | on);
    pmu_wrmsr(s, MSR_PMC(0), 0);
    pmu_wrmsr(s, MSR_PMC(1), 0);
}

static Chase chase(PmuScript *s)
{
    Chase result;

    count_llc(s);
    pmu_op(s, OP_RUN, BLOCK_CHASE, GLOBAL_GP(0) | GLOBAL_GP(1), CHASE_LOADS);
    result.references = pmu_rdpmc(s, 0);
    result.misses = pmu_rdpmc(s, 1);
    return result;
}

/* Expect that (almost) all lines of @chase were in the L3, or none. */
static void expect_chase(const PmuScript *s, Chase chase, bool in_l3,
                         const char *who)
{
    uint64_t references = pmu_register(s, chase.references);
    uint64_t misses = pmu_register(s, chase.misses);

    g_test_message("%s: %" PRIu64 " references, %" PRIu64 " misses", who,
                   references, misses);
    g_assert_cmpuint(references, >, CHASE_LOADS * 9 / 10);
    if (in_l3) {
        g_assert_cmpuint(misses, <, CHASE_LOADS / 20);
    } else {
        g_assert_cmpuint(misses, >, CHASE_LOADS * 9 / 10);
    }
}

typedef struct Sharing {
    const char *name;
    const char *args;
    bool shared;
    unsigned apic_ids;          /* that share the L3, by CPUID leaf 4 */
} Sharing;

static const Sharing sharings[] = {
    { "cores", "-smp 2", true, 2 },
    { "threads", "-smp 2,threads=2", true, 2 },
    { "sockets", "-smp 2,sockets=2", false, 1 },
    { "dies", "-smp 2,dies=2", false, 1 },
    { "dies-of-socket", "-smp 2,dies=2 -machine smp-cache.0.cache=l3,"
      "smp-cache.0.topology=socket", true, 2 },
    { "caches-of-cores", "-smp 2 -machine smp-cache.0.cache=l3,"
      "smp-cache.0.topology=core", false, 1 },
    { "one-thread", "-smp 2 -accel tcg,thread=single", true, 2 },
    { "icount", "-smp 2 -icount shift=3", true, 2 },
    { "sapphire-rapids", "-smp 2", true, 2 },
};

/* vCPUs find each other's lines in the L3 if CPUID says that they share it. */
static void test_sharing(const void *data)
{
    const Sharing *row = data;
    bool spr = g_str_equal(row->name, "sapphire-rapids");
    /* Of "pc" and "q35", only q35 has dies. */
    g_autofree char *args = g_strdup_printf("-machine q35 %s %s",
                                            spr ? PMU_CPU_SPR
                                                : PMU_CPU_METRICS, row->args);
    g_autoptr(PmuScript) s = pmu_script_new();
    PmuMachine machine;
    unsigned leaf_4;
    Chase first, second;

    leaf_4 = pmu_op(s, OP_CPUID, 4, 3, 0);
    first = chase(s);
    pmu_op(s, OP_START_CPU, 0, 1, 0);
    pmu_op(s, OP_WAIT_CPU, 0, 1, 0);
    s->cpu = 1;
    second = chase(s);
    s->cpu = 0;
    pmu_start(&machine, s, args);
    pmu_wait_done(&machine, 2);
    pmu_read_results(&machine, s, 2);
    pmu_stop(&machine);
    pmu_expect(LEAF_4_SHARING(pmu_value(s, leaf_4)) + 1, row->apic_ids,
               "APIC IDs that share the L3");
    expect_chase(s, first, false, "first");
    s->cpu = 1;
    expect_chase(s, second, row->shared, "second");
}

/* RESET and INIT leave the L3 as it is, as other vCPUs may share it. */
static void test_sharing_reset(const void *data)
{
    g_autoptr(PmuScript) s = pmu_script_new();
    Chase first, second;

    first = chase(s);
    pmu_op(s, GPOINTER_TO_UINT(data), 0, 0, 0);
    /* Evict the lines from L1D and L2: PAYLOAD_PAGED is 2 MiB. */
    count_llc(s);
    pmu_op(s, OP_RUN, BLOCK_STOSQ, GLOBAL_GP(0), 1 << 18);
    second = chase(s);
    pmu_run(s, PMU_CPU_METRICS);
    expect_chase(s, first, false, "before");
    expect_chase(s, second, true, "after");
}

/* A CPU that is plugged in later has a PMU as well. */
static void test_hotplug(void)
{
    g_autoptr(PmuScript) s = pmu_script_new();
    unsigned counter;
    PmuMachine machine;

    pmu_op(s, OP_SYNC, 0, 1, 0);
    pmu_op(s, OP_START_CPU, 0, 1, 0);
    pmu_op(s, OP_WAIT_CPU, 0, 1, 0);
    s->cpu = 1;
    pmu_wrmsr(s, MSR_GLOBAL_CTRL, 0);
    pmu_wrmsr(s, MSR_FIXED_CTR_CTRL, FIXED_USR(0) | FIXED_USR(3));
    pmu_op(s, OP_RUN, BLOCK_NOPS | RUN_CPL3,
           GLOBAL_FIXED(0) | GLOBAL_FIXED(3), 0);
    counter = pmu_rdpmc(s, 0x40000000);
    s->cpu = 0;
    pmu_start(&machine, s, PMU_CPU_METRICS "-smp 1,maxcpus=2");
    pmu_wait_for(&machine, 1);
    qtest_qmp_assert_success(machine.qts,
                             "{'execute': 'device_add', 'arguments': {"
                             " 'driver': 'Icelake-Server-x86_64-cpu',"
                             " 'id': 'hot', 'socket-id': 0, 'core-id': 1,"
                             " 'thread-id': 0}}");
    pmu_go(&machine, 1);
    pmu_wait_done(&machine, 2);
    pmu_read_results(&machine, s, 2);
    pmu_stop(&machine);
    s->cpu = 1;
    pmu_expect(pmu_register(s, counter), NOPS + 1 + RUN_CPL3_USR_INSNS,
               "instructions of the second CPU");
}

/* Plug in vCPU 1, with more properties @more, which may be empty. */
static QDict *plug(PmuMachine *machine, const char *more)
{
    g_autofree char *command = g_strdup_printf(
        "{'execute': 'device_add', 'arguments': {'id': 'hot', "
        "'driver': 'Icelake-Server-x86_64-cpu', 'socket-id': 0, "
        "'core-id': 1, 'thread-id': 0%s}}", more);

    return qtest_qmp(machine->qts, "%p", qobject_from_json(command,
                                                           &error_abort));
}

static void plug_refused(PmuMachine *machine, const char *more,
                         const char *says)
{
    g_autoptr(QDict) answer = plug(machine, more);

    g_assert_true(qdict_haskey(answer, "error"));
    g_assert_cmpstr(qdict_get_str(qdict_get_qdict(answer, "error"), "desc"),
                    ==, says);
}

/* Registers of CPU hotplug of "pc" (docs/specs/acpi_cpu_hotplug.rst). */
#define HOTPLUG_SELECTOR    0xaf00
#define HOTPLUG_FLAGS       0xaf04
#define HOTPLUG_EJECT       8

/* Unplug vCPU 1, as a guest would. */
static void unplug(PmuMachine *machine)
{
    /* Switch to the registers of the specification. */
    qtest_outb(machine->qts, HOTPLUG_SELECTOR, 0);
    qtest_qmp_assert_success(machine->qts, "{'execute': 'device_del', "
                             "'arguments': {'id': 'hot'}}");
    qtest_outl(machine->qts, HOTPLUG_SELECTOR, 1);
    qtest_outb(machine->qts, HOTPLUG_FLAGS, HOTPLUG_EJECT);
    qtest_qmp_eventwait(machine->qts, "DEVICE_DELETED");
}

/*
 * A CPU that is unplugged leaves its lines in the L3 that it shared.  One whose
 * hotplug failed leaves nothing behind.
 */
static void test_unplug(void)
{
    g_autoptr(PmuScript) s = pmu_script_new();
    PmuMachine machine;
    Chase first, after;

    pmu_op(s, OP_SYNC, 0, 1, 0);
    pmu_op(s, OP_START_CPU, 0, 1, 0);
    pmu_op(s, OP_WAIT_CPU, 0, 1, 0);
    pmu_op(s, OP_SYNC, 0, 2, 0);
    after = chase(s);
    s->cpu = 1;
    first = chase(s);
    s->cpu = 0;
    pmu_start(&machine, s, PMU_CPU_METRICS "-machine pc -smp 1,maxcpus=2");
    pmu_wait_for(&machine, 1);
    plug_refused(&machine, ", 'pmu-l3-size': 25165824",
                 "pmu-l3-size=25165824 and pmu-l3-ways=12: this vCPU shares "
                 "its L3 with others, for which they are 50331648 and 12");
    plug_refused(&machine, ", 'pmu-rob': 4000",
                 "pmu-rob=4000 is out of range: it must be 8 to 1024");
    plug_refused(&machine, ", 'pmu-l2-ways': 7",
                 "pmu-l2-size=1310720 and pmu-l2-ways=7 do not go together: "
                 "pmu-l2-size must be 64 times pmu-l2-ways times a whole "
                 "number");
    plug_refused(&machine, ", 'pmu-lock-latency': 20",
                 "pmu-lock-latency=20: this vCPU shares translated code with "
                 "others, for which it is 13");
    qobject_unref(plug(&machine, ", 'pmu-rob': 400"));
    pmu_expect(cpu_property(&machine, 0, "pmu-rob"), 352, "first CPU's ROB");
    pmu_expect(cpu_property(&machine, 1, "pmu-rob"), 400, "second CPU's ROB");
    pmu_go(&machine, 1);
    pmu_wait_for(&machine, 2);
    unplug(&machine);
    pmu_go(&machine, 2);
    pmu_wait_done(&machine, 2);
    pmu_read_results(&machine, s, 2);
    s->cpu = 1;
    expect_chase(s, first, false, "the one that was taken away");
    s->cpu = 0;
    expect_chase(s, after, true, "the one that stays");
    pmu_stop(&machine);
}

/* How often the one fault on demand has fired. */
static uint64_t fired(PmuMachine *machine)
{
    g_autoptr(QDict) answer = qtest_qmp(machine->qts, "{'execute': "
                                        "'x-query-pmu-faults'}");
    const QListEntry *first = qlist_first(qdict_get_qlist(answer, "return"));

    return qdict_get_int(qobject_to(QDict, qlist_entry_obj(first)), "fired");
}

/* A fault on demand of a vCPU that was unplugged has not fired in its next. */
static void test_unplug_fault(void)
{
    g_autoptr(PmuScript) s = pmu_script_new();
    PmuMachine machine;

    pmu_op(s, OP_SYNC, 0, 1, 0);
    /* QEMU 10.0 has room for this many threads of vCPUs, gone ones included. */
    pmu_start(&machine, s, PMU_CPU_METRICS "-machine pc -smp 1,maxcpus=3");
    pmu_wait_for(&machine, 1);
    qobject_unref(plug(&machine, ""));
    qtest_qmp_assert_success(machine.qts, "{'execute': 'object-add', "
        "'arguments': {'qom-type': 'pmu-fault', 'id': 'f', 'cpu': 1, "
        "'kind': 'still', 'counter': 'pmc0'}}");
    pmu_expect(fired(&machine), 1, "fired");
    unplug(&machine);
    qobject_unref(plug(&machine, ""));
    pmu_expect(fired(&machine), 0, "fired in the next one");
    pmu_stop(&machine);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    if (!qtest_has_accel("tcg")) {
        g_test_skip("No TCG accelerator");
        return 0;
    }
    for (int i = 0; i < ARRAY_SIZE(refusals); i++) {
        g_autofree char *path = g_strdup_printf("pmu/cpu/refused/%s",
                                                refusals[i].name);

        qtest_add_data_func(path, &refusals[i], test_refusal);
    }
    for (int i = 0; i < ARRAY_SIZE(warnings); i++) {
        g_autofree char *path = g_strdup_printf("pmu/cpu/warnings/%s",
                                                warnings[i].name);

        qtest_add_data_func(path, &warnings[i], test_warning);
    }
    qtest_add_func("pmu/cpu/filtered", test_filtered);
    for (int i = 0; i < ARRAY_SIZE(accepted); i++) {
        g_autofree char *path = g_strdup_printf("pmu/cpu/accepted/%s",
                                                accepted[i].name);

        qtest_add_data_func(path, &accepted[i], test_accepted);
    }
    for (int i = 0; i < ARRAY_SIZE(what_ifs); i++) {
        g_autofree char *path = g_strdup_printf("pmu/cpu/what-if/%d", i);

        qtest_add_data_func(path, &what_ifs[i], test_what_if);
    }
    qtest_add_func("pmu/cpu/metrics-clear", test_metrics_clear);
    qtest_add_func("pmu/cpu/figures", test_figures);
    qtest_add_func("pmu/cpu/figures-matter", test_figures_matter);
    qtest_add_func("pmu/cpu/expansion", test_expansion);
    for (int i = 0; i < ARRAY_SIZE(caches); i++) {
        g_autofree char *path = g_strdup_printf("pmu/cpu/caches/%s",
                                                caches[i].name);

        qtest_add_data_func(path, &caches[i], test_caches);
    }
    for (int i = 0; i < ARRAY_SIZE(sharings); i++) {
        g_autofree char *path = g_strdup_printf("pmu/cpu/sharing/%s",
                                                sharings[i].name);

        qtest_add_data_func(path, &sharings[i], test_sharing);
    }
    qtest_add_data_func("pmu/cpu/sharing/reset", GUINT_TO_POINTER(OP_RESET),
                        test_sharing_reset);
    qtest_add_data_func("pmu/cpu/sharing/init", GUINT_TO_POINTER(OP_INIT),
                        test_sharing_reset);
    qtest_add_func("pmu/cpu/hotplug", test_hotplug);
    qtest_add_func("pmu/cpu/unplug", test_unplug);
    qtest_add_func("pmu/cpu/unplug-fault", test_unplug_fault);
    return g_test_run();
}
