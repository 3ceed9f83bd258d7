/*
 * x86-slots: find what limits the speed of a block, and say it in words.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A host program over the model core, without QEMU.
 */

#ifndef TOOLS_X86_SLOTS_LIMIT_H
#define TOOLS_X86_SLOTS_LIMIT_H

#include "measure.h"

typedef enum LimitKind {
    LIMIT_ISSUE,
    LIMIT_FRONTEND,
    LIMIT_BRANCHES,
    LIMIT_PORTS,
    LIMIT_DIVIDER,
    LIMIT_SERIALIZING,
    LIMIT_LATENCY,
    LIMIT_MEMORY,
} LimitKind;

/* Returns the name of @kind in JSON output. */
const char *limit_name(LimitKind kind);

/*
 * Returns what limits the block that @m is a measurement of, and sets @why to a
 * text about it, which the caller frees.
 */
LimitKind limit_find(const Code *code, const PmuUarch *uarch,
                     const MeasureOptions *options, const Measurement *m,
                     char **why);

#endif
