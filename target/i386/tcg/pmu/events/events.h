/*
 * Events: what a counter's selector means, as an expression over the ledger.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A selector is what a counter's registers hold: event code, umask, CMASK, INV,
 * EDGE, offcore bits.  This part turns it into a sum of ledger items,
 * PmuSelection, and computes what that gained between two ledger snapshots.
 *
 * The rows are in events-common.c, events-icelake.c, events-sapphirerapids.c
 * and events-offcore.c, in the order of Intel's published lists; those of older
 * cores in events-core.c, events-p6.c, events-amd.c and events-netburst.c.
 * This folder includes ledger/ and uarch/ alone: it knows neither registers nor
 * the timing model.
 */

#ifndef TARGET_I386_PMU_EVENTS_EVENTS_H
#define TARGET_I386_PMU_EVENTS_EVENTS_H

#include "tcg/pmu/events/event.h"
#include "tcg/pmu/events/events-common.h"
#include "tcg/pmu/events/events-offcore.h"

/* "exact", "never", "modelled", "approximate", "not modelled", "unknown" */
const char *pmu_event_state_name(PmuEventState state);

/*
 * Set *@selection to what general-purpose counter @counter counts on @core with
 * @evtsel in its IA32_PERFEVTSELx.  @extra holds the registers from which some
 * events take a part of their selector.
 *
 * A row with exactly these EDGE, INV and CMASK is taken as it is.  Otherwise
 * the row without modifiers is looked up, and they are applied to it:
 *
 * - Where the row has items for the cycles with 0, 1, 2, ... events, CMASK and
 *   INV are exact: cycles with n or more; with INV, with fewer.
 * - Where the row counts at most one a cycle, likewise: two or more never come.
 * - All other events are assumed to come in different cycles.  CMASK=1 then
 *   only limits the count to the number of cycles; a larger CMASK with INV
 *   counts all cycles.  State: approximate.  CMASK=1 with INV, and a larger
 *   CMASK without INV, are not modelled.
 * - EDGE counts how often the condition becomes true.  Which of the cycles with
 *   it are neighbours is not known, so EDGE without a row is not modelled.  But
 *   for events of the previous rule it counts all of them.
 *
 * CMASK=0 with EDGE is CMASK=1 (the condition is that there is something to
 * count); INV means nothing without CMASK (SDM vol. 3B, 20.2.1.1).
 *
 * A umask without a row is the sum of the rows for its bits, where these count
 * kinds of one thing.
 *
 * An event that @counter cannot count is PMU_EVENT_NOT_MODELLED there, or
 * PMU_EVENT_UNKNOWN if its umask is such a sum.  The SDM leaves open what such
 * a counter does; this one stands still.
 */
void pmu_event_select(PmuSelection *selection, PmuCore core, unsigned counter,
                      uint64_t evtsel, const uint64_t extra[PMU_EXTRA_NR]);

/*
 * The general-purpose counters that can count what @evtsel selects on @core, a
 * bit each.  If no row has its umask: those of all rows with its event code.
 * All counters if the code is in no list.
 */
unsigned pmu_event_counters(PmuCore core, uint64_t evtsel);

/* The register from which the event of @evtsel takes a part of its selector. */
PmuEventExtra pmu_event_extra(PmuCore core, uint64_t evtsel);

/* Set *@selection to what fixed counter @index (0 to 3) counts on all cores. */
void pmu_event_select_fixed(PmuSelection *selection, unsigned index);

/*
 * What @selection gained from @from to @to at @levels, a bit for each PmuLevel.
 *
 * *@remainder carries what bounds leave over from one call to the next; it is 0
 * where a count begins.  So the count does not depend on where the calls are,
 * unless W - S falls.  With S, C and W the growth of the terms, CYCLES and
 * @minuend since the count began, the count is
 *
 * - S without bounds;
 * - min(S, C) if the selection is capped.  S and C never fall, nor does that;
 * - W - S if S is subtracted from W.  That can only fall while S already has
 *   something that W has not.  A counter must not fall, so the count stands
 *   still until W - S has caught up.  It is the largest W - S at any call, and
 *   exceeds W - S by no more than that has fallen since.
 */
uint64_t pmu_selection_gain(const PmuSelection *selection,
                            const PmuLedgerSnapshot *from,
                            const PmuLedgerSnapshot *to, unsigned levels,
                            int64_t *remainder);

/*
 * Can pmu_selection_gain() have left @remainder for @selection, at any levels,
 * when the ledger, which began with nothing, is at @now?
 */
bool pmu_selection_can_leave(const PmuSelection *selection,
                             const PmuLedgerSnapshot *now, int64_t remainder);

/* Row @index of the tables of Ice Lake and later cores, NULL past the end. */
const PmuEvent *pmu_event_row(unsigned index);

/* Row @index of the tables of older cores but NetBurst, NULL past the end. */
const PmuEvent *pmu_event_older_row(unsigned index);

#endif
