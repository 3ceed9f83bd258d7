/*
 * Virtual time by a timing model of the CPUs: -icount shift=model
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Each vCPU has its own time, which grows by what its model ran.  Virtual time
 * is the latest of them, plus what idle jumps added.  A look brings the clock
 * up to date where the instruction stream says so, and nowhere else: two runs
 * of one machine look at the same places, whatever the host does.  A glance is
 * where it is found, in much less time, that no look is needed yet: the model
 * says only roughly how far it is.  It is planned as looks are.
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/error-report.h"
#include "qemu/option.h"
#include "qemu/seqlock.h"
#include "qemu/timer.h"
#include "hw/core/cpu.h"
#include "system/cpu-timers.h"
#include "system/cpu-timers-internal.h"
#include "system/cpus.h"
#include "system/replay.h"
#include "icount-model.h"

/* Instructions from one look or glance to the next. */
#define STRETCH_LEAST   64
#define STRETCH_MOST    65536

/* A look is due so many instructions after the last one, and no glance. */
#define GLANCES_MOST    (1 << 18)

/* What an instruction is supposed to take at most, in 1/1024 ns... */
#define INSN_TIME       (6 * 1024)
/* ... or so many times what it took on average in the stretch before. */
#define INSN_MARGIN     4

/* What it is supposed to take on average if nothing is known, in 1/1024 ns. */
#define INSN_TIME_LEAST 256

/* A stretch hardly takes longer: what travels may not claim so, in ns. */
#define UNSEEN_MOST     NANOSECONDS_PER_SECOND

/* How far a vCPU may be ahead of the others, in ns. */
#define QUANTUM         10000

typedef struct ModelVCPU {
    IcountModelRunTime *run_time;
    int64_t ran;                /* run_time() at the last look */
    int64_t local;              /* its own time at the last look, ns */
    int64_t rough;              /* ... at the last look, glance or read */
    int64_t icount;             /* instructions that it executed */
    int64_t look;               /* ... of the next look or glance */
    int64_t looked_icount;      /* ... of the last look */
    int64_t read_icount;        /* ... of the last look, glance or read */
    int64_t deadline;           /* the next event as of the last plan, ns */
    int64_t turn_end;           /* ... and the end of its turn */
    int64_t insn_time;          /* of an instruction lately, in 1/1024 ns */
    bool must_look;             /* next time, not glance */
    bool publishing;            /* a look is under way */
    bool halted;                /* it was, when it was last seen */
    bool waits;                 /* it is another one's turn */
    bool skips;                 /* ... or timers ran: it does not execute now */
} ModelVCPU;

static struct {
    bool enabled;
    GHashTable *vcpus;          /* ModelVCPU by CPUState: fixed at startup */
    CPUState *turn;             /* whose turn it is, of several */
    int64_t round, horizon;     /* when turns began, and end */
} model;

bool icount_model_enabled(void)
{
    return model.enabled;
}

bool icount_model_configure(QemuOpts *opts, const char **option, Error **errp)
{
    if (g_strcmp0(*option, "model")) {
        return true;
    }
    if (qemu_opt_get_bool(opts, "align", false)) {
        error_setg(errp, "-icount shift=model and align=on are incompatible: "
                   "modelled time does not follow the host's");
        return false;
    }
    if (qemu_opt_get(opts, "rr") && !qemu_opt_get_bool(opts, "sleep", true)) {
        error_setg(errp, "-icount shift=model and rr=%s need sleep=on: nothing "
                   "comes from outside while vCPUs do not sleep",
                   qemu_opt_get(opts, "rr"));
        return false;
    }
    model.enabled = true;
    model.vcpus = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    *option = "0";
    return true;
}

/* With rr=, only vCPUs that sleep let in what comes from outside. */
bool icount_model_sleeps(QemuOpts *opts)
{
    return !model.enabled || qemu_opt_get(opts, "rr");
}

static ModelVCPU *model_vcpu(CPUState *cpu)
{
    return g_hash_table_lookup(model.vcpus, cpu);
}

void icount_model_add(CPUState *cpu, IcountModelRunTime *run_time)
{
    ModelVCPU *vcpu = g_new0(ModelVCPU, 1);

    vcpu->run_time = run_time;
    vcpu->halted = true;
    g_hash_table_insert(model.vcpus, cpu, vcpu);
}

void icount_model_remove(CPUState *cpu)
{
    /* What is kept of it is not looked at: threads look without a lock. */
    qatomic_cmpxchg(&model.turn, cpu, NULL);
}

/* Virtual time now, as shift is 0. */
static int64_t model_now(void)
{
    return qatomic_read_i64(&timers_state.qemu_icount) +
           qatomic_read_i64(&timers_state.qemu_icount_bias);
}

int64_t icount_model_ran(CPUState *cpu)
{
    ModelVCPU *vcpu = model_vcpu(cpu);
    /* Reads have published that, of what no look has accounted for. */
    int64_t published = MIN(vcpu->rough, model_now()) - vcpu->local;

    return vcpu->ran + MAX(published, 0);
}

bool icount_model_loaded(CPUState *cpu, int64_t ran)
{
    ModelVCPU *vcpu = model_vcpu(cpu);
    int64_t run_time = vcpu->run_time(cpu, false);

    if (ran < 0 || ran - run_time > UNSEEN_MOST ||
        run_time - ran > UNSEEN_MOST) {
        vcpu->ran = run_time;
        return false;
    }
    /* What was published may have been more, by an estimate. */
    vcpu->ran = MIN(ran, run_time);
    /* Now, when it comes to run. */
    vcpu->local = 0;
    vcpu->rough = 0;
    vcpu->halted = true;
    vcpu->look = vcpu->icount;
    vcpu->looked_icount = vcpu->icount;
    vcpu->read_icount = -1;
    vcpu->must_look = false;
    vcpu->insn_time = 0;
    model.round = 0;
    model.horizon = 0;
    qatomic_set(&model.turn, NULL);
    return true;
}

static void model_move(int64_t ns)
{
    qatomic_set_i64(&timers_state.qemu_icount_bias,
                    timers_state.qemu_icount_bias + ns);
}

/* So many instructions took @ns. */
static void model_note_speed(ModelVCPU *vcpu, int64_t insns, int64_t ns)
{
    if (insns >= STRETCH_LEAST) {
        vcpu->insn_time = ns * 1024 / insns;
    }
}

/*
 * Look how far @cpu is, which executed @executed since it was accounted.  At
 * most once at one place: settling estimates again changes them, and how often
 * this is called at one place depends on the host.
 */
static void model_look(CPUState *cpu, ModelVCPU *vcpu, int64_t executed)
{
    int64_t icount = vcpu->icount + executed;
    int64_t insns = icount - vcpu->looked_icount, ran;

    vcpu->must_look = false;
    if (!insns) {
        return;
    }
    ran = vcpu->run_time(cpu, false);
    model_note_speed(vcpu, insns, ran - vcpu->ran);
    vcpu->looked_icount = icount;
    vcpu->read_icount = icount;
    vcpu->local += ran - vcpu->ran;
    vcpu->rough = vcpu->local;
    vcpu->ran = ran;
}

/*
 * Have the time of @cpu in @rough, after @icount of its instructions.  False if
 * it is there.
 */
static bool model_read(CPUState *cpu, ModelVCPU *vcpu, int64_t icount)
{
    if (icount == vcpu->read_icount) {
        return false;
    }
    vcpu->read_icount = icount;
    vcpu->rough = vcpu->local + vcpu->run_time(cpu, true) - vcpu->ran;
    return true;
}

/* Glance where @cpu is.  False if it is to look. */
static bool model_glance(CPUState *cpu, ModelVCPU *vcpu)
{
    int64_t insns = vcpu->icount - vcpu->looked_icount;
    int64_t guess, event;

    if (vcpu->must_look || insns >= GLANCES_MOST || !insns) {
        return false;
    }
    model_read(cpu, vcpu, vcpu->icount);
    guess = vcpu->rough - vcpu->local;
    event = MIN(vcpu->deadline, vcpu->turn_end);
    if (event - vcpu->rough <= guess) {
        return false;
    }
    model_note_speed(vcpu, insns, guess);
    return true;
}

/* Time is @ns at least. */
static void model_publish(int64_t ns)
{
    int64_t now = model_now();

    if (ns > now) {
        model_move(ns - now);
    }
}

static int64_t model_executed(const CPUState *cpu)
{
    return cpu->icount_budget -
           (cpu->neg.icount_decr.u16.low + cpu->icount_extra);
}

/* Both counters change together for other threads: icount_update() locks. */
static void model_account(CPUState *cpu, ModelVCPU *vcpu)
{
    vcpu->publishing = true;
    icount_update(cpu);
    vcpu->publishing = false;
}

void icount_model_look(CPUState *cpu, unsigned ahead)
{
    ModelVCPU *vcpu = model_vcpu(cpu);

    vcpu->look = MIN(vcpu->look, vcpu->icount + model_executed(cpu) - ahead);
    vcpu->must_look = true;
    cpu_exit(cpu);
}

void icount_model_read(void)
{
    CPUState *cpu = current_cpu;
    ModelVCPU *vcpu;
    int64_t icount;

    if (!model.enabled || !cpu || !cpu->running) {
        return;
    }
    vcpu = model_vcpu(cpu);
    icount = vcpu->icount + model_executed(cpu);
    if (!model_read(cpu, vcpu, icount)) {
        return;
    }
    if (vcpu->rough >= vcpu->deadline) {
        /* Look right behind this instruction. */
        icount_model_look(cpu, 0);
    }
    model_account(cpu, vcpu);
}

void icount_model_account(CPUState *cpu)
{
    /* It locks, so that whoever reads while it does reads again. */
    if (model.enabled && model_executed(cpu)) {
        icount_update(cpu);
    }
}

void icount_model_halt(CPUState *cpu)
{
    ModelVCPU *vcpu = model_vcpu(cpu);
    int64_t executed = model_executed(cpu);

    model_look(cpu, vcpu, executed);
    vcpu->look = MIN(vcpu->look, vcpu->icount + executed);
    vcpu->deadline = INT64_MAX;
    vcpu->halted = true;
    model_account(cpu, vcpu);
}

void icount_model_executed(CPUState *cpu, int64_t executed)
{
    ModelVCPU *vcpu;

    if (!model.enabled) {
        return;
    }
    vcpu = model_vcpu(cpu);
    if (executed) {
        model_move(-executed);
        vcpu->icount += executed;
    }
    if (cpu->running) {
        if (vcpu->publishing) {
            /* It runs on: what is due must not have been yet. */
            model_publish(MIN(vcpu->rough, vcpu->deadline - 1));
        }
        return;
    }
    if (cpu->halted && !vcpu->halted) {
        /* Not by HLT, or woken for nothing. */
        vcpu->halted = true;
        vcpu->look = MIN(vcpu->look, vcpu->icount);
        vcpu->must_look = true;
    }
    if (vcpu->icount >= vcpu->look && !model_glance(cpu, vcpu)) {
        model_look(cpu, vcpu, 0);
        model_publish(vcpu->local);
    }
}

/* Instructions until @until if one takes @insn_time, in 1/1024 ns. */
static int64_t model_insns(const ModelVCPU *vcpu, int64_t until,
                           int64_t insn_time)
{
    int64_t now = MAX(vcpu->local, vcpu->rough);
    int64_t left = MIN(MAX(until - now, 0), INT32_MAX);

    return left * 1024 / insn_time;
}

/* Look or glance before it can be @event, and where the turn may well end. */
static void model_plan(ModelVCPU *vcpu, int64_t event, int64_t end)
{
    int64_t soon = model_insns(vcpu, event, MAX(INSN_TIME, INSN_MARGIN *
                                                           vcpu->insn_time));
    int64_t turn = model_insns(vcpu, end, MAX(INSN_TIME_LEAST,
                                              vcpu->insn_time));
    int64_t insns = MIN(soon, turn);

    vcpu->turn_end = end;
    vcpu->look = vcpu->icount + MIN(MAX(insns, STRETCH_LEAST), STRETCH_MOST);
}

static bool model_has_work(CPUState *cpu)
{
    return !cpu->halted || cpu_has_work(cpu);
}

/* What the guest makes of it: other work of its thread does not count. */
static bool model_is_awake(CPUState *cpu)
{
    return cpu_can_run(cpu) && model_has_work(cpu);
}

/*
 * If all vCPUs were halted, time may have jumped: a round begins now.  A vCPU
 * that was halted goes on from where the round began: another one has woken it
 * since.
 */
static void model_wake(void)
{
    bool all_halted = true;
    CPUState *cpu;

    CPU_FOREACH(cpu) {
        if (model_has_work(cpu) && !model_vcpu(cpu)->halted) {
            all_halted = false;
        }
    }
    if (all_halted) {
        model.round = model_now();
        model.horizon = model.round + QUANTUM;
    }
    CPU_FOREACH(cpu) {
        ModelVCPU *vcpu = model_vcpu(cpu);

        if (model_is_awake(cpu)) {
            vcpu->local = MAX(vcpu->local, model.round);
            vcpu->halted = false;
        }
    }
}

static CPUState *model_next(CPUState *cpu)
{
    return (cpu ? CPU_NEXT(cpu) : NULL) ?: first_cpu;
}

/* Whose turn it goes on to be, or is next in the round; NULL: all had theirs */
static CPUState *model_find(void)
{
    CPUState *first = qatomic_read(&model.turn) ?: first_cpu, *cpu = first;

    do {
        if (model_is_awake(cpu) && model_vcpu(cpu)->local < model.horizon) {
            return cpu;
        }
        cpu = model_next(cpu);
    } while (cpu != first);
    return NULL;
}

/* All that are awake have had their turn: begin where the last of them is. */
static void model_begin_round(void)
{
    int64_t least = INT64_MAX;
    CPUState *cpu;

    CPU_FOREACH(cpu) {
        if (model_is_awake(cpu)) {
            least = MIN(least, model_vcpu(cpu)->local);
        }
    }
    if (least < INT64_MAX - QUANTUM) {
        model.round = least;
        model.horizon = least + QUANTUM;
    }
}

/*
 * A turn ends at a look, or when its vCPU halts, and nowhere else: where the
 * host kicks vCPUs out of their loop makes no difference.
 */
static bool model_turn_goes_on(CPUState *turn)
{
    const ModelVCPU *vcpu = turn ? model_vcpu(turn) : NULL;

    return vcpu && model_is_awake(turn) && !vcpu->halted &&
           vcpu->icount < vcpu->look;
}

/* Is it the turn of @cpu? */
static bool model_is_turn(CPUState *cpu)
{
    CPUState *turn = qatomic_read(&model.turn);

    if (model_turn_goes_on(turn)) {
        return turn == cpu;
    }
    model_wake();
    turn = model_find();
    if (!turn) {
        model_begin_round();
        turn = model_find();
    }
    if (turn) {
        qatomic_set(&model.turn, turn);
    }
    return turn == cpu;
}

/*
 * Which timers decide where a look is.  A replay need not have those by which
 * something comes from outside.
 */
static int model_timers(void)
{
    return replay_mode == REPLAY_MODE_NONE ? QEMU_TIMER_ATTR_ALL
                                           : ~QEMU_TIMER_ATTR_EXTERNAL;
}

int64_t icount_model_budget(CPUState *cpu, int64_t budget)
{
    int64_t left, event;
    ModelVCPU *vcpu;
    bool alone;

    if (!model.enabled) {
        return budget;
    }
    vcpu = model_vcpu(cpu);
    if (!vcpu) {
        error_report("-icount shift=model: there is no timing model of CPU "
                     "type %s", object_get_typename(OBJECT(cpu)));
        exit(1);
    }
    vcpu->waits = false;
    vcpu->skips = false;
    if (replay_mode == REPLAY_MODE_PLAY && !budget) {
        /* Something else comes first, which may move the clock. */
        return 0;
    }
    left = qemu_clock_deadline_ns_all(QEMU_CLOCK_VIRTUAL, model_timers());
    alone = g_hash_table_size(model.vcpus) == 1;
    if (!left) {
        if (replay_mode == REPLAY_MODE_PLAY) {
            warn_report_once("-icount shift=model: a timer is due at "
                             "instruction %" PRId64 ", which is not in the "
                             "log: the replay waits for ever", vcpu->icount);
        }
        /* Timers run before it is decided whose turn it is: they may wake. */
        vcpu->skips = !alone;
        return 0;
    }
    vcpu->waits = !alone && !model_is_turn(cpu);
    vcpu->skips = vcpu->waits;
    if (vcpu->waits) {
        return 0;
    }
    if (alone && vcpu->halted) {
        vcpu->local = MAX(vcpu->local, model_now());
        vcpu->halted = false;
    }
    event = left < 0 ? INT64_MAX : model_now() + left;
    /*
     * An event that is put off makes no difference: nothing ends the execution
     * loop for that.
     */
    if (vcpu->icount >= vcpu->look || event < vcpu->deadline) {
        vcpu->deadline = event;
        model_plan(vcpu, event, alone ? INT64_MAX : model.horizon);
    }
    left = vcpu->look - vcpu->icount;
    /* A replay's log says where something else comes first. */
    return replay_mode == REPLAY_MODE_PLAY ? MIN(left, budget) : left;
}

bool icount_model_waits(CPUState *cpu)
{
    return model.enabled && model_vcpu(cpu)->waits;
}

bool icount_model_skips(CPUState *cpu)
{
    return model.enabled && model_vcpu(cpu)->skips;
}
