/*
 * x86-slots: the timeline of the block's first iterations.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A host program over the model core, without QEMU.
 */

#ifndef TOOLS_X86_SLOTS_TIMELINE_H
#define TOOLS_X86_SLOTS_TIMELINE_H

#include "measure.h"

/* The most iterations that a timeline may have. */
#define TIMELINE_MAX    100

/* Append a line for each instruction of @m, with a column for each cycle. */
void timeline_text(GString *out, const Code *code, const Measurement *m);

/* Append JSON, ', "timeline": [...]', with cycles counted from the first. */
void timeline_json(GString *out, const Code *code, const Measurement *m);

#endif
