/*
 * The return stack: it predicts where near returns go.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>

#include "tcg/pmu/frontend/return-stack.h"

/* An entry that counts as right wherever the return goes. */
#define ANYWHERE UINT64_MAX

bool pmu_return_stack_init(PmuReturnStack *stack, uint32_t size)
{
    *stack = (PmuReturnStack) {
        .target = g_try_new0(uint64_t, size), .size = size,
    };
    return stack->target;
}

void pmu_return_stack_destroy(PmuReturnStack *stack)
{
    g_free(stack->target);
}

void pmu_return_stack_clear(PmuReturnStack *stack)
{
    stack->top = 0;
    stack->depth = 0;
}

void pmu_return_stack_push(PmuReturnStack *stack, uint64_t next)
{
    stack->top = stack->top + 1 == stack->size ? 0 : stack->top + 1;
    stack->target[stack->top] = next;
    stack->depth += stack->depth < stack->size;
}

bool pmu_return_stack_pop(PmuReturnStack *stack, uint64_t target)
{
    uint64_t predicted = stack->target[stack->top];

    if (!stack->depth) {
        return false;
    }
    stack->top = stack->top ? stack->top - 1 : stack->size - 1;
    stack->depth--;
    return predicted == target || predicted == ANYWHERE;
}

void pmu_return_stack_forget(PmuReturnStack *stack)
{
    for (uint32_t i = 0; i < stack->size; i++) {
        stack->target[i] = ANYWHERE;
    }
    stack->depth = stack->size;
}
