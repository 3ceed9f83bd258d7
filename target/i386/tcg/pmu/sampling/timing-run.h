/*
 * Tells the timing model what ran: blocks, parts of them, counts of their runs.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_SAMPLING_TIMING_RUN_H
#define TARGET_I386_PMU_SAMPLING_TIMING_RUN_H

#include "tcg/pmu/decode/block.h"
#include "tcg/pmu/sampling/block-runs.h"
#include "tcg/pmu/sampling/timing-types.h"

/*
 * Blocks ran one after the other, each to its end: the records from @from up to
 * @end, see PmuRecord.  After the last one execution went on at linear address
 * @next.  A REP string instruction among them did no iterations.
 */
void pmu_timing_run_log(PmuTiming *timing, const uint64_t *from,
                        const uint64_t *end, uint64_t next);

/*
 * Instructions [@first, @last) of @block retired.  If @last is the block's end,
 * @dynamic says where its branch went.  Also counts INSTRUCTIONS and BRANCHES
 * in the ledger.
 *
 * A REP string instruction may be left with iterations to go, by a fault, an
 * interrupt or because the emulator re-enters it for each iteration.  Then the
 * caller leaves it out of the range, and calls pmu_timing_string() instead.
 */
void pmu_timing_run(PmuTiming *timing, const PmuBlock *block,
                    unsigned first, unsigned last, const PmuExecution *dynamic);

/*
 * The REP string instruction @index of @block did @dynamic->iterations
 * iterations and will go on.  It is not retired yet.
 */
void pmu_timing_string(PmuTiming *timing, const PmuBlock *block,
                       unsigned index, const PmuExecution *dynamic);

/*
 * Do other vCPUs ask for lines that this one uses?  Then it should run the
 * model soon, as they learn only from that who has a line.
 */
bool pmu_timing_contested(const PmuTiming *timing);

/*
 * An instruction of @block took an assist.  The block is running, and the model
 * has not been told of it yet.  The model takes the assist at the end of that
 * region, or now if the block is @counted: see pmu_timing_start_counting().
 */
void pmu_timing_assist(PmuTiming *timing, const PmuBlock *block, bool counted);

/*
 * In fast-forward, if no counter depends on which way branches went, translated
 * code can count the runs of blocks itself instead of logging them.
 *
 * pmu_timing_fast_forward_insns() returns how many instructions may run before
 * the model has more to do than to count how often each block runs; 0: it has
 * now.
 *
 * pmu_timing_block_runs() returns the array of counts of runs, which is indexed
 * by PmuBlock.number.
 *
 * pmu_timing_start_counting(): translated code counts runs of @block there from
 * this one on; the caller adds 1 for this one.  @block must be
 * pmu_block_is_plain() and have a number.  Returns false if this run must be
 * logged: the block is not a region of its own here, or has no known cost, or
 * too many blocks are counted already.
 *
 * pmu_timing_add_uncollected(): @insns more instructions were counted there,
 * which make @progress, pmu_cost_progress() of what they cost.  The caller says
 * so before it reads counters, and before more instructions run than
 * pmu_timing_fast_forward_insns() allows.
 *
 * pmu_timing_collect() takes what was counted.  pmu_timing_flush(),
 * pmu_timing_peek() and functions that change the phase do so themselves.
 *
 * pmu_timing_stop_counting() does the same, and counts no block from now on.
 * Logged blocks may be counted there, too.  So the caller calls this before it
 * logs the first block whose number stood for another one.
 */
uint32_t pmu_timing_fast_forward_insns(const PmuTiming *timing);

PmuBlockRunCount *pmu_timing_block_runs(PmuTiming *timing);

bool pmu_timing_start_counting(PmuTiming *timing, const PmuBlock *block);

void pmu_timing_add_uncollected(PmuTiming *timing, uint32_t insns,
                                uint64_t progress);

void pmu_timing_collect(PmuTiming *timing);
void pmu_timing_stop_counting(PmuTiming *timing);

#endif
