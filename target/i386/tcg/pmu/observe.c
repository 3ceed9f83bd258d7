/*
 * What happens to executed blocks, told without any time.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Run time, below the line.
 */

#include <glib.h>
#include <string.h>

#include "observe.h"

bool pmu_observer_init(PmuObserver *o, const PmuUarch *uarch,
                       PmuLedger *ledger, PmuL3 *l3, PmuTranslate translate,
                       void *opaque)
{
    o->ledger = ledger;
    o->store_line = UINT64_MAX;
    o->bpred = pmu_bpred_new(uarch);
    if (!o->bpred ||
        !pmu_memory_init(&o->mem, uarch, ledger, l3, translate, opaque) ||
        !pmu_fetcher_init(&o->fetcher, uarch, &o->mem, o->bpred)) {
        pmu_observer_destroy(o);
        return false;
    }
    return true;
}

void pmu_observer_destroy(PmuObserver *o)
{
    g_clear_pointer(&o->bpred, pmu_bpred_free);
    pmu_fetcher_destroy(&o->fetcher);
    pmu_memory_destroy(&o->mem);
}

void pmu_observer_reset(PmuObserver *o)
{
    o->marks = 0;
    o->store_line = UINT64_MAX;
    pmu_memory_reset(&o->mem);
    pmu_fetcher_reset(&o->fetcher);
    pmu_bpred_reset(o->bpred);
}

void pmu_observe_interrupt(PmuObserver *o)
{
    pmu_mark(&o->marks, PMU_MARK_INTERRUPT);
    pmu_fetcher_restart(&o->fetcher);
}

/* Data. */

static void mark_access(PmuMarks *marks, const PmuAccess *access,
                        const PmuUarch *uarch)
{
    static const uint8_t mark_of[] = {
        [PMU_FROM_L2] = PMU_MARK_L2,
        [PMU_FROM_PREFETCH] = PMU_MARK_PREFETCH,
        [PMU_FROM_L3] = PMU_MARK_L3,
        [PMU_FROM_DRAM] = PMU_MARK_DRAM,
    };

    if (access->source >= PMU_FROM_L2) {
        pmu_mark(marks, mark_of[access->source]);
    }
    if (access->delay) {
        pmu_mark(marks, access->delay > uarch->stlb.latency ? PMU_MARK_WALK
                                                            : PMU_MARK_STLB);
    }
}

/* An access at @addr that may be special: its lines, marked. */
static unsigned data_access(PmuObserver *o, uint64_t addr, unsigned size,
                            PmuAccess access[2])
{
    unsigned lines = pmu_memory_data(&o->mem, addr, size, access);

    mark_access(&o->marks, &access[0], o->mem.uarch);
    if (lines == 2) {
        mark_access(&o->marks, &access[1], o->mem.uarch);
        pmu_mark(&o->marks, PMU_MARK_SPLIT);
    }
    return lines;
}

static bool is_plain(const PmuAccess *access)
{
    static const PmuAccess plain;

    return !memcmp(access, &plain, sizeof(plain));
}

/* Data access @i at @addr is not plain, or may not be. */
static void special_access(PmuObserver *o, unsigned i, uint64_t addr,
                           const PmuBlockAccess *kind, uint32_t store)
{
    PmuOutcome *outcome = &o->outcome;
    PmuAccess access[2] = {};
    unsigned lines = data_access(o, addr, kind->size, access);

    access[0].store = store & (PMU_FORWARD_BLOCKED - 1);
    access[0].blocked = !!(store & PMU_FORWARD_BLOCKED);
    if (lines == 1 && is_plain(&access[0])) {
        return;
    }
    outcome->access[i] = access[0];
    outcome->special |= 1ull << i;
    if (lines == 2) {
        outcome->second[i] = access[1];
        outcome->split |= 1ull << i;
    }
}

static void observe_access(PmuObserver *o, unsigned i,
                           const PmuBlockAccess *kind, uint64_t addr)
{
    uint32_t store = kind->load
                     ? pmu_memory_forward(&o->mem, addr, kind->size) : 0;

    if ((store || !pmu_memory_hit(&o->mem, addr, kind->size)) &&
        (kind->load || kind->store)) {
        special_access(o, i, addr, kind, store);
    }
    if (kind->store) {
        uint64_t line = addr >> PMU_LINE_SHIFT;

        pmu_memory_note_store(&o->mem, addr, kind->size);
        o->outcome.same_line |= (uint64_t)(line == o->store_line) << i;
        o->store_line = line;
    }
}

/* Branches: PMU_OUTCOME_x. */

static unsigned mispredicted(PmuObserver *o, unsigned outcome)
{
    pmu_ledger_event(o->ledger, PMU_ITEM_BRANCH_MISSES, 1);
    pmu_ledger_event(o->ledger, PMU_ITEM_CLEARS, 1);
    pmu_mark(&o->marks, PMU_MARK_MISPREDICT);
    pmu_fetcher_restart(&o->fetcher);
    return outcome | PMU_OUTCOME_MISPREDICT;
}

static unsigned taken(PmuObserver *o, uint64_t pc, bool direct)
{
    unsigned outcome = pmu_fetcher_taken(&o->fetcher, pc, direct);

    if (G_UNLIKELY(outcome & PMU_OUTCOME_UNKNOWN)) {
        pmu_mark(&o->marks, PMU_MARK_RESTEER);
    }
    return outcome;
}

static inline unsigned observe_cond(PmuObserver *o, uint64_t pc, bool goes)
{
    pmu_ledger_event(o->ledger, PMU_ITEM_BRANCHES_TAKEN, goes);
    if (G_UNLIKELY(!pmu_bpred_cond(o->bpred, pc, goes))) {
        return mispredicted(o, goes ? PMU_OUTCOME_TAKEN : 0);
    }
    if (goes) {
        return taken(o, pc, true);
    }
    pmu_fetcher_not_taken(&o->fetcher, pc);
    return 0;
}

static unsigned observe_other(PmuObserver *o, const PmuBlock *block,
                              uint64_t pc, const PmuDynamic *dynamic)
{
    const PmuInsn *insn = block->insns[block->num_insns - 1].insn;
    uint64_t next = pc + insn->length;
    bool hit = true, direct = false;

    pmu_ledger_event(o->ledger, PMU_ITEM_BRANCHES_TAKEN, 1);
    if (insn->flags & PMU_INSN_LOW32) {
        next &= UINT32_MAX;
    }
    switch (insn->branch) {
    case PMU_BRANCH_JMP:
        direct = true;
        break;
    case PMU_BRANCH_CALL:
        direct = true;
        pmu_bpred_call(o->bpred, next);
        break;
    case PMU_BRANCH_JMP_INDIRECT:
        hit = pmu_bpred_indirect(o->bpred, pc, dynamic->target);
        break;
    case PMU_BRANCH_CALL_INDIRECT:
        hit = pmu_bpred_indirect(o->bpred, pc, dynamic->target);
        pmu_bpred_call(o->bpred, next);
        break;
    case PMU_BRANCH_RET:
        hit = pmu_bpred_ret(o->bpred, dynamic->target);
        break;
    default:
        pmu_fetcher_restart(&o->fetcher);
        return PMU_OUTCOME_TAKEN;
    }
    return hit ? taken(o, pc, direct) : mispredicted(o, PMU_OUTCOME_TAKEN);
}

static inline unsigned observe_branch(PmuObserver *o, const PmuBlock *block,
                                      const PmuDynamic *dynamic)
{
    uint64_t pc = dynamic->pc + block->insns[block->num_insns - 1].offset;

    if (G_LIKELY(block->branch == PMU_BRANCH_COND)) {
        return observe_cond(o, pc, dynamic->taken);
    }
    return block->branch == PMU_BRANCH_NONE
           ? 0 : observe_other(o, block, pc, dynamic);
}

/* Code. */

static void mark_code(PmuMarks *marks, const PmuAccess *access)
{
    pmu_mark(marks, PMU_MARK_LEGACY);
    switch (access->source) {
    case PMU_FROM_L2:
    case PMU_FROM_PREFETCH:
        pmu_mark(marks, PMU_MARK_CODE_L2);
        break;
    case PMU_FROM_L3:
        pmu_mark(marks, PMU_MARK_CODE_L3);
        break;
    case PMU_FROM_DRAM:
        pmu_mark(marks, PMU_MARK_CODE_DRAM);
        break;
    }
    if (access->delay) {
        pmu_mark(marks, PMU_MARK_CODE_TLB);
    }
}

/* Instructions [@from, @end) of @block, in its segment @n. */
static void observe_segment(PmuObserver *o, const PmuBlock *block, unsigned n,
                            unsigned from, unsigned end, uint64_t pc)
{
    pmu_fetcher_segment(&o->fetcher, block, n, from, end, pc, &o->outcome);
    if (G_UNLIKELY(o->outcome.legacy >> n & 1) && !o->outcome.looping) {
        mark_code(&o->marks, &o->outcome.code[n]);
    }
}

/* Blocks. */

static void observe_begin(PmuObserver *o)
{
    PmuOutcome *outcome = &o->outcome;

    outcome->branch = 0;
    outcome->continues = false;
    outcome->looping = o->fetcher.looping;
    outcome->legacy = 0;
    outcome->special = 0;
    outcome->split = 0;
    outcome->same_line = 0;
    pmu_memory_horizon(&o->mem, PMU_OUTCOME_FILLS);
}

static void observe_index(PmuObserver *o, const PmuBlock *block,
                          unsigned index, const uint64_t *addr)
{
    if (index == PMU_NO_ACCESS) {
        return;
    }
    if (o->fetcher.watched) {
        observe_access(o, index, &block->accesses[index], addr[index]);
    } else {
        pmu_observe_brief_access(o, &block->accesses[index], addr[index]);
    }
}

void pmu_observe(PmuObserver *o, const PmuBlock *block,
                 unsigned first, unsigned last, const PmuDynamic *dynamic)
{
    observe_begin(o);
    pmu_fetcher_begin(&o->fetcher, block, first, last);
    for (unsigned n = 0; n < block->num_segments; n++) {
        unsigned from = MAX(first, block->segments[n].first);
        unsigned end = n + 1 < block->num_segments
                       ? MIN(last, block->segments[n + 1].first) : last;

        if (from >= end) {
            continue;
        }
        observe_segment(o, block, n, from, end, dynamic->pc);
        for (unsigned i = from; i < end; i++) {
            observe_index(o, block, block->insns[i].ea, dynamic->addr);
            observe_index(o, block, block->insns[i].stack, dynamic->addr);
        }
    }
    if (last == block->num_insns) {
        o->outcome.branch = observe_branch(o, block, dynamic);
    }
}

void pmu_observe_string(PmuObserver *o, const PmuBlock *block,
                        unsigned index, uint64_t pc)
{
    observe_begin(o);
    pmu_fetcher_begin(&o->fetcher, block, index, index + 1);
    observe_segment(o, block, block->num_segments - 1, index, index + 1, pc);
}

/* Briefly. */

void pmu_observe_brief_access(PmuObserver *o, const PmuBlockAccess *kind,
                              uint64_t addr)
{
    PmuAccess access[2];

    if (kind->load || kind->store) {
        pmu_memory_horizon(&o->mem, 0);
        data_access(o, addr, kind->size, access);
    }
}

void pmu_observe_brief_segment(PmuObserver *o, const PmuBlock *block,
                               unsigned n, uint64_t pc)
{
    unsigned end = n + 1 < block->num_segments
                   ? block->segments[n + 1].first : block->num_insns;

    o->outcome.looping = false;
    o->outcome.legacy = 0;
    o->fetcher.first = 0;
    o->fetcher.first_fused = o->fetcher.fuse & block->fuse_last;
    observe_segment(o, block, n, block->segments[n].first, end, pc);
}

void pmu_observe_brief_branch(PmuObserver *o, const PmuBlock *block,
                              const PmuDynamic *dynamic)
{
    observe_branch(o, block, dynamic);
}

void pmu_observer_set_watched(PmuObserver *o, bool watched)
{
    pmu_fetcher_set_watched(&o->fetcher, watched);
}
