/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * guest-sync TEXT: tell the host TEXT, wait for its reply and print it.
 * For shell scripts in the guest.
 */

#include <stdio.h>
#include <stdlib.h>

#include "sync.h"

int main(int argc, char **argv)
{
    static char reply[FRAME_MAX + 1];

    if (argc != 2) {
        fprintf(stderr, "usage: guest-sync TEXT\n");
        return EXIT_FAILURE;
    }
    if (guest_sync(argv[1], reply, sizeof(reply)) < 0) {
        perror("guest-sync");
        return EXIT_FAILURE;
    }
    fputs(reply, stdout);
    return EXIT_SUCCESS;
}
