/*
 * Helpers of the PMU tests: scripts for the payload, machines that run them,
 * and results.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A test writes a script of operations (payload/payload.h), runs it on a
 * machine of its own and looks at the results.
 */

#ifndef QTEST_PMU_MACHINE_H
#define QTEST_PMU_MACHINE_H

#include "libqtest.h"
#include "payload/payload.h"

/* CPUs.  UNSAMPLED: the model simulates all in detail; METRICS: it samples. */
#define PMU_CPU_UNSAMPLED \
    "-cpu Icelake-Server,+perf-metrics,pmu-sampling=off,check=off "
#define PMU_CPU_METRICS "-cpu Icelake-Server,+perf-metrics,check=off "
#define PMU_CPU_SPR     "-cpu SapphireRapids,+perf-metrics,check=off "
#define PMU_CPU_PMU     "-cpu Icelake-Server,pmu=on,check=off "
#define PMU_CPU_NONE    "-cpu Icelake-Server,check=off "

/* MSRs (SDM vol. 4, table 2-2). */
#define MSR_PMC(n)          (0x0c1 + (n))
#define MSR_EVTSEL(n)       (0x186 + (n))
#define MSR_MISC_ENABLE     0x1a0
#define MSR_DEBUGCTL        0x1d9
#define MSR_FIXED_CTR(n)    (0x309 + (n))
#define MSR_PERF_METRICS    0x329
#define MSR_CAPABILITIES    0x345
#define MSR_FIXED_CTR_CTRL  0x38d
#define MSR_GLOBAL_STATUS   0x38e
#define MSR_GLOBAL_CTRL     0x38f
#define MSR_GLOBAL_RESET    0x390
#define MSR_GLOBAL_SET      0x391
#define MSR_GLOBAL_INUSE    0x392
#define MSR_A_PMC(n)        (0x4c1 + (n))

/* IA32_PERFEVTSELx (SDM vol. 3B, 20.2.1.1) and events (table 20-1). */
#define EVTSEL_USR          (1ull << 16)
#define EVTSEL_OS           (1ull << 17)
#define EVTSEL_EDGE         (1ull << 18)
#define EVTSEL_INT          (1ull << 20)
#define EVTSEL_ANY          (1ull << 21)
#define EVTSEL_EN           (1ull << 22)
#define EVTSEL_CMASK(n)     ((uint64_t)(n) << 24)
#define EVENT_CYCLES        0x003c
#define EVENT_REF_CYCLES    0x013c
#define EVENT_INSTRUCTIONS  0x00c0
#define EVENT_BRANCHES      0x00c4
#define EVENT_BRANCH_MISSES 0x00c5
#define EVENT_SLOTS         0x01a4
#define EVENT_BACKEND       0x02a4
#define EVENT_RETIRING      0x02c2
#define EVENT_FRONTEND      0x019c
#define EVENT_TLB_FLUSHES   0x01bd
#define EVENT_LLC_REFERENCES 0x4f2e
#define EVENT_LLC_MISSES    0x412e

/* IA32_FIXED_CTR_CTRL */
#define FIXED_OS(n)         (1ull << (4 * (n)))
#define FIXED_USR(n)        (2ull << (4 * (n)))
#define FIXED_ALL(n)        (3ull << (4 * (n)))
#define FIXED_PMI(n)        (8ull << (4 * (n)))

/* IA32_PERF_GLOBAL_CTRL and its relatives */
#define GLOBAL_GP(n)        (1ull << (n))
#define GLOBAL_FIXED(n)     (1ull << (32 + (n)))
#define GLOBAL_METRICS      (1ull << 48)
#define GLOBAL_CTR_FRZ      (1ull << 59)

#define COUNTER_MASK        ((1ull << 48) - 1)

/* LVTPC (SDM vol. 3A, figure 11-8). */
#define LVT_FIXED           0x000
#define LVT_SMI             0x200
#define LVT_NMI             0x400
#define LVT_INIT            0x500
#define LVT_EXTINT          0x700
#define LVT_MODE            0x700
#define LVT_MASKED          0x10000
/* The error status register: a vector below 16 was received (11.5.3). */
#define ESR_RECEIVED_ILLEGAL 0x40

#define VECTOR_DB           1
#define VECTOR_NMI          2
#define VECTOR_UD           6
#define VECTOR_GP           13
#define VECTOR_PF           14

#define PMU_MAX_OPS         0x2000

typedef struct PmuScript {
    PayloadOp op[PAYLOAD_CPUS][PMU_MAX_OPS];
    unsigned num_ops[PAYLOAD_CPUS];
    /* CPU that pmu_op() appends to, and whose results pmu_value() returns */
    unsigned cpu;

    /* Filled in by pmu_finish(). */
    PayloadResult result[PAYLOAD_CPUS][PMU_MAX_OPS];
    PayloadProgress progress[PAYLOAD_CPUS];
    PayloadEvent event[PAYLOAD_CPUS][PAYLOAD_LOG_ENTRIES];
} PmuScript;

/* A machine that runs a script. */
typedef struct PmuMachine {
    QTestState *qts;
    char *dir;                  /* directory of temporary files */
    char *args;                 /* QEMU's arguments that run the script, without
                                   accelerator */
} PmuMachine;

PmuScript *pmu_script_new(void);
void pmu_script_free(PmuScript *script);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PmuScript, pmu_script_free)

/* Append an operation; returns the index of its result. */
unsigned pmu_op(PmuScript *script, uint32_t code, uint32_t arg0,
                uint64_t a, uint64_t b);

/* Append operations that many tests use. */
unsigned pmu_rdmsr(PmuScript *script, uint32_t msr);
unsigned pmu_wrmsr(PmuScript *script, uint32_t msr, uint64_t value);
unsigned pmu_rdpmc(PmuScript *script, uint32_t ecx);
void pmu_poke32(PmuScript *script, uint64_t address, uint32_t value);
/* Write @length bytes of code, filled up to a multiple of four with RET. */
void pmu_poke_code(PmuScript *script, uint64_t address, const uint8_t *bytes,
                   unsigned length);
/* Make the handler of NMIs take @count steps; STEP_END is not among them. */
void pmu_handle_by_steps(PmuScript *script, const PayloadStep *steps,
                         unsigned count);
/* Set field @offset (PROGRESS_x) of the script's CPU. */
void pmu_set(PmuScript *script, uint64_t offset, uint64_t value);

/* Make the directory of @machine, with the payload and @script in files. */
void pmu_prepare(PmuMachine *machine, const PmuScript *script);
void pmu_remove(PmuMachine *machine);

/*
 * Start a machine that runs @script.  @args are more arguments for QEMU; they
 * choose the CPU and may set options of the TCG accelerator.
 */
void pmu_start(PmuMachine *machine, const PmuScript *script,
               const char *args);
/* Wait until the script waits for @number in OP_SYNC or BLOCK_SPIN. */
void pmu_wait_for(PmuMachine *machine, uint64_t number);
/* Let the script that waits for @number go on. */
void pmu_go(PmuMachine *machine, uint64_t number);
/* Wait until the scripts of @cpus CPUs have ended. */
void pmu_wait_done(PmuMachine *machine, unsigned cpus);
/* Wait at most @seconds for the script of @cpu.  Returns whether it ended. */
bool pmu_done_within(PmuMachine *machine, unsigned cpu, unsigned seconds);
/* Read the results of @cpus CPUs. */
void pmu_read_results(PmuMachine *machine, PmuScript *script, unsigned cpus);
void pmu_stop(PmuMachine *machine);

/* Migrate to @uri and wait until that completes; it must not fail. */
void pmu_migrate(PmuMachine *machine, const char *uri);
/* Wait until the guest that came in runs. */
void pmu_wait_running(PmuMachine *machine);

/*
 * Run QEMU with @args, in the syntax of a shell, and let it quit if it starts.
 * Returns what it wrote to stderr, and sets @status to its exit status.  It
 * must not end by a signal.
 */
char *pmu_start_and_quit(const char *args, int *status);

/* Start a machine with @script of one CPU, wait for results, and stop it. */
void pmu_run(PmuScript *script, const char *args);

/* Fail the test, with a message about @what, if @actual is not @expected. */
void pmu_expect(uint64_t actual, uint64_t expected, const char *what, ...)
    G_GNUC_PRINTF(3, 4);

/*
 * Run @script without qtest or monitor.  Returns what OP_DUMP wrote.  If the
 * script does not get to OP_EXIT, returns NULL and fails the test.
 */
GBytes *pmu_run_alone(const PmuScript *script, const char *args);
/* The same with the files of @machine, which pmu_prepare() has made. */
GBytes *pmu_run_prepared(const PmuMachine *machine, const char *args);

/* Returns the result of operation @index, which must not have faulted. */
uint64_t pmu_value(const PmuScript *script, unsigned index);
/* Returns the vector of the exception that it raised, or VECTOR_NONE. */
unsigned pmu_vector(const PmuScript *script, unsigned index);
/* Returns the 64-bit value that RDMSR or RDPMC @index returned in EDX:EAX. */
uint64_t pmu_register(const PmuScript *script, unsigned index);

#endif
