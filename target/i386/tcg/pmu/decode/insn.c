/*
 * What follows from an instruction's description: its number of micro-ops,
 * which path of the pipeline model it can take, and its use of RSP.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>

#include "tcg/pmu/decode/insn.h"

/* Returns the unfused micro-ops of @insn, at most UINT8_MAX: see PmuInsn. */
static unsigned count_uops(const PmuInsn *insn)
{
    unsigned uops = 0;

    for (int i = 0; i < PMU_INSN_COMPUTE; i++) {
        uops += insn->compute[i].count;
    }
    uops += !!(insn->flags & PMU_INSN_LOAD);
    uops += !!(insn->flags & PMU_INSN_STACK_LOAD);
    uops += insn->flags & PMU_INSN_STORE ? 2 : 0;
    uops += insn->flags & PMU_INSN_STACK_STORE ? 2 : 0;
    return MIN(uops, UINT8_MAX);
}

/* Flags of instructions that no short path can run. */
#define NOT_SHORT (PMU_INSN_MICROCODED | PMU_INSN_SERIALIZING |         \
                   PMU_INSN_LOCKED | PMU_INSN_PREFETCH |                \
                   PMU_INSN_STRING | PMU_INSN_REP | PMU_INSN_SWAP |     \
                   PMU_INSN_X87 | PMU_INSN_BLOCKS_ISSUE |               \
                   PMU_INSN_FENCES_LOADS)

/* The shortest path through the model that does all of @insn. */
static PmuPath choose_path(const PmuInsn *insn)
{
    unsigned computes = insn->compute[0].count;
    uint32_t memory = insn->flags & (PMU_INSN_LOADS | PMU_INSN_STORES);

    if (insn->slots != 1 || insn->resource != PMU_RESOURCE_NONE ||
        insn->branch != PMU_BRANCH_NONE || (insn->flags & NOT_SHORT) ||
        insn->src[PMU_SHORT_SRCS] ||
        insn->dst[PMU_SHORT_DSTS] != PMU_REG_NR || computes > 1 ||
        insn->compute[1].count) {
        return PMU_PATH_FULL;
    }
    if (!memory) {
        return computes ? PMU_PATH_COMPUTE : PMU_PATH_FULL;
    }
    if (memory == PMU_INSN_LOAD || memory == PMU_INSN_STACK_LOAD) {
        return PMU_PATH_LOAD;
    }
    if (!computes &&
        (memory == PMU_INSN_STORE || memory == PMU_INSN_STACK_STORE)) {
        return PMU_PATH_STORE;
    }
    return PMU_PATH_FULL;
}

static PmuRsp rsp_use(const PmuInsn *insn)
{
    static const uint8_t rsp = PMU_REG_RSP;
    bool reads = insn->addr_src[0] == rsp || insn->addr_src[1] == rsp;

    if ((insn->flags & (PMU_INSN_STACK_LOAD | PMU_INSN_STACK_STORE)) &&
        !(insn->flags & PMU_INSN_STRING)) {
        return PMU_RSP_STACK;
    }
    for (int i = 0; i < PMU_INSN_SRCS; i++) {
        reads |= insn->src[i] == rsp;
    }
    return reads ? PMU_RSP_USE
                 : insn->dst[0] == rsp ? PMU_RSP_SET : PMU_RSP_NONE;
}

void pmu_insn_complete(PmuInsn *insn)
{
    insn->uops = count_uops(insn);
    insn->path = choose_path(insn);
    insn->rsp = rsp_use(insn);
}
