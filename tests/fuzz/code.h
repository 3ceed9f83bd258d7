/*
 * Blocks of code that are made from a fuzzer's input.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TESTS_FUZZ_CODE_H
#define TESTS_FUZZ_CODE_H

#include "tcg/pmu/decode/block-builder.h"
#include "tcg/pmu/decode/block.h"
#include "tcg/pmu/decode/decoder.h"
#include "input.h"

/*
 * Set @enc to an encoding, in code of @mode (16, 32 or 64), as the emulator's
 * decoder might return it.  It is a real instruction with any prefixes, or any
 * bytes.  In some, the members do not fit the bytes, but are in range.
 */
void fuzz_encoding(FuzzInput *in, unsigned mode, PmuEncoding *enc);

/*
 * Make a block in @builder as the translator does.  It ends where
 * pmu_block_full() says so, and after an instruction without
 * PmuEncoding.falls_through.  Checks what block.h and decoder.h promise.
 */
void fuzz_make_block(FuzzInput *in, PmuDecoder *decoder,
                     PmuBlockBuilder *builder);

#endif
