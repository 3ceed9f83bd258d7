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

/* The most iterations that there is a timeline of. */
#define TIMELINE_MAX    100

/* A line for each instruction of @m, a column for each cycle. */
void timeline_text(GString *out, const Code *code, const Measurement *m);

/* As JSON: ', "timeline": [...]', with cycles from the first one on. */
void timeline_json(GString *out, const Code *code, const Measurement *m);

#endif
