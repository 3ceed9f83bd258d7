/*
 * The part of the PMU that lives in CPUX86State.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Run time, above the line.  Generated code writes these fields at constant
 * offsets from env; everything else is behind @unit.  The structure stands at
 * the end of CPUX86State so that no offset of a stock field moves.
 */

#ifndef TARGET_I386_PMU_STATE_H
#define TARGET_I386_PMU_STATE_H

#include "block.h"

typedef struct X86PMU X86PMU;

/*
 * What the translator compiles in, chosen for each block by three bits of
 * hflags (HF_PMU_*) and the block's privilege level:
 *
 * - off: nothing;
 * - count: retired instructions and branches.  The prologue takes the block's
 *   instructions off @budget and leaves through x86_pmu_expired() when they
 *   exceed it, so that a block of just the right length can run first;
 * - timing: the prologue calls x86_pmu_enter(), which runs the timing model
 *   over the block that went before.  The block's code stores its data
 *   addresses and its branch's outcome here.
 */
typedef struct X86PMUState {
    /* count: instructions that may retire before x86_pmu_expired() */
    int64_t budget[PMU_LEVEL_NR];
    /* count: branches retired since the last fold into the ledger */
    uint64_t branches[PMU_LEVEL_NR];

    /* timing: the block entered last; NULL if the model has seen all of it */
    const PmuBlock *block;
    /* timing: linear address of its first byte */
    uint64_t pc;
    /* timing: its instructions [@first, @last) wait for the model */
    uint16_t first;
    uint16_t last;
    /* timing: outcome of the branch that ends it */
    uint8_t taken;
    /* timing: its string instruction was reached, with @string_count in rCX */
    uint8_t string;
    uint64_t string_count;
    /* timing: where its indirect branch went */
    uint64_t target;
    /* timing: linear addresses of its data accesses */
    uint64_t addr[PMU_BLOCK_ACCESSES];

    /* NULL: this CPU has no PMU, and no other field is ever used */
    X86PMU *unit;
} X86PMUState;

#endif
