/* Rank 0 of `elastic-diloco` (elastic_diloco.c): who is there, who is behind, who has fallen
 * silent. */
#include <math.h>

#include "elastic.h"
#include "workloads/ask/experiment.h"

enum standing {
    GONE,
    AWAITED,
    HERE,
    BEHIND,
    RUNNING,
    READY,
    FAILED
}; /* the last three: in a ring */

struct leader {
    struct strait_elastic self;
    enum standing ranks[ELASTIC_MOST];
    int n, attempt; /* rings so far */
};

static int count(const struct leader *l, enum standing which)
{
    int n = 0;
    for (int i = 1; i < l->n; i++)
        n += l->ranks[i] == which;
    return n;
}

/* Of the others; rank 0 is the lowest bit. */
static double bits_of(const struct leader *l, enum standing which)
{
    double bits = 0;
    for (int i = 1; i < l->n; i++)
        bits += l->ranks[i] == which ? ldexp(1, i) : 0;
    return bits;
}

static void set_all(struct leader *l, enum standing from, enum standing to)
{
    for (int i = 1; i < l->n; i++)
        if (l->ranks[i] == from)
            l->ranks[i] = to;
}

static void call(struct strait_rank *r, int rank, int what, double members, double newcomers,
                 const struct leader *l)
{
    struct strait_packet *p = strait_control(r, 0);
    p->words[ELASTIC_STEP] = l->self.version;
    p->words[ELASTIC_MEMBERS] = members;
    p->words[ELASTIC_NEWCOMERS] = newcomers;
    p->words[ELASTIC_ATTEMPT] = l->attempt;
    strait_send(r, rank, ELASTIC_CALL, what, p);
}

/* A word of an older ring is passed over, but shows that its sender is there. */
static void hear(struct strait_rank *r, struct leader *l, struct strait_message from)
{
    const int word = (int)from.packet->words[0];
    enum standing *rank = &l->ranks[from.src];
    if (from.tag == ELASTIC_HERE)
        *rank = word == l->self.version ? HERE : BEHIND;
    else if (*rank == RUNNING && word == l->attempt)
        *rank = from.tag == ELASTIC_DONE ? READY : FAILED;
    else if (*rank == GONE)
        *rank = BEHIND;
    strait_drop(r, from.packet);
}

/* Until nobody is any more what is waited for, or the time is over. */
static void wait_for(struct strait_rank *r, struct leader *l, enum standing which, double limit_s)
{
    const double deadline_s = strait_now_s(r) + limit_s;
    struct strait_message from;
    while (count(l, which) > 0 && strait_recv_by(r, &from, STRAIT_ANY, ELASTIC_ANSWER, deadline_s))
        hear(r, l, from);
    while (strait_recv_by(r, &from, STRAIT_ANY, ELASTIC_ANSWER, strait_now_s(r)))
        hear(r, l, from); /* what is there already */
}

/* Rings of those who are there, until one of them is whole. */
static void average(struct strait_rank *r, struct leader *l)
{
    for (bool is_whole = false; !is_whole;) {
        const double members = bits_of(l, HERE) + 1;
        l->attempt++;
        for (int i = 1; i < l->n; i++)
            if (l->ranks[i] == HERE)
                call(r, i, ELASTIC_FORM, members, 0, l);
        set_all(l, HERE, RUNNING);
        is_whole = strait_elastic_average(r, &l->self, members, l->attempt);
        wait_for(r, l, RUNNING, strait_elastic_limit_s(r, "timeout"));
        is_whole = is_whole && count(l, FAILED) == 0;
        set_all(l, RUNNING, GONE);
        if (!is_whole) {
            set_all(l, READY, HERE);
            set_all(l, FAILED, HERE);
        }
    }
}

static void outer_step(struct strait_rank *r, struct leader *l)
{
    const double members = bits_of(l, READY) + 1, newcomers = bits_of(l, BEHIND);
    for (int i = 1; i < l->n; i++)
        if (l->ranks[i] == READY)
            call(r, i, ELASTIC_COMMIT, members, newcomers, l);
    strait_elastic_step(r, &l->self, members, newcomers);
    for (int i = 1, k = 0; i < l->n; i++)
        if (l->ranks[i] == BEHIND)
            call(r, i, ELASTIC_JOIN, strait_elastic_donor(members, l->n, k++), 0, l);
    set_all(l, READY, AWAITED);
    set_all(l, BEHIND, AWAITED);
}

void strait_elastic_lead(struct strait_rank *r)
{
    struct leader l = {.self = strait_elastic_begin(r), .n = strait_n_ranks(r)};
    for (int i = 1; i < l.n; i++)
        l.ranks[i] = AWAITED;
    while (strait_round(r)) {
        strait_elastic_train(r, &l.self);
        wait_for(r, &l, AWAITED, strait_elastic_limit_s(r, "grace"));
        strait_note_missing(r, count(&l, AWAITED));
        set_all(&l, AWAITED, GONE);
        average(r, &l);
        outer_step(r, &l);
    }
    for (int i = 1; i < l.n; i++)
        call(r, i, ELASTIC_STOP, 0, 0, &l);
}
