/*
 * The pipeline: when micro-ops are fetched, issued, dispatched and retired,
 * and what becomes of each slot.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Run time, below the line.
 *
 * Instructions issue in order, @width slots a cycle, as early as the frontend,
 * the buffers of the backend and serialising instructions permit.  Micro-ops
 * are dispatched once their sources are ready and one of their ports is free;
 * instructions retire in order.  Slots that issue are retiring slots; those
 * that pass in between get the one class of what the issue waited for.  Clock
 * and slots advance together, so nothing is lost.
 */

#include <glib.h>
#include <stdlib.h>
#include <string.h>

#include "cycles.h"
#include "pipeline.h"
#include "supply.h"

#define LOADS   (PMU_INSN_LOAD | PMU_INSN_STACK_LOAD)
#define STORES  (PMU_INSN_STORE | PMU_INSN_STACK_STORE)

/* Instructions that need more than to be issued and executed. */
#define SPECIAL (PMU_INSN_SERIALIZING | PMU_INSN_BLOCKS_ISSUE | \
                 PMU_INSN_FENCES_LOADS)

#define BIT_OF(item) (1u << (PMU_ITEM_##item - PMU_ITEM_PORT_0))

/* The ledger's items for ports; those of Golden Cove go by Intel's numbers. */
static const uint8_t port_items[PMU_MAX_PORTS] = {
    BIT_OF(PORT_0), BIT_OF(PORT_1), BIT_OF(PORT_LOAD), BIT_OF(PORT_LOAD),
    BIT_OF(PORT_STORE_DATA), BIT_OF(PORT_5), BIT_OF(PORT_6),
    BIT_OF(PORT_STORE_ADDRESS), BIT_OF(PORT_STORE_ADDRESS),
    BIT_OF(PORT_STORE_DATA), BIT_OF(PORT_5), BIT_OF(PORT_LOAD),
};

static void add_set(PmuPortSets *sets, uint16_t ports)
{
    for (unsigned i = 0; i < sets->num; i++) {
        if (sets->ports[i] == ports) {
            return;
        }
    }
    g_assert(sets->num < PMU_MAX_PORT_SETS);
    sets->ports[sets->num] = ports;
    sets->share[sets->num++] = PMU_PORT_UNIT / __builtin_popcount(ports);
}

/* The units of @uarch, and unions of those that have a port in common. */
static void init_sets(PmuPortSets *sets, const PmuUarch *uarch)
{
    unsigned known = 0;

    for (unsigned i = 0; i < PMU_UNIT_NR; i++) {
        add_set(sets, uarch->ports[i]);
    }
    while (known < sets->num) {
        uint16_t ports = sets->ports[known++];

        for (unsigned i = 0; i < known; i++) {
            if (ports & sets->ports[i]) {
                add_set(sets, ports | sets->ports[i]);
            }
        }
    }
    for (unsigned ports = 0; ports < 1u << PMU_MAX_PORTS; ports++) {
        for (unsigned i = 0; i < sets->num; i++) {
            if (!(ports & ~sets->ports[i])) {
                sets->with[ports] |= 1u << i;
            }
        }
        for (unsigned i = 0; i < PMU_MAX_PORTS; i++) {
            sets->items[ports] |= ports >> i & 1 ? port_items[i] : 0;
        }
    }
}

void pmu_pipeline_init(PmuPipeline *p, const PmuUarch *uarch)
{
    memset(p, 0, sizeof(*p));
    p->uarch = uarch;
    init_sets(&p->sets, uarch);
    p->supply_ahead = uarch->idq / uarch->dsb_line;
    p->predecode_ahead = uarch->instruction_queue / uarch->decoders;
    p->cycle = PMU_FIRST_CYCLE;
    p->supply.cycle = PMU_FIRST_CYCLE;
    p->near_until = UINT64_MAX;
    p->retire_cycle = PMU_FIRST_CYCLE;
    p->empty = true;
}

void pmu_pipeline_reset(PmuPipeline *p)
{
    uint64_t cycle = p->cycle;
    bool report = p->report;

    pmu_pipeline_init(p, p->uarch);
    p->report = report;
    p->cycle = cycle;
    p->supply.cycle = cycle;
    p->retire_cycle = cycle;
}

void pmu_pipeline_resume(PmuPipeline *p, uint32_t open, uint64_t history)
{
    p->slot = open;
    p->history = history;
}

/* The clock and its slots. */

/* The clock moves on to the start of @cycle. */
static inline void advance(PmuPipeline *p, uint64_t cycle, PmuBlame blame)
{
    pmu_cycles_leave(p, cycle, blame);
    p->cycle = cycle;
    p->slot = 0;
    p->history = 0;
}

/* The next slot is one of @class. */
static inline void fill_slot(PmuPipeline *p, PmuSlotClass class)
{
    p->delta.item[class]++;
    p->history = p->history << 4 | class;
    if (++p->slot == p->uarch->width) {
        advance(p, p->cycle + 1, PMU_BLAME_ANYBODY);
    }
}

/* Slots up to the start of @cycle, if that is to come, pass as @class. */
static inline void lose(PmuPipeline *p, uint64_t cycle, PmuSlotClass class,
                        PmuBlame blame)
{
    if (cycle > p->cycle) {
        p->delta.item[class] += (cycle - p->cycle) * p->uarch->width - p->slot;
        advance(p, cycle, blame);
    }
}

/* Cycles so far in which nothing was dispatched while a load waited. */
static uint32_t load_stalls(PmuPipeline *p)
{
    const uint32_t *stalls = pmu_timed(p, PMU_ITEM_STALL_L1);
    uint32_t sum = 0;

    for (unsigned i = 0; i <= PMU_ITEM_STALL_DRAM - PMU_ITEM_STALL_L1; i++) {
        sum += stalls[i];
    }
    return sum;
}

/*
 * The backend is to blame up to the start of @cycle, but what ends then is not
 * memory.  What that itself has waited for may have been: cycles are lost to
 * memory that events count as stalled for a load.
 */
static void lose_core(PmuPipeline *p, uint64_t cycle)
{
    uint32_t before = load_stalls(p), *item = p->delta.item, memory;
    uint32_t core = item[PMU_SLOT_CORE_BOUND];

    lose(p, cycle, PMU_SLOT_CORE_BOUND, PMU_BLAME_ANYBODY);
    core = item[PMU_SLOT_CORE_BOUND] - core;
    memory = MIN((load_stalls(p) - before) * p->uarch->width, core);
    item[PMU_SLOT_CORE_BOUND] -= memory;
    item[PMU_SLOT_MEMORY_BOUND] += memory;
}

/* Nothing issued in cycles [@from, @to), for a serialising instruction. */
static void count_serialized(PmuPipeline *p, uint64_t from, uint64_t to)
{
    *pmu_timed(p, PMU_ITEM_SERIALIZED) += to - from;
    *pmu_timed(p, PMU_ITEM_PAUSE_CYCLES) += MAX(MIN(to, p->pause), from) - from;
}

static void lose_backend(PmuPipeline *p, PmuStamp until)
{
    uint64_t cycle = PMU_STAMP_CYCLE(until);
    PmuCause cause = PMU_STAMP_CAUSE(until);

    if (cycle <= p->cycle) {
        return;
    }
    if (cause == PMU_CAUSE_STORES) {
        *pmu_timed(p, PMU_ITEM_NO_STORE_BUFFER) += cycle - p->cycle;
    } else if (cause == PMU_CAUSE_SERIAL) {
        count_serialized(p, p->cycle, cycle);
    }
    if (cause < PMU_CAUSE_MEMORY) {
        lose_core(p, cycle);
    } else {
        lose(p, cycle, PMU_SLOT_MEMORY_BOUND,
             cause == PMU_CAUSE_STORES ? PMU_BLAME_STORES : PMU_BLAME_ANYBODY);
    }
}

/* @cycles went by with @n slots each lost to the frontend. */
static void count_undelivered(PmuPipeline *p, uint32_t n, uint32_t cycles)
{
    uint32_t most = PMU_ITEM_UNDELIVERED_6 - PMU_ITEM_UNDELIVERED_0;

    pmu_timed(p, PMU_ITEM_UNDELIVERED_0)[0] -= cycles;
    pmu_timed(p, PMU_ITEM_UNDELIVERED_0)[MIN(n, most)] += cycles;
}

/* The rest of a cycle that had some slots is lost to the frontend. */
static void lose_rest(PmuPipeline *p, PmuSlotClass class)
{
    uint32_t n = p->uarch->width - p->slot;

    lose(p, p->cycle + 1, class, PMU_BLAME_ANYBODY);
    count_undelivered(p, n, 1);
}

/* How long it was that nothing came. */
static void count_bubble(PmuPipeline *p, uint64_t cycles)
{
    unsigned most = PMU_ITEM_BUBBLE_512 - PMU_ITEM_BUBBLE_1;

    pmu_timed(p, PMU_ITEM_BUBBLE_1)[MIN(63u - __builtin_clzll(cycles),
                                        most)]++;
}

/*
 * Latency means cycles without any micro-op, bandwidth the rest of a cycle
 * that had some: IDQ_UOPS_NOT_DELIVERED.CYCLES_0_UOPS_DELIV.CORE.
 */
static void lose_frontend(PmuPipeline *p, uint64_t until)
{
    if (until <= p->cycle) {
        return;
    }
    if (p->slot) {
        lose_rest(p, PMU_SLOT_FETCH_BANDWIDTH);
    }
    if (until > p->cycle) {
        uint64_t cycles = until - p->cycle;

        lose(p, until, PMU_SLOT_FETCH_LATENCY, PMU_BLAME_ANYBODY);
        count_undelivered(p, p->uarch->width, cycles);
        count_bubble(p, cycles);
    }
}

void pmu_pipeline_close_cycle(PmuPipeline *p)
{
    if (p->slot) {
        lose_rest(p, PMU_SLOT_FETCH_LATENCY);
    }
}

/* Buffers of the backend. */

static int compare_cycles(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/*
 * The cycle in which the scheduler has room for @n micro-ops more: the sooner
 * in which enough will have left.
 */
static uint64_t scheduler_room(const PmuPipeline *p, uint32_t n)
{
    uint32_t size = p->uarch->scheduler, scheduled = p->scheduled;
    uint64_t cycle = p->cycle;

    while (scheduled + n > size && scheduled > p->num_far) {
        scheduled -= p->dispatches[cycle++ % PMU_WINDOW];
    }
    if (scheduled + n > size && p->num_far) {
        /* All the others are far ahead: wait for as many as it takes. */
        uint64_t far[PMU_MAX_FAR];

        memcpy(far, p->far, p->num_far * sizeof(*far));
        qsort(far, p->num_far, sizeof(*far), compare_cycles);
        cycle = far[MIN(scheduled + n - size, p->num_far) - 1] + 1;
    }
    return cycle;
}

/* When the micro-op before the @n to come by a reorder buffer retires. */
static PmuStamp rob_room(const PmuPipeline *p, uint32_t n)
{
    return p->rob[(p->uops + n - 1 - p->uarch->rob) % PMU_ROB_RING];
}

static PmuStamp load_room(const PmuPipeline *p)
{
    return p->load[(p->loads - p->uarch->load_buffer) % PMU_LOAD_RING];
}

static uint64_t store_room(const PmuPipeline *p)
{
    return p->store[(p->stores - p->uarch->store_buffer) %
                    PMU_STORE_RING].drained;
}

/* Wait until @insn can issue. */
static inline void wait_to_issue(PmuPipeline *p, const PmuInsn *insn,
                                 uint32_t uops)
{
    PmuStamp backend = MAX(rob_room(p, MIN(insn->slots, PMU_ROB_CHUNK)),
                           p->barrier);

    if (insn->flags & LOADS) {
        backend = MAX(backend, load_room(p));
    }
    if (insn->flags & STORES) {
        backend = MAX(backend, PMU_STAMP_BY(store_room(p),
                                            PMU_CAUSE_STORES));
    }
    lose_backend(p, backend);
    if (p->scheduled + uops > p->uarch->scheduler && p->scheduled) {
        lose_backend(p, PMU_STAMP(scheduler_room(p, uops),
                                  PMU_STAMP_MEMORY(p->retired)));
    }
    lose_frontend(p, p->supply.cycle);
}

/* Ports. */

/*
 * A micro-op for any of @ports, that can be dispatched at @earliest and whose
 * sources are ready at @ready: when it is dispatched.  Room is used up on the
 * issue clock, so that one that waits for its sources does not keep later ones
 * from the ports.
 */
static inline uint64_t use_ports(PmuPipeline *p, uint16_t ports,
                                 uint64_t earliest, uint64_t ready)
{
    uint64_t from = earliest * PMU_PORT_UNIT, turn = from;

    for (uint32_t sets = p->sets.with[ports]; sets; sets &= sets - 1) {
        unsigned i = __builtin_ctz(sets);
        uint64_t free = MAX(from, p->port_set[i]);

        turn = MAX(turn, free);
        p->port_set[i] = free + p->sets.share[i];
    }
    if (turn >= from + PMU_PORT_UNIT) {
        earliest = turn / PMU_PORT_UNIT;
    }
    return MAX(ready, earliest);
}

/* The newest micro-op, which used @ports, does not exist. */
static void give_ports_back(PmuPipeline *p, uint16_t ports)
{
    for (uint32_t sets = p->sets.with[ports]; sets; sets &= sets - 1) {
        p->port_set[__builtin_ctz(sets)] -= p->sets.share[__builtin_ctz(sets)];
    }
}

/* Of @ports the one that has been least busy, for reports. */
static unsigned idle_port(const PmuPipeline *p, uint16_t ports)
{
    unsigned best = __builtin_ctz(ports);

    for (ports &= ports - 1; ports; ports &= ports - 1) {
        unsigned port = __builtin_ctz(ports);

        if (p->dispatched[port] < p->dispatched[best]) {
            best = port;
        }
    }
    return best;
}

/* A micro-op is in the scheduler until @cycle. */
static inline void enter_scheduler(PmuPipeline *p, uint64_t cycle)
{
    p->scheduled++;
    if (cycle < p->cycle + PMU_WINDOW) {
        p->dispatches[cycle % PMU_WINDOW]++;
    } else {
        g_assert(p->num_far < PMU_MAX_FAR);
        p->far[p->num_far++] = cycle;
        p->near_until = MIN(p->near_until, p->cycle + PMU_CYCLES_LOOK);
    }
}

/* The newest micro-op, which was to leave it in @cycle, was not there. */
static void leave_scheduler_again(PmuPipeline *p, uint64_t cycle)
{
    p->scheduled--;
    if (p->num_far && p->far[p->num_far - 1] == cycle) {
        p->num_far--;
    } else {
        p->dispatches[cycle % PMU_WINDOW]--;
    }
}

/*
 * Count a micro-op for any of @ports that could be dispatched at @earliest as
 * one of the port that is free first.
 */
static inline unsigned count_port(PmuPipeline *p, uint16_t ports,
                                  uint64_t earliest)
{
    unsigned items = p->sets.items[ports], best = __builtin_ctz(items);

    if (items & (items - 1)) {
        for (items &= items - 1; items; items &= items - 1) {
            unsigned i = __builtin_ctz(items);

            best = p->port_busy[i] < p->port_busy[best] ? i : best;
        }
        p->port_busy[best] = MAX(p->port_busy[best], earliest) + 1;
    } else {
        p->port_busy[best]++;
    }
    ++*pmu_timed(p, PMU_ITEM_PORT_0 + best);
    return best;
}

/* Dispatch a micro-op: see use_ports(). */
static inline uint64_t dispatch(PmuPipeline *p, uint16_t ports,
                                uint64_t earliest, uint64_t ready)
{
    uint64_t cycle = use_ports(p, ports, earliest, ready);

    enter_scheduler(p, cycle);
    p->port_item = count_port(p, ports, earliest);
    if (G_UNLIKELY(p->report)) {
        p->dispatched[idle_port(p, ports)]++;
    }
    return cycle;
}

/* Memory. */

/* When DRAM delivers a line asked for at @start. */
static uint64_t dram(PmuPipeline *p, uint64_t start)
{
    const PmuUarch *uarch = p->uarch;
    /*
     * Bandwidth is spent on the clock, which only moves forward: a request
     * that starts late must not hold up those that do not.
     */
    uint64_t turn = MAX(p->dram_free, p->cycle);

    p->dram_free = turn + uarch->dram_line_cycles;
    return MAX(start, turn) + pmu_uarch_dram_latency(uarch);
}

/* When the line of a miss that starts at @start arrives. */
static uint64_t beyond_l1(PmuPipeline *p, const PmuAccess *access,
                          uint64_t start)
{
    uint64_t ready = start + p->uarch->l2.latency, arrives;

    switch (access->source) {
    case PMU_FROM_PREFETCH:
        arrives = p->prefetch[(p->prefetches - 1 - access->prefetch) %
                              PMU_PREFETCH_RING];
        return arrives > p->cycle ? MAX(ready, arrives) : ready;
    case PMU_FROM_L3:
        return start + p->uarch->l3.latency;
    case PMU_FROM_DRAM:
        return dram(p, start);
    default:
        return ready;
    }
}

/* Cycles that a prefetch takes beyond L2. */
static void count_prefetch(PmuPipeline *p, uint64_t start, uint64_t arrives)
{
    *pmu_timed(p, PMU_ITEM_OFFCORE_PREFETCH) += arrives - start;
    pmu_cycles_read(p, start, arrives);
}

/* The prefetches into L2 that @access, which starts at @start, sets off. */
static void start_prefetches(PmuPipeline *p, const PmuAccess *access,
                             uint64_t start)
{
    for (uint32_t i = 0; i < access->prefetch_l3; i++) {
        uint64_t arrives = start + p->uarch->l3.latency;

        p->prefetch[p->prefetches++ % PMU_PREFETCH_RING] = arrives;
        count_prefetch(p, start, arrives);
    }
    for (uint32_t i = 0; i < access->prefetch_dram; i++) {
        uint64_t arrives = dram(p, start);

        p->prefetch[p->prefetches++ % PMU_PREFETCH_RING] = arrives;
        count_prefetch(p, start, arrives);
    }
}

/*
 * A load or store (@load false) of a line that is not in L1D goes from @start
 * to @ready.  The request is under way beyond L2 once it has missed that.
 */
static void count_miss(PmuPipeline *p, const PmuAccess *access,
                       uint64_t start, uint64_t ready, bool load)
{
    uint64_t from = start + p->uarch->l2.latency;
    bool beyond = access->source >= PMU_FROM_L3 && ready > from;

    if (load) {
        *pmu_timed(p, PMU_ITEM_L1D_PENDING) += ready - start;
    }
    if (beyond && load) {
        *pmu_timed(p, PMU_ITEM_OFFCORE_DATA) += ready - from;
        if (access->source == PMU_FROM_DRAM) {
            *pmu_timed(p, PMU_ITEM_OFFCORE_DRAM) += ready - from;
        }
        pmu_cycles_read(p, from, ready);
    } else if (beyond) {
        *pmu_timed(p, PMU_ITEM_OFFCORE_RFO_CYCLES) +=
            pmu_cycles_union(&p->rfo_until, from, ready);
    }
}

/* One that starts at @start waits for a fill buffer until @free. */
static void count_full(PmuPipeline *p, uint64_t start, uint64_t free)
{
    *pmu_timed(p, PMU_ITEM_FB_FULL_PERIODS) += start > p->buffers_full;
    *pmu_timed(p, PMU_ITEM_FB_FULL) +=
        pmu_cycles_union(&p->buffers_full, start, free);
}

/* A miss waits for a fill buffer and keeps it until its line is there. */
static uint64_t l1d_miss(PmuPipeline *p, const PmuAccess *access,
                         uint64_t start, bool load)
{
    uint64_t *buffer = &p->buffer[0];
    uint64_t ready;

    for (uint32_t i = 1; i < p->uarch->fill_buffers; i++) {
        if (p->buffer[i] < *buffer) {
            buffer = &p->buffer[i];
        }
    }
    if (*buffer > start) {
        count_full(p, start, *buffer);
        start = *buffer;
    }
    ready = beyond_l1(p, access, start);
    count_miss(p, access, start, ready, load);
    *buffer = ready;
    p->fill[p->fills++ % PMU_FILL_RING] = ready;
    return ready;
}

uint64_t pmu_pipeline_fill(const PmuPipeline *p, const PmuAccess *access)
{
    uint64_t arrives = p->fill[(p->fills - 1 - access->fill) % PMU_FILL_RING];

    return arrives > p->cycle ? arrives : 0;
}

uint64_t pmu_pipeline_code_miss(PmuPipeline *p, const PmuAccess *access,
                                uint64_t start)
{
    uint64_t ready = beyond_l1(p, access, start);
    uint64_t from = start + p->uarch->l2.latency;

    if (access->source >= PMU_FROM_L3 && ready > from) {
        *pmu_timed(p, PMU_ITEM_OFFCORE_CODE) += ready - from;
        *pmu_timed(p, PMU_ITEM_OFFCORE_CODE_CYCLES) +=
            pmu_cycles_union(&p->code_until, from, ready);
    }
    p->fill[p->fills++ % PMU_FILL_RING] = ready;
    start_prefetches(p, access, start);
    return ready;
}

/*
 * Must @access wait for the line if a miss is fetching it?  Not if a store in
 * the buffer has its data (Intel SOM, "Store Forwarding").
 */
static bool needs_fill(const PmuAccess *access)
{
    return access->source == PMU_FROM_FILL &&
           (!access->store || access->blocked);
}

/* When the line of a data access that starts at @start is in L1D. */
static uint64_t access_line(PmuPipeline *p, const PmuAccess *access,
                            uint64_t start, bool load)
{
    uint64_t ready;

    start += access->delay;
    ready = start + p->uarch->l1d.latency;
    if (needs_fill(access)) {
        ready = MAX(ready, pmu_pipeline_fill(p, access));
    } else if (access->source > PMU_FROM_FILL) {
        ready = l1d_miss(p, access, start, load);
    }
    start_prefetches(p, access, start);
    return ready;
}

/* Does @access, a load from @start on, wait for a line that is on its way? */
static bool waits_for_fill(const PmuPipeline *p, const PmuAccess *access,
                           uint64_t start)
{
    return needs_fill(access) &&
           pmu_pipeline_fill(p, access) >
           start + access->delay + p->uarch->l1d.latency;
}

static bool misses_l1d(const PmuAccess *access)
{
    return access->source > PMU_FROM_FILL;
}

/* What a load waits for from @start on that gets @access at @ready. */
static uint8_t waits_for(const PmuPipeline *p, const PmuAccess *access,
                         uint64_t start, uint64_t ready)
{
    static const uint8_t waits_of[] = {
        [PMU_FROM_L1] = PMU_WAIT_ANY,
        [PMU_FROM_FILL] = PMU_WAIT_ANY | PMU_WAIT_L1,
        [PMU_FROM_L2] = PMU_WAIT_ANY | PMU_WAIT_L1,
        [PMU_FROM_PREFETCH] = PMU_WAIT_ANY | PMU_WAIT_L1,
        [PMU_FROM_L3] = PMU_WAIT_ANY | PMU_WAIT_L1 | PMU_WAIT_L2,
        [PMU_FROM_DRAM] = PMU_WAIT_ANY | PMU_WAIT_L1 | PMU_WAIT_L2 |
                          PMU_WAIT_L3,
    };
    uint64_t cycles = ready - start;

    if (access->source == PMU_FROM_FILL && cycles <= p->uarch->l1d.latency) {
        return PMU_WAIT_ANY;
    }
    /* One that is still on its way to L2 has missed that, or L3 as well. */
    if (access->source == PMU_FROM_PREFETCH &&
        cycles > (uint64_t)p->uarch->l2.latency + access->delay) {
        return waits_of[cycles > p->uarch->l3.latency ? PMU_FROM_DRAM
                                                      : PMU_FROM_L3];
    }
    return waits_of[access->source];
}

/*
 * When a load that is dispatched at @start has its data; @late and
 * @forward_late are PmuInsn.load_latency and .forward_latency.
 */
static uint64_t load_line(PmuPipeline *p, const PmuAccess *access,
                          uint64_t start, uint8_t late, uint8_t forward_late)
{
    uint64_t ready = access_line(p, access, start, true);
    uint8_t waits = waits_for(p, access, start, ready);

    ready += late;
    if (access->store) {
        const PmuStoreSlot *store =
            &p->store[(p->stores - access->store) % PMU_STORE_RING];

        if (!access->blocked) {
            ready = MAX(ready, store->data + p->uarch->store_forward +
                               forward_late);
        } else if (store->data > start) {
            ready = MAX(ready, store->data + late) +
                    p->uarch->store_forward_blocked;
            ++*pmu_timed(p, PMU_ITEM_FORWARD_BLOCKED);
        }
    }
    if (access->alias &&
        p->store[(p->stores - access->alias) % PMU_STORE_RING].drained >
        start) {
        ready += p->uarch->address_alias;
        ++*pmu_timed(p, PMU_ITEM_ADDRESS_ALIAS);
    }
    pmu_cycles_wait(p, start, ready, waits);
    return ready;
}

/* What happened to access @index; most were plain hits. */
static const PmuAccess *special_access(const PmuOutcome *outcome,
                                       uint8_t index)
{
    static const PmuAccess plain;

    return outcome->special >> index & 1 ? &outcome->access[index] : &plain;
}

/*
 * A load of two lines, from @start and @turn on, is found where the further one
 * is, once.
 */
static bool split_waits_for_fill(const PmuPipeline *p,
                                 const PmuAccess *first, uint64_t start,
                                 const PmuAccess *second, uint64_t turn)
{
    return !misses_l1d(first) && !misses_l1d(second) &&
           (waits_for_fill(p, first, start) ||
            waits_for_fill(p, second, turn));
}

/* The load of access @index of @insn, whose address is known at @address. */
static uint64_t load(PmuPipeline *p, const PmuInsn *insn, uint8_t index,
                     uint64_t earliest, uint64_t address,
                     const PmuOutcome *outcome)
{
    uint16_t ports = p->uarch->ports[PMU_UNIT_LOAD];
    uint64_t start, ready;

    start = dispatch(p, ports, earliest, MAX(address, p->loads_from));
    if (index == PMU_NO_ACCESS) {
        ready = start + p->uarch->l1d.latency + insn->load_latency;
    } else {
        const PmuAccess *access = special_access(outcome, index);
        bool fill = waits_for_fill(p, access, start);

        ready = load_line(p, access, start, insn->load_latency,
                          insn->forward_latency);
        if (outcome->split >> index & 1) {
            /* The other line takes a turn of its own. */
            const PmuAccess *other = &outcome->second[index];
            uint64_t turn = use_ports(p, ports, earliest, start + 1), second;

            fill = split_waits_for_fill(p, access, start, other, turn);
            second = load_line(p, other, turn, insn->load_latency,
                               insn->forward_latency);
            ready = MAX(ready, second);
        }
        *pmu_timed(p, PMU_ITEM_FB_HITS) += fill;
    }
    return insn->flags & PMU_INSN_PREFETCH ? start : ready;
}

/*
 * A store that retires at @retired enters the buffer, for a line that is owned
 * from @owned on.  Stores leave in order, this one in @turns cycles: 0 if it
 * can go with the one before.
 */
static void drain(PmuPipeline *p, uint64_t owned, PmuStamp retired,
                  uint64_t data, uint32_t turns)
{
    uint64_t before = p->drained;
    uint64_t turn = before + (turns || p->paired ? MAX(turns, 1) : 0);

    p->drained = MAX(MAX(turn, owned), PMU_STAMP_CYCLE(retired));
    p->store[p->stores++ % PMU_STORE_RING] = (PmuStoreSlot) {
        .data = data, .drained = p->drained,
    };
    p->paired = turns > 1 || p->drained == before;
}

/*
 * In how many cycles a store of @insn leaves: see drain().  Two of one line
 * can go at once; one of two lines, @split, takes two cycles.
 */
static uint32_t drain_turns(const PmuPipeline *p, const PmuInsn *insn,
                            bool same_line, bool split)
{
    const PmuUarch *uarch = p->uarch;

    if ((insn->flags & PMU_INSN_STREAMING) && uarch->stream_half_cycles) {
        return (uarch->stream_half_cycles + (p->stores & 1)) / 2;
    }
    return split ? 2 : !(same_line && 2 * insn->access_size <=
                                      uarch->store_pair_bytes);
}

/*
 * A store of access @index of @insn: its address at @address, its data at
 * @data.  @loaded: a load of the same instruction has got the line.
 */
static void store(PmuPipeline *p, const PmuInsn *insn, uint8_t index,
                  uint64_t address, uint64_t data, bool loaded,
                  const PmuOutcome *outcome)
{
    uint64_t owned = address;
    bool split;

    if (index == PMU_NO_ACCESS) {
        return;
    }
    split = outcome->split >> index & 1;
    if (!loaded) {
        owned = access_line(p, special_access(outcome, index), address,
                            false);
        if (split) {
            uint64_t second = access_line(p, &outcome->second[index],
                                          address, false);

            owned = MAX(owned, second);
        }
    }
    drain(p, owned, p->retired, data,
          drain_turns(p, insn, outcome->same_line >> index & 1, split));
}

/* Issue and execution. */

/* How many of an instruction's slots have been issued, and as what. */
typedef struct Issue {
    uint32_t slots;             /* of the instruction */
    uint32_t issued;
    uint32_t uop;               /* unfused micro-ops bound so far */
    uint32_t pairs;             /* fused micro-ops that are two unfused ones */
    bool microcoded;
} Issue;

static inline void issue_slot(PmuPipeline *p, Issue *issue)
{
    bool light = !issue->issued && !issue->microcoded;

    if (G_UNLIKELY(issue->issued >= PMU_ROB_CHUNK)) {
        lose_backend(p, rob_room(p, 1));
    }
    p->uops++;
    issue->issued++;
    fill_slot(p, light ? PMU_SLOT_LIGHT_OPS : PMU_SLOT_HEAVY_OPS);
}

/*
 * Issue the slots before that of the next unfused micro-op: the first @pairs
 * slots have two of them.  Returns the earliest cycle it can be dispatched in.
 */
static inline uint64_t next_uop(PmuPipeline *p, Issue *issue)
{
    uint32_t n = issue->uop++;
    uint32_t slot = n < 2 * issue->pairs ? n / 2 : n - issue->pairs;

    while (issue->issued < MIN(slot, issue->slots - 1)) {
        issue_slot(p, issue);
    }
    return p->cycle + p->uarch->issue_to_dispatch;
}

/* Cycles that a resource is held do not overlap: whoever comes later waits. */
static void count_resource(PmuPipeline *p, const PmuInsn *insn)
{
    static const uint8_t item_of[PMU_RESOURCE_NR] = {
        [PMU_RESOURCE_INT_DIV] = PMU_ITEM_INT_DIVIDER,
        [PMU_RESOURCE_FP_DIV] = PMU_ITEM_FP_DIVIDER,
        [PMU_RESOURCE_LOCK] = PMU_ITEM_LOCK_CYCLES,
    };

    if (item_of[insn->resource]) {
        *pmu_timed(p, item_of[insn->resource]) += insn->hold;
    }
}

/*
 * Bind the compute micro-ops of @insn, whose sources are ready at @ready.
 * Returns when the first is dispatched, which is when the result begins.
 */
static inline uint64_t compute(PmuPipeline *p, const PmuInsn *insn,
                               Issue *issue, uint64_t ready)
{
    uint64_t *resource = &p->resource[insn->resource];
    uint64_t start = 0;
    bool first = true;

    for (int i = 0; i < PMU_INSN_COMPUTE; i++) {
        for (uint32_t n = insn->compute[i].count; n; n--) {
            uint64_t earliest = next_uop(p, issue), cycle = ready;

            if (first && insn->resource != PMU_RESOURCE_NONE) {
                cycle = MAX(cycle, *resource);
            }
            cycle = dispatch(p, insn->compute[i].ports, earliest, cycle);
            if (first) {
                first = false;
                start = cycle;
                p->fuse_ports = insn->compute[i].ports;
                p->fuse_port = p->port_item;
                p->fuse_cycle = start;
                p->fuse_issue = earliest;
                p->fuse_ready = ready;
            }
        }
    }
    if (insn->resource != PMU_RESOURCE_NONE) {
        *resource = MAX(start, *resource) + insn->hold;
        count_resource(p, insn);
    }
    return first ? ready : start;
}

/* When @insn, which has a bypass, can have source @i. */
static inline uint64_t bypassed(const PmuPipeline *p, const PmuInsn *insn,
                                int i)
{
    uint8_t reg = insn->src[i];

    return p->ready[reg] + p->uarch->bypass[p->maker[reg]][insn->bypass];
}

/* When the first @max registers that @insn computes with are ready. */
static inline uint64_t ready_of(const PmuPipeline *p, const PmuInsn *insn,
                                int max)
{
    uint64_t ready = 0;

    for (int i = 0; i < max; i++) {
        uint64_t source = insn->bypass ? bypassed(p, insn, i)
                                       : p->ready[insn->src[i]];

        ready = MAX(ready, source - MIN(source, insn->src_late[i]));
    }
    return ready;
}

static inline uint64_t sources_ready(const PmuPipeline *p, const PmuInsn *insn)
{
    return ready_of(p, insn, PMU_INSN_SRCS);
}

static inline void write_back(PmuPipeline *p, const PmuInsn *insn,
                              uint64_t done)
{
    /* Renaming moves a register with all that belongs to it. */
    bool moves = !insn->compute[0].count && !(insn->flags & LOADS);
    uint8_t maker = moves ? p->maker[insn->src[0]] : insn->bypass;

    for (int i = 0; i < PMU_INSN_DSTS; i++) {
        p->ready[insn->dst[i]] = done + insn->dst_late[i];
        p->maker[insn->dst[i]] = maker;
    }
}

/*
 * The registers of @insn, a PMU_INSN_SWAP that can begin at @start: each gets
 * what is in the other, and does not wait for the one it loses.
 */
static void swap(PmuPipeline *p, const PmuInsn *insn, uint64_t start)
{
    uint64_t first = MAX(p->ready[insn->src[0]], start) + insn->latency;
    uint64_t second = MAX(p->ready[insn->src[1]], start) + insn->latency;

    p->ready[insn->src[0]] = second + insn->dst_late[0];
    p->ready[insn->src[1]] = first + insn->dst_late[1];
}

/* The @n newest micro-ops retire at @done at the earliest. */
static inline void retire(PmuPipeline *p, uint32_t n, PmuStamp done)
{
    p->retired = MAX(p->retired, done);
    for (uint64_t uop = p->uops - n; uop != p->uops; uop++) {
        p->rob[uop % PMU_ROB_RING] = p->retired;
    }
    p->retirable = p->uops;
}

static uint64_t address_ready(const PmuPipeline *p, const PmuInsn *insn)
{
    return MAX(p->ready[insn->addr_src[0]], p->ready[insn->addr_src[1]]);
}

/* The loads of @bi, its address ready at @address; when all data are there. */
static uint64_t run_loads(PmuPipeline *p, const PmuBlockInsn *bi,
                          Issue *issue, uint64_t address,
                          const PmuOutcome *outcome)
{
    const PmuInsn *insn = bi->insn;
    uint64_t ready = 0, second = 0;

    if (insn->flags & PMU_INSN_LOAD) {
        uint64_t earliest = next_uop(p, issue);

        ready = load(p, insn, bi->ea, earliest, address, outcome);
    }
    if (insn->flags & PMU_INSN_STACK_LOAD) {
        uint64_t earliest = next_uop(p, issue);

        second = load(p, insn, bi->stack, earliest, address, outcome);
    }
    return MAX(ready, second);
}

/*
 * The store micro-ops of one store whose data are ready at @data: when its
 * address is known; *@data gets when its data have been read.
 */
static uint64_t store_uops(PmuPipeline *p, Issue *issue, uint64_t address,
                           uint64_t *data)
{
    const uint16_t *ports = p->uarch->ports;
    uint64_t earliest = next_uop(p, issue);

    address = dispatch(p, ports[PMU_UNIT_STORE_ADDRESS], earliest, address);
    earliest = next_uop(p, issue);
    *data = dispatch(p, ports[PMU_UNIT_STORE_DATA], earliest, *data);
    return address;
}

/* Issue, execute and retire @bi, which has @uops unfused micro-ops. */
static PmuStamp execute(PmuPipeline *p, const PmuBlockInsn *bi, uint32_t uops,
                        const PmuOutcome *outcome)
{
    const PmuInsn *insn = bi->insn;
    Issue issue = {
        .slots = insn->slots,
        .pairs = uops > insn->slots ? uops - insn->slots : 0,
        .microcoded = insn->flags & PMU_INSN_MICROCODED,
    };
    uint64_t address = 0, sources = sources_ready(p, insn), done, completed;
    uint64_t stored[2] = {}, stored_address[2] = {};
    bool memory = false;

    if (insn->flags & (LOADS | STORES)) {
        address = MAX(address_ready(p, insn),
                      p->cycle + p->uarch->issue_to_dispatch);
    }
    if (insn->flags & PMU_INSN_X87) {
        *pmu_timed(p, PMU_ITEM_X87_UOPS) += uops;
    }
    p->fuse_ports = 0;
    if (insn->flags & LOADS) {
        uint64_t arrives = run_loads(p, bi, &issue, address, outcome);

        memory = arrives >= sources && arrives > address + insn->latency;
        sources = MAX(sources, arrives);
        p->loads++;
    }
    done = compute(p, insn, &issue, sources);
    if (!p->fuse_ports) {
        p->fuse_issue = p->cycle + p->uarch->issue_to_dispatch;
        p->fuse_ready = done;
    }
    done += insn->latency;
    if (insn->flags & PMU_INSN_SWAP) {
        swap(p, insn, p->cycle + p->uarch->issue_to_dispatch);
    } else {
        write_back(p, insn, done);
    }
    completed = MAX(done, p->cycle + p->uarch->issue_to_dispatch);
    if (insn->flags & PMU_INSN_STORE) {
        stored[0] = done;
        stored_address[0] = store_uops(p, &issue, address, &stored[0]);
    }
    if (insn->flags & PMU_INSN_STACK_STORE) {
        stored[1] = done;
        stored_address[1] = store_uops(p, &issue, address, &stored[1]);
    }
    completed = MAX(completed, MAX(stored[0], stored[1]));
    completed = MAX(completed, MAX(stored_address[0], stored_address[1]));
    while (issue.issued < insn->slots) {
        issue_slot(p, &issue);
    }
    /* It cannot retire in the cycle it executes in. */
    retire(p, insn->slots, PMU_STAMP(completed + 1, memory));
    if (insn->flags & LOADS) {
        p->load[(p->loads - 1) % PMU_LOAD_RING] = p->retired;
    }
    if (insn->flags & PMU_INSN_STORE) {
        store(p, insn, bi->ea, stored_address[0], stored[0],
              insn->flags & PMU_INSN_LOAD, outcome);
    }
    if (insn->flags & PMU_INSN_STACK_STORE) {
        store(p, insn, bi->stack, stored_address[1], stored[1], false,
              outcome);
    }
    return PMU_STAMP(done, memory);
}

/*
 * @insn, a branch, fuses with the instruction before it: their one micro-op
 * goes where branches go.
 */
static PmuStamp execute_fused(PmuPipeline *p, const PmuInsn *insn, bool taken)
{
    uint16_t ports = insn->compute[0].ports;
    uint64_t start;

    if (taken) {
        ports &= p->uarch->ports[PMU_UNIT_BRANCH_TAKEN];
    }
    if (p->fuse_ports) {
        give_ports_back(p, p->fuse_ports);
        leave_scheduler_again(p, p->fuse_cycle);
    }
    start = dispatch(p, ports, p->fuse_issue, p->fuse_ready);
    *pmu_timed(p, PMU_ITEM_MACRO_FUSED) += 1;
    retire(p, 1, PMU_STAMP(start + 2, 0));
    return PMU_STAMP(start + 1, 0);
}

/*
 * What is behind the newest instruction is wrong, which shows at @resolved:
 * until then its micro-ops issue, if the reorder buffer has room for them;
 * after that the pipeline refills in @penalty cycles.
 */
static void flush(PmuPipeline *p, PmuStamp resolved, uint32_t penalty,
                  PmuSlotClass class)
{
    uint32_t *item = p->delta.item;
    uint64_t end = PMU_STAMP_CYCLE(resolved);
    uint64_t full = p->cycle + p->uarch->rob / p->uarch->width;
    uint32_t before = item[class], refill = MIN(penalty,
                                                p->uarch->resteer_penalty);

    lose(p, MIN(end, full), class, PMU_BLAME_WRONG_PATH);
    item[PMU_TIMED_UOPS_ISSUED] += item[class] - before;
    lose_backend(p, resolved);
    lose(p, MAX(end, p->cycle) + penalty, class, PMU_BLAME_ANYBODY);
    /* Fetch takes as long from there as from a branch it did not know. */
    *pmu_timed(p, PMU_ITEM_CLEAR_CYCLES) += refill;
    *pmu_timed(p, PMU_ITEM_RECOVERY_CYCLES) += penalty - refill;
    pmu_supply_restart(p, p->cycle);
}

/*
 * The newest instruction is @bi: where its micro-op goes is counted when it is
 * known that it does not fuse with the next.
 */
static inline void begin_fuse(PmuPipeline *p, const PmuBlockInsn *bi)
{
    p->fuse = pmu_fuse_next(bi);
    if (p->fuse && p->fuse_ports) {
        --*pmu_timed(p, PMU_ITEM_PORT_0 + p->fuse_port);
    }
}

/* It did not. */
static inline void end_fuse(PmuPipeline *p)
{
    if (p->fuse && p->fuse_ports) {
        ++*pmu_timed(p, PMU_ITEM_PORT_0 + p->fuse_port);
    }
    p->fuse = 0;
}

void pmu_pipeline_clear(PmuPipeline *p)
{
    end_fuse(p);
    flush(p, p->retired, p->uarch->smc_penalty, PMU_SLOT_MACHINE_CLEARS);
}

/*
 * @bi loads what another vCPU has written to, and has to begin anew: all before
 * it has retired, and it is fetched as after a mispredicted branch.
 */
static void begin_again(PmuPipeline *p, const PmuBlockInsn *bi,
                        uint64_t again)
{
    if ((bi->ea != PMU_NO_ACCESS && (again >> bi->ea & 1)) ||
        (bi->stack != PMU_NO_ACCESS && (again >> bi->stack & 1))) {
        end_fuse(p);
        flush(p, p->retired, p->uarch->mispredict_penalty,
              PMU_SLOT_MACHINE_CLEARS);
    }
}

/* Branches. */

static void run_branch(PmuPipeline *p, const PmuInsn *insn,
                       const PmuOutcome *outcome, PmuStamp resolved)
{
    bool taken = insn->branch != PMU_BRANCH_COND ||
                 (outcome->branch & PMU_OUTCOME_TAKEN);

    if (insn->branch == PMU_BRANCH_FAR) {
        /* Far transfers are not predicted: fetch waits for them. */
        pmu_supply_restart(p, PMU_STAMP_CYCLE(resolved) +
                              p->uarch->far_branch_penalty);
    } else if (outcome->branch & PMU_OUTCOME_MISPREDICT) {
        flush(p, resolved, p->uarch->mispredict_penalty,
              PMU_SLOT_BR_MISPREDICT);
    } else if (taken) {
        pmu_supply_taken(p, outcome->branch & PMU_OUTCOME_UNKNOWN,
                         outcome->branch & PMU_OUTCOME_LOOP_END);
    }
}

/* Instructions. */

/* When all that has been issued has retired. */
static PmuStamp all_retired(const PmuPipeline *p)
{
    uint64_t first = p->cycle + p->uarch->issue_to_dispatch + 1;

    return MAX(p->retired, PMU_STAMP(first, 0));
}

static void special_before(PmuPipeline *p, const PmuInsn *insn)
{
    if (insn->flags & PMU_INSN_SERIALIZING) {
        uint64_t before = p->cycle;

        lose_backend(p, all_retired(p));
        lose(p, p->cycle + p->uarch->serialize_penalty, PMU_SLOT_CORE_BOUND,
             PMU_BLAME_ANYBODY);
        count_serialized(p, before, p->cycle);
    }
}

static void special_after(PmuPipeline *p, const PmuInsn *insn, PmuStamp done)
{
    if (insn->flags & PMU_INSN_BLOCKS_ISSUE) {
        p->barrier = MAX(p->barrier, PMU_STAMP_MEMORY(done)
                                     ? done : done | PMU_CAUSE_SERIAL);
        p->pause = insn->tally == PMU_TALLY_PAUSE ? PMU_STAMP_CYCLE(done)
                                                  : p->pause;
    }
    if (insn->flags & PMU_INSN_FENCES_LOADS) {
        p->loads_from = MAX(p->loads_from, PMU_STAMP_CYCLE(done));
    }
}

/* A branch that is taken executes on fewer ports. */
static PmuStamp execute_branch(PmuPipeline *p, const PmuBlockInsn *bi,
                               uint32_t uops, const PmuOutcome *outcome)
{
    PmuBlockInsn taken = *bi;
    PmuInsn insn = *bi->insn;

    insn.compute[0].ports &= p->uarch->ports[PMU_UNIT_BRANCH_TAKEN];
    taken.insn = &insn;
    return execute(p, &taken, uops, outcome);
}

/*
 * PUSH, POP and the like change RSP in the stack engine, ahead of the others.
 * An instruction that uses RSP otherwise has it told first: by a micro-op of
 * its own (Intel SOM, "Stack pointer tracker").
 */
static void sync_stack(PmuPipeline *p, const PmuBlockInsn *bi,
                       const PmuOutcome *outcome)
{
    static const uint8_t rsp = PMU_REG_GPR0 + 4;
    PmuInsn sync = {
        .slots = 1, .decode_uops = 1, .latency = 1, .src = { rsp },
        .dst = { rsp, PMU_REG_NR, PMU_REG_NR },
        .compute = { { p->uarch->ports[PMU_UNIT_ALU], 1 } },
    };
    PmuBlockInsn uop = {
        .insn = &sync, .ea = PMU_NO_ACCESS, .stack = PMU_NO_ACCESS,
    };

    if (bi->insn->rsp == PMU_RSP_STACK) {
        p->stack_ahead = true;
    } else if (p->stack_ahead) {
        p->stack_ahead = false;
        if (bi->insn->rsp == PMU_RSP_USE) {
            wait_to_issue(p, &sync, 1);
            p->delta.item[PMU_TIMED_UOPS_ISSUED]++;
            execute(p, &uop, 1, outcome);
        }
    }
}

static PmuStamp run_whole(PmuPipeline *p, const PmuBlockInsn *bi,
                          unsigned offset, const PmuOutcome *outcome)
{
    const PmuInsn *insn = bi->insn;
    uint32_t uops = insn->uops;
    PmuStamp done;

    if (insn->flags & SPECIAL) {
        special_before(p, insn);
    }
    pmu_supply_deliver(p, insn, offset);
    if (bi->insn->rsp != PMU_RSP_NONE) {
        sync_stack(p, bi, outcome);
    }
    wait_to_issue(p, insn, uops);
    p->delta.item[PMU_TIMED_UOPS_ISSUED] += insn->slots;
    if (insn->branch == PMU_BRANCH_COND &&
        (outcome->branch & PMU_OUTCOME_TAKEN)) {
        done = execute_branch(p, bi, uops, outcome);
    } else {
        done = execute(p, bi, uops, outcome);
    }
    if (insn->flags & SPECIAL) {
        special_after(p, insn, done);
    }
    return done;
}

/*
 * The short paths do what run_whole() does, for instructions that lack most of
 * what can be special: see choose_path() in uops-path.c.
 */

/* There are three sources at most. */
static inline uint64_t short_sources(const PmuPipeline *p, const PmuInsn *insn)
{
    return ready_of(p, insn, 3);
}

static inline void short_wait(PmuPipeline *p, PmuStamp room, uint32_t uops)
{
    PmuStamp backend = MAX(MAX(rob_room(p, 1), p->barrier), room);

    if (G_UNLIKELY(PMU_STAMP_CYCLE(backend) > p->cycle)) {
        lose_backend(p, backend);
    }
    if (G_UNLIKELY(p->scheduled + uops > p->uarch->scheduler) &&
        p->scheduled) {
        lose_backend(p, PMU_STAMP(scheduler_room(p, uops),
                                  PMU_STAMP_MEMORY(p->retired)));
    }
    if (G_UNLIKELY(p->supply.cycle > p->cycle)) {
        lose_frontend(p, p->supply.cycle);
    }
}

/* Issue, and retire at @completed + 1 at the earliest. */
static inline void short_retire(PmuPipeline *p, uint64_t completed,
                                bool memory)
{
    PmuStamp done = PMU_STAMP(completed + 1, memory);

    p->retired = MAX(p->retired, done);
    p->rob[p->uops++ % PMU_ROB_RING] = p->retired;
    p->retirable = p->uops;
    p->delta.item[PMU_TIMED_UOPS_ISSUED]++;
    fill_slot(p, PMU_SLOT_LIGHT_OPS);
}

static inline void short_write_back(PmuPipeline *p, const PmuInsn *insn,
                                    uint64_t done)
{
    p->ready[insn->dst[0]] = done + insn->dst_late[0];
    p->ready[insn->dst[1]] = done + insn->dst_late[1];
    p->maker[insn->dst[0]] = insn->bypass;
    p->maker[insn->dst[1]] = insn->bypass;
}

/* The one compute micro-op of @insn, what fuses with it in mind. */
static inline uint64_t short_compute(PmuPipeline *p, const PmuBlockInsn *bi,
                                     uint64_t earliest, uint64_t ready)
{
    uint16_t ports = bi->insn->compute[0].ports;
    uint64_t start = dispatch(p, ports, earliest, ready);

    if (pmu_fuse_next(bi)) {
        p->fuse_ports = ports;
        p->fuse_port = p->port_item;
        p->fuse_cycle = start;
        p->fuse_issue = earliest;
        p->fuse_ready = ready;
    }
    return start;
}

static inline void run_compute(PmuPipeline *p, const PmuBlockInsn *bi)
{
    const PmuInsn *insn = bi->insn;
    uint64_t earliest, done;

    short_wait(p, 0, 1);
    earliest = p->cycle + p->uarch->issue_to_dispatch;
    done = short_compute(p, bi, earliest, short_sources(p, insn)) +
           insn->latency;
    short_write_back(p, insn, done);
    short_retire(p, MAX(done, earliest), false);
}

static inline void run_load(PmuPipeline *p, const PmuBlockInsn *bi,
                            const PmuOutcome *outcome)
{
    const PmuInsn *insn = bi->insn;
    uint8_t index = insn->flags & PMU_INSN_LOAD ? bi->ea : bi->stack;
    uint64_t earliest, address, arrives, sources, done;
    bool memory;

    short_wait(p, load_room(p), insn->uops);
    earliest = p->cycle + p->uarch->issue_to_dispatch;
    sources = short_sources(p, insn);
    address = MAX(address_ready(p, insn), earliest);
    arrives = load(p, insn, index, earliest, address, outcome);
    memory = arrives >= sources && arrives > address + insn->latency;
    done = MAX(sources, arrives);
    if (insn->compute[0].count) {
        done = short_compute(p, bi, earliest, done);
    } else if (pmu_fuse_next(bi)) {
        p->fuse_ports = 0;
        p->fuse_issue = earliest;
        p->fuse_ready = done;
    }
    done += insn->latency;
    short_write_back(p, insn, done);
    short_retire(p, MAX(done, earliest), memory);
    p->load[p->loads++ % PMU_LOAD_RING] = p->retired;
}

static inline void run_store(PmuPipeline *p, const PmuBlockInsn *bi,
                             const PmuOutcome *outcome)
{
    const PmuInsn *insn = bi->insn;
    const uint16_t *ports = p->uarch->ports;
    uint8_t index = insn->flags & PMU_INSN_STORE ? bi->ea : bi->stack;
    uint64_t earliest, address, data, done;

    short_wait(p, PMU_STAMP_BY(store_room(p), PMU_CAUSE_STORES), 2);
    earliest = p->cycle + p->uarch->issue_to_dispatch;
    done = short_sources(p, insn) + insn->latency;
    address = MAX(address_ready(p, insn), earliest);
    short_write_back(p, insn, done);
    address = dispatch(p, ports[PMU_UNIT_STORE_ADDRESS], earliest, address);
    data = dispatch(p, ports[PMU_UNIT_STORE_DATA], earliest, done);
    short_retire(p, MAX(MAX(done, earliest), MAX(data, address)), false);
    store(p, insn, index, address, data, false, outcome);
}

static inline void run_short(PmuPipeline *p, const PmuBlockInsn *bi,
                             unsigned offset, const PmuOutcome *outcome)
{
    end_fuse(p);
    pmu_supply_deliver_one(p, bi->insn, offset);
    if (bi->insn->rsp != PMU_RSP_NONE) {
        sync_stack(p, bi, outcome);
    }
    switch (bi->insn->path) {
    case PMU_PATH_COMPUTE:
        run_compute(p, bi);
        break;
    case PMU_PATH_LOAD:
        run_load(p, bi, outcome);
        break;
    default:
        run_store(p, bi, outcome);
        break;
    }
    begin_fuse(p, bi);
}

/* @bi was retired, whose first byte is @offset bytes into a 4 KiB page. */
static void run_insn(PmuPipeline *p, const PmuBlockInsn *bi, unsigned offset,
                     const PmuOutcome *outcome)
{
    const PmuInsn *insn = bi->insn;
    PmuStamp done;

    if (p->fuse & pmu_fuse_last(bi)) {
        pmu_supply_fused(p, insn, offset);
        done = execute_fused(p, insn, outcome->branch & PMU_OUTCOME_TAKEN);
    } else {
        end_fuse(p);
        done = run_whole(p, bi, offset, outcome);
    }
    begin_fuse(p, bi);
    if (insn->branch != PMU_BRANCH_NONE) {
        run_branch(p, insn, outcome, done);
    }
}

/* Segment @segment begins, or is entered in its middle. */
static void run_segment(PmuPipeline *p, unsigned segment,
                        const PmuOutcome *outcome)
{
    if (outcome->looping) {
        pmu_supply_loop(p);
    } else if (outcome->legacy >> segment & 1) {
        pmu_supply_legacy(p, &outcome->code[segment]);
    } else {
        pmu_supply_dsb(p);
    }
}

/* The loop in the queue was left, and fetch goes on behind it. */
static bool leaves_loop(const PmuPipeline *p, const PmuOutcome *outcome)
{
    return p->supply.source == PMU_SUPPLY_LSD && !outcome->looping;
}

/* The segment of @block that instruction @index is in. */
static unsigned segment_of(const PmuBlock *block, unsigned index)
{
    unsigned segment = block->num_segments - 1;

    while (block->segments[segment].first > index) {
        segment--;
    }
    return segment;
}

void pmu_pipeline_run(PmuPipeline *p, const PmuBlock *block,
                      unsigned first, unsigned last,
                      const PmuOutcome *outcome)
{
    unsigned in_page = block->phys & ((1u << PMU_PAGE_SHIFT) - 1);
    unsigned segment = segment_of(block, first);

    if (!outcome->continues || leaves_loop(p, outcome)) {
        run_segment(p, segment, outcome);
    }
    for (unsigned i = first; i < last; i++) {
        const PmuBlockInsn *bi = &block->insns[i];

        if (segment + 1 < block->num_segments &&
            block->segments[segment + 1].first == i) {
            run_segment(p, ++segment, outcome);
        }
        if (G_UNLIKELY(outcome->again)) {
            begin_again(p, bi, outcome->again);
        }
        if (G_LIKELY(bi->insn->path != PMU_PATH_FULL && !p->report)) {
            run_short(p, bi, in_page + bi->offset, outcome);
        } else {
            run_insn(p, bi, in_page + bi->offset, outcome);
        }
    }
    if (G_UNLIKELY(outcome->smc)) {
        pmu_pipeline_clear(p);
    }
}

void pmu_pipeline_interrupt(PmuPipeline *p)
{
    PmuStamp retired = all_retired(p);
    uint64_t end = PMU_STAMP_CYCLE(retired);

    end_fuse(p);
    p->barrier = MAX(p->barrier, retired);
    pmu_supply_restart(p, MAX(end, p->cycle) + p->uarch->far_branch_penalty);
}

/* String instructions. */

uint64_t pmu_pipeline_string_begin(PmuPipeline *p, const PmuBlock *block,
                                   unsigned index, const PmuOutcome *outcome)
{
    const PmuBlockInsn *bi = &block->insns[index];

    end_fuse(p);
    if (!outcome->continues || leaves_loop(p, outcome)) {
        run_segment(p, segment_of(block, index), outcome);
    }
    pmu_supply_deliver(p, bi->insn, block->phys + bi->offset);
    return MAX(sources_ready(p, bi->insn), address_ready(p, bi->insn));
}

void pmu_pipeline_string_uop(PmuPipeline *p, PmuStamp ready)
{
    uint64_t done;

    lose_backend(p, MAX(rob_room(p, 1), p->barrier));
    lose_frontend(p, p->supply.cycle);
    done = MAX(p->cycle + p->uarch->issue_to_dispatch,
               PMU_STAMP_CYCLE(ready));
    p->uops++;
    p->delta.item[PMU_TIMED_UOPS_ISSUED]++;
    fill_slot(p, PMU_SLOT_HEAVY_OPS);
    retire(p, 1, PMU_STAMP(done + 1, PMU_STAMP_MEMORY(ready)));
}

uint64_t pmu_pipeline_string_load(PmuPipeline *p, const PmuAccess *access)
{
    uint64_t start = MAX(p->cycle + p->uarch->issue_to_dispatch,
                         p->loads_from);

    *pmu_timed(p, PMU_ITEM_FB_HITS) += waits_for_fill(p, access, start);
    return load_line(p, access, start, 0, 0);
}

void pmu_pipeline_string_store(PmuPipeline *p, const PmuAccess *access,
                               bool same_line)
{
    uint64_t start = p->cycle + p->uarch->issue_to_dispatch;
    uint64_t owned = access_line(p, access, start, false);

    lose_backend(p, PMU_STAMP_BY(store_room(p), PMU_CAUSE_STORES));
    drain(p, owned, p->retired, start, !same_line);
}

void pmu_pipeline_string_end(PmuPipeline *p, const PmuInsn *insn)
{
    write_back(p, insn, PMU_STAMP_CYCLE(p->retired));
}

/* Assists. */

void pmu_pipeline_drain(PmuPipeline *p)
{
    end_fuse(p);
    flush(p, p->retired, 0, PMU_SLOT_MACHINE_CLEARS);
}

void pmu_pipeline_assist(PmuPipeline *p)
{
    uint64_t end;

    end_fuse(p);
    flush(p, p->retired, p->uarch->mispredict_penalty,
          PMU_SLOT_MACHINE_CLEARS);
    pmu_supply_microcode(p, p->uarch->assist_uops);
    end = p->supply.cycle + p->uarch->assist_latency;
    for (uint32_t i = 0; i < p->uarch->assist_uops; i++) {
        pmu_pipeline_string_uop(p, PMU_STAMP(0, 0));
    }
    lose_backend(p, PMU_STAMP_BY(end, PMU_CAUSE_SERIAL));
}
