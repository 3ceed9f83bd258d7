# SPDX-License-Identifier: GPL-2.0-or-later
#
# What guests are made of, and where it lies: our QEMU, kernels, the image of
# the root file system, user spaces, what DSA devices need.  The scripts beside
# this file make what is not there yet.

import os
import subprocess

import debian

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))

# Are these scripts part of a package, with QEMU beside them?
PACKAGED_QEMU = os.path.join(TOP, 'bin', 'qemu-system-x86_64')
INSTALLED = os.path.exists(PACKAGED_QEMU)

# The directory in the guest where commands start and what is copied lands.
HOME = '/guest'

# Links to the directories of the same names in /usr
MERGED = ('bin', 'sbin', 'lib', 'lib64')


class GuestError(Exception):
    """What the user did or has does not work; the message says why."""


class Unavailable(GuestError):
    """What was asked for does not exist, though nothing is broken."""


def merged(name):
    """The name (without a leading /) of a file where /bin is a link.  The
    kernel replaces the link when an archive has a directory of its name.
    """
    return 'usr/' + name if name.split('/')[0] in MERGED else name


def build_dir():
    """Where the build, and so the guests' images, are: of a package, where
    the user's caches are.
    """
    default = os.path.join(TOP, 'build')
    if INSTALLED:
        cache = (os.environ.get('XDG_CACHE_HOME') or
                 os.path.expanduser('~/.cache'))
        default = os.path.join(cache, 'qemu-perf-metrics')
    return os.path.abspath(os.environ.get('BUILD', default))


def default_qemu():
    if INSTALLED:
        return PACKAGED_QEMU
    return os.path.join(build_dir(), 'qemu', 'qemu-system-x86_64')


def own_programs(build):
    """Where our programs for guests lie here, once build-image has run."""
    return (os.path.join(TOP, 'guest') if INSTALLED else
            os.path.join(build, 'guest', 'bin'))


# The exit status of a script that says: there is no such thing to be had
UNAVAILABLE = 4


def script(name, *arguments):
    """Run one of the scripts beside this file; what it prints."""
    done = subprocess.run([os.path.join(HERE, name), *arguments],
                          env=dict(os.environ, BUILD=build_dir()),
                          stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode == UNAVAILABLE:
        raise Unavailable('%s has nothing for %s'
                          % (name, ' '.join(arguments)))
    if done.returncode:
        # The script has said on stderr what is wrong.
        raise GuestError('%s failed' % name)
    return done.stdout.strip()


def find_kernel(kernel):
    """The file to boot: KERNEL itself, or the one of Debian's that it names.

    Returns (file, name for humans).
    """
    if os.path.isfile(kernel):
        return kernel, os.path.basename(kernel)
    if '/' in kernel:
        raise GuestError('there is no kernel %s' % kernel)
    directory = script('fetch-kernel', kernel)
    image = os.path.join(directory, 'vmlinux')
    if not os.path.exists(image):
        image = os.path.join(directory, 'vmlinuz')
    return image, os.path.basename(directory)


# Whose user space build-user-space can make
USER_SPACES = tuple(debian.SOURCES)


def user_space_archives(suite):
    """What goes behind the image for the user space of a suite, if any."""
    if not suite:
        return []
    return [os.path.join(script('build-user-space', suite), 'root.cpio')]


class DsaParts:
    """What a guest with intel-dsa devices is made of besides."""

    # That of the cloud flavour's kernels has no DMA engines.
    SUITES = ('trixie', 'trixie-backports')

    def __init__(self, suite):
        if suite not in self.SUITES:
            raise GuestError('a guest with DSA devices runs the kernel of a '
                             'suite, %s, not %s'
                             % (' or '.join(self.SUITES), suite))
        directory = script('fetch-dsa', suite)
        self.kernel = os.path.join(directory, 'vmlinuz')
        self.kernel_name = os.path.basename(directory)
        self.copy = [(os.path.join(directory, 'root'), HOME + '/dsa'),
                     (os.path.join(HERE, 'dsa-setup'), '/usr/bin/dsa-setup')]

    @staticmethod
    def arguments(devices):
        """QEMU's, for devices with these properties."""
        return [part for number, properties in enumerate(devices)
                for part in ('-device', ','.join(
                    ['intel-dsa,id=dsa%d' % number] +
                    ([properties] if properties else [])))]
