# SPDX-License-Identifier: GPL-2.0-or-later
#
# Suites of other projects, in directories that the user has built: which of
# their tests are about counters, and what their output says.

import fnmatch
import os
import re

import results
import suites
from suites import FILES, SECONDS, Case, SuiteError


class Tree(suites.Suite):
    """What they have in common."""

    # What they call themselves, for messages
    title = None

    def __init__(self, name, path):
        self.name = name
        self._path = path

    def _file(self, *names):
        """The path of a file that has to be there."""
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
    """The Linux Test Project, installed: of its runtest/syscalls, what tests
    perf_event_open().
    """

    title = 'installed LTP'
    PROGRAMS = 'perf_event_open*'
    # Without counters the third still tests what it is for: memory that is
    # lost when it cannot open Intel PT's events.
    NEEDS_PMU = ('perf_event_open01', 'perf_event_open02')
    # include/tst_res_flags.h
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
        # Its limit is that of an ordinary CPU.
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
        """Its status is a set of what happened; TCONF is alone in it."""
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
    """Weaver's perf_event_tests, built: what its run_tests.sh runs."""

    title = 'tree of perf_event_tests'
    NEEDS_PMU = ('generalized_events/*', 'x86_intel/fixed_ctr*', 'rdpmc/*',
                 'multiplexing/*', 'constraints/*', 'overflow/s*')
    # lib/test_utils.c; what stands first counts, as its text may hold others.
    # Its programs end with 1 after all but PASSED.
    WORDS = ((results.FAIL, ('WARNING KNOWN KERNEL BUG', 'KERNEL FAILED',
                             'FAILED (KERNEL TOO OLD)', 'FAILED', 'WARNING',
                             'UNEXPLAINED')),
             (results.SKIP, ('SKIPPED', 'UNIMPLEMENTED', 'NEED TESTCASE',
                             'USE CAUTION', 'KNOWN ISSUE')),
             # Kinds of behaviour, none of which is wrong
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
        """By the word at the end of the last line that has one."""
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
    """BPF's selftests, built: of test_progs, what samples with counters."""

    title = 'directory of BPF selftests (tools/testing/selftests/bpf)'
    # (test, it says nothing without counters)
    TESTS = (('find_vma', True), ('get_branch_snapshot', False),
             ('get_stackid_cannot_attach', False), ('perf_branches', False),
             ('perf_event_stackmap', True), ('send_signal', True),
             ('stacktrace_build_id_nmi', True))
    # What test_progs opens besides itself
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
        """By the summary, which also tells whether there was such a test."""
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
    """kvm-unit-tests, built for x86: the flat files that are about the PMU.
    They run on the bare machine: see bare.py.
    """

    title = 'built tree of kvm-unit-tests'
    bare = True
    # "outl(code, 0xf4)" of lib/x86/io.c, as isa-debug-exit puts it: what
    # report_summary() returns, and that nothing was written
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
        """By its lines, and by the status, which is odd if it wrote one."""
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


# By the names that --from gives them
KINDS = {'ltp': Ltp, 'perf_event_tests': PerfEventTests, 'bpf': Bpf,
         'kvm-unit-tests': KvmUnitTests}
