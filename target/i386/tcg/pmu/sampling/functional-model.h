/*
 * What happens to executed blocks, told without any time.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Caches, TLBs, predictors and fetch see instructions in program order.  For
 * the pipeline they say what became of each access and each block (PmuOutcome).
 */

#ifndef TARGET_I386_PMU_SAMPLING_FUNCTIONAL_MODEL_H
#define TARGET_I386_PMU_SAMPLING_FUNCTIONAL_MODEL_H

#include "tcg/pmu/frontend/frontend.h"
#include "tcg/pmu/memory/memory.h"
#include "tcg/pmu/memory/outcome.h"
#include "tcg/pmu/sampling/covariates.h"

typedef struct PmuFunctionalModel {
    PmuCovariates covariates;   /* so far */
    PmuLedger *ledger;
    PmuBranchPredictor *bpred;
    PmuBranchHistory *history;  /* that @bpred looks up by */
    PmuDirectionPredictor *direction;   /* of @bpred */
    uint64_t store_line;        /* that the newest store went to */
    PmuFetchUnit fetcher;
    PmuMemory mem;
    PmuOutcome outcome;         /* of what was observed in full last */
} PmuFunctionalModel;

/*
 * Cold caches and untrained predictors.  It counts in @ledger what they know:
 * misses of caches and predictors.  @l3, @translate and
 * @opaque: see pmu_memory_init().  False if memory runs out.
 */
bool pmu_functional_init(PmuFunctionalModel *o, const PmuUarch *uarch,
                         PmuLedger *ledger, PmuL3 *l3, PmuTranslate translate,
                         void *opaque);
void pmu_functional_destroy(PmuFunctionalModel *o);
void pmu_functional_reset(PmuFunctionalModel *o);

/* An interrupt or exception was taken. */
void pmu_functional_interrupt(PmuFunctionalModel *o);

/*
 * The machine is cleared: the newest instruction stored to code that fetch
 * had, and what is behind it is fetched again.  For string instructions, whose
 * accesses are not observed here.
 */
void pmu_functional_machine_clear(PmuFunctionalModel *o);

/*
 * Instructions [@first, @last) of @block ran, none of them a REP string
 * instruction.  Returns how far they were observed, above @first and at most
 * @last: behind an instruction that clears the machine there is more to come,
 * in another call.  What happened to them is in @o->outcome, if that is asked
 * for.
 */
unsigned pmu_functional_run(PmuFunctionalModel *o, const PmuBlock *block,
                            unsigned first, unsigned last,
                            const PmuExecution *dynamic);

/*
 * The same where the caller does not ask what happened to their data:
 * @o->outcome tells of fetch and the branch alone.
 */
unsigned pmu_functional_run_fetch(PmuFunctionalModel *o, const PmuBlock *block,
                                  unsigned first, unsigned last,
                                  const PmuExecution *dynamic);

/* The same for a REP string instruction @index: its fetch alone. */
void pmu_functional_fetch_string(PmuFunctionalModel *o, const PmuBlock *block,
                                 unsigned index, uint64_t pc);

/*
 * Some code runs that is not observed, but for its branches and those of its
 * data accesses that pmu_memory_hit() does not know.  What was being fetched is
 * not known behind it.  pmu_functional_warm_data() returns the cycles that a
 * load waits, pmu_functional_warm_branch() whether the last instruction of
 * @block, which is a branch and ran, was mispredicted.
 */
void pmu_functional_skip(PmuFunctionalModel *o);
bool pmu_functional_warm_branch(PmuFunctionalModel *o, const PmuBlock *block,
                                const PmuExecution *dynamic);
uint32_t pmu_functional_warm_data(PmuFunctionalModel *o,
                                  const PmuBlockAccess *kind, uint64_t addr);

/* Add the branch at the end of @block, if that is one and is taken.  Hot. */
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
 * The same as pmu_functional_warm_branch(), for a block that may not end with a
 * branch.  @dynamic is not passed on, so that it may be in registers.  Hot: few
 * branches are other than conditional ones that always went there.
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
 * The lines of code of a region are fetched that is @length bytes long and
 * begins at linear address @pc, physical address @phys; it is not observed
 * otherwise.  It ends where its page does, whatever @length says: an SMI or a
 * #VMEXIT, of which the model is not told, can have left it in its middle, and
 * gone on anywhere.
 */
void pmu_functional_fetch_lines(PmuFunctionalModel *o, uint64_t pc,
                                uint64_t phys, uint64_t length);

/* What was observed so far of lines of code, since the ledger was cleared. */
PmuCodeMisses pmu_functional_code_misses(const PmuFunctionalModel *o);

/* Some code ran that was not observed at all. */
void pmu_functional_skip_all(PmuFunctionalModel *o);

/*
 * What ran meanwhile, in any order: @lines lines of code from physical address
 * / 64 @line on; code at linear address @pc, in a @large page or not; a taken
 * branch there that fetch could have known.
 */
void pmu_functional_warm_code(PmuFunctionalModel *o, uint64_t line,
                              unsigned lines);
void pmu_functional_warm_page(PmuFunctionalModel *o, uint64_t pc, uint64_t line,
                              bool large);
void pmu_functional_warm_taken_branch(PmuFunctionalModel *o, uint64_t pc);

/* Is code at linear address @pc, which was just fetched, in a large page? */
bool pmu_functional_is_large_page(const PmuFunctionalModel *o, uint64_t pc);

#endif
