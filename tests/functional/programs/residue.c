/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * residue: what does a process read from counters that are not its own?  A
 * child uses all counters of a CPU and ends; then its parent, with an event of
 * its own, for which the kernel lets it use RDPMC, reads the eight
 * general-purpose counters there, and fixed counters 0 and 3.
 *
 *   residue CPU
 *
 * prints "residue INDEX VALUE" for each that is not 0, and is not the own one.
 */

#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "loops.h"
#include "perf-event.h"
#include "rdpmc.h"

/* SDM vol. 2, RDPMC: ECX[31:16] is the type, ECX[15:0] the index. */
#define RDPMC_FIXED 0x40000000u

#define GENERAL_PURPOSE 8

static void die(const char *what)
{
    perror(what);
    exit(EXIT_FAILURE);
}

static int open_event(uint64_t config)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_RAW,
        .config = config,
        .exclude_kernel = 1,
    };

    return perf_event_open(&attr, 0, -1, -1);
}

/*
 * Count with all eight general-purpose counters, and fixed counters 0 and 3.
 * All: Linux leaves a value of its own in the last one of the first CPU when
 * it boots (check_hw_exists), until somebody uses that counter.
 */
static void count(void)
{
    static const uint64_t configs[] = {
        /* BR_INST_RETIRED: all, COND_TAKEN, COND_NTAKEN, NEAR_TAKEN */
        0x00c4, 0x01c4, 0x10c4, 0x20c4,
        /* BR_MISP_RETIRED: all, UOPS_RETIRED.SLOTS, UOPS_ISSUED.ANY */
        0x00c5, 0x02c2, 0x010e,
        /* UOPS_EXECUTED.THREAD, INST_RETIRED.ANY, TOPDOWN.SLOTS */
        0x01b1, 0x00c0, 0x0400,
    };
    int fd[sizeof(configs) / sizeof(configs[0])];

    for (size_t i = 0; i < sizeof(configs) / sizeof(configs[0]); i++) {
        fd[i] = open_event(configs[i]);
    }
    run_nops(1000);
    for (size_t i = 0; i < sizeof(configs) / sizeof(configs[0]); i++) {
        close(fd[i]);
    }
}

static void count_in_child(void)
{
    pid_t child = fork();
    int status;

    if (child < 0) {
        die("fork");
    }
    if (!child) {
        count();
        _exit(EXIT_SUCCESS);
    }
    if (waitpid(child, &status, 0) < 0 || status) {
        die("the child");
    }
}

static void look(uint32_t index, uint32_t own)
{
    uint64_t value = index == own ? 0 : rdpmc(index);

    if (value) {
        printf("residue 0x%x 0x%llx\n", index, (unsigned long long)value);
    }
}

int main(int argc, char **argv)
{
    const volatile struct perf_event_mmap_page *page;
    uint32_t own;
    cpu_set_t set;
    int fd;

    if (argc != 2) {
        fprintf(stderr, "usage: residue CPU\n");
        return EXIT_FAILURE;
    }
    CPU_ZERO(&set);
    CPU_SET(atoi(argv[1]), &set);
    if (sched_setaffinity(0, sizeof(set), &set) < 0) {
        die("sched_setaffinity");
    }
    count_in_child();
    /* CPU_CLK_UNHALTED.THREAD */
    fd = open_event(0x003c);
    page = mmap(NULL, sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED, fd, 0);
    if (page == MAP_FAILED) {
        die("mmap of an event");
    }
    if (!page->cap_user_rdpmc || !page->index) {
        fprintf(stderr, "residue: no RDPMC of the own event\n");
        return EXIT_FAILURE;
    }
    own = page->index - 1;
    for (uint32_t i = 0; i < GENERAL_PURPOSE; i++) {
        look(i, own);
    }
    look(RDPMC_FIXED, own);
    look(RDPMC_FIXED | 3, own);
    return EXIT_SUCCESS;
}
