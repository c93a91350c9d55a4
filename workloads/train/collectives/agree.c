/* What ranks agree on before packets that need it are added encoded: the largest of their norms of
 * each tensor. Every rank sends its own to all others, 4 bytes a tensor, so that it costs one path
 * delay; of three ranks, a tensor:
 *
 *             rank 0            rank 1            rank 2
 *   start     |a|               |b|               |c|
 *   exchange  max(|a| |b| |c|)  max(|a| |b| |c|)  max(|a| |b| |c|)
 *
 * THC (Li et al., NSDI 2024) has them pass its server. A rank's norms are read by all before the
 * sum that follows is complete anywhere, so they may change with the next call. */
#include <assert.h>
#include <math.h>

#include "traces/models/model.h"
#include "parts.h"

struct strait_agreement {
    struct strait_codec *plain;
    struct strait_tensor *mine, *all; /* this rank's; the largest of all, or their sum */
    size_t *at;                       /* where the norms of each part begin */
};

enum { OWN, SUM }; /* tags */

struct strait_agreement *strait_agreement_of(struct strait_rank *r, struct strait_codec *c,
                                             int n_parts)
{
    /* each part begins inside a tensor at most */
    const size_t n = strait_model(r)->n_rows + (size_t)n_parts;
    if (!strait_codec_agrees(c))
        return NULL;
    struct strait_agreement *a = strait_alloc(r, 1, sizeof(*a));
    *a = (struct strait_agreement){.plain = strait_codec(r, "none"),
                                   .mine = strait_scratch(r, n),
                                   .all = strait_scratch(r, n),
                                   .at = strait_alloc(r, (size_t)n_parts, sizeof(size_t))};
    return a;
}

void strait_agree(struct strait_rank *r, struct strait_agreement *a, struct strait_group g,
                  struct strait_codec *c, struct strait_tensor *const *parts, int n_parts)
{
    size_t n = 0;
    for (int i = 0; i < n_parts; i++) {
        a->at[i] = n;
        n += strait_norms(r, c, a->mine, n, parts[i]);
    }
    struct strait_tensor *mine = strait_range(r, a->mine, 0, n),
                         *largest = strait_range(r, a->all, 0, n);
    struct strait_packet *packet = strait_encode(r, a->plain, NAN, mine);
    for (int i = 1; i < g.n; i++)
        strait_send(r, g.ranks[strait_around(g.me + i, g.n)], STRAIT_AGREEING, 0,
                    strait_keep(packet));
    strait_drop(r, packet);
    strait_set(r, largest, mine, 1);
    for (int i = 1; i < g.n; i++) {
        struct strait_tensor *theirs = strait_spare(r, largest);
        strait_decode(
            r, theirs,
            strait_recv(r, g.ranks[strait_around(g.me - i, g.n)], STRAIT_AGREEING).packet);
        strait_raise(r, largest, theirs);
    }
}

struct strait_packet *strait_encode_part(struct strait_rank *r, const struct strait_agreement *a,
                                         struct strait_codec *c, int i, struct strait_tensor *part)
{
    return a ? strait_encode_agreed(r, c, part, a->all, a->at[i]) : strait_encode(r, c, NAN, part);
}

/* --- before sums whose every hop is coded by the same statistics ---------------------------------
 *
 * Ranks add up words (codecs/codec.h) through the owners of parts, so that a port carries nearly
 * twice the words for any number of ranks. Words of three ranks (capitals are sums):
 *
 *             rank 0              rank 1              rank 2
 *   start     a0 a1 a2            b0 b1 b2            c0 c1 c2
 *   step 0    a0 b0 c0 > S0       a1 b1 c1 > S1       a2 b2 c2 > S2     rank i owns part i
 *   step 1    S0 S1 S2            S0 S1 S2            S0 S1 S2
 *
 * Order of part p: rank p first, then p + 1, ... DynamiQ (Han et al., SIGCOMM 2026, section 3.1)
 * has an all-reduce, of no named kind. A rank's words are read by all before any rank has the sum
 * of its own part, and its sum before all have ended the next exchange's first step. */

struct strait_agreement *strait_statistics_of(struct strait_rank *r, struct strait_codec *c)
{
    const size_t n = strait_codec_has_statistics(c) ? strait_n_statistics(r, c, NULL) : 0;
    if (n == 0)
        return NULL;
    struct strait_agreement *a = strait_alloc(r, 1, sizeof(*a));
    *a = (struct strait_agreement){.plain = strait_codec(r, "none"),
                                   .mine = strait_scratch(r, n),
                                   .all = strait_scratch(r, n)};
    return a;
}

static void send_part(struct strait_rank *r, const struct strait_agreement *a,
                      struct strait_group g, int to, int tag, struct strait_tensor *part)
{
    if (strait_n_elems(part) > 0)
        strait_send(r, g.ranks[to], STRAIT_AGREEING, tag, strait_encode(r, a->plain, NAN, part));
}

static void receive_part(struct strait_rank *r, struct strait_group g, int from, int tag,
                         struct strait_tensor *part)
{
    if (strait_n_elems(part) == 0)
        return;
    struct strait_message m = strait_recv(r, g.ranks[from], STRAIT_AGREEING);
    assert(m.tag == tag);
    strait_decode(r, part, m.packet);
}

void strait_agree_on_statistics(struct strait_rank *r, struct strait_group g,
                                struct strait_codec *c, struct strait_tensor *x)
{
    struct strait_agreement *a = g.agreement;
    const bool agrees = a && g.n > 1 && strait_codec_has_statistics(c);
    const size_t n = agrees ? strait_n_statistics(r, c, x) : 0;
    if (n == 0)
        return;
    struct strait_tensor *mine = strait_range(r, a->mine, 0, n),
                         *sum = strait_range(r, a->all, 0, n),
                         *own = strait_slice(r, sum, g.me, g.n);
    strait_measure_statistics(r, c, mine, x);
    for (int k = 1; k < g.n; k++) {
        const int to = strait_around(g.me + k, g.n);
        send_part(r, a, g, to, OWN, strait_slice(r, mine, to, g.n));
    }
    if (strait_n_elems(own) > 0) /* as values they are finite: 1 times each has its bits */
        strait_set(r, own, strait_slice(r, mine, g.me, g.n), 1);
    for (int k = 1; k < g.n && strait_n_elems(own) > 0; k++) {
        struct strait_tensor *theirs = strait_spare(r, own);
        receive_part(r, g, strait_around(g.me + k, g.n), OWN, theirs);
        strait_merge_statistics(r, c, own, theirs);
    }
    for (int k = 1; k < g.n; k++)
        send_part(r, a, g, strait_around(g.me + k, g.n), SUM, own);
    for (int k = 1; k < g.n; k++) {
        const int from = strait_around(g.me + k, g.n);
        receive_part(r, g, from, SUM, strait_slice(r, sum, from, g.n));
    }
    strait_settle_statistics(r, c, x, sum, g.n);
}
