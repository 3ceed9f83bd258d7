# SPDX-License-Identifier: GPL-2.0-or-later
#
# The checker of what drivers do (pmu-check), on Linux's driver: it is silent,
# but for what is known (scripts/pmu-check/linux.supp), while perf counts,
# samples, and the watchdog runs; and it has looked.  That rules are broken by
# those that break them is tested in tests/unit and tests/qtest.

import json
import os
import re
import tempfile

from harness import PINNED, TOP, Checks
from boot_tests import booted, test

SUPPRESSIONS = os.path.join(TOP, 'scripts', 'pmu-check', 'linux.supp')

# What perf is asked for, and registers that Linux's driver then uses: those of
# arch/x86/events/intel/core.c.
WORK = (
    'perf stat --topdown -a -- sleep 0.2',
    "perf stat -e '{slots,topdown-retiring,topdown-bad-spec,topdown-fe-bound,"
    "topdown-be-bound}' -- perf list sw",
    # More events than counters: they take turns.
    'perf stat -e instructions,cycles,branches,branch-misses,r0151,r04d1,'
    'r08d1,r20d1,r0279,r0479 -- perf list sw',
    'perf record -q -o /tmp/perf.data -e instructions,branches -c 20011 -- '
    'perf list sw',
    'perf record -q -o /tmp/perf.data -e slots -c 1000003 -- perf list sw',
    "%s sh -c 'perf stat -e \"{slots,topdown-retiring}\" -- perf list sw & "
    "perf stat -e \"{slots,topdown-be-bound}\" -- perf list sw & wait'"
    % PINNED,
    'echo 1 >/proc/sys/kernel/nmi_watchdog && sleep 0.5 && '
    'perf stat -e cycles -- true && '
    'echo 0 >/proc/sys/kernel/nmi_watchdog',
)
USED = ('IA32_PERF_GLOBAL_CTRL', 'IA32_PERF_GLOBAL_STATUS', 'IA32_A_PMC0',
        'IA32_PERFEVTSEL0', 'IA32_FIXED_CTR_CTRL', 'IA32_FIXED_CTR3',
        'IA32_PERF_METRICS', 'IA32_PERF_GLOBAL_STATUS_RESET')


def run_checked(options, **kwargs):
    """The report of a guest that has done WORK."""
    with tempfile.TemporaryDirectory() as directory:
        report = os.path.join(directory, 'report')
        cpu = ('Icelake-Server,+perf-metrics,pmu-check=log,'
               'pmu-check-suppress=%s,pmu-check-report=%s'
               % (SUPPRESSIONS, report))
        with booted(options, cpu=cpu, append='nokaslr', **kwargs) as s:
            for command in WORK:
                s.shell('{ %s; } >/tmp/out 2>&1 || '
                        '{ cat /tmp/out; exit 1; }' % command)
            messages = re.findall('^.*x86 PMU: .*$', s.guest.errors(), re.M)
            s.guest.quit()
        with open(report, encoding='utf-8') as file:
            return json.load(file), messages


def broken(report):
    """Lines that say which rules were, at which addresses."""
    return ['%s at %s, %d times: %s' % (rule['rule'], site['rip'],
                                        site['count'],
                                        '; '.join(site['history'][-12:]))
            for rule in report['rules'] for site in rule['sites']
            if 'suppressed' not in site]


@test("pmu-check: Linux's driver breaks no rule")
def stock_driver(options):
    checks = Checks()
    report, messages = run_checked(options, smp=2)
    checks.equal('rules broken', broken(report), [])
    checks.equal('messages', messages, [])
    for name in USED:
        uses = report['accesses'].get(name, {})
        checks.that(sum(uses.values()) > 0, '%s was not accessed' % name)
    checks.between('interrupts', report['interrupts']['delivered'], 10, None)
    known = {rule['rule']: rule['suppressed'] for rule in report['rules']
             if rule['suppressed']}
    checks.done()
    return 'known of Linux: %s' % (known or 'nothing')
