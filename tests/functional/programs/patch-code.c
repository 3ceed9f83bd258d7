/*
 * Test that a thread runs the code that another one has stored.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 *   patch-code [PATCHES [OFFSET]]
 *
 * One thread patches a function that returns a number, and then says which; the
 * other one calls it and must get that number or a newer one.  Both follow the
 * rules for cross-modifying code (Intel SDM vol. 3A, "Handling Self- and
 * Cross-Modifying Code"): the caller executes a serializing instruction between
 * reading what the number is and the call.  The patching thread serializes as
 * well before it tells the number, as Linux does after each step of a patch.
 *
 * The number is at OFFSET from the end of a page: by default at -64, where it
 * lies within an aligned doubleword.  At -2 its upper half, which is 0 in the
 * first 65,535 patches, lies in the next page.
 *
 * Each patch waits for a call that returns the one before, so that it modifies
 * code that runs; MAX_OLD_CALLS that do not are enough to know.  A host may let
 * the two run by turns, a time slice for each patch, so MAX_SECONDS are enough
 * as well.  Prints how many calls ran code that was old, and fails if any did.
 */

#define _GNU_SOURCE

#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define MAX_OLD_CALLS 100
#define MAX_SECONDS 5

static uint32_t patches = 200000;

/* mov eax, imm32; ret */
static uint8_t *code;
static _Atomic uint32_t *number;
/* What the number is at least. */
static _Atomic uint32_t published;
/* What the last call returned. */
static _Atomic uint32_t returned;
/* Calls that ran old code. */
static _Atomic uint64_t old;
static atomic_bool done;

/* A call, as QEMU looks for code that was read before a store once a block. */
static __attribute__((noinline)) void serialize(void)
{
    uint32_t a = 0, b, c = 0, d;

    asm volatile("cpuid" : "+a" (a), "=b" (b), "+c" (c), "=d" (d)
                 : : "memory");
}

/* Keep the calling thread on @cpu, if there is one. */
static void stay_on(unsigned cpu)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
}

static void *patch(void *unused)
{
    time_t end = time(NULL) + MAX_SECONDS;

    stay_on(1);
    for (uint32_t n = 1; n <= patches && time(NULL) <= end; n++) {
        uint64_t enough = atomic_load(&old) + MAX_OLD_CALLS;

        /* A MOV, not an XCHG, for which QEMU stops the other thread. */
        atomic_store_explicit(number, n, memory_order_relaxed);
        serialize();
        atomic_store(&published, n);
        while (atomic_load(&returned) != n && atomic_load(&old) < enough) {
        }
    }
    atomic_store(&done, true);
    return unused;
}

static void run(void)
{
    uint32_t (*function)(void) = (void *)code;
    uint64_t calls = 0;

    stay_on(0);
    while (!atomic_load(&done)) {
        uint32_t least = atomic_load(&published), n;

        serialize();
        n = function();
        if (n < least) {
            atomic_fetch_add(&old, 1);
        }
        atomic_store(&returned, n);
        calls++;
    }
    printf("%" PRIu32 " patches, %" PRIu64 " calls, %" PRIu64 " of old code\n",
           atomic_load(&published), calls, atomic_load(&old));
}

int main(int argc, char **argv)
{
    static const uint8_t bytes[] = { 0xb8, 0, 0, 0, 0, 0xc3 };
    pthread_t patcher;
    int offset = -64;
    uint8_t *pages = mmap(NULL, 2 * 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (pages == MAP_FAILED) {
        perror("mmap");
        return EXIT_FAILURE;
    }
    if (argc > 1) {
        patches = strtoul(argv[1], NULL, 0);
    }
    if (argc > 2) {
        offset = atoi(argv[2]);
    }
    code = pages + 4096 + offset - 1;
    memcpy(code, bytes, sizeof(bytes));
    number = (_Atomic uint32_t *)(code + 1);
    if (pthread_create(&patcher, NULL, patch, NULL)) {
        perror("pthread_create");
        return EXIT_FAILURE;
    }
    run();
    pthread_join(patcher, NULL);
    return atomic_load(&old) ? EXIT_FAILURE : EXIT_SUCCESS;
}
