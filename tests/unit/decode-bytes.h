/*
 * Decoding as in a guest, without an emulator that has read the instruction.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TESTS_UNIT_DECODE_BYTES_H
#define TESTS_UNIT_DECODE_BYTES_H

#include "tcg/pmu/decode/decoder.h"

/* The description of the @length bytes at @bytes, kept by @decoder. */
static inline const PmuInsn *decode_bytes(PmuDecoder *decoder,
                                          const uint8_t *bytes,
                                          unsigned length)
{
    PmuEncoding enc;

    pmu_encoding_parse(&enc, bytes, length, pmu_decoder_mode(decoder));
    return pmu_decode_interned(decoder, &enc);
}

#endif
