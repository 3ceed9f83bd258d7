/*
 * Test migration, reset and unplugging of intel-dsa, its speed, and random
 * accesses to it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include <glib/gstdio.h>
#include "qemu/bswap.h"
#include "qobject/qdict.h"
#include "intel-dsa/machine.h"

/* Copies of 1 MiB in a measurement of throughput, and measurements */
#define COPIES          32
#define MIB             (1 << 20)
#define MEASUREMENTS    9

/* Random accesses; $INTEL_DSA_FUZZ_SECONDS makes the test go on longer. */
#define FUZZ_ROUNDS     40000

/* Migration streams with random bytes that test_streams() loads */
#define STREAMS         20

/* Wait for the migration to end.  Returns whether it completed. */
static bool migration_ends(QTestState *qts)
{
    for (;;) {
        QDict *reply = qtest_qmp(qts, "{ 'execute': 'query-migrate' }");
        QDict *result = qdict_get_qdict(reply, "return");
        g_autofree char *status = g_strdup(
            qdict_get_try_str(result, "status"));

        qobject_unref(reply);
        if (!g_strcmp0(status, "completed")) {
            return true;
        } else if (!g_strcmp0(status, "failed")) {
            return false;
        }
        g_usleep(10000);
    }
}

/* Stop @from and save it to a file, whose name the caller frees. */
static char *save(QTestState *from)
{
    g_autofree char *uri = NULL;
    g_autoptr(GError) error = NULL;
    char *path;
    int fd = g_file_open_tmp("intel-dsa-XXXXXX", &path, &error);

    g_assert_no_error(error);
    close(fd);
    uri = g_strdup_printf("file:%s", path);
    qtest_qmp_assert_success(from, "{ 'execute': 'stop' }");
    qtest_qmp_assert_success(from, "{ 'execute': 'migrate', "
                             "'arguments': { 'uri': %s } }", uri);
    g_assert_true(migration_ends(from));
    return path;
}

/* Start another QEMU and let it load @path.  Returns NULL if it refuses. */
static QTestState *load(const char *path)
{
    g_autofree char *uri = g_strdup_printf("file:%s", path);
    QTestState *to = qtest_init("-machine pc -m 128M -nodefaults -device "
                                "intel-dsa,id=dsa,addr=4 -incoming defer");

    qtest_qmp_assert_success(to, "{ 'execute': 'migrate-incoming', "
                             "'arguments': { 'uri': %s, "
                             "'exit-on-error': false } }", uri);
    if (!migration_ends(to)) {
        qtest_quit(to);
        return NULL;
    }
    return to;
}

/* Migrate @from to another QEMU, through a file. */
static QTestState *migrate(QTestState *from)
{
    int64_t now = qtest_clock_step(from, 1);
    g_autofree char *path = save(from);
    QTestState *to;

    qtest_quit(from);
    to = load(path);
    g_assert_nonnull(to);
    /* QEMU migrates virtual time, but not qtest's clock. */
    qtest_clock_set(to, now);
    qtest_qmp_assert_success(to, "{ 'execute': 'cont' }");
    g_unlink(path);
    return to;
}

/* Migrate during copies, a batch and a CRC, while a counter counts. */
static void test_migration(void)
{
    QTestState *qts = dsa_ready("");
    const uint32_t size = 1 << 20;
    g_autofree uint8_t *data = dsa_random(qts, SOURCE, size);
    DsaDesc crc = dsa_desc(DSA_OP_CRC, 0, SOURCE, 0, size);
    DsaDesc copy = dsa_desc(DSA_OP_MEMMOVE, 1, SOURCE, DESTINATION, size);
    DsaDesc batch = dsa_desc(DSA_OP_BATCH, 2, DESC_LIST, 0, 20);
    DsaDesc list[20];
    DsaRecord want;

    want = dsa_run(qts, &crc);
    g_assert_cmphex(want.status, ==, DSA_STATUS_SUCCESS);
    qtest_memset(qts, RECORDS, 0, 32 * 32);
    for (unsigned i = 0; i < 20; i++) {
        list[i] = dsa_desc(DSA_OP_FILL, 3 + i, i, DESTINATION2 + i * 100000,
                           100000);
    }
    qtest_memwrite(qts, DESC_LIST, list, sizeof(list));
    dsa_writeq(qts, DSA_PERFMON_BASE + DSA_CNTRCFG,
               0x10ull << 32 | 4 << 8 | 1);
    dsa_submit(qts, 0, &crc);
    dsa_submit(qts, 0, &copy);
    dsa_submit(qts, 0, &batch);
    for (unsigned i = 0; i < 3; i++) {
        qtest_clock_step(qts, 30000);
        qts = migrate(qts);
    }
    g_assert_cmphex(dsa_record(qts, 2).status, ==, 0);
    qtest_clock_step(qts, 100000000);
    g_assert_cmphex(dsa_record(qts, 0).status, ==, DSA_STATUS_SUCCESS);
    g_assert_cmphex(ldl_le_p(dsa_record(qts, 0).op), ==, ldl_le_p(want.op));
    g_assert_cmphex(dsa_record(qts, 1).status, ==, DSA_STATUS_SUCCESS);
    g_assert_cmphex(dsa_record(qts, 2).status, ==, DSA_STATUS_SUCCESS);
    g_assert_cmpuint(dsa_record(qts, 2).bytes_completed, ==, 20);
    dsa_expect_memory(qts, DESTINATION, data, size);
    for (unsigned i = 0; i < 20; i++) {
        g_assert_cmpuint(qtest_readq(qts, DESTINATION2 + i * 100000 + 99992),
                         ==, i);
    }
    g_assert_cmpuint(dsa_readq(qts, DSA_PERFMON_BASE + DSA_CNTRDATA), ==, 23);
    qtest_quit(qts);
}

/* A reset drops what is in flight; the device works afterwards. */
static void test_reset(void)
{
    QTestState *qts = dsa_ready("");
    DsaDesc copy = dsa_desc(DSA_OP_MEMMOVE, 0, SOURCE, DESTINATION, 1 << 24);

    dsa_submit(qts, 0, &copy);
    dsa_submit(qts, 0, &copy);
    qtest_clock_step(qts, 10000);
    qtest_system_reset(qts);
    qtest_clock_step(qts, 100000000);
    g_assert_cmphex(dsa_record(qts, 0).status, ==, 0);
    dsa_map(qts);
    dsa_configure(qts, 1, 1, 128);
    dsa_enable(qts, 1);
    copy.size = cpu_to_le32(4096);
    g_assert_cmphex(dsa_run(qts, &copy).status, ==, DSA_STATUS_SUCCESS);
    qtest_quit(qts);
}

static void test_unplug(void)
{
    QTestState *qts = qtest_init("-machine q35 -m 128M -nodefaults "
                                 "-device pcie-root-port,id=rp,slot=1");

    for (unsigned i = 0; i < 3; i++) {
        qtest_qmp_device_add(qts, "intel-dsa", "dsa", "{ 'bus': 'rp' }");
        qtest_qmp_assert_success(qts, "{ 'execute': 'device_del', "
                                 "'arguments': { 'id': 'dsa' } }");
        qtest_system_reset(qts);
        qtest_qmp_eventwait(qts, "DEVICE_DELETED");
    }
    qtest_quit(qts);
}

/* Unplug the device in the middle of a copy. */
static void test_unplug_busy(void)
{
    QTestState *qts = dsa_ready("");
    DsaDesc copy = dsa_desc(DSA_OP_MEMMOVE, 0, SOURCE, DESTINATION, 1 << 24);

    dsa_submit(qts, 0, &copy);
    qtest_clock_step(qts, 10000);
    qtest_qmp_assert_success(qts, "{ 'execute': 'device_del', "
                             "'arguments': { 'id': 'dsa' } }");
    /* The guest ejects the slot (ACPI PCI hotplug, register EJ). */
    qtest_outl(qts, 0xae10, 0);
    qtest_outl(qts, 0xae08, 1 << 4);
    qtest_qmp_eventwait(qts, "DEVICE_DELETED");
    qtest_clock_step(qts, 100000000);
    g_assert_cmphex(dsa_record(qts, 0).status, ==, 0);
    qtest_quit(qts);
}

/*
 * Returns the microseconds that COPIES copies take the host.  They are one
 * batch, as each submission and each read of a record keeps the device's thread
 * busy for the time of a qtest message.
 */
static int64_t time_device(QTestState *qts)
{
    DsaDesc batch = dsa_desc(DSA_OP_BATCH, COPIES, DESC_LIST, 0, COPIES);
    DsaDesc list[COPIES];
    int64_t begin;

    for (unsigned i = 0; i < COPIES; i++) {
        list[i] = dsa_desc(DSA_OP_MEMMOVE, i, SOURCE + i * MIB,
                           SOURCE + (COPIES + i) * MIB, MIB);
    }
    qtest_memwrite(qts, DESC_LIST, list, sizeof(list));
    qtest_memset(qts, RECORDS, 0, (COPIES + 1) * DSA_RECORD_SIZE);
    begin = g_get_monotonic_time();
    dsa_submit(qts, 0, &batch);
    while (dsa_record(qts, COPIES).status == 0) {
        g_assert_cmpint(g_get_monotonic_time() - begin, <, 60000000);
        g_usleep(100);
    }
    g_assert_cmphex(dsa_record(qts, COPIES).status, ==, DSA_STATUS_SUCCESS);
    return g_get_monotonic_time() - begin;
}

static int64_t time_memcpy(uint8_t *memory)
{
    int64_t begin = g_get_monotonic_time();

    for (unsigned i = 0; i < COPIES; i++) {
        memcpy(memory + (COPIES + i) * MIB, memory + i * MIB, MIB);
    }
    return g_get_monotonic_time() - begin;
}

/*
 * Where the host limits the device's speed, copies take at most twice as long
 * as memcpy().  As the host may be busy, the test takes the best of some
 * alternating measurements of both.  It only runs in make bench: on a busy
 * host, any limit of time fails now and then.
 */
static void test_throughput(void)
{
    g_autofree uint8_t *memory = g_malloc(2 * COPIES * MIB);
    g_autofree char *bios = NULL;
    int64_t device = INT64_MAX, copy = INT64_MAX;
    QTestState *qts;
    int fd;

    if (!qtest_has_accel("tcg")) {
        g_test_skip("No TCG accelerator");
        return;
    }
    fd = g_file_open_tmp("intel-dsa-XXXXXX", &bios, NULL);
    /* Time is the host's with TCG; the CPU executes HLT. */
    memset(memory, 0xf4, 64 * 1024);
    g_assert_cmpint(write(fd, memory, 64 * 1024), ==, 64 * 1024);
    close(fd);
    qts = qtest_initf("-accel tcg -machine pc -m 128M -nodefaults -bios %s "
                      "-device intel-dsa,id=dsa,addr=4,bandwidth=1000000",
                      bios);
    g_unlink(bios);
    dsa_map(qts);
    dsa_configure(qts, 1, 1, 128);
    dsa_enable(qts, 1);
    memset(memory, 1, 2 * COPIES * MIB);
    for (unsigned i = 0; i < MEASUREMENTS; i++) {
        device = MIN(device, time_device(qts));
        copy = MIN(copy, time_memcpy(memory));
    }
    g_test_message("%u copies of 1 MiB: %" PRId64 " us, memcpy() %" PRId64
                   " us", COPIES, device, copy);
    g_assert_cmpint(device, <=, 2 * copy);
    qtest_quit(qts);
}

static uint64_t random_addr(void)
{
    static const uint64_t places[] = {
        SOURCE, DESTINATION, DESTINATION2, OUTSIDE, DSA_MMIO, DSA_PORTALS,
        RAM_BYTES - 0x10000, UINT64_MAX - 0x8000, 0, DESC_LIST,
    };

    return places[g_test_rand_int_range(0, ARRAY_SIZE(places))] +
           g_test_rand_int_range(0, 0x10000) *
           (g_test_rand_bit() ? 1 : 64);
}

/* Most descriptors are well-formed; otherwise the device would refuse them. */
static DsaDesc random_desc(void)
{
    static const uint32_t sizes[] = { 0, 1, 64, 520, 4096, 65536, 1 << 20 };
    DsaDesc desc = dsa_desc(g_test_rand_int_range(0, 0x22),
                            g_test_rand_int_range(0, 1000), random_addr(),
                            random_addr(),
                            sizes[g_test_rand_int_range(0, 7)] *
                            g_test_rand_int_range(1, 4));

    if (g_test_rand_int_range(0, 4) == 0) {
        ((uint8_t *)&desc)[g_test_rand_int_range(0, 64)] = g_test_rand_int();
    }
    if (g_test_rand_int_range(0, 4) == 0) {
        for (unsigned i = 0; i < sizeof(desc.op); i++) {
            desc.op[i] = g_test_rand_int();
        }
    } else if (g_test_rand_bit()) {
        stq_le_p(desc.op, random_addr());
        stl_le_p(desc.op + 8, g_test_rand_int_range(0, 1000) * 10);
    } else if (g_test_rand_bit()) {
        stl_le_p(desc.op, g_test_rand_int_range(0, 1000) * 10);
    }
    return desc;
}

static void random_register(QTestState *qts)
{
    static const struct {
        uint64_t base;
        int size;
    } areas[] = {
        { 0, 0x100 }, { DSA_GRPCFG_BASE, 0x100 }, { DSA_WQCFG_BASE, 0x200 },
        { DSA_IMS_BASE, 0x100 }, { DSA_MSIXPERM_BASE, 0x80 },
        { DSA_PERFMON_BASE, 0x500 },
        { DSA_MSIX_TABLE, 0xc0 }, { 0, DSA_MMIO_SIZE },
    };
    unsigned i = g_test_rand_int_range(0, ARRAY_SIZE(areas));
    uint64_t addr = areas[i].base +
                    QEMU_ALIGN_DOWN(g_test_rand_int_range(0, areas[i].size),
                                    4);
    uint64_t value = (uint64_t)g_test_rand_int() << 32 | g_test_rand_int();

    value = g_test_rand_bit() ? value : 1ull << (value % 64);
    if (g_test_rand_bit()) {
        dsa_readl(qts, addr);
        dsa_readq(qts, QEMU_ALIGN_DOWN(addr, 8));
    } else if (g_test_rand_bit()) {
        dsa_writel(qts, addr, value);
    } else {
        dsa_writeq(qts, QEMU_ALIGN_DOWN(addr, 8), value);
    }
}

static void random_action(QTestState *qts)
{
    DsaDesc desc = random_desc();

    switch (g_test_rand_int_range(0, 18)) {
    case 0:
        random_register(qts);
        break;
    case 1:
        dsa_writel(qts, A_CMD, g_test_rand_int_range(0, 16) << 20 |
                   g_test_rand_int_range(0, 64));
        break;
    case 2:
        /* Make the device usable again. */
        dsa_pci_write(qts, 4, 6);
        dsa_writel(qts, A_CMD, DSA_CMD_RESET_DEVICE << 20);
        dsa_configure(qts, 0x0f, 0x03, 32);
        dsa_writeq(qts, A_EVLCFG0, EVENT_LOG);
        dsa_writeq(qts, A_EVLCFG1, 64);
        dsa_writel(qts, A_GENCFG, R_GENCFG_EVL_EN_MASK);
        dsa_writel(qts, A_CMD, DSA_CMD_ENABLE_DEVICE << 20);
        for (unsigned wq = 0; wq < 4; wq++) {
            dsa_writel(qts, A_CMD, DSA_CMD_ENABLE_WQ << 20 | wq);
        }
        break;
    case 3:
    case 4:
        qtest_clock_step(qts, g_test_rand_int_range(1, 30000));
        break;
    case 5:
        desc = random_desc();
        qtest_memwrite(qts, DESC_LIST + g_test_rand_int_range(0, 16) * 64,
                       &desc, sizeof(desc));
        break;
    case 16:
        /* Submit to any portal. */
        qtest_memwrite(qts, DSA_PORTALS +
                       g_test_rand_int_range(0, 0x400) * DSA_DESC_SIZE, &desc,
                       sizeof(desc));
        break;
    case 17:
        /* Now and then clear the bus master bit, which halts the device. */
        if (g_test_rand_int_range(0, 16) == 0) {
            dsa_pci_write(qts, 4, 2);
        }
        break;
    case 6:
        desc = dsa_desc(DSA_OP_BATCH, 0, DESC_LIST, 0,
                        g_test_rand_int_range(1, 20));
        /* fall through */
    default:
        dsa_submit(qts, g_test_rand_int_range(0, 5), &desc);
        break;
    }
}

static void test_fuzz(void)
{
    const char *seconds = getenv("INTEL_DSA_FUZZ_SECONDS");
    int64_t end = g_get_monotonic_time() +
                  (seconds ? atoll(seconds) * 1000000 : 0);
    QTestState *qts = dsa_start("");

    dsa_enable_msix(qts, 9);
    for (unsigned i = 0; i < FUZZ_ROUNDS || g_get_monotonic_time() < end;
         i++) {
        random_action(qts);
    }
    /* The device still works. */
    dsa_pci_write(qts, 4, 6);
    dsa_writel(qts, A_CMD, DSA_CMD_ABORT_ALL << 20);
    qtest_clock_step(qts, 100000000);
    dsa_writel(qts, A_CMD, DSA_CMD_RESET_DEVICE << 20);
    dsa_configure(qts, 1, 1, 128);
    dsa_enable(qts, 1);
    g_assert_cmphex(dsa_run(qts, &(DsaDesc) {
        .flags_opcode = cpu_to_le32(DSA_FLAG_CRAV | DSA_FLAG_RCR),
        .completion = cpu_to_le64(RECORDS),
    }).status, ==, DSA_STATUS_SUCCESS);
    qtest_quit(qts);
}

/*
 * The device's part of a migration stream.  It begins after the name, instance
 * and version (four bytes each).  It ends before the footer: a byte, and the
 * section's number.  See QEMU's qemu_loadvm_section_start_full().
 */
#define NAME        "/intel-dsa"
#define HEADER      8
#define FOOTER      5

static char *device_section(char *stream, gsize length, gsize *size)
{
    char *name = memmem(stream, length, NAME, strlen(NAME));
    char *begin, *footer, *id;
    char wanted[FOOTER] = { 0x7e };

    g_assert_nonnull(name);
    begin = name + strlen(NAME);
    id = begin - strlen("0000:00:04.0" NAME) - 1 - 4;
    memcpy(wanted + 1, id, 4);
    begin += HEADER;
    footer = memmem(begin, stream + length - begin, wanted, FOOTER);
    g_assert_nonnull(footer);
    *size = footer - begin;
    return begin;
}

/* QEMU loads or refuses a stream with some bytes changed, and goes on. */
static void test_streams(void)
{
    const uint32_t size = 1 << 20;
    QTestState *qts = dsa_ready("");
    DsaDesc copy = dsa_desc(DSA_OP_MEMMOVE, 0, SOURCE, DESTINATION, size);
    DsaDesc batch = dsa_desc(DSA_OP_BATCH, 1, DESC_LIST, 0, 20);
    g_autofree char *path = NULL, *stream = NULL, *good = NULL;
    gsize length, part_size;
    unsigned loaded = 0;
    char *part;

    dsa_submit(qts, 0, &copy);
    dsa_submit(qts, 0, &batch);
    dsa_submit(qts, 0, &copy);
    qtest_clock_step(qts, 1000);
    path = save(qts);
    qtest_quit(qts);
    g_assert_true(g_file_get_contents(path, &stream, &length, NULL));
    part = device_section(stream, length, &part_size);
    good = g_memdup2(part, part_size);
    for (unsigned i = 0; i < STREAMS; i++) {
        memcpy(part, good, part_size);
        for (unsigned n = 1u << g_test_rand_int_range(0, 9); n; n--) {
            part[g_test_rand_int_range(0, part_size)] = g_test_rand_int();
        }
        g_assert_true(g_file_set_contents(path, stream, length, NULL));
        qts = load(path);
        if (!qts) {
            continue;
        }
        loaded++;
        qtest_qmp_assert_success(qts, "{ 'execute': 'cont' }");
        for (unsigned n = 0; n < 100; n++) {
            qtest_clock_step(qts, 30000);
            random_action(qts);
        }
        qtest_quit(qts);
    }
    g_test_message("%u of %u loaded, %zu bytes", loaded, STREAMS,
                   (size_t)part_size);
    g_unlink(path);
}

/*
 * A descriptor whose progress is no multiple of its unit would never end, so
 * QEMU refuses the stream.  In a stream, a descriptor is as in memory; its
 * state and its progress follow (vmstate_work).
 */
static void test_half_unit(void)
{
    QTestState *qts = dsa_ready("");
    DsaDesc check = dsa_desc(DSA_OP_DIF_CHECK, 0, SOURCE, 0, 520 * 2000);
    const unsigned before_done = 5 * 4 + 2 * 8;
    g_autofree char *path = NULL, *stream = NULL;
    gsize length, part_size;
    char *part, *desc;

    check.op[0] = DSA_DIF_SRC_F_ALL;
    qtest_memset(qts, SOURCE, 0xff, 520 * 2000);
    dsa_submit(qts, 0, &check);
    qtest_clock_step(qts, 5000);
    g_assert_cmphex(dsa_record(qts, 0).status, ==, 0);
    path = save(qts);
    qtest_quit(qts);
    g_assert_true(g_file_get_contents(path, &stream, &length, NULL));
    part = device_section(stream, length, &part_size);
    /* Take the last match: a portal also holds the descriptor. */
    for (char *p = part; p; p = memmem(p + 1, part + part_size - p - 1,
                                       &check, sizeof(check))) {
        desc = p;
    }
    desc += sizeof(check) + before_done;
    g_assert_cmpuint(ldl_be_p(desc), >, 0);
    g_assert_cmpuint(ldl_be_p(desc) % 520, ==, 0);
    qts = load(path);
    g_assert_nonnull(qts);
    qtest_quit(qts);
    stl_be_p(desc, ldl_be_p(desc) + 1);
    g_assert_true(g_file_set_contents(path, stream, length, NULL));
    g_assert_null(load(path));
    g_unlink(path);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("intel-dsa/migration", test_migration);
    qtest_add_func("intel-dsa/streams", test_streams);
    qtest_add_func("intel-dsa/half-unit", test_half_unit);
    qtest_add_func("intel-dsa/reset", test_reset);
    qtest_add_func("intel-dsa/unplug", test_unplug);
    qtest_add_func("intel-dsa/unplug-busy", test_unplug_busy);
    if (g_test_perf()) {
        qtest_add_func("intel-dsa/throughput", test_throughput);
    }
    qtest_add_func("intel-dsa/fuzz", test_fuzz);
    return g_test_run();
}
