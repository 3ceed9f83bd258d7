/*
 * Stores to code that is translated at the same time
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef ACCEL_TCG_CODE_STORE_H
#define ACCEL_TCG_CODE_STORE_H

#include "exec/translation-block.h"

#ifdef CONFIG_USER_ONLY

static inline void tcg_code_store_done(void)
{
}

static inline void tcg_code_read(const TranslationBlock *tb)
{
}

#else

/*
 * @cpu, the current one, is about to throw away the blocks that were made of
 * the @size bytes from @start on, of one page, and to store to them.  It will
 * come to tcg_code_store_done() before it begins another block.
 */
void tcg_code_store(CPUState *cpu, ram_addr_t start, unsigned size);

/*
 * The current vCPU is not in the middle of a store: what another one has made
 * of the old bytes goes, too.
 */
void tcg_code_store_done(void);

/* The pages of @tb are locked, and its code is about to be read. */
void tcg_code_read(const TranslationBlock *tb);

#endif /* CONFIG_USER_ONLY */

#endif /* ACCEL_TCG_CODE_STORE_H */
