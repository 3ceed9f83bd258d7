/*
 * Branch predictors: what any good one learns, and what none can.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <stdlib.h>

#include "tcg/pmu/frontend/branch-predictor.h"
#include "random.h"

#define PC 0x401000

static PmuBranchPredictor *new_bpred(void)
{
    PmuBranchPredictor *bp =
        pmu_branch_predictor_new(pmu_uarch(PMU_CORE_ICELAKE));

    g_assert_nonnull(bp);
    return bp;
}

/* Returns where the branch at @pc goes. */
static uint64_t successor_of(uint64_t pc, bool taken)
{
    return pc + (taken ? 0x1000 : 2);
}

/* Tell the history of a taken branch of any kind. */
static void take(PmuBranchPredictor *bp, uint64_t target)
{
    pmu_branch_history_add(pmu_branch_predictor_history(bp), target);
}

/*
 * The conditional branch at @pc goes @taken.  Returns whether that is
 * predicted.
 */
static bool conditional(PmuBranchPredictor *bp, uint64_t pc, bool taken)
{
    return pmu_direction_predictor_predict(pmu_branch_predictor_direction(bp),
                                           pc, taken);
}

/* The same, and the history learns of the branch if it is taken. */
static bool run_cond(PmuBranchPredictor *bp, uint64_t pc, bool taken)
{
    bool hit = conditional(bp, pc, taken);

    if (taken) {
        take(bp, successor_of(pc, true));
    }
    return hit;
}

/*
 * Returns the share of wrong predictions in the second half of @n outcomes of
 * one branch, in a loop that does not end.
 */
static double miss_rate(bool (*outcome)(Random *random, unsigned i),
                        unsigned n)
{
    PmuBranchPredictor *bp = new_bpred();
    Random random = random_from_seed();
    unsigned misses = 0;

    for (unsigned i = 0; i < n; i++) {
        misses += !run_cond(bp, PC, outcome(&random, i)) && i >= n / 2;
        take(bp, PC);
    }
    pmu_branch_predictor_free(bp);
    return misses / (n / 2.0);
}

static bool always(Random *random, unsigned i)
{
    return true;
}

static bool never(Random *random, unsigned i)
{
    return false;
}

static bool alternating(Random *random, unsigned i)
{
    return i & 1;
}

static bool loop_of_20(Random *random, unsigned i)
{
    return i % 20 != 19;
}

/* A period of 37 outcomes without structure. */
static bool pattern(Random *random, unsigned i)
{
    return 0x14d2f6a9b3ull >> i % 37 & 1;
}

static bool coin(Random *random, unsigned i)
{
    return random_next(random) & 1;
}

static bool biased_coin(Random *random, unsigned i)
{
    return random_below(random, 10) != 0;
}

/* A branch that always goes the same way is never missed once it is warm. */
static void test_constant(void)
{
    g_assert_cmpfloat(miss_rate(always, 1000), ==, 0);
    g_assert_cmpfloat(miss_rate(never, 1000), ==, 0);
}

/*
 * Periodic outcomes are learnt: the predictor sees the whole period.  It misses
 * none of the shortest one, and fewer than 0.5 % and 1 % of the longer ones.
 */
static void test_patterns(void)
{
    g_assert_cmpfloat(miss_rate(alternating, 10000), ==, 0);
    g_assert_cmpfloat(miss_rate(loop_of_20, 20000), <, 0.005);
    g_assert_cmpfloat(miss_rate(pattern, 20000), <, 0.01);
}

/*
 * No predictor can predict a coin: half are missed.  A coin that is biased nine
 * to one costs at least the rarer tenth, and may cost up to 16 %.
 */
static void test_coins(void)
{
    double fair = miss_rate(coin, 200000);
    double biased = miss_rate(biased_coin, 200000);

    g_assert_cmpfloat(fair, >, 0.48);
    g_assert_cmpfloat(fair, <, 0.52);
    g_assert_cmpfloat(biased, >, 0.095);
    g_assert_cmpfloat(biased, <, 0.16);
}

/*
 * The second branch repeats the outcome of the first, which is random.  The
 * history tells it; fewer than 3 % are missed.
 */
static void test_correlation(void)
{
    PmuBranchPredictor *bp = new_bpred();
    Random random = random_from_seed();
    unsigned misses = 0;

    for (unsigned i = 0; i < 20000; i++) {
        bool outcome = random_next(&random) & 1;

        run_cond(bp, PC, outcome);
        misses += !run_cond(bp, PC + 64, outcome) && i >= 10000;
        take(bp, PC);
    }
    g_assert_cmpuint(misses, <, 300);
    pmu_branch_predictor_free(bp);
}

/* A target by its path is learnt again after it has changed. */
static void test_indirect_changes(void)
{
    PmuBranchPredictor *bp = new_bpred();
    unsigned misses = 0;

    for (unsigned i = 0; i < 600; i++) {
        unsigned context = i & 1, swapped = i / 200 & 1;

        for (unsigned j = 0; j < 8; j++) {
            pmu_branch_predictor_indirect(bp, PC + 16,
                                          0x8000 + context * 0x140);
        }
        misses += !pmu_branch_predictor_indirect(
            bp, PC, 0x5000 + (context ^ swapped) * 0x140) && i >= 500;
    }
    g_assert_cmpuint(misses, ==, 0);
    pmu_branch_predictor_free(bp);
}

/*
 * 2,000 branches, each with its own constant direction: once warm, fewer than
 * 1 % are missed.
 */
static void test_many_branches(void)
{
    PmuBranchPredictor *bp = new_bpred();
    unsigned misses = 0;

    for (unsigned round = 0; round < 10; round++) {
        for (unsigned i = 0; i < 2000; i++) {
            misses += !run_cond(bp, PC + i * 7, i % 3 == 0) && round >= 5;
        }
    }
    g_assert_cmpuint(misses, <, 100);
    pmu_branch_predictor_free(bp);
}

/* Returns the share of a loop's exits that are missed, of @trips iterations. */
static double missed_exits(unsigned trips)
{
    const unsigned rounds = 400;
    PmuBranchPredictor *bp = new_bpred();
    unsigned misses = 0;

    for (unsigned i = 0; i < rounds; i++) {
        for (unsigned j = 1; j <= trips; j++) {
            misses += !run_cond(bp, PC, j < trips) && i >= rounds / 2;
        }
        take(bp, PC + 64);
    }
    pmu_branch_predictor_free(bp);
    return misses / (rounds / 2.0);
}

/*
 * The exit of a loop is predicted if the history tells it from other
 * iterations.  The history holds 194 taken branches (Half&Half) and has to
 * reach back to the loop's beginning.
 */
static void test_loops(void)
{
    g_assert_cmpfloat(missed_exits(5), ==, 0);
    g_assert_cmpfloat(missed_exits(30), ==, 0);
    g_assert_cmpfloat(missed_exits(190), ==, 0);
    g_assert_cmpfloat(missed_exits(200), >, 0.95);
    g_assert_cmpfloat(missed_exits(4096), >, 0.95);
}

/*
 * Returns the share of branches that are missed once the same @n random
 * outcomes have come again and again.
 */
static double missed_again(unsigned n)
{
    const unsigned rounds = 40;
    g_autofree bool *taken = g_new(bool, n);
    PmuBranchPredictor *bp = new_bpred();
    Random random = random_from_seed();
    unsigned misses = 0;

    for (unsigned i = 0; i < n; i++) {
        taken[i] = random_next(&random) & 1;
    }
    for (unsigned i = 0; i < rounds; i++) {
        for (unsigned j = 0; j < n; j++) {
            misses += !run_cond(bp, PC, taken[j]) && i == rounds - 1;
            take(bp, PC);
        }
    }
    pmu_branch_predictor_free(bp);
    g_test_message("%u outcomes: %.1f %% missed", n, 100.0 * misses / n);
    return (double)misses / n;
}

/*
 * Emerald Rapids, whose predictor is like Golden Cove's, learns 5,000 outcomes
 * (Lemire, "How many branches can your CPU predict?", 2026).  The model does
 * not learn ten times as many.
 */
static void test_many_outcomes(void)
{
    g_assert_cmpfloat(missed_again(5000), <, 0.05);
    g_assert_cmpfloat(missed_again(50000), >, 0.3);
}

/*
 * A gshare predictor (McFarling, "Combining branch predictors", 1993) of at
 * least the same storage: 2^18 counters of two bits, 64 KiB.
 */
#define GSHARE_BITS     18
#define GSHARE_HISTORY  14

typedef struct Gshare {
    uint8_t counter[1 << GSHARE_BITS];
    uint32_t history;
} Gshare;

static bool gshare_cond(Gshare *gshare, uint64_t pc, bool taken)
{
    uint32_t i = (pc ^ (uint64_t)gshare->history
                       << (GSHARE_BITS - GSHARE_HISTORY)) %
                 (1 << GSHARE_BITS);
    uint8_t *counter = &gshare->counter[i];
    bool prediction = *counter >= 2;

    if (taken) {
        *counter += *counter < 3;
    } else {
        *counter -= *counter > 0;
    }
    gshare->history = (gshare->history << 1 | taken) %
                      (1 << GSHARE_HISTORY);
    return prediction == taken;
}

/* Both predictors, which see the same branches. */
typedef struct Race {
    PmuBranchPredictor *bp;
    Gshare *gshare;
    Random random;
    unsigned branches, misses, gshare_misses;
} Race;

static void race_start(Race *race)
{
    *race = (Race) { .bp = new_bpred(), .gshare = g_new0(Gshare, 1),
                     .random = random_from_seed() };
}

static void race_cond(Race *race, unsigned branch, bool taken)
{
    uint64_t pc = PC + branch * 23;

    race->branches++;
    race->misses += !run_cond(race->bp, pc, taken);
    race->gshare_misses += !gshare_cond(race->gshare, pc, taken);
}

/*
 * Assert that of 10000 branches the model misses at most @most, and at least
 * @less fewer than gshare does.  (If @less is negative, it may miss more.)
 */
static void race_end(Race *race, const char *name, double most, double less)
{
    double ours = race->misses * 1e4 / race->branches;
    double theirs = race->gshare_misses * 1e4 / race->branches;

    g_test_message("%s: %.0f of 10000 missed, gshare %.0f", name, ours,
                   theirs);
    g_assert_cmpfloat(ours, <=, most);
    g_assert_cmpfloat(ours, <=, theirs - less);
    pmu_branch_predictor_free(race->bp);
    g_free(race->gshare);
}

/*
 * Loops of 100 iterations in loops of 7, after a branch of random outcome.  The
 * history does not reach back to the beginning of the loop of 7.  Once all else
 * is learnt, 1.5 of 708 branches are missed with that random branch, 21 of
 * 10000.
 */
static void test_nested_loops(void)
{
    Race race;

    race_start(&race);
    for (unsigned i = 0; i < 500; i++) {
        for (unsigned j = 0; j < 7; j++) {
            for (unsigned k = 0; k < 100; k++) {
                race_cond(&race, 0, k < 99);
            }
            race_cond(&race, 1, j < 6);
        }
        race_cond(&race, 2, random_next(&race.random) & 1);
        take(race.bp, PC);
    }
    race_end(&race, "nested loops", 25, 80);
}

/*
 * An interpreter runs a program of 40 operations over and over.  Four branches
 * of each operation test its bits.  The fifth has an address for each
 * operation, and always goes the same way there.  Past operations tell all of
 * them: at most 60 of 10000 are missed.
 */
static void test_interpreter(void)
{
    uint8_t program[40];
    Race race;

    race_start(&race);
    for (unsigned i = 0; i < sizeof(program); i++) {
        program[i] = random_below(&race.random, 16);
    }
    for (unsigned i = 0; i < 60000; i++) {
        unsigned op = program[i % sizeof(program)];

        for (unsigned bit = 0; bit < 4; bit++) {
            race_cond(&race, bit, op >> bit & 1);
        }
        race_cond(&race, 10 + op, op * 5 % 7 < 3);
        take(race.bp, PC);
    }
    race_end(&race, "interpreter", 60, -20);
}

/*
 * A hundred branches, each 95 % one way.  At least the other 5 % are missed,
 * 500 of 10000; 800 leave room for learning, which must not take long.
 */
static void test_noise(void)
{
    bool way[100];
    Race race;

    race_start(&race);
    for (unsigned i = 0; i < G_N_ELEMENTS(way); i++) {
        way[i] = random_next(&race.random) & 1;
    }
    for (unsigned i = 0; i < 500000; i++) {
        unsigned branch = i % G_N_ELEMENTS(way);
        bool other = !random_below(&race.random, 20);

        race_cond(&race, branch, way[branch] != other);
    }
    race_end(&race, "noise", 800, 50);
}

/*
 * Searches in a sorted table, where a few keys are much more frequent than the
 * others.  Gshare's history is shorter than one search; the model's also holds
 * a part of the search before, so the model may miss up to 150 more of 10000.
 */
static void test_search(void)
{
    Race race;

    race_start(&race);
    for (unsigned i = 0; i < 60000; i++) {
        unsigned key = random_below(&race.random, 4)
                       ? random_below(&race.random, 3) * 311 + 5
                       : random_below(&race.random, 1024);
        unsigned low = 0, high = 1024;

        while (high - low > 1) {
            unsigned middle = (low + high) / 2;

            race_cond(&race, 0, key >= middle);
            if (key >= middle) {
                low = middle;
            } else {
                high = middle;
            }
            race_cond(&race, 1, high - low > 1);
        }
        take(race.bp, PC);
    }
    race_end(&race, "search", 2500, -150);
}

/*
 * Random outcomes: there are about as many misses as rarer outcomes, as no
 * predictor can know when they come.
 */
static void test_no_foresight(void)
{
    static const unsigned odds[] = { 2, 3, 5, 10, 20, 40, 100, 300 };

    for (unsigned i = 0; i < G_N_ELEMENTS(odds); i++) {
        unsigned n = 400000, rare = 0, misses = 0;
        PmuBranchPredictor *bp = new_bpred();
        Random random = random_from_seed();

        for (unsigned j = 0; j < n; j++) {
            bool taken = !random_below(&random, odds[i]);

            rare += taken;
            misses += !run_cond(bp, PC, taken);
            take(bp, PC);
        }
        g_assert_cmpuint(misses, >, rare * 0.96);
        /* Seen were 1.159 for the first three odds, and 1.060. */
        g_assert_cmpuint(misses, <, rare * (odds[i] < 10 ? 1.2 : 1.08));
        pmu_branch_predictor_free(bp);
    }
}

/* An indirect branch with one target is missed only the first time. */
static void test_indirect_fixed(void)
{
    PmuBranchPredictor *bp = new_bpred();

    g_assert_false(pmu_branch_predictor_indirect(bp, PC, 0x5000));
    for (unsigned i = 0; i < 100; i++) {
        g_assert_true(pmu_branch_predictor_indirect(bp, PC, 0x5000));
    }
    pmu_branch_predictor_free(bp);
}

/* Targets that come in turn are learnt from the path; random ones are not. */
static void test_indirect_targets(void)
{
    PmuBranchPredictor *bp = new_bpred();
    Random random = random_from_seed();
    unsigned in_turn = 0, at_random = 0;

    for (unsigned i = 0; i < 10000; i++) {
        bool hit = pmu_branch_predictor_indirect(bp, PC,
                                                 0x5000 + i % 5 * 0x140);

        in_turn += i >= 5000 && !hit;
    }
    for (unsigned i = 0; i < 10000; i++) {
        uint64_t target = 0x5000 + random_below(&random, 8) * 0x140;

        at_random += !pmu_branch_predictor_indirect(bp, PC, target);
    }
    g_assert_cmpuint(in_turn, <, 50);
    /* Seven of eight are missed, if there is nothing to learn. */
    g_assert_cmpuint(at_random, >, 8000);
    pmu_branch_predictor_free(bp);
}

/* Returns of calls that nest no deeper than the stack are all predicted. */
static void test_return_stack(void)
{
    const PmuUarch *uarch = pmu_uarch(PMU_CORE_ICELAKE);
    PmuBranchPredictor *bp = new_bpred();

    for (unsigned depth = 1; depth <= uarch->return_stack; depth++) {
        for (unsigned i = 0; i < depth; i++) {
            pmu_branch_predictor_call(bp, 0x1000 + i * 5);
        }
        for (unsigned i = depth; i-- > 0;) {
            g_assert_true(pmu_branch_predictor_return(bp, 0x1000 + i * 5));
        }
    }
    /* One call deeper: the oldest return address is lost. */
    for (unsigned i = 0; i <= uarch->return_stack; i++) {
        pmu_branch_predictor_call(bp, 0x1000 + i * 5);
    }
    for (unsigned i = uarch->return_stack; i > 0; i--) {
        g_assert_true(pmu_branch_predictor_return(bp, 0x1000 + i * 5));
    }
    g_assert_false(pmu_branch_predictor_return(bp, 0x1000));
    pmu_branch_predictor_free(bp);
}

/*
 * After calls that nobody saw, as many returns as the stack has entries count
 * as predicted.  The return of a call that was seen must still match.
 */
static void test_forgotten_calls(void)
{
    const PmuUarch *uarch = pmu_uarch(PMU_CORE_ICELAKE);
    PmuBranchPredictor *bp = new_bpred();

    pmu_branch_predictor_call(bp, 0x1000);
    pmu_branch_predictor_forget_calls(bp);
    for (unsigned i = 0; i < uarch->return_stack; i++) {
        g_assert_true(pmu_branch_predictor_return(bp, 0x2000 + i));
    }
    g_assert_false(pmu_branch_predictor_return(bp, 0x2000));
    pmu_branch_predictor_forget_calls(bp);
    pmu_branch_predictor_call(bp, 0x1000);
    g_assert_false(pmu_branch_predictor_return(bp, 0x2000));
    g_assert_true(pmu_branch_predictor_return(bp, 0x2000));
    pmu_branch_predictor_free(bp);
}

/* The BTB knows a branch from its second time on, as long as it has room. */
static void test_btb(void)
{
    const PmuUarch *uarch = pmu_uarch(PMU_CORE_ICELAKE);
    PmuBranchPredictor *bp = new_bpred();
    unsigned misses = 0;

    g_assert_false(pmu_branch_predictor_btb(bp, PC));
    g_assert_true(pmu_branch_predictor_btb(bp, PC));
    /* Twice as many branches as it holds, in turn: LRU keeps none of them. */
    for (unsigned round = 0; round < 3; round++) {
        for (unsigned i = 0; i < 2 * uarch->btb_entries; i++) {
            misses += !pmu_branch_predictor_btb(bp, i);
        }
    }
    g_assert_cmpuint(misses, >, 5 * uarch->btb_entries);
    pmu_branch_predictor_free(bp);
}

/* A reset predictor predicts what a new one does. */
static void test_reset(void)
{
    PmuBranchPredictor *fresh = new_bpred(), *used = new_bpred();
    Random random = random_from_seed();

    for (unsigned i = 0; i < 10000; i++) {
        run_cond(used, random_below(&random, 4096), i & 1);
        pmu_branch_predictor_indirect(used, random_below(&random, 64), i);
        pmu_branch_predictor_call(used, i);
        pmu_branch_predictor_btb(used, i);
    }
    pmu_branch_predictor_reset(used);
    for (unsigned i = 0; i < 10000; i++) {
        uint64_t pc = random_below(&random, 4096);
        bool taken = random_next(&random) & 1;

        g_assert_cmpint(run_cond(used, pc, taken), ==,
                        run_cond(fresh, pc, taken));
        g_assert_cmpint(pmu_branch_predictor_indirect(used, pc, pc * 3), ==,
                        pmu_branch_predictor_indirect(fresh, pc, pc * 3));
        g_assert_cmpint(pmu_branch_predictor_return(used, pc), ==,
                        pmu_branch_predictor_return(fresh, pc));
        g_assert_cmpint(pmu_branch_predictor_btb(used, pc), ==,
                        pmu_branch_predictor_btb(fresh, pc));
    }
    pmu_branch_predictor_free(fresh);
    pmu_branch_predictor_free(used);
}

/*
 * A predictor need not be told of a branch that pmu_direction_is_constant().
 * Another one, which is told of all branches, predicts that branch, and both
 * agree about all others.
 */

#define BRANCHES    200

typedef struct BiasedBranch {
    uint64_t pc;
    unsigned percent;           /* how often it is taken, in % */
} BiasedBranch;

/* Make branches from a wide range of addresses, so that some share an entry. */
static void make_branches(BiasedBranch *branch, Random *random)
{
    static const unsigned percents[] = { 0, 100, 100, 0, 1, 99, 50, 80 };

    for (unsigned i = 0; i < BRANCHES; i++) {
        branch[i] = (BiasedBranch) {
            .pc = 0x400000 + random_below(random, 1024) +
                  (random_below(random, 4) << 14),
            .percent = percents[random_below(random,
                                             G_N_ELEMENTS(percents))],
        };
    }
}

/*
 * Half of the branches always go the same way.  Some share an entry with
 * others; still the predictor is told of fewer than 3/4 of all runs.
 */
static void test_is_constant(void)
{
    Random random = random_from_seed();
    PmuBranchPredictor *all = new_bpred(), *some = new_bpred();
    const PmuDirectionBase *base = &pmu_branch_predictor_direction(some)->base;
    BiasedBranch branch[BRANCHES];
    unsigned told = 0, runs = 500000;

    make_branches(branch, &random);
    for (unsigned i = 0; i < runs; i++) {
        const BiasedBranch *b = &branch[random_below(&random, BRANCHES)];
        bool taken = random_below(&random, 100) < b->percent;
        bool hit = run_cond(all, b->pc, taken);

        if (pmu_direction_is_constant(base, b->pc, taken)) {
            g_assert_true(hit);
        } else {
            g_assert_cmpint(conditional(some, b->pc, taken), ==, hit);
            told++;
        }
        if (taken) {
            take(some, successor_of(b->pc, taken));
        }
    }
    g_test_message("told of %u runs of %u", told, runs);
    g_assert_cmpuint(told, <, runs * 3 / 4);
    pmu_branch_predictor_free(all);
    pmu_branch_predictor_free(some);
}

/*
 * A branch is no longer constant once it went the other way, or after a reset.
 */
static void test_constant_ends(void)
{
    PmuBranchPredictor *bp = new_bpred();
    const PmuDirectionBase *base = &pmu_branch_predictor_direction(bp)->base;

    for (unsigned i = 0; i < 2; i++) {
        g_assert_false(pmu_direction_is_constant(base, PC, true));
        conditional(bp, PC, true);
        g_assert_true(pmu_direction_is_constant(base, PC, true));
        g_assert_false(pmu_direction_is_constant(base, PC, false));
        if (i == 0) {
            pmu_branch_predictor_reset(bp);
        }
    }
    g_assert_false(conditional(bp, PC, false));
    g_assert_false(pmu_direction_is_constant(base, PC, true));
    pmu_branch_predictor_free(bp);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/branch-predictor/constant", test_constant);
    g_test_add_func("/branch-predictor/patterns", test_patterns);
    g_test_add_func("/branch-predictor/coins", test_coins);
    g_test_add_func("/branch-predictor/correlation", test_correlation);
    g_test_add_func("/branch-predictor/many-branches", test_many_branches);
    g_test_add_func("/branch-predictor/loops", test_loops);
    g_test_add_func("/branch-predictor/many-outcomes", test_many_outcomes);
    g_test_add_func("/branch-predictor/nested-loops", test_nested_loops);
    g_test_add_func("/branch-predictor/interpreter", test_interpreter);
    g_test_add_func("/branch-predictor/noise", test_noise);
    g_test_add_func("/branch-predictor/search", test_search);
    g_test_add_func("/branch-predictor/no-foresight", test_no_foresight);
    g_test_add_func("/branch-predictor/indirect-fixed", test_indirect_fixed);
    g_test_add_func("/branch-predictor/indirect-changes",
                    test_indirect_changes);
    g_test_add_func("/branch-predictor/indirect-targets",
                    test_indirect_targets);
    g_test_add_func("/branch-predictor/return-stack", test_return_stack);
    g_test_add_func("/branch-predictor/forgotten-calls", test_forgotten_calls);
    g_test_add_func("/branch-predictor/btb", test_btb);
    g_test_add_func("/branch-predictor/reset", test_reset);
    g_test_add_func("/branch-predictor/is-constant", test_is_constant);
    g_test_add_func("/branch-predictor/constant-ends", test_constant_ends);
    return g_test_run();
}
