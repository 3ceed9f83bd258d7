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
 * QEMU calls this before it throws away the blocks that were made of the @size
 * bytes at @start and stores to these bytes.  They lie in one page.  @cpu is
 * the current vCPU; it calls tcg_code_store_done() before its next block.
 */
void tcg_code_store(CPUState *cpu, ram_addr_t start, unsigned size);

/*
 * The stores that the current vCPU announced are done.  Throws away the blocks
 * that another vCPU has made of the old bytes meanwhile.
 */
void tcg_code_store_done(void);

/* The translator has locked the pages of @tb and is about to read its code. */
void tcg_code_read(const TranslationBlock *tb);

#endif /* CONFIG_USER_ONLY */

#endif /* ACCEL_TCG_CODE_STORE_H */
