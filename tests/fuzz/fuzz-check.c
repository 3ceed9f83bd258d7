/*
 * Fuzz target: the checker of drivers.  Its memory comes from a migration
 * stream, which may be hostile.  Then any accesses, interrupts and overflows
 * follow.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "registers.h"
#include "targets.h"
#include "tcg/pmu/check/check.h"

/* Lets fuzz_below() also return a value just outside of the @n valid ones. */
#define ONE_TOO_MANY(n) ((n) + 1)

static bool any_bool(FuzzInput *in)
{
    return fuzz_one_in(in, 2);
}

static void load_counter(FuzzInput *in, PmuCheckCounter *counter)
{
    *counter = (PmuCheckCounter) {
        .known = any_bool(in), .ever_written = any_bool(in),
        .counted = any_bool(in), .passed_over = any_bool(in),
        .acked = any_bool(in), .inside = any_bool(in),
        .owned = any_bool(in), .dead_reads = fuzz_byte(in),
        .idle = any_bool(in), .idle_reported = any_bool(in),
        .idle_since = fuzz_number(in), .event = fuzz_number(in),
        .space = fuzz_number(in),
    };
}

static PmuCheckSlots any_slots(FuzzInput *in)
{
    return (PmuCheckSlots) {
        .state = fuzz_below(in, ONE_TOO_MANY(PMU_PAIR_STATES)),
        .slots_written = fuzz_number(in),
        .metrics_written = fuzz_number(in), .stopped = fuzz_number(in),
        .acked = fuzz_number(in), .metrics_acked = any_bool(in),
        .ran = any_bool(in), .read = any_bool(in),
        .read_running = any_bool(in), .disturbed = any_bool(in),
        .saved = any_bool(in), .metrics_read = any_bool(in),
        .metrics_read_at = fuzz_number(in),
    };
}

static PmuCheckPmi any_pmi(FuzzInput *in)
{
    return (PmuCheckPmi) {
        .lvtpc = fuzz_bytes(in, 4), .lvtpc_known = any_bool(in),
        .latched = any_bool(in), .held = any_bool(in),
        .active = any_bool(in), .unmasked = any_bool(in),
        .status_read = any_bool(in), .started = any_bool(in),
        .status_reads = fuzz_bytes(in, 4),
        .depth = any_bool(in)
                 ? fuzz_below(in, ONE_TOO_MANY(PMU_CHECK_MAX_DEPTH + 1)) : 0,
        .masked = any_bool(in), .masked_reported = any_bool(in),
        .masked_since = fuzz_number(in),
    };
}

/* Fill in the members that migrate: see pmu-check-vmstate.c. */
static void load_memory(FuzzInput *in, PmuCheckMemory *memory)
{
    *memory = (PmuCheckMemory) {
        .number = fuzz_number(in), .slots = any_slots(in),
        .pmi = any_pmi(in), .status_read = fuzz_number(in),
        .pending = fuzz_number(in), .lost = fuzz_number(in),
        .last_read = fuzz_below(in, ONE_TOO_MANY(PMU_CHECK_COUNTERS + 1)),
    };
    for (unsigned i = 0; i < PMU_CHECK_COUNTERS; i++) {
        if (any_bool(in)) {
            load_counter(in, &memory->counter[i]);
        }
    }
    /* Without this, most memories would be refused. */
    if (any_bool(in)) {
        memory->pmi.active = memory->pmi.depth;
    }
}

static void access_register(FuzzInput *in, PmuCheck *check, Perfmon *pmu,
                            const PmuCheckWhere *where)
{
    uint32_t msr = fuzz_msr(in, pmu);
    uint64_t value = fuzz_value(in);

    if (any_bool(in)) {
        if (perfmon_rdmsr(pmu, msr, &value) == PERFMON_OK) {
            pmu_check_read(check, where, any_bool(in) ? PMU_CHECK_RDMSR
                           : PMU_CHECK_RDPMC, msr, value);
        } else {
            pmu_check_gp(check, where, PMU_CHECK_RDMSR, msr, 0);
        }
    } else if (perfmon_wrmsr_check(pmu, msr, value) == PERFMON_OK) {
        pmu_check_write(check, where, msr, value);
        perfmon_wrmsr(pmu, msr, value);
    } else {
        pmu_check_gp(check, where, PMU_CHECK_WRMSR, msr, value);
    }
}

static void something(FuzzInput *in, PmuCheck *check, Perfmon *pmu,
                      const PmuCheckWhere *where)
{
    switch (fuzz_below(in, 12)) {
    case 0:
        pmu_check_overflow(check, where, fuzz_number(in));
        break;
    case 1:
        pmu_check_pmi(check, where, fuzz_below(in, PMU_CHECK_MASKED + 1));
        break;
    case 2:
        pmu_check_lvtpc(check, where, fuzz_bytes(in, 4));
        break;
    case 3:
        pmu_check_interrupt(check, where, fuzz_byte(in));
        break;
    case 4:
        pmu_check_iret(check, where);
        break;
    case 5:
        pmu_check_halt(check, where, fuzz_below(in, PMU_CHECK_FEWER + 1));
        break;
    case 6:
        pmu_check_time(check, where);
        break;
    case 7:
        if (fuzz_one_in(in, 8)) {
            perfmon_reset(pmu);
            pmu_check_reset(check);
        }
        break;
    default:
        access_register(in, check, pmu, where);
    }
}

static void drive(FuzzInput *in, PmuCheck *check, Perfmon *pmu)
{
    PmuCheckWhere where = {};

    while (fuzz_more(in)) {
        where.clock += fuzz_one_in(in, 8) ? fuzz_number(in) : fuzz_byte(in);
        where.rip = fuzz_byte(in);
        where.cr3 = fuzz_below(in, 4) << 12;
        where.cpl = any_bool(in) ? 0 : 3;
        something(in, check, pmu, &where);
    }
}

static void report(void *opaque, const PmuCheckHit *hit)
{
    unsigned *reports = opaque;

    g_assert_nonnull(hit->rule);
    *reports += 1;
}

void fuzz_check(const uint8_t *data, size_t size)
{
    static Perfmon pmu;
    FuzzInput in = fuzz_input(data, size);
    PmuCheckMemory memory;
    unsigned reports = 0, sites = 0;
    PmuCheckConfig config = {
        .rules = pmu_rule_set_default(), .report = report, .opaque = &reports,
    };
    PmuCheck *check;

    fuzz_make_unit(&in, &pmu);
    if (any_bool(&in)) {
        g_assert_null(pmu_rule_set_change(&config.rules, "+all"));
    }
    check = pmu_check_new(&pmu, &config);
    load_memory(&in, &memory);
    if (!pmu_check_memory_fault(&memory)) {
        pmu_check_load(check, &memory);
    }
    drive(&in, check, &pmu);
    /* The memory that results can migrate again. */
    g_assert_null(pmu_check_memory_fault(pmu_check_memory(check)));
    while (pmu_check_hit(check, sites)) {
        g_assert_cmpuint(pmu_check_hit(check, sites)->count, >=, 1);
        sites++;
    }
    g_assert_cmpuint(reports, <=, sites);
    pmu_check_free(check);
}
