/*
 * Intel Data Streaming Accelerator: the command register.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A command that has to wait for descriptors is the one in s->command until
 * dsa_command_check() finds that they are done.
 */

#include "qemu/osdep.h"
#include "qemu/log.h"
#include "dsa.h"
#include "trace.h"

static void finish(IntelDsa *s, uint32_t command, unsigned error)
{
    unsigned code = FIELD_EX32(command, CMD, CODE);

    trace_dsa_command_done(code, error);
    s->command = 0;
    s->regs[R_CMDSTS] = error;
    if (command & R_CMD_INT_MASK) {
        dsa_raise(s, DSA_INTCAUSE_CMD, true);
    }
}

static bool is_idle(const IntelDsa *s, uint32_t wqs)
{
    for (unsigned wq = 0; wq < s->num_wqs; wq++) {
        if (wqs & 1u << wq &&
            (s->queue[wq].count || s->queue[wq].outstanding)) {
            return false;
        }
    }
    return true;
}

static uint32_t all_wqs(const IntelDsa *s)
{
    return MAKE_64BIT_MASK(0, s->num_wqs);
}

static void abort_wqs(IntelDsa *s, uint32_t wqs)
{
    dsa_perfmon_sync(s);
    for (unsigned wq = 0; wq < s->num_wqs; wq++) {
        if (wqs & 1u << wq) {
            dsa_engines_abort(s, wq);
            dsa_queue_clear(s, wq);
        }
    }
    dsa_engines_kick(s);
}

static void disable_wqs(IntelDsa *s, uint32_t wqs)
{
    dsa_perfmon_sync(s);
    for (unsigned wq = 0; wq < s->num_wqs; wq++) {
        if (wqs & 1u << wq) {
            dsa_wq_set_state(s, wq, false);
            s->queue[wq].disabling = false;
        }
    }
}

/* Take no more descriptors for these, which are about to be disabled. */
static void stop_wqs(IntelDsa *s, uint32_t wqs)
{
    for (unsigned wq = 0; wq < s->num_wqs; wq++) {
        if (wqs & 1u << wq && dsa_wq_enabled(s, wq)) {
            s->queue[wq].disabling = true;
        }
    }
}

static void set_device_state(IntelDsa *s, unsigned state)
{
    s->regs[R_GENSTS] = FIELD_DP64(s->regs[R_GENSTS], GENSTS, STATE, state);
}

void dsa_command_check(IntelDsa *s)
{
    uint32_t command = s->command;

    if (!command || !is_idle(s, s->command_wqs)) {
        return;
    }
    switch (FIELD_EX32(command, CMD, CODE)) {
    case DSA_CMD_DISABLE_DEVICE:
        disable_wqs(s, s->command_wqs);
        set_device_state(s, DSA_STATE_DISABLED);
        break;
    case DSA_CMD_DISABLE_WQ:
        disable_wqs(s, s->command_wqs);
        break;
    default:
        break;
    }
    finish(s, command, DSA_CMD_OK);
}

/* Wait for descriptors of these WQs, if there are any. */
static void wait_for(IntelDsa *s, uint32_t command, uint32_t wqs)
{
    s->command = command;
    s->command_wqs = wqs;
    s->regs[R_CMDSTS] = R_CMDSTS_ACTIVE_MASK;
    dsa_command_check(s);
}

/* Each WQ and each engine is in one group at most; one with WQs has engines. */
static unsigned check_groups(const IntelDsa *s)
{
    uint64_t wqs = 0, engines = 0;

    for (unsigned i = 0; i < s->num_groups; i++) {
        uint64_t w = s->grpcfg[i][DSA_GRPCFG_WQS / 8];
        uint64_t e = s->grpcfg[i][DSA_GRPCFG_ENGINES / 8];

        if (w && !e) {
            return DSA_CMD_GRP_INCOMPLETE;
        } else if (w & wqs) {
            return DSA_CMD_GRP_WQ;
        } else if (e & engines) {
            return DSA_CMD_GRP_ENGINE;
        }
        wqs |= w;
        engines |= e;
    }
    return DSA_CMD_OK;
}

static unsigned enable_device(IntelDsa *s)
{
    uint32_t total = 0;
    unsigned error;

    if (dsa_enabled(s)) {
        return DSA_CMD_DEV_NOT_DISABLED;
    } else if (!(pci_get_word(s->parent_obj.config + PCI_COMMAND) &
                 PCI_COMMAND_MASTER)) {
        return DSA_CMD_NO_BUS_MASTER;
    }
    for (unsigned wq = 0; wq < s->num_wqs; wq++) {
        total += FIELD_EX32(s->wqcfg[wq][0], WQCFG0, SIZE);
    }
    if (total > s->total_wq_size) {
        return DSA_CMD_WQ_SIZE_SUM;
    }
    error = check_groups(s);
    if (error == DSA_CMD_OK) {
        set_device_state(s, DSA_STATE_ENABLED);
    }
    return error;
}

static unsigned enable_wq(IntelDsa *s, uint32_t wq)
{
    const uint32_t *cfg;

    if (wq >= s->num_wqs) {
        return DSA_CMD_BAD_WQ;
    }
    cfg = s->wqcfg[wq];
    if (!dsa_enabled(s)) {
        return DSA_CMD_DEV_NOT_ENABLED;
    } else if (dsa_wq_enabled(s, wq)) {
        return DSA_CMD_WQ_NOT_DISABLED;
    } else if (!FIELD_EX32(cfg[0], WQCFG0, SIZE)) {
        return DSA_CMD_WQ_SIZE;
    } else if (!FIELD_EX32(cfg[2], WQCFG2, PRIORITY)) {
        return DSA_CMD_WQ_PRIORITY;
    } else if (!FIELD_EX32(cfg[2], WQCFG2, DEDICATED)) {
        return DSA_CMD_WQ_MODE;
    } else if (FIELD_EX32(cfg[2], WQCFG2, BOF)) {
        return DSA_CMD_WQ_BOF;
    } else if (FIELD_EX32(cfg[2], WQCFG2, PASID_EN)) {
        return DSA_CMD_WQ_PASID;
    } else if (FIELD_EX32(cfg[3], WQCFG3, MAX_BATCH_SHIFT) >
               DSA_MAX_BATCH_SHIFT) {
        return DSA_CMD_WQ_BATCH;
    } else if (FIELD_EX32(cfg[3], WQCFG3, MAX_XFER_SHIFT) >
               DSA_MAX_XFER_SHIFT) {
        return DSA_CMD_WQ_XFER;
    }
    dsa_perfmon_sync(s);
    dsa_wq_set_state(s, wq, true);
    return DSA_CMD_OK;
}

/* The WQs that an operand names: a mask of 16, and which 16. */
static bool parse_wqs(const IntelDsa *s, uint32_t operand, uint32_t *wqs)
{
    *wqs = operand & 0xffff;
    return operand >> 16 == 0 && *wqs && !(*wqs & ~all_wqs(s));
}

/* Commands about some WQs.  Resetting clears their configuration as well. */
static void command_wqs(IntelDsa *s, uint32_t command)
{
    unsigned code = FIELD_EX32(command, CMD, CODE);
    uint32_t wqs;

    if (!parse_wqs(s, FIELD_EX32(command, CMD, OPERAND), &wqs)) {
        finish(s, command, DSA_CMD_BAD_WQ);
        return;
    } else if (!dsa_enabled(s)) {
        finish(s, command, DSA_CMD_WQ_DEV_NOT_ENABLED);
        return;
    }
    switch (code) {
    case DSA_CMD_ABORT_WQ:
        abort_wqs(s, wqs);
        finish(s, command, DSA_CMD_OK);
        break;
    case DSA_CMD_RESET_WQ:
        abort_wqs(s, wqs);
        disable_wqs(s, wqs);
        for (unsigned wq = 0; wq < s->num_wqs; wq++) {
            if (wqs & 1u << wq) {
                /* The size is what the device was enabled with. */
                memset(&s->wqcfg[wq][1], 0,
                       sizeof(s->wqcfg[wq]) - sizeof(s->wqcfg[wq][0]));
            }
        }
        finish(s, command, DSA_CMD_OK);
        break;
    case DSA_CMD_DISABLE_WQ:
        stop_wqs(s, wqs);
        /* fall through */
    default:
        wait_for(s, command, wqs);
        break;
    }
}

static void reset_device(IntelDsa *s)
{
    uint64_t cause = s->regs[R_INTCAUSE];

    abort_wqs(s, all_wqs(s));
    disable_wqs(s, all_wqs(s));
    dsa_config_reset(s);
    s->regs[R_INTCAUSE] = cause;
}

void dsa_command_write(IntelDsa *s, uint64_t value)
{
    uint32_t command = value;
    unsigned code = FIELD_EX32(command, CMD, CODE);
    uint32_t operand = FIELD_EX32(command, CMD, OPERAND);

    trace_dsa_command(code, operand);
    if (s->command) {
        qemu_log_mask(LOG_GUEST_ERROR, "%s: command %u while one is active\n",
                      TYPE_INTEL_DSA, code);
        return;
    }
    switch (code) {
    case DSA_CMD_ENABLE_DEVICE:
        finish(s, command, enable_device(s));
        break;
    case DSA_CMD_DISABLE_DEVICE:
        if (!dsa_enabled(s)) {
            finish(s, command, DSA_CMD_DISABLE_NOT_ENABLED);
            break;
        }
        stop_wqs(s, all_wqs(s));
        wait_for(s, command, all_wqs(s));
        break;
    case DSA_CMD_DRAIN_ALL:
        wait_for(s, command, all_wqs(s));
        break;
    case DSA_CMD_ABORT_ALL:
        abort_wqs(s, all_wqs(s));
        finish(s, command, DSA_CMD_OK);
        break;
    case DSA_CMD_RESET_DEVICE:
        reset_device(s);
        finish(s, command, DSA_CMD_OK);
        break;
    case DSA_CMD_ENABLE_WQ:
        finish(s, command, enable_wq(s, operand));
        break;
    case DSA_CMD_DISABLE_WQ:
    case DSA_CMD_DRAIN_WQ:
    case DSA_CMD_ABORT_WQ:
    case DSA_CMD_RESET_WQ:
        command_wqs(s, command);
        break;
    default:
        finish(s, command, DSA_CMD_INVALID);
        break;
    }
}
