/*
 * For each rule of the checker: a sequence of steps that breaks it, and a
 * similar one that does not.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>

#include "rule-cases.h"

/* Whatever counts slots counts @slots more, the metrics a quarter each. */
static void count_slots(Driver *d, uint64_t slots)
{
    d->perfmon.fixed[3] += slots;
    for (unsigned i = 0; i < 4; i++) {
        d->perfmon.metrics[i] += 255 * slots / 4;
    }
}

/* Fixed counter 3 and the metrics have counted and are stopped. */
static void stopped_topdown(Driver *d)
{
    driver_topdown(d);
    count_slots(d, 1000);
    driver_write(d, GC, 0);
}

static void m1(Driver *d, bool wrong)
{
    stopped_topdown(d);
    driver_write(d, wrong ? METRICS : CTR(3), wrong ? 0 : 5000);
    driver_write(d, wrong ? CTR(3) : METRICS, wrong ? 5000 : 0x3f404040);
    driver_write(d, GC, GC_ALL);
}

static void m2(Driver *d, bool wrong)
{
    stopped_topdown(d);
    driver_write(d, CTR(3), 5000);
    if (!wrong) {
        driver_write(d, METRICS, 0x3f404040);
        driver_write(d, GC, GC_ALL);
        driver_write(d, GC, 0);
    }
    driver_rdpmc(d, METRICS);
}

/* An overflow of fixed counter 3 makes the metrics stale as well. */
static void m2_overflow(Driver *d, bool wrong)
{
    driver_topdown(d);
    driver_nmi(d, PERF_GLOBAL_FIXED(3));
    driver_write(d, GC, 0);
    driver_read(d, STATUS);
    driver_write(d, ACK, PERF_GLOBAL_FIXED(3));
    if (!wrong) {
        driver_write(d, CTR(3), 100);
        driver_write(d, METRICS, 0);
        driver_write(d, GC, GC_ALL);
        driver_write(d, GC, 0);
    }
    driver_rdpmc(d, METRICS);
}

static void m3(Driver *d, bool wrong)
{
    driver_topdown(d);
    if (!wrong) {
        count_slots(d, 1000);
    }
    driver_write(d, GC, 0);
    driver_rdpmc(d, METRICS);
}

static void m4(Driver *d, bool wrong)
{
    driver_write(d, GC, 0);
    driver_write(d, CTR(3), 5000);
    driver_write(d, METRICS, 0x3f404040);
    driver_write(d, FIXED, wrong ? 0 : 0xb000);
    driver_write(d, GC, GC_ALL);
    driver_write(d, GC, 0);
    driver_rdpmc(d, METRICS);
}

static void m5(Driver *d, bool wrong)
{
    driver_topdown(d);
    count_slots(d, 1000);
    if (!wrong) {
        driver_write(d, GC, 0);
    }
    driver_rdpmc(d, CTR(3));
    driver_rdpmc(d, METRICS);
}

static void m6(Driver *d, bool wrong)
{
    driver_topdown(d);
    if (!wrong) {
        driver_write(d, GC, 0);
    }
    driver_write(d, CTR(3), 5000);
    driver_write(d, METRICS, 0);
    if (!wrong) {
        driver_write(d, GC, GC_ALL);
    }
}

static void m7(Driver *d, bool wrong)
{
    driver_write(d, GC, 0);
    driver_write(d, CTR(3), 5000);
    driver_write(d, METRICS, wrong ? 0x40404040 : 0x3f404040);
}

/* Sapphire Rapids: heavy operations are a part of those that retire. */
static void m7_part(Driver *d, bool wrong)
{
    d->perfmon.config.num_metrics = PERFMON_MAX_METRICS;
    d->perfmon.mask[PERFMON_MASK_METRICS] = UINT64_MAX;
    driver_write(d, GC, 0);
    driver_write(d, CTR(3), 5000);
    driver_write(d, METRICS, wrong ? 0x413f404040ull : 0x403f404040ull);
    driver_write(d, METRICS, 0x403f404040ull);
}

static void m8(Driver *d, bool wrong)
{
    driver_write(d, GC, 0);
    driver_write(d, CTR(3), wrong ? 0 : 5000);
    driver_write(d, METRICS, 0x10101010);
}

static void m9(Driver *d, bool wrong)
{
    driver_write(d, GC, 0);
    driver_write(d, FIXED, 0xb000);
    driver_write(d, GC, wrong ? GC_ALL & ~PERF_GLOBAL_METRICS : GC_ALL);
}

static void m10(Driver *d, bool wrong)
{
    stopped_topdown(d);
    driver_rdpmc(d, CTR(3));
    driver_rdpmc(d, METRICS);
    d->where.cr3 = TASK_B;
    if (!wrong) {
        driver_write(d, CTR(3), 0);
        driver_write(d, METRICS, 0);
    }
    driver_write(d, GC, GC_ALL);
}

static void m11(Driver *d, bool wrong)
{
    driver_topdown(d);
    count_slots(d, 1000000);
    driver_write(d, GC, 0);
    driver_rdpmc(d, METRICS);
    driver_write(d, GC, GC_ALL);
    count_slots(d, wrong ? 100 : 10000);
    driver_write(d, GC, 0);
    driver_rdpmc(d, METRICS);
}

/* Handle an overflow of counter 0, up to its acknowledgement. */
static void handle(Driver *d, bool ack)
{
    driver_nmi(d, PERF_GLOBAL_GP(0));
    driver_write(d, GC, 0);
    driver_read(d, STATUS);
    if (ack) {
        driver_write(d, ACK, PERF_GLOBAL_GP(0));
    }
}

static void o1(Driver *d, bool wrong)
{
    driver_sample(d);
    handle(d, !wrong);
    driver_write(d, PMC(0), PERIOD);
    driver_write(d, GC, GC_ALL);
}

static void o2(Driver *d, bool wrong)
{
    driver_sample(d);
    handle(d, true);
    if (!wrong) {
        driver_write(d, PMC(0), PERIOD);
    }
    driver_write(d, GC, GC_ALL);
}

static void o3(Driver *d, bool wrong)
{
    driver_write(d, GC, 0);
    driver_write(d, PMC(0), wrong ? 1000 : PERIOD);
    driver_write(d, SEL(0), SEL_INT);
    driver_write(d, GC, GC_ALL);
}

static void o4(Driver *d, bool wrong)
{
    driver_write(d, GC, 0);
    driver_write(d, PMC(0), PERFMON_COUNTER_MASK - (wrong ? 100 : 127));
    driver_write(d, SEL(0), SEL_INT);
    driver_write(d, GC, GC_ALL);
}

static void o5(Driver *d, bool wrong)
{
    driver_sample(d);
    driver_nmi(d, PERF_GLOBAL_GP(0));
    driver_write(d, GC, 0);
    if (!wrong) {
        driver_read(d, STATUS);
    }
    driver_write(d, ACK, PERF_GLOBAL_GP(0));
    driver_write(d, PMC(0), PERIOD);
}

static void o6(Driver *d, bool wrong)
{
    driver_topdown(d);
    driver_nmi(d, PERF_GLOBAL_METRICS);
    driver_write(d, GC, 0);
    driver_read(d, STATUS);
    driver_write(d, ACK, PERF_GLOBAL_METRICS);
    if (!wrong) {
        driver_write(d, CTR(3), 0);
        driver_write(d, METRICS, 0);
    }
    driver_write(d, GC, GC_ALL);
}

static void p1(Driver *d, bool wrong)
{
    driver_lvtpc(d, wrong ? 0x10400 : 0x400);
    driver_sample(d);
    driver_overflow(d, PERF_GLOBAL_GP(0), wrong ? PMU_CHECK_MASKED
                                                : PMU_CHECK_DELIVERED);
}

/* Counter 0 overflows again before the handler unmasks LVTPC. */
static void p2(Driver *d, bool wrong)
{
    driver_sample(d);
    handle(d, true);
    driver_write(d, PMC(0), PERIOD);
    if (wrong) {
        driver_write(d, GC, GC_ALL);
    }
    driver_overflow(d, PERF_GLOBAL_GP(0), PMU_CHECK_MASKED);
}

static void p3(Driver *d, bool wrong)
{
    driver_lvtpc(d, wrong ? 0x10400 : 0x400);
    driver_sample(d);
    d->where.clock += 2 * 1000 * 1000;
    pmu_check_time(d->check, &d->where);
}

static void p4(Driver *d, bool wrong)
{
    driver_sample(d);
    handle(d, !wrong);
    driver_lvtpc(d, 0x400);
}

static void p5(Driver *d, bool wrong)
{
    driver_sample(d);
    driver_nmi(d, PERF_GLOBAL_GP(0));
    driver_write(d, GC, 0);
    if (!wrong) {
        driver_read(d, STATUS);
    }
    /* An exception within the handler does not end it. */
    pmu_check_interrupt(d->check, &d->where, 14);
    driver_iret(d);
    driver_iret(d);
}

static void p6(Driver *d, bool wrong)
{
    driver_lvtpc(d, wrong ? 0x00f : 0x010);
    driver_lvtpc(d, wrong ? 0x600 : 0x200);
    driver_lvtpc(d, 0x10000);
}

static void p7(Driver *d, bool wrong)
{
    driver_sample(d);
    handle(d, true);
    for (unsigned i = 1; i < (wrong ? 101 : 100); i++) {
        driver_read(d, STATUS);
    }
}

static void p8(Driver *d, bool wrong)
{
    driver_write(d, MSR_PMU_IA32_DEBUGCTL, 1 << 12);
    driver_sample(d);
    driver_nmi(d, PERF_GLOBAL_GP(0) | PERF_GLOBAL_CTR_FRZ);
    driver_read(d, STATUS);
    driver_write(d, PMC(0), PERIOD);
    driver_write(d, ACK, PERF_GLOBAL_GP(0) |
                 (wrong ? 0 : PERF_GLOBAL_CTR_FRZ));
    driver_lvtpc(d, 0x400);
    driver_iret(d);
}

static void p9(Driver *d, bool wrong)
{
    driver_sample(d);
    driver_nmi(d, PERF_GLOBAL_GP(0));
    if (!wrong) {
        driver_write(d, GC, 0);
    }
    driver_read(d, STATUS);
}

static void c1(Driver *d, bool wrong)
{
    driver_sample(d);
    if (!wrong) {
        driver_write(d, GC, 0);
    }
    driver_write(d, PMC(0), PERIOD);
}

static void c2(Driver *d, bool wrong)
{
    driver_sample(d);
    driver_write(d, SEL(0), wrong ? SEL_INT & ~PERF_EVTSEL_USR
                                  : SEL_INT & ~PERF_EVTSEL_EN);
}

static void c3(Driver *d, bool wrong)
{
    driver_sample(d);
    driver_write(d, GC, 0);
    driver_write(d, SEL(0), SEL_INT ^ 0xc0 ^ 0xc4);
    if (!wrong) {
        driver_write(d, PMC(0), PERIOD);
    }
    driver_write(d, GC, GC_ALL);
}

static void c4(Driver *d, bool wrong)
{
    driver_write(d, MSR_PMU_IA32_PMC0 + 2,
                 PERFMON_COUNTER_MASK & -(wrong ? 1ull << 32 : 1ull << 31));
}

static void c5(Driver *d, bool wrong)
{
    driver_write(d, GC, 0);
    driver_write(d, SEL(1), 0x4300c4 | (wrong ? PERF_EVTSEL_ANYTHREAD : 0));
    driver_write(d, FIXED, wrong ? 0x4 : 0x0);
}

/* MEM_LOAD_RETIRED.L1_HIT, which counters 0 to 3 can count. */
static void c6(Driver *d, bool wrong)
{
    driver_write(d, GC, 0);
    driver_write(d, SEL(wrong ? 4 : 3), 0x4301d1);
    driver_write(d, SEL(7), 0x4300c0);
}

static void c7(Driver *d, bool wrong)
{
    driver_write(d, FIXED, wrong ? 0x10000 : 0);
}

static void c8(Driver *d, bool wrong)
{
    driver_write(d, GC, wrong ? 0xfe : 0xff);
    driver_write(d, SEL(0), 0x4300c0);
    d->where.clock += 2 * 1000 * 1000;
    driver_read(d, GC);
}

/* The counter read is never enabled (counter 1), or it is (counter 0). */
static void c9(Driver *d, bool wrong)
{
    driver_write(d, PMC(1), 5);
    for (unsigned i = 0; i < 3; i++) {
        driver_sample(d);
        driver_write(d, GC, 0);
        driver_rdpmc(d, wrong ? PMC(1) : PMC(0));
    }
}

static void c10(Driver *d, bool wrong)
{
    driver_write(d, GC, 0);
    driver_write(d, SEL(0), wrong ? 0x4000c0 : 0x4100c0);
    driver_write(d, SEL(1), PMU_EVENT_INV | 0x4300c0 |
                 (wrong ? 0 : PMU_EVENT_CMASK(1)));
}

static void c11(Driver *d, bool wrong)
{
    driver_write(d, GC, 0);
    if (!wrong) {
        driver_write(d, MSR_PMU_OFFCORE_RSP_0, 0x10001);
    }
    driver_write(d, SEL(0), 0x4301b7);
    driver_write(d, GC, GC_ALL);
}

static void c11_changed(Driver *d, bool wrong)
{
    driver_write(d, GC, 0);
    driver_write(d, MSR_PMU_OFFCORE_RSP_1, 0x10001);
    driver_write(d, SEL(0), 0x4301bb);
    driver_write(d, GC, GC_ALL);
    driver_write(d, MSR_PMU_OFFCORE_RSP_1, wrong ? 0x10002 : 0x10001);
}

/* Code in the given text uses counter 0; code outside it writes the counter. */
static void c12(Driver *d, bool wrong)
{
    driver_sample(d);
    d->where.rip = wrong ? 0x400000 : d->where.rip;
    driver_write(d, GC, 0);
    driver_write(d, PMC(0), PERIOD);
}

static void c13(Driver *d, bool wrong)
{
    driver_write(d, GC, 0);
    driver_write(d, SEL(0), 0x4300c0);
    driver_write(d, GC, wrong ? 3 : 1);
}

static void c14(Driver *d, bool wrong)
{
    driver_write(d, GC, 0);
    driver_write(d, SEL(0), 0x4300c0);
    driver_write(d, SEL(1), wrong ? 0x4300c0 : 0x4100c0);
    driver_write(d, GC, 3);
}

static void c15(Driver *d, bool wrong)
{
    driver_write(d, GC, 0);
    driver_write(d, SEL(0), 0x4300c0);
    driver_write(d, GC, 1);
    driver_write(d, GC, wrong ? 3 : 0);
    driver_write(d, SEL(1), 0x4300c4);
}

static void c16(Driver *d, bool wrong)
{
    driver_write(d, GC, 0);
    driver_write(d, SEL(0), 0x4300c0);
    driver_write(d, SEL(1), 0x4300c4);
    driver_write(d, GC, 3);
    if (!wrong) {
        driver_write(d, GC, 0);
    }
    driver_rdpmc(d, PMC(0));
    driver_rdpmc(d, PMC(1));
}

static void l1(Driver *d, bool wrong)
{
    driver_sample(d);
    driver_write(d, SEL(0), 0);
    if (!wrong) {
        driver_write(d, PMC(0), 0);
    }
    d->where.cr3 = TASK_B;
    d->where.cpl = 3;
    driver_rdpmc(d, MSR_PMU_IA32_PMC0);
}

static void l2(Driver *d, bool wrong)
{
    driver_sample(d);
    if (!wrong) {
        driver_write(d, GC, 0);
    }
    pmu_check_halt(d->check, &d->where, PMU_CHECK_INIT);
}

static void l3(Driver *d, bool wrong)
{
    driver_sample(d);
    driver_write(d, GC, 0);
    if (wrong) {
        pmu_check_halt(d->check, &d->where, PMU_CHECK_FEWER);
    }
}

static void l4(Driver *d, bool wrong)
{
    d->perfmon.config.pdcm = !wrong;
    d->perfmon.num_present[PERFMON_PRESENT_PDCM] = !wrong;
    driver_read(d, MSR_PMU_IA32_PERF_CAPABILITIES);
}

const RuleCase rule_cases[] = {
    { "M1", m1 }, { "M2", m2 }, { "M2", m2_overflow }, { "M3", m3 },
    { "M4", m4 }, { "M5", m5 }, { "M6", m6 }, { "M7", m7 }, { "M7", m7_part },
    { "M8", m8 },
    { "M9", m9 }, { "M10", m10 }, { "M11", m11 },
    { "O1", o1 }, { "O2", o2 }, { "O3", o3 }, { "O4", o4 }, { "O5", o5 },
    { "O6", o6 },
    { "P1", p1 }, { "P2", p2 }, { "P3", p3 }, { "P4", p4 }, { "P5", p5 },
    { "P6", p6 }, { "P7", p7 }, { "P8", p8 }, { "P9", p9 },
    { "C1", c1 }, { "C2", c2 }, { "C3", c3 }, { "C4", c4 }, { "C5", c5 },
    { "C6", c6 }, { "C7", c7 }, { "C8", c8 }, { "C9", c9 }, { "C10", c10 },
    { "C11", c11 }, { "C11", c11_changed }, { "C12", c12 },
    { "C13", c13 }, { "C14", c14 }, { "C15", c15 }, { "C16", c16 },
    { "L1", l1 }, { "L2", l2 }, { "L3", l3 }, { "L4", l4 },
    { }
};
