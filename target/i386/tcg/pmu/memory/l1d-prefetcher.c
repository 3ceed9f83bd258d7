/*
 * The prefetcher of L1D, which predicts where a load will go next.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Intel SOM 2.5.5.4: the IP-based stride prefetcher follows single load
 * instructions, in steps of up to 2 KiB either way, and stays in the page.
 * Loads within a line do not come here, so after shorter steps it prefetches
 * the next line.  So does the DCU prefetcher, which ascending loads of one line
 * trigger.
 */

#include <glib.h>
#include <string.h>

#include "tcg/pmu/decode/block.h"
#include "tcg/pmu/memory/l1d-prefetcher.h"

#define MAX_STEP        2048    /* bytes */

void pmu_l1d_prefetcher_init(PmuL1dPrefetcher *prefetcher, uint32_t loads)
{
    g_assert(loads <= PMU_MAX_L1D_PREFETCH_LOADS);
    memset(prefetcher->load, 0, sizeof(prefetcher->load));
    prefetcher->loads = loads;
}

/* Is @n from -@most to @most?  llabs() would not do for INT64_MIN. */
static bool is_within(int64_t n, int64_t most)
{
    return n >= -most && n <= most;
}

bool pmu_l1d_prefetcher_load(PmuL1dPrefetcher *prefetcher, uint8_t ip,
                             uint64_t addr, uint64_t *next)
{
    PmuL1dPrefetcherEntry *load, before;
    int64_t step, lines;

    if (!prefetcher->loads) {
        return false;
    }
    load = &prefetcher->load[ip % prefetcher->loads];
    before = *load;
    step = addr - before.addr;
    lines = (addr >> PMU_LINE_SHIFT) - (before.addr >> PMU_LINE_SHIFT);
    *load = (PmuL1dPrefetcherEntry) {
        .addr = addr,
        .step = is_within(step, MAX_STEP) ? step : 0,
        .lines = is_within(lines, 1) ? lines : 0,
    };
    if (load->step == before.step && load->step &&
        !is_within(step, PMU_LINE_SIZE - 1)) {
        *next = addr + step;
    } else if (load->lines == before.lines && load->lines) {
        *next = addr + lines * PMU_LINE_SIZE;
    } else {
        return false;
    }
    return *next >> PMU_PAGE_SHIFT == addr >> PMU_PAGE_SHIFT;
}
