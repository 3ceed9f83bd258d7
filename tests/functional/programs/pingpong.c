/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * pingpong DIR CPU ROUNDS ITERATIONS LOOP IN OUT [first]
 *
 * One of two processes that pass a token to and fro through two FIFOs, on
 * the same CPU: each round is a loop of known nature, "nops" or "multiply",
 * then a context switch.  Each has a perf stat count its rounds alone
 * (control.h).  The one called with "first" starts, and tells the host where
 * the rounds begin and end.  Prints how often it was switched away.
 *
 * All rounds of a process are alike.  That matters: see kernel_tests.py.
 */

#define _GNU_SOURCE
#include <sched.h>
#include <sys/resource.h>

#include "control.h"
#include "loops.h"
#include "sync.h"

/*
 * The first round is as long as so many, for the cold start to be less than a
 * step of PERF_METRICS.
 */
#define FIRST   16

static void die(const char *what)
{
    perror(what);
    exit(EXIT_FAILURE);
}

static void pin(int cpu)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof(set), &set) < 0) {
        die("sched_setaffinity");
    }
}

static int open_fifo(const char *name)
{
    /* For both directions, so that opening never waits. */
    int fd = open(name, O_RDWR);

    if (fd < 0) {
        die(name);
    }
    return fd;
}

static void take_token(int fd)
{
    char token;

    if (read(fd, &token, 1) != 1) {
        die("read");
    }
}

static void pass_token(int fd)
{
    if (write(fd, "", 1) != 1) {
        die("write");
    }
}

typedef struct {
    int rounds, in, out;
    bool first;
    uint64_t iterations;
    void (*run)(uint64_t iterations);
} Player;

static void play(const Player *p, int rounds, uint64_t iterations)
{
    for (int i = 0; i < rounds; i++) {
        if (!p->first) {
            take_token(p->in);
        }
        p->run(iterations);
        pass_token(p->out);
        if (p->first) {
            take_token(p->in);
        }
    }
}

int main(int argc, char **argv)
{
    PerfControl perf;
    struct rusage usage;
    Player p;

    if (argc < 8) {
        fprintf(stderr, "usage: pingpong DIR CPU ROUNDS ITERATIONS LOOP IN "
                "OUT [first]\n");
        return EXIT_FAILURE;
    }
    if (!perf_control_open(&perf, argv[1])) {
        die(argv[1]);
    }
    pin(atoi(argv[2]));
    p.rounds = atoi(argv[3]);
    p.iterations = strtoull(argv[4], NULL, 0);
    p.run = strcmp(argv[5], "nops") ? run_multiply : run_nops;
    p.in = open_fifo(argv[6]);
    p.out = open_fifo(argv[7]);
    p.first = argc > 8;

    /* Here each waits for the other, and then its caches are warm. */
    if (p.first) {
        take_token(p.in);
    } else {
        pass_token(p.out);
    }
    play(&p, 3, p.iterations);
    if (p.first) {
        take_token(p.in);
        if (guest_sync("begin pingpong", NULL, 0) < 0) {
            die("sync");
        }
        perf_control(&perf, "enable\n");
    } else {
        perf_control(&perf, "enable\n");
        pass_token(p.out);
    }
    play(&p, 1, FIRST * p.iterations);
    play(&p, p.rounds, p.iterations);
    perf_control(&perf, "disable\n");
    if (p.first && guest_sync("end pingpong", NULL, 0) < 0) {
        die("sync");
    }
    if (getrusage(RUSAGE_SELF, &usage) < 0) {
        die("getrusage");
    }
    printf("switches %ld\n", usage.ru_nvcsw + usage.ru_nivcsw);
    return EXIT_SUCCESS;
}
