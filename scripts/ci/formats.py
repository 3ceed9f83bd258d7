# SPDX-License-Identifier: GPL-2.0-or-later
#
# Results as other programs read them: KTAP, JUnit's XML, Markdown.

import itertools
import re
import xml.etree.ElementTree as ElementTree

import results

# Bytes of a case's output in JUnit's XML, the last ones.  Readers show them.
SYSTEM_OUT_MAX = 64 << 10
# Characters that XML 1.0 does not allow
_NOT_XML = re.compile('[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]')

_MARKS = {results.PASS: 'passed', results.FAIL: '**FAILED**',
          results.SKIP: 'skipped', results.ERROR: '**not run**',
          results.XFAIL: 'failed, as expected',
          results.XPASS: 'passed, unexpectedly', results.FLAKY: 'flaky'}


def groups(found, *fields):
    """[(values of these fields, Results that have them)], sorted."""
    def key(result):
        return tuple(getattr(result, field) for field in fields)
    return [(k, list(each)) for k, each in
            itertools.groupby(sorted(found, key=key), key)]


# KTAP.  Source: Linux, Documentation/dev-tools/ktap.rst.

def _ktap_line(result, number):
    name = result.case.replace('#', '_')
    failed = result.status in (results.FAIL, results.ERROR, results.XFAIL)
    directive = {results.SKIP: ' # SKIP ' + result.reason,
                 results.XFAIL: ' # XFAIL ' + result.reason,
                 results.ERROR: ' # ERROR ' + result.reason}.get(
                     result.status, '')
    return ('%s %d %s%s' % ('not ok' if failed else 'ok', number, name,
                            ' '.join(directive.splitlines())))


def _ktap_group(found, fields, indent):
    """(lines of a nested test, whether it passed)."""
    lines = ['KTAP version 1']
    ok = True
    if not fields:
        lines.append('1..%d' % len(found))
        for number, result in enumerate(sorted(found, key=results.ident), 1):
            ok &= result.status not in (results.FAIL, results.ERROR)
            if result.status in (results.FAIL, results.XPASS, results.FLAKY):
                lines += ['# ' + line for line in result.reason.splitlines()]
            lines.append(_ktap_line(result, number))
    else:
        below = groups(found, fields[0])
        lines.append('1..%d' % len(below))
        for number, ((name,), each) in enumerate(below, 1):
            inner, passed = _ktap_group(each, fields[1:], '  ')
            lines += ['  # Subtest: ' + name] + inner
            lines.append('%s %d %s' % ('ok' if passed else 'not ok', number,
                                       name))
            ok &= passed
    return [indent + line for line in lines], ok


def ktap(found):
    """The text, nested: kernels contain CPUs, these suites, these cases."""
    lines, _ = _ktap_group(found, ('kernel', 'cpu', 'suite'), '')
    return '\n'.join(lines) + '\n'


# JUnit's XML, as GitLab, Jenkins and GitHub's actions read it

def xml_text(text):
    return _NOT_XML.sub('?', text)


def _junit_case(suite, result, output):
    case = ElementTree.SubElement(
        suite, 'testcase', name=xml_text(result.case),
        classname=xml_text('.'.join((result.kernel, result.cpu,
                                     result.suite))),
        time='%.2f' % result.seconds)
    kind = {results.FAIL: 'failure', results.ERROR: 'error'}.get(
        result.status)
    if result.status in (results.SKIP, results.XFAIL):
        kind = 'skipped'
    if kind:
        ElementTree.SubElement(case, kind, message=xml_text(result.reason))
    # No <properties> here: readers that check the schema (Jenkins' xUnit)
    # refuse them.
    ElementTree.SubElement(case, 'system-out').text = (
        '[counters in use: %s]\n' % ('yes' if result.pmu else 'no') +
        xml_text(output[-SYSTEM_OUT_MAX:]))


def junit(found, qemu, output=lambda result: ''):
    """The XML, as bytes.  qemu names the QEMU that ran the cases;
    output(Result) returns what a case printed.
    """
    top = ElementTree.Element('testsuites', name='kernel-ci')
    for names, each in groups(found, 'kernel', 'cpu', 'suite'):
        counted = results.tally(each)
        suite = ElementTree.SubElement(
            top, 'testsuite', name=xml_text('/'.join(names)),
            tests=str(len(each)),
            failures=str(counted[results.FAIL]),
            errors=str(counted[results.ERROR]),
            skipped=str(counted[results.SKIP] + counted[results.XFAIL]),
            time='%.2f' % sum(r.seconds for r in each))
        properties = ElementTree.SubElement(suite, 'properties')
        for name, value in (('release', each[0].release or ''),
                            ('qemu', qemu),
                            # How many cases used counters
                            ('pmu', str(sum(r.pmu for r in each)))):
            ElementTree.SubElement(properties, 'property', name=name,
                                   value=xml_text(value))
        for result in sorted(each, key=results.ident):
            _junit_case(suite, result, output(result))
    ElementTree.indent(top)
    return ElementTree.tostring(top, encoding='utf-8', xml_declaration=True)


# Markdown, as $GITHUB_STEP_SUMMARY takes it

def _cell(text):
    return ' '.join(text.split()).replace('|', '\\|')


def _code(text):
    """What a test printed, quoted so that Markdown finds no markup in it."""
    return '`%s`' % ' '.join(text.split()).replace('`', "'")


def markdown(found):
    """A summary: a table of all, then the cases that ended unexpectedly."""
    lines = ['# Kernel tests', '', results.in_words(found) + '.', '',
             '| kernel | CPU | suite | passed | of these with counters | '
             'failed | expected to fail | skipped | not run | seconds |',
             '|---' * 10 + '|']
    for names, each in groups(found, 'kernel', 'cpu', 'suite'):
        counted = results.tally(each)
        used = sum(r.pmu for r in each if r.status == results.PASS)
        lines.append('| %s | %d | %d | %d | %d | %d | %d | %.0f |' % (
            ' | '.join(map(_cell, names)),
            counted[results.PASS] + counted[results.XPASS], used,
            counted[results.FAIL],
            counted[results.XFAIL] + counted[results.FLAKY],
            counted[results.SKIP], counted[results.ERROR],
            sum(r.seconds for r in each)))
    for title, statuses in (
            ('Not as expected', (results.FAIL, results.ERROR, results.XPASS)),
            ('Expected failures', (results.XFAIL, results.FLAKY)),
            ('Skipped', (results.SKIP,))):
        listed = [r for r in found if r.status in statuses]
        if listed:
            lines += ['', '## ' + title, '']
            lines += ['- %s: %s%s' % (
                _code(results.ident(r)), _MARKS[r.status],
                ': ' + _code(r.reason) if r.reason else '')
                for r in sorted(listed, key=results.ident)]
    return '\n'.join(lines) + '\n'
