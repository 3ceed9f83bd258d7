# SPDX-License-Identifier: GPL-2.0-or-later
#
# Tests of kernel-ci's suites of other projects, with fake trees whose programs
# end in every way.

import os
import subprocess
import tempfile

from common import HERE, KERNEL, equal, fails, kernel_ci, read_run

import output
import suites
import trees


def write(directory, name, text):
    """Write a file, executable if it is a script."""
    path = os.path.join(directory, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'w', encoding='utf-8') as file:
        file.write(text)
    os.chmod(path, 0o755 if text.startswith('#!') else 0o644)


def printed(text):
    out = output.Output()
    out.add(text.encode())
    return out


def verdicts(suite, case, rows):
    """Check the verdict on a case for each row: (exit status, output, verdict,
    part of the reason).
    """
    for status, text, verdict, reason in rows:
        observed = suite.verdict(case, status, printed(text))
        equal('%d %r' % (status, text), observed[0], verdict)
        assert reason in observed[1], 'no %r in %r' % (reason, observed[1])


# LTP

SYSCALLS = ('# a comment\nread01 read01\n'
            'perf_event_open01 perf_event_open01\n'
            'perf_event_open02 perf_event_open02 -v # verbose\n'
            'perf_event_open03 perf_event_open03\n')


def fake_ltp(directory):
    write(directory, 'runtest/syscalls', SYSCALLS)
    write(directory, 'testcases/bin/perf_event_open01',
          '#!/bin/bash\nperf stat -e instructions true\n'
          'echo "perf_event_open01.c:1: TPASS: opened"\n')
    write(directory, 'testcases/bin/perf_event_open02',
          '#!/bin/bash\ntest "$1" = -v || exit 2\n'
          'echo "perf_event_open02.c:7: TFAIL: too far off"\nexit 1\n')
    write(directory, 'testcases/bin/perf_event_open03',
          '#!/bin/bash\necho "perf_event_open03.c:5: TCONF: no intel_pt"\n'
          'exit 32\n')


def ltp():
    with tempfile.TemporaryDirectory() as directory:
        suite = trees.Ltp('ltp', directory)
        fails(suites.SuiteError, 'is no installed LTP: it has no '
              'runtest/syscalls', suite.cases, None, None)
        fake_ltp(directory)
        found = suite.cases(None, None)
        equal('cases', [(c.name, c.needs_pmu) for c in found],
              [('perf-event-open01', True), ('perf-event-open02', True),
               ('perf-event-open03', False)])
        equal('arguments', found[1].command[-2:],
              ['/guest/suite/perf_event_open02', '-v'])
        verdicts(suite, found[0], (
            (0, 'a.c:1: TPASS: fine\n', 'pass', ''),
            (0, 'a.c:1: TPASS: fine\na.c:2: TFAIL: bad\n', 'fail', 'bad'),
            (1, 'a.c:1: TFAIL: bad\n', 'fail', 'TFAIL: bad'),
            (2, 'a.c:1: TBROK: no memory\n', 'fail', 'no memory'),
            # Of other suites, status 4 is a skip.
            (4, '', 'fail', 'TWARN'), (5, '', 'fail', 'TFAIL'),
            (32, 'a.c:1: TCONF: no such event\n', 'skip', 'no such event'),
            (33, '', 'fail', 'TFAIL'), (127, '', 'fail', '127'),
            (139, 'a.c:1: TPASS: fine\n', 'fail', '139')))
        write(directory, 'runtest/syscalls', 'read01 read01\n')
        fails(suites.SuiteError, 'has no entry for perf_event_open*',
              suite.cases, None, None)


# perf_event_tests

RUN_TESTS = '#!/bin/sh\n' + ''.join(
    'echo " + tests/%s"\n$TESTS_DIR/%s\n' % (name, name) for name in (
        'rdpmc/vacuous', 'generalized_events/counts', 'ioctl/bad',
        'size/skips', 'openmp/unbuilt'))


def ends(word, status):
    return ('#!/bin/bash\ntest "$TESTS_QUIET" = y || exit 9\n'
            'printf "%%-60s %%s\\n" "Testing something..." "%s"\nexit %d\n'
            % (word, status))


def fake_perf_event_tests(directory):
    write(directory, 'run_tests.sh', RUN_TESTS)
    write(directory, 'tests/rdpmc/vacuous', ends('PASSED', 0))
    write(directory, 'tests/generalized_events/counts', ends(
        'PASSED', 0).replace('printf', 'perf stat -e cycles true\nprintf', 1))
    write(directory, 'tests/ioctl/bad', ends('FAILED', 1))
    write(directory, 'tests/size/skips', ends('SKIPPED', 1))


def perf_event_tests():
    with tempfile.TemporaryDirectory() as directory:
        suite = trees.PerfEventTests('perf_event_tests', directory)
        fails(suites.SuiteError, 'is no tree of perf_event_tests',
              suite.cases, None, None)
        write(directory, 'run_tests.sh', RUN_TESTS)
        fails(suites.SuiteError, 'is not built: run make there', suite.cases,
              None, None)
        fake_perf_event_tests(directory)
        found = suite.cases(None, None)
        equal('cases', [(c.name, c.needs_pmu) for c in found],
              [('rdpmc-vacuous', True), ('generalized_events-counts', True),
               ('ioctl-bad', False), ('size-skips', False),
               ('openmp-unbuilt', False)])
        line = 'Testing whether FAILED can be...        %s\n'
        verdicts(suite, found[0], (
            (0, line % 'PASSED', 'pass', ''),
            (1, line % 'FAILED', 'fail', 'FAILED'),
            (1, line % 'FAILED (KERNEL TOO OLD)', 'fail', 'TOO OLD'),
            (1, line % 'WARNING KNOWN KERNEL BUG', 'fail', 'KERNEL BUG'),
            (1, line % 'SKIPPED', 'skip', 'Testing'),
            (1, line % 'KNOWN ISSUE', 'skip', 'KNOWN ISSUE'),
            (1, line % 'NEW BEHAVIOR', 'pass', ''),
            (0, line % 'PASSED' + 'bye\n', 'pass', ''),
            (1, 'usage\n', 'fail', 'nothing of how it ended'),
            (139, line % 'PASSED', 'fail', '139')))
        verdicts(suite, found[4], ((127, '', 'skip', 'openmp/unbuilt is not '
                                    'built'),))


# BPF's selftests

def fake_bpf(directory):
    write(directory, 'test_progs', '''#!/bin/bash
test "$1 $2" = "-v -t" || exit 9
case $3 in
send_signal) perf stat -e cycles true ;;
find_vma) echo "#9 find_vma:FAIL"
    echo "Summary: 0/0 PASSED, 0 SKIPPED, 1 FAILED"; exit 1 ;;
perf_branches) echo "#8 perf_branches:SKIP"
    echo "Summary: 0/0 PASSED, 1 SKIPPED, 0 FAILED"; exit 0 ;;
esac
echo "#7 $3:OK"
echo "Summary: 1/2 PASSED, 0 SKIPPED, 0 FAILED"
''')
    write(directory, 'find_vma.bpf.o', 'an object')
    write(directory, 'Makefile', 'all:')


def bpf():
    with tempfile.TemporaryDirectory() as directory:
        suite = trees.Bpf('bpf', directory)
        fails(suites.SuiteError, 'is no directory of BPF selftests',
              suite.cases, None, None)
        fake_bpf(directory)
        case = suite.cases(None, None)[0]
        equal('files', [os.path.basename(there)
                        for _, there in suite.copy(None)],
              ['find_vma.bpf.o', 'test_progs'])
        summary = 'Summary: %s PASSED, %d SKIPPED, %d FAILED\n'
        verdicts(suite, case, (
            (0, '#1 a:OK\n' + summary % ('1/2', 0, 0), 'pass', ''),
            (0, summary % ('0/1', 1, 0), 'pass', ''),
            (1, '#1/1 a/b:FAIL\n' + summary % ('0/1', 0, 1), 'fail',
             '#1/1 a/b:FAIL'),
            (0, summary % ('0/0', 1, 0), 'skip', '1 skipped'),
            (0, summary % ('0/0', 0, 0), 'skip', 'has no such test'),
            (1, 'libbpf: no BTF\n', 'fail', 'no summary'),
            (139, summary % ('1/0', 0, 0), 'fail', '139')))


# kvm-unit-tests

def fake_kvm_unit_tests(directory):
    os.makedirs(os.path.join(directory, 'x86'))
    for name, text, status, more in (
            ('pmu', 'PASS: Intel: core\\nSUMMARY: 1 tests\\n', 0, '-DCOUNT'),
            ('pmu_vacuous', 'PASS: nothing\\n', 0, '-DNOTHING'),
            ('pmu_lbr', 'SKIP: no LBR\\n', 77 >> 1, '-DCOUNT'),
            ('pmu_bad', 'PASS: a\\nFAIL: b\\n', 1, '-DCOUNT'),
            ('pmu_reset', 'PASS: a\\n', 0, '-DRESET'),
            ('pmu_hangs', '', 0, '-DHANG'), ('other', '', 0, '-DCOUNT')):
        subprocess.run(
            ['gcc', '-nostdlib', '-no-pie', '-Wl,-Ttext=0x100000',
             '-Wl,--build-id=none', '-DTEXT="%s"' % text,
             '-DSTATUS=%d' % status, more, '-o',
             os.path.join(directory, 'x86', name + '.flat'),
             os.path.join(HERE, 'flat.S')], check=True)


def kvm_unit_tests():
    with tempfile.TemporaryDirectory() as directory:
        suite = trees.KvmUnitTests('kvm-unit-tests', directory)
        fails(suites.SuiteError, 'is no built tree of kvm-unit-tests: it has '
              'no x86', suite.cases, None, None)
        os.mkdir(os.path.join(directory, 'x86'))
        fails(suites.SuiteError, 'has no pmu*.flat: run ./configure',
              suite.cases, None, None)
        verdicts(suite, None, (
            (1, 'PASS: a\r\nSUMMARY: 1 tests\r\n', 'pass', ''),
            (1, 'PASS: a\r\nFAIL: b\r\n', 'fail', 'FAIL: b'),
            (1, 'XFAIL: known\r\n', 'pass', ''),
            (3, 'PASS: a\r\n', 'fail', 'exit status 1'),
            (77, 'SKIP: no PMU\r\n', 'skip', 'no PMU'),
            (0, 'PASS: a\r\n', 'fail', 'without an exit status'),
            (13, 'ABORT: a\r\n', 'fail', 'ABORT: a')))


def bare_machines():
    """Fake kvm-unit-tests end in every way; no kernel is fetched."""
    with tempfile.TemporaryDirectory() as directory:
        tree = os.path.join(directory, 'tree')
        fake_kvm_unit_tests(tree)
        out = os.path.join(directory, 'out')
        kernel_ci('--suite', 'kvm-unit-tests', '--from',
                  'kvm-unit-tests=' + tree, '--timeout', '20', '--out', out,
                  '--kernel', '/nowhere', status=1)
        found = read_run(out)
        equal('cases', {name: (r.status, r.pmu) for name, r in found.items()},
              {'icx/pmu': ('pass', True), 'icx/pmu_lbr': ('skip', True),
               'icx/pmu_vacuous': ('skip', False),
               'icx/pmu_bad': ('fail', True),
               'icx/pmu_reset': ('fail', False),
               'icx/pmu_hangs': ('fail', False)})
        for case, text in (('bad', 'FAIL: b'), ('vacuous', 'vacuous'),
                           ('reset', 'without an exit status'),
                           ('hangs', 'did not end within 20 s')):
            reason = found['icx/pmu_' + case].reason
            assert text in reason, reason
        equal('kernel', found['icx/pmu'].kernel, 'none')
        again = subprocess.run(
            [os.path.join(out, 'logs/none/icx/kvm-unit-tests/pmu_bad',
                          'reproduce.sh')], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            check=False)
        equal('again', (again.returncode, 'FAIL: b' in again.stdout),
              (3, True))


def trees_in_guests():
    """Fake trees of the three suites that run under Linux, in guests."""
    with tempfile.TemporaryDirectory() as directory:
        arguments = []
        for name, make in (('ltp', fake_ltp), ('bpf', fake_bpf),
                           ('perf_event_tests', fake_perf_event_tests)):
            path = os.path.join(directory, name)
            make(path)
            arguments += ['--suite', name, '--from', name + '=' + path]
        out = os.path.join(directory, 'out')
        kernel_ci('--kernel', KERNEL, *arguments, '--out', out, status=1)
        equal('cases', {name.partition('/')[2]: (r.status, r.pmu)
                        for name, r in read_run(out).items()},
              {'perf-event-open01': ('pass', True),
               'perf-event-open02': ('fail', False),
               'perf-event-open03': ('skip', False),
               'rdpmc-vacuous': ('skip', False),
               'generalized_events-counts': ('pass', True),
               'ioctl-bad': ('fail', False), 'size-skips': ('skip', False),
               'openmp-unbuilt': ('skip', False),
               'find_vma': ('fail', False),
               'get_branch_snapshot': ('pass', False),
               'get_stackid_cannot_attach': ('pass', False),
               'perf_branches': ('skip', False),
               'perf_event_stackmap': ('skip', False),
               'send_signal': ('pass', True),
               'stacktrace_build_id_nmi': ('skip', False)})


TESTS = [
    ('LTP', ltp), ('perf_event_tests', perf_event_tests),
    ("BPF's selftests", bpf), ('kvm-unit-tests', kvm_unit_tests),
    ('machines without Linux', bare_machines)]
LONG_TESTS = [("other projects' trees in guests", trees_in_guests)]
