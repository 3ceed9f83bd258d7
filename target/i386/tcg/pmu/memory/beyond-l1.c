/*
 * Beyond the first-level caches: L2, L3, DRAM.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "tcg/pmu/memory/beyond-l1.h"

/* The entry for @line in the table of the newest prefetches. */
static inline PmuPendingPrefetch *prefetch_slot(PmuMemory *mem, uint64_t line)
{
    return &mem->prefetch[(line ^ line / PMU_PAGE_LINES * 37) %
                          PMU_PENDING_PREFETCHES];
}

static void record_prefetch(PmuMemory *mem, uint64_t line)
{
    *prefetch_slot(mem, line) = (PmuPendingPrefetch) {
        .line = line, .number = ++mem->prefetches,
    };
}

#define NOT_SNOOPED { PMU_ITEM_NR, PMU_ITEM_NR, PMU_ITEM_NR, PMU_ITEM_NR }

const PmuRequestKind pmu_request_load = {
    PMU_ITEM_DATA_L2, PMU_ITEM_PREFETCH_L2, {
        PMU_ITEM_NR, PMU_ITEM_DATA_L3_ALONE, PMU_ITEM_DATA_L3_SHARED,
        PMU_ITEM_DATA_L3_MODIFIED,
    }, false,
};

/* Counts as a load, but asks for a line to write to. */
const PmuRequestKind pmu_request_update = {
    PMU_ITEM_DATA_L2, PMU_ITEM_PREFETCH_L2, {
        PMU_ITEM_NR, PMU_ITEM_DATA_L3_ALONE, PMU_ITEM_DATA_L3_SHARED,
        PMU_ITEM_DATA_L3_MODIFIED,
    }, true,
};

const PmuRequestKind pmu_request_rfo = {
    PMU_ITEM_RFO_L2, PMU_ITEM_PREFETCH_L2, {
        PMU_ITEM_NR, PMU_ITEM_RFO_L3_ALONE, PMU_ITEM_NR,
        PMU_ITEM_RFO_L3_MODIFIED,
    }, true,
};

const PmuRequestKind pmu_request_software_prefetch = {
    PMU_ITEM_SOFT_PREFETCH_L2, PMU_ITEM_PREFETCH_L2, NOT_SNOOPED, false,
};

const PmuRequestKind pmu_request_l1d_prefetch = {
    PMU_ITEM_L1D_PREFETCH_L2, PMU_ITEM_PREFETCH_L2, NOT_SNOOPED, false,
};

const PmuRequestKind pmu_request_code = {
    PMU_ITEM_CODE_L2, PMU_ITEM_CODE_PREFETCH_L2, NOT_SNOOPED, false,
};

PmuDirectoryState pmu_beyond_l1_access_l3(PmuMemory *mem, uint64_t line,
                                          bool write)
{
    PmuSharer asked;
    PmuDirectoryState found = pmu_tag_array_access_by(mem->l3, line,
                                                      mem->sharer,
                                                      write, &asked);

    if (G_UNLIKELY(asked)) {
        pmu_l3_send_snoop(mem->shared_l3, mem->sharer, asked,
                          (PmuSnoop) { .line = line, .write = write });
    }
    return found;
}

bool pmu_beyond_l1_may_write(PmuMemory *mem, uint64_t line)
{
    return !pmu_l3_is_shared(mem->shared_l3) ||
           pmu_tag_array_upgrade(mem->l3, line, mem->sharer);
}

/*
 * @line missed the first level: prefetch into L2 what the streamer asks for.
 * Those found in the L3 are numbered before those from DRAM.
 */
static void stream_prefetch(PmuMemory *mem, uint64_t line,
                            const PmuRequestKind *requests,
                            PmuAccessOutcome *access)
{
    uint64_t lines[PMU_STREAM_DEGREE], dram[PMU_STREAM_DEGREE] = {}, next;
    unsigned n = pmu_streamer_miss(&mem->streamer, line, lines, &next);

    for (unsigned i = 0; i < n; i++) {
        unsigned from = PMU_FOUND_IN_L2;

        if (!pmu_tag_array_prefetch(&mem->l2, lines[i])) {
            if (pmu_beyond_l1_access_l3(mem, lines[i], false) !=
                PMU_DIRECTORY_MISS) {
                from = PMU_FOUND_IN_L3;
                access->prefetch_l3++;
                record_prefetch(mem, lines[i]);
            } else {
                from = PMU_FOUND_IN_DRAM;
                dram[access->prefetch_dram++] = lines[i];
            }
        }
        pmu_ledger_event(mem->ledger, requests->prefetched + from, 1);
    }
    mem->streamed += access->prefetch_dram;
    for (unsigned i = 0; i < access->prefetch_dram; i++) {
        record_prefetch(mem, dram[i]);
    }
    if (n) {
        pmu_tag_array_touch_set(mem->l3, next);
    }
}

/* @line is in L2, or a prefetch is bringing it there. */
static void l2_hit(PmuMemory *mem, uint64_t line, PmuAccessOutcome *access)
{
    PmuPendingPrefetch *prefetch = prefetch_slot(mem, line);
    uint64_t since = mem->prefetches - prefetch->number;

    access->source = PMU_SOURCE_L2;
    if (prefetch->line == line && prefetch->number) {
        if (since < PMU_OUTCOME_PREFETCHES) {
            access->source = PMU_SOURCE_PREFETCH;
            access->prefetch = since;
        }
        prefetch->number = 0;
    }
}

/* Ask the L3 for @line, which L2 lacks or may not write; returns PmuFoundIn. */
static unsigned l3_request(PmuMemory *mem, uint64_t line,
                           const PmuRequestKind *requests,
                           PmuAccessOutcome *access)
{
    PmuDirectoryState found = pmu_beyond_l1_access_l3(mem, line,
                                                      requests->writes);

    if (found == PMU_DIRECTORY_MISS) {
        access->source = PMU_SOURCE_DRAM;
        return PMU_FOUND_IN_DRAM;
    }
    access->source = PMU_SOURCE_L3;
    if (found != PMU_DIRECTORY_EXCLUSIVE) {
        access->snoop = mem->uarch->snoop_latency;
    }
    if (requests->snooped[found] != PMU_ITEM_NR) {
        pmu_ledger_event(mem->ledger, requests->snooped[found], 1);
    }
    return PMU_FOUND_IN_L3;
}

void pmu_beyond_l1_request(PmuMemory *mem, uint64_t line,
                           const PmuRequestKind *requests,
                           PmuAccessOutcome *access)
{
    unsigned from = PMU_FOUND_IN_L2;

    mem->misses++;
    if (pmu_tag_array_access(&mem->l2, line) &&
        (!requests->writes || pmu_beyond_l1_may_write(mem, line))) {
        l2_hit(mem, line, access);
    } else {
        from = l3_request(mem, line, requests, access);
    }
    pmu_ledger_event(mem->ledger, requests->demanded + from, 1);
    stream_prefetch(mem, line, requests, access);
}

void pmu_beyond_l1_prefetch(PmuMemory *mem, uint64_t line,
                            PmuAccessOutcome *access)
{
    unsigned from = PMU_FOUND_IN_L2;

    if (!pmu_tag_array_access(&mem->l2, line)) {
        bool in_l3 = pmu_beyond_l1_access_l3(mem, line, false) !=
                     PMU_DIRECTORY_MISS;

        from = in_l3 ? PMU_FOUND_IN_L3 : PMU_FOUND_IN_DRAM;
        access->prefetch_l3 = from == PMU_FOUND_IN_L3;
        access->prefetch_dram = from == PMU_FOUND_IN_DRAM;
        record_prefetch(mem, line);
    }
    pmu_ledger_event(mem->ledger, pmu_request_software_prefetch.demanded + from,
                     1);
}
