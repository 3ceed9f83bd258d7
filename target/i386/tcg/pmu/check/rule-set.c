/*
 * The list of all rules, and sets of rules that are on.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>
#include <string.h>

#include "tcg/pmu/check/rule-set.h"
#include "tcg/pmu/check/rules-counters.h"
#include "tcg/pmu/check/rules-metrics.h"
#include "tcg/pmu/check/rules-overflow.h"

#define SEVERITY "severity>="

/* Letters of severities, in the order of PmuCheckSeverity. */
static const char *const severity_letters = "ULWS";

const PmuCheckRule *pmu_check_rule(unsigned index)
{
    static const PmuCheckRule *const tables[] = {
        pmu_check_metrics_rules, pmu_check_overflow_rules,
        pmu_check_counter_rules,
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(tables); i++) {
        for (const PmuCheckRule *rule = tables[i]; rule->id; rule++) {
            if (!index--) {
                return rule;
            }
        }
    }
    return NULL;
}

const char *pmu_check_severity_name(PmuCheckSeverity severity)
{
    static const char *const names[PMU_CHECK_SEVERITIES] = {
        "undefined", "loss", "waste", "suspicious",
    };

    return names[severity];
}

PmuRuleSet pmu_rule_set_default(void)
{
    PmuRuleSet set = {};
    const PmuCheckRule *rule;

    for (unsigned i = 0; (rule = pmu_check_rule(i)); i++) {
        set.on |= (uint64_t)!rule->off << i;
    }
    return set;
}

bool pmu_rule_set_has(const PmuRuleSet *set, unsigned index)
{
    return set->on >> index & 1;
}

/* A bit for each rule with @id, which may be "all"; 0 if there is none. */
static uint64_t rules_named(const char *id)
{
    const PmuCheckRule *rule;
    uint64_t set = 0;

    for (unsigned i = 0; (rule = pmu_check_rule(i)); i++) {
        if (g_str_equal(id, "all") || g_ascii_strcasecmp(id, rule->id) == 0) {
            set |= 1ull << i;
        }
    }
    return set;
}

/* Switch off rules less severe than @letter.  False if no severity has it. */
static bool limit_severity(PmuRuleSet *set, const char *letter)
{
    const char *found = strlen(letter) == 1
        ? strchr(severity_letters, g_ascii_toupper(*letter)) : NULL;
    const PmuCheckRule *rule;

    if (!found) {
        return false;
    }
    for (unsigned i = 0; (rule = pmu_check_rule(i)); i++) {
        if (rule->severity > found - severity_letters) {
            set->on &= ~(1ull << i);
        }
    }
    return true;
}

static bool change_one(PmuRuleSet *set, const char *text)
{
    uint64_t rules;

    if (g_str_has_prefix(text, SEVERITY)) {
        return limit_severity(set, text + strlen(SEVERITY));
    }
    if (*text != '+' && *text != '-') {
        return false;
    }
    rules = rules_named(text + 1);
    set->on = *text == '+' ? set->on | rules : set->on & ~rules;
    return rules;
}

char *pmu_rule_set_change(PmuRuleSet *set, const char *text)
{
    g_auto(GStrv) parts = g_strsplit_set(text, ":,", -1);
    PmuRuleSet changed = *set;

    for (unsigned i = 0; parts[i]; i++) {
        if (!change_one(&changed, parts[i])) {
            return g_strdup_printf("'%s' is none of +RULE, -RULE, +all, -all "
                                   "and severity>=U, L, W or S, where RULE is "
                                   "M1 to M11, O1 to O6, P1 to P9, C1 to C16 "
                                   "or L1 to L4", parts[i]);
        }
    }
    *set = changed;
    return NULL;
}
