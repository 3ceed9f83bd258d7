# SPDX-License-Identifier: GPL-2.0-or-later
#
# The parts of guests and their paths: our QEMU, kernels, the image of the root
# file system, user spaces, what DSA devices need.  The scripts beside this file
# build the parts that are missing.

import os
import subprocess

import debian

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))

# INSTALLED: these scripts belong to a Debian package, with QEMU beside them.
PACKAGED_QEMU = os.path.join(TOP, 'bin', 'qemu-system-x86_64')
INSTALLED = os.path.exists(PACKAGED_QEMU)

# The guest's directory in which commands start and into which files are copied.
HOME = '/guest'

# Top directories that are links to the directories of the same names in /usr
MERGED = ('bin', 'sbin', 'lib', 'lib64')


class GuestError(Exception):
    """What the user asked for or has does not work; the message says why."""


class Unavailable(GuestError):
    """What was asked for does not exist, though nothing is broken."""


def merged(name):
    """A file's name, without a leading /, below usr/ if MERGED says so.  An
    archive must not have a directory bin: it would replace the guest's link.
    """
    return 'usr/' + name if name.split('/')[0] in MERGED else name


def build_dir():
    """The build directory, which holds the guests' images, too.  If INSTALLED,
    it is in the user's cache directory.
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
    """Where build-image puts our programs for guests, on the host."""
    return (os.path.join(TOP, 'guest') if INSTALLED else
            os.path.join(build, 'guest', 'bin'))


# The exit status of a script for "Debian has no such thing"
UNAVAILABLE = 4


def script(name, *arguments):
    """Run a script beside this file; returns what it prints.  Unavailable if
    it ends with UNAVAILABLE, GuestError if it fails.
    """
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
    """The file to boot: kernel itself, or Debian's kernel with this name.

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
    """The archives to append to the image for the user space of a suite; none
    if suite is None.
    """
    if not suite:
        return []
    return [os.path.join(script('build-user-space', suite), 'root.cpio')]


class DsaParts:
    """The further parts of a guest with intel-dsa devices."""

    # Suites whose kernel can be used, in its amd64 flavour.  The cloud flavour
    # has no DMA engines.
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
        """QEMU's arguments for devices with these properties."""
        return [part for number, properties in enumerate(devices)
                for part in ('-device', ','.join(
                    ['intel-dsa,id=dsa%d' % number] +
                    ([properties] if properties else [])))]
