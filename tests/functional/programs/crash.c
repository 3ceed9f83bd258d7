/*
 * Crash the kernel, so that it starts the one that is kept for that: needs
 * crashkernel= on its command line.
 *
 *    crash KERNEL COMMAND-LINE
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <fcntl.h>
#include <linux/kexec.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int kernel = argc == 3 ? open(argv[1], O_RDONLY) : -1;
    int sysrq = open("/proc/sysrq-trigger", O_WRONLY);

    if (kernel < 0 || sysrq < 0) {
        fprintf(stderr, "crash KERNEL COMMAND-LINE, as root\n");
        return 2;
    }
    if (syscall(SYS_kexec_file_load, kernel, -1, strlen(argv[2]) + 1, argv[2],
                (unsigned long)(KEXEC_FILE_ON_CRASH |
                                KEXEC_FILE_NO_INITRAMFS))) {
        perror("kexec_file_load");
        return 1;
    }
    return write(sysrq, "c", 1) != 1;
}
