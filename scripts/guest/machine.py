# SPDX-License-Identifier: GPL-2.0-or-later
#
# A running QEMU: its process, its stderr, its first serial port, and QMP.
# Derived classes know what runs in it.

import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading

from artifacts import GuestError


class GuestDied(Exception):
    """QEMU ended, or the kernel panicked, before the command did."""


class GuestTimeout(Exception):
    """The time limit passed."""


class TemporaryDirectory(tempfile.TemporaryDirectory):
    """A temporary directory that guest.end_on_signals() removes as well."""

    names = set()

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.names.add(self.name)

    def cleanup(self):
        super().cleanup()
        self.names.discard(self.name)

    @classmethod
    def remove_all(cls):
        """Remove all of them, at the end of the program."""
        for name in list(cls.names):
            shutil.rmtree(name, ignore_errors=True)


def last_words(console):
    """The lines of a kernel's console that say most about how it ended."""
    lines = console.splitlines()
    for i, line in enumerate(lines):
        if re.search(r'Kernel panic|BUG: |Oops', line):
            return lines[i:i + 30]
    return lines[-20:]


@contextlib.contextmanager
def starting():
    """A with statement that starts a QEMU and adds it to Machine.running.  The
    handler of guest.end_on_signals() waits until it is left.
    """
    with Machine.lock:
        if Machine.no_more:
            raise GuestError('this program ends')
        Machine.starting += 1
    try:
        yield
    finally:
        with Machine.lock:
            Machine.starting -= 1
            number = None if Machine.starting else Machine.waiting
        if number:
            os.kill(os.getpid(), number)


class Machine:
    """A QEMU.  A context manager; leaving it ends QEMU.

    Derived classes start it with _spawn(), and set _con and _qmp.
    """

    # All Machines with a QEMU, for guest.end_on_signals()
    running = set()
    # How many are being started; whether none may be started any more; the
    # signal, if any, that waits until starting is 0.  All under the lock.
    lock = threading.RLock()
    starting = 0
    no_more = False
    waiting = None

    def __init__(self, verbose=False):
        """verbose: copy what comes on the first serial port to stderr."""
        self.console = bytearray()
        self._verbose = verbose
        self._process = None
        self._errors = None
        # A TemporaryDirectory that close() removes
        self._tmp = None
        self._sockets = []
        # Our ends of the first serial port and of QMP
        self._con = None
        self._qmp = None
        self._qmp_buffer = bytearray()
        self._qmp_id = 0
        # Has the guest said that it is up?
        self._hello = False

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *exc):
        self.close()

    def start(self):
        """Start QEMU."""
        raise NotImplementedError

    def _spawn(self, qemu, number, arguments):
        """Run this QEMU with a number of sockets.  arguments(fd, ...) returns
        QEMU's arguments, given its ends of them.  Returns our ends.
        """
        ends = []
        for _ in range(number):
            ours, theirs = socket.socketpair()
            self._sockets.append(ours)
            ends.append(theirs)
        fds = [s.fileno() for s in ends]
        self._errors = tempfile.TemporaryFile()
        try:
            with starting():
                self._process = subprocess.Popen(
                    [qemu, *arguments(*fds)],
                    stdin=subprocess.DEVNULL, stdout=self._errors,
                    stderr=self._errors, pass_fds=fds)
                self.running.add(self)
        except OSError as e:
            raise GuestError('cannot run QEMU %s: %s'
                             % (qemu, e.strerror)) from None
        finally:
            for s in ends:
                s.close()
        return self._sockets

    def quit(self):
        """Make QEMU end by itself, so that it writes what it writes then."""
        self.qmp('quit')
        try:
            self._process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            raise GuestError('QEMU does not end') from None

    def close(self):
        """Kill QEMU if it still runs."""
        if self._process and self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        for s in self._sockets:
            s.close()
        if self._tmp:
            self._tmp.cleanup()
        self.running.discard(self)

    def _died(self):
        """The exception to raise when QEMU has ended."""
        try:
            status = self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            status = 'none yet'
        self.drain_console()
        self._errors.seek(0)
        # Leave out that TCG lacks features of the CPU: that did not end QEMU.
        said = '\n'.join(
            line for line in
            self._errors.read().decode(errors='replace').splitlines()
            if "TCG doesn't support requested feature" not in line)
        if said and not self._hello and not self.console:
            return GuestError('QEMU did not start: ' + said)
        lines = last_words(self.console.decode(errors='replace'))
        return GuestDied('\n'.join(
            [self._how_died(status)] +
            ([said] if said else []) +
            (['from its console:'] + lines if lines else [])))

    def _how_died(self, status):
        """The message about the end of a QEMU with this exit status."""
        return "the guest died (QEMU's exit status: %s)" % status

    def errors(self):
        """What QEMU has printed to stderr so far."""
        # QEMU shares the file's position, so do not move it.
        size = os.fstat(self._errors.fileno()).st_size
        return os.pread(self._errors.fileno(), size, 0).decode(
            errors='replace')

    def drain_console(self):
        """Read what the kernel has printed until now."""
        self._con.setblocking(False)
        try:
            while data := self._con.recv(65536):
                self._on_console(data)
        except OSError:
            pass

    def _on_console(self, data):
        self.console += data
        if self._verbose:
            sys.stderr.buffer.write(data)
            sys.stderr.flush()

    def qmp(self, command, arguments=None):
        """Run a QMP command; returns its return value."""
        if not self._qmp_id:
            self._qmp_receive(lambda m: 'QMP' in m)
            self._qmp_id = 1
            self.qmp('qmp_capabilities')
        self._qmp_id += 1
        request = {'execute': command, 'id': self._qmp_id}
        if arguments:
            request['arguments'] = arguments
        try:
            self._qmp.sendall(json.dumps(request).encode())
        except BrokenPipeError:
            raise self._died() from None
        reply = self._qmp_receive(lambda m: m.get('id') == self._qmp_id)
        if 'error' in reply:
            raise GuestError('QMP %s: %s' % (command, reply['error']['desc']))
        return reply['return']

    def _qmp_receive(self, wanted):
        """The next message for which wanted() is true; others (events) are
        dropped.
        """
        self._qmp.settimeout(60)
        while True:
            while b'\n' in self._qmp_buffer:
                line, _, rest = self._qmp_buffer.partition(b'\n')
                self._qmp_buffer = bytearray(rest)
                message = json.loads(line)
                if wanted(message):
                    return message
            try:
                data = self._qmp.recv(65536)
            except socket.timeout:
                raise GuestError('QEMU does not answer over QMP') from None
            except ConnectionResetError:
                # QEMU ended before it read the command.
                data = b''
            if not data:
                raise self._died()
            self._qmp_buffer += data
