/*
 * pmu-check: find what a PMU driver does wrong, from a log of its accesses.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <errno.h>
#include <glib.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay.h"
#include "tcg/pmu/check/recorder.h"

/* Exit statuses. */
enum { KEPT = 0, FAILED = 1, BROKEN = 3 };

static char *option_core, *option_rules, *option_suppress;

static const GOptionEntry entries[] = {
    { "core", 0, 0, G_OPTION_ARG_STRING, &option_core,
      "The core: icelake (the default) or sapphirerapids", "NAME" },
    { "rules", 0, 0, G_OPTION_ARG_STRING, &option_rules,
      "Rules to switch on and off, as in +C14:-P2:severity>=L", "LIST" },
    { "suppress", 0, 0, G_OPTION_ARG_FILENAME, &option_suppress,
      "File of hits that are known: RULE[:REGISTER] PLACE REASON", "FILE" },
    { }
};

static const char description[] =
    "LOG (default: standard input) is one of\n"
    "- what QEMU printed with -trace \"x86_pmu*\";\n"
    "- perf script of a recording of msr:read_msr, msr:write_msr, msr:rdpmc.\n"
    "\n"
    "Exit status: 0, no rule was broken; 3, some were; 1, nothing was "
    "checked.\n";

static G_NORETURN void fail(const char *format, ...) G_GNUC_PRINTF(1, 2);

static G_NORETURN void fail(const char *format, ...)
{
    va_list ap;

    fputs("pmu-check: ", stderr);
    va_start(ap, format);
    vfprintf(stderr, format, ap);
    va_end(ap);
    fputc('\n', stderr);
    exit(FAILED);
}

static PerfmonConfig choose_unit(void)
{
    PerfmonConfig unit = {
        .core = PMU_CORE_ICELAKE, .num_gp = 8, .num_fixed = 4, .pdcm = true,
        .capabilities = PERF_CAP_BIT_FW_WRITE | PERF_CAP_BIT_PERF_METRICS,
        .num_metrics = 4, .metrics_width = 48,
    };

    if (option_core && g_str_equal(option_core, "sapphirerapids")) {
        unit.core = PMU_CORE_SAPPHIRERAPIDS;
        unit.num_metrics = 8;
    } else if (option_core && !g_str_equal(option_core, "icelake")) {
        fail("--core=%s: it must be icelake or sapphirerapids", option_core);
    }
    return unit;
}

static PmuSuppressions *read_suppressions(void)
{
    g_autoptr(GError) err = NULL;
    g_autofree char *text = NULL;
    PmuSuppressions *list;
    char *why;

    if (!option_suppress) {
        return NULL;
    }
    if (!g_file_get_contents(option_suppress, &text, NULL, &err)) {
        fail("%s", err->message);
    }
    list = pmu_suppressions_new(option_suppress, text, NULL, &why);
    if (!list) {
        fail("%s", why);
    }
    return list;
}

/* The current line of the log, from 1, for messages. */
static uint64_t line_number;

static void print_hit(void *opaque, const PmuCheckHit *hit)
{
    g_autofree char *name = pmu_register_name(&perfmon_map_architectural,
                                                  hit->msr);

    if (!hit->suppressed) {
        printf("line %" PRIu64 ": %s (%s): %s: %s 0x%" PRIx64 ", CPL %u, "
               "counters 0x%" PRIx64 "\n", line_number, hit->rule->id,
               pmu_check_severity_name(hit->rule->severity), hit->rule->text,
               name, hit->value, hit->where.cpl, hit->counters);
    }
}

/* Print the rules in @wanted that a log does not suffice for. */
static void print_unserved(const PmuRuleSet *wanted)
{
    const PmuCheckRule *rule;

    printf("not judged, as a log of accesses does not tell enough:");
    for (unsigned i = 0; (rule = pmu_check_rule(i)); i++) {
        if (pmu_rule_set_has(wanted, i) && !rule->offline) {
            printf(" %s", rule->id);
        }
    }
    putchar('\n');
}

static void print_summary(const Replay *replay)
{
    const PmuCheckRule *rule;
    const char *last = "";

    for (unsigned i = 0; (rule = pmu_check_rule(i)); i++) {
        uint64_t count = replay_hits(replay, rule->id);

        if (count && !g_str_equal(last, rule->id)) {
            printf("%s: %" PRIu64 " times\n", rule->id, count);
        }
        last = rule->id;
    }
}

/* Returns the number of accesses that were replayed. */
static uint64_t read_log(Replay *replay, FILE *file)
{
    char *line = NULL;
    size_t size = 0;
    uint64_t accesses = 0;
    LogAccess access;

    while (getline(&line, &size, file) >= 0) {
        line_number++;
        if (log_parse(line, &access)) {
            accesses++;
            replay_access(replay, &access);
        }
    }
    free(line);
    return accesses;
}

static void parse_arguments(int *argc, char ***argv)
{
    GOptionContext *context = g_option_context_new("[LOG]");
    g_autoptr(GError) err = NULL;

    g_option_context_set_summary(context, "Check what a driver of the PMU of "
                                 "Ice Lake servers and later does, by a log.");
    g_option_context_set_description(context, description);
    g_option_context_add_main_entries(context, entries, NULL);
    if (!g_option_context_parse(context, argc, argv, &err)) {
        fail("%s", err->message);
    }
    g_option_context_free(context);
    if (*argc > 2) {
        fail("more than one log: try --help");
    }
}

int main(int argc, char **argv)
{
    PmuCheckConfig config = {
        .rules = pmu_rule_set_default(), .report = print_hit,
    };
    PerfmonConfig unit;
    PmuSuppressions *suppressions;
    PmuRuleSet wanted;
    FILE *file = stdin;
    Replay *replay;
    uint64_t accesses;
    char *why;
    bool broken;

    parse_arguments(&argc, &argv);
    unit = choose_unit();
    why = option_rules ? pmu_rule_set_change(&config.rules, option_rules)
                       : NULL;
    if (why) {
        fail("--rules=%s: %s", option_rules, why);
    }
    config.suppressions = suppressions = read_suppressions();
    wanted = config.rules;
    replay_limit(&config.rules);
    if (argc == 2) {
        file = fopen(argv[1], "r");
        if (!file) {
            fail("%s: %s", argv[1], strerror(errno));
        }
    }
    replay = replay_new(&unit, &config);
    accesses = read_log(replay, file);
    fclose(file);
    if (!accesses) {
        fail("there is no access in the log: try --help");
    }
    print_summary(replay);
    print_unserved(&wanted);
    printf("%" PRIu64 " accesses, %" PRIu64 " hits\n", accesses,
           replay_hits(replay, NULL));
    broken = replay_hits(replay, NULL);
    replay_free(replay);
    pmu_suppressions_free(suppressions);
    return broken ? BROKEN : KEPT;
}
