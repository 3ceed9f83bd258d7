/*
 * Helpers of the PMU tests: scripts for the payload, machines that run them,
 * and results.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include <glib/gstdio.h>
#include "qemu/bswap.h"

#include "machine.h"
#include "pmu-payload.h"

/*
 * Seconds after which a script counts as hanging.  On a busy host everything
 * takes several times as long.
 */
#define TIMEOUT_SECONDS 300

/* isa-debug-exit exits with twice the value that OP_EXIT writes, plus 1. */
#define EXIT_STATUS 1

PmuScript *pmu_script_new(void)
{
    return g_new0(PmuScript, 1);
}

void pmu_script_free(PmuScript *script)
{
    g_free(script);
}

unsigned pmu_op(PmuScript *script, uint32_t code, uint32_t arg0,
                uint64_t a, uint64_t b)
{
    unsigned index = script->num_ops[script->cpu]++;

    /* The last operation is OP_END. */
    g_assert_cmpuint(index, <, PMU_MAX_OPS - 1);
    script->op[script->cpu][index] = (PayloadOp) { code, arg0, a, b };
    return index;
}

unsigned pmu_rdmsr(PmuScript *script, uint32_t msr)
{
    return pmu_op(script, OP_RDMSR, msr, 0, 0);
}

unsigned pmu_wrmsr(PmuScript *script, uint32_t msr, uint64_t value)
{
    return pmu_op(script, OP_WRMSR, msr, value, 0);
}

unsigned pmu_rdpmc(PmuScript *script, uint32_t ecx)
{
    return pmu_op(script, OP_RDPMC, ecx, RDPMC_CPL0, 0);
}

void pmu_poke32(PmuScript *script, uint64_t address, uint32_t value)
{
    pmu_op(script, OP_POKE32, 0, address, value);
}

void pmu_poke_code(PmuScript *script, uint64_t address, const uint8_t *bytes,
                   unsigned length)
{
    for (unsigned i = 0; i < length; i += 4) {
        uint8_t word[4] = { 0xc3, 0xc3, 0xc3, 0xc3 };

        memcpy(word, bytes + i, MIN(length - i, 4));
        pmu_poke32(script, address + i, ldl_le_p(word));
    }
}

void pmu_handle_by_steps(PmuScript *script, const PayloadStep *steps,
                         unsigned count)
{
    for (unsigned i = 0; i <= count; i++) {
        uint64_t address = PAYLOAD_STEPS + i * sizeof(PayloadStep);
        PayloadStep step = i < count ? steps[i] : (PayloadStep) { STEP_END };

        pmu_poke32(script, address, step.code);
        pmu_poke32(script, address + 4, step.target);
        pmu_op(script, OP_POKE64, 0, address + 8, step.value);
    }
    pmu_op(script, OP_STEPS, 0, 0, 0);
}

void pmu_set(PmuScript *script, uint64_t offset, uint64_t value)
{
    pmu_op(script, OP_POKE64, 0, PAYLOAD_PROGRESS +
           script->cpu * PAYLOAD_PROGRESS_STRIDE + offset, value);
}

static void write_file(const char *dir, const char *name, const void *data,
                       size_t size)
{
    g_autofree char *path = g_build_filename(dir, name, NULL);
    g_autoptr(GError) err = NULL;

    g_file_set_contents(path, data, size, &err);
    g_assert_no_error(err);
}

void pmu_prepare(PmuMachine *machine, const PmuScript *script)
{
    g_autoptr(GError) err = NULL;
    GString *args = g_string_new(NULL);

    machine->qts = NULL;
    machine->dir = g_dir_make_tmp("qtest-pmu-XXXXXX", &err);
    g_assert_no_error(err);
    write_file(machine->dir, "bios", pmu_payload, sizeof(pmu_payload));
    g_string_printf(args, "-nodefaults -m %d -bios %s/bios ",
                    PAYLOAD_MEMORY_MB, machine->dir);
    for (unsigned cpu = 0; cpu < PAYLOAD_CPUS; cpu++) {
        g_autofree char *name = g_strdup_printf("script%u", cpu);

        write_file(machine->dir, name, script->op[cpu],
                   (script->num_ops[cpu] + 1) * sizeof(PayloadOp));
        g_string_append_printf(args, "-device loader,file=%s/%s,addr=0x%x,"
                               "force-raw=on ", machine->dir, name,
                               PAYLOAD_SCRIPT + cpu * PAYLOAD_SCRIPT_STRIDE);
    }
    machine->args = g_string_free(args, false);
}

void pmu_remove(PmuMachine *machine)
{
    GDir *dir = g_dir_open(machine->dir, 0, NULL);
    const char *name;

    while (dir && (name = g_dir_read_name(dir))) {
        g_autofree char *path = g_build_filename(machine->dir, name, NULL);

        g_unlink(path);
    }
    g_dir_close(dir);
    g_rmdir(machine->dir);
    g_free(machine->dir);
    g_free(machine->args);
}

void pmu_start(PmuMachine *machine, const PmuScript *script,
               const char *args)
{
    pmu_prepare(machine, script);
    machine->qts = qtest_initf("%s %s -accel tcg", machine->args, args);
}

static uint64_t read_progress(PmuMachine *machine, unsigned cpu,
                              uint64_t offset)
{
    return qtest_readq(machine->qts, PAYLOAD_PROGRESS +
                       cpu * PAYLOAD_PROGRESS_STRIDE + offset);
}

static G_NORETURN void stuck(PmuMachine *machine, unsigned cpu)
{
    g_error("CPU %u of the payload is stuck: operation %" PRIu64
            ", done %" PRIu64 ", fault vector %" PRIu64
            " error 0x%" PRIx64 " at 0x%" PRIx64, cpu,
            read_progress(machine, cpu, PROGRESS_NEXT) - 1,
            read_progress(machine, cpu, PROGRESS_DONE),
            read_progress(machine, cpu, PROGRESS_FAULT_VECTOR),
            read_progress(machine, cpu, PROGRESS_FAULT_ERROR),
            read_progress(machine, cpu, PROGRESS_FAULT_RIP));
}

/*
 * Poll until field @offset of @cpu is at least @value, for @seconds at most.
 * Returns whether it is.  The test fails if the payload does.
 */
static bool poll_progress(PmuMachine *machine, unsigned cpu, uint64_t offset,
                          uint64_t value, unsigned seconds)
{
    int64_t end = g_get_monotonic_time() + seconds * G_USEC_PER_SEC;
    bool late = false;

    for (;;) {
        bool failed = read_progress(machine, cpu, PROGRESS_DONE) > DONE_OK;

        if (!failed && read_progress(machine, cpu, offset) >= value) {
            return true;
        }
        if (failed) {
            stuck(machine, cpu);
        }
        if (late) {
            return false;
        }
        g_usleep(1000);
        late = g_get_monotonic_time() > end;
    }
}

static void wait_progress(PmuMachine *machine, unsigned cpu, uint64_t offset,
                          uint64_t value)
{
    if (!poll_progress(machine, cpu, offset, value, TIMEOUT_SECONDS)) {
        stuck(machine, cpu);
    }
}

bool pmu_done_within(PmuMachine *machine, unsigned cpu, unsigned seconds)
{
    return poll_progress(machine, cpu, PROGRESS_DONE, DONE_OK, seconds);
}

void pmu_wait_for(PmuMachine *machine, uint64_t number)
{
    wait_progress(machine, 0, PROGRESS_WAITING, number);
}

void pmu_go(PmuMachine *machine, uint64_t number)
{
    qtest_writeq(machine->qts, PAYLOAD_PROGRESS + PROGRESS_GO, number);
}

void pmu_wait_done(PmuMachine *machine, unsigned cpus)
{
    for (unsigned cpu = 0; cpu < cpus; cpu++) {
        wait_progress(machine, cpu, PROGRESS_DONE, DONE_OK);
    }
}

void pmu_read_results(PmuMachine *machine, PmuScript *script, unsigned cpus)
{
    for (unsigned cpu = 0; cpu < cpus; cpu++) {
        PayloadProgress *progress = &script->progress[cpu];
        uint64_t events;

        qtest_memread(machine->qts, PAYLOAD_RESULTS +
                      cpu * PAYLOAD_RESULTS_STRIDE, script->result[cpu],
                      script->num_ops[cpu] * sizeof(PayloadResult));
        qtest_memread(machine->qts, PAYLOAD_PROGRESS +
                      cpu * PAYLOAD_PROGRESS_STRIDE, progress,
                      sizeof(*progress));
        g_assert_cmpuint(progress->done, ==, DONE_OK);
        events = MIN(progress->events, PAYLOAD_LOG_ENTRIES);
        if (events) {
            qtest_memread(machine->qts, PAYLOAD_LOG + cpu * PAYLOAD_LOG_STRIDE,
                          script->event[cpu], events * sizeof(PayloadEvent));
        }
    }
}

/* End QEMU.  qtest_quit() alone would sleep for longer than that takes. */
static void end_qemu(QTestState *qts)
{
    siginfo_t info;

    kill(qtest_pid(qts), SIGTERM);
    waitid(P_PID, qtest_pid(qts), &info, WEXITED | WNOWAIT);
}

void pmu_stop(PmuMachine *machine)
{
    end_qemu(machine->qts);
    qtest_quit(machine->qts);
    pmu_remove(machine);
}

void pmu_migrate(PmuMachine *machine, const char *uri)
{
    qtest_qmp_assert_success(machine->qts, "{'execute': 'migrate',"
                             " 'arguments': {'uri': %s}}", uri);
    for (;;) {
        QDict *info = qtest_qmp_assert_success_ref(
            machine->qts, "{'execute': 'query-migrate'}");
        const char *status = qdict_get_str(info, "status");
        bool completed = g_str_equal(status, "completed");

        g_assert_cmpstr(status, !=, "failed");
        qobject_unref(info);
        if (completed) {
            return;
        }
        g_usleep(1000);
    }
}

void pmu_wait_running(PmuMachine *machine)
{
    bool running;

    do {
        QDict *info = qtest_qmp_assert_success_ref(
            machine->qts, "{'execute': 'query-status'}");

        running = qdict_get_bool(info, "running");
        qobject_unref(info);
        g_usleep(1000);
    } while (!running);
}

char *pmu_start_and_quit(const char *args, int *status)
{
    g_autofree char *command = g_strdup_printf(
        "echo quit | exec %s -machine pc -nodefaults -display none -S "
        "-monitor stdio %s -accel tcg", getenv("QTEST_QEMU_BINARY"), args);
    const char *argv[] = { "/bin/sh", "-c", command, NULL };
    g_autoptr(GError) err = NULL;
    char *output = NULL;
    int wait_status;

    g_spawn_sync(NULL, (char **)argv, NULL, G_SPAWN_STDOUT_TO_DEV_NULL, NULL,
                 NULL, NULL, &output, &wait_status, &err);
    g_assert_no_error(err);
    g_test_message("%s: %s", args, output);
    g_assert_true(WIFEXITED(wait_status));
    *status = WEXITSTATUS(wait_status);
    return output;
}

void pmu_run(PmuScript *script, const char *args)
{
    PmuMachine machine;

    pmu_start(&machine, script, args);
    pmu_wait_done(&machine, 1);
    pmu_read_results(&machine, script, 1);
    pmu_stop(&machine);
}

/* Wait for process @pid.  Returns its exit status, or -1: it was killed. */
static int wait_process(GPid pid)
{
    int64_t end = g_get_monotonic_time() + TIMEOUT_SECONDS * G_USEC_PER_SEC;
    pid_t ended;
    int status;

    do {
        g_usleep(1000);
        ended = waitpid(pid, &status, WNOHANG);
        g_assert_cmpint(ended, >=, 0);
        if (g_get_monotonic_time() > end) {
            kill(pid, SIGKILL);
            waitpid(pid, &status, 0);
            return -1;
        }
    } while (!ended);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

GBytes *pmu_run_prepared(const PmuMachine *machine, const char *args)
{
    g_autofree char *dump = g_build_filename(machine->dir, "dump", NULL);
    g_autofree char *command = g_strdup_printf(
        "%s %s -display none -audio none -debugcon file:%s "
        "-global isa-debugcon.iobase=0x%x "
        "-device isa-debug-exit,iobase=0x%x,iosize=4 %s -accel tcg",
        getenv("QTEST_QEMU_BINARY"), machine->args, dump, PAYLOAD_PORT_DUMP,
        PAYLOAD_PORT_EXIT, args);
    g_auto(GStrv) argv = NULL;
    g_autoptr(GError) err = NULL;
    char *contents;
    size_t length;
    GPid pid;
    int status;

    g_unlink(dump);
    g_test_message("starting QEMU: %s", command);
    g_shell_parse_argv(command, NULL, &argv, &err);
    g_assert_no_error(err);
    g_spawn_async(NULL, argv, NULL,
                  G_SPAWN_DO_NOT_REAP_CHILD | G_SPAWN_SEARCH_PATH, NULL, NULL,
                  &pid, &err);
    g_assert_no_error(err);
    status = wait_process(pid);
    g_spawn_close_pid(pid);
    if (status == EXIT_SUCCESS && strstr(args, "rr=replay")) {
        /* A replay's log has the shutdown that ends it, but no exit status. */
        status = EXIT_STATUS;
    }
    if (status != EXIT_STATUS) {
        pmu_expect(status, EXIT_STATUS, "exit status of QEMU");
        return NULL;
    }
    g_file_get_contents(dump, &contents, &length, &err);
    g_assert_no_error(err);
    return g_bytes_new_take(contents, length);
}

GBytes *pmu_run_alone(const PmuScript *script, const char *args)
{
    PmuMachine machine;
    GBytes *dump;

    pmu_prepare(&machine, script);
    dump = pmu_run_prepared(&machine, args);
    pmu_remove(&machine);
    return dump;
}

void pmu_expect(uint64_t actual, uint64_t expected, const char *what, ...)
{
    g_autofree char *text = NULL;
    va_list ap;

    if (actual == expected) {
        return;
    }
    va_start(ap, what);
    text = g_strdup_vprintf(what, ap);
    va_end(ap);
    g_test_message("%s: got 0x%" PRIx64 " (%" PRIu64 "), "
                   "expected 0x%" PRIx64 " (%" PRIu64 ")",
                   text, actual, actual, expected, expected);
    g_test_fail();
}

uint64_t pmu_value(const PmuScript *script, unsigned index)
{
    g_assert_cmpuint(pmu_vector(script, index), ==, VECTOR_NONE);
    return script->result[script->cpu][index].value[0];
}

unsigned pmu_vector(const PmuScript *script, unsigned index)
{
    return script->result[script->cpu][index].vector;
}

uint64_t pmu_register(const PmuScript *script, unsigned index)
{
    const PayloadResult *result = &script->result[script->cpu][index];

    g_assert_cmpuint(pmu_vector(script, index), ==, VECTOR_NONE);
    /* RDMSR and RDPMC clear the upper halves of both registers. */
    g_assert_cmphex(result->value[0] >> 32, ==, 0);
    g_assert_cmphex(result->value[1] >> 32, ==, 0);
    return result->value[0] | result->value[1] << 32;
}
