/*
 * x86-slots: measure a block in the model, in the steady state.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A host program over the model core, without QEMU.  For one block, it does
 * what QEMU's translator and the emulated CPU do.
 */

#include <math.h>
#include <string.h>

#include "measure.h"
#include "tcg/pmu/decode/block-builder.h"
#include "tcg/pmu/sampling/timing.h"

/* Linear addresses of code. */
#define CODE_BASE       0x400000ull
#define WARM_BASE       0x300000ull

/*
 * Least instructions and iterations of a loop's round; rounds before those that
 * are measured; and the most rounds that are measured.
 */
#define ROUND_INSNS     20000
#define ROUND_LOOPS     256
#define WARM_ROUNDS     2
#define MAX_ROUNDS      24

/* Rounds have converged if their clocks differ by at most this fraction. */
#define CONVERGED       0.001

/* Flags of which an instruction that accesses memory has at least one. */
#define ACCESSES (PMU_INSN_LOAD | PMU_INSN_STORE |                      \
                  PMU_INSN_STACK_LOAD | PMU_INSN_STACK_STORE)

/* Instructions [@first, @last) of the path, as a block of the model. */
typedef struct Piece {
    PmuBlock *block;
    uint64_t pc;
    unsigned first, last;
} Piece;

typedef struct Rig {
    const Code *code;
    const MeasureOptions *options;
    CodeReader *reader;
    PmuLedger ledger;
    PmuTiming *timing;
    PmuBlockBuilder builder;
    Addresses *addresses;
    GArray *pieces;             /* of Piece: all copies of the code */
    unsigned copies;
} Rig;

/* Totals at one moment, or the difference of two such totals. */
typedef struct Mark {
    uint64_t clock;             /* slots */
    PmuLedgerSnapshot ledger;
    uint64_t port[PMU_MAX_PORTS];
    uint64_t iterations;
} Mark;

/* Map each linear page to the same physical page. */
static PmuMapping translate(void *opaque, uint64_t page)
{
    return (PmuMapping) { page };
}

static const CodeInsn *insn_on_path(const Code *code, unsigned i)
{
    return &code->insns[code->path[i]];
}

/* Begin a block at @pc in @rig->builder. */
static void begin_block(Rig *rig, uint64_t pc)
{
    pmu_block_begin(&rig->builder, PMU_LEVEL_USR, pc);
    rig->builder.block.phys_next = (pc | ((1 << PMU_PAGE_SHIFT) - 1)) + 1;
}

/* Add the block in @rig->builder, [@first, @last) of the path, at @pc. */
static void add_piece(Rig *rig, uint64_t pc, unsigned first, unsigned last)
{
    const PmuBlock *block = &rig->builder.block;
    Piece piece = {
        .block = pmu_block_pack(g_malloc(pmu_block_size(block)), block),
        .pc = pc, .first = first, .last = last,
    };

    g_array_append_val(rig->pieces, piece);
}

/* Append @insn, whose bytes are @bytes, at @pc. */
static void add_insn(Rig *rig, const CodeInsn *insn, const uint8_t *bytes,
                     uint64_t pc)
{
    uint8_t ea = PMU_NO_ACCESS, stack = PMU_NO_ACCESS;
    uint8_t next = rig->builder.block.num_accesses;

    if (insn->info.flags & (PMU_INSN_LOAD | PMU_INSN_STORE)) {
        ea = next++;
    }
    if (insn->info.flags & (PMU_INSN_STACK_LOAD | PMU_INSN_STACK_STORE)) {
        stack = next++;
    }
    pmu_block_add_bytes(&rig->builder, code_reader_decoder(rig->reader), bytes,
                  insn->info.length, pc & ((1 << PMU_PAGE_SHIFT) - 1), ea,
                  stack);
}

/* Whether the translator would end @block after its last instruction. */
static bool is_complete(const PmuBlock *block)
{
    return block->branch != PMU_BRANCH_NONE || block->rep ||
           pmu_block_full(block);
}

/*
 * The block in @rig->builder ends in a return for which there is no call.  Its
 * caller would have put the right address on the return stack, but there is no
 * caller.  So let the model predict the return as an indirect jump that always
 * goes to the same place.
 */
static void predict_return(Rig *rig)
{
    rig->builder.block.branch = PMU_BRANCH_JMP_INDIRECT;
}

/*
 * Add the block that begins with instruction @first of the path, of the copy of
 * the code at @start.  Returns the index in the path where it ends.
 */
static unsigned add_block(Rig *rig, unsigned first, uint64_t start)
{
    const Code *code = rig->code;
    uint64_t pc = start + insn_on_path(code, first)->offset;
    unsigned last = first;

    begin_block(rig, pc);
    while (last < code->path_length && !is_complete(&rig->builder.block)) {
        const CodeInsn *insn = insn_on_path(code, last);
        uint64_t here = start + insn->offset;

        if (here >> PMU_PAGE_SHIFT != pc >> PMU_PAGE_SHIFT) {
            break;
        }
        add_insn(rig, insn, code->bytes + insn->offset, here);
        last++;
    }
    if (code->returns && last == code->path_length) {
        predict_return(rig);
    }
    add_piece(rig, pc, first, last);
    return last;
}

/* Add the jump from the last copy, which ends at @pc, back to the first. */
static void add_return(Rig *rig, uint64_t pc)
{
    static const uint8_t jmp[] = { 0xe9, 0, 0, 0, 0 };
    static const CodeInsn insn = { .info.length = sizeof(jmp) };

    begin_block(rig, pc);
    add_insn(rig, &insn, jmp, pc);
    /* This piece has no instruction of the path. */
    add_piece(rig, pc, rig->code->path_length, rig->code->path_length);
}

/*
 * Straight-line code is as long as fits the L1I.  So it never misses the L1I,
 * and the DSB has evicted it by the time that it runs again.  But if
 * instructions are long, a DSB with a line for each window of the L1I may hold
 * all of the code.  In this case, double the L1I.
 */
static void enlarge_l1i(PmuUarch *uarch, const Code *code)
{
    unsigned windows = uarch->l1i.size / uarch->dsb_window;
    double insns = (double)code->path_length * uarch->dsb_window /
                   code->length;

    if (windows <= uarch->dsb_uops / uarch->dsb_line &&
        insns <= uarch->dsb_line * 1.25) {
        uarch->l1i.size *= 2;
        uarch->l1i.ways *= 2;
    }
}

/*
 * Returns of how many copies of @code straight-line code consists.  Their jumps
 * have to fit the BTB.
 */
static unsigned count_copies(const Code *code, const PmuUarch *uarch)
{
    unsigned copies = (uarch->l1i.size - PMU_LINE_SIZE) / code->length;
    unsigned jumps = 0;

    for (unsigned i = 0; i < code->path_length; i++) {
        unsigned branch = insn_on_path(code, i)->info.branch;

        jumps += branch != PMU_BRANCH_NONE && branch != PMU_BRANCH_COND;
    }
    if (jumps) {
        copies = MIN(copies, uarch->btb_entries / 2 / jumps);
    }
    return MAX(copies, 1);
}

static void lay_out(Rig *rig, const PmuUarch *uarch)
{
    uint64_t pc = CODE_BASE;

    rig->copies = rig->options->loop ? 1 : count_copies(rig->code, uarch);
    for (unsigned i = 0; i < rig->copies; i++) {
        for (unsigned first = 0; first < rig->code->path_length; ) {
            first = add_block(rig, first, pc);
        }
        pc += rig->code->length;
    }
    if (!rig->options->loop) {
        add_return(rig, pc);
    }
}

/* Set @addr to the data addresses of one execution of @piece. */
static void fill_addresses(Rig *rig, const Piece *piece, uint64_t *addr)
{
    for (unsigned i = piece->first; i < piece->last; i++) {
        const PmuBlockInsn *bi = &piece->block->insns[i - piece->first];
        uint64_t ea = 0, stack = 0;

        addresses_step(rig->addresses, rig->code, rig->code->path[i],
                       &ea, &stack);
        if (bi->ea != PMU_NO_ACCESS) {
            addr[bi->ea] = ea;
        }
        if (bi->stack != PMU_NO_ACCESS) {
            addr[bi->stack] = stack;
        }
    }
}

/* Run piece @number. */
static void run_piece(Rig *rig, unsigned number)
{
    const Piece *pieces = (Piece *)rig->pieces->data;
    const Piece *piece = &pieces[number];
    uint64_t addr[PMU_BLOCK_ACCESSES];
    PmuExecution dynamic = {
        .addr = addr, .pc = piece->pc,
        .target = pieces[(number + 1) % rig->pieces->len].pc,
        /* Only the branch that closes a loop is taken. */
        .taken = rig->options->loop && piece->last == rig->code->path_length,
        .iterations = rig->options->rep,
    };

    if (piece->first == 0) {
        addresses_next_iteration(rig->addresses, rig->code);
    }
    fill_addresses(rig, piece, addr);
    pmu_timing_run(rig->timing, piece->block, 0, piece->block->num_insns,
                   &dynamic);
}

static void run_pieces(Rig *rig, unsigned first, unsigned last)
{
    for (unsigned i = first; i < last; i++) {
        run_piece(rig, i);
    }
}

/* Make @rig->builder a block of one load, for warm(). */
static void begin_warming(Rig *rig)
{
    static const uint8_t load[] = { 0x48, 0x8b, 0x03 }; /* mov rax, [rbx] */
    static const CodeInsn insn = {
        .info = { .length = sizeof(load), .flags = PMU_INSN_LOAD },
    };

    begin_block(rig, WARM_BASE);
    add_insn(rig, &insn, load, WARM_BASE);
}

/* Load from each line of the @size bytes at @addr; returns how many. */
static uint64_t warm(Rig *rig, uint64_t addr, uint64_t size)
{
    uint64_t line = addr >> PMU_LINE_SHIFT;
    uint64_t last = (addr + size - 1) >> PMU_LINE_SHIFT;
    PmuExecution dynamic = { .addr = &addr, .pc = WARM_BASE };

    for (uint64_t i = line; i <= last; i++) {
        addr = i << PMU_LINE_SHIFT;
        pmu_timing_run(rig->timing, &rig->builder.block, 0, 1, &dynamic);
    }
    return last - line + 1;
}

/* Bring all lines of data into the caches, and their pages into the TLB. */
static void warm_data(Rig *rig)
{
    for (unsigned i = 0; i < ADDRESSES_LINES; i++) {
        warm(rig, ADDRESSES_BASE + i * ADDRESSES_APART, 1);
    }
}

/* Load each line that one iteration accesses; returns how many. */
static uint64_t warm_iteration(Rig *rig)
{
    const Code *code = rig->code;
    uint64_t lines = 0;

    for (unsigned i = 0; i < code->path_length; i++) {
        const PmuInsn *info = &insn_on_path(code, i)->info;
        uint64_t size = MAX(info->access_size, 1);
        uint64_t ea = 0, stack = 0;

        if (!(info->flags & ACCESSES) || (info->flags & PMU_INSN_STREAMING)) {
            continue;           /* no access, or one that allocates no line */
        }
        if (info->flags & PMU_INSN_REP) {
            size *= rig->options->rep;
        }
        addresses_step(rig->addresses, code, code->path[i], &ea, &stack);
        lines += ea ? warm(rig, ea, size) : 0;
        lines += stack ? warm(rig, stack, size) : 0;
    }
    return lines;
}

/*
 * Fill the caches with what they hold when a stride starts again; the rounds
 * alone are too short for that.  Loads of twice the L3 evict all that was there
 * before.  As these loads are many and their time is not needed, they run in
 * functional warming.
 */
static void warm_strides(Rig *rig, const PmuUarch *uarch)
{
    static const PmuSampling functional = {
        .initial_detailed = 1, .full_warming = 1, .detailed_warming = 1,
        .detailed = 1, .unknown_share = 1u << 30, .period = 1u << 30,
        .functional_warming = 1u << 28,
    };
    uint64_t stride = ABS(rig->options->addresses.stride);
    uint64_t step = MAX(PMU_LINE_SIZE / stride, 1);
    uint64_t period = addresses_period(rig->addresses);
    uint64_t lines = 2 * uarch->l3.size / PMU_LINE_SIZE;

    pmu_timing_set_sampling(rig->timing, &functional);
    for (uint64_t i = 0, done = 0, now = 1;
         i < period && done < lines && now; i += step) {
        now = warm_iteration(rig);
        done += now;
        for (uint64_t j = 0; j < step; j++) {
            addresses_next_iteration(rig->addresses, rig->code);
        }
    }
    pmu_timing_set_sampling(rig->timing, NULL);
}

static void set_mark(const Rig *rig, Mark *mark)
{
    pmu_timing_flush(rig->timing);
    mark->clock = pmu_timing_clock(rig->timing);
    pmu_ledger_snapshot(&rig->ledger, &mark->ledger);
    pmu_timing_ports(rig->timing, mark->port);
}

/* Add @n times @mark to @sum; @n is 1, or -1 to subtract. */
static void add_times(Mark *sum, const Mark *mark, int64_t n)
{
    sum->clock += n * mark->clock;
    sum->iterations += n * mark->iterations;
    for (unsigned i = 0; i < PMU_ITEM_NR; i++) {
        sum->ledger.item[PMU_LEVEL_USR][i] +=
            n * mark->ledger.item[PMU_LEVEL_USR][i];
    }
    for (unsigned i = 0; i < PMU_MAX_PORTS; i++) {
        sum->port[i] += n * mark->port[i];
    }
}

static void add_mark(Mark *sum, const Mark *mark)
{
    add_times(sum, mark, 1);
}

/* Run one round, and set @sum to the totals of its measured part. */
static void run_round(Rig *rig, Mark *sum)
{
    const Piece *piece = (Piece *)rig->pieces->data;
    unsigned last = rig->pieces->len;
    Mark from = {}, to = {};

    memset(sum, 0, sizeof(*sum));
    if (rig->options->loop) {
        sum->iterations = MAX(ROUND_LOOPS,
                              ROUND_INSNS / rig->code->path_length);
        set_mark(rig, &from);
        for (uint64_t i = 0; i < sum->iterations; i++) {
            run_pieces(rig, 0, last);
        }
        set_mark(rig, &to);
    } else {
        /* The jump back and the first copies after it do not count. */
        unsigned skip = rig->copies / 8, first = 0;

        sum->iterations = rig->copies - skip;
        for (unsigned seen = 0; seen < skip || piece[first].first; first++) {
            seen += piece[first].first == 0;
        }
        run_pieces(rig, 0, first);
        set_mark(rig, &from);
        run_pieces(rig, first, last - 1);
        set_mark(rig, &to);
        run_pieces(rig, last - 1, last);
    }
    add_times(sum, &to, 1);
    add_times(sum, &from, -1);
}

static void set_result(const Rig *rig, const Mark *sum, Measurement *result)
{
    const uint64_t *item = sum->ledger.item[PMU_LEVEL_USR];
    double n = sum->iterations;
    double slots = item[PMU_ITEM_SLOTS];

    result->copies = rig->copies;
    result->iterations = sum->iterations;
    result->cycles = sum->clock / n / rig->ledger.width;
    result->instructions = rig->code->path_length;
    for (unsigned i = 0; i < PMU_SLOT_NR; i++) {
        result->slots[i] = slots ? item[i] / slots : 0;
    }
    result->uops = (item[PMU_SLOT_LIGHT_OPS] + item[PMU_SLOT_HEAVY_OPS]) / n;
    for (unsigned i = 0; i < PMU_MAX_PORTS; i++) {
        result->port[i] = sum->port[i] / n;
    }
}

/*
 * Run rounds until two in a row take the same time; these two are the result.
 * If none do, all rounds are.
 */
static void converge(Rig *rig, Measurement *result)
{
    Mark last = {}, now = {}, both = {}, all = {};
    double change = INFINITY;

    for (unsigned i = 0; i < WARM_ROUNDS; i++) {
        run_round(rig, &now);
    }
    for (unsigned i = 0; i < MAX_ROUNDS && change > CONVERGED; i++) {
        last = now;
        run_round(rig, &now);
        add_mark(&all, &now);
        change = fabs((double)now.clock - last.clock) / MAX(now.clock, 1);
    }
    add_mark(&both, &last);
    add_mark(&both, &now);
    result->steady = change <= CONVERGED;
    set_result(rig, result->steady ? &both : &all, result);
}

/* Note which instructions are fused with the one before. */
static void note_fusion(const Rig *rig, Measurement *result)
{
    result->fused = g_new0(bool, rig->code->path_length);
    for (unsigned i = 0; i < rig->pieces->len; i++) {
        const Piece *piece = &g_array_index(rig->pieces, Piece, i);

        for (unsigned j = piece->first; j < piece->last; j++) {
            result->fused[j] |= piece->block->insns[j - piece->first].fused;
        }
    }
}

/* Returns the index of the piece after the first @copies copies of the code. */
static unsigned end_of_copies(const Rig *rig, unsigned copies)
{
    const Piece *piece = (Piece *)rig->pieces->data;
    unsigned i = 0;

    for (unsigned seen = 0; piece[i].first < rig->code->path_length; i++) {
        if (!piece[i].first && seen++ == copies) {
            break;
        }
    }
    return i;
}

/*
 * Run some more iterations, for the timeline.  An interrupt empties the
 * pipeline first.
 */
static void run_timeline(Rig *rig, Measurement *result)
{
    unsigned n = rig->options->timeline;
    PmuTimeline *timeline = &result->timeline;

    n = rig->options->loop ? n : MIN(n, rig->copies);
    timeline->size = n * rig->code->path_length;
    timeline->entry = g_new0(PmuTimelineEntry, timeline->size);
    pmu_timing_interrupt(rig->timing);
    pmu_timing_set_timeline(rig->timing, timeline);
    if (rig->options->loop) {
        for (unsigned i = 0; i < n; i++) {
            run_pieces(rig, 0, rig->pieces->len);
        }
    } else {
        /* Leave out the jump back, which follows the last copy. */
        run_pieces(rig, 0, end_of_copies(rig, n));
    }
    pmu_timing_set_timeline(rig->timing, NULL);
}

void measure(CodeReader *reader, const Code *code, const PmuUarch *uarch,
             const MeasureOptions *options, Measurement *result)
{
    PmuUarch core = *uarch;
    Rig rig = {
        .code = code, .options = options, .reader = reader,
        .addresses = addresses_new(&options->addresses),
        .pieces = g_array_new(FALSE, FALSE, sizeof(Piece)),
    };

    memset(result, 0, sizeof(*result));
    if (!options->loop) {
        enlarge_l1i(&core, code);
    }
    rig.timing = pmu_timing_new(&core, &rig.ledger, NULL, translate, NULL);
    if (!rig.timing) {
        g_error("no memory for the model");
    }
    /* Simulate all in detail, and count micro-ops by port. */
    pmu_timing_set_sampling(rig.timing, NULL);
    pmu_timing_report_ports(rig.timing);
    lay_out(&rig, &core);
    begin_warming(&rig);
    if (options->addresses.stride) {
        warm_strides(&rig, &core);
    } else {
        warm_data(&rig);
    }
    converge(&rig, result);
    note_fusion(&rig, result);
    if (options->timeline) {
        run_timeline(&rig, result);
    }
    for (unsigned i = 0; i < rig.pieces->len; i++) {
        g_free(g_array_index(rig.pieces, Piece, i).block);
    }
    g_array_free(rig.pieces, TRUE);
    addresses_free(rig.addresses);
    pmu_timing_free(rig.timing);
}

void measurement_clear(Measurement *result)
{
    g_clear_pointer(&result->fused, g_free);
    g_clear_pointer(&result->timeline.entry, g_free);
}
