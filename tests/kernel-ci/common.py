# SPDX-License-Identifier: GPL-2.0-or-later
#
# What the tests of scripts/kernel-ci share: the path of its modules, functions
# to run it and to compare, and known Results.

import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
KERNEL_CI = os.path.join(TOP, 'scripts', 'kernel-ci')
FAKE = os.path.join(HERE, 'fake')
sys.path[:0] = [HERE, os.path.join(TOP, 'scripts', 'ci'),
                os.path.join(TOP, 'scripts', 'guest'),
                os.path.join(TOP, 'scripts', 'report'),
                os.path.join(TOP, 'tests', 'report')]

import results  # noqa: E402  (the path above finds it)

KERNEL = '6.12'


class Skip(Exception):
    """The test cannot be done here; the message says why."""


def equal(what, observed, wanted):
    assert observed == wanted, '%s: expected %r, observed %r' % (
        what, wanted, observed)


def fails(error, text, function, *arguments):
    """Expect the function to raise this error with this text in its message."""
    try:
        function(*arguments)
    except error as e:
        assert text in str(e), 'expected %r in %r' % (text, str(e))
        return
    raise AssertionError('expected %s: %s' % (error.__name__, text))


def result(case, status, **more):
    fields = {'kernel': '6.12', 'release': '6.12.1', 'cpu': 'icx',
              'suite': 'fake', 'case': case, 'status': status,
              'reason': '' if status == 'pass' else 'why', 'pmu': True,
              'instructions': 7, 'topdown': {}, 'seconds': 1.5}
    return results.Result(**dict(fields, **more))


SOME = [result('a', 'pass'), result('b', 'fail', reason='got <1> & "2"\x1b'),
        result('c', 'skip', pmu=False), result('d', 'xfail'),
        result('e', 'xpass'), result('f', 'error', cpu='spr'),
        result('g#1', 'flaky', kernel='7.3')]


def kernel_ci(*arguments, status=0, timeout=None):
    """Run kernel-ci, which has to end with this status; (stdout, stderr)."""
    done = subprocess.run([KERNEL_CI, *arguments], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, check=False, timeout=timeout)
    assert done.returncode == status, (
        'kernel-ci %s: exit status %d, expected %d\n%s%s' % (
            ' '.join(arguments), done.returncode, status, done.stdout[-4000:],
            done.stderr[-4000:]))
    return done.stdout, done.stderr


def read_run(directory):
    return {'%s/%s' % (r.cpu, r.case): r for r in results.read(directory)}
