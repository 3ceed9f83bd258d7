# SPDX-License-Identifier: GPL-2.0-or-later
#
# Collect for scripts/pmu-report what a run did with the PMU, as one JSON
# object: samples of the ledger, the recorders' steps, faults that fired and the
# checker's report.

import json
import os
import re

# Suppressions of what Linux is known to do
SUPPRESSIONS = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                            '..', 'pmu-check', 'linux.supp')
# Seconds between samples of the ledger.
PERIOD = 0.1
# Steps that each vCPU's recorder keeps (48 bytes each)
STEPS = 1 << 18
# Kinds of steps whose address is in the driver
ACCESSES = ('rdmsr', 'wrmsr', 'rdpmc', 'gp', 'lvtpc')


class Collector:
    """Asks QEMU over QMP; query(command) returns the answer."""

    def __init__(self, query):
        self._query = query
        self._samples = []

    def sample(self):
        """Sample the ledgers of all vCPUs."""
        self._samples.append([
            {'cpu-index': unit['cpu-index'], 'clock': unit['clock'],
             'ledger': {count['name']: [count['os'], count['usr']]
                        for count in unit['ledger']}}
            for unit in self._query('x-query-pmu')])

    def finish(self):
        """The samples, and what QEMU knows; call it before QEMU ends."""
        return {'samples': self._samples,
                'histories': self._query('x-query-pmu-history'),
                'faults': self._query('x-query-pmu-faults')}


def with_recorder(cpu, report):
    """The value of -cpu, with the checker, the recorder and a report to this
    file added unless it sets them already.
    """
    for name, value in (('pmu-check', 'log'), ('pmu-recorder', STEPS),
                        ('pmu-check-suppress', SUPPRESSIONS),
                        ('pmu-check-report', report)):
        if ',%s=' % name not in cpu:
            cpu += ',%s=%s' % (name, str(value).replace(',', ',,'))
    return cpu


def hit_addresses(messages):
    """The addresses of kernel code in QEMU's messages about hits."""
    return {int(word, 16) for word in
            re.findall(r'\b0x[89a-f][0-9a-f]{15}\b', messages)}


def name_addresses(guest, run, more):
    """{address: FUNCTION+0xOFFSET} for the kernel code that accessed the PMU,
    and for more addresses, by the guest's own list of names.  The guest looks
    them up, as the list has hundreds of thousands.
    """
    wanted = sorted(more | {step['rip'] for history in run['histories']
                            for step in history['entries']
                            if step['rip'] >> 63 and step['kind'] in ACCESSES})
    if not wanted:
        return {}
    guest.run("grep ' [tTwW] ' /proc/kallsyms | cut -d' ' -f1,3 >/tmp/names")
    for at in range(0, len(wanted), 1000):
        guest.run(
            "printf '%%s ~\\n' %s >>/tmp/names"
            % ' '.join('%016x' % a for a in wanted[at:at + 1000]))
    # "~", which marks a wanted address, sorts behind all names of functions at
    # that address.
    done = guest.run("LC_ALL=C sort /tmp/names | awk '$2 == \"~\" "
                     "{ print $1, start, name; next } "
                     "{ start = $1; name = $2 }'; rm /tmp/names")
    names = {}
    for line in done.stdout.splitlines():
        words = line.split()
        if len(words) == 3:
            address = int(words[0], 16)
            names['0x%x' % address] = '%s+0x%x' % (
                words[2], address - int(words[1], 16))
    return names


def read_report(file):
    """The checker's report that QEMU wrote when it ended; {} if none."""
    if not os.path.exists(file):
        return {}
    with open(file, encoding='utf-8') as stream:
        return json.load(stream)


def write(run, file):
    with open(file, 'w', encoding='utf-8') as stream:
        json.dump(run, stream, separators=(',', ':'))
        stream.write('\n')
