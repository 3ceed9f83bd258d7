# SPDX-License-Identifier: GPL-2.0-or-later
#
# Kernels with a bug in their driver of the PMU: Debian's, with some bytes
# changed in the file that is booted.

import os
import struct

# Behind ENDBR64 and the call of __fentry__, with which functions begin
PROLOGUE = 9
# How far a function is looked through
FUNCTION_MAX = 256
XOR_EAX_EAX_RET = bytes.fromhex('31c0c3')
ADD_EAX_1 = bytes.fromhex('83c001')
ADD_EAX_2 = bytes.fromhex('83c002')


def without_topdown(body):
    """icl_update_topdown_event(): nothing is ever added to topdown events."""
    return body[:PROLOGUE] + XOR_EAX_EAX_RET + body[PROLOGUE + 3:]


def next_counter(body):
    """x86_pmu_event_idx(): processes that read their counters with RDPMC are
    told the number of the one behind.
    """
    assert body.count(ADD_EAX_1) == 1, body.hex()
    return body.replace(ADD_EAX_1, ADD_EAX_2)


# {name of a kernel: (function of the kernel, what becomes of its bytes)}
BUGS = {'lost-topdown': ('icl_update_topdown_event', without_topdown),
        'wrong-rdpmc': ('x86_pmu_event_idx', next_counter)}


def file_offset(elf, address):
    """Where an address lies in an ELF file of 64-bit code."""
    at, = struct.unpack_from('<Q', elf, 0x20)
    size, number = struct.unpack_from('<HH', elf, 0x36)
    for header in range(at, at + size * number, size):
        kind, _, offset, begin, _, length = struct.unpack_from('<IIQQQQ', elf,
                                                               header)
        if kind == 1 and begin <= address < begin + length:
            return offset + address - begin
    raise AssertionError('nothing lies at %#x' % address)


def plant(kernel, symbols, name, directory):
    """The file of a kernel with a bug.  symbols has the addresses of its
    functions where it is linked to.
    """
    function, change = BUGS[name]
    with open(kernel, 'rb') as file:
        elf = bytearray(file.read())
    at = file_offset(elf, symbols[function])
    body = change(bytes(elf[at:at + FUNCTION_MAX]))
    elf[at:at + FUNCTION_MAX] = body
    path = os.path.join(directory, name)
    with open(path, 'wb') as out:
        out.write(elf)
    return path
