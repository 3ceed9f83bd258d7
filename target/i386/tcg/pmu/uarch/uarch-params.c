/*
 * The figures of a core that users can change: "what if".
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Members of PmuUarch that are not in this table, and why:
 *   name             not a figure
 *   num_ports, ports which port does what is a map, not a figure; rows of the
 *                    instruction table name ports by it
 *   bypass           belongs to the instruction table
 *   tsc_den          follows from the core's frequency
 *   xclk_den         likewise
 *   no_l3            cleared when l3-latency is set
 *   l1i.latency      fetch is pipelined: it is part of the branch penalties
 *   itlb[].latency   0: a hit is part of an L1I hit
 *   dtlb[].latency   0: a hit is part of an L1D hit
 *   itlb[PMU_PAGE_1G]    the ITLB has no such entries
 */

#include <glib.h>
#include <stddef.h>
#include <string.h>

#include "tcg/pmu/uarch/uarch-params.h"

/*
 * Most that the TSC and the crystal can be faster than the core: no event may
 * count much faster than slots do (PMU_TIMING_ITEM_RATE).
 */
#define MAX_CLOCK_RATIO 4u

#define FIGURE(member) \
    .offset = offsetof(PmuUarch, member), \
    .bytes = sizeof(((PmuUarch *)NULL)->member)
#define SIZE(member)    FIGURE(member), .is_size = true
#define CODE_FIGURE(member)     FIGURE(member), .of_code = true

/* The greatest latency of an L3, in cycles. */
#define L3_LATENCY_MAX 1000

/* Limits are those of the model's arrays, or else generous. */
const PmuUarchParam pmu_uarch_params[PMU_UARCH_PARAMS] = {
    { "width", "slots a cycle", "issue width",
      1, PMU_MAX_WIDTH, FIGURE(width) },
    { "rob", "fused micro-ops", "reorder buffer",
      PMU_MIN_ROB, PMU_MAX_ROB, FIGURE(rob) },
    { "scheduler", "unfused micro-ops", "scheduler",
      1, PMU_MAX_SCHEDULER, FIGURE(scheduler) },
    { "eliminate-moves", "0 or 1", "eliminated MOVs",
      0, 1, CODE_FIGURE(eliminates_gpr_moves) },
    { "eliminate-adds", "0 or 1", "eliminated constant ADDs",
      0, 1, CODE_FIGURE(eliminates_constants) },
    { "rename-memory", "0 or 1", "memory renaming",
      0, 1, CODE_FIGURE(renames_memory) },
    { "idq", "micro-ops", "queue before the backend",
      1, PMU_MAX_IDQ, FIGURE(idq) },
    { "fill-buffers", "lines", "L1D misses at a time",
      1, PMU_MAX_FILL_BUFFERS, FIGURE(fill_buffers) },
    { "load-buffer", "loads", "load buffer",
      1, PMU_MAX_LOAD_BUFFER, FIGURE(load_buffer) },
    { "store-buffer", "stores", "store buffer",
      1, PMU_MAX_STORE_BUFFER, FIGURE(store_buffer) },
    { "frequency", "MHz", "core clock",
      100, 10000, FIGURE(frequency_mhz) },
    { "tsc-frequency", "MHz", "clock of reference cycles",
      1, 10000, FIGURE(tsc_num) },
    { "crystal-frequency", "MHz", "clock of REF_XCLK",
      1, 10000, FIGURE(xclk_num) },

    { "l1i-size", "bytes", "L1I",
      1 << 10, 1 << 20, SIZE(l1i.size) },
    { "l1i-ways", "ways", "L1I associativity",
      1, PMU_MAX_CACHE_WAYS / 2, FIGURE(l1i.ways) },
    { "l1d-size", "bytes", "L1D",
      1 << 10, 1 << 20, SIZE(l1d.size) },
    { "l1d-ways", "ways", "L1D associativity",
      1, PMU_MAX_CACHE_WAYS, FIGURE(l1d.ways) },
    { "l1d-latency", "cycles", "load that hits L1D",
      1, 1000, FIGURE(l1d.latency) },
    { "l2-size", "bytes", "L2",
      1 << 12, 1 << 26, SIZE(l2.size) },
    { "l2-ways", "ways", "L2 associativity",
      1, PMU_MAX_TAG_ARRAY_WAYS, FIGURE(l2.ways) },
    { "l2-latency", "cycles", "load that hits L2",
      1, 1000, FIGURE(l2.latency) },
    { "l3-size", "bytes", "L3 of a socket",
      1 << 16, 1 << 30, SIZE(l3.size) },
    { "l3-ways", "ways", "L3 associativity",
      1, PMU_MAX_TAG_ARRAY_WAYS, FIGURE(l3.ways) },
    { "l3-latency", "cycles", "load that hits L3",
      1, L3_LATENCY_MAX, FIGURE(l3.latency) },

    { "itlb-entries", "pages", "ITLB, for code",
      1, 1 << 12, FIGURE(itlb[PMU_PAGE_4K].entries) },
    { "itlb-ways", "ways", "ITLB associativity",
      1, PMU_MAX_CACHE_WAYS, FIGURE(itlb[PMU_PAGE_4K].ways) },
    { "itlb-2m-entries", "pages", "ITLB, 2 MiB",
      1, 1 << 12, FIGURE(itlb[PMU_PAGE_2M].entries) },
    { "itlb-2m-ways", "ways", "ITLB associativity",
      1, PMU_MAX_CACHE_WAYS, FIGURE(itlb[PMU_PAGE_2M].ways) },
    { "dtlb-entries", "pages", "DTLB, for data",
      1, 1 << 12, FIGURE(dtlb[PMU_PAGE_4K].entries) },
    { "dtlb-ways", "ways", "DTLB associativity",
      1, PMU_MAX_CACHE_WAYS, FIGURE(dtlb[PMU_PAGE_4K].ways) },
    { "dtlb-2m-entries", "pages", "DTLB, 2 MiB",
      1, 1 << 12, FIGURE(dtlb[PMU_PAGE_2M].entries) },
    { "dtlb-2m-ways", "ways", "DTLB associativity",
      1, PMU_MAX_CACHE_WAYS, FIGURE(dtlb[PMU_PAGE_2M].ways) },
    { "dtlb-1g-entries", "pages", "DTLB, 1 GiB",
      1, 1 << 12, FIGURE(dtlb[PMU_PAGE_1G].entries) },
    { "dtlb-1g-ways", "ways", "DTLB associativity",
      1, PMU_MAX_CACHE_WAYS, FIGURE(dtlb[PMU_PAGE_1G].ways) },
    { "stlb-entries", "pages", "STLB, second level",
      1, 1 << 15, FIGURE(stlb.entries) },
    { "stlb-ways", "ways", "STLB associativity",
      1, PMU_MAX_CACHE_WAYS, FIGURE(stlb.ways) },
    { "stlb-latency", "cycles", "hit in the STLB",
      0, 100, FIGURE(stlb.latency) },
    { "page-walk", "cycles", "page walk, but its last load",
      0, 200, FIGURE(page_walk) },
    { "page-walkers", "pages", "page walks at a time",
      1, PMU_MAX_PAGE_WALKERS, FIGURE(page_walkers) },

    { "dram-tenth-ns", "0.1 ns", "load from DRAM",
      10, 20000, FIGURE(dram_tenth_ns) },
    { "l3-line-cycles", "cycles", "between lines from L3",
      0, 1000, FIGURE(l3_line_cycles) },
    { "dram-line-cycles", "cycles", "between lines from DRAM",
      0, 1000, FIGURE(dram_line_cycles) },
    { "snoop-latency", "cycles", "line that another vCPU has",
      1, 200, FIGURE(snoop_latency) },
    { "prefetch-distance", "lines", "L2 streamer, 0: none",
      0, PMU_LINE_SIZE - 1, FIGURE(prefetch_distance) },
    { "l1d-prefetch", "loads", "L1D prefetcher, 0: none",
      0, PMU_MAX_L1D_PREFETCH_LOADS, FIGURE(l1d_prefetch) },
    { "store-forward", "cycles", "data from store to load",
      0, 1000, FIGURE(store_forward) },
    { "store-forward-vector", "cycles", "... more, to a vector register",
      0, 100, CODE_FIGURE(forward_vector) },
    { "store-forward-rmw", "cycles", "... more, to what is stored again",
      0, 100, CODE_FIGURE(forward_rmw) },
    { "store-forward-blocked", "cycles", "load that a store blocks",
      0, 1000, FIGURE(store_forward_blocked) },
    { "address-alias", "cycles", "load 4 KiB off a store",
      0, 1000, FIGURE(address_alias) },
    { "lock-latency", "cycles", "LOCK, on top of the rest",
      0, 100, CODE_FIGURE(lock_latency) },
    { "store-pair-bytes", "bytes", "stores that leave in pairs",
      0, PMU_LINE_SIZE, FIGURE(store_pair_bytes) },
    { "stream-half-cycles", "half cycles", "non-temporal stores",
      0, 200, FIGURE(stream_half_cycles) },

    { "fetch-targets", "windows", "predicted ahead of fetch",
      0, PMU_MAX_FETCH_TARGETS, FIGURE(fetch_targets) },
    { "l1i-fill-buffers", "lines", "L1I misses at a time",
      1, PMU_MAX_FILL_BUFFERS, FIGURE(l1i_fill_buffers) },
    { "l1i-line-cycles", "cycles", "between lines that L1I gets",
      0, 1000, FIGURE(l1i_line_cycles) },

    { "dsb-uops", "micro-ops", "DSB (decoded code)",
      1, 1 << 16, FIGURE(dsb_uops) },
    { "dsb-window", "bytes", "of code in a DSB window",
      16, PMU_LINE_SIZE, CODE_FIGURE(dsb_window) },
    { "dsb-window-lines", "lines", "DSB, most for one window",
      1, 32, FIGURE(dsb_window_lines) },
    { "dsb-one-line", "0 or 1", "no parts of two in a cycle",
      0, 1, FIGURE(dsb_one_line) },
    { "dsb-line", "micro-ops", "line of the DSB",
      1, 32, FIGURE(dsb_line) },
    { "dsb-ways", "ways", "DSB associativity",
      1, PMU_MAX_CACHE_WAYS, FIGURE(dsb_ways) },
    { "dsb-switch", "cycles", "from the DSB to decoders",
      0, 1000, FIGURE(dsb_switch) },
    { "decode-bytes", "bytes", "predecoded a cycle",
      8, PMU_LINE_SIZE, FIGURE(decode_bytes) },
    { "predecode-insns", "instructions", "predecoded a cycle",
      1, 32, FIGURE(predecode_insns) },
    { "decoders", "instructions", "decoded a cycle",
      1, 32, FIGURE(decoders) },
    { "decode-uops", "micro-ops", "decoded a cycle",
      1, 64, FIGURE(decode_uops) },
    { "instruction-queue", "instructions", "queue before decoders",
      1, 1000, FIGURE(instruction_queue) },
    { "lcp-stall", "cycles", "length-changing prefix",
      0, 1000, FIGURE(lcp_stall) },
    { "ms-switch", "cycles", "change to microcode",
      0, 1000, FIGURE(ms_switch) },
    { "ms-uops", "micro-ops", "from microcode a cycle",
      1, 32, FIGURE(ms_uops) },

    { "issue-to-dispatch", "cycles", "from issue to dispatch",
      1, 100, FIGURE(issue_to_dispatch) },
    { "btb-entries", "branches", "BTB, branch targets",
      1, 1 << 18, FIGURE(btb_entries) },
    { "btb-ways", "ways", "BTB associativity",
      1, PMU_MAX_CACHE_WAYS, FIGURE(btb_ways) },
    { "return-stack", "calls", "return stack",
      1, 1000, FIGURE(return_stack) },
    { "resteer-penalty", "cycles", "taken branch not in the BTB",
      0, 1000, FIGURE(resteer_penalty) },
    { "clear-resteer", "cycles", "fetching after a flush",
      0, 1000, FIGURE(clear_resteer) },
    { "mispredict-penalty", "cycles", "resolved misprediction",
      0, 1000, FIGURE(mispredict_penalty) },
    { "far-branch-penalty", "cycles", "SYSCALL, interrupt",
      0, 1000, FIGURE(far_branch_penalty) },
    { "event-delivery", "cycles", "exception, interrupt",
      1, 10000, FIGURE(event_delivery) },
    { "serialize-penalty", "cycles", "CPUID and the like",
      0, 1000, FIGURE(serialize_penalty) },
    { "assist-uops", "micro-ops", "assist for denormals",
      1, 1000, FIGURE(assist_uops) },
    { "assist-latency", "cycles", "assist for denormals",
      0, 1000, FIGURE(assist_latency) },
    { "smc-penalty", "cycles", "store to code that fetch has",
      0, 1000, FIGURE(smc_penalty) },
};

const PmuUarchParam *pmu_uarch_param(const char *name)
{
    for (unsigned i = 0; i < PMU_UARCH_PARAMS; i++) {
        if (!strcmp(name, pmu_uarch_params[i].name)) {
            return &pmu_uarch_params[i];
        }
    }
    return NULL;
}

uint32_t pmu_uarch_get(const PmuUarch *uarch, const PmuUarchParam *param)
{
    const char *member = (const char *)uarch + param->offset;
    uint16_t half;
    uint32_t word;

    if (param->bytes == sizeof(half)) {
        memcpy(&half, member, sizeof(half));
        return half;
    }
    memcpy(&word, member, sizeof(word));
    return word;
}

char *pmu_uarch_set(PmuUarch *uarch, const PmuUarchParam *param,
                    int64_t value, const char *prefix)
{
    char *member = (char *)uarch + param->offset;
    uint16_t half = value;
    uint32_t word = value;

    if (value < param->min || value > param->max) {
        return g_strdup_printf("%s%s=%" G_GINT64_FORMAT " is out of range: it "
                               "must be %u to %u", prefix, param->name, value,
                               param->min, param->max);
    }
    if (param->bytes == sizeof(half)) {
        memcpy(member, &half, sizeof(half));
    } else {
        memcpy(member, &word, sizeof(word));
    }
    uarch->tsc_den = uarch->frequency_mhz;
    uarch->xclk_den = uarch->frequency_mhz;
    if (member == (char *)&uarch->l3.latency) {
        uarch->no_l3 = 0;
    }
    if (uarch->no_l3) {
        uarch->l3.latency = MIN(pmu_uarch_dram_latency(uarch),
                                L3_LATENCY_MAX);
    }
    return NULL;
}

char *pmu_uarch_describe(const PmuUarchParam *param)
{
    return param->max == 1
           ? g_strdup_printf("%s, no or yes", param->what)
           : g_strdup_printf("%s, in %s", param->what, param->unit);
}

char *pmu_uarch_expected(const PmuUarchParam *param, const char *prefix)
{
    return g_strdup_printf("%s%s must be a %s, %u to %u", prefix, param->name,
                           param->is_size ? "size in bytes" : "whole number",
                           param->min, param->max);
}

static bool is_power_of_2(uint32_t n)
{
    return n && !(n & (n - 1));
}

/*
 * Do @entries, figure @name-@of, make whole sets of @ways ways, figure
 * @name-ways, with @unit entries in each way?  With @power, the number of sets
 * must be a power of 2.  Returns NULL, or why not.
 */
static char *check_sets(const char *prefix, const char *name, const char *of,
                        uint32_t entries, uint32_t ways, uint32_t unit,
                        bool power)
{
    uint32_t sets = entries / (ways * unit);
    g_autofree char *times = NULL;

    if (sets * ways * unit == entries && sets &&
        (!power || is_power_of_2(sets))) {
        return NULL;
    }
    times = unit == 1 ? g_strdup("") : g_strdup_printf("%u times ", unit);
    return g_strdup_printf("%s%s-%s=%u and %s%s-ways=%u do not go together: "
                           "%s%s-%s must be %s%s%s-ways times %s",
                           prefix, name, of, entries, prefix, name, ways,
                           prefix, name, of, times, prefix, name,
                           power ? "a power of 2" : "a whole number");
}

static char *check_cache(const char *prefix, const char *name,
                         const PmuCacheGeometry *cache, bool power)
{
    uint32_t ways = cache->ways, sets = cache->size / (ways * PMU_LINE_SIZE);

    if (sets > ways) {
        return check_sets(prefix, name, "size", cache->size, ways,
                          PMU_LINE_SIZE, power);
    }
    /* CPUID leaf 4 has another form for these. */
    return g_strdup_printf("%s%s-size=%u and %s%s-ways=%u do not go together: "
                           "with %u ways, %s%s-size must be more than %u",
                           prefix, name, cache->size, prefix, name, ways,
                           ways, prefix, name, ways * ways * PMU_LINE_SIZE);
}

static char *check_tlb(const char *prefix, const char *name,
                       const PmuTlbGeometry *tlb)
{
    return check_sets(prefix, name, "entries", tlb->entries, tlb->ways, 1,
                      true);
}

/* Unlike in caches, the size of a DSB line is a figure, too. */
static char *check_dsb(const PmuUarch *u, const char *prefix)
{
    uint32_t sets = u->dsb_uops / (u->dsb_ways * u->dsb_line);

    if (is_power_of_2(sets) &&
        sets * u->dsb_ways * u->dsb_line == u->dsb_uops) {
        return NULL;
    }
    return g_strdup_printf("%sdsb-uops=%u, %sdsb-ways=%u and %sdsb-line=%u do "
                           "not go together: %sdsb-uops must be %sdsb-line "
                           "times %sdsb-ways times a power of 2", prefix,
                           u->dsb_uops, prefix, u->dsb_ways, prefix,
                           u->dsb_line, prefix, prefix, prefix);
}

static char *check_geometry(const PmuUarch *u, const char *prefix)
{
    char *why = check_cache(prefix, "l1i", &u->l1i, true);

    why = why ?: check_cache(prefix, "l1d", &u->l1d, true);
    why = why ?: check_cache(prefix, "l2", &u->l2, false);
    why = why ?: check_cache(prefix, "l3", &u->l3, false);
    why = why ?: check_tlb(prefix, "itlb", &u->itlb[PMU_PAGE_4K]);
    why = why ?: check_tlb(prefix, "itlb-2m", &u->itlb[PMU_PAGE_2M]);
    why = why ?: check_tlb(prefix, "dtlb", &u->dtlb[PMU_PAGE_4K]);
    why = why ?: check_tlb(prefix, "dtlb-2m", &u->dtlb[PMU_PAGE_2M]);
    why = why ?: check_tlb(prefix, "dtlb-1g", &u->dtlb[PMU_PAGE_1G]);
    why = why ?: check_tlb(prefix, "stlb", &u->stlb);
    why = why ?: check_sets(prefix, "btb", "entries", u->btb_entries,
                            u->btb_ways, 1, true);
    return why ?: check_dsb(u, prefix);
}

/* Check that figure @low is not more than figure @high times @factor. */
static char *check_order(const PmuUarch *uarch, const char *prefix,
                         const char *low, const char *high, uint32_t factor)
{
    uint32_t least = pmu_uarch_get(uarch, pmu_uarch_param(low));
    uint32_t most = pmu_uarch_get(uarch, pmu_uarch_param(high));

    if (least <= most * factor) {
        return NULL;
    }
    if (factor == 1) {
        return g_strdup_printf("%s%s=%u is more than %s%s=%u", prefix, low,
                               least, prefix, high, most);
    }
    return g_strdup_printf("%s%s=%u is more than %u times %s%s=%u", prefix,
                           low, least, factor, prefix, high, most);
}

/* What is farther away must not be faster: latencies are from load to use. */
static char *check_latencies(const PmuUarch *u, const char *prefix)
{
    char *why = check_order(u, prefix, "l1d-latency", "l2-latency", 1);
    uint32_t dram = pmu_uarch_dram_latency(u);

    why = why ?: check_order(u, prefix, "l2-latency", "l3-latency", 1);
    if (!why && u->l3.latency > dram) {
        why = g_strdup_printf("%sl3-latency=%u is more than "
                              "%sdram-tenth-ns=%u, which is %u cycles with "
                              "%sfrequency=%u", prefix, u->l3.latency, prefix,
                              u->dram_tenth_ns, dram, prefix,
                              u->frequency_mhz);
    }
    return why;
}

static char *check_power(const PmuUarch *uarch, const char *prefix,
                         const char *name)
{
    uint32_t value = pmu_uarch_get(uarch, pmu_uarch_param(name));

    return is_power_of_2(value) ? NULL :
           g_strdup_printf("%s%s=%u is no power of 2", prefix, name, value);
}

char *pmu_uarch_check(const PmuUarch *uarch, const char *prefix)
{
    char *why = check_geometry(uarch, prefix);

    why = why ?: check_latencies(uarch, prefix);
    why = why ?: check_order(uarch, prefix, "tsc-frequency", "frequency",
                             MAX_CLOCK_RATIO);
    why = why ?: check_order(uarch, prefix, "crystal-frequency", "frequency",
                             MAX_CLOCK_RATIO);
    why = why ?: check_power(uarch, prefix, "decode-bytes");
    return why ?: check_power(uarch, prefix, "dsb-window");
}
