/*
 * Bits of IA32_PERF_CAPABILITIES (SDM vol. 4, table 2-2).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Plain constants, for the register file and for QEMU's CPU models.
 */

#ifndef TARGET_I386_PMU_UARCH_PERF_CAPABILITIES_H
#define TARGET_I386_PMU_UARCH_PERF_CAPABILITIES_H

#define PERF_CAP_BIT_FW_WRITE       (1ull << 13)
#define PERF_CAP_BIT_PERF_METRICS   (1ull << 15)
#define PERF_CAP_BIT_METRICS_CLEAR  (1ull << 19)    /* RDPMC_METRICS_CLEAR */

#endif
