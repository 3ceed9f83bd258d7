# SPDX-License-Identifier: GPL-2.0-or-later
#
# "programs --published": compare what the model counts of programs with their
# level-1 TopDown figures that were published for cores that the model knows.

import collections
import os
import subprocess
import sys
import tempfile

import workloads

import artifacts  # noqa: E402  (workloads' path finds them)
import guest  # noqa: E402

# perf's events, in the order of CLASSES
EVENTS = ('topdown-retiring', 'topdown-bad-spec', 'topdown-fe-bound',
          'topdown-be-bound')
CLASSES = ('retiring', 'bad speculation', 'frontend', 'backend')
SHORT = ('RET', 'BAD', 'FE', 'BE')
# Also counted, to show how similar a program is to the published one
BESIDES = ('instructions', 'branches', 'branch-misses')

# Largest error of a class, in percent of the slots
LIMIT = 15
# Programs whose published shares of a class differ by at least this, in percent
# of the slots, must have the same order in the model, unless they are known to
# miss that class.
APART = 15
# A known miss may be off by this more, as inputs are chosen at random.
MISS_SLACK = 5

BOOT_TIMEOUT = 900
PROGRAM_TIMEOUT = 1800
# Runs of which the mean is taken for programs of less than some million
# instructions.  These differ from run to run by where their memory lies.
SHORT_RUNS = 10

TIGER_LAKE_H = 'https://github.com/SANEKDASH/Hash-table-optimization'
LIST_SORT = ('HackMD, "2024q1 Homework1 (lab0)" by Kuanch; '
             'https://github.com/Kuanch/lab0-c')
DEDUP = ('https://lore.kernel.org/r/CAK7LNAQM3m-g=b_MGjr-VefTu4q5ByWYB8VdHqGX'
         'wNktZNY1xA@mail.gmail.com')
MATRICES = 'README "Cache Freindly Matrix Multiplication"'

# Reason of a miss: of a backend share that is too small
UNKNOWN = 'not known'
# Most of what "perf bench" runs is the start of perf.
STARTS_UP = ('another program: perf starts up in 37 of 52 million '
             'instructions, in user mode')

# name     as it is printed
# program  what perf stat runs, with redirections, in the inputs' directory
# figures  published figures in percent of the slots, in the order of CLASSES;
#          None if a figure was not printed
# source   where they were published
# user     the source counted user mode alone
# quick    "make check" runs it, too
# runs     number of runs that are counted.  A run before them brings files into
#          the page cache, where they were when the figures were taken
# misses   {class: (its error, why)} of classes that are known to be off by more
#          than LIMIT, or by as much with some inputs
Row = collections.namedtuple('Row', 'name program figures source user quick '
                             'misses runs')


def row(name, program, figures, source, user=False, quick=False, misses=None,
        runs=1):
    return Row(name, program, figures, source, user, quick, misses or {}, runs)


ROWS = (
    row('sleep', 'sleep 1', (15.0, 25.8, 39.9, 19.2),
        'https://lore.kernel.org/r/20210121133752.118327-1-kan.liang@linux.'
        'intel.com', user=True, quick=True, runs=SHORT_RUNS),
    row('echo', "/usr/bin/echo 'Hello World'", (8.6, 12.9, 48.6, 29.8),
        'perf stat of echo in Debian 12, course work', user=True, quick=True,
        runs=SHORT_RUNS,
        misses={'backend': (-17, UNKNOWN),
                'bad speculation': (+12, UNKNOWN)}),
    row('awk', './dedup-by-awk < test-data.txt', (22.7, 12.2, 31.4, 33.7),
        DEDUP, quick=True, runs=SHORT_RUNS,
        misses={'backend': (-19, UNKNOWN), 'frontend': (+12, UNKNOWN)}),
    row('python', './dedup-by-python c b a a b', (24.7, 21.6, 36.1, 17.6),
        DEDUP, quick=True),
    row('memcpy', 'perf bench mem memcpy', (25.5, 6.0, 24.3, 44.3),
        'https://github.com/perfwiki/main, docs/top-down-analysis.md',
        quick=True,
        misses={'retiring': (13, STARTS_UP),
                'bad speculation': (16.5, STARTS_UP),
                'backend': (-29, STARTS_UP)}),
    row('cc1', '/usr/libexec/gcc/x86_64-linux-gnu/14/cc1 -quiet '
        '-fpreprocessed -O2 -o source.s source.i', (32.5, 13.9, 35.2, 18.3),
        'https://lore.kernel.org/lkml/YW1sCxRUZBX8iL6w@zn.tnic'),
    row('bc', './BC1s', (None, 31.5, 15.4, None),
        'https://github.com/andikleen/pmu-tools/issues/446'),
    row('list-sort', './list-sort 8', (31.3, 25.4, 20.0, 23.3), LIST_SORT),
    row('mandelbrot', './mandelbrot 80 40', (25.1, 1.2, 0.8, 72.9),
        'https://github.com/WLFJ/mandelbrot-omp', user=True, quick=True),
    row('hash-O0', './hash-table-O0 bits words sought 300',
        (28.9, 5.1, 0.4, 65.6), TIGER_LAKE_H),
    row('hash-O3', './hash-table-O3 bits words sought 600',
        (44.9, 2.1, 1.2, 51.8), TIGER_LAKE_H),
    row('hash-crc32', './hash-table-O0 crc32 words sought 2400',
        (60.0, 2.5, 6.5, 31.0), TIGER_LAKE_H),
    row('hash-crc32-O3', './hash-table-O3 crc32 words sought 6000',
        (73.4, 1.4, 17.1, 8.1), TIGER_LAKE_H),
    row('matrix-ikj', './matrices ikj 20', (73.7, 1.9, 5.5, 18.9), MATRICES),
    row('matrix-ijk', './matrices ijk 20', (48.6, 1.2, 2.3, 47.9), MATRICES),
)

# {program: (our source, compiler options)}; the options are those of the
# published programs, as far as known.
OWN = {
    'list-sort': ('list-sort.c', ('-O1',)),
    'mandelbrot': ('mandelbrot.c', ('-O3',)),
    'hash-table-O0': ('hash-table.c', ('-O0', '-mavx2')),
    'hash-table-O3': ('hash-table.c', ('-O3', '-mavx2')),
    # Not vectorized, as the published program took six instructions a step.
    'matrices': ('matrices.c', ('-O2', '-fno-tree-vectorize')),
}

# The file that cc1 compiles: one of this tree's, with GLib's headers
COMPILED = 'target/i386/tcg/pmu/frontend/direction-predictor.c'

SCRIPTS = {
    'dedup-by-awk': '''#!/usr/bin/gawk -f
BEGIN { RS = "( |\\n)" }
!seen[$0]++ { print($0) }
''',
    'dedup-by-python': '''#!/usr/bin/python3.13
import sys

seen = set()
for word in sys.argv[1:]:
    if word not in seen:
        print(word)
    seen.add(word)
''',
    # A twentieth of pmu-tools' 3^311312.  Without the path, busybox's shell
    # would run its own bc.
    'BC1s': '''#!/bin/sh
echo '3^60000' | /usr/bin/bc > /dev/null
''',
    'test-data.txt': 'c b a a b\n',
}

# Distinct words of one play, which are in the table, and words of another that
# are looked up one after the other
DISTINCT_WORDS = 5579
SOUGHT_WORDS = 100


def make_words(random, directory):
    """Write a vocabulary, in which frequent words are first and short, and the
    words to look up.
    """
    vocabulary = {}
    while len(vocabulary) < DISTINCT_WORDS:
        rank = len(vocabulary)
        length = max(1, round(random.gauss(3 + min(4, rank / 300), 1.5)))
        vocabulary[''.join(random.choices('etaoinshrdlcumwfgypbvk',
                                          k=length))] = None
    vocabulary = list(vocabulary)
    weights = [1 / (i + 3) for i in range(len(vocabulary))]
    # Some words of the other play are not in the table.
    sought = [word + 's' if random.random() < 0.1 else word for word in
              random.choices(vocabulary, weights, k=SOUGHT_WORDS)]
    for name, words in ('words', vocabulary), ('sought', sought):
        with open(os.path.join(directory, name), 'w',
                  encoding='ascii') as file:
            file.writelines(word + '\n' for word in words)


def compile_all(directory):
    cc = os.environ.get('CC', 'gcc')
    for name, (source, options) in OWN.items():
        subprocess.run([cc, '-std=gnu11', '-Wall', '-static', *options, '-o',
                        os.path.join(directory, name),
                        os.path.join(workloads.HERE, 'published', source)],
                       check=True)
    glib = subprocess.run(['pkg-config', '--cflags', 'glib-2.0'], check=True,
                          stdout=subprocess.PIPE, text=True).stdout.split()
    subprocess.run([cc, '-std=gnu11', '-E', '-P', '-I',
                    os.path.join(workloads.TOP, 'target', 'i386'), '-I',
                    os.path.join(workloads.TOP, 'include'), *glib, '-o',
                    os.path.join(directory, 'source.i'),
                    os.path.join(workloads.TOP, COMPILED)], check=True)


def prepare(random, directory):
    """Make all files that the guest needs; returns its guest.Options.copy."""
    make_words(random, directory)
    compile_all(directory)
    for name, text in SCRIPTS.items():
        path = os.path.join(directory, name)
        with open(path, 'w', encoding='ascii') as file:
            file.write(text)
        os.chmod(path, 0o755)
    return workloads.unpack_programs() + [
        (os.path.join(directory, name), artifacts.HOME + '/' + name)
        for name in sorted(os.listdir(directory))]


# What perf stat counted: {event: count}
Counts = dict


def parse(text):
    """Parse what perf stat -x, wrote, without events that were not counted."""
    counts = Counts()
    for line in text.splitlines():
        fields = line.split(',')
        if len(fields) > 2 and fields[0].isdigit():
            counts[fields[2].split(':')[0]] = int(fields[0])
    return counts


def shares(counts):
    return tuple(100 * counts[event] / counts['slots'] for event in EVENTS)


def run_row(running, chosen):
    """Run a program as its source did; returns the means of perf's counts."""
    mode = ':u' if chosen.user else ''
    events = '{slots,%s}%s,%s' % (
        ','.join(EVENTS), mode, ','.join(e + mode for e in BESIDES))
    for runs in 1, chosen.runs:
        done = running.run(
            'perf stat -x, -r %d -o counts -e %s -- %s > /dev/null && '
            'cat counts' % (runs, events, chosen.program), PROGRAM_TIMEOUT)
        if done.status:
            raise guest.GuestError('%s: exit status %d: %s' % (
                chosen.name, done.status, done.stderr.strip()))
    counts = parse(done.stdout)
    lacking = [e for e in ('slots', *EVENTS, *BESIDES) if e not in counts]
    if lacking:
        raise guest.GuestError('%s: perf counted no %s: %s' % (
            chosen.name, ', '.join(lacking), done.stdout))
    return counts


def run_all(options, rows, copy):
    """[(Row, Counts)]"""
    done = []
    cpu = guest.DEFAULT_CPU + (',pmu-sampling=off' if options.detailed else '')
    with guest.Guest(guest.Options(
            cpu=cpu, qemu=options.qemu, copy=copy, boot_timeout=BOOT_TIMEOUT,
            qemu_opts=['-icount', 'shift=model'])) as running:
        print('%s, %s is up after %.0f s' % (cpu, running.kernel_name,
                                             running.boot_seconds))
        for chosen in rows:
            counts = run_row(running, chosen)
            done.append((chosen, counts))
            print_row(chosen, counts)
    return done


def print_head():
    print('\n%-14s %9s %7s  %s' % (
        'program', 'insns/M', 'misses', '  '.join(
            '%4s: published ours' % name for name in SHORT)))


def print_row(chosen, counts):
    cells = ['%s %5.1f' % ('    -' if there is None else '%5.1f' % there, here)
             for there, here in zip(chosen.figures, shares(counts))]
    print('%-14s %9.2f %6.2f%%  %s' % (
        chosen.name, counts['instructions'] / 1e6,
        100 * counts['branch-misses'] / counts['branches'],
        '  '.join('%20s' % cell for cell in cells)), flush=True)


def judge_row(chosen, counts):
    """Print in which classes a program is off; is it as expected?"""
    ok = True
    for name, there, here in zip(CLASSES, chosen.figures, shares(counts)):
        if there is None:
            continue
        error = here - there
        known, why = chosen.misses.get(name, (0, None))
        if why:
            no_more = (abs(error) <= abs(known) + MISS_SLACK
                       if error * known > 0 else abs(error) <= LIMIT)
            print('%s, %s: off by %+.1f, %s %+g: %s' % (
                chosen.name, name, error, 'a known miss of' if no_more else
                'MORE THAN the known miss of', known, why))
            ok &= no_more
        elif abs(error) > LIMIT:
            print('%s, %s: off by %+.1f, MORE THAN %g' % (
                chosen.name, name, error, LIMIT))
            ok = False
    return ok


def judge_order(done):
    """Do programs that are APART keep their order?"""
    ok = True
    for at, name in enumerate(CLASSES):
        pairs = wrong = 0
        judged = [d for d in done if name not in d[0].misses]
        for number, (first, counts) in enumerate(judged):
            for second, others in judged[number + 1:]:
                there = (first.figures[at], second.figures[at])
                if None in there or abs(there[0] - there[1]) < APART:
                    continue
                here = shares(counts)[at] - shares(others)[at]
                pairs += 1
                if here * (there[0] - there[1]) <= 0:
                    wrong += 1
                    print('%s: %s and %s are the other way round: %.1f and '
                          '%.1f published' % (name, first.name, second.name,
                                              *there))
        print('%s: %d pairs of programs are %g %% of the slots apart, %d of '
              'them change their order' % (name, pairs, APART, wrong))
        ok &= not wrong
    return ok


def choose(options):
    only = options.only.split(',') if options.only else None
    unknown = set(only or ()) - {r.name for r in ROWS}
    if unknown:
        raise guest.GuestError('no program %s: one of %s' % (
            ', '.join(sorted(unknown)), ', '.join(r.name for r in ROWS)))
    return [r for r in ROWS
            if (r.name in only if only else r.quick or not options.quick)]


def print_list():
    for each in ROWS:
        print('%-14s %s\n%14s %s' % (each.name, each.program, '',
                                     each.source))


def run(options, random):
    """Run and judge all programs; is the model within the limits?"""
    rows = choose(options)
    with tempfile.TemporaryDirectory(prefix='published-') as directory:
        copy = prepare(random, directory)
        print('seed %d' % options.seed)
        print_head()
        sys.stdout.flush()
        done = run_all(options, rows, copy)
    print()
    verdicts = [judge_row(*each) for each in done]
    return judge_order(done) and all(verdicts)
