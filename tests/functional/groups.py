# SPDX-License-Identifier: GPL-2.0-or-later
#
# The group of slots and its metrics as perf stat prints them, and checks of
# what holds for them whatever runs.

from harness import Failure
from ledger import LEVEL1

METRICS = ('topdown-retiring', 'topdown-bad-spec', 'topdown-fe-bound',
           'topdown-be-bound')
GROUP = '{slots,%s}' % ','.join(METRICS)
GROUP_USER = GROUP + ':u'
# {metric: its class in the ledger}
CLASS_OF = dict(zip(METRICS, LEVEL1))

# The resolution of PERF_METRICS, as a fraction of the slots
STEP = 1 / 255


def need_counts(counts, *events):
    for event in events:
        if counts.get(event) is None:
            raise Failure('%s was not counted: %r' % (event, counts))


def group_counts(counts):
    """({ledger class: count}, slots) of GROUP."""
    need_counts(counts, 'slots', *METRICS)
    return {CLASS_OF[m]: counts[m] for m in METRICS}, counts['slots']


def check_conserved(checks, counts):
    """Check that the four metrics sum to the slots, within the rounding of each
    to 1/255 of the slots.
    """
    classes, slots = group_counts(counts)
    checks.that(slots > 0, 'slots: expected more than 0')
    checks.close('sum of the metrics', sum(classes.values()), slots,
                 4 * STEP * slots)


def check_against(checks, counts, ledger, tolerance, **where):
    """Check that slots and classes agree with the ledger, within tolerance,
    which is a share of the slots.
    """
    classes, slots = group_counts(counts)
    expected = ledger.count('slots', **where)
    checks.that(expected > 0, 'the ledger counted no slots')
    checks.close('slots', slots, expected, tolerance * expected)
    for name, count in classes.items():
        checks.close(name, count, ledger.count(name, **where),
                     tolerance * expected)
