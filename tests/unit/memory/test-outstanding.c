/*
 * Requests outstanding in each cycle, compared with one counter a cycle.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "tcg/pmu/memory/outstanding.h"
#include "random.h"

#define CYCLES  400000
/* How far ahead of the clock requests begin, and how long they take. */
#define AHEAD   (8 * PMU_CYCLE_WINDOW)
#define LONGEST (3 * PMU_CYCLE_WINDOW)
/* As many reads at a time as the byte of a cycle counts. */
#define READS_MOST      128

typedef struct Rig {
    Random random;
    PmuClock clock;
    PmuOutstanding outstanding;
    /* By cycle, what was noted. */
    uint8_t waits[CYCLES + AHEAD + LONGEST];
    uint32_t reads[CYCLES + AHEAD + LONGEST];
} Rig;

static void note(Rig *rig, uint64_t start, uint64_t end, uint8_t waits)
{
    if (waits) {
        pmu_outstanding_wait_long(&rig->outstanding, start, end, waits);
    } else {
        pmu_outstanding_read(&rig->outstanding, start, end);
    }
    for (uint64_t i = MAX(start, rig->clock.cycle); i < end; i++) {
        rig->waits[i] |= waits;
        rig->reads[i] += !waits;
    }
}

/* The clock leaves the cycles before @cycle: each has what was noted. */
static void leave(Rig *rig, uint64_t cycle)
{
    PmuOutstanding *o = &rig->outstanding;

    for (uint64_t i = rig->clock.cycle; i < cycle; i++) {
        unsigned entry = i % PMU_CYCLE_WINDOW;

        g_assert_cmphex(o->waits[entry], ==, rig->waits[i]);
        g_assert_cmpuint(o->reads[entry], ==, MIN(rig->reads[i], READS_MOST));
        o->waits[entry] = 0;
        o->reads[entry] = 0;
    }
    rig->clock.cycle = cycle;
    if (cycle >= rig->clock.window_due) {
        rig->clock.window_due = UINT64_MAX;
        pmu_outstanding_bring_near(o);
    }
}

static Rig *new_rig(void)
{
    Rig *rig = g_new0(Rig, 1);

    rig->random = random_from_seed();
    rig->clock.window_due = UINT64_MAX;
    pmu_outstanding_init(&rig->outstanding, &rig->clock);
    return rig;
}

/* Requests in any order, most of which begin far beyond the window. */
static void test_any_order(void)
{
    Rig *rig = new_rig();

    while (rig->clock.cycle < CYCLES - PMU_CYCLE_WINDOW) {
        uint64_t start = rig->clock.cycle + random_below(&rig->random, AHEAD);
        uint64_t end = start + random_below(&rig->random, LONGEST);
        uint8_t waits = 1u << random_below(&rig->random, 8) & 0x7f;

        note(rig, start, end, waits);
        leave(rig, rig->clock.cycle + random_below(&rig->random, 200));
    }
    g_assert_cmpuint(rig->outstanding.num_late, >, 30);
    g_free(rig);
}

/* More reads at a time than a cycle counts. */
static void test_many_reads(void)
{
    Rig *rig = new_rig();

    for (unsigned i = 0; i < 2 * READS_MOST; i++) {
        note(rig, random_below(&rig->random, 9),
             500 + random_below(&rig->random, 9), 0);
    }
    leave(rig, PMU_CYCLE_WINDOW);
    g_free(rig);
}

/* A chain: each request begins when the last one ends, far ahead. */
static void test_chain(void)
{
    Rig *rig = new_rig();
    uint64_t end = 0;

    while (rig->clock.cycle < CYCLES - PMU_CYCLE_WINDOW) {
        uint64_t start = MAX(end, rig->clock.cycle);

        end = start + random_below(&rig->random, 2 * 300);
        note(rig, start, end, 1);
        note(rig, start, end, 0);
        while (end > rig->clock.cycle + AHEAD - 600) {
            leave(rig, rig->clock.cycle +
                       random_below(&rig->random, PMU_CYCLE_WINDOW_STEP));
        }
    }
    g_free(rig);
}

/* What has no room is not counted, and harms nothing else. */
static void test_no_room(void)
{
    Rig *rig = new_rig();
    uint64_t far = 4 * PMU_CYCLE_WINDOW;

    for (unsigned i = 0; i < PMU_MAX_LATE_INTERVALS; i++) {
        note(rig, far + i % 7, far + 8, PMU_WAIT_ANY);
    }
    pmu_outstanding_wait_long(&rig->outstanding, far, far + 100,
                              PMU_WAIT_L1_MISS);
    while (rig->clock.cycle < far + PMU_CYCLE_WINDOW) {
        leave(rig, rig->clock.cycle + PMU_CYCLE_WINDOW_STEP);
    }
    g_assert_cmpuint(rig->outstanding.num_late, ==, 0);
    note(rig, far + 3 * PMU_CYCLE_WINDOW, far + 4 * PMU_CYCLE_WINDOW, 1);
    while (rig->clock.cycle < far + 5 * PMU_CYCLE_WINDOW) {
        leave(rig, rig->clock.cycle + PMU_CYCLE_WINDOW_STEP);
    }
    g_free(rig);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/outstanding/any-order", test_any_order);
    g_test_add_func("/outstanding/many-reads", test_many_reads);
    g_test_add_func("/outstanding/chain", test_chain);
    g_test_add_func("/outstanding/no-room", test_no_room);
    return g_test_run();
}
