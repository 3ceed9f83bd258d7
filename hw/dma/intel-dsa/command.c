/*
 * Intel Data Streaming Accelerator: the command register.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * s->command holds a command that waits for descriptors, until
 * dsa_command_check() finds that they have completed.
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
        dsa_raise(s, DSA_INTCAUSE_CMD);
    }
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

/* Abort descriptors of @wqs, and send the WQs' occupancy interrupts. */
static void abort_and_notify_wqs(IntelDsa *s, uint32_t wqs)
{
    abort_wqs(s, wqs);
    for (unsigned wq = 0; wq < s->num_wqs; wq++) {
        if (wqs & 1u << wq) {
            dsa_wq_check_occupancy(s, wq);
        }
    }
}

static void disable_wqs(IntelDsa *s, uint32_t wqs)
{
    dsa_perfmon_sync(s);
    for (unsigned wq = 0; wq < s->num_wqs; wq++) {
        if (wqs & 1u << wq) {
            s->wqcfg[wq][6] = FIELD_DP32(s->wqcfg[wq][6], WQCFG6, STATE,
                                         DSA_WQ_DISABLED);
            s->queue[wq].disabling = false;
        }
    }
}

/* Accept no more descriptors for these WQs: a command will disable them. */
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

unsigned dsa_visible_state(const IntelDsa *s)
{
    return FIELD_EX32(s->command, CMD, CODE) == DSA_CMD_DISABLE_DEVICE ?
           DSA_STATE_DRAIN : dsa_state(s);
}

unsigned dsa_visible_wq_state(const IntelDsa *s, unsigned wq)
{
    return s->queue[wq].disabling ? DSA_WQ_DRAIN :
           FIELD_EX32(s->wqcfg[wq][6], WQCFG6, STATE);
}

static bool command_is_done(const IntelDsa *s)
{
    switch (FIELD_EX32(s->command, CMD, CODE)) {
    case DSA_CMD_DRAIN_PASID:
    case DSA_CMD_ABORT_PASID:
        return dsa_pasid_is_done(s, FIELD_EX32(s->command, CMD, OPERAND));
    default:
        return dsa_wqs_are_done(s, s->command_wqs);
    }
}

void dsa_command_check(IntelDsa *s)
{
    uint32_t command = s->command;

    if (!command || !command_is_done(s)) {
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

/* Let @command wait for descriptors, of @wqs or its PASID, if there are any. */
static void wait_for(IntelDsa *s, uint32_t command, uint32_t wqs)
{
    dsa_command_await(s);
    s->command = command;
    s->command_wqs = wqs;
    s->regs[R_CMDSTS] = R_CMDSTS_ACTIVE_MASK;
    dsa_command_check(s);
}

/* A WQ with a size must be in one group, an engine in at most one (5.1). */
static unsigned check_groups(const IntelDsa *s)
{
    uint64_t wqs = 0, engines = 0, active = 0;

    for (unsigned wq = 0; wq < s->num_wqs; wq++) {
        if (FIELD_EX32(s->wqcfg[wq][0], WQCFG0, SIZE)) {
            active |= 1ull << wq;
        }
    }
    for (unsigned i = 0; i < s->num_groups; i++) {
        uint64_t w = s->grpcfg[i][DSA_GRPCFG_WQS / 8];
        uint64_t e = s->grpcfg[i][DSA_GRPCFG_ENGINES / 8];

        if (!w != !e) {
            return DSA_CMD_GRP_INCOMPLETE;
        } else if (w & wqs) {
            return DSA_CMD_GRP_WQ;
        } else if (e & engines) {
            return DSA_CMD_GRP_ENGINE;
        }
        wqs |= w;
        engines |= e;
    }
    return wqs == active ? DSA_CMD_OK : DSA_CMD_GRP_WQ;
}

static unsigned check_event_log(const IntelDsa *s)
{
    uint64_t base = s->regs[R_EVLCFG0] & DSA_EVL_BASE_MASK;
    uint64_t size = FIELD_EX64(s->regs[R_EVLCFG1], EVLCFG1, SIZE);

    if (!FIELD_EX64(s->regs[R_GENCFG], GENCFG, EVL_EN)) {
        return DSA_CMD_OK;
    } else if (size < DSA_EVL_SIZE_MIN ||
               base + (size * DSA_EVL_ENTRY - 1) < base) {
        return DSA_CMD_EVL;
    } else if (FIELD_EX64(s->regs[R_EVLCFG0], EVLCFG0, PASID_EN) ?
               !dsa_pasid_enabled(s) ||
               (FIELD_EX64(s->regs[R_EVLCFG0], EVLCFG0, PRIV) &&
                !dsa_priv_mode_enabled(s)) :
               FIELD_EX64(s->regs[R_EVLCFG0], EVLCFG0, PRIV)) {
        return DSA_CMD_PASID;
    }
    return DSA_CMD_OK;
}

static unsigned check_device(const IntelDsa *s)
{
    uint32_t total = 0;
    unsigned error;

    if (dsa_state(s) != DSA_STATE_DISABLED) {
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
    return error ? error : check_event_log(s);
}

static unsigned enable_device(IntelDsa *s)
{
    unsigned error = check_device(s);

    if (error == DSA_CMD_OK) {
        dsa_perfmon_sync(s);
        set_device_state(s, DSA_STATE_ENABLED);
        if (dsa_event_log_enabled(s)) {
            s->regs[R_EVLSTATUS] = 0;
        }
    }
    return error;
}

static unsigned enable_wq(IntelDsa *s, uint32_t wq)
{
    unsigned error;

    if (wq >= s->num_wqs) {
        return DSA_CMD_BAD_WQ;
    } else if (dsa_state(s) != DSA_STATE_ENABLED) {
        return DSA_CMD_DEV_NOT_ENABLED;
    } else if (dsa_wq_enabled(s, wq)) {
        return DSA_CMD_WQ_NOT_DISABLED;
    }
    error = dsa_wq_check(s, wq);
    if (error == DSA_CMD_OK) {
        dsa_perfmon_sync(s);
        s->wqcfg[wq][6] = FIELD_DP32(s->wqcfg[wq][6], WQCFG6, STATE,
                                     DSA_WQ_ENABLED);
        dsa_wq_check_occupancy(s, wq);
    }
    return error;
}

/* The WQs of an operand: bits 15:0 are a mask, those above say which 16. */
static bool parse_wqs(const IntelDsa *s, uint32_t operand, uint32_t *wqs)
{
    *wqs = operand & 0xffff;
    return operand >> 16 == 0 && *wqs && !(*wqs & ~all_wqs(s));
}

static bool all_enabled(const IntelDsa *s, uint32_t wqs)
{
    for (unsigned wq = 0; wq < s->num_wqs; wq++) {
        if (wqs & 1u << wq && !dsa_wq_enabled(s, wq)) {
            return false;
        }
    }
    return true;
}

/* Commands about some WQs.  Reset WQ clears their configuration as well. */
static void command_wqs(IntelDsa *s, uint32_t command)
{
    unsigned code = FIELD_EX32(command, CMD, CODE);
    uint32_t wqs;

    if (!parse_wqs(s, FIELD_EX32(command, CMD, OPERAND), &wqs)) {
        finish(s, command, DSA_CMD_BAD_WQ);
        return;
    } else if (code != DSA_CMD_RESET_WQ && !all_enabled(s, wqs)) {
        finish(s, command, DSA_CMD_WQ_NOT_ENABLED);
        return;
    }
    switch (code) {
    case DSA_CMD_ABORT_WQ:
        abort_and_notify_wqs(s, wqs);
        finish(s, command, DSA_CMD_OK);
        break;
    case DSA_CMD_RESET_WQ:
        abort_wqs(s, wqs);
        disable_wqs(s, wqs);
        for (unsigned wq = 0; wq < s->num_wqs; wq++) {
            if (wqs & 1u << wq) {
                dsa_wqcfg_reset(s, wq);
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

static void command_pasid(IntelDsa *s, uint32_t command)
{
    uint32_t pasid = FIELD_EX32(command, CMD, OPERAND);

    if (FIELD_EX32(command, CMD, CODE) == DSA_CMD_ABORT_PASID) {
        dsa_perfmon_sync(s);
        for (unsigned wq = 0; wq < s->num_wqs; wq++) {
            dsa_queue_drop_pasid(s, wq, pasid);
        }
    }
    wait_for(s, command, 0);
}

static void reset_device(IntelDsa *s)
{
    abort_wqs(s, all_wqs(s));
    disable_wqs(s, all_wqs(s));
    dsa_config_reset(s, true);
    dsa_perfmon_reset(s);
}

void dsa_halt(IntelDsa *s)
{
    uint32_t command = s->command;

    trace_dsa_halt();
    abort_wqs(s, all_wqs(s));
    set_device_state(s, DSA_STATE_HALT);
    if (command) {
        finish(s, command, DSA_CMD_HW_ERROR);
    }
    dsa_report_error(s, DSA_ERROR_PCI_CONFIG);
    if (FIELD_EX64(s->regs[R_GENCTRL], GENCTRL, HALT_INT)) {
        dsa_raise(s, DSA_INTCAUSE_HALT);
    }
}

static void do_command(IntelDsa *s, uint32_t command)
{
    unsigned code = FIELD_EX32(command, CMD, CODE);

    if (dsa_state(s) == DSA_STATE_HALT && code != DSA_CMD_RESET_DEVICE) {
        finish(s, command, DSA_CMD_HALTED);
        return;
    }
    switch (code) {
    case DSA_CMD_ENABLE_DEVICE:
        finish(s, command, enable_device(s));
        break;
    case DSA_CMD_DISABLE_DEVICE:
        if (dsa_state(s) != DSA_STATE_ENABLED) {
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
        abort_and_notify_wqs(s, all_wqs(s));
        finish(s, command, DSA_CMD_OK);
        break;
    case DSA_CMD_RESET_DEVICE:
        reset_device(s);
        finish(s, command, DSA_CMD_OK);
        break;
    case DSA_CMD_ENABLE_WQ:
        finish(s, command, enable_wq(s, FIELD_EX32(command, CMD, OPERAND)));
        break;
    case DSA_CMD_DISABLE_WQ:
    case DSA_CMD_DRAIN_WQ:
    case DSA_CMD_ABORT_WQ:
    case DSA_CMD_RESET_WQ:
        command_wqs(s, command);
        break;
    case DSA_CMD_DRAIN_PASID:
    case DSA_CMD_ABORT_PASID:
        command_pasid(s, command);
        break;
    default:
        finish(s, command, DSA_CMD_INVALID);
        break;
    }
}

void dsa_command_write(IntelDsa *s, uint64_t value)
{
    uint32_t command = value;

    trace_dsa_command(FIELD_EX32(command, CMD, CODE),
                      FIELD_EX32(command, CMD, OPERAND));
    if (s->command) {
        qemu_log_mask(LOG_GUEST_ERROR, "%s: command %u while one is active\n",
                      TYPE_INTEL_DSA, FIELD_EX32(command, CMD, CODE));
        dsa_report_error(s, DSA_ERROR_CMD_ACTIVE);
    } else {
        do_command(s, command);
        /* Counters of cycles may count again from here: set the timer. */
        dsa_perfmon_arm(s);
    }
}
