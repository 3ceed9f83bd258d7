/*
 * What happens to executed blocks, told without any time.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Run time, below the line: plain C.  Caches, TLBs, predictors and fetch see
 * every instruction, in program order.  For the pipeline they say what became
 * of each access (PmuOutcome); where a known cost stands for the pipeline, a
 * few marks are enough (PmuMarks).  Which of the two is asked for changes
 * nothing of what happens.
 */

#ifndef TARGET_I386_PMU_OBSERVE_H
#define TARGET_I386_PMU_OBSERVE_H

#include "bpred.h"
#include "fetch.h"
#include "memory.h"
#include "outcome.h"

/* What can happen that takes time; two bits each, so that three is many. */
typedef enum PmuMark {
    PMU_MARK_L2,                /* data found there */
    PMU_MARK_PREFETCH,          /* ... and asked for not long before */
    PMU_MARK_L3,
    PMU_MARK_DRAM,
    PMU_MARK_STLB,              /* a hit there */
    PMU_MARK_WALK,              /* a page walk */
    PMU_MARK_SPLIT,             /* an access to two lines */
    PMU_MARK_LEGACY,            /* code that is not in the DSB */
    PMU_MARK_CODE_L2,           /* code found there */
    PMU_MARK_CODE_L3,
    PMU_MARK_CODE_DRAM,
    PMU_MARK_CODE_TLB,          /* code that is not in the ITLB */
    PMU_MARK_MISPREDICT,
    PMU_MARK_RESTEER,           /* a taken branch that fetch did not know */
    PMU_MARK_INTERRUPT,         /* one was just taken */
    PMU_MARK_AFTER_L3,          /* data came from there not long before */
    PMU_MARK_AFTER_DRAM,
    PMU_MARK_SMC,               /* a store to code that fetch had */
    PMU_MARK_NR
} PmuMark;

typedef uint64_t PmuMarks;

G_STATIC_ASSERT(2 * PMU_MARK_NR <= 8 * sizeof(PmuMarks));

static inline void pmu_mark(PmuMarks *marks, PmuMark mark)
{
    if ((*marks >> 2 * mark & 3) < 3) {
        *marks += 1ull << 2 * mark;
    }
}

static inline bool pmu_marked(PmuMarks marks, PmuMark mark)
{
    return marks >> 2 * mark & 3;
}

/* Any miss of code beyond the DSB and L1I: seldom, and never for long. */
static inline bool pmu_marked_code(PmuMarks marks)
{
    return marks & (3ull << 2 * PMU_MARK_CODE_L2 |
                    3ull << 2 * PMU_MARK_CODE_L3 |
                    3ull << 2 * PMU_MARK_CODE_DRAM |
                    3ull << 2 * PMU_MARK_CODE_TLB);
}

typedef struct PmuObserver {
    PmuMarks marks;             /* since its owner cleared it */
    PmuLedger *ledger;
    PmuBpred *bpred;
    uint64_t store_line;        /* that the newest store went to */
    PmuFetcher fetcher;
    PmuMemory mem;
    PmuOutcome outcome;         /* of what was observed in full last */
} PmuObserver;

/*
 * Cold caches and untrained predictors.  It counts in @ledger what they know:
 * misses of caches and predictors and taken branches.  @l3, @translate and
 * @opaque: see pmu_memory_init().  False if memory runs out.
 */
bool pmu_observer_init(PmuObserver *o, const PmuUarch *uarch,
                       PmuLedger *ledger, PmuL3 *l3, PmuTranslate translate,
                       void *opaque);
void pmu_observer_destroy(PmuObserver *o);
void pmu_observer_reset(PmuObserver *o);

/* An interrupt or exception was taken. */
void pmu_observe_interrupt(PmuObserver *o);

/*
 * The machine is cleared: the newest instruction stored to code that fetch
 * had, and what is behind it is fetched again.  For string instructions, whose
 * accesses are not observed here.
 */
void pmu_observe_clear(PmuObserver *o);

/*
 * Instructions [@first, @last) of @block ran, none of them a REP string
 * instruction.  Returns how far they were observed, above @first and at most
 * @last: behind an instruction that clears the machine there is more to come,
 * in another call.  What happened to them is in @o->outcome, if that is asked
 * for.
 */
unsigned pmu_observe(PmuObserver *o, const PmuBlock *block,
                     unsigned first, unsigned last, const PmuDynamic *dynamic);

/* The same for a REP string instruction @index: its fetch alone. */
void pmu_observe_string(PmuObserver *o, const PmuBlock *block,
                        unsigned index, uint64_t pc);

/*
 * Nobody asks for outcomes: all of @block ran, which has no REP string
 * instruction.  Hot: what most blocks do is done here, and the rest by the
 * functions before it.
 *
 * pmu_observe_brief_access() returns whether the machine is cleared; then
 * pmu_observe_brief_clear() does what is left of the block behind that access,
 * @i.  pmu_observe_brief_segment() returns the next access, @i or behind the
 * segment's, or PMU_NO_ACCESS: it did what is left.
 */
bool pmu_observe_brief_access(PmuObserver *o, const PmuBlockAccess *kind,
                              uint64_t addr);
void pmu_observe_brief_clear(PmuObserver *o, const PmuBlock *block,
                             unsigned i, const PmuDynamic *dynamic);
unsigned pmu_observe_brief_segment(PmuObserver *o, const PmuBlock *block,
                                   unsigned n, unsigned i,
                                   const PmuDynamic *dynamic);
void pmu_observe_brief_branch(PmuObserver *o, const PmuBlock *block,
                              const PmuDynamic *dynamic);

static inline void pmu_observe_briefly(PmuObserver *o, const PmuBlock *block,
                                       const PmuDynamic *dynamic)
{
    uint64_t pc = dynamic->pc + block->last_offset;
    unsigned n = 0, i = 0, end;

    do {
        if (G_UNLIKELY(!pmu_fetcher_hit(&o->fetcher, block, n,
                                        dynamic->pc))) {
            i = pmu_observe_brief_segment(o, block, n, i, dynamic);
            if (i == PMU_NO_ACCESS) {
                return;
            }
        }
        end = ++n == block->num_segments ? block->num_accesses
                                         : block->segments[n].first_access;
        for (; i < end; i++) {
            const PmuBlockAccess *kind = &block->accesses[i];

            if (G_UNLIKELY(!pmu_memory_hit(&o->mem, dynamic->addr[i],
                                           kind->size)) &&
                G_UNLIKELY(pmu_observe_brief_access(o, kind,
                                                    dynamic->addr[i]))) {
                pmu_observe_brief_clear(o, block, i, dynamic);
                return;
            }
        }
    } while (n < block->num_segments);
    o->fetcher.fuse = block->fuse_next;
    if (G_LIKELY(block->branch == PMU_BRANCH_COND &&
                 pmu_bpred_easy(o->bpred, pc, dynamic->taken))) {
        pmu_ledger_event(o->ledger, PMU_ITEM_BRANCHES_TAKEN, dynamic->taken);
        if (dynamic->taken) {
            pmu_fetcher_jump(&o->fetcher);
        }
    } else if (block->branch != PMU_BRANCH_NONE) {
        pmu_observe_brief_branch(o, block, dynamic);
    }
}

/* Whether outcomes are asked for from now on; at first they are. */
void pmu_observer_set_watched(PmuObserver *o, bool watched);

#endif
