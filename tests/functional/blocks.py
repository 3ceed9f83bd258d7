# SPDX-License-Identifier: GPL-2.0-or-later
#
# Compare two ways to run the model on blocks of machine code: a process in a
# guest measures them with RDPMC in user mode (programs/blocks.c), and x86-slots
# runs them without a guest.  tests/accuracy compares x86-slots with
# measurements; if both ways agree, its results hold for guests, too.
#
# The blocks are rows of tests/accuracy/block_throughput_sample.csv at equal
# distances, from the first one on.  Each becomes a loop of several copies of
# the block, then DEC and JNZ, in one of two shapes:
#
#   short  at least 50 instructions, which come from the DSB or the LSD
#   long   20,000 bytes, which is more than the DSB holds, so that they are
#          decoded each time, as in "x86-slots --unroll", and fits the L1I
#
# x86-slots appends DEC and JNZ itself.  The guest gets these bytes, too; a
# checksum shows that it ran the same code.

import collections
import csv
import json
import math
import os
import re
import subprocess

from harness import TOP, Failure, OffEstimate, Skip, in_guest
import artifacts

DATA = os.path.join(TOP, 'tests', 'accuracy', 'block_throughput_sample.csv')

SHORT_INSTRUCTIONS = 50
LONG_BYTES = 20000
# How loops are measured: instructions of a run, number of runs, and the
# statistic of an iteration's cost over the runs, "mean" or "least".
Method = collections.namedtuple('Method', 'at_once times statistic')
# One run of hundreds of thousands of instructions, with interrupts
LASTING = Method(300000, 1, 'mean')
# Runs so short that some see no interrupt.  The least cost is taken, as
# interrupts only add to it.  On a busy host few instructions see many.
BRIEF = Method(6000, 51, 'least')
# For long loops: a timer tick evicts part of the code, which costs thousands of
# cycles.
BRIEF_LONG = Method(30000, 9, 'least')
# Shorter runs cannot be measured: they overlap with the code before them.
LEAST_INSTRUCTIONS = 2000

# Largest relative difference of cycles between the guest and x86-slots
TOLERANCE = 0.03
# Largest relative difference of slots and cycles times width in the guest.
# They are counted in different runs, which may see different interrupts.
SLOTS_TOLERANCE = 0.05
# Least share of the loops that has to be comparable
LEAST_SHARE = 0.85
# {CPU model: (x86-slots' name of the core, slots per cycle)}
CORES = {'Icelake-Server': ('sunny-cove', 5),
         'SapphireRapids': ('golden-cove', 6)}
# Accepted reasons for which a block cannot run in a process: nothing can be
# mapped at its addresses, or it divides other numbers than its program did.
REASONS = ('too many pages', 'an address that is not canonical',
           'an address that is not canonical or not aligned',
           'an address that cannot be mapped', 'a divide error')
STRANGE = 'a store to where a loaded or computed pointer points'

# A block as a loop: its shape, x86-slots' figures, the number of the register
# that counts, the copies of the block, the bytes of the block and of the loop's
# end in hex, and why it is not compared (or None).
Loop = collections.namedtuple('Loop', 'name shape figures register copies '
                              'block end skip')
# The result of a loop in the guest.  error is relative to x86-slots' cycles, or
# None if the loop was not run.  A loop with a reason is not compared.
Outcome = collections.namedtuple('Outcome', 'loop cycles error reason')

GPRS = ('rax', 'rcx', 'rdx', 'rbx', 'rsp', 'rbp', 'rsi', 'rdi', 'r8', 'r9',
        'r10', 'r11', 'r12', 'r13', 'r14', 'r15')


# Which stores x86-slots knows the addresses of

def whole(register):
    """The 64-bit register that this one is part of, or None."""
    match = re.fullmatch(r'r(\d+)[dwb]?', register)
    if match:
        return 'r' + match.group(1)
    for name in GPRS[:8]:
        parts = (name, 'e' + name[1:], name[1:],
                 name[1] + 'l' if name[2] == 'x' else name[1:] + 'l',
                 name[1] + 'h' if name[2] == 'x' else None)
        if register in parts:
            return name
    return None


def split(text):
    """(mnemonic, [operand]) of an instruction as x86-slots prints it."""
    words = text.replace('lock ', '').split(None, 1)
    operands = words[1].split(', ') if len(words) > 1 else []
    return words[0], operands


def is_followed(mnemonic, operands):
    """Does x86-slots know the value that this instruction gives to its first
    operand?  See docs/tools/x86-slots.rst, "Data", and its code.c.
    """
    source = operands[1] if len(operands) > 1 else ''
    number = re.fullmatch(r'-?(0x[0-9a-f]+|\d+)', source)
    if mnemonic in ('mov', 'movabs'):
        return bool(number) or (source in GPRS and operands[0] in GPRS)
    if mnemonic in ('xor', 'sub') and source == operands[0]:
        return True
    if mnemonic == 'lea':
        return operands[0] in GPRS and '*' not in source and not re.search(
            r'\w+ \+ [a-z]', source)
    return (operands[0] in GPRS and
            (mnemonic in ('inc', 'dec') or
             (mnemonic in ('add', 'sub') and bool(number))))


def strange_store(instructions):
    """The text of the first instruction that stores to an address that the
    block has loaded or computed, or None.

    In x86-slots such an address is new in each iteration.  In a process it
    repeats, as the block finds the same data in memory: the store's data wait
    for those of the iteration before, or share its cache line.
    """
    strange = set()
    for text in instructions:
        mnemonic, operands = split(text)
        if mnemonic in ('mul', 'div', 'idiv', 'cdq', 'cqo', 'cdqe', 'cwde'):
            strange |= {'rax', 'rdx'}
        elif mnemonic == 'leave':
            strange.add('rbp')
        elif (operands and whole(operands[0]) and
              mnemonic not in ('cmp', 'test', 'push') and
              not is_followed(mnemonic, operands)):
            strange.add(whole(operands[0]))
        if mnemonic in ('xchg', 'xadd') and whole(operands[1]):
            strange.add(whole(operands[1]))
    for _ in GPRS:
        for mnemonic, operands in map(split, instructions):
            if mnemonic in ('mov', 'lea') and whole(operands[0]) and any(
                    whole(r) in strange
                    for r in re.findall(r'\w+', operands[1])):
                strange.add(whole(operands[0]))
    for text in instructions:
        mnemonic, operands = split(text)
        if (operands and '[' in operands[0] and
            mnemonic not in ('cmp', 'test', 'nop', 'mul', 'div', 'idiv') and
            any(whole(r) in strange
                for r in re.findall(r'\w+', operands[0]))):
            return text
    return None


# The loops

def choose(every):
    """Rows number 0, every, 2 * every and so on: (name, hex, instructions)."""
    with open(DATA, newline='', encoding='ascii') as file:
        rows = list(csv.DictReader(file))
    return [('%s-%d' % (rows[i]['source'], i), rows[i]['hex'],
             int(rows[i]['n_insn'])) for i in range(0, len(rows), every)]


def core_of(cpu):
    """The row of CORES for QEMU's -cpu."""
    model = cpu.split(',')[0]
    if model not in CORES:
        raise Skip('x86-slots has no core for ' + model)
    return CORES[model]


def ask_tool(core, blocks):
    """x86-slots' figures of these blocks (hex digits) as loops."""
    tool = os.path.join(artifacts.build_dir(), 'core', 'tools', 'x86-slots',
                        'x86-slots')
    try:
        done = subprocess.run(
            [tool, '--batch', '--json', '--add-loop', '--splits', '--core',
             core],
            check=True, text=True, stdout=subprocess.PIPE,
            input=''.join(b + '\n' for b in blocks))
    except OSError as e:
        raise Failure('cannot run %s ("make tools" builds it): %s'
                      % (tool, e.strerror)) from None
    return [json.loads(line) for line in done.stdout.splitlines()]


def make_loops(cpu, shape, every):
    """The loops of a shape, with x86-slots' figures for a CPU model."""
    chosen = choose(every)
    copies = [-(-SHORT_INSTRUCTIONS // count) if shape == 'short'
              else LONG_BYTES // (len(code) // 2)
              for _, code, count in chosen]
    answers = ask_tool(core_of(cpu)[0], [
        code * n for (_, code, _), n in zip(chosen, copies)])
    loops = []
    for (name, code, count), n, figures in zip(chosen, copies, answers):
        listing = figures['listing']
        end = listing[-2:]
        register = end[0]['text'].split()[1]
        texts = [i['text'] for i in listing[:count]]
        strange = strange_store(texts)
        if any(whole(r) == register for r in re.findall(r'\w+', str(texts))):
            raise Failure('%s: there is no register to count with' % name)
        loops.append(Loop(name, shape, figures, GPRS.index(register), n, code,
                          end[0]['bytes'] + end[1]['bytes'],
                          strange and '%s: %s' % (STRANGE, strange)))
    return loops


def checksum(loop):
    """The checksum of a loop's bytes, as programs/blocks.c computes it."""
    result = 0
    for byte in bytes.fromhex(loop.block * loop.copies + loop.end):
        result = (result * 31 + byte) & 0xffffffff
    return result


# The guest

def measure(session, loops, method):
    """Run loops in the guest; returns their Outcomes."""
    lines = []
    for number, loop in enumerate(loops):
        at_once = max(1, method.at_once // loop.figures['instructions'])
        lines.append('%d %d %d %d %d %s %s\n' % (
            number, loop.register, loop.copies, at_once,
            at_once * method.times, loop.block, loop.end))
    text = session.shell(
        "cat >/tmp/blocks <<'END'\n%sEND\ntaskset 1 %s /tmp/blocks"
        % (''.join(lines), in_guest('blocks')))
    answers = text.splitlines()
    if len(answers) != len(loops):
        raise Failure('expected %d lines, observed:\n%s' % (len(loops), text))
    _, width = core_of(session.guest.options.cpu)
    return [outcome(loop, answer.split(), method.statistic, width)
            for loop, answer in zip(loops, answers)]


def outcome(loop, words, statistic, width):
    """The Outcome of a loop, from a line of programs/blocks.c."""
    if words[1] == 'skip':
        return Outcome(loop, None, None, ' '.join(words[2:]))
    at = {'mean': 0, 'least': 1}[statistic]
    total, chunk = int(words[2]), int(words[4])
    cycles, slots = float(words[8 + at]), float(words[11 + at])
    if total != checksum(loop):
        raise Failure('%s: the guest ran other bytes' % loop.name)
    if chunk * loop.figures['instructions'] < LEAST_INSTRUCTIONS:
        return Outcome(loop, None, None, 'too many pages')
    # Slots were counted in another run.  If that differs too much from the run
    # that counted cycles, the run that is farther off is judged.
    if abs(slots - width * cycles) > SLOTS_TOLERANCE * slots:
        cycles = max(cycles, slots / width,
                     key=lambda n: abs(n - loop.figures['cycles']))
    return Outcome(loop, cycles, cycles / loop.figures['cycles'] - 1,
                   loop.skip)


def describe(o):
    loop = o.loop
    text = '%-22s %-5s %9.2f' % (loop.name, loop.shape,
                                 loop.figures['cycles'])
    if o.error is not None:
        text += ' %9.2f %+7.2f %%' % (o.cycles, 100 * o.error)
    return text + (' (%s)' % o.reason if o.reason else '')


def judge(outcomes, tolerance=TOLERANCE, worst=5, share=1, most=math.inf):
    """Check that at least @share of the comparable loops are within @tolerance
    of x86-slots and none is off by more than @most.  Returns a report of the
    worst loops, @worst or more.
    """
    compared = [o for o in outcomes if not o.reason]
    compared.sort(key=lambda o: -abs(o.error))
    bad = [o for o in compared if abs(o.error) > tolerance]
    broken = [o for o in outcomes if o.error is None and
              o.reason not in REASONS]
    report = ['%d of %d loops comparable, %d within %g %%; cycles of an '
              'iteration:' % (len(compared), len(outcomes),
                              len(compared) - len(bad), 100 * tolerance),
              '%-22s %-5s %9s %9s' % ('', '', 'x86-slots', 'guest')]
    report += map(describe, compared[:max(worst, len(bad))])
    report += [describe(o) for o in outcomes if o.reason]
    report = '\n'.join(report)
    if broken or len(compared) < LEAST_SHARE * len(outcomes):
        raise Failure('expected at least %g %% of the loops comparable\n%s'
                      % (100 * LEAST_SHARE, report))
    if len(bad) > (1 - share) * len(compared):
        raise OffEstimate('expected %g %% of them within %g %%\n%s'
                          % (100 * share, 100 * tolerance, report))
    if abs(compared[0].error) > most:
        raise OffEstimate('expected all of them within %.1f %%\n%s'
                          % (100 * most, report))
    return report
