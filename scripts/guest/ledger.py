# SPDX-License-Identifier: GPL-2.0-or-later
#
# The ground truth about a guest: the exact ledgers of its vCPUs' PMUs, as
# QEMU's x-query-pmu returns them.

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
        """The ledgers of all vCPUs of a guest (guest.Guest) now."""
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
        """A count: an item's or a level-1 class's, summed over the vCPUs
        (all by default) and privilege levels given.
        """
        names = LEVEL1.get(item, (item,))
        return sum(self._counts[cpu][name][level]
                   for cpu in (self._counts if cpus is None else cpus)
                   for name in names
                   for level in levels)

    def fractions(self, cpus=None, levels=LEVELS):
        """The level-1 classes as fractions of the slots; 0 if there were
        none.
        """
        slots = self.count('slots', cpus, levels)
        return {name: self.count(name, cpus, levels) / slots if slots else 0
                for name in LEVEL1}

    def perf_fractions(self, cpus=None, levels=LEVELS):
        """What perf's formulas make of the exact counts on Ice Lake.

        tools/perf/pmu-events/arch/x86/icelakex/icx-metrics.json of Linux:
        five slots for each recovery count as backend bound instead of bad
        speculation, which is what the other classes leave.
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

    To be a guest's on_sync: keeps what lies between a "begin NAME CPU" and
    the "end NAME CPU" of the same name, as {name: Ledger}.
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
