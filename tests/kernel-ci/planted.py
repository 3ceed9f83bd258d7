# SPDX-License-Identifier: GPL-2.0-or-later
#
# Make kernels with a bug in their PMU driver: change some bytes in the image of
# Debian's kernel.

import os
import struct

# Bytes of ENDBR64 and the call of __fentry__, with which functions begin
PROLOGUE = 9
# Bytes of a function that are searched
FUNCTION_MAX = 256
XOR_EAX_EAX_RET = bytes.fromhex('31c0c3')
ADD_EAX_1 = bytes.fromhex('83c001')
ADD_EAX_2 = bytes.fromhex('83c002')


def without_topdown(body):
    """Let icl_update_topdown_event() never add anything to topdown events."""
    return body[:PROLOGUE] + XOR_EAX_EAX_RET + body[PROLOGUE + 3:]


def next_counter(body):
    """Let x86_pmu_event_idx() tell processes that read counters with RDPMC the
    number of the next counter.
    """
    assert body.count(ADD_EAX_1) == 1, body.hex()
    return body.replace(ADD_EAX_1, ADD_EAX_2)


# {name of a kernel: (its function with the bug, what changes its bytes)}
BUGS = {'lost-topdown': ('icl_update_topdown_event', without_topdown),
        'wrong-rdpmc': ('x86_pmu_event_idx', next_counter)}


def file_offset(elf, address):
    """The offset of an address in a 64-bit ELF file."""
    at, = struct.unpack_from('<Q', elf, 0x20)
    size, number = struct.unpack_from('<HH', elf, 0x36)
    for header in range(at, at + size * number, size):
        kind, _, offset, begin, _, length = struct.unpack_from('<IIQQQQ', elf,
                                                               header)
        if kind == 1 and begin <= address < begin + length:
            return offset + address - begin
    raise AssertionError('nothing lies at %#x' % address)


def plant(kernel, symbols, name, directory):
    """Make a kernel with a bug; returns its file.  symbols has the functions'
    addresses in a kernel that is not relocated.
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
