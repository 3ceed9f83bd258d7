/*
 * The L1-hit filter compared with a naive one.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <string.h>

#include "tcg/pmu/memory/l1-hit-filter.h"
#include "random.h"

#define LINE    64u
#define STEPS   300000

/* What the naive filter has in a place. */
typedef struct NaiveLine {
    bool present, written;
    uint64_t linear;
} NaiveLine;

typedef struct Rig {
    Random random;
    PmuL1HitFilter filter;
    NaiveLine naive[PMU_L1_HIT_FILTER_LINES];
} Rig;

/* Returns a line of a few pages; some share places, some are large. */
static uint64_t any_line(Rig *rig)
{
    uint64_t page = random_below(&rig->random, 4) * PMU_L1_HIT_FILTER_GROUPS +
                    random_below(&rig->random, 3);
    uint64_t far = (uint64_t)random_below(&rig->random, 3) << 30;

    return far + page * 4096 + random_below(&rig->random, 64) * LINE;
}

static NaiveLine *place_of(Rig *rig, uint64_t linear)
{
    return &rig->naive[linear / LINE % PMU_L1_HIT_FILTER_LINES];
}

static void remove_all_of(Rig *rig, uint64_t begin, uint64_t bytes)
{
    for (unsigned i = 0; i < PMU_L1_HIT_FILTER_LINES; i++) {
        if (rig->naive[i].linear - begin < bytes) {
            rig->naive[i].present = false;
        }
    }
}

static void change(Rig *rig)
{
    static const uint64_t bytes[] = { 4096, 2 << 20, 1 << 30 };
    uint64_t linear = any_line(rig);
    PmuPageSize size = random_below(&rig->random, PMU_PAGE_SIZES);
    bool written = random_below(&rig->random, 2);

    switch (random_below(&rig->random, 1000)) {
    case 0:
        pmu_l1_hit_filter_clear(&rig->filter);
        remove_all_of(rig, 0, UINT64_MAX);
        break;
    case 1 ... 9:
        pmu_l1_hit_filter_remove_page(&rig->filter, linear / bytes[size], size);
        remove_all_of(rig, linear / bytes[size] * bytes[size], bytes[size]);
        break;
    case 10 ... 199:
        pmu_l1_hit_filter_remove(&rig->filter, linear);
        if (place_of(rig, linear)->linear == linear) {
            place_of(rig, linear)->present = false;
        }
        break;
    default:
        pmu_l1_hit_filter_add(&rig->filter, linear, written);
        *place_of(rig, linear) = (NaiveLine) { true, written, linear };
        break;
    }
}

/*
 * The filter has exactly the lines that the naive one has.  An access may be
 * anywhere in a line, and may reach into the next one; then it is no hit.
 */
static void test_naive(void)
{
    Rig *rig = g_new0(Rig, 1);
    unsigned had = 0;

    rig->random = random_from_seed();
    for (unsigned i = 0; i < STEPS; i++) {
        uint64_t linear = any_line(rig);
        unsigned offset = random_below(&rig->random, LINE);
        unsigned reach = 1 + random_below(&rig->random, PMU_EXTENT_NO_HIT);
        bool stores = random_below(&rig->random, 2);
        const NaiveLine *line = place_of(rig, linear);
        bool has = line->present && line->linear == linear &&
                   (line->written || !stores) && offset + reach <= LINE;

        g_assert_cmpint(pmu_l1_hit_filter_has(&rig->filter, linear + offset,
                                              reach, stores), ==, has);
        had += has;
        change(rig);
    }
    g_test_message("had %u of %u", had, STEPS);
    g_assert_cmpuint(had, >, STEPS / 100);
    g_free(rig);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/l1-hit-filter/naive", test_naive);
    return g_test_run();
}
