/*
 * Translation lookaside buffers: pages of three sizes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A first-level TLB has separate entries for each page size; those of the
 * second level, the STLB, serve all sizes (Intel Optimization Reference Manual,
 * "Second Level TLB").  A page is an address / 4096, linear or physical, unless
 * said otherwise.
 */

#ifndef TARGET_I386_PMU_MEMORY_TLB_H
#define TARGET_I386_PMU_MEMORY_TLB_H

#include "tcg/pmu/memory/cache.h"
#include "tcg/pmu/uarch/uarch.h"

/* No page has this number. */
#define PMU_NO_PAGE     UINT64_MAX

/* Which translations a flush removes. */
typedef enum PmuTlbFlush {
    PMU_TLB_FLUSH_ALL,
    PMU_TLB_FLUSH_LOCAL,        /* all but global ones, for a new context */
    PMU_TLB_FLUSH_PAGE,         /* that of one page, global or not */
} PmuTlbFlush;

/* What a linear page of 4 KiB is mapped to. */
typedef struct PmuMapping {
    uint64_t page;              /* physical; PMU_NO_PAGE: not mapped */
    PmuPageSize size;           /* of the page that it is a part of */
    bool global;                /* the mapping is the same in all contexts */
} PmuMapping;

/* Flag in the value of a TLB's entry, which is a physical page: global. */
#define PMU_TLB_GLOBAL  (1ull << 63)

/* The number of the page of @size that @page is a part of. */
static inline uint64_t pmu_page_of(uint64_t page, PmuPageSize size)
{
    return page >> (PMU_PAGE_SIZE_BITS * size);
}

/*
 * A first-level TLB.  If it has no entries for a page size, as the ITLB for 1
 * GiB, parts of such a page take entries of the next smaller size.
 */
typedef struct PmuTlb {
    PmuCache of[PMU_PAGE_SIZES];        /* keys: pmu_page_of(); values: the
                                           first physical page, with flag */
    bool large;                 /* some entry may not be of PMU_PAGE_4K */
} PmuTlb;

/*
 * Initialise an empty TLB with entries as in @geometry.  Returns false if
 * memory runs out.
 */
bool pmu_tlb_init(PmuTlb *tlb, const PmuTlbGeometry geometry[PMU_PAGE_SIZES]);
void pmu_tlb_destroy(PmuTlb *tlb);
void pmu_tlb_clear(PmuTlb *tlb);

/* Remove all mappings but global ones. */
void pmu_tlb_keep_global(PmuTlb *tlb);

/* The physical page of linear page @page, or PMU_NO_PAGE; changes nothing. */
uint64_t pmu_tlb_find(const PmuTlb *tlb, uint64_t page);

/* pmu_tlb_use() for large pages. */
uint64_t pmu_tlb_use_large(PmuTlb *tlb, uint64_t page);

/*
 * Mark linear page @page as used.  Returns its physical page, or PMU_NO_PAGE if
 * @tlb lacks it.
 */
static inline uint64_t pmu_tlb_use(PmuTlb *tlb, uint64_t page)
{
    size_t entry = pmu_cache_use(&tlb->of[PMU_PAGE_4K], page);

    if (__builtin_expect(entry != PMU_CACHE_NONE, 1)) {
        return tlb->of[PMU_PAGE_4K].data[entry] & ~PMU_TLB_GLOBAL;
    }
    return tlb->large ? pmu_tlb_use_large(tlb, page) : PMU_NO_PAGE;
}

/*
 * Callback: a use of page @number, as pmu_page_of() counts pages of @size,
 * changes something from now on (see pmu_cache_choose()).
 */
typedef void (*PmuTlbDrop)(void *opaque, uint64_t number, PmuPageSize size);

/*
 * Insert linear page @page, which @tlb lacks, with @mapping.  Calls @drop,
 * which may be NULL, for pages of which that is true.  Returns the mapping that
 * it evicts, of the first 4 KiB of its page; .page is PMU_NO_PAGE if the entry
 * was empty.
 */
PmuMapping pmu_tlb_insert(PmuTlb *tlb, uint64_t page, PmuMapping mapping,
                          PmuTlbDrop drop, void *opaque);

/*
 * Remove the entries of any size that map linear page @page.  If its page is
 * here in parts, the other parts stay; hardware drops those as well (SDM vol.
 * 3A, "Operations that Invalidate TLBs").  Returns the mapping of the largest,
 * as pmu_tlb_insert() does.
 */
PmuMapping pmu_tlb_remove(PmuTlb *tlb, uint64_t page);

/*
 * Most entries that are remembered as filled with a mapping that is not global.
 * If there are more, pmu_stlb_keep_global() looks at all entries.
 */
#define PMU_STLB_LOCAL  256

/* The STLB, the TLB of the second level. */
typedef struct PmuStlb {
    PmuCache cache;             /* values as those of PmuTlb */
    bool large;                 /* as in PmuTlb */
    uint32_t num_local;         /* entries in @local; PMU_STLB_LOCAL + 1: some
                                   had no room */
    uint32_t local[PMU_STLB_LOCAL];
} PmuStlb;

bool pmu_stlb_init(PmuStlb *stlb, const PmuTlbGeometry *geometry);
void pmu_stlb_destroy(PmuStlb *stlb);
void pmu_stlb_clear(PmuStlb *stlb);
void pmu_stlb_keep_global(PmuStlb *stlb);

/* Mark linear page @page as used.  Returns its mapping, or PMU_NO_PAGE. */
PmuMapping pmu_stlb_use(PmuStlb *stlb, uint64_t page);

void pmu_stlb_insert(PmuStlb *stlb, uint64_t page, PmuMapping mapping);
void pmu_stlb_remove(PmuStlb *stlb, uint64_t page);

#endif
