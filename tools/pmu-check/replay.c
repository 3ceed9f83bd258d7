/*
 * Replay of a log: a PMU and a checker for each CPU that the log names.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>

#include "replay.h"
#include "tcg/pmu/check/controls.h"

typedef struct ReplayCpu {
    Perfmon perfmon;
    PmuCheck *check;
} ReplayCpu;

struct Replay {
    PerfmonConfig unit;
    PmuCheckConfig config;
    GHashTable *cpus;           /* ReplayCpu by CPU number */
};

static void free_cpu(void *data)
{
    ReplayCpu *cpu = data;

    pmu_check_free(cpu->check);
    g_free(cpu);
}

Replay *replay_new(const PerfmonConfig *unit, const PmuCheckConfig *check)
{
    Replay *replay = g_new0(Replay, 1);

    replay->unit = *unit;
    replay->config = *check;
    replay->cpus = g_hash_table_new_full(NULL, NULL, NULL, free_cpu);
    return replay;
}

void replay_free(Replay *replay)
{
    g_hash_table_unref(replay->cpus);
    g_free(replay);
}

/* perfmon_init() cannot fail: main.c passes only units that it accepts. */
static ReplayCpu *find_cpu(Replay *replay, unsigned number)
{
    ReplayCpu *cpu = g_hash_table_lookup(replay->cpus,
                                         GUINT_TO_POINTER(number));
    const char *why;

    if (!cpu) {
        cpu = g_new0(ReplayCpu, 1);
        perfmon_init(&cpu->perfmon, &replay->unit, &why);
        cpu->check = pmu_check_new(&cpu->perfmon, &replay->config);
        pmu_check_forget(cpu->check);
        g_hash_table_insert(replay->cpus, GUINT_TO_POINTER(number), cpu);
    }
    return cpu;
}

/* A read tells what a register holds; no write in the log need explain it. */
static void learn(ReplayCpu *cpu, const PmuCheckWhere *where,
                  const LogAccess *access)
{
    Perfmon *perfmon = &cpu->perfmon;
    unsigned index = pmu_check_counter_of(access->msr);
    uint64_t set;

    if (index < PERFMON_ARCH_GP) {
        perfmon->gp[index] = access->value;
    } else if (index < PMU_CHECK_COUNTERS) {
        perfmon->fixed[index - PERFMON_ARCH_GP] = access->value;
    } else if (access->msr == MSR_PMU_IA32_PERF_GLOBAL_STATUS) {
        set = access->value & ~perfmon->global_status;
        perfmon->global_status = access->value;
        if (set) {
            pmu_check_overflow(cpu->check, where, set);
        }
    }
}

void replay_access(Replay *replay, const LogAccess *access)
{
    ReplayCpu *cpu = find_cpu(replay, access->cpu);
    PmuCheckWhere where = {
        .clock = access->microseconds, .rip = access->rip, .cpl = access->cpl,
    };
    uint64_t value;

    if (access->how != PMU_CHECK_WRMSR) {
        if (perfmon_rdmsr(&cpu->perfmon, access->msr, &value) ==
            PERFMON_NOT_OURS) {
            return;
        }
    } else if (perfmon_wrmsr_check(&cpu->perfmon, access->msr,
                                   access->value) == PERFMON_NOT_OURS) {
        return;
    }
    if (access->faulted) {
        pmu_check_gp(cpu->check, &where, access->how, access->msr,
                     access->value);
    } else if (access->how == PMU_CHECK_WRMSR) {
        pmu_check_write(cpu->check, &where, access->msr, access->value);
        perfmon_wrmsr(&cpu->perfmon, access->msr, access->value);
    } else {
        learn(cpu, &where, access);
        pmu_check_read(cpu->check, &where, access->how, access->msr,
                       access->value);
    }
}

uint64_t replay_hits(const Replay *replay, const char *id)
{
    GHashTableIter iter;
    const PmuCheckHit *hit;
    uint64_t count = 0;
    void *data;

    g_hash_table_iter_init(&iter, replay->cpus);
    while (g_hash_table_iter_next(&iter, NULL, &data)) {
        const ReplayCpu *cpu = data;

        for (unsigned i = 0; (hit = pmu_check_hit(cpu->check, i)); i++) {
            if (!hit->suppressed &&
                (!id || g_str_equal(id, hit->rule->id))) {
                count += hit->count;
            }
        }
    }
    return count;
}

void replay_limit(PmuRuleSet *rules)
{
    const PmuCheckRule *rule;

    for (unsigned i = 0; (rule = pmu_check_rule(i)); i++) {
        if (!rule->offline) {
            rules->on &= ~(1ull << i);
        }
    }
}
