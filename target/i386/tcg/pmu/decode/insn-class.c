/*
 * Classes of instructions, by what they compute, that events count.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Data and its lookup.
 *
 * Source of the classes and of their instructions: events SW_PREFETCH_ACCESS,
 * FP_ARITH_INST_RETIRED and INT_VEC_RETIRED of Intel's event lists
 * (https://github.com/intel/perfmon).  The lists do not name the instructions
 * of INT_VEC_RETIRED: taken are those of that kind in the instruction table.
 */

#include <glib.h>
#include <string.h>

#include "tcg/pmu/decode/insn-class.h"

/* Classes by mnemonic. */
static const struct {
    const char *name;
    PmuInsnClass insn_class;
} named[] = {
    { "nop", PMU_CLASS_NOP },
    { "pause", PMU_CLASS_PAUSE },
    { "lfence", PMU_CLASS_LFENCE },
    { "prefetchnta", PMU_CLASS_PREFETCH_NTA },
    { "prefetcht0", PMU_CLASS_PREFETCH_T0 },
    { "prefetcht1", PMU_CLASS_PREFETCH_T1_T2 },
    { "prefetcht2", PMU_CLASS_PREFETCH_T1_T2 },
    { "prefetchw", PMU_CLASS_PREFETCH_W },
};

/* Classes by the beginning of the mnemonic, for 128 bits and for 256 bits. */
static const struct {
    const char *prefix;
    PmuInsnClass insn_class[2];
} integer[] = {
    { "padd", { PMU_CLASS_INT_ADD_128, PMU_CLASS_INT_ADD_256 } },
    { "psub", { PMU_CLASS_INT_ADD_128, PMU_CLASS_INT_ADD_256 } },
    { "phadd", { PMU_CLASS_INT_ADD_128, PMU_CLASS_INT_ADD_256 } },
    { "phsub", { PMU_CLASS_INT_ADD_128, PMU_CLASS_INT_ADD_256 } },
    { "psadbw", { PMU_CLASS_INT_ADD_128, PMU_CLASS_INT_ADD_256 } },
    { "mpsadbw", { PMU_CLASS_INT_ADD_128, PMU_CLASS_INT_ADD_256 } },
    { "pmul", { PMU_CLASS_NONE, PMU_CLASS_INT_MUL_256 } },
    { "pmadd", { PMU_CLASS_NONE, PMU_CLASS_INT_MUL_256 } },
    { "pshuf", { PMU_CLASS_INT_SHUFFLE, PMU_CLASS_INT_SHUFFLE } },
    { "punpck", { PMU_CLASS_INT_SHUFFLE, PMU_CLASS_INT_SHUFFLE } },
    { "pack", { PMU_CLASS_INT_SHUFFLE, PMU_CLASS_INT_SHUFFLE } },
    { "palignr", { PMU_CLASS_INT_SHUFFLE, PMU_CLASS_INT_SHUFFLE } },
    { "perm2i128", { PMU_CLASS_INT_SHUFFLE, PMU_CLASS_INT_SHUFFLE } },
    { "permd", { PMU_CLASS_INT_SHUFFLE, PMU_CLASS_INT_SHUFFLE } },
    { "permq", { PMU_CLASS_INT_SHUFFLE, PMU_CLASS_INT_SHUFFLE } },
};

/*
 * Floating-point mnemonics without their suffix, how often they count, and
 * whether denormal numbers need an assist.  Since Sandy Bridge some operations
 * need none (Cordes, https://stackoverflow.com/a/60970819, which does not list
 * them).  Sums and comparisons are assumed to need none; products, and what is
 * made of them, to need one.
 */
static const struct {
    const char *stem;
    uint8_t times;
    bool assisted;
} floating[] = {
    { "add", 1 }, { "sub", 1 }, { "addsub", 1 }, { "hadd", 1 }, { "hsub", 1 },
    { "min", 1 }, { "max", 1 }, { "rsqrt", 1 }, { "rcp", 1 },
    { "mul", 1, true }, { "div", 1, true }, { "sqrt", 1, true },
    { "dp", 2, true }, { "fmadd", 2, true }, { "fmsub", 2, true },
    { "fnmadd", 2, true }, { "fnmsub", 2, true }, { "fmaddsub", 2, true },
    { "fmsubadd", 2, true },
};

/* Suffixes, in the order of tally_of below. */
static const char suffixes[][3] = { "sd", "ss", "pd", "ps" };

/* Returns @length without FMA's operand order, digits behind the stem. */
static size_t stem_length(const char *name, size_t length)
{
    while (length && g_ascii_isdigit(name[length - 1])) {
        length--;
    }
    return length;
}

static void tally_floating(PmuInsn *insn, const char *name, unsigned suffix,
                           size_t length, bool ymm)
{
    static const uint8_t tally_of[2][4] = {
        {
            PMU_CLASS_FP_SCALAR_DOUBLE, PMU_CLASS_FP_SCALAR_SINGLE,
            PMU_CLASS_FP_128_DOUBLE, PMU_CLASS_FP_128_SINGLE,
        }, {
            PMU_CLASS_FP_SCALAR_DOUBLE, PMU_CLASS_FP_SCALAR_SINGLE,
            PMU_CLASS_FP_256_DOUBLE, PMU_CLASS_FP_256_SINGLE,
        },
    };

    length = stem_length(name, length);
    for (size_t i = 0; i < G_N_ELEMENTS(floating); i++) {
        if (strlen(floating[i].stem) == length &&
            !memcmp(floating[i].stem, name, length)) {
            insn->insn_class = tally_of[ymm][suffix];
            insn->class_count = floating[i].times;
            insn->flags |= floating[i].assisted ? PMU_INSN_ASSISTED : 0;
        }
    }
}

static void tally_vector(PmuInsn *insn, const char *name, bool ymm)
{
    size_t length = strlen(name);

    for (size_t i = 0; i < G_N_ELEMENTS(integer); i++) {
        if (g_str_has_prefix(name, integer[i].prefix)) {
            insn->insn_class = integer[i].insn_class[ymm];
            insn->class_count = insn->insn_class != PMU_CLASS_NONE;
            return;
        }
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(suffixes); i++) {
        if (g_str_has_suffix(name, suffixes[i])) {
            tally_floating(insn, name, i, length - 2, ymm);
            return;
        }
    }
}

void pmu_insn_classify(PmuInsn *insn, const char *name, bool xmm, bool ymm)
{
    for (size_t i = 0; i < G_N_ELEMENTS(named); i++) {
        if (!strcmp(named[i].name, name)) {
            insn->insn_class = named[i].insn_class;
            insn->class_count = 1;
            return;
        }
    }
    if (xmm || ymm) {
        tally_vector(insn, name + (name[0] == 'v'), ymm);
    }
}
