/*
 * Test of counter overflow and the interrupts it raises.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The interrupt of a counter of instructions or branches comes right after the
 * instruction that overflows the counter.  The code that runs determines where
 * that is (pmu/payload/payload.h).  SDM vol. 3B, 20.2 and 20.3.9; vol. 3A,
 * 11.5.1 (LVTPC is masked on delivery).
 */

#include "qemu/osdep.h"

#include "pmu/machine.h"

#define OVERFLOW_IN(n)  (-(uint64_t)(n) & COUNTER_MASK)

/* One counter, and how it is set up to interrupt. */
typedef struct Counter {
    const char *name;
    uint32_t msr;
    uint64_t global;            /* its bit in IA32_PERF_GLOBAL_x */
    uint16_t event;             /* of a general-purpose counter; else 0 */
} Counter;

static const Counter fixed0 = {
    "IA32_FIXED_CTR0", MSR_FIXED_CTR(0), GLOBAL_FIXED(0)
};
static const Counter gp3 = {
    "IA32_PMC3", MSR_A_PMC(3), GLOBAL_GP(3), EVENT_INSTRUCTIONS
};
static const Counter branches5 = {
    "IA32_PMC5", MSR_A_PMC(5), GLOBAL_GP(5), EVENT_BRANCHES
};

enum { USR = 1, OS = 2, INT = 4 };

/* Cycles of a block of some instructions whose branch is mispredicted. */
#define LATE_CYCLES 50

/* Returns GLOBAL_CTRL.  With @timing, cycles and slots are enabled as well. */
static uint64_t enable_mask(const Counter *counter, bool timing)
{
    return counter->global |
           (timing ? GLOBAL_FIXED(1) | GLOBAL_FIXED(3) | GLOBAL_METRICS : 0);
}

/* Set @counter to @value, to count and interrupt as @flags say. */
static void set_counter(PmuScript *s, const Counter *counter, unsigned flags,
                        bool timing, uint64_t value)
{
    uint64_t fixed = timing ? FIXED_ALL(1) | FIXED_ALL(3) : 0;

    pmu_wrmsr(s, MSR_GLOBAL_CTRL, 0);
    if (counter->event) {
        pmu_wrmsr(s, MSR_EVTSEL(counter->msr - MSR_A_PMC(0)),
                  counter->event | EVTSEL_EN |
                  (flags & USR ? EVTSEL_USR : 0) |
                  (flags & OS ? EVTSEL_OS : 0) |
                  (flags & INT ? EVTSEL_INT : 0));
    } else {
        unsigned n = counter->msr - MSR_FIXED_CTR(0);

        fixed |= (flags & USR ? FIXED_USR(n) : 0) |
                 (flags & OS ? FIXED_OS(n) : 0) |
                 (flags & INT ? FIXED_PMI(n) : 0);
    }
    pmu_wrmsr(s, MSR_FIXED_CTR_CTRL, fixed);
    pmu_wrmsr(s, counter->msr, value);
}

/* Make the handler set the counter to @value each time, and start it again. */
static void set_reload(PmuScript *s, const Counter *counter, bool timing,
                       uint64_t value, uint32_t lvtpc)
{
    pmu_set(s, PROGRESS_ACTION, PMI_RELOAD);
    pmu_set(s, PROGRESS_MSR, counter->msr);
    pmu_set(s, PROGRESS_RELOAD, value);
    pmu_set(s, PROGRESS_ENABLE, enable_mask(counter, timing));
    pmu_set(s, PROGRESS_LVTPC, lvtpc);
}

static void expect_event(const PmuScript *s, unsigned index, unsigned vector,
                         uint64_t rip, const char *what)
{
    const PayloadEvent *event = &s->event[0][index];

    if (index >= s->progress[0].events) {
        pmu_expect(s->progress[0].events, index + 1, "interrupts, %s", what);
        return;
    }
    pmu_expect(event->vector, vector, "vector of interrupt %u, %s", index,
               what);
    pmu_expect(event->rip, rip, "RIP of interrupt %u, %s", index, what);
}

/* Run straight-line code at CPL 3, with an interrupt in each period. */
static void expect_period(const Counter *counter, bool timing, bool nmi,
                          uint64_t period)
{
    const uint32_t lvtpc = nmi ? LVT_NMI : LVT_FIXED | VECTOR_PMI;
    g_autoptr(PmuScript) s = pmu_script_new();
    g_autofree char *what = g_strdup_printf(
        "%s, period %" PRIu64 ", %s, %s", counter->name, period,
        nmi ? "NMI" : "fixed vector", timing ? "with cycles" : "alone");
    uint64_t base;
    unsigned block;

    set_counter(s, counter, USR | INT, timing, OVERFLOW_IN(period));
    set_reload(s, counter, timing, OVERFLOW_IN(period), lvtpc);
    pmu_poke32(s, APIC_LVTPC, lvtpc);
    block = pmu_op(s, OP_BLOCK, BLOCK_NOPS, 0, 0);
    pmu_op(s, OP_RUN, BLOCK_NOPS | RUN_CPL3 | RUN_IF,
           enable_mask(counter, timing), 0);
    pmu_run(s, PMU_CPU_METRICS);

    base = pmu_value(s, block);
    for (int i = 0; i < NOPS / period; i++) {
        expect_event(s, i, nmi ? VECTOR_NMI : VECTOR_PMI,
                     base + (i + 1) * period, what);
        pmu_expect(s->event[0][i].status, counter->global,
                   "status of interrupt %d, %s", i, what);
    }
    /* RET and INT follow.  After INT, IF is clear for a fixed vector. */
    g_assert_cmpuint(s->progress[0].events, <=, (NOPS + 2) / period);
}

static void test_straight_line(void)
{
    static const uint64_t periods[] = { 1, 2, 3, 7, 64, 100, 333, 511, 512,
                                        513, 999, 1000 };

    for (int i = 0; i < ARRAY_SIZE(periods); i++) {
        expect_period(&fixed0, i & 1, true, periods[i]);
        expect_period(&gp3, !(i & 1), false, periods[i]);
    }
    expect_period(&fixed0, true, true, 1);
    expect_period(&gp3, false, true, 1);
    expect_period(&fixed0, true, true, 97);
    expect_period(&fixed0, false, true, 97);
}

/* At CPL 0 the handler counts as well, from its WRMSR on. */
static void test_straight_line_cpl0(void)
{
    static const uint64_t periods[] = { 1, 2, 17, 100, 499 };

    for (int i = 0; i < 2 * ARRAY_SIZE(periods); i++) {
        uint64_t period = periods[i / 2], base;
        bool timing = i & 1;
        g_autoptr(PmuScript) s = pmu_script_new();
        g_autofree char *what = g_strdup_printf(
            "period %" PRIu64 " at CPL 0, %s", period,
            timing ? "with cycles" : "alone");
        unsigned block;

        set_counter(s, &fixed0, OS | USR | INT, timing, OVERFLOW_IN(period));
        set_reload(s, &fixed0, timing, OVERFLOW_IN(period + RELOAD_INSNS),
                   LVT_NMI);
        pmu_poke32(s, APIC_LVTPC, LVT_NMI);
        block = pmu_op(s, OP_BLOCK, BLOCK_NOPS, 0, 0);
        pmu_op(s, OP_RUN, BLOCK_NOPS, enable_mask(&fixed0, timing), 0);
        /* Otherwise interrupts go on after the block and wrap the log. */
        pmu_set(s, PROGRESS_ENABLE, 0);
        pmu_run(s, PMU_CPU_METRICS);

        base = pmu_value(s, block);
        for (int j = 0; j < NOPS / period; j++) {
            /* The first instruction is the CALL of the block. */
            expect_event(s, j, VECTOR_NMI, base + (j + 1) * period - 1, what);
        }
    }
}

/* If both levels count, the IRETQ to CPL 3 is the first instruction. */
static void test_across_levels(void)
{
    for (int timing = 0; timing < 2; timing++) {
        for (uint64_t period = 1; period < 10; period++) {
            g_autoptr(PmuScript) s = pmu_script_new();
            unsigned block;

            set_counter(s, &fixed0, OS | USR | INT, timing,
                        OVERFLOW_IN(period));
            pmu_poke32(s, APIC_LVTPC, LVT_NMI);
            block = pmu_op(s, OP_BLOCK, BLOCK_NOPS, 0, 0);
            pmu_op(s, OP_RUN, BLOCK_NOPS | RUN_CPL3,
                   enable_mask(&fixed0, timing), 0);
            pmu_run(s, PMU_CPU_METRICS);
            expect_event(s, 0, VECTOR_NMI, pmu_value(s, block) + period - 1,
                         "both levels");
            pmu_expect(s->progress[0].events, 1, "interrupts");
        }
    }
}

/*
 * The instruction that overflows the counter changes the level: IRETQ or INT.
 * Both count at the level from which they come.
 */
static void test_level_change(void)
{
    static const struct {
        const Counter *counter;
        unsigned flags;
        uint64_t period;
        bool enters;            /* IRETQ, else INT */
    } row[] = {
        { &fixed0, OS | INT, 1, true },
        { &fixed0, OS | USR | INT, 1, true },
        { &branches5, OS | INT, 1, true },
        { &branches5, OS | USR | INT, 1, true },
        { &fixed0, USR | INT, 2, false },
        { &fixed0, OS | USR | INT, 3, false },
        { &branches5, USR | INT, 2, false },
        { &branches5, OS | USR | INT, 3, false },
    };

    for (int i = 0; i < 2 * ARRAY_SIZE(row); i++) {
        bool timing = i & 1;
        g_autoptr(PmuScript) s = pmu_script_new();
        g_autofree char *what = g_strdup_printf(
            "%s, flags %u, overflow in %s, %s", row[i / 2].counter->name,
            row[i / 2].flags, row[i / 2].enters ? "IRETQ" : "INT",
            timing ? "with cycles" : "alone");
        unsigned block, vector;

        set_counter(s, row[i / 2].counter, row[i / 2].flags, timing,
                    OVERFLOW_IN(row[i / 2].period));
        pmu_poke32(s, APIC_LVTPC, LVT_NMI);
        block = pmu_op(s, OP_BLOCK, BLOCK_REP_ZERO, 0, 0);
        vector = pmu_op(s, OP_VECTOR, VECTOR_RETURN, 0, 0);
        if (row[i / 2].enters) {
            pmu_op(s, OP_RUN, BLOCK_REP_ZERO | RUN_CPL3,
                   enable_mask(row[i / 2].counter, timing), 0);
        } else {
            /* IRETQ (at CPL 0), RET and INT are all branches. */
            pmu_op(s, OP_RUN, BLOCK_EMPTY | RUN_CPL3,
                   enable_mask(row[i / 2].counter, timing), 0);
        }
        pmu_run(s, PMU_CPU_METRICS);
        expect_event(s, 0, VECTOR_NMI,
                     pmu_value(s, row[i / 2].enters ? block : vector), what);
    }
}

/* Set @offset and @rcx to where BLOCK_LOOP(@n) is after @k instructions. */
static void loop_position(uint64_t n, uint64_t k, uint64_t *offset,
                          uint64_t *rcx)
{
    uint64_t iteration = (k - 2) / 2;

    if (k == 1) {
        *offset = LOOP_DEC;
        *rcx = n;
        return;
    }
    *rcx = n - iteration - 1;
    *offset = k % 2 == 0 ? LOOP_JNZ : *rcx ? LOOP_DEC : LOOP_RET;
}

/*
 * RCX of a loop tells in which iteration the interrupt came.  With @timer,
 * other interrupts come all the time.  Overflows may be so far away that QEMU
 * hands out its budget in parts.
 */
static void expect_loop(const Counter *counter, bool timing, uint64_t n,
                        uint64_t period, bool timer)
{
    g_autoptr(PmuScript) s = pmu_script_new();
    g_autofree char *what = g_strdup_printf(
        "%s, period %" PRIu64 ", loop, %s", counter->name, period,
        timing ? "with cycles" : "alone");
    const uint64_t loop = counter->event == EVENT_BRANCHES ? n : 2 * n;
    uint64_t base, overflows = 0;
    unsigned block, entry;

    set_counter(s, counter, USR | INT, timing, OVERFLOW_IN(period));
    set_reload(s, counter, timing, OVERFLOW_IN(period), LVT_NMI);
    pmu_poke32(s, APIC_LVTPC, LVT_NMI);
    if (timer) {
        /* The handler logs a timer's interrupt, and must not reload then. */
        pmu_set(s, PROGRESS_ACTION, PMI_LOG);
        pmu_poke32(s, APIC_TIMER_DIVIDE, 0xb);
        pmu_poke32(s, APIC_LVT_TIMER, VECTOR_TIMER | 0x20000);
        pmu_poke32(s, APIC_TIMER_INITIAL, 500000);
    }
    block = pmu_op(s, OP_BLOCK, BLOCK_LOOP, 0, 0);
    entry = pmu_op(s, OP_VECTOR, VECTOR_TIMER, 0, 0);
    pmu_op(s, OP_RUN, BLOCK_LOOP | RUN_CPL3 | (timer ? RUN_IF : 0),
           enable_mask(counter, timing), n);
    pmu_poke32(s, APIC_LVT_TIMER, LVT_MASKED);
    pmu_run(s, PMU_CPU_METRICS);

    base = pmu_value(s, block);
    for (int i = 0; i < s->progress[0].events; i++) {
        const PayloadEvent *event = &s->event[0][i];
        uint64_t offset, rcx;

        if (event->vector != VECTOR_NMI) {
            continue;
        }
        overflows++;
        if (overflows * period > loop) {
            break;              /* in RET and INT */
        }
        if (counter->event == EVENT_BRANCHES) {
            rcx = n - overflows * period;
            offset = rcx ? LOOP_DEC : LOOP_RET;
        } else {
            loop_position(n, overflows * period, &offset, &rcx);
        }
        /*
         * If a timer interrupt comes at the same instruction, it may be taken
         * first.  Then the overflow interrupts at the start of the timer's
         * handler, and is logged before it.
         */
        if (event->rip == pmu_value(s, entry)) {
            g_assert_cmpuint(i + 1, <, s->progress[0].events);
            event++;
            pmu_expect(event->vector, VECTOR_TIMER, "vector of the interrupt "
                       "that overflow %" PRIu64 " came with, %s", overflows,
                       what);
        }
        pmu_expect(event->rip, base + offset, "RIP of overflow %" PRIu64
                   ", %s", overflows, what);
        pmu_expect(event->rcx, rcx, "RCX of overflow %" PRIu64 ", %s",
                   overflows, what);
    }
    if (timer) {
        pmu_expect(overflows, 1, "overflows, %s", what);
        g_assert_cmpuint(s->progress[0].events, >, 1);
    } else {
        g_assert_cmpuint(overflows, >=, loop / period);
    }
}

static void test_loop(void)
{
    static const uint64_t periods[] = { 1, 2, 3, 10, 101, 1000, 1001 };

    for (int i = 0; i < ARRAY_SIZE(periods); i++) {
        for (int timing = 0; timing < 2; timing++) {
            expect_loop(&fixed0, timing, 1000, periods[i], false);
            expect_loop(&branches5, timing, 1000, periods[i], false);
        }
    }
}

static void test_long_period(void)
{
    for (int timing = 0; timing < 2; timing++) {
        expect_loop(&gp3, timing, 1000000, 200003, false);
        expect_loop(&branches5, timing, 1000000, 100003, false);
        /* A tenth of a second: a busy host is late with timers. */
        expect_loop(&gp3, timing, 50000000, 75000001, true);
        expect_loop(&branches5, timing, 50000000, 37500001, true);
    }
}

/*
 * For any code, single-stepping is the oracle: each interrupt comes where the
 * trap of the same instruction came.  A string instruction traps in each
 * iteration, at the same RIP as the instruction before it.
 */
static void expect_stepped(const Counter *counter, bool timing,
                           uint64_t period)
{
    const uint64_t steps = 60;
    const uint64_t value = OVERFLOW_IN(period);
    g_autoptr(PmuScript) s = pmu_script_new();
    g_autoptr(GArray) rip = g_array_new(false, false, sizeof(uint64_t));
    uint64_t last = 0;
    unsigned traps, n;

    pmu_op(s, OP_RUN, BLOCK_MIXED | RUN_CPL3 | RUN_TF, 0, steps);
    traps = pmu_op(s, OP_PEEK64, 0, PAYLOAD_PROGRESS + PROGRESS_EVENTS, 0);
    set_counter(s, counter, USR | INT, timing, value);
    set_reload(s, counter, timing, value, LVT_NMI);
    pmu_poke32(s, APIC_LVTPC, LVT_NMI);
    pmu_op(s, OP_RUN, BLOCK_MIXED | RUN_CPL3, enable_mask(counter, timing),
           steps);
    pmu_run(s, PMU_CPU_METRICS);

    n = pmu_value(s, traps);
    for (int i = 0; i < n; i++) {
        if (s->event[0][i].rip != last) {
            last = s->event[0][i].rip;
            g_array_append_val(rip, last);
        }
    }
    g_assert_cmpuint(rip->len, >, 500);
    /* INT does not trap. */
    pmu_expect(s->progress[0].events - n, (rip->len + 1) / period,
               "interrupts with period %" PRIu64, period);
    for (int i = 0; n + i < s->progress[0].events &&
                    (i + 1) * period <= rip->len; i++) {
        pmu_expect(s->event[0][n + i].rip,
                   g_array_index(rip, uint64_t, (i + 1) * period - 1),
                   "RIP of interrupt %d with period %" PRIu64, i, period);
    }
}

static void test_stepped(void)
{
    static const uint64_t periods[] = { 1, 2, 5, 13, 41 };

    for (int i = 0; i < ARRAY_SIZE(periods); i++) {
        expect_stepped(&fixed0, false, periods[i]);
        expect_stepped(&gp3, true, periods[i]);
    }
}

/* Two counters overflow at once: one interrupt, both status bits. */
static void test_two_counters(void)
{
    for (int timing = 0; timing < 2; timing++) {
        g_autoptr(PmuScript) s = pmu_script_new();
        unsigned block, status;

        set_counter(s, &gp3, USR | INT, timing, OVERFLOW_IN(77));
        set_counter(s, &fixed0, USR | INT, timing, OVERFLOW_IN(77));
        pmu_poke32(s, APIC_LVTPC, LVT_NMI);
        block = pmu_op(s, OP_BLOCK, BLOCK_NOPS, 0, 0);
        pmu_op(s, OP_RUN, BLOCK_NOPS | RUN_CPL3,
               enable_mask(&fixed0, timing) | gp3.global, 0);
        status = pmu_rdmsr(s, MSR_GLOBAL_STATUS);
        pmu_run(s, PMU_CPU_METRICS);
        expect_event(s, 0, VECTOR_NMI, pmu_value(s, block) + 77,
                     "two counters");
        pmu_expect(s->progress[0].events, 1, "interrupts");
        pmu_expect(pmu_register(s, status), fixed0.global | gp3.global,
                   "status");
    }
}

/* An interrupt comes before or after a string instruction, not in it. */
static void test_string(void)
{
    const uint64_t n = 70000;
    const struct {
        uint64_t period, offset, rcx;
    } expected[] = {
        { 4, 14, n }, { 5, 16, 0 },
    };

    for (int i = 0; i < 2 * ARRAY_SIZE(expected); i++) {
        bool timing = i & 1;
        g_autoptr(PmuScript) s = pmu_script_new();
        unsigned block;

        set_counter(s, &fixed0, USR | INT, timing,
                    OVERFLOW_IN(expected[i / 2].period));
        pmu_poke32(s, APIC_LVTPC, LVT_NMI);
        block = pmu_op(s, OP_BLOCK, BLOCK_MOVSB, 0, 0);
        pmu_op(s, OP_RUN, BLOCK_MOVSB | RUN_CPL3,
               enable_mask(&fixed0, timing), n);
        pmu_run(s, PMU_CPU_METRICS);
        expect_event(s, 0, VECTOR_NMI,
                     pmu_value(s, block) + expected[i / 2].offset, "string");
        pmu_expect(s->event[0][0].rcx, expected[i / 2].rcx, "RCX");
    }
}

/*
 * The instruction before one that faults overflows the counter: the interrupt
 * comes first, before the fault.
 */
static void test_before_fault(void)
{
    for (int timing = 0; timing < 2; timing++) {
        g_autoptr(PmuScript) s = pmu_script_new();

        set_counter(s, &fixed0, USR | INT, timing, OVERFLOW_IN(15));
        pmu_poke32(s, APIC_LVTPC, LVT_NMI);
        pmu_op(s, OP_RUN, BLOCK_UD | RUN_CPL3, enable_mask(&fixed0, timing),
               0);
        pmu_run(s, PMU_CPU_METRICS);
        pmu_expect(s->progress[0].events, 2, "interrupts and exceptions");
        pmu_expect(s->event[0][0].vector, VECTOR_NMI, "first");
        pmu_expect(s->event[0][1].vector, VECTOR_UD, "second");
        pmu_expect(s->event[0][0].rip, s->event[0][1].rip, "RIP of the first");
    }
}

/*
 * HLT retires and overflows the counter, so that the NMI wakes the CPU.  If it
 * does not, a timer far away makes the test fail instead of hang.
 */
static void test_halt(void)
{
    for (int timing = 0; timing < 2; timing++) {
        /* CALL, STI, HLT */
        for (uint64_t period = 2; period <= 3; period++) {
            g_autoptr(PmuScript) s = pmu_script_new();
            unsigned block;

            set_counter(s, &fixed0, OS | INT, timing, OVERFLOW_IN(period));
            pmu_poke32(s, APIC_LVTPC, LVT_NMI);
            pmu_poke32(s, APIC_TIMER_DIVIDE, 0xb);
            pmu_poke32(s, APIC_LVT_TIMER, VECTOR_TIMER);
            pmu_poke32(s, APIC_TIMER_INITIAL, 300000000);
            block = pmu_op(s, OP_BLOCK, BLOCK_HLT, 0, 0);
            pmu_op(s, OP_RUN, BLOCK_HLT, enable_mask(&fixed0, timing), 0);
            pmu_run(s, PMU_CPU_METRICS);
            /* STI and HLT are one byte each. */
            expect_event(s, 0, VECTOR_NMI, pmu_value(s, block) + period - 1,
                         period == 3 ? "overflow in HLT" : "before HLT");
        }
    }
}

/* The WRMSR that stops the counter still counts, and can overflow it. */
static void test_last_wrmsr(void)
{
    for (int timing = 0; timing < 2; timing++) {
        g_autoptr(PmuScript) s = pmu_script_new();
        unsigned status, value;

        set_counter(s, &fixed0, OS | INT, timing,
                    OVERFLOW_IN(1 + RUN_CPL0_INSNS));
        pmu_poke32(s, APIC_LVTPC, LVT_NMI);
        pmu_op(s, OP_RUN, BLOCK_EMPTY, enable_mask(&fixed0, timing), 0);
        status = pmu_rdmsr(s, MSR_GLOBAL_STATUS);
        value = pmu_rdmsr(s, MSR_FIXED_CTR(0));
        pmu_run(s, PMU_CPU_METRICS);
        pmu_expect(pmu_register(s, status), GLOBAL_FIXED(0), "status");
        pmu_expect(pmu_register(s, value), 0, "IA32_FIXED_CTR0");
        pmu_expect(s->progress[0].events, 1, "interrupts");
        pmu_expect(s->event[0][0].vector, VECTOR_NMI, "vector");
    }
}

/* Check what an overflow does if LVTPC is @lvtpc. */
static void expect_delivery(uint32_t lvtpc, bool timing, unsigned vector,
                            uint32_t smis)
{
    const uint64_t period = 50;
    g_autoptr(PmuScript) s = pmu_script_new();
    g_autofree char *what = g_strdup_printf("LVTPC 0x%x, %s", lvtpc,
                                            timing ? "with cycles" : "alone");
    bool illegal = !(lvtpc & (LVT_MASKED | LVT_MODE)) && (lvtpc & 0xff) < 16;
    unsigned block, status, lvt, esr, counter, count, rip;

    set_counter(s, &fixed0, USR | INT, timing, OVERFLOW_IN(period));
    pmu_poke32(s, APIC_LVTPC, lvtpc);
    block = pmu_op(s, OP_BLOCK, BLOCK_NOPS, 0, 0);
    pmu_op(s, OP_RUN, BLOCK_NOPS | RUN_CPL3 | RUN_IF,
           enable_mask(&fixed0, timing), 0);
    status = pmu_rdmsr(s, MSR_GLOBAL_STATUS);
    counter = pmu_rdmsr(s, MSR_FIXED_CTR(0));
    lvt = pmu_op(s, OP_PEEK32, 0, APIC_LVTPC, 0);
    esr = pmu_op(s, OP_PEEK32, 0, APIC_ESR, 0);
    count = pmu_op(s, OP_PEEK32, 0, PAYLOAD_SMI_COUNT, 0);
    rip = pmu_op(s, OP_PEEK64, 0, PAYLOAD_SMI_STATE_RIP, 0);
    pmu_run(s, PMU_CPU_METRICS);

    if (vector == VECTOR_NONE) {
        pmu_expect(s->progress[0].events, 0, "interrupts, %s", what);
    } else {
        expect_event(s, 0, vector, pmu_value(s, block) + period, what);
        pmu_expect(s->progress[0].events, 1, "interrupts, %s", what);
    }
    pmu_expect(pmu_value(s, count), smis, "SMIs, %s", what);
    if (smis) {
        pmu_expect(pmu_value(s, rip), pmu_value(s, block) + period,
                   "RIP saved by the SMI");
    }
    pmu_expect(pmu_register(s, status), GLOBAL_FIXED(0), "status, %s", what);
    /* The counter counts on, RET and INT included. */
    pmu_expect(pmu_register(s, counter), NOPS + 2 - period,
               "IA32_FIXED_CTR0, %s", what);
    pmu_expect(pmu_value(s, lvt) & ~0x1000ull, lvtpc | LVT_MASKED,
               "LVTPC afterwards, %s", what);
    pmu_expect(pmu_value(s, esr), illegal ? ESR_RECEIVED_ILLEGAL : 0,
               "ESR, %s", what);
}

static void test_delivery(void)
{
    for (int timing = 0; timing < 2; timing++) {
        expect_delivery(LVT_NMI, timing, VECTOR_NMI, 0);
        expect_delivery(LVT_FIXED | VECTOR_PMI, timing, VECTOR_PMI, 0);
        expect_delivery(LVT_SMI, timing, VECTOR_NONE, 1);
        expect_delivery(LVT_NMI | LVT_MASKED, timing, VECTOR_NONE, 0);
        expect_delivery(LVT_FIXED | VECTOR_PMI | LVT_MASKED, timing,
                        VECTOR_NONE, 0);
    }
}

/*
 * LVTPC supports neither INIT nor ExtINT, whose vector would come from the PIC,
 * and other modes are reserved (SDM vol. 3A, 11.5.1).  A vector below 16 is an
 * error (11.5.3).  None of them is delivered, but the entry is masked.
 */
static void test_undeliverable(void)
{
    static const uint32_t entries[] = {
        LVT_EXTINT, LVT_EXTINT | VECTOR_PMI, LVT_INIT | VECTOR_PMI,
        LVT_FIXED, LVT_FIXED | 15, 0x100 | VECTOR_PMI, 0x300 | VECTOR_PMI,
        0x600 | VECTOR_PMI,
    };

    for (int i = 0; i < ARRAY_SIZE(entries); i++) {
        expect_delivery(entries[i], false, VECTOR_NONE, 0);
    }
}

/* Without INT, an overflow sets the status bit and raises no interrupt. */
static void test_no_interrupt(void)
{
    for (int timing = 0; timing < 2; timing++) {
        for (int n = 0; n < 8; n++) {
            const Counter counter = { "GP", MSR_A_PMC(n), GLOBAL_GP(n),
                                      EVENT_INSTRUCTIONS };
            g_autoptr(PmuScript) s = pmu_script_new();
            unsigned before, status, again, lvt;

            set_counter(s, &counter, OS | USR, timing, OVERFLOW_IN(500));
            pmu_poke32(s, APIC_LVTPC, LVT_NMI);
            pmu_op(s, OP_RUN, BLOCK_EMPTY, enable_mask(&counter, timing), 0);
            before = pmu_rdmsr(s, MSR_GLOBAL_STATUS);
            pmu_op(s, OP_RUN, BLOCK_NOPS, enable_mask(&counter, timing), 0);
            status = pmu_rdmsr(s, MSR_GLOBAL_STATUS);
            /* The bit stays set until it is cleared, and then stays clear. */
            pmu_op(s, OP_RUN, BLOCK_NOPS, enable_mask(&counter, timing), 0);
            pmu_rdmsr(s, MSR_GLOBAL_STATUS);
            pmu_wrmsr(s, MSR_GLOBAL_RESET, GLOBAL_GP(n));
            pmu_op(s, OP_RUN, BLOCK_NOPS, enable_mask(&counter, timing), 0);
            again = pmu_rdmsr(s, MSR_GLOBAL_STATUS);
            lvt = pmu_op(s, OP_PEEK32, 0, APIC_LVTPC, 0);
            pmu_run(s, PMU_CPU_METRICS);
            pmu_expect(pmu_register(s, before), 0, "status before");
            pmu_expect(pmu_register(s, status), GLOBAL_GP(n), "status");
            pmu_expect(pmu_register(s, status + 2), GLOBAL_GP(n),
                       "status later on");
            pmu_expect(pmu_register(s, again), 0, "status after clearing");
            pmu_expect(pmu_value(s, lvt), LVT_NMI, "LVTPC");
            pmu_expect(s->progress[0].events, 0, "interrupts");
        }
    }
}

/* Each fixed counter has its own status bit, and wraps to 0 after 48 bits. */
static void test_fixed_status(void)
{
    for (int n = 0; n < 4; n++) {
        const Counter counter = { "fixed", MSR_FIXED_CTR(n),
                                  GLOBAL_FIXED(n) };
        g_autoptr(PmuScript) s = pmu_script_new();
        unsigned status, value;

        set_counter(s, &counter, OS | USR, false, COUNTER_MASK);
        pmu_op(s, OP_RUN, BLOCK_LOOP, GLOBAL_FIXED(n), 10000);
        status = pmu_rdmsr(s, MSR_GLOBAL_STATUS);
        value = pmu_rdmsr(s, MSR_FIXED_CTR(n));
        pmu_run(s, PMU_CPU_METRICS);
        pmu_expect(pmu_register(s, status), GLOBAL_FIXED(n),
                   "status after IA32_FIXED_CTR%d has wrapped", n);
        g_assert_cmphex(pmu_register(s, value), <, 1 << 30);
    }
}

/* After delivery LVTPC is masked: further overflows are dropped. */
static void test_masked_after_delivery(void)
{
    for (int timing = 0; timing < 2; timing++) {
        g_autoptr(PmuScript) s = pmu_script_new();
        unsigned first, second;

        set_counter(s, &fixed0, USR | INT, timing, OVERFLOW_IN(10));
        pmu_poke32(s, APIC_LVTPC, LVT_NMI);
        pmu_op(s, OP_RUN, BLOCK_NOPS | RUN_CPL3,
               enable_mask(&fixed0, timing), 0);
        pmu_wrmsr(s, MSR_GLOBAL_RESET, GLOBAL_FIXED(0));
        pmu_wrmsr(s, MSR_FIXED_CTR(0), OVERFLOW_IN(10));
        pmu_op(s, OP_RUN, BLOCK_NOPS | RUN_CPL3,
               enable_mask(&fixed0, timing), 0);
        first = pmu_op(s, OP_PEEK64, 0,
                       PAYLOAD_PROGRESS + PROGRESS_EVENTS, 0);
        /* Unmask LVTPC and clear the status: the next one is delivered. */
        pmu_wrmsr(s, MSR_GLOBAL_RESET, GLOBAL_FIXED(0));
        pmu_wrmsr(s, MSR_FIXED_CTR(0), OVERFLOW_IN(10));
        pmu_poke32(s, APIC_LVTPC, LVT_NMI);
        pmu_op(s, OP_RUN, BLOCK_NOPS | RUN_CPL3,
               enable_mask(&fixed0, timing), 0);
        second = pmu_op(s, OP_PEEK64, 0,
                        PAYLOAD_PROGRESS + PROGRESS_EVENTS, 0);
        pmu_run(s, PMU_CPU_METRICS);
        pmu_expect(pmu_value(s, first), 1, "interrupts while masked");
        pmu_expect(pmu_value(s, second), 2, "interrupts once unmasked");
    }
}

/*
 * With IA32_DEBUGCTL[12], an overflow stops all counters at that instruction,
 * until status bit 59 is cleared.  SDM vol. 3B, 20.2.4 and 18.4.7.
 */
static void test_freeze(void)
{
    const uint64_t period = 100;

    for (int timing = 0; timing < 2; timing++) {
        g_autoptr(PmuScript) s = pmu_script_new();
        uint64_t enable = enable_mask(&fixed0, timing) | GLOBAL_GP(0);
        unsigned status, value, other, still, thawed;

        set_counter(s, &fixed0, USR | INT, timing, OVERFLOW_IN(period));
        pmu_wrmsr(s, MSR_EVTSEL(0),
                  EVENT_INSTRUCTIONS | EVTSEL_USR | EVTSEL_EN);
        pmu_wrmsr(s, MSR_DEBUGCTL, 1 << 12);
        pmu_poke32(s, APIC_LVTPC, LVT_NMI);
        pmu_op(s, OP_RUN, BLOCK_NOPS | RUN_CPL3, enable, 0);
        status = pmu_rdmsr(s, MSR_GLOBAL_STATUS);
        value = pmu_rdmsr(s, MSR_FIXED_CTR(0));
        other = pmu_rdmsr(s, MSR_A_PMC(0));
        /* Clearing the counter's status bit does not unfreeze. */
        pmu_wrmsr(s, MSR_GLOBAL_RESET, GLOBAL_FIXED(0));
        pmu_op(s, OP_RUN, BLOCK_NOPS | RUN_CPL3, enable, 0);
        still = pmu_rdmsr(s, MSR_A_PMC(0));
        pmu_wrmsr(s, MSR_GLOBAL_RESET, GLOBAL_CTR_FRZ);
        pmu_op(s, OP_RUN, BLOCK_NOPS | RUN_CPL3, enable, 0);
        thawed = pmu_rdmsr(s, MSR_A_PMC(0));
        pmu_run(s, PMU_CPU_METRICS);

        pmu_expect(pmu_register(s, status), GLOBAL_FIXED(0) | GLOBAL_CTR_FRZ,
                   "status");
        pmu_expect(pmu_register(s, value), 0, "the counter that overflowed");
        pmu_expect(pmu_register(s, other), period, "another counter");
        pmu_expect(pmu_register(s, still), period, "the same, frozen still");
        pmu_expect(pmu_register(s, thawed), period + NOPS + 2,
                   "the same, after status bit 59 was cleared");
    }
}

/* An APIC that software disables masks all entries (SDM vol. 3A, 11.4.7.2). */
static void test_disabled_apic(void)
{
    for (int enabled = 0; enabled < 2; enabled++) {
        g_autoptr(PmuScript) s = pmu_script_new();
        unsigned status;

        set_counter(s, &fixed0, USR | INT, false, OVERFLOW_IN(100));
        pmu_poke32(s, APIC_LVTPC, LVT_NMI);
        pmu_poke32(s, APIC_SPIV, enabled ? 0x1ff : 0xff);
        pmu_op(s, OP_RUN, BLOCK_NOPS | RUN_CPL3, GLOBAL_FIXED(0), 0);
        status = pmu_rdmsr(s, MSR_GLOBAL_STATUS);
        pmu_run(s, PMU_CPU_METRICS);
        pmu_expect(pmu_register(s, status), GLOBAL_FIXED(0), "status");
        pmu_expect(s->progress[0].events, enabled, "interrupts");
    }
}

/*
 * A block may take long without any data access.  An interrupt comes after the
 * block in which it is due, and not after all blocks that a log can hold.
 */
static void test_slow_blocks(void)
{
    static const Counter slots = {
        "IA32_FIXED_CTR3", MSR_FIXED_CTR(3), GLOBAL_FIXED(3)
    };
    const uint64_t period = 40000, n = 20;
    g_autoptr(PmuScript) s = pmu_script_new();
    unsigned value;
    uint64_t all;

    set_counter(s, &slots, USR, false, 0);
    pmu_op(s, OP_RUN, BLOCK_CPUID | RUN_CPL3, slots.global, n);
    value = pmu_rdmsr(s, slots.msr);
    set_counter(s, &slots, USR | INT, false, OVERFLOW_IN(period));
    set_reload(s, &slots, false, OVERFLOW_IN(period), LVT_NMI);
    pmu_poke32(s, APIC_LVTPC, LVT_NMI);
    pmu_op(s, OP_RUN, BLOCK_CPUID | RUN_CPL3, slots.global, n);
    pmu_run(s, PMU_CPU_METRICS);
    all = pmu_register(s, value);
    g_assert_cmpuint(all / n, >, 10000);
    /* Each interrupt is late by up to a block. */
    g_assert_cmpuint(s->progress[0].events, >=,
                     all / (period + all / n) - 1);
}

/* Four million iterations of a loop, and then what BLOCK_GUESS does. */
static const uint8_t sudden_code[] = {
    0xb9, 0x00, 0x09, 0x3d, 0x00,               /* mov $4000000, %ecx */
    0xff, 0xc9,                                 /* 1: dec %ecx */
    0x75, 0xfc,                                 /* jnz 1b */
    0xbf, 0xa0, 0x86, 0x01, 0x00,               /* mov $100000, %edi */
    0x49, 0xb8, 0x44, 0x7a, 0xbf, 0xcb, 0x8d, 0x40, 0x39, 0x01,
    0x49, 0xb9, 0x2d, 0x7f, 0x95, 0x4c, 0x2d, 0xf4, 0x51, 0x58,
    0x4d, 0x0f, 0xaf, 0xc1,                     /* 2: imul %r9, %r8 */
    0x49, 0x81, 0xc0, 0x39, 0x30, 0x00, 0x00,   /* add $12345, %r8 */
    0x4d, 0x85, 0xc0,                           /* test %r8, %r8 */
    0x78, 0x03,                                 /* js 3f */
    0x48, 0xff, 0xc3,                           /* inc %rbx */
    0xff, 0xcf,                                 /* 3: dec %edi */
    0x75, 0xe9,                                 /* jnz 2b */
    0xc3,
};

/*
 * After millions of slots with hardly any misprediction comes code with many.
 * Its first interrupt is late by 16384 slots at most.  A misprediction takes
 * some 20 slots at least, so that one period of 2000 can be lost at most.
 */
static void test_sudden_event(void)
{
    static const Counter misses = {
        "IA32_PMC0", MSR_A_PMC(0), GLOBAL_GP(0), EVENT_BRANCH_MISSES
    };
    const uint64_t period = 2000, enable = GLOBAL_GP(0) | GLOBAL_GP(1);
    g_autoptr(PmuScript) s = pmu_script_new();
    unsigned value;
    uint64_t all;

    set_counter(s, &misses, USR | INT, false, OVERFLOW_IN(period));
    pmu_wrmsr(s, MSR_EVTSEL(1), EVENT_BRANCH_MISSES | EVTSEL_EN | EVTSEL_USR);
    pmu_wrmsr(s, MSR_A_PMC(1), 0);
    set_reload(s, &misses, false, OVERFLOW_IN(period), LVT_NMI);
    pmu_set(s, PROGRESS_ENABLE, enable);
    pmu_poke32(s, APIC_LVTPC, LVT_NMI);
    pmu_poke_code(s, PAYLOAD_CODE, sudden_code, sizeof(sudden_code));
    pmu_op(s, OP_RUN, BLOCK_JUMP | RUN_CPL3, enable, PAYLOAD_CODE);
    value = pmu_rdmsr(s, MSR_A_PMC(1));
    pmu_run(s, PMU_CPU_METRICS);
    all = pmu_register(s, value);
    g_test_message("%" PRIu64 " mispredictions, %u interrupts", all,
                   (unsigned)s->progress[0].events);
    g_assert_cmpuint(all, >, 20 * period);
    g_assert_cmpuint(s->progress[0].events, >=, all / period - 1);
    g_assert_cmpuint(s->progress[0].events, <=, all / period);
}

/* An overflow without a PMI does not freeze the counters. */
static void test_no_freeze(void)
{
    g_autoptr(PmuScript) s = pmu_script_new();
    unsigned status;

    set_counter(s, &fixed0, USR, false, OVERFLOW_IN(100));
    pmu_wrmsr(s, MSR_DEBUGCTL, 1 << 12);
    pmu_op(s, OP_RUN, BLOCK_NOPS | RUN_CPL3, GLOBAL_FIXED(0), 0);
    status = pmu_rdmsr(s, MSR_GLOBAL_STATUS);
    pmu_run(s, PMU_CPU_METRICS);
    pmu_expect(pmu_register(s, status), GLOBAL_FIXED(0), "status");
}

/*
 * For slots and cycles, the interrupt comes in the code that makes them
 * overflow.  With blocks of one instruction there is no skid: a NOP that
 * follows NOPs, in cached code, takes no more than two cycles.
 */
static void expect_slots(const Counter *counter, uint64_t period,
                         uint64_t overshoot, const char *more_args)
{
    g_autofree char *args = g_strconcat(PMU_CPU_METRICS, more_args, NULL);
    g_autoptr(PmuScript) s = pmu_script_new();
    uint64_t base;
    unsigned block, value;

    /* Run the code once without interrupt, so that it is cached. */
    set_counter(s, counter, USR, false, 0);
    pmu_op(s, OP_RUN, BLOCK_NOPS | RUN_CPL3, counter->global, 0);
    set_counter(s, counter, USR | INT, false, OVERFLOW_IN(period));
    pmu_wrmsr(s, MSR_DEBUGCTL, 1 << 12);
    pmu_poke32(s, APIC_LVTPC, LVT_NMI);
    block = pmu_op(s, OP_BLOCK, BLOCK_NOPS, 0, 0);
    pmu_op(s, OP_RUN, BLOCK_NOPS | RUN_CPL3, counter->global, 0);
    value = pmu_rdmsr(s, counter->msr);
    pmu_run(s, args);

    base = pmu_value(s, block);
    pmu_expect(s->progress[0].events, 1, "interrupts");
    g_assert_cmphex(s->event[0][0].rip, >, base);
    g_assert_cmphex(s->event[0][0].rip, <, base + NOPS);
    /* The interrupt froze the counter. */
    g_assert_cmpuint(pmu_register(s, value), <=, overshoot);
}

static void test_slots(void)
{
    static const Counter cycles = {
        "IA32_FIXED_CTR1", MSR_FIXED_CTR(1), GLOBAL_FIXED(1)
    };
    static const Counter slots = {
        "IA32_FIXED_CTR3", MSR_FIXED_CTR(3), GLOBAL_FIXED(3)
    };

    /* 1000 NOPs take at least 200 cycles, a block of QEMU's up to 512. */
    expect_slots(&cycles, 150, 512, "");
    expect_slots(&slots, 5 * 150, 5 * 512, "");
    expect_slots(&cycles, 150, 2, "-accel tcg,one-insn-per-tb=on");
    expect_slots(&slots, 5 * 150, 5 * 2, "-accel tcg,one-insn-per-tb=on");
}

/*
 * Many periods of cycles, while the model simulates only a part of the code.
 * Another counter tells how many cycles there were.  Each interrupt comes after
 * the block in which its overflow is, neither before nor much later.
 */
static void expect_periods(unsigned code, uint64_t n)
{
    static const Counter cycles = {
        "IA32_FIXED_CTR1", MSR_FIXED_CTR(1), GLOBAL_FIXED(1)
    };
    const uint64_t period = 50021, value = OVERFLOW_IN(period);
    g_autoptr(PmuScript) s = pmu_script_new();
    unsigned rest, total;
    uint64_t events;
    int64_t late;

    set_counter(s, &cycles, USR | INT, false, value);
    pmu_wrmsr(s, MSR_EVTSEL(0), EVENT_CYCLES | EVTSEL_USR | EVTSEL_EN);
    pmu_wrmsr(s, MSR_A_PMC(0), 0);
    set_reload(s, &cycles, false, value, LVT_NMI);
    pmu_set(s, PROGRESS_ENABLE, cycles.global | GLOBAL_GP(0));
    pmu_poke32(s, APIC_LVTPC, LVT_NMI);
    pmu_op(s, OP_RUN, code | RUN_CPL3, cycles.global | GLOBAL_GP(0), n);
    rest = pmu_rdmsr(s, cycles.msr);
    total = pmu_rdmsr(s, MSR_A_PMC(0));
    pmu_run(s, PMU_CPU_METRICS);

    events = s->progress[0].events;
    g_assert_cmpuint(events, >, 100);
    late = pmu_register(s, total) - events * period -
           (pmu_register(s, rest) - value);
    g_test_message("%" PRIu64 " interrupts, cycles late: %" PRId64 " in all",
                   events, late);
    g_assert_cmpint(late, >=, 0);
    g_assert_cmpint(late, <=, events * LATE_CYCLES);
}

static void test_periods(void)
{
    expect_periods(BLOCK_LOOP, 6000000);
    expect_periods(BLOCK_MIXED, 300000);
}

/*
 * The overflow of a hidden counter of PERF_METRICS sets status bit 48.  It
 * interrupts if IA32_FIXED_CTR3 is set up to do so.  A counter of eight bits
 * overflows after 256 slots of its class.
 */
static void test_metrics_overflow(void)
{
    static const struct {
        const char *args;
        unsigned flags;
        uint64_t enable, status;
        unsigned events;
    } row[] = {
        { "perf-metrics-width=8", USR | INT,
          GLOBAL_FIXED(3) | GLOBAL_METRICS, GLOBAL_METRICS, 1 },
        { "perf-metrics-width=8", USR,
          GLOBAL_FIXED(3) | GLOBAL_METRICS, GLOBAL_METRICS, 0 },
        { "perf-metrics-width=8", USR | INT, GLOBAL_FIXED(3), 0, 0 },
        { "perf-metrics-width=8", USR | INT, GLOBAL_METRICS, 0, 0 },
        { "perf-metrics-width=48", USR | INT,
          GLOBAL_FIXED(3) | GLOBAL_METRICS, 0, 0 },
        { "perf-metrics-width=20", USR | INT,
          GLOBAL_FIXED(3) | GLOBAL_METRICS, 0, 0 },
    };
    const Counter slots = { "slots", MSR_FIXED_CTR(3), GLOBAL_FIXED(3) };

    for (int i = 0; i < ARRAY_SIZE(row); i++) {
        g_autofree char *args = g_strdup_printf(
            "-cpu Icelake-Server,+perf-metrics,check=off,%s", row[i].args);
        g_autoptr(PmuScript) s = pmu_script_new();
        unsigned status;

        set_counter(s, &slots, row[i].flags, false, 0);
        pmu_poke32(s, APIC_LVTPC, LVT_NMI);
        /* The block takes at least 4000 slots, but much less than 2^20. */
        pmu_op(s, OP_RUN, BLOCK_LONG | RUN_CPL3, row[i].enable, 0);
        status = pmu_rdmsr(s, MSR_GLOBAL_STATUS);
        pmu_run(s, args);
        pmu_expect(pmu_register(s, status), row[i].status,
                   "status with %s, enabled 0x%" PRIx64, row[i].args,
                   row[i].enable);
        pmu_expect(s->progress[0].events, row[i].events,
                   "interrupts with %s, enabled 0x%" PRIx64, row[i].args,
                   row[i].enable);
    }
}

/* If software sets status bits, that raises no interrupt. */
static void test_status_set(void)
{
    g_autoptr(PmuScript) s = pmu_script_new();

    set_counter(s, &fixed0, USR | INT, false, 0);
    pmu_poke32(s, APIC_LVTPC, LVT_NMI);
    pmu_wrmsr(s, MSR_GLOBAL_SET, GLOBAL_FIXED(0));
    pmu_op(s, OP_RUN, BLOCK_NOPS | RUN_CPL3, GLOBAL_FIXED(0), 0);
    pmu_run(s, PMU_CPU_METRICS);
    pmu_expect(s->progress[0].events, 0, "interrupts");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    if (!qtest_has_accel("tcg")) {
        g_test_skip("No TCG accelerator");
        return 0;
    }
    qtest_add_func("pmu/overflow/straight-line", test_straight_line);
    qtest_add_func("pmu/overflow/straight-line-cpl0",
                   test_straight_line_cpl0);
    qtest_add_func("pmu/overflow/across-levels", test_across_levels);
    qtest_add_func("pmu/overflow/level-change", test_level_change);
    qtest_add_func("pmu/overflow/loop", test_loop);
    qtest_add_func("pmu/overflow/long-period", test_long_period);
    qtest_add_func("pmu/overflow/stepped", test_stepped);
    qtest_add_func("pmu/overflow/two-counters", test_two_counters);
    qtest_add_func("pmu/overflow/string", test_string);
    qtest_add_func("pmu/overflow/before-fault", test_before_fault);
    qtest_add_func("pmu/overflow/halt", test_halt);
    qtest_add_func("pmu/overflow/last-wrmsr", test_last_wrmsr);
    qtest_add_func("pmu/overflow/delivery", test_delivery);
    qtest_add_func("pmu/overflow/undeliverable", test_undeliverable);
    qtest_add_func("pmu/overflow/no-interrupt", test_no_interrupt);
    qtest_add_func("pmu/overflow/fixed-status", test_fixed_status);
    qtest_add_func("pmu/overflow/masked-after-delivery",
                   test_masked_after_delivery);
    qtest_add_func("pmu/overflow/freeze", test_freeze);
    qtest_add_func("pmu/overflow/slow-blocks", test_slow_blocks);
    qtest_add_func("pmu/overflow/sudden-event", test_sudden_event);
    qtest_add_func("pmu/overflow/no-freeze", test_no_freeze);
    qtest_add_func("pmu/overflow/disabled-apic", test_disabled_apic);
    qtest_add_func("pmu/overflow/slots", test_slots);
    qtest_add_func("pmu/overflow/periods", test_periods);
    qtest_add_func("pmu/overflow/metrics", test_metrics_overflow);
    qtest_add_func("pmu/overflow/status-set", test_status_set);
    return g_test_run();
}
