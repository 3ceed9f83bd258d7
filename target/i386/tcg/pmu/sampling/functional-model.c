/*
 * The functional model: caches, TLBs, predictors and fetch, without any time.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>
#include <string.h>

#include "tcg/pmu/sampling/functional-model.h"

bool pmu_functional_init(PmuFunctionalModel *o, const PmuUarch *uarch,
                         PmuLedger *ledger, PmuL3 *l3, PmuTranslate translate,
                         void *opaque)
{
    o->ledger = ledger;
    o->store_line = UINT64_MAX;
    o->code_line = UINT64_MAX;
    o->bpred = pmu_branch_predictor_new(uarch);
    if (!o->bpred ||
        !pmu_memory_init(&o->mem, uarch, ledger, l3, translate, opaque) ||
        !pmu_fetch_unit_init(&o->fetcher, uarch, &o->mem, o->bpred)) {
        pmu_functional_destroy(o);
        return false;
    }
    o->history = pmu_branch_predictor_history(o->bpred);
    o->direction = pmu_branch_predictor_direction(o->bpred);
    return true;
}

void pmu_functional_destroy(PmuFunctionalModel *o)
{
    g_clear_pointer(&o->bpred, pmu_branch_predictor_free);
    pmu_fetch_unit_destroy(&o->fetcher);
    pmu_memory_destroy(&o->mem);
}

void pmu_functional_reset(PmuFunctionalModel *o)
{
    o->covariates = (PmuCovariates) {};
    o->store_line = UINT64_MAX;
    o->code_line = UINT64_MAX;
    pmu_memory_reset(&o->mem);
    pmu_fetch_unit_reset(&o->fetcher);
    pmu_branch_predictor_reset(o->bpred);
}

void pmu_functional_interrupt(PmuFunctionalModel *o)
{
    pmu_fetch_unit_restart(&o->fetcher);
}

void pmu_functional_skip(PmuFunctionalModel *o)
{
    o->store_line = UINT64_MAX;
    o->code_line = UINT64_MAX;
    pmu_fetch_unit_restart(&o->fetcher);
    pmu_memory_skip_stores(&o->mem);
}

void pmu_functional_skip_all(PmuFunctionalModel *o)
{
    pmu_branch_predictor_forget_calls(o->bpred);
}

void pmu_functional_fetch_lines(PmuFunctionalModel *o, uint64_t pc,
                                uint64_t phys, uint64_t length)
{
    uint64_t in_page = phys % (1u << PMU_PAGE_SHIFT);
    uint64_t before = phys % PMU_LINE_SIZE;
    uint64_t end = before + MIN(length, (1u << PMU_PAGE_SHIFT) - in_page);

    for (uint64_t at = 0; at < end; at += PMU_LINE_SIZE) {
        PmuAccessOutcome access;

        pmu_memory_fetch(&o->mem, pc - before + at, phys - before + at,
                         &access);
        o->code_line = (phys + at) >> PMU_LINE_SHIFT;
    }
}

PmuCodeMisses pmu_functional_code_misses(const PmuFunctionalModel *o)
{
    const uint64_t *event = o->ledger->event[o->ledger->level];
    PmuCodeMisses misses;

    for (unsigned i = 0; i < PMU_FOUND_IN_NR; i++) {
        misses.from[i] = event[PMU_ITEM_CODE_L2 + i];
    }
    return misses;
}

/* Data. */

/*
 * Add to the covariates the cycles that a load, or a @store, waits for its
 * translation and line, beyond what L1D takes.
 */
static void wait_for(PmuFunctionalModel *o, const PmuAccessOutcome *access,
                     bool store)
{
    static const uint8_t source_of[] = {
        [PMU_SOURCE_L1] = PMU_COVARIATE_WAIT_L1,
        [PMU_SOURCE_FILL] = PMU_COVARIATE_WAIT_L1,
        [PMU_SOURCE_L2] = PMU_COVARIATE_WAIT_L2,
        [PMU_SOURCE_PREFETCH] = PMU_COVARIATE_WAIT_L2,
        [PMU_SOURCE_L3] = PMU_COVARIATE_WAIT_L3,
        [PMU_SOURCE_DRAM] = PMU_COVARIATE_WAIT_DRAM,
    };
    const PmuUarch *uarch = o->mem.uarch;
    const uint32_t latency[] = {
        0, uarch->l2.latency, uarch->l3.latency,
        pmu_uarch_dram_latency(uarch),
    };
    PmuCovariate source = source_of[access->source];
    uint32_t before = access->delay + access->walk;
    uint32_t line = latency[source] + access->snoop;

    if (store) {
        o->covariates.n[PMU_COVARIATE_WAIT_STORE] += before + line;
    } else {
        o->covariates.n[PMU_COVARIATE_WAIT_L1] += before;
        o->covariates.n[source] += line;
    }
}

/*
 * Show the caches an access at @addr with a PmuHint, for which nothing waits.
 * Returns its number of lines, 1 or 2, with their outcomes in @access.
 */
static unsigned hint(PmuMemory *mem, uint64_t addr,
                     const PmuBlockAccess *kind, PmuAccessOutcome access[2])
{
    switch ((PmuHint)kind->hint) {
    case PMU_HINT_STREAM:
        return pmu_memory_non_temporal_store(mem, addr, kind->size, access);
    case PMU_HINT_FLUSH:
        pmu_memory_flush_line(mem, addr, access);
        break;
    default:
        pmu_memory_prefetch(mem, addr, kind->hint, access);
    }
    return 1;
}

/* Show the caches any access that may not be a plain hit; returns the same. */
static unsigned data_access(PmuFunctionalModel *o, uint64_t addr,
                            const PmuBlockAccess *kind,
                            PmuAccessOutcome access[2])
{
    PmuMemory *mem = &o->mem;
    unsigned lines;

    if (kind->hint != PMU_HINT_NONE) {
        return hint(mem, addr, kind, access);
    }
    lines = !kind->store
            ? pmu_memory_load(mem, addr, kind->size, kind->ip, access) :
            !kind->load ? pmu_memory_store(mem, addr, kind->size, access) :
            pmu_memory_update(mem, addr, kind->size, kind->ip, access);
    for (unsigned i = 0; i < lines; i++) {
        wait_for(o, &access[i], !kind->load);
    }
    return lines;
}

/* Did an access to @lines lines store to code that fetch had? */
static bool is_smc(const PmuAccessOutcome access[2], unsigned lines)
{
    return access[0].smc || (lines == 2 && access[1].smc);
}

uint32_t pmu_functional_warm_data(PmuFunctionalModel *o,
                                  const PmuBlockAccess *kind, uint64_t addr)
{
    PmuAccessOutcome access[2];
    uint64_t before = pmu_covariates_wait(&o->covariates);

    if (pmu_block_access_uses_caches(kind)) {
        pmu_memory_set_untimed(&o->mem);
        data_access(o, addr, kind, access);
    }
    return pmu_covariates_wait(&o->covariates) - before;
}

/* The same for pmu_functional_run_fetch(); returns whether it was is_smc(). */
static bool fetch_access(PmuFunctionalModel *o, const PmuBlockAccess *kind,
                         uint64_t addr)
{
    PmuAccessOutcome access[2];

    pmu_memory_set_untimed(&o->mem);
    return !pmu_memory_hit(&o->mem, addr, kind->extent, kind->store) &&
           pmu_block_access_uses_caches(kind) &&
           is_smc(access, data_access(o, addr, kind, access));
}

static bool is_plain(const PmuAccessOutcome *access)
{
    static const PmuAccessOutcome plain;

    return !memcmp(access, &plain, sizeof(plain));
}

/*
 * Data access @i at @addr may be other than a plain hit: @store is what store
 * forwarding says.  Returns is_smc().
 */
static bool special_access(PmuFunctionalModel *o, unsigned i, uint64_t addr,
                           const PmuBlockAccess *kind, uint32_t store)
{
    PmuOutcome *outcome = &o->outcome;
    PmuAccessOutcome access[2] = {};
    unsigned lines = data_access(o, addr, kind, access);

    access[0].store = store & (PMU_STORE_FORWARDING_BLOCKED - 1);
    access[0].blocked = !!(store & PMU_STORE_FORWARDING_BLOCKED);
    access[0].alias = store >> PMU_STORE_FORWARDING_ALIAS_SHIFT;
    if (lines == 1 && is_plain(&access[0])) {
        return false;
    }
    outcome->access[i] = access[0];
    outcome->special |= 1ull << i;
    if (lines == 2) {
        outcome->second[i] = access[1];
        outcome->split |= 1ull << i;
    }
    if (access[0].ordering_clear || access[1].ordering_clear) {
        outcome->ordering_clear |= 1ull << i;
        pmu_ledger_event(o->ledger, PMU_ITEM_CLEARS_ORDERING, 1);
    }
    return is_smc(access, lines);
}

/* Data access @i of the block, at @addr; returns whether it was is_smc(). */
static bool observe_access(PmuFunctionalModel *o, unsigned i,
                           const PmuBlockAccess *kind, uint64_t addr)
{
    uint32_t store = kind->load && kind->hint == PMU_HINT_NONE
                     ? pmu_memory_forwarding_store(&o->mem, addr,
                                                   kind->size) : 0;
    bool smc = false;

    if ((store || !pmu_memory_hit(&o->mem, addr, kind->extent, kind->store)) &&
        pmu_block_access_uses_caches(kind)) {
        smc = special_access(o, i, addr, kind, store);
    }
    if (kind->store) {
        uint64_t line = addr >> PMU_LINE_SHIFT;

        pmu_memory_record_store(&o->mem, addr, kind->size);
        o->outcome.same_line |= (uint64_t)(line == o->store_line) << i;
        o->store_line = line;
    }
    return smc;
}

/* Branches. */

/*
 * Train the predictors with the branch at the end of @block, which is at @pc.
 * Returns whether they had predicted it.
 */
static inline bool predict(PmuFunctionalModel *o, const PmuBlock *block,
                           uint64_t pc, const PmuExecution *dynamic)
{
    bool hit = true;

    switch ((PmuBranch)block->branch) {
    case PMU_BRANCH_COND:
        hit = pmu_direction_predictor_predict(o->direction, pc,
                                              dynamic->taken);
        break;
    case PMU_BRANCH_JMP_INDIRECT:
        hit = pmu_branch_predictor_indirect(o->bpred, pc, dynamic->target);
        break;
    case PMU_BRANCH_CALL_INDIRECT:
        hit = pmu_branch_predictor_indirect(o->bpred, pc, dynamic->target);
        pmu_branch_predictor_call(o->bpred, pmu_block_end(block, dynamic->pc));
        break;
    case PMU_BRANCH_CALL:
        pmu_branch_predictor_call(o->bpred, pmu_block_end(block, dynamic->pc));
        break;
    case PMU_BRANCH_RET:
        hit = pmu_branch_predictor_return(o->bpred, dynamic->target);
        break;
    default:
        break;
    }
    o->covariates.n[PMU_COVARIATE_MISPREDICTS] += !hit;
    pmu_functional_add_branch(o, block, dynamic);
    return hit;
}

bool pmu_functional_warm_branch(PmuFunctionalModel *o, const PmuBlock *block,
                                const PmuExecution *dynamic)
{
    return !predict(o, block, dynamic->pc + block->last_offset, dynamic);
}

/* The next four functions return bits PMU_OUTCOME_x. */

/* Count a misprediction in @item; @outcome are its other bits. */
static unsigned mispredicted(PmuFunctionalModel *o, PmuLedgerItem item,
                             unsigned outcome)
{
    pmu_ledger_event(o->ledger, item, 1);
    pmu_fetch_unit_restart(&o->fetcher);
    return outcome | PMU_OUTCOME_MISPREDICT;
}

static inline unsigned observe_cond(PmuFunctionalModel *o,
                                    const PmuBlock *block,
                                    uint64_t pc, const PmuExecution *dynamic)
{
    bool goes = dynamic->taken;

    if (G_UNLIKELY(!predict(o, block, pc, dynamic))) {
        return mispredicted(o, PMU_ITEM_MISSES_COND_NTAKEN + goes,
                            goes ? PMU_OUTCOME_TAKEN : 0);
    }
    if (goes) {
        return pmu_fetch_unit_taken(&o->fetcher, pc, true);
    }
    pmu_fetch_unit_not_taken(&o->fetcher, pc);
    return 0;
}

static unsigned observe_other(PmuFunctionalModel *o, const PmuBlock *block,
                              uint64_t pc, const PmuExecution *dynamic)
{
    /* Only these can be mispredicted. */
    static const PmuLedgerItem misses[] = {
        [PMU_BRANCH_JMP_INDIRECT] = PMU_ITEM_MISSES_JMP_INDIRECT,
        [PMU_BRANCH_CALL_INDIRECT] = PMU_ITEM_MISSES_CALL_INDIRECT,
        [PMU_BRANCH_RET] = PMU_ITEM_MISSES_RET,
    };

    if (!predict(o, block, pc, dynamic)) {
        return mispredicted(o, misses[block->branch], PMU_OUTCOME_TAKEN);
    }
    if (block->branch == PMU_BRANCH_FAR) {
        pmu_fetch_unit_restart(&o->fetcher);
        return PMU_OUTCOME_TAKEN;
    }
    return pmu_fetch_unit_taken(&o->fetcher, pc,
                                block->branch == PMU_BRANCH_JMP ||
                                block->branch == PMU_BRANCH_CALL);
}

static inline unsigned observe_branch(PmuFunctionalModel *o,
                                      const PmuBlock *block,
                                      const PmuExecution *dynamic)
{
    uint64_t pc = dynamic->pc + block->last_offset;

    if (G_LIKELY(block->branch == PMU_BRANCH_COND)) {
        return observe_cond(o, block, pc, dynamic);
    }
    return block->branch == PMU_BRANCH_NONE
           ? 0 : observe_other(o, block, pc, dynamic);
}

/* Blocks. */

static void observe_begin(PmuFunctionalModel *o)
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
    outcome->ordering_clear = 0;
}

/* What the caller asks for. */
typedef enum Detail {
    ALL,                        /* pmu_functional_run() */
    FETCH_ALONE,                /* pmu_functional_run_fetch() */
} Detail;

/* Access @index of @block, if any; returns whether it was is_smc(). */
static inline bool observe_index(PmuFunctionalModel *o, const PmuBlock *block,
                                 unsigned index, const uint64_t *addr,
                                 Detail detail)
{
    const PmuBlockAccess *kind;

    if (index == PMU_NO_ACCESS) {
        return false;
    }
    kind = &block->accesses[index];
    return detail == FETCH_ALONE ? fetch_access(o, kind, addr[index])
                                 : observe_access(o, index, kind, addr[index]);
}

/* Instruction @i of @block ran; returns whether it clears the machine. */
static inline bool observe_insn(PmuFunctionalModel *o, const PmuBlock *block,
                                unsigned i, const uint64_t *addr,
                                Detail detail)
{
    const PmuBlockInsn *bi = &block->insns[i];
    bool smc = observe_index(o, block, bi->ea, addr, detail);

    return observe_index(o, block, bi->stack, addr, detail) || smc;
}

/*
 * Instructions [@first, @last) of @block ran, which are in segment @n.  Returns
 * the index behind the last one observed, as pmu_functional_run() does.  Sets
 * @o->outcome.smc.
 */
static inline unsigned observe_insns(PmuFunctionalModel *o,
                                     const PmuBlock *block,
                                     unsigned n, unsigned first, unsigned last,
                                     const PmuExecution *dynamic, Detail detail)
{
    unsigned i = first;

    pmu_fetch_unit_segment(&o->fetcher, block, n, first, dynamic->pc,
                           &o->outcome);
    for (; i < last && !o->outcome.smc; i++) {
        if (G_UNLIKELY(o->fetcher.building)) {
            pmu_fetch_unit_build(&o->fetcher, block, i);
        }
        o->outcome.smc = observe_insn(o, block, i, dynamic->addr, detail);
    }
    return i;
}

void pmu_functional_machine_clear(PmuFunctionalModel *o)
{
    pmu_ledger_event(o->ledger, PMU_ITEM_CLEARS_SMC, 1);
    pmu_fetch_unit_restart(&o->fetcher);
}

/* All instructions of @block before @last were observed. */
static void observe_end(PmuFunctionalModel *o, const PmuBlock *block,
                        unsigned last, const PmuExecution *dynamic)
{
    pmu_fetch_unit_end(&o->fetcher, block, last);
    if (last == block->num_insns) {
        o->outcome.branch = observe_branch(o, block, dynamic);
    }
    if (G_UNLIKELY(o->outcome.smc)) {
        pmu_functional_machine_clear(o);
    }
}

static inline __attribute__((always_inline))
unsigned observe(PmuFunctionalModel *o, const PmuBlock *block,
                 unsigned first, unsigned last, const PmuExecution *dynamic,
                 Detail detail)
{
    observe_begin(o);
    pmu_fetch_unit_begin(&o->fetcher, block, first);
    for (unsigned n = 0; n < block->num_segments && !o->outcome.smc; n++) {
        unsigned from = MAX(first, block->segments[n].first);
        unsigned end = n + 1 < block->num_segments
                       ? MIN(last, block->segments[n + 1].first) : last;

        if (from < end) {
            end = observe_insns(o, block, n, from, end, dynamic, detail);
            last = o->outcome.smc ? end : last;
        }
    }
    observe_end(o, block, last, dynamic);
    return last;
}

unsigned pmu_functional_run(PmuFunctionalModel *o, const PmuBlock *block,
                            unsigned first, unsigned last,
                            const PmuExecution *dynamic)
{
    return observe(o, block, first, last, dynamic, ALL);
}

unsigned pmu_functional_run_fetch(PmuFunctionalModel *o, const PmuBlock *block,
                                  unsigned first, unsigned last,
                                  const PmuExecution *dynamic)
{
    return observe(o, block, first, last, dynamic, FETCH_ALONE);
}

void pmu_functional_fetch_string(PmuFunctionalModel *o, const PmuBlock *block,
                                 unsigned index, uint64_t pc)
{
    observe_begin(o);
    pmu_fetch_unit_begin(&o->fetcher, block, index);
    pmu_fetch_unit_segment(&o->fetcher, block, block->num_segments - 1, index,
                           pc, &o->outcome);
    if (o->fetcher.building) {
        pmu_fetch_unit_build(&o->fetcher, block, index);
    }
    pmu_fetch_unit_end(&o->fetcher, block, index + 1);
}
