/*
 * Loads and stores in the pipeline: when lines arrive, and what waits for them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Run time, below the line.
 */

#include <glib.h>

#include "stages.h"

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
        return start + p->uarch->l3.latency + access->snoop;
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

/* Who asks for a line, PmuPipeline.asker. */
typedef enum Asker {
    ASKED_BY_LOAD,
    ASKED_BY_STORE,
    ASKED_BY_PREFETCH,          /* PREFETCHh */
    ASKED_AHEAD,                /* the prefetcher of L1D */
    ASKED_BY_FETCH,
    DEMANDED = 0x80,            /* a load waits for it, too */
} Asker;

/*
 * A request by @asker for a line that is not in L1D goes from @start to @ready.
 * It is under way beyond L2 once it has missed that.
 */
static void count_miss(PmuPipeline *p, const PmuAccess *access,
                       uint64_t start, uint64_t ready, Asker asker)
{
    uint64_t from = start + p->uarch->l2.latency;

    if (asker == ASKED_BY_LOAD) {
        *pmu_timed(p, PMU_ITEM_L1D_PENDING) += ready - start;
    }
    if (access->source < PMU_FROM_L3 || ready <= from) {
        return;
    }
    if (asker == ASKED_BY_STORE) {
        *pmu_timed(p, PMU_ITEM_OFFCORE_RFO_CYCLES) +=
            pmu_cycles_union(&p->rfo_until, from, ready);
        return;
    }
    *pmu_timed(p, asker == ASKED_BY_LOAD
                  ? PMU_ITEM_OFFCORE_DATA
                  : PMU_ITEM_OFFCORE_PREFETCH) += ready - from;
    if (asker == ASKED_BY_LOAD && access->source == PMU_FROM_DRAM) {
        *pmu_timed(p, PMU_ITEM_OFFCORE_DRAM) += ready - from;
    }
    pmu_cycles_read(p, from, ready);
}

/* One that starts at @start waits for a fill buffer until @free. */
static void count_full(PmuPipeline *p, uint64_t start, uint64_t free)
{
    *pmu_timed(p, PMU_ITEM_FB_FULL_PERIODS) += start > p->buffers_full;
    *pmu_timed(p, PMU_ITEM_FB_FULL) +=
        pmu_cycles_union(&p->buffers_full, start, free);
}

/* The next miss by number has its line @ready. */
static void enter_fill(PmuPipeline *p, uint64_t ready, Asker asker)
{
    uint32_t i = p->fills++ % PMU_FILL_RING;

    p->fill[i] = ready;
    p->asker[i] = asker;
}

/*
 * A miss waits for a fill buffer, which it has from *@begun on, and keeps it
 * until its line is there.
 */
static uint64_t l1d_miss(PmuPipeline *p, const PmuAccess *access,
                         uint64_t start, Asker asker, uint64_t *begun)
{
    uint64_t *buffer = &p->buffer[0];
    uint64_t ready;

    for (uint32_t i = 1; i < p->uarch->fill_buffers; i++) {
        if (p->buffer[i] < *buffer) {
            buffer = &p->buffer[i];
        }
    }
    if (*buffer > start) {
        if (asker != ASKED_AHEAD) {
            count_full(p, start, *buffer);
        }
        start = *buffer;
    }
    ready = beyond_l1(p, access, start);
    count_miss(p, access, start, ready, asker);
    *buffer = ready;
    *begun = start;
    enter_fill(p, ready, asker);
    return ready;
}

/* Where the line of @access is on its way. */
static uint32_t fill_of(const PmuPipeline *p, const PmuAccess *access)
{
    return (p->fills - 1 - access->fill) % PMU_FILL_RING;
}

uint64_t pmu_pipeline_fill(const PmuPipeline *p, const PmuAccess *access)
{
    uint64_t arrives = p->fill[fill_of(p, access)];

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
    enter_fill(p, ready, ASKED_BY_FETCH);
    start_prefetches(p, access, start);
    return ready;
}

/* What the prefetcher of L1D asks for, following @access from @start on. */
static void start_ahead(PmuPipeline *p, const PmuAccess *access,
                        uint64_t start)
{
    const PmuAhead *ahead = &access->ahead;

    if (G_UNLIKELY(ahead->source)) {
        uint64_t begun;
        const PmuAccess as_access = {
            .source = ahead->source, .prefetch = ahead->prefetch,
            .snoop = ahead->snoop, .prefetch_l3 = ahead->prefetch_l3,
            .prefetch_dram = ahead->prefetch_dram,
        };

        l1d_miss(p, &as_access, start, ASKED_AHEAD, &begun);
        start_prefetches(p, &as_access, start);
    }
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

/* Wait for a page walker and keep it for @cycles; when that is over. */
static G_GNUC_NO_INLINE uint64_t walk_page(PmuPipeline *p, uint64_t start,
                                           uint32_t cycles, uint8_t walk)
{
    uint64_t from = UINT64_MAX;
    uint32_t walker = 0;

    for (uint32_t i = 0; i < p->uarch->page_walkers; i++) {
        uint64_t free = pmu_holds_free(&p->walker[i], start, false);

        if (free < from) {
            from = free;
            walker = i;
        }
    }
    pmu_holds_take(&p->walker[walker], p->cycle, from, cycles);
    pmu_cycles_wait_long(p, from, from + cycles, walk);
    return from + cycles;
}

uint64_t pmu_access_translate(PmuPipeline *p, const PmuAccess *access,
                              uint64_t start, uint8_t walk)
{
    start += access->delay;
    return access->walk ? walk_page(p, start, access->walk, walk) : start;
}

/*
 * When the line of a data access is in L1D, whose address is translated at
 * @start; *@begun: if it is not there, when it is asked for.
 */
static uint64_t access_line(PmuPipeline *p, const PmuAccess *access,
                            uint64_t start, Asker asker, uint64_t *begun)
{
    uint64_t ready = start + p->uarch->l1d.latency;

    *begun = start;
    if (needs_fill(access)) {
        ready = MAX(ready, pmu_pipeline_fill(p, access));
    } else if (access->source > PMU_FROM_FILL) {
        ready = l1d_miss(p, access, start, asker, begun);
    }
    start_prefetches(p, access, start);
    start_ahead(p, access, start);
    return ready;
}

/*
 * Does @access, a load whose address is translated at @start, wait for a line
 * that is on its way?
 */
static bool waits_for_fill(const PmuPipeline *p, const PmuAccess *access,
                           uint64_t start)
{
    return needs_fill(access) &&
           pmu_pipeline_fill(p, access) > start + p->uarch->l1d.latency;
}

static bool misses_l1d(const PmuAccess *access)
{
    return access->source > PMU_FROM_FILL;
}

/*
 * The furthest that a load waits for, in a line that is asked for at @begun and
 * there at @ready: PMU_WAIT_ANY up to _L3, where it was missed last.
 */
static uint8_t furthest(const PmuPipeline *p, const PmuAccess *access,
                        uint64_t begun, uint64_t ready)
{
    static const uint8_t wait_of[] = {
        [PMU_FROM_L1] = PMU_WAIT_ANY,
        [PMU_FROM_FILL] = PMU_WAIT_L1,
        [PMU_FROM_L2] = PMU_WAIT_L1,
        [PMU_FROM_PREFETCH] = PMU_WAIT_L1,
        [PMU_FROM_L3] = PMU_WAIT_L2,
        [PMU_FROM_DRAM] = PMU_WAIT_L3,
    };
    uint64_t cycles = ready - begun;

    if (access->source == PMU_FROM_FILL && cycles <= p->uarch->l1d.latency) {
        return PMU_WAIT_ANY;
    }
    /* One that is still on its way to L2 has missed that, or L3 as well. */
    if (access->source == PMU_FROM_PREFETCH && cycles > p->uarch->l2.latency) {
        return cycles > p->uarch->l3.latency ? PMU_WAIT_L3 : PMU_WAIT_L2;
    }
    return wait_of[access->source];
}

/* A demand load finds its line in a buffer that another asker has. */
static void demand_fill(PmuPipeline *p, const PmuAccess *access,
                        uint64_t start, uint64_t ready)
{
    uint8_t *asker = &p->asker[fill_of(p, access)];

    *pmu_timed(p, PMU_ITEM_FB_SOFT_HITS) += (*asker & ~DEMANDED) ==
                                            ASKED_BY_PREFETCH;
    if (*asker != ASKED_BY_LOAD && !(*asker & DEMANDED)) {
        *pmu_timed(p, PMU_ITEM_L1D_PENDING) += ready - start;
        *asker |= DEMANDED;
    }
}

/*
 * A load waits from @start on for its translation and a buffer, from @begun on
 * for a line that arrives at @arrives, and has its data @ready.  It has missed
 * L1D from the beginning of that, and L2, and L3 for all that the queue to it
 * knows, once L2 has been looked at.
 */
static inline void count_wait(PmuPipeline *p, const PmuAccess *access,
                              uint64_t start, uint64_t begun,
                              uint64_t arrives, uint64_t ready)
{
    uint8_t wait = furthest(p, access, begun, arrives);
    uint64_t known;

    if (G_LIKELY(wait == PMU_WAIT_ANY)) {
        pmu_cycles_wait(p, start, ready, wait);
        return;
    }
    known = wait == PMU_WAIT_L1 ? arrives
                                : MIN(begun + p->uarch->l2.latency, arrives);
    pmu_cycles_wait(p, start, begun, PMU_WAIT_ANY);
    pmu_cycles_wait(p, begun, known, PMU_WAIT_ANY | PMU_WAIT_L1);
    pmu_cycles_wait(p, known, arrives,
                    PMU_WAIT_ANY | PMU_WAIT_L1 | PMU_WAIT_L2 | wait);
    pmu_cycles_wait(p, arrives, ready, PMU_WAIT_ANY);
}

/*
 * When a load that is dispatched at @start and translated at @translated has
 * its data; @late and @forward_late are PmuInsn.load_latency and
 * .forward_latency.
 */
static uint64_t load_line(PmuPipeline *p, const PmuAccess *access,
                          uint64_t start, uint64_t translated, uint8_t late,
                          uint8_t forward_late)
{
    uint64_t begun;
    uint64_t arrives = access_line(p, access, translated, ASKED_BY_LOAD,
                                   &begun);
    uint64_t ready = arrives + late;

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
    count_wait(p, access, start, begun, arrives, ready);
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
 * A load of two lines, translated at @start and @turn, is found where the
 * further one is, once.
 */
static bool split_waits_for_fill(const PmuPipeline *p,
                                 const PmuAccess *first, uint64_t start,
                                 const PmuAccess *second, uint64_t turn)
{
    return !misses_l1d(first) && !misses_l1d(second) &&
           (waits_for_fill(p, first, start) ||
            waits_for_fill(p, second, turn));
}

uint64_t pmu_access_load(PmuPipeline *p, const PmuInsn *insn, uint8_t index,
                         uint64_t earliest, uint64_t address,
                         const PmuOutcome *outcome)
{
    uint16_t ports = p->uarch->ports[PMU_UNIT_LOAD];
    uint64_t start, ready;

    start = pmu_ports_dispatch(p, ports, earliest, MAX(address, p->loads_from));
    if (index == PMU_NO_ACCESS) {
        ready = start + p->uarch->l1d.latency + insn->load_latency;
    } else if (insn->flags & PMU_INSN_PREFETCH) {
        const PmuAccess *access = special_access(outcome, index);
        uint64_t translated = pmu_access_translate(p, access, start,
                                                   PMU_WALK_LOAD);
        uint64_t begun;

        /* Nothing waits for it. */
        access_line(p, access, translated, ASKED_BY_PREFETCH, &begun);
        ready = start;
    } else {
        const PmuAccess *access = special_access(outcome, index);
        uint64_t translated = pmu_access_translate(p, access, start,
                                                   PMU_WALK_LOAD);
        bool fill = waits_for_fill(p, access, translated);

        if (fill) {
            demand_fill(p, access, translated, pmu_pipeline_fill(p, access));
        }
        ready = load_line(p, access, start, translated, insn->load_latency,
                          insn->forward_latency);
        if (outcome->split >> index & 1) {
            /* The other line takes a turn of its own. */
            const PmuAccess *other = &outcome->second[index];
            uint64_t turn = pmu_ports_use(p, ports, earliest, start + 1);
            uint64_t second;

            second = pmu_access_translate(p, other, turn, PMU_WALK_LOAD);
            fill = split_waits_for_fill(p, access, translated, other, second);
            second = load_line(p, other, turn, second, insn->load_latency,
                               insn->forward_latency);
            ready = MAX(ready, second);
        }
        *pmu_timed(p, PMU_ITEM_FB_HITS) += fill;
    }
    return ready;
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

/* When a store, its address known at @address, owns the line of @access. */
static uint64_t own_line(PmuPipeline *p, const PmuAccess *access,
                         uint64_t address)
{
    uint64_t begun;

    address = pmu_access_translate(p, access, address, PMU_WALK_STORE);
    return access_line(p, access, address, ASKED_BY_STORE, &begun);
}

void pmu_access_store(PmuPipeline *p, const PmuInsn *insn, uint8_t index,
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
        owned = own_line(p, special_access(outcome, index), address);
        if (split) {
            uint64_t second = own_line(p, &outcome->second[index], address);

            owned = MAX(owned, second);
        }
    }
    drain(p, owned, p->retired, data,
          drain_turns(p, insn, outcome->same_line >> index & 1, split));
}

uint64_t pmu_pipeline_string_load(PmuPipeline *p, const PmuAccess *access)
{
    uint64_t start = MAX(p->cycle + p->uarch->issue_to_dispatch,
                         p->loads_from);
    uint64_t translated = pmu_access_translate(p, access, start,
                                               PMU_WALK_LOAD);

    *pmu_timed(p, PMU_ITEM_FB_HITS) += waits_for_fill(p, access, translated);
    return load_line(p, access, start, translated, 0, 0);
}

void pmu_pipeline_string_store(PmuPipeline *p, const PmuAccess *access,
                               bool same_line)
{
    uint64_t start = p->cycle + p->uarch->issue_to_dispatch;
    uint64_t owned = own_line(p, access, start);

    pmu_slots_lose_backend(p, PMU_STAMP_BY(pmu_access_store_room(p),
                                           PMU_CAUSE_STORES));
    drain(p, owned, p->retired, start, !same_line);
}
