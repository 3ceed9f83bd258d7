# SPDX-License-Identifier: GPL-2.0-or-later
#
# A plan: everything that a run does, cut into jobs of one guest each that
# share nothing, so that any machine with the same QEMU can do any of them.

import collections
import fnmatch
import hashlib
import json
import os

import results

PLAN = 'plan.json'
VERSION = 1
# So long, in seconds, a job is to take: some cases for each boot, and some
# jobs for each worker.
JOB_SECONDS = 90
# What a case takes that was never seen
CASE_SECONDS = 10

Job = collections.namedtuple('Job', 'id kernel cpu model suite cases')
Job.__doc__ = """Cases that one guest runs.

id      a number, as text: the name of the job's file
kernel  as the user named it: an argument
cpu     its name
model   QEMU's -cpu
suite   its name
cases   names
"""

Settings = collections.namedtuple(
    'Settings', 'smp memory append from_ xfail timeout retries')
Settings.__doc__ = """What holds for all jobs.

smp, memory, append  of the guests
from_     [(suite, directory)] of the user's own suites
xfail     files of expected failures
timeout   of a case in seconds, or None for each suite's own
retries   how often a case that failed is tried again
"""


class PlanError(Exception):
    """A plan that cannot be used; the message says why."""


class Plan:
    """Jobs, and what they have in common.

    qemu  the sha256 of the QEMU's file that is to run them
    images  those of the kernels' files, by the jobs' kernels
    skipped  Results of what cannot be run
    hash  names the plan: other jobs, files or settings, another hash
    """

    def __init__(self, qemu, images, settings, jobs, skipped=()):
        self.qemu = qemu
        self.images = images
        self.settings = settings
        self.jobs = jobs
        self.skipped = list(skipped)
        self.hash = hashlib.sha256(json.dumps(
            self._fields(), sort_keys=True).encode()).hexdigest()

    def _fields(self):
        return {'version': VERSION, 'qemu': self.qemu, 'images': self.images,
                'settings': self.settings._asdict(),
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
    """The Plan in there.  PlanError if there is none, or it was changed."""
    path = os.path.join(directory, PLAN)
    try:
        with open(path, encoding='utf-8') as file:
            fields = json.load(file)
        settings = Settings(**fields['settings'])
        settings = settings._replace(
            from_=[tuple(pair) for pair in settings.from_])
        plan = Plan(fields['qemu'], fields['images'], settings,
                    [Job(**job) for job in fields['jobs']],
                    [results.Result(**r) for r in fields['skipped']])
    except OSError as e:
        raise PlanError('%s: %s' % (path, e.strerror)) from None
    except (KeyError, TypeError, ValueError):
        raise PlanError('%s is no plan' % path) from None
    if fields.get('version') != VERSION or fields.get('hash') != plan.hash:
        raise PlanError('%s was changed, or written by another version'
                        % path)
    return plan


def file_hash(path):
    """What names a QEMU, or a kernel.  PlanError if it cannot be read."""
    digest = hashlib.sha256()
    try:
        with open(path, 'rb') as file:
            while block := file.read(1 << 20):
                digest.update(block)
    except OSError as e:
        raise PlanError('%s: %s' % (path, e.strerror)) from None
    return digest.hexdigest()


class Durations:
    """How long cases took last, by suite and case."""

    def __init__(self, path):
        self._path = path
        try:
            with open(path, encoding='utf-8') as file:
                self._seconds = json.load(file)
        except (OSError, ValueError):
            self._seconds = {}

    def expect(self, suite, case):
        return self._seconds.get('%s/%s' % (suite, case), CASE_SECONDS)

    def learn(self, found):
        """Take Results over, and write them down."""
        self._seconds.update(
            ('%s/%s' % (r.suite, r.case), round(r.seconds, 1)) for r in found
            if r.status not in (results.ERROR, results.SKIP))
        os.makedirs(os.path.dirname(self._path), exist_ok=True)
        with open(self._path + '.new', 'w', encoding='utf-8') as out:
            json.dump(self._seconds, out, indent=1, sort_keys=True)
        os.replace(self._path + '.new', self._path)


def cut(cases, expect):
    """Lists of cases, each to take JOB_SECONDS if they can; expect is a
    function of a case's name.
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


def shard(jobs, index, number, durations):
    """Part index, from 1, of number parts that take about as long: the
    longest jobs first, each to the part that has least.
    """
    def seconds(job):
        return sum(durations.expect(job.suite, c) for c in job.cases)

    load = [0] * number
    taken = []
    for job in sorted(jobs, key=lambda j: (-seconds(j), j.id)):
        part = load.index(min(load))
        load[part] += seconds(job)
        if part == index - 1:
            taken.append(job)
    return sorted(taken, key=lambda j: j.id)


def matching(names, globs):
    """Those of the names that one of the globs matches."""
    return [n for n in names if any(fnmatch.fnmatchcase(n, g) for g in globs)]
