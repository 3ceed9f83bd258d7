/*
 * The predictor runs ahead of fetch.  How long fetch waits for lines of code
 * follows by arithmetic from the parameters of the core.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>

#include "tcg/pmu/frontend/delivery.h"
#include "tcg/pmu/memory/outstanding.h"

#define LINES   1000
#define NOPS    8                       /* NOPs of 8 bytes in a line */

/* A frontend alone: each micro-op issues as soon as it is delivered. */
typedef struct Rig {
    PmuUarch uarch;
    PmuClock clock;
    PmuOutstanding outstanding;
    PmuMissTiming misses;
    PmuDelivery delivery;
    PmuInsn nop;
} Rig;

/*
 * Make a core that fetches a line in 2 cycles, and where no parameter limits
 * misses.  Tests then make single parameters stricter.
 */
static Rig *rig_new(void)
{
    Rig *rig = g_new0(Rig, 1);

    rig->uarch = *pmu_uarch(PMU_CORE_ICELAKE);
    rig->uarch.decode_bytes = 32;
    rig->uarch.decoders = 8;
    rig->uarch.decode_uops = 8;
    rig->uarch.predecode_insns = 8;
    rig->uarch.l2.latency = 20;
    rig->uarch.fetch_targets = PMU_MAX_FETCH_TARGETS;
    rig->uarch.l1i_fill_buffers = PMU_MAX_FILL_BUFFERS;
    rig->uarch.l1i_line_cycles = 0;
    rig->nop = (PmuInsn) {
        .length = 8, .slots = 1, .uops = 1, .decode_uops = 1, .opcode_end = 1,
    };
    return rig;
}

/* Initialize the parts, after the test has set the parameters. */
static void rig_start(Rig *rig)
{
    rig->clock.cycle = PMU_FIRST_CYCLE;
    rig->clock.window_due = UINT64_MAX;
    pmu_outstanding_init(&rig->outstanding, &rig->clock);
    pmu_miss_timing_init(&rig->misses, &rig->uarch, &rig->clock,
                         &rig->outstanding);
    pmu_delivery_init(&rig->delivery, &rig->uarch, &rig->clock, &rig->misses);
}

static uint32_t count(Rig *rig, PmuLedgerItem item)
{
    return *pmu_count(&rig->clock, item);
}

/* The backend takes all that is delivered. */
static void issue(Rig *rig)
{
    rig->clock.cycle = MAX(rig->clock.cycle, rig->delivery.cycle);
}

static void deliver(Rig *rig, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        pmu_delivery_deliver(&rig->delivery, &rig->nop, i * 8);
    }
    issue(rig);
}

/* Run a line of straight code whose fetch is @access.  Returns the cycles. */
static uint64_t run_line(Rig *rig, const PmuAccessOutcome *access)
{
    uint64_t before = rig->clock.cycle;

    pmu_delivery_legacy(&rig->delivery, access);
    deliver(rig, NOPS);
    return rig->clock.cycle - before;
}

static const PmuAccessOutcome in_l1i = { .source = PMU_SOURCE_L1 };
static const PmuAccessOutcome in_l2 = { .source = PMU_SOURCE_L2 };

/* The same for @LINES such lines, after as many to warm up. */
static uint64_t run_lines(Rig *rig, const PmuAccessOutcome *access)
{
    uint64_t before;

    for (unsigned i = 0; i < LINES; i++) {
        run_line(rig, access);
    }
    rig->clock.counts = (PmuPipelineCounts) {};
    before = rig->clock.cycle;
    for (unsigned i = 0; i < LINES; i++) {
        run_line(rig, access);
    }
    return rig->clock.cycle - before;
/* Assert that each line takes @cycles.  Frees @rig. */
}

static void assert_lines(Rig *rig, const PmuAccessOutcome *access,
                         double cycles)
{
    g_assert_cmpfloat_with_epsilon((double)run_lines(rig, access) / LINES,
                                   cycles, 0.01);
    /* All cycles but the 2 of decoding are counted as waits of fetch. */
    g_assert_cmpfloat_with_epsilon(
        (double)(count(rig, PMU_ITEM_FETCH_TAG_CYCLES) +
                 count(rig, PMU_ITEM_FETCH_DATA_CYCLES)) / LINES, cycles - 2,
        0.01);
    g_assert_cmpuint(count(rig, PMU_ITEM_FETCH_DATA_PERIODS), <=,
                     count(rig, PMU_ITEM_FETCH_DATA_CYCLES));
    g_free(rig);
}

/* A predictor that is far enough ahead hides the whole latency of L2. */
static void test_hidden(void)
{
    Rig *rig = rig_new();

    rig_start(rig);
    assert_lines(rig, &in_l2, 2);
}

/* Code in L1I needs no predictor: it takes 2 cycles without a queue, too. */
static void test_hits(void)
{
    Rig *rig = rig_new();

    rig->uarch.fetch_targets = 0;
    rig_start(rig);
    assert_lines(rig, &in_l1i, 2);
}

/* Without a queue of fetch targets each line takes its whole latency. */
static void test_coupled(void)
{
    Rig *rig = rig_new();

    rig->uarch.fetch_targets = 0;
    rig_start(rig);
    assert_lines(rig, &in_l2, 2 + 20);
}

/*
 * The queue has room for a line when another one leaves.  So as many lines come
 * in a latency of 20 cycles as it has entries.
 */
static void test_depth(void)
{
    static const unsigned targets[] = { 1, 2, 4, 5 };

    for (unsigned i = 0; i < G_N_ELEMENTS(targets); i++) {
        Rig *rig = rig_new();

        rig->uarch.fetch_targets = targets[i];
        rig_start(rig);
        assert_lines(rig, &in_l2, 20.0 / targets[i]);
    }
}

/* As many lines come in a latency of 20 cycles as there are fill buffers. */
static void test_buffers(void)
{
    static const unsigned buffers[] = { 1, 2, 4, 5 };

    for (unsigned i = 0; i < G_N_ELEMENTS(buffers); i++) {
        Rig *rig = rig_new();

        rig->uarch.l1i_fill_buffers = buffers[i];
        rig_start(rig);
        assert_lines(rig, &in_l2, 20.0 / buffers[i]);
    }
}

/* Lines come from L2 at most at its rate: one in l1i_line_cycles, here 7. */
static void test_rate(void)
{
    Rig *rig = rig_new();

    rig->uarch.l1i_line_cycles = 7;
    rig_start(rig);
    assert_lines(rig, &in_l2, 7);
}

/*
 * The predictor looks up pages that the ITLB lacks ahead of fetch, one after
 * the other.  Those in the STLB take its latency, 9 cycles, each.
 */
static void test_translations(void)
{
    static const PmuAccessOutcome in_stlb = {
        .source = PMU_SOURCE_L1, .delay = 9,
    };
    Rig *rig = rig_new();

    rig_start(rig);
    assert_lines(rig, &in_stlb, 9);
}

/*
 * Run 60 lines in L1I and one whose page has to be walked.  With @targets
 * entries in the queue fetch waits @waits cycles for that one.
 */
static void check_page(unsigned targets, uint64_t waits)
{
    static const PmuAccessOutcome walk = {
        .source = PMU_SOURCE_L1, .delay = 7, .walk = 25,
    };
    Rig *rig = rig_new();
    uint64_t before;

    rig->uarch.fetch_targets = targets;
    rig_start(rig);
    for (unsigned i = 0; i < 60; i++) {
        run_line(rig, &in_l1i);
    }
    before = rig->clock.cycle;
    run_line(rig, &walk);
    g_assert_cmpuint(rig->clock.cycle - before, ==, 2 + waits);
    g_assert_cmpuint(count(rig, PMU_ITEM_FETCH_TAG_CYCLES), ==, waits);
    g_assert_cmpuint(count(rig, PMU_ITEM_FETCH_DATA_CYCLES), ==, 0);
    g_free(rig);
}

/*
 * A queue of 16 hides a single walk.  Without one fetch waits for all of it: 7
 * cycles for the STLB and 25 for the walk.
 */
static void test_page(void)
{
    check_page(16, 0);
    check_page(0, 7 + 25);
}

/* Returns a rig that has run lines in L1I, so that its queue is full. */
static Rig *rig_warm(void)
{
    Rig *rig = rig_new();

    rig->uarch.fetch_targets = 16;
    rig_start(rig);
    for (unsigned i = 0; i < 100; i++) {
        run_line(rig, &in_l1i);
    }
    g_assert_cmpuint(run_line(rig, &in_l2), ==, 2);
    return rig;
}

/*
 * Assert that the queue refills after a resteer: the first line waits for all
 * of L2's 20 cycles, and those behind it came with it.  Frees @rig.
 */
static void assert_refills(Rig *rig)
{
    uint32_t waited = count(rig, PMU_ITEM_FETCH_DATA_CYCLES);

    run_line(rig, &in_l2);
    g_assert_cmpuint(count(rig, PMU_ITEM_FETCH_DATA_CYCLES) - waited, ==, 20);
    for (unsigned i = 0; i < 100; i++) {
        run_line(rig, &in_l2);
    }
    g_assert_cmpuint(count(rig, PMU_ITEM_FETCH_DATA_CYCLES) - waited, ==, 20);
    g_free(rig);
}

/* The queue is empty after a misprediction, an interrupt or a machine clear. */
static void test_restart(void)
{
    Rig *rig = rig_warm();

    pmu_delivery_restart(&rig->delivery, rig->clock.cycle + 30);
    issue(rig);
    assert_refills(rig);
}

/* The queue is empty after a taken branch that the predictor did not know. */
static void test_unknown_branch(void)
{
    Rig *rig = rig_warm();

    pmu_delivery_taken(&rig->delivery, true, false);
    issue(rig);
    assert_refills(rig);
}

/* The queue stays full after a taken branch that the predictor knew. */
static void test_known_branch(void)
{
    Rig *rig = rig_warm();

    pmu_delivery_taken(&rig->delivery, false, false);
    run_line(rig, &in_l2);
    g_assert_cmpuint(count(rig, PMU_ITEM_FETCH_DATA_CYCLES), ==, 0);
    g_free(rig);
}

/* The queue is empty after a loop from the queue of micro-ops. */
static void test_loop(void)
{
    Rig *rig = rig_warm();

    for (unsigned i = 0; i < 100; i++) {
        pmu_delivery_loop(&rig->delivery);
        deliver(rig, NOPS);
        rig->clock.cycle += 10;
    }
    assert_refills(rig);
}

/*
 * Code that the DSB delivers goes through the queue, too.  The predictor asked
 * for the line 16 windows of 10 cycles ago, so fetch waits for the rest of
 * DRAM's latency.
 */
static void test_dsb(void)
{
    static const PmuAccessOutcome in_dram = { .source = PMU_SOURCE_DRAM };
    Rig *rig = rig_warm();

    rig->uarch.dsb_switch = 0;
    for (unsigned i = 0; i < 100; i++) {
        pmu_delivery_dsb(&rig->delivery);
        deliver(rig, NOPS);
        rig->clock.cycle += 10;
    }
    run_line(rig, &in_dram);
    g_assert_cmpuint(count(rig, PMU_ITEM_FETCH_DATA_CYCLES), ==,
                     pmu_uarch_dram_latency(&rig->uarch) - 16 * 10);
    g_free(rig);
}

/*
 * While the backend has no room, the predictor asks for lines until its queue
 * is full: 16 lines come without a wait.
 */
static void test_backend(void)
{
    static const PmuAccessOutcome in_dram = { .source = PMU_SOURCE_DRAM };
    Rig *rig = rig_warm();
    unsigned lines = 0;

    run_line(rig, &in_dram);
    g_assert_cmpuint(count(rig, PMU_ITEM_FETCH_DATA_CYCLES), >, 0);
    rig->clock.cycle += 5000;
    /* This line only finds that the backend has no room. */
    run_line(rig, &in_l1i);
    rig->clock.counts = (PmuPipelineCounts) {};
    while (!count(rig, PMU_ITEM_FETCH_DATA_CYCLES) && lines < 100) {
        run_line(rig, &in_dram);
        lines++;
    }
    g_assert_cmpuint(lines, ==, 16);
    g_free(rig);
}

/* A walk that the predictor began is counted in each of its 25 cycles. */
static void test_walk_cycles(void)
{
    static const PmuAccessOutcome walk = {
        .source = PMU_SOURCE_L1, .walk = 25,
    };
    Rig *rig = rig_warm();
    unsigned active = 0;

    rig->clock.cycle += 5000;
    run_line(rig, &in_l1i);
    run_line(rig, &walk);
    for (unsigned i = 0; i < PMU_CYCLE_WINDOW; i++) {
        active += !!(rig->outstanding.waits[i] & PMU_WALK_CODE);
    }
    g_assert_cmpuint(active, ==, 25);
    g_free(rig);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/run-ahead/hidden", test_hidden);
    g_test_add_func("/run-ahead/hits", test_hits);
    g_test_add_func("/run-ahead/coupled", test_coupled);
    g_test_add_func("/run-ahead/depth", test_depth);
    g_test_add_func("/run-ahead/buffers", test_buffers);
    g_test_add_func("/run-ahead/rate", test_rate);
    g_test_add_func("/run-ahead/translations", test_translations);
    g_test_add_func("/run-ahead/page", test_page);
    g_test_add_func("/run-ahead/restart", test_restart);
    g_test_add_func("/run-ahead/unknown-branch", test_unknown_branch);
    g_test_add_func("/run-ahead/known-branch", test_known_branch);
    g_test_add_func("/run-ahead/loop", test_loop);
    g_test_add_func("/run-ahead/dsb", test_dsb);
    g_test_add_func("/run-ahead/backend", test_backend);
    g_test_add_func("/run-ahead/walk-cycles", test_walk_cycles);
    return g_test_run();
}
