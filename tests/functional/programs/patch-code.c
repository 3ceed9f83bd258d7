/*
 * Test that a thread runs the code that another one has stored.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 *   patch-code [PATCHES]
 *
 * One thread patches a function that returns a number, and then says which; the
 * other one calls it and must get that number or a newer one.  Both follow the
 * rules for cross-modifying code (Intel SDM vol. 3A, "Handling Self- and
 * Cross-Modifying Code"): the number lies within an aligned doubleword, and the
 * caller executes a serializing instruction between reading what the number is
 * and the call.  Prints how many calls ran code that was old, and fails if any
 * did.
 */

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static uint32_t patches = 200000;

/* mov eax, imm32; ret; with the number at an aligned address. */
static uint8_t *code;
static _Atomic uint32_t *number;
/* What the number is at least. */
static _Atomic uint32_t published;
static atomic_bool done;

static void *patch(void *unused)
{
    for (uint32_t n = 1; n <= patches; n++) {
        atomic_store(number, n);
        atomic_store(&published, n);
    }
    atomic_store(&done, true);
    return unused;
}

static void serialize(void)
{
    uint32_t a = 0, b, c = 0, d;

    asm volatile("cpuid" : "+a" (a), "=b" (b), "+c" (c), "=d" (d)
                 : : "memory");
}

static uint64_t run(void)
{
    uint32_t (*function)(void) = (void *)code;
    uint64_t calls = 0, old = 0;

    while (!atomic_load(&done)) {
        uint32_t least = atomic_load(&published);

        serialize();
        old += function() < least;
        calls++;
    }
    printf("%" PRIu32 " patches, %" PRIu64 " calls, %" PRIu64 " of old code\n",
           patches, calls, old);
    return old;
}

int main(int argc, char **argv)
{
    static const uint8_t bytes[] = { 0xb8, 0, 0, 0, 0, 0xc3 };
    pthread_t patcher;
    uint8_t *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (page == MAP_FAILED) {
        perror("mmap");
        return EXIT_FAILURE;
    }
    if (argc > 1) {
        patches = strtoul(argv[1], NULL, 0);
    }
    code = page + 63;
    memcpy(code, bytes, sizeof(bytes));
    number = (_Atomic uint32_t *)(page + 64);
    if (pthread_create(&patcher, NULL, patch, NULL)) {
        perror("pthread_create");
        return EXIT_FAILURE;
    }
    if (run()) {
        return EXIT_FAILURE;
    }
    pthread_join(patcher, NULL);
    return EXIT_SUCCESS;
}
