/*
 * What ran, into the timing model: blocks, parts of them, counts of their runs.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_SAMPLING_TIMING_RUN_H
#define TARGET_I386_PMU_SAMPLING_TIMING_RUN_H

#include "tcg/pmu/decode/block.h"
#include "tcg/pmu/sampling/block-runs.h"
#include "tcg/pmu/sampling/timing-types.h"

/*
 * Blocks that ran one after the other, all of each: records from @from up to
 * @end, see PmuRecord.  Behind the last one execution went on at linear
 * address @next.  A REP string instruction among them made no iterations.
 */
void pmu_timing_run_log(PmuTiming *timing, const uint64_t *from,
                        const uint64_t *end, uint64_t next);

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
                    unsigned first, unsigned last, const PmuExecution *dynamic);

/*
 * The REP string instruction @index of @block did @dynamic->iterations
 * iterations and will go on.  It is not retired yet.
 */
void pmu_timing_string(PmuTiming *timing, const PmuBlock *block,
                       unsigned index, const PmuExecution *dynamic);

/*
 * Do other vCPUs ask for lines that this one uses?  They learn who has a
 * line when it runs the model: that should be soon then.
 */
bool pmu_timing_contested(const PmuTiming *timing);

/*
 * An instruction of @block, which is running and has not been told of, took an
 * assist.  It is taken to be at the end of that region; or it is there now if
 * @block is @counted: see pmu_timing_start_counting().
 */
void pmu_timing_assist(PmuTiming *timing, const PmuBlock *block, bool counted);

/*
 * Where nothing is observed, and no counter depends on which way branches went,
 * translated code can count runs of blocks itself, instead of logging them.
 *
 * pmu_timing_fast_forward_insns(): so many instructions may run before
 * something is looked at, and how often each block ran is all that is needed of
 * them; 0: that is not so.
 *
 * pmu_timing_block_runs(): how often blocks ran, by their numbers.
 *
 * pmu_timing_start_counting(): the runs of @block are counted there, from this
 * one on; its caller adds 1 for it.  It is to be pmu_block_is_plain() and to
 * have a number.  False if this run is to be logged: it is not a region of its
 * own, or nothing is known of it.
 *
 * pmu_timing_add_passed(): @insns more instructions were counted there, which
 * make @progress, pmu_cost_progress() of what they cost.  That has to be
 * known before counters are looked at, and before more instructions ran than
 * are allowed.
 *
 * pmu_timing_collect(): take what was counted.  All functions that look at the
 * ledger, or that change what is done, do that themselves.
 *
 * pmu_timing_stop_counting(): the same, and nothing is counted from now on.
 * What is logged is counted as well: this is to be called before the first
 * block is logged whose number stood for another one.
 */
uint32_t pmu_timing_fast_forward_insns(const PmuTiming *timing);

PmuBlockRunCount *pmu_timing_block_runs(PmuTiming *timing);

bool pmu_timing_start_counting(PmuTiming *timing, const PmuBlock *block);

void pmu_timing_add_passed(PmuTiming *timing, uint32_t insns,
                           uint64_t progress);

void pmu_timing_collect(PmuTiming *timing);
void pmu_timing_stop_counting(PmuTiming *timing);

#endif
