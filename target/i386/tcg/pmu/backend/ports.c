/*
 * Ports: which ledger item counts each, and in which cycles each is in use.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>
#include <string.h>

#include "tcg/pmu/backend/ports.h"

#define ITEM(item) (PMU_ITEM_##item - PMU_ITEM_PORT_0)

/* Golden Cove's 10 and 11 as uops.info has them: an ALU and a load port. */
const uint8_t pmu_port_items[PMU_MAX_PORTS] = {
    ITEM(PORT_0), ITEM(PORT_1), ITEM(PORT_LOAD), ITEM(PORT_LOAD),
    ITEM(PORT_STORE_DATA), ITEM(PORT_5), ITEM(PORT_6),
    ITEM(PORT_STORE_ADDRESS), ITEM(PORT_STORE_ADDRESS),
    ITEM(PORT_STORE_DATA), ITEM(PORT_5), ITEM(PORT_LOAD),
};

void pmu_ports_init(PmuPortState *ports, const PmuUarch *uarch,
                    uint64_t cycle)
{
    memset(ports, 0, sizeof(*ports));
    ports->begin = cycle - PMU_PORT_DISPATCH_SEEN;
    ports->memory = uarch->ports[PMU_UNIT_LOAD] |
                    uarch->ports[PMU_UNIT_STORE_ADDRESS] |
                    uarch->ports[PMU_UNIT_STORE_DATA];
}

static void forget_cycle(PmuPortState *ports, uint64_t cycle)
{
    uint16_t *taken = &ports->taken[cycle % PMU_CYCLE_WINDOW];

    for (uint16_t left = *taken; left; left &= left - 1) {
        ports->waiting[__builtin_ctz(left)]--;
    }
    *taken = 0;
}

void pmu_ports_forget(PmuPortState *ports, uint64_t cycle)
{
    uint64_t end = MIN(cycle, ports->begin + PMU_CYCLE_WINDOW);

    for (uint64_t i = ports->begin; i < end; i++) {
        forget_cycle(ports, i);
    }
    ports->begin = cycle;
}

void pmu_ports_release(PmuPortState *ports, unsigned port, uint64_t cycle)
{
    uint16_t *taken = &ports->taken[cycle % PMU_CYCLE_WINDOW];

    if (cycle >= ports->begin && cycle < ports->begin + PMU_CYCLE_WINDOW &&
        *taken >> port & 1) {
        *taken &= ~(1u << port);
        ports->waiting[port]--;
    }
}
