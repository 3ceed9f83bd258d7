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
static unsigned data_access(PmuObserver *o, uint64_t addr,
                            const PmuBlockAccess *kind, PmuAccess access[2])
{
    unsigned lines = kind->store
                     ? pmu_memory_store(&o->mem, addr, kind->size, access)
                     : pmu_memory_data(&o->mem, addr, kind->size, access);

    mark_access(&o->marks, &access[0], o->mem.uarch);
    if (lines == 2) {
        mark_access(&o->marks, &access[1], o->mem.uarch);
        pmu_mark(&o->marks, PMU_MARK_SPLIT);
    }
    return lines;
}

/* Did an access to these @lines find code that fetch had? */
static bool is_smc(const PmuAccess access[2], unsigned lines)
{
    return access[0].smc || (lines == 2 && access[1].smc);
}

static bool is_plain(const PmuAccess *access)
{
    static const PmuAccess plain;

    return !memcmp(access, &plain, sizeof(plain));
}

/* Data access @i at @addr is not plain, or may not be: see is_smc(). */
static bool special_access(PmuObserver *o, unsigned i, uint64_t addr,
                           const PmuBlockAccess *kind, uint32_t store)
{
    PmuOutcome *outcome = &o->outcome;
    PmuAccess access[2] = {};
    unsigned lines = data_access(o, addr, kind, access);

    access[0].store = store & (PMU_FORWARD_BLOCKED - 1);
    access[0].blocked = !!(store & PMU_FORWARD_BLOCKED);
    if (lines == 1 && is_plain(&access[0])) {
        return false;
    }
    outcome->access[i] = access[0];
    outcome->special |= 1ull << i;
    if (lines == 2) {
        outcome->second[i] = access[1];
        outcome->split |= 1ull << i;
    }
    return is_smc(access, lines);
}

/* Returns whether the machine is cleared. */
static bool observe_access(PmuObserver *o, unsigned i,
                           const PmuBlockAccess *kind, uint64_t addr)
{
    uint32_t store = kind->load
                     ? pmu_memory_forward(&o->mem, addr, kind->size) : 0;
    bool smc = false;

    if ((store || !pmu_memory_hit(&o->mem, addr, kind->size)) &&
        (kind->load || kind->store)) {
        smc = special_access(o, i, addr, kind, store);
    }
    if (kind->store) {
        uint64_t line = addr >> PMU_LINE_SHIFT;

        pmu_memory_note_store(&o->mem, addr, kind->size);
        o->outcome.same_line |= (uint64_t)(line == o->store_line) << i;
        o->store_line = line;
    }
    return smc;
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

/* Fetch goes on in segment @n of @block, with its instruction @from. */
static void observe_segment(PmuObserver *o, const PmuBlock *block, unsigned n,
                            unsigned from, uint64_t pc)
{
    pmu_fetcher_segment(&o->fetcher, block, n, from, pc, &o->outcome);
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
    outcome->smc = false;
    outcome->legacy = 0;
    outcome->special = 0;
    outcome->split = 0;
    outcome->same_line = 0;
    pmu_memory_horizon(&o->mem, PMU_OUTCOME_FILLS);
}

/* Returns whether the machine is cleared. */
static bool observe_index(PmuObserver *o, const PmuBlock *block,
                          unsigned index, const uint64_t *addr)
{
    const PmuBlockAccess *kind;

    if (index == PMU_NO_ACCESS) {
        return false;
    }
    kind = &block->accesses[index];
    if (o->fetcher.watched) {
        return observe_access(o, index, kind, addr[index]);
    }
    return !pmu_memory_hit(&o->mem, addr[index], kind->size) &&
           pmu_observe_brief_access(o, kind, addr[index]);
}

/* Instruction @i of @block; returns whether it clears the machine. */
static bool observe_insn(PmuObserver *o, const PmuBlock *block, unsigned i,
                         const uint64_t *addr)
{
    const PmuBlockInsn *bi = &block->insns[i];
    bool smc = observe_index(o, block, bi->ea, addr);

    return observe_index(o, block, bi->stack, addr) || smc;
}

/*
 * Instructions [@first, @last) of @block, which are in segment @n.  Returns
 * how far: see pmu_observe().  Sets @outcome.smc.
 */
static unsigned observe_insns(PmuObserver *o, const PmuBlock *block,
                              unsigned n, unsigned first, unsigned last,
                              const PmuDynamic *dynamic)
{
    unsigned i = first;

    observe_segment(o, block, n, first, dynamic->pc);
    while (i < last && !o->outcome.smc) {
        o->outcome.smc = observe_insn(o, block, i++, dynamic->addr);
    }
    pmu_fetcher_build(&o->fetcher, block, first, i);
    return i;
}

void pmu_observe_clear(PmuObserver *o)
{
    pmu_ledger_event(o->ledger, PMU_ITEM_CLEARS, 1);
    pmu_ledger_event(o->ledger, PMU_ITEM_CLEARS_SMC, 1);
    pmu_fetcher_restart(&o->fetcher);
}

/* All before instruction @last of @block was observed. */
static void observe_end(PmuObserver *o, const PmuBlock *block, unsigned last,
                        const PmuDynamic *dynamic)
{
    pmu_fetcher_end(&o->fetcher, block, last);
    if (last == block->num_insns) {
        o->outcome.branch = observe_branch(o, block, dynamic);
    }
    if (G_UNLIKELY(o->outcome.smc)) {
        pmu_mark(&o->marks, PMU_MARK_SMC);
        pmu_observe_clear(o);
    }
}

unsigned pmu_observe(PmuObserver *o, const PmuBlock *block,
                     unsigned first, unsigned last, const PmuDynamic *dynamic)
{
    observe_begin(o);
    pmu_fetcher_begin(&o->fetcher, block, first);
    for (unsigned n = 0; n < block->num_segments && !o->outcome.smc; n++) {
        unsigned from = MAX(first, block->segments[n].first);
        unsigned end = n + 1 < block->num_segments
                       ? MIN(last, block->segments[n + 1].first) : last;

        if (from < end) {
            end = observe_insns(o, block, n, from, end, dynamic);
            last = o->outcome.smc ? end : last;
        }
    }
    observe_end(o, block, last, dynamic);
    return last;
}

void pmu_observe_string(PmuObserver *o, const PmuBlock *block,
                        unsigned index, uint64_t pc)
{
    observe_begin(o);
    pmu_fetcher_begin(&o->fetcher, block, index);
    observe_segment(o, block, block->num_segments - 1, index, pc);
    pmu_fetcher_build(&o->fetcher, block, index, index + 1);
    pmu_fetcher_end(&o->fetcher, block, index + 1);
}

/* Briefly. */

bool pmu_observe_brief_access(PmuObserver *o, const PmuBlockAccess *kind,
                              uint64_t addr)
{
    PmuAccess access[2];
    unsigned lines;

    if (!kind->load && !kind->store) {
        return false;
    }
    pmu_memory_horizon(&o->mem, 0);
    lines = data_access(o, addr, kind, access);
    return is_smc(access, lines);
}

/* What is left of @block from instruction @first on, one by one. */
static void observe_rest(PmuObserver *o, const PmuBlock *block,
                         unsigned first, const PmuDynamic *dynamic)
{
    while (first < block->num_insns) {
        first = pmu_observe(o, block, first, block->num_insns, dynamic);
    }
}

/* The instruction of @block that makes access @index, or their number. */
static unsigned insn_of(const PmuBlock *block, unsigned index)
{
    unsigned i = 0;

    while (i < block->num_insns && block->insns[i].ea != index &&
           block->insns[i].stack != index) {
        i++;
    }
    return i;
}

/* The first instruction of @block in the segment of instruction @insn. */
static unsigned segment_begin(const PmuBlock *block, unsigned insn)
{
    unsigned n = block->num_segments - 1;

    while (block->segments[n].first > insn) {
        n--;
    }
    return block->segments[n].first;
}

void pmu_observe_brief_clear(PmuObserver *o, const PmuBlock *block,
                             unsigned i, const PmuDynamic *dynamic)
{
    unsigned insn = insn_of(block, i);

    /* A second access of the same instruction is next. */
    if (i + 1 < block->num_accesses && insn_of(block, i + 1) == insn) {
        observe_index(o, block, i + 1, dynamic->addr);
    }
    pmu_fetcher_begin(&o->fetcher, block, 0);
    pmu_fetcher_build(&o->fetcher, block, segment_begin(block, insn),
                      insn + 1);
    o->outcome.smc = true;
    observe_end(o, block, insn + 1, dynamic);
    observe_rest(o, block, insn + 1, dynamic);
}

/* The segment's accesses from @i on, and then it is built. */
static unsigned brief_build(PmuObserver *o, const PmuBlock *block, unsigned n,
                            unsigned i, const PmuDynamic *dynamic)
{
    bool last = n + 1 == block->num_segments;
    const PmuBlockSegment *segment = &block->segments[n];
    unsigned end = last ? block->num_accesses : segment[1].first_access;

    for (; i < end; i++) {
        const PmuBlockAccess *kind = &block->accesses[i];

        if (!pmu_memory_hit(&o->mem, dynamic->addr[i], kind->size) &&
            pmu_observe_brief_access(o, kind, dynamic->addr[i])) {
            pmu_observe_brief_clear(o, block, i, dynamic);
            return PMU_NO_ACCESS;
        }
    }
    pmu_fetcher_begin(&o->fetcher, block, 0);
    pmu_fetcher_build(&o->fetcher, block, segment->first,
                      last ? block->num_insns : segment[1].first);
    return i;
}

unsigned pmu_observe_brief_segment(PmuObserver *o, const PmuBlock *block,
                                   unsigned n, unsigned i,
                                   const PmuDynamic *dynamic)
{
    o->outcome.looping = false;
    o->outcome.legacy = 0;
    o->fetcher.first = 0;
    observe_segment(o, block, n, block->segments[n].first, dynamic->pc);
    return o->fetcher.building ? brief_build(o, block, n, i, dynamic) : i;
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
