/*
 * Intel Data Streaming Accelerator: checks of a WQ's configuration, and its
 * occupancy interrupt.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "dsa.h"

static DsaInterrupt occupancy_interrupt(const uint32_t *cfg)
{
    return (DsaInterrupt) {
        .ims = FIELD_EX32(cfg[4], WQCFG4, INT_IMS),
        .handle = FIELD_EX32(cfg[4], WQCFG4, INT_HANDLE),
    };
}

/* Whether OPCFG allows operations that the device does not have */
static bool has_foreign_operations(const IntelDsa *s, const uint32_t *cfg)
{
    for (unsigned i = 0; i < 8; i++) {
        uint32_t opcap = s->regs[R_OPCAP + i / 2] >> i % 2 * 32;

        if (cfg[DSA_WQCFG_OPCFG / 4 + i] & ~opcap) {
            return true;
        }
    }
    return false;
}

/* The checks of 5.2, in the order of their error codes */
unsigned dsa_wq_check(const IntelDsa *s, unsigned wq)
{
    const uint32_t *cfg = s->wqcfg[wq];
    uint32_t batch = FIELD_EX32(cfg[3], WQCFG3, MAX_BATCH_SHIFT);
    bool dedicated = dsa_wq_dedicated(s, wq);
    bool pasid = dsa_wq_has_pasid(s, wq);

    if (!FIELD_EX32(cfg[0], WQCFG0, SIZE)) {
        return DSA_CMD_WQ_SIZE;
    } else if (!FIELD_EX32(cfg[2], WQCFG2, PRIORITY)) {
        return DSA_CMD_WQ_PRIORITY;
    } else if (!dedicated && !s->pasid) {
        return DSA_CMD_WQ_MODE;
    } else if (FIELD_EX32(cfg[2], WQCFG2, BOF)) {
        return DSA_CMD_WQ_BOF;
    } else if ((!dedicated && !pasid) || (pasid && !dsa_pasid_enabled(s))) {
        return DSA_CMD_WQ_PASID;
    } else if (!batch || batch > DSA_MAX_BATCH_SHIFT) {
        return DSA_CMD_WQ_BATCH;
    } else if (FIELD_EX32(cfg[3], WQCFG3, MAX_XFER_SHIFT) >
               DSA_MAX_XFER_SHIFT) {
        return DSA_CMD_WQ_XFER;
    } else if (dedicated && pasid && FIELD_EX32(cfg[2], WQCFG2, PRIV) &&
               !dsa_priv_mode_enabled(s)) {
        return DSA_CMD_WQ_PRIV;
    } else if (!dsa_interrupt_exists(s, occupancy_interrupt(cfg))) {
        return DSA_CMD_WQ_OCCUPANCY;
    } else if (has_foreign_operations(s, cfg)) {
        return DSA_CMD_WQ_OPCFG;
    }
    return DSA_CMD_OK;
}

void dsa_wq_check_occupancy(IntelDsa *s, unsigned wq)
{
    uint32_t *cfg = s->wqcfg[wq];
    DsaInterrupt interrupt = occupancy_interrupt(cfg);

    if (!dsa_wq_enabled(s, wq) || !FIELD_EX32(cfg[5], WQCFG5, INT_ENABLE) ||
        FIELD_EX32(cfg[6], WQCFG6, INT_GENERATED) ||
        s->queue[wq].count > FIELD_EX32(cfg[5], WQCFG5, LIMIT) ||
        !dsa_interrupt_exists(s, interrupt)) {
        return;
    }
    cfg[6] |= R_WQCFG6_INT_GENERATED_MASK;
    if (!interrupt.ims && interrupt.handle == 0) {
        dsa_raise(s, DSA_INTCAUSE_OCCUPANCY);
    } else {
        dsa_interrupt_send(s, interrupt, false);
    }
}
