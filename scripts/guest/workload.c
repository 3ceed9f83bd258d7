/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * workload: run a small loop whose bottleneck is known by construction.
 * In the guest; static, so that little but the loop is measured.
 *
 *   workload [--perf DIR] [--sync] [--cpu N] [--seconds S] NAME ITERATIONS
 *   workload --list
 *
 *   --perf DIR   have "perf stat -D -1 --control fifo:DIR/ctl,DIR/ack" count
 *                the loop alone, not what prepares it
 *   --sync       tell the host where the loop begins and ends, so that it
 *                reads its ledger there
 *   --cpu N      run on this CPU only
 *   --seconds S  repeat the loop until so much time has passed
 */

#define _GNU_SOURCE
#include <getopt.h>
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
#include "loops.h"
#include "sync.h"

/* Beyond the L3 that a core of a server can have to itself. */
#define CHASE_BYTES (64u << 20)
#define CACHE_LINE 64
/*
 * Beyond the L1I (32 KiB), the micro-op cache and the ITLB (128 pages), but
 * small enough that translating it does not take long.
 */
#define CODE_BYTES (1u << 20)
#define CODE_LINES (CODE_BYTES / CACHE_LINE)
/* What is new each time: enough that little else counts. */
#define FRESH_BYTES (256u << 10)

typedef struct {
    const char *name;
    const char *what;
    /* Called once, outside the measured part; may be NULL. */
    void (*prepare)(void);
    void (*run)(uint64_t iterations);
} Workload;

static void *memory;

static void die(const char *what)
{
    perror(what);
    exit(EXIT_FAILURE);
}

/*
 * A branch on a bit of a pseudo-random number (Marsaglia, "Xorshift RNGs",
 * J. Stat. Softw. 8(14), 2003): no predictor gets more than half right.
 */
static void run_branches(uint64_t iterations)
{
    uint64_t x = 0x2545f4914f6cdd1d, t;

    asm volatile(".p2align 6\n"
                 "1:\n"
                 "mov %1, %2\n"
                 "shl $13, %2\n"
                 "xor %2, %1\n"
                 "mov %1, %2\n"
                 "shr $7, %2\n"
                 "xor %2, %1\n"
                 "mov %1, %2\n"
                 "shl $17, %2\n"
                 "xor %2, %1\n"
                 "test $0x10000, %1\n"
                 "jz 2f\n"
                 "nop\n"
                 "2:\n"
                 "dec %0\n"
                 "jnz 1b"
                 : "+r" (iterations), "+r" (x), "=&r" (t) : : "cc");
}

/*
 * A cycle through all lines, in an order no prefetcher follows: a linear
 * congruential generator of full period (Knuth, TAOCP vol. 2, 3.2.1.2,
 * theorem A) gives each line's successor.
 */
static void prepare_chase(void)
{
    const uint64_t lines = CHASE_BYTES / CACHE_LINE;
    /* Aligned to 2 MiB for huge pages: fewer faults, quicker to start. */
    const size_t huge = 2u << 20;
    char *p = mmap(NULL, CHASE_BYTES + huge, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED) {
        die("mmap");
    }
    p = (char *)(((uintptr_t)p + huge - 1) & ~(huge - 1));
    madvise(p, CHASE_BYTES, MADV_HUGEPAGE);
    for (uint64_t i = 0; i < lines; i++) {
        uint64_t next = (i * 1664525 + 1013904223) % lines;

        *(char **)(p + i * CACHE_LINE) = p + next * CACHE_LINE;
    }
    memory = p;
}

static void run_chase(uint64_t iterations)
{
    void *p = memory;

    asm volatile(".p2align 6\n"
                 "1:\n"
                 ".rept 8\n"
                 "mov (%1), %1\n"
                 ".endr\n"
                 "dec %0\n"
                 "jnz 1b"
                 : "+r" (iterations), "+r" (p) : : "cc", "memory");
}

/*
 * Code that jumps from line to line, again in an order given by a full
 * period generator, and returns after the last: each line holds seven
 * 8-byte NOPs and "jmp rel32", or RET.
 */
static void prepare_code(void)
{
    static const uint8_t nop8[8] = { 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0 };
    uint8_t *p = mmap(NULL, CODE_BYTES, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    uint32_t line = 0;

    if (p == MAP_FAILED) {
        die("mmap");
    }
    for (uint32_t i = 0; i < CODE_LINES; i++) {
        uint32_t next = (line * 1664525 + 1013904223) % CODE_LINES;
        uint8_t *at = p + line * CACHE_LINE;

        for (int n = 0; n < 7; n++, at += sizeof(nop8)) {
            memcpy(at, nop8, sizeof(nop8));
        }
        /* No two pieces of a program are alike: a displacement of its own. */
        memcpy(at - sizeof(line), &line, sizeof(line));
        if (i == CODE_LINES - 1) {
            *at = 0xc3;
        } else {
            int32_t offset = p + next * CACHE_LINE - (at + 5);

            *at = 0xe9;
            memcpy(at + 1, &offset, sizeof(offset));
        }
        line = next;
    }
    if (mprotect(p, CODE_BYTES, PROT_READ | PROT_EXEC) < 0) {
        die("mprotect");
    }
    memory = p;
}

static void run_code(uint64_t iterations)
{
    void (*code)(void) = memory;

    while (iterations--) {
        code();
    }
}

/*
 * Code that was written just before it runs, once: what takes time is to
 * translate it.  Copies of some instructions as there are in programs, the
 * last one followed by RET.
 */
extern const char fresh_code[], fresh_code_end[];
asm(".pushsection .rodata\n"
    "fresh_code:\n"
    "mov (%rdi), %rax\n"
    "lea 8(%rax,%rax), %rcx\n"
    "add %rcx, %rdx\n"
    "mov %rdx, 8(%rdi)\n"
    "cmp %rax, %rdx\n"
    "jne 1f\n"
    "1: movzbl 16(%rdi), %esi\n"
    "shl $3, %esi\n"
    "xor %esi, %eax\n"
    "sub $1, %r8\n"
    "test %eax, %eax\n"
    "js 2f\n"
    "2:\n"
    "fresh_code_end:\n"
    ".popsection");

static void prepare_fresh(void)
{
    memory = mmap(NULL, FRESH_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (memory == MAP_FAILED) {
        die("mmap");
    }
}

static void run_fresh(uint64_t iterations)
{
    const size_t size = fresh_code_end - fresh_code;
    uint64_t data[3] = { };

    while (iterations--) {
        void (*code)(uint64_t *) = memory;
        uint8_t *p = memory;

        for (size_t left = FRESH_BYTES - 1; left >= size; left -= size) {
            memcpy(p, fresh_code, size);
            p += size;
        }
        *p = 0xc3;
        code(data);
    }
}

static void run_pause(uint64_t iterations)
{
    asm volatile("1:\n"
                 ".rept 8\n"
                 "pause\n"
                 ".endr\n"
                 "dec %0\n"
                 "jnz 1b"
                 : "+r" (iterations) : : "cc");
}

/* System calls that do next to nothing: the kernel's entry and exit. */
static void run_syscalls(uint64_t iterations)
{
    while (iterations--) {
        getppid();
    }
}

/* Asleep, a millisecond each time. */
static void run_sleep(uint64_t iterations)
{
    while (iterations--) {
        usleep(1000);
    }
}

static const Workload workloads[] = {
    { "nops", "independent NOPs", NULL, run_nops },
    { "multiply", "chain of dependent multiplications", NULL, run_multiply },
    { "branches", "unpredictable branches", NULL, run_branches },
    { "chase", "pointer chase far beyond the caches", prepare_chase,
      run_chase },
    { "code", "code beyond the instruction caches", prepare_code, run_code },
    { "fresh", "code that is new each time", prepare_fresh, run_fresh },
    { "pause", "PAUSE loop", NULL, run_pause },
    { "syscalls", "system calls", NULL, run_syscalls },
    { "sleep", "asleep", NULL, run_sleep },
};

static const Workload *find_workload(const char *name)
{
    for (size_t i = 0; i < sizeof(workloads) / sizeof(workloads[0]); i++) {
        if (!strcmp(workloads[i].name, name)) {
            return &workloads[i];
        }
    }
    fprintf(stderr, "workload: no workload %s, try --list\n", name);
    exit(EXIT_FAILURE);
}

static void list_workloads(void)
{
    for (size_t i = 0; i < sizeof(workloads) / sizeof(workloads[0]); i++) {
        printf("%s\t%s\n", workloads[i].name, workloads[i].what);
    }
}

static void tell_host(bool wanted, const char *what, const char *name)
{
    char text[128];

    if (!wanted) {
        return;
    }
    snprintf(text, sizeof(text), "%s %s %d", what, name, sched_getcpu());
    if (guest_sync(text, NULL, 0) < 0) {
        die("sync with the host");
    }
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
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

static const struct option long_options[] = {
    { "perf", required_argument, NULL, 'p' },
    { "sync", no_argument, NULL, 's' },
    { "cpu", required_argument, NULL, 'c' },
    { "seconds", required_argument, NULL, 't' },
    { "list", no_argument, NULL, 'l' },
    { }
};

int main(int argc, char **argv)
{
    PerfControl perf = { -1, -1 };
    bool sync = false;
    double seconds = 0, end;
    const Workload *w;
    uint64_t iterations;
    int option;

    while ((option = getopt_long(argc, argv, "+", long_options, NULL)) > 0) {
        switch (option) {
        case 'p':
            if (!perf_control_open(&perf, optarg)) {
                die(optarg);
            }
            break;
        case 's':
            sync = true;
            break;
        case 'c':
            pin(atoi(optarg));
            break;
        case 't':
            seconds = atof(optarg);
            break;
        case 'l':
            list_workloads();
            return EXIT_SUCCESS;
        default:
            return EXIT_FAILURE;
        }
    }
    if (argc - optind != 2) {
        fprintf(stderr, "usage: workload [--perf DIR] [--sync] [--cpu N] "
                "[--seconds S] NAME ITERATIONS\n");
        return EXIT_FAILURE;
    }
    w = find_workload(argv[optind]);
    iterations = strtoull(argv[optind + 1], NULL, 0);
    if (!iterations) {
        fprintf(stderr, "workload: iterations must be above 0\n");
        return EXIT_FAILURE;
    }

    if (w->prepare) {
        w->prepare();
    }
    perf_control(&perf, "enable\n");
    tell_host(sync, "begin", w->name);
    end = seconds ? now() + seconds : 0;
    do {
        w->run(iterations);
    } while (seconds && now() < end);
    tell_host(sync, "end", w->name);
    perf_control(&perf, "disable\n");
    return EXIT_SUCCESS;
}
