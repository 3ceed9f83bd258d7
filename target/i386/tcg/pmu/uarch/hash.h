/*
 * The multiplier of multiplicative hashing, which spreads a number's bits.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_UARCH_HASH_H
#define TARGET_I386_PMU_UARCH_HASH_H

/* 2^64 divided by the golden ratio (Knuth, TAOCP vol. 3, 6.4). */
#define PMU_HASH_MULTIPLIER 0x9e3779b97f4a7c15ull

#endif
