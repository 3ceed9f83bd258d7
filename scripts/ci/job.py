# SPDX-License-Identifier: GPL-2.0-or-later
#
# Run a job: boot a guest, run its cases, see whether each has used counters,
# and whether the kernel complained meanwhile.

import os
import re
import shlex
import time

import cells
import guest
import ledger
import results
import suites

BOOT_SECONDS = 180
# Of what a case printed, so much is kept: the first and the last half.
OUTPUT_MAX = 1 << 20
# What a kernel says when something is wrong that the case may not notice
COMPLAINTS = re.compile(
    r'WARNING: CPU|BUG: |Oops|rcu: INFO: |unchecked MSR access|'
    r'irq loop stuck|Kernel panic')
# "quiet" would hide warnings.
APPEND = 'loglevel=5'


class Interrupted(Exception):
    """The user does not want the job's results any more."""


def scale():
    return float(os.environ.get('TEST_TIMEOUT_SCALE', '1'))


class Output:
    """What a command prints, shortened in the middle."""

    def __init__(self):
        self._head = bytearray()
        self._tail = bytearray()
        self._dropped = 0

    def add(self, data):
        room = OUTPUT_MAX // 2 - len(self._head)
        self._head += data[:max(0, room)]
        self._tail += data[max(0, room):]
        if len(self._tail) > OUTPUT_MAX:
            drop = len(self._tail) - OUTPUT_MAX // 2
            self._dropped += drop
            del self._tail[:drop]

    def text(self):
        middle = (b'\n[%d bytes are left out here]\n' % self._dropped
                  if self._dropped else b'')
        return bytes(self._head + middle + self._tail).decode(
            errors='replace')


class Evidence:
    """What the ledgers of a guest's PMUs say of a time."""

    def __init__(self, running):
        self._ledger = ledger.Ledger.read(running)

    def since(self, before):
        """(instructions that retired while counters counted, {level-1
        class: slots}) since the Evidence before.
        """
        grown = self._ledger - before._ledger
        if not self._ledger.cpus():
            return 0, {}
        return grown.count('instructions'), {
            name: grown.count(name) for name in ledger.LEVEL1}


class Runner:
    """Runs the cases of one job in a guest, which it boots again when a case
    ends it.
    """

    def __init__(self, job, settings, expectations, qemu, logs, stop):
        """logs is the directory for what is kept of each case; when stop, a
        threading.Event, is set, the job ends without results.
        """
        self._stop = stop
        self._job = job
        self._settings = settings
        self._expected = expectations
        self._qemu = qemu
        self._logs = logs
        self._kernel = cells.Kernel(job.kernel)
        self._suite = find_suite(job.suite, settings)
        self._guest = None
        self._space = guest.script('build-user-space',
                                   self._kernel.user_space)

    def run(self, progress=lambda result: None):
        """The Results of all cases.  Raises Interrupted."""
        known = {c.name: c for c in self._suite.cases(
            self._kernel, os.path.join(self._space, 'root'))}
        found = []
        try:
            for name in self._job.cases:
                if name in known:
                    result = self._run_case(known[name])
                else:
                    result = self._result(name, results.ERROR,
                                          'the suite has no such case')
                # A guest that was ended for it says nothing.
                if self._stop.is_set():
                    raise Interrupted
                found.append(result)
                progress(result)
        finally:
            self._close()
        return found

    def _close(self):
        if self._guest:
            self._guest.close()
            self._guest = None

    def _result(self, case, status, reason, seconds=0.0, instructions=0,
                topdown=None):
        return results.Result(
            self._kernel.name, self._kernel.release, self._job.cpu,
            self._job.suite, case, status, reason, instructions > 0,
            instructions, topdown or {}, round(seconds, 2))

    def _boot(self):
        if self._guest:
            return
        settings = self._settings
        running = guest.Guest(guest.Options(
            kernel=self._kernel.image, cpu=self._job.model,
            archives=[os.path.join(self._space, 'root.cpio')],
            copy=self._suite.copy(self._kernel), smp=settings.smp,
            memory=settings.memory, qemu=self._qemu,
            append=' '.join([APPEND, settings.append]).strip(),
            boot_timeout=BOOT_SECONDS * scale()))
        running.start()
        self._guest = running
        # Samples are dropped by a clock that says nothing of emulated CPUs.
        running.run('cd /proc/sys/kernel; '
                    'echo 1000000 >perf_event_max_sample_rate; '
                    'echo 0 >perf_cpu_time_max_percent; '
                    'echo -1 >perf_event_paranoid')

    def _run_case(self, case):
        rule = self._expected.rule(self._job.suite, case.name,
                                   self._kernel.release, self._job.cpu)
        if rule and rule.action == 'skip':
            return self._result(case.name, results.SKIP, rule.reason)
        result = self._attempt(case)
        for _ in range(self._settings.retries):
            if result.status != results.FAIL:
                break
            again = self._attempt(case)
            if again.status == results.PASS:
                # One that passes at times does not pass.
                again = again._replace(
                    status=results.FLAKY if rule and rule.action == 'flaky'
                    else results.FAIL,
                    reason='passed when tried again; at first: '
                    + result.reason)
            result = again
        if result.status in (results.PASS, results.FAIL):
            status, reason = self._expected.judge(rule, result.status,
                                                  result.reason)
            result = result._replace(status=status, reason=reason)
        return result

    def _attempt(self, case):
        """Run a case once, and keep what it printed."""
        begin = time.monotonic()
        output = Output()
        console = 0
        status, alive, instructions, topdown = None, True, 0, {}
        try:
            self._boot()
        except (guest.GuestError, guest.GuestDied, guest.GuestTimeout) as e:
            self._close()
            return self._result(case.name, results.ERROR,
                                'the guest does not boot: %s' % e,
                                time.monotonic() - begin)
        begin = time.monotonic()
        try:
            console = len(self._guest.console)
            before = Evidence(self._guest)
            self._guest.start_command(case.command, output.add, output.add)
            status = self._guest.wait_command(
                (self._settings.timeout or case.timeout) * scale())
            verdict = self._suite.verdict(case, status, output.text())
        except guest.GuestTimeout as e:
            verdict = results.FAIL, str(e)
            alive = False
        except (guest.GuestDied, guest.GuestError) as e:
            verdict = results.FAIL, str(e)
            alive = False
        seconds = time.monotonic() - begin
        try:
            instructions, topdown = Evidence(self._guest).since(before)
        except (guest.GuestDied, guest.GuestError):
            alive = False
        verdict = self._reconsider(case, verdict, instructions, console)
        result = self._result(case.name, *verdict, seconds, instructions,
                              topdown)
        self._keep(case, result, output.text(), console)
        if not alive:
            self._close()
        return result

    def _reconsider(self, case, verdict, instructions, console):
        """The verdict in the light of what the case cannot know."""
        status, reason = verdict
        said = self._guest.console[console:].decode(errors='replace')
        complaint = COMPLAINTS.search(said)
        if complaint and status in (results.PASS, results.SKIP):
            line = said[said.rfind('\n', 0, complaint.start()) + 1:]
            return results.FAIL, 'the kernel said: ' + line.splitlines()[0]
        if status == results.PASS and case.needs_pmu and not instructions:
            return results.SKIP, ('vacuous: it passed without having used a '
                                  'counter')
        return status, reason

    def _keep(self, case, result, output, console):
        directory = os.path.join(self._logs, self._kernel.name, self._job.cpu,
                                 self._job.suite, case.name)
        os.makedirs(directory, exist_ok=True)
        for name, text in (
                ('out', output),
                ('console', self._guest.console[console:].decode(
                    errors='replace')),
                ('reproduce.sh', self._reproduce(case))):
            with open(os.path.join(directory, name), 'w',
                      encoding='utf-8') as out:
                out.write(text)
        os.chmod(os.path.join(directory, 'reproduce.sh'), 0o755)

    def _reproduce(self, case):
        settings = self._settings
        command = ['scripts/run-guest', '--kernel', self._job.kernel,
                   '--user-space', self._kernel.user_space,
                   '--cpu', self._job.model, '--smp', str(settings.smp),
                   '--memory', settings.memory,
                   '--append', ' '.join([APPEND, settings.append]).strip()]
        for source, target in self._suite.copy(self._kernel):
            command += ['--copy', '%s:%s' % (source, target)]
        command += ['--', *case.command]
        return ('#!/bin/sh\n# Run this case alone.\ncd %s && exec %s\n'
                % (shlex.quote(guest.TOP), shlex.join(command)))


def find_suite(name, settings):
    """A suite of ours, or one of the user's own.  SuiteError if none."""
    for own, path in settings.from_:
        if own == name:
            return suites.Directory(name, path)
    if name not in suites.SUITES:
        raise suites.SuiteError(
            'there is no suite %s; there are %s, and your own with --from'
            % (name, ', '.join(sorted(suites.SUITES))))
    return suites.SUITES[name]
