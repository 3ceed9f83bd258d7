# SPDX-License-Identifier: GPL-2.0-or-later
#
# The page about a run: one HTML file without scripts that loads nothing.  Its
# Content-Security-Policy makes browsers hold it to that.

import html
import re

import lanes
import runs

BINS = 960
LEFT = 140                      # room for names of rows
WIDTH = LEFT + BINS + 10
ROW = 14
# Shades in which a counter's share of a bin is drawn.
SHADES = 8
SPACES = 7                      # address spaces with a colour of their own
# Hits and steps that are listed; the page says if more are left out.
MAX_HITS = 200
MAX_STEPS = 32

STYLE = """
:root { color-scheme: light dark;
  --page: #fff; --text: #1a1c1f; --soft: #5c636b; --line: #d5d9de;
  --track: #f1f3f5; --count: #2f6fb0; --pmi: #7a4fb0; --bad: #c2341d;
  --known: #8a6d00; --fault: #b0307c;
  --retiring: #2e8b62; --bad-speculation: #cf5b2e;
  --frontend-bound: #4a9fd4; --backend-bound: #d99a1c;
  --s0: #4e79a7; --s1: #f28e2b; --s2: #59a14f; --s3: #b07aa1;
  --s4: #9c755f; --s5: #edc948; --s6: #76b7b2; --s7: #a9adb2; }
@media (prefers-color-scheme: dark) { :root {
  --page: #15181c; --text: #e3e6e9; --soft: #9aa3ad; --line: #363c43;
  --track: #1f2429; --count: #69a9ea; --pmi: #b894ec; --bad: #ff7a63;
  --known: #d9b93f; --fault: #f07cc0;
  --retiring: #4fbd8b; --bad-speculation: #f08258;
  --frontend-bound: #6cbbec; --backend-bound: #e8b64c; --s7: #6b7178; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 20px 24px 60px; max-width: 1240px;
  background: var(--page); color: var(--text);
  font: 14px/1.45 system-ui, sans-serif; }
h1 { font-size: 20px; margin: 0 0 4px; }
h2 { font-size: 16px; margin: 30px 0 8px; }
h3 { font-size: 14px; margin: 18px 0 4px; }
p { margin: 4px 0; max-width: 95ch; }
.soft, figcaption { color: var(--soft); }
code, pre, .mono { font: 12px/1.4 ui-monospace, monospace; }
pre { margin: 6px 0; padding: 8px 10px; background: var(--track);
  overflow-x: auto; }
table { border-collapse: collapse; margin: 6px 0; }
th, td { text-align: left; vertical-align: top; padding: 3px 14px 3px 0;
  border-bottom: 1px solid var(--line); }
th { font-weight: 600; color: var(--soft); }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }
details { margin: 6px 0; } summary { cursor: pointer; }
figure { margin: 8px 0; }
rect { shape-rendering: crispEdges; }
svg { display: block; width: 100%; height: auto; }
svg text { font: 11px system-ui, sans-serif; fill: var(--text); }
svg text.soft { fill: var(--soft); }
.track { fill: var(--track); } .axis { stroke: var(--line); }
.on { fill: var(--count); } .plain { fill: var(--soft); }
.pmi { fill: var(--pmi); }
.lost, .hit { fill: var(--bad); }
.known { fill: var(--page); stroke: var(--known); stroke-width: 1.5; }
.fault { fill: var(--fault); } .unknown { fill: var(--line); opacity: .6; }
.bad { color: var(--bad); font-weight: 600; } .note { color: var(--known); }
.two { display: flex; flex-wrap: wrap; gap: 0 40px; align-items: flex-start; }
.two > * { flex: 1 1 480px; min-width: 0; }
.two > .tree { flex: 0 1 440px; }
.key { display: inline-block; width: 10px; height: 10px; margin: 0 4px 0 12px;
  border-radius: 2px; }
.bar { height: 9px; min-width: 1px; border-radius: 1px; }
""" + ''.join('.c-%s { fill: var(--%s); background: var(--%s); }\n'
              % (name, name, name) for name in
              ['retiring', 'bad-speculation', 'frontend-bound',
               'backend-bound'] + ['s%d' % n for n in range(SPACES + 1)])

HEAD = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<meta name="viewport" content="width=device-width">
<link rel="icon" href="data:,">
<title>%s</title><style>%s</style></head><body>
"""


def esc(value):
    return html.escape(str(value), quote=True)


def slug(name):
    return name.lower().replace(' ', '-')


class Clock:
    """Formats clocks, relative to the beginning of the timeline, for users."""

    def __init__(self, unit, begin, end):
        self._begin, self.base = begin, unit
        scales = ([(1e9, 's'), (1e6, 'ms'), (1e3, 'µs'), (1, 'ns')]
                  if unit == 'nanoseconds' else
                  [(1e9, 'G instr.'), (1e6, 'M instr.'), (1e3, 'k instr.'),
                   (1, 'instr.')])
        self._scale, self.unit = next(
            (s for s in scales if end - begin >= 2 * s[0]), scales[-1])

    def number(self, clock):
        return '%.6g' % round((clock - self._begin) / self._scale, 3)

    def __call__(self, clock):
        text = '%s %s' % (self.number(abs(clock - self._begin) + self._begin),
                          self.unit)
        return text if clock >= self._begin else text + ' before the timeline'


def table(head, rows, numbers=()):
    """An HTML table; its cells have to be HTML."""
    def line(tag, cells):
        return '<tr>%s</tr>' % ''.join(
            '<%s%s>%s</%s>' % (tag, ' class="n"' if at in numbers else '',
                               cell, tag) for at, cell in enumerate(cells))

    return '<table>%s%s</table>' % (line('th', head), ''.join(
        line('td', row) for row in rows))


def nice_step(span):
    """The distance of 4 to 10 marks in a span, 1, 2 or 5 times 10 ** n."""
    step = 10 ** max(0, len(str(span)) - 2)
    while span // step > 9:
        step = step * 5 // 2 if str(step)[0] == '2' else step * 2
    return step


class Drawing:
    """Draws rows of a timeline, from the top down."""

    def __init__(self):
        self._parts, self.height = [], 0

    def text(self, x, text, css='', anchor='start'):
        self._parts.append(
            '<text x="%g" y="%g" class="%s" text-anchor="%s">%s</text>'
            % (x, self.height + ROW - 4, css, anchor, esc(text)))

    def rect(self, at, width, top, height, css, title='', opacity=1):
        self._parts.append(
            '<rect x="%g" y="%g" width="%g" height="%g" class="%s"%s>%s</rect>'
            % (LEFT + at, self.height + top, width, height, css,
               '' if opacity == 1 else ' opacity="%g"' % opacity,
               '<title>%s</title>' % esc(title) if title else ''))

    def mark(self, at, css, title):
        x, y = LEFT + at, self.height + 2
        self._parts.append(
            '<path d="M%g %gl5 9h-10z" class="%s"><title>%s</title></path>'
            % (x, y, css, esc(title)))

    def track(self, name, title=''):
        self.text(LEFT - 8, name, 'soft', 'end')
        self.rect(0, BINS, 1, ROW - 2, 'track', title)

    def next(self, height=ROW):
        self.height += height

    def axis(self, clock, begin, end):
        step = nice_step(end - begin)
        for at in range(0, end - begin, step):
            x = LEFT + BINS * at / (end - begin)
            self._parts.append('<line x1="%g" x2="%g" y1="0" y2="%g" '
                               'class="axis"/>' % (x, x, self.height))
            if x < WIDTH - 40:
                self.text(x, clock(begin + at), 'soft',
                          'middle' if at else 'start')
        self.next()

    def svg(self, label):
        return '<svg viewBox="0 0 %d %d" role="img" aria-label="%s">%s</svg>' \
            % (WIDTH, self.height, esc(label), ''.join(self._parts))


def stretches(values):
    """Yield (first, length, value) of runs of equal values other than 0 and
    None.
    """
    start = 0
    for at in range(1, len(values) + 1):
        if at == len(values) or values[at] != values[start]:
            if values[start]:
                yield start, at - start, values[start]
            start = at


def draw_counter(drawing, name, shares):
    drawing.track(name)
    shades = [-int(-min(share, 1) * SHADES // 1) for share in shares]
    for at, length, shade in stretches(shades):
        percent = 100 * sum(shares[at:at + length]) / length
        drawing.rect(at, length, 2, ROW - 4, 'on', '%s counts %.3g %% of this '
                     'time' % (name, percent), shade / SHADES)
    drawing.next()


def draw_counts(drawing, name, bins, css):
    """Draw how often something happened in each bin, as bars, with a label at
    the highest.
    """
    most = max(bins)
    drawing.track('%s, %d' % (name, sum(bins)))
    for at, length, count in stretches(bins):
        height = max(2, (ROW - 4) * count / most)
        drawing.rect(at, length, ROW - 2 - height, height, css,
                     '%d in 1/%d of the time' % (count, BINS))
    drawing.next()


def colours_of(all_lanes):
    """CSS classes for the address spaces in which the most time was spent."""
    spent = {}
    for lane in all_lanes:
        for spaces in lane.spaces:
            for space, share in spaces.items():
                spent[space] = spent.get(space, 0) + share
    order = sorted(spent, key=lambda space: (-spent[space], space))
    return {space: 'c-s%d' % min(at, SPACES) for at, space in enumerate(order)}


def draw_spaces(drawing, lane, colours):
    drawing.track('task (CR3)')
    main = [max(sorted(s), key=s.get) if s else None for s in lane.spaces]
    for at, length, space in stretches(main):
        drawing.rect(at, length, 2, ROW - 4, colours[space],
                     'mostly CR3 0x%x' % space)
    drawing.next()


def draw_marks(drawing, run, cpu, begin, end, names):
    drawing.track('hits, faults')

    def place(clock):
        return min(max(clock - begin, 0) / max(end - begin, 1), 1) * BINS

    for rule, site in reversed(runs.hits(run)):
        if site['cpu'] == cpu:
            known = 'suppressed' in site
            drawing.mark(place(site['clock']), 'known' if known else 'hit',
                         '%s%s, first at %s: %s' % (
                             rule['rule'], ' (known)' if known else '',
                             names(site['rip']), rule['text']))
    for fault in run['faults']:
        if fault['fired'] and fault.get('cpu', cpu) == cpu:
            drawing.mark(place(fault['clock']), 'fault',
                         'fault %s (%s), last fired' % (fault['id'],
                                                        fault['kind']))
    drawing.next()


def draw_lane(drawing, run, lane, span, names, colours):
    begin, end = span
    drawing.next(6)
    drawing.text(0, 'CPU %d' % lane.cpu)
    drawing.text(LEFT, '%d steps' % lane.steps, 'soft')
    drawing.next()
    draw_marks(drawing, run, lane.cpu, begin, end, names)
    top = drawing.height
    for name in lanes.counter_names():
        if name in lane.counting and any(lane.counting[name]):
            draw_counter(drawing, name, lane.counting[name])
    for outcome, bins in sorted(lane.interrupts.items()):
        if sum(bins):
            draw_counts(drawing, 'PMIs ' + outcome, bins,
                        'pmi' if outcome == 'delivered' else 'lost')
    draw_counts(drawing, 'accesses', lane.accesses, 'plain')
    if any(lane.switches):
        draw_counts(drawing, 'task switches', lane.switches, 'plain')
    draw_spaces(drawing, lane, colours)
    if lane.first > begin:
        width = min(BINS, BINS * (lane.first - begin) / max(end - begin, 1))
        if width >= 1:
            drawing.rect(0, width, top - drawing.height,
                         drawing.height - top, 'unknown',
                         'before the first step that is remembered')


def timeline(run, clock, span, all_lanes, names):
    if not all_lanes:
        return '<p class="soft">The run has no steps: pmu-recorder was off, ' \
            'or x-query-pmu-history was not asked.</p>'
    drawing, colours = Drawing(), colours_of(all_lanes)
    for lane in all_lanes:
        draw_lane(drawing, run, lane, span, names, colours)
    drawing.axis(clock, *span)
    return '<figure>%s<figcaption>%s</figcaption></figure>' % (
        drawing.svg('Timeline'),
        'Counters: stronger where they count for more of the time. '
        'Triangles: the first hit of a rule at an address (hollow: known), '
        'and the last firing of a fault. Tasks and their switches as the '
        "driver's accesses show them: between these, others can have run. "
        'Grey: before the oldest step that was remembered. Hover for '
        'figures.')


def over_time(run, clock, span):
    """Draw TopDown between samples, as shares of the slots."""
    begin, end = span
    if len(run['samples']) < 2:
        return ''
    drawing = Drawing()
    height = 90
    samples = run['samples']
    step = -(-len(samples) // BINS)
    samples = samples[::step] + ([samples[-1]] if (len(samples) - 1) % step
                                 else [])
    drawing.text(LEFT - 8, 'share of slots', 'soft', 'end')
    drawing.rect(0, BINS, 0, height, 'track')
    for first, last in zip(samples, samples[1:]):
        shares = runs.fractions(runs.between(first, last))
        at, to = (BINS * (max(unit['clock'] for unit in sample) - begin) /
                  max(end - begin, 1) for sample in (first, last))
        at, to = max(at, 0), min(to, BINS)
        top = height
        for name in runs.LEVEL1 if shares and to > at else ():
            top -= height * shares[name]
            drawing.rect(at, to - at, top, height * shares[name],
                         'c-' + slug(name),
                         '%s %.1f %%' % (name, 100 * shares[name]))
    drawing.next(height)
    drawing.axis(clock, begin, end)
    return '<figure>%s<figcaption>%s all vCPUs, from the ledger.' \
        '</figcaption></figure>' % (drawing.svg('TopDown over time'), ''.join(
            '<span class="key c-%s"></span>%s' % (slug(name), name)
            for name in runs.LEVEL1) + ':')


def percent(value):
    return '–' if value is None else '%.1f %%' % (100 * value)


def tree(run):
    """The ledger's TopDown tree beside perf's figures."""
    if len(run['samples']) < 2:
        return '<p class="soft">The run has no samples of the ledger.</p>'
    first, last = run['samples'][0], run['samples'][-1]
    everything = runs.fractions(runs.between(first, last))
    user = runs.fractions(runs.between(first, last, (1,)))
    perf = runs.perf_fractions(run['output'])

    def row(name, parent, indent):
        share = everything.get(name)
        return ('&emsp;' * indent + name,
                '<div class="bar c-%s" style="width:%.1fpx"></div>'
                % (slug(parent), 160 * (share or 0)),
                percent(share), percent(user.get(name)),
                percent(perf.get(name)))

    rows = []
    for name, children in runs.TREE.items():
        rows.append(row(name, name, 0))
        rows += [row(child, name, 1) for child, _ in children]
    text = ('<p class="soft">The ledger is exact and counts all vCPUs while '
            'the command ran; perf counts what it was asked for, and its '
            'formulas take recoveries for backend bound.</p>')
    said = '<pre>%s</pre>' % esc(run['output'][-4000:].strip('\n')) \
        if run['output'].strip() else '<p class="soft">nothing</p>'
    return '<div class="two"><div class="tree">%s%s</div><div>' \
        '<h3>What the command printed</h3>%s</div></div>' % (
            table(('', '', 'ledger', 'user', 'perf'), rows, (2, 3, 4)), text,
            said)


def step_line(step, hit, names):
    """A step's line of HTML: how long before the hit, and the function."""
    match = re.match(r'(\d+) (0x[0-9a-f]+) (cpl .*)', step)
    if not match:
        return esc(step)
    return '%15s  %s' % (format(int(match[1]) - hit, '+,d'), esc(
        '%-32s %s' % (names(match[2]), match[3])))


def hit_details(rule, site, clock, names):
    known = 'suppressed' in site
    steps = site['history'][-MAX_STEPS:]
    return '<details%s><summary><b class="%s">%s</b> (%s) at ' \
        '<code>%s</code>, %d times: %s</summary><p>First on CPU %d at %s, ' \
        'CPL %d, CR3 %s: %s %s.%s</p><p class="soft">The steps that led to ' \
        'it, and %s before it:</p>' \
        '<pre>%s</pre></details>' % (
            '' if known else ' open', 'note' if known else 'bad',
            esc(rule['rule']), esc(rule['severity']), esc(names(site['rip'])),
            site['count'], esc(rule['text']), site['cpu'],
            esc(clock(site['clock'])), site['cpl'], esc(site['cr3']),
            esc(site.get('register', 'value')), esc(site['value']),
            ' Known: %s.' % esc(site['suppressed']) if known else '',
            clock.base,
            '\n'.join(step_line(step, site['clock'], names)
                      for step in steps))


def hits(run, clock, names):
    found = runs.hits(run)
    if not run['report']:
        return '<p class="soft">The run has no report of the checker.</p>'
    if not found:
        return '<p>No rule was broken.</p>'
    text = ''.join(hit_details(rule, site, clock, names)
                   for rule, site in found[:MAX_HITS])
    if len(found) > MAX_HITS:
        text += '<p class="bad">%d more addresses are left out.</p>' % (
            len(found) - MAX_HITS)
    return text


def tables(run, clock, names):
    parts = []
    accesses = run['report'].get('accesses', {})
    columns = ('rdmsr', 'wrmsr', 'rdpmc', 'gp')
    if accesses:
        rows = [['<code>%s</code>' % esc(name)] +
                [str(uses[c] or '') for c in columns]
                for name, uses in sorted(accesses.items(), key=lambda item:
                                         (-sum(item[1].values()), item[0]))]
        parts.append('<div><h2>Accesses</h2>%s</div>' % table(
            ('register', 'RDMSR', 'WRMSR', 'RDPMC', '#GP'), rows,
            (1, 2, 3, 4)))
    second = ''
    interrupts = run['report'].get('interrupts', {})
    if interrupts:
        second += '<h2>Interrupts</h2>' + table(
            ('became', 'count'), [(esc(name), str(count)) for name, count in
                                  interrupts.items()], (1,))
    if run['faults']:
        second += '<h2>Faults</h2>' + table(
            ('fault', 'kind', 'fired', 'last', 'at', 'added'),
            [(esc(f['id']), esc(f['kind']), str(f['fired']),
              esc(clock(f['clock'])) if f['fired'] else '',
              '<code>%s</code>' % esc(names(hex(f['rip'])))
              if f['fired'] else '', str(f['added'] or ''))
             for f in run['faults']], (2, 5))
    return '<div class="two">%s<div>%s</div></div>' % (''.join(parts), second)


def summary(run):
    """A line of text that sums up the run."""
    found = [site for _, site in runs.hits(run)]
    news = [site for site in found if 'suppressed' not in site]
    if not run['report']:
        return 'not checked'
    if not news:
        text = 'no rule broken'
    else:
        text = '<span class="bad">%d hit%s at %d address%s</span>' % (
            sum(s['count'] for s in news),
            '' if sum(s['count'] for s in news) == 1 else 's', len(news),
            '' if len(news) == 1 else 'es')
    known = sum(s['count'] for s in found if 'suppressed' in s)
    return text + (', <span class="note">%d known</span>' % known
                   if known else '')


def page(run, symbols=None):
    """The page as text.  symbols(address) returns a name or None; it replaces
    the names that the run has.
    """
    begin, end, all_lanes = lanes.lanes(run, BINS)
    clock = Clock(runs.clock_unit(run), begin, end)

    def names(address):
        name = (symbols(int(address, 16)) if symbols else
                run['symbols'].get(address))
        return name or address

    title = 'PMU: ' + (run['command'] or 'a run')
    parts = [HEAD % (esc(title), STYLE), '<h1>%s</h1><p>%s</p>' % (
        esc(title), ' · '.join(part for part in (
            summary(run), esc(run['kernel']),
            'exit status %s' % run['status']
            if run['status'] is not None else '',
            esc(run['report'].get('version', ''))) if part))]
    parts += ['<h2>Timeline</h2>',
              timeline(run, clock, (begin, end), all_lanes, names),
              over_time(run, clock, (begin, end)),
              '<h2>TopDown</h2>', tree(run),
              '<h2>Broken rules</h2>', hits(run, clock, names),
              tables(run, clock, names)]
    command = run['report'].get('command-line')
    if command:
        parts.append('<details><summary>QEMU</summary><pre>%s</pre></details>'
                     % esc(' '.join(command)))
    parts.append('</body></html>\n')
    return '\n'.join(part for part in parts if part)
