/*
 * The register map of the Pentium (P5): one control register for two counters.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Source: SDM vol. 3B, "Performance Monitoring (Pentium Processors)".  Only the
 * pins PM0/BP0 and PM1/BP1 show an overflow, and no machine here has them.
 */

#include <glib.h>

#include "tcg/pmu/perfmon/counter.h"
#include "tcg/pmu/perfmon/register-map.h"

#define MSR_P5_CESR     0x11
#define MSR_P5_CTR0     0x12

/* Fields of a counter in CESR; they begin at bit 16 x the counter's number. */
#define CESR_SHIFT(index)   (16 * (index))
#define CESR_EVENT      0x3full
/* In the SDM CPL 0 to 2; here CPL 0, as CPL 1 and 2 count as CPL 3 does. */
#define CESR_OS         (1ull << 6)
#define CESR_USR        (1ull << 7)     /* CPL 3 */
#define CESR_CLOCKS     (1ull << 8)     /* count clocks of the event instead */
#define CESR_PIN        (1ull << 9)
#define CESR_FIELD \
    (CESR_EVENT | CESR_OS | CESR_USR | CESR_CLOCKS | CESR_PIN)

static const PerfmonMsr rows[] = {
    {
        .name = "CESR", .first = MSR_P5_CESR, .count = 1,
        .present = PERFMON_PRESENT,
        .write = PERFMON_WRITE_STORE, .writable = PERFMON_MASK_EAX,
        .holds = PERFMON_MASK_CESR,
        .stored = offsetof(Perfmon, cesr),
        .written = perfmon_shared_written,
    }, {
        .name = "CTR", .first = MSR_P5_CTR0, .count = 2,
        .present = PERFMON_PRESENT_GP,
        .write = PERFMON_WRITE_STORE, .writable = PERFMON_MASK_ALL,
        .holds = PERFMON_MASK_COUNTER,
        .stored = offsetof(Perfmon, gp),
        .written = perfmon_counter_written,
    },
};

/* Reserved bits do not stick; no source says that they raise #GP. */
static void prepare(Perfmon *pmu)
{
    pmu->mask[PERFMON_MASK_CESR] = CESR_FIELD << CESR_SHIFT(0) |
                                   CESR_FIELD << CESR_SHIFT(1);
}

/* Clocks of an event are selected as CMASK=1, as on later cores. */
static PerfmonControl control(const Perfmon *pmu, unsigned index)
{
    uint64_t field = pmu->cesr >> CESR_SHIFT(index);

    return (PerfmonControl) {
        .selector = (field & CESR_EVENT) |
                    (field & CESR_CLOCKS ? PMU_EVENT_CMASK(1) : 0),
        .enabled = field & (CESR_OS | CESR_USR),
        .os = field & CESR_OS,
        .usr = field & CESR_USR,
    };
}

const PerfmonRegisterMap perfmon_map_p5 = {
    .name = "P5",
    .rows = rows, .num_rows = G_N_ELEMENTS(rows),
    .counter_name = "CTR",
    .max_gp = 2, .counter_width = 40,
    .prepare = prepare,
    .control = control,
    .select = perfmon_evtsel_select,
    .rdpmc = perfmon_plain_rdpmc,
};
