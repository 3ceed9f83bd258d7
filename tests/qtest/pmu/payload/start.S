/*
 * The payload of the PMU tests: from the reset vector to 64-bit mode, and
 * everything whose instructions must be known one by one.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "payload.h"

#define ROM_BASE        0xffff0000
#define IN_ROM(symbol)  (symbol - PAYLOAD_IMAGE + ROM_BASE)
/* In segment F000H, where the last 64 KiB of the ROM appear as well. */
#define IN_F000(symbol) (symbol - PAYLOAD_IMAGE)
/* In the 16-bit code that is copied to low memory, segment 0. */
#define IN_LOW(symbol)  (symbol - low_code + PAYLOAD_REAL_MODE)

#define CS64            0x08
#define DS              0x10
#define DS_USER         0x1b
#define CS64_USER       0x23
#define CS32            0x28
#define CS16            0x30
#define DS16            0x38
#define TSS(cpu)        (0x40 + 16 * (cpu))

#define CR0_PE          0x1
#define CR0_PG          0x80000000
#define CR4_PAE         0x20
#define CR4_OSFXSR      0x200
#define MSR_APIC_BASE   0x1b
#define APIC_BASE_BSP   0x100
#define MSR_EFER        0xc0000080
#define EFER_LME        0x100
#define MSR_GS_BASE     0xc0000101
#define GLOBAL_STATUS   0x38e
#define GLOBAL_CTRL     0x38f
#define OVF_CTRL        0x390

/* Page-table entries: present, writable, user; large. */
#define PTE             0x7
#define PTE_LARGE       0x87

/* An instruction whose retirement is counted; COUNT_x compares. */
.macro I insn:vararg
        \insn
        .set insns, insns + 1
.endm
.macro COUNT_FROM number
        .set insns, \number
.endm
.macro COUNT_IS expected
        .if insns != (\expected)
        .error "payload.h: wrong number of instructions"
        .endif
.endm

/* Reset ------------------------------------------------------------------ */

        .section .reset, "ax"
        .code16
        jmp     start16

        .text
start16:
        cli
        data32 lgdt %cs:IN_F000(rom_gdt_pointer)
        mov     %cr0, %eax
        or      $CR0_PE, %eax
        mov     %eax, %cr0
        ljmpl   $CS32, $IN_ROM(start32)

        .code32
start32:
        mov     $DS, %eax
        mov     %eax, %ds
        mov     %eax, %es
        mov     %eax, %ss
        mov     $MSR_APIC_BASE, %ecx
        rdmsr
        test    $APIC_BASE_BSP, %eax
        jz      3f

        cld
        mov     $ROM_BASE, %esi
        mov     $PAYLOAD_IMAGE, %edi
        mov     $PAYLOAD_IMAGE_SIZE / 4, %ecx
        rep movsl

        /* PML4, PDPT, four PDs, and a PT for PAYLOAD_PAGED */
        mov     $PAYLOAD_PAGE_TABLES, %edi
        xor     %eax, %eax
        mov     $0x7000 / 4, %ecx
        rep stosl
        movl    $PAYLOAD_PAGE_TABLES + 0x1000 + PTE, PAYLOAD_PAGE_TABLES
        mov     $PAYLOAD_PAGE_TABLES + 0x2000 + PTE, %eax
        mov     $PAYLOAD_PAGE_TABLES + 0x1000, %edi
        mov     $4, %ecx
1:      mov     %eax, (%edi)
        add     $0x1000, %eax
        add     $8, %edi
        loop    1b
        mov     $PTE_LARGE, %eax
        mov     $PAYLOAD_PAGE_TABLES + 0x2000, %edi
        mov     $2048, %ecx
1:      mov     %eax, (%edi)
        add     $0x200000, %eax
        add     $8, %edi
        loop    1b
        movl    $PAYLOAD_PAGED_PTE + PTE, \
                PAYLOAD_PAGE_TABLES + 0x2000 + PAYLOAD_PAGED / 0x200000 * 8
        mov     $PAYLOAD_PAGED + PTE, %eax
        mov     $PAYLOAD_PAGED_PTE, %edi
        mov     $512, %ecx
1:      mov     %eax, (%edi)
        add     $0x1000, %eax
        add     $8, %edi
        loop    1b
3:
        mov     %cr4, %eax
        or      $CR4_PAE | CR4_OSFXSR, %eax
        mov     %eax, %cr4
/* Paging on; also the way back from real mode, with the address in %ebp. */
        mov     $IN_ROM(1f), %ebp
enter_long_mode:
        mov     $PAYLOAD_PAGE_TABLES, %eax
        mov     %eax, %cr3
        mov     $MSR_EFER, %ecx
        rdmsr
        or      $EFER_LME, %eax
        wrmsr
        mov     %cr0, %eax
        or      $CR0_PG, %eax
        mov     %eax, %cr0
        jmp     *%ebp
1:      ljmp    $CS64, $start64

        .code64
start64:
        lgdt    gdt_pointer
        mov     $DS, %eax
        mov     %eax, %ds
        mov     %eax, %es
        mov     %eax, %ss
        mov     %eax, %fs
        mov     %eax, %gs
        addr32 mov APIC_ID, %ebx
        shr     $24, %ebx
        imul    $PAYLOAD_STACKS_STRIDE, %ebx, %esp
        add     $PAYLOAD_STACKS + 0x4000, %esp
        imul    $PAYLOAD_PROGRESS_STRIDE, %ebx, %eax
        add     $PAYLOAD_PROGRESS, %eax
        xor     %edx, %edx
        mov     $MSR_GS_BASE, %ecx
        wrmsr
        mov     %ebx, %edi
        call    payload_main
halt:   cli
        hlt
        jmp     halt

/* Interrupts and exceptions ---------------------------------------------- */

/* One entry for each vector, 16 bytes apart. */
        .balign 16
        .global vector_entries
vector_entries:
        .set    vector, 0
        .rept   256
        .balign 16
        .if     vector == VECTOR_RETURN
        jmp     return_counted
        .elseif vector == VECTOR_RETURN + 1
        jmp     return_plain
        .else
        .if     vector != 8 && vector != 17 && (vector < 10 || vector > 14)
        push    $0
        .endif
        push    $vector
        .if     vector == 1 || vector == 2 || vector == 4 || vector >= 32
        jmp     interrupt
        .else
        jmp     fault
        .endif
        .endif
        .set    vector, vector + 1
        .endr

/*
 * With an error code, or 0, and the vector on the stack: log the event.
 * Uses %rax, which then points to the entry, %rcx and %rdx.
 */
.macro LOG_EVENT
        I push  %rax
        I push  %rdx
        I mov   %gs:PROGRESS_EVENTS, %rax
        I incq  %gs:PROGRESS_EVENTS
        I and   $PAYLOAD_LOG_ENTRIES - 1, %eax
        I shl   $5, %eax
        I add   %gs:PROGRESS_LOG, %rax
        I mov   16(%rsp), %rdx
        I mov   %rdx, (%rax)
        I mov   32(%rsp), %rdx
        I mov   %rdx, 8(%rax)
        I mov   %rcx, 16(%rax)
.endm

.macro UNLOG_EVENT
        I pop   %rdx
        I pop   %rax
        I add   $16, %rsp
        I iretq
.endm

interrupt:
        COUNT_FROM 3                    /* in vector_entries */
        LOG_EVENT
        I cmpq  $PMI_RELOAD, %gs:PROGRESS_ACTION
        I je    reload
        I addr32 movl $0, APIC_EOI
        UNLOG_EVENT
        COUNT_IS INTERRUPT_INSNS

/* What Linux does in intel_pmu_handle_irq(), in little. */
reload:
        push    %rcx
        push    %rax
        mov     $GLOBAL_CTRL, %ecx
        xor     %eax, %eax
        xor     %edx, %edx
        wrmsr
        mov     $GLOBAL_STATUS, %ecx
        rdmsr
        mov     $OVF_CTRL, %ecx
        wrmsr
        shl     $32, %rdx
        or      %rax, %rdx
        pop     %rax
        mov     %rdx, 24(%rax)
        mov     %gs:PROGRESS_MSR, %ecx
        mov     %gs:PROGRESS_RELOAD, %eax
        mov     %gs:PROGRESS_RELOAD + 4, %edx
        wrmsr
        addr32 movl $0, APIC_EOI
        mov     %gs:PROGRESS_LVTPC, %eax
        addr32 mov %eax, APIC_LVTPC
        mov     $GLOBAL_CTRL, %ecx
        mov     %gs:PROGRESS_ENABLE, %eax
        mov     %gs:PROGRESS_ENABLE + 4, %edx
        wrmsr
        COUNT_FROM 0
        I pop   %rcx
        UNLOG_EVENT
        COUNT_IS RELOAD_INSNS

        .global take_steps
take_steps:
        push    %rax
        push    %rbx
        push    %rcx
        push    %rdx
        mov     $PAYLOAD_STEPS, %ebx
1:      mov     (%rbx), %edx
        mov     4(%rbx), %ecx
        mov     8(%rbx), %rax
        add     $16, %rbx
        cmp     $STEP_RDMSR, %edx
        je      2f
        cmp     $STEP_WRMSR, %edx
        je      3f
        cmp     $STEP_POKE32, %edx
        je      4f
        cmp     $STEP_LOOP, %edx
        je      5f
        pop     %rdx
        pop     %rcx
        pop     %rbx
        pop     %rax
        iretq
2:      rdmsr
        jmp     1b
3:      mov     %rax, %rdx
        shr     $32, %rdx
        wrmsr
        jmp     1b
4:      mov     %eax, (%rcx)
        jmp     1b
5:      dec     %rax
        jnz     5b
        jmp     1b

fault:
        COUNT_FROM 2                    /* in vector_entries */
        LOG_EVENT
        I movq  $0, 24(%rax)
        I mov   16(%rsp), %rax
        I mov   %rax, %gs:PROGRESS_FAULT_VECTOR
        I mov   24(%rsp), %rax
        I mov   %rax, %gs:PROGRESS_FAULT_ERROR
        I mov   %rdx, %gs:PROGRESS_FAULT_RIP
        I mov   %gs:PROGRESS_MAP, %rax
        I test  %rax, %rax
        I jnz   map
        I mov   %gs:PROGRESS_RESUME, %rax
        I test  %rax, %rax
        I jz    unexpected
        I mov   %rax, 32(%rsp)
        UNLOG_EVENT
        COUNT_IS FAULT_INSNS

map:
        COUNT_FROM 2 + 12 + 9
        I orq   $1, (%rax)
        I movq  $0, %gs:PROGRESS_MAP
        UNLOG_EVENT
        COUNT_IS MAP_INSNS

unexpected:
        movq    $DONE_UNEXPECTED_FAULT, %gs:PROGRESS_DONE
        jmp     halt

/* Running code ------------------------------------------------------------ */

.macro SAVE
        push    %rbx
        push    %rbp
        push    %r12
        push    %r13
        push    %r14
        push    %r15
.endm

/* With results in %rbx and %rbp, and the place for them last pushed. */
.macro RESTORE
        pop     %rdi
        mov     %rbx, (%rdi)
        mov     %rbp, 8(%rdi)
        pop     %r15
        pop     %r14
        pop     %r13
        pop     %r12
        pop     %rbp
        pop     %rbx
        ret
.endm

/*
 * void run_cpl0(uint64_t block, uint64_t argument, uint64_t global_ctrl,
 *               uint64_t rflags, uint64_t *value)
 *
 * A block gets its argument in %rdi, leaves results in %rbx and %rbp and may
 * use all registers.
 */
        .global run_cpl0
run_cpl0:
        SAVE
        push    %r8
        push    %rcx
        popfq
        mov     %rdi, %r15
        mov     %rsi, %rdi
        mov     %edx, %eax
        shr     $32, %rdx
        mov     $GLOBAL_CTRL, %ecx
        wrmsr
        COUNT_FROM 0
        I call  *%r15
        I mov   $GLOBAL_CTRL, %ecx
        I xor   %eax, %eax
        I xor   %edx, %edx
        I wrmsr
        COUNT_IS RUN_CPL0_INSNS
        cli
        RESTORE

/* What IRETQ needs to run %rdi at CPL 3, with the flags in %rcx. */
.macro PREPARE_CPL3 return
        SAVE
        push    %r8
        mov     %rsp, %gs:PROGRESS_STACK
        mov     %rsp, %rax
        and     $~(PAYLOAD_STACKS_STRIDE - 1), %rax
        add     $0xc000 - 8, %rax
        movq    $\return, (%rax)
        push    $DS_USER
        push    %rax
        push    %rcx
        push    $CS64_USER
        push    %rdi
        mov     %rsi, %rdi
.endm

/* The same at CPL 3.  The block returns to an INT. */
        .global run_cpl3
run_cpl3:
        PREPARE_CPL3 leave_counted
        mov     %edx, %eax
        shr     $32, %rdx
        mov     $GLOBAL_CTRL, %ecx
        wrmsr
        iretq
leave_counted:
        int     $VECTOR_RETURN
return_counted:
        COUNT_FROM 2                    /* IRETQ; JMP in vector_entries */
        I mov   $GLOBAL_CTRL, %ecx
        I xor   %eax, %eax
        I xor   %edx, %edx
        I wrmsr
        COUNT_IS RUN_CPL3_OS_INSNS
return_plain:
        mov     %gs:PROGRESS_STACK, %rsp
        RESTORE

/* The same, but IA32_PERF_GLOBAL_CTRL stays as it is. */
        .global enter_cpl3
enter_cpl3:
        PREPARE_CPL3 leave_plain
        iretq
leave_plain:
        int     $VECTOR_RETURN + 1

/* A block: RDPMC with ECX = the argument. */
        .global rdpmc_block, rdpmc_resume
rdpmc_block:
        mov     $-1, %rax
        mov     $-1, %rdx
        mov     %edi, %ecx
        rdpmc
rdpmc_resume:
        mov     %rax, %rbx
        mov     %rdx, %rbp
        ret

/* The code must see CL = 0 as its divisor. */
        .global translate, translate_fault
translate:
        SAVE
        mov     %rsp, %gs:PROGRESS_STACK
        mov     %rsp, %rax
        push    %rdx
        push    %rax
        push    $2
        push    %rsi
        push    %rdi
        xor     %ecx, %ecx
        iretq
translate_fault:
        mov     %gs:PROGRESS_STACK, %rsp
        pop     %r15
        pop     %r14
        pop     %r13
        pop     %r12
        pop     %rbp
        pop     %rbx
        ret

/* Real mode --------------------------------------------------------------- */

/*
 * void rdpmc_real_mode(uint32_t ecx, PayloadResult *result)
 *
 * Interrupts must be off.  Low memory holds the code and the IVT.
 */
        .global rdpmc_real_mode
rdpmc_real_mode:
        SAVE
        push    %rsi
        mov     %edi, %esi
        mov     %rsp, %gs:PROGRESS_STACK
        sidt    IN_LOW(low_idt64)
        push    $CS32
        push    $1f
        lretq
        .code32
1:      mov     $DS16, %eax
        mov     %eax, %ds
        mov     %eax, %es
        mov     %eax, %ss
        mov     %eax, %fs
        mov     %cr0, %eax
        and     $~CR0_PG, %eax
        mov     %eax, %cr0
        mov     $MSR_EFER, %ecx
        rdmsr
        and     $~EFER_LME, %eax
        wrmsr
        ljmp    $CS16, $IN_LOW(low_from_protected)
/* Back, in protected mode, with results in %esi, %edi and %ebx. */
back_from_real_mode:
        mov     $DS, %eax
        mov     %eax, %ds
        mov     %eax, %es
        mov     %eax, %fs
        mov     $1f, %ebp
        jmp     enter_long_mode
1:      ljmp    $CS64, $2f
        .code64
2:      lidt    IN_LOW(low_idt64)
        mov     $DS, %eax
        mov     %eax, %ss
        mov     %gs:PROGRESS_STACK, %rsp
        pop     %rax
        mov     %ebx, (%rax)
        mov     %rsi, 16(%rax)
        mov     %rdi, 24(%rax)
        pop     %r15
        pop     %r14
        pop     %r13
        pop     %r12
        pop     %rbp
        pop     %rbx
        ret

/* Copied to PAYLOAD_REAL_MODE by copy_low_code(). */
        .global low_code, low_code_end, low_gp, low_ud
        .code16
        .balign 16
low_code:
        /* Another CPU starts here (SIPI). */
        ljmp    $0xf000, $IN_F000(start16)
low_from_protected:
        mov     %cr0, %eax
        and     $~CR0_PE, %eax
        mov     %eax, %cr0
        ljmp    $0, $IN_LOW(low_real)
low_real:
        xor     %eax, %eax
        mov     %ax, %ds
        mov     %ax, %ss
        mov     $PAYLOAD_REAL_MODE + 0x1000, %sp
        lidt    IN_LOW(low_ivt)
        mov     $VECTOR_NONE, %ebx
        mov     %esi, %ecx
        mov     $-1, %eax
        mov     $-1, %edx
        rdpmc
low_back:
        mov     %eax, %esi
        mov     %edx, %edi
        mov     %cr0, %eax
        or      $CR0_PE, %eax
        mov     %eax, %cr0
        ljmpl   $CS32, $back_from_real_mode
low_gp:
        mov     $13, %ebx
        jmp     low_fault
low_ud:
        mov     $6, %ebx
low_fault:
        add     $6, %sp
        jmp     low_back
        .balign 8
low_ivt:
        .word   0x3ff
        .long   0
        .balign 8
low_idt64:
        .skip   10
low_code_end:

/* System management mode: copied to PAYLOAD_SMI_ENTRY. */
        .global smi_code, smi_code_end
smi_code:
        COUNT_FROM 0
        I addr32 incl PAYLOAD_SMI_COUNT
        I rsm
        COUNT_IS SMI_INSNS
smi_code_end:

/* Tables ------------------------------------------------------------------ */

        .data
        .balign 16
        .global gdt
gdt:
        .quad   0
        .quad   0x00af9b000000ffff      /* 64-bit code */
        .quad   0x00cf93000000ffff      /* data */
        .quad   0x00cff3000000ffff      /* data, DPL 3; SYSRET wants it here */
        .quad   0x00affb000000ffff      /* 64-bit code, DPL 3 */
        .quad   0x00cf9b000000ffff      /* 32-bit code */
        .quad   0x00009b000000ffff      /* 16-bit code */
        .quad   0x000093000000ffff      /* 16-bit data */
        .rept   PAYLOAD_CPUS            /* TSS, set by load_tables() */
        .quad   0, 0
        .endr
gdt_end:

rom_gdt_pointer:
        .word   gdt_end - gdt - 1
        .long   IN_ROM(gdt)
gdt_pointer:
        .word   gdt_end - gdt - 1
        .quad   gdt

        .section .note.GNU-stack, "", @progbits
