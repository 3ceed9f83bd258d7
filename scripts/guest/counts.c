/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * counts: does the kernel count what runs?  Each case counts code whose
 * events are known by construction.  In the guest; static.
 *
 *   counts --list
 *   counts CASE      prints TAP; skips on a CPU without a PMU
 *
 * Instructions and branches of user mode are exact but for a few at the
 * edges; of slots only what the code cannot help is expected.
 */

#define _GNU_SOURCE
#include <cpuid.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <x86intrin.h>

/* What system calls and interrupts may add to a user mode count. */
#define EDGE 100
/* Share of slots that a loop limited by one thing has there at least. */
#define MOST 0.6
/* PERF_METRICS has 1/255 of the slots; four of them, and rounding. */
#define METRICS_ERROR (5.0 / 255)
#define RING_PAGES 64

enum {
    SLOTS = 0x400,
    RETIRING = 0x8000,
    BAD_SPECULATION = 0x8100,
    FRONTEND_BOUND = 0x8200,
    BACKEND_BOUND = 0x8300,
};

typedef struct {
    const char *name;
    void (*run)(void);
} Case;

typedef void Loop(uint64_t iterations);

static __attribute__((noreturn, format(printf, 1, 2)))
void fail(const char *format, ...)
{
    va_list ap;

    printf("not ok 1 - ");
    va_start(ap, format);
    vprintf(format, ap);
    va_end(ap);
    printf("\n");
    fflush(stdout);
    _exit(EXIT_FAILURE);
}

/* What cannot be opened fails: a kernel with a PMU has it. */
static int open_event(uint32_t type, uint64_t config, int group,
                      const struct perf_event_attr *more)
{
    struct perf_event_attr attr =
        more ? *more : (struct perf_event_attr) { .exclude_kernel = 1 };
    int fd;

    attr.type = type;
    attr.size = sizeof(attr);
    attr.config = config;
    attr.disabled = group < 0;
    fd = syscall(SYS_perf_event_open, &attr, 0, -1, group, 0);
    if (fd < 0) {
        fail("event %u:%#llx cannot be opened: %s", type,
             (unsigned long long)config, strerror(errno));
    }
    return fd;
}

static void control(int fd, unsigned long request)
{
    if (ioctl(fd, request, PERF_IOC_FLAG_GROUP) < 0) {
        fail("ioctl %#lx: %s", request, strerror(errno));
    }
}

static uint64_t read_count(int fd)
{
    uint64_t count;

    if (read(fd, &count, sizeof(count)) != sizeof(count)) {
        fail("the count cannot be read: %s", strerror(errno));
    }
    return count;
}

static void expect(const char *what, uint64_t observed, uint64_t expected,
                   uint64_t tolerance)
{
    uint64_t off = observed > expected ? observed - expected
                                       : expected - observed;

    if (off > tolerance) {
        fail("%s: expected %llu, at most %llu off, observed %llu", what,
             (unsigned long long)expected, (unsigned long long)tolerance,
             (unsigned long long)observed);
    }
}

static void expect_share(const char *what, double observed, double low,
                         double high)
{
    if (!(observed >= low && observed <= high)) {
        fail("%s: expected %.3f to %.3f, observed %.3f", what, low, high,
             observed);
    }
}

static void pin(int cpu)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof(set), &set) < 0) {
        fail("sched_setaffinity: %s", strerror(errno));
    }
}

/* Nothing waits for anything here: 10 instructions, a branch. */
#define NOP_INSNS 10

static __attribute__((noinline)) void nops(uint64_t iterations)
{
    asm volatile(".balign 64\n"
                 "1: nop; nop; nop; nop; nop; nop; nop; nop\n"
                 "dec %0\n"
                 "jnz 1b\n"
                 : "+r" (iterations) : : "cc");
}

/* Each multiplication waits for the one before. */
static __attribute__((noinline)) void multiplications(uint64_t iterations)
{
    uint64_t product = 3;

    asm volatile(".balign 64\n"
                 "1: imul %1, %1; imul %1, %1; imul %1, %1; imul %1, %1\n"
                 "dec %0\n"
                 "jnz 1b\n"
                 : "+r" (iterations), "+r" (product) : : "cc");
}

/* The count of an event while a loop runs. */
static uint64_t count_loop(int fd, Loop *loop, uint64_t iterations)
{
    control(fd, PERF_EVENT_IOC_RESET);
    control(fd, PERF_EVENT_IOC_ENABLE);
    loop(iterations);
    control(fd, PERF_EVENT_IOC_DISABLE);
    return read_count(fd);
}

/* The event happens so often in each iteration of nops(). */
static void expect_each(uint64_t event, uint64_t each)
{
    const uint64_t n = 1000000;
    int fd = open_event(PERF_TYPE_HARDWARE, event, -1, NULL);
    uint64_t once = count_loop(fd, nops, n);
    uint64_t twice = count_loop(fd, nops, 2 * n);

    expect("the count of more iterations", twice - once, n * each, EDGE);
    expect("the count", once, n * each, EDGE);
    control(fd, PERF_EVENT_IOC_ENABLE);
    control(fd, PERF_EVENT_IOC_DISABLE);
    nops(n);
    expect("the count while disabled", read_count(fd), twice, EDGE);
}

static void instructions(void)
{
    expect_each(PERF_COUNT_HW_INSTRUCTIONS, NOP_INSNS);
}

static void branches(void)
{
    expect_each(PERF_COUNT_HW_BRANCH_INSTRUCTIONS, 1);
}

/* Slots, and of them what TopDown's level 1 says. */
typedef struct {
    uint64_t number;
    uint64_t slots, retiring, bad_speculation, frontend, backend;
} TopDown;

static int open_topdown(bool with_kernel)
{
    const struct perf_event_attr group = {
        .read_format = PERF_FORMAT_GROUP, .exclude_kernel = !with_kernel,
    };
    int leader = open_event(PERF_TYPE_RAW, SLOTS, -1, &group);

    open_event(PERF_TYPE_RAW, RETIRING, leader, &group);
    open_event(PERF_TYPE_RAW, BAD_SPECULATION, leader, &group);
    open_event(PERF_TYPE_RAW, FRONTEND_BOUND, leader, &group);
    open_event(PERF_TYPE_RAW, BACKEND_BOUND, leader, &group);
    return leader;
}

static TopDown topdown(int fd, Loop *loop, uint64_t iterations)
{
    TopDown t;
    uint64_t sum;

    control(fd, PERF_EVENT_IOC_RESET);
    control(fd, PERF_EVENT_IOC_ENABLE);
    loop(iterations);
    control(fd, PERF_EVENT_IOC_DISABLE);
    if (read(fd, &t, sizeof(t)) != sizeof(t) || t.number != 5) {
        fail("the group cannot be read");
    }
    /* No core has less than a slot a cycle, and none retires more. */
    if (t.slots < iterations) {
        fail("%llu iterations have %llu slots",
             (unsigned long long)iterations, (unsigned long long)t.slots);
    }
    sum = t.retiring + t.bad_speculation + t.frontend + t.backend;
    expect_share("sum of the classes, in slots", (double)sum / t.slots,
                 1 - METRICS_ERROR, 1 + METRICS_ERROR);
    return t;
}

static void topdown_sum(void)
{
    int fd = open_topdown(false);
    TopDown once = topdown(fd, nops, 1000000);
    TopDown twice = topdown(fd, nops, 2000000);

    expect_share("slots of twice the work", (double)twice.slots / once.slots,
                 1.5, 2.5);
}

static void topdown_nops(void)
{
    TopDown t = topdown(open_topdown(false), nops, 4000000);

    expect_share("retiring of NOPs", (double)t.retiring / t.slots, MOST, 1);
}

static void topdown_multiplications(void)
{
    TopDown t = topdown(open_topdown(false), multiplications, 2000000);

    expect_share("backend bound of a chain of multiplications",
                 (double)t.backend / t.slots, MOST, 1);
}

/*
 * What another task on the same CPU does meanwhile must not count here, and
 * not get into the metrics.
 */
static void beside(Loop *other, void (*test)(void))
{
    pid_t child;

    pin(0);
    child = fork();
    if (child < 0) {
        fail("fork: %s", strerror(errno));
    }
    if (!child) {
        int fd;

        /* A test that fails ends. */
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        fd = open_topdown(true);
        control(fd, PERF_EVENT_IOC_ENABLE);
        for (;;) {
            other(100000);
        }
    }
    test();
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

/*
 * With the kernel, though that makes the share smaller: of user mode alone
 * Linux leaks slots between tasks, when a group is read right before its task
 * is switched out (icl_set_topdown_event_period() takes 0 for nothing saved).
 */
static void long_nops(void)
{
    int fd = open_topdown(true);
    TopDown t = topdown(fd, nops, 60000000);

    expect_share("retiring of NOPs", (double)t.retiring / t.slots, MOST, 1);
}

static void two_tasks_instructions(void)
{
    beside(multiplications, instructions);
}

static void two_tasks_topdown(void)
{
    beside(multiplications, long_nops);
}

/* Linux, include/uapi/linux/perf_event.h: reading a count with RDPMC. */
static uint64_t read_self(const volatile struct perf_event_mmap_page *page)
{
    uint32_t sequence, index;
    int64_t count, counter;

    do {
        sequence = page->lock;
        __sync_synchronize();
        index = page->index;
        count = page->offset;
        if (!page->cap_user_rdpmc || !index) {
            fail("the page allows no RDPMC");
        }
        counter = __rdpmc(index - 1);
        counter <<= 64 - page->pmc_width;
        counter >>= 64 - page->pmc_width;
        count += counter;
        __sync_synchronize();
    } while (page->lock != sequence);
    return count;
}

static void rdpmc_self(uint32_t type, uint64_t config, uint64_t each)
{
    const uint64_t n = 1000000;
    int fd = open_event(type, config, -1, NULL);
    void *page = mmap(NULL, sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED, fd,
                      0);
    uint64_t before, after, by_kernel;

    if (page == MAP_FAILED) {
        fail("mmap: %s", strerror(errno));
    }
    control(fd, PERF_EVENT_IOC_ENABLE);
    before = read_self(page);
    nops(n);
    after = read_self(page);
    by_kernel = read_count(fd);
    if (each) {
        expect("the count by RDPMC", after - before, n * each, EDGE);
        expect("RDPMC and read()", by_kernel, after, EDGE);
    } else if (after - before < n) {
        fail("%llu iterations count %llu", (unsigned long long)n,
             (unsigned long long)(after - before));
    }
}

static void rdpmc(void)
{
    rdpmc_self(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, NOP_INSNS);
}

static void rdpmc_slots(void)
{
    rdpmc_self(PERF_TYPE_RAW, SLOTS, 0);
}

typedef struct {
    struct perf_event_header header;
    uint64_t ip;
} Sample;

/* Samples come once in each period, and lie where the instructions ran. */
static void sampling(void)
{
    const uint64_t n = 2000000, period = 100000;
    struct perf_event_attr attr = {
        .sample_period = period, .sample_type = PERF_SAMPLE_IP,
        .exclude_kernel = 1,
    };
    int fd = open_event(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, -1,
                        &attr);
    size_t size = sysconf(_SC_PAGESIZE);
    struct perf_event_mmap_page *page =
        mmap(NULL, (RING_PAGES + 1) * size, PROT_READ | PROT_WRITE,
             MAP_SHARED, fd, 0);
    uint64_t at, samples = 0, inside = 0;

    if (page == MAP_FAILED) {
        fail("mmap: %s", strerror(errno));
    }
    control(fd, PERF_EVENT_IOC_ENABLE);
    nops(n);
    control(fd, PERF_EVENT_IOC_DISABLE);
    __sync_synchronize();
    for (at = page->data_tail; at < page->data_head; ) {
        const char *data = (char *)page + size;
        const Sample *s = (const void *)(data + at % (RING_PAGES * size));

        if (s->header.type == PERF_RECORD_SAMPLE) {
            samples++;
            inside += s->ip >= (uintptr_t)nops &&
                      s->ip < (uintptr_t)nops + 128;
        } else if (s->header.type == PERF_RECORD_LOST) {
            fail("samples were lost");
        } else if (s->header.type == PERF_RECORD_THROTTLE) {
            fail("the kernel throttled sampling: raise perf_event_max_sample_"
                 "rate, and set perf_cpu_time_max_percent to 0");
        }
        if (!s->header.size) {
            fail("a record has no size");
        }
        at += s->header.size;
    }
    expect("samples", samples, n * NOP_INSNS / period, 1);
    expect("samples in the loop", inside, samples, 1);
}

/* A signal each time that a count has grown by the period. */
static volatile unsigned int signals;

static void on_signal(int number)
{
    signals++;
}

static void overflow_signals(void)
{
    const uint64_t n = 2000000, period = 1000000;
    struct perf_event_attr attr = {
        .sample_period = period, .wakeup_events = 1,
        .exclude_kernel = 1,
    };
    int fd = open_event(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, -1,
                        &attr);
    struct sigaction action = { .sa_handler = on_signal };

    mmap(NULL, 2 * sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE, MAP_SHARED,
         fd, 0);
    sigaction(SIGIO, &action, NULL);
    if (fcntl(fd, F_SETFL, O_ASYNC) < 0 ||
        fcntl(fd, F_SETOWN, getpid()) < 0) {
        fail("fcntl: %s", strerror(errno));
    }
    control(fd, PERF_EVENT_IOC_ENABLE);
    nops(n);
    control(fd, PERF_EVENT_IOC_DISABLE);
    expect("signals", signals, n * NOP_INSNS / period, 1);
}

/* CPUID.0AH:EAX[7:0]: version of architectural performance monitoring */
static bool cpu_has_pmu(void)
{
    unsigned int eax, ebx, ecx, edx;

    return __get_cpuid_count(0xa, 0, &eax, &ebx, &ecx, &edx) && (eax & 0xff);
}

static const Case cases[] = {
    { "instructions", instructions },
    { "branches", branches },
    { "topdown-sum", topdown_sum },
    { "topdown-nops", topdown_nops },
    { "topdown-multiplications", topdown_multiplications },
    { "two-tasks-instructions", two_tasks_instructions },
    { "two-tasks-topdown", two_tasks_topdown },
    { "rdpmc", rdpmc },
    { "rdpmc-slots", rdpmc_slots },
    { "sampling", sampling },
    { "overflow-signals", overflow_signals },
    { NULL }
};

int main(int argc, char **argv)
{
    const Case *c;

    if (argc == 2) {
        for (c = cases; c->name; c++) {
            if (!strcmp(argv[1], "--list")) {
                printf("%s\n", c->name);
            } else if (!strcmp(argv[1], c->name)) {
                printf("TAP version 13\n1..1\n");
                if (!cpu_has_pmu()) {
                    printf("ok 1 - %s # SKIP the CPU has no PMU\n", c->name);
                    return EXIT_SUCCESS;
                }
                fflush(stdout);
                c->run();
                printf("ok 1 - %s\n", c->name);
                return EXIT_SUCCESS;
            }
        }
        if (!strcmp(argv[1], "--list")) {
            return EXIT_SUCCESS;
        }
    }
    fprintf(stderr, "usage: counts --list|CASE\n");
    return 2;
}
