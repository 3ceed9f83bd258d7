/*
 * x86-slots: print a measurement as text or as JSON.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A host program over the model core, without QEMU.
 */

#ifndef TOOLS_X86_SLOTS_REPORT_H
#define TOOLS_X86_SLOTS_REPORT_H

#include "limit.h"

/* Everything that is printed. */
typedef struct Report {
    const Code *code;
    const PmuUarch *uarch;
    const char *core;           /* as --core names it */
    const MeasureOptions *options;
    const Measurement *m;
    LimitKind limit;
    const char *why;
} Report;

/* Returns several lines of text.  The caller frees. */
char *report_text(const Report *report);

/* Returns a line of JSON (RFC 8259), without newline.  The caller frees. */
char *report_json(const Report *report);

#endif
