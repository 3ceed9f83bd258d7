/*
 * Replay what a guest did through the timing model alone, in both modes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Between marks of the recording, and in all, it prints for user and
 * supervisor mode the slots of both and how far those estimated are off.
 * The file may be anything: each number is checked before it is used.
 */

#include <errno.h>
#include <glib.h>
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "pmu-replay.h"
#include "recording.h"
#include "tcg/pmu/decode/block-builder.h"
#include "tcg/pmu/decode/decoder.h"
#include "tcg/pmu/sampling/timing.h"

#define LOG_WORDS 512
#define MAX_MARKS 256

/* A block that was defined, and where it was last. */
typedef struct Known {
    const PmuBlock *block;
    uint64_t pc;
    uint64_t addr[];
} Known;

/* One pass over a recording. */
typedef struct Replay {
    const char *name;
    const uint8_t *start, *at, *end;
    const uint8_t *number;      /* where the last one that was read begins */
    jmp_buf cut;                /* where to go on if the file ends in one */
    bool ended;                 /* there was a REC_END */
    bool quiet;                 /* another process tells what is wrong */
    GPtrArray *known;           /* Known */
    GHashTable *pages;          /* PmuMapping by linear page */
    PmuDecoder *decoder;
    PmuBlockBuilder builder;
    uint64_t next, mapped;
    bool marks_flush;           /* the guest's looks are replayed */
    const PmuInterest *interest;        /* instead of that recorded */

    PmuLedger ledger;
    PmuTiming *timing;
    uint64_t log[LOG_WORDS], *free;
    uint32_t granted, left;     /* may be counted */
    uint64_t progress;          /* was */

    PmuLedgerSnapshot mark[MAX_MARKS];
    double seconds[MAX_MARKS];
    unsigned marks;
} Replay;

static G_NORETURN void bad_input(const Replay *r, const char *what)
{
    if (!r->quiet) {
        fprintf(stderr, "replay: %s: offset %zu: bad %s\n", r->name,
                (size_t)(r->number - r->start), what);
    }
    exit(EXIT_FAILURE);
}

static uint64_t get(Replay *r)
{
    uint64_t value = 0;

    r->number = r->at;
    for (unsigned shift = 0; r->at < r->end; shift += 7) {
        uint8_t byte = *r->at++;

        if (shift == 63 && byte > 1) {
            bad_input(r, "number of more than 64 bits");
        }
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) {
            return value;
        }
    }
    longjmp(r->cut, 1);
}

/* A number from @low to @high; any other is a bad @what. */
static uint64_t get_in(Replay *r, uint64_t low, uint64_t high,
                       const char *what)
{
    uint64_t value = get(r);

    if (value < low || value > high) {
        bad_input(r, what);
    }
    return value;
}

static uint64_t get_near(Replay *r, uint64_t *last)
{
    uint64_t by = get(r);

    return *last += by >> 1 ^ -(by & 1);
}

static PmuMapping page_of(void *opaque, uint64_t page)
{
    Replay *r = opaque;
    PmuMapping *to = g_hash_table_lookup(r->pages, (gpointer)page);

    return to ? *to : (PmuMapping) { .page = PMU_NO_PAGE };
}

static void get_encoding(Replay *r, PmuEncoding *enc)
{
    unsigned flags;

    *enc = (PmuEncoding) {
        .length = get_in(r, 1, PMU_ENCODING_BYTES, "length of instruction"),
    };
    for (unsigned i = 0; i < enc->length; i++) {
        enc->bytes[i] = get_in(r, 0, UINT8_MAX, "byte");
    }
    enc->opcode = get_in(r, 0, PMU_NO_OPCODE, "place of opcode");
    if (enc->opcode >= enc->length && enc->opcode != PMU_NO_OPCODE) {
        bad_input(r, "place of opcode");
    }
    enc->prefixes = get_in(r, 0, 2 * PMU_PREFIX_VEX - 1, "prefixes");
    enc->address_shift = get_in(r, 1, 3, "address size");
    flags = get(r);
    enc->string = flags & REC_STRING_INSN;
    enc->falls_through = flags & REC_FALLS_THROUGH;
}

/* An access that the block does not have yet, as the translator numbers it. */
static uint8_t get_access(Replay *r)
{
    unsigned next = r->builder.block.num_accesses;
    uint8_t index = get_in(r, next, PMU_NO_ACCESS, "access");

    if (index > next + 1 && index != PMU_NO_ACCESS) {
        bad_input(r, "access");
    }
    return index;
}

static void define_insn(Replay *r)
{
    PmuEncoding enc;
    uint16_t page_offset;
    uint8_t ea, stack;

    if (pmu_block_full(&r->builder.block)) {
        bad_input(r, "instruction: its block is full");
    }
    get_encoding(r, &enc);
    page_offset = get_in(r, 0, (1u << PMU_PAGE_SHIFT) - 1, "place in page");
    ea = get_access(r);
    stack = get_access(r);
    pmu_block_add(&r->builder, r->decoder, &enc, page_offset, ea, stack);
}

static Known *known_new(const PmuBlock *block)
{
    Known *it = g_malloc0(sizeof(*it) +
                          block->num_accesses * sizeof(uint64_t));

    it->block = pmu_block_pack(aligned_alloc(64, (pmu_block_size(block) + 63)
                                                 / 64 * 64), block);
    return it;
}

static void known_free(void *opaque)
{
    Known *it = opaque;

    free((void *)it->block);
    g_free(it);
}

static void define(Replay *r)
{
    PmuBlock *block = &r->builder.block;
    unsigned mode = get_in(r, 16, 64, "mode"), flags, n;

    if (mode & (mode - 1)) {
        bad_input(r, "mode");
    }
    pmu_decoder_set_mode(r->decoder, mode);
    flags = get(r);
    pmu_block_begin(&r->builder,
                    flags & REC_USER ? PMU_LEVEL_USR : PMU_LEVEL_OS, get(r));
    block->phys_next = get(r);
    for (n = get_in(r, 1, PMU_BLOCK_INSNS, "number of instructions"); n; n--) {
        define_insn(r);
    }
    block->uninterruptible = flags & REC_UNINTERRUPTIBLE;
    block->ends_region |= !!(flags & REC_ENDS_REGION);
    pmu_block_set_number(block, r->known->len);
    g_ptr_array_add(r->known, known_new(block));
}

static void run_log(Replay *r, uint64_t next)
{
    if (r->free > r->log) {
        pmu_timing_run_log(r->timing, r->log, r->free, next);
        r->free = r->log;
    }
}

/* What translated code counted. */
static void pass(Replay *r)
{
    if (r->granted != r->left) {
        pmu_timing_add_passed(r->timing, r->granted - r->left, r->progress);
        r->progress = 0;
    }
    r->granted = r->left = 0;
}

/* As helper_x86_pmu_count_run(): no counter overflows. */
static bool count(Replay *r, const PmuBlock *block)
{
    PmuBlockRunCount *runs;

    if (!pmu_block_is_plain(block) || block->uninterruptible ||
        !pmu_block_has_number(block)) {
        pass(r);
        return false;
    }
    runs = pmu_timing_block_runs(r->timing) + block->number;
    if (r->left < block->num_insns || !runs->times) {
        uint32_t left = r->left;

        pass(r);
        r->granted = r->left = left >= block->num_insns
                               ? left
                               : pmu_timing_fast_forward_insns(r->timing);
        if (r->left < block->num_insns ||
            !pmu_timing_start_counting(r->timing, block)) {
            r->granted = r->left = 0;
            return false;
        }
    }
    runs->times++;
    r->left -= block->num_insns;
    r->progress += pmu_block_run_progress(runs);
    return true;
}

static Known *known_at(Replay *r, uint64_t number)
{
    if (number >= r->known->len) {
        bad_input(r, "number of block");
    }
    return g_ptr_array_index(r->known, number);
}

static void block_ran(Replay *r, uint64_t op)
{
    Known *it = known_at(r, op >> 1);
    const PmuBlock *block = it->block;
    unsigned words = PMU_RECORD_WORDS(block->num_accesses);
    PmuRecord *record;

    if (op & 1) {
        get_near(r, &it->pc);
    }
    for (unsigned i = 0; i < block->num_accesses; i++) {
        get_near(r, &it->addr[i]);
    }
    r->next = pmu_block_end(block, it->pc);
    if (r->free + words > r->log + LOG_WORDS ||
        pmu_timing_fast_forward_insns(r->timing)) {
        run_log(r, it->pc);
        if (pmu_timing_fast_forward_insns(r->timing) && count(r, block)) {
            return;
        }
    }
    record = (PmuRecord *)r->free;
    record->block = block;
    record->pc = it->pc;
    memcpy(record->addr, it->addr, block->num_accesses * sizeof(uint64_t));
    r->free += words;
}

static const PmuBlock *get_execution(Replay *r, Known *it,
                                     PmuExecution *dynamic)
{
    unsigned flags = get(r);

    dynamic->taken = flags & REC_TAKEN;
    dynamic->backwards = flags & REC_BACKWARDS;
    dynamic->pc = get_near(r, &it->pc);
    dynamic->target = get_near(r, &r->next);
    dynamic->iterations = get(r);
    dynamic->rest = get(r);
    for (unsigned i = 0; i < it->block->num_accesses; i++) {
        get_near(r, &it->addr[i]);
    }
    dynamic->addr = it->addr;
    return it->block;
}

static Known *get_known(Replay *r)
{
    return known_at(r, get(r));
}

static void part(Replay *r)
{
    Known *it = get_known(r);
    /* What the block does not have counts as a repair of the model's. */
    unsigned first = get_in(r, 0, PMU_BLOCK_INSNS, "instruction");
    unsigned last = get_in(r, 0, PMU_BLOCK_INSNS, "instruction");
    PmuExecution dynamic;

    get_execution(r, it, &dynamic);
    run_log(r, dynamic.pc);
    pass(r);
    pmu_timing_run(r->timing, it->block, first, last, &dynamic);
}

static void string(Replay *r)
{
    Known *it = get_known(r);
    unsigned index = get_in(r, 0, PMU_BLOCK_INSNS, "instruction");
    PmuExecution dynamic;

    get_execution(r, it, &dynamic);
    pass(r);
    pmu_timing_string(r->timing, it->block, index, &dynamic);
}

static void map(Replay *r)
{
    uint64_t page = get_near(r, &r->mapped);
    PmuMapping to = { .page = get(r) };

    to.size = get_in(r, 0, PMU_PAGE_SIZES - 1, "size of page");
    to.global = get(r);
    g_hash_table_insert(r->pages, (gpointer)page, g_memdup2(&to, sizeof(to)));
}

static void flush_mappings(Replay *r)
{
    PmuTlbFlush kind = get_in(r, 0, PMU_TLB_FLUSH_PAGE, "kind of flush");

    pmu_timing_flush_mappings(r->timing, kind, get(r));
}

static void set_interest(Replay *r)
{
    PmuInterest interest = { .sampled = get(r) };

    interest.observed = get(r);
    interest.taken = get(r);
    interest.time_only = get(r);
    pass(r);
    pmu_timing_set_interest(r->timing, r->interest ? *r->interest : interest);
}

static void mark(Replay *r)
{
    PmuLedger ledger;

    pass(r);
    pmu_timing_peek(r->timing, &ledger);
    if (r->marks < MAX_MARKS) {
        pmu_ledger_snapshot(&ledger, &r->mark[r->marks]);
        r->seconds[r->marks++] = clock() / (double)CLOCKS_PER_SEC;
    }
}

static void flush(Replay *r)
{
    pass(r);
    if (r->marks_flush) {
        pmu_timing_flush(r->timing);
    }
}

static void run_operation(Replay *r)
{
    uint64_t op = get(r);

    if (op >= REC_BLOCK_RAN) {
        block_ran(r, op - REC_BLOCK_RAN);
        return;
    }
    switch (op) {
    case REC_DEFINE:
        define(r);
        break;
    case REC_NEXT:
        run_log(r, get_near(r, &r->next));
        break;
    case REC_PART:
        part(r);
        break;
    case REC_STRING:
        string(r);
        break;
    case REC_INTERRUPT:
        pass(r);
        pmu_timing_interrupt(r->timing);
        break;
    case REC_FLUSH_MAPPINGS:
        flush_mappings(r);
        break;
    case REC_ASSIST:
        pmu_timing_assist(r->timing, get_known(r)->block, false);
        break;
    case REC_MAP:
        map(r);
        break;
    case REC_INTEREST:
        set_interest(r);
        break;
    case REC_MARK:
        mark(r);
        break;
    case REC_FLUSH:
        flush(r);
        break;
    case REC_END:
        r->ended = true;
        break;
    default:
        bad_input(r, "operation");
    }
}

/* Where QEMU was killed the file ends anywhere: what is whole counts. */
static void run(Replay *r)
{
    if (!setjmp(r->cut)) {
        while (!r->ended) {
            run_operation(r);
        }
    }
    run_log(r, r->next);
    pass(r);
    pmu_timing_flush(r->timing);
    mark(r);
}

/* Options of a run. */
typedef struct Options {
    bool detailed, sampled, all, no_flush, cached, items;
} Options;

static void replay_free(Replay *r)
{
    pmu_timing_free(r->timing);
    pmu_decoder_free(r->decoder);
    g_hash_table_destroy(r->pages);
    g_ptr_array_free(r->known, TRUE);
    g_free(r);
}

/* The contents of a recording. */
typedef struct Recording {
    const char *name, *data;
    size_t size;
    bool quiet;
} Recording;

static Replay *replay(const Recording *recording, const Options *options,
                      bool sampled)
{
    static const PmuInterest all = {
        .sampled = UINT32_MAX, .observed = true, .taken = true,
    };
    const PmuUarch *uarch = pmu_uarch(PMU_CORE_ICELAKE);
    Replay *r = g_new0(Replay, 1);

    r->name = recording->name;
    r->quiet = recording->quiet;
    r->start = (const uint8_t *)recording->data;
    r->at = r->start + strlen(RECORDING_MAGIC);
    r->end = r->start + recording->size;
    r->known = g_ptr_array_new_with_free_func(known_free);
    r->pages = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    r->decoder = pmu_decoder_new(PMU_CORE_ICELAKE, uarch);
    r->timing = pmu_timing_new(uarch, &r->ledger, NULL, page_of, r);
    r->free = r->log;
    r->interest = options->all ? &all : NULL;
    r->marks_flush = !options->no_flush;
    if (!sampled) {
        pmu_timing_set_sampling(r->timing, NULL);
    }
    run(r);
    if (pmu_timing_repairs(r->timing)) {
        fprintf(stderr, "replay: %" PRIu64 " repairs\n",
                pmu_timing_repairs(r->timing));
    }
    return r;
}

/* The classes of level 1. */
static const char *const class_name[] = {
    "retiring", "bad-spec", "frontend", "backend",
};

#define CLASSES G_N_ELEMENTS(class_name)

static double item(const Replay *r, unsigned i, PmuLevel level, unsigned what)
{
    return r->mark[i].item[level][what] -
           (i ? r->mark[i - 1].item[level][what] : 0);
}

static double class_of(const Replay *r, unsigned i, PmuLevel level,
                       unsigned class)
{
    return item(r, i, level, 2 * class) + item(r, i, level, 2 * class + 1);
}

static void print_section(const Replay *is, const Replay *should, unsigned i,
                          PmuLevel level, const Options *options)
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

static void print_all(const Replay *is, const Replay *should,
                      const Options *options)
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

/* What the child does: nothing but the file tells that it succeeded. */
static int replay_detailed(const Recording *recording, const Options *options,
                           const char *cache)
{
    g_autoptr(GError) error = NULL;
    Replay *r = replay(recording, options, false);

    if (!g_file_set_contents(cache, (char *)r, sizeof(*r), &error)) {
        fprintf(stderr, "replay: %s\n", error->message);
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}

/* In a process of its own, as there is a second CPU; -1 if there is none. */
static pid_t fork_detailed(const Recording *recording, const Options *options,
                           const char *cache)
{
    Recording quiet = *recording;
    pid_t pid;

    unlink(cache);
    fflush(stdout);             /* else the child may write it as well */
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

static Replay *read_cache(const char *cache)
{
    char *data;
    size_t size;

    if (!g_file_get_contents(cache, &data, &size, NULL)) {
        return NULL;
    }
    if (size != sizeof(Replay)) {
        g_free(data);
        return NULL;
    }
    return (Replay *)data;
}

/* All that changes what simulating in detail says is part of the name. */
static char *cache_name(const char *name, const Options *options)
{
    return g_strdup_printf("%s.detailed%s%s", name,
                           options->no_flush ? "-nf" : "",
                           options->all ? "-all" : "");
}

static int compare(const Recording *recording, const Options *options)
{
    g_autofree char *cache = cache_name(recording->name, options);
    g_autofree Replay *should = options->cached ? read_cache(cache) : NULL;
    pid_t pid = should ? 0 : fork_detailed(recording, options, cache);
    int status = EXIT_FAILURE;
    Replay *is;

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
        should->end - should->start == is->end - is->start) {
        printf("%s\n", recording->name);
        print_all(is, should, options);
        status = EXIT_SUCCESS;
    } else {
        fprintf(stderr, "replay: nothing of this recording in %s\n", cache);
    }
    replay_free(is);
    return status;
}

static int replay_file(const char *name, const Options *options)
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

int replay_main(int argc, char **argv)
{
    Options options = { .sampled = true };
    int i, status = 0;

    for (i = 1; i < argc && argv[i][0] == '-'; i++) {
        if (!strcmp(argv[i], "--all")) {
            options.all = true;
        } else if (!strcmp(argv[i], "--no-flush")) {
            options.no_flush = true;
        } else if (!strcmp(argv[i], "--cached")) {
            options.cached = true;
        } else if (!strcmp(argv[i], "--items")) {
            options.items = true;
        } else if (!strcmp(argv[i], "--both-detailed")) {
            options.sampled = false;
        } else {
            i = argc;
        }
    }
    if (i >= argc) {
        fprintf(stderr, "usage: pmu-replay [OPTION...] RECORDING...\n"
                "  --cached     what always simulating in detail says is that "
                "of the last run\n"
                "  --all        all that is counted is of interest, not slots "
                "alone\n"
                "  --no-flush   leave out the guest's looks at its counters\n"
                "  --items      print all items of the ledger\n"
                "  --both-detailed   compare the replay with itself\n");
        return EXIT_FAILURE;
    }
    for (; i < argc; i++) {
        status |= replay_file(argv[i], &options);
    }
    return status;
}
