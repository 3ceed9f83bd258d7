/*
 * Intel Data Streaming Accelerator: which descriptors are refused.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "dsa.h"

/* Bytes of a descriptor, as bits */
#define BYTES(first, last)  MAKE_64BIT_MASK(first, (last) - (first) + 1)
#define ADDR1   BYTES(16, 23)
#define ADDR2   BYTES(24, 31)
#define SIZE    BYTES(32, 35)
#define COMMON  (BYTES(0, 15) | BYTES(36, 37))

#define FLAGS_ALL  (DSA_FLAG_FENCE | DSA_FLAG_CRAV | DSA_FLAG_RCR | \
                    DSA_FLAG_RCI | DSA_FLAG_CR_TC_B)
#define FLAGS_DEST (DSA_FLAG_CACHE_CONTROL | DSA_FLAG_STRICT_ORDER)
#define FLAGS_TC1  DSA_FLAG_ADDR1_TC_B
#define FLAGS_TC12 (DSA_FLAG_ADDR1_TC_B | DSA_FLAG_ADDR2_TC_B)
#define FLAGS_TC123 (FLAGS_TC12 | DSA_FLAG_ADDR3_TC_B)
#define FLAGS_CRC  (DSA_FLAG_CRC_READ_SEED | DSA_FLAG_CRC_NO_REFLECT | \
                    DSA_FLAG_CRC_NO_INVERT)

typedef struct DsaOperation {
    bool supported;
    bool has_data;              /* a transfer of "size" bytes */
    uint32_t flags;
    uint64_t used;              /* bytes; others are reserved */
} DsaOperation;

#define OPERATION(data, more_flags, bytes) \
    { true, data, FLAGS_ALL | (more_flags), COMMON | (bytes) }

static const DsaOperation operations[DSA_OPS] = {
    [DSA_OP_NOOP] = OPERATION(false, 0, 0),
    [DSA_OP_BATCH] = OPERATION(false, FLAGS_TC1, ADDR1 | SIZE),
    [DSA_OP_DRAIN] = OPERATION(false, 0, 0),
    [DSA_OP_MEMMOVE] = OPERATION(true, FLAGS_DEST | FLAGS_TC12,
                                 ADDR1 | ADDR2 | SIZE),
    [DSA_OP_FILL] = OPERATION(true, FLAGS_DEST | DSA_FLAG_ADDR2_TC_B,
                              ADDR1 | ADDR2 | SIZE),
    [DSA_OP_COMPARE] = OPERATION(true, DSA_FLAG_CHECK_RESULT | FLAGS_TC12,
                                 ADDR1 | ADDR2 | SIZE | BYTES(40, 40)),
    [DSA_OP_COMPARE_PATTERN] = OPERATION(
        true, DSA_FLAG_CHECK_RESULT | FLAGS_TC1,
        ADDR1 | ADDR2 | SIZE | BYTES(40, 40)),
    [DSA_OP_CREATE_DELTA] = OPERATION(
        true, DSA_FLAG_CHECK_RESULT | FLAGS_DEST | FLAGS_TC123,
        ADDR1 | ADDR2 | SIZE | BYTES(40, 51) | BYTES(56, 56)),
    [DSA_OP_APPLY_DELTA] = OPERATION(true, FLAGS_DEST | FLAGS_TC12,
                                     ADDR1 | ADDR2 | SIZE | BYTES(40, 43)),
    [DSA_OP_DUALCAST] = OPERATION(true, FLAGS_DEST | FLAGS_TC123,
                                  ADDR1 | ADDR2 | SIZE | BYTES(40, 47)),
    [DSA_OP_CRC] = OPERATION(
        true, FLAGS_CRC | FLAGS_TC1 | DSA_FLAG_ADDR3_TC_B,
        ADDR1 | SIZE | BYTES(40, 43) | BYTES(48, 55)),
    [DSA_OP_COPY_CRC] = OPERATION(
        true, FLAGS_CRC | FLAGS_DEST | FLAGS_TC123,
        ADDR1 | ADDR2 | SIZE | BYTES(40, 43) | BYTES(48, 55)),
    [DSA_OP_DIF_CHECK] = OPERATION(
        true, FLAGS_TC1, ADDR1 | SIZE | BYTES(40, 40) | BYTES(42, 42) |
        BYTES(48, 55)),
    [DSA_OP_DIF_INSERT] = OPERATION(
        true, FLAGS_DEST | FLAGS_TC12,
        ADDR1 | ADDR2 | SIZE | BYTES(41, 42) | BYTES(56, 63)),
    [DSA_OP_DIF_STRIP] = OPERATION(
        true, FLAGS_DEST | FLAGS_TC12, ADDR1 | ADDR2 | SIZE |
        BYTES(40, 40) | BYTES(42, 42) | BYTES(48, 55)),
    [DSA_OP_DIF_UPDATE] = OPERATION(
        true, FLAGS_DEST | FLAGS_TC12,
        ADDR1 | ADDR2 | SIZE | BYTES(40, 42) | BYTES(48, 63)),
    [DSA_OP_CACHE_FLUSH] = OPERATION(
        true, DSA_FLAG_CACHE_CONTROL | DSA_FLAG_ADDR2_TC_B, ADDR2 | SIZE),
};

static const DsaOperation *find_operation(const uint8_t *desc)
{
    unsigned opcode = dsa_desc_opcode(desc);

    return opcode < DSA_OPS && operations[opcode].supported ?
           &operations[opcode] : NULL;
}

bool dsa_descriptor_has_data(const uint8_t *desc)
{
    const DsaOperation *op = find_operation(desc);

    return op && op->has_data;
}

static bool has_reserved(const uint8_t *desc, uint64_t used)
{
    for (unsigned i = 0; i < DSA_DESC_SIZE; i++) {
        if (desc[i] && !(used & 1ull << i)) {
            return true;
        }
    }
    /* Between PASID and privilege */
    return ldl_le_p(desc) & MAKE_64BIT_MASK(20, 11);
}

/* Ranges may end at the end of the address space. */
static bool overlap(uint64_t a, uint64_t a_bytes, uint64_t b, uint64_t b_bytes)
{
    return a - b < b_bytes || b - a < a_bytes;
}

static uint8_t check_delta(const uint8_t *desc)
{
    uint64_t addr1 = dsa_desc_addr1(desc), addr2 = dsa_desc_addr2(desc);
    uint32_t size = dsa_desc_size(desc);
    bool create = dsa_desc_opcode(desc) == DSA_OP_CREATE_DELTA;
    uint64_t record = create ? dsa_desc_addr3(desc) : addr1;
    uint32_t record_size = ldl_le_p(desc + (create ? 48 : 40));

    if ((addr1 | addr2 | record) % 8) {
        return DSA_STATUS_ADDR_ALIGN;
    } else if (size % 8 || size > DSA_DELTA_MAX_XFER) {
        return DSA_STATUS_XFER_SIZE;
    } else if (!record_size || record_size % DSA_DELTA_ENTRY ||
               (create && record_size < DSA_DELTA_MIN_SIZE)) {
        return DSA_STATUS_DELTA_SIZE;
    } else if (overlap(record, record_size, addr2, size) ||
               (create && overlap(record, record_size, addr1, size))) {
        return DSA_STATUS_OVERLAP;
    }
    return DSA_STATUS_NONE;
}

static uint8_t check_dualcast(const uint8_t *desc)
{
    uint64_t addr1 = dsa_desc_addr1(desc), addr2 = dsa_desc_addr2(desc);
    uint64_t addr3 = dsa_desc_addr3(desc);
    uint32_t size = dsa_desc_size(desc);

    if ((addr2 ^ addr3) & 0xfff) {
        return DSA_STATUS_DUALCAST_ALIGN;
    } else if (overlap(addr1, size, addr2, size) ||
               overlap(addr1, size, addr3, size) ||
               overlap(addr2, size, addr3, size)) {
        return DSA_STATUS_OVERLAP;
    }
    return DSA_STATUS_NONE;
}

static uint8_t check_dif(const uint8_t *desc)
{
    uint32_t size = dsa_desc_size(desc);
    uint32_t in = dsa_dif_source_block(desc);
    uint32_t out = dsa_dif_destination_block(desc);

    if (size % in) {
        return DSA_STATUS_XFER_SIZE;
    } else if (out &&
               overlap(dsa_desc_addr1(desc), size, dsa_desc_addr2(desc),
                       (uint64_t)size / in * out)) {
        return DSA_STATUS_OVERLAP;
    }
    return DSA_STATUS_NONE;
}

static uint8_t check_operation(const IntelDsa *s, const DsaWork *work)
{
    const uint8_t *desc = work->desc;
    const uint32_t *cfg = s->wqcfg[work->wq];
    uint32_t size = dsa_desc_size(desc);

    switch (dsa_desc_opcode(desc)) {
    case DSA_OP_BATCH:
        if (dsa_desc_addr1(desc) % DSA_DESC_SIZE) {
            return DSA_STATUS_DESC_LIST_ALIGN;
        } else if (size < 2 || size > 1u << FIELD_EX32(cfg[3], WQCFG3,
                                                       MAX_BATCH_SHIFT)) {
            return DSA_STATUS_DESC_COUNT;
        }
        return DSA_STATUS_NONE;
    case DSA_OP_NOOP:
    case DSA_OP_DRAIN:
        return DSA_STATUS_NONE;
    }

    if (!size || size > 1ull << FIELD_EX32(cfg[3], WQCFG3, MAX_XFER_SHIFT)) {
        return DSA_STATUS_XFER_SIZE;
    }
    switch (dsa_desc_opcode(desc)) {
    case DSA_OP_CREATE_DELTA:
    case DSA_OP_APPLY_DELTA:
        return check_delta(desc);
    case DSA_OP_DUALCAST:
        return check_dualcast(desc);
    case DSA_OP_COPY_CRC:
        return overlap(dsa_desc_addr1(desc), size, dsa_desc_addr2(desc),
                       size) ? DSA_STATUS_OVERLAP : DSA_STATUS_NONE;
    case DSA_OP_DIF_CHECK:
    case DSA_OP_DIF_INSERT:
    case DSA_OP_DIF_STRIP:
    case DSA_OP_DIF_UPDATE:
        return check_dif(desc);
    default:
        return DSA_STATUS_NONE;
    }
}

bool dsa_int_handle_valid(const IntelDsa *s, uint16_t handle)
{
    return handle <= s->num_wqs &&
           (!FIELD_EX32(s->msixperm[handle], MSIXPERM, PASID_EN) ||
            FIELD_EX32(s->msixperm[handle], MSIXPERM, IGNORE));
}

uint8_t dsa_descriptor_check(const IntelDsa *s, DsaWork *work)
{
    const uint8_t *desc = work->desc;
    const DsaOperation *op = find_operation(desc);
    uint32_t flags = dsa_desc_flags(desc);

    if ((flags & DSA_FLAG_CRAV) &&
        dsa_desc_completion(desc) % DSA_RECORD_SIZE) {
        return DSA_STATUS_CRA_ALIGN;
    } else if (!op) {
        return DSA_STATUS_BAD_OPCODE;
    }
    work->invalid_flags = flags & ~op->flags;
    if ((flags & DSA_FLAG_RCR) && !(flags & DSA_FLAG_CRAV)) {
        work->invalid_flags |= DSA_FLAG_RCR;
    }
    if (work->invalid_flags) {
        return DSA_STATUS_INVALID_FLAGS;
    } else if (has_reserved(desc, op->used)) {
        return DSA_STATUS_RESERVED_FIELD;
    } else if ((flags & DSA_FLAG_RCI) &&
               !dsa_int_handle_valid(s, dsa_desc_int_handle(desc))) {
        return DSA_STATUS_INT_HANDLE;
    }
    return check_operation(s, work);
}
