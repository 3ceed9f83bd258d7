# SPDX-License-Identifier: GPL-2.0-or-later
#
# Tests of the PMUs of older CPUs with Linux's drivers for them: what the driver
# prints at boot, its generic events against counts known by construction and
# against QEMU's ledger, samples, and counters that a process reads itself.
#
# The kernel is Debian's for amd64, which has all of these drivers.  The drivers
# only look at CPUID's vendor, family and model: that there never was a Pentium
# III with 64-bit mode does not matter to them.

import collections
import glob
import os
import re
import shutil
import subprocess
import threading

from harness import TIMEOUT, Checks, Failure, Session, in_guest
from ledger import Recorder
import artifacts
import debian
import guest

# name      the name of the test
# cpu       QEMU's -cpu, without pmu=on
# line      what the driver prints after "Performance Events: ", but for
#           ", Intel PMU driver"
# counters  number of general-purpose counters
# kernel    the kernel; None for that of the other functional tests
# branches  of the program exact-1, as the driver's event counts them
Pmu = collections.namedtuple('Pmu', 'name cpu line counters kernel branches')

EXACT_INSTRUCTIONS = 2 * 1000000 + 120
EXACT_BRANCHES = 1000000 + 41
FAR_BRANCHES = 11       # of them
# RETIRED_BRANCH_TYPE has no bits for jumps and far branches, of which exact-1
# has one and eleven.
NETBURST_BRANCHES = EXACT_BRANCHES - 1 - FAR_BRANCHES
# AMD's RETIRED_FAR_CONTROL_TRANSFERS.  Like all branches, they include
# interrupts and exceptions.
AMD_FAR = 'r00c6:u'
# Of a program that runs for a second at most: 250 ticks, and some faults
DELIVERIES_MOST = 1000


def pmu(name, cpu, line, counters, kernel=None, branches=EXACT_BRANCHES):
    return Pmu(name, cpu, line, counters, kernel, branches)


def intel(model):
    """The -cpu of an Intel CPU of family 6 that can run the 64-bit kernel."""
    return 'qemu64,vendor=GenuineIntel,family=6,model=%d,stepping=3' % model


PMUS = (
    pmu('Pentium III', intel(8), 'p6 PMU driver', 2),
    pmu('Pentium M', intel(13), 'p6 PMU driver', 2),
    # Kernel 5.10: since 6.1 Linux writes an old period to the counter (commit
    # dbf4e792bead), as p4_pmu_set_period() reads it before it is computed.
    pmu('Pentium 4', 'kvm64', 'Netburst events, Netburst P4/Xeon PMU driver',
        18, '5.10', NETBURST_BRANCHES),
    pmu('Core Duo', 'core2duo,model=14', 'Core events', 2),
    pmu('Core 2', 'core2duo', 'Core2 events', 2),
    pmu('Atom', 'core2duo,model=28', 'Atom events', 2),
    pmu('Nehalem', 'Nehalem', 'Nehalem events', 4),
    pmu('Westmere', 'Westmere', 'Westmere events', 4),
    pmu('Sandy Bridge', 'SandyBridge', 'SandyBridge events', 4),
    pmu('Ivy Bridge', 'IvyBridge', 'IvyBridge events, full-width counters', 4),
    pmu('Haswell', 'Haswell', 'Haswell events, full-width counters', 4),
    pmu('Broadwell', 'Broadwell', 'Broadwell events, full-width counters', 4),
    pmu('Skylake', 'Skylake-Server', 'Skylake events, full-width counters',
        4),
    pmu('K7', 'qemu64,family=6,model=8', 'AMD PMU driver', 4),
    pmu('K8', 'qemu64', 'AMD PMU driver', 4),
    pmu('family 10H', 'phenom', 'AMD PMU driver', 4),
    pmu('Bulldozer', 'qemu64,family=21,model=2',
        'Fam15h core perfctr, AMD PMU driver', 6),
    pmu('Zen', 'EPYC', 'Fam17h+ core perfctr, AMD PMU driver', 6),
    pmu('Zen 4', 'EPYC-Genoa', 'Fam17h+ core perfctr, AMD PMU driver', 6),
)

# PMUs that differ from one of the others in little but the table of events,
# which tests/unit/test-perfmon-older tests.  Only --long boots them.
LIKE_ANOTHER = ('Pentium M', 'Core Duo', 'Atom', 'Nehalem', 'Westmere',
                'Sandy Bridge', 'Ivy Bridge', 'Haswell', 'Broadwell', 'K7',
                'family 10H', 'Bulldozer', 'Zen', 'pentium2', 'pentium3',
                'athlon', 'qemu32', 'kvm32', 'n270')

# (generic event of Linux, item of the ledger that it counts)
LEDGER_EVENTS = (
    ('cycles', 'cycles'),
    ('branch-misses', 'branch-misses'),
)
# Relative to the ledger's count.  It also has the few system calls that the
# process makes while perf switches a counter on and off.
LEDGER_TOLERANCE = 0.01

PERIOD = 20000

TESTS = []
LONG_TESTS = []


def check_driver(checks, s, pmu):
    log = s.kernel_log()
    lines = [line for line in log.splitlines() if 'Performance Events:' in line]
    expected = r'Performance Events: %s(, \w+ PMU driver)?\.' % (
        re.escape(pmu.line))
    checks.that(len(lines) == 1 and re.search(expected, lines[0]),
                'expected %s in %s' % (expected, lines))
    checks.that('... generic registers:      %d\n' % pmu.counters in log,
                'expected %d generic registers' % pmu.counters)


def check_exact(checks, s, pmu):
    """Check exact counts, one event at a time: when NetBurst's driver moves two
    events to other counters, it may put both into one.
    """
    for event, expected in (('instructions:u', EXACT_INSTRUCTIONS),
                            ('branches:u', pmu.branches)):
        if has_deliveries(pmu, event):
            counts = s.stat('-e %s,%s' % (event, AMD_FAR), in_guest('exact-1'))
            counts[event] -= counts[AMD_FAR] - FAR_BRANCHES
            checks.that(counts[AMD_FAR] >= FAR_BRANCHES,
                        'expected at least %d far branches, observed %d'
                        % (FAR_BRANCHES, counts[AMD_FAR]))
        else:
            counts = s.stat('-e ' + event, in_guest('exact-1'))
        checks.equal(event, counts[event], expected)


def has_deliveries(pmu, event):
    """Does the event count interrupts and exceptions as well?"""
    return 'AMD' in pmu.line and (event == 'branches:u' or
                                  'Fam17h+' not in pmu.line)


def check_instructions(checks, pmu, name, observed, expected):
    """Check a count of instructions, in which there may be deliveries."""
    most = DELIVERIES_MOST if has_deliveries(pmu, 'instructions:u') else 0
    checks.between(name, observed, expected, expected + most)


def check_samples(checks, s):
    # Without --per-thread perf opens an event for each CPU.  A task that moves
    # to another CPU leaves the period of its event unfinished.
    s.shell('perf record -q --per-thread -o /tmp/data -e instructions:u -c %d '
            '-- %s >/tmp/out 2>&1' % (PERIOD, in_guest('exact-1')))
    text = s.shell('perf report -i /tmp/data --stdio 2>/dev/null')
    found = re.search(r'# Samples: (\d+)', text)
    checks.equal('samples', int(found.group(1)) if found else 0,
                 EXACT_INSTRUCTIONS // PERIOD)


def check_vperfctr(checks, s, pmu):
    """Use counters as users of perfctr did (programs/vperfctr.c)."""
    modes = ['a-mode', 'restarts', 'i-mode']
    # Not with Linux's p4.c: it puts two events of one kind into one counter,
    # which then has the sum of both.
    if pmu.kernel is None:
        modes.append('global')
    for mode in modes:
        for line in s.shell('%s %s' % (in_guest('vperfctr'),
                                       mode)).splitlines():
            name, _, expected, _, observed = line.split()
            if name.startswith('a-mode'):
                check_instructions(checks, pmu, name, int(observed),
                                   int(expected))
            else:
                checks.equal(name, int(observed), int(expected))


def check_watchdog(checks, s, pmu):
    """Check that the NMI watchdog counts cycles and leaves the other counters
    to perf.
    """
    control = '/proc/sys/kernel/nmi_watchdog'
    checks.equal('nmi_watchdog', s.shell('echo 1 >%s && cat %s'
                                         % (control, control)), '1\n')
    counts = s.stat('-e instructions:u', in_guest('exact-1'))
    check_instructions(checks, pmu, 'instructions:u beside it',
                       counts['instructions:u'], EXACT_INSTRUCTIONS)
    s.shell('echo 0 >' + control)


def check_ledger(checks, s):
    s.guest.on_sync = recorder = Recorder(s.guest)
    for event, item in LEDGER_EVENTS:
        counts = s.region('-e %s:u' % event,
                          'workload --perf /tmp/ctl --sync branches 1000000')
        expected = recorder.between['branches'].count(item, levels=('usr',))
        checks.close(event, counts[event + ':u'], expected,
                     LEDGER_TOLERANCE * expected)


def check_turns(checks, s, pmu):
    """Check that more events than counters take turns, and that perf scales
    each to its count.  Events that are not modelled take turns, too.
    """
    events = ['instructions:u'] * (pmu.counters + 2)
    s.shell("perf stat -x ';' -o /tmp/stat -e %s -- workload nops 200000 "
            ">/tmp/out 2>&1" % ','.join(events))
    found = [line.split(';') for line in s.shell('cat /tmp/stat').splitlines()
             if 'instructions' in line]
    checks.equal('events counted', len(found), len(events))
    checks.that(all(not fields[0].startswith('<') for fields in found),
                'expected a count of each, observed %s' % found)


# (workload, iterations, class that limits it, its least share of the slots)
TOPDOWN = (
    ('nops', 300000, 'retiring', 0.8),
    ('chase', 300000, 'backend-bound', 0.8),
    ('branches', 1000000, 'bad-speculation', 0.4),
)
# Drivers that have the events below.  They form one group of general-purpose
# counters, as cycles use a fixed one.  perf's counts are from several turns.
TOPDOWN_LINES = 'SandyBridge', 'IvyBridge', 'Haswell', 'Broadwell', 'Skylake'
TOPDOWN_EVENTS = ('topdown-total-slots', 'topdown-slots-issued',
                  'topdown-slots-retired', 'topdown-fetch-bubbles',
                  'topdown-recovery-bubbles')
# Relative to the slots: perf counts a little more than the ledger, as above.
TOPDOWN_TOLERANCE = 0.01


def topdown_classes(counts):
    """The level-1 classes by Linux's events, with four slots per cycle.
    Source: Yasin, ISPASS 2014.
    """
    slots, issued, retired, bubbles, recovery = (
        counts[event + ':u'] if event + ':u' in counts else counts[event]
        for event in TOPDOWN_EVENTS)
    classes = {'retiring': retired / slots, 'frontend-bound': bubbles / slots,
               'bad-speculation': (issued - retired + recovery) / slots}
    classes['backend-bound'] = 1 - sum(classes.values())
    return classes


def check_topdown(checks, s, pmu):
    if not pmu.line.startswith(TOPDOWN_LINES):
        return
    for name, rounds, dominant, share in TOPDOWN:
        s.guest.on_sync = recorder = Recorder(s.guest)
        found = topdown_classes(
            s.region('-e "{%s}:u"' % ','.join(TOPDOWN_EVENTS),
                     'workload --perf /tmp/ctl --sync %s %d' % (name, rounds)))
        expected = recorder.between[name].fractions(levels=('usr',))
        checks.between('%s: %s' % (name, dominant), found[dominant], share, 1)
        for each in 'retiring', 'frontend-bound':
            checks.close('%s: %s' % (name, each), found[each], expected[each],
                         TOPDOWN_TOLERANCE)


def run(options, pmu):
    """Boot a guest with this PMU and make all checks in it."""
    names = 'exact-1', 'vperfctr'
    session = Session(
        guest.Options(qemu=options.qemu, cpu=pmu.cpu + ',pmu=on', smp=2,
                      kernel=pmu.kernel or guest.DEFAULT_KERNEL),
        {name: options.programs[name] for name in names})
    checks = Checks()
    try:
        check_driver(checks, session, pmu)
        check_exact(checks, session, pmu)
        check_samples(checks, session)
        check_vperfctr(checks, session, pmu)
        check_watchdog(checks, session, pmu)
        check_ledger(checks, session)
        check_topdown(checks, session, pmu)
        if pmu.kernel is None:
            check_turns(checks, session, pmu)
        for complaint in 'WARNING: CPU', 'unchecked MSR access':
            checks.that(complaint not in session.kernel_log(),
                        'the kernel said "%s"' % complaint)
    finally:
        session.close()
    return checks.done()


# 32-bit kernels, from Debian's last release that has them, for CPU models
# without 64-bit mode.  The guests have no user space: the driver prints its
# message before the kernel finds no root file system and panics.

SUITE_686 = 'bookworm'

# (QEMU's -cpu, the kernel's flavour, what the driver prints)
PMUS_686 = (
    ('pentium2', '686', 'p6 PMU driver'),
    ('pentium3', '686-pae', 'p6 PMU driver'),
    ('qemu32', '686', 'p6 PMU driver'),
    ('athlon', '686', 'AMD PMU driver'),
    ('kvm32', '686-pae', 'Netburst P4/Xeon PMU driver'),
    ('coreduo', '686-pae', 'Core events'),
    ('n270', '686-pae', 'Atom events'),
)

fetching = threading.Lock()


def kernel_686(flavour):
    """The path of a kernel image of this flavour; fetch it at first use."""
    directory = os.path.join(artifacts.build_dir(), 'guest', 'kernels', flavour)
    image = os.path.join(directory, 'vmlinuz')
    with fetching:
        if os.path.exists(image):
            return image
        apt = debian.Apt(artifacts.build_dir(), SUITE_686, 'apt-i386', 'i386')
        text = apt.read('run', 'apt-cache', 'show', '--no-all-versions',
                        'linux-image-' + flavour)
        package = re.search(r'^Depends: (\S+)', text, re.MULTILINE).group(1)
        new = directory + '.new'
        apt.unpack(new, package)
        os.makedirs(directory, exist_ok=True)
        shutil.move(glob.glob(new + '/boot/vmlinuz-*')[0], image)
        shutil.rmtree(new)
    return image


def run_686(options, cpu, flavour, line):
    command = [options.qemu or artifacts.default_qemu(), '-nodefaults',
               '-no-user-config', '-display', 'none', '-no-reboot',
               '-accel', 'tcg', '-m', '512M', '-serial', 'stdio',
               '-cpu', cpu + ',pmu=on', '-kernel', kernel_686(flavour),
               '-append', 'console=ttyS0 panic=-1 cryptomgr.notests']
    log = subprocess.run(command, stdout=subprocess.PIPE, text=True,
                         errors='replace', timeout=TIMEOUT,
                         stdin=subprocess.DEVNULL, check=True).stdout
    found = [each for each in log.splitlines() if 'Performance Events:' in each]
    if len(found) != 1 or line not in found[0]:
        raise Failure('expected "%s" in %s\n%s' % (line, found, log[-2000:]))
    return found[0].strip()


def register_686(cpu, flavour, line):
    tests = LONG_TESTS if cpu in LIKE_ANOTHER else TESTS
    tests.append(('%s: Debian %s, %s kernel' % (cpu, SUITE_686, flavour),
                  lambda options: run_686(options, cpu, flavour, line)))


for each in PMUS_686:
    register_686(*each)


def register(pmu):
    tests = LONG_TESTS if pmu.name in LIKE_ANOTHER else TESTS
    tests.append(('%s: driver, exact counts, samples, perfctr' % pmu.name,
                  lambda options: run(options, pmu)))


for each in PMUS:
    register(each)
