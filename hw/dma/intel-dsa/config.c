/*
 * Intel Data Streaming Accelerator: registers and configuration tables.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qemu/log.h"
#include "qemu/units.h"
#include "dsa.h"
#include "trace.h"

/* Bits of WQCFG that software can write, by dword */
static const uint32_t wqcfg_writable[DSA_WQCFG_SIZE / 4] = {
    [0] = R_WQCFG0_SIZE_MASK,
    [1] = R_WQCFG1_THRESHOLD_MASK,
    [2] = R_WQCFG2_DEDICATED_MASK | R_WQCFG2_BOF_MASK |
          R_WQCFG2_PRIORITY_MASK | R_WQCFG2_PASID_MASK |
          R_WQCFG2_PASID_EN_MASK | R_WQCFG2_PRIV_MASK,
    [3] = R_WQCFG3_MAX_XFER_SHIFT_MASK | R_WQCFG3_MAX_BATCH_SHIFT_MASK,
    [4] = R_WQCFG4_INT_HANDLE_MASK | R_WQCFG4_INT_IMS_MASK,
    [5] = R_WQCFG5_LIMIT_MASK | R_WQCFG5_INT_ENABLE_MASK,
    [DSA_WQCFG_OPCFG / 4 ... DSA_WQCFG_SIZE / 4 - 1] = UINT32_MAX,
};

/* Bits of GRPCFG that software can write, by 64-bit register */
static uint64_t grpcfg_writable(const IntelDsa *s, unsigned reg)
{
    switch (reg * 8) {
    case DSA_GRPCFG_WQS:
        return MAKE_64BIT_MASK(0, s->num_wqs);
    case DSA_GRPCFG_ENGINES:
        return MAKE_64BIT_MASK(0, s->num_engines);
    case DSA_GRPCFG_FLAGS:
        return R_GRPFLAGS_TC_A_MASK | R_GRPFLAGS_TC_B_MASK;
    default:
        return 0;
    }
}

/* A register below the tables */
typedef struct DsaRegister {
    const char *name;
    uint32_t addr;
    uint64_t writable;          /* bits that a write changes */
    uint64_t w1c;               /* bits that writing 1 clears */
    /* Called instead of changing bits; those not written are 0 in @value. */
    void (*write)(IntelDsa *s, uint64_t value);
    /* It can only be written while the device is disabled. */
    bool locked;
    bool only_with_event_log;
} DsaRegister;

static const DsaRegister registers[] = {
    { "VERSION", A_VERSION },
    { "GENCAP", A_GENCAP },
    { "WQCAP", A_WQCAP },
    { "GRPCAP", A_GRPCAP },
    { "ENGCAP", A_ENGCAP },
    { "OPCAP0", A_OPCAP },
    { "OPCAP1", A_OPCAP + 0x08 },
    { "OPCAP2", A_OPCAP + 0x10 },
    { "OPCAP3", A_OPCAP + 0x18 },
    { "OFFSETS0", A_OFFSETS0 },
    { "OFFSETS1", A_OFFSETS1 },
    { "GENCFG", A_GENCFG, .writable = R_GENCFG_USER_INT_MASK |
      R_GENCFG_EVL_EN_MASK, .locked = true },
    { "GENCTRL", A_GENCTRL, .writable = R_GENCTRL_SOFTERR_INT_MASK |
      R_GENCTRL_HALT_INT_MASK | R_GENCTRL_EVL_INT_MASK },
    { "GENSTS", A_GENSTS },
    { "INTCAUSE", A_INTCAUSE, .w1c = UINT32_MAX },
    { "CMD", A_CMD, .write = dsa_command_write },
    { "CMDSTS", A_CMDSTS },
    { "CMDCAP", A_CMDCAP },
    { "SWERR0", A_SWERR0,
      .w1c = R_SWERR0_VALID_MASK | R_SWERR0_OVERFLOW_MASK },
    { "SWERR1", A_SWERR1 },
    { "SWERR2", A_SWERR2 },
    { "SWERR3", A_SWERR3 },
    { "EVLCFG0", A_EVLCFG0, .writable = DSA_EVL_BASE_MASK |
      R_EVLCFG0_PASID_EN_MASK | R_EVLCFG0_PRIV_MASK,
      .locked = true, .only_with_event_log = true },
    { "EVLCFG1", A_EVLCFG1, .writable = R_EVLCFG1_SIZE_MASK |
      R_EVLCFG1_PASID_MASK, .locked = true, .only_with_event_log = true },
    { "EVLSTATUS", A_EVLSTATUS, .writable = R_EVLSTATUS_HEAD_MASK,
      .w1c = R_EVLSTATUS_INT_PENDING_MASK, .only_with_event_log = true },
};

static const DsaRegister *find_register(hwaddr addr)
{
    for (unsigned i = 0; i < ARRAY_SIZE(registers); i++) {
        if (registers[i].addr == addr) {
            return &registers[i];
        }
    }
    return NULL;
}

/*
 * Set the capability registers: an OPCAP bit for each operation, sizes and
 * masks by the properties.
 */
static void set_capabilities(IntelDsa *s)
{
    uint64_t cap = 0;

    s->regs[R_VERSION] = 0x100;
    cap = FIELD_DP64(cap, GENCAP, OVERLAP, 1);
    cap = FIELD_DP64(cap, GENCAP, CACHE_MEM, 1);
    cap = FIELD_DP64(cap, GENCAP, CMD_CAP, 1);
    cap = FIELD_DP64(cap, GENCAP, EVL, s->event_log);
    cap = FIELD_DP64(cap, GENCAP, MAX_XFER_SHIFT, DSA_MAX_XFER_SHIFT);
    cap = FIELD_DP64(cap, GENCAP, MAX_BATCH_SHIFT, DSA_MAX_BATCH_SHIFT);
    cap = FIELD_DP64(cap, GENCAP, IMS_SIZE, s->ims_entries / DSA_IMS_UNIT);
    cap = FIELD_DP64(cap, GENCAP, EVL_OVERFLOW, s->event_log);
    s->regs[R_GENCAP] = FIELD_DP64(cap, GENCAP, CONFIG_EN, 1);

    cap = FIELD_DP64(0, WQCAP, TOTAL_SIZE, s->total_wq_size);
    cap = FIELD_DP64(cap, WQCAP, NUM_WQS, s->num_wqs);
    cap = FIELD_DP64(cap, WQCAP, WQCFG_SIZE, ctz32(DSA_WQCFG_SIZE) - 5);
    cap = FIELD_DP64(cap, WQCAP, SHARED, s->pasid);
    cap = FIELD_DP64(cap, WQCAP, DEDICATED, 1);
    cap = FIELD_DP64(cap, WQCAP, PRIORITY, 1);
    cap = FIELD_DP64(cap, WQCAP, OCCUPANCY, 1);
    cap = FIELD_DP64(cap, WQCAP, OCCUPANCY_INT, 1);
    s->regs[R_WQCAP] = FIELD_DP64(cap, WQCAP, OPCFG, 1);

    cap = FIELD_DP64(0, GRPCAP, NUM_GROUPS, s->num_groups);
    s->regs[R_GRPCAP] = FIELD_DP64(cap, GRPCAP, TOTAL_RDBUFS, 96);
    s->regs[R_ENGCAP] = s->num_engines;

    for (unsigned op = DSA_OP_NOOP; op < DSA_OPS; op++) {
        if (op <= DSA_OP_DUALCAST || op == DSA_OP_CACHE_FLUSH ||
            (op >= DSA_OP_CRC && op <= DSA_OP_DIF_UPDATE)) {
            s->regs[R_OPCAP + op / 64] |= 1ull << op % 64;
        }
    }
    s->regs[R_OFFSETS0] = DSA_GRPCFG_BASE / DSA_TABLE_UNIT |
                          DSA_WQCFG_BASE / DSA_TABLE_UNIT << 16 |
                          (uint64_t)DSA_MSIXPERM_BASE / DSA_TABLE_UNIT << 32;
    if (s->ims_entries) {
        s->regs[R_OFFSETS0] |= (uint64_t)DSA_IMS_BASE / DSA_TABLE_UNIT << 48;
    }
    s->regs[R_OFFSETS1] = DSA_PERFMON_BASE / DSA_TABLE_UNIT;
    /* The commands for interrupt handles are not among these. */
    s->regs[R_CMDCAP] = MAKE_64BIT_MASK(DSA_CMD_ENABLE_DEVICE,
                                        DSA_CMD_ABORT_PASID);
}

void dsa_wqcfg_reset(IntelDsa *s, unsigned wq)
{
    uint32_t *cfg = s->wqcfg[wq];

    memset(&cfg[1], 0, sizeof(s->wqcfg[wq]) - sizeof(cfg[0]));
    for (unsigned i = 0; i < 8; i++) {
        cfg[DSA_WQCFG_OPCFG / 4 + i] = s->regs[R_OPCAP + i / 2] >> i % 2 * 32;
    }
}

/* Table 9-3.  A reset by command keeps CMDSTS, SWERROR and EVLSTATUS. */
void dsa_config_reset(IntelDsa *s, bool by_command)
{
    uint64_t swerror[4], cmdsts = s->regs[R_CMDSTS];
    uint64_t evlstatus = s->regs[R_EVLSTATUS];

    memcpy(swerror, &s->regs[R_SWERR0], sizeof(swerror));
    memset(s->regs, 0, sizeof(s->regs));
    memset(s->grpcfg, 0, sizeof(s->grpcfg));
    memset(s->wqcfg, 0, sizeof(s->wqcfg));
    memset(s->msixperm, 0, sizeof(s->msixperm));
    set_capabilities(s);
    for (unsigned wq = 0; wq < s->num_wqs; wq++) {
        dsa_wqcfg_reset(s, wq);
    }
    dsa_ims_reset(s);
    if (by_command) {
        memcpy(&s->regs[R_SWERR0], swerror, sizeof(swerror));
        s->regs[R_CMDSTS] = cmdsts;
        s->regs[R_EVLSTATUS] = evlstatus;
    }
}

int dsa_group_of_wq(const IntelDsa *s, unsigned wq)
{
    for (unsigned i = 0; i < s->num_groups; i++) {
        if (s->grpcfg[i][DSA_GRPCFG_WQS / 8] & 1ull << wq) {
            return i;
        }
    }
    return -1;
}

int dsa_group_of_engine(const IntelDsa *s, unsigned engine)
{
    for (unsigned i = 0; i < s->num_groups; i++) {
        if (s->grpcfg[i][DSA_GRPCFG_ENGINES / 8] & 1ull << engine) {
            return i;
        }
    }
    return -1;
}

unsigned dsa_traffic_class(const IntelDsa *s, unsigned wq,
                           const uint8_t *desc, uint32_t flag)
{
    int group = dsa_group_of_wq(s, wq);
    uint64_t flags = group < 0 ? 0 : s->grpcfg[group][DSA_GRPCFG_FLAGS / 8];

    return dsa_desc_flags(desc) & flag ? FIELD_EX64(flags, GRPFLAGS, TC_B) :
                                         FIELD_EX64(flags, GRPFLAGS, TC_A);
}

/* The bits of a 64-bit register that an access of @size bytes covers */
static uint64_t part_mask(hwaddr addr, unsigned size)
{
    return MAKE_64BIT_MASK(addr % 8 * 8, size * 8);
}

static void write_register(IntelDsa *s, const DsaRegister *reg,
                           uint64_t value, uint64_t mask)
{
    uint64_t writable = reg->writable & mask;

    if ((reg->locked && dsa_state(s) != DSA_STATE_DISABLED) ||
        (reg->only_with_event_log && !s->event_log)) {
        qemu_log_mask(LOG_GUEST_ERROR, "%s: %s cannot be written now\n",
                      TYPE_INTEL_DSA, reg->name);
        return;
    }
    if (reg->addr == A_GENCFG && !s->event_log) {
        writable &= ~R_GENCFG_EVL_EN_MASK;
    }
    if (reg->write) {
        /* The command is in the low half; without it, nothing happens. */
        if (mask & UINT32_MAX) {
            reg->write(s, value & mask);
        }
        return;
    }
    s->regs[reg->addr / 8] = (s->regs[reg->addr / 8] & ~writable &
                              ~(value & mask & reg->w1c)) |
                             (value & writable);
}

/* Whether dword @reg of WQCFG cannot be written now (table 9-7) */
static bool wqcfg_is_locked(const IntelDsa *s, unsigned wq, unsigned reg)
{
    switch (reg) {
    case 0:
        return dsa_state(s) != DSA_STATE_DISABLED;
    case 1:
    case 5:
    case 6:
        return false;
    default:
        return dsa_wq_enabled(s, wq);
    }
}

static void write_wqcfg(IntelDsa *s, hwaddr offset, uint32_t value)
{
    unsigned wq = offset / DSA_WQCFG_SIZE;
    unsigned reg = offset % DSA_WQCFG_SIZE / 4;
    uint32_t mask = wqcfg_writable[reg];
    uint32_t *cfg = s->wqcfg[wq];

    if (wqcfg_is_locked(s, wq, reg)) {
        return;
    }
    if (reg == 5 && FIELD_EX32(cfg[5], WQCFG5, INT_ENABLE)) {
        mask &= ~R_WQCFG5_LIMIT_MASK;
    }
    if (reg == 6) {
        cfg[6] &= ~(value & R_WQCFG6_INT_GENERATED_MASK);
    }
    cfg[reg] = (cfg[reg] & ~mask) | (value & mask);
    dsa_wq_check_occupancy(s, wq);
}

static uint32_t read_wqcfg(const IntelDsa *s, hwaddr offset)
{
    unsigned wq = offset / DSA_WQCFG_SIZE;
    unsigned reg = offset % DSA_WQCFG_SIZE / 4;
    uint32_t value = s->wqcfg[wq][reg];

    if (reg == 6) {
        value = FIELD_DP32(value, WQCFG6, OCCUPANCY, s->queue[wq].count);
        value = FIELD_DP32(value, WQCFG6, STATE,
                           dsa_visible_wq_state(s, wq));
    }
    return value;
}

static bool in_table(hwaddr addr, hwaddr base, unsigned entries,
                     unsigned entry_size)
{
    return addr >= base && addr - base < entries * entry_size;
}

static bool in_grpcfg(const IntelDsa *s, hwaddr addr)
{
    return in_table(addr, DSA_GRPCFG_BASE, s->num_groups, DSA_GRPCFG_SIZE);
}

static bool in_wqcfg(const IntelDsa *s, hwaddr addr)
{
    return in_table(addr, DSA_WQCFG_BASE, s->num_wqs, DSA_WQCFG_SIZE);
}

static bool in_msixperm(const IntelDsa *s, hwaddr addr)
{
    return in_table(addr, DSA_MSIXPERM_BASE, s->num_wqs + 1,
                    DSA_MSIXPERM_SIZE);
}

static bool in_ims(const IntelDsa *s, hwaddr addr)
{
    return in_table(addr, DSA_IMS_BASE, s->ims_entries, DSA_IMS_ENTRY_SIZE);
}

static bool in_perfmon(hwaddr addr)
{
    return addr >= DSA_PERFMON_BASE &&
           addr < DSA_PERFMON_BASE + DSA_PERFMON_SIZE;
}

/* The 64-bit word that holds @addr; 0 where there is none. */
static uint64_t read_word(IntelDsa *s, hwaddr addr)
{
    hwaddr offset;

    addr &= ~7ull;
    if (addr == A_GENSTS) {
        return FIELD_DP64(s->regs[R_GENSTS], GENSTS, STATE,
                          dsa_visible_state(s));
    } else if (find_register(addr)) {
        return s->regs[addr / 8];
    } else if (in_grpcfg(s, addr)) {
        offset = addr - DSA_GRPCFG_BASE;
        return s->grpcfg[offset / DSA_GRPCFG_SIZE]
                        [offset % DSA_GRPCFG_SIZE / 8];
    } else if (in_wqcfg(s, addr)) {
        offset = addr - DSA_WQCFG_BASE;
        return read_wqcfg(s, offset) |
               (uint64_t)read_wqcfg(s, offset + 4) << 32;
    } else if (in_msixperm(s, addr)) {
        return s->msixperm[(addr - DSA_MSIXPERM_BASE) / DSA_MSIXPERM_SIZE];
    } else if (in_ims(s, addr)) {
        offset = addr - DSA_IMS_BASE;
        return dsa_ims_read(s, offset) |
               (uint64_t)dsa_ims_read(s, offset + 4) << 32;
    }
    return 0;
}

static uint64_t dsa_mmio_read(void *opaque, hwaddr addr, unsigned size)
{
    IntelDsa *s = opaque;
    uint64_t value;

    if (!dsa_enter(s)) {
        return MAKE_64BIT_MASK(0, size * 8);
    }
    if (in_perfmon(addr)) {
        value = dsa_perfmon_read(s, addr - DSA_PERFMON_BASE, size);
    } else {
        value = extract64(read_word(s, addr), addr % 8 * 8, size * 8);
    }
    trace_dsa_mmio_read(addr, size, value);
    dsa_leave(s);
    return value;
}

static void write_mmio(IntelDsa *s, hwaddr addr, uint64_t value, unsigned size)
{
    const DsaRegister *reg = find_register(addr & ~7ull);
    uint64_t mask = part_mask(addr, size);
    uint64_t word = value << addr % 8 * 8;
    hwaddr offset;

    trace_dsa_mmio_write(addr, size, value);
    if (reg) {
        write_register(s, reg, word, mask);
    } else if (in_perfmon(addr)) {
        dsa_perfmon_write(s, addr - DSA_PERFMON_BASE, value, size);
    } else if (in_grpcfg(s, addr)) {
        offset = addr - DSA_GRPCFG_BASE;
        if (dsa_state(s) == DSA_STATE_DISABLED) {
            uint64_t *entry = &s->grpcfg[offset / DSA_GRPCFG_SIZE]
                                        [offset % DSA_GRPCFG_SIZE / 8];

            mask &= grpcfg_writable(s, offset % DSA_GRPCFG_SIZE / 8);
            *entry = (*entry & ~mask) | (word & mask);
        }
    } else if (in_wqcfg(s, addr)) {
        offset = addr - DSA_WQCFG_BASE;
        write_wqcfg(s, offset, value);
        if (size == 8) {
            write_wqcfg(s, offset + 4, value >> 32);
        }
    } else if (in_msixperm(s, addr) && addr % 8 == 0) {
        s->msixperm[(addr - DSA_MSIXPERM_BASE) / DSA_MSIXPERM_SIZE] =
            value & (R_MSIXPERM_IGNORE_MASK | R_MSIXPERM_PASID_EN_MASK |
                     R_MSIXPERM_PASID_MASK);
    } else if (in_ims(s, addr)) {
        dsa_ims_write(s, addr - DSA_IMS_BASE, value);
        if (size == 8) {
            dsa_ims_write(s, addr - DSA_IMS_BASE + 4, value >> 32);
        }
    } else {
        qemu_log_mask(LOG_GUEST_ERROR, "%s: no register at 0x%" HWADDR_PRIx
                      "\n", TYPE_INTEL_DSA, addr);
    }
}

static void dsa_mmio_write(void *opaque, hwaddr addr, uint64_t value,
                           unsigned size)
{
    IntelDsa *s = opaque;

    if (dsa_enter(s)) {
        write_mmio(s, addr, value, size);
        dsa_leave(s);
    }
}

const MemoryRegionOps dsa_mmio_ops = {
    .read = dsa_mmio_read,
    .write = dsa_mmio_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid = { .min_access_size = 4, .max_access_size = 8 },
    .impl = { .min_access_size = 4, .max_access_size = 8 },
};
