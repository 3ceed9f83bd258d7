# SPDX-License-Identifier: GPL-2.0-or-later
#
# The mutations of pmu-mut.patch, and what shows each of them: rules of
# pmu-check, by workload (workloads.py).  '=' is a count that is not QEMU's.

import collections

# function  the mutated function of arch/x86/events/core.c or intel/core.c of
#           Linux
# what      what the mutation does
# seen      {workload: what shows it there}; one of several names suffices
# cpu       more properties for the CPUs
# faults    pmu-fault objects
# odd       properties of the second CPU, if they differ from the first one's
# known     rules that Linux breaks on such a CPU without a mutation
#           (docs/system/i386/pmu-findings.rst)
Mutant = collections.namedtuple(
    'Mutant', 'number function what seen cpu faults odd known',
    defaults=('', (), '', ''))

MUTANTS = [Mutant(*fields) for fields in (
    (1, 'icl_set_topdown_event_period', 'clears PERF_METRICS before fixed '
     'counter 3', {'T': 'M1'}),
    (2, 'icl_set_topdown_event_period', 'restores them in that order',
     {'T': 'M1'}),
    (3, 'intel_update_topdown_event', 'resets PERF_METRICS alone',
     {'T': 'M1'}),
    (4, 'intel_update_topdown_event', 'resets fixed counter 3 alone',
     {'T': 'M2'}),
    (5, 'intel_update_topdown_event', 'reads PERF_METRICS without slots',
     {'S': 'M3'}),
    (6, 'intel_pmu_read_event', 'reads and resets both while they count',
     {'T': 'M5 M6'}),
    (7, 'intel_pmu_read_event', 'perf_pmu_enable(), in a handler as well',
     {'S': 'P9 C1 M6'}),
    (8, 'intel_pmu_handle_irq', 'does not stop counters', {'R': 'P9 C1'}),
    (9, 'intel_pmu_handle_irq', 'does not acknowledge', {'R': 'P7 O1'}),
    (10, 'intel_pmu_init', 'unmasks LVTPC first (late_ack)', {'R': 'P4'}),
    (11, 'handle_pmi_common', 'does not set the period of PMC0',
     {'R': 'O2'}),
    (12, 'handle_pmi_common', 'ignores the overflow of PERF_METRICS',
     {'T': 'O6'}, 'perf-metrics-width=20', (), '', 'M2'),
    (13, 'intel_pmu_handle_irq', 'acknowledges everything', {'R': 'O5'}, '',
     ('kind=overflow,counter=pmc0,cpu=1,window=0x38e-0x390,nth=5,max=10',)),
    (14, 'x86_perf_event_set_period', 'does not write the counter',
     {'R': 'O3'}),
    (15, 'x86_perf_event_set_period', 'writes the period, not its negative',
     {'R': 'O3'}),
    (16, 'x86_pmu_stop', 'does not disable the counter',
     {'R': 'O2 C1', 'H': 'L2'}),
    (17, '__intel_pmu_disable_all', 'leaves PMC0 on', {'R': 'C1'}),
    (18, 'intel_pmu_init', 'full periods for IA32_PMCx',
     {'G': 'C4 O3'}),
    (19, 'intel_icl_event_constraints', 'lacks 0xd0 to 0xe6', {'G': 'C6'}),
    (20, '__intel_pmu_enable_all', 'leaves PERF_METRICS off',
     {'T': 'M4 M9'}),
    (21, '__intel_pmu_enable_all', 'does not write IA32_FIXED_CTR_CTRL',
     {'R': 'C9'}),
    (22, 'perf_events_lapic_init', 'LVTPC: mode fixed, vector 0',
     {'R': 'P6'}),
    (23, 'perf_events_lapic_init, intel_pmu_handle_irq', 'LVTPC stays masked',
     {'R': 'P1 P3'}),
    (24, 'intel_pmu_enable_fixed', 'sets AnyThread', {'R': 'C5 C7'}),
    (25, 'perf_clear_dirty_counters', 'does nothing', {'U': 'L1'}),
    (26, 'intel_pmu_cpu_starting', 'takes PERF_METRICS for granted',
     {'T': 'C7 L4', 'H': 'C7 L4'}, '', (), 'pmu=on,perf-metrics=off'),
    (27, 'x86_perf_event_update', 'does not extend the sign', {'Q': '='},
     'pmu-counter-width=40'),
)]
