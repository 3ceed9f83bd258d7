/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A program whose user-mode instructions and branches can be counted by
 * reading it: no library, no loader.  N is a multiplier of its main loop.
 *
 *   instructions  2 N + 120   branches  N + 41
 *
 * A page fault's instruction counts once, when it completes; REP STOSB is
 * one instruction; SYSCALL executes at CPL 3, and is a (far) branch.
 */

#define SYS_getppid 110
#define SYS_exit 60
#define PAGES 16

    .globl _start
    .text
_start:                             /* instructions     branches */
    movl $N, %r8d                   /*  1 */
1:  decl %r8d                       /*  N */
    jnz 1b                          /*  N                N */
    movl $PAGES, %r8d               /*  1 */
    leaq pages(%rip), %rdi          /*  1 */
2:  movb $1, (%rdi)                 /* 16: first touch, a page fault each */
    addq $4096, %rdi                /* 16 */
    decl %r8d                       /* 16 */
    jnz 2b                          /* 16               16 */
    leaq pages(%rip), %rdi          /*  1 */
    xorl %eax, %eax                 /*  1 */
    movl $1000, %ecx                /*  1 */
    rep stosb                       /*  1 */
    movl $10, %r8d                  /*  1 */
3:  movl $SYS_getppid, %eax         /* 10 */
    syscall                         /* 10               10 */
    decl %r8d                       /* 10 */
    jnz 3b                          /* 10               10 */
    call 4f                         /*  1                1 */
    jmp 5f                          /*  1                1 */
4:  cmpl $0, %r8d                   /*  1 */
    jne 5f                          /*  1: not taken     1 */
    ret                             /*  1                1 */
5:  movl $SYS_exit, %eax            /*  1 */
    xorl %edi, %edi                 /*  1 */
    syscall                         /*  1                1 */

    .bss
    .balign 4096
pages:
    .space PAGES * 4096

    .section .note.GNU-stack, "", @progbits
