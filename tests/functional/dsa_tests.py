# SPDX-License-Identifier: GPL-2.0-or-later
#
# Tests of intel-dsa with Debian's kernel: its unmodified idxd driver,
# accel-config, and dmatest, whose verbose lines say what it has copied.

import contextlib
import re

from boot_tests import LONG_TESTS, booted, test
from harness import Checks, Failure, Skip
import guest

PARAMETERS = '/sys/module/dmatest/parameters'
DRIVER = '/sys/bus/pci/drivers/idxd'
# The events of the two perf command lines in the commit that introduced idxd's
# performance monitor (Linux commit 81dd4d4d6178)
FILTERED = ('dsa0/filter_wq=0x1,filter_tc=0x1,filter_sz=0x7,filter_eng=0x1,'
            'event=0x8,event_category=0x3/')
READ_32B = 'dsa0/event=0x1,event_category=0x1/'
# Below 4 KiB: copies of this size pass a filter with bits 0 to 2 of the sizes.
SMALL_BUFFER = 4000
COPIES = 19
# A kernel whose idxd differs from that of Debian's stable kernel
NEWEST = 'trixie-backports'

Copy = re.compile(r"'test passed' with src_off=0x(\w+) dst_off=0x(\w+) "
                  r'len=0x(\w+)')


@contextlib.contextmanager
def dsa(options, devices, parameters='tc_override=1', **kwargs):
    """A guest with these devices, ready for dmatest, in a with statement."""
    with booted(options, dsa=devices, machine='q35', smp=2, **kwargs) as s:
        s.shell('dsa-setup ' + parameters)
        yield s


def enable_again(session):
    """Disable the only device, which forgets its configuration, and set it up
    again.
    """
    session.shell('rmmod dmatest; cd /guest/dsa && '
                  './accel-config disable-wq dsa0/wq0.0 && '
                  './accel-config disable-device dsa0 && '
                  'dsa-setup tc_override=1')


def run_dmatest(session, events='', device=0, iterations=COPIES,
                size=SMALL_BUFFER, options='', verbose='Y', timeout=60000):
    """Run dmatest while perf counts.  Returns {event: count} and, if verbose,
    the copies, [(source offset, destination offset, length)].
    """
    session.shell('rmmod dmatest; insmod /guest/dsa/dmatest.ko; '
                  'dmesg -c >/dev/null; cd %s && echo %d >timeout && '
                  'echo %d >iterations && echo %s >verbose && '
                  'echo %d >test_buf_size && echo "dma%dchan0" >channel'
                  % (PARAMETERS, timeout, iterations, verbose, size, device))
    # Reading dmatest's "wait" does not wait for threads that have not begun.
    command = ("sh -c 'echo 1 >%s/run; "
               "until dmesg | grep -q summary; do sleep 0.01; done'"
               % PARAMETERS)
    counts = {}
    if events:
        counts = session.stat('-a %s %s' % (
            options, ' '.join('-e ' + e for e in events)), command)
    else:
        session.shell(command)
    log = session.kernel_log()
    summary = re.search(r'summary (\d+) tests, (\d+) failures', log)
    if not summary or summary.group(2) != '0':
        raise Failure('dmatest did not pass:\n' + log)
    copies = [tuple(int(x, 16) for x in found)
              for found in Copy.findall(log)]
    if verbose == 'Y' and len(copies) != int(summary.group(1)):
        raise Failure('dmatest says it did %s copies, but shows %d:\n%s'
                      % (summary.group(1), len(copies), log))
    return counts, copies


def touched(offset, length, unit):
    """How many units of unit bytes a range of bytes touches."""
    return (offset + length - 1) // unit - offset // unit + 1


def sum_touched(copies, which, unit):
    return sum(touched(c[which], c[2], unit) for c in copies)


def event(category, bits, device=0, filters=''):
    return 'dsa%d/%sevent=0x%x,event_category=0x%x/' % (device, filters, bits,
                                                        category)


@test('DSA: idxd, accel-config, dmatest, and perf counts what was copied')
def dsa_counts(options):
    with dsa(options, ['', '']) as s:
        checks = Checks()
        listed = s.shell('perf list 2>/dev/null | cat')
        for name in 'dsa0/', 'dsa1/':
            checks.that(name in listed, 'perf list has no ' + name)
        check_seed(checks, s)
        check_categories(checks, s)
        check_filters(checks, s)
        check_two(checks, s)
        check_intervals(checks, s)
        check_rebinding(checks, s)
        return checks.done()


def check_seed(checks, session):
    """The events of the two command lines."""
    counts, copies = run_dmatest(session, [FILTERED, READ_32B])
    checks.equal('copies', len(copies), COPIES)
    checks.equal(FILTERED, counts[FILTERED], COPIES)
    checks.equal(READ_32B, counts[READ_32B], sum_touched(copies, 0, 32))


def check_categories(checks, session):
    """Each category of events, with copies of more than a page."""
    events = [event(0, 0x10), event(1, 0x1), event(1, 0x2), event(1, 0x4),
              event(1, 0x20), event(3, 0x8), event(4, 0x1), event(4, 0x10)]
    counts, copies = run_dmatest(session, events, iterations=100, size=16384)
    n = len(copies)
    want = [n, sum_touched(copies, 0, 32), sum_touched(copies, 1, 32), n, n,
            n, n, n]
    for name, expected in zip(events, want):
        checks.equal(name, counts[name], expected)
    # Events of other operations, of queues of another kind, and of errors
    counts, copies = run_dmatest(session, [
        event(0, 0xf), event(1, 0x10), event(3, 0x1ffff7), event(4, 0xe)])
    for name, count in counts.items():
        checks.equal(name, count, 0)


def check_filters(checks, session):
    """Each filter, with a value that passes and one that does not.  Events
    come in pairs, so that each counter gets the same filter each time: a
    filter stays in a counter until the driver writes another one, see below.
    """
    for name, passes, fails, category, bits in (
            ('wq', 0x1, 0x2, 3, 0x8), ('tc', 0x1, 0x2, 1, 0x4),
            ('sz', 0x7, 0xf8, 1, 0x4), ('eng', 0x1, 0xe, 1, 0x4)):
        # yes uses counter 0, no counter 1.
        yes = event(category, bits,
                    filters='filter_%s=0x%x,' % (name, passes))
        no = event(category, bits, filters='filter_%s=0x%x,' % (name, fails))
        counts, _ = run_dmatest(session, [yes, no])
        checks.equal(yes, counts[yes], COPIES)
        checks.equal(no, counts[no], 0)
        # The filters stay in the counters: let everything pass again.
        run_dmatest(session, [
            event(category, bits, filters='filter_%s=0xff,' % name),
            event(category, 0x10, filters='filter_%s=0xff,' % name)])
    # Filters for traffic classes and page sizes do not apply to operations.
    for name, bits, every in ('tc', 0x2, 0xff), ('pgsz', 0x8, 0xf):
        name = 'filter_%s=0x%%x,' % name
        ignores = event(3, 0x8, filters=name % bits)
        counts, _ = run_dmatest(session, [ignores])
        checks.equal(ignores, counts[ignores], COPIES)
        run_dmatest(session, [event(3, 0x8, filters=name % every)])


def check_two(checks, session):
    """A device does not count what the other one does."""
    events = [event(3, 0x8, device=0), event(3, 0x8, device=1)]
    counts, _ = run_dmatest(session, events, device=1)
    checks.equal(events[0], counts[events[0]], 0)
    checks.equal(events[1], counts[events[1]], COPIES)


def check_intervals(checks, session):
    """perf stat -I: the intervals add up."""
    name = event(3, 0x8)
    # Not verbose: the kernel's log would not hold so many lines.
    run_dmatest(session, [name], iterations=2000, options='-I 10',
                verbose='N')
    counts = [float(fields[1]) for fields in
              (line.split(';') for line in
               session.shell('cat /tmp/stat').splitlines())
              if len(fields) > 2 and fields[0].strip()[:1].isdigit()]
    checks.between('intervals', len(counts), 2, None)
    checks.equal('sum of %s' % name, sum(counts), 2000)


def check_rebinding(checks, session):
    """Unbind and bind the driver, and count again.  Before that, dmatest must
    release its channels and the device must be disabled, see below.
    """
    address = session.shell('ls %s | grep ^0000 | head -n 1'
                            % DRIVER).strip()
    session.shell('rmmod dmatest; cd /guest/dsa; for n in 0 1; do '
                  './accel-config disable-wq dsa$n/wq$n.0; '
                  './accel-config disable-device dsa$n; done 2>/dev/null')
    session.shell('cd %s && echo %s >unbind && echo %s >bind'
                  % (DRIVER, address, address))
    session.shell('rmmod idxd; dsa-setup tc_override=1')
    counts, _ = run_dmatest(session, [FILTERED])
    checks.equal('after binding again: ' + FILTERED, counts[FILTERED],
                 COPIES)
    log = session.kernel_log()
    checks.that('BUG' not in log and 'WARNING' not in log,
                'the kernel complains:\n' + log)


@test('DSA: traffic class 1 without tc_override', LONG_TESTS)
def dsa_traffic_class(options):
    with dsa(options, [''], parameters='') as s:
        checks = Checks()
        names = [event(1, 0x4, filters='filter_tc=0x%x,' % bits)
                 for bits in (0x1, 0x2)]
        counts, _ = run_dmatest(s, names)
        checks.equal(names[0], counts[names[0]], 0)
        checks.equal(names[1], counts[names[1]], COPIES)
        return checks.done()


@test('DSA: the same with the newest kernel, the queue enabled for each run',
      LONG_TESTS)
def dsa_newest(options):
    with dsa(options, [''], kernel=NEWEST) as s:
        checks = Checks()
        for names in ([FILTERED, READ_32B],
                      [event(0, 0x10), event(4, 0x1), event(4, 0x10)]):
            counts, copies = run_dmatest(s, names)
            checks.equal('copies', len(copies), COPIES)
            for name in names:
                checks.equal(name, counts[name],
                             sum_touched(copies, 0, 32) if name == READ_32B
                             else COPIES)
            enable_again(s)
        return checks.done()


# Tests that known bugs of the driver show (docs/system/devices/intel-dsa.rst).
# If one does not, the kernel is newer than the documentation.

def fixed(what):
    raise Skip('this kernel has it fixed: ' + what)


@test('DSA: a bug of idxd: filters stay in a counter', LONG_TESTS)
def dsa_stale_filter(options):
    """A filter stays in a counter until another filter is written."""
    with dsa(options, ['']) as s:
        checks = Checks()
        plain = event(3, 0x8)
        run_dmatest(s, [event(3, 0x8, filters='filter_wq=0x2,')])
        counts, _ = run_dmatest(s, [plain])
        if counts[plain] == COPIES:
            fixed('no filter stayed')
        checks.equal('%s after a filter for another WQ' % plain,
                     counts[plain], 0)
        run_dmatest(s, [event(3, 0x8, filters='filter_wq=0x1,')])
        counts, _ = run_dmatest(s, [plain])
        checks.equal('%s after a filter for this WQ' % plain, counts[plain],
                     COPIES)
        return checks.done()


@test('DSA: a bug of idxd: wraps of a counter are lost', LONG_TESTS)
def dsa_lost_wraps(options):
    """A counter of 12 bits wraps within a few copies.  The driver adds the
    difference modulo 4096 whenever it reads the counter.
    """
    with dsa(options, ['perf-width=12']) as s:
        checks = Checks()
        counts, copies = run_dmatest(s, [READ_32B], iterations=100,
                                     size=16384)
        real = sum_touched(copies, 0, 32)
        lost = real - counts[READ_32B]
        checks.that(lost >= 0 and lost % 4096 == 0,
                    '%d counted, %d in truth' % (counts[READ_32B], real))
        checks.done()
        return 'counted %d of %d' % (counts[READ_32B], real)


def unbind_fails(options, device, append, command, sign):
    """Check that a command makes the kernel die with sign in its last words.
    Skip if it does not.
    """
    with dsa(options, [device], append=append) as s:
        s.shell('rmmod dmatest')
        try:
            result = s.guest.run(command, 120)
            log = s.guest.run('dmesg', 120).stdout if result.status else ''
        except (guest.GuestDied, guest.GuestTimeout) as e:
            log = str(e)
    if not log:
        fixed(command)
    checks = Checks()
    checks.that(sign in log, 'expected %s in:\n%s' % (sign, log))
    checks.done()


@test('DSA: a bug of idxd: disabling a device without an event log',
      LONG_TESTS)
def dsa_no_event_log(options):
    unbind_fails(options, 'event-log=off', '',
                 'cd /guest/dsa && ./accel-config disable-wq dsa0/wq0.0 && '
                 './accel-config disable-device dsa0',
                 'idxd_device_evl_free')


@test('DSA: a bug of idxd: unbinding an enabled device', LONG_TESTS)
def dsa_use_after_free(options):
    """The driver uses what it has freed, which slub_debug fills with 0x6b."""
    unbind_fails(options, '', 'slub_debug=FP',
                 'cd %s && echo $(ls | grep ^0000) >unbind' % DRIVER,
                 '6b6b6b6b')


@test('DSA: a bug of idxd: a channel that was let go cannot be used again',
      LONG_TESTS)
def dsa_lost_handle(options):
    """The driver loses its interrupt handle.  Its descriptors then have
    0xffff, which the device does not have: an error, and no interrupt.
    """
    with dsa(options, [''], kernel=NEWEST) as s:
        errors = event(4, 0x8)
        run_dmatest(s, [errors])
        try:
            run_dmatest(s, timeout=1000, iterations=1)
        except Failure as e:
            checks = Checks()
            checks.that('test timed out' in str(e),
                        'expected a copy that times out in:\n%s' % e)
            checks.done()
            return 'timed out'
        fixed('the second run passed')
