/*
 * A deliberately naive performance-monitoring unit, to compare the real one
 * with.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * It is written from the SDM's rules and Intel's event lists, one case at a
 * time, with 128-bit arithmetic.  It shares types with the implementation, but
 * no code, no masks and no tables.
 */

#ifndef TESTS_UNIT_NAIVE_PMU_H
#define TESTS_UNIT_NAIVE_PMU_H

#include "tcg/pmu/perfmon/perfmon.h"

typedef enum NaiveAccess {
    NAIVE_OK,
    NAIVE_GP,
    NAIVE_UNKNOWN,
} NaiveAccess;

/* The steps of a test add up to more than 64 bits. */
typedef unsigned __int128 Wide;

/* What the core did at each level. */
typedef struct NaiveDelta {
    uint64_t item[PMU_LEVEL_NR][PMU_ITEM_NR];
} NaiveDelta;

typedef struct NaivePmu {
    bool sapphire_rapids;
    int num_gp, num_fixed;
    bool pdcm, fw_write, has_metrics;
    int num_fields;
    int metrics_width;

    uint64_t pmc[8];
    uint64_t evtsel[8];
    uint64_t fixed[4];
    uint64_t fixed_ctrl;
    uint64_t global_ctrl;
    uint64_t status;
    uint64_t hidden[8];
    uint64_t debugctl;
    uint64_t offcore[2];
    uint64_t ld_lat;
    uint64_t frontend;
    bool pmi;
    /*
     * All that happened while PMCx counted since software wrote it or its
     * selector, and what PMCx has counted of that.
     */
    Wide since[8][PMU_ITEM_NR];
    Wide counted[8];
} NaivePmu;

void naive_init(NaivePmu *pmu, const PerfmonConfig *config);
void naive_reset(NaivePmu *pmu);
NaiveAccess naive_rdmsr(const NaivePmu *pmu, uint32_t msr, uint64_t *value);
NaiveAccess naive_wrmsr(NaivePmu *pmu, uint32_t msr, uint64_t value);
NaiveAccess naive_rdpmc(const NaivePmu *pmu, uint32_t ecx, uint64_t *value);
void naive_count(NaivePmu *pmu, const NaiveDelta *delta);

/* Does any counter count something at @level? */
bool naive_counts_at(const NaivePmu *pmu, int level);

/*
 * Returns PERF_METRICS of @num_fields hidden counters in 1/255 slot, computed
 * by repeated addition and comparison.
 */
uint64_t naive_metrics(const uint64_t *hidden, int num_fields, uint64_t slots);

#endif
