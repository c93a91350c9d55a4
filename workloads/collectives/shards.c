/* Sharded parameter server (Li et al., OSDI 2014; co-located as in BytePS, Jiang et al., OSDI
 * 2020). Two workers and two servers behind them:
 *
 *             worker 0     worker 1     server 0       server 1
 *   start     a0 a1        b0 b1        . .            . .
 *   push      a0 a1        b0 b1        a0 b0 > S0     a1 b1 > S1
 *   pull      S0 S1        S0 S1        S0 .           . S1
 *
 * Co-located on three ranks, two of them servers:
 *
 *             rank 0            rank 1            rank 2
 *   start     a0 a1             b0 b1             c0 c1
 *   push      a0 b0 c0 > S0     a1 b1 c1 > S1     .
 *   pull      S0 S1             S0 S1             S0 S1
 *
 * Sum order: workers by rank; co-located: the server's own worker first, then the others by rank.
 * With n workers and codecs: n errors of pushes in the sum (its own worker's is none), one of the
 * pull in its copies. */
#include <assert.h>
#include <math.h>

#include "parts.h"

int strait_server_rank(const struct strait_shards *s, int server)
{
    return s->colocated ? server : s->n_workers + server;
}

/* Which server this rank is: -1 for none. */
static int server_of(const struct strait_rank *r, const struct strait_shards *s)
{
    const int server = strait_me(r) - strait_server_rank(s, 0);
    return server >= 0 && server < s->n_servers ? server : -1;
}

struct strait_shards strait_shards_of(struct strait_rank *r, int n_servers, bool colocated,
                                      int push, int pull, struct strait_tensor *x)
{
    struct strait_shards s = {.n_servers = n_servers,
                              .n_workers = strait_n_ranks(r) - (colocated ? 0 : n_servers),
                              .colocated = colocated,
                              .push = push,
                              .pull = pull};
    const int server = server_of(r, &s);
    if (server < 0)
        return s;
    struct strait_tensor *part = strait_slice(r, x, server, n_servers);
    s.arrived = strait_alloc(r, (size_t)s.n_workers, sizeof(struct strait_tensor *));
    s.decoding = strait_alloc(r, (size_t)s.n_workers, sizeof(struct strait_task *));
    for (int w = 0; w < s.n_workers; w++)
        s.arrived[w] = strait_like(r, part);
    s.sums[0] = s.arrived[0];
    s.sums[1] = colocated ? NULL : strait_like(r, part);
    return s;
}

void strait_push(struct strait_rank *r, const struct strait_shards *s, struct strait_codec *up,
                 struct strait_tensor *x)
{
    for (int k = 0; k < s->n_servers; k++) {
        const int server = (strait_me(r) + 1 + k) % s->n_servers;
        if (strait_server_rank(s, server) != strait_me(r))
            strait_send(r, strait_server_rank(s, server), s->push, server,
                        strait_encode(r, up, NAN, strait_slice(r, x, server, s->n_servers)));
    }
}

/* Decode as they arrive; add by rank when all are here. By then everybody has read the sum of the
 * call before, so that a co-located server may add to the part of x that it was a view of. */
static void sum_up(struct strait_rank *r, const struct strait_shards *s, int server,
                   struct strait_tensor *sum)
{
    const int n_expected = s->n_workers - (s->colocated ? 1 : 0);
    for (int i = 0; i < n_expected; i++) {
        struct strait_message m = strait_recv(r, STRAIT_ANY, s->push);
        assert(m.tag == server);
        const bool is_first = m.src == 0 && !s->colocated;
        s->decoding[m.src] = strait_decode_start(r, is_first ? sum : s->arrived[m.src], m.packet);
    }
    for (int w = 0; w < s->n_workers; w++) {
        if (s->colocated && w == strait_me(r))
            continue; /* the sum begins with it */
        strait_wait(r, s->decoding[w]);
        if (w > 0 || s->colocated)
            strait_add(r, sum, s->arrived[w], 1);
    }
}

void strait_serve(struct strait_rank *r, struct strait_shards *s, struct strait_codec *down,
                  struct strait_tensor *x)
{
    const int server = server_of(r, s);
    if (server < 0)
        return;
    struct strait_tensor *sum =
        s->colocated ? strait_slice(r, x, server, s->n_servers) : s->sums[s->n_calls++ % 2];
    sum_up(r, s, server, sum);
    if (s->colocated && s->n_workers == 1)
        return;
    struct strait_packet *packet = strait_encode(r, down, NAN, sum);
    for (int k = 0; k < s->n_workers; k++) {
        const int worker = (server + 1 + k) % s->n_workers;
        if (worker != strait_me(r))
            strait_send(r, worker, s->pull, server, strait_keep(packet));
    }
    if (s->colocated) /* its own worker has what all have */
        strait_decode(r, sum, packet);
    else
        strait_drop(r, packet);
}

void strait_pull(struct strait_rank *r, const struct strait_shards *s, struct strait_tensor *x)
{
    for (int k = 0; k < s->n_servers; k++) {
        const int server = (strait_me(r) + 1 + k) % s->n_servers;
        if (strait_server_rank(s, server) == strait_me(r))
            continue;
        struct strait_message m = strait_recv(r, strait_server_rank(s, server), s->pull);
        assert(m.tag == server);
        strait_decode(r, strait_slice(r, x, server, s->n_servers), m.packet);
    }
}

bool strait_shards_use(int n_servers, int n_workers, bool colocated, int src, int dst, bool push)
{
    const int first = colocated ? 0 : n_workers, worker = push ? src : dst,
              server = push ? dst : src;
    return src != dst && worker < n_workers && server >= first && server < first + n_servers;
}
