/*
 * PERF_METRICS: exact arithmetic, and the properties that Linux's driver and
 * other software rely on.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "tcg/pmu/perfmon/perf-metrics.h"
#include "naive-pmu.h"
#include "random.h"

#define COUNTER_MASK ((1ull << 48) - 1)

static const unsigned field_counts[] = { 4, 8 };

static unsigned field_of(uint64_t metrics, unsigned field)
{
    return metrics >> (8 * field) & 0xff;
}

static unsigned level1_sum(uint64_t metrics)
{
    return field_of(metrics, 0) + field_of(metrics, 1) +
           field_of(metrics, 2) + field_of(metrics, 3);
}

/* Split @minuend into four random parts. */
static void split(Random *random, uint64_t whole, uint64_t *part)
{
    for (int i = 0; i < 3; i++) {
        part[i] = whole ? random_below(random, whole + 1) : 0;
        whole -= part[i];
    }
    part[3] = whole;
}

/* Returns a register value with a level-1 sum of at most 255. */
static uint64_t random_metrics(Random *random, unsigned fields)
{
    uint64_t part[4], value = 0;

    split(random, random_below(random, 256), part);
    for (int i = 0; i < 4; i++) {
        value |= part[random_below(random, 2) ? i : 3 - i] << (8 * i);
    }
    if (level1_sum(value) > 255) {
        value = 0;
    }
    return fields == 8 ? value | random_next(random) << 32 : value;
}

/* Arithmetic. */

/* All fields are those of the naive unit, which adds and compares. */
static void test_exact(void)
{
    Random random = random_from_seed();

    for (int i = 0; i < 300000; i++) {
        unsigned fields = field_counts[i % 2];
        uint64_t slots = random_size(&random, 48);
        uint64_t hidden[8];
        uint64_t want, got;

        for (int j = 0; j < 8; j++) {
            hidden[j] = random_below(&random, 4) ?
                        random_below(&random, slots * 255 + 1) :
                        random_size(&random, 56);
        }
        want = naive_metrics(hidden, fields, slots);
        got = pmu_metrics_read(hidden, fields, slots);
        if (want != got) {
            g_error("slots %" PRIu64 ", hidden %" PRIu64 " %" PRIu64
                    " %" PRIu64 " %" PRIu64 ": expected 0x%" PRIx64
                    ", got 0x%" PRIx64, slots, hidden[0], hidden[1],
                    hidden[2], hidden[3], want, got);
        }
    }
}

/* Values worked out by hand. */
static void test_by_hand(void)
{
    static const struct {
        uint64_t slots;
        uint64_t counted[4];    /* slots of each class */
        uint64_t want;
    } cases[] = {
        { 1, { 1, 0, 0, 0 }, 0x000000ff },
        { 255, { 64, 63, 100, 28 }, 0x1c643f40 },
        /* Quarters of 255 are 63.75: the first three round up. */
        { 4, { 1, 1, 1, 1 }, 0x3f404040 },
        /* Thirds are exactly 85. */
        { 3, { 1, 0, 1, 1 }, 0x55550055 },
        /* Halves are 127.5: the first rounds up. */
        { 2, { 0, 1, 1, 0 }, 0x007f8000 },
        /* 254.502 and 0.498: the first rounds up. */
        { 512, { 511, 1, 0, 0 }, 0x000000ff },
        /* 254.498 and 0.502: the second rounds up. */
        { 508, { 507, 1, 0, 0 }, 0x000001fe },
        { 0, { 1, 2, 3, 4 }, 0 },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        uint64_t hidden[4];

        for (int j = 0; j < 4; j++) {
            hidden[j] = cases[i].counted[j] * 255;
        }
        g_assert_cmphex(pmu_metrics_read(hidden, 4, cases[i].slots), ==,
                        cases[i].want);
    }
}

/*
 * Fractions that add up to more than the whole, which the SDM leaves undefined:
 * the excess comes off the largest field.
 */
static void test_excess_comes_off_the_largest(void)
{
    const uint64_t hidden[4] = { 200 * 1000, 100 * 1000, 10 * 1000, 0 };
    const uint64_t equal[4] = { 1u << 30, 1u << 30, 1u << 30, 1u << 30 };

    g_assert_cmphex(pmu_metrics_read(hidden, 4, 1000), ==, 0x000a6491);
    g_assert_cmphex(pmu_metrics_read(equal, 4, 1), ==, 0x40404040 - 1);
}

static void check_add(Random *random, unsigned width)
{
    uint64_t end = 1ull << (width + 8);
    uint64_t hidden = random_below(random, end);
    uint64_t before = hidden;
    uint64_t slots = random_size(random, 64);
    unsigned __int128 sum = (unsigned __int128)slots * 255 + hidden;
    bool wrapped = pmu_metrics_add(&hidden, width, slots);

    if (wrapped != (sum >= end) || hidden != (uint64_t)(sum % end)) {
        g_error("width %u: 0x%" PRIx64 " + %" PRIu64 " slots: got 0x%" PRIx64
                ", wrapped %d", width, before, slots, hidden, wrapped);
    }
}

/*
 * pmu_metrics_add() adds 255 for each slot and wraps at width + 8 bits, as
 * 128-bit arithmetic does.
 */
static void test_add(void)
{
    Random random = random_from_seed();

    for (unsigned width = 1; width <= 48; width++) {
        for (int i = 0; i < 5000; i++) {
            check_add(&random, width);
        }
    }
}

/* pmu_metrics_distance() is exact: that many slots wrap, one less do not. */
static void test_distance(void)
{
    Random random = random_from_seed();

    for (unsigned width = 1; width <= 48; width++) {
        for (int i = 0; i < 1000; i++) {
            uint64_t hidden = random_below(&random, 1ull << (width + 8));
            uint64_t distance = pmu_metrics_distance(hidden, width);
            uint64_t other = hidden;

            g_assert_cmpuint(distance, >=, 1);
            g_assert_false(pmu_metrics_add(&hidden, width, distance - 1));
            g_assert_true(pmu_metrics_add(&other, width, distance));
        }
    }
}

/* Each field counts the leaf classes of TMA that it consists of. */
static void test_classes(void)
{
    static const uint8_t counted_by[PMU_SLOT_NR][2] = {
        [PMU_SLOT_LIGHT_OPS]        = { 0, 0 },
        [PMU_SLOT_HEAVY_OPS]        = { 0, 4 },
        [PMU_SLOT_BR_MISPREDICT]    = { 1, 5 },
        [PMU_SLOT_MACHINE_CLEARS]   = { 1, 1 },
        [PMU_SLOT_FETCH_LATENCY]    = { 2, 6 },
        [PMU_SLOT_FETCH_BANDWIDTH]  = { 2, 2 },
        [PMU_SLOT_MEMORY_BOUND]     = { 3, 7 },
        [PMU_SLOT_CORE_BOUND]       = { 3, 3 },
    };

    for (int class = 0; class < PMU_SLOT_NR; class++) {
        PmuLedgerSnapshot snap = { 0 };

        snap.item[PMU_LEVEL_USR][class] = 7;
        for (unsigned field = 0; field < 8; field++) {
            bool counts = field == counted_by[class][0] ||
                          field == counted_by[class][1];

            g_assert_cmpuint(pmu_metrics_slots(&snap, PMU_LEVEL_USR, field),
                             ==, counts ? 7 : 0);
            g_assert_cmpuint(pmu_metrics_slots(&snap, PMU_LEVEL_OS, field),
                             ==, 0);
        }
    }
}

/* P1: what software writes reads back. */
static void test_write_then_read(void)
{
    Random random = random_from_seed();

    for (unsigned width = 1; width <= 48; width++) {
        for (int i = 0; i < 4000; i++) {
            unsigned fields = field_counts[i % 2];
            uint64_t slots = 1 + random_below(&random, 1ull << width);
            uint64_t value = random_metrics(&random, fields);
            uint64_t hidden[8] = { 0 };
            uint64_t got;

            slots = MIN(slots, COUNTER_MASK);
            pmu_metrics_write(hidden, fields, width, slots, value);
            got = pmu_metrics_read(hidden, fields, slots);
            if (got != value) {
                g_error("width %u, slots %" PRIu64 ": wrote 0x%" PRIx64
                        ", read 0x%" PRIx64, width, slots, value, got);
            }
        }
    }
}

/*
 * Noise changes each level-1 field by at most what was asked for.  The level-1
 * sum stays the same, and no child is larger than its parent.
 */
static void test_disturb(void)
{
    Random random = random_from_seed();
    uint64_t state = random_next(&random) | 1;
    unsigned changed = 0, at_most = 0;

    for (int i = 0; i < 20000; i++) {
        unsigned fields = field_counts[random_below(&random, 2)];
        unsigned most = 1 + random_below(&random, 255);
        uint64_t value = random_metrics(&random, fields);
        uint64_t noisy = pmu_metrics_disturb(value, fields, most, &state);

        g_assert_cmpuint(level1_sum(noisy), ==, level1_sum(value));
        g_assert_cmphex(fields == 4 ? noisy >> 32 : 0, ==, 0);
        for (unsigned j = 0; j < fields; j++) {
            int off = field_of(noisy, j) - field_of(value, j);

            g_assert_true(j >= 4 || ABS(off) <= (int)most);
            g_assert_true(j < 4 ||
                          field_of(noisy, j) <= field_of(noisy, j - 4));
            at_most += ABS(off) == (int)most;
        }
        changed += noisy != value;
    }
    g_assert_cmpuint(changed, >, 15000);
    g_assert_cmpuint(at_most, >, 0);
}

/*
 * A write that exceeds a hidden counter sets it to its maximum, one slot before
 * it wraps.
 */
static void test_write_clamps(void)
{
    uint64_t hidden[4];

    pmu_metrics_write(hidden, 4, 16, 1 << 20, 0x0000ff01);
    g_assert_cmphex(hidden[0], ==, 1 << 20);
    g_assert_cmphex(hidden[1], ==, (1 << 24) - 1);
    g_assert_cmphex(hidden[2], ==, 0);
    g_assert_cmpuint(pmu_metrics_distance(hidden[1], 16), ==, 1);
}

/*
 * P3: fields that counted together from zero sum to 0xff at level 1.  Each is
 * the true fraction, rounded down or up.
 */
static void test_sum(void)
{
    Random random = random_from_seed();

    for (int i = 0; i < 200000; i++) {
        uint64_t slots = 1 + random_size(&random, 47);
        uint64_t part[4], hidden[8];
        uint64_t value;

        split(&random, slots, part);
        for (int j = 0; j < 4; j++) {
            hidden[j] = part[j] * 255;
            hidden[4 + j] = random_below(&random, part[j] + 1) * 255;
        }
        value = pmu_metrics_read(hidden, 8, slots);
        g_assert_cmpuint(level1_sum(value), ==, 0xff);
        for (int j = 0; j < 8; j++) {
            uint64_t below = hidden[j] / slots;

            g_assert_cmpuint(field_of(value, j), >=, below);
            g_assert_cmpuint(field_of(value, j), <=, below + 1);
        }
        for (int j = 0; j < 4; j++) {
            g_assert_cmpuint(field_of(value, 4 + j), <=, field_of(value, j));
        }
    }
}

/* Properties of the registers. */

typedef struct Unit {
    Perfmon pmu;
    PmuLedgerSnapshot now;
} Unit;

static Unit *unit_new(unsigned fields, unsigned width)
{
    PerfmonConfig config = {
        .core = fields == 8 ? PMU_CORE_SAPPHIRERAPIDS : PMU_CORE_ICELAKE,
        .num_gp = 8, .num_fixed = 4, .pdcm = true, .capabilities = 0xa000,
        .num_metrics = fields, .metrics_width = width,
    };
    Unit *unit = g_new0(Unit, 1);
    const char *why;

    g_assert_true(perfmon_init(&unit->pmu, &config, &why));
    return unit;
}

static void unit_write(Unit *unit, uint32_t msr, uint64_t value)
{
    g_assert_cmpint(perfmon_wrmsr_check(&unit->pmu, msr, value), ==,
                    PERFMON_OK);
    perfmon_wrmsr(&unit->pmu, msr, value);
}

static uint64_t unit_read(const Unit *unit, uint32_t msr)
{
    uint64_t value;

    g_assert_cmpint(perfmon_rdmsr(&unit->pmu, msr, &value), ==, PERFMON_OK);
    return value;
}

/* The core spends @n slots in @class in user mode. */
static void unit_count(Unit *unit, PmuSlotClass class, uint64_t n)
{
    unit->now.item[PMU_LEVEL_USR][class] += n;
    unit->now.item[PMU_LEVEL_USR][PMU_ITEM_SLOTS] += n;
    perfmon_update(&unit->pmu, &unit->now);
}

#define FIXED_CTR3      0x30c
#define PERF_METRICS    0x329
#define FIXED_CTR_CTRL  0x38d
#define GLOBAL_STATUS   0x38e
#define GLOBAL_CTRL     0x38f

#define EN_SLOTS        (1ull << 35)
#define EN_METRICS      (1ull << 48)
#define EN_BOTH         (EN_SLOTS | EN_METRICS)

static Unit *unit_started(unsigned fields, unsigned width)
{
    Unit *unit = unit_new(fields, width);

    unit_write(unit, FIXED_CTR_CTRL, 0xb000);
    unit_write(unit, GLOBAL_CTRL, EN_BOTH);
    return unit;
}

/* P2: reading changes nothing. */
static void test_reads_repeat(void)
{
    g_autofree Unit *unit = unit_started(4, 48);
    uint64_t value;

    unit_count(unit, PMU_SLOT_LIGHT_OPS, 12345);
    unit_count(unit, PMU_SLOT_MEMORY_BOUND, 6789);
    unit_write(unit, GLOBAL_CTRL, 0);
    value = unit_read(unit, PERF_METRICS);
    g_assert_cmpuint(level1_sum(value), ==, 0xff);
    for (int i = 0; i < 5; i++) {
        uint64_t again;

        perfmon_update(&unit->pmu, &unit->now);
        g_assert_cmpint(perfmon_rdpmc(&unit->pmu, 0x20000000, &again), ==,
                        PERFMON_OK);
        g_assert_cmphex(again, ==, value);
        g_assert_cmpuint(unit_read(unit, FIXED_CTR3), ==, 12345 + 6789);
    }
}

/*
 * P4: if slots alone are enabled, the fractions shrink; metrics alone count
 * nothing.
 */
static void test_enables(void)
{
    g_autofree Unit *unit = unit_started(4, 48);

    unit_count(unit, PMU_SLOT_LIGHT_OPS, 1000);
    g_assert_cmphex(unit_read(unit, PERF_METRICS), ==, 0xff);
    unit_write(unit, GLOBAL_CTRL, EN_SLOTS);
    unit_count(unit, PMU_SLOT_LIGHT_OPS, 4000);
    g_assert_cmphex(unit_read(unit, PERF_METRICS), ==, 0x33);
    g_assert_cmpuint(unit_read(unit, FIXED_CTR3), ==, 5000);

    unit_write(unit, GLOBAL_CTRL, EN_METRICS);
    unit_count(unit, PMU_SLOT_LIGHT_OPS, 1000000);
    g_assert_cmphex(unit_read(unit, PERF_METRICS), ==, 0x33);
    g_assert_cmpuint(unit_read(unit, FIXED_CTR3), ==, 5000);
}

/* The metrics have the level filter of fixed counter 3. */
static void test_filter(void)
{
    g_autofree Unit *unit = unit_started(4, 48);

    unit_write(unit, FIXED_CTR_CTRL, 0x1000);           /* CPL 0 only */
    unit_count(unit, PMU_SLOT_LIGHT_OPS, 1000);
    g_assert_cmpuint(unit_read(unit, FIXED_CTR3), ==, 0);
    unit_write(unit, FIXED_CTR_CTRL, 0x2000);
    unit_count(unit, PMU_SLOT_CORE_BOUND, 1000);
    g_assert_cmphex(unit_read(unit, PERF_METRICS), ==, 0xff000000);
}

/*
 * P5: sampling slots with the metrics on.  The period ends with the overflow of
 * the slots counter alone, and the fractions are 0.
 */
static void test_slots_sampling(void)
{
    g_autofree Unit *unit = unit_started(4, 48);
    const uint64_t period = 1000003;

    for (int i = 0; i < 50; i++) {
        unit_write(unit, FIXED_CTR3, -period & COUNTER_MASK);
        unit_count(unit, PMU_SLOT_LIGHT_OPS, period - 1);
        g_assert_cmphex(unit_read(unit, GLOBAL_STATUS), ==, 0);
        g_assert_cmpuint(level1_sum(unit_read(unit, PERF_METRICS)), ==, 0);
        g_assert_false(unit->pmu.pmi);
        unit_count(unit, PMU_SLOT_LIGHT_OPS, 1);
        g_assert_cmphex(unit_read(unit, GLOBAL_STATUS), ==, EN_SLOTS);
        g_assert_true(unit->pmu.pmi);
        unit->pmu.pmi = false;
        unit_write(unit, 0x390, EN_SLOTS);
    }
}

/* P6: a profiler reloads the slots counter that overflowed, then reads. */
static void test_reload_then_read(void)
{
    g_autofree Unit *unit = unit_started(4, 48);
    const uint64_t period = 1 << 20;

    unit_count(unit, PMU_SLOT_LIGHT_OPS, period / 2);
    unit_count(unit, PMU_SLOT_FETCH_LATENCY, period / 4);
    unit_count(unit, PMU_SLOT_CORE_BOUND, period / 4);
    unit_write(unit, GLOBAL_CTRL, 0);
    unit_write(unit, FIXED_CTR3, 7);                    /* it has wrapped */
    unit_write(unit, FIXED_CTR3, period);
    /* Expected: 127.5, 0, 63.75, 63.75. */
    g_assert_cmphex(unit_read(unit, PERF_METRICS), ==, 0x4040007f);
}

/* P7: counting goes on after a stop. */
static void test_stop_and_go(void)
{
    g_autofree Unit *unit = unit_started(4, 48);

    unit_count(unit, PMU_SLOT_LIGHT_OPS, 3000);
    unit_write(unit, GLOBAL_CTRL, 0);
    unit_count(unit, PMU_SLOT_CORE_BOUND, 555);
    unit_write(unit, FIXED_CTR_CTRL, 0);
    unit_write(unit, GLOBAL_CTRL, EN_BOTH);
    unit_count(unit, PMU_SLOT_CORE_BOUND, 555);
    unit_write(unit, FIXED_CTR_CTRL, 0xb000);
    unit_count(unit, PMU_SLOT_CORE_BOUND, 3000);
    g_assert_cmpuint(unit_read(unit, FIXED_CTR3), ==, 6000);
    g_assert_cmphex(unit_read(unit, PERF_METRICS), ==, 0x7f000080);
}

/*
 * Bit 48 is set when a hidden counter wraps, at any width, to the slot.  It
 * interrupts if fixed counter 3 does.
 */
static void test_overflow(void)
{
    for (unsigned width = 8; width <= 48; width++) {
        for (int class = 0; class < PMU_SLOT_NR; class++) {
            g_autofree Unit *unit = unit_started(8, width);
            uint64_t distance = pmu_metrics_distance(0, width);
            bool interrupt = class % 2;

            unit_write(unit, FIXED_CTR_CTRL, interrupt ? 0xb000 : 0x3000);
            unit_count(unit, class, distance - 1);
            /*
             * 2^56 / 255 is more than 2^48, so at width 48 the slots wrap
             * first.
             */
            g_assert_cmphex(unit_read(unit, GLOBAL_STATUS), ==,
                            width == 48 ? EN_SLOTS : 0);
            unit->pmu.pmi = false;
            unit_count(unit, class, 1);
            g_assert_cmphex(unit_read(unit, GLOBAL_STATUS) & EN_METRICS, ==,
                            EN_METRICS);
            g_assert_cmpint(unit->pmu.pmi, ==, interrupt);
        }
    }
}

/*
 * Linux's protocol (icl_update_topdown_event() and its neighbours in
 * arch/x86/events/intel/core.c).  Two tasks take turns on one core; each
 * restores its registers when it comes and saves them when it goes.
 */
typedef struct Task {
    uint64_t saved_slots, saved_metrics;
    uint64_t count[4], slots;           /* what perf reports */
    uint64_t true_count[4];
    unsigned weight[4];
} Task;

static uint64_t share(uint64_t slots, uint64_t metrics, unsigned field)
{
    return slots * field_of(metrics, field) / 0xff;
}

static void task_in(Unit *unit, const Task *task)
{
    unit_write(unit, FIXED_CTR3, task->saved_slots);
    unit_write(unit, PERF_METRICS, task->saved_metrics);
    unit_write(unit, GLOBAL_CTRL, EN_BOTH);
}

static void task_account(Unit *unit, Task *task)
{
    uint64_t slots = unit_read(unit, FIXED_CTR3);
    uint64_t metrics = unit_read(unit, PERF_METRICS);

    for (unsigned i = 0; i < 4; i++) {
        uint64_t delta = share(slots, metrics, i);
        uint64_t last = share(task->saved_slots, task->saved_metrics, i);

        if (delta > last) {
            task->count[i] += delta - last;
        }
    }
    task->slots += slots - task->saved_slots;
    task->saved_slots = slots;
    task->saved_metrics = metrics;
}

static void task_out(Unit *unit, Task *task)
{
    unit_write(unit, GLOBAL_CTRL, 0);
    task_account(unit, task);
}

/* perf reads the group, and both registers start again. */
static void task_read(Unit *unit, Task *task)
{
    unit_write(unit, GLOBAL_CTRL, 0);
    task_account(unit, task);
    task->saved_slots = task->saved_metrics = 0;
    unit_write(unit, FIXED_CTR3, 0);
    unit_write(unit, PERF_METRICS, 0);
    unit_write(unit, GLOBAL_CTRL, EN_BOTH);
}

/*
 * Run a slice of random length and steady mix.  Less than half of 1/255 of all
 * slots since the last read does not survive a save and restore, on hardware
 * neither.  So a change of the mix would not be seen before the next read.
 */
static void task_run(Unit *unit, Task *task, Random *random)
{
    uint64_t length = 500 + random_below(random, 1000);

    for (unsigned i = 0; i < 4; i++) {
        uint64_t n = task->weight[i] * length;

        task->true_count[i] += n;
        unit_count(unit, PMU_SLOT_LIGHT_OPS + 2 * i, n);
    }
}

/*
 * Assert that the slots are exact, and that each class is off by at most 0.5 %
 * of them.
 */
static void check_task(const Task *task)
{
    uint64_t slots = 0;

    for (int i = 0; i < 4; i++) {
        slots += task->true_count[i];
    }
    g_assert_cmpuint(task->slots, ==, slots);
    for (int i = 0; i < 4; i++) {
        double error = fabs((double)task->count[i] - task->true_count[i]) /
                       slots;

        if (error > 0.005) {
            g_error("class %d: error of %.3f %% of slots", i, 100 * error);
        }
    }
}

static void check_context_switches(unsigned fields, unsigned reads)
{
    g_autofree Unit *unit = unit_started(fields, 48);
    Random random = random_from_seed();
    Task task[2] = {
        { .weight = { 70, 5, 15, 10 } }, { .weight = { 5, 40, 0, 55 } },
    };

    for (unsigned i = 0; i < 5000; i++) {
        Task *current = &task[i % 2];

        task_in(unit, current);
        task_run(unit, current, &random);
        if (reads && i % reads == 0) {
            task_read(unit, current);
            task_run(unit, current, &random);
        }
        task_out(unit, current);
    }
    check_task(&task[0]);
    check_task(&task[1]);
}

/* What perf reports after 5,000 context switches is what the tasks did. */
static void test_context_switches(void)
{
    check_context_switches(4, 0);
    check_context_switches(8, 0);
}

/* The same if perf reads the group now and then. */
static void test_context_switches_and_reads(void)
{
    check_context_switches(4, 7);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/perf-metrics/exact", test_exact);
    g_test_add_func("/perf-metrics/by-hand", test_by_hand);
    g_test_add_func("/perf-metrics/excess-comes-off-the-largest",
                    test_excess_comes_off_the_largest);
    g_test_add_func("/perf-metrics/add", test_add);
    g_test_add_func("/perf-metrics/distance", test_distance);
    g_test_add_func("/perf-metrics/classes", test_classes);
    g_test_add_func("/perf-metrics/write-then-read", test_write_then_read);
    g_test_add_func("/perf-metrics/disturb", test_disturb);
    g_test_add_func("/perf-metrics/write-clamps", test_write_clamps);
    g_test_add_func("/perf-metrics/sum", test_sum);
    g_test_add_func("/perf-metrics/reads-repeat", test_reads_repeat);
    g_test_add_func("/perf-metrics/enables", test_enables);
    g_test_add_func("/perf-metrics/filter", test_filter);
    g_test_add_func("/perf-metrics/slots-sampling", test_slots_sampling);
    g_test_add_func("/perf-metrics/reload-then-read", test_reload_then_read);
    g_test_add_func("/perf-metrics/stop-and-go", test_stop_and_go);
    g_test_add_func("/perf-metrics/overflow", test_overflow);
    g_test_add_func("/perf-metrics/context-switches", test_context_switches);
    g_test_add_func("/perf-metrics/context-switches-and-reads",
                    test_context_switches_and_reads);
    return g_test_run();
}
