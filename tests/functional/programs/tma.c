/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * tma: run loops that are each built to move one metric of the top-down
 * tree.  The loops are in tma-loops.S, functions of the same name.
 *
 *   tma [--perf DIR] [--rounds N] [--least N] [--passes N] [--seed N]
 *       SECONDS NAME...
 *   tma --list
 *
 *   --perf DIR   as in workload.c: perf counts the loops, not what prepares
 *                them
 *   --rounds N   for each name N turns of the loop, then the next name
 *   --least N    so many iterations of each loop, however long that takes
 *   --passes N   all of it so many times, however long that takes
 *   --seed N     of the order in which pointers lead through memory
 *
 * All of it again until SECONDS have passed; with 0, just once.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "control.h"

#define KIB 1024ull
#define MIB (1024 * KIB)
#define LINE 64
#define PAGE 4096
#define HUGE (2 * MIB)

/* The state is what it returned last, at first 0. */
typedef uint64_t Run(uint64_t iterations, void *data, uint64_t state);
typedef void *Prepare(size_t bytes);

typedef struct {
    const char *name;
    Run *run;
    /* Makes its data, so many bytes; NULL if it has none. */
    Prepare *prepare;
    size_t bytes;
    /* Iterations at a time: some thousand instructions, if it can be. */
    uint64_t iterations;
} Loop;

static _Noreturn void die(const char *what)
{
    perror(what);
    exit(EXIT_FAILURE);
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

/* Data */

/* Zeroed memory in pages of 2 MiB, or of 4 KiB. */
static void *map(size_t bytes, int advice)
{
    char *p = mmap(NULL, bytes + HUGE, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED) {
        die("mmap");
    }
    p = (char *)(((uintptr_t)p + HUGE - 1) & ~(uintptr_t)(HUGE - 1));
    if (madvise(p, bytes, advice) < 0) {
        die("madvise");
    }
    for (size_t i = 0; i < bytes; i += PAGE) {
        p[i] = 1;
    }
    return p;
}

static void *make_memory(size_t bytes)
{
    return map(bytes, MADV_HUGEPAGE);
}

/* Of --seed; odd. */
static uint64_t increment = 1;

/*
 * Pointers through so many places, a power of two, in an order that no
 * prefetcher follows: a linear congruential generator of full period (Knuth,
 * TAOCP vol. 2, 3.2.1.2, theorem A) gives each place's successor.  Another
 * order for each seed: what an earlier run left in the caches is of no use.
 */
static uint64_t successor(uint64_t place, uint64_t places)
{
    if (places & (places - 1)) {
        errno = EINVAL;
        die("places");
    }
    return (place * 1664525 + increment * 40503) % places;
}

/* A pointer in each line. */
static void *make_lines(size_t bytes)
{
    char *p = map(bytes, MADV_HUGEPAGE);
    uint64_t lines = bytes / LINE;

    for (uint64_t i = 0; i < lines; i++) {
        *(char **)(p + i * LINE) = p + successor(i, lines) * LINE;
    }
    return p;
}

/* A pointer in every 4 KiB, in another set of the caches each. */
static char *place_in_page(char *p, uint64_t page)
{
    return p + page * PAGE + page * LINE % PAGE;
}

static void *make_places(size_t bytes, int advice)
{
    char *p = map(bytes, advice);
    uint64_t pages = bytes / PAGE;

    for (uint64_t i = 0; i < pages; i++) {
        *(char **)place_in_page(p, i) =
            place_in_page(p, successor(i, pages));
    }
    return p;
}

/* Two pages, the second of which points to the first. */
static void *make_alias(size_t bytes)
{
    char *p = map(bytes, MADV_NOHUGEPAGE);

    *(char **)(p + PAGE) = p;
    return p;
}

static void *make_pages(size_t bytes)
{
    return make_places(bytes, MADV_NOHUGEPAGE);
}

static void *make_large_pages(size_t bytes)
{
    return make_places(bytes, MADV_HUGEPAGE);
}

Run chase, stream_loads, stream_stores, stores, blocked_forwards, aliases,
    locks, split_loads, split_stores, memory_operations, kinds, one_port,
    two_ports, four_ports, no_port, divide, pauses, fences, scalar_fp, assists,
    vector_fp, x87, nops, branches, mispredicts, clears, microcode, icache,
    decode, lcp, dsb_switches, dsb_jumps, unknown_branches, missed_lines,
    itlb;

/* The page of clears(), writable. */
static void *open_code(size_t bytes)
{
    void *page = (void *)((uintptr_t)clears & ~(uintptr_t)(PAGE - 1));

    if (mprotect(page, bytes, PROT_READ | PROT_WRITE | PROT_EXEC) < 0) {
        die("mprotect");
    }
    return page;
}

/* Two threads on two CPUs that count, in the same line or not. */

static uint64_t share_line(uint64_t iterations, void *data, uint64_t state)
{
    volatile uint64_t *counter = data;

    while (iterations--) {
        *counter += 1;
    }
    return state;
}

static void *share_forever(void *data)
{
    for (;;) {
        share_line(1000, data, 0);
    }
    return NULL;
}

/* The other thread counts @bytes behind, on CPU 0; this one is on another. */
static void *make_shared(size_t bytes)
{
    char *data = make_memory(2 * bytes);
    cpu_set_t cpus;
    pthread_t thread;

    CPU_ZERO(&cpus);
    CPU_SET(0, &cpus);
    if (pthread_create(&thread, NULL, share_forever, data + bytes) ||
        pthread_setaffinity_np(thread, sizeof(cpus), &cpus)) {
        die("pthread");
    }
    return data;
}

static const Loop loops[] = {
    { "l1", chase, make_lines, 16 * KIB, 300 },
    { "l2", chase, make_lines, 256 * KIB, 300 },
    { "l3", chase, make_lines, 8 * MIB, 300 },
    { "dram", chase, make_lines, 128 * MIB, 300 },
    { "stlb", chase, make_pages, 2 * MIB, 300 },
    { "walks", chase, make_pages, 64 * MIB, 300 },
    { "large_pages", chase, make_large_pages, 64 * MIB, 300 },
    { "stream_loads", stream_loads, make_memory, 64 * MIB, 400 },
    { "stream_stores", stream_stores, make_memory, 64 * MIB, 400 },
    { "stores", stores, make_memory, 8 * MIB, 400 },
    { "blocked_forwards", blocked_forwards, make_memory, PAGE, 120 },
    { "aliases", aliases, make_alias, 2 * PAGE, 170 },
    { "locks", locks, make_memory, PAGE, 230 },
    { "split_loads", split_loads, make_memory, PAGE, 230 },
    { "split_stores", split_stores, make_memory, PAGE, 230 },
    { "memory_operations", memory_operations, make_memory, PAGE, 80 },
    { "kinds", kinds, make_memory, PAGE, 250 },
    { "shared", share_line, make_shared, sizeof(uint64_t), 1200 },
    { "apart", share_line, make_shared, PAGE, 1200 },
    { "one_port", one_port, NULL, 0, 50 },
    { "two_ports", two_ports, NULL, 0, 25 },
    { "four_ports", four_ports, NULL, 0, 12 },
    { "no_port", no_port, NULL, 0, 50 },
    { "divide", divide, NULL, 0, 80 },
    { "pauses", pauses, NULL, 0, 230 },
    { "fences", fences, NULL, 0, 230 },
    { "scalar_fp", scalar_fp, NULL, 0, 60 },
    { "assists", assists, NULL, 0, 100 },
    { "vector_fp", vector_fp, NULL, 0, 60 },
    { "x87", x87, NULL, 0, 120 },
    { "nops", nops, NULL, 0, 20 },
    { "branches", branches, NULL, 0, 50 },
    { "mispredicts", mispredicts, NULL, 0, 400 },
    { "clears", clears, open_code, PAGE, 500 },
    { "microcode", microcode, NULL, 0, 120 },
    { "icache", icache, NULL, 0, 1 },
    { "decode", decode, NULL, 0, 2 },
    { "lcp", lcp, NULL, 0, 1 },
    { "dsb_switches", dsb_switches, NULL, 0, 2 },
    { "dsb_jumps", dsb_jumps, NULL, 0, 8 },
    { "unknown_branches", unknown_branches, NULL, 0, 1 },
    { "missed_lines", missed_lines, NULL, 0, 1 },
    { "itlb", itlb, NULL, 0, 10 },
};

#define LOOPS (sizeof(loops) / sizeof(loops[0]))

static const Loop *find_loop(const char *name)
{
    for (size_t i = 0; i < LOOPS; i++) {
        if (!strcmp(loops[i].name, name)) {
            return &loops[i];
        }
    }
    fprintf(stderr, "tma: no loop %s, try --list\n", name);
    exit(EXIT_FAILURE);
}

static const struct option long_options[] = {
    { "perf", required_argument, NULL, 'p' },
    { "rounds", required_argument, NULL, 'r' },
    { "least", required_argument, NULL, 'm' },
    { "passes", required_argument, NULL, 'n' },
    { "seed", required_argument, NULL, 's' },
    { "list", no_argument, NULL, 'l' },
    { }
};

int main(int argc, char **argv)
{
    PerfControl perf = { -1, -1 };
    const Loop *chosen[LOOPS];
    void *data[LOOPS];
    uint64_t state[LOOPS] = { };
    uint64_t least = 0, done = 0, least_passes = 0, passes = 0;
    unsigned rounds = 1, n;
    double end;
    int option;

    while ((option = getopt_long(argc, argv, "+", long_options, NULL)) > 0) {
        switch (option) {
        case 'p':
            if (!perf_control_open(&perf, optarg)) {
                die(optarg);
            }
            break;
        case 'r':
            rounds = atoi(optarg);
            break;
        case 'm':
            least = strtoull(optarg, NULL, 0);
            break;
        case 'n':
            least_passes = strtoull(optarg, NULL, 0);
            break;
        case 's':
            increment = strtoull(optarg, NULL, 0) << 1 | 1;
            break;
        case 'l':
            for (size_t i = 0; i < LOOPS; i++) {
                puts(loops[i].name);
            }
            return EXIT_SUCCESS;
        default:
            return EXIT_FAILURE;
        }
    }
    n = argc - optind - 1;
    if (argc - optind < 2 || n > LOOPS) {
        fprintf(stderr, "usage: tma [--perf DIR] [--rounds N] [--least N] "
                "[--passes N] [--seed N] SECONDS NAME...\n");
        return EXIT_FAILURE;
    }
    for (unsigned i = 0; i < n; i++) {
        chosen[i] = find_loop(argv[optind + 1 + i]);
        data[i] = chosen[i]->prepare ? chosen[i]->prepare(chosen[i]->bytes)
                                     : NULL;
    }
    perf_control(&perf, "enable\n");
    end = now() + atof(argv[optind]);
    do {
        done = UINT64_MAX;
        passes++;
        for (unsigned i = 0; i < n; i++) {
            uint64_t all = passes * rounds * chosen[i]->iterations;

            done = all < done ? all : done;
            for (unsigned round = 0; round < rounds; round++) {
                state[i] = chosen[i]->run(chosen[i]->iterations, data[i],
                                          state[i]);
            }
        }
    } while (now() < end || done < least || passes < least_passes);
    perf_control(&perf, "disable\n");
    return EXIT_SUCCESS;
}
