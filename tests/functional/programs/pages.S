/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A program of known length whose instructions lie in 40 pages, most of
 * which are not mapped yet when it jumps to their beginning, from the
 * beginning of another: a page fault on fetching an instruction counts
 * nothing, and takes nothing away.
 *
 *   instructions  80 + 3   branches  40 + 1
 */

#define SYS_exit 60

    .globl _start
    .text
    .balign 4096
_start:
    .rept 40
    jmp 1f
    .balign 4096
1:  nop
    .endr
    movl $SYS_exit, %eax
    xorl %edi, %edi
    syscall

    .section .note.GNU-stack, "", @progbits
