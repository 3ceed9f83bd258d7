/*
 * The timing model: executed instructions in, slots and events out.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Run time, below the line: plain C.  A function of the instruction stream
 * alone: how the stream is cut into blocks, and when somebody looks, does not
 * change a single slot.
 */

#ifndef TARGET_I386_PMU_TIMING_H
#define TARGET_I386_PMU_TIMING_H

#include "block.h"
#include "ledger.h"
#include "memory.h"
#include "runs.h"
#include "uarch.h"

typedef struct PmuTiming PmuTiming;

/*
 * A cold core: empty caches, untrained predictors, idle pipeline.  It writes
 * to @ledger, which pmu_timing_new() initialises from @uarch.  @l3 is the
 * machine's, NULL: one of its own.  NULL only if memory runs out.
 */
PmuTiming *pmu_timing_new(const PmuUarch *uarch, PmuLedger *ledger, PmuL3 *l3,
                          PmuTranslate translate, void *opaque);
void pmu_timing_free(PmuTiming *timing);

/*
 * Back to the state of pmu_timing_new().  The ledger is kept as it is, also if
 * its owner has loaded it from elsewhere; what pmu_timing_flush() has not
 * entered is lost.
 */
void pmu_timing_reset(PmuTiming *timing);

/*
 * Enter into the ledger what has happened so far: it is behind after any of
 * the functions below.
 */
void pmu_timing_flush(PmuTiming *timing);

/*
 * The same without estimates, which are entered in whole slots: when that is
 * done moves fractions of a slot.  For looks that are not the guest's own, so
 * that counts stay a function of what it does.
 */
void pmu_timing_flush_observed(PmuTiming *timing);

/*
 * What pmu_timing_flush() would make of the ledger, in @ledger.  Nothing that is
 * counted from now on depends on it.
 */
void pmu_timing_peek(PmuTiming *timing, PmuLedger *ledger);

/*
 * When code is looked at; in between, known costs stand for it.  All figures
 * are numbers of instructions, rounded up to whole stretches (from one branch
 * to the next), and not 0; waits for data make @period shorter.  There are
 * windows of @observe, in which all caches see what happens, @warm, in which
 * the pipeline fills, and @watch.  One begins @period after the last one or,
 * early on, sooner, and caches of code see what is fetched in the last @fetch
 * before it, which may be 0; and besides, for one in @share instructions
 * altogether, when there is much of which nothing is known.  The first @first
 * of all are watched, so that short tests are exact.
 *
 * Caches and predictors see all that runs between windows, or the last @skim of
 * a period alone: see pmu_timing_set_interest().
 */
typedef struct PmuSampling {
    uint32_t first, fetch, observe, warm, watch, share, period, skim;
} PmuSampling;

extern const PmuSampling pmu_sampling;

/*
 * Watch as @sampling says, from now on; a new PmuTiming does as pmu_sampling
 * says.  NULL: every instruction is watched, which takes many times as long.
 * This changes slots, what follows from them, and the ledger's items from
 * PMU_ITEM_SAMPLED on; all others are the same.
 */
void pmu_timing_set_sampling(PmuTiming *timing, const PmuSampling *sampling);

/*
 * Items that are not of interest are behind from now on: slots are estimated
 * without data caches, TLBs and predictors seeing each instruction.  To a new
 * PmuTiming all are of interest.
 */
void pmu_timing_set_interest(PmuTiming *timing, PmuInterest interest);

/*
 * Blocks that ran one after the other, all of each: records from @from up to
 * @end, see PmuRecord.  Behind the last one execution went on at linear
 * address @next.  A REP string instruction among them made no iterations.
 */
void pmu_timing_run_log(PmuTiming *timing, const uint64_t *from,
                        const uint64_t *end, uint64_t next);

/*
 * Where nothing is observed, and nobody wants to know which way branches went,
 * translated code can count runs of blocks itself, instead of logging them.
 *
 * pmu_timing_forward(): so many instructions may run before something is looked
 * at; 0: blocks have to be logged.
 *
 * pmu_timing_runs(): how often blocks ran, by their numbers.
 *
 * pmu_timing_count_on(): the runs of @block are counted there, from this one
 * on; its caller adds 1 for it.  It is to be pmu_block_is_plain() and to have a
 * number.  False if this run is to be logged: it is not a stretch of its own,
 * or nothing is known of it.
 *
 * pmu_timing_pass(): @insns more instructions were counted there, which has to
 * be known before anybody looks.
 *
 * pmu_timing_collect(): take what was counted.  All functions that look at the
 * ledger, or that change what is done, do that themselves.
 *
 * pmu_timing_stop_counting(): the same, and nothing is counted from now on.
 * What is logged is counted as well: this is to be called before the first
 * block is logged whose number stood for another one.
 */
uint32_t pmu_timing_forward(const PmuTiming *timing);
PmuRunCount *pmu_timing_runs(PmuTiming *timing);
bool pmu_timing_count_on(PmuTiming *timing, const PmuBlock *block);
void pmu_timing_pass(PmuTiming *timing, uint32_t insns);
void pmu_timing_collect(PmuTiming *timing);
void pmu_timing_stop_counting(PmuTiming *timing);

/*
 * Do other vCPUs ask for lines that this one uses?  They learn who has a line
 * when it runs the model: that should be soon then.
 */
bool pmu_timing_contested(const PmuTiming *timing);

/*
 * Instructions [@first, @last) of @block were retired.  If @last is the
 * block's end, the last instruction's outcome is in @dynamic.  Also counts
 * INSTRUCTIONS and BRANCHES in the ledger.
 *
 * A REP string instruction may be left with iterations to go, by a fault, an
 * interrupt or because the emulator re-enters it for each iteration: then it
 * is not in the range, and pmu_timing_string() is called in its stead.
 */
void pmu_timing_run(PmuTiming *timing, const PmuBlock *block,
                    unsigned first, unsigned last, const PmuDynamic *dynamic);

/*
 * Iterations of a REP string instruction in one go: translated code stops for
 * interrupts where rCX is a multiple of 65536 and 1 (do_gen_rep(), REP_MAX),
 * except in front of the last iteration.  The model looks at each of them; more
 * are an error, counted in pmu_timing_repairs() and left out.
 */
#define PMU_STRING_MOST ((1u << 16) + 1)

/*
 * The REP string instruction @index of @block did @dynamic->iterations
 * iterations and will go on.  It is not retired yet.
 */
void pmu_timing_string(PmuTiming *timing, const PmuBlock *block,
                       unsigned index, const PmuDynamic *dynamic);

/* As pmu_memory_flush_mappings(). */
void pmu_timing_flush_mappings(PmuTiming *timing, PmuFlush flush,
                               uint64_t linear);

/*
 * An instruction of @block, which is running and has not been told of, took an
 * assist.  It is taken to be at the end of that stretch; or it is there now if
 * @block is @counted: see pmu_timing_count_on().
 */
void pmu_timing_assist(PmuTiming *timing, const PmuBlock *block, bool counted);

/* An interrupt or exception was taken: the pipeline refills. */
void pmu_timing_interrupt(PmuTiming *timing);

/*
 * How often a state was found that cannot be, and repaired: an error in the
 * model, or in how it is called.  Tests hold that it is never.
 */
uint64_t pmu_timing_repairs(const PmuTiming *timing);

/*
 * The clock of the model in slots since pmu_timing_new(), the open cycle
 * included, as of the last pmu_timing_flush().
 */
uint64_t pmu_timing_clock(const PmuTiming *timing);

/*
 * The same at any time and roughly, plus instructions retired; never falls.
 * No ledger item other than INSTRUCTIONS and its parts grows by more than
 * PMU_TIMING_ITEM_RATE times what this grows by.
 */
uint64_t pmu_timing_progress(const PmuTiming *timing);

#define PMU_TIMING_ITEM_RATE 4

/*
 * Count what ports do from now on, which makes the pipeline slower and changes
 * nothing else.
 */
void pmu_timing_watch_ports(PmuTiming *timing);

/* Micro-ops dispatched to each port since, while the pipeline was watched. */
void pmu_timing_ports(const PmuTiming *timing,
                      uint64_t dispatched[PMU_MAX_PORTS]);

#endif
