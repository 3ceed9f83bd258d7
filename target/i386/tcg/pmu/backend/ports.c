/*
 * Ports: which there are, and which of them go together.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>

#include "tcg/pmu/backend/ports.h"

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

void pmu_ports_release(PmuPipeline *p, uint16_t ports)
{
    for (uint32_t sets = p->ports.sets.with[ports]; sets; sets &= sets - 1) {
        p->ports.taken[__builtin_ctz(
            sets)] -= p->ports.sets.share[__builtin_ctz(sets)];
    }
}

unsigned pmu_ports_idle(const PmuPipeline *p, uint16_t ports)
{
    unsigned best = __builtin_ctz(ports);

    for (ports &= ports - 1; ports; ports &= ports - 1) {
        unsigned port = __builtin_ctz(ports);

        if (p->ports.dispatched[port] < p->ports.dispatched[best]) {
            best = port;
        }
    }
    return best;
}
