/*
 * Intel Data Streaming Accelerator: checks that refuse descriptors.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "dsa.h"

/* Bytes of a descriptor, a bit for each */
#define BYTES(first, last)  MAKE_64BIT_MASK(first, (last) - (first) + 1)
#define ADDR1   BYTES(16, 23)
#define ADDR2   BYTES(24, 31)
#define SIZE    BYTES(32, 35)
#define COMMON  BYTES(0, 7)

#define FLAGS_ALL  (DSA_FLAG_FENCE | DSA_FLAG_CRAV | DSA_FLAG_RCR | \
                    DSA_FLAG_RCI | DSA_FLAG_CR_TC_B)
#define FLAGS_DEST (DSA_FLAG_CACHE_CONTROL | DSA_FLAG_STRICT_ORDER)
#define FLAGS_TC1  DSA_FLAG_ADDR1_TC_B
#define FLAGS_TC12 (DSA_FLAG_ADDR1_TC_B | DSA_FLAG_ADDR2_TC_B)
#define FLAGS_TC123 (FLAGS_TC12 | DSA_FLAG_ADDR3_TC_B)
#define FLAGS_CRC  (DSA_FLAG_CRC_READ_SEED | DSA_FLAG_CRC_BYPASS_REFLECTION | \
                    DSA_FLAG_CRC_BYPASS_DATA_REFLECTION)

typedef struct DsaOperation {
    bool supported;
    bool has_data;              /* a transfer of "size" bytes */
    uint32_t flags;             /* that may be set; others are reserved */
    uint64_t used;              /* BYTES() with fields; others are reserved */
    bool reads;                 /* a first source; a list is none */
    bool writes;                /* a first destination */
    bool has_result;            /* so it needs a completion record */
} DsaOperation;

#define READS   .reads = true
#define WRITES  .writes = true
#define RESULT  .has_result = true

/* Tables 5-3 and 5-5 */
#define OPERATION(data, more_flags, bytes, ...) \
    { true, data, FLAGS_ALL | (more_flags), COMMON | (bytes), ##__VA_ARGS__ }

static const DsaOperation operations[DSA_OPS] = {
    [DSA_OP_NOOP] = OPERATION(false, 0, 0),
    [DSA_OP_BATCH] = OPERATION(false, FLAGS_TC1, ADDR1 | SIZE),
    /* Addresses are for readback, which it lacks; dsa_test sets them. */
    [DSA_OP_DRAIN] = OPERATION(false, DSA_FLAG_DRAIN_NO_READBACK,
                               ADDR1 | ADDR2),
    [DSA_OP_MEMMOVE] = OPERATION(true, FLAGS_DEST | FLAGS_TC12,
                                 ADDR1 | ADDR2 | SIZE, READS, WRITES),
    [DSA_OP_FILL] = OPERATION(true, FLAGS_DEST | DSA_FLAG_ADDR2_TC_B,
                              ADDR1 | ADDR2 | SIZE, WRITES),
    [DSA_OP_COMPARE] = OPERATION(true, DSA_FLAG_CHECK_RESULT | FLAGS_TC12,
                                 ADDR1 | ADDR2 | SIZE | BYTES(40, 40),
                                 READS, RESULT),
    [DSA_OP_COMPARE_PATTERN] = OPERATION(
        true, DSA_FLAG_CHECK_RESULT | FLAGS_TC1,
        ADDR1 | ADDR2 | SIZE | BYTES(40, 40), READS, RESULT),
    [DSA_OP_CREATE_DELTA] = OPERATION(
        true, DSA_FLAG_CHECK_RESULT | FLAGS_DEST | FLAGS_TC123,
        ADDR1 | ADDR2 | SIZE | BYTES(40, 51) | BYTES(56, 56),
        READS, WRITES, RESULT),
    [DSA_OP_APPLY_DELTA] = OPERATION(true, FLAGS_DEST | FLAGS_TC12,
                                     ADDR1 | ADDR2 | SIZE | BYTES(40, 43),
                                     READS, WRITES),
    [DSA_OP_DUALCAST] = OPERATION(true, FLAGS_DEST | FLAGS_TC123,
                                  ADDR1 | ADDR2 | SIZE | BYTES(40, 47),
                                  READS, WRITES),
    [DSA_OP_CRC] = OPERATION(
        true, FLAGS_CRC | FLAGS_TC1 | DSA_FLAG_ADDR3_TC_B,
        ADDR1 | SIZE | BYTES(40, 43) | BYTES(48, 55), READS, RESULT),
    [DSA_OP_COPY_CRC] = OPERATION(
        true, FLAGS_CRC | FLAGS_DEST | FLAGS_TC123,
        ADDR1 | ADDR2 | SIZE | BYTES(40, 43) | BYTES(48, 55),
        READS, WRITES, RESULT),
    [DSA_OP_DIF_CHECK] = OPERATION(
        true, FLAGS_TC1, ADDR1 | SIZE | BYTES(40, 40) | BYTES(42, 42) |
        BYTES(48, 55), READS, RESULT),
    [DSA_OP_DIF_INSERT] = OPERATION(
        true, FLAGS_DEST | FLAGS_TC12,
        ADDR1 | ADDR2 | SIZE | BYTES(41, 42) | BYTES(56, 63), READS, WRITES),
    [DSA_OP_DIF_STRIP] = OPERATION(
        true, FLAGS_DEST | FLAGS_TC12, ADDR1 | ADDR2 | SIZE |
        BYTES(40, 40) | BYTES(42, 42) | BYTES(48, 55), READS, WRITES),
    [DSA_OP_DIF_UPDATE] = OPERATION(
        true, FLAGS_DEST | FLAGS_TC12,
        ADDR1 | ADDR2 | SIZE | BYTES(40, 42) | BYTES(48, 63), READS, WRITES),
    [DSA_OP_CACHE_FLUSH] = OPERATION(
        true, DSA_FLAG_CACHE_CONTROL | DSA_FLAG_STRICT_ORDER |
        DSA_FLAG_ADDR2_TC_B, ADDR2 | SIZE),
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

bool dsa_descriptor_reads(const uint8_t *desc)
{
    const DsaOperation *op = find_operation(desc);

    return op && op->reads;
}

bool dsa_descriptor_writes(const uint8_t *desc)
{
    const DsaOperation *op = find_operation(desc);

    return op && op->writes;
}

/* Whether the configuration of @wq allows @opcode. */
static bool is_allowed(const IntelDsa *s, unsigned wq, unsigned opcode)
{
    uint32_t word = s->wqcfg[wq][DSA_WQCFG_OPCFG / 4 + opcode / 32];

    return word & 1u << opcode % 32;
}

/*
 * The flags of a descriptor that are wrong: set but reserved (table 5-4), or
 * clear but required (table 5-5).
 */
static uint32_t bad_flags(const IntelDsa *s, const DsaWork *work,
                          const DsaOperation *op)
{
    uint32_t flags = dsa_desc_flags(work->desc);
    uint32_t allowed = op->flags, required = 0;

    if (!work->in_batch) {
        allowed &= ~DSA_FLAG_FENCE;
    }
    if (!(flags & DSA_FLAG_CRAV)) {
        allowed &= ~(DSA_FLAG_RCR | DSA_FLAG_CR_TC_B);
    }
    if (!dsa_interrupt_requestable(s, work->wq, work->desc)) {
        allowed &= ~DSA_FLAG_RCI;
    }
    if (op->has_result) {
        required = DSA_FLAG_CRAV | DSA_FLAG_RCR;
    } else if (dsa_desc_opcode(work->desc) == DSA_OP_DRAIN &&
               !(flags & DSA_FLAG_RCI)) {
        required = DSA_FLAG_RCR;
    }
    return (flags & ~allowed) | (required & ~flags);
}

static bool has_reserved(const uint8_t *desc, uint64_t used)
{
    uint32_t flags = dsa_desc_flags(desc);

    if (flags & DSA_FLAG_CRAV) {
        used |= BYTES(8, 15);
    }
    if (flags & DSA_FLAG_RCI) {
        used |= BYTES(36, 37);
    }
    for (unsigned i = 0; i < DSA_DESC_SIZE; i++) {
        if (desc[i] && !(used & 1ull << i)) {
            return true;
        }
    }
    /* The trusted fields' bits between PASID and privilege */
    return ldl_le_p(desc) & MAKE_64BIT_MASK(20, 11);
}

/* Whether two ranges overlap, which may end at the address space's end. */
static bool overlap(uint64_t a, uint64_t a_bytes, uint64_t b, uint64_t b_bytes)
{
    return a - b < b_bytes || b - a < a_bytes;
}

static uint8_t check_delta(const uint8_t *desc, uint64_t max_bytes)
{
    uint64_t addr1 = dsa_desc_addr1(desc), addr2 = dsa_desc_addr2(desc);
    uint32_t size = dsa_desc_size(desc);
    bool create = dsa_desc_opcode(desc) == DSA_OP_CREATE_DELTA;
    uint64_t record = create ? dsa_desc_addr3(desc) : addr1;
    uint32_t record_size = ldl_le_p(desc + (create ? 48 : 40));

    /* The record needs no alignment: its entries are 10 bytes (8.3.9). */
    if (((create ? addr1 : 0) | addr2 | size) % 8) {
        return DSA_STATUS_ADDR_ALIGN;
    } else if (size > DSA_DELTA_MAX_XFER) {
        return DSA_STATUS_XFER_SIZE;
    } else if (!record_size || record_size > max_bytes ||
               (!create && record_size % DSA_DELTA_ENTRY) ||
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

static uint8_t check_crc(const uint8_t *desc)
{
    uint32_t size = dsa_desc_size(desc);

    if (dsa_desc_flags(desc) & DSA_FLAG_CRC_READ_SEED &&
        ldq_le_p(desc + 48) % 4) {
        return DSA_STATUS_ADDR_ALIGN;
    } else if (dsa_desc_opcode(desc) == DSA_OP_COPY_CRC &&
               overlap(dsa_desc_addr1(desc), size, dsa_desc_addr2(desc),
                       size)) {
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
    uint64_t max_bytes = 1ull << FIELD_EX32(cfg[3], WQCFG3, MAX_XFER_SHIFT);

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

    if (!size || size > max_bytes) {
        return DSA_STATUS_XFER_SIZE;
    }
    switch (dsa_desc_opcode(desc)) {
    case DSA_OP_CREATE_DELTA:
    case DSA_OP_APPLY_DELTA:
        return check_delta(desc, max_bytes);
    case DSA_OP_DUALCAST:
        return check_dualcast(desc);
    case DSA_OP_CRC:
    case DSA_OP_COPY_CRC:
        return check_crc(desc);
    case DSA_OP_DIF_CHECK:
    case DSA_OP_DIF_INSERT:
    case DSA_OP_DIF_STRIP:
    case DSA_OP_DIF_UPDATE:
        return check_dif(desc);
    default:
        return DSA_STATUS_NONE;
    }
}

/* The checks of 5.4.  Sets @work's invalid_flags if flags are wrong. */
uint8_t dsa_descriptor_check(const IntelDsa *s, DsaWork *work)
{
    const uint8_t *desc = work->desc;
    const DsaOperation *op = find_operation(desc);
    unsigned opcode = dsa_desc_opcode(desc);
    uint32_t flags = dsa_desc_flags(desc);
    DsaInterrupt interrupt = {
        .ims = work->ims, .handle = dsa_desc_int_handle(desc),
    };

    if ((flags & DSA_FLAG_CRAV) &&
        dsa_desc_completion(desc) % DSA_RECORD_SIZE) {
        return DSA_STATUS_CRA_ALIGN;
    } else if (!dsa_wq_dedicated(s, work->wq) && dsa_desc_priv(desc) &&
               !dsa_priv_mode_enabled(s)) {
        return DSA_STATUS_PRIV;
    } else if (!op || !is_allowed(s, work->wq, opcode) ||
               (work->in_batch &&
                (opcode == DSA_OP_BATCH || opcode == DSA_OP_DRAIN))) {
        return DSA_STATUS_BAD_OPCODE;
    }
    work->invalid_flags = bad_flags(s, work, op);
    if (work->invalid_flags) {
        return DSA_STATUS_INVALID_FLAGS;
    } else if (has_reserved(desc, op->used)) {
        return DSA_STATUS_RESERVED_FIELD;
    } else if ((flags & DSA_FLAG_RCI) &&
               !dsa_interrupt_allowed(s, interrupt, work->wq, desc)) {
        return DSA_STATUS_INT_HANDLE;
    }
    return check_operation(s, work);
}
