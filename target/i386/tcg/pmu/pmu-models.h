/*
 * The table of PMUs: which CPU has which one.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_MODELS_H
#define TARGET_I386_PMU_MODELS_H

#include "cpu.h"
#include "tcg/pmu/perfmon/perfmon-state.h"

#define X86_PMU_MODEL_NUMBERS 8

/* A PMU and the CPUs that have it. */
typedef struct X86PMUModel {
    const char *name;           /* of QEMU's CPU model, without version; NULL:
                                   any CPU with this signature */
    const char *alias;          /* of one of its versions, or NULL */
    int misnamed;               /* model number that some version of it gives in
                                   place of models[0]; 0: none does */
    const char *vendor;
    int family;                 /* with the extended family added */
    uint8_t models[X86_PMU_MODEL_NUMBERS];      /* in CPUID.1:EAX; then 0s */
    PmuCore core;
    PerfmonMap map;
    unsigned version;           /* of architectural performance monitoring */
    unsigned num_gp, num_fixed;
    unsigned num_metrics;       /* 0: no PERF_METRICS */
    unsigned width;             /* of counters, in bits; 0: the map's */
    bool pdcm;                  /* it has IA32_PERF_CAPABILITIES */
    bool full_width;            /* ... with IA32_A_PMCx */
    bool iq_escrs;              /* NetBurst: it has IQ_ESCRx */
    bool one_offcore;           /* it has no MSR_OFFCORE_RSP_1 */
    /* P6 as of Pentium M: a PMI masks its LVT entry, IA32_MISC_ENABLE. */
    bool pentium_m;
    /* AMD: models with PerfMonV2, as ranges; the others have none */
    struct {
        uint8_t first, last;    /* 0 and 0: no range */
    } perfmon_v2[2];
    bool rdpmc_with_mmx;        /* RDPMC came with MMX */
} X86PMUModel;

/* The PMU of @cpu; NULL if it is not modelled. */
const X86PMUModel *x86_pmu_model(X86CPU *cpu);

/* Does model @number of @model have AMD's PerfMonV2? */
bool x86_pmu_has_perfmon_v2(const X86PMUModel *model, int number);

/* The model number in @version, CPUID.1:EAX. */
int x86_pmu_model_number(uint32_t version);

#endif
