/*
 * The register map of architectural performance monitoring: Intel's cores since
 * Core Duo.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Source, if a comment names no other: SDM vol. 3B, chapter 20 (architectural
 * performance monitoring, versions 1 to 5) and vol. 4, tables 2-2 and 2-44.
 */

#include <glib.h>
#include <string.h>

#include "tcg/pmu/perfmon/counter.h"
#include "tcg/pmu/perfmon/perf-metrics.h"
#include "tcg/pmu/perfmon/register-map.h"

static uint64_t read_capabilities(const Perfmon *pmu)
{
    return pmu->config.capabilities;
}

static uint64_t read_metrics(const Perfmon *pmu)
{
    return perfmon_metrics(pmu);
}

/* What is in use, for software that shares the unit: SDM 20.2.4.3. */
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
 * A write of 0 to IA32_FIXED_CTR3 clears PERF_METRICS.  Any other value leaves
 * the hidden counters alone: software restores IA32_FIXED_CTR3 before
 * PERF_METRICS, and profilers reload it before they read PERF_METRICS.
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

static const PerfmonMsr rows[] = {
    /* By address.  Absent registers: SDM vol. 4, table 2-2 and later cores'. */
    {
        .name = "IA32_PMC", .first = MSR_PMU_IA32_PMC0, .count = 8,
        .present = PERFMON_PRESENT_GP,
        .write = PERFMON_WRITE_SIGN_EXTEND, .writable = PERFMON_MASK_ALL,
        .holds = PERFMON_MASK_COUNTER,
        .stored = offsetof(Perfmon, gp),
        .written = perfmon_counter_written,
    },
    PERFMON_ABSENT(0x0c9, 2),           /* IA32_PMC8 and 9 */
    {
        .name = "IA32_PERFEVTSEL", .first = MSR_PMU_IA32_PERFEVTSEL0,
        .count = 8, .present = PERFMON_PRESENT_GP,
        .write = PERFMON_WRITE_STORE, .writable = PERFMON_MASK_EVTSEL,
        .holds = PERFMON_MASK_EVTSEL_HELD,
        .stored = offsetof(Perfmon, evtsel),
        .written = perfmon_selector_written,
    },
    PERFMON_ABSENT(0x18e, 2),           /* IA32_PERFEVTSEL8 and 9 */
    {
        .name = "MSR_OFFCORE_RSP_", .first = MSR_PMU_OFFCORE_RSP_0,
        .count = 2, .present = PERFMON_PRESENT_OFFCORE,
        .write = PERFMON_WRITE_STORE, .writable = PERFMON_MASK_OFFCORE_RSP,
        .holds = PERFMON_MASK_OFFCORE_RSP,
        .stored = offsetof(Perfmon, offcore_rsp),
        .written = perfmon_shared_written,
    }, {
        /*
         * LBR, BTF and FREEZE_LBRS_ON_PMI do not stick: software that reads
         * them back finds no last-branch records.  They must not raise #GP,
         * as drivers set them without a check (block stepping in Linux,
         * arch/x86/kernel/step.c).
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
    PERFMON_ABSENT(0x30d, 3),           /* IA32_FIXED_CTR4 to 6 */
    {
        .name = "IA32_PERF_METRICS", .first = MSR_PMU_IA32_PERF_METRICS,
        .count = 1, .present = PERFMON_PRESENT_METRICS,
        .write = PERFMON_WRITE_NOT_STORED, .writable = PERFMON_MASK_METRICS,
        .stored = PERFMON_NOT_STORED,
        .read = read_metrics, .written = metrics_written,
    },
    PERFMON_ABSENT(0x32a, 1),           /* behind IA32_PERF_METRICS */
    {
        .name = "IA32_PERF_CAPABILITIES",
        .first = MSR_PMU_IA32_PERF_CAPABILITIES,
        .count = 1, .present = PERFMON_PRESENT_PDCM,
        .write = PERFMON_WRITE_REFUSED,
        .stored = PERFMON_NOT_STORED,
        .read = read_capabilities,
    }, {
        .name = "IA32_FIXED_CTR_CTRL", .first = MSR_PMU_IA32_FIXED_CTR_CTRL,
        .count = 1, .present = PERFMON_PRESENT_GLOBAL,
        .write = PERFMON_WRITE_STORE, .writable = PERFMON_MASK_FIXED_CTR_CTRL,
        .holds = PERFMON_MASK_FIXED_CTR_CTRL_HELD,
        .stored = offsetof(Perfmon, fixed_ctr_ctrl),
    }, {
        .name = "IA32_PERF_GLOBAL_STATUS",
        .first = MSR_PMU_IA32_PERF_GLOBAL_STATUS,
        .count = 1, .present = PERFMON_PRESENT_GLOBAL,
        .write = PERFMON_WRITE_REFUSED,
        .holds = PERFMON_MASK_STATUS,
        .stored = offsetof(Perfmon, global_status),
    }, {
        /* RESET enables all general-purpose counters: SDM since March 2023. */
        .name = "IA32_PERF_GLOBAL_CTRL",
        .first = MSR_PMU_IA32_PERF_GLOBAL_CTRL,
        .count = 1, .present = PERFMON_PRESENT_GLOBAL,
        .write = PERFMON_WRITE_STORE, .writable = PERFMON_MASK_GLOBAL_CTRL,
        .holds = PERFMON_MASK_GLOBAL_CTRL,
        .reset = PERFMON_MASK_GLOBAL_CTRL_AT_RESET,
        .stored = offsetof(Perfmon, global_ctrl),
    }, {
        .name = "IA32_PERF_GLOBAL_STATUS_RESET",
        .first = MSR_PMU_IA32_PERF_GLOBAL_OVF_CTRL,
        .count = 1, .present = PERFMON_PRESENT_GLOBAL,
        .write = PERFMON_WRITE_CLEAR,
        .writable = PERFMON_MASK_STATUS_CLEARABLE,
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
        .reads_zero = true, .uncore = true,
    }, {
        .name = "IA32_PERF_GLOBAL_INUSE",
        .first = MSR_PMU_IA32_PERF_GLOBAL_INUSE,
        .count = 1, .present = PERFMON_PRESENT_V4,
        .write = PERFMON_WRITE_REFUSED,
        .stored = PERFMON_NOT_STORED,
        .read = read_inuse, .uncore = true,
    },
    /* Behind IA32_PERF_GLOBAL_INUSE. */
    PERFMON_ABSENT(0x393, 1, .uncore = true),
    {
        /*
         * Without PEBS there is nothing to enable, but Linux reads this
         * register when it prints the unit's state (arch/x86/events/core.c).
         */
        .name = "IA32_PEBS_ENABLE", .first = MSR_PMU_PEBS_ENABLE,
        .count = 1, .present = PERFMON_PRESENT,
        .write = PERFMON_WRITE_NOT_STORED, .writable = PERFMON_MASK_NONE,
        .stored = PERFMON_NOT_STORED,
        .reads_zero = true,
    },
    /* MSR_PEBS_DATA_CFG, with PERF_CAPABILITIES.PEBS_BASELINE, bit 14 */
    PERFMON_ABSENT(0x3f2, 1),
    {
        .name = "MSR_PEBS_LD_LAT_THRESHOLD", .first = MSR_PMU_PEBS_LD_LAT,
        .count = 1, .present = PERFMON_PRESENT_LD_LAT,
        .write = PERFMON_WRITE_STORE, .writable = PERFMON_MASK_LD_LAT,
        .holds = PERFMON_MASK_LD_LAT,
        .stored = offsetof(Perfmon, pebs_ld_lat),
        .written = perfmon_shared_written,
    }, {
        .name = "MSR_PEBS_FRONTEND", .first = MSR_PMU_PEBS_FRONTEND,
        .count = 1, .present = PERFMON_PRESENT_FRONTEND,
        .write = PERFMON_WRITE_STORE, .writable = PERFMON_MASK_FRONTEND,
        .holds = PERFMON_MASK_FRONTEND,
        .stored = offsetof(Perfmon, pebs_frontend),
        .written = perfmon_shared_written,
    }, {
        .name = "IA32_A_PMC", .first = MSR_PMU_IA32_A_PMC0, .count = 8,
        .present = PERFMON_PRESENT_FW_WRITE,
        .write = PERFMON_WRITE_STORE, .writable = PERFMON_MASK_COUNTER,
        .holds = PERFMON_MASK_COUNTER,
        .stored = offsetof(Perfmon, gp),
        .written = perfmon_counter_written,
    },
    PERFMON_ABSENT(0x4c9, 2),           /* IA32_A_PMC8 and 9 */
};

/*
 * The registers of a core from which events take a part of their selector, and
 * their bits; 0: the core does not have it.  Source: intel_*_extra_regs in
 * Linux, arch/x86/events/intel/core.c.
 */
typedef struct ExtraRegisters {
    unsigned num_offcore;
    uint64_t offcore_rsp, ld_lat, frontend;
} ExtraRegisters;

static const ExtraRegisters extra_registers[PMU_CORE_NR] = {
    [PMU_CORE_ICELAKE] = { 2, 0x3fffffbfffull, UINT16_MAX, 0x7fff17 },
    [PMU_CORE_SAPPHIRERAPIDS] = { 2, 0x3fffffffffull, UINT16_MAX, 0x7fff1f },
    [PMU_CORE_NEHALEM] = { 2, 0xffff, UINT16_MAX },
    [PMU_CORE_SANDYBRIDGE] = { 2, 0x3fffff8fffull, UINT16_MAX },
    [PMU_CORE_HASWELL] = { 2, 0x3fffff8fffull, UINT16_MAX },
    [PMU_CORE_SKYLAKE] = { 2, 0x3fffff8fffull, UINT16_MAX, 0x7fff17 },
};

/*
 * From Nehalem to Broadwell the uncore has its global control and status at
 * 391H to 393H, where version 4 later put other registers.  Linux writes this
 * control when a CPU comes up (snb_uncore_msr_init_box() in
 * arch/x86/events/intel/uncore_snb.c), and complains about a #GP.
 */
static bool has_uncore(const PerfmonConfig *config)
{
    return config->version < 4 && (config->core == PMU_CORE_NEHALEM ||
                                   config->core == PMU_CORE_SANDYBRIDGE ||
                                   config->core == PMU_CORE_HASWELL);
}

static void prepare(Perfmon *pmu)
{
    const PerfmonConfig *config = &pmu->config;
    const ExtraRegisters *extra = &extra_registers[config->core];
    bool metrics = config->capabilities & PERF_CAP_BIT_PERF_METRICS;
    bool fw_write = config->capabilities & PERF_CAP_BIT_FW_WRITE;
    uint64_t *mask = pmu->mask;
    uint64_t counters = metrics ? PERF_GLOBAL_METRICS : 0;
    uint64_t fixed_ctrl = 0, fixed_any = 0;
    uint64_t freeze = config->version >= 4 ? PERF_GLOBAL_CTR_FRZ : 0;

    pmu->uncore = has_uncore(config);
    pmu->num_present[PERFMON_PRESENT_FW_WRITE] = fw_write ? config->num_gp : 0;
    pmu->num_present[PERFMON_PRESENT_FIXED] = config->num_fixed;
    pmu->num_present[PERFMON_PRESENT_PDCM] = config->pdcm;
    pmu->num_present[PERFMON_PRESENT_METRICS] = metrics;
    pmu->num_present[PERFMON_PRESENT_V4] = config->version >= 4 ? UINT8_MAX : 0;
    pmu->num_present[PERFMON_PRESENT_GLOBAL] = config->version >= 2
                                               ? UINT8_MAX : 0;
    pmu->num_present[PERFMON_PRESENT_OFFCORE] =
        MIN(extra->num_offcore, config->one_offcore ? 1 : 2);
    pmu->num_present[PERFMON_PRESENT_LD_LAT] = extra->ld_lat != 0;
    pmu->num_present[PERFMON_PRESENT_FRONTEND] = extra->frontend != 0;

    for (unsigned i = 0; i < config->num_fixed; i++) {
        counters |= PERF_GLOBAL_FIXED(i);
        fixed_ctrl |= PERF_FIXED_OS(i) | PERF_FIXED_USR(i) | PERF_FIXED_PMI(i);
        fixed_any |= PERF_FIXED_ANYTHREAD(i);
    }
    counters |= PERF_GLOBAL_GP(config->num_gp) - 1;

    mask[PERFMON_MASK_EVTSEL] = UINT32_MAX;
    mask[PERFMON_MASK_FIXED_CTR_CTRL] = fixed_ctrl | fixed_any;
    if (pmu->anythread) {
        /* What a sibling thread does is not counted, whatever they say. */
        mask[PERFMON_MASK_EVTSEL_HELD] = UINT32_MAX;
        mask[PERFMON_MASK_FIXED_CTR_CTRL_HELD] = fixed_ctrl | fixed_any;
    } else {
        /*
         * CPUID.0AH:EDX[15] is set: AnyThread is deprecated.  The SDM does not
         * say what its bits then do.  Linux offered the filter on Ice Lake
         * before its commit cadbaa039b99, "even though the filter does not
         * exist", and still lets root set the bit in a raw event.  So writes
         * may set the bits, as a #GP would lose the rest of the write.  They do
         * nothing and do not read back.
         */
        mask[PERFMON_MASK_EVTSEL_HELD] = UINT32_MAX & ~PERF_EVTSEL_ANYTHREAD;
        mask[PERFMON_MASK_FIXED_CTR_CTRL_HELD] = fixed_ctrl;
    }
    if (config->capabilities & PERF_CAP_BIT_METRICS_CLEAR) {
        mask[PERFMON_MASK_FIXED_CTR_CTRL_HELD] |= PERF_FIXED_METRICS_CLEAR;
    }
    mask[PERFMON_MASK_GLOBAL_CTRL] = counters;
    mask[PERFMON_MASK_GLOBAL_CTRL_AT_RESET] = config->stopped ? 0 :
                                              mask[PERFMON_MASK_GP];
    /* Version 4 brought CTR_FRZ, LBR_FRZ and ASCI: SDM vol. 3B, 20.2.4. */
    mask[PERFMON_MASK_STATUS] = counters | freeze;
    mask[PERFMON_MASK_STATUS_CLEARABLE] = counters | PERF_GLOBAL_TOPA_PMI |
        (freeze ? PERF_GLOBAL_LBR_FRZ | PERF_GLOBAL_ASCI : 0) | freeze |
        PERF_GLOBAL_OVF_UNCORE | PERF_GLOBAL_OVF_BUF | PERF_GLOBAL_COND_CHGD;
    mask[PERFMON_MASK_METRICS] = config->num_metrics == PERFMON_MAX_METRICS ?
                                 UINT64_MAX : UINT32_MAX;
    mask[PERFMON_MASK_DEBUGCTL] = PERF_DEBUGCTL_FREEZE_PERFMON_ON_PMI |
        PERF_DEBUGCTL_LBR | PERF_DEBUGCTL_BTF |
        PERF_DEBUGCTL_FREEZE_LBRS_ON_PMI;
    mask[PERFMON_MASK_DEBUGCTL_HELD] = config->version >= 2
        ? PERF_DEBUGCTL_FREEZE_PERFMON_ON_PMI : 0;
    mask[PERFMON_MASK_OFFCORE_RSP] = extra->offcore_rsp;
    mask[PERFMON_MASK_LD_LAT] = extra->ld_lat;
    mask[PERFMON_MASK_FRONTEND] = extra->frontend;
}

/* ECX[31:16] of RDPMC, SDM vol. 2B.  perfmon.c handles PERF_METRICS. */
enum {
    RDPMC_GP        = 0x0000,
    RDPMC_FIXED     = 0x4000,
};

static int rdpmc(const Perfmon *pmu, uint32_t ecx, uint64_t *mask)
{
    unsigned index = ecx & 0xffff;

    *mask = UINT64_MAX;
    if (ecx >> 16 == RDPMC_GP && index < pmu->config.num_gp) {
        return index;
    }
    if (ecx >> 16 == RDPMC_FIXED && index < pmu->config.num_fixed) {
        return pmu->config.num_gp + index;
    }
    return -1;
}

const PerfmonRegisterMap perfmon_map_architectural = {
    .name = "architectural performance monitoring",
    .rows = rows, .num_rows = G_N_ELEMENTS(rows),
    .counter_name = "IA32_PMC",
    .max_gp = PERFMON_ARCH_GP, .counter_width = 48,
    .masks_lvt = true, .misc_enable = true,
    .prepare = prepare,
    .control = perfmon_evtsel_control,
    .select = perfmon_evtsel_select,
    .rdpmc = rdpmc,
};
