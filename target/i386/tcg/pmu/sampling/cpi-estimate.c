/*
 * What regions of code took beyond what was predicted, as far as more is
 * known of them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Of what was observed it is known how long data took to come, and what was
 * mispredicted, and so about how much of that there is in what was not; of
 * unknown code where it came from; and of costs that were found where code was
 * new, how they differ from what the same costs later on.
 */

#include <glib.h>
#include <string.h>

#include "tcg/pmu/sampling/cpi-estimate.h"
#include "tcg/pmu/sampling/cpi-regression.h"

#define ITEM PMU_SAMPLE_ITEM

/*
 * So many instructions of any code stand beside those of code that was new:
 * half a sampling unit.  That is chosen: one region alone says little.
 */
#define LITTLE_FIRST    1024.0

/* What one time may leave to be taken off by later ones. */
#define DEBT_MOST   (1 << 28)

/* Cycles of which fetch waits for code that is not in L1I, in slots or not. */
static const struct {
    uint8_t item;
    bool slots;
} fetch_bound[] = {
    { PMU_SLOT_FETCH_LATENCY, true },
    { ITEM(ISSUED_0), false },
    { ITEM(UNDELIVERED_0), false },
    { ITEM(EXECUTED_0), false },
    { ITEM(RETIRED_0), false },
    { ITEM(FETCH_DATA_CYCLES), false },
};

/* What a cycle makes of fetch_bound[@i]. */
static double cycle(const PmuCpiTable *table, unsigned i)
{
    return fetch_bound[i].slots ? table->uarch->width : 1;
}

/* Cycles that a line takes which is in @place. */
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

/* Cycles that the lines take which code of @average has missed. */
static double line_latency(const PmuCpiTable *table,
                           const PmuCpiAverage *average)
{
    double cycles = 0;

    for (unsigned i = 0; i < PMU_FOUND_IN_NR; i++) {
        cycles += average->item[ITEM(CODE_L2) + i] *
                  code_latency(table, i);
    }
    return cycles;
}

/*
 * Cycles that fetch waits for each that a line takes: misses that the predictor
 * finds ahead of it overlap.  1 if code of @average has had none.
 */
static double waited(const PmuCpiTable *table, const PmuCpiAverage *average)
{
    double latency = line_latency(table, average);
    double wait = MAX(average->item[ITEM(FETCH_DATA_CYCLES)], 0);

    return wait < latency ? wait / latency : 1;
}

/*
 * What stands for unknown code: the mean of code that was new, or of any code
 * if it ran lately.  LITTLE_FIRST instructions of any code stand beside what
 * was new.
 */
static void unknown_average(const PmuCpiTable *table, PmuSighted sighted,
                            PmuCpiAverage *average)
{
    const PmuCpiAverage *typical = &table->typical;
    double share = LITTLE_FIRST / typical->insns;

    if (sighted == PMU_SIGHTED_AGAIN) {
        *average = *typical;
        return;
    }
    *average = table->first;
    average->insns += LITTLE_FIRST;
    for (unsigned i = 0; i < PMU_SAMPLE_SPACE; i++) {
        average->item[i] += typical->item[i] * share;
    }
}

/*
 * An instruction of @average, but for what is known of unknown ones: where
 * their code was, and if they are observed how long data took and what was
 * mispredicted.  If they are not, it is without that all the same: the code
 * beyond the caches of scripts/run-topdown, which has no data, would else wait
 * as long as the chase through DRAM before it.
 */
static void leave_known(const PmuCpiTable *table, const PmuCpiAverage *average,
                        double item[PMU_SAMPLE_SPACE])
{
    double wait = line_latency(table, average) * waited(table, average);

    for (unsigned i = 0; i < PMU_SAMPLE_SPACE; i++) {
        item[i] = average->item[i];
    }
    for (unsigned i = 0; i < PMU_COVARIATE_NR; i++) {
        item[PMU_SAMPLE_COVARIATES + i] = 0;
    }
    for (unsigned i = 0; i < PMU_RESPONSE_DEPENDENT; i++) {
        double *of = &item[pmu_cpi_dependent_item(i)];

        *of = MAX(*of - pmu_cpi_due(table, average, i), 0);
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
        item[i] = pmu_round_to_quantum(item[i] / average->insns);
    }
}

/* Add what code like @average waits for @misses to @item. */
static void add_misses(const PmuCpiTable *table, const PmuCpiAverage *average,
                       const PmuCodeMisses *misses,
                       double item[PMU_SAMPLE_SPACE])
{
    double wait = 0, share = waited(table, average);

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
 * @insns instructions of unknown code are taken to cost @item, which is what
 * unknown_average() says, besides what is known of them.
 */
static void predict_unknown(const PmuCpiTable *table,
                            const PmuCpiAverage *average, uint64_t insns,
                            double item[PMU_SAMPLE_SPACE])
{
    leave_known(table, average, item);
    for (unsigned i = 0; i < PMU_SAMPLE_SPACE; i++) {
        item[i] *= insns;
    }
}

/* Tally those of @item that are asked for. */
static void tally_items(const PmuCpiTable *table, double *sum,
                        const double item[PMU_SAMPLE_SPACE])
{
    for (unsigned i = 0; i < PMU_SAMPLE_NR; i++) {
        sum[i] += pmu_cpi_table_is_wanted(table, i) ? item[i] : 0;
    }
}

/* Tally unknown code: in @sum, and what it missed as it was. */
static void settle_unknown(const PmuCpiTable *table, PmuEstimate *tally,
                           PmuSighted sighted, double *sum)
{
    PmuUnknownCode unknown = tally->unknown[sighted];
    double item[PMU_SAMPLE_SPACE], missed[PMU_SAMPLE_SPACE] = {};
    PmuCpiAverage average;

    tally->unknown[sighted] = (PmuUnknownCode) {};
    if (!unknown.insns) {
        return;
    }
    if (!table->typical.insns) {
        /* Most instructions take one slot. */
        tally->sum[PMU_SLOT_LIGHT_OPS] += unknown.insns;
        return;
    }
    unknown_average(table, sighted, &average);
    predict_unknown(table, &average, unknown.insns, item);
    tally_items(table, sum, item);
    add_misses(table, &average, &unknown.misses, missed);
    tally_items(table, tally->sum, missed);
}

/*
 * So many slots, cycles or requests that were as predicted stand beside what is
 * known of a ratio, which a few regions would else decide.  With a third and
 * three times as many, pmu-replay shows the same errors to a few tenths.
 */
#define LITTLE_RATIO    1000
/*
 * The same for ratios of covariates, in cycles and in mispredictions, which are
 * about as many slots.  With a quarter of it and half of OBSERVED_MEMORY one in
 * ten of the kernel's parts that tests/accuracy/programs --runs 2 runs with
 * seeds 21 and 22 is 10.5 and 11.1 % off, with these 10.3 and 7.7 %.
 */
#define LITTLE_WAITS        4000
#define LITTLE_MISPREDICTS  80

/*
 * Ratios are multiples of 1/RATIO_GRAINS: products of what is counted in a
 * period are exact.
 */
#define RATIO_GRAINS    64

/* Chosen: code that takes twice as much later as when it is new is a chance. */
#define RATIO_MOST      2

/* Does @item count what instructions do, which does not depend on when? */
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

/* @took / @predicted, as if @little more had been as predicted; up to @most. */
static double limited_ratio(double took, double predicted, double little,
                            unsigned most)
{
    double ratio = (MAX(took, 0) + little) / (MAX(predicted, 0) + little);
    double grains = MIN(ratio, most) * RATIO_GRAINS;

    return (double)(unsigned)(grains + 0.5) / RATIO_GRAINS;
}

/* What @item is to be multiplied by that costs as those of @ratio predict. */
static double ratio_of(const PmuCostRatio *ratio, unsigned item)
{
    /* The sum of several has one ratio. */
    unsigned of = item >= ITEM(CODE_L2) && item <= ITEM(CODE_DRAM)
                  ? ITEM(L1I_MISSES) : item;

    return is_work(item) ? 1
           : limited_ratio(ratio->took[of], ratio->predicted[of], LITTLE_RATIO,
                           RATIO_MOST);
}

/* Doubtful costs of @tally become what they are taken to be. */
static void settle_doubtful(const PmuCpiTable *table, PmuEstimate *tally)
{
    for (PmuDoubtfulCost which = 0; which < PMU_DOUBTFUL_NR; which++) {
        double *sum = tally->doubtful[which];

        for (unsigned i = 0; i < PMU_SAMPLE_SPACE; i++) {
            if (sum[i]) {
                tally->sum[i] += sum[i] * ratio_of(&table->ratio[which], i);
                sum[i] = 0;
            }
        }
    }
}

/*
 * What covariate @i is, as a ratio to what costs predict, where it was observed
 * lately: means lag behind caches and predictors that still warm up.  It is not
 * more than predicted: the progress of what is not observed is made already,
 * and covariates of unknown code, which are not predicted, are observed, too.
 */
static double observed_ratio(const PmuCpiTable *table, unsigned i)
{
    const PmuObservedCovariates *observed = &table->observed_covariates;

    return limited_ratio(observed->known[i], observed->predicted[i],
                         i == PMU_COVARIATE_MISPREDICTS ? LITTLE_MISPREDICTS
                                                        : LITTLE_WAITS, 1);
}

/*
 * What covariates of @tally are beyond what was predicted.  Where they were not
 * observed, they are less by as much as where they were, lately.
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

/* Make up for what was not as predicted. */
static void correct(PmuCpiTable *table, PmuEstimate *tally)
{
    const PmuRegression *fit = table->fit;
    double beyond[PMU_COVARIATE_NR];

    take_covariates(table, tally, beyond);
    for (unsigned i = 0; i < PMU_RESPONSE_DEPENDENT; i++) {
        double *sum = &tally->sum[pmu_cpi_dependent_item(i)];
        double correction = tally->correction[i] +
                            pmu_cpi_regressor(beyond, i) * fit[i].slope;
        double now;

        if (!pmu_cpi_table_is_wanted(table, pmu_cpi_dependent_item(i))) {
            /* A correction that is left ends with the counters it was for. */
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
                       tally->doubtful[PMU_DOUBTFUL_UNKNOWN]);
        settle_unknown(table, tally, PMU_SIGHTED_AGAIN, tally->sum);
        settle_doubtful(table, tally);
        correct(table, tally);
    }
}

/* Learning. */

/* What is known of unknown code like @average that took @sample. */
static void find_known(const PmuCpiTable *table, const PmuCpiAverage *average,
                       const PmuSample *sample, double item[PMU_SAMPLE_SPACE])
{
    double covariates[PMU_COVARIATE_NR];
    PmuCodeMisses misses;

    memset(item, 0, PMU_SAMPLE_SPACE * sizeof(*item));
    for (unsigned i = 0; i < PMU_FOUND_IN_NR; i++) {
        misses.from[i] = sample->item[ITEM(CODE_L2) + i];
    }
    add_misses(table, average, &misses, item);
    for (unsigned i = 0; i < PMU_COVARIATE_NR; i++) {
        covariates[i] = sample->item[PMU_SAMPLE_COVARIATES + i];
        item[PMU_SAMPLE_COVARIATES + i] += covariates[i];
    }
    for (unsigned i = 0; i < PMU_RESPONSE_DEPENDENT; i++) {
        item[pmu_cpi_dependent_item(i)] +=
            pmu_cpi_regressor(covariates, i) * table->fit[i].slope;
    }
}

/* The region was unknown. */
static void compare_unknown(PmuCpiTable *table, uint32_t insns,
                            const PmuSample *sample)
{
    PmuCostRatio *ratio = &table->ratio[PMU_DOUBTFUL_UNKNOWN];
    double predicted[PMU_SAMPLE_SPACE], known[PMU_SAMPLE_SPACE];
    PmuCpiAverage average;

    unknown_average(table, PMU_SIGHTED_FIRST, &average);
    predict_unknown(table, &average, insns, predicted);
    find_known(table, &average, sample, known);
    for (unsigned i = 0; i < PMU_SAMPLE_SPACE; i++) {
        ratio->took[i] += table->stands_for *
                          ((int32_t)sample->item[i] - known[i]);
        ratio->predicted[i] += table->stands_for * predicted[i];
    }
}

static void compare_low_confidence(PmuCpiTable *table, const PmuCpiMeans *means,
                                   const PmuSample *sample)
{
    PmuCostRatio *ratio = &table->ratio[PMU_DOUBTFUL_LOW_CONFIDENCE];

    for (unsigned i = 0; i < PMU_SAMPLE_SPACE; i++) {
        ratio->took[i] += table->stands_for * (int32_t)sample->item[i];
        ratio->predicted[i] += table->stands_for * means->mean[i];
    }
}

void pmu_cpi_table_compare_doubtful(PmuCpiTable *table,
                                    const PmuCpiMeans *means, uint32_t insns,
                                    const PmuSample *sample)
{
    if (!table->stands_for || !table->typical.insns) {
        return;
    }
    if (means->samples) {
        compare_low_confidence(table, means, sample);
    } else {
        compare_unknown(table, insns, sample);
    }
}
