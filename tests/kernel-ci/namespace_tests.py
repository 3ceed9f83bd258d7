# SPDX-License-Identifier: GPL-2.0-or-later
#
# Tests of plans whose jobs GNU parallel starts over ssh.  The hosts are network
# namespaces with an sshd each.  They share the file system, as machines with a
# network file system do.

import os
import shutil
import signal
import subprocess
import tempfile
import time

from common import KERNEL_CI, Skip, equal

from machine_tests import Place

SSHD = '''ListenAddress %(address)s
HostKey %(keys)s/host
AuthorizedKeysFile %(keys)s/user.pub
PidFile none
StrictModes no
UsePAM no
PermitRootLogin yes
'''
# With these options ssh gives up a host that is silent for three seconds.
SSH = '''Host *
User root
IdentityFile %s/user
IdentitiesOnly yes
StrictHostKeyChecking no
UserKnownHostsFile /dev/null
LogLevel ERROR
ConnectTimeout 3
ServerAliveInterval 1
ServerAliveCountMax 3
'''
PROGRAMS = ('unshare', 'nsenter', 'ip', 'ssh', 'ssh-keygen', 'parallel')
SSHD_PROGRAM = '/usr/sbin/sshd'
HOSTS = (1, 2)


def call(*command):
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL,
                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def check_possible():
    """Skip if namespaces cannot be made here, or a program is missing."""
    for name in PROGRAMS:
        if not shutil.which(name):
            raise Skip('there is no ' + name)
    if not os.path.exists(SSHD_PROGRAM):
        raise Skip('there is no ' + SSHD_PROGRAM)
    done = subprocess.run(
        ['unshare', '-n', '-m', 'ip', 'link', 'add', 'type', 'veth'],
        check=False, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise Skip('no network namespaces: ' + done.stderr.strip())


class Network:
    """A namespace for the controller of a run, and one for each of HOSTS, which
    is linked to the controller's.  A context manager.
    """

    def __init__(self, directory):
        self._directory = directory
        self._running = []
        self.ssh_config = os.path.join(directory, 'ssh.conf')

    def __enter__(self):
        try:
            self._keys()
            self._controller = self._namespace()
            for host in HOSTS:
                self._link(host, self._namespace())
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_exc):
        for each in reversed(self._running):
            each.terminate()
            each.wait()

    def _keys(self):
        for name in 'host', 'user':
            call('ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-f',
                 os.path.join(self._directory, name))
        with open(self.ssh_config, 'w', encoding='utf-8') as file:
            file.write(SSH % self._directory)

    def _start(self, *command):
        self._running.append(subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            text=True))
        return self._running[-1]

    def _namespace(self):
        """Make a namespace with a /run of its own; returns the process that
        holds it.
        """
        holder = self._start('unshare', '-n', '-m', 'sh', '-c',
                             'mount -t tmpfs tmpfs /run && mkdir /run/sshd && '
                             'ip link set lo up && echo up && '
                             'exec sleep infinity')
        equal('namespace', holder.stdout.readline(), 'up\n')
        return holder.pid

    def inside(self, pid=None):
        """The beginning of a command that runs in the namespace of process pid,
        by default the controller's.
        """
        return ['nsenter', '-n', '-m', '-t', str(pid or self._controller)]

    def _link(self, host, pid):
        here, there = ('10.77.%d.%d' % (host, end) for end in (1, 2))
        call(*self.inside(), 'ip', 'link', 'add', 'to%d' % host, 'type',
             'veth', 'peer', 'name', 'eth0', 'netns', str(pid))
        for where, device, address in ((None, 'to%d' % host, here),
                                       (pid, 'eth0', there)):
            call(*self.inside(where), 'ip', 'address', 'add', address + '/24',
                 'dev', device)
            call(*self.inside(where), 'ip', 'link', 'set', device, 'up')
        config = os.path.join(self._directory, 'sshd%d.conf' % host)
        with open(config, 'w', encoding='utf-8') as file:
            file.write(SSHD % {'address': there, 'keys': self._directory})
        self._start(*self.inside(pid), SSHD_PROGRAM, '-D', '-E',
                    os.path.join(self._directory, 'sshd.log'), '-f', config)
        self._wait(there)

    def _wait(self, address):
        """Wait until an sshd answers at this address."""
        for _ in range(100):
            if subprocess.run([*self.inside(), 'ssh', '-F', self.ssh_config,
                               address, 'true'], check=False,
                              stdin=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL).returncode == 0:
                return
            time.sleep(0.1)
        raise AssertionError('no sshd answers at ' + address)

    def cut(self, host):
        """Take the link to a host down."""
        call(*self.inside(), 'ip', 'link', 'set', 'to%d' % host, 'down')

    def parallel(self, place, idents):
        """Start GNU parallel in the controller's namespace."""
        running = subprocess.Popen(
            [*self.inside(), 'parallel', '--will-cite', '--retries', '5',
             '--ssh', 'ssh -F ' + self.ssh_config, '--joblog',
             os.path.join(place.directory, 'joblog'), '--sshlogin',
             ','.join('1/10.77.%d.2' % host for host in HOSTS),
             KERNEL_CI, 'job', place.run, '{}'],
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True, start_new_session=True,
            env=dict(os.environ, HOME=place.directory))
        running.stdin.write('\n'.join(idents) + '\n')
        running.stdin.close()
        running.stdin = None
        return running


def ended(running):
    """Wait for parallel to end with status 0; returns what it printed."""
    _, said = running.communicate()
    assert running.returncode == 0, 'parallel: exit status %d\n%s' % (
        running.returncode, said[-4000:])


def wait_for_job(place, running):
    """Wait until a job is done, but not all of them."""
    while not place.done():
        assert running.poll() is None, 'parallel has ended'
        time.sleep(0.05)


def hosts_in(path):
    with open(path, encoding='utf-8') as file:
        return {line.split('\t')[1] for line in list(file)[1:]}


def two_hosts():
    """Both hosts do jobs, with the same results as one process."""
    check_possible()
    with tempfile.TemporaryDirectory() as directory:
        place = Place(directory)
        with Network(directory) as network:
            ended(network.parallel(place, place.plan()))
        hosts = hosts_in(os.path.join(directory, 'joblog'))
        equal('hosts', len(hosts), len(HOSTS))
        place.check_as_local()


def link_down():
    """If a host's link goes down, the other host does its jobs."""
    check_possible()
    with tempfile.TemporaryDirectory() as directory:
        place = Place(directory)
        with Network(directory) as network:
            idents = place.plan()
            running = network.parallel(place, idents)
            wait_for_job(place, running)
            network.cut(HOSTS[-1])
            assert len(place.done()) < len(idents), 'all was done'
            ended(running)
        place.check_as_local()


def controller_killed():
    """After a killed parallel, another one does only the remaining jobs."""
    check_possible()
    with tempfile.TemporaryDirectory() as directory:
        place = Place(directory)
        idents = place.plan()
        with Network(directory) as network:
            running = network.parallel(place, idents)
            wait_for_job(place, running)
            os.killpg(running.pid, signal.SIGKILL)
            running.communicate()
            before = place.done()
            assert len(before) < len(idents), 'all was done'
            ended(network.parallel(place, idents))
            after = place.done()
        equal('done before', {n: after[n] for n in before}, before)
        equal('jobs', len(after), len(idents))
        place.check_as_local()


TESTS = [('two hosts with an sshd each', two_hosts),
         ('a link that goes down', link_down),
         ('a controller that is killed', controller_killed)]
