# SPDX-License-Identifier: GPL-2.0-or-later
#
# Tests that perf record with general-purpose events samples the code in which
# the events occur.  Loops of programs/tma.c take turns, so that samples by time
# would be spread over all of them.

import collections

from harness import (
    PINNED, Estimates, Failure, OffEstimate, estimate, in_guest)
from metric_tests import ICELAKE, test

# loops take turns, each turns times; each period-th event is sampled.
# functions is {event: (function of tma-loops.S in which all of them occur,
# number in a turn)}; that is the iterations in the table of tma.c times the
# events of an iteration.  Only -c overrides the periods of perf's own lists.
Recording = collections.namedtuple('Recording', 'loops turns period functions')

# In this order: cycles in which a DIV of 64 bits keeps the divider busy; loads,
# of 16, that miss the L3 in the chase through 128 MiB (FAR of event_tests.py);
# cycles that each of these waits (TMA's constant for local memory, 66.5 ns, at
# 2.8 GHz); micro-ops of a rotation through carry by CL (8 or 9, uops.info);
# cycles of an instruction whose length a prefix changes, and of a switch to the
# legacy decoders (Intel's optimization manual: 3; 1 or 2).
DIV_CYCLES = 10
FAR_LOADS = 13
FAR_CYCLES = 186
ROTATION_UOPS = 8
LCP_CYCLES = 3
SWITCH_CYCLES = 1.5

RECORDINGS = (
    Recording('mispredicts pauses', 400, 2003, {
        'br_misp_retired.all_branches': ('mispredicts', 400 * 0.5),
        'br_misp_retired.cond': ('mispredicts', 400 * 0.5),
        'misc_retired.pause_inst': ('pauses', 230 * 20)}),
    Recording('divide microcode nops', 1000, 200003, {
        'arith.divider_active': ('divide', 80 * 20 * DIV_CYCLES),
        'idq.ms_uops': ('microcode', 120 * 40 * ROTATION_UOPS),
        'inst_retired.nop': ('nops', 20 * 240)}),
    Recording('blocked_forwards nops', 500, 20011, {
        'ld_blocks.store_forward': ('blocked_forwards', 120 * 20)}),
    Recording('l2 locks split_loads split_stores', 300, 20011, {
        'mem_load_retired.l1_miss': ('chase', 300 * 16),
        'mem_load_retired.l2_hit': ('chase', 300 * 16),
        'mem_inst_retired.split_loads': ('split_loads', 230 * 20),
        'mem_inst_retired.split_stores': ('split_stores', 230 * 20),
        'mem_inst_retired.lock_loads': ('locks', 230 * 20)}),
    Recording('dram nops', 500, 20011, {
        'mem_load_retired.l3_miss': ('chase', 300 * FAR_LOADS)}),
    Recording('dram nops', 500, 5000011, {
        'cycle_activity.stalls_l3_miss': ('chase',
                                          300 * FAR_LOADS * FAR_CYCLES),
        'cycle_activity.stalls_mem_any': ('chase',
                                          300 * FAR_LOADS * FAR_CYCLES)}),
    Recording('scalar_fp vector_fp x87', 500, 50021, {
        'fp_arith_inst_retired.scalar': ('scalar_fp', 60 * 80),
        'fp_arith_inst_retired.vector': ('vector_fp', 60 * 80),
        'uops_executed.x87': ('x87', 120 * 40)}),
    Recording('lcp nops', 500, 100003, {
        'ild_stall.lcp': ('lcp', 6000 * LCP_CYCLES)}),
    Recording('dsb_switches nops', 500, 1009, {
        'dsb2mite_switches.penalty_cycles': ('dsb_switches',
                                             2 * 40 * SWITCH_CYCLES)}),
    Recording('decode nops', 500, 50021, {
        'idq.mite_uops': ('decode', 2 * 2001)}),
    # Few turns, as stores to code take QEMU long.
    Recording('clears nops', 40, 211, {
        'machine_clears.smc': ('clears', 500)}),
    Recording('walks nops', 500, 20011, {
        'dtlb_load_misses.walk_completed': ('chase', 300 * 14.2)}),
)
# Factor by which the number of samples may be off: the figures above are rough.
FACTOR = 2
# Recordings that are measured and printed, but fail no test: see
# machine_clears.smc in event_tests.py.
KNOWN_OFF = ('clears nops',)
# Least share of the samples in the right function.  The interrupt is late where
# a block is long, or becomes what it was not.
SHARE = 0.8


def record(s, recording):
    """Run perf record; returns {(event, function): number of samples}."""
    events = ','.join(e + ':u' for e in recording.functions)
    s.fifos()
    s.shell('%s perf record -q --no-bpf-event -N -B -o /tmp/perf.data -c %d '
            '-e %s -D -1 --control fifo:/tmp/ctl/ctl,/tmp/ctl/ack -- '
            '%s --perf /tmp/ctl --seed %d --passes %d 0 %s >/tmp/out 2>&1 || '
            '{ cat /tmp/out; exit 1; }'
            % (PINNED, recording.period, events, in_guest('tma'), s.seed(),
               recording.turns, recording.loops))
    text = s.shell('perf script -i /tmp/perf.data -F event,ip,sym')
    samples = collections.Counter()
    for line in text.splitlines():
        event, _address, function = line.split(None, 2)
        samples[event.split(':')[0], function] += 1
    return samples


def register(recording):
    functions = recording.functions

    @test('perf record: %s where they happen' % ', '.join(functions),
          (ICELAKE,))
    @estimate
    def where(s):
        samples = record(s, recording)
        checks = Estimates()
        for event, (function, each) in functions.items():
            total = sum(n for (e, _), n in samples.items() if e == event)
            if not total:
                raise Failure('no sample of ' + event)
            expected = each * recording.turns / recording.period
            checks.between('samples of ' + event, total, expected / FACTOR,
                           expected * FACTOR)
            checks.between('share of %s in %s' % (event, function),
                           samples[event, function] / (total or 1), SHARE,
                           None)
        try:
            return checks.done()
        except OffEstimate as e:
            if recording.loops not in KNOWN_OFF:
                raise
            return 'known to be off: %s' % e


for each in RECORDINGS:
    register(each)
