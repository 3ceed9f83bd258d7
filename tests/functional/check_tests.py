# SPDX-License-Identifier: GPL-2.0-or-later
#
# Tests of Linux's driver on other PMUs than the core's own, and of the checker
# of drivers (pmu-check) with Linux's driver.  While perf counts and samples and
# the watchdog runs, the checker must report nothing but what is known
# (scripts/pmu-check/linux.supp), and must have checked accesses.  tests/unit
# and tests/qtest test that it finds broken rules.

import json
import os
import re
import subprocess
import tempfile

from harness import PINNED, TIMEOUT, TOP, Checks
from boot_tests import LONG_TESTS, RUN_GUEST, booted, driver_line, test
import artifacts
import guest

SUPPRESSIONS = os.path.join(TOP, 'scripts', 'pmu-check', 'linux.supp')

# Commands that make Linux's driver (arch/x86/events/intel/core.c) use the
# registers in USED
WORK = (
    'perf stat --topdown -a -- sleep 0.2',
    "perf stat -e '{slots,topdown-retiring,topdown-bad-spec,topdown-fe-bound,"
    "topdown-be-bound}' -- perf list sw",
    # More events than counters, so that they take turns
    'perf stat -e instructions,cycles,branches,branch-misses,r0151,r04d1,'
    'r08d1,r20d1,r0279,r0479 -- perf list sw',
    'perf record -q -o /tmp/perf.data -e instructions,branches -c 100003 -- '
    'perf list sw',
    'perf record -q -o /tmp/perf.data -e slots -c 5000011 -- perf list sw',
    "%s sh -c 'perf stat -e \"{slots,topdown-retiring}\" -- perf list sw & "
    "perf stat -e \"{slots,topdown-be-bound}\" -- perf list sw & wait'"
    % PINNED,
    'echo 1 >/proc/sys/kernel/nmi_watchdog && sleep 0.5 && '
    'perf stat -e cycles -- true && '
    'echo 0 >/proc/sys/kernel/nmi_watchdog',
)
# The shortest of these commands
SHORT_WORK = WORK[:2] + WORK[-2:] + (
    'perf record -q -o /tmp/perf.data -e instructions,branches -c 100003 -- '
    'true',)
# Other (kernel, CPU) than the default of run_checked().  The first one differs
# from it in both.
OTHERS = (('bookworm', 'SapphireRapids'), ('trixie', 'SapphireRapids'),
          ('bookworm', 'Icelake-Server'))
USED = ('IA32_PERF_GLOBAL_CTRL', 'IA32_PERF_GLOBAL_STATUS', 'IA32_A_PMC0',
        'IA32_PERFEVTSEL0', 'IA32_FIXED_CTR_CTRL', 'IA32_FIXED_CTR3',
        'IA32_PERF_METRICS', 'IA32_PERF_GLOBAL_STATUS_RESET')


def check_log(log):
    """What the tool pmu-check prints about QEMU's log, and its exit status."""
    tool = os.path.join(artifacts.build_dir(), 'core', 'tools', 'pmu-check',
                        'pmu-check')
    done = subprocess.run([tool, '--suppress', SUPPRESSIONS, log],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False)
    return done.returncode, done.stdout


def run_checked(options, work=WORK, model='Icelake-Server', **kwargs):
    """Run the work in a guest.  Returns the checker's report, what QEMU printed
    meanwhile, and what pmu-check prints about the traced accesses.
    """
    with tempfile.TemporaryDirectory() as directory:
        report = os.path.join(directory, 'report')
        log = os.path.join(directory, 'log')
        cpu = ('%s,+perf-metrics,pmu-check=log,'
               'pmu-check-suppress=%s,pmu-check-report=%s'
               % (model, SUPPRESSIONS, report))
        traced = [word for event in ('rdmsr', 'wrmsr', 'rdpmc', 'gp')
                  for word in ('-trace', 'x86_pmu_' + event)]
        with booted(options, cpu=cpu, append='nokaslr',
                    qemu_opts=traced + ['-D', log], **kwargs) as s:
            for command in work:
                s.shell('{ %s; } >/tmp/out 2>&1 || '
                        '{ cat /tmp/out; exit 1; }' % command)
            messages = re.findall('^.*x86 PMU: .*$', s.guest.errors(), re.M)
            s.guest.quit()
        with open(report, encoding='utf-8') as file:
            return json.load(file), messages, check_log(log)


def broken(report):
    """Lines that say which rules were broken, and at which addresses."""
    return ['%s at %s, %d times: %s' % (rule['rule'], site['rip'],
                                        site['count'],
                                        '; '.join(site['history'][-12:]))
            for rule in report['rules'] for site in rule['sites']
            if 'suppressed' not in site]


@test("pmu-check: Linux's driver breaks no rule")
def stock_driver(options):
    checks = Checks()
    report, messages, (status, said) = run_checked(options, smp=2)
    checks.equal('rules broken', broken(report), [])
    checks.equal('messages', messages, [])
    checks.equal('status of pmu-check, which says\n%s\n' % said, status, 0)
    accesses = sum(sum(uses.values()) for uses in report['accesses'].values())
    checks.that('%d accesses, 0 hits' % accesses in said,
                'expected %d accesses in pmu-check: %s' % (accesses, said))
    for name in USED:
        uses = report['accesses'].get(name, {})
        checks.that(sum(uses.values()) > 0, '%s was not accessed' % name)
    checks.between('interrupts', report['interrupts']['delivered'], 10, None)
    known = {rule['rule']: rule['suppressed'] for rule in report['rules']
             if rule['suppressed']}
    checks.done()
    return 'known of Linux: %s' % (known or 'nothing')


def register_stock(kernel, model):
    @test("pmu-check: Linux's driver in %s breaks no rule on %s"
          % (kernel, model), LONG_TESTS)
    def silent(options):
        checks = Checks()
        report, messages, _ = run_checked(options, SHORT_WORK, model,
                                          kernel=kernel, smp=2)
        checks.equal('rules broken', broken(report), [])
        checks.equal('messages', messages, [])
        for name in USED:
            uses = report['accesses'].get(name, {})
            checks.that(sum(uses.values()) > 0, '%s was not accessed' % name)
        checks.between('interrupts', report['interrupts']['delivered'], 1,
                       None)
        return checks.done()


for each in OTHERS:
    register_stock(*each)


@test('run-guest --pmu-record, and the page that pmu-report makes of it')
def page(options):
    checks = Checks()
    with tempfile.TemporaryDirectory() as directory:
        run = os.path.join(directory, 'run.json')
        # A raw event with AnyThread: see docs/system/i386/pmu-findings.rst.
        done = subprocess.run(
            [RUN_GUEST, '--qemu', options.qemu or artifacts.default_qemu(),
             '--boot-timeout', '%g' % TIMEOUT, '--pmu-record', run, '--',
             'perf', 'stat', '-e', 'r2100c4', 'true'],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            check=False)
        checks.equal('status of run-guest, which said\n%s\n' % done.stdout,
                     done.returncode, 0)
        checks.that('x86 PMU: C5 ' in done.stdout, 'no message: %s'
                    % done.stdout)
        subprocess.run([os.path.join(TOP, 'scripts', 'pmu-report'), run],
                       check=True)
        with open(run, encoding='utf-8') as file:
            data = json.load(file)
        with open(os.path.join(directory, 'run.html'),
                  encoding='utf-8') as file:
            text = file.read()
    checks.equal('rules in the run', [r['rule'] for r in
                                      data['report']['rules'] if r['hits']],
                 ['C5'])
    checks.that(len(data['samples']) > 1, 'no samples of the ledger')
    for words in ('>C5</b>', 'native_write_msr+0x', 'r2100c4', '>pmc0<',
                  'Fetch latency'):
        checks.that(words in text, '%r is not in the page' % words)
    return checks.done()


@test('pmu-check: a kernel that starts after a crash finds counters that run',
      LONG_TESTS)
def crash(options):
    checks = Checks()
    image, _ = artifacts.find_kernel(guest.DEFAULT_KERNEL)
    kept = os.path.join(os.path.dirname(image), 'vmlinuz')
    done = subprocess.run(
        [RUN_GUEST, '--qemu', options.qemu or artifacts.default_qemu(),
         '--boot-timeout', '%g' % TIMEOUT, '--timeout', '%g' % TIMEOUT,
         '--memory', '1G', '--append', 'nmi_watchdog=1 crashkernel=192M',
         '--cpu', 'Icelake-Server,+perf-metrics,pmu-check=log',
         '--copy', options.programs['crash'], '--copy', kept + ':/guest/kept',
         '--', './crash', 'kept', 'console=ttyS0 panic=-1'],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        check=False)
    # See docs/system/i386/pmu-findings.rst.
    for rule in 'L2', 'P3':
        checks.that('x86 PMU: %s ' % rule in done.stdout,
                    '%s was not found in\n%s' % (rule, done.stdout))
    return checks.done()


# {profile: what the driver prints about the unit (init_hw_perf_events() of
# arch/x86/events/core.c), and how many events it can then count at a time}
PROFILES = {
    'skx': ('full-width counters', 4, 4, 48, 3),
    'kvm-legacy': ('', 2, 4, 48, 3),
    'icx,pmu-counters=2,pmu-counter-width=40,pmu-events-off=0x40':
        ('full-width counters', 5, 2, 40, 4),
}


def log_values(session):
    """What the driver has printed about its unit: {name: value}."""
    return {name.strip(): value for name, value in
            re.findall(r'\] \.\.\. ([\w -]+): *(\w+)',
                       session.kernel_log())}


def register_profile(profile):
    @test('pmu-profile=%s: the driver works' % profile.split(',')[0] +
          (' with fewer counters' if ',' in profile else ''))
    def works(options):
        words, version, counters, width, fixed = PROFILES[profile]
        checks = Checks()
        cpu = ('Icelake-Server,pmu=on,pmu-check=log,pmu-check-suppress=%s,'
               'pmu-profile=%s' % (SUPPRESSIONS, profile))
        with booted(options, cpu=cpu, append='nokaslr') as s:
            line = driver_line(s)
            checks.that(words in line and 'Intel PMU driver' in line, line)
            checks.equal('full-width in "%s"' % line,
                         'full-width' in line, bool(words))
            said = log_values(s)
            checks.equal('version', said.get('version'), str(version))
            checks.equal('counters', said.get('generic registers'),
                         str(counters))
            checks.equal('width', said.get('bit width'), str(width))
            checks.equal('fixed', said.get('fixed-purpose events'),
                         str(fixed))
            counts = s.stat('-e instructions:u,branches:u', 'perf list sw')
            checks.between('branches', counts['branches:u'],
                           counts['instructions:u'] / 20,
                           counts['instructions:u'] / 2)
            counts = s.stat('-e ' + ','.join(['r00c0:u'] * (counters + 2)),
                            'perf list sw')
            checks.that(counts['r00c0:u'], 'no count: %s' % counts)
            s.shell('perf record -q -o /tmp/perf.data -e branches -c 100003 '
                    '-- perf list sw >/tmp/out 2>&1')
            samples = int(s.shell('perf script -i /tmp/perf.data -F ip | '
                                  'wc -l'))
            checks.between('samples', samples, 20, None)
            checks.equal('messages',
                         re.findall('^.*x86 PMU: .*$', s.guest.errors(),
                                    re.M), [])
        return checks.done()


for each in PROFILES:
    register_profile(each)
