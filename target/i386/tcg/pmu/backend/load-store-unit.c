/*
 * The load/store unit: when loads have their data, when stores leave the store
 * buffer, and what loads wait for.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>

#include "tcg/pmu/backend/load-store-unit.h"
#include "tcg/pmu/backend/ports.h"
#include "tcg/pmu/backend/slot-attribution.h"

/*
 * The furthest level that a load missed, whose line is asked for in cycle
 * @begun and there in cycle @ready: PMU_WAIT_L1_MISS to PMU_WAIT_L3_MISS.
 * PMU_WAIT_ANY: it missed none.
 */
static uint8_t furthest(const PmuPipeline *p, const PmuAccessOutcome *access,
                        uint64_t begun, uint64_t ready)
{
    static const uint8_t wait_of[] = {
        [PMU_SOURCE_L1] = PMU_WAIT_ANY,
        [PMU_SOURCE_FILL] = PMU_WAIT_L1_MISS,
        [PMU_SOURCE_L2] = PMU_WAIT_L1_MISS,
        [PMU_SOURCE_PREFETCH] = PMU_WAIT_L1_MISS,
        [PMU_SOURCE_L3] = PMU_WAIT_L2_MISS,
        [PMU_SOURCE_DRAM] = PMU_WAIT_L3_MISS,
    };
    uint64_t cycles = ready - begun;

    if (access->source == PMU_SOURCE_FILL && cycles <= p->uarch->l1d.latency) {
        return PMU_WAIT_ANY;
    }
    /* A line still on its way to L2 has missed L2, and perhaps L3 as well. */
    if (access->source == PMU_SOURCE_PREFETCH &&
        cycles > p->uarch->l2.latency) {
        return cycles > p->uarch->l3.latency ? PMU_WAIT_L3_MISS
                                             : PMU_WAIT_L2_MISS;
    }
    return wait_of[access->source];
}

/*
 * From @from to @ready, a load waits for a line that a prefetch is bringing:
 * the prefetch counts as a demand read from @from on.
 */
static void count_promoted(PmuPipeline *p, uint8_t wait, uint64_t from,
                           uint64_t ready)
{
    *pmu_count(&p->clock, PMU_ITEM_OFFCORE_PROMOTED) += ready - from;
    if (wait == PMU_WAIT_L3_MISS) {
        *pmu_count(&p->clock, PMU_ITEM_OFFCORE_PROMOTED_DRAM) += ready - from;
    }
}

/*
 * Note what a load waits for: from cycle @start on, its translation and a fill
 * buffer; from @begun on, its line, which arrives at @arrives.  Its data are
 * there at @ready.  The load has missed L1D from @begun on.  If it misses L2,
 * it has done so once L2 has been looked up; if it misses L3, too, both count
 * from then on.
 */
static inline void count_wait(PmuPipeline *p, const PmuAccessOutcome *access,
                              uint64_t start, uint64_t begun,
                              uint64_t arrives, uint64_t ready)
{
    uint8_t wait = furthest(p, access, begun, arrives);
    uint64_t known;

    if (G_LIKELY(wait == PMU_WAIT_ANY)) {
        pmu_outstanding_wait(&p->outstanding, start, ready, wait);
        return;
    }
    known = wait == PMU_WAIT_L1_MISS
            ? arrives : MIN(begun + p->uarch->l2.latency, arrives);
    pmu_outstanding_wait(&p->outstanding, start, begun, PMU_WAIT_ANY);
    pmu_outstanding_wait(&p->outstanding, begun, known,
                         PMU_WAIT_ANY | PMU_WAIT_L1_MISS);
    pmu_outstanding_wait(&p->outstanding, known, arrives,
                         PMU_WAIT_ANY | PMU_WAIT_L1_MISS | PMU_WAIT_L2_MISS |
                         wait);
    pmu_outstanding_wait(&p->outstanding, arrives, ready, PMU_WAIT_ANY);
    if (access->source == PMU_SOURCE_PREFETCH && wait != PMU_WAIT_L1_MISS) {
        count_promoted(p, wait, known, arrives);
    }
}

/* The @ago-th newest store; 1 is the newest. */
static const PmuStoreSlot *store_before(const PmuPipeline *p, uint32_t ago)
{
    return &p->lsu.store[(p->lsu.stores - ago) % PMU_STORE_RING];
}

/*
 * The cycle in which a load from one line has its data.  It is dispatched at
 * @start and its address is translated at @translated; @late and @forward_late
 * are PmuInsn.load_latency and .forward_latency.
 */
static uint64_t load_line(PmuPipeline *p, const PmuAccessOutcome *access,
                          uint64_t start, uint64_t translated, uint8_t late,
                          uint8_t forward_late)
{
    uint64_t begun;
    uint64_t arrives = pmu_miss_timing_line(&p->misses, access, translated,
                                            PMU_REQUEST_LOAD,
                                   &begun);
    uint64_t ready = arrives + late;

    if (access->store) {
        const PmuStoreSlot *store = store_before(p, access->store);

        if (!access->blocked) {
            ready = MAX(ready, store->data + p->uarch->store_forward +
                               forward_late);
        } else if (store->data > start) {
            ready = MAX(ready, store->data + late) +
                    p->uarch->store_forward_blocked;
            ++*pmu_count(&p->clock, PMU_ITEM_FORWARD_BLOCKED);
        }
    }
    if (access->alias && store_before(p, access->alias)->drained > start) {
        ready += p->uarch->address_alias;
        ++*pmu_count(&p->clock, PMU_ITEM_ADDRESS_ALIAS);
    }
    count_wait(p, access, start, begun, arrives, ready);
    return ready;
}

/*
 * Does memory renaming replace the load of @insn, which is within one line, by
 * the register that @store stored?  A store of the load's size that has all its
 * bytes is to the same address.
 */
static bool is_renamed(const PmuInsn *insn, const PmuAccessOutcome *access,
                       const PmuStoreSlot *store)
{
    return (insn->flags & PMU_INSN_RENAMES_MEMORY) && access->store &&
           !access->blocked && store->renames == insn->access_size;
}

/* The outcome of access @index; all zero for plain hits, which most are. */
static const PmuAccessOutcome *special_access(const PmuOutcome *outcome,
                                              uint8_t index)
{
    static const PmuAccessOutcome plain;

    return outcome->special >> index & 1 ? &outcome->access[index] : &plain;
}

/*
 * Does a load of two lines, translated at @start and @turn, count as one that
 * waits for a fill?  It counts once, by the line that is further away.
 */
static bool split_waits_for_fill(const PmuPipeline *p,
                                 const PmuAccessOutcome *first, uint64_t start,
                                 const PmuAccessOutcome *second, uint64_t turn)
{
    return !pmu_access_misses_l1d(first) && !pmu_access_misses_l1d(second) &&
           (pmu_miss_timing_waits_for_fill(&p->misses, first, start) ||
            pmu_miss_timing_waits_for_fill(&p->misses, second, turn));
}

uint64_t pmu_lsu_load(PmuPipeline *p, const PmuInsn *insn, uint8_t index,
                      uint64_t earliest, uint64_t address,
                      const PmuOutcome *outcome)
{
    uint16_t ports = p->uarch->ports[PMU_UNIT_LOAD];
    uint64_t start, ready;

    start = pmu_ports_dispatch(p, ports, earliest,
                               MAX(address, p->lsu.loads_from));
    if (index == PMU_NO_ACCESS) {
        ready = start + p->uarch->l1d.latency + insn->load_latency;
    } else if (insn->flags & PMU_INSN_PREFETCH) {
        const PmuAccessOutcome *access = special_access(outcome, index);
        uint64_t translated = pmu_miss_timing_translate(&p->misses, access,
                                                        start,
                                                        PMU_WALK_LOAD);
        uint64_t begun;

        /* Nothing waits for the line. */
        pmu_miss_timing_line(&p->misses, access, translated,
                             PMU_REQUEST_PREFETCH, &begun);
        ready = start;
    } else {
        const PmuAccessOutcome *access = special_access(outcome, index);
        uint64_t translated = pmu_miss_timing_translate(&p->misses, access,
                                                        start,
                                                        PMU_WALK_LOAD);
        bool fill = pmu_miss_timing_waits_for_fill(&p->misses, access,
                                                   translated);

        if (fill) {
            *pmu_count(&p->clock, PMU_ITEM_FB_SOFT_HITS) +=
                pmu_miss_timing_soft_fill(&p->misses, access);
            pmu_miss_timing_demand_fill(&p->misses, access, translated);
        }
        ready = load_line(p, access, start, translated, insn->load_latency,
                          insn->forward_latency);
        if (outcome->split >> index & 1) {
            /* The second line takes a load port for another cycle. */
            const PmuAccessOutcome *other = &outcome->second[index];
            uint64_t turn = pmu_ports_use(p, ports, earliest, start + 1);
            uint64_t second;

            second = pmu_miss_timing_translate(&p->misses, other, turn,
                                               PMU_WALK_LOAD);
            fill = split_waits_for_fill(p, access, translated, other, second);
            if (pmu_miss_timing_waits_for_fill(&p->misses, other, second)) {
                pmu_miss_timing_demand_fill(&p->misses, other, second);
            }
            second = load_line(p, other, turn, second, insn->load_latency,
                               insn->forward_latency);
            ready = MAX(ready, second);
        } else if (is_renamed(insn, access, store_before(p, access->store))) {
            /* Hardware loads as well, to check this; here it is right. */
            ready = store_before(p, access->store)->data;
        }
        *pmu_count(&p->clock, PMU_ITEM_FB_HITS) += fill;
    }
    return ready;
}

/*
 * Enter a store that retires at @retired into the store buffer.  It owns its
 * line from cycle @owned on; @data and @renames are PmuStoreSlot's.  Stores
 * leave in order: this one takes @turns cycles, 0 if it can leave together with
 * the one before.
 */
static void drain(PmuPipeline *p, uint64_t owned, PmuCompletion retired,
                  uint64_t data, uint32_t turns, uint8_t renames)
{
    uint64_t before = p->lsu.drained;
    uint64_t turn = before + (turns || p->lsu.no_pair ? MAX(turns, 1) : 0);

    p->lsu.drained = MAX(MAX(turn, owned), PMU_COMPLETION_CYCLE(retired));
    p->lsu.store[p->lsu.stores++ % PMU_STORE_RING] = (PmuStoreSlot) {
        .data = data, .drained = p->lsu.drained, .renames = renames,
    };
    p->lsu.no_pair = turns > 1 || p->lsu.drained == before;
}

/*
 * The cycles that a store of @insn takes to leave the buffer: see drain().  Two
 * stores to the same line can leave in one cycle; a store to two lines, @split,
 * takes two cycles.
 */
static uint32_t drain_turns(const PmuPipeline *p, const PmuInsn *insn,
                            bool same_line, bool split)
{
    const PmuUarch *uarch = p->uarch;

    if ((insn->flags & PMU_INSN_STREAMING) && uarch->stream_half_cycles) {
        return (uarch->stream_half_cycles + (p->lsu.stores & 1)) / 2;
    }
    return split ? 2 : !(same_line && 2 * insn->access_size <=
                                      uarch->store_pair_bytes);
}

/* When a store whose address is known at @address owns its line, @access. */
static uint64_t own_line(PmuPipeline *p, const PmuAccessOutcome *access,
                         uint64_t address)
{
    uint64_t begun;

    address = pmu_miss_timing_translate(&p->misses, access, address,
                                        PMU_WALK_STORE);
    return pmu_miss_timing_line(&p->misses, access, address, PMU_REQUEST_STORE,
                                &begun);
}

void pmu_lsu_store(PmuPipeline *p, const PmuInsn *insn, uint8_t index,
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
    drain(p, owned, p->rob.retired, data,
          drain_turns(p, insn, outcome->same_line >> index & 1, split),
          insn->flags & PMU_INSN_RENAMES_MEMORY ? insn->access_size : 0);
}

uint64_t pmu_lsu_string_load(PmuPipeline *p,
                             const PmuAccessOutcome *access)
{
    uint64_t start = MAX(p->clock.cycle + p->uarch->issue_to_dispatch,
                         p->lsu.loads_from);
    uint64_t translated = pmu_miss_timing_translate(&p->misses, access, start,
                                                    PMU_WALK_LOAD);

    *pmu_count(&p->clock, PMU_ITEM_FB_HITS) += pmu_miss_timing_waits_for_fill(
        &p->misses, access,
                                                               translated);
    return load_line(p, access, start, translated, 0, 0);
}

void pmu_lsu_string_store(PmuPipeline *p, const PmuAccessOutcome *access,
                               bool same_line)
{
    uint64_t start = p->clock.cycle + p->uarch->issue_to_dispatch;
    uint64_t owned = own_line(p, access, start);

    pmu_slots_wait_for_backend(p,
                               PMU_COMPLETION_BY(pmu_lsu_store_buffer_free(p),
                                                 PMU_CAUSE_STORES));
    drain(p, owned, p->rob.retired, start, !same_line, 0);
}
