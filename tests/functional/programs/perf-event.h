/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Events of the kernel's for the programs beside this file.
 */

#ifndef TESTS_FUNCTIONAL_PROGRAMS_PERF_EVENT_H
#define TESTS_FUNCTIONAL_PROGRAMS_PERF_EVENT_H

#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

/*
 * perf_event_open(2) without flags, of which this sets @attr->size.  Returns
 * the file descriptor; if there is none, it says why and ends the process.
 */
static inline int perf_event_open(struct perf_event_attr *attr, pid_t pid,
                                  int cpu, int group)
{
    int fd;

    attr->size = sizeof(*attr);
    fd = syscall(SYS_perf_event_open, attr, pid, cpu, group, 0);
    if (fd < 0) {
        perror("perf_event_open");
        exit(EXIT_FAILURE);
    }
    return fd;
}

#endif
