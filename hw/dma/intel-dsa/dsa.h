/*
 * Intel Data Streaming Accelerator (DSA): the device's state.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A descriptor's way through the device:
 *
 *   portals -> work queues -> engines -> completion records, interrupts
 *   portal.c   portal.c       engine.c   completion.c
 *                             operations.c, delta.c, dif.c: its operation
 *                             descriptor.c: checks that can refuse it
 *
 * config.c has the registers, command.c the command register, drain.c what a
 * command waits for, wq.c the checks when a WQ is enabled and its occupancy
 * interrupt, interrupt.c the two tables of interrupts, perfmon.c the
 * performance monitor, memory.c DMA, vmstate.c migration.
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

/* Descriptors that an engine works on at a time, besides a batch's own */
#define DSA_ENGINE_SLOTS    8

/* Most bytes that move before the link to memory is granted anew */
#define DSA_CHUNK           (64 * KiB)

/* GENCAP: largest transfer, in bytes, and batch, as powers of two */
#define DSA_MAX_XFER_SHIFT  31
#define DSA_MAX_BATCH_SHIFT 10

/* A 64-byte store to a portal, of which a part has arrived */
typedef struct DsaPortal {
    uint8_t desc[DSA_DESC_SIZE];
    uint32_t filled;            /* bytes that have arrived */
    uint32_t offset;            /* of the store in the WQ's portals; or ~0 */
} DsaPortal;

/* A work queue (WQ): a ring of descriptors that wait for an engine */
typedef struct DsaQueue {
    uint8_t *desc;              /* total_wq_size descriptors */
    int64_t *submitted;         /* when each was submitted */
    uint8_t *ims;               /* whether each came by an IMS portal */
    uint32_t head;              /* index of the oldest one */
    uint32_t count;
    uint32_t outstanding;       /* dispatched to engines, not completed */
    uint32_t awaited;           /* how many, from the head, a command awaits */
    int32_t credit;             /* for dsa_arbitrate() */
    uint32_t disabling;         /* a waiting command will disable it */
    DsaPortal portal;
} DsaQueue;

enum {
    DSA_SLOT_FREE,
    DSA_SLOT_DATA,              /* has data to move */
    DSA_SLOT_RETIRE,            /* completes at @due */
};

/* A descriptor in an engine.  Its fields are read from desc where used. */
typedef struct DsaWork {
    uint8_t desc[DSA_DESC_SIZE];
    uint32_t state;             /* DSA_SLOT_x */
    uint32_t wq;
    uint32_t ims;               /* submitted by an IMS portal */
    uint32_t in_batch;
    uint32_t batch_index;       /* in its batch, if in_batch */
    int64_t due;                /* DATA: earliest begin; RETIRE: end */
    uint64_t order;             /* number of dispatch in its engine */
    bool awaited;               /* the waiting command waits for it */

    uint32_t done;              /* bytes of the transfer */
    uint32_t out;               /* bytes of delta record made or applied */
    uint32_t crc;               /* as in the completion record */
    uint32_t last_offset;       /* of a delta record's last entry, plus one */

    /* For the completion record */
    uint8_t status;             /* 0 until it is known */
    uint8_t result;
    uint32_t bytes_completed;
    uint32_t invalid_flags;
    uint64_t fault_addr;
} DsaWork;

/* The batch that an engine works on */
typedef struct DsaBatch {
    uint32_t active;
    DsaWork work;               /* the batch descriptor itself */
    uint32_t next;              /* index of the next descriptor to begin */
    uint32_t outstanding;       /* of its descriptors: begun, not completed */
    uint32_t completed;
    uint32_t failed;            /* whether one has not succeeded */
    uint32_t have_desc;         /* desc holds descriptor @next, not begun */
    uint32_t logged;            /* records that went to the event log */
    uint8_t desc[DSA_DESC_SIZE];
} DsaBatch;

typedef struct DsaEngine {
    DsaWork slot[DSA_ENGINE_SLOTS];
    DsaBatch batch;
    uint64_t order;             /* descriptors dispatched so far */
    int32_t credit;             /* for dsa_arbitrate(), of the link */
    uint32_t batch_turn;        /* fetch from its batch before its WQs */
} DsaEngine;

/* The link to memory, which all engines share */
typedef struct DsaLink {
    uint32_t busy;
    uint32_t engine;            /* whose chunk moves, when busy */
    uint32_t slot;
    int64_t free_at;            /* when that ends, or the last one ended */
} DsaLink;

/* An interrupt of the Interrupt Message Storage (IMS) */
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
    int64_t time;               /* up to which cycles were counted */
    QEMUTimer *timer;           /* for overflows of counters of cycles */
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
    bool pasid;                 /* has the PASID capability, shared WQs */
    Notifier machine_done;      /* if it was created before that, and pasid */

    uint64_t regs[DSA_GRPCFG_BASE / 8];
    uint64_t grpcfg[DSA_MAX_GROUPS][DSA_GRPCFG_SIZE / 8];
    uint32_t wqcfg[DSA_MAX_WQS][DSA_WQCFG_SIZE / 4];
    uint32_t msixperm[DSA_MAX_WQS + 1];
    DsaIms *ims;

    /* The command that waits for descriptors, or 0, and its WQs, a bit each */
    uint32_t command;
    uint32_t command_wqs;
    uint16_t pasid_cap;         /* offset in configuration space, or 0 */

    DsaQueue queue[DSA_MAX_WQS];
    uint8_t *ring_desc;         /* memory of all queues' rings */
    int64_t *ring_submitted;
    uint8_t *ring_ims;
    uint32_t ring_bytes;
    uint32_t ring_entries;
    DsaEngine engine[DSA_MAX_ENGINES];
    DsaLink link;
    int64_t clock;              /* the engines' virtual time, may lag */
    QEMUTimer *timer;           /* their next event */

    DsaPerfmon perfmon;

    unsigned depth;             /* of dsa_enter(); 0: no code of it runs */
    uint32_t run_work;          /* work in this run of the engines, in bytes */
    bool halt_asked;            /* to be done in dsa_leave() */
    bool reset_asked;
    bool unplugged;

    /* Buffers for the data of one chunk */
    uint8_t *buffer[2];
    uint16_t t10_table[256];    /* CRC-16 of each byte */
};

/* What is at an address */
typedef enum DsaTarget {
    DSA_TARGET_NONE,            /* nothing, or nothing that can be accessed */
    DSA_TARGET_RAM,
    DSA_TARGET_OTHER,
} DsaTarget;

/* How a DMA access ended; @done: bytes before the first that failed */
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

/* The third address, if there is one: delta record or second destination */
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

/* Whether the trusted fields of a WQ's descriptors hold a PASID */
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
 * dsa.c: code of the device runs between dsa_enter() and dsa_leave(), which can
 * nest.  Its DMA and interrupt messages can hit configuration space that is
 * mapped to memory (ECAM), and so reset, halt or unplug the device itself.  A
 * reset or halt waits for the outermost dsa_leave(); after unplugging there is
 * no more DMA.  dsa_enter() returns false if the device is unplugged; callers
 * must not call dsa_leave() then.
 */
bool dsa_enter(IntelDsa *s);
void dsa_leave(IntelDsa *s);
/* A reset, halt or unplugging waits: code of the device must end early. */
static inline bool dsa_is_disturbed(const IntelDsa *s)
{
    return s->halt_asked || s->reset_asked || s->unplugged;
}
/* Call @work for a timer.  Its DMA cannot reach the device's registers. */
void dsa_run_guarded(IntelDsa *s, void (*work)(IntelDsa *s));

/* dsa.c: bits of the PASID capability's control register */
bool dsa_pasid_enabled(const IntelDsa *s);
bool dsa_priv_mode_enabled(const IntelDsa *s);

/* config.c */
extern const MemoryRegionOps dsa_mmio_ops;
void dsa_config_reset(IntelDsa *s, bool by_command);
/* Reset the WQCFG of @wq, all but its size. */
void dsa_wqcfg_reset(IntelDsa *s, unsigned wq);
/* The group that a WQ or engine is in, or -1 */
int dsa_group_of_wq(const IntelDsa *s, unsigned wq);
int dsa_group_of_engine(const IntelDsa *s, unsigned engine);
/* The traffic class of an address: TC-B's if @flag is set in @desc */
unsigned dsa_traffic_class(const IntelDsa *s, unsigned wq,
                           const uint8_t *desc, uint32_t flag);

/* drain.c */
/* Let the command wait for all descriptors in WQs and engines now. */
void dsa_command_await(IntelDsa *s);
/* Have the awaited ones with @pasid, or of @wqs (a bit each), completed? */
bool dsa_pasid_is_done(const IntelDsa *s, uint32_t pasid);
bool dsa_wqs_are_done(const IntelDsa *s, uint32_t wqs);

/* command.c */
void dsa_command_write(IntelDsa *s, uint64_t value);
/* End the waiting command, if it waits for nothing any more. */
void dsa_command_check(IntelDsa *s);
/* States as software reads them: DSA_STATE_x and DSA_WQ_x */
unsigned dsa_visible_state(const IntelDsa *s);
unsigned dsa_visible_wq_state(const IntelDsa *s, unsigned wq);
/* Halt, as configuration space changed while the device was enabled (5.7). */
void dsa_halt(IntelDsa *s);

/* wq.c */
/* Whether @wq can be enabled: DSA_CMD_OK, or the error */
unsigned dsa_wq_check(const IntelDsa *s, unsigned wq);
/* Send the occupancy interrupt of @wq, if it is enabled and due. */
void dsa_wq_check_occupancy(IntelDsa *s, unsigned wq);

/* interrupt.c: an entry of the MSI-X table, or of IMS */
typedef struct DsaInterrupt {
    bool ims;
    uint16_t handle;
} DsaInterrupt;
bool dsa_interrupt_exists(const IntelDsa *s, DsaInterrupt interrupt);
/* Whether @desc may ask for interrupts.  Users' need GENCFG.USER_INT, 9.2.8. */
bool dsa_interrupt_requestable(const IntelDsa *s, unsigned wq,
                               const uint8_t *desc);
/* Whether @desc, of @wq, may ask for this one (5.4) */
bool dsa_interrupt_allowed(const IntelDsa *s, DsaInterrupt interrupt,
                           unsigned wq, const uint8_t *desc);
/* Send one that exists.  False if its entry ignores those @of_completion */
bool dsa_interrupt_send(IntelDsa *s, DsaInterrupt interrupt,
                        bool of_completion);
uint32_t dsa_ims_read(const IntelDsa *s, hwaddr offset);
void dsa_ims_write(IntelDsa *s, hwaddr offset, uint32_t value);
void dsa_ims_reset(IntelDsa *s);
/* Send an interrupt of the device itself, MSI-X entry 0, with its cause. */
void dsa_raise(IntelDsa *s, uint32_t cause);

/* portal.c */
extern const MemoryRegionOps dsa_portal_ops;
/* A deferrable memory write.  Returns whether it was accepted. */
bool dsa_portal_defer(Object *obj, MemoryRegion *mr, hwaddr addr,
                      const uint8_t data[DEFERRABLE_WRITE_BYTES]);
/* The head of a WQ, and when it was submitted.  False if the WQ is empty */
bool dsa_queue_peek(const IntelDsa *s, unsigned wq, const uint8_t **desc,
                    int64_t *submitted);
/* Remove the head.  Returns whether it came by an IMS portal. */
bool dsa_queue_pop(IntelDsa *s, unsigned wq);
void dsa_queue_clear(IntelDsa *s, unsigned wq);
/* Drop the descriptors in a WQ that have @pasid. */
void dsa_queue_drop_pasid(IntelDsa *s, unsigned wq, uint32_t pasid);
/* Whether the command waits for a descriptor with @pasid in a WQ */
bool dsa_queue_awaits_pasid(const IntelDsa *s, unsigned wq, uint32_t pasid);

/* engine.c */
void dsa_engines_reset(IntelDsa *s);
/* Drop the descriptors of a WQ in engines, without completing them. */
void dsa_engines_abort(IntelDsa *s, unsigned wq);
/* Let the engines run soon: something may have changed for them. */
void dsa_engines_kick(IntelDsa *s);
void dsa_engines_run(void *opaque);
/* The time of the engines' next event, which may be past; or INT64_MAX */
int64_t dsa_engines_next(const IntelDsa *s);
unsigned dsa_engine_slots_used(const DsaEngine *engine);

/* arbiter.c: smooth weighted round robin; the one to serve, or -1 */
int dsa_arbitrate(int32_t *const credit[], const uint32_t weight[],
                  unsigned count);

/* descriptor.c */
/* DSA_STATUS_NONE, or the status with which it is refused */
uint8_t dsa_descriptor_check(const IntelDsa *s, DsaWork *work);
bool dsa_descriptor_has_data(const uint8_t *desc);
/* Whether it reads a first source, or writes a first destination */
bool dsa_descriptor_reads(const uint8_t *desc);
bool dsa_descriptor_writes(const uint8_t *desc);

/* operations.c */
/* Bytes of the next chunk: of a delta record that is applied, else of data */
uint32_t dsa_operation_chunk(const DsaWork *work);
/* Whether a migrated operation's progress is possible and incomplete */
bool dsa_operation_may_go_on(const DsaWork *work);
/* How long its next chunk takes on the link, in ns */
int64_t dsa_operation_cost(const IntelDsa *s, const DsaWork *work);
/* Do the next chunk.  Returns whether the operation has ended. */
bool dsa_operation_step(IntelDsa *s, unsigned engine, DsaWork *work);

/* memory.c */
/*
 * Find out what is at @addr, and shorten @bytes to the RAM there, if it is RAM.
 * An IOMMU reports a fault each time that it cannot translate an address.  So
 * this translates it once, and what is at DSA_TARGET_NONE must not be accessed.
 */
DsaTarget dsa_find_target(IntelDsa *s, uint64_t addr, uint32_t *bytes,
                          DMADirection direction);
/* One DMA access.  Returns whether it succeeded. */
bool dsa_dma(IntelDsa *s, uint64_t addr, void *buffer, uint32_t bytes,
             DMADirection direction);
/* Read memory that is not an operation's data. */
DsaAccess dsa_fetch(IntelDsa *s, uint64_t addr, void *buffer, uint32_t bytes);
/*
 * Access an operation's data, and count that in the performance monitor.
 * @origin: where the operation's accesses to this range began.  Those before
 * this one took [@origin, @addr); if @origin is above @addr, accesses go
 * downwards, and took [@addr + @bytes, @origin).
 */
DsaAccess dsa_read(IntelDsa *s, unsigned engine, const DsaWork *work,
                   uint32_t tc_flag, uint64_t origin, uint64_t addr,
                   void *buffer, uint32_t bytes);
DsaAccess dsa_write(IntelDsa *s, unsigned engine, const DsaWork *work,
                    uint32_t tc_flag, uint64_t origin, uint64_t addr,
                    const void *buffer, uint32_t bytes);
/* Set the status and address of a page fault. */
void dsa_set_fault(DsaWork *work, uint64_t addr, bool write);
/*
 * Count the units of an access that no earlier one of its range touched.  The
 * range was accessed from @origin to @addr, or from @origin back to the end.
 */
void dsa_count_access(IntelDsa *s, unsigned engine, const DsaWork *work,
                      uint32_t tc_flag, uint64_t origin, uint64_t addr,
                      DsaAccess access, bool write);

/* delta.c, dif.c: do the next chunk; set the status if that ends it early. */
void dsa_create_delta(IntelDsa *s, unsigned engine, DsaWork *work);
void dsa_apply_delta(IntelDsa *s, unsigned engine, DsaWork *work);
void dsa_dif_step(IntelDsa *s, unsigned engine, DsaWork *work);
/* Bytes of a block with its DIF, if any: in the source; as written, or 0 */
uint32_t dsa_dif_source_block(const uint8_t *desc);
uint32_t dsa_dif_destination_block(const uint8_t *desc);
/* Put the tags of the next block into a completion record. */
void dsa_dif_record(const DsaWork *work, uint8_t *record);
void dsa_dif_init(IntelDsa *s);

/* completion.c */
/* Complete @work: write its record, report errors, send its interrupt. */
void dsa_complete(IntelDsa *s, unsigned engine, DsaWork *work);
bool dsa_event_log_enabled(const IntelDsa *s);
/* Report an error that is not of a descriptor: DSA_ERROR_x (5.8.2) */
void dsa_report_error(IntelDsa *s, uint8_t error);
/* A full dedicated WQ drops @desc. */
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

/* Events, each a bit of its category (D.1.1; from 0x40 on, D.2.1) */
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

/* What the filters of counters look at of an event */
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
/* Count @event, one DSA_EV_x or 0, which happened @n times. */
void dsa_perfmon_count(IntelDsa *s, unsigned category, uint32_t event,
                       const DsaSource *source, uint64_t n);
/* The DsaSource of an event of @desc; @tc_flag selects its traffic class. */
DsaSource dsa_perfmon_source(const IntelDsa *s, unsigned engine, unsigned wq,
                             const uint8_t *desc, uint32_t tc_flag);
/* Count cycles up to @time.  Call it before what they depend on changes. */
void dsa_perfmon_advance(IntelDsa *s, int64_t time);
/* The same up to now, or to the engines' next event if they lag behind. */
void dsa_perfmon_sync(IntelDsa *s);
void dsa_perfmon_timer(void *opaque);
/* Set the timer for the next overflow of cycles that interrupts or freezes. */
void dsa_perfmon_arm(IntelDsa *s);

/* vmstate.c */
extern const VMStateDescription dsa_vmstate;

#endif
