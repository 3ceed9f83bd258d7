/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * For programs in the guest that are run under "perf stat -D -1 --control
 * fifo:DIR/ctl,DIR/ack": switch its counters on and off, so that it counts
 * just the part that is of interest.
 */

#ifndef GUEST_CONTROL_H
#define GUEST_CONTROL_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* perf's control file and the one with its answers; -1 without perf. */
typedef struct {
    int ctl;
    int ack;
} PerfControl;

static inline int perf_control_fifo(const char *dir, const char *name)
{
    char path[256];

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    return open(path, O_RDWR | O_CLOEXEC);
}

/* Use the FIFOs in @dir.  Returns false, with errno, if they are not there. */
static inline bool perf_control_open(PerfControl *perf, const char *dir)
{
    perf->ctl = perf_control_fifo(dir, "ctl");
    perf->ack = perf_control_fifo(dir, "ack");
    return perf->ctl >= 0 && perf->ack >= 0;
}

/* Give @command, "enable\n" or "disable\n", and wait until it is done. */
static inline void perf_control(const PerfControl *perf, const char *command)
{
    char answer[16];

    if (perf->ctl < 0) {
        return;
    }
    /* perf-stat(1), --control: it answers "ack\n". */
    if (write(perf->ctl, command, strlen(command)) < 0 ||
        read(perf->ack, answer, sizeof(answer)) <= 0) {
        perror("perf control");
        exit(EXIT_FAILURE);
    }
}

#endif
