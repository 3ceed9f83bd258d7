/*
 * pmu-replay's entry point, which its main file and its test call.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TOOLS_PMU_REPLAY_PMU_REPLAY_H
#define TOOLS_PMU_REPLAY_PMU_REPLAY_H

/*
 * Replay as the command line says.  Returns the exit status.  Calls exit() if a
 * recording is malformed.
 */
int replay_main(int argc, char **argv);

#endif
