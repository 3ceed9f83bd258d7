# SPDX-License-Identifier: GPL-2.0-or-later
#
# Tests of the top-down tree as perf's own metrics show it, on the CPU models
# that have PERF_METRICS: perf prints all of it, parts add up to the whole, and
# perf finds what limits a program.  The formulas and event encodings are perf's
# (pmu-events/arch/x86 of Linux); the programs are loops with one bottleneck by
# construction (programs/tma-loops.S).
#
# More events than counters are multiplexed: each counts for part of the time,
# so perf's numbers are estimates even if the counts are exact.  Hence the
# tolerances, and loops that do the same for a long time.

import collections
import json
import math
import re

from harness import (PINNED, Checks, Estimates, Failure, OffEstimate, estimate,
                     in_guest)

ICELAKE, SAPPHIRE = 'Icelake-Server', 'SapphireRapids'
MODELS = (ICELAKE, SAPPHIRE)

LEVELS = ('TopdownL1', 'TopdownL2', 'TopdownL3', 'TopdownL4')

# Milliseconds of a turn of multiplexing, and seconds to measure a level.  A
# level has up to some sixty groups of events, so each has about fifteen turns.
TURN_MS = 4
SECONDS_ALL = 4
# The same for the children of a node, which are twenty groups at most.  In 4 ms
# a busy host runs little but the tick and the change of events, so that the
# counts showed these instead of the loop.
TURN_NODE_MS = 20
SECONDS_NODE = 3

# A mix of loops in which no denominator of a formula is zero.  All of them run
# once in less than a turn of multiplexing, so that turns do not differ.
MIX = ('l2 blocked_forwards locks memory_operations shared divide scalar_fp '
       'vector_fp x87 nops mispredicts microcode dsb_jumps')

# (node, its parts, which sum to it by perf's formulas).  Left out are shares of
# slots whose children are shares of cycles or instructions.
SUMS = (
    ('tma_backend_bound', ('tma_memory_bound', 'tma_core_bound')),
    ('tma_frontend_bound',
     ('tma_fetch_latency', 'tma_fetch_bandwidth')),
    ('tma_bad_speculation',
     ('tma_branch_mispredicts', 'tma_machine_clears')),
    ('tma_retiring',
     ('tma_light_operations', 'tma_heavy_operations')),
    ('tma_heavy_operations',
     ('tma_microcode_sequencer', 'tma_few_uops_instructions')),
    ('tma_branch_resteers',
     ('tma_mispredicts_resteers', 'tma_clears_resteers',
      'tma_unknown_branches')),
    ('tma_fp_arith',
     ('tma_x87_use', 'tma_fp_scalar', 'tma_fp_vector')),
    ('tma_microcode_sequencer', ('tma_assists', 'tma_cisc')),
)
# As a fraction of the slots
SUM_TOLERANCE = 0.001
# Seconds to measure a node and its parts.  If perf is asked for these alone, it
# computes them from the same counts.  With all four levels at once the counts
# are from different turns, 23 of each: in one of 9 such measurements tma_cisc
# was half of tma_microcode_sequencer, to which it should be equal.
SECONDS_SUM = 2

# Least value of a metric: some are differences of counts of different turns.
LEAST_VALUE = -0.03

# What limits a loop: a metric that is the largest of its siblings, which have
# the same parent.
#   loop     its name in programs/tma.c
#   metric   perf's name
#   share    the metric's least value.  An emulated CPU is so slow that most of
#            what is counted in a turn may be the kernel's and perf's own work.
#   models   that have the metric, or for which the loop is built
Limit = collections.namedtuple('Limit', 'loop metric share models')


def limit(loop, metric, share, models=MODELS):
    return Limit(loop, 'tma_' + metric, share, models)


LIMITS = (
    # Chains of loads, on which everything waits
    limit('l1', 'l1_bound', 0.3),
    limit('l1', 'l1_hit_latency', 0.04),
    limit('l2', 'l2_bound', 0.3),
    limit('l3', 'l3_bound', 0.2),
    limit('l3', 'l3_hit_latency', 0.2, (ICELAKE,)),
    limit('dram', 'dram_bound', 0.3),
    limit('dram', 'mem_latency', 0.3),
    limit('stlb', 'load_stlb_hit', 0.15),
    limit('walks', 'load_stlb_miss', 0.1),
    limit('stream_loads', 'mem_bandwidth', 0.5),
    limit('stores', 'store_bound', 0.2),
    limit('blocked_forwards', 'store_fwd_blk', 0.5),
    limit('locks', 'lock_latency', 0.3),
    limit('split_stores', 'split_stores', 0.2),
    # Execution.
    limit('divide', 'core_bound', 0.5),
    limit('divide', 'divider', 0.3, (ICELAKE,)),
    limit('pauses', 'serializing_operation', 0.5),
    limit('pauses', 'slow_pause', 0.3),
    limit('fences', 'memory_fence', 0.5, (SAPPHIRE,)),
    limit('no_port', 'ports_utilization', 0.25),
    limit('no_port', 'ports_utilized_0', 0.25, (SAPPHIRE,)),
    limit('one_port', 'ports_utilized_1', 0.5),
    limit('two_ports', 'ports_utilized_2', 0.5),
    limit('four_ports', 'ports_utilized_3m', 0.5),
    # Speculation.
    # mispredicts_resteers is the time to fetch again after a misprediction.
    limit('mispredicts', 'branch_mispredicts', 0.3),
    limit('mispredicts', 'mispredicts_resteers', 0.15),
    limit('unknown_branches', 'unknown_branches', 0.3),
    limit('clears', 'machine_clears', 0.2),
    # Code.
    limit('missed_lines', 'fetch_latency', 0.3),
    limit('missed_lines', 'icache_misses', 0.3),
    # As many of the loop's fetches miss the L1I, which on the other core takes
    # longer than the ITLB misses.
    limit('itlb', 'itlb_misses', 0.2, (ICELAKE,)),
    limit('unknown_branches', 'branch_resteers', 0.3),
    limit('microcode', 'ms_switches', 0.2),
    limit('decode', 'mite', 0.2),
    limit('lcp', 'lcp', 0.2),
    limit('dsb_switches', 'dsb_switches', 0.05),
    # What retires.
    limit('microcode', 'heavy_operations', 0.15),
    limit('microcode', 'microcode_sequencer', 0.15),
    limit('microcode', 'cisc', 0.15),
    limit('nops', 'light_operations', 0.4),
    limit('nops', 'other_light_ops', 0.3),
    limit('nops', 'nop_instructions', 0.3),
    limit('memory_operations', 'memory_operations', 0.3),
    limit('branches', 'branch_instructions', 0.1, (ICELAKE,)),
    limit('assists', 'assists', 0.02),
    limit('scalar_fp', 'fp_arith', 0.4),
    limit('scalar_fp', 'fp_scalar', 0.4),
    limit('vector_fp', 'fp_vector', 0.4),
    limit('x87', 'x87_use', 0.05),
)


def model_of(s):
    return s.guest.options.cpu.split(',')[0]


# What perf says

class Catalogue:
    """The metrics and events that perf lists in a guest.

    events: {topic: [core event]}
    """

    # The fields to take from perf list's JSON, in this order.  All of it would
    # be a megabyte, through the serial port.
    FIELDS = ('Unit', 'Topic', 'EventName', 'MetricGroup', 'MetricName')

    def __init__(self, s):
        self._metrics, self.events = {}, {}
        text = s.shell(r"perf list --json 2>/dev/null | "
                       r"grep -E '^\{|^\s*\"(%s)\":'"
                       % '|'.join(self.FIELDS))
        for entry in text.split('{'):
            fields = dict(re.findall(r'"(\w+)": "([^"]*)"', entry))
            # perf lists a metric once for each of its groups.
            if 'MetricName' in fields:
                groups = self._metrics.setdefault(fields['MetricName'], set())
                groups.update(fields.get('MetricGroup', '').split(';'))
            elif 'Topic' in fields and fields.get('Unit') == 'cpu':
                names = self.events.setdefault(fields['Topic'], [])
                names.append(fields['EventName'])

    @classmethod
    def of(cls, s):
        """The Catalogue of a session's guest.  It is kept, as asking for it
        takes a second.
        """
        if not hasattr(s, 'catalogue'):
            s.catalogue = cls(s)
        return s.catalogue

    def group(self, name):
        """The metrics in a group."""
        return {m for m, groups in self._metrics.items() if name in groups}

    def has(self, metric):
        return metric in self._metrics

    def parent(self, metric):
        """The group that has a metric and its siblings."""
        for name in self._metrics[metric]:
            # Its other groups are, for example, tma_L3_group and tma_issueXX.
            if name.endswith('_group') and name[:5] != 'tma_L':
                return name
        raise Failure('%s has no siblings' % metric)


def parse_metrics(text):
    """Parse "perf stat -j": ({metric: value}, [event that did not count]).
    Percentages become fractions.
    """
    metrics, failed = {}, []
    for line in text.splitlines():
        if not line.startswith('{'):
            continue
        entry = json.loads(line)
        if entry.get('counter-value', '').startswith('<'):
            failed.append('%s %s' % (entry['event'], entry['counter-value']))
        words = entry.get('metric-unit', '').split()
        if words and words[-1].startswith('tma_'):
            value = float(entry['metric-value'])
            metrics[words[-1]] = value / 100 if words[0] == '%' else value
    return metrics, failed


def measure(s, groups, loops, seconds, turn_ms=TURN_MS):
    """Measure perf's metrics, given by group or name, while loops of
    programs/tma.c run, but not their preparation; {metric: value}.
    """
    s.fifos()
    s.shell('echo %d >/sys/bus/event_source/devices/cpu/'
            'perf_event_mux_interval_ms' % turn_ms)
    s.shell("%s perf stat -j -M %s -o /tmp/stat -D -1 --control "
            "fifo:/tmp/ctl/ctl,/tmp/ctl/ack -- %s --perf /tmp/ctl --seed %d "
            "%g %s >/tmp/out 2>&1 || { cat /tmp/out /tmp/stat; exit 1; }"
            % (PINNED, ','.join(groups), in_guest('tma'), s.seed(), seconds,
               loops))
    metrics, failed = parse_metrics(s.shell('cat /tmp/stat'))
    if failed:
        # That an event got no counter before the loop ended can be chance, as
        # its value would be: an estimate is off.
        error = OffEstimate if all(
            text.endswith('<not counted>') for text in failed) else Failure
        raise error('events that did not count: ' + ', '.join(failed))
    return metrics


def check_values(checks, metrics):
    for name, value in metrics.items():
        checks.that(math.isfinite(value), '%s: expected a number, observed '
                    '%s' % (name, value))
        if math.isfinite(value):
            checks.between(name, value, LEAST_VALUE, None)


# The tests, for each model: (name, function)

TESTS = {model: [] for model in MODELS}

# Tests for which as much has to run in each turn.  -icount ensures that,
# whatever else the host does.  An instruction takes 16 ns, about as in TCG.
TURNS = {model: [] for model in MODELS}
TURNS_OPTIONS = ('-icount', 'shift=4,sleep=off')


def test(name, models=MODELS, tests=TESTS):
    """Register a function of a Session as a test of some models."""
    def register(function):
        for model in models:
            tests[model].append((name, function))
        return function
    return register


def register_level(level):
    @test('perf stat -M %s: every metric has a value' % level)
    @estimate
    def every_metric(s):
        expected = Catalogue.of(s).group(level)
        metrics = measure(s, [level], MIX, SECONDS_ALL)
        exact, checks = Checks(), Estimates()
        exact.between('metrics that perf lists', len(expected), 4, None)
        exact.equal('metrics without a line', sorted(expected - set(metrics)),
                    [])
        exact.done()
        check_values(checks, metrics)
        return checks.done()


for each in LEVELS:
    register_level(each)


@test('perf stat -M: the parts of each node make up the whole')
@estimate
def sums(s):
    checks = Estimates()
    level1 = Catalogue.of(s).group('TopdownL1')
    metrics = measure(s, ['TopdownL1'], MIX, SECONDS_SUM)
    checks.close('sum of level 1', sum(metrics[m] for m in level1), 1,
                 SUM_TOLERANCE)
    for whole, parts in SUMS:
        metrics = measure(s, [whole, *parts], MIX, SECONDS_SUM)
        checks.close('sum of ' + ', '.join(parts),
                     sum(metrics[m] for m in parts), metrics[whole],
                     SUM_TOLERANCE)
    return checks.done()


# (loop, metric): the metric is the average length, in cycles, of what the loop
# causes, with EDGE counting how often it begins.  Some versions of perf lack
# some of the metrics.
EDGES = (
    ('icache', 'tma_info_frontend_icache_miss_latency'),
    ('dsb_switches', 'tma_info_frontend_dsb_switch_cost'),
    ('unknown_branches', 'tma_info_frontend_unknown_branch_cost'),
)
# Least and largest value: a cycle, and what a load from DRAM takes at most
EDGE_CYCLES = 1, 230


@test('perf stat -M: formulas that divide by edges have a value')
def edges(s):
    checks = Checks()
    found = [row for row in EDGES if Catalogue.of(s).has(row[1])]
    checks.that(found, 'perf has none of these metrics')
    for loop, metric in found:
        # perf divides by zero where no edge was counted.
        value = measure(s, [metric], loop, SECONDS_NODE).get(metric, math.nan)
        checks.between('%s of %s' % (metric, loop), value, *EDGE_CYCLES)
    checks.done()


def check_limits(s, loop, wanted, turns):
    """Fail unless each metric of a loop is the largest of its siblings, and has
    at least its least value; wanted is {metric: least value}.
    """
    catalogue = Catalogue.of(s)
    parents = sorted({catalogue.parent(m) for m in wanted})
    metrics = measure(s, parents, loop, turns.seconds, turns.turn_ms)
    checks = Estimates()
    for metric, share in wanted.items():
        # A metric is NaN if perf divides by what the loop does not do, such as
        # L1D misses.
        siblings = {m: metrics[m]
                    for m in catalogue.group(catalogue.parent(metric))
                    if m in metrics and not math.isnan(metrics[m])}
        checks.that(siblings, '%s: no value' % metric)
        if not siblings:
            continue
        values = ', '.join('%s %.3f' % row for row in sorted(
            siblings.items(), key=lambda row: -row[1]))
        checks.figure(siblings.get(metric, 0) >= share,
                      '%s: expected at least %g, observed %s'
                      % (metric, share, values))
        checks.that(max(siblings, key=siblings.get) == metric,
                    '%s: expected it to be the largest, observed %s'
                    % (metric, values))
    return checks.done()


# Seconds of a measurement and milliseconds of a turn in it, with TURNS_OPTIONS.
# Without -icount, on a busy host, the guest's ticks and perf's work at the end
# of a turn were most of what was counted.
Turns = collections.namedtuple('Turns', 'seconds turn_ms')

SHORT_TURNS = Turns(0.3, TURN_MS)
OTHER_TURNS = {
    # The instructions of these loops take long, in the model or in QEMU, which
    # leaves translated code for them or translates code that was stored to.
    'dram': Turns(0.05, 1),
    'walks': Turns(0.1, 1),
    'pauses': Turns(0.1, 1),
    'assists': Turns(0.1, 1),
    'clears': Turns(0.02, 1),
    # The caches have to fill up first.
    'l3': Turns(0.8, TURN_MS),
    # These loops have some 15,000 blocks.  QEMU translates them anew for the
    # counters of each turn, so turns are few and long.
    'unknown_branches': Turns(1, TURN_NODE_MS),
    'missed_lines': Turns(1, TURN_NODE_MS),
}


def register_limits(loop, models):
    rows = [row for row in LIMITS if row.loop == loop]
    names = [row.metric[4:] for row in rows
             if set(models) <= set(row.models)]

    @test('perf stat -M: %s is %s' % (loop, ', '.join(names)), models, TURNS)
    @estimate
    def limited(s):
        wanted = {row.metric: row.share for row in rows
                  if model_of(s) in row.models}
        return check_limits(s, loop, wanted,
                            OTHER_TURNS.get(loop, SHORT_TURNS))


for each in dict.fromkeys(row.loop for row in LIMITS):
    both = {m for row in LIMITS if row.loop == each for m in row.models}
    for model in MODELS:
        if model in both:
            register_limits(each, (model,))
