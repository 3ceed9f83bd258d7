/*
 * Translation lookaside buffers: pages of three sizes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Those of the first level have entries for each size of their own; the second
 * level's serve all sizes (Intel Optimization Reference Manual, "Second Level
 * TLB").  Pages are numbers of 4 KiB, linear or physical.
 */

#ifndef TARGET_I386_PMU_MEMORY_TLB_H
#define TARGET_I386_PMU_MEMORY_TLB_H

#include "tcg/pmu/memory/cache.h"
#include "tcg/pmu/uarch/uarch.h"

/* No page has this number. */
#define PMU_NO_PAGE     UINT64_MAX

/* Which translations are void. */
typedef enum PmuTlbFlush {
    PMU_TLB_FLUSH_ALL,
    PMU_TLB_FLUSH_LOCAL,        /* all but global ones: another context */
    PMU_TLB_FLUSH_PAGE,         /* of one page, global or not */
} PmuTlbFlush;

/* What a linear page is mapped to. */
typedef struct PmuMapping {
    uint64_t page;              /* physical, or PMU_NO_PAGE: to nothing */
    PmuPageSize size;           /* of the page that it is a part of */
    bool global;                /* it is the same in all contexts */
} PmuMapping;

/* In the values of TLBs, beside the physical page: the mapping is global. */
#define PMU_TLB_GLOBAL  (1ull << 63)

/* The number of the page of @size that @page is a part of. */
static inline uint64_t pmu_page_of(uint64_t page, PmuPageSize size)
{
    return page >> (PMU_PAGE_SIZE_BITS * size);
}

/*
 * One of the first level.  Where it has no entries for a size, parts of such a
 * page take those of the next smaller one, as of 1 GiB in the ITLB.
 */
typedef struct PmuTlb {
    PmuCache of[PMU_PAGE_SIZES];        /* values: PMU_TLB_GLOBAL */
    bool large;                 /* it may have others than PMU_PAGE_4K */
} PmuTlb;

/* Empty ones with so many entries.  False if memory runs out. */
bool pmu_tlb_init(PmuTlb *tlb, const PmuTlbGeometry geometry[PMU_PAGE_SIZES]);
void pmu_tlb_destroy(PmuTlb *tlb);
void pmu_tlb_clear(PmuTlb *tlb);

/* What is not global is gone. */
void pmu_tlb_keep_global(PmuTlb *tlb);

/* The rest of pmu_tlb_use(), for large pages. */
uint64_t pmu_tlb_use_large(PmuTlb *tlb, uint64_t page);

/* The physical page behind @page, or PMU_NO_PAGE if it is not here. */
static inline uint64_t pmu_tlb_use(PmuTlb *tlb, uint64_t page)
{
    size_t entry = pmu_cache_use(&tlb->of[PMU_PAGE_4K], page);

    if (__builtin_expect(entry != PMU_CACHE_NONE, 1)) {
        return tlb->of[PMU_PAGE_4K].data[entry] & ~PMU_TLB_GLOBAL;
    }
    return tlb->large ? pmu_tlb_use_large(tlb, page) : PMU_NO_PAGE;
}

/* Is @page here as a part of a large one?  Nothing changes. */
bool pmu_tlb_has_large(const PmuTlb *tlb, uint64_t page);

/* Page @number, as pmu_page_of() counts those of @size, is used no longer. */
typedef void (*PmuTlbDrop)(void *opaque, uint64_t number, PmuPageSize size);

/*
 * @page, which is not here, is from now on.  @drop (may be NULL)
 * is told of pages whose use would change something from now on.  Returns the
 * mapping that it evicts: .page is that of its first 4 KiB, or PMU_NO_PAGE if
 * the entry was empty.
 */
PmuMapping pmu_tlb_insert(PmuTlb *tlb, uint64_t page, PmuMapping mapping,
                          PmuTlbDrop drop, void *opaque);

/*
 * What has @page is gone, of whatever size.  Of a page that is here by parts,
 * other parts stay; hardware drops those as well (SDM vol. 3A, "Operations that
 * Invalidate TLBs").
 */
void pmu_tlb_remove(PmuTlb *tlb, uint64_t page);

/* Entries that are remembered as not global; with more, all are looked at. */
#define PMU_STLB_LOCAL  256

/* That of the second level. */
typedef struct PmuStlb {
    PmuCache cache;             /* values: PMU_TLB_GLOBAL */
    bool large;
    uint32_t num_local;         /* entries filled since there was none */
    uint32_t local[PMU_STLB_LOCAL];
} PmuStlb;

bool pmu_stlb_init(PmuStlb *stlb, const PmuTlbGeometry *geometry);
void pmu_stlb_destroy(PmuStlb *stlb);
void pmu_stlb_clear(PmuStlb *stlb);
void pmu_stlb_keep_global(PmuStlb *stlb);

/* Where @page is mapped, PMU_NO_PAGE if it is not here. */
PmuMapping pmu_stlb_use(PmuStlb *stlb, uint64_t page);

void pmu_stlb_insert(PmuStlb *stlb, uint64_t page, PmuMapping mapping);
void pmu_stlb_remove(PmuStlb *stlb, uint64_t page);

#endif
