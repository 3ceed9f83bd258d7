# SPDX-License-Identifier: GPL-2.0-or-later
#
# What tests run on: a Kernel with its user space, and a Cpu.

import collections
import itertools
import os
import re
import struct

import artifacts
import expected
import results

Cpu = collections.namedtuple('Cpu', 'name model')
Cpu.__doc__ = """A CPU: its name in results, and QEMU's -cpu."""

SHORT_CPUS = {
    'icx': 'Icelake-Server,+perf-metrics',
    'spr': 'SapphireRapids,+perf-metrics',
}

# (version, suite): a kernel gets the first row whose version is not newer.  The
# suite's perf is that of the newest kernel before the version of the row above.
USER_SPACES = (((7,), 'trixie-backports'), ((6, 13), 'trixie-backports'),
               ((6, 12), 'trixie'), ((6, 1), 'bookworm'), ((0,), 'bullseye'))

# The name used for the kernel of suites that bring their own (Suite.bare)
NO_KERNEL = 'none'

SETUP_HEADER = 0x202
HEADER_MAGIC = b'HdrS'


class CellError(Exception):
    """A kernel or CPU that cannot be had; the message says why."""


class Kernel:
    """A kernel to boot.

    name     as the user named it, made fit for file names
    image    its file; None for NO_KERNEL
    release  its version, with which the output of uname -r begins
    user_space  the Debian suite whose user space it gets
    """

    def __init__(self, name):
        """A file, a built kernel tree, fetch-kernel's KERNEL, or NO_KERNEL."""
        if name == NO_KERNEL:
            self.name = self.argument = self.release = name
            self.image = self.user_space = None
            return
        self.name = re.sub(r'[^A-Za-z0-9.+_-]', '_', os.path.basename(
            os.path.abspath(name) if os.path.exists(name) else name))
        path = os.path.join(name, 'arch/x86/boot/bzImage')
        if os.path.isdir(name):
            if not os.path.exists(path):
                raise CellError('%s is a directory without %s'
                                % (name, 'arch/x86/boot/bzImage'))
        else:
            path = name
        self.argument = path if os.path.exists(path) else name
        self.image, described = artifacts.find_kernel(self.argument)
        self.release = (image_release(self.image)
                        if os.path.isfile(path) else described)
        number = expected.version(self.release)
        self.user_space = next(suite for since, suite in USER_SPACES
                               if number >= since)


def image_release(path):
    """The release of a kernel's image, which it says itself: a bzImage in its
    header (Linux, Documentation/arch/x86/boot.rst), another in its banner.
    CellError if neither is found.
    """
    with open(path, 'rb') as file:
        data = file.read()
    text = b''
    if data[SETUP_HEADER:SETUP_HEADER + 4] == HEADER_MAGIC:
        at = struct.unpack_from('<H', data, 0x20e)[0] + 0x200
        text = data[at:at + 100].partition(b'\0')[0]
    else:
        found = re.search(rb'Linux version (\S+)', data)
        text = found.group(1) if found else b''
    if not re.match(rb'\d+\.\d+', text):
        raise CellError('%s is no kernel whose version can be found' % path)
    return text.split()[0].decode(errors='replace')


def parse_cpu(text):
    """The Cpu that the user names, by a key of SHORT_CPUS or as QEMU's -cpu."""
    model = SHORT_CPUS.get(text, text)
    return Cpu(cpu_name(text), model)


def cpu_name(text):
    """The name of a model and its properties in results and file names."""
    return re.sub(r'[^A-Za-z0-9.+_=-]', '_', text)


def without_pmu(cpu):
    """The same CPU without its PMU, for a comparison."""
    words = [w for w in cpu.model.split(',')
             if not re.match(r'\+?(pmu|perf-metrics)\b', w)]
    return Cpu(cpu.name + results.NO_PMU, ','.join(words))


def has_pmu(cpu):
    """Does this CPU have a PMU in QEMU?  perf-metrics implies one, unless pmu
    is off; if pmu is given more than once, the last one counts.
    """
    on = {}
    for word in cpu.model.split(','):
        match = re.fullmatch(r'([+-]?)(pmu|perf-metrics)(?:=(\w+))?', word)
        if match:
            on[match[2]] = match[1] != '-' and match[3] in (None, 'on', 'yes',
                                                            'true', 'y')
    return on.get('pmu', on.get('perf-metrics', False))


def vary(cpu, parameters):
    """Yield a Cpu for each combination of the parameters' values;
    parameters is [(name, [value])].
    """
    for values in itertools.product(*(v for _, v in parameters)):
        named = ['%s=%s' % (name, value)
                 for (name, _), value in zip(parameters, values)]
        yield Cpu(cpu_name('+'.join([cpu.name, *named])),
                  ','.join([cpu.model, *named]))
