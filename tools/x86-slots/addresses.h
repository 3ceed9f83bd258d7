/*
 * x86-slots: where the data of a block are.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A host program over the model core, without QEMU.
 *
 * What registers hold is not known, but often that they hold the same as
 * before, or some bytes more.  Two accesses are to the same place if the
 * registers in their addresses hold the same values, as far as moves, LEA,
 * constants and the stack show; otherwise they do not overlap.  A pointer
 * that was loaded or computed is another one each time.
 */

#ifndef TOOLS_X86_SLOTS_ADDRESSES_H
#define TOOLS_X86_SLOTS_ADDRESSES_H

#include "code.h"

/*
 * All data lie in this many lines of 64 bytes from ADDRESSES_BASE on, so many
 * bytes apart, which fit the L1D with what is behind them; REP string
 * instructions and strides have places of their own.
 */
#define ADDRESSES_LINES 384
#define ADDRESSES_APART (3 * 64)        /* odd, to spread over all sets */
#define ADDRESSES_BASE  0x10000000ull

typedef struct AddressOptions {
    int64_t stride;             /* bytes, each access by itself; 0: as above */
    int64_t span;               /* bytes, after which a stride starts again */
    bool splits;                /* registers hold multiples of 64 at first, and
                                   accesses may cross lines */
} AddressOptions;

typedef struct Addresses Addresses;

/* @options are copied.  Never NULL. */
Addresses *addresses_new(const AddressOptions *options);
void addresses_free(Addresses *addresses);

/*
 * Execute instruction @index of @code for its addresses: that of its ModRM or
 * [rSI] operand goes to @ea, that of its stack or [rDI] operand to @stack.
 * One that it does not have is left alone.
 */
void addresses_step(Addresses *addresses, const Code *code, unsigned index,
                    uint64_t *ea, uint64_t *stack);

/*
 * The next iteration of @code begins.  If that returns, its caller has made
 * the stack what it was, and calls it again.
 */
void addresses_next_iteration(Addresses *addresses, const Code *code);

/* With a stride: after so many iterations all accesses are where they were. */
uint64_t addresses_period(const Addresses *addresses);

#endif
