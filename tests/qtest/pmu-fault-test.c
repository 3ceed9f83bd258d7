/*
 * Test of faults on demand: -object pmu-fault.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Each kind of fault acts as described when it is due, and not before.
 */

#include "qemu/osdep.h"

#include "pmu/machine.h"
#include "qobject/qdict.h"
#include "qobject/qlist.h"

#define SEL_ALL     (EVENT_INSTRUCTIONS | EVTSEL_USR | EVTSEL_OS | EVTSEL_EN)
#define SEL_INT     (SEL_ALL | EVTSEL_INT)
#define CPU         PMU_CPU_METRICS

/* Run @s with a fault of properties @properties. */
static void run(PmuScript *s, const char *properties)
{
    g_autofree char *args = g_strdup_printf(CPU "-object pmu-fault,id=f,%s",
                                            properties);

    pmu_run(s, args);
}

/* Set counter 0 to 1000, stopped, and set up to interrupt. */
static void stopped_counter(PmuScript *s)
{
    pmu_wrmsr(s, MSR_GLOBAL_CTRL, 0);
    pmu_poke32(s, APIC_LVTPC, LVT_NMI);
    pmu_wrmsr(s, MSR_A_PMC(0), 1000);
    pmu_wrmsr(s, MSR_EVTSEL(0), SEL_INT);
}

/* The counter overflows at the second write of an unrelated register. */
static void test_overflow(void)
{
    g_autoptr(PmuScript) s = pmu_script_new();
    unsigned first, second, value;

    stopped_counter(s);
    pmu_wrmsr(s, MSR_EVTSEL(5), 0);
    first = pmu_rdmsr(s, MSR_GLOBAL_STATUS);
    pmu_wrmsr(s, MSR_EVTSEL(5), 0);
    second = pmu_rdmsr(s, MSR_GLOBAL_STATUS);
    value = pmu_rdmsr(s, MSR_A_PMC(0));
    run(s, "kind=overflow,counter=pmc0,access=0x18b,nth=2");
    pmu_expect(pmu_register(s, first), 0, "status before");
    pmu_expect(pmu_register(s, second), 1, "status behind");
    pmu_expect(pmu_register(s, value), 0, "the counter");
    pmu_expect(s->progress[0].events, 1, "interrupts");
    pmu_expect(s->event[0][0].vector, VECTOR_NMI, "vector");
}

/* Fixed counters and the hidden counters of PERF_METRICS overflow, too. */
static void test_overflow_kinds(void)
{
    static const struct {
        const char *counter;
        uint64_t status;
    } kinds[] = {
        { "pmc7", 1 << 7 }, { "fixed0", GLOBAL_FIXED(0) },
        { "fixed3", GLOBAL_FIXED(3) }, { "metrics.0", GLOBAL_METRICS },
        { "metrics.3", GLOBAL_METRICS },
    };

    for (int i = 0; i < ARRAY_SIZE(kinds); i++) {
        g_autofree char *properties = g_strdup_printf(
            "kind=overflow,counter=%s,access=0x18b", kinds[i].counter);
        g_autoptr(PmuScript) s = pmu_script_new();
        unsigned status;

        pmu_wrmsr(s, MSR_EVTSEL(5), 0);
        status = pmu_rdmsr(s, MSR_GLOBAL_STATUS);
        run(s, properties);
        pmu_expect(pmu_register(s, status), kinds[i].status,
                   "status by %s", kinds[i].counter);
        pmu_expect(s->progress[0].events, 0, "interrupts");
    }
}

/* A fault between two accesses, unless another access comes in between. */
static void test_window(void)
{
    g_autoptr(PmuScript) s = pmu_script_new();
    unsigned before, behind;

    pmu_wrmsr(s, MSR_FIXED_CTR(3), 0);
    pmu_rdmsr(s, MSR_EVTSEL(0));
    pmu_wrmsr(s, MSR_PERF_METRICS, 0);
    before = pmu_rdmsr(s, MSR_GLOBAL_STATUS);
    pmu_wrmsr(s, MSR_FIXED_CTR(3), 0);
    pmu_wrmsr(s, MSR_PERF_METRICS, 0);
    behind = pmu_rdmsr(s, MSR_GLOBAL_STATUS);
    run(s, "kind=overflow,counter=fixed3,window=0x30c-0x329");
    pmu_expect(pmu_register(s, before), 0, "status before");
    pmu_expect(pmu_register(s, behind), GLOBAL_FIXED(3), "status behind");
}

/* An interrupt with nothing in GLOBAL_STATUS, and twice with max=2. */
static void test_spurious(void)
{
    g_autoptr(PmuScript) s = pmu_script_new();
    unsigned status;

    for (int i = 0; i < 4; i++) {
        pmu_poke32(s, APIC_LVTPC, LVT_NMI);
        pmu_wrmsr(s, MSR_EVTSEL(5), 0);
    }
    status = pmu_rdmsr(s, MSR_GLOBAL_STATUS);
    run(s, "kind=spurious,access=0x18b,rw=w,nth=2,max=2");
    pmu_expect(pmu_register(s, status), 0, "status");
    pmu_expect(s->progress[0].events, 2, "interrupts");
}

static void test_gp(void)
{
    g_autoptr(PmuScript) s = pmu_script_new();
    unsigned read, first, second, third, value;

    read = pmu_rdmsr(s, MSR_A_PMC(1));
    first = pmu_wrmsr(s, MSR_A_PMC(1), 1);
    second = pmu_wrmsr(s, MSR_A_PMC(1), 2);
    third = pmu_wrmsr(s, MSR_A_PMC(1), 3);
    value = pmu_rdmsr(s, MSR_A_PMC(1));
    run(s, "kind=gp,access=0x4c2,rw=w,nth=3");
    pmu_expect(pmu_vector(s, read), VECTOR_NONE, "vector of the read");
    pmu_expect(pmu_vector(s, first), VECTOR_NONE, "vector of the first write");
    pmu_expect(pmu_vector(s, second), VECTOR_NONE, "... of the second");
    pmu_expect(pmu_vector(s, third), VECTOR_GP, "... of the third");
    pmu_expect(pmu_register(s, value), 2, "the value left");
}

static void test_ignore(void)
{
    g_autoptr(PmuScript) s = pmu_script_new();
    unsigned value;

    pmu_wrmsr(s, MSR_A_PMC(1), 1);
    pmu_wrmsr(s, MSR_A_PMC(1), 2);
    value = pmu_rdmsr(s, MSR_A_PMC(1));
    run(s, "kind=gp,action=ignore,access=0x4c2,nth=2");
    pmu_expect(pmu_register(s, value), 1, "the value left");
}

static void test_zero(void)
{
    g_autoptr(PmuScript) s = pmu_script_new();
    unsigned first, second, third;

    pmu_wrmsr(s, MSR_A_PMC(1), 5);
    first = pmu_rdpmc(s, 1);
    second = pmu_rdpmc(s, 1);
    third = pmu_rdpmc(s, 1);
    /* RDPMC is an access to IA32_PMCx. */
    run(s, "kind=gp,action=zero,access=0xc2,nth=2");
    pmu_expect(pmu_register(s, first), 5, "first RDPMC");
    pmu_expect(pmu_register(s, second), 0, "second RDPMC");
    pmu_expect(pmu_register(s, third), 5, "third RDPMC");
}

/*
 * Run @s with two overflows; LVTPC is unmasked before each.  Returns LVTPC
 * after the first.
 */
static unsigned overflow_twice(PmuScript *s, const char *properties)
{
    unsigned lvtpc = 0;

    for (int i = 0; i < 2; i++) {
        pmu_wrmsr(s, MSR_GLOBAL_CTRL, 0);
        pmu_poke32(s, APIC_LVTPC, LVT_NMI);
        pmu_wrmsr(s, MSR_A_PMC(0), -500ull & COUNTER_MASK);
        pmu_wrmsr(s, MSR_EVTSEL(0), SEL_INT);
        pmu_op(s, OP_RUN, BLOCK_NOPS, 1, 0);
        if (i == 0) {
            lvtpc = pmu_op(s, OP_PEEK32, 0, APIC_LVTPC, 0);
        }
    }
    run(s, properties);
    return pmu_value(s, lvtpc);
}

static void test_interrupts(void)
{
    static const struct {
        const char *properties;
        uint32_t lvtpc;
        unsigned events;
    } kinds[] = {
        { "kind=drop,nth=3", LVT_MASKED | LVT_NMI, 2 },
        { "kind=drop", LVT_NMI, 1 },
        { "kind=drop,nth=2", LVT_MASKED | LVT_NMI, 1 },
        { "kind=no-automask", LVT_NMI, 2 },
        { "kind=double", LVT_MASKED | LVT_NMI, 3 },
        { "kind=double,cpl=3", LVT_MASKED | LVT_NMI, 2 },
        /* Both overflows interrupt twice; LVTPC is unmasked in between. */
        { "kind=double,max=2", LVT_MASKED | LVT_NMI, 4 },
    };

    for (int i = 0; i < ARRAY_SIZE(kinds); i++) {
        g_autoptr(PmuScript) s = pmu_script_new();

        pmu_expect(overflow_twice(s, kinds[i].properties), kinds[i].lvtpc,
                   "LVTPC with %s", kinds[i].properties);
        pmu_expect(s->progress[0].events, kinds[i].events,
                   "interrupts with %s", kinds[i].properties);
    }
}

/*
 * Check the distance of interrupts in BLOCK_LONG.  Returns the offset of the
 * first one in the block.
 */
static uint64_t expect_period(const PmuScript *s, uint64_t block,
                              unsigned period)
{
    uint64_t first = 0, last = 0;
    unsigned found = 0;

    for (unsigned i = 0; i < s->progress[0].events; i++) {
        uint64_t rip = s->event[0][i].rip;

        if (rip < block || rip > block + LONG) {
            continue;
        }
        pmu_expect(s->event[0][i].vector, VECTOR_NMI, "vector");
        if (found++) {
            /* NOPs have one byte; the handler's instructions count, too. */
            pmu_expect(rip - last, period - INTERRUPT_INSNS,
                       "distance of interrupt %u", i);
        } else {
            first = rip;
        }
        last = rip;
    }
    g_assert_cmpuint(found, >=, LONG / period - 1);
    return first - block;
}

/*
 * insns= is exact to the instruction, whatever counts, and if nothing does.
 * The third selector needs the timing model.
 */
static void test_insns(void)
{
    static const uint64_t selectors[] = {
        0, SEL_ALL, EVENT_CYCLES | EVTSEL_USR | EVTSEL_OS | EVTSEL_EN,
        EVENT_BRANCH_MISSES | EVTSEL_USR | EVTSEL_OS | EVTSEL_EN | EVTSEL_INT,
    };
    uint64_t first = 0;

    for (int i = 0; i < ARRAY_SIZE(selectors); i++) {
        g_autoptr(PmuScript) s = pmu_script_new();
        unsigned block;
        uint64_t place;

        pmu_poke32(s, APIC_LVTPC, LVT_NMI);
        pmu_wrmsr(s, MSR_EVTSEL(0), selectors[i]);
        block = pmu_op(s, OP_BLOCK, BLOCK_LONG, 0, 0);
        pmu_op(s, OP_RUN, BLOCK_LONG, 1, 0);
        run(s, "kind=spurious,insns=701,max=1000000 "
            "-object pmu-fault,id=u,kind=no-automask,max=1000000");
        place = expect_period(s, pmu_value(s, block), 701);
        if (i) {
            pmu_expect(place, first, "first interrupt of %d", i);
        }
        first = place;
    }
}

/* A fault after each instruction, also with -icount; the guest still runs. */
static void test_insns_each(void)
{
    static const char *const args[] = { "", " -icount shift=0" };

    for (int i = 0; i < ARRAY_SIZE(args); i++) {
        g_autofree char *properties = g_strdup_printf(
            "kind=overflow,counter=pmc0,insns=1,max=4000000000%s", args[i]);
        g_autoptr(PmuScript) s = pmu_script_new();
        unsigned status[2];

        pmu_poke32(s, APIC_LVTPC, LVT_NMI);
        pmu_wrmsr(s, MSR_EVTSEL(0), SEL_INT);
        for (int j = 0; j < 2; j++) {
            pmu_op(s, OP_RUN, BLOCK_MIXED, 1, 100);
            pmu_wrmsr(s, MSR_GLOBAL_RESET, 1);
            status[j] = pmu_rdmsr(s, MSR_GLOBAL_STATUS);
        }
        run(s, properties);
        for (int j = 0; j < 2; j++) {
            pmu_expect(pmu_register(s, status[j]), 1, "status %d", j);
        }
        pmu_expect(s->progress[0].events, 1, "interrupts");
    }
}

/*
 * With access=, insns= is one of several conditions, true from the nth multiple
 * on.
 */
static void test_insns_and_others(void)
{
    static const struct {
        const char *properties;
        unsigned vector[3];
    } kinds[] = {
        { "insns=1", { VECTOR_GP, VECTOR_NONE, VECTOR_NONE } },
        { "insns=1,max=2", { VECTOR_GP, VECTOR_GP, VECTOR_NONE } },
        { "insns=1000000", { VECTOR_NONE, VECTOR_GP, VECTOR_NONE } },
        { "insns=1000000,nth=2", { VECTOR_NONE, VECTOR_NONE, VECTOR_GP } },
        { "insns=100000000000", { VECTOR_NONE, VECTOR_NONE, VECTOR_NONE } },
    };

    for (int i = 0; i < ARRAY_SIZE(kinds); i++) {
        g_autofree char *properties = g_strdup_printf(
            "kind=gp,access=0x4c2,rw=w,%s", kinds[i].properties);
        g_autoptr(PmuScript) s = pmu_script_new();
        unsigned write[3];

        write[0] = pmu_wrmsr(s, MSR_A_PMC(1), 1);
        pmu_op(s, OP_RUN, BLOCK_LOOP, 0, 500000);
        write[1] = pmu_wrmsr(s, MSR_A_PMC(1), 1);
        write[2] = pmu_wrmsr(s, MSR_A_PMC(1), 1);
        run(s, properties);
        for (int j = 0; j < 3; j++) {
            pmu_expect(pmu_vector(s, write[j]), kinds[i].vector[j],
                       "vector %d with %s", j, kinds[i].properties);
        }
    }
}

/* Let counter 0 overflow in BLOCK_LONG @count times, with LVTPC unmasked. */
static void overflow_in_long(PmuScript *s, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        pmu_wrmsr(s, MSR_GLOBAL_CTRL, 0);
        pmu_poke32(s, APIC_LVTPC, LVT_NMI);
        pmu_wrmsr(s, MSR_A_PMC(0), -500ull & COUNTER_MASK);
        pmu_wrmsr(s, MSR_EVTSEL(0), SEL_INT);
        pmu_op(s, OP_RUN, BLOCK_LONG, 1, 0);
    }
}

/* The second interrupt is late by exactly as many instructions. */
static void test_late(void)
{
    static const unsigned late[] = { 1, 2, 700, 3000 };

    for (int i = 0; i < ARRAY_SIZE(late); i++) {
        g_autofree char *properties = g_strdup_printf("kind=late,nth=2,by=%u",
                                                      late[i]);
        g_autoptr(PmuScript) s = pmu_script_new();

        overflow_in_long(s, 3);
        run(s, properties);
        pmu_expect(s->progress[0].events, 3, "interrupts");
        pmu_expect(s->event[0][1].rip - s->event[0][0].rip, late[i],
                   "how late the second one is");
        pmu_expect(s->event[0][2].rip, s->event[0][0].rip,
                   "where the third one is");
    }
}

/* A late interrupt is lost if it finds LVTPC masked. */
static void test_late_lost(void)
{
    g_autoptr(PmuScript) s = pmu_script_new();

    overflow_in_long(s, 1);
    pmu_poke32(s, APIC_LVTPC, LVT_NMI | LVT_MASKED);
    pmu_op(s, OP_RUN, BLOCK_LOOP, 0, 100000);
    pmu_poke32(s, APIC_LVTPC, LVT_NMI);
    run(s, "kind=late,by=10000");
    pmu_expect(s->progress[0].events, 0, "interrupts");
}

/* One interrupt for two counters, whether or not the other one has INT set. */
static void test_merge(void)
{
    static const uint64_t others[] = { SEL_ALL, SEL_INT };

    for (int i = 0; i < ARRAY_SIZE(others); i++) {
        g_autoptr(PmuScript) s = pmu_script_new();
        unsigned status;

        pmu_wrmsr(s, MSR_EVTSEL(3), others[i]);
        overflow_in_long(s, 1);
        status = pmu_rdmsr(s, MSR_GLOBAL_STATUS);
        pmu_op(s, OP_RUN, BLOCK_NOPS, 0, 0);
        run(s, "kind=merge,counter=pmc3");
        pmu_expect(pmu_register(s, status), GLOBAL_GP(0) | GLOBAL_GP(3),
                   "status");
        pmu_expect(s->progress[0].events, 1, "interrupts");
    }
}

/* Only an interrupt that freezes the counters is lost. */
static void test_freeze_lost(void)
{
    g_autoptr(PmuScript) s = pmu_script_new();
    unsigned frozen;

    overflow_in_long(s, 1);
    pmu_wrmsr(s, MSR_GLOBAL_RESET, 1);
    pmu_wrmsr(s, MSR_DEBUGCTL, 1 << 12);
    overflow_in_long(s, 1);
    frozen = pmu_rdmsr(s, MSR_GLOBAL_STATUS);
    pmu_wrmsr(s, MSR_GLOBAL_RESET, GLOBAL_CTR_FRZ | 1);
    overflow_in_long(s, 1);
    run(s, "kind=freeze-lost");
    pmu_expect(pmu_register(s, frozen), GLOBAL_CTR_FRZ | 1, "status");
    pmu_expect(s->progress[0].events, 2, "interrupts");
}

/* A status bit that is set cannot be cleared at first, and can afterwards. */
static void test_stuck(void)
{
    const uint64_t bits = GLOBAL_GP(1) | GLOBAL_FIXED(0) | GLOBAL_FIXED(2);
    const struct {
        const char *properties;
        uint64_t first, second;
    } kinds[] = {
        { "kind=stuck,access=0x390", bits, 0 },
        { "kind=stuck,counter=fixed2", GLOBAL_FIXED(2), 0 },
        { "kind=stuck,counter=fixed0", GLOBAL_FIXED(0), 0 },
        { "kind=stuck,counter=pmc1,max=2", GLOBAL_GP(1), GLOBAL_GP(1) },
        { "kind=stuck,counter=metrics.0", 0, 0 },
        { "kind=stuck,nth=2", 0, 0 },
    };

    for (int i = 0; i < ARRAY_SIZE(kinds); i++) {
        g_autoptr(PmuScript) s = pmu_script_new();
        unsigned status[2];

        pmu_wrmsr(s, MSR_GLOBAL_RESET, bits);
        pmu_wrmsr(s, MSR_GLOBAL_SET, bits);
        for (int j = 0; j < 2; j++) {
            pmu_wrmsr(s, MSR_GLOBAL_RESET, bits);
            status[j] = pmu_rdmsr(s, MSR_GLOBAL_STATUS);
        }
        run(s, kinds[i].properties);
        pmu_expect(pmu_register(s, status[0]), kinds[i].first,
                   "status with %s", kinds[i].properties);
        pmu_expect(pmu_register(s, status[1]), kinds[i].second,
                   "status behind, with %s", kinds[i].properties);
    }
}

#define RUN_NOPS (NOPS + 1 + RUN_CPL0_INSNS)

/* At the second stop, the counter counts one more, and so overflows. */
static void test_one_more(void)
{
    g_autoptr(PmuScript) s = pmu_script_new();
    unsigned value[3], status[3];

    pmu_poke32(s, APIC_LVTPC, LVT_NMI);
    pmu_wrmsr(s, MSR_GLOBAL_CTRL, 0);
    pmu_wrmsr(s, MSR_EVTSEL(0), SEL_INT);
    for (int i = 0; i < 3; i++) {
        pmu_wrmsr(s, MSR_A_PMC(0), COUNTER_MASK - RUN_NOPS);
        pmu_op(s, OP_RUN, BLOCK_NOPS, 1, 0);
        value[i] = pmu_rdmsr(s, MSR_A_PMC(0));
        status[i] = pmu_rdmsr(s, MSR_GLOBAL_STATUS);
    }
    run(s, "kind=one-more,counter=pmc0,nth=2");
    for (int i = 0; i < 3; i++) {
        pmu_expect(pmu_register(s, value[i]), i == 1 ? 0 : COUNTER_MASK,
                   "counter behind %d", i);
        pmu_expect(pmu_register(s, status[i]), i >= 1, "status behind %d", i);
    }
    pmu_expect(s->progress[0].events, 1, "interrupts");
}

/*
 * Set @gains to counters with the fault @properties: one that counts, one that
 * does not, one that counts at CPL 3, and reference cycles.
 */
static void read_gains(const char *properties, uint64_t *gains)
{
    g_autoptr(PmuScript) s = pmu_script_new();
    unsigned read[4];

    pmu_wrmsr(s, MSR_GLOBAL_CTRL, 0);
    pmu_wrmsr(s, MSR_EVTSEL(0), SEL_ALL);
    pmu_wrmsr(s, MSR_EVTSEL(1), SEL_ALL);
    pmu_wrmsr(s, MSR_EVTSEL(2), SEL_ALL & ~EVTSEL_OS);
    pmu_wrmsr(s, MSR_FIXED_CTR_CTRL, FIXED_ALL(2));
    pmu_wrmsr(s, MSR_GLOBAL_CTRL,
              GLOBAL_GP(0) | GLOBAL_GP(2) | GLOBAL_FIXED(2));
    pmu_wrmsr(s, MSR_EVTSEL(5), 0);
    pmu_wrmsr(s, MSR_GLOBAL_CTRL, 0);
    for (int i = 0; i < 3; i++) {
        read[i] = pmu_rdmsr(s, MSR_A_PMC(i));
    }
    read[3] = pmu_rdmsr(s, MSR_FIXED_CTR(2));
    run(s, properties);
    for (int i = 0; i < 4; i++) {
        gains[i] = pmu_register(s, read[i]);
    }
}

static void test_gains(void)
{
    static const struct {
        const char *properties;
        uint64_t by[4];
    } kinds[] = {
        { "kind=smi,by=1000000,access=0x18b", { 1000000, 0, 0, 1000000 } },
        { "kind=ref-jump,by=123456789,access=0x18b", { 0, 0, 0, 123456789 } },
        { "kind=smi,by=4294967295,access=0x18b",
          { UINT32_MAX, 0, 0, UINT32_MAX } },
        /* At that time, nothing counts. */
        { "kind=smi,by=1000000,access=0x38f,nth=1", { 0, 0, 0, 0 } },
        { "kind=ref-jump,by=1000000,access=0x186", { 0, 0, 0, 0 } },
    };
    uint64_t none[4], gains[4];

    read_gains("kind=spurious,access=0x18b,nth=9", none);
    for (int i = 0; i < ARRAY_SIZE(kinds); i++) {
        read_gains(kinds[i].properties, gains);
        for (int j = 0; j < 4; j++) {
            pmu_expect(gains[j] - none[j], kinds[i].by[j],
                       "gain of %d with %s", j, kinds[i].properties);
        }
    }
}

/*
 * The still counter keeps its count while another counter counts on.  When the
 * fault is deleted, it counts again.
 */
static void test_still(void)
{
    g_autoptr(PmuScript) s = pmu_script_new();
    PmuMachine machine;
    unsigned value[2];

    pmu_wrmsr(s, MSR_GLOBAL_CTRL, 0);
    for (int i = 0; i < 2; i++) {
        pmu_wrmsr(s, MSR_EVTSEL(i), SEL_ALL);
        pmu_wrmsr(s, MSR_A_PMC(i), 0);
    }
    pmu_op(s, OP_RUN, BLOCK_NOPS, 3, 0);
    pmu_wrmsr(s, MSR_EVTSEL(5), 0);
    pmu_op(s, OP_RUN, BLOCK_NOPS, 3, 0);
    pmu_op(s, OP_RUN, BLOCK_NOPS, 3, 0);
    pmu_op(s, OP_SYNC, 0, 1, 0);
    pmu_op(s, OP_RUN, BLOCK_NOPS, 3, 0);
    value[0] = pmu_rdmsr(s, MSR_A_PMC(0));
    value[1] = pmu_rdmsr(s, MSR_A_PMC(1));
    pmu_start(&machine, s, CPU "-object pmu-fault,id=f,kind=still,"
              "counter=pmc0,access=0x18b");
    pmu_wait_for(&machine, 1);
    qtest_qmp_assert_success(machine.qts, "{'execute': 'object-del', "
                             "'arguments': {'id': 'f'}}");
    pmu_go(&machine, 1);
    pmu_wait_done(&machine, 1);
    pmu_read_results(&machine, s, 1);
    pmu_expect(pmu_register(s, value[0]), 2 * RUN_NOPS, "the still one");
    pmu_expect(pmu_register(s, value[1]), 4 * RUN_NOPS, "the other one");
    pmu_stop(&machine);
}

/* At the second of two stops, the lower half becomes 0, without overflow. */
static void test_half(void)
{
    g_autoptr(PmuScript) s = pmu_script_new();
    unsigned value[2], status;

    pmu_wrmsr(s, MSR_GLOBAL_CTRL, 0);
    pmu_wrmsr(s, MSR_EVTSEL(0), SEL_INT);
    for (int i = 0; i < 2; i++) {
        pmu_wrmsr(s, MSR_A_PMC(0), 0xfffe00001000);
        pmu_op(s, OP_RUN, BLOCK_NOPS, 1, 0);
        value[i] = pmu_rdmsr(s, MSR_A_PMC(0));
    }
    status = pmu_rdmsr(s, MSR_GLOBAL_STATUS);
    run(s, "kind=half,counter=pmc0,nth=2");
    pmu_expect(pmu_register(s, value[0]), 0xfffe00001000 + RUN_NOPS,
               "counter behind the first stop");
    pmu_expect(pmu_register(s, value[1]), 0xfffe00000000, "... the second");
    pmu_expect(pmu_register(s, status), 0, "status");
}

/* One interrupt has another delivery mode; it masks LVTPC as any other does. */
static void test_mode(void)
{
    static const struct {
        const char *properties;
        uint32_t lvtpc;
        unsigned events, vector;
        uint32_t smis;
    } kinds[] = {
        { "kind=mode,mode=fixed,vector=96", LVT_NMI, 2, VECTOR_TIMER, 0 },
        { "kind=mode,mode=nmi", VECTOR_TIMER, 2, VECTOR_NMI, 0 },
        { "kind=mode,mode=smi", LVT_NMI, 1, VECTOR_NMI, 1 },
        { "kind=mode,mode=smi,nth=3", LVT_NMI, 2, VECTOR_NMI, 0 },
    };

    for (int i = 0; i < ARRAY_SIZE(kinds); i++) {
        g_autoptr(PmuScript) s = pmu_script_new();
        unsigned lvtpc, smis;

        pmu_op(s, OP_RUN, BLOCK_SMI, 0, 0);
        pmu_poke32(s, PAYLOAD_SMI_COUNT, 0);
        for (int j = 0; j < 2; j++) {
            pmu_wrmsr(s, MSR_GLOBAL_CTRL, 0);
            pmu_poke32(s, APIC_LVTPC, kinds[i].lvtpc);
            pmu_wrmsr(s, MSR_A_PMC(0), -500ull & COUNTER_MASK);
            pmu_wrmsr(s, MSR_EVTSEL(0), SEL_INT);
            pmu_op(s, OP_RUN, BLOCK_NOPS | RUN_IF, 1, 0);
            if (!j) {
                lvtpc = pmu_op(s, OP_PEEK32, 0, APIC_LVTPC, 0);
            }
        }
        smis = pmu_op(s, OP_PEEK32, 0, PAYLOAD_SMI_COUNT, 0);
        run(s, kinds[i].properties);
        pmu_expect(pmu_value(s, lvtpc), LVT_MASKED | kinds[i].lvtpc,
                   "LVTPC with %s", kinds[i].properties);
        pmu_expect(pmu_value(s, smis), kinds[i].smis, "SMIs with %s",
                   kinds[i].properties);
        pmu_expect(s->progress[0].events, kinds[i].events,
                   "interrupts with %s", kinds[i].properties);
        pmu_expect(s->event[0][0].vector, kinds[i].vector,
                   "vector with %s", kinds[i].properties);
    }
}

/* Reads of the capabilities are changed, as often as max= and cpl= permit. */
static void test_caps(void)
{
    static const struct {
        const char *properties;
        uint64_t changed[3];
    } kinds[] = {
        { "kind=caps,bits=0x8000", { 0x8000, 0x8000, 0x8000 } },
        { "kind=caps,bits=0x2001,nth=2,max=1", { 0, 0x2001, 0 } },
        { "kind=caps,bits=1,cpl=3", { 0, 0, 0 } },
    };

    for (int i = 0; i < ARRAY_SIZE(kinds); i++) {
        g_autoptr(PmuScript) s = pmu_script_new(), plain = pmu_script_new();
        unsigned read[3], other, own;

        for (int j = 0; j < 3; j++) {
            read[j] = pmu_rdmsr(s, MSR_CAPABILITIES);
        }
        other = pmu_rdmsr(s, MSR_FIXED_CTR(0));
        own = pmu_rdmsr(plain, MSR_CAPABILITIES);
        pmu_run(plain, CPU);
        run(s, kinds[i].properties);
        for (int j = 0; j < 3; j++) {
            pmu_expect(pmu_register(s, read[j]) ^ pmu_register(plain, own),
                       kinds[i].changed[j], "bits changed in read %d with %s",
                       j, kinds[i].properties);
        }
        pmu_expect(pmu_register(s, other), 0, "another register");
    }
}

#define NOISY_READS 20

/* Set @values to NOISY_READS reads of the same metrics, the last by RDPMC. */
static void read_metrics(const char *properties, uint64_t *values)
{
    g_autoptr(PmuScript) s = pmu_script_new();
    unsigned read[NOISY_READS];

    pmu_wrmsr(s, MSR_GLOBAL_CTRL, 0);
    pmu_wrmsr(s, MSR_FIXED_CTR(3), 0);
    pmu_wrmsr(s, MSR_PERF_METRICS, 0);
    pmu_wrmsr(s, MSR_FIXED_CTR_CTRL, FIXED_ALL(3));
    pmu_op(s, OP_RUN, BLOCK_MIXED, GLOBAL_FIXED(3) | GLOBAL_METRICS, 1000);
    for (int i = 0; i < NOISY_READS; i++) {
        read[i] = i == NOISY_READS - 1 ? pmu_rdpmc(s, 0x20000000)
                                       : pmu_rdmsr(s, MSR_PERF_METRICS);
    }
    run(s, properties);
    for (int i = 0; i < NOISY_READS; i++) {
        values[i] = pmu_register(s, read[i]);
    }
}

static unsigned field(uint64_t metrics, unsigned index)
{
    return metrics >> (8 * index) & 0xff;
}

/* Each field is off by at most by=, and the fields still add up to 0xff. */
static void test_metrics_noise(void)
{
    uint64_t exact[NOISY_READS], noisy[NOISY_READS], other[NOISY_READS];
    unsigned differ = 0;

    read_metrics("kind=drop", exact);
    read_metrics("kind=metrics-noise,by=7", noisy);
    for (int i = 0; i < NOISY_READS; i++) {
        unsigned sum = 0;

        for (int j = 0; j < 4; j++) {
            int off = field(noisy[i], j) - field(exact[0], j);

            sum += field(noisy[i], j);
            g_assert_cmpint(ABS(off), <=, 7);
        }
        pmu_expect(sum, 0xff, "sum of the fields");
        differ += noisy[i] != exact[0];
    }
    g_assert_cmpuint(differ, >, NOISY_READS / 2);
    g_assert_cmphex(noisy[NOISY_READS - 1], !=, exact[0]);
    read_metrics("kind=metrics-noise,by=7,seed=1", other);
    g_assert_cmpmem(noisy, sizeof(noisy), other, sizeof(other));
    read_metrics("kind=metrics-noise,by=7,seed=2", other);
    g_assert_cmpint(memcmp(noisy, other, sizeof(noisy)), !=, 0);
}

static QDict *query(PmuMachine *machine)
{
    QDict *answer = qtest_qmp(machine->qts, "{'execute': "
                              "'x-query-pmu-faults'}");
    QDict *fault = qobject_to(QDict, qlist_entry_obj(qlist_first(
        qdict_get_qlist(answer, "return"))));

    qobject_ref(fault);
    qobject_unref(answer);
    return fault;
}

static void object_add(PmuMachine *machine, const char *id, uint64_t insns,
                       unsigned nth)
{
    qtest_qmp_assert_success(machine->qts, "{'execute': 'object-add', "
        "'arguments': {'qom-type': 'pmu-fault', 'id': %s, "
        "'kind': 'overflow', 'counter': 'pmc0', 'insns': %" PRIu64 ", "
        "'nth': %u}}", id, insns, nth);
}

/*
 * Two faults are added at the same moment.  The one that fires first lets the
 * counter overflow; the other one adds to what it has counted since.
 */
static void test_insns_object_add(void)
{
    g_autoptr(PmuScript) s = pmu_script_new();
    g_autoptr(QDict) fault = NULL;
    PmuMachine machine;

    pmu_wrmsr(s, MSR_EVTSEL(0), SEL_ALL);
    pmu_wrmsr(s, MSR_GLOBAL_CTRL, 1);
    pmu_op(s, OP_SYNC, 0, 1, 0);
    pmu_start(&machine, s, CPU);
    pmu_wait_for(&machine, 1);
    qtest_qmp_assert_success(machine.qts, "{'execute': 'stop'}");
    object_add(&machine, "later", 1234567, 3);
    object_add(&machine, "sooner", 1000000, 1);
    qtest_qmp_assert_success(machine.qts, "{'execute': 'cont'}");
    do {
        qobject_unref(fault);
        fault = query(&machine);
    } while (!qdict_get_int(fault, "fired"));
    g_assert_cmpstr(qdict_get_str(fault, "id"), ==, "later");
    pmu_expect(qdict_get_int(fault, "added"),
               COUNTER_MASK + 1 - (3 * 1234567 - 1000000), "added");
    pmu_go(&machine, 1);
    pmu_wait_done(&machine, 1);
    pmu_stop(&machine);
}

/* Add a fault that fires at once while the guest runs, query and delete it. */
static void test_object_add(void)
{
    g_autoptr(PmuScript) s = pmu_script_new();
    g_autoptr(QDict) fault = NULL;
    PmuMachine machine;
    unsigned status, value;

    stopped_counter(s);
    pmu_op(s, OP_SYNC, 0, 1, 0);
    status = pmu_rdmsr(s, MSR_GLOBAL_STATUS);
    value = pmu_rdmsr(s, MSR_A_PMC(0));
    pmu_start(&machine, s, CPU);
    pmu_wait_for(&machine, 1);
    qtest_qmp_assert_success(machine.qts, "{'execute': 'object-add', "
        "'arguments': {'qom-type': 'pmu-fault', 'id': 'f', "
        "'kind': 'overflow', 'counter': 'pmc0'}}");
    fault = query(&machine);
    pmu_expect(qdict_get_int(fault, "fired"), 1, "fired");
    pmu_expect(qdict_get_int(fault, "added"), (1ull << 48) - 1000, "added");
    g_assert_cmpstr(qdict_get_str(fault, "kind"), ==, "overflow");
    qtest_qmp_assert_success(machine.qts, "{'execute': 'object-del', "
                             "'arguments': {'id': 'f'}}");
    pmu_go(&machine, 1);
    pmu_wait_done(&machine, 1);
    pmu_read_results(&machine, s, 1);
    pmu_expect(pmu_register(s, status), 1, "status");
    pmu_expect(pmu_register(s, value), 0, "the counter");
    pmu_expect(s->progress[0].events, 1, "interrupts");
    pmu_stop(&machine);
}

/* A fault that was deleted does nothing any more. */
static void test_object_del(void)
{
    g_autoptr(PmuScript) s = pmu_script_new();
    PmuMachine machine;
    unsigned write;

    pmu_op(s, OP_SYNC, 0, 1, 0);
    write = pmu_wrmsr(s, MSR_A_PMC(1), 1);
    pmu_start(&machine, s, CPU "-object pmu-fault,id=f,kind=gp,access=0x4c2");
    pmu_wait_for(&machine, 1);
    qtest_qmp_assert_success(machine.qts, "{'execute': 'object-del', "
                             "'arguments': {'id': 'f'}}");
    pmu_go(&machine, 1);
    pmu_wait_done(&machine, 1);
    pmu_read_results(&machine, s, 1);
    pmu_expect(pmu_vector(s, write), VECTOR_NONE, "vector");
    pmu_stop(&machine);
}

/* A replay has the fault at the same place, which @when chooses. */
static void expect_replay(const char *when)
{
    g_autoptr(PmuScript) s = pmu_script_new();
    g_autoptr(GBytes) recorded = NULL;
    PmuMachine machine;

    stopped_counter(s);
    pmu_wrmsr(s, MSR_EVTSEL(5), 0);
    pmu_op(s, OP_RUN, BLOCK_LOOP, 0, 100000);
    pmu_rdmsr(s, MSR_GLOBAL_STATUS);
    pmu_rdmsr(s, MSR_A_PMC(0));
    pmu_op(s, OP_DUMP, 0, 0, 0);
    pmu_op(s, OP_EXIT, 0, 0, 0);
    pmu_prepare(&machine, s);
    for (int i = 0; i < 3; i++) {
        g_autofree char *args = g_strdup_printf(
            CPU "-object pmu-fault,id=f,kind=overflow,counter=pmc0,"
            "%s -icount shift=auto,rr=%s,rrfile=%s/rr",
            when, i ? "replay" : "record", machine.dir);
        g_autoptr(GBytes) dump = pmu_run_prepared(&machine, args);

        g_assert_nonnull(dump);
        if (i) {
            g_assert_true(g_bytes_equal(dump, recorded));
        } else {
            recorded = g_bytes_ref(dump);
        }
    }
    pmu_remove(&machine);
}

static void test_replay(void)
{
    expect_replay("access=0x18b");
    expect_replay("insns=200000");
}

typedef struct Refusal {
    const char *properties, *says;
} Refusal;

static const Refusal refusals[] = {
    { "kind=odd", "kind=odd: it must be overflow, spurious, gp, drop, "
      "no-automask, double, late, merge, freeze-lost, stuck, one-more, smi, "
      "ref-jump, still, half, mode, caps, metrics-noise, stop or init" },
    { "kind=erratum", "kind=erratum is not modelled; these are: overflow" },
    { "kind=unplug", "kind=unplug is not modelled; these are: overflow" },
    { "kind=tsc-jump", "kind=tsc-jump is not modelled; these are: overflow" },
    { "kind=mode", "mode= is missing: it must be fixed, smi or nmi" },
    { "kind=mode,mode=init", "mode=init: it must be fixed, smi or nmi" },
    { "kind=mode,mode=fixed", "mode=fixed needs vector=16 to vector=255" },
    { "kind=mode,mode=fixed,vector=15",
      "mode=fixed needs vector=16 to vector=255" },
    { "kind=mode,mode=nmi,vector=32", "vector=32 needs mode=fixed" },
    { "kind=drop,mode=nmi", "mode=nmi needs kind=mode" },
    { "kind=drop,vector=99", "vector=99 needs mode=fixed" },
    { "kind=caps", "kind=caps needs bits=1 to bits=" },
    { "kind=caps,bits=0", "kind=caps needs bits=1 to bits=" },
    { "kind=caps,bits=1,access=0x38f",
      "kind=caps is about reads of 0x345: it has no access to 0x38f" },
    { "kind=caps,bits=1,rw=w",
      "rw=w: kind=caps is about reads alone, rw=r" },
    { "kind=drop,bits=1", "bits=1 needs kind=caps" },
    { "kind=metrics-noise,by=256", "kind=metrics-noise needs by=1 to by=255" },
    { "kind=half", "counter= is missing: it must be pmc0 to pmc7" },
    { "kind=stop", "only object-add can do that" },
    { "kind=init,rw=r,access=0x38f", "kind=init is done at writes alone" },
    { "kind=drop,every=0", "every=0: it must be 1 to 4611686018427387903" },
    { "kind=drop,jitter=5", "jitter=5 needs every=, and must be less" },
    { "kind=drop,every=5,jitter=5", "jitter=5 needs every=, and must be" },
    { "kind=drop,every=5,seed=5", "seed=5 needs jitter=" },
    { "kind=drop,every=5,jitter=1,seed=0", "seed=0: it must not be 0" },
    { "kind=drop,counter=pmc0",
      "counter=pmc0 needs kind=overflow, merge, stuck, one-more, still or "
      "half" },
    { "kind=ref-jump,by=1,counter=fixed2,access=0x38f",
      "counter=fixed2 needs kind=overflow" },
    { "kind=still,counter=metrics.1,access=0x38f",
      "counter=metrics.1: it must be pmc0 to pmc7, fixed0 to fixed3" },
    { "kind=still,counter=pmc0", "only object-add can do that" },
    { "kind=stuck,access=0x38e",
      "kind=stuck is about writes to 0x390: it has no access to 0x38e" },
    { "kind=one-more", "counter= is missing: it must be pmc0 to pmc7" },
    { "kind=one-more,counter=pmc0,rw=r",
      "rw=r: kind=one-more is done at writes alone, rw=w" },
    { "kind=smi,access=0x38f", "kind=smi needs by=1 to by=4294967295" },
    { "kind=merge", "counter= is missing: it must be pmc0 to pmc7" },
    { "kind=merge,counter=fixed3x", "counter=fixed3x: it must be pmc0" },
    { "kind=late", "kind=late needs by=1 to by=4294967295" },
    { "kind=late,by=0", "kind=late needs by=1 to by=4294967295" },
    { "kind=late,by=10,access=0x38f", "kind=late is about interrupts" },
    { "kind=drop,by=7",
      "by=7 needs kind=late, smi, ref-jump or metrics-noise" },
    { "kind=overflow", "counter= is missing: it must be pmc0 to pmc7, fixed0 "
      "to fixed3, or metrics.0 to metrics.7" },
    { "kind=overflow,access=0x38f", "counter= is missing: it must be pmc0" },
    { "kind=overflow,counter=pmc8,access=0x38f", "counter=pmc8: it must be" },
    { "kind=overflow,counter=metrics.4,access=0x38f",
      "pmu-fault 'f': its vCPU has no such counter" },
    { "kind=overflow,counter=pmc0", "only object-add can do that" },
    { "kind=gp,access=0x38f,rw=x", "rw=x: it must be r, w or rw" },
    { "kind=spurious,access=0x38f,rw=r",
      "rw=r: kind=spurious is done at writes alone, rw=w" },
    { "kind=spurious,window=0x30c", "window=0x30c: it must be two MSRs" },
    { "kind=spurious,window=0x30c-0x329,access=0x38f", "contradict" },
    { "kind=gp,access=0", "access=0: it must be an MSR" },
    { "kind=gp,access=0xc0000080",
      "pmu-fault 'f': its vCPU's PMU has no MSR 0xc0000080" },
    { "kind=gp,window=0xc0000080-0x38f", "PMU has no MSR 0xc0000080" },
    { "kind=gp,window=0x38f-0x4c9", "PMU has no MSR 0x4c9" },
    { "kind=spurious,access=0x38e", "MSR 0x38e is read-only" },
    { "kind=gp,access=0x345,action=ignore", "MSR 0x345 is read-only" },
    { "kind=gp,access=0x38f,max=0", "max=0: it must be 1 to 4294967295" },
    { "kind=gp,access=0x38f,nth=0", "nth=0: it must be 1 to 4294967295" },
    { "kind=gp,access=0x38f,cpl=5", "cpl=5: it must be 0 to 3" },
    { "kind=gp,access=0x38f,rw=w,cpl=3",
      "cpl=3: registers are written at CPL 0, so it must be 0" },
    { "kind=half,counter=pmc0,cpl=1",
      "cpl=1: registers are written at CPL 0, so it must be 0" },
    { "kind=stop,access=0x38f,cpl=3",
      "cpl=3: registers are written at CPL 0, so it must be 0" },
    { "kind=gp,access=0x38f,action=zero,rw=w",
      "rw=w: action=zero is about reads alone, rw=r" },
    { "kind=gp,access=0x38f,action=ignore,rw=r",
      "rw=r: action=ignore is done at writes alone, rw=w" },
    { "kind=gp,access=0x38f,action=ignore,rw=rw", "rw=rw: action=ignore is" },
    { "kind=gp", "kind=gp needs access or window" },
    { "kind=spurious,insns=0",
      "insns=0: it must be 1 to 9223372036854775807" },
    { "kind=spurious,insns=9223372036854775808",
      "insns=9223372036854775808: it must be 1 to" },
    { "kind=spurious,insns=18446744073709551615",
      "insns=18446744073709551615: it must be less" },
    { "kind=gp,access=0x38f,action=odd",
      "action=odd: it must be gp, ignore or zero" },
    { "kind=drop,access=0x38f", "kind=drop is about interrupts" },
    { "kind=drop,action=zero", "action=zero needs kind=gp" },
    { "kind=drop,cpu=7", "pmu-fault 'f': there is no such vCPU with a PMU" },
};

static void test_refusal(const void *data)
{
    const Refusal *row = data;
    g_autofree char *properties = g_shell_quote(row->properties);
    g_autofree char *args = g_strdup_printf(
        PMU_CPU_METRICS "-object pmu-fault,id=f,%s", properties);
    int status;
    g_autofree char *output = pmu_start_and_quit(args, &status);

    pmu_expect(status, 1, "exit status");
    g_assert_nonnull(strstr(output, row->says));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    if (!qtest_has_accel("tcg")) {
        g_test_skip("No TCG accelerator");
        return 0;
    }
    qtest_add_func("pmu/fault/overflow", test_overflow);
    qtest_add_func("pmu/fault/overflow-kinds", test_overflow_kinds);
    qtest_add_func("pmu/fault/window", test_window);
    qtest_add_func("pmu/fault/spurious", test_spurious);
    qtest_add_func("pmu/fault/gp", test_gp);
    qtest_add_func("pmu/fault/ignore", test_ignore);
    qtest_add_func("pmu/fault/zero", test_zero);
    qtest_add_func("pmu/fault/interrupts", test_interrupts);
    qtest_add_func("pmu/fault/late", test_late);
    qtest_add_func("pmu/fault/late-lost", test_late_lost);
    qtest_add_func("pmu/fault/merge", test_merge);
    qtest_add_func("pmu/fault/freeze-lost", test_freeze_lost);
    qtest_add_func("pmu/fault/stuck", test_stuck);
    qtest_add_func("pmu/fault/one-more", test_one_more);
    qtest_add_func("pmu/fault/gains", test_gains);
    qtest_add_func("pmu/fault/still", test_still);
    qtest_add_func("pmu/fault/half", test_half);
    qtest_add_func("pmu/fault/mode", test_mode);
    qtest_add_func("pmu/fault/caps", test_caps);
    qtest_add_func("pmu/fault/metrics-noise", test_metrics_noise);
    qtest_add_func("pmu/fault/insns", test_insns);
    qtest_add_func("pmu/fault/insns-each", test_insns_each);
    qtest_add_func("pmu/fault/insns-and-others", test_insns_and_others);
    qtest_add_func("pmu/fault/insns-object-add", test_insns_object_add);
    qtest_add_func("pmu/fault/object-add", test_object_add);
    qtest_add_func("pmu/fault/object-del", test_object_del);
    qtest_add_func("pmu/fault/replay", test_replay);
    for (int i = 0; i < ARRAY_SIZE(refusals); i++) {
        g_autofree char *path = g_strdup_printf("pmu/fault/refused/%d", i);

        qtest_add_data_func(path, &refusals[i], test_refusal);
    }
    return g_test_run();
}
