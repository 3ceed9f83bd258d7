/*
 * The PMU's hooks: the functions that QEMU's own files call.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * For a CPU without a PMU every function does nothing, or answers as stock QEMU
 * would.  docs/devel/pmu.rst lists the call sites.
 */

#ifndef TARGET_I386_PMU_H
#define TARGET_I386_PMU_H

#include "cpu.h"

#ifdef CONFIG_TCG

/*
 * Called before features are expanded: make +perf-metrics and pmu=on imply what
 * they need.  False and @errp set if @cpu cannot have what the user asked for.
 */
bool x86_pmu_expand_features(X86CPU *cpu, Error **errp);

#else

static inline bool x86_pmu_expand_features(X86CPU *cpu, Error **errp)
{
    return true;
}

#endif

#if defined(CONFIG_TCG) && !defined(CONFIG_USER_ONLY)

/* Properties of the class @oc that change the modelled core: pmu-uarch.c */
void x86_pmu_class_init(ObjectClass *oc);

/* Life cycle: pmu-cpu.c */

/*
 * Called at realize, before QEMU filters features and warns of each that TCG
 * lacks.  If @cpu has a unit, drop without a warning the features that TCG
 * lacks and only the CPU model implies.
 */
void x86_pmu_drop_implied(X86CPU *cpu);

/*
 * Called at realize, when features are final: give @cpu its unit, if it is to
 * have one.  False and @errp set if it cannot have it.
 */
bool x86_pmu_realize(X86CPU *cpu, Error **errp);
void x86_pmu_unrealize(X86CPU *cpu);

/* RESET and INIT (SDM vol. 3A, table 10-1). */
void x86_pmu_reset(X86CPU *cpu);
void x86_pmu_init(X86CPU *cpu);

/* CPUID leaf 0AH, if @cpu has a unit. */
void x86_pmu_cpuid_0a(X86CPU *cpu, uint32_t *eax, uint32_t *ebx,
                      uint32_t *ecx, uint32_t *edx);

/*
 * CPUID leaf 80000022H.  If @cpu has a unit with version 2 of AMD's counters,
 * set EAX to say so and EBX to their number.  The caller has set both to 0.
 */
void x86_pmu_cpuid_80000022(X86CPU *cpu, uint32_t *eax, uint32_t *ebx);

/*
 * Called at realize, when QEMU has chosen what CPUID says of caches.  If @cpu
 * has a unit and the user did not choose, let CPUID describe the model's.
 */
void x86_pmu_describe_caches(X86CPU *cpu);

/* CPUID leaves 80000005H and 80000006H, if leaf 4 shows the model's caches. */
void x86_pmu_cpuid_caches(X86CPU *cpu, uint32_t index, uint32_t *eax,
                          uint32_t *ebx, uint32_t *ecx, uint32_t *edx);

/*
 * Returns the TSC; stock QEMU's is @ticks.  With modelled time @ticks are
 * nanoseconds, and the result is in ticks of the modelled TSC.
 */
uint64_t x86_pmu_ticks(CPUX86State *env, uint64_t ticks);

/*
 * CPUID leaves 15H and 16H: the frequencies of a modelled clock.  Sets all
 * registers to 0 if @cpu has none.
 */
void x86_pmu_cpuid_frequencies(X86CPU *cpu, uint32_t index, uint32_t *eax,
                               uint32_t *ebx, uint32_t *ecx, uint32_t *edx);

/* Migration: pmu-vmstate.c */
extern const VMStateDescription vmstate_x86_pmu;

/* hflags without the bits that choose instrumentation, which do not migrate. */
extern const struct VMStateInfo vmstate_info_x86_hflags;
#define VMSTATE_X86_HFLAGS(field, state) \
    VMSTATE_SINGLE(field, state, 0, vmstate_info_x86_hflags, uint32_t)

/* Registers: pmu-msr.c */

/*
 * RDMSR and WRMSR of the MSR in ECX.  They return false if the unit does not
 * have this MSR, and raise #GP if hardware would.  @retaddr is GETPC() of the
 * helper.
 */
bool x86_pmu_rdmsr(CPUX86State *env, uint64_t *value, uintptr_t retaddr);
bool x86_pmu_wrmsr(CPUX86State *env, uint64_t value, uintptr_t retaddr);

/* RDPMC: raise #UD if this CPU has a PMU without it. */
void x86_pmu_require_rdpmc(CPUX86State *env, uintptr_t retaddr);

/*
 * RDPMC; the caller has checked privilege.  Returns false if this CPU has no
 * PMU, and raises #GP if hardware would.
 */
bool x86_pmu_rdpmc(CPUX86State *env, uintptr_t retaddr);

/* Execution: pmu-exec.c, pmu-overflow.c, pmu-flush.c */

/*
 * The vCPU left @tb at an instruction that did not complete.  @data is the
 * third insn_start word of that instruction; EIP is its address already.
 */
void x86_pmu_unwind(CPUX86State *env, const TranslationBlock *tb,
                    uint64_t data);

/*
 * Translated code raises an exception in place of an instruction, the last of
 * its block.  This instruction does not retire, and no unwinding will follow.
 * @retaddr is GETPC() of the helper.
 */
void x86_pmu_unretire(CPUX86State *env, uintptr_t retaddr);

/*
 * INT n, INT3 or INTO, the last instruction of its block, is about to raise its
 * interrupt.  A hypervisor may intercept it: then it does not retire.
 * @retaddr is GETPC() of the helper.
 */
void x86_pmu_raise_int(CPUX86State *env, uintptr_t retaddr);

/* VMRUN is about to deliver INT n, which no instruction raised. */
void x86_pmu_inject_int(CPUX86State *env);

/*
 * Interrupt (@is_hw) or exception @vector is about to be delivered; and has
 * been.  INT n, INT3 and INTO (@is_int) retire only if the delivery succeeds.
 * @is_int is true, too, for what VMRUN injects as a software interrupt.
 */
void x86_pmu_interrupt(CPUX86State *env, int vector, bool is_int, bool is_hw);
void x86_pmu_interrupt_done(CPUX86State *env);

/* IRET has been executed, and the vCPU is about to accept NMIs again. */
void x86_pmu_iret(CPUX86State *env);

/* Entry @entry, APIC_LVT_x, of the local vector table is about to be @value. */
void x86_pmu_lvt(X86CPU *cpu, int entry, uint32_t value);

/*
 * Execution is about to go on elsewhere, or with other registers, but no
 * instruction caused that: SMI, #VMEXIT, INIT, RESET.
 */
void x86_pmu_divert(CPUX86State *env);

/* The vCPU is about to halt.  An overflow so far must still wake it. */
void x86_pmu_halt(CPUX86State *env);

/*
 * The vCPU has left its execution loop.  With icount, an overflow can fall due
 * there.  A replay needs the interrupt by then, as it enters no block before
 * the vCPU has taken the interrupt that the replay's log has next.
 */
void x86_pmu_exec_exit(CPUX86State *env);

/*
 * Linear to physical mappings are about to become invalid: all of them, those
 * of a context (MOV to CR3), or that of one page (SDM vol. 3A, "Operations that
 * Invalidate TLBs and Paging-Structure Caches").
 */
void x86_pmu_flush_all(CPUX86State *env);
void x86_pmu_flush_context(CPUX86State *env);
void x86_pmu_flush_page(CPUX86State *env, uint64_t linear);
/* CR0, or EFER, is about to be @value, which may invalidate all mappings. */
void x86_pmu_flush_cr0(CPUX86State *env, uint32_t value);
void x86_pmu_flush_efer(CPUX86State *env, uint64_t value);
/* The A20 gate of @cpu changes.  May be called on any thread. */
void x86_pmu_flush_a20(X86CPU *cpu);

/* IN or OUT is about to access a port. */
void x86_pmu_port(CPUX86State *env);

/* A load from a device at physical address @addr: TCGCPUOps.io_read. */
void x86_pmu_io_read(CPUState *cs, hwaddr addr);

#else

#define VMSTATE_X86_HFLAGS(field, state) VMSTATE_UINT32(field, state)

static inline void x86_pmu_class_init(ObjectClass *oc) { }

static inline void x86_pmu_drop_implied(X86CPU *cpu) { }

static inline bool x86_pmu_realize(X86CPU *cpu, Error **errp)
{
    return true;
}

static inline void x86_pmu_unrealize(X86CPU *cpu) { }
static inline void x86_pmu_reset(X86CPU *cpu) { }
static inline void x86_pmu_init(X86CPU *cpu) { }

static inline void x86_pmu_cpuid_0a(X86CPU *cpu, uint32_t *eax, uint32_t *ebx,
                                    uint32_t *ecx, uint32_t *edx)
{
}

static inline void x86_pmu_cpuid_80000022(X86CPU *cpu, uint32_t *eax,
                                          uint32_t *ebx)
{
}

static inline void x86_pmu_describe_caches(X86CPU *cpu) { }

static inline void x86_pmu_cpuid_caches(X86CPU *cpu, uint32_t index,
                                        uint32_t *eax, uint32_t *ebx,
                                        uint32_t *ecx, uint32_t *edx)
{
}

static inline uint64_t x86_pmu_ticks(CPUX86State *env, uint64_t ticks)
{
    return ticks;
}

static inline void x86_pmu_cpuid_frequencies(X86CPU *cpu, uint32_t index,
                                             uint32_t *eax, uint32_t *ebx,
                                             uint32_t *ecx, uint32_t *edx)
{
    *eax = *ebx = *ecx = *edx = 0;
}

static inline void x86_pmu_require_rdpmc(CPUX86State *env, uintptr_t retaddr)
{
}

static inline bool x86_pmu_rdpmc(CPUX86State *env, uintptr_t retaddr)
{
    return false;
}

static inline void x86_pmu_unwind(CPUX86State *env, const TranslationBlock *tb,
                                  uint64_t data)
{
}

static inline void x86_pmu_unretire(CPUX86State *env, uintptr_t retaddr) { }

static inline void x86_pmu_raise_int(CPUX86State *env, uintptr_t retaddr) { }

static inline void x86_pmu_interrupt(CPUX86State *env, int vector, bool is_int,
                                     bool is_hw)
{
}

static inline void x86_pmu_iret(CPUX86State *env) { }
static inline void x86_pmu_lvt(X86CPU *cpu, int entry, uint32_t value) { }
static inline void x86_pmu_divert(CPUX86State *env) { }
static inline void x86_pmu_exec_exit(CPUX86State *env) { }
static inline void x86_pmu_interrupt_done(CPUX86State *env) { }
static inline void x86_pmu_flush_all(CPUX86State *env) { }

static inline void x86_pmu_flush_context(CPUX86State *env) { }

static inline void x86_pmu_flush_page(CPUX86State *env, uint64_t linear) { }
static inline void x86_pmu_flush_cr0(CPUX86State *env, uint32_t value) { }
static inline void x86_pmu_flush_efer(CPUX86State *env, uint64_t value) { }
static inline void x86_pmu_flush_a20(X86CPU *cpu) { }
static inline void x86_pmu_port(CPUX86State *env) { }

#endif

#endif
