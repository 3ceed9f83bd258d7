# SPDX-License-Identifier: GPL-2.0-or-later
#
# The test suites: which cases each has for a kernel, which files they need in
# the guest, and how to tell from a case's output whether it passed.

import collections
import fnmatch
import os
import re
import subprocess

import artifacts
import results

HERE = os.path.dirname(os.path.abspath(__file__))

Case = collections.namedtuple('Case', 'name command timeout needs_pmu')
Case.__doc__ = """A test case.

name       unique in its suite; fit for file names
command    a list, to run in the guest
timeout    in seconds
needs_pmu  if it uses no counter, its passing says nothing
"""

# Exit statuses of programs that skip their tests: of automake, LTP (TCONF) and
# kselftest.
SKIP_STATUSES = (77, 32, 4)
SECONDS = 300
# The guest's directory for a suite's own files
FILES = artifacts.HOME + '/suite'


class SuiteError(Exception):
    """A suite cannot be built or found; the message says why."""


class NoSuite(Exception):
    """There is no such suite for this kernel; the message says why."""


def case_name(text):
    """Make a file name of a description; it may become '', '.' or '..'."""
    return re.sub(r'[^A-Za-z0-9.+]+', '-', text).strip('-')


def by_status(status):
    """The verdict, (status, reason), on a program with this exit status."""
    if status == 0:
        return results.PASS, ''
    if status in SKIP_STATUSES:
        return results.SKIP, 'exit status %d' % status
    return results.FAIL, 'exit status %d' % status


def died(status):
    """Is this the exit status of a program that a signal ended, or that could
    not be run?
    """
    return status in (126, 127) or 128 < status < 192


def by_tap(status, tap):
    """The same for a program that prints TAP: it fails if a point failed."""
    if tap.failure:
        return results.FAIL, tap.failure
    if status == 0 and tap.points < tap.planned:
        return results.FAIL, '%d of %d planned points' % (tap.points,
                                                          tap.planned)
    if status == 0 and tap.skip and not tap.passed:
        return results.SKIP, tap.skip
    return by_status(status)


class Suite:
    """The interface of a suite, which the classes below implement."""

    name = None
    # Each case is the kernel of a machine of its own: see bare.py.
    bare = False
    # Expected CPU time, in seconds, of a case that never ran.  Half of perf's
    # cases take less than one second, but a few take minutes.
    case_seconds = 3

    def cases(self, kernel, root):
        """The Cases for a Kernel; its user space is in the directory root.
        SuiteError if they cannot be found or built, NoSuite if there are none
        for this kernel.
        """
        raise NotImplementedError

    def copy(self, kernel):
        """The files to copy into the guest: [(host path, guest path)]."""
        return []

    def verdict(self, _case, status, output):
        """The (status, reason) of a case that ended with this exit status and
        this Output.
        """
        return by_tap(status, output.tap())


class PerfTest(Suite):
    """perf's own tests ("perf test"), in C and in shell."""

    name = 'perf-test'

    # Tests that want hardware events.  Without them they skip parts or all, and
    # then may say "Ok", which says nothing.
    NEEDS_PMU = (
        'Object-code-reading', 'mmap-interface*',
        'Event-groups', 'Track-with-sched-switch',
        'Convert-perf-time-to-TSC', 'Test-libpfm4-support', 'perf-record-test*',
        'perf-stat*test*', 'perf-stat*linter', 'perf-all-*', 'perf-annotate-*',
        'perf-diff-tests', 'perf-top*', 'perf-metrics-*', 'Intel-TPEBS*')
    # Time limits in seconds; the first match counts.  Long ones loop over all
    # that perf knows.
    SECONDS = {'perf-all-*': 1500, 'perf-stat-tests': 600,
               'python-profiling-*': 900, '*': 300}

    def cases(self, kernel, root):
        listed = subprocess.run(
            in_root(root, find_program(root, 'perf')) + ['test', 'list'],
            env=dict(os.environ, PERF_EXEC_PATH=perf_exec_path(root),
                     LC_ALL='C'),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, check=False)
        found, names = [], set()
        for number, text in re.findall(r'^\s*(\d+): (.*?)\s*$', listed.stdout,
                                       re.MULTILINE):
            name = case_name(text)
            # Several tests may have the same description.
            if name in names:
                name += '.' + number
            names.add(name)
            found.append(Case(
                name, ['perf', 'test', '-v', number],
                next(s for glob, s in self.SECONDS.items()
                     if fnmatch.fnmatchcase(name, glob)),
                any(fnmatch.fnmatchcase(name, g) for g in self.NEEDS_PMU)))
        if not found:
            raise SuiteError('perf of %s lists no tests:\n%s'
                             % (kernel.user_space, listed.stdout))
        return found

    def verdict(self, case, status, output):
        """By perf's output: unless perf dies, its exit status is always 0."""
        number = case.command[-1]
        text = output.text()
        name = case.name.removesuffix('.' + number)
        if died(status):
            return results.FAIL, 'perf died: exit status %d' % status
        for title in re.findall(r'^\s*%s: (.*)$' % number, text,
                                re.MULTILINE):
            if not case_name(title).startswith(name):
                return results.FAIL, ('test %s of the perf in the guest is '
                                      'another: %s' % (number, title.strip()))
        # Until 6.3, perf prints a result below the test's output and without
        # the test's number.
        said = [(what, word, rest) for first, what, word, rest in re.findall(
            r'^(?:\s*(\d+)(?:\.\d+)?: )?(.+?)\s*: *(Ok|Skip|FAILED!)(.*)$',
            text, re.MULTILINE)
                if first == number or not first and case_name(re.sub(
                    r' subtest \d+$', '', what)) == name]
        if not said:
            return results.FAIL, ('exit status %d, and perf says nothing of '
                                  'how it ended' % status)
        for verdict, outcome in ('FAILED!', results.FAIL), ('Ok', None):
            for what, word, _ in said:
                if word == verdict:
                    return ((results.PASS, '') if outcome is None else
                            (outcome, 'FAILED: ' + what))
        return results.SKIP, said[0][2].strip(' ()') or 'perf says Skip'


def find_program(root, name):
    """The path of a program in an unpacked user space.  The name of perf 5.10
    ends in its version.
    """
    for pattern in ('usr/bin/%s_[0-9]*', 'usr/bin/%s'):
        directory, _, glob = (pattern % name).rpartition('/')
        at = os.path.join(root, directory)
        for entry in sorted(os.listdir(at)):
            if fnmatch.fnmatchcase(entry, glob):
                return os.path.join(at, entry)
    raise SuiteError('%s has no %s' % (root, name))


def in_root(root, program):
    """A command that runs such a program on the host, with the libraries of
    its user space.
    """
    for directory in 'usr/lib64', 'lib64':
        loader = os.path.join(root, directory, 'ld-linux-x86-64.so.2')
        if os.path.lexists(loader):
            break
    # It may be a link that leads to the right file only in the guest.
    while os.path.islink(loader):
        target = os.readlink(loader)
        loader = (root + target if target.startswith('/') else
                  os.path.join(os.path.dirname(loader), target))
    libraries = [os.path.join(root, d, 'x86_64-linux-gnu')
                 for d in ('usr/lib', 'lib')]
    return [loader, '--library-path', ':'.join(libraries), program]


def perf_exec_path(root):
    """The directory in whose tests/shell perf looks for tests."""
    for directory, below, _ in os.walk(os.path.join(root, 'usr')):
        if 'tests' in below and os.path.isdir(directory + '/tests/shell'):
            return directory
    return root


class Counts(Suite):
    """counts.c, which counts events of code whose counts are known."""

    name = 'counts'

    def cases(self, kernel, root):
        artifacts.script('build-image')
        program = os.path.join(artifacts.own_programs(artifacts.build_dir()),
                               'counts')
        listed = subprocess.run([program, '--list'], stdout=subprocess.PIPE,
                                text=True, check=True)
        return [Case(name, ['counts', name], SECONDS, True)
                for name in listed.stdout.split()]


def built(nothing, name, *arguments):
    """The directory that a script of scripts/guest builds.  NoSuite, with the
    message nothing, if there is nothing to build it from.
    """
    try:
        return artifacts.script(name, *arguments)
    except artifacts.Unavailable:
        raise NoSuite(nothing) from None
    except artifacts.GuestError as e:
        raise SuiteError(str(e)) from None


class Selftests(Suite):
    """A directory of tools/testing/selftests in the kernel's source."""

    def __init__(self, target, needs_pmu=()):
        self.name = 'selftests-' + target
        self._target = target
        self._needs_pmu = needs_pmu

    def _built(self, kernel):
        return built('Debian has no selftests %s of Linux %s'
                     % (self._target, kernel.release),
                     'build-selftests', kernel.release, self._target)

    def cases(self, kernel, root):
        return [Case(name, [FILES + '/' + name], SECONDS,
                     name in self._needs_pmu)
                for name in sorted(os.listdir(self._built(kernel)))]

    def copy(self, kernel):
        return [(self._built(kernel), FILES)]


class LibPerf(Selftests):
    """The tests of libperf.  They read counters with RDPMC as well."""

    def __init__(self):
        super().__init__('libperf', ('tests',))
        self.name = 'libperf'

    def verdict(self, _case, status, output):
        """By what it prints, as its exit status is 0 even if it fails."""
        failed = re.search(r'^.*\bFAILED\b.*$', output.text(), re.MULTILINE)
        if failed:
            return results.FAIL, failed.group(0).strip()
        return by_status(status)


class Commands(Suite):
    """Shell commands, with programs of the user space."""

    def __init__(self, name, commands, case_seconds=Suite.case_seconds):
        """commands: [(name, command)]; all of them need the PMU."""
        self.name = name
        self.case_seconds = case_seconds
        self._commands = commands

    def cases(self, kernel, root):
        return [Case(name, ['bash', '-e', '-o', 'pipefail', '-c', command],
                     SECONDS, True)
                for name, command in self._commands]


class PapiTests(Suite):
    """PAPI's own tests; some of them know what the counts should be."""

    name = 'papi-tests'
    # Measured: the average of trixie's 119 tests with kernel 6.12.
    case_seconds = 22
    # Longer limits for tests that repeat what they measure, event by event
    SECONDS = {'sdsc*': 3600, '*_ops': 1800, '*': SECONDS}

    def _built(self, kernel):
        return built("Debian's %s has no tests of PAPI" % kernel.user_space,
                     'build-papi-tests', kernel.user_space)

    def cases(self, kernel, root):
        with open(os.path.join(self._built(kernel), 'tests'),
                  encoding='utf-8') as file:
            names = file.read().split()
        # Tests start other programs of their directory.
        return [Case(name, ['sh', '-c', 'cd %s && exec ./%s' % (FILES, name)],
                     next(s for glob, s in self.SECONDS.items()
                          if fnmatch.fnmatchcase(name, glob)), True)
                for name in names]

    def copy(self, kernel):
        return [(self._built(kernel), FILES)]

    def verdict(self, _case, status, output):
        """By what it prints and its exit status, which is 0 if it skips, too,
        and does not show that a child failed.
        """
        text = re.sub(r'\x1b\[[0-9;]*m', '', output.text())
        said = re.findall(r'\b(PASSED|FAILED|SKIPPED)\b', text)
        if 'FAILED' in said:
            error = re.search(r'^Line # \d+ Error: .*$', text, re.MULTILINE)
            return results.FAIL, error.group(0) if error else 'FAILED'
        if status == 0 and not said:
            return results.FAIL, 'it does not say how it ended'
        if status == 0 and said[-1] == 'SKIPPED':
            return results.SKIP, 'it says SKIPPED'
        return by_status(status)


class Directory(Suite):
    """A suite of the user's: each executable file of a directory is a case."""

    def __init__(self, name, path):
        self.name = name
        self._path = path

    def cases(self, kernel, root):
        try:
            names = sorted(os.listdir(self._path))
        except OSError as e:
            raise SuiteError('%s: %s' % (self._path, e.strerror)) from None
        found = [Case(case_name(name), [FILES + '/' + name], SECONDS, False)
                 for name in names
                 if os.path.isfile(os.path.join(self._path, name)) and
                 os.access(os.path.join(self._path, name), os.X_OK)]
        if not found:
            raise SuiteError('%s has no executable file' % self._path)
        taken = [c.name for c in found]
        for case in found:
            if not case.name.strip('.'):
                raise SuiteError('the name of %s has no letter or digit'
                                 % os.path.join(self._path, os.path.basename(
                                     case.command[0])))
            if taken.count(case.name) > 1:
                raise SuiteError('two files of %s are the case %s'
                                 % (self._path, case.name))
        return found

    def copy(self, kernel):
        return [(self._path, FILES)]


def record_and_replay(command):
    """Record a command with rr and replay it.  Both have to print the same."""
    return ('export _RR_TRACE_DIR=/tmp/rr; rm -rf /tmp/rr; mkdir /tmp/rr; '
            'rr record %s >/tmp/recorded; rr replay -a >/tmp/replayed; '
            'cmp /tmp/recorded /tmp/replayed' % command)


SUITES = {suite.name: suite for suite in (
    PerfTest(), Counts(),
    Selftests('perf_events', ('remove_on_exec',)),
    Selftests('breakpoints'), LibPerf(), PapiTests(),
    Commands('rr', [(name, record_and_replay(command)) for name, command in (
        ('true', 'true'), ('echo', 'echo hello'), ('ls', 'ls -R /usr/bin'),
        ('sort', 'sort -r /usr/bin/bash'),
        ('sha256', 'sha256sum /usr/bin/dash'),
        ('awk', 'awk "BEGIN{for(i=0;i<100000;i++)s+=i*i;print s}"'),
        ('python', 'python3 -c "print(sum(range(100000)))"'),
        ('perl', "perl -e 'print join(q( ),map{$_**2}1..1000)'"),
        ('pipe', "sh -c 'seq 1000 | sort -n | tail -3'"),
        ('threads', 'xz -0 -T2 --block-size=64KiB -k -c /usr/bin/dash'))],
             # Measured: on average 14 and 18 with kernels 6.12 and 7.3.
             case_seconds=16),
    Commands('papi', (
        ('avail', 'papi_avail -a | tee /tmp/o; grep -q PAPI_TOT_INS /tmp/o'),
        ('native', 'papi_native_avail | grep -c perf::'),
        ('instructions-and-cycles',
         'papi_command_line PAPI_TOT_INS PAPI_TOT_CYC | tee /tmp/o; '
         'grep -Eq "PAPI_TOT_INS :[[:space:]]*[1-9]" /tmp/o'),
        ('cost', 'papi_cost -t 1000'),
        ('choose', 'papi_event_chooser PRESET PAPI_TOT_CYC'))),
)}


def no_suite(name):
    """The message that there is no suite with this name."""
    return ('there is no suite %s; there are %s, and your own with --from'
            % (name, ', '.join(sorted(SUITES))))


def parse_suite(text):
    """(suite's name, glob of cases) of SUITE[:GLOB]."""
    name, _, glob = text.partition(':')
    return name, glob or '*'
