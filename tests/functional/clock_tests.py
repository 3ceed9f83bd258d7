# SPDX-License-Identifier: GPL-2.0-or-later
#
# Tests of -icount shift=model, with which the machine's clock is the model's,
# with Linux.

import contextlib
import os
import random
import re
import subprocess
import tempfile
import time

from harness import TIMEOUT, Checks, Failure
from boot_tests import LONG_TESTS, booted, run_guest, test
from groups import need_counts
import event_tests
import artifacts
import guest

CLOCK = ['-icount', 'shift=model']
MHZ = 2800

# What a kernel prints that finds fault with its clock or its CPUs
COMPLAINTS = (r'soft lockup|hard LOCKUP|rcu: INFO|detected stalls|blocked for '
              r'more than|clocksource.*unstable|TSC.*(unstable|warp)|'
              r'NMI watchdog: Watchdog|Unable to calibrate|WARNING:|Call Trace')


def check_log(checks, log):
    checks.that(not re.search(COMPLAINTS, log), 'the kernel complains: %s'
                % re.findall('.*(?:%s).*' % COMPLAINTS, log))


def local_timer(session):
    """The number of CPU 0's local APIC timer interrupts so far."""
    return int(re.search(r'LOC: +(\d+)',
                         session.shell('cat /proc/interrupts')).group(1))


@test('-icount shift=model: perf prints the modelled clock')
def modelled_clock(options):
    events = ('cycles', 'ref-cycles', 'task-clock')
    with booted(options, qemu_opts=CLOCK, append='nmi_watchdog=1') as s:
        before = local_timer(s)
        counts = s.stat('-e ' + ','.join(events),
                        'workload branches 30000000')
        ticks = local_timer(s) - before
        log = s.kernel_log()
        hz = int(re.search(r'CONFIG_HZ=(\d+)', s.shell(
            'zcat /proc/config.gz 2>/dev/null || echo CONFIG_HZ=250')
            ).group(1))
    need_counts(counts, *events)
    checks = Checks()
    # task-clock is in milliseconds.
    checks.close('clock in MHz', counts['cycles'] /
                 (counts['task-clock'] * 1000), MHZ, MHZ * 0.01)
    checks.close('ref-cycles', counts['ref-cycles'], counts['cycles'], 1)
    # A tick in each 1/HZ s while the program ran, and some before and after
    checks.between('timer interrupts', ticks,
                   int(counts['cycles'] / (MHZ * 1e6) * hz), None)
    checks.that('tsc: Detected %d.000 MHz processor' % MHZ in log,
                'the kernel takes another clock: %s'
                % re.findall('.*tsc: .*', log))
    check_log(checks, log)
    return checks.done()


# Events that cost the model more than others do, for a loop that does the same
# all the time.  With those of event_tests.KINDS they are twenty.
COSTLY = ('cycles', 'topdown.slots_p', 'uops_executed.thread',
          'cycle_activity.stalls_total', 'mem_load_retired.l1_hit')
MULTIPLEXED_SECONDS = 0.5
MULTIPLEXED_TOLERANCE = 0.02


@test('-icount shift=model: twenty events in turns scale to what each is',
      LONG_TESTS)
def multiplexed(options):
    def each_instruction(s, events, seconds):
        counts = event_tests.count(s, events, 'kinds', seconds=seconds)
        return {e: counts[e] / counts['instructions'] for e in events}

    with booted(options, ('tma',), smp=2, qemu_opts=CLOCK) as s:
        s.random = random.Random(options.seed)
        alone = each_instruction(s, COSTLY, MULTIPLEXED_SECONDS / 10)
        scaled = each_instruction(s, (*event_tests.KINDS, *COSTLY),
                                  MULTIPLEXED_SECONDS)
    alone |= {event: n / event_tests.KINDS_INSTRUCTIONS
              for event, n in event_tests.KINDS.items()}
    checks = Checks()
    for event, expected in alone.items():
        checks.close(event, scaled[event], expected,
                     MULTIPLEXED_TOLERANCE * expected)
    return checks.done()


@test('run-guest: --measure has perf print the modelled clock',
      LONG_TESTS)
def measure(options):
    done = run_guest(options, '--measure', '--', 'perf', 'stat', '-e',
                     'task-clock,cycles', 'workload', 'branches', '10000000')
    checks = Checks()
    checks.equal('exit status', done.returncode, 0)
    checks.that(re.search(rb' cycles .* 2\.(79|80)\d* +GHz', done.stderr),
                'perf printed: %r' % done.stderr)
    return checks.done()


# Two programs that run at the same time, each on a CPU of its own
SIDE_BY_SIDE = ('taskset 1 workload branches 20000000 & '
                'taskset 2 workload branches 20000000; wait')
THREADS = ['-accel', 'tcg,thread=multi']


def check_side_by_side(s, checks):
    counts = s.stat('-e cycles,task-clock,duration_time',
                    "sh -c '%s'" % SIDE_BY_SIDE)
    need_counts(counts, 'cycles', 'task-clock', 'duration_time')
    checks.close('clock in MHz', counts['cycles'] /
                 (counts['task-clock'] * 1000), MHZ, MHZ * 0.02)
    # duration_time is in nanoseconds, task-clock in milliseconds.
    checks.between('CPUs used', counts['task-clock'] * 1e6 /
                   counts['duration_time'], 1.5, 2)


def two_cpus(options, *qemu_opts):
    checks = Checks()
    with booted(options, smp=2, qemu_opts=CLOCK + list(qemu_opts)) as s:
        check_side_by_side(s, checks)
        check_log(checks, s.kernel_log())
    return checks.done()


@test('-icount shift=model: two vCPUs, each with all of the time',
      LONG_TESTS)
def two_cpus_by_turns(options):
    return two_cpus(options)


@test('-icount shift=model: two vCPUs on threads, a busy host')
def two_cpus_on_threads(options):
    with busy(4):
        return two_cpus(options, *THREADS)


@test('-icount shift=model: vCPUs on threads are stopped, go on, and are reset',
      LONG_TESTS)
def threads_stopped(options):
    checks = Checks()
    rng = random.Random(options.seed)
    with booted(options, smp=3, append='nmi_watchdog=1',
                qemu_opts=CLOCK + THREADS + ['-action', 'reboot=reset']) as s:
        for _ in range(2):
            s.shell('(%s) >/dev/null 2>&1 &' %
                    SIDE_BY_SIDE.replace('20000000', '200000000'))
            for _ in range(20):
                s.guest.qmp('stop')
                time.sleep(rng.uniform(0, 0.02))
                s.guest.qmp('cont')
                time.sleep(rng.uniform(0, 0.1))
            s.shell('killall workload; true')
            # Many messages between vCPUs
            s.shell('perf bench sched pipe -l 2000')
            check_side_by_side(s, checks)
            check_log(checks, s.kernel_log())
            s.guest.reset()
    return checks.done()


# What the machine does alone, while nobody on the host talks to it
SCRIPT = '''#!/bin/sh
for type in proc sysfs devtmpfs; do
    busybox mount -t $type $type /$(busybox expr $type : '\(proc\|sys\|dev\)')
done
exec > /dev/ttyS0 2>&1
perf stat -e '{cycles,instructions,branches,branch-misses}' \\
    -e topdown.slots_p,mem_load_retired.l2_miss,icache_data.stalls \\
    sh -c 'for i in $(busybox seq 20); do busybox true; done'
busybox cat /proc/interrupts /proc/uptime
busybox sleep 3
busybox dmesg | busybox tail -n 20
echo the end
busybox poweroff -f
'''


def alone(options, directory, smp):
    """All that a machine prints that runs SCRIPT, while nobody talks to it."""
    script = os.path.join(directory, 'run')
    with open(script, 'w', encoding='ascii') as file:
        file.write(SCRIPT)
    os.chmod(script, 0o755)
    initrd = guest.Guest(guest.Options(copy=[(script, '/run-alone')]))
    kernel, _ = artifacts.find_kernel(guest.DEFAULT_KERNEL)
    log = os.path.join(directory, 'console')
    subprocess.run(
        [options.qemu or artifacts.default_qemu(), '-nodefaults',
         '-no-user-config', '-display', 'none', '-no-reboot', '-machine', 'pc',
         '-accel', 'tcg', '-cpu', options.cpu, '-smp', str(smp), '-m', '1G',
         *CLOCK, '-seed', '1', '-rtc', 'base=2026-01-01,clock=vm',
         '-serial', 'file:' + log, '-kernel', kernel, '-initrd',
         initrd.initrd(), '-append',
         guest.BASE_APPEND + ' quiet rdinit=/run-alone'],
        timeout=4 * TIMEOUT, check=True, stdin=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL)
    with open(log, encoding='utf-8', errors='replace') as file:
        return file.read()


@contextlib.contextmanager
def busy(loops):
    """Keep a number of busy loops running on the host during a with
    statement.
    """
    running = [subprocess.Popen(['sh', '-c', 'while :; do :; done'])
               for _ in range(loops)]
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


def same(options, smp):
    runs = []
    for loops in (0, 4):
        with tempfile.TemporaryDirectory() as directory, busy(loops):
            runs.append(alone(options, directory, smp))
    if 'the end' not in runs[0]:
        raise Failure('the machine said:\n' + runs[0][-3000:])
    checks = Checks()
    checks.that(re.search(r'\d\d +cycles', runs[0]), 'perf counts: ' + runs[0])
    if runs[1] != runs[0]:
        pairs = zip(runs[0].splitlines(), runs[1].splitlines())
        checks.that(False, 'the first lines that differ:\n%s\n%s' % next(
            (pair for pair in pairs if pair[0] != pair[1]), ('', '')))
    return checks.done()


@test('-icount shift=model: a busy host changes nothing, one vCPU',
      LONG_TESTS)
def same_one(options):
    return same(options, 1)


@test('-icount shift=model: a busy host changes nothing, two vCPUs',
      LONG_TESTS)
def same_two(options):
    return same(options, 2)


@test('-icount shift=model: a data breakpoint where the clock is updated')
def watchpoint(options):
    # Behind long REP strings; see programs/watchpoint.S for the exit status.
    done = subprocess.run(
        [options.qemu or artifacts.default_qemu(), '-nodefaults',
         '-no-user-config', '-display', 'none', '-machine', 'pc', '-accel',
         'tcg', '-m', '64', '-net', 'none', '-cpu',
         'Icelake-Server,+perf-metrics', '-kernel',
         options.programs['watchpoint'], '-device',
         'isa-debug-exit,iobase=0xf4,iosize=4'] + CLOCK,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, timeout=TIMEOUT, check=False)
    checks = Checks()
    checks.equal('status', done.returncode, 7)
    checks.equal('messages', done.stdout, '')
    return checks.done()


# {address: code} in real mode, from the reset vector on.  The handler of #UD
# begins with UD2, which raises #UD again.
FAULTS_FOR_EVER = {
    0xfff0: 'ea 0000 00f0',             # ljmp $0xf000, $0
    0: '31c0 8ed8'                      # xor %ax, %ax; mov %ax, %ds
       'c706 1800 4000 8c0e 1a00'       # vector 6: 0x40 of %cs
       'b8 0020 8ed0'                   # mov $0x2000, %ax; mov %ax, %ss
       '0f0b',                          # ud2
    0x40: '0f0b',                       # ud2
}


@test('-icount shift=model: faults without end take time')
def faults_for_ever(options):
    rom = bytearray(1 << 16)
    for at, code in FAULTS_FOR_EVER.items():
        code = bytes.fromhex(code)
        rom[at:at + len(code)] = code
    with tempfile.NamedTemporaryFile() as file:
        file.write(rom)
        file.flush()
        process = subprocess.Popen(
            [options.qemu or artifacts.default_qemu(), '-nodefaults',
             '-display', 'none', '-machine', 'pc', '-accel', 'tcg', '-m', '16',
             '-cpu', options.cpu, '-bios', file.name, '-monitor', 'stdio',
             *CLOCK], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True)
        # Set counter 0 of the PIT to mode 2, from 65536 down, and read it.
        commands = ['o/b 0x43 0x34', 'o/b 0x40 0', 'o/b 0x40 0']
        for _ in range(5):
            commands += ['i/b 0x40'] * 2
        try:
            for command in commands:
                process.stdin.write(command + '\n')
                process.stdin.flush()
                time.sleep(0.2)
            said, _ = process.communicate('quit\n', timeout=TIMEOUT)
        finally:
            process.kill()
            process.wait()
    counter = re.findall(r'portb\[0x0040\] = (0x[0-9a-f]+)', said)
    checks = Checks()
    checks.equal('bytes read', len(counter), 10)
    pairs = set(zip(counter[::2], counter[1::2]))
    checks.that(len(pairs) > 1, 'the counter stands at %s' % pairs)
    return checks.done()
