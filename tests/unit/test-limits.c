/*
 * Limits: whatever bytes, addresses, counts and times a guest chooses, it
 * neither ends the model, nor holds it up, nor makes it use more and more
 * memory.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>
#include <string.h>
#include <time.h>

#include "tcg/pmu/decode/block-builder.h"
#include "tcg/pmu/decode/block-pool.h"
#include "tcg/pmu/decode/decoder.h"
#include "tcg/pmu/events/events.h"
#include "tcg/pmu/sampling/functional-model.h"
#include "decode-bytes.h"
#include "random.h"
#include "tcg/pmu/sampling/timing.h"
#include "tcg/pmu/decode/insn-pool.h"

#define CODE    0x400000ull
#define OTHER   0x800000ull
#define LINE    64
#define NONE    PMU_NO_ACCESS

/* One instruction as bytes; the disassembly stands beside each use. */
typedef struct Code {
    const char *bytes;
    unsigned length;
} Code;

#define I(s)    { s, sizeof(s) - 1 }

static const Code nop = I("\x0f\x1f\x40\x00");          /* nop [rax+0] */
static const Code clflush = I("\x0f\xae\x3b");          /* clflush [rbx] */
static const Code store = I("\x48\x89\x03");            /* mov [rbx], rax */
static const Code jmp = I("\xeb\x00");

static const PmuInsn *describe(PmuDecoder *decoder, const uint8_t *bytes,
                               unsigned length)
{
    return decode_bytes(decoder, bytes, length);
}

/* Every linear page is its own physical page. */
static PmuMapping identity(void *opaque, uint64_t page)
{
    return (PmuMapping) { page };
}

/* The CPU time of this process in seconds. */
static double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec + now.tv_nsec / 1e9;
}

/* A block and one execution of it. */
typedef struct Run {
    PmuBlockBuilder builder;
    uint64_t addr[PMU_BLOCK_ACCESSES];
    PmuExecution dynamic;
} Run;

static void run_begin(Run *run, uint64_t pc, PmuLevel level)
{
    memset(run, 0, sizeof(*run));
    pmu_block_begin(&run->builder, level, pc);
    run->dynamic = (PmuExecution) {
        .addr = run->addr, .pc = pc, .target = pc, .taken = true,
    };
}

/* Append @code; all its accesses go to @addr. */
static void run_add(Run *run, PmuDecoder *decoder, Code code, uint64_t addr)
{
    PmuBlock *block = &run->builder.block;
    const uint8_t *bytes = (const uint8_t *)code.bytes;
    const PmuInsn *insn = describe(decoder, bytes, code.length);
    uint8_t next = block->num_accesses, ea = NONE, stack = NONE;

    if (insn->flags & (PMU_INSN_LOAD | PMU_INSN_STORE | PMU_INSN_FLUSH)) {
        run->addr[next] = addr;
        ea = next++;
    }
    if (insn->flags & (PMU_INSN_STACK_LOAD | PMU_INSN_STACK_STORE)) {
        run->addr[next] = addr;
        stack = next;
    }
    pmu_block_add_bytes(&run->builder, decoder, bytes, code.length,
                  (run->dynamic.pc + block->length) & 0xfff, ea, stack);
}

/* A core that simulates everything it runs in detail. */
typedef struct Core {
    PmuUarch uarch;
    PmuDecoder *decoder;
    PmuLedger ledger;
    PmuTiming *timing;
} Core;

/* @core is one of kind @kind with the parameters @uarch. */
static void core_init_of(Core *core, PmuCore kind, const PmuUarch *uarch,
                         PmuL3 *l3)
{
    core->uarch = *uarch;
    core->decoder = pmu_decoder_new(kind, &core->uarch);
    core->timing = pmu_timing_new(&core->uarch, &core->ledger, l3, identity,
                                  NULL);
    pmu_timing_set_sampling(core->timing, NULL);
}

static void core_init(Core *core, PmuL3 *l3)
{
    core_init_of(core, PMU_CORE_ICELAKE, pmu_uarch(PMU_CORE_ICELAKE), l3);
}

static void core_destroy(Core *core)
{
    pmu_timing_free(core->timing);
    pmu_decoder_free(core->decoder);
}

static void core_run(Core *core, const Run *run)
{
    pmu_timing_run(core->timing, &run->builder.block, 0,
                   run->builder.block.num_insns, &run->dynamic);
}

/*
 * Assert that the model repaired @repairs inputs, and that on each level the
 * classes of slots add up to all slots, width times cycles.
 */
static void assert_sound(Core *core, uint64_t repairs)
{
    PmuLedgerSnapshot now;

    pmu_timing_flush(core->timing);
    pmu_ledger_snapshot(&core->ledger, &now);
    for (PmuLevel level = 0; level < PMU_LEVEL_NR; level++) {
        const uint64_t *item = now.item[level];
        uint64_t sum = 0;

        for (unsigned i = 0; i < PMU_SLOT_NR; i++) {
            sum += item[i];
        }
        g_assert_cmpuint(sum, ==, item[PMU_ITEM_SLOTS]);
        g_assert_cmpuint(sum, ==,
                         core->ledger.width * item[PMU_ITEM_CYCLES]);
    }
    g_assert_cmpuint(pmu_timing_repairs(core->timing), ==, repairs);
}

static uint64_t count(Core *core, PmuLedgerItem item)
{
    PmuLedgerSnapshot now;

    pmu_timing_flush(core->timing);
    pmu_ledger_snapshot(&core->ledger, &now);
    return now.item[PMU_LEVEL_OS][item] + now.item[PMU_LEVEL_USR][item];
}

/* Make one block of NOPs that fills @lines lines from @pc. */
static void make_nops(Run *run, PmuDecoder *decoder, uint64_t pc,
                      unsigned lines)
{
    run_begin(run, pc, PMU_LEVEL_USR);
    for (unsigned i = 0; i < lines * LINE / nop.length; i++) {
        run_add(run, decoder, nop, 0);
    }
}

/*
 * CLFLUSH removes lines of code from L1I while other code is decoded.  A block
 * flushes the eight lines that have just run: all eight are fetched again, and
 * no other line.
 */
static void test_flushed_code(void)
{
    enum { LINES = 8 };
    g_autofree Run *code = g_new(Run, 1), *flush = g_new(Run, 1);
    uint64_t before;
    Core core = {};

    core_init(&core, NULL);
    make_nops(code, core.decoder, CODE, LINES);
    run_begin(flush, OTHER, PMU_LEVEL_USR);
    for (unsigned i = 0; i < LINES; i++) {
        run_add(flush, core.decoder, clflush, CODE + i * LINE);
    }
    run_add(flush, core.decoder, jmp, 0);
    core_run(&core, code);
    core_run(&core, flush);
    before = count(&core, PMU_ITEM_L1I_MISSES);
    core_run(&core, code);
    g_assert_cmpuint(count(&core, PMU_ITEM_L1I_MISSES) - before, ==, LINES);
    core_run(&core, code);
    core_run(&core, flush);
    g_assert_cmpuint(count(&core, PMU_ITEM_L1I_MISSES) - before, ==, LINES);
    g_assert_cmpuint(count(&core, PMU_ITEM_CLEARS_SMC), ==, 0);
    assert_sound(&core, 0);
    core_destroy(&core);
}

/*
 * Another vCPU stores to the lines of code of this one and sends invalidations
 * while this one decodes.  At least half of the lines are fetched again, and no
 * more than there are.  The rest may be lost, when two invalidations share an
 * entry of the queue: see invalidation-queue.h.
 */
static void test_written_code(void)
{
    enum { LINES = 8, PARTS = 4 };
    g_autofree Run *code = g_new(Run, PARTS), *half = g_new(Run, 2);
    g_autofree Run *writer = g_new(Run, 1);
    PmuL3 *l3 = pmu_l3_new(pmu_uarch(PMU_CORE_ICELAKE));
    uint64_t before, again;
    Core core[2] = {};

    for (unsigned i = 0; i < 2; i++) {
        core_init(&core[i], l3);
    }
    for (unsigned i = 0; i < PARTS; i++) {
        make_nops(&code[i], core[0].decoder, CODE + i * LINES * LINE, LINES);
        core_run(&core[0], &code[i]);
    }
    /* One line in two blocks: it is still being decoded when the first ends. */
    for (unsigned i = 0; i < 2; i++) {
        run_begin(&half[i], OTHER + i * LINE / 2, PMU_LEVEL_USR);
        for (unsigned n = 0; n < LINE / 2 / nop.length; n++) {
            run_add(&half[i], core[0].decoder, nop, 0);
        }
    }
    core_run(&core[0], &half[0]);
    for (unsigned i = 0; i < PARTS * LINES; i++) {
        run_begin(writer, 2 * OTHER, PMU_LEVEL_USR);
        run_add(writer, core[1].decoder, store, CODE + i * LINE);
        run_add(writer, core[1].decoder, jmp, 0);
        core_run(&core[1], writer);
    }
    before = count(&core[0], PMU_ITEM_L1I_MISSES);
    core_run(&core[0], &half[1]);
    for (unsigned i = 0; i < PARTS; i++) {
        core_run(&core[0], &code[i]);
    }
    again = count(&core[0], PMU_ITEM_L1I_MISSES) - before;
    g_test_message("%" G_GUINT64_FORMAT " of %u lines were fetched again",
                   again, PARTS * LINES);
    g_assert_cmpuint(again, <=, PARTS * LINES);
    g_assert_cmpuint(again, >=, PARTS * LINES / 2);
    for (unsigned i = 0; i < 2; i++) {
        assert_sound(&core[i], 0);
        core_destroy(&core[i]);
    }
    pmu_l3_unref(l3);
}

/*
 * Assert that each line in the DSB is also in L1I.  A store could not find it
 * otherwise.
 */
static void assert_dsb_within_l1i(const PmuFunctionalModel *o)
{
    const PmuCache *dsb = &o->fetcher.dsb;

    for (size_t i = 0; i < (dsb->set_mask + 1) * dsb->ways; i++) {
        g_assert_true(!dsb->tags[i] ||
                      pmu_cache_find(&o->mem.l1i,
                                     pmu_dsb_key_line(dsb->tags[i] - 1)) !=
                      PMU_CACHE_NONE);
    }
}

/* The DSB stays within L1I, whatever removes lines from L1I and whenever. */
static void test_dsb_within_l1i(void)
{
    static const Code pool[] = {
        I("\x0f\x1f\x40\x00"), I("\x48\x89\x03"), I("\x48\x8b\x03"),
        I("\x0f\xae\x3b"), I("\xff\x33"), I("\x48\x0f\xc3\x03"),
        I("\x48\xb8\x01\x02\x03\x04\x05\x06\x07\x08"), I("\xeb\x00"),
    };
    enum { LINES = 96 };
    g_autofree Run *run = g_new(Run, 1);
    g_autofree PmuFunctionalModel *o = g_new0(PmuFunctionalModel, 1);
    PmuUarch uarch = *pmu_uarch(PMU_CORE_ICELAKE);
    PmuDecoder *decoder = pmu_decoder_new(PMU_CORE_ICELAKE, &uarch);
    Random random = random_from_seed();
    PmuLedger ledger;
    uint64_t pc = CODE;

    uarch.l1i.size = 64 * LINE;
    uarch.l1i.ways = 2;
    pmu_ledger_init(&ledger, uarch.width, 1, 1, 1, 1);
    g_assert_true(pmu_functional_init(o, &uarch, &ledger, NULL, identity,
                                      NULL));
    for (unsigned i = 0; i < 20000; i++) {
        unsigned n = 1 + random_below(&random, 12), first = 0;

        run_begin(run, pc, PMU_LEVEL_USR);
        while (n-- && !pmu_block_full(&run->builder.block) &&
               run->builder.block.branch == PMU_BRANCH_NONE) {
            run_add(run, decoder,
                    pool[random_below(&random, G_N_ELEMENTS(pool))],
                    CODE + random_below(&random, LINES * LINE - 8));
        }
        while (first < run->builder.block.num_insns) {
            first = pmu_functional_run(o, &run->builder.block, first,
                                       run->builder.block.num_insns,
                                       &run->dynamic);
            assert_dsb_within_l1i(o);
        }
        /* Requests of other vCPUs come at any time. */
        if (random_below(&random, 8) == 0) {
            uint64_t line = CODE / LINE + random_below(&random, LINES);

            pmu_invalidation_queue_put(o->mem.snoops,
                                       (PmuSnoop) { line, true });
            pmu_memory_take_snoops(&o->mem);
        }
        assert_dsb_within_l1i(o);
        pc = run->builder.block.branch == PMU_BRANCH_NONE &&
             random_below(&random, 4)
             ? pc + run->builder.block.length
             : CODE + random_below(&random, LINES * LINE);
        pc = pc < CODE + LINES * LINE ? pc : CODE;
    }
    pmu_functional_destroy(o);
    pmu_decoder_free(decoder);
}

/* REP string instructions. */

static const Code strings[] = {
    I("\xf3\xa4"), I("\xf3\x66\xa5"), I("\xf3\xa5"), I("\xf3\x48\xa5"),
    I("\xf3\xa6"), I("\xf2\xa7"), I("\xf3\x48\xa7"),            /* CMPS */
    I("\xf3\xaa"), I("\xf3\x66\xab"), I("\xf3\x48\xab"),        /* STOS */
    I("\xf3\xac"), I("\xf3\x48\xad"),                           /* LODS */
    I("\xf2\xae"), I("\xf3\xaf"), I("\xf2\x48\xaf"),            /* SCAS */
    I("\xf3\x6c"), I("\xf3\x6d"), I("\xf3\x6e"), I("\xf3\x6f"), /* INS, OUTS */
};

/* Where the operands lie; some wrap around at the end of an address space. */
static const uint64_t string_addresses[] = { OTHER, 0, UINT64_MAX, 63, 0xfff };

/*
 * A REP string instruction takes no longer than the most iterations that it can
 * do at once, whatever count and address the guest gives.  Slots are conserved.
 * Each count above the maximum is repaired, once in each of two runs.  Some
 * 500,000 micro-ops take ten milliseconds; sanitizers and a slow host take ten
 * times as much each.  The limit for both is 2 seconds.
 */
static void test_strings(void)
{
    static const uint64_t counts[] = {
        UINT64_MAX, 1ull << 63, (1ull << 63) - 1, 1ull << 32,
        PMU_STRING_MAX_ITERATIONS + 1ull, PMU_STRING_MAX_ITERATIONS, 1, 0,
    };
    g_autofree Run *run = g_new(Run, 1);
    double slowest = 0;

    for (unsigned i = 0; i < G_N_ELEMENTS(strings); i++) {
        Core core = {};
        uint64_t repairs = 0;

        core_init(&core, NULL);
        for (unsigned n = 0; n < 2 * G_N_ELEMENTS(counts); n++) {
            double before = seconds();

            run_begin(run, CODE, PMU_LEVEL_USR);
            run_add(run, core.decoder, strings[i],
                    string_addresses[n % G_N_ELEMENTS(string_addresses)]);
            g_assert_true(run->builder.block.rep);
            run->dynamic.iterations = counts[n / 2];
            run->dynamic.backwards = n & 1;
            repairs += 2 * (counts[n / 2] > PMU_STRING_MAX_ITERATIONS);
            pmu_timing_string(core.timing, &run->builder.block, 0,
                              &run->dynamic);
            core_run(&core, run);
            assert_sound(&core, repairs);
            slowest = MAX(slowest, seconds() - before);
        }
        core_destroy(&core);
    }
    g_test_message("%.1f ms at most", slowest * 1000);
    g_assert_cmpfloat(slowest, <, 2);
}

/*
 * The same with estimated costs instead of detailed simulation.  48 of 64
 * counts are above the maximum, so 48 are repaired.
 */
static void test_strings_estimated(void)
{
    static const PmuSampling sampling = {
        .initial_detailed = 16, .full_warming = 16, .detailed_warming = 16,
                            .detailed = 16, .unknown_share = 8,
        .period = 4096, .functional_warming = 64,
    };
    g_autofree Run *run = g_new(Run, 1);

    for (unsigned i = 0; i < G_N_ELEMENTS(strings); i++) {
        double before = seconds();
        Core core = {};

        core_init(&core, NULL);
        pmu_timing_set_sampling(core.timing, &sampling);
        pmu_timing_set_interest(core.timing, (PmuInterest) {});
        run_begin(run, CODE, PMU_LEVEL_USR);
        run_add(run, core.decoder, strings[i], OTHER);
        for (unsigned n = 0; n < 64; n++) {
            run->dynamic.iterations = n < 16 ? n : UINT64_MAX - n;
            run->dynamic.backwards = n & 1;
            for (unsigned j = 0; j < PMU_BLOCK_ACCESSES; j++) {
                run->addr[j] = string_addresses[
                    (n + j) % G_N_ELEMENTS(string_addresses)];
            }
            core_run(&core, run);
        }
        assert_sound(&core, 48);
        g_assert_cmpuint(count(&core, PMU_ITEM_L1D_ACCESSES), <,
                         64 * 2 * (PMU_STRING_MAX_ITERATIONS + 2));
        core_destroy(&core);
        g_assert_cmpfloat(seconds() - before, <, 20);
    }
}

/*
 * Ranges of instructions that the block does not have do not run.  Each of the
 * five calls is repaired; only the first runs anything, all 16 NOPs.
 */
static void test_ranges(void)
{
    g_autofree Run *run = g_new(Run, 1);
    Core core = {};

    core_init(&core, NULL);
    make_nops(run, core.decoder, CODE, 1);
    pmu_timing_run(core.timing, &run->builder.block, 0, 1000, &run->dynamic);
    pmu_timing_run(core.timing, &run->builder.block, 16, 17, &run->dynamic);
    pmu_timing_run(core.timing, &run->builder.block, 3, 2, &run->dynamic);
    pmu_timing_string(core.timing, &run->builder.block, 0, &run->dynamic);
    pmu_timing_string(core.timing, &run->builder.block, 99, &run->dynamic);
    assert_sound(&core, 5);
    g_assert_cmpuint(count(&core, PMU_ITEM_INSTRUCTIONS), ==, 16);
    core_destroy(&core);
}

/*
 * An SMI or #VMEXIT leaves a region in its middle, and execution goes on in
 * memory that is far away.  The model does not fetch what lies between, so
 * 6,000 runs take less than 10 seconds.
 */
static void test_elsewhere(void)
{
    static const PmuSampling sampling = {
        .initial_detailed = 16, .full_warming = 16, .detailed_warming = 16,
                            .detailed = 16, .unknown_share = 64,
        .period = 1 << 20, .functional_warming = 64,
    };
    g_autofree Run *here = g_new(Run, 1), *there = g_new(Run, 1);
    double before = seconds();
    Core core = {};

    core_init(&core, NULL);
    pmu_timing_set_sampling(core.timing, &sampling);
    for (unsigned n = 0; n < 3000; n++) {
        /* Each is at another offset in its page, and so unknown code. */
        run_begin(here, CODE + n * 0x1001, PMU_LEVEL_OS);
        run_add(here, core.decoder, nop, 0);
        run_begin(there, (n & 1 ? 1ull << 51 : 1ull << 40) + n * 0x1001,
                  PMU_LEVEL_OS);
        run_add(there, core.decoder, nop, 0);
        run_add(there, core.decoder, jmp, 0);
        core_run(&core, n & 2 ? here : there);
        core_run(&core, n & 2 ? there : here);
    }
    assert_sound(&core, 0);
    core_destroy(&core);
    g_assert_cmpfloat(seconds() - before, <, 10);
}

/* Descriptions of instructions. */

/* Make random bytes that begin as instructions do.  Return their length. */
static unsigned random_code(Random *random, PmuDecoder *decoder,
                            uint8_t bytes[15])
{
    static const uint8_t starts[] = {
        0x66, 0xf2, 0xf3, 0xf0, 0x67, 0x48, 0x41, 0x0f, 0x0f, 0xc4, 0xc5,
    };
    unsigned first = random_below(random, 4);

    for (unsigned i = 0; i < 15; i++) {
        bytes[i] = i < first ? starts[random_below(random,
                                                   G_N_ELEMENTS(starts))]
                             : random_next(random);
    }
    for (unsigned length = 1; length < 15; length++) {
        if (!(describe(decoder, bytes, length)->flags & PMU_INSN_UNKNOWN)) {
            return length;
        }
    }
    return 1 + random_below(random, 15);
}

static void assert_ports(const PmuUarch *uarch, unsigned count,
                         uint16_t ports)
{
    g_assert_true(!count || ports);
    g_assert_cmphex(ports >> uarch->num_ports, ==, 0);
}

/* Assert that the fields that the pipeline uses as indices are in range. */
static void assert_description(const PmuUarch *uarch, const PmuInsn *insn)
{
    unsigned uops = 4;

    for (unsigned i = 0; i < PMU_INSN_COMPUTE; i++) {
        assert_ports(uarch, insn->compute[i].count, insn->compute[i].ports);
        uops += insn->compute[i].count;
    }
    if (insn->branch == PMU_BRANCH_COND) {
        assert_ports(uarch, insn->compute[0].count,
                     insn->compute[0].ports &
                     uarch->ports[PMU_UNIT_BRANCH_TAKEN]);
    }
    /*
     * PMU_MAX_LATE_DISPATCHES has room for this many beside a full scheduler.
     */
    g_assert_cmpuint(uops, <=, UINT8_MAX);
    g_assert_cmpuint(insn->slots, >, 0);
    g_assert_cmpuint(insn->resource, <, PMU_RESOURCE_NR);
    g_assert_cmpuint(insn->bypass, <, PMU_BYPASS_NR);
    g_assert_cmpuint(insn->insn_class, <, PMU_CLASS_NR);
    g_assert_cmpuint(insn->class_count, <=, 2);
    g_assert_cmpuint(insn->branch, <=, PMU_BRANCH_FAR);
    g_assert_cmpuint(insn->path, <=, PMU_PATH_STORE);
    g_assert_cmpuint(insn->addr_src[0], <, PMU_REG_NR);
    g_assert_cmpuint(insn->addr_src[1], <, PMU_REG_NR);
    for (unsigned i = 0; i < PMU_INSN_SRCS; i++) {
        g_assert_cmpuint(insn->src[i], <, PMU_REG_NR);
    }
    for (unsigned i = 0; i < PMU_INSN_DSTS; i++) {
        g_assert_cmpuint(insn->dst[i], <=, PMU_REG_NR);
    }
}

/*
 * The model runs any bytes, with the parameters of each core and of the
 * smallest and largest ones.  Nothing needs a repair, and slots are conserved.
 */
static void test_random_code(void)
{
    g_autofree Run *run = g_new(Run, 1);
    Random random = random_from_seed();

    for (unsigned round = 0; round < PMU_CORE_NR + 4; round++) {
        PmuCore kind = round % PMU_CORE_NR;
        PmuUarch uarch = *pmu_uarch(kind);
        Core core = {};

        if (round >= PMU_CORE_NR) {
            bool most = round & 2;

            uarch.scheduler = most ? PMU_MAX_SCHEDULER : 1;
            uarch.rob = most ? PMU_MAX_ROB : PMU_MIN_ROB;
            uarch.load_buffer = most ? PMU_MAX_LOAD_BUFFER : 1;
            uarch.store_buffer = most ? PMU_MAX_STORE_BUFFER : 1;
            uarch.dram_tenth_ns = 20000;
        }
        core_init_of(&core, kind, &uarch, NULL);
        for (unsigned n = 0; n < 2000; n++) {
            uint64_t pc = random_next(&random) >> random_below(&random, 63);

            run_begin(run, pc & ~0xfffull, n & 1 ? PMU_LEVEL_USR
                                                 : PMU_LEVEL_OS);
            pmu_decoder_set_mode(core.decoder, 16 << n % 3);
            while (!pmu_block_full(&run->builder.block) &&
                   run->builder.block.length < 2000 &&
                   !run->builder.block.rep && random_below(&random, 40)) {
                uint8_t bytes[15];
                Code code = {
                    (char *)bytes, random_code(&random, core.decoder, bytes),
                };

                assert_description(&core.uarch,
                                   describe(core.decoder, bytes, code.length));
                run_add(run, core.decoder, code,
                        random_next(&random) >> random_below(&random, 63));
                if (run->builder.block.branch != PMU_BRANCH_NONE) {
                    break;
                }
            }
            if (!run->builder.block.num_insns) {
                continue;
            }
            run->dynamic.target = random_next(&random);
            run->dynamic.taken = random_below(&random, 2);
            run->dynamic.backwards = random_below(&random, 2);
            run->dynamic.iterations = random_below(&random, 100);
            core_run(&core, run);
            if (random_below(&random, 20) == 0) {
                pmu_timing_interrupt(core.timing);
            }
        }
        g_test_message("core %u", kind);
        assert_sound(&core, 0);
        core_destroy(&core);
    }
}

/*
 * A guest makes new code all the time.  Its descriptions take no more than
 * twice the maximum, for this generation and the one before, if the caller
 * begins a generation when the pool is full.  All descriptions still in use
 * keep their contents.
 */
static void test_memory(void)
{
    enum { CHECKED = 64 };
    /* What the chunks of an arena round up to, in both generations. */
    const size_t slack = 4 << 20;
    PmuInsnPool *pool = pmu_insn_pool_new();
    PmuInsn insn = { .length = 1 }, was[CHECKED];
    const PmuInsn *kept[CHECKED];
    uint64_t generation = 0, n = 0;
    Random random = random_from_seed();

    while (generation < 5) {
        unsigned i = n++ % CHECKED;

        insn.flags = random_next(&random);
        insn.hold = random_next(&random);
        was[i] = insn;
        kept[i] = pmu_insn_pool_intern(pool, &insn);
        g_assert_true(pmu_insn_pool_intern(pool, &insn) == kept[i]);
        if (pmu_insn_pool_is_full(pool)) {
            for (i = 0; i < CHECKED; i++) {
                g_assert_cmpmem(kept[i], sizeof(insn), &was[i], sizeof(insn));
            }
            /*
             * A vCPU still has records of the current one, but not of the one
             * before.
             */
            pmu_insn_pool_begin_generation(pool, generation + 1, generation);
            generation++;
            for (i = 0; i < CHECKED; i++) {
                g_assert_cmpmem(kept[i], sizeof(insn), &was[i], sizeof(insn));
                g_assert_true(pmu_insn_pool_intern(pool, &was[i]) != kept[i]);
            }
        }
        g_assert_cmpuint(pmu_insn_pool_bytes(pool), <=,
                         2 * (size_t)PMU_INSN_POOL_MAX_BYTES + slack);
    }
    g_assert_cmpuint(n, >, 5ull * PMU_INSN_POOL_MAX_BYTES / 64 / 2);
    pmu_insn_pool_begin_generation(pool, generation + 1, generation + 1);
    g_assert_cmpuint(pmu_insn_pool_bytes(pool), ==, 0);
    pmu_insn_pool_free(pool);
}

/* The same for blocks, and for the decoder that keeps their instructions. */
static void test_block_memory(void)
{
    const size_t slack = 4 << 20;
    g_autofree Run *run = g_new(Run, 1);
    PmuDecoder *decoder = pmu_decoder_new(PMU_CORE_ICELAKE,
                                          pmu_uarch(PMU_CORE_ICELAKE));
    Random random = random_from_seed();
    const PmuBlock *before = NULL;
    uint64_t generation = 0, hash = 0, phys = 0;
    PmuBlockPool pool;

    pmu_block_pool_init(&pool);
    while (generation < 3) {
        const PmuBlock *block;

        run_begin(run, phys += 0x1000, PMU_LEVEL_USR);
        /* No code has a larger description for as little translated code. */
        run->builder.block.generation = generation;
        while (!pmu_block_full(&run->builder.block)) {
            run_add(run, decoder, (Code)I("\x90"), 0);
        }
        block = pmu_block_pool_add(&pool, &run->builder.block);
        g_assert_true(pmu_block_pool_find(&pool, &run->builder.block) ==
                      block);
        if (random_below(&random, 100) == 0) {
            before = block;
            hash = block->hash;
        }
        if (pmu_block_pool_is_full(&pool) || pmu_decoder_is_full(decoder)) {
            pmu_block_pool_begin_generation(&pool, generation + 1, generation);
            pmu_decoder_begin_generation(decoder, generation + 1, generation);
            generation++;
            /* A vCPU has yet to look at its records of these. */
            g_assert_cmphex(before->hash, ==, hash);
            g_assert_cmpuint(before->insns[3].insn->length, ==, 1);
        }
        g_assert_cmpuint(pool.arena.bytes, <=,
                         2 * (size_t)PMU_BLOCK_POOL_MAX_BYTES + slack);
    }
    pmu_block_pool_begin_generation(&pool, generation + 1, generation + 1);
    g_assert_cmpuint(pool.arena.bytes, ==, 0);
    pmu_block_pool_destroy(&pool);
    pmu_decoder_free(decoder);
}

/* A block does not grow beyond its arrays, whatever the caller appends. */
static void test_full_block(void)
{
    g_autofree Run *run = g_new(Run, 1);
    PmuDecoder *decoder = pmu_decoder_new(PMU_CORE_ICELAKE,
                                          pmu_uarch(PMU_CORE_ICELAKE));
    static const Code codes[] = {
        I("\x90"), I("\xff\x33"), I("\x66\x66\x66\x66\x66\x66\x2e\x0f\x1f\x84"
                                   "\0\0\0\0\0"),
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(codes); i++) {
        run_begin(run, CODE, PMU_LEVEL_USR);
        for (unsigned n = 0; n < 3 * PMU_BLOCK_INSNS; n++) {
            if (!pmu_block_full(&run->builder.block)) {
                run_add(run, decoder, codes[i], CODE);
            } else {
                pmu_block_add_bytes(&run->builder, decoder,
                              (const uint8_t *)codes[i].bytes,
                              codes[i].length, 0, NONE, NONE);
            }
        }
        g_assert_cmpuint(run->builder.block.num_insns, <=, PMU_BLOCK_INSNS);
        g_assert_cmpuint(run->builder.block.num_accesses, <=,
                         PMU_BLOCK_ACCESSES);
        g_assert_cmpuint(run->builder.block.num_segments, <=,
                         PMU_BLOCK_SEGMENTS);
    }
    pmu_decoder_free(decoder);
}

/* Data from a migration stream. */

/*
 * pmu_ledger_plausible() refuses totals that would wrap, and open cycles with
 * more slots of a class than the total has. pmu_ledger_fill_cycle() fills a
 * cycle that is incomplete: 7 slots of 5 a cycle make 2 cycles, so 3 are added
 * to the class.
 */
static void test_ledger(void)
{
    PmuLedger ledger;
    PmuLedgerSnapshot now;

    pmu_ledger_init(&ledger, 5, 1, 1, 1, 1);
    g_assert_true(pmu_ledger_plausible(&ledger));
    /* A total that soon wraps: 2^64 is no multiple of the width. */
    ledger.slots[PMU_LEVEL_OS][0] = UINT64_MAX;
    g_assert_false(pmu_ledger_plausible(&ledger));
    /* An open cycle with slots of classes of which the totals have none. */
    pmu_ledger_init(&ledger, 5, 1, 1, 1, 1);
    ledger.slots[PMU_LEVEL_OS][0] = 3;
    ledger.open[PMU_LEVEL_OS] = (PmuOpenCycle) { .slots = 3, .history = 0x111 };
    g_assert_false(pmu_ledger_plausible(&ledger));
    /* Slots in no cycle: the ledger adds to them, as totals never decrease. */
    pmu_ledger_init(&ledger, 5, 1, 1, 1, 1);
    ledger.slots[PMU_LEVEL_OS][2] = 7;
    pmu_ledger_fill_cycle(&ledger, PMU_LEVEL_OS);
    pmu_ledger_snapshot(&ledger, &now);
    g_assert_cmpuint(now.item[PMU_LEVEL_OS][PMU_ITEM_CYCLES], ==, 2);
    g_assert_cmpuint(now.item[PMU_LEVEL_OS][PMU_SLOT_BR_MISPREDICT], ==, 10);
    g_assert_cmpuint(ledger.repairs, ==, 1);
}

/* Assert what the counters and overflow code rely on in a selection. */
static void check_selection(const PmuSelection *selection)
{
    g_assert_cmpuint(selection->num_terms, <, PMU_SELECTION_TERMS);
    g_assert_false(selection->capped && selection->minuend);
    g_assert_true(!selection->minuend || selection->single);
}

/*
 * No selector that a guest can write, with any of the modifiers, breaks that.
 */
static void test_selectors(void)
{
    static const uint32_t modifiers[] = {
        PMU_EVENT_CMASK(1), PMU_EVENT_CMASK(1) | PMU_EVENT_INV,
        PMU_EVENT_CMASK(6), PMU_EVENT_CMASK(255), PMU_EVENT_EDGE,
        PMU_EVENT_CMASK(2) | PMU_EVENT_INV,
        PMU_EVENT_CMASK(2) | PMU_EVENT_INV | PMU_EVENT_EDGE,
        PMU_EVENT_CMASK(1) | PMU_EVENT_EDGE, PMU_EVENT_INV,
    };
    uint64_t extra[PMU_EXTRA_NR];

    memset(extra, 0xff, sizeof(extra));
    for (PmuCore core = 0; core < PMU_CORE_NR; core++) {
        for (unsigned selector = 0; selector <= UINT16_MAX; selector++) {
            PmuSelection selection;

            pmu_event_select(&selection, core, 0, selector, extra);
            check_selection(&selection);
            for (unsigned i = 0; i < G_N_ELEMENTS(modifiers) &&
                 selection.state != PMU_EVENT_UNKNOWN; i++) {
                PmuSelection other;

                pmu_event_select(&other, core, 0, selector | modifiers[i],
                                 extra);
                check_selection(&other);
            }
        }
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/limits/flushed-code", test_flushed_code);
    g_test_add_func("/limits/written-code", test_written_code);
    g_test_add_func("/limits/dsb-within-l1i", test_dsb_within_l1i);
    g_test_add_func("/limits/strings", test_strings);
    g_test_add_func("/limits/strings-estimated", test_strings_estimated);
    g_test_add_func("/limits/ranges", test_ranges);
    g_test_add_func("/limits/elsewhere", test_elsewhere);
    g_test_add_func("/limits/random-code", test_random_code);
    g_test_add_func("/limits/memory", test_memory);
    g_test_add_func("/limits/block-memory", test_block_memory);
    g_test_add_func("/limits/full-block", test_full_block);
    g_test_add_func("/limits/ledger", test_ledger);
    g_test_add_func("/limits/selectors", test_selectors);
    return g_test_run();
}
