/*
 * What a cycle of waiting costs, and a misprediction.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The functional model knows how long data took to come, and what was
 * mispredicted, of code that is not simulated in detail, too.  What that costs
 * in slots, cycles and requests is what it cost in all code that was simulated
 * in detail lately.  An estimate that is corrected with slopes that are set
 * beforehand is a difference estimator (Cochran, "Sampling Techniques", 7.2).
 */

#include <glib.h>

#include "tcg/pmu/sampling/covariate-costs.h"

#define ITEM PMU_SAMPLE_ITEM
/* Covariates, a bit each. */
#define MISSES  (1u << PMU_COVARIATE_MISPREDICTS)
#define L1      (1u << PMU_COVARIATE_WAIT_L1)
#define L2      (1u << PMU_COVARIATE_WAIT_L2)
#define L3      (1u << PMU_COVARIATE_WAIT_L3)
#define DRAM    (1u << PMU_COVARIATE_WAIT_DRAM)
#define STORE   (1u << PMU_COVARIATE_WAIT_STORE)

/* How a slope follows from an item and its covariates in all code. */
typedef enum Slope {
    SHARE,              /* all of the item is due to them; up to @most */
    SLOTS,              /* at most all slots of these cycles are */
    CYCLES,             /* MEMORY_BOUND's slots of such a cycle, in cycles */
    RECOVERY,           /* as SHARE, within what a recovery can take */
    REFETCH,            /* what fetch takes to refill the pipeline */
} Slope;

/*
 * The responses.  Each depends on the sum of its covariates: where data come
 * from L3 more often and from DRAM less, two would explain each other.
 */
static const struct {
    uint8_t item, on;           /* the response; covariates it depends on */
    uint8_t slope;              /* Slope */
    uint16_t most;              /* of a SHARE: cycles or requests under way for
                                   each cycle of waiting or misprediction */
} dependent[PMU_RESPONSE_NR] = {
    /* Stores that wait fill the store buffer, then issue waits for it. */
    [PMU_RESPONSE_MEMORY_BOUND] =
        { PMU_SLOT_MEMORY_BOUND, L1 | L2 | L3 | DRAM | STORE, SLOTS },
    [PMU_RESPONSE_BR_MISPREDICT] =
        { PMU_SLOT_BR_MISPREDICT, MISSES, RECOVERY },
    [PMU_RESPONSE_FETCH_LATENCY] =
        { PMU_SLOT_FETCH_LATENCY, MISSES, REFETCH },
    { ITEM(MISSES_COND_NTAKEN), MISSES, SHARE, 1 },
    { ITEM(MISSES_COND_TAKEN), MISSES, SHARE, 1 },
    { ITEM(MISSES_JMP_INDIRECT), MISSES, SHARE, 1 },
    { ITEM(MISSES_CALL_INDIRECT), MISSES, SHARE, 1 },
    { ITEM(MISSES_RET), MISSES, SHARE, 1 },
    { ITEM(RECOVERY_CYCLES), MISSES, SHARE, 512 },
    /* Cycles in which nothing is done. */
    { ITEM(ISSUED_0), L1 | L2 | L3 | DRAM | STORE, CYCLES },
    { ITEM(UNDELIVERED_0), L1 | L2 | L3 | DRAM | STORE, CYCLES },
    { ITEM(EXECUTED_0), L1 | L2 | L3 | DRAM | STORE, CYCLES },
    { ITEM(RETIRED_0), L1 | L2 | L3 | DRAM | STORE, CYCLES },
    /* Cycles by the furthest level that a load waits for. */
    { ITEM(WAIT_L2), L2, SHARE, 1 },
    { ITEM(WAIT_L3), L3, SHARE, 1 },
    { ITEM(WAIT_DRAM), DRAM, SHARE, 1 },
    { ITEM(STALL_L2), L2, SHARE, 1 },
    { ITEM(STALL_L3), L3, SHARE, 1 },
    { ITEM(STALL_DRAM), DRAM, SHARE, 1 },
    /* Requests under way, added up over cycles. */
    { ITEM(L1D_PENDING), L2 | L3 | DRAM, SHARE, 1 },
    { ITEM(OFFCORE_DATA), L3 | DRAM, SHARE, 1 },
    { ITEM(OFFCORE_DRAM), DRAM, SHARE, 1 },
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

double pmu_cpi_due(const PmuCpiTable *table, const PmuCpiSums *sums,
                   unsigned i)
{
    const double *item = sums->item;
    double known = pmu_cpi_regressor(item + PMU_SAMPLE_COVARIATES, i);

    switch ((Slope)dependent[i].slope) {
    case SHARE:
    case RECOVERY:
        return item[dependent[i].item];
    case SLOTS:
        return known * table->uarch->width;
    case CYCLES:
        return known;
    default:
        return known * table->slope[i];
    }
}

/* The slope of response @i, below which all rows have theirs already. */
static double slope_of(const PmuCpiTable *table, unsigned i)
{
    const double *item = table->typical.item;
    double width = table->uarch->width;
    double known = pmu_cpi_regressor(item + PMU_SAMPLE_COVARIATES, i);
    double share = known ? item[dependent[i].item] / known : 0;
    double refill = table->uarch->mispredict_penalty * width;
    double refetch = pmu_uarch_refetch(table->uarch,
                                       table->uarch->mispredict_penalty) *
                     width;

    switch ((Slope)dependent[i].slope) {
    case SHARE:
        return MIN(share, dependent[i].most);
    case SLOTS:
        /* If it is more, some is lost for other, unknown reasons. */
        return MIN(share, width);
    case CYCLES:
        return table->slope[PMU_RESPONSE_MEMORY_BOUND] / width;
    case RECOVERY:
        /* The recovery; and, within reason, what the wrong path issues. */
        return CLAMP(share, refill - refetch, 3 * refill);
    default:
        return refetch;
    }
}

void pmu_cpi_table_update_slopes(PmuCpiTable *table)
{
    for (unsigned i = 0; i < PMU_RESPONSE_NR; i++) {
        table->slope[i] = pmu_round_to_quantum(slope_of(table, i));
    }
}

/* Slots of class @item that were predicted, corrected by covariates. */
static double corrected(const PmuCpiTable *table, unsigned item)
{
    double predicted = table->prediction_error.predicted[item];

    for (unsigned i = 0; i < PMU_RESPONSE_NR; i++) {
        predicted += dependent[i].item == item
                    ? pmu_cpi_regressor(table->prediction_error.covariates, i) *
                        table->slope[i]
                    : 0;
    }
    return predicted;
}

double pmu_cpi_table_error(const PmuCpiTable *table)
{
    const PmuPredictionError *error = &table->prediction_error;
    double most = 0, slots = 0;

    for (unsigned i = 0; i < PMU_SLOT_NR; i++) {
        double off = error->took[i] - corrected(table, i);

        slots += error->took[i];
        most = MAX(most, MAX(off, -off));
    }
    return slots ? most / slots : 1;
}
