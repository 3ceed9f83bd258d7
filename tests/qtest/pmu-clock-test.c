/*
 * Test the clock that the timing model drives: -icount shift=model.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The TSC advances by the known cycles of code.  Timers interrupt after the
 * cycles that the guest asked for.  Idle time is skipped.  Two runs are equal.
 */

#include "qemu/osdep.h"
#include "qemu/bswap.h"

#include "pmu/machine.h"

#define CLOCK       "-icount shift=model "
/* Frequency of the modelled cores, in MHz. */
#define MHZ         2800

/* 200 seconds, in ns: longer than the test takes on the host. */
#define LONG_TIME   200000000000ull

/* Most cycles between two OP_RDTSC besides those of the block. */
#define SURROUNDS   4000

/* Loads of tsc_of_loads(). */
#define LOADS       20

#define APIC_VERSION    0xfee00030
#define HPET_PERIOD     0xfed00004

/* Iterations by which a timer may be late, its delivery included. */
#define LATENESS    400

/* Read what the payload dumped into the results and events of @s. */
static void read_dump(PmuScript *s, GBytes *dump)
{
    size_t size, results = s->num_ops[0] * sizeof(PayloadResult);
    const char *data = g_bytes_get_data(dump, &size);
    uint64_t events;

    /* The last two operations are OP_DUMP and OP_EXIT. */
    results -= 2 * sizeof(PayloadResult);
    g_assert_cmpuint(size, >=, results + sizeof(events));
    memcpy(s->result[0], data, results);
    memcpy(&events, data + results, sizeof(events));
    s->progress[0].events = events;
    g_assert_cmpuint(size, ==, results + sizeof(events) +
                     events * sizeof(PayloadEvent));
    memcpy(s->event[0], data + results + sizeof(events),
           MIN(events, PAYLOAD_LOG_ENTRIES) * sizeof(PayloadEvent));
}

/* Append the end to @s, run it without qtest, and read its results. */
static void run_alone(PmuScript *s, const char *args)
{
    g_autoptr(GBytes) dump = NULL;

    s->cpu = 0;
    pmu_op(s, OP_DUMP, 0, 0, 0);
    pmu_op(s, OP_EXIT, 0, 0, 0);
    dump = pmu_run_alone(s, args);
    g_assert_nonnull(dump);
    read_dump(s, dump);
}

static unsigned rdtsc(PmuScript *s)
{
    return pmu_op(s, OP_RDTSC, 0, 0, 0);
}

static uint64_t tsc_between(const PmuScript *s, unsigned from, unsigned to)
{
    return pmu_value(s, to) - pmu_value(s, from);
}

static void expect_between(uint64_t actual, uint64_t least, uint64_t most,
                           const char *what)
{
    if (actual < least || actual > most) {
        g_test_message("%s: got %" PRIu64 ", expected %" PRIu64 " to %"
                       PRIu64, what, actual, least, most);
        g_test_fail();
    }
}

/*
 * A chain of 16 IMULs of three cycles each takes 48 cycles.  In this time, the
 * TSC and CPU_CLK_UNHALTED.REF_TSC advance at the rate @tsc_mhz.
 */
static void expect_tsc(const char *args, unsigned tsc_mhz)
{
    const uint64_t n = 20000, cycles = 48 * n;
    uint64_t ticks = cycles * tsc_mhz / MHZ;
    uint64_t enable = GLOBAL_FIXED(1) | GLOBAL_FIXED(2);
    g_autoptr(PmuScript) s = pmu_script_new();
    unsigned before, after, counters;

    pmu_wrmsr(s, MSR_GLOBAL_CTRL, 0);
    pmu_wrmsr(s, MSR_FIXED_CTR_CTRL, FIXED_ALL(1) | FIXED_ALL(2));
    pmu_op(s, OP_RUN, BLOCK_MULTIPLY, 0, 10);
    before = rdtsc(s);
    pmu_op(s, OP_RUN, BLOCK_MULTIPLY, enable, n);
    after = rdtsc(s);
    counters = pmu_rdpmc(s, 0x40000001);
    pmu_rdpmc(s, 0x40000002);
    run_alone(s, args);

    expect_between(pmu_register(s, counters), cycles, cycles + SURROUNDS,
                   "cycles of the chain");
    expect_between(pmu_register(s, counters + 1), ticks, ticks + SURROUNDS,
                   "reference cycles of the chain");
    expect_between(tsc_between(s, before, after),
                   pmu_register(s, counters + 1) - 3,
                   pmu_register(s, counters + 1) + SURROUNDS,
                   "TSC across the chain");
}

static void test_tsc(void)
{
    expect_tsc(PMU_CPU_UNSAMPLED CLOCK, MHZ);
    expect_tsc(PMU_CPU_METRICS CLOCK, MHZ);
    expect_tsc("-cpu SapphireRapids,+perf-metrics,check=off " CLOCK, MHZ);
}

static void test_tsc_frequency(void)
{
    expect_tsc("-cpu Icelake-Server,+perf-metrics,check=off,"
               "pmu-tsc-frequency=1400 " CLOCK, 1400);
}

/* CPUID reports the TSC's frequency, so that guests need not calibrate it. */
static void test_cpuid(void)
{
    g_autoptr(PmuScript) s = pmu_script_new();
    unsigned first = pmu_op(s, OP_CPUID, 0x15, 0, 0);
    const PayloadResult *result;

    pmu_op(s, OP_CPUID, 0x16, 0, 0);
    pmu_op(s, OP_CPUID, 0, 0, 0);
    run_alone(s, PMU_CPU_METRICS CLOCK);
    result = &s->result[0][first];
    expect_between((uint32_t)result[2].value[0], 0x16, UINT32_MAX,
                   "highest CPUID leaf");
    pmu_expect((result[0].value[0] >> 32) * (uint32_t)result[0].value[1] /
               (uint32_t)result[0].value[0], MHZ * 1000000ull, "TSC in Hz");
    pmu_expect((uint32_t)result[1].value[0], MHZ, "base frequency in MHz");
}

/* A timer interrupts a loop of one cycle an iteration after as many cycles. */
static void expect_timer(const char *args, uint32_t ns)
{
    uint64_t cycles = (uint64_t)ns * MHZ / 1000, iterations;
    g_autoptr(PmuScript) s = pmu_script_new();

    pmu_op(s, OP_RUN, BLOCK_LOOP | RUN_IF, 0, 10000);
    pmu_poke32(s, APIC_TIMER_DIVIDE, 0xb);
    pmu_poke32(s, APIC_LVT_TIMER, VECTOR_TIMER);
    pmu_poke32(s, APIC_TIMER_INITIAL, ns);
    pmu_op(s, OP_RUN, BLOCK_LOOP | RUN_IF, 0, 2 * cycles);
    run_alone(s, args);
    pmu_expect(s->progress[0].events, 1, "interrupts");
    iterations = 2 * cycles - s->event[0][0].rcx;
    expect_between(iterations, cycles - MIN(cycles, SURROUNDS),
                   cycles + LATENESS, "iterations until the interrupt");
}

static void test_timer(void)
{
    static const uint32_t ns[] = { 10000, 1000000, 30000000 };

    for (int i = 0; i < ARRAY_SIZE(ns); i++) {
        expect_timer(PMU_CPU_METRICS CLOCK, ns[i]);
    }
    expect_timer(PMU_CPU_UNSAMPLED CLOCK, ns[1]);
}

/* Words of a REP STOSQ to nearly all memory from PAYLOAD_PAGED on. */
#define STRING_WORDS    (10 << 20 >> 3)

/* Most iterations of it from one update of the clock to the next. */
#define STRING_LATENESS (65536 + 32768)

static uint64_t tsc_of_string(const char *args)
{
    g_autoptr(PmuScript) s = pmu_script_new();
    unsigned before, after;

    pmu_op(s, OP_RUN, BLOCK_STOSQ, 0, STRING_WORDS);
    before = rdtsc(s);
    pmu_op(s, OP_RUN, BLOCK_STOSQ, 0, STRING_WORDS);
    after = rdtsc(s);
    run_alone(s, args);
    return tsc_between(s, before, after);
}

/* A timer interrupts a REP instruction half-way. */
static void expect_string(const char *args)
{
    uint32_t ns = tsc_of_string(args) * 1000 / MHZ / 2;
    g_autoptr(PmuScript) s = pmu_script_new();

    pmu_op(s, OP_RUN, BLOCK_STOSQ, 0, STRING_WORDS);
    pmu_poke32(s, APIC_TIMER_DIVIDE, 0xb);
    pmu_poke32(s, APIC_LVT_TIMER, VECTOR_TIMER);
    pmu_poke32(s, APIC_TIMER_INITIAL, ns);
    pmu_op(s, OP_RUN, BLOCK_STOSQ | RUN_IF, 0, STRING_WORDS);
    run_alone(s, args);
    pmu_expect(s->progress[0].events, 1, "interrupts");
    expect_between(STRING_WORDS - s->event[0][0].rcx, STRING_WORDS * 45 / 100,
                   STRING_WORDS / 2 + STRING_LATENESS,
                   "iterations until the interrupt");
}

/* Most loads from a device between two updates of the clock, with a margin. */
#define DEVICE_LATENESS 20

/* A load from a device takes a microsecond; timers interrupt between loads. */
static void expect_device_string(const char *args)
{
    const uint64_t n = 200;
    g_autoptr(PmuScript) s = pmu_script_new();
    unsigned before, after;

    pmu_op(s, OP_RUN, BLOCK_LODSD_DEVICE, 0, n);
    pmu_poke32(s, APIC_TIMER_DIVIDE, 0xb);
    pmu_poke32(s, APIC_LVT_TIMER, VECTOR_TIMER);
    pmu_poke32(s, APIC_TIMER_INITIAL, n * 1000 / 4);
    before = rdtsc(s);
    pmu_op(s, OP_RUN, BLOCK_LODSD_DEVICE | RUN_IF, 0, n);
    after = rdtsc(s);
    run_alone(s, args);
    expect_between(tsc_between(s, before, after), n * MHZ, n * MHZ * 105 / 100,
                   "TSC across the loads");
    pmu_expect(s->progress[0].events, 1, "interrupts");
    expect_between(n - s->event[0][0].rcx, n / 4 - 5, n / 4 + DEVICE_LATENESS,
                   "loads until the interrupt");
}

static void test_device_string(void)
{
    expect_device_string(PMU_CPU_METRICS CLOCK);
    expect_device_string(PMU_CPU_UNSAMPLED CLOCK);
}

static void test_string(void)
{
    expect_string(PMU_CPU_METRICS CLOCK);
    expect_string(PMU_CPU_UNSAMPLED CLOCK);
}

/* While the CPU is halted, 200 seconds pass in no time of the host. */
static void test_idle(void)
{
    const uint64_t ns = LONG_TIME;
    g_autoptr(PmuScript) s = pmu_script_new();
    int64_t began = g_get_monotonic_time();
    unsigned before, after, cycles;

    pmu_wrmsr(s, MSR_GLOBAL_CTRL, 0);
    pmu_wrmsr(s, MSR_FIXED_CTR_CTRL, FIXED_ALL(1));
    pmu_poke32(s, APIC_TIMER_DIVIDE, 0xa);      /* by 128 */
    pmu_poke32(s, APIC_LVT_TIMER, VECTOR_TIMER);
    before = rdtsc(s);
    pmu_poke32(s, APIC_TIMER_INITIAL, ns / 128);
    pmu_op(s, OP_RUN, BLOCK_HLT, GLOBAL_FIXED(1), 0);
    after = rdtsc(s);
    cycles = pmu_rdpmc(s, 0x40000001);
    run_alone(s, PMU_CPU_METRICS CLOCK);
    expect_between(tsc_between(s, before, after), ns / 1000 * MHZ,
                   ns / 1000 * MHZ + 2 * SURROUNDS, "TSC across 200 s");
    expect_between(pmu_register(s, cycles), 1, SURROUNDS, "unhalted cycles");
    g_assert_cmpint(g_get_monotonic_time() - began, <, ns / 1000);
}

/* Returns the TSC across LOADS loads from @address, which is in the TLBs. */
static uint64_t tsc_of_loads(const char *args, uint64_t address)
{
    g_autoptr(PmuScript) s = pmu_script_new();
    unsigned before, after;

    pmu_op(s, OP_PEEK32, 0, address, 0);
    before = rdtsc(s);
    for (unsigned i = 0; i < LOADS; i++) {
        pmu_op(s, OP_PEEK32, 0, address, 0);
    }
    after = rdtsc(s);
    run_alone(s, args);
    return tsc_between(s, before, after);
}

/* A load from a device takes a microsecond.  The local APIC is in the core. */
static void test_devices(void)
{
    static const char *const args[] = {
        PMU_CPU_UNSAMPLED CLOCK, PMU_CPU_METRICS CLOCK,
    };

    for (int i = 0; i < ARRAY_SIZE(args); i++) {
        uint64_t near = tsc_of_loads(args[i], APIC_VERSION);
        uint64_t far = tsc_of_loads(args[i], HPET_PERIOD);

        expect_between(near, 0, LOADS * MHZ / 2, "TSC across the APIC's loads");
        expect_between(far - near, LOADS * MHZ * 99 / 100,
                       LOADS * MHZ * 101 / 100, "TSC of the HPET");
    }
}

/* An instruction that is alone in a loop, and whether it waits for a device. */
typedef struct DeviceAccess {
    const char *name;
    bool waits;
    uint8_t code[2];
} DeviceAccess;

#define NOP 0x90

static const DeviceAccess device_accesses[] = {
    { "IN, 1 byte", true, { 0xec, NOP } },
    { "IN, 2 bytes", true, { 0x66, 0xed } },
    { "IN, 4 bytes", true, { 0xed, NOP } },
    { "OUT, 1 byte", true, { 0xee, NOP } },
    { "OUT, 2 bytes", true, { 0x66, 0xef } },
    { "OUT, 4 bytes", true, { 0xef, NOP } },
    { "a store to the HPET", false, { 0x89, 0x06 } },   /* mov %eax, (%rsi) */
};

/* Returns the ticks of the TSC that LOADS times @access takes. */
static uint64_t tsc_of_accesses(const DeviceAccess *access)
{
    const uint8_t code[] = {
        0xba, 0x80, 0x00, 0x00, 0x00,   /* mov $0x80, %edx: the POST code */
        0xbe, 0, 0, 0, 0,               /* mov $HPET_PERIOD, %esi */
        0xb9, LOADS & 0xff, LOADS >> 8, 0, 0,   /* mov $LOADS, %ecx */
        access->code[0], access->code[1],
        0xff, 0xc9,                     /* dec %ecx */
        0x75, 0xfa,                     /* jnz to the access */
        0xc3,
    };
    g_autoptr(PmuScript) s = pmu_script_new();
    uint8_t copy[sizeof(code)];
    unsigned before, after;

    memcpy(copy, code, sizeof(code));
    stl_le_p(copy + 6, HPET_PERIOD);
    pmu_poke_code(s, PAYLOAD_CODE, copy, sizeof(copy));
    before = rdtsc(s);
    pmu_op(s, OP_RUN, BLOCK_JUMP, 0, PAYLOAD_CODE);
    after = rdtsc(s);
    run_alone(s, PMU_CPU_UNSAMPLED CLOCK);
    return tsc_between(s, before, after);
}

/* IN and OUT wait for the device's answer, a store to a device does not. */
static void test_ports(void)
{
    static const DeviceAccess none = { "nothing", false, { NOP, NOP } };
    uint64_t loop = tsc_of_accesses(&none);

    for (int i = 0; i < ARRAY_SIZE(device_accesses); i++) {
        const DeviceAccess *access = &device_accesses[i];
        uint64_t least = access->waits ? loop + LOADS * MHZ : 0;
        uint64_t most = loop + LOADS * MHZ / 10;

        expect_between(tsc_of_accesses(access), least,
                       access->waits ? most + LOADS * MHZ : most, access->name);
    }
}

/* With sampling, code takes about as long as simulated in detail. */
static void test_sampled(void)
{
    uint64_t tsc[2];

    for (int i = 0; i < 2; i++) {
        g_autoptr(PmuScript) s = pmu_script_new();
        unsigned before = rdtsc(s), after;

        for (int j = 0; j < 20; j++) {
            pmu_op(s, OP_RUN, BLOCK_MULTIPLY, 0, 20000);
            pmu_op(s, OP_RUN, BLOCK_LOOP, 0, 1000000);
            pmu_op(s, OP_RUN, BLOCK_MIXED, 0, 20000);
        }
        after = rdtsc(s);
        run_alone(s, i ? PMU_CPU_METRICS CLOCK : PMU_CPU_UNSAMPLED CLOCK);
        tsc[i] = tsc_between(s, before, after);
    }
    /* This tolerance is that of sampling: /sampling/near-data. */
    expect_between(tsc[1], tsc[0] * 97 / 100, tsc[0] * 103 / 100,
                   "TSC with sampling");
}

/* Run code that a timer interrupts, and that reads clocks and halts. */
static GBytes *dump_interrupted(const char *args)
{
    g_autoptr(PmuScript) s = pmu_script_new();

    pmu_poke32(s, APIC_TIMER_DIVIDE, 0xb);
    pmu_poke32(s, APIC_LVT_TIMER, VECTOR_TIMER | 0x20000);
    pmu_poke32(s, APIC_TIMER_INITIAL, 20000);
    pmu_wrmsr(s, MSR_FIXED_CTR_CTRL, FIXED_ALL(1));
    for (int i = 0; i < 10; i++) {
        pmu_op(s, OP_RUN, BLOCK_MIXED | RUN_CPL3 | RUN_IF, GLOBAL_FIXED(1),
               20000);
        pmu_op(s, OP_RUN, BLOCK_HLT, GLOBAL_FIXED(1), 0);
        pmu_op(s, OP_RUN, BLOCK_CHASE | RUN_IF, GLOBAL_FIXED(1), 20000);
        pmu_op(s, OP_RUN, BLOCK_STOSQ | RUN_IF, GLOBAL_FIXED(1), 70000);
        rdtsc(s);
        pmu_rdpmc(s, 0x40000001);
        pmu_op(s, OP_PEEK32, 0, APIC_TIMER_CURRENT, 0);
    }
    pmu_poke32(s, APIC_LVT_TIMER, LVT_MASKED);
    pmu_op(s, OP_DUMP, 0, 0, 0);
    pmu_op(s, OP_EXIT, 0, 0, 0);
    return pmu_run_alone(s, args);
}

/* Times, counts and interrupted instructions are the same in each run. */
static void test_same(void)
{
    g_autoptr(GBytes) first = dump_interrupted(PMU_CPU_METRICS CLOCK);

    g_assert_nonnull(first);
    g_assert_cmpuint(g_bytes_get_size(first), >, 10000);
    for (int i = 0; i < 5; i++) {
        g_autoptr(GBytes) again = dump_interrupted(PMU_CPU_METRICS CLOCK);

        g_assert_nonnull(again);
        pmu_expect(g_bytes_equal(again, first), true,
                   "run %d is the same as the first one", i);
    }
}

#define THREADS     "-accel tcg,thread=multi "

/*
 * Two CPUs run side by side, so time is not the sum of what both do.  On
 * threads of their own, neither must see how fast the host executes the other.
 * While CPU 0 runs a loop, CPU 1 runs a loop or multiplications, which take
 * more of the modelled time and less of the host's.
 */
static void expect_two(const char *args, int beside)
{
    const uint64_t n = 3000000;
    g_autoptr(PmuScript) s = pmu_script_new();
    unsigned before[2], after[2];
    PmuMachine machine;

    pmu_op(s, OP_START_CPU, 0, 1, 0);
    for (s->cpu = 0; s->cpu < 2; s->cpu++) {
        /* Let both CPUs start before one reads the TSC. */
        pmu_op(s, OP_RUN, BLOCK_LOOP, 0, s->cpu ? 1000 : 500000);
        before[s->cpu] = rdtsc(s);
        pmu_op(s, OP_RUN, s->cpu ? beside : BLOCK_LOOP, 0, n);
        after[s->cpu] = rdtsc(s);
    }
    pmu_start(&machine, s, args);
    pmu_wait_done(&machine, 2);
    pmu_read_results(&machine, s, 2);
    pmu_stop(&machine);
    s->cpu = 0;
    expect_between(tsc_between(s, before[0], after[0]),
                   n * 98 / 100, n * 102 / 100, "TSC of CPU 0");
    if (beside == BLOCK_LOOP) {
        s->cpu = 1;
        expect_between(tsc_between(s, before[1], after[1]),
                       n * 98 / 100, n * 102 / 100, "TSC of CPU 1");
    }
}

static void test_two(void)
{
    expect_two(PMU_CPU_METRICS "-smp 2 " CLOCK, BLOCK_LOOP);
}

static void test_two_threads(void)
{
    expect_two(PMU_CPU_METRICS "-smp 2 " CLOCK THREADS, BLOCK_LOOP);
    expect_two(PMU_CPU_METRICS "-smp 2 " CLOCK THREADS, BLOCK_MULTIPLY);
}

/* Returns the TSC across code that reads it often; @stops: times stopped. */
static uint64_t tsc_of_stopped(const char *args, unsigned stops)
{
    g_autoptr(PmuScript) s = pmu_script_new();
    unsigned before = rdtsc(s), after;
    PmuMachine machine;

    for (int i = 0; i < 400; i++) {
        pmu_op(s, OP_RUN, BLOCK_LOOP, 0, 100000);
        after = rdtsc(s);
    }
    pmu_start(&machine, s, args);
    for (unsigned i = 0; i < stops; i++) {
        qtest_qmp_assert_success(machine.qts, "{'execute': 'stop'}");
        qtest_qmp_assert_success(machine.qts, "{'execute': 'cont'}");
    }
    pmu_wait_done(&machine, 1);
    pmu_read_results(&machine, s, 1);
    pmu_stop(&machine);
    return tsc_between(s, before, after);
}

/* To stop and to continue the machine takes no virtual time. */
static void test_stopped(const void *args)
{
    uint64_t tsc = tsc_of_stopped(args, 0);

    expect_between(tsc_of_stopped(args, 200), tsc * 99 / 100, tsc * 101 / 100,
                   "TSC of code that is stopped");
}

/* Most instructions from an INIT until the script goes on. */
#define INIT_INSNS  100000

#define RESETS      60

/* Time, in ns, that is longer than a reset and the way to the next one. */
#define AFTER_RESET 10000000

/*
 * While the machine stops for a reset, time does not jump to the next timer.
 * It depends on the host whether the main loop looks at idle vCPUs then.
 */
static void test_reset(void)
{
    g_autoptr(PmuScript) s = pmu_script_new();
    unsigned before[RESETS];

    for (int i = 0; i < RESETS; i++) {
        pmu_poke32(s, APIC_TIMER_DIVIDE, 0xb);
        pmu_poke32(s, APIC_LVT_TIMER, VECTOR_TIMER);
        pmu_poke32(s, APIC_TIMER_INITIAL, AFTER_RESET);
        before[i] = rdtsc(s);
        pmu_op(s, OP_RESET, 0, 0, 0);
    }
    run_alone(s, PMU_CPU_METRICS CLOCK);
    for (int i = 1; i < RESETS; i++) {
        expect_between(tsc_between(s, before[i - 1], before[i]), 0,
                       (uint64_t)AFTER_RESET / 1000 * MHZ,
                       "TSC across a reset");
    }
}

/*
 * An INIT from within the execution loop does not take the instructions that
 * were still to come there for executed.
 */
static void test_init(void)
{
    g_autoptr(PmuScript) s = pmu_script_new();
    unsigned before = rdtsc(s), after;

    pmu_op(s, OP_INIT, 0, 0, 0);
    after = rdtsc(s);
    run_alone(s, PMU_CPU_METRICS "-icount shift=0");
    expect_between(tsc_between(s, before, after), 1, INIT_INSNS,
                   "instructions across an INIT");
}

typedef struct Refusal {
    const char *name, *args, *says;
} Refusal;

static const Refusal refusals[] = {
    { "no-pmu", "-cpu Icelake-Server,pmu=off " CLOCK, "pmu=on" },
    { "align", "-cpu Icelake-Server,pmu=on -icount shift=model,align=on",
      "align=on" },
    { "value", "-cpu Icelake-Server,pmu=on -icount shift=modle",
      "0 to 10, auto or model" },
    { "record", "-cpu Icelake-Server,pmu=on -icount "
      "shift=model,sleep=off,rr=record,rrfile=/dev/null", "sleep=on" },
    { "threads", "-cpu Icelake-Server,pmu=on -icount shift=3 " THREADS,
      "icount" },
    { "record-threads", "-cpu Icelake-Server,pmu=on -icount "
      "shift=model,rr=record,rrfile=/dev/null " THREADS, "icount" },
};

static void test_refusal(const void *data)
{
    const Refusal *row = data;
    int status;
    g_autofree char *output = pmu_start_and_quit(row->args, &status);

    pmu_expect(status, 1, "exit status");
    g_assert_nonnull(strstr(output, row->says));
}

/* A CPU whose hotplug is refused leaves the machine as it was. */
static void test_hotplug(void)
{
    g_autoptr(PmuScript) s = pmu_script_new();
    unsigned before, after;
    PmuMachine machine;

    before = rdtsc(s);
    pmu_op(s, OP_SYNC, 0, 1, 0);
    after = rdtsc(s);
    pmu_start(&machine, s, PMU_CPU_METRICS "-smp 1,maxcpus=2 " CLOCK);
    pmu_wait_for(&machine, 1);
    for (int i = 0; i < 2; i++) {
        g_autoptr(QDict) answer = qtest_qmp(
            machine.qts, "{'execute': 'device_add', 'arguments': {"
            " 'driver': 'Icelake-Server-x86_64-cpu', 'id': 'hot',"
            " 'socket-id': 0, 'core-id': 1, 'thread-id': 0}}");

        g_assert_true(qdict_haskey(answer, "error"));
        g_assert_nonnull(strstr(qdict_get_str(qdict_get_qdict(answer, "error"),
                                              "desc"), "cannot be plugged in"));
    }
    pmu_go(&machine, 1);
    pmu_wait_done(&machine, 1);
    pmu_read_results(&machine, s, 1);
    /* Migration stops all CPUs at its end, for the last pages. */
    pmu_migrate(&machine, "exec:cat > /dev/null");
    pmu_stop(&machine);
    g_assert_cmpuint(tsc_between(s, before, after), >, 0);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    if (!qtest_has_accel("tcg")) {
        g_test_skip("No TCG accelerator");
        return 0;
    }
    qtest_add_func("pmu/clock/tsc", test_tsc);
    qtest_add_func("pmu/clock/tsc-frequency", test_tsc_frequency);
    qtest_add_func("pmu/clock/cpuid", test_cpuid);
    qtest_add_func("pmu/clock/timer", test_timer);
    qtest_add_func("pmu/clock/string", test_string);
    qtest_add_func("pmu/clock/device-string", test_device_string);
    qtest_add_func("pmu/clock/idle", test_idle);
    qtest_add_func("pmu/clock/devices", test_devices);
    qtest_add_func("pmu/clock/ports", test_ports);
    qtest_add_func("pmu/clock/sampled", test_sampled);
    qtest_add_func("pmu/clock/same", test_same);
    qtest_add_func("pmu/clock/two", test_two);
    qtest_add_func("pmu/clock/two-threads", test_two_threads);
    qtest_add_data_func("pmu/clock/stopped", PMU_CPU_METRICS CLOCK,
                        test_stopped);
    qtest_add_data_func("pmu/clock/stopped-threads",
                        PMU_CPU_METRICS CLOCK THREADS, test_stopped);
    qtest_add_func("pmu/clock/reset", test_reset);
    qtest_add_func("pmu/clock/init", test_init);
    qtest_add_func("pmu/clock/hotplug", test_hotplug);
    for (int i = 0; i < ARRAY_SIZE(refusals); i++) {
        g_autofree char *path = g_strdup_printf("pmu/clock/refusal/%s",
                                                refusals[i].name);

        qtest_add_data_func(path, &refusals[i], test_refusal);
    }
    return g_test_run();
}
