/*
 * The fuzz targets.  Each takes any bytes, and aborts if the code under test
 * breaks a promise of its header.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TESTS_FUZZ_TARGETS_H
#define TESTS_FUZZ_TARGETS_H

#include <stddef.h>
#include <stdint.h>

/* Sequences of encodings: pmu_decode(), pmu_block_add(), the pools. */
void fuzz_block(const uint8_t *data, size_t size);

/* Logs of blocks that ran, and other calls of the timing model by QEMU. */
void fuzz_log(const uint8_t *data, size_t size);

/* Accesses to the registers while time passes. */
void fuzz_registers(const uint8_t *data, size_t size);

/* Migration streams, and how a unit works after it accepted one. */
void fuzz_load(const uint8_t *data, size_t size);

/* The checker of drivers, with its memory from a migration stream. */
void fuzz_check(const uint8_t *data, size_t size);

#endif
