/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A 64 KiB firmware image that exercises the translator: tests/bench/zero-cost
 * runs it on two emulators and compares what they make of it.
 *
 * No interrupt is ever enabled and no time is looked at, so every run executes
 * the same instructions.  The result, a checksum, goes to port 0xe9; a write
 * to port 0xf4 (isa-debug-exit) ends the machine.
 *
 *   ITERATIONS   how often everything is done
 *   FLUSHES      how often in an iteration the emulator's TLB is flushed, of
 *                which the size, and so the cost, depends on time
 *   COUNT        if 1, fixed counter 0, instructions, counts the first half of
 *                the run; if 2, fixed counter 1, cycles, does; if 0, counters
 *                are written, but none is enabled
 */

#define PAGE_TABLES     0x10000
#define STACK           0x80000
#define USER_STACK      0x90000
#define TSS             0x20000
#define BUFFER          0x200000        /* 64 KiB are used */
#define CODE            0x280000        /* code that is written to */
#define UNMAPPED        0x4000000
#define PORT_RESULT     0xe9
#define PORT_EXIT       0xf4

#define CODE32          0x08
#define DATA            0x10
#define CODE64          0x18            /* SYSCALL: DATA64 follows it */
#define USER_BASE       0x28            /* SYSRET: data at +8, code at +16 */
#define USER_DATA       (0x30 | 3)
#define USER_CODE       (0x38 | 3)
#define TASK            0x40

#define MSR_EFER        0xc0000080
#define MSR_STAR        0xc0000081
#define MSR_LSTAR       0xc0000082
#define MSR_FMASK       0xc0000084
#define FIXED_CTR0      0x309
#define FIXED_CTR_CTRL  0x38d
#define GLOBAL_CTRL     0x38f

    .macro write_msr msr, low, high=0
    movl $\msr, %ecx
    movl $\low, %eax
    movl $\high, %edx
    wrmsr
    .endm

    .macro gate handler
    .word \handler - base, CODE64, 0xee00, 0x000f, 0, 0, 0, 0
    .endm

    .text
    .globl _start
base:

    .code16
_start:
    cli
    cld
    lgdtl %cs:(gdt_pointer - base)
    movl %cr0, %eax
    orl $1, %eax
    movl %eax, %cr0
    ljmpl $CODE32, $protected

    .code32
protected:
    movl $DATA, %eax
    movl %eax, %ds
    movl %eax, %es
    movl %eax, %ss
    movl $STACK, %esp
    /* Map 16 MiB onto themselves in large pages, open to user mode. */
    movl $PAGE_TABLES, %edi
    xorl %eax, %eax
    movl $(3 * 1024), %ecx
    rep stosl
    movl $(PAGE_TABLES + 0x1007), PAGE_TABLES
    movl $(PAGE_TABLES + 0x2007), PAGE_TABLES + 0x1000
    movl $(PAGE_TABLES + 0x2000), %edi
    movl $0x87, %eax
    movl $8, %ecx
1:  movl %eax, (%edi)
    addl $8, %edi
    addl $0x200000, %eax
    loop 1b
    movl $PAGE_TABLES, %eax
    movl %eax, %cr3
    movl $0x620, %eax                   /* PAE, OSFXSR, OSXMMEXCPT */
    movl %eax, %cr4
    write_msr MSR_EFER, 0x101           /* LME, SCE */
    movl $0x80000003, %eax              /* PG, MP, PE */
    movl %eax, %cr0
    ljmpl $CODE64, $long_mode

    .code64
long_mode:
    movl $(CODE64 + 8), %eax
    movl %eax, %ss
    movl $STACK, %esp
    lidt idt_pointer
    movl $TSS, %edi
    movl $26, %ecx
    xorl %eax, %eax
    rep stosl
    movq $(STACK - 0x1000), TSS + 4     /* RSP0 */
    movl $TASK, %eax
    ltr %ax
    write_msr MSR_STAR, 0, (USER_BASE << 16 | CODE64)
    write_msr MSR_LSTAR, from_user
    write_msr MSR_FMASK, 0
    fninit

    write_msr FIXED_CTR0, 0
    write_msr FIXED_CTR_CTRL, (3 * (COUNT & 1) + 0x18 * (COUNT & 2))
    write_msr GLOBAL_CTRL, 0, COUNT
    call work
    call probe
    write_msr FIXED_CTR_CTRL, 0
    write_msr GLOBAL_CTRL, 0, 0
    call probe
    /* Code stays instrumented for a while after the last counter stopped. */
    movl $0x200000, %ecx
1:  loop 1b
    call probe
    call work

    movl $8, %ecx
2:  movb %bpl, %al
    outb %al, $PORT_RESULT
    shrq $8, %rbp
    loop 2b
    jmp end

/* All that there is, ITERATIONS times; %rbp is the checksum. */
work:
    movl $ITERATIONS, %r14d
    xorl %ebp, %ebp
1:  call integers
    call memory
    call calls
    call strings
    call vectors
    call exceptions
    call mappings
    call rewritten
    call user
    decl %r14d
    jnz 1b
    ret

integers:
    movabsq $0x2545f4914f6cdd1d, %rax
    movl $1000, %ecx
1:  movq %rax, %rdx
    shlq $13, %rdx
    xorq %rdx, %rax
    movq %rax, %rdx
    shrq $7, %rdx
    xorq %rdx, %rax
    imulq $37, %rax, %rbx
    testl $0x10000, %eax
    jz 2f
    addq %rbx, %rbp
    jmp 3f
2:  rolq $3, %rbp
    adcl $5, %ebx
    setc %bl
    cmovcq %rdx, %rbx
3:  bsfq %rax, %rdx
    subq %rdx, %rbp
    decl %ecx
    jnz 1b
    movl $100, %esi
    movl %ebp, %eax
    xorl %edx, %edx
    divl %esi
    lahf
    addl %eax, %ebp
    ret

memory:
    movl $BUFFER, %edi
    movl $1000, %ecx
1:  movq %rbp, (%rdi, %rcx, 8)
    addq $3, 64(%rdi)
    movzbl 8(%rdi, %rcx), %eax
    lock xaddl %eax, 128(%rdi)
    addq (%rdi, %rcx, 4), %rbp
    pushq %rbp
    popq %rdx
    xchgl %edx, 256(%rdi)
    lock cmpxchg8b 512(%rdi)
    decl %ecx
    jnz 1b
    ret

calls:
    movl $300, %ecx
1:  movl %ecx, %eax
    andl $3, %eax
    call *table(, %rax, 8)
    jmp *table + 32(, %rax, 8)
targets:
2:  addq $1, %rbp
3:  addq $2, %rbp
4:  addq $4, %rbp
5:  loop 1b
    ret
leaf0:
    leaq 1(%rbp), %rbp
    ret
leaf1:
    enter $16, $0
    leave
    jmp leaf0
leaf2:
    call leaf0
    retq $0
leaf3:
    pushfq
    popfq
    ret

strings:
    movl $BUFFER, %esi
    movl $(BUFFER + 0x8000), %edi
    movl $500, %ecx
    rep movsb
    movl $100, %ecx
    rep stosq
    movl $BUFFER, %edi
    movl $50, %ecx
    repne scasl
    movl $BUFFER, %esi
    movl $(BUFFER + 0x8000), %edi
    movl $600, %ecx
    repe cmpsb
    addl %ecx, %ebp
    movl $20, %ecx
1:  lodsl
    addl %eax, %ebp
    stosl
    loop 1b
    std
    movsq
    cld
    ret

vectors:
    movl $200, %ecx
    movl $BUFFER, %esi
    pxor %xmm1, %xmm1
1:  movdqu (%rsi), %xmm0
    paddq %xmm0, %xmm1
    pshufb %xmm1, %xmm0
    cvtsi2sdq %rcx, %xmm2
    mulsd %xmm2, %xmm3
    addpd %xmm2, %xmm3
    movups %xmm0, 16(%rsi)
    fildl (%rsi)
    fadds 4(%rsi)
    fistpl 32(%rsi)
    addl $8, %esi
    loop 1b
    movq %xmm1, %rax
    addq %rax, %rbp
    ret

/* Faults in the middle of a block, traps, and exceptions of the decoder. */
exceptions:
    movl $20, %ecx
    movl $UNMAPPED, %esi
1:  leaq 2f(%rip), %r15
    incq %rbp
    movq (%rsi, %rcx, 8), %rax
    incq %rbp
2:  leaq 3f(%rip), %r15
    ud2
3:  int $0x30
    int3
    loop 1b
    cpuid
    rdtsc
    outb %al, $0x80
    ret

mappings:
    movl $FLUSHES, %ecx
    jrcxz 2f
1:  movq %cr3, %rax
    movq %rax, %cr3
    addq BUFFER, %rbp
    invlpg BUFFER
    addq BUFFER + 8, %rbp
    loop 1b
2:  ret

/* Code that is written to, by others and by itself. */
rewritten:
    movl $CODE, %edi
    movl $(template_end - template), %ecx
    leaq template(%rip), %rsi
    rep movsb
    movl $CODE, %edi
    movb %r14b, 1(%rdi)
    call *%rdi
    incb 1(%rdi)
    call *%rdi
    addl %eax, %ebp
    ret
template:
    movl $0, %eax
    incb (template_rest - template + 1)(%rdi)
template_rest:
    addl $7, %eax
    ret
template_end:

/* A loop in user mode that comes back by SYSCALL. */
user:
    movl %esp, %ebx
    movl $USER_STACK, %esp
    movl $in_user, %ecx
    movl $0x002, %r11d
    sysretq
in_user:
    movl $200, %ecx
1:  addq %rcx, %rbp
    pushq %rcx
    popq %rax
    loop 1b
    leaq 2f(%rip), %r15
    movl $UNMAPPED, %esi
    movq (%rsi), %rax
2:  syscall
from_user:
    movl %ebx, %esp
    movl $(CODE64 + 8), %eax
    movl %eax, %ss
    ret

/* #PF and #UD go on at %r15, the others behind themselves. */
fault_with_code:
    addq $8, %rsp
fault:
    movq %r15, (%rsp)
trap:
    incq %rbp
    iretq

    .balign 8
table:
    .quad leaf0, leaf1, leaf2, leaf3
    .quad targets, targets + 4, targets + 8, targets + 12

    .balign 16
gdt:
    .quad 0
    .quad 0x00cf9b000000ffff            /* CODE32 */
    .quad 0x00cf93000000ffff            /* DATA */
    .quad 0x00af9b000000ffff            /* CODE64 */
    .quad 0x00cf93000000ffff
    .quad 0x00cffb000000ffff            /* USER_BASE */
    .quad 0x00cff3000000ffff
    .quad 0x00affb000000ffff
    .quad 0x0000890000000067 | (TSS & 0xffff) << 16 | (TSS >> 16) << 32, 0
gdt_pointer:
    .word . - gdt - 1
    .long gdt

    .balign 16
idt:
    .rept 3
    .quad 0, 0
    .endr
    gate trap                           /* #BP */
    .rept 2
    .quad 0, 0
    .endr
    gate fault                          /* #UD */
    .rept 7
    .quad 0, 0
    .endr
    gate fault_with_code                /* #PF */
    .rept 0x30 - 15
    .quad 0, 0
    .endr
    gate trap                           /* INT 0x30 */
idt_pointer:
    .word . - idt - 1
    .quad idt

/* Alone in its page: it is looked at by address. */
    .org 0xe000
probe:
    xorl %eax, %eax
    incl %eax
    incl %eax
    ret

/* What comes before the emulator's process has ended varies: look away. */
    .org 0xf000
end:
    movl $0x10, %eax
    outl %eax, $PORT_EXIT
1:  hlt
    jmp 1b

/* Where a reset CPU begins. */
    .org 0xfff0
    .code16
    jmp _start
    .balign 16
