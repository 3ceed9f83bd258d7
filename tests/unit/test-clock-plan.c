/*
 * Test where a vCPU plans to look at the clock with -icount shift=model.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>

#include "icount-model-plan.h"

#define NEVER   INT64_MAX

/* An update has just been made. */
static const IcountModelPlan updated = {
    .icount = 1000, .next_stop = 1000, .timed_icount = 1000, .time = 5000,
};

/* The vCPU of @updated, which runs to @event, after all but @left of that. */
static IcountModelPlan all_but(int64_t left, int64_t event)
{
    IcountModelPlan plan = updated;

    plan.next_stop = icount_model_plan(&updated, event, NEVER);
    plan.icount = plan.next_stop - left;
    return plan;
}

static int64_t interval(int64_t insn_time, int64_t event, int64_t end)
{
    IcountModelPlan plan = updated;

    plan.insn_time = insn_time;
    return icount_model_plan(&plan, event, end) - plan.icount;
}

static void test_interval(void)
{
    /* An instruction takes 6 ns, or four times the average. */
    g_assert_cmpint(interval(0, 5000 + 6000, NEVER), ==, 1000);
    g_assert_cmpint(interval(1024, 5000 + 6000, NEVER), ==, 1000);
    g_assert_cmpint(interval(3 * 1024, 5000 + 12000, NEVER), ==, 1000);
    /* A turn ends by the average. */
    g_assert_cmpint(interval(2048, NEVER, 5000 + 2000), ==, 1000);
    g_assert_cmpint(interval(0, NEVER, 5000 + 250), ==, 1000);
    g_assert_cmpint(interval(0, 5000, NEVER), ==, INTERVAL_LEAST);
    g_assert_cmpint(interval(0, 4000, NEVER), ==, INTERVAL_LEAST);
    g_assert_cmpint(interval(0, NEVER, NEVER), ==, INTERVAL_MOST);
}

/* An event that comes nearer does not put off the next update or check. */
static void test_nearer(void)
{
    static const int64_t events[] = { 5001, 5400, 8000, 50000, 5000000 };

    for (unsigned i = 0; i < G_N_ELEMENTS(events); i++) {
        IcountModelPlan plan = all_but(1, events[i]);

        g_assert_cmpint(icount_model_plan(&plan, events[i] - 1, NEVER), ==,
                        plan.next_stop);
        plan = all_but(60, events[i]);
        g_assert_cmpint(icount_model_plan(&plan, events[i] - 1, NEVER), >,
                        plan.icount);
        g_assert_cmpint(icount_model_plan(&plan, events[i] - 1, NEVER), <=,
                        plan.next_stop);
    }
}

/* An event that comes much nearer is planned for from where time was known. */
static void test_much_nearer(void)
{
    IcountModelPlan plan = all_but(900, 5000 + 6000);

    g_assert_cmpint(plan.icount, ==, 1000 + 100);
    g_assert_cmpint(icount_model_plan(&plan, 5000 + 3000, NEVER), ==,
                    1000 + 500);
    /* What has been executed may have taken until then. */
    g_assert_cmpint(icount_model_plan(&plan, 5000 + 300, NEVER), ==,
                    plan.icount + 1);
    /* The clock has been read since. */
    plan.timed_icount = plan.icount;
    plan.time += 100;
    g_assert_cmpint(icount_model_plan(&plan, 5000 + 3100, NEVER), ==,
                    plan.icount + 500);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/clock-plan/interval", test_interval);
    g_test_add_func("/clock-plan/nearer", test_nearer);
    g_test_add_func("/clock-plan/much-nearer", test_much_nearer);
    return g_test_run();
}
