/*
 * Suppressions: hits of rules that the user knows of, each with its reason.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>
#include <string.h>

#include "tcg/pmu/check/recorder.h"
#include "tcg/pmu/check/rule-set.h"
#include "tcg/pmu/check/suppressions.h"

typedef struct Suppression {
    char *rule;
    char *name;                 /* of the accessed register; NULL: any */
    uint64_t first, end;        /* of the code; equal: no address */
    char *reason;
} Suppression;

struct PmuSuppressions {
    GArray *list;               /* of Suppression */
};

static void clear_suppression(void *data)
{
    Suppression *suppression = data;

    g_free(suppression->rule);
    g_free(suppression->name);
    g_free(suppression->reason);
}

static bool rule_exists(const char *id)
{
    const PmuCheckRule *rule;

    for (unsigned i = 0; (rule = pmu_check_rule(i)); i++) {
        if (g_str_equal(rule->id, id)) {
            return true;
        }
    }
    return false;
}

/* Set the addresses of @suppression.  Returns what is wrong, or NULL. */
static const char *take_place(Suppression *suppression, const char *place,
                              const PmuSymbols *symbols)
{
    char *end;

    if (g_str_equal(place, "*")) {
        suppression->first = 0;
        suppression->end = UINT64_MAX;
        return NULL;
    }
    if (g_str_has_prefix(place, "0x")) {
        suppression->first = g_ascii_strtoull(place, &end, 16);
        suppression->end = suppression->first + 1;
        return *end ? "is no address" : NULL;
    }
    if (!symbols) {
        return "is a function, but there is no pmu-check-map to find it in";
    }
    if (!pmu_symbols_find(symbols, place, &suppression->first,
                          &suppression->end)) {
        suppression->first = suppression->end = 0;
    }
    return NULL;
}

/* Return the next word, which the caller frees, and move *@line past it. */
static char *take_word(const char **line)
{
    size_t length = strcspn(*line, " \t");
    char *word = g_strndup(*line, length);

    *line += length;
    *line += strspn(*line, " \t");
    return word;
}

static char *add_line(PmuSuppressions *suppressions, const char *line,
                      const PmuSymbols *symbols)
{
    g_autofree char *what = take_word(&line);
    g_autofree char *place = take_word(&line);
    g_auto(GStrv) parts = g_strsplit(what, ":", 2);
    Suppression suppression = {};
    const char *wrong;

    if (!parts[0] || !rule_exists(parts[0])) {
        return g_strdup_printf("there is no rule '%s'", what);
    }
    if (!*place || !*line) {
        return g_strdup("a line is RULE PLACE REASON");
    }
    wrong = take_place(&suppression, place, symbols);
    if (wrong) {
        return g_strdup_printf("'%s' %s", place, wrong);
    }
    suppression.rule = g_strdup(parts[0]);
    suppression.name = g_strdup(parts[1]);
    suppression.reason = g_strdup(line);
    g_array_append_val(suppressions->list, suppression);
    return NULL;
}

PmuSuppressions *pmu_suppressions_new(const char *file, const char *text,
                                      const PmuSymbols *symbols, char **why)
{
    PmuSuppressions *suppressions = g_new0(PmuSuppressions, 1);
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

    suppressions->list = g_array_new(false, false, sizeof(Suppression));
    g_array_set_clear_func(suppressions->list, clear_suppression);
    for (unsigned i = 0; lines[i]; i++) {
        const char *line = g_strstrip(lines[i]);
        g_autofree char *wrong = NULL;

        if (*line && *line != '#') {
            wrong = add_line(suppressions, line, symbols);
        }
        if (wrong) {
            *why = g_strdup_printf("%s:%u: %s", file, i + 1, wrong);
            pmu_suppressions_free(suppressions);
            return NULL;
        }
    }
    return suppressions;
}

void pmu_suppressions_free(PmuSuppressions *suppressions)
{
    if (suppressions) {
        g_array_unref(suppressions->list);
        g_free(suppressions);
    }
}

const char *pmu_suppressions_find(const PmuSuppressions *suppressions,
                                  const char *rule, uint64_t rip,
                                  uint32_t msr)
{
    g_autofree char *name = pmu_register_name(&perfmon_map_architectural,
                                               msr);

    for (unsigned i = 0; i < suppressions->list->len; i++) {
        const Suppression *s = &g_array_index(suppressions->list, Suppression,
                                              i);

        if (g_str_equal(s->rule, rule) && rip >= s->first && rip < s->end &&
            (!s->name || g_str_equal(s->name, name))) {
            return s->reason;
        }
    }
    return NULL;
}
