/*
 * Timing of REP string instructions.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The cycles and slots of a string instruction are a function of the bytes done
 * so far, so it does not matter in how many parts these are reported.  Where
 * the pipeline does not run, a string costs what earlier ones at the same place
 * cost: those that did about as many bytes and got most lines from the same
 * level, or else any.  If there were none, the pipeline runs the string alone.
 */

#include <glib.h>

#include "tcg/pmu/sampling/rep-strings.h"
#include "tcg/pmu/sampling/timing-ledger.h"

/* Slots that a string instruction issues. */
typedef struct StringCost {
    uint8_t startup;            /* at its start */
    uint16_t slots_64;          /* for each 64 bytes */
    bool per_element;           /* @slots_64 is for 64 elements instead */
} StringCost;

/*
 * Source: InstLatx64, in L1: MOVSB does 118 bytes a cycle, STOSB 62; a cycle is
 * 5 slots.  Compare and scan go element by element and take about 2 cycles for
 * each (uops.info); so does LODS.  @startup is chosen: 20 to 35 cycles are
 * usually measured.
 */
static const StringCost cost_movs = { 60, 3, false };
static const StringCost cost_stos = { 60, 5, false };
static const StringCost cost_element = { 30, 64 * 8, true };

static const StringCost *string_cost(const PmuInsn *insn)
{
    if (!(insn->flags & PMU_INSN_STACK_STORE)) {
        return &cost_element;
    }
    return insn->flags & PMU_INSN_LOAD ? &cost_movs : &cost_stos;
}

/* Bytes of an element, a power of 2. */
static uint64_t element_size(const PmuInsn *insn)
{
    return MAX(insn->access_size, 1);
}

/* Slots that the first @bytes take, without @cost->startup. */
static uint64_t string_slots(const StringCost *cost, const PmuInsn *insn,
                             uint64_t bytes)
{
    uint64_t units = cost->per_element ? bytes / element_size(insn) : bytes;

    return units * cost->slots_64 / 64;
}

static void string_uop(PmuTiming *t)
{
    pmu_pipeline_string_uop(&t->pipeline, t->string.ready);
}

/*
 * Count in @lines a line of the string, and where it came from.  A line that a
 * prefetch brought is taken to come from where the newest prefetch found one.
 */
static void note_source(PmuStringLines *lines, const PmuAccessOutcome *access)
{
    static const uint8_t found_in[] = {
        [PMU_SOURCE_L1] = PMU_FOUND_IN_NR, [PMU_SOURCE_FILL] = PMU_FOUND_IN_NR,
        [PMU_SOURCE_L2] = PMU_FOUND_IN_L2,
        [PMU_SOURCE_PREFETCH] = PMU_FOUND_IN_NR,
        [PMU_SOURCE_L3] = PMU_FOUND_IN_L3,
        [PMU_SOURCE_DRAM] = PMU_FOUND_IN_DRAM,
    };
    unsigned from = access->source == PMU_SOURCE_PREFETCH
                    ? lines->prefetched_from : found_in[access->source];

    lines->all++;
    if (from < PMU_FOUND_IN_NR) {
        lines->from[from]++;
    }
    if (access->prefetch_dram) {
        lines->prefetched_from = PMU_FOUND_IN_DRAM;
    } else if (access->prefetch_l3) {
        lines->prefetched_from = PMU_FOUND_IN_L3;
    }
}

/*
 * Show the caches an access to @line of an operand (linear address / 64), and
 * count it.  Its outcome is in @access.
 */
static void string_access(PmuTiming *t, uint64_t line, bool store,
                          PmuAccessOutcome *access)
{
    uint64_t addr = line << PMU_LINE_SHIFT;
    PmuMemory *mem = &t->functional.mem;

    pmu_ledger_event(t->ledger, PMU_ITEM_L1D_ACCESSES, 1);
    pmu_ledger_event(t->ledger, store ? PMU_ITEM_STORES : PMU_ITEM_LOADS_L1,
                     1);
    *access = (PmuAccessOutcome) {};
    if (t->string.untimed) {
        pmu_memory_set_untimed(mem);
    }
    if (!pmu_memory_hit(mem, addr, 1, store)) {
        pmu_memory_string_line(mem, addr, store, access);
    }
    note_source(&t->string.lines, access);
}

static void string_load(PmuTiming *t, uint64_t line)
{
    PmuString *s = &t->string;
    uint64_t ready;
    PmuAccessOutcome access;

    string_access(t, line, false, &access);
    if (s->untimed) {
        return;
    }
    ready = pmu_lsu_string_load(&t->pipeline, &access);
    s->ready = MAX(s->ready, PMU_COMPLETION(ready, 1));
}

static void string_store(PmuTiming *t, uint64_t line)
{
    PmuAccessOutcome access;

    string_access(t, line, true, &access);
    pmu_memory_record_store(&t->functional.mem, line << PMU_LINE_SHIFT,
                            PMU_LINE_SIZE);
    if (!t->string.untimed) {
        pmu_lsu_string_store(&t->pipeline, &access,
                             line == t->functional.store_line);
    }
    t->functional.store_line = line;
    if (access.smc) {
        pmu_functional_machine_clear(&t->functional);
        pmu_recovery_smc_clear(&t->pipeline);
    }
}

/* Access the lines of the elements at @src and @dst unless they were last. */
static void string_lines(PmuTiming *t, const PmuInsn *insn, uint64_t src,
                         uint64_t dst)
{
    PmuString *s = &t->string;

    src >>= PMU_LINE_SHIFT;
    dst >>= PMU_LINE_SHIFT;
    if ((insn->flags & PMU_INSN_LOAD) && src != s->src_line) {
        s->src_line = src;
        string_load(t, src);
    }
    if ((insn->flags & (PMU_INSN_STACK_LOAD | PMU_INSN_STACK_STORE)) &&
        dst != s->dst_line) {
        s->dst_line = dst;
        if (insn->flags & PMU_INSN_STACK_STORE) {
            string_store(t, dst);
        } else {
            string_load(t, dst);
        }
    }
}

/* Let the pipeline fetch string instruction @index and issue its startup. */
static void begin_pipeline(PmuTiming *t, const PmuBlock *block,
                           unsigned index, uint64_t block_pc)
{
    uint64_t from;

    if (t->plan.phase < PMU_PHASE_DETAILED_WARMING) {
        pmu_memory_misses_arrive(&t->functional.mem);
    }
    pmu_functional_fetch_string(&t->functional, block, index, block_pc);
    from = pmu_pipeline_string_begin(&t->pipeline, block, index,
                                     &t->functional.outcome);
    t->string.ready = PMU_COMPLETION(from, 0);
    for (uint32_t i = 0;
         i < string_cost(block->insns[index].insn)->startup; i++) {
        string_uop(t);
    }
}

/*
 * How many elements of 1 << @shift bytes from @addr on begin in its line: 1 or
 * more.
 */
static uint64_t elements_in_line(uint64_t addr, unsigned shift, bool backwards)
{
    uint64_t offset = addr & (PMU_LINE_SIZE - 1);

    return backwards ? (offset >> shift) + 1
                     : ((PMU_LINE_SIZE - 1 - offset) >> shift) + 1;
}

/* Issue the slots of the next @bytes bytes. */
static void issue_slots(PmuTiming *t, const PmuInsn *insn, uint64_t bytes)
{
    const StringCost *cost = string_cost(insn);
    uint64_t done = t->string.bytes, due;

    if (t->string.untimed) {
        return;
    }
    due = string_slots(cost, insn, done + bytes) -
          string_slots(cost, insn, done);
    for (; due; due--) {
        string_uop(t);
    }
}

/*
 * Do @dynamic->iterations iterations of the string instruction.  A line is
 * accessed before the elements in it are done.  A micro-op issues when the
 * bytes that it is for are done.  So the parts add up to the whole.
 */
static void string_iterate(PmuTiming *t, const PmuBlockInsn *bi,
                           const PmuExecution *dynamic)
{
    PmuString *s = &t->string;
    const PmuInsn *insn = bi->insn;
    uint64_t src = bi->ea != PMU_NO_ACCESS ? dynamic->addr[bi->ea] : 0;
    uint64_t dst = bi->stack != PMU_NO_ACCESS ? dynamic->addr[bi->stack] : 0;
    uint64_t size = element_size(insn), left = dynamic->iterations;
    unsigned shift = __builtin_ctzll(size);

    while (left) {
        uint64_t in_src = elements_in_line(src, shift, dynamic->backwards);
        uint64_t in_dst = elements_in_line(dst, shift, dynamic->backwards);
        uint64_t n = MIN(left, MIN(in_src, in_dst));
        uint64_t step = dynamic->backwards ? -n * size : n * size;

        string_lines(t, insn, src, dst);
        src += step;
        dst += step;
        left -= n;
        issue_slots(t, insn, n * size);
        s->bytes += n * size;
    }
}

/* Costs of whole string instructions. */

/*
 * The level that most of a string's lines came from, if not from a nearer one.
 * STRING_FROM_L2 includes L1D, and STRING_FROM_ANYWHERE says nothing.
 */
typedef enum StringSource {
    STRING_FROM_ANYWHERE, STRING_FROM_L2, STRING_FROM_L3, STRING_FROM_DRAM
} StringSource;

static StringSource source_of(const PmuStringLines *lines)
{
    uint64_t dram = lines->from[PMU_FOUND_IN_DRAM];
    uint64_t beyond_l2 = dram + lines->from[PMU_FOUND_IN_L3];

    return !lines->all ? STRING_FROM_ANYWHERE
           : 2 * dram > lines->all ? STRING_FROM_DRAM
           : 2 * beyond_l2 > lines->all ? STRING_FROM_L3 : STRING_FROM_L2;
}

/*
 * Returns the key of the cost of the string instruction when it does as many
 * bytes, to a power of two, and most of its lines come from @source.
 */
static uint64_t length_key(const PmuTiming *t, StringSource source)
{
    const PmuString *s = &t->string;
    unsigned magnitude = s->bytes ? 64 - __builtin_clzll(s->bytes) : 0;

    return pmu_cpi_table_key(pmu_insn_hash(s->hash,
                                           source * 128 + magnitude + 2),
                             t->ledger->level);
}

/* Returns the key of its cost for any number; @hash: see PmuBlockInsn. */
static uint64_t place_key(const PmuTiming *t, uint32_t hash)
{
    return pmu_cpi_table_key(pmu_insn_hash(hash, 1), t->ledger->level);
}

#define STRING_KEYS 3

/* Keys of a string's cost; the first one stands for those most similar. */
typedef struct StringKeys {
    uint64_t key[STRING_KEYS];
} StringKeys;

static StringKeys string_keys(const PmuTiming *t)
{
    return (StringKeys) {
        {
            length_key(t, source_of(&t->string.lines)),
            length_key(t, STRING_FROM_ANYWHERE),
            place_key(t, t->string.hash),
        },
    };
}

/* A part of the string ran in a sampling unit: add it to its sample. */
static void note_sampled(PmuTiming *t)
{
    const uint32_t *item = t->pipeline.clock.counts.item;
    uint32_t *sample = t->string_sample.item;

    for (unsigned i = 0; i < PMU_SLOT_NR; i++) {
        sample[i] += item[i];
    }
    for (unsigned i = PMU_SLOT_NR; i < PMU_PIPELINE_COUNT_NR; i++) {
        sample[PMU_SAMPLE_ITEMS + i - PMU_SLOT_NR] += item[i];
    }
}

/* A piece of the string ran in a sampling unit: the CPI table learns it. */
static void learn_string(PmuTiming *t)
{
    StringKeys keys = string_keys(t);
    /* Without lines the first two are the same. */
    unsigned first = t->string.lines.all ? 0 : 1;

    for (unsigned i = first; i < STRING_KEYS; i++) {
        pmu_cpi_table_add_sample(&t->cpi_table, keys.key[i], 0,
                                 &t->string_sample);
    }
}

/* The pipeline did not run the piece: count the cost of the most similar. */
static void count_string(PmuTiming *t)
{
    StringKeys keys = string_keys(t);
    PmuCpiEntry *cost = NULL;

    for (unsigned i = 0; !cost && i < STRING_KEYS; i++) {
        cost = pmu_cpi_table_find_any(&t->cpi_table, keys.key[i]);
    }
    if (cost) {
        pmu_timing_count_known_region(t, cost);
    }
}

/*
 * Returns how many lines of the operand @access the iterations touch; 0 if
 * there is no such operand.  *@line is the line that was touched before, and
 * does not count if it is the first of them.  On return it is their last one.
 */
static uint64_t lines_of(const PmuBlockInsn *bi, uint8_t access,
                         const PmuExecution *dynamic, uint64_t *line)
{
    uint64_t span = (dynamic->iterations - 1) * element_size(bi->insn);
    uint64_t first, offset, lines;

    if (access == PMU_NO_ACCESS || !dynamic->iterations) {
        return 0;
    }
    first = dynamic->addr[access];
    offset = first % PMU_LINE_SIZE;
    offset = dynamic->backwards ? PMU_LINE_SIZE - 1 - offset : offset;
    /* An address wraps around at the start of a line. */
    lines = (offset + span) / PMU_LINE_SIZE +
            (first / PMU_LINE_SIZE != *line);
    *line = (dynamic->backwards ? first - span : first + span) / PMU_LINE_SIZE;
    return lines;
}

/*
 * Show the L3 the @lines lines of a fast-forwarded string that end with @last.
 * Strings clear pages and copy them, and the code that follows reads these.
 */
static void warm_lines(PmuTiming *t, const PmuExecution *dynamic,
                       uint64_t last, uint64_t lines, bool write)
{
    PmuString *s = &t->string;
    uint64_t first = dynamic->backwards ? last : last - lines + 1;

    pmu_memory_warm_lines(&t->functional.mem, first << PMU_LINE_SHIFT, lines,
                          write, s->lines.from);
    s->lines.all += lines;
}

/*
 * A part of the string is fast-forwarded: show its lines to the L3, and count
 * its accesses, which are counted in every phase.
 */
static void count_lines(PmuTiming *t, const PmuBlockInsn *bi,
                        const PmuExecution *dynamic)
{
    PmuString *s = &t->string;
    unsigned flags = bi->insn->flags;
    uint64_t src = flags & PMU_INSN_LOAD
                   ? lines_of(bi, bi->ea, dynamic, &s->src_line) : 0;
    uint64_t dst = flags & (PMU_INSN_STACK_LOAD | PMU_INSN_STACK_STORE)
                   ? lines_of(bi, bi->stack, dynamic, &s->dst_line) : 0;
    bool stores = flags & PMU_INSN_STACK_STORE;

    pmu_ledger_event(t->ledger, PMU_ITEM_L1D_ACCESSES, src + dst);
    pmu_ledger_event(t->ledger, PMU_ITEM_LOADS_L1, src + (stores ? 0 : dst));
    pmu_ledger_event(t->ledger, PMU_ITEM_STORES, stores ? dst : 0);
    warm_lines(t, dynamic, s->src_line, src, false);
    warm_lines(t, dynamic, s->dst_line, dst, stores);
    s->bytes += dynamic->iterations * element_size(bi->insn);
}

/*
 * Take the string off the phase at hand.  Each 64 bytes of it count as an
 * instruction, as they take as long, in periods and in sampling units.  No
 * phase ends amid a string.  However long one is, the instructions behind it
 * can be subtracted without overflow.
 */
static void pass_string(PmuTiming *t)
{
    int32_t lines = t->string.bytes / PMU_LINE_SIZE;

    t->plan.left = MAX(t->plan.left, INT32_MIN / 2 + lines) - lines;
}

/* Clear the sample of the string, which was learnt or does not go on. */
static void forget_sample(PmuTiming *t)
{
    if (t->string.sampled) {
        t->string_sample = (PmuSample) {};
    }
}

/* A piece of the string, or all of it, is done: see ends_piece(). */
static void end_piece(PmuTiming *t)
{
    PmuString *s = &t->string;

    if (s->in_pieces && !s->bytes) {
        return;                 /* nothing ran since the last piece */
    }
    if (s->untimed) {
        count_string(t);
    } else if (s->sampled) {
        learn_string(t);
    }
    pass_string(t);
    s->in_pieces = true;
    s->bytes = 0;
    s->lines = (PmuStringLines) {};
    forget_sample(t);
}

void pmu_timing_end_string(PmuTiming *t)
{
    if (t->string.active) {
        end_piece(t);
        t->string.active = false;
    }
}

/*
 * Begin with string instruction @index of @block.  Before detailed warming, the
 * pipeline runs it only if the CPI table has no cost for its place.
 */
static void begin_string(PmuTiming *t, const PmuBlock *block, unsigned index,
                         uint64_t block_pc)
{
    const PmuBlockInsn *bi = &block->insns[index];
    PmuString *s = &t->string;

    pmu_timing_end_string(t);
    forget_sample(t);
    *s = (PmuString) {
        .active = true, .pc = block_pc + bi->offset, .hash = bi->hash,
        .src_line = UINT64_MAX, .dst_line = UINT64_MAX,
        .sampled = t->plan.phase == PMU_PHASE_DETAILED && t->plan.sampling,
    };
    s->untimed = t->plan.phase <= PMU_PHASE_FULL_WARMING &&
                 pmu_cpi_table_find_any(&t->cpi_table, place_key(t, bi->hash));
    if (!s->untimed) {
        begin_pipeline(t, block, index, block_pc);
    } else if (t->plan.phase == PMU_PHASE_FULL_WARMING) {
        pmu_functional_fetch_string(&t->functional, block, index, block_pc);
    }
}

/*
 * Show the caches a part of the string, @dynamic.  The pipeline runs it unless
 * PmuString.untimed.
 */
static void look_at_string(PmuTiming *t, const PmuBlockInsn *bi,
                           const PmuExecution *dynamic, bool last)
{
    string_iterate(t, bi, dynamic);
    if (last && !t->string.untimed) {
        pmu_pipeline_string_end(&t->pipeline, bi->insn);
    }
    if (t->string.sampled) {
        note_sampled(t);
    }
    pmu_timing_enter_string(t);
}

/*
 * Does a piece of the string end behind this part?  A string whose cost is
 * known is counted where it ends, and a guest can make one last for minutes.
 * So it is counted and learnt in pieces, for counters and interrupts to keep
 * up.  A piece ends where translated code looks for interrupts
 * (PMU_STRING_MAX_ITERATIONS).  That depends on rCX alone, not on how often the
 * string was left in between.  Single step and -icount shift=N stop behind each
 * iteration, also in front of the last one, which is part of the last piece.
 */
static bool ends_piece(const PmuExecution *dynamic)
{
    return dynamic->rest > 1 &&
           dynamic->rest % (PMU_STRING_MAX_ITERATIONS - 1) == 1;
}

void pmu_timing_run_string(PmuTiming *t, const PmuBlock *block,
                           unsigned index, const PmuExecution *dynamic,
                           bool last)
{
    const PmuBlockInsn *bi = &block->insns[index];
    PmuString *s = &t->string;
    PmuExecution part = *dynamic;

    if (G_UNLIKELY(part.iterations > PMU_STRING_MAX_ITERATIONS)) {
        part.iterations = PMU_STRING_MAX_ITERATIONS;
        t->ledger->repairs++;
    }
    if (!s->active || s->pc != dynamic->pc + bi->offset) {
        begin_string(t, block, index, dynamic->pc);
    }
    if (s->untimed && t->plan.phase == PMU_PHASE_FAST_FORWARD) {
        count_lines(t, bi, &part);
    } else {
        look_at_string(t, bi, &part, last);
    }
    if (last || (s->untimed && ends_piece(dynamic))) {
        pmu_timing_end_string(t);
    } else if (ends_piece(dynamic)) {
        end_piece(t);
    }
}
