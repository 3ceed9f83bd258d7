# SPDX-License-Identifier: GPL-2.0-or-later
#
# Make a vCPU's timeline from the steps of its recorder.  It has a fixed number
# of bins, so that a page's size does not grow with the run.

import collections
import re

GLOBAL_CTRL = 'IA32_PERF_GLOBAL_CTRL'
FIXED_CTRL = 'IA32_FIXED_CTR_CTRL'
STATUS_RESET = 'IA32_PERF_GLOBAL_STATUS_RESET'
EVTSEL = re.compile(r'IA32_PERFEVTSEL(\d+)$')
EVTSEL_LEVELS = 3 << 16
EVTSEL_ENABLE = 1 << 22
FROZEN = 1 << 59                # CTR_FRZ of IA32_PERF_GLOBAL_STATUS
METRICS = 'metrics'
# The bit of CR3 in which the two page tables of a Linux task differ
TABLES = 1 << 12


def counter_names(count=8, fixed=4):
    return (['fixed%d' % n for n in range(fixed)] + [METRICS] +
            ['pmc%d' % n for n in range(count)])


class Controls:
    """Tracks which counters count, by writes of control registers."""

    def __init__(self, entries):
        self._registers = {}
        self._frozen = False
        for step in entries:
            # The first step with a register tells what it held before.
            if step['kind'] in ('wrmsr', 'rdmsr'):
                self._registers.setdefault(step['register'], step['old'])
        self.counting = self._find()

    def step(self, step):
        """Process a step; does it change which counters count?"""
        if step['kind'] == 'wrmsr':
            if step['register'] == STATUS_RESET:
                self._frozen &= not step['value'] & FROZEN
            self._registers[step['register']] = step['value']
        elif step['kind'] == 'pmi':
            self._frozen |= bool(step['value'] & FROZEN)
        else:
            return False
        before, self.counting = self.counting, self._find()
        return before != self.counting

    def _find(self):
        if self._frozen:
            return frozenset()
        enabled = self._registers.get(GLOBAL_CTRL, 0)
        fixed = self._registers.get(FIXED_CTRL, 0)
        counting = {'fixed%d' % n for n in range(4)
                    if enabled >> (32 + n) & 1 and fixed >> (4 * n) & 3}
        if enabled >> 48 & 1 and 'fixed3' in counting:
            counting.add(METRICS)
        for name, value in self._registers.items():
            match = EVTSEL.match(name)
            if match and enabled >> int(match[1]) & 1 and \
                    value & EVTSEL_ENABLE and value & EVTSEL_LEVELS:
                counting.add('pmc' + match[1])
        return frozenset(counting)


class Lane:
    """What a vCPU did between two clocks.

    counting    {counter: [fraction of the bin in which it counted]}
    spaces      [{CR3: fraction of the bin between two accesses with it}]
    interrupts  {outcome: [number in the bin]}
    overflows, accesses, switches
                [number in the bin]
    first       the clock of the oldest step; nothing is known of times before
    """

    def __init__(self, cpu, entries, begin, end, bins):
        self.cpu, self._begin, self._bins = cpu, begin, bins
        self._size = max(end - begin, 1) / bins
        self.first = entries[0]['clock'] if entries else end
        self.steps = len(entries)
        self.counting = collections.defaultdict(lambda: [0.0] * bins)
        self.spaces = [collections.Counter() for _ in range(bins)]
        self.interrupts = collections.defaultdict(lambda: [0] * bins)
        self.overflows = [0] * bins
        self.accesses = [0] * bins
        self.switches = [0] * bins
        self._fill(entries, end)

    def _fill(self, entries, end):
        controls = Controls(entries)
        since = dict.fromkeys(controls.counting, self.first)
        space, entered = None, self.first
        for step in entries:
            clock, before = step['clock'], controls.counting
            if controls.step(step):
                for name in before - controls.counting:
                    self._spread(self.counting[name], since.pop(name), clock)
                since.update(dict.fromkeys(controls.counting - before, clock))
            if step['cr3'] & ~TABLES != space:
                self._spend(space, entered, clock)
                if space is not None:
                    self._count(self.switches, clock)
                space, entered = step['cr3'] & ~TABLES, clock
            self._event(step)
        for name, start in since.items():
            self._spread(self.counting[name], start, end)
        self._spend(space, entered, end)

    def _event(self, step):
        kind = step['kind']
        if kind == 'pmi':
            self._count(self.interrupts[step['outcome']], step['clock'])
        elif kind == 'overflow':
            self._count(self.overflows, step['clock'])
        else:
            self._count(self.accesses, step['clock'])

    def _count(self, bins, clock):
        at = int((clock - self._begin) / self._size)
        if 0 <= at <= self._bins:
            bins[min(at, self._bins - 1)] += 1

    def _shares(self, start, stop):
        """Yield (bin, share of it) for the time between two clocks."""
        start = max(0.0, (start - self._begin) / self._size)
        stop = min(float(self._bins), (stop - self._begin) / self._size)
        while start < stop:
            at = int(start)
            edge = min(at + 1.0, stop)
            yield at, edge - start
            start = edge

    def _spread(self, bins, start, stop):
        for at, share in self._shares(start, stop):
            bins[at] += share

    def _spend(self, space, start, stop):
        if space is not None:
            for at, share in self._shares(start, stop):
                self.spaces[at][space] += share


def lanes(run, bins):
    """(begin, end, [Lane]) of a run.  begin and end are those of its command,
    if they are known, or else of all steps.
    """
    clocks = [step['clock'] for history in run['histories']
              for step in (history['entries'][:1] + history['entries'][-1:])]
    if len(run['samples']) > 1:
        sampled = [[unit['clock'] for unit in sample]
                   for sample in (run['samples'][0], run['samples'][-1])]
        clocks = [min(sampled[0]), max(sampled[1])]
    if not clocks:
        return 0, 0, []
    begin, end = min(clocks), max(clocks)
    return begin, end, [Lane(h['cpu-index'], h['entries'], begin, end, bins)
                        for h in run['histories']]
