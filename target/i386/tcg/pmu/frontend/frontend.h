/*
 * The frontend: branch prediction, code caches, delivery of micro-ops.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * It has two halves, like the model itself.  branch-predictor (direction,
 * indirect targets, return stack, BTB) and fetch (DSB, LSD, legacy decode:
 * which of them has the code) are functions of the branches and addresses in
 * program order.  delivery says when micro-ops are delivered.
 *
 * This folder includes memory/ for fetches, decode/ for instructions, ledger/
 * and uarch/.  It must not know the backend: delivery learns from the clock
 * that they share how far the backend is.
 */

#ifndef TARGET_I386_PMU_FRONTEND_FRONTEND_H
#define TARGET_I386_PMU_FRONTEND_FRONTEND_H

#include "tcg/pmu/frontend/branch-predictor.h"
#include "tcg/pmu/frontend/delivery.h"
#include "tcg/pmu/frontend/fetch.h"

#endif
