/*
 * The functional model: caches, TLBs, predictors and fetch, without any time.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * These units see instructions in program order.  They tell the pipeline what
 * happened to each access and each block (PmuOutcome).
 */

#ifndef TARGET_I386_PMU_SAMPLING_FUNCTIONAL_MODEL_H
#define TARGET_I386_PMU_SAMPLING_FUNCTIONAL_MODEL_H

#include "tcg/pmu/frontend/frontend.h"
#include "tcg/pmu/memory/memory.h"
#include "tcg/pmu/memory/outcome.h"
#include "tcg/pmu/sampling/covariates.h"

typedef struct PmuFunctionalModel {
    PmuCovariates covariates;   /* totals so far */
    PmuLedger *ledger;          /* not owned; see pmu_functional_init() */
    PmuBranchPredictor *bpred;
    PmuBranchHistory *history;  /* that of @bpred, not owned */
    PmuDirectionPredictor *direction;   /* ... likewise */
    uint64_t store_line;        /* of the newest store: linear address / 64 */
    uint64_t code_line;         /* that pmu_functional_fetch_lines() fetched
                                   last: physical address / 64 */
    PmuFetchUnit fetcher;
    PmuMemory mem;
    PmuOutcome outcome;         /* of the newest part that was observed */
} PmuFunctionalModel;

/*
 * Initialise @o with cold caches and untrained predictors.  It counts their
 * accesses and misses in @ledger.  @l3, @translate and @opaque: see
 * pmu_memory_init().  Returns false if memory runs out.
 */
bool pmu_functional_init(PmuFunctionalModel *o, const PmuUarch *uarch,
                         PmuLedger *ledger, PmuL3 *l3, PmuTranslate translate,
                         void *opaque);
void pmu_functional_destroy(PmuFunctionalModel *o);

/* Make @o cold again, but for an L3 that came from the caller. */
void pmu_functional_reset(PmuFunctionalModel *o);

/* An interrupt or exception was taken. */
void pmu_functional_interrupt(PmuFunctionalModel *o);

/*
 * A string instruction clears the machine: it stored to code that fetch had,
 * and what is behind it is fetched again.  For other instructions
 * pmu_functional_run() does so, but it does not see the accesses of strings.
 */
void pmu_functional_machine_clear(PmuFunctionalModel *o);

/*
 * Instructions [@first, @last) of @block ran, none of them a REP string
 * instruction.  Returns the index behind the last one that was observed: above
 * @first, and below @last if that one clears the machine; the caller passes the
 * others in another call.  What happened to them is in @o->outcome.
 */
unsigned pmu_functional_run(PmuFunctionalModel *o, const PmuBlock *block,
                            unsigned first, unsigned last,
                            const PmuExecution *dynamic);

/*
 * The same without what happened to their data accesses: @o->outcome tells of
 * fetch and the branch alone.
 */
unsigned pmu_functional_run_fetch(PmuFunctionalModel *o, const PmuBlock *block,
                                  unsigned first, unsigned last,
                                  const PmuExecution *dynamic);

/* Fetch REP string instruction @index of @block, which is at @pc. */
void pmu_functional_fetch_string(PmuFunctionalModel *o, const PmuBlock *block,
                                 unsigned index, uint64_t pc);

/*
 * pmu_functional_skip(): code follows of which the functional model sees only
 * branches, and data accesses for which pmu_memory_hit() is false.  What fetch
 * and store forwarding knew is void then.
 *
 * pmu_functional_warm_branch(): @block ran, and ends with a branch.  Returns
 * whether that was mispredicted.
 *
 * pmu_functional_warm_data(): there was a data access of @kind at @addr.
 * Returns the cycles that loads waited for it.
 */
void pmu_functional_skip(PmuFunctionalModel *o);
bool pmu_functional_warm_branch(PmuFunctionalModel *o, const PmuBlock *block,
                                const PmuExecution *dynamic);
uint32_t pmu_functional_warm_data(PmuFunctionalModel *o,
                                  const PmuBlockAccess *kind, uint64_t addr);

/* Add the branch that ends @block to the history, if it is taken.  Hot. */
static inline void pmu_functional_add_branch(PmuFunctionalModel *o,
                                             const PmuBlock *block,
                                             const PmuExecution *dynamic)
{
    if (block->branch == PMU_BRANCH_COND ? dynamic->taken
                                         : block->branch != PMU_BRANCH_NONE) {
        pmu_branch_history_add(o->history, dynamic->target);
    }
}

/*
 * The same as pmu_functional_warm_branch(), but @block need not end with a
 * branch.  Hot: most branches are conditional and have always gone the same
 * way.  @dynamic is not passed on, so that it may be in registers.
 */
static inline bool pmu_functional_warm_end(PmuFunctionalModel *o,
                                           const PmuBlock *block,
                                           const PmuExecution *dynamic)
{
    bool hit;

    if (block->branch == PMU_BRANCH_NONE) {
        return false;
    }
    if (block->branch != PMU_BRANCH_COND) {
        return pmu_functional_warm_branch(o, block, &(PmuExecution) {
            .pc = dynamic->pc, .target = dynamic->target,
            .taken = dynamic->taken,
        });
    }
    hit = pmu_direction_predictor_predict(o->direction,
                                          dynamic->pc + block->last_offset,
                                          dynamic->taken);
    if (dynamic->taken) {
        pmu_branch_history_add(o->history, dynamic->target);
    }
    o->covariates.n[PMU_COVARIATE_MISPREDICTS] += !hit;
    return !hit;
}

/*
 * Fetch the lines of a region that is not observed otherwise.  It begins at
 * linear address @pc, physical address @phys, and is @length bytes long.  Only
 * its lines up to the end of the page are fetched, whatever @length says: an
 * SMI or a #VMEXIT, of which the model is not told, can have left the region in
 * its middle, and execution can have gone on anywhere.
 */
void pmu_functional_fetch_lines(PmuFunctionalModel *o, uint64_t pc,
                                uint64_t phys, uint64_t length);

/* The same, but not if all of it is in the line that was fetched last. */
static inline void pmu_functional_warm_lines(PmuFunctionalModel *o, uint64_t pc,
                                             uint64_t phys, uint64_t length)
{
    uint64_t line = phys >> PMU_LINE_SHIFT;

    if (line != o->code_line ||
        (phys + length - 1) >> PMU_LINE_SHIFT != line) {
        pmu_functional_fetch_lines(o, pc, phys, length);
    }
}

/* Returns the misses of code that are in @o->ledger. */
PmuCodeMisses pmu_functional_code_misses(const PmuFunctionalModel *o);

/* Some code ran of which the functional model saw nothing at all. */
void pmu_functional_skip_all(PmuFunctionalModel *o);

#endif
