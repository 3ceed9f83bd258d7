/*
 * Intel Data Streaming Accelerator: the arbiter of engines and WQs.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "dsa.h"

/*
 * Smooth weighted round robin.  Each contender's credit grows by its weight.
 * The one with most credit is served and pays the sum of the weights.  Over a
 * round each is served as often as its weight says, without bursts.  A weight
 * of 0 does not contend.  Returns the index of the one to serve, or -1.
 */
int dsa_arbitrate(int32_t *const credit[], const uint32_t weight[],
                  unsigned count)
{
    uint32_t sum = 0;
    int best = -1;

    for (unsigned i = 0; i < count; i++) {
        if (!weight[i]) {
            *credit[i] = 0;
            continue;
        }
        sum += weight[i];
        *credit[i] += weight[i];
        if (best < 0 || *credit[i] > *credit[best]) {
            best = i;
        }
    }
    if (best >= 0) {
        *credit[best] -= sum;
    }
    return best;
}
