/*
 * File format of a recording: what the timing model was told.  See README.rst.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A recording is a sequence of numbers (LEB128; signed ones zigzag).  The first
 * number of an operation is its RecordingOp.  From REC_BLOCK_RAN on, it says
 * that a block ran to its end; it contains the block's number and a flag.  Each
 * linear address is recorded as the difference from the previous one at the
 * same place.
 */

#ifndef TOOLS_PMU_REPLAY_RECORDING_H
#define TOOLS_PMU_REPLAY_RECORDING_H

#define RECORDING_MAGIC "PMUREC01"

typedef enum RecordingOp {
    REC_END,            /* end of the recording */
    REC_DEFINE,         /* defines the next block: see define() */
    REC_NEXT,           /* where execution went on after the last block */
    REC_PART,           /* block, first, last, PmuExecution */
    REC_STRING,         /* block, index, PmuExecution */
    REC_INTERRUPT,
    REC_FLUSH_MAPPINGS, /* kind, linear address */
    REC_ASSIST,         /* block */
    REC_MAP,            /* page, what it is mapped to from now on */
    REC_INTEREST,       /* PmuInterest */
    REC_MARK,           /* a user looked at the ledger (x-query-pmu) */
    REC_FLUSH,          /* the guest looked at its counters */
    /* Add twice the block's number, and 1 if its linear address changed. */
    REC_BLOCK_RAN = 16,
} RecordingOp;

/* Flags of PmuExecution. */
#define REC_TAKEN           1
#define REC_BACKWARDS       2

/* Flags of PmuBlock. */
#define REC_USER            1
#define REC_UNINTERRUPTIBLE 2
#define REC_ENDS_REGION     4

/* Flags of PmuEncoding. */
#define REC_STRING_INSN     1
#define REC_FALLS_THROUGH   2

#endif
