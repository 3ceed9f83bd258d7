/*
 * Fuzz target: migration.  Registers and a ledger come from a migration stream,
 * which may be hostile.  They are refused, or work as any others.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <string.h>

#include "registers.h"
#include "targets.h"

/* Returns any number, in most cases limited to @mask, which a guest can set. */
static uint64_t any_member(FuzzInput *in, uint64_t mask)
{
    uint64_t value = fuzz_number(in);

    return fuzz_one_in(in, 64) ? value : value & mask;
}

static void load_array(FuzzInput *in, uint64_t *array, unsigned n,
                       uint64_t mask)
{
    for (unsigned i = 0; i < n; i++) {
        array[i] = fuzz_one_in(in, 4) ? any_member(in, mask) : 0;
    }
}

/* Fill in the members that migrate: see pmu-vmstate.c. */
static void load_registers(FuzzInput *in, Perfmon *pmu)
{
    const uint64_t counter = (1ull << 48) - 1;

    const uint64_t selector =
        pmu->map == &perfmon_map_netburst ? 0xcffff000 : 0xffdfffff;

    load_array(in, pmu->gp, pmu->config.num_gp,
               pmu->mask[PERFMON_MASK_COUNTER]);
    load_array(in, pmu->evtsel, pmu->config.num_gp, selector);
    load_array(in, pmu->fixed, PERFMON_MAX_FIXED, counter);
    pmu->fixed_ctr_ctrl = any_member(in, 0xbbb);
    pmu->global_ctrl = any_member(in, 0x1000f000000ffull);
    pmu->global_status = any_member(in, 0x1000f000000ffull);
    load_array(in, pmu->metrics, PERFMON_MAX_METRICS, counter);
    pmu->debugctl = any_member(in, 0x1800);
    load_array(in, pmu->offcore_rsp, 2, 0x3fffffffff);
    pmu->pebs_ld_lat = any_member(in, 0xffff);
    pmu->pebs_frontend = any_member(in, 0x7fffff);
    load_array(in, pmu->escr, PERFMON_ESCRS, 0x7fffffff);
    pmu->pebs_enable = any_member(in, 0x1001fff);
    pmu->pebs_matrix_vert = any_member(in, 0x1fff);
    pmu->cesr = any_member(in, 0x03ff03ff);
    pmu->pmi = fuzz_one_in(in, 2);
}

static void load_ledger(FuzzInput *in, PmuLedger *ledger)
{
    const uint64_t most = (1ull << 56) - 1;

    for (PmuLevel level = 0; level < PMU_LEVEL_NR; level++) {
        PmuOpenCycle *open = &ledger->open[level];

        load_array(in, ledger->slots[level], PMU_SLOT_NR, most);
        load_array(in, ledger->event[level], PMU_ITEM_NR, most);
        if (fuzz_one_in(in, 2)) {
            open->slots = any_member(in, 3);
            open->history = fuzz_number(in);
        }
    }
    ledger->level = any_member(in, 1);
}

/*
 * Round the slots of @level up to whole cycles.  Without this, most ledgers
 * would be refused.
 */
static void complete_cycles(PmuLedger *ledger, PmuLevel level)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < PMU_SLOT_NR; i++) {
        sum += ledger->slots[level][i];
    }
    sum -= ledger->open[level].slots;
    ledger->slots[level][0] += ledger->width - sum % ledger->width;
}

void fuzz_load(const uint8_t *data, size_t size)
{
    static Perfmon pmu, migrated;
    static PmuLedger ledger;
    FuzzInput in = fuzz_input(data, size);
    PmuLedgerSnapshot now;
    const char *why = NULL;

    fuzz_make_unit(&in, &pmu);
    pmu_ledger_init(&ledger, pmu_uarch(pmu.config.core)->width, 2, 3, 1, 28);
    migrated = pmu;
    load_registers(&in, &migrated);
    load_ledger(&in, &ledger);
    if (!fuzz_one_in(&in, 8)) {
        complete_cycles(&ledger, PMU_LEVEL_OS);
        complete_cycles(&ledger, PMU_LEVEL_USR);
    }
    if (!pmu_ledger_plausible(&ledger)) {
        return;
    }
    pmu_ledger_snapshot(&ledger, &now);
    if (!perfmon_post_load(&migrated, &now, &why)) {
        g_assert_nonnull(why);
        return;
    }
    fuzz_use_unit(&in, &migrated, &ledger);
}
