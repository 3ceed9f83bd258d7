/*
 * The flight recorder: the last steps of a driver.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_CHECK_RECORDER_H
#define TARGET_I386_PMU_CHECK_RECORDER_H

#include <stdint.h>

#include "tcg/pmu/perfmon/perfmon.h"
#include "tcg/pmu/perfmon/register-map.h"

typedef enum PmuRecordKind {
    PMU_RECORD_RDMSR,
    PMU_RECORD_WRMSR,
    PMU_RECORD_RDPMC,
    PMU_RECORD_GP,              /* an access that raised #GP */
    PMU_RECORD_OVERFLOW,        /* value: bits of GLOBAL_STATUS */
    PMU_RECORD_PMI,             /* value: GLOBAL_STATUS; @outcome */
    PMU_RECORD_LVTPC,
    PMU_RECORD_KINDS
} PmuRecordKind;

typedef struct PmuRecorderEntry {
    uint64_t clock;             /* as PmuCheckWhere has it */
    uint64_t rip;
    uint64_t old, value;        /* of the register, before and after */
    uint32_t msr;               /* of RDPMC, what is behind ECX */
    uint32_t page;              /* CR3 >> 12: low 32 bits */
    uint8_t kind;               /* PmuRecordKind */
    uint8_t cpl;
    uint8_t outcome;            /* PmuCheckOutcome */
} PmuRecorderEntry;

typedef struct PmuRecorder PmuRecorder;

/* Room for @size (1 to PMU_RECORDER_MAX) entries. */
#define PMU_RECORDER_MAX (1 << 20)
PmuRecorder *pmu_recorder_new(unsigned size);
void pmu_recorder_free(PmuRecorder *recorder);

/* Note @entry in place of the oldest one. */
void pmu_recorder_add(PmuRecorder *recorder, const PmuRecorderEntry *entry);

/* Forget all entries. */
void pmu_recorder_clear(PmuRecorder *recorder);

/* Entry @index, the oldest first, NULL past the newest. */
const PmuRecorderEntry *pmu_recorder_get(const PmuRecorder *recorder,
                                         unsigned index);
unsigned pmu_recorder_count(const PmuRecorder *recorder);

/* "rdmsr", "wrmsr", "rdpmc", "gp", "overflow", "pmi", "lvtpc" */
const char *pmu_recorder_kind_name(PmuRecordKind kind);

/* "delivered", "nmi-pending", "masked" */
const char *pmu_recorder_outcome_name(unsigned outcome);

/*
 * The name of @msr in @map, to be freed; "MSR_0x123" if it is none of the PMU.
 */
char *pmu_register_name(const PerfmonRegisterMap *map, uint32_t msr);

/* The MSR that RDPMC with @ecx reads; 0 if none. */
uint32_t pmu_rdpmc_msr(uint32_t ecx);

/* The name of the register that @entry is about, to be freed. */
char *pmu_recorder_register(const PmuRecorderEntry *entry);

/* @entry as a line of text without a newline, to be freed. */
char *pmu_recorder_text(const PmuRecorderEntry *entry);

#endif
