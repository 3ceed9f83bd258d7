/*
 * Tag arrays: compact set-associative arrays of cache lines.
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
 * Where a hash chooses the set, an aligned run of 1 << RUN_SHIFT lines gets
 * that many neighbouring sets, if that divides the number of sets.  A guest
 * that goes through data line by line then has the model go through host memory
 * in the same way.  The hash also permutes the sets of a run, so that lines a
 * power of 2 apart use all sets.
 */
#define RUN_SHIFT       3
#define RUN_HASH_SHIFT  13

G_STATIC_ASSERT(PMU_MAX_TAG_ARRAY_WAYS <= HAND_SHIFT);

static size_t array_bytes(const PmuTagArray *array)
{
    return (size_t)array->sets * array->set_words * sizeof(*array->words);
}

bool pmu_tag_array_init(PmuTagArray *array, const PmuCacheGeometry *geometry,
                        bool hashed)
{
    uint32_t sharers = hashed ? (geometry->ways + 3) / 4 : 0;
    uint32_t words = geometry->ways + 1 + sharers;

    array->ways = geometry->ways;
    array->sets = geometry->size / geometry->ways / LINE_BYTES;
    g_assert(array->ways && array->ways <= PMU_MAX_TAG_ARRAY_WAYS &&
             array->sets);
    array->set_mask = hashed || (array->sets & (array->sets - 1))
                      ? 0 : array->sets - 1;
    array->run_shift = array->sets % (1u << RUN_SHIFT) ? 0 : RUN_SHIFT;
    /* A set takes one line of the host, or else a multiple of half a line. */
    array->set_words = words <= 16 ? 16 : (words + 7) & ~7u;
    array->memory = g_try_malloc0(array_bytes(array) + LINE_BYTES);
    array->words = (uint32_t *)(((uintptr_t)array->memory + LINE_BYTES - 1) &
                                ~(uintptr_t)(LINE_BYTES - 1));
    return array->memory;
}

void pmu_tag_array_destroy(PmuTagArray *array)
{
    g_clear_pointer(&array->memory, g_free);
}

void pmu_tag_array_clear(PmuTagArray *array)
{
    memset(array->words, 0, array_bytes(array));
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
 * Hash @n so that every bit of the result depends on all of @n.  With a weaker
 * hash, lines at some distances would share few sets.  The constants are those
 * of SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number
 * generators", OOPSLA 2014).
 */
static inline uint32_t mix(uint64_t n)
{
    n *= PMU_HASH_MULTIPLIER;
    n = (n ^ n >> 30) * 0xbf58476d1ce4e5b9ull;
    return n >> 32;
}

static inline uint32_t *find_set(const PmuTagArray *array, uint64_t line)
{
    uint32_t number = line & array->set_mask;

    if (!array->set_mask) {
        uint32_t hash = mix(line >> array->run_shift);

        number = (uint64_t)hash * (array->sets >> array->run_shift) >> 32;
        number = number << array->run_shift |
                 ((line ^ hash >> RUN_HASH_SHIFT) &
                  ((1u << array->run_shift) - 1));
    }
    return array->words + (size_t)number * array->set_words;
}

void pmu_tag_array_touch_set(const PmuTagArray *array, uint64_t line)
{
    const uint32_t *words = find_set(array, line);

    for (uint32_t i = 0; i < array->set_words;
         i += LINE_BYTES / sizeof(*words)) {
        __builtin_prefetch(words + i);
    }
}

/* The tag of @line: a multiplicative hash (Knuth), never 0. */
static inline uint32_t find_tag(uint64_t line)
{
    uint32_t tag = line * PMU_HASH_MULTIPLIER >> 32;

    return tag ? tag : 1;
}

/* Bits [@from, @to) of a word; @from <= @to < 32. */
static inline uint32_t bits(uint32_t from, uint32_t to)
{
    return (1u << to) - (1u << from);
}

/*
 * Words of a set, to be compared at once.  Other threads may write to them
 * meanwhile: hosts load each aligned word as a whole.
 */
typedef uint32_t Words __attribute__((vector_size(16), may_alias));

#define LANES   (sizeof(Words) / sizeof(uint32_t))

/*
 * The first way that has @tag in the set at @words, or array->ways.  Hot: the
 * loop compares all ways, as the host could not predict an exit.
 */
static inline uint32_t find_way(const PmuTagArray *array, const uint32_t *words,
                                uint32_t tag)
{
    const Words *next = (const Words *)words;
    const Words *end = next + array->ways / LANES;
    Words same = {}, bit = { 1, 2, 4, 8 };
    uint32_t found;

    /*
     * The first word is no way, so way n is bit n + 1 of @same.  Bits of words
     * behind the tags, up to three, are dropped.
     */
    do {
        same |= (Words)(*next == tag) & bit;
        bit <<= LANES;
    } while (next++ != end);
    found = (same[0] | same[1] | same[2] | same[3]) >> 1;
    return __builtin_ctz((found & bits(0, array->ways)) | 1u << array->ways);
}

/* Insert @tag, marked as used if @used is 1.  Returns its way. */
static uint32_t insert(const PmuTagArray *array, uint32_t *words, uint32_t tag,
                       uint32_t used)
{
    uint32_t state = get(words), hand = state >> HAND_SHIFT, way;
    uint32_t unused = bits(0, array->ways) & ~state;
    uint32_t ahead = unused & bits(hand, array->ways);

    if (ahead) {
        way = __builtin_ctz(ahead);
        state &= ~bits(hand, way);
    } else {
        way = unused ? (uint32_t)__builtin_ctz(unused) : hand;
        state &= ~(bits(hand, array->ways) | bits(0, way));
    }
    state = (state & bits(0, array->ways) & ~(1u << way)) | used << way;
    hand = way + 1 == array->ways ? 0 : way + 1;
    set(&words[1 + way], tag);
    set(words, state | hand << HAND_SHIFT);
    return way;
}

static inline void mark_used(uint32_t *words, uint32_t way)
{
    uint32_t state = get(words);

    /* Write only if the bit changes: other threads may read this host line. */
    if (!(state >> way & 1)) {
        set(words, state | 1u << way);
    }
}

bool pmu_tag_array_access(PmuTagArray *array, uint64_t line)
{
    uint32_t *words = find_set(array, line);
    uint32_t tag = find_tag(line), way = find_way(array, words, tag);

    if (way < array->ways) {
        mark_used(words, way);
        return true;
    }
    insert(array, words, tag, 1);
    return false;
}

/*
 * Does no vCPU but @sharer have the line?  @last is the line's PmuSharer with
 * its flags, or 0.
 */
static bool is_alone(uint8_t last, PmuSharer sharer)
{
    return !last || (last & ~PMU_SHARER_WRITES) == sharer;
}

/* What becomes of @last when @sharer asks for the line. */
static uint8_t ask(uint8_t last, PmuSharer sharer, bool write)
{
    if (write) {
        return sharer | PMU_SHARER_WRITES;
    }
    return is_alone(last, sharer) ? last | sharer : sharer | PMU_SHARER_SHARED;
}

/* What @sharer finds; *@asked gets whom it must ask. */
static PmuDirectoryState find(uint8_t last, PmuSharer sharer, bool write,
                              PmuSharer *asked)
{
    if (is_alone(last, sharer) || ((last & PMU_SHARER_SHARED) && !write)) {
        *asked = 0;
        return PMU_DIRECTORY_EXCLUSIVE;
    }
    *asked = last & PMU_SHARER_SHARED
             ? PMU_SHARER_OTHERS : last & PMU_SHARER_MAX;
    return last & PMU_SHARER_WRITES
           ? PMU_DIRECTORY_MODIFIED : PMU_DIRECTORY_SHARED;
}

bool pmu_tag_array_upgrade(PmuTagArray *array, uint64_t line, PmuSharer sharer)
{
    uint32_t *words = find_set(array, line);
    uint32_t way = find_way(array, words, find_tag(line));
    uint8_t *sharers = (uint8_t *)&words[1 + array->ways];
    uint8_t last;

    if (way == array->ways) {
        return true;
    }
    last = __atomic_load_n(&sharers[way], __ATOMIC_RELAXED);
    if (!is_alone(last, sharer)) {
        return false;
    }
    if (!(last & PMU_SHARER_WRITES)) {
        __atomic_store_n(&sharers[way], sharer | PMU_SHARER_WRITES,
                         __ATOMIC_RELAXED);
    }
    return true;
}

PmuDirectoryState pmu_tag_array_access_by(PmuTagArray *array, uint64_t line,
                                          PmuSharer sharer,
                                          bool write, PmuSharer *asked)
{
    uint32_t *words = find_set(array, line);
    uint32_t tag = find_tag(line), way = find_way(array, words, tag);
    uint8_t *sharers = (uint8_t *)&words[1 + array->ways];
    PmuDirectoryState result = PMU_DIRECTORY_MISS;
    uint8_t last = 0, now;

    if (way < array->ways) {
        mark_used(words, way);
        last = __atomic_load_n(&sharers[way], __ATOMIC_RELAXED);
        result = find(last, sharer, write, asked);
    } else {
        way = insert(array, words, tag, 1);
        *asked = 0;
    }
    now = ask(last, sharer, write);
    if (now != last || result == PMU_DIRECTORY_MISS) {
        __atomic_store_n(&sharers[way], now, __ATOMIC_RELAXED);
    }
    return result;
}

bool pmu_tag_array_prefetch(PmuTagArray *array, uint64_t line)
{
    uint32_t *words = find_set(array, line);
    uint32_t tag = find_tag(line);

    if (find_way(array, words, tag) < array->ways) {
        return true;
    }
    insert(array, words, tag, 0);
    return false;
}

bool pmu_tag_array_has(const PmuTagArray *array, uint64_t line)
{
    return find_way(array, find_set(array, line), find_tag(line)) <
           array->ways;
}

bool pmu_tag_array_remove(PmuTagArray *array, uint64_t line)
{
    uint32_t *words = find_set(array, line);
    uint32_t way = find_way(array, words, find_tag(line));

    if (way == array->ways) {
        return false;
    }
    set(&words[1 + way], 0);
    set(words, get(words) & ~(1u << way));
    return true;
}
