/*
 * Replay a recording with sampling and all in detail, and compare.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * For each section between two marks of the recording, and for user and
 * supervisor mode, print the slots of the detailed replay and how far the
 * estimated ones are off.
 */

#include <glib.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pmu-replay.h"
#include "recording.h"
#include "replay.h"

/* The classes of slots of TMA's level 1. */
static const char *const class_name[] = {
    "retiring", "bad-spec", "frontend", "backend",
};

#define CLASSES G_N_ELEMENTS(class_name)

static double item(const ReplayResult *r, unsigned i, PmuLevel level,
                   unsigned what)
{
    return r->mark[i].item[level][what] -
           (i ? r->mark[i - 1].item[level][what] : 0);
}

static double class_of(const ReplayResult *r, unsigned i, PmuLevel level,
                       unsigned class)
{
    return item(r, i, level, 2 * class) + item(r, i, level, 2 * class + 1);
}

static void print_section(const ReplayResult *is, const ReplayResult *should,
                          unsigned i, PmuLevel level,
                          const ReplayOptions *options)
{
    double insns = item(should, i, level, PMU_ITEM_INSTRUCTIONS);
    double slots = item(should, i, level, PMU_ITEM_SLOTS);
    double found = item(is, i, level, PMU_ITEM_SLOTS);

    if (insns < 1000) {
        return;
    }
    printf("%2u %-3s %8.3f%+4.0f %9.3f %+7.2f ", i,
           level == PMU_LEVEL_USR ? "usr" : "os", insns / 1e6,
           item(is, i, level, PMU_ITEM_INSTRUCTIONS) - insns, slots / 1e6,
           100 * (found - slots) / slots);
    for (unsigned c = 0; c < CLASSES; c++) {
        double s = class_of(should, i, level, c);

        printf(" %5.1f%+6.2f", 100 * s / slots,
               100 * (class_of(is, i, level, c) - s) / slots);
    }
    printf("  %6.2f %6.2f\n",
           should->seconds[i] - (i ? should->seconds[i - 1] : 0),
           is->seconds[i] - (i ? is->seconds[i - 1] : 0));
    for (unsigned n = 0; options->items && n < PMU_ITEM_NR; n++) {
        double a = item(is, i, level, n), b = item(should, i, level, n);

        if (a || b) {
            printf("      %-32s %12.0f %12.0f %+7.2f %%\n",
                   pmu_ledger_item_name(n), b, a, 100 * (a - b) / b);
        }
    }
}

static void print_all(const ReplayResult *is, const ReplayResult *should,
                      const ReplayOptions *options)
{
    printf("## lev  Minsns diff    Mslots error %% ");
    for (unsigned c = 0; c < CLASSES; c++) {
        printf(" %12s", class_name[c]);
    }
    printf("  seconds: detailed, sampled\n");
    for (unsigned i = 0; i < is->marks; i++) {
        print_section(is, should, i, PMU_LEVEL_USR, options);
        print_section(is, should, i, PMU_LEVEL_OS, options);
    }
}

/* The child's work: replay in detail and write the result to file @cache. */
static int replay_detailed(const Recording *recording,
                           const ReplayOptions *options, const char *cache)
{
    g_autoptr(GError) error = NULL;
    g_autofree ReplayResult *result = replay(recording, options, false);

    if (!g_file_set_contents(cache, (char *)result, sizeof(*result), &error)) {
        fprintf(stderr, "replay: %s\n", error->message);
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}

/*
 * Replay in detail in a child process, to use a second host CPU.  Returns its
 * ID, or -1 if fork() failed.
 */
static pid_t fork_detailed(const Recording *recording,
                           const ReplayOptions *options, const char *cache)
{
    Recording quiet = *recording;
    pid_t pid;

    unlink(cache);
    fflush(stdout);             /* else the child may print it again */
    pid = fork();
    if (!pid) {
        quiet.quiet = true;
        _exit(replay_detailed(&quiet, options, cache));
    }
    if (pid < 0) {
        perror("replay: fork");
    }
    return pid;
}

static bool succeeded(pid_t pid)
{
    int status;

    if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) ||
        WEXITSTATUS(status)) {
        fprintf(stderr, "replay: the detailed replay failed\n");
        return false;
    }
    return true;
}

static ReplayResult *read_cache(const char *cache)
{
    char *data;
    size_t size;

    if (!g_file_get_contents(cache, &data, &size, NULL)) {
        return NULL;
    }
    if (size != sizeof(ReplayResult)) {
        g_free(data);
        return NULL;
    }
    return (ReplayResult *)data;
}

/* The name contains each option that changes the detailed replay's result. */
static char *cache_name(const char *name, const ReplayOptions *options)
{
    return g_strdup_printf("%s.detailed%s%s", name,
                           options->no_flush ? "-nf" : "",
                           options->all ? "-all" : "");
}

static int compare(const Recording *recording, const ReplayOptions *options)
{
    g_autofree char *cache = cache_name(recording->name, options);
    g_autofree ReplayResult *should =
        options->cached ? read_cache(cache) : NULL;
    pid_t pid = should ? 0 : fork_detailed(recording, options, cache);
    int status = EXIT_FAILURE;
    g_autofree ReplayResult *is = NULL;

    if (pid < 0) {
        return EXIT_FAILURE;
    }
    is = replay(recording, options, options->sampled);
    if (!is->ended) {
        fprintf(stderr, "replay: warning: %s has no end: it was cut off\n",
                recording->name);
    }
    if (pid && succeeded(pid)) {
        should = read_cache(cache);
    }
    if (should && should->marks == is->marks &&
        should->size == is->size) {
        printf("%s\n", recording->name);
        print_all(is, should, options);
        status = EXIT_SUCCESS;
    } else {
        fprintf(stderr, "replay: nothing of this recording in %s\n", cache);
    }
    return status;
}

static int replay_file(const char *name, const ReplayOptions *options)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GMappedFile) file = g_mapped_file_new(name, FALSE, &error);
    Recording recording = { .name = name };

    if (!file) {
        fprintf(stderr, "replay: %s\n", error->message);
        return EXIT_FAILURE;
    }
    recording.data = g_mapped_file_get_contents(file);
    recording.size = g_mapped_file_get_length(file);
    if (recording.size < strlen(RECORDING_MAGIC) ||
        memcmp(recording.data, RECORDING_MAGIC, strlen(RECORDING_MAGIC))) {
        fprintf(stderr, "replay: %s: not a recording\n", name);
        return EXIT_FAILURE;
    }
    return compare(&recording, options);
}

/* Returns false, with a message on stderr, if the command line is invalid. */
static bool parse(int *argc, char ***argv, ReplayOptions *o, char ***files)
{
    gboolean all = false, no_flush = false, cached = false, items = false;
    gboolean both_detailed = false;
    gint64 seed = 0;
    const GOptionEntry entries[] = {
        { "cached", 0, 0, G_OPTION_ARG_NONE, &cached,
          "what always simulating in detail says is that of the last run",
          NULL },
        { "all", 0, 0, G_OPTION_ARG_NONE, &all,
          "all that is counted is of interest, not slots alone", NULL },
        { "no-flush", 0, 0, G_OPTION_ARG_NONE, &no_flush,
          "leave out the guest's looks at its counters", NULL },
        { "items", 0, 0, G_OPTION_ARG_NONE, &items,
          "print all items of the ledger", NULL },
        { "both-detailed", 0, 0, G_OPTION_ARG_NONE, &both_detailed,
          "compare the replay with itself", NULL },
        { "seed", 0, 0, G_OPTION_ARG_INT64, &seed,
          "of the random periods, 1 to 4294967295 (0: QEMU's)", "N" },
        { G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, files, NULL,
          NULL },
        {}
    };
    g_autoptr(GOptionContext) context =
        g_option_context_new("RECORDING... - compare sampling with detail");
    g_autoptr(GError) error = NULL;

    g_option_context_add_main_entries(context, entries, NULL);
    if (!g_option_context_parse(context, argc, argv, &error)) {
        fprintf(stderr, "replay: %s\n", error->message);
        return false;
    }
    if (seed < 0 || seed > UINT32_MAX) {
        fprintf(stderr, "replay: --seed is %" PRId64 ", expected 0 to %" PRIu32
                "\n", seed, UINT32_MAX);
        return false;
    }
    if (!*files) {
        fprintf(stderr, "replay: no recording is named: see --help\n");
        return false;
    }
    *o = (ReplayOptions) {
        .sampled = !both_detailed, .all = all, .no_flush = no_flush,
        .cached = cached, .items = items, .seed = seed,
    };
    return true;
}

int replay_main(int argc, char **argv)
{
    g_auto(GStrv) files = NULL;
    ReplayOptions options;
    int status = EXIT_SUCCESS;

    if (!parse(&argc, &argv, &options, &files)) {
        return EXIT_FAILURE;
    }
    for (char **file = files; *file; file++) {
        status |= replay_file(*file, &options);
    }
    return status;
}
