/*
 * pmu-replay: run a recording of a guest through the timing model alone.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "pmu-replay.h"

int main(int argc, char **argv)
{
    return replay_main(argc, argv);
}
