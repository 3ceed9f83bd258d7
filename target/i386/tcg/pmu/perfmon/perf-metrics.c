/*
 * PERF_METRICS: the arithmetic of its hidden counters.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>

#include "tcg/pmu/perfmon/perf-metrics.h"

/* The leaf classes [first, last] that each field counts. */
static const struct {
    uint8_t first, last;
} field_classes[] = {
    { PMU_SLOT_LIGHT_OPS, PMU_SLOT_HEAVY_OPS },             /* retiring */
    { PMU_SLOT_BR_MISPREDICT, PMU_SLOT_MACHINE_CLEARS },    /* bad spec. */
    { PMU_SLOT_FETCH_LATENCY, PMU_SLOT_FETCH_BANDWIDTH },   /* frontend */
    { PMU_SLOT_MEMORY_BOUND, PMU_SLOT_CORE_BOUND },         /* backend */
    { PMU_SLOT_HEAVY_OPS, PMU_SLOT_HEAVY_OPS },
    { PMU_SLOT_BR_MISPREDICT, PMU_SLOT_BR_MISPREDICT },
    { PMU_SLOT_FETCH_LATENCY, PMU_SLOT_FETCH_LATENCY },
    { PMU_SLOT_MEMORY_BOUND, PMU_SLOT_MEMORY_BOUND },
};

static uint64_t largest(unsigned width)
{
    return (1ull << pmu_metrics_bits(width)) - 1;
}

uint64_t pmu_metrics_slots(const PmuLedgerSnapshot *snap, PmuLevel level,
                           unsigned field)
{
    uint64_t sum = 0;

    for (int i = field_classes[field].first;
         i <= field_classes[field].last; i++) {
        sum += snap->item[level][i];
    }
    return sum;
}

bool pmu_metrics_add(uint64_t *hidden, unsigned width, uint64_t slots)
{
    bool wraps = slots >= pmu_metrics_distance(*hidden, width);

    /* Wrapping modulo 2^64 first changes nothing modulo a smaller 2^n. */
    *hidden = (*hidden + PMU_METRICS_UNIT * slots) & largest(width);
    return wraps;
}

uint64_t pmu_metrics_distance(uint64_t hidden, unsigned width)
{
    return (largest(width) - hidden) / PMU_METRICS_UNIT + 1;
}

/* Set each level-1 field, rounded down.  Returns their sum. */
static unsigned round_down(const uint64_t *hidden, uint64_t slots,
                           unsigned *field)
{
    unsigned sum = 0;

    for (int i = 0; i < PMU_METRICS_LEVEL1; i++) {
        field[i] = MIN(hidden[i] / slots, 0xff);
        sum += field[i];
    }
    return sum;
}

/* Round up the @count (0 to 4) fields with the largest remainders. */
static void round_up(const uint64_t *hidden, uint64_t slots,
                     unsigned *field, unsigned count)
{
    uint64_t remainder[PMU_METRICS_LEVEL1];
    bool done[PMU_METRICS_LEVEL1] = { false };

    for (int i = 0; i < PMU_METRICS_LEVEL1; i++) {
        remainder[i] = hidden[i] % slots;
    }
    while (count--) {
        int best = -1;

        for (int i = 0; i < PMU_METRICS_LEVEL1; i++) {
            if (!done[i] && (best < 0 || remainder[i] > remainder[best])) {
                best = i;
            }
        }
        done[best] = true;
        field[best]++;
    }
}

/*
 * Take @excess off the largest fields, one by one.  The fields exceed 0xff
 * together only if software made IA32_FIXED_CTR3 smaller than what was counted.
 */
static void level_down(unsigned *field, unsigned excess)
{
    while (excess--) {
        int best = 0;

        for (int i = 1; i < PMU_METRICS_LEVEL1; i++) {
            if (field[i] > field[best]) {
                best = i;
            }
        }
        field[best]--;
    }
}

static void read_level1(const uint64_t *hidden, uint64_t slots,
                        unsigned *field)
{
    unsigned sum = round_down(hidden, slots, field);
    uint64_t total = 0;

    for (int i = 0; i < PMU_METRICS_LEVEL1; i++) {
        total += hidden[i];
    }
    total = MIN((total + slots / 2) / slots, 0xff);

    if (sum <= total) {
        round_up(hidden, slots, field, total - sum);
    } else {
        level_down(field, sum - total);
    }
}

static unsigned read_level2(uint64_t child, uint64_t parent,
                            uint64_t slots, unsigned parent_field)
{
    unsigned field = MIN((child + slots / 2) / slots, 0xff);

    return child <= parent ? MIN(field, parent_field) : field;
}

uint64_t pmu_metrics_read(const uint64_t *hidden, unsigned fields,
                          uint64_t slots)
{
    unsigned level1[PMU_METRICS_LEVEL1];
    uint64_t value = 0;

    if (!slots) {
        return 0;
    }
    read_level1(hidden, slots, level1);
    for (int i = 0; i < PMU_METRICS_LEVEL1; i++) {
        value |= (uint64_t)level1[i] << (8 * i);
    }
    for (unsigned i = PMU_METRICS_LEVEL1; i < fields; i++) {
        unsigned parent = i - PMU_METRICS_LEVEL1;

        value |= (uint64_t)read_level2(hidden[i], hidden[parent], slots,
                                       level1[parent]) << (8 * i);
    }
    return value;
}

void pmu_metrics_write(uint64_t *hidden, unsigned fields, unsigned width,
                       uint64_t slots, uint64_t value)
{
    for (unsigned i = 0; i < fields; i++) {
        hidden[i] = MIN(slots * (value >> (8 * i) & 0xff), largest(width));
    }
}

/* A number from 0 to @most. */
static unsigned random_up_to(uint64_t *random, unsigned most)
{
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    return *random % (most + 1ull);
}

static void move_slots(unsigned *field, unsigned from, unsigned to,
                       unsigned amount)
{
    amount = MIN(amount, MIN(field[from], 0xff - field[to]));
    field[from] -= amount;
    field[to] += amount;
}

static void disturb_level1(unsigned *field, unsigned most, uint64_t *random)
{
    /* There are three ways to pair four classes: i with i ^ @other. */
    unsigned other = 1 + random_up_to(random, 2);

    for (unsigned i = 0; i < PMU_METRICS_LEVEL1; i++) {
        unsigned j = i ^ other;

        if (i < j) {
            bool up = random_up_to(random, 1);

            move_slots(field, up ? i : j, up ? j : i,
                       random_up_to(random, most));
        }
    }
}

static void disturb_level2(unsigned *field, unsigned parent, unsigned most,
                           uint64_t *random)
{
    unsigned amount = random_up_to(random, most);

    *field = random_up_to(random, 1) ? *field + amount
                                     : *field - MIN(*field, amount);
    *field = MIN(*field, parent);
}

uint64_t pmu_metrics_disturb(uint64_t value, unsigned fields, unsigned most,
                             uint64_t *random)
{
    unsigned field[2 * PMU_METRICS_LEVEL1];
    uint64_t disturbed = 0;

    for (unsigned i = 0; i < fields; i++) {
        field[i] = value >> (8 * i) & 0xff;
    }
    disturb_level1(field, most, random);
    for (unsigned i = PMU_METRICS_LEVEL1; i < fields; i++) {
        disturb_level2(&field[i], field[i - PMU_METRICS_LEVEL1], most, random);
    }
    for (unsigned i = 0; i < fields; i++) {
        disturbed |= (uint64_t)field[i] << (8 * i);
    }
    return disturbed;
}
