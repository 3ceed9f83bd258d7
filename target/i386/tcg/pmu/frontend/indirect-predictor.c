/*
 * Predictor of the targets of indirect branches.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>
#include <string.h>

#include "tcg/pmu/frontend/indirect-predictor.h"

/* Indirect targets in the history of each path table, eight bits each. */
static const uint8_t path_length[PMU_PATH_TABLES] = { 2, 8 };

void pmu_indirect_predictor_init(PmuIndirectPredictor *p,
                                 PmuBranchHistory *history)
{
    memset(p, 0, sizeof(*p));
    p->history = history;
}

/*
 * The hash that gives the entry and the tag, in path table @table, of the
 * indirect branch whose hash is @by_pc.
 */
static inline uint64_t path_hash(const PmuBranchHistory *history, int table,
                                 uint64_t by_pc)
{
    return pmu_branch_mix(
        pmu_branch_mix(history->path << (64 - 8 * path_length[table])) ^ by_pc);
}

static inline PmuPathTarget *path_entry(PmuIndirectPredictor *p, int table,
                                        uint64_t hash)
{
    return &p->by_path[table][hash >> (64 - PMU_INDIRECT_BITS)];
}

static inline uint32_t path_tag(uint64_t hash)
{
    return (uint32_t)(hash >> 16) | 1;
}

static void train_path(PmuPathTarget *entry, uint64_t target)
{
    if (entry->target == target) {
        entry->confidence += entry->confidence < 3;
    } else if (entry->confidence) {
        entry->confidence--;
    } else {
        entry->target = target;
    }
}

static void path_allocate(PmuPathTarget *entry, uint32_t tag, uint64_t target)
{
    if (entry->confidence) {
        entry->confidence--;
    } else {
        *entry = (PmuPathTarget) { .target = target, .tag = tag };
    }
}

/*
 * Predict and train a branch whose target changes; @predicted is its last
 * target.  Was @target predicted?
 */
static G_GNUC_NO_INLINE bool predict_by_path(PmuIndirectPredictor *p,
                                             uint64_t by_pc,
                                             uint64_t predicted,
                                             uint64_t target)
{
    int provider = PMU_PATH_TABLES - 1;

    for (; provider >= 0; provider--) {
        uint64_t hash = path_hash(p->history, provider, by_pc);
        PmuPathTarget *entry = path_entry(p, provider, hash);

        if (entry->tag == path_tag(hash)) {
            predicted = entry->target;
            train_path(entry, target);
            break;
        }
    }
    if (predicted != target && provider + 1 < PMU_PATH_TABLES) {
        uint64_t hash = path_hash(p->history, provider + 1, by_pc);

        path_allocate(path_entry(p, provider + 1, hash), path_tag(hash),
                      target);
    }
    pmu_branch_history_add_indirect(p->history, target);
    return predicted == target;
}

bool pmu_indirect_predictor_predict(PmuIndirectPredictor *p, uint64_t pc,
                                    uint64_t target)
{
    uint64_t by_pc = pmu_branch_mix(pc + 1), predicted;
    PmuLastTarget *last = &p->last[by_pc >> (64 - PMU_INDIRECT_BITS)];

    if (last->pc != pc + 1) {
        *last = (PmuLastTarget) { .pc = pc + 1, .target = target };
        return false;
    }
    predicted = last->target;
    if (!last->changes) {
        if (G_LIKELY(predicted == target)) {
            return true;
        }
        last->changes = true;
    }
    last->target = target;
    return predict_by_path(p, by_pc, predicted, target);
}
