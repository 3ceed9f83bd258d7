/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * pingpong CPU ROUNDS ITERATIONS LOOP IN OUT [first]
 *
 * One of two processes that pass a token to and fro through two FIFOs, on
 * the same CPU: each round is a loop of known nature, "nops" or "multiply",
 * then a context switch.  The one called with "first" starts, and tells the
 * host where the rounds begin and end.  Prints how often it was switched
 * away.
 */

#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "loops.h"
#include "sync.h"

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

int main(int argc, char **argv)
{
    struct rusage usage;
    uint64_t iterations;
    int rounds, in, out;
    bool first, nops;

    if (argc < 7) {
        fprintf(stderr, "usage: pingpong CPU ROUNDS ITERATIONS LOOP IN OUT "
                "[first]\n");
        return EXIT_FAILURE;
    }
    pin(atoi(argv[1]));
    rounds = atoi(argv[2]);
    iterations = strtoull(argv[3], NULL, 0);
    nops = !strcmp(argv[4], "nops");
    in = open_fifo(argv[5]);
    out = open_fifo(argv[6]);
    first = argc > 7;

    if (first) {
        /* The other is there once it has passed its token. */
        take_token(in);
        if (guest_sync("begin pingpong", NULL, 0) < 0) {
            die("sync");
        }
    } else {
        pass_token(out);
    }
    for (int i = 0; i < rounds; i++) {
        if (!first) {
            take_token(in);
        }
        if (nops) {
            run_nops(iterations);
        } else {
            run_multiply(iterations);
        }
        pass_token(out);
        if (first) {
            take_token(in);
        }
    }
    if (first && guest_sync("end pingpong", NULL, 0) < 0) {
        die("sync");
    }
    if (getrusage(RUSAGE_SELF, &usage) < 0) {
        die("getrusage");
    }
    printf("switches %ld\n", usage.ru_nvcsw + usage.ru_nivcsw);
    return EXIT_SUCCESS;
}
