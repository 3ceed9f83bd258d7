/*
 * x86-slots: the timeline of the block's first iterations.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A host program over the model core, without QEMU.  The letters are those of
 * llvm-mca, which calls "dispatch" what is called "issue" here.
 */

#include "timeline.h"

/* The most columns; later cycles are cut off. */
#define COLUMNS 100

/* Returns the first cycle of the timeline. */
static uint64_t begin(const PmuTimeline *timeline)
{
    uint64_t first = UINT64_MAX;

    for (unsigned i = 0; i < timeline->num; i++) {
        first = MIN(first, timeline->entry[i].issued);
    }
    return first;
}

/* Returns the letter for what the instruction of @entry does in @cycle. */
static char stage(const PmuTimelineEntry *entry, uint64_t cycle)
{
    if (cycle < entry->issued || cycle > entry->retired) {
        return cycle % 5 ? ' ' : '.';
    }
    return cycle == entry->retired ? 'R' :
           cycle == entry->issued ? 'D' :
           cycle == entry->executed ? 'E' :
           cycle > entry->executed ? '-' :
           cycle < entry->dispatched ? '=' : 'e';
}

static void text_ruler(GString *out, unsigned columns)
{
    g_string_append_printf(out, "  %-10s", "Index");
    for (unsigned i = 0; i < columns; i++) {
        g_string_append_c(out, '0' + i % 10);
    }
    g_string_append_c(out, '\n');
}

/* Append the row of instruction @i of the timeline, which is @entry. */
static void text_row(GString *out, const Code *code, unsigned i,
                     PmuTimelineEntry entry, unsigned columns)
{
    unsigned number = i % code->path_length;
    g_autofree char *index = g_strdup_printf("[%u,%u]", i / code->path_length,
                                             number);

    g_string_append_printf(out, "  %-10s", index);
    for (unsigned cycle = 0; cycle < columns; cycle++) {
        g_string_append_c(out, stage(&entry, cycle));
    }
    g_string_append_printf(out, " %c %s\n", entry.retired < columns ? ' ' : '>',
                           code->insns[code->path[number]].text);
}

/* Returns entry @i, with cycles counted from @first. */
static PmuTimelineEntry entry_from(const PmuTimeline *timeline, unsigned i,
                                   uint64_t first)
{
    PmuTimelineEntry entry = timeline->entry[i];

    entry.issued -= first;
    entry.dispatched -= first;
    entry.executed -= first;
    entry.retired -= first;
    return entry;
}

void timeline_text(GString *out, const Code *code, const Measurement *m)
{
    const PmuTimeline *timeline = &m->timeline;
    uint64_t first = begin(timeline), columns = 0;

    for (unsigned i = 0; i < timeline->num; i++) {
        columns = MAX(columns, timeline->entry[i].retired - first + 1);
    }
    columns = MIN(columns, COLUMNS);
    g_string_append(out, "\nTimeline, in cycles from an empty pipeline on\n"
                    "  D issued  = waits  e executes  E result  - waits to "
                    "retire  R retires\n");
    text_ruler(out, columns);
    for (unsigned i = 0; i < timeline->num; i++) {
        text_row(out, code, i, entry_from(timeline, i, first), columns);
    }
}

void timeline_json(GString *out, const Code *code, const Measurement *m)
{
    const PmuTimeline *timeline = &m->timeline;
    uint64_t first = begin(timeline);

    g_string_append(out, ", \"timeline\": [");
    for (unsigned i = 0; i < timeline->num; i++) {
        PmuTimelineEntry entry = entry_from(timeline, i, first);

        g_string_append_printf(out, "%s{\"iteration\": %u, \"instruction\": "
                               "%u, \"issued\": %" G_GUINT64_FORMAT
                               ", \"dispatched\": %" G_GUINT64_FORMAT
                               ", \"executed\": %" G_GUINT64_FORMAT
                               ", \"retired\": %" G_GUINT64_FORMAT "}",
                               i ? ", " : "", i / code->path_length,
                               i % code->path_length, entry.issued,
                               entry.dispatched, entry.executed,
                               entry.retired);
    }
    g_string_append_c(out, ']');
}
