/* Spends the time to call a collective before its first step, and to negotiate it: the lane
 * waits. */
#include <math.h>

#include "collectives.h"

double strait_launch_s(const struct strait_rank *r)
{
    return strait_n_ranks(r) > 1 ? strait_param(r, "launch") : 0;
}

void strait_launch(struct strait_rank *lane)
{
    const double launch_s = strait_launch_s(lane);
    if (launch_s > 0)
        strait_work(lane, STRAIT_SPAN_WAIT, STRAIT_TIMER, launch_s, NULL, NULL);
}

struct negotiator {
    int from, to;
    const int *n_calls;
    double call_s;
};

static void negotiate(struct strait_rank *lane, void *arg)
{
    const struct negotiator *n = arg;
    for (int word = 0; word >= 0;) {
        word = strait_pend(lane, n->from);
        if (word >= 0)
            strait_work(lane, STRAIT_SPAN_WAIT, STRAIT_TIMER,
                        n->call_s * (n->n_calls ? n->n_calls[word] : 1), NULL, NULL);
        strait_post(lane, n->to, word);
    }
}

struct strait_rank *strait_negotiator(struct strait_rank *r, int from, int to, const int *n_calls)
{
    const int n = strait_n_ranks(r);
    const double call_s =
        n > 1 ? strait_param(r, "negotiate") + strait_param(r, "negotiate_hop") * log2(n) : 0;
    struct negotiator *of;
    if (call_s <= 0)
        return NULL;
    of = strait_alloc(r, 1, sizeof(*of));
    *of = (struct negotiator){from, to, n_calls, call_s};
    return strait_spawn(r, negotiate, of);
}
