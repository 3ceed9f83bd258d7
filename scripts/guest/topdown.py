# SPDX-License-Identifier: GPL-2.0-or-later
#
# Parse what perf stat --topdown prints, and the workloads of run-topdown.

import re

import guest
from ledger import LEVEL1

# {the ledger's name: perf's name}.  Source:
# pmu-events/arch/x86/*/*-metrics.json of Linux.
TMA_NAMES = {
    'retiring': 'tma_retiring',
    'bad-speculation': 'tma_bad_speculation',
    'frontend-bound': 'tma_frontend_bound',
    'backend-bound': 'tma_backend_bound',
}


def parse(text):
    """The level-1 classes as fractions, from "perf stat --topdown -j"."""
    found = {name: float(value) / 100 for name, value in
             re.findall(r'"[%\s]*(tma_\w+)"\s*:\s*"\s*(-?[\d.]+)', text)}
    missing = [t for t in TMA_NAMES.values() if t not in found]
    if missing:
        raise guest.GuestError('perf stat --topdown printed no %s:\n%s'
                               % (', '.join(missing), text))
    return {name: found[TMA_NAMES[name]] for name in LEVEL1}


# (name, iterations, description, class that limits it by construction).  The
# iterations take a fraction of a second under emulation.
SHOW = (
    ('nops', 40000, 'independent NOPs', 'retiring'),
    ('multiply', 40000, 'dependent multiplications', 'backend-bound'),
    ('branches', 500000, 'unpredictable branches', 'bad-speculation'),
    ('chase', 40000, 'pointers beyond the caches', 'backend-bound'),
    ('code', 12, 'code beyond I-caches', 'frontend-bound'),
    ('pause', 30000, 'PAUSE loop', 'backend-bound'),
)

COMMAND = 'perf stat --topdown --all-user'
