# SPDX-License-Identifier: GPL-2.0-or-later
#
# The options of scripts/kernel-ci, and what --help says.

import argparse
import os
import re

import artifacts
import suites
import trees

DEFAULT_OUT = 'kernel-ci.out'

DESCRIPTION = """\
Run test suites of kernels and of perf in guests that have a PMU: each kernel
with each CPU and each suite.  Prints KTAP; progress goes to stderr.
"""

EPILOG = """\
commands (run, if none is given):
  run             plan, do all jobs here, and write what became of them
  plan            write DIR/plan.json only; prints the numbers of its jobs
  job DIR ID...   do jobs of that plan, on any machine with the same QEMU;
                  a job that is done is not done again
  merge DIR...    put results together: those of the jobs of one DIR, or of
                  several runs, or all the parts of one, into --out
                  (default for one DIR: DIR)
  compare OLD NEW print what differs between two runs
  report DIR...   write report.html, a page about that run, to DIR or --out;
                  those named behind it are earlier ones, the last named the
                  oldest
  rerun DIR       run the cases of DIR again that were not as expected, into
                  another directory (default: DIR.rerun)
  list            print the suites, and the cases of those named

kernels:
  What run-guest takes (bookworm, 6.12, 7.3, a bzImage), or a kernel's tree in
  which it was built.

CPUs:
  icx, spr, or a model with properties as in QEMU's -cpu.

  A command refuses options that it would ignore.

results, in DIR (--out), which is absent, empty or that of an earlier run:
  results.jsonl, junit.xml, summary.md, report.html, and for each case
  logs/KERNEL/CPU/SUITE/CASE/ with out, console and reproduce.sh

exit status:
  0 all as expected; 1 something was not; 2 wrong usage; 3 a guest or suite
  could not be had; 4 on a kernel and CPU no case used a counter, so that
  nothing was tested

examples:
  scripts/kernel-ci --kernel 6.12 --kernel 7.3
  scripts/kernel-ci --kernel ~/linux --suite perf-test:'perf-stat*'
  scripts/kernel-ci --suite mine --from mine=./tests --baseline
  scripts/kernel-ci plan --out run | parallel scripts/kernel-ci job run {}
  scripts/kernel-ci merge run
"""

DEFAULT_KERNELS = ('6.12',)
DEFAULT_CPUS = ('icx',)
DEFAULT_SUITES = ('counts', 'perf-test', 'selftests-perf_events', 'rr',
                  'papi')

# The options that a plan records
PLANNED = ('kernel', 'cpu', 'suite', 'param', 'from_', 'baseline', 'xfail',
           'timeout', 'retries', 'long', 'measure', 'smp', 'memory', 'append',
           'shard')
# The options that each command uses, besides --offline
TAKES = {
    'run': (*PLANNED, 'strict', 'jobs', 'out', 'junit', 'resume', 'qemu'),
    'plan': (*PLANNED, 'out', 'resume', 'qemu'),
    'job': ('jobs', 'qemu'),
    'merge': ('strict', 'out', 'junit'),
    'compare': (),
    'report': ('out',),
    'rerun': ('strict', 'jobs', 'out', 'junit', 'resume', 'qemu'),
    'list': ('kernel', 'cpu', 'suite', 'param', 'from_', 'baseline',
             'measure')}
# Commands that take the PLANNED options from a plan
OF_PLANS = ('job', 'merge', 'rerun')


# {beginning of an unknown option: what its user may have meant}
HINTS = {'--list': 'the command "list" prints the suites, "list SUITE" the '
                   'cases of one',
         '--only': '--suite S:GLOB chooses cases'}


class Parser(argparse.ArgumentParser):
    """Says of some unknown options what to use instead."""

    def error(self, message):
        if message.startswith('unrecognized arguments: '):
            for option, hint in HINTS.items():
                if ' ' + option in message:
                    message += ' (%s)' % hint
        super().error(message)


class UsageError(Exception):
    """The user asked for something impossible; the message says why."""


def pair(text):
    name, equals, value = text.partition('=')
    if not equals or not name or not value:
        raise argparse.ArgumentTypeError('%r is not NAME=VALUE' % text)
    return name, value


def own_suite(text):
    name, path = pair(text)
    if not re.fullmatch(r'[A-Za-z0-9_+-][A-Za-z0-9_.+-]*', name):
        raise argparse.ArgumentTypeError(
            'a suite cannot have the name %r: want letters, digits and "_.+-"'
            % name)
    return name, path


def parse_shard(text):
    index, slash, number = text.partition('/')
    try:
        index, number = int(index), int(number)
    except ValueError:
        slash = ''
    if not slash or not 1 <= index <= number:
        raise argparse.ArgumentTypeError('%r is not I/N with 1 <= I <= N'
                                         % text)
    return index, number


def number_from(least):
    def parse(text):
        try:
            value = int(text)
        except ValueError:
            value = least - 1
        if value < least:
            raise argparse.ArgumentTypeError('%r is not a number from %d'
                                             % (text, least))
        return value
    return parse


positive = number_from(1)


def parse_given(parser):
    """(options, names of those that the user gave)."""
    defaults = vars(parser.parse_args([]))
    parser.set_defaults(**dict.fromkeys(defaults))
    options = parser.parse_intermixed_args()
    given = {name for name, value in vars(options).items()
             if value is not None}
    for name in set(defaults) - given:
        setattr(options, name, defaults[name])
    return options, given - {'arguments'}


def refused(command, given):
    """The message about a given option that the command ignores, or None."""
    for name in sorted(given - {'offline', *TAKES[command]}):
        return '--%s: %s %s' % (
            name.rstrip('_'), command,
            'takes it from the plan'
            if name in PLANNED and command in OF_PLANS
            else 'does not take it')
    return None


def wrong_value(options, given):
    """The message about a value that names nothing, or None."""
    for name, path in options.from_:
        if not os.path.isdir(path):
            return '--from %s: there is no directory %s' % (name, path)
    known = {*suites.SUITES, *(name for name, _ in options.from_)}
    for text in options.suite + (options.arguments
                                 if options.command == 'list' else []):
        name, _ = suites.parse_suite(text)
        if name not in known:
            return suites.no_suite(name)
    if 'qemu' in given and not os.path.isfile(options.qemu):
        return '--qemu: there is no file ' + options.qemu
    return None


def parse_arguments(commands):
    """The options, with the command and its arguments.  commands are the names
    of all commands.  Ends the program if the arguments are wrong.
    """
    parser = Parser(
        usage='%(prog)s [command] [option...]', description=DESCRIPTION,
        epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add('--kernel', metavar='K', action='append', default=[],
        help='default: %s' % ', '.join(DEFAULT_KERNELS))
    add('--cpu', metavar='C', action='append', default=[],
        help='default: %s' % ', '.join(DEFAULT_CPUS))
    add('--suite', metavar='S[:GLOB]', action='append', default=[],
        help='a suite, or those of its cases that match; default: %s'
        % ', '.join(DEFAULT_SUITES))
    add('--param', metavar='NAME=V[,V]', type=pair, action='append',
        default=[], help='a property of the CPU, and its values, each of '
        'which makes another CPU')
    add('--from', metavar='S=DIR', type=own_suite, action='append', default=[],
        dest='from_', help='a suite of your own: each executable file of DIR '
        'is a case, which passes with exit status 0 and no "not ok", and '
        'skips with 4, 32 or 77; with the name %s: tests of that project, '
        'which is built in DIR' % ', '.join(sorted(trees.KINDS)))
    add('--baseline', action='store_true',
        help='run everything without a PMU, too')
    add('--xfail', metavar='FILE', action='append', default=[],
        help='expected failures besides those in scripts/ci/known.xfail')
    add('--timeout', metavar='SECONDS', type=positive,
        help='for each case (default: what its suite says)')
    add('--retries', metavar='N', type=number_from(0), default=0,
        help='try a case that failed again; if it then passes it is flaky, '
        'which is as expected only if it is listed so')
    add('--long', action='store_true',
        help='run cases that take minutes, too')
    add('--strict', action='store_true',
        help='passes of cases that should fail are not as expected either')
    add('--measure', action='store_true',
        help="let the guests' time be that of the model, as run-guest "
        '--measure does: what is counted, and how often a timer interrupts, '
        'does not depend on how busy the host is; takes several times as '
        'long')
    add('--smp', metavar='N', type=positive, default=2)
    add('--memory', metavar='SIZE', default='3G')
    add('--append', metavar='TEXT', default='',
        help='more for the kernel command line')
    add('--jobs', metavar='N', type=positive,
        default=len(os.sched_getaffinity(0)),
        help='guests at a time (default: one for each CPU of the host)')
    add('--shard', metavar='I/N', type=parse_shard, default=(1, 1),
        help='do part I of N')
    add('--out', metavar='DIR',
        help='where results go (default: %s)' % DEFAULT_OUT)
    add('--junit', metavar='FILE', help='write the XML there, too')
    add('--resume', action='store_true', help='keep what is there of jobs of '
        'the same plan, of a run that was interrupted')
    add('--offline', action='store_true',
        help='fetch nothing; what is not there is an error')
    add('--qemu', metavar='PATH', default=artifacts.default_qemu())
    add('arguments', nargs='*', metavar='command', help='see below')
    options, given = parse_given(parser)
    options.command, *options.arguments = options.arguments or ['run']
    if options.command not in commands:
        parser.error('there is no command %s; there are %s'
                     % (options.command, ', '.join(commands)))
    if options.command in ('run', 'plan') and options.arguments:
        parser.error('%s takes no %s' % (options.command,
                                         options.arguments[0]))
    problem = (refused(options.command, given) or
               wrong_value(options, given))
    if problem:
        parser.error(problem)
    if options.measure and options.baseline:
        parser.error('--baseline runs without a PMU, and --measure takes the '
                     'time from its model: want one of them')
    names = [name for name, _ in options.from_]
    for name in names:
        if names.count(name) > 1 or name in suites.SUITES:
            parser.error('two suites have the name ' + name)
    options.given_out = options.out
    options.out = options.out or DEFAULT_OUT
    return options
