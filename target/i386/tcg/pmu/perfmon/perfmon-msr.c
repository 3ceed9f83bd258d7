/*
 * The register table of the performance-monitoring unit: RDMSR, WRMSR, RESET.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Facts without a source of their own: SDM vol. 3B, chapter 20 (architectural
 * performance monitoring, version 5) and vol. 4, tables 2-2 and 2-44.
 */

#include <glib.h>
#include <stddef.h>
#include <string.h>

#include "tcg/pmu/perfmon/counter.h"
#include "tcg/pmu/perfmon/perf-metrics.h"
#include "tcg/pmu/perfmon/perfmon-msr.h"

typedef enum PerfmonWrite {
    PERFMON_WRITE_REFUSED,      /* read-only: every write raises #GP */
    PERFMON_WRITE_IGNORED,
    PERFMON_WRITE_STORE,
    PERFMON_WRITE_SIGN_EXTEND,  /* EAX, sign-extended; EDX does not count */
    PERFMON_WRITE_CLEAR,        /* ones clear bits */
    PERFMON_WRITE_SET,          /* ones set bits */
} PerfmonWrite;

/* No register of its own stands behind the row. */
#define NOT_STORED SIZE_MAX

typedef struct PerfmonMsr {
    const char *name;           /* SDM; the number follows if count > 1 */
    uint32_t first;
    uint8_t count;              /* addresses that belong to the row */
    uint8_t present;            /* PerfmonPresence: the rest raises #GP */
    uint8_t write;              /* PerfmonWrite */
    uint8_t writable;           /* PerfmonMask: other bits raise #GP */
    uint8_t holds;              /* PerfmonMask: other bits do not stick */
    uint8_t reset;              /* PerfmonMask that is the RESET value */
    size_t stored;              /* offset of a uint64_t[count] in Perfmon */
    bool reads_zero;
    /* What RDMSR returns if it is not zero; NULL: what is stored. */
    uint64_t (*read)(const Perfmon *pmu);
    /* After the write proper: what else @value does. */
    void (*written)(Perfmon *pmu, unsigned index, uint64_t value);
} PerfmonMsr;

static uint64_t read_capabilities(const Perfmon *pmu)
{
    return pmu->config.capabilities;
}

static uint64_t read_metrics(const Perfmon *pmu)
{
    return perfmon_metrics(pmu);
}

/* What is in use, so that software can share the unit: SDM 20.2.4.3. */
static uint64_t read_inuse(const Perfmon *pmu)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < pmu->config.num_gp; i++) {
        if (pmu->evtsel[i] & PERF_EVTSEL_EVENT) {
            value |= PERF_GLOBAL_GP(i);
        }
        if (pmu->evtsel[i] & PERF_EVTSEL_INT) {
            value |= PERF_GLOBAL_PMI_INUSE;
        }
    }
    for (unsigned i = 0; i < pmu->config.num_fixed; i++) {
        if (pmu->fixed_ctr_ctrl & (PERF_FIXED_OS(i) | PERF_FIXED_USR(i))) {
            value |= PERF_GLOBAL_FIXED(i);
        }
        if (pmu->fixed_ctr_ctrl & PERF_FIXED_PMI(i)) {
            value |= PERF_GLOBAL_PMI_INUSE;
        }
    }
    return value;
}

/*
 * Clearing IA32_FIXED_CTR3 clears PERF_METRICS.  Any other value leaves the
 * hidden counters alone: software restores PERF_METRICS after it, and
 * profilers reload it before they read PERF_METRICS.
 */
static void fixed_written(Perfmon *pmu, unsigned index, uint64_t value)
{
    if (index == 3 && value == 0) {
        memset(pmu->metrics, 0, sizeof(pmu->metrics));
    }
}

static void metrics_written(Perfmon *pmu, unsigned index G_GNUC_UNUSED,
                            uint64_t value)
{
    pmu_metrics_write(pmu->metrics, pmu->config.num_metrics,
                      pmu->config.metrics_width, pmu->fixed[3], value);
}

/* A write to a counter or its selector begins another count. */
static void counter_written(Perfmon *pmu, unsigned index,
                            uint64_t value G_GNUC_UNUSED)
{
    pmu->remainder[index] = 0;
}

static void evtsel_written(Perfmon *pmu, unsigned index, uint64_t value)
{
    counter_written(pmu, index, value);
    perfmon_select(pmu, false);
}

static void extra_written(Perfmon *pmu, unsigned index G_GNUC_UNUSED,
                             uint64_t value G_GNUC_UNUSED)
{
    perfmon_select(pmu, false);
}

/*
 * Addresses at which larger units have registers of this kind, and this one has
 * nothing: silicon and KVM raise #GP, where QEMU reads zero of an MSR that it
 * does not know.  Drivers take the number of counters from CPUID and do not go
 * there.
 */
#define ABSENT(first_, count_)                                          \
    {                                                                   \
        .name = "(absent)", .first = (first_), .count = (count_),       \
        .present = PERFMON_PRESENT_NOWHERE,                             \
        .write = PERFMON_WRITE_REFUSED, .stored = NOT_STORED,           \
    }

static const PerfmonMsr msr_table[] = {
    /* By address.  Absent ones: SDM vol. 4, table 2-2, and later cores'. */
    {
        .name = "IA32_PMC", .first = MSR_PMU_IA32_PMC0, .count = 8,
        .present = PERFMON_PRESENT_GP,
        .write = PERFMON_WRITE_SIGN_EXTEND, .writable = PERFMON_MASK_ALL,
        .holds = PERFMON_MASK_COUNTER,
        .stored = offsetof(Perfmon, gp),
        .written = counter_written,
    },
    ABSENT(0x0c9, 2),           /* IA32_PMC8 and 9 */
    {
        .name = "IA32_PERFEVTSEL", .first = MSR_PMU_IA32_PERFEVTSEL0,
        .count = 8, .present = PERFMON_PRESENT_GP,
        .write = PERFMON_WRITE_STORE, .writable = PERFMON_MASK_EVTSEL,
        .holds = PERFMON_MASK_EVTSEL_HELD,
        .stored = offsetof(Perfmon, evtsel),
        .written = evtsel_written,
    },
    ABSENT(0x18e, 2),           /* IA32_PERFEVTSEL8 and 9 */
    {
        .name = "MSR_OFFCORE_RSP_", .first = MSR_PMU_OFFCORE_RSP_0,
        .count = 2, .present = PERFMON_PRESENT,
        .write = PERFMON_WRITE_STORE, .writable = PERFMON_MASK_OFFCORE_RSP,
        .holds = PERFMON_MASK_OFFCORE_RSP,
        .stored = offsetof(Perfmon, offcore_rsp),
        .written = extra_written,
    }, {
        /*
         * LBR, BTF and FREEZE_LBRS_ON_PMI do not stick, so that software that
         * reads back finds no last-branch records; drivers set them without
         * asking (block stepping in Linux, arch/x86/kernel/step.c), so they
         * must not raise #GP either.
         */
        .name = "IA32_DEBUGCTL", .first = MSR_PMU_IA32_DEBUGCTL,
        .count = 1, .present = PERFMON_PRESENT,
        .write = PERFMON_WRITE_STORE, .writable = PERFMON_MASK_DEBUGCTL,
        .holds = PERFMON_MASK_DEBUGCTL_HELD,
        .stored = offsetof(Perfmon, debugctl),
    }, {
        .name = "IA32_FIXED_CTR", .first = MSR_PMU_IA32_FIXED_CTR0,
        .count = 4, .present = PERFMON_PRESENT_FIXED,
        .write = PERFMON_WRITE_STORE, .writable = PERFMON_MASK_COUNTER,
        .holds = PERFMON_MASK_COUNTER,
        .stored = offsetof(Perfmon, fixed),
        .written = fixed_written,
    },
    ABSENT(0x30d, 3),           /* IA32_FIXED_CTR4 to 6 */
    {
        .name = "IA32_PERF_METRICS", .first = MSR_PMU_IA32_PERF_METRICS,
        .count = 1, .present = PERFMON_PRESENT_METRICS,
        .write = PERFMON_WRITE_IGNORED, .writable = PERFMON_MASK_METRICS,
        .stored = NOT_STORED,
        .read = read_metrics, .written = metrics_written,
    },
    ABSENT(0x32a, 1),           /* behind IA32_PERF_METRICS */
    {
        .name = "IA32_PERF_CAPABILITIES",
        .first = MSR_PMU_IA32_PERF_CAPABILITIES,
        .count = 1, .present = PERFMON_PRESENT_PDCM,
        .write = PERFMON_WRITE_REFUSED,
        .stored = NOT_STORED,
        .read = read_capabilities,
    }, {
        .name = "IA32_FIXED_CTR_CTRL", .first = MSR_PMU_IA32_FIXED_CTR_CTRL,
        .count = 1, .present = PERFMON_PRESENT,
        .write = PERFMON_WRITE_STORE, .writable = PERFMON_MASK_FIXED_CTR_CTRL,
        .holds = PERFMON_MASK_FIXED_CTR_CTRL_HELD,
        .stored = offsetof(Perfmon, fixed_ctr_ctrl),
    }, {
        .name = "IA32_PERF_GLOBAL_STATUS",
        .first = MSR_PMU_IA32_PERF_GLOBAL_STATUS,
        .count = 1, .present = PERFMON_PRESENT,
        .write = PERFMON_WRITE_REFUSED,
        .holds = PERFMON_MASK_STATUS,
        .stored = offsetof(Perfmon, global_status),
    }, {
        /* All general-purpose counters on: SDM since March 2023. */
        .name = "IA32_PERF_GLOBAL_CTRL",
        .first = MSR_PMU_IA32_PERF_GLOBAL_CTRL,
        .count = 1, .present = PERFMON_PRESENT,
        .write = PERFMON_WRITE_STORE, .writable = PERFMON_MASK_GLOBAL_CTRL,
        .holds = PERFMON_MASK_GLOBAL_CTRL,
        .reset = PERFMON_MASK_GLOBAL_CTRL_RESET,
        .stored = offsetof(Perfmon, global_ctrl),
    }, {
        .name = "IA32_PERF_GLOBAL_STATUS_RESET",
        .first = MSR_PMU_IA32_PERF_GLOBAL_OVF_CTRL,
        .count = 1, .present = PERFMON_PRESENT,
        .write = PERFMON_WRITE_CLEAR, .writable = PERFMON_MASK_STATUS_RESET,
        .holds = PERFMON_MASK_STATUS,
        .stored = offsetof(Perfmon, global_status),
        .reads_zero = true,
    }, {
        .name = "IA32_PERF_GLOBAL_STATUS_SET",
        .first = MSR_PMU_IA32_PERF_GLOBAL_STATUS_SET,
        .count = 1, .present = PERFMON_PRESENT_V4,
        .write = PERFMON_WRITE_SET, .writable = PERFMON_MASK_STATUS,
        .holds = PERFMON_MASK_STATUS,
        .stored = offsetof(Perfmon, global_status),
        .reads_zero = true,
    }, {
        .name = "IA32_PERF_GLOBAL_INUSE",
        .first = MSR_PMU_IA32_PERF_GLOBAL_INUSE,
        .count = 1, .present = PERFMON_PRESENT_V4,
        .write = PERFMON_WRITE_REFUSED,
        .stored = NOT_STORED,
        .read = read_inuse,
    },
    ABSENT(0x393, 1),           /* behind IA32_PERF_GLOBAL_INUSE */
    {
        /*
         * Without PEBS there is nothing to enable; Linux reads it all the
         * same when it prints the unit's state (arch/x86/events/core.c).
         */
        .name = "IA32_PEBS_ENABLE", .first = MSR_PMU_PEBS_ENABLE,
        .count = 1, .present = PERFMON_PRESENT,
        .write = PERFMON_WRITE_IGNORED, .writable = PERFMON_MASK_NONE,
        .stored = NOT_STORED,
        .reads_zero = true,
    },
    /* MSR_PEBS_DATA_CFG, with PERF_CAPABILITIES.PEBS_BASELINE, bit 14 */
    ABSENT(0x3f2, 1),
    {
        .name = "MSR_PEBS_LD_LAT_THRESHOLD", .first = MSR_PMU_PEBS_LD_LAT,
        .count = 1, .present = PERFMON_PRESENT,
        .write = PERFMON_WRITE_STORE, .writable = PERFMON_MASK_LD_LAT,
        .holds = PERFMON_MASK_LD_LAT,
        .stored = offsetof(Perfmon, pebs_ld_lat),
        .written = extra_written,
    }, {
        .name = "MSR_PEBS_FRONTEND", .first = MSR_PMU_PEBS_FRONTEND,
        .count = 1, .present = PERFMON_PRESENT,
        .write = PERFMON_WRITE_STORE, .writable = PERFMON_MASK_FRONTEND,
        .holds = PERFMON_MASK_FRONTEND,
        .stored = offsetof(Perfmon, pebs_frontend),
        .written = extra_written,
    }, {
        .name = "IA32_A_PMC", .first = MSR_PMU_IA32_A_PMC0, .count = 8,
        .present = PERFMON_PRESENT_FW_WRITE,
        .write = PERFMON_WRITE_STORE, .writable = PERFMON_MASK_COUNTER,
        .holds = PERFMON_MASK_COUNTER,
        .stored = offsetof(Perfmon, gp),
        .written = counter_written,
    },
    ABSENT(0x4c9, 2),           /* IA32_A_PMC8 and 9 */
};

/*
 * The bits that MSR_OFFCORE_RSP_x and MSR_PEBS_FRONTEND have on each core:
 * intel_icl_extra_regs and intel_spr_extra_regs in Linux,
 * arch/x86/events/intel/core.c.
 */
static const struct {
    uint64_t offcore_rsp, frontend;
} extra_bits[PMU_CORE_NR] = {
    [PMU_CORE_ICELAKE]          = { 0x3fffffbfffull, 0x7fff17 },
    [PMU_CORE_SAPPHIRERAPIDS]   = { 0x3fffffffffull, 0x7fff1f },
};

void perfmon_msr_prepare(Perfmon *pmu)
{
    const PerfmonConfig *config = &pmu->config;
    bool metrics = config->capabilities & PERF_CAP_BIT_PERF_METRICS;
    bool fw_write = config->capabilities & PERF_CAP_BIT_FW_WRITE;
    uint64_t *mask = pmu->mask;
    uint64_t counters = metrics ? PERF_GLOBAL_METRICS : 0;
    uint64_t fixed_ctrl = 0, fixed_any = 0;
    uint64_t freeze = config->version >= 4 ? PERF_GLOBAL_CTR_FRZ : 0;

    pmu->population[PERFMON_PRESENT_NOWHERE] = 0;
    pmu->population[PERFMON_PRESENT] = UINT8_MAX;
    pmu->population[PERFMON_PRESENT_GP] = config->num_gp;
    pmu->population[PERFMON_PRESENT_FW_WRITE] = fw_write ? config->num_gp : 0;
    pmu->population[PERFMON_PRESENT_FIXED] = config->num_fixed;
    pmu->population[PERFMON_PRESENT_PDCM] = config->pdcm;
    pmu->population[PERFMON_PRESENT_METRICS] = metrics;
    pmu->population[PERFMON_PRESENT_V4] = config->version >= 4 ? UINT8_MAX : 0;

    for (unsigned i = 0; i < config->num_fixed; i++) {
        counters |= PERF_GLOBAL_FIXED(i);
        fixed_ctrl |= PERF_FIXED_OS(i) | PERF_FIXED_USR(i) | PERF_FIXED_PMI(i);
        fixed_any |= PERF_FIXED_ANYTHREAD(i);
    }
    counters |= PERF_GLOBAL_GP(config->num_gp) - 1;

    mask[PERFMON_MASK_NONE] = 0;
    mask[PERFMON_MASK_ALL] = UINT64_MAX;
    mask[PERFMON_MASK_COUNTER] = (1ull << config->counter_width) - 1;
    mask[PERFMON_MASK_GP] = PERF_GLOBAL_GP(config->num_gp) - 1;
    /*
     * CPUID.0AH:EDX[15] is set: AnyThread is deprecated.  The SDM does not say
     * what then becomes of its bits.  Linux offered the filter on Ice Lake
     * before its commit cadbaa039b99, "even though the filter does not exist",
     * and lets root set the bit in a raw event still.  So writes may have the
     * bits, as a #GP would take what else is in the write with it; they do
     * nothing, and software that reads back does not find them.
     */
    mask[PERFMON_MASK_EVTSEL] = UINT32_MAX;
    mask[PERFMON_MASK_FIXED_CTR_CTRL] = fixed_ctrl | fixed_any;
    if (config->anythread) {
        /* A core has one thread here: the bits change no count. */
        mask[PERFMON_MASK_EVTSEL_HELD] = UINT32_MAX;
        mask[PERFMON_MASK_FIXED_CTR_CTRL_HELD] = fixed_ctrl | fixed_any;
    } else {
        mask[PERFMON_MASK_EVTSEL_HELD] = UINT32_MAX & ~PERF_EVTSEL_ANYTHREAD;
        mask[PERFMON_MASK_FIXED_CTR_CTRL_HELD] = fixed_ctrl;
    }
    if (config->capabilities & PERF_CAP_BIT_METRICS_CLEAR) {
        mask[PERFMON_MASK_FIXED_CTR_CTRL_HELD] |= PERF_FIXED_METRICS_CLEAR;
    }
    mask[PERFMON_MASK_GLOBAL_CTRL] = counters;
    mask[PERFMON_MASK_GLOBAL_CTRL_RESET] = config->stopped ? 0 :
                                           mask[PERFMON_MASK_GP];
    /* Version 4 brought CTR_FRZ, LBR_FRZ and ASCI: SDM vol. 3B, 20.2.4. */
    mask[PERFMON_MASK_STATUS] = counters | freeze;
    mask[PERFMON_MASK_STATUS_RESET] = counters | PERF_GLOBAL_TOPA_PMI |
        (freeze ? PERF_GLOBAL_LBR_FRZ | PERF_GLOBAL_ASCI : 0) | freeze |
        PERF_GLOBAL_OVF_UNCORE | PERF_GLOBAL_OVF_BUF | PERF_GLOBAL_COND_CHGD;
    mask[PERFMON_MASK_METRICS] = config->num_metrics == PERFMON_MAX_METRICS ?
                                 UINT64_MAX : UINT32_MAX;
    mask[PERFMON_MASK_DEBUGCTL] = PERF_DEBUGCTL_FREEZE_PERFMON_ON_PMI |
        PERF_DEBUGCTL_LBR | PERF_DEBUGCTL_BTF |
        PERF_DEBUGCTL_FREEZE_LBRS_ON_PMI;
    mask[PERFMON_MASK_DEBUGCTL_HELD] = PERF_DEBUGCTL_FREEZE_PERFMON_ON_PMI;
    mask[PERFMON_MASK_OFFCORE_RSP] = extra_bits[config->core].offcore_rsp;
    mask[PERFMON_MASK_LD_LAT] = UINT16_MAX;
    mask[PERFMON_MASK_FRONTEND] = extra_bits[config->core].frontend;
}

/* Register @index of @row. */
static uint64_t *stored(Perfmon *pmu, const PerfmonMsr *row, unsigned index)
{
    return (uint64_t *)((char *)pmu + row->stored) + index;
}

static uint64_t stored_value(const Perfmon *pmu, const PerfmonMsr *row,
                             unsigned index)
{
    return ((const uint64_t *)((const char *)pmu + row->stored))[index];
}

void perfmon_msr_reset(Perfmon *pmu)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(msr_table); i++) {
        const PerfmonMsr *row = &msr_table[i];

        for (unsigned j = 0; row->stored != NOT_STORED && j < row->count; j++) {
            *stored(pmu, row, j) = pmu->mask[row->reset];
        }
    }
    memset(pmu->metrics, 0, sizeof(pmu->metrics));
}

/* Register @index of @row exists in this unit. */
static bool present(const Perfmon *pmu, const PerfmonMsr *row, unsigned index)
{
    return index < pmu->population[row->present];
}

static bool row_plausible(const Perfmon *pmu, const PerfmonMsr *row)
{
    for (unsigned i = 0; row->stored != NOT_STORED && i < row->count; i++) {
        if (stored_value(pmu, row, i) & ~pmu->mask[row->holds]) {
            return false;
        }
    }
    return true;
}

bool perfmon_msr_plausible(const Perfmon *pmu)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(msr_table); i++) {
        if (!row_plausible(pmu, &msr_table[i])) {
            return false;
        }
    }
    return true;
}

/* The row that has @msr, NULL if none does. */
static const PerfmonMsr *find_row(uint32_t msr)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(msr_table); i++) {
        if (msr - msr_table[i].first < msr_table[i].count) {
            return &msr_table[i];
        }
    }
    return NULL;
}

PerfmonResult perfmon_rdmsr(const Perfmon *pmu, uint32_t msr, uint64_t *value)
{
    const PerfmonMsr *row = find_row(msr);
    unsigned index;

    if (!row) {
        return PERFMON_NOT_OURS;
    }
    index = msr - row->first;
    if (!present(pmu, row, index)) {
        return PERFMON_GP;
    }
    *value = row->reads_zero ? 0 :
             row->read ? row->read(pmu) : stored_value(pmu, row, index);
    return PERFMON_OK;
}

PerfmonResult perfmon_wrmsr_check(const Perfmon *pmu, uint32_t msr,
                                  uint64_t value)
{
    const PerfmonMsr *row = find_row(msr);

    if (!row) {
        return PERFMON_NOT_OURS;
    }
    if (!present(pmu, row, msr - row->first) ||
        row->write == PERFMON_WRITE_REFUSED ||
        value & ~pmu->mask[row->writable]) {
        return PERFMON_GP;
    }
    return PERFMON_OK;
}

/* @reg after a write of @value, of which it holds the bits in @mask. */
static uint64_t combine(uint64_t reg, PerfmonWrite how, uint64_t mask,
                        uint64_t value)
{
    switch (how) {
    case PERFMON_WRITE_STORE:
        return value & mask;
    case PERFMON_WRITE_SIGN_EXTEND:
        return (int32_t)value & mask;
    case PERFMON_WRITE_CLEAR:
        return reg & ~value;
    case PERFMON_WRITE_SET:
        return reg | (value & mask);
    default:
        return reg;
    }
}

void perfmon_wrmsr(Perfmon *pmu, uint32_t msr, uint64_t value)
{
    const PerfmonMsr *row = find_row(msr);
    unsigned index = msr - row->first;

    if (row->stored != NOT_STORED) {
        uint64_t *reg = stored(pmu, row, index);

        *reg = combine(*reg, row->write, pmu->mask[row->holds], value);
    }
    if (row->written) {
        row->written(pmu, index, value);
    }
}

const char *perfmon_msr_row(unsigned index, uint32_t *first, unsigned *count)
{
    if (index >= G_N_ELEMENTS(msr_table)) {
        return NULL;
    }
    *first = msr_table[index].first;
    *count = msr_table[index].count;
    return msr_table[index].name;
}
