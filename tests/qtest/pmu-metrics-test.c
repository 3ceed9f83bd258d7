/*
 * Test of PERF_METRICS, slots, and the monitor's view of them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Each field is 0xff times a hidden counter over IA32_FIXED_CTR3 (Kan Liang
 * of Intel, LKML, 2019-08-29; tools/perf/Documentation/topdown.txt in Linux).
 * The tests check properties on which drivers rely.  The oracle for the numbers
 * is conservation of slots.
 */

#include "qemu/osdep.h"
#include "qobject/qdict.h"
#include "qobject/qlist.h"
#include "qobject/qnum.h"

#include "pmu/machine.h"

#define ENABLE      (GLOBAL_FIXED(3) | GLOBAL_METRICS)
#define RDPMC_SLOTS     0x40000003
#define RDPMC_METRICS   0x20000000

static unsigned field(uint64_t metrics, int i)
{
    return metrics >> (8 * i) & 0xff;
}

static unsigned sum_fields(uint64_t metrics)
{
    return field(metrics, 0) + field(metrics, 1) + field(metrics, 2) +
           field(metrics, 3);
}

/* Clear slots, cycles and metrics.  Once enabled, they count at both levels. */
static void clear_metrics(PmuScript *s)
{
    pmu_wrmsr(s, MSR_GLOBAL_CTRL, 0);
    pmu_wrmsr(s, MSR_FIXED_CTR_CTRL, FIXED_ALL(3) | FIXED_ALL(1));
    pmu_wrmsr(s, MSR_FIXED_CTR(1), 0);
    pmu_wrmsr(s, MSR_FIXED_CTR(3), 0);
    pmu_wrmsr(s, MSR_PERF_METRICS, 0);
}

/* A value that is written reads back, if slots is not 0 and the sum valid. */
static void test_write_read(void)
{
    static const uint64_t slots[] = {
        1, 2, 254, 255, 256, 257, 12345, 0xffffffff, 0x100000001,
        0x123456789abc, COUNTER_MASK,
    };
    static const uint32_t metrics[] = {
        0, 1, 0x01000000, 0xff, 0xff000000, 0x3f404040, 0x40403f40,
        0x01010101, 0x7f800000, 0x00007f80, 0x55555500, 0x123456,
    };
    g_autoptr(PmuScript) s = pmu_script_new();
    unsigned index = 1;

    pmu_wrmsr(s, MSR_GLOBAL_CTRL, 0);
    for (int i = 0; i < ARRAY_SIZE(slots); i++) {
        for (int j = 0; j < ARRAY_SIZE(metrics); j++) {
            pmu_wrmsr(s, MSR_FIXED_CTR(3), slots[i]);
            pmu_wrmsr(s, MSR_PERF_METRICS, metrics[j]);
            pmu_rdmsr(s, MSR_PERF_METRICS);
            pmu_rdpmc(s, RDPMC_METRICS);
            pmu_rdpmc(s, RDPMC_SLOTS);
        }
    }
    pmu_run(s, PMU_CPU_METRICS);
    for (int i = 0; i < ARRAY_SIZE(slots); i++) {
        for (int j = 0; j < ARRAY_SIZE(metrics); j++) {
            pmu_expect(pmu_register(s, index + 2), metrics[j],
                       "PERF_METRICS for %" PRIu64 " slots", slots[i]);
            pmu_expect(pmu_register(s, index + 3), metrics[j],
                       "RDPMC of metrics for %" PRIu64 " slots", slots[i]);
            pmu_expect(pmu_register(s, index + 4), slots[i],
                       "RDPMC of slots");
            index += 5;
        }
    }
}

static void test_reserved_bits(void)
{
    g_autoptr(PmuScript) s = pmu_script_new();
    g_autoptr(PmuScript) spr = pmu_script_new();
    unsigned index;

    pmu_wrmsr(s, MSR_GLOBAL_CTRL, 0);
    index = s->num_ops[0];
    for (int bit = 32; bit < 64; bit++) {
        pmu_wrmsr(s, MSR_PERF_METRICS, 1ull << bit);
    }
    pmu_run(s, PMU_CPU_METRICS);
    for (int bit = 32; bit < 64; bit++) {
        pmu_expect(pmu_vector(s, index + bit - 32), VECTOR_GP,
                   "vector raised by bit %d", bit);
    }

    /* Sapphire Rapids has eight fields. */
    pmu_wrmsr(spr, MSR_GLOBAL_CTRL, 0);
    pmu_wrmsr(spr, MSR_FIXED_CTR(3), 1000000);
    pmu_wrmsr(spr, MSR_PERF_METRICS, 0x102030105f404020);
    index = pmu_rdmsr(spr, MSR_PERF_METRICS);
    pmu_run(spr, PMU_CPU_SPR);
    pmu_expect(pmu_register(spr, index), 0x102030105f404020,
               "PERF_METRICS of SapphireRapids");
}

/* Drivers read several times in a row: while nothing counts, nothing moves. */
static void test_stable(void)
{
    g_autoptr(PmuScript) s = pmu_script_new();
    unsigned slots, metrics;

    clear_metrics(s);
    pmu_op(s, OP_RUN, BLOCK_MIXED, ENABLE, 500);
    slots = s->num_ops[0];
    for (int i = 0; i < 5; i++) {
        pmu_rdpmc(s, RDPMC_SLOTS);
    }
    metrics = s->num_ops[0];
    for (int i = 0; i < 5; i++) {
        pmu_rdpmc(s, RDPMC_METRICS);
    }
    pmu_run(s, PMU_CPU_METRICS);
    g_assert_cmpuint(pmu_register(s, slots), >, 0);
    for (int i = 1; i < 5; i++) {
        pmu_expect(pmu_register(s, slots + i), pmu_register(s, slots),
                   "slots, read %d", i);
        pmu_expect(pmu_register(s, metrics + i), pmu_register(s, metrics),
                   "metrics, read %d", i);
    }
}

/* If slots and metrics count from zero on, the fields always add up to 0xff. */
static void expect_sums(const char *args)
{
    static const unsigned block[] = {
        BLOCK_EMPTY, BLOCK_NOPS, BLOCK_MIXED, BLOCK_CHASE, BLOCK_GUESS,
        BLOCK_MULTIPLY, BLOCK_LONG,
    };
    g_autoptr(PmuScript) s = pmu_script_new();
    unsigned first[60];

    clear_metrics(s);
    for (int i = 0; i < ARRAY_SIZE(first); i++) {
        pmu_op(s, OP_RUN, block[i % ARRAY_SIZE(block)] |
               (i & 4 ? RUN_CPL3 : 0), ENABLE, i + 1);
        first[i] = pmu_rdpmc(s, RDPMC_SLOTS);
        pmu_rdpmc(s, RDPMC_METRICS);
    }
    pmu_run(s, args);
    for (int i = 0; i < ARRAY_SIZE(first); i++) {
        g_assert_cmpuint(pmu_register(s, first[i]), >, 0);
        pmu_expect(sum_fields(pmu_register(s, first[i] + 1)), 0xff,
                   "sum of the fields after %d blocks", i + 1);
    }
}

static void test_sums(void)
{
    expect_sums(PMU_CPU_METRICS);
    expect_sums(PMU_CPU_SPR);
}

/* If only slots count, the fractions fall.  Metrics do not count alone. */
static void test_enabled_alone(void)
{
    g_autoptr(PmuScript) s = pmu_script_new();
    unsigned both, slots, metrics;

    clear_metrics(s);
    pmu_op(s, OP_RUN, BLOCK_LONG, ENABLE, 0);
    both = pmu_rdpmc(s, RDPMC_SLOTS);
    pmu_rdpmc(s, RDPMC_METRICS);
    pmu_op(s, OP_RUN, BLOCK_LOOP, GLOBAL_FIXED(3), 20000);
    slots = pmu_rdpmc(s, RDPMC_SLOTS);
    pmu_rdpmc(s, RDPMC_METRICS);
    pmu_op(s, OP_RUN, BLOCK_LOOP, GLOBAL_METRICS, 20000);
    metrics = pmu_rdpmc(s, RDPMC_SLOTS);
    pmu_rdpmc(s, RDPMC_METRICS);
    pmu_run(s, PMU_CPU_METRICS);

    g_assert_cmpuint(pmu_register(s, slots), >, 2 * pmu_register(s, both));
    for (int i = 0; i < 4; i++) {
        uint64_t before = field(pmu_register(s, both + 1), i);
        uint64_t after = field(pmu_register(s, slots + 1), i);

        /* The same hidden counter is divided by more slots, and rounded. */
        g_assert_cmpuint(after * pmu_register(s, slots), <=,
                         (before + 1) * pmu_register(s, both) +
                         pmu_register(s, slots));
        g_assert_cmpuint((after + 1) * pmu_register(s, slots) +
                         pmu_register(s, both), >=,
                         before * pmu_register(s, both));
    }
    pmu_expect(pmu_register(s, metrics), pmu_register(s, slots),
               "slots while only the metrics were enabled");
    pmu_expect(pmu_register(s, metrics + 1), pmu_register(s, slots + 1),
               "metrics while only they were enabled");
}

/*
 * perf samples slots: IA32_FIXED_CTR3 starts a period before its overflow, with
 * the metrics enabled.  These read as 0, and only status bit 35 is ever set.
 */
static void test_sampling(void)
{
    g_autoptr(PmuScript) s = pmu_script_new();
    unsigned before, after;

    clear_metrics(s);
    pmu_wrmsr(s, MSR_FIXED_CTR(3), (0 - 1000000ull) & COUNTER_MASK);
    pmu_op(s, OP_RUN, BLOCK_NOPS, ENABLE, 0);
    before = pmu_rdpmc(s, RDPMC_METRICS);
    pmu_rdmsr(s, MSR_GLOBAL_STATUS);
    /* An iteration takes at least one cycle, that is five slots. */
    pmu_op(s, OP_RUN, BLOCK_MULTIPLY, ENABLE, 200000);
    after = pmu_rdmsr(s, MSR_GLOBAL_STATUS);
    pmu_run(s, PMU_CPU_METRICS);
    pmu_expect(pmu_register(s, before), 0, "metrics before the overflow");
    pmu_expect(pmu_register(s, before + 1), 0, "status before the overflow");
    pmu_expect(pmu_register(s, after), GLOBAL_FIXED(3),
               "status after the overflow");
}

/*
 * A write of IA32_FIXED_CTR3 does not touch the hidden counters, except that
 * zero clears them.
 */
static void test_fixed3_write(void)
{
    const uint64_t slots = 1 << 20;
    g_autoptr(PmuScript) s = pmu_script_new();
    unsigned half, same, zero, gone;

    clear_metrics(s);
    pmu_wrmsr(s, MSR_FIXED_CTR(3), slots);
    pmu_wrmsr(s, MSR_PERF_METRICS, 0x20406020);
    pmu_wrmsr(s, MSR_FIXED_CTR(3), 2 * slots);
    half = pmu_rdmsr(s, MSR_PERF_METRICS);
    pmu_wrmsr(s, MSR_FIXED_CTR(3), slots);
    same = pmu_rdmsr(s, MSR_PERF_METRICS);
    pmu_wrmsr(s, MSR_FIXED_CTR(3), 0);
    zero = pmu_rdmsr(s, MSR_PERF_METRICS);
    pmu_wrmsr(s, MSR_FIXED_CTR(3), slots);
    gone = pmu_rdmsr(s, MSR_PERF_METRICS);
    pmu_run(s, PMU_CPU_METRICS);
    pmu_expect(pmu_register(s, half), 0x10203010, "metrics of twice the slots");
    pmu_expect(pmu_register(s, same), 0x20406020, "metrics of the same slots");
    pmu_expect(pmu_register(s, zero), 0, "metrics of no slots");
    pmu_expect(pmu_register(s, gone), 0, "metrics that zero has cleared");
}

/* Stopping and starting changes nothing by itself. */
static void test_continue(void)
{
    g_autoptr(PmuScript) s = pmu_script_new();
    unsigned stopped, ctrl, last;

    clear_metrics(s);
    pmu_op(s, OP_RUN, BLOCK_MIXED, ENABLE, 300);
    stopped = pmu_rdpmc(s, RDPMC_SLOTS);
    pmu_rdpmc(s, RDPMC_METRICS);
    pmu_wrmsr(s, MSR_FIXED_CTR_CTRL, 0);
    pmu_wrmsr(s, MSR_GLOBAL_CTRL, ENABLE);
    pmu_wrmsr(s, MSR_GLOBAL_CTRL, 0);
    pmu_wrmsr(s, MSR_FIXED_CTR_CTRL, FIXED_ALL(3));
    ctrl = pmu_rdpmc(s, RDPMC_SLOTS);
    pmu_rdpmc(s, RDPMC_METRICS);
    pmu_op(s, OP_RUN, BLOCK_MIXED, ENABLE, 300);
    last = pmu_rdpmc(s, RDPMC_SLOTS);
    pmu_rdpmc(s, RDPMC_METRICS);
    pmu_run(s, PMU_CPU_METRICS);
    pmu_expect(pmu_register(s, ctrl), pmu_register(s, stopped), "slots");
    pmu_expect(pmu_register(s, ctrl + 1), pmu_register(s, stopped + 1),
               "metrics");
    g_assert_cmpuint(pmu_register(s, last), >, pmu_register(s, ctrl));
    pmu_expect(sum_fields(pmu_register(s, last + 1)), 0xff,
               "sum of the fields after a second run");
}

/* The metrics count at the levels that IA32_FIXED_CTR3 counts. */
static void test_filter(void)
{
    for (int level = 0; level < 2; level++) {
        g_autoptr(PmuScript) s = pmu_script_new();
        unsigned other, own;

        clear_metrics(s);
        pmu_wrmsr(s, MSR_FIXED_CTR_CTRL, level ? FIXED_USR(3) : FIXED_OS(3));
        if (level) {
            pmu_op(s, OP_RUN, BLOCK_LONG, ENABLE, 0);
        }
        other = pmu_rdpmc(s, RDPMC_SLOTS);
        pmu_rdpmc(s, RDPMC_METRICS);
        pmu_op(s, OP_RUN, BLOCK_LONG | (level ? RUN_CPL3 : 0), ENABLE, 0);
        own = pmu_rdpmc(s, RDPMC_SLOTS);
        pmu_rdpmc(s, RDPMC_METRICS);
        pmu_run(s, PMU_CPU_METRICS);
        pmu_expect(pmu_register(s, other), 0, "slots of the other level");
        pmu_expect(pmu_register(s, other + 1), 0,
                   "metrics of the other level");
        g_assert_cmpuint(pmu_register(s, own), >=, LONG);
        pmu_expect(sum_fields(pmu_register(s, own + 1)), 0xff, "sum");
    }
}

/* Five slots a cycle on Sunny Cove, six on Golden Cove. */
static void test_width(void)
{
    static const struct {
        const char *args;
        uint64_t width;
    } core[] = { { PMU_CPU_METRICS, 5 }, { PMU_CPU_PMU, 5 },
                 { PMU_CPU_SPR, 6 } };

    for (int i = 0; i < ARRAY_SIZE(core); i++) {
        static const unsigned block[] = { BLOCK_EMPTY, BLOCK_NOPS,
                                          BLOCK_CHASE, BLOCK_MIXED };
        g_autoptr(PmuScript) s = pmu_script_new();
        unsigned first[16];

        pmu_wrmsr(s, MSR_GLOBAL_CTRL, 0);
        pmu_wrmsr(s, MSR_FIXED_CTR_CTRL, FIXED_ALL(1) | FIXED_ALL(3));
        for (int j = 0; j < ARRAY_SIZE(first); j++) {
            pmu_op(s, OP_RUN, block[j % 4] | (j & 4 ? RUN_CPL3 : 0),
                   GLOBAL_FIXED(1) | GLOBAL_FIXED(3), 100 + j);
            first[j] = pmu_rdpmc(s, 0x40000001);
            pmu_rdpmc(s, RDPMC_SLOTS);
        }
        pmu_run(s, core[i].args);
        for (int j = 0; j < ARRAY_SIZE(first); j++) {
            pmu_expect(pmu_register(s, first[j] + 1),
                       core[i].width * pmu_register(s, first[j]),
                       "slots after %d blocks with %s", j + 1, core[i].args);
        }
    }
}

/*
 * General-purpose counters of classes agree with the fields of PERF_METRICS to
 * 1/255.  Counter 0 counts the class of field @first_field.
 */
static void expect_events(const char *args, const uint16_t *event,
                          unsigned num_events, unsigned first_field)
{
    static const unsigned block[] = { BLOCK_NOPS, BLOCK_MIXED, BLOCK_CHASE,
                                      BLOCK_GUESS, BLOCK_MULTIPLY };

    for (int i = 0; i < ARRAY_SIZE(block); i++) {
        g_autoptr(PmuScript) s = pmu_script_new();
        uint64_t slots, metrics;
        unsigned first, gp;

        clear_metrics(s);
        for (int j = 0; j < num_events; j++) {
            pmu_wrmsr(s, MSR_EVTSEL(j),
                      event[j] | EVTSEL_OS | EVTSEL_USR | EVTSEL_EN);
            pmu_wrmsr(s, MSR_A_PMC(j), 0);
        }
        pmu_op(s, OP_RUN, block[i], ENABLE | 0xff, 3000);
        first = pmu_rdpmc(s, RDPMC_SLOTS);
        pmu_rdpmc(s, RDPMC_METRICS);
        gp = s->num_ops[0];
        for (int j = 0; j < num_events; j++) {
            pmu_rdpmc(s, j);
        }
        pmu_run(s, args);

        slots = pmu_register(s, first);
        metrics = pmu_register(s, first + 1);
        for (int j = 0; j < num_events; j++) {
            uint64_t exact = pmu_register(s, gp + j) * 255;
            unsigned n = first_field + j;

            if (!event[j]) {
                continue;
            }
            g_test_message("block %u field %d: %u, event %" PRIu64 " of %"
                           PRIu64, block[i], n, field(metrics, n), exact / 255,
                           slots);
            g_assert_cmpuint((field(metrics, n) + 1ull) * slots, >, exact);
            g_assert_cmpuint(field(metrics, n) * slots, <, exact + slots);
        }
    }
}

static void test_events(void)
{
    /* On Sunny Cove, no event counts bad speculation. */
    static const uint16_t icelake[] = {
        EVENT_RETIRING, 0, EVENT_FRONTEND, EVENT_BACKEND,
    };
    static const uint16_t sapphirerapids[] = {
        EVENT_RETIRING, 0, EVENT_FRONTEND, EVENT_BACKEND, 0, 0, 0, 0x10a4,
    };
    /* Only counter 0 counts these. */
    static const uint16_t bad_speculation = 0x04a4, mispredicts = 0x08a4;

    expect_events(PMU_CPU_METRICS, icelake, ARRAY_SIZE(icelake), 0);
    expect_events(PMU_CPU_SPR, sapphirerapids, ARRAY_SIZE(sapphirerapids), 0);
    expect_events(PMU_CPU_SPR, &bad_speculation, 1, 1);
    expect_events(PMU_CPU_SPR, &mispredicts, 1, 5);
}

/* From Sapphire Rapids on, each class has a child, never above its parent. */
static void test_level2(void)
{
    static const unsigned block[] = { BLOCK_NOPS, BLOCK_MIXED, BLOCK_CHASE,
                                      BLOCK_GUESS, BLOCK_MULTIPLY };
    g_autoptr(PmuScript) s = pmu_script_new();
    unsigned index[ARRAY_SIZE(block)];
    uint64_t children = 0;

    for (int i = 0; i < ARRAY_SIZE(block); i++) {
        clear_metrics(s);
        pmu_op(s, OP_RUN, block[i], ENABLE, 3000);
        index[i] = pmu_rdmsr(s, MSR_PERF_METRICS);
    }
    pmu_run(s, PMU_CPU_SPR);
    for (int i = 0; i < ARRAY_SIZE(block); i++) {
        uint64_t metrics = pmu_register(s, index[i]);

        for (int j = 0; j < 4; j++) {
            g_assert_cmpuint(field(metrics, 4 + j), <=, field(metrics, j));
            children |= (uint64_t)field(metrics, 4 + j) << (8 * j);
        }
    }
    /* All children count: heavy, mispredicts, fetch latency, memory. */
    for (int j = 0; j < 4; j++) {
        g_assert_cmpuint(field(children, j), >, 0);
    }
}

/* The metrics show the bottleneck that a block has by construction. */
static void test_bottlenecks(void)
{
    static const struct {
        const char *what;
        unsigned block, field;
        uint64_t arg;
        unsigned percent;       /* at least */
    } row[] = {
        /*
         * 32 one-byte instructions in 32 bytes come from the legacy decoder
         * at 16 bytes a cycle: NOPs retire at full width, or nearly.
         */
        { "straight line of NOPs", BLOCK_LONG, 0, 0, 60 },
        /* Instructions of latency 3, one in flight, no misses. */
        { "multiply chain", BLOCK_MULTIPLY, 3, 10000, 70 },
        /* Every other branch is mispredicted. */
        { "unpredictable branches", BLOCK_GUESS, 1, 20000, 25 },
    };

    for (int i = 0; i < ARRAY_SIZE(row); i++) {
        g_autoptr(PmuScript) s = pmu_script_new();
        unsigned index;

        clear_metrics(s);
        /* Let caches and predictors learn what there is to learn. */
        pmu_op(s, OP_RUN, row[i].block, ENABLE, row[i].arg);
        pmu_op(s, OP_RUN, row[i].block, ENABLE, row[i].arg);
        clear_metrics(s);
        pmu_op(s, OP_RUN, row[i].block, ENABLE, row[i].arg);
        index = pmu_rdmsr(s, MSR_PERF_METRICS);
        pmu_run(s, PMU_CPU_METRICS);
        g_test_message("%s: 0x%08" PRIx64, row[i].what,
                       pmu_register(s, index));
        g_assert_cmpuint(field(pmu_register(s, index), row[i].field) * 100,
                         >=, row[i].percent * 255);
    }
}

/*
 * Each store of self-modifying code to itself clears the machine.  Check
 * MACHINE_CLEARS.SMC, .COUNT, and the class of their slots.
 */
static void expect_smc(const char *args, bool level2)
{
    static const uint32_t event[] = { 0x04c3, 0x01c3 | 1 << 18 | 1 << 24 };
    static const struct {
        unsigned block;
        uint64_t arg, clears;
    } row[] = {
        { BLOCK_SELF_MODIFYING, 1000, 1000 },
        { BLOCK_MIXED, 1000, 0 },
    };

    for (int i = 0; i < ARRAY_SIZE(row); i++) {
        g_autoptr(PmuScript) s = pmu_script_new();
        unsigned metrics, count;

        clear_metrics(s);
        for (int j = 0; j < ARRAY_SIZE(event); j++) {
            pmu_wrmsr(s, MSR_EVTSEL(j),
                      event[j] | EVTSEL_OS | EVTSEL_USR | EVTSEL_EN);
            pmu_wrmsr(s, MSR_A_PMC(j), 0);
        }
        pmu_op(s, OP_RUN, row[i].block, ENABLE | 3, row[i].arg);
        metrics = pmu_rdmsr(s, MSR_PERF_METRICS);
        count = pmu_rdpmc(s, 0);
        pmu_rdpmc(s, 1);
        pmu_run(s, args);
        g_test_message("block %u: PERF_METRICS 0x%016" PRIx64, row[i].block,
                       pmu_register(s, metrics));
        pmu_expect(pmu_register(s, count), row[i].clears,
                   "MACHINE_CLEARS.SMC of block %u", row[i].block);
        pmu_expect(pmu_register(s, count + 1), row[i].clears,
                   "MACHINE_CLEARS.COUNT of block %u", row[i].block);
        if (row[i].clears) {
            g_assert_cmpuint(field(pmu_register(s, metrics), 1), >, 178);
            /* These slots are not due to mispredicted branches. */
            if (level2) {
                g_assert_cmpuint(field(pmu_register(s, metrics), 5), <, 8);
            }
        }
    }
}

static void test_smc(void)
{
    expect_smc(PMU_CPU_METRICS, false);
    expect_smc(PMU_CPU_SPR, true);
}

/*
 * Two tasks share the registers, as under Linux, which saves and restores them
 * at each switch and never resets them.  Each task has its own fractions.
 */
static void test_two_tasks(void)
{
    const uint64_t saved[2] = { PAYLOAD_DATA + 0x20000,
                                PAYLOAD_DATA + 0x20010 };
    const unsigned block[2] = { BLOCK_MULTIPLY, BLOCK_GUESS };
    const unsigned switches = 200;
    g_autoptr(PmuScript) s = pmu_script_new();
    unsigned last[2], alone[2];

    for (int task = 0; task < 2; task++) {
        clear_metrics(s);
        for (int i = 0; i < switches; i++) {
            pmu_op(s, OP_RUN, block[task], ENABLE, 100);
        }
        alone[task] = pmu_rdpmc(s, RDPMC_METRICS);
    }
    clear_metrics(s);
    for (int task = 0; task < 2; task++) {
        pmu_op(s, OP_SAVE_METRICS, 0, saved[task], 0);
    }
    for (int i = 0; i < switches; i++) {
        for (int task = 0; task < 2; task++) {
            pmu_op(s, OP_RESTORE_METRICS, 0, saved[task], 0);
            pmu_op(s, OP_RUN, block[task], ENABLE, 100);
            last[task] = pmu_op(s, OP_SAVE_METRICS, 0, saved[task], 0);
        }
    }
    /* A task's turn is too short for sampling, so simulate all in detail. */
    pmu_run(s, PMU_CPU_UNSAMPLED);
    for (int task = 0; task < 2; task++) {
        uint64_t metrics = s->result[0][last[task]].value[1];

        pmu_expect(sum_fields(metrics), 0xff, "sum of task %d", task);
        for (int i = 0; i < 4; i++) {
            int difference = field(metrics, i) -
                             field(pmu_register(s, alone[task]), i);

            g_test_message("task %d field %d: %u, alone %u", task, i,
                           field(metrics, i),
                           field(pmu_register(s, alone[task]), i));
            /* The blocks disturb each other's predictors a little. */
            g_assert_cmpint(ABS(difference), <=, 8);
        }
    }
}

static uint64_t get_number(const QDict *dict, const char *key)
{
    return qnum_get_uint(qobject_to(QNum, qdict_get(dict, key)));
}

/* Returns the entry called @name of list @key of @info. */
static QDict *find_named(QDict *info, const char *key, const char *name)
{
    QListEntry *entry;

    QLIST_FOREACH_ENTRY(qdict_get_qlist(info, key), entry) {
        QDict *dict = qobject_to(QDict, qlist_entry_obj(entry));

        if (g_str_equal(qdict_get_str(dict, "name"), name)) {
            return dict;
        }
    }
    g_error("x-query-pmu: no '%s' in '%s'", name, key);
}

static void expect_ledger(QDict *info, const char *level)
{
    static const char *const leaves[] = {
        "light-ops", "heavy-ops", "br-mispredict", "machine-clears",
        "fetch-latency", "fetch-bandwidth", "memory-bound", "core-bound",
    };
    uint64_t slots = get_number(find_named(info, "ledger", "slots"), level);
    uint64_t cycles = get_number(find_named(info, "ledger", "cycles"), level);
    uint64_t sum = 0;

    for (int i = 0; i < ARRAY_SIZE(leaves); i++) {
        sum += get_number(find_named(info, "ledger", leaves[i]), level);
    }
    g_assert_cmpuint(slots, >, 0);
    pmu_expect(slots, get_number(info, "width") * cycles,
               "slots of the cycles at %s", level);
    pmu_expect(sum, slots, "sum of the leaf classes at %s", level);
}

/* Registers that the monitor shows, and the lists that have them. */
static const struct {
    const char *list, *name;
    uint32_t msr;
} shown[] = {
    { "registers", "IA32_PERF_METRICS", MSR_PERF_METRICS },
    { "registers", "IA32_FIXED_CTR_CTRL", MSR_FIXED_CTR_CTRL },
    { "registers", "IA32_PERF_GLOBAL_STATUS", MSR_GLOBAL_STATUS },
    { "registers", "IA32_PERF_GLOBAL_CTRL", MSR_GLOBAL_CTRL },
    { "registers", "IA32_PERF_CAPABILITIES", MSR_CAPABILITIES },
    { "registers", "IA32_PERFEVTSEL0", MSR_EVTSEL(0) },
    { "counters", "IA32_PMC0", MSR_A_PMC(0) },
    { "counters", "IA32_PMC7", MSR_A_PMC(7) },
    { "counters", "IA32_FIXED_CTR0", MSR_FIXED_CTR(0) },
    { "counters", "IA32_FIXED_CTR1", MSR_FIXED_CTR(1) },
    { "counters", "IA32_FIXED_CTR2", MSR_FIXED_CTR(2) },
    { "counters", "IA32_FIXED_CTR3", MSR_FIXED_CTR(3) },
};

/* Append code that is counted, then reads.  Returns the first read. */
static unsigned add_shown(PmuScript *s)
{
    const uint64_t enable = ENABLE | 0xf00000000 | GLOBAL_GP(0);
    unsigned first;

    clear_metrics(s);
    pmu_wrmsr(s, MSR_FIXED_CTR_CTRL, 0x3333);
    pmu_wrmsr(s, MSR_EVTSEL(0), EVENT_BRANCHES | EVTSEL_EN | EVTSEL_USR);
    pmu_wrmsr(s, MSR_A_PMC(7), 0xabcdef);
    pmu_op(s, OP_RUN, BLOCK_MIXED | RUN_CPL3, enable, 1000);
    pmu_op(s, OP_RUN, BLOCK_MIXED, enable, 1000);
    pmu_wrmsr(s, MSR_GLOBAL_SET, GLOBAL_GP(6));
    first = s->num_ops[0];
    for (int i = 0; i < ARRAY_SIZE(shown); i++) {
        pmu_rdmsr(s, shown[i].msr);
    }
    return first;
}

/* Expect the monitor to show what the guest read from operation @first on. */
static void expect_shown(const PmuScript *s, unsigned first, QDict *info,
                         const char *hmp)
{
    QDict *branches = find_named(info, "counters", "IA32_PMC0");

    for (int i = 0; i < ARRAY_SIZE(shown); i++) {
        uint64_t value = pmu_register(s, first + i);
        g_autofree char *text = g_strdup_printf("%" PRIu64, value);

        pmu_expect(get_number(find_named(info, shown[i].list, shown[i].name),
                              "value"), value, "%s", shown[i].name);
        g_assert_nonnull(strstr(hmp, shown[i].name));
        if (g_str_equal(shown[i].list, "counters")) {
            g_assert_nonnull(strstr(hmp, text));
        }
    }
    g_assert_cmpstr(qdict_get_str(branches, "event"), ==,
                    "BR_INST_RETIRED.ALL_BRANCHES");
    g_assert_false(qdict_get_bool(branches, "counting"));
    g_assert_true(qdict_get_bool(branches, "usr"));
    g_assert_false(qdict_get_bool(branches, "os"));
    /* All user code ran while it was counted. */
    pmu_expect(get_number(find_named(info, "ledger", "branches"), "usr"),
               get_number(branches, "value"), "branches at CPL 3");
}

/*
 * Expect the fields of @metrics in @info.  The exact fractions of level 1 add
 * up to 1.
 */
static void expect_fractions(QDict *info, uint64_t metrics, unsigned fields)
{
    static const char *const name[] = {
        "retiring", "bad-speculation", "frontend-bound", "backend-bound",
    };
    double sum = 0;

    g_assert_cmpuint(qlist_size(qdict_get_qlist(info, "metrics")), ==, fields);
    for (int i = 0; i < ARRAY_SIZE(name); i++) {
        QDict *metric = find_named(info, "metrics", name[i]);
        double fraction = qdict_get_double(metric, "fraction");

        pmu_expect(get_number(metric, "field"), field(metrics, i),
                   "%s", name[i]);
        g_assert_cmpfloat(ABS(fraction * 255 - field(metrics, i)), <, 1);
        sum += fraction;
    }
    g_assert_cmpfloat(ABS(sum - 1), <, 0.000001);
}

/* The monitor shows what the guest reads, and a conserved ledger. */
static void expect_query(const char *args, uint64_t width, unsigned fields)
{
    g_autoptr(PmuScript) s = pmu_script_new();
    g_autofree char *hmp = NULL;
    unsigned first = add_shown(s);
    PmuMachine machine;
    QDict *response, *info;
    QList *list;

    pmu_start(&machine, s, args);
    pmu_wait_done(&machine, 1);
    pmu_read_results(&machine, s, 1);
    response = qtest_qmp(machine.qts, "{'execute': 'x-query-pmu'}");
    hmp = qtest_hmp(machine.qts, "info pmu");
    list = qdict_get_qlist(response, "return");
    g_assert_cmpuint(qlist_size(list), ==, 1);
    info = qobject_to(QDict, qlist_peek(list));

    pmu_expect(get_number(info, "width"), width, "width");
    expect_shown(s, first, info, hmp);
    expect_fractions(info, pmu_register(s, first), fields);
    expect_ledger(info, "os");
    expect_ledger(info, "usr");
    qobject_unref(response);
    pmu_stop(&machine);
}

static void test_query(void)
{
    expect_query(PMU_CPU_METRICS, 5, 4);
    expect_query(PMU_CPU_SPR, 6, 8);
}

/* Without a PMU, the monitor shows nothing; with two CPUs, it shows two. */
static void test_query_cpus(void)
{
    static const struct {
        const char *args;
        unsigned cpus;
    } row[] = {
        { PMU_CPU_NONE, 0 }, { PMU_CPU_METRICS "-smp 2", 2 },
    };

    for (int i = 0; i < ARRAY_SIZE(row); i++) {
        g_autoptr(PmuScript) s = pmu_script_new();
        PmuMachine machine;
        QDict *response;

        pmu_start(&machine, s, row[i].args);
        response = qtest_qmp(machine.qts, "{'execute': 'x-query-pmu'}");
        g_assert_cmpuint(qlist_size(qdict_get_qlist(response, "return")), ==,
                         row[i].cpus);
        qobject_unref(response);
        pmu_stop(&machine);
    }
}

/* Iterations: enough to get the model to fast-forward. */
#define LEFT_EARLY_TIMES 2000000

/*
 * Blocks are left in their middle while translated code only counts them.
 * Their addresses are those of their translation, so that the model finds
 * nothing to repair.
 */
static void test_query_left_early(void)
{
    static const unsigned block[] = { BLOCK_INT, BLOCK_FAULTS };

    for (int i = 0; i < ARRAY_SIZE(block); i++) {
        g_autoptr(PmuScript) s = pmu_script_new();
        PmuMachine machine;
        QDict *response, *info;

        clear_metrics(s);
        pmu_wrmsr(s, MSR_FIXED_CTR_CTRL, FIXED_ALL(3));
        pmu_op(s, OP_RUN, block[i], ENABLE, LEFT_EARLY_TIMES);
        pmu_start(&machine, s, PMU_CPU_METRICS);
        pmu_wait_done(&machine, 1);
        response = qtest_qmp(machine.qts, "{'execute': 'x-query-pmu'}");
        info = qobject_to(QDict, qlist_peek(qdict_get_qlist(response,
                                                            "return")));
        pmu_expect(get_number(info, "repairs"), 0, "block %u", block[i]);
        qobject_unref(response);
        pmu_stop(&machine);
    }
}

/*
 * Returns the slots at CPL 0 while @block runs with argument @n, if delivery of
 * an event takes @cycles.
 */
static uint64_t kernel_slots(unsigned block, unsigned n, unsigned cycles)
{
    g_autofree char *args = g_strdup_printf(
        PMU_CPU_UNSAMPLED "-global Icelake-Server-x86_64-cpu."
        "pmu-event-delivery=%u", cycles);
    g_autoptr(PmuScript) s = pmu_script_new();
    unsigned slots;

    clear_metrics(s);
    pmu_wrmsr(s, MSR_FIXED_CTR_CTRL, FIXED_OS(3));
    pmu_op(s, OP_RUN, block, ENABLE, n);
    slots = pmu_rdpmc(s, RDPMC_SLOTS);
    pmu_run(s, args);
    return pmu_register(s, slots);
}

/* The microcode that delivers an exception takes as many cycles as set. */
static void test_delivery(void)
{
    static const struct {
        unsigned block, n, exceptions;
    } row[] = {
        { BLOCK_UD, 0, 1 }, { BLOCK_INT, 10, 10 }, { BLOCK_FAULTS, 20, 20 },
        { BLOCK_LOOP, 100, 0 },
    };
    const unsigned cycles = 1000;

    for (int i = 0; i < ARRAY_SIZE(row); i++) {
        uint64_t least = kernel_slots(row[i].block, row[i].n, 1);

        pmu_expect(kernel_slots(row[i].block, row[i].n, cycles),
                   least + row[i].exceptions * (cycles - 1) * 5,
                   "slots, block %u", row[i].block);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    if (!qtest_has_accel("tcg")) {
        g_test_skip("No TCG accelerator");
        return 0;
    }
    qtest_add_func("pmu/metrics/write-read", test_write_read);
    qtest_add_func("pmu/metrics/reserved-bits", test_reserved_bits);
    qtest_add_func("pmu/metrics/stable", test_stable);
    qtest_add_func("pmu/metrics/sums", test_sums);
    qtest_add_func("pmu/metrics/enabled-alone", test_enabled_alone);
    qtest_add_func("pmu/metrics/sampling", test_sampling);
    qtest_add_func("pmu/metrics/fixed3-write", test_fixed3_write);
    qtest_add_func("pmu/metrics/continue", test_continue);
    qtest_add_func("pmu/metrics/filter", test_filter);
    qtest_add_func("pmu/metrics/width", test_width);
    qtest_add_func("pmu/metrics/events", test_events);
    qtest_add_func("pmu/metrics/level2", test_level2);
    qtest_add_func("pmu/metrics/bottlenecks", test_bottlenecks);
    qtest_add_func("pmu/metrics/smc", test_smc);
    qtest_add_func("pmu/metrics/two-tasks", test_two_tasks);
    qtest_add_func("pmu/metrics/delivery", test_delivery);
    qtest_add_func("pmu/query", test_query);
    qtest_add_func("pmu/query/cpus", test_query_cpus);
    qtest_add_func("pmu/query/left-early", test_query_left_early);
    return g_test_run();
}
