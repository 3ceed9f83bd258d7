/*
 * Messages between vCPUs that share an L3.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Run time, below the line.
 */

#include "snoop.h"

static unsigned place_of(uint64_t line)
{
    return line * 0x9e3779b97f4a7c15ull >> 58;
}

void pmu_inbox_put(PmuInbox *inbox, PmuSnoop snoop)
{
    unsigned i = place_of(snoop.line);
    uint64_t now = snoop.line << 1 | snoop.write;
    uint64_t before = __atomic_load_n(&inbox->place[i], __ATOMIC_RELAXED);
    uint64_t pending = __atomic_load_n(&inbox->pending, __ATOMIC_RELAXED);

    /* A line that was written to is gone, whoever read it since. */
    if ((pending >> i & 1) && before >> 1 == snoop.line) {
        now |= before & 1;
    }
    __atomic_store_n(&inbox->place[i], now, __ATOMIC_RELAXED);
    __atomic_fetch_or(&inbox->pending, 1ull << i, __ATOMIC_RELEASE);
}

unsigned pmu_inbox_take(PmuInbox *inbox, PmuSnoop snoops[PMU_SNOOPS])
{
    uint64_t pending = __atomic_exchange_n(&inbox->pending, 0,
                                           __ATOMIC_ACQUIRE);
    unsigned n = 0;

    for (; pending; pending &= pending - 1) {
        uint64_t word = __atomic_load_n(
            &inbox->place[__builtin_ctzll(pending)], __ATOMIC_RELAXED);

        snoops[n++] = (PmuSnoop) { .line = word >> 1, .write = word & 1 };
    }
    return n;
}
