/*
 * libFuzzer's entry point.  FUZZ_TARGET is the function of the fuzz target.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "targets.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    FUZZ_TARGET(data, size);
    return 0;
}
