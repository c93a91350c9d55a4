/* What K-FAC's factors are of tests/data/kfac.csv, who sends what together and who inverts it, and
 * the clocks of both lanes of every rank: sizes and costs from the layers' shapes by their
 * formulas, groups and owners by exhaustive search or their rule. All traffic goes to the next
 * rank, on one stream that carries message after message, so that max-plus recurrences are exact.
 */
#pragma once
#include <math.h>

#include "tests/kit/harness.h"
#include "tests/kit/suite.h"

enum { N_LAYERS = 5, N_FACTOR_LAYERS = 4, N_FACTORS = 8, MAX_RANKS = 6, ROUNDS = 3, NONE = -1 };

static const double RATE_BYTES_PER_S = 60e6 / 8 * 1448 / 1538, DELAY_S = 150e-6, FRAME_BYTES = 96;
static const double FACTOR_SPEED = 1.5, MATRIX_FLOP_PER_S = 20e9, OPT_S = 1.2e-3;

/* tests/data/kfac.csv, with the iteration's totals: 6 and 12 ms for 5.6 and 11.5 ms. */
static const double elems[N_LAYERS] = {448, 32, 7680, 9680, 810};
static const double fwd_s[N_LAYERS] = {1.5e-3 * 6 / 5.6, .2e-3 * 6 / 5.6, 1.7e-3 * 6 / 5.6,
                                       1.9e-3 * 6 / 5.6, .3e-3 * 6 / 5.6};
static const double bwd_s[N_LAYERS] = {2.8e-3 * 12 / 11.5, .4e-3 * 12 / 11.5, 3.5e-3 * 12 / 11.5,
                                       4.1e-3 * 12 / 11.5, .7e-3 * 12 / 11.5};

/* Inputs with kernel and outputs of the layers with factors; a bias makes A one larger. */
static const struct {
    int layer, in, out, bias;
} shapes[N_FACTOR_LAYERS] = {{0, 27, 16, 1}, {2, 64, 120, 0}, {3, 120, 80, 1}, {4, 80, 10, 1}};

/* --- factors ------------------------------------------------------------------------------- */

struct factor {
    int layer;
    double dim, elems, compute_s, inverse_s, precondition_s, ready_s;
};

/* A of the first layer to the last, then G of the last to the first, as the passes come to them. A
 * factor of dimension d takes d^2 / (in out) of its layer's forward pass; ready_s is for those that
 * are made beside the passes. */
static inline void fill_factors(struct factor *f)
{
    double now_s = 0;
    int n = 0;
    for (int i = 0; i < N_FACTORS; i++) {
        const bool of_a = i < N_FACTOR_LAYERS;
        const int k = of_a ? i : N_FACTORS - 1 - i;
        const double in = shapes[k].in, out = shapes[k].out, a = in + shapes[k].bias,
                     d = of_a ? a : out;
        f[i] = (struct factor){
            .layer = shapes[k].layer,
            .dim = d,
            .elems = d * (d + 1) / 2,
            .compute_s = fwd_s[shapes[k].layer] * d * d / (in * out) / FACTOR_SPEED,
            .inverse_s = 0.3e-3 * exp(0.025 * d),
            .precondition_s = of_a ? 2 * out * a * (out + a) / MATRIX_FLOP_PER_S : 0};
    }
    for (int l = 0; l < N_LAYERS; l++) {
        if (n < N_FACTOR_LAYERS && f[n].layer == l)
            f[n].ready_s = now_s += f[n].compute_s, n++;
        now_s += fwd_s[l];
    }
    for (int l = N_LAYERS - 1; l >= 0; l--) {
        now_s += bwd_s[l];
        if (n < N_FACTORS && f[n].layer == l)
            f[n].ready_s = now_s += f[n].compute_s, n++;
    }
}

/* --- clocks -------------------------------------------------------------------------------- */

enum told { GRADIENTS, FACTORS, INVERSES, N_TOLD };

struct world {
    int n;
    double piece_bytes; /* of chains; 0: all at once */
    double add_s_per_byte, copy_s_per_byte;
    double launch_s;          /* of each collective; 0 for one rank alone */
    double now_s[MAX_RANKS];  /* of each rank's passes and inverses */
    double lane_s[MAX_RANKS]; /* of its collectives, one after another */
    double free_s[MAX_RANKS]; /* when its stream to the next rank has sent all */
    double told_s[N_TOLD][MAX_RANKS];
    struct factor f[N_FACTORS];
};

static inline double part(double n_elems, int i, int n)
{
    i = (i % n + n) % n;
    return floor((i + 1) * n_elems / n) - floor(i * n_elems / n);
}

/* When a message that rank r posts at at_s is with the next rank. */
static inline double sent_s(struct world *w, int r, double at_s, double n_elems)
{
    w->free_s[r] = fmax(w->free_s[r], at_s) + (4 * n_elems + FRAME_BYTES) / RATE_BYTES_PER_S;
    return w->free_s[r] + DELAY_S;
}

/* One step of a ring: rank r sends part r + shift and works on the one before it. */
static inline void ring_step(struct world *w, double n_elems, int shift, double s_per_byte)
{
    double there_s[MAX_RANKS];
    for (int r = 0; r < w->n; r++)
        there_s[(r + 1) % w->n] = sent_s(w, r, w->lane_s[r], part(n_elems, r + shift, w->n));
    for (int r = 0; r < w->n; r++)
        w->lane_s[r] =
            fmax(w->lane_s[r], there_s[r]) + 4 * part(n_elems, r + shift - 1, w->n) * s_per_byte;
}

static inline void begin_job(struct world *w)
{
    for (int r = 0; r < w->n; r++)
        w->lane_s[r] = fmax(w->lane_s[r], w->now_s[r]) + w->launch_s;
}

static inline void end_job(struct world *w, enum told told)
{
    for (int r = 0; r < w->n; r++)
        w->told_s[told][r] = w->lane_s[r];
}

static inline void all_reduce(struct world *w, double n_elems, enum told told)
{
    begin_job(w);
    for (int step = 0; step < w->n - 1; step++)
        ring_step(w, n_elems, -step, w->add_s_per_byte);
    for (int step = 0; step < w->n - 1; step++)
        ring_step(w, n_elems, 1 - step, w->copy_s_per_byte);
    end_job(w, told);
}

enum { MAX_PIECES = 64 };

static inline int n_pieces(const struct world *w, double n_elems)
{
    return w->piece_bytes > 0 ? (int)ceil(4 * n_elems / w->piece_bytes) : 1;
}

/* From the root on around: what has come goes on at once, and is copied while the next comes; a
 * whole tensor in one message, as a tree has it, is taken over as it is. */
static inline void broadcast(struct world *w, int root, double n_elems, enum told told)
{
    const int n = n_pieces(w, n_elems);
    const double copy_s = w->piece_bytes > 0 ? w->copy_s_per_byte : 0;
    double there_s[MAX_PIECES] = {0};
    CU_ASSERT_FATAL(n <= MAX_PIECES);
    begin_job(w);
    for (int place = 0; place < w->n && w->n > 1; place++) {
        const int r = (root + place) % w->n;
        double now_s = w->lane_s[r], copied_s = 0;
        for (int i = 0; i < n; i++) {
            now_s = fmax(now_s, place > 0 ? there_s[i] : 0);
            if (place < w->n - 1)
                there_s[i] = sent_s(w, r, now_s, part(n_elems, i, n));
            now_s = fmax(now_s, copied_s);
            copied_s = now_s + (place > 0 ? 4 * part(n_elems, i, n) * copy_s : 0);
        }
        w->lane_s[r] = fmax(now_s, copied_s);
    }
    end_job(w, told);
}

/* The other way round: from behind the root on, each adds its own and passes the piece on. */
static inline void reduce(struct world *w, int root, double n_elems, enum told told)
{
    const int n = n_pieces(w, n_elems);
    double there_s[MAX_PIECES] = {0};
    CU_ASSERT_FATAL(n <= MAX_PIECES);
    begin_job(w);
    for (int place = 1; place <= w->n && w->n > 1; place++) {
        const int r = (root + place) % w->n;
        for (int i = 0; i < n; i++) {
            if (place > 1)
                w->lane_s[r] =
                    fmax(w->lane_s[r], there_s[i]) + 4 * part(n_elems, i, n) * w->add_s_per_byte;
            if (place < w->n)
                there_s[i] = sent_s(w, r, w->lane_s[r], part(n_elems, i, n));
        }
    }
    end_job(w, told);
}

static inline void await(struct world *w, enum told told)
{
    for (int r = 0; r < w->n; r++)
        w->now_s[r] = fmax(w->now_s[r], w->told_s[told][r]);
}

static inline void everybody(struct world *w, double work_s)
{
    for (int r = 0; r < w->n; r++)
        w->now_s[r] += work_s;
}

/* --- plans --------------------------------------------------------------------------------- */

enum { EVERYWHERE = -1 };

struct plan {
    int owner[N_FACTORS], group[N_FACTORS]; /* of each factor; group NONE: does not travel */
    bool beside;                            /* made and sent beside the passes */
    bool to_owner;                          /* groups with an owner are reduced, not all-reduced */
    bool inverses_in_groups;
};

/* As buffers of so many bytes fill. */
static inline void fill_buffers(struct plan *p, const struct factor *f, double max_bytes)
{
    double bytes = 0;
    for (int i = 0, group = 0; i < N_FACTORS; i++) {
        bytes += 4 * f[i].elems;
        if (i > 0 && bytes > max_bytes) {
            group++;
            bytes = 4 * f[i].elems;
        }
        p->group[i] = group;
    }
}

/* When the last of a side's first n factors is summed, groups being cut where the bits of `cuts`
 * say. */
static inline double summed_s(const struct world *w, int lo, int n, int cuts, double free_s)
{
    const double alpha_s =
                     w->launch_s + 2 * (w->n - 1) * (DELAY_S + FRAME_BYTES / RATE_BYTES_PER_S),
                 beta_s = 2.0 * (w->n - 1) / w->n / RATE_BYTES_PER_S;
    double bytes = 0;
    for (int i = 0; i < n; i++) {
        bytes += 4 * w->f[lo + i].elems;
        if (i + 1 == n || cuts >> i & 1) {
            free_s = fmax(free_s, w->f[lo + i].ready_s) + alpha_s + beta_s * bytes;
            bytes = 0;
        }
    }
    return free_s;
}

/* Groups of one side's four factors: of all ways to cut, that with which the last ends first, its
 * last group as long as that allows; and so for what is before that group. Returns that end. */
static inline double merge(struct plan *p, const struct world *w, int lo, double free_s)
{
    double all_s = INFINITY;
    for (int n = N_FACTOR_LAYERS, start = 0; n > 0; n = start) {
        double best_s = INFINITY;
        for (int cuts = 0; cuts < 1 << (n - 1); cuts++) { /* a longer last group comes first */
            const double end_s = summed_s(w, lo, n, cuts, free_s);
            if (end_s >= best_s)
                continue;
            best_s = end_s;
            for (start = n - 1; start > 0 && !(cuts >> (start - 1) & 1);)
                start--;
        }
        for (int i = start; i < n; i++)
            p->group[lo + i] = lo + start;
        all_s = n == N_FACTOR_LAYERS ? best_s : all_s;
    }
    return all_s;
}

/* What costs less than its broadcast is everybody's; the rest, the most expensive first, each to
 * who has the least so far. */
static inline void balance(struct plan *p, const struct world *w)
{
    double load_s[MAX_RANKS] = {0};
    bool placed[N_FACTORS] = {false};
    for (int i = 0; i < N_FACTORS; i++) {
        const double pieces = n_pieces(w, w->f[i].elems),
                     piece_s = (4 * w->f[i].elems / pieces + FRAME_BYTES) / RATE_BYTES_PER_S,
                     send_s = w->n > 1 ? w->launch_s + (w->n - 1) * (DELAY_S + piece_s) +
                                             (pieces - 1) * piece_s
                                       : 0;
        p->owner[i] = EVERYWHERE;
        placed[i] = w->f[i].inverse_s < send_s;
    }
    for (int k = 0; k < N_FACTORS; k++) {
        int most = NONE, least = 0;
        for (int i = 0; i < N_FACTORS; i++)
            if (!placed[i] && (most == NONE || w->f[i].inverse_s > w->f[most].inverse_s))
                most = i;
        for (int r = 1; r < w->n; r++)
            if (load_s[r] < load_s[least])
                least = r;
        if (most == NONE)
            return;
        placed[most] = true;
        p->owner[most] = least;
        load_s[least] += w->f[most].inverse_s;
    }
}

/* Of the factors above `small`: contiguous blocks, one a rank, with the least largest load, each as
 * long as that allows. A block is a group, and what is small makes one of A and one of G. */
static inline void block(struct plan *p, const struct world *w, double small)
{
    double min_s = INFINITY, load_s = 0;
    for (int cuts = 0; cuts < 1 << (N_FACTORS - 1); cuts++) {
        double sum_s = 0, largest_s = 0;
        int n_blocks = 1;
        for (int i = 0; i < N_FACTORS; i++) {
            sum_s += w->f[i].dim > small ? w->f[i].inverse_s : 0;
            largest_s = fmax(largest_s, sum_s);
            if (cuts >> i & 1) {
                n_blocks++;
                sum_s = 0;
            }
        }
        if (n_blocks <= w->n)
            min_s = fmin(min_s, largest_s);
    }
    for (int i = 0, rank = 0; i < N_FACTORS; i++) {
        if (w->f[i].dim <= small) {
            p->owner[i] = EVERYWHERE;
            p->group[i] = MAX_RANKS + (i < N_FACTOR_LAYERS);
            continue;
        }
        load_s += w->f[i].inverse_s;
        if (load_s > min_s * (1 + 1e-12)) {
            rank++;
            load_s = w->f[i].inverse_s;
        }
        p->owner[i] = p->group[i] = rank;
    }
}
