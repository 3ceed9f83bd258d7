/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The loops of tma.c:
 *
 *   uint64_t f(uint64_t iterations, void *data, uint64_t state)
 *
 * Each has one bottleneck by construction, or one kind of thing that happens
 * all the time.  What a loop returns is its next state: it goes on where it
 * stopped.  The first is 0; those without a state return anything.
 */

    .macro FUNCTION name
    .globl \name
    .type \name, @function
    .balign 64
\name:
    .endm

    .macro END name
    dec %rdi
    jnz 1b
    ret
    .size \name, . - \name
    .endm

    /* NOP of eight bytes (SDM vol. 2, NOP) */
    .macro NOP8
    .byte 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0
    .endm

    .text

/* Memory: loads that need the one before, from the first at %rsi on. */
FUNCTION chase
    lea (%rsi,%rdx), %rax
1:  .rept 16
    mov (%rax), %rax
    .endr
    dec %rdi
    jnz 1b
    sub %rsi, %rax
    ret
    .size chase, . - chase

/* A load in each line, one after the other; 64 MiB and then from the start. */
FUNCTION stream_loads
    mov %rdx, %rax
1:  .irp line, 0, 64, 128, 192, 256, 320, 384, 448
    mov \line(%rsi,%rax), %rcx
    .endr
    add $512, %rax
    and $(64 << 20) - 1, %eax
END stream_loads

/* Non-temporal stores to all of a line, one line after the other. */
FUNCTION stream_stores
    mov %rdx, %rax
1:  .irp byte, 0, 8, 16, 24, 32, 40, 48, 56
    movnti %rcx, \byte(%rsi,%rax)
    .endr
    add $64, %rax
    and $(64 << 20) - 1, %eax
END stream_stores

/*
 * Stores to lines of 8 MiB, more than L2 holds and less than the STLB knows,
 * in an order that no prefetcher follows (a linear congruential generator, as
 * in tma.c), four at a time, each in another 2 MiB.  None waits for another.
 */
FUNCTION stores
    mov %rdx, %rax
1:  imul $1664525, %rax, %rax
    add $1013904223, %rax
    mov %rax, %rcx
    and $(1 << 15) - 1, %ecx
    shl $6, %rcx
    .irp place, 0, 0x1ff140, 0x3fe280, 0x5fd3c0
    mov %rdi, \place(%rsi,%rcx)
    .endr
END stores

/* Four bytes stored, eight loaded: the load waits for the store's end. */
FUNCTION blocked_forwards
    xor %eax, %eax
1:  .rept 20
    mov %eax, (%rsi)
    mov (%rsi), %rax
    .endr
END blocked_forwards

/* Loads that need the one before, each 4 KiB behind a store. */
FUNCTION aliases
    mov %rsi, %rax
1:  .rept 20
    mov %rdi, (%rax)
    mov 4096(%rax), %rax
    .endr
END aliases

/* Locked instructions on a line that is ours. */
FUNCTION locks
1:  .rept 20
    lock incq (%rsi)
    .endr
END locks

/* From the end of a line to the next. */
FUNCTION split_loads
1:  .rept 20
    mov 60(%rsi), %rax
    .endr
END split_loads

FUNCTION split_stores
1:  .rept 20
    mov %rax, 60(%rsi)
    .endr
END split_stores

/* Loads and stores that hit, and little else. */
FUNCTION memory_operations
1:  .rept 20
    mov (%rsi), %rax
    mov 64(%rsi), %rcx
    mov %rdx, 128(%rsi)
    .endr
END memory_operations

/*
 * Known numbers of many kinds of instructions, each of which the hardware has
 * an event for: event_tests.py knows them.  20 instructions.
 */
FUNCTION kinds
    xor %r8d, %r8d
1:  mov (%rsi), %rax                /* 4 loads, */
    mov 8(%rsi), %rax
    mov 60(%rsi), %rax              /* of which one is split */
    mov %rdx, 128(%rsi)             /* 4 stores, */
    mov %rdx, 136(%rsi)
    mov %rdx, 188(%rsi)             /* of which one is split */
    lock incq 256(%rsi)             /* and this is a load and a store */
    addsd %xmm8, %xmm0
    addss %xmm8, %xmm1
    addss %xmm8, %xmm2
    nop
    nop
    nop
    test %r8d, %r8d                 /* 4 branches, 3 of them conditional */
    jnz 2f                          /* never */
    jz 2f                           /* always */
    nop                             /* not executed */
2:  jmp 3f
3:  mov %edi, %eax
END kinds

/* Execution: chains of additions, of which each takes a cycle and a port. */
FUNCTION one_port
1:  .rept 100
    add $1, %eax
    .endr
END one_port

FUNCTION two_ports
1:  .rept 100
    add $1, %eax
    add $1, %ecx
    .endr
END two_ports

FUNCTION four_ports
1:  .rept 100
    add $1, %eax
    add $1, %ecx
    add $1, %edx
    add $1, %r8d
    .endr
END four_ports

/* Multiplications of latency 3: two cycles in three nothing executes. */
FUNCTION no_port
1:  .rept 100
    imul %rax, %rax
    .endr
END no_port

/* Divisions that need the one before. */
FUNCTION divide
    mov $3, %ecx
    mov $-1, %rax
1:  .rept 20
    xor %edx, %edx
    div %rcx
    or $1 << 30, %rax
    .endr
END divide

FUNCTION pauses
1:  .rept 20
    pause
    .endr
END pauses

FUNCTION fences
1:  .rept 20
    lfence
    .endr
END fences

/* What kinds of instructions retire. */
FUNCTION scalar_fp
    xorps %xmm0, %xmm0
    xorps %xmm1, %xmm1
    xorps %xmm2, %xmm2
    xorps %xmm3, %xmm3
    xorps %xmm8, %xmm8
1:  .rept 20
    mulsd %xmm8, %xmm0
    mulsd %xmm8, %xmm1
    addss %xmm8, %xmm2
    addss %xmm8, %xmm3
    .endr
END scalar_fp

/* Products of denormal numbers. */
FUNCTION assists
    mov $0xc000000000001, %rax
    movq %rax, %xmm8
    mov $0x3ff8000000000000, %rax       /* 1.5 */
    movq %rax, %xmm9
1:  .rept 4
    movapd %xmm8, %xmm0
    mulsd %xmm9, %xmm0
    .endr
END assists

FUNCTION vector_fp
    vxorps %ymm8, %ymm8, %ymm8
    vxorps %ymm9, %ymm9, %ymm9
1:  .rept 20
    vmulps %ymm8, %ymm9, %ymm0
    vaddpd %ymm8, %ymm9, %ymm1
    vmulps %xmm8, %xmm9, %xmm2
    vaddpd %xmm8, %xmm9, %xmm3
    .endr
    dec %rdi
    jnz 1b
    vzeroupper
    ret
    .size vector_fp, . - vector_fp

FUNCTION x87
    fldz
    fld1
1:  .rept 20
    fmul %st(0), %st
    fadd %st(0), %st(1)
    .endr
    dec %rdi
    jnz 1b
    fstp %st(0)
    fstp %st(0)
    ret
    .size x87, . - x87

FUNCTION nops
1:  .rept 240
    nopl 0(%rax)
    .endr
END nops

/* Branches that are always, or never, taken. */
FUNCTION branches
    xor %eax, %eax
1:  .rept 20
    jnz 2f
    nop
    jz 2f
    nop
2:  test %eax, %eax
    .endr
END branches

/*
 * Speculation: on a bit that no predictor knows, see workload.c.  All but 0
 * is in the sequence, on which 0 follows itself.
 */
FUNCTION mispredicts
    mov %rdx, %rax
    test %rax, %rax
    jnz 1f
    movabs $0x2545f4914f6cdd1d, %rax
1:  mov %rax, %rdx
    shl $13, %rdx
    xor %rdx, %rax
    mov %rax, %rdx
    shr $7, %rdx
    xor %rdx, %rax
    mov %rax, %rdx
    shl $17, %rdx
    xor %rdx, %rax
    test $0x10000, %eax
    jz 2f
    nop
2:
END mispredicts

/* Code that changes itself, in pages that tma.c makes writable. */
    .balign 4096
FUNCTION clears
1:  mov %edi, clears_operand(%rip)
    nop
    .byte 0xb8                      /* mov $clears_operand, %eax */
clears_operand:
    .long 0
END clears
    .balign 4096

/*
 * Microcode: rotations through carry by a count in CL are more micro-ops than
 * the four that decoders emit (uops.info).
 */
FUNCTION microcode
    mov $5, %ecx
1:  .rept 20
    rcl %cl, %rax
    rcr %cl, %rdx
    .endr
END microcode

/*
 * Code.  Straight lines of it: more than the L1I holds; more than the micro-op
 * cache holds; with operands of 16 bits, whose length the predecoder finds
 * out slowly; of which half does not fit the micro-op cache.
 */
FUNCTION icache
1:  .rept 32 * 1024
    NOP8
    .endr
END icache

FUNCTION decode
1:  .rept 2000
    movabs $0x123456789abcdef0, %rax
    .endr
END decode

FUNCTION lcp
1:  .rept 6000
    addw $0x1234, %ax
    .endr
END lcp

FUNCTION dsb_switches
1:  .rept 40
    .rept 64
    nop
    .endr
    .rept 16
    NOP8
    .endr
    .endr
END dsb_switches

/* A taken jump behind each few instructions, from window to window. */
FUNCTION dsb_jumps
1:  .rept 200
    nop
    nop
    jmp 2f
    .balign 64
2:
    .endr
END dsb_jumps

/* More jumps than the branch target buffer has entries. */
FUNCTION unknown_branches
1:  .rept 15000
    jmp 2f
2:
    .endr
END unknown_branches

/*
 * As many jumps, each to a line that L1I lacks: the predictor does not know
 * them, and what it would find behind them it cannot ask for ahead.
 */
FUNCTION missed_lines
1:  .rept 14336
    jmp 2f
    .balign 256
2:
    .endr
END missed_lines

/* A line in each of more pages than the ITLB has entries. */
    .balign 4096
FUNCTION itlb
1:
    .set line, 64
    .rept 448
    jmp 2f
    .balign 4096
    .skip line
2:
    .set line, line % 4032 + 64
    .endr
END itlb

    .section .note.GNU-stack, "", @progbits
