/*
 * pmu-replay: what a guest did, through the timing model alone.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "pmu-replay.h"

int main(int argc, char **argv)
{
    return replay_main(argc, argv);
}
