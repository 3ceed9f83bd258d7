/*
 * Blocks of code that a fuzzer makes up.
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
 * An encoding that the emulator's decoder could have come to, in code of @mode
 * (16, 32 or 64): of a real instruction with any prefixes, of any bytes, or
 * with all members of their own, each in its range.
 */
void fuzz_encoding(FuzzInput *in, unsigned mode, PmuEncoding *enc);

/*
 * A block in @builder as the translator makes them: it ends where
 * pmu_block_full() says so and behind what PmuEncoding.falls_through denies.
 * Checks what block.h and decoder.h promise.
 */
void fuzz_make_block(FuzzInput *in, PmuDecoder *decoder,
                     PmuBlockBuilder *builder);

#endif
