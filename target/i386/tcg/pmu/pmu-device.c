/*
 * The PMU while the guest runs: waits for devices.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A load from a device's memory, IN and OUT go to the device and back before
 * anything behind them is executed (SDM vol. 1, "I/O Instruction Ordering";
 * vol. 3A, strong uncacheable memory); stores to its memory are posted, and
 * nothing waits for them.  The local APIC is in the core.
 */

#include "qemu/osdep.h"
#include "cpu.h"
#include "hw/i386/apic.h"
#include "pmu-internal.h"

/*
 * To a function on PCI Express and back takes below 1 us (Miller et al.,
 * "Motivating Future Interconnects", ANCS 2009) to some us, to the HPET 0.8 to
 * 1.0, to a port on LPC about 1: what Linux takes port 80H for (io_delay).
 */
#define DEVICE_READ_NS  1000

/* ... which is as long to the clock as so many iterations: half a ns each. */
#define DEVICE_ITERATIONS (2 * DEVICE_READ_NS)

void x86_pmu_port(CPUX86State *env)
{
    X86PMU *unit = env->pmu.unit;
    bool user = env->hflags & HF_CPL_MASK;
    uint64_t progress;

    if (!(env->hflags & HF_PMU_TIMING_MASK)) {
        return;
    }
    progress = pmu_timing_device_wait(unit->timing,
                                      user ? PMU_LEVEL_USR : PMU_LEVEL_OS,
                                      unit->uarch.frequency_mhz *
                                      DEVICE_READ_NS / 1000);
    x86_pmu_clock_device(unit, DEVICE_ITERATIONS);
    /* Counters are looked at so much sooner. */
    x86_pmu_counted_shorten(env, progress);
    env->pmu.room = -1;
}

void x86_pmu_io_read(CPUState *cs, hwaddr addr)
{
    DeviceState *apic = X86_CPU(cs)->apic_state;

    cpu_env(cs)->pmu.string_waits = true;
    if (!apic || (addr & TARGET_PAGE_MASK) !=
                 (cpu_get_apic_base(apic) & TARGET_PAGE_MASK)) {
        /* There and back, as with a port. */
        x86_pmu_port(cpu_env(cs));
    }
}
