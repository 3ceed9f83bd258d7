/*
 * Blocks: where instructions stand, what they access, which path they take.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>

#include "block.h"

typedef struct Fixture {
    PmuDecoder *decoder;
    PmuBlock *block;
} Fixture;

static void set_up(Fixture *f, gconstpointer data)
{
    f->decoder = pmu_decoder_new(PMU_CORE_ICELAKE);
    f->block = g_malloc0(pmu_block_size(PMU_BLOCK_INSNS));
}

static void tear_down(Fixture *f, gconstpointer data)
{
    g_free(f->block);
    pmu_decoder_free(f->decoder);
}

static const PmuBlockInsn *add(Fixture *f, const char *bytes, unsigned length,
                               uint16_t page_offset, uint8_t ea,
                               uint8_t stack)
{
    pmu_block_add(f->block, f->decoder, (const uint8_t *)bytes, length,
                  page_offset, ea, stack);
    return &f->block->insns[f->block->num_insns - 1];
}

#define ADD(bytes, offset, ea, stack) \
    add(f, bytes, sizeof(bytes) - 1, offset, ea, stack)
#define NONE PMU_NO_ACCESS

/* Offsets, length, counts and what the last instruction is. */
static void test_layout(Fixture *f, gconstpointer data)
{
    ADD("\x48\x01\xd8", 0x123, NONE, NONE);     /* add rax, rbx */
    ADD("\x48\x8b\x03", 0x126, 0, NONE);        /* mov rax, [rbx] */
    g_assert_false(f->block->branches);
    g_assert_cmpuint(f->block->insns[1].offset, ==, 3);
    g_assert_cmpuint(f->block->insns[1].page_offset, ==, 0x126);
    g_assert_cmpuint(f->block->num_accesses, ==, 1);
    ADD("\xf3\xa4", 0x129, 1, 2);               /* rep movsb */
    g_assert_true(f->block->rep);
    g_assert_cmpuint(f->block->num_accesses, ==, 3);
    ADD("\x75\x00", 0x12b, NONE, NONE);         /* jne */
    g_assert_false(f->block->rep);
    g_assert_true(f->block->branches);
    g_assert_cmpuint(f->block->num_insns, ==, 4);
    g_assert_cmpuint(f->block->length, ==, 10);
}

/* The short paths are for instructions that have nothing else to them. */
static void test_paths(Fixture *f, gconstpointer data)
{
    /* add rax, rbx */
    g_assert_cmpint(ADD("\x48\x01\xd8", 0, NONE, NONE)->path, ==,
                    PMU_PATH_PLAIN);
    /* mov rax, [rbx] */
    g_assert_cmpint(ADD("\x48\x8b\x03", 3, 5, NONE)->path, ==,
                    PMU_PATH_LOAD);
    g_assert_cmpuint(f->block->insns[1].access, ==, 5);
    /* The same, but nobody recorded the address. */
    g_assert_cmpint(ADD("\x48\x8b\x03", 6, NONE, NONE)->path, ==,
                    PMU_PATH_FULL);
    /* push rax, pop rax */
    g_assert_cmpint(ADD("\x50", 9, NONE, 6)->path, ==, PMU_PATH_STORE);
    g_assert_cmpuint(f->block->insns[3].access, ==, 6);
    g_assert_cmpint(ADD("\x58", 10, NONE, 7)->path, ==, PMU_PATH_LOAD);
    /* push qword [rax]: two accesses */
    g_assert_cmpint(ADD("\xff\x30", 11, 8, 9)->path, ==, PMU_PATH_FULL);
    /* add [rbx], rax */
    g_assert_cmpint(ADD("\x48\x01\x03", 13, 10, NONE)->path, ==,
                    PMU_PATH_FULL);
    /* cmove rax, rbx: three sources */
    g_assert_cmpint(ADD("\x48\x0f\x44\xc3", 16, NONE, NONE)->path, ==,
                    PMU_PATH_FULL);
    /* cpuid, lfence, pause, prefetcht0 [rbx], movabs, syscall, ret */
    g_assert_cmpint(ADD("\x0f\xa2", 20, NONE, NONE)->path, ==,
                    PMU_PATH_FULL);
    g_assert_cmpint(ADD("\x0f\xae\xe8", 22, NONE, NONE)->path, ==,
                    PMU_PATH_FULL);
    g_assert_cmpint(ADD("\xf3\x90", 25, NONE, NONE)->path, ==,
                    PMU_PATH_FULL);
    g_assert_cmpint(ADD("\x0f\x18\x0b", 27, 11, NONE)->path, ==,
                    PMU_PATH_FULL);
    g_assert_cmpint(ADD("\x48\xb8\x01\x02\x03\x04\x05\x06\x07\x08", 30, NONE,
                        NONE)->path, ==, PMU_PATH_FULL);
    g_assert_cmpint(ADD("\x0f\x05", 40, NONE, NONE)->path, ==,
                    PMU_PATH_FULL);
    g_assert_cmpint(ADD("\xc3", 42, NONE, 12)->path, ==, PMU_PATH_FULL);
    /* jne, jmp */
    g_assert_cmpint(ADD("\x75\x00", 43, NONE, NONE)->path, ==,
                    PMU_PATH_COND);
    g_assert_cmpint(ADD("\xeb\x00", 45, NONE, NONE)->path, ==,
                    PMU_PATH_FULL);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add("/block/layout", Fixture, NULL, set_up, test_layout,
               tear_down);
    g_test_add("/block/paths", Fixture, NULL, set_up, test_paths, tear_down);
    return g_test_run();
}
