/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * vperfctr: a process's own counters as perfctr has them (perfctr-2.6, "virtual
 * performance counters"), on top of perf_event_open().
 *
 * - a-mode: a counter accumulates.  Its value is a sum, which the kernel keeps,
 *   and what RDPMC has counted since a start; a read that a context switch
 *   falls into begins again.
 * - i-mode: a counter interrupts after so many events, and stops.  The process
 *   gets a signal, and resumes it.
 *
 *   vperfctr a-mode       reads around loops of known length
 *   vperfctr restarts     reads while another process takes the CPU
 *   vperfctr i-mode       signals of a loop of known length
 *   vperfctr global       a CPU's counter beside those of two processes
 *
 * Prints lines "NAME expected E observed O".
 */

#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "perf-event.h"
#include "rdpmc.h"

#define PAGE 4096

typedef struct {
    int fd;
    volatile struct perf_event_mmap_page *page;
    uint64_t restarts;          /* of reads, up to now */
} Vperfctr;

static _Noreturn void die(const char *what)
{
    perror(what);
    exit(EXIT_FAILURE);
}

/* Instructions in user mode; @period: i-mode, 0: a-mode. */
static Vperfctr vperfctr_open_for(uint64_t period, pid_t pid, int cpu)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_HARDWARE,
        .config = PERF_COUNT_HW_INSTRUCTIONS,
        .exclude_kernel = 1,
        .exclude_hv = 1,
        .sample_period = period,
        .wakeup_events = 1,
        .disabled = period != 0,
    };
    Vperfctr c = { .fd = perf_event_open(&attr, pid, cpu, -1) };
    void *page;

    page = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, c.fd, 0);
    if (page == MAP_FAILED) {
        die("mmap");
    }
    c.page = page;
    return c;
}

static Vperfctr vperfctr_open(uint64_t period)
{
    return vperfctr_open_for(period, 0, -1);
}

/* perfctr_read_self(): the sum, and the counter since its start. */
static uint64_t vperfctr_read(Vperfctr *c)
{
    uint32_t lock, index;
    int64_t value, sum;

    for (;; c->restarts++) {
        lock = c->page->lock;
        asm volatile("" ::: "memory");
        index = c->page->index;
        sum = c->page->offset;
        if (index && c->page->cap_user_rdpmc) {
            value = rdpmc(index - 1) << (64 - c->page->pmc_width);
            sum += value >> (64 - c->page->pmc_width);
        } else {
            fprintf(stderr, "vperfctr: RDPMC is not allowed\n");
            exit(EXIT_FAILURE);
        }
        asm volatile("" ::: "memory");
        if (c->page->lock == lock) {
            return sum;
        }
    }
}

/* 2 n + 1 instructions. */
static void run(uint64_t n)
{
    asm volatile("1: dec %0\n"
                 "jnz 1b\n" : "+r" (n) : : "cc");
}

/* What a read costs by itself goes with a loop of one round. */
static void a_mode(void)
{
    static const uint64_t rounds[] = { 1, 10, 1000, 100000, 3000000 };
    Vperfctr c = vperfctr_open(0);
    uint64_t base = 0;

    for (unsigned i = 0; i < sizeof(rounds) / sizeof(rounds[0]); i++) {
        uint64_t before, after;

        do {
            c.restarts = 0;
            before = vperfctr_read(&c);
            run(rounds[i]);
            after = vperfctr_read(&c);
        } while (c.restarts);
        if (!i) {
            base = after - before;
        }
        printf("a-mode-%llu expected %llu observed %llu\n",
               (unsigned long long)rounds[i],
               (unsigned long long)(2 * (rounds[i] - 1)),
               (unsigned long long)(after - before - base));
    }
}

static void run_on_cpu_0(void)
{
    cpu_set_t cpu;

    CPU_ZERO(&cpu);
    CPU_SET(0, &cpu);
    if (sched_setaffinity(0, sizeof(cpu), &cpu) < 0) {
        die("sched_setaffinity");
    }
}

static pid_t start_competitor(void)
{
    pid_t pid;

    run_on_cpu_0();
    pid = fork();
    if (!pid) {
        for (;;) {
            sched_yield();
        }
    }
    return pid;
}

/*
 * Each read counts a few instructions more than the one before, whatever
 * happened between them: a value without the start that belongs to it would be
 * off by all that it counted.
 */
static void restarts(void)
{
    enum { READS = 200000, MOST = 200 };
    Vperfctr c = vperfctr_open(0);
    pid_t competitor = start_competitor();
    uint64_t last = vperfctr_read(&c), off = 0;

    for (unsigned i = 0; i < READS; i++) {
        uint64_t value = vperfctr_read(&c);

        off += value - last - 1 >= MOST;
        last = value;
        if (i % 100 == 0) {
            sched_yield();
            last = vperfctr_read(&c);
        }
    }
    kill(competitor, SIGKILL);
    waitpid(competitor, NULL, 0);
    printf("reads-that-jump expected 0 observed %llu\n",
           (unsigned long long)off);
}

#define PERIOD 100003
#define SIGNALS 20

static Vperfctr interrupting;
static volatile unsigned signals;

/* The counter has stopped: it counts on from here. */
static void handle(int number)
{
    (void)number;
    signals++;
    ioctl(interrupting.fd, PERF_EVENT_IOC_REFRESH, 1);
}

static void i_mode(void)
{
    struct sigaction action = { .sa_handler = handle };
    struct f_owner_ex owner = { F_OWNER_TID, syscall(SYS_gettid) };

    interrupting = vperfctr_open(PERIOD);
    sigaction(SIGIO, &action, NULL);
    if (fcntl(interrupting.fd, F_SETFL, O_ASYNC) < 0 ||
        fcntl(interrupting.fd, F_SETOWN_EX, &owner) < 0) {
        die("fcntl");
    }
    ioctl(interrupting.fd, PERF_EVENT_IOC_REFRESH, 1);
    run(PERIOD * (uint64_t)SIGNALS / 2 + PERIOD / 4);
    ioctl(interrupting.fd, PERF_EVENT_IOC_DISABLE, 0);
    printf("i-mode-signals expected %u observed %u\n", SIGNALS, signals);
}

static uint64_t value_of(const Vperfctr *c)
{
    uint64_t value;

    if (read(c->fd, &value, sizeof(value)) != sizeof(value)) {
        die("read");
    }
    return value;
}

/*
 * A global counter sees all that runs on its CPU: this process and another one,
 * each with a counter of its own, and whatever else happens to run.
 */
static void global(void)
{
    enum { ROUNDS = 2000000 };
    Vperfctr cpu, own;
    uint64_t all, parts;
    pid_t child;

    run_on_cpu_0();
    cpu = vperfctr_open_for(0, -1, 0);
    all = value_of(&cpu);
    own = vperfctr_open(0);
    child = fork();
    run(ROUNDS);
    if (!child) {
        _exit(0);
    }
    waitpid(child, NULL, 0);
    parts = value_of(&own) + 2 * ROUNDS;
    all = value_of(&cpu) - all;
    printf("global-sees-both expected 1 observed %d\n", all >= parts);
    printf("global-sees-twice expected 0 observed %d\n", all >= 2 * parts);
}

int main(int argc, char **argv)
{
    if (argc == 2 && !strcmp(argv[1], "a-mode")) {
        a_mode();
    } else if (argc == 2 && !strcmp(argv[1], "restarts")) {
        restarts();
    } else if (argc == 2 && !strcmp(argv[1], "i-mode")) {
        i_mode();
    } else if (argc == 2 && !strcmp(argv[1], "global")) {
        global();
    } else {
        fprintf(stderr, "usage: vperfctr a-mode|restarts|i-mode|global\n");
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
