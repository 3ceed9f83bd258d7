/*
 * Intel Data Streaming Accelerator: delta records.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A delta record lists the 8-byte words in which two blocks of memory differ.
 * An entry is 10 bytes: the word's number and its value in the second block.
 */

#include "qemu/osdep.h"
#include "qemu/units.h"
#include "dsa.h"

/* Offset in the second buffer of the entries that a chunk makes */
#define ENTRIES     (DSA_CHUNK / 2)

/*
 * Read a source from @done on into a buffer.  Returns the bytes that could be
 * read.
 */
static uint32_t get(IntelDsa *s, unsigned engine, DsaWork *work,
                    uint32_t tc_flag, uint64_t source, uint32_t done,
                    uint8_t *buffer, uint32_t bytes)
{
    uint64_t addr = source + done;
    DsaAccess access = dsa_read(s, engine, work, tc_flag, source, addr, buffer,
                                bytes);

    if (access.failed) {
        dsa_set_fault(work, addr + access.done, false);
    }
    return access.done;
}

/* An entry is wrong.  A fault behind it does not count. */
static void refuse(DsaWork *work, uint8_t status)
{
    work->status = status;
    work->fault_addr = 0;
}

/*
 * Write the entries that were made.  If one cannot be written, @work goes back
 * to its word.
 */
static void write_entries(IntelDsa *s, unsigned engine, DsaWork *work,
                          const uint8_t *entries, uint32_t bytes)
{
    uint64_t record = dsa_desc_addr3(work->desc);
    uint64_t addr = record + work->out;
    DsaAccess access = dsa_write(s, engine, work, DSA_FLAG_ADDR3_TC_B, record,
                                 addr, entries, bytes);
    uint32_t whole = QEMU_ALIGN_DOWN(access.done, DSA_DELTA_ENTRY);

    work->out += whole;
    if (access.failed) {
        dsa_set_fault(work, addr + access.done, true);
        work->done = lduw_le_p(entries + whole) * 8;
    }
}

void dsa_create_delta(IntelDsa *s, unsigned engine, DsaWork *work)
{
    const uint8_t *desc = work->desc;
    uint32_t max = ldl_le_p(desc + 48);
    uint8_t *first = s->buffer[0], *second = s->buffer[1];
    uint8_t *entries = s->buffer[1] + ENTRIES;
    uint32_t made = 0, bytes, i;
    bool full = false;

    bytes = get(s, engine, work, DSA_FLAG_ADDR1_TC_B,
                dsa_desc_addr1(desc), work->done, first,
                dsa_operation_chunk(work));
    bytes = get(s, engine, work, DSA_FLAG_ADDR2_TC_B,
                dsa_desc_addr2(desc), work->done, second, bytes);
    bytes = QEMU_ALIGN_DOWN(bytes, 8);
    for (i = 0; i < bytes && !full; i += 8) {
        if (ldq_le_p(first + i) == ldq_le_p(second + i)) {
            continue;
        }
        full = work->out + made + DSA_DELTA_ENTRY > max;
        if (full) {
            bytes = i;
        } else {
            stw_le_p(entries + made, (work->done + i) / 8);
            memcpy(entries + made + 2, second + i, 8);
            made += DSA_DELTA_ENTRY;
        }
    }
    work->done += bytes;
    if (full) {
        /* What follows was not compared; a fault there does not count. */
        work->result = 2;
        work->status = DSA_STATUS_SUCCESS;
        work->fault_addr = 0;
    }
    if (made) {
        write_entries(s, engine, work, entries, made);
        /* After a write fault: whether any entry was written (8.3.8) */
        work->result = work->status & DSA_STATUS_WRITE ? work->out > 0 :
                       MAX(work->result, 1);
    }
}

void dsa_apply_delta(IntelDsa *s, unsigned engine, DsaWork *work)
{
    const uint8_t *desc = work->desc;
    uint8_t *entry = s->buffer[0];
    uint32_t bytes;

    bytes = get(s, engine, work, DSA_FLAG_ADDR1_TC_B,
                dsa_desc_addr1(desc), work->out, entry,
                dsa_operation_chunk(work));
    for (; bytes >= DSA_DELTA_ENTRY; bytes -= DSA_DELTA_ENTRY) {
        uint32_t word = lduw_le_p(entry);
        uint64_t addr = dsa_desc_addr2(desc) + word * 8;
        DsaAccess access;

        if (word < work->last_offset) {
            refuse(work, DSA_STATUS_DELTA_ORDER);
        } else if (word * 8 >= dsa_desc_size(desc)) {
            refuse(work, DSA_STATUS_DELTA_OFFSET);
        } else {
            /* Each entry is a write of its own, wherever the last one was. */
            access = dsa_write(s, engine, work, DSA_FLAG_ADDR2_TC_B, addr,
                               addr, entry + 2, 8);
            if (access.failed) {
                dsa_set_fault(work, addr + access.done, true);
            } else {
                work->last_offset = word + 1;
                work->out += DSA_DELTA_ENTRY;
                entry += DSA_DELTA_ENTRY;
                continue;
            }
        }
        return;
    }
}
