/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * sampled: a group of slots, instructions and topdown-retiring, which the
 * kernel reads at each sample of instructions, within the handler of its
 * interrupt.  perf's "{slots,instructions,topdown-retiring}:S" is that, but
 * perf 6.12 puts the metric in the place of the event to sample.
 *
 *   sampled PERIOD ITERATIONS
 *
 * prints how many samples there were.
 */

#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "loops.h"
#include "perf-event.h"

/* Of the ring buffer; a power of two. */
#define PAGES 8

static void die(const char *what)
{
    perror(what);
    exit(EXIT_FAILURE);
}

static int open_event(uint64_t config, uint64_t period, int leader)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_RAW,
        .config = config,
        .sample_period = period,
        .sample_type = period ? PERF_SAMPLE_READ : 0,
        .read_format = PERF_FORMAT_GROUP,
        .disabled = leader < 0,
    };

    return perf_event_open(&attr, 0, -1, leader);
}

/* Take all records; how many of them are samples. */
static unsigned take(struct perf_event_mmap_page *page, size_t page_size)
{
    const uint8_t *data = (const uint8_t *)page + page_size;
    uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
    uint64_t tail = page->data_tail;
    unsigned samples = 0;

    while (tail < head) {
        /* Records are of whole 8 bytes, as their headers are. */
        const struct perf_event_header *header =
            (const void *)(data + tail % (PAGES * page_size));

        samples += header->type == PERF_RECORD_SAMPLE;
        tail += header->size;
    }
    __atomic_store_n(&page->data_tail, tail, __ATOMIC_RELEASE);
    return samples;
}

int main(int argc, char **argv)
{
    size_t page_size = sysconf(_SC_PAGESIZE);
    struct perf_event_mmap_page *page;
    unsigned samples = 0;
    uint64_t iterations;
    int leader, sampler;

    if (argc != 3) {
        fprintf(stderr, "usage: sampled PERIOD ITERATIONS\n");
        return EXIT_FAILURE;
    }
    iterations = strtoull(argv[2], NULL, 0);
    leader = open_event(0x0400, 0, -1);
    sampler = open_event(0x00c0, strtoull(argv[1], NULL, 0), leader);
    open_event(0x8000, 0, leader);
    page = mmap(NULL, (1 + PAGES) * page_size, PROT_READ | PROT_WRITE,
                MAP_SHARED, sampler, 0);
    if (page == MAP_FAILED) {
        die("mmap of an event");
    }
    if (ioctl(leader, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP) < 0) {
        die("enable");
    }
    for (uint64_t i = 0; i < iterations; i++) {
        run_nops(100);
        samples += take(page, page_size);
    }
    printf("%u samples\n", samples);
    return samples ? EXIT_SUCCESS : EXIT_FAILURE;
}
