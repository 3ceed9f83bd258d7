/*
 * x86-slots: find what limits the speed of a block, and say it in words.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A host program over the model core, without QEMU.  The classes of slots tell
 * which part of the core the block waits for.  What that part is busy with
 * tells why.
 */

#include "limit.h"

/* A unit that is busy in at least this share of cycles is saturated. */
#define SATURATED 0.92

const char *limit_name(LimitKind kind)
{
    static const char *const names[] = {
        [LIMIT_ISSUE] = "issue", [LIMIT_FRONTEND] = "frontend",
        [LIMIT_BRANCHES] = "branches", [LIMIT_PORTS] = "ports",
        [LIMIT_DIVIDER] = "divider", [LIMIT_SERIALIZING] = "serializing",
        [LIMIT_LATENCY] = "latency", [LIMIT_MEMORY] = "memory",
    };

    return names[kind];
}

static unsigned count_flag(const Code *code, uint32_t flag)
{
    unsigned n = 0;

    for (unsigned i = 0; i < code->path_length; i++) {
        n += !!(code->insns[code->path[i]].info.flags & flag);
    }
    return n;
}

static char *frontend(const Code *code, const PmuUarch *uarch,
                      const MeasureOptions *options, const Measurement *m)
{
    unsigned lcp = count_flag(code, PMU_INSN_LCP);
    double bytes = code->length / m->cycles;

    if (count_flag(code, PMU_INSN_MICROCODED)) {
        return g_strdup_printf("the frontend: microcode, %u micro-ops a cycle",
                               uarch->ms_uops);
    }
    if (options->loop && m->uops <= uarch->dsb_uops) {
        return g_strdup("the frontend: taken branches, and what they leave "
                        "unused of the DSB's lines");
    }
    if (lcp) {
        return g_strdup_printf("the frontend: %u length-changing prefixes, %u "
                               "cycles each", lcp, uarch->lcp_stall);
    }
    if (bytes >= SATURATED * uarch->decode_bytes) {
        return g_strdup_printf("the frontend: predecoding, %u bytes a cycle",
                               uarch->decode_bytes);
    }
    return g_strdup_printf("the frontend: predecoding and decoding, %.1f "
                           "bytes and %.2f instructions a cycle", bytes,
                           m->instructions / m->cycles);
}

/*
 * Returns a text that names the saturated ports ("port 1", "ports 2 and 3");
 * NULL if there is none.
 */
static char *busy_ports(const PmuUarch *uarch, const Measurement *m)
{
    g_autoptr(GString) list = g_string_new(NULL);
    unsigned n = 0, last = 0;

    for (unsigned i = 0; i < uarch->num_ports; i++) {
        if (m->port[i] >= SATURATED * m->cycles) {
            last = i;
            n++;
        }
    }
    for (unsigned i = 0, seen = 0; i < uarch->num_ports && n; i++) {
        if (m->port[i] >= SATURATED * m->cycles) {
            g_string_append_printf(list, "%s%u", !seen++ ? "" :
                                   i == last ? " and " : ", ", i);
        }
    }
    return n ? g_strdup_printf("%s %s, busy in each cycle",
                               n == 1 ? "port" : "ports", list->str) : NULL;
}

/* Whether one of the dividers is saturated. */
static bool divides(const Code *code, const Measurement *m)
{
    unsigned held[PMU_RESOURCE_NR] = {};

    for (unsigned i = 0; i < code->path_length; i++) {
        const PmuInsn *info = &code->insns[code->path[i]].info;

        held[info->resource] += info->hold;
    }
    return MAX(held[PMU_RESOURCE_INT_DIV], held[PMU_RESOURCE_FP_DIV]) >=
           SATURATED * m->cycles;
}

/* Instructions that keep others from issue, execution or the caches. */
#define WAITED_FOR (PMU_INSN_SERIALIZING | PMU_INSN_BLOCKS_ISSUE |  \
                    PMU_INSN_FENCES_LOADS | PMU_INSN_LOCKED)

/* Returns the first such instruction, or NULL. */
static const CodeInsn *waited_for(const Code *code)
{
    for (unsigned i = 0; i < code->path_length; i++) {
        const CodeInsn *insn = &code->insns[code->path[i]];

        if (insn->info.flags & WAITED_FOR) {
            return insn;
        }
    }
    return NULL;
}

static LimitKind backend(const Code *code, const PmuUarch *uarch,
                         const Measurement *m, bool memory, char **why)
{
    const CodeInsn *slow = waited_for(code);

    *why = busy_ports(uarch, m);
    if (*why) {
        return LIMIT_PORTS;
    }
    if (divides(code, m)) {
        *why = g_strdup("the divider, busy in each cycle");
        return LIMIT_DIVIDER;
    }
    if (slow) {
        *why = g_strdup_printf("%s, which others wait for", slow->text);
        return LIMIT_SERIALIZING;
    }
    if (memory) {
        *why = g_strdup("memory: results wait for the latency of loads, or "
                        "for stores to leave");
        return LIMIT_MEMORY;
    }
    *why = g_strdup("latency: each instruction of a chain waits for the one "
                    "before");
    return LIMIT_LATENCY;
}

LimitKind limit_find(const Code *code, const PmuUarch *uarch,
                     const MeasureOptions *options, const Measurement *m,
                     char **why)
{
    const double *slots = m->slots;
    double fe = slots[PMU_SLOT_FETCH_LATENCY] +
                slots[PMU_SLOT_FETCH_BANDWIDTH];
    double bad = slots[PMU_SLOT_BR_MISPREDICT] +
                 slots[PMU_SLOT_MACHINE_CLEARS];
    double memory = slots[PMU_SLOT_MEMORY_BOUND];
    double core = slots[PMU_SLOT_CORE_BOUND];

    if (m->uops >= SATURATED * uarch->width * m->cycles) {
        *why = g_strdup_printf("the issue width: %u micro-ops a cycle",
                               uarch->width);
        return LIMIT_ISSUE;
    }
    if (bad > MAX(fe, memory + core)) {
        *why = g_strdup("bad speculation");
        return LIMIT_BRANCHES;
    }
    if (fe >= memory + core) {
        *why = frontend(code, uarch, options, m);
        return LIMIT_FRONTEND;
    }
    return backend(code, uarch, m, memory > core, why);
}
