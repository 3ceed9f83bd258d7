/*
 * Fuzz target: the registers.  A guest writes anything while time passes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "registers.h"
#include "targets.h"

void fuzz_registers(const uint8_t *data, size_t size)
{
    static Perfmon pmu;
    static PmuLedger ledger;
    FuzzInput in = fuzz_input(data, size);

    fuzz_make_unit(&in, &pmu);
    pmu_ledger_init(&ledger, pmu_uarch(pmu.config.core)->width, 2, 3, 1, 28);
    fuzz_use_unit(&in, &pmu, &ledger);
}
