/*
 * The timing model: executed instructions in, slots and events out.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Run time, below the line.
 *
 * Instructions issue in order, @width slots a cycle, as early as fetch, the
 * reorder buffer, the store buffer and serialising instructions permit.  Each
 * is dispatched once its sources are ready and its group of ports has room,
 * completes after its latency and retires in order.  Slots that issue are
 * retiring slots; those that pass in between get the one class of what the
 * issue waited for.  Clock and ledger advance together, so nothing is lost.
 */

#include <glib.h>
#include <string.h>

#include "bpred.h"
#include "frontend.h"
#include "memory.h"
#include "timing.h"

/* More micro-ops than any reorder buffer and instruction together. */
#define RING_SIZE 1024
G_STATIC_ASSERT(RING_SIZE > PMU_MAX_ROB + UINT8_MAX);

/*
 * A cycle in which something ends, and whether that waits for memory: so that
 * the later of two brings its reason along.
 */
typedef uint64_t Stamp;
#define STAMP(cycle, memory)    ((cycle) << 1 | (memory))
#define STAMP_CYCLE(stamp)      ((stamp) >> 1)
#define STAMP_MEMORY(stamp)     ((stamp) & 1)

/* A REP string instruction on its way; see timing_string(). */
typedef struct StringState {
    bool active;
    uint64_t pc;
    uint64_t bytes;             /* done so far */
    uint64_t src_line, dst_line;        /* touched last */
    uint64_t ready;             /* when these lines are there */
    bool memory;
} StringState;

struct PmuTiming {
    const PmuUarch *uarch;
    PmuLedger *ledger;

    /* The clock: the next slot to be filled. */
    uint64_t cycle;
    uint32_t slot;
    uint32_t width;

    uint64_t uops;              /* issued, fused domain */
    uint64_t rob;
    Stamp retired;              /* of the newest micro-op */
    Stamp barrier;              /* no issue before */
    uint64_t loads_from;        /* no load starts before */
    uint64_t ready[PMU_REG_NR + 1];     /* the last is written for "none" */
    uint64_t unit_free[PMU_UNIT_NR];    /* in 1/16 cycles */
    uint32_t fuse;              /* PMU_FUSE_x that the last instruction can */
    uint64_t stores;
    uint64_t drained;           /* when the newest store left its buffer */
    uint64_t store_line;        /* that it went to */
    Stamp ring[RING_SIZE];      /* by micro-op: when it retired */
    uint64_t store_ring[PMU_MAX_STORE_BUFFER];  /* when it left */

    PmuFrontend fe;
    PmuMemory mem;
    PmuBpred *bpred;
    StringState string;
};

PmuTiming *pmu_timing_new(const PmuUarch *uarch, PmuLedger *ledger,
                          PmuTranslate translate, void *opaque)
{
    PmuTiming *t = g_try_new0(PmuTiming, 1);

    if (!t) {
        return NULL;
    }
    pmu_ledger_init(ledger, uarch->width, uarch->tsc_num, uarch->tsc_den,
                    uarch->xclk_num, uarch->xclk_den);
    t->uarch = uarch;
    t->ledger = ledger;
    t->width = uarch->width;
    t->rob = uarch->rob;
    t->bpred = pmu_bpred_new(uarch);
    if (!pmu_memory_init(&t->mem, uarch, ledger, translate, opaque) ||
        !pmu_frontend_init(&t->fe, uarch, &t->mem) || !t->bpred) {
        pmu_timing_free(t);
        return NULL;
    }
    return t;
}

void pmu_timing_free(PmuTiming *t)
{
    if (t) {
        pmu_bpred_free(t->bpred);
        pmu_frontend_destroy(&t->fe);
        pmu_memory_destroy(&t->mem);
        g_free(t);
    }
}

uint64_t pmu_timing_clock(const PmuTiming *t)
{
    return t->cycle * t->width + t->slot;
}

/* Slots up to the start of @cycle, if that is to come, pass as @class. */
static void lose(PmuTiming *t, uint64_t cycle, PmuSlotClass class)
{
    if (cycle > t->cycle) {
        pmu_ledger_slots(t->ledger, class,
                         (cycle - t->cycle) * t->width - t->slot);
        t->cycle = cycle;
        t->slot = 0;
    }
}

static void lose_backend(PmuTiming *t, Stamp until)
{
    lose(t, STAMP_CYCLE(until),
         STAMP_MEMORY(until) ? PMU_SLOT_MEMORY_BOUND : PMU_SLOT_CORE_BOUND);
}

/*
 * Latency means cycles without any micro-op, bandwidth the rest of a cycle
 * that had some: IDQ_UOPS_NOT_DELIVERED.CYCLES_0_UOPS_DELIV.CORE.
 */
static void lose_frontend(PmuTiming *t, uint64_t until)
{
    if (until > t->cycle) {
        if (t->slot) {
            lose(t, t->cycle + 1, PMU_SLOT_FETCH_BANDWIDTH);
        }
        lose(t, until, PMU_SLOT_FETCH_LATENCY);
    }
}

/* Take over what the ledger's owner did to the open cycle. */
static void sync_level(PmuTiming *t, PmuLevel level)
{
    pmu_ledger_set_level(t->ledger, level, PMU_SLOT_FETCH_LATENCY);
    if (t->slot && !t->ledger->open) {
        t->cycle++;
        t->slot = 0;
    }
}

void pmu_timing_reset(PmuTiming *t)
{
    /* Whole cycles, so that the clock and the ledger agree from here on. */
    sync_level(t, t->ledger->level);
    lose(t, t->cycle + (t->slot != 0), PMU_SLOT_FETCH_LATENCY);
    pmu_memory_reset(&t->mem);
    pmu_frontend_reset(&t->fe);
    pmu_bpred_reset(t->bpred);
    memset(t->ready, 0, sizeof(t->ready));
    memset(t->unit_free, 0, sizeof(t->unit_free));
    memset(t->ring, 0, sizeof(t->ring));
    memset(t->store_ring, 0, sizeof(t->store_ring));
    t->fe.cycle = t->cycle;
    t->uops = 0;
    t->retired = 0;
    t->barrier = 0;
    t->loads_from = 0;
    t->fuse = 0;
    t->stores = 0;
    t->drained = 0;
    t->store_line = 0;
    t->string = (StringState) {};
}

void pmu_timing_flush_mappings(PmuTiming *t, uint64_t linear)
{
    pmu_memory_flush_mappings(&t->mem, linear);
}

void pmu_timing_interrupt(PmuTiming *t)
{
    uint64_t end = STAMP_CYCLE(t->retired);

    t->fuse = 0;
    t->string.active = false;
    t->barrier = MAX(t->barrier, t->retired);
    pmu_frontend_restart(&t->fe, MAX(end, t->cycle) +
                                 t->uarch->far_branch_penalty);
}

/* Issue @n micro-ops of one instruction in the next slots. */
static inline void issue(PmuTiming *t, uint32_t n)
{
    t->slot += n;
    while (t->slot >= t->width) {
        t->slot -= t->width;
        t->cycle++;
    }
    t->uops += n;
}

/* The @n newest micro-ops retire at @done at the earliest. */
static inline void retire(PmuTiming *t, uint32_t n, Stamp done)
{
    if (done > t->retired) {
        t->retired = done;
    }
    for (uint64_t uop = t->uops - n; uop != t->uops; uop++) {
        t->ring[uop % RING_SIZE] = t->retired;
    }
}

/* When the reorder buffer has room for @n micro-ops more. */
static inline Stamp rob_room(const PmuTiming *t, uint32_t n)
{
    return t->ring[(t->uops + n - 1 - t->rob) % RING_SIZE];
}

/*
 * A turn on a group of ports that is not pipelined further, from @cycle on.
 * Room is used up on the issue clock: an instruction that waits for its
 * sources does not keep later ones from the ports.
 */
static inline uint64_t take_unit(PmuTiming *t, PmuUnit unit, uint32_t cost,
                                 uint64_t cycle)
{
    uint64_t turn = MAX(t->unit_free[unit], cycle << 4);

    t->unit_free[unit] = turn + cost;
    return turn >> 4;
}

/* Stores leave in order: one a cycle, two if they go to the same line. */
static void drain(PmuTiming *t, uint64_t addr, uint64_t owned)
{
    uint64_t line = addr >> PMU_LINE_SHIFT;
    uint64_t turn = t->drained + (line != t->store_line);

    t->drained = MAX(MAX(turn, owned), STAMP_CYCLE(t->retired));
    t->store_line = line;
    t->store_ring[t->stores++ % PMU_MAX_STORE_BUFFER] = t->drained;
}

/* When the store buffer has room for one more. */
static uint64_t store_room(const PmuTiming *t)
{
    uint64_t oldest = t->stores - t->uarch->store_buffer;

    return t->stores < t->uarch->store_buffer
           ? 0 : t->store_ring[oldest % PMU_MAX_STORE_BUFFER];
}

/*
 * A branch was predicted wrongly and resolves at @resolved: until then
 * micro-ops of the wrong path issue, if the reorder buffer has room for them;
 * after that the pipeline refills.
 */
static void mispredict(PmuTiming *t, Stamp resolved)
{
    uint64_t end = STAMP_CYCLE(resolved);
    uint64_t full = t->cycle + t->rob / t->width;
    uint64_t wrong = pmu_timing_clock(t);

    pmu_ledger_event(t->ledger, PMU_ITEM_BRANCH_MISSES, 1);
    pmu_ledger_event(t->ledger, PMU_ITEM_CLEARS, 1);
    lose(t, MIN(end, full), PMU_SLOT_BR_MISPREDICT);
    pmu_ledger_event(t->ledger, PMU_ITEM_UOPS_ISSUED,
                     pmu_timing_clock(t) - wrong);
    lose_backend(t, resolved);
    lose(t, MAX(end, t->cycle) + t->uarch->mispredict_penalty,
         PMU_SLOT_BR_MISPREDICT);
    pmu_frontend_restart(&t->fe, t->cycle - 1);
}

static void count_branch(PmuTiming *t, const PmuInsn *insn, bool taken)
{
    pmu_ledger_event(t->ledger, PMU_ITEM_BRANCHES, 1);
    pmu_ledger_event(t->ledger, PMU_ITEM_BRANCHES_COND,
                     insn->branch == PMU_BRANCH_COND);
    pmu_ledger_event(t->ledger, PMU_ITEM_BRANCHES_TAKEN, taken);
}

/* The outcome of the branch @bi, which resolves at @resolved. */
static void branch(PmuTiming *t, const PmuBlockInsn *bi,
                   const PmuDynamic *dynamic, Stamp resolved)
{
    uint64_t pc = dynamic->pc + bi->offset;
    uint64_t next = pc + bi->insn.length;
    bool taken = true, hit = true, known = true;

    if (bi->insn.flags & PMU_INSN_LOW32) {
        next &= UINT32_MAX;
    }
    switch (bi->insn.branch) {
    case PMU_BRANCH_COND:
        taken = dynamic->taken;
        hit = pmu_bpred_cond(t->bpred, pc, taken);
        known = !taken || pmu_bpred_btb(t->bpred, pc);
        break;
    case PMU_BRANCH_JMP:
        known = pmu_bpred_btb(t->bpred, pc);
        break;
    case PMU_BRANCH_CALL:
        known = pmu_bpred_btb(t->bpred, pc);
        pmu_bpred_call(t->bpred, next);
        break;
    case PMU_BRANCH_JMP_INDIRECT:
        hit = pmu_bpred_indirect(t->bpred, pc, dynamic->target);
        break;
    case PMU_BRANCH_CALL_INDIRECT:
        hit = pmu_bpred_indirect(t->bpred, pc, dynamic->target);
        pmu_bpred_call(t->bpred, next);
        break;
    case PMU_BRANCH_RET:
        hit = pmu_bpred_ret(t->bpred, dynamic->target);
        break;
    default:
        /* Far transfers are not predicted: fetch waits for them. */
        count_branch(t, &bi->insn, true);
        pmu_frontend_restart(&t->fe, STAMP_CYCLE(resolved) +
                                     t->uarch->far_branch_penalty);
        return;
    }
    count_branch(t, &bi->insn, taken);
    if (!hit) {
        mispredict(t, resolved);
    } else if (taken) {
        pmu_frontend_taken(&t->fe, pc, t->uops, known, t->cycle);
    } else {
        pmu_frontend_not_taken(&t->fe, pc);
    }
}

/*
 * Is @insn the second of a fused pair?  A pair never straddles the start of a
 * line (uiCA).
 */
static inline bool fuses(const PmuTiming *t, const PmuInsn *insn, uint64_t pc)
{
    return (t->fuse & insn->fuse) && (insn->flags & PMU_INSN_FUSE_SECOND) &&
           (pc & (PMU_LINE_SIZE - 1));
}

/* Instructions that need more than the plain path. */
#define SPECIAL (PMU_INSN_SERIALIZING | PMU_INSN_BLOCKS_ISSUE | \
                 PMU_INSN_FENCES_LOADS)

static void special_before(PmuTiming *t, const PmuInsn *insn)
{
    if (insn->flags & PMU_INSN_SERIALIZING) {
        lose_backend(t, t->retired);
        lose(t, t->cycle + t->uarch->serialize_penalty, PMU_SLOT_CORE_BOUND);
    }
}

static void special_after(PmuTiming *t, const PmuInsn *insn, Stamp done)
{
    if (insn->flags & PMU_INSN_BLOCKS_ISSUE) {
        t->barrier = MAX(t->barrier, done);
    }
    if (insn->flags & PMU_INSN_FENCES_LOADS) {
        t->loads_from = MAX(t->loads_from, STAMP_CYCLE(done));
    }
}

/* Enter @n issued slots of @insn: all but the first are heavy operations. */
static inline void enter_issued(PmuTiming *t, const PmuInsn *insn, uint32_t n)
{
    if (G_LIKELY(n == 1)) {
        pmu_ledger_slots(t->ledger, PMU_SLOT_LIGHT_OPS, 1);
    } else if (insn->flags & PMU_INSN_MICROCODED) {
        pmu_ledger_slots(t->ledger, PMU_SLOT_HEAVY_OPS, n);
    } else if (n) {
        pmu_ledger_slots(t->ledger, PMU_SLOT_LIGHT_OPS, 1);
        pmu_ledger_slots(t->ledger, PMU_SLOT_HEAVY_OPS, n - 1);
    }
    pmu_ledger_event(t->ledger, PMU_ITEM_UOPS_ISSUED, n);
}

/* Wait until @n micro-ops of @insn can issue. */
static inline void wait_to_issue(PmuTiming *t, const PmuInsn *insn, uint32_t n)
{
    Stamp backend = MAX(rob_room(t, n), t->barrier);

    if (insn->flags & (PMU_INSN_STORE | PMU_INSN_STACK_STORE)) {
        backend = MAX(backend, STAMP(store_room(t), 1));
    }
    if (G_UNLIKELY(STAMP_CYCLE(backend) > t->cycle)) {
        lose_backend(t, backend);
    }
    if (G_UNLIKELY(t->fe.cycle > t->cycle)) {
        lose_frontend(t, t->fe.cycle);
    }
}

/* When the registers that @insn computes with are ready, from @from on. */
static inline uint64_t sources_ready(const PmuTiming *t, const PmuInsn *insn,
                                     uint64_t from)
{
    from = MAX(from, t->ready[insn->src[0]]);
    from = MAX(from, t->ready[insn->src[1]]);
    if (insn->flags & PMU_INSN_MANY_SRCS) {
        for (int i = 2; i < PMU_INSN_SRCS; i++) {
            from = MAX(from, t->ready[insn->src[i]]);
        }
    }
    return from;
}

#define LOADS   (PMU_INSN_LOAD | PMU_INSN_STACK_LOAD)
#define STORES  (PMU_INSN_STORE | PMU_INSN_STACK_STORE)

static inline uint64_t load(PmuTiming *t, const PmuInsn *insn, uint8_t index,
                            uint64_t start, const PmuDynamic *dynamic)
{
    if (index == PMU_NO_ACCESS) {
        return start + t->mem.l1d_latency;
    }
    pmu_ledger_event(t->ledger, PMU_ITEM_L1D_ACCESSES, 1);
    return pmu_memory_load(&t->mem, dynamic->addr[index],
                           insn->access_size, start);
}

/* When all loads of @bi have their data, its address known at @start. */
static uint64_t loads(PmuTiming *t, const PmuBlockInsn *bi, uint64_t start,
                      const PmuDynamic *dynamic)
{
    const PmuInsn *insn = &bi->insn;
    uint64_t ready = 0;
    uint64_t turn = take_unit(t, PMU_UNIT_LOAD, t->uarch->load_cost,
                              t->cycle + t->uarch->issue_to_dispatch);

    start = MAX(MAX(start, turn), t->loads_from);
    if (insn->flags & PMU_INSN_LOAD) {
        ready = load(t, insn, bi->ea, start, dynamic);
    }
    if (insn->flags & PMU_INSN_STACK_LOAD) {
        ready = MAX(ready, load(t, insn, bi->stack, start, dynamic));
    }
    return insn->flags & PMU_INSN_PREFETCH ? start : ready;
}

/* One store of @bi, its address known at @start and its data at @data. */
static void store_one(PmuTiming *t, const PmuInsn *insn, uint8_t index,
                      uint64_t start, uint64_t data,
                      const PmuDynamic *dynamic)
{
    uint64_t owned;

    if (index == PMU_NO_ACCESS) {
        return;
    }
    pmu_ledger_event(t->ledger, PMU_ITEM_L1D_ACCESSES, 1);
    owned = pmu_memory_store(&t->mem, dynamic->addr[index], insn->access_size,
                             start, data);
    drain(t, dynamic->addr[index], owned);
}

static void stores(PmuTiming *t, const PmuBlockInsn *bi, uint64_t start,
                   uint64_t data, const PmuDynamic *dynamic)
{
    const PmuInsn *insn = &bi->insn;

    if (insn->flags & PMU_INSN_STORE) {
        store_one(t, insn, bi->ea, start, data, dynamic);
    }
    if (insn->flags & PMU_INSN_STACK_STORE) {
        store_one(t, insn, bi->stack, start, data, dynamic);
    }
}

/* Execute, retire and account for @bi, which has just been issued. */
static inline Stamp execute(PmuTiming *t, const PmuBlockInsn *bi, uint32_t n,
                            const PmuDynamic *dynamic)
{
    const PmuInsn *insn = &bi->insn;
    uint64_t earliest = t->cycle + t->uarch->issue_to_dispatch;
    uint64_t address = earliest, start = earliest, done;
    bool memory = false;
    Stamp stamp;

    if (insn->unit != PMU_UNIT_NONE) {
        start = take_unit(t, insn->unit, insn->occupancy, earliest);
    }
    start = sources_ready(t, insn, start);
    if (insn->flags & (LOADS | STORES)) {
        uint64_t arrives;

        address = MAX(address, t->ready[insn->addr_src[0]]);
        address = MAX(address, t->ready[insn->addr_src[1]]);
        if (insn->flags & LOADS) {
            arrives = loads(t, bi, address, dynamic);
            memory = arrives >= start && arrives - address > insn->latency;
            start = MAX(start, arrives);
        }
    }
    /* The second of a fused pair executes with the first. */
    done = start + (n ? insn->latency : 0);
    t->ready[insn->dst[0]] = done;
    t->ready[insn->dst[1]] = done;
    t->ready[insn->dst[2]] = done;
    /* It cannot retire in the cycle it begins to execute in. */
    stamp = STAMP(MAX(done, address) + 1, memory);
    retire(t, n, stamp);
    if (insn->flags & STORES) {
        stores(t, bi, address, done, dynamic);
    }
    return STAMP(done, memory);
}

static void run_string(PmuTiming *t, const PmuBlock *block,
                       const PmuBlockInsn *bi, const PmuDynamic *dynamic,
                       bool last);

/* One instruction that retired; @dynamic tells how it went. */
static inline void run_insn(PmuTiming *t, const PmuBlock *block,
                            const PmuBlockInsn *bi, const PmuDynamic *dynamic)
{
    const PmuInsn *insn = &bi->insn;
    uint64_t pc = dynamic->pc + bi->offset;
    uint32_t n = insn->slots;
    Stamp done;

    if (G_UNLIKELY(t->fuse)) {
        n = fuses(t, insn, pc) ? 0 : n;
    }
    t->fuse = insn->flags & PMU_INSN_FUSE_FIRST ? insn->fuse : 0;
    pmu_frontend_fetch(&t->fe, block, bi, pc,
                       n + !!(insn->flags & PMU_INSN_IMM64), t->cycle);
    if (G_UNLIKELY(insn->flags & SPECIAL)) {
        special_before(t, insn);
    }
    if (n) {
        wait_to_issue(t, insn, n);
        enter_issued(t, insn, n);
    }
    t->mem.now = t->cycle;
    issue(t, n);
    done = execute(t, bi, n, dynamic);
    if (G_UNLIKELY(insn->flags & SPECIAL)) {
        special_after(t, insn, done);
    }
    if (insn->branch != PMU_BRANCH_NONE) {
        branch(t, bi, dynamic, done);
    }
}

void pmu_timing_run(PmuTiming *t, const PmuBlock *block,
                    unsigned first, unsigned last, const PmuDynamic *dynamic)
{
    sync_level(t, block->level);
    for (unsigned i = first; i < last; i++) {
        const PmuBlockInsn *bi = &block->insns[i];

        if (G_UNLIKELY(bi->insn.flags & PMU_INSN_REP)) {
            run_string(t, block, bi, dynamic, true);
        } else {
            run_insn(t, block, bi, dynamic);
        }
    }
    pmu_ledger_event(t->ledger, PMU_ITEM_INSTRUCTIONS, last - first);
}

void pmu_timing_string(PmuTiming *t, const PmuBlock *block,
                       unsigned index, const PmuDynamic *dynamic)
{
    sync_level(t, block->level);
    run_string(t, block, &block->insns[index], dynamic, false);
}

/*
 * REP string instructions.  Cycles and slots are a function of the bytes done
 * so far, so that it does not matter in how many parts they are reported.
 */

/* Slots that a string instruction issues at its start and per 64 bytes. */
typedef struct StringCost {
    uint8_t startup;
    uint16_t slots_64;          /* each 64 bytes, if the element is a byte */
    bool per_element;           /* slots_64 is for 64 elements instead */
} StringCost;

/*
 * InstLatx64, in L1: MOVSB 118 bytes a cycle, STOSB 62; 5 slots a cycle.
 * Compare and scan go element by element, about 2 cycles each (uops.info);
 * so does LODS.  Startup: chosen, 20 to 35 cycles are usually measured.
 */
static const StringCost cost_movs = { 60, 3, false };
static const StringCost cost_stos = { 60, 5, false };
static const StringCost cost_element = { 30, 64 * 8, true };

static const StringCost *string_cost(const PmuInsn *insn)
{
    if (!(insn->flags & PMU_INSN_STACK_STORE)) {
        return &cost_element;
    }
    return insn->flags & PMU_INSN_LOAD ? &cost_movs : &cost_stos;
}

static uint64_t string_slots(const StringCost *cost, const PmuInsn *insn,
                             uint64_t bytes)
{
    uint64_t units = cost->per_element ? bytes / insn->access_size : bytes;

    return units * cost->slots_64 / 64;
}

/* One micro-op of a string instruction, which waits for its line. */
static void string_uop(PmuTiming *t, const PmuInsn *insn)
{
    StringState *s = &t->string;
    uint64_t done;

    wait_to_issue(t, insn, 1);
    pmu_ledger_slots(t->ledger, PMU_SLOT_HEAVY_OPS, 1);
    pmu_ledger_event(t->ledger, PMU_ITEM_UOPS_ISSUED, 1);
    t->mem.now = t->cycle;
    issue(t, 1);
    done = MAX(t->cycle + t->uarch->issue_to_dispatch, s->ready);
    retire(t, 1, STAMP(done + 1, s->memory));
}

/* A string instruction goes to another line of one of its operands. */
static void string_touch(PmuTiming *t, uint64_t addr, bool is_store)
{
    StringState *s = &t->string;
    uint64_t start = MAX(t->cycle + t->uarch->issue_to_dispatch,
                         t->loads_from);
    uint64_t line = addr & ~(uint64_t)(PMU_LINE_SIZE - 1);
    uint64_t ready = pmu_memory_access(&t->mem, line, 1, start);

    pmu_ledger_event(t->ledger, PMU_ITEM_L1D_ACCESSES, 1);
    if (is_store) {
        drain(t, line, ready);
    } else {
        s->ready = MAX(s->ready, ready);
        s->memory = true;
    }
}

/* Which lines the element at @done bytes from the start lies in. */
static void string_lines(PmuTiming *t, const PmuInsn *insn, uint64_t src,
                         uint64_t dst)
{
    StringState *s = &t->string;

    if ((insn->flags & PMU_INSN_LOAD) &&
        src >> PMU_LINE_SHIFT != s->src_line) {
        s->src_line = src >> PMU_LINE_SHIFT;
        string_touch(t, src, false);
    }
    if ((insn->flags & (PMU_INSN_STACK_LOAD | PMU_INSN_STACK_STORE)) &&
        dst >> PMU_LINE_SHIFT != s->dst_line) {
        s->dst_line = dst >> PMU_LINE_SHIFT;
        string_touch(t, dst, insn->flags & PMU_INSN_STACK_STORE);
    }
}

static void string_begin(PmuTiming *t, const PmuBlock *block,
                         const PmuBlockInsn *bi, uint64_t pc)
{
    StringState *s = &t->string;
    const PmuInsn *insn = &bi->insn;
    uint64_t from;

    *s = (StringState) {
        .active = true, .pc = pc,
        .src_line = UINT64_MAX, .dst_line = UINT64_MAX,
    };
    t->fuse = 0;
    pmu_frontend_fetch(&t->fe, block, bi, pc, insn->slots, t->cycle);
    from = sources_ready(t, insn, t->cycle + t->uarch->issue_to_dispatch);
    from = MAX(from, t->ready[insn->addr_src[0]]);
    from = MAX(from, t->ready[insn->addr_src[1]]);
    s->ready = from;
    for (uint32_t i = 0; i < string_cost(insn)->startup; i++) {
        string_uop(t, insn);
    }
}

/*
 * @dynamic->iterations of the string instruction @bi: element by element,
 * each touching lines it is the first to reach, then issuing the micro-ops
 * due once its bytes are done.
 */
static void run_string(PmuTiming *t, const PmuBlock *block,
                       const PmuBlockInsn *bi, const PmuDynamic *dynamic,
                       bool last)
{
    StringState *s = &t->string;
    const PmuInsn *insn = &bi->insn;
    const StringCost *cost = string_cost(insn);
    uint64_t pc = dynamic->pc + bi->offset;
    uint64_t src = bi->ea != PMU_NO_ACCESS ? dynamic->addr[bi->ea] : 0;
    uint64_t dst = bi->stack != PMU_NO_ACCESS ? dynamic->addr[bi->stack] : 0;
    uint64_t size = insn->access_size;
    uint64_t step = dynamic->backwards ? -size : size;

    if (!s->active || s->pc != pc) {
        string_begin(t, block, bi, pc);
    }
    for (uint64_t i = 0; i < dynamic->iterations; i++) {
        uint64_t due = string_slots(cost, insn, s->bytes + size) -
                       string_slots(cost, insn, s->bytes);

        string_lines(t, insn, src, dst);
        src += step;
        dst += step;
        s->bytes += size;
        for (; due; due--) {
            string_uop(t, insn);
        }
    }
    if (last) {
        for (int i = 0; i < PMU_INSN_DSTS; i++) {
            t->ready[insn->dst[i]] = STAMP_CYCLE(t->retired);
        }
        s->active = false;
    }
}
