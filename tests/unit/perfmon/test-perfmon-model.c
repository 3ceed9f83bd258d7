/*
 * The register file compared with a naive one: random register accesses,
 * counts, privilege levels, freezes and resets.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "naive-pmu.h"
#include "random.h"

#define STEPS (g_test_slow() ? 1000000 : 200000)

/* Steps after which all registers are compared. */
#define INTERVAL 32

/* Steps that a failure shows. */
#define TRACE 12

typedef enum StepKind {
    STEP_WRMSR,
    STEP_RDMSR,
    STEP_RDPMC,
    STEP_COUNT,
    STEP_RESET,
} StepKind;

typedef struct Step {
    StepKind kind;
    uint32_t index;             /* MSR or ECX */
    uint64_t value;             /* written */
    NaiveDelta delta;           /* counted */
} Step;

typedef struct Model {
    Perfmon pmu;
    NaivePmu naive;
    PmuLedgerSnapshot now;
    Random random;
    unsigned width;
    uint64_t step_nr;
    uint64_t thorough_from;     /* the step from which all are compared */
    bool suspect;               /* something differed before that */
    Step trace[TRACE];
} Model;

static const char *const access_name[] = { "ok", "#GP", "not ours" };

static void print_delta(const char *level, const uint64_t *item)
{
    for (int i = 0; i < PMU_ITEM_NR; i++) {
        if (item[i]) {
            g_printerr("#     %s %s %" PRIu64 "\n", level,
                       pmu_ledger_item_name(i), item[i]);
        }
    }
}

static void print_step(uint64_t nr, const Step *step)
{
    switch (step->kind) {
    case STEP_WRMSR:
        g_printerr("# %" PRIu64 ": wrmsr 0x%03x, 0x%" PRIx64 "\n",
                   nr, step->index, step->value);
        break;
    case STEP_RDMSR:
        g_printerr("# %" PRIu64 ": rdmsr 0x%03x\n", nr, step->index);
        break;
    case STEP_RDPMC:
        g_printerr("# %" PRIu64 ": rdpmc 0x%08x\n", nr, step->index);
        break;
    case STEP_RESET:
        g_printerr("# %" PRIu64 ": reset\n", nr);
        break;
    case STEP_COUNT:
        g_printerr("# %" PRIu64 ": count\n", nr);
        print_delta("os", step->delta.item[PMU_LEVEL_OS]);
        print_delta("usr", step->delta.item[PMU_LEVEL_USR]);
        break;
    }
}

/*
 * Show the last steps, and what was wrong after the last one.  The first time
 * it is not known which step made the difference.  Then this only sets
 * @suspect, and the test runs all steps again.
 */
static void G_GNUC_PRINTF(2, 3) fail(Model *model, const char *format, ...)
{
    uint64_t first = model->step_nr < TRACE ? 0 : model->step_nr - TRACE + 1;
    g_autofree char *text = NULL;
    va_list args;

    if (model->step_nr < model->thorough_from) {
        model->suspect = true;
        return;
    }
    for (uint64_t nr = first; nr <= model->step_nr; nr++) {
        print_step(nr, &model->trace[nr % TRACE]);
    }
    va_start(args, format);
    text = g_strdup_vprintf(format, args);
    va_end(args);
    g_error("step %" PRIu64 ": %s (repeat with the --seed printed above)",
            model->step_nr, text);
}

/* Returns an MSR of the unit, or sometimes another one. */
static uint32_t random_msr(Random *random)
{
    static const uint32_t single[] = {
        0x329, 0x329, 0x345, 0x38d, 0x38d, 0x38e, 0x38f, 0x38f, 0x38f, 0x390,
        0x390, 0x391, 0x392, 0x1d9, 0x1a6, 0x1a7, 0x3f1, 0x3f6, 0x3f7,
        0x10, 0xc0, 0xc9, 0x185, 0x18e, 0x1a0, 0x1c9, 0x308, 0x30d, 0x328,
        0x32a, 0x38c, 0x393, 0x3f2, 0x4c0, 0x4c9, 0x600, 0x680, 0xc00000c1,
    };

    switch (random_below(random, 8)) {
    case 0:
        return 0x0c1 + random_below(random, 8);
    case 1:
        return 0x4c1 + random_below(random, 8);
    case 2:
    case 3:
        return 0x186 + random_below(random, 8);
    case 4:
        return 0x309 + random_below(random, 4);
    case 5:
        return 0x30c;
    default:
        return single[random_below(random, G_N_ELEMENTS(single))];
    }
}

/* Returns a selector that some core knows, with modifiers of all kinds. */
static uint64_t random_evtsel(Random *random)
{
    static const uint16_t select[] = {
        0x003c, 0x013c, 0x00c0, 0x4f2e, 0x412e, 0x00c4, 0x11c4, 0x00c5,
        0x01a4, 0x02a4, 0x04a4, 0x08a4, 0x10a4, 0x02c2, 0x019c, 0x02ec,
        0x010d, 0x20cc, 0x01ad, 0x20cc, 0x010e, 0x01ae, 0x0000, 0x01c1,
        0x04c3, 0x01c3,
    };
    uint64_t value = select[random_below(random, G_N_ELEMENTS(select))];

    value |= random_below(random, 4) << 16;
    value |= random_below(random, 2) << 20;
    value |= random_below(random, 8) ? 1ull << 22 : 0;
    if (random_below(random, 2)) {
        value |= random_below(random, 2) << 18 | random_below(random, 2) << 23;
        value |= random_below(random, random_below(random, 4) ? 3 : 12) << 24;
    }
    return value;
}

/* Returns a counter's value: any, but often one that overflows soon. */
static uint64_t random_count(Random *random)
{
    switch (random_below(random, 4)) {
    case 0:
        return 0;
    case 1:
        return random_size(random, 48);
    default:
        return (-random_size(random, 40)) & 0xffffffffffff;
    }
}

/*
 * Returns a value that software might write to @msr; sometimes one that raises
 * #GP.
 */
static uint64_t random_value(Random *random, uint32_t msr)
{
    uint64_t bits = random_next(random);

    if (random_below(random, 32) == 0) {
        bits = random_size(random, 64);
        /* An event that no core has, as the naive unit knows only a few. */
        return msr >= 0x186 && msr <= 0x18d ? bits | 0xff : bits;
    }
    switch (msr) {
    case 0x0c1 ... 0x0c8:
        return random_below(random, 2) ? random_count(random) : bits;
    case 0x4c1 ... 0x4c8:
    case 0x309 ... 0x30c:
        return random_count(random);
    case 0x186 ... 0x18d:
        return random_evtsel(random);
    case 0x329:
        return random_below(random, 4) ? bits & 0x3f3f3f3f : bits;
    case 0x38d:
        return random_below(random, 8) ? 0xbbbb & (bits | bits >> 32)
                                       : bits & 0xffff;
    case 0x38f:
        return random_below(random, 4) ? 0x1000f000000ffull
                                       : bits & 0x1000f000000ffull;
    case 0x390:
        return random_below(random, 2) ? 0x8801000f000000ffull
                                       : bits & 0xfc81000f000000ffull;
    case 0x391:
        return bits & bits >> 13 & bits << 7 & 0x801000f000000ffull;
    case 0x1d9:
        return bits & (random_below(random, 4) ? 0x1803 : 0xffff);
    case 0x3f6:
        return bits & 0x1ffff;
    case 0x1a6:
    case 0x1a7:
        return bits & 0x3fffffffffull;
    default:
        return bits & 0x7fff1f;
    }
}

/* Split @sum among @num items at random. */
static void random_parts(Random *random, uint64_t sum, uint64_t *part,
                         unsigned num)
{
    for (unsigned i = 0; i < num - 1; i++) {
        part[i] = sum ? random_below(random, sum + 1) : 0;
        sum -= part[i];
    }
    part[num - 1] = sum;
}

/*
 * Make what a core could have done meanwhile: slots and cycles are conserved,
 * and other items are up to @bits bits large.
 */
static void random_delta(Model *model, int level, unsigned bits,
                         NaiveDelta *delta)
{
    uint64_t *item = delta->item[level];
    uint64_t cycles = random_size(&model->random, bits);
    static const uint8_t bins[][2] = {
        { PMU_ITEM_ISSUED_0, PMU_ITEM_ISSUED_6 },
        { PMU_ITEM_UNDELIVERED_0, PMU_ITEM_UNDELIVERED_6 },
        { PMU_ITEM_RETIRED_0, PMU_ITEM_RETIRED_8 },
    };

    random_parts(&model->random, cycles * model->width, item, PMU_SLOT_NR);
    item[PMU_ITEM_CYCLES] = cycles;
    item[PMU_ITEM_SLOTS] = cycles * model->width;
    for (int i = PMU_ITEM_REF_TSC; i < PMU_ITEM_NR; i++) {
        item[i] = random_size(&model->random, bits);
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(bins); i++) {
        random_parts(&model->random, cycles, &item[bins[i][0]],
                     bins[i][1] - bins[i][0] + 1);
    }
    item[PMU_ITEM_RECOVERY_CYCLES] = MIN(item[PMU_ITEM_RECOVERY_CYCLES],
                                         cycles);
}

static Step random_step(Model *model)
{
    Random *random = &model->random;
    uint64_t choice = random_below(random, 1000);
    Step step = { 0 };

    if (choice < 350) {
        static const uint8_t bits[] = { 4, 12, 20, 40, 40, 47, 60 };
        unsigned size = bits[random_below(random, G_N_ELEMENTS(bits))];
        int levels = 1 + random_below(random, 3);

        step.kind = STEP_COUNT;
        for (int level = 0; level < PMU_LEVEL_NR; level++) {
            if (levels >> level & 1) {
                random_delta(model, level, size, &step.delta);
            }
        }
    } else if (choice < 800) {
        step.kind = STEP_WRMSR;
        step.index = random_msr(random);
        step.value = random_value(random, step.index);
    } else if (choice < 900) {
        step.kind = STEP_RDMSR;
        step.index = random_msr(random);
    } else if (choice < 998) {
        static const uint32_t type[] = {
            0, 0x40000000, 0x20000000, 0x60000000, 0x80000000, 0x00010000,
        };

        step.kind = STEP_RDPMC;
        step.index = type[random_below(random, G_N_ELEMENTS(type))] +
                     random_below(random, 10);
    } else {
        step.kind = STEP_RESET;
    }
    return step;
}

static void compare_read(Model *model, const char *what, uint32_t index,
                         NaiveAccess want, uint64_t want_value,
                         PerfmonResult got, uint64_t got_value)
{
    if ((int)want != (int)got) {
        fail(model, "%s 0x%x: expected %s, got %s", what, index,
             access_name[want], access_name[got]);
    }
    if (want == NAIVE_OK && want_value != got_value) {
        fail(model, "%s 0x%x: expected 0x%" PRIx64 ", got 0x%" PRIx64,
             what, index, want_value, got_value);
    }
}

static void compare_rdmsr(Model *model, uint32_t msr)
{
    uint64_t want_value = 0, got_value = 0;
    NaiveAccess want = naive_rdmsr(&model->naive, msr, &want_value);
    PerfmonResult got = perfmon_rdmsr(&model->pmu, msr, &got_value);

    compare_read(model, "rdmsr", msr, want, want_value, got, got_value);
}

static void compare_rdpmc(Model *model, uint32_t ecx)
{
    uint64_t want_value = 0, got_value = 0;
    NaiveAccess want = naive_rdpmc(&model->naive, ecx, &want_value);
    PerfmonResult got = perfmon_rdpmc(&model->pmu, ecx, &got_value);

    compare_read(model, "rdpmc", ecx, want, want_value, got, got_value);
}

static void compare_all(Model *model)
{
    static const struct {
        uint32_t first, last;
    } range[] = {
        { 0x0c0, 0x0c9 }, { 0x185, 0x18e }, { 0x1a6, 0x1a7 }, { 0x1d9, 0x1d9 },
        { 0x308, 0x30d }, { 0x329, 0x329 }, { 0x345, 0x345 }, { 0x38d, 0x393 },
        { 0x3f1, 0x3f7 }, { 0x4c0, 0x4c9 },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(range); i++) {
        for (uint32_t msr = range[i].first; msr <= range[i].last; msr++) {
            compare_rdmsr(model, msr);
        }
    }
}

static void compare_state(Model *model)
{
    PerfmonDemand demand = perfmon_demand(&model->pmu);

    compare_rdmsr(model, 0x38e);
    if (model->pmu.pmi != model->naive.pmi) {
        fail(model, "interrupt: expected %d, got %d",
             model->naive.pmi, model->pmu.pmi);
    }
    for (int level = 0; level < PMU_LEVEL_NR; level++) {
        if (demand.level[level] != naive_counts_at(&model->naive, level)) {
            fail(model, "demand at level %d: expected %d, got %d", level,
                 naive_counts_at(&model->naive, level), demand.level[level]);
        }
    }
}

/*
 * The largest growth of an item of each kind.  Counts of instructions or
 * branches that are capped at cycles depend on other items, too; so @any
 * includes all items.
 */
typedef struct Growth {
    uint64_t instructions, branches, cycles, slots, any;
} Growth;

static Growth growth_of(const NaiveDelta *delta)
{
    Growth growth = { 0 };

    for (int i = 0; i < PMU_ITEM_NR; i++) {
        uint64_t n = delta->item[PMU_LEVEL_OS][i] +
                     delta->item[PMU_LEVEL_USR][i];
        uint64_t *kind = i == PMU_ITEM_INSTRUCTIONS ? &growth.instructions :
                         i >= PMU_ITEM_BRANCHES &&
                         i <= PMU_ITEM_BRANCHES_FAR ? &growth.branches :
                         &growth.any;

        *kind = MAX(*kind, n);
        growth.any = MAX(growth.any, n);
        growth.cycles += i == PMU_ITEM_CYCLES ? n : 0;
        growth.slots += i == PMU_ITEM_SLOTS ? n : 0;
    }
    return growth;
}

/*
 * No interrupt comes before the slack is used up, and one comes when that of
 * the instructions is.
 */
static void check_slack(Model *model, const PerfmonDistance *slack,
                        const NaiveDelta *delta)
{
    Growth growth = growth_of(delta);
    bool usr = delta->item[PMU_LEVEL_USR][PMU_ITEM_INSTRUCTIONS];
    bool os = delta->item[PMU_LEVEL_OS][PMU_ITEM_INSTRUCTIONS];

    if (model->pmu.pmi && growth.instructions < slack->instructions &&
        growth.branches < slack->branches && growth.cycles < slack->cycles &&
        growth.slots < slack->slots && growth.any < slack->any) {
        fail(model, "interrupt within the slack of %" PRIu64 " instructions, "
             "%" PRIu64 " branches, %" PRIu64 " cycles, %" PRIu64 " slots, %"
             PRIu64 " others", slack->instructions, slack->branches,
             slack->cycles, slack->slots, slack->any);
    }
    if (!model->pmu.pmi && os != usr &&
        growth.instructions >= slack->instructions_level[usr]) {
        fail(model, "no interrupt after %" PRIu64 " instructions, level %d, "
             "slack %" PRIu64, growth.instructions, usr,
             slack->instructions_level[usr]);
    }
}

/*
 * Start the totals at 0 again before they exceed 64 bits, which no machine
 * reaches.  Counters do not notice.
 */
static void limit_totals(Model *model)
{
    for (int level = 0; level < PMU_LEVEL_NR; level++) {
        for (int i = 0; i < PMU_ITEM_NR; i++) {
            if (model->now.item[level][i] >> 60) {
                memset(&model->now, 0, sizeof(model->now));
                model->pmu.last = model->now;
                return;
            }
        }
    }
}

static void run_count(Model *model, const Step *step)
{
    PerfmonDistance slack;

    limit_totals(model);
    for (int level = 0; level < PMU_LEVEL_NR; level++) {
        for (int i = 0; i < PMU_ITEM_NR; i++) {
            model->now.item[level][i] += step->delta.item[level][i];
        }
    }
    perfmon_distance_to_overflow(&model->pmu, &slack);
    perfmon_update(&model->pmu, &model->now);
    naive_count(&model->naive, &step->delta);
    check_slack(model, &slack, &step->delta);
    compare_state(model);
    model->pmu.pmi = model->naive.pmi = false;
}

static void run_wrmsr(Model *model, const Step *step)
{
    NaiveAccess want = naive_wrmsr(&model->naive, step->index, step->value);
    PerfmonResult got = perfmon_wrmsr_check(&model->pmu, step->index,
                                            step->value);

    if ((int)want != (int)got) {
        fail(model, "wrmsr: expected %s, got %s",
             access_name[want], access_name[got]);
    }
    if (got == PERFMON_OK) {
        perfmon_wrmsr(&model->pmu, step->index, step->value);
    }
    compare_rdmsr(model, step->index);
    compare_rdmsr(model, 0x329);
    compare_state(model);
}

static void run_step(Model *model, const Step *step)
{
    switch (step->kind) {
    case STEP_COUNT:
        run_count(model, step);
        break;
    case STEP_WRMSR:
        run_wrmsr(model, step);
        break;
    case STEP_RDMSR:
        compare_rdmsr(model, step->index);
        break;
    case STEP_RDPMC:
        compare_rdpmc(model, step->index);
        break;
    case STEP_RESET:
        perfmon_reset(&model->pmu);
        naive_reset(&model->naive);
        compare_all(model);
        break;
    }
}

static const PerfmonConfig configs[] = {
    { .core = PMU_CORE_ICELAKE, .num_gp = 8, .num_fixed = 4, .pdcm = true,
      .capabilities = 0xa000, .num_metrics = 4, .metrics_width = 48 },
    { .core = PMU_CORE_ICELAKE, .num_gp = 8, .num_fixed = 4, .pdcm = true,
      .capabilities = 0xa000, .num_metrics = 4, .metrics_width = 16 },
    { .core = PMU_CORE_SAPPHIRERAPIDS, .num_gp = 8, .num_fixed = 4,
      .pdcm = true, .capabilities = 0xa000, .num_metrics = 8,
      .metrics_width = 48 },
    { .core = PMU_CORE_SAPPHIRERAPIDS, .num_gp = 8, .num_fixed = 4,
      .pdcm = true, .capabilities = 0x8000, .num_metrics = 8,
      .metrics_width = 33 },
    { .core = PMU_CORE_ICELAKE, .num_gp = 8, .num_fixed = 4, .pdcm = true,
      .capabilities = 0x2000 },
    { .core = PMU_CORE_ICELAKE, .num_gp = 4, .num_fixed = 3, .pdcm = false },
};

static const char *const config_name[] = {
    "icelake", "narrow-metrics", "sapphirerapids", "legacy-writes",
    "no-metrics", "small",
};

/* Run all steps.  Returns false at a difference before @thorough_from. */
static bool run(Model *model, const PerfmonConfig *config, Random random,
                uint64_t thorough_from)
{
    const char *why;

    *model = (Model) {
        .random = random,
        .width = config->core == PMU_CORE_ICELAKE ? 5 : 6,
        .thorough_from = thorough_from,
    };
    g_assert_true(perfmon_init(&model->pmu, config, &why));
    naive_init(&model->naive, config);

    for (model->step_nr = 0; model->step_nr < STEPS; model->step_nr++) {
        Step *step = &model->trace[model->step_nr % TRACE];

        *step = random_step(model);
        run_step(model, step);
        if (model->step_nr % INTERVAL == 0 ||
            model->step_nr >= thorough_from) {
            compare_all(model);
        }
        if (model->suspect) {
            return false;
        }
    }
    return true;
}

/*
 * All registers, interrupts and demands are those of the naive unit, after each
 * of STEPS random steps.
 */
static void test_random(gconstpointer opaque)
{
    g_autofree Model *model = g_new0(Model, 1);
    Random random = random_from_seed();

    if (!run(model, opaque, random, UINT64_MAX)) {
        uint64_t seen = model->step_nr;

        run(model, opaque, random, seen < INTERVAL ? 0 : seen - INTERVAL);
        g_error("a difference at step %" PRIu64 " did not come back", seen);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (unsigned i = 0; i < G_N_ELEMENTS(configs); i++) {
        g_autofree char *path = g_strconcat("/perfmon-model/", config_name[i],
                                            NULL);

        g_test_add_data_func(path, &configs[i], test_random);
    }
    return g_test_run();
}
