/*
 * pmu-replay, for its main file and for its test.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TOOLS_PMU_REPLAY_PMU_REPLAY_H
#define TOOLS_PMU_REPLAY_PMU_REPLAY_H

/*
 * Replay as the command line says.  Returns the exit status, or exits with it
 * if a recording cannot be read.
 */
int replay_main(int argc, char **argv);

#endif
