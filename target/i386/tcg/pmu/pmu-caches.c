/*
 * The caches behind a PMU: what CPUID says of them, and who shares the L3.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qemu/units.h"
#include "qapi/error.h"
#include "hw/boards.h"
#include "hw/i386/topology.h"
#include "hw/qdev-properties.h"
#include "pmu-internal.h"

#define LINE_BYTES      64

/*
 * Leaf 80000006H, ECX[15:12]: the L2's associativity has no code, see leaf 4.
 */
#define SEE_LEAF_4      7

/*
 * What leaf 4 says of @cache, as on these cores.  No cache is inclusive: a line
 * that leaves the L3 stays in the others, in the model as on silicon.
 */
static CPUCacheInfo x86_pmu_cache_info(const PmuCacheGeometry *cache,
                                       enum CacheType type, int level,
                                       CpuTopologyLevel share_level)
{
    uint32_t sets = cache->size / cache->ways / LINE_BYTES;

    return (CPUCacheInfo) {
        .type = type,
        .level = level,
        .size = cache->size,
        .line_size = LINE_BYTES,
        .associativity = cache->ways,
        .partitions = 1,
        .sets = sets,
        .lines_per_tag = 1,
        .self_init = true,
        .complex_indexing = level == 3 || !is_power_of_2(sets),
        .share_level = share_level,
    };
}

/* Does leaf 4 show the model's caches, as the user did not choose others? */
static bool x86_pmu_shows_caches(X86CPU *cpu)
{
    X86PMU *unit = cpu->env.pmu.unit;

    return unit && !cpu->cache_info_passthrough &&
           cpu->env.cache_info_cpuid4.l1d_cache == &unit->l1d_info;
}

void x86_pmu_describe_caches(X86CPU *cpu)
{
    X86PMU *unit = cpu->env.pmu.unit;

    /* QEMU's CPU models say more of older cores' caches than ours knows. */
    if (!unit || unit->perfmon.config.core >= PMU_CORES_MEASURED ||
        qdev_find_global_prop(OBJECT(cpu), "legacy-cache")) {
        return;
    }
    unit->l1d_info = x86_pmu_cache_info(&unit->uarch.l1d, DATA_CACHE, 1,
                                        CPU_TOPOLOGY_LEVEL_CORE);
    unit->l1i_info = x86_pmu_cache_info(&unit->uarch.l1i, INSTRUCTION_CACHE,
                                        1, CPU_TOPOLOGY_LEVEL_CORE);
    unit->l2_info = x86_pmu_cache_info(&unit->uarch.l2, UNIFIED_CACHE, 2,
                                       CPU_TOPOLOGY_LEVEL_CORE);
    unit->l3_info = x86_pmu_cache_info(&unit->uarch.l3, UNIFIED_CACHE, 3,
                                       CPU_TOPOLOGY_LEVEL_DIE);
    /* Leaf 2 refers to leaf 4 for a size that has no descriptor. */
    cpu->env.cache_info_cpuid2 = cpu->env.cache_info_cpuid4 = (CPUCaches) {
        .l1d_cache = &unit->l1d_info,
        .l1i_cache = &unit->l1i_info,
        .l2_cache = &unit->l2_info,
        .l3_cache = &unit->l3_info,
    };
}

/* SDM vol. 2A, CPUID: leaf 80000005H is reserved, 80000006H has the L2. */
void x86_pmu_cpuid_caches(X86CPU *cpu, uint32_t index, uint32_t *eax,
                          uint32_t *ebx, uint32_t *ecx, uint32_t *edx)
{
    static const uint8_t codes[] = {
        [1] = 1, [2] = 2, [4] = 4, [8] = 6, [16] = 8,
    };
    const PmuCacheGeometry *l2;
    uint32_t code;

    if (!x86_pmu_shows_caches(cpu)) {
        return;
    }
    *eax = *ebx = *ecx = *edx = 0;
    if (index == 0x80000006) {
        l2 = &cpu->env.pmu.unit->uarch.l2;
        code = l2->ways < ARRAY_SIZE(codes) ? codes[l2->ways] : 0;
        *ecx = LINE_BYTES | (code ? code : SEE_LEAF_4) << 12 |
               MIN(l2->size / KiB, UINT16_MAX) << 16;
    }
}

/* CPUID tells vCPUs for which this returns the same that they share an L3. */
static uint32_t x86_pmu_l3_domain(X86CPU *cpu)
{
    MachineState *ms = MACHINE(qdev_get_machine());
    X86CPUTopoInfo *topo = &cpu->env.topo_info;

    /* "-machine smp-cache" */
    switch (machine_get_cache_topo_level(ms, CACHE_LEVEL_AND_TYPE_L3)) {
    case CPU_TOPOLOGY_LEVEL_CORE:
        return cpu->apic_id >> apicid_core_offset(topo);
    case CPU_TOPOLOGY_LEVEL_MODULE:
        return cpu->apic_id >> apicid_module_offset(topo);
    case CPU_TOPOLOGY_LEVEL_SOCKET:
        return cpu->apic_id >> apicid_pkg_offset(topo);
    default:
        return cpu->apic_id >> apicid_die_offset(topo);
    }
}

/* The PMU of another vCPU with which @unit's vCPU shares its L3; NULL: none. */
static X86PMU *x86_pmu_l3_sharer(X86PMU *unit)
{
    CPUState *cs;

    CPU_FOREACH(cs) {
        X86PMU *other = cpu_env(cs)->pmu.unit;

        if (other && other != unit && other->l3 &&
            x86_pmu_l3_domain(other->cpu) == x86_pmu_l3_domain(unit->cpu)) {
            return other;
        }
    }
    return NULL;
}

bool x86_pmu_find_l3(X86PMU *unit, Error **errp)
{
    X86PMU *sharer = x86_pmu_l3_sharer(unit);
    const PmuCacheGeometry *own = &unit->uarch.l3;

    if (sharer && (sharer->uarch.l3.size != own->size ||
                   sharer->uarch.l3.ways != own->ways)) {
        error_setg(errp, "pmu-l3-size=%u and pmu-l3-ways=%u: this vCPU shares "
                   "its L3 with others, for which they are %u and %u",
                   own->size, own->ways, sharer->uarch.l3.size,
                   sharer->uarch.l3.ways);
        return false;
    }
    unit->l3 = sharer ? pmu_l3_ref(sharer->l3) : pmu_l3_new(&unit->uarch);
    if (!unit->l3) {
        error_setg(errp, "pmu-l3-size=%u: no memory to model it", own->size);
        return false;
    }
    return true;
}
