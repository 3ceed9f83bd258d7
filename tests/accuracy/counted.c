/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * counted [--pad N] [--events LIST] NAME COMMAND...: run a command and count
 * its slots, as perf stat --topdown does, while the host looks at its ledger
 * before and after.  Prints what the kernel took of it.  In the guest.
 *
 *   --pad N        N more bytes lie on the command's stack
 *   --events LIST  count these as well: config in hex, separated by commas
 */

#define _GNU_SOURCE
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sync.h"

/* The pseudo-encodings of Linux: slots, and the classes of the first level. */
static const uint64_t topdown[] = { 0x400, 0x8000, 0x8100, 0x8200, 0x8300 };

/*
 * The same by events that general-purpose counters count, of the kernel alone:
 * the ledger has what it does before and after the command as well.
 * INST_RETIRED.ANY_P, TOPDOWN.SLOTS_P, UOPS_RETIRED.SLOTS,
 * IDQ_UOPS_NOT_DELIVERED.CORE and TOPDOWN.BACKEND_BOUND_SLOTS.
 */
static const uint64_t kernel[] = { 0xc0, 0x1a4, 0x2c2, 0x19c, 0x2a4 };

#define KERNEL_EVENTS (sizeof(kernel) / sizeof(*kernel))

static void die(const char *what)
{
    perror(what);
    exit(EXIT_FAILURE);
}

/* Have @pid and its children counted from the next exec() on. */
static int count(pid_t pid, uint64_t config, int group, int kernel_alone)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_RAW, .size = sizeof(attr), .config = config,
        .disabled = group < 0, .enable_on_exec = group < 0, .inherit = 1,
        .exclude_user = kernel_alone,
    };
    int fd = syscall(SYS_perf_event_open, &attr, pid, -1, group,
                     PERF_FLAG_FD_CLOEXEC);

    if (fd < 0) {
        die("perf_event_open");
    }
    return fd;
}

static void count_all(pid_t pid, const char *events, int *kernel_fd)
{
    int leader = -1;

    for (unsigned i = 0; i < sizeof(topdown) / sizeof(*topdown); i++) {
        int fd = count(pid, topdown[i], leader, 0);

        leader = leader < 0 ? fd : leader;
    }
    for (char *end; *events; events = *end ? end + 1 : end) {
        count(pid, strtoull(events, &end, 16), -1, 0);
    }
    for (unsigned i = 0; i < KERNEL_EVENTS; i++) {
        kernel_fd[i] = count(pid, kernel[i], -1, 1);
    }
}

static void say(const char *what, const char *name)
{
    char text[256];

    snprintf(text, sizeof(text), "%s %s", what, name);
    if (guest_sync(text, NULL, 0) < 0) {
        die("guest_sync");
    }
}

/* What the kernel took, in the order of @kernel. */
static void print_kernel(const int *kernel_fd)
{
    for (unsigned i = 0; i < KERNEL_EVENTS; i++) {
        uint64_t value;

        if (read(kernel_fd[i], &value, sizeof(value)) != sizeof(value)) {
            die("read");
        }
        printf("%llu\n", (unsigned long long)value);
    }
}

/* Run the command when it is counted: a byte says so. */
static pid_t start(char **command, size_t pad, int *ready)
{
    char *text = malloc(pad + 1);
    int ends[2];
    pid_t pid;

    if (!text || pipe(ends) < 0) {
        die("pipe");
    }
    pid = fork();
    if (pid < 0) {
        die("fork");
    }
    if (!pid) {
        memset(text, 'x', pad);
        text[pad] = 0;
        setenv("PAD", text, 1);
        /* So that it does the same in each boot. */
        personality(ADDR_NO_RANDOMIZE);
        close(ends[1]);
        if (read(ends[0], text, 1) == 1) {
            close(ends[0]);
            execvp(command[0], command);
        }
        die(command[0]);
    }
    close(ends[0]);
    free(text);
    *ready = ends[1];
    return pid;
}

int main(int argc, char **argv)
{
    const char *events = "";
    size_t pad = 0;
    int status, ready, kernel_fd[KERNEL_EVENTS];
    pid_t pid;

    while (argc > 2 && !strncmp(argv[1], "--", 2)) {
        if (!strcmp(argv[1], "--pad")) {
            pad = strtoul(argv[2], NULL, 0);
        } else {
            events = argv[2];
        }
        argv += 2;
        argc -= 2;
    }
    if (argc < 3) {
        fprintf(stderr, "usage: counted [--pad N] [--events LIST] "
                        "NAME COMMAND...\n");
        return EXIT_FAILURE;
    }
    pid = start(argv + 2, pad, &ready);
    count_all(pid, events, kernel_fd);
    say("begin", argv[1]);
    if (write(ready, "", 1) != 1 || waitpid(pid, &status, 0) != pid) {
        die("waitpid");
    }
    say("end", argv[1]);
    print_kernel(kernel_fd);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
