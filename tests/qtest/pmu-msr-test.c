/*
 * Test of the PMU's registers: CPUID, MSRs, RDPMC, RESET and INIT.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Expectations come from the SDM: vol. 3B, chapter 20 (architectural
 * performance monitoring version 5), vol. 4, tables 2-2 and 2-44, and vol. 2B
 * (RDPMC).
 */

#include "qemu/osdep.h"

#include "pmu/machine.h"

/* A register, or several that are alike. */
typedef struct Msr {
    const char *name;
    uint32_t first;
    unsigned count;
    uint64_t reset;
    uint64_t writable;          /* all other bits raise #GP */
    uint64_t ignored;           /* except these, which do not stick */
} Msr;

/* Registers that read back what was written. */
static const Msr plain_msrs[] = {
    /* AnyThread is deprecated, CPUID.0AH:EDX[15]. */
    { "IA32_PERFEVTSEL", 0x186, 8, 0, 0xffdfffff, .ignored = 1 << 21 },
    { "IA32_FIXED_CTR", 0x309, 4, 0, COUNTER_MASK },
    { "IA32_FIXED_CTR_CTRL", 0x38d, 1, 0, 0xbbbb, .ignored = 0x4444 },
    { "IA32_PERF_GLOBAL_CTRL", 0x38f, 1, 0xff, 0x0001000f000000ff },
    { "IA32_A_PMC", 0x4c1, 8, 0, COUNTER_MASK },
};

/* Model-specific registers that events need, on Ice Lake. */
static const Msr icelake_msrs[] = {
    { "MSR_OFFCORE_RSP_", 0x1a6, 2, 0, 0x3fffffbfff },
    { "MSR_PEBS_LD_LAT_THRESHOLD", 0x3f6, 1, 0, 0xffff },
    { "MSR_PEBS_FRONTEND", 0x3f7, 1, 0, 0x7fff17 },
};

static const Msr sapphirerapids_msrs[] = {
    { "MSR_OFFCORE_RSP_", 0x1a6, 2, 0, 0x3fffffffff },
    { "MSR_PEBS_LD_LAT_THRESHOLD", 0x3f6, 1, 0, 0xffff },
    { "MSR_PEBS_FRONTEND", 0x3f7, 1, 0, 0x7fff1f },
};

static const uint32_t readonly_msrs[] = {
    MSR_CAPABILITIES, MSR_GLOBAL_STATUS, MSR_GLOBAL_INUSE,
};

/* No bit of these may raise #GP when written to a counter's legacy address. */
static const uint64_t legacy_values[] = {
    0, 1, 0x7fffffff, 0x80000000, 0xffffffff, 0x1234567800000000,
    0xffffffff7fffffff, 0x0000800180000001,
};

static void expect_gp(const PmuScript *script, unsigned index,
                      const char *what, uint32_t msr, uint64_t value)
{
    pmu_expect(pmu_vector(script, index), VECTOR_GP,
               "vector raised by %s 0x%x, value 0x%" PRIx64,
               what, msr, value);
    pmu_expect(script->result[0][index].error, 0, "#GP error code");
}

static void test_cpuid(void)
{
    static const struct {
        const char *args;
        uint32_t model;
    } cpu[] = {
        { PMU_CPU_METRICS, 0x606a0 },
        { PMU_CPU_PMU, 0x606a0 },
        { PMU_CPU_SPR, 0x806f0 },
        { "-cpu Icelake-Server-v7,+perf-metrics,check=off", 0x606a0 },
    };

    for (int i = 0; i < ARRAY_SIZE(cpu); i++) {
        g_autoptr(PmuScript) s = pmu_script_new();
        unsigned version = pmu_op(s, OP_CPUID, 1, 0, 0);
        unsigned pmu = pmu_op(s, OP_CPUID, 10, 0, 0);
        unsigned pmu1 = pmu_op(s, OP_CPUID, 10, 1, 0);
        unsigned extended = pmu_op(s, OP_CPUID, 7, 0, 0);
        unsigned extended1 = pmu_op(s, OP_CPUID, 7, 1, 0);
        uint64_t features;

        pmu_run(s, cpu[i].args);
        pmu_expect(pmu_value(s, version) & 0xffff0ff0, cpu[i].model,
                   "family and model of %s", cpu[i].args);
        features = s->result[0][version].value[1];
        pmu_expect(features & (1 << 15), 1 << 15, "PDCM");
        pmu_expect(features & (1u << 31), 1u << 31, "HYPERVISOR");
        pmu_expect(features & (1 << 2), 0, "DTES64");
        pmu_expect(features & (1ull << (32 + 21)), 0, "DS");
        pmu_expect(s->result[0][extended].value[1] & (1ull << (32 + 19)), 0,
                   "ARCH_LBR");
        /*
         * The CPU lacks the features whose events "never" happen: RTM,
         * AVX512F, RDT_A,
         */
        features = s->result[0][extended].value[0] >> 32;
        pmu_expect(features & (1 << 11 | 1 << 15 | 1 << 16), 0,
                   "RTM, RDT_A and AVX512F");
        /* WAITPKG, AVX512_FP16, AMX_TILE and AVX_VNNI. */
        features = s->result[0][extended].value[1];
        pmu_expect(features & (1ull << 5 | 1ull << (32 + 23) |
                               1ull << (32 + 24)), 0,
                   "WAITPKG, AVX512_FP16 and AMX_TILE");
        pmu_expect(s->result[0][extended1].value[0] & (1 << 4), 0, "AVX_VNNI");
        /*
         * Version 5, 8 counters of 48 bits, all 8 events; 4 fixed counters
         * of 48 bits, AnyThread deprecated.
         */
        pmu_expect(pmu_value(s, pmu), 0x08300805, "0AH EAX and EBX");
        pmu_expect(s->result[0][pmu].value[1], 0x000086040000000f,
                   "0AH ECX and EDX");
        /* The leaf has no subleaves: ECX is ignored (SDM vol. 2A). */
        pmu_expect(pmu_value(s, pmu1), 0x08300805, "0AH with ECX = 1");
    }
}

static void expect_reset_values(const char *args, const Msr *msr, unsigned n)
{
    g_autoptr(PmuScript) s = pmu_script_new();
    unsigned index = 0;

    for (int i = 0; i < n; i++) {
        for (int j = 0; j < msr[i].count; j++) {
            pmu_rdmsr(s, msr[i].first + j);
        }
    }
    pmu_run(s, args);
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < msr[i].count; j++) {
            pmu_expect(pmu_register(s, index++), msr[i].reset,
                       "%s%d after RESET", msr[i].name, j);
        }
    }
}

static void test_reset_values(void)
{
    static const Msr others[] = {
        { "IA32_PMC", MSR_PMC(0), 8, 0 },
        { "IA32_PERF_METRICS", MSR_PERF_METRICS, 1, 0 },
        { "IA32_PERF_CAPABILITIES", MSR_CAPABILITIES, 1, 0xa000 },
        { "IA32_PERF_GLOBAL_STATUS", MSR_GLOBAL_STATUS, 1, 0 },
        { "IA32_PERF_GLOBAL_STATUS_RESET", MSR_GLOBAL_RESET, 1, 0 },
        { "IA32_PERF_GLOBAL_STATUS_SET", MSR_GLOBAL_SET, 1, 0 },
        { "IA32_PERF_GLOBAL_INUSE", MSR_GLOBAL_INUSE, 1, 0 },
        { "IA32_DEBUGCTL", MSR_DEBUGCTL, 1, 0 },
        { "IA32_PEBS_ENABLE", 0x3f1, 1, 0 },
    };

    expect_reset_values(PMU_CPU_METRICS, plain_msrs, ARRAY_SIZE(plain_msrs));
    expect_reset_values(PMU_CPU_METRICS, icelake_msrs,
                        ARRAY_SIZE(icelake_msrs));
    expect_reset_values(PMU_CPU_METRICS, others, ARRAY_SIZE(others));
}

/*
 * Write each bit of each register alone.  A bit that exists reads back.  Any
 * other raises #GP and leaves the register as it is.
 */
static void expect_bits(const char *args, const Msr *msr, unsigned n)
{
    g_autoptr(PmuScript) s = pmu_script_new();
    unsigned index = 1;

    pmu_wrmsr(s, MSR_GLOBAL_CTRL, 0);
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < msr[i].count; j++) {
            for (int bit = 0; bit < 64; bit++) {
                pmu_wrmsr(s, msr[i].first + j, msr[i].writable);
                pmu_wrmsr(s, msr[i].first + j, 1ull << bit);
                pmu_rdmsr(s, msr[i].first + j);
            }
            pmu_wrmsr(s, msr[i].first + j, 0);
        }
    }
    pmu_run(s, args);
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < msr[i].count; j++) {
            for (int bit = 0; bit < 64; bit++) {
                uint64_t value = 1ull << bit;

                pmu_expect(pmu_vector(s, index), VECTOR_NONE,
                           "vector raised when %s%d is filled",
                           msr[i].name, j);
                if (!((msr[i].writable | msr[i].ignored) & value)) {
                    expect_gp(s, index + 1, "WRMSR", msr[i].first + j, value);
                    value = msr[i].writable;
                } else {
                    pmu_expect(pmu_vector(s, index + 1), VECTOR_NONE,
                               "vector raised by bit %d of %s%d", bit,
                               msr[i].name, j);
                    value &= ~msr[i].ignored;
                }
                pmu_expect(pmu_register(s, index + 2), value,
                           "%s%d after bit %d", msr[i].name, j, bit);
                index += 3;
            }
            index++;
        }
    }
}

static void test_writable_bits(void)
{
    expect_bits(PMU_CPU_METRICS, plain_msrs, ARRAY_SIZE(plain_msrs));
    expect_bits(PMU_CPU_METRICS, icelake_msrs, ARRAY_SIZE(icelake_msrs));
}

static void test_writable_bits_spr(void)
{
    expect_bits(PMU_CPU_SPR, plain_msrs, ARRAY_SIZE(plain_msrs));
    expect_bits(PMU_CPU_SPR, sapphirerapids_msrs,
                ARRAY_SIZE(sapphirerapids_msrs));
}

static void test_legacy_counters(void)
{
    g_autoptr(PmuScript) s = pmu_script_new();
    unsigned index = 0;

    for (int n = 0; n < 8; n++) {
        for (int i = 0; i < ARRAY_SIZE(legacy_values); i++) {
            pmu_wrmsr(s, MSR_PMC(n), legacy_values[i]);
            pmu_rdmsr(s, MSR_PMC(n));
            pmu_rdmsr(s, MSR_A_PMC(n));
        }
        /* The alias accesses all bits of the same register. */
        pmu_wrmsr(s, MSR_A_PMC(n), 0x123456789abc + n);
        pmu_rdmsr(s, MSR_PMC(n));
    }
    pmu_run(s, PMU_CPU_METRICS);
    for (int n = 0; n < 8; n++) {
        for (int i = 0; i < ARRAY_SIZE(legacy_values); i++) {
            uint64_t expected = (int32_t)legacy_values[i] & COUNTER_MASK;

            pmu_expect(pmu_vector(s, index), VECTOR_NONE,
                       "vector raised by WRMSR of IA32_PMC%d", n);
            pmu_expect(pmu_register(s, index + 1), expected,
                       "IA32_PMC%d after 0x%" PRIx64, n, legacy_values[i]);
            pmu_expect(pmu_register(s, index + 2), expected,
                       "IA32_A_PMC%d after 0x%" PRIx64, n, legacy_values[i]);
            index += 3;
        }
        pmu_expect(pmu_register(s, index + 1), 0x123456789abc + n,
                   "IA32_PMC%d after a write of its alias", n);
        index += 2;
    }
}

static void test_readonly(void)
{
    static const uint64_t values[] = { 0, 1, UINT64_MAX };
    g_autoptr(PmuScript) s = pmu_script_new();
    unsigned index = 0;

    for (int i = 0; i < ARRAY_SIZE(readonly_msrs); i++) {
        for (int j = 0; j < ARRAY_SIZE(values); j++) {
            pmu_wrmsr(s, readonly_msrs[i], values[j]);
        }
    }
    pmu_run(s, PMU_CPU_METRICS);
    for (int i = 0; i < ARRAY_SIZE(readonly_msrs); i++) {
        for (int j = 0; j < ARRAY_SIZE(values); j++) {
            expect_gp(s, index++, "WRMSR", readonly_msrs[i], values[j]);
        }
    }
}

/* Set, read and clear each bit of the status register. */
static void test_status_bits(void)
{
    const uint64_t counters = 0x0001000f000000ff;
    const uint64_t held = counters | 1ull << 59;        /* CTR_FRZ */
    /* Also: ToPA, LBR_FRZ, CTR_FRZ, ASCI, uncore, buffer, changed. */
    const uint64_t clearable = counters | 0xfc80000000000000;
    g_autoptr(PmuScript) s = pmu_script_new();

    for (int bit = 0; bit < 64; bit++) {
        pmu_wrmsr(s, MSR_GLOBAL_SET, 1ull << bit);
        pmu_rdmsr(s, MSR_GLOBAL_STATUS);
        pmu_rdmsr(s, MSR_GLOBAL_SET);
        /* Clearing all other bits leaves this one. */
        pmu_wrmsr(s, MSR_GLOBAL_RESET, clearable & ~(1ull << bit));
        pmu_rdmsr(s, MSR_GLOBAL_RESET);
        pmu_rdmsr(s, MSR_GLOBAL_STATUS);
        pmu_wrmsr(s, MSR_GLOBAL_RESET, 1ull << bit);
        pmu_rdmsr(s, MSR_GLOBAL_STATUS);
        pmu_wrmsr(s, MSR_GLOBAL_RESET, held);
    }
    pmu_run(s, PMU_CPU_METRICS);
    for (int bit = 0; bit < 64; bit++) {
        unsigned index = 9 * bit;
        uint64_t value = 1ull << bit;

        if (held & value) {
            pmu_expect(pmu_vector(s, index), VECTOR_NONE,
                       "vector raised by setting status bit %d", bit);
            pmu_expect(pmu_register(s, index + 1), value,
                       "status with bit %d set", bit);
        } else if (bit == 63 || !(clearable & value)) {
            expect_gp(s, index, "WRMSR", MSR_GLOBAL_SET, value);
        }
        pmu_expect(pmu_register(s, index + 2), 0, "STATUS_SET reads");
        pmu_expect(pmu_register(s, index + 4), 0, "STATUS_RESET reads");
        pmu_expect(pmu_register(s, index + 5), held & value,
                   "status when all bits but %d were cleared", bit);
        if (clearable & value) {
            pmu_expect(pmu_vector(s, index + 6), VECTOR_NONE,
                       "vector raised by clearing status bit %d", bit);
        } else {
            expect_gp(s, index + 6, "WRMSR", MSR_GLOBAL_RESET, value);
        }
        pmu_expect(pmu_register(s, index + 7), 0,
                   "status after bit %d was cleared", bit);
    }
}

/* A write of ones for some bits clears only those. */
static void test_status_clear_is_selective(void)
{
    const uint64_t all = 0x0001000f000000ff;
    g_autoptr(PmuScript) s = pmu_script_new();
    unsigned full, some, none;

    pmu_wrmsr(s, MSR_GLOBAL_SET, all);
    full = pmu_rdmsr(s, MSR_GLOBAL_STATUS);
    pmu_wrmsr(s, MSR_GLOBAL_RESET, 0x0000000800000011);
    some = pmu_rdmsr(s, MSR_GLOBAL_STATUS);
    pmu_wrmsr(s, MSR_GLOBAL_RESET, all);
    none = pmu_rdmsr(s, MSR_GLOBAL_STATUS);
    pmu_run(s, PMU_CPU_METRICS);
    pmu_expect(pmu_register(s, full), all, "status after all bits are set");
    pmu_expect(pmu_register(s, some), all & ~0x0000000800000011ull,
               "status after three are cleared");
    pmu_expect(pmu_register(s, none), 0, "status after all are cleared");
}

/* SDM vol. 3B, 20.2.4.3. */
static void test_inuse(void)
{
    static const struct {
        uint32_t msr;
        uint64_t value, inuse;
    } step[] = {
        { MSR_EVTSEL(3), EVENT_INSTRUCTIONS, 1 << 3 },
        { MSR_EVTSEL(3), EVENT_INSTRUCTIONS | EVTSEL_EN, 1 << 3 },
        { MSR_EVTSEL(3), EVTSEL_EN | EVTSEL_OS, 0 },
        { MSR_EVTSEL(3), EVTSEL_INT, 1ull << 63 },
        { MSR_EVTSEL(3), 0, 0 },
        { MSR_EVTSEL(7), 0x100, 0 },
        { MSR_EVTSEL(7), 0x01, 1 << 7 },
        { MSR_EVTSEL(7), 0, 0 },
        { MSR_FIXED_CTR_CTRL, FIXED_OS(0) | FIXED_USR(3),
          GLOBAL_FIXED(0) | GLOBAL_FIXED(3) },
        { MSR_FIXED_CTR_CTRL, FIXED_PMI(2), 1ull << 63 },
        { MSR_FIXED_CTR_CTRL, FIXED_PMI(1) | FIXED_ALL(1),
          1ull << 63 | GLOBAL_FIXED(1) },
    };
    g_autoptr(PmuScript) s = pmu_script_new();

    pmu_wrmsr(s, MSR_GLOBAL_CTRL, 0);
    for (int i = 0; i < ARRAY_SIZE(step); i++) {
        pmu_wrmsr(s, step[i].msr, step[i].value);
        pmu_rdmsr(s, MSR_GLOBAL_INUSE);
    }
    pmu_run(s, PMU_CPU_METRICS);
    for (int i = 0; i < ARRAY_SIZE(step); i++) {
        pmu_expect(pmu_register(s, 2 + 2 * i), step[i].inuse,
                   "IA32_PERF_GLOBAL_INUSE with MSR 0x%x = 0x%" PRIx64,
                   step[i].msr, step[i].value);
    }
}

static void test_misc_enable(void)
{
    const uint64_t readonly = 1 << 7 | 1 << 11 | 1 << 12;
    g_autoptr(PmuScript) s = pmu_script_new();
    unsigned before = pmu_rdmsr(s, MSR_MISC_ENABLE), after;

    pmu_wrmsr(s, MSR_MISC_ENABLE, 1);
    after = pmu_rdmsr(s, MSR_MISC_ENABLE);
    pmu_run(s, PMU_CPU_METRICS);
    pmu_expect(pmu_register(s, before) & readonly, readonly,
               "IA32_MISC_ENABLE bits 7, 11 and 12 after RESET");
    pmu_expect(pmu_register(s, after) & readonly, readonly,
               "IA32_MISC_ENABLE bits 7, 11 and 12 after they were cleared");
}

/*
 * The guest can enable freezing on a PMI, and may write the bits of last-branch
 * records without #GP.  No other bits exist.
 */
static void test_debugctl(void)
{
    g_autoptr(PmuScript) s = pmu_script_new();
    unsigned set, lbr, reserved;

    pmu_wrmsr(s, MSR_DEBUGCTL, 1 << 12);
    set = pmu_rdmsr(s, MSR_DEBUGCTL);
    lbr = pmu_wrmsr(s, MSR_DEBUGCTL, 1 << 0 | 1 << 1 | 1 << 11);
    pmu_wrmsr(s, MSR_DEBUGCTL, 0);
    reserved = s->num_ops[0];
    for (int bit = 16; bit < 64; bit++) {
        pmu_wrmsr(s, MSR_DEBUGCTL, 1ull << bit);
    }
    pmu_run(s, PMU_CPU_METRICS);
    pmu_expect(pmu_register(s, set), 1 << 12, "IA32_DEBUGCTL with bit 12");
    pmu_expect(pmu_vector(s, lbr), VECTOR_NONE,
               "vector raised by LBR, BTF and FREEZE_LBRS_ON_PMI");
    for (int bit = 16; bit < 64; bit++) {
        expect_gp(s, reserved + bit - 16, "WRMSR", MSR_DEBUGCTL, 1ull << bit);
    }
}

/* No MSR may echo a write: Linux would take it for a last-branch record. */
static void test_no_lbr(void)
{
    static const uint32_t msrs[] = { 0x1c8, 0x1c9, 0x680, 0x6c0, 0xdc0 };
    g_autoptr(PmuScript) s = pmu_script_new();

    for (int i = 0; i < ARRAY_SIZE(msrs); i++) {
        pmu_wrmsr(s, msrs[i], 3);
        pmu_rdmsr(s, msrs[i]);
    }
    pmu_run(s, PMU_CPU_METRICS);
    for (int i = 0; i < ARRAY_SIZE(msrs); i++) {
        const PayloadResult *r = &s->result[0][2 * i + 1];

        pmu_expect(r->vector == VECTOR_NONE && r->value[0] == 3, false,
                   "MSR 0x%x echoes what was written", msrs[i]);
    }
}

/* If an option removes a register, each access to it raises #GP. */
static void test_absent(void)
{
    static const struct {
        const char *args;
        uint64_t capabilities;
        uint32_t msr;
    } absent[] = {
        { PMU_CPU_PMU, 0x2000, MSR_PERF_METRICS },
        { "-cpu Icelake-Server,+perf-metrics,-full-width-write,check=off",
          0x8000, MSR_A_PMC(0) },
    };

    for (int i = 0; i < ARRAY_SIZE(absent); i++) {
        g_autoptr(PmuScript) s = pmu_script_new();

        pmu_rdmsr(s, MSR_CAPABILITIES);
        pmu_rdmsr(s, absent[i].msr);
        pmu_wrmsr(s, absent[i].msr, 0);
        pmu_wrmsr(s, MSR_GLOBAL_CTRL, GLOBAL_METRICS);
        pmu_rdpmc(s, 0x20000000);
        pmu_run(s, absent[i].args);
        pmu_expect(pmu_register(s, 0), absent[i].capabilities,
                   "IA32_PERF_CAPABILITIES with %s", absent[i].args);
        expect_gp(s, 1, "RDMSR", absent[i].msr, 0);
        expect_gp(s, 2, "WRMSR", absent[i].msr, 0);
        /* GLOBAL_CTRL[48] and RDPMC belong to PERF_METRICS. */
        for (int j = 3; j <= 4; j++) {
            pmu_expect(pmu_vector(s, j), absent[i].msr == MSR_PERF_METRICS ?
                       VECTOR_GP : VECTOR_NONE,
                       "vector raised by operation %d with %s", j,
                       absent[i].args);
        }
    }
}

/* Addresses of registers that only larger PMUs have raise #GP. */
static void test_absent_neighbours(void)
{
    static const char *const cpu[] = { PMU_CPU_METRICS, PMU_CPU_SPR };
    static const uint32_t msrs[] = {
        MSR_PMC(8), MSR_PMC(9), 0x18e, 0x18f, MSR_FIXED_CTR(4),
        MSR_FIXED_CTR(5), MSR_FIXED_CTR(6), 0x32a, 0x393, 0x3f2,
        MSR_A_PMC(8), MSR_A_PMC(9),
    };

    for (int i = 0; i < ARRAY_SIZE(cpu); i++) {
        g_autoptr(PmuScript) s = pmu_script_new();

        for (int j = 0; j < ARRAY_SIZE(msrs); j++) {
            pmu_rdmsr(s, msrs[j]);
            pmu_wrmsr(s, msrs[j], 0);
        }
        pmu_run(s, cpu[i]);
        for (int j = 0; j < ARRAY_SIZE(msrs); j++) {
            expect_gp(s, 2 * j, "RDMSR", msrs[j], 0);
            expect_gp(s, 2 * j + 1, "WRMSR", msrs[j], 0);
        }
    }
}

/* A CPU without a PMU is the same as in stock QEMU. */
static void test_none(void)
{
    static const char *const cpu[] = {
        PMU_CPU_NONE, "-cpu max", "-cpu EPYC,check=off",
        "-cpu Skylake-Server,check=off", "-cpu SapphireRapids,check=off",
        "-cpu qemu64",
    };

    for (int i = 0; i < ARRAY_SIZE(cpu); i++) {
        g_autoptr(PmuScript) s = pmu_script_new();
        unsigned version = pmu_op(s, OP_CPUID, 1, 0, 0);
        unsigned pmu = pmu_op(s, OP_CPUID, 10, 0, 0);
        unsigned rdpmc = pmu_rdpmc(s, 0);
        unsigned user, pce;

        user = pmu_op(s, OP_RDPMC, 0, RDPMC_CPL3, 0);
        pmu_op(s, OP_CR4, 0, 1 << 8, 0);
        pce = pmu_op(s, OP_RDPMC, 0, RDPMC_CPL3, 0);
        pmu_wrmsr(s, MSR_GLOBAL_CTRL, UINT64_MAX);
        pmu_rdmsr(s, MSR_GLOBAL_CTRL);
        pmu_rdmsr(s, MSR_CAPABILITIES);
        pmu_rdmsr(s, MSR_MISC_ENABLE);
        pmu_run(s, cpu[i]);
        pmu_expect(s->result[0][version].value[1] & (1 << 15), 0,
                   "PDCM of %s", cpu[i]);
        pmu_expect(pmu_value(s, pmu), 0, "0AH EAX and EBX of %s", cpu[i]);
        pmu_expect(s->result[0][pmu].value[1], 0,
                   "0AH ECX and EDX of %s", cpu[i]);
        pmu_expect(pmu_vector(s, rdpmc), VECTOR_UD, "RDPMC at CPL 0");
        pmu_expect(pmu_vector(s, user), VECTOR_GP,
                   "RDPMC at CPL 3 without CR4.PCE");
        pmu_expect(pmu_vector(s, pce), VECTOR_UD,
                   "RDPMC at CPL 3 with CR4.PCE");
        pmu_expect(pmu_vector(s, pce + 1), VECTOR_NONE,
                   "WRMSR of an unknown MSR");
        pmu_expect(pmu_register(s, pce + 2), 0, "unknown MSR");
        pmu_expect(pmu_register(s, pce + 3), 0, "IA32_PERF_CAPABILITIES");
        /* FASTSTRING and MWAIT, if CPUID has it. */
        pmu_expect(pmu_register(s, pce + 4) & ~(1ull << 18), 1,
                   "IA32_MISC_ENABLE");
    }
}

/* ECX of RDPMC, and the counter that it selects (SDM vol. 2B). */
static const struct {
    uint32_t ecx;
    uint32_t msr;               /* 0: #GP */
} rdpmc_matrix[] = {
    { 0x00000000, MSR_A_PMC(0) }, { 0x00000001, MSR_A_PMC(1) },
    { 0x00000007, MSR_A_PMC(7) }, { 0x00000008 }, { 0x0000ffff },
    { 0x40000000, MSR_FIXED_CTR(0) }, { 0x40000001, MSR_FIXED_CTR(1) },
    { 0x40000002, MSR_FIXED_CTR(2) }, { 0x40000003, MSR_FIXED_CTR(3) },
    { 0x40000004 }, { 0x4000ffff },
    { 0x20000000, MSR_PERF_METRICS },
    { 0x80000000 }, { 0x80000001 }, { 0xc0000000 }, { 0x60000000 },
    { 0x10000000 }, { 0x00010000 }, { 0x40010000 }, { 0xffffffff },
};

static void set_counters(PmuScript *s)
{
    pmu_wrmsr(s, MSR_GLOBAL_CTRL, 0);
    for (int n = 0; n < 8; n++) {
        pmu_wrmsr(s, MSR_A_PMC(n), 0xf00000000000 + 0x100000001ull * n);
    }
    for (int n = 0; n < 4; n++) {
        pmu_wrmsr(s, MSR_FIXED_CTR(n), 0x800000001000 + 0x100000001ull * n);
    }
    pmu_wrmsr(s, MSR_PERF_METRICS, 0x3f404040);
}

static uint64_t counter_value(uint32_t msr)
{
    if (msr == MSR_PERF_METRICS) {
        return 0x3f404040;
    }
    return msr >= MSR_A_PMC(0)
        ? 0xf00000000000 + 0x100000001ull * (msr - MSR_A_PMC(0))
        : 0x800000001000 + 0x100000001ull * (msr - MSR_FIXED_CTR(0));
}

static void expect_rdpmc(const PmuScript *s, unsigned index, bool allowed,
                         const char *where)
{
    for (int i = 0; i < ARRAY_SIZE(rdpmc_matrix); i++, index++) {
        uint32_t msr = rdpmc_matrix[i].msr;

        if (!msr || !allowed) {
            pmu_expect(pmu_vector(s, index), VECTOR_GP,
                       "vector raised by RDPMC of 0x%x %s",
                       rdpmc_matrix[i].ecx, where);
            continue;
        }
        pmu_expect(pmu_vector(s, index), VECTOR_NONE,
                   "vector raised by RDPMC of 0x%x %s",
                   rdpmc_matrix[i].ecx, where);
        if (pmu_vector(s, index) == VECTOR_NONE) {
            pmu_expect(pmu_register(s, index), counter_value(msr),
                       "RDPMC of 0x%x %s", rdpmc_matrix[i].ecx, where);
        }
    }
}

static unsigned rdpmc_all(PmuScript *s, unsigned mode)
{
    unsigned first = s->num_ops[0];

    for (int i = 0; i < ARRAY_SIZE(rdpmc_matrix); i++) {
        pmu_op(s, OP_RDPMC, rdpmc_matrix[i].ecx, mode, 0);
    }
    return first;
}

static void test_rdpmc(void)
{
    g_autoptr(PmuScript) s = pmu_script_new();
    unsigned kernel, user, user_pce, kernel_pce, real_mode;

    set_counters(s);
    kernel = rdpmc_all(s, RDPMC_CPL0);
    user = rdpmc_all(s, RDPMC_CPL3);
    real_mode = rdpmc_all(s, RDPMC_REAL_MODE);
    pmu_op(s, OP_CR4, 0, 1 << 8, 0);
    user_pce = rdpmc_all(s, RDPMC_CPL3);
    kernel_pce = rdpmc_all(s, RDPMC_CPL0);
    pmu_run(s, PMU_CPU_METRICS);
    expect_rdpmc(s, kernel, true, "at CPL 0");
    expect_rdpmc(s, user, false, "at CPL 3 without CR4.PCE");
    expect_rdpmc(s, real_mode, true, "in real mode");
    expect_rdpmc(s, user_pce, true, "at CPL 3 with CR4.PCE");
    expect_rdpmc(s, kernel_pce, true, "at CPL 0 with CR4.PCE");
}

/* A faulting RDPMC leaves RAX and RDX alone. */
static void test_rdpmc_fault_preserves(void)
{
    g_autoptr(PmuScript) s = pmu_script_new();
    unsigned index = pmu_rdpmc(s, 8);

    pmu_run(s, PMU_CPU_METRICS);
    pmu_expect(pmu_vector(s, index), VECTOR_GP, "vector");
    pmu_expect(s->result[0][index].value[0], UINT64_MAX, "RAX");
    pmu_expect(s->result[0][index].value[1], UINT64_MAX, "RDX");
}

/* Values to write to each register, and those after RESET. */
static const struct {
    uint32_t msr;
    uint64_t value, reset;
} state[] = {
    { MSR_GLOBAL_CTRL, 0x0001000200000081, 0xff },
    { MSR_EVTSEL(0), 0x4300c4, 0 },
    { MSR_EVTSEL(7), 0x5100c0, 0 },
    { MSR_FIXED_CTR_CTRL, 0xb000, 0 },
    { MSR_A_PMC(1), 0x123456789abc, 0 },
    { MSR_FIXED_CTR(0), 0x876543210fed, 0 },
    { MSR_FIXED_CTR(3), 0x1000, 0 },
    { MSR_PERF_METRICS, 0x11223344, 0 },
    { MSR_DEBUGCTL, 0x1000, 0 },
    { 0x1a6, 0x11, 0 },
    { 0x3f6, 0x11, 0 },
    { 0x3f7, 0x11, 0 },
};

static void run_reset(uint32_t op, PmuScript *s)
{
    pmu_wrmsr(s, MSR_GLOBAL_CTRL, 0);
    for (int i = ARRAY_SIZE(state) - 1; i >= 0; i--) {
        pmu_wrmsr(s, state[i].msr, state[i].value);
    }
    /* Stop the counters, as nothing may count while the test reads. */
    pmu_wrmsr(s, MSR_FIXED_CTR(3), 0x1000);
    pmu_wrmsr(s, MSR_PERF_METRICS, 0x11223344);
    pmu_wrmsr(s, MSR_EVTSEL(0), 0x0300c4);
    pmu_wrmsr(s, MSR_EVTSEL(7), 0x1100c0);
    pmu_wrmsr(s, MSR_GLOBAL_SET, 0x0001000100000001);
    pmu_op(s, op, 0, 0, 0);
    for (int i = 0; i < ARRAY_SIZE(state); i++) {
        pmu_rdmsr(s, state[i].msr);
    }
    pmu_rdmsr(s, MSR_GLOBAL_STATUS);
    pmu_run(s, PMU_CPU_METRICS);
}

static void test_reset(void)
{
    g_autoptr(PmuScript) s = pmu_script_new();
    unsigned index;

    run_reset(OP_RESET, s);
    index = s->num_ops[0] - ARRAY_SIZE(state) - 1;
    for (int i = 0; i < ARRAY_SIZE(state); i++) {
        pmu_expect(pmu_register(s, index + i), state[i].reset,
                   "MSR 0x%x after RESET", state[i].msr);
    }
    pmu_expect(pmu_register(s, index + ARRAY_SIZE(state)), 0,
               "IA32_PERF_GLOBAL_STATUS after RESET");
}

/* SDM vol. 3A, table 10-1: INIT leaves performance counters unchanged. */
static void test_init(void)
{
    g_autoptr(PmuScript) s = pmu_script_new();
    unsigned index;

    run_reset(OP_INIT, s);
    index = s->num_ops[0] - ARRAY_SIZE(state) - 1;
    for (int i = 0; i < ARRAY_SIZE(state); i++) {
        uint64_t expected = state[i].value;

        if (state[i].msr == MSR_EVTSEL(0) || state[i].msr == MSR_EVTSEL(7)) {
            expected &= ~EVTSEL_EN;
        }
        if (state[i].msr == MSR_DEBUGCTL) {
            continue;           /* cleared by INIT: same table */
        }
        pmu_expect(pmu_register(s, index + i), expected,
                   "MSR 0x%x after INIT", state[i].msr);
    }
    pmu_expect(pmu_register(s, index + ARRAY_SIZE(state)),
               0x0001000100000001, "IA32_PERF_GLOBAL_STATUS after INIT");
}

/* Returns how often @text occurs in @log. */
static unsigned occurrences(const char *log, const char *text)
{
    unsigned n = 0;

    for (const char *at = log; (at = strstr(at, text)); at++) {
        n++;
    }
    return n;
}

/*
 * The log names, once, each event that a guest programs and that QEMU does not
 * count as hardware does.  It names no other event.
 */
static void test_log_of_events(void)
{
    static const uint64_t events[] = {
        0x4300c0,               /* INST_RETIRED.ANY_P */
        0x032028,               /* CORE_POWER.LVL2_..., not enabled */
        0x431828,               /* CORE_POWER.LVL1_TURBO_LICENSE */
        0x031828, 0x431828,     /* the same, off and on */
        0x43fefe,               /* none */
        0x14300c4,              /* BR_INST_RETIRED.ALL_BRANCHES, cmask=1 */
        0x430279,               /* IDQ, umask 2: no such kind */
        0x4301c9,               /* RTM_RETIRED.START: never, which is right */
        0x4302d3,               /* MEM_LOAD_L3_MISS_RETIRED.REMOTE_DRAM */
    };
    g_autoptr(PmuScript) s = pmu_script_new();
    PmuMachine machine;
    g_autofree char *path = NULL, *args = NULL, *log = NULL;

    for (int i = 0; i < ARRAY_SIZE(events); i++) {
        pmu_wrmsr(s, MSR_EVTSEL(i % 2), events[i]);
    }
    pmu_wrmsr(s, MSR_EVTSEL(4), 0x430479);      /* on another counter */
    pmu_op(s, OP_EXIT, 0, 0, 0);
    pmu_prepare(&machine, s);
    path = g_build_filename(machine.dir, "log", NULL);
    args = g_strdup_printf(PMU_CPU_METRICS "-d unimp -D %s", path);
    g_bytes_unref(pmu_run_prepared(&machine, args));
    g_assert_true(g_file_get_contents(path, &log, NULL, NULL));
    pmu_remove(&machine);

    g_assert_cmpuint(occurrences(log, "x86 PMU: event"), ==, 6);
    g_assert_cmpuint(occurrences(log, "event 0x2d3 "
                                 "(MEM_LOAD_L3_MISS_RETIRED.REMOTE_DRAM): "
                                 "not modelled, it counts zero"), ==, 1);
    g_assert_cmpuint(occurrences(log, "event 0x1828 "
                                 "(CORE_POWER.LVL1_TURBO_LICENSE): "
                                 "not modelled, it counts zero"), ==, 1);
    g_assert_cmpuint(occurrences(log, "event 0xfefe (in no list): unknown"),
                     ==, 1);
    g_assert_cmpuint(occurrences(log, "event 0x10000c4 "
                                 "(BR_INST_RETIRED.ALL_BRANCHES): "
                                 "approximate"), ==, 1);
    g_assert_cmpuint(occurrences(log, "event 0x479 (IDQ.MITE_UOPS): "
                                 "not modelled, it counts zero: this counter "
                                 "cannot count it"), ==, 1);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    if (!qtest_has_accel("tcg")) {
        g_test_skip("No TCG accelerator");
        return 0;
    }
    qtest_add_func("pmu/cpuid", test_cpuid);
    qtest_add_func("pmu/msr/reset-values", test_reset_values);
    qtest_add_func("pmu/msr/bits", test_writable_bits);
    qtest_add_func("pmu/msr/bits-spr", test_writable_bits_spr);
    qtest_add_func("pmu/msr/legacy-counters", test_legacy_counters);
    qtest_add_func("pmu/msr/read-only", test_readonly);
    qtest_add_func("pmu/msr/status-bits", test_status_bits);
    qtest_add_func("pmu/msr/status-selective", test_status_clear_is_selective);
    qtest_add_func("pmu/msr/inuse", test_inuse);
    qtest_add_func("pmu/msr/misc-enable", test_misc_enable);
    qtest_add_func("pmu/msr/debugctl", test_debugctl);
    qtest_add_func("pmu/msr/no-lbr", test_no_lbr);
    qtest_add_func("pmu/msr/absent", test_absent);
    qtest_add_func("pmu/msr/absent-neighbours", test_absent_neighbours);
    qtest_add_func("pmu/none", test_none);
    qtest_add_func("pmu/rdpmc/matrix", test_rdpmc);
    qtest_add_func("pmu/rdpmc/fault", test_rdpmc_fault_preserves);
    qtest_add_func("pmu/msr/log-of-events", test_log_of_events);
    qtest_add_func("pmu/reset", test_reset);
    qtest_add_func("pmu/init", test_init);
    return g_test_run();
}
