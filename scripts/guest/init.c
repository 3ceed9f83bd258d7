/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The guest's first process: mounts what programs expect, then runs the
 * commands that the host sends over the second serial port and hands their
 * output and status back (protocol.h).  Static, so that it needs nothing.
 *
 * A relay, not the serial port as the command's own stdout: what a command
 * prints stays apart from its stderr, from the kernel's messages and from
 * the host's requests, byte for byte.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "protocol.h"

#define HOST_TTY "/dev/ttyS1"
#define MAX_SYNCS 16

/* A process that waits for the host; fd is -1 in a free entry. */
typedef struct {
    int fd;
    bool sent;
    size_t length;
    char text[FRAME_MAX];
} Sync;

typedef struct {
    int tty;
    int signals;
    int listener;

    /* The command that runs, or pid 0; its ends of our pipes, or -1. */
    pid_t pid;
    int in;
    int out;
    int err;

    /* What the last FRAME_STDIN had that the command's pipe has no room for. */
    size_t input_at;
    size_t input_length;
    char input[FRAME_MAX];

    Sync sync[MAX_SYNCS];

    /* The next command's argv, and one more NUL. */
    size_t args_length;
    char args[ARGS_MAX + 1];
    char *argv[ARGS_MAX + 1];

    size_t have;
    uint8_t frame[FRAME_HEADER + FRAME_MAX];
} Agent;

static const struct {
    const char *type;
    const char *target;
    const char *options;
} mounts[] = {
    { "devtmpfs", "/dev", NULL },
    { "proc", "/proc", NULL },
    { "sysfs", "/sys", NULL },
    { "tmpfs", "/tmp", "mode=1777" },
    { "tmpfs", "/run", "mode=0755" },
    { "devpts", "/dev/pts", "ptmxmode=0666" },
    { "tracefs", "/sys/kernel/tracing", NULL },
    { "debugfs", "/sys/kernel/debug", NULL },
    { "cgroup2", "/sys/fs/cgroup", NULL },
};

static const char *const environment[] = {
    "PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
    "HOME=" GUEST_HOME,
    "LC_ALL=C",
    "TERM=dumb",
    "PAGER=cat",
    NULL
};

/* The panic that follows ends QEMU, and so run-guest. */
static __attribute__((noreturn, format(printf, 1, 2)))
void fatal(const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    fprintf(stderr, "guest init: ");
    vfprintf(stderr, format, ap);
    fprintf(stderr, ": %s\n", strerror(errno));
    va_end(ap);
    exit(EXIT_FAILURE);
}

static void write_all(int fd, const void *data, size_t length)
{
    const uint8_t *p = data;

    while (length) {
        ssize_t n = write(fd, p, length);

        if (n < 0 && errno != EINTR) {
            return;
        }
        if (n > 0) {
            p += n;
            length -= n;
        }
    }
}

static void send_frame(Agent *a, char type, uint8_t id, const void *payload,
                       size_t length)
{
    uint8_t frame[FRAME_HEADER + FRAME_MAX] = {
        'Q', 'G', type, id,
        length, length >> 8, length >> 16, length >> 24,
    };

    if (length) {
        memcpy(frame + FRAME_HEADER, payload, length);
    }
    write_all(a->tty, frame, FRAME_HEADER + length);
}

static void mount_all(void)
{
    for (size_t i = 0; i < sizeof(mounts) / sizeof(mounts[0]); i++) {
        mkdir(mounts[i].target, 0755);
        /* tracefs and debugfs are a matter of the kernel's configuration */
        if (mount(mounts[i].type, mounts[i].target, mounts[i].type, 0,
                  mounts[i].options) < 0 && errno != ENODEV &&
            errno != EBUSY && errno != ENOENT) {
            fatal("mount %s", mounts[i].target);
        }
    }
    /* As udev does; shells' <(...) and programs' /dev/stdout need them. */
    if (symlink("/proc/self/fd", "/dev/fd") < 0 ||
        symlink("/proc/self/fd/0", "/dev/stdin") < 0 ||
        symlink("/proc/self/fd/1", "/dev/stdout") < 0 ||
        symlink("/proc/self/fd/2", "/dev/stderr") < 0) {
        fatal("/dev/fd");
    }
}

static int open_tty(void)
{
    struct termios t;
    int fd = open(HOST_TTY, O_RDWR | O_NOCTTY | O_CLOEXEC);

    /* The driver leaves a port that is not there in place, as an error. */
    if (fd < 0 || tcgetattr(fd, &t) < 0) {
        fatal(HOST_TTY " (the kernel needs a second 8250 serial port)");
    }
    cfmakeraw(&t);
    t.c_cflag |= CLOCAL | CREAD;
    cfsetspeed(&t, B115200);
    if (tcsetattr(fd, TCSANOW, &t) < 0) {
        fatal(HOST_TTY);
    }
    return fd;
}

static int open_signals(void)
{
    sigset_t set;
    int fd;

    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (fd < 0) {
        fatal("signalfd");
    }
    return fd;
}

static int open_listener(void)
{
    struct sockaddr_un addr = { .sun_family = AF_UNIX };
    const socklen_t len = offsetof(struct sockaddr_un, sun_path) + 1 +
                          sizeof(SYNC_SOCKET) - 1;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    memcpy(addr.sun_path + 1, SYNC_SOCKET, sizeof(SYNC_SOCKET) - 1);
    if (fd < 0 || bind(fd, (struct sockaddr *)&addr, len) < 0 ||
        listen(fd, MAX_SYNCS) < 0) {
        fatal("sync socket");
    }
    return fd;
}

/* The child's half of a command: never returns. */
static __attribute__((noreturn))
void become_command(char **argv, int in, int out, int err)
{
    sigset_t none;

    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    setsid();
    dup2(in, STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    if (chdir(GUEST_HOME) < 0) {
        perror(GUEST_HOME);
    }
    execvpe(argv[0], argv, (char **)environment);
    fprintf(stderr, "%s: %s\n", argv[0], strerror(errno));
    /* As shells do: 127 not found, 126 found but cannot be run. */
    _exit(errno == ENOENT ? 127 : 126);
}

static void start_command(Agent *a, char **argv, bool with_stdin)
{
    int in[2] = { -1, -1 }, out[2], err[2];

    if (pipe2(out, O_CLOEXEC) < 0 || pipe2(err, O_CLOEXEC) < 0) {
        fatal("pipe");
    }
    if (with_stdin) {
        if (pipe2(in, O_CLOEXEC) < 0) {
            fatal("pipe");
        }
        /* A command that does not read must not keep us from the others. */
        fcntl(in[1], F_SETFL, O_NONBLOCK);
    } else {
        in[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
    }
    fcntl(out[0], F_SETFL, O_NONBLOCK);
    fcntl(err[0], F_SETFL, O_NONBLOCK);

    a->pid = fork();
    if (a->pid < 0) {
        fatal("fork");
    }
    if (a->pid == 0) {
        become_command(argv, in[0], out[1], err[1]);
    }
    close(in[0]);
    close(out[1]);
    close(err[1]);
    a->in = in[1];
    a->out = out[0];
    a->err = err[0];
}

static void close_fd(int *fd)
{
    if (*fd >= 0) {
        close(*fd);
        *fd = -1;
    }
}

/* Passes on what is there.  Returns false when no more is there now. */
static bool relay(Agent *a, int *fd, char type)
{
    uint8_t data[FRAME_MAX];
    ssize_t n;

    if (*fd < 0) {
        return false;
    }
    n = read(*fd, data, sizeof(data));
    if (n > 0) {
        send_frame(a, type, 0, data, n);
        return true;
    }
    if (n == 0) {
        close_fd(fd);
    }
    return false;
}

/*
 * End what the command left running, whatever session it went to, and wait
 * for it: nothing of it counts, or holds a counter, when the next one starts.
 */
static void end_others(void)
{
    static const struct timespec second = { .tv_sec = 1 };
    int patience = 5;
    sigset_t set;
    pid_t pid;

    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    /* Neither this process nor the kernel's threads take part in it. */
    kill(-1, SIGKILL);
    while ((pid = waitpid(-1, NULL, WNOHANG)) >= 0) {
        /* One that the kernel does not let go must not stop everything. */
        if (pid == 0 && sigtimedwait(&set, NULL, &second) < 0 &&
            errno == EAGAIN && --patience == 0) {
            break;
        }
    }
}

static void finish_command(Agent *a, int status)
{
    uint8_t payload[4] = { status, status >> 8, status >> 16, status >> 24 };

    end_others();
    /* What is in the pipes now is the command's output. */
    while (relay(a, &a->out, FRAME_STDOUT)) {
        continue;
    }
    while (relay(a, &a->err, FRAME_STDERR)) {
        continue;
    }
    close_fd(&a->in);
    close_fd(&a->out);
    close_fd(&a->err);
    a->input_length = 0;
    a->pid = 0;
    send_frame(a, FRAME_EXIT, 0, payload, sizeof(payload));
}

static void reap(Agent *a)
{
    struct signalfd_siginfo info;
    pid_t pid;
    int status;

    while (read(a->signals, &info, sizeof(info)) > 0) {
        continue;
    }
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid == a->pid) {
            finish_command(a, status);
        }
    }
}

static void on_args(Agent *a, uint8_t id, const char *payload, size_t length)
{
    if (length <= ARGS_MAX - a->args_length) {
        memcpy(a->args + a->args_length, payload, length);
        a->args_length += length;
    }
    send_frame(a, FRAME_TAKEN, 0, NULL, 0);
}

static void on_command(Agent *a, uint8_t id, const char *payload,
                       size_t length)
{
    size_t n = 0;

    a->args[a->args_length] = 0;
    for (size_t at = 0; at < a->args_length; n++) {
        a->argv[n] = a->args + at;
        at += strlen(a->argv[n]) + 1;
    }
    a->argv[n] = NULL;
    if (n && !a->pid) {
        start_command(a, a->argv, length && payload[0] == '1');
    }
    a->args_length = 0;
}

/* Gives the command what its pipe has room for, and asks for more after all. */
static void write_input(Agent *a)
{
    ssize_t n = write(a->in, a->input + a->input_at,
                      a->input_length - a->input_at);

    if (n > 0) {
        a->input_at += n;
    } else if (n < 0 && errno != EAGAIN && errno != EINTR) {
        /* Nobody reads it any more. */
        close_fd(&a->in);
        a->input_at = a->input_length;
    }
    if (a->input_at == a->input_length) {
        a->input_length = 0;
        /* Without this the host would send more than the tty can buffer. */
        send_frame(a, FRAME_TAKEN, 0, NULL, 0);
    }
}

static void on_stdin(Agent *a, uint8_t id, const char *payload, size_t length)
{
    if (length && a->in >= 0) {
        memcpy(a->input, payload, length);
        a->input_at = 0;
        a->input_length = length;
        write_input(a);
        return;
    }
    close_fd(&a->in);
    send_frame(a, FRAME_TAKEN, 0, NULL, 0);
}

static void on_kill(Agent *a, uint8_t id, const char *payload, size_t length)
{
    if (a->pid) {
        kill(-a->pid, SIGKILL);
        kill(a->pid, SIGKILL);
    }
}

static void on_reply(Agent *a, uint8_t id, const char *payload, size_t length)
{
    if (id < MAX_SYNCS && a->sync[id].fd >= 0 && a->sync[id].sent) {
        write_all(a->sync[id].fd, payload, length);
        close_fd(&a->sync[id].fd);
    }
}

static const struct {
    char type;
    void (*handle)(Agent *a, uint8_t id, const char *payload, size_t length);
} handlers[] = {
    { FRAME_ARGS, on_args },
    { FRAME_COMMAND, on_command },
    { FRAME_STDIN, on_stdin },
    { FRAME_KILL, on_kill },
    { FRAME_REPLY, on_reply },
};

static void handle_frame(Agent *a, size_t length)
{
    char payload[FRAME_MAX + 1];

    memcpy(payload, a->frame + FRAME_HEADER, length);
    payload[length] = 0;
    for (size_t i = 0; i < sizeof(handlers) / sizeof(handlers[0]); i++) {
        if (handlers[i].type == a->frame[2]) {
            handlers[i].handle(a, a->frame[3], payload, length);
        }
    }
}

static void receive(Agent *a)
{
    ssize_t n = read(a->tty, a->frame + a->have, sizeof(a->frame) - a->have);
    const uint8_t *f = a->frame;

    if (n <= 0) {
        return;
    }
    a->have += n;
    while (a->have >= FRAME_HEADER) {
        uint32_t length = f[4] | f[5] << 8 | f[6] << 16 | (uint32_t)f[7] << 24;

        if (f[0] != 'Q' || f[1] != 'G' || length > FRAME_MAX) {
            errno = EPROTO;
            fatal("frame from the host");
        }
        if (a->have < FRAME_HEADER + length) {
            return;
        }
        handle_frame(a, length);
        a->have -= FRAME_HEADER + length;
        memmove(a->frame, a->frame + FRAME_HEADER + length, a->have);
    }
}

static void accept_sync(Agent *a)
{
    int fd = accept4(a->listener, NULL, NULL, SOCK_CLOEXEC);

    for (int i = 0; fd >= 0 && i < MAX_SYNCS; i++) {
        if (a->sync[i].fd < 0) {
            a->sync[i].fd = fd;
            a->sync[i].sent = false;
            a->sync[i].length = 0;
            return;
        }
    }
    close_fd(&fd);
}

/* The request is complete when its sender shuts its side down. */
static void read_sync(Agent *a, int id)
{
    Sync *s = &a->sync[id];
    ssize_t n = read(s->fd, s->text + s->length,
                     sizeof(s->text) - s->length);

    if (n > 0) {
        s->length += n;
    } else if (n == 0 && !s->sent) {
        s->sent = true;
        send_frame(a, FRAME_SYNC, id, s->text, s->length);
    } else if (n < 0 && errno != EINTR) {
        close_fd(&s->fd);
    }
}

static void serve(Agent *a)
{
    enum { TTY, SIGNALS, LISTENER, IN, OUT, ERR, SYNCS };
    struct pollfd p[SYNCS + MAX_SYNCS];

    for (;;) {
        p[TTY] = (struct pollfd) { .fd = a->tty, .events = POLLIN };
        p[SIGNALS] = (struct pollfd) { .fd = a->signals, .events = POLLIN };
        p[LISTENER] = (struct pollfd) { .fd = a->listener, .events = POLLIN };
        p[IN] = (struct pollfd) {
            .fd = a->input_length ? a->in : -1,
            .events = POLLOUT,
        };
        p[OUT] = (struct pollfd) { .fd = a->out, .events = POLLIN };
        p[ERR] = (struct pollfd) { .fd = a->err, .events = POLLIN };
        for (int i = 0; i < MAX_SYNCS; i++) {
            p[SYNCS + i] = (struct pollfd) {
                .fd = a->sync[i].sent ? -1 : a->sync[i].fd,
                .events = POLLIN,
            };
        }
        if (poll(p, SYNCS + MAX_SYNCS, -1) < 0) {
            continue;
        }
        if (p[IN].revents) {
            write_input(a);
        }
        if (p[OUT].revents) {
            relay(a, &a->out, FRAME_STDOUT);
        }
        if (p[ERR].revents) {
            relay(a, &a->err, FRAME_STDERR);
        }
        for (int i = 0; i < MAX_SYNCS; i++) {
            if (p[SYNCS + i].revents) {
                read_sync(a, i);
            }
        }
        if (p[LISTENER].revents) {
            accept_sync(a);
        }
        if (p[SIGNALS].revents) {
            reap(a);
        }
        if (p[TTY].revents) {
            receive(a);
        }
    }
}

int main(void)
{
    static Agent agent = { .in = -1, .out = -1, .err = -1 };

    for (int i = 0; i < MAX_SYNCS; i++) {
        agent.sync[i].fd = -1;
    }
    if (getpid() != 1) {
        fprintf(stderr, "this is the first process of a guest, run by its "
                "kernel\n");
        return EXIT_FAILURE;
    }
    mount_all();
    sethostname("guest", 5);
    agent.tty = open_tty();
    agent.signals = open_signals();
    agent.listener = open_listener();
    send_frame(&agent, FRAME_HELLO, 0, NULL, 0);
    serve(&agent);
}
