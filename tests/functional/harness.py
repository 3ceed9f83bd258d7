# SPDX-License-Identifier: GPL-2.0-or-later
#
# What the functional tests share: how a test is written, how it says what
# it expected, and how results are printed (TAP version 13).

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

# Seconds, for what hangs: on a busy host everything takes several times as
# long.
TIMEOUT = 600

PROGRAMS = os.path.join(HERE, 'programs')
# name: (sources, more compiler options)
PROGRAM_SOURCES = {
    'pingpong': (('pingpong.c',), ()),
    'migrate': (('migrate.c',), ()),
    'rdpmc': (('rdpmc.c',), ()),
    'exact-1': (('exact.S',), ('-nostdlib', '-DN=1000000')),
    'exact-3': (('exact.S',), ('-nostdlib', '-DN=3000000')),
    'pages': (('pages.S',), ('-nostdlib',)),
    'crash': (('crash.c',), ()),
    # Itself far from where its blocks have their data.
    'blocks': (('blocks.c',), ('-Wl,-Ttext-segment=0x7f000000',)),
    # Its text is where its system calls may come from; signal handlers run
    # without thread-local storage.
    'fuzz': (('fuzz.c',), ('-pthread', '-no-pie', '-fno-stack-protector',
                           '-fcf-protection=none')),
    # Kernels, not programs.
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


# Linux takes over what another process left in the counters if a group that
# counts user mode alone is switched on while its process is in the kernel,
# on its way to sleep, and goes on on another CPU (intel_update_topdown_event
# returns early when there are no slots yet).  With perf on its CPU, the
# process is not on its way anywhere.
PINNED = 'taskset 2'


def in_guest(name):
    """Where in the guest a program or file is that was copied there."""
    return '%s/%s' % (artifacts.HOME, name)


class Failure(Exception):
    """A test's expectation was not met."""


class OffEstimate(Failure):
    """An estimate is not where it was expected; see estimate()."""


class Measured(str):
    """What the attempts at an estimate found, of which one was off."""


class Skip(Exception):
    """A test cannot say anything here; the message names the reason."""


class Checks:
    """Collects what a test finds, so that one failure hides no other."""

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
        """A condition whose text is to be seen also if it holds."""
        self._figures.append(text)
        self.that(ok, text)

    def done(self):
        """Fail if something was not as expected; else all figures, a line
        each.
        """
        if self._failed:
            raise self.failure('\n'.join(self._failed))
        return '\n'.join(self._figures)


class Estimates(Checks):
    """Checks of what may be off by chance: see estimate()."""

    failure = OffEstimate

    def done(self):
        try:
            return super().done()
        except OffEstimate as e:
            rest = [f for f in self._figures if f not in self._failed]
            raise OffEstimate('\n'.join(
                [str(e)] + ['(as expected) ' + f for f in rest])) from None


# How far off estimates may be that are off by less in most programs than in
# some: quantiles of the errors of many programs, other ones each time.  One in
# ten is off by more than often, one in a hundred by more than seldom.
Limits = collections.namedtuple('Limits', 'often seldom')


def check_quantiles(checks, what, errors, limits):
    """Check errors, [(error, text)], against Limits: that half at most are
    beyond the one, a quarter at most beyond the other.  Of 16 programs, more
    are by chance in 6 and 0.4 of a million runs (binomial; if programs are not
    alike, in fewer: Hoeffding, Ann. Math. Stat. 27, 1956).
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
    """Decorates a test of estimates: of events that take turns at counters, of
    what the model samples, of how tasks take turns.  Any of them can be off in
    one attempt, as a host may give its CPUs to others for a while: then what a
    guest does is to a large part its timer's and perf's own work.  Hence there
    are two more attempts when the first one is off, and the test fails unless
    both are as expected: two of three are off by chance with a probability of
    2 p^2 - p^3 if one is with p.  Every attempt and its figures are printed.

    What is exact is no estimate: Checks of it fail at once.
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
    """Prints results, those of concurrent tests as they come.  The plan
    comes last, as TAP allows.
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
        """Run a test and print its result, with the text that it returns,
        if any.  Returns whether what it ran in may go on.
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
    """Compile the guests' test programs; {name: path}."""
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

    A count of None is one that perf calls not counted or not supported.
    Whether perf repeats a modifier that it was given for a whole group, and
    names the PMU of a group that it has sorted, differs: both are left out
    for the events of such groups.
    """
    counts = {}
    for line in text.splitlines():
        fields = line.split(';')
        # Metrics without a count of their own have lines, too.
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
        # Set before each test.
        self.random = None
        options.boot_timeout = TIMEOUT
        self.guest = guest.Guest(options)
        self.guest.start()
        # The kernel drops samples when handling them takes long by the
        # clock, which for an emulated CPU says nothing.
        self.shell('cd /proc/sys/kernel && '
                   'echo 1000000 >perf_event_max_sample_rate && '
                   'echo 0 >perf_cpu_time_max_percent')

    def close(self):
        self.guest.close()

    def seed(self):
        """Another one each time, for a program in the guest."""
        return self.random.randrange(1 << 32)

    def shell(self, command, timeout=TIMEOUT, status=0):
        """Run a shell command that must end with this exit status; what it
        printed on stdout.
        """
        result = self.guest.run(command, timeout)
        if result.status != status:
            raise Failure('%s\nexpected exit status %d, observed %d\n%s%s' % (
                command, status, result.status, result.stdout,
                result.stderr))
        return result.stdout

    def stat(self, options, command, timeout=TIMEOUT, prefix=''):
        """perf stat with these options; {event: count}."""
        self.shell("%s perf stat -x ';' -o /tmp/stat %s -- %s >/tmp/out 2>&1 "
                   "|| { cat /tmp/out /tmp/stat; exit 1; }"
                   % (prefix, options, command), timeout)
        return parse_stat(self.shell('cat /tmp/stat'))

    def stat_intervals(self, milliseconds, options, command):
        """perf stat -I; a list of {event: count}, the last interval too."""
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
        """The same for the part that the command switches perf on for,
        through /tmp/ctl (control.h).
        """
        self.fifos()
        return self.stat('-D -1 --control fifo:/tmp/ctl/ctl,/tmp/ctl/ack '
                         + options, command, timeout, PINNED)

    def topdown(self, command, timeout=TIMEOUT):
        """What perf stat --topdown says of a workload's measured part, in
        user mode: {level-1 class: fraction of the slots}.
        """
        self.fifos()
        self.shell("%s perf stat --topdown --all-user -D -1 --control "
                   "fifo:/tmp/ctl/ctl,/tmp/ctl/ack -j -o /tmp/stat -- "
                   "workload --perf /tmp/ctl --sync %s" % (PINNED, command),
                   timeout)
        return topdown.parse(self.shell('cat /tmp/stat'))

    def kernel_log(self):
        return self.shell('dmesg')
