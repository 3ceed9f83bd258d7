# SPDX-License-Identifier: GPL-2.0-or-later
#
# Tests of the command scripts/kernel-ci: usage, errors, and runs with a suite
# whose cases pass, fail, hang and kill the kernel, and some tests of perf.

import fcntl
import importlib.machinery
import importlib.util
import os
import re
import signal
import subprocess
import tempfile
import threading
import types
import unittest.mock
import xml.etree.ElementTree as ElementTree

from common import (FAKE, HERE, KERNEL, KERNEL_CI, TOP, equal, kernel_ci,
                    read_run, result)

import artifacts
import plan
import planted
import results
import suites
from tree_tests import fake_kvm_unit_tests


def parts_merged():
    """Merge all parts of a run; refuse if one is missing; make pages of all."""
    settings = plan.Settings(2, '3G', '', [], [], None, 0,
                             False, False)
    with tempfile.TemporaryDirectory() as directory:
        names = []
        for index in 1, 2:
            names.append(os.path.join(directory, str(index)))
            os.mkdir(names[-1])
            job_ = plan.Job('0001', KERNEL, 'icx', 'Icelake-Server', 'fake',
                            ['c%d' % index])
            plan.Plan('q', {}, settings, [job_],
                      part=(index, 2)).write(names[-1])
            one = result('c%d' % index, 'fail' if index == 2 else 'pass')
            results.write([one], os.path.join(names[-1], results.RESULTS))
            logs = os.path.join(names[-1], 'logs', results.ident(one))
            os.makedirs(logs)
            with open(logs + '/out', 'w', encoding='utf-8') as file:
                file.write('said by %d' % index)
        into = os.path.join(directory, 'into')
        kernel_ci('merge', '--out', into, *names, status=1)
        equal('cases', [r.case for r in results.read(into)], ['c1', 'c2'])
        for name in 'junit.xml', 'report.html':
            with open(os.path.join(into, name), encoding='utf-8') as file:
                assert 'said by 2' in file.read(), name
        _, said = kernel_ci('merge', '--out', into, names[0], names[0],
                            status=3)
        assert 'part 2/2 is missing' in said, said
        with open(os.path.join(names[1], results.RESULTS), 'w',
                  encoding='utf-8'):
            pass
        _, said = kernel_ci('merge', '--out', into, *names, status=3)
        assert 'has no result' in said, said
        _, said = kernel_ci('compare', names[0], names[1], status=3)
        _, said = kernel_ci('rerun', names[0], '--out', names[0], status=2)
        assert 'does not write to' in said, said


def write_part(directory, index, number, case, settings=(), jobs=True):
    """Write part index of number of a run with these settings, in which one
    case passed.
    """
    os.mkdir(directory)
    common_ = plan.Settings(2, '3G', '', [], [], None, 0,
                             False, False)
    common_ = common_._replace(**dict(settings))
    job_ = plan.Job('0001', KERNEL, 'icx', 'Icelake-Server', 'fake', [case])
    plan.Plan('q', {}, common_, [job_] if jobs else [], part=(index, number),
              asked=plan.asked_for('q', {}, common_, [], number)
              ).write(directory)
    results.write([result(case, 'pass')] if jobs else [],
                  os.path.join(directory, results.RESULTS))


def parts_of_two_runs():
    """Part 1 of one run and part 2 of another are not merged; all parts of two
    runs are.
    """
    with tempfile.TemporaryDirectory() as directory:
        path = {name: os.path.join(directory, name)
                for name in ('one-1', 'one-2', 'two-1', 'two-2', 'into')}
        for index in 1, 2:
            write_part(path['one-%d' % index], index, 2, 'a%d' % index)
            write_part(path['two-%d' % index], index, 2, 'b%d' % index,
                       {'smp': 4, 'append': 'nosmt'})
        _, said = kernel_ci('merge', '--out', path['into'], path['one-1'],
                            path['two-2'], status=3)
        for text in ('%s has part 1/2 of a run of which part 2/2 is missing'
                     % path['one-1'],
                     '%s has part 2/2 of another run (these differ: settings)'
                     % path['two-2']):
            assert text in said, 'expected %r in %r' % (text, said)
        assert not os.path.exists(path['into']), 'something was written'
        kernel_ci('merge', '--out', path['into'], *(
            path[name] for name in ('two-2', 'one-1', 'one-2', 'two-1')))
        equal('cases', [r.case for r in results.read(path['into'])],
              ['a1', 'a2', 'b1', 'b2'])


def part_without_case():
    """With more machines than cases, some parts have no case."""
    with tempfile.TemporaryDirectory() as directory:
        parts = [os.path.join(directory, name) for name in ('1', '2')]
        write_part(parts[0], 1, 2, 'a')
        write_part(parts[1], 2, 2, '', jobs=False)
        into = os.path.join(directory, 'into')
        kernel_ci('merge', '--out', into, *parts)
        equal('cases', [r.case for r in results.read(into)], ['a'])
        # Without a plan, nothing says that this part may have no case.
        alone = os.path.join(directory, 'alone')
        for _ in range(2):
            kernel_ci('merge', parts[1], '--out', alone)


def usage():
    for arguments, text in (
            (['fly'], 'there is no command fly; there are run, plan'),
            (['--shard', '3/2'], "'3/2' is not I/N with 1 <= I <= N"),
            (['--jobs', '0'], "'0' is not a number from 1"),
            (['--retries', '-1'], "'-1' is not a number from 0"),
            (['plan', 'counts'], 'plan takes no counts'),
            (['--from', '../x=/tmp'], "cannot have the name '../x'"),
            (['--from', 'counts=/tmp'], 'two suites have the name counts'),
            (['--from', 'x=/tmp', '--from', 'x=/'], 'the name x'),
            (['--param', 'x'], "'x' is not NAME=VALUE"),
            (['--measure', '--baseline'], 'want one of them'),
            (['--measure', '--cpu', 'Icelake-Server'], 'want pmu=on or'),
            (['--measure', '--cpu', 'icx', '--param', 'pmu=on,off'],
             'pmu=off has none'),
            (['compare', 'x'], 'compare wants two directories'),
            (['rerun', 'x', '--timeout', '9'],
             '--timeout: rerun takes it from the plan'),
            (['job', 'x', '1', '--from', 'a=/tmp'],
             '--from: job takes it from the plan'),
            (['job', 'x', '1', '--junit', 'y'], 'job does not take it'),
            (['merge', 'x', '--qemu', 'y'], 'merge does not take it'),
            (['report', 'x', '--retries', '0'], 'report does not take it'),
            (['plan', '--jobs', '2'], '--jobs: plan does not take it'),
            (['--xfail', '/nowhere'], '/nowhere: No such file'),
            (['--list'], 'unrecognized arguments: --list (the command "list" '),
            (['--only=x'], '--only=x (--suite S:GLOB chooses cases)'),
            (['--suite', 'nosuch'], 'there is no suite nosuch; there are'),
            (['list', 'nosuch'], 'there is no suite nosuch; there are'),
            (['--kernel', '/nowhere/bzImage'], 'there is no kernel'),
            (['--kernel', KERNEL_CI], 'is no kernel whose version'),
            (['--kernel', HERE], 'is a directory without arch/x86/boot'),
            (['--suite', 'mine', '--from', 'mine=/nowhere'],
             '--from mine: there is no directory /nowhere'),
            (['--suite', 'ltp', '--from', 'ltp=' + HERE],
             '--from ltp: %s is no installed LTP' % HERE),
            (['job', 'x', '1', '--qemu', '/nowhere'],
             '--qemu: there is no file /nowhere')):
        _, said = kernel_ci(*arguments, status=2)
        assert text in said, 'expected %r in %r' % (text, said)


def infrastructure():
    for arguments in (['job', '/nowhere', '1'], ['merge', '/nowhere'],
                      ['report', '/nowhere']):
        _, said = kernel_ci(*arguments, status=3)
        assert 'No such file' in said, said
        assert not os.path.exists('/nowhere'), 'made it'


def files_below(directory):
    return sorted(os.path.relpath(os.path.join(at, name), directory)
                  for at, _, names in os.walk(directory) for name in names)


def not_its_own():
    """kernel-ci neither overwrites nor deletes what it has not written."""
    with tempfile.TemporaryDirectory() as directory:
        project = os.path.join(directory, 'project')
        part = os.path.join(directory, 'part')
        write_part(part, 1, 1, 'a')
        for name in ('logs/log', 'jobs/a.jsonl', 'junit.xml', 'plan.json',
                     'results.jsonl'):
            path = os.path.join(project, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, 'w', encoding='utf-8') as file:
                file.write('{}\n')
        before = files_below(project)
        for arguments in (['--suite', 'counts'], ['plan'], ['merge', part],
                          ['report', part]):
            _, said = kernel_ci(*arguments, '--out', project, status=2)
            assert ('--out %s: it has files, but no results of kernel-ci: '
                    'want a directory that is absent, empty or that of an '
                    'earlier run' % project) in said, said
        equal('files', files_below(project), before)


def junit_beforehand():
    """A --junit that cannot be written is an error before the run, which loses
    no results.
    """
    with tempfile.TemporaryDirectory() as directory:
        part = os.path.join(directory, 'part')
        write_part(part, 1, 1, 'a')
        before = files_below(part)
        for path, text in (('no/j.xml', 'there is no directory'),
                           ('.', 'it cannot be written')):
            path = os.path.join(directory, path)
            for arguments in ['merge', part], ['run', '--out', part]:
                _, said = kernel_ci(*arguments, '--junit', path, status=2)
                assert '--junit %s: %s' % (path, text) in said, said
        equal('files', files_below(part), before)


def elsewhere():
    """Commands that read a run write to --out, if that is given."""
    with tempfile.TemporaryDirectory() as directory:
        part = os.path.join(directory, 'part')
        write_part(part, 1, 1, 'a')
        before = files_below(part)
        page = os.path.join(directory, 'page')
        for _ in range(2):
            out, _ = kernel_ci('report', part, '--out', page)
            equal('page', out, page + '/report.html\n')
        equal('files', files_below(page), ['report.html'])
        merged = os.path.join(directory, 'merged')
        # The part's job was not done.
        kernel_ci('merge', part, '--out', merged, status=3)
        equal('files', files_below(merged),
              ['junit.xml', 'report.html', 'results.jsonl', 'summary.md'])
        equal('files of the run', files_below(part), before)
        kernel_ci('merge', part, status=3)
        assert 'junit.xml' in files_below(part)


ENDS = {'passes': 'pass', 'counts': 'pass', 'counts-pinned': 'pass',
        'counts-stopped': 'pass', 'fails': 'fail', 'skips': 'skip',
        'tap': 'fail', 'tap-skips': 'skip', 'hangs': 'fail', 'dies': 'fail',
        'upsets-the-kernel': 'fail', 'known': 'xfail', 'mended': 'xpass',
        'at-times': 'flaky', 'takes-minutes': 'skip'}
REASONS = {'fails': 'exit status 1', 'tap': 'not ok 2 - two',
           'hangs': 'did not end within 20 s', 'dies': 'the guest died',
           'upsets-the-kernel': 'the kernel said: .*WARNING: CPU: 0',
           'known': 'it is known', 'at-times': 'passed when tried again',
           'takes-minutes': 'run with --long: so it is said'}
FAKE_SUITE = ('--kernel', KERNEL, '--suite', 'fake', '--from',
              'fake=' + FAKE, '--xfail', os.path.join(HERE, 'fake.xfail'))


def whole():
    """Cases that end in every way, and the files that report them."""
    with tempfile.TemporaryDirectory() as directory:
        out, _ = kernel_ci(*FAKE_SUITE, '--timeout', '20', '--retries', '1',
                           '--out', directory, status=1)
        found = read_run(directory)
        equal('cases', {n: r.status for n, r in found.items()},
              {'icx/' + n: s for n, s in ENDS.items()})
        for case, text in REASONS.items():
            reason = found['icx/' + case].reason
            assert re.search(text, reason), '%s: %s' % (case, reason)
        equal('counters were used by',
              [n for n, r in found.items() if r.pmu],
              ['icx/counts', 'icx/counts-pinned'])
        assert sum(found['icx/counts'].topdown.values()) > 0
        assert found['icx/counts'].release.startswith('6.12.')
        assert '      not ok 5 dies\n' in out, out
        case = os.path.join(directory, 'logs', KERNEL, 'icx', 'fake', 'fails')
        with open(case + '/out', encoding='utf-8') as file:
            equal('what it said', file.read(), 'this goes wrong\n')
        ElementTree.parse(os.path.join(directory, 'junit.xml'))
        again = subprocess.run([case + '/reproduce.sh'], check=False,
                               stdout=subprocess.PIPE, text=True,
                               stderr=subprocess.STDOUT)
        assert again.returncode == 1 and 'this goes wrong' in again.stdout, (
            again.stdout)


def long_cases():
    """Long cases run with --long."""
    with tempfile.TemporaryDirectory() as directory:
        suite = [each if each != 'fake' else 'fake:takes-minutes'
                 for each in FAKE_SUITE]
        # The case uses no counter, hence status 4.
        kernel_ci(*suite, '--long', '--out', directory, status=4)
        equal('statuses', [r.status for r in read_run(directory).values()],
              ['pass'])


def baseline():
    """Without a PMU the exit status says that nothing was tested, and a test of
    perf that says "Ok" is skipped.
    """
    with tempfile.TemporaryDirectory() as directory:
        _, said = kernel_ci(
            '--kernel', KERNEL, '--cpu', 'Icelake-Server', '--suite',
            'perf-test:mmap-interface*', '--suite',
            'perf-test:perf-stat-STD*', '--suite', 'counts',
            '--out', directory, status=4)
        assert 'nothing was tested' in said, said
        for name, found in read_run(directory).items():
            assert found.status != 'pass', '%s passes without a PMU' % name


MEASURED = '''#!/bin/sh
perf stat -x ';' -o /tmp/stat -e task-clock,cycles workload nops 1000000
cat /tmp/stat
'''


def measured():
    """With --measure perf sees the model's clock."""
    with tempfile.TemporaryDirectory() as directory:
        suite = os.path.join(directory, 'suite')
        os.mkdir(suite)
        case = os.path.join(suite, 'clock')
        with open(case, 'w', encoding='ascii') as file:
            file.write(MEASURED)
        os.chmod(case, 0o755)
        out = os.path.join(directory, 'out')
        kernel_ci('--measure', '--kernel', KERNEL, '--suite', 'mine', '--from',
                  'mine=' + suite, '--out', out, status=0)
        logs = os.path.join(out, 'logs', KERNEL, 'icx', 'mine', 'clock')
        with open(logs + '/out', encoding='utf-8') as file:
            said = file.read()
        number = {event: float(re.search('^([0-9.]+);.*;?%s;' % event, said,
                                         re.M).group(1))
                  for event in ('task-clock', 'cycles')}
        mhz = number['cycles'] / number['task-clock'] / 1000
        assert 2772 < mhz < 2828, '%g MHz: %s' % (mhz, said)
        with open(logs + '/reproduce.sh', encoding='utf-8') as file:
            assert ' --measure ' in file.read()


def with_counters():
    """The same test with a PMU and, with --baseline, without one."""
    with tempfile.TemporaryDirectory() as directory:
        kernel_ci('--kernel', KERNEL, '--baseline', '--suite',
                  'perf-test:perf-stat-STD*', '--suite',
                  'selftests-perf_events:remove_on_exec', '--out', directory,
                  status=0)
        found = read_run(directory)
        for case in 'perf-stat-STD-output-linter', 'remove_on_exec':
            with_pmu, without = (found[cpu + case] for cpu in
                                 ('icx/', 'icx-nopmu/'))
            # remove_on_exec: see known.xfail
            assert with_pmu.status in ('pass', 'flaky'), with_pmu
            assert with_pmu.pmu, with_pmu
            assert not without.pmu and without.status != 'pass', without


def interrupted():
    """Ctrl-C ends the guests soon and leaves no results of unfinished jobs."""
    with tempfile.TemporaryDirectory() as directory:
        running = subprocess.Popen(
            [KERNEL_CI, '--kernel', KERNEL, '--suite', 'fake', '--from',
             'fake=' + FAKE, '--out', directory], text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            # A shell starts background commands with SIGINT ignored.
            preexec_fn=lambda: signal.signal(signal.SIGINT,
                                             signal.SIG_DFL))
        for line in running.stderr:
            if '1 of %d done' % len(ENDS) in line:
                break
        running.send_signal(signal.SIGINT)
        _, said = running.communicate(timeout=60)
        equal('exit status', running.returncode, 130)
        assert 'interrupted' in said, said
        equal('jobs done', os.listdir(directory + '/jobs'), [])


class Waits(suites.Suite):
    """A suite that is ready only when another one is being prepared."""

    bare = True

    def __init__(self, name, both):
        self.name = name
        self._both = both

    def cases(self, kernel, root):
        self._both.wait()
        return [suites.Case('case', ['true'], 1, False)]


def side_by_side():
    """Suites that take long to fetch are fetched at the same time."""
    loader = importlib.machinery.SourceFileLoader('kernel_ci', KERNEL_CI)
    command = importlib.util.module_from_spec(
        importlib.util.spec_from_loader('kernel_ci', loader))
    loader.exec_module(command)
    both = threading.Barrier(2, timeout=20)
    options = types.SimpleNamespace(
        kernel=[], cpu=['icx'], param=[], baseline=False, measure=False,
        suite=['one', 'two'])
    with unittest.mock.patch.dict(suites.SUITES, {
            name: Waits(name, both) for name in options.suite}):
        found, _ = command.all_cells(options, types.SimpleNamespace(from_=[]))
    equal('cells', [(suite, cases) for _, _, suite, cases in found],
          [('one', ['case']), ('two', ['case'])])


def locked():
    """Two commands never write to the same directory at once."""
    with tempfile.TemporaryDirectory() as above:
        part = os.path.join(above, 'part')
        write_part(part, 1, 1, 'a')
        directory = os.path.join(above, 'out')
        os.mkdir(directory)
        taken = os.open(directory, os.O_RDONLY)
        try:
            for mode in fcntl.LOCK_EX, fcntl.LOCK_SH:
                fcntl.flock(taken, mode)
                for command in (['run', '--suite', 'counts'], ['merge', part],
                                ['plan', '--suite', 'counts'],
                                ['report', part]):
                    _, said = kernel_ci(*command, '--out', directory,
                                        status=2)
                    assert ('another kernel-ci writes to %s: give --out'
                            % directory) in said, said
        finally:
            os.close(taken)
        equal('files', os.listdir(directory), [])


def no_boot():
    """If a kernel does not boot, its cases fail with its last words.  After two
    attempts kernel-ci does not boot it again.
    """
    with tempfile.TemporaryDirectory() as directory:
        kernel_ci('--kernel', KERNEL, '--suite', 'fake:passes', '--suite',
                  'fake:skips', '--suite', 'fake:tap', '--from',
                  'fake=' + FAKE, '--append', 'rdinit=/nowhere', '--out',
                  directory, status=1)
        found = read_run(directory)
        equal('cases', {name: (r.status, r.pmu) for name, r in found.items()},
              {'icx/passes': ('fail', False), 'icx/skips': ('fail', False),
               'icx/tap': ('fail', False)})
        for case, reason in (
                ('passes', 'the guest does not boot: the guest died'),
                ('skips', 'the guest does not boot: the guest died'),
                ('tap', 'the guest did not boot 2 times')):
            assert found['icx/' + case].reason.startswith(reason), (
                found['icx/' + case])
        with open(os.path.join(directory, 'logs', KERNEL, 'icx', 'fake',
                               'passes', 'out'), encoding='utf-8') as file:
            said = file.read()
        assert 'Kernel panic - not syncing: VFS' in said, said


def pipe_among_cases():
    """A pipe among the files of a suite is not a case, and kernel-ci does not
    read it, which would never end.
    """
    with tempfile.TemporaryDirectory() as directory:
        mine = os.path.join(directory, 'mine')
        os.mkdir(mine)
        os.mkfifo(os.path.join(mine, 'a-pipe'), 0o755)
        with open(os.path.join(mine, 'case'), 'w', encoding='utf-8') as file:
            file.write('#!/bin/sh\ntest -p "${0%/*}/a-pipe"\n')
        os.chmod(os.path.join(mine, 'case'), 0o755)
        # Nothing is counted, hence status 4.
        kernel_ci('--kernel', KERNEL, '--suite', 'mine', '--from',
                  'mine=' + mine, '--out', os.path.join(directory, 'out'),
                  status=4, timeout=600)
        equal('cases', {name: r.status for name, r in read_run(
            os.path.join(directory, 'out')).items()}, {'icx/case': 'pass'})


def names_twice():
    """Two kernels or cases with the same name are refused."""
    with tempfile.TemporaryDirectory() as directory:
        image, _ = artifacts.find_kernel(KERNEL)
        for name in 'one', 'two':
            os.mkdir(os.path.join(directory, name))
            os.symlink(image, os.path.join(directory, name, 'kernel'))
        kernels = [word for name in ('one', 'two') for word in
                   ('--kernel', os.path.join(directory, name, 'kernel'))]
        _, said = kernel_ci('list', *kernels, '--suite', 'counts', status=2)
        assert 'two kernels have the name kernel: link' in said, said
        _, said = kernel_ci('list', '--cpu', 'icx', '--cpu', 'icx', '--suite',
                            'counts', status=2)
        assert 'two CPUs have the name icx' in said, said
        for name in 'a b', 'a-b':
            path = os.path.join(directory, name)
            with open(path, 'w', encoding='utf-8') as file:
                file.write('#!/bin/sh\n')
            os.chmod(path, 0o755)
        _, said = kernel_ci('list', '--suite', 'mine', '--from',
                            'mine=' + directory, status=2)
        assert 'are the case a-b' in said, said


def planted_bugs():
    """Bugs planted in a kernel's driver make the expected cases fail."""
    symbols = subprocess.run(
        [os.path.join(TOP, 'scripts', 'run-guest'), '--quiet', '--kernel',
         KERNEL, '--append', 'nokaslr', '--', 'cat', '/proc/kallsyms'],
        stdout=subprocess.PIPE, text=True, check=True).stdout
    symbols = {line.split()[2]: int(line.split()[0], 16)
               for line in symbols.splitlines()}
    image, _ = artifacts.find_kernel(KERNEL)
    with tempfile.TemporaryDirectory() as directory:
        kernels = [KERNEL] + [planted.plant(image, symbols, name, directory)
                              for name in planted.BUGS]
        kernel_ci(*(word for k in kernels for word in ('--kernel', k)),
                  '--suite', 'counts', '--out', directory + '/out', status=1)
        found = {(r.kernel, r.case): r.status for r in
                 results.read(directory + '/out')}
    failed = {kernel: {case for (k, case), status in found.items()
                       if k == kernel and status != 'pass'}
              for kernel in (KERNEL, *planted.BUGS)}
    equal('without a bug', failed[KERNEL], set())
    equal('lost-topdown', failed['lost-topdown'],
          {c for k, c in found if 'topdown' in c})
    equal('wrong-rdpmc', failed['wrong-rdpmc'],
          {c for k, c in found if 'rdpmc' in c})


def one_bare_case(directory):
    """Arguments for a case that passes in a second, as it needs no Linux."""
    tree = os.path.join(directory, 'tree')
    fake_kvm_unit_tests(tree)
    return ('--suite', 'kvm-unit-tests:pmu', '--from', 'kvm-unit-tests=' + tree)


def resumed():
    """--resume keeps results; without it, all jobs are done again."""
    with tempfile.TemporaryDirectory() as directory:
        out = os.path.join(directory, 'out')
        wanted = *one_bare_case(directory), '--out', out
        times = []
        for more in (), ('--resume',), ():
            kernel_ci(*wanted, *more)
            one, = (n for n in os.listdir(out + '/jobs')
                    if n.endswith('.jsonl'))
            times.append(os.stat(os.path.join(out, 'jobs', one)).st_mtime_ns)
    assert times[0] == times[1] != times[2], times


def jobs_apart():
    """Make a plan, do its jobs one by one, twice, and merge; then merge with a
    job's results lost.
    """
    with tempfile.TemporaryDirectory() as directory:
        out = os.path.join(directory, 'out')
        said, _ = kernel_ci('plan', *one_bare_case(directory), '--cpu', 'icx',
                            '--cpu', 'spr', '--out', out)
        first, last = said.split()
        kernel_ci('job', out, first)
        _, said = kernel_ci('merge', out, status=3)
        assert 'not run' in said, said
        done, = (os.path.join(out, 'jobs', n)
                 for n in os.listdir(out + '/jobs') if n.endswith('.jsonl'))
        before = os.stat(done)
        kernel_ci('job', out, first, last)
        equal('a job is not done twice', os.stat(done).st_ino, before.st_ino)
        kernel_ci('merge', out)
        equal('cases', sorted(read_run(out)), ['icx/pmu', 'spr/pmu'])
        _, said = kernel_ci('job', '--qemu', '/bin/true', out, first, status=3)
        assert 'the plan is for another QEMU' in said, said


def another_kernel():
    """A job is refused if the kernel is not that of its plan."""
    with tempfile.TemporaryDirectory() as directory:
        said, _ = kernel_ci('plan', '--kernel', KERNEL, '--suite',
                            'counts:instructions', '--out', directory)
        planned = plan.read(directory)
        plan.Plan(planned.qemu, {KERNEL: 'x'}, planned.settings,
                  planned.jobs).write(directory)
        _, said = kernel_ci('job', directory, said.strip(), status=3)
        assert 'the plan is for another kernel' in said, said


TESTS = [
    ('merging parts', parts_merged),
    ('merging parts of two runs', parts_of_two_runs),
    ('a part without a case', part_without_case),
    ('what is not its own', not_its_own),
    ('--junit is tried beforehand', junit_beforehand),
    ('--out of merge and report', elsewhere),
    ('wrong usage', usage), ('what cannot be had', infrastructure),
    ('every way to end', whole), ('long cases', long_cases),
    ('nothing was tested', baseline),
    ('suites are had side by side', side_by_side),
    ('two write to one directory', locked),
    ('a kernel that does not boot', no_boot),
    ('a pipe among the cases', pipe_among_cases),
    ('names that are there twice', names_twice), ('Ctrl-C', interrupted),
    ('--resume', resumed),
    ('jobs one by one', jobs_apart), ('another kernel', another_kernel)]
LONG_TESTS = [('the clock of the model', measured),
              ('counters in use', with_counters),
              ('planted bugs', planted_bugs)]
