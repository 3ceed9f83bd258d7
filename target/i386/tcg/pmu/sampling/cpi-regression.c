/*
 * The regression of slots, cycles and requests on waits and mispredictions.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The functional model knows how long data took to come, and what was
 * mispredicted, of code that is not simulated in detail, too.  How many slots
 * and cycles that costs is learnt here from code that is.
 */

#include <glib.h>

#include "tcg/pmu/sampling/cpi-regression.h"

/*
 * Samples that are compared with their means together: half a sampling unit of
 * short regions.  Slots are lost some regions behind the load that is waited
 * for.
 */
#define BATCH       224

/*
 * Batches that differ by less than this, in cycles of waiting or in
 * mispredictions, say nothing about the slope.  So it is pulled to what is
 * expected, as if one more batch had differed by this much, and as expected
 * (ridge regression: Hoerl and Kennard, 1970).
 */
#define LITTLE_WAIT     100.0
#define LITTLE_MISSES   1.0

/* Adjustments after which older samples and batches weigh 1/e. */
#define ADJUST_MEMORY   8

#define ITEM PMU_SAMPLE_ITEM
/* Covariates, a bit each. */
#define MISSES  (1u << PMU_COVARIATE_MISPREDICTS)
#define L1      (1u << PMU_COVARIATE_WAIT_L1)
#define L2      (1u << PMU_COVARIATE_WAIT_L2)
#define L3      (1u << PMU_COVARIATE_WAIT_L3)
#define DRAM    (1u << PMU_COVARIATE_WAIT_DRAM)
#define STORE   (1u << PMU_COVARIATE_WAIT_STORE)

/* How much of an item is due to its regressor. */
typedef enum Due {
    UNKNOWN,            /* what the fit says */
    ALL,
    SLOTS,              /* at most all slots of the cycles in the regressor */
    CYCLES,             /* ... at most these cycles */
} Due;

/*
 * The responses.  Each has one regressor: where data come from L3 more often
 * and from DRAM less, two would explain each other.  CORE_BOUND has two rows
 * all the same: without the one of mispredictions, each of which costs the
 * backend 11 slots there, the rounds of /sampling/steady/coin deviate by 0.9 %
 * of their slots, and with it by 0.3.  The limits of that row are chosen: 4096,
 * as in the rows beside it, would let mispredictions stand for waits.
 */
static const struct {
    uint8_t item, on;           /* the response; covariates it depends on */
    int16_t least, most;        /* limits of the slope: slots, cycles or
                                   requests under way, for each cycle of
                                   waiting or misprediction */
    uint8_t due;                /* Due */
} dependent[PMU_RESPONSE_NR] = {
    /* Stores that wait fill the store buffer, then issue waits for it. */
    [PMU_RESPONSE_MEMORY_BOUND] =
        { PMU_SLOT_MEMORY_BOUND, L1 | L2 | L3 | DRAM | STORE, 0, 15, SLOTS },
    [PMU_RESPONSE_CORE_BOUND] =
        { PMU_SLOT_CORE_BOUND, L1 | L2 | L3 | DRAM, -15, 15, UNKNOWN },
    [PMU_RESPONSE_BR_MISPREDICT] =
        { PMU_SLOT_BR_MISPREDICT, MISSES, 0, 4096, ALL },
    [PMU_RESPONSE_FETCH_LATENCY] =
        { PMU_SLOT_FETCH_LATENCY, MISSES, 0, 4096, UNKNOWN },
    [PMU_RESPONSE_BRANCH_WAIT] =
        { PMU_SLOT_CORE_BOUND, MISSES, -50, 100, UNKNOWN },
    { ITEM(MISSES_COND_NTAKEN), MISSES, 0, 1, ALL },
    { ITEM(MISSES_COND_TAKEN), MISSES, 0, 1, ALL },
    { ITEM(MISSES_JMP_INDIRECT), MISSES, 0, 1, ALL },
    { ITEM(MISSES_CALL_INDIRECT), MISSES, 0, 1, ALL },
    { ITEM(MISSES_RET), MISSES, 0, 1, ALL },
    { ITEM(RECOVERY_CYCLES), MISSES, 0, 512, ALL },
    { ITEM(CLEAR_CYCLES), MISSES, 0, 512, UNKNOWN },
    /* Cycles in which nothing is done. */
    { ITEM(ISSUED_0), L1 | L2 | L3 | DRAM | STORE, 0, 1, CYCLES },
    { ITEM(UNDELIVERED_0), L1 | L2 | L3 | DRAM | STORE, 0, 1, CYCLES },
    { ITEM(EXECUTED_0), L1 | L2 | L3 | DRAM | STORE, 0, 1, CYCLES },
    { ITEM(RETIRED_0), L1 | L2 | L3 | DRAM | STORE, 0, 1, CYCLES },
    /* Cycles by the furthest level that a load waits for: L1 if no other. */
    { ITEM(WAIT_L1), L2 | L3 | DRAM, -1, 1, UNKNOWN },
    { ITEM(WAIT_L2), L2, 0, 1, ALL },
    { ITEM(WAIT_L3), L3, 0, 1, ALL },
    { ITEM(WAIT_DRAM), DRAM, 0, 1, ALL },
    { ITEM(STALL_L1), L2 | L3 | DRAM, -1, 1, UNKNOWN },
    { ITEM(STALL_L2), L2, 0, 1, ALL },
    { ITEM(STALL_L3), L3, 0, 1, ALL },
    { ITEM(STALL_DRAM), DRAM, 0, 1, ALL },
    /* Requests under way, added up over cycles. */
    { ITEM(L1D_PENDING), L2 | L3 | DRAM, 0, 1, ALL },
    { ITEM(OFFCORE_DATA), L3 | DRAM, 0, 1, ALL },
    { ITEM(OFFCORE_DRAM), DRAM, 0, 1, ALL },
};

double pmu_cpi_regressor(const double covariates[PMU_COVARIATE_NR], unsigned i)
{
    double sum = 0;

    for (unsigned j = 0; j < PMU_COVARIATE_NR; j++) {
        sum += dependent[i].on >> j & 1 ? covariates[j] : 0;
    }
    return sum;
}

uint8_t pmu_cpi_dependent_item(unsigned i)
{
    return dependent[i].item;
}

double pmu_cpi_due(const PmuCpiTable *table, const PmuCpiAverage *average,
                   unsigned i)
{
    const double *item = average->item;
    double known = pmu_cpi_regressor(item + PMU_SAMPLE_COVARIATES, i);

    switch ((Due)dependent[i].due) {
    case ALL:
        return item[dependent[i].item];
    case SLOTS:
        return known * table->uarch->width;
    case CYCLES:
        return known;
    default:
        return known * table->fit[i].slope;
    }
}

/* The batch is full: add it to the sums, and begin the next. */
static void end_batch(PmuCpiTable *table)
{
    const PmuResidualBatch *batch = &table->batch;

    for (unsigned i = 0; i < PMU_RESPONSE_NR; i++) {
        double known = pmu_cpi_regressor(batch->covariates, i);
        double took = batch->took[i];

        table->fit[i].xx += known * known;
        table->fit[i].xy += known * took;
        table->fit[i].yy += took * took;
    }
    table->batch = (PmuResidualBatch) { 0 };
    table->batches++;
}

void pmu_cpi_table_add_residual(PmuCpiTable *table, const PmuCpiMeans *means,
                                const PmuSample *sample)
{
    PmuResidualBatch *batch = &table->batch;

    for (unsigned i = 0; i < PMU_COVARIATE_NR; i++) {
        batch->covariates[i] += pmu_sample_residual(means, sample,
                                                    PMU_SAMPLE_COVARIATES + i);
    }
    for (unsigned i = 0; i < PMU_RESPONSE_NR; i++) {
        batch->took[i] += pmu_sample_residual(means, sample, dependent[i].item);
    }
    if (++batch->samples == BATCH) {
        end_batch(table);
    }
}

/* The expected slope before there is a fit, and its standard deviation. */
typedef struct Expected {
    double slope, deviation;
} Expected;

static Expected expected(const PmuCpiTable *table, unsigned i)
{
    const double *item = table->typical.item;
    double width = table->uarch->width;
    double known = pmu_cpi_regressor(item + PMU_SAMPLE_COVARIATES, i);
    double all = known ? item[dependent[i].item] / known : 0;
    double refill = table->uarch->mispredict_penalty * width;
    double refetch = pmu_uarch_refetch(table->uarch,
                                       table->uarch->mispredict_penalty) *
                     width;

    if (i == PMU_RESPONSE_BR_MISPREDICT) {
        /* The recovery; and, within reason, what the wrong path issues. */
        return (Expected) { CLAMP(all, refill - refetch, 3 * refill), refill };
    }
    if (i == PMU_RESPONSE_FETCH_LATENCY) {
        return (Expected) { refetch, refetch / 2 };
    }
    if (i == PMU_RESPONSE_BRANCH_WAIT) {
        return (Expected) { 0, refill / 2 };
    }
    switch ((Due)dependent[i].due) {
    case ALL:
        return (Expected) { all, all / 2 };
    case SLOTS:
        /* If it is more, some is lost for other, unknown reasons. */
        return (Expected) { all <= width ? all : 0, width / 2 };
    case CYCLES:
        return (Expected) {
            table->fit[PMU_RESPONSE_MEMORY_BOUND].slope / width, 0.5,
        };
    default:
        return (Expected) { 0, i == PMU_RESPONSE_CORE_BOUND ? width / 2 : 0.5 };
    }
}

/* The variance of what batches took, less what @fit explains of it. */
static double unexplained(const PmuCpiTable *table, const PmuRegression *fit)
{
    double explained = fit->xx
                       ? fit->xy * fit->xy / fit->xx
                       : 0;

    return MAX(fit->yy - explained, 0) / MAX(table->batches - 1, 1);
}

/*
 * Set the slope of response @i to the most likely one if the expected slope,
 * and what a batch took besides, are normally distributed.  Then fade the sums.
 */
static void adjust_fit(PmuCpiTable *table, unsigned i)
{
    PmuRegression *fit = &table->fit[i];
    Expected before = expected(table, i);
    double little = dependent[i].on == MISSES ? LITTLE_MISSES : LITTLE_WAIT;
    double ridge = little * little, slope;

    if (before.deviation) {
        ridge += unexplained(table, fit) /
                 (before.deviation * before.deviation);
    }
    slope = (fit->xy + ridge * before.slope) /
            (fit->xx + ridge);
    fit->slope = pmu_round_to_quantum(CLAMP(slope, dependent[i].least,
                                            dependent[i].most));
    fit->xx -= fit->xx / ADJUST_MEMORY;
    fit->xy -= fit->xy / ADJUST_MEMORY;
    fit->yy -= fit->yy / ADJUST_MEMORY;
}

void pmu_cpi_average_fade(PmuCpiAverage *average)
{
    average->insns -= average->insns / ADJUST_MEMORY;
    pmu_fade_sums(average->item, PMU_SAMPLE_NR, ADJUST_MEMORY);
}

void pmu_cpi_table_update_regression(PmuCpiTable *table)
{
    for (unsigned i = 0; i < PMU_RESPONSE_NR; i++) {
        adjust_fit(table, i);
    }
    table->batches -= table->batches / ADJUST_MEMORY;
    pmu_cpi_average_fade(&table->typical);
}

/* Slots of class @item that were predicted, corrected by covariates. */
static double corrected(const PmuCpiTable *table, unsigned item)
{
    double predicted = table->trial.predicted[item];

    for (unsigned i = 0; i < PMU_RESPONSE_NR; i++) {
        predicted += dependent[i].item == item
                    ? pmu_cpi_regressor(table->trial.covariates, i) *
                        table->fit[i].slope
                    : 0;
    }
    return predicted;
}

double pmu_cpi_table_error(const PmuCpiTable *table)
{
    const PmuPredictionError *trial = &table->trial;
    double most = 0, slots = 0;

    for (unsigned i = 0; i < PMU_SLOT_NR; i++) {
        double off = trial->took[i] - corrected(table, i);

        slots += trial->took[i];
        most = MAX(most, MAX(off, -off));
    }
    return slots ? most / slots : 1;
}
