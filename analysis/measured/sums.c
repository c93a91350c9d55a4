#include "sums.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/buffer.h"
#include "sums_sent.h"
#include "traces/tensor_fill.h"
#include "workloads/timing/turns.h"

enum { MAX_BYTES = 128 << 20, MAX_TIMED = 6, N_READINGS = 5 };

/* Of sums of n_ranks ranks' values, or of all: bytes and seconds. */
struct tally {
    int n_ranks;                    /* 0: of all */
    double sent_bytes, coded_bytes; /* raw, and as encoded */
    double timed_bytes, encode_s, decode_s;
};

/* One piece on its way from rank to rank. */
struct piece {
    const struct strait_experiment *e;
    struct strait_sum_cut cuts[STRAIT_MAX_SUM_CUTS];
    int n_cuts;
    const struct strait_tensor_fill_plan *plan;
    struct strait_bundle bundle;
    struct strait_sweeper sweeper;
    float *sum, *own; /* n_most elements each */
    struct strait_slice
        *slices;           /* of the sum: those that the codec takes; then the same of `own` */
    size_t *rows, *firsts; /* where each slice is from */
    size_t n_most, n_slices, n_elems;
    unsigned char *room;
    size_t room_bytes;
    struct tally tallies[STRAIT_MAX_SUM_ENTRIES]; /* the first of all */
    int n_tallies;
};

static void release(struct piece *p)
{
    const struct strait_codec_ops *ops = p->e->up.spec.ops;
    if (p->bundle.lossy.state && ops->close)
        ops->close(p->bundle.lossy.state);
    strait_sweeper_release(&p->sweeper);
    strait_buffer_free(p->sum);
    strait_buffer_free(p->own);
    strait_buffer_free(p->room);
    free(p->slices);
    free(p->rows);
    free(p->firsts);
    strait_sum_cuts_release(p->cuts);
}

/* Parts that a cut is measured in: more of them where ranks that pass one on would take longer than
 * all may. */
static size_t n_parts_of(const struct piece *p, const struct strait_sum_cut *cut)
{
    const double passed_bytes = 4.0 * (double)p->e->model->n_elems * p->e->n_clients;
    const size_t parts = (size_t)cut->n_parts, least = (size_t)(passed_bytes / MAX_BYTES) + 1;
    return parts > least ? parts : least;
}

static int init(struct piece *p, const struct strait_experiment *e,
                const struct strait_tensor_fill_plan *plan, struct strait_error *err)
{
    const struct strait_model *m = e->model;
    const struct strait_codec_spec *spec = &e->up.spec;
    *p = (struct piece){
        .e = e, .plan = plan, .bundle = {.lossy.ops = spec->ops, .bound = spec->bound}};
    p->n_tallies = 1;
    for (int k = 0; (k = strait_next_sum(k, e->n_clients)) > 0;)
        if (p->n_tallies < STRAIT_MAX_SUM_ENTRIES)
            p->tallies[p->n_tallies++].n_ranks = k;
    p->n_cuts = strait_sum_cuts(p->cuts, strait_experiment_sums(e), e->n_clients);
    for (int i = 0; i < p->n_cuts; i++) {
        const size_t n = m->n_elems / n_parts_of(p, &p->cuts[i]) + 2;
        p->n_most = n > p->n_most ? n : p->n_most;
    }
    p->sum = strait_buffer_new(4 * p->n_most);
    p->own = strait_buffer_new(4 * p->n_most);
    p->slices = calloc(2 * m->n_rows, sizeof(*p->slices));
    p->rows = calloc(m->n_rows, sizeof(*p->rows));
    p->firsts = calloc(m->n_rows, sizeof(*p->firsts));
    if (p->n_cuts < 0 || !p->sum || !p->own || !p->slices || !p->rows || !p->firsts)
        return strait_error_memory(err, "calibration");
    if (strait_sweeper_init(&p->sweeper, err) != 0 ||
        strait_codec_open(spec->ops, &p->bundle.lossy.state, spec->params, err) != 0)
        return -1;
    return 0;
}

/* Cut out elements [lo, hi) of the model, without the rows that the codec leaves to another. */
static void cut_out(struct piece *p, size_t lo, size_t hi)
{
    const struct strait_model *m = p->e->model;
    const bool all = p->e->up.spec.ops->flags & STRAIT_CODEC_LOSSLESS;
    size_t at = 0;
    p->n_slices = p->n_elems = 0;
    for (size_t i = 0; i < m->n_rows; at += m->rows[i++].n_elems) {
        const struct strait_param_row *row = &m->rows[i];
        const size_t from = at > lo ? at : lo, to = at + row->n_elems < hi ? at + row->n_elems : hi;
        if (from >= to ||
            !(all || strait_slice_lossy(row->n_dims, row->n_elems, (size_t)p->e->up.cutoff_elems)))
            continue;
        const bool whole = to - from == row->n_elems && row->n_dims >= 2;
        p->slices[p->n_slices] = (struct strait_slice){.x = p->sum + p->n_elems,
                                                       .n_elems = to - from,
                                                       .lossy = true,
                                                       .n_rows = whole ? row->shape[0] : 0};
        p->rows[p->n_slices] = i;
        p->firsts[p->n_slices++] = from - at;
        p->n_elems += to - from;
    }
    for (size_t i = 0; i < p->n_slices; i++) {
        p->slices[p->n_slices + i] = p->slices[i];
        p->slices[p->n_slices + i].x = p->own + (p->slices[i].x - p->sum);
    }
}

/* Room for what the piece is encoded to. */
static int make_room(struct piece *p, struct strait_error *err)
{
    const size_t bytes = strait_bundle_max_bytes(&p->bundle, p->slices, p->n_slices);
    if (bytes <= p->room_bytes)
        return 0;
    strait_buffer_free(p->room);
    p->room_bytes = bytes;
    p->room = strait_buffer_new_untouched(bytes);
    return p->room ? 0 : strait_error_memory(err, "calibration");
}

/* Read how long the sum so far takes to encode and to decode. */
static int time_sum(struct piece *p, struct tally *of, struct strait_error *err)
{
    struct strait_codec_times t;
    const struct strait_turns turns = {.from = p->slices,
                                       .to = p->slices + p->n_slices,
                                       .n_slices = p->n_slices,
                                       .n_turns = 1,
                                       .warm = true};
    if (strait_time_turns(&t, &p->bundle, &turns, N_READINGS, 0, &p->sweeper, err) != 0)
        return -1;
    of->timed_bytes += 4 * (double)p->n_elems;
    of->encode_s += strait_typical_s(t.encode_s, t.n_repeats);
    of->decode_s += strait_typical_s(t.decode_s, t.n_repeats);
    return 0;
}

/* Of the sum so far, of k ranks and sent n_sent times, `bytes` as encoded. */
static int count_sum(struct piece *p, int k, double n_sent, double bytes, bool timed,
                     struct strait_error *err)
{
    for (int i = 0; i < p->n_tallies; i++) {
        struct tally *of = &p->tallies[i];
        if (i > 0 && of->n_ranks != k)
            continue;
        of->sent_bytes += n_sent * 4 * (double)p->n_elems;
        of->coded_bytes += n_sent * bytes;
        if (i > 0 && timed && n_sent > 0 && time_sum(p, of, err) != 0)
            return -1;
    }
    return 0;
}

/* The most ranks in a sum that the cut sends; 0: none. */
static int last_of(const struct piece *p, const struct strait_sum_cut *cut)
{
    int k = p->e->n_clients;
    while (k > 0 && !(cut->sent[k] > 0))
        k--;
    return k;
}

/* The piece's way: rank by rank, each adds its own to what it decodes. */
static int pass_on(struct piece *p, const struct strait_sum_cut *cut, int first_rank, bool timed,
                   double scale, struct strait_error *err)
{
    const int n = p->e->n_clients, last = last_of(p, cut);
    struct strait_slice *own = p->slices + p->n_slices;
    size_t len_bytes = 0;
    for (int k = 0; k < last; k++) {
        const unsigned rank = (unsigned)((first_rank + k) % n);
        if (k > 0 &&
            strait_bundle_decode(&p->bundle, p->slices, p->n_slices, p->room, len_bytes, err) != 0)
            return -1;
        for (size_t i = 0; i < p->n_slices; i++)
            strait_tensor_fill_row(own[i].x, own[i].n_elems, p->plan, p->rows[i], p->firsts[i],
                                   rank);
        for (size_t i = 0; i < p->n_elems; i++)
            p->sum[i] = k > 0 ? p->sum[i] + p->own[i] : p->own[i];
        if (strait_bundle_encode(&p->bundle, p->room, p->room_bytes, &len_bytes, NULL, p->slices,
                                 p->n_slices, err) != 0)
            return -1;
        const size_t bytes = len_bytes - p->n_slices * STRAIT_BUNDLE_SLICE_BYTES;
        if (count_sum(p, k + 1, scale * cut->sent[k + 1], (double)bytes, timed, err) != 0 ||
            (timed && k == last / 2 && time_sum(p, &p->tallies[0], err) != 0))
            return -1;
    }
    return 0;
}

/* As many pieces of the cut as the cuts together may take. */
static int measure(struct piece *p, const struct strait_sum_cut *cut, struct strait_error *err)
{
    const size_t n_elems = p->e->model->n_elems, n = n_parts_of(p, cut), n_cuts = (size_t)p->n_cuts,
                 ranks = (size_t)p->e->n_clients;
    const size_t piece_bytes = 4 * (n_elems / n + 1) * ranks;
    const size_t afford = MAX_BYTES / n_cuts / piece_bytes + 1, n_pieces = afford < n ? afford : n;
    const size_t every = n_pieces * n_cuts / MAX_TIMED + 1; /* this one is timed */
    for (size_t i = 0; i < n_pieces; i++) {
        const size_t at = i * n / n_pieces;
        cut_out(p, n_elems * at / n, n_elems * (at + 1) / n);
        if (p->n_slices > 0 &&
            (make_room(p, err) != 0 || pass_on(p, cut, (int)(at % ranks), i % every == 0,
                                               (double)n / (double)n_pieces, err) != 0))
            return -1;
    }
    return 0;
}

static int measure_all(struct piece *p, struct strait_error *err)
{
    for (int i = 0; i < p->n_cuts; i++)
        if (last_of(p, &p->cuts[i]) > 0 && measure(p, &p->cuts[i], err) != 0)
            return -1;
    return 0;
}

static struct strait_quantiles same(double x)
{
    return (struct strait_quantiles){x, x, x};
}

/* `of` is the kind of the means. False: nothing like it was sent, or its name is too long. */
static bool fill_entry(struct strait_profile_entry *entry, const struct tally *t, const char *of,
                       const struct strait_experiment *e)
{
    if (!(t->timed_bytes > 0))
        return false;
    *entry = (struct strait_profile_entry){.bound = e->up.spec.bound};
    entry->ratio = t->sent_bytes / t->coded_bytes;
    entry->encode_bytes_per_s = t->timed_bytes / t->encode_s;
    entry->decode_bytes_per_s = t->timed_bytes / t->decode_s;
    entry->ratios = same(entry->ratio);
    entry->encode = same(entry->encode_bytes_per_s);
    entry->decode = same(entry->decode_bytes_per_s);
    snprintf(entry->codec, sizeof(entry->codec), "%s", e->up.spec.ops->name);
    snprintf(entry->kind, sizeof(entry->kind), "%s", of);
    snprintf(entry->model, sizeof(entry->model), "%s", e->model->name);
    strait_codec_settings_text(entry->settings, &e->up.spec);
    return t->n_ranks == 0 || strait_sum_of_kind(entry->kind, of, t->n_ranks);
}

int strait_sums_measure(struct strait_profile_entry entries[STRAIT_MAX_SUM_ENTRIES], int *n,
                        const struct strait_experiment *e, const char *kind,
                        struct strait_error *err)
{
    struct strait_tensors *tensors = NULL;
    struct strait_tensor_fill_plan *plan = NULL;
    struct piece p = {.e = e};
    char of[STRAIT_KIND_CHARS];
    const int failed = strait_tensors_load(&tensors, e->tensors, err) != 0 ||
                       strait_tensor_fill_plan_new(&plan, e->model, tensors, kind,
                                                   STRAIT_FILL_HELD_OUT, err) != 0 ||
                       init(&p, e, plan, err) != 0 || measure_all(&p, err) != 0;
    strait_sums_kind(of, strait_experiment_sums(e), kind, e->n_clients);
    *n = 0;
    for (int i = 0; i < p.n_tallies && !failed; i++)
        *n += fill_entry(&entries[*n], &p.tallies[i], of, e);
    release(&p);
    strait_tensor_fill_plan_free(plan);
    strait_tensors_free(tensors);
    return failed ? -1 : 0;
}
