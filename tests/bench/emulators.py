# SPDX-License-Identifier: GPL-2.0-or-later
#
# Run the same guest code on two emulators and compare how they translate it.
# Used by tests/bench/zero-cost and tests/bench/run.
#
# The guest code is either payload.S or the firmware from Debian's packages.
# Neither looks at the time, so each run executes the same code.

import collections
import os
import re
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))

CPU = 'Icelake-Server'
CPU_PMU = CPU + ',+perf-metrics'

# Linear addresses of payload.S without its end, and of its function probe()
PAYLOAD_RANGE = '0..0xfefff'
PROBE_RANGE = '0xfe000..0xfefff'

# Relative difference of two counts of host instructions that can be by chance
AGREEMENT = 0.0002

# isa-debug-exit turns the payload's last write, 0x10, into this status.
PAYLOAD_STATUS = 0x10 << 1 | 1

MACHINE = ('-M', 'pc', '-nodefaults', '-no-user-config', '-display', 'none',
           '-no-reboot', '-m', '32')

# A translated block of a log: its TCG ops, and their host code
Block = collections.namedtuple('Block', 'ops code')


class Problem(Exception):
    """The emulators could not be run; the message says why."""


def build_dir():
    return os.path.abspath(os.environ.get('BUILD',
                                          os.path.join(TOP, 'build')))


def patched():
    """The path of QEMU with the PMU."""
    return os.path.join(build_dir(), 'qemu', 'qemu-system-x86_64')


def stock():
    """The path of QEMU without the PMU, from the same source."""
    return os.path.join(build_dir(), 'stock', 'qemu', 'qemu-system-x86_64')


def need_emulators():
    for qemu in patched(), stock():
        if not os.path.exists(qemu):
            raise Problem('there is no %s; "make all stock" builds it' % qemu)


def make_image(directory, source, **parameters):
    """Make a firmware image of an assembler file of this folder, which explains
    its parameters.  Returns its path.
    """
    name = os.path.join(directory, '-'.join(
        [source, *map(str, parameters.values())]))
    subprocess.run(
        [os.environ.get('CC', 'gcc'), '-c', '-o', name + '.o',
         *('-D%s=%d' % item for item in parameters.items()),
         os.path.join(HERE, source + '.S')], check=True)
    # Firmware of 64 KiB begins at 0xf0000.
    subprocess.run(['ld', '-m', 'elf_x86_64', '-Ttext=0xf0000', '--oformat',
                    'binary', '-o', name + '.bin', name + '.o'], check=True)
    return name + '.bin'


def make_payload(directory, iterations, count=0, flushes=20):
    """Make an image of payload.S; returns its path."""
    return make_image(directory, 'payload', ITERATIONS=iterations,
                      COUNT=count, FLUSHES=flushes)


def run(command, status, timeout=120):
    """Run QEMU, which must end with this exit status."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, errors='replace', timeout=timeout,
                          check=False)
    if done.returncode != status:
        said = [line for line in done.stdout.splitlines()
                if "TCG doesn't support requested feature" not in line]
        raise Problem('%s: exit status %d, expected %d: %s'
                      % (command[0], done.returncode, status,
                         ' '.join(said)[-400:]))


def payload_command(qemu, cpu, image, *options):
    return [qemu, *MACHINE, '-cpu', cpu, '-bios', image,
            '-device', 'isa-debug-exit,iobase=0xf4,iosize=4', *options]


def run_payload(directory, qemu, cpu, image, *options):
    """Run an image of make_payload(); returns the bytes of its result."""
    result = os.path.join(directory, 'result')
    run(payload_command(qemu, cpu, image,
                        '-chardev', 'file,id=result,path=' + result,
                        '-device', 'isa-debugcon,chardev=result,iobase=0xe9',
                        *options), PAYLOAD_STATUS)
    with open(result, 'rb') as file:
        return file.read()


def log_payload(directory, qemu, cpu, image, name, addresses=PAYLOAD_RANGE):
    """Log what QEMU translates for an image; returns (result, log)."""
    log = os.path.join(directory, name)
    result = run_payload(directory, qemu, cpu, image, '-d', 'op,out_asm',
                         '-D', log, '-dfilter', addresses)
    return result, log


def log_firmware(directory, qemu, cpu, name):
    """Log what QEMU translates for the firmware, which finds nothing to boot.

    With -icount, so that the firmware's waiting loops end after the same number
    of rounds.
    """
    log = os.path.join(directory, name)
    run([qemu, *MACHINE, '-cpu', cpu, '-boot', 'reboot-timeout=10',
         '-icount', 'shift=3,sleep=off',
         '-rtc', 'base=2000-01-01,clock=vm',
         '-d', 'op,out_asm', '-D', log], 0)
    return log


class LogReader:
    """Translated blocks from a log of "-d op,out_asm"."""

    INSN_START = re.compile(r'^ ---- (\w+) (\w+)(?: (\w+))?$')
    HOST_LINE = re.compile(r'^(0x[0-9a-f]+):  (?:[0-9a-f]{2} )+ *(.*?) *$')
    OUT = re.compile(r'^OUT: (\[size=\d+\])$')

    def __init__(self, name):
        self.blocks = []
        # insn_start words that only instrumented code needs
        self.third_words = set()
        self._ops = []
        self._code = []
        self._start = None
        self._part = None
        with open(name, encoding='ascii', errors='replace') as file:
            for line in file:
                self._line(line.rstrip('\n'))
        self._finish()

    def _finish(self):
        if self._ops:
            self.blocks.append(Block(tuple(self._ops), tuple(self._code)))
        self._ops, self._code, self._start = [], [], None

    def _line(self, line):
        out = self.OUT.match(line)
        if line == 'OP:':
            self._finish()
            self._part = self._op
        elif out:
            self._part = self._host
            self._code.append(out.group(1))
        elif self._part and line:
            self._part(line)

    def _op(self, line):
        start = self.INSN_START.match(line)
        if start:
            if start.group(3):
                self.third_words.add(int(start.group(3), 16))
            # Leave out the second word, the CC_OP to restore: a patch that
            # mends REP INS knows it less often.  The ops show what is done.
            line = ' ---- %s' % start.group(1)
        elif line.startswith(' exit_tb $0x'):
            # Keep only the low bits, which say which of the block's two jumps
            # is taken.  The rest is the block's address in this process.
            line = ' exit_tb %d' % (int(line.split('$')[1], 16) & 3)
        self._ops.append(line)

    def _host(self, line):
        host = self.HOST_LINE.match(line)
        if not host:
            return
        address, text = int(host.group(1), 16), host.group(2)
        if self._start is None:
            self._start = address
        if text != 'nop':
            self._code.append(self._relative(text))

    def _relative(self, text):
        """Replace addresses in the code buffer by offsets in the block, or by
        "elsewhere": addresses of other code and in the constant pool, which is
        sorted by value, differ from process to process.
        """
        def offset(match):
            distance = int(match.group(0), 16) - self._start
            return '+%d' % distance if 0 <= distance < 1 << 16 else 'elsewhere'

        if text.startswith(('call', 'jmp')) and '(%rip)' in text:
            return text.split()[0] + ' pool'
        return re.sub(r'0x[0-9a-f]{9,16}\b', offset, text) \
            if text[0] == 'j' else text


def first_difference(ours, theirs, what):
    """A text that says where two lists of blocks differ in the field what;
    None if they do not.
    """
    for number, (a, b) in enumerate(zip(ours, theirs)):
        mine, other = getattr(a, what), getattr(b, what)
        if mine == other:
            continue
        for i, (x, y) in enumerate(zip(mine, other)):
            if x != y:
                return ('block %d, line %d: %r with the PMU, %r without'
                        % (number, i, x, y))
        return ('block %d: %d lines with the PMU, %d without'
                % (number, len(mine), len(other)))
    if len(ours) != len(theirs):
        return ('%d blocks with the PMU, %d without'
                % (len(ours), len(theirs)))
    return None


def have_valgrind():
    return subprocess.run(['sh', '-c', 'command -v valgrind'],
                          stdout=subprocess.DEVNULL,
                          check=False).returncode == 0


def callgrind_count(directory, qemu, cpu, image):
    """Host instructions of QEMU's vCPU thread in one run of an image."""
    out = os.path.join(directory, 'callgrind')
    run(['valgrind', '-q', '--tool=callgrind', '--separate-threads=yes',
         '--callgrind-out-file=' + out, '--smc-check=all-non-file',
         *payload_command(qemu, cpu, image, '-accel', 'tcg,tb-size=32')],
        PAYLOAD_STATUS)
    # Callgrind numbers threads as they start: main, RCU, vCPU.
    with open(out + '-03', encoding='ascii', errors='replace') as file:
        return int(re.search(r'^totals: (\d+)', file.read(),
                             re.MULTILINE).group(1))


def host_instructions(directory, qemu, cpu, image):
    """Host instructions that QEMU's vCPU thread executes for an image.

    Callgrind's counts of runs differ by some ten instructions.  Events that
    depend on time only add to them: run until the two lowest counts agree.
    """
    counts = []
    while len(counts) < 2 or \
            len(counts) < 6 and counts[1] > counts[0] * (1 + AGREEMENT):
        counts.append(callgrind_count(directory, qemu, cpu, image))
        counts.sort()
    return counts[0]


def instructions_per_iteration(directory, qemu, cpu):
    """Host instructions for an iteration of the payload, without translation
    and start-up.
    """
    few, many = 10, 40
    count = [host_instructions(directory, qemu, cpu,
                               make_payload(directory, n, flushes=0))
             for n in (few, many)]
    return (count[1] - count[0]) / (many - few)
