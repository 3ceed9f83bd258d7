/*
 * The hooks: what QEMU's own files call.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Every function does nothing, or answers as stock QEMU would, for a CPU
 * without a PMU.  docs/devel/pmu.rst lists the call sites.
 */

#ifndef TARGET_I386_PMU_H
#define TARGET_I386_PMU_H

#include "cpu.h"

#ifdef CONFIG_TCG

/*
 * Before features are expanded: make +perf-metrics and pmu=on imply what they
 * need.  Returns false with @errp set if this CPU cannot have what was asked.
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
 * At realize, before features are filtered with a warning for each that TCG
 * lacks: if @cpu has a unit, drop those that only its model implies.
 */
void x86_pmu_drop_implied(X86CPU *cpu);

/* At realize, after features are final: give @cpu its unit, if it has one. */
bool x86_pmu_realize(X86CPU *cpu, Error **errp);
void x86_pmu_unrealize(X86CPU *cpu);

/* RESET and INIT (SDM vol. 3A, table 10-1). */
void x86_pmu_reset(X86CPU *cpu);
void x86_pmu_init(X86CPU *cpu);

/* CPUID leaf 0AH, if @cpu has a unit. */
void x86_pmu_cpuid_0a(X86CPU *cpu, uint32_t *eax, uint32_t *ebx,
                      uint32_t *ecx, uint32_t *edx);

/*
 * CPUID leaf 80000022H, EAX and EBX, which are 0: version 2 of AMD's counters,
 * and how many there are, if @cpu has a unit with it.
 */
void x86_pmu_cpuid_80000022(X86CPU *cpu, uint32_t *eax, uint32_t *ebx);

/*
 * At realize, when QEMU has chosen what CPUID says of caches: say what the
 * model has, if @cpu has a unit and the user did not choose.
 */
void x86_pmu_describe_caches(X86CPU *cpu);

/* CPUID leaves 80000005H and 80000006H, if leaf 4 is of the model. */
void x86_pmu_cpuid_caches(X86CPU *cpu, uint32_t index, uint32_t *eax,
                          uint32_t *ebx, uint32_t *ecx, uint32_t *edx);

/*
 * The TSC where stock QEMU's is @ticks: if these are nanoseconds of modelled
 * time, ticks of the modelled TSC.
 */
uint64_t x86_pmu_ticks(CPUX86State *env, uint64_t ticks);

/*
 * CPUID leaves 15H and 16H: frequencies of a modelled clock.  All 0 if there
 * is none.
 */
void x86_pmu_cpuid_frequencies(X86CPU *cpu, uint32_t index, uint32_t *eax,
                               uint32_t *ebx, uint32_t *ecx, uint32_t *edx);

/* Migration: pmu-vmstate.c */
extern const VMStateDescription vmstate_x86_pmu;

/* hflags without the bits that choose instrumentation, which stay here. */
extern const struct VMStateInfo vmstate_info_x86_hflags;
#define VMSTATE_X86_HFLAGS(field, state) \
    VMSTATE_SINGLE(field, state, 0, vmstate_info_x86_hflags, uint32_t)

/* Registers: pmu-msr.c */

/*
 * RDMSR and WRMSR of the MSR in ECX.  They return false if it is none of the
 * unit's, raise #GP if hardware would.  @retaddr: GETPC() of the helper.
 */
bool x86_pmu_rdmsr(CPUX86State *env, uint64_t *value, uintptr_t retaddr);
bool x86_pmu_wrmsr(CPUX86State *env, uint64_t value, uintptr_t retaddr);

/* RDPMC, privilege checked.  False if this CPU has no PMU. */
bool x86_pmu_rdpmc(CPUX86State *env, uintptr_t retaddr);

/* Execution: pmu-exec.c, pmu-overflow.c, pmu-flush.c */

/*
 * The instruction at which @tb was left did not complete.  @data is the third
 * insn_start word of that instruction, and EIP is its address already.
 */
void x86_pmu_unwind(CPUX86State *env, const TranslationBlock *tb,
                    uint64_t data);

/*
 * Translated code raises an exception in place of an instruction, the last of
 * its block: that one does not retire.  No unwinding will follow.
 */
void x86_pmu_unretire(CPUX86State *env);

/*
 * Interrupt or exception @vector is about to be delivered, and has been.  If it
 * is INT n, INT3 or INTO (@is_int), that retires only if delivery succeeds.
 */
void x86_pmu_interrupt(CPUX86State *env, int vector, bool is_int);
void x86_pmu_interrupt_done(CPUX86State *env, bool is_int);

/* IRET has been executed, and NMIs are about to be possible again. */
void x86_pmu_iret(CPUX86State *env);

/* Entry @entry, APIC_LVT_x, of the local vector table is about to be @value. */
void x86_pmu_lvt(X86CPU *cpu, int entry, uint32_t value);

/*
 * Execution is about to go on elsewhere, or with other registers, and no
 * instruction did that: SMI, #VMEXIT, INIT, RESET.
 */
void x86_pmu_divert(CPUX86State *env);

/* The vCPU is about to halt: an overflow so far must still wake it. */
void x86_pmu_halt(CPUX86State *env);

/*
 * The execution loop is left.  With icount that can be where an overflow
 * falls due, and in a replay the interrupt must be there by then: no block
 * is entered before the log's interrupt has been taken.
 */
void x86_pmu_exec_exit(CPUX86State *env);

/*
 * Linear to physical mappings are about to change: all of them, those of a
 * context (MOV to CR3), or that of one page (SDM vol. 3A, "Operations that
 * Invalidate TLBs and Paging-Structure Caches").
 */
void x86_pmu_flush_all(CPUX86State *env);
void x86_pmu_flush_context(CPUX86State *env);
void x86_pmu_flush_page(CPUX86State *env, uint64_t linear);
/* The same if CR0, or EFER, is about to be @value. */
void x86_pmu_flush_cr0(CPUX86State *env, uint32_t value);
void x86_pmu_flush_efer(CPUX86State *env, uint64_t value);
/* The same if the A20 gate of @cpu changes, on any thread. */
void x86_pmu_flush_a20(X86CPU *cpu);

/* IN or OUT. */
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

static inline bool x86_pmu_rdpmc(CPUX86State *env, uintptr_t retaddr)
{
    return false;
}

static inline void x86_pmu_unwind(CPUX86State *env, const TranslationBlock *tb,
                                  uint64_t data)
{
}

static inline void x86_pmu_unretire(CPUX86State *env) { }

static inline void x86_pmu_interrupt(CPUX86State *env, int vector, bool is_int)
{
}

static inline void x86_pmu_iret(CPUX86State *env) { }
static inline void x86_pmu_lvt(X86CPU *cpu, int entry, uint32_t value) { }
static inline void x86_pmu_divert(CPUX86State *env) { }
static inline void x86_pmu_exec_exit(CPUX86State *env) { }
static inline void x86_pmu_interrupt_done(CPUX86State *env, bool is_int) { }
static inline void x86_pmu_flush_all(CPUX86State *env) { }

static inline void x86_pmu_flush_context(CPUX86State *env) { }

static inline void x86_pmu_flush_page(CPUX86State *env, uint64_t linear) { }
static inline void x86_pmu_flush_cr0(CPUX86State *env, uint32_t value) { }
static inline void x86_pmu_flush_efer(CPUX86State *env, uint64_t value) { }
static inline void x86_pmu_flush_a20(X86CPU *cpu) { }
static inline void x86_pmu_port(CPUX86State *env) { }

#endif

#endif
