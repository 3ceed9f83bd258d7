/*
 * Register maps: which MSRs the PMUs of a family of processors have, and what
 * their bits mean to a counter.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A map has tables where PMUs differ in addresses, widths and rules, and
 * functions where they differ in how a counter is controlled.
 */

#ifndef TARGET_I386_PMU_PERFMON_REGISTER_MAP_H
#define TARGET_I386_PMU_PERFMON_REGISTER_MAP_H

#include <stddef.h>

#include "tcg/pmu/perfmon/perfmon-state.h"

/* What WRMSR does to a register. */
typedef enum PerfmonWrite {
    PERFMON_WRITE_REFUSED,      /* read-only: every write raises #GP */
    PERFMON_WRITE_NOT_STORED,   /* only .written sees the value, if set */
    PERFMON_WRITE_STORE,
    PERFMON_WRITE_SIGN_EXTEND,  /* EAX, sign-extended; EDX is ignored */
    PERFMON_WRITE_CLEAR,        /* ones clear bits */
    PERFMON_WRITE_SET,          /* ones set bits */
} PerfmonWrite;

/* PerfmonMsr.stored of a row without a field in Perfmon. */
#define PERFMON_NOT_STORED SIZE_MAX

/* A row of a map: a range of registers of one kind. */
typedef struct PerfmonMsr {
    const char *name;           /* the vendor's; the number follows if
                                   count > 1 */
    uint32_t first;
    uint8_t count;              /* registers, if the unit has them all */
    uint8_t step;               /* between their addresses; 0 means 1 */
    uint8_t present;            /* PerfmonPresence; others raise #GP */
    uint8_t write;              /* PerfmonWrite */
    uint8_t writable;           /* PerfmonMask: other bits raise #GP */
    uint8_t holds;              /* PerfmonMask: other bits do not stick */
    uint8_t reset;              /* PerfmonMask that is the RESET value */
    size_t stored;              /* offset of a uint64_t[count] in Perfmon */
    bool reads_zero;
    /* Not this unit's if the uncore has registers here: Perfmon.uncore. */
    bool uncore;
    /* What RDMSR returns, unless .reads_zero; NULL: the stored value. */
    uint64_t (*read)(const Perfmon *pmu);
    /* What else a write of @value to register @index does, after storing. */
    void (*written)(Perfmon *pmu, unsigned index, uint64_t value);
} PerfmonMsr;

/*
 * Addresses at which larger units have such registers, and this one has none.
 * Accesses raise #GP, as with silicon and KVM; otherwise QEMU would read zero,
 * as of any MSR that it does not know.  Drivers take the number of counters
 * from CPUID and do not access these.
 */
#define PERFMON_ABSENT(first_, count_, ...)                             \
    {                                                                   \
        .name = "(absent)", .first = (first_), .count = (count_),       \
        .present = PERFMON_PRESENT_NOWHERE,                             \
        .write = PERFMON_WRITE_REFUSED, .stored = PERFMON_NOT_STORED,   \
        __VA_ARGS__                                                     \
    }

/* A register map.  @index is the number of a general-purpose counter. */
typedef struct PerfmonRegisterMap {
    const char *name;           /* of the PMUs that have it, for users */
    const PerfmonMsr *rows;     /* by address */
    unsigned num_rows;
    const char *counter_name;   /* of general-purpose ones; a number follows */
    unsigned first_counter;     /* that number, of the first one */
    unsigned max_gp;            /* general-purpose counters at most */
    unsigned counter_width;     /* bits, where the configuration says 0 */
    /* The local APIC masks its LVT entry when it delivers a PMI. */
    bool masks_lvt;
    /* IA32_MISC_ENABLE[7] says that there is a PMU. */
    bool misc_enable;

    /* Set the masks and @num_present that this map alone has; may be NULL. */
    void (*prepare)(Perfmon *pmu);
    /* What the registers say about counter @index. */
    PerfmonControl (*control)(const Perfmon *pmu, unsigned index);
    /* Set @pmu->selected[@index] to what @selector says. */
    void (*select)(Perfmon *pmu, unsigned index, uint64_t selector);
    /* Change registers after counter @index overflowed; may be NULL. */
    void (*overflowed)(Perfmon *pmu, unsigned index);
    /*
     * The counter that RDPMC reads for @ecx, general-purpose ones first, or -1:
     * RDPMC raises #GP.  *@mask: the bits of its value that RDPMC returns.
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

/* The registers of a row: @name, followed by a number if @count > 1. */
typedef struct PerfmonMsrRange {
    const char *name;
    uint32_t first;
    unsigned count;
    unsigned step;              /* between their addresses */
} PerfmonMsrRange;

/* Describe row @index of @map, for dumps and tests.  False past the end. */
bool perfmon_map_row(const PerfmonRegisterMap *map, unsigned index,
                     PerfmonMsrRange *range);

/*
 * What maps have in common.
 */

/* PerfmonRegisterMap.control for counters with a PERFEVTSELx or the like. */
PerfmonControl perfmon_evtsel_control(const Perfmon *pmu, unsigned index);

/* PerfmonRegisterMap.select for these. */
void perfmon_evtsel_select(Perfmon *pmu, unsigned index, uint64_t selector);

/* PerfmonRegisterMap.rdpmc if ECX is the number of a counter. */
int perfmon_plain_rdpmc(const Perfmon *pmu, uint32_t ecx, uint64_t *mask);

#endif
