/*
 * Compact arrays of cache lines: L2, and the L3 that the vCPUs share.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Run time, below the line: plain C.  The policy is that of cache.h.  A tag
 * has 32 bits, a hash of the line; in 2^32 / ways accesses to lines that are
 * not there, one finds another's tag.
 *
 * Several threads may use an array at once.  They take no lock: when two
 * write to a set at the same time, a line or a mark may be lost, and that is
 * all.  One thread alone gets the same results each time.
 */

#ifndef TARGET_I386_PMU_LINES_H
#define TARGET_I386_PMU_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "snoop.h"
#include "uarch.h"

#define PMU_LINES_MAX_WAYS 24

typedef struct PmuLines {
    /*
     * A set is a word, bits 0 to 23: ways that were used, bits 24 to 31: way
     * where the next victim is sought, and then the tags, 0 is empty; of an L3
     * then a byte for each way: who asked for the line last, see PmuUser.
     */
    uint32_t *words;
    void *memory;               /* that they are in */
    uint32_t sets, ways;
    uint32_t set_words;         /* from set to set */
    uint32_t set_mask;          /* sets - 1, or 0: they are chosen by hash */
    uint32_t run_shift;         /* ... of so many low bits less: see lines.c */
} PmuLines;

/*
 * An empty array with the size and associativity of @geometry: 1 to
 * PMU_LINES_MAX_WAYS ways and any number of sets, 1 to 2^31.  If it is a power
 * of 2 and not @hashed, the low bits of a line choose its set.  False if
 * memory runs out.
 */
bool pmu_lines_init(PmuLines *lines, const PmuCacheGeometry *geometry,
                    bool hashed);
void pmu_lines_destroy(PmuLines *lines);

/* Forget every line. */
void pmu_lines_clear(PmuLines *lines);

/* @line will be looked for soon: the host may fetch its set meanwhile. */
void pmu_lines_expect(const PmuLines *lines, uint64_t line);

/*
 * Is @line, any number, present?  In either case it is from now on, marked as
 * used.
 */
bool pmu_lines_access(PmuLines *lines, uint64_t line);

/*
 * A vCPU that shares an L3, 1 to PMU_USER_MAX; 0 is none.  Beside each line
 * stands who asked for it last.  That vCPU is supposed to have it, alone unless
 * it is shared, and to have written to it if it asked for that (MESI: Sweazey
 * and Smith, "A class of compatible cache consistency protocols", 1986).
 */
typedef uint8_t PmuUser;

#define PMU_USER_MAX    63
#define PMU_USER_SHARED 64      /* beside the number: others may have it, too */
#define PMU_USER_WRITES 128     /* ... it has been written to */

/* All but the one who asks. */
#define PMU_USER_OTHERS PMU_USER_SHARED

typedef enum PmuFound {
    PMU_FOUND_NOT,
    PMU_FOUND_ALONE,            /* nobody else has to be asked */
    PMU_FOUND_SHARED,           /* somebody else has it */
    PMU_FOUND_MODIFIED,         /* ... and has written to it */
} PmuFound;

/*
 * As pmu_lines_access(), of an L3, for @user, who will write to @line or not.
 * *@asked is who has to be told of it, PMU_USER_OTHERS or 0 for nobody.
 */
PmuFound pmu_lines_access_by(PmuLines *lines, uint64_t line, PmuUser user,
                             bool write, PmuUser *asked);

/*
 * @user, who has @line, writes to it.  May it do so without asking anybody?
 * Then it has written to it.
 */
bool pmu_lines_claim(PmuLines *lines, uint64_t line, PmuUser user);

/*
 * Is @line present?  If not, it is from now on, but not marked as used; if so,
 * nothing changes.
 */
bool pmu_lines_prefetch(PmuLines *lines, uint64_t line);

/* Was @line present?  It is not from now on. */
bool pmu_lines_remove(PmuLines *lines, uint64_t line);

/* The L3 of a machine. */
typedef struct PmuL3 PmuL3;

/* An empty one, with one reference; NULL if memory runs out. */
PmuL3 *pmu_l3_new(const PmuUarch *uarch);
PmuL3 *pmu_l3_ref(PmuL3 *l3);

/* The last one frees it.  NULL is allowed. */
void pmu_l3_unref(PmuL3 *l3);

PmuLines *pmu_l3_lines(PmuL3 *l3);

/* A number for another vCPU that shares it; they repeat if there are many. */
PmuUser pmu_l3_user(PmuL3 *l3);

/* Is there more than one? */
bool pmu_l3_is_shared(const PmuL3 *l3);

/* What others have to tell @user. */
PmuInbox *pmu_l3_inbox(PmuL3 *l3, PmuUser user);

/* @user asked for the line of @snoop: tell @asked, see pmu_lines_access_by() */
void pmu_l3_tell(PmuL3 *l3, PmuUser user, PmuUser asked, PmuSnoop snoop);

#endif
