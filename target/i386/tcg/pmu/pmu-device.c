/*
 * Time that the core waits besides executing instructions: for devices, and for
 * the delivery of exceptions and interrupts.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A load from a device's memory, IN and OUT go to the device and back before
 * the core executes anything behind them (SDM vol. 1, "I/O Instruction
 * Ordering"; vol. 3A, strong uncacheable memory).  Stores to its memory are
 * posted, and nothing waits for them.  The local APIC is in the core, so its
 * registers count as no device.
 */

#include "qemu/osdep.h"
#include "cpu.h"
#include "hw/i386/apic.h"
#include "pmu-internal.h"

/*
 * Time that an access takes to a device and back, in ns.  A function on PCI
 * Express takes below 1 us (Miller et al., "Motivating Future Interconnects",
 * ANCS 2009) to some us, the HPET 0.8 to 1.0 us, a port on LPC about 1 us, for
 * which Linux uses port 80H (io_delay).
 */
#define DEVICE_READ_NS  1000

/*
 * The same in iterations of a REP string instruction, half a ns each, for
 * x86_pmu_clock_device().
 */
#define DEVICE_ITERATIONS (2 * DEVICE_READ_NS)

/*
 * The core has waited: tell the clock, for which it was as long as @iterations,
 * and reduce by @progress what may run before counters are checked.
 */
static void x86_pmu_waited(CPUX86State *env, uint64_t progress,
                           uint64_t iterations)
{
    x86_pmu_clock_device(env->pmu.unit, iterations);
    x86_pmu_counted_shorten(env, progress);
    env->pmu.room = -1;
}

void x86_pmu_port(CPUX86State *env)
{
    X86PMU *unit = env->pmu.unit;
    uint32_t cycles;

    if (env->hflags & HF_PMU_TIMING_MASK) {
        cycles = unit->uarch.frequency_mhz * DEVICE_READ_NS / 1000;
        x86_pmu_waited(env, pmu_timing_device_wait(unit->timing,
                                                   x86_pmu_level(env), cycles),
                       DEVICE_ITERATIONS);
    }
}

/* A cycle of waiting is taken for an iteration: x86_pmu_clock_device(). */
void x86_pmu_delivered(CPUX86State *env)
{
    X86PMU *unit = env->pmu.unit;

    if (env->hflags & HF_PMU_TIMING_MASK) {
        x86_pmu_waited(env, pmu_timing_event_delivery(unit->timing,
                                                      x86_pmu_level(env)),
                       unit->uarch.event_delivery);
    }
}

void x86_pmu_io_read(CPUState *cs, hwaddr addr)
{
    DeviceState *apic = X86_CPU(cs)->apic_state;

    cpu_env(cs)->pmu.string_waits = true;
    if (!apic || (addr & TARGET_PAGE_MASK) !=
                 (cpu_get_apic_base(apic) & TARGET_PAGE_MASK)) {
        /* To a device and back, as with a port. */
        x86_pmu_port(cpu_env(cs));
    }
}
