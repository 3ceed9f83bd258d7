/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * For programs in the guest: stop until the host has done something at
 * this very point, such as reading the ledger.
 */

#ifndef GUEST_SYNC_H
#define GUEST_SYNC_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "protocol.h"

/*
 * Tell the host @text (at most FRAME_MAX bytes, no newline needed) and wait
 * for its reply, of which up to @size - 1 bytes and a NUL go to @reply
 * (which may be NULL when @size is 0).  Returns the length of the reply, or
 * -1 with errno when there is no agent to ask.
 */
static inline ssize_t guest_sync(const char *text, char *reply, size_t size)
{
    struct sockaddr_un addr = { .sun_family = AF_UNIX };
    const socklen_t len = offsetof(struct sockaddr_un, sun_path) + 1 +
                          sizeof(SYNC_SOCKET) - 1;
    char sink[256];
    ssize_t got, total = 0;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0) {
        return -1;
    }
    memcpy(addr.sun_path + 1, SYNC_SOCKET, sizeof(SYNC_SOCKET) - 1);
    if (connect(fd, (struct sockaddr *)&addr, len) < 0 ||
        write(fd, text, strlen(text)) < 0 ||
        shutdown(fd, SHUT_WR) < 0) {
        close(fd);
        return -1;
    }
    for (;;) {
        bool keep = (size_t)total + 1 < size;

        got = read(fd, keep ? reply + total : sink,
                   keep ? size - 1 - total : sizeof(sink));
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            break;
        }
        total += keep ? got : 0;
    }
    close(fd);
    if (size) {
        reply[total] = 0;
    }
    return got < 0 ? -1 : total;
}

#endif
