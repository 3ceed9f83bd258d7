# SPDX-License-Identifier: GPL-2.0-or-later
#
# What the functional tests share: the guest that a test uses, checks that say
# what they expected, and the printing of results (TAP version 13).

import collections
import functools
import os
import re
import subprocess
import sys
import threading
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(TOP, 'scripts', 'guest'))

import artifacts  # noqa: E402  (the path above finds them)
import guest  # noqa: E402
import topdown  # noqa: E402

# Seconds after which a command is taken to hang.  On a busy host everything
# takes several times as long.
TIMEOUT = 600

PROGRAMS = os.path.join(HERE, 'programs')
# {program: (sources, more compiler options)}
PROGRAM_SOURCES = {
    'pingpong': (('pingpong.c',), ()),
    'migrate': (('migrate.c',), ()),
    'rdpmc': (('rdpmc.c',), ()),
    'exact-1': (('exact.S',), ('-nostdlib', '-DN=1000000')),
    'exact-3': (('exact.S',), ('-nostdlib', '-DN=3000000')),
    'pages': (('pages.S',), ('-nostdlib',)),
    'crash': (('crash.c',), ()),
    # Its own code and data must be far from the addresses that blocks access.
    'blocks': (('blocks.c',), ('-Wl,-Ttext-segment=0x7f000000',)),
    # It allows system calls only from addresses in its text.  Its signal
    # handlers run without thread-local storage.
    'fuzz': (('fuzz.c',), ('-pthread', '-no-pie', '-fno-stack-protector',
                           '-fcf-protection=none')),
    # Kernels: they run without Linux.
    'driver': (('driver.S',), ('-nostdlib', '-no-pie', '-Wl,-Ttext=0x100000',
                               '-Wl,--build-id=none')),
    'watchpoint': (('watchpoint.S',),
                   ('-nostdlib', '-no-pie', '-Wl,-Ttext=0x100000',
                    '-Wl,--build-id=none', '-DWATCH')),
    'long-strings': (('watchpoint.S',),
                     ('-nostdlib', '-no-pie', '-Wl,-Ttext=0x100000',
                      '-Wl,--build-id=none')),
    'tma': (('tma.c', 'tma-loops.S'), ('-pthread',)),
    'patch-code': (('patch-code.c',), ('-pthread',)),
    'vperfctr': (('vperfctr.c',), ()),
    'residue': (('residue.c',), ()),
    'sampled': (('sampled.c',), ()),
}


# The command that runs perf on the CPU of the process that it counts.  Without
# it, perf may switch on a group that counts only user mode while the process is
# in the kernel, about to sleep and to go on on another CPU.  Linux then counts
# what another process left in the counters (intel_update_topdown_event returns
# early when there are no slots yet).
PINNED = 'taskset 2'


def in_guest(name):
    """The guest's path of a program or file that was copied into it."""
    return '%s/%s' % (artifacts.HOME, name)


class Failure(Exception):
    """A test's expectation was not met."""


class OffEstimate(Failure):
    """An estimate is not within the expected bounds; see estimate()."""


class Measured(str):
    """The text about the attempts at an estimate of which one was off."""


class Skip(Exception):
    """A test cannot be done here; the message says why."""


class Checks:
    """Collects the results of a test's checks, so that a failure does not hide
    others.
    """

    failure = Failure

    def __init__(self):
        self._failed = []
        self._figures = []

    def that(self, condition, message):
        if not condition:
            self._failed.append(message)

    def equal(self, what, observed, expected):
        self.that(observed == expected, '%s: expected %r, observed %r'
                  % (what, expected, observed))

    def between(self, what, observed, low, high):
        """low <= observed <= high, where None is no limit."""
        ok = ((low is None or observed >= low) and
              (high is None or observed <= high))
        self.figure(ok, '%s: expected %s to %s, observed %s' % (
            what, '-inf' if low is None else '%.10g' % low,
            'inf' if high is None else '%.10g' % high, '%.10g' % observed))

    def close(self, what, observed, expected, tolerance):
        """Both agree within an absolute tolerance."""
        self.figure(abs(observed - expected) <= tolerance,
                     '%s: expected %.10g within %.4g, observed %.10g'
                     % (what, expected, tolerance, observed))

    def figure(self, ok, text):
        """Check a condition; its text is printed even if it holds."""
        self._figures.append(text)
        self.that(ok, text)

    def done(self):
        """Raise a failure if a check failed; else return all figures, a line
        each.
        """
        if self._failed:
            raise self.failure('\n'.join(self._failed))
        return '\n'.join(self._figures)


class Estimates(Checks):
    """Checks of estimates, which may be off by chance: see estimate()."""

    failure = OffEstimate

    def done(self):
        try:
            return super().done()
        except OffEstimate as e:
            rest = [f for f in self._figures if f not in self._failed]
            raise OffEstimate('\n'.join(
                [str(e)] + ['(as expected) ' + f for f in rest])) from None


# Limits of errors that differ between programs, as quantiles of the errors of
# many programs, chosen anew each time.  One program in ten is off by more than
# often, one in a hundred by more than seldom.
Limits = collections.namedtuple('Limits', 'often seldom')


def check_quantiles(checks, what, errors, limits):
    """Check that at most half of the errors, [(error, text)], are beyond
    limits.often, and at most a quarter beyond limits.seldom.  With 16 programs
    this fails by chance in 6 and 0.4 of a million runs (binomial; if programs
    are not alike, in fewer: Hoeffding, Ann. Math. Stat. 27, 1956).
    """
    for _, text in sorted(errors, reverse=True):
        checks.figure(True, '%s: %s' % (what, text))
    for limit, share in (limits.often, 1 / 2), (limits.seldom, 1 / 4):
        beyond = sum(error > limit for error, _ in errors)
        checks.between('%s: programs of %d that are off by more than %g'
                       % (what, len(errors), limit), beyond, 0,
                       share * len(errors))


ATTEMPTS = 3


def estimate(function):
    """Decorates a test of estimates: of multiplexed events, of what the model
    samples, of how tasks take turns.  An attempt can be off because the host
    gives its CPUs to others for a while: then most of what the guest runs is
    its timer's and perf's work.  If the first attempt is off, there are two
    more, and the test fails unless both are as expected.  If an attempt is off
    by chance with probability p, the test fails with 2 p^2 - p^3.  Every
    attempt and its figures are printed.

    Exact counts are no estimates: a failure of their Checks is final.
    """
    @functools.wraps(function)
    def measured(*arguments):
        said, off = [], 0
        for number in range(1, ATTEMPTS + 1):
            try:
                text, verdict = function(*arguments), 'as expected'
            except OffEstimate as e:
                text, verdict = str(e), 'OFF'
                off += 1
            except Failure as e:
                raise Failure('\n'.join([*said, str(e)])) from None
            said.append('attempt %d of %d: %s' % (number, ATTEMPTS, verdict))
            said += ['  ' + line for line in (text or '').splitlines()]
            if off > 1:
                raise Failure('\n'.join(said))
            if not off:
                break
        return Measured('\n'.join(said)) if off else '\n'.join(said)
    return measured


class Tap:
    """Prints the results of tests, which may be concurrent, as they end.  The
    plan comes last, as TAP allows.
    """

    def __init__(self, out=sys.stdout):
        self._out = out
        self._number = 0
        self._lock = threading.Lock()
        self.failed = 0
        self._measured_again = []
        self._print('TAP version 13')

    def _print(self, text):
        print(text, file=self._out, flush=True)

    def comment(self, text):
        self._print('# ' + text)

    def _result(self, name, ok, seconds, diagnosis='', skip=None):
        with self._lock:
            self._number += 1
            self.failed += not ok
            self._print('%s %d - %s%s' % (
                'ok' if ok else 'not ok', self._number,
                name.replace('#', '_'),
                '' if skip is None else ' # SKIP ' + skip))
            self._print('  ---')
            self._print('  seconds: %.1f' % seconds)
            if diagnosis:
                self._print('  message: |')
                for line in diagnosis.splitlines():
                    self._print('    ' + line)
            self._print('  ...')

    def end(self):
        for name in self._measured_again:
            self.comment('one of three attempts was off: ' + name)
        self._print('1..%d' % self._number)

    def run(self, name, function, *arguments):
        """Run a test and print its result, with the text that it returns, if
        any.  Returns False if the guest that it ran in has ended.
        """
        begin = time.monotonic()
        alive = True
        diagnosis, skip, ok = '', None, False
        try:
            diagnosis = function(*arguments) or ''
            ok = True
            if isinstance(diagnosis, Measured):
                self._measured_again.append(name)
        except Skip as e:
            ok, skip = True, str(e)
        except Failure as e:
            diagnosis = str(e)
        except (guest.GuestDied, guest.GuestTimeout) as e:
            diagnosis = '%s: %s' % (type(e).__name__, e)
            alive = False
        except guest.GuestError as e:
            diagnosis = str(e)
        except Exception:  # a test that breaks is a test that fails
            diagnosis = traceback.format_exc()
        self._result(name, ok, time.monotonic() - begin, diagnosis, skip)
        return alive


def build_programs():
    """Compile the test programs that run in guests; returns {name: path}."""
    directory = os.path.join(artifacts.build_dir(), 'guest', 'tests')
    os.makedirs(directory, exist_ok=True)
    made = {}
    for name, (sources, options) in PROGRAM_SOURCES.items():
        made[name] = os.path.join(directory, name)
        subprocess.run(
            [os.environ.get('CC', 'gcc'), '-std=gnu11', '-O2', '-Wall',
             '-static', '-I', artifacts.HERE, *options, '-o', made[name],
             *(os.path.join(PROGRAMS, s) for s in sources)], check=True)
    return made


def parse_stat(text):
    """The counts that "perf stat -x ;" printed: {event: count}.

    The count is None if perf says that it was not counted or not supported.
    Some versions of perf add a group's modifier or the PMU to the names of a
    group's events, so both are removed from the names of slots and topdown-*.
    """
    counts = {}
    for line in text.splitlines():
        fields = line.split(';')
        # Skip lines of metrics, which have no count of their own.
        if line.startswith('#') or len(fields) < 3 or not fields[0]:
            continue
        name = re.sub(r'^((slots|topdown-[a-z-]+))(:\w+)?( \[cpu\])?$', r'\1',
                      fields[2])
        counts[name] = (None if fields[0].startswith('<')
                        else float(fields[0]))
    return counts


class Session:
    """A booted guest and what tests do with it."""

    def __init__(self, options, programs):
        options.copy = [(path, in_guest(name))
                        for name, path in programs.items()]
        # A random.Random, set before each test
        self.random = None
        options.boot_timeout = TIMEOUT
        self.guest = guest.Guest(options)
        self.guest.start()
        # Keep the kernel from dropping samples that take long to handle: how
        # long they take on an emulated CPU says nothing.  While there is no
        # limit of time, it refuses another rate.
        self.shell('cd /proc/sys/kernel && '
                   'echo 1 >perf_cpu_time_max_percent && '
                   'echo 1000000 >perf_event_max_sample_rate && '
                   'echo 0 >perf_cpu_time_max_percent')

    def close(self):
        self.guest.close()

    def seed(self):
        """A new random seed for a program in the guest."""
        return self.random.randrange(1 << 32)

    def shell(self, command, timeout=TIMEOUT, status=0):
        """Run a shell command that must end with this exit status.  Returns
        what it printed to stdout.
        """
        result = self.guest.run(command, timeout)
        if result.status != status:
            raise Failure('%s\nexpected exit status %d, observed %d\n%s%s' % (
                command, status, result.status, result.stdout,
                result.stderr))
        return result.stdout

    def stat(self, options, command, timeout=TIMEOUT, prefix=''):
        """Run perf stat with these options; returns {event: count}."""
        self.shell("%s perf stat -x ';' -o /tmp/stat %s -- %s >/tmp/out 2>&1 "
                   "|| { cat /tmp/out /tmp/stat; exit 1; }"
                   % (prefix, options, command), timeout)
        return parse_stat(self.shell('cat /tmp/stat'))

    def stat_intervals(self, milliseconds, options, command):
        """Run perf stat -I; returns {event: count} of each interval, in order,
        with the last, shorter one.
        """
        self.stat('-I %d %s' % (milliseconds, options), command)
        intervals = {}
        for line in self.shell('cat /tmp/stat').splitlines():
            if ';' in line and not line.startswith('#'):
                when, rest = line.split(';', 1)
                intervals.setdefault(when.strip(), []).append(rest)
        return [parse_stat('\n'.join(lines)) for lines in intervals.values()]

    def fifos(self):
        """Make /tmp/ctl, through which a workload controls perf."""
        self.shell('mkdir -p /tmp/ctl; cd /tmp/ctl; rm -f ctl ack; '
                   'mkfifo ctl ack')

    def region(self, options, command, timeout=TIMEOUT):
        """Like stat(), but count only while the command has perf switched on
        through /tmp/ctl (control.h).
        """
        self.fifos()
        return self.stat('-D -1 --control fifo:/tmp/ctl/ctl,/tmp/ctl/ack '
                         + options, command, timeout, PINNED)

    def topdown(self, command, timeout=TIMEOUT):
        """Run perf stat --topdown on the measured part of a workload, in user
        mode.  Returns {level-1 class: fraction of the slots}.
        """
        self.fifos()
        self.shell("%s perf stat --topdown --all-user -D -1 --control "
                   "fifo:/tmp/ctl/ctl,/tmp/ctl/ack -j -o /tmp/stat -- "
                   "workload --perf /tmp/ctl --sync %s" % (PINNED, command),
                   timeout)
        return topdown.parse(self.shell('cat /tmp/stat'))

    def kernel_log(self):
        return self.shell('dmesg')
