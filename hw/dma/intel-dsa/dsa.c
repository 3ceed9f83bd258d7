/*
 * Intel Data Streaming Accelerator: the PCI device.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "hw/pci/msix.h"
#include "hw/pci/pcie.h"
#include "hw/qdev-properties.h"
#include "exec/address-spaces.h"
#include "qapi/error.h"
#include "qemu/log.h"
#include "qemu/module.h"
#include "qemu/units.h"
#include "system/system.h"
#include "dsa.h"

#define MMIO_BAR    0
#define PORTAL_BAR  2
#define PASID_CAP   PCI_CONFIG_SPACE_SIZE
#define PASID_BITS  20

/* A numeric property, and its limits */
typedef struct DsaLimit {
    const char *name;
    uint32_t value;
    uint32_t min;
    uint32_t max;
} DsaLimit;

static bool check_properties(const IntelDsa *s, Error **errp)
{
    const DsaLimit limits[] = {
        { "wqs", s->num_wqs, 1, DSA_MAX_WQS },
        { "groups", s->num_groups, 1, DSA_MAX_GROUPS },
        { "engines", s->num_engines, 1, DSA_MAX_ENGINES },
        { "wq-size", s->total_wq_size, 1, DSA_MAX_WQ_SIZE },
        { "perf-counters", s->num_counters, 0, DSA_MAX_COUNTERS },
        { "perf-width", s->counter_width, 8, 64 },
        { "bandwidth", s->bandwidth, 1, 1000000 },
        { "latency", s->latency, 1, 1000000000 },
    };

    for (unsigned i = 0; i < ARRAY_SIZE(limits); i++) {
        const DsaLimit *limit = &limits[i];

        if (limit->value < limit->min || limit->value > limit->max) {
            error_setg(errp, "%s=%u: must be %u to %u", limit->name,
                       limit->value, limit->min, limit->max);
            return false;
        }
    }
    if (s->ims_entries % DSA_IMS_UNIT || s->ims_entries > DSA_MAX_IMS) {
        error_setg(errp, "ims-entries=%u: must be a multiple of %u, up to %u",
                   s->ims_entries, DSA_IMS_UNIT, DSA_MAX_IMS);
        return false;
    }
    return true;
}

/*
 * QEMU's IOMMUs have no way for a device to ask for the address space of a
 * PASID.  So a device with PASIDs must not be behind one: then there is no
 * address space but memory itself.
 */
static bool check_no_iommu(IntelDsa *s, Error **errp)
{
    PCIDevice *pci = PCI_DEVICE(s);

    if (pci_device_iommu_address_space(pci) != &address_space_memory) {
        error_setg(errp, "pasid=on: must not be behind an IOMMU, which has "
                   "no address spaces for PASIDs of this device");
        return false;
    }
    return true;
}

/* The machine is complete: exit if there is an IOMMU that came later. */
static void dsa_machine_done(Notifier *notifier, void *data)
{
    IntelDsa *s = container_of(notifier, IntelDsa, machine_done);
    Error *err = NULL;

    if (!check_no_iommu(s, &err)) {
        error_reportf_err(err, "-device " TYPE_INTEL_DSA ": ");
        exit(EXIT_FAILURE);
    }
}

/* Add the PASID capability, which shared WQs need. */
static bool add_pasid(IntelDsa *s, Error **errp)
{
    PCIDevice *pci = PCI_DEVICE(s);

    if (!pci_bus_is_express(pci_get_bus(pci))) {
        error_setg(errp, "pasid=on: needs a PCI Express bus");
        return false;
    } else if (!check_no_iommu(s, errp)) {
        return false;
    }
    s->pasid_cap = PASID_CAP;
    pcie_add_capability(pci, PCI_EXT_CAP_ID_PASID, 1, PASID_CAP,
                        PCI_EXT_CAP_PASID_SIZEOF);
    pci_set_word(pci->config + PASID_CAP + PCI_PASID_CAP,
                 PASID_BITS << 8 | PCI_PASID_CAP_PRIV);
    pci_set_word(pci->wmask + PASID_CAP + PCI_PASID_CTRL,
                 PCI_PASID_CTRL_ENABLE | PCI_PASID_CTRL_PRIV);
    return true;
}

static uint16_t pasid_control(const IntelDsa *s)
{
    return s->pasid_cap ? pci_get_word(s->parent_obj.config + s->pasid_cap +
                                       PCI_PASID_CTRL) : 0;
}

bool dsa_pasid_enabled(const IntelDsa *s)
{
    return pasid_control(s) & PCI_PASID_CTRL_ENABLE;
}

bool dsa_priv_mode_enabled(const IntelDsa *s)
{
    return pasid_control(s) & PCI_PASID_CTRL_PRIV;
}

static void make_queues(IntelDsa *s)
{
    s->ring_entries = s->num_wqs * s->total_wq_size;
    s->ring_bytes = s->ring_entries * DSA_DESC_SIZE;
    s->ring_desc = g_malloc0(s->ring_bytes);
    s->ring_submitted = g_new0(int64_t, s->ring_entries);
    s->ring_ims = g_new0(uint8_t, s->ring_entries);
    for (unsigned wq = 0; wq < s->num_wqs; wq++) {
        s->queue[wq].desc = s->ring_desc +
                            wq * s->total_wq_size * DSA_DESC_SIZE;
        s->queue[wq].submitted = s->ring_submitted + wq * s->total_wq_size;
        s->queue[wq].ims = s->ring_ims + wq * s->total_wq_size;
    }
}

static void dsa_realize(PCIDevice *pci, Error **errp)
{
    IntelDsa *s = INTEL_DSA(pci);
    unsigned vectors = s->num_wqs + 1;

    if (!check_properties(s, errp)) {
        return;
    }
    if (pci_bus_is_express(pci_get_bus(pci))) {
        if (pcie_endpoint_cap_init(pci, 0x80) < 0) {
            error_setg(errp, "no room for the PCI Express capability");
            return;
        }
        pcie_cap_flr_init(pci);
    }
    if (s->pasid && !add_pasid(s, errp)) {
        return;
    }
    memory_region_init_io(&s->mmio, OBJECT(s), &dsa_mmio_ops, s,
                          "intel-dsa-mmio", DSA_MMIO_SIZE);
    memory_region_init_io(&s->portals, OBJECT(s), &dsa_portal_ops, s,
                          "intel-dsa-portals",
                          pow2ceil(s->num_wqs * DSA_PORTALS_SIZE));
    pci_register_bar(pci, MMIO_BAR, PCI_BASE_ADDRESS_MEM_TYPE_64 |
                     PCI_BASE_ADDRESS_MEM_PREFETCH, &s->mmio);
    pci_register_bar(pci, PORTAL_BAR, PCI_BASE_ADDRESS_MEM_TYPE_64 |
                     PCI_BASE_ADDRESS_MEM_PREFETCH, &s->portals);
    if (msix_init(pci, vectors, &s->mmio, MMIO_BAR, DSA_MSIX_TABLE, &s->mmio,
                  MMIO_BAR, DSA_MSIX_PBA, 0, errp) < 0) {
        return;
    }
    for (unsigned i = 0; i < vectors; i++) {
        msix_vector_use(pci, i);
    }

    make_queues(s);
    s->ims = g_new0(DsaIms, s->ims_entries);
    for (unsigned i = 0; i < ARRAY_SIZE(s->buffer); i++) {
        /* The last copy of an 8-byte pattern may reach past the chunk. */
        s->buffer[i] = g_malloc0(DSA_CHUNK + 8);
    }
    dsa_dif_init(s);
    s->timer = timer_new_ns(QEMU_CLOCK_VIRTUAL, dsa_engines_run, s);
    s->perfmon.timer = timer_new_ns(QEMU_CLOCK_VIRTUAL, dsa_perfmon_timer, s);
    if (s->pasid && !phase_check(PHASE_MACHINE_READY)) {
        s->machine_done.notify = dsa_machine_done;
        qemu_add_machine_init_done_notifier(&s->machine_done);
    }
}

/*
 * Code of the device may be running, or a CPU may be about to access it.  What
 * these need stays until dsa_instance_finalize().
 */
static void dsa_exit(PCIDevice *pci)
{
    IntelDsa *s = INTEL_DSA(pci);

    s->unplugged = true;
    if (s->machine_done.notify) {
        qemu_remove_machine_init_done_notifier(&s->machine_done);
        s->machine_done.notify = NULL;
    }
    timer_del(s->timer);
    timer_del(s->perfmon.timer);
    msix_uninit(pci, &s->mmio, &s->mmio);
    if (pci->exp.exp_cap) {
        pcie_cap_exit(pci);
    }
}

static void dsa_instance_finalize(Object *obj)
{
    IntelDsa *s = INTEL_DSA(obj);

    timer_free(s->timer);
    timer_free(s->perfmon.timer);
    for (unsigned i = 0; i < ARRAY_SIZE(s->buffer); i++) {
        g_free(s->buffer[i]);
    }
    g_free(s->ring_desc);
    g_free(s->ring_submitted);
    g_free(s->ring_ims);
    g_free(s->ims);
}

static void reset(IntelDsa *s)
{
    if (s->pasid_cap) {
        pci_set_word(s->parent_obj.config + s->pasid_cap + PCI_PASID_CTRL, 0);
    }
    dsa_engines_reset(s);
    dsa_config_reset(s, false);
    dsa_perfmon_reset(s);
}

static void dsa_reset(DeviceState *dev)
{
    IntelDsa *s = INTEL_DSA(dev);

    if (s->depth) {
        s->reset_asked = true;
    } else {
        reset(s);
    }
}

/* Halt.  An interrupt's message must not reach the device's own registers. */
static void halt(IntelDsa *s)
{
    MemReentrancyGuard *guard = &DEVICE(s)->mem_reentrancy_guard;
    bool engaged = guard->engaged_in_io;

    guard->engaged_in_io = true;
    dsa_halt(s);
    guard->engaged_in_io = engaged;
}

static void do_what_was_asked(IntelDsa *s)
{
    bool halts = s->halt_asked && !s->reset_asked &&
                 dsa_state(s) == DSA_STATE_ENABLED;
    bool resets = s->reset_asked;

    s->halt_asked = false;
    s->reset_asked = false;
    if (resets) {
        reset(s);
    } else if (halts) {
        halt(s);
    } else {
        dsa_engines_kick(s);
    }
}

bool dsa_enter(IntelDsa *s)
{
    if (s->unplugged) {
        return false;
    }
    object_ref(OBJECT(s));
    s->depth++;
    return true;
}

void dsa_leave(IntelDsa *s)
{
    /* This ends: a device that was reset or halted cannot halt again. */
    while (s->depth == 1 && !s->unplugged && dsa_is_disturbed(s)) {
        do_what_was_asked(s);
    }
    s->depth--;
    object_unref(OBJECT(s));
}

void dsa_run_guarded(IntelDsa *s, void (*work)(IntelDsa *s))
{
    MemReentrancyGuard *guard = &DEVICE(s)->mem_reentrancy_guard;

    if (dsa_enter(s)) {
        guard->engaged_in_io = true;
        work(s);
        guard->engaged_in_io = false;
        dsa_leave(s);
    }
}

static bool is_bus_master(PCIDevice *pci)
{
    return pci_get_word(pci->config + PCI_COMMAND) & PCI_COMMAND_MASTER;
}

static void dsa_config_write(PCIDevice *pci, uint32_t addr, uint32_t value,
                             int size)
{
    IntelDsa *s = INTEL_DSA(pci);
    bool was_master = is_bus_master(pci);
    uint16_t pasid = pasid_control(s);

    if (!dsa_enter(s)) {
        return;
    }
    pci_default_write_config(pci, addr, value, size);
    if (dsa_state(s) == DSA_STATE_ENABLED &&
        (is_bus_master(pci) != was_master || pasid_control(s) != pasid)) {
        qemu_log_mask(LOG_GUEST_ERROR, "%s: configuration space was changed "
                      "while the device was enabled\n", TYPE_INTEL_DSA);
        s->halt_asked = true;
    }
    if (pci->exp.exp_cap) {
        pcie_cap_flr_write_config(pci, addr, value, size);
    }
    dsa_leave(s);
}

/* On a conventional PCI bus it has no PCI Express capability. */
static void dsa_instance_init(Object *obj)
{
    PCI_DEVICE(obj)->cap_present |= QEMU_PCI_CAP_EXPRESS;
}

static const Property dsa_properties[] = {
    DEFINE_PROP_UINT32("wqs", IntelDsa, num_wqs, 8),
    DEFINE_PROP_UINT32("groups", IntelDsa, num_groups, 4),
    DEFINE_PROP_UINT32("engines", IntelDsa, num_engines, 4),
    DEFINE_PROP_UINT32("wq-size", IntelDsa, total_wq_size, 128),
    DEFINE_PROP_UINT32("perf-counters", IntelDsa, num_counters, 8),
    DEFINE_PROP_UINT32("perf-width", IntelDsa, counter_width, 48),
    DEFINE_PROP_BOOL("event-log", IntelDsa, event_log, true),
    DEFINE_PROP_UINT32("bandwidth", IntelDsa, bandwidth, 30000),
    DEFINE_PROP_UINT32("latency", IntelDsa, latency, 1000),
    DEFINE_PROP_UINT32("ims-entries", IntelDsa, ims_entries, 256),
    DEFINE_PROP_BOOL("pasid", IntelDsa, pasid, false),
};

static void dsa_class_init(ObjectClass *class, void *data)
{
    DeviceClass *dc = DEVICE_CLASS(class);
    PCIDeviceClass *pc = PCI_DEVICE_CLASS(class);

    pc->realize = dsa_realize;
    pc->exit = dsa_exit;
    pc->config_write = dsa_config_write;
    pc->vendor_id = PCI_VENDOR_ID_INTEL;
    pc->device_id = DSA_PCI_DEVICE_ID;
    pc->class_id = PCI_CLASS_SYSTEM_OTHER;
    DEFERRABLE_WRITE_CLASS(class)->write = dsa_portal_defer;
    dc->desc = "Intel Data Streaming Accelerator";
    dc->vmsd = &dsa_vmstate;
    device_class_set_legacy_reset(dc, dsa_reset);
    device_class_set_props(dc, dsa_properties);
    set_bit(DEVICE_CATEGORY_MISC, dc->categories);
}

static const TypeInfo dsa_type_info = {
    .name = TYPE_INTEL_DSA,
    .parent = TYPE_PCI_DEVICE,
    .instance_size = sizeof(IntelDsa),
    .instance_init = dsa_instance_init,
    .instance_finalize = dsa_instance_finalize,
    .class_init = dsa_class_init,
    .interfaces = (InterfaceInfo[]) {
        { INTERFACE_PCIE_DEVICE },
        { INTERFACE_CONVENTIONAL_PCI_DEVICE },
        { TYPE_DEFERRABLE_WRITE },
        { }
    },
};

static void dsa_register_types(void)
{
    type_register_static(&dsa_type_info);
}

type_init(dsa_register_types)
