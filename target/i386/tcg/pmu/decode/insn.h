/*
 * An instruction as micro-ops: the static description that the model needs.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Immutable once built: see decoder.h.
 */

#ifndef TARGET_I386_PMU_DECODE_INSN_H
#define TARGET_I386_PMU_DECODE_INSN_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Registers with a ready time: 1-16 GPR, 17 and 18 flags, 19-34 vector, 35-42
 * MMX and x87; 0 means none.  x87 ones are numbered from the top of the stack
 * as the instruction sees it.  CF is renamed apart from the other flags (SF,
 * PF, AF, ZF, OF) since Sandy Bridge: INC and DEC leave it alone, ADCX and ADOX
 * are two chains (Agner Fog, "The microarchitecture of Intel, AMD and VIA
 * CPUs"; Intel, "New Instructions Supporting Large Integer Arithmetic", 2013).
 */
typedef enum PmuReg {
    PMU_REG_NONE,
    PMU_REG_GPR0,
    PMU_REG_RAX = PMU_REG_GPR0,
    PMU_REG_RCX,
    PMU_REG_RDX,
    PMU_REG_RBX,
    PMU_REG_RSP,
    PMU_REG_RBP,
    PMU_REG_RSI,
    PMU_REG_RDI,
    PMU_REG_CF = PMU_REG_GPR0 + 16,
    PMU_REG_SPAZO,
    PMU_REG_VEC0,
    PMU_REG_X87 = PMU_REG_VEC0 + 16,
    PMU_REG_NR = PMU_REG_X87 + 8
} PmuReg;

typedef enum PmuBranch {
    PMU_BRANCH_NONE,
    PMU_BRANCH_COND,            /* Jcc, JRCXZ, LOOPcc */
    PMU_BRANCH_JMP,             /* direct */
    PMU_BRANCH_CALL,            /* direct */
    PMU_BRANCH_JMP_INDIRECT,
    PMU_BRANCH_CALL_INDIRECT,
    PMU_BRANCH_RET,
    PMU_BRANCH_FAR,             /* far JMP/CALL/RET, INT, IRET, SYSCALL, ... */
} PmuBranch;

/*
 * The class of a retired instruction: what events tell apart besides kinds of
 * branches and accesses.
 */
typedef enum PmuInsnClass {
    PMU_CLASS_NONE,
    PMU_CLASS_NOP,
    PMU_CLASS_PAUSE,
    PMU_CLASS_LFENCE,
    PMU_CLASS_PREFETCH_NTA,
    PMU_CLASS_PREFETCH_T0,
    PMU_CLASS_PREFETCH_T1_T2,
    PMU_CLASS_PREFETCH_W,
    PMU_CLASS_FP_SCALAR_DOUBLE,
    PMU_CLASS_FP_SCALAR_SINGLE,
    PMU_CLASS_FP_128_DOUBLE,
    PMU_CLASS_FP_128_SINGLE,
    PMU_CLASS_FP_256_DOUBLE,
    PMU_CLASS_FP_256_SINGLE,
    PMU_CLASS_INT_ADD_128,
    PMU_CLASS_INT_ADD_256,
    PMU_CLASS_INT_MUL_256,
    PMU_CLASS_INT_SHUFFLE,
    PMU_CLASS_NR
} PmuInsnClass;

/* Properties of an instruction, PmuInsn.flags. */
#define PMU_INSN_LOAD           (1u << 0)   /* reads its ModRM operand */
#define PMU_INSN_STORE          (1u << 1)   /* writes its ModRM operand */
#define PMU_INSN_STACK_LOAD     (1u << 2)   /* POP, RET; strings: [rDI] */
#define PMU_INSN_STACK_STORE    (1u << 3)   /* PUSH, CALL; strings: [rDI] */
#define PMU_INSN_MICROCODED     (1u << 4)   /* its slots are heavy operations */
#define PMU_INSN_SERIALIZING    (1u << 5)   /* SDM vol. 3A, 8.3, and LFENCE */
#define PMU_INSN_LOCKED         (1u << 6)   /* LOCK prefix, XCHG with memory */
#define PMU_INSN_FUSE_FIRST     (1u << 7)   /* can macro-fuse with a Jcc */
#define PMU_INSN_FUSE_SECOND    (1u << 8)   /* is such a Jcc */
#define PMU_INSN_PREFETCH       (1u << 9)   /* its load brings no result */
#define PMU_INSN_STRING         (1u << 10)  /* ea is [rSI], stack is [rDI] */
#define PMU_INSN_REP            (1u << 11)
#define PMU_INSN_UNKNOWN        (1u << 12)  /* has no row in the table */
#define PMU_INSN_X87            (1u << 13)
#define PMU_INSN_LCP            (1u << 14)  /* length-changing prefix */
#define PMU_INSN_IMM64          (1u << 15)  /* takes two places in the DSB */
#define PMU_INSN_BLOCKS_ISSUE   (1u << 16)  /* nothing issues until it ends */
#define PMU_INSN_FENCES_LOADS   (1u << 17)  /* later loads wait for it */
#define PMU_INSN_LOW32          (1u << 18)  /* it is 16- or 32-bit code */
#define PMU_INSN_SWAP           (1u << 19)  /* each of two registers gets what
                                               is in the other */
#define PMU_INSN_STREAMING      (1u << 20)  /* its stores are non-temporal */

/*
 * A region of code ends with it, as with a branch: QEMU translates nothing
 * after it in the same block.
 */
#define PMU_INSN_ENDS_REGION    (1u << 21)

/* Denormal operands or results make it need an assist. */
#define PMU_INSN_ASSISTED       (1u << 22)

/* The line of its ModRM operand leaves all caches. */
#define PMU_INSN_FLUSH          (1u << 23)

/*
 * Memory renaming can treat its memory operand as the register that was stored
 * there.
 */
#define PMU_INSN_RENAMES_MEMORY (1u << 24)

/* Holds its resource for half a cycle more than @hold says. */
#define PMU_INSN_HOLDS_HALF     (1u << 25)

/* Loads and stores by ModRM operand or stack. */
#define PMU_INSN_LOADS          (PMU_INSN_LOAD | PMU_INSN_STACK_LOAD)
#define PMU_INSN_STORES         (PMU_INSN_STORE | PMU_INSN_STACK_STORE)

/* The most sources and destinations of an instruction ... */
#define PMU_INSN_SRCS 5
#define PMU_INSN_DSTS 4

/* ... and of one that takes a short path. */
#define PMU_SHORT_SRCS 3
#define PMU_SHORT_DSTS 3

/*
 * What a core has only once and does not pipeline.  An instruction that needs
 * it holds it for PmuInsn.hold cycles.  Resources up to PMU_RESOURCE_DOT serve
 * micro-ops as their sources become ready, the others in program order.
 */
typedef enum PmuResource {
    PMU_RESOURCE_NONE,
    PMU_RESOURCE_INT_DIV,
    PMU_RESOURCE_FP_DIV,
    PMU_RESOURCE_DOT,           /* microcode of dot products */
    PMU_RESOURCE_LOCK,          /* one locked access at a time */
    PMU_RESOURCE_SYSTEM,        /* microcode that keeps the core to itself */
    PMU_RESOURCE_NR
} PmuResource;

/* @count micro-ops that can each go to any of @ports (bit n: port n). */
typedef struct PmuPorts {
    uint16_t ports;
    uint8_t count;
} PmuPorts;

#define PMU_INSN_COMPUTE 3

/* Groups of Jcc that flag-setting instructions fuse with, PmuInsn.fuse. */
#define PMU_FUSE_CARRY_ZERO     (1u << 0)   /* JB JAE JE JNE JA JBE */
#define PMU_FUSE_SIGNED         (1u << 1)   /* JL JGE JLE JG */
#define PMU_FUSE_OTHER          (1u << 2)   /* JO JNO JS JNS JP JNP */
#define PMU_FUSE_ZERO           (1u << 3)   /* JE JNE, after INC and DEC */

/*
 * Which path through the pipeline model an instruction takes.  All but the
 * first are short paths, for instructions of one slot without anything special:
 * see choose_path() and short-paths.c.
 */
typedef enum PmuPath {
    PMU_PATH_FULL,
    PMU_PATH_COMPUTE,           /* one compute micro-op */
    PMU_PATH_LOAD,              /* one load, one compute micro-op at most */
    PMU_PATH_STORE,             /* one store */
} PmuPath;

/* How an instruction uses the stack pointer. */
typedef enum PmuRsp {
    PMU_RSP_NONE,
    PMU_RSP_STACK,              /* PUSH, POP and the like */
    PMU_RSP_USE,                /* reads it, also in an address */
    PMU_RSP_SET,                /* writes it without reading it */
} PmuRsp;

/*
 * An instruction.  Its unfused micro-ops are, in this order, one load for each
 * of PMU_INSN_LOAD and _STACK_LOAD, those of @compute, and a store address and
 * a store data micro-op for each of PMU_INSN_STORE and _STACK_STORE.  The
 * core's table (PmuUarch) has the ports of loads and stores.
 *
 * If a port is free, destination j is ready @latency - @src_late[i] +
 * @dst_late[j] cycles after source i.  The dispatch of the first micro-op of
 * @compute decides that.  A load is one more source.  Its data are ready L1D
 * latency + @load_latency cycles after its address, or store_forward +
 * @forward_latency cycles after the data of the store that forwards them.
 * Without compute micro-ops the data of a load are the result, and stores wait
 * for the sources themselves.
 */
typedef struct PmuInsn {
    uint32_t flags;
    uint16_t hold;              /* cycles that @resource is held */
    uint8_t resource;           /* PmuResource */
    uint8_t length;             /* bytes, as the emulator decoded it */
    uint8_t branch;             /* PmuBranch */
    uint8_t slots;              /* issue slots: fused-domain micro-ops, after
                                   un-lamination */
    uint8_t decode_uops;        /* its micro-ops in decoders and DSB: before
                                   un-lamination; above 4 with microcode */
    uint8_t latency;            /* cycles, see above */
    uint8_t load_latency;       /* cycles on top of L1D's */
    uint8_t forward_latency;    /* cycles on top of store_forward's, if a
                                   store forwards the data */
    uint8_t access_size;        /* bytes of the memory operand, 0 unknown */
    uint8_t fuse;               /* PMU_FUSE_x: groups that a first can
                                   fuse with, or that a second is in */
    uint8_t src[PMU_INSN_SRCS]; /* PmuReg read before execution */
    uint8_t src_late[PMU_INSN_SRCS];    /* cycles it may be later than others */
    uint8_t addr_src[2];        /* PmuReg that form the address */
    uint8_t dst[PMU_INSN_DSTS]; /* PmuReg written, PMU_REG_NR for none */
    uint8_t dst_late[PMU_INSN_DSTS];    /* cycles it is later than others */
    PmuPorts compute[PMU_INSN_COMPUTE];
    uint8_t opcode_end;         /* offset of the opcode's last byte */
    uint8_t bypass;             /* PmuBypass: of the result, and of sources
                                   (PmuUarch.bypass) */
    uint8_t insn_class;         /* PmuInsnClass */
    uint8_t class_count;        /* times it counts: FMA, DPPx 2; else 1, 0 */
    /* pmu_insn_complete() sets these from the rest: */
    uint8_t uops;               /* unfused micro-ops, see above; at most 255 */
    uint8_t path;               /* PmuPath */
    uint8_t rsp;                /* PmuRsp */
} PmuInsn;

/* Set @uops, @path and @rsp of @insn from the rest. */
void pmu_insn_complete(PmuInsn *insn);

#endif
