/*
 * Test of the CPU properties that ask for a PMU.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What can work, works as asked; what cannot is refused with a message that
 * names the option, the value, and what is possible.
 */

#include "qemu/osdep.h"

#include "pmu/machine.h"

/* Run QEMU with @cpu, which must fail; returns what it says. */
static char *refusal(const char *cpu)
{
    const char *argv[] = {
        getenv("QTEST_QEMU_BINARY"), "-accel", "tcg", "-machine", "pc",
        "-nodefaults", "-display", "none", "-S", "-cpu", cpu, NULL
    };
    g_autoptr(GError) err = NULL;
    char *output = NULL;
    int status;

    g_spawn_sync(NULL, (char **)argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL,
                 NULL, &output, &status, &err);
    g_assert_no_error(err);
    g_test_message("-cpu %s: %s", cpu, output);
    g_assert_true(WIFEXITED(status));
    pmu_expect(WEXITSTATUS(status), 1, "exit status with -cpu %s", cpu);
    return output;
}

typedef struct Refusal {
    const char *name;
    const char *cpu;
    const char *says[5];
} Refusal;

static const Refusal refusals[] = {
    { "amd", "EPYC,+perf-metrics",
      { "perf-metrics", "EPYC", "GenuineIntel", "Icelake-Server",
        "SapphireRapids" } },
    { "amd-pmu", "EPYC,pmu=on",
      { "pmu=on", "EPYC", "GenuineIntel", "Icelake-Server" } },
    { "other-intel", "Skylake-Server,+perf-metrics",
      { "perf-metrics", "Skylake-Server", "Icelake-Server",
        "SapphireRapids" } },
    { "other-intel-pmu", "Skylake-Server,pmu=on",
      { "pmu=on", "Skylake-Server", "Icelake-Server", "SapphireRapids" } },
    { "snowridge", "Snowridge,+perf-metrics",
      { "perf-metrics", "Snowridge", "Icelake-Server" } },
    { "default", "qemu64,+perf-metrics",
      { "perf-metrics", "qemu64", "Icelake-Server" } },
    { "max-metrics", "max,+perf-metrics",
      { "perf-metrics", "max", "Icelake-Server", "SapphireRapids" } },
    { "max-pmu", "max,pmu=on",
      { "pmu=on", "max", "Icelake-Server", "SapphireRapids" } },
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
    { "no-pdcm", "Icelake-Server,+perf-metrics,-pdcm",
      { "perf-metrics", "pdcm" } },
    { "vendor", "Icelake-Server,+perf-metrics,vendor=AuthenticAMD",
      { "perf-metrics", "GenuineIntel" } },
};

static void test_refusal(const void *data)
{
    const Refusal *row = data;
    g_autofree char *output = refusal(row->cpu);
    unsigned lines = 0;

    for (int i = 0; i < ARRAY_SIZE(row->says) && row->says[i]; i++) {
        if (!strstr(output, row->says[i])) {
            g_test_message("the message does not say '%s'", row->says[i]);
            g_test_fail();
        }
    }
    /* One error, whatever warnings about features come before. */
    for (char *line = output; (line = strchr(line, '\n')); line++) {
        lines++;
    }
    for (char *line = output; (line = strstr(line, "warning:")); line++) {
        lines--;
    }
    pmu_expect(lines, 1, "lines of error message");
}

typedef struct Accepted {
    const char *name;
    const char *cpu;
    uint32_t version;           /* CPUID.1:EAX without stepping */
    uint64_t capabilities;      /* IA32_PERF_CAPABILITIES */
    bool pmu, pdcm;
} Accepted;

static const Accepted accepted[] = {
    /* The plain name says 134, which is Tremont: a PMU makes it 106. */
    { "plain", "Icelake-Server,+perf-metrics", 0x606a0, 0xa000, true, true },
    { "plain-pmu", "Icelake-Server,pmu=on", 0x606a0, 0x2000, true, true },
    { "v1", "Icelake-Server-v1,+perf-metrics", 0x606a0, 0xa000, true, true },
    { "v4", "Icelake-Server-v4,+perf-metrics", 0x606a0, 0xa000, true, true },
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
    for (int i = 0; i < ARRAY_SIZE(accepted); i++) {
        g_autofree char *path = g_strdup_printf("pmu/cpu/accepted/%s",
                                                accepted[i].name);

        qtest_add_data_func(path, &accepted[i], test_accepted);
    }
    qtest_add_func("pmu/cpu/hotplug", test_hotplug);
    return g_test_run();
}
