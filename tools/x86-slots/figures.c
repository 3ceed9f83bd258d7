/*
 * x86-slots: changing and listing the figures of the modelled core.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <errno.h>
#include <string.h>

#include "figures.h"
#include "code.h"
#include "tcg/pmu/uarch/uarch-params.h"

/* If @why is not NULL, make it the @error, free it and return false. */
static bool check(char *why, GError **error)
{
    if (!why) {
        return true;
    }
    g_set_error(error, SLOTS_ERROR, SLOTS_ERROR_USAGE, "--set: %s", why);
    g_free(why);
    return false;
}

/* Returns log2 of the factor that suffix @end of a size means; -1: invalid. */
static int suffix_shift(const char *end)
{
    static const char suffixes[] = "KMG";
    const char *suffix = strchr(suffixes, g_ascii_toupper(*end));

    if (!*end) {
        return 0;
    }
    return suffix && !end[1] ? 10 * (suffix - suffixes + 1) : -1;
}

/* Parse @text as a number for @param, without a check of its range. */
static bool parse(const PmuUarchParam *param, const char *text,
                  int64_t *value)
{
    char *end;
    int shift;

    errno = 0;
    *value = g_ascii_strtoll(text, &end, 10);
    shift = param->is_size ? suffix_shift(end) : *end ? -1 : 0;
    if (end == text || errno || shift < 0) {
        return false;
    }
    *value = CLAMP(*value, -(1ll << 32), 1ll << 32) * (1ll << shift);
    return true;
}

static bool set_figure(PmuUarch *uarch, const char *setting, GError **error)
{
    g_auto(GStrv) pair = g_strsplit(setting, "=", 2);
    const PmuUarchParam *param;
    g_autofree char *expected = NULL;
    int64_t value;

    if (g_strv_length(pair) != 2) {
        return check(g_strdup_printf("\"%s\" is not NAME=VALUE", setting),
                     error);
    }
    param = pmu_uarch_param(pair[0]);
    if (!param) {
        return check(g_strdup_printf("there is no figure \"%s\" (--figures "
                                     "lists them)", pair[0]), error);
    }
    if (!parse(param, pair[1], &value)) {
        expected = pmu_uarch_expected(param, "");
        return check(g_strdup_printf("%s: %s", setting, expected), error);
    }
    return check(pmu_uarch_set(uarch, param, value, ""), error);
}

bool figures_set(PmuUarch *uarch, char *const *settings, GError **error)
{
    for (; settings && *settings; settings++) {
        if (!set_figure(uarch, *settings, error)) {
            return false;
        }
    }
    return check(pmu_uarch_check(uarch, ""), error);
}

char *figures_list(const PmuUarch *uarch)
{
    GString *out = g_string_new(NULL);

    g_string_printf(out, "%-22s %10s %17s  %s\n", "Figure", uarch->name,
                    "Range", "Meaning");
    for (unsigned i = 0; i < PMU_UARCH_PARAMS; i++) {
        const PmuUarchParam *param = &pmu_uarch_params[i];
        g_autofree char *range = g_strdup_printf("%u..%u", param->min,
                                                 param->max);
        g_autofree char *what = pmu_uarch_describe(param);

        g_string_append_printf(out, "%-22s %10u %17s  %s\n", param->name,
                               pmu_uarch_get(uarch, param), range, what);
    }
    return g_string_free(out, FALSE);
}
