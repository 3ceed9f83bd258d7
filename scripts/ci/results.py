# SPDX-License-Identifier: GPL-2.0-or-later
#
# Results of test cases, one for each case.  They are written as JSON lines,
# read, merged and compared.

import collections
import json
import os
import uuid

PASS, FAIL, SKIP, ERROR = 'pass', 'fail', 'skip', 'error'
# The statuses that the rules for known failures make of PASS and FAIL
XFAIL, XPASS, FLAKY = 'xfail', 'xpass', 'flaky'
STATUSES = (PASS, FAIL, SKIP, ERROR, XFAIL, XPASS, FLAKY)
# Statuses with which a run ends with EXIT_UNEXPECTED
UNEXPECTED = (FAIL,)
UNEXPECTED_IF_STRICT = (FAIL, XPASS)

# Exit statuses of scripts/kernel-ci
EXIT_EXPECTED = 0
EXIT_UNEXPECTED = 1
EXIT_USAGE = 2
EXIT_INFRASTRUCTURE = 3
EXIT_NOTHING = 4
EXIT_INTERRUPTED = 130

RESULTS = 'results.jsonl'
# The suffix of the names of CPUs without their PMU, for a comparison
NO_PMU = '-nopmu'

FIELDS = ('kernel', 'release', 'cpu', 'suite', 'case', 'status', 'reason',
          'pmu', 'instructions', 'topdown', 'seconds')
Result = collections.namedtuple('Result', FIELDS)
Result.__doc__ = """How a test case ended.

kernel    its name, see cells.Kernel
release   its version, see cells.Kernel
cpu       name of the CPU, see cells.Cpu
suite, case
status    one of STATUSES
reason    why it did not pass; '' if it passed
pmu       did it use counters, i.e. did the PMU's ledger grow meanwhile?
instructions  retired instructions by which the ledger grew
topdown   slots by which it grew, {level-1 class: slots}; {} without a PMU
seconds   time that it took on the host
"""


def ident(result):
    """The name of a case in all outputs.  It is unique in a run."""
    return '/'.join((result.kernel, result.cpu, result.suite, result.case))


def write(results, path):
    """Write JSON lines, sorted by ident, atomically."""
    # Two processes may do the same job: each writes to a file of its own first.
    new = '%s.%s.new' % (path, uuid.uuid4().hex)
    with open(new, 'w', encoding='utf-8') as out:
        for result in sorted(results, key=ident):
            out.write(json.dumps(result._asdict(), sort_keys=True) + '\n')
    os.replace(new, path)


def read(path, empty=False):
    """The Results in a file of JSON lines, or in a directory's RESULTS.
    OSError if it cannot be read.  ValueError if write() did not write it, or if
    it has no Result and empty is False.
    """
    if os.path.isdir(path):
        path = os.path.join(path, RESULTS)
    found = []
    with open(path, encoding='utf-8') as lines:
        for number, line in enumerate(lines, 1):
            try:
                result = Result(**json.loads(line))
            except (TypeError, ValueError):
                raise ValueError('%s:%d is not the result of a case'
                                 % (path, number)) from None
            if result.status not in STATUSES:
                raise ValueError('%s:%d: unknown status %r'
                                 % (path, number, result.status))
            found.append(result)
    if not found and not empty:
        raise ValueError('%s has no result of a case' % path)
    return found


def merge(parts):
    """The union of lists of Results, whatever their order.  ValueError if two
    Results of a case have different statuses.
    """
    found = {}
    for part in parts:
        for result in part:
            other = found.setdefault(ident(result), result)
            if other.status != result.status:
                raise ValueError('%s is both %s and %s' % (
                    ident(result), other.status, result.status))
            # Results with the same status differ in other fields, such as their
            # times.  Which one is kept must not depend on the order of parts.
            found[ident(result)] = min(other, result, key=repr)
    return sorted(found.values(), key=ident)


def compare(old, new):
    """[(ident, status before, status now)] of the cases whose status differs;
    None is the status of a missing case.
    """
    before = {ident(r): r.status for r in old}
    now = {ident(r): r.status for r in new}
    return [(name, before.get(name), now.get(name))
            for name in sorted(set(before) | set(now))
            if before.get(name) != now.get(name)]


def worse(before, now):
    """Is the status now worse than before?  Both may be None."""
    bad = FAIL, ERROR
    return (now in bad and before not in bad or
            before == PASS and now in (SKIP, None))


def untested(results):
    """The [(kernel, CPU)] on which no case used a counter.  CPUs whose name
    ends in NO_PMU are left out.
    """
    used = {}
    for r in results:
        if not r.cpu.endswith(NO_PMU):
            cell = r.kernel, r.cpu
            used[cell] = used.get(cell, False) or (
                r.pmu and r.status not in (SKIP, ERROR))
    return sorted(cell for cell, any_used in used.items() if not any_used)


def exit_status(results, strict=False, whole=True):
    """The exit status of kernel-ci for these results.  whole: they are those of
    a whole run, not of a part that may have no case that needs counters.
    """
    statuses = {r.status for r in results}
    if ERROR in statuses:
        return EXIT_INFRASTRUCTURE
    if statuses & set(UNEXPECTED_IF_STRICT if strict else UNEXPECTED):
        return EXIT_UNEXPECTED
    if whole and (untested(results) or not any(r.pmu for r in results)):
        return EXIT_NOTHING
    return EXIT_EXPECTED


def tally(results):
    """{status: number of results}, with all statuses."""
    counted = collections.Counter(r.status for r in results)
    return {status: counted[status] for status in STATUSES}


def in_words(results):
    """The tally as a line of text for users."""
    counted = tally(results)
    words = ['%d %s' % (counted[s], w) for s, w in (
        (PASS, 'passed'), (FAIL, 'failed'), (XFAIL, 'failed as expected'),
        (XPASS, 'passed unexpectedly'), (FLAKY, 'flaky'), (SKIP, 'skipped'),
        (ERROR, 'not run')) if counted[s] or s in (PASS, FAIL, SKIP)]
    used = sum(r.pmu for r in results)
    return '%s; counters in use in %d' % (', '.join(words), used)
