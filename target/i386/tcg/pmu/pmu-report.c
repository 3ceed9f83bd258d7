/*
 * What happens with hits of the checker: messages, events, and one report for
 * all vCPUs.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Everything here runs under the BQL, which x86_pmu_report_hit() takes: it is
 * rare that a rule is broken for the first time at an address.
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/qapi-events-pmu-target.h"
#include "qemu-version.h"
#include "qemu/error-report.h"
#include "qemu/main-loop.h"
#include "qobject/qdict.h"
#include "qobject/qjson.h"
#include "qobject/qlist.h"
#include "qobject/qstring.h"
#include "system/runstate.h"
#include "system/system.h"
#include "pmu-observe.h"
#include "trace.h"

/* Exit status of QEMU with pmu-check=exit, if a rule was broken. */
#define EXIT_BROKEN 3

/* The last steps of the driver that a message shows. */
#define MESSAGE_STEPS 8
/* The same in the report for each address, of which there can be thousands. */
#define REPORT_STEPS 32

/* The first time that a rule was broken at an address, on any vCPU. */
typedef struct X86PMUSite {
    const PmuCheckRule *rule;
    uint64_t rip;
    uint64_t others;            /* times it was broken on vCPUs now gone */
    QDict *dict;                /* as in the report, but without "count" */
} X86PMUSite;

struct X86PMUReport {
    GPtrArray *observers;       /* of X86PMUObserver */
    GPtrArray *sites;           /* of X86PMUSite, oldest first */
    PmuSymbols *symbols;        /* of @map; NULL: no file */
    PmuSuppressions *suppressions;      /* of @suppress; NULL: no file */
    char *file;                 /* name of the report's file; NULL: none */
    char *suppress, *map;       /* names of files; NULL: none */
    uint64_t interrupts[PMU_CHECK_MASKED + 1];  /* of vCPUs that are gone */
    GHashTable *accesses;       /* X86PMUAccesses by MSR, of these vCPUs */
    Notifier exit;
};

const PmuSuppressions *x86_pmu_report_suppressions(const X86PMUReport *report)
{
    return report->suppressions;
}

static char *x86_pmu_hex(uint64_t value)
{
    return g_strdup_printf("0x%" PRIx64, value);
}

static void x86_pmu_put_hex(QDict *dict, const char *key, uint64_t value)
{
    g_autofree char *text = x86_pmu_hex(value);

    qdict_put_str(dict, key, text);
}

/* The last @steps steps of the driver as texts; all if there are fewer. */
static QList *x86_pmu_history_list(const X86PMUObserver *observer,
                                   unsigned steps)
{
    QList *list = qlist_new();
    unsigned count = observer->recorder
                     ? pmu_recorder_count(observer->recorder) : 0;

    for (unsigned i = count - MIN(count, steps); i < count; i++) {
        g_autofree char *text = pmu_recorder_text(
            pmu_recorder_get(observer->recorder, i));

        qlist_append_str(list, text);
    }
    return list;
}

static QDict *x86_pmu_site_dict(const X86PMUObserver *observer,
                                const PmuCheckHit *hit)
{
    const X86PMUReport *report = observer->report;
    g_autofree char *symbol = report->symbols
        ? pmu_symbols_name(report->symbols, hit->where.rip) : NULL;
    QDict *dict = qdict_new();

    qdict_put_int(dict, "cpu", env_cpu(observer->env)->cpu_index);
    x86_pmu_put_hex(dict, "rip", hit->where.rip);
    if (symbol) {
        qdict_put_str(dict, "symbol", symbol);
    }
    qdict_put_int(dict, "cpl", hit->where.cpl);
    x86_pmu_put_hex(dict, "cr3", hit->where.cr3);
    qdict_put_int(dict, "clock", x86_pmu_clock(env_cpu(observer->env)));
    if (hit->msr) {
        g_autofree char *name = pmu_register_name(&perfmon_map_architectural,
                                                   hit->msr);

        qdict_put_str(dict, "register", name);
    }
    x86_pmu_put_hex(dict, "value", hit->value);
    x86_pmu_put_hex(dict, "counters", hit->counters);
    if (hit->suppressed) {
        qdict_put_str(dict, "suppressed", hit->suppressed);
    }
    qdict_put(dict, "history", x86_pmu_history_list(observer, REPORT_STEPS));
    return dict;
}

/* The site of @hit; NULL: there is none yet. */
static X86PMUSite *x86_pmu_find_site(const X86PMUReport *report,
                                     const PmuCheckHit *hit)
{
    for (unsigned i = 0; i < report->sites->len; i++) {
        X86PMUSite *site = g_ptr_array_index(report->sites, i);

        if (site->rule == hit->rule && site->rip == hit->where.rip) {
            return site;
        }
    }
    return NULL;
}

static void x86_pmu_free_site(void *data)
{
    X86PMUSite *site = data;

    qobject_unref(site->dict);
    g_free(site);
}

static void x86_pmu_log_hit(X86PMUObserver *observer, const PmuCheckHit *hit,
                            const QDict *dict)
{
    const char *symbol = qdict_get_try_str(dict, "symbol");
    const char *name = qdict_get_try_str(dict, "register");
    g_autoptr(QList) history = x86_pmu_history_list(observer, MESSAGE_STEPS);
    const QListEntry *entry;

    warn_report("x86 PMU: %s (%s): %s: CPU %" PRId64 " at 0x%" PRIx64
                "%s%s%s, CPL %u, CR3 0x%" PRIx64 ", %s 0x%" PRIx64
                ", counters 0x%" PRIx64, hit->rule->id,
                pmu_check_severity_name(hit->rule->severity), hit->rule->text,
                qdict_get_int(dict, "cpu"), hit->where.rip,
                symbol ? " (" : "", symbol ?: "", symbol ? ")" : "",
                hit->where.cpl, hit->where.cr3, name ?: "value", hit->value,
                hit->counters);
    QLIST_FOREACH_ENTRY(history, entry) {
        error_printf("    %s\n",
                     qstring_get_str(qobject_to(QString,
                                                qlist_entry_obj(entry))));
    }
}

static void x86_pmu_send_hit(X86PMUObserver *observer, const PmuCheckHit *hit,
                             const QDict *dict)
{
    const char *symbol = qdict_get_try_str(dict, "symbol");
    g_autoptr(QList) history = x86_pmu_history_list(observer, UINT_MAX);
    strList *list = NULL, **tail = &list;
    const QListEntry *entry;

    QLIST_FOREACH_ENTRY(history, entry) {
        const QString *text = qobject_to(QString, qlist_entry_obj(entry));

        QAPI_LIST_APPEND(tail, g_strdup(qstring_get_str(text)));
    }
    qapi_event_send_x86_pmu_check(env_cpu(observer->env)->cpu_index,
                                  hit->rule->id,
                                  pmu_check_severity_name(hit->rule->severity),
                                  hit->rule->text, hit->where.rip, symbol,
                                  hit->where.cr3, hit->where.cpl,
                                  qdict_get_int(dict, "clock"),
                                  hit->counters, list);
    qapi_free_strList(list);
}

/* Do what pmu-check= says. */
static void x86_pmu_act(X86PMUObserver *observer, const PmuCheckHit *hit,
                        const QDict *dict)
{
    switch (observer->mode) {
    case X86_PMU_CHECK_EVENT:
        x86_pmu_send_hit(observer, hit, dict);
        return;
    case X86_PMU_CHECK_STOP:
        x86_pmu_log_hit(observer, hit, dict);
        x86_pmu_send_hit(observer, hit, dict);
        vm_stop(RUN_STATE_DEBUG);
        return;
    case X86_PMU_CHECK_EXIT:
        x86_pmu_log_hit(observer, hit, dict);
        qemu_system_shutdown_request_with_code(SHUTDOWN_CAUSE_HOST_ERROR,
                                               EXIT_BROKEN);
        return;
    default:
        x86_pmu_log_hit(observer, hit, dict);
    }
}

static void x86_pmu_add_hit(X86PMUObserver *observer, const PmuCheckHit *hit)
{
    X86PMUReport *report = observer->report;
    X86PMUSite *site;

    if (x86_pmu_find_site(report, hit)) {
        return;
    }
    site = g_new0(X86PMUSite, 1);
    site->rule = hit->rule;
    site->rip = hit->where.rip;
    site->dict = x86_pmu_site_dict(observer, hit);
    g_ptr_array_add(report->sites, site);
    if (!hit->suppressed) {
        x86_pmu_act(observer, hit, site->dict);
    }
}

void x86_pmu_report_hit(void *opaque, const PmuCheckHit *hit)
{
    X86PMUObserver *observer = opaque;
    bool locked = bql_locked();

    trace_x86_pmu_check(env_cpu(observer->env)->cpu_index, hit->rule->id,
                        pmu_check_severity_name(hit->rule->severity),
                        hit->where.rip, x86_pmu_clock(env_cpu(observer->env)));
    if (!locked) {
        bql_lock();
    }
    x86_pmu_add_hit(observer, hit);
    if (!locked) {
        bql_unlock();
    }
}

/* How often the rule of @site was broken there, on all vCPUs. */
static uint64_t x86_pmu_site_count(const X86PMUReport *report,
                                   const X86PMUSite *site)
{
    uint64_t count = site->others;

    for (unsigned i = 0; i < report->observers->len; i++) {
        const X86PMUObserver *observer =
            g_ptr_array_index(report->observers, i);
        const PmuCheckHit *hit;

        for (unsigned j = 0; (hit = pmu_check_hit(observer->check, j)); j++) {
            if (hit->rule == site->rule && hit->where.rip == site->rip) {
                count += hit->count;
            }
        }
    }
    return count;
}

static QDict *x86_pmu_rule_dict(const X86PMUReport *report,
                                const PmuCheckRule *rule)
{
    QDict *dict = qdict_new();
    QList *sites = qlist_new();
    uint64_t hits = 0, suppressed = 0;

    for (unsigned i = 0; i < report->sites->len; i++) {
        X86PMUSite *site = g_ptr_array_index(report->sites, i);
        uint64_t count;
        QDict *copy;

        if (site->rule != rule) {
            continue;
        }
        count = x86_pmu_site_count(report, site);
        if (qdict_haskey(site->dict, "suppressed")) {
            suppressed += count;
        } else {
            hits += count;
        }
        copy = qdict_clone_shallow(site->dict);
        qdict_put_int(copy, "count", count);
        qlist_append(sites, copy);
    }
    qdict_put_str(dict, "rule", rule->id);
    qdict_put_str(dict, "severity", pmu_check_severity_name(rule->severity));
    qdict_put_str(dict, "text", rule->text);
    qdict_put_int(dict, "hits", hits);
    qdict_put_int(dict, "suppressed", suppressed);
    qdict_put(dict, "sites", sites);
    return dict;
}

/* Add the counts in @from to those in @to.  Both are X86PMUAccesses by MSR. */
static void x86_pmu_sum_accesses(GHashTable *to, GHashTable *from)
{
    GHashTableIter iter;
    void *msr, *value;

    g_hash_table_iter_init(&iter, from);
    while (g_hash_table_iter_next(&iter, &msr, &value)) {
        const X86PMUAccesses *more = value;
        X86PMUAccesses *sum = g_hash_table_lookup(to, msr);

        if (!sum) {
            sum = g_new0(X86PMUAccesses, 1);
            g_hash_table_insert(to, msr, sum);
        }
        for (int i = 0; i < ARRAY_SIZE(sum->count); i++) {
            sum->count[i] += more->count[i];
        }
        sum->faults += more->faults;
    }
}

static QDict *x86_pmu_accesses_dict(const X86PMUReport *report)
{
    g_autoptr(GHashTable) sum = g_hash_table_new_full(NULL, NULL, NULL,
                                                      g_free);
    QDict *dict = qdict_new();
    GHashTableIter iter;
    void *msr, *value;

    x86_pmu_sum_accesses(sum, report->accesses);
    for (unsigned i = 0; i < report->observers->len; i++) {
        X86PMUObserver *observer = g_ptr_array_index(report->observers, i);

        x86_pmu_sum_accesses(sum, observer->accesses);
    }
    g_hash_table_iter_init(&iter, sum);
    while (g_hash_table_iter_next(&iter, &msr, &value)) {
        const X86PMUAccesses *accesses = value;
        g_autofree char *name = pmu_register_name(&perfmon_map_architectural,
                                                  GPOINTER_TO_UINT(msr));
        QDict *one = qdict_new();

        qdict_put_int(one, "rdmsr", accesses->count[PMU_CHECK_RDMSR]);
        qdict_put_int(one, "wrmsr", accesses->count[PMU_CHECK_WRMSR]);
        qdict_put_int(one, "rdpmc", accesses->count[PMU_CHECK_RDPMC]);
        qdict_put_int(one, "gp", accesses->faults);
        qdict_put(dict, name, one);
    }
    return dict;
}

static QDict *x86_pmu_interrupts_dict(const X86PMUReport *report)
{
    QDict *dict = qdict_new();

    for (int i = 0; i < ARRAY_SIZE(report->interrupts); i++) {
        uint64_t count = report->interrupts[i];

        for (unsigned j = 0; j < report->observers->len; j++) {
            const X86PMUObserver *observer =
                g_ptr_array_index(report->observers, j);

            count += observer->interrupts[i];
        }
        qdict_put_int(dict, pmu_recorder_outcome_name(i), count);
    }
    return dict;
}

/* QEMU's command line, if the host has /proc; its arguments end in NUL. */
static QList *x86_pmu_command_line(void)
{
    QList *list = qlist_new();
    g_autofree char *text = NULL;
    size_t length = 0;

    if (!g_file_get_contents("/proc/self/cmdline", &text, &length, NULL)) {
        return list;
    }
    for (const char *arg = text; arg < text + length; arg += strlen(arg) + 1) {
        qlist_append_str(list, arg);
    }
    return list;
}

static QDict *x86_pmu_report_dict(const X86PMUReport *report)
{
    QDict *dict = qdict_new();
    QList *rules = qlist_new();
    const PmuCheckRule *rule;

    for (unsigned i = 0; (rule = pmu_check_rule(i)); i++) {
        qlist_append(rules, x86_pmu_rule_dict(report, rule));
    }
    qdict_put_str(dict, "version", QEMU_FULL_VERSION);
    qdict_put(dict, "command-line", x86_pmu_command_line());
    qdict_put_str(dict, "clock-unit", x86_pmu_clock_unit());
    qdict_put(dict, "rules", rules);
    qdict_put(dict, "accesses", x86_pmu_accesses_dict(report));
    qdict_put(dict, "interrupts", x86_pmu_interrupts_dict(report));
    return dict;
}

static void x86_pmu_write_report(Notifier *notifier, void *data)
{
    X86PMUReport *report = container_of(notifier, X86PMUReport, exit);
    g_autoptr(QDict) dict = x86_pmu_report_dict(report);
    g_autoptr(GString) text = qobject_to_json_pretty(QOBJECT(dict), true);
    g_autoptr(GError) err = NULL;

    g_string_append_c(text, '\n');
    if (!g_file_set_contents(report->file, text->str, text->len, &err)) {
        error_report("pmu-check-report=%s: %s", report->file, err->message);
    }
}

/*
 * Read @file, the value of property @name.  NULL and @errp set if that fails.
 */
static char *x86_pmu_read_file(const char *name, const char *file,
                               Error **errp)
{
    g_autoptr(GError) err = NULL;
    char *text;

    if (!g_file_get_contents(file, &text, NULL, &err)) {
        error_setg(errp, "%s=%s: %s", name, file, err->message);
        return NULL;
    }
    return text;
}

static bool x86_pmu_read_map(X86PMUReport *report, Error **errp)
{
    g_autofree char *text = NULL;

    if (!report->map) {
        return true;
    }
    text = x86_pmu_read_file("pmu-check-map", report->map, errp);
    if (!text) {
        return false;
    }
    report->symbols = pmu_symbols_new(text);
    if (!pmu_symbols_count(report->symbols)) {
        error_setg(errp, "pmu-check-map=%s: there is no symbol in it, as in "
                   "\"ffffffff81000000 T _text\"", report->map);
        return false;
    }
    return true;
}

static bool x86_pmu_read_suppressions(X86PMUReport *report, Error **errp)
{
    g_autofree char *text = NULL, *why = NULL;

    if (!report->suppress) {
        return true;
    }
    text = x86_pmu_read_file("pmu-check-suppress", report->suppress, errp);
    if (!text) {
        return false;
    }
    report->suppressions = pmu_suppressions_new(report->suppress, text,
                                                report->symbols, &why);
    if (!report->suppressions) {
        error_setg(errp, "pmu-check-suppress: %s", why);
        return false;
    }
    return true;
}

/*
 * Can the report be written when QEMU exits?  Tried with another file, as
 * g_file_set_contents() makes one too, so that @file stays as it is until then.
 */
static bool x86_pmu_try_report(const char *file, Error **errp)
{
    g_autofree char *trial = g_strdup_printf("%s.XXXXXX", file ?: "");
    int fd;

    if (!file) {
        return true;
    }
    if (!*file || g_file_test(file, G_FILE_TEST_IS_DIR)) {
        error_setg(errp, "pmu-check-report=%s: it must be the name of a file",
                   file);
        return false;
    }
    fd = g_mkstemp(trial);
    if (fd < 0) {
        error_setg_errno(errp, errno, "pmu-check-report=%s: no file can be "
                         "created there", file);
        return false;
    }
    close(fd);
    unlink(trial);
    return true;
}

static void x86_pmu_report_free(X86PMUReport *report)
{
    if (report->exit.notify) {
        qemu_remove_exit_notifier(&report->exit);
    }
    g_ptr_array_unref(report->observers);
    g_ptr_array_unref(report->sites);
    g_hash_table_unref(report->accesses);
    pmu_suppressions_free(report->suppressions);
    pmu_symbols_free(report->symbols);
    g_free(report->file);
    g_free(report->suppress);
    g_free(report->map);
    g_free(report);
}

static X86PMUReport *x86_pmu_report_new(const X86PMUObserverOptions *options,
                                        Error **errp)
{
    X86PMUReport *report = g_new0(X86PMUReport, 1);

    report->observers = g_ptr_array_new();
    report->sites = g_ptr_array_new_with_free_func(x86_pmu_free_site);
    report->accesses = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    report->file = g_strdup(options->report);
    report->suppress = g_strdup(options->suppress);
    report->map = g_strdup(options->map);
    if (!x86_pmu_read_map(report, errp) ||
        !x86_pmu_read_suppressions(report, errp) ||
        !x86_pmu_try_report(report->file, errp)) {
        x86_pmu_report_free(report);
        return NULL;
    }
    if (report->file) {
        report->exit.notify = x86_pmu_write_report;
        qemu_add_exit_notifier(&report->exit);
    }
    return report;
}

/* The report of another vCPU; NULL: no other vCPU has one. */
static X86PMUReport *x86_pmu_report_of_others(const X86PMUObserver *self)
{
    CPUState *cs;

    CPU_FOREACH(cs) {
        X86PMU *unit = cpu_env(cs)->pmu.unit;

        if (unit && unit->observer && unit->observer != self &&
            unit->observer->report) {
            return unit->observer->report;
        }
    }
    return NULL;
}

bool x86_pmu_report_join(X86PMUObserver *observer,
                         const X86PMUObserverOptions *options, Error **errp)
{
    X86PMUReport *report = x86_pmu_report_of_others(observer);

    if (!report) {
        report = x86_pmu_report_new(options, errp);
    } else if (g_strcmp0(report->file, options->report) ||
               g_strcmp0(report->suppress, options->suppress) ||
               g_strcmp0(report->map, options->map)) {
        error_setg(errp, "pmu-check-report, pmu-check-suppress and "
                   "pmu-check-map must be the same for all vCPUs");
        return false;
    }
    if (!report) {
        return false;
    }
    observer->report = report;
    g_ptr_array_add(report->observers, observer);
    return true;
}

void x86_pmu_report_leave(X86PMUObserver *observer)
{
    X86PMUReport *report = observer->report;
    const PmuCheckHit *hit;

    if (!report) {
        return;
    }
    for (unsigned i = 0; observer->check &&
         (hit = pmu_check_hit(observer->check, i)); i++) {
        x86_pmu_find_site(report, hit)->others += hit->count;
    }
    for (int i = 0; i < ARRAY_SIZE(report->interrupts); i++) {
        report->interrupts[i] += observer->interrupts[i];
    }
    x86_pmu_sum_accesses(report->accesses, observer->accesses);
    g_ptr_array_remove(report->observers, observer);
    observer->report = NULL;
    if (!report->observers->len) {
        x86_pmu_report_free(report);
    }
}
