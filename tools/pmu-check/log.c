/*
 * Parser of logs: one line becomes one access to a register.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "log.h"
#include "tcg/pmu/check/recorder.h"

/* Returns the number after " @key " in @text, in C notation; 0: none. */
static uint64_t field(const char *text, const char *key)
{
    g_autofree char *pattern = g_strdup_printf(" %s ", key);
    const char *found = strstr(text, pattern);

    return found ? g_ascii_strtoull(found + strlen(pattern), NULL, 0) : 0;
}

static bool parse_traced(const char *line, LogAccess *access)
{
    static const struct {
        const char *name, *msr;
        PmuCheckAccess how;
        bool faulted;
    } events[] = {
        { "x86_pmu_rdmsr cpu", "msr", PMU_CHECK_RDMSR, false },
        { "x86_pmu_wrmsr cpu", "msr", PMU_CHECK_WRMSR, false },
        { "x86_pmu_rdpmc cpu", "ecx", PMU_CHECK_RDPMC, false },
        { "x86_pmu_gp cpu", "msr", PMU_CHECK_RDMSR, true },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(events); i++) {
        const char *text = strstr(line, events[i].name);

        if (!text) {
            continue;
        }
        *access = (LogAccess) {
            .cpu = field(text, "cpu"),
            .how = events[i].how,
            .msr = field(text, events[i].msr),
            .value = field(text, "value"),
            .faulted = events[i].faulted,
            .rip = field(text, "rip"),
            .cpl = field(text, "cpl"),
        };
        if (access->faulted && field(text, "write")) {
            access->how = PMU_CHECK_WRMSR;
        }
        return true;
    }
    return false;
}

/* Parse "[001]  12.345678:", which stands between @line and @end. */
static void parse_cpu_and_time(const char *line, const char *end,
                               LogAccess *access)
{
    const char *cpu = g_strstr_len(line, end - line, "[");
    double seconds;

    if (cpu && sscanf(cpu, "[%u] %lf:", &access->cpu, &seconds) == 2 &&
        seconds >= 0 && seconds < 1e12) {
        access->microseconds = seconds * 1e6;
    }
}

static bool parse_perf(const char *line, LogAccess *access)
{
    static const struct {
        const char *name;
        PmuCheckAccess how;
    } events[] = {
        { "msr:read_msr:", PMU_CHECK_RDMSR },
        { "msr:write_msr:", PMU_CHECK_WRMSR },
        { "msr:rdpmc:", PMU_CHECK_RDPMC },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(events); i++) {
        const char *text = strstr(line, events[i].name);
        LogAccess found = { .how = events[i].how };

        if (text &&
            sscanf(text + strlen(events[i].name), "%" SCNx32 ", value %"
                   SCNx64, &found.msr, &found.value) == 2) {
            found.faulted = strstr(text, "#GP");
            parse_cpu_and_time(line, text, &found);
            *access = found;
            return true;
        }
    }
    return false;
}

bool log_parse(const char *line, LogAccess *access)
{
    if (!parse_traced(line, access) && !parse_perf(line, access)) {
        return false;
    }
    if (access->how == PMU_CHECK_RDPMC && pmu_rdpmc_msr(access->msr)) {
        access->msr = pmu_rdpmc_msr(access->msr);
    }
    return true;
}
