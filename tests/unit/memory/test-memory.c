/*
 * The memory side compared with a naive one, and with what its sizes promise.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <string.h>

#include "tcg/pmu/memory/memory.h"
#include "naive-cache.h"
#include "random.h"

#define LINE            64
#define PAGE            4096
#define SOURCES         (PMU_SOURCE_DRAM + 1)

/* Pages at the top of a 47-bit space have no mapping. */
#define UNMAPPED        0x7f0000000000ull

/* Large pages begin here: of 2 MiB, and of 1 GiB. */
#define LARGE           (1ull << 34)
#define HUGE            (1ull << 40)

static uint64_t page_bytes(PmuPageSize size)
{
    return size == PMU_PAGE_4K ? PAGE : size == PMU_PAGE_2M ? 2 << 20 : 1 << 30;
}

static PmuPageSize size_of(uint64_t linear)
{
    return linear < LARGE || linear >= UNMAPPED ? PMU_PAGE_4K
           : linear < HUGE ? PMU_PAGE_2M : PMU_PAGE_1G;
}

/*
 * Two linear pages share each physical page, so that lines have two names.
 * Neighbouring pages are not always neighbours in physical memory.
 */
static uint64_t phys_of(uint64_t linear)
{
    uint64_t bytes = page_bytes(size_of(linear)), page = linear / bytes / 2;

    return (page ^ (page & 3) << 7) * bytes | linear % bytes;
}

/* Every other pair is the same in all contexts. */
static bool is_global(uint64_t linear)
{
    return linear / page_bytes(size_of(linear)) / 2 % 2;
}

static PmuMapping translate_pairs(void *opaque, uint64_t page)
{
    uint64_t linear = page * PAGE;

    if (linear >= UNMAPPED) {
        return (PmuMapping) { PMU_NO_PAGE };
    }
    return (PmuMapping) {
        phys_of(linear) / PAGE, size_of(linear), is_global(linear),
    };
}

static PmuMapping translate_identity(void *opaque, uint64_t page)
{
    return (PmuMapping) { page };
}

/* Returns a core so small that everything soon overflows. */
static PmuUarch small_uarch(void)
{
    PmuUarch uarch = *pmu_uarch(PMU_CORE_ICELAKE);

    uarch.l1d = (PmuCacheGeometry) { 8 * 3 * LINE, 3, 5 };
    uarch.l1i = (PmuCacheGeometry) { 8 * 2 * LINE, 2, 5 };
    uarch.l2 = (PmuCacheGeometry) { 16 * 5 * LINE, 5, 14 };
    /* One set, so that the test need not know how sets are chosen. */
    uarch.l3 = (PmuCacheGeometry) { 24 * LINE, 24, 64 };
    uarch.dtlb[PMU_PAGE_4K] = (PmuTlbGeometry) { 4, 2, 0 };
    uarch.dtlb[PMU_PAGE_2M] = (PmuTlbGeometry) { 4, 4, 0 };
    uarch.dtlb[PMU_PAGE_1G] = (PmuTlbGeometry) { 2, 1, 0 };
    uarch.itlb[PMU_PAGE_4K] = (PmuTlbGeometry) { 4, 2, 0 };
    uarch.itlb[PMU_PAGE_2M] = (PmuTlbGeometry) { 2, 2, 0 };
    uarch.stlb = (PmuTlbGeometry) { 16, 4, 7 };
    uarch.store_buffer = 20;
    uarch.load_buffer = 30;
    return uarch;
}

typedef struct Machine {
    PmuUarch uarch;
    PmuLedger ledger;
    PmuMemory mem;
} Machine;

static Machine *new_machine(const PmuUarch *uarch, PmuL3 *l3,
                            PmuTranslate translate)
{
    Machine *machine = g_new0(Machine, 1);

    machine->uarch = *uarch;
    pmu_ledger_init(&machine->ledger, uarch->width, 1, 1, 1, 1);
    g_assert_true(pmu_memory_init(&machine->mem, &machine->uarch,
                                  &machine->ledger, l3, translate, NULL));
    return machine;
}

static void free_machine(Machine *machine)
{
    pmu_memory_destroy(&machine->mem);
    g_free(machine);
}

/* Returns the same offset in a random page of @size. */
static uint64_t somewhere_large(Random *random, uint64_t addr, PmuPageSize size)
{
    return (size == PMU_PAGE_2M ? LARGE : HUGE) + addr +
           random_below(random, 8) * page_bytes(size);
}

/* One step of a stream of accesses. */
typedef struct Step {
    enum {
        LOAD, STORE, UPDATE, PREFETCH, CLFLUSH, CODE, FLUSH, FLUSH_LOCAL,
        FLUSH_PAGE
    } kind;
    uint64_t addr, phys;
    unsigned size;
    uint8_t ip;                 /* of a load */
    PmuHint hint;               /* of PREFETCH */
} Step;

/* Distances from one load to the next of the same instruction. */
static const int strides[] = {
    8, -16, 40, 64, -64, 72, 128, -192, 1000, -2048, 2056,
};

/* A stream of steps; some lines are used often, some were used just before. */
typedef struct Stream {
    Random random;
    uint64_t pages, last;
    uint64_t at[G_N_ELEMENTS(strides)];
} Stream;

/* Returns the next load of instruction @i, which has a stride. */
static Step next_stride(Stream *stream, unsigned i)
{
    stream->at[i] = (stream->at[i] + strides[i]) % (stream->pages * PAGE);
    return (Step) { .kind = LOAD, .addr = stream->at[i], .size = 8, .ip = i };
}

static Step next_step(Stream *stream)
{
    Random *random = &stream->random;
    static const uint8_t sizes[] = { 1, 2, 4, 8, 8, 16, 32, 64 };
    Step step = {
        .size = sizes[random_below(random, 8)],
        .ip = G_N_ELEMENTS(strides) + random_below(random, 2),
        .hint = PMU_HINT_PREFETCH + random_below(random, 3),
    };
    unsigned kind = random_below(random, 1000);

    if (!random_below(random, 8)) {
        return next_stride(stream,
                           random_below(random, G_N_ELEMENTS(strides)));
    }
    switch (random_below(random, 8)) {
    case 0:
        step.addr = random_below(random, stream->pages * PAGE);
        break;
    case 1:
        step.addr = random_below(random, 4) * LINE * 7;
        break;
    case 2:
        step.addr = stream->last + random_below(random, 3) * LINE;
        break;
    case 3:
        step.addr = stream->last ^ PAGE;
        break;
    default:
        step.addr = stream->last + random_below(random, 16);
    }
    if (!random_below(random, 40)) {
        step.addr = somewhere_large(random, step.addr % LARGE,
                                    random_below(random, 3) ? PMU_PAGE_2M
                                                            : PMU_PAGE_1G);
    }
    if (!random_below(random, 40)) {
        step.addr = UNMAPPED + random_below(random, LINE);
    }
    stream->last = step.addr < UNMAPPED ? step.addr : 0;
    step.kind = kind == 0 ? FLUSH : kind == 1 ? FLUSH_LOCAL :
                kind < 5 ? FLUSH_PAGE : kind < 200 ? CODE : kind < 370 ? STORE :
                kind < 450 ? UPDATE : kind < 500 ? PREFETCH :
                kind < 510 ? CLFLUSH : LOAD;
    if (step.kind == CODE) {
        step.addr %= UNMAPPED;
        step.phys = phys_of(step.addr);
    }
    return step;
}

/* The outcome of a step. */
typedef struct Told {
    PmuAccessOutcome access[2];
    unsigned lines;
    uint32_t forward;
    bool skipped;
} Told;

static Told do_step(PmuMemory *mem, const Step *step, bool skip)
{
    Told told = { .lines = 1 };

    switch (step->kind) {
    case FLUSH:
        pmu_memory_flush_mappings(mem, PMU_TLB_FLUSH_ALL, 0);
        break;
    case FLUSH_PAGE:
        pmu_memory_flush_mappings(mem, PMU_TLB_FLUSH_PAGE, step->addr);
        break;
    case FLUSH_LOCAL:
        pmu_memory_flush_mappings(mem, PMU_TLB_FLUSH_LOCAL, 0);
        break;
    case CODE:
        pmu_memory_fetch(mem, step->addr, step->phys, told.access);
        break;
    case PREFETCH:
        told.skipped = skip && step->hint == PMU_HINT_PREFETCH &&
                       pmu_memory_hit(mem, step->addr, 1, false);
        if (!told.skipped) {
            pmu_memory_prefetch(mem, step->addr, step->hint, told.access);
        }
        break;
    case CLFLUSH:
        pmu_memory_flush_line(mem, step->addr, told.access);
        break;
    default:
        if (step->kind == LOAD) {
            told.forward = pmu_memory_forwarding_store(mem, step->addr,
                                                       step->size);
        } else {
            pmu_memory_record_store(mem, step->addr, step->size);
        }
        told.skipped = skip && pmu_memory_hit(mem, step->addr, step->size,
                                           step->kind != LOAD);
        if (!told.skipped) {
            told.lines =
                step->kind == LOAD
                ? pmu_memory_load(mem, step->addr, step->size, step->ip,
                                  told.access) :
                step->kind == STORE
                ? pmu_memory_store(mem, step->addr, step->size, told.access) :
                pmu_memory_update(mem, step->addr, step->size, step->ip,
                                  told.access);
        }
    }
    return told;
}

static void assert_access_equal(const PmuAccessOutcome *a,
                                const PmuAccessOutcome *b)
{
    g_assert_cmpuint(a->source, ==, b->source);
    g_assert_cmpuint(a->store, ==, b->store);
    g_assert_cmpuint(a->fill, ==, b->fill);
    g_assert_cmpuint(a->prefetch, ==, b->prefetch);
    g_assert_cmpuint(a->delay, ==, b->delay);
    g_assert_cmpuint(a->walk, ==, b->walk);
    g_assert_cmpuint(a->snoop, ==, b->snoop);
    g_assert_cmpuint(a->blocked, ==, b->blocked);
    g_assert_cmpuint(a->prefetch_l3, ==, b->prefetch_l3);
    g_assert_cmpuint(a->prefetch_dram, ==, b->prefetch_dram);
    g_assert_cmpuint(a->smc, ==, b->smc);
    g_assert_cmpuint(a->ordering_clear, ==, b->ordering_clear);
    g_assert_cmpuint(a->l1d_prefetch.source, ==, b->l1d_prefetch.source);
    g_assert_cmpuint(a->l1d_prefetch.prefetch, ==, b->l1d_prefetch.prefetch);
    g_assert_cmpuint(a->l1d_prefetch.snoop, ==, b->l1d_prefetch.snoop);
    g_assert_cmpuint(a->l1d_prefetch.prefetch_l3, ==,
                     b->l1d_prefetch.prefetch_l3);
    g_assert_cmpuint(a->l1d_prefetch.prefetch_dram, ==,
                     b->l1d_prefetch.prefetch_dram);
}

static void assert_told_equal(const Told *a, const Told *b)
{
    g_assert_cmpuint(a->lines, ==, b->lines);
    g_assert_cmpuint(a->forward, ==, b->forward);
    for (unsigned i = 0; i < a->lines; i++) {
        assert_access_equal(&a->access[i], &b->access[i]);
    }
}

static void assert_events_equal(const PmuLedger *a, const PmuLedger *b)
{
    for (unsigned i = 0; i < PMU_ITEM_NR; i++) {
        g_assert_cmpuint(a->event[a->level][i], ==, b->event[b->level][i]);
    }
}

/*
 * An access says if it may be left out.  It makes no difference to other
 * accesses whether such ones are left out always, never or now and then.
 */
static void check_skipping(const PmuUarch *uarch, uint64_t pages)
{
    Machine *always = new_machine(uarch, NULL, translate_pairs);
    Machine *never = new_machine(uarch, NULL, translate_pairs);
    Machine *perhaps = new_machine(uarch, NULL, translate_pairs);
    Stream stream = { .random = random_from_seed(), .pages = pages };
    Random dice = random_from_seed();
    unsigned skipped = 0, n = 300000;

    for (unsigned i = 0; i < n; i++) {
        Step step = next_step(&stream);
        Told a = do_step(&always->mem, &step, true);
        Told b = do_step(&never->mem, &step, false);
        Told c = do_step(&perhaps->mem, &step, random_next(&dice) & 1);

        assert_told_equal(&a, &b);
        assert_told_equal(&a, &c);
        skipped += a.skipped;
    }
    assert_events_equal(&always->ledger, &never->ledger);
    assert_events_equal(&always->ledger, &perhaps->ledger);
    /* Enough are left out, though much of the memory is code. */
    g_assert_cmpuint(skipped, >, n / 1000);
    free_machine(always);
    free_machine(never);
    free_machine(perhaps);
}

/* That holds for small and large cores and data. */
static void test_skipping(void)
{
    PmuUarch uarch = small_uarch();

    check_skipping(&uarch, 40);
    check_skipping(&uarch, 2);
    check_skipping(pmu_uarch(PMU_CORE_ICELAKE), 40);
    check_skipping(pmu_uarch(PMU_CORE_ICELAKE), 5000);
    check_skipping(pmu_uarch(PMU_CORE_SAPPHIRERAPIDS), 300);
}

/* The memory side without the streamer, written down in the plainest way. */
typedef struct Naive {
    const PmuUarch *uarch;
    NaiveCache dtlb[PMU_PAGE_SIZES], itlb[PMU_PAGE_SIZES], stlb;
    NaiveCache l1d, l1i, l2, l3;
    struct {
        bool in_order;          /* it was a miss and has a number */
        bool ahead;             /* it was prefetched and not yet used */
        uint64_t miss;
    } *fill;                    /* by entry of l1d */
    /* By load: its last address, and the one before. */
    uint64_t was[PMU_MAX_L1D_PREFETCH_LOADS][2];
    bool timed;                 /* a fill takes a while */
    uint64_t misses, stores;
    uint64_t event[PMU_ITEM_NR];
} Naive;

static void naive_tlb_init(NaiveCache *cache, const PmuTlbGeometry *geometry)
{
    naive_cache_init(cache, geometry->entries / geometry->ways,
                     geometry->ways);
}

static void naive_lines_init(NaiveCache *cache,
                             const PmuCacheGeometry *geometry)
{
    naive_cache_init(cache, geometry->size / geometry->ways / LINE,
                     geometry->ways);
}

static void naive_init(Naive *naive, const PmuUarch *uarch)
{
    memset(naive, 0, sizeof(*naive));
    naive->uarch = uarch;
    for (PmuPageSize size = 0; size < PMU_PAGE_SIZES; size++) {
        naive_tlb_init(&naive->dtlb[size], &uarch->dtlb[size]);
        /* The ITLB keeps pages of 1 GiB in parts of 2 MiB. */
        naive_tlb_init(&naive->itlb[size],
                       &uarch->itlb[MIN(size, PMU_PAGE_2M)]);
    }
    naive_tlb_init(&naive->stlb, &uarch->stlb);
    naive_lines_init(&naive->l1d, &uarch->l1d);
    naive_lines_init(&naive->l1i, &uarch->l1i);
    naive_lines_init(&naive->l2, &uarch->l2);
    naive_lines_init(&naive->l3, &uarch->l3);
    naive->fill = g_malloc0_n(uarch->l1d.size / LINE, sizeof(*naive->fill));
}

static void naive_destroy(Naive *naive)
{
    for (PmuPageSize size = 0; size < PMU_PAGE_SIZES; size++) {
        naive_cache_destroy(&naive->dtlb[size]);
        naive_cache_destroy(&naive->itlb[size]);
    }
    naive_cache_destroy(&naive->stlb);
    naive_cache_destroy(&naive->l1d);
    naive_cache_destroy(&naive->l1i);
    naive_cache_destroy(&naive->l2);
    naive_cache_destroy(&naive->l3);
    g_free(naive->fill);
}

static bool naive_access(NaiveCache *cache, uint64_t key)
{
    if (naive_cache_use(cache, key)) {
        return true;
    }
    naive_cache_insert(cache, key, true);
    return false;
}

/* Returns where the line is found: in L2, L3 or DRAM. */
static PmuDataSource naive_beyond(Naive *naive, uint64_t line)
{
    if (naive_access(&naive->l2, line)) {
        return PMU_SOURCE_L2;
    }
    return naive_access(&naive->l3, line) ? PMU_SOURCE_L3 : PMU_SOURCE_DRAM;
}

/* Who asks for a line. */
typedef enum Asker { LOADS, STORES, FETCH, HINTS, AHEAD } Asker;

static PmuDataSource naive_demand(Naive *naive, uint64_t line, Asker requester)
{
    static const PmuLedgerItem items[][3] = {
        [LOADS] = {
            PMU_ITEM_DATA_L2, PMU_ITEM_DATA_L3, PMU_ITEM_DATA_DRAM,
        },
        [STORES] = {
            PMU_ITEM_RFO_L2, PMU_ITEM_RFO_L3, PMU_ITEM_RFO_DRAM,
        },
        [FETCH] = {
            PMU_ITEM_CODE_L2, PMU_ITEM_CODE_L3, PMU_ITEM_CODE_DRAM,
        },
        [HINTS] = {
            PMU_ITEM_SOFT_PREFETCH_L2, PMU_ITEM_SOFT_PREFETCH_L3,
            PMU_ITEM_SOFT_PREFETCH_DRAM,
        },
        [AHEAD] = {
            PMU_ITEM_L1D_PREFETCH_L2, PMU_ITEM_L1D_PREFETCH_L3,
            PMU_ITEM_L1D_PREFETCH_DRAM,
        },
    };
    PmuDataSource source = naive_beyond(naive, line);

    naive->misses++;
    naive->event[items[requester][source == PMU_SOURCE_L2 ? 0 :
                              source == PMU_SOURCE_L3 ? 1 : 2]]++;
    naive->event[PMU_ITEM_RFO_L3_ALONE] += requester == STORES &&
                                           source == PMU_SOURCE_L3;
    naive->event[PMU_ITEM_DATA_L3_ALONE] += requester == LOADS &&
                                            source == PMU_SOURCE_L3;
    return source;
}

static unsigned naive_walk(Naive *naive, uint64_t addr, Asker requester)
{
    static const PmuLedgerItem cycles[] = {
        PMU_ITEM_DTLB_LOAD_CYCLES, PMU_ITEM_DTLB_STORE_CYCLES,
        PMU_ITEM_ITLB_CYCLES,
    };
    static const PmuLedgerItem walks[][PMU_PAGE_SIZES] = {
        [LOADS] = {
            PMU_ITEM_DTLB_LOAD_WALKS_4K, PMU_ITEM_DTLB_LOAD_WALKS_2M,
            PMU_ITEM_DTLB_LOAD_WALKS_1G,
        },
        [STORES] = {
            PMU_ITEM_DTLB_STORE_WALKS_4K, PMU_ITEM_DTLB_STORE_WALKS_2M,
            PMU_ITEM_DTLB_STORE_WALKS_1G,
        },
        [FETCH] = {
            PMU_ITEM_ITLB_WALKS_4K, PMU_ITEM_ITLB_WALKS_2M,
            PMU_ITEM_ITLB_WALKS_2M,
        },
    };
    const PmuUarch *uarch = naive->uarch;
    PmuPageSize size = size_of(addr);
    /*
     * Entries of page tables are beyond the 52 bits of physical memory, eight
     * pages to a line, and far apart for pages of different sizes.
     */
    uint64_t line = (1ull << 46) + ((uint64_t)size << 52) +
                    addr / page_bytes(size) / 8;
    unsigned walk = uarch->page_walk;

    if (!naive_cache_use(&naive->l1d, line)) {
        NaiveWay *way = naive_cache_insert(&naive->l1d, line, true);

        naive->fill[way - naive->l1d.way].in_order = false;
        naive->fill[way - naive->l1d.way].ahead = false;
        switch (naive_beyond(naive, line)) {
        case PMU_SOURCE_L2:
            walk += uarch->l2.latency;
            break;
        case PMU_SOURCE_L3:
            walk += uarch->l3.latency;
            break;
        default:
            walk += uarch->dram_tenth_ns * uarch->frequency_mhz / 10000;
        }
    }
    naive->event[walks[requester][size]]++;
    naive->event[cycles[requester]] += walk;
    return walk;
}

/* Returns the key of @addr's page in the second-level TLB. */
static uint64_t stlb_key(uint64_t addr, PmuPageSize size)
{
    return addr / page_bytes(size) | (uint64_t)size << 60;
}

/* Add the time that a translation takes to @access. */
static void naive_translate(Naive *naive, uint64_t addr, Asker requester,
                            PmuAccessOutcome *access)
{
    static const PmuLedgerItem items[] = {
        PMU_ITEM_DTLB_LOAD_STLB, PMU_ITEM_DTLB_STORE_STLB, PMU_ITEM_ITLB_STLB,
    };
    PmuPageSize size = size_of(addr);
    uint64_t key = stlb_key(addr, size);
    NaiveCache *tlb = requester == FETCH ? &naive->itlb[MIN(size, PMU_PAGE_2M)]
                                         : &naive->dtlb[size];
    uint64_t number = addr / (requester == FETCH && size == PMU_PAGE_1G
                              ? page_bytes(PMU_PAGE_2M) : page_bytes(size));

    if (naive_cache_use(tlb, number)) {
        return;
    }
    access->delay = naive->uarch->stlb.latency;
    if (!naive_cache_use(&naive->stlb, key)) {
        access->walk = naive_walk(naive, addr, requester);
        if (addr >= UNMAPPED) {
            return;
        }
        naive_cache_insert(&naive->stlb, key, true);
    } else {
        naive->event[items[requester]]++;
    }
    naive_cache_insert(tlb, number, true);
}

/* Add a line to L1D that @requester wanted.  Returns its entry. */
static unsigned naive_fill(Naive *naive, uint64_t line, Asker requester,
                           PmuDataSource *source)
{
    unsigned i = naive_cache_insert(&naive->l1d, line, true) - naive->l1d.way;

    *source = naive_demand(naive, line, requester);
    naive->fill[i].miss = naive->misses;
    naive->fill[i].in_order = true;
    naive->fill[i].ahead = true;
    naive->event[PMU_ITEM_SOFT_PREFETCH_L1D] += requester == HINTS;
    return i;
}

/*
 * Set @next to where a load of @ip at @addr goes next.  Returns false if that
 * is unknown.
 */
static bool naive_stride(Naive *naive, uint8_t ip, uint64_t addr,
                         uint64_t *next)
{
    uint64_t *was = naive->was[ip % naive->uarch->l1d_prefetch];
    int64_t step = addr - was[0], before = was[0] - was[1];
    int64_t line = addr / LINE - was[0] / LINE;
    bool same_step = step == before;
    bool same_line = line == (int64_t)(was[0] / LINE - was[1] / LINE);

    was[1] = was[0];
    was[0] = addr;
    if (same_step && llabs(step) >= LINE && llabs(step) <= 2048) {
        *next = addr + step;
    } else if (same_line && llabs(line) == 1) {
        *next = addr + line * LINE;
    } else {
        return false;
    }
    return *next / PAGE == addr / PAGE;
}

static PmuDataSource naive_ahead(Naive *naive, uint8_t ip, uint64_t addr)
{
    PmuDataSource source = PMU_SOURCE_L1;
    uint64_t next;

    if (naive_stride(naive, ip, addr, &next) && addr < UNMAPPED &&
        !naive_cache_find(&naive->l1d, phys_of(next) / LINE)) {
        naive_fill(naive, phys_of(next) / LINE, AHEAD, &source);
    }
    return source;
}

static PmuAccessOutcome naive_line(Naive *naive, uint64_t addr, bool load,
                                   bool store, bool *fresh)
{
    PmuAccessOutcome access = { 0 };
    uint64_t line = (addr < UNMAPPED ? phys_of(addr) : addr) / LINE;
    unsigned i;
    PmuDataSource source;
    NaiveWay *way;

    naive_translate(naive, addr, load ? LOADS : STORES, &access);
    access.smc = store && addr < UNMAPPED &&
                 naive_cache_find(&naive->l1i, line);
    if (access.smc) {
        naive_cache_remove(&naive->l1i, line);
    }
    way = naive_cache_use(&naive->l1d, line);
    if (way) {
        uint64_t since;

        i = way - naive->l1d.way;
        since = naive->misses - naive->fill[i].miss;
        if (naive->timed && naive->fill[i].in_order &&
            since < PMU_OUTCOME_FILLS) {
            access.source = PMU_SOURCE_FILL;
            access.fill = since;
        }
    } else {
        naive->event[PMU_ITEM_L1D_MISSES]++;
        i = naive_fill(naive, line, load ? LOADS : STORES, &source);
        access.source = source;
    }
    *fresh |= naive->fill[i].ahead;
    naive->fill[i].ahead = false;
    return access;
}

/* T1 and T2 do not fill L1D; no instruction waits for what they fetch. */
static PmuAccessOutcome naive_prefetch(Naive *naive, uint64_t addr,
                                       PmuHint hint)
{
    PmuAccessOutcome access = {};
    uint64_t line = phys_of(addr) / LINE;
    PmuDataSource source;

    naive_translate(naive, addr, LOADS, &access);
    if (addr >= UNMAPPED || naive_cache_find(&naive->l1d, line)) {
        return access;
    }
    if (hint == PMU_HINT_PREFETCH_L2) {
        source = naive_demand(naive, line, HINTS);
        naive->misses--;
        access.prefetch_l3 = source == PMU_SOURCE_L3;
        access.prefetch_dram = source == PMU_SOURCE_DRAM;
    } else {
        naive_fill(naive, line, hint == PMU_HINT_PREFETCH_W ? STORES : HINTS,
                   &source);
        access.source = source;
    }
    return access;
}

static PmuAccessOutcome naive_clflush(Naive *naive, uint64_t addr)
{
    PmuAccessOutcome access = {};
    NaiveCache *all[] = { &naive->l1d, &naive->l1i, &naive->l2, &naive->l3 };

    naive_translate(naive, addr, LOADS, &access);
    for (unsigned i = 0; addr < UNMAPPED && i < G_N_ELEMENTS(all); i++) {
        naive_cache_remove(all[i], phys_of(addr) / LINE);
    }
    return access;
}

static PmuAccessOutcome naive_code(Naive *naive, uint64_t pc, uint64_t phys)
{
    uint64_t line = phys / LINE;
    PmuAccessOutcome access = {};

    naive_translate(naive, pc, FETCH, &access);
    if (!naive_access(&naive->l1i, line)) {
        naive->event[PMU_ITEM_L1I_MISSES]++;
        access.source = naive_demand(naive, line, FETCH);
    }
    return access;
}

/*
 * Remove pages that are not global.  The keys of @tlb are of pages of @size;
 * those of the second level say of which.
 */
static void naive_keep_global(NaiveCache *tlb, PmuPageSize size, bool stlb)
{
    for (unsigned i = 0; i < tlb->sets * tlb->ways; i++) {
        NaiveWay *way = &tlb->way[i];
        uint64_t number = way->key & ((1ull << 60) - 1);

        if (stlb) {
            size = way->key >> 60;
        }
        way->present &= is_global(number * page_bytes(size));
    }
}

static void naive_flush_local(Naive *naive)
{
    for (PmuPageSize size = 0; size < PMU_PAGE_SIZES; size++) {
        naive_keep_global(&naive->dtlb[size], size, false);
        /* Parts of 2 MiB are global if their page of 1 GiB is. */
        naive_keep_global(&naive->itlb[size], MIN(size, PMU_PAGE_2M), false);
    }
    naive_keep_global(&naive->stlb, PMU_PAGE_4K, true);
}

static void naive_flush(Naive *naive, uint64_t addr, bool all)
{
    for (PmuPageSize size = 0; size < PMU_PAGE_SIZES; size++) {
        if (all) {
            naive_cache_clear(&naive->dtlb[size]);
            naive_cache_clear(&naive->itlb[size]);
        } else {
            naive_cache_remove(&naive->dtlb[size], addr / page_bytes(size));
            naive_cache_remove(&naive->itlb[size], addr / page_bytes(size));
            naive_cache_remove(&naive->stlb, stlb_key(addr, size));
        }
    }
    if (all) {
        naive_cache_clear(&naive->stlb);
    }
}

/* A load that was expected to hit L1D counts where its data were. */
static void naive_load(Naive *naive, const Told *told)
{
    PmuDataSource source = told->access[0].source;

    if (told->lines == 2) {
        source = MAX(source, told->access[1].source);
    }
    if (source >= PMU_SOURCE_L2) {
        naive->event[PMU_ITEM_LOADS_L1]--;
        naive->event[source == PMU_SOURCE_L3 ? PMU_ITEM_LOADS_L3 :
                     source == PMU_SOURCE_DRAM ? PMU_ITEM_LOADS_DRAM :
                     PMU_ITEM_LOADS_L2]++;
    }
}

static Told naive_step(Naive *naive, const Step *step)
{
    Told told = { .lines = 1 };
    uint64_t last = step->addr + step->size - 1;
    bool load = step->kind != STORE, store = step->kind != LOAD;
    bool fresh = false;

    switch (step->kind) {
    case FLUSH_LOCAL:
        naive->event[PMU_ITEM_TLB_FLUSHES]++;
        naive_flush_local(naive);
        break;
    case FLUSH:
    case FLUSH_PAGE:
        naive->event[PMU_ITEM_TLB_FLUSHES]++;
        naive_flush(naive, step->addr, step->kind == FLUSH);
        break;
    case CODE:
        told.access[0] = naive_code(naive, step->addr, step->phys);
        break;
    case PREFETCH:
        told.access[0] = naive_prefetch(naive, step->addr, step->hint);
        naive_load(naive, &told);
        break;
    case CLFLUSH:
        told.access[0] = naive_clflush(naive, step->addr);
        break;
    default:
        naive->stores += store;
        told.access[0] = naive_line(naive, step->addr, load, store, &fresh);
        if (last / LINE != step->addr / LINE) {
            told.access[1] = naive_line(naive, last, load, store, &fresh);
            told.lines = 2;
            naive->event[PMU_ITEM_L1D_ACCESSES]++;
            naive->event[PMU_ITEM_LOADS_SPLIT] += load;
            naive->event[PMU_ITEM_STORES_SPLIT] += store;
        }
        if (load) {
            naive_load(naive, &told);
        }
        if (load && fresh) {
            told.access[told.lines - 1].l1d_prefetch.source =
                naive_ahead(naive, step->ip, step->addr);
        }
    }
    return told;
}

/* The naive memory does not know when prefetched lines reach L2. */
static void forget_arrival(uint8_t *source, uint8_t *prefetch)
{
    *source = *source == PMU_SOURCE_PREFETCH ? PMU_SOURCE_L2 : *source;
    *prefetch = 0;
}

static void forget_arrivals(Told *told)
{
    for (unsigned i = 0; i < told->lines; i++) {
        PmuAccessOutcome *access = &told->access[i];

        forget_arrival(&access->source, &access->prefetch);
        forget_arrival(&access->l1d_prefetch.source,
                       &access->l1d_prefetch.prefetch);
    }
}

static void check_against_naive(uint64_t pages, bool timed)
{
    PmuUarch uarch = small_uarch();
    Stream stream = { .random = random_from_seed(), .pages = pages };
    unsigned seen[SOURCES] = { 0 }, ahead[SOURCES] = { 0 }, clears = 0;
    Machine *machine;
    Naive naive;

    uarch.prefetch_distance = 0;
    /* One of the loads with a stride shares its place. */
    uarch.l1d_prefetch = G_N_ELEMENTS(strides) + 1;
    machine = new_machine(&uarch, NULL, translate_pairs);
    naive_init(&naive, &uarch);
    naive.timed = timed;
    if (!timed) {
        pmu_memory_set_untimed(&machine->mem);
    }
    for (unsigned i = 0; i < 500000; i++) {
        Step step = next_step(&stream);
        Told told = do_step(&machine->mem, &step, true);
        Told expected = naive_step(&naive, &step);

        told.forward = 0;       /* test_forward */
        forget_arrivals(&told);
        assert_told_equal(&told, &expected);
        seen[told.access[0].source]++;
        ahead[told.access[0].l1d_prefetch.source]++;
        clears += told.access[0].smc;
    }
    g_assert_cmpuint(clears, >, 0);
    for (unsigned i = 0; i < PMU_PAGE_SIZES; i++) {
        g_assert_cmpuint(naive.event[PMU_ITEM_DTLB_LOAD_WALKS_4K + i], >, 100);
    }
    for (unsigned i = 0; i < PMU_ITEM_NR; i++) {
        g_assert_cmpuint(machine->ledger.event[machine->ledger.level][i], ==,
                         naive.event[i]);
    }
    for (unsigned i = 0; i < SOURCES; i++) {
        if (i != PMU_SOURCE_PREFETCH && (timed || i != PMU_SOURCE_FILL)) {
            g_assert_cmpuint(seen[i], >, 0);
        }
    }
    g_assert_cmpuint(ahead[PMU_SOURCE_L2], >, 100);
    g_assert_cmpuint(ahead[PMU_SOURCE_DRAM], >, 100);
    naive_destroy(&naive);
    free_machine(machine);
}

/* Outcomes of all steps, and all items, are those of the naive memory. */
static void test_naive(void)
{
    check_against_naive(40, true);
    check_against_naive(12, true);
}

/* So they are if lines come at once, whatever the filter knows of them. */
static void test_naive_untimed(void)
{
    check_against_naive(40, false);
    check_against_naive(12, false);
}

/* The lines that left L1I, as the memory side says. */
typedef struct Gone {
    unsigned times;
    uint64_t line;
} Gone;

static void note_gone(void *opaque, uint64_t line, uint64_t lines)
{
    Gone *gone = opaque;

    g_assert_cmpuint(lines, ==, 1);
    gone->times++;
    gone->line = line;
}

static bool stores_to_code(PmuMemory *mem, uint64_t addr, unsigned size)
{
    PmuAccessOutcome access[2] = {};

    if (!pmu_memory_hit(mem, addr, size, true)) {
        pmu_memory_store(mem, addr, size, access);
    }
    return access[0].smc || access[1].smc;
}

/*
 * A line that non-temporal stores have written is in no cache any more.  It
 * counts as L3 if the L3 had it, otherwise as DRAM.
 */
static void test_streaming(void)
{
    Machine *machine = new_machine(pmu_uarch(PMU_CORE_ICELAKE), NULL,
                                   translate_pairs);
    PmuMemory *mem = &machine->mem;
    uint64_t *event = machine->ledger.event[machine->ledger.level];
    const uint64_t addr = 0x2000;
    PmuAccessOutcome access[2];

    /* Fewer times than there are buffers, as one stays in use. */
    for (unsigned i = 0; i < 5; i++) {
        pmu_memory_load(mem, addr, 8, PMU_NO_IP, access);
        g_assert_cmpuint(access[0].source, ==, PMU_SOURCE_DRAM);
        pmu_memory_misses_arrive(mem);
        pmu_memory_load(mem, addr, 8, PMU_NO_IP, access);
        g_assert_cmpuint(access[0].source, ==, PMU_SOURCE_L1);
        g_assert_true(pmu_memory_hit(mem, addr, 8, false));
        /* The last of these stores completes the line. */
        for (unsigned byte = 0; byte < LINE; byte += 16) {
            g_assert_cmpuint(event[PMU_ITEM_STREAM_L3], ==, i);
            pmu_memory_non_temporal_store(mem, addr + byte, 16, access);
            g_assert_cmpuint(access[0].source, ==, PMU_SOURCE_L1);
        }
        g_assert_false(pmu_memory_hit(mem, addr, 8, false));
        g_assert_cmpuint(event[PMU_ITEM_STREAM_L3], ==, i + 1);
        g_assert_cmpuint(event[PMU_ITEM_STREAM_DRAM], ==, i);
        /* By its other name, and with a store across two lines. */
        pmu_memory_non_temporal_store(mem, (addr ^ PAGE) - 8, 16, access);
        pmu_memory_non_temporal_store(mem, (addr ^ PAGE) + 8, 56, access);
        g_assert_cmpuint(event[PMU_ITEM_STREAM_DRAM], ==, i + 1);
    }
    g_assert_cmpuint(event[PMU_ITEM_STORES_SPLIT], ==, 5);
    free_machine(machine);
}

/* A store finds code in L1I by its physical address, and only once. */
static void test_smc(void)
{
    PmuUarch uarch = small_uarch();
    Machine *machine = new_machine(&uarch, NULL, translate_pairs);
    PmuMemory *mem = &machine->mem;
    uint64_t pc = 0x2000, phys = phys_of(pc);
    Gone gone = {};
    PmuAccessOutcome access[2];

    pmu_memory_on_code_evicted(mem, note_gone, &gone);
    for (unsigned i = 0; i < 100; i++) {
        /* The line is known as data, under both of its names. */
        for (unsigned j = 0; j < PMU_OUTCOME_FILLS; j++) {
            g_assert_false(stores_to_code(mem, pc ^ (j & 1) * PAGE, 8));
            pmu_memory_misses_arrive(mem);
        }
        pmu_memory_fetch(mem, pc, phys, access);
        /*
         * Loads of code, and stores to neighbouring lines, are no such stores.
         */
        for (unsigned j = 0; j < 4; j++) {
            pmu_memory_load(mem, pc, 8, PMU_NO_IP, access);
            g_assert_false(access[0].smc);
            g_assert_false(stores_to_code(mem, pc + LINE, 8));
            g_assert_false(stores_to_code(mem, pc - 8, 8));
            g_assert_false(pmu_memory_hit(mem, pc, 8, false));
        }
        g_assert_cmpuint(gone.times, ==, i);
        g_assert_true(stores_to_code(mem, i % 3 == 0 ? pc :
                                          i % 3 == 1 ? pc ^ PAGE : pc - 4, 8));
        g_assert_cmpuint(gone.times, ==, i + 1);
        g_assert_cmphex(gone.line, ==, phys / LINE);
    }
    /*
     * L1I has 8 sets of two ways, so two more lines of the set replace this
     * one.
     */
    pmu_memory_fetch(mem, pc, phys, access);
    pmu_memory_fetch(mem, pc + 8 * LINE, phys + 8 * LINE, access);
    g_assert_cmpuint(gone.times, ==, 100);
    pmu_memory_fetch(mem, pc + 16 * LINE, phys + 16 * LINE, access);
    g_assert_cmpuint(gone.times, ==, 101);
    g_assert_cmphex(gone.line, ==, phys / LINE);
    g_assert_false(stores_to_code(mem, pc, 8));
    /* Without a mapping the store's line is unknown. */
    phys = UNMAPPED & ((1ull << 52) - 1);
    pmu_memory_fetch(mem, 0x5000, phys, access);
    g_assert_false(stores_to_code(mem, UNMAPPED, 8));
    free_machine(machine);
}

/*
 * Stores and loads of all sizes.  The test keeps the last writer of each byte,
 * and of all bytes that are a multiple of 4 KiB apart.
 */
static void check_forward(uint32_t window, uint64_t range, uint64_t stride)
{
    PmuStoreForwarding *forward = g_new0(PmuStoreForwarding, 1);
    Random random = random_from_seed();
    uint64_t *writer = g_new0(uint64_t, range + 64);
    uint64_t *alike = g_new0(uint64_t, PAGE);
    uint64_t stores = 1000000, forwarded = 0, blocked = 0, aliases = 0;

    pmu_store_forwarding_init(forward, window);
    for (unsigned i = 0; i < 300000; i++) {
        unsigned size = random_below(&random, 3)
                        ? 1u << random_below(&random, 7)
                        : random_below(&random, 64) + 1;
        uint64_t at = random_below(&random, range);
        uint64_t addr = at / 256 * stride + at % 256 - 128;
        uint64_t newest = 0, newest_alike = 0;
        uint32_t expected = 0;
        bool all = true;

        at = at / 256 * 256 + at % 256;
        if (at % 256 + size > 256) {
            continue;
        }
        if (random_below(&random, 2)) {
            stores++;
            for (unsigned j = 0; j < size; j++) {
                writer[at + j] = stores;
                alike[(addr + j) % PAGE] = stores;
            }
            pmu_store_forwarding_store(forward, addr, size);
            continue;
        }
        for (unsigned j = 0; j < size; j++) {
            newest = MAX(newest, writer[at + j]);
            newest_alike = MAX(newest_alike, alike[(addr + j) % PAGE]);
        }
        for (unsigned j = 0; j < size; j++) {
            all &= writer[at + j] == newest;
        }
        if (newest && stores - newest < window) {
            expected = stores - newest + 1;
            expected |= all ? 0 : PMU_STORE_FORWARDING_BLOCKED;
            forwarded += all;
            blocked += !all;
        }
        if (newest_alike > newest && stores - newest_alike < window) {
            expected |= (stores - newest_alike + 1) <<
                        PMU_STORE_FORWARDING_ALIAS_SHIFT;
            aliases++;
        }
        g_assert_cmphex(pmu_store_forwarding_load(forward, addr, size), ==,
                        expected);
    }
    g_assert_cmpuint(forwarded, >, 100);
    g_assert_cmpuint(blocked, >, 100);
    /* There are aliases, unless everything lies within 4 KiB. */
    g_assert_cmpuint(aliases > 100, ==, range / 256 * stride > PAGE &&
                                        window > 1);
    g_free(alike);
    g_free(writer);
    g_free(forward);
}

/* A load gets its data from the store that the test kept. */
static void test_forward(void)
{
    /* Around address 0, and where all areas share slots. */
    check_forward(72, 256, 256);
    check_forward(128, 4096, 256);
    check_forward(112, 4096, PMU_STORE_FORWARDING_SLOTS * 8);
    check_forward(1, 64, 256);
}

/* The single cases, worked out by hand. */
static void test_forward_cases(void)
{
    PmuStoreForwarding *forward = g_new0(PmuStoreForwarding, 1);

    pmu_store_forwarding_init(forward, 72);
    g_assert_cmphex(pmu_store_forwarding_load(forward, 0, 8), ==, 0);
    pmu_store_forwarding_store(forward, 0x1000, 32);
    g_assert_cmphex(pmu_store_forwarding_load(forward, 0x1018, 8), ==, 1);
    pmu_store_forwarding_store(forward, 0x2000, 8);
    pmu_store_forwarding_store(forward, 0x2008, 8);
    g_assert_cmphex(pmu_store_forwarding_load(forward, 0x2000, 16), ==,
                    1 | PMU_STORE_FORWARDING_BLOCKED);
    g_assert_cmphex(pmu_store_forwarding_load(forward, 0x2000, 8), ==, 2);
    g_assert_cmphex(pmu_store_forwarding_load(forward, 0x1018, 8), ==, 3);
    /* A newer store, or one elsewhere, is tried first if it looks the same. */
    pmu_store_forwarding_store(forward, 0x5018, 8);
    g_assert_cmphex(pmu_store_forwarding_load(forward, 0x1018, 8), ==,
                    4 | 1 << PMU_STORE_FORWARDING_ALIAS_SHIFT);
    g_assert_cmphex(pmu_store_forwarding_load(forward, 0x3014, 8), ==,
                    1 << PMU_STORE_FORWARDING_ALIAS_SHIFT);
    g_assert_cmphex(pmu_store_forwarding_load(forward, 0x3010, 8), ==,
                    4 << PMU_STORE_FORWARDING_ALIAS_SHIFT);
    g_assert_cmphex(pmu_store_forwarding_load(forward, 0x3040, 8), ==, 0);
    /* What remains of an older store behind a newer one is still its own. */
    pmu_store_forwarding_store(forward, 0x2002, 1);
    g_assert_cmphex(pmu_store_forwarding_load(forward, 0x2004, 4), ==, 4);
    g_assert_cmphex(pmu_store_forwarding_load(forward, 0x2000, 4), ==,
                    1 | PMU_STORE_FORWARDING_BLOCKED);
    pmu_store_forwarding_reset(forward);
    g_assert_cmphex(pmu_store_forwarding_load(forward, 0x2000, 8), ==, 0);
    g_free(forward);
}

/*
 * Load the lines of @size bytes at random.  @seen gets where they were found in
 * the second half, @delay tenths of cycles of translation.
 */
static void chase(uint64_t size, unsigned seen[SOURCES], unsigned *delay)
{
    Machine *machine = new_machine(pmu_uarch(PMU_CORE_ICELAKE), NULL,
                                   translate_identity);
    Random random = random_from_seed();
    unsigned lines = size / LINE, n = MAX(4 * lines, 40000);
    PmuAccessOutcome access[2];

    memset(seen, 0, SOURCES * sizeof(*seen));
    *delay = 0;
    /* Once over all lines; the prime divides no number of lines. */
    for (unsigned i = 0; i < lines; i++) {
        uint64_t line = i * 1000003ull % lines;

        pmu_memory_load(&machine->mem, line * LINE, 8, PMU_NO_IP, access);
    }
    for (unsigned i = 0; i < n; i++) {
        uint64_t line = random_below(&random, lines);

        /* Each load waits for the one before. */
        pmu_memory_misses_arrive(&machine->mem);
        pmu_memory_load(&machine->mem, line * LINE, 8, PMU_NO_IP, access);
        if (i >= n / 2) {
            seen[access[0].source]++;
            *delay += access[0].delay + access[0].walk;
        }
    }
    for (unsigned i = 0; i < SOURCES; i++) {
        seen[i] = seen[i] * 1000ull / (n - n / 2);
    }
    *delay = *delay * 10ull / (n - n / 2);
    free_machine(machine);
}

/*
 * Working sets are found where they fit.  Sources are in one of a thousand,
 * delays in tenths of a cycle.
 */
static void test_ladder(void)
{
    unsigned seen[SOURCES], delay;

    chase(32 * 1024, seen, &delay);
    g_assert_cmpuint(seen[PMU_SOURCE_L1], >=, 998);
    g_assert_cmpuint(delay, ==, 0);
    chase(768 * 1024, seen, &delay);
    /* 48 KB of 768 KB are in L1. */
    g_assert_cmpuint(seen[PMU_SOURCE_L1] + seen[PMU_SOURCE_FILL], >=, 45);
    g_assert_cmpuint(seen[PMU_SOURCE_L1] + seen[PMU_SOURCE_FILL], <=, 80);
    g_assert_cmpuint(seen[PMU_SOURCE_L2], >=, 900);
    g_assert_cmpuint(seen[PMU_SOURCE_DRAM], ==, 0);
    /* A third of the pages is in the DTLB; all are in the STLB. */
    g_assert_cmpuint(delay, >=, 40);
    g_assert_cmpuint(delay, <=, 60);
    chase(8 * 1024 * 1024, seen, &delay);
    g_assert_cmpuint(seen[PMU_SOURCE_L3], >=, 750);
    g_assert_cmpuint(seen[PMU_SOURCE_DRAM], ==, 0);
    /* 2048 pages, as many as the STLB holds. */
    g_assert_cmpuint(delay, >=, 65);
    chase(512ull * 1024 * 1024, seen, &delay);
    g_assert_cmpuint(seen[PMU_SOURCE_DRAM], >=, 850);
    g_assert_cmpuint(delay, >=, 270);
}

/*
 * Each page is used again after all others: the delay tells which TLB has it.
 * The DTLB has 64 entries, the STLB 2048 (7 cycles).
 */
static void test_tlb_reach(void)
{
    const PmuUarch *uarch = pmu_uarch(PMU_CORE_ICELAKE);
    static const struct {
        unsigned pages, min, max;
    } cases[] = {
        { 64, 0, 0 }, { 65, 0, 7 }, { 128, 7, 7 }, { 1500, 7, 7 },
        { 2048, 7, 7 }, { 4096, 27, 255 },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        Machine *machine = new_machine(uarch, NULL, translate_identity);
        PmuAccessOutcome access[2];

        for (unsigned round = 0; round < 3; round++) {
            for (unsigned page = 0; page < cases[i].pages; page++) {
                pmu_memory_load(&machine->mem, page * (uint64_t)PAGE, 8,
                                PMU_NO_IP,
                                access);
                if (round == 2) {
                    unsigned delay = access[0].delay + access[0].walk;

                    g_assert_cmpuint(delay, >=, cases[i].min);
                    g_assert_cmpuint(delay, <=, cases[i].max);
                }
            }
        }
        free_machine(machine);
    }
}

/* Read @n lines, @step bytes apart. */
static void stream_through(int64_t step, unsigned n, unsigned seen[SOURCES],
                           unsigned *asked)
{
    Machine *machine = new_machine(pmu_uarch(PMU_CORE_ICELAKE), NULL,
                                   translate_identity);
    uint64_t addr = 1ull << 40;
    PmuAccessOutcome access[2];

    memset(seen, 0, SOURCES * sizeof(*seen));
    *asked = 0;
    for (unsigned i = 0; i < n; i++, addr += step) {
        pmu_memory_load(&machine->mem, addr, 8, PMU_NO_IP, access);
        seen[access[0].source]++;
        *asked += access[0].prefetch_l3 + access[0].prefetch_dram;
    }
    free_machine(machine);
}

/* The streamer follows streams up and down, and asks for no line in vain. */
static void test_streams(void)
{
    static const int64_t steps[] = { LINE, -LINE, 2 * LINE, -3 * LINE };
    unsigned seen[SOURCES], asked, n = 64000;

    for (unsigned i = 0; i < G_N_ELEMENTS(steps); i++) {
        unsigned lines = PAGE / ABS(steps[i]);

        stream_through(steps[i], n, seen, &asked);
        /* All but the first two or three lines of a page were asked for. */
        g_assert_cmpuint(seen[PMU_SOURCE_PREFETCH] + seen[PMU_SOURCE_L2], >=,
                         n * (lines - 4) / lines);
        g_assert_cmpuint(seen[PMU_SOURCE_DRAM], <=, n * 4 / lines);
        /* No line was asked for in vain. */
        g_assert_cmpuint(asked, <=, n);
    }
    /* A line of every other page: there is no stream to follow. */
    stream_through(2 * PAGE + LINE, n, seen, &asked);
    g_assert_cmpuint(asked, ==, 0);
    g_assert_cmpuint(seen[PMU_SOURCE_DRAM], ==, n);
}

/* Prefetches stay within the page and the distance, and are two at most. */
static void test_streamer_bounds(void)
{
    Random random = random_from_seed();
    PmuStreamer streamer;
    uint64_t lines[PMU_STREAM_DEGREE], asked = 0, next;

    pmu_streamer_init(&streamer, 20);
    for (unsigned i = 0; i < 200000; i++) {
        static uint64_t line = 1000;
        unsigned n;

        line = random_below(&random, 20) ? line + random_below(&random, 5) - 1
                                         : random_below(&random, 1 << 20);
        n = pmu_streamer_miss(&streamer, line, lines, &next);
        g_assert_cmpuint(n, <=, PMU_STREAM_DEGREE);
        for (unsigned j = 0; j < n; j++) {
            int64_t ahead = lines[j] - line;

            g_assert_cmpuint(lines[j] / 64, ==, line / 64);
            g_assert_cmpint(ABS(ahead), <=, 20);
            g_assert_cmpint(ahead, !=, 0);
        }
        asked += n;
    }
    g_assert_cmpuint(asked, >, 0);
}

/* A stream next asks for the line that it has announced. */
static void test_streamer_next(void)
{
    static const struct {
        uint64_t first;
        int step;
    } rows[] = { { 640, 1 }, { 703, -1 }, { 640, 3 }, { 703, -2 } };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        PmuStreamer streamer;
        uint64_t lines[PMU_STREAM_DEGREE], next, expected = 0;
        unsigned asked = 0;

        pmu_streamer_init(&streamer, 20);
        for (int j = 0; j < 10; j++) {
            if (pmu_streamer_miss(&streamer, rows[i].first + j * rows[i].step,
                                  lines, &next)) {
                if (asked++) {
                    g_assert_cmpuint(lines[0], ==, expected);
                }
                expected = next;
            }
        }
        g_assert_cmpuint(asked, >, 4);
    }
}

/* Misses and prefetches are numbered as outcome.h says. */
static void test_numbers(void)
{
    Machine *machine = new_machine(pmu_uarch(PMU_CORE_ICELAKE), NULL,
                                   translate_identity);
    PmuMemory *mem = &machine->mem;
    PmuAccessOutcome access[2];
    uint64_t far = 1ull << 30;

    for (unsigned i = 0; i < 64; i++) {
        pmu_memory_load(mem, i * (PAGE + LINE), 8, PMU_NO_IP, access);
        g_assert_cmpuint(access[0].source, ==, PMU_SOURCE_DRAM);
    }
    for (unsigned i = 0; i < 64; i++) {
        pmu_memory_load(mem, i * (PAGE + LINE), 8, PMU_NO_IP, access);
        g_assert_cmpuint(access[0].source, ==, PMU_SOURCE_FILL);
        g_assert_cmpuint(access[0].fill, ==, 63 - i);
    }
    /* A miss of code is a miss, too. */
    pmu_memory_fetch(mem, far, far, access);
    g_assert_cmpuint(access[0].source, ==, PMU_SOURCE_DRAM);
    pmu_memory_load(mem, 63 * (PAGE + LINE), 8, PMU_NO_IP, access);
    g_assert_cmpuint(access[0].fill, ==, 1);
    pmu_memory_load(mem, 0, 8, PMU_NO_IP, access);
    g_assert_cmpuint(access[0].source, ==, PMU_SOURCE_L1);

    /*
     * The second miss asks for two lines; the third access finds the first one.
     */
    pmu_memory_load(mem, 2 * far, 8, PMU_NO_IP, access);
    pmu_memory_load(mem, 2 * far + LINE, 8, PMU_NO_IP, access);
    g_assert_cmpuint(access[0].prefetch_dram, ==, 2);
    pmu_memory_load(mem, 2 * far + 2 * LINE, 8, PMU_NO_IP, access);
    g_assert_cmpuint(access[0].source, ==, PMU_SOURCE_PREFETCH);
    g_assert_cmpuint(access[0].prefetch, ==, 1);
    g_assert_cmpuint(access[0].prefetch_dram, ==, 2);
    pmu_memory_load(mem, 2 * far + 3 * LINE, 8, PMU_NO_IP, access);
    g_assert_cmpuint(access[0].prefetch, ==, 2);

    /* Once it was asked for and used, a line is like any other in L2. */
    for (unsigned i = 1; i <= machine->uarch.l1d.ways + 1u; i++) {
        pmu_memory_load(mem, 4 * far + 3 * LINE + i * PAGE, 8, PMU_NO_IP,
                        access);
    }
    pmu_memory_load(mem, 2 * far + 3 * LINE, 8, PMU_NO_IP, access);
    g_assert_cmpuint(access[0].source, ==, PMU_SOURCE_L2);
    free_machine(machine);
}

/*
 * A line is no longer a recent fill once the caller says that misses have
 * arrived, or after PMU_OUTCOME_FILLS other misses.
 */
static void test_settling(void)
{
    Machine *machine = new_machine(pmu_uarch(PMU_CORE_ICELAKE), NULL,
                                   translate_identity);
    PmuMemory *mem = &machine->mem;
    PmuAccessOutcome access[2];

    pmu_memory_load(mem, 0x1000, 8, PMU_NO_IP, access);
    pmu_memory_load(mem, 0x3000, 8, PMU_NO_IP, access);
    pmu_memory_load(mem, 0x1000, 8, PMU_NO_IP, access);
    g_assert_cmpuint(access[0].source, ==, PMU_SOURCE_FILL);
    g_assert_cmpuint(access[0].fill, ==, 1);
    g_assert_false(pmu_memory_hit(mem, 0x1000, 8, false));

    /* Only the newest miss is still under way. */
    pmu_memory_misses_arrive(mem);
    pmu_memory_load(mem, 0x2000, 8, PMU_NO_IP, access);
    pmu_memory_load(mem, 0x1000, 8, PMU_NO_IP, access);
    g_assert_cmpuint(access[0].source, ==, PMU_SOURCE_L1);
    g_assert_true(pmu_memory_hit(mem, 0x1000, 8, false));
    g_assert_true(pmu_memory_hit(mem, 0x1038, 8, false));
    g_assert_false(pmu_memory_hit(mem, 0x1039, 8, false));
    g_assert_true(pmu_memory_hit(mem, 0x1000, 64, false));
    pmu_memory_load(mem, 0x2000, 8, PMU_NO_IP, access);
    g_assert_cmpuint(access[0].source, ==, PMU_SOURCE_FILL);

    for (unsigned i = 0; i < PMU_OUTCOME_FILLS; i++) {
        pmu_memory_load(mem, 0x100000 + i * 0x2040, 8, PMU_NO_IP, access);
    }
    pmu_memory_load(mem, 0x2000, 8, PMU_NO_IP, access);
    g_assert_cmpuint(access[0].source, ==, PMU_SOURCE_L1);
    free_machine(machine);
}

/* A mapping that was flushed is looked up again, through the filter, too. */
static void test_flush(void)
{
    Machine *machine = new_machine(pmu_uarch(PMU_CORE_ICELAKE), NULL,
                                   translate_identity);
    PmuMemory *mem = &machine->mem;
    PmuAccessOutcome access[2];

    for (unsigned flush = 0; flush < 3; flush++) {
        pmu_memory_load(mem, 0x5000, 8, PMU_NO_IP, access);
        pmu_memory_fetch(mem, 0x5040, 0x5040, access);
        pmu_memory_misses_arrive(mem);
        pmu_memory_load(mem, 0x5000, 8, PMU_NO_IP, access);
        g_assert_true(pmu_memory_hit(mem, 0x5000, 8, false));
        pmu_memory_flush_mappings(mem, flush
                                  ? PMU_TLB_FLUSH_ALL : PMU_TLB_FLUSH_PAGE,
                                  0x5010);
        g_assert_false(pmu_memory_hit(mem, 0x5000, 8, false));
        pmu_memory_load(mem, 0x5000, 8, PMU_NO_IP, access);
        /* The page walker's load hits L1D. */
        g_assert_cmpuint(access[0].delay, ==, machine->uarch.stlb.latency);
        g_assert_cmpuint(access[0].walk, ==, machine->uarch.page_walk);
        g_assert_cmpuint(access[0].source, ==, PMU_SOURCE_L1);
        pmu_memory_fetch(mem, 0x5040, 0x5040, access);
        g_assert_cmpuint(access[0].delay, ==, machine->uarch.stlb.latency);
        g_assert_cmpuint(access[0].walk, ==, 0);
    }
    free_machine(machine);
}

/*
 * Two vCPUs that share an L3 find each other's lines; a reset leaves it alone.
 */
static void test_shared_l3(void)
{
    const PmuUarch *uarch = pmu_uarch(PMU_CORE_ICELAKE);
    PmuL3 *l3 = pmu_l3_new(uarch);
    Machine *one = new_machine(uarch, l3, translate_identity);
    Machine *two = new_machine(uarch, l3, translate_identity);
    PmuAccessOutcome access[2];

    pmu_l3_unref(l3);
    pmu_memory_load(&one->mem, 0x1000, 8, PMU_NO_IP, access);
    g_assert_cmpuint(access[0].source, ==, PMU_SOURCE_DRAM);
    pmu_memory_load(&two->mem, 0x1000, 8, PMU_NO_IP, access);
    g_assert_cmpuint(access[0].source, ==, PMU_SOURCE_L3);
    pmu_memory_reset(&one->mem);
    pmu_memory_load(&one->mem, 0x1000, 8, PMU_NO_IP, access);
    g_assert_cmpuint(access[0].source, ==, PMU_SOURCE_L3);
    free_machine(one);
    pmu_memory_load(&two->mem, 0x1000, 8, PMU_NO_IP, access);
    g_assert_cmpuint(access[0].source, ==, PMU_SOURCE_FILL);
    free_machine(two);
}

/* Returns how often @machine counted each kind of snoop, as decimal digits. */
static unsigned snoops(const Machine *machine)
{
    const uint64_t *event = machine->ledger.event[machine->ledger.level];

    return event[PMU_ITEM_DATA_L3_ALONE] +
           event[PMU_ITEM_DATA_L3_SHARED] * 10 +
           event[PMU_ITEM_DATA_L3_MODIFIED] * 100 +
           event[PMU_ITEM_RFO_L3_MODIFIED] * 1000;
}

/* Who asked for a line before decides what another vCPU finds. */
static void test_snoops(void)
{
    const PmuUarch *uarch = pmu_uarch(PMU_CORE_ICELAKE);
    PmuL3 *l3 = pmu_l3_new(uarch);
    Machine *one = new_machine(uarch, l3, translate_identity);
    Machine *two = new_machine(uarch, l3, translate_identity);
    PmuAccessOutcome access[2];

    pmu_l3_unref(l3);
    /* From DRAM: no other vCPU is snooped. */
    pmu_memory_store(&one->mem, 0x1000, 8, access);
    pmu_memory_load(&one->mem, 0x3000, 8, PMU_NO_IP, access);
    pmu_memory_update(&one->mem, 0x5000, 8, PMU_NO_IP, access);
    pmu_memory_store(&one->mem, 0x7000, 8, access);
    g_assert_cmpuint(snoops(one), ==, 0);
    /*
     * Lines that the other vCPU wrote, read and updated, and one that both
     * write.
     */
    pmu_memory_load(&two->mem, 0x1000, 8, PMU_NO_IP, access);
    g_assert_cmpuint(snoops(two), ==, 100);
    pmu_memory_load(&two->mem, 0x3000, 8, PMU_NO_IP, access);
    g_assert_cmpuint(snoops(two), ==, 110);
    pmu_memory_load(&two->mem, 0x5000, 8, PMU_NO_IP, access);
    g_assert_cmpuint(snoops(two), ==, 210);
    pmu_memory_store(&two->mem, 0x7000, 8, access);
    g_assert_cmpuint(snoops(two), ==, 1210);
    /* After it lost its caches, it finds the lines that it had itself. */
    pmu_memory_reset(&two->mem);
    pmu_memory_load(&two->mem, 0x1000, 8, PMU_NO_IP, access);
    g_assert_cmpuint(snoops(two), ==, 1211);
    /* So does the writer, for a line that both have and nobody wrote since. */
    pmu_memory_reset(&one->mem);
    pmu_memory_load(&one->mem, 0x1000, 8, PMU_NO_IP, access);
    g_assert_cmpuint(snoops(one), ==, 1);
    free_machine(one);
    free_machine(two);
}

/*
 * Lines that several vCPUs read and write, by the book.  A vCPU that writes a
 * line has it alone; any number may have a line that nobody writes.
 */
#define SHARERS 3
#define SHARED_LINES 40

typedef struct SharedLine {
    unsigned holders;           /* a bit for each */
    bool modified;              /* by the only one, or about to be */
} SharedLine;

/*
 * Returns where vCPU @who finds the line if it does @kind.  @found gets who
 * else has it.
 */
static PmuDataSource share(SharedLine *line, unsigned who, int kind,
                           PmuDirectoryState *found)
{
    bool cold = !line->holders, alone = !(line->holders & (line->holders - 1));
    bool has = line->holders >> who & 1;

    *found = cold ? PMU_DIRECTORY_MISS : PMU_DIRECTORY_EXCLUSIVE;
    if (has && (kind == LOAD || alone)) {
        line->modified |= kind != LOAD;
        return PMU_SOURCE_L1;
    }
    if (!cold && (kind != LOAD || alone)) {
        *found = line->modified ? PMU_DIRECTORY_MODIFIED : PMU_DIRECTORY_SHARED;
    }
    line->holders = (kind == LOAD ? line->holders : 0) | 1u << who;
    line->modified = kind != LOAD;
    return cold ? PMU_SOURCE_DRAM : PMU_SOURCE_L3;
}

/* Write a whole line past the caches; then no vCPU has it. */
static void stream_line(PmuMemory *mem, uint64_t addr)
{
    PmuAccessOutcome access[2];

    for (unsigned byte = 0; byte < LINE; byte += 16) {
        pmu_memory_non_temporal_store(mem, addr + byte, 16, access);
    }
}

static void take_all_snoops(Machine *machine[SHARERS])
{
    for (unsigned i = 0; i < SHARERS; i++) {
        pmu_memory_poll_snoops(&machine[i]->mem);
    }
}

/*
 * Each access finds its line, and snoops, as in the naive model; and the counts
 * add up.
 */
static void test_sharing(void)
{
    Random random = random_from_seed();
    PmuUarch uarch = *pmu_uarch(PMU_CORE_ICELAKE);
    SharedLine line[SHARED_LINES] = {};
    Machine *machine[SHARERS];
    unsigned expected[PMU_DIRECTORY_MODIFIED + 1] = {};
    unsigned hits = 0, alone = 0, shared = 0, modified = 0;
    PmuL3 *l3;

    uarch.prefetch_distance = 0;
    uarch.l1d_prefetch = 0;
    l3 = pmu_l3_new(&uarch);
    for (unsigned i = 0; i < SHARERS; i++) {
        PmuAccessOutcome access[2];

        machine[i] = new_machine(&uarch, l3, translate_identity);
        /* The translation is known from then on. */
        pmu_memory_load(&machine[i]->mem, 63 * LINE, 8, PMU_NO_IP, access);
        pmu_memory_set_untimed(&machine[i]->mem);
    }
    pmu_l3_unref(l3);
    for (unsigned i = 0; i < 300000; i++) {
        unsigned who = random_below(&random, SHARERS);
        unsigned n = random_below(&random, SHARED_LINES);
        Step step = {
            .kind = random_below(&random, 3) ? LOAD :
                    random_below(&random, 2) ? STORE :
                    random_below(&random, 2) ? UPDATE : PREFETCH,
            .hint = PMU_HINT_PREFETCH_W, .addr = n * LINE, .size = 8,
        };
        PmuAccessOutcome access;
        PmuDataSource source;
        PmuDirectoryState found;

        if (!random_below(&random, 100)) {
            stream_line(&machine[who]->mem, n * LINE);
            line[n] = (SharedLine) {};
            take_all_snoops(machine);
            continue;
        }
        access = do_step(&machine[who]->mem, &step, true).access[0];
        source = share(&line[n], who, step.kind, &found);
        g_assert_cmpuint(access.source, ==, source);
        g_assert_cmpuint(access.snoop, ==, found <= PMU_DIRECTORY_EXCLUSIVE
                                           ? 0 : uarch.snoop_latency);
        hits += source == PMU_SOURCE_L1;
        expected[found] += source == PMU_SOURCE_L3 &&
                           (step.kind == LOAD || step.kind == UPDATE);
        take_all_snoops(machine);
    }
    g_assert_cmpuint(hits, >, 10000);
    for (unsigned i = 0; i < SHARERS; i++) {
        const uint64_t *event =
            machine[i]->ledger.event[machine[i]->ledger.level];

        alone += event[PMU_ITEM_DATA_L3_ALONE];
        shared += event[PMU_ITEM_DATA_L3_SHARED];
        modified += event[PMU_ITEM_DATA_L3_MODIFIED];
        free_machine(machine[i]);
    }
    /* The first loads, for the translation, found their line shared. */
    g_assert_cmpuint(alone - expected[PMU_DIRECTORY_EXCLUSIVE], <, SHARERS);
    g_assert_cmpuint(shared - expected[PMU_DIRECTORY_SHARED], <, SHARERS);
    g_assert_cmpuint(modified, ==, expected[PMU_DIRECTORY_MODIFIED]);
    g_assert_cmpuint(MIN(alone, MIN(shared, modified)), >, 10000);
}

/* A request is lost only to another one in its place; a write is never lost. */
static void test_invalidation_queue(void)
{
    Random random = random_from_seed();
    PmuInvalidationQueue queue = {};
    PmuSnoop snoops[PMU_SNOOP_SLOTS];

    for (unsigned round = 0; round < 1000; round++) {
        const uint64_t base = random_below(&random, 1 << 30);
        bool put[8] = {}, wrote[8] = {};
        unsigned n, lines = 0;

        for (unsigned i = 0; i < 50; i++) {
            unsigned which = random_below(&random, 8);
            bool write = !random_below(&random, 8);

            pmu_invalidation_queue_put(&queue,
                                       (PmuSnoop) { base + which, write });
            lines += !put[which];
            put[which] = true;
            wrote[which] |= write;
        }
        g_assert_true(pmu_invalidation_queue_pending(&queue));
        n = pmu_invalidation_queue_take(&queue, snoops);
        g_assert_false(pmu_invalidation_queue_pending(&queue));
        /* Neighbours have places of their own. */
        g_assert_cmpuint(n, ==, lines);
        for (unsigned i = 0; i < n; i++) {
            g_assert_cmpuint(snoops[i].line - base, <, 8);
            g_assert_true(snoops[i].write == wrote[snoops[i].line - base]);
        }
        g_assert_cmpuint(pmu_invalidation_queue_take(&queue, snoops), ==, 0);
    }
}

/* A thread's L3 and random numbers. */
typedef struct Hammer {
    PmuL3 *l3;
    Random random;
} Hammer;

static gpointer hammer(gpointer opaque)
{
    Hammer *own = opaque;
    Machine *machine = new_machine(pmu_uarch(PMU_CORE_ICELAKE), own->l3,
                                   translate_identity);
    PmuAccessOutcome access[2];

    for (unsigned i = 0; i < 300000; i++) {
        pmu_memory_load(&machine->mem, random_below(&own->random, 1 << 28), 8,
                        PMU_NO_IP, access);
    }
    free_machine(machine);
    return NULL;
}

/*
 * Threads that use one L3 at the same time do no harm: lines that are used
 * again afterwards are found.
 */
static void test_threads(void)
{
    const PmuUarch *uarch = pmu_uarch(PMU_CORE_ICELAKE);
    PmuL3 *l3 = pmu_l3_new(uarch);
    Random random = random_from_seed();
    GThread *thread[3];
    Hammer own[G_N_ELEMENTS(thread)];
    Machine *machine;
    PmuAccessOutcome access[2];
    unsigned hits = 0;

    for (unsigned i = 0; i < G_N_ELEMENTS(thread); i++) {
        own[i] = (Hammer) { l3, { random_next(&random) } };
        thread[i] = g_thread_new("hammer", hammer, &own[i]);
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(thread); i++) {
        g_thread_join(thread[i]);
    }
    machine = new_machine(uarch, l3, translate_identity);
    pmu_l3_unref(l3);
    for (unsigned round = 0; round < 2; round++) {
        for (unsigned i = 0; i < 100000; i++) {
            pmu_memory_load(&machine->mem, i * (uint64_t)LINE, 8, PMU_NO_IP,
                            access);
            hits += round && access[0].source != PMU_SOURCE_DRAM;
        }
    }
    g_assert_cmpuint(hits, >, 99000);
    free_machine(machine);
}

/* After a reset everything is as new. */
static void test_reset(void)
{
    PmuUarch uarch = small_uarch();
    Machine *used = new_machine(&uarch, NULL, translate_pairs);
    Machine *fresh = new_machine(&uarch, NULL, translate_pairs);
    Stream stream = { .random = random_from_seed(), .pages = 40 };

    for (unsigned i = 0; i < 20000; i++) {
        Step step = next_step(&stream);

        do_step(&used->mem, &step, true);
    }
    pmu_memory_reset(&used->mem);
    for (unsigned i = 0; i < 20000; i++) {
        Step step = next_step(&stream);
        Told a = do_step(&used->mem, &step, true);
        Told b = do_step(&fresh->mem, &step, true);

        assert_told_equal(&a, &b);
    }
    free_machine(used);
    free_machine(fresh);
}

/*
 * Lines that were read or written outside what is observed: from then on they
 * are where they were found, unless there is no mapping.  Nothing is counted.
 */
static void test_warm_lines(void)
{
    static const uint64_t lines = PAGE / LINE + 2;
    const uint64_t first = 5 * PAGE - LINE;
    Machine *machine = new_machine(pmu_uarch(PMU_CORE_ICELAKE), NULL,
                                   translate_identity);
    uint64_t from[PMU_FOUND_IN_NR] = {};
    PmuLedgerSnapshot before, after;
    PmuAccessOutcome access[2];

    pmu_ledger_snapshot(&machine->ledger, &before);
    pmu_memory_warm_lines(&machine->mem, first, lines, true, from);
    g_assert_cmpuint(from[PMU_FOUND_IN_DRAM], ==, lines);
    pmu_memory_warm_lines(&machine->mem, first, lines, false, from);
    g_assert_cmpuint(from[PMU_FOUND_IN_L3], ==, lines);
    g_assert_cmpuint(from[PMU_FOUND_IN_L2], ==, 0);
    pmu_ledger_snapshot(&machine->ledger, &after);
    g_assert_cmpmem(&before, sizeof(before), &after, sizeof(after));

    pmu_memory_load(&machine->mem, first + (lines - 1) * LINE, 1, PMU_NO_IP,
                    access);
    g_assert_cmpuint(access[0].source, ==, PMU_SOURCE_L3);
    pmu_memory_load(&machine->mem, first + lines * LINE, 1, PMU_NO_IP, access);
    g_assert_cmpuint(access[0].source, ==, PMU_SOURCE_DRAM);

    /* They evict nothing from L2. */
    pmu_memory_warm_lines(&machine->mem, 64 * PAGE,
                          4 * machine->uarch.l2.size / LINE, true, from);
    memset(from, 0, sizeof(from));
    pmu_memory_warm_lines(&machine->mem, first + lines * LINE, 1, false, from);
    g_assert_cmpuint(from[PMU_FOUND_IN_L2], ==, 1);
    free_machine(machine);

    machine = new_machine(pmu_uarch(PMU_CORE_ICELAKE), NULL, translate_pairs);
    memset(from, 0, sizeof(from));
    pmu_memory_warm_lines(&machine->mem, UNMAPPED - LINE, 3, true, from);
    g_assert_cmpuint(from[PMU_FOUND_IN_DRAM], ==, 1);
    free_machine(machine);
}

static PmuMapping translate_and_count(void *opaque, uint64_t page)
{
    unsigned *walks = opaque;

    ++*walks;
    return translate_pairs(NULL, page);
}

/* Returns the walks of @machine for a line at @linear that is warmed. */
static unsigned walks_to_warm(Machine *machine, uint64_t linear)
{
    uint64_t from[PMU_FOUND_IN_NR] = {};
    unsigned *walks = machine->mem.opaque;

    *walks = 0;
    pmu_memory_warm_lines(&machine->mem, linear, 1, false, from);
    g_assert_cmpuint(from[PMU_FOUND_IN_DRAM], ==, 1);
    g_assert_true(pmu_tag_array_has(machine->mem.l3, phys_of(linear) / LINE));
    return *walks;
}

/* A page of any size in the DTLB is not walked, and one that left it is. */
static void test_warm_lines_walks(void)
{
    Machine *machine = new_machine(pmu_uarch(PMU_CORE_ICELAKE), NULL,
                                   translate_and_count);
    unsigned walks;

    machine->mem.opaque = &walks;
    for (uint64_t linear = 0; linear < UNMAPPED; linear += UNMAPPED / 61) {
        uint64_t page = linear & -PAGE;
        PmuAccessOutcome access[2];

        g_assert_cmpuint(walks_to_warm(machine, page), ==, 1);
        pmu_memory_load(&machine->mem, page + LINE, 1, PMU_NO_IP, access);
        g_assert_cmpuint(walks_to_warm(machine, page + 2 * LINE), ==, 0);
        pmu_memory_flush_mappings(&machine->mem, PMU_TLB_FLUSH_ALL, 0);
        g_assert_cmpuint(walks_to_warm(machine, page + 3 * LINE), ==, 1);
    }
    free_machine(machine);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/memory/skipping", test_skipping);
    g_test_add_func("/memory/warm-lines", test_warm_lines);
    g_test_add_func("/memory/warm-lines-walks", test_warm_lines_walks);
    g_test_add_func("/memory/naive", test_naive);
    g_test_add_func("/memory/naive-untimed", test_naive_untimed);
    g_test_add_func("/memory/streaming", test_streaming);
    g_test_add_func("/memory/smc", test_smc);
    g_test_add_func("/memory/forward", test_forward);
    g_test_add_func("/memory/forward-cases", test_forward_cases);
    if (g_test_slow()) {
        g_test_add_func("/memory/ladder", test_ladder);
    }
    g_test_add_func("/memory/tlb-reach", test_tlb_reach);
    g_test_add_func("/memory/streams", test_streams);
    g_test_add_func("/memory/streamer-bounds", test_streamer_bounds);
    g_test_add_func("/memory/streamer-next", test_streamer_next);
    g_test_add_func("/memory/numbers", test_numbers);
    g_test_add_func("/memory/settling", test_settling);
    g_test_add_func("/memory/flush", test_flush);
    g_test_add_func("/memory/shared-l3", test_shared_l3);
    g_test_add_func("/memory/snoops", test_snoops);
    g_test_add_func("/memory/sharing", test_sharing);
    g_test_add_func("/memory/invalidation-queue", test_invalidation_queue);
    g_test_add_func("/memory/threads", test_threads);
    g_test_add_func("/memory/reset", test_reset);
    return g_test_run();
}
