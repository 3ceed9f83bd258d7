/*
 * x86-slots: addresses of the data that a block accesses.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A host program over the model core, without QEMU.
 */

#include <string.h>

#include "addresses.h"
#include "tcg/pmu/decode/block.h"

/* A register's value: an unknown, @symbol, plus the constant @add. */
typedef struct Value {
    uint64_t symbol;
    int64_t add;
} Value;

/* Unknowns.  Constants have SYMBOL_ZERO; new ones begin at SYMBOL_FIRST. */
enum {
    SYMBOL_ZERO,
    SYMBOL_GPR0,                /* what registers hold at first */
    SYMBOL_FIRST = SYMBOL_GPR0 + CODE_GPRS,
};

/* Identifies a line of memory by the address that accesses it. */
typedef struct Key {
    uint64_t base, index;       /* symbols */
    uint64_t line;              /* sum of the constants, in lines */
    uint32_t scale, segment;
} Key;

/* A line of memory, and the key that it has now. */
typedef struct Line {
    Key key;
    uint64_t used;              /* number of the last access; 0: none */
} Line;

/*
 * A line that one of this many last accesses used keeps its key, as stores may
 * wait for it.  No core has as many loads and stores in flight.
 */
#define RECENT 256
G_STATIC_ASSERT(RECENT < ADDRESSES_LINES);

/* Places of instructions that have their own, with room for any span. */
#define OWN_BASE        0x1000000000ull
#define OWN_SIZE        (1ull << 32)

struct Addresses {
    AddressOptions options;
    Value gpr[CODE_GPRS];
    uint64_t symbols;           /* the next new one */
    uint64_t accesses;          /* so far, plus RECENT */
    uint64_t iteration;
    GHashTable *by_key;         /* &Line.key to Line */
    Line line[ADDRESSES_LINES];
    unsigned next;              /* the line that gets a new key next */
};

static guint key_hash(gconstpointer pointer)
{
    const Key *key = pointer;
    uint64_t hash = key->base * 0x9e3779b97f4a7c15ull ^ key->line;

    hash = hash * 0x9e3779b97f4a7c15ull ^ key->index;
    hash = hash * 0x9e3779b97f4a7c15ull ^ key->scale ^ key->segment << 4;
    return hash * 0x9e3779b97f4a7c15ull >> 32;
}

static gboolean key_equal(gconstpointer a, gconstpointer b)
{
    return !memcmp(a, b, sizeof(Key));
}

Addresses *addresses_new(const AddressOptions *options)
{
    Addresses *addresses = g_new0(Addresses, 1);

    addresses->options = *options;
    for (unsigned i = 0; i < CODE_GPRS; i++) {
        addresses->gpr[i].symbol = SYMBOL_GPR0 + i;
    }
    addresses->symbols = SYMBOL_FIRST;
    addresses->accesses = RECENT;       /* no line was used recently */
    addresses->by_key = g_hash_table_new(key_hash, key_equal);
    return addresses;
}

void addresses_free(Addresses *addresses)
{
    g_hash_table_destroy(addresses->by_key);
    g_free(addresses);
}

void addresses_next_iteration(Addresses *addresses, const Code *code)
{
    addresses->iteration++;
    if (code->returns) {
        addresses->gpr[CODE_RSP] = (Value) {
            .symbol = SYMBOL_GPR0 + CODE_RSP,
        };
    }
}

uint64_t addresses_period(const Addresses *addresses)
{
    uint64_t span = addresses->options.span;
    uint64_t a = ABS(addresses->options.stride), b = span;

    /* Euclid: a becomes the greatest common divisor. */
    while (b) {
        uint64_t rest = a % b;

        a = b;
        b = rest;
    }
    return span / a;
}

static Value value_of(const Addresses *addresses, int reg)
{
    return reg == CODE_NO_GPR ? (Value) {} : addresses->gpr[reg];
}

/* Returns the line of @key.  If there is none, another line gets this key. */
static Line *line_of(Addresses *addresses, const Key *key)
{
    Line *line = g_hash_table_lookup(addresses->by_key, key);

    if (line) {
        return line;
    }
    do {
        line = &addresses->line[addresses->next];
        addresses->next = (addresses->next + 1) % ADDRESSES_LINES;
    } while (line->used + RECENT > addresses->accesses);
    if (line->used) {
        g_hash_table_remove(addresses->by_key, &line->key);
    }
    line->key = *key;
    g_hash_table_insert(addresses->by_key, &line->key, line);
    return line;
}

/*
 * Returns the address of operand @mem, in a line.  An operand that would not
 * fit there moves to the line's end.  With AddressOptions.splits it extends
 * into the next line, which no other access uses.
 */
static uint64_t place(Addresses *addresses, const CodeOperand *mem)
{
    Value base = value_of(addresses, mem->base);
    Value index = value_of(addresses, mem->index);
    uint64_t sum = base.add + (uint64_t)index.add * mem->scale + mem->disp;
    unsigned size = MIN(mem->size, PMU_LINE_SIZE);
    unsigned offset = sum & (PMU_LINE_SIZE - 1);
    Key key = {
        .base = base.symbol, .index = index.symbol,
        .line = sum >> PMU_LINE_SHIFT,
        .scale = index.symbol ? mem->scale : 0, .segment = mem->segment,
    };
    Line *line = line_of(addresses, &key);

    line->used = ++addresses->accesses;
    return ADDRESSES_BASE + (line - addresses->line) * ADDRESSES_APART +
           (addresses->options.splits ? offset
                                      : MIN(offset, PMU_LINE_SIZE - size));
}

/*
 * Returns a place that only instruction @index uses: @number (0 or 1) of the
 * two that it may have.
 */
static uint64_t own_place(const Addresses *addresses, unsigned index,
                          unsigned number)
{
    uint64_t start = OWN_BASE + (2 * index + number) * OWN_SIZE;

    /* Spread the places over the sets of the caches. */
    start += (2 * index + number) % 61 * 17 * PMU_LINE_SIZE;
    if (!addresses->options.stride) {
        return start;
    }
    return start + (int64_t)addresses->iteration * addresses->options.stride %
                   addresses->options.span;
}

static void apply(Addresses *addresses, const CodeEffect *effect,
                  const Value *before)
{
    Value value = {};

    if (!effect->known) {
        value.symbol = addresses->symbols++;
    } else {
        if (effect->from != CODE_NO_GPR) {
            value = before[effect->from];
        }
        value.add += effect->add;
    }
    addresses->gpr[effect->reg] = value;
}

void addresses_step(Addresses *addresses, const Code *code, unsigned index,
                    uint64_t *ea, uint64_t *stack)
{
    const CodeInsn *insn = &code->insns[index];
    uint32_t flags = insn->info.flags;
    bool own = addresses->options.stride || (flags & PMU_INSN_STRING);
    Value before[CODE_GPRS];

    if (flags & (PMU_INSN_LOAD | PMU_INSN_STORE)) {
        *ea = own || !insn->mem.present
              ? own_place(addresses, index, 0)
              : place(addresses, &insn->mem);
    }
    if (flags & (PMU_INSN_STACK_LOAD | PMU_INSN_STACK_STORE)) {
        CodeOperand top = {
            .base = CODE_RSP, .index = CODE_NO_GPR, .size = 8,
            .disp = flags & PMU_INSN_STACK_STORE ? -8 : 0,
        };

        *stack = own ? own_place(addresses, index, 1)
                     : place(addresses, &top);
    }
    if (!insn->num_effects) {
        return;
    }
    memcpy(before, addresses->gpr, sizeof(before));
    for (unsigned i = 0; i < insn->num_effects; i++) {
        apply(addresses, &insn->effect[i], before);
    }
}
