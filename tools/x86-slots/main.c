/*
 * x86-slots: cycles and slots of a block of code on a modelled core.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A host program over the model core, without QEMU: docs/tools/x86-slots.rst.
 * This file is the command line.
 */

#include <glib.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "figures.h"
#include "input.h"
#include "report.h"
#include "timeline.h"

/* The command line as it was typed. */
typedef struct Options {
    char *hex, *core, *from, *to;
    gboolean batch, loop, unroll, add_loop, json, figures, splits;
    gint64 rep, stride, span, timeline;
    char **set, **files;
} Options;

/* What the command line asks for. */
typedef struct Tool {
    const Options *options;
    PmuCore core;
    PmuUarch uarch;             /* of @core, with the changes of --set */
    char *core_name;
    CodeReader *reader;
} Tool;

/* Limits of --rep, --stride and --span (twice the largest l3-size). */
#define MAX_REP         (1 << 24)
#define MAX_STRIDE      (1ll << 30)
#define MAX_SPAN        (2ll << 30)

/* Default of --span, in bytes: about twice the L3 of either core. */
#define DEFAULT_SPAN    (128ll << 20)

/* --span without a value given.  It is not 0, as --span=0 is out of range. */
#define NOT_GIVEN       G_MININT64

/* Returns the name of @core for --core: lower case, with dashes for spaces. */
static char *core_name(PmuCore core)
{
    return g_strdelimit(g_ascii_strdown(pmu_uarch(core)->name, -1), " ", '-');
}

static char *core_names(void)
{
    GString *names = g_string_new(NULL);

    for (unsigned i = 0; i < PMU_CORES_MEASURED; i++) {
        g_autofree char *name = core_name(i);

        g_string_append_printf(names, "%s%s", i ? ", " : "", name);
    }
    return g_string_free(names, FALSE);
}

G_GNUC_PRINTF(2, 3)
static bool usage(GError **error, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    *error = g_error_new_valist(SLOTS_ERROR, SLOTS_ERROR_USAGE, format, args);
    va_end(args);
    return false;
}

static bool parse_core(const char *name, PmuCore *core, GError **error)
{
    g_autofree char *names = core_names();

    for (unsigned i = 0; i < PMU_CORES_MEASURED; i++) {
        g_autofree char *known = core_name(i);

        if (!strcmp(name, known)) {
            *core = i;
            return true;
        }
    }
    return usage(error, "--core: \"%s\" is none of %s", name, names);
}

static bool check_range(const char *option, gint64 value, gint64 low,
                        gint64 high, GError **error)
{
    return (value >= low && value <= high) ||
           usage(error, "%s: %" G_GINT64_FORMAT " is not from %"
                 G_GINT64_FORMAT " to %" G_GINT64_FORMAT, option, value, low,
                 high);
}

static bool check_numbers(const Options *o, GError **error)
{
    return check_range("--timeline", o->timeline, 0, TIMELINE_MAX, error) &&
           check_range("--rep", o->rep, 1, MAX_REP, error) &&
           check_range("--stride", o->stride, -MAX_STRIDE, MAX_STRIDE,
                       error) &&
           (o->span == NOT_GIVEN ||
            check_range("--span", o->span, 1, MAX_SPAN, error));
}

/* Refuse options that contradict others, or have no effect without them. */
static bool check_together(const Options *o, GError **error)
{
    if (o->loop + o->unroll + o->add_loop > 1) {
        return usage(error, "--loop, --add-loop and --unroll exclude each "
                     "other");
    }
    if (o->timeline && o->batch && !o->json) {
        return usage(error, "--timeline: with --batch it needs --json");
    }
    if (o->figures && o->json) {
        return usage(error, "--figures and --json exclude each other");
    }
    if (o->splits && o->stride) {
        return usage(error, "--splits and --stride exclude each other");
    }
    if (o->span != NOT_GIVEN && !o->stride) {
        return usage(error, "--span: only a --stride begins again");
    }
    return true;
}

static bool check_options(const Options *o, GError **error)
{
    unsigned files = o->files ? g_strv_length(o->files) : 0;

    if (!!o->hex + o->batch + o->figures + files != 1) {
        return usage(error, "one of --hex, --batch, --figures and a file is "
                     "needed, and one only");
    }
    if ((o->from || o->to) && !files) {
        return usage(error, "%s: only a file has symbols",
                     o->from ? "--from" : "--to");
    }
    return check_numbers(o, error) && check_together(o, error);
}

static bool parse(int *argc, char ***argv, Options *o, GError **error)
{
    g_autofree char *cores = core_names();
    g_autofree char *core_help = g_strdup_printf("one of %s", cores);
    const GOptionEntry entries[] = {
        { "core", 'c', 0, G_OPTION_ARG_STRING, &o->core, core_help, "CORE" },
        { "set", 's', 0, G_OPTION_ARG_STRING_ARRAY, &o->set,
          "change a figure of the core; may be repeated", "NAME=VALUE" },
        { "figures", 0, 0, G_OPTION_ARG_NONE, &o->figures,
          "list the figures of the core and their ranges", NULL },
        { "hex", 'x', 0, G_OPTION_ARG_STRING, &o->hex,
          "the block as hex digits", "DIGITS" },
        { "batch", 'b', 0, G_OPTION_ARG_NONE, &o->batch,
          "read blocks from stdin, one a line, as hex digits; print the "
          "cycles of each, or -", NULL },
        { "from", 0, 0, G_OPTION_ARG_STRING, &o->from,
          "the block begins at this symbol of the file (.text)", "SYMBOL" },
        { "to", 0, 0, G_OPTION_ARG_STRING, &o->to,
          "the block ends at this symbol (the end of --from)", "SYMBOL" },
        { "loop", 'l', 0, G_OPTION_ARG_NONE, &o->loop,
          "the block is a loop; it ends in a branch to its start, or in ret",
          NULL },
        { "add-loop", 'a', 0, G_OPTION_ARG_NONE, &o->add_loop,
          "make it a loop with \"dec\" of a spare register and \"jnz\"", NULL },
        { "unroll", 'u', 0, G_OPTION_ARG_NONE, &o->unroll,
          "repeat the block as straight-line code, longer than the DSB",
          NULL },
        { "rep", 0, 0, G_OPTION_ARG_INT64, &o->rep,
          "iterations of each REP instruction (64)", "N" },
        { "stride", 0, 0, G_OPTION_ARG_INT64, &o->stride,
          "bytes by which each access advances per iteration", "N" },
        { "span", 0, 0, G_OPTION_ARG_INT64, &o->span,
          "bytes after which --stride begins again (134217728)", "N" },
        { "splits", 0, 0, G_OPTION_ARG_NONE, &o->splits,
          "accesses may cross lines: registers hold multiples of 64 at first "
          "(not with --stride)", NULL },
        { "timeline", 't', 0, G_OPTION_ARG_INT64, &o->timeline,
          "show when the instructions of N iterations pass which stage", "N" },
        { "json", 'j', 0, G_OPTION_ARG_NONE, &o->json,
          "print JSON, one line for a block", NULL },
        { G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &o->files,
          NULL, NULL },
        {}
    };
    g_autoptr(GOptionContext) context =
        g_option_context_new("[FILE] - cycles and slots of a block of code");
    g_autoptr(GError) local = NULL;

    g_option_context_set_summary(context,
        "FILE is an ELF file or assembler source (.s, .S).  Without a mode, "
        "a block that\nends in a branch to its start, or in ret, is a loop, "
        "any other is repeated as\nstraight-line code.");
    g_option_context_add_main_entries(context, entries, NULL);
    if (!g_option_context_parse(context, argc, argv, &local)) {
        return usage(error, "%s", local->message);
    }
    return check_options(o, error);
}

/* Append "dec" of a spare register, and "jnz" to the start of @code. */
static void append_loop(GByteArray *bytes, const Code *code)
{
    unsigned reg = code_spare_gpr(code);
    uint8_t end[] = {
        0x48 | reg >> 3, 0xff, 0xc8 | (reg & 7), 0x0f, 0x85, 0, 0, 0, 0
    };
    uint32_t back = -(uint32_t)(bytes->len + sizeof(end));

    for (unsigned i = 0; i < sizeof(back); i++) {
        end[sizeof(end) - sizeof(back) + i] = back >> (8 * i);
    }
    g_byte_array_append(bytes, end, sizeof(end));
}

/* Returns the decoded block, with a loop around it for --add-loop. */
static Code *read_code(Tool *tool, GByteArray *bytes, GError **error)
{
    Code *code = code_read(tool->reader, bytes->data, bytes->len, error);

    if (!code || !tool->options->add_loop) {
        return code;
    }
    if (code->closed) {
        g_set_error(error, SLOTS_ERROR, SLOTS_ERROR_DATA,
                    "--add-loop: the block is a loop already");
        code_free(code);
        return NULL;
    }
    append_loop(bytes, code);
    code_free(code);
    return code_read(tool->reader, bytes->data, bytes->len, error);
}

/*
 * Set @loop to whether @code runs as a loop.  Returns false and @error if it
 * cannot run as the options ask.
 */
static bool choose_mode(const Options *o, const Code *code, bool *loop,
                        GError **error)
{
    const CodeInsn *last = &code->insns[code->path[code->path_length - 1]];

    if (o->loop && !code->closed) {
        g_set_error(error, SLOTS_ERROR, SLOTS_ERROR_DATA,
                    "--loop: the block ends neither in a branch to its start "
                    "nor in ret (--add-loop adds one, --unroll does without)");
        return false;
    }
    if (o->unroll && code->closed &&
        last->info.branch != PMU_BRANCH_COND) {
        g_set_error(error, SLOTS_ERROR, SLOTS_ERROR_DATA,
                    "--unroll: the block ends in %s, an unconditional branch "
                    "to its start (leave it out)", last->text);
        return false;
    }
    *loop = code->closed && !o->unroll;
    return true;
}

/* Returns what to print about the block @bytes; NULL and @error on failure. */
static char *examine(Tool *tool, GByteArray *bytes, GError **error)
{
    const Options *o = tool->options;
    MeasureOptions how = {
        .rep = o->rep, .timeline = o->timeline,
        .addresses = {
            .stride = o->stride, .splits = o->splits,
            .span = o->span == NOT_GIVEN ? DEFAULT_SPAN : o->span,
        },
    };
    Code *code = read_code(tool, bytes, error);
    g_autofree char *why = NULL;
    Measurement m;
    char *out;

    if (!code || !choose_mode(o, code, &how.loop, error)) {
        code_free(code);
        return NULL;
    }
    measure(tool->reader, code, &tool->uarch, &how, &m);
    if (o->batch && !o->json) {
        out = g_strdup_printf("%.4f", m.cycles);
    } else {
        Report report = {
            .code = code, .uarch = &tool->uarch,
            .core = tool->core_name, .options = &how, .m = &m,
        };

        report.limit = limit_find(code, report.uarch, &how, &m, &why);
        report.why = why;
        out = o->json ? report_json(&report) : report_text(&report);
    }
    measurement_clear(&m);
    code_free(code);
    return out;
}

static GByteArray *read_block(const Options *o, GError **error)
{
    GByteArray *bytes;

    if (!o->hex) {
        return input_file(o->files[0], o->from, o->to, error);
    }
    bytes = input_hex(o->hex, error);
    if (!bytes) {
        g_prefix_error(error, "--hex: ");
    }
    return bytes;
}

static bool run_one(Tool *tool, GError **error)
{
    GByteArray *bytes = read_block(tool->options, error);
    g_autofree char *out = NULL;

    if (!bytes) {
        return false;
    }
    out = examine(tool, bytes, error);
    g_byte_array_free(bytes, TRUE);
    if (out) {
        printf("%s%s", out, tool->options->json ? "\n" : "");
    }
    return out;
}

/* Print one line for an input line.  Errors go to stderr. */
static void run_line(Tool *tool, const char *line, unsigned number)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *out = NULL;
    GByteArray *bytes = input_hex(line, &error);

    if (bytes) {
        out = examine(tool, bytes, &error);
        g_byte_array_free(bytes, TRUE);
    }
    if (error) {
        g_printerr("x86-slots: line %u: %s\n", number, error->message);
    }
    printf("%s\n", out ? out : tool->options->json ? "null" : "-");
    fflush(stdout);
}

static void run_batch(Tool *tool)
{
    char *line = NULL;
    size_t size = 0;

    for (unsigned number = 1; getline(&line, &size, stdin) >= 0; number++) {
        run_line(tool, line, number);
    }
    free(line);
}

static bool run(Tool *tool, GError **error)
{
    if (tool->options->figures) {
        g_autofree char *list = figures_list(&tool->uarch);

        printf("%s", list);
        return true;
    }
    tool->reader = code_reader_new(tool->core, &tool->uarch);
    if (!tool->reader) {
        g_set_error(error, SLOTS_ERROR, SLOTS_ERROR_DATA,
                    "Capstone cannot be started");
        return false;
    }
    if (tool->options->batch) {
        run_batch(tool);
        return true;
    }
    return run_one(tool, error);
}

static bool choose_core(Tool *tool, GError **error)
{
    const Options *o = tool->options;

    if (!parse_core(o->core ? o->core : "sunny-cove", &tool->core, error)) {
        return false;
    }
    tool->core_name = core_name(tool->core);
    tool->uarch = *pmu_uarch(tool->core);
    return figures_set(&tool->uarch, o->set, error);
}

int main(int argc, char **argv)
{
    Options options = { .rep = 64, .span = NOT_GIVEN };
    Tool tool = { .options = &options };
    g_autoptr(GError) error = NULL;
    int status = EXIT_SUCCESS;

    /* File names are in the user's encoding; numbers have a decimal point. */
    setlocale(LC_CTYPE, "");
    if (!parse(&argc, &argv, &options, &error) ||
        !choose_core(&tool, &error) || !run(&tool, &error)) {
        status = error->code;
    }
    if (error) {
        g_printerr("x86-slots: %s\n", error->message);
    }
    code_reader_free(tool.reader);
    g_free(tool.core_name);
    g_free(options.hex);
    g_free(options.core);
    g_free(options.from);
    g_free(options.to);
    g_strfreev(options.set);
    g_strfreev(options.files);
    return status;
}
