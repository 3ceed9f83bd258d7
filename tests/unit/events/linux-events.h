/*
 * The selectors that Linux's drivers program for generic events on older CPUs.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Source: arch/x86/events/intel/core.c, p6.c and amd/core.c of 6.12 and, where
 * they had others, of earlier versions: *_perfmon_event_map,
 * *_hw_cache_event_ids, and what intel_pmu_init() replaces in them.
 * OFFCORE_RESPONSE_0 (01B7H) and AMD's northbridge (E9H) are not modelled and
 * left out.  Each selector is listed once.
 */

#ifndef TESTS_UNIT_EVENTS_LINUX_EVENTS_H
#define TESTS_UNIT_EVENTS_LINUX_EVENTS_H

#include "tcg/pmu/events/events.h"

typedef struct LinuxCpu {
    const char *name;
    PmuCore core;
    uint32_t events[32];        /* 0 ends */
} LinuxCpu;

/* Counts the cycles in which the event does not happen. */
#define STALLED (PMU_EVENT_INV | PMU_EVENT_CMASK(1))

/* intel_perfmon_event_map */
#define INTEL_EVENTS 0x003c, 0x00c0, 0x4f2e, 0x412e, 0x00c4, 0x00c5, 0x013c

static const LinuxCpu linux_cpus[] = {
    { "core2", PMU_CORE_CORE, {
        INTEL_EVENTS, 0x0f40, 0x0140, 0x0f41, 0x0141, 0x104e, 0x0080, 0x0081,
        0x4f29, 0x4129, 0x4f2a, 0x412a, 0x0208, 0x0808, 0x1282,
    } },
    { "atom", PMU_CORE_BONNELL, {
        INTEL_EVENTS, 0x2140, 0x2240, 0x0380, 0x0280, 0x4f29, 0x4129, 0x4f2a,
        0x412a, 0x0508, 0x0608, 0x0282,
    } },
    { "nehalem", PMU_CORE_NEHALEM, {
        INTEL_EVENTS, 0x010e | STALLED, 0x3fb1 | STALLED, 0x010b, 0x0151,
        0x020b, 0x0251, 0x014e, 0x024e, 0x0380, 0x0280, 0x0f40, 0x0108, 0x0f41,
        0x010c, 0x01c0, 0x20c8, 0x03e8,
    } },
    { "nehalem, early kernels", PMU_CORE_NEHALEM, {
        0x0140, 0x0141,
    } },
    { "westmere", PMU_CORE_NEHALEM, {
        INTEL_EVENTS, 0x010e | STALLED, 0x3fb1 | STALLED, 0x010b, 0x0151,
        0x020b, 0x0251, 0x014e, 0x024e, 0x0380, 0x0280, 0x0108, 0x010c, 0x01c0,
        0x0185, 0x03e8,
    } },
    { "sandybridge", PMU_CORE_SANDYBRIDGE, {
        INTEL_EVENTS, 0x010e | STALLED, 0x01b1 | STALLED, 0xf1d0, 0x0151,
        0xf2d0, 0x0851, 0x024e, 0x0280, 0x81d0, 0x0108, 0x82d0, 0x0149, 0x1085,
        0x0185,
    } },
    { "ivybridge", PMU_CORE_SANDYBRIDGE, {
        INTEL_EVENTS, 0x010e | STALLED, 0xf1d0, 0x0151, 0xf2d0, 0x0851, 0x024e,
        0x0280, 0x81d0, 0x8108, 0x82d0, 0x0149, 0x1085, 0x0185,
    } },
    { "haswell, broadwell", PMU_CORE_HASWELL, {
        INTEL_EVENTS, 0x81d0, 0x0151, 0x82d0, 0x0280, 0x0108, 0x0149, 0x6085,
        0x0185,
    } },
    { "skylake", PMU_CORE_SKYLAKE, {
        INTEL_EVENTS, 0x81d0, 0x0151, 0x82d0, 0x0283, 0x0e08, 0x0e49, 0x2085,
        0x0e85,
    } },
    { "skylake, early kernels", PMU_CORE_SKYLAKE, {
        0x0608, 0x0649,
    } },
    /* amd_perfmon_event_map, amd_hw_cache_event_ids */
    { "k8", PMU_CORE_K8, {
        0x0076, 0x00c0, 0x077d, 0x077e, 0x00c2, 0x00c3, 0x00d0, 0x00d1, 0x0040,
        0x0141, 0x0267, 0x0080, 0x0081, 0x014b, 0x037d, 0x037e, 0x017f, 0x0746,
        0x0385,
    } },
    { "k10", PMU_CORE_K10, {
        0x0076, 0x00c0, 0x077d, 0x077e, 0x00c2, 0x00c3, 0x00d0, 0x00d1, 0x0040,
        0x0141, 0x0267, 0x0080, 0x0081, 0x014b, 0x037d, 0x037e, 0x017f, 0x0746,
        0x0385,
    } },
    { "bulldozer", PMU_CORE_BULLDOZER, {
        0x0076, 0x00c0, 0x077d, 0x077e, 0x00c2, 0x00c3, 0x00d0, 0x00d1, 0x0040,
        0x0141, 0x0267, 0x0080, 0x0081, 0x014b, 0x037d, 0x037e, 0x017f, 0x0746,
        0x0385,
    } },
    { "zen", PMU_CORE_ZEN, {
        0x0076, 0x00c0, 0xff60, 0x0964, 0x00c2, 0x00c3, 0x0287, 0x0187, 0x00a9,
        0x0040, 0xc860, 0xff5a, 0x0080, 0x0081, 0xff45, 0xf045, 0x0084, 0xff85,
    } },
};

/*
 * Counters that can count events @first to @last of a core with @counters
 * counters in all, where Linux says that not all can: intel_*_event_constraints
 * and amd_get_event_constraints_f15h().  Nehalem and Westmere are one core
 * here; what holds for one of them alone is left out.
 */
typedef struct LinuxConstraint {
    PmuCore core;
    unsigned counters;
    uint8_t first, last;
    uint8_t mask;
} LinuxConstraint;

static const LinuxConstraint linux_constraints[] = {
    { PMU_CORE_NEHALEM, 4, 0x51, 0x51, 0x03 },
    { PMU_CORE_BULLDOZER, 6, 0x43, 0x43, 0x07 },
    { PMU_CORE_BULLDOZER, 6, 0x45, 0x46, 0x07 },
    { PMU_CORE_BULLDOZER, 6, 0x60, 0x9f, 0x07 },
    { PMU_CORE_BULLDOZER, 6, 0xd0, 0xd3, 0x07 },
};

#endif
