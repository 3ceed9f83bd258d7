/*
 * Blocks: the instructions of a translated block, their accesses and segments,
 * and how blocks are packed and kept.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>
#include <string.h>

#include "tcg/pmu/decode/block-builder.h"
#include "tcg/pmu/decode/block-pool.h"
#include "tcg/pmu/decode/decoder.h"

typedef struct Fixture {
    PmuDecoder *decoder;
    PmuBlockBuilder *builder;
    const PmuBlock *block;      /* being built */
} Fixture;

static void set_up(Fixture *f, gconstpointer data)
{
    f->decoder = pmu_decoder_new(PMU_CORE_ICELAKE, pmu_uarch(PMU_CORE_ICELAKE));
    f->builder = g_new0(PmuBlockBuilder, 1);
    f->block = &f->builder->block;
    pmu_block_begin(f->builder, PMU_LEVEL_USR, 0x7000);
}

static void tear_down(Fixture *f, gconstpointer data)
{
    g_free(f->builder);
    pmu_decoder_free(f->decoder);
}

static const PmuBlockInsn *add(Fixture *f, const char *bytes, unsigned length,
                               uint16_t page_offset, uint8_t ea,
                               uint8_t stack)
{
    pmu_block_add_bytes(f->builder, f->decoder, (const uint8_t *)bytes, length,
                  page_offset, ea, stack);
    return &f->block->insns[f->block->num_insns - 1];
}

#define ADD(bytes, offset, ea, stack) \
    add(f, bytes, sizeof(bytes) - 1, offset, ea, stack)
#define NONE PMU_NO_ACCESS

/*
 * A block has its instructions' offsets, their total length and number of
 * accesses.  Its last instruction says whether it ends with a branch or REP.
 */
static void test_layout(Fixture *f, gconstpointer data)
{
    ADD("\x48\x01\xd8", 0x123, NONE, NONE);     /* add rax, rbx */
    ADD("\x48\x8b\x03", 0x126, 0, NONE);        /* mov rax, [rbx] */
    g_assert_cmpint(f->block->branch, ==, PMU_BRANCH_NONE);
    g_assert_cmpuint(f->block->insns[1].offset, ==, 3);
    g_assert_cmpuint(f->block->num_accesses, ==, 1);
    ADD("\xf3\xa4", 0x129, 1, 2);               /* rep movsb */
    g_assert_true(f->block->rep);
    g_assert_cmpuint(f->block->num_accesses, ==, 3);
    ADD("\x75\x00", 0x12b, NONE, NONE);         /* jne */
    g_assert_false(f->block->rep);
    g_assert_cmpint(f->block->branch, ==, PMU_BRANCH_COND);
    g_assert_cmpuint(f->block->num_insns, ==, 4);
    g_assert_cmpuint(f->block->length, ==, 10);
}

/*
 * Each recorded address is read, written, both or neither (LEA); the access has
 * the size of its operand.
 */
static void test_accesses(Fixture *f, gconstpointer data)
{
    const PmuBlockAccess *access = f->block->accesses;

    ADD("\x8b\x03", 0, 0, NONE);                /* mov eax, [rbx] */
    ADD("\x48\x01\x03", 2, 1, NONE);            /* add [rbx], rax */
    ADD("\xff\x30", 5, 2, 3);                   /* push qword [rax] */
    ADD("\x48\x8d\x04\x8b", 7, 4, NONE);        /* lea rax, [rbx+rcx*4] */
    g_assert_cmpuint(f->block->num_accesses, ==, 5);
    g_assert_true(access[0].load && !access[0].store);
    g_assert_cmpuint(access[0].size, ==, 4);
    g_assert_true(access[1].load && access[1].store);
    g_assert_cmpuint(access[1].size, ==, 8);
    g_assert_true(access[2].load && !access[2].store);
    g_assert_true(!access[3].load && access[3].store);
    g_assert_true(!access[4].load && !access[4].store);
}

/* A load is the same to the prefetcher of L1D wherever its block begins. */
static void test_access_ip(Fixture *f, gconstpointer data)
{
    uint8_t ip;

    ADD("\x48\x01\xd8", 0, NONE, NONE);
    ADD("\x8b\x03", 3, 0, NONE);
    ip = f->block->accesses[0].ip;
    pmu_block_begin(f->builder, PMU_LEVEL_USR, 0x7003);
    ADD("\x8b\x03", 3, 0, NONE);
    g_assert_cmpuint(f->block->accesses[0].ip, ==, ip);
}

/* An instruction belongs to the line, and to the page, in which it begins. */
static void test_segments(Fixture *f, gconstpointer data)
{
    const PmuBlockSegment *segment = f->block->segments;

    pmu_block_begin(f->builder, PMU_LEVEL_USR, 0x7fba);
    f->builder->block.phys_next = 0x3000;
    ADD("\x48\x01\xd8", 0xfba, NONE, NONE);     /* ends in the next line */
    ADD("\x48\x01\xd8", 0xfbd, NONE, NONE);
    for (unsigned i = 0; i < 21; i++) {
        ADD("\x8b\x03\x90", 0xfc0 + 3 * i, i, NONE);
    }
    ADD("\x90", 0xfff, NONE, NONE);
    ADD("\x90", 0x000, NONE, NONE);
    g_assert_cmpuint(f->block->num_segments, ==, 3);
    g_assert_cmpuint(segment[1].first, ==, 2);
    g_assert_cmpuint(segment[2].first, ==, 24);
    g_assert_cmpuint(segment[2].first_access, ==, 21);
    g_assert_cmphex(pmu_block_line(f->block, &segment[0]), ==, 0x7f80 / 64);
    g_assert_cmphex(pmu_block_line(f->block, &segment[1]), ==, 0x7fc0 / 64);
    g_assert_cmphex(pmu_block_line(f->block, &segment[2]), ==, 0x3000 / 64);
}

/*
 * A block is slow if its results come late (RDSEED, 340 cycles) or if its
 * instructions can seldom run (CPUID, 98).
 */
static void test_slow(Fixture *f, gconstpointer data)
{
    for (unsigned i = 0; i < 20; i++) {
        ADD("\x48\x01\xd8", 3 * i, NONE, NONE);     /* add rax, rbx */
    }
    g_assert_false(f->block->slow);
    ADD("\x0f\xc7\xf8", 60, NONE, NONE);           /* rdseed eax: 340 */
    ADD("\x0f\xc7\xf8", 63, NONE, NONE);
    g_assert_true(f->block->slow);
    pmu_block_begin(f->builder, PMU_LEVEL_USR, 0x7000);
    g_assert_false(f->block->slow);
    ADD("\x48\x01\xd8", 0, NONE, NONE);
    g_assert_false(f->block->slow);
    for (unsigned i = 0; i < 5; i++) {
        ADD("\x0f\xa2", 3 + 2 * i, NONE, NONE);      /* cpuid: 98 */
    }
    g_assert_true(f->block->slow);
}

/*
 * pmu_block_full() is true before any of the arrays overflows: accesses,
 * segments or instructions.
 */
static void test_full(Fixture *f, gconstpointer data)
{
    unsigned n = 0;

    while (!pmu_block_full(f->block)) {
        ADD("\xff\x30", (2 * n) & 0xfff, 2 * n, 2 * n + 1);
        n++;
    }
    g_assert_cmpuint(f->block->num_accesses, <=, PMU_BLOCK_ACCESSES);
    g_assert_cmpuint(f->block->num_accesses, >, PMU_BLOCK_ACCESSES - 8);
    pmu_block_begin(f->builder, PMU_LEVEL_USR, 0);
    for (n = 0; !pmu_block_full(f->block); n++) {
        ADD("\x90", 64 * n, NONE, NONE);
    }
    g_assert_cmpuint(f->block->num_segments, <=, PMU_BLOCK_SEGMENTS);
    g_assert_cmpuint(f->block->num_segments, >, PMU_BLOCK_SEGMENTS - 8);
    pmu_block_begin(f->builder, PMU_LEVEL_USR, 0);
    for (n = 0; !pmu_block_full(f->block); n++) {
        ADD("\x90", n, NONE, NONE);
    }
    g_assert_cmpuint(f->block->num_insns, <=, PMU_BLOCK_INSNS);
    g_assert_cmpuint(f->block->num_insns, >, PMU_BLOCK_INSNS - 8);
}

/* A packed block has the same contents, and does not refer to the builder. */
static void test_pack(Fixture *f, gconstpointer data)
{
    PmuBlock *copy;

    ADD("\x8b\x03", 0, 0, NONE);
    ADD("\x75\x00", 2, NONE, NONE);
    copy = pmu_block_pack(g_malloc(pmu_block_size(f->block)), f->block);
    memset(f->builder, 0xff, sizeof(*f->builder));
    g_assert_cmpuint(copy->num_insns, ==, 2);
    g_assert_cmpuint(copy->insns[0].insn->length, ==, 2);
    g_assert_cmpuint(copy->insns[1].offset, ==, 2);
    g_assert_cmpuint(copy->segments[0].first, ==, 0);
    g_assert_true(copy->accesses[0].load);
    g_free(copy);
}

/*
 * How instructions use RSP: the stack engine does it (PUSH), or they read or
 * write RSP themselves.
 */
static void test_rsp(Fixture *f, gconstpointer data)
{
    g_assert_cmpint(ADD("\x50", 0, NONE, 0)->insn->rsp, ==, PMU_RSP_STACK);
    /* sub rsp, 8; mov rax, [rsp]; mov rsp, rbp; add rax, rbx */
    g_assert_cmpint(ADD("\x48\x83\xec\x08", 1, NONE, NONE)->insn->rsp, ==,
                    PMU_RSP_USE);
    g_assert_cmpint(ADD("\x48\x8b\x04\x24", 5, 1, NONE)->insn->rsp, ==,
                    PMU_RSP_USE);
    g_assert_cmpint(ADD("\x48\x89\xec", 9, NONE, NONE)->insn->rsp, ==,
                    PMU_RSP_SET);
    g_assert_cmpint(ADD("\x48\x01\xd8", 12, NONE, NONE)->insn->rsp, ==,
                    PMU_RSP_NONE);
}

/*
 * A region ends where QEMU ends a translation block, and at the end of a page.
 */
static void test_ends(Fixture *f, gconstpointer data)
{
    static const struct {
        const char *bytes;
        unsigned length;
        uint16_t page_offset;
        bool ends;
    } rows[] = {
        { "\x48\x01\xd8", 3, 0x100, false },       /* add rax, rbx */
        { "\xfb", 1, 0x103, true },                 /* sti */
        { "\xfa", 1, 0x104, false },                /* cli */
        { "\x0f\x31", 2, 0x105, true },             /* rdtsc */
        { "\x0f\x22\xd8", 3, 0x107, true },         /* mov cr3, rax */
        { "\x0f\x20\xd8", 3, 0x10a, false },        /* mov rax, cr3 */
        { "\x48\x01\xd8", 3, 0xffc, false },
        { "\x90", 1, 0xfff, true },
        { "\x48\x01\xd8", 3, 0xffe, true },        /* into the next page */
        { "\xc3", 1, 0x001, true },                 /* ret */
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        pmu_block_begin(f->builder, PMU_LEVEL_OS, 0x7000);
        add(f, rows[i].bytes, rows[i].length, rows[i].page_offset, NONE, NONE);
        g_test_message("row %u", i);
        g_assert_cmpint(f->block->ends_region, ==, rows[i].ends);
        g_assert_true(pmu_block_is_whole(f->block));
    }
    pmu_block_begin(f->builder, PMU_LEVEL_OS, 0x7000);
    ADD("\xfb", 0, NONE, NONE);
    ADD("\x90", 1, NONE, NONE);
    g_assert_false(f->block->ends_region);
    g_assert_false(pmu_block_is_whole(f->block));
}

/*
 * QEMU begins a block with an instruction that reaches into the next page, so a
 * region begins with it.  If it follows another one in a block, a region ends
 * inside that block.  An instruction that ends with its page does not begin
 * one.
 */
static void test_begins(Fixture *f, gconstpointer data)
{
    pmu_block_begin(f->builder, PMU_LEVEL_OS, 0x7000);
    ADD("\x48\x01\xd8", 0xffe, NONE, NONE);
    g_assert_true(f->block->begins_region);
    g_assert_true(pmu_block_is_plain(f->block));

    pmu_block_begin(f->builder, PMU_LEVEL_OS, 0x7000);
    ADD("\x48\x01\xd8", 0xffb, NONE, NONE);
    g_assert_false(f->block->ends_region);
    ADD("\x48\x01\xd8", 0xffe, NONE, NONE);
    g_assert_false(f->block->begins_region);
    g_assert_true(f->builder->insns[0].ends_region);
    g_assert_false(pmu_block_is_whole(f->block));

    pmu_block_begin(f->builder, PMU_LEVEL_OS, 0x7000);
    ADD("\x90", 0xffc, NONE, NONE);
    ADD("\x48\x01\xd8", 0xffd, NONE, NONE);
    g_assert_false(f->block->begins_region);
    g_assert_false(f->builder->insns[0].ends_region);
    g_assert_true(pmu_block_is_plain(f->block));
}

/*
 * Returns a block of two instructions, as code of @generation has it at @phys.
 */
static const PmuBlock *make(Fixture *f, uint64_t generation, uint64_t phys,
                            unsigned mode, uint8_t ea)
{
    pmu_decoder_set_mode(f->decoder, mode);
    pmu_block_begin(f->builder, PMU_LEVEL_USR, phys);
    f->builder->block.generation = generation;
    ADD("\x8b\x03", phys & 0xfff, ea, NONE);
    ADD("\x75\x00", (phys & 0xfff) + 2, NONE, NONE);
    return f->block;
}

/*
 * A REP string instruction counts in CX or in ECX, depending on the mode.  So
 * the pool keeps two blocks for the same bytes.
 */
static void test_pool_address_size(Fixture *f, gconstpointer data)
{
    PmuBlockPool pool;

    pmu_block_pool_init(&pool);
    for (unsigned mode = 16; mode <= 32; mode += 16) {
        pmu_decoder_set_mode(f->decoder, mode);
        pmu_block_begin(f->builder, PMU_LEVEL_USR, 0x7000);
        ADD("\xf3\xa4", 0, 0, 1);              /* rep movsb */
        g_assert_cmpuint(1u << f->block->address_shift, ==, mode / 8);
        g_assert_null(pmu_block_pool_find(&pool, f->block));
        pmu_block_pool_add(&pool, f->block);
    }
    pmu_block_pool_destroy(&pool);
}

/*
 * The pool keeps equal blocks once, as long as their code; blocks that differ
 * in address, mode, accesses or flags it keeps apart.
 */
static void test_pool(Fixture *f, gconstpointer data)
{
    PmuBlockPool pool;
    const PmuBlock *kept;

    pmu_block_pool_init(&pool);
    g_assert_null(pmu_block_pool_find(&pool, make(f, 0, 0x7000, 64, 0)));
    kept = pmu_block_pool_add(&pool, f->block);
    g_assert_true(kept != f->block);
    g_assert_cmphex(kept->phys, ==, 0x7000);
    f->builder->block.number = 5;
    g_assert_true(pmu_block_pool_find(&pool, f->block) == kept);

    g_assert_null(pmu_block_pool_find(&pool, make(f, 0, 0x8000, 64, 0)));
    g_assert_null(pmu_block_pool_find(&pool, make(f, 0, 0x7000, 32, 0)));
    g_assert_null(pmu_block_pool_find(&pool, make(f, 0, 0x7000, 64, 1)));
    make(f, 0, 0x7000, 64, 0);
    f->builder->block.uninterruptible = true;
    g_assert_null(pmu_block_pool_find(&pool, f->block));
    g_assert_true(pmu_block_pool_find(&pool, make(f, 0, 0x7000, 64, 0)) ==
                  kept);

    pmu_block_pool_begin_generation(&pool, 1, 0);
    g_assert_null(pmu_block_pool_find(&pool, make(f, 1, 0x7000, 64, 0)));
    g_assert_cmphex(kept->phys, ==, 0x7000);
    pmu_block_pool_begin_generation(&pool, 2, 2);
    pmu_block_pool_destroy(&pool);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add("/block/layout", Fixture, NULL, set_up, test_layout,
               tear_down);
    g_test_add("/block/access-ip", Fixture, NULL, set_up, test_access_ip,
               tear_down);
    g_test_add("/block/accesses", Fixture, NULL, set_up, test_accesses,
               tear_down);
    g_test_add("/block/segments", Fixture, NULL, set_up, test_segments,
               tear_down);
    g_test_add("/block/slow", Fixture, NULL, set_up, test_slow, tear_down);
    g_test_add("/block/full", Fixture, NULL, set_up, test_full, tear_down);
    g_test_add("/block/pack", Fixture, NULL, set_up, test_pack, tear_down);
    g_test_add("/block/ends", Fixture, NULL, set_up, test_ends, tear_down);
    g_test_add("/block/begins", Fixture, NULL, set_up, test_begins,
               tear_down);
    g_test_add("/block/pool", Fixture, NULL, set_up, test_pool, tear_down);
    g_test_add("/block/pool-address-size", Fixture, NULL, set_up,
               test_pool_address_size, tear_down);
    g_test_add("/block/rsp", Fixture, NULL, set_up, test_rsp, tear_down);
    return g_test_run();
}
