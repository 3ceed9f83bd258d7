# SPDX-License-Identifier: GPL-2.0-or-later
#
# What a run did with the PMU, collected for scripts/pmu-report: samples of the
# ledger, the recorders, faults fired and the checker's report, as one JSON
# object.

import json
import os
import re

# What is known of Linux.
SUPPRESSIONS = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                            '..', 'pmu-check', 'linux.supp')
# Seconds between samples of the ledger.
PERIOD = 0.1
# Steps that each vCPU remembers (48 bytes each).
STEPS = 1 << 18
# The kinds of steps whose addresses are the driver's.
ACCESSES = ('rdmsr', 'wrmsr', 'rdpmc', 'gp', 'lvtpc')


class Collector:
    """Asks a QEMU over QMP; query is a function of a command's name."""

    def __init__(self, query):
        self._query = query
        self._samples = []

    def sample(self):
        """Note the ledgers of all vCPUs as they are now."""
        self._samples.append([
            {'cpu-index': unit['cpu-index'], 'clock': unit['clock'],
             'ledger': {count['name']: [count['os'], count['usr']]
                        for count in unit['ledger']}}
            for unit in self._query('x-query-pmu')])

    def finish(self):
        """All that QEMU knows before it ends."""
        return {'samples': self._samples,
                'histories': self._query('x-query-pmu-history'),
                'faults': self._query('x-query-pmu-faults')}


def with_recorder(cpu, report):
    """The -cpu MODEL, with the checker and the recorder on where it does not
    say otherwise, and a report to this file.
    """
    for name, value in (('pmu-check', 'log'), ('pmu-recorder', STEPS),
                        ('pmu-check-suppress', SUPPRESSIONS),
                        ('pmu-check-report', report)):
        if ',%s=' % name not in cpu:
            cpu += ',%s=%s' % (name, str(value).replace(',', ',,'))
    return cpu


def hit_addresses(messages):
    """The addresses of kernel code in what QEMU said of hits."""
    return {int(word, 16) for word in
            re.findall(r'\b0x[89a-f][0-9a-f]{15}\b', messages)}


def name_addresses(guest, run, more):
    """{address: FUNCTION+0xOFFSET} for the kernel code that accessed the PMU,
    and more addresses, by what the guest's kernel says of itself.  Names of
    others stay in the guest: there are hundreds of thousands.
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
    # "~" sorts behind each name of a function at the same address.
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
