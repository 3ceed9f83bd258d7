/*
 * x86-slots: addresses of the data that a block accesses.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A host program over the model core, without QEMU.
 *
 * The values of registers are not known.  But it is often known that a register
 * holds the same value as before, or a constant more.  Two accesses are to the
 * same place if moves, LEA, constants and the stack show that the registers in
 * their addresses hold the same values.  Otherwise they do not overlap.  A
 * pointer that was loaded or computed is another one each time.
 */

#ifndef TOOLS_X86_SLOTS_ADDRESSES_H
#define TOOLS_X86_SLOTS_ADDRESSES_H

#include "code.h"

/*
 * All data lie in ADDRESSES_LINES lines of 64 bytes, from ADDRESSES_BASE on and
 * ADDRESSES_APART bytes apart.  With the line after each of them, they fit the
 * L1D.  String instructions, and all accesses with a stride, have places of
 * their own.
 */
#define ADDRESSES_LINES 384
#define ADDRESSES_APART (3 * 64)        /* odd lines: uses all sets */
#define ADDRESSES_BASE  0x10000000ull

typedef struct AddressOptions {
    int64_t stride;             /* bytes that each access advances in an
                                   iteration; 0: as described above */
    int64_t span;               /* bytes after which a stride starts again */
    bool splits;                /* registers hold multiples of 64 at first, and
                                   accesses may cross lines */
} AddressOptions;

typedef struct Addresses Addresses;

/* Copies @options.  Never returns NULL. */
Addresses *addresses_new(const AddressOptions *options);
void addresses_free(Addresses *addresses);

/*
 * Execute instruction @index of @code as far as addresses need it.  Sets @ea to
 * the address of its ModRM or [rSI] operand, and @stack to that of its stack or
 * [rDI] operand.  If it has no such operand, that is left alone.
 */
void addresses_step(Addresses *addresses, const Code *code, unsigned index,
                    uint64_t *ea, uint64_t *stack);

/*
 * The next iteration of @code begins.  If @code ends in a return, its caller
 * has restored the stack pointer and calls it again.
 */
void addresses_next_iteration(Addresses *addresses, const Code *code);

/*
 * With a stride: returns the number of iterations after which all accesses are
 * where they were.
 */
uint64_t addresses_period(const Addresses *addresses);

#endif
