# SPDX-License-Identifier: GPL-2.0-or-later
#
# A Linux guest under our QEMU: start it, run commands in it, answer requests of
# its programs.  Used by scripts/run-guest, scripts/run-topdown and
# tests/functional.  init.c is the guest's end of the protocol; protocol.h
# describes the frames.

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

# Source: protocol.h.
FRAME_MAX = 4096
ARGS_MAX = 65536
MAGIC = b'QG'

# The kernel command line:
# console: the kernel's messages use the first serial port, our protocol the
# second.  panic=-1, with QEMU's -no-reboot, ends QEMU after a panic.
# nmi_watchdog=0: the watchdog counts cycles all the time, so nothing would run
# at full speed; "--append nmi_watchdog=1" and /proc/sys/kernel/nmi_watchdog
# turn it on.  no_timer_check: on a busy host the kernel may not get the ten
# timer interrupts that it waits for, and panics: "IO-APIC + timer doesn't
# work!".  cryptomgr.notests: "run-guest true" takes 5.6 s of CPU time, with
# self-tests of ciphers ("--append cryptomgr.notests=0") 6.8 s.
# sysctl.*=0: Linux finds interrupts of the PMU slow, by a clock that says
# nothing of an emulated CPU, and would drop most samples.
BASE_APPEND = ('console=ttyS0 panic=-1 nmi_watchdog=0 no_timer_check '
               'cryptomgr.notests sysctl.kernel.perf_cpu_time_max_percent=0')
QUIET_APPEND = 'quiet'

Result = collections.namedtuple('Result', 'status stdout stderr')
Result.__doc__ = """How a command ended.

status  as a shell says it: the exit status, or 128 + the signal's number
stdout, stderr  text
"""


def end_on_signals(before=lambda: None):
    """Make SIGTERM and SIGHUP end the guests, remove temporary directories and
    end this program.  before() is called first.
    """
    def end(number, _frame):
        # No guest starts from now on.  This handler may have interrupted one
        # that is starting: starting() sends the signal again when it is done.
        with Machine.lock:
            Machine.no_more = True
            if Machine.starting:
                Machine.waiting = number
                return
        # timeout(1) sends SIGTERM to its child and again to its group.  While
        # the first handler waits for QEMU, a second one would deadlock.
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
    """The value of QEMU's -machine for a machine type."""
    # On a microvm with ACPI, Linux has no timer until it has calibrated the TSC
    # against the PIT.  On a busy host that can fail, and the kernel hangs.
    # Without ACPI it uses the PIT itself, but finds only one CPU.
    if machine == 'microvm' and smp == 1:
        return 'microvm,acpi=off'
    return machine


def exit_status(wait_status):
    """The exit status that a shell reports for a wait(2) status."""
    code = os.waitstatus_to_exitcode(wait_status)
    return code if code >= 0 else 128 - code


# QEMU's options for --measure: the machine's clock is the model's.  The model
# then runs all the time, even while the guest boots, so time limits, in seconds
# of the host, are multiplied by MEASURED_SLOWER.
MEASURE = ('-icount', 'shift=model')
MEASURED_SLOWER = 5


def packed(copy):
    """The bytes of an archive with these files: [(host path, guest path)]."""
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
        self.archives = []      # cpio files to append to the image
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
        # Called with the text that a process of the guest sends (sync.h).  The
        # process waits for the text that this returns.
        self.on_sync = lambda text: ''
        # (seconds, function): while a command runs, the function is called at
        # intervals of about as many seconds.
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
            # Linux's driver uses this instruction to submit work.
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
            # QEMU uses the first -accel that works: that of qemu_opts, if any.
            '-accel', 'tcg']

    def initrd(self, copy=None):
        """A file with the image, the further archives, and the files to copy
        (by default, those of the options).
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

    def _how_died(self, status):
        if self._hello or status != 0:
            return super()._how_died(status)
        # The machine was reset, and QEMU has -no-reboot.
        said = 'the guest died: its kernel stopped at boot'
        if self.console:
            return said
        return ('%s and printed nothing: it may need what -cpu %s lacks, '
                'such as 64-bit mode' % (said, self.options.cpu))

    # Frames

    def _send(self, kind, payload=b'', ident=0):
        try:
            self._ctl.sendall(MAGIC + kind + bytes([ident]) +
                              len(payload).to_bytes(4, 'little') + payload)
        except BrokenPipeError:
            raise self._died() from None

    def _talk(self, until, timeout, what, wake=None):
        """Serve the guest until until() is true or the file wake can be read.
        GuestTimeout, with what in its message, after timeout seconds.
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
        """The time of the next call of every's function; None if never."""
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
                # Answer even after an exception: the guest's process waits.
                self._send(b'R', (text or '').encode()[:FRAME_MAX], ident)

    def _send_pieces(self, kind, data, end):
        """Send data in frames; wait until the guest has taken each."""
        for at in range(0, len(data), FRAME_MAX):
            want = self._taken + 1
            self._send(kind, data[at:at + FRAME_MAX])
            self._talk(lambda: self._taken >= want or self._exit is not None,
                       None if end is None else end - time.monotonic(),
                       'to take input')

    def _kill(self):
        """Kill the command that runs."""
        self._sinks = {}
        self._send(b'K')
        # Seconds; init.c may take 5 on a host that is not busy.
        self._talk(lambda: not self._running, 60, 'to be killed')

    def _write_stdin(self, data, end):
        """Give the command input; no data means end of file."""
        if data:
            self._send_pieces(b'I', data, end)
        else:
            self._send(b'I')

    # Public methods

    def start_command(self, argv, stdout, stderr, with_stdin=False):
        """Start a command; stdout(bytes) and stderr(bytes) get its output."""
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
        """Wait for the end of the command; returns its exit status.

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
        """Copy a file or directory of the guest into a directory of the host.
        A relative source is below artifacts.HOME.
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
        """Reset the machine; returns when its kernel is up again.  As Guest
        passes -no-reboot, qemu_opts must have -action reboot=reset.
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
