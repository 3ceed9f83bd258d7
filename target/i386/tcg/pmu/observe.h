/*
 * What happens to executed blocks, told without any time.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Run time, below the line: plain C.  Caches, TLBs, predictors and fetch see
 * instructions in program order.  For the pipeline they say what became of
 * each access and each block (PmuOutcome).
 */

#ifndef TARGET_I386_PMU_OBSERVE_H
#define TARGET_I386_PMU_OBSERVE_H

#include "bpred.h"
#include "fetch.h"
#include "memory.h"
#include "outcome.h"

typedef struct PmuObserver {
    PmuKnown known;             /* so far */
    PmuLedger *ledger;
    PmuBpred *bpred;
    uint64_t store_line;        /* that the newest store went to */
    PmuFetcher fetcher;
    PmuMemory mem;
    PmuOutcome outcome;         /* of what was observed in full last */
} PmuObserver;

/*
 * Cold caches and untrained predictors.  It counts in @ledger what they know:
 * misses of caches and predictors.  @l3, @translate and
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

/*
 * The same where nobody asks what happened to their data: @o->outcome tells of
 * fetch and the branch alone.
 */
unsigned pmu_observe_fetch(PmuObserver *o, const PmuBlock *block,
                           unsigned first, unsigned last,
                           const PmuDynamic *dynamic);

/* The same for a REP string instruction @index: its fetch alone. */
void pmu_observe_string(PmuObserver *o, const PmuBlock *block,
                        unsigned index, uint64_t pc);

/*
 * Some code runs that is not observed, but for its branches and those of its
 * data accesses that pmu_memory_hit() does not know.  What was being fetched is
 * not known behind it.  pmu_observe_data() returns the cycles that a load
 * waits, pmu_observe_branch() whether the last instruction of @block, which is
 * a branch and ran, was mispredicted.  pmu_observe_known_branch() is the same
 * for a block that has a number, and finds its course: pmu_bpred_courses().
 */
void pmu_observer_skip(PmuObserver *o);
bool pmu_observe_branch(PmuObserver *o, const PmuBlock *block,
                        const PmuDynamic *dynamic);
bool pmu_observe_known_branch(PmuObserver *o, const PmuBlock *block,
                              const PmuDynamic *dynamic);
uint32_t pmu_observe_data(PmuObserver *o, const PmuBlockAccess *kind,
                          uint64_t addr);

/*
 * The lines of code of a stretch are fetched that is @length bytes long and
 * begins at linear address @pc, physical address @phys; it is not observed
 * otherwise.  It ends where its page does, whatever @length says: an SMI or a
 * #VMEXIT, of which nobody tells, can have left it in its middle, and gone on
 * anywhere.
 */
void pmu_observe_lines(PmuObserver *o, uint64_t pc, uint64_t phys,
                       uint64_t length);

/* What was observed so far of lines of code, since the ledger was cleared. */
PmuCodeMisses pmu_observed_code(const PmuObserver *o);

/* Some code ran that was not observed at all. */
void pmu_observer_miss(PmuObserver *o);

/*
 * What ran meanwhile, in any order: @lines lines of code from physical address
 * / 64 @line on; code at linear address @pc, in a @large page or not; a taken
 * branch there that fetch could have known.
 */
void pmu_observe_code(PmuObserver *o, uint64_t line, unsigned lines);
void pmu_observe_page(PmuObserver *o, uint64_t pc, uint64_t line, bool large);
void pmu_observe_taken(PmuObserver *o, uint64_t pc);

/* Is code at linear address @pc, which was just fetched, in a large page? */
bool pmu_observed_large(const PmuObserver *o, uint64_t pc);

#endif
