/*
 * RDMSR, WRMSR and RESET by a register map.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>
#include <string.h>

#include "tcg/pmu/perfmon/perfmon-msr.h"
#include "tcg/pmu/perfmon/register-map.h"

void perfmon_msr_prepare(Perfmon *pmu)
{
    const PerfmonConfig *config = &pmu->config;

    pmu->num_present[PERFMON_PRESENT] = UINT8_MAX;
    pmu->num_present[PERFMON_PRESENT_GP] = config->num_gp;
    pmu->mask[PERFMON_MASK_ALL] = UINT64_MAX;
    pmu->mask[PERFMON_MASK_EAX] = UINT32_MAX;
    pmu->mask[PERFMON_MASK_COUNTER] = (1ull << config->counter_width) - 1;
    pmu->mask[PERFMON_MASK_GP] = PERF_GLOBAL_GP(config->num_gp) - 1;
    if (pmu->map->prepare) {
        pmu->map->prepare(pmu);
    }
}

/* Register @index of @row. */
static uint64_t *stored(Perfmon *pmu, const PerfmonMsr *row, unsigned index)
{
    return (uint64_t *)((char *)pmu + row->stored) + index;
}

static uint64_t stored_value(const Perfmon *pmu, const PerfmonMsr *row,
                             unsigned index)
{
    return ((const uint64_t *)((const char *)pmu + row->stored))[index];
}

void perfmon_msr_reset(Perfmon *pmu)
{
    for (unsigned i = 0; i < pmu->map->num_rows; i++) {
        const PerfmonMsr *row = &pmu->map->rows[i];

        for (unsigned j = 0; row->stored != PERFMON_NOT_STORED &&
                             j < row->count; j++) {
            *stored(pmu, row, j) = pmu->mask[row->reset];
        }
    }
    memset(pmu->metrics, 0, sizeof(pmu->metrics));
}

/* Does register @index of @row exist in this unit? */
static bool present(const Perfmon *pmu, const PerfmonMsr *row, unsigned index)
{
    return index < pmu->num_present[row->present];
}

static bool row_plausible(const Perfmon *pmu, const PerfmonMsr *row)
{
    for (unsigned i = 0; row->stored != PERFMON_NOT_STORED &&
                         i < row->count; i++) {
        if (stored_value(pmu, row, i) & ~pmu->mask[row->holds]) {
            return false;
        }
    }
    return true;
}

bool perfmon_msr_plausible(const Perfmon *pmu)
{
    for (unsigned i = 0; i < pmu->map->num_rows; i++) {
        if (!row_plausible(pmu, &pmu->map->rows[i])) {
            return false;
        }
    }
    return true;
}

/* The index in @row of the register at @msr; @row->count if there is none. */
static unsigned index_in_row(const PerfmonMsr *row, uint32_t msr)
{
    uint32_t offset = msr - row->first;

    if (!row->step) {
        return MIN(offset, row->count);
    }
    return offset % row->step ? row->count : MIN(offset / row->step,
                                                 row->count);
}

/*
 * The row that has @msr, and the register's index in it; NULL if @msr is not
 * this unit's.
 */
static const PerfmonMsr *find_row(const Perfmon *pmu, uint32_t msr,
                                  unsigned *index)
{
    const PerfmonMsr *end = pmu->map->rows + pmu->map->num_rows;

    for (const PerfmonMsr *row = pmu->map->rows; row < end; row++) {
        *index = index_in_row(row, msr);
        if (*index < row->count) {
            return row->uncore && pmu->uncore ? NULL : row;
        }
    }
    return NULL;
}

PerfmonResult perfmon_rdmsr(const Perfmon *pmu, uint32_t msr, uint64_t *value)
{
    unsigned index;
    const PerfmonMsr *row = find_row(pmu, msr, &index);

    if (!row) {
        return PERFMON_NOT_OURS;
    }
    if (!present(pmu, row, index)) {
        return PERFMON_GP;
    }
    *value = row->reads_zero ? 0 :
             row->read ? row->read(pmu) : stored_value(pmu, row, index);
    return PERFMON_OK;
}

PerfmonResult perfmon_wrmsr_check(const Perfmon *pmu, uint32_t msr,
                                  uint64_t value)
{
    unsigned index;
    const PerfmonMsr *row = find_row(pmu, msr, &index);

    if (!row) {
        return PERFMON_NOT_OURS;
    }
    if (!present(pmu, row, index) ||
        row->write == PERFMON_WRITE_REFUSED ||
        value & ~pmu->mask[row->writable]) {
        return PERFMON_GP;
    }
    return PERFMON_OK;
}

/* @reg, which holds the bits in @mask, after a write of @value. */
static uint64_t combine(uint64_t reg, PerfmonWrite how, uint64_t mask,
                        uint64_t value)
{
    switch (how) {
    case PERFMON_WRITE_STORE:
        return value & mask;
    case PERFMON_WRITE_SIGN_EXTEND:
        return (int32_t)value & mask;
    case PERFMON_WRITE_CLEAR:
        return reg & ~value;
    case PERFMON_WRITE_SET:
        return reg | (value & mask);
    default:
        return reg;
    }
}

void perfmon_wrmsr(Perfmon *pmu, uint32_t msr, uint64_t value)
{
    unsigned index;
    const PerfmonMsr *row = find_row(pmu, msr, &index);

    if (row->stored != PERFMON_NOT_STORED) {
        uint64_t *reg = stored(pmu, row, index);

        *reg = combine(*reg, row->write, pmu->mask[row->holds], value);
    }
    if (row->written) {
        row->written(pmu, index, value);
    }
}

bool perfmon_msr_selects(const Perfmon *pmu, uint32_t msr)
{
    unsigned index;
    const PerfmonMsr *row = find_row(pmu, msr, &index);

    return row && (row->stored == offsetof(Perfmon, evtsel) ||
                   row->stored == offsetof(Perfmon, cesr));
}
