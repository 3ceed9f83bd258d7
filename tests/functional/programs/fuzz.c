/*
 * A fuzzer of instructions: what an unprivileged process may execute.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 *   fuzz --seed N [--seconds N] [--from ROUND] [--rounds N] [--print]
 *
 * Each round is a process of its own, an ordinary user's, that executes a few
 * thousand sequences of random instructions, one after the other.  A fault
 * ends a sequence, and so does a timer; system calls of theirs fail (seccomp).
 * Meanwhile a thread on another CPU changes the code.  A round depends on the
 * seed and its number alone, but for what that thread does.
 *
 * It prints the number of each round as that begins, and at its end how many
 * sequences ran and what ended them.  --print shows the bytes of each sequence
 * before it runs, slowly, and lets no thread change them.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define PAGE            4096
#define SEQUENCES       500     /* a round */
#define INSNS_MOST      12      /* a sequence */
#define TICK_US         20000   /* a sequence that lives for two has looped */
#define STUCK_TICKS     50
#define ROUND_SECONDS   20      /* it is killed then */
#define NOBODY          65534

/* Below 4 GiB, so that 32-bit code reaches all of it. */
#define CODE_BASE       0x10000000ul
#define DATA_BASE       0x20000000ul
#define DATA_SIZE       (64 * PAGE)
#define STACK_BASE      0x30000000ul
#define STACK_SIZE      (16 * PAGE)

#define CS_64           0x33
#define CS_32           0x23
#define SS_USER         0x2b

/* Flags: what random ones are taken from. */
#define FLAGS_ARITH     0x8d5ul
#define FLAG_TF         0x100ul
#define FLAG_DF         0x400ul
#define FLAG_AC         0x40000
#define FLAGS_FIXED     0x202ul

/* The registers that a sequence begins with, in the order of pushes below. */
typedef struct Entry {
    uint64_t gpr[15];   /* R15 to R8, RDI, RSI, RBP, RBX, RDX, RCX, RAX */
    uint64_t ip, cs, flags, sp, ss;     /* as IRETQ takes them */
} Entry;

/* The places in Entry.gpr of registers with a use of their own. */
enum { R_DI = 8, R_SI, R_BP, R_BX, R_DX, R_CX, R_AX };

typedef struct Counts {
    _Atomic uint64_t sequences, signals[32];
} Counts;

static uint64_t random_state;
static bool print;
static Counts *counts;          /* shared with the rounds' processes */
static uint64_t thread_pointer;
static atomic_uint sequence;    /* the number of the one that runs */
static bool has_pku;
static char signal_stack[16 * PAGE];

extern char __executable_start, etext;
void enter(const Entry *entry);
extern char landing[], landing_pku[];

uint64_t saved_sp;              /* of enter()'s caller */

/*
 * enter() executes a sequence.  A signal handler goes on at landing, which is
 * its return; no register can be relied upon there.
 */
asm(".text\n"
    ".globl enter, landing, landing_pku\n"
    "enter:\n"
    "   push %rbx; push %rbp; push %r12; push %r13; push %r14; push %r15\n"
    "   mov %rsp, saved_sp(%rip)\n"
    "   mov %rdi, %rsp\n"
    "   pop %r15; pop %r14; pop %r13; pop %r12\n"
    "   pop %r11; pop %r10; pop %r9; pop %r8\n"
    "   pop %rdi; pop %rsi; pop %rbp; pop %rbx\n"
    "   pop %rdx; pop %rcx; pop %rax\n"
    "   iretq\n"
    "landing_pku:\n"
    "   xor %eax, %eax; xor %ecx, %ecx; xor %edx, %edx\n"
    "   wrpkru\n"
    "landing:\n"
    "   cld\n"
    "   pop %r15; pop %r14; pop %r13; pop %r12; pop %rbp; pop %rbx\n"
    "   ret\n");

/* SplitMix64: Steele, Lea, Flood, OOPSLA 2014. */
static uint64_t next_random(void)
{
    uint64_t z = random_state += 0x9e3779b97f4a7c15ull;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}

static unsigned below(unsigned n)
{
    return next_random() % n;
}

static bool one_in(unsigned n)
{
    return below(n) == 0;
}

#define PICK(array) ((array)[below(sizeof(array) / sizeof((array)[0]))])

/* Instructions. */

typedef struct Code {
    uint8_t bytes[INSNS_MOST * 40];
    unsigned length;
} Code;

static void put(Code *code, unsigned byte)
{
    if (code->length < sizeof(code->bytes)) {
        code->bytes[code->length++] = byte;
    }
}

static void put_random(Code *code, unsigned bytes)
{
    while (bytes--) {
        put(code, next_random());
    }
}

static void put_prefixes(Code *code)
{
    static const uint8_t prefixes[] = {
        0x66, 0x66, 0x67, 0x67, 0xf2, 0xf3, 0xf0, 0x26, 0x2e, 0x36, 0x3e, 0x64,
        0x65, 0x40, 0x41, 0x44, 0x48, 0x48, 0x4a, 0x4f,
    };
    unsigned n = one_in(64) ? below(16) : one_in(2) ? 0 : below(4);

    while (n--) {
        put(code, PICK(prefixes));
    }
}

/*
 * ModRM with the /digit, or any (8): of a register, of memory where a register
 * points to, or of memory at some distance from here, which is code.
 */
static void put_modrm(Code *code, unsigned digit)
{
    static const uint8_t base[] = { 0, 1, 2, 3, 5, 6, 7 };
    static const uint8_t plain_base[] = { 0, 1, 2, 3, 6, 7 };
    unsigned reg = (digit < 8 ? digit : below(8)) << 3;

    switch (below(8)) {
    case 0:
    case 1:
        put(code, 0xc0 | reg | below(8));
        break;
    case 2:                             /* [rip + offset] */
        put(code, reg | 5);
        put(code, below(256));
        put(code, one_in(8) ? below(32) : 0);
        put(code, 0);
        put(code, 0);
        break;
    case 3:                             /* [base + disp8] */
        put(code, 0x40 | reg | PICK(base));
        put_random(code, 1);
        break;
    case 4:                             /* with an index */
        put(code, reg | 4);
        put_random(code, 1);
        break;
    case 5:
        put_random(code, 1);
        put_random(code, below(5));
        break;
    default:
        put(code, reg | PICK(plain_base));
    }
}

static void put_string(Code *code)
{
    static const uint8_t opcodes[] = {
        0xa4, 0xa5, 0xa6, 0xa7, 0xaa, 0xab, 0xac, 0xad, 0xae, 0xaf, 0x6c, 0x6d,
        0x6e, 0x6f,
    };

    put_prefixes(code);
    put(code, PICK(opcodes));
}

static void put_cache_control(Code *code)
{
    static const uint8_t op[][3] = {
        { 0x00, 0xae, 7 }, { 0x66, 0xae, 7 }, { 0x66, 0xae, 6 },
        { 0x00, 0x18, 0 }, { 0x00, 0x18, 1 }, { 0x00, 0x18, 2 },
        { 0x00, 0x18, 3 }, { 0x00, 0x0d, 1 }, { 0x00, 0x0d, 2 },
        { 0x00, 0xc3, 8 }, { 0x66, 0xe7, 8 }, { 0x00, 0xe7, 8 },
        { 0x00, 0x2b, 8 }, { 0x66, 0xf7, 8 },
    };
    unsigned n = one_in(4) ? 10 : 1;

    while (n--) {
        const uint8_t *o = PICK(op);

        if (one_in(8)) {
            put_prefixes(code);
        }
        if (o[0]) {
            put(code, o[0]);
        }
        put(code, 0x0f);
        put(code, o[1]);
        put_modrm(code, o[2]);
    }
}

static void put_branch(Code *code)
{
    static const uint8_t indirect[] = { 0xe0, 0xd0, 0x20, 0x10, 0x23, 0x13 };
    static const uint8_t returns[] = { 0xc3, 0xc2, 0xcb, 0xca, 0xcf };
    unsigned kind = below(8);
    int to = (int)below(48) - 32;

    if (one_in(4)) {
        put_prefixes(code);
    }
    switch (kind) {
    case 0:
    case 1:
    case 2:
        put(code, 0x70 + below(16));
        put(code, to);
        break;
    case 3:
        put(code, 0xe0 + below(4));     /* LOOPcc, JRCXZ */
        put(code, to);
        break;
    case 4:
        put(code, 0xeb);
        put(code, to);
        break;
    case 5:
        put(code, one_in(2) ? 0xe8 : 0xe9);
        for (unsigned i = 0; i < 4; i++) {
            put(code, (uint32_t)to >> 8 * i);
        }
        break;
    case 6:
        put(code, 0xff);
        put(code, PICK(indirect));
        break;
    default:
        put(code, PICK(returns));
        put_random(code, 2);
    }
}

static void put_vex(Code *code)
{
    if (one_in(8)) {
        put_prefixes(code);
    }
    if (one_in(2)) {
        put(code, 0xc5);
        put_random(code, 1);
    } else {
        put(code, 0xc4);
        put(code, (next_random() & 0xe0) | (one_in(16) ? below(32)
                                                       : 1 + below(3)));
        put_random(code, 1);
    }
    put_random(code, 1);
    put_modrm(code, 8);
    put_random(code, below(2));
}

static void put_x87(Code *code)
{
    put_prefixes(code);
    put(code, 0xd8 + below(8));
    put_modrm(code, 8);
}

static void put_0f(Code *code)
{
    static const uint8_t mandatory[] = { 0x66, 0xf2, 0xf3 };

    put_prefixes(code);
    if (one_in(2)) {
        put(code, PICK(mandatory));
    }
    if (one_in(3)) {
        put(code, 0x40 + below(16));
    }
    put(code, 0x0f);
    switch (below(6)) {
    case 0:
        put(code, 0x38);
        put_random(code, 1);
        break;
    case 1:
        put(code, 0x3a);
        put_random(code, 1);
        put_modrm(code, 8);
        put_random(code, 1);
        return;
    default:
        put_random(code, 1);
    }
    put_modrm(code, 8);
    put_random(code, below(2));
}

static void put_one_byte(Code *code)
{
    put_prefixes(code);
    put_random(code, 1);
    put_modrm(code, 8);
    put_random(code, below(5));
}

/* What ends blocks, serialises, or is for kernels. */
static void put_system(Code *code)
{
    static const char *const op[] = {
        "\x0f\x05", "\x0f\x34", "\xcd\x80", "\xcc", "\xf1", "\xce",
        "\x0f\xa2", "\x0f\x31", "\x0f\x33", "\x0f\x01\xf9", "\x0f\x01\xd0",
        "\x0f\x01\xd1", "\x0f\x01\xef", "\x0f\x01\xee", "\xf3\x90",
        "\x0f\xae\xe8", "\x0f\xae\xf0", "\x0f\xae\xf8", "\xf4", "\x0f\x30",
        "\x0f\x32", "\x9d", "\x9c", "\x9b", "\x8e\xd8", "\x8e\xe0", "\x8e\xd0",
        "\x0f\xae\x26", "\x0f\xae\x2e", "\x0f\xc7\x26", "\x0f\xae\x06",
        "\x0f\xae\x0e", "\xc9", "\x17", "\x0f\xb2\x06", "\x0f\x0b",
        "\xf3\x0f\xae\xd0", "\xf3\x48\x0f\xae\xd0", "\x0f\x77", "\xc5\xf8\x77",
        "\xf0\x48\xff\x06", "\x87\x06", "\x48\x0f\xc7\x0e", "\x0f\xc7\xf0",
        "\xc8\x10\x20\x05", "\x0f\x01\xc8", "\x0f\x01\xc1", "\xfa", "\xe4\x10",
    };
    const char *bytes;

    if (one_in(3)) {
        put_prefixes(code);
    }
    for (bytes = PICK(op); *bytes; bytes++) {
        put(code, (uint8_t)*bytes);
    }
}

static void put_insn(Code *code)
{
    static void (*const kind[])(Code *) = {
        put_string, put_string, put_string, put_cache_control, put_branch,
        put_branch, put_vex, put_vex, put_x87, put_0f, put_0f, put_one_byte,
        put_one_byte, put_system,
    };

    if (one_in(16)) {
        put_random(code, 1 + below(15));
    } else {
        PICK(kind)(code);
    }
}

/* Sequences. */

static void protect_second_page(int protection)
{
    static int now = PROT_READ | PROT_WRITE | PROT_EXEC;

    if (protection != now) {
        mprotect((void *)(CODE_BASE + PAGE), PAGE, protection);
        now = protection;
    }
}

/*
 * Code is two pages, the second one of which may be missing or not to be
 * executed; most of both is INT3, which ends a sequence.  What sequences store
 * there stays for some of those that follow.
 */
static void lay_code(const Code *code, unsigned at)
{
    static unsigned last_at, last_length = 2 * PAGE;
    uint8_t *page = (uint8_t *)CODE_BASE;

    protect_second_page(PROT_READ | PROT_WRITE | PROT_EXEC);
    memset(page + last_at, 0xcc, last_length);
    memcpy(page + at, code->bytes, code->length);
    last_at = at;
    last_length = code->length;
    if (one_in(32)) {
        last_at = 0;
        last_length = 2 * PAGE;
    }
    switch (below(8)) {
    case 0:
        protect_second_page(PROT_NONE);
        break;
    case 1:
        protect_second_page(PROT_READ | PROT_WRITE);
        break;
    }
}

/* Where code begins: at some place of its page, or so that it straddles. */
static unsigned choose_place(const Code *code)
{
    switch (below(4)) {
    case 0:
        return PAGE - 1 - below(code->length);
    case 1:
        return PAGE - code->length;
    default:
        return below(PAGE - code->length);
    }
}

static uint64_t choose_number(void)
{
    uint64_t power = 1ull << below(64);

    switch (below(6)) {
    case 0:
        return below(100);
    case 1:
        return below(0x10000);
    case 2:
        return power + (int8_t)below(256);
    case 3:
        return (next_random() << 32) | below(100);
    case 4:
        return -power;
    default:
        return next_random();
    }
}

static uint64_t choose_pointer(unsigned at)
{
    switch (below(8)) {
    case 0:
        return CODE_BASE + at + below(64);
    case 1:
        return CODE_BASE + below(2 * PAGE);
    case 2:
        return choose_number();
    default:
        return DATA_BASE + below(DATA_SIZE);
    }
}

static void choose_entry(Entry *entry, unsigned at)
{
    for (unsigned i = 0; i < 15; i++) {
        entry->gpr[i] = one_in(2) ? choose_pointer(at) : choose_number();
    }
    entry->gpr[R_SI] = choose_pointer(at);
    entry->gpr[R_DI] = choose_pointer(at);
    entry->gpr[R_BX] = choose_pointer(at);
    entry->gpr[R_CX] = choose_number();
    entry->ip = CODE_BASE + at;
    entry->cs = one_in(4) ? CS_32 : CS_64;
    entry->ss = SS_USER;
    entry->flags = FLAGS_FIXED | (next_random() & FLAGS_ARITH) |
                   (one_in(32) ? FLAG_TF : 0) | (one_in(8) ? FLAG_AC : 0) |
                   (one_in(4) ? FLAG_DF : 0);
    entry->sp = one_in(16) ? choose_pointer(at)
                           : STACK_BASE + STACK_SIZE / 2 + 8 * below(64);
}

static void choose_vectors(void)
{
    uint32_t mxcsr = one_in(2) ? 0x1f80 : next_random() & 0xffff;

    asm volatile("fninit");
    asm volatile("ldmxcsr %0" : : "m"(mxcsr));
}

static void show(const Code *code, const Entry *entry, unsigned number)
{
    printf("%u: at %#lx, %s, rcx %#lx:", number, entry->ip,
           entry->cs == CS_32 ? "32-bit" : "64-bit", entry->gpr[R_CX]);
    for (unsigned i = 0; i < code->length; i++) {
        printf(" %02x", code->bytes[i]);
    }
    printf("\n");
    fflush(stdout);
    usleep(20000);
}

static void run_sequence(unsigned number)
{
    Code code = {};
    unsigned at, insns = 1 + below(INSNS_MOST);
    Entry entry;

    while (insns--) {
        put_insn(&code);
    }
    at = choose_place(&code);
    choose_entry(&entry, at);
    lay_code(&code, at);
    if (print) {
        show(&code, &entry, number);
    }
    choose_vectors();
    atomic_fetch_add(&counts->sequences, 1);
    enter(&entry);
}

/* A round's process. */

/*
 * Does the sequence loop?  If it is in this program, where random code may jump
 * to, it cannot be left, and the process ends.
 */
static bool has_looped(uint64_t ip)
{
    static unsigned last, ticks;
    unsigned now = atomic_load(&sequence);

    ticks = now == last ? ticks + 1 : 0;
    last = now;
    if (ticks == STUCK_TICKS) {
        _exit(1);
    }
    return ticks && (ip < (uintptr_t)&__executable_start ||
                     ip >= (uintptr_t)&etext);
}

/*
 * Once, as a signal every so often would leave no time for anything else where
 * everything is slow.
 */
static void start_timer(void)
{
    const struct itimerval once = { .it_value = { 0, TICK_US } };

    setitimer(ITIMER_REAL, &once, NULL);
}

/* Go on at landing, whatever the sequence has made of the registers. */
static void on_signal(int number, siginfo_t *info, void *opaque)
{
    ucontext_t *context = opaque;
    greg_t *regs = context->uc_mcontext.gregs;
    long result;

    /* A sequence may have changed FS, which C code needs. */
    asm volatile("syscall" : "=a"(result)
                 : "a"(SYS_arch_prctl), "D"(0x1002 /* ARCH_SET_FS */),
                   "S"(thread_pointer)
                 : "rcx", "r11", "memory");
    asm volatile("pushf; andl %0, (%%rsp); popf" : : "i"(~FLAG_AC) : "cc");
    if (number == SIGALRM) {
        start_timer();
        if (!has_looped(regs[REG_RIP])) {
            return;
        }
    }
    atomic_fetch_add(&counts->signals[number], 1);
    regs[REG_RIP] = (uintptr_t)(has_pku ? landing_pku : landing);
    regs[REG_RSP] = saved_sp;
    regs[REG_EFL] = FLAGS_FIXED;
    regs[REG_CSGSFS] = (regs[REG_CSGSFS] & 0xffffffff0000ull) | CS_64 |
                       (uint64_t)SS_USER << 48;
}

static void catch_signals(void)
{
    static const int numbers[] = {
        SIGSEGV, SIGILL, SIGFPE, SIGTRAP, SIGBUS, SIGALRM, SIGSYS,
    };
    stack_t stack = {
        .ss_sp = signal_stack, .ss_size = sizeof(signal_stack),
    };
    struct sigaction action = {
        .sa_sigaction = on_signal,
        .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART,
    };

    sigaltstack(&stack, NULL);
    sigfillset(&action.sa_mask);
    for (unsigned i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        sigaction(numbers[i], &action, NULL);
    }
}

/* System calls are this program's own, or fail. */
static void refuse_system_calls(void)
{
    uint32_t from = (uintptr_t)&__executable_start, to = (uintptr_t)&etext;
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                 offsetof(struct seccomp_data, arch)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 0, 6),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                 offsetof(struct seccomp_data, instruction_pointer) + 4),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 4),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                 offsetof(struct seccomp_data, instruction_pointer)),
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, from, 0, 2),
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, to, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
    };
    struct sock_fprog program = {
        .len = sizeof(filter) / sizeof(filter[0]), .filter = filter,
    };

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
        perror("fuzz: seccomp");
        _exit(1);
    }
}

static void become_nobody(void)
{
    struct rlimit none = {}, files = { 16, 16 };

    if (setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) ||
        setresuid(NOBODY, NOBODY, NOBODY)) {
        perror("fuzz: setresuid");
        _exit(1);
    }
    setrlimit(RLIMIT_CORE, &none);
    setrlimit(RLIMIT_NOFILE, &files);
}

static void map(unsigned long base, size_t size, int protection)
{
    if (mmap((void *)base, size, protection,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1,
             0) != (void *)base) {
        perror("fuzz: mmap");
        _exit(1);
    }
}

static void run_on(unsigned cpu)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(cpu % sysconf(_SC_NPROCESSORS_ONLN), &set);
    sched_setaffinity(0, sizeof(set), &set);
}

/*
 * Change code while it may run: a byte, for good or for a moment.
 */
static void *change_code(void *opaque)
{
    volatile uint8_t *code = (uint8_t *)CODE_BASE;
    uint64_t state = (uintptr_t)opaque;
    sigset_t all;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    run_on(1 + (uintptr_t)opaque);
    for (;;) {
        unsigned at;

        state = state * 6364136223846793005ull + 1442695040888963407ull;
        at = (state >> 33) % PAGE;
        /* Most of the page is filler: look for what is not. */
        while (at < PAGE && code[at] == 0xcc && (state >> 20) % 16) {
            at++;
        }
        if (at < PAGE) {
            uint8_t old = code[at];

            code[at] = state >> 40;
            if ((state >> 50) % 2) {
                code[at] = old;
            }
        }
    }
    return NULL;
}

static void run_round(uint64_t seed, unsigned round)
{
    pthread_t thread;

    random_state = seed ^ (uint64_t)round << 32;
    random_state = next_random();
    become_nobody();
    map(CODE_BASE, 2 * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC);
    map(DATA_BASE, DATA_SIZE, PROT_READ | PROT_WRITE);
    map(STACK_BASE, STACK_SIZE, PROT_READ | PROT_WRITE);
    asm("mov %%fs:0, %0" : "=r"(thread_pointer));
    refuse_system_calls();
    run_on(round);
    if (!print && round % 2) {
        pthread_create(&thread, NULL, change_code, (void *)(uintptr_t)round);
    }
    catch_signals();
    start_timer();
    for (unsigned i = 0; i < SEQUENCES; i++) {
        atomic_store(&sequence, i + 1);
        run_sequence(i);
    }
    _exit(0);
}

/* The program. */

static uint64_t seconds_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

/* Two at a time, one a CPU; they are killed when they take too long. */
static bool reap(pid_t pid, uint64_t end)
{
    int status;

    while (!waitpid(pid, &status, WNOHANG)) {
        if (seconds_now() > end) {
            kill(pid, SIGKILL);
            waitpid(pid, &status, 0);
            return false;
        }
        usleep(10000);
    }
    return WIFEXITED(status) && !WEXITSTATUS(status);
}

static pid_t start(uint64_t seed, unsigned round)
{
    pid_t pid;

    printf("round %u\n", round);
    fflush(stdout);
    pid = fork();
    if (pid < 0) {
        perror("fuzz: fork");
        exit(1);
    }
    if (!pid) {
        run_round(seed, round);
    }
    return pid;
}

static bool has_protection_keys(void)
{
    unsigned a = 7, b, c = 0, d;

    asm("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
    return c & 1 << 4;          /* OSPKE */
}

static uint64_t number_of(char **arguments, const char *name,
                          uint64_t otherwise)
{
    for (; arguments[0] && arguments[1]; arguments++) {
        if (!strcmp(arguments[0], name)) {
            return strtoull(arguments[1], NULL, 0);
        }
    }
    return otherwise;
}

static bool has_argument(char **arguments, const char *name)
{
    for (; *arguments; arguments++) {
        if (!strcmp(*arguments, name)) {
            return true;
        }
    }
    return false;
}

int main(int argc, char **argv)
{
    uint64_t seed = number_of(argv, "--seed", 1);
    unsigned round = number_of(argv, "--from", 0);
    unsigned last = round + number_of(argv, "--rounds", 1 << 30);
    uint64_t end = seconds_now() + number_of(argv, "--seconds", 10);
    unsigned width = sysconf(_SC_NPROCESSORS_ONLN), whole = 0, killed = 0;

    print = has_argument(argv, "--print");
    has_pku = has_protection_keys();
    counts = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    while (round != last && seconds_now() < end) {
        pid_t pid[width];
        unsigned n = 0;

        for (; n < width && round != last; n++) {
            pid[n] = start(seed, round++);
        }
        for (unsigned i = 0; i < n; i++) {
            unsigned *kind = reap(pid[i], seconds_now() + ROUND_SECONDS)
                             ? &whole : &killed;

            ++*kind;
        }
    }
    printf("sequences %lu rounds %u killed %u", counts->sequences, whole,
           killed);
    for (unsigned i = 1; i < 32; i++) {
        if (counts->signals[i]) {
            printf(" SIG%s %lu", sigabbrev_np(i), counts->signals[i]);
        }
    }
    printf("\n");
    return 0;
}
