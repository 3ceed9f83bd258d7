/*
 * Events: what a counter's selector means, as an expression over the ledger.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Selection: from the selector in a counter's registers (event code, umask,
 * CMASK, INV, EDGE, offcore bits) to a sum of ledger items, PmuSelection; and
 * what that gained between two snapshots of the ledger.
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
 * What general-purpose counter @counter counts on @core, if @evtsel is in its
 * IA32_PERFEVTSELx and @extra in the registers that events take a part of
 * their selector from.
 *
 * A row of the table is taken if it has just these EDGE, INV and CMASK.
 * Otherwise the event without them is looked up, and they are applied to it:
 *
 * - where cycles are known by how much is counted in them, CMASK and INV are
 *   exact: cycles with n or more, with INV with less;
 * - where at most one is counted a cycle, likewise: two or more, never;
 * - of other events it is assumed that what is counted is counted in different
 *   cycles.  CMASK=1 then changes nothing but that there are no more of them
 *   than cycles; with INV a larger one counts all cycles.  State: approximate.
 *   CMASK=1 with INV, and a larger one without, are not modelled;
 * - EDGE counts how often the condition becomes true.  Cycles with it are not
 *   known to be neighbours: not modelled, without a row of its own; except for
 *   the events of the previous rule, of which it counts all.
 *
 * CMASK=0 with EDGE is CMASK=1 (the condition is that there is something to
 * count); INV means nothing without CMASK (SDM vol. 3B, 20.2.1.1).
 *
 * A umask without a row is the sum of rows whose umasks it consists of, where
 * the events are kinds of one thing.
 *
 * An event that @counter cannot count is PMU_EVENT_NOT_MODELLED there.  The
 * SDM leaves open what such a counter does; this one stands still.
 */
void pmu_event_select(PmuSelection *selection, PmuCore core, unsigned counter,
                      uint64_t evtsel, const uint64_t extra[PMU_EXTRA_NR]);

/*
 * The general-purpose counters that can count what @evtsel selects on @core, a
 * bit each; all if it is in no list.
 */
unsigned pmu_event_counters(PmuCore core, uint64_t evtsel);

/* The register that what @evtsel selects takes a part of its selector from. */
PmuEventExtra pmu_event_extra(PmuCore core, uint64_t evtsel);

/* What fixed counter @index (0 to 3) counts, the same on all cores. */
void pmu_event_select_fixed(PmuSelection *selection, unsigned index);

/*
 * What @selection gained from @from to @to at @levels, a bit for each PmuLevel.
 *
 * *@remainder carries what bounds leave over from one gain to the next; it is 0
 * where a count begins.  So the count does not depend on where gains are taken.
 * With S the sum of the items and C the cycles since it began, it is
 *
 * - S without bounds;
 * - min(S, C) if the selection is capped: neither can fall, nor does that;
 * - W - S if S is taken away from W.  That could only fall while S has more of
 *   something than W yet.  As a counter must not, the count then stands still
 *   until it has caught up: it is the most that W - S has been at any gain, so
 *   exceeds W - S by no more than that has fallen since.
 */
uint64_t pmu_selection_gain(const PmuSelection *selection,
                            const PmuLedgerSnapshot *from,
                            const PmuLedgerSnapshot *to, unsigned levels,
                            int64_t *remainder);

/*
 * Can @remainder be what @selection left over, at any levels, if the ledger,
 * which began with nothing, is at @now?
 */
bool pmu_selection_can_leave(const PmuSelection *selection,
                             const PmuLedgerSnapshot *now, int64_t remainder);

/* Row @index of the tables of Ice Lake and later cores, NULL past the end. */
const PmuEvent *pmu_event_row(unsigned index);

/* Row @index of those of older cores, without NetBurst's, NULL past the end. */
const PmuEvent *pmu_event_older_row(unsigned index);

#endif
