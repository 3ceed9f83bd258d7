/*
 * Page walks without side effects: find where the guest's linear pages are
 * mapped.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The timing model asks for a translation after the guest made the access, when
 * an ordinary page walk comes too late.  Such a walk would set Accessed bits
 * that the guest has cleared since, or set them when migration has already sent
 * the RAM, or fault.  This walk reads the guest's tables and does nothing else
 * (SDM vol. 3A, "4-Level Paging and 5-Level Paging"; nested paging: AMD64
 * manual vol. 2, "Nested Paging").  It does not check permissions and reserved
 * bits, as the access itself did.
 */

#include "qemu/osdep.h"
#include "cpu.h"
#include "exec/memory.h"
#include "pmu-internal.h"

/*
 * A walk, within one RCU critical section.  Many tables of a guest are in one
 * section of RAM, which is not looked up again for those behind the first.
 */
typedef struct X86PMUWalk {
    CPUX86State *env;
    const X86PMUPaging *paging;
    hwaddr ram, ram_size;       /* physical addresses of RAM, from that looked
                                   up last to the end of its section */
    const uint8_t *host;        /* where it is in the host's memory */
} X86PMUWalk;

/* The result of a walk. */
typedef struct X86PMUPage {
    uint64_t phys;              /* the address that was asked for, translated */
    unsigned bits;              /* the size of its page is 1 << this bytes */
    bool global;                /* the G bit of the entry */
} X86PMUPage;

static bool x86_pmu_walk(X86PMUWalk *walk, const X86PMUTables *tables,
                         uint64_t addr, X86PMUPage *page);

/* Does @tables map to physical addresses of an SVM guest? */
static bool x86_pmu_is_nested(const X86PMUPaging *paging,
                              const X86PMUTables *tables)
{
    return paging->is_nested && tables != &paging->nested;
}

/*
 * @page has a physical address of an SVM guest.  Translate it by the nested
 * tables, and let the page be the smaller one of both.
 */
static bool x86_pmu_walk_nested(X86PMUWalk *walk, X86PMUPage *page)
{
    X86PMUPage nested;

    if (!x86_pmu_walk(walk, &walk->paging->nested, page->phys, &nested)) {
        return false;
    }
    page->phys = nested.phys;
    page->bits = MIN(page->bits, nested.bits);
    return true;
}

/* Find the section of RAM that has @addr.  False if that is not in RAM. */
static bool x86_pmu_find_ram(X86PMUWalk *walk, hwaddr addr)
{
    MemTxAttrs attrs = walk->paging->attrs;
    hwaddr offset, length = HWADDR_MAX - addr;
    MemoryRegion *mr;

    walk->ram_size = 0;
    mr = address_space_translate(cpu_addressspace(env_cpu(walk->env), attrs),
                                 addr, &offset, &length, false, attrs);
    if (!memory_access_is_direct(mr, false, attrs)) {
        return false;
    }
    walk->ram = addr;
    /* The length of a ROM device is not that of its section. */
    walk->ram_size = memory_region_is_ram(mr) ? length
                                              : MIN(length, sizeof(uint64_t));
    walk->host = qemu_map_ram_ptr(mr->ram_block, offset);
    return true;
}

/*
 * Read the entry of @size bytes at @addr of a table.  False if it is not in
 * RAM: reads of a device's registers can have effects.
 */
static bool x86_pmu_read_entry(X86PMUWalk *walk, const X86PMUTables *tables,
                               uint64_t addr, unsigned size, uint64_t *entry)
{
    X86PMUPage page = { .phys = addr, .bits = TARGET_PAGE_BITS };
    const uint8_t *host;

    if (x86_pmu_is_nested(walk->paging, tables) &&
        !x86_pmu_walk_nested(walk, &page)) {
        return false;
    }
    addr = page.phys & walk->paging->a20_mask;
    if (addr - walk->ram >= walk->ram_size && !x86_pmu_find_ram(walk, addr)) {
        return false;
    }
    if (walk->ram_size - (addr - walk->ram) < size) {
        return false;
    }
    host = walk->host + (addr - walk->ram);
    *entry = size == 8 ? ldq_le_p(host) : (uint32_t)ldl_le_p(host);
    return true;
}

static unsigned x86_pmu_num_levels(int mode)
{
    if (!(mode & PG_MODE_PAE)) {
        return 2;
    }
    return !(mode & PG_MODE_LMA) ? 3 : mode & PG_MODE_LA57 ? 5 : 4;
}

/* Does @entry of @level, 0 for the last one, map a page? */
static bool x86_pmu_may_map(int mode, unsigned level, uint64_t entry)
{
    if (level == 0) {
        return true;
    }
    if (!(entry & PG_PSE_MASK)) {
        return false;
    }
    return level == 1 ? mode & (PG_MODE_PAE | PG_MODE_PSE)
                      : level == 2 && (mode & PG_MODE_LMA);
}

/* The address in @entry.  @large: it maps a page of more than 4 KiB. */
static uint64_t x86_pmu_address(int mode, uint64_t entry, bool large)
{
    uint64_t address = entry & PG_ADDRESS_MASK;

    if (!(mode & PG_MODE_PAE) && large) {
        /* Bits 20 to 13 are bits 39 to 32 of the address. */
        address |= (entry & 0x1fe000) << (32 - 13);
    }
    return address;
}

static bool x86_pmu_walk(X86PMUWalk *walk, const X86PMUTables *tables,
                         uint64_t addr, X86PMUPage *page)
{
    bool nested = x86_pmu_is_nested(walk->paging, tables);
    bool pae = tables->mode & PG_MODE_PAE;
    unsigned index_bits = pae ? 9 : 10, size = pae ? 8 : 4;
    unsigned level = x86_pmu_num_levels(tables->mode);
    uint64_t table = tables->root & (level == 2 ? 0xfffff000 :
                                     level == 3 ? 0xffffffe0
                                                : PG_ADDRESS_MASK);

    if (!(tables->mode & PG_MODE_PG)) {
        *page = (X86PMUPage) { .phys = addr, .bits = TARGET_PAGE_BITS };
        return !nested || x86_pmu_walk_nested(walk, page);
    }
    while (level-- > 0) {
        unsigned bits = TARGET_PAGE_BITS + level * index_bits;
        uint64_t entry, offset_mask = MAKE_64BIT_MASK(0, bits);

        if (!x86_pmu_read_entry(walk, tables, table +
                                extract64(addr, bits, index_bits) * size,
                                size, &entry) ||
            !(entry & PG_PRESENT_MASK)) {
            return false;
        }
        if (x86_pmu_may_map(tables->mode, level, entry)) {
            *page = (X86PMUPage) {
                .phys = (x86_pmu_address(tables->mode, entry, level) &
                         ~offset_mask) | (addr & offset_mask),
                .bits = bits, .global = entry & PG_GLOBAL_MASK,
            };
            return !nested || x86_pmu_walk_nested(walk, page);
        }
        table = x86_pmu_address(tables->mode, entry, false);
    }
    return false;
}

X86PMUPaging x86_pmu_paging(CPUX86State *env)
{
    return (X86PMUPaging) {
        .guest = { env->cr[3], get_pg_mode(env) },
        /* VMRUN has kept the mode bits that nested tables need. */
        .nested = { env->nested_cr3, env->nested_pg_mode | PG_MODE_PG },
        .is_nested = env->hflags2 & HF2_NPT_MASK,
        .is_long = env->hflags & HF_LMA_MASK,
        .has_global = env->cr[4] & CR4_PGE_MASK,
        .a20_mask = x86_get_a20_mask(env),
        .attrs = cpu_get_mem_attrs(env),
    };
}

PmuMapping x86_pmu_translate(void *opaque, uint64_t page)
{
    CPUX86State *env = opaque;
    const X86PMU *unit = env->pmu.unit;
    X86PMUPaging paging = unit->mappings == PMU_MAPPINGS_STALE_AFTER_BLOCK
                          ? unit->paging : x86_pmu_paging(env);
    uint64_t addr = page << TARGET_PAGE_BITS;
    PmuMapping mapping = { PMU_NO_PAGE, PMU_PAGE_4K };
    X86PMUWalk walk = { .env = env, .paging = &paging };
    X86PMUPage found;

    if (!paging.is_long) {
        addr = (uint32_t)addr;
    }
    RCU_READ_LOCK_GUARD();
    if (!x86_pmu_walk(&walk, &paging.guest, addr, &found)) {
        return mapping;
    }
    mapping.page = (found.phys & paging.a20_mask) >> TARGET_PAGE_BITS;
    while (mapping.size < PMU_PAGE_1G &&
           found.bits >= TARGET_PAGE_BITS +
                         PMU_PAGE_SIZE_BITS * (mapping.size + 1)) {
        mapping.size++;
    }
    mapping.global = found.global && paging.has_global && paging.is_long;
    return mapping;
}
