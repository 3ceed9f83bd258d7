/*
 * The payload of the PMU tests: code with a known number of instructions.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * payload.h lists the numbers; where they are constant the assembler compares
 * them with what stands here.  Each block gets its argument in %rdi, leaves
 * results in %rbx and %rbp, and may use all registers but %rsp.
 */

#include "payload.h"

#define PERFEVTSEL1     0x187
#define PERF_CAPABILITIES 0x345
#define GLOBAL_CTRL     0x38f
#define APIC_DM_SMI     0x200
#define RFLAGS_TF       0x100
#define VMCB_EXIT_CODE  0x70            /* AMD64 manual vol. 2, B.1 */
#define CR0_PG          0x80000000
#define PTE_ACCESSED    0x20
#define MXCSR_DE        0x0002
#define MXCSR_INITIAL   0x1f80
#define MXCSR_FLUSH     0x9fc0          /* with FTZ and DAZ */
#define CS64            0x08            /* gdt in start.S */
#define CS32            0x28

        .data
        .balign 8
        .global block_table
block_table:
        .set    blocks, 0

        .text

/* Begin block @number: they must come in order. */
.macro BLOCK number
        .if     blocks != (\number)
        .error  "payload.h: block out of order"
        .endif
        .set    blocks, blocks + 1
        .balign 64
        .data
        .quad   1f
        .text
1:      .set    insns, 0
.endm

/* One instruction, n instructions that are the same. */
.macro I insn:vararg
        \insn
        .set    insns, insns + 1
.endm
.macro REPEAT count, insn:vararg
        .rept   \count
        \insn
        .endr
        .set    insns, insns + (\count)
.endm

/* End a block of @expected instructions, as counted in the source. */
.macro END expected
        I ret
        .if     insns != (\expected)
        .error  "payload.h: wrong number of instructions"
        .endif
.endm

/* An exception continues at @label: two instructions. */
.macro RESUME_AT label
        I lea   \label(%rip), %rax
        I mov   %rax, %gs:PROGRESS_RESUME
.endm

        BLOCK   BLOCK_EMPTY
        END     1

        BLOCK   BLOCK_NOPS
        REPEAT  NOPS, nop
        END     NOPS + 1

        BLOCK   BLOCK_LOOP
        mov     %rdi, %rcx
2:      dec     %rcx
        jnz     2b
        ret

        BLOCK   BLOCK_CALLS
        mov     %rdi, %rcx
2:      call    3f
        dec     %rcx
        jnz     2b
        ret
3:      nop
        ret

/* One of every kind of branch, taken and not taken. */
        BLOCK   BLOCK_BRANCHES
        I xor   %ecx, %ecx              /* ZF = 1 */
        I jz    2f                      /* taken */
        ud2
2:      I jnz   2b                      /* not taken */
        I jrcxz 2f                      /* taken */
        ud2
2:      I mov   $2, %ecx
2:      loop    2b                      /* taken, not taken */
        .set    insns, insns + 2
        I lea   2f(%rip), %rax
        I jmp   *%rax
        ud2
2:      I jmp   2f
        ud2
2:      I call  3f
        I lea   4f(%rip), %rax
        I push  %rax
        I ret                           /* to 4 */
3:      I ret
4:      I lea   3b(%rip), %rax
        I mov   %eax, %edx
        I inc   %edx                    /* CF kept */
        I cmp   %eax, %edx
        REPEAT  2, nop
        I pushfq
        I pop   %rax
        END     BRANCHES_INSNS

        BLOCK   BLOCK_MEMORY
        mov     %rdi, %rcx
        mov     $PAYLOAD_DATA, %rsi
2:      mov     (%rsi), %rax
        add     %rcx, %rax
        mov     %rax, 64(%rsi)
        push    %rax
        pop     %rdx
        dec     %rcx
        jnz     2b
        ret

/*
 * A walk steered by a linear congruential generator (Knuth's MMIX constants):
 * calls, indirect jumps, string instructions and data-dependent branches.
 */
        BLOCK   BLOCK_MIXED
        mov     %rdi, %r12
        mov     $88172645463325252, %r8
        mov     $6364136223846793005, %r9
        mov     $1442695040888963407, %r10
        lea     9f(%rip), %r11
2:      imul    %r9, %r8
        add     %r10, %r8
        mov     %r8, %rax
        shr     $61, %rax
        movslq  (%r11,%rax,4), %rax
        add     %r11, %rax
        call    *%rax
        bt      $40, %r8
        jc      3f
        xor     %r8, %rbx
        nop
3:      dec     %r12
        jnz     2b
        mov     $0, %ebp
        ret
.macro  CHOICE  which
        .balign 8
choice\which:
.endm
        CHOICE  0
        ret
        CHOICE  1
        mov     $PAYLOAD_DATA, %edi
        mov     %r8, %rcx
        shr     $59, %rcx
        mov     $PAYLOAD_DATA + 0x1000, %esi
        rep movsb
        ret
        CHOICE  2
        mov     %r8, %rcx
        shr     $58, %rcx
        jrcxz   3f
2:      add     %rcx, %rbx
        loop    2b
3:      ret
        CHOICE  3
        push    %r8
        popq    PAYLOAD_DATA
        lock incl PAYLOAD_DATA
        cmpl    $0, PAYLOAD_DATA
        js      2f
        nop
2:      ret
        CHOICE  4
        call    choice0
        call    choice3
        ret
        CHOICE  5
        mov     %r8, %rax
        shr     $33, %rax
        xor     %edx, %edx
        mov     $3, %ecx
        div     %rcx
        test    %edx, %edx
        jz      2f
        cpuid
        mov     $0, %ebx
2:      ret
        CHOICE  6
        mov     $PAYLOAD_DATA, %edi
        mov     $7, %ecx
        xor     %eax, %eax
        repne scasb
        je      2f
        ret
2:      ret
        CHOICE  7
        cvtsi2sd %r8, %xmm0
        sqrtsd  %xmm0, %xmm0
        movsd   %xmm0, PAYLOAD_DATA + 8
        cmovc   %r8, %rbx
        ret
        .balign 4
9:      .long   choice0 - 9b, choice1 - 9b, choice2 - 9b, choice3 - 9b
        .long   choice4 - 9b, choice5 - 9b, choice6 - 9b, choice7 - 9b

        BLOCK   BLOCK_LONG
        REPEAT  LONG, nop
        END     LONG + 1

/* An instruction that raises an exception, amid FAULTING that do not. */
.macro  FAULT_BLOCK number, insn, ecx=0
        BLOCK   \number
        RESUME_AT 3f
        I xor   %edx, %edx
        I mov   $\ecx, %ecx
        I mov   $1, %eax
        REPEAT  10, nop
        \insn
        REPEAT  5, nop
        .set    insns, insns - 5        /* never reached */
3:      REPEAT  10, nop
        END     FAULTING + 1
.endm
        FAULT_BLOCK BLOCK_UD, ud2
        FAULT_BLOCK BLOCK_GP, "mov (%rdi), %rax"
        FAULT_BLOCK BLOCK_PF, "mov (%rdi), %rax"
        FAULT_BLOCK BLOCK_DE, "div %ecx"
        FAULT_BLOCK BLOCK_DE_MEMORY, "divl (%rdi)"

        BLOCK   BLOCK_TOUCH
        I nop
        I mov   (%rdi), %rbx
        I nop
        END     4

        BLOCK   BLOCK_MOVSB
        I mov   %rdi, %rcx
        I mov   $PAYLOAD_DATA, %esi
        I mov   $PAYLOAD_PAGED, %edi
        I cld
        I rep movsb
        END     6

        BLOCK   BLOCK_STOSQ
        I mov   %rdi, %rcx
        I mov   $PAYLOAD_PAGED, %edi
        I cld
        I rep stosq
        END     5

        BLOCK   BLOCK_SCASB
        I mov   %rdi, %rcx
        I mov   $PAYLOAD_DATA, %edi
        I mov   $0xff, %eax
        I cld
        I repne scasb
        END     6

/* Each iteration changes the constant that it then loads. */
        BLOCK   BLOCK_SELF_MODIFYING
        mov     %rdi, %rcx
        xor     %ebx, %ebx
2:      mov     %ecx, 3f(%rip)
        .byte   0x81, 0xc3              /* add $constant, %ebx */
3:      .long   0
        dec     %rcx
        jnz     2b
        ret

/* The store hits the instruction behind it, which is in the same block. */
        BLOCK   BLOCK_MODIFY_NEXT
        I movl  $1, 2f(%rip)
        I movl  $2, 2f(%rip)
        .byte   0xbb                    /* mov $constant, %ebx */
2:      .long   0
        .set    insns, insns + 1
        I nop
        END     5

        BLOCK   BLOCK_HLT
        I sti
        I hlt
        I cli
        END     4

        BLOCK   BLOCK_SMI
        I mov   $APIC_ICR_LOW, %edx
        I xor   %eax, %eax
        I mov   $APIC_DM_SMI, %ecx
        I mov   %ecx, (%rdx)
        REPEAT  (SMI_BLOCK_INSNS - 5), nop
        END     SMI_BLOCK_INSNS

        BLOCK   BLOCK_INT
        mov     %rdi, %rcx
2:      int     $VECTOR_TIMER
        dec     %rcx
        jnz     2b
        ret

/* POPFQ sets TF: traps from the instruction behind it to the next POPFQ. */
        BLOCK   BLOCK_TF
        I pushfq
        I orq   $RFLAGS_TF, (%rsp)
        I popfq
        .set    first, insns
        REPEAT  20, nop
        I pushfq
        I andq  $~RFLAGS_TF, (%rsp)
        I popfq
        .if     insns - first != TF_TRAPS
        .error  "payload.h: wrong number of traps"
        .endif
        REPEAT  2, nop
        END     TF_INSNS + 1

/* A data breakpoint on the word that is stored to. */
        BLOCK   BLOCK_WATCHPOINT
        I nop
        I nop
        I mov   %rdi, PAYLOAD_DATA
        I nop
        I nop
        END     6

/* Across a cache line: QEMU runs it alone and again. */
        BLOCK   BLOCK_UNALIGNED_LOCK
        mov     %rdi, %rcx
2:      lock incq PAYLOAD_DATA + 60
        dec     %rcx
        jnz     2b
        ret

        BLOCK   BLOCK_MMIO
        mov     $APIC_ID, %edx
2:      nop
        mov     (%rdx), %eax
        dec     %rdi
        jnz     2b
        ret

        BLOCK   BLOCK_RDPMC
        mov     %edi, %ecx
        rdpmc
        .set    insns, 1                /* RDPMC itself */
        I shl   $32, %rdx
        I lea   (%rdx,%rax), %rbx
        REPEAT  20, nop
        .if     insns != RDPMC_DISTANCE
        .error  "payload.h: wrong distance"
        .endif
        rdpmc
        shl     $32, %rdx
        lea     (%rdx,%rax), %rbp
        ret

/* Counting stops for a while inside. */
        BLOCK   BLOCK_STOPPED
        I mov   %rdi, %rbx
        I mov   $GLOBAL_CTRL, %ecx
        I xor   %eax, %eax
        I xor   %edx, %edx
        REPEAT  10, nop
        I wrmsr                         /* the last one that counts */
        .set    counted, insns
        mov     %ebx, %eax
        mov     %rbx, %rdx
        shr     $32, %rdx
        REPEAT  100, nop
        wrmsr
        .set    insns, counted
        REPEAT  13, nop
        END     STOPPED_INSNS

        BLOCK   BLOCK_SPIN
        xor     %ebx, %ebx
        mov     %rdi, %gs:PROGRESS_WAITING
2:      inc     %rbx
        pause
        cmp     %rdi, %gs:PROGRESS_GO
        jb      2b
        ret

        BLOCK   BLOCK_PAUSE
        mov     %rdi, %rcx
2:      pause
        dec     %rcx
        jnz     2b
        ret

/* Each load's address comes from the one before: 4 KiB + 64 B strides. */
        BLOCK   BLOCK_CHASE
        mov     %rdi, %rcx
        xor     %eax, %eax
        xor     %edx, %edx
2:      mov     PAYLOAD_DATA(%rdx,%rax), %rax
        add     $0x1040, %edx
        and     $0xfffc0, %edx
        and     $0, %eax
        dec     %rcx
        jnz     2b
        ret

        BLOCK   BLOCK_MULTIPLY
        mov     %rdi, %rcx
2:      .rept   16
        imul    %rax, %rax
        .endr
        dec     %rcx
        jnz     2b
        ret

        BLOCK   BLOCK_GUESS
        mov     $88172645463325252, %r8
        mov     $6364136223846793005, %r9
2:      imul    %r9, %r8
        add     $12345, %r8
        test    %r8, %r8
        js      3f
        inc     %rbx
3:      dec     %rdi
        jnz     2b
        ret

        BLOCK   BLOCK_WRMSR
        I mov   %edi, %ecx
        I xor   %eax, %eax
        I xor   %edx, %edx
        I wrmsr
        END     5

        BLOCK   BLOCK_REP_ZERO
        I xor   %ecx, %ecx
        I mov   $PAYLOAD_DATA, %esi
        I mov   $PAYLOAD_PAGED, %edi
        I cld
        I rep movsb
        END     6

/* Long, redundant and length-changing prefixes are one instruction each. */
        BLOCK   BLOCK_PREFIXES
        .byte   0x66, 0x66, 0x66, 0x66, 0x90
        .byte   0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0
        .byte   0x66, 0xb8, 0x34, 0x12  /* mov $0x1234, %ax */
        .byte   0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8      /* movabs */
        .byte   0xf3, 0x90              /* pause */
        .byte   0xf3, 0x0f, 0x1e, 0xfa  /* endbr64 */
        .byte   0x67, 0x8d, 0x04, 0x08  /* lea (%eax,%ecx), %eax */
        .byte   0xf2, 0x90              /* nop */
        .byte   0x3e, 0x48, 0x89, 0xc0  /* mov %rax, %rax */
        .byte   0x64, 0x48, 0x89, 0xc0
        .byte   0x9b                    /* fwait */
        .set    insns, insns + 11
        END     PREFIXES_INSNS

        FAULT_BLOCK BLOCK_GP_WRMSR, wrmsr, PERF_CAPABILITIES
        FAULT_BLOCK BLOCK_GP_RDPMC, rdpmc, 8

        BLOCK   BLOCK_EVTSEL
        mov     $PERFEVTSEL1, %ecx
        mov     %edi, %eax
        xor     %edx, %edx
        wrmsr
        .set    insns, 0
        REPEAT  10, nop
        I xor   %eax, %eax
        I wrmsr
        .if     insns != EVTSEL_INSNS
        .error  "payload.h: wrong number of instructions"
        .endif
        ret

        BLOCK   BLOCK_SYSCALL
        mov     %rdi, %r8
2:      syscall
        dec     %r8
        jnz     2b
        ret

        .global syscall_entry
syscall_entry:
        sysretq

        BLOCK   BLOCK_JUMP
        jmp     *%rdi

        BLOCK   BLOCK_COMPATIBILITY
        I push  $CS32
        I push  $2f
        I lretq
        .code32
2:      REPEAT  10, nop
        I inc   %eax                    /* 40H: a REX prefix in 64-bit code */
        I push  %eax
        I pop   %edx
        I ljmp  $CS64, $2f
        .code64
2:      I nop
        END     COMPATIBILITY_INSNS

/* A product of a denormal number, a sum, a product, and a denormal one. */
.macro  DENORMAL_BLOCK number, mxcsr
        BLOCK   \number
        mov     %rdi, %rcx
        movl    $\mxcsr, PAYLOAD_DATA
        ldmxcsr PAYLOAD_DATA
        mov     $0x000c000000000001, %rax       /* about 1.5 * 2^-1023 */
        movq    %rax, %xmm1
        mov     $0x3ff4000000000000, %rax       /* 1.25 */
        movq    %rax, %xmm2
        mov     $0x1ff0000000000001, %rax       /* about 2^-512 */
        movq    %rax, %xmm3
2:      movapd  %xmm1, %xmm0
        mulsd   %xmm2, %xmm0
        movapd  %xmm1, %xmm4
        addsd   %xmm1, %xmm4
        movapd  %xmm3, %xmm5
        mulsd   %xmm2, %xmm5
        mulsd   %xmm3, %xmm5
        dec     %rcx
        jnz     2b
        stmxcsr PAYLOAD_DATA
        mov     PAYLOAD_DATA, %ebx
        and     $~MXCSR_DE, %ebx
        movl    $MXCSR_INITIAL, PAYLOAD_DATA
        ldmxcsr PAYLOAD_DATA
        ret
.endm
        DENORMAL_BLOCK BLOCK_DENORMALS, MXCSR_INITIAL
        DENORMAL_BLOCK BLOCK_NO_DENORMALS, MXCSR_FLUSH

        /* Pages of their own: nothing is to be prefetched besides. */
        BLOCK   BLOCK_FLUSHES
        mov     %rdi, %rcx
2:      mov     PAYLOAD_DATA, %eax
        prefetcht0 PAYLOAD_DATA + 0x1000
        prefetcht1 PAYLOAD_DATA + 0x2000
        prefetchw PAYLOAD_DATA + 0x3000
        .irp    page, 0x0000, 0x1000, 0x2000, 0x3000
        clflush PAYLOAD_DATA + \page
        .endr
        dec     %rcx
        jnz     2b
        ret

/*
 * Cross-modifying code as in SDM vol. 3A, 10.1.3: one CPU stores to code that
 * another one runs all the time, and says so; that one serializes, and has to
 * see what was stored.
 */
#define PATCH_TOLD      PAYLOAD_DATA
#define PATCH_SEEN      (PAYLOAD_DATA + 64)
#define PATCH_END       -1

        BLOCK   BLOCK_PATCH
        xor     %ebx, %ebx
2:      mov     %dil, patched + 1(%rip)
        jmp     3f
3:      mov     %rdi, PATCH_TOLD
4:      pause
        cmp     %rdi, PATCH_SEEN
        jne     4b
        inc     %rbx
        dec     %rdi
        jz      5f
        cmpq    $0, %gs:PROGRESS_GO
        je      2b
5:      movq    $PATCH_END, PATCH_TOLD
        ret

        BLOCK   BLOCK_PATCHED
        xor     %ebp, %ebp
        xor     %edi, %edi
2:      call    patched
        cmp     %rdi, PATCH_TOLD
        je      2b
        mov     PATCH_TOLD, %rdi
        cmp     $PATCH_END, %rdi
        je      3f
        xor     %eax, %eax
        cpuid
        call    patched
        cmp     %al, %dil
        setne   %al
        movzbl  %al, %eax
        add     %rax, %rbp
        mov     %rdi, PATCH_SEEN
        jmp     2b
3:      mov     %rbp, %rbx
        ret
        .balign 64
patched:
        .byte   0xb8                    /* mov $constant, %eax */
        .long   0
        ret

/* Three branches, so that the log can be full behind each of them. */
        BLOCK   BLOCK_NOT_TAKEN
2:      xor     %eax, %eax
        jnz     3f
3:      jmp     4f
4:      dec     %rdi
        jnz     2b
        ret

        BLOCK   BLOCK_ACCESSED
        I mov   $PAYLOAD_PAGED, %esi
        I mov   $PAYLOAD_PAGED_PTE, %edi
        I mov   (%rsi), %rax
        I andl  $~PTE_ACCESSED, (%rdi)
        I invlpg (%rsi)
        END     6

        BLOCK   BLOCK_PAGING_OFF
        I push  $CS32
        I push  $2f
        I lretq
        .code32
2:      I mov   %cr0, %eax
        I and   $~CR0_PG, %eax
        I mov   %eax, %cr0
        I or    $CR0_PG, %eax
        I mov   %eax, %cr0
        I ljmp  $CS64, $2f
        .code64
2:      END     10

/* Of the general-purpose registers VMRUN and #VMEXIT switch RSP and RAX. */
        BLOCK   BLOCK_VMRUN
        I mov   $PAYLOAD_VMCB, %eax
        I vmrun %rax
        I mov   VMCB_EXIT_CODE(%rax), %rbp
        I stgi
        END     5

.macro  TOUCH_PAGES
        mov     $PAYLOAD_PAGED, %esi
        mov     $REMAP_PAGES, %ecx
3:      mov     (%rsi), %rax
        add     $0x1000, %rsi
        dec     %ecx
        jnz     3b
.endm
        BLOCK   BLOCK_REMAP
        TOUCH_PAGES
        lea     2f(%rip), %rbp
        jmp     *%rdi
2:      TOUCH_PAGES
        mov     %cr3, %rax
        mov     %rax, %cr3
        ret

        BLOCK   BLOCK_FAULTS
        RESUME_AT 3f
        mov     %rdi, %rcx
        mov     $1, %edx
        shl     $33, %rdx
2:      nop
        nop
        mov     (%rdx), %rax
        nop
3:      dec     %rcx
        jnz     2b
        ret

        BLOCK   BLOCK_LODSD_DEVICE
        I mov   %rdi, %rcx
        I mov   $0xfed00000, %esi       /* the HPET */
        I cld
        I rep lodsl
        END     5

#define REMAP_STATE     PAYLOAD_DATA
#define REMAP_READING   1
#define REMAP_END       2

        BLOCK   BLOCK_REMAP_DEVICE
2:      pause
        cmpl    $REMAP_READING, REMAP_STATE
        jne     2b
        mov     $REMAP_TIMES, %ecx
3:      mov     $0xcf8, %edx
        mov     %edi, %eax
        out     %eax, %dx
        mov     $0xcfc, %edx
        xor     %eax, %eax
        out     %ax, %dx
        mov     $2, %eax
        out     %ax, %dx
        dec     %ecx
        jnz     3b
        movl    $REMAP_END, REMAP_STATE
        ret

/*
 * A load from a device is the last instruction of a translation block.  Of
 * this block's time most lies before it: the other CPU changes the map there.
 */
        BLOCK   BLOCK_READ_APIC
        mov     $0xfee00030, %esi
        xor     %ebx, %ebx
        mov     (%rsi), %ebp
        movl    $REMAP_READING, REMAP_STATE
        fninit
        fldpi
2:      .rept   300
        fsqrt
        .endr
        mov     (%rsi), %eax
        cmp     %eax, %ebp
        setne   %al
        movzbl  %al, %eax
        add     %rax, %rbx
        cmpl    $REMAP_END, REMAP_STATE
        jne     2b
        ret

/* OF is set: INTO interrupts, and what is behind it in its block runs then. */
        BLOCK   BLOCK_INTO
        I push  $CS32
        I push  $2f
        I lretq
        .code32
2:      I mov   $0x7fffffff, %eax
        I inc   %eax
        I into
        REPEAT  10, nop
        I ljmp  $CS64, $2f
        .code64
2:      I nop
        END     INTO_INSNS

/* Microcode: a hundred cycles each */
        BLOCK   BLOCK_CPUID
        mov     %rdi, %rsi
2:      .rept   CPUIDS
        cpuid
        .endr
        dec     %rsi
        jnz     2b
        ret

/* Branches that are refused. */
        FAULT_BLOCK BLOCK_UD_BRANCH, ".byte 0xf0, 0x74, 0"
        FAULT_BLOCK BLOCK_GP_SYSEXIT, sysexitl

        .section .note.GNU-stack, "", @progbits
