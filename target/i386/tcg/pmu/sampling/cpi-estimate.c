/*
 * Estimates of what was not simulated in detail: corrections of the means.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Of observed code the functional model knows how long data took to come, and
 * what was mispredicted.  That says about how much of it there is in code that
 * was not observed.  Of unknown code it knows where its lines came from.  Costs
 * that were found where code was new are corrected by a ratio: what the same
 * code costs later.  So are costs of all known code, by what code at the same
 * level cost in the newest sampling units.
 */

#include <glib.h>
#include <string.h>

#include "tcg/pmu/sampling/covariate-costs.h"
#include "tcg/pmu/sampling/cpi-estimate.h"

#define ITEM PMU_SAMPLE_ITEM

/*
 * Instructions of average code that are added to those of new code, as one
 * region alone says little.  Chosen: half a sampling unit.
 */
#define LITTLE_FIRST    1024.0

/* The most that a correction may leave to be subtracted by later ones. */
#define DEBT_MOST   (1 << 28)

/* Items that count waits of fetch for lines that missed L1I. */
static const struct {
    uint8_t item;
    bool slots;                 /* it counts slots, not cycles */
} fetch_bound[] = {
    { PMU_SLOT_FETCH_LATENCY, true },
    { ITEM(ISSUED_0), false },
    { ITEM(UNDELIVERED_0), false },
    { ITEM(EXECUTED_0), false },
    { ITEM(RETIRED_0), false },
    { ITEM(FETCH_DATA_CYCLES), false },
};

/* What a cycle of waiting adds to the item of fetch_bound[@i]. */
static double cycle(const PmuCpiTable *table, unsigned i)
{
    return fetch_bound[i].slots ? table->uarch->width : 1;
}

/* Cycles to fetch a line of code that is in @place. */
static uint32_t code_latency(const PmuCpiTable *table, PmuFoundIn place)
{
    switch (place) {
    case PMU_FOUND_IN_L2:
        return table->uarch->l2.latency;
    case PMU_FOUND_IN_L3:
        return table->uarch->l3.latency;
    default:
        return pmu_uarch_dram_latency(table->uarch);
    }
}

/* The sum of the latencies of the lines in @sums that missed L1I. */
static double line_latency(const PmuCpiTable *table,
                           const PmuCpiSums *sums)
{
    double cycles = 0;

    for (unsigned i = 0; i < PMU_FOUND_IN_NR; i++) {
        cycles += sums->item[ITEM(CODE_L2) + i] *
                  code_latency(table, i);
    }
    return cycles;
}

/*
 * The share of line_latency() that fetch waits, 0 to 1: misses that the
 * predictor finds ahead of fetch overlap.  1 if @sums has no misses.
 */
static double waited(const PmuCpiTable *table, const PmuCpiSums *sums)
{
    double latency = line_latency(table, sums);
    double wait = MAX(sums->item[ITEM(FETCH_DATA_CYCLES)], 0);

    return wait < latency ? wait / latency : 1;
}

/*
 * Set @sums to what stands for unknown code: new code, with LITTLE_FIRST
 * instructions of average code; or average code if it ran lately.
 */
static void unknown_sums(const PmuCpiTable *table, PmuSighted sighted,
                            PmuCpiSums *sums)
{
    const PmuCpiSums *typical = &table->typical;
    double share = LITTLE_FIRST / typical->insns;

    if (sighted == PMU_SIGHTED_AGAIN) {
        *sums = *typical;
        return;
    }
    *sums = table->first;
    sums->insns += LITTLE_FIRST;
    for (unsigned i = 0; i < PMU_SAMPLE_SPACE; i++) {
        sums->item[i] += typical->item[i] * share;
    }
}

/*
 * Set @item to what an instruction of @sums costs, less what is known of
 * unknown code by itself: where its lines were; and, if it is observed, how
 * long data took and what was mispredicted.  These are left out even if they
 * are not observed.  Otherwise the code beyond the caches of
 * scripts/run-topdown, which has no data, would wait as long as the chase
 * through DRAM before it.
 */
static void leave_known(const PmuCpiTable *table, const PmuCpiSums *sums,
                        double item[PMU_SAMPLE_SPACE])
{
    double wait = line_latency(table, sums) * waited(table, sums);

    for (unsigned i = 0; i < PMU_SAMPLE_SPACE; i++) {
        item[i] = sums->item[i];
    }
    for (unsigned i = 0; i < PMU_COVARIATE_NR; i++) {
        item[PMU_SAMPLE_COVARIATES + i] = 0;
    }
    for (unsigned i = 0; i < PMU_RESPONSE_NR; i++) {
        double *of = &item[pmu_cpi_dependent_item(i)];

        *of = MAX(*of - pmu_cpi_due(table, sums, i), 0);
    }
    item[ITEM(L1I_MISSES)] = 0;
    item[ITEM(FETCH_DATA_PERIODS)] = 0;
    for (unsigned i = 0; i < PMU_FOUND_IN_NR; i++) {
        item[ITEM(CODE_L2) + i] = 0;
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(fetch_bound); i++) {
        double *of = &item[fetch_bound[i].item];

        *of = MAX(*of - wait * cycle(table, i), 0);
    }
    for (unsigned i = 0; i < PMU_SAMPLE_SPACE; i++) {
        item[i] = pmu_round_to_quantum(item[i] / sums->insns);
    }
}

/* Add @misses to @item, and how long code like @sums waits for them. */
static void add_misses(const PmuCpiTable *table, const PmuCpiSums *sums,
                       const PmuCodeMisses *misses,
                       double item[PMU_SAMPLE_SPACE])
{
    double wait = 0, share = waited(table, sums);

    for (unsigned i = 0; i < PMU_FOUND_IN_NR; i++) {
        wait += misses->from[i] * share * code_latency(table, i);
        item[ITEM(FETCH_DATA_PERIODS)] += misses->from[i] * share;
        item[ITEM(CODE_L2) + i] += misses->from[i];
        item[ITEM(L1I_MISSES)] += misses->from[i];
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(fetch_bound); i++) {
        item[fetch_bound[i].item] += wait * cycle(table, i);
    }
}

/*
 * Set @item to what @insns instructions of unknown code are taken to cost,
 * besides what is known of them.  @sums is from unknown_sums().
 */
static void predict_unknown(const PmuCpiTable *table,
                            const PmuCpiSums *sums, uint64_t insns,
                            double item[PMU_SAMPLE_SPACE])
{
    leave_known(table, sums, item);
    for (unsigned i = 0; i < PMU_SAMPLE_SPACE; i++) {
        item[i] *= insns;
    }
}

/* Add to @sum those of @item that are wanted. */
static void tally_items(const PmuCpiTable *table, double *sum,
                        const double item[PMU_SAMPLE_SPACE])
{
    for (unsigned i = 0; i < PMU_SAMPLE_NR; i++) {
        sum[i] += pmu_cpi_table_is_wanted(table, i) ? item[i] : 0;
    }
}

/*
 * Tally unknown code: what it is taken to cost in @sum, and its misses, which
 * are known, in @tally->sum.
 */
static void settle_unknown(const PmuCpiTable *table, PmuEstimate *tally,
                           PmuSighted sighted, double *sum)
{
    PmuUnknownCode unknown = tally->unknown[sighted];
    double item[PMU_SAMPLE_SPACE], missed[PMU_SAMPLE_SPACE] = {};
    PmuCpiSums sums;

    tally->unknown[sighted] = (PmuUnknownCode) {};
    if (!unknown.insns) {
        return;
    }
    if (!table->typical.insns) {
        /* There are no samples yet.  Most instructions take one slot. */
        tally->sum[PMU_SLOT_LIGHT_OPS] += unknown.insns;
        return;
    }
    unknown_sums(table, sighted, &sums);
    predict_unknown(table, &sums, unknown.insns, item);
    tally_items(table, sum, item);
    add_misses(table, &sums, &unknown.misses, missed);
    tally_items(table, tally->sum, missed);
}

/*
 * Slots, cycles or requests that are added to both terms of a ratio, which a
 * few regions would decide otherwise.  With a third and three times as many,
 * pmu-replay shows the same errors to a few tenths.
 */
#define LITTLE_RATIO    1000
/*
 * The same for recent ratios, which are of fewer units.  The largest error of a
 * class, as pmu-replay shows it for a recording of forks and dash with four
 * seeds, is 7.9 % in user mode and 2.5 % in the kernel on average, and 3.0 and
 * 4.6 % for ten programs.  Without recent ratios it is 11.5, 2.6, 3.0 and
 * 4.3 %, and with a quarter of LITTLE_RECENT 5.9, 2.9, 2.9 and 5.5 %.
 */
#define LITTLE_RECENT   16000
/*
 * The same for ratios of covariates, in cycles and in mispredictions, which are
 * about as many slots.  With these, one in ten of the kernel's parts that
 * tests/accuracy/programs --runs 2 runs with seeds 21 and 22 is 10.3 and 7.7 %
 * off.  With a quarter of it and half of OBSERVED_MEMORY it is 10.5 and 11.1 %.
 */
#define LITTLE_WAITS        4000
#define LITTLE_MISPREDICTS  80

/*
 * Ratios are multiples of 1/RATIO_GRAINS, so that products with sums of less
 * than 2^27 are exact: those are multiples of 2^-20.  See ENTER_INSNS.
 */
#define RATIO_GRAINS    64

/*
 * The largest ratio.  Chosen: if code takes twice as much later as when it is
 * new, that is chance.  So it is if known code takes less than half as much.
 */
#define RATIO_MOST      2

/* Does @item count work, which is the same whenever an instruction runs? */
static bool is_work(unsigned item)
{
    static const struct {
        uint8_t first, last;
    } work[] = {
        { PMU_SLOT_LIGHT_OPS, PMU_SLOT_HEAVY_OPS },
        { ITEM(UOPS_ISSUED), ITEM(UOPS_ISSUED) },
        { ITEM(UOPS_EXECUTED), ITEM(UOPS_EXECUTED) },
        { ITEM(PORT_0), ITEM(PORT_STORE_ADDRESS) },
        { ITEM(X87_UOPS), ITEM(MACRO_FUSED) },
        { ITEM(DECODED), ITEM(DECODED) },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(work); i++) {
        if (item >= work[i].first && item <= work[i].last) {
            return true;
        }
    }
    return false;
}

static double round_ratio(double ratio)
{
    return (double)(unsigned)(ratio * RATIO_GRAINS + 0.5) / RATIO_GRAINS;
}

/* @took / @predicted, with @little added to both; at most @most. */
static double limited_ratio(double took, double predicted, double little,
                            unsigned most)
{
    double ratio = (MAX(took, 0) + little) / (MAX(predicted, 0) + little);

    return MIN(ratio, most);
}

/* CODE_x have the ratio of their sum, which stays their sum. */
static unsigned ratio_item(unsigned item)
{
    return item >= ITEM(CODE_L2) && item <= ITEM(CODE_DRAM) ? ITEM(L1I_MISSES)
                                                            : item;
}

/* The ratio that corrects @item of costs like those in @ratio. */
static double ratio_of(const PmuCostRatio *ratio, unsigned item)
{
    return limited_ratio(ratio->took[item], ratio->predicted[item],
                         LITTLE_RATIO, RATIO_MOST);
}

/*
 * What was predicted of @item of known regions in the newest sampling units,
 * with those of low confidence corrected.
 */
static double recently_predicted(const PmuCpiTable *table, PmuLevel level,
                                 unsigned item)
{
    const PmuRecentCosts *recent = &table->recent[level];
    double low = ratio_of(&table->ratio[PMU_CONFIDENCE_LOW], item);

    return recent->predicted[PMU_CONFIDENCE_HIGH][item] +
           recent->predicted[PMU_CONFIDENCE_LOW][item] * low;
}

/*
 * Set @took to what known regions at @level took in the newest sampling units,
 * less what correct() adds for covariates that were not as predicted.
 */
static void recently_took(const PmuCpiTable *table, PmuLevel level,
                          double took[PMU_SAMPLE_SPACE])
{
    double beyond[PMU_COVARIATE_NR];

    memcpy(took, table->recent[level].took, PMU_SAMPLE_SPACE * sizeof(*took));
    for (unsigned i = 0; i < PMU_COVARIATE_NR; i++) {
        unsigned item = PMU_SAMPLE_COVARIATES + i;

        beyond[i] = took[item] - recently_predicted(table, level, item);
        took[item] -= beyond[i];
    }
    for (unsigned i = 0; i < PMU_RESPONSE_NR; i++) {
        took[pmu_cpi_dependent_item(i)] -= pmu_cpi_regressor(beyond, i) *
                                           table->slope[i];
    }
}

/*
 * The ratio that corrects @item of costs @which at @level.  @took is from
 * recently_took().
 */
static double correction_of(const PmuCpiTable *table, PmuConfidence which,
                            PmuLevel level, unsigned item,
                            const double took[PMU_SAMPLE_SPACE])
{
    unsigned of = ratio_item(item);
    double ratio = 1;

    if (is_work(item)) {
        return 1;
    }
    if (which != PMU_CONFIDENCE_HIGH) {
        ratio *= ratio_of(&table->ratio[which], of);
    }
    if (which != PMU_CONFIDENCE_NONE) {
        ratio *= MAX(limited_ratio(took[of],
                                   recently_predicted(table, level, of),
                                   LITTLE_RECENT, RATIO_MOST),
                     1.0 / RATIO_MOST);
    }
    return round_ratio(MIN(ratio, RATIO_MOST));
}

/* Correct costs at @level by their ratios, and tally them. */
static void settle_uncorrected(PmuCpiTable *table, PmuLevel level)
{
    PmuEstimate *tally = &table->estimate[level];
    double took[PMU_SAMPLE_SPACE];

    recently_took(table, level, took);
    for (PmuConfidence which = 0; which < PMU_CONFIDENCE_NR; which++) {
        double *sum = tally->uncorrected[which];

        for (unsigned i = 0; i < PMU_SAMPLE_SPACE; i++) {
            if (sum[i]) {
                tally->sum[i] += sum[i] * correction_of(table, which, level, i,
                                                        took);
                sum[i] = 0;
            }
        }
    }
}

/*
 * The ratio of covariate @i, where it was observed lately, to what costs
 * predict: means lag behind caches and predictors that still warm up.  It is at
 * most 1, for two reasons.  The progress of what is not observed is made
 * already.  And covariates of unknown code are observed, but not predicted.
 */
static double observed_ratio(const PmuCpiTable *table, unsigned i)
{
    const PmuObservedCovariates *observed = &table->observed_covariates;

    double little = i == PMU_COVARIATE_MISPREDICTS ? LITTLE_MISPREDICTS
                                                   : LITTLE_WAITS;

    return round_ratio(limited_ratio(observed->known[i], observed->predicted[i],
                                     little, 1));
}

/*
 * Take covariates from @tally, and set @beyond to them less what was predicted.
 * If they were not observed, estimate them by observed_ratio().
 */
static void take_covariates(PmuCpiTable *table, PmuEstimate *tally,
                            double beyond[PMU_COVARIATE_NR])
{
    PmuObservedCovariates *observed = &table->observed_covariates;

    for (unsigned i = 0; i < PMU_COVARIATE_NR; i++) {
        double known = tally->covariates.n[i];
        double *predicted = &tally->sum[PMU_SAMPLE_COVARIATES + i];

        if (table->observed) {
            beyond[i] = known - *predicted;
            observed->known[i] += known;
            observed->predicted[i] += *predicted;
            if (i <= PMU_COVARIATE_WAIT_DRAM) {
                table->waited += known;
                table->predicted += *predicted;
            }
        } else {
            beyond[i] = *predicted * (observed_ratio(table, i) - 1);
        }
        *predicted = 0;
        tally->covariates.n[i] = 0;
    }
}

/* Correct @tally by how covariates differ from what was predicted. */
static void correct(PmuCpiTable *table, PmuEstimate *tally)
{
    double beyond[PMU_COVARIATE_NR];

    take_covariates(table, tally, beyond);
    for (unsigned i = 0; i < PMU_RESPONSE_NR; i++) {
        double *sum = &tally->sum[pmu_cpi_dependent_item(i)];
        double correction = tally->correction[i] +
                            pmu_cpi_regressor(beyond, i) * table->slope[i];
        double now;

        if (!pmu_cpi_table_is_wanted(table, pmu_cpi_dependent_item(i))) {
            /* No counter needs it any more: drop what is left to correct. */
            tally->correction[i] = 0;
            continue;
        }
        correction = MAX(correction, -DEBT_MOST);
        now = MAX(correction, -*sum);
        tally->correction[i] = correction - now;
        *sum += now;
    }
}

void pmu_cpi_table_correct_estimates(PmuCpiTable *table)
{
    for (PmuLevel level = 0; level < PMU_LEVEL_NR; level++) {
        PmuEstimate *tally = &table->estimate[level];

        settle_unknown(table, tally, PMU_SIGHTED_FIRST,
                       tally->uncorrected[PMU_CONFIDENCE_NONE]);
        settle_unknown(table, tally, PMU_SIGHTED_AGAIN, tally->sum);
        settle_uncorrected(table, level);
        correct(table, tally);
    }
}

/* Learning. */

/*
 * Set @item to what would be known of unknown code like @sums that took
 * @sample: its misses, its covariates, and what depends on these.
 */
static void find_known(const PmuCpiTable *table, const PmuCpiSums *sums,
                       const PmuSample *sample, double item[PMU_SAMPLE_SPACE])
{
    double covariates[PMU_COVARIATE_NR];
    PmuCodeMisses misses;

    memset(item, 0, PMU_SAMPLE_SPACE * sizeof(*item));
    for (unsigned i = 0; i < PMU_FOUND_IN_NR; i++) {
        misses.from[i] = sample->item[ITEM(CODE_L2) + i];
    }
    add_misses(table, sums, &misses, item);
    for (unsigned i = 0; i < PMU_COVARIATE_NR; i++) {
        covariates[i] = sample->item[PMU_SAMPLE_COVARIATES + i];
        item[PMU_SAMPLE_COVARIATES + i] += covariates[i];
    }
    for (unsigned i = 0; i < PMU_RESPONSE_NR; i++) {
        item[pmu_cpi_dependent_item(i)] +=
            pmu_cpi_regressor(covariates, i) * table->slope[i];
    }
}

/* Add @sample, of a region that was unknown, to the ratio of such code. */
static void compare_unknown(PmuCpiTable *table, uint32_t insns,
                            const PmuSample *sample)
{
    PmuCostRatio *ratio = &table->ratio[PMU_CONFIDENCE_NONE];
    double predicted[PMU_SAMPLE_SPACE], known[PMU_SAMPLE_SPACE];
    PmuCpiSums sums;

    unknown_sums(table, PMU_SIGHTED_FIRST, &sums);
    predict_unknown(table, &sums, insns, predicted);
    find_known(table, &sums, sample, known);
    for (unsigned i = 0; i < PMU_SAMPLE_SPACE; i++) {
        ratio->took[i] += table->stands_for *
                          ((int32_t)sample->item[i] - known[i]);
        ratio->predicted[i] += table->stands_for * predicted[i];
    }
}

/*
 * Add @item of @group, times @weight, to @took, and @mean to @predicted.  Hot:
 * the loop vectorises, which it does not where the compiler inlines it in
 * another one.
 */
static G_GNUC_NO_INLINE void add_weighted(double *restrict took,
                                          double *restrict predicted,
                                          const uint32_t *restrict item,
                                          const float *restrict mean,
                                          unsigned group, double weight)
{
    took += group * PMU_SAMPLE_GROUP;
    predicted += group * PMU_SAMPLE_GROUP;
    item += group * PMU_SAMPLE_GROUP;
    mean += group * PMU_SAMPLE_GROUP;
    for (unsigned i = 0; i < PMU_SAMPLE_GROUP; i++) {
        took[i] += weight * (int32_t)item[i];
        predicted[i] += weight * mean[i];
    }
}

/*
 * Add @sample to @took, and what @means predicted to @predicted: only @groups,
 * as all others are 0.
 */
static void compare_known(const PmuCpiTable *table, double *took,
                          double *predicted, const PmuCpiMeans *means,
                          const PmuSample *sample, uint32_t groups)
{
    for (; groups; groups &= groups - 1) {
        add_weighted(took, predicted, sample->item, means->mean,
                     __builtin_ctz(groups), table->stands_for);
    }
}

void pmu_cpi_table_compare(PmuCpiTable *table, PmuConfidence which,
                           const PmuCpiMeans *means, PmuLevel level,
                           uint32_t insns, const PmuSample *sample,
                           uint32_t groups)
{
    PmuCostRatio *ratio = &table->ratio[which];
    PmuRecentCosts *recent = &table->recent[level];

    if (!table->stands_for || !table->typical.insns) {
        return;
    }
    if (which == PMU_CONFIDENCE_NONE) {
        compare_unknown(table, insns, sample);
        return;
    }
    groups |= means->groups;
    compare_known(table, recent->took, recent->predicted[which], means, sample,
                  groups);
    if (which == PMU_CONFIDENCE_LOW) {
        compare_known(table, ratio->took, ratio->predicted, means, sample,
                      groups);
    }
}
