/*
 * Retired instructions by class, counted a block at a time.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "tcg/pmu/decode/block-counts.h"

static void count(PmuCounts *counts, PmuCountField field, unsigned n)
{
    counts->word[field / PMU_COUNT_FIELDS] +=
        (uint64_t)n << 16 * (field % PMU_COUNT_FIELDS);
}

static void count_branch(PmuCounts *counts, PmuBranch branch)
{
    static const uint8_t count_of[] = {
        [PMU_BRANCH_COND] = PMU_COUNT_COND,
        [PMU_BRANCH_JMP] = PMU_COUNT_JMP,
        [PMU_BRANCH_CALL] = PMU_COUNT_CALL,
        [PMU_BRANCH_JMP_INDIRECT] = PMU_COUNT_JMP_INDIRECT,
        [PMU_BRANCH_CALL_INDIRECT] = PMU_COUNT_CALL_INDIRECT,
        [PMU_BRANCH_RET] = PMU_COUNT_RET,
        [PMU_BRANCH_FAR] = PMU_COUNT_FAR,
    };

    if (branch != PMU_BRANCH_NONE) {
        count(counts, count_of[branch], 1);
    }
}

/* Count the access at @index, if it is recorded. */
static void count_access(PmuCounts *counts, const PmuInsn *insn, uint8_t index,
                         bool load, bool store)
{
    if (index == PMU_NO_ACCESS) {
        return;
    }
    count(counts, PMU_COUNT_ACCESSES, load || store);
    count(counts, PMU_COUNT_LOADS, load);
    count(counts, PMU_COUNT_STORES, store);
    if (insn->flags & PMU_INSN_LOCKED) {
        count(counts, PMU_COUNT_LOCKED, load);
    }
}

void pmu_counts_add_insn(PmuCounts *counts, const PmuBlockInsn *bi)
{
    const PmuInsn *insn = bi->insn;
    uint32_t flags = insn->flags;

    count(counts, PMU_COUNT_INSNS, 1);
    count_branch(counts, insn->branch);
    /* rep-strings.c counts the accesses of REP string instructions. */
    if (!(flags & PMU_INSN_REP)) {
        count_access(counts, insn, bi->ea, flags & PMU_INSN_LOAD,
                     flags & PMU_INSN_STORE);
        count_access(counts, insn, bi->stack, flags & PMU_INSN_STACK_LOAD,
                     flags & PMU_INSN_STACK_STORE);
    }
    if (insn->insn_class != PMU_CLASS_NONE) {
        count(counts, PMU_COUNT_CLASS + insn->insn_class - 1,
              insn->class_count);
    }
}

/* The ledger item of each field. */
static const uint8_t item_of[PMU_COUNT_NR] = {
    [PMU_COUNT_INSNS] = PMU_ITEM_INSTRUCTIONS,
    [PMU_COUNT_ACCESSES] = PMU_ITEM_L1D_ACCESSES,
    /* data-access.c subtracts those that miss L1D. */
    [PMU_COUNT_LOADS] = PMU_ITEM_LOADS_L1,
    [PMU_COUNT_STORES] = PMU_ITEM_STORES,
    /* timing-ledger.c subtracts those that are taken. */
    [PMU_COUNT_COND] = PMU_ITEM_BRANCHES_COND_NTAKEN,
    [PMU_COUNT_JMP] = PMU_ITEM_BRANCHES_JMP,
    [PMU_COUNT_CALL] = PMU_ITEM_BRANCHES_CALL,
    [PMU_COUNT_RET] = PMU_ITEM_BRANCHES_RET,
    [PMU_COUNT_JMP_INDIRECT] = PMU_ITEM_BRANCHES_JMP_INDIRECT,
    [PMU_COUNT_CALL_INDIRECT] = PMU_ITEM_BRANCHES_CALL_INDIRECT,
    [PMU_COUNT_FAR] = PMU_ITEM_BRANCHES_FAR,
    [PMU_COUNT_LOCKED] = PMU_ITEM_LOADS_LOCKED,
#define CLASS(name) [PMU_COUNT_CLASS + PMU_CLASS_##name - 1]
    CLASS(NOP) = PMU_ITEM_NOPS,
    CLASS(PAUSE) = PMU_ITEM_PAUSES,
    CLASS(LFENCE) = PMU_ITEM_LFENCES,
    CLASS(PREFETCH_NTA) = PMU_ITEM_PREFETCH_NTA,
    CLASS(PREFETCH_T0) = PMU_ITEM_PREFETCH_T0,
    CLASS(PREFETCH_T1_T2) = PMU_ITEM_PREFETCH_T1_T2,
    CLASS(PREFETCH_W) = PMU_ITEM_PREFETCH_W,
    CLASS(FP_SCALAR_DOUBLE) = PMU_ITEM_FP_SCALAR_DOUBLE,
    CLASS(FP_SCALAR_SINGLE) = PMU_ITEM_FP_SCALAR_SINGLE,
    CLASS(FP_128_DOUBLE) = PMU_ITEM_FP_128_DOUBLE,
    CLASS(FP_128_SINGLE) = PMU_ITEM_FP_128_SINGLE,
    CLASS(FP_256_DOUBLE) = PMU_ITEM_FP_256_DOUBLE,
    CLASS(FP_256_SINGLE) = PMU_ITEM_FP_256_SINGLE,
    CLASS(INT_ADD_128) = PMU_ITEM_INT_ADD_128,
    CLASS(INT_ADD_256) = PMU_ITEM_INT_ADD_256,
    CLASS(INT_MUL_256) = PMU_ITEM_INT_MUL_256,
    CLASS(INT_SHUFFLE) = PMU_ITEM_INT_SHUFFLES,
#undef CLASS
};

static bool is_branch(PmuCountField field)
{
    return (field >= PMU_COUNT_COND && field <= PMU_COUNT_RET) ||
           (field >= PMU_COUNT_JMP_INDIRECT && field <= PMU_COUNT_FAR);
}

/* Enter @word, whose lowest field is @first, @times times. */
static void enter_word(uint64_t word, unsigned first, uint64_t times,
                       uint64_t *event)
{
    for (unsigned i = first; word; i++, word >>= 16) {
        uint64_t n = (word & UINT16_MAX) * times;

        event[item_of[i]] += n;
        event[PMU_ITEM_BRANCHES] += is_branch(i) ? n : 0;
    }
}

void pmu_counts_add_to_ledger(PmuCounts *counts, uint64_t *event)
{
    for (unsigned i = 0; i < PMU_COUNT_WORDS; i++) {
        enter_word(counts->word[i], i * PMU_COUNT_FIELDS, 1, event);
        counts->word[i] = 0;
    }
}

void pmu_block_add_to_ledger(const PmuBlock *block, uint64_t times,
                             uint64_t *event)
{
    for (unsigned i = 0; i < PMU_COUNT_COMMON_WORDS; i++) {
        enter_word(block->counts[i], i * PMU_COUNT_FIELDS, times, event);
    }
    for (unsigned i = 0; block->rare && i < PMU_COUNT_RARE_WORDS; i++) {
        enter_word(block->rare[i],
                   (PMU_COUNT_COMMON_WORDS + i) * PMU_COUNT_FIELDS, times,
                   event);
    }
}
