# SPDX-License-Identifier: GPL-2.0-or-later
#
# Run a job: boot a guest and run the job's cases in it.  Find out for each case
# whether it used counters and whether the kernel printed warnings meanwhile.

import os
import re
import shlex
import time

import artifacts
import cells
import guest
import ledger
import results
import suites
import trees
from output import Output

BOOT_SECONDS = 180
# Failed boots of its guest after which a job gives up
BOOTS_MAX = 2
# Length, in characters, to which a reason is cut: it has to fit into a table.
REASON_MAX = 200
# What a kernel prints when something is wrong, which a case may not notice
COMPLAINTS = re.compile(
    # Not "Spectre V2 : WARNING: ...", which is about the CPU model.
    r'^(?:\[[^]]*\] *)*WARNING: |\bBUG: |kernel BUG at|Oops|\[#\d+\]|'
    r'UBSAN: |INFO: rcu|rcu: INFO: |INFO: task |unchecked MSR access|'
    r'irq loop stuck|Uhhuh\. NMI|Kernel panic', re.MULTILINE)
# Instead of "quiet", which would hide warnings
APPEND = 'loglevel=5'
# Linux drops samples that take long by its clock, which says nothing of an
# emulated CPU: lift these limits, and let every user open events.  While there
# is no limit of time, it refuses another rate.
SYSCTLS = ('echo 1 >/proc/sys/kernel/perf_cpu_time_max_percent',
           'echo 1000000 >/proc/sys/kernel/perf_event_max_sample_rate',
           'echo 0 >/proc/sys/kernel/perf_cpu_time_max_percent',
           'echo -1 >/proc/sys/kernel/perf_event_paranoid')


class Interrupted(Exception):
    """The user has stopped the run; the job has no results."""


def scale():
    return float(os.environ.get('TEST_TIMEOUT_SCALE', '1'))


# Iterations, of 242 instructions each, that every CPU runs before a case.  QEMU
# goes on counting for IDLE_INSTRUCTIONS (pmu-overflow.c) after a CPU's last
# counter has stopped.  These iterations outlast that, so that counting for an
# earlier case does not count as evidence for this one.
SETTLE_ITERATIONS = 10000


def measure_options(settings):
    """The QEMU options for --measure, if it was given."""
    return list(guest.MEASURE) if settings.measure else []


def slower(settings):
    """The factor by which guests run slower because of --measure."""
    return guest.MEASURED_SLOWER if settings.measure else 1


def settle(smp):
    """The command that makes each CPU of a guest run SETTLE_ITERATIONS."""
    return '; '.join('workload --cpu %d nops %d' % (cpu, SETTLE_ITERATIONS)
                     for cpu in range(smp))


class Evidence:
    """The ledgers of a guest's PMUs at one instant: who used counters?"""

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
        """logs is the directory for the files that are kept of each case.
        stop is a threading.Event; once it is set, the job ends without
        results.
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
        # How much of the guest's console earlier cases were judged by, in bytes
        self._judged = 0
        self._boots_failed = 0
        self._space = self._prepare()

    def _prepare(self):
        """Build the user space if it is missing; returns its directory."""
        return artifacts.script('build-user-space', self._kernel.user_space)

    def _seconds(self, case):
        """The time limit of a case, in seconds of the host."""
        seconds = (self._settings.timeout or
                   case.timeout * slower(self._settings))
        return seconds * scale()

    def run(self, progress=lambda result: None):
        """The Results of all cases.  Raises Interrupted."""
        known = {c.name: c for c in self._suite.cases(
            self._kernel, self._space and os.path.join(self._space, 'root'))}
        found = []
        try:
            for name in self._job.cases:
                if name in known:
                    result = self._run_case(known[name])
                else:
                    result = self._result(name, results.ERROR,
                                          'the suite has no such case')
                # The case may have failed only because its guest was ended.
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
            self._job.suite, case, status, shorten(reason), instructions > 0,
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
            qemu_opts=measure_options(settings),
            boot_timeout=BOOT_SECONDS * slower(settings) * scale()))
        running.start()
        self._guest = running
        self._judged = 0
        running.run('; '.join(SYSCTLS))

    def _run_case(self, case):
        rule = self._expected.rule(self._job.suite, case.name,
                                   self._kernel.release, self._job.cpu,
                                   self._settings.long)
        if rule and rule.action == 'skip':
            return self._result(case.name, results.SKIP, rule.reason)
        if rule and rule.action == 'long':
            return self._result(case.name, results.SKIP,
                                'long, run with --long: ' + rule.reason)
        result = self._attempt(case)
        if result.status == results.FAIL and (
                not rule or rule.action != 'xfail'):
            result = self._retry(case, rule, result)
        if result.status in (results.PASS, results.FAIL):
            status, reason = self._expected.judge(rule, result.status,
                                                  result.reason)
            result = result._replace(status=status, reason=reason)
        return result

    def _retry(self, case, rule, first):
        """Try a failed case again.  A case that passes now is FLAKY if its
        rule says so, else FAIL; one that never passes keeps its first Result.
        """
        for number in range(2, self._settings.retries + 2):
            if self._stop.is_set():
                break
            again = self._attempt(case, number)
            if again.status == results.PASS:
                return again._replace(
                    status=results.FLAKY if rule and rule.action == 'flaky'
                    else results.FAIL,
                    reason=shorten('passed when tried again; at first: '
                                   + first.reason))
        return first

    def _start(self):
        """Boot a guest, unless one is running.  Returns None, or the (status,
        reason) to report if there is no guest.
        """
        if self._boots_failed == BOOTS_MAX:
            return results.FAIL, ('the guest did not boot %d times'
                                  % BOOTS_MAX)
        try:
            self._boot()
        except (guest.GuestDied, guest.GuestTimeout) as e:
            self._close()
            self._boots_failed += 1
            # A kernel that does not boot is a failure of the kernel, not ERROR.
            return results.FAIL, 'the guest does not boot: %s' % e
        except (guest.GuestError, OSError) as e:
            self._close()
            return results.ERROR, 'no guest can be had: %s' % e
        return None

    def _attempt(self, case, number=1):
        """Run a case, keep what it printed, return its Result.  Interrupted."""
        begin = time.monotonic()
        missing = self._start()
        # Whoever set stop ended the guests that ran then, but not one that has
        # started since.
        if self._stop.is_set():
            raise Interrupted
        if missing:
            # The Result's reason is cut: keep all of the kernel's last words.
            self._keep(case, missing[1], '', number)
            return self._result(case.name, *missing,
                                time.monotonic() - begin)
        output = Output()
        alive, before, instructions, topdown = True, None, 0, {}
        begin = time.monotonic()
        try:
            self._guest.run(settle(self._settings.smp), timeout=60 *
                            slower(self._settings) * scale())
            before = Evidence(self._guest)
            self._guest.start_command(case.command, output.add,
                                      output.add_error)
            status = self._guest.wait_command(self._seconds(case))
            verdict = self._suite.verdict(case, status, output)
        except (guest.GuestTimeout, guest.GuestDied, guest.GuestError) as e:
            verdict = results.FAIL, str(e)
            alive = False
        seconds = time.monotonic() - begin
        try:
            if before:
                instructions, topdown = Evidence(self._guest).since(before)
            self._guest.drain_console()
        except (guest.GuestDied, guest.GuestError):
            alive = False
        console = self._guest.console[self._judged:].decode(errors='replace')
        self._judged = len(self._guest.console)
        result = self._result(
            case.name, *self._reconsider(case, verdict, instructions,
                                         console),
            seconds, instructions, topdown)
        self._keep(case, output.text(), console, number)
        if not alive:
            self._close()
        return result

    def _reconsider(self, case, verdict, instructions, console):
        """The verdict, corrected by what the case itself cannot know: what the
        kernel printed, and whether counters counted.
        """
        status, reason = verdict
        complaint = COMPLAINTS.search(console)
        if complaint and status in (results.PASS, results.SKIP):
            line = console[console.rfind('\n', 0, complaint.start()) + 1:]
            return results.FAIL, 'the kernel said: ' + line.splitlines()[0]
        if status == results.PASS and case.needs_pmu and not instructions:
            return results.SKIP, ('vacuous: it passed without having used a '
                                  'counter')
        return status, reason

    def _keep(self, case, output, console, number):
        """Write the files of an attempt; from the second attempt on, their
        names end in its number.
        """
        directory = os.path.join(self._logs, self._kernel.name, self._job.cpu,
                                 self._job.suite, case.name)
        os.makedirs(directory, exist_ok=True)
        suffix = '' if number == 1 else '.%d' % number
        for name, text in (('out' + suffix, output),
                           ('console' + suffix, console),
                           ('reproduce.sh', self._reproduce(case))):
            with open(os.path.join(directory, name), 'w', encoding='utf-8',
                      errors='surrogateescape') as out:
                out.write(text)
        os.chmod(os.path.join(directory, 'reproduce.sh'), 0o755)

    def _reproduce(self, case):
        settings = self._settings
        command = ['scripts/run-guest', '--kernel', self._job.kernel,
                   '--user-space', self._kernel.user_space,
                   '--cpu', self._job.model, '--smp', str(settings.smp),
                   '--memory', settings.memory,
                   '--append', ' '.join([APPEND, settings.append]).strip(),
                   '--qemu', os.path.abspath(self._qemu),
                   '--timeout', '%d' % self._seconds(case)]
        command += ['--measure'] if settings.measure else []
        for source, target in self._suite.copy(self._kernel):
            command += ['--copy', '%s:%s' % (source, target)]
        command += ['--', 'sh', '-c', '%s; exec "$@"' % '; '.join(SYSCTLS),
                    'sh', *case.command]
        return ('#!/bin/sh\n# Run this case alone.\ncd %s && exec %s\n'
                % (shlex.quote(artifacts.TOP), shlex.join(command)))


def shorten(reason):
    """The reason, cut to REASON_MAX characters."""
    return (reason if len(reason) <= REASON_MAX
            else reason[:REASON_MAX - 3] + '...')


def find_suite(name, settings):
    """The suite with this name: one that the user gave with --from, or else
    one of suites.SUITES.  SuiteError if there is none.
    """
    for own, path in settings.from_:
        if own == name:
            return trees.KINDS.get(name, suites.Directory)(name, path)
    if name not in suites.SUITES:
        raise suites.SuiteError(suites.no_suite(name))
    return suites.SUITES[name]
