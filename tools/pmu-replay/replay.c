/*
 * Replay a recording of a guest through the timing model alone.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The file is not trusted: each number is checked before it is used.
 */

#include <glib.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "recording.h"
#include "replay.h"
#include "tcg/pmu/decode/block-builder.h"
#include "tcg/pmu/decode/decoder.h"
#include "tcg/pmu/sampling/timing.h"

#define LOG_WORDS 512

/* A block that was defined, and the addresses of its last run. */
typedef struct Known {
    const PmuBlock *block;
    uint64_t pc;
    uint64_t addr[];
} Known;

/* One pass over a recording. */
typedef struct Replay {
    const char *name;
    const uint8_t *start, *at, *end;
    const uint8_t *number;      /* start of the last number that was read */
    jmp_buf cut;                /* taken if the file ends within a number */
    bool quiet;                 /* see Recording */
    GPtrArray *known;           /* Known */
    GHashTable *pages;          /* PmuMapping by linear page */
    PmuDecoder *decoder;
    PmuBlockBuilder builder;
    uint64_t next, mapped;
    bool marks_flush;           /* replay the guest's looks (REC_FLUSH) */
    const PmuInterest *interest;        /* replaces the recorded ones; NULL:
                                           it does not */

    PmuLedger ledger;
    PmuTiming *timing;
    uint64_t log[LOG_WORDS], *free;
    uint32_t granted, left;     /* instructions that may be counted */
    uint64_t progress;          /* counted, and not passed to the model yet */

    ReplayResult *result;
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

/* Read a number from @low to @high.  Any other is reported as a bad @what. */
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
    enc->opcode_offset = get_in(r, 0, PMU_NO_OPCODE, "place of opcode");
    if (enc->opcode_offset >= enc->length &&
        enc->opcode_offset != PMU_NO_OPCODE) {
        bad_input(r, "place of opcode");
    }
    enc->prefixes = get_in(r, 0, 2 * PMU_PREFIX_VEX - 1, "prefixes");
    enc->address_shift = get_in(r, 1, 3, "address size");
    flags = get(r);
    enc->string = flags & REC_STRING_INSN;
    enc->falls_through = flags & REC_FALLS_THROUGH;
}

/*
 * Read the number of an access that the block does not have yet, numbered as
 * the translator does.
 */
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

/* Pass to the model what was counted since the last call. */
static void pass(Replay *r)
{
    if (r->granted != r->left) {
        pmu_timing_add_uncollected(r->timing, r->granted - r->left,
                                   r->progress);
        r->progress = 0;
    }
    r->granted = r->left = 0;
}

/*
 * Count a run of @block as helper_x86_pmu_count_run() does, but without counter
 * overflows.  Returns false if the block must be logged instead.
 */
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
    r->progress += pmu_cost_progress(runs->cost);
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
    /* If the block has fewer, the model repairs that and counts a repair. */
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
    if (r->result->marks < REPLAY_MARKS) {
        pmu_ledger_snapshot(&ledger, &r->result->mark[r->result->marks]);
        r->result->seconds[r->result->marks++] =
            clock() / (double)CLOCKS_PER_SEC;
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
        r->result->ended = true;
        break;
    default:
        bad_input(r, "operation");
    }
}

/*
 * Run the whole recording.  If QEMU was killed, the file may end anywhere; the
 * complete operations count.
 */
static void run(Replay *r)
{
    if (!setjmp(r->cut)) {
        while (!r->result->ended) {
            run_operation(r);
        }
    }
    run_log(r, r->next);
    pass(r);
    pmu_timing_flush(r->timing);
    mark(r);
}

static void replay_free(Replay *r)
{
    pmu_timing_free(r->timing);
    pmu_decoder_free(r->decoder);
    g_hash_table_destroy(r->pages);
    g_ptr_array_free(r->known, TRUE);
    g_free(r);
}

ReplayResult *replay(const Recording *recording, const ReplayOptions *options,
                     bool sampled)
{
    static const PmuInterest all = {
        .sampled = UINT32_MAX, .observed = true, .taken = true,
    };
    const PmuUarch *uarch = pmu_uarch(PMU_CORE_ICELAKE);
    PmuSampling sampling = pmu_sampling;
    Replay *r = g_new0(Replay, 1);
    ReplayResult *result = g_new0(ReplayResult, 1);

    r->result = result;
    result->size = recording->size;
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
    sampling.seed = options->seed;
    pmu_timing_set_sampling(r->timing, sampled ? &sampling : NULL);
    /* Begin with no interest: the recorder only writes changes from that. */
    pmu_timing_set_interest(r->timing, r->interest ? *r->interest
                                                   : (PmuInterest) {});
    run(r);
    if (pmu_timing_repairs(r->timing)) {
        fprintf(stderr, "replay: %" PRIu64 " repairs\n",
                pmu_timing_repairs(r->timing));
    }
    replay_free(r);
    return result;
}
