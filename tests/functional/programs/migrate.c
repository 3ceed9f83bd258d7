/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * migrate CPUS MOVES ITERATIONS: a process that moves from vCPU to vCPU,
 * MOVES times, and runs on each a loop of NOPs or of multiplications, by
 * turns.  The host is told where that begins and ends.
 */

#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "loops.h"
#include "sync.h"

static void die(const char *what)
{
    perror(what);
    exit(EXIT_FAILURE);
}

static void move_to(int cpu)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof(set), &set) < 0) {
        die("sched_setaffinity");
    }
    if (sched_getcpu() != cpu) {
        fprintf(stderr, "migrate: not on CPU %d\n", cpu);
        exit(EXIT_FAILURE);
    }
}

int main(int argc, char **argv)
{
    uint64_t iterations;
    int cpus, moves;

    if (argc != 4) {
        fprintf(stderr, "usage: migrate CPUS MOVES ITERATIONS\n");
        return EXIT_FAILURE;
    }
    cpus = atoi(argv[1]);
    moves = atoi(argv[2]);
    iterations = strtoull(argv[3], NULL, 0);

    if (guest_sync("begin migrate", NULL, 0) < 0) {
        die("sync");
    }
    for (int i = 0; i < moves; i++) {
        move_to(i % cpus);
        /* Not in step with the moves, so that each CPU sees both. */
        if (i % 3) {
            run_nops(iterations);
        } else {
            run_multiply(iterations);
        }
    }
    if (guest_sync("end migrate", NULL, 0) < 0) {
        die("sync");
    }
    return EXIT_SUCCESS;
}
