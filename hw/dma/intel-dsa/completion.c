/*
 * Intel Data Streaming Accelerator: completion records, errors, interrupts.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "hw/pci/msix.h"
#include "dsa.h"
#include "trace.h"

static void interrupt(IntelDsa *s, unsigned vector)
{
    trace_dsa_interrupt(vector, s->regs[R_INTCAUSE]);
    msix_notify(PCI_DEVICE(s), vector);
}

void dsa_raise(IntelDsa *s, uint32_t cause, bool enabled)
{
    s->regs[R_INTCAUSE] |= cause;
    if (enabled) {
        interrupt(s, 0);
    }
}

static bool is_success(uint8_t status)
{
    return status == DSA_STATUS_SUCCESS ||
           status == DSA_STATUS_FALSE_PREDICATE;
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

/* Software polls the status: it comes last. */
static bool write_record(IntelDsa *s, uint64_t addr, const uint8_t *record)
{
    PCIDevice *pci = PCI_DEVICE(s);

    if (pci_dma_write(pci, addr + 8, record + 8, DSA_RECORD_SIZE - 8) !=
        MEMTX_OK) {
        return false;
    }
    smp_wmb();
    return stq_le_pci_dma(pci, addr, ldq_le_p(record),
                          MEMTXATTRS_UNSPECIFIED) == MEMTX_OK;
}

/* An error that cannot be told in a completion record */
typedef struct DsaError {
    uint64_t word[4];           /* as in SWERROR */
} DsaError;

static DsaError make_error(const DsaWork *work, uint8_t status, uint64_t addr)
{
    DsaError error = { };
    uint64_t w = 0;

    w = FIELD_DP64(w, SWERR0, DESC_VALID, 1);
    w = FIELD_DP64(w, SWERR0, WQ_VALID, 1);
    w = FIELD_DP64(w, SWERR0, BATCH, work->in_batch != 0);
    w = FIELD_DP64(w, SWERR0, WRITE, status == DSA_STATUS_CRA_FAULT ||
                   (status & DSA_STATUS_WRITE) != 0);
    w = FIELD_DP64(w, SWERR0, ERROR, status & ~DSA_STATUS_WRITE);
    w = FIELD_DP64(w, SWERR0, WQ, work->wq);
    error.word[0] = FIELD_DP64(w, SWERR0, OPCODE,
                               dsa_desc_opcode(work->desc));
    w = FIELD_DP64(0, SWERR1, BATCH_INDEX, work->batch_index);
    error.word[1] = FIELD_DP64(w, SWERR1, INVALID_FLAGS, work->invalid_flags);
    error.word[2] = addr;
    return error;
}

/* Whether the event log took it. */
static bool log_error(IntelDsa *s, const DsaError *error,
                      const uint8_t *record)
{
    uint32_t size = FIELD_EX64(s->regs[R_EVLCFG1], EVLCFG1, SIZE);
    uint32_t head = FIELD_EX64(s->regs[R_EVLSTATUS], EVLSTATUS, HEAD);
    uint32_t tail = FIELD_EX64(s->regs[R_EVLSTATUS], EVLSTATUS, TAIL);
    uint8_t entry[DSA_EVL_ENTRY] = { };
    uint64_t base = s->regs[R_EVLCFG0] & DSA_EVL_BASE_MASK;

    if (!FIELD_EX64(s->regs[R_GENCFG], GENCFG, EVL_EN) ||
        size < DSA_EVL_SIZE_MIN || tail >= size ||
        (tail + 1) % size == head) {
        return false;
    }
    for (unsigned i = 0; i < ARRAY_SIZE(error->word); i++) {
        stq_le_p(entry + i * 8, error->word[i]);
    }
    entry[0] |= DSA_EVL_ERR_INFO_VALID;
    memcpy(entry + 32, record, DSA_RECORD_SIZE);
    if (pci_dma_write(PCI_DEVICE(s), base + tail * DSA_EVL_ENTRY, entry,
                      sizeof(entry)) != MEMTX_OK) {
        return false;
    }
    s->regs[R_EVLSTATUS] = FIELD_DP64(s->regs[R_EVLSTATUS], EVLSTATUS, TAIL,
                                      (tail + 1) % size);
    if (!FIELD_EX64(s->regs[R_EVLSTATUS], EVLSTATUS, INT_PENDING)) {
        s->regs[R_EVLSTATUS] |= R_EVLSTATUS_INT_PENDING_MASK;
        dsa_raise(s, DSA_INTCAUSE_EVL,
                  FIELD_EX64(s->regs[R_GENCTRL], GENCTRL, EVL_INT));
    }
    return true;
}

static void report(IntelDsa *s, const DsaWork *work, uint8_t status,
                   uint64_t addr, const uint8_t *record)
{
    DsaError error = make_error(work, status, addr);
    bool logged = log_error(s, &error, record);

    trace_dsa_error(work->wq, dsa_desc_opcode(work->desc), status, logged);
    if (logged) {
        return;
    }
    if (FIELD_EX64(s->regs[R_SWERR0], SWERR0, VALID)) {
        s->regs[R_SWERR0] |= R_SWERR0_OVERFLOW_MASK;
        return;
    }
    memcpy(&s->regs[R_SWERR0], error.word, sizeof(error.word));
    s->regs[R_SWERR0] |= R_SWERR0_VALID_MASK;
    dsa_raise(s, DSA_INTCAUSE_ERR,
              FIELD_EX64(s->regs[R_GENCTRL], GENCTRL, SOFTERR_INT));
}

static void count(IntelDsa *s, unsigned engine, const DsaWork *work)
{
    DsaSource source = {
        .wq = work->wq, .engine = engine,
        .tc = dsa_traffic_class(s, work->wq, work->desc,
                                DSA_FLAG_ADDR1_TC_B),
        .xfer_size = dsa_desc_size(work->desc),
    };

    dsa_perfmon_count(s, DSA_CATEGORY_COMPLETION,
                      is_success(work->status) ? DSA_EV_COMPLETION_OK :
                      DSA_EV_COMPLETION_ERROR, &source, 1);
}

void dsa_complete(IntelDsa *s, unsigned engine, DsaWork *work)
{
    uint32_t flags = dsa_desc_flags(work->desc);
    uint64_t addr = dsa_desc_completion(work->desc);
    uint16_t handle = dsa_desc_int_handle(work->desc);
    uint8_t record[DSA_RECORD_SIZE];

    trace_dsa_complete(engine, work->wq, dsa_desc_opcode(work->desc),
                       work->status, work->bytes_completed);
    count(s, engine, work);
    make_record(work, record);
    if (work->status == DSA_STATUS_CRA_ALIGN) {
        report(s, work, work->status, addr, record);
    } else if (flags & DSA_FLAG_CRAV) {
        if ((flags & DSA_FLAG_RCR || work->status != DSA_STATUS_SUCCESS) &&
            !write_record(s, addr, record)) {
            report(s, work, DSA_STATUS_CRA_FAULT, addr, record);
        }
    } else if (!is_success(work->status)) {
        report(s, work, work->status, work->fault_addr, record);
    }
    if ((flags & DSA_FLAG_RCI) && dsa_int_handle_valid(s, handle)) {
        interrupt(s, handle);
    }
}
