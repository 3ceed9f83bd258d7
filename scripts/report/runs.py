# SPDX-License-Identifier: GPL-2.0-or-later
#
# Read the file that a run wrote, and what the guest's perf printed in the run.

import json
import re

LEVEL1 = ('Retiring', 'Bad speculation', 'Frontend bound', 'Backend bound')
# {level-1 class: ((level-2 class, item of the ledger), ...)}, as in perf
TREE = {
    'Retiring': (('Light operations', 'light-ops'),
                 ('Heavy operations', 'heavy-ops')),
    'Bad speculation': (('Branch mispredicts', 'br-mispredict'),
                        ('Machine clears', 'machine-clears')),
    'Frontend bound': (('Fetch latency', 'fetch-latency'),
                       ('Fetch bandwidth', 'fetch-bandwidth')),
    'Backend bound': (('Memory bound', 'memory-bound'),
                      ('Core bound', 'core-bound')),
}
# {perf's name of an event or metric: our name}
EVENTS = {'retiring': 'Retiring', 'bad-spec': 'Bad speculation',
          'fe-bound': 'Frontend bound', 'be-bound': 'Backend bound',
          'heavy-ops': 'Heavy operations', 'br-mispredict':
          'Branch mispredicts', 'fetch-lat': 'Fetch latency',
          'mem-bound': 'Memory bound'}


class BadRun(Exception):
    """The file is not one that a run wrote; the message says why."""


def why(error):
    """What an OSError says, with the file first and without Python's marks."""
    if error.filename is None or not error.strerror:
        return str(error)
    return '%s: %s' % (error.filename, error.strerror)


def read(file):
    """Read a run from what run-guest --pmu-record wrote, the checker's report,
    or what x-query-pmu-history returned.  Missing fields are empty.
    """
    with open(file, 'rb') as stream:
        return parse(stream.read(), file)


def parse(text, file):
    """The same of the text of a file, which messages name."""
    try:
        data = json.loads(text)
    except ValueError as e:
        raise BadRun('%s is no JSON: %s' % (file, e)) from None
    if isinstance(data, dict) and 'return' in data:
        data = data['return']
    if isinstance(data, list):
        data = {'histories': data}
    elif isinstance(data, dict) and 'rules' in data:
        data = {'report': data}
    run = {'report': {}, 'histories': [], 'samples': [], 'faults': [],
           'symbols': {}, 'command': '', 'kernel': '', 'output': '',
           'status': None}
    if not isinstance(data, dict) or not set(data) & set(run):
        raise BadRun('%s is neither what run-guest --pmu-record wrote, nor a '
                     'report of pmu-check, nor a history' % file)
    run.update(data)
    check(run, file)
    return run


def check(run, file):
    """BadRun if a history or a rule of the report lacks its parts."""
    def all_have(found, *names):
        return isinstance(found, list) and all(
            isinstance(each, dict) and each.keys() >= set(names)
            for each in found)

    if not all_have(run['histories'], 'cpu-index', 'clock-unit', 'entries'):
        raise BadRun('%s is no history of pmu-recorder' % file)
    if not isinstance(run['report'], dict) or not all_have(
            run['report'].get('rules', []), 'rule', 'sites'):
        raise BadRun('%s has no report of pmu-check' % file)


def clock_unit(run):
    for history in run['histories']:
        return history['clock-unit']
    return run['report'].get('clock-unit', 'nanoseconds')


def hits(run):
    """[(rule, site)], those that are not suppressed first."""
    found = [(rule, site) for rule in run['report'].get('rules', ())
             for site in rule['sites']]
    return sorted(found, key=lambda pair: ('suppressed' in pair[1],
                                           pair[1]['clock']))


def between(first, last, levels=(0, 1)):
    """{item: count} of all vCPUs between two samples."""
    before = {unit['cpu-index']: unit['ledger'] for unit in first}
    counts = {}
    for unit in last:
        then = before.get(unit['cpu-index'], {})
        for name, count in unit['ledger'].items():
            old = then.get(name, (0, 0))
            counts[name] = counts.get(name, 0) + sum(
                count[level] - old[level] for level in levels)
    return counts


def fractions(counts):
    """{class of level 1 or 2: fraction of the slots}; {} without slots."""
    slots = counts.get('slots', 0)
    if not slots:
        return {}
    found = {}
    for name, children in TREE.items():
        for child, item in children:
            found[child] = counts.get(item, 0) / slots
        found[name] = sum(found[child] for child, _ in children)
    return found


def metric_name(name):
    """Our name for a metric of perf's, such as tma_fetch_latency."""
    return name.replace('tma_', '').replace('_', ' ').capitalize()


def perf_fractions(text):
    """{name: fraction} of the TopDown tree that perf stat printed.  It parses
    -j, columns with names in one line and values in the next, values before
    their names, and counts of slots and topdown-*.
    """
    known = set(TREE) | {child for children in TREE.values()
                         for child, _ in children}
    found = {}

    def add(name, value):
        if metric_name(name) in known:
            found[metric_name(name)] = float(value) / 100

    for name, value in re.findall(r'"[%\s]*(tma_\w+)"\s*:\s*"\s*(-?[\d.]+)',
                                  text):
        add(name, value)
    for value, name in re.findall(r'(-?[\d.]+) +%? +(tma_\w+)', text):
        add(name, value)
    lines = text.splitlines()
    for at, line in enumerate(lines):
        names = re.findall(r'tma_\w+', line)
        values = next((rest.split() for rest in lines[at + 1:]
                       if rest.strip()), [])[-len(names):] if names else []
        if names and len(values) == len(names) and \
                all(re.fullmatch(r'-?\d+(\.\d+)?', v) for v in values):
            for name, value in zip(names, values):
                add(name, value)
    counts = {name: int(value.replace(',', '')) for value, name in
              re.findall(r'^\s*([\d,]+)\s+(?:cpu/)?(slots|topdown-[a-z-]+)',
                         text, re.M)}
    for name, ours in EVENTS.items():
        if counts.get('slots') and 'topdown-' + name in counts:
            found.setdefault(ours, counts['topdown-' + name] /
                             counts['slots'])
    return found
