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

/* What every instruction changes: pmu_timing_run() keeps it in registers. */
typedef struct Hot {
    uint64_t cycle;             /* the clock: the next slot to be filled */
    uint64_t slot;
    uint64_t uops;              /* issued, fused domain */
    Stamp retired;              /* of the newest micro-op */
    uint64_t credit;            /* instructions that issue without look() */
} Hot;

struct PmuTiming {
    const PmuUarch *uarch;
    PmuLedger *ledger;
    Hot hot;
    uint64_t width;
    uint64_t rob;
    uint64_t accesses;          /* L1D accesses that the ledger lacks */
    uint64_t entered;           /* micro-ops that the ledger has */
    uint64_t load_cost;         /* 1/16 cycles */
    uint64_t dispatch;          /* cycles from issue, at least */
    Stamp barrier;              /* no issue before */
    uint64_t loads_from;        /* no load starts before */
    uint64_t ready[PMU_REG_NR + 1];     /* the last is written for "none" */
    uint64_t unit_free[PMU_UNIT_NR];    /* in 1/16 cycles */
    uint32_t fuse;              /* PMU_FUSE_x of the last block's last one */
    uint64_t store_buffer;      /* entries */
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
    t->load_cost = uarch->load_cost;
    t->dispatch = uarch->issue_to_dispatch;
    t->store_buffer = uarch->store_buffer;
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
    return t->hot.cycle * t->width + t->hot.slot;
}

/* Enter the slots issued since the last time: they are light operations. */
static inline void flush_light(PmuTiming *t)
{
    pmu_ledger_slots_until(t->ledger, PMU_SLOT_LIGHT_OPS,
                           t->hot.uops - t->entered, t->hot.slot);
    t->entered = t->hot.uops;
}

/* Slots up to the start of @cycle, if that is to come, pass as @class. */
static void lose(PmuTiming *t, uint64_t cycle, PmuSlotClass class)
{
    Hot *hot = &t->hot;

    if (cycle > hot->cycle) {
        flush_light(t);
        pmu_ledger_slots_until(t->ledger, class,
                               (cycle - hot->cycle) * t->width - hot->slot,
                               0);
        hot->cycle = cycle;
        hot->slot = 0;
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
    if (until > t->hot.cycle) {
        if (t->hot.slot) {
            lose(t, t->hot.cycle + 1, PMU_SLOT_FETCH_BANDWIDTH);
        }
        lose(t, until, PMU_SLOT_FETCH_LATENCY);
    }
}

/* Take over what the ledger's owner did to the open cycle. */
static inline void sync_level(PmuTiming *t, PmuLevel level)
{
    if (G_UNLIKELY(level != t->ledger->level)) {
        pmu_ledger_set_level(t->ledger, level, PMU_SLOT_FETCH_LATENCY);
    }
    if (t->hot.slot && !t->ledger->open) {
        t->hot.cycle++;
        t->hot.slot = 0;
    }
}

void pmu_timing_reset(PmuTiming *t)
{
    /* The ledger may be another one by now: its open cycle goes on. */
    t->hot.slot = t->ledger->open;
    pmu_memory_reset(&t->mem);
    pmu_frontend_reset(&t->fe);
    pmu_bpred_reset(t->bpred);
    memset(t->ready, 0, sizeof(t->ready));
    memset(t->unit_free, 0, sizeof(t->unit_free));
    memset(t->ring, 0, sizeof(t->ring));
    memset(t->store_ring, 0, sizeof(t->store_ring));
    t->fe.cycle = t->hot.cycle;
    t->hot.uops = 0;
    t->entered = 0;
    t->hot.retired = 0;
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
    uint64_t end = STAMP_CYCLE(t->hot.retired);

    t->fuse = 0;
    t->string.active = false;
    t->barrier = MAX(t->barrier, t->hot.retired);
    pmu_frontend_restart(&t->fe, MAX(end, t->hot.cycle) +
                                 t->uarch->far_branch_penalty);
}

/* Issue @n micro-ops of one instruction in the next slots. */
static void issue(PmuTiming *t, uint32_t n)
{
    Hot *hot = &t->hot;

    hot->slot += n;
    while (hot->slot >= t->width) {
        hot->slot -= t->width;
        hot->cycle++;
    }
    hot->uops += n;
}

/* The @n newest micro-ops retire at @done at the earliest. */
static void retire(PmuTiming *t, uint32_t n, Stamp done)
{
    Hot *hot = &t->hot;

    hot->retired = MAX(hot->retired, done);
    for (uint64_t uop = hot->uops - n; uop != hot->uops; uop++) {
        t->ring[uop % RING_SIZE] = hot->retired;
    }
}

/* When the reorder buffer has room for @n micro-ops more. */
static Stamp rob_room(const PmuTiming *t, uint32_t n)
{
    return t->ring[(t->hot.uops + n - 1 - t->rob) % RING_SIZE];
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

/*
 * A store that retires at @retired enters the buffer, for a line that is owned
 * from @owned on.  Stores leave in order: one a cycle, two if they go to the
 * same line.
 */
static inline void drain(PmuTiming *t, uint64_t addr, uint64_t owned,
                         Stamp retired)
{
    uint64_t line = addr >> PMU_LINE_SHIFT;
    uint64_t turn = t->drained + (line != t->store_line);

    t->drained = MAX(MAX(turn, owned), STAMP_CYCLE(retired));
    t->store_line = line;
    t->store_ring[t->stores++ % PMU_MAX_STORE_BUFFER] = t->drained;
}

/*
 * When the store buffer has room for one more.  Entries of stores that never
 * were are 0.
 */
static inline uint64_t store_room(const PmuTiming *t)
{
    return t->store_ring[(t->stores - t->store_buffer) %
                         PMU_MAX_STORE_BUFFER];
}

/*
 * A branch was predicted wrongly and resolves at @resolved: until then
 * micro-ops of the wrong path issue, if the reorder buffer has room for them;
 * after that the pipeline refills.
 */
static void mispredict(PmuTiming *t, Stamp resolved)
{
    uint64_t end = STAMP_CYCLE(resolved);
    uint64_t full = t->hot.cycle + t->rob / t->width;
    uint64_t wrong = pmu_timing_clock(t);

    pmu_ledger_event(t->ledger, PMU_ITEM_BRANCH_MISSES, 1);
    pmu_ledger_event(t->ledger, PMU_ITEM_CLEARS, 1);
    lose(t, MIN(end, full), PMU_SLOT_BR_MISPREDICT);
    pmu_ledger_event(t->ledger, PMU_ITEM_UOPS_ISSUED,
                     pmu_timing_clock(t) - wrong);
    lose_backend(t, resolved);
    lose(t, MAX(end, t->hot.cycle) + t->uarch->mispredict_penalty,
         PMU_SLOT_BR_MISPREDICT);
    pmu_frontend_restart(&t->fe, t->hot.cycle - 1);
}

static inline void count_branch(PmuTiming *t, bool cond, bool taken)
{
    uint64_t *event = t->ledger->event[t->ledger->level];

    event[PMU_ITEM_BRANCHES]++;
    event[PMU_ITEM_BRANCHES_COND] += cond;
    event[PMU_ITEM_BRANCHES_TAKEN] += taken;
}

/*
 * The branch at @pc was predicted (@hit) or not, and fetch knew of it (@known)
 * or not; it resolves at @resolved.
 */
static inline void steer(PmuTiming *t, uint64_t pc, bool taken, bool hit,
                         bool known, Stamp resolved)
{
    if (G_UNLIKELY(!hit)) {
        mispredict(t, resolved);
    } else if (taken) {
        pmu_frontend_taken(&t->fe, pc, t->hot.uops, known, t->hot.cycle);
    } else {
        pmu_frontend_not_taken(&t->fe, pc);
    }
}

static inline void branch_cond(PmuTiming *t, uint64_t pc, bool taken,
                               Stamp resolved)
{
    bool hit = pmu_bpred_cond(t->bpred, pc, taken);
    bool known = !taken || pmu_bpred_btb(t->bpred, pc);

    count_branch(t, true, taken);
    steer(t, pc, taken, hit, known, resolved);
}

/* The outcome of the branch @bi, which resolves at @resolved. */
static void branch(PmuTiming *t, const PmuBlockInsn *bi,
                   const PmuDynamic *dynamic, Stamp resolved)
{
    uint64_t pc = dynamic->pc + bi->offset;
    uint64_t next = pc + bi->insn.length;
    bool hit = true, known = true;

    if (bi->insn.flags & PMU_INSN_LOW32) {
        next &= UINT32_MAX;
    }
    switch (bi->insn.branch) {
    case PMU_BRANCH_COND:
        branch_cond(t, pc, dynamic->taken, resolved);
        return;
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
        count_branch(t, false, true);
        pmu_frontend_restart(&t->fe, STAMP_CYCLE(resolved) +
                                     t->uarch->far_branch_penalty);
        return;
    }
    count_branch(t, false, true);
    steer(t, pc, true, hit, known, resolved);
}

#define LOADS   (PMU_INSN_LOAD | PMU_INSN_STACK_LOAD)
#define STORES  (PMU_INSN_STORE | PMU_INSN_STACK_STORE)

/* Instructions that need more than to be issued and executed. */
#define SPECIAL (PMU_INSN_SERIALIZING | PMU_INSN_BLOCKS_ISSUE | \
                 PMU_INSN_FENCES_LOADS)

static void special_before(PmuTiming *t, const PmuInsn *insn)
{
    if (insn->flags & PMU_INSN_SERIALIZING) {
        lose_backend(t, t->hot.retired);
        lose(t, t->hot.cycle + t->uarch->serialize_penalty,
             PMU_SLOT_CORE_BOUND);
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

/*
 * Issue @n micro-ops of @insn and enter their slots: all but the first are
 * heavy operations, and with microcode that one as well.
 */
static void issue_and_enter(PmuTiming *t, const PmuInsn *insn, uint32_t n)
{
    uint32_t light = insn->flags & PMU_INSN_MICROCODED ? 0 : 1;

    issue(t, light);
    if (n > light) {
        flush_light(t);
        issue(t, n - light);
        pmu_ledger_slots_until(t->ledger, PMU_SLOT_HEAVY_OPS, n - light,
                               t->hot.slot);
        t->entered = t->hot.uops;
    }
}

/* Wait until @n micro-ops of @insn can issue. */
static void wait_to_issue(PmuTiming *t, const PmuInsn *insn, uint32_t n)
{
    Stamp backend = MAX(rob_room(t, n), t->barrier);

    if (insn->flags & STORES) {
        backend = MAX(backend, STAMP(store_room(t), 1));
    }
    lose_backend(t, backend);
    lose_frontend(t, t->fe.cycle);
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

static uint64_t load(PmuTiming *t, const PmuInsn *insn, uint8_t index,
                     uint64_t start, const PmuDynamic *dynamic)
{
    if (index == PMU_NO_ACCESS) {
        return start + t->mem.l1d_latency;
    }
    t->accesses++;
    return pmu_memory_load(&t->mem, dynamic->addr[index], insn->access_size,
                           start, t->hot.cycle);
}

/* When a load port is free for an address that is known at @start. */
static inline uint64_t load_start(PmuTiming *t, uint64_t start,
                                  uint64_t earliest)
{
    uint64_t turn = take_unit(t, PMU_UNIT_LOAD, t->load_cost, earliest);

    return MAX(MAX(start, turn), t->loads_from);
}

/* When all loads of @bi have their data, its address known at @start. */
static uint64_t loads(PmuTiming *t, const PmuBlockInsn *bi, uint64_t start,
                      const PmuDynamic *dynamic)
{
    const PmuInsn *insn = &bi->insn;
    uint64_t ready = 0;

    start = load_start(t, start, t->hot.cycle + t->dispatch);
    if (insn->flags & PMU_INSN_LOAD) {
        ready = load(t, insn, bi->ea, start, dynamic);
    }
    if (insn->flags & PMU_INSN_STACK_LOAD) {
        uint64_t second = load(t, insn, bi->stack, start, dynamic);

        ready = MAX(ready, second);
    }
    return insn->flags & PMU_INSN_PREFETCH ? start : ready;
}

/* One store of @bi, its address known at @start and its data at @data. */
static void store(PmuTiming *t, const PmuInsn *insn, uint8_t index,
                  uint64_t start, uint64_t data, const PmuDynamic *dynamic)
{
    uint64_t owned;

    if (index == PMU_NO_ACCESS) {
        return;
    }
    t->accesses++;
    owned = pmu_memory_store(&t->mem, dynamic->addr[index], insn->access_size,
                             start, data, t->hot.cycle);
    drain(t, dynamic->addr[index], owned, t->hot.retired);
}

static void stores(PmuTiming *t, const PmuBlockInsn *bi, uint64_t start,
                   uint64_t data, const PmuDynamic *dynamic)
{
    const PmuInsn *insn = &bi->insn;

    if (insn->flags & PMU_INSN_STORE) {
        store(t, insn, bi->ea, start, data, dynamic);
    }
    if (insn->flags & PMU_INSN_STACK_STORE) {
        store(t, insn, bi->stack, start, data, dynamic);
    }
}

/* The short paths are for instructions of two destinations at most. */
static inline void short_write_back(PmuTiming *t, const PmuInsn *insn,
                                    uint64_t done)
{
    t->ready[insn->dst[0]] = done;
    t->ready[insn->dst[1]] = done;
}

static void write_back(PmuTiming *t, const PmuInsn *insn, uint64_t done)
{
    short_write_back(t, insn, done);
    t->ready[insn->dst[2]] = done;
}

/* Execute and retire @bi, of which @n micro-ops have just been issued. */
static Stamp execute(PmuTiming *t, const PmuBlockInsn *bi, uint32_t n,
                     const PmuDynamic *dynamic)
{
    const PmuInsn *insn = &bi->insn;
    uint64_t earliest = t->hot.cycle + t->dispatch;
    uint64_t address = earliest, start, done;
    bool memory = false;

    start = take_unit(t, insn->unit, insn->occupancy, earliest);
    start = sources_ready(t, insn, start);
    if (insn->flags & (LOADS | STORES)) {
        address = MAX(address, t->ready[insn->addr_src[0]]);
        address = MAX(address, t->ready[insn->addr_src[1]]);
    }
    if (insn->flags & LOADS) {
        uint64_t arrives = loads(t, bi, address, dynamic);

        memory = arrives >= start && arrives - address > insn->latency;
        start = MAX(start, arrives);
    }
    /* The second of a fused pair executes with the first. */
    done = start + (n ? insn->latency : 0);
    write_back(t, insn, done);
    /* It cannot retire in the cycle it begins to execute in. */
    retire(t, n, STAMP(MAX(done, address) + 1, memory));
    if (insn->flags & STORES) {
        stores(t, bi, address, done, dynamic);
    }
    return STAMP(done, memory);
}

static void run_string(PmuTiming *t, const PmuBlock *block,
                       const PmuBlockInsn *bi, const PmuDynamic *dynamic,
                       bool last);

/*
 * Any instruction that retired, @fused or not with the one before it; @dynamic
 * tells how it went.
 */
static void run_full(PmuTiming *t, const PmuBlock *block,
                     const PmuBlockInsn *bi, bool fused,
                     const PmuDynamic *dynamic)
{
    const PmuInsn *insn = &bi->insn;
    uint64_t pc = dynamic->pc + bi->offset;
    uint32_t n = fused ? 0 : insn->slots;
    Stamp done;

    t->mem.now = t->hot.cycle;
    if (insn->flags & SPECIAL) {
        special_before(t, insn);
    }
    if (n) {
        pmu_frontend_fetch(&t->fe, block, bi, pc,
                           n + !!(insn->flags & PMU_INSN_IMM64),
                           t->hot.cycle);
        wait_to_issue(t, insn, n);
        issue_and_enter(t, insn, n);
    }
    done = execute(t, bi, n, dynamic);
    if (insn->flags & SPECIAL) {
        special_after(t, insn, done);
    }
    if (insn->branch != PMU_BRANCH_NONE) {
        branch(t, bi, dynamic, done);
    }
}

/*
 * The short paths do what run_full() does, for instructions of one slot that
 * lack most of what can be special.  They work on a copy of t->hot.
 */

/*
 * Fetch @bi, which is of one slot, and wait until it can issue.  Instructions
 * after it in its line for which that leaves nothing to wait for, but the
 * store buffer, get credit: the stamps in the ring only ever grow.
 */
static inline Hot look(PmuTiming *t, const PmuBlock *block,
                       const PmuBlockInsn *bi, uint64_t pc, Hot hot)
{
    PmuFrontend *fe = &t->fe;
    uint64_t backend;
    uint32_t more;

    t->mem.now = hot.cycle;
    pmu_frontend_fetch(fe, block, bi, pc, 1, hot.cycle);
    more = MIN(fe->left, bi->line_left);
    backend = STAMP_CYCLE(t->ring[(hot.uops + more - t->rob) % RING_SIZE]);
    if (MAX(MAX(backend, STAMP_CYCLE(t->barrier)), fe->cycle) > hot.cycle) {
        t->hot = hot;
        wait_to_issue(t, &bi->insn, 1);
        hot = t->hot;
        if (backend > hot.cycle) {
            return hot;
        }
    }
    fe->left -= more;
    hot.credit = more;
    return hot;
}

/* Give back what look() granted and nobody used. */
static inline Hot return_credit(PmuTiming *t, Hot hot)
{
    t->fe.left += hot.credit;
    hot.credit = 0;
    return hot;
}

/* Fetch @bi, which is of one slot, and wait until it can issue. */
static inline Hot short_fetch(PmuTiming *t, const PmuBlock *block,
                              const PmuBlockInsn *bi,
                              const PmuDynamic *dynamic, Hot hot)
{
    if (G_LIKELY(hot.credit)) {
        hot.credit--;
        return hot;
    }
    return look(t, block, bi, dynamic->pc + bi->offset, hot);
}

/* Issue an instruction of one slot. */
static inline Hot short_issue(const PmuTiming *t, Hot hot)
{
    hot.uops++;
    hot.slot++;
    if (hot.slot == t->width) {
        hot.slot = 0;
        hot.cycle++;
    }
    return hot;
}

/* The newest micro-op retires at @done at the earliest. */
static inline Hot short_retire(PmuTiming *t, Stamp done, Hot hot)
{
    hot.retired = MAX(hot.retired, done);
    t->ring[(hot.uops - 1) % RING_SIZE] = hot.retired;
    return hot;
}

/* When the at most two sources of @insn are ready, and its ports. */
static inline uint64_t short_start(PmuTiming *t, const PmuInsn *insn,
                                   uint64_t earliest)
{
    uint64_t start = take_unit(t, insn->unit, insn->occupancy, earliest);

    start = MAX(start, t->ready[insn->src[0]]);
    return MAX(start, t->ready[insn->src[1]]);
}

static inline uint64_t short_address(const PmuTiming *t, const PmuInsn *insn,
                                     uint64_t earliest)
{
    uint64_t address = MAX(earliest, t->ready[insn->addr_src[0]]);

    return MAX(address, t->ready[insn->addr_src[1]]);
}

static inline Hot run_plain(PmuTiming *t, const PmuBlockInsn *bi, Hot hot)
{
    const PmuInsn *insn = &bi->insn;
    uint64_t done;

    hot = short_issue(t, hot);
    done = short_start(t, insn, hot.cycle + t->dispatch) + insn->latency;
    short_write_back(t, insn, done);
    return short_retire(t, STAMP(done + 1, 0), hot);
}

static inline Hot run_load(PmuTiming *t, const PmuBlockInsn *bi,
                           const PmuDynamic *dynamic, Hot hot)
{
    const PmuInsn *insn = &bi->insn;
    uint64_t earliest, start, address, arrives, done;
    bool memory;

    hot = short_issue(t, hot);
    earliest = hot.cycle + t->dispatch;
    start = short_start(t, insn, earliest);
    address = short_address(t, insn, earliest);
    arrives = pmu_memory_load(&t->mem, dynamic->addr[bi->access],
                              insn->access_size,
                              load_start(t, address, earliest), hot.cycle);
    memory = arrives >= start && arrives - address > insn->latency;
    done = MAX(start, arrives) + insn->latency;
    t->accesses++;
    short_write_back(t, insn, done);
    return short_retire(t, STAMP(done + 1, memory), hot);
}

static inline Hot run_store(PmuTiming *t, const PmuBlockInsn *bi,
                            const PmuDynamic *dynamic, Hot hot)
{
    const PmuInsn *insn = &bi->insn;
    uint64_t addr = dynamic->addr[bi->access];
    uint64_t earliest, address, done, owned;

    if (G_UNLIKELY(store_room(t) > hot.cycle)) {
        t->hot = hot;
        wait_to_issue(t, insn, 1);
        hot = t->hot;
    }
    hot = short_issue(t, hot);
    earliest = hot.cycle + t->dispatch;
    done = short_start(t, insn, earliest) + insn->latency;
    address = short_address(t, insn, earliest);
    t->accesses++;
    short_write_back(t, insn, done);
    hot = short_retire(t, STAMP(MAX(done, address) + 1, 0), hot);
    owned = pmu_memory_store(&t->mem, addr, insn->access_size, address, done,
                             hot.cycle);
    drain(t, addr, owned, hot.retired);
    return hot;
}

/* A conditional branch, alone or as the second of a @fused pair. */
static inline Hot run_cond(PmuTiming *t, const PmuBlockInsn *bi, bool fused,
                           const PmuDynamic *dynamic, Hot hot)
{
    const PmuInsn *insn = &bi->insn;
    uint64_t done;

    if (!fused) {
        hot = short_issue(t, hot);
    }
    done = short_start(t, insn, hot.cycle + t->dispatch);
    if (fused) {
        hot.retired = MAX(hot.retired, STAMP(done + 1, 0));
    } else {
        done += insn->latency;
        hot = short_retire(t, STAMP(done + 1, 0), hot);
    }
    t->hot = return_credit(t, hot);
    branch_cond(t, dynamic->pc + bi->offset, dynamic->taken, STAMP(done, 0));
    return t->hot;
}

/* Instructions [@first, @last) of @block on the path that each needs. */
static inline void run_range(PmuTiming *t, const PmuBlock *block,
                             unsigned first, unsigned last,
                             const PmuDynamic *dynamic)
{
    const PmuBlockInsn *begin = &block->insns[first];
    const PmuBlockInsn *end = &block->insns[last];
    bool first_fused = t->fuse & begin->fuse_last;
    Hot hot = t->hot;

    t->fuse = end[-1].fuse_next;
    for (const PmuBlockInsn *bi = begin; bi < end; bi++) {
        bool fused = bi == begin ? first_fused : bi->fused;

        if (bi->path >= PMU_PATH_PLAIN ||
            (bi->path == PMU_PATH_COND && !fused)) {
            hot = short_fetch(t, block, bi, dynamic, hot);
        }
        switch (bi->path) {
        case PMU_PATH_PLAIN:
            hot = run_plain(t, bi, hot);
            break;
        case PMU_PATH_LOAD:
            hot = run_load(t, bi, dynamic, hot);
            break;
        case PMU_PATH_STORE:
            hot = run_store(t, bi, dynamic, hot);
            break;
        case PMU_PATH_COND:
            hot = run_cond(t, bi, fused, dynamic, hot);
            break;
        default:
            t->hot = return_credit(t, hot);
            if (bi->insn.flags & PMU_INSN_REP) {
                run_string(t, block, bi, dynamic, true);
            } else {
                run_full(t, block, bi, fused, dynamic);
            }
            hot = t->hot;
            break;
        }
    }
    t->hot = return_credit(t, hot);
}

/*
 * Bring the ledger up to the clock; @uops had been issued when it was so, and
 * @instructions have retired since.
 */
static inline void settle(PmuTiming *t, uint64_t uops, unsigned instructions)
{
    uint64_t *event = t->ledger->event[t->ledger->level];

    flush_light(t);
    event[PMU_ITEM_UOPS_ISSUED] += t->hot.uops - uops;
    event[PMU_ITEM_L1D_ACCESSES] += t->accesses;
    event[PMU_ITEM_INSTRUCTIONS] += instructions;
    t->accesses = 0;
}

void pmu_timing_run(PmuTiming *t, const PmuBlock *block,
                    unsigned first, unsigned last, const PmuDynamic *dynamic)
{
    uint64_t uops = t->hot.uops;

    sync_level(t, block->level);
    run_range(t, block, first, last, dynamic);
    settle(t, uops, last - first);
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
    flush_light(t);
    issue(t, 1);
    pmu_ledger_slots_until(t->ledger, PMU_SLOT_HEAVY_OPS, 1, t->hot.slot);
    t->entered = t->hot.uops;
    done = MAX(t->hot.cycle + t->dispatch, s->ready);
    retire(t, 1, STAMP(done + 1, s->memory));
}

/* A string instruction goes to another line of one of its operands. */
static void string_touch(PmuTiming *t, uint64_t line, bool is_store)
{
    StringState *s = &t->string;
    uint64_t start = MAX(t->hot.cycle + t->dispatch, t->loads_from);
    uint64_t ready = pmu_memory_access(&t->mem, line << PMU_LINE_SHIFT, 1,
                                       start, t->hot.cycle);

    t->accesses++;
    if (is_store) {
        drain(t, line << PMU_LINE_SHIFT, ready, t->hot.retired);
    } else {
        s->ready = MAX(s->ready, ready);
        s->memory = true;
    }
}

/* Touch the lines of the elements at @src and @dst, if they are others. */
static void string_lines(PmuTiming *t, const PmuInsn *insn, uint64_t src,
                         uint64_t dst)
{
    StringState *s = &t->string;

    src >>= PMU_LINE_SHIFT;
    dst >>= PMU_LINE_SHIFT;
    if ((insn->flags & PMU_INSN_LOAD) && src != s->src_line) {
        s->src_line = src;
        string_touch(t, src, false);
    }
    if ((insn->flags & (PMU_INSN_STACK_LOAD | PMU_INSN_STACK_STORE)) &&
        dst != s->dst_line) {
        s->dst_line = dst;
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
    t->mem.now = t->hot.cycle;
    pmu_frontend_fetch(&t->fe, block, bi, pc, insn->slots, t->hot.cycle);
    from = sources_ready(t, insn, t->hot.cycle + t->dispatch);
    from = MAX(from, t->ready[insn->addr_src[0]]);
    from = MAX(from, t->ready[insn->addr_src[1]]);
    s->ready = from;
    for (uint32_t i = 0; i < string_cost(insn)->startup; i++) {
        string_uop(t, insn);
    }
}

/* How many elements at @addr on lie in its line: 1 or more. */
static uint64_t elements_in_line(uint64_t addr, uint64_t size, bool backwards)
{
    uint64_t offset = addr & (PMU_LINE_SIZE - 1);

    return backwards ? offset / size + 1
                     : (PMU_LINE_SIZE - offset + size - 1) / size;
}

/*
 * @dynamic->iterations of the string instruction @bi.  Going to another line
 * comes before the elements in it, a micro-op once the bytes that it is for
 * are done: so parts add up to the whole.
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
    uint64_t size = insn->access_size, left = dynamic->iterations;

    if (!s->active || s->pc != pc) {
        string_begin(t, block, bi, pc);
    }
    while (left) {
        uint64_t in_src = elements_in_line(src, size, dynamic->backwards);
        uint64_t in_dst = elements_in_line(dst, size, dynamic->backwards);
        uint64_t n = MIN(left, MIN(in_src, in_dst));
        uint64_t step = dynamic->backwards ? -n * size : n * size;
        uint64_t due = string_slots(cost, insn, s->bytes + n * size) -
                       string_slots(cost, insn, s->bytes);

        string_lines(t, insn, src, dst);
        src += step;
        dst += step;
        left -= n;
        s->bytes += n * size;
        for (; due; due--) {
            string_uop(t, insn);
        }
    }
    if (last) {
        write_back(t, insn, STAMP_CYCLE(t->hot.retired));
        s->active = false;
    }
}

void pmu_timing_string(PmuTiming *t, const PmuBlock *block,
                       unsigned index, const PmuDynamic *dynamic)
{
    uint64_t uops = t->hot.uops;

    sync_level(t, block->level);
    run_string(t, block, &block->insns[index], dynamic, false);
    settle(t, uops, 0);
}
