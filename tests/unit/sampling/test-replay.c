/*
 * pmu-replay: it replays or refuses any recording.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Each run is a process of its own, in a directory of the test.
 */

#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pmu-replay.h"
#include "random.h"
#include "recording.h"
#include "tcg/pmu/decode/encoding.h"

#define RANDOM_BYTES    64
#define MUTATIONS       80

/*
 * Runs of a block of three instructions: enough for an interval to be printed.
 */
#define RUNS            1000

typedef struct Rig {
    char *directory, *recording, *out, *err;
    GByteArray *data;
    Random random;
} Rig;

static void put(Rig *rig, uint64_t value)
{
    uint8_t byte;

    for (; value >= 0x80; value >>= 7) {
        byte = value | 0x80;
        g_byte_array_append(rig->data, &byte, 1);
    }
    byte = value;
    g_byte_array_append(rig->data, &byte, 1);
}

static void put_all(Rig *rig, const uint8_t *values, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        put(rig, values[i]);
    }
}

#define PUT(rig, ...)                                                   \
    put_all(rig, (const uint8_t[]) { __VA_ARGS__ },                     \
            sizeof((const uint8_t[]) { __VA_ARGS__ }))

static void begin(Rig *rig)
{
    g_byte_array_set_size(rig->data, 0);
    g_byte_array_append(rig->data, (const uint8_t *)RECORDING_MAGIC,
                        strlen(RECORDING_MAGIC));
}

/* Begin a block of 64-bit code at the start of a page. */
static void begin_block(Rig *rig, unsigned num_insns)
{
    PUT(rig, REC_DEFINE, 64, REC_USER);
    put(rig, 0x1000);
    put(rig, 0x2000);
    put(rig, num_insns);
}

/* Append an instruction of @length bytes at @bytes, with the accesses given. */
static void put_insn(Rig *rig, const char *bytes, unsigned length,
                     uint8_t page_offset, uint8_t ea, uint8_t stack)
{
    PmuEncoding enc;

    pmu_encoding_parse(&enc, (const uint8_t *)bytes, length, 64);
    put(rig, length);
    put_all(rig, enc.bytes, length);
    PUT(rig, enc.opcode_offset, enc.prefixes, enc.address_shift,
        enc.string ? REC_STRING_INSN : 0, page_offset, ea, stack);
}

/* Block 0: mov rax, [rbx]; dec rcx; jne; block 1: rep stosb. */
static void put_blocks(Rig *rig)
{
    begin_block(rig, 3);
    put_insn(rig, "\x48\x8b\x03", 3, 0, 0, 0xff);
    put_insn(rig, "\x48\xff\xc9", 3, 3, 0xff, 0xff);
    put_insn(rig, "\x75\xf8", 2, 6, 0xff, 0xff);
    begin_block(rig, 1);
    put_insn(rig, "\xf3\xaa", 2, 0, 0, 1);
}

/* Append one of each operation, except the end. */
static void put_operations(Rig *rig)
{
    PUT(rig, REC_MAP, 2, 3, 0, 0);
    PUT(rig, REC_INTEREST, 1, 1, 1, 0);
    PUT(rig, REC_BLOCK_RAN + 1, 80, 64, REC_NEXT, 6);
    PUT(rig, REC_PART, 0, 0, 2, 0, 0, 0, 0, 0, 2);
    PUT(rig, REC_STRING, 1, 0, 0, 8, 8, 7, 9, 2, 4);
    PUT(rig, REC_ASSIST, 0, REC_INTERRUPT, REC_FLUSH_MAPPINGS, 2, 1);
    PUT(rig, REC_MARK, REC_FLUSH);
}

static void put_runs(Rig *rig, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        PUT(rig, REC_BLOCK_RAN, 2);
    }
    PUT(rig, REC_NEXT, 0);
}

static void put_recording(Rig *rig, unsigned runs)
{
    begin(rig);
    put_blocks(rig);
    put_operations(rig);
    put_runs(rig, runs);
    put(rig, REC_END);
}

static void redirect(const char *name, int to)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    dup2(fd, to);
    close(fd);
}

/* Run pmu-replay on the file as it is.  Returns a status as of waitpid(). */
static int run_file(Rig *rig, const char *option)
{
    char *argv[] = { (char *)"pmu-replay", (char *)option, rig->recording,
                     NULL };
    int status;
    pid_t pid;

    fflush(NULL);
    pid = fork();
    g_assert_cmpint(pid, >=, 0);
    if (!pid) {
        redirect(rig->out, STDOUT_FILENO);
        redirect(rig->err, STDERR_FILENO);
        exit(replay_main(3, argv));
    }
    g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
    return status;
}

static int run(Rig *rig, const char *option)
{
    g_assert_true(g_file_set_contents(rig->recording, (char *)rig->data->data,
                                      rig->data->len, NULL));
    return run_file(rig, option);
}

static char *contents(const char *name)
{
    char *text = NULL;

    g_assert_true(g_file_get_contents(name, &text, NULL, NULL));
    return text;
}

static void assert_exits(Rig *rig, const char *option, int status)
{
    int is = run(rig, option);

    g_assert_true(WIFEXITED(is));
    g_assert_cmpint(WEXITSTATUS(is), ==, status);
}

/*
 * Assert that the recording is refused, with one line that says @what and
 * @offset.
 */
static void assert_refused(Rig *rig, size_t offset, const char *what)
{
    g_autofree char *want = NULL, *err = NULL;

    assert_exits(rig, "--all", EXIT_FAILURE);
    err = contents(rig->err);
    want = g_strdup_printf("replay: %s: offset %zu: bad %s\n", rig->recording,
                           offset, what);
    g_assert_cmpstr(err, ==, want);
}

static bool has_file(Rig *rig, const char *suffix)
{
    g_autofree char *name = g_strconcat(rig->recording, suffix, NULL);

    return g_file_test(name, G_FILE_TEST_EXISTS);
}

static void set_up(Rig *rig, gconstpointer unused)
{
    rig->directory = g_dir_make_tmp("pmu-replay-XXXXXX", NULL);
    g_assert_nonnull(rig->directory);
    rig->recording = g_build_filename(rig->directory, "recording", NULL);
    rig->out = g_build_filename(rig->directory, "out", NULL);
    rig->err = g_build_filename(rig->directory, "err", NULL);
    rig->data = g_byte_array_new();
    rig->random = random_from_seed();
}

static void tear_down(Rig *rig, gconstpointer unused)
{
    GDir *directory = g_dir_open(rig->directory, 0, NULL);
    const char *name;

    while ((name = g_dir_read_name(directory))) {
        g_autofree char *path = g_build_filename(rig->directory, name, NULL);

        g_remove(path);
    }
    g_dir_close(directory);
    g_rmdir(rig->directory);
    g_free(rig->directory);
    g_free(rig->recording);
    g_free(rig->out);
    g_free(rig->err);
    g_byte_array_free(rig->data, TRUE);
}

/* A whole recording is replayed, without a warning. */
static void test_whole(Rig *rig, gconstpointer unused)
{
    g_autofree char *out = NULL, *err = NULL;

    put_recording(rig, RUNS);
    assert_exits(rig, "--both-detailed", EXIT_SUCCESS);
    out = contents(rig->out);
    err = contents(rig->err);
    g_assert_nonnull(strstr(out, " 1 usr "));
    g_assert_cmpstr(err, ==, "");
}

/*
 * If a signal ended QEMU, the recording is cut.  All before the cut is
 * replayed, with one warning.
 */
static void test_cut(Rig *rig, gconstpointer unused)
{
    put_recording(rig, RUNS);
    for (unsigned n = 1; n < 5; n++) {
        g_autofree char *out = NULL, *err = NULL;

        g_byte_array_set_size(rig->data, rig->data->len - 1);
        assert_exits(rig, "--both-detailed", EXIT_SUCCESS);
        out = contents(rig->out);
        err = contents(rig->err);
        g_assert_nonnull(strstr(out, " 1 usr "));
        g_assert_nonnull(strstr(err, "warning"));
        g_assert_true(strchr(err, '\n') == strrchr(err, '\n'));
    }
}

/* A recording with a wrong number is refused, with its offset and its name. */
static void test_refused(Rig *rig, gconstpointer unused)
{
    size_t start = strlen(RECORDING_MAGIC);

    begin(rig);
    PUT(rig, REC_DEFINE, 48);
    assert_refused(rig, start + 1, "mode");
    begin(rig);
    begin_block(rig, 1);
    start = rig->data->len;
    put(rig, 255);
    assert_refused(rig, start, "length of instruction");
    begin(rig);
    begin_block(rig, 1);
    put_insn(rig, "\x90", 1, 0, 254, 0xff);
    assert_refused(rig, rig->data->len - 4, "access");
    begin(rig);
    put_blocks(rig);
    start = rig->data->len;
    PUT(rig, REC_BLOCK_RAN + 4, 2);
    assert_refused(rig, start, "number of block");
    begin(rig);
    PUT(rig, REC_ASSIST, 0);
    assert_refused(rig, strlen(RECORDING_MAGIC) + 1, "number of block");
    begin(rig);
    for (unsigned i = 0; i < 10; i++) {
        g_byte_array_append(rig->data, (const uint8_t *)"\xff", 1);
    }
    assert_refused(rig, strlen(RECORDING_MAGIC), "number of more than 64 bits");
}

/* If detailed simulation fails, an earlier run's results are not used. */
static void test_stale(Rig *rig, gconstpointer unused)
{
    g_autofree char *cache = g_strconcat(rig->recording, ".detailed", NULL);

    put_recording(rig, RUNS);
    assert_exits(rig, "--items", EXIT_SUCCESS);
    g_assert_true(has_file(rig, ".detailed"));
    begin(rig);
    PUT(rig, REC_ASSIST, 0);
    assert_exits(rig, "--items", EXIT_FAILURE);
    g_assert_false(has_file(rig, ".detailed"));

    /* The results cannot be written. */
    put_recording(rig, RUNS);
    g_assert_cmpint(g_mkdir(cache, 0700), ==, 0);
    assert_exits(rig, "--items", EXIT_FAILURE);
    g_rmdir(cache);
}

/* Options that change what is simulated have result files of their own. */
static void test_caches(Rig *rig, gconstpointer unused)
{
    put_recording(rig, RUNS);
    assert_exits(rig, "--all", EXIT_SUCCESS);
    g_assert_true(has_file(rig, ".detailed-all"));
    g_assert_false(has_file(rig, ".detailed"));
    assert_exits(rig, "--no-flush", EXIT_SUCCESS);
    g_assert_true(has_file(rig, ".detailed-nf"));
    assert_exits(rig, "--items", EXIT_SUCCESS);
    assert_exits(rig, "--cached", EXIT_SUCCESS);
    /* Another recording of the same name: its cached results do not fit. */
    rig->data->data[rig->data->len - 1] = REC_MARK;
    assert_exits(rig, "--cached", EXIT_FAILURE);
}

/* A seed of 32 bits is accepted; another one is refused and named. */
static void test_seed(Rig *rig, gconstpointer unused)
{
    static const char *const refused[] = {
        "--seed=-1", "--seed=4294967296", "--seed=1x",
    };

    put_recording(rig, RUNS);
    assert_exits(rig, "--seed=4294967295", EXIT_SUCCESS);
    for (unsigned i = 0; i < G_N_ELEMENTS(refused); i++) {
        g_autofree char *err = NULL;

        assert_exits(rig, refused[i], EXIT_FAILURE);
        err = contents(rig->err);
        g_assert_nonnull(strstr(err, refused[i] + strlen("--seed=")));
    }
}

/*
 * Assert that the process exits by itself, and that each line is its own and
 * none a sanitizer's.
 */
static void assert_sane(Rig *rig)
{
    int status = run(rig, random_below(&rig->random, 2) ? "--all" : "--items");
    g_autofree char *err = contents(rig->err);
    g_auto(GStrv) lines = g_strsplit(err, "\n", -1);

    g_assert_true(WIFEXITED(status));
    for (unsigned i = 0; lines[i] && *lines[i]; i++) {
        g_assert_true(g_str_has_prefix(lines[i], "replay: "));
        /* This comes from a process that reports nothing itself. */
        g_assert_null(strstr(lines[i], "detailed replay failed"));
    }
}

/* Random bytes behind the magic are replayed or refused. */
static void test_random(Rig *rig, gconstpointer unused)
{
    for (unsigned i = 0; i < MUTATIONS; i++) {
        unsigned n = random_below(&rig->random, RANDOM_BYTES);

        begin(rig);
        for (unsigned j = 0; j < n; j++) {
            uint8_t byte = random_size(&rig->random, 8);

            g_byte_array_append(rig->data, &byte, 1);
        }
        assert_sane(rig);
    }
}

/* So are recordings with some random bytes. */
static void test_mutated(Rig *rig, gconstpointer unused)
{
    unsigned magic = strlen(RECORDING_MAGIC);

    for (unsigned i = 0; i < MUTATIONS; i++) {
        unsigned n = 1 + random_below(&rig->random, 3);

        put_recording(rig, 4);
        for (unsigned j = 0; j < n; j++) {
            unsigned at = random_below(&rig->random, rig->data->len - magic);

            rig->data->data[magic + at] = random_size(&rig->random, 8);
        }
        assert_sane(rig);
    }
}

static void add(const char *path, void (*test)(Rig *, gconstpointer))
{
    g_test_add(path, Rig, NULL, set_up, test, tear_down);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    add("/replay/whole", test_whole);
    add("/replay/cut", test_cut);
    add("/replay/refused", test_refused);
    add("/replay/stale", test_stale);
    add("/replay/caches", test_caches);
    add("/replay/seed", test_seed);
    add("/replay/random", test_random);
    add("/replay/mutated", test_mutated);
    return g_test_run();
}
