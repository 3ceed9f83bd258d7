/*
 * Fuzz target: the timing model.  Whatever runs, no instruction is lost, and
 * the ledger keeps its promises.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Two cores share an L3.  Code and data of both are in the same few places, so
 * that the cores take lines from each other.
 */

#include <string.h>

#include "code.h"
#include "targets.h"
#include "tcg/pmu/decode/block-builder.h"
#include "tcg/pmu/decode/decoder.h"
#include "tcg/pmu/sampling/timing.h"

#define CORES       2
#define BLOCKS      8
#define LOG_WORDS   512

/* The most iterations of a REP instruction; as many take milliseconds. */
#define ITERATIONS  (1 << 14)

/*
 * Decoded instructions after which the target takes a new decoder.  A decoder's
 * pool of instructions only grows.
 */
#define DECODER_INSNS   100000

typedef struct Core {
    PmuLedger ledger;
    PmuTiming *timing;
    uint64_t retired[PMU_LEVEL_NR];     /* instructions since the reset */
    uint64_t ledger_before[PMU_LEVEL_NR];   /* in the ledger at the reset */
    uint64_t progress;
} Core;

typedef struct Rig {
    PmuL3 *l3;
    Core core[CORES];
    PmuDecoder *decoder;
    PmuBlockBuilder builder[BLOCKS];
    unsigned blocks;
    uint64_t place[16];         /* where code and data are */
    uint64_t log[LOG_WORDS];
    FuzzInput in;
} Rig;

/* Returns the mapping of @page.  Some are missing, large or global. */
static PmuMapping page_of(void *opaque, uint64_t page)
{
    return (PmuMapping) {
        .page = page % 11 == 10 ? PMU_NO_PAGE
                                : page & ((1ull << 40) - 1),
        .size = page % 7 % PMU_PAGE_SIZES, .global = page % 5 == 0,
    };
}

static Rig *rig_new(void)
{
    Rig *rig = g_new0(Rig, 1);
    const PmuUarch *uarch = pmu_uarch(PMU_CORE_ICELAKE);

    rig->l3 = pmu_l3_new(uarch);
    for (unsigned i = 0; i < CORES; i++) {
        rig->core[i].timing = pmu_timing_new(uarch, &rig->core[i].ledger,
                                             rig->l3, page_of, NULL);
        g_assert_nonnull(rig->core[i].timing);
    }
    return rig;
}

static uint64_t retired(const Core *core, PmuLevel level)
{
    return core->ledger.event[level][PMU_ITEM_INSTRUCTIONS];
}

/* Give @core the state of a new one, but keep the totals of its ledger. */
static void core_reset(Core *core)
{
    pmu_timing_reset(core->timing);
    for (PmuLevel level = 0; level < PMU_LEVEL_NR; level++) {
        core->ledger_before[level] = retired(core, level);
        core->retired[level] = 0;
    }
    core->progress = pmu_timing_progress(core->timing);
}

static void rig_prepare(Rig *rig)
{
    const PmuUarch *uarch = pmu_uarch(PMU_CORE_ICELAKE);

    if (rig->decoder &&
        pmu_decoder_stats(rig->decoder).decoded >= DECODER_INSNS) {
        pmu_decoder_free(rig->decoder);
        rig->decoder = NULL;
    }
    if (!rig->decoder) {
        rig->decoder = pmu_decoder_new(PMU_CORE_ICELAKE, uarch);
        g_assert_nonnull(rig->decoder);
    }
    pmu_tag_array_clear(pmu_l3_tag_array(rig->l3));
    for (unsigned i = 0; i < CORES; i++) {
        pmu_timing_set_sampling(rig->core[i].timing, &pmu_sampling);
        pmu_timing_set_interest(rig->core[i].timing, (PmuInterest) {
            .sampled = UINT32_MAX, .observed = true, .taken = true,
        });
        core_reset(&rig->core[i]);
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(rig->place); i++) {
        rig->place[i] = i % 4 ? rig->place[i - 1] + 64 * fuzz_byte(&rig->in)
                              : fuzz_number(&rig->in);
    }
    rig->blocks = 1 + fuzz_below(&rig->in, BLOCKS);
    for (unsigned i = 0; i < rig->blocks; i++) {
        fuzz_make_block(&rig->in, rig->decoder, &rig->builder[i]);
        pmu_block_set_number(&rig->builder[i].block, i);
    }
}

static const PmuBlock *any_block(Rig *rig)
{
    return &rig->builder[fuzz_below(&rig->in, rig->blocks)].block;
}

/* Returns an address that is often shared, so that stores also hit code. */
static uint64_t any_address(Rig *rig)
{
    unsigned kind = fuzz_byte(&rig->in);

    if (kind < 0x80) {
        return rig->place[kind % 16] + (kind >> 4);
    }
    return kind < 0xe0 ? any_block(rig)->phys + kind % 64
                       : fuzz_number(&rig->in);
}

static uint64_t any_pc(Rig *rig, const PmuBlock *block)
{
    /* Linear and physical addresses have the same offset in their page. */
    uint64_t pc = (any_address(rig) & -4096) | (block->phys & 4095);

    return block->low32 ? (uint32_t)pc : pc;
}

static void any_dynamic(Rig *rig, const PmuBlock *block, PmuExecution *dynamic)
{
    uint64_t *addr = rig->log;

    for (unsigned i = 0; i < block->num_accesses; i++) {
        addr[i] = any_address(rig);
    }
    *dynamic = (PmuExecution) {
        .addr = addr, .pc = any_pc(rig, block), .target = any_address(rig),
        .taken = fuzz_one_in(&rig->in, 2),
        .backwards = fuzz_one_in(&rig->in, 2),
        .iterations = fuzz_number(&rig->in) % ITERATIONS,
    };
}

/* Some blocks ran to their ends. */
static void run_log(Rig *rig, Core *core)
{
    unsigned n = 1 + fuzz_below(&rig->in, 32);
    uint64_t *next = rig->log;

    for (; n; n--) {
        const PmuBlock *block = any_block(rig);
        PmuRecord *record = (PmuRecord *)next;

        if (next + PMU_RECORD_WORDS(block->num_accesses) >
            rig->log + LOG_WORDS) {
            break;
        }
        record->block = block;
        record->pc = any_pc(rig, block);
        for (unsigned i = 0; i < block->num_accesses; i++) {
            record->addr[i] = any_address(rig);
        }
        next += PMU_RECORD_WORDS(block->num_accesses);
        core->retired[block->level] += block->num_insns;
    }
    pmu_timing_run_log(core->timing, rig->log, next, any_address(rig));
}

/* A part of a block ran. */
static void run_part(Rig *rig, Core *core)
{
    const PmuBlock *block = any_block(rig);
    unsigned first = fuzz_below(&rig->in, block->num_insns);
    unsigned last = first + 1 + fuzz_below(&rig->in, block->num_insns - first);
    PmuExecution dynamic;

    any_dynamic(rig, block, &dynamic);
    pmu_timing_run(core->timing, block, first, last, &dynamic);
    core->retired[block->level] += last - first;
}

/* Some iterations of a REP string instruction ran. */
static void run_string(Rig *rig, Core *core)
{
    const PmuBlock *block = any_block(rig);
    PmuExecution dynamic;

    if (block->rep) {
        any_dynamic(rig, block, &dynamic);
        dynamic.iterations += !dynamic.iterations;
        pmu_timing_string(core->timing, block, block->num_insns - 1,
                          &dynamic);
    }
}

/* Translated code counted a run of a block, if the model allows that. */
static void run_forward(Rig *rig, Core *core)
{
    const PmuBlock *block = any_block(rig);
    uint32_t may = pmu_timing_fast_forward_insns(core->timing);
    PmuBlockRunCount *runs;

    if (may < block->num_insns || !pmu_block_is_plain(block) ||
        !pmu_block_has_number(block) ||
        !pmu_timing_start_counting(core->timing, block)) {
        return;
    }
    runs = &pmu_timing_block_runs(core->timing)[block->number];
    runs->times++;
    core->retired[block->level] += block->num_insns;
    pmu_timing_add_uncollected(core->timing, block->num_insns,
                               pmu_cost_progress(runs->cost));
    if (fuzz_one_in(&rig->in, 4)) {
        pmu_timing_assist(core->timing, block, true);
    }
}

/* Set short windows and periods, so that a short log has some of each. */
static void set_sampling(Rig *rig, Core *core)
{
    /* The model keeps a pointer to it until the next one is set. */
    static PmuSampling sampling[CORES];
    PmuSampling *s = &sampling[core - rig->core];

    if (fuzz_one_in(&rig->in, 4)) {
        pmu_timing_set_sampling(core->timing, NULL);
        return;
    }
    pmu_timing_set_sampling(core->timing, NULL);
    *s = (PmuSampling) {
        .initial_detailed = 1 + fuzz_byte(&rig->in),
                            .fetch_warming = fuzz_byte(&rig->in),
        .full_warming = 1 + fuzz_byte(&rig->in),
                        .detailed_warming = 1 + fuzz_byte(&rig->in),
        .detailed = 1 + fuzz_byte(&rig->in),
                    .unknown_share = 1 + fuzz_byte(&rig->in),
        .period = 1024 + fuzz_byte(&rig->in),
        .functional_warming = 1 + fuzz_byte(&rig->in),
    };
    pmu_timing_set_sampling(core->timing, s);
}

static void set_interest(Rig *rig, Core *core)
{
    unsigned bits = fuzz_byte(&rig->in);

    pmu_timing_set_interest(core->timing, (PmuInterest) {
        .sampled = bits & 4 ? fuzz_bytes(&rig->in, 4) : 0,
        .observed = bits & 1, .taken = bits & 2,
        .time_only = (bits & 7) == 0 && bits & 8,
    });
}

static void any_event(Rig *rig, Core *core)
{
    switch (fuzz_below(&rig->in, 8)) {
    case 0:
        pmu_timing_flush(core->timing);
        break;
    case 1:
        pmu_timing_flush_exact(core->timing);
        break;
    case 2:
        pmu_timing_flush_mappings(core->timing, fuzz_below(&rig->in, 3),
                                  any_address(rig));
        break;
    case 3:
        pmu_timing_interrupt(core->timing);
        if (fuzz_one_in(&rig->in, 2)) {
            pmu_timing_event_delivery(core->timing,
                                      fuzz_below(&rig->in, PMU_LEVEL_NR));
        }
        break;
    case 4:
        pmu_timing_assist(core->timing, any_block(rig), false);
        break;
    case 5:
        set_interest(rig, core);
        break;
    case 6:
        set_sampling(rig, core);
        break;
    default:
        pmu_timing_stop_counting(core->timing);
        if (fuzz_one_in(&rig->in, 8)) {
            core_reset(core);
        }
    }
}

/* Check for each level: SLOTS = width x CYCLES = sum of the classes. */
static void check_conserved(const Core *core)
{
    PmuLedgerSnapshot now;

    g_assert_true(pmu_ledger_plausible(&core->ledger));
    pmu_ledger_snapshot(&core->ledger, &now);
    for (PmuLevel level = 0; level < PMU_LEVEL_NR; level++) {
        uint64_t sum = 0;

        for (unsigned i = 0; i < PMU_SLOT_NR; i++) {
            sum += now.item[level][i];
        }
        g_assert_cmpuint(sum, ==, now.item[level][PMU_ITEM_SLOTS]);
        g_assert_cmpuint(sum, ==, now.item[level][PMU_ITEM_CYCLES] *
                                  core->ledger.width);
    }
}

/* Check that no instruction was lost or counted twice. */
static void check_retired(const Core *core)
{
    for (PmuLevel level = 0; level < PMU_LEVEL_NR; level++) {
        g_assert_cmpuint(retired(core, level) - core->ledger_before[level], ==,
                         core->retired[level]);
    }
}

static void check_progress(Core *core)
{
    uint64_t now = pmu_timing_progress(core->timing);

    g_assert_cmpuint(now, >=, core->progress);
    core->progress = now;
}

void fuzz_log(const uint8_t *data, size_t size)
{
    static Rig *rig;

    rig = rig ? rig : rig_new();
    rig->in = fuzz_input(data, size);
    rig_prepare(rig);
    while (fuzz_more(&rig->in)) {
        Core *core = &rig->core[fuzz_one_in(&rig->in, CORES)];

        switch (fuzz_below(&rig->in, 8)) {
        case 0:
            run_part(rig, core);
            break;
        case 1:
            run_string(rig, core);
            break;
        case 2:
        case 3:
            run_forward(rig, core);
            break;
        case 4:
            any_event(rig, core);
            break;
        default:
            run_log(rig, core);
        }
        check_progress(core);
    }
    for (unsigned i = 0; i < CORES; i++) {
        pmu_timing_stop_counting(rig->core[i].timing);
        pmu_timing_flush(rig->core[i].timing);
        check_retired(&rig->core[i]);
        check_conserved(&rig->core[i]);
    }
}
