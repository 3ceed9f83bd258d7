# SPDX-License-Identifier: GPL-2.0-or-later
#
# Run a job whose cases need no Linux, such as those of kvm-unit-tests.  Each
# case is a kernel that runs in a machine of its own.  It prints to the serial
# port and ends through isa-debug-exit (see x86/run of kvm-unit-tests).

import json
import select
import shlex
import time

import job
import machine
import results
from artifacts import GuestError
from output import Output

# QEMU's options as in x86/run, except for the accelerator and the CPU
DEVICES = ('-nodefaults', '-no-user-config', '-display', 'none',
           '-device', 'pc-testdev', '-device',
           'isa-debug-exit,iobase=0xf4,iosize=0x4', '-device', 'pci-testdev',
           '-accel', 'tcg', '-no-reboot')


class Machine(machine.Machine):
    """A machine that runs one such kernel.  Like a guest, it ends when this
    program does.
    """

    def __init__(self, qemu, arguments):
        super().__init__()
        self._command = [qemu, *arguments]

    def _launch(self):
        qemu, *arguments = self._command
        self._con, self._qmp = self._spawn(
            qemu, 2, lambda con, qmp:
            # With -no-shutdown QEMU still answers QMP after the kernel's end.
            [*arguments, '-S', '-no-shutdown',
             '-chardev', 'socket,id=con,fd=%d' % con,
             '-serial', 'chardev:con',
             '-chardev', 'socket,id=qmp,fd=%d' % qmp,
             '-mon', 'chardev=qmp,mode=control'])

    def start(self):
        """Start QEMU; the kernel does not run yet."""
        try:
            self._launch()
            self.qmp('query-status')
        except BaseException:
            self.close()
            raise

    def run_kernel(self, sink, timeout):
        """Run the kernel to its end; sink(bytes) gets what it prints.  Raises
        GuestTimeout after timeout seconds, GuestDied.
        """
        end = time.monotonic() + timeout
        self.qmp('cont')
        while not self._has_ended():
            left = end - time.monotonic()
            if left <= 0:
                raise machine.GuestTimeout('it did not end within %g s'
                                           % timeout)
            for ready in select.select([self._con, self._qmp], [], [],
                                       left)[0]:
                data = ready.recv(65536)
                if not data:
                    raise self._died()
                if ready is self._con:
                    sink(data)
                else:
                    self._qmp_buffer += data
        self._con.setblocking(False)
        try:
            while data := self._con.recv(65536):
                sink(data)
        except OSError:
            pass

    def _has_ended(self):
        """Has QEMU sent a SHUTDOWN event?"""
        *lines, rest = bytes(self._qmp_buffer).split(b'\n')
        self._qmp_buffer = bytearray(rest)
        return any(json.loads(line).get('event') == 'SHUTDOWN'
                   for line in lines)

    def exit_status(self):
        """End QEMU; returns its exit status, which is what the kernel wrote."""
        self.quit()
        return self._process.returncode


class Runner(job.Runner):
    """Runs each case of a job in a machine of its own."""

    def _prepare(self):
        return None

    def _arguments(self, case):
        return [*DEVICES, *job.measure_options(self._settings),
                '-cpu', self._job.model, '-kernel', *case.command]

    def _attempt(self, case, number=1):
        begin = time.monotonic()
        output = Output()
        instructions, topdown = 0, {}
        running = Machine(self._qemu, self._arguments(case))
        try:
            running.start()
            before = job.Evidence(running)
            running.run_kernel(output.add, self._seconds(case))
            instructions, topdown = job.Evidence(running).since(before)
            verdict = self._suite.verdict(case, running.exit_status(), output)
        except (machine.GuestTimeout, machine.GuestDied) as e:
            verdict = results.FAIL, str(e)
        except (GuestError, OSError) as e:
            verdict = results.ERROR, str(e)
        finally:
            running.close()
        if self._stop.is_set():
            raise job.Interrupted
        self._keep(case, output.text(), '', number)
        return self._result(
            case.name, *self._reconsider(case, verdict, instructions, ''),
            time.monotonic() - begin, instructions, topdown)

    def _reproduce(self, case):
        return '#!/bin/sh\n# Run this case alone.\nexec %s\n' % shlex.join(
            [self._qemu, *self._arguments(case), '-serial', 'stdio'])
