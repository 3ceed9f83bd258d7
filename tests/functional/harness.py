# SPDX-License-Identifier: GPL-2.0-or-later
#
# What the functional tests share: how a test is written, how it says what
# it expected, and how results are printed (TAP version 13).

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

import guest  # noqa: E402  (the path above finds it)
import topdown  # noqa: E402

PROGRAMS = os.path.join(HERE, 'programs')
# name: (sources, more compiler options)
PROGRAM_SOURCES = {
    'pingpong': (('pingpong.c',), ()),
    'migrate': (('migrate.c',), ()),
    'rdpmc': (('rdpmc.c',), ()),
    'exact-1': (('exact.S',), ('-nostdlib', '-DN=1000000')),
    'exact-3': (('exact.S',), ('-nostdlib', '-DN=3000000')),
    'pages': (('pages.S',), ('-nostdlib',)),
    # Itself far from where its blocks have their data.
    'blocks': (('blocks.c',), ('-Wl,-Ttext-segment=0x7f000000',)),
    'tma': (('tma.c', 'tma-loops.S'), ('-pthread',)),
}


# Linux takes over what another process left in the counters if a group that
# counts user mode alone is switched on while its process is in the kernel,
# on its way to sleep, and goes on on another CPU (intel_update_topdown_event
# returns early when there are no slots yet).  With perf on its CPU, the
# process is not on its way anywhere.
PINNED = 'taskset 2'


def in_guest(name):
    """Where in the guest a program or file is that was copied there."""
    return '%s/%s' % (guest.HOME, name)


class Failure(Exception):
    """A test's expectation was not met."""


class OffEstimate(Failure):
    """An estimate is not where it was expected; see estimate()."""


class Skip(Exception):
    """A test cannot say anything here; the message names the reason."""


class Checks:
    """Collects what a test finds, so that one failure hides no other."""

    failure = Failure

    def __init__(self):
        self._failed = []

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
        self.that(ok, '%s: expected %s to %s, observed %s' % (
            what, '-inf' if low is None else '%.10g' % low,
            'inf' if high is None else '%.10g' % high, '%.10g' % observed))

    def close(self, what, observed, expected, tolerance):
        """Both agree within an absolute tolerance."""
        self.that(abs(observed - expected) <= tolerance,
                  '%s: expected %.10g within %.4g, observed %.10g'
                  % (what, expected, tolerance, observed))

    def done(self):
        if self._failed:
            raise self.failure('\n'.join(self._failed))


class Estimates(Checks):
    """Checks of what a second measurement may find otherwise."""

    failure = OffEstimate


def estimate(function):
    """Decorates a test of estimates: numbers of events in turns, of what the
    model samples, or that depend on how tasks take turns, with tolerances for
    what an idle host makes of them.  While a host gives its CPUs to others,
    what a guest does is to a large part its timer's and perf's own work, and
    turns are not alike.  Hence what Estimates find off is measured a second
    time; then the result says so.  What is exact is none of them: Checks of it
    fail at once.
    """
    @functools.wraps(function)
    def measured(*arguments):
        try:
            return function(*arguments)
        except OffEstimate as first:
            text = function(*arguments)
            return '\n'.join(filter(None, (
                'measured a second time, as at first:', str(first), text)))
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
        self._print('TAP version 13')

    def _print(self, text):
        print(text, file=self._out, flush=True)

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
    directory = os.path.join(guest.build_dir(), 'guest', 'tests')
    os.makedirs(directory, exist_ok=True)
    made = {}
    for name, (sources, options) in PROGRAM_SOURCES.items():
        made[name] = os.path.join(directory, name)
        subprocess.run(
            [os.environ.get('CC', 'gcc'), '-std=gnu11', '-O2', '-Wall',
             '-static', '-I', guest.HERE, *options, '-o', made[name],
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
        self.guest = guest.Guest(options)
        self.guest.start()
        # The kernel drops samples when handling them takes long by the
        # clock, which for an emulated CPU says nothing.
        self.shell('cd /proc/sys/kernel && '
                   'echo 1000000 >perf_event_max_sample_rate && '
                   'echo 0 >perf_cpu_time_max_percent')

    def close(self):
        self.guest.close()

    def shell(self, command, timeout=120, status=0):
        """Run a shell command that must end with this exit status; what it
        printed on stdout.
        """
        result = self.guest.run(command, timeout)
        if result.status != status:
            raise Failure('%s\nexpected exit status %d, observed %d\n%s%s' % (
                command, status, result.status, result.stdout,
                result.stderr))
        return result.stdout

    def stat(self, options, command, timeout=120, prefix=''):
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

    def region(self, options, command, timeout=120):
        """The same for the part that the command switches perf on for,
        through /tmp/ctl (control.h).
        """
        self.fifos()
        return self.stat('-D -1 --control fifo:/tmp/ctl/ctl,/tmp/ctl/ack '
                         + options, command, timeout, PINNED)

    def topdown(self, command, timeout=120):
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
