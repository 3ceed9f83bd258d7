/*
 * The return stack: it predicts where near returns go.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_FRONTEND_RETURN_STACK_H
#define TARGET_I386_PMU_FRONTEND_RETURN_STACK_H

#include <stdbool.h>
#include <stdint.h>


typedef struct PmuReturnStack {
    uint64_t *target;
    uint32_t size, top, depth;  /* entries; index of the newest; in use */
} PmuReturnStack;

/* Initialise an empty stack of @size (1 or more) entries; false: no memory. */
bool pmu_return_stack_init(PmuReturnStack *stack, uint32_t size);
void pmu_return_stack_destroy(PmuReturnStack *stack);
void pmu_return_stack_clear(PmuReturnStack *stack);

/* A call will return to @next. */
void pmu_return_stack_push(PmuReturnStack *stack, uint64_t next);

/* A near return went to @target: was that predicted? */
bool pmu_return_stack_pop(PmuReturnStack *stack, uint64_t target);

/*
 * Calls and returns have run unseen for a while: every entry counts as right,
 * wherever the return goes.
 */
void pmu_return_stack_forget(PmuReturnStack *stack);

#endif
