/*
 * Messages between vCPUs that share an L3: what one's accesses do to lines
 * that another one has.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Run time, below the line: plain C.  A vCPU's caches belong to its thread, so
 * that others leave word in its inbox.  Nobody waits nor takes a lock: of two
 * messages in the same place the newer one remains, and the other vCPU keeps a
 * line that it should have lost until that leaves its caches by itself.
 */

#ifndef TARGET_I386_PMU_SNOOP_H
#define TARGET_I386_PMU_SNOOP_H

#include <stdbool.h>
#include <stdint.h>

/* Places of an inbox, by a hash of the line: bits of a word. */
#define PMU_SNOOPS 64

typedef struct PmuInbox {
    uint64_t pending;           /* places that have something new */
    uint64_t place[PMU_SNOOPS]; /* PmuSnoop.line * 2 + PmuSnoop.write */
} PmuInbox;

/* Somebody else asked for physical line @line, physical address / 64. */
typedef struct PmuSnoop {
    uint64_t line;
    bool write;                 /* to write to it, else to read it */
} PmuSnoop;

/* From any thread. */
void pmu_inbox_put(PmuInbox *inbox, PmuSnoop snoop);

/* Is there something in it?  From its owner's thread, as is the next. */
static inline bool pmu_inbox_pending(const PmuInbox *inbox)
{
    return __atomic_load_n(&inbox->pending, __ATOMIC_RELAXED);
}

/* Take what is in it; returns how many they are. */
unsigned pmu_inbox_take(PmuInbox *inbox, PmuSnoop snoops[PMU_SNOOPS]);

#endif
