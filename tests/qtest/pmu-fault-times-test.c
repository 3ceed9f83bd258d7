/*
 * Test of faults on demand: repeated faults, faults that stop the guest, and
 * migration.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A migration does not change when a fault fires next.
 */

#include "qemu/osdep.h"
#include <glib/gstdio.h>

#include "pmu/machine.h"
#include "qobject/qdict.h"
#include "qobject/qlist.h"

#define CPU     PMU_CPU_METRICS

/* An interrupt when the properties appended say; LVTPC is never masked. */
#define INTERRUPTS \
    CPU "-object pmu-fault,id=u,kind=no-automask,max=1000000 " \
        "-object pmu-fault,id=f,kind=spurious,max=1000000,"

#define ITERATIONS 100000
#define INTERRUPTS_MAX 1000

/* Where interrupts came: the instructions of BLOCK_LOOP before each. */
typedef struct Places {
    unsigned count;
    int64_t place[INTERRUPTS_MAX];
} Places;

/* Append a run of BLOCK_LOOP.  Returns the operation that has its address. */
static unsigned loop_script(PmuScript *s)
{
    unsigned block = pmu_op(s, OP_BLOCK, BLOCK_LOOP, 0, 0);

    pmu_poke32(s, APIC_LVTPC, LVT_NMI);
    pmu_op(s, OP_RUN, BLOCK_LOOP, 0, ITERATIONS);
    return block;
}

/* The loop is DEC RCX, JNZ; at JNZ, RCX is one less than at DEC. */
static void find_places(const PmuScript *s, uint64_t loop, Places *places)
{
    places->count = 0;
    for (unsigned i = 0; i < s->progress[0].events; i++) {
        const PayloadEvent *event = &s->event[0][i];
        uint64_t offset = event->rip - loop;

        if (offset != LOOP_DEC && offset != LOOP_JNZ) {
            continue;
        }
        g_assert_cmpuint(places->count, <, INTERRUPTS_MAX);
        places->place[places->count++] =
            2 * (ITERATIONS - (int64_t)event->rcx) - (offset == LOOP_JNZ);
    }
}

static void run_loop(const char *args, Places *places)
{
    g_autoptr(PmuScript) s = pmu_script_new();
    unsigned block = loop_script(s);

    pmu_run(s, args);
    find_places(s, pmu_value(s, block), places);
}

/* Find the least and greatest distance of interrupts, handler included. */
static void find_range(const Places *places, uint64_t *least, uint64_t *most)
{
    *least = UINT64_MAX;
    *most = 0;
    for (unsigned i = 1; i < places->count; i++) {
        uint64_t distance = places->place[i] - places->place[i - 1] +
                            INTERRUPT_INSNS;

        *least = MIN(*least, distance);
        *most = MAX(*most, distance);
    }
}

static void test_every(void)
{
    uint64_t least, most;
    Places places;

    run_loop(INTERRUPTS "every=1001", &places);
    g_test_message("%u, the first at %" PRId64, places.count, places.place[0]);
    pmu_expect(places.count, 2 * ITERATIONS / (1001 - INTERRUPT_INSNS) +
               (places.place[0] < 2 * ITERATIONS % (1001 - INTERRUPT_INSNS)),
               "interrupts");
    find_range(&places, &least, &most);
    pmu_expect(least, 1001, "the least distance");
    pmu_expect(most, 1001, "the most");
    /* insns= sets the first interrupt, every= the others. */
    run_loop(INTERRUPTS "insns=50000,every=1001", &places);
    find_range(&places, &least, &most);
    pmu_expect(places.place[0] > 10000, true, "the first");
    pmu_expect(least, 1001, "the least distance behind it");
}

/* 180 random distances from 900 to 1100: some are near each end. */
static void test_jitter(void)
{
    static const char *const args[] = { "", " -icount shift=0" };
    uint64_t least, most;
    Places places, again, other;

    for (int i = 0; i < ARRAY_SIZE(args); i++) {
        g_autofree char *seven = g_strdup_printf(
            INTERRUPTS "every=1000,jitter=100,seed=7%s", args[i]);
        g_autofree char *eight = g_strdup_printf(
            INTERRUPTS "every=1000,jitter=100,seed=8%s", args[i]);

        run_loop(seven, &places);
        pmu_expect(places.count >= 180, true, "%u interrupts", places.count);
        find_range(&places, &least, &most);
        g_assert_cmpuint(least, >=, 900);
        g_assert_cmpuint(least, <, 930);
        g_assert_cmpuint(most, <=, 1100);
        g_assert_cmpuint(most, >, 1070);
        run_loop(seven, &again);
        g_assert_cmpuint(again.count, ==, places.count);
        g_assert_cmpmem(places.place, places.count * sizeof(int64_t),
                        again.place, again.count * sizeof(int64_t));
        run_loop(eight, &other);
        g_assert_cmpint(memcmp(places.place, other.place,
                               180 * sizeof(int64_t)), !=, 0);
    }
}

/*
 * With access=, every= is one of several conditions: the fault fires once, and
 * again after as many instructions.
 */
static void test_every_and_others(void)
{
    g_autoptr(PmuScript) s = pmu_script_new();
    unsigned write[6];

    for (int i = 0; i < 6; i += 2) {
        write[i] = pmu_wrmsr(s, MSR_A_PMC(1), 1);
        write[i + 1] = pmu_wrmsr(s, MSR_A_PMC(1), 1);
        pmu_op(s, OP_RUN, BLOCK_LOOP, 0, 600000);
    }
    pmu_run(s, CPU "-object pmu-fault,id=f,kind=gp,access=0x4c2,rw=w,"
            "every=1000000,max=100");
    for (int i = 0; i < 6; i++) {
        pmu_expect(pmu_vector(s, write[i]),
                   i == 2 || i == 4 ? VECTOR_GP : VECTOR_NONE, "write %d", i);
    }
}

/* Wait until the guest has stopped, or has come in and is stopped. */
static void expect_stop(PmuMachine *machine)
{
    bool paused;

    do {
        QDict *info = qtest_qmp_assert_success_ref(
            machine->qts, "{'execute': 'query-status'}");

        paused = g_str_equal(qdict_get_str(info, "status"), "paused");
        qobject_unref(info);
        g_usleep(1000);
    } while (!paused);
}

/* The guest stops between two writes: it has done the first one only. */
static void test_stop(void)
{
    g_autoptr(PmuScript) s = pmu_script_new();
    PmuMachine machine;
    g_autofree char *text = NULL;
    unsigned value;

    pmu_wrmsr(s, MSR_FIXED_CTR(3), 0x1234567);
    pmu_wrmsr(s, MSR_FIXED_CTR(2), 0x7654321);
    value = pmu_rdmsr(s, MSR_FIXED_CTR(2));
    pmu_start(&machine, s, CPU "-object pmu-fault,id=f,kind=stop,access=0x30c");
    expect_stop(&machine);
    text = qtest_hmp(machine.qts, "info pmu");
    g_assert_nonnull(strstr(text, " 0000000001234567"));
    g_assert_null(strstr(text, "7654321"));
    qtest_qmp_assert_success(machine.qts, "{ 'execute': 'cont' }");
    pmu_wait_done(&machine, 1);
    pmu_read_results(&machine, s, 1);
    pmu_expect(pmu_register(s, value), 0x7654321, "the other register");
    pmu_stop(&machine);
}

/* INIT masks LVTPC and restarts the vCPU; the script goes on. */
static void test_init(void)
{
    static const char *const when[] = {
        "access=0x18b", "insns=100000", "insns=100000 -icount shift=0",
    };

    for (int i = 0; i < ARRAY_SIZE(when); i++) {
        g_autofree char *args = g_strdup_printf(
            CPU "-object pmu-fault,id=f,kind=init,%s", when[i]);
        g_autoptr(PmuScript) s = pmu_script_new();
        unsigned before, behind, value;

        pmu_wrmsr(s, MSR_A_PMC(2), 77);
        pmu_poke32(s, APIC_LVTPC, LVT_NMI);
        before = pmu_op(s, OP_PEEK32, 0, APIC_LVTPC, 0);
        pmu_wrmsr(s, MSR_EVTSEL(5), 0);
        pmu_op(s, OP_RUN, BLOCK_LOOP, 0, ITERATIONS);
        behind = pmu_op(s, OP_PEEK32, 0, APIC_LVTPC, 0);
        value = pmu_rdmsr(s, MSR_A_PMC(2));
        pmu_run(s, args);
        pmu_expect(pmu_value(s, before), LVT_NMI, "LVTPC before %s", when[i]);
        pmu_expect(pmu_value(s, behind), LVT_MASKED, "LVTPC behind %s",
                   when[i]);
        pmu_expect(pmu_register(s, value), 77, "a counter behind %s", when[i]);
    }
}

/* The guest stops once; before and after that, there are faults of @args. */
#define STOPPED(args) \
    INTERRUPTS args " -object pmu-fault,id=s,kind=stop,insns=83456 "

/* Continue the guest, wait for the script's end, and read the results. */
static void finish(PmuMachine *machine, PmuScript *s)
{
    qtest_qmp_assert_success(machine->qts, "{ 'execute': 'cont' }");
    pmu_wait_done(machine, 1);
    pmu_read_results(machine, s, 1);
}

static char *temporary_file(void)
{
    g_autoptr(GError) err = NULL;
    char *file;
    int fd = g_file_open_tmp("qtest-pmu-fault-XXXXXX", &file, &err);

    g_assert_no_error(err);
    close(fd);
    return file;
}

/* Run @s, which stops once; if @migrated, migrate it there. */
static void run_migrated(PmuScript *s, const char *args, bool migrated)
{
    g_autoptr(PmuScript) idle = pmu_script_new();
    g_autofree char *file = temporary_file();
    g_autofree char *uri = g_strdup_printf("file:%s", file);
    g_autofree char *incoming = g_strdup_printf("%s -incoming %s", args, uri);
    PmuMachine from, to;

    pmu_start(&from, s, args);
    expect_stop(&from);
    if (!migrated) {
        finish(&from, s);
        pmu_stop(&from);
    } else {
        pmu_migrate(&from, uri);
        pmu_stop(&from);
        pmu_start(&to, idle, incoming);
        expect_stop(&to);
        finish(&to, s);
        pmu_stop(&to);
    }
    g_unlink(file);
}

/* With a migration, the same interrupts come at the same instructions. */
static void test_migration(void)
{
    static const char *const all[] = {
        STOPPED("every=1000,jitter=100,seed=5"),
        STOPPED("insns=2001"),
        STOPPED("every=1000,jitter=100") "-icount shift=0",
        /* The guest stops while an interrupt is late. */
        CPU "-object pmu-fault,id=f,kind=spurious,insns=80000 "
            "-object pmu-fault,id=l,kind=late,by=40000 "
            "-object pmu-fault,id=s,kind=stop,insns=83456",
        /* The fault is due at the instruction where the guest stops. */
        STOPPED("insns=83456"),
    };

    for (int i = 0; i < ARRAY_SIZE(all); i++) {
        Places places[2];

        for (int migrated = 0; migrated < 2; migrated++) {
            g_autoptr(PmuScript) s = pmu_script_new();
            unsigned block = loop_script(s);

            run_migrated(s, all[i], migrated);
            find_places(s, pmu_value(s, block), &places[migrated]);
        }
        g_test_message("%s: %u interrupts", all[i], places[0].count);
        g_assert_cmpuint(places[0].count, >, 0);
        g_assert_cmpuint(places[0].count, ==, places[1].count);
        g_assert_cmpmem(places[0].place, places[0].count * sizeof(int64_t),
                        places[1].place, places[1].count * sizeof(int64_t));
    }
}

/* A still counter stays still, and nth= goes on, across a migration. */
static void test_migration_of_state(void)
{
    static const char args[] =
        CPU "-object pmu-fault,id=a,kind=still,counter=pmc0,access=0x18a "
        "-object pmu-fault,id=b,kind=gp,access=0x4c2,rw=w,nth=3 "
        "-object pmu-fault,id=s,kind=stop,access=0x18b";
    g_autoptr(PmuScript) s = pmu_script_new();
    unsigned value, write[3];

    pmu_wrmsr(s, MSR_GLOBAL_CTRL, 0);
    pmu_wrmsr(s, MSR_A_PMC(0), 5);
    pmu_wrmsr(s, MSR_EVTSEL(0), EVENT_INSTRUCTIONS | EVTSEL_OS | EVTSEL_EN);
    pmu_wrmsr(s, MSR_EVTSEL(4), 0);
    write[0] = pmu_wrmsr(s, MSR_A_PMC(1), 1);
    write[1] = pmu_wrmsr(s, MSR_A_PMC(1), 1);
    pmu_wrmsr(s, MSR_EVTSEL(5), 0);
    write[2] = pmu_wrmsr(s, MSR_A_PMC(1), 1);
    pmu_op(s, OP_RUN, BLOCK_NOPS, 1, 0);
    value = pmu_rdmsr(s, MSR_A_PMC(0));
    run_migrated(s, args, true);
    pmu_expect(pmu_vector(s, write[1]), VECTOR_NONE, "vector before");
    pmu_expect(pmu_vector(s, write[2]), VECTOR_GP, "vector behind");
    pmu_expect(pmu_register(s, value), 5, "the still counter");
}

/* In @file, replace @bytes bytes that occur once. */
static void replace_in_file(const char *file, const char *from, const char *to,
                            size_t bytes)
{
    g_autofree char *content = NULL;
    size_t size;
    char *at;

    g_assert_true(g_file_get_contents(file, &content, &size, NULL));
    at = memmem(content, size, from, bytes);
    g_assert_nonnull(at);
    g_assert_null(memmem(at + 1, content + size - at - 1, from, bytes));
    memcpy(at, to, bytes);
    g_assert_true(g_file_set_contents(file, content, size, NULL));
}

/*
 * Migrate a machine with fault @id, which is called @as in the stream, to a
 * side without a fault.  Returns what QEMU says when it refuses that.
 */
static char *refused_migration(const char *id, const char *as)
{
    g_autofree char *file = temporary_file();
    g_autofree char *uri = g_strdup_printf("file:%s", file);
    g_autoptr(PmuScript) s = pmu_script_new(), idle = pmu_script_new();
    g_autofree char *command = NULL, *args = NULL;
    g_autoptr(GError) err = NULL;
    PmuMachine from, to;
    char *output = NULL;
    int status;

    args = g_strdup_printf(CPU "-object pmu-fault,id=%s,kind=stop,access=0x18b",
                           id);
    pmu_wrmsr(s, MSR_EVTSEL(5), 0);
    pmu_start(&from, s, args);
    expect_stop(&from);
    pmu_migrate(&from, uri);
    pmu_stop(&from);
    if (as) {
        replace_in_file(file, id, as, strlen(id) + 1);
    }
    pmu_prepare(&to, idle);
    command = g_strdup_printf("%s %s -accel tcg -display none " CPU
                              "-incoming %s", getenv("QTEST_QEMU_BINARY"),
                              to.args, uri);
    g_spawn_command_line_sync(command, NULL, &output, &status, &err);
    g_assert_no_error(err);
    g_assert_cmpint(status, !=, 0);
    pmu_remove(&to);
    g_unlink(file);
    return output;
}

/* QEMU refuses a migration to a side without the pmu-fault object. */
static void test_migration_refused(void)
{
    g_autofree char *output = refused_migration("s", NULL);

    g_test_message("%s", output);
    g_assert_nonnull(strstr(output,
                            "there is no pmu-fault 's' on this side"));
}

/* QEMU does not print a name that no object can have, as a terminal obeys. */
static void test_migration_of_name(void)
{
    g_autofree char *output = refused_migration("stopnow", "\x1b]0;hi\a");

    g_assert_nonnull(strstr(output, "a pmu-fault has no valid name"));
    g_assert_null(strchr(output, 27));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    if (!qtest_has_accel("tcg")) {
        g_test_skip("No TCG accelerator");
        return 0;
    }
    qtest_add_func("pmu/fault/every", test_every);
    qtest_add_func("pmu/fault/jitter", test_jitter);
    qtest_add_func("pmu/fault/every-and-others", test_every_and_others);
    qtest_add_func("pmu/fault/stop", test_stop);
    qtest_add_func("pmu/fault/init", test_init);
    qtest_add_func("pmu/fault/migration", test_migration);
    qtest_add_func("pmu/fault/migration-of-state", test_migration_of_state);
    qtest_add_func("pmu/fault/migration-refused", test_migration_refused);
    qtest_add_func("pmu/fault/migration-of-name", test_migration_of_name);
    return g_test_run();
}
