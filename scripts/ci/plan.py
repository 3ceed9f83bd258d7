# SPDX-License-Identifier: GPL-2.0-or-later
#
# A plan: everything that a run does, cut into jobs.  Each job has a guest of
# its own and shares nothing, so any machine with the same QEMU can do it.

import collections
import fnmatch
import hashlib
import json
import os

import results
import suites

PLAN = 'plan.json'
VERSION = 5
# Seconds that a job should take.  It should be long as compared with a boot and
# all else that is once a job, 12 to 18 s, but leave several jobs per worker.
JOB_SECONDS = 120

Job = collections.namedtuple('Job', 'id kernel cpu model suite cases')
Job.__doc__ = """Cases that one guest runs.

id      a number, as text; the file of the job's results is named after it
kernel  as the user named it
cpu     its name
model   QEMU's -cpu
suite   its name
cases   names of cases
"""

Settings = collections.namedtuple(
    'Settings', 'smp memory append from_ xfail timeout retries long measure')
Settings.__doc__ = """What all jobs have in common.

smp, memory, append  options of the guests, as for run-guest
from_     [(suite, directory)] of the user's own suites
xfail     files of expected failures
timeout   of a case in seconds, or None for each suite's own
retries   how often a failed case is tried again
long      run long cases, too
measure   the guests' clock is the model's (run-guest --measure)
"""


class PlanError(Exception):
    """A plan that cannot be used; the message says why."""


class Plan:
    """Jobs, and what is needed to run them and merge their results.

    qemu  the sha256 of the QEMU that is to run them
    images  {kernel, as in Job: sha256 of its file}
    settings  Settings
    jobs  [Job]
    skipped  Results of what cannot be run
    part  (I, N): this is part I, from 1, of N
    inputs  {path: hash} of the expected failures and the user's own suites
    asked  what all parts together do, by asked_for(): equal in all of them
    hash  of all fields: it differs if jobs, files or settings differ
    """

    def __init__(self, qemu, images, settings, jobs, skipped=(), part=(1, 1),
                 inputs=None, asked=None):
        self.qemu = qemu
        self.images = images
        self.settings = settings
        self.jobs = jobs
        self.skipped = list(skipped)
        self.part = tuple(part)
        self.inputs = (input_hashes(settings) if inputs is None else inputs)
        self.asked = asked or {}
        self.hash = hashlib.sha256(json.dumps(
            self._fields(), sort_keys=True).encode()).hexdigest()

    def _fields(self):
        return {'version': VERSION, 'qemu': self.qemu, 'images': self.images,
                'settings': self.settings._asdict(), 'part': self.part,
                'inputs': self.inputs, 'asked': self.asked,
                'jobs': [job._asdict() for job in self.jobs],
                'skipped': [r._asdict() for r in self.skipped]}

    def write(self, directory):
        path = os.path.join(directory, PLAN)
        with open(path + '.new', 'w', encoding='utf-8') as out:
            json.dump(dict(self._fields(), hash=self.hash), out, indent=1)
        os.replace(path + '.new', path)

    def job(self, ident):
        for job in self.jobs:
            if job.id == ident:
                return job
        raise PlanError('the plan has no job %s' % ident)


def read(directory):
    """The Plan in a directory.  PlanError if there is none, if it was changed,
    or if it is another version's.
    """
    path = os.path.join(directory, PLAN)
    try:
        with open(path, encoding='utf-8') as file:
            fields = json.load(file)
        settings = Settings(**fields['settings'])
        settings = settings._replace(
            from_=[tuple(pair) for pair in settings.from_])
        plan = Plan(fields['qemu'], fields['images'], settings,
                    [Job(**job) for job in fields['jobs']],
                    [results.Result(**r) for r in fields['skipped']],
                    fields['part'], fields['inputs'], fields['asked'])
    except OSError as e:
        raise PlanError('%s: %s' % (path, e.strerror)) from None
    except (KeyError, TypeError, ValueError):
        raise PlanError('%s is no plan' % path) from None
    if fields.get('version') != VERSION or fields.get('hash') != plan.hash:
        raise PlanError('%s was changed, or written by another version'
                        % path)
    return plan


def is_plan(directory):
    """Is there a plan in this directory?  It may be changed or another
    version's.
    """
    try:
        with open(os.path.join(directory, PLAN), encoding='utf-8') as file:
            fields = json.load(file)
    except (OSError, ValueError):
        return False
    return isinstance(fields, dict) and {'jobs', 'hash'} <= set(fields)


def file_hash(path):
    """The sha256 of a file.  PlanError if it cannot be read."""
    digest = hashlib.sha256()
    try:
        with open(path, 'rb') as file:
            while block := file.read(1 << 20):
                digest.update(block)
    except OSError as e:
        raise PlanError('%s: %s' % (path, e.strerror)) from None
    return digest.hexdigest()


def tree_hash(path):
    """A hash of a file, or of a directory with all that is in it."""
    if not os.path.isdir(path):
        return file_hash(path)
    digest = hashlib.sha256()
    for directory, below, files in os.walk(path):
        below.sort()
        for name in sorted(files):
            file = os.path.join(directory, name)
            if not os.path.isfile(file):
                continue        # reading a pipe would not end
            digest.update(os.fsencode(os.path.relpath(file, path)) + b'\0')
            digest.update(b'x' if os.access(file, os.X_OK) else b'-')
            digest.update(file_hash(file).encode())
    return digest.hexdigest()


def input_hashes(settings):
    """{path: hash} of the files that Settings name."""
    return {path: tree_hash(path) for path in
            [*settings.xfail, *(path for _, path in settings.from_)]}


def asked_for(qemu, kernels, settings, cells, number):
    """Hashes of what a run with this number of parts was asked to do, equal in
    all its parts: {aspect, in words for users: hash}.  They depend on contents
    of files, not on their paths, which may differ between machines.

    qemu  hash of QEMU's file
    kernels  {name: hash of its file}
    cells  as in make_jobs(), of all parts, but with kernels' names
    """
    common = settings._replace(from_=None, xfail=None)
    aspects = {
        'QEMU': qemu, 'kernels': kernels, 'settings': common._asdict(),
        'number of parts': number,
        'kernels, CPUs or cases asked for': [
            (kernel, cpu.name, cpu.model, suite, cases)
            for kernel, cpu, suite, cases in cells],
        'files of --from': [(name, tree_hash(path))
                            for name, path in settings.from_],
        'expected failures': [file_hash(path) for path in settings.xfail]}
    return {aspect: hashlib.sha256(json.dumps(
        value, sort_keys=True).encode()).hexdigest()
            for aspect, value in aspects.items()}


def check_parts(directories):
    """PlanError unless the directories have all parts of each run of which they
    have one.  Directories without a plan are accepted.
    """
    found = [(each, read(each)) for each in directories
             if os.path.exists(os.path.join(each, PLAN))]
    for directory, plan in found:
        number = plan.part[1]
        there = {other.part[0] for _, other in found
                 if other.asked == plan.asked and other.part[1] == number}
        missing = sorted(set(range(1, number + 1)) - there)
        if missing:
            raise PlanError('%s has part %d/%d of a run of which part %s is '
                            'missing%s' % (
                                directory, *plan.part, ', '.join(
                                    '%d/%d' % (index, number)
                                    for index in missing),
                                _strangers(plan, missing, found)))


def has_none(directory):
    """Is this a part of a run that has no case?"""
    if not os.path.exists(os.path.join(directory, PLAN)):
        return False
    plan = read(directory)
    return plan.part[1] > 1 and not plan.jobs and not plan.skipped


def _strangers(plan, missing, found):
    """A message about parts of other runs with the numbers of missing ones."""
    return ''.join(
        '; %s has part %d/%d of another run (these differ: %s)' % (
            directory, *other.part, ', '.join(sorted(
                aspect for aspect in {**plan.asked, **other.asked}
                if plan.asked.get(aspect) != other.asked.get(aspect))))
        for directory, other in found
        if other.part[0] in missing and other.part[1] > 1)


class Durations:
    """How long each case took when it ran last, kept in a file."""

    def __init__(self, path):
        self._path = path
        try:
            with open(path, encoding='utf-8') as file:
                self._seconds = {str(name): float(seconds) for name, seconds
                                 in dict(json.load(file)).items()}
        except (OSError, TypeError, ValueError):
            self._seconds = {}

    def expect(self, suite, case):
        """The seconds that a case is expected to take.  Of a case that never
        ran, case_seconds of its suite, or of Suite if the suite is the user's.
        """
        unseen = suites.SUITES.get(suite, suites.Suite).case_seconds
        return self._seconds.get('%s/%s' % (suite, case), unseen)

    def learn(self, found):
        """Note the times of Results and write the file.  OSError."""
        self._seconds.update(
            ('%s/%s' % (r.suite, r.case), round(r.seconds, 1)) for r in found
            if r.status not in (results.ERROR, results.SKIP))
        os.makedirs(os.path.dirname(self._path), exist_ok=True)
        # Another run may write the file at the same time.
        new = '%s.%d.new' % (self._path, os.getpid())
        with open(new, 'w', encoding='utf-8') as out:
            json.dump(self._seconds, out, indent=1, sort_keys=True)
        os.replace(new, self._path)


def cut(cases, expect):
    """Cut cases into lists that take up to JOB_SECONDS each, if possible.
    expect(case) returns the seconds that a case is expected to take.
    """
    pieces, left = [], 0
    for case in cases:
        if not pieces or left < expect(case):
            pieces.append([])
            left = JOB_SECONDS
        pieces[-1].append(case)
        left -= expect(case)
    return pieces


def make_jobs(cells, durations):
    """The Jobs of cells, [(kernel, Cpu, suite, [case])]."""
    jobs = []
    for kernel, cpu, suite, cases in cells:
        for piece in cut(cases, lambda c, s=suite: durations.expect(s, c)):
            jobs.append(Job('%04d' % (len(jobs) + 1), kernel, cpu.name,
                            cpu.model, suite, piece))
    return jobs


def shard(cells, index, number):
    """Part index, from 1, of cells in number parts.  Each part gets every
    number-th case.  Machines whose Durations differ get the same parts.
    """
    parts, dealt = [], 0
    for kernel, cpu, suite, cases in cells:
        mine = [case for at, case in enumerate(cases, dealt)
                if at % number == index - 1]
        dealt += len(cases)
        if mine:
            parts.append((kernel, cpu, suite, mine))
    return parts


def matching(names, globs):
    """The names that one of the globs matches."""
    return [n for n in names if any(fnmatch.fnmatchcase(n, g) for g in globs)]
