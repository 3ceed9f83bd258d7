/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * migrate DIR CPUS MOVES ITERATIONS
 *
 * A process that moves from vCPU to vCPU, MOVES times, and runs on each the
 * same loops of NOPs and of multiplications (why the same: pingpong.c).  perf
 * stat counts that part alone (control.h), and the host is told where it
 * begins and ends.
 */

#define _GNU_SOURCE
#include <sched.h>

#include "control.h"
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

static void wander(int cpus, int moves, uint64_t iterations)
{
    for (int i = 0; i < moves; i++) {
        move_to(i % cpus);
        run_nops(iterations);
        run_multiply(iterations);
    }
}

int main(int argc, char **argv)
{
    PerfControl perf;
    uint64_t iterations;
    int cpus, moves;

    if (argc != 5) {
        fprintf(stderr, "usage: migrate DIR CPUS MOVES ITERATIONS\n");
        return EXIT_FAILURE;
    }
    if (!perf_control_open(&perf, argv[1])) {
        die(argv[1]);
    }
    cpus = atoi(argv[2]);
    moves = atoi(argv[3]);
    iterations = strtoull(argv[4], NULL, 0);

    wander(cpus, 2 * cpus, iterations);
    if (guest_sync("begin migrate", NULL, 0) < 0) {
        die("sync");
    }
    perf_control(&perf, "enable\n");
    /*
     * Long enough for the cold start, on either vCPU, to be less than a step
     * of PERF_METRICS, which is then rounded away at each move.
     */
    wander(cpus, 1, 128 * iterations);
    wander(cpus, moves, iterations);
    perf_control(&perf, "disable\n");
    if (guest_sync("end migrate", NULL, 0) < 0) {
        die("sync");
    }
    return EXIT_SUCCESS;
}
