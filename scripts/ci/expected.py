# SPDX-License-Identifier: GPL-2.0-or-later
#
# Rules for known failures.  A line of a file of rules is
#
#   GLOB [kernel=RANGE] [cpu=GLOB] xfail|flaky|skip|long REASON
#
# GLOB matches SUITE/CASE; RANGE is VERSION, <VERSION, >=VERSION or
# VERSION..VERSION, compared part by part, the second one included ("6.1"
# covers 6.1.176, "6.1..6.12" 6.12.117).  The first line that matches counts.
# A "long" line skips a case; where long cases are to run, it does not count.
# A comment begins with a "#" that stands alone.

import collections
import fnmatch
import re

import results

ACTIONS = ('xfail', 'flaky', 'skip', 'long')

Rule = collections.namedtuple('Rule', 'where glob kernel cpu action reason')
Range = collections.namedtuple('Range', 'low high')

_Range = re.compile(r'(<|>=)?(\d+(?:\.\d+)*)(?:\.\.(\d+(?:\.\d+)*))?$')


class ExpectedError(Exception):
    """A file or line of rules is invalid; the message says where and why."""


def version(text):
    """The numbers that a version, or uname -r's output, begins with."""
    return tuple(int(part) for part in
                 re.match(r'\d+(?:\.\d+)*|', text).group(0).split('.') if part)


def parse_range(text):
    """The Range that the text describes; None if the text is invalid."""
    found = _Range.match(text)
    if not found or found.group(1) and found.group(3):
        return None
    first = version(found.group(2))
    if found.group(1) == '<':
        # The limit itself is not included.
        return Range(None, first[:-1] + (first[-1] - 1,))
    if found.group(1) == '>=':
        return Range(first, None)
    last = version(found.group(3)) if found.group(3) else first
    return Range(first, last) if first[:len(last)] <= last else None


def in_range(limits, release):
    """Is this release within the Range limits?"""
    number = version(release)
    return ((limits.low is None or number[:len(limits.low)] >= limits.low) and
            (limits.high is None or number[:len(limits.high)] <= limits.high))


def parse_line(line, where):
    words = line.split()
    rule = {'where': where, 'glob': words.pop(0), 'kernel': None, 'cpu': None}
    while words and '=' in words[0] and words[0].split('=')[0] in ('kernel',
                                                                   'cpu'):
        name, _, value = words.pop(0).partition('=')
        if name == 'kernel':
            value = parse_range(value)
            if value is None:
                raise ExpectedError('%s: kernel= wants VERSION, <VERSION, '
                                    '>=VERSION or VERSION..VERSION' % where)
        rule[name] = value
    if not words or words[0] not in ACTIONS:
        raise ExpectedError('%s: want %s behind the pattern, not %r' % (
            where, ', '.join(ACTIONS), words[0] if words else ''))
    rule['action'] = words.pop(0)
    rule['reason'] = ' '.join(words)
    if not rule['reason']:
        raise ExpectedError('%s: no reason is given' % where)
    return Rule(**rule)


class Expected:
    """The rules of some files, in order."""

    def __init__(self, paths=()):
        """ExpectedError if a file cannot be read or has an invalid line."""
        self.rules = []
        self.used = set()
        for path in paths:
            try:
                with open(path, encoding='utf-8') as lines:
                    for number, line in enumerate(lines, 1):
                        line = re.split(r'(?:^|\s)#(?:\s|$)', line)[0].strip()
                        if line:
                            self.rules.append(parse_line(
                                line, '%s:%d' % (path, number)))
            except OSError as e:
                raise ExpectedError('%s: %s' % (path, e.strerror)) from None
            except UnicodeDecodeError:
                raise ExpectedError('%s is not UTF-8' % path) from None

    def rule(self, suite, case, release, cpu, run_long=False):
        """The first rule that matches a case, or None.  With run_long, "long"
        rules are passed over.
        """
        for rule in self.rules:
            if (fnmatch.fnmatchcase('%s/%s' % (suite, case), rule.glob) and
                    (rule.kernel is None or in_range(rule.kernel, release)) and
                    (rule.cpu is None or fnmatch.fnmatchcase(cpu, rule.cpu))):
                self.used.add(rule)
                if rule.action != 'long' or not run_long:
                    return rule
        return None

    def judge(self, rule, status, reason):
        """What a rule, or None, makes of a case's (status, reason)."""
        if rule is None:
            return status, reason
        if status == results.FAIL:
            return ({'xfail': results.XFAIL, 'flaky': results.FLAKY}.get(
                rule.action, status), '%s (%s)' % (rule.reason, reason))
        if status == results.PASS and rule.action == 'xfail':
            return results.XPASS, 'expected to fail: ' + rule.reason
        return status, reason

    def unused(self):
        """The rules that no call of rule() has matched."""
        return [rule for rule in self.rules if rule not in self.used]
