# SPDX-License-Identifier: GPL-2.0-or-later
#
# Tests that QEMU replays what it has recorded, and that gdb finds the cause of
# a hit as docs/system/i386/pmu-bringup.rst describes: it stops where a replay
# breaks a rule, and goes backwards to the code that wrote the wrong value
# (programs/driver.S).

import os
import re
import shutil
import subprocess
import tempfile
import time

from harness import TIMEOUT, Checks, Failure, Skip
from boot_tests import test
import artifacts

# What QEMU prints when the recorded guest has broken the rule
RECORDED = 'x86 PMU: C5 '

GDB = '''
set pagination off
set confirm off
set remotetimeout 600
target remote %s
continue
info symbol $pc
print/x *(int *) &selector
watch *(int *) &selector
reverse-continue
info symbol $pc
monitor info pmu -h
reverse-continue
info symbol $pc
print/x *(int *) &selector
'''


def replay_arguments(options, directory, shift, mode, check):
    return [options.qemu or artifacts.default_qemu(), '-nodefaults',
            '-no-user-config', '-display', 'none', '-machine', 'pc',
            '-accel', 'tcg', '-m', '64', '-net', 'none', '-cpu',
            'Icelake-Server,+perf-metrics,pmu-check=' + check,
            '-global', 'apic-common.vapic=off',
            '-kernel', options.programs['driver'],
            '-icount', 'shift=%s,rr=%s,rrfile=%s/rr,rrsnapshot=start'
            % (shift, mode, directory),
            '-drive', 'if=none,id=snapshots,driver=qcow2,file.filename=%s/disk'
            % directory]


def wait_for(path, text, process, times=1):
    """Wait until the file has the text a number of times."""
    end = time.monotonic() + TIMEOUT
    while True:
        with open(path, encoding='utf-8', errors='replace') as file:
            said = file.read()
        if said.count(text) >= times:
            return said
        if process.poll() is not None or time.monotonic() > end:
            raise Failure('%r was expected in:\n%s' % (text, said))
        time.sleep(0.1)


def create_disk(directory):
    """Make a disk for snapshots."""
    image = os.path.join(artifacts.build_dir(), 'qemu', 'qemu-img')
    subprocess.run([image, 'create', '-q', '-f', 'qcow2',
                    directory + '/disk', '64M'], check=True)


def record(options, directory, shift, last='quit'):
    """Record a guest.  Returns the hit's steps and what QEMU prints."""
    create_disk(directory)
    log = directory + '/log'
    with open(log, 'w', encoding='utf-8') as errors:
        process = subprocess.Popen(
            replay_arguments(options, directory, shift, 'record', 'log') +
            ['-monitor', 'stdio'], stdin=subprocess.PIPE,
            stdout=errors, stderr=errors, text=True)
    try:
        said = wait_for(log, RECORDED, process)
        process.communicate(last + '\n', timeout=TIMEOUT)
    finally:
        process.kill()
    with open(log, encoding='utf-8', errors='replace') as file:
        return steps(said), file.read()


def steps(text):
    """(clock, register, value) of each step of a message."""
    return re.findall(r'^ +(\d+) 0x\w+ cpl 0 .* wrmsr (\w+) (0x\w+)', text,
                      re.M)


def debug(options, directory, shift):
    """Debug the replay.  Returns what gdb and QEMU print."""
    log, commands = directory + '/log', directory + '/gdb'
    socket = directory + '/socket'
    with open(commands, 'w', encoding='utf-8') as file:
        file.write(GDB % socket)
    with open(log, 'w', encoding='utf-8') as errors:
        process = subprocess.Popen(
            replay_arguments(options, directory, shift, 'replay', 'stop') +
            ['-S', '-gdb', 'unix:%s,server=on,wait=off' % socket],
            stderr=errors, stdin=subprocess.DEVNULL)
    try:
        while not os.path.exists(socket) and process.poll() is None:
            time.sleep(0.1)
        done = subprocess.run(
            ['gdb', '-nx', '-batch', '-x', commands,
             options.programs['driver']], stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, timeout=TIMEOUT, check=False)
    finally:
        process.kill()
        process.wait()
    with open(log, encoding='utf-8') as file:
        return done.stdout, file.read()


def reverse(options, shift):
    if not shutil.which('gdb'):
        raise Skip('gdb is not installed')
    with tempfile.TemporaryDirectory() as directory:
        recorded, _ = record(options, directory, shift)
        said, messages = debug(options, directory, shift)
    checks = Checks()
    checks.equal('steps in the replay', steps(messages), recorded)
    checks.equal('places', re.findall(r'^(\w+)(?: \+ \d+)? in section', said,
                                      re.M), ['program', 'spoil', '_start'])
    checks.equal('values', re.findall(r'^\$\d+ = (\w+)', said, re.M),
                 ['0x6200c0', '0x4200c0'])
    # After gdb went back, the recorder has no steps that are still to come.
    checks.equal('steps before', [(r, v) for _, r, v in re.findall(
        r'^ +\+\d+ +(\d+) 0x\w+ .* wrmsr (\w+) (0x\w+)', said, re.M)],
        [(r, v) for _, r, v in recorded[:3]])
    try:
        return checks.done()
    except Failure as e:
        raise Failure('%s\n%s\n%s' % (e, said, messages)) from None


@test('record, replay, reverse: from a hit to the write that caused it')
def reverse_instructions(options):
    return reverse(options, '0')


@test('record, replay, reverse with modelled time')
def reverse_modelled(options):
    return reverse(options, 'model')


@test('record with modelled time: no snapshot but that of the start')
def refuse_snapshot(options):
    with tempfile.TemporaryDirectory() as directory:
        _, said = record(options, directory, 'model', 'savevm later\nquit')
    checks = Checks()
    checks.equal('refused', 'snapshots can be taken before the guest runs'
                 in said, True)
    return checks.done()


@test('record, replay with modelled time: from a snapshot, with a timer')
def replay_snapshot(options):
    ends = []
    with tempfile.TemporaryDirectory() as directory:
        create_disk(directory)
        for mode in ('record', 'replay'):
            command = replay_arguments(options, directory, 'model', mode, 'off')
            command[command.index('-kernel') + 1] = \
                options.programs['long-strings']
            ends.append(subprocess.run(
                command + ['-device', 'isa-debug-exit,iobase=0xf4,iosize=4'],
                stdin=subprocess.DEVNULL, timeout=TIMEOUT,
                check=False).returncode)
    checks = Checks()
    # The guest or the end of the log ends the replay, whichever comes first.
    checks.that(ends in ([5, 5], [5, 0]), 'statuses: %r' % ends)
    return checks.done()


# Commands for the shell of a recorded Linux: read clocks, which are in part the
# host's, count, and idle.
TYPED = (
    'mount -t proc proc /proc; mount -t sysfs sysfs /sys',
    'perf stat -e slots,topdown-fe-bound,instructions,L1-dcache-load-misses '
    'sh -c "date; ls -l /bin" 2>&1; cat /proc/uptime /proc/interrupts',
    'sleep 1; cat /proc/uptime; poweroff -f',
)
PROMPT = '~ # '


def linux_arguments(options, directory, mode):
    return [options.qemu or artifacts.default_qemu(), '-nodefaults',
            '-no-user-config', '-no-reboot', '-display', 'none', '-machine',
            'pc', '-accel', 'tcg', '-m', '512', '-net', 'none',
            '-cpu', 'Icelake-Server,+perf-metrics',
            '-kernel', artifacts.find_kernel('trixie')[0],
            '-initrd', os.path.join(artifacts.build_dir(), 'guest',
                                    'root.cpio'),
            '-append', 'console=ttyS0 quiet panic=-1 nmi_watchdog=0 '
            'no_timer_check cryptomgr.notests rdinit=/bin/sh',
            '-icount', 'shift=model,rr=%s,rrfile=%s/rr' % (mode, directory),
            '-serial', 'stdio']


def type_line(process, line, log):
    """Type a line to a guest's serial port, and wait for the echo of each
    piece: a recorded port loses what does not fit into its FIFO.
    """
    for at in range(0, len(line), 8):
        piece = line[at:at + 8]
        size = os.path.getsize(log) + len(piece)
        end = time.monotonic() + TIMEOUT
        process.stdin.write(piece)
        process.stdin.flush()
        while os.path.getsize(log) < size:
            if process.poll() is not None or time.monotonic() > end:
                raise Failure('no echo of %r' % piece)
            time.sleep(0.05)


def record_linux(options, directory):
    """Record a Linux while TYPED is typed; returns what it prints."""
    log = directory + '/recorded'
    with open(log, 'w', encoding='utf-8') as output:
        process = subprocess.Popen(
            linux_arguments(options, directory, 'record'), text=True,
            stdin=subprocess.PIPE, stdout=output, stderr=subprocess.STDOUT)
    try:
        for number, line in enumerate(TYPED):
            wait_for(log, PROMPT, process, number + 1)
            type_line(process, line + '\n', log)
        process.wait(TIMEOUT)
    finally:
        process.kill()
        process.wait()
    with open(log, encoding='utf-8', errors='replace') as file:
        return file.read()


@test('record, replay with modelled time: Linux says and counts the same')
def replay_linux(options):
    with tempfile.TemporaryDirectory() as directory:
        recorded = record_linux(options, directory)
        replayed = subprocess.run(
            linux_arguments(options, directory, 'replay'), check=False,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, errors='replace',
            timeout=TIMEOUT)
    checks = Checks()
    checks.equal('status', replayed.returncode, 0)
    checks.equal('counts', len(re.findall(
        r'^ +\d+ +(?:slots|topdown-fe-bound|instructions|L1-dcache-load-misses)'
        r'\b', recorded, re.M)), 4)
    checks.equal('what it says', replayed.stdout, recorded)
    return checks.done()
