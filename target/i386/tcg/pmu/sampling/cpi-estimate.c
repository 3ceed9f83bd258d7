/*
 * Estimates: what is known of what was not simulated in detail corrects what
 * was predicted of it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * How long data took to come and what was mispredicted is known where caches
 * and predictors see it.  What that makes of slots and cycles is what it made of
 * them in detailed simulation: ratio estimators (Cochran, "Sampling Techniques",
 * ch. 6).
 */

#include <glib.h>

#include "tcg/pmu/sampling/cpi-estimate.h"

/*
 * Ratios to little say nothing.  Each is pulled to what is expected as if there
 * had been so many more cycles of waiting, or mispredictions, that took that.
 */
#define LITTLE_WAIT     100.0
#define LITTLE_MISSES   1.0

/* What one time may leave to be taken off by later ones: of some regions. */
#define DEBT_MOST   (1 << 14)

/* Where ledger item PMU_ITEM_@item is in a sample. */
#define ITEM(item)  (PMU_SAMPLE_ITEMS + PMU_ITEM_##item - PMU_ITEM_SAMPLED)
#define ON(name)    (1u << PMU_COVARIATE_##name)
#define FETCHES     (ON(CODE) | ON(STEERING))
#define DATA        (ON(WAIT_L1) | ON(WAIT_L2) | ON(WAIT_L3) | ON(WAIT_DRAM))

/* What a cycle of waiting, or a misprediction, makes of an item. */
typedef enum Effect {
    STALLS,             /* cycles, as far as nothing else hides the wait ... */
    STALLED_SLOTS,      /* ... in slots */
    RATIO,              /* what it made of it so far: at most 1 */
    KIND_COND, KIND,    /* the same; these add up to 1, and KIND is rare */
    REFILL,             /* the same: slots, a refill of the pipeline or more */
    EACH,               /* the same: any number */
    RATIO_SLOTS,        /* the same, in slots: at most all of a cycle */
} Effect;

/* What depends on what is known, and how. */
static const struct {
    uint8_t item, on, effect;
} dependent[PMU_RESPONSES] = {
    [PMU_RESPONSE_BR_MISPREDICT] =
        { PMU_SLOT_BR_MISPREDICT, ON(MISPREDICTS), REFILL },
    { PMU_SLOT_MEMORY_BOUND, DATA | ON(STORES), STALLED_SLOTS },
    { PMU_SLOT_FETCH_LATENCY, FETCHES, RATIO_SLOTS },
    { ITEM(MISSES_COND_NTAKEN), ON(MISPREDICTS), KIND_COND },
    { ITEM(MISSES_COND_TAKEN), ON(MISPREDICTS), KIND_COND },
    { ITEM(MISSES_JMP_INDIRECT), ON(MISPREDICTS), KIND },
    { ITEM(MISSES_CALL_INDIRECT), ON(MISPREDICTS), KIND },
    { ITEM(MISSES_RET), ON(MISPREDICTS), KIND },
    { ITEM(RECOVERY_CYCLES), ON(MISPREDICTS), EACH },
    { ITEM(CLEAR_CYCLES), ON(MISPREDICTS), EACH },
    { ITEM(ISSUED_0), DATA | ON(STORES), STALLS },
    { ITEM(ISSUED_0), FETCHES, RATIO },
    { ITEM(UNDELIVERED_0), DATA | ON(STORES), STALLS },
    { ITEM(EXECUTED_0), DATA | ON(STORES), STALLS },
    { ITEM(EXECUTED_0), FETCHES, RATIO },
    { ITEM(RETIRED_0), DATA | ON(STORES), STALLS },
    { ITEM(RETIRED_0), FETCHES, RATIO },
    { ITEM(FETCH_DATA_CYCLES), ON(CODE), RATIO },
    { ITEM(FETCH_TAG_CYCLES), ON(STEERING), RATIO },
    { ITEM(RESTEER_CYCLES), ON(STEERING), RATIO },
    { ITEM(WAIT_L2), ON(WAIT_L2), RATIO },
    { ITEM(WAIT_L3), ON(WAIT_L3), RATIO },
    { ITEM(WAIT_DRAM), ON(WAIT_DRAM), RATIO },
    { ITEM(STALL_L1), ON(WAIT_L1), STALLS },
    { ITEM(STALL_L2), ON(WAIT_L2), STALLS },
    { ITEM(STALL_L3), ON(WAIT_L3), STALLS },
    { ITEM(STALL_DRAM), ON(WAIT_DRAM), STALLS },
    { ITEM(NO_STORE_BUFFER), ON(STORES), STALLS },
    { ITEM(L1D_PENDING), DATA & ~ON(WAIT_L1), RATIO },
    { ITEM(OFFCORE_DATA), ON(WAIT_L3) | ON(WAIT_DRAM), RATIO },
    { ITEM(OFFCORE_DRAM), ON(WAIT_DRAM), RATIO },
};

/* Cycles in which nothing is done for want of what is waited for. */
static const uint8_t stalls_for[PMU_COVARIATE_NR] = {
    [PMU_COVARIATE_WAIT_L1] = ITEM(STALL_L1),
    [PMU_COVARIATE_WAIT_L2] = ITEM(STALL_L2),
    [PMU_COVARIATE_WAIT_L3] = ITEM(STALL_L3),
    [PMU_COVARIATE_WAIT_DRAM] = ITEM(STALL_DRAM),
    [PMU_COVARIATE_STORES] = ITEM(NO_STORE_BUFFER),
};

/* The sum of what @dependent[@i] depends on, of @covariates. */
static double regressor(const double covariates[PMU_COVARIATE_NR], unsigned i)
{
    double sum = 0;

    for (unsigned j = 0; j < PMU_COVARIATE_NR; j++) {
        sum += dependent[i].on >> j & 1 ? covariates[j] : 0;
    }
    return sum;
}

/* How much of dependent[@i] @beyond makes. */
static double effect(const PmuEffects *effects, unsigned i,
                     const double beyond[PMU_COVARIATE_NR], double width)
{
    double sum = 0;

    switch ((Effect)dependent[i].effect) {
    case STALLED_SLOTS:
    case STALLS:
        for (unsigned j = 0; j < PMU_COVARIATE_NR; j++) {
            sum += dependent[i].on >> j & 1 ? beyond[j] * effects->stalls[j]
                                                : 0;
        }
        return dependent[i].effect == STALLS ? sum : sum * width;
    default:
        return regressor(beyond, i) * effects->ratio[i];
    }
}

/*
 * What is unknown is supposed to be typical, but for what is known of it: what
 * it retires, where its code was, and what it waits for.  What ran before may
 * have done nothing but wait.
 */
static void settle_unknown(PmuCpiTable *table, PmuLevel level)
{
    PmuEstimate *tally = &table->estimate[level];
    const PmuCpiAverage *typical = &table->typical[level];
    double share = typical->insns ? tally->unknown.insns / typical->insns : 0;
    double item[PMU_SAMPLE_NR];

    if (!tally->unknown.insns) {
        return;
    }
    for (unsigned i = 0; i < PMU_SAMPLE_NR; i++) {
        item[i] = pmu_round_to_quantum(typical->item[i] * share);
    }
    item[ITEM(UOPS_ISSUED)] += tally->unknown.retiring -
                               item[PMU_SLOT_LIGHT_OPS] -
                               item[PMU_SLOT_HEAVY_OPS];
    for (unsigned i = 0; i < PMU_RESPONSES; i++) {
        double *of = &item[dependent[i].item];
        double due = effect(&table->effects[level], i,
                            item + PMU_SAMPLE_COVARIATES, table->uarch->width);

        *of = MAX(*of - due, 0);
    }
    item[PMU_SLOT_MEMORY_BOUND] = 0;
    item[ITEM(L1I_MISSES)] = 0;
    for (unsigned i = 0; i < PMU_FOUND_IN_NR; i++) {
        item[ITEM(CODE_L2) + i] = tally->unknown.code.from[i];
        item[ITEM(L1I_MISSES)] += tally->unknown.code.from[i];
    }
    for (unsigned i = PMU_SLOT_HEAVY_OPS + 1; i < PMU_SAMPLE_NR; i++) {
        bool covariate = i >= PMU_SAMPLE_COVARIATES && i < PMU_SAMPLE_ITEMS;

        if (!covariate && pmu_cpi_table_is_wanted(table, i)) {
            tally->sum[i] += item[i];
        }
    }
    tally->unknown = (PmuUnknown) {};
}

/*
 * What is known of @tally beyond what was predicted, which is over: of code at
 * any time, of all else where it is observed.
 */
static void take_known(PmuCpiTable *table, PmuEstimate *tally,
                       double beyond[PMU_COVARIATE_NR])
{
    for (unsigned i = 0; i < PMU_COVARIATE_NR; i++) {
        double *predicted = &tally->sum[PMU_SAMPLE_COVARIATES + i];

        beyond[i] = table->observed || i >= PMU_COVARIATE_CODE
                    ? tally->covariates.n[i] - *predicted : 0;
        if (i <= PMU_COVARIATE_WAIT_DRAM && table->observed) {
            table->waited += tally->covariates.n[i];
            table->predicted += *predicted;
        }
        *predicted = 0;
        tally->covariates.n[i] = 0;
    }
}

/* Make up for what was not as predicted; sums do not go below 0. */
static void correct(PmuCpiTable *table, PmuLevel level)
{
    PmuEstimate *tally = &table->estimate[level];
    double beyond[PMU_COVARIATE_NR];

    take_known(table, tally, beyond);
    for (unsigned i = 0; i < PMU_RESPONSES; i++) {
        double *sum = &tally->sum[dependent[i].item];
        double by = effect(&table->effects[level], i, beyond,
                           table->uarch->width) - tally->debt[i];

        if (pmu_cpi_table_is_wanted(table, dependent[i].item)) {
            tally->debt[i] = CLAMP(-by - *sum, 0, DEBT_MOST);
            *sum = MAX(*sum + by, 0);
        }
    }
}

void pmu_cpi_table_correct_estimates(PmuCpiTable *table)
{
    for (PmuLevel level = 0; level < PMU_LEVEL_NR; level++) {
        settle_unknown(table, level);
        correct(table, level);
    }
}

/* @part of @all, @least to @most; if there is less than @little, @expected. */
static double ratio(double part, double all, double expected, double little,
                    double least, double most)
{
    double found = (part + expected * little) / (all + little);

    return pmu_round_to_quantum(CLAMP(found, least, most));
}

/* dependent[@i].ratio: it took @part where @all was known. */
static double find_ratio(unsigned i, double part, double all, double refill,
                         double width)
{
    switch ((Effect)dependent[i].effect) {
    case REFILL:
        return ratio(part, all, refill, LITTLE_MISSES, refill, 8 * refill);
    case KIND_COND:
        return ratio(part, all, 0.5, LITTLE_MISSES / 1000, 0, 1);
    case KIND:
        return ratio(part, all, 0, LITTLE_MISSES / 1000, 0, 1);
    case EACH:
        return ratio(part, all, 0, LITTLE_MISSES, 0, 512);
    case RATIO_SLOTS:
        return ratio(part, all, width, LITTLE_WAIT, 0, width);
    default:
        return ratio(part, all, 0.5, LITTLE_WAIT, 0, 1);
    }
}

static void update_effects(PmuEffects *effects, const PmuCpiAverage *typical,
                           const PmuUarch *uarch)
{
    const double *item = typical->item;
    const double *known = item + PMU_SAMPLE_COVARIATES;
    double refill = uarch->mispredict_penalty * uarch->width;

    for (unsigned j = 0; j < PMU_COVARIATE_NR; j++) {
        effects->stalls[j] = stalls_for[j]
                             ? ratio(item[stalls_for[j]], known[j], 0.5,
                                     LITTLE_WAIT, 0, 1) : 0;
    }
    for (unsigned i = 0; i < PMU_RESPONSES; i++) {
        effects->ratio[i] = find_ratio(i, item[dependent[i].item],
                                       regressor(known, i), refill,
                                       uarch->width);
    }
}

void pmu_cpi_table_update_effects(PmuCpiTable *table)
{
    for (PmuLevel level = 0; level < PMU_LEVEL_NR; level++) {
        update_effects(&table->effects[level], &table->typical[level],
                       table->uarch);
    }
}
