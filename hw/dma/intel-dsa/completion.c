/*
 * Intel Data Streaming Accelerator: completion records, errors, interrupts.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "dsa.h"
#include "trace.h"

static bool is_success(uint8_t status)
{
    return status == DSA_STATUS_SUCCESS ||
           status == DSA_STATUS_FALSE_PREDICATE;
}

/* Whether to write a record: it has an address, and a reason (8.1.3) */
static bool needs_record(const DsaWork *work)
{
    uint32_t flags = dsa_desc_flags(work->desc);

    return flags & DSA_FLAG_CRAV &&
           (flags & DSA_FLAG_RCR || !(is_success(work->status) ||
                                      work->status == DSA_STATUS_BATCH_FAIL));
}

static void make_record(const DsaWork *work, uint8_t *record)
{
    memset(record, 0, DSA_RECORD_SIZE);
    record[0] = work->status;
    record[1] = work->result;
    stl_le_p(record + 4, work->bytes_completed);
    stq_le_p(record + 8, work->fault_addr);
    if (work->status >= DSA_STATUS_BAD_OPCODE &&
        !(work->status & DSA_STATUS_WRITE)) {
        stl_le_p(record + 16, work->invalid_flags);
        return;
    }
    switch (dsa_desc_opcode(work->desc)) {
    case DSA_OP_CREATE_DELTA:
        stl_le_p(record + 16, work->out);
        break;
    case DSA_OP_CRC:
    case DSA_OP_COPY_CRC:
        stl_le_p(record + 16, work->crc);
        break;
    case DSA_OP_DIF_CHECK:
    case DSA_OP_DIF_INSERT:
    case DSA_OP_DIF_STRIP:
    case DSA_OP_DIF_UPDATE:
        dsa_dif_record(work, record);
        break;
    }
}

/* Write the status last, as software polls it.  False if memory fails. */
static bool write_record(IntelDsa *s, uint64_t addr, const uint8_t *record)
{
    if (!dsa_dma(s, addr + 8, (void *)(record + 8), DSA_RECORD_SIZE - 8,
                 DMA_DIRECTION_FROM_DEVICE) || s->unplugged) {
        return false;
    }
    smp_wmb();
    return stq_le_pci_dma(PCI_DEVICE(s), addr, ldq_le_p(record),
                          MEMTXATTRS_UNSPECIFIED) == MEMTX_OK;
}

/* An error that a completion record cannot report */
typedef struct DsaError {
    uint64_t word[4];           /* as in SWERROR */
} DsaError;

/* An error of descriptor @work.  @addr: the address that is wrong */
static DsaError make_error(const DsaWork *work, uint8_t status, uint64_t addr)
{
    bool fault = status == DSA_STATUS_CRA_FAULT ||
                 (status & DSA_STATUS_WRITE) != 0;
    uint32_t trusted = ldl_le_p(work->desc);
    DsaError error = { };
    uint64_t w = 0;

    w = FIELD_DP64(w, SWERR0, DESC_VALID, 1);
    w = FIELD_DP64(w, SWERR0, WQ_VALID, 1);
    w = FIELD_DP64(w, SWERR0, BATCH, work->in_batch != 0);
    w = FIELD_DP64(w, SWERR0, WRITE, fault);
    w = FIELD_DP64(w, SWERR0, PRIV, FIELD_EX32(trusted, TRUSTED, PRIV));
    w = FIELD_DP64(w, SWERR0, ERROR, status & ~DSA_STATUS_WRITE);
    w = FIELD_DP64(w, SWERR0, WQ, work->wq);
    w = FIELD_DP64(w, SWERR0, OPCODE, dsa_desc_opcode(work->desc));
    error.word[0] = FIELD_DP64(w, SWERR0, PASID,
                               FIELD_EX32(trusted, TRUSTED, PASID));
    w = FIELD_DP64(0, SWERR1, BATCH_INDEX, work->batch_index);
    error.word[1] = FIELD_DP64(w, SWERR1, INVALID_FLAGS, work->invalid_flags);
    error.word[2] = addr;
    return error;
}

bool dsa_event_log_enabled(const IntelDsa *s)
{
    return FIELD_EX64(s->regs[R_GENCFG], GENCFG, EVL_EN) &&
           dsa_state(s) != DSA_STATE_DISABLED;
}

static void set_swerror(IntelDsa *s, const DsaError *error)
{
    if (FIELD_EX64(s->regs[R_SWERR0], SWERR0, VALID)) {
        s->regs[R_SWERR0] |= R_SWERR0_OVERFLOW_MASK;
        return;
    }
    memcpy(&s->regs[R_SWERR0], error->word, sizeof(error->word));
    s->regs[R_SWERR0] |= R_SWERR0_VALID_MASK;
    if (FIELD_EX64(s->regs[R_GENCTRL], GENCTRL, SOFTERR_INT)) {
        dsa_raise(s, DSA_INTCAUSE_ERR);
    }
}

/*
 * Write the error and @record to the event log (5.9).  If the log cannot take
 * it, SWERROR reports that instead, and the function returns false.
 */
static bool log_error(IntelDsa *s, const DsaError *error,
                      const uint8_t *record)
{
    uint32_t size = FIELD_EX64(s->regs[R_EVLCFG1], EVLCFG1, SIZE);
    uint32_t head = FIELD_EX64(s->regs[R_EVLSTATUS], EVLSTATUS, HEAD);
    uint32_t tail = FIELD_EX64(s->regs[R_EVLSTATUS], EVLSTATUS, TAIL);
    uint8_t entry[DSA_EVL_ENTRY] = { };
    uint64_t base = s->regs[R_EVLCFG0] & DSA_EVL_BASE_MASK;

    for (unsigned i = 0; i < ARRAY_SIZE(error->word); i++) {
        stq_le_p(entry + i * 8, error->word[i]);
    }
    memcpy(entry + 32, record, DSA_RECORD_SIZE);
    if (tail >= size || (tail + 1) % size == head ||
        !dsa_dma(s, base + tail * DSA_EVL_ENTRY, entry, sizeof(entry),
                 DMA_DIRECTION_FROM_DEVICE)) {
        set_swerror(s, &(DsaError) {
            .word[0] = FIELD_DP64(0, SWERR0, ERROR, DSA_ERROR_EVL),
        });
        return false;
    }
    s->regs[R_EVLSTATUS] = FIELD_DP64(s->regs[R_EVLSTATUS], EVLSTATUS, TAIL,
                                      (tail + 1) % size);
    if (FIELD_EX64(s->regs[R_GENCTRL], GENCTRL, EVL_INT) &&
        !FIELD_EX64(s->regs[R_EVLSTATUS], EVLSTATUS, INT_PENDING)) {
        s->regs[R_EVLSTATUS] |= R_EVLSTATUS_INT_PENDING_MASK;
        dsa_raise(s, DSA_INTCAUSE_EVL);
    }
    return true;
}

/* Report an error.  Returns whether @record is in the event log. */
static bool report(IntelDsa *s, const DsaError *error, const uint8_t *record)
{
    bool logged = dsa_event_log_enabled(s);

    trace_dsa_error(FIELD_EX64(error->word[0], SWERR0, WQ),
                    FIELD_EX64(error->word[0], SWERR0, OPCODE),
                    FIELD_EX64(error->word[0], SWERR0, ERROR), logged);
    if (logged) {
        return log_error(s, error, record);
    }
    set_swerror(s, error);
    return false;
}

void dsa_report_error(IntelDsa *s, uint8_t code)
{
    static const uint8_t no_record[DSA_RECORD_SIZE];
    DsaError error = { .word[0] = FIELD_DP64(0, SWERR0, ERROR, code) };

    if (code == DSA_ERROR_CMD_ACTIVE) {
        report(s, &error, no_record);
    } else {
        set_swerror(s, &error);
    }
}

void dsa_report_full(IntelDsa *s, unsigned wq, const uint8_t *desc,
                     uint32_t trusted)
{
    DsaWork work = { .wq = wq };
    DsaError error;

    memcpy(work.desc, desc, DSA_DESC_SIZE);
    stl_le_p(work.desc, trusted);
    error = make_error(&work, DSA_ERROR_DWQ_FULL, 0);
    set_swerror(s, &error);
}

/* Tell software that finds the record in the event log what it has to do. */
static void add_information(IntelDsa *s, unsigned engine, const DsaWork *work,
                            DsaError *error)
{
    const DsaBatch *batch = &s->engine[engine].batch;
    uint32_t flags = dsa_desc_flags(work->desc);
    bool interrupt = flags & DSA_FLAG_RCI;
    bool first = work->in_batch && !batch->logged;
    uint64_t w;

    w = FIELD_DP64(0, SWERR1, BATCH_INDEX, work->batch_index);
    w = FIELD_DP64(w, SWERR1, INT_HANDLE,
                   interrupt ? dsa_desc_int_handle(work->desc) : 0);
    w = FIELD_DP64(w, SWERR1, INT_REQUIRED, interrupt);
    w = FIELD_DP64(w, SWERR1, IMS_PORTAL, work->ims != 0);
    w = FIELD_DP64(w, SWERR1, RECORD_REQUIRED, needs_record(work));
    error->word[1] = FIELD_DP64(w, SWERR1, FIRST_IN_BATCH, first);
    w = FIELD_DP64(error->word[0], SWERR0, INFO_VALID, 1);
    /* An engine has one batch at a time. */
    error->word[0] = FIELD_DP64(w, SWERR0, BATCH_ID, engine);
}

/* Log the record, for software to write it.  Returns whether it is logged. */
static bool log_record(IntelDsa *s, unsigned engine, const DsaWork *work,
                       uint8_t code, const uint8_t *record)
{
    DsaError error = make_error(work, code, dsa_desc_completion(work->desc));
    bool logged;

    if (dsa_event_log_enabled(s)) {
        add_information(s, engine, work, &error);
    }
    logged = report(s, &error, record);
    if (work->in_batch && logged) {
        s->engine[engine].batch.logged++;
    }
    return logged;
}

static void count(IntelDsa *s, unsigned engine, const DsaWork *work,
                  uint32_t event)
{
    DsaSource source = dsa_perfmon_source(s, engine, work->wq, work->desc,
                                          DSA_FLAG_ADDR1_TC_B);

    dsa_perfmon_count(s, DSA_CATEGORY_COMPLETION, event, &source, 1);
}

static uint32_t status_event(uint8_t status)
{
    if (is_success(status)) {
        return DSA_EV_COMPLETION_OK;
    }
    switch (status & ~DSA_STATUS_WRITE) {
    case DSA_STATUS_PAGE_FAULT:
    case DSA_STATUS_BATCH_PAGE_FAULT:
        return DSA_EV_COMPLETION_PARTIAL;
    default:
        return DSA_EV_COMPLETION_ERROR;
    }
}

/*
 * Whether a record must go to the event log even if its address is fine: the
 * code for the log, or 0.  Records of a batch or a drain are about other
 * descriptors, whose own records software may still have to write (5.9).
 */
static uint8_t deferral(const IntelDsa *s, unsigned engine,
                        const DsaWork *work)
{
    if (!dsa_event_log_enabled(s)) {
        return 0;
    } else if (work == &s->engine[engine].batch.work) {
        return s->engine[engine].batch.logged ? DSA_STATUS_BATCH_LOGGED : 0;
    }
    return dsa_desc_opcode(work->desc) == DSA_OP_DRAIN &&
           work->status == DSA_STATUS_SUCCESS ? DSA_STATUS_DRAIN_LOGGED : 0;
}

/* The event log reports a bad interrupt handle as well (5.4). */
static void log_handle(IntelDsa *s, unsigned engine, const DsaWork *work,
                       const uint8_t *record)
{
    DsaError error = make_error(work, work->status, work->fault_addr);

    if (dsa_event_log_enabled(s)) {
        add_information(s, engine, work, &error);
        report(s, &error, record);
    }
}

/* Write the record, or log it.  Returns whether to send the interrupt. */
static bool report_completion(IntelDsa *s, unsigned engine, DsaWork *work)
{
    uint64_t addr = dsa_desc_completion(work->desc);
    uint32_t flags = dsa_desc_flags(work->desc);
    uint8_t code = deferral(s, engine, work);
    uint8_t record[DSA_RECORD_SIZE];
    DsaError error;

    make_record(work, record);
    if (work->status == DSA_STATUS_CRA_ALIGN ||
        work->status == DSA_STATUS_PRIV) {
        error = make_error(work, work->status, addr);
        report(s, &error, record);
        return false;
    } else if (code && (flags & DSA_FLAG_RCI || needs_record(work))) {
        log_record(s, engine, work, code, record);
        return false;
    } else if (!(flags & DSA_FLAG_CRAV)) {
        if (!is_success(work->status) &&
            work->status != DSA_STATUS_BATCH_FAIL) {
            error = make_error(work, work->status, work->fault_addr);
            report(s, &error, record);
        }
        return true;
    } else if (!needs_record(work)) {
        return true;
    }
    if (work->status == DSA_STATUS_INT_HANDLE) {
        log_handle(s, engine, work, record);
    }
    if (!write_record(s, addr, record)) {
        if (!log_record(s, engine, work, DSA_STATUS_CRA_FAULT, record)) {
            /* It is not logged, so nobody will write it: the work fails. */
            work->status = DSA_STATUS_CRA_FAULT;
        }
        return false;
    }
    count(s, engine, work, DSA_EV_COMPLETION_WRITES);
    return true;
}

void dsa_complete(IntelDsa *s, unsigned engine, DsaWork *work)
{
    DsaInterrupt interrupt = {
        .ims = work->ims, .handle = dsa_desc_int_handle(work->desc),
    };

    trace_dsa_complete(engine, work->wq, dsa_desc_opcode(work->desc),
                       work->status, work->bytes_completed);
    count(s, engine, work, status_event(work->status));
    if (report_completion(s, engine, work) &&
        dsa_desc_flags(work->desc) & DSA_FLAG_RCI &&
        dsa_interrupt_allowed(s, interrupt, work->wq, work->desc) &&
        dsa_interrupt_send(s, interrupt, true)) {
        count(s, engine, work, work->ims ? DSA_EV_COMPLETION_IMS :
                                           DSA_EV_COMPLETION_MSIX);
    }
}
