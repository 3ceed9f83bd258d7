# SPDX-License-Identifier: GPL-2.0-or-later
#
# The workloads of the kernel's driver, named by a letter as in mutants.py.  A
# workload is a function of a Session and the number of vCPUs.  It returns text
# if counts are wrong.  The Session's "strict" says whether every command has to
# succeed.

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), 'functional'))

# The path above finds them.
from harness import PINNED, TIMEOUT, in_guest  # noqa: E402
from groups import GROUP, GROUP_USER, group_counts  # noqa: E402
from ledger import Recorder  # noqa: E402

WORKLOADS = {}


def workload(letter, what, vcpus=1):
    def register(function):
        function.what, function.vcpus = what, vcpus
        WORKLOADS[letter] = function
        return function
    return register


def shell(session, command):
    """Run a command.  Unless the Session is strict, perf may fail, as it may
    with a mistake in the driver.
    """
    if session.strict:
        return session.shell(command)
    return session.guest.run(command, TIMEOUT).stdout


def last_cpu(smp):
    return 'taskset %x' % (1 << (smp - 1))


@workload('T', 'two pinned TopDown groups whose tasks take turns on a CPU, '
          'read while they run; and a third, of all CPUs')
def topdown(session, smp):
    # perf reads counters of another CPU, if there is one, or system-wide ones.
    pinned = GROUP + ':uD'
    task = ('perf stat -I 20 -o /tmp/stat%%d -e "%s" -- %s workload %%s '
            '>/dev/null & ' % (pinned, last_cpu(smp)))
    shell(session, task % (1, 'multiply 30000') + task % (2, 'nops 30000') +
          'wait; perf stat -a -I 20 -o /tmp/stat -e "%s:D" -- '
          'workload branches 100000' % GROUP)


@workload('R', 'two events, sampled')
def record(session, smp):
    shell(session, '%s perf record -q -o /tmp/perf.data -e '
          'instructions,branches -c 20011 -- workload branches 60000'
          % last_cpu(smp))


@workload('S', 'a group with slots, read at each sample of instructions')
def sampled_group(session, smp):
    for period, iterations in (20011, 60), (400009, 300):
        shell(session, '%s %s %d %d' % (last_cpu(smp), in_guest('sampled'),
                                        period, iterations))


@workload('U', "RDPMC of what is another task's")
def residue(session, smp):
    return shell(session, '%s %d 2>&1' % (in_guest('residue'), smp - 1))


@workload('H', 'a CPU that goes and comes while events count', vcpus=2)
def hotplug(session, smp):
    switch = ('for i in 1 2; do echo 0 >%s; sleep 0.1; echo 1 >%s; sleep 0.1; '
              'done' % (('/sys/devices/system/cpu/cpu%d/online'
                         % (smp - 1),) * 2))
    shell(session, 'perf record -q -a -o /tmp/perf.data -e '
          "instructions,branches -c 100003 -- sh -c '%s'" % switch)
    shell(session, "perf stat -a -o /tmp/stat -e '%s' -- sh -c '%s'"
          % (GROUP, switch))


@workload('G', 'a group of eight raw events, of which four have four counters '
          'each to choose from')
def raw_group(session, smp):
    shell(session, '%s perf stat -o /tmp/stat -e "{r00c4,r010e,r00c5,r02c2,'
          'r81d0,r82d0,r01d1,r08d1}" -- workload branches 60000'
          % last_cpu(smp))


@workload('N', 'the watchdog, beside an event')
def watchdog(session, smp):
    shell(session, 'echo 1 >/proc/sys/kernel/nmi_watchdog; sleep 0.5; '
          '%s perf stat -o /tmp/stat -e cycles -- true; '
          'echo 0 >/proc/sys/kernel/nmi_watchdog' % last_cpu(smp))


@workload('Q', "counts, compared with QEMU's exact ones")
def compared(session, smp):
    session.guest.on_sync = recorder = Recorder(session.guest)
    said = []
    # Fixed counters, and general-purpose ones.
    for events, items in (
            (GROUP_USER, None),
            ('r00c0:u,r00c4:u', {'r00c0:u': 'instructions',
                                 'r00c4:u': 'branches'})):
        session.fifos()
        counts = session.stat(
            '-D -1 --control fifo:/tmp/ctl/ctl,/tmp/ctl/ack -e "%s"' % events,
            'workload --perf /tmp/ctl --sync code 20', TIMEOUT,
            PINNED if smp > 1 else '')
        ledger = recorder.between['code']
        total = ledger.count('slots' if items is None else 'instructions',
                             levels=('usr',))
        if items is None:
            classes, slots = group_counts(counts)
            counted = dict(classes, slots=slots)
        else:
            counted = {items[name]: counts[name] for name in items}
        for item, count in counted.items():
            exact = ledger.count(item, levels=('usr',))
            # Only the counts include the program's way to the host and back.  A
            # metric has steps of 1/255; a difference has the error of two.
            if not abs(count - exact) <= 0.01 * total:
                said.append('%s: counted %.0f, exactly %d'
                            % (item, count, exact))
    return '\n'.join(said)


