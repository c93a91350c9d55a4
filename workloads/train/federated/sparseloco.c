/* SparseLoCo (Sarfi et al. 2025): every rank trains alone for H inner steps; the change of its
 * parameters is added to what it has not sent yet, which decays, and the largest of each chunk are
 * gathered by all ranks, who step along the mean. There is no outer momentum: the memory of what
 * was not sent, which is the codec's (chunktopk), takes its place.
 *
 * `exchange: store` is how Covenant-72B (2026) gathers over the internet: the last rank is an
 * object store, to which each peer uploads once and from which it gets the others' as they arrive.
 * The round closes `grace` after a `quorum` of uploads; what is later is dropped, on all peers
 * alike. */
#include <math.h>
#include <stdio.h>

#include "federated.h"
#include "workloads/ask/experiment.h"

enum { CHANGE = 0, UP = 0, DOWN = 1, CLOSED = -1 }; /* channels; a tag down is a peer's number */
enum { RING, STORE };
static const char *const exchanges[] = {"ring", "store", NULL};

struct peers {
    int n, quorum; /* without the store; uploads that close a round */
    bool by_store;
    struct strait_group world;
    struct strait_packet **all; /* by rank; NULL: late */
    bool *here;                 /* the store's: who is in time */
};

static int n_peers(const struct strait_experiment *e)
{
    return e->n_ranks - ((int)strait_experiment_param(e, "exchange") == STORE);
}

static int quorum_of(const struct strait_experiment *e)
{
    const int asked = (int)strait_experiment_param(e, "quorum");
    return asked > 0 ? asked : n_peers(e);
}

static struct peers begin(struct strait_rank *r)
{
    const struct strait_experiment *e = strait_experiment(r);
    const size_t n = (size_t)strait_n_ranks(r);
    return (struct peers){.n = n_peers(e),
                          .quorum = quorum_of(e),
                          .by_store = n_peers(e) < e->n_ranks,
                          .world = strait_world(r, CHANGE),
                          .all = strait_alloc(r, n, sizeof(struct strait_packet *)),
                          .here = strait_alloc(r, n, sizeof(bool))};
}

/* One round of the store: pass on what comes in time, then say whose counts. */
static void keep(struct strait_rank *r, struct peers *p, int round)
{
    struct strait_message m;
    double deadline_s = INFINITY;
    for (int i = 0; i < p->n; i++)
        p->here[i] = false;
    int n = 0;
    while (n < p->n && strait_recv_by(r, &m, STRAIT_ANY, UP, deadline_s)) {
        for (int i = 0; i < p->n && m.tag == round; i++)
            if (i != m.src)
                strait_send(r, i, DOWN, m.src, strait_keep(m.packet));
        strait_drop(r, m.packet);
        if (m.tag != round)
            continue;
        p->here[m.src] = true;
        if (++n == p->quorum && n < p->n)
            deadline_s = strait_now_s(r) + strait_param(r, "grace");
    }
    strait_note_missing(r, p->n - n);
    for (int i = 0; i < p->n; i++)
        strait_send(r, i, DOWN, CLOSED, strait_control(r, p->here[i] ? 1 : 0));
}

/* Own packet in, all that count out. */
static void gather(struct strait_rank *r, struct peers *p, int round, bool sizes_first)
{
    const int me = strait_me(r), store = p->n;
    if (!p->by_store) {
        strait_gather_packets(r, p->world, p->all, sizes_first);
        return;
    }
    strait_send(r, store, UP, round, strait_keep(p->all[me]));
    for (;;) {
        struct strait_message m = strait_recv(r, store, DOWN);
        if (m.tag != CLOSED) {
            p->all[m.tag] = m.packet;
            continue;
        }
        const bool counts = m.packet->words[0] > 0;
        strait_drop(r, m.packet);
        if (!counts) {
            strait_drop(r, p->all[me]);
            p->all[me] = NULL;
        }
        return;
    }
}

static void sparseloco(struct strait_rank *r)
{
    struct peers p = begin(r);
    struct strait_codec *codec = strait_codec(r, "up");
    struct strait_tensor *w = strait_tensor(r, STRAIT_WEIGHTS, 0, STRAIT_ALL_LAYERS);
    struct strait_tensor *y = strait_tensor(r, STRAIT_SCRATCH, 0, STRAIT_ALL_LAYERS);
    struct strait_tensor *update[2]; /* alternating: others may still read the last one */
    for (int i = 0; i < 2; i++)
        update[i] = strait_tensor(r, STRAIT_UPDATE, 0, STRAIT_ALL_LAYERS);
    const bool sizes_first = !strait_size_is_fixed(r, codec, y);
    strait_learns(r, w);
    for (int round = 0; strait_round(r); round++) {
        if (strait_me(r) == p.n) {
            keep(r, &p, round);
            continue;
        }
        struct strait_tensor *x = update[round % 2];
        int n = 0;
        strait_train(r, w, x, (int)strait_param(r, "local_steps"));
        p.all[strait_me(r)] = p.quorum < p.n
                                  ? strait_snapshot(r, codec, NAN, x) /* one may be late */
                                  : strait_encode(r, codec, NAN, x);
        gather(r, &p, round, sizes_first);
        for (int i = 0; i < p.n; i++)
            n += p.all[i] != NULL;
        for (int i = 0; i < p.n; i++) { /* in rank order: the same sum everywhere */
            if (!p.all[i])
                continue;
            strait_decode(r, y, p.all[i]);
            strait_add(r, w, y, strait_param(r, "outer_lr") / n);
            p.all[i] = NULL;
        }
    }
}

static bool uses_stream(const struct strait_experiment *e, int src, int dst, int channel)
{
    const int store = n_peers(e);
    if (store == e->n_ranks)
        return channel == CHANGE && dst == (src + 1) % e->n_ranks;
    return (channel == UP && dst == store) || (channel == DOWN && src == store);
}

/* A store sends all peers all that came, while more comes. */
static bool needs_packets(const struct strait_experiment *e)
{
    return (int)strait_experiment_param(e, "exchange") == STORE;
}

static int check(const struct strait_experiment *e, struct strait_error *err)
{
    const bool by_store = n_peers(e) < e->n_ranks;
    if (by_store && e->n_ranks < 2)
        return strait_refuse_at(err, e->file, "/strategy/exchange",
                                "expected at least 2 clients, a peer and the store, found %d",
                                e->n_ranks);
    if (quorum_of(e) > n_peers(e) || (!by_store && quorum_of(e) < n_peers(e)))
        return strait_refuse_at(
            err, e->file, "/strategy/quorum",
            "expected at most the %d peers, all of them unless \"exchange\" is \"store\", found %d",
            n_peers(e), quorum_of(e));
    return 0;
}

static const struct strait_param params[] = {
    {"rounds", "outer steps", STRAIT_PARAM_INTEGER, .min = 1, .max = 1e6, .fallback = 5},
    {"local_steps", "inner steps between two outer steps", STRAIT_PARAM_INTEGER, .min = 0,
     .max = 1e9, .fallback = 30},
    {"outer_lr", "learning rate of the outer step", STRAIT_PARAM_NUMBER, .min = 0, .max = 100,
     .fallback = 1},
    {"exchange", "a ring of all, or a store: the last rank, which passes on what peers upload",
     STRAIT_PARAM_CHOICE, .min = 0, .max = STORE, .choices = exchanges},
    {"quorum", "uploads to the store after which a round closes; 0: those of all",
     STRAIT_PARAM_INTEGER, .min = 0, .max = 1e6},
    {"grace", "and how long it is open after these", STRAIT_PARAM_TIME, .min = 0, .max = 1e6},
};
const struct strait_strategy strait_strategy_sparseloco = {
    .name = "sparseloco",
    .summary = "SparseLoCo: many inner steps, then the largest changes of each chunk gathered",
    .source = "Sarfi et al., 2025 (arXiv 2508.15706); store, quorum: Covenant-72B, 2026 "
              "(arXiv 2603.08163)",
    .trains = true,
    .uplink_kind = "update",
    STRAIT_PARAMS(params),
    .check = check,
    .uses_stream = uses_stream,
    .needs_packets = needs_packets,
    .n_workers = n_peers,
    .period = strait_strategy_repeats,
    .rank_main = sparseloco,
};
