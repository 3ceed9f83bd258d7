/*
 * Updates of the checker's memory by an event, after rules have judged it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Private to this folder.
 */

#ifndef TARGET_I386_PMU_CHECK_TRANSITIONS_H
#define TARGET_I386_PMU_CHECK_TRANSITIONS_H

#include "tcg/pmu/check/check-state.h"

void pmu_check_note_read(PmuCheck *check, const PmuCheckEvent *event);
void pmu_check_note_write(PmuCheck *check, const PmuCheckEvent *event);
void pmu_check_note_overflow(PmuCheck *check, const PmuCheckEvent *event);
void pmu_check_note_pmi(PmuCheck *check, const PmuCheckEvent *event);
void pmu_check_note_lvtpc(PmuCheck *check, const PmuCheckEvent *event);
void pmu_check_note_interrupt(PmuCheck *check, const PmuCheckEvent *event);
void pmu_check_note_iret(PmuCheck *check, const PmuCheckEvent *event);

/* After RESET or INIT, LVTPC is masked and no handler runs. */
void pmu_check_note_init(PmuCheck *check);

/* Update what depends on time alone; all others with @event do so, too. */
void pmu_check_note_time(PmuCheck *check, const PmuCheckEvent *event);

#endif
