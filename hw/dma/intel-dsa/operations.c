/*
 * Intel Data Streaming Accelerator: operations on memory.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * An operation is done in chunks; work->done counts the bytes done so far.
 */

#include "qemu/osdep.h"
#include "qemu/bitops.h"
#include "qemu/crc32c.h"
#include "qemu/units.h"
#include "dsa.h"

#define PAGE    (4 * KiB)

/*
 * Chunks of delta record operations, in bytes.  Entries are applied one by one.
 * Entries that are created share a buffer with a source.
 */
#define APPLY_CHUNK     (512 * DSA_DELTA_ENTRY)
#define CREATE_CHUNK    (DSA_CHUNK / 4)

uint32_t dsa_operation_chunk(const DsaWork *work)
{
    const uint8_t *desc = work->desc;
    uint32_t left = dsa_desc_size(desc) - work->done;

    switch (dsa_desc_opcode(desc)) {
    case DSA_OP_APPLY_DELTA:
        return MIN(ldl_le_p(desc + 40) - work->out, APPLY_CHUNK);
    case DSA_OP_CREATE_DELTA:
        return MIN(left, CREATE_CHUNK);
    case DSA_OP_DIF_CHECK:
    case DSA_OP_DIF_INSERT:
    case DSA_OP_DIF_STRIP:
    case DSA_OP_DIF_UPDATE:
        return MIN(left, QEMU_ALIGN_DOWN(DSA_CHUNK / 2,
                                         dsa_dif_source_block(desc)));
    default:
        return MIN(left, DSA_CHUNK);
    }
}

bool dsa_operation_may_go_on(const DsaWork *work)
{
    const uint8_t *desc = work->desc;
    uint32_t unit = 1, record = 0;

    switch (dsa_desc_opcode(desc)) {
    case DSA_OP_CREATE_DELTA:
        unit = 8;
        record = ldl_le_p(desc + 48);
        break;
    case DSA_OP_APPLY_DELTA:
        record = ldl_le_p(desc + 40) - DSA_DELTA_ENTRY;
        break;
    case DSA_OP_DIF_CHECK:
    case DSA_OP_DIF_INSERT:
    case DSA_OP_DIF_STRIP:
    case DSA_OP_DIF_UPDATE:
        unit = dsa_dif_source_block(desc);
        break;
    }
    return work->done < dsa_desc_size(desc) && work->done % unit == 0 &&
           work->out <= record && work->out % DSA_DELTA_ENTRY == 0;
}

/*
 * The link has the bandwidth in each direction.  Operations that move twice as
 * much in one direction take twice as long.
 */
int64_t dsa_operation_cost(const IntelDsa *s, const DsaWork *work)
{
    uint64_t bytes = dsa_operation_chunk(work);

    switch (dsa_desc_opcode(work->desc)) {
    case DSA_OP_COMPARE:
    case DSA_OP_CREATE_DELTA:
    case DSA_OP_DUALCAST:
        bytes *= 2;
        break;
    }
    return MAX(1, bytes * 1000 / s->bandwidth);
}

/*
 * Whether an operation has ended: it has a status, or all is done.  Sets its
 * status and bytes_completed, which is 0 if all is done (8.2.4).  APPLY_DELTA
 * is done when all of the delta record is applied.
 */
static bool ended(DsaWork *work)
{
    bool apply = dsa_desc_opcode(work->desc) == DSA_OP_APPLY_DELTA;
    uint32_t done = apply ? work->out : work->done;
    bool all = done == (apply ? ldl_le_p(work->desc + 40) :
                                dsa_desc_size(work->desc));

    if (all && !work->status) {
        work->status = DSA_STATUS_SUCCESS;
    }
    if (work->status) {
        work->bytes_completed =
            all && work->status == DSA_STATUS_SUCCESS ? 0 : done;
    }
    return work->status;
}

/* Write host memory to a destination.  Returns the bytes written. */
static uint32_t put_from(IntelDsa *s, unsigned engine, DsaWork *work,
                         uint32_t tc_flag, uint64_t origin, uint64_t addr,
                         const void *data, uint32_t bytes)
{
    DsaAccess access = dsa_write(s, engine, work, tc_flag, origin, addr, data,
                                 bytes);

    if (access.failed) {
        dsa_set_fault(work, addr + access.done, true);
    }
    return access.done;
}

/* Write buffer 0 to a destination.  Returns the bytes written. */
static uint32_t put(IntelDsa *s, unsigned engine, DsaWork *work,
                    uint32_t tc_flag, uint64_t origin, uint64_t addr,
                    uint32_t bytes)
{
    return put_from(s, engine, work, tc_flag, origin, addr, s->buffer[0],
                    bytes);
}

/* Read the first source into buffer 0.  Returns the bytes read. */
static uint32_t get_from(IntelDsa *s, unsigned engine, DsaWork *work,
                         uint64_t origin, uint64_t addr, uint32_t bytes)
{
    DsaAccess access = dsa_read(s, engine, work, DSA_FLAG_ADDR1_TC_B, origin,
                                addr, s->buffer[0], bytes);

    if (access.failed) {
        dsa_set_fault(work, addr + access.done, false);
    }
    return access.done;
}

/* Read the next chunk of the first source into buffer 0, likewise. */
static uint32_t get(IntelDsa *s, unsigned engine, DsaWork *work)
{
    uint64_t source = dsa_desc_addr1(work->desc);

    return get_from(s, engine, work, source, source + work->done,
                    dsa_operation_chunk(work));
}

/* Map RAM to read it; NULL if that is not possible for all of it. */
static void *map_ram(IntelDsa *s, uint64_t addr, uint32_t bytes)
{
    PCIDevice *pci = PCI_DEVICE(s);
    dma_addr_t mapped = bytes;
    void *source = pci_dma_map(pci, addr, &mapped, DMA_DIRECTION_TO_DEVICE);

    if (source && mapped < bytes) {
        pci_dma_unmap(pci, source, mapped, DMA_DIRECTION_TO_DEVICE, 0);
        return NULL;
    }
    return source;
}

/*
 * Move from RAM without a buffer.  Returns false if the source can be read, but
 * is not RAM as a whole.
 */
static bool move_from_ram(IntelDsa *s, unsigned engine, DsaWork *work)
{
    uint32_t bytes = dsa_operation_chunk(work), ram = bytes;
    uint64_t origin = dsa_desc_addr1(work->desc);
    uint64_t addr = origin + work->done;
    DsaTarget target = dsa_find_target(s, addr, &ram, DMA_DIRECTION_TO_DEVICE);
    void *source;

    if (target == DSA_TARGET_NONE) {
        dsa_set_fault(work, addr, false);
        return true;
    }
    source = target == DSA_TARGET_RAM && ram == bytes ? map_ram(s, addr, bytes)
                                                  : NULL;
    if (!source) {
        return false;
    }
    dsa_count_access(s, engine, work, DSA_FLAG_ADDR1_TC_B, origin, addr,
                     (DsaAccess) { .done = bytes }, false);
    origin = dsa_desc_addr2(work->desc);
    work->done += put_from(s, engine, work, DSA_FLAG_ADDR2_TC_B, origin,
                           origin + work->done, source, bytes);
    pci_dma_unmap(PCI_DEVICE(s), source, bytes, DMA_DIRECTION_TO_DEVICE,
                  bytes);
    return true;
}

/* Bytes at the end of both ranges that lie within one page of each */
static uint32_t last_part(uint64_t end1, uint64_t end2, uint32_t bytes)
{
    bytes = MIN(bytes, (end1 - 1) % PAGE + 1);
    return MIN(bytes, (end2 - 1) % PAGE + 1);
}

/*
 * Move from the end to the beginning, as the destination overlaps the end of
 * the source.  The result says so.
 */
static bool move_backwards(IntelDsa *s, unsigned engine, DsaWork *work)
{
    const uint8_t *desc = work->desc;
    uint64_t from_end = dsa_desc_addr1(desc) + dsa_desc_size(desc);
    uint64_t to_end = dsa_desc_addr2(desc) + dsa_desc_size(desc);
    uint32_t left = dsa_operation_chunk(work), part;

    work->result = 1;
    for (; left && !work->status; left -= part) {
        uint64_t source = from_end - work->done;
        uint64_t destination = to_end - work->done;

        part = last_part(source, destination, left);
        if (get_from(s, engine, work, from_end, source - part, part) == part &&
            put(s, engine, work, DSA_FLAG_ADDR2_TC_B, to_end,
                destination - part, part) == part) {
            work->done += part;
        }
    }
    return ended(work);
}

static bool memmove_step(IntelDsa *s, unsigned engine, DsaWork *work)
{
    const uint8_t *desc = work->desc;
    uint64_t source = dsa_desc_addr1(desc);
    uint64_t destination = dsa_desc_addr2(desc);

    if (destination > source && destination - source < dsa_desc_size(desc)) {
        return move_backwards(s, engine, work);
    }
    if (!move_from_ram(s, engine, work)) {
        uint32_t bytes = get(s, engine, work);

        work->done += put(s, engine, work, DSA_FLAG_ADDR2_TC_B, destination,
                          destination + work->done, bytes);
    }
    return ended(work);
}

static bool fill_step(IntelDsa *s, unsigned engine, DsaWork *work)
{
    uint64_t destination = dsa_desc_addr2(work->desc);
    uint32_t bytes = dsa_operation_chunk(work);

    for (uint32_t i = 0; i < bytes; i += 8) {
        memcpy(s->buffer[0] + i, work->desc + 16, 8);
    }
    work->done += put(s, engine, work, DSA_FLAG_ADDR2_TC_B, destination,
                      destination + work->done, bytes);
    return ended(work);
}

/* Change a status of success if bit work->result of @expected is clear. */
static void check_result(DsaWork *work, uint8_t expected)
{
    if (work->status == DSA_STATUS_SUCCESS &&
        dsa_desc_flags(work->desc) & DSA_FLAG_CHECK_RESULT &&
        !(expected & 1u << work->result)) {
        work->status = DSA_STATUS_FALSE_PREDICATE;
    }
}

static bool compare_step(IntelDsa *s, unsigned engine, DsaWork *work)
{
    const uint8_t *desc = work->desc;
    uint64_t addr2 = dsa_desc_addr2(desc) + work->done;
    uint32_t bytes, same = 0;
    bool end;

    bytes = get(s, engine, work);
    if (dsa_desc_opcode(desc) == DSA_OP_COMPARE_PATTERN) {
        for (uint32_t i = 0; i < bytes; i += 8) {
            memcpy(s->buffer[1] + i, desc + 24, 8);
        }
    } else {
        DsaAccess access = dsa_read(s, engine, work, DSA_FLAG_ADDR2_TC_B,
                                    dsa_desc_addr2(desc), addr2,
                                    s->buffer[1], bytes);

        if (access.failed) {
            dsa_set_fault(work, addr2 + access.done, false);
            bytes = access.done;
        }
    }
    if (memcmp(s->buffer[0], s->buffer[1], bytes)) {
        while (s->buffer[0][same] == s->buffer[1][same]) {
            same++;
        }
        /* A difference ends it; a fault after that does not count. */
        work->result = 1;
        work->status = DSA_STATUS_SUCCESS;
        work->fault_addr = 0;
        work->done += same;
    } else {
        work->done += bytes;
    }
    end = ended(work);
    check_result(work, 1u << (desc[40] & 1));
    return end;
}

static bool create_delta_step(IntelDsa *s, unsigned engine, DsaWork *work)
{
    bool end;

    dsa_create_delta(s, engine, work);
    end = ended(work);
    check_result(work, work->desc[56]);
    return end;
}

/* Bytes that can be written, up to the first page that cannot be */
static uint32_t writable(IntelDsa *s, uint64_t addr, uint32_t bytes)
{
    AddressSpace *as = pci_get_address_space(PCI_DEVICE(s));
    uint32_t done = 0;

    while (done < bytes) {
        uint32_t part = MIN(bytes - done, PAGE - (addr + done) % PAGE);

        if (addr + done < addr ||
            !dma_memory_valid(as, addr + done, part,
                              DMA_DIRECTION_FROM_DEVICE,
                              MEMTXATTRS_UNSPECIFIED)) {
            break;
        }
        done += part;
    }
    return done;
}

/* Write the same number of bytes to both destinations (8.3.10). */
static bool dualcast_step(IntelDsa *s, unsigned engine, DsaWork *work)
{
    const uint8_t *desc = work->desc;
    uint64_t destination1 = dsa_desc_addr2(desc);
    uint64_t destination2 = dsa_desc_addr3(desc);
    uint64_t addr3 = destination2 + work->done;
    uint32_t bytes, both;

    bytes = get(s, engine, work);
    both = writable(s, addr3, bytes);
    both = put(s, engine, work, DSA_FLAG_ADDR2_TC_B, destination1,
               destination1 + work->done, both);
    work->done += put(s, engine, work, DSA_FLAG_ADDR3_TC_B, destination2,
                      addr3, both);
    if (both < bytes && !(work->status & DSA_STATUS_WRITE)) {
        dsa_set_fault(work, addr3 + both, true);
    }
    return ended(work);
}

/*
 * Convert a CRC from a completion record's form to crc32c()'s, or back.
 * CRC-32C (RFC 3720, B.4) takes the least significant bit first, as iSCSI and
 * crc32c() do.  One flag selects the other bit order for the data, another for
 * the CRC, which is then not inverted either (8.3.11).
 */
static uint32_t crc_register(const DsaWork *work, uint32_t crc)
{
    return dsa_desc_flags(work->desc) & DSA_FLAG_CRC_BYPASS_REFLECTION ?
           revbit32(crc) : ~crc;
}

/* Extend work->crc, which has the record's form, by the data in buffer 0. */
static void crc_update(IntelDsa *s, DsaWork *work, uint32_t bytes)
{
    uint32_t crc = crc_register(work, work->crc);

    if (dsa_desc_flags(work->desc) & DSA_FLAG_CRC_BYPASS_DATA_REFLECTION) {
        for (uint32_t i = 0; i < bytes; i++) {
            s->buffer[0][i] = revbit8(s->buffer[0][i]);
        }
    }
    /* crc32c() inverts its result. */
    crc = ~crc32c(crc, s->buffer[0], bytes);
    work->crc = crc_register(work, crc);
}

/* Get the seed, from the descriptor or from memory.  False: page fault */
static bool crc_begin(IntelDsa *s, DsaWork *work)
{
    const uint8_t *desc = work->desc;
    uint64_t addr = ldq_le_p(desc + 48);
    uint8_t seed[4];
    DsaAccess access;

    work->crc = ldl_le_p(desc + 40);
    if (dsa_desc_flags(desc) & DSA_FLAG_CRC_READ_SEED) {
        access = dsa_fetch(s, addr, seed, sizeof(seed));
        if (access.failed) {
            dsa_set_fault(work, addr + access.done, false);
            return false;
        }
        work->crc = ldl_le_p(seed);
    }
    return true;
}

static bool crc_step(IntelDsa *s, unsigned engine, DsaWork *work)
{
    const uint8_t *desc = work->desc;
    uint32_t bytes;

    if (work->done == 0 && !crc_begin(s, work)) {
        return ended(work);
    }
    bytes = get(s, engine, work);
    if (dsa_desc_opcode(desc) == DSA_OP_COPY_CRC) {
        bytes = put(s, engine, work, DSA_FLAG_ADDR2_TC_B,
                    dsa_desc_addr2(desc), dsa_desc_addr2(desc) + work->done,
                    bytes);
    }
    crc_update(s, work, bytes);
    work->done += bytes;
    return ended(work);
}

/* Check the addresses; the model has no caches to flush. */
static bool flush_step(IntelDsa *s, unsigned engine, DsaWork *work)
{
    uint64_t addr = dsa_desc_addr2(work->desc) + work->done;
    uint32_t bytes = dsa_operation_chunk(work);
    uint32_t valid = writable(s, addr, bytes);

    work->done += valid;
    if (valid < bytes) {
        dsa_set_fault(work, addr + valid, true);
    }
    return ended(work);
}

bool dsa_operation_step(IntelDsa *s, unsigned engine, DsaWork *work)
{
    switch (dsa_desc_opcode(work->desc)) {
    case DSA_OP_MEMMOVE:
        return memmove_step(s, engine, work);
    case DSA_OP_FILL:
        return fill_step(s, engine, work);
    case DSA_OP_COMPARE:
    case DSA_OP_COMPARE_PATTERN:
        return compare_step(s, engine, work);
    case DSA_OP_CREATE_DELTA:
        return create_delta_step(s, engine, work);
    case DSA_OP_APPLY_DELTA:
        dsa_apply_delta(s, engine, work);
        return ended(work);
    case DSA_OP_DUALCAST:
        return dualcast_step(s, engine, work);
    case DSA_OP_CRC:
    case DSA_OP_COPY_CRC:
        return crc_step(s, engine, work);
    case DSA_OP_DIF_CHECK:
    case DSA_OP_DIF_INSERT:
    case DSA_OP_DIF_STRIP:
    case DSA_OP_DIF_UPDATE:
        dsa_dif_step(s, engine, work);
        return ended(work);
    case DSA_OP_CACHE_FLUSH:
        return flush_step(s, engine, work);
    default:
        return true;
    }
}
