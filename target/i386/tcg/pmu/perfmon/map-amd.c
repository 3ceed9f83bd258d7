/*
 * The register map of AMD's processors since K7.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Source: AMD64 Architecture Programmer's Manual, vol. 2, "Performance
 * Monitoring Counters", and appendix A.
 */

#include <glib.h>

#include "tcg/pmu/perfmon/counter.h"
#include "tcg/pmu/perfmon/register-map.h"

#define MSR_PERF_LEGACY_CTL0    0xc0010000
#define MSR_PERF_LEGACY_CTR0    0xc0010004
#define MSR_PERF_CTL0           0xc0010200
#define MSR_PERF_CTR0           0xc0010201
#define MSR_GLOBAL_STATUS       0xc0000300
#define MSR_GLOBAL_CTL          0xc0000301
#define MSR_GLOBAL_STATUS_CLR   0xc0000302
#define MSR_GLOBAL_STATUS_SET   0xc0000303

/* Bits of PERF_CTLx beyond those of K7. */
#define EVTSEL_GUEST_ONLY   (1ull << 40)
#define EVTSEL_HOST_ONLY    (1ull << 41)

static const PerfmonMsr rows[] = {
    /* Global registers, with CPUID.80000022H:EAX[0]. */
    {
        .name = "PerfCntrGlobalStatus", .first = MSR_GLOBAL_STATUS, .count = 1,
        .present = PERFMON_PRESENT_GLOBAL,
        .write = PERFMON_WRITE_NOT_STORED, .writable = PERFMON_MASK_ALL,
        .holds = PERFMON_MASK_STATUS,
        .stored = offsetof(Perfmon, global_status),
    }, {
        .name = "PerfCntrGlobalCtl", .first = MSR_GLOBAL_CTL, .count = 1,
        .present = PERFMON_PRESENT_GLOBAL,
        .write = PERFMON_WRITE_STORE, .writable = PERFMON_MASK_ALL,
        .holds = PERFMON_MASK_GLOBAL_CTRL,
        .reset = PERFMON_MASK_GLOBAL_CTRL,
        .stored = offsetof(Perfmon, global_ctrl),
    }, {
        .name = "PerfCntrGlobalStatusClr", .first = MSR_GLOBAL_STATUS_CLR,
        .count = 1, .present = PERFMON_PRESENT_GLOBAL,
        .write = PERFMON_WRITE_CLEAR, .writable = PERFMON_MASK_ALL,
        .holds = PERFMON_MASK_STATUS,
        .stored = offsetof(Perfmon, global_status),
        .reads_zero = true,
    }, {
        .name = "PerfCntrGlobalStatusSet", .first = MSR_GLOBAL_STATUS_SET,
        .count = 1, .present = PERFMON_PRESENT_GLOBAL,
        .write = PERFMON_WRITE_SET, .writable = PERFMON_MASK_ALL,
        .holds = PERFMON_MASK_STATUS,
        .stored = offsetof(Perfmon, global_status),
        .reads_zero = true,
    },
    /* The first four counters, at the addresses of K7. */
    {
        .name = "PERF_LEGACY_CTL", .first = MSR_PERF_LEGACY_CTL0,
        .count = PERFMON_AMD_LEGACY_GP, .present = PERFMON_PRESENT_GP,
        .write = PERFMON_WRITE_STORE, .writable = PERFMON_MASK_ALL,
        .holds = PERFMON_MASK_EVTSEL_HELD,
        .stored = offsetof(Perfmon, evtsel),
        .written = perfmon_selector_written,
    }, {
        .name = "PERF_LEGACY_CTR", .first = MSR_PERF_LEGACY_CTR0,
        .count = PERFMON_AMD_LEGACY_GP, .present = PERFMON_PRESENT_GP,
        .write = PERFMON_WRITE_STORE, .writable = PERFMON_MASK_ALL,
        .holds = PERFMON_MASK_COUNTER,
        .stored = offsetof(Perfmon, gp),
        .written = perfmon_counter_written,
    }, {
        .name = "PERF_CTL", .first = MSR_PERF_CTL0, .count = 6, .step = 2,
        .present = PERFMON_PRESENT_AMD_CORE,
        .write = PERFMON_WRITE_STORE, .writable = PERFMON_MASK_ALL,
        .holds = PERFMON_MASK_EVTSEL_HELD,
        .stored = offsetof(Perfmon, evtsel),
        .written = perfmon_selector_written,
    }, {
        .name = "PERF_CTR", .first = MSR_PERF_CTR0, .count = 6, .step = 2,
        .present = PERFMON_PRESENT_AMD_CORE,
        .write = PERFMON_WRITE_STORE, .writable = PERFMON_MASK_ALL,
        .holds = PERFMON_MASK_COUNTER,
        .stored = offsetof(Perfmon, gp),
        .written = perfmon_counter_written,
    },
};

/*
 * Reserved bits do not stick, and writes of them do not raise #GP: the manuals
 * call them "reserved" and not "must be zero", and KVM accepts them, too.
 */
static void prepare(Perfmon *pmu)
{
    const PerfmonConfig *config = &pmu->config;
    bool wide = config->core == PMU_CORE_BULLDOZER ||
                config->core == PMU_CORE_ZEN || config->core == PMU_CORE_K10;
    uint64_t *mask = pmu->mask;

    pmu->num_present[PERFMON_PRESENT_AMD_CORE] =
        config->num_gp > PERFMON_AMD_LEGACY_GP ? config->num_gp : 0;
    pmu->num_present[PERFMON_PRESENT_GLOBAL] = config->version >= 2
                                               ? UINT8_MAX : 0;
    mask[PERFMON_MASK_EVTSEL_HELD] =
        (UINT32_MAX & ~PERF_EVTSEL_ANYTHREAD) |
        (wide ? PERF_EVTSEL_EVENT_HIGH | EVTSEL_GUEST_ONLY | EVTSEL_HOST_ONLY
              : 0);
    mask[PERFMON_MASK_GLOBAL_CTRL] = mask[PERFMON_MASK_GP];
    mask[PERFMON_MASK_STATUS] = config->version >= 2 ? mask[PERFMON_MASK_GP]
                                                     : 0;
}

/*
 * GuestOnly alone counts nothing: all code counts as the host's, as a guest's
 * own guests are not told apart.  HostOnly always counts.  On families 10H and
 * 15H it should only count while EFER.SVME is set (Linux, commit 1018faa6cf23),
 * which is not known here.
 */
static PerfmonControl control(const Perfmon *pmu, unsigned index)
{
    PerfmonControl control = perfmon_evtsel_control(pmu, index);
    uint64_t modes = pmu->evtsel[index] &
                     (EVTSEL_GUEST_ONLY | EVTSEL_HOST_ONLY);

    control.enabled &= modes != EVTSEL_GUEST_ONLY;
    return control;
}

const PerfmonRegisterMap perfmon_map_amd = {
    .name = "AMD",
    .rows = rows, .num_rows = G_N_ELEMENTS(rows),
    .counter_name = "PERF_CTR",
    .max_gp = 6, .counter_width = 48,
    .prepare = prepare,
    .control = control,
    .select = perfmon_evtsel_select,
    .rdpmc = perfmon_plain_rdpmc,
};
