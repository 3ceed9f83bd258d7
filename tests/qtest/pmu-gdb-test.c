/*
 * Test that a debugger steps one instruction at a time while the PMU counts.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Before an overflow, QEMU runs a block of exactly the instructions that are
 * left.  A debugger that stops the machine right before such a block must still
 * be able to step one instruction.  Breakpoints take no virtual time.
 */

#include "qemu/osdep.h"
#include <sys/socket.h>
#include <sys/un.h>

#include "pmu/machine.h"

#define PERIOD          50
/* Steps that the test takes, and most stops to find places for them. */
#define STEPS           20
#define STOPS           40000

/* IMUL %rax, %rax in BLOCK_MULTIPLY. */
#define IMULS           16
#define IMUL_BYTES      4
/* Offset of the first one, after the MOV with which the block begins. */
#define IMUL_FIRST      3

/* A connection to QEMU's gdbstub: "Remote Protocol" in GDB's manual. */
typedef struct Gdb {
    FILE *in;
    int fd;
} Gdb;

static Gdb gdb_connect(const char *path)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    g_strlcpy(address.sun_path, path, sizeof(address.sun_path));
    g_assert_cmpint(connect(fd, (struct sockaddr *)&address,
                            sizeof(address)), ==, 0);
    return (Gdb) { .fd = fd, .in = fdopen(dup(fd), "r") };
}

static void gdb_close(Gdb *gdb)
{
    fclose(gdb->in);
    close(gdb->fd);
}

static void gdb_write(Gdb *gdb, const char *bytes, size_t length)
{
    g_assert_cmpint(send(gdb->fd, bytes, length, 0), ==, length);
}

static void gdb_send(Gdb *gdb, const char *packet)
{
    g_autofree char *framed = NULL;
    uint8_t sum = 0;

    for (const char *c = packet; *c; c++) {
        sum += *c;
    }
    framed = g_strdup_printf("$%s#%02x", packet, sum);
    gdb_write(gdb, framed, strlen(framed));
}

/* Receive and acknowledge the next packet from QEMU.  The caller frees. */
static char *gdb_receive(Gdb *gdb)
{
    GString *packet = g_string_new(NULL);
    int c;

    while ((c = getc(gdb->in)) != '$') {
        g_assert_cmpint(c, !=, EOF);
    }
    while ((c = getc(gdb->in)) != '#') {
        g_assert_cmpint(c, !=, EOF);
        g_string_append_c(packet, c);
    }
    getc(gdb->in);
    getc(gdb->in);
    gdb_write(gdb, "+", 1);
    return g_string_free(packet, false);
}

/* Wait for the reply that the machine has stopped. */
static void gdb_wait_stop(Gdb *gdb)
{
    g_autofree char *reply = gdb_receive(gdb);

    g_assert_true(reply[0] == 'T' || reply[0] == 'S');
}

static uint64_t gdb_rip(Gdb *gdb)
{
    g_autofree char *reply = NULL;
    uint64_t rip;

    gdb_send(gdb, "g");
    reply = gdb_receive(gdb);
    /* RIP follows 16 registers of 16 digits; bytes are in memory order. */
    g_assert_cmpuint(strlen(reply), >, 17 * 16);
    reply[17 * 16] = 0;
    rip = g_ascii_strtoull(reply + 16 * 16, NULL, 16);
    return GUINT64_SWAP_LE_BE(rip);
}

static PmuScript *make_script(unsigned *block)
{
    const uint64_t value = (0 - (uint64_t)PERIOD) & COUNTER_MASK;
    PmuScript *s = pmu_script_new();

    pmu_wrmsr(s, MSR_GLOBAL_CTRL, 0);
    pmu_wrmsr(s, MSR_FIXED_CTR_CTRL, FIXED_USR(0) | FIXED_PMI(0));
    pmu_wrmsr(s, MSR_FIXED_CTR(0), value);
    pmu_set(s, PROGRESS_ACTION, PMI_RELOAD);
    pmu_set(s, PROGRESS_MSR, MSR_FIXED_CTR(0));
    pmu_set(s, PROGRESS_RELOAD, value);
    pmu_set(s, PROGRESS_ENABLE, GLOBAL_FIXED(0));
    pmu_set(s, PROGRESS_LVTPC, LVT_NMI);
    pmu_poke32(s, APIC_LVTPC, LVT_NMI);
    *block = pmu_op(s, OP_BLOCK, BLOCK_MULTIPLY, 0, 0);
    /* The block runs for longer than the test. */
    pmu_op(s, OP_RUN, BLOCK_MULTIPLY | RUN_CPL3, GLOBAL_FIXED(0), 1ull << 40);
    return s;
}

/* Wait until OP_BLOCK has run.  Returns the address of the block. */
static uint64_t wait_block(PmuMachine *machine, unsigned block)
{
    uint64_t address;

    do {
        g_usleep(1000);
        address = qtest_readq(machine->qts, PAYLOAD_RESULTS +
                              block * sizeof(PayloadResult) +
                              offsetof(PayloadResult, value));
    } while (!address);
    return address;
}

/*
 * Stop the machine anywhere, step, and check how far that went.  Returns
 * whether it stopped in the block.
 */
static bool step(Gdb *gdb, uint64_t block)
{
    uint64_t before, after;

    gdb_send(gdb, "c");
    g_usleep(200 + g_test_rand_int_range(0, 300));
    gdb_write(gdb, "\3", 1);
    gdb_wait_stop(gdb);
    before = gdb_rip(gdb);
    if (before < block + IMUL_FIRST ||
        before >= block + IMUL_FIRST + IMULS * IMUL_BYTES) {
        return false;
    }
    gdb_send(gdb, "s");
    gdb_wait_stop(gdb);
    after = gdb_rip(gdb);
    if (after < block || after >= block + 0x100) {
        return false;           /* the step took an interrupt of the PMU */
    }
    pmu_expect(after - before, IMUL_BYTES, "bytes that a step went");
    return true;
}

/*
 * Run @s until its OP_BLOCK number @block has run, and stop it.  Returns the
 * address of the block.
 */
static uint64_t start_and_stop(PmuMachine *machine, Gdb *gdb,
                               const PmuScript *s, const char *args,
                               unsigned block)
{
    g_autofree char *path = NULL, *all = NULL, *dir = NULL;
    g_autoptr(GError) err = NULL;
    uint64_t address;

    dir = g_dir_make_tmp("qtest-pmu-XXXXXX", &err);
    g_assert_no_error(err);
    path = g_strdup_printf("%s/gdb", dir);
    all = g_strdup_printf("%s -gdb unix:%s,server=on,wait=off", args, path);
    pmu_start(machine, s, all);
    address = wait_block(machine, block);
    *gdb = gdb_connect(path);
    gdb_send(gdb, "?");
    gdb_wait_stop(gdb);
    unlink(path);
    rmdir(dir);
    return address;
}

static void test_step(void)
{
    PmuMachine machine;
    g_autoptr(PmuScript) s = NULL;
    unsigned block, stepped = 0, stops;
    uint64_t address;
    Gdb gdb;

    s = make_script(&block);
    address = start_and_stop(&machine, &gdb, s, PMU_CPU_METRICS, block);
    /* How many stops are in the block depends on the host's speed. */
    for (stops = 0; stepped < STEPS && stops < STOPS && !g_test_failed();
         stops++) {
        stepped += step(&gdb, address);
    }
    g_test_message("%u of %u stops were in the block", stepped, stops);
    if (!g_test_failed()) {
        g_assert_cmpuint(stepped, ==, STEPS);
    }
    gdb_close(&gdb);
    pmu_stop(&machine);
}

#define HITS            40

/* Ticks of the TSC to the next timer, which counts 2.8 of them per unit. */
#define TIMER           1000000
#define TIMER_TICKS     2800000

/* Send @format with @address, and wait for the answer OK. */
static void gdb_set(Gdb *gdb, const char *format, uint64_t address)
{
    g_autofree char *packet = g_strdup_printf(format, address), *reply = NULL;

    gdb_send(gdb, packet);
    reply = gdb_receive(gdb);
    g_assert_cmpstr(reply, ==, "OK");
}

/* Time does not jump to the next timer while the machine is stopped. */
static void test_breakpoint(void)
{
    g_autoptr(PmuScript) s = pmu_script_new();
    unsigned block = pmu_op(s, OP_BLOCK, BLOCK_LOOP, 0, 0), before, after;
    PmuMachine machine;
    uint64_t address;
    Gdb gdb;

    pmu_op(s, OP_SYNC, 0, 1, 0);
    pmu_poke32(s, APIC_TIMER_DIVIDE, 0xb);
    pmu_poke32(s, APIC_LVT_TIMER, VECTOR_TIMER);
    pmu_poke32(s, APIC_TIMER_INITIAL, TIMER);
    before = pmu_op(s, OP_RDTSC, 0, 0, 0);
    pmu_op(s, OP_RUN, BLOCK_LOOP, 0, 2 * HITS);
    after = pmu_op(s, OP_RDTSC, 0, 0, 0);
    address = start_and_stop(&machine, &gdb, s,
                             PMU_CPU_METRICS "-icount shift=model", block) +
              LOOP_DEC;
    gdb_set(&gdb, "Z0,%" PRIx64 ",1", address);
    pmu_go(&machine, 1);
    for (int i = 0; i < HITS; i++) {
        gdb_send(&gdb, "c");
        gdb_wait_stop(&gdb);
    }
    gdb_set(&gdb, "z0,%" PRIx64 ",1", address);
    gdb_send(&gdb, "c");
    pmu_wait_done(&machine, 1);
    pmu_read_results(&machine, s, 1);
    g_assert_cmpuint(pmu_value(s, after) - pmu_value(s, before), <,
                     TIMER_TICKS);
    gdb_close(&gdb);
    pmu_stop(&machine);
}

/* Cycles of a loop of one cycle an iteration, and most besides. */
#define CYCLES          100000
#define SURROUNDS       4000

/*
 * While GDB keeps CPU 1 stopped in the middle of a loop, CPU 0 halts.  When it
 * goes on, its time is that behind the jump, and the clock moves on.
 */
static void test_partial(void)
{
    g_autoptr(PmuScript) s = pmu_script_new();
    unsigned block, before, after;
    PmuMachine machine;
    uint64_t ticks;
    Gdb gdb;

    pmu_op(s, OP_START_CPU, 0, 1, 0);
    /* Let CPU 1 begin its loop. */
    pmu_op(s, OP_RUN, BLOCK_LOOP, 0, 500000);
    block = pmu_op(s, OP_BLOCK, BLOCK_LOOP, 0, 0);
    pmu_op(s, OP_SYNC, 0, 1, 0);
    pmu_poke32(s, APIC_TIMER_DIVIDE, 0xb);
    pmu_poke32(s, APIC_LVT_TIMER, VECTOR_TIMER);
    pmu_poke32(s, APIC_TIMER_INITIAL, TIMER);
    pmu_op(s, OP_RUN, BLOCK_HLT, 0, 0);
    before = pmu_op(s, OP_RDTSC, 0, 0, 0);
    pmu_op(s, OP_RUN, BLOCK_LOOP, 0, CYCLES);
    after = pmu_op(s, OP_RDTSC, 0, 0, 0);
    s->cpu = 1;
    pmu_op(s, OP_RUN, BLOCK_LOOP, 0, 1ull << 40);
    s->cpu = 0;
    start_and_stop(&machine, &gdb, s, PMU_CPU_METRICS
                   "-smp 2 -icount shift=model -accel tcg,thread=single",
                   block);
    pmu_go(&machine, 1);
    gdb_send(&gdb, "vCont;c:p1.1");
    pmu_wait_done(&machine, 1);
    pmu_read_results(&machine, s, 1);
    ticks = pmu_value(s, after) - pmu_value(s, before);
    g_assert_cmpuint(ticks, >=, CYCLES);
    g_assert_cmpuint(ticks, <=, CYCLES + SURROUNDS);
    gdb_close(&gdb);
    pmu_stop(&machine);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    if (!qtest_has_accel("tcg")) {
        g_test_skip("No TCG accelerator");
        return 0;
    }
    qtest_add_func("pmu/gdb/step", test_step);
    qtest_add_func("pmu/gdb/breakpoint", test_breakpoint);
    qtest_add_func("pmu/gdb/partial", test_partial);
    return g_test_run();
}
