# SPDX-License-Identifier: GPL-2.0-or-later
#
# Debian's packages for what goes into guests, through scripts/debian-apt.

import fcntl
import os
import re
import shutil
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))

# The suites of everything whose suite is not chosen by a kernel.
SUITES = 'trixie trixie-backports bookworm'

# Those whose user space guests can have, with the suites that each is made of.
SOURCES = {
    'bullseye': 'bullseye bullseye-security',
    'bookworm': 'bookworm bookworm-security',
    'trixie': 'trixie trixie-security',
    'trixie-backports': 'trixie trixie-security trixie-backports',
}


class Apt:
    """An apt whose sources are these suites, with a state of its own."""

    def __init__(self, build, suites=SUITES, name='apt', architecture=None):
        """build is the build directory; name that of the state in it;
        architecture Debian's name of one, if not that of this system.
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
        """Have these packages, and nothing else, in the directory root."""
        new = root + '.new'
        shutil.rmtree(new, ignore_errors=True)
        self('unpack', new, *packages)
        # The time is that of a package's "./" now, long ago: what was made
        # of an older directory would look newer than this one.
        os.utime(new)
        shutil.rmtree(root, ignore_errors=True)
        os.rename(new, root)

    def versions(self, package):
        """Those that it has of a package, the newest first."""
        # Of a package that is not there it succeeds, and prints nothing.
        return re.findall(r'^ *%s \| *(\S+) \|' % re.escape(package),
                          self.read('run', 'apt-cache', 'madison', package),
                          re.MULTILINE)


def find_newest(build, package):
    """An Apt whose suites have the newest version of a package; None if none
    has it.
    """
    # An older suite may have a newer kernel's source, too, older than that
    # kernel's own suite has it.
    for suite in reversed(SOURCES):
        apt = Apt(build, SOURCES[suite], 'apt-' + suite)
        if apt.versions(package):
            return apt
    return None


class Lock:
    """One process at a time in a with statement, by this file."""

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
