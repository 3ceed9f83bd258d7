/*
 * x86-slots: print a measurement as text or as JSON.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A host program over the model core, without QEMU.
 */

#include <string.h>

#include "report.h"
#include "timeline.h"

/* TMA's level 1.  Class i is the sum of PmuSlotClass 2 * i and 2 * i + 1. */
static const char *const level_1[] = {
    "retiring", "bad-speculation", "frontend-bound", "backend-bound",
};
G_STATIC_ASSERT(2 * G_N_ELEMENTS(level_1) == PMU_SLOT_NR);

static double part(const Measurement *m, unsigned i)
{
    return m->slots[2 * i] + m->slots[2 * i + 1];
}

static void text_slots(GString *out, const Measurement *m)
{
    g_string_append(out, "\nSlots, in %\n");
    for (unsigned i = 0; i < G_N_ELEMENTS(level_1); i++) {
        g_string_append_printf(out, "  %-18s %6.1f", level_1[i],
                               100 * part(m, i));
        for (unsigned j = 2 * i; j < 2 * i + 2; j++) {
            g_string_append_printf(out, "    %-15s %6.1f",
                                   pmu_ledger_item_name((PmuLedgerItem)j),
                                   100 * m->slots[j]);
        }
        g_string_append_c(out, '\n');
    }
}

static double dispatched(const Report *report)
{
    double sum = 0;

    for (unsigned i = 0; i < report->uarch->num_ports; i++) {
        sum += report->m->port[i];
    }
    return sum;
}

static void text_ports(GString *out, const Report *report)
{
    unsigned n = report->uarch->num_ports;

    g_string_append(out, "\nPorts, in micro-ops per iteration\n ");
    for (unsigned i = 0; i < n; i++) {
        g_string_append_printf(out, " %5u", i);
    }
    g_string_append(out, "\n ");
    for (unsigned i = 0; i < n; i++) {
        g_string_append_printf(out, " %5.2f", report->m->port[i]);
    }
    g_string_append_c(out, '\n');
}

/* Returns what is special about instruction @i of the path; "": nothing. */
static const char *note(const Report *report, unsigned i)
{
    uint32_t flags = report->code->insns[report->code->path[i]].info.flags;

    return report->m->fused[i] ? "fused with the one before" :
           flags & PMU_INSN_UNKNOWN ? "not in the tables" :
           flags & PMU_INSN_MICROCODED ? "microcode" :
           flags & PMU_INSN_LCP ? "length-changing prefix" : "";
}

static unsigned slots(const Report *report, unsigned i)
{
    return report->m->fused[i]
           ? 0 : report->code->insns[report->code->path[i]].info.slots;
}

static void append_hex(GString *out, const Code *code, const CodeInsn *insn)
{
    for (unsigned i = 0; i < insn->info.length; i++) {
        g_string_append_printf(out, "%02x", code->bytes[insn->offset + i]);
    }
}

static void text_listing(GString *out, const Report *report)
{
    const Code *code = report->code;

    g_string_append(out, "\nOffset Slots  Bytes                 "
                         "Instruction\n");
    for (unsigned i = 0; i < code->path_length; i++) {
        const CodeInsn *insn = &code->insns[code->path[i]];
        const char *what = note(report, i);
        gsize start;

        g_string_append_printf(out, "%6x %5u  ", insn->offset,
                               slots(report, i));
        start = out->len;
        append_hex(out, code, insn);
        g_string_append_printf(out, "%*s", (int)(start + 22 - out->len > 22
                                                 ? 1 : start + 22 - out->len),
                               "");
        g_string_append_printf(out, "%s%s%s\n", insn->text,
                               *what ? "  ; " : "", what);
    }
}

char *report_text(const Report *report)
{
    const Measurement *m = report->m;
    const Code *code = report->code;
    GString *out = g_string_new(NULL);

    g_string_append_printf(out, "%s, ", report->uarch->name);
    if (report->options->loop) {
        g_string_append(out, "as a loop\n");
    } else {
        g_string_append_printf(out, "straight-line code of %u copies\n",
                               m->copies);
    }
    g_string_append_printf(out, "  cycles per iteration %9.2f%s\n", m->cycles,
                           m->steady ? "" : "  (mean: they do not settle)");
    g_string_append_printf(out, "  instructions         %9u    %.2f a cycle"
                           "\n", code->path_length,
                           m->instructions / m->cycles);
    g_string_append_printf(out, "  micro-ops            %9.2f    %.2f a cycle"
                           "\n", m->uops, m->uops / m->cycles);
    g_string_append_printf(out, "  dispatched           %9.2f\n",
                           dispatched(report));
    g_string_append_printf(out, "Limited by %s\n", report->why);
    text_slots(out, m);
    text_ports(out, report);
    text_listing(out, report);
    if (report->options->timeline) {
        timeline_text(out, code, m);
    }
    return g_string_free(out, FALSE);
}

/* Append @text, which is ASCII, as a JSON string. */
static void json_string(GString *out, const char *text)
{
    g_string_append_c(out, '"');
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') {
            g_string_append_c(out, '\\');
        }
        g_string_append_c(out, *text);
    }
    g_string_append_c(out, '"');
}

/* Append @name and the number @value, independent of the locale. */
static void json_number(GString *out, const char *name, double value)
{
    char buffer[G_ASCII_DTOSTR_BUF_SIZE];

    g_ascii_formatd(buffer, sizeof(buffer), "%.6g", value);
    g_string_append_printf(out, "\"%s\": %s, ", name, buffer);
}

/* Replace the last ", " by @end. */
static void json_end(GString *out, const char *end)
{
    g_string_truncate(out, out->len - 2);
    g_string_append(out, end);
}

static void json_slots(GString *out, const Measurement *m)
{
    g_string_append(out, "\"slots\": {");
    for (unsigned i = 0; i < G_N_ELEMENTS(level_1); i++) {
        json_number(out, level_1[i], part(m, i));
    }
    for (unsigned i = 0; i < PMU_SLOT_NR; i++) {
        json_number(out, pmu_ledger_item_name((PmuLedgerItem)i), m->slots[i]);
    }
    json_end(out, "}, ");
}

static void json_ports(GString *out, const Report *report)
{
    g_string_append(out, "\"ports\": {");
    for (unsigned i = 0; i < report->uarch->num_ports; i++) {
        char name[8];

        g_snprintf(name, sizeof(name), "%u", i);
        json_number(out, name, report->m->port[i]);
    }
    json_end(out, "}, ");
}

static void json_listing(GString *out, const Report *report)
{
    const Code *code = report->code;

    g_string_append(out, "\"listing\": [");
    for (unsigned i = 0; i < code->path_length; i++) {
        const CodeInsn *insn = &code->insns[code->path[i]];

        g_string_append_printf(out, "{\"offset\": %u, \"bytes\": \"",
                               insn->offset);
        append_hex(out, code, insn);
        g_string_append(out, "\", \"text\": ");
        json_string(out, insn->text);
        g_string_append_printf(out, ", \"slots\": %u, \"note\": ",
                               slots(report, i));
        json_string(out, note(report, i));
        g_string_append(out, "}, ");
    }
    json_end(out, "]");
}

char *report_json(const Report *report)
{
    const Measurement *m = report->m;
    GString *out = g_string_new("{\"core\": ");

    json_string(out, report->core);
    g_string_append_printf(out, ", \"mode\": \"%s\", \"steady\": %s, ",
                           report->options->loop ? "loop" : "unroll",
                           m->steady ? "true" : "false");
    json_number(out, "copies", m->copies);
    json_number(out, "cycles", m->cycles);
    json_number(out, "instructions", m->instructions);
    json_number(out, "micro-ops", m->uops);
    json_number(out, "ipc", m->instructions / m->cycles);
    g_string_append(out, "\"limit\": ");
    json_string(out, limit_name(report->limit));
    g_string_append(out, ", \"why\": ");
    json_string(out, report->why);
    g_string_append(out, ", ");
    json_slots(out, m);
    json_ports(out, report);
    json_listing(out, report);
    if (report->options->timeline) {
        timeline_json(out, report->code, m);
    }
    g_string_append_c(out, '}');
    return g_string_free(out, FALSE);
}
