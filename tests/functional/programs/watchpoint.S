/*
 * A kernel (PVH) with a data breakpoint in the middle of what REP STOSB stores,
 * and a timer whose handler stores next to it.  Ends by isa-debug-exit, with
 * the status 1 + 2 * (did the breakpoint come?) + 4 * (did the timer?).  There
 * is no breakpoint without WATCH.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#define CODE            0x08
#define DATA            0x10
#define VECTOR_DB       1
#define VECTOR_TIMER    0x20

/* The local APIC, and 20 us of its timer */
#define APIC_EOI        0xfee000b0
#define APIC_SPURIOUS   0xfee000f0
#define APIC_LVT_TIMER  0xfee00320
#define APIC_INITIAL    0xfee00380
#define APIC_DIVIDE     0xfee003e0
#define PERIOD          20000

/* Write, one byte */
#define DR7_WATCH0      0x00010001

#define STORED          50000
/* Iterations between strings */
#define WORK            200000
#define WATCHED         (buffer + 40000)

        .section .note.PVH, "a", @note
        .long 4, 4, 18          /* XEN_ELFNOTE_PHYS32_ENTRY */
        .asciz "Xen"
        .long _start

        .code32
        .text
        .global _start
_start:
        mov $stack, %esp
        lgdt gdt_register
        ljmp $CODE, $1f
1:      mov $DATA, %eax
        mov %eax, %ds
        mov %eax, %es
        mov %eax, %ss
        mov $breakpoint, %eax
        mov $VECTOR_DB, %ecx
        call set_gate
        mov $timer, %eax
        mov $VECTOR_TIMER, %ecx
        call set_gate
        lidt idt_register
        mov $0xff, %al          /* no interrupt of the PICs */
        outb %al, $0x21
        outb %al, $0xa1
        movl $0x1ff, APIC_SPURIOUS
        movl $0xb, APIC_DIVIDE
        movl $(0x20000 | VECTOR_TIMER), APIC_LVT_TIMER
        movl $PERIOD, APIC_INITIAL
#ifdef WATCH
        mov $WATCHED, %eax
        mov %eax, %dr0
        mov $DR7_WATCH0, %eax
        mov %eax, %dr7
#endif
        sti
        mov $200, %esi
        xor %eax, %eax
1:      mov $STORED, %ecx
        mov $buffer, %edi
        rep stosb
        mov $WORK, %ecx
2:      dec %ecx
        jnz 2b
        dec %esi
        jnz 1b
        cli
        xor %eax, %eax
        cmpl $0, breakpoints
        setne %al
        cmpl $0, ticks
        je 1f
        or $2, %al
1:      outl %eax, $0xf4
1:      hlt
        jmp 1b

/* Vector %ecx is handled at %eax. */
set_gate:
        lea idt(, %ecx, 8), %edi
        mov %ax, (%edi)
        movw $CODE, 2(%edi)
        movw $0x8e00, 4(%edi)
        shr $16, %eax
        mov %ax, 6(%edi)
        ret

breakpoint:
        incl breakpoints
        iret

/* The store is in the watched page, and in the middle of a block. */
timer:
        incl WATCHED + 100
        incl ticks
        movl $0, APIC_EOI
        iret

        .data
        .balign 8
gdt:
        .quad 0, 0x00cf9a000000ffff, 0x00cf92000000ffff
gdt_register:
        .word 23
        .long gdt
idt_register:
        .word 511
        .long idt

        .bss
        .balign 4096
idt:
        .skip 512
buffer:
        .skip STORED
        .balign 16
        .skip 4096
stack:
breakpoints:
        .long 0
ticks:
        .long 0
