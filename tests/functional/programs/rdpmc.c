/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * rdpmc: a process that measures its own loops with RDPMC, in user mode, as
 * tools/perf/Documentation/topdown.txt of Linux explains: open the group of
 * slots and the four metrics, map the events, read the fixed counter 3 and
 * PERF_METRICS before and after, and take the difference of the products.
 * The host is told where each loop begins and ends.  Prints for each loop
 *
 *   loop NAME slots SLOTS retiring R bad B frontend F backend K read READ
 *
 * with the deltas in slots, READ being the kernel's own count of slots.
 */

#define _GNU_SOURCE
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "loops.h"
#include "perf-event.h"
#include "rdpmc.h"
#include "sync.h"

/* SDM vol. 2, RDPMC: ECX[31:16] is the type, ECX[15:0] the index. */
#define RDPMC_FIXED_3 0x40000003u
#define RDPMC_METRICS 0x20000000u

#define METRICS 4
/* The fields of PERF_METRICS are fractions of this. */
#define METRIC_ONE 255

/*
 * /sys/devices/cpu/events: slots, then the metrics in the order of the
 * fields of PERF_METRICS.
 */
static const uint64_t configs[1 + METRICS] = {
    0x0400, 0x8000, 0x8100, 0x8200, 0x8300
};

typedef struct {
    uint64_t slots;
    uint64_t metrics;
} Reading;

static const struct {
    const char *name;
    void (*run)(uint64_t iterations);
} loops[] = {
    { "nops", run_nops },
    { "multiply", run_multiply },
};

static void die(const char *what)
{
    perror(what);
    exit(EXIT_FAILURE);
}

static int open_event(uint64_t config, int leader)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_RAW,
        .config = config,
        .read_format = PERF_FORMAT_GROUP,
        .exclude_kernel = 1,
        .disabled = leader < 0,
    };

    return perf_event_open(&attr, 0, -1, leader);
}

/*
 * Map an event's page; while the event counts its index is what RDPMC
 * takes, plus one.
 */
static const volatile struct perf_event_mmap_page *map_event(int fd)
{
    void *page = mmap(NULL, sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED,
                      fd, 0);

    if (page == MAP_FAILED) {
        die("mmap of an event");
    }
    return page;
}

static void check_index(const volatile struct perf_event_mmap_page *page,
                        uint32_t rdpmc_index, const char *what)
{
    if (!page->cap_user_rdpmc) {
        fprintf(stderr, "rdpmc: %s: no cap_user_rdpmc\n", what);
        exit(EXIT_FAILURE);
    }
    if (page->index - 1 != rdpmc_index) {
        fprintf(stderr, "rdpmc: %s: index 0x%x, expected 0x%x\n", what,
                page->index - 1, rdpmc_index);
        exit(EXIT_FAILURE);
    }
}

/* The kernel's count of slots; reading restarts the hardware from zero. */
static uint64_t kernel_slots(int leader)
{
    uint64_t values[1 + 1 + METRICS];

    if (read(leader, values, sizeof(values)) != sizeof(values)) {
        die("read of the group");
    }
    return values[1];
}

static Reading take_reading(void)
{
    Reading r = { .slots = rdpmc(RDPMC_FIXED_3) };

    r.metrics = rdpmc(RDPMC_METRICS);
    return r;
}

static double metric_slots(const Reading *r, int field)
{
    return (double)(r->metrics >> (8 * field) & 0xff) / METRIC_ONE * r->slots;
}

static void measure(int leader, int which, uint64_t iterations)
{
    static const char *const fields[METRICS] = {
        "retiring", "bad", "frontend", "backend"
    };
    char text[64];
    Reading before, after;
    uint64_t count_before, count_after;

    count_before = kernel_slots(leader);
    snprintf(text, sizeof(text), "begin rdpmc-%s", loops[which].name);
    if (guest_sync(text, NULL, 0) < 0) {
        die("sync");
    }
    before = take_reading();
    loops[which].run(iterations);
    after = take_reading();
    snprintf(text, sizeof(text), "end rdpmc-%s", loops[which].name);
    if (guest_sync(text, NULL, 0) < 0) {
        die("sync");
    }
    count_after = kernel_slots(leader);

    printf("loop %s slots %llu", loops[which].name,
           (unsigned long long)(after.slots - before.slots));
    for (int i = 0; i < METRICS; i++) {
        printf(" %s %.0f", fields[i],
               metric_slots(&after, i) - metric_slots(&before, i));
    }
    printf(" read %llu\n", (unsigned long long)(count_after - count_before));
}

int main(int argc, char **argv)
{
    /* The kernel changes the pages behind the compiler's back. */
    const volatile struct perf_event_mmap_page *page[1 + METRICS];
    int fd[1 + METRICS];
    uint64_t iterations;

    if (argc != 2) {
        fprintf(stderr, "usage: rdpmc ITERATIONS\n");
        return EXIT_FAILURE;
    }
    iterations = strtoull(argv[1], NULL, 0);
    for (int i = 0; i <= METRICS; i++) {
        fd[i] = open_event(configs[i], i ? fd[0] : -1);
        page[i] = map_event(fd[i]);
    }
    if (ioctl(fd[0], PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP) < 0) {
        die("enable");
    }
    check_index(page[0], RDPMC_FIXED_3, "slots");
    for (int i = 1; i <= METRICS; i++) {
        check_index(page[i], RDPMC_METRICS, "a metric");
    }
    /* So that the way to the host is in the caches. */
    if (guest_sync("warm up", NULL, 0) < 0 ||
        guest_sync("warm up", NULL, 0) < 0) {
        die("sync");
    }
    for (size_t i = 0; i < sizeof(loops) / sizeof(loops[0]); i++) {
        measure(fd[0], i, iterations);
    }
    return EXIT_SUCCESS;
}
