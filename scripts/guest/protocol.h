/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Frames between scripts/run-guest on the host and the agent that is the
 * guest's first process, over the guest's second serial port.  The same in
 * Python: guest.py.  Both directions, all numbers little-endian:
 *
 *   u8 magic[2]  'Q' 'G'
 *   u8 type      FRAME_*
 *   u8 id        of a FRAME_SYNC and its FRAME_REPLY, else 0
 *   u32 length   of the payload, at most FRAME_MAX
 *   u8 payload[length]
 */

#ifndef GUEST_PROTOCOL_H
#define GUEST_PROTOCOL_H

#define FRAME_MAX 4096
#define FRAME_HEADER 8
#define ARGS_MAX 65536

/* The directory in the guest where commands start and what is copied lands. */
#define GUEST_HOME "/guest"

/* Guest to host */
#define FRAME_HELLO  'H'    /* the agent is ready for commands */
#define FRAME_STDOUT 'O'    /* what the command wrote */
#define FRAME_STDERR 'E'
/* u32: the command's wait(2) status; what it left running was killed */
#define FRAME_EXIT   'X'
/* The answer to FRAME_ARGS, and to FRAME_STDIN once its pipe has all of it */
#define FRAME_TAKEN  'A'
#define FRAME_SYNC   'S'    /* a process waits for the host; text */

/* Host to guest */
/* A piece of the next command's argv, in which each string has its NUL. */
#define FRAME_ARGS    'G'
#define FRAME_COMMAND 'C'   /* start it; u8 '1' if stdin follows */
#define FRAME_STDIN   'I'   /* for its stdin; empty: end of file */
#define FRAME_KILL    'K'   /* kill the command */
#define FRAME_REPLY   'R'   /* lets the process that waits go on; text */

/*
 * Where the agent listens for processes that want a FRAME_SYNC: a stream
 * socket in the abstract name space.  One request, one reply, close.
 */
#define SYNC_SOCKET "guest-sync"

#endif
