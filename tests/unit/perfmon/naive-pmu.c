/*
 * A deliberately naive performance-monitoring unit, to compare the real one
 * with.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <string.h>

#include "naive-pmu.h"

#define BIT(n) (1ull << (n))

void naive_init(NaivePmu *pmu, const PerfmonConfig *config)
{
    memset(pmu, 0, sizeof(*pmu));
    pmu->sapphire_rapids = config->core == PMU_CORE_SAPPHIRERAPIDS;
    pmu->num_gp = config->num_gp;
    pmu->num_fixed = config->num_fixed;
    pmu->pdcm = config->pdcm;
    pmu->fw_write = config->capabilities >> 13 & 1;
    pmu->has_metrics = config->capabilities >> 15 & 1;
    pmu->num_fields = config->num_metrics;
    pmu->metrics_width = config->metrics_width;
    naive_reset(pmu);
}

static void begin_count(NaivePmu *pmu, int index)
{
    memset(pmu->since[index], 0, sizeof(pmu->since[index]));
    pmu->counted[index] = 0;
}

void naive_reset(NaivePmu *pmu)
{
    for (int i = 0; i < 8; i++) {
        pmu->pmc[i] = 0;
        pmu->evtsel[i] = 0;
        pmu->hidden[i] = 0;
        begin_count(pmu, i);
    }
    for (int i = 0; i < 4; i++) {
        pmu->fixed[i] = 0;
    }
    pmu->fixed_ctrl = 0;
    pmu->global_ctrl = 0;
    for (int i = 0; i < pmu->num_gp; i++) {
        pmu->global_ctrl |= BIT(i);
    }
    pmu->status = 0;
    pmu->debugctl = 0;
    pmu->offcore[0] = pmu->offcore[1] = 0;
    pmu->ld_lat = 0;
    pmu->frontend = 0;
    pmu->pmi = false;
}

/* Counters. */

/*
 * An event without modifiers: what it counts, and how often it happens in
 * single cycles.  With @bins these are how many cycles have 0, 1, 2 and so on;
 * the last bin has those with that many or more.
 */
typedef struct NaiveEvent {
    bool known;
    Wide value;
    bool one_a_cycle, never;
    const Wide *bins;
    unsigned num_bins;
} NaiveEvent;

static NaiveEvent occurrences(Wide value)
{
    return (NaiveEvent) { .known = true, .value = value };
}

static NaiveEvent cycles(Wide value)
{
    return (NaiveEvent) { .known = true, .value = value, .one_a_cycle = true };
}

static NaiveEvent binned(Wide value, const Wide *bins, unsigned num_bins)
{
    return (NaiveEvent) {
        .known = true, .value = value, .bins = bins, .num_bins = num_bins,
    };
}

static NaiveEvent plain_event(bool spr, unsigned code, unsigned umask,
                              const Wide *item)
{
    if (code == 0x3c && umask == 0x00) {
        return cycles(item[PMU_ITEM_CYCLES]);
    }
    if (code == 0x3c && umask == 0x01) {
        return occurrences(spr ? item[PMU_ITEM_REF_TSC]
                               : item[PMU_ITEM_REF_XCLK]);
    }
    if (code == 0xec && umask == 0x02) {
        return cycles(item[PMU_ITEM_CYCLES]);
    }
    if (code == 0xc0 && umask == 0x00) {
        return occurrences(item[PMU_ITEM_INSTRUCTIONS]);
    }
    if (code == 0x2e && umask == 0x41) {
        return occurrences(item[PMU_ITEM_DATA_DRAM] +
                           item[PMU_ITEM_RFO_DRAM] + item[PMU_ITEM_CODE_DRAM] +
                           item[PMU_ITEM_PREFETCH_DRAM] +
                           item[PMU_ITEM_CODE_PREFETCH_DRAM] +
                           item[PMU_ITEM_SOFT_PREFETCH_DRAM] +
                           item[PMU_ITEM_L1D_PREFETCH_DRAM]);
    }
    if (code == 0x2e && umask == 0x4f) {
        return occurrences(plain_event(spr, 0x2e, 0x41, item).value +
                           item[PMU_ITEM_DATA_L3] + item[PMU_ITEM_RFO_L3] +
                           item[PMU_ITEM_CODE_L3] +
                           item[PMU_ITEM_PREFETCH_L3] +
                           item[PMU_ITEM_CODE_PREFETCH_L3] +
                           item[PMU_ITEM_SOFT_PREFETCH_L3] +
                           item[PMU_ITEM_L1D_PREFETCH_L3]);
    }
    if (code == 0xc4 && umask == 0x00) {
        return occurrences(item[PMU_ITEM_BRANCHES]);
    }
    if (code == 0xc4 && umask == 0x11) {
        return occurrences(item[PMU_ITEM_BRANCHES_COND_NTAKEN] +
                           item[PMU_ITEM_BRANCHES_COND_TAKEN]);
    }
    if (code == 0xc5 && umask == 0x00) {
        return occurrences(item[PMU_ITEM_MISSES_COND_NTAKEN] +
                           item[PMU_ITEM_MISSES_COND_TAKEN] +
                           item[PMU_ITEM_MISSES_JMP_INDIRECT] +
                           item[PMU_ITEM_MISSES_CALL_INDIRECT] +
                           item[PMU_ITEM_MISSES_RET]);
    }
    if (code == 0xc3 && (umask == 0x02 || umask == 0x04)) {
        return occurrences(item[umask == 0x02 ? PMU_ITEM_CLEARS_ORDERING
                                              : PMU_ITEM_CLEARS_SMC]);
    }
    if (code == 0xa4 && umask == 0x01) {
        return occurrences(item[PMU_ITEM_SLOTS]);
    }
    if (code == 0xa4 && umask == 0x02) {
        return occurrences(item[PMU_SLOT_MEMORY_BOUND] +
                           item[PMU_SLOT_CORE_BOUND]);
    }
    if (spr && code == 0xa4 && umask == 0x04) {
        return occurrences(item[PMU_SLOT_BR_MISPREDICT] +
                           item[PMU_SLOT_MACHINE_CLEARS]);
    }
    if (spr && code == 0xa4 && umask == 0x08) {
        return occurrences(item[PMU_SLOT_BR_MISPREDICT]);
    }
    if (spr && code == 0xa4 && umask == 0x10) {
        return occurrences(item[PMU_SLOT_MEMORY_BOUND]);
    }
    if (code == 0xc2 && umask == 0x02) {
        return binned(item[PMU_SLOT_LIGHT_OPS] +
                      item[PMU_SLOT_HEAVY_OPS], &item[PMU_ITEM_RETIRED_0], 9);
    }
    if (code == 0x9c && umask == 0x01) {
        return binned(item[PMU_SLOT_FETCH_LATENCY] +
                      item[PMU_SLOT_FETCH_BANDWIDTH],
                      &item[PMU_ITEM_UNDELIVERED_0], 7);
    }
    if (code == (spr ? 0xae : 0x0e) && umask == 0x01) {
        return binned(item[PMU_ITEM_UOPS_ISSUED], &item[PMU_ITEM_ISSUED_0], 7);
    }
    if (code == 0xcc && umask == 0x20) {
        /* there are no last-branch records */
        return (NaiveEvent) { .known = true, .never = true };
    }
    if (code == (spr ? 0xad : 0x0d) && umask == 0x01) {
        return cycles(item[PMU_ITEM_RECOVERY_CYCLES]);
    }
    return (NaiveEvent) { .known = false };
}

/* Can counter @index not count this event? */
static bool wrong_counter(bool spr, unsigned code, unsigned umask, int index)
{
    return spr && code == 0xa4 && (umask == 0x04 || umask == 0x08) &&
           index != 0;
}

/*
 * Returns the cycles in which at least @cmask are counted, or with @inv fewer.
 */
static Wide event_cycles(const NaiveEvent *event, unsigned cmask, bool inv,
                         Wide all_cycles)
{
    Wide with = 0;

    if (event->bins) {
        for (unsigned n = 0; n < event->num_bins; n++) {
            with += (n >= cmask) != inv ? event->bins[n] : 0;
        }
        return with;
    }
    if (cmask == 1) {
        with = event->value;
    }
    if (!event->one_a_cycle && !event->never) {
        if (inv) {
            return cmask > 1 ? all_cycles : 0;
        }
        return with < all_cycles ? with : all_cycles;
    }
    if (inv) {
        return with > all_cycles ? 0 : all_cycles - with;
    }
    return with;
}

/*
 * Returns what counter @index has counted at one level, if its event is
 * selected all the time and all items are @item.
 */
static Wide event_value(const NaivePmu *pmu, int index, const Wide *item)
{
    uint64_t evtsel = pmu->evtsel[index];
    unsigned code = evtsel & 0xff;
    unsigned umask = evtsel >> 8 & 0xff;
    bool edge = evtsel >> 18 & 1;
    bool inv = evtsel >> 23 & 1;
    unsigned cmask = evtsel >> 24 & 0xff;
    bool spr = pmu->sapphire_rapids;
    NaiveEvent event = plain_event(spr, code, umask, item);

    if (cmask == 0) {
        inv = false;            /* there is nothing to invert */
        cmask = edge;
    }
    if (wrong_counter(spr, code, umask, index)) {
        return 0;
    }
    if (code == (spr ? 0xad : 0x0d) && umask == 0x01 &&
        edge && !inv && cmask == 1) {
        return item[PMU_ITEM_CLEARS];
    }
    if (code == 0xc3 && umask == 0x01 && edge && !inv && cmask == 1) {
        return item[PMU_ITEM_CLEARS_SMC] + item[PMU_ITEM_CLEARS_ORDERING] +
               item[PMU_ITEM_ASSISTS_FP];
    }
    if (!spr && code == 0xc2 && umask == 0x02 && inv && cmask == 10 && !edge) {
        return item[PMU_ITEM_CYCLES];
    }
    if (!event.known) {
        return 0;
    }
    if (edge) {
        return inv || cmask > 1 || event.one_a_cycle || event.bins
               ? 0 : event.value;
    }
    return cmask ? event_cycles(&event, cmask, inv, item[PMU_ITEM_CYCLES])
                 : event.value;
}

/* Returns what it gains now: what it should have counted less what it has. */
static Wide event_gain(NaivePmu *pmu, int index)
{
    Wide value = event_value(pmu, index, pmu->since[index]);
    Wide gain = value > pmu->counted[index] ? value - pmu->counted[index] : 0;

    pmu->counted[index] += gain;
    return gain;
}

static Wide fixed_gain(int index, const uint64_t *item)
{
    switch (index) {
    case 0:
        return item[PMU_ITEM_INSTRUCTIONS];
    case 1:
        return item[PMU_ITEM_CYCLES];
    case 2:
        return item[PMU_ITEM_REF_TSC];
    default:
        return item[PMU_ITEM_SLOTS];
    }
}

static bool pmc_on(const NaivePmu *pmu, int index, int level)
{
    if (!(pmu->global_ctrl & BIT(index))) {
        return false;
    }
    if (!(pmu->evtsel[index] & BIT(22))) {
        return false;
    }
    if (pmu->status & BIT(59)) {
        return false;
    }
    return level == 0 ? pmu->evtsel[index] & BIT(17)
                      : pmu->evtsel[index] & BIT(16);
}

static bool fixed_on(const NaivePmu *pmu, int index, int level)
{
    if (!(pmu->global_ctrl & BIT(32 + index))) {
        return false;
    }
    if (pmu->status & BIT(59)) {
        return false;
    }
    return level == 0 ? pmu->fixed_ctrl & BIT(4 * index)
                      : pmu->fixed_ctrl & BIT(4 * index + 1);
}

static Wide field_slots(int field, const uint64_t *item)
{
    switch (field) {
    case 0:
        return (Wide)item[PMU_SLOT_LIGHT_OPS] + item[PMU_SLOT_HEAVY_OPS];
    case 1:
        return (Wide)item[PMU_SLOT_BR_MISPREDICT] +
               item[PMU_SLOT_MACHINE_CLEARS];
    case 2:
        return (Wide)item[PMU_SLOT_FETCH_LATENCY] +
               item[PMU_SLOT_FETCH_BANDWIDTH];
    case 3:
        return (Wide)item[PMU_SLOT_MEMORY_BOUND] + item[PMU_SLOT_CORE_BOUND];
    case 4:
        return item[PMU_SLOT_HEAVY_OPS];
    case 5:
        return item[PMU_SLOT_BR_MISPREDICT];
    case 6:
        return item[PMU_SLOT_FETCH_LATENCY];
    default:
        return item[PMU_SLOT_MEMORY_BOUND];
    }
}

/* Add @gain to *@reg of @bits bits.  Returns true if it wrapped. */
static bool add(uint64_t *reg, Wide gain, int bits)
{
    Wide sum = *reg + gain;

    *reg = sum % ((Wide)1 << bits);
    return sum >= (Wide)1 << bits;
}

void naive_count(NaivePmu *pmu, const NaiveDelta *delta)
{
    NaivePmu before = *pmu;
    uint64_t overflow = 0;
    bool pmi = false;

    for (int i = 0; i < pmu->num_gp; i++) {
        for (int level = 0; level < 2; level++) {
            for (int j = 0; j < PMU_ITEM_NR && pmc_on(&before, i, level); j++) {
                pmu->since[i][j] += delta->item[level][j];
            }
        }
        if (add(&pmu->pmc[i], event_gain(pmu, i), 48)) {
            overflow |= BIT(i);
            pmi = pmi || (pmu->evtsel[i] & BIT(20));
        }
    }
    for (int i = 0; i < pmu->num_fixed; i++) {
        Wide gain = 0;

        for (int level = 0; level < 2; level++) {
            if (fixed_on(&before, i, level)) {
                gain += fixed_gain(i, delta->item[level]);
            }
        }
        if (add(&pmu->fixed[i], gain, 48)) {
            overflow |= BIT(32 + i);
            pmi = pmi || (pmu->fixed_ctrl & BIT(4 * i + 3));
        }
    }
    for (int i = 0; pmu->has_metrics && i < pmu->num_fields; i++) {
        Wide gain = 0;

        for (int level = 0; level < 2; level++) {
            if ((before.global_ctrl & BIT(48)) &&
                fixed_on(&before, 3, level)) {
                gain += 255 * field_slots(i, delta->item[level]);
            }
        }
        if (add(&pmu->hidden[i], gain, pmu->metrics_width + 8)) {
            overflow |= BIT(48);
            pmi = pmi || (pmu->fixed_ctrl & BIT(15));
        }
    }
    pmu->status |= overflow;
    if (pmi) {
        pmu->pmi = true;
        if (pmu->debugctl & BIT(12)) {
            pmu->status |= BIT(59);
        }
    }
}

/* Does it count cycles without something?  These may be all cycles. */
static bool counts_all_but(const NaivePmu *pmu, int index, const Wide *item)
{
    uint64_t evtsel = pmu->evtsel[index];
    unsigned code = evtsel & 0xff, umask = evtsel >> 8 & 0xff;
    NaiveEvent event = plain_event(pmu->sapphire_rapids, code, umask, item);

    return (evtsel >> 23 & 1) && evtsel >> 24 && !(evtsel >> 18 & 1) &&
           !wrong_counter(pmu->sapphire_rapids, code, umask, index) &&
           (event.bins || event.one_a_cycle);
}

bool naive_counts_at(const NaivePmu *pmu, int level)
{
    Wide one_each[PMU_ITEM_NR];

    for (int i = 0; i < PMU_ITEM_NR; i++) {
        one_each[i] = 1;
    }
    one_each[PMU_ITEM_CYCLES] = 1000;   /* more than of anything else */
    for (int i = 0; i < pmu->num_gp; i++) {
        if (pmc_on(pmu, i, level) && (event_value(pmu, i, one_each) ||
                                      counts_all_but(pmu, i, one_each))) {
            return true;
        }
    }
    for (int i = 0; i < pmu->num_fixed; i++) {
        if (fixed_on(pmu, i, level)) {
            return true;
        }
    }
    return false;
}

/* PERF_METRICS */

/* Returns how often @slots goes into @hidden, at most 255. */
static int whole_times(uint64_t hidden, uint64_t slots)
{
    int times = 0;

    while (times < 255 && (Wide)slots * (times + 1) <= hidden) {
        times++;
    }
    return times;
}

uint64_t naive_metrics(const uint64_t *hidden, int num_fields, uint64_t slots)
{
    int field[8] = { 0 };
    bool raised[4] = { false };
    Wide all = 0;
    int total = 0, sum = 0;
    uint64_t value = 0;

    if (slots == 0) {
        return 0;
    }
    for (int i = 0; i < 4; i++) {
        field[i] = whole_times(hidden[i], slots);
        sum += field[i];
        all += hidden[i];
    }
    /* The whole number nearest to all / slots; a half rounds up. */
    while (total < 255 && 2 * all >= (Wide)slots * (2 * total + 1)) {
        total++;
    }
    while (sum < total) {
        int best = -1;
        Wide best_rest = 0;

        for (int i = 0; i < 4; i++) {
            Wide rest = hidden[i] - (Wide)slots *
                                    whole_times(hidden[i], slots);

            if (!raised[i] && (best < 0 || rest > best_rest)) {
                best = i;
                best_rest = rest;
            }
        }
        raised[best] = true;
        field[best]++;
        sum++;
    }
    while (sum > 255) {
        int best = 3;

        for (int i = 3; i >= 0; i--) {
            if (field[i] >= field[best]) {
                best = i;
            }
        }
        field[best]--;
        sum--;
    }
    for (int i = 4; i < num_fields; i++) {
        while (field[i] < 255 &&
               2 * (Wide)hidden[i] >= (Wide)slots * (2 * field[i] + 1)) {
            field[i]++;
        }
        if (hidden[i] <= hidden[i - 4] && field[i] > field[i - 4]) {
            field[i] = field[i - 4];
        }
    }
    for (int i = num_fields - 1; i >= 0; i--) {
        value = value << 8 | field[i];
    }
    return value;
}

static void write_metrics(NaivePmu *pmu, uint64_t value)
{
    Wide limit = ((Wide)1 << (pmu->metrics_width + 8)) - 1;

    for (int i = 0; i < pmu->num_fields; i++) {
        Wide hidden = (Wide)pmu->fixed[3] * (value >> 8 * i & 0xff);

        pmu->hidden[i] = hidden > limit ? limit : hidden;
    }
}

/* Registers. */

static uint64_t inuse(const NaivePmu *pmu)
{
    uint64_t value = 0;

    for (int i = 0; i < pmu->num_gp; i++) {
        if ((pmu->evtsel[i] & 0xff) != 0) {
            value |= BIT(i);
        }
        if (pmu->evtsel[i] & BIT(20)) {
            value |= BIT(63);
        }
    }
    for (int i = 0; i < pmu->num_fixed; i++) {
        if ((pmu->fixed_ctrl >> 4 * i & 3) != 0) {
            value |= BIT(32 + i);
        }
        if (pmu->fixed_ctrl & BIT(4 * i + 3)) {
            value |= BIT(63);
        }
    }
    return value;
}

/* Is @bit of the GLOBAL registers that of an existing counter? */
static bool counter_bit(const NaivePmu *pmu, int bit)
{
    return bit < pmu->num_gp ||
           (bit >= 32 && bit < 32 + pmu->num_fixed) ||
           (bit == 48 && pmu->has_metrics);
}

static bool any_bit(const NaivePmu *pmu, uint64_t value,
                    bool (*allowed)(const NaivePmu *pmu, int bit))
{
    for (int bit = 0; bit < 64; bit++) {
        if ((value & BIT(bit)) && !allowed(pmu, bit)) {
            return true;
        }
    }
    return false;
}

static bool clearable_bit(const NaivePmu *pmu, int bit)
{
    return counter_bit(pmu, bit) || bit == 55 || bit >= 58;
}

static bool settable_bit(const NaivePmu *pmu, int bit)
{
    return counter_bit(pmu, bit) || bit == 59;
}

static bool fixed_ctrl_bit(const NaivePmu *pmu, int bit)
{
    return bit / 4 < pmu->num_fixed;
}

static bool evtsel_bit(const NaivePmu *pmu, int bit)
{
    (void)pmu;
    return bit < 32;
}

NaiveAccess naive_rdmsr(const NaivePmu *pmu, uint32_t msr, uint64_t *value)
{
    switch (msr) {
    case 0x0c1 ... 0x0c8:
        if ((int)msr - 0x0c1 >= pmu->num_gp) {
            return NAIVE_GP;
        }
        *value = pmu->pmc[msr - 0x0c1];
        return NAIVE_OK;
    case 0x4c1 ... 0x4c8:
        if ((int)msr - 0x4c1 >= pmu->num_gp || !pmu->fw_write) {
            return NAIVE_GP;
        }
        *value = pmu->pmc[msr - 0x4c1];
        return NAIVE_OK;
    case 0x186 ... 0x18d:
        if ((int)msr - 0x186 >= pmu->num_gp) {
            return NAIVE_GP;
        }
        *value = pmu->evtsel[msr - 0x186];
        return NAIVE_OK;
    case 0x309 ... 0x30c:
        if ((int)msr - 0x309 >= pmu->num_fixed) {
            return NAIVE_GP;
        }
        *value = pmu->fixed[msr - 0x309];
        return NAIVE_OK;
    case 0x329:
        if (!pmu->has_metrics) {
            return NAIVE_GP;
        }
        *value = naive_metrics(pmu->hidden, pmu->num_fields, pmu->fixed[3]);
        return NAIVE_OK;
    case 0x345:
        if (!pmu->pdcm) {
            return NAIVE_GP;
        }
        *value = (pmu->fw_write ? BIT(13) : 0) |
                 (pmu->has_metrics ? BIT(15) : 0);
        return NAIVE_OK;
    case 0x38d:
        *value = pmu->fixed_ctrl;
        return NAIVE_OK;
    case 0x38e:
        *value = pmu->status;
        return NAIVE_OK;
    case 0x38f:
        *value = pmu->global_ctrl;
        return NAIVE_OK;
    case 0x390:
    case 0x391:
    case 0x3f1:
        *value = 0;
        return NAIVE_OK;
    case 0x392:
        *value = inuse(pmu);
        return NAIVE_OK;
    case 0x1d9:
        *value = pmu->debugctl;
        return NAIVE_OK;
    case 0x1a6:
    case 0x1a7:
        *value = pmu->offcore[msr - 0x1a6];
        return NAIVE_OK;
    case 0x3f6:
        *value = pmu->ld_lat;
        return NAIVE_OK;
    case 0x3f7:
        *value = pmu->frontend;
        return NAIVE_OK;
    case 0x0c9 ... 0x0ca:
    case 0x18e ... 0x18f:
    case 0x30d ... 0x30f:
    case 0x32a:
    case 0x393:
    case 0x3f2:
    case 0x4c9 ... 0x4ca:
        return NAIVE_GP;        /* Registers of larger units */
    default:
        return NAIVE_UNKNOWN;
    }
}

NaiveAccess naive_wrmsr(NaivePmu *pmu, uint32_t msr, uint64_t value)
{
    uint64_t old;
    NaiveAccess access = naive_rdmsr(pmu, msr, &old);

    if (access != NAIVE_OK) {
        return access;
    }
    switch (msr) {
    case 0x0c1 ... 0x0c8:
        /* EAX, sign-extended to the counter's 48 bits. */
        value &= 0xffffffff;
        if (value & 0x80000000) {
            value |= 0xffff00000000;
        }
        pmu->pmc[msr - 0x0c1] = value;
        begin_count(pmu, msr - 0x0c1);
        return NAIVE_OK;
    case 0x4c1 ... 0x4c8:
        if (value >= BIT(48)) {
            return NAIVE_GP;
        }
        pmu->pmc[msr - 0x4c1] = value;
        begin_count(pmu, msr - 0x4c1);
        return NAIVE_OK;
    case 0x186 ... 0x18d:
        if (any_bit(pmu, value, evtsel_bit)) {
            return NAIVE_GP;
        }
        pmu->evtsel[msr - 0x186] = value & ~BIT(21);    /* AnyThread */
        begin_count(pmu, msr - 0x186);
        return NAIVE_OK;
    case 0x309 ... 0x30c:
        if (value >= BIT(48)) {
            return NAIVE_GP;
        }
        pmu->fixed[msr - 0x309] = value;
        if (msr == 0x30c && value == 0) {
            memset(pmu->hidden, 0, sizeof(pmu->hidden));
        }
        return NAIVE_OK;
    case 0x329:
        if (pmu->num_fields == 4 && value >= BIT(32)) {
            return NAIVE_GP;
        }
        write_metrics(pmu, value);
        return NAIVE_OK;
    case 0x38d:
        if (any_bit(pmu, value, fixed_ctrl_bit)) {
            return NAIVE_GP;
        }
        pmu->fixed_ctrl = value & ~(BIT(2) | BIT(6) | BIT(10) | BIT(14));
        return NAIVE_OK;
    case 0x38f:
        if (any_bit(pmu, value, counter_bit)) {
            return NAIVE_GP;
        }
        pmu->global_ctrl = value;
        return NAIVE_OK;
    case 0x390:
        if (any_bit(pmu, value, clearable_bit)) {
            return NAIVE_GP;
        }
        pmu->status &= ~value;
        return NAIVE_OK;
    case 0x391:
        if (any_bit(pmu, value, settable_bit)) {
            return NAIVE_GP;
        }
        pmu->status |= value;
        return NAIVE_OK;
    case 0x1d9:
        if (value & ~0x1803ull) {
            return NAIVE_GP;
        }
        pmu->debugctl = value & 0x1000;
        return NAIVE_OK;
    case 0x1a6:
    case 0x1a7:
        if (value & ~(pmu->sapphire_rapids ? 0x3fffffffffull
                                           : 0x3fffffbfffull)) {
            return NAIVE_GP;
        }
        pmu->offcore[msr - 0x1a6] = value;
        return NAIVE_OK;
    case 0x3f1:
        return value ? NAIVE_GP : NAIVE_OK;
    case 0x3f6:
        if (value > 0xffff) {
            return NAIVE_GP;
        }
        pmu->ld_lat = value;
        return NAIVE_OK;
    case 0x3f7:
        if (value & ~(pmu->sapphire_rapids ? 0x7fff1full : 0x7fff17ull)) {
            return NAIVE_GP;
        }
        pmu->frontend = value;
        return NAIVE_OK;
    default:
        /* 0x345, 0x38e, 0x392: read-only */
        return NAIVE_GP;
    }
}

NaiveAccess naive_rdpmc(const NaivePmu *pmu, uint32_t ecx, uint64_t *value)
{
    if (ecx < (uint32_t)pmu->num_gp) {
        *value = pmu->pmc[ecx];
        return NAIVE_OK;
    }
    if (ecx >= 0x40000000 && ecx < 0x40000000u + pmu->num_fixed) {
        *value = pmu->fixed[ecx - 0x40000000];
        return NAIVE_OK;
    }
    if (ecx >= 0x20000000 && ecx <= 0x2000ffff && pmu->has_metrics) {
        *value = naive_metrics(pmu->hidden, pmu->num_fields, pmu->fixed[3]);
        return NAIVE_OK;
    }
    return NAIVE_GP;
}
