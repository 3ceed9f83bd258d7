/*
 * States of the pipeline, made comparable.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Run time, below the line.
 */

#include <glib.h>
#include <stdlib.h>
#include <string.h>

#include "state.h"
#include "supply.h"

/* A snapshot is written and read in one order: what stands here, in both. */
typedef struct Writer {
    uint16_t *word, *end;
    bool fits;
} Writer;

static void put(Writer *w, uint64_t value)
{
    if (w->word == w->end || value > UINT16_MAX) {
        w->fits = false;
        return;
    }
    *w->word++ = value;
}

/* Cycle @cycle as seen from @base: all that are over are the same. */
static void put_from(Writer *w, uint64_t cycle, uint64_t base)
{
    put(w, cycle > base ? cycle - base : 0);
}

static uint64_t get_from(const uint16_t **word, uint64_t base)
{
    uint64_t value = *(*word)++;

    return value ? base + value : 0;
}

static void put_stamp(Writer *w, PmuStamp stamp, uint64_t base)
{
    uint64_t cycle = PMU_STAMP_CYCLE(stamp);

    put(w, cycle > base ? PMU_STAMP(cycle - base, PMU_STAMP_MEMORY(stamp))
                        : 0);
}

static PmuStamp get_stamp(const uint16_t **word, uint64_t base)
{
    uint64_t value = *(*word)++;

    return value ? value + (base << 1) : 0;
}

/* The open cycle: its slots and where they went. */

static void put_clock(Writer *w, const PmuPipeline *p)
{
    uint64_t mask = p->slot ? (1ull << 4 * p->slot) - 1 : 0;
    uint64_t history = p->history & mask;

    put(w, p->slot);
    put(w, history & UINT16_MAX);
    put(w, history >> 16 & UINT16_MAX);
    put(w, history >> 32 & UINT16_MAX);
}

void pmu_state_clock(const PmuState *state, uint32_t *slot, uint64_t *history)
{
    const uint16_t *w = state->word;

    *slot = w[0];
    *history = w[1] | (uint64_t)w[2] << 16 | (uint64_t)w[3] << 32;
}

static void get_clock(const uint16_t **word, PmuPipeline *p,
                      const PmuState *state)
{
    pmu_state_clock(state, &p->slot, &p->history);
    *word += 4;
}

/* No micro-op is dispatched before this: sources ready by then are ready. */
static uint64_t first_dispatch(const PmuPipeline *p)
{
    return p->cycle + p->uarch->issue_to_dispatch;
}

static void put_registers(Writer *w, const PmuPipeline *p)
{
    uint64_t base = first_dispatch(p);

    for (int i = 1; i < PMU_REG_NR; i++) {
        put_from(w, p->ready[i], base);
    }
    for (int i = 1; i < PMU_RESOURCE_NR; i++) {
        put_from(w, p->resource[i], base);
    }
    put_from(w, p->loads_from, base);
    put(w, p->paired | p->stack_ahead << 1);
    put_stamp(w, p->retired, base + 1);
    put_stamp(w, p->barrier, p->cycle);
}

static void get_registers(const uint16_t **word, PmuPipeline *p)
{
    uint64_t base = first_dispatch(p);

    for (int i = 1; i < PMU_REG_NR; i++) {
        p->ready[i] = get_from(word, base);
    }
    for (int i = 1; i < PMU_RESOURCE_NR; i++) {
        p->resource[i] = get_from(word, base);
    }
    p->loads_from = get_from(word, base);
    p->paired = **word & 1;
    p->stack_ahead = *(*word)++ >> 1;
    p->retired = get_stamp(word, base + 1);
    p->barrier = get_stamp(word, p->cycle);
}

/*
 * The frontend is at most so many cycles ahead of the clock, and the
 * predecoder of it: see pmu_supply_settle().
 */
#define PMU_STATE_AHEAD (PMU_FIRST_CYCLE / 2)

static void put_supply(Writer *w, const PmuPipeline *p)
{
    const PmuSupply *s = &p->supply;
    bool legacy = s->source == PMU_SUPPLY_LEGACY;

    put(w, s->source | s->jumped << 2 | s->delivered << 8);
    put(w, s->cycle + PMU_STATE_AHEAD - p->cycle);
    put(w, PMU_STATE_AHEAD + (legacy ? s->predecoded - s->cycle : 0));
    put(w, legacy ? s->decoded | s->predecode_count << 8 : 0);
    put(w, legacy ? s->chunk : 0);
}

static void get_supply(const uint16_t **word, PmuPipeline *p)
{
    PmuSupply *s = &p->supply;
    const uint16_t *w = *word;

    s->source = w[0] & 3;
    s->jumped = w[0] >> 2 & 1;
    s->delivered = w[0] >> 8;
    s->cycle = p->cycle + w[1] - PMU_STATE_AHEAD;
    s->predecoded = s->cycle + w[2] - PMU_STATE_AHEAD;
    s->decoded = w[3] & UINT8_MAX;
    s->predecode_count = w[3] >> 8;
    s->chunk = w[4];
    *word += 5;
}

static void put_fusion(Writer *w, const PmuPipeline *p)
{
    put(w, p->fuse);
    if (p->fuse) {
        put(w, p->fuse_ports);
        put_from(w, p->fuse_cycle, p->cycle);
        put_from(w, p->fuse_issue, p->cycle);
        put_from(w, p->fuse_ready, p->cycle);
    }
}

static void get_fusion(const uint16_t **word, PmuPipeline *p)
{
    p->fuse = *(*word)++;
    if (p->fuse) {
        p->fuse_ports = *(*word)++;
        p->fuse_cycle = get_from(word, p->cycle);
        p->fuse_issue = get_from(word, p->cycle);
        p->fuse_ready = get_from(word, p->cycle);
    }
}

/*
 * No micro-op takes a place on the ports before this: neither the next one,
 * nor the newest if it is bound anew (p->fuse).
 */
static uint64_t first_place(const PmuPipeline *p)
{
    uint64_t first = first_dispatch(p);

    return (p->fuse ? MIN(first, p->fuse_issue) : first) * PMU_PORT_UNIT;
}

static void put_ports(Writer *w, const PmuPipeline *p)
{
    uint64_t base = first_place(p);

    for (unsigned i = 0; i < p->sets.num; i++) {
        put_from(w, p->port_set[i], base);
    }
}

static void get_ports(const uint16_t **word, PmuPipeline *p)
{
    uint64_t base = first_place(p);

    for (unsigned i = 0; i < p->sets.num; i++) {
        p->port_set[i] = get_from(word, base);
    }
}

/*
 * The scheduler: what is in it matters if it can be full before that has left,
 * or if the newest micro-op may be taken out again (p->fuse).  At most SCHEDULER_RATE micro-ops enter it in a cycle.
 */
#define SCHEDULER_RATE(uarch) (4 * (uarch)->width)

static void put_scheduler(Writer *w, const PmuPipeline *p)
{
    uint32_t left = p->scheduled - p->num_far, skipped = 0;
    uint16_t *count = w->word;
    uint64_t c = p->cycle;

    /* Those that leave in time: the fewer are left, the more do. */
    while (left && !p->fuse && p->scheduled - skipped +
                   (c + 1 - p->cycle) * SCHEDULER_RATE(p->uarch) <=
                   p->uarch->scheduler) {
        skipped += p->dispatches[c % PMU_WINDOW];
        left -= p->dispatches[c % PMU_WINDOW];
        c++;
    }
    put(w, 0);
    put(w, c - p->cycle);
    for (; left && w->fits; c++) {
        put(w, p->dispatches[c % PMU_WINDOW]);
        left -= p->dispatches[c % PMU_WINDOW];
    }
    if (w->fits) {
        *count = w->word - count - 2;
        if (!*count) {
            count[1] = 0;
        }
    }
    put(w, p->num_far);
    for (uint32_t i = 0; i < p->num_far; i++) {
        put_from(w, p->far[i], p->cycle);
    }
}

static void get_scheduler(const uint16_t **word, PmuPipeline *p)
{
    uint16_t count = *(*word)++;
    uint64_t c = p->cycle + *(*word)++;

    memset(p->dispatches, 0, sizeof(p->dispatches));
    p->scheduled = 0;
    for (; count; count--, c++) {
        p->dispatches[c % PMU_WINDOW] = **word;
        p->scheduled += *(*word)++;
    }
    p->num_far = *(*word)++;
    for (uint32_t i = 0; i < p->num_far; i++) {
        p->far[i] = get_from(word, p->cycle);
    }
    p->scheduled += p->num_far;
}

/*
 * What has not retired, of a buffer of @limit entries.  The entry that is the
 * @i-th newest is looked at when others have been issued for all but @i; until
 * then it takes so many cycles at least.
 */
static uint64_t entry_asked_for(const PmuPipeline *p, uint32_t limit,
                                uint32_t i)
{
    uint32_t others = limit - MIN(limit, i + PMU_ROB_CHUNK);

    return p->cycle + others / p->uarch->width;
}

/*
 * Stamps only ever grow, so they are runs of equal ones from the newest back
 * to those that are over.  Is there one that can make somebody wait?
 */
static bool retiring_matters(const PmuPipeline *p, const PmuStamp *ring,
                             uint32_t size, uint64_t newest, uint32_t limit)
{
    for (uint32_t i = 1; i <= limit; i++) {
        uint64_t cycle = PMU_STAMP_CYCLE(ring[(newest - i) % size]);

        if (cycle <= p->cycle) {
            return false;
        }
        if (cycle > entry_asked_for(p, limit, i)) {
            return true;
        }
    }
    return false;
}

static void put_retiring(Writer *w, const PmuPipeline *p,
                         const PmuStamp *ring, uint32_t size, uint64_t newest,
                         uint32_t limit)
{
    uint16_t *count = w->word;
    uint32_t i = 1;

    put(w, 0);
    if (!retiring_matters(p, ring, size, newest, limit)) {
        return;
    }
    while (i <= limit && w->fits) {
        PmuStamp stamp = ring[(newest - i) % size];
        uint32_t first = i;

        if (PMU_STAMP_CYCLE(stamp) <= p->cycle) {
            break;
        }
        while (i <= limit && ring[(newest - i) % size] == stamp) {
            i++;
        }
        put_stamp(w, stamp, p->cycle);
        put(w, i - first);
    }
    if (w->fits) {
        *count = (w->word - count - 1) / 2;
    }
}

static void get_retiring(const uint16_t **word, const PmuPipeline *p,
                         PmuStamp *ring, uint32_t size, uint64_t newest,
                         uint32_t limit)
{
    uint16_t runs = *(*word)++;
    uint32_t i = 1;

    for (; runs; runs--) {
        PmuStamp stamp = get_stamp(word, p->cycle);
        uint32_t last = i + *(*word)++;

        for (; i < last; i++) {
            ring[(newest - i) % size] = stamp;
        }
    }
    for (; i <= limit; i++) {
        ring[(newest - i) % size] = 0;
    }
}

/*
 * The newest stores, back to the last that somebody may have to wait for: a
 * load for its data, or a store for its place in the buffer.
 */
static void put_stores(Writer *w, const PmuPipeline *p, PmuState *state)
{
    uint64_t base = first_dispatch(p);
    uint16_t *count = w->word, *end = w->word + 1;

    state->stores_live = 0;
    put(w, 0);
    for (uint32_t i = 1; i <= p->uarch->store_buffer && w->fits; i++) {
        const PmuStoreSlot *store =
            &p->store[(p->stores - i) % PMU_STORE_RING];
        bool fills = store->drained >
                     entry_asked_for(p, p->uarch->store_buffer, i);

        put_from(w, store->data, base);
        put(w, fills ? store->drained - p->cycle : 0);
        if (store->data > base) {
            state->stores_live = i;
        }
        if (w->fits && (fills || store->data > base)) {
            *count = i;
            end = w->word;
        }
    }
    if (w->fits) {
        w->word = end;
    }
    put_from(w, p->drained, base);
}

static void get_stores(const uint16_t **word, PmuPipeline *p)
{
    uint64_t base = first_dispatch(p);
    uint32_t count = *(*word)++, i = 1;

    for (; i <= count; i++) {
        PmuStoreSlot *store = &p->store[(p->stores - i) % PMU_STORE_RING];

        store->data = get_from(word, base);
        store->drained = get_from(word, p->cycle);
    }
    for (; i <= PMU_OUTCOME_STORES; i++) {
        p->store[(p->stores - i) % PMU_STORE_RING] = (PmuStoreSlot) {};
    }
    p->drained = get_from(word, base);
}

/* Those of the newest lines asked for that are on their way; how many back. */
static uint32_t put_arriving(Writer *w, const PmuPipeline *p,
                             const uint64_t *ring, uint32_t size,
                             uint64_t newest)
{
    uint16_t *count = w->word;
    uint32_t live = 0;

    put(w, 0);
    for (uint32_t i = 1; i <= size; i++) {
        uint64_t arrives = ring[(newest - i) % size];

        if (arrives > p->cycle) {
            put(w, i);
            put_from(w, arrives, p->cycle);
            live = i;
        }
    }
    if (w->fits) {
        *count = (w->word - count - 1) / 2;
    }
    return live;
}

static void get_arriving(const uint16_t **word, const PmuPipeline *p,
                         uint64_t *ring, uint32_t size, uint64_t newest)
{
    uint16_t count = *(*word)++;

    memset(ring, 0, size * sizeof(*ring));
    for (; count; count--) {
        uint32_t i = *(*word)++;

        ring[(newest - i) % size] = get_from(word, p->cycle);
    }
}

static int compare_cycles(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static void put_memory(Writer *w, PmuPipeline *p, PmuState *state)
{
    uint64_t base = first_dispatch(p);

    state->fills_live = put_arriving(w, p, p->fill, PMU_FILL_RING, p->fills);
    state->prefetches_live = put_arriving(w, p, p->prefetch,
                                          PMU_PREFETCH_RING, p->prefetches);
    /* Which buffer it is makes no difference. */
    qsort(p->buffer, p->uarch->fill_buffers, sizeof(p->buffer[0]),
          compare_cycles);
    for (uint32_t i = 0; state->fills_live && i < p->uarch->fill_buffers;
         i++) {
        put_from(w, p->buffer[i], base);
    }
    put_from(w, p->dram_free, p->cycle);
}

static void get_memory(const uint16_t **word, PmuPipeline *p,
                       const PmuState *state)
{
    uint64_t base = first_dispatch(p);

    get_arriving(word, p, p->fill, PMU_FILL_RING, p->fills);
    get_arriving(word, p, p->prefetch, PMU_PREFETCH_RING, p->prefetches);
    memset(p->buffer, 0, sizeof(p->buffer));
    for (uint32_t i = 0; state->fills_live && i < p->uarch->fill_buffers;
         i++) {
        p->buffer[i] = get_from(word, base);
    }
    p->dram_free = get_from(word, p->cycle);
}

/* Multiply and fold, eight bytes at a time. */
static uint64_t hash_words(const uint16_t *word, uint32_t length)
{
    uint64_t hash = length;

    for (uint32_t i = 0; i < length; i += 4) {
        uint64_t value = 0;

        memcpy(&value, &word[i], MIN(4, length - i) * sizeof(*word));
        hash = (hash ^ value) * 0x9e3779b97f4a7c15ull;
        hash ^= hash >> 29;
    }
    return hash;
}

bool pmu_state_take(PmuPipeline *p, PmuState *state)
{
    Writer w = {
        .word = state->word, .end = state->word + PMU_STATE_WORDS,
        .fits = true,
    };

    pmu_supply_settle(p);
    put_clock(&w, p);
    put_registers(&w, p);
    put_supply(&w, p);
    put_fusion(&w, p);
    put_ports(&w, p);
    put_scheduler(&w, p);
    put_retiring(&w, p, p->rob, PMU_ROB_RING, p->uops, p->uarch->rob);
    put_retiring(&w, p, p->load, PMU_LOAD_RING, p->loads,
                 p->uarch->load_buffer);
    put_stores(&w, p, state);
    put_memory(&w, p, state);
    state->length = w.word - state->word;
    state->hash = hash_words(state->word, state->length);
    state->last = NULL;
    return w.fits;
}

void pmu_state_restore(PmuPipeline *p, const PmuState *state)
{
    const uint16_t *word = state->word;

    get_clock(&word, p, state);
    get_registers(&word, p);
    get_supply(&word, p);
    get_fusion(&word, p);
    get_ports(&word, p);
    get_scheduler(&word, p);
    get_retiring(&word, p, p->rob, PMU_ROB_RING, p->uops, p->uarch->rob);
    get_retiring(&word, p, p->load, PMU_LOAD_RING, p->loads,
                 p->uarch->load_buffer);
    get_stores(&word, p);
    get_memory(&word, p, state);
    g_assert(word == state->word + state->length);
}
