/* What every collective sends, and the order in which it adds: closed forms, and a rank program
 * that holds each collective against them, to the byte and to the last bit. */
#pragma once
#include "collective_cases.h"

static const size_t sizes[] = {1, 5, 8, 1001, CNN_ELEMS};
enum { N_SIZES = sizeof(sizes) / sizeof(sizes[0]) };

/* --- the stated sums ----------------------------------------------------------------------- */

/* What rank k brings of recorded values that all have: they differ, so that order matters. */
static inline float part_of(int k, float recorded)
{
    return recorded * ((float)(k + 1) * 0.37f);
}

/* In turn: first, first + 1, ... around. */
static inline float in_turn(int first, int n, float recorded)
{
    float sum = part_of(first, recorded);
    for (int k = 1; k < n; k++)
        sum = sum + part_of((first + k) % n, recorded);
    return sum;
}

/* Downwards: last - 1, last - 2, ... around, and last in the end. */
static inline float downwards(int last, int n, float recorded)
{
    float sum = part_of((last + n - 1) % n, recorded);
    for (int k = 2; k <= n; k++)
        sum = sum + part_of((last + n - k) % n, recorded);
    return sum;
}

/* Pairs, pairs of pairs, ...: the largest power of two below n, and the rest. from: where the
 * tree's places begin around. */
static inline float by_pairs(int from, int lo, int n, int around, float recorded)
{
    int left = 1;
    if (n == 1)
        return part_of((from + lo) % around, recorded);
    while (2 * left < n)
        left *= 2;
    return by_pairs(from, lo, left, around, recorded) +
           by_pairs(from, lo + left, n - left, around, recorded);
}

/* Of m places; the first `extra` of them are folded pairs. */
static inline float folded(int lo, int m, int extra, float recorded)
{
    if (m == 1 && lo < extra)
        return part_of(2 * lo + 1, recorded) + part_of(2 * lo, recorded);
    if (m == 1)
        return part_of(lo + extra, recorded);
    return folded(lo, m / 2, extra, recorded) + folded(lo + m / 2, m / 2, extra, recorded);
}

static inline float of_sites(int first_site, int n, float recorded)
{
    const int n_sites = (n + RANKS_A_SITE - 1) / RANKS_A_SITE;
    float sum = 0;
    for (int k = 0; k < n_sites; k++) {
        const int lo = (first_site + k) % n_sites * RANKS_A_SITE,
                  m = n - lo < RANKS_A_SITE ? n - lo : RANKS_A_SITE;
        const float site = by_pairs(lo, 0, m, n, recorded);
        sum = k == 0 ? site : sum + site;
    }
    return sum;
}

/* The place in a tree of each half that is above this one: the lowest bit goes up by one, or away.
 * The second tree of an even number of ranks is counted from the other end; of an odd one,
 * from 1. */
static inline int above(int place, int n)
{
    int bit = 1;
    while (!(place & bit))
        bit *= 2;
    return place - bit + (place & 2 * bit ? 0 : 2 * bit) < n
               ? place - bit + (place & 2 * bit ? 0 : 2 * bit)
               : place - bit;
}

static inline int rank_in(int tree, int place, int n)
{
    return tree == 0 ? place : n % 2 == 0 ? n - 1 - place : (place + 1) % n;
}

static inline float below(int tree, int place, int n, float recorded)
{
    float sum = part_of(rank_in(tree, place, n), recorded);
    for (int i = 1; i < n; i++)
        if (above(i, n) == place)
            sum = sum + below(tree, i, n, recorded);
    return sum;
}

static inline float expected(enum collective kind, int n, size_t n_elems, size_t i, float recorded)
{
    int left = 1;
    while (2 * left <= n)
        left *= 2;
    switch (kind) {
    case RING:
    case RING_ENCODED:
    case ALL_TO_ALL:
    case SCATTER:
        return in_turn(part_with(n_elems, i, n), n, recorded);
    case GLOO:
        return downwards(part_with(n_elems, i, n), n, recorded);
    case HALVING:
    case OPEN_MPI:
        return folded(0, left, n - left, recorded);
    case PAT:
        return by_pairs(part_with(n_elems, i, n), 0, n, n, recorded);
    case TREE:
        return by_pairs(0, 0, n, n, recorded);
    case DOUBLE_TREE:
        return below(part_with(n_elems, i, 2), 0, n, recorded);
    case SITES:
        return of_sites(part_with(n_elems, i, (n + RANKS_A_SITE - 1) / RANKS_A_SITE), n, recorded);
    case GATHER: /* part p is that of rank p - 1 */
        return part_of((part_with(n_elems, i, n) + n - 1) % n, recorded);
    case REDUCE:
        return by_pairs(n - 1, 0, n, n, recorded);
    case CHAIN: /* from the place behind the root on */
        return in_turn(0, n, recorded);
    default: /* broadcasts */
        return part_of(n - 1, recorded);
    }
}

/* --- the bytes ------------------------------------------------------------------------------ */

struct sent { /* by one rank: elements in payloads, and messages of a frame each */
    size_t n_elems, n_messages;
};

/* Elements of the parts [first, end) of n: floor(i N / n) is where part i begins. */
static inline size_t of_parts(size_t n_elems, int first, int end, int n)
{
    return (size_t)end * n_elems / (size_t)n - (size_t)first * n_elems / (size_t)n;
}

static inline size_t of_part(size_t n_elems, int part, int n)
{
    return of_parts(n_elems, part % n, part % n + 1, n);
}

/* Children of a place in a binomial tree of n: place + 1, + 2, + 4 ... below its lowest bit. */
static inline size_t n_children(int place, int n)
{
    size_t count = 0;
    for (int mask = 1; place + mask < n && !(place & mask); mask *= 2)
        count++;
    return count;
}

/* Up and down the tree: everything once to the parent, and once to each child. */
static inline struct sent in_tree(size_t n_elems, int place, int n)
{
    const size_t n_messages = n_children(place, n) + (place > 0);
    return (struct sent){n_messages * n_elems, n_messages};
}

/* All parts but one in each half: me + 1 in the first, me + 2 in the second. */
static inline struct sent in_ring(size_t n_elems, int me, int n)
{
    if (n == 1)
        return (struct sent){0, 0};
    return (struct sent){2 * n_elems - of_part(n_elems, me + 1, n) - of_part(n_elems, me + 2, n),
                         2 * (size_t)(n - 1)};
}

/* All parts but one in each half: first me, then me - 1; tensors up to 2 MiB a rank have two
 * segments a part, and each that comes was asked for. */
static inline struct sent in_gloo(size_t n_elems, int me, int n)
{
    if (n == 1)
        return (struct sent){0, 0};
    return (struct sent){2 * n_elems - of_part(n_elems, me, n) - of_part(n_elems, me + n - 1, n),
                         8 * (size_t)(n - 1)};
}

/* All but the part that is kept, in log2 p messages; then that part and what has come to it, 1, 2,
 * 4 .. p / 2 parts, each a message. The part's number is the place's bits in reverse. */
static inline struct sent in_halving(size_t n_elems, int me, int n)
{
    int p = 1, part = 0;
    while (2 * p <= n)
        p *= 2;
    const int extra = n - p;
    if (me < 2 * extra && me % 2 == 0)
        return (struct sent){n_elems, 1};
    const int place = me < 2 * extra ? me / 2 : me - extra;
    struct sent s = {n_elems, 0};
    for (int mask = 1, value = p / 2; mask < p; mask *= 2, value /= 2)
        part += place & mask ? value : 0;
    s.n_elems -= of_part(n_elems, part, p);
    for (int m = 1; m < p; m *= 2) {
        s.n_messages += 1 + (size_t)m;
        s.n_elems += of_parts(n_elems, part / m * m, part / m * m + m, p);
    }
    if (me < 2 * extra) { /* all parts to the one that was folded away */
        s.n_elems += n_elems;
        s.n_messages += (size_t)p;
    }
    return s;
}

/* In the first half all parts but its own, each once; in the second its own to all that are below
 * it in the part's tree, and so for the part whose owner is o before it: one message for each bit
 * below the lowest of o. */
static inline struct sent in_pat(size_t n_elems, int me, int n)
{
    struct sent s = {n_elems - of_part(n_elems, me, n), (size_t)n - 1};
    for (int o = 0; o < n; o++)
        for (int d = 1; o + d < n && !(o & d) && (o & (d - 1)) == 0; d *= 2) {
            s.n_elems += of_part(n_elems, me - o + n, n);
            s.n_messages++;
        }
    return s;
}

/* Open MPI's, of these sizes, none between 8 and 256 KiB: before a message of more than 16384
 * elements goes a question, and its receiver answers; of more than 262144, on paths without delay,
 * it has a beginning apart. */
static inline struct sent one_way(struct sent s, size_t n_out, size_t n_in)
{
    const size_t eager = 16384, held = 262144;
    s.n_elems += n_out;
    s.n_messages += (size_t)(n_out > eager) + (size_t)(n_out > held) + (size_t)(n_in > eager);
    return s;
}

/* Windows are halved by places' bits from the lowest on; the left half has one element less where
 * it does not divide, and the lower place keeps it. Of folded pairs the even one stays. */
static inline struct sent in_open_mpi(size_t n_elems, int me, int n)
{
    struct sent s = {0, 0};
    int p = 1;
    while (2 * p <= n)
        p *= 2;
    if (4 * n_elems < 8192) { /* doubling: all, to each partner; the odd one of a pair stays */
        const bool in_pair = me < 2 * (n - p), away = in_pair && me % 2 == 0;
        for (int mask = 1; mask < p && !away; mask *= 2)
            s.n_messages++;
        s.n_messages += in_pair;
        return (struct sent){s.n_messages * n_elems, s.n_messages};
    }
    const bool folds = me < 2 * (n - p), stays = !folds || me % 2 == 0;
    const size_t left = n_elems / 2, right = n_elems - left;
    if (folds && stays) { /* exchange; the other's half; the total */
        s = one_way(s, right, left);
        s = one_way(s, 0, right);
        s = one_way(s, n_elems, 0);
        s.n_messages += 2;
    } else if (folds) {
        s = one_way(s, left, right);
        s = one_way(s, right, 0);
        s = one_way(s, 0, n_elems);
        s.n_messages += 2;
    }
    size_t window = n_elems;
    const int place = folds ? me / 2 : me - (n - p);
    for (int mask = 1; mask < p && stays; mask *= 2) {
        const size_t lower = window / 2, mine = place & mask ? window - lower : lower;
        s = one_way(s, window - mine, mine);
        s = one_way(s, mine, window - mine);
        s.n_messages += 2;
        window = mine;
    }
    return s;
}

/* A part to each owner; the sum of one's own to everybody. */
static inline struct sent to_owners(size_t n_elems, int me, int n)
{
    const size_t mine = of_part(n_elems, me, n);
    return (struct sent){n_elems - mine + (size_t)(n - 1) * mine, 2 * ((size_t)n - 1)};
}

/* Of each half, once up and once to each child. */
static inline struct sent in_two_trees(size_t n_elems, int me, int n)
{
    struct sent s = {0, 0};
    for (int tree = 0; tree < 2; tree++)
        for (int i = 1; i < n; i++) {
            const bool mine = rank_in(tree, i, n) == me || rank_in(tree, above(i, n), n) == me;
            s.n_elems += mine ? of_part(n_elems, tree, 2) : 0;
            s.n_messages += mine;
        }
    return s;
}

static inline struct sent sent_by(enum collective kind, size_t n_elems, int me, int n)
{
    const int site = me / RANKS_A_SITE, n_sites = (n + RANKS_A_SITE - 1) / RANKS_A_SITE,
              place = me % RANKS_A_SITE;
    switch (kind) {
    case RING:
    case RING_ENCODED:
        return in_ring(n_elems, me, n);
    case HALVING:
        return in_halving(n_elems, me, n);
    case OPEN_MPI:
        return in_open_mpi(n_elems, me, n);
    case GLOO:
        return in_gloo(n_elems, me, n);
    case PAT:
        return in_pat(n_elems, me, n);
    case TREE:
        return in_tree(n_elems, me, n);
    case DOUBLE_TREE:
        return in_two_trees(n_elems, me, n);
    case ALL_TO_ALL:
        return to_owners(n_elems, me, n);
    case SITES: {
        const int m =
            n - site * RANKS_A_SITE < RANKS_A_SITE ? n - site * RANKS_A_SITE : RANKS_A_SITE;
        struct sent s = in_tree(n_elems, place, m);
        const struct sent between = in_ring(n_elems, site, n_sites);
        s.n_elems += place == 0 ? between.n_elems : 0;
        s.n_messages += place == 0 ? between.n_messages : 0;
        return s;
    }
    case SCATTER: /* the part that it ends with, and then those before it, stay or come */
        return n > 1 ? (struct sent){n_elems - of_part(n_elems, me + 1, n), (size_t)n - 1}
                     : (struct sent){0, 0};
    case GATHER: /* the neighbour's is not passed on to it */
        return n > 1 ? (struct sent){n_elems - of_part(n_elems, me + 2, n), (size_t)n - 1}
                     : (struct sent){0, 0};
    case REDUCE:
        return (struct sent){me == n - 1 ? 0 : n_elems, me != n - 1};
    case CHAIN:
        return me == n - 1 ? (struct sent){0, 0} : (struct sent){n_elems, N_PIECES};
    case BROADCAST: {
        const size_t children = n_children((me + 1) % n, n);
        return (struct sent){children * n_elems, children};
    }
    case PIPELINED: /* the chain begins at the last rank, and its end sends nothing */
        return (me + 1) % n == n - 1 ? (struct sent){0, 0} : (struct sent){n_elems, N_PIECES};
    case N_COLLECTIVES:
        break;
    }
    return (struct sent){0, 0};
}

/* --- runs ----------------------------------------------------------------------------------- */

/* One collective, twice: what a call leaves behind must not spoil the next one. */
static inline void check_one(struct strait_rank *r, enum collective kind, struct strait_tensor *x,
                             const float *recorded)
{
    const int n = strait_n_ranks(r), me = strait_me(r);
    const size_t n_elems = strait_n_elems(x);
    const struct strait_log *log = &r->run->logs[me];
    for (int call = 0; call < 2; call++) {
        const struct sent wanted = sent_by(kind, n_elems, me, n);
        const uint64_t bytes = log->payload_bytes, n_messages = log->n_messages;
        float *values = strait_values(r, x);
        for (size_t i = 0; i < n_elems; i++)
            values[i] = part_of(me, recorded[i]);
        call_collective(r, kind, x);
        if (log->payload_bytes - bytes != 4 * wanted.n_elems)
            complain(r, kind, "bytes", (double)(log->payload_bytes - bytes),
                     4 * (double)wanted.n_elems);
        if (log->n_messages - n_messages != wanted.n_messages)
            complain(r, kind, "messages", (double)(log->n_messages - n_messages),
                     (double)wanted.n_messages);
        values = strait_values(r, x);
        for (size_t i = 0; i < n_elems && has_result(kind, me, n); i++) {
            if (!has_element(kind, me, n, n_elems, i))
                continue;
            const float sum = expected(kind, n, n_elems, i, recorded[i]);
            if (memcmp(&values[i], &sum, sizeof(sum)) != 0)
                complain(r, kind, "sum in its order", (double)values[i], (double)sum);
        }
        barrier(r); /* nobody writes anew what somebody still reads */
    }
}

static inline void check_all(struct strait_rank *r)
{
    struct strait_tensor *whole = strait_tensor(r, STRAIT_GRADIENTS, 0, STRAIT_ALL_LAYERS);
    float *recorded = strait_alloc(r, CNN_ELEMS, sizeof(float));
    memcpy(recorded, strait_values(r, whole), CNN_ELEMS * sizeof(float));
    for (int kind = 0; kind < N_COLLECTIVES; kind++)
        for (size_t k = 0; k < N_SIZES; k++)
            check_one(r, (enum collective)kind,
                      sizes[k] == CNN_ELEMS ? whole : strait_range(r, whole, 0, sizes[k]),
                      recorded);
}
