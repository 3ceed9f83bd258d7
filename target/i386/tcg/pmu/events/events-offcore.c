/*
 * Events: requests to the L3, as MSR_OFFCORE_RSP_x selects them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The register has a bit for each type of request and for each kind of answer:
 * who supplied the line, and what the snoop of other cores found.  A request
 * counts if the bit of its type is set and so are those of its supplier and of
 * its snoop result, or that of "any" answer (SDM vol. 3B, "Off-core Response
 * Performance Monitoring").  Source of what the bits mean on these cores: the
 * values in Intel's event lists (see events-rows.h).
 */

#include <glib.h>

#include "tcg/pmu/events/events-offcore.h"
#include "tcg/pmu/events/events-rows.h"

#define BITS(first, last)   ((2ull << (last)) - (1ull << (first)))

#define ANY_RESPONSE    (1ull << 16)
/* Suppliers: the L3, with the line in that state, or the socket's DRAM. */
#define L3_HIT_M        (1ull << 18)
#define L3_HIT_E        (1ull << 19)
#define L3_HIT_S        (1ull << 20)
#define LOCAL_DRAM      (1ull << 26)
/*
 * Snoop results.  No other core was asked, for a request that brings no data
 * (streaming stores, and what the lists call ITOM, which shares its bit with
 * RFO), and for one that does.  Another core had the line, clean or modified.
 */
#define NO_SNOOP_DATALESS (1ull << 31)
#define NO_SNOOP        (1ull << 32)
#define SNOOP_FWD       (1ull << 35)
#define SNOOP_HITM      (1ull << 36)

/*
 * The types of requests that the model can tell apart, and their items.  Items
 * of lines found in the L3 are split by who else has the line: no other core,
 * one that only read it, or one that wrote it.  0: there is no such item.
 */
static const struct {
    uint64_t request[PMU_CORE_NR];      /* its bit */
    bool dataless;
    uint8_t from_l3, from_dram;         /* PmuLedgerItem */
    uint8_t alone, shared, modified;    /* parts of @from_l3, or all of it */
} kinds[] = {
    /* DEMAND_DATA_RD */
    { { 1 << 0, 1 << 0 }, false, PMU_ITEM_DATA_L3, PMU_ITEM_DATA_DRAM,
      PMU_ITEM_DATA_L3_ALONE, PMU_ITEM_DATA_L3_SHARED,
      PMU_ITEM_DATA_L3_MODIFIED },
    /* DEMAND_RFO */
    { { 1 << 1, 1 << 1 }, false, PMU_ITEM_RFO_L3, PMU_ITEM_RFO_DRAM,
      PMU_ITEM_RFO_L3_ALONE, 0, PMU_ITEM_RFO_L3_MODIFIED },
    /* DEMAND_CODE_RD */
    { { 1 << 2, 1 << 2 }, false, PMU_ITEM_CODE_L3, PMU_ITEM_CODE_DRAM,
      PMU_ITEM_CODE_L3 },
    /* HWPF_L2_DATA_RD */
    { { 1 << 4, 1 << 4 }, false, PMU_ITEM_PREFETCH_L3, PMU_ITEM_PREFETCH_DRAM,
      PMU_ITEM_PREFETCH_L3 },
    /* HWPF_L2_CODE_RD */
    { { 1 << 6, 1 << 6 }, false, PMU_ITEM_CODE_PREFETCH_L3,
      PMU_ITEM_CODE_PREFETCH_DRAM, PMU_ITEM_CODE_PREFETCH_L3 },
    /* HWPF_L1D_AND_SWPF; on Sapphire Rapids HWPF_L1D and SWPF_RD */
    { { 1 << 10, 1 << 10 }, false, PMU_ITEM_L1D_PREFETCH_L3,
      PMU_ITEM_L1D_PREFETCH_DRAM, PMU_ITEM_L1D_PREFETCH_L3 },
    { { 1 << 10, 1 << 14 }, false, PMU_ITEM_SOFT_PREFETCH_L3,
      PMU_ITEM_SOFT_PREFETCH_DRAM, PMU_ITEM_SOFT_PREFETCH_L3 },
    /* STREAMING_WR */
    { { 1 << 11, 1 << 11 }, true, PMU_ITEM_STREAM_L3, PMU_ITEM_STREAM_DRAM,
      PMU_ITEM_STREAM_L3 },
};

/* Names and values on Ice Lake, Sapphire Rapids; 0: not in that list. */
static const PmuOffcoreName names[] = {
    { "OCR.DEMAND_DATA_RD.L3_HIT.SNOOP_HIT_NO_FWD",
      { 0x4003c0001, 0x4003c0001 } },
    { "OCR.DEMAND_DATA_RD.L3_HIT.SNOOP_HITM", { 0x10003c0001, 0x10003c0001 } },
    { "OCR.DEMAND_DATA_RD.L3_HIT.SNOOP_HIT_WITH_FWD",
      { 0x8003c0001, 0x8003c0001 } },
    { "OCR.DEMAND_RFO.L3_HIT.SNOOP_HITM", { 0x10003c0002, 0x10003c0002 } },
    { "OCR.DEMAND_CODE_RD.L3_HIT.SNOOP_HITM", { 0x10003c0004, 0x10003c0004 } },
    { "OCR.DEMAND_DATA_RD.ANY_RESPONSE", { 0x10001, 0x10001 } },
    { "OCR.DEMAND_DATA_RD.L3_MISS", { 0x3fbfc00001, 0x3fbfc00001 } },
    { "OCR.DEMAND_DATA_RD.LOCAL_DRAM", { 0x104000001, 0x104000001 } },
    { "OCR.DEMAND_RFO.LOCAL_DRAM", { 0x104000002, 0x104000002 } },
    { "OCR.DEMAND_CODE_RD.ANY_RESPONSE", { 0x10004, 0x10004 } },
    { "OCR.DEMAND_CODE_RD.L3_MISS", { 0x3fbfc00004, 0x3fbfc00004 } },
    { "OCR.DEMAND_CODE_RD.LOCAL_DRAM", { 0x104000004, 0x104000004 } },
    { "OCR.HWPF_L1D_AND_SWPF.L3_MISS", { 0x3fbfc00400, 0x0 } },
    { "OCR.HWPF_L1D_AND_SWPF.LOCAL_DRAM", { 0x104000400, 0x0 } },
    { "OCR.STREAMING_WR.ANY_RESPONSE", { 0x10800, 0x10800 } },
    { "OCR.OTHER.ANY_RESPONSE", { 0x18000, 0x0 } },
    { "OCR.OTHER.L3_MISS", { 0x3fbfc08000, 0x0 } },
    { "OCR.HWPF_L3.ANY_RESPONSE", { 0x12380, 0x12380 } },
    { "OCR.DEMAND_DATA_RD.REMOTE_DRAM", { 0x730000001, 0x730000001 } },
    { "OCR.DEMAND_DATA_RD.REMOTE_CACHE.SNOOP_HITM",
      { 0x1030000001, 0x1030000001 } },
    { "OCR.DEMAND_DATA_RD.REMOTE_CACHE.SNOOP_HIT_WITH_FWD",
      { 0x830000001, 0x830000001 } },
    { "OCR.DEMAND_DATA_RD.DRAM", { 0x73c000001, 0x73c000001 } },
    { "OCR.DEMAND_DATA_RD.REMOTE_PMM", { 0x703000001, 0x703000001 } },
    { "OCR.DEMAND_DATA_RD.L3_MISS_LOCAL", { 0x3f84400001, 0x0 } },
    { "OCR.DEMAND_DATA_RD.LOCAL_PMM", { 0x100400001, 0x0 } },
    { "OCR.DEMAND_DATA_RD.PMM", { 0x703c00001, 0x703c00001 } },
    { "OCR.DEMAND_RFO.DRAM", { 0x73c000002, 0x73c000002 } },
    { "OCR.DEMAND_RFO.REMOTE_PMM", { 0x703000002, 0x0 } },
    { "OCR.DEMAND_RFO.LOCAL_PMM", { 0x100400002, 0x0 } },
    { "OCR.DEMAND_RFO.PMM", { 0x703c00002, 0x0 } },
    { "OCR.DEMAND_CODE_RD.DRAM", { 0x73c000004, 0x73c000004 } },
    { "OCR.DEMAND_CODE_RD.L3_MISS_LOCAL", { 0x3f84400004, 0x0 } },
    { "OCR.HWPF_L1D_AND_SWPF.DRAM", { 0x73c000400, 0x0 } },
    { "OCR.HWPF_L1D_AND_SWPF.L3_MISS_LOCAL", { 0x3f84400400, 0x0 } },
    { "OCR.OTHER.L3_MISS_LOCAL", { 0x3f84408000, 0x0 } },
    { "OCR.DEMAND_DATA_RD.SNC_PMM", { 0x700800001, 0x0 } },
    { "OCR.DEMAND_RFO.SNC_PMM", { 0x700800002, 0x0 } },
    { "OCR.DEMAND_DATA_RD.L3_HIT", { 0x3f803c0001, 0x3f803c0001 } },
    { "OCR.DEMAND_RFO.L3_HIT", { 0x3f803c0002, 0x3f803c0002 } },
    { "OCR.DEMAND_CODE_RD.L3_HIT", { 0x3f803c0004, 0x3f803c0004 } },
    { "OCR.HWPF_L1D_AND_SWPF.L3_HIT", { 0x3f803c0400, 0x0 } },
    { "OCR.READS_TO_CORE.L3_HIT.SNOOP_HIT_NO_FWD",
      { 0x4003c0477, 0x4003c4477 } },
    { "OCR.READS_TO_CORE.L3_HIT.SNOOP_HITM", { 0x10003c0477, 0x10003c4477 } },
    { "OCR.READS_TO_CORE.L3_HIT.SNOOP_HIT_WITH_FWD",
      { 0x8003c0477, 0x8003c4477 } },
    { "OCR.READS_TO_CORE.REMOTE_CACHE.SNOOP_HITM",
      { 0x1030000477, 0x1030004477 } },
    { "OCR.READS_TO_CORE.REMOTE_CACHE.SNOOP_HIT_WITH_FWD",
      { 0x830000477, 0x830004477 } },
    { "OCR.READS_TO_CORE.REMOTE_CACHE.SNOOP_FWD",
      { 0x1830000477, 0x1830004477 } },
    { "OCR.READS_TO_CORE.DRAM", { 0x73c000477, 0x73c004477 } },
    { "OCR.READS_TO_CORE.LOCAL_DRAM", { 0x104000477, 0x104004477 } },
    { "OCR.READS_TO_CORE.REMOTE_DRAM", { 0x730000477, 0x730004477 } },
    { "OCR.READS_TO_CORE.REMOTE_PMM", { 0x703000477, 0x703004477 } },
    { "OCR.READS_TO_CORE.LOCAL_PMM", { 0x100400477, 0x0 } },
    { "OCR.READS_TO_CORE.SNC_PMM", { 0x700800477, 0x0 } },
    { "OCR.DEMAND_DATA_RD.SNC_DRAM", { 0x708000001, 0x708000001 } },
    { "OCR.DEMAND_RFO.SNC_DRAM", { 0x708000002, 0x708000002 } },
    { "OCR.DEMAND_CODE_RD.SNC_DRAM", { 0x708000004, 0x708000004 } },
    { "OCR.READS_TO_CORE.SNC_DRAM", { 0x708000477, 0x708004477 } },
    { "OCR.DEMAND_RFO.ANY_RESPONSE", { 0x3f3ffc0002, 0x3f3ffc0002 } },
    { "OCR.READS_TO_CORE.ANY_RESPONSE", { 0x3f3ffc0477, 0x3f3ffc4477 } },
    { "OCR.STREAMING_WR.L3_HIT", { 0x80080800, 0x80080800 } },
    { "OCR.HWPF_L3.L3_HIT", { 0x80082380, 0x80082380 } },
    { "OCR.READS_TO_CORE.L3_HIT", { 0x3f003c0477, 0x3f003c4477 } },
    { "OCR.DEMAND_RFO.L3_MISS_LOCAL", { 0x3f04400002, 0x0 } },
    { "OCR.READS_TO_CORE.L3_MISS_LOCAL", { 0x3f04400477, 0x3f04c04477 } },
    { "OCR.STREAMING_WR.L3_MISS_LOCAL", { 0x84000800, 0x84000800 } },
    { "OCR.HWPF_L3.L3_MISS_LOCAL", { 0x84002380, 0x84002380 } },
    { "OCR.ITOM.L3_MISS_LOCAL", { 0x84000002, 0x0 } },
    { "OCR.READS_TO_CORE.REMOTE", { 0x3f33000477, 0x3f33004477 } },
    { "OCR.HWPF_L3.REMOTE", { 0x90002380, 0x90002380 } },
    { "OCR.ITOM.REMOTE", { 0x90000002, 0x0 } },
    { "OCR.DEMAND_RFO.L3_MISS", { 0x3f3fc00002, 0x3f3fc00002 } },
    { "OCR.READS_TO_CORE.L3_MISS", { 0x3f3fc00477, 0x3f3fc04477 } },
    { "OCR.STREAMING_WR.L3_MISS", { 0x94000800, 0x94000800 } },
    { "OCR.HWPF_L3.L3_MISS", { 0x94002380, 0x94002380 } },
    { "OCR.PREFETCHES.L3_MISS_LOCAL", { 0x3f844027f0, 0x0 } },
    { "OCR.PREFETCHES.L3_HIT", { 0x3f803c27f0, 0x0 } },
    { "OCR.DEMAND_DATA_RD.SNC_CACHE.HIT_WITH_FWD",
      { 0x808000001, 0x808000001 } },
    { "OCR.DEMAND_RFO.SNC_CACHE.HIT_WITH_FWD", { 0x808000002, 0x808000002 } },
    { "OCR.DEMAND_CODE_RD.SNC_CACHE.HIT_WITH_FWD",
      { 0x808000004, 0x808000004 } },
    { "OCR.READS_TO_CORE.SNC_CACHE.HIT_WITH_FWD",
      { 0x808000477, 0x808004477 } },
    { "OCR.DEMAND_DATA_RD.SNC_CACHE.HITM", { 0x1008000001, 0x1008000001 } },
    { "OCR.DEMAND_RFO.SNC_CACHE.HITM", { 0x1008000002, 0x1008000002 } },
    { "OCR.DEMAND_CODE_RD.SNC_CACHE.HITM", { 0x1008000004, 0x1008000004 } },
    { "OCR.READS_TO_CORE.SNC_CACHE.HITM", { 0x1008000477, 0x1008004477 } },
    { "OCR.READS_TO_CORE.L3_MISS_LOCAL_SOCKET", { 0x70cc00477, 0x70cc04477 } },
    { "OCR.READS_TO_CORE.LOCAL_SOCKET_DRAM", { 0x70c000477, 0x70c004477 } },
    { "OCR.READS_TO_CORE.LOCAL_SOCKET_PMM", { 0x700c00477, 0x700c04477 } },
    { "OCR.HWPF_L2.ANY_RESPONSE", { 0x10070, 0x10070 } },
    { "OCR.READS_TO_CORE.REMOTE_MEMORY", { 0x731800477, 0x733004477 } },
    { "OCR.WRITE_ESTIMATE.MEMORY", { 0xfbff80822, 0xfbff80822 } },
    { "OCR.HWPF_L1D.ANY_RESPONSE", { 0x0, 0x10400 } },
    { "OCR.DEMAND_DATA_RD.LOCAL_SOCKET_PMM", { 0x0, 0x700c00001 } },
    { "OCR.RFO_TO_CORE.L3_HIT_M", { 0x0, 0x1f80040022 } },
    { "OCR.MODIFIED_WRITE.ANY_RESPONSE", { 0x0, 0x10808 } },
};

const PmuOffcoreName *pmu_offcore_name(unsigned index)
{
    return index < G_N_ELEMENTS(names) ? &names[index] : NULL;
}

static const char *find_name(PmuCore core, uint64_t value)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(names); i++) {
        if (names[i].value[core] && names[i].value[core] == value) {
            return names[i].name;
        }
    }
    return "OCR";
}

/* The answers that a value names. */
typedef struct Answers {
    bool alone, shared, modified;       /* by the L3 */
    bool dram;
} Answers;

static Answers answers_in(uint64_t value, bool dataless)
{
    bool any = value & ANY_RESPONSE;
    bool alone = value & (dataless ? NO_SNOOP_DATALESS : NO_SNOOP);

    return (Answers) {
        .alone = any || ((value & L3_HIT_E) && alone),
        .shared = any || ((value & L3_HIT_S) && (value & SNOOP_FWD)),
        .modified = any || ((value & L3_HIT_M) && (value & SNOOP_HITM)),
        .dram = any || ((value & LOCAL_DRAM) && alone),
    };
}

static void add_term(PmuSelection *selection, bool wanted, uint8_t item)
{
    if (wanted && item) {
        selection->term[selection->num_terms++] = item;
    }
}

/* Add the items of requests of kind @i that get one of @answers. */
static void add_kind(PmuSelection *selection, unsigned i,
                     const Answers *answers)
{
    bool all = answers->alone &&
               ((answers->shared && answers->modified) ||
                kinds[i].alone == kinds[i].from_l3);

    add_term(selection, all, kinds[i].from_l3);
    add_term(selection, !all && answers->alone, kinds[i].alone);
    add_term(selection, !all && answers->shared, kinds[i].shared);
    add_term(selection, !all && answers->modified, kinds[i].modified);
    add_term(selection, answers->dram, kinds[i].from_dram);
}

void pmu_event_offcore(PmuSelection *selection, PmuCore core, uint64_t value)
{
    uint64_t requests = value & BITS(0, 15);
    bool answered = false;

    *selection = (PmuSelection) {
        .name = find_name(core, value), .state = PMU_EVENT_MODELLED,
    };
    for (unsigned i = 0; i < G_N_ELEMENTS(kinds); i++) {
        if (value & kinds[i].request[core]) {
            Answers answers = answers_in(value, kinds[i].dataless);

            answered |= answers.alone || answers.shared || answers.modified ||
                        answers.dram;
            add_kind(selection, i, &answers);
            requests &= ~kinds[i].request[core];
        }
    }
    if (!selection->num_terms) {
        selection->state = PMU_EVENT_NOT_MODELLED;
        selection->note = answered || !(value & ~requests)
            ? "the model has no such requests with such answers"
            : "the model's L3 gives no such answer";
    } else if (requests) {
        selection->state = PMU_EVENT_APPROXIMATE;
        selection->note = "without types of requests that the model does not "
                          "have";
    }
}
