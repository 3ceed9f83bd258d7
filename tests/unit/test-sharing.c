/*
 * vCPUs that share data.  Two cores take turns in a loop that increments a
 * counter in memory; their counters are in one line or in two.  What each core
 * finds follows from the number of turns.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>
#include <math.h>
#include <string.h>

#include "tcg/pmu/decode/block-builder.h"
#include "tcg/pmu/decode/decoder.h"
#include "tcg/pmu/sampling/timing.h"

#define CORES       2
#define TURNS       60000
#define PER_TURN    16          /* iterations */

typedef struct Core {
    PmuLedger ledger;
    PmuTiming *timing;
    PmuLedgerSnapshot result;
} Core;

static PmuMapping page_of(void *opaque, uint64_t page)
{
    return (PmuMapping) { page };
}

static void add(PmuBlockBuilder *builder, PmuDecoder *decoder,
                const char *bytes, unsigned length, uint8_t ea)
{
    pmu_block_add_bytes(builder, decoder, (const uint8_t *)bytes, length,
                  builder->block.length, ea, PMU_NO_ACCESS);
}

/* mov rax, [rsi]; add rax, 1; mov [rsi], rax; dec rcx; jnz */
static void make_loop(PmuBlockBuilder *builder, PmuDecoder *decoder)
{
    pmu_block_begin(builder, PMU_LEVEL_USR, 0x400000);
    add(builder, decoder, "\x48\x8b\x06", 3, 0);
    add(builder, decoder, "\x48\x83\xc0\x01", 4, PMU_NO_ACCESS);
    add(builder, decoder, "\x48\x89\x06", 3, 1);
    add(builder, decoder, "\x48\xff\xc9", 3, PMU_NO_ACCESS);
    add(builder, decoder, "\x75\xf1", 2, PMU_NO_ACCESS);
}

/* Run both cores into @core.  Their counters are @distance bytes apart. */
static void run(const PmuSampling *sampling, uint64_t distance,
                Core core[CORES])
{
    const PmuUarch *uarch = pmu_uarch(PMU_CORE_ICELAKE);
    PmuL3 *l3 = pmu_l3_new(uarch);
    PmuDecoder *decoder = pmu_decoder_new(PMU_CORE_ICELAKE,
                                          pmu_uarch(PMU_CORE_ICELAKE));
    PmuBlockBuilder *builder = g_new(PmuBlockBuilder, 1);

    make_loop(builder, decoder);
    for (unsigned i = 0; i < CORES; i++) {
        core[i].timing = pmu_timing_new(uarch, &core[i].ledger, l3, page_of,
                                        NULL);
        pmu_timing_set_sampling(core[i].timing, sampling);
    }
    for (unsigned turn = 0; turn < CORES * TURNS; turn++) {
        unsigned i = turn % CORES;
        uint64_t counter = 0x10000 + i * distance;
        uint64_t addr[] = { counter, counter };
        PmuExecution dynamic = {
            .addr = addr, .pc = 0x400000, .target = 0x400000, .taken = true,
        };

        for (unsigned n = 0; n < PER_TURN; n++) {
            pmu_timing_run(core[i].timing, &builder->block, 0,
                           builder->block.num_insns, &dynamic);
        }
    }
    for (unsigned i = 0; i < CORES; i++) {
        pmu_timing_flush(core[i].timing);
        pmu_ledger_snapshot(&core[i].ledger, &core[i].result);
        g_assert_cmpuint(pmu_timing_repairs(core[i].timing), ==, 0);
        pmu_timing_free(core[i].timing);
    }
    g_free(builder);
    pmu_decoder_free(decoder);
    pmu_l3_unref(l3);
}

static double count(const Core *core, unsigned item)
{
    return core->result.item[PMU_LEVEL_USR][item];
}

/*
 * The first load of each turn finds the line modified by the other core: one
 * such load a turn, but for the first turn.  With a line each there is none.
 */
static void test_found(void)
{
    Core core[CORES];

    run(&pmu_sampling, 8, core);
    for (unsigned i = 0; i < CORES; i++) {
        g_assert_cmpfloat(fabs(count(&core[i], PMU_ITEM_DATA_L3_MODIFIED) -
                               TURNS), <=, 1);
        g_assert_cmpfloat(fabs(count(&core[i], PMU_ITEM_LOADS_L3) - TURNS),
                          <=, 1);
        g_assert_cmpfloat(fabs(count(&core[i], PMU_ITEM_LOADS_L3_FORWARDED) -
                               TURNS), <=, 1);
    }
    run(&pmu_sampling, 64, core);
    for (unsigned i = 0; i < CORES; i++) {
        g_assert_cmpfloat(count(&core[i], PMU_ITEM_LOADS_L3), <=, 1);
    }
}

/*
 * Such a load also costs time, once a turn, whether the core is simulated in
 * detail or sampled.  It waits for the L3 and the snoop, and a machine clear
 * fetches it anew (mispredict_penalty): cycles to 5 %, clears to 3 %.
 */
static void test_time(gconstpointer data)
{
    const PmuUarch *uarch = pmu_uarch(PMU_CORE_ICELAKE);
    uint64_t wait = uarch->mispredict_penalty + uarch->l3.latency +
                    uarch->snoop_latency;
    Core shared[CORES], apart[CORES];

    run(data, 8, shared);
    run(data, 64, apart);
    for (unsigned i = 0; i < CORES; i++) {
        double more = count(&shared[i], PMU_ITEM_CYCLES) -
                      count(&apart[i], PMU_ITEM_CYCLES);

        g_test_message("%.1f cycles a turn more", more / TURNS);
        g_assert_cmpfloat(more / TURNS, >=, 0.95 * wait);
        g_assert_cmpfloat(more / TURNS, <=, 1.05 * wait);
        g_assert_cmpfloat(count(&shared[i], PMU_ITEM_CLEARS_ORDERING), >=,
                          0.97 * TURNS);
        g_assert_cmpfloat(count(&shared[i], PMU_ITEM_CLEARS_ORDERING), <=,
                          1.03 * TURNS);
        g_assert_cmpfloat(count(&apart[i], PMU_ITEM_CLEARS_ORDERING), <=, 1);
        g_assert_cmpfloat(count(&shared[i], PMU_SLOT_MACHINE_CLEARS), >,
                          count(&apart[i], PMU_SLOT_MACHINE_CLEARS) +
                          TURNS * uarch->mispredict_penalty);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/sharing/found", test_found);
    g_test_add_data_func("/sharing/time/detailed", NULL, test_time);
    g_test_add_data_func("/sharing/time/sampled", &pmu_sampling, test_time);
    return g_test_run();
}
