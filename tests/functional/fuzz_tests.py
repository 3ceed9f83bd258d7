# SPDX-License-Identifier: GPL-2.0-or-later
#
# Execute random instructions (programs/fuzz.c) while all kinds of events count:
# no unprivileged process may end or hang QEMU.  run does so for some seconds,
# fuzz for as long as its user asks.

import collections
import random
import re
import time

from boot_tests import booted, test
from harness import Checks, Failure, in_guest
from groups import GROUP
from ledger import LEVEL1, LEVELS, Ledger
import guest

# The commands that count: in the whole system, as the NMI watchdog does, so
# that the kernel is counted, too; in the process; with few or many interrupts.
COUNTED = (
    'perf stat -a -e slots -o /dev/null',
    'perf stat -a -e "%s" -o /dev/null' % GROUP,
    'perf stat -a -e cycles -o /dev/null',
    'perf stat -a -e instructions,branches -o /dev/null',
    'perf stat -e instructions:u,branches:u -o /dev/null',
    'perf stat -a -I 10 -o /dev/null -e cycles,branch-misses,cache-misses,'
    'L1-dcache-load-misses,dTLB-load-misses,L1-icache-load-misses',
    'perf record -q -a -e cycles -c 100003 -o /dev/null',
    'perf record -q -a -e slots -c 1000003 -o /dev/null',
    'perf record -q -a -e instructions:u -c 10007 -o /dev/null',
    'perf record -q -a -e branches:u -c 10007 -o /dev/null',
)

# A way to boot: its name, the number of vCPUs, more text for -cpu, more options
# for QEMU.
Machine = collections.namedtuple('Machine', 'name smp cpu options')

MACHINES = (
    Machine('two vCPUs', 2, '', []),
    Machine('two vCPUs, pmu-sampling=off', 2, ',pmu-sampling=off', []),
    Machine('one vCPU, -icount', 1, '', ['-icount', 'shift=auto,sleep=off']),
)

# Seconds of fuzzing for each machine in "make check"; all takes a minute.
SECONDS = 12
# Seconds after which the next of COUNTED counts
PHASE_SECONDS = 3
# Seconds without an end after which the fuzzer is taken to hang.  A round takes
# seconds at most, but the host may be slow, or QEMU have sanitizers.
SILENT_SECONDS = 240
# The least number of sequences, and the seconds that they may take.  With
# pmu-sampling=off and two vCPUs, 100 of them take 147 s on an idle host; beside
# three busy loops 72 run in 120 s.
SEQUENCES = 40
PATIENCE = 30 * SECONDS

# What sanitizers print
COMPLAINT = re.compile(r'runtime error:|ERROR: AddressSanitizer')


class Progress:
    """Collects what the program prints, to tell which rounds ran last."""

    def __init__(self):
        self._text = bytearray()

    def __call__(self, data):
        self._text += data

    def rounds(self):
        return re.findall(r'^round (\d+)$', self._text.decode(),
                          re.MULTILINE)[-4:]

    def results(self):
        """{name: number}, from the program's summary line."""
        found = re.search(r'^(sequences .*)$', self._text.decode(),
                          re.MULTILINE)
        words = found.group(1).split() if found else []
        return dict(zip(words[::2], map(int, words[1::2])))


def run_phase(session, seed, first, seconds, counted):
    """Fuzz for some seconds under a command of COUNTED; returns results()."""
    command = '%s -- %s --seed %d --from %d --seconds %d' % (
        counted, in_guest('fuzz'), seed, first, seconds)
    progress, errors = Progress(), bytearray()
    try:
        session.guest.start_command(['sh', '-c', command], progress,
                                    errors.extend)
        status = session.guest.wait_command(seconds + SILENT_SECONDS)
    except (guest.GuestDied, guest.GuestTimeout) as e:
        raise type(e)('%s\nseed %d, while it ran: %s\nthe rounds that began '
                      'last: %s' % (e, seed, command,
                                    ' '.join(progress.rounds()))) from None
    if status:
        raise Failure('%s\nseed %d: expected exit status 0, observed %d\n%s'
                      % (command, seed, status, errors.decode()))
    return progress.results()


def check_conserved(checks, ledger, cpus, width):
    """Check that slots are the sum of the classes, and width times the cycles,
    at each privilege level.
    """
    for cpu in range(cpus):
        for level in LEVELS:
            where = {'cpus': [cpu], 'levels': [level]}
            slots = ledger.count('slots', **where)
            checks.equal('CPU %d, %s: sum of the classes' % (cpu, level),
                         sum(ledger.count(c, **where) for c in LEVEL1), slots)
            checks.equal('CPU %d, %s: cycles times width' % (cpu, level),
                         width * ledger.count('cycles', **where), slots)


def fuzz(session, machine, seed, seconds, phase_seconds=PHASE_SECONDS):
    """Fuzz in a guest; returns what ran, as text."""
    source = random.Random(seed)
    totals = collections.Counter()
    start = time.monotonic()
    checks = Checks()
    first = 0
    counted = source.sample(COUNTED, len(COUNTED))
    while time.monotonic() < start + (
            seconds if totals['sequences'] >= SEQUENCES
            else max(seconds, PATIENCE)):
        ran = run_phase(session, seed, first, phase_seconds, counted[0])
        checks.that('sequences' in ran, 'the fuzzer did not say what it ran')
        checks.done()
        totals += collections.Counter(ran)
        counted.append(counted.pop(0))
        first += 100000
    checks.between('sequences', totals['sequences'], SEQUENCES, None)
    pmus = session.guest.qmp('x-query-pmu')
    checks.equal('vCPUs', len(pmus), machine.smp)
    check_conserved(checks, Ledger.read(session.guest), machine.smp,
                    pmus[0]['width'])
    complaints = [line for line in session.guest.errors().splitlines()
                  if COMPLAINT.search(line)]
    checks.equal("sanitizers' complaints", complaints, [])
    checks.done()
    for pmu in pmus:
        totals += collections.Counter(pmu.get('decoder', {}))
    return 'seed %d\n%s' % (seed, ' '.join(
        '%s %d' % item for item in totals.items()))


def fuzz_machine(options, machine, seed=None, seconds=SECONDS, **kwargs):
    """Boot a machine and fuzz in it."""
    seed = random.SystemRandom().getrandbits(31) if seed is None else seed
    with booted(options, ['fuzz'], smp=machine.smp,
                cpu=options.cpu + machine.cpu,
                qemu_opts=machine.options, boot_timeout=600) as session:
        return fuzz(session, machine, seed, seconds, **kwargs)


def add_test(machine):
    @test('random instructions, %s' % machine.name)
    def run(options):
        return fuzz_machine(options, machine)


for each in MACHINES:
    add_test(each)
