# SPDX-License-Identifier: GPL-2.0-or-later
#
# Names of functions of the guest's kernel, from its vmlinux or System.map.

import bisect
import re
import subprocess

# An address in a step of the recorder, in a traced event, or of a hit
STEP = re.compile(r'(?P<before>\b\d+ |\brip |\bat )(?P<rip>0x[0-9a-f]+)'
                  r'(?! \()')


class NoSymbols(Exception):
    """No symbols can be read from a file; the message says why."""


class Symbols:
    """Functions by address."""

    def __init__(self, lines):
        found = []
        for line in lines:
            words = line.split()
            if len(words) >= 3 and re.fullmatch('[0-9a-fA-F]+', words[0]) \
                    and len(words[1]) == 1:
                found.append((int(words[0], 16), words[2]))
        found.sort()
        self.addresses = [address for address, _ in found]
        self.names = [name for _, name in found]

    def name(self, address):
        """FUNCTION+0xOFFSET of an address, or None."""
        at = bisect.bisect_right(self.addresses, address) - 1
        if at < 0:
            return None
        return '%s+0x%x' % (self.names[at], address - self.addresses[at])

    def add_names(self, line):
        """The line, with names added behind addresses of code."""
        def named(match):
            name = self.name(int(match['rip'], 16))
            return match[0] + (' (%s)' % name if name else '')

        return STEP.sub(named, line)


def load(map_file, vmlinux):
    """The Symbols of System.map or vmlinux; empty if both are None."""
    if map_file:
        with open(map_file, encoding='utf-8', errors='replace') as file:
            return Symbols(file)
    if vmlinux:
        done = subprocess.run(['nm', '--defined-only', vmlinux],
                              stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            raise NoSymbols('nm cannot read %s' % vmlinux)
        return Symbols(done.stdout.splitlines())
    return Symbols([])
