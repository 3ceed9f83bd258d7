/*
 * The parameters of a core that users can change: their table and limits, that
 * the model runs at each limit, and that each has the effect it should.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>
#include <string.h>

#include "decode-bytes.h"
#include "random.h"
#include "tcg/pmu/decode/block-builder.h"
#include "tcg/pmu/decode/decoder.h"
#include "tcg/pmu/sampling/timing.h"
#include "tcg/pmu/uarch/uarch-params.h"

/* The table. */

/*
 * Each row of the table has a name, a unit, a description and a range, and each
 * core's value is within the range.
 */
static void test_table(void)
{
    for (unsigned i = 0; i < PMU_UARCH_PARAMS; i++) {
        const PmuUarchParam *param = &pmu_uarch_params[i];

        g_assert_nonnull(param->name);
        g_test_message("%s", param->name);
        g_assert_true(pmu_uarch_param(param->name) == param);
        g_assert_cmpuint(strspn(param->name, "abcdefghijklmnopqrstuvwxyz"
                                "0123456789-"), ==, strlen(param->name));
        g_assert_cmpuint(strlen(param->unit), >, 0);
        g_assert_cmpuint(strlen(param->what), >, 0);
        g_assert_cmpuint(param->min, <, param->max);
        g_assert_true(param->bytes == 4 ||
                      (param->bytes == 2 && param->max <= UINT16_MAX));
        g_assert_true(!param->is_size || g_str_equal(param->unit, "bytes"));
        for (PmuCore core = 0; core < PMU_CORE_NR; core++) {
            uint32_t value = pmu_uarch_get(pmu_uarch(core), param);

            g_assert_cmpuint(value, >=, param->min);
            g_assert_cmpuint(value, <=, param->max);
        }
    }
    g_assert_null(pmu_uarch_param("colour"));
    g_assert_null(pmu_uarch_param(""));
}

/* The parameters of each core agree, and its clocks are in MHz. */
static void test_cores(void)
{
    for (PmuCore core = 0; core < PMU_CORE_NR; core++) {
        const PmuUarch *uarch = pmu_uarch(core);

        g_assert_cmpstr(pmu_uarch_check(uarch, ""), ==, NULL);
        g_assert_cmpuint(uarch->tsc_den, ==, uarch->frequency_mhz);
        g_assert_cmpuint(uarch->xclk_den, ==, uarch->frequency_mhz);
    }
}

/* A core without an L3 has DRAM in its place, whatever DRAM's latency is. */
static void test_no_l3(void)
{
    static const char *const names[] = { "frequency", "dram-tenth-ns" };
    PmuUarch uarch = *pmu_uarch(PMU_CORE_P6);

    for (unsigned i = 0; i < G_N_ELEMENTS(names); i++) {
        const PmuUarchParam *param = pmu_uarch_param(names[i]);
        uint32_t half = pmu_uarch_get(&uarch, param) / 2;

        g_assert_cmpstr(pmu_uarch_set(&uarch, param, half, ""), ==, NULL);
        g_assert_cmpstr(pmu_uarch_check(&uarch, ""), ==, NULL);
        g_assert_cmpuint(uarch.l3.latency, ==, pmu_uarch_dram_latency(&uarch));
    }
}

/* An L3 that a user sets as far as DRAM stays an L3, when DRAM gets slower. */
static void test_far_l3(void)
{
    PmuUarch uarch = *pmu_uarch(PMU_CORE_ICELAKE);
    uint32_t far = pmu_uarch_dram_latency(&uarch);

    g_assert_cmpstr(pmu_uarch_set(&uarch, pmu_uarch_param("l3-latency"), far,
                                  ""), ==, NULL);
    g_assert_cmpstr(pmu_uarch_set(&uarch, pmu_uarch_param("dram-tenth-ns"),
                                  800, ""), ==, NULL);
    g_assert_cmpuint(pmu_uarch_dram_latency(&uarch), >, far);
    g_assert_cmpuint(uarch.l3.latency, ==, far);
}

/* Members that are not in the table; uarch-params.c says why. */
#define MEMBER(member) \
    { #member, offsetof(PmuUarch, member), sizeof(((PmuUarch *)NULL)->member) }

static const struct {
    const char *name;
    size_t offset, bytes;
} fixed_members[] = {
    MEMBER(name), MEMBER(num_ports), MEMBER(ports), MEMBER(bypass),
    MEMBER(tsc_den), MEMBER(xclk_den), MEMBER(no_l3),
    MEMBER(l1i.latency), MEMBER(itlb[PMU_PAGE_4K].latency),
    MEMBER(itlb[PMU_PAGE_2M].latency), MEMBER(itlb[PMU_PAGE_1G]),
    MEMBER(dtlb[PMU_PAGE_4K].latency), MEMBER(dtlb[PMU_PAGE_2M].latency),
    MEMBER(dtlb[PMU_PAGE_1G].latency),
    { "padding", offsetof(PmuUarch, page_walk) - 2, 2 },
};

/* Mark the bytes of a member, which no other one may have. */
static void take_bytes(uint8_t *owner, const char *name, size_t offset,
                       size_t bytes)
{
    for (size_t i = offset; i < offset + bytes; i++) {
        if (owner[i]) {
            g_error("%s: byte %zu of PmuUarch is taken", name, i);
        }
        owner[i] = 1;
    }
}

/* Each byte of PmuUarch is in one row, or in a member that cannot change. */
static void test_complete(void)
{
    uint8_t owner[sizeof(PmuUarch)] = {};
    size_t end = 0;

    for (unsigned i = 0; i < PMU_UARCH_PARAMS; i++) {
        const PmuUarchParam *param = &pmu_uarch_params[i];

        take_bytes(owner, param->name, param->offset, param->bytes);
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(fixed_members); i++) {
        take_bytes(owner, fixed_members[i].name, fixed_members[i].offset,
                   fixed_members[i].bytes);
    }
    for (size_t i = 0; i < sizeof(PmuUarch); i++) {
        if (owner[i]) {
            end = i + 1;
        } else if (i < offsetof(PmuUarch, smc_penalty)) {
            g_error("byte %zu of PmuUarch is in no row", i);
        }
    }
    /* Only padding follows the last member. */
    g_assert_cmpuint(end, ==, offsetof(PmuUarch, smc_penalty) +
                              sizeof(uint32_t));
    g_assert_cmpuint(sizeof(PmuUarch) - end, <, sizeof(void *));
}

/*
 * pmu_uarch_set() refuses values out of range, says so, and changes nothing.
 * It accepts both limits.
 */
static void test_ranges(void)
{
    static const int64_t beyond[] = {
        INT64_MIN, -(1ll << 32), -1, 1ll << 32, INT64_MAX,
    };

    for (unsigned i = 0; i < PMU_UARCH_PARAMS; i++) {
        const PmuUarchParam *param = &pmu_uarch_params[i];
        const PmuUarch *core = pmu_uarch(PMU_CORE_ICELAKE);
        PmuUarch uarch = *core;
        int64_t values[G_N_ELEMENTS(beyond) + 2] = {
            param->min - 1ll, param->max + 1ll,
        };

        memcpy(values + 2, beyond, sizeof(beyond));
        for (unsigned j = 0; j < G_N_ELEMENTS(values); j++) {
            g_autofree char *want = g_strdup_printf(
                "x-%s=%" G_GINT64_FORMAT " is out of range: it must be %u to "
                "%u", param->name, values[j], param->min, param->max);
            g_autofree char *why = pmu_uarch_set(&uarch, param, values[j],
                                                 "x-");

            g_assert_cmpstr(why, ==, want);
            g_assert_true(!memcmp(&uarch, core, sizeof(uarch)));
        }
        g_assert_null(pmu_uarch_set(&uarch, param, param->min, ""));
        g_assert_cmpuint(pmu_uarch_get(&uarch, param), ==, param->min);
        g_assert_null(pmu_uarch_set(&uarch, param, param->max, ""));
        g_assert_cmpuint(pmu_uarch_get(&uarch, param), ==, param->max);
        /*
         * Setting the old value restores all, so nothing else has changed for
         * good.
         */
        g_assert_null(pmu_uarch_set(&uarch, param, pmu_uarch_get(core, param),
                                    ""));
        g_assert_true(!memcmp(&uarch, core, sizeof(uarch)));
    }
}

/*
 * A new frequency changes the ratios of the TSC (2800 MHz) and the crystal (25
 * MHz), not these clocks.
 */
static void test_clocks(void)
{
    PmuUarch uarch = *pmu_uarch(PMU_CORE_ICELAKE);

    g_assert_null(pmu_uarch_set(&uarch, pmu_uarch_param("frequency"), 3500,
                                ""));
    g_assert_cmpuint(uarch.tsc_num, ==, 2800);
    g_assert_cmpuint(uarch.tsc_den, ==, 3500);
    g_assert_cmpuint(uarch.xclk_num, ==, 25);
    g_assert_cmpuint(uarch.xclk_den, ==, 3500);
}

typedef struct Together {
    const char *set;            /* NAME=VALUE, separated by spaces */
    const char *says;           /* NULL: they agree */
} Together;

static const Together together[] = {
    { "l1d-size=65536",
      "l1d-size=65536 and l1d-ways=12 do not go together: l1d-size must be "
      "64 times l1d-ways times a power of 2" },
    { "l1d-size=65536 l1d-ways=16", NULL },
    { "l1i-ways=12",
      "l1i-size=32768 and l1i-ways=12 do not go together: l1i-size must be "
      "64 times l1i-ways times a power of 2" },
    { "l1d-size=4096 l1d-ways=8",
      "l1d-size=4096 and l1d-ways=8 do not go together: with 8 ways, l1d-size "
      "must be more than 4096" },
    { "l2-size=2097152",
      "l2-size=2097152 and l2-ways=20 do not go together: l2-size must be 64 "
      "times l2-ways times a whole number" },
    { "l2-size=2097152 l2-ways=16", NULL },
    { "l2-size=983040 l2-ways=15", NULL },
    { "l3-size=50331649",
      "l3-size=50331649 and l3-ways=12 do not go together: l3-size must be "
      "64 times l3-ways times a whole number" },
    { "dtlb-entries=96",
      "dtlb-entries=96 and dtlb-ways=4 do not go together: dtlb-entries must "
      "be dtlb-ways times a power of 2" },
    { "dtlb-entries=96 dtlb-ways=6", NULL },
    { "stlb-ways=3",
      "stlb-entries=2048 and stlb-ways=3 do not go together: stlb-entries "
      "must be stlb-ways times a power of 2" },
    { "itlb-entries=4",
      "itlb-entries=4 and itlb-ways=8 do not go together: itlb-entries must "
      "be itlb-ways times a power of 2" },
    { "btb-entries=4096",
      "btb-entries=4096 and btb-ways=5 do not go together: btb-entries must "
      "be btb-ways times a power of 2" },
    { "dsb-uops=4096",
      "dsb-uops=4096, dsb-ways=6 and dsb-line=6 do not go together: dsb-uops "
      "must be dsb-line times dsb-ways times a power of 2" },
    { "dsb-uops=4096 dsb-line=8 dsb-ways=8", NULL },
    { "l2-latency=65", "l2-latency=65 is more than l3-latency=64" },
    { "l2-latency=64", NULL },
    { "l1d-latency=15", "l1d-latency=15 is more than l2-latency=14" },
    { "l3-latency=187",
      "l3-latency=187 is more than dram-tenth-ns=665, which is 186 cycles "
      "with frequency=2800" },
    { "l3-latency=186", NULL },
    { "tsc-frequency=10000 frequency=2499 l3-latency=1 l2-latency=1 "
      "l1d-latency=1",
      "tsc-frequency=10000 is more than 4 times frequency=2499" },
    { "tsc-frequency=10000 frequency=2500", NULL },
    { "crystal-frequency=10000 frequency=2499",
      "crystal-frequency=10000 is more than 4 times frequency=2499" },
    { "decode-bytes=24", "decode-bytes=24 is no power of 2" },
    { "dsb-window=48", "dsb-window=48 is no power of 2" },
};

static void apply(PmuUarch *uarch, const char *set)
{
    g_auto(GStrv) words = g_strsplit(set, " ", -1);

    for (char **word = words; *word; word++) {
        g_auto(GStrv) pair = g_strsplit(*word, "=", 2);
        const PmuUarchParam *param = pmu_uarch_param(pair[0]);
        g_autofree char *why = NULL;

        g_assert_nonnull(param);
        why = pmu_uarch_set(uarch, param, g_ascii_strtoll(pair[1], NULL, 10),
                            "");
        g_assert_cmpstr(why, ==, NULL);
    }
}

/*
 * pmu_uarch_check() refuses parameters that contradict each other, and names
 * all of them.
 */
static void test_together(void)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(together); i++) {
        PmuUarch uarch = *pmu_uarch(PMU_CORE_ICELAKE);
        g_autofree char *why = NULL;

        apply(&uarch, together[i].set);
        why = pmu_uarch_check(&uarch, "");
        g_assert_cmpstr(why, ==, together[i].says);
    }
}

/* All names in a message have the user's prefix. */
static void test_prefix(void)
{
    PmuUarch uarch = *pmu_uarch(PMU_CORE_ICELAKE);
    g_autofree char *why = NULL, *latency = NULL;

    apply(&uarch, "l1d-ways=8");
    why = pmu_uarch_check(&uarch, "pmu-");
    g_assert_cmpstr(why, ==, "pmu-l1d-size=49152 and pmu-l1d-ways=8 do not go "
                    "together: pmu-l1d-size must be 64 times pmu-l1d-ways "
                    "times a power of 2");
    uarch = *pmu_uarch(PMU_CORE_ICELAKE);
    apply(&uarch, "l2-latency=100");
    latency = pmu_uarch_check(&uarch, "pmu-");
    g_assert_cmpstr(latency, ==, "pmu-l2-latency=100 is more than "
                    "pmu-l3-latency=64");
}

/* A core and code for it. */

typedef struct Code {
    const char *bytes;
    unsigned length;
} Code;

#define I(s)    { s, sizeof(s) - 1 }

/* Some of each kind that the model treats in its own way. */
static const Code instructions[] = {
    I("\x90"),                          /* nop */
    I("\x48\x01\xd8"),                  /* add rax, rbx */
    I("\x48\x29\xc0"),                  /* sub rax, rax */
    I("\x48\x89\xd8"),                  /* mov rax, rbx */
    I("\x48\x0f\xaf\xc3"),              /* imul rax, rbx */
    I("\x48\xf7\xf1"),                  /* div rcx */
    I("\x48\x8b\x00"),                  /* mov rax, [rax] */
    I("\x48\x8b\x03"),                  /* mov rax, [rbx] */
    I("\x48\x03\x03"),                  /* add rax, [rbx] */
    I("\x48\x89\x03"),                  /* mov [rbx], rax */
    I("\x48\x01\x03"),                  /* add [rbx], rax */
    I("\x88\x03"),                      /* mov [rbx], al */
    I("\x50"),                          /* push rax */
    I("\x58"),                          /* pop rax */
    I("\x48\x83\xc4\x08"),              /* add rsp, 8 */
    I("\x66\x05\x01\x01"),              /* add ax, 0x101: LCP */
    I("\x48\xb8\x01\x02\x03\x04\x05\x06\x07\x08"),      /* movabs rax, */
    I("\xc5\xfd\x59\xc0"),              /* vmulpd ymm0, ymm0, ymm0 */
    I("\xc4\xe2\xf5\xb8\x03"),          /* vfmadd231pd ymm0, ymm1, [rbx] */
    I("\xc5\xfd\x5e\xc1"),              /* vdivpd ymm0, ymm0, ymm1 */
    I("\x0f\xa2"),                      /* cpuid */
    I("\x0f\xae\xe8"),                  /* lfence */
    I("\xf3\x90"),                      /* pause */
    I("\x0f\xae\x03"),                  /* fxsave [rbx] */
    I("\x0f\x18\x0b"),                  /* prefetcht0 [rbx] */
};

/* Instructions that end a block. */
static const Code ends[] = {
    I("\x75\x00"),                      /* jnz */
    I("\xeb\x00"),                      /* jmp */
    I("\xe8\x00\x00\x00\x00"),          /* call */
    I("\xc3"),                          /* ret */
    I("\xff\xe0"),                      /* jmp rax */
    I("\xf3\xa4"),                      /* rep movsb */
    I("\xf3\x48\xab"),                  /* rep stosq */
    I("\x0f\x05"),                      /* syscall */
};

#define CODE_BASE       0x400000ull
#define DATA_BASE       0x100000000ull

typedef struct Rig {
    PmuUarch uarch;
    PmuDecoder *decoder;
    PmuLedger ledger;
    PmuTiming *timing;
    GPtrArray *blocks;          /* PmuBlockBuilder */
    GArray *pcs;                /* uint64_t */
    uint64_t pc;
    Random random;
    uint64_t span;              /* of data addresses, bytes */
} Rig;

static PmuMapping identity(void *opaque, uint64_t page)
{
    return (PmuMapping) { page };
}

static Rig *rig_new(const PmuUarch *uarch)
{
    Rig *rig = g_new0(Rig, 1);

    rig->uarch = *uarch;
    rig->decoder = pmu_decoder_new(PMU_CORE_ICELAKE, &rig->uarch);
    g_assert_nonnull(rig->decoder);
    rig->timing = pmu_timing_new(&rig->uarch, &rig->ledger, NULL, identity,
                                 NULL);
    g_assert_nonnull(rig->timing);
    rig->blocks = g_ptr_array_new_with_free_func(g_free);
    rig->pcs = g_array_new(FALSE, FALSE, sizeof(uint64_t));
    rig->pc = CODE_BASE;
    rig->random = random_from_seed();
    rig->span = 64;
    return rig;
}

static void rig_free(Rig *rig)
{
    g_assert_cmpuint(pmu_timing_repairs(rig->timing), ==, 0);
    pmu_timing_free(rig->timing);
    pmu_decoder_free(rig->decoder);
    g_ptr_array_free(rig->blocks, TRUE);
    g_array_free(rig->pcs, TRUE);
    g_free(rig);
}

static void rig_begin_block(Rig *rig)
{
    PmuBlockBuilder *builder = g_new0(PmuBlockBuilder, 1);

    pmu_block_begin(builder, PMU_LEVEL_USR, rig->pc);
    builder->block.phys_next = (rig->pc | 0xfff) + 1;
    g_ptr_array_add(rig->blocks, builder);
    g_array_append_val(rig->pcs, rig->pc);
}

/* Append @code to the newest block.  Returns false if that is full. */
static bool rig_add(Rig *rig, const Code *code)
{
    PmuBlockBuilder *builder = g_ptr_array_index(rig->blocks,
                                                 rig->blocks->len - 1);
    const uint8_t *bytes = (const uint8_t *)code->bytes;
    const PmuInsn *insn = decode_bytes(rig->decoder, bytes,
                                       code->length);
    uint8_t ea = PMU_NO_ACCESS, stack = PMU_NO_ACCESS;
    uint8_t next = builder->block.num_accesses;

    if (pmu_block_full(&builder->block)) {
        return false;
    }
    if (insn->flags & (PMU_INSN_LOAD | PMU_INSN_STORE)) {
        ea = next++;
    }
    if (insn->flags & (PMU_INSN_STACK_LOAD | PMU_INSN_STACK_STORE)) {
        stack = next++;
    }
    pmu_block_add_bytes(builder, rig->decoder, bytes, code->length,
                  rig->pc & 0xfff, ea, stack);
    rig->pc += code->length;
    return true;
}

/* Run block @number with random data addresses and branches. */
static void rig_run_block(Rig *rig, unsigned number)
{
    PmuBlockBuilder *builder = g_ptr_array_index(rig->blocks, number);
    uint64_t addr[PMU_BLOCK_ACCESSES];
    PmuExecution dynamic = {
        .addr = addr,
        .pc = g_array_index(rig->pcs, uint64_t, number),
        .target = CODE_BASE + random_below(&rig->random, 4) * 64,
        .iterations = random_below(&rig->random, 300),
        .taken = random_below(&rig->random, 3),
    };

    for (unsigned i = 0; i < builder->block.num_accesses; i++) {
        addr[i] = DATA_BASE + random_below(&rig->random, rig->span);
    }
    pmu_timing_run(rig->timing, &builder->block, 0, builder->block.num_insns,
                   &dynamic);
}

static void rig_assert_conserved(Rig *rig)
{
    PmuLedgerSnapshot now;
    uint64_t sum = 0, slots;

    pmu_timing_flush(rig->timing);
    pmu_ledger_snapshot(&rig->ledger, &now);
    for (unsigned i = 0; i < PMU_SLOT_NR; i++) {
        sum += now.item[PMU_LEVEL_USR][i];
    }
    slots = now.item[PMU_LEVEL_USR][PMU_ITEM_SLOTS];
    g_assert_cmpuint(sum, ==, slots);
    g_assert_cmpuint(slots, ==, rig->uarch.width *
                                now.item[PMU_LEVEL_USR][PMU_ITEM_CYCLES]);
    g_assert_cmpuint(pmu_timing_clock(rig->timing) - slots, <,
                     rig->uarch.width);
    g_assert_cmpuint(slots, >, 0);
}

/*
 * Add random blocks, then ones that fill buffers: misses, and instructions that
 * wait for them.
 */
static void rig_add_mixture(Rig *rig)
{
    for (unsigned i = 0; i < 60; i++) {
        unsigned n = random_below(&rig->random, 40);

        rig_begin_block(rig);
        while (n-- && rig_add(rig, &instructions[random_below(
                   &rig->random, G_N_ELEMENTS(instructions))])) {
            continue;
        }
        rig_add(rig, &ends[random_below(&rig->random, G_N_ELEMENTS(ends))]);
        rig->pc += random_below(&rig->random, 200);
    }
    for (unsigned i = 0; i < 4; i++) {
        rig_begin_block(rig);
        rig_add(rig, &(Code)I("\x48\x8b\x00"));         /* mov rax, [rax] */
        /* add rbx, rax; add rax, [rbx]; sub rcx, rcx; jz */
        while (rig_add(rig, i & 1 ? &(Code)I("\x48\x01\xc3")
                                  : &(Code)I("\x48\x03\x03"))) {
            continue;
        }
        rig_begin_block(rig);
        rig_add(rig, &(Code)I("\x48\x29\xc9"));
        rig_add(rig, &(Code)I("\x74\x00"));
    }
}

/* Assert that the model runs on such a core and loses no slots. */
static void assert_runs(const PmuUarch *uarch, unsigned rounds)
{
    g_autofree char *why = pmu_uarch_check(uarch, "");
    Rig *rig;

    g_assert_cmpstr(why, ==, NULL);
    rig = rig_new(uarch);
    rig_add_mixture(rig);
    for (unsigned round = 0; round < rounds; round++) {
        rig->span = round & 1 ? 1 << 28 : 4096;
        for (unsigned i = 0; i < 4 * rig->blocks->len; i++) {
            rig_run_block(rig, i % rig->blocks->len);
        }
        for (unsigned i = 0; i < 200; i++) {
            rig_run_block(rig, random_below(&rig->random, rig->blocks->len));
        }
        rig_assert_conserved(rig);
    }
    rig_free(rig);
}

/* The same, but each block runs only once. */
static void assert_starts(const PmuUarch *uarch)
{
    Rig *rig = rig_new(uarch);

    rig_add_mixture(rig);
    for (unsigned i = 0; i < rig->blocks->len; i++) {
        rig_run_block(rig, i);
    }
    rig_assert_conserved(rig);
    rig_free(rig);
}

/* An array of a core, and how its size, ways and sets are related. */
typedef struct Array {
    const char *entries, *ways;
    unsigned unit;
    bool power, is_cache;
} Array;

static const Array arrays[] = {
    { "l1i-size", "l1i-ways", 64, true, true },
    { "l1d-size", "l1d-ways", 64, true, true },
    { "l2-size", "l2-ways", 64, false, true },
    { "l3-size", "l3-ways", 64, false, true },
    { "itlb-entries", "itlb-ways", 1, true, false },
    { "itlb-2m-entries", "itlb-2m-ways", 1, true, false },
    { "dtlb-entries", "dtlb-ways", 1, true, false },
    { "dtlb-2m-entries", "dtlb-2m-ways", 1, true, false },
    { "dtlb-1g-entries", "dtlb-1g-ways", 1, true, false },
    { "stlb-entries", "stlb-ways", 1, true, false },
    { "btb-entries", "btb-ways", 1, true, false },
    { "dsb-uops", "dsb-ways", 0, true, false },
};

static uint32_t get(const PmuUarch *uarch, const char *name)
{
    return pmu_uarch_get(uarch, pmu_uarch_param(name));
}

static void set(PmuUarch *uarch, const char *name, int64_t value)
{
    g_autofree char *why = pmu_uarch_set(uarch, pmu_uarch_param(name), value,
                                         "");

    g_assert_cmpstr(why, ==, NULL);
}

/*
 * Give @array ways that fit its size (@keep_size), or a size that fits its
 * ways.
 */
static void fit_array(PmuUarch *uarch, const Array *array, bool keep_size)
{
    const PmuUarchParam *size = pmu_uarch_param(array->entries);
    uint32_t unit = array->unit ? array->unit : uarch->dsb_line;
    uint32_t entries = get(uarch, array->entries);
    uint32_t ways = get(uarch, array->ways), sets = 1;

    if (keep_size) {
        for (ways = pmu_uarch_param(array->ways)->max; ways > 1; ways--) {
            sets = entries / (ways * unit);
            if (sets * ways * unit == entries &&
                (!array->power || (sets && !(sets & (sets - 1)))) &&
                (!array->is_cache || sets > ways)) {
                break;
            }
        }
        set(uarch, array->ways, ways);
        return;
    }
    while (sets * ways * unit < size->min || (array->is_cache &&
                                              sets <= ways)) {
        sets *= 2;
    }
    while (2 * (uint64_t)sets * ways * unit <= MIN(entries, size->max)) {
        sets *= 2;
    }
    set(uarch, array->entries, sets * ways * unit);
}

/* Change other parameters that contradict parameter @name, if there are any. */
static void fit(PmuUarch *uarch, const char *name)
{
    uint32_t l1d = uarch->l1d.latency, l2 = uarch->l2.latency;

    if (g_str_equal(name, "dsb-uops")) {
        set(uarch, "dsb-line", 1);
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(arrays); i++) {
        fit_array(uarch, &arrays[i], g_str_equal(name, arrays[i].entries));
    }
    if (g_str_equal(name, "l3-latency")) {
        l2 = MIN(l2, uarch->l3.latency);
    }
    l1d = g_str_equal(name, "l1d-latency") ? l1d : MIN(l1d, l2);
    l2 = MAX(l1d, l2);
    set(uarch, "l1d-latency", l1d);
    set(uarch, "l2-latency", l2);
    set(uarch, "l3-latency", MAX(l2, uarch->l3.latency));
    while (!g_str_equal(name, "dram-tenth-ns") &&
           (uint64_t)uarch->dram_tenth_ns * uarch->frequency_mhz / 10000 <
           uarch->l3.latency) {
        if (uarch->dram_tenth_ns < 10000) {
            set(uarch, "dram-tenth-ns", uarch->dram_tenth_ns * 2);
        } else {
            set(uarch, "frequency", uarch->frequency_mhz * 2);
        }
    }
    if (g_str_equal(name, "dram-tenth-ns") &&
        uarch->dram_tenth_ns < 100) {
        set(uarch, "l1d-latency", 1);
        set(uarch, "l2-latency", 1);
        set(uarch, "l3-latency", 1);
    }
    if (g_str_equal(name, "tsc-frequency") ||
        g_str_equal(name, "crystal-frequency")) {
        set(uarch, "frequency", 3000);
    } else {
        set(uarch, "tsc-frequency", MIN(uarch->tsc_num, 100));
        set(uarch, "crystal-frequency", MIN(uarch->xclk_num, 100));
    }
}

/* The model runs with each parameter at either of its limits. */
static void test_limits(void)
{
    for (unsigned i = 0; i < PMU_UARCH_PARAMS; i++) {
        const PmuUarchParam *param = &pmu_uarch_params[i];

        for (unsigned most = 0; most < 2; most++) {
            PmuUarch uarch = *pmu_uarch(PMU_CORE_ICELAKE);
            uint32_t value = most ? param->max : param->min;

            g_test_message("%s=%u", param->name, value);
            set(&uarch, param->name, value);
            fit(&uarch, param->name);
            g_assert_cmpuint(get(&uarch, param->name), ==, value);
            assert_runs(&uarch, 2);
        }
    }
}

/*
 * Each parameter at and around its limits, all others unchanged.  Either the
 * model runs, or the user learns which option has which value, and on what else
 * that depends.
 */
static void test_boundaries(void)
{
    for (unsigned i = 0; i < PMU_UARCH_PARAMS; i++) {
        const PmuUarchParam *param = &pmu_uarch_params[i];
        int64_t low = param->min, high = param->max;
        int64_t values[] = {
            low - 1, low, low + 1, high - 1, high, high + 1, 0, -1,
            UINT16_MAX + 1ll, UINT32_MAX, UINT32_MAX + 1ll + low, INT64_MAX,
            INT64_MIN,
        };

        for (unsigned n = 0; n < G_N_ELEMENTS(values); n++) {
            PmuUarch uarch = *pmu_uarch(PMU_CORE_ICELAKE);
            g_autofree char *given = g_strdup_printf(
                "pmu-%s=%" G_GINT64_FORMAT, param->name, values[n]);
            g_autofree char *why = pmu_uarch_set(&uarch, param, values[n],
                                                 "pmu-");

            why = why ? why : pmu_uarch_check(&uarch, "pmu-");
            if (why) {
                g_test_message("%s: %s", given, why);
                g_assert_nonnull(strstr(why, given));
                g_assert_true(strstr(why, "must be") ||
                              strstr(why, "power of 2") ||
                              strstr(why, "is more than"));
            } else {
                g_assert_cmpint(values[n], >=, low);
                g_assert_cmpint(values[n], <=, high);
                g_test_message("%s runs", given);
                assert_starts(&uarch);
            }
        }
    }
}

/* All parameters but those of arrays and clocks at their limits, at once. */
static void test_extremes(void)
{
    static const char *const arrays_and_clocks[] = {
        "l1i-", "l1d-", "l2-", "l3-", "itlb-", "dtlb-", "stlb-", "dsb-uops",
        "btb-", "dram-tenth", "frequency", "tsc-", "crystal-",
    };

    for (unsigned most = 0; most < 2; most++) {
        PmuUarch uarch = *pmu_uarch(PMU_CORE_ICELAKE);

        for (unsigned i = 0; i < PMU_UARCH_PARAMS; i++) {
            const PmuUarchParam *param = &pmu_uarch_params[i];
            bool skip = false;

            for (unsigned j = 0; j < G_N_ELEMENTS(arrays_and_clocks); j++) {
                skip |= g_str_has_prefix(param->name, arrays_and_clocks[j]);
            }
            if (!skip) {
                set(&uarch, param->name, most ? param->max : param->min);
            }
        }
        fit(&uarch, "");
        assert_runs(&uarch, 8);
    }
}

/* All parameters at random. */
static void test_random(void)
{
    Random random = random_from_seed();

    for (unsigned n = 0; n < (g_test_slow() ? 40 : 10); n++) {
        PmuUarch uarch = *pmu_uarch(random_below(&random, PMU_CORE_NR));

        for (unsigned i = 0; i < PMU_UARCH_PARAMS; i++) {
            const PmuUarchParam *param = &pmu_uarch_params[i];
            uint32_t range = param->max - param->min;
            uint32_t more = random_size(&random, 32 - __builtin_clz(range));

            if (random_below(&random, 2)) {
                set(&uarch, param->name, param->min + MIN(more, range));
            }
        }
        set(&uarch, "l3-size", MIN(uarch.l3.size, 1 << 26));
        set(&uarch, "decode-bytes", 8 << random_below(&random, 4));
        set(&uarch, "dsb-window", 16 << random_below(&random, 3));
        fit(&uarch, "");
        assert_runs(&uarch, 2);
    }
}

/* What a change makes slower or faster. */

/* How data addresses follow each other. */
typedef enum Pattern {
    ONE_LINE,
    CHASE,                      /* through @bytes, at random */
    STREAM,                     /* line after line */
} Pattern;

typedef struct Effect {
    const char *set;            /* what is changed */
    int sign;                   /* 1: slower, -1: faster, 0: neither */
    Pattern pattern;
    uint64_t bytes;
    unsigned copies;            /* of the body */
    Code body[4];
} Effect;

#define LOAD_CHAIN      I("\x48\x8b\x00")       /* mov rax, [rax] */
#define LOAD            I("\x48\x8b\x03")       /* mov rax, [rbx] */
#define STORE           I("\x48\x89\x03")       /* mov [rbx], rax */
#define NOP             I("\x90")
#define NOP15           I("\x66\x66\x66\x66\x66\x66\x2e\x0f\x1f\x84\0\0\0\0\0")
#define IMUL_CHAIN      I("\x48\x0f\xaf\xc0")   /* imul rax, rax */
#define LEA_RAX         I("\x48\x8d\x50\x01")   /* lea rdx, [rax + 1] */
#define NOP4            I("\x0f\x1f\x40\x00")
#define NOP9            I("\x66\x0f\x1f\x84\x00\x00\x00\x00\x00")
#define ADD_AX          I("\x66\x05\x01\x01")   /* add ax, 0x101 */

static const Effect effects[] = {
    { "width=3", 1, ONE_LINE, 64, 60, { NOP4 } },
    { "width=10", -1, ONE_LINE, 64, 60, { NOP4 } },
    /* Misses that overlap as far as the reorder buffer reaches. */
    { "rob=16", 1, CHASE, 1 << 22, 30, { LOAD, NOP, NOP, NOP } },
    { "rob=512 fill-buffers=64", -1, CHASE, 1 << 22, 30,
      { LOAD, NOP, NOP, NOP } },
    { "fill-buffers=2", 1, CHASE, 1 << 28, 10, { LOAD } },
    { "load-buffer=4", 1, CHASE, 1 << 28, 10, { LOAD } },
    { "scheduler=8", 1, CHASE, 1 << 28, 10, { LOAD, LEA_RAX, LEA_RAX } },
    { "store-buffer=2", 1, CHASE, 1 << 28, 10, { STORE } },
    { "frequency=5000", 1, CHASE, 1 << 28, 1, { LOAD_CHAIN } },
    { "dram-tenth-ns=2000", 1, CHASE, 1 << 28, 1, { LOAD_CHAIN } },
    { "l3-line-cycles=100", 1, CHASE, 1 << 22, 10, { LOAD } },
    { "dram-line-cycles=100", 1, CHASE, 1 << 28, 10, { LOAD } },
    { "page-walk=100", 1, CHASE, 1 << 28, 1, { LOAD_CHAIN } },
    { "page-walkers=1", 1, CHASE, 1 << 28, 10, { LOAD } },
    { "page-walkers=8", -1, CHASE, 1 << 28, 10, { LOAD } },
    { "stlb-latency=30", 1, CHASE, 1 << 20, 1, { LOAD_CHAIN } },
    { "dtlb-entries=1024", -1, CHASE, 1 << 20, 1, { LOAD_CHAIN } },
    { "stlb-entries=128", 1, CHASE, 1 << 21, 1, { LOAD_CHAIN } },
    { "l1d-latency=8", 1, CHASE, 1 << 14, 1, { LOAD_CHAIN } },
    { "l1d-size=8192 l1d-ways=8", 1, CHASE, 1 << 15, 1, { LOAD_CHAIN } },
    { "l2-latency=40", 1, CHASE, 1 << 17, 1, { LOAD_CHAIN } },
    { "l2-latency=40", 0, CHASE, 1 << 14, 1, { LOAD_CHAIN } },
    { "l2-size=65536 l2-ways=8", 1, CHASE, 1 << 17, 1, { LOAD_CHAIN } },
    { "l3-latency=150", 1, CHASE, 1 << 22, 1, { LOAD_CHAIN } },
    { "l3-size=2097152 l3-ways=16", 1, CHASE, 1 << 22, 1, { LOAD_CHAIN } },
    { "prefetch-distance=0", 1, STREAM, 1 << 28, 1, { LOAD } },
    { "l1d-prefetch=0", 1, STREAM, 1 << 17, 1, { LOAD_CHAIN } },
    { "store-forward=12", 1, ONE_LINE, 8, 1, { I("\x48\x01\x03") } },
    { "store-forward-vector=9", 1, ONE_LINE, 8, 1,
      { I("\x66\x0f\xfe\x03"), I("\x66\x0f\x7f\x03") } },
    { "store-forward-rmw=9", 1, ONE_LINE, 8, 1, { I("\x48\x01\x03") } },
    { "lock-latency=40", 1, ONE_LINE, 8, 1, { I("\xf0\x48\x01\x03") } },
    { "store-pair-bytes=0", 1, ONE_LINE, 8, 10, { STORE } },
    { "stream-half-cycles=40", 1, ONE_LINE, 8, 10,
      { I("\x48\x0f\xc3\x03") } },
    { "eliminate-moves=1", -1, ONE_LINE, 8, 10,
      { I("\x48\x89\xc3"), I("\x48\x89\xd8") } },
    { "eliminate-adds=1", -1, ONE_LINE, 8, 10,
      { I("\x48\x83\xc0\x01") } },
    { "rename-memory=1", -1, ONE_LINE, 8, 1, { I("\x48\x83\x03\x01") } },
    { "dsb-one-line=1", 1, ONE_LINE, 64, 100, { NOP9 } },
    { "dsb-window=32", 1, ONE_LINE, 64, 2100, { NOP4 } },
    { "dsb-window-lines=2", 1, ONE_LINE, 64, 300, { NOP4 } },
    { "dsb-uops=144", 1, ONE_LINE, 64, 300, { NOP4 } },
    { "dsb-line=2 dsb-uops=768", 1, ONE_LINE, 64, 100, { NOP4 } },
    { "decode-bytes=64", -1, ONE_LINE, 64, 2000, { NOP15 } },
    { "predecode-insns=1", 1, ONE_LINE, 64, 5000, { NOP } },
    { "decoders=1", 1, ONE_LINE, 64, 5000, { NOP } },
    { "decode-uops=2", 1, ONE_LINE, 64, 5000, { NOP } },
    { "lcp-stall=9", 1, ONE_LINE, 64, 7000, { ADD_AX } },
    { "fetch-targets=0", 1, ONE_LINE, 64, 4000, { NOP15 } },
    { "fetch-targets=0", 0, ONE_LINE, 64, 2000, { NOP15 } },
    { "l1i-fill-buffers=1", 1, ONE_LINE, 64, 4000, { NOP15 } },
    { "l1i-line-cycles=12", 1, ONE_LINE, 64, 4000, { NOP15 } },
    { "l1i-line-cycles=12", 0, ONE_LINE, 64, 2000, { NOP15 } },
    { "l1i-size=8192 l1i-ways=4 fetch-targets=0", 1, ONE_LINE, 64, 2000,
      { NOP15 } },
    { "ms-uops=1", 1, ONE_LINE, 64, 1, { I("\x0f\xa2") } },
    { "ms-switch=100", 1, ONE_LINE, 64, 1, { I("\x0f\x31") } },
    { "serialize-penalty=50", 1, ONE_LINE, 64, 1, { I("\x0f\xa2") } },
    { "issue-to-dispatch=20", 1, ONE_LINE, 64, 1, { I("\x0f\xae\xe8") } },
    { "mispredict-penalty=40", 0, ONE_LINE, 64, 10, { IMUL_CHAIN } },
    { "rob=64", 0, ONE_LINE, 64, 10, { IMUL_CHAIN } },
};

static uint64_t effect_address(const Effect *effect, Random *random,
                               uint64_t *next)
{
    switch (effect->pattern) {
    case CHASE:
        return DATA_BASE + random_below(random, effect->bytes) / 64 * 64;
    case STREAM:
        return DATA_BASE + (*next += 64) % effect->bytes;
    default:
        return DATA_BASE;
    }
}

static void effect_run(Rig *rig, const Effect *effect, unsigned turns,
                       uint64_t *next)
{
    for (unsigned i = 0; i < turns; i++) {
        for (unsigned n = 0; n < rig->blocks->len; n++) {
            PmuBlockBuilder *builder = g_ptr_array_index(rig->blocks, n);
            uint64_t addr[PMU_BLOCK_ACCESSES];
            PmuExecution dynamic = {
                .addr = addr, .pc = g_array_index(rig->pcs, uint64_t, n),
                .taken = true,
            };

            for (unsigned j = 0; j < builder->block.num_accesses; j++) {
                addr[j] = effect_address(effect, &rig->random, next);
            }
            pmu_timing_run(rig->timing, &builder->block, 0,
                           builder->block.num_insns, &dynamic);
        }
    }
}

/* Returns the cycles of a warm turn of @effect's loop on @uarch. */
static double effect_cycles(const PmuUarch *uarch, const Effect *effect)
{
    Rig *rig = rig_new(uarch);
    unsigned turns = MAX(100, 20000 / effect->copies);
    uint64_t clock, next = 0;
    double cycles;

    pmu_timing_set_sampling(rig->timing, NULL);
    rig->random = (Random) {};
    rig_begin_block(rig);
    for (unsigned i = 0; i < effect->copies; i++) {
        for (const Code *code = effect->body; code->bytes &&
             code < effect->body + G_N_ELEMENTS(effect->body); code++) {
            if (!rig_add(rig, code)) {
                rig_begin_block(rig);
                rig_add(rig, code);
            }
        }
    }
    rig_begin_block(rig);
    rig_add(rig, &(Code)I("\x48\xff\xc9"));                     /* dec rcx */
    rig_add(rig, &(Code)I("\x0f\x85\x00\x00\x00\x00"));         /* jnz */
    /* Go twice through data that may fit a cache. */
    effect_run(rig, effect, effect->bytes <= 1 << 22
               ? MAX(turns, effect->bytes / 32 / effect->copies) : turns,
               &next);
    pmu_timing_flush(rig->timing);
    clock = pmu_timing_clock(rig->timing);
    effect_run(rig, effect, turns, &next);
    pmu_timing_flush(rig->timing);
    cycles = (double)(pmu_timing_clock(rig->timing) - clock) / uarch->width /
             turns;
    rig_free(rig);
    return cycles;
}

/*
 * A change makes code that depends on it slower or faster by more than 10 %,
 * and other code not.  The signs follow from what each parameter means.
 */
static void test_effects(void)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(effects); i++) {
        const Effect *effect = &effects[i];
        PmuUarch uarch = *pmu_uarch(PMU_CORE_ICELAKE);
        double before = effect_cycles(&uarch, effect), after;
        g_autofree char *why = NULL;
        bool slower, faster;

        apply(&uarch, effect->set);
        why = pmu_uarch_check(&uarch, "");
        g_assert_cmpstr(why, ==, NULL);
        after = effect_cycles(&uarch, effect);
        g_test_message("%s: %.2f cycles, were %.2f", effect->set, after,
                       before);
        slower = after > before * 1.1;
        faster = after < before * 0.9;
        if (slower - faster != effect->sign) {
            g_test_message("expected: %s", effect->sign > 0 ? "slower" :
                           effect->sign ? "faster" : "no change");
            g_test_fail();
        }
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/uarch/table", test_table);
    g_test_add_func("/uarch/cores", test_cores);
    g_test_add_func("/uarch/no-l3", test_no_l3);
    g_test_add_func("/uarch/far-l3", test_far_l3);
    g_test_add_func("/uarch/complete", test_complete);
    g_test_add_func("/uarch/ranges", test_ranges);
    g_test_add_func("/uarch/clocks", test_clocks);
    g_test_add_func("/uarch/together", test_together);
    g_test_add_func("/uarch/prefix", test_prefix);
    g_test_add_func("/uarch/limits", test_limits);
    g_test_add_func("/uarch/boundaries", test_boundaries);
    g_test_add_func("/uarch/extremes", test_extremes);
    g_test_add_func("/uarch/random", test_random);
    g_test_add_func("/uarch/effects", test_effects);
    return g_test_run();
}
