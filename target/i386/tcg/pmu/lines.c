/*
 * Compact arrays of cache lines: L2, and the L3 that the vCPUs share.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Run time, below the line.
 */

#include <glib.h>
#include <string.h>

#include "cache.h"
#include "lines.h"

#define LINE_BYTES      64      /* of the model's lines, and of the host's */
#define HAND_SHIFT      24

/*
 * Where sets are chosen by hash, those of 1 << RUN_SHIFT lines in a row are
 * neighbours, if that divides their number: who goes through data line by line
 * goes through the host's memory like that.  Which of them is whose depends on
 * the hash, too, so that lines a power of 2 apart use all sets.
 */
#define RUN_SHIFT       3
#define RUN_HASH_SHIFT  13

struct PmuL3 {
    PmuLines lines;
    gint references;
    gint users;                 /* that numbers were given to */
    PmuInbox inbox[PMU_USER_MAX + 1];   /* by PmuUser */
};

static size_t array_bytes(const PmuLines *lines)
{
    return (size_t)lines->sets * lines->set_words * sizeof(*lines->words);
}

bool pmu_lines_init(PmuLines *lines, const PmuCacheGeometry *geometry,
                    bool hashed)
{
    uint32_t users = hashed ? (geometry->ways + 3) / 4 : 0;
    uint32_t words = geometry->ways + 1 + users;

    lines->ways = geometry->ways;
    lines->sets = geometry->size / geometry->ways / LINE_BYTES;
    g_assert(lines->ways && lines->ways <= PMU_LINES_MAX_WAYS && lines->sets);
    lines->set_mask = hashed || (lines->sets & (lines->sets - 1))
                      ? 0 : lines->sets - 1;
    lines->run_shift = lines->sets % (1u << RUN_SHIFT) ? 0 : RUN_SHIFT;
    /* A set of the host's lines, or of half lines if that is less. */
    lines->set_words = words <= 16 ? 16 : (words + 7) & ~7u;
    lines->memory = g_try_malloc0(array_bytes(lines) + LINE_BYTES);
    lines->words = (uint32_t *)(((uintptr_t)lines->memory + LINE_BYTES - 1) &
                                ~(uintptr_t)(LINE_BYTES - 1));
    return lines->memory;
}

void pmu_lines_destroy(PmuLines *lines)
{
    g_clear_pointer(&lines->memory, g_free);
}

void pmu_lines_clear(PmuLines *lines)
{
    memset(lines->words, 0, array_bytes(lines));
}

static inline uint32_t get(const uint32_t *word)
{
    return __atomic_load_n(word, __ATOMIC_RELAXED);
}

static inline void set(uint32_t *word, uint32_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELAXED);
}

/*
 * All bits depend on all of @n: with less, lines at some distances would share
 * few sets.  The constants are those of SplitMix64 (Steele, Lea and Flood,
 * "Fast splittable pseudorandom number generators", OOPSLA 2014).
 */
static inline uint32_t mix(uint64_t n)
{
    n *= 0x9e3779b97f4a7c15ull;
    n = (n ^ n >> 30) * 0xbf58476d1ce4e5b9ull;
    return n >> 32;
}

static inline uint32_t *find_set(const PmuLines *lines, uint64_t line)
{
    uint32_t number = line & lines->set_mask;

    if (!lines->set_mask) {
        uint32_t hash = mix(line >> lines->run_shift);

        number = (uint64_t)hash * (lines->sets >> lines->run_shift) >> 32;
        number = number << lines->run_shift |
                 ((line ^ hash >> RUN_HASH_SHIFT) &
                  ((1u << lines->run_shift) - 1));
    }
    return lines->words + (size_t)number * lines->set_words;
}

void pmu_lines_expect(const PmuLines *lines, uint64_t line)
{
    const uint32_t *words = find_set(lines, line);

    for (uint32_t i = 0; i < lines->set_words;
         i += LINE_BYTES / sizeof(*words)) {
        __builtin_prefetch(words + i);
    }
}

/* A multiplicative hash (Knuth): the upper bits of the product are mixed. */
static inline uint32_t find_tag(uint64_t line)
{
    uint32_t tag = line * 0x9e3779b97f4a7c15ull >> 32;

    return tag ? tag : 1;
}

/* The way that has @tag in the set at @words, or lines->ways. */
static inline uint32_t find_way(const PmuLines *lines, const uint32_t *words,
                                uint32_t tag)
{
    uint32_t way = 0;

    while (way < lines->ways && get(&words[1 + way]) != tag) {
        way++;
    }
    return way;
}

/* Bits [@from, @to) of a word; @from <= @to < 32. */
static inline uint32_t bits(uint32_t from, uint32_t to)
{
    return (1u << to) - (1u << from);
}

/* Put @tag in, and where; it is marked as used if @used is 1, not if 0. */
static uint32_t insert(const PmuLines *lines, uint32_t *words, uint32_t tag,
                       uint32_t used)
{
    uint32_t state = get(words), hand = state >> HAND_SHIFT, way;
    uint32_t unused = bits(0, lines->ways) & ~state;
    uint32_t ahead = unused & bits(hand, lines->ways);

    if (ahead) {
        way = __builtin_ctz(ahead);
        state &= ~bits(hand, way);
    } else {
        way = unused ? (uint32_t)__builtin_ctz(unused) : hand;
        state &= ~(bits(hand, lines->ways) | bits(0, way));
    }
    state = (state & bits(0, lines->ways) & ~(1u << way)) | used << way;
    hand = way + 1 == lines->ways ? 0 : way + 1;
    set(&words[1 + way], tag);
    set(words, state | hand << HAND_SHIFT);
    return way;
}

static inline void mark_used(uint32_t *words, uint32_t way)
{
    uint32_t state = get(words);

    /* Do not take the host's line from others for nothing. */
    if (!(state >> way & 1)) {
        set(words, state | 1u << way);
    }
}

bool pmu_lines_access(PmuLines *lines, uint64_t line)
{
    uint32_t *words = find_set(lines, line);
    uint32_t tag = find_tag(line), way = find_way(lines, words, tag);

    if (way < lines->ways) {
        mark_used(words, way);
        return true;
    }
    insert(lines, words, tag, 1);
    return false;
}

/* Has @user, or nobody, a line beside which @last stands, and no other? */
static bool is_alone(uint8_t last, PmuUser user)
{
    return !last || (last & ~PMU_USER_WRITES) == user;
}

/* What stands beside it when @user has asked for it. */
static uint8_t ask(uint8_t last, PmuUser user, bool write)
{
    if (write) {
        return user | PMU_USER_WRITES;
    }
    return is_alone(last, user) ? last | user : user | PMU_USER_SHARED;
}

/* What @user finds, and whom it has to ask. */
static PmuFound find(uint8_t last, PmuUser user, bool write, PmuUser *asked)
{
    if (is_alone(last, user) || ((last & PMU_USER_SHARED) && !write)) {
        *asked = 0;
        return PMU_FOUND_ALONE;
    }
    *asked = last & PMU_USER_SHARED ? PMU_USER_OTHERS : last & PMU_USER_MAX;
    return last & PMU_USER_WRITES ? PMU_FOUND_MODIFIED : PMU_FOUND_SHARED;
}

bool pmu_lines_claim(PmuLines *lines, uint64_t line, PmuUser user)
{
    uint32_t *words = find_set(lines, line);
    uint32_t way = find_way(lines, words, find_tag(line));
    uint8_t *users = (uint8_t *)&words[1 + lines->ways];
    uint8_t last;

    if (way == lines->ways) {
        return true;
    }
    last = __atomic_load_n(&users[way], __ATOMIC_RELAXED);
    if (!is_alone(last, user)) {
        return false;
    }
    if (!(last & PMU_USER_WRITES)) {
        __atomic_store_n(&users[way], user | PMU_USER_WRITES,
                         __ATOMIC_RELAXED);
    }
    return true;
}

PmuFound pmu_lines_access_by(PmuLines *lines, uint64_t line, PmuUser user,
                             bool write, PmuUser *asked)
{
    uint32_t *words = find_set(lines, line);
    uint32_t tag = find_tag(line), way = find_way(lines, words, tag);
    uint8_t *users = (uint8_t *)&words[1 + lines->ways];
    PmuFound result = PMU_FOUND_NOT;
    uint8_t last = 0, now;

    if (way < lines->ways) {
        mark_used(words, way);
        last = __atomic_load_n(&users[way], __ATOMIC_RELAXED);
        result = find(last, user, write, asked);
    } else {
        way = insert(lines, words, tag, 1);
        *asked = 0;
    }
    now = ask(last, user, write);
    if (now != last || result == PMU_FOUND_NOT) {
        __atomic_store_n(&users[way], now, __ATOMIC_RELAXED);
    }
    return result;
}

bool pmu_lines_prefetch(PmuLines *lines, uint64_t line)
{
    uint32_t *words = find_set(lines, line);
    uint32_t tag = find_tag(line);

    if (find_way(lines, words, tag) < lines->ways) {
        return true;
    }
    insert(lines, words, tag, 0);
    return false;
}

bool pmu_lines_remove(PmuLines *lines, uint64_t line)
{
    uint32_t *words = find_set(lines, line);
    uint32_t way = find_way(lines, words, find_tag(line));

    if (way == lines->ways) {
        return false;
    }
    set(&words[1 + way], 0);
    set(words, get(words) & ~(1u << way));
    return true;
}

PmuL3 *pmu_l3_new(const PmuUarch *uarch)
{
    PmuL3 *l3 = g_try_new0(PmuL3, 1);

    if (l3 && !pmu_lines_init(&l3->lines, &uarch->l3, true)) {
        g_clear_pointer(&l3, g_free);
    }
    if (l3) {
        l3->references = 1;
    }
    return l3;
}

PmuL3 *pmu_l3_ref(PmuL3 *l3)
{
    g_atomic_int_inc(&l3->references);
    return l3;
}

void pmu_l3_unref(PmuL3 *l3)
{
    if (l3 && g_atomic_int_dec_and_test(&l3->references)) {
        pmu_lines_destroy(&l3->lines);
        g_free(l3);
    }
}

PmuLines *pmu_l3_lines(PmuL3 *l3)
{
    return &l3->lines;
}

PmuUser pmu_l3_user(PmuL3 *l3)
{
    return (unsigned)g_atomic_int_add(&l3->users, 1) % PMU_USER_MAX + 1;
}

bool pmu_l3_is_shared(const PmuL3 *l3)
{
    return g_atomic_int_get(&l3->users) > 1;
}

PmuInbox *pmu_l3_inbox(PmuL3 *l3, PmuUser user)
{
    return &l3->inbox[user];
}

void pmu_l3_tell(PmuL3 *l3, PmuUser user, PmuUser asked, PmuSnoop snoop)
{
    gint users = MIN(g_atomic_int_get(&l3->users), PMU_USER_MAX);

    if (asked != PMU_USER_OTHERS) {
        pmu_inbox_put(&l3->inbox[asked], snoop);
        return;
    }
    for (gint other = 1; other <= users; other++) {
        if (other != user) {
            pmu_inbox_put(&l3->inbox[other], snoop);
        }
    }
}
