# SPDX-License-Identifier: GPL-2.0-or-later
#
# A Linux guest under our QEMU: start it, run commands in it, answer its
# programs' requests.  Used by scripts/run-guest, scripts/run-topdown and
# tests/functional.  The guest's end of the protocol is init.c, the frames are
# described in protocol.h.

import collections
import io
import os
import select
import shlex
import shutil
import signal
import tarfile
import tempfile
import time

import cpio
import untar
from artifacts import (HOME, DsaParts, GuestError, default_qemu, find_kernel,
                       script)
from machine import GuestDied, GuestTimeout, Machine, TemporaryDirectory

DEFAULT_CPU = 'Icelake-Server,+perf-metrics'
DEFAULT_KERNEL = 'trixie'

# protocol.h
FRAME_MAX = 4096
ARGS_MAX = 65536
MAGIC = b'QG'

# Kernel messages go to the first serial port, the protocol to the second.
# panic=-1 with QEMU's -no-reboot makes a panic the end of the guest.  The NMI
# watchdog counts cycles all the time, so that nothing would ever run at full
# speed; "--append nmi_watchdog=1" and /proc/sys/kernel/nmi_watchdog turn it
# on.  A host that is busy elsewhere can take the CPU away for all the time in
# which the kernel waits for ten timer interrupts; then it panics: "IO-APIC +
# timer doesn't work!".  Without the kernel's self-tests of its ciphers
# "run-guest true" takes 5.6 s of CPU time, with them ("--append
# cryptomgr.notests=0") 6.8 s.
BASE_APPEND = ('console=ttyS0 panic=-1 nmi_watchdog=0 no_timer_check '
               'cryptomgr.notests')
QUIET_APPEND = 'quiet'

Result = collections.namedtuple('Result', 'status stdout stderr')
Result.__doc__ = """How a command ended.

status  as a shell says it: the exit status, or 128 + the signal's number
stdout, stderr  text
"""


def end_on_signals(before=lambda: None):
    """Have SIGTERM and SIGHUP end the guests with this program, and remove
    what is temporary; before is called first.
    """
    def end(number, _frame):
        # None starts from now on; one that is starting is waited for, as this
        # may have interrupted it.
        with Machine.lock:
            Machine.no_more = True
            if Machine.starting:
                Machine.waiting = number
                return
        # timeout(1) sends SIGTERM to its child and then to its group; a second
        # one while the first waits for QEMU would wait for itself.
        for each in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(each, signal.SIG_IGN)
        before()
        for running in list(Guest.running):
            running.close()
        TemporaryDirectory.remove_all()
        os._exit(128 + number)

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end)


def machine_option(machine, smp):
    """QEMU's -machine for a machine type."""
    # A microvm with ACPI has no timer that Linux would use before it knows
    # the TSC's frequency, and when the host is too busy for the guest to
    # calibrate that against the PIT, the kernel hangs.  Without ACPI it uses
    # the PIT itself, but finds only one CPU.
    if machine == 'microvm' and smp == 1:
        return 'microvm,acpi=off'
    return machine


def exit_status(wait_status):
    """A wait(2) status as shells put it."""
    code = os.waitstatus_to_exitcode(wait_status)
    return code if code >= 0 else 128 - code


# QEMU's options for a machine whose time is the model's.  It runs all the time
# then, when the guest boots, too: limits, in seconds of the host, are as many
# times longer.
MEASURE = ('-icount', 'shift=model')
MEASURED_SLOWER = 5


def packed(copy):
    """An archive with these files: (host path, guest path)."""
    out = io.BytesIO()
    archive = cpio.Archive(out)
    for source, target in copy:
        if not os.path.exists(source):
            raise GuestError('there is no file %s to copy' % source)
        try:
            archive.path(source, target)
        except OSError as e:
            raise GuestError('cannot copy %s into the guest: %s'
                             % (e.filename or source, e.strerror)) from None
    archive.end()
    return out.getvalue()


class Options:
    """What a guest is made of; every field has a working default."""

    def __init__(self, **kwargs):
        self.kernel = DEFAULT_KERNEL
        self.copy = []          # (host path, guest path)
        self.archives = []      # cpio files that go behind the image
        self.smp = 1
        self.memory = '1G'
        self.cpu = DEFAULT_CPU
        self.machine = 'pc'
        self.append = ''
        self.dsa = []           # properties of each intel-dsa device
        self.qemu = None
        self.qemu_opts = []     # list of arguments
        self.verbose = False    # the kernel's messages go to stderr
        self.boot_timeout = 120
        unknown = set(kwargs) - set(vars(self))
        if unknown:
            raise TypeError('unknown options %s' % ', '.join(unknown))
        vars(self).update(kwargs)


class Guest(Machine):
    """A running guest.  A context manager; leaving it ends QEMU."""

    def __init__(self, options):
        super().__init__(options.verbose)
        self.options = options
        self.kernel_name = None
        self.boot_seconds = None
        # Called with the text that a guest's process sends (sync.h); the
        # guest's process goes on with what this returns.
        self.on_sync = lambda text: ''
        # (seconds, function): called about that often while a command runs.
        self.every = None
        # Our end of the second serial port
        self._ctl = None
        self._buffer = bytearray()
        self._taken = 0
        self._exit = None
        self._running = False
        self._sinks = {}

    # Starting

    def start(self):
        """Boot; returns when the guest takes commands."""
        try:
            self._launch()
            begin = time.monotonic()
            self._talk(lambda: self._hello, self.options.boot_timeout,
                       'to boot')
        except BaseException:
            self.close()
            raise
        self.boot_seconds = time.monotonic() - begin

    def _launch(self):
        qemu = self.options.qemu or default_qemu()
        copy = self.options.copy
        if self.options.dsa:
            parts = DsaParts(self.options.kernel)
            kernel, self.kernel_name = parts.kernel, parts.kernel_name
            copy = copy + parts.copy
        else:
            kernel, self.kernel_name = find_kernel(self.options.kernel)
        initrd = self.initrd(copy)
        self._con, self._ctl, self._qmp = self._spawn(
            qemu, 3, lambda *fds: self._qemu_arguments(kernel, initrd, *fds))

    def _qemu_arguments(self, kernel, initrd, con, ctl, qmp):
        options = self.options
        append = [BASE_APPEND, '' if options.verbose else QUIET_APPEND,
                  options.append]
        cpu = options.cpu
        if options.dsa and 'movdir64b' not in cpu:
            # Linux's driver submits with nothing else.
            cpu += ',+movdir64b'
        return [
            '-nodefaults', '-no-user-config', '-display', 'none',
            '-no-reboot',
            '-machine', machine_option(options.machine, options.smp),
            '-cpu', cpu,
            '-smp', str(options.smp), '-m', options.memory,
            '-chardev', 'socket,id=con,fd=%d' % con,
            '-serial', 'chardev:con',
            '-chardev', 'socket,id=ctl,fd=%d' % ctl,
            '-device', 'isa-serial,index=1,chardev=ctl',
            '-chardev', 'socket,id=qmp,fd=%d' % qmp,
            '-mon', 'chardev=qmp,mode=control',
            '-kernel', kernel, '-initrd', initrd,
            '-append', ' '.join(a for a in append if a),
            *DsaParts.arguments(options.dsa), *options.qemu_opts,
            # Of several, QEMU takes the first that works.
            '-accel', 'tcg']

    def initrd(self, copy=None):
        """A file with the image and, behind it, further ones and the files to
        copy (by default, those of the options).
        """
        image = script('build-image')
        copy = self.options.copy if copy is None else copy
        if not copy and not self.options.archives:
            return image
        self._tmp = TemporaryDirectory(prefix='run-guest-')
        extra = packed(copy)
        name = os.path.join(self._tmp.name, 'initrd')
        with open(name, 'wb') as out:
            # The kernel unpacks concatenated archives in order.
            for part in [image, *self.options.archives]:
                with open(part, 'rb') as file:
                    shutil.copyfileobj(file, out)
            out.write(extra)
        return name

    # Frames

    def _send(self, kind, payload=b'', ident=0):
        try:
            self._ctl.sendall(MAGIC + kind + bytes([ident]) +
                              len(payload).to_bytes(4, 'little') + payload)
        except BrokenPipeError:
            raise self._died() from None

    def _talk(self, until, timeout, what, wake=None):
        """Serve the guest until the condition holds, or the file wake can
        be read.
        """
        end = None if timeout is None else time.monotonic() + timeout
        watched = [self._con, self._ctl] + ([wake] if wake else [])
        due = self._due()
        while not until():
            left = None if end is None else end - time.monotonic()
            if left is not None and left <= 0:
                raise GuestTimeout('the guest did not manage %s within %g s'
                                   % (what, timeout))
            if due is not None and time.monotonic() >= due:
                self.every[1]()
                due = self._due()
            waits = [left, None if due is None else
                     max(0, due - time.monotonic())]
            ready = select.select(
                watched, [], [],
                min((w for w in waits if w is not None), default=None))[0]
            if wake in ready:
                return
            for s in ready:
                try:
                    data = s.recv(65536)
                except OSError:
                    data = b''
                if not data:
                    raise self._died()
                if s is self._con:
                    self._on_console(data)
                else:
                    self._buffer += data
                    self._frames()

    def _due(self):
        """When every's function is next to be called; None if never."""
        return time.monotonic() + self.every[0] \
            if self.every and self._running else None

    def _frames(self):
        buffer = self._buffer
        while len(buffer) >= 8:
            if buffer[:2] != MAGIC:
                raise GuestDied('the guest sent what is not a frame: %r'
                                % bytes(buffer[:40]))
            length = int.from_bytes(buffer[4:8], 'little')
            if len(buffer) < 8 + length:
                return
            kind, ident = bytes(buffer[2:3]), buffer[3]
            payload = bytes(buffer[8:8 + length])
            del buffer[:8 + length]
            self._on_frame(kind, ident, payload)

    def _on_frame(self, kind, ident, payload):
        if kind == b'H':
            self._hello = True
        elif kind == b'A':
            self._taken += 1
        elif kind in self._sinks:
            self._sinks[kind](payload)
        elif kind == b'X':
            self._exit = int.from_bytes(payload, 'little')
            self._running = False
        elif kind == b'S':
            text = ''
            try:
                text = self.on_sync(payload.decode(errors='replace'))
            finally:
                # The process must not wait for ever.
                self._send(b'R', (text or '').encode()[:FRAME_MAX], ident)

    def _send_pieces(self, kind, data, end):
        """Send data in frames, each after the guest took the one before."""
        for at in range(0, len(data), FRAME_MAX):
            want = self._taken + 1
            self._send(kind, data[at:at + FRAME_MAX])
            self._talk(lambda: self._taken >= want or self._exit is not None,
                       None if end is None else end - time.monotonic(),
                       'to take input')

    def _kill(self):
        """End the command that runs."""
        self._sinks = {}
        self._send(b'K')
        # init.c may take 5 of them, of a host that is not busy.
        self._talk(lambda: not self._running, 60, 'to be killed')

    def _write_stdin(self, data, end):
        """Give the command input; no data means end of file."""
        if data:
            self._send_pieces(b'I', data, end)
        else:
            self._send(b'I')

    # For the users of this class

    def start_command(self, argv, stdout, stderr, with_stdin=False):
        """Start a command; stdout and stderr are called with bytes."""
        args = b''.join(a.encode(errors='surrogateescape') + b'\0'
                        for a in argv)
        if len(args) > ARGS_MAX:
            raise GuestError('the command line is longer than %d bytes'
                             % ARGS_MAX)
        if self._running:
            self._kill()
        self._sinks = {b'O': stdout, b'E': stderr}
        self._exit = None
        self._send_pieces(b'G', args, time.monotonic() + 60)
        self._running = True
        self._send(b'C', b'1' if with_stdin else b'0')

    def wait_command(self, timeout=None, stdin=None):
        """Wait for the end of the command; its exit status.

        stdin is a binary file that the command gets as its input, if it was
        started with_stdin.
        """
        end = None if timeout is None else time.monotonic() + timeout
        try:
            while self._exit is None:
                left = None if end is None else end - time.monotonic()
                self._talk(lambda: self._exit is not None, left,
                           'to finish the command', stdin)
                if stdin and self._exit is None:
                    data = os.read(stdin.fileno(), FRAME_MAX)
                    self._write_stdin(data, end)
                    stdin = stdin if data else None
        except GuestTimeout:
            self._kill()
            raise GuestTimeout('the command did not end within %g s'
                               % timeout) from None
        return exit_status(self._exit)

    def run(self, command, timeout=120):
        """Run a command and collect what it prints.

        command is a list, or a string for the guest's shell.
        """
        if isinstance(command, str):
            command = ['sh', '-c', command]
        out, err = bytearray(), bytearray()
        self.start_command(command, out.extend, err.extend)
        status = self.wait_command(timeout)
        return Result(status, out.decode(errors='replace'),
                      err.decode(errors='replace'))

    def copy_out(self, source, directory, timeout=600):
        """Copy a file or directory of the guest into one of the host's.
        Of a relative name, artifacts.HOME is the beginning.
        """
        tar, said = tempfile.TemporaryFile(), bytearray()
        self.start_command(
            ['tar', '-c', '-f', '-', '-C',
             os.path.dirname(os.path.join(HOME, source.rstrip('/'))),
             '--', os.path.basename(source.rstrip('/'))],
            tar.write, said.extend)
        if self.wait_command(timeout):
            raise GuestError('cannot copy %s out of the guest: %s' % (
                source, said.decode(errors='replace').strip()))
        tar.seek(0)
        try:
            with tarfile.open(fileobj=tar) as archive:
                untar.extract(archive, directory)
        except (tarfile.TarError, OSError) as e:
            raise GuestError('cannot copy %s out of the guest: %s'
                             % (source, e)) from None

    def reset(self):
        """Reset the machine; returns when its kernel is up again.  Needs
        QEMU's -action reboot=reset, for -no-reboot is given.
        """
        self._hello = False
        self._running = False
        self._buffer.clear()
        self.console.clear()
        self.qmp('system_reset')
        self._talk(lambda: self._hello, self.options.boot_timeout,
                   'to boot again')


def split_options(text):
    """A string of QEMU options as a list of arguments."""
    return shlex.split(text or '')
