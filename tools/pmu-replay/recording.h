/*
 * What the timing model was told, in a file: see README.rst.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A sequence of numbers (LEB128, signed ones zigzag).  Each operation begins
 * with one: a RecordingOp, or from REC_BLOCK_RAN on a block that ran to its
 * end, of which the rest is read by number and flag.  Linear addresses are
 * differences from those at the same place the last time.
 */

#ifndef TOOLS_PMU_REPLAY_RECORDING_H
#define TOOLS_PMU_REPLAY_RECORDING_H

#define RECORDING_MAGIC "PMUREC01"

typedef enum RecordingOp {
    REC_END,            /* of the recording */
    REC_DEFINE,         /* the next block: see define() */
    REC_NEXT,           /* where execution went on behind the last block */
    REC_PART,           /* block, first, last, PmuExecution */
    REC_STRING,         /* block, index, PmuExecution */
    REC_INTERRUPT,
    REC_FLUSH_MAPPINGS, /* kind, linear address */
    REC_ASSIST,         /* block */
    REC_MAP,            /* page, what it is mapped to from now on */
    REC_INTEREST,       /* PmuInterest */
    REC_MARK,           /* the ledger was looked at from outside */
    REC_FLUSH,          /* ... by the guest */
    /* ... plus the block's number, times 2, and 1 if its address changed. */
    REC_BLOCK_RAN = 16,
} RecordingOp;

/* PmuExecution and PmuBlock, as flags. */
#define REC_TAKEN           1
#define REC_BACKWARDS       2

#define REC_USER            1
#define REC_UNINTERRUPTIBLE 2
#define REC_ENDS_REGION     4

#define REC_STRING_INSN     1
#define REC_FALLS_THROUGH   2

#endif
