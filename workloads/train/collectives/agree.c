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
#include <math.h>

#include "traces/models/model.h"
#include "parts.h"

struct strait_agreement {
    struct strait_codec *plain;
    struct strait_tensor *mine, *largest;
    size_t *at; /* where the norms of each part begin */
};

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
                                   .largest = strait_scratch(r, n),
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
                         *largest = strait_range(r, a->largest, 0, n);
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
    return a ? strait_encode_agreed(r, c, part, a->largest, a->at[i])
             : strait_encode(r, c, NAN, part);
}
