/*
 * Record what QEMU tells the timing model.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * record-qemu links this into QEMU with --wrap for each function below, so that
 * QEMU itself needs no hook.  There must be one vCPU, with pmu-sampling=off;
 * otherwise translated code counts blocks that this is not told of.  The
 * environment variable PMU_RECORDING names the file.
 */

#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recording.h"
#include "tcg/pmu/decode/block-builder.h"
#include "tcg/pmu/decode/block-pool.h"
#include "tcg/pmu/sampling/timing.h"

/* A block that was defined, and the addresses of its last run. */
typedef struct Known {
    uint64_t number, pc;
    uint64_t addr[];
} Known;

/* An instruction of the block that is being translated. */
typedef struct Insn {
    PmuEncoding enc;
    uint16_t page_offset;
    uint8_t ea, stack;
} Insn;

static FILE *file;
static GHashTable *known;           /* Known by PmuBlock */
static uint64_t blocks, at, mapped;
static PmuInterest interest;        /* last recorded; none at first */
static PmuTranslate translate;
static unsigned mode;
static Insn insns[PMU_BLOCK_INSNS];
static unsigned num_insns;

static void finish(void)
{
    putc(REC_END, file);
    fclose(file);
    file = NULL;
}

static void put(uint64_t value)
{
    if (!file) {
        return;
    }
    for (; value >= 0x80; value >>= 7) {
        putc_unlocked(value | 0x80, file);
    }
    putc_unlocked(value, file);
}

/* Write @value as its difference from *@last, and update that. */
static void put_near(uint64_t value, uint64_t *last)
{
    int64_t by = value - *last;

    put((uint64_t)by << 1 ^ by >> 63);
    *last = value;
}

#define WRAP(type, name, ...) \
    type __real_##name(__VA_ARGS__); \
    type __wrap_##name(__VA_ARGS__); \
    type __wrap_##name(__VA_ARGS__)

static PmuMapping record_translate(void *opaque, uint64_t page)
{
    PmuMapping mapping = translate(opaque, page);

    put(REC_MAP);
    put_near(page, &mapped);
    put(mapping.page);
    put(mapping.size);
    put(mapping.global);
    return mapping;
}

/* Open the file when the first vCPU that does not sample is realized. */
static void begin(void)
{
    const char *name = getenv("PMU_RECORDING");

    if (!name || file) {
        return;
    }
    file = fopen(name, "wb");
    if (!file) {
        perror(name);
        exit(EXIT_FAILURE);
    }
    setvbuf(file, NULL, _IOFBF, 1 << 20);
    fputs(RECORDING_MAGIC, file);
    atexit(finish);
}

WRAP(PmuTiming *, pmu_timing_new, const PmuUarch *uarch, PmuLedger *ledger,
     PmuL3 *l3, PmuTranslate to, void *opaque)
{
    known = g_hash_table_new(NULL, NULL);
    translate = to;
    return __real_pmu_timing_new(uarch, ledger, l3, record_translate, opaque);
}

WRAP(void, pmu_timing_set_sampling, PmuTiming *timing,
     const PmuSampling *sampling)
{
    if (!sampling) {
        begin();
    }
    __real_pmu_timing_set_sampling(timing, sampling);
}

WRAP(void, pmu_decoder_set_mode, PmuDecoder *decoder, unsigned to)
{
    mode = to;
    __real_pmu_decoder_set_mode(decoder, to);
}

WRAP(void, pmu_block_begin, PmuBlockBuilder *builder, PmuLevel level,
     uint64_t phys)
{
    num_insns = 0;
    __real_pmu_block_begin(builder, level, phys);
}

WRAP(void, pmu_block_add, PmuBlockBuilder *builder, PmuDecoder *decoder,
     const PmuEncoding *enc, uint16_t page_offset, uint8_t ea, uint8_t stack)
{
    __real_pmu_block_add(builder, decoder, enc, page_offset, ea, stack);
    if (builder->block.num_insns > num_insns) {
        insns[num_insns++] = (Insn) { *enc, page_offset, ea, stack };
    }
}

static void define_insn(const Insn *insn)
{
    const PmuEncoding *enc = &insn->enc;

    put(enc->length);
    for (unsigned i = 0; i < enc->length; i++) {
        put(enc->bytes[i]);
    }
    put(enc->opcode_offset);
    put(enc->prefixes);
    put(enc->address_shift);
    put((enc->string ? REC_STRING_INSN : 0) |
        (enc->falls_through ? REC_FALLS_THROUGH : 0));
    put(insn->page_offset);
    put(insn->ea);
    put(insn->stack);
}

static void define(const PmuBlock *block)
{
    put(REC_DEFINE);
    put(mode);
    put((block->level == PMU_LEVEL_USR ? REC_USER : 0) |
        (block->uninterruptible ? REC_UNINTERRUPTIBLE : 0) |
        (block->ends_region ? REC_ENDS_REGION : 0));
    put(block->phys);
    put(block->phys_next);
    put(num_insns);
    for (unsigned i = 0; i < num_insns; i++) {
        define_insn(&insns[i]);
    }
}

WRAP(const PmuBlock *, pmu_block_pool_add, PmuBlockPool *pool,
     const PmuBlock *block)
{
    const PmuBlock *kept = __real_pmu_block_pool_add(pool, block);
    Known *it = g_malloc0(sizeof(*it) +
                          kept->num_accesses * sizeof(uint64_t));

    it->number = blocks++;
    g_hash_table_insert(known, (void *)kept, it);
    define(block);
    return kept;
}

static Known *find(const PmuBlock *block)
{
    Known *it = g_hash_table_lookup(known, block);

    if (!it) {
        fprintf(stderr, "record: a block ran that was never translated\n");
        exit(EXIT_FAILURE);
    }
    return it;
}

/*
 * Depth of calls of the functions below.  The model calls them itself, too;
 * only calls from outside are recorded.
 */
static unsigned depth;

WRAP(void, pmu_timing_run_log, PmuTiming *timing, const uint64_t *from,
     const uint64_t *end, uint64_t next)
{
    depth++;
    __real_pmu_timing_run_log(timing, from, end, next);
    depth--;
    while (from < end) {
        const PmuRecord *record = (const PmuRecord *)from;
        Known *it = find(record->block);
        bool moved = record->pc != it->pc;

        put(REC_BLOCK_RAN + (it->number << 1 | moved));
        if (moved) {
            put_near(record->pc, &it->pc);
        }
        for (unsigned i = 0; i < record->block->num_accesses; i++) {
            put_near(record->addr[i], &it->addr[i]);
        }
        at = pmu_block_end(record->block, record->pc);
        from += PMU_RECORD_WORDS(record->block->num_accesses);
    }
    put(REC_NEXT);
    put_near(next, &at);
}

static void put_execution(const PmuBlock *block, Known *it,
                          const PmuExecution *dynamic)
{
    put((dynamic->taken ? REC_TAKEN : 0) |
        (dynamic->backwards ? REC_BACKWARDS : 0));
    put_near(dynamic->pc, &it->pc);
    put_near(dynamic->target, &at);
    put(dynamic->iterations);
    put(dynamic->rest);
    for (unsigned i = 0; i < block->num_accesses; i++) {
        put_near(dynamic->addr[i], &it->addr[i]);
    }
}

WRAP(void, pmu_timing_run, PmuTiming *timing, const PmuBlock *block,
     unsigned first, unsigned last, const PmuExecution *dynamic)
{
    depth++;
    __real_pmu_timing_run(timing, block, first, last, dynamic);
    if (!--depth) {
        Known *it = find(block);

        put(REC_PART);
        put(it->number);
        put(first);
        put(last);
        put_execution(block, it, dynamic);
    }
}

WRAP(void, pmu_timing_string, PmuTiming *timing, const PmuBlock *block,
     unsigned index, const PmuExecution *dynamic)
{
    depth++;
    __real_pmu_timing_string(timing, block, index, dynamic);
    if (!--depth) {
        Known *it = find(block);

        put(REC_STRING);
        put(it->number);
        put(index);
        put_execution(block, it, dynamic);
    }
}

WRAP(void, pmu_timing_assist, PmuTiming *timing, const PmuBlock *block,
     bool counted)
{
    __real_pmu_timing_assist(timing, block, counted);
    put(REC_ASSIST);
    put(find(block)->number);
}

WRAP(void, pmu_timing_interrupt, PmuTiming *timing)
{
    put(REC_INTERRUPT);
    __real_pmu_timing_interrupt(timing);
}

WRAP(void, pmu_timing_flush_mappings, PmuTiming *timing, PmuTlbFlush flush,
     uint64_t linear)
{
    put(REC_FLUSH_MAPPINGS);
    put(flush);
    put(linear);
    __real_pmu_timing_flush_mappings(timing, flush, linear);
}

WRAP(void, pmu_timing_set_interest, PmuTiming *timing, PmuInterest to)
{
    if (memcmp(&to, &interest, sizeof(to))) {
        interest = to;
        put(REC_INTEREST);
        put(to.sampled);
        put(to.observed);
        put(to.taken);
        put(to.time_only);
    }
    __real_pmu_timing_set_interest(timing, to);
}

WRAP(void, pmu_timing_flush, PmuTiming *timing)
{
    put(REC_FLUSH);
    __real_pmu_timing_flush(timing);
}

WRAP(void, pmu_timing_peek, PmuTiming *timing, PmuLedger *ledger)
{
    put(REC_MARK);
    if (file) {
        fflush(file);
    }
    __real_pmu_timing_peek(timing, ledger);
}
