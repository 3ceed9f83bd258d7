# SPDX-License-Identifier: GPL-2.0-or-later
#
# The page about a run of kernel-ci: one HTML file without scripts that loads
# nothing.  It shares its style with the page of pmu-report.

import collections

import expected
import page
import results
from page import esc, table

# Characters of a case's output that the page shows, the last ones
LOG_MAX = 6000
CLASSES = ('retiring', 'bad-speculation', 'frontend-bound', 'backend-bound')

# How the page shows a status: its word, and its colour
LOOKS = {
    results.PASS: ('passed', 'good'), results.XPASS: ('passed, though it was '
                                                      'to fail', 'odd'),
    results.FAIL: ('failed', 'bad'), results.ERROR: ('not run', 'bad'),
    results.XFAIL: ('failed, as expected', 'odd'),
    results.FLAKY: ('flaky', 'odd'), results.SKIP: ('skipped', 'idle')}

STYLE = page.STYLE + """
:root { --good: #2e8b62; --odd: #b98a00; --idle: #a9adb2; }
@media (prefers-color-scheme: dark) { :root {
  --good: #4fbd8b; --odd: #d9b93f; --idle: #6b7178; } }
.matrix td { min-width: 132px; }
.share { display: flex; height: 9px; margin: 3px 0; background: var(--track); }
.share > * { display: block; min-width: 2px; }
.share .c { min-width: 0; }
.c-good { background: var(--good); } .c-odd { background: var(--odd); }
.c-idle { background: var(--idle); } .c-bad { background: var(--bad); }
"""


def columns(found):
    """[(kernel, CPU)], the oldest kernel first."""
    release = {r.kernel: expected.version(r.release or '') for r in found}
    return sorted({(r.kernel, r.cpu) for r in found},
                  key=lambda c: (release[c[0]], c))


def share(parts):
    """A bar of (CSS class, share, title)."""
    return '<div class="share">%s</div>' % ''.join(
        '<span class="%s" style="flex:%d 0 0" title="%s"></span>'
        % (name, amount, esc(title)) for name, amount, title in parts
        if amount)


def outcome(cases):
    """A cell of the matrix: how the cases of a suite ended."""
    if not cases:
        return '<span class="soft">-</span>'
    counted = results.tally(cases)
    bad = counted[results.FAIL] + counted[results.ERROR]
    passed = [r for r in cases if r.status in (results.PASS, results.XPASS)]
    used = sum(r.pmu for r in passed)
    words = '%d passed' % len(passed)
    if used:
        words += ', %d with counters' % used
    return '%s%s<br><span class="soft">%s</span>' % (
        share(('c-' + LOOKS[s][1], counted[s],
               '%d %s' % (counted[s], LOOKS[s][0]))
              for s in results.STATUSES),
        '<span class="bad">%d failed</span>, ' % bad if bad else '', words)


def topdown(cases):
    """A cell: where the slots of these cases went while counters counted."""
    slots = {name: sum(r.topdown.get(name, 0) for r in cases)
             for name in CLASSES}
    whole = sum(slots.values())
    if not whole:
        return '<span class="soft">no slots were counted</span>'
    return share(('c c-' + name, 1000 * slots[name] / whole, '%s %.1f %%' % (
        name, 100 * slots[name] / whole)) for name in CLASSES) + ' '.join(
            '%.0f' % (100 * slots[name] / whole) for name in CLASSES)


def by_suite(found, cell):
    """A table: a row for each suite, a column for each kernel and CPU."""
    heads = columns(found)
    suites = sorted({r.suite for r in found})
    return table(
        ['suite'] + [esc(k) + '<br>' + esc(c) for k, c in heads],
        [[esc(suite)] + [cell([r for r in found if r.suite == suite and
                               (r.kernel, r.cpu) == head]) for head in heads]
         for suite in suites]).replace('<table>', '<table class="matrix">', 1)


def listing(found, statuses, output):
    """The cases that ended with one of the statuses, with what they printed."""
    parts = []
    for result in sorted(found, key=results.ident):
        if result.status in statuses:
            said = output(result)[-LOG_MAX:].strip()
            parts.append(
                '<details class="case"><summary><code>%s</code> '
                '<span class="%s">%s</span> <span class="soft">%s</span>'
                '</summary><pre>%s</pre></details>' % (
                    esc(results.ident(result)),
                    'bad' if LOOKS[result.status][1] == 'bad' else 'note',
                    LOOKS[result.status][0], esc(result.reason),
                    esc(said or 'it printed nothing')))
    return ''.join(parts) or '<p class="soft">none</p>'


def trend(runs):
    """A table of runs, [(name, Results)], the newest last."""
    rows, before = [], None
    for name, found in runs:
        counted = results.tally(found)
        changes = [] if before is None else results.compare(before, found)
        rows.append([
            esc(name), counted[results.PASS] + counted[results.XPASS],
            sum(r.pmu for r in found),
            counted[results.FAIL] + counted[results.ERROR],
            counted[results.XFAIL] + counted[results.FLAKY],
            counted[results.SKIP],
            '<br>'.join('<code>%s</code> %s → %s' % (
                esc(ident), esc(old or 'not there'), esc(new or 'not there'))
                for ident, old, new in changes[:20]) +
            ('<br>and %d more' % (len(changes) - 20)
             if len(changes) > 20 else '')])
        before = found
    return table(['run', 'passed', 'counters in use', 'failed',
                  'failed as expected', 'skipped', 'what changed'], rows,
                 numbers=range(1, 6))


def write(runs, output):
    """The page about the last of the runs, [(name, Results)], the newest last.
    output(Result) returns what a case of that run printed.
    """
    name, found = runs[-1]
    bad = (results.FAIL, results.ERROR, results.XPASS)
    words = collections.defaultdict(list)
    for word, look in LOOKS.values():
        words[look].append(word)
    key = ' '.join('<span class="key c-%s"></span>%s' % (
        look, esc(' or '.join(each))) for look, each in words.items())
    classes = ' '.join('<span class="key c-%s"></span>%s' % (c, c)
                       for c in CLASSES)
    parts = [
        page.HEAD % ('Kernel tests: ' + esc(name), STYLE),
        '<h1>Kernel tests: %s</h1><p>%s.</p>' % (
            esc(name), esc(results.in_words(found))),
        '<h2>Suites and kernels</h2><p class="soft">%s</p>' % key,
        by_suite(found, outcome),
        '<h2>Not as expected</h2>', listing(found, bad, output),
        '<h2>Expected failures</h2>',
        listing(found, (results.XFAIL, results.FLAKY), output),
        '<h2>TopDown</h2><p class="soft">Where the slots went while counters '
        'counted, in per cent, by QEMU\'s ledger. %s</p>' % classes,
        by_suite(found, topdown)]
    if len(runs) > 1:
        parts += ['<h2>Runs</h2>', trend(runs)]
    skipped = [r for r in found if r.status == results.SKIP]
    parts += ['<h2>Skipped</h2>', table(['case', 'why'], [
        ['<code>%s</code>' % esc(results.ident(r)), esc(r.reason)]
        for r in sorted(skipped, key=results.ident)]), '</body></html>\n']
    return ''.join(parts)
