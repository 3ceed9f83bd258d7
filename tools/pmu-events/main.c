/*
 * Print the manual's tables of events, or check that they are up to date.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>
#include <stdio.h>
#include <string.h>

#include "tcg/pmu/events/events-netburst.h"
#include "tcg/pmu/perfmon/perfmon.h"

/* Append a cell of a CSV table: @text, reStructuredText, in quotes. */
static void cell(GString *out, const char *text)
{
    g_string_append_printf(out, "%s\"%s\"",
                           out->str[out->len - 1] == ' ' ? "" : ", ", text);
}

static void begin_row(GString *out)
{
    g_string_append(out, "   ");
}

static void end_row(GString *out)
{
    g_string_append_c(out, '\n');
}

static void begin_table(GString *out, const char *title, const char *widths,
                        const char *columns)
{
    g_string_append_printf(out, ".. csv-table:: %s\n"
                           "   :header: %s\n"
                           "   :widths: %s\n\n", title, columns, widths);
}

/*
 * Append a selector, as in "C2.02 c10 i": code, umask, CMASK, INV, EDGE.
 * Append "-" if the core does not have the event.
 */
static void append_place(GString *cell, const PmuEventPlace *place)
{
    unsigned cmask = place->modifiers >> 24;

    if (!place->counters) {
        g_string_append_c(cell, '-');
        return;
    }
    g_string_append_printf(cell, "%02X.%02X", place->code, place->umask);
    if (cmask) {
        g_string_append_printf(cell, " c%u", cmask);
    }
    if (place->modifiers & PMU_EVENT_INV) {
        g_string_append(cell, " i");
    }
    if (place->modifiers & PMU_EVENT_EDGE) {
        g_string_append(cell, " e");
    }
}

/* Append which counters can count the event, unless all can. */
static void append_counters(GString *cell, const PmuEventPlace *place)
{
    unsigned first = g_bit_nth_lsf(place->counters, -1);
    unsigned last = g_bit_nth_msf(place->counters, -1);

    if (!place->counters || place->counters == 0xff) {
        return;
    }
    if (first == last) {
        g_string_append_printf(cell, " (PMC%u)", first);
    } else {
        g_string_append_printf(cell, " (PMC%u-%u)", first, last);
    }
}

static void append_extra(GString *cell, const PmuEvent *event)
{
    if (event->extra == PMU_EXTRA_FRONTEND) {
        g_string_append_printf(cell, " 3F7=%X", event->extra_value);
    } else if (event->extra == PMU_EXTRA_LD_LAT) {
        g_string_append_printf(cell, " 3F6=%X", event->extra_value);
    }
}

static void selector_cell(GString *out, const PmuEvent *event, PmuCore core)
{
    g_autoptr(GString) text = g_string_new(NULL);

    append_place(text, &event->on[core]);
    if (event->on[core].counters) {
        append_extra(text, event);
        append_counters(text, &event->on[core]);
    }
    cell(out, text->str);
}

static void append_items(GString *text, const uint8_t *term, unsigned num)
{
    for (unsigned i = 0; i < num; i++) {
        g_string_append_printf(text, "%s%s", i ? " + " : "",
                               pmu_ledger_item_name(term[i]));
    }
}

static void append_note(GString *text, const char *note)
{
    if (note) {
        g_string_append_printf(text, "%s%s", text->len ? "; " : "", note);
    }
}

static void counts_cell(GString *out, const PmuEvent *event)
{
    g_autoptr(GString) text = g_string_new(NULL);

    if (event->minuend) {
        g_string_append_printf(text, "%s less ",
                               pmu_ledger_item_name(event->minuend));
    }
    append_items(text, event->term, event->num_terms);
    if (event->unit == PMU_EVENT_AS_PLAIN) {
        g_string_append(text, "by its modifiers");
    }
    append_note(text, event->note);
    cell(out, text->str);
}

/* Returns the state of what pmu_event_select() selects for @event. */
static PmuEventState state_of(const PmuEvent *event)
{
    uint64_t extra[PMU_EXTRA_NR] = { 0 };
    PmuSelection selection;

    extra[event->extra] = event->extra_value;
    for (PmuCore core = 0; core < PMU_CORES_MEASURED; core++) {
        const PmuEventPlace *place = &event->on[core];

        if (place->counters) {
            pmu_event_select(&selection, core,
                             g_bit_nth_lsf(place->counters, -1),
                             place->modifiers | place->umask << 8 |
                             place->code, extra);
            return selection.state;
        }
    }
    return event->state;
}

static int compare_names(const void *a, const void *b)
{
    const PmuEvent *const *left = a, *const *right = b;
    int order = strcmp((*left)->name, (*right)->name);

    return order ? order : *left < *right ? -1 : 1;
}

static void print_events(GString *out)
{
    g_autoptr(GPtrArray) rows = g_ptr_array_new();
    const PmuEvent *event;

    for (unsigned i = 0; (event = pmu_event_row(i)); i++) {
        /* MSR_OFFCORE_RSP_x has a table of its own. */
        if (strcmp(event->name, "OCR")) {
            g_ptr_array_add(rows, (void *)event);
        }
    }
    g_ptr_array_sort(rows, compare_names);
    begin_table(out, "Events", "30 16 16 12 40",
                "\"Event\", \"Ice Lake\", \"Sapphire Rapids\", \"State\", "
                "\"Ledger items\"");
    for (unsigned i = 0; i < rows->len; i++) {
        event = rows->pdata[i];
        begin_row(out);
        cell(out, event->name);
        selector_cell(out, event, PMU_CORE_ICELAKE);
        selector_cell(out, event, PMU_CORE_SAPPHIRERAPIDS);
        cell(out, pmu_event_state_name(state_of(event)));
        counts_cell(out, event);
        end_row(out);
    }
}

static void print_fixed(GString *out)
{
    begin_table(out, "Events of the fixed counters", "40 20 20",
                "\"Event\", \"State\", \"Ledger items\"");
    for (unsigned i = 0; i < PERFMON_MAX_FIXED; i++) {
        const PmuEvent *event = pmu_event_fixed(i);

        begin_row(out);
        cell(out, event->name);
        cell(out, pmu_event_state_name(event->state));
        counts_cell(out, event);
        end_row(out);
    }
}

static void print_aliases(GString *out)
{
    const PmuEventAlias *alias;

    begin_table(out, "Other names of the same selectors", "40 12 40",
                "\"Event\", \"Core\", \"Is listed above as\"");
    for (unsigned i = 0; (alias = pmu_event_alias(i)); i++) {
        static const char *const cores[] = { "-", "ICX", "SPR", "both" };

        begin_row(out);
        cell(out, alias->name);
        cell(out, cores[alias->cores]);
        cell(out, alias->of);
        end_row(out);
    }
}

static void print_offcore(GString *out)
{
    const PmuOffcoreName *name;

    begin_table(out, "Events of MSR_OFFCORE_RSP_x", "40 16 16 12 40",
                "\"Event\", \"Ice Lake\", \"Sapphire Rapids\", \"State\", "
                "\"Ledger items\"");
    for (unsigned i = 0; (name = pmu_offcore_name(i)); i++) {
        PmuCore shown = name->value[PMU_CORE_ICELAKE]
                        ? PMU_CORE_ICELAKE : PMU_CORE_SAPPHIRERAPIDS;
        g_autoptr(GString) text = g_string_new(NULL);
        PmuSelection selection;

        begin_row(out);
        cell(out, name->name);
        for (PmuCore core = 0; core <= PMU_CORE_SAPPHIRERAPIDS; core++) {
            g_autofree char *value =
                name->value[core] ? g_strdup_printf("%" G_GINT64_MODIFIER "X",
                                                    name->value[core])
                                  : g_strdup("-");

            cell(out, value);
        }
        pmu_event_offcore(&selection, shown, name->value[shown]);
        cell(out, pmu_event_state_name(selection.state));
        append_items(text, selection.term, selection.num_terms);
        append_note(text, selection.note);
        cell(out, text->str);
        end_row(out);
    }
}

static GString *print_page(void)
{
    GString *out = g_string_new(
        ".. SPDX-License-" "Identifier: GPL-2.0-or-later\n"
        ".. Printed by tools/pmu-events (make docs-events): do not edit.\n\n");

    print_events(out);
    g_string_append_c(out, '\n');
    print_aliases(out);
    g_string_append_c(out, '\n');
    print_offcore(out);
    g_string_append_c(out, '\n');
    print_fixed(out);
    return out;
}

/* Names of the older cores, as tables and sources have them. */
static const char *const older_cores[PMU_CORE_NR] = {
    [PMU_CORE_P5] = "P5", [PMU_CORE_P6] = "P6",
    [PMU_CORE_CORE] = "Core", [PMU_CORE_BONNELL] = "Bonnell",
    [PMU_CORE_NEHALEM] = "Nehalem",
    [PMU_CORE_SANDYBRIDGE] = "Sandy Bridge",
    [PMU_CORE_HASWELL] = "Haswell", [PMU_CORE_SKYLAKE] = "Skylake",
    [PMU_CORE_K7] = "K7", [PMU_CORE_K8] = "K8", [PMU_CORE_K10] = "K10",
    [PMU_CORE_BULLDOZER] = "Bulldozer", [PMU_CORE_ZEN] = "Zen",
    [PMU_CORE_C3] = "C3",
};

/* List the older cores that have @event, each with its selector. */
static void cores_cell(GString *out, const PmuEvent *event)
{
    g_autoptr(GString) text = g_string_new(NULL);

    for (PmuCore core = PMU_CORES_MEASURED; core < PMU_CORE_NR; core++) {
        if (event->on[core].counters) {
            g_string_append_printf(text, "%s%s ", text->len ? ", " : "",
                                   older_cores[core]);
            append_place(text, &event->on[core]);
        }
    }
    cell(out, text->str);
}

static void print_older_events(GString *out)
{
    const PmuEvent *event;

    begin_table(out, "Events of older cores", "30 40 12 40",
                "\"Event\", \"Cores\", \"State\", \"Ledger items\"");
    for (unsigned i = 0; (event = pmu_event_older_row(i)); i++) {
        begin_row(out);
        cell(out, event->name);
        cores_cell(out, event);
        cell(out, pmu_event_state_name(event->state));
        counts_cell(out, event);
        end_row(out);
    }
}

static void print_netburst_events(GString *out)
{
    static const char *const groups[NETBURST_GROUPS] = {
        "0-3", "4-7", "8-11", "12-17",
    };
    const NetburstRow *row;

    begin_table(out, "Events of NetBurst", "30 10 10 10 12 40",
                "\"Event and bit\", \"Counters\", \"ESCR select\", "
                "\"Event select\", \"State\", \"Ledger items\"");
    for (unsigned i = 0; (row = pmu_event_netburst_row(i)); i++) {
        g_autofree char *select = g_strdup_printf("%u", row->escr_select);
        g_autofree char *code = g_strdup_printf("%02X.%u", row->event,
                                                row->bit);

        begin_row(out);
        cell(out, row->event_row.name);
        cell(out, groups[row->group]);
        cell(out, select);
        cell(out, code);
        cell(out, pmu_event_state_name(row->event_row.state));
        counts_cell(out, &row->event_row);
        end_row(out);
    }
}

static GString *print_older_page(void)
{
    GString *out = g_string_new(
        ".. SPDX-License-" "Identifier: GPL-2.0-or-later\n"
        ".. Printed by tools/pmu-events (make docs-events): do not edit.\n\n");

    print_older_events(out);
    g_string_append_c(out, '\n');
    print_netburst_events(out);
    return out;
}

/* Returns the first line in which @a and @b differ, from 1; 0: none. */
static unsigned first_difference(const char *a, const char *b)
{
    unsigned line = 1;

    while (*a && *a == *b) {
        line += *a == '\n';
        a++;
        b++;
    }
    return *a || *b ? line : 0;
}

/* Print, as TAP, whether the file @path holds @want.  Returns exit status. */
static int check(const char *path, const char *want)
{
    g_autofree char *have = NULL;
    unsigned line = 1;

    if (g_file_get_contents(path, &have, NULL, NULL)) {
        line = first_difference(have, want);
    }
    printf("1..1\n%sok 1 - the manual's table of events is up to date\n",
           line ? "not " : "");
    if (line) {
        printf("# %s:%u: run make docs-events\n", path, line);
    }
    return line ? 1 : 0;
}

int main(int argc, char **argv)
{
    bool older = argc > 1 && !strcmp(argv[1], "--older");
    g_autoptr(GString) page = older ? print_older_page() : print_page();

    argc -= older;
    argv += older;
    if (argc == 3 && !strcmp(argv[1], "--check")) {
        return check(argv[2], page->str);
    }
    if (argc != 1) {
        fprintf(stderr, "usage: pmu-events [--older] [--check FILE]\n");
        return 2;
    }
    fputs(page->str, stdout);
    return 0;
}
