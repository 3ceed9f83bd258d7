/*
 * pmu-check: it reads logs as accesses, and applies the rules to them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Lines of perf script look as Linux prints the events
 * (arch/x86/include/asm/msr-trace.h): "%x, value %llx%s", with " #GP".
 */

#include <glib.h>

#include "replay.h"

typedef struct LineCase {
    const char *line;
    bool parsed;
    LogAccess access;
} LineCase;

static const LineCase lines[] = {
    { "x86_pmu_wrmsr cpu 1 msr 0x38f value 0xff old 0x1 rip 0x1000 "
      "IA32_PERF_GLOBAL_CTRL\n", true,
      { .cpu = 1, .how = PMU_CHECK_WRMSR, .msr = 0x38f, .value = 0xff,
        .rip = 0x1000 } },
    { "1234@1700000000.123456:x86_pmu_rdmsr cpu 0 msr 0x38e value 0x10000 rip "
      "0xffffffff81000000 IA32_PERF_GLOBAL_STATUS", true,
      { .how = PMU_CHECK_RDMSR, .msr = 0x38e, .value = 0x10000,
        .rip = 0xffffffff81000000 } },
    { "x86_pmu_rdpmc cpu 2 ecx 0x40000003 value 0x5 rip 0x10 cpl 3", true,
      { .cpu = 2, .how = PMU_CHECK_RDPMC, .msr = 0x30c, .value = 5,
        .rip = 0x10, .cpl = 3 } },
    { "x86_pmu_gp cpu 0 msr 0x38d value 0x10000 write 1 rip 0x10 wrmsr", true,
      { .how = PMU_CHECK_WRMSR, .msr = 0x38d, .value = 0x10000,
        .faulted = true, .rip = 0x10 } },
    { "x86_pmu_gp cpu 0 msr 0x329 value 0x0 write 0 rip 0x10 rdmsr", true,
      { .how = PMU_CHECK_RDMSR, .msr = 0x329, .faulted = true, .rip = 0x10 } },
    { "         swapper     0 [003]  12.500001: msr:write_msr: 38f, value "
      "1000f000000ff", true,
      { .cpu = 3, .how = PMU_CHECK_WRMSR, .msr = 0x38f,
        .value = 0x1000f000000ff, .microseconds = 12500001 } },
    { "perf 77 [000] 1.0: msr:read_msr: 345, value 0 #GP", true,
      { .how = PMU_CHECK_RDMSR, .msr = 0x345, .faulted = true,
        .microseconds = 1000000 } },
    { "my [name] 77 [000] 1.0: msr:rdpmc: 20000000, value 40302010", true,
      { .how = PMU_CHECK_RDPMC, .msr = 0x329, .value = 0x40302010 } },
    { "x86_pmu_mode cpu 0 mode off", false },
    { "msr:write_msr: nothing", false },
    { "", false },
};

/* Lines of QEMU's trace and of perf script are parsed; others are not. */
static void test_lines(void)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(lines); i++) {
        const LogAccess *want = &lines[i].access;
        LogAccess got = {};

        g_test_message("%s", lines[i].line);
        g_assert_cmpint(log_parse(lines[i].line, &got), ==, lines[i].parsed);
        g_assert_cmpuint(got.cpu, ==, want->cpu);
        g_assert_cmpint(got.how, ==, want->how);
        g_assert_cmphex(got.msr, ==, want->msr);
        g_assert_cmphex(got.value, ==, want->value);
        g_assert_cmpint(got.faulted, ==, want->faulted);
        g_assert_cmphex(got.rip, ==, want->rip);
        g_assert_cmpuint(got.cpl, ==, want->cpl);
        g_assert_cmpuint(got.microseconds, ==, want->microseconds);
    }
}

static Replay *start(void)
{
    static const PerfmonConfig icelake = {
        .core = PMU_CORE_ICELAKE, .num_gp = 8, .num_fixed = 4, .pdcm = true,
        .capabilities = 0xa000, .num_metrics = 4, .metrics_width = 48,
    };
    PmuCheckConfig config = { .rules = pmu_rule_set_default() };

    replay_limit(&config.rules);
    return replay_new(&icelake, &config);
}

static void write_msr(Replay *replay, unsigned cpu, uint32_t msr,
                      uint64_t value)
{
    LogAccess access = {
        .cpu = cpu, .how = PMU_CHECK_WRMSR, .msr = msr, .value = value,
    };

    replay_access(replay, &access);
}

static void read_msr(Replay *replay, uint32_t msr, uint64_t value)
{
    LogAccess access = {
        .how = PMU_CHECK_RDMSR, .msr = msr, .value = value,
    };

    replay_access(replay, &access);
}

/* Start a period of counter 0 on CPU @cpu. */
static void sample(Replay *replay, unsigned cpu)
{
    write_msr(replay, cpu, 0x38f, 0);
    write_msr(replay, cpu, 0x4c1, 0xfffffffff000);
    write_msr(replay, cpu, 0x186, 0x5300c0);
    write_msr(replay, cpu, 0x38f, 1);
}

/*
 * Handle an overflow as Linux does.  @wrong names the rule to break, or none.
 */
static void handle(Replay *replay, const char *wrong)
{
    write_msr(replay, 0, 0x38f, 0);
    read_msr(replay, 0x38e, 1);
    if (!g_str_equal(wrong, "O1")) {
        write_msr(replay, 0, 0x390, 1);
        read_msr(replay, 0x38e, 0);
    }
    if (!g_str_equal(wrong, "O2")) {
        write_msr(replay, 0, 0x4c1, g_str_equal(wrong, "O3")
                                    ? 1000 : 0xfffffffff000);
    }
    write_msr(replay, 0, 0x38f, 1);
    if (g_str_equal(wrong, "C1")) {
        write_msr(replay, 0, 0x4c1, 0xfffffffff000);
    }
}

/*
 * An overflow handled wrongly breaks the one rule that it should, on the CPU
 * that did it.  Handled as Linux does, it breaks none.
 */
static void test_rules(void)
{
    static const char *const wrongs[] = { "", "O1", "O2", "O3", "C1" };

    for (unsigned i = 0; i < G_N_ELEMENTS(wrongs); i++) {
        Replay *replay = start();

        sample(replay, 0);
        sample(replay, 1);
        handle(replay, "");
        handle(replay, wrongs[i]);
        g_test_message("%s", wrongs[i]);
        g_assert_cmpuint(replay_hits(replay, NULL), ==, *wrongs[i] != 0);
        g_assert_cmpuint(replay_hits(replay, wrongs[i]), ==, *wrongs[i] != 0);
        replay_free(replay);
    }
}

/*
 * A log that begins in the middle of a driver's life: the checker does not take
 * what it has not seen for an error.
 */
static void test_middle(void)
{
    Replay *replay = start();

    write_msr(replay, 0, 0x329, 0x40302010);
    write_msr(replay, 0, 0x38f, 0x1000f000000ff);
    read_msr(replay, 0x38e, 1);
    write_msr(replay, 0, 0x390, 1);
    /* The time stamp and the DS area are not registers of this unit. */
    write_msr(replay, 0, 0x10, 1);
    write_msr(replay, 0, 0x600, 1);
    g_assert_cmpuint(replay_hits(replay, "M1"), ==, 0);
    g_assert_cmpuint(replay_hits(replay, "O1"), ==, 0);
    g_assert_cmpuint(replay_hits(replay, "C7"), ==, 0);
    replay_free(replay);
}

/*
 * Writes that a unit with PEBS takes, without a #GP in the log, do not break
 * C7, though the model would raise #GP.
 */
static void test_more_than_modelled(void)
{
    Replay *replay = start();

    write_msr(replay, 0, 0x186, 1ull << 34 | 0x5300c0);
    write_msr(replay, 0, 0x38f, ~0ull);
    read_msr(replay, 0x38e, 1ull << 62);
    write_msr(replay, 0, 0x3f2, 1);
    g_assert_cmpuint(replay_hits(replay, "C7"), ==, 0);
    replay_free(replay);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/check-log/lines", test_lines);
    g_test_add_func("/check-log/rules", test_rules);
    g_test_add_func("/check-log/middle", test_middle);
    g_test_add_func("/check-log/more-than-modelled", test_more_than_modelled);
    return g_test_run();
}
