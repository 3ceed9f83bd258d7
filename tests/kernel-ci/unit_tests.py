# SPDX-License-Identifier: GPL-2.0-or-later
#
# Tests of the modules of scripts/kernel-ci with known results.

import json
import os
import re
import tempfile
import xml.etree.ElementTree as ElementTree

from common import KERNEL_CI, SOME, Skip, equal, fails, result

import browser
import cells
import expected
import formats
import job
import matrix
import output
import plan
import results
import suites

# Expected failures

def rules(text):
    with tempfile.NamedTemporaryFile('w', suffix='.xfail') as file:
        file.write(text)
        file.flush()
        return expected.Expected([file.name])


def ranges():
    for text, release, inside in (
            ('6.1', '6.1.176', True), ('6.1', '6.12.1', False),
            ('<6.12', '6.11.3', True), ('<6.12', '6.12.0', False),
            ('<6.12', '5.10.2', True), ('<7.0', '6.19.14', True),
            ('>=6.12', '6.12.1', True), ('>=6.12', '7.3.4', True),
            ('>=6.12', '6.1.9', False), ('6.1..6.12', '6.1.0', True),
            ('6.1..6.12', '6.12.117+deb13', True),
            ('6.1..6.12', '6.13', False), ('6.12.3', '6.12.3', True)):
        limits = expected.parse_range(text)
        equal('%s in %s' % (release, text),
              expected.in_range(limits, release), inside)
    for text in ('', 'new', '<', '6.', '<6.1..6.2', '6.1..', '6.12..6.1'):
        equal(text, expected.parse_range(text), None)


def first_rule():
    found = rules('# a comment\n\nfake/a* kernel=6.1 skip old # why\n'
                  'fake/a cpu=spr* flaky not there\nfake/* xfail known\n')
    for case, release, cpu, action in (
            ('a', '6.1.3', 'spr', 'skip'), ('a', '6.12', 'spr', 'flaky'),
            ('a', '6.12', 'icx', 'xfail'), ('b', '6.1.3', 'spr', 'xfail')):
        equal(case, found.rule('fake', case, release, cpu).action, action)
    equal('another suite', found.rule('other', 'a', '6.1', 'icx'), None)
    equal('unused', found.unused(), [])
    equal('a "#" in a reason', rules('fake/a xfail issue #12 # see there\n'
                                     ).rules[0].reason, 'issue #12')


def judged():
    found = rules('fake/* xfail known\n')
    rule = found.rules[0]
    equal('a failure', found.judge(rule, 'fail', 'x'), ('xfail',
                                                        'known (x)'))
    equal('a pass', found.judge(rule, 'pass', '')[0], 'xpass')
    equal('a skip', found.judge(rule, 'skip', 'x'), ('skip', 'x'))
    flaky = rules('fake/* flaky known\n')
    equal('flaky', flaky.judge(flaky.rules[0], 'fail', 'x')[0], 'flaky')
    equal('flaky pass', flaky.judge(flaky.rules[0], 'pass', ''), ('pass', ''))


def bad_rules():
    for text, message in (
            ('fake/a\n', ':1: want xfail, flaky, skip'),
            ('\nfake/a maybe x\n', ":2: want xfail, flaky, skip, long behind "
             "the pattern, not 'maybe'"),
            ('fake/a xfail\n', 'no reason is given'),
            ('fake/a kernel=new xfail x\n', 'kernel= wants VERSION'),
            ('fake/a kernel=6.12..6.1 xfail x\n', 'kernel= wants')):
        fails(expected.ExpectedError, message, rules, text)
    fails(expected.ExpectedError, 'No such file', expected.Expected,
          ['/nowhere'])


# Verdicts

def printed(text):
    """The Output of a case that printed this."""
    out = output.Output()
    out.add(text.encode())
    return out


def perf_verdicts():
    suite = suites.PerfTest()
    case = suites.Case('util-x', ['perf', 'test', '-v', '4'], 1, False)
    for text, wanted in (
            (' 4: util x : Running (1 active)\n 4: util x : Ok\n',
             ('pass', '')),
            (' 4.1: read : Ok\n 4.2: write : FAILED!\n',
             ('fail', 'FAILED: write')),
            (' 4.1: read : Ok\n 4.2: write : Skip (no LBR)\n', ('pass', '')),
            (' 4: util x : Skip (permissions)\n', ('skip', 'permissions')),
            (' 4: util x : Skip\n', ('skip', 'perf says Skip')),
            ('util x subtest 1: Ok\nutil x subtest 2: FAILED!\n',
             ('fail', 'FAILED: util x subtest 2')),
            ('util x: Skip\n', ('skip', 'perf says Skip')),
            ('other: Ok\n', ('fail', 'exit status 0, and perf says '
                             'nothing of how it ended')),
            ('14: other : Ok\n', ('fail', 'exit status 0, and perf says '
                                  'nothing of how it ended'))):
        equal(text, suite.verdict(case, 0, printed(text)), wanted)
    for status, text, wanted in (
            (139, ' 4.1: read : Ok\nSegmentation fault\n', 'perf died'),
            (0, ' 4: a quite different test : Ok\n', 'is another: a quite')):
        ended, reason = suite.verdict(case, status, printed(text))
        assert ended == 'fail' and wanted in reason, (ended, reason)
    twice = case._replace(name='util-x.4')
    equal('of the same name', suite.verdict(twice, 0, printed(
        'util x: Ok\n')), ('pass', ''))


def papi_verdicts():
    suite = suites.PapiTests()
    case = suites.Case('zero', ['zero'], 1, True)
    failed = 'FAILED!!!\nLine # 7 Error: Sum'
    for status, text, wanted in (
            (0, 'PASSED\n', ('pass', '')),
            (0, '\x1b[1;32mPASSED\x1b[0m\n', ('pass', '')),
            (0, 'PASSED with WARNING\n', ('pass', '')),
            (0, 'SKIPPED\n', ('skip', 'it says SKIPPED')),
            (1, failed + '\n', ('fail', 'Line # 7 Error: Sum')),
            (0, failed + '\nPASSED\n', ('fail', 'Line # 7 Error: Sum')),
            (0, 'counted 5\n', ('fail', 'it does not say how it ended')),
            (139, 'PASSED\n', ('fail', 'exit status 139'))):
        equal(text, suite.verdict(case, status, printed(text)), wanted)


def tap_verdicts():
    for status, text, wanted in (
            (0, '', 'pass'), (1, '', 'fail'), (4, '', 'skip'),
            (77, '', 'skip'), (32, '', 'skip'), (137, '', 'fail'),
            (0, 'ok 1 a\nnot ok 2 b\n', 'fail'),
            (0, 'ok 1 a\nnot ok 2 b # TODO later\n', 'pass'),
            (0, 'ok 1 a # SKIP no\n', 'skip'),
            (0, 'ok 1 a # SKIP no\nok 2 b\n', 'pass'),
            (1, 'ok 1 a # SKIP no\n', 'fail'),
            (0, '1..5\nok 1 a\n', 'fail'), (0, '1..1\nok 1 a\n', 'pass'),
            (0, 'Bail out! no\n', 'fail'), (0, '1..0 # SKIP no\n', 'skip'),
            (0, '1..1\n  1..2\n  ok 1 a\n  ok 2 b\nok 1 c', 'pass'),
            (0, '1..1\nok 1 # SKIP no\nok of course\n', 'skip')):
        equal('%d %r' % (status, text),
              suites.by_tap(status, printed(text).tap())[0], wanted)


def tap_of_two_streams():
    """Text on stderr does not break a line of stdout, and a failure is found
    even if the output is long.
    """
    out = output.Output()
    out.add_error(b'progress...')
    out.add(b'not ')
    out.add_error(b' and more')
    out.add(b'ok 2 b\n')
    equal('two streams', suites.by_tap(0, out.tap()),
          ('fail', 'not ok 2 b'))
    out = output.Output()
    for line in b'x' * output.OUTPUT_MAX, b'\nnot ok 1\n':
        out.add(line)
    out.add(b'x' * 3 * output.OUTPUT_MAX)
    assert 'not ok' not in out.text()
    equal('in the middle', suites.by_tap(0, out.tap()), ('fail', 'not ok 1'))


def complaints():
    """Warnings as kernels print them, before and since 6.19."""
    for text, wanted in (
            ('WARNING: CPU: 0 PID: 1 at kernel/events/core.c:1 f+0x1/0x2',
             True),
            ('WARNING: kernel/events/core.c:1 at f+0x1/0x2, CPU#0: perf/1',
             True),
            ('WARNING: possible circular locking dependency detected', True),
            ('kernel BUG at mm/slub.c:1!', True),
            ('Oops: general protection fault, kernel NULL [#1] SMP', True),
            ('general protection fault: 0000 [#1] SMP', True),
            ('INFO: task perf:1 blocked for more than 120 seconds.', True),
            ('rcu: INFO: rcu_preempt self-detected stall on CPU', True),
            ('unchecked MSR access error: RDMSR from 0x329', True),
            ('Uhhuh. NMI received for unknown reason 00 on CPU 0.', True),
            ('perf: interrupt took too long (2506 > 2500)', False),
            ('DEBUG: nothing', False), ('microcode: Updated', False)):
        equal(text, bool(job.COMPLAINTS.search('[    1.0] ' + text)), wanted)


def long_output():
    out = output.Output()
    half = output.OUTPUT_MAX // 2
    out.add(b'b' * half)
    for _ in range(100):
        out.add(b'm' * (half // 10))
    out.add(b'e')
    text = out.text()
    assert len(text) <= 2 * output.OUTPUT_MAX, len(text)
    assert text.startswith('bbb') and text.endswith('me'), text[:9]
    left_out = int(re.search(r'\[(\d+) bytes', text).group(1))
    equal('all bytes', left_out + sum(text.count(c) for c in 'bm')
          + 1 - len(re.findall('b(?=ytes)', text)), half + 1
          + 100 * (half // 10))


# Results

def round_trip():
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, results.RESULTS)
        results.write(reversed(SOME), path)
        equal('results', results.read(directory),
              sorted(SOME, key=results.ident))
        with open(path, 'a', encoding='utf-8') as out:
            out.write('{"kernel": 1}\n')
        fails(ValueError, ':8 is not the result', results.read, path)


def merged():
    one, two = SOME[:4], SOME[3:]
    equal('order', results.merge([one, two]), results.merge([two, one]))
    equal('size', len(results.merge([one, two, one])), len(SOME))
    fails(ValueError, 'is both pass and fail', results.merge,
          [[result('a', 'pass')], [result('a', 'fail')]])


def compared():
    old = [result('a', 'pass'), result('b', 'pass'), result('c', 'fail')]
    new = [result('a', 'pass'), result('b', 'fail'), result('d', 'pass')]
    equal('changes', results.compare(old, new), [
        ('6.12/icx/fake/b', 'pass', 'fail'), ('6.12/icx/fake/c', 'fail', None),
        ('6.12/icx/fake/d', None, 'pass')])
    for before, now, wanted in (
            ('pass', 'fail', True), ('pass', None, True),
            ('pass', 'skip', True), ('skip', 'fail', True),
            (None, 'fail', True), ('fail', 'error', False),
            ('error', 'fail', False), ('fail', None, False),
            ('xfail', 'skip', False), (None, 'pass', False)):
        equal('%s, then %s' % (before, now), results.worse(before, now),
              wanted)


def statuses():
    for cases, strict, wanted in (
            ([result('a', 'pass')], False, 0),
            ([result('a', 'pass'), result('b', 'skip')], False, 0),
            ([result('a', 'pass'), result('b', 'fail')], False, 1),
            ([result('a', 'pass'), result('b', 'xfail')], True, 0),
            ([result('a', 'pass'), result('b', 'xpass')], False, 0),
            ([result('a', 'pass'), result('b', 'xpass')], True, 1),
            ([result('a', 'fail'), result('b', 'error')], False, 3),
            ([result('a', 'pass', pmu=False)], False, 4), ([], False, 4),
            ([result('a', 'skip')], False, 4),
            ([result('a', 'pass'), result('a', 'pass', pmu=False,
                                          kernel='7.3')], False, 4),
            ([result('a', 'pass'), result('a', 'pass', pmu=False,
                                          cpu='icx-nopmu')], False, 0)):
        equal(repr([c.status for c in cases]),
              results.exit_status(cases, strict), wanted)
    equal('a part', results.exit_status([result('a', 'pass', pmu=False)],
                                        whole=False), 0)


# Plans

def cut_and_shard():
    half = plan.JOB_SECONDS // 2 + 5        # two are too long for a job
    with tempfile.TemporaryDirectory() as directory:
        known = plan.Durations(directory + '/d.json')
        known.learn([result(c, 'pass', seconds=s) for c, s in (
            ('long', 3 * plan.JOB_SECONDS), ('half', half),
            ('rest', half - 5))])
        known = plan.Durations(directory + '/d.json')
    equal('learnt', known.expect('fake', 'half'), half)
    equal('unknown', known.expect('fake', 'new'), suites.Suite.case_seconds)
    equal('unknown, rr', known.expect('rr', 'new'),
          suites.SUITES['rr'].case_seconds)
    made = plan.make_jobs(
        [('6.12', cells.parse_cpu('icx'), 'fake',
          ['long', 'half', 'rest', 'new'])], known)
    equal('cuts', [j.cases for j in made], [['long'], ['half'],
                                            ['rest', 'new']])
    cells_ = [('6.12', None, suite, ['c%d' % i for i in range(number)])
              for suite, number in (('s', 1000), ('t', 1), ('u', 4))]
    parts = [plan.shard(cells_, i, 7) for i in range(1, 8)]
    equal('all of them, once', sorted(
        (suite, case) for part in parts for _, _, suite, cases in part
        for case in cases), sorted(
            (suite, case) for _, _, suite, cases in cells_ for case in cases))
    sizes = [sum(len(cell[3]) for cell in part) for part in parts]
    assert max(sizes) - min(sizes) <= 1, sizes


def durations_of_two():
    """Runs that write Durations at the same time, and invalid files."""
    with tempfile.TemporaryDirectory() as directory:
        path = directory + '/d.json'
        for text in '[]', '{"a": []}', 'no':
            with open(path, 'w', encoding='utf-8') as file:
                file.write(text)
            equal(text, plan.Durations(path).expect('fake', 'a'),
                  suites.Suite.case_seconds)
        os.mkdir(path + '.new')
        plan.Durations(path).learn([result('a', 'pass')])
        equal('learnt', plan.Durations(path).expect('fake', 'a'), 1.5)


def plan_on_disk():
    with tempfile.TemporaryDirectory() as directory:
        plan_in(directory)


def plan_in(directory):
    mine = os.path.join(directory, 'mine')
    os.mkdir(mine)
    settings = plan.Settings(2, '3G', '', [('mine', mine)], [], None, 0,
                             False, False)
    job_ = plan.Job('0001', '6.12', 'icx', 'Icelake-Server', 'fake', ['a'])
    made = plan.Plan('abc', {'6.12': 'x'}, settings, [job_],
                     [result('all', 'skip')])
    for other in (plan.Plan('abd', {'6.12': 'x'}, settings, [job_]),
                  plan.Plan('abc', {'6.12': 'y'}, settings, [job_])):
        assert made.hash != other.hash
    with open(os.path.join(mine, 'a'), 'w', encoding='utf-8') as file:
        file.write('changed')
    assert plan.Plan('abc', {'6.12': 'x'}, settings, [job_],
                     [result('all', 'skip')]).hash != made.hash
    made.write(directory)
    again = plan.read(directory)
    equal('hash', again.hash, made.hash)
    equal('job', again.job('0001'), job_)
    fails(plan.PlanError, 'has no job 2', again.job, '2')
    path = os.path.join(directory, plan.PLAN)
    with open(path, encoding='utf-8') as file:
        fields = json.load(file)
    fields['jobs'][0]['cases'].append('b')
    with open(path, 'w', encoding='utf-8') as file:
        json.dump(fields, file)
    fails(plan.PlanError, 'was changed', plan.read, directory)
    with open(path, 'w', encoding='utf-8') as file:
        file.write('[1]')
    fails(plan.PlanError, 'is no plan', plan.read, directory)


def asked():
    """plan.asked_for(): equal for parts of a run, different for runs."""
    with tempfile.TemporaryDirectory() as directory:
        paths = []
        for name, text in ('a', 'one'), ('b', 'one'), ('c', 'two'):
            paths.append(os.path.join(directory, name))
            os.mkdir(paths[-1])
            with open(paths[-1] + '/case', 'w', encoding='utf-8') as file:
                file.write(text)
        plain = plan.Settings(2, '3G', '', [('mine', paths[0])], [], None, 0,
                             False, False)
        icx = cells.parse_cpu('icx')
        wanted = [('6.12', icx, 'mine', ['x', 'y'])]
        first = plan.asked_for('q', {'6.12': 'k'}, plain, wanted, 2)
        elsewhere = plain._replace(from_=[('mine', paths[1])])
        equal('the same files elsewhere', plan.asked_for(
            'q', {'6.12': 'k'}, elsewhere, wanted, 2), first)
        for aspect, other in (
                ('QEMU', ('r', {'6.12': 'k'}, plain, wanted, 2)),
                ('kernels', ('q', {'6.12': 'l'}, plain, wanted, 2)),
                ('settings', ('q', {'6.12': 'k'}, plain._replace(smp=4),
                              wanted, 2)),
                ('files of --from', ('q', {'6.12': 'k'}, plain._replace(
                    from_=[('mine', paths[2])]), wanted, 2)),
                ('kernels, CPUs or cases asked for', (
                    'q', {'6.12': 'k'}, plain,
                    [('6.12', icx, 'mine', ['x', 'z'])], 2)),
                ('number of parts', ('q', {'6.12': 'k'}, plain, wanted, 3))):
            now = plan.asked_for(*other)
            equal(aspect, [a for a in now if now[a] != first[a]], [aspect])


def cpus():
    icx = cells.parse_cpu('icx')
    equal('a model', cells.parse_cpu('EPYC,+pmu').name, 'EPYC_+pmu')
    equal('baseline', cells.without_pmu(icx),
          cells.Cpu('icx-nopmu', 'Icelake-Server'))
    varied = list(cells.vary(icx, [('pmu-rob', ['256', '512'])]))
    equal('names', [c.name for c in varied],
          ['icx+pmu-rob=256', 'icx+pmu-rob=512'])
    equal('a path', [c.name for c in cells.vary(icx, [('x', ['/tmp/f'])])],
          ['icx+x=_tmp_f'])
    equal('model', varied[1].model,
          'Icelake-Server,+perf-metrics,pmu-rob=512')


# Formats

def ktap():
    text = formats.ktap(SOME)
    lines = text.splitlines()
    equal('head', lines[:2], ['KTAP version 1', '1..2'])
    equal('kernels', [line for line in lines if re.match(r'(not )?ok', line)],
          ['not ok 1 6.12', 'ok 2 7.3'])
    for line in ('      ok 1 a', '      not ok 2 b', '      ok 3 c # SKIP why',
                 '      not ok 4 d # XFAIL why', '      ok 5 e',
                 '    not ok 1 fake', '  not ok 2 spr', '      ok 1 g_1'):
        assert line in lines, 'no line %r in\n%s' % (line, text)
    # Each level has a plan and as many results as planned.
    for level in range(4):
        indent = '  ' * level
        planned = sum(int(n) for n in re.findall(
            r'^%s1\.\.(\d+)$' % indent, text, re.MULTILINE))
        equal('level %d' % level, len(re.findall(
            r'^%s(?:not )?ok ' % indent, text, re.MULTILINE)), planned)


def junit():
    top = ElementTree.fromstring(formats.junit(
        SOME, 'abc', lambda r: 'said\0' + 'x' * (1 << 17)))
    equal('suites', [s.get('name') for s in top],
          ['6.12/icx/fake', '6.12/spr/fake', '7.3/icx/fake'])
    first = top[0]
    equal('numbers', [first.get(n) for n in ('tests', 'failures', 'errors',
                                             'skipped', 'time')],
          ['5', '1', '0', '2', '7.50'])
    failure = first.find("testcase[@name='b']/failure")
    equal('message', failure.get('message'), 'got <1> & "2"?')
    equal('cases with counters', first.find(
        "properties/property[@name='pmu']").get('value'), '4')
    said = {case.get('name'): case.find('system-out').text
            for case in first.iterfind('testcase')}
    equal('counters', {name: text.splitlines()[0]
                       for name, text in said.items()},
          {name: '[counters in use: %s]' % ('no' if name == 'c' else 'yes')
           for name in 'abcde'})
    equal('output', len(said['a'].partition('\n')[2]),
          formats.SYSTEM_OUT_MAX)
    # Only elements that the schema of Jenkins' xUnit plugin allows
    equal('elements', {e.tag for e in first.iterfind('testcase/*')},
          {'failure', 'skipped', 'system-out'})
    equal('elements of a suite', {e.tag for e in first},
          {'properties', 'testcase'})


def markdown():
    text = formats.markdown([result('a|b', 'fail', reason='one\ntwo | three'),
                             result('c', 'pass')])
    assert '1 passed, 1 failed, 0 skipped; counters in use in 2.' in text, text
    assert '| 6.12 | icx | fake | 1 | 1 | 1 | 0 | 0 | 0 | 3 |' in text, text
    assert ('- `6.12/icx/fake/a|b`: **FAILED**: `one two | three`' in
            text), text


NASTY = '<script src="http://192.0.2.1/x.js">&"\''
SLOTS = {'retiring': 50, 'bad-speculation': 10, 'frontend-bound': 20,
         'backend-bound': 20}


def page():
    """The page of a run and an earlier one, in a browser."""
    name = browser.missing()
    if name:
        raise Skip('%s is not installed: scripts/install-deps browser' % name)
    now = [result('a', 'pass', topdown=SLOTS), result('b', 'fail',
                                                      reason=NASTY),
           result('c', 'skip', pmu=False), result('a', 'pass', kernel='6.1'),
           result('a', 'xfail', kernel='5.10', cpu=NASTY.replace('/', '')),
           result('a', 'pass', suite='other', kernel='6.1')]
    before = [r._replace(status='pass') for r in now]
    with tempfile.TemporaryDirectory() as directory, \
            browser.Browser() as chromium:
        path = os.path.join(directory, 'page.html')
        with open(path, 'w', encoding='utf-8') as file:
            file.write(matrix.write([('old', before), ('new', now)],
                                    lambda r: 'it said ' + NASTY))
        chromium.open('file://' + path)
        equal('console', chromium.console(), [])
        equal('requests', chromium.requests('file://' + path),
              ['file://' + path])
        for dark in False, True:
            chromium.dark(dark)
            for what, script, wanted in (
                    ('columns, the oldest kernel first',
                     """return [...document.querySelector('.matrix').rows[0]
                        .cells].map(c => c.innerText.split('\\n')[0])""",
                     ['suite', '5.10', '6.1', '6.12']),
                    ('a cell', """return document.querySelector('.matrix')
                        .rows[1].cells[3].innerText.replace(/\\s+/g, ' ')""",
                     '1 failed, 1 passed, 1 with counters'),
                    ('colours of the outcomes differ',
                     """return new Set([...document.querySelectorAll(
                        '.matrix')[0].querySelectorAll('.share span')].map(
                        e => getComputedStyle(e).backgroundColor)).size""",
                     4),
                    ('shares of the slots', """return [...document
                        .querySelectorAll('.matrix')[1].rows[1].cells[3]
                        .querySelectorAll('span')].map(e => e.title)""",
                     ['retiring 50.0 %', 'bad-speculation 10.0 %',
                      'frontend-bound 20.0 %', 'backend-bound 20.0 %']),
                    ('half of the bar', """{ const bar = document
                        .querySelectorAll('.matrix')[1].rows[1].cells[3]
                        .querySelector('.share'); return Math.round(10 *
                        bar.children[0].offsetWidth / bar.offsetWidth) }""",
                     5),
                    ('the failure\'s log', """{ const d = document
                        .querySelector('details'); d.open = true;
                        return d.innerText }""", None),
                    ('runs', """return [...document.querySelectorAll(
                        'table')].filter(t => t.innerText.includes('changed'))
                        .map(t => t.rows.length)""", [3]),
                    ('nothing is wider than the window', """return document
                        .documentElement.scrollWidth <= innerWidth""", True)):
                said = chromium.evaluate(script)
                if wanted is None:
                    assert '6.12/icx/fake/b' in said and (
                        'it said ' + NASTY) in said, said
                else:
                    equal(what, said, wanted)


TESTS = [
    ('ranges of kernels', ranges), ('the first rule counts', first_rule),
    ('what rules say', judged), ('lines that are no rules', bad_rules),
    ('what perf says', perf_verdicts),
    ("what PAPI's tests say", papi_verdicts),
    ('exit status and TAP', tap_verdicts),
    ('TAP of two streams', tap_of_two_streams),
    ('what kernels complain of', complaints), ('long output', long_output),
    ('results on disk', round_trip), ('merging', merged),
    ('comparing', compared), ('exit status', statuses),
    ('jobs and shards', cut_and_shard),
    ('durations of two runs', durations_of_two),
    ('a plan on disk', plan_on_disk), ('what parts have in common', asked),
    ('CPUs', cpus), ('KTAP', ktap), ('JUnit', junit), ('Markdown', markdown),
    ('the page', page)]
