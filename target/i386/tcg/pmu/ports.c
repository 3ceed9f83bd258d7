/*
 * The pipeline's ports and its scheduler.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Run time, below the line.
 */

#include <glib.h>
#include <string.h>

#include "stages.h"

#define BIT_OF(item) (1u << (PMU_ITEM_##item - PMU_ITEM_PORT_0))

/* The ledger's items for ports; those of Golden Cove go by Intel's numbers. */
static const uint8_t port_items[PMU_MAX_PORTS] = {
    BIT_OF(PORT_0), BIT_OF(PORT_1), BIT_OF(PORT_LOAD), BIT_OF(PORT_LOAD),
    BIT_OF(PORT_STORE_DATA), BIT_OF(PORT_5), BIT_OF(PORT_6),
    BIT_OF(PORT_STORE_ADDRESS), BIT_OF(PORT_STORE_ADDRESS),
    BIT_OF(PORT_STORE_DATA), BIT_OF(PORT_5), BIT_OF(PORT_LOAD),
};

static void add_set(PmuPortSets *sets, uint16_t ports)
{
    for (unsigned i = 0; i < sets->num; i++) {
        if (sets->ports[i] == ports) {
            return;
        }
    }
    g_assert(sets->num < PMU_MAX_PORT_SETS);
    sets->ports[sets->num] = ports;
    sets->share[sets->num++] = PMU_PORT_UNIT / __builtin_popcount(ports);
}

/* The units of @uarch, and unions of those that have a port in common. */
void pmu_ports_init(PmuPortSets *sets, const PmuUarch *uarch)
{
    unsigned known = 0;

    for (unsigned i = 0; i < PMU_UNIT_NR; i++) {
        add_set(sets, uarch->ports[i]);
    }
    while (known < sets->num) {
        uint16_t ports = sets->ports[known++];

        for (unsigned i = 0; i < known; i++) {
            if (ports & sets->ports[i]) {
                add_set(sets, ports | sets->ports[i]);
            }
        }
    }
    for (unsigned ports = 0; ports < 1u << PMU_MAX_PORTS; ports++) {
        for (unsigned i = 0; i < sets->num; i++) {
            if (!(ports & ~sets->ports[i])) {
                sets->with[ports] |= 1u << i;
            }
        }
        for (unsigned i = 0; i < PMU_MAX_PORTS; i++) {
            sets->items[ports] |= ports >> i & 1 ? port_items[i] : 0;
        }
    }
}

void pmu_ports_give_back(PmuPipeline *p, uint16_t ports)
{
    for (uint32_t sets = p->sets.with[ports]; sets; sets &= sets - 1) {
        p->port_set[__builtin_ctz(sets)] -= p->sets.share[__builtin_ctz(sets)];
    }
}

unsigned pmu_ports_idle(const PmuPipeline *p, uint16_t ports)
{
    unsigned best = __builtin_ctz(ports);

    for (ports &= ports - 1; ports; ports &= ports - 1) {
        unsigned port = __builtin_ctz(ports);

        if (p->dispatched[port] < p->dispatched[best]) {
            best = port;
        }
    }
    return best;
}

/*
 * Resources.  PmuHolds.at is kept short: what is adjacent is one.  Which of two
 * micro-ops that wait comes first is known only later, so cycles are what they
 * take, those in between as well: a resource is idle only if nobody could use
 * it.
 */

uint64_t pmu_resource_free(const PmuPipeline *p, PmuResource r, uint64_t from)
{
    const PmuHolds *holds = &p->resource[r];

    for (uint32_t i = 0; i < holds->num; i++) {
        if (r <= PMU_RESOURCE_DOT && from < holds->at[i].start) {
            break;
        }
        from = MAX(from, holds->at[i].end);
    }
    return from;
}

/* Make @i and the one behind it one. */
static void join_holds(PmuHolds *holds, uint32_t i)
{
    holds->at[i].end = holds->at[i + 1].end;
    holds->num--;
    memmove(&holds->at[i + 1], &holds->at[i + 2],
            (holds->num - i - 1) * sizeof(*holds->at));
}

static void forget_holds(PmuHolds *holds, uint64_t before)
{
    uint32_t over = 0;

    while (over < holds->num && holds->at[over].end <= before) {
        over++;
    }
    holds->num -= over;
    memmove(holds->at, &holds->at[over], holds->num * sizeof(*holds->at));
}

/* The hold that @start, which is free, is in or ends: a new one if need be. */
static uint32_t begin_hold(PmuHolds *holds, uint64_t start)
{
    uint32_t i = 0;

    while (i < holds->num && holds->at[i].start < start) {
        i++;
    }
    if (i && holds->at[i - 1].end == start) {
        return i - 1;
    }
    memmove(&holds->at[i + 1], &holds->at[i],
            (holds->num++ - i) * sizeof(*holds->at));
    holds->at[i].start = start;
    holds->at[i].end = start;
    return i;
}

void pmu_resource_hold(PmuPipeline *p, PmuResource r, uint64_t now,
                       uint64_t start, uint64_t cycles)
{
    PmuHolds *holds = &p->resource[r];
    uint32_t i;

    forget_holds(holds, now);
    i = begin_hold(holds, start);
    while (i + 1 < holds->num) {
        uint64_t room = holds->at[i + 1].start - holds->at[i].end;

        if (room > cycles) {
            break;
        }
        cycles -= room;
        join_holds(holds, i);
    }
    holds->at[i].end += cycles;
    if (holds->num > PMU_MAX_HOLDS) {
        join_holds(holds, 0);
    }
}

void pmu_ports_leave_scheduler(PmuPipeline *p, uint64_t cycle)
{
    p->scheduled--;
    if (p->num_far && p->far[p->num_far - 1] == cycle) {
        p->num_far--;
    } else {
        p->dispatches[cycle % PMU_WINDOW]--;
    }
}
