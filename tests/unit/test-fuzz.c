/*
 * The fuzz targets (tests/fuzz) with random bytes, for some seconds each.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * libFuzzer, with its feedback, finds more but takes longer ("make fuzz"); this
 * test runs with any compiler.  To repeat a failure, pass --seed: each input
 * depends only on the seed and on its number.
 */

#include <glib.h>
#include <stdio.h>

#include "random.h"
#include "targets.h"

#define INPUT_BYTES 4096
#define SECONDS     5

typedef void Target(const uint8_t *data, size_t size);

/* The current input; static, so that it can be found in a core dump. */
static uint8_t input[INPUT_BYTES];

/* A target survives all random inputs of SECONDS.  It takes at least 10. */
static void test_target(gconstpointer opaque)
{
    Target *target = (Target *)opaque;
    Random random = random_from_seed();
    unsigned number = 0;

    g_test_timer_start();
    while (g_test_timer_elapsed() < SECONDS) {
        size_t size = 1 + random_size(&random, 12) % INPUT_BYTES;

        for (size_t i = 0; i < size; i++) {
            input[i] = random_next(&random);
        }
        target(input, size);
        number++;
    }
    g_test_message("%u inputs", number);
    g_assert_cmpuint(number, >=, 10);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_data_func("/fuzz/block", fuzz_block, test_target);
    g_test_add_data_func("/fuzz/log", fuzz_log, test_target);
    g_test_add_data_func("/fuzz/registers", fuzz_registers, test_target);
    g_test_add_data_func("/fuzz/load", fuzz_load, test_target);
    g_test_add_data_func("/fuzz/check", fuzz_check, test_target);
    return g_test_run();
}
