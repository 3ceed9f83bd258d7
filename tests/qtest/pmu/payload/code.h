/*
 * The payload of the PMU tests: what its assembler files offer to C.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef PMU_PAYLOAD_CODE_H
#define PMU_PAYLOAD_CODE_H

#include "payload.h"

/* The entries of all vectors, 16 bytes apart: start.S. */
extern char vector_entries[];
/* A handler that takes the steps at PAYLOAD_STEPS. */
extern char take_steps[];
extern uint64_t gdt[];

/* Code that is copied to PAYLOAD_REAL_MODE, and its real-mode handlers. */
extern char low_code[], low_code_end[], low_gp[], low_ud[];
/* Code that is copied to PAYLOAD_SMI_ENTRY. */
extern char smi_code[], smi_code_end[];
/* A block that does RDPMC of its argument, and where a fault continues. */
extern char rdpmc_block[], rdpmc_resume[];

/*
 * Run the code at @block with IA32_PERF_GLOBAL_CTRL = @global_ctrl and
 * @rflags, at CPL 0 or CPL 3.  Stores its results, %rbx and %rbp, in @value[2].
 */
void run_cpl0(uint64_t block, uint64_t argument, uint64_t global_ctrl,
              uint64_t rflags, uint64_t *value);
void run_cpl3(uint64_t block, uint64_t argument, uint64_t global_ctrl,
              uint64_t rflags, uint64_t *value);
/* The same at CPL 3, but ignores @global_ctrl and leaves the MSR alone. */
void enter_cpl3(uint64_t block, uint64_t argument, uint64_t global_ctrl,
                uint64_t rflags, uint64_t *value);

/*
 * Enter the code at @rip, with code segment @cs and stack segment @ss.  It must
 * begin with an instruction that raises #DE, whose handler must be
 * translate_fault; that returns here.
 */
void translate(uint64_t rip, uint64_t cs, uint64_t ss);
extern char translate_fault[];

/* Execute RDPMC in real mode.  Stores vector and value in @result. */
void rdpmc_real_mode(uint32_t ecx, PayloadResult *result);

/* Addresses of blocks by number: blocks.S. */
extern const uint64_t block_table[];
/* The target of SYSCALL. */
extern char syscall_entry[];

/* start.S calls this on CPU number @cpu, and halts when it returns. */
void payload_main(unsigned cpu);

#endif
