# SPDX-License-Identifier: GPL-2.0-or-later
#
# Fetch Debian's packages for guests through scripts/debian-apt.

import fcntl
import os
import re
import shutil
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))

# The suites for everything whose suite does not depend on a kernel
SUITES = 'trixie trixie-backports bookworm'

# {suite whose user space guests can have: suites that its packages come from}
SOURCES = {
    'bullseye': 'bullseye bullseye-security',
    'bookworm': 'bookworm bookworm-security',
    'trixie': 'trixie trixie-security',
    'trixie-backports': 'trixie trixie-security trixie-backports',
}


class Apt:
    """An apt with these suites as sources.  It has a state of its own."""

    def __init__(self, build, suites=SUITES, name='apt', architecture=None):
        """build is the build directory, name the name of the state's directory
        in it.  architecture is Debian's name; by default it is the host's.
        """
        os.makedirs(os.path.join(build, 'guest'), exist_ok=True)
        self._command = [os.path.join(TOP, 'scripts/debian-apt'),
                         '--state=' + os.path.join(build, 'guest', name),
                         '--suites=' + suites]
        if architecture:
            self._command.append('--architecture=' + architecture)

    def __call__(self, *arguments, check=True, **kwargs):
        """Run a command of debian-apt; CalledProcessError if it fails."""
        return subprocess.run([*self._command, *arguments],
                              check=check, text=True, **kwargs)

    def read(self, *arguments, **kwargs):
        """What a command of debian-apt prints."""
        return self(*arguments, stdout=subprocess.PIPE, **kwargs).stdout

    def with_dependencies(self, *arguments):
        """The names of these packages and of all that they depend on.  The
        arguments are apt-get install's: PACKAGE/SUITE and options, too.
        """
        return re.findall(r"^'[^']+' ([^_\s]+)_[^\s]+ ",
                          self.read('run', 'apt-get', '-y', '--print-uris',
                                    'install', *arguments), re.MULTILINE)

    def unpack(self, root, *packages):
        """Make the directory root with these packages and nothing else."""
        new = root + '.new'
        shutil.rmtree(new, ignore_errors=True)
        self('unpack', new, *packages)
        # The directory has the old time of a package's "./".  Set it to now, or
        # what was made of an earlier directory would look newer than this one.
        os.utime(new)
        shutil.rmtree(root, ignore_errors=True)
        os.rename(new, root)

    def versions(self, package):
        """The versions of a package, the newest first; [] if there is none."""
        # For an unknown package madison succeeds and prints nothing.
        return re.findall(r'^ *%s \| *(\S+) \|' % re.escape(package),
                          self.read('run', 'apt-cache', 'madison', package),
                          re.MULTILINE)


def find_newest(build, package):
    """The Apt of the newest suite that has a package; None if none has it."""
    # An older suite may have a newer kernel's source as well, but in an older
    # version than that kernel's own suite.
    for suite in reversed(SOURCES):
        apt = Apt(build, SOURCES[suite], 'apt-' + suite)
        if apt.versions(package):
            return apt
    return None


class Lock:
    """Lets one process at a time run a with statement; path is the lock's."""

    def __init__(self, path):
        self._path = path
        self._file = None

    def __enter__(self):
        os.makedirs(os.path.dirname(self._path), exist_ok=True)
        self._file = open(self._path, 'w', encoding='utf-8')
        fcntl.flock(self._file, fcntl.LOCK_EX)
        return self

    def __exit__(self, *exc):
        self._file.close()
