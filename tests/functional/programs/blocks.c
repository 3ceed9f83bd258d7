/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * blocks FILE: how many cycles blocks of machine code take, as a process that
 * runs them finds out by RDPMC in user mode.  In the manner of nanoBench and
 * BHive, for loops.  Each line of FILE is
 *
 *   NAME REG COPIES ITERATIONS TOTAL BLOCK END
 *
 * for a loop of COPIES times BLOCK, then END, both in hex digits, where END
 * counts register number REG down and jumps to the start.  ITERATIONS are run
 * at once, and that again until it is TOTAL.  Prints for each line one of
 *
 *   NAME sum SUM chunk CHUNK pages PAGES cycles MEAN LEAST slots MEAN LEAST
 *   NAME skip REASON
 *
 * SUM is a checksum of the loop as it lies in memory.  The last four are those
 * of one iteration, on average and from the runs that took least.
 *
 * A block finds a pointer in each register that it does not count with, all
 * to places that are far from each other, and pointers in memory.  Whatever
 * page it touches is mapped, to a few physical pages that fit the first-level
 * cache.  Only so many pages are allowed as the first-level TLB has entries
 * for.  A block whose pointers walk on touches more in the long run: then
 * fewer iterations are run at once, CHUNK.  Each time the registers and the
 * memory are the same at first.
 */

#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "perf-event.h"
#include "rdpmc.h"

#define PAGE 4096ull
#define GPRS 16

/*
 * Addresses: 2 GiB around the code are free, for what is addressed relative
 * to it.  Data pointers are small, so that sums of some are addresses, and
 * loads of 32 bits find the same.
 */
#define CODE_BASE 0x200400000ull
#define CODE_SIZE (64 * 1024)
#define REGISTERS_BASE 0x10000000ull
#define LOADED_BASE 0x18000000ull

/*
 * Each register's pointer in another set of the TLB, another physical page
 * and, as there are fewer of those, another place in the page.
 */
#define REGISTERS_STEP (17 * PAGE + 256)

/*
 * Pointers in memory are to so many places: more do not fit the TLB if a
 * block follows them from one to the next.
 */
#define LOADED_POINTERS 16
#define LOADED_STEP (PAGE + 64)

/* Physical pages: 8 of the 12 ways of the L1D. */
#define FRAMES 8
/* Of the 64 entries of the TLB, which has 4 ways. */
#define MAX_PAGES 48

typedef uint64_t Vector __attribute__((vector_size(16)));

typedef struct {
    int fd;
    const volatile struct perf_event_mmap_page *page;
} Event;

enum { CYCLES, SLOTS, EVENTS };

typedef struct {
    uint64_t count[EVENTS];
} Counts;

typedef struct {
    double mean, least;
} Statistics;

typedef struct {
    char name[64];
    unsigned reg;
    uint64_t iterations, total;
    uint8_t bytes[CODE_SIZE];
    size_t length;
} Loop;

static Event event[EVENTS];
static int frames_fd;
static Vector *frames;              /* FRAMES pages */
static Vector pristine[FRAMES * PAGE / sizeof(Vector)];
static unsigned pages;              /* mapped by the handler */
static uintptr_t page_list[MAX_PAGES];
static sigjmp_buf out_of_block;
static const char *volatile trouble;

/* For run_code. */
uint64_t block_gpr[GPRS], block_entry, block_return_rsp;
uint32_t block_mxcsr;

static _Noreturn void die(const char *what)
{
    perror(what);
    exit(EXIT_FAILURE);
}

/*
 * run_code: all registers from the variables above, then to block_entry,
 * which jumps back to run_code_return.
 */
void run_code(void);
extern const char run_code_return[];
asm(".text\n"
    "run_code:\n"
    "push %rbx; push %rbp; push %r12; push %r13; push %r14; push %r15\n"
    "mov %rsp, block_return_rsp(%rip)\n"
    "fninit\n"
    "ldmxcsr block_mxcsr(%rip)\n"
    ".irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n"
    "pxor %xmm\\n, %xmm\\n\n"
    ".endr\n"
    "mov block_gpr(%rip), %rax\n"
    "mov block_gpr + 8(%rip), %rcx\n"
    "mov block_gpr + 16(%rip), %rdx\n"
    "mov block_gpr + 24(%rip), %rbx\n"
    "mov block_gpr + 32(%rip), %rsp\n"
    "mov block_gpr + 40(%rip), %rbp\n"
    "mov block_gpr + 48(%rip), %rsi\n"
    "mov block_gpr + 56(%rip), %rdi\n"
    ".irp n, 8,9,10,11,12,13,14,15\n"
    "mov block_gpr + 8 * \\n(%rip), %r\\n\n"
    ".endr\n"
    "jmp *block_entry(%rip)\n"
    "run_code_return:\n"
    "mov block_return_rsp(%rip), %rsp\n"
    "cld\n"
    "fninit\n"
    "movl $0x1f80, -8(%rsp)\n"
    "ldmxcsr -8(%rsp)\n"
    "pop %r15; pop %r14; pop %r13; pop %r12; pop %rbp; pop %rbx\n"
    "ret\n");

/* Counting */

static void open_event(Event *e, uint32_t type, uint64_t config)
{
    struct perf_event_attr attr = {
        .type = type,
        .config = config,
        .exclude_kernel = 1,
    };

    e->fd = perf_event_open(&attr, 0, -1, -1);
    e->page = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, e->fd, 0);
    if (e->page == MAP_FAILED) {
        die("mmap of an event");
    }
    if (!e->page->cap_user_rdpmc) {
        fprintf(stderr, "blocks: no cap_user_rdpmc\n");
        exit(EXIT_FAILURE);
    }
}

/* As include/uapi/linux/perf_event.h of Linux says, above the page's lock. */
static inline uint64_t read_event(const Event *e)
{
    const volatile struct perf_event_mmap_page *page = e->page;
    uint32_t seq, index;
    uint64_t count;

    do {
        seq = page->lock;
        asm volatile("" : : : "memory");
        index = page->index;
        count = page->offset;
        if (index) {
            unsigned unused = 64 - page->pmc_width;

            count += (int64_t)(rdpmc(index - 1) << unused) >> unused;
        }
        asm volatile("" : : : "memory");
    } while (page->lock != seq);
    if (!index) {
        fprintf(stderr, "blocks: an event is not on a counter\n");
        exit(EXIT_FAILURE);
    }
    return count;
}

/* Memory */

/* What memory holds at first: pointers. */
static void make_frames(void)
{
    uint64_t *words = (uint64_t *)pristine;

    for (unsigned i = 0; i < FRAMES * PAGE / 8; i++) {
        words[i] = LOADED_BASE + (i ^ i >> 4 ^ i >> 8) % LOADED_POINTERS *
                   LOADED_STEP;
    }
    frames_fd = memfd_create("frames", MFD_CLOEXEC);
    if (frames_fd < 0 || ftruncate(frames_fd, sizeof(pristine)) < 0) {
        die("memfd");
    }
    frames = mmap(NULL, sizeof(pristine), PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_POPULATE, frames_fd, 0);
    if (frames == MAP_FAILED) {
        die("mmap");
    }
}

/* Not by memcpy(): REP MOVSB takes long in an emulated CPU. */
static void fill_frames(void)
{
    for (unsigned i = 0; i < sizeof(pristine) / sizeof(*pristine); i += 4) {
        frames[i] = pristine[i];
        frames[i + 1] = pristine[i + 1];
        frames[i + 2] = pristine[i + 2];
        frames[i + 3] = pristine[i + 3];
        asm volatile("" : : : "memory");
    }
}

static void unmap_pages(void)
{
    while (pages) {
        munmap((void *)page_list[--pages], PAGE);
    }
}

static _Noreturn void leave_block(const char *why)
{
    trouble = why;
    siglongjmp(out_of_block, 1);
}

static void map_page(uint64_t page)
{
    if (pages == MAX_PAGES) {
        leave_block("too many pages");
    }
    if (mmap((void *)page, PAGE, PROT_READ | PROT_WRITE,
             MAP_SHARED | MAP_FIXED_NOREPLACE | MAP_POPULATE, frames_fd,
             page / PAGE % FRAMES * PAGE) != (void *)page) {
        leave_block("an address that cannot be mapped");
    }
    page_list[pages++] = page;
}

static void on_signal(int number, siginfo_t *info, void *context)
{
    switch (number) {
    case SIGSEGV:
        if (info->si_code == SEGV_MAPERR) {
            map_page((uintptr_t)info->si_addr & -PAGE);
            return;
        }
        leave_block(info->si_code == SEGV_ACCERR
                    ? "a store to code" : "an address that is not canonical");
    case SIGBUS:
        leave_block("an address that is not canonical or not aligned");
    case SIGFPE:
        leave_block("a divide error");
    default:
        leave_block("an instruction that is not known");
    }
}

static void catch_signals(void)
{
    static const int caught[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL };
    static uint8_t stack[64 * 1024];
    stack_t alternate = { .ss_sp = stack, .ss_size = sizeof(stack) };
    struct sigaction action = {
        .sa_sigaction = on_signal,
        .sa_flags = SA_SIGINFO | SA_ONSTACK,
    };

    if (sigaltstack(&alternate, NULL) < 0) {
        die("sigaltstack");
    }
    for (size_t i = 0; i < sizeof(caught) / sizeof(caught[0]); i++) {
        if (sigaction(caught[i], &action, NULL) < 0) {
            die("sigaction");
        }
    }
}

/* Blocks */

static void place_code(const Loop *loop)
{
    static const uint8_t jump[] = { 0xff, 0x25, 0, 0, 0, 0 };
    const uint64_t target = (uintptr_t)run_code_return;
    uint8_t *p = mmap((void *)CODE_BASE, CODE_SIZE, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED |
                      MAP_POPULATE, -1, 0);

    if (p != (uint8_t *)CODE_BASE) {
        die("mmap of code");
    }
    memcpy(p, loop->bytes, loop->length);
    memcpy(p + loop->length, jump, sizeof(jump));
    memcpy(p + loop->length + sizeof(jump), &target, sizeof(target));
    if (mprotect(p, CODE_SIZE, PROT_READ | PROT_EXEC) < 0) {
        die("mprotect");
    }
}

/* Run @iterations of the loop; what they took. */
static Counts run(const Loop *loop, uint64_t iterations)
{
    uint64_t before[EVENTS];
    Counts counts;

    for (unsigned i = 0; i < GPRS; i++) {
        block_gpr[i] = REGISTERS_BASE + i * REGISTERS_STEP;
    }
    block_gpr[loop->reg] = iterations;
    block_entry = CODE_BASE;
    block_mxcsr = 0x9fc0;           /* no denormals, all masked */
    fill_frames();
    for (unsigned i = 0; i < EVENTS; i++) {
        before[i] = read_event(&event[i]);
    }
    run_code();
    for (unsigned i = EVENTS; i-- > 0; ) {
        counts.count[i] = read_event(&event[i]) - before[i];
    }
    return counts;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/*
 * The cost of an iteration: of runs of twice as many as there are in a chunk
 * and of runs of once as many, the difference.  So what comes before and after
 * the loop, and its last branch, is not in it.
 */
static void measure(const Loop *loop, uint64_t chunk, Statistics *result)
{
    double sum[EVENTS] = {};
    Counts least_once, least_twice;
    unsigned pairs = 0;

    memset(&least_once, 0xff, sizeof(least_once));
    memset(&least_twice, 0xff, sizeof(least_twice));
    /* Each run finds the caches as another one left them. */
    run(loop, chunk / 8 + 1);
    for (uint64_t done = 0; done < loop->total; done += chunk, pairs++) {
        Counts once = run(loop, chunk), twice = run(loop, 2 * chunk);

        for (unsigned i = 0; i < EVENTS; i++) {
            sum[i] += (double)twice.count[i] - once.count[i];
            least_once.count[i] = least(least_once.count[i], once.count[i]);
            least_twice.count[i] = least(least_twice.count[i],
                                         twice.count[i]);
        }
    }
    for (unsigned i = 0; i < EVENTS; i++) {
        result[i].mean = sum[i] / pairs / chunk;
        result[i].least = ((double)least_twice.count[i] -
                           least_once.count[i]) / chunk;
    }
}

static uint32_t checksum_code(size_t length)
{
    uint32_t sum = 0;

    for (size_t i = 0; i < length; i++) {
        sum = sum * 31 + ((const uint8_t *)CODE_BASE)[i];
    }
    return sum;
}

static void run_loop(const Loop *loop)
{
    volatile uint64_t chunk = loop->iterations;
    Statistics result[EVENTS];

    unmap_pages();
    place_code(loop);
    if (sigsetjmp(out_of_block, 1)) {
        if (chunk == 1 || pages < MAX_PAGES) {
            printf("%s skip %s\n", loop->name, trouble);
            return;
        }
        /* Half as many find those pages mapped that they need. */
        chunk = chunk / 2;
    }
    run(loop, 2 * chunk);
    measure(loop, chunk, result);
    printf("%s sum %u chunk %llu pages %u cycles %.4f %.4f "
           "slots %.4f %.4f\n", loop->name, checksum_code(loop->length),
           (unsigned long long)chunk, pages,
           result[CYCLES].mean, result[CYCLES].least,
           result[SLOTS].mean, result[SLOTS].least);
}

/* Input */

/* The bytes that @digits stand for, to @bytes; how many. */
static size_t read_hex(const char *digits, uint8_t *bytes)
{
    size_t n = strlen(digits) / 2;

    for (size_t i = 0; i < n; i++) {
        char digit[] = { digits[2 * i], digits[2 * i + 1], 0 };

        bytes[i] = strtoul(digit, NULL, 16);
    }
    return n;
}

static bool read_loop(FILE *file, Loop *loop)
{
    static char block[8192], end[64];
    static uint8_t bytes[sizeof(block) / 2];
    unsigned long long iterations, total;
    unsigned copies;
    size_t size;

    if (fscanf(file, "%63s %u %u %llu %llu %8191s %63s", loop->name,
               &loop->reg, &copies, &iterations, &total, block, end) != 7) {
        return false;
    }
    size = read_hex(block, bytes);
    /* Some more is needed behind it. */
    if (loop->reg >= GPRS || !iterations || !total ||
        copies * size > CODE_SIZE - 2 * sizeof(end)) {
        fprintf(stderr, "blocks: %s cannot be a loop\n", loop->name);
        exit(EXIT_FAILURE);
    }
    loop->iterations = iterations;
    loop->total = total;
    for (unsigned i = 0; i < copies; i++) {
        memcpy(loop->bytes + i * size, bytes, size);
    }
    loop->length = copies * size;
    loop->length += read_hex(end, loop->bytes + loop->length);
    return true;
}

int main(int argc, char **argv)
{
    static Loop loop;
    FILE *file = argc == 2 ? fopen(argv[1], "r") : NULL;

    if (!file) {
        fprintf(stderr, "usage: blocks FILE\n");
        return EXIT_FAILURE;
    }
    open_event(&event[CYCLES], PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
    open_event(&event[SLOTS], PERF_TYPE_RAW, 0x0400);
    make_frames();
    catch_signals();
    while (read_loop(file, &loop)) {
        run_loop(&loop);
    }
    if (!feof(file)) {
        fprintf(stderr, "blocks: %s: not as expected behind %s\n", argv[1],
                loop.name);
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
