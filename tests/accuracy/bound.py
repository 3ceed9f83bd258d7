# SPDX-License-Identifier: GPL-2.0-or-later
"""A lower bound of a block's cycles from the instruction table alone.

There is no pipeline: the bound is the largest of issue slots, port pressure,
dividers, predecode, decode and dependencies.  It is a second opinion on the
table and on the pipeline.
"""

import itertools
import json
import re
import subprocess

LOAD, STORE = 1 << 0, 1 << 1
STACK_LOAD, STACK_STORE = 1 << 2, 1 << 3
HOLDS_HALF = 1 << 25
LCP, BLOCKS_ISSUE = 1 << 14, 1 << 16
ISSUE_TO_DONE = 5               # cycles without the instruction's latency
NONE, NR = 0, 43
SWAP = 1 << 19
SIMD, FP, FADD = 1, 2, 3        # PmuBypass

CORE = {
    "icelake": {
        "width": 5, "load": 0x00c, "address": 0x180, "data": 0x210,
        "alu": 0x063, "l1d": 5, "decoders": 4, "decode_uops": 5,
        "bytes": 16, "windows": True, "predecode": 5, "forward": 5,
        "pair_bytes": 32,
        "bypass": {(SIMD, FP): 1},
    },
    "sapphirerapids": {
        "width": 6, "load": 0x80c, "address": 0x180, "data": 0x210,
        "alu": 0x463, "l1d": 5, "decoders": 6, "decode_uops": 6,
        "bytes": 32, "windows": False, "predecode": 6, "forward": 5,
        "pair_bytes": 0,
        # Adders have a bypass network of their own; SIMD integer units are a
        # cycle from the others.
        "bypass": {(0, FADD): 1, (SIMD, FADD): 1, (FP, FADD): 1,
                   (SIMD, FP): 1},
    },
}


def describe(dump, core, insns):
    text = "".join(i + "\n" for i in insns)
    done = subprocess.run([dump, core], input=text, text=True, check=True,
                          capture_output=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def uops(insn, core):
    """(ports, count) of all unfused micro-ops."""
    flags = insn["flags"]
    for bit in (LOAD, STACK_LOAD):
        if flags & bit:
            yield core["load"], 1
    for ports, count in insn["compute"]:
        if count:
            yield ports, count
    for bit in (STORE, STACK_STORE):
        if flags & bit:
            yield core["address"], 1
            yield core["data"], 1


def port_bound(block, core):
    """Cycles of the most loaded set of ports, over all unions of the micro-ops'
    sets.
    """
    load = {}
    for insn in block:
        for ports, count in uops(insn, core):
            load[ports] = load.get(ports, 0) + count
    best = 0
    masks = list(load)
    for n in range(1, len(masks) + 1):
        for some in itertools.combinations(masks, n):
            union = 0
            for mask in some:
                union |= mask
            inside = sum(c for m, c in load.items() if m & ~union == 0)
            best = max(best, inside / bin(union).count("1"))
    return best


def line_of(key):
    match = re.fullmatch(r"\[(.*?)([+-]0x[0-9a-f]+)?\]", key)
    if not match:
        return key
    return match.group(1), int(match.group(2) or "0", 0) // 64


def store_bound(block, core):
    """
    Cycles of the stores.  Two stores leave the store buffer in a cycle if they
    go to one line and have no more than pair_bytes bytes together.
    """
    if not core["pair_bytes"]:
        return 0
    cycles, last, size = 0, None, 0
    for insn in block:
        if insn["flags"] & (STORE | STACK_STORE):
            key = line_of(insn["address"]) if insn["flags"] & STORE else "stack"
            if key == last and size + insn["access_size"] <= core["pair_bytes"]:
                last = None
                continue
            cycles += 1
            last, size = key, insn["access_size"]
    return cycles


def predecode_bound(block, core):
    """
    Cycles to predecode a block that is repeated as straight-line code.  A cycle
    takes up to so many instructions that end in its window, or have their
    opcode in it but end in the next one.
    """
    size = sum(i["length"] for i in block)
    window = core["bytes"]
    if not core["windows"]:
        stalls = sum(3 * bool(i["flags"] & LCP) for i in block)
        return max(size / window, len(block) / core["predecode"]) + stalls
    copies = window
    counts, stalls = {}, 0
    position = 0
    for _ in range(copies):
        for insn in block:
            opcode = position + insn["opcode"]
            position += insn["length"]
            end = (position - 1) // window
            counts[end] = counts.get(end, 0) + 1
            if opcode // window != end:
                counts[opcode // window] = counts.get(opcode // window, 0) + 1
            stalls += 3 * bool(insn["flags"] & LCP)
    cycles = sum(-(-counts.get(w, 0) // core["predecode"]) or 1
                 for w in range(size * copies // window))
    return (cycles + stalls) / copies


def decode_bound(block, core):
    """Cycles to decode a block: a cycle takes a complex instruction and simple
    ones behind it.
    """
    cycles, left, room = 0.0, 0, 0
    rounds = 120
    for _ in range(rounds):
        for insn in block:
            n = insn["decode_uops"]
            if n > 4:
                cycles += 2 + n / 4
                left = 0
                continue
            if left == 0 or n > 1 or n > room:
                cycles += 1
                left, room = core["decoders"], core["decode_uops"]
            left -= 1
            room -= n
    return cycles / rounds


def memory_keys(insn, plain, stack):
    """Names of the memory that loads, or stores, access, by their text."""
    if insn["flags"] & plain and insn["address"]:
        yield insn["address"]
    if insn["flags"] & stack:
        yield "stack"


def chain_bound(block, core):
    """Cycles of an iteration that dependencies alone take."""
    ready = [0.0] * (NR + 1)
    maker = [0] * (NR + 1)
    memory = {}
    blocked = 0.0
    marks = []
    rounds = 24
    for _ in range(rounds):
        for insn in block:
            flags = insn["flags"]
            start = blocked
            if flags & (LOAD | STACK_LOAD):
                address = max(ready[r] if r else blocked
                              for r in insn["addr_src"])
                data = address + core["l1d"] + insn["load_latency"]
                for key in memory_keys(insn, LOAD, STACK_LOAD):
                    data = max(data, memory.get(key, 0.0) +
                               core["forward"] + insn["forward_latency"])
                start = data
            for reg, late in zip(insn["src"], insn["src_late"]):
                if reg != NONE:
                    way = maker[reg], insn["bypass"]
                    start = max(start, ready[reg] - late +
                                core["bypass"].get(way, 0))
            end = start + insn["latency"]
            if flags & SWAP:
                a, b = insn["dst"][:2]
                ready[a], ready[b] = (
                    ready[b] + insn["latency"] + insn["dst_late"][0],
                    ready[a] + insn["latency"] + insn["dst_late"][1])
                continue
            for reg, late in zip(insn["dst"], insn["dst_late"]):
                if reg != NR:
                    ready[reg] = end + late
                    maker[reg] = insn["bypass"]
            if flags & (STORE | STACK_STORE):
                for key in memory_keys(insn, STORE, STACK_STORE):
                    memory[key] = end
            if flags & BLOCKS_ISSUE:
                blocked = end + ISSUE_TO_DONE
        marks.append(max(max(ready), blocked, *memory.values(), 0.0))
    half = rounds // 2
    return (marks[-1] - marks[half - 1]) / (rounds - half)


def opcode_offset(code):
    """The number of bytes before the nominal opcode."""
    data = bytes.fromhex(code)
    i = 0
    while i < len(data) - 1 and (data[i] in (0x66, 0xf2, 0xf3, 0xf0, 0x67) or
                                 data[i] & 0xf0 == 0x40):
        i += 1
    if data[i] == 0xc5:
        return i + 2
    if data[i] == 0xc4:
        return i + 3
    if data[i] == 0x0f:
        i += 1
        if data[i] in (0x38, 0x3a):
            i += 1
    return min(i, len(data) - 1)


def cycles_of(block, core, loop):
    held = {}
    for insn in block:
        hold = insn["hold"] + (0.5 if insn["flags"] & HOLDS_HALF else 0)
        held[insn["resource"]] = held.get(insn["resource"], 0) + hold
    slots = sum(i["slots"] for i in block) / core["width"]
    result = max(slots, port_bound(block, core), max(held.values()),
                 chain_bound(block, core), store_bound(block, core))
    if loop:
        return max(result, sum(i["decode_uops"] / 4 for i in block
                               if i["decode_uops"] > 4))
    return max(result, predecode_bound(block, core),
               decode_bound(block, core))


def predict(dump, core_name, blocks, loop):
    """The bound of each of @blocks, lists of (hex, text of the memory operand);
    with @loop, of code that need not be decoded anew.
    """
    core = CORE[core_name]
    flat = describe(dump, core_name, [i[0] for b in blocks for i in b])
    result, at = [], 0
    for block in blocks:
        insns = flat[at:at + len(block)]
        at += len(block)
        for insn, (code, address) in zip(insns, block):
            insn["opcode"] = opcode_offset(code)
            insn["address"] = address
        result.append(cycles_of(insns, core, loop))
    return result
