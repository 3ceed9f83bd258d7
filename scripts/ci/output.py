# SPDX-License-Identifier: GPL-2.0-or-later
#
# What a case prints: its text, and the test results in it that have the form of
# TAP.  TAP is parsed as it arrives, because the text is shortened later.

import re

# Bytes of a case's output that are kept: half of them from its beginning, the
# rest, up to this number, from its end.
OUTPUT_MAX = 1 << 20
# Bytes of a line that are parsed as TAP; the rest of a longer line is dropped.
LINE_MAX = 4096

_PLAN = re.compile(r'1\.\.(\d+)\s*(#.*)?$')
_SKIP = re.compile(r'#\s*SKIP', re.IGNORECASE)
_TODO = re.compile(r'#\s*TODO', re.IGNORECASE)
# "not ok" counts whatever follows.  "ok" counts before a number, "-", "#" and
# the end of the line; before anything else it may be prose.
_NOT_OK = re.compile(r'\s*not ok\b')
_OK = re.compile(r'\s*ok(\s+\d+\b|\s+-\s|\s*#|\s*$)')


class Tap:
    """Counts the test points of TAP and of the kernel's KTAP.

    failure  the first line that reports a failure or bails out, or None
    skip     the first line that reports a skip, or None
    planned  number of points of the outermost level that the plans announce
    points   number of points of that level that came
    passed   number of points of any level that neither failed nor were skipped
    """

    def __init__(self):
        self.failure = None
        self.skip = None
        self.planned = 0
        self.points = 0
        self.passed = 0

    def line(self, text):
        """Parse a line."""
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
    """Cuts one stream into lines and passes them to a Tap."""

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
    """What a command prints to stdout and stderr."""

    def __init__(self):
        self._head = bytearray()
        self._tail = bytearray()
        self._dropped = 0
        self._tap = Tap()
        self._out = _Lines(self._tap)
        self._error = _Lines(self._tap)

    def add(self, data):
        """Add bytes of stdout."""
        self._out.add(data)
        self._keep(data)

    def add_error(self, data):
        """Add bytes of stderr."""
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
        """The output; if it is too long, its middle is left out."""
        middle = (b'\n[%d bytes are left out here]\n' % self._dropped
                  if self._dropped else b'')
        return bytes(self._head + middle + self._tail).decode(
            errors='replace')

    def tap(self):
        """The Tap, complete; call it once the command has ended."""
        self._out.end()
        self._error.end()
        return self._tap
