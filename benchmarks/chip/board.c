/*
 * A program for a bare Cortex-M under qemu-system-arm, with files of the host through semihosting.
 *
 * Reads rows of N_IN bytes from "rows", writes the answers of N_OUT bytes to "answers", and to
 * "costs" two whole numbers per row: ticks of the clock during `ask`, and bytes of stack below
 * it. `ask` is of the model; without one (NO_MODEL) the program shows what the rest of it costs.
 */
#include <stddef.h>
#include <stdint.h>

enum { OPEN = 0x01, CLOSE = 0x02, WRITE = 0x05, READ = 0x06, EXIT = 0x18 };
enum { READ_BINARY = 1, WRITE_BINARY = 5, STOPPED = 0x20026, FAILED = 0x20024 };

#define SYSTICK ((volatile uint32_t *)0xE000E010) /* control, reload, value */
#define CPACR (*(volatile uint32_t *)0xE000ED88)
#define LARGEST_TICK 0xFFFFFFU
#define HAS_ENDED 0x10000U
#define PAINT 0xA5A5A5A5U

extern uint32_t data_start, data_end, data_flash, bss_start, bss_end, stack_top;
void start(void);
void ask(const void *row, void *answer);
static void fault(void);

__attribute__((section(".vectors"), used)) static const void *const vectors[16] = {
    &stack_top, (const void *)start, (const void *)fault, (const void *)fault,
    (const void *)fault, (const void *)fault, (const void *)fault,
};

static uint64_t row[(N_IN + 7) / 8], answer[(N_OUT + 7) / 8];

static int call_host(int operation, const void *block)
{
    register int r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = block;
    __asm__ volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

static void stop(uint32_t reason)
{
    (void)call_host(EXIT, (const void *)reason);
    for (;;) {
    }
}

static void fault(void) { stop(FAILED); }

static uint32_t opened(const char *name, uint32_t length, uint32_t mode)
{
    const uint32_t block[3] = {(uint32_t)name, mode, length};
    const int file = call_host(OPEN, block);
    if (file < 0) {
        stop(FAILED);
    }
    return (uint32_t)file;
}

/* How many bytes were not read or written. */
static int moved(int operation, uint32_t file, const void *data, uint32_t size)
{
    const uint32_t block[3] = {file, (uint32_t)data, size};
    return call_host(operation, block);
}

#ifdef NO_MODEL
__attribute__((noinline)) void ask(const void *r, void *a)
{
    __asm__ volatile("" : : "r"(r), "r"(a) : "memory");
}
#endif

static uint32_t *stack_pointer(void)
{
    uint32_t *sp;
    __asm__ volatile("mov %0, sp" : "=r"(sp));
    return sp;
}

/* Ticks and bytes of stack of one question. */
__attribute__((noinline)) static void measured(uint32_t cost[2])
{
    /* volatile, or the loops become calls of memset, which has a stack of its own */
    volatile uint32_t *const bottom = &bss_end, *const top = stack_pointer(), *p;
    uint32_t before;
    for (p = bottom; p < top; ++p) {
        *p = PAINT;
    }
    SYSTICK[2] = 0;
    (void)SYSTICK[0]; /* forgets that the timer has ended before */
    before = SYSTICK[2];
    ask(row, answer);
    cost[0] = (before - SYSTICK[2]) & LARGEST_TICK;
    if (SYSTICK[0] & HAS_ENDED) {
        stop(FAILED); /* more ticks than the timer counts */
    }
    for (p = bottom; p < top && *p == PAINT; ++p) {
    }
    cost[1] = (uint32_t)((uintptr_t)top - (uintptr_t)p);
}

__attribute__((noreturn)) void start(void)
{
    uint32_t cost[2], rows, answers, costs;
    volatile uint32_t *from = &data_flash, *to;
    for (to = &data_start; to < &data_end;) {
        *to++ = *from++;
    }
    for (to = &bss_start; to < &bss_end;) {
        *to++ = 0;
    }
#ifdef __ARM_FP
    CPACR |= 0xFU << 20; /* the floating-point unit */
    __asm__ volatile("dsb\n isb");
#endif
    SYSTICK[1] = LARGEST_TICK;
    SYSTICK[2] = 0;
    SYSTICK[0] = 5; /* on, by the clock of the processor, no interrupt */
    rows = opened("rows", 4, READ_BINARY);
    answers = opened("answers", 7, WRITE_BINARY);
    costs = opened("costs", 5, WRITE_BINARY);
    while (moved(READ, rows, row, N_IN) == 0) {
        measured(cost);
        if (moved(WRITE, answers, answer, N_OUT) || moved(WRITE, costs, cost, sizeof cost)) {
            stop(FAILED);
        }
    }
    (void)call_host(CLOSE, &answers);
    (void)call_host(CLOSE, &costs);
    stop(STOPPED);
    for (;;) {
    }
}
