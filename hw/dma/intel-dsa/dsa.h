/*
 * Intel Data Streaming Accelerator: the device's state.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * How a descriptor gets through it:
 *
 *   portals -> work queues -> engines -> completion records, interrupts
 *   portal.c   portal.c       engine.c   completion.c
 *                             operations.c, delta.c, dif.c: what is done
 *                             descriptor.c: what is refused
 *
 * config.c has the registers, command.c the command register, wq.c what is
 * checked when a WQ is enabled, and its occupancy interrupt, interrupt.c the
 * two tables of interrupts, perfmon.c the performance monitor, vmstate.c
 * migration.
 *
 * Times are those of QEMU_CLOCK_VIRTUAL, in nanoseconds.
 */

#ifndef HW_DMA_INTEL_DSA_H
#define HW_DMA_INTEL_DSA_H

#include "hw/dma/intel_dsa_regs.h"
#include "hw/deferrable_write.h"
#include "hw/pci/pci_device.h"
#include "migration/vmstate.h"
#include "qemu/timer.h"
#include "qom/object.h"

#define TYPE_INTEL_DSA "intel-dsa"
OBJECT_DECLARE_SIMPLE_TYPE(IntelDsa, INTEL_DSA)

#define DSA_MAX_WQS         16
#define DSA_MAX_GROUPS      8
#define DSA_MAX_ENGINES     8
#define DSA_MAX_WQ_SIZE     1024
#define DSA_MAX_COUNTERS    32
#define DSA_CATEGORIES      5
#define DSA_MAX_IMS         2048

/* Descriptors that an engine works on at a time. */
#define DSA_ENGINE_SLOTS    8

/* What moves between two looks at who is next, in bytes. */
#define DSA_CHUNK           (64 * KiB)

/* GENCAP: largest transfer and batch, as powers of two */
#define DSA_MAX_XFER_SHIFT  31
#define DSA_MAX_BATCH_SHIFT 10

/* A 64-byte store, which arrives in parts. */
typedef struct DsaPortal {
    uint8_t desc[DSA_DESC_SIZE];
    uint32_t filled;            /* bytes, from the first on */
    uint32_t offset;            /* of its first byte in the WQ's portals */
} DsaPortal;

/* A work queue: a ring of descriptors, and when they were submitted. */
typedef struct DsaQueue {
    uint8_t *desc;              /* total-wq-size of them */
    int64_t *submitted;
    uint8_t *ims;               /* whether by an IMS portal */
    uint32_t head;
    uint32_t count;
    uint32_t outstanding;       /* dispatched and not completed */
    uint32_t awaited;           /* the command waits for so many, the first */
    int32_t credit;             /* of the arbiter */
    uint32_t disabling;         /* by a command that waits for it */
    DsaPortal portal;
} DsaQueue;

enum {
    DSA_SLOT_FREE,
    DSA_SLOT_DATA,              /* data are to be moved */
    DSA_SLOT_RETIRE,            /* completes when it is due */
};

/* A descriptor in an engine; its fields are read from desc where used. */
typedef struct DsaWork {
    uint8_t desc[DSA_DESC_SIZE];
    uint32_t state;
    uint32_t wq;
    uint32_t ims;               /* submitted by an IMS portal */
    uint32_t in_batch;
    uint32_t batch_index;
    int64_t due;                /* DATA: may begin; RETIRE: completes */
    uint64_t order;             /* of dispatch in its engine */
    bool awaited;               /* by the command that waits */

    uint32_t done;              /* bytes of the transfer */
    uint32_t out;               /* bytes of delta record written or read */
    uint32_t crc;
    uint32_t last_offset;       /* in a delta record, plus one */

    /* For the completion record */
    uint8_t status;
    uint8_t result;
    uint32_t bytes_completed;
    uint32_t invalid_flags;
    uint64_t fault_addr;
} DsaWork;

/* A batch descriptor that an engine works on. */
typedef struct DsaBatch {
    uint32_t active;
    DsaWork work;               /* the batch descriptor itself */
    uint32_t next;              /* descriptor to be fetched */
    uint32_t outstanding;
    uint32_t completed;
    uint32_t failed;
    uint32_t have_desc;         /* fetched, and waits for its fence */
    uint32_t logged;            /* records that went to the event log */
    uint8_t desc[DSA_DESC_SIZE];
} DsaBatch;

typedef struct DsaEngine {
    DsaWork slot[DSA_ENGINE_SLOTS];
    DsaBatch batch;
    uint64_t order;
    int32_t credit;             /* of the arbiter of the memory interface */
    uint32_t batch_turn;        /* its batch is to be looked at first */
} DsaEngine;

/* The way to memory, which all engines share. */
typedef struct DsaLink {
    uint32_t busy;
    uint32_t engine;
    uint32_t slot;
    int64_t free_at;            /* or done at, when busy */
} DsaLink;

/* An interrupt that is not in the MSI-X table */
typedef struct DsaIms {
    uint64_t address;
    uint32_t data;
    uint32_t control;
} DsaIms;

typedef struct DsaCounter {
    uint64_t config;
    uint64_t value;
    uint32_t filter[DSA_FILTERS];
} DsaCounter;

typedef struct DsaPerfmon {
    DsaCounter counter[DSA_MAX_COUNTERS];
    uint32_t frozen;            /* a bit for each counter */
    uint32_t overflow;
    int64_t time;               /* until when cycles are counted */
    QEMUTimer *timer;           /* next overflow of a counter of cycles */
} DsaPerfmon;

struct IntelDsa {
    PCIDevice parent_obj;

    MemoryRegion mmio;
    MemoryRegion portals;

    /* Properties */
    uint32_t num_wqs;
    uint32_t num_groups;
    uint32_t num_engines;
    uint32_t total_wq_size;
    uint32_t num_counters;
    uint32_t counter_width;
    bool event_log;
    uint32_t bandwidth;         /* MB/s, each way */
    uint32_t latency;           /* ns */
    uint32_t ims_entries;
    bool pasid;                 /* the capability, and with it shared WQs */

    uint64_t regs[DSA_GRPCFG_BASE / 8];
    uint64_t grpcfg[DSA_MAX_GROUPS][DSA_GRPCFG_SIZE / 8];
    uint32_t wqcfg[DSA_MAX_WQS][DSA_WQCFG_SIZE / 4];
    uint32_t msixperm[DSA_MAX_WQS + 1];
    DsaIms *ims;

    /* The command that waits, 0 if none does, and the WQs it is about */
    uint32_t command;
    uint32_t command_wqs;
    uint16_t pasid_cap;         /* where in configuration space, or 0 */

    DsaQueue queue[DSA_MAX_WQS];
    uint8_t *ring_desc;         /* what the queues' rings are parts of */
    int64_t *ring_submitted;
    uint8_t *ring_ims;
    uint32_t ring_bytes;
    uint32_t ring_entries;
    DsaEngine engine[DSA_MAX_ENGINES];
    DsaLink link;
    int64_t clock;              /* virtual time that engines have come to */
    QEMUTimer *timer;           /* their next event */

    DsaPerfmon perfmon;

    /* Its code runs, so deep; what would disturb that waits: dsa_enter() */
    unsigned depth;
    uint32_t run_work;          /* what was done in this run of the engines */
    bool halt_asked;
    bool reset_asked;
    bool unplugged;

    /* For data that pass through; nothing lasts there. */
    uint8_t *buffer[2];
    uint16_t t10_table[256];    /* CRC-16 of a byte */
};

/* How a DMA access ended: what was done before the byte that failed. */
typedef struct DsaAccess {
    uint32_t done;
    bool failed;
} DsaAccess;

/* Fields of a descriptor */
static inline uint32_t dsa_desc_flags(const uint8_t *desc)
{
    return ldl_le_p(desc + 4) & 0xffffff;
}

static inline uint8_t dsa_desc_opcode(const uint8_t *desc)
{
    return desc[7];
}

static inline uint64_t dsa_desc_completion(const uint8_t *desc)
{
    return ldq_le_p(desc + 8);
}

static inline uint64_t dsa_desc_addr1(const uint8_t *desc)
{
    return ldq_le_p(desc + 16);
}

static inline uint64_t dsa_desc_addr2(const uint8_t *desc)
{
    return ldq_le_p(desc + 24);
}

static inline uint32_t dsa_desc_size(const uint8_t *desc)
{
    return ldl_le_p(desc + 32);
}

static inline uint16_t dsa_desc_int_handle(const uint8_t *desc)
{
    return lduw_le_p(desc + 36);
}

/* The third address of those that have one: delta record, destination 2 */
static inline uint64_t dsa_desc_addr3(const uint8_t *desc)
{
    return ldq_le_p(desc + 40);
}

static inline unsigned dsa_state(const IntelDsa *s)
{
    return FIELD_EX64(s->regs[R_GENSTS], GENSTS, STATE);
}

static inline bool dsa_wq_enabled(const IntelDsa *s, unsigned wq)
{
    return FIELD_EX32(s->wqcfg[wq][6], WQCFG6, STATE) != DSA_WQ_DISABLED;
}

static inline bool dsa_wq_dedicated(const IntelDsa *s, unsigned wq)
{
    return FIELD_EX32(s->wqcfg[wq][2], WQCFG2, DEDICATED);
}

/* Whether the trusted fields of a WQ's descriptors have a PASID */
static inline bool dsa_wq_has_pasid(const IntelDsa *s, unsigned wq)
{
    return FIELD_EX32(s->wqcfg[wq][2], WQCFG2, PASID_EN);
}

static inline uint32_t dsa_desc_pasid(const uint8_t *desc)
{
    return FIELD_EX32(ldl_le_p(desc), TRUSTED, PASID);
}

static inline bool dsa_desc_priv(const uint8_t *desc)
{
    return FIELD_EX32(ldl_le_p(desc), TRUSTED, PRIV);
}

/*
 * dsa.c: code of the device runs from here on, up to dsa_leave().  What it does
 * by DMA or a message may be to reset, halt or unplug the device itself, by
 * configuration space that is mapped to memory (ECAM): a reset and a halt wait
 * for dsa_leave(), and what was unplugged does no more DMA.  False: it has been
 * unplugged, and there is nothing to leave.
 */
bool dsa_enter(IntelDsa *s);
void dsa_leave(IntelDsa *s);
/* Is what runs to end, as a reset, a halt or the end of the device waits? */
static inline bool dsa_is_disturbed(const IntelDsa *s)
{
    return s->halt_asked || s->reset_asked || s->unplugged;
}
/* Call @work of the device for a timer, which cannot reach its registers. */
void dsa_run_guarded(IntelDsa *s, void (*work)(IntelDsa *s));

/* dsa.c: bits of the PASID capability's control register */
bool dsa_pasid_enabled(const IntelDsa *s);
bool dsa_priv_mode_enabled(const IntelDsa *s);

/* config.c */
extern const MemoryRegionOps dsa_mmio_ops;
void dsa_config_reset(IntelDsa *s, bool by_command);
/* WQCFG but its size, as after a reset */
void dsa_wqcfg_reset(IntelDsa *s, unsigned wq);
/* The group that a WQ or an engine is in, or -1 */
int dsa_group_of_wq(const IntelDsa *s, unsigned wq);
int dsa_group_of_engine(const IntelDsa *s, unsigned engine);
/* The traffic class of an address: class B if @flag is set in @desc */
unsigned dsa_traffic_class(const IntelDsa *s, unsigned wq,
                           const uint8_t *desc, uint32_t flag);

/* drain.c */
/* The command waits for all descriptors that are there. */
void dsa_command_await(IntelDsa *s);
/* Have those with a PASID completed; those of WQs, a bit each? */
bool dsa_pasid_is_done(const IntelDsa *s, uint32_t pasid);
bool dsa_wqs_are_done(const IntelDsa *s, uint32_t wqs);

/* command.c */
void dsa_command_write(IntelDsa *s, uint64_t value);
/* Something has completed: a command may wait for it. */
void dsa_command_check(IntelDsa *s);
/* The states that software sees */
unsigned dsa_visible_state(const IntelDsa *s);
unsigned dsa_visible_wq_state(const IntelDsa *s, unsigned wq);
/* Configuration space was written while the device was not disabled (5.7). */
void dsa_halt(IntelDsa *s);

/* wq.c */
unsigned dsa_wq_check(const IntelDsa *s, unsigned wq);
/* The occupancy, its limit, or whether there is one, may have changed. */
void dsa_wq_check_occupancy(IntelDsa *s, unsigned wq);

/* interrupt.c: an entry of the MSI-X table, or of IMS */
typedef struct DsaInterrupt {
    bool ims;
    uint16_t handle;
} DsaInterrupt;
bool dsa_interrupt_exists(const IntelDsa *s, DsaInterrupt interrupt);
/* Whether a descriptor may ask for any: users' do if GENCFG has it (9.2.8). */
bool dsa_interrupt_requestable(const IntelDsa *s, unsigned wq,
                               const uint8_t *desc);
/* Whether a descriptor of @wq may ask for this one (5.4) */
bool dsa_interrupt_allowed(const IntelDsa *s, DsaInterrupt interrupt,
                           unsigned wq, const uint8_t *desc);
/* One that exists.  Returns whether it was not ignored. */
bool dsa_interrupt_send(IntelDsa *s, DsaInterrupt interrupt,
                        bool of_completion);
uint32_t dsa_ims_read(const IntelDsa *s, hwaddr offset);
void dsa_ims_write(IntelDsa *s, hwaddr offset, uint32_t value);
void dsa_ims_reset(IntelDsa *s);
/* An interrupt of the device itself, MSI-X entry 0, and its cause */
void dsa_raise(IntelDsa *s, uint32_t cause);

/* portal.c */
extern const MemoryRegionOps dsa_portal_ops;
/* A deferrable memory write; whether it was accepted. */
bool dsa_portal_defer(Object *obj, MemoryRegion *mr, hwaddr addr,
                      const uint8_t data[DEFERRABLE_WRITE_BYTES]);
bool dsa_queue_peek(const IntelDsa *s, unsigned wq, const uint8_t **desc,
                    int64_t *submitted);
/* Takes the head away.  Returns whether it came by an IMS portal. */
bool dsa_queue_pop(IntelDsa *s, unsigned wq);
void dsa_queue_clear(IntelDsa *s, unsigned wq);
/* Drop what waits in a WQ with a PASID. */
void dsa_queue_drop_pasid(IntelDsa *s, unsigned wq, uint32_t pasid);
/* Does one that the command waits for, in a WQ, have a PASID? */
bool dsa_queue_awaits_pasid(const IntelDsa *s, unsigned wq, uint32_t pasid);

/* engine.c */
void dsa_engines_reset(IntelDsa *s);
/* Drop what engines have of a WQ, without completing it. */
void dsa_engines_abort(IntelDsa *s, unsigned wq);
/* Something was submitted: look at the queues. */
void dsa_engines_kick(IntelDsa *s);
void dsa_engines_run(void *opaque);
/* The next time at which something happens, or should have happened */
int64_t dsa_engines_next(const IntelDsa *s);
unsigned dsa_engine_slots_used(const DsaEngine *engine);

/* arbiter.c: smooth weighted round robin */
int dsa_arbitrate(int32_t *const credit[], const uint32_t weight[],
                  unsigned count);

/* descriptor.c */
uint8_t dsa_descriptor_check(const IntelDsa *s, DsaWork *work);
bool dsa_descriptor_has_data(const uint8_t *desc);
/* Whether it reads a first source, and writes a first destination. */
bool dsa_descriptor_reads(const uint8_t *desc);
bool dsa_descriptor_writes(const uint8_t *desc);

/* operations.c */
uint32_t dsa_operation_chunk(const DsaWork *work);
/* Can it have come so far, and has it more to do? */
bool dsa_operation_may_go_on(const DsaWork *work);
/* How long its next chunk takes on the link, in ns */
int64_t dsa_operation_cost(const IntelDsa *s, const DsaWork *work);
/* Do the next chunk; whether the operation has ended. */
bool dsa_operation_step(IntelDsa *s, unsigned engine, DsaWork *work);

/* One DMA access; whether it went through. */
bool dsa_dma(IntelDsa *s, uint64_t addr, void *buffer, uint32_t bytes,
             DMADirection direction);
/* Read what is no data of an operation. */
DsaAccess dsa_fetch(IntelDsa *s, uint64_t addr, void *buffer, uint32_t bytes);
/* Memory accesses of an operation, counted and checked */
DsaAccess dsa_read(IntelDsa *s, unsigned engine, const DsaWork *work,
                   uint32_t tc_flag, uint64_t addr, void *buffer,
                   uint32_t bytes);
DsaAccess dsa_write(IntelDsa *s, unsigned engine, const DsaWork *work,
                    uint32_t tc_flag, uint64_t addr, const void *buffer,
                    uint32_t bytes);
void dsa_set_fault(DsaWork *work, uint64_t addr, bool write);

/* delta.c, dif.c: the next chunk, and the status if that was the end of it */
void dsa_create_delta(IntelDsa *s, unsigned engine, DsaWork *work);
void dsa_apply_delta(IntelDsa *s, unsigned engine, DsaWork *work);
void dsa_dif_step(IntelDsa *s, unsigned engine, DsaWork *work);
/* Bytes of a block, as it is in the source and as it is written */
uint32_t dsa_dif_source_block(const uint8_t *desc);
uint32_t dsa_dif_destination_block(const uint8_t *desc);
/* The tags that come next, into a completion record */
void dsa_dif_record(const DsaWork *work, uint8_t *record);
void dsa_dif_init(IntelDsa *s);

/* completion.c */
void dsa_complete(IntelDsa *s, unsigned engine, DsaWork *work);
bool dsa_event_log_enabled(const IntelDsa *s);
/* Errors that are not in what was submitted: DSA_ERROR_x, 5.8.2 */
void dsa_report_error(IntelDsa *s, uint8_t error);
void dsa_report_full(IntelDsa *s, unsigned wq, const uint8_t *desc,
                     uint32_t trusted);

/* perfmon.c */
enum {
    DSA_CATEGORY_WQ,
    DSA_CATEGORY_ENGINE,
    DSA_CATEGORY_TRANSLATION,
    DSA_CATEGORY_OPERATION,
    DSA_CATEGORY_COMPLETION,
};

/* Events, as bits of their category (D.1.1, and D.2.1 from 0x40 on) */
#define DSA_EV_WQ_SWQ_OK_LIMITED        0x00001
#define DSA_EV_WQ_SWQ_RETRY_LIMITED     0x00002
#define DSA_EV_WQ_SWQ_OK_UNLIMITED      0x00004
#define DSA_EV_WQ_SWQ_RETRY_UNLIMITED   0x00008
#define DSA_EV_WQ_DWQ_OK                0x00010
#define DSA_EV_WQ_DWQ_FULL              0x00020
#define DSA_EV_WQ_WORK_READY            0x00040
#define DSA_EV_WQ_BATCH_READY           0x00080
#define DSA_EV_WQ_EMPTY                 0x00100
#define DSA_EV_ENGINE_PROCESSED         0x00001
#define DSA_EV_ENGINE_WRITTEN           0x00002
#define DSA_EV_ENGINE_READS             0x00004
#define DSA_EV_ENGINE_WRITES            0x00008
#define DSA_EV_ENGINE_FROM_BATCH        0x00010
#define DSA_EV_ENGINE_FROM_WQ           0x00020
#define DSA_EV_ENGINE_PIPE_FULL         0x00040
#define DSA_EV_ENGINE_NONE_READY        0x00080
#define DSA_EV_ENGINE_BATCH_FULL        0x00100
#define DSA_EV_OPERATION_CACHE_FLUSH    0x10000
#define DSA_EV_OPERATION_FENCE_KEPT     0x20000
#define DSA_EV_OPERATION_FENCE_CUT      0x40000
#define DSA_EV_OPERATION_OVERLAP        0x80000
#define DSA_EV_COMPLETION_MSIX          0x00001
#define DSA_EV_COMPLETION_IMS           0x00002
#define DSA_EV_COMPLETION_PARTIAL       0x00004
#define DSA_EV_COMPLETION_ERROR         0x00008
#define DSA_EV_COMPLETION_OK            0x00010
#define DSA_EV_COMPLETION_WRITES        0x00020

/* Where and with what something happens: what filters look at */
typedef struct DsaSource {
    unsigned wq;
    unsigned tc;
    unsigned engine;
    uint32_t xfer_size;
} DsaSource;

uint64_t dsa_perfmon_read(IntelDsa *s, hwaddr addr, unsigned size);
void dsa_perfmon_write(IntelDsa *s, hwaddr addr, uint64_t value,
                       unsigned size);
void dsa_perfmon_reset(IntelDsa *s);
/* @event: one of them, which happened @n times */
void dsa_perfmon_count(IntelDsa *s, unsigned category, uint32_t event,
                       const DsaSource *source, uint64_t n);
/* What an event that happens to a descriptor has for the filters */
DsaSource dsa_perfmon_source(const IntelDsa *s, unsigned engine, unsigned wq,
                             const uint8_t *desc, uint32_t tc_flag);
/* Count cycles up to @time, before what they depend on changes. */
void dsa_perfmon_advance(IntelDsa *s, int64_t time);
/* The same up to now, or up to where the engines' work is done if they lag. */
void dsa_perfmon_sync(IntelDsa *s);
void dsa_perfmon_timer(void *opaque);
void dsa_perfmon_arm(IntelDsa *s);

/* vmstate.c */
extern const VMStateDescription dsa_vmstate;

#endif
