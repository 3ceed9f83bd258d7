/*
 * x86-slots: what keeps a block from being faster, in words.
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

/* The first word of a limit, as programs are told it. */
const char *limit_name(LimitKind kind);

/*
 * The limit of what @m measured, and a sentence about it in @why, which the
 * caller frees.
 */
LimitKind limit_find(const Code *code, const PmuUarch *uarch,
                     const MeasureOptions *options, const Measurement *m,
                     char **why);

#endif
