/*
 * Which instructions events count by what they compute.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Translation time, below the line.
 */

#ifndef TARGET_I386_PMU_UOPS_TALLY_H
#define TARGET_I386_PMU_UOPS_TALLY_H

#include "uops.h"

/*
 * Set @tally and @tally_times of @insn, whose mnemonic is @name, of 1 or more
 * characters, and whose widest registers are @xmm or @ymm.
 */
void pmu_uops_tally(PmuInsn *insn, const char *name, bool xmm, bool ymm);

#endif
