/* Collectives over the calls of rank.h, one file each in collectives/. All take a codec: where data
 * only moves it is encoded once at its source (one error); where it is reduced, every hop decodes,
 * adds and encodes again, unless the codec adds encoded. Everybody of the group makes the same
 * calls in the same order on the group's channel. */
#pragma once
#include "rank.h"

struct strait_group { /* who takes part in a collective, and on which channel */
    int *ranks;       /* n of them, in the order of the collective */
    int n, me, channel;
};

struct strait_group strait_world(struct strait_rank *r, int channel);

/** Ring: afterwards part (me + 1) mod n of x is the sum, in ring order, of everybody's part. */
void strait_reduce_scatter(struct strait_rank *r, struct strait_group g, struct strait_codec *c,
                           struct strait_tensor *x);
/** Ring: part (me + 1) mod n of x goes to everybody, encoded once at its source. */
void strait_all_gather(struct strait_rank *r, struct strait_group g, struct strait_codec *c,
                       struct strait_tensor *x);
