/*
 * Intel Data Streaming Accelerator: the performance monitor.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Counters count events as they happen, in dsa_perfmon_count(), and cycles in
 * which queues and engines are in some state, in dsa_perfmon_advance().  A
 * cycle is a nanosecond of virtual time.
 */

#include "qemu/osdep.h"
#include "qemu/units.h"
#include "dsa.h"
#include "trace.h"

/*
 * Least time to an overflow by the timer, in ns.  A counter of few bits can
 * overflow all the time, and the guest must still make progress.
 */
#define MIN_INTERRUPT_NS    100000

#define WQ_CYCLES       (DSA_EV_WQ_WORK_READY | DSA_EV_WQ_BATCH_READY | \
                         DSA_EV_WQ_EMPTY)
#define ENGINE_CYCLES   (DSA_EV_ENGINE_PIPE_FULL | \
                         DSA_EV_ENGINE_NONE_READY | DSA_EV_ENGINE_BATCH_FULL)
#define ENGINE_DISPATCH (DSA_EV_ENGINE_FROM_BATCH | DSA_EV_ENGINE_FROM_WQ)

#define FILTER(name)    (1u << DSA_FILTER_ ## name)

/* A filter register's bits, all of which are set after a reset */
#define FILTER_MASK     0xffff

/* The events of each category, and the filters that apply to most of them */
static const struct {
    uint32_t events;
    uint32_t filters;
} categories[DSA_CATEGORIES] = {
    [DSA_CATEGORY_WQ] = {
        DSA_EV_WQ_SWQ_OK_LIMITED | DSA_EV_WQ_SWQ_RETRY_LIMITED |
        DSA_EV_WQ_SWQ_OK_UNLIMITED | DSA_EV_WQ_SWQ_RETRY_UNLIMITED |
        DSA_EV_WQ_DWQ_OK | DSA_EV_WQ_DWQ_FULL | WQ_CYCLES,
        FILTER(WQ),
    },
    [DSA_CATEGORY_ENGINE] = {
        DSA_EV_ENGINE_PROCESSED | DSA_EV_ENGINE_WRITTEN |
        DSA_EV_ENGINE_READS | DSA_EV_ENGINE_WRITES | ENGINE_DISPATCH |
        ENGINE_CYCLES,
        FILTER(TC) | FILTER(XFER_SIZE) | FILTER(ENGINE),
    },
    /* All its events are about ATS, which the device does not have. */
    [DSA_CATEGORY_TRANSLATION] = { },
    [DSA_CATEGORY_OPERATION] = {
        MAKE_64BIT_MASK(0, 16) | DSA_EV_OPERATION_CACHE_FLUSH |
        DSA_EV_OPERATION_FENCE_KEPT | DSA_EV_OPERATION_FENCE_CUT |
        DSA_EV_OPERATION_OVERLAP,
        FILTER(WQ),
    },
    [DSA_CATEGORY_COMPLETION] = {
        DSA_EV_COMPLETION_MSIX | DSA_EV_COMPLETION_IMS |
        DSA_EV_COMPLETION_PARTIAL | DSA_EV_COMPLETION_ERROR |
        DSA_EV_COMPLETION_OK | DSA_EV_COMPLETION_WRITES,
        FILTER(WQ),
    },
};

static uint32_t event_filters(unsigned category, uint32_t event)
{
    if (category == DSA_CATEGORY_ENGINE && event & ENGINE_DISPATCH) {
        return FILTER(WQ) | FILTER(ENGINE);
    } else if (category == DSA_CATEGORY_ENGINE && event & ENGINE_CYCLES) {
        return FILTER(ENGINE);
    }
    return categories[category].filters;
}

/* The filter bit of a transfer's size; bit i is for less than limit[i]. */
static unsigned size_class(uint32_t bytes)
{
    static const uint32_t limit[] = {
        512, 2 * KiB, 4 * KiB, 16 * KiB, 1 * MiB, 64 * MiB, 1 * GiB,
    };
    unsigned i = 0;

    while (i < ARRAY_SIZE(limit) && bytes >= limit[i]) {
        i++;
    }
    return i;
}

DsaSource dsa_perfmon_source(const IntelDsa *s, unsigned engine, unsigned wq,
                             const uint8_t *desc, uint32_t tc_flag)
{
    return (DsaSource) {
        .wq = wq, .engine = engine,
        .tc = dsa_traffic_class(s, wq, desc, tc_flag),
        .xfer_size = dsa_desc_size(desc),
    };
}

static bool passes(const DsaCounter *counter, uint32_t filters,
                   const DsaSource *source)
{
    const uint32_t bit[DSA_FILTERS] = {
        [DSA_FILTER_WQ] = 1u << source->wq,
        [DSA_FILTER_TC] = 1u << source->tc,
        [DSA_FILTER_PAGE_SIZE] = 0,
        [DSA_FILTER_XFER_SIZE] = 1u << size_class(source->xfer_size),
        [DSA_FILTER_ENGINE] = 1u << source->engine,
    };

    for (unsigned i = 0; i < DSA_FILTERS; i++) {
        if (filters & 1u << i && !(counter->filter[i] & bit[i])) {
            return false;
        }
    }
    return true;
}

static uint64_t width_mask(const IntelDsa *s)
{
    return MAKE_64BIT_MASK(0, s->counter_width);
}

static bool counts(const IntelDsa *s, unsigned i, unsigned category)
{
    const DsaCounter *counter = &s->perfmon.counter[i];

    return FIELD_EX64(counter->config, CNTRCFG, ENABLE) &&
           FIELD_EX64(counter->config, CNTRCFG, CATEGORY) == category &&
           !(s->perfmon.frozen & 1u << i);
}

/* By how much each counter goes up at the same time */
typedef struct DsaCounts {
    uint64_t n[DSA_MAX_COUNTERS];
} DsaCounts;

/* Add @n to counter @i.  Returns whether it overflows. */
static bool add(IntelDsa *s, unsigned i, uint64_t n)
{
    DsaCounter *counter = &s->perfmon.counter[i];
    bool overflow = n > width_mask(s) - counter->value;

    counter->value = (counter->value + n) & width_mask(s);
    return overflow;
}

/* All counters count before an overflow of one of them freezes all. */
static void add_all(IntelDsa *s, const DsaCounts *counts)
{
    bool interrupt = false;

    for (unsigned i = 0; i < s->num_counters; i++) {
        uint64_t config = s->perfmon.counter[i].config;

        if (!add(s, i, counts->n[i])) {
            continue;
        }
        trace_dsa_overflow(i);
        s->perfmon.overflow |= 1u << i;
        if (FIELD_EX64(config, CNTRCFG, FREEZE_OVERFLOW)) {
            s->perfmon.frozen = UINT32_MAX;
        }
        interrupt |= FIELD_EX64(config, CNTRCFG, INT_OVERFLOW);
    }
    if (interrupt) {
        dsa_raise(s, DSA_INTCAUSE_PERFMON);
    }
}

void dsa_perfmon_count(IntelDsa *s, unsigned category, uint32_t event,
                       const DsaSource *source, uint64_t n)
{
    DsaCounts all = { };

    for (unsigned i = 0; n && i < s->num_counters; i++) {
        DsaCounter *counter = &s->perfmon.counter[i];

        if (counts(s, i, category) &&
            FIELD_EX64(counter->config, CNTRCFG, EVENTS) & event &&
            passes(counter, event_filters(category, event), source)) {
            all.n[i] = n;
        }
    }
    add_all(s, &all);
}

/*
 * The descriptor at the head of a WQ at the monitor's time, or NULL.  One that
 * was submitted later is not there yet.
 */
static const uint8_t *waiting(const IntelDsa *s, unsigned wq)
{
    const uint8_t *desc;
    int64_t submitted;

    return dsa_queue_peek(s, wq, &desc, &submitted) &&
           submitted <= s->perfmon.time ? desc : NULL;
}

/* The event of cycles that the state of a WQ is now, or 0 */
static uint32_t wq_cycles(const IntelDsa *s, unsigned wq)
{
    const uint8_t *desc;

    if (!dsa_wq_enabled(s, wq) || dsa_state(s) != DSA_STATE_ENABLED) {
        return 0;
    }
    desc = waiting(s, wq);
    if (!desc) {
        return DSA_EV_WQ_EMPTY;
    }
    return dsa_desc_opcode(desc) == DSA_OP_BATCH ? DSA_EV_WQ_BATCH_READY :
                                                   DSA_EV_WQ_WORK_READY;
}

/* The same of all WQs of a group */
static uint32_t group_waits(const IntelDsa *s, int group)
{
    uint32_t events = 0;

    for (unsigned wq = 0; wq < s->num_wqs; wq++) {
        if (s->grpcfg[group][DSA_GRPCFG_WQS / 8] & 1ull << wq) {
            events |= wq_cycles(s, wq);
        }
    }
    return events;
}

/* The events of cycles that the state of an engine is now, or 0 */
static uint32_t engine_cycles(const IntelDsa *s, unsigned e)
{
    const DsaBatch *batch = &s->engine[e].batch;
    int group = dsa_group_of_engine(s, e);
    bool full = dsa_engine_slots_used(&s->engine[e]) == DSA_ENGINE_SLOTS;
    uint32_t waits, events = 0;
    bool ready;

    if (dsa_state(s) != DSA_STATE_ENABLED || group < 0) {
        return 0;
    }
    waits = group_waits(s, group);
    ready = waits & (DSA_EV_WQ_WORK_READY | DSA_EV_WQ_BATCH_READY) ||
            (batch->active && batch->work.state == DSA_SLOT_DATA &&
             batch->next < dsa_desc_size(batch->work.desc));
    if (!ready) {
        events = DSA_EV_ENGINE_NONE_READY;
    } else if (full) {
        events = DSA_EV_ENGINE_PIPE_FULL;
    }
    if (batch->active && waits & DSA_EV_WQ_BATCH_READY) {
        events |= DSA_EV_ENGINE_BATCH_FULL;
    }
    return events;
}

/*
 * By how much counter @i goes up in a cycle now.  An event of WQs counts once,
 * however many of the selected WQs are in that state.  An event of engines
 * counts once for each selected engine.
 */
static unsigned cycle_rate(const IntelDsa *s, unsigned i)
{
    const DsaCounter *counter = &s->perfmon.counter[i];
    uint32_t events = FIELD_EX64(counter->config, CNTRCFG, EVENTS);
    uint32_t state = 0;
    unsigned rate = 0;

    if (counts(s, i, DSA_CATEGORY_WQ) && events & WQ_CYCLES) {
        for (unsigned wq = 0; wq < s->num_wqs; wq++) {
            if (counter->filter[DSA_FILTER_WQ] & 1u << wq) {
                state |= wq_cycles(s, wq);
            }
        }
        rate = ctpop32(events & state);
    } else if (counts(s, i, DSA_CATEGORY_ENGINE) && events & ENGINE_CYCLES) {
        for (unsigned e = 0; e < s->num_engines; e++) {
            if (counter->filter[DSA_FILTER_ENGINE] & 1u << e) {
                rate += ctpop32(events & engine_cycles(s, e));
            }
        }
    }
    return rate;
}

void dsa_perfmon_advance(IntelDsa *s, int64_t time)
{
    DsaPerfmon *perfmon = &s->perfmon;
    uint64_t cycles = MAX(0, time - perfmon->time);
    DsaCounts all = { };

    if (!cycles) {
        return;
    }
    for (unsigned i = 0; i < s->num_counters; i++) {
        all.n[i] = cycles * cycle_rate(s, i);
    }
    perfmon->time = time;
    add_all(s, &all);
}

void dsa_perfmon_sync(IntelDsa *s)
{
    dsa_perfmon_advance(s, MIN(qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL),
                               dsa_engines_next(s)));
}

/*
 * Set the timer for the next overflow of a counter of cycles that interrupts or
 * freezes.  If the engines lag, so does the monitor's time, and that overflow
 * can be due in the past.  A timer set to then would expire again for ever.
 */
void dsa_perfmon_arm(IntelDsa *s)
{
    int64_t now = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
    int64_t next = INT64_MAX, due;

    if (s->unplugged) {
        return;
    }
    for (unsigned i = 0; i < s->num_counters; i++) {
        const DsaCounter *counter = &s->perfmon.counter[i];
        unsigned rate;

        if (!(counter->config & (R_CNTRCFG_INT_OVERFLOW_MASK |
                                 R_CNTRCFG_FREEZE_OVERFLOW_MASK))) {
            continue;
        }
        rate = cycle_rate(s, i);
        if (rate) {
            uint64_t left = (width_mask(s) - counter->value) / rate;

            next = MIN(next, MIN(left, INT64_MAX / 2));
        }
    }
    if (next == INT64_MAX) {
        timer_del(s->perfmon.timer);
    } else {
        due = s->perfmon.time + MAX(next + 1, MIN_INTERRUPT_NS);
        timer_mod_ns(s->perfmon.timer,
                     due > now ? due : now + MIN_INTERRUPT_NS);
    }
}

static void sync_and_arm(IntelDsa *s)
{
    dsa_perfmon_sync(s);
    dsa_perfmon_arm(s);
}

/* Guarded, as an interrupt's message may go to the device's own registers. */
void dsa_perfmon_timer(void *opaque)
{
    dsa_run_guarded(opaque, sync_and_arm);
}

static void reset_config(IntelDsa *s)
{
    for (unsigned i = 0; i < DSA_MAX_COUNTERS; i++) {
        s->perfmon.counter[i].config = 0;
        for (unsigned f = 0; f < DSA_FILTERS; f++) {
            s->perfmon.counter[i].filter[f] = FILTER_MASK;
        }
    }
    s->perfmon.frozen = 0;
    s->perfmon.overflow = 0;
}

static void reset_counters(IntelDsa *s)
{
    for (unsigned i = 0; i < DSA_MAX_COUNTERS; i++) {
        s->perfmon.counter[i].value = 0;
    }
}

void dsa_perfmon_reset(IntelDsa *s)
{
    reset_config(s);
    reset_counters(s);
    s->perfmon.time = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
    timer_del(s->perfmon.timer);
}

static uint64_t capabilities(const IntelDsa *s)
{
    uint64_t cap = 0;

    cap = FIELD_DP64(cap, PERFCAP, COUNTERS, s->num_counters);
    cap = FIELD_DP64(cap, PERFCAP, WIDTH, s->counter_width);
    cap = FIELD_DP64(cap, PERFCAP, CATEGORIES, DSA_CATEGORIES);
    cap = FIELD_DP64(cap, PERFCAP, CATEGORY_MASK,
                     MAKE_64BIT_MASK(0, DSA_CATEGORIES) &
                     ~(1ull << DSA_CATEGORY_TRANSLATION));
    cap = FIELD_DP64(cap, PERFCAP, FILTERS, MAKE_64BIT_MASK(0, DSA_FILTERS));
    cap = FIELD_DP64(cap, PERFCAP, WRITABLE, 1);
    cap = FIELD_DP64(cap, PERFCAP, FREEZE, 1);
    return FIELD_DP64(cap, PERFCAP, OVERFLOW_INT, 1);
}

/* The index of the register at @addr in an array of registers, or -1 */
static int index_in(hwaddr addr, hwaddr base, unsigned count, unsigned stride)
{
    return addr >= base && addr - base < count * stride ?
           (addr - base) / stride : -1;
}

/* Two 32-bit filters as a word; 0 instead of those after the last one */
static uint64_t read_filters(const DsaCounter *counter, hwaddr offset)
{
    unsigned first = offset / 4;
    uint64_t value = 0;

    for (unsigned i = first; i < MIN(first + 2, DSA_FILTERS); i++) {
        value |= (uint64_t)counter->filter[i] << (i - first) * 32;
    }
    return value;
}

static uint64_t read_word(const IntelDsa *s, hwaddr addr)
{
    const DsaPerfmon *perfmon = &s->perfmon;
    int i;

    switch (addr) {
    case DSA_PERFCAP:
        return s->num_counters ? capabilities(s) : 0;
    case DSA_PERFFRZ:
        return perfmon->frozen & ((1ull << s->num_counters) - 1);
    case DSA_OVFSTATUS:
        return perfmon->overflow;
    }
    i = index_in(addr, DSA_EVNTCAP, DSA_CATEGORIES, 8);
    if (i >= 0) {
        return s->num_counters ? categories[i].events : 0;
    }
    i = index_in(addr, DSA_CNTRCFG, s->num_counters, 8);
    if (i >= 0) {
        return perfmon->counter[i].config;
    }
    i = index_in(addr, DSA_CNTRDATA, s->num_counters, 8);
    if (i >= 0) {
        return perfmon->counter[i].value;
    }
    i = index_in(addr, DSA_FLTCFG, s->num_counters, DSA_FLTCFG_STRIDE);
    if (i >= 0) {
        return read_filters(&perfmon->counter[i],
                            (addr - DSA_FLTCFG) % DSA_FLTCFG_STRIDE);
    }
    return 0;
}

uint64_t dsa_perfmon_read(IntelDsa *s, hwaddr addr, unsigned size)
{
    dsa_perfmon_sync(s);
    return extract64(read_word(s, addr & ~7ull), addr % 8 * 8, size * 8);
}

static void write_filters(DsaCounter *counter, hwaddr offset, uint64_t value,
                          uint64_t mask)
{
    unsigned first = offset / 4;

    if (FIELD_EX64(counter->config, CNTRCFG, ENABLE)) {
        return;
    }

    for (unsigned i = first; i < MIN(first + 2, DSA_FILTERS); i++) {
        unsigned shift = (i - first) * 32;

        if (mask >> shift & UINT32_MAX) {
            counter->filter[i] = value >> shift & FILTER_MASK;
        }
    }
}

/* Of an enabled counter, a write can change only the enable bit. */
static void write_config(IntelDsa *s, unsigned i, uint64_t value)
{
    DsaCounter *counter = &s->perfmon.counter[i];

    if (FIELD_EX64(counter->config, CNTRCFG, ENABLE)) {
        counter->config = FIELD_DP64(counter->config, CNTRCFG, ENABLE,
                                     FIELD_EX64(value, CNTRCFG, ENABLE));
    } else {
        counter->config = value &
            (R_CNTRCFG_ENABLE_MASK | R_CNTRCFG_INT_OVERFLOW_MASK |
             R_CNTRCFG_FREEZE_OVERFLOW_MASK | R_CNTRCFG_CATEGORY_MASK |
             R_CNTRCFG_EVENTS_MASK);
    }
    if (!FIELD_EX64(counter->config, CNTRCFG, ENABLE)) {
        s->perfmon.frozen &= ~(1u << i);
    }
}

/* Write the bits of a word that are in @mask. */
static void write_word(IntelDsa *s, hwaddr addr, uint64_t value, uint64_t mask)
{
    DsaPerfmon *perfmon = &s->perfmon;
    uint64_t merged = (read_word(s, addr) & ~mask) | (value & mask);
    int i;

    switch (addr) {
    case DSA_PERFRST:
        if (FIELD_EX64(value & mask, PERFRST, CONFIG)) {
            reset_config(s);
        }
        if (FIELD_EX64(value & mask, PERFRST, COUNTERS)) {
            reset_counters(s);
        }
        return;
    case DSA_PERFFRZ:
        perfmon->frozen = merged;
        return;
    case DSA_OVFSTATUS:
        perfmon->overflow &= ~(value & mask);
        return;
    }
    i = index_in(addr, DSA_CNTRCFG, s->num_counters, 8);
    if (i >= 0) {
        write_config(s, i, merged);
        return;
    }
    i = index_in(addr, DSA_CNTRDATA, s->num_counters, 8);
    if (i >= 0) {
        perfmon->counter[i].value = merged & width_mask(s);
        return;
    }
    i = index_in(addr, DSA_FLTCFG, s->num_counters, DSA_FLTCFG_STRIDE);
    if (i >= 0) {
        write_filters(&perfmon->counter[i],
                      (addr - DSA_FLTCFG) % DSA_FLTCFG_STRIDE, value, mask);
    }
}

void dsa_perfmon_write(IntelDsa *s, hwaddr addr, uint64_t value,
                       unsigned size)
{
    unsigned shift = addr % 8 * 8;

    dsa_perfmon_sync(s);
    write_word(s, addr & ~7ull, value << shift,
               MAKE_64BIT_MASK(shift, size * 8));
    dsa_perfmon_arm(s);
}
