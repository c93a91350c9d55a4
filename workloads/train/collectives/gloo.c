/* Gloo's ring all-reduce, as its TCP transport runs it (facebookincubator/gloo: gloo/allreduce.cc,
 * ring; gloo/transport/tcp/pair.cc). Each rank's chunk is cut into segments, at least two and of at
 * most 1 MiB; they go around downwards, two on their way at a time (gloo_ring.h). A rank is ready
 * for a segment when it has added the last but one: with a round trip t, s segments take about
 * t s / 2 beside their bytes, where a textbook ring takes t / 2 a hop. Three ranks, a segment a
 * chunk (Gloo: two), capitals are sums:
 *
 *             rank 0        rank 1        rank 2
 *   start     a0 a1 a2      b0 b1 b2      c0 c1 c2
 *   step 0    a0 .  a2+b2   b0+c0 b1 .    .  c1+a1 c2     rank i sends part i+1, adds part i+2
 *   step 1    S0 .  .       .  S1 .       .  .  S2        rank i sends what it just added
 *             rank i owns part i; the gather passes these on twice:
 *   step 0    S0 S1 .       .  S1 S2      S0 .  S2
 *   step 1    S0 S1 S2      S0 S1 S2      S0 S1 S2
 *
 * Sum order of part p: rank p - 1 first, then p - 2, ... and p last. Plain values only. */
#include "gloo_ring.h"

#include <math.h>

enum { MAX_SEGMENT_BYTES = 1024 * 1024 }; /* kMaxSegmentSize of gloo/allreduce.h */

/* One half of the all-reduce on one rank: sends segments first_sent, first_sent + 1, ... around,
 * and receives first_got, ... */
struct half {
    struct strait_codec *none;
    struct strait_tensor *x;
    int n_segments, first_sent, first_got;
    bool adds;
};

static struct strait_tensor *segment(struct strait_rank *r, const struct half *h, int i)
{
    return strait_slice(r, h->x, strait_around(i, h->n_segments), h->n_segments);
}

static struct strait_packet *give_segment(struct strait_rank *lane, void *of, int i)
{
    const struct half *h = of;
    return strait_encode(lane, h->none, NAN, segment(lane, h, h->first_sent + i));
}

static void take_segment(struct strait_rank *r, void *of, int i, struct strait_packet *packet)
{
    const struct half *h = of;
    struct strait_tensor *mine = segment(r, h, h->first_got + i);
    if (h->adds) {
        struct strait_tensor *theirs = strait_spare(r, mine);
        strait_decode(r, theirs, packet);
        strait_add(r, mine, theirs, 1);
    } else {
        strait_decode(r, mine, packet);
    }
}

/* Segments of a tensor of n_elems in the ring of n > 1 ranks: a multiple of n. */
static int segments_of(size_t n_elems, int n)
{
    const double most = ceil(4.0 * (double)n_elems / MAX_SEGMENT_BYTES);
    return (int)(ceil(fmax(most, 2.0 * n) / n) * n);
}

void strait_all_reduce_by_gloo(struct strait_rank *r, struct strait_group g, struct strait_codec *c,
                               struct strait_tensor *x)
{
    if (g.n == 1)
        return;
    const int n_segments = segments_of(strait_n_elems(x), g.n), each = n_segments / g.n;
    struct half h = {.none = c,
                     .x = x,
                     .n_segments = n_segments,
                     .first_sent = (g.me + 1) * each,
                     .first_got = (g.me + 2) * each,
                     .adds = true};
    struct strait_gloo_pass pass = {.g = g,
                                    .to = strait_around(g.me - 1, g.n),
                                    .from = strait_around(g.me + 1, g.n),
                                    .n_steps = n_segments - each,
                                    .give = give_segment,
                                    .take = take_segment,
                                    .of = &h};
    pass.ear = strait_gloo_hear(r, g, 2 * pass.n_steps);
    strait_gloo_run(r, &pass);
    pass.n_before = pass.n_steps;
    h.first_sent = g.me * each;
    h.first_got = (g.me + 1) * each;
    h.adds = false;
    strait_gloo_run(r, &pass);
    strait_gloo_hung_up(r, pass.ear);
}

bool strait_gloo_uses(int n, int channel, int src, int dst)
{
    const int to = channel == 0 ? n - 1 : 1;
    return src != dst && channel <= (n > 2) && dst == (src + to) % n;
}
