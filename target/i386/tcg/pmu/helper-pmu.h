/*
 * Helpers that instrumented code calls.  They are in pmu-log.c, pmu-overflow.c
 * and pmu-counted.c.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

DEF_HELPER_FLAGS_2(x86_pmu_enter, TCG_CALL_NO_WG, void, env, cptr)
DEF_HELPER_FLAGS_2(x86_pmu_assist, TCG_CALL_NO_WG, void, env, i32)
DEF_HELPER_FLAGS_2(x86_pmu_count_run, TCG_CALL_NO_WG, void, env, cptr)
DEF_HELPER_FLAGS_2(x86_pmu_expired, TCG_CALL_NO_WG, noreturn, env, i32)
