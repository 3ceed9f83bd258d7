/*
 * Compact arrays of cache lines: L2, and the L3 that the vCPUs share.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>
#include <string.h>

#include "tcg/pmu/memory/tag-array.h"
#include "tcg/pmu/uarch/hash.h"

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

static size_t array_bytes(const PmuTagArray *lines)
{
    return (size_t)lines->sets * lines->set_words * sizeof(*lines->words);
}

bool pmu_tag_array_init(PmuTagArray *lines, const PmuCacheGeometry *geometry,
                        bool hashed)
{
    uint32_t users = hashed ? (geometry->ways + 3) / 4 : 0;
    uint32_t words = geometry->ways + 1 + users;

    lines->ways = geometry->ways;
    lines->sets = geometry->size / geometry->ways / LINE_BYTES;
    g_assert(lines->ways && lines->ways <= PMU_MAX_TAG_ARRAY_WAYS &&
             lines->sets);
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

void pmu_tag_array_destroy(PmuTagArray *lines)
{
    g_clear_pointer(&lines->memory, g_free);
}

void pmu_tag_array_clear(PmuTagArray *lines)
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
    n *= PMU_HASH_MULTIPLIER;
    n = (n ^ n >> 30) * 0xbf58476d1ce4e5b9ull;
    return n >> 32;
}

static inline uint32_t *find_set(const PmuTagArray *lines, uint64_t line)
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

void pmu_tag_array_touch_set(const PmuTagArray *lines, uint64_t line)
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
    uint32_t tag = line * PMU_HASH_MULTIPLIER >> 32;

    return tag ? tag : 1;
}

/* The way that has @tag in the set at @words, or lines->ways. */
static inline uint32_t find_way(const PmuTagArray *lines, const uint32_t *words,
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
static uint32_t insert(const PmuTagArray *lines, uint32_t *words, uint32_t tag,
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

bool pmu_tag_array_access(PmuTagArray *lines, uint64_t line)
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

/* Has @user, or no vCPU, a line beside which @last stands, and no other? */
static bool is_alone(uint8_t last, PmuSharer user)
{
    return !last || (last & ~PMU_SHARER_WRITES) == user;
}

/* What stands beside it when @user has asked for it. */
static uint8_t ask(uint8_t last, PmuSharer user, bool write)
{
    if (write) {
        return user | PMU_SHARER_WRITES;
    }
    return is_alone(last, user) ? last | user : user | PMU_SHARER_SHARED;
}

/* What @user finds, and whom it has to ask. */
static PmuDirectoryState find(uint8_t last, PmuSharer user, bool write,
                              PmuSharer *asked)
{
    if (is_alone(last, user) || ((last & PMU_SHARER_SHARED) && !write)) {
        *asked = 0;
        return PMU_DIRECTORY_EXCLUSIVE;
    }
    *asked = last & PMU_SHARER_SHARED
             ? PMU_SHARER_OTHERS : last & PMU_SHARER_MAX;
    return last & PMU_SHARER_WRITES
           ? PMU_DIRECTORY_MODIFIED : PMU_DIRECTORY_SHARED;
}

bool pmu_tag_array_upgrade(PmuTagArray *lines, uint64_t line, PmuSharer user)
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
    if (!(last & PMU_SHARER_WRITES)) {
        __atomic_store_n(&users[way], user | PMU_SHARER_WRITES,
                         __ATOMIC_RELAXED);
    }
    return true;
}

PmuDirectoryState pmu_tag_array_access_by(PmuTagArray *lines, uint64_t line,
                                          PmuSharer user,
                                          bool write, PmuSharer *asked)
{
    uint32_t *words = find_set(lines, line);
    uint32_t tag = find_tag(line), way = find_way(lines, words, tag);
    uint8_t *users = (uint8_t *)&words[1 + lines->ways];
    PmuDirectoryState result = PMU_DIRECTORY_MISS;
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
    if (now != last || result == PMU_DIRECTORY_MISS) {
        __atomic_store_n(&users[way], now, __ATOMIC_RELAXED);
    }
    return result;
}

bool pmu_tag_array_prefetch(PmuTagArray *lines, uint64_t line)
{
    uint32_t *words = find_set(lines, line);
    uint32_t tag = find_tag(line);

    if (find_way(lines, words, tag) < lines->ways) {
        return true;
    }
    insert(lines, words, tag, 0);
    return false;
}

bool pmu_tag_array_remove(PmuTagArray *lines, uint64_t line)
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
