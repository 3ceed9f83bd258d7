/*
 * Decode instructions as for a guest, but without QEMU's decoder to read them
 * first.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TESTS_UNIT_DECODE_BYTES_H
#define TESTS_UNIT_DECODE_BYTES_H

#include "tcg/pmu/decode/decoder.h"

/* Returns the description of the @length bytes at @bytes; @decoder owns it. */
static inline const PmuInsn *decode_bytes(PmuDecoder *decoder,
                                          const uint8_t *bytes,
                                          unsigned length)
{
    PmuEncoding enc;

    pmu_encoding_parse(&enc, bytes, length, pmu_decoder_mode(decoder));
    return pmu_decode_interned(decoder, &enc);
}

#endif
