# SPDX-License-Identifier: GPL-2.0-or-later
#
# Tests of plans whose jobs other programs start, as if on other machines: GNU
# parallel with a stand-in for ssh, and Slurm's array script with one for
# sbatch.  Cases need no Linux, so that a job takes a second.

import os
import shutil
import subprocess
import tempfile

from common import KERNEL_CI, TOP, Skip, equal, kernel_ci

import results
from tree_tests import fake_kvm_unit_tests

# The stand-in for ssh skips ssh's options, notes the host, and runs the command
# here.  It sets SHELL as sshd does; GNU parallel's wrapper executes that.  The
# host "down" cannot be reached.
SSH = '''#!/bin/bash
while [[ $1 = -* ]]; do
    case $1 in -l|-o|-p|-i|-S) shift ;; esac
    shift
done
host=$1
shift
[[ $1 != -- ]] || shift
echo "$host" >> "$SSH_LOG"
[[ $host != down ]] || exit 255
SHELL=/bin/bash exec bash -c "$*"
'''
# The stand-in for sbatch runs a copy of the script for each number of --array,
# as slurmd does.
SBATCH = '''#!/bin/bash
for argument; do
    case $argument in
    --array=*) array=${argument#*=} ;;
    --*) ;;
    *) break ;;
    esac
    shift
done
cp "$1" "$SPOOL/slurm_script"
shift
export SLURM_ARRAY_TASK_MIN=${array%-*} SLURM_ARRAY_TASK_MAX=${array#*-}
export SLURM_ARRAY_TASK_COUNT=$((SLURM_ARRAY_TASK_MAX -
                                 SLURM_ARRAY_TASK_MIN + 1))
for ((i = SLURM_ARRAY_TASK_MIN; i <= SLURM_ARRAY_TASK_MAX; i++)); do
    SLURM_ARRAY_TASK_ID=$i "$SPOOL/slurm_script" "$@" || exit
done
'''


class Place:
    """A directory with a suite, stand-ins for programs, and a plan."""

    def __init__(self, directory):
        self.directory = directory
        tree = os.path.join(directory, 'tree')
        fake_kvm_unit_tests(tree)
        # This case would run until its time limit.
        os.unlink(os.path.join(tree, 'x86', 'pmu_hangs.flat'))
        self.wanted = ('--suite', 'kvm-unit-tests', '--from',
                       'kvm-unit-tests=' + tree, '--cpu', 'icx', '--cpu',
                       'spr', '--baseline')
        self.run = os.path.join(directory, 'run')
        self.log = os.path.join(directory, 'ssh.log')
        self.programs = os.path.join(directory, 'bin')
        os.mkdir(self.programs)
        for name, text in (
                ('ssh', SSH), ('sbatch', SBATCH),
                # The command's name in the Debian package
                ('qpm-kernel-ci', '#!/bin/sh\nexec %s "$@"\n' % KERNEL_CI)):
            path = os.path.join(self.programs, name)
            with open(path, 'w', encoding='utf-8') as file:
                file.write(text)
            os.chmod(path, 0o755)

    def plan(self):
        """Make the plan; returns the numbers of its jobs."""
        out, _ = kernel_ci('plan', *self.wanted, '--out', self.run)
        idents = out.split()
        assert len(idents) == 4, out
        return idents

    def call(self, command, stdin=''):
        """Run a command with the stand-ins in PATH; its status has to be 0."""
        done = subprocess.run(
            command, input=stdin, text=True, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env=dict(os.environ, SSH_LOG=self.log, SPOOL=self.directory,
                     HOME=self.directory,
                     PATH=self.programs + ':' + os.environ['PATH']))
        assert done.returncode == 0, '%s: exit status %d\n%s' % (
            ' '.join(command), done.returncode, done.stdout[-4000:])
        return done.stdout

    def hosts(self):
        with open(self.log, encoding='utf-8') as file:
            return set(file.read().split())

    def done(self):
        """{file of a done job: its inode}; the inode changes if the file is
        written anew.
        """
        path = os.path.join(self.run, 'jobs')
        return {name: os.stat(os.path.join(path, name)).st_ino
                for name in os.listdir(path) if name.endswith('.jsonl')}

    def check_as_local(self):
        """Check that merged results are those of one process that does all."""
        kernel_ci('merge', self.run, status=1)
        local = os.path.join(self.directory, 'local')
        kernel_ci(*self.wanted, '--out', local, status=1)
        equal('merged', *(
            [(results.ident(r), r.status, r.reason, r.pmu)
             for r in results.read(each)] for each in (self.run, local)))


def parallel_command(place, hosts, *more):
    if not shutil.which('parallel'):
        raise Skip('GNU parallel is not installed: '
                   'scripts/install-deps hosts')
    return ['parallel', '--will-cite', '--ssh',
            os.path.join(place.programs, 'ssh'), '--sshlogin',
            ','.join('1/' + host for host in hosts), *more, KERNEL_CI, 'job',
            place.run, '{}']


def parallel():
    """Two hosts do each job once, with the same results as one process."""
    with tempfile.TemporaryDirectory() as directory:
        place = Place(directory)
        idents = '\n'.join(place.plan())
        command = parallel_command(place, ('one', 'two'))
        place.call(command, idents)
        equal('hosts', place.hosts(), {'one', 'two'})
        first = place.done()
        place.call(command, idents)
        equal('done again', place.done(), first)
        place.check_as_local()


def lost_host():
    """Jobs of a host that cannot be reached go to another one."""
    with tempfile.TemporaryDirectory() as directory:
        place = Place(directory)
        place.call(parallel_command(place, ('down', 'one'), '--retries', '3'),
                   '\n'.join(place.plan()))
        equal('hosts', place.hosts(), {'down', 'one'})
        place.check_as_local()


def slurm():
    """Slurm arrays with fewer tasks than jobs, and with more."""
    for tasks in 3, 6:
        with tempfile.TemporaryDirectory() as directory:
            place = Place(directory)
            idents = place.plan()
            listed = os.path.join(directory, 'run.jobs')
            with open(listed, 'w', encoding='utf-8') as file:
                file.write('\n'.join(idents) + '\n')
            place.call(['sbatch', '--wait', '--array=1-%d' % tasks,
                        os.path.join(TOP, 'contrib/ci/slurm.sh'), place.run,
                        listed])
            equal('jobs', len(place.done()), len(idents))
            if tasks == 3:
                place.check_as_local()


TESTS = [("Slurm's array", slurm)]
# "make check-long" installs GNU parallel.
LONG_TESTS = [('GNU parallel over two hosts', parallel),
              ('GNU parallel, one host lost', lost_host)]
