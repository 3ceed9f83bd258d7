/*
 * Intel Data Streaming Accelerator: data integrity fields.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A data integrity field (DIF) follows each block of data (T10 SBC-3, 4.22): a
 * 16-bit guard, which is a CRC of the block, a 16-bit application tag and a
 * 32-bit reference tag.  Each has its most significant byte first.
 */

#include "qemu/osdep.h"
#include "qemu/units.h"
#include "dsa.h"

#define DIF_BYTES       8
#define T10_POLYNOMIAL  0x8bb7

/* Offsets in a descriptor */
#define SOURCE_FLAGS        40
#define DESTINATION_FLAGS   41
#define DIF_FLAGS           42
#define SOURCE_TAGS         48
#define DESTINATION_TAGS    56

/* Tags, as a descriptor or a completion record has them */
typedef struct DifTags {
    uint32_t ref;
    uint16_t app_mask;          /* bits of the tag that are not checked */
    uint16_t app;
} DifTags;

void dsa_dif_init(IntelDsa *s)
{
    for (unsigned byte = 0; byte < 256; byte++) {
        uint16_t crc = byte << 8;

        for (unsigned bit = 0; bit < 8; bit++) {
            crc = crc << 1 ^ (crc & 0x8000 ? T10_POLYNOMIAL : 0);
        }
        s->t10_table[byte] = crc;
    }
}

static uint16_t t10_crc(const IntelDsa *s, uint16_t crc, const uint8_t *data,
                        uint32_t bytes)
{
    while (bytes--) {
        crc = crc << 8 ^ s->t10_table[(crc >> 8 ^ *data++) & 0xff];
    }
    return crc;
}

static uint32_t block_bytes(const uint8_t *desc)
{
    static const uint16_t sizes[] = { 512, 520, 4096, 4104 };

    return sizes[desc[DIF_FLAGS] & DSA_DIF_BLOCK_MASK];
}

uint32_t dsa_dif_source_block(const uint8_t *desc)
{
    return block_bytes(desc) +
           (dsa_desc_opcode(desc) == DSA_OP_DIF_INSERT ? 0 : DIF_BYTES);
}

uint32_t dsa_dif_destination_block(const uint8_t *desc)
{
    switch (dsa_desc_opcode(desc)) {
    case DSA_OP_DIF_INSERT:
    case DSA_OP_DIF_UPDATE:
        return block_bytes(desc) + DIF_BYTES;
    case DSA_OP_DIF_STRIP:
        return block_bytes(desc);
    default:
        return 0;
    }
}

/* The tags of block number @block; @tags are those of block 0. */
static DifTags tags_of(const uint8_t *tags, uint32_t block, bool fixed_ref,
                       bool inc_app)
{
    return (DifTags) {
        .ref = ldl_le_p(tags) + (fixed_ref ? 0 : block),
        .app_mask = lduw_le_p(tags + 4),
        .app = lduw_le_p(tags + 6) + (inc_app ? block : 0),
    };
}

static DifTags source_tags(const uint8_t *desc, uint32_t block)
{
    uint8_t flags = desc[SOURCE_FLAGS];

    return tags_of(desc + SOURCE_TAGS, block, flags & DSA_DIF_SRC_FIXED_REF,
                   flags & DSA_DIF_SRC_INC_APP);
}

static DifTags destination_tags(const uint8_t *desc, uint32_t block)
{
    uint8_t flags = desc[DESTINATION_FLAGS];

    return tags_of(desc + DESTINATION_TAGS, block,
                   flags & DSA_DIF_DST_FIXED_REF,
                   flags & DSA_DIF_DST_INC_APP);
}

static uint16_t guard_of(const IntelDsa *s, const uint8_t *desc,
                         const uint8_t *block)
{
    uint8_t flags = desc[DIF_FLAGS];
    uint16_t crc = t10_crc(s, flags & DSA_DIF_INVERT_SEED ? 0xffff : 0, block,
                           block_bytes(desc));

    return flags & DSA_DIF_INVERT_RESULT ? ~crc : crc;
}

/* What is wrong with a block of the source and its DIF: DSA_DIF_x, or 0 */
static uint8_t check_block(const IntelDsa *s, const uint8_t *desc,
                           const uint8_t *block, uint32_t number)
{
    const uint8_t *dif = block + block_bytes(desc);
    uint8_t flags = desc[SOURCE_FLAGS];
    uint16_t guard = lduw_be_p(dif), app = lduw_be_p(dif + 2);
    uint32_t ref = ldl_be_p(dif + 4);
    DifTags want = source_tags(desc, number);
    uint8_t bad = 0;

    if ((flags & DSA_DIF_SRC_F_ALL) && guard == UINT16_MAX &&
        app == UINT16_MAX && ref == UINT32_MAX) {
        return flags & DSA_DIF_SRC_F_ALL_ERROR ? DSA_DIF_ALL_F : 0;
    } else if ((flags & DSA_DIF_SRC_F_APP) && app == UINT16_MAX) {
        return 0;
    } else if ((flags & DSA_DIF_SRC_F_APP_REF) && app == UINT16_MAX &&
               ref == UINT32_MAX) {
        return 0;
    }
    if (!(flags & DSA_DIF_SRC_NO_GUARD_CHECK) &&
        guard != guard_of(s, desc, block)) {
        bad |= DSA_DIF_BAD_GUARD;
    }
    if ((app ^ want.app) & ~want.app_mask & UINT16_MAX) {
        bad |= DSA_DIF_BAD_APP;
    }
    if (!(flags & DSA_DIF_SRC_NO_REF_CHECK) && ref != want.ref) {
        bad |= DSA_DIF_BAD_REF;
    }
    return bad;
}

/* Make the DIF of a block to write; fields that pass are there already. */
static void make_dif(const IntelDsa *s, const uint8_t *desc, uint8_t *block,
                     uint32_t number)
{
    bool update = dsa_desc_opcode(desc) == DSA_OP_DIF_UPDATE;
    uint8_t pass = update ? desc[DESTINATION_FLAGS] : 0;
    DifTags tags = destination_tags(desc, number);
    uint8_t *dif = block + block_bytes(desc);

    if (!(pass & DSA_DIF_DST_PASS_GUARD)) {
        stw_be_p(dif, guard_of(s, desc, block));
    }
    if (!(pass & DSA_DIF_DST_PASS_APP)) {
        stw_be_p(dif + 2, tags.app & ~tags.app_mask);
    }
    if (!(pass & DSA_DIF_DST_PASS_REF)) {
        stl_be_p(dif + 4, tags.ref);
    }
}

void dsa_dif_step(IntelDsa *s, unsigned engine, DsaWork *work)
{
    const uint8_t *desc = work->desc;
    uint32_t in = dsa_dif_source_block(desc);
    uint32_t out = dsa_dif_destination_block(desc);
    uint32_t number = work->done / in;
    uint64_t addr = dsa_desc_addr1(desc) + work->done;
    uint64_t to = dsa_desc_addr2(desc) + (uint64_t)number * out;
    uint32_t blocks, done;
    DsaAccess access;

    access = dsa_read(s, engine, work, DSA_FLAG_ADDR1_TC_B,
                      dsa_desc_addr1(desc), addr, s->buffer[0],
                      dsa_operation_chunk(work));
    if (access.failed) {
        dsa_set_fault(work, addr + access.done, false);
    }
    blocks = access.done / in;
    for (done = 0; done < blocks; done++) {
        const uint8_t *block = s->buffer[0] + done * in;

        if (dsa_desc_opcode(desc) != DSA_OP_DIF_INSERT) {
            work->result = check_block(s, desc, block, number + done);
            if (work->result) {
                work->status = DSA_STATUS_DIF_ERROR;
                work->fault_addr = 0;
                break;
            }
        }
        if (out) {
            memcpy(s->buffer[1] + done * out, block, MIN(in, out));
        }
        if (out > block_bytes(desc)) {
            make_dif(s, desc, s->buffer[1] + done * out, number + done);
        }
    }
    if (out && done) {
        access = dsa_write(s, engine, work, DSA_FLAG_ADDR2_TC_B,
                           dsa_desc_addr2(desc), to, s->buffer[1], done * out);
        if (access.failed) {
            dsa_set_fault(work, to + access.done, true);
            work->result = 0;
            done = access.done / out;
        }
    }
    work->done += done * in;
}

static void put_tags(uint8_t *to, DifTags tags)
{
    stl_le_p(to, tags.ref);
    stw_le_p(to + 4, tags.app_mask);
    stw_le_p(to + 6, tags.app);
}

void dsa_dif_record(const DsaWork *work, uint8_t *record)
{
    const uint8_t *desc = work->desc;
    uint32_t number = work->done / dsa_dif_source_block(desc);

    if (dsa_desc_opcode(desc) != DSA_OP_DIF_INSERT) {
        put_tags(record + 16, source_tags(desc, number));
    }
    if (dsa_dif_destination_block(desc) > block_bytes(desc)) {
        put_tags(record + 24, destination_tags(desc, number));
    }
}
