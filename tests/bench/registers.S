/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A 64 KiB firmware image that does ITERATIONS times what Linux's driver does
 * to the PMU when it takes a task's two events off a CPU and puts them on
 * again: ten register accesses (tests/bench/run measures what one costs).  In
 * real mode, which is CPL 0.  A write to port 0xf4 (isa-debug-exit) ends the
 * machine.
 */

#define PORT_EXIT       0xf4

#define EVTSEL0         0x186
#define EVTSEL1         0x187
#define FIXED_CTR_CTRL  0x38d
#define GLOBAL_CTRL     0x38f
#define A_PMC0          0x4c1
#define A_PMC1          0x4c2
#define SELECTOR        0x4300c0        /* instructions, USR and OS, EN */
#define STOPPED         0x0300c0        /* the same, not enabled */

    .macro write_msr msr, low, high=0
    movl $\msr, %ecx
    movl $\low, %eax
    movl $\high, %edx
    wrmsr
    .endm

    .text
    .globl _start
    .code16
_start:
    cli
    write_msr GLOBAL_CTRL, 0
    write_msr EVTSEL0, SELECTOR
    write_msr EVTSEL1, SELECTOR
    movl $ITERATIONS, %ebx
1:  write_msr GLOBAL_CTRL, 0
    movl $0, %ecx
    rdpmc
    movl $1, %ecx
    rdpmc
    write_msr EVTSEL0, STOPPED
    write_msr A_PMC0, 0x1000, 0xffff
    write_msr A_PMC1, 0x1000, 0xffff
    write_msr EVTSEL0, SELECTOR
    write_msr FIXED_CTR_CTRL, 0xb0
    movl $A_PMC0, %ecx
    rdmsr
    write_msr GLOBAL_CTRL, 3
    decl %ebx
    jnz 1b
    movw $PORT_EXIT, %dx
    movb $0x10, %al
    outb %al, %dx
2:  hlt
    jmp 2b

    .org 0xfff0
    ljmp $0xf000, $0
    .org 0x10000
