/*
 * Stores to translated code
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef ACCEL_TCG_CODE_STORE_H
#define ACCEL_TCG_CODE_STORE_H

#include "exec/ram_addr.h"

/*
 * @cpu, the current one, is about to store to the @size bytes from @start on,
 * of one page, and the blocks translated from them are gone.  Before @cpu
 * begins another block those are thrown away that were made of the old bytes
 * meanwhile.
 */
void tcg_code_store(CPUState *cpu, ram_addr_t start, unsigned size);

#endif /* ACCEL_TCG_CODE_STORE_H */
