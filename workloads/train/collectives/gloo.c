/* Gloo's ring all-reduce, as its TCP transport runs it (facebookincubator/gloo: gloo/allreduce.cc,
 * ring; gloo/transport/tcp/pair.cc). Each rank's chunk is cut into segments, at least two and of at
 * most 1 MiB; they go around downwards, two on their way at a time. A segment is sent when its
 * receiver has said that it is ready for it, which it is for the next one when it has added the
 * last but one: with a round trip t, s segments take about t s / 2 beside their bytes, where a
 * textbook ring takes t / 2 a hop. Three ranks, a segment a chunk (Gloo: two), capitals are sums:
 *
 *             rank 0        rank 1        rank 2
 *   start     a0 a1 a2      b0 b1 b2      c0 c1 c2
 *   step 0    a0 .  a2+b2   b0+c0 b1 .    .  c1+a1 c2     rank i sends part i+1, adds part i+2
 *   step 1    S0 .  .       .  S1 .       .  .  S2        rank i sends what it just added
 *             rank i owns part i; the gather passes these on twice:
 *   step 0    S0 S1 .       .  S1 S2      S0 .  S2
 *   step 1    S0 S1 S2      S0 S1 S2      S0 S1 S2
 *
 * Sum order of part p: rank p - 1 first, then p - 2, ... and p last. Plain values only. A send
 * counts as done when its connection has it, as in Gloo, whose sockets' buffers then hold it. From
 * three ranks on Gloo's connections carry data one way and the words that a rank is ready the
 * other: they are two channels here. Two ranks have one connection, where words wait behind data:
 * one channel, heard by a lane of its own. */
#include <assert.h>
#include <math.h>

#include "parts.h"

/* Source: kMaxSegmentSize of gloo/allreduce.h; the window of its loops. */
enum { MAX_SEGMENT_BYTES = 1024 * 1024, WINDOW = 2 };

/* One half of the all-reduce on one rank: sends segments first_sent, first_sent + 1, ... around,
 * and receives first_got, ... Channels: the loop reads the group's, which carries segments;
 * the lane that sends reads the next one, which says who is ready. */
struct half {
    struct strait_group g;
    struct strait_codec *none;
    struct strait_tensor *x;
    int n_segments, n_steps, first_sent, first_got;
    bool adds;
    struct ear *ear; /* of two ranks; NULL: of more */
    int n_before;    /* segments of the half before */
};

/* Who hears all that comes from the only other rank: segments, and words, in any order. */
struct ear {
    struct strait_group g;
    struct strait_packet **segments;
    int n_segments; /* in both halves, and so are words */
};
/* Beyond the group's channel, for lanes of this rank; a channel has one reader at a time. */
enum { WORD_CAME = 2, SEGMENT_CAME, DESK };

static void hear(struct strait_rank *lane, void *of)
{
    struct ear *e = of;
    const int from = e->g.ranks[1 - e->g.me];
    int n_words = 0, n_segments = 0;
    while (n_words + n_segments < 2 * e->n_segments) {
        struct strait_message m = strait_recv(lane, from, e->g.channel);
        if (m.tag % 2 == 1) {
            strait_drop(lane, m.packet);
            strait_post(lane, e->g.channel + WORD_CAME, n_words++);
        } else {
            e->segments[n_segments] = m.packet;
            strait_post(lane, e->g.channel + SEGMENT_CAME, n_segments++);
        }
    }
}

/* Words and segments of two ranks have odd and even tags on one channel. */
static int word_channel(const struct half *h)
{
    return h->ear ? h->g.channel : h->g.channel + 1;
}

/* Where the loop and the lane that sends tell each other how far they are. */
static int desk(const struct half *h)
{
    return h->ear ? h->g.channel + DESK : h->g.channel;
}

static void await_word(struct strait_rank *lane, const struct half *h, int to)
{
    if (h->ear)
        strait_pend(lane, h->g.channel + WORD_CAME);
    else
        strait_drop(lane, strait_recv(lane, to, word_channel(h)).packet);
}

static struct strait_packet *await_segment(struct strait_rank *r, const struct half *h, int from,
                                           int i)
{
    if (h->ear) {
        strait_pend(r, h->g.channel + SEGMENT_CAME);
        return h->ear->segments[h->n_before + i];
    }
    struct strait_message m = strait_recv(r, from, h->g.channel);
    assert(m.tag == i);
    return m.packet;
}

static struct strait_tensor *segment(struct strait_rank *r, const struct half *h, int i)
{
    return strait_slice(r, h->x, strait_around(i, h->n_segments), h->n_segments);
}

/* What Gloo's own thread does: sends a segment when the receiver is ready and the loop has got
 * there, then lets the loop know. */
static void send_segments(struct strait_rank *lane, void *of)
{
    const struct half *h = of;
    const int to = h->g.ranks[strait_around(h->g.me - 1, h->g.n)];
    for (int i = 0; i < h->n_steps; i++) {
        strait_pend(lane, desk(h) + 1);
        await_word(lane, h, to);
        strait_send(lane, to, h->g.channel, h->ear ? 2 * i : i,
                    strait_encode(lane, h->none, NAN, segment(lane, h, h->first_sent + i)));
        strait_post(lane, desk(h), i);
    }
}

static void take_segment(struct strait_rank *r, const struct half *h, int i)
{
    const int from = h->g.ranks[strait_around(h->g.me + 1, h->g.n)];
    struct strait_tensor *mine = segment(r, h, h->first_got + i);
    struct strait_packet *packet = await_segment(r, h, from, i);
    if (h->adds) {
        struct strait_tensor *theirs = strait_spare(r, mine);
        strait_decode(r, theirs, packet);
        strait_add(r, mine, theirs, 1);
    } else {
        strait_decode(r, mine, packet);
    }
}

static void run_half(struct strait_rank *r, struct half *h)
{
    const int from = h->g.ranks[strait_around(h->g.me + 1, h->g.n)];
    struct strait_rank *lane = strait_spawn(r, send_segments, h);
    for (int i = 0; i < h->n_steps + WINDOW; i++) {
        if (i >= WINDOW) {
            take_segment(r, h, i - WINDOW);
            strait_pend(r, desk(h));
        }
        if (i < h->n_steps) {
            strait_send(r, from, word_channel(h), h->ear ? 2 * i + 1 : i, strait_control(r, 0));
            strait_post(r, desk(h) + 1, i);
        }
    }
    strait_join(r, lane);
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
    struct half h = {.g = g,
                     .none = c,
                     .x = x,
                     .n_segments = n_segments,
                     .n_steps = n_segments - each,
                     .first_sent = (g.me + 1) * each,
                     .first_got = (g.me + 2) * each,
                     .adds = true};
    struct ear ear = {.g = g, .n_segments = 2 * h.n_steps};
    struct strait_rank *lane = NULL;
    if (g.n == 2) {
        ear.segments = strait_alloc(r, (size_t)ear.n_segments, sizeof(*ear.segments));
        h.ear = &ear;
        lane = strait_spawn(r, hear, &ear);
    }
    run_half(r, &h);
    h.n_before = h.n_steps;
    h.first_sent = g.me * each;
    h.first_got = (g.me + 1) * each;
    h.adds = false;
    run_half(r, &h);
    if (lane)
        strait_join(r, lane);
}

bool strait_gloo_uses(int n, int channel, int src, int dst)
{
    const int to = channel == 0 ? n - 1 : 1;
    return src != dst && channel <= (n > 2) && dst == (src + to) % n;
}
