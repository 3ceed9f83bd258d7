/*
 * Register maps: which MSRs the PMUs of a vendor's processors have, and what
 * their bits mean to a counter.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A map is data where PMUs differ in addresses, widths and rules, and a
 * function where they differ in how a counter is controlled.
 */

#ifndef TARGET_I386_PMU_PERFMON_REGISTER_MAP_H
#define TARGET_I386_PMU_PERFMON_REGISTER_MAP_H

#include <stddef.h>

#include "tcg/pmu/perfmon/perfmon-state.h"

typedef enum PerfmonWrite {
    PERFMON_WRITE_REFUSED,      /* read-only: every write raises #GP */
    PERFMON_WRITE_NOT_STORED,   /* only .written sees it, if there is one */
    PERFMON_WRITE_STORE,
    PERFMON_WRITE_SIGN_EXTEND,  /* EAX, sign-extended; EDX does not count */
    PERFMON_WRITE_CLEAR,        /* ones clear bits */
    PERFMON_WRITE_SET,          /* ones set bits */
} PerfmonWrite;

/* No register of its own stands behind the row. */
#define PERFMON_NOT_STORED SIZE_MAX

typedef struct PerfmonMsr {
    const char *name;           /* the vendor's; the number follows if
                                   count > 1 */
    uint32_t first;
    uint8_t count;              /* registers that belong to the row */
    uint8_t step;               /* between their addresses; 0: 1 */
    uint8_t present;            /* PerfmonPresence: the rest raises #GP */
    uint8_t write;              /* PerfmonWrite */
    uint8_t writable;           /* PerfmonMask: other bits raise #GP */
    uint8_t holds;              /* PerfmonMask: other bits do not stick */
    uint8_t reset;              /* PerfmonMask that is the RESET value */
    size_t stored;              /* offset of a uint64_t[count] in Perfmon */
    bool reads_zero;
    /* Not this unit's where the uncore has registers here: Perfmon.uncore. */
    bool uncore;
    /* What RDMSR returns if it is not zero; NULL: what is stored. */
    uint64_t (*read)(const Perfmon *pmu);
    /* After the write proper: what else @value does. */
    void (*written)(Perfmon *pmu, unsigned index, uint64_t value);
} PerfmonMsr;

/*
 * Addresses at which larger units have registers of this kind, and this one has
 * nothing: silicon and KVM raise #GP, where QEMU reads zero of an MSR that it
 * does not know.  Drivers take the number of counters from CPUID and do not go
 * there.
 */
#define PERFMON_ABSENT(first_, count_, ...)                             \
    {                                                                   \
        .name = "(absent)", .first = (first_), .count = (count_),       \
        .present = PERFMON_PRESENT_NOWHERE,                             \
        .write = PERFMON_WRITE_REFUSED, .stored = PERFMON_NOT_STORED,   \
        __VA_ARGS__                                                     \
    }

typedef struct PerfmonRegisterMap {
    const char *name;           /* as users know the PMUs that have it */
    const PerfmonMsr *rows;     /* by address */
    unsigned num_rows;
    const char *counter_name;   /* of general-purpose ones; a number follows */
    unsigned first_counter;     /* that number, of the first one */
    unsigned max_gp;            /* general-purpose counters at most */
    unsigned counter_width;     /* bits, where the configuration says 0 */
    /* The LVT entry of the local APIC is masked when a PMI is delivered. */
    bool masks_lvt;
    /* IA32_MISC_ENABLE[7] says that there is a PMU. */
    bool misc_enable;

    /* Set masks and populations that this map has of its own. */
    void (*prepare)(Perfmon *pmu);
    PerfmonControl (*control)(const Perfmon *pmu, unsigned index);
    /* Let @pmu->selected[@index] be what @selector says. */
    void (*select)(Perfmon *pmu, unsigned index, uint64_t selector);
    /* Counter @index overflowed.  NULL: nothing more happens. */
    void (*overflowed)(Perfmon *pmu, unsigned index);
    /*
     * The counter that RDPMC reads for @ecx, general-purpose ones first; -1:
     * it raises #GP.  *@mask: bits of its value that are returned.
     */
    int (*rdpmc)(const Perfmon *pmu, uint32_t ecx, uint64_t *mask);
} PerfmonRegisterMap;

extern const PerfmonRegisterMap perfmon_map_architectural;
extern const PerfmonRegisterMap perfmon_map_p6;
extern const PerfmonRegisterMap perfmon_map_amd;
extern const PerfmonRegisterMap perfmon_map_netburst;
extern const PerfmonRegisterMap perfmon_map_p5;
extern const PerfmonRegisterMap perfmon_map_c3;

/* The map that a configuration names. */
const PerfmonRegisterMap *perfmon_register_map(PerfmonMap map);

/* The registers of a row: @name, and a number behind it if @count > 1. */
typedef struct PerfmonMsrRange {
    const char *name;
    uint32_t first;
    unsigned count;
    unsigned step;              /* between their addresses */
} PerfmonMsrRange;

/* Row @index of @map, for dumps and tests.  False past the end. */
bool perfmon_map_row(const PerfmonRegisterMap *map, unsigned index,
                     PerfmonMsrRange *range);

/*
 * What maps have in common.
 */

/* PerfmonRegisterMap.control of counters with a PERFEVTSELx or its like. */
PerfmonControl perfmon_evtsel_control(const Perfmon *pmu, unsigned index);

/* PerfmonRegisterMap.select of these. */
void perfmon_evtsel_select(Perfmon *pmu, unsigned index, uint64_t selector);

/* PerfmonRegisterMap.rdpmc where ECX is a counter's number. */
int perfmon_plain_rdpmc(const Perfmon *pmu, uint32_t ecx, uint64_t *mask);

#endif
