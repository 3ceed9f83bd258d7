# SPDX-License-Identifier: GPL-2.0-or-later
#
# Test suites of other projects, in directories that the user has built: which
# of their tests are about counters, and how to tell whether a test passed.

import fnmatch
import os
import re

import results
import suites
from suites import FILES, SECONDS, Case, SuiteError


class Tree(suites.Suite):
    """What the suites of other projects have in common."""

    # What the directory should be, for messages
    title = None

    def __init__(self, name, path):
        self.name = name
        self._path = path

    def _file(self, *names):
        """The path of a file; SuiteError if it is missing."""
        path = os.path.join(self._path, *names)
        if not os.path.exists(path):
            raise SuiteError('%s is no %s: it has no %s' % (
                self._path, self.title, os.path.join(*names)))
        return path

    def _read(self, *names):
        with open(self._file(*names), encoding='utf-8',
                  errors='replace') as file:
            return file.read()

    def _built(self, name):
        path = os.path.join(self._path, name)
        return os.path.isfile(path) and os.access(path, os.X_OK)


class Ltp(Tree):
    """The Linux Test Project, installed: the tests of perf_event_open() in its
    runtest/syscalls.
    """

    title = 'installed LTP'
    PROGRAMS = 'perf_event_open*'
    # perf_event_open03 does not need counters: it looks for memory that is lost
    # when Intel PT's events cannot be opened.
    NEEDS_PMU = ('perf_event_open01', 'perf_event_open02')
    # Bits of the exit status.  Source: include/tst_res_flags.h of LTP.
    FAILED = {1: 'TFAIL', 2: 'TBROK', 4: 'TWARN'}
    TCONF = 32

    def _entries(self):
        """[(name, program, arguments)]"""
        found = []
        for line in self._read('runtest', 'syscalls').splitlines():
            words = line.split('#')[0].split()
            if len(words) > 1 and fnmatch.fnmatchcase(words[1],
                                                      self.PROGRAMS):
                found.append((words[0], words[1], words[2:]))
        if not found:
            raise SuiteError('%s has no entry for %s' % (
                self._file('runtest', 'syscalls'), self.PROGRAMS))
        return found

    def cases(self, kernel, root):
        # LTP's own time limit is meant for a CPU that is not emulated.
        return [Case(suites.case_name(name),
                     ['env', 'LTPROOT=' + FILES, 'LTP_TIMEOUT_MUL=10',
                      'TMPDIR=/tmp', 'PATH=%s:/usr/sbin:/usr/bin' % FILES,
                      '%s/%s' % (FILES, program), *arguments],
                     SECONDS, name in self.NEEDS_PMU)
                for name, program, arguments in self._entries()]

    def copy(self, kernel):
        return [(self._file('testcases', 'bin', program),
                 '%s/%s' % (FILES, program))
                for program in sorted({p for _, p, _ in self._entries()})]

    def verdict(self, _case, status, output):
        """By its output and exit status.  The status is a set of bits, of which
        TCONF only occurs alone.
        """
        said = re.search(r'\b(TFAIL|TBROK|TWARN)\b\s*:.*', output.text())
        if said or suites.died(status):
            return results.FAIL, (said.group(0).strip() if said else
                                  'exit status %d' % status)
        for flag, name in self.FAILED.items():
            if status & flag:
                return results.FAIL, 'exit status %d: %s' % (status, name)
        if status == self.TCONF:
            said = re.search(r'\bTCONF\b\s*:\s*(.*)', output.text())
            return results.SKIP, said.group(1) if said else 'TCONF'
        return suites.by_status(status)


class PerfEventTests(Tree):
    """Weaver's perf_event_tests, built: the tests that run_tests.sh runs."""

    title = 'tree of perf_event_tests'
    NEEDS_PMU = ('generalized_events/*', 'x86_intel/fixed_ctr*', 'rdpmc/*',
                 'multiplexing/*', 'constraints/*', 'overflow/s*')
    # Source: lib/test_utils.c.  The first words that match count, as they may
    # contain others.  Programs end with status 1 after all words but PASSED.
    WORDS = ((results.FAIL, ('WARNING KNOWN KERNEL BUG', 'KERNEL FAILED',
                             'FAILED (KERNEL TOO OLD)', 'FAILED', 'WARNING',
                             'UNEXPLAINED')),
             (results.SKIP, ('SKIPPED', 'UNIMPLEMENTED', 'NEED TESTCASE',
                             'USE CAUTION', 'KNOWN ISSUE')),
             # From YES on: kinds of behaviour, none of which is wrong
             (results.PASS, ('PASSED', 'KERNEL OK', 'YES', 'NO',
                             'OLD BEHAVIOR', 'NEW BEHAVIOR')))

    def cases(self, kernel, root):
        listed = dict.fromkeys(re.findall(
            r'^\s*\$TESTS_DIR/(\S+)', self._read('run_tests.sh'),
            re.MULTILINE))
        if not any(self._built('tests/' + name) for name in listed):
            raise SuiteError('%s is not built: run make there' % self._path)
        return [Case(name.replace('/', '-'),
                     ['env', 'TESTS_QUIET=y', 'TESTS_DIR=' + FILES,
                      '%s/%s' % (FILES, name)], SECONDS,
                     any(fnmatch.fnmatchcase(name, glob)
                         for glob in self.NEEDS_PMU))
                for name in listed]

    def copy(self, kernel):
        return [(self._file('tests'), FILES)]

    def verdict(self, case, status, output):
        """By the last line that ends in one of WORDS."""
        program = case.command[-1][len(FILES) + 1:]
        if not self._built('tests/' + program):
            return results.SKIP, 'tests/%s is not built' % program
        if suites.died(status):
            return results.FAIL, 'exit status %d' % status
        for line in reversed(output.text().splitlines()):
            for outcome, words in self.WORDS:
                for word in words:
                    if re.search(r'\s%s\s*$' % re.escape(word), line):
                        return outcome, ('' if outcome == results.PASS
                                         else ' '.join(line.split()))
        return results.FAIL, ('exit status %d, and nothing of how it ended'
                              % status)


class Bpf(Tree):
    """BPF's selftests, built: the tests of test_progs that may sample with
    hardware counters.
    """

    title = 'directory of BPF selftests (tools/testing/selftests/bpf)'
    # (test, needs_pmu)
    TESTS = (('find_vma', True), ('get_branch_snapshot', False),
             ('get_stackid_cannot_attach', False), ('perf_branches', False),
             ('perf_event_stackmap', True), ('send_signal', True),
             ('stacktrace_build_id_nmi', True))
    # test_progs, and the files that it opens
    FILES = ('test_progs', 'urandom_read', 'liburandom_read.so', '*.bpf.o',
             'bpf_testmod.ko', 'btf_data.bin')

    def cases(self, kernel, root):
        self._file('test_progs')
        return [Case(name, ['sh', '-c', 'cd %s && exec ./test_progs -v -t "$0"'
                            % FILES, name], SECONDS, needs_pmu)
                for name, needs_pmu in self.TESTS]

    def copy(self, kernel):
        return [(os.path.join(self._path, name), '%s/%s' % (FILES, name))
                for name in sorted(os.listdir(self._path))
                if any(fnmatch.fnmatchcase(name, glob)
                       for glob in self.FILES)]

    def verdict(self, _case, status, output):
        """By the summary, which also shows whether test_progs has the test."""
        text = output.text()
        said = re.findall(r'^Summary: (\d+)/(\d+) PASSED, (\d+) SKIPPED, '
                          r'(\d+) FAILED', text, re.MULTILINE)
        if not said or suites.died(status):
            return results.FAIL, ('exit status %d, and no summary' % status
                                  if not said else 'exit status %d' % status)
        passed, subtests, skipped, failed = map(int, said[-1])
        if failed or status:
            first = re.search(r'^#\d\S* .*:FAIL\b', text, re.MULTILINE)
            return results.FAIL, (first.group(0) if first else
                                  'exit status %d' % status)
        if skipped and not passed + subtests:
            return results.SKIP, '%d skipped' % skipped
        if not passed + subtests:
            return results.SKIP, 'this test_progs has no such test'
        return results.PASS, ''


class KvmUnitTests(Tree):
    """kvm-unit-tests, built for x86: its tests of the PMU.  They run without
    an operating system: see bare.py.
    """

    title = 'built tree of kvm-unit-tests'
    bare = True
    # QEMU's exit statuses.  isa-debug-exit ends QEMU with code << 1 | 1 after
    # "outl(code, 0xf4)" (lib/x86/io.c); code is what report_summary() returns.
    # NO_EXIT: nothing was written.
    PASSED, SKIPPED, NO_EXIT = 0 << 1 | 1, 77, 0

    def cases(self, kernel, root):
        directory = self._file('x86')
        found = [name for name in sorted(os.listdir(directory))
                 if fnmatch.fnmatchcase(name, 'pmu*.flat')]
        if not found:
            raise SuiteError('%s has no pmu*.flat: run ./configure && make '
                             'there' % directory)
        return [Case(name.removesuffix('.flat'),
                     [os.path.join(directory, name)], SECONDS, True)
                for name in found]

    def verdict(self, _case, status, output):
        """By the lines that it prints and by QEMU's exit status."""
        failed = re.search(r'^(FAIL|XPASS|ABORT): .*$', output.text(),
                           re.MULTILINE)
        if failed:
            return results.FAIL, failed.group(0).strip()
        if status == self.NO_EXIT:
            return results.FAIL, 'it ended without an exit status'
        if status == self.SKIPPED:
            said = re.search(r'^SKIP: (.*)$', output.text(), re.MULTILINE)
            return results.SKIP, said.group(1).strip() if said else 'skipped'
        if status == self.PASSED:
            return results.PASS, ''
        return results.FAIL, 'exit status %d' % (status >> 1)


# {name that --from gives a directory: the class of its suite}
KINDS = {'ltp': Ltp, 'perf_event_tests': PerfEventTests, 'bpf': Bpf,
         'kvm-unit-tests': KvmUnitTests}
