/*
 * Faults on demand: from the properties of the object to what they mean.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/cutils.h"
#include "pmu-fault.h"

/* Which counter= a kind takes. */
typedef enum X86PMUFaultCounter {
    COUNTER_NONE,               /* none */
    COUNTER_ANY,                /* any; must be given */
    COUNTER_PLAIN,              /* not of PERF_METRICS; must be given */
    COUNTER_OPTIONAL,           /* any; need not be given */
    COUNTER_REF_CYCLES,         /* none: it is about reference cycles */
} X86PMUFaultCounter;

/* Properties that a kind needs, and that no other kind may have. */
typedef enum X86PMUFaultNeeds {
    NEEDS_BY = 1,
    NEEDS_SMALL_BY = 2,         /* by=1 to by=255 */
    NEEDS_MODE = 4,
    NEEDS_BITS = 8,
} X86PMUFaultNeeds;

/* What faults of one kind have in common. */
typedef struct X86PMUFaultTraits {
    const char *name;
    X86PMUFaultTime time;
    X86PMUFaultAction action;   /* unless action= is given */
    X86PMUFaultCounter counter;
    unsigned needs;             /* X86PMUFaultNeeds */
    uint32_t msr;               /* the only MSR that it is about; 0: any */
    bool lasts;                 /* fires any number of times without max= */
} X86PMUFaultTraits;

/* The one register that clears bits of IA32_PERF_GLOBAL_STATUS. */
#define MSR_STATUS_RESET MSR_PMU_IA32_PERF_GLOBAL_OVF_CTRL

static const X86PMUFaultTraits kinds[FAULT_KINDS] = {
    [FAULT_OVERFLOW] = { "overflow", FAULT_WHEN_WRITTEN,
                         .counter = COUNTER_ANY },
    [FAULT_SPURIOUS] = { "spurious", FAULT_WHEN_WRITTEN },
    [FAULT_GP] = { "gp", FAULT_AT_ACCESS, X86_PMU_FAULT_GP },
    [FAULT_DROP] = { "drop", FAULT_AT_INTERRUPT, X86_PMU_FAULT_DROP },
    [FAULT_NO_AUTOMASK] = { "no-automask", FAULT_AT_INTERRUPT,
                            X86_PMU_FAULT_UNMASKED },
    [FAULT_DOUBLE] = { "double", FAULT_AT_INTERRUPT, X86_PMU_FAULT_DOUBLE },
    [FAULT_LATE] = { "late", FAULT_AT_INTERRUPT, X86_PMU_FAULT_LATE,
                     .needs = NEEDS_BY },
    [FAULT_MERGE] = { "merge", FAULT_AT_INTERRUPT, .counter = COUNTER_ANY },
    [FAULT_FREEZE_LOST] = { "freeze-lost", FAULT_AT_INTERRUPT,
                            X86_PMU_FAULT_DROP },
    [FAULT_STUCK] = { "stuck", FAULT_CHANGES_WRITE, .counter = COUNTER_OPTIONAL,
                      .msr = MSR_STATUS_RESET },
    [FAULT_ONE_MORE] = { "one-more", FAULT_CHANGES_WRITE,
                         .counter = COUNTER_PLAIN },
    [FAULT_SMI] = { "smi", FAULT_WHEN_WRITTEN, .needs = NEEDS_BY },
    [FAULT_REF_JUMP] = { "ref-jump", FAULT_WHEN_WRITTEN,
                         .counter = COUNTER_REF_CYCLES, .needs = NEEDS_BY },
    [FAULT_STILL] = { "still", FAULT_WHEN_WRITTEN, .counter = COUNTER_PLAIN },
    [FAULT_HALF] = { "half", FAULT_CHANGES_WRITE, .counter = COUNTER_PLAIN },
    [FAULT_MODE] = { "mode", FAULT_AT_INTERRUPT, X86_PMU_FAULT_MODE,
                     .needs = NEEDS_MODE },
    [FAULT_CAPS] = { "caps", FAULT_CHANGES_READ, .needs = NEEDS_BITS,
                     .msr = MSR_PMU_IA32_PERF_CAPABILITIES, .lasts = true },
    [FAULT_METRICS_NOISE] = { "metrics-noise", FAULT_CHANGES_READ,
                              .needs = NEEDS_SMALL_BY,
                              .msr = MSR_PMU_IA32_PERF_METRICS,
                              .lasts = true },
    [FAULT_STOP] = { "stop", FAULT_WHEN_WRITTEN },
    [FAULT_INIT] = { "init", FAULT_WHEN_WRITTEN },
};

#define KIND_NAMES "overflow, spurious, gp, drop, no-automask, double, late, " \
                   "merge, freeze-lost, stuck, one-more, smi, ref-jump, " \
                   "still, half, mode, caps, metrics-noise, stop or init"
#define COUNTER_KIND_NAMES "overflow, merge, stuck, one-more, still or half"
#define BY_KIND_NAMES "late, smi, ref-jump or metrics-noise"

/* Kinds that are refused by name: hardware has them, but no model does. */
static const char *const not_modelled[] = {
    "erratum", "unplug", "tsc-jump",
};

const char *x86_pmu_fault_kind_name(X86PMUFaultKind kind)
{
    return kinds[kind].name;
}

static bool x86_pmu_fault_parse_kind(X86PMUFault *fault, Error **errp)
{
    const char *kind = fault->text[TEXT_KIND];

    for (int i = 0; i < ARRAY_SIZE(not_modelled); i++) {
        if (kind && g_str_equal(kind, not_modelled[i])) {
            error_setg(errp, "kind=%s is not modelled; these are: "
                       KIND_NAMES, kind);
            return false;
        }
    }
    for (int i = 0; i < FAULT_KINDS; i++) {
        if (kind && g_str_equal(kind, kinds[i].name)) {
            fault->kind = i;
            fault->time = kinds[i].time;
            return true;
        }
    }
    error_setg(errp, "kind=%s: it must be " KIND_NAMES, kind ?: "");
    return false;
}

/*
 * Parse @text, such as "pmc3", "fixed0" or "metrics.1": @prefix, then a number
 * below @count.  Sets @counter to @first + that number.  False if it is not.
 */
static bool x86_pmu_fault_parse_index(const char *text, const char *prefix,
                                      unsigned first, unsigned count,
                                      unsigned *counter)
{
    uint64_t index;

    if (!g_str_has_prefix(text, prefix) ||
        qemu_strtou64(text + strlen(prefix), NULL, 10, &index) ||
        index >= count) {
        return false;
    }
    *counter = first + index;
    return true;
}

/*
 * Parse @text, the name of a counter.  False if it is none, or @which does not
 * allow it.
 */
static bool x86_pmu_fault_parse_name(const char *text, X86PMUFaultCounter which,
                                     unsigned *counter)
{
    return x86_pmu_fault_parse_index(text, "pmc", 0, PERFMON_ARCH_GP,
                                     counter) ||
           x86_pmu_fault_parse_index(text, "fixed", PERFMON_ARCH_GP,
                                     PERFMON_MAX_FIXED, counter) ||
           (which != COUNTER_PLAIN &&
            x86_pmu_fault_parse_index(text, "metrics.", COUNTER_METRICS(0),
                                      PERFMON_MAX_METRICS, counter));
}

static bool x86_pmu_fault_parse_counter(X86PMUFault *fault, Error **errp)
{
    X86PMUFaultCounter which = kinds[fault->kind].counter;
    const char *text = fault->text[TEXT_COUNTER];

    fault->has_counter = which == COUNTER_OPTIONAL ? text != NULL
                                                   : which != COUNTER_NONE;
    fault->counter = PMU_CHECK_FIXED(2);        /* reference cycles */
    if (!fault->has_counter || which == COUNTER_REF_CYCLES) {
        if (text) {
            error_setg(errp, "counter=%s needs kind=" COUNTER_KIND_NAMES,
                       text);
        }
        return !text;
    }
    if (text && x86_pmu_fault_parse_name(text, which, &fault->counter)) {
        return true;
    }
    error_setg(errp, "counter=%s%s: it must be pmc0 to pmc7, fixed0 to "
               "fixed3%s", text ?: "", text ? "" : " is missing",
               which == COUNTER_PLAIN ? "" : ", or metrics.0 to metrics.7");
    return false;
}

static bool x86_pmu_fault_parse_action(X86PMUFault *fault, Error **errp)
{
    const char *text = fault->text[TEXT_ACTION];

    fault->action = kinds[fault->kind].action;
    if (!text) {
        return true;
    }
    if (fault->kind != FAULT_GP) {
        error_setg(errp, "action=%s needs kind=gp", text);
        return false;
    }
    if (g_str_equal(text, "ignore")) {
        fault->action = X86_PMU_FAULT_IGNORE;
    } else if (g_str_equal(text, "zero")) {
        fault->action = X86_PMU_FAULT_ZERO;
    } else if (!g_str_equal(text, "gp")) {
        error_setg(errp, "action=%s: it must be gp, ignore or zero", text);
        return false;
    }
    return true;
}

/*
 * Check property @which, a number called @name.  If the kind of @fault has it
 * (@has), it must be 1 to @most.  Else it must not be given, as only @kinds
 * have it.
 */
static bool x86_pmu_fault_parse_own(const X86PMUFault *fault,
                                    X86PMUFaultNumber which, const char *name,
                                    bool has, uint64_t most,
                                    const char *kinds, Error **errp)
{
    uint64_t number = fault->number[which];

    if (!has) {
        if (number != NOT_GIVEN) {
            error_setg(errp, "%s=%" PRIu64 " needs kind=%s", name, number,
                       kinds);
        }
        return number == NOT_GIVEN;
    }
    if (number == NOT_GIVEN || !number || number > most) {
        error_setg(errp, "kind=%s needs %s=1 to %s=%" PRIu64,
                   fault->text[TEXT_KIND], name, name, most);
        return false;
    }
    return true;
}

static bool x86_pmu_fault_parse_by(X86PMUFault *fault, Error **errp)
{
    unsigned needs = kinds[fault->kind].needs;

    return x86_pmu_fault_parse_own(fault, NUMBER_BY, "by",
                                   needs & (NEEDS_BY | NEEDS_SMALL_BY),
                                   needs & NEEDS_SMALL_BY ? 255 : UINT32_MAX,
                                   BY_KIND_NAMES, errp) &&
           x86_pmu_fault_parse_own(fault, NUMBER_BITS, "bits",
                                   needs & NEEDS_BITS, NOT_GIVEN - 1, "caps",
                                   errp);
}

/* Values of mode=, with the delivery mode in LVTPC (SDM vol. 3A, 11.5.1). */
static const struct {
    const char *name;
    uint32_t lvtpc;
} modes[] = {
    { "fixed", 0x000 }, { "smi", 0x200 }, { "nmi", 0x400 },
};

#define MODE_NAMES "fixed, smi or nmi"

static bool x86_pmu_fault_parse_vector(X86PMUFault *fault, bool fixed,
                                       Error **errp)
{
    uint64_t vector = fault->number[NUMBER_VECTOR];

    if (!fixed) {
        if (vector != NOT_GIVEN) {
            error_setg(errp, "vector=%" PRIu64 " needs mode=fixed", vector);
        }
        return vector == NOT_GIVEN;
    }
    if (vector < 16 || vector > 255) {
        error_setg(errp, "mode=fixed needs vector=16 to vector=255");
        return false;
    }
    fault->lvtpc |= vector;
    return true;
}

static bool x86_pmu_fault_parse_mode(X86PMUFault *fault, Error **errp)
{
    const char *text = fault->text[TEXT_MODE];

    if (!(kinds[fault->kind].needs & NEEDS_MODE)) {
        if (text) {
            error_setg(errp, "mode=%s needs kind=mode", text);
        }
        return !text && x86_pmu_fault_parse_vector(fault, false, errp);
    }
    for (int i = 0; text && i < ARRAY_SIZE(modes); i++) {
        if (g_str_equal(text, modes[i].name)) {
            fault->lvtpc = modes[i].lvtpc;
            return x86_pmu_fault_parse_vector(fault, !fault->lvtpc, errp);
        }
    }
    error_setg(errp, "mode=%s%s: it must be " MODE_NAMES, text ?: "",
               text ? "" : " is missing");
    return false;
}

/* The only value that rw= can have, by kind= and action=; NULL: any. */
static const char *x86_pmu_fault_only_rw(const X86PMUFault *fault)
{
    if (fault->time == FAULT_WHEN_WRITTEN ||
        fault->time == FAULT_CHANGES_WRITE ||
        fault->action == X86_PMU_FAULT_IGNORE) {
        return "w";
    }
    return fault->time == FAULT_CHANGES_READ ||
           fault->action == X86_PMU_FAULT_ZERO ? "r" : NULL;
}

static bool x86_pmu_fault_parse_rw(X86PMUFault *fault, Error **errp)
{
    const char *only = x86_pmu_fault_only_rw(fault);
    const char *text = fault->text[TEXT_RW] ?: only ?: "rw";

    if (only && !g_str_equal(text, only)) {
        bool by_action = fault->kind == FAULT_GP;

        error_setg(errp, "rw=%s: %s=%s is %s alone, rw=%s", text,
                   by_action ? "action" : "kind",
                   fault->text[by_action ? TEXT_ACTION : TEXT_KIND],
                   *only == 'w' ? "done at writes" : "about reads", only);
        return false;
    }
    fault->read = g_str_equal(text, "r") || g_str_equal(text, "rw");
    fault->write = g_str_equal(text, "w") || g_str_equal(text, "rw");
    if (!fault->read && !fault->write) {
        error_setg(errp, "rw=%s: it must be r, w or rw", text);
        return false;
    }
    return true;
}

static bool x86_pmu_fault_parse_place(X86PMUFault *fault, Error **errp)
{
    const char *window = fault->text[TEXT_WINDOW], *end;
    uint64_t access = fault->number[NUMBER_ACCESS], first, second;
    uint32_t only = kinds[fault->kind].msr;

    if (window && access != NOT_GIVEN) {
        error_setg(errp, "window and access contradict each other");
        return false;
    }
    if (fault->time == FAULT_AT_INTERRUPT && (window || access != NOT_GIVEN)) {
        error_setg(errp, "kind=%s is about interrupts: it has no access and "
                   "no window", fault->text[TEXT_KIND]);
        return false;
    }
    if (!access) {
        error_setg(errp, "access=0: it must be an MSR, 0x1 to 0xffffffff");
        return false;
    }
    fault->msr = access == NOT_GIVEN ? 0 : access;
    if (window) {
        if (qemu_strtou64(window, &end, 0, &first) || *end != '-' ||
            qemu_strtou64(end + 1, NULL, 0, &second) ||
            first > UINT32_MAX || second > UINT32_MAX || !first || !second) {
            error_setg(errp, "window=%s: it must be two MSRs, as in "
                       "0x30c-0x329", window);
            return false;
        }
        fault->before = first;
        fault->msr = second;
    }
    if (only) {
        if (fault->msr && fault->msr != only) {
            error_setg(errp, "kind=%s is about %s 0x%x: it has no access to "
                       "0x%x", fault->text[TEXT_KIND],
                       fault->time == FAULT_CHANGES_READ ? "reads of"
                                                    : "writes to",
                       only, fault->msr);
            return false;
        }
        fault->msr = only;
    }
    if (!fault->msr && fault->kind == FAULT_GP) {
        error_setg(errp, "kind=gp needs access or window");
        return false;
    }
    return true;
}

/* The least and the greatest value of numbers that any kind can have. */
static const struct {
    X86PMUFaultNumber which;
    const char *name;
    uint64_t least, most;
} ranges[] = {
    { NUMBER_NTH, "nth", 1, UINT32_MAX },
    { NUMBER_CPL, "cpl", 0, 3 },
    { NUMBER_MAX, "max", 1, UINT32_MAX },
    { NUMBER_INSNS, "insns", 1, INT64_MAX },
    { NUMBER_EVERY, "every", 1, INT64_MAX / 2 },
};

static bool x86_pmu_fault_parse_ranges(const X86PMUFault *fault, Error **errp)
{
    for (int i = 0; i < ARRAY_SIZE(ranges); i++) {
        uint64_t number = fault->number[ranges[i].which];

        if (number != NOT_GIVEN &&
            (number < ranges[i].least || number > ranges[i].most)) {
            error_setg(errp, "%s=%" PRIu64 ": it must be %" PRIu64 " to %"
                       PRIu64, ranges[i].name, number, ranges[i].least,
                       ranges[i].most);
            return false;
        }
    }
    return true;
}

/* WRMSR runs at CPL 0 alone: no other CPL if @fault fires at writes alone. */
static bool x86_pmu_fault_parse_cpl(const X86PMUFault *fault, Error **errp)
{
    uint64_t cpl = fault->number[NUMBER_CPL];
    bool at_write = fault->write && !fault->read &&
                    (fault->time != FAULT_WHEN_WRITTEN || fault->msr) &&
                    fault->time != FAULT_AT_INTERRUPT;

    if (at_write && cpl && cpl != NOT_GIVEN) {
        error_setg(errp, "cpl=%" PRIu64 ": registers are written at CPL 0, so "
                   "it must be 0", cpl);
        return false;
    }
    return true;
}

/* Check jitter= and seed=. */
static bool x86_pmu_fault_parse_period(X86PMUFault *fault, Error **errp)
{
    uint64_t every = fault->number[NUMBER_EVERY];
    uint64_t jitter = fault->number[NUMBER_JITTER];
    uint64_t seed = fault->number[NUMBER_SEED];

    if (jitter != NOT_GIVEN && (every == NOT_GIVEN || jitter >= every)) {
        error_setg(errp, "jitter=%" PRIu64 " needs every=, and must be less",
                   jitter);
        return false;
    }
    if (seed != NOT_GIVEN && jitter == NOT_GIVEN &&
        fault->kind != FAULT_METRICS_NOISE) {
        error_setg(errp, "seed=%" PRIu64 " needs jitter= or "
                   "kind=metrics-noise", seed);
        return false;
    }
    if (!seed) {
        error_setg(errp, "seed=0: it must not be 0");
        return false;
    }
    fault->random = seed == NOT_GIVEN ? 1 : seed;
    return true;
}

/*
 * When it fires, and how often.  A fault that needs no access and no interrupt
 * fires by insns= or every=, else at once.
 */
static void x86_pmu_fault_parse_times(X86PMUFault *fault)
{
    bool waits = fault->number[NUMBER_INSNS] != NOT_GIVEN ||
                 fault->number[NUMBER_EVERY] != NOT_GIVEN;
    bool by_itself = fault->time == FAULT_WHEN_WRITTEN && !fault->msr;

    fault->by_count = by_itself && waits;
    fault->at_once = by_itself && !waits;
    fault->most = fault->number[NUMBER_MAX] != NOT_GIVEN
                  ? fault->number[NUMBER_MAX]
                  : kinds[fault->kind].lasts ? UINT64_MAX : 1;
}

bool x86_pmu_fault_parse(X86PMUFault *fault, Error **errp)
{
    if (!x86_pmu_fault_parse_kind(fault, errp) ||
        !x86_pmu_fault_parse_ranges(fault, errp) ||
        !x86_pmu_fault_parse_counter(fault, errp) ||
        !x86_pmu_fault_parse_by(fault, errp) ||
        !x86_pmu_fault_parse_mode(fault, errp) ||
        !x86_pmu_fault_parse_action(fault, errp) ||
        !x86_pmu_fault_parse_rw(fault, errp) ||
        !x86_pmu_fault_parse_place(fault, errp) ||
        !x86_pmu_fault_parse_cpl(fault, errp) ||
        !x86_pmu_fault_parse_period(fault, errp)) {
        return false;
    }
    x86_pmu_fault_parse_times(fault);
    return true;
}
