/*
 * What a test of kvm-unit-tests looks like from outside: a kernel (PVH) that
 * says TEXT on the serial port and ends through isa-debug-exit with STATUS.
 * -DCOUNT: instructions are counted meanwhile; -DRESET: it resets instead of
 * ending; -DHANG: it does neither.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#define IA32_PERFEVTSEL0        0x186
#define IA32_PERF_GLOBAL_CTRL   0x38f
/* INST_RETIRED.ANY_P at CPL 0 */
#define INSTRUCTIONS            0x004200c0

        .section .note.PVH, "a", @note
        .long 4, 4, 18          /* XEN_ELFNOTE_PHYS32_ENTRY */
        .asciz "Xen"
        .long _start

        .code32
        .text
        .global _start
_start:
#ifdef COUNT
        xor %edx, %edx
        mov $INSTRUCTIONS, %eax
        mov $IA32_PERFEVTSEL0, %ecx
        wrmsr
        mov $1, %eax
        mov $IA32_PERF_GLOBAL_CTRL, %ecx
        wrmsr
#endif
        mov $text, %esi
1:      mov $0x3fd, %dx
        in %dx, %al
        test $0x20, %al
        jz 1b
        lodsb
        test %al, %al
        jz 2f
        mov $0x3f8, %dx
        out %al, %dx
        jmp 1b
2:
#ifdef RESET
        mov $0x64, %dx
        mov $0xfe, %al
        out %al, %dx
#elif !defined(HANG)
        mov $STATUS, %eax
        mov $0xf4, %dx
        out %eax, %dx
#endif
        cli
1:      hlt
        jmp 1b

text:   .asciz TEXT
