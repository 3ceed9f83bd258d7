/*
 * Interface of the PMU tests and their bare-metal payload.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The payload is the firmware of the machine.  It starts at the reset vector,
 * enters 64-bit mode, and executes the operations that the test has put in
 * memory, one after the other.  It leaves a result for each.  All addresses are
 * physical; memory is mapped one to one and everything is accessible at CPL 3.
 *
 * C and assembler files include this.
 */

#ifndef PMU_PAYLOAD_H
#define PMU_PAYLOAD_H

/* Memory. */
#define PAYLOAD_REAL_MODE       0x8000      /* 16-bit code and its stack */
#define PAYLOAD_CODE            0xa000      /* OP_TRANSLATE: two pages */
#define PAYLOAD_SMI_COUNT       0x30000     /* uint32_t: SMIs taken */
#define PAYLOAD_SMI_ENTRY       0x38000
#define PAYLOAD_SMI_STATE_RIP   0x3ff78     /* in the state saved by an SMI */
#define PAYLOAD_VMCB            0x40000     /* BLOCK_VMRUN: a page */
#define PAYLOAD_STEPS           0x50000     /* PayloadStep[]: OP_STEPS */
#define PAYLOAD_PAGE_TABLES     0x70000
#define PAYLOAD_OTHER_SPACE     0x78000     /* OP_SPACE: a page */
#define PAYLOAD_IMAGE           0x100000    /* the ROM, copied */
#define PAYLOAD_IMAGE_SIZE      0x10000
#define PAYLOAD_STACKS          0x120000    /* for each CPU: see STACK_x */
#define PAYLOAD_PROGRESS        0x1f0000    /* PayloadProgress for each CPU */
#define PAYLOAD_SCRIPT          0x200000    /* PayloadOp[], for each CPU */
#define PAYLOAD_RESULTS         0x280000    /* PayloadResult[], each CPU */
#define PAYLOAD_LOG             0x300000    /* PayloadEvent[], each CPU */
#define PAYLOAD_PAGED           0x400000    /* 2 MiB in pages of 4 KiB */
#define PAYLOAD_DATA            0x600000    /* for the tests to use */
#define PAYLOAD_MEMORY_MB       16

/* CPUs, and distances in bytes from one CPU's area to that of the next. */
#define PAYLOAD_CPUS            2
#define PAYLOAD_STACKS_STRIDE   0x10000
#define PAYLOAD_PROGRESS_STRIDE 0x1000
#define PAYLOAD_SCRIPT_STRIDE   0x40000
#define PAYLOAD_RESULTS_STRIDE  0x40000
#define PAYLOAD_LOG_STRIDE      0x80000

/* The page table, of 512 entries, that maps PAYLOAD_PAGED. */
#define PAYLOAD_PAGED_PTE       (PAYLOAD_PAGE_TABLES + 0x6000)

/* I/O ports. */
#define PAYLOAD_PORT_DUMP       0x402       /* isa-debugcon */
#define PAYLOAD_PORT_EXIT       0xf4        /* isa-debug-exit */
#define PAYLOAD_PORT_RESET      0xcf9

/*
 * PayloadOp.code, and which of the operands arg0, a and b it uses.  OP_RUN
 * returns the block's results in value[].
 */
#define OP_END                  0   /* halt for ever, interrupts off */
#define OP_RDMSR                1   /* arg0: MSR */
#define OP_WRMSR                2   /* arg0: MSR, a: value */
#define OP_RDPMC                3   /* arg0: ECX, a: RDPMC_x */
#define OP_CPUID                4   /* arg0: leaf, a: subleaf */
#define OP_CR4                  5   /* a: bits to set, b: to clear */
#define OP_POKE32               6   /* a: address, b: value */
#define OP_PEEK32               7   /* a: address */
#define OP_POKE64               8   /* a: address, b: value */
#define OP_PEEK64               9   /* a: address */
#define OP_RUN                  10  /* arg0: BLOCK_x | RUN_x, */
                                    /* a: GLOBAL_CTRL, b: the block's n */
#define OP_SYNC                 11  /* wait until the test says a */
#define OP_INIT                 12  /* INIT to oneself, and continue */
#define OP_RESET                13  /* reset the machine, and continue */
#define OP_START_CPU            14  /* a: APIC ID; it runs its own script */
#define OP_WAIT_CPU             15  /* a: CPU whose script must have ended */
#define OP_DUMP                 16  /* write results and log to */
                                    /* PAYLOAD_PORT_DUMP */
#define OP_EXIT                 17  /* end QEMU through PAYLOAD_PORT_EXIT */
#define OP_BLOCK                18  /* arg0: block; value[0]: its address */
#define OP_FLUSH_TLB            19
#define OP_BREAKPOINT           20  /* a: DR0, b: DR7 */
#define OP_VECTOR               21  /* arg0: vector; value[0]: its entry */
#define OP_SAVE_METRICS         22  /* a: where to, RDPMC of slots, metrics */
#define OP_RESTORE_METRICS      23  /* a: where from, WRMSR of the same */
#define OP_ENABLE_SYSCALL       24  /* SYSCALL leads to SYSRET */
#define OP_TRANSLATE            25  /* have encodings translated, not run */
                                    /* arg0: TRANSLATE_x, a: the first byte */
                                    /* after ModRM, b: prefixes, see there */
#define OP_ENABLE_AVX           26  /* set XCR0; CR4.OSXSAVE must be set */
#define OP_SPACE                27  /* a: load CR3 with the first address */
                                    /* space or, 1, with another one that */
                                    /* maps the same */
#define OP_STEPS                28  /* the handler of NMIs takes the steps at */
                                    /* PAYLOAD_STEPS, and logs nothing */
#define OP_RDTSC                29  /* value[0]: the time stamp counter */

/* PayloadStep.code */
#define STEP_END                0
#define STEP_RDMSR              1   /* target: MSR */
#define STEP_WRMSR              2   /* target: MSR, value */
#define STEP_POKE32             3   /* target: address, value */
#define STEP_LOOP               4   /* two instructions, value (> 0) times */

/* Where OP_RDPMC executes. */
#define RDPMC_CPL0              0
#define RDPMC_CPL3              1
#define RDPMC_REAL_MODE         2

/*
 * Mode of OP_TRANSLATE's code, and its encodings: those of one opcode map,
 * without or with a VEX prefix, with each opcode and ModRM byte.  value[] has
 * their number and the address of the last one, in case QEMU dies.
 */
#define TRANSLATE_64            0
#define TRANSLATE_32            1
#define TRANSLATE_16            2
#define TRANSLATE_64_CPL3       3
#define TRANSLATE_MODE_MASK     0x3
#define TRANSLATE_MAP(n)        ((n) << 4)  /* one byte, 0F, 0F 38, 0F 3A */
#define TRANSLATE_MAP_SHIFT     4
#define TRANSLATE_MAP_MASK      0x30
#define TRANSLATE_VEX           0x40
#define TRANSLATE_ALL_MODRM     0x80        /* else eight with a register */
                                            /* and eight with memory */
#define TRANSLATE_SPLIT(n)      ((n) << 8)  /* n bytes lie before a page end */
#define TRANSLATE_SPLIT_SHIFT   8
#define TRANSLATE_SPLIT_MASK    0xf00
/*
 * OP_TRANSLATE's b: up to eight prefixes, the first one in the lowest byte; 0
 * ends them.  With TRANSLATE_VEX: the last two bytes of a three-byte VEX
 * prefix, without the map.
 */
#define TRANSLATE_MAX_PREFIXES  8

/* How OP_RUN runs a block. */
#define RUN_CPL3                0x100   /* at CPL 3 */
#define RUN_TF                  0x200   /* with EFLAGS.TF */
#define RUN_IF                  0x400   /* with EFLAGS.IF */
#define RUN_BLOCK_MASK          0xff

/*
 * Instructions and branches that are counted in OP_RUN besides those of the
 * block, from the WRMSR that enables to the one that disables.  RUN_CPL0: CALL,
 * and after the block's RET: MOV, XOR, XOR, WRMSR.  RUN_CPL3_USR: INT.
 * RUN_CPL3_OS: IRETQ, and JMP, MOV, XOR, XOR, WRMSR.
 */
#define RUN_CPL0_INSNS          5
#define RUN_CPL0_BRANCHES       1
#define RUN_CPL3_USR_INSNS      1
#define RUN_CPL3_USR_BRANCHES   1
#define RUN_CPL3_OS_INSNS       6
#define RUN_CPL3_OS_BRANCHES    2

/*
 * Instructions and branches that one interrupt or exception adds at CPL 0, its
 * IRETQ included.  The assembler checks the figures against start.S.
 */
#define INTERRUPT_INSNS         22      /* NMI, #DB, VECTOR_PMI, _TIMER */
#define INTERRUPT_BRANCHES      3
#define FAULT_INSNS             31      /* exceptions that continue elsewhere */
#define FAULT_BRANCHES          4
#define FAULT_NO_ERROR_INSNS    1       /* added if there is no error code */
#define MAP_INSNS               29      /* #PF that maps the page */
#define MAP_BRANCHES            3
#define SMI_INSNS               2
#define SMI_BRANCHES            1
/* PMI_RELOAD: from the WRMSR that enables (not counted) to IRETQ. */
#define RELOAD_INSNS            5

/* Vectors. */
#define VECTOR_RETURN           0x40    /* from CPL 3: end of a block */
#define VECTOR_PMI              0x50
#define VECTOR_TIMER            0x60
#define VECTOR_NONE             0xffff

/* The local APIC. */
#define APIC_BASE               0xfee00000
#define APIC_ID                 (APIC_BASE + 0x20)
#define APIC_EOI                (APIC_BASE + 0xb0)
#define APIC_SPIV               (APIC_BASE + 0xf0)
#define APIC_ESR                (APIC_BASE + 0x280)
#define APIC_ICR_LOW            (APIC_BASE + 0x300)
#define APIC_ICR_HIGH           (APIC_BASE + 0x310)
#define APIC_LVT_TIMER          (APIC_BASE + 0x320)
#define APIC_LVTPC              (APIC_BASE + 0x340)
#define APIC_TIMER_INITIAL      (APIC_BASE + 0x380)
#define APIC_TIMER_CURRENT      (APIC_BASE + 0x390)
#define APIC_TIMER_DIVIDE       (APIC_BASE + 0x3e0)

/* PayloadProgress.action: what the handler of the PMI does after logging it */
#define PMI_LOG                 0
#define PMI_RELOAD              1   /* stop, acknowledge, reload, unmask, go */

/*
 * Blocks of code that OP_RUN runs: blocks.S.  The comments give the numbers of
 * instructions and branches, the final RET included; n is the argument.
 */
#define BLOCK_EMPTY             0   /* 1, 1 */
#define BLOCK_NOPS              1   /* NOPS + 1, 1: one byte each */
#define BLOCK_LOOP              2   /* 2n + 2, n + 1: see LOOP_x */
#define BLOCK_CALLS             3   /* 5n + 2, 3n + 1 */
#define BLOCK_BRANCHES          4   /* BRANCHES_INSNS, BRANCHES_BRANCHES */
#define BLOCK_MEMORY            5   /* 7n + 3, n + 1; data at DATA */
#define BLOCK_MIXED             6   /* a pseudo-random walk of n steps */
#define BLOCK_LONG              7   /* LONG + 1, 1: over two pages */
#define BLOCK_UD                8   /* FAULTING + 1, 1: with a #UD */
#define BLOCK_GP                9   /* the same, loads from address n */
#define BLOCK_PF                10  /* the same, loads from address n */
#define BLOCK_DE                11  /* the same, divides by zero */
#define BLOCK_DE_MEMORY         12  /* the same, by the word at address n */
#define BLOCK_TOUCH             13  /* 4, 1: loads from address n */
#define BLOCK_MOVSB             14  /* 6, 1: n bytes, DATA to PAGED */
#define BLOCK_STOSQ             15  /* 5, 1: n words, to PAGED */
#define BLOCK_SCASB             16  /* 6, 1: looks for 0xff, stops at n */
#define BLOCK_SELF_MODIFYING    17  /* 4n + 3, n + 1 */
#define BLOCK_MODIFY_NEXT       18  /* 5, 1: result is 2, not 1 */
#define BLOCK_HLT               19  /* 4, 1 */
#define BLOCK_SMI               20  /* SMI_BLOCK_INSNS, 1, and an SMI */
#define BLOCK_INT               21  /* 3n + 2, 2n + 1, and n interrupts */
#define BLOCK_TF                22  /* TF_INSNS + 1, 1, and TF_TRAPS #DB */
#define BLOCK_WATCHPOINT        23  /* 6, 1, and a #DB */
#define BLOCK_UNALIGNED_LOCK    24  /* 3n + 2, n + 1 */
#define BLOCK_MMIO              25  /* 4n + 2, n + 1 */
#define BLOCK_RDPMC             26  /* RDPMC of n twice, see RDPMC_DISTANCE */
#define BLOCK_STOPPED           27  /* STOPPED_INSNS, 1 */
#define BLOCK_SPIN              28  /* until the test says n: 4r + 3, r + 1; */
                                    /* r is the result */
#define BLOCK_PAUSE             29  /* 3n + 2, n + 1 */
#define BLOCK_CHASE             30  /* 6n + 4, n + 1: loads over 1 MiB */
#define BLOCK_MULTIPLY          31  /* 18n + 2, n + 1: one long chain */
#define BLOCK_GUESS             32  /* unpredictable branches */
#define BLOCK_WRMSR             33  /* 5, 1: WRMSR of 0 to n */
#define BLOCK_REP_ZERO          34  /* 6, 1: REP with a count of zero */
#define BLOCK_PREFIXES          35  /* PREFIXES_INSNS, 1: odd encodings */
#define BLOCK_GP_WRMSR          36  /* as BLOCK_GP: writes a read-only MSR */
#define BLOCK_GP_RDPMC          37  /* as BLOCK_GP: reads no such counter */
#define BLOCK_EVTSEL            38  /* IA32_PERFEVTSEL1 = n, and 0 again */
                                    /* after EVTSEL_INSNS */
#define BLOCK_SYSCALL           39  /* 3n + 2, 2n + 1: n times SYSCALL, and */
                                    /* at CPL 0 n times SYSRET */
#define BLOCK_JUMP              40  /* 1, 1: jumps to address n */
#define BLOCK_COMPATIBILITY     41  /* COMPATIBILITY_INSNS, 3: 32-bit code */
#define BLOCK_DENORMALS         42  /* 9n + 15, n + 1: n products of denormal */
                                    /* numbers, n that are denormal; result: */
                                    /* MXCSR but for DE */
#define BLOCK_NO_DENORMALS      43  /* the same, but they are zero */
#define BLOCK_FLUSHES           44  /* 10n + 2, n + 1: n lines each by load, */
                                    /* PREFETCHT0, T1 and W; flushes them */
                                    /* again */
#define BLOCK_PATCH             45  /* patches code when another CPU has run */
                                    /* it, n times or until PROGRESS_GO; */
                                    /* result: how often */
#define BLOCK_PATCHED           46  /* runs the code that BLOCK_PATCH */
                                    /* patches; result: how often it was not */
                                    /* the new code */
#define BLOCK_NOT_TAKEN         47  /* 5n + 1, 3n + 1: n Jcc that are not */
                                    /* taken, n that are, but for the last */
#define BLOCK_ACCESSED          48  /* 6, 1: loads from PAGED, and clears the */
                                    /* Accessed bit of its page */
#define BLOCK_PAGING_OFF        49  /* 10, 3: paging off and on again, CR3 */
                                    /* stays */
#define BLOCK_VMRUN             50  /* 5, 1, and the guest at PAYLOAD_VMCB; */
                                    /* second result: why it exits */
#define BLOCK_REMAP             51  /* loads from REMAP_PAGES pages, jumps to */
                                    /* address n, which jumps to RBP, loads */
                                    /* from them again, and then loads CR3 */
#define BLOCK_FAULTS            52  /* n loads that fault, amid others */
#define BLOCK_LODSD_DEVICE      53  /* 5, 1: n words from the HPET */
#define BLOCK_REMAP_DEVICE      54  /* clears and sets bit 1 of the PCI */
                                    /* configuration register n (the */
                                    /* command) REMAP_TIMES times */
#define BLOCK_READ_APIC         55  /* reads the local APIC's version while */
                                    /* another CPU runs BLOCK_REMAP_DEVICE; */
                                    /* results: how often it differed from */
                                    /* the first one read, and that one */
#define BLOCK_INTO              56  /* INTO_INSNS, 4: 32-bit code, INTO with */
                                    /* OF set, and what follows */
#define BLOCK_CPUID             57  /* (CPUIDS + 2)n + 2, n + 1 */
#define BLOCK_UD_BRANCH         58  /* as BLOCK_UD, by LOCK JZ */
#define BLOCK_GP_SYSEXIT        59  /* as BLOCK_UD, a #GP by SYSEXIT at CPL 3 */

#define CPUIDS                  60
#define REMAP_PAGES             32      /* from PAGED on */
#define REMAP_TIMES             200

#define NOPS                    1000
#define LONG                    5000
#define FAULTING                25
#define BRANCHES_INSNS          24
#define BRANCHES_BRANCHES       11
#define SMI_BLOCK_INSNS         54
#define TF_INSNS                28
#define TF_TRAPS                23
#define RDPMC_DISTANCE          23
#define STOPPED_INSNS           29
#define PREFIXES_INSNS          12
#define EVTSEL_INSNS            12
#define COMPATIBILITY_INSNS     19
#define INTO_INSNS              19

/* Offsets in BLOCK_LOOP of the instructions that make the loop. */
#define LOOP_DEC                3
#define LOOP_JNZ                6
#define LOOP_RET                8

#ifndef __ASSEMBLER__

#include <stdint.h>

typedef struct PayloadOp {
    uint32_t code;
    uint32_t arg0;
    uint64_t a, b;
} PayloadOp;

typedef struct PayloadStep {
    uint32_t code;
    uint32_t target;
    uint64_t value;
} PayloadStep;

typedef struct PayloadResult {
    uint32_t vector;    /* of the exception raised, or VECTOR_NONE */
    uint32_t error;
    uint64_t rip;
    uint64_t value[2];  /* RAX and RDX, or what the operation returns */
} PayloadResult;

/* An interrupt or exception that was taken while a block ran. */
typedef struct PayloadEvent {
    uint64_t vector;
    uint64_t rip;
    uint64_t rcx;       /* of the interrupted code */
    uint64_t status;    /* PMI_RELOAD: IA32_PERF_GLOBAL_STATUS, else 0 */
} PayloadEvent;

/*
 * Test and payload both write this.  The loader device does not overwrite it
 * at RESET.
 */
typedef struct PayloadProgress {
    uint64_t done;      /* DONE_x: the script has ended */
    uint64_t next;      /* index of the next operation */
    uint64_t waiting;   /* OP_SYNC: the number that it waits for */
    uint64_t go;        /* OP_SYNC: the number up to which it may go on */
    uint64_t events;    /* entries in the log */
    uint64_t log;       /* address of the log */
    uint64_t stack;     /* of the interpreter, while at CPL 3 */
    uint64_t resume;    /* where faults continue */
    uint64_t map;       /* address of a page-table entry that #PF sets P in */
    uint64_t fault_vector;      /* of the last fault */
    uint64_t fault_error;
    uint64_t fault_rip;
    uint64_t action;    /* PMI_x */
    uint64_t msr;       /* PMI_RELOAD: the counter, */
    uint64_t reload;    /* its new value, */
    uint64_t enable;    /* IA32_PERF_GLOBAL_CTRL, */
    uint64_t lvtpc;     /* and LVTPC */
} PayloadProgress;

#endif

/* PayloadProgress.done */
#define DONE_OK                 1
#define DONE_UNEXPECTED_FAULT   2       /* see fault_x */
#define DONE_BAD_OPERATION      3

/* Offsets in PayloadProgress. */
#define PROGRESS_DONE           0x00
#define PROGRESS_NEXT           0x08
#define PROGRESS_WAITING        0x10
#define PROGRESS_GO             0x18
#define PROGRESS_EVENTS         0x20
#define PROGRESS_LOG            0x28
#define PROGRESS_STACK          0x30
#define PROGRESS_RESUME         0x38
#define PROGRESS_MAP            0x40
#define PROGRESS_FAULT_VECTOR   0x48
#define PROGRESS_FAULT_ERROR    0x50
#define PROGRESS_FAULT_RIP      0x58
#define PROGRESS_ACTION         0x60
#define PROGRESS_MSR            0x68
#define PROGRESS_RELOAD         0x70
#define PROGRESS_ENABLE         0x78
#define PROGRESS_LVTPC          0x80

/* Events after which the log wraps. */
#define PAYLOAD_LOG_ENTRIES     0x4000

#endif
