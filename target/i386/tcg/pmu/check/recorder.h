/*
 * The flight recorder keeps the last events of a driver: accesses, overflows,
 * interrupts.
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
    PMU_RECORD_PMI,             /* value: GLOBAL_STATUS; old: LVTPC; outcome */
    PMU_RECORD_LVTPC,           /* a write to it */
    PMU_RECORD_KINDS
} PmuRecordKind;

typedef struct PmuRecorderEntry {
    uint64_t clock;             /* in the caller's unit */
    uint64_t rip;
    uint64_t old, value;        /* of the register, before and after a write */
    uint32_t msr;               /* for RDPMC, the MSR that ECX selects */
    uint32_t page;              /* low 32 bits of CR3 >> 12 */
    uint8_t kind;               /* PmuRecordKind */
    uint8_t cpl;
    uint8_t outcome;            /* PmuCheckOutcome, of a PMI */
} PmuRecorderEntry;

typedef struct PmuRecorder PmuRecorder;

/* Create an empty recorder for @size (1 to PMU_RECORDER_MAX) entries. */
#define PMU_RECORDER_MAX (1 << 20)
PmuRecorder *pmu_recorder_new(unsigned size);
void pmu_recorder_free(PmuRecorder *recorder);

/* Add a copy of @entry; it replaces the oldest one if there is no room. */
void pmu_recorder_add(PmuRecorder *recorder, const PmuRecorderEntry *entry);

/* Forget all entries. */
void pmu_recorder_clear(PmuRecorder *recorder);

/* Entry @index, where 0 is the oldest; NULL past the newest. */
const PmuRecorderEntry *pmu_recorder_get(const PmuRecorder *recorder,
                                         unsigned index);
unsigned pmu_recorder_count(const PmuRecorder *recorder);

/* "rdmsr", "wrmsr", "rdpmc", "gp", "overflow", "pmi", "lvtpc" */
const char *pmu_recorder_kind_name(PmuRecordKind kind);

/* "delivered", "nmi-pending", "masked" */
const char *pmu_recorder_outcome_name(unsigned outcome);

/*
 * The name of @msr in @map, or "MSR_0x123" if @map does not have it.  The
 * caller frees it.
 */
char *pmu_register_name(const PerfmonRegisterMap *map, uint32_t msr);

/* The MSR that RDPMC reads with this ECX; 0 if none. */
uint32_t pmu_rdpmc_msr(uint32_t ecx);

/* The name of the register that @entry is about.  The caller frees it. */
char *pmu_recorder_register(const PmuRecorderEntry *entry);

/* @entry as text, without a newline.  The caller frees it. */
char *pmu_recorder_text(const PmuRecorderEntry *entry);

#endif
