/*
 * The part of the PMU that lives in CPUX86State.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Translated code accesses the fields behind @pad at constant offsets from env.
 * Properties of the CPU are here, too; everything else is behind @unit.  The
 * structure stands at the end of CPUX86State so that no offset of a stock field
 * moves.
 */

#ifndef TARGET_I386_PMU_STATE_H
#define TARGET_I386_PMU_STATE_H

#include "tcg/pmu/uarch/perf-capabilities.h"

/*
 * This header has only plain data and opaque pointers: cpu.h includes it, and a
 * change of the model must not recompile all files that include cpu.h.
 */
typedef struct X86PMU X86PMU;
typedef struct PmuBlock PmuBlock;
typedef struct PmuRecord PmuRecord;
typedef struct PmuBlockRunCount PmuBlockRunCount;
typedef struct X86PMUObserverOptions X86PMUObserverOptions;

/*
 * PMU_LEVEL_NR and PMU_UARCH_PARAMS (pmu-internal.h checks it); the number of
 * options in pmu-what-if.c.
 */
#define X86_PMU_LEVELS 2
#define X86_PMU_PARAMS 84
#define X86_PMU_WHAT_IFS 8

/*
 * Words of 64 bits in the log, for some hundred blocks.  What the model touches
 * for these blocks stays in the host's L1D.
 */
#define X86_PMU_LOG_WORDS 512

/*
 * Words of padding before the fields that translated code uses.  With them, no
 * such field shares the low ten bits of its offset from env with a field of
 * QEMU's that is used as often.  tests/bench/zero-cost says why, and checks it.
 */
#define X86_PMU_STATE_PAD 23

/* X86PMUState.generation if the vCPU needs no description of a block. */
#define X86_PMU_NO_GENERATION UINT64_MAX

/*
 * Bits of hflags: counters count at CPL 0; at CPL 1 to 3; they need the model.
 * X86PMUState says what combinations mean.
 */
#define HF_PMU_OS_MASK       (1 << HF_PMU_OS_SHIFT)
#define HF_PMU_USR_MASK      (1 << HF_PMU_USR_SHIFT)
#define HF_PMU_TIMING_MASK   (1u << HF_PMU_TIMING_SHIFT)

/*
 * What the PMU keeps in CPUX86State.
 *
 * Three bits of hflags (HF_PMU_*) and the block's privilege level choose what
 * the translator compiles into each block, its mode:
 *
 * - off: nothing;
 * - count: the block counts its instructions, branches and conditional
 *   branches.  The prologue subtracts the block's instructions from @budget.
 *   If they exceed it, the prologue leaves through x86_pmu_expired(), so that a
 *   block of just the right length can run first;
 * - timing: the prologue begins a record in @log, in which the block's code
 *   stores its data addresses.  The next record says where the branch went.
 *   When the log is full the prologue calls x86_pmu_enter(), which runs the
 *   timing model over the log;
 * - forward (fast-forward): as timing, but the model needs only how often each
 *   block runs.  The prologue of a block that is a whole region adds one to the
 *   block's count in @runs and subtracts what a run costs, instructions and
 *   slots, from @left.  If @left is used up, or the block is not counted yet,
 *   the prologue calls x86_pmu_count_run(), which lets the model decide.  Any
 *   other block begins a record without data addresses, except those of a REP
 *   string instruction.  A counted block that turns out to be left in its
 *   middle gets such a record as well.
 *
 * In comments on fields, "forward:" and the like name the mode that uses them.
 */
typedef struct X86PMUState {
    /* NULL: this CPU has no PMU, and nothing reads the fields behind @pad */
    X86PMU *unit;

    /* Properties pmu-check, pmu-check-* and pmu-recorder; NULL: none given */
    X86PMUObserverOptions *observer_options;
    /* Properties, in the order of pmu_uarch_params[]: value + 1; 0: not set */
    uint32_t figure[X86_PMU_PARAMS];
    /* CPUID features of AMD's units, which TCG lacks: x86_pmu_take_amd() */
    bool perfctr_core, perfmon_v2;
    /* pmu-sampling=off: the model's pipeline runs every instruction */
    bool unsampled;
    /* Properties of pmu-what-if.c: value + 1, 0: not set; and pmu-profile */
    int what_if[X86_PMU_WHAT_IFS];
    unsigned profile;

    /*
     * Translated code uses the fields behind this pad, except @generation.
     * They lie in the first half of a line, so that none has the low bits of
     * the offset of an XMM register.  For other registers see
     * X86_PMU_STATE_PAD.
     */
    uint64_t pad[X86_PMU_STATE_PAD];

    /* forward: what may run before the model is asked: pmu_left_progress() */
    int64_t left;
    /* forward: the newest block if it is counted in @runs, else NULL */
    const PmuBlock *counted;
    /* forward: how often blocks ran: pmu_timing_block_runs() */
    PmuBlockRunCount *runs;
    /* timing: the newest block reached its REP string instruction... */
    uint8_t string;
    bool string_waits;          /* ... which has read from a device */
    /*
     * timing: the generation of the code that this vCPU may have records or
     * uncollected counts of; X86_PMU_NO_GENERATION: none.  Translated code does
     * not use it, so it may lie in the second half of the line.
     */
    uint64_t generation;
    uint64_t pad_forward[3];

    /* timing: the newest record; NULL if the model has seen all of the log */
    PmuRecord *record;
    /* timing: where the next record goes */
    uint64_t *next;
    /* timing: words left for records; less than 0: ask the model first */
    int32_t room;
    /*
     * timing: the model has seen the newest record's instructions before
     * @first; the last @cut ones did not run.
     */
    uint16_t first;
    uint16_t cut;
    /* timing: rCX when @string was set */
    uint64_t string_count;
    uint64_t pad_timing[4];

    /* count: instructions that may retire before x86_pmu_expired() */
    int64_t budget[X86_PMU_LEVELS];
    /* count: sum of x86_pmu_branch() of branches retired since the last fold */
    uint64_t branches[X86_PMU_LEVELS];

    uint64_t log[X86_PMU_LOG_WORDS];
} X86PMUState;

#endif
