/*
 * The part of the PMU that lives in CPUX86State.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Generated code writes these fields at constant offsets from env; everything
 * else is behind @unit.  The structure stands at the end of CPUX86State so that
 * no offset of a stock field moves.
 */

#ifndef TARGET_I386_PMU_STATE_H
#define TARGET_I386_PMU_STATE_H

#include "tcg/pmu/uarch/perf-capabilities.h"

/*
 * Plain data and opaque pointers alone: cpu.h includes this, and no change of
 * the model is to compile all files again that include cpu.h.
 */
typedef struct X86PMU X86PMU;
typedef struct PmuBlock PmuBlock;
typedef struct PmuRecord PmuRecord;
typedef struct PmuBlockRunCount PmuBlockRunCount;
typedef struct X86PMUObserverOptions X86PMUObserverOptions;

/* PMU_LEVEL_NR and PMU_UARCH_PARAMS: pmu-internal.h checks that. */
#define X86_PMU_LEVELS 2
#define X86_PMU_PARAMS 83
#define X86_PMU_WHAT_IFS 8

/* Some hundred blocks: what the model touches for them stays in host's L1D. */
#define X86_PMU_LOG_WORDS 512

/*
 * So many words move the fields that translated code uses to where the low ten
 * bits of their offsets from env are those of no field of QEMU's that it uses
 * as often: tests/bench/zero-cost says why, and looks at it.
 */
#define X86_PMU_STATE_PAD 23

/* X86PMUState.generation if no description of a block is needed. */
#define X86_PMU_NO_GENERATION UINT64_MAX

/* Bits of hflags: what counts at CPL 0, above it, and whether cycles do. */
#define HF_PMU_OS_MASK       (1 << HF_PMU_OS_SHIFT)
#define HF_PMU_USR_MASK      (1 << HF_PMU_USR_SHIFT)
#define HF_PMU_TIMING_MASK   (1u << HF_PMU_TIMING_SHIFT)

/*
 * What the translator compiles in, chosen for each block by three bits of
 * hflags (HF_PMU_*) and the block's privilege level:
 *
 * - off: nothing;
 * - count: retired instructions, branches, and those that are conditional.  The
 *   prologue takes the block's instructions off @budget and leaves through
 *   x86_pmu_expired() when they exceed it, so that a block of just the right
 *   length can run first;
 * - timing: the prologue begins a record in @log, in which the block's code
 *   stores its data addresses.  Where its branch went, the next record says.
 *   When the log is full the prologue calls x86_pmu_enter(), which runs the
 *   timing model over what is in it;
 * - forward: the same where the model needs no more than how often each block
 *   runs.  The prologue of a block that is a region adds one to its number in
 *   @runs and takes what a run costs, instructions and slots, off @left.  If
 *   that is used up, or the block is not counted yet, it calls
 *   x86_pmu_count_run(), which lets the model decide.  Any other block begins a
 *   record, without data addresses, and so does one that turns out to be left
 *   in its middle.
 */
typedef struct X86PMUState {
    /* NULL: this CPU has no PMU, and no field behind the pad is ever used */
    X86PMU *unit;

    /* pmu-check and its relatives; NULL: none was given */
    X86PMUObserverOptions *observer_options;
    /* Properties, in the order of pmu_uarch_params[]: value + 1, 0: not set */
    uint32_t figure[X86_PMU_PARAMS];
    /* Features of AMD's units, which TCG knows nothing of */
    bool perfctr_core, perfmon_v2;
    /* pmu-sampling=off: the model's pipeline runs every instruction */
    bool unsampled;
    /* Properties of pmu-what-if.c: value + 1, 0: not set; and pmu-profile */
    int what_if[X86_PMU_WHAT_IFS];
    unsigned profile;

    /*
     * What translated code uses follows: in the first half of a line, so that
     * no field has the low bits of the offset of an XMM register; see
     * X86_PMU_STATE_PAD for those of other registers.
     */
    uint64_t pad[X86_PMU_STATE_PAD];

    /* forward: PMU_LEFT_..., before the model is asked */
    int64_t left;
    /* ... the newest block if it is counted in @runs, else NULL */
    const PmuBlock *counted;
    /* ... how often blocks ran: pmu_timing_block_runs() */
    PmuBlockRunCount *runs;
    /* timing: its string instruction was reached, with @string_count in rCX */
    uint8_t string;
    bool string_waits;          /* ... and it has read from a device */
    /*
     * timing: of the code that records, or counts not collected, may be of;
     * X86_PMU_NO_GENERATION if there are none.  Translated code does not use
     * it, so that it is in the second half.
     */
    uint64_t generation;
    uint64_t pad_forward[3];

    /* timing: the newest record; NULL if the model has seen all of it */
    PmuRecord *record;
    /* timing: where the next one goes */
    uint64_t *next;
    /* timing: words that may be written yet; less than 0: ask the model */
    int32_t room;
    /*
     * timing: the newest record's instructions before @first are known to
     * the model already, its last @cut ones did not run.
     */
    uint16_t first;
    uint16_t cut;
    uint64_t string_count;
    uint64_t pad_timing[4];

    /* count: instructions that may retire before x86_pmu_expired() */
    int64_t budget[X86_PMU_LEVELS];
    /* count: x86_pmu_branch() of those retired since the last fold */
    uint64_t branches[X86_PMU_LEVELS];

    uint64_t log[X86_PMU_LOG_WORDS];
} X86PMUState;

#endif
