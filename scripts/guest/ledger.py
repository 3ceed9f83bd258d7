# SPDX-License-Identifier: GPL-2.0-or-later
#
# The exact ledgers of the PMUs of a guest's vCPUs, as QEMU's x-query-pmu
# returns them.  Tests take them for the truth.

# Level-1 TopDown classes as sums of the ledger's leaf classes.
LEVEL1 = {
    'retiring': ('light-ops', 'heavy-ops'),
    'bad-speculation': ('br-mispredict', 'machine-clears'),
    'frontend-bound': ('fetch-latency', 'fetch-bandwidth'),
    'backend-bound': ('memory-bound', 'core-bound'),
}
LEVELS = ('os', 'usr')


class Ledger:
    """Exact counts of a guest at one instant, or between two instants."""

    def __init__(self, counts):
        # {vCPU: {item: {level: count}}}
        self._counts = counts

    @classmethod
    def read(cls, guest):
        """The current ledgers of all vCPUs of a guest (guest.Guest)."""
        return cls({
            pmu['cpu-index']: {c['name']: {k: c[k] for k in LEVELS}
                               for c in pmu['ledger']}
            for pmu in guest.qmp('x-query-pmu')})

    def __sub__(self, before):
        return Ledger({
            cpu: {name: {k: count[k] - before._counts[cpu][name][k]
                         for k in LEVELS}
                  for name, count in items.items()}
            for cpu, items in self._counts.items()})

    def cpus(self):
        """The indices of the vCPUs that have a PMU."""
        return sorted(self._counts)

    def count(self, item, cpus=None, levels=LEVELS):
        """The count of an item or a level-1 class, summed over the given vCPUs
        (all by default) and privilege levels.
        """
        names = LEVEL1.get(item, (item,))
        return sum(self._counts[cpu][name][level]
                   for cpu in (self._counts if cpus is None else cpus)
                   for name in names
                   for level in levels)

    def fractions(self, cpus=None, levels=LEVELS):
        """The level-1 classes as fractions of the slots; 0 if there are no
        slots.
        """
        slots = self.count('slots', cpus, levels)
        return {name: self.count(name, cpus, levels) / slots if slots else 0
                for name in LEVEL1}

    def perf_fractions(self, cpus=None, levels=LEVELS):
        """The level-1 fractions that perf's formulas for Ice Lake give.

        Source: tools/perf/pmu-events/arch/x86/icelakex/icx-metrics.json of
        Linux.  Five slots for each recovery count as backend bound; bad
        speculation is what the other classes leave.
        """
        classes = self.fractions(cpus, levels)
        slots = self.count('slots', cpus, levels)
        if slots:
            classes['backend-bound'] += (
                5 * self.count('clears', cpus, levels) / slots)
            classes['bad-speculation'] = max(0, 1 - sum(
                v for k, v in classes.items() if k != 'bad-speculation'))
        return classes


class Recorder:
    """Reads the ledger where programs in the guest ask for it.

    It is meant to be a guest's on_sync.  Its field between, {name: Ledger}, has
    what was counted from a "begin NAME CPU" to the "end NAME CPU".
    """

    def __init__(self, guest):
        self._guest = guest
        self._begun = {}
        self.between = {}

    def __call__(self, text):
        words = text.split()
        if len(words) >= 2 and words[0] == 'begin':
            self._begun[words[1]] = Ledger.read(self._guest)
        elif len(words) >= 2 and words[0] == 'end':
            self.between[words[1]] = (Ledger.read(self._guest) -
                                      self._begun.pop(words[1]))
        return ''
