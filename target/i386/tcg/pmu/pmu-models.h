/*
 * Which CPUs have which PMU.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_MODELS_H
#define TARGET_I386_PMU_MODELS_H

#include "cpu.h"
#include "tcg/pmu/perfmon/perfmon-state.h"

#define X86_PMU_MODEL_NUMBERS 8

typedef struct X86PMUModel {
    const char *name;           /* of QEMU's CPU model, without version; NULL:
                                   any CPU with this signature */
    const char *alias;          /* of one of its versions, or NULL */
    int misnamed;               /* what some version of it says, or 0 */
    const char *vendor;
    int family;                 /* with the extended one */
    uint8_t models[X86_PMU_MODEL_NUMBERS];
    PmuCore core;
    PerfmonMap map;
    unsigned version;           /* of architectural performance monitoring */
    unsigned num_gp, num_fixed;
    unsigned num_metrics;       /* 0: no PERF_METRICS */
    unsigned width;             /* of counters, in bits; 0: the map's */
    bool pdcm;                  /* it has IA32_PERF_CAPABILITIES */
    bool full_width;            /* ... with IA32_A_PMCx */
    bool iq_escrs;
    bool one_offcore;
    /* P6 with what Pentium M brought: LVT entry, IA32_MISC_ENABLE. */
    bool pentium_m;
    int perfmon_v2_from;        /* AMD: the first model with it; 0: none */
    bool rdpmc_with_mmx;        /* RDPMC came with MMX */
} X86PMUModel;

/* The PMU of @cpu, NULL if none is modelled. */
const X86PMUModel *x86_pmu_model(X86CPU *cpu);

/* The model number in CPUID.1:EAX. */
int x86_pmu_model_number(uint32_t version);

#endif
