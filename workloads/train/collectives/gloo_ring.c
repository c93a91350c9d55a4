/* A send counts as done when its connection has it, as in Gloo, whose sockets' buffers then hold
 * it. From three ranks on Gloo's connections carry data one way and the words that a rank is ready
 * the other: they are two channels here. Two ranks have one connection, where words wait behind
 * data: one channel, heard by a lane of its own. */
#include "gloo_ring.h"

#include <assert.h>

/* Of a call of its own, within which data goes if its word has come. */
static const double CALL_S = 1e-6;
enum { WINDOW = 2 }; /* of the loops of gloo/allreduce.cc and gloo/allgather.cc */

/* Who hears all that comes from the only other rank: pieces, and words, in any order. */
struct strait_gloo_ear {
    struct strait_group g;
    struct strait_packet **pieces;
    int n_pieces; /* in all passes, and so are words */
    struct strait_rank *lane;
};
/* Beyond the group's channel, for lanes of this rank; a channel has one reader at a time. */
enum { WORD_CAME = 2, PIECE_CAME, DESK };

static void hear(struct strait_rank *lane, void *of)
{
    struct strait_gloo_ear *e = of;
    const int from = e->g.ranks[1 - e->g.me];
    int n_words = 0, n_pieces = 0;
    while (n_words + n_pieces < 2 * e->n_pieces) {
        struct strait_message m = strait_recv(lane, from, e->g.channel);
        if (m.tag % 2 == 1) {
            strait_drop(lane, m.packet);
            strait_post(lane, e->g.channel + WORD_CAME, n_words++);
        } else {
            e->pieces[n_pieces] = m.packet;
            strait_post(lane, e->g.channel + PIECE_CAME, n_pieces++);
        }
    }
}

struct strait_gloo_ear *strait_gloo_hear(struct strait_rank *r, struct strait_group g, int n_pieces)
{
    if (g.n > 2)
        return NULL;
    struct strait_gloo_ear *e = strait_alloc(r, 1, sizeof(*e));
    *e = (struct strait_gloo_ear){
        .g = g,
        .pieces = strait_alloc(r, (size_t)n_pieces, sizeof(struct strait_packet *)),
        .n_pieces = n_pieces};
    e->lane = strait_spawn(r, hear, e);
    return e;
}

void strait_gloo_hung_up(struct strait_rank *r, struct strait_gloo_ear *ear)
{
    if (ear)
        strait_join(r, ear->lane);
}

/* Words and pieces of two ranks have odd and even tags on one channel. */
static int word_channel(const struct strait_gloo_pass *p)
{
    return p->ear ? p->g.channel : p->g.channel + 1;
}

/* Where the loop and the lane that sends tell each other how far they are. */
static int desk(const struct strait_gloo_pass *p)
{
    return p->ear ? p->g.channel + DESK : p->g.channel;
}

static void await_word(struct strait_rank *lane, const struct strait_gloo_pass *p)
{
    if (p->ear)
        strait_pend(lane, p->g.channel + WORD_CAME);
    else
        strait_drop(lane, strait_recv(lane, p->g.ranks[p->to], word_channel(p)).packet);
}

static struct strait_packet *await_piece(struct strait_rank *r, const struct strait_gloo_pass *p,
                                         int i)
{
    if (p->ear) {
        strait_pend(r, p->g.channel + PIECE_CAME);
        return p->ear->pieces[p->n_before + i];
    }
    struct strait_message m = strait_recv(r, p->g.ranks[p->from], p->g.channel);
    assert(m.tag == i);
    return m.packet;
}

/* What Gloo's own thread does: sends a piece when the receiver is ready and the loop has got there,
 * then lets the loop know. */
static void send_pieces(struct strait_rank *lane, void *of)
{
    const struct strait_gloo_pass *p = of;
    for (int i = 0; i < p->n_steps; i++) {
        strait_pend(lane, desk(p) + 1);
        await_word(lane, p);
        strait_send(lane, p->g.ranks[p->to], p->g.channel, p->ear ? 2 * i : i,
                    p->give(lane, p->of, i));
        strait_post(lane, desk(p), i);
    }
}

void strait_gloo_run(struct strait_rank *r, struct strait_gloo_pass *p)
{
    struct strait_rank *lane = strait_spawn(r, send_pieces, p);
    for (int i = 0; i < p->n_steps + WINDOW; i++) {
        if (i >= WINDOW) {
            p->take(r, p->of, i - WINDOW, await_piece(r, p, i - WINDOW));
            strait_pend(r, desk(p));
        }
        if (i < p->n_steps && p->sends_first) {
            strait_post(r, desk(p) + 1, i);
            strait_work(r, STRAIT_SPAN_WAIT, STRAIT_TIMER, CALL_S, NULL, NULL);
        }
        if (i < p->n_steps)
            strait_send(r, p->g.ranks[p->from], word_channel(p), p->ear ? 2 * i + 1 : i,
                        strait_control(r, 0));
        if (i < p->n_steps && !p->sends_first)
            strait_post(r, desk(p) + 1, i);
    }
    strait_join(r, lane);
}
