/*
 * A small driver: a register file, and a checker that observes it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>

#include "driver.h"

#define CODE 0xffffffff81000000ull

static void start(Driver *d, unsigned version, const PmuCheckConfig *config)
{
    const PerfmonConfig icelake = {
        .core = PMU_CORE_ICELAKE, .num_gp = 8, .num_fixed = 4, .pdcm = true,
        .capabilities = 0xa000, .num_metrics = 4, .metrics_width = 48,
        .version = version,
    };
    const char *why;

    g_assert_true(perfmon_init(&d->perfmon, &icelake, &why));
    d->check = pmu_check_new(&d->perfmon, config);
    d->where = (PmuCheckWhere) { .rip = CODE, .cr3 = TASK_A };
    driver_lvtpc(d, 0x400);
}

void driver_start_with(Driver *d, const PmuCheckConfig *config)
{
    start(d, 5, config);
}

void driver_start_version(Driver *d, unsigned version)
{
    PmuCheckConfig config = { .rules = pmu_rule_set_default() };

    start(d, version, &config);
}

void driver_start(Driver *d)
{
    driver_start_version(d, 5);
}

void driver_end(Driver *d)
{
    pmu_check_free(d->check);
}

static void step(Driver *d)
{
    d->where.rip += 2;
    d->where.clock += 10;
}

void driver_write(Driver *d, uint32_t msr, uint64_t value)
{
    step(d);
    if (perfmon_wrmsr_check(&d->perfmon, msr, value) != PERFMON_OK) {
        pmu_check_gp(d->check, &d->where, PMU_CHECK_WRMSR, msr, value);
        return;
    }
    pmu_check_write(d->check, &d->where, msr, value);
    perfmon_wrmsr(&d->perfmon, msr, value);
}

static uint64_t do_read(Driver *d, uint32_t msr, PmuCheckAccess how)
{
    uint64_t value = 0;

    step(d);
    if (perfmon_rdmsr(&d->perfmon, msr, &value) != PERFMON_OK) {
        pmu_check_gp(d->check, &d->where, how, msr, 0);
        return 0;
    }
    pmu_check_read(d->check, &d->where, how, msr, value);
    return value;
}

uint64_t driver_read(Driver *d, uint32_t msr)
{
    return do_read(d, msr, PMU_CHECK_RDMSR);
}

uint64_t driver_rdpmc(Driver *d, uint32_t msr)
{
    return do_read(d, msr, PMU_CHECK_RDPMC);
}

void driver_lvtpc(Driver *d, uint32_t value)
{
    step(d);
    pmu_check_lvtpc(d->check, &d->where, value);
}

void driver_overflow(Driver *d, uint64_t bits, PmuCheckOutcome outcome)
{
    for (unsigned i = 0; i < PMU_CHECK_COUNTERS; i++) {
        if (bits & pmu_check_bit(i)) {
            *(i < PERFMON_ARCH_GP ? &d->perfmon.gp[i]
                                 : &d->perfmon.fixed[i - PERFMON_ARCH_GP]) = 7;
        }
    }
    step(d);
    d->perfmon.global_status |= bits;
    pmu_check_overflow(d->check, &d->where, bits);
    pmu_check_pmi(d->check, &d->where, outcome);
}

void driver_nmi(Driver *d, uint64_t bits)
{
    driver_overflow(d, bits, PMU_CHECK_DELIVERED);
    pmu_check_interrupt(d->check, &d->where, 2);
}

void driver_iret(Driver *d)
{
    step(d);
    pmu_check_iret(d->check, &d->where);
}

void driver_sample(Driver *d)
{
    driver_write(d, GC, 0);
    driver_write(d, PMC(0), PERIOD);
    driver_write(d, SEL(0), SEL_INT);
    driver_write(d, GC, GC_ALL);
}

void driver_topdown(Driver *d)
{
    driver_write(d, GC, 0);
    driver_write(d, CTR(3), 0);
    driver_write(d, METRICS, 0);
    driver_write(d, FIXED, 0xb000);
    driver_write(d, GC, GC_ALL);
}

unsigned driver_hits(const Driver *d, const char *id)
{
    const PmuCheckHit *hit;
    unsigned count = 0;

    for (unsigned i = 0; (hit = pmu_check_hit(d->check, i)); i++) {
        if (g_str_equal(hit->rule->id, id)) {
            count += hit->count;
        }
    }
    return count;
}

unsigned driver_all_hits(const Driver *d)
{
    unsigned i = 0;

    while (pmu_check_hit(d->check, i)) {
        i++;
    }
    return i;
}
