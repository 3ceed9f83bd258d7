/*
 * x86-slots: a block of machine code, decoded, and the path through it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A host program over the model core, without QEMU.
 */

#ifndef TOOLS_X86_SLOTS_CODE_H
#define TOOLS_X86_SLOTS_CODE_H

#include <glib.h>

#include "tcg/pmu/decode/decoder.h"

/* General-purpose registers by their number in the encoding. */
#define CODE_GPRS       16
#define CODE_RSP        4
#define CODE_RBP        5

/* Not a general-purpose register. */
#define CODE_NO_GPR     (-1)

/* The most bytes of a block, and the most instructions of its path. */
#define CODE_MAX_BYTES  (1u << 20)
#define CODE_MAX_PATH   (1u << 20)

/* What an instruction does to @reg: it becomes @from + @add, or unknown. */
typedef struct CodeEffect {
    uint8_t reg;
    bool known;                 /* @from and @add are valid */
    int8_t from;                /* CODE_NO_GPR: zero */
    int64_t add;
} CodeEffect;

/* A memory operand: the parts of its address. */
typedef struct CodeOperand {
    bool present;
    int8_t base, index;         /* CODE_NO_GPR: none, or RIP */
    uint8_t scale;
    uint8_t segment;            /* Capstone's register number, 0: none */
    uint8_t size;               /* bytes, 0: unknown */
    int64_t disp;               /* with RIP: the target's offset from the
                                   start of the block */
} CodeOperand;

#define CODE_EFFECTS 4

typedef struct CodeInsn {
    PmuInsn info;
    unsigned offset;            /* bytes from the start of the block */
    CodeOperand mem;
    CodeEffect effect[CODE_EFFECTS];
    unsigned num_effects;
    int64_t target;             /* of a direct branch, as an offset; else -1 */
    bool stops;                 /* no instruction of the block follows */
    char text[96];              /* Intel syntax */
} CodeInsn;

typedef struct Code {
    uint8_t *bytes;
    unsigned length;
    CodeInsn *insns;
    unsigned num_insns;
    unsigned *path;             /* indices into @insns, in the order of
                                   execution */
    unsigned path_length;
    bool closed;                /* the path ends in a branch to the start, or
                                   in a RET to the block's caller */
    bool returns;               /* it is that RET */
} Code;

/* Codes of errors in the input and in the command line; exit statuses, too. */
typedef enum SlotsError {
    SLOTS_ERROR_DATA = 1,
    SLOTS_ERROR_USAGE = 2,
} SlotsError;

#define SLOTS_ERROR (slots_error_quark())
GQuark slots_error_quark(void);

typedef struct CodeReader CodeReader;

/*
 * Returns a reader of 64-bit code for @core, with the figures of @uarch.  The
 * reader keeps the pointer @uarch.  NULL if Capstone cannot be started.
 */
CodeReader *code_reader_new(PmuCore core, const PmuUarch *uarch);
void code_reader_free(CodeReader *reader);

/*
 * Decode the @length bytes at @bytes and find the path through them.  A
 * conditional branch is not taken, unless it is last and leads to the start.
 * The path follows direct jumps and calls within the block, and returns from
 * these calls.  Any other return leads to the start: the block is called again.
 * NULL and @error if there are no bytes or too many, if some cannot be decoded
 * or are AVX-512, or if the path leads out of the block.
 */
Code *code_read(CodeReader *reader, const uint8_t *bytes, size_t length,
                GError **error);
void code_free(Code *code);

/*
 * Returns the highest general-purpose register that @code does not use; R15 if
 * it uses all.
 */
unsigned code_spare_gpr(const Code *code);

/* Returns the decoder that the model is to use for the same code. */
PmuDecoder *code_reader_decoder(CodeReader *reader);

#endif
