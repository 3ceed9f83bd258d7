/*
 * The register map of NetBurst: Pentium 4, Pentium D, the Xeons of that time.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Each counter has a configuration control register (CCCR), which selects one
 * of up to eight event selection control registers (ESCRs).  Source: SDM vol.
 * 3B, "Performance Monitoring (Processors Based on Intel NetBurst
 * Microarchitecture)".
 */

#include <glib.h>

#include "tcg/pmu/events/events-netburst.h"
#include "tcg/pmu/perfmon/counter.h"
#include "tcg/pmu/perfmon/map-netburst.h"
#include "tcg/pmu/perfmon/register-map.h"

#define MSR_NETBURST_COUNTER0   0x300
#define MSR_NETBURST_CCCR0      0x360
#define MSR_NETBURST_ESCR0      0x3a0
#define MSR_NETBURST_PEBS_MATRIX_VERT 0x3f2

#define COUNTERS    18

/* Bits of a CCCR. */
#define CCCR_ENABLE         (1u << 12)
#define CCCR_ESCR(cccr)     ((cccr) >> 13 & 7)
/*
 * Bits 17:16 say when to count: 01B while a single thread is active, 11B
 * always, 00B while none is, 10B while both are.  As each thread is alone here,
 * the latter two never count.
 */
#define CCCR_ACTIVE_SINGLE  (1u << 16)
#define CCCR_COMPARE        (1u << 18)
#define CCCR_COMPLEMENT     (1u << 19)
#define CCCR_THRESHOLD(cccr) ((cccr) >> 20 & 15)
#define CCCR_EDGE           (1u << 24)
#define CCCR_FORCE_OVF      (1u << 25)
#define CCCR_OVF_PMI_T0     (1u << 26)
#define CCCR_OVF_PMI_T1     (1u << 27)
#define CCCR_CASCADE        (1u << 30)
#define CCCR_OVF            (1u << 31)
/* Bits 0 to 11, 28 and 29 are reserved. */
#define CCCR_HELD           0xcffff000u

/*
 * Bits of an ESCR.  Each thread has its own registers here, while the threads
 * of a real core share them.  Bits of ESCRs and CCCRs for the other thread are
 * held but neither count nor interrupt.
 */
#define ESCR_T1_USR         (1u << 0)
#define ESCR_T1_OS          (1u << 1)
#define ESCR_T0_USR         (1u << 2)
#define ESCR_T0_OS          (1u << 3)
#define ESCR_HELD           0x7fffffffu

static uint32_t interrupt_bit(const Perfmon *pmu)
{
    return pmu->config.second_thread ? CCCR_OVF_PMI_T1 : CCCR_OVF_PMI_T0;
}

/*
 * The counter that @counter is in cascade with: that in the same place of the
 * other pair in its group.  Counters 16 and 17 have only extended cascading,
 * which is not modelled; for these it is @counter itself.
 */
static unsigned cascade_of(unsigned counter)
{
    return counter < 16 ? counter ^ 2 : counter;
}

/* Does the counter in cascade with @index wait for the overflow of @index? */
static bool cascades(const Perfmon *pmu, unsigned index)
{
    unsigned next = cascade_of(index);

    return next != index && pmu->evtsel[next] & CCCR_CASCADE;
}

/* A row of ESCRs. */
#define PART(name_, first_, count_)                                     \
    {                                                                   \
        .name = (name_), .first = (first_), .count = (count_),          \
        .present = PERFMON_PRESENT,                                     \
        .write = PERFMON_WRITE_STORE, .writable = PERFMON_MASK_EAX,     \
        .holds = PERFMON_MASK_ESCR,                                     \
        .stored = offsetof(Perfmon, escr) +                             \
                  sizeof(uint64_t) * ((first_) - MSR_NETBURST_ESCR0),   \
        .written = perfmon_shared_written,                              \
    }

static const PerfmonMsr rows[] = {
    /*
     * Counters are numbered from 0 to 17.  The SDM numbers them in each group:
     * counter 4 is its MSR_MS_COUNTER0, counter 16 MSR_IQ_COUNTER4.
     */
    {
        .name = "MSR_COUNTER", .first = MSR_NETBURST_COUNTER0,
        .count = COUNTERS, .present = PERFMON_PRESENT_GP,
        .write = PERFMON_WRITE_STORE, .writable = PERFMON_MASK_ALL,
        .holds = PERFMON_MASK_COUNTER,
        .stored = offsetof(Perfmon, gp),
        .written = perfmon_counter_written,
    }, {
        .name = "MSR_CCCR", .first = MSR_NETBURST_CCCR0, .count = COUNTERS,
        .present = PERFMON_PRESENT_GP,
        .write = PERFMON_WRITE_STORE, .writable = PERFMON_MASK_EAX,
        .holds = PERFMON_MASK_CCCR,
        .stored = offsetof(Perfmon, evtsel),
        /* A CCCR controls the counter in cascade with its own, too. */
        .written = perfmon_shared_selector_written,
    },
    PART("MSR_BSU_ESCR", 0x3a0, 2), PART("MSR_FSB_ESCR", 0x3a2, 2),
    PART("MSR_FIRM_ESCR", 0x3a4, 2), PART("MSR_FLAME_ESCR", 0x3a6, 2),
    PART("MSR_DAC_ESCR", 0x3a8, 2), PART("MSR_MOB_ESCR", 0x3aa, 2),
    PART("MSR_PMH_ESCR", 0x3ac, 2), PART("MSR_SAAT_ESCR", 0x3ae, 2),
    PART("MSR_U2L_ESCR", 0x3b0, 2), PART("MSR_BPU_ESCR", 0x3b2, 2),
    PART("MSR_IS_ESCR", 0x3b4, 2), PART("MSR_ITLB_ESCR", 0x3b6, 2),
    PART("MSR_CRU_ESCR", 0x3b8, 2),
    {
        /* Only models 1 and 2 have these. */
        .name = "MSR_IQ_ESCR", .first = 0x3ba, .count = 2,
        .present = PERFMON_PRESENT_IQ_ESCRS,
        .write = PERFMON_WRITE_STORE, .writable = PERFMON_MASK_EAX,
        .holds = PERFMON_MASK_ESCR,
        .stored = offsetof(Perfmon, escr) +
                  sizeof(uint64_t) * (0x3ba - MSR_NETBURST_ESCR0),
        .written = perfmon_shared_written,
    },
    PART("MSR_RAT_ESCR", 0x3bc, 2), PART("MSR_SSU_ESCR0", 0x3be, 1),
    PART("MSR_MS_ESCR", 0x3c0, 2), PART("MSR_TBPU_ESCR", 0x3c2, 2),
    PART("MSR_TC_ESCR", 0x3c4, 2), PART("MSR_IX_ESCR", 0x3c8, 2),
    PART("MSR_ALF_ESCR", 0x3ca, 2), PART("MSR_CRU_ESCR2", 0x3cc, 1),
    PART("MSR_CRU_ESCR3", 0x3cd, 1), PART("MSR_CRU_ESCR4", 0x3e0, 1),
    PART("MSR_CRU_ESCR5", 0x3e1, 1),
    {
        .name = "IA32_PEBS_ENABLE", .first = MSR_PMU_PEBS_ENABLE, .count = 1,
        .present = PERFMON_PRESENT,
        .write = PERFMON_WRITE_STORE, .writable = PERFMON_MASK_EAX,
        .holds = PERFMON_MASK_PEBS_ENABLE,
        .stored = offsetof(Perfmon, pebs_enable),
        .written = perfmon_shared_written,
    }, {
        .name = "MSR_PEBS_MATRIX_VERT", .first = MSR_NETBURST_PEBS_MATRIX_VERT,
        .count = 1, .present = PERFMON_PRESENT,
        .write = PERFMON_WRITE_STORE, .writable = PERFMON_MASK_EAX,
        .holds = PERFMON_MASK_PEBS_MATRIX,
        .stored = offsetof(Perfmon, pebs_matrix_vert),
        .written = perfmon_shared_written,
    },
};

/*
 * Addresses of ESCRs by the counter's group and its CCCR's ESCR select, for the
 * first pair of a group; 0: none.  Source: SDM vol. 3B, "Performance Counter
 * MSRs and Associated CCCR and ESCR MSRs".
 */
static const uint16_t escr_of[NETBURST_GROUPS][8] = {
    [NETBURST_BPU] = { 0x3b2, 0x3b4, 0x3aa, 0x3b6, 0x3ac, 0x3c8, 0x3a2,
                       0x3a0 },
    [NETBURST_MS] = { 0x3c0, 0x3c4, 0x3c2 },
    [NETBURST_FLAME] = { 0x3a6, 0x3a4, 0x3ae, 0x3b0, 0, 0x3a8 },
    [NETBURST_IQ] = { 0x3ba, 0x3ca, 0x3bc, 0x3be, 0x3b8, 0x3cc, 0x3e0 },
};

/* Counters 0 to 15 are in groups of two pairs; 16 and 17 belong to the last. */
static NetburstGroup group_of(unsigned counter)
{
    return MIN(counter / 4, NETBURST_IQ);
}

/* Is @counter in its group's second pair?  That has ESCRs of odd address. */
static bool in_second_pair(unsigned counter)
{
    return counter < 16 ? counter & 2 : counter == 17;
}

/* The value of the ESCR that @cccr selects for @counter; 0 if none. */
static uint32_t selected_escr(const Perfmon *pmu, unsigned counter,
                              uint32_t cccr)
{
    uint16_t msr = escr_of[group_of(counter)][CCCR_ESCR(cccr)];

    if (!msr || (msr == 0x3be && in_second_pair(counter))) {
        return 0;
    }
    return pmu->escr[msr - MSR_NETBURST_ESCR0 + in_second_pair(counter)];
}

static void prepare(Perfmon *pmu)
{
    uint64_t *mask = pmu->mask;

    pmu->num_present[PERFMON_PRESENT_IQ_ESCRS] =
        pmu->config.iq_escrs ? UINT8_MAX : 0;
    mask[PERFMON_MASK_CCCR] = CCCR_HELD;
    mask[PERFMON_MASK_ESCR] = ESCR_HELD;
    /* Which replays tag; bit 24: tagging is on.  There is no PEBS. */
    mask[PERFMON_MASK_PEBS_ENABLE] = 0x1001fff;
    mask[PERFMON_MASK_PEBS_MATRIX] = 0x1fff;
}

/* The selector: bits of CCCR and ESCR that say what, not whether, to count. */
#define SELECTING_CCCR \
    (7u << 13 | CCCR_COMPARE | CCCR_COMPLEMENT | 15u << 20 | CCCR_EDGE)
#define SELECTING_ESCR  0x7ffffff0u

/* Counter @index's selector, from those of its bits in @cccr and @escr. */
static NetburstSelector netburst_selector(const Perfmon *pmu, unsigned index,
                                          uint32_t cccr, uint32_t escr)
{
    return (NetburstSelector) {
        .group = group_of(index),
        .escr_select = CCCR_ESCR(cccr),
        .escr = escr,
        .compare = cccr & CCCR_COMPARE,
        .complement = cccr & CCCR_COMPLEMENT,
        .edge = cccr & CCCR_EDGE,
        .threshold = CCCR_THRESHOLD(cccr),
        .pebs_enable = pmu->pebs_enable,
        .pebs_matrix_vert = pmu->pebs_matrix_vert,
    };
}

static PerfmonControl control(const Perfmon *pmu, unsigned index)
{
    uint32_t cccr = pmu->evtsel[index];
    uint32_t escr = selected_escr(pmu, index, cccr);
    NetburstSelector netburst = netburst_selector(pmu, index, cccr, escr);
    bool all = pmu_netburst_counts_each_cycle(&netburst);
    bool second = pmu->config.second_thread;

    return (PerfmonControl) {
        .selector = (cccr & SELECTING_CCCR) |
                    (uint64_t)(escr & SELECTING_ESCR) << 32,
        .enabled = cccr & CCCR_ENABLE && cccr & CCCR_ACTIVE_SINGLE,
        .os = all || escr & (second ? ESCR_T1_OS : ESCR_T0_OS),
        .usr = all || escr & (second ? ESCR_T1_USR : ESCR_T0_USR),
        .interrupt = cccr & interrupt_bit(pmu),
        .every_increment = cccr & CCCR_FORCE_OVF,
        .cascades = cascades(pmu, index),
    };
}

static void select_event(Perfmon *pmu, unsigned index, uint64_t selector)
{
    NetburstSelector netburst = netburst_selector(pmu, index, selector,
                                                  selector >> 32);

    pmu_event_select_netburst(&pmu->selected[index], &netburst);
}

/* A counter with CASCADE begins when the counter in cascade overflows. */
static void overflowed(Perfmon *pmu, unsigned index)
{
    pmu->evtsel[index] |= CCCR_OVF;
    if (cascades(pmu, index)) {
        pmu->evtsel[cascade_of(index)] |= CCCR_ENABLE;
        perfmon_select(pmu, false);
    }
}

bool perfmon_netburst_pmi_asserted(const Perfmon *pmu)
{
    for (unsigned i = 0; i < pmu->config.num_gp; i++) {
        uint32_t cccr = pmu->evtsel[i];

        if (cccr & CCCR_OVF && cccr & interrupt_bit(pmu)) {
            return true;
        }
    }
    return false;
}

/* ECX[31] asks for the low 32 bits alone, which takes less time. */
static int rdpmc(const Perfmon *pmu, uint32_t ecx, uint64_t *mask)
{
    uint32_t index = ecx & 0x7fffffff;

    *mask = index == ecx ? UINT64_MAX : UINT32_MAX;
    return index < pmu->config.num_gp ? (int)index : -1;
}

const PerfmonRegisterMap perfmon_map_netburst = {
    .name = "NetBurst",
    .rows = rows, .num_rows = G_N_ELEMENTS(rows),
    .counter_name = "MSR_COUNTER",
    .max_gp = COUNTERS, .counter_width = 40,
    .masks_lvt = true, .misc_enable = true,
    .prepare = prepare,
    .control = control,
    .select = select_event,
    .overflowed = overflowed,
    .rdpmc = rdpmc,
};
