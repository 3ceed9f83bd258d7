/*
 * Events: looks up selectors in the tables, and applies CMASK, INV and EDGE.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The rows are in events-*.c.
 */

#include <glib.h>
#include <string.h>

#include "tcg/pmu/events/events.h"
#include "tcg/pmu/events/events-rows.h"

static const PmuEventRows *const tables[] = {
    &pmu_event_common_rows, &pmu_event_icelake_rows,
    &pmu_event_sapphirerapids_rows,
    &pmu_event_p6_rows, &pmu_event_amd_rows, &pmu_event_core_rows,
};

/* The first tables: of the cores that are checked against measurements. */
#define NEWER_TABLES 3

/* Row @index of all tables from @first to @end - 1, NULL past the last. */
static const PmuEvent *row_of(unsigned first, unsigned end, unsigned index)
{
    for (unsigned i = first; i < end; i++) {
        if (index < tables[i]->num_rows) {
            return &tables[i]->rows[index];
        }
        index -= tables[i]->num_rows;
    }
    return NULL;
}

const PmuEvent *pmu_event_row(unsigned index)
{
    return row_of(0, NEWER_TABLES, index);
}

const PmuEvent *pmu_event_older_row(unsigned index)
{
    return row_of(NEWER_TABLES, G_N_ELEMENTS(tables), index);
}

const char *pmu_event_state_name(PmuEventState state)
{
    static const char *const names[] = {
        [PMU_EVENT_EXACT]           = "exact",
        [PMU_EVENT_NEVER]           = "never",
        [PMU_EVENT_MODELLED]        = "modelled",
        [PMU_EVENT_APPROXIMATE]     = "approximate",
        [PMU_EVENT_NOT_MODELLED]    = "not modelled",
        [PMU_EVENT_UNKNOWN]         = "unknown",
    };

    return names[state];
}

G_STATIC_ASSERT(PMU_ITEM_NR <= UINT8_MAX + 1);

/* A selector, taken apart. */
typedef struct Selector {
    PmuCore core;
    unsigned counter;
    uint16_t code;
    uint8_t umask;
    uint32_t modifiers;
    const uint64_t *extra;
} Selector;

static uint16_t code_of(uint64_t evtsel)
{
    return (evtsel & 0xff) | (evtsel >> 32 & 0xf) << 8;
}

static Selector take_apart(PmuCore core, unsigned counter, uint64_t evtsel,
                           const uint64_t *extra)
{
    Selector s = {
        .core = core, .counter = counter, .extra = extra,
        .code = code_of(evtsel), .umask = evtsel >> 8,
        .modifiers = evtsel & PMU_EVENT_MODIFIERS,
    };

    if (!(s.modifiers & PMU_EVENT_CMASK(0xff))) {
        /* INV has no condition to invert; EDGE has the condition "any". */
        s.modifiers = s.modifiers & PMU_EVENT_EDGE
                      ? PMU_EVENT_EDGE | PMU_EVENT_CMASK(1) : 0;
    }
    return s;
}

/* The end of table @index; its first row if it has no rows of @core. */
static const PmuEvent *table_end(unsigned index, PmuCore core)
{
    const PmuEventRows *table = tables[index];

    return table->rows + (table->cores >> core & 1 ? table->num_rows : 0);
}

static bool matches(const PmuEvent *event, const Selector *s, uint8_t umask,
                    uint32_t modifiers)
{
    const PmuEventPlace *place = &event->on[s->core];

    return place->code == s->code && place->umask == umask &&
           place->modifiers == modifiers && place->counters &&
           (s->extra[event->extra] & event->extra_mask) == event->extra_value;
}

/* The row of @s with @umask and @modifiers in place of its own, or NULL. */
static const PmuEvent *find_row(const Selector *s, uint8_t umask,
                                uint32_t modifiers)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(tables); i++) {
        const PmuEvent *end = table_end(i, s->core);

        for (const PmuEvent *row = tables[i]->rows; row < end; row++) {
            if (matches(row, s, umask, modifiers)) {
                return row;
            }
        }
    }
    return NULL;
}

/*
 * Row @index of those with the event code and umask of @evtsel on @core, NULL
 * past the last.  Modifiers and other registers are ignored, and with
 * @all_kinds the umask.
 */
static const PmuEvent *find_kind(PmuCore core, uint64_t evtsel, bool all_kinds,
                                 unsigned index)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(tables); i++) {
        const PmuEvent *end = table_end(i, core);

        for (const PmuEvent *row = tables[i]->rows; row < end; row++) {
            const PmuEventPlace *place = &row->on[core];

            if (place->counters && place->code == code_of(evtsel) &&
                (all_kinds || place->umask == (uint8_t)(evtsel >> 8)) &&
                !index--) {
                return row;
            }
        }
    }
    return NULL;
}

unsigned pmu_event_counters(PmuCore core, uint64_t evtsel)
{
    bool all_kinds = !find_kind(core, evtsel, false, 0);
    const PmuEvent *row;
    unsigned counters = 0;

    for (unsigned i = 0; (row = find_kind(core, evtsel, all_kinds, i)); i++) {
        counters |= row->on[core].counters;
    }
    return counters ? counters : UINT8_MAX;
}

PmuEventExtra pmu_event_extra(PmuCore core, uint64_t evtsel)
{
    const PmuEvent *row = find_kind(core, evtsel, false, 0);

    return row ? row->extra : PMU_EXTRA_NONE;
}

/* Let @selection count zero, because of @note. */
static void count_nothing(PmuSelection *selection, const char *note)
{
    selection->state = PMU_EVENT_NOT_MODELLED;
    selection->note = note;
    selection->num_terms = 0;
    selection->capped = false;
    selection->minuend = 0;
}

static void add_term(PmuSelection *selection, unsigned item)
{
    /* No selector has more terms: /limits/selectors tries all selectors. */
    if (selection->num_terms < PMU_SELECTION_TERMS) {
        selection->term[selection->num_terms++] = item;
    }
}

static void take_row(PmuSelection *selection, const PmuEvent *event)
{
    *selection = (PmuSelection) {
        .name = event->name, .note = event->note, .state = event->state,
        .minuend = event->minuend, .capped = event->capped,
        .single = event->minuend ||
                  (event->unit == PMU_EVENT_CYCLES && !event->capped),
    };
    for (unsigned i = 0; i < event->num_terms; i++) {
        add_term(selection, event->term[i]);
    }
}

/* Select cycles in which at least @cmask, or with @inv fewer, are counted. */
static void threshold_bins(PmuSelection *selection, const PmuEvent *event,
                           unsigned cmask, bool inv)
{
    bool from_1 = event->unit == PMU_EVENT_BINS_FROM_1;
    unsigned num_bins = event->num_bins;
    unsigned bin = MIN(cmask - from_1, num_bins);
    unsigned from = inv && !from_1 ? 0 : bin;
    unsigned to = inv && !from_1 ? bin : num_bins;

    selection->num_terms = 0;
    selection->single = true;
    selection->minuend = inv && from_1 ? PMU_ITEM_CYCLES : 0;
    for (unsigned i = from; i < to; i++) {
        add_term(selection, event->first_bin + i);
    }
}

/* The same for an event that counts at most one in each cycle. */
static void threshold_cycles(PmuSelection *selection, unsigned cmask, bool inv)
{
    if (cmask > 1) {
        selection->num_terms = 0;
    }
    if (inv) {
        selection->minuend = PMU_ITEM_CYCLES;
        selection->capped = false;
        selection->single = true;
    }
    if (cmask > 1 && !inv) {
        selection->state = PMU_EVENT_NEVER;
        selection->note = "at most one is counted in a cycle";
    }
}

/* The same for an event that never happens: with @inv, all cycles. */
static void threshold_never(PmuSelection *selection, bool inv)
{
    if (inv) {
        selection->state = PMU_EVENT_MODELLED;
        selection->minuend = PMU_ITEM_CYCLES;
        selection->single = true;
    }
}

static void approximate(PmuSelection *selection, const char *note)
{
    if (selection->state < PMU_EVENT_APPROXIMATE) {
        selection->state = PMU_EVENT_APPROXIMATE;
        selection->note = note;
    }
}

/* The same for an event that may come any number of times in a cycle. */
static void threshold_occurrences(PmuSelection *selection,
                                  const PmuEvent *event, uint32_t modifiers)
{
    unsigned cmask = modifiers >> 24;
    bool inv = modifiers & PMU_EVENT_INV;
    bool edge = modifiers & PMU_EVENT_EDGE;

    if ((event && event->minuend) || (cmask == 1 && inv)) {
        count_nothing(selection, "cycles with it are not known");
    } else if (cmask > 1 && !inv) {
        count_nothing(selection, "how many come in a cycle is not known");
    } else {
        threshold_cycles(selection, cmask, inv);
        selection->capped = !edge && !inv;
        approximate(selection, edge ? "takes each for an edge of its own"
                               : "takes each to be in a cycle of its own");
    }
    selection->single = selection->minuend;
}

/* The threshold is above what the bins tell apart. */
static void many_in_a_cycle(PmuSelection *selection, bool inv)
{
    if (inv) {
        approximate(selection, "takes there to be never so many");
    } else {
        count_nothing(selection, "cycles with so many are not known");
    }
}

/* Apply @modifiers to @selection, which is what @event (or NULL) counts. */
static void modify(PmuSelection *selection, const PmuEvent *event,
                   uint32_t modifiers)
{
    unsigned cmask = modifiers >> 24;
    bool inv = modifiers & PMU_EVENT_INV;
    bool edge = modifiers & PMU_EVENT_EDGE;
    PmuEventUnit unit = event ? event->unit : PMU_EVENT_OCCURRENCES;

    if (!modifiers || selection->state >= PMU_EVENT_NOT_MODELLED) {
        return;
    }
    if (selection->state == PMU_EVENT_NEVER && !(edge && inv)) {
        threshold_never(selection, inv);
        return;
    }
    if (edge && (inv || cmask > 1 || unit != PMU_EVENT_OCCURRENCES)) {
        count_nothing(selection, "how often the condition becomes true is "
                                 "not known");
        return;
    }
    switch (unit) {
    case PMU_EVENT_BINS:
    case PMU_EVENT_BINS_FROM_1:
        threshold_bins(selection, event, cmask, inv);
        if (cmask + (unit == PMU_EVENT_BINS) > event->num_bins) {
            many_in_a_cycle(selection, inv);
        }
        break;
    case PMU_EVENT_CYCLES:
        threshold_cycles(selection, cmask, inv);
        break;
    default:
        threshold_occurrences(selection, event, modifiers);
    }
}

/* Does each umask bit of @code stand for one kind of the same thing? */
static bool is_sum_of_kinds(PmuCore core, uint8_t code)
{
    static const struct {
        uint8_t code;
        uint8_t cores;          /* newer ones alone, a bit each */
    } sums[] = {
        { 0xc4, ON_BOTH },      /* BR_INST_RETIRED */
        { 0xc5, ON_BOTH },      /* BR_MISP_RETIRED */
        { 0xc7, ON_BOTH },      /* FP_ARITH_INST_RETIRED */
        { 0xd1, ON_BOTH },      /* MEM_LOAD_RETIRED */
        { 0xa1, ON_ICELAKE },   /* UOPS_DISPATCHED */
        { 0xb2, ON_SAPPHIRERAPIDS },
        { 0x79, ON_BOTH },      /* IDQ */
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(sums); i++) {
        if (sums[i].code == code && sums[i].cores >> core & 1) {
            return true;
        }
    }
    return false;
}

static void add_kind(PmuSelection *selection, const PmuEvent *event)
{
    selection->state = MAX(selection->state, event->state);
    if (event->note) {
        selection->note = event->note;
    }
    /* An item that two of the kinds have in common counts once. */
    for (unsigned i = 0; i < event->num_terms; i++) {
        if (!memchr(selection->term, event->term[i], selection->num_terms)) {
            add_term(selection, event->term[i]);
        }
    }
}

/* Select the sum of the rows for the umask's bits.  False if one lacks. */
static bool sum_kinds(PmuSelection *selection, const Selector *s)
{
    if (!s->umask || !is_sum_of_kinds(s->core, s->code)) {
        return false;
    }
    *selection = (PmuSelection) {
        .name = "(sum of events)", .state = PMU_EVENT_EXACT,
    };
    for (unsigned bits = s->umask; bits; bits &= bits - 1) {
        const PmuEvent *event = find_row(s, bits & -bits, 0);

        if (!event || event->unit == PMU_EVENT_CYCLES || event->minuend ||
            !(event->on[s->core].counters >> s->counter & 1)) {
            return false;
        }
        add_kind(selection, event);
    }
    if (selection->state == PMU_EVENT_NOT_MODELLED) {
        count_nothing(selection, selection->note);
    }
    if (selection->num_terms) {
        approximate(selection, "the sum of what its umask consists of");
    }
    return true;
}

/* Select what @s counts without its modifiers.  Returns its row, or NULL. */
static const PmuEvent *select_plain(PmuSelection *selection, const Selector *s)
{
    const PmuEvent *event = find_row(s, s->umask, 0);

    if (event) {
        take_row(selection, event);
    } else if (!sum_kinds(selection, s)) {
        *selection = (PmuSelection) { .state = PMU_EVENT_UNKNOWN };
    }
    return event;
}

/* Does row @event say by itself what it counts with its modifiers? */
static bool stands_alone(const PmuEvent *event)
{
    return event && event->unit != PMU_EVENT_AS_PLAIN;
}

void pmu_event_select(PmuSelection *selection, PmuCore core, unsigned counter,
                      uint64_t evtsel, const uint64_t extra[PMU_EXTRA_NR])
{
    Selector s = take_apart(core, counter, evtsel, extra);
    const PmuEvent *event = find_row(&s, s.umask, s.modifiers);
    const PmuEvent *named = event;

    if (stands_alone(event)) {
        take_row(selection, event);
    } else {
        event = select_plain(selection, &s);
        modify(selection, event, s.modifiers);
        if (named) {
            selection->name = named->name;
        }
    }
    if (!named) {
        named = event;
    }
    if (named && pmu_event_is_offcore(named)) {
        pmu_event_offcore(selection, core, extra[named->extra]);
        modify(selection, NULL, s.modifiers);
    }
    if (named && !(named->on[core].counters >> counter & 1)) {
        count_nothing(selection, "this counter cannot count it");
    }
}

void pmu_event_select_fixed(PmuSelection *selection, unsigned index)
{
    take_row(selection, pmu_event_fixed(index));
}

/* How much @item grew from @from to @to at @levels. */
static uint64_t growth(const PmuLedgerSnapshot *from,
                       const PmuLedgerSnapshot *to, unsigned levels,
                       PmuLedgerItem item)
{
    uint64_t sum = 0;

    for (int level = 0; level < PMU_LEVEL_NR; level++) {
        if (levels >> level & 1) {
            sum += to->item[level][item] - from->item[level][item];
        }
    }
    return sum;
}

/* How much the sum of the terms grew. */
static uint64_t growth_of_terms(const PmuSelection *selection,
                                const PmuLedgerSnapshot *from,
                                const PmuLedgerSnapshot *to, unsigned levels)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < selection->num_terms; i++) {
        sum += growth(from, to, levels, selection->term[i]);
    }
    return sum;
}

static int64_t add_saturated(int64_t a, int64_t b)
{
    int64_t sum;

    if (__builtin_add_overflow(a, b, &sum)) {
        sum = a < 0 ? INT64_MIN : INT64_MAX;
    }
    return sum;
}

uint64_t pmu_selection_gain(const PmuSelection *selection,
                            const PmuLedgerSnapshot *from,
                            const PmuLedgerSnapshot *to, unsigned levels,
                            int64_t *remainder)
{
    int64_t was = *remainder;
    uint64_t sum = growth_of_terms(selection, from, to, levels);

    if (selection->capped) {
        uint64_t cycles = growth(from, to, levels, PMU_ITEM_CYCLES);

        /* Keep S - C, return what min(S, C) = C + min(S - C, 0) gained. */
        *remainder = add_saturated(was, sum - cycles);
        return cycles + MIN(*remainder, 0) - MIN(was, 0);
    }
    if (selection->minuend) {
        uint64_t whole = growth(from, to, levels, selection->minuend);
        int64_t more = (uint64_t)was + whole - sum;

        /* Keep W - S less the largest that it has been. */
        *remainder = MIN(more, 0);
        return MAX(more, 0);
    }
    return sum;
}

bool pmu_selection_can_leave(const PmuSelection *selection,
                             const PmuLedgerSnapshot *now, int64_t remainder)
{
    static const PmuLedgerSnapshot start;
    const unsigned levels = (1u << PMU_LEVEL_NR) - 1;
    uint64_t sum = growth_of_terms(selection, &start, now, levels);

    if (selection->capped) {
        return remainder >= 0
               ? (uint64_t)remainder <= sum
               : -(uint64_t)remainder <= growth(&start, now, levels,
                                                PMU_ITEM_CYCLES);
    }
    if (selection->minuend) {
        return remainder <= 0 && -(uint64_t)remainder <= sum;
    }
    return remainder == 0;
}
