# SPDX-License-Identifier: GPL-2.0-or-later
#
# What a case prints: its text, and what it says in TAP.
#
# TAP is read while it arrives, as the text is shortened later.

import re

# Of what a case printed, so much is kept: the first and the last half.
OUTPUT_MAX = 1 << 20
# A longer line is no TAP.
LINE_MAX = 4096

_PLAN = re.compile(r'1\.\.(\d+)\s*(#.*)?$')
_SKIP = re.compile(r'#\s*SKIP', re.IGNORECASE)
_TODO = re.compile(r'#\s*TODO', re.IGNORECASE)
# "not ok" counts in whatever form; "ok" without a number or "-" may be prose.
_NOT_OK = re.compile(r'\s*not ok\b')
_OK = re.compile(r'\s*ok(\s+\d+\b|\s+-\s|\s*#|\s*$)')


class Tap:
    """Points, plans and bail-outs of TAP, and of the kernel's KTAP.

    failure  the first line that says that something failed, or None
    skip     the first line that says that something was skipped, or None
    planned  how many points of the outermost level are to come
    points   how many came
    passed   how many points of any level were neither failed nor skipped
    """

    def __init__(self):
        self.failure = None
        self.skip = None
        self.planned = 0
        self.points = 0
        self.passed = 0

    def line(self, text):
        """Take a line."""
        if text.startswith('Bail out!'):
            self.failure = self.failure or text.strip()
            return
        plan = _PLAN.match(text)
        if plan:
            self.planned += int(plan.group(1))
            if plan.group(1) == '0':
                self.skip = self.skip or text.strip()
            return
        failed = _NOT_OK.match(text)
        if not failed and not _OK.match(text):
            return
        if text[0] not in ' \t':
            self.points += 1
        if _SKIP.search(text):
            self.skip = self.skip or text.strip()
        elif not failed:
            self.passed += 1
        elif not _TODO.search(text):
            self.failure = self.failure or text.strip()


class _Lines:
    """Cuts one stream into lines."""

    def __init__(self, tap):
        self._tap = tap
        self._rest = b''

    def add(self, data):
        *lines, self._rest = (self._rest + data).split(b'\n')
        for line in lines:
            self._line(line)
        self._rest = self._rest[:LINE_MAX]

    def end(self):
        if self._rest:
            self._line(self._rest)
        self._rest = b''

    def _line(self, line):
        self._tap.line(line[:LINE_MAX].decode(errors='replace').rstrip('\r'))


class Output:
    """What a command prints on both of its streams."""

    def __init__(self):
        self._head = bytearray()
        self._tail = bytearray()
        self._dropped = 0
        self._tap = Tap()
        self._out = _Lines(self._tap)
        self._error = _Lines(self._tap)

    def add(self, data):
        """Take bytes of stdout."""
        self._out.add(data)
        self._keep(data)

    def add_error(self, data):
        """Take bytes of stderr."""
        self._error.add(data)
        self._keep(data)

    def _keep(self, data):
        room = OUTPUT_MAX // 2 - len(self._head)
        self._head += data[:max(0, room)]
        self._tail += data[max(0, room):]
        if len(self._tail) > OUTPUT_MAX:
            drop = len(self._tail) - OUTPUT_MAX // 2
            self._dropped += drop
            del self._tail[:drop]

    def text(self):
        """All of it, shortened in the middle."""
        middle = (b'\n[%d bytes are left out here]\n' % self._dropped
                  if self._dropped else b'')
        return bytes(self._head + middle + self._tail).decode(
            errors='replace')

    def tap(self):
        """What it said in TAP, once the command has ended."""
        self._out.end()
        self._error.end()
        return self._tap
