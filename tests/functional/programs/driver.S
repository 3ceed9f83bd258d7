/*
 * A kernel (PVH) whose driver of the PMU goes wrong: what it is to write to
 * IA32_PERFEVTSEL0 lies in memory, where another function sets AnyThread.
 * Long before, and after, it does what is right.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#define IA32_PERFEVTSEL0        0x186
#define IA32_PERF_GLOBAL_CTRL   0x38f
/* INST_RETIRED.ANY_P at CPL 0 */
#define INSTRUCTIONS            0x004200c0
#define ANY_THREAD              0x00200000

        .section .note.PVH, "a", @note
        .long 4, 4, 18          /* XEN_ELFNOTE_PHYS32_ENTRY */
        .asciz "Xen"
        .long _start

        .code32
        .text
        .global _start, work, spoil, program, selector
_start:
        mov $stack, %esp
        movl $INSTRUCTIONS, selector
        call program
        call work
        call spoil
        call work
        call program
        call work
        cli
1:      hlt
        jmp 1b

/* Time passes. */
work:
        mov $100000, %ecx
1:      dec %ecx
        jnz 1b
        ret

spoil:
        orl $ANY_THREAD, selector
        ret

program:
        xor %edx, %edx
        xor %eax, %eax
        mov $IA32_PERF_GLOBAL_CTRL, %ecx
        wrmsr
        mov selector, %eax
        mov $IA32_PERFEVTSEL0, %ecx
        wrmsr
        mov $1, %eax
        mov $IA32_PERF_GLOBAL_CTRL, %ecx
        wrmsr
        ret

        .bss
        .balign 16
        .skip 4096
stack:
selector:
        .long 0
