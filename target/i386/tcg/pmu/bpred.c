/*
 * Branch predictors: direction, indirect target, return stack, BTB.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Run time, below the line.  Intel does not publish its predictors.  The
 * direction predictor here is a small TAGE (Seznec and Michaud, "A case for
 * (partially) tagged geometric history length branch prediction", JILP 2006)
 * with a loop predictor; the indirect one has the same structure (Seznec, "A
 * 64-Kbytes ITTAGE indirect branch predictor", CBP 2011).  Branches that only
 * ever went one way need neither tables nor a place in the history (Gope and
 * Lipasti, "Bias-free branch predictor", MICRO 2014), which so reaches as far
 * as a longer one.
 */

#include <glib.h>
#include <string.h>

#include "block.h"
#include "bpred.h"
#include "cache.h"

#define BASE_BITS       14
#define TAGE_TABLES     3
#define TAGE_BITS       12
#define LOOP_BITS       6
#define INDIRECT_BITS   10
#define PATH_TABLES     2

/*
 * States of a base entry.  From RUN_NOT to RUN_TAKEN they say how often in a
 * row the branch went a way, and are a counter of two bits: a run that ends
 * leaves it weak, and only the next outcome turns it over.  State STATES - n
 * is for one way what state n is for the other.
 */
enum {
    UNSEEN,                     /* predicted not taken */
    ALWAYS_NOT,
    RUN_NOT,                    /* so long that it decides alone */
    WEAK_NOT = 33,
    WEAK_TAKEN,
    RUN_TAKEN = 65,
    ALWAYS_TAKEN,
    STATES
};

/*
 * States of a tagged entry: in the low three bits a counter, taken from 4 on,
 * above it the entry's merit: it grows when it is right and the base is not.
 */
#define TAGE_STATES     32
#define TAGE_TAKEN      4
#define TAGE_MERIT      8

/*
 * Merit of a new entry.  With none, two branches that want the same place
 * could throw each other out for ever.
 */
#define TAGE_NEW        TAGE_MERIT

typedef struct TageEntry {
    uint16_t tag;
    uint8_t state;
} TageEntry;

/* What an outcome makes of a tagged entry, beside its new state. */
#define TAGE_RIGHT      0x80    /* it predicted that */
#define TAGE_DOUBTFUL   0x40    /* the base did not agree, and it is new */

/* A branch that goes one way @trips times and then the other once. */
typedef struct LoopEntry {
    uint32_t trips;
    uint32_t count;             /* of the trip being made */
    uint8_t confidence;         /* times that @trips was confirmed */
    uint8_t patience;           /* of those that want the entry */
    bool taken;                 /* while in the loop */
} LoopEntry;

/* Trips shorter than this are left to the history. */
#define LOOP_MIN        5
#define LOOP_CONFIDENT  3
#define LOOP_PATIENCE   3

#define TRUST_MAX       8

/* What the newest target of an indirect branch was. */
typedef struct LastTarget {
    uint64_t pc;
    uint64_t target;
    bool changes;               /* there were others */
} LastTarget;

typedef struct PathTarget {
    uint64_t target;
    uint32_t tag;               /* 0: empty */
    uint32_t confidence;        /* 0 to 3 */
} PathTarget;

/*
 * Courses that can depend on one base entry: a guest chooses which entries its
 * branches have, and a list is walked to take one out of its middle.  There are
 * two for each entry if all blocks that can be counted at a time have one.
 */
#define FOLLOWERS_MOST  64

/* Blocks whose courses depend on the same base entry, by their numbers. */
typedef struct Follower {
    uint32_t next;              /* number, and 1; 0: none */
    uint32_t entry;             /* which that is, and 1; 0: on none */
} Follower;

struct PmuBpred {
    uint8_t base[1 << BASE_BITS];       /* states */
    uint32_t first[1 << BASE_BITS];     /* followers: number, and 1; 0: none */
    uint8_t num_followers[1 << BASE_BITS];
    Follower *followers;        /* by number */
    uint64_t *courses;          /* see pmu_bpred_courses() */
    uint64_t history;           /* two bits a branch, newest lowest */
    uint64_t path;              /* hashes of targets, newest lowest */
    int32_t trust_new;          /* entries without merit: 0 or more: yes */
    uint8_t next[2][128];       /* base entry's state, by outcome */
    uint8_t train[2][2][TAGE_STATES];   /* by outcome and base's prediction */
    TageEntry tage[TAGE_TABLES][1 << TAGE_BITS];
    uint64_t loop_pc[1 << LOOP_BITS];
    LoopEntry loop[1 << LOOP_BITS];
    LastTarget last[1 << INDIRECT_BITS];
    PathTarget by_path[PATH_TABLES][1 << INDIRECT_BITS];
    uint64_t *stack;
    uint32_t stack_size, stack_top, stack_depth;
    PmuCache btb;
};

/* Bits of history that the tagged tables look at. */
static const uint8_t history_length[TAGE_TABLES] = { 10, 24, 64 };

/* Targets that the path tables look back on, eight bits each. */
static const uint8_t path_length[PATH_TABLES] = { 2, 8 };

/* Multiplicative hash (Knuth); the upper bits of the product are mixed. */
static inline uint64_t mix(uint64_t value)
{
    return value * 0x9e3779b97f4a7c15ull;
}

/* The state after @state. */
static uint8_t next_state(uint8_t state, bool taken)
{
    if (taken) {
        return state >= WEAK_TAKEN ? MIN(state + 1, RUN_TAKEN)
             : state == WEAK_NOT ? WEAK_TAKEN : WEAK_NOT;
    }
    return state <= WEAK_NOT ? MAX(state - 1, RUN_NOT)
         : state == WEAK_TAKEN ? WEAK_NOT : WEAK_TAKEN;
}

/* What becomes of a tagged entry in @state: see PmuBpred.train. */
static uint8_t train_state(uint8_t state, bool base, bool taken)
{
    int counter = state % TAGE_MERIT, merit = state / TAGE_MERIT;
    bool own = counter >= TAGE_TAKEN, right = own == taken;
    bool weak = counter == TAGE_TAKEN || counter == TAGE_TAKEN - 1;
    uint8_t result = right ? TAGE_RIGHT : 0;

    if (own != base) {
        if (weak && merit <= TAGE_NEW / TAGE_MERIT) {
            result |= TAGE_DOUBTFUL;
        }
        merit = CLAMP(merit + (right ? 1 : -1), 0, 3);
    }
    counter = CLAMP(counter + (taken ? 1 : -1), 0, 7);
    return result | merit * TAGE_MERIT | counter;
}

PmuBpred *pmu_bpred_new(const PmuUarch *uarch)
{
    PmuBpred *bp = g_try_new0(PmuBpred, 1);

    if (!bp) {
        return NULL;
    }
    bp->stack_size = uarch->return_stack;
    bp->stack = g_try_new0(uint64_t, bp->stack_size);
    bp->followers = g_try_new0(Follower, PMU_BLOCK_NUMBERS);
    bp->courses = g_try_new0(uint64_t, PMU_BLOCK_NUMBERS);
    if (!bp->stack || !bp->followers || !bp->courses ||
        !pmu_cache_init(&bp->btb, uarch->btb_entries / uarch->btb_ways,
                        uarch->btb_ways, false)) {
        pmu_bpred_free(bp);
        return NULL;
    }
    pmu_bpred_reset(bp);
    return bp;
}

void pmu_bpred_free(PmuBpred *bp)
{
    if (bp) {
        pmu_cache_destroy(&bp->btb);
        g_free(bp->stack);
        g_free(bp->followers);
        g_free(bp->courses);
        g_free(bp);
    }
}

uint64_t *pmu_bpred_courses(PmuBpred *bp)
{
    return bp->courses;
}

/* Courses that depend on base entry @i lead nowhere, and do so no more. */
static void end_courses(PmuBpred *bp, unsigned i)
{
    while (bp->first[i]) {
        uint32_t number = bp->first[i] - 1;

        bp->first[i] = bp->followers[number].next;
        bp->followers[number] = (Follower) {};
        bp->courses[number] = PMU_NOWHERE;
    }
    bp->num_followers[i] = 0;
}

/* The course of @number depends on no entry any more. */
static void unfollow(PmuBpred *bp, uint32_t number)
{
    Follower *follower = &bp->followers[number];
    uint32_t *link;

    if (!follower->entry) {
        return;
    }
    link = &bp->first[follower->entry - 1];
    while (*link != number + 1) {
        link = &bp->followers[*link - 1].next;
    }
    *link = follower->next;
    bp->num_followers[follower->entry - 1]--;
    *follower = (Follower) {};
}

void pmu_bpred_reset(PmuBpred *bp)
{
    PmuBpred kept = {
        .stack = bp->stack, .stack_size = bp->stack_size, .btb = bp->btb,
        .followers = bp->followers, .courses = bp->courses,
    };

    for (unsigned i = 0; i < 1u << BASE_BITS; i++) {
        end_courses(bp, i);
    }
    *bp = kept;
    pmu_cache_clear(&bp->btb);
    for (unsigned state = 0; state < STATES; state++) {
        bp->next[false][state] = next_state(state, false);
        bp->next[true][state] = next_state(state, true);
    }
    for (unsigned state = 0; state < TAGE_STATES; state++) {
        for (unsigned i = 0; i < 4; i++) {
            bp->train[i & 1][i >> 1][state] = train_state(state, i >> 1, i & 1);
        }
    }
}

/* Where a branch falls in tagged table @table, and under which tag. */
static inline uint64_t tage_hash(uint64_t history, int table, uint64_t by_pc)
{
    return mix(history << (64 - history_length[table])) ^ by_pc;
}

static inline TageEntry *tage_entry(PmuBpred *bp, int table, uint64_t hash)
{
    return &bp->tage[table][hash >> (64 - TAGE_BITS)];
}

static inline uint16_t tage_tag(uint64_t hash)
{
    return hash >> 32;
}

/* After a misprediction by table @provider (-1: base): use more history. */
static G_GNUC_NO_INLINE void tage_allocate(PmuBpred *bp, uint64_t by_pc,
                                           int provider, bool taken)
{
    for (int i = provider + 1; i < TAGE_TABLES; i++) {
        uint64_t hash = tage_hash(bp->history, i, by_pc);
        TageEntry *entry = tage_entry(bp, i, hash);

        if (entry->state < TAGE_MERIT) {
            entry->tag = tage_tag(hash);
            entry->state = TAGE_NEW + (taken ? TAGE_TAKEN : TAGE_TAKEN - 1);
            return;
        }
    }
    for (int i = provider + 1; i < TAGE_TABLES; i++) {
        tage_entry(bp, i, tage_hash(bp->history, i, by_pc))->state -=
            TAGE_MERIT;
    }
}

/*
 * A new entry does not agree with the base, and was @right.  It is heard only
 * while such entries do better: is what is predicted in the end right?
 */
static bool weigh_new(PmuBpred *bp, bool right)
{
    bool trusted = bp->trust_new >= 0;

    bp->trust_new += right ? bp->trust_new < TRUST_MAX
                           : -(bp->trust_new > -TRUST_MAX);
    return trusted == right;
}

static inline unsigned loop_index(uint64_t pc)
{
    return pc % (1u << LOOP_BITS);
}

/* The branch at @pc left a way that it went for a while: perhaps a loop. */
static void loop_allocate(PmuBpred *bp, uint64_t pc, bool taken)
{
    unsigned i = loop_index(pc);
    LoopEntry *loop = &bp->loop[i];

    if (loop->patience) {
        loop->patience--;
    } else {
        bp->loop_pc[i] = pc;
        *loop = (LoopEntry) { .taken = !taken, .patience = LOOP_PATIENCE };
    }
}

/* Loop @loop made a trip, or ended: may it be one still? */
static inline bool train_loop(LoopEntry *loop, bool taken)
{
    uint32_t trips = loop->trips;

    if (taken == loop->taken) {
        loop->count++;
        return !trips || loop->count <= trips;
    }
    loop->trips = loop->count;
    loop->count = 0;
    if (loop->trips == trips && trips) {
        loop->confidence += loop->confidence < LOOP_CONFIDENT;
        loop->patience = LOOP_PATIENCE;
        return true;
    }
    /* The first time measures it. */
    return !trips && loop->trips >= LOOP_MIN;
}

/*
 * Note the outcome of the branch whose hash is @by_pc.  With a bit of that,
 * histories are half as long and shared with fewer other paths.
 */
static inline void note_outcome(PmuBpred *bp, uint64_t by_pc, bool taken)
{
    bp->history = (bp->history << 2) ^ (taken ? 3 : 0) ^ (by_pc >> 62);
}

/* Table @table (-1: base in state @before) mispredicted the branch at @pc. */
static G_GNUC_NO_INLINE bool mispredicted(PmuBpred *bp, uint64_t pc,
                                          bool taken, uint8_t before,
                                          int table)
{
    uint64_t by_pc = mix(pc);

    tage_allocate(bp, by_pc, table, taken);
    if (before <= WEAK_NOT - LOOP_MIN || before >= WEAK_TAKEN + LOOP_MIN) {
        loop_allocate(bp, pc, taken);
    }
    note_outcome(bp, by_pc, taken);
    return false;
}

/* The branch does not always go the same way: ask for the longest match. */
static inline bool predict_by_match(PmuBpred *bp, uint64_t pc, bool taken,
                                    uint8_t *state)
{
    uint64_t by_pc = mix(pc);
    uint8_t before = *state;
    bool base = before >= WEAK_TAKEN, right = base == taken;
    int table = TAGE_TABLES - 1;

    *state = bp->next[taken][before];
#pragma GCC unroll 4
    for (; table >= 0; table--) {
        uint64_t hash = tage_hash(bp->history, table, by_pc);
        TageEntry *entry = tage_entry(bp, table, hash);

        if (entry->tag == tage_tag(hash)) {
            uint8_t result = bp->train[taken][base][entry->state];

            entry->state = result % TAGE_STATES;
            right = result & TAGE_RIGHT;
            if (G_UNLIKELY(result & TAGE_DOUBTFUL)) {
                right = weigh_new(bp, right);
            }
            break;
        }
    }
    if (G_UNLIKELY(!right)) {
        return mispredicted(bp, pc, taken, before, table);
    }
    note_outcome(bp, by_pc, taken);
    return true;
}

/* The same for one that the loop predictor knows: the loop may end here. */
static G_GNUC_NO_INLINE bool predict_loop_end(PmuBpred *bp, uint64_t pc,
                                              bool taken, uint8_t *state)
{
    unsigned i = loop_index(pc);
    LoopEntry *loop = &bp->loop[i];
    bool sure = loop->confidence == LOOP_CONFIDENT;
    bool expected = loop->taken == (loop->count < loop->trips);
    bool right;

    if (!train_loop(loop, taken)) {
        bp->loop_pc[i] = 0;
        loop->patience = 0;
    }
    if (sure) {
        if (expected == taken) {
            note_outcome(bp, mix(pc), taken);
            return true;
        }
        return mispredicted(bp, pc, taken, WEAK_NOT, TAGE_TABLES - 1);
    }
    right = predict_by_match(bp, pc, taken, state);
    /* No run decides alone while the loop is being learnt. */
    *state = CLAMP(*state, RUN_NOT + 1, RUN_TAKEN - 1);
    return right;
}

static G_GNUC_NO_INLINE bool predict_by_loop(PmuBpred *bp, uint64_t pc,
                                             bool taken, uint8_t *state)
{
    LoopEntry *loop = &bp->loop[loop_index(pc)];

    if (loop->confidence == LOOP_CONFIDENT && taken == loop->taken &&
        loop->count < loop->trips) {
        loop->count++;
        note_outcome(bp, mix(pc), taken);
        return true;
    }
    return predict_loop_end(bp, pc, taken, state);
}

static G_GNUC_NO_INLINE bool predict_by_history(PmuBpred *bp, uint64_t pc,
                                                bool taken, uint8_t *state)
{
    return G_LIKELY(bp->loop_pc[loop_index(pc)] != pc)
           ? predict_by_match(bp, pc, taken, state)
           : predict_by_loop(bp, pc, taken, state);
}

/* The base decides alone; @state is its entry. */
static G_GNUC_NO_INLINE bool predict_by_base(PmuBpred *bp, uint64_t pc,
                                             bool taken, uint8_t *state)
{
    uint8_t before = *state;

    if (before == UNSEEN) {
        *state = taken ? ALWAYS_TAKEN : ALWAYS_NOT;
        return !taken;
    }
    if (before == (taken ? RUN_TAKEN : RUN_NOT)) {
        note_outcome(bp, mix(pc), taken);
        return true;
    }
    *state = bp->next[taken][before];
    end_courses(bp, state - bp->base);
    return mispredicted(bp, pc, taken, before, -1);
}

/* The base entry of the branch at @pc. */
static inline unsigned base_index(uint64_t pc)
{
    return (pc ^ (pc >> BASE_BITS)) % (1u << BASE_BITS);
}

/* The branch at @pc, whose base entry is @state, did not always go there. */
static inline bool predict_cond(PmuBpred *bp, uint64_t pc, bool taken,
                                uint8_t *state)
{
    return *state > RUN_NOT && *state < RUN_TAKEN
           ? predict_by_history(bp, pc, taken, state)
           : predict_by_base(bp, pc, taken, state);
}

bool pmu_bpred_cond(PmuBpred *bp, uint64_t pc, bool taken)
{
    uint8_t *state = &bp->base[base_index(pc)];

    return G_LIKELY(*state == (taken ? ALWAYS_TAKEN : ALWAYS_NOT)) ||
           predict_cond(bp, pc, taken, state);
}

/*
 * From now on the course of @number, to @target, depends on base entry @i.  If
 * too many do, the others' are found again when they run.
 */
static G_GNUC_NO_INLINE void follow(PmuBpred *bp, uint32_t number, unsigned i,
                                    uint64_t target)
{
    Follower *follower = &bp->followers[number];

    if (follower->entry != i + 1) {
        unfollow(bp, number);
        if (G_UNLIKELY(bp->num_followers[i] == FOLLOWERS_MOST)) {
            end_courses(bp, i);
        }
        *follower = (Follower) { .next = bp->first[i], .entry = i + 1 };
        bp->first[i] = number + 1;
        bp->num_followers[i]++;
    }
    bp->courses[number] = target;
}

bool pmu_bpred_follow(PmuBpred *bp, uint32_t number, uint64_t pc, bool taken,
                      uint64_t target)
{
    unsigned i = base_index(pc);
    uint8_t *state = &bp->base[i];

    if (*state == (taken ? ALWAYS_TAKEN : ALWAYS_NOT)) {
        follow(bp, number, i, target);
        return true;
    }
    bp->courses[number] = PMU_NOWHERE;
    return predict_cond(bp, pc, taken, state);
}

/* Where an indirect branch falls in path table @table, and with which tag. */
static inline uint64_t path_hash(const PmuBpred *bp, int table, uint64_t by_pc)
{
    return mix(mix(bp->path << (64 - 8 * path_length[table])) ^ by_pc);
}

static inline PathTarget *path_entry(PmuBpred *bp, int table, uint64_t hash)
{
    return &bp->by_path[table][hash >> (64 - INDIRECT_BITS)];
}

static inline uint32_t path_tag(uint64_t hash)
{
    return (uint32_t)(hash >> 16) | 1;
}

static void train_path(PathTarget *entry, uint64_t target)
{
    if (entry->target == target) {
        entry->confidence += entry->confidence < 3;
    } else if (entry->confidence) {
        entry->confidence--;
    } else {
        entry->target = target;
    }
}

static void path_allocate(PathTarget *entry, uint32_t tag, uint64_t target)
{
    if (entry->confidence) {
        entry->confidence--;
    } else {
        *entry = (PathTarget) { .target = target, .tag = tag };
    }
}

/* A branch whose target changes: @guess is its last one. */
static G_GNUC_NO_INLINE bool predict_by_path(PmuBpred *bp, uint64_t by_pc,
                                             uint64_t guess, uint64_t target)
{
    int provider = PATH_TABLES - 1;

    for (; provider >= 0; provider--) {
        uint64_t hash = path_hash(bp, provider, by_pc);
        PathTarget *entry = path_entry(bp, provider, hash);

        if (entry->tag == path_tag(hash)) {
            guess = entry->target;
            train_path(entry, target);
            break;
        }
    }
    if (guess != target && provider + 1 < PATH_TABLES) {
        uint64_t hash = path_hash(bp, provider + 1, by_pc);

        path_allocate(path_entry(bp, provider + 1, hash), path_tag(hash),
                      target);
    }
    bp->path = bp->path << 8 | mix(target) >> 56;
    /* Directions depend on it as well. */
    bp->history = bp->history << 2 | mix(target) >> 62;
    return guess == target;
}

bool pmu_bpred_indirect(PmuBpred *bp, uint64_t pc, uint64_t target)
{
    uint64_t by_pc = mix(pc + 1), guess;
    LastTarget *last = &bp->last[by_pc >> (64 - INDIRECT_BITS)];

    if (last->pc != pc + 1) {
        *last = (LastTarget) { .pc = pc + 1, .target = target };
        return false;
    }
    guess = last->target;
    if (!last->changes) {
        if (G_LIKELY(guess == target)) {
            return true;
        }
        last->changes = true;
    }
    last->target = target;
    return predict_by_path(bp, by_pc, guess, target);
}

void pmu_bpred_call(PmuBpred *bp, uint64_t next)
{
    bp->stack_top = bp->stack_top + 1 == bp->stack_size ? 0
                                                        : bp->stack_top + 1;
    bp->stack[bp->stack_top] = next;
    bp->stack_depth += bp->stack_depth < bp->stack_size;
}

/* Returns to wherever a return goes. */
#define ANYWHERE UINT64_MAX

bool pmu_bpred_ret(PmuBpred *bp, uint64_t target)
{
    uint64_t guess = bp->stack[bp->stack_top];

    if (!bp->stack_depth) {
        return false;
    }
    bp->stack_top = bp->stack_top ? bp->stack_top - 1 : bp->stack_size - 1;
    bp->stack_depth--;
    return guess == target || guess == ANYWHERE;
}

void pmu_bpred_forget_calls(PmuBpred *bp)
{
    for (uint32_t i = 0; i < bp->stack_size; i++) {
        bp->stack[i] = ANYWHERE;
    }
    bp->stack_depth = bp->stack_size;
}

/*
 * Which bits of an address choose the set is not known.  Those of its page do,
 * too: a branch at the same place in each page does not evict the others.
 */
bool pmu_bpred_btb(PmuBpred *bp, uint64_t pc)
{
    return pmu_cache_access(&bp->btb, pc ^ pc >> 10);
}
