/* sz: the sum of two streams. If both have the same step, integers are added without further
 * rounding: the sum decodes to (q_a + q_b) * step + (c_a + c_b). A constant is a centre with every
 * integer 0. If a value is not an integer on either side, the float sum is stored raw. */
#include <math.h>
#include "sz_whole.h"

struct operand {
    struct sz_head head;
    struct strait_reader r; /* positioned behind the head */
    struct sz_chain chain;
    struct sz_fixed fixed;
};

struct add_job {
    struct sz_state *state;
    struct operand a, b;
    struct sz_head head; /* of the sum */
    struct strait_writer *w;
    struct sz_chain chain;
    pthread_mutex_t mutex; /* protects the operands and all below */
    size_t next;
    bool bad;
    struct strait_turns chosen, written;
};

static bool on_grid(const struct sz_head *head)
{
    return head->mode == SZ_FIXED || head->mode == SZ_SEGMENTS;
}

static bool in_segments(const struct sz_head *head)
{
    return head->mode >= SZ_SEGMENTS;
}

static bool share_step(const struct sz_head *a, const struct sz_head *b)
{
    if (a->pointwise || b->pointwise)
        return false;
    return !on_grid(a) || !on_grid(b) ||
           memcmp(&a->grid.step, &b->grid.step, sizeof(a->grid.step)) == 0;
}

bool sz_summable(const void *state, const unsigned char *a, size_t a_bytes, const unsigned char *b,
                 size_t b_bytes)
{
    struct strait_reader n = {.p = a, .end = a + a_bytes}, of_a = n;
    struct strait_reader of_b = {.p = b, .end = b + b_bytes};
    struct sz_head head_a, head_b;
    (void)state;
    strait_read_u8(&n);
    const uint64_t n_elems = strait_read_varint(&n);
    return n_elems <= SIZE_MAX / 4 && sz_read_head(&of_a, &head_a, (size_t)n_elems) &&
           sz_read_head(&of_b, &head_b, (size_t)n_elems) && share_step(&head_a, &head_b);
}

/* A stream without segments is decoded at once. */
static bool open_operand(struct sz_state *s, struct operand *o, const unsigned char *in,
                         size_t len_bytes, size_t n)
{
    o->r = (struct strait_reader){.p = in, .end = in + len_bytes};
    memset(&o->chain, 0, sizeof(o->chain));
    bool good;
    if (!sz_read_head(&o->r, &o->head, n) || sz_open_matrix(s, &o->head, &good, NULL) != 0 || !good)
        return false;
    const size_t left = (size_t)(o->r.end - o->r.p);
    if (o->head.mode == SZ_FIXED)
        return sz_fixed_read(&o->fixed, n, &o->r, &o->head) && o->r.p == o->r.end;
    if (o->head.mode == SZ_RAW)
        return left % 4 == 0 && left / 4 == n;
    return o->head.mode != SZ_CONST || left == 0;
}

/* Integers of the block at `at`; NaN for values without integer, whose values go to y.
 * Returns: false when malformed; *whole: all values have integers */
static bool get_block(struct operand *o, struct sz_unpacker *u, float *q, float *y, size_t at,
                      unsigned m, bool *whole)
{
    if (in_segments(&o->head)) {
        const bool good = sz_unpack_integers(u, q, y, m);
        *whole = !u->any_escape;
        return good;
    }
    *whole = o->head.mode == SZ_CONST;
    for (unsigned i = 0; i < m; i++)
        if (o->head.mode == SZ_CONST) {
            q[i] = 0;
        } else if (o->head.mode == SZ_FIXED) {
            q[i] = o->fixed.mark[at + i] ? NAN : (float)o->fixed.q[at + i];
            y[i] = o->fixed.value[at + i];
        } else {
            q[i] = NAN;
            y[i] = strait_get_float(o->r.p + 4 * (at + i));
        }
    return true;
}

/* What the integers decode to. */
static void set_values(float *y, const float *q, unsigned m, const struct operand *o)
{
    const float step = o->head.grid.step, centre = o->head.grid.centre;
    for (unsigned i = 0; i < m; i++)
        if (!isnan(q[i]))
            y[i] = o->head.mode == SZ_CONST ? o->head.constant : q[i] * step + centre;
}

/* The sum of one segment, or of the whole tensor if there are none, into e->integer and
 * e->value. */
static bool sum_segment(struct add_job *job, struct sz_encoder *e, struct sz_unpacker *a,
                        struct sz_unpacker *b, size_t index)
{
    const size_t first = index * SZ_SEGMENT, n = sz_segment_elems(job->head.n_elems, index);
    const float step = job->head.grid.step, centre = job->head.grid.centre;
    const bool integers = on_grid(&job->head);
    if ((in_segments(&job->a.head) && !sz_unpack_begin(a)) ||
        (in_segments(&job->b.head) && !sz_unpack_begin(b)))
        return false;
    for (size_t i = 0; i < n; i += SZ_BLOCK) {
        const unsigned m = n - i < SZ_BLOCK ? (unsigned)(n - i) : SZ_BLOCK;
        float qa[SZ_BLOCK], qb[SZ_BLOCK], ya[SZ_BLOCK], yb[SZ_BLOCK];
        float *q = e->integer + i, *y = e->value + i;
        bool whole_a, whole_b;
        if (!get_block(&job->a, a, qa, ya, first + i, m, &whole_a) ||
            !get_block(&job->b, b, qb, yb, first + i, m, &whole_b))
            return false;
        for (unsigned k = 0; k < m; k++) {
            q[k] = qa[k] + qb[k];
            y[k] = q[k] * step + centre;
        }
        if (whole_a && whole_b && integers)
            continue;
        set_values(ya, qa, m, &job->a);
        set_values(yb, qb, m, &job->b);
        for (unsigned k = 0; k < m; k++) {
            q[k] = integers ? q[k] : NAN;
            y[k] = isnan(q[k]) ? ya[k] + yb[k] : y[k];
        }
    }
    return (!in_segments(&job->a.head) || sz_unpack_end(a)) &&
           (!in_segments(&job->b.head) || sz_unpack_end(b));
}

/* Use differences if both streams do. */
static bool wants_delta(const struct add_job *job, const struct sz_unpacker *a,
                        const struct sz_unpacker *b)
{
    const bool of_a = in_segments(&job->a.head) && (a->how & SZ_HOW_WAY) == SZ_HOW_DELTA;
    const bool of_b = in_segments(&job->b.head) && (b->how & SZ_HOW_WAY) == SZ_HOW_DELTA;
    return (of_a && of_b) || (of_a && job->b.head.mode == SZ_CONST) ||
           (of_b && job->a.head.mode == SZ_CONST);
}

static bool open_segment(struct operand *o, struct sz_unpacker *u, struct sz_decoder *d,
                         size_t index)
{
    return !in_segments(&o->head) || sz_segment_open(u, d, &o->chain, &o->r, &o->head, index);
}

/* Open the next segment: false when there is none left. *good: whether it is well-formed. */
static bool open_next(struct add_job *job, struct sz_unpacker *a, struct sz_unpacker *b,
                      struct sz_decoder *of_a, struct sz_decoder *of_b, size_t *index, bool *good)
{
    pthread_mutex_lock(&job->mutex);
    const bool any = !job->bad && job->next < sz_segments_in(job->head.n_elems);
    if (any) {
        *index = job->next++;
        *good = open_segment(&job->a, a, of_a, *index) && open_segment(&job->b, b, of_b, *index);
        job->bad = !*good;
    }
    pthread_mutex_unlock(&job->mutex);
    return any;
}

/* Write the sum in e, of a segment or a whole tensor. A malformed segment only takes its turn. */
static void add_segment(struct add_job *job, struct sz_encoder *e, const struct sz_unpacker *a,
                        const struct sz_unpacker *b, size_t index, bool good)
{
    const size_t n = sz_segment_elems(job->head.n_elems, index);
    struct strait_writer w = {.p = e->bytes, .end = e->bytes + sizeof(e->bytes)};
    e->how = SZ_HOW_RAW;
    if (good && on_grid(&job->head))
        sz_segment_split_integers(e, e->value, n, &job->head, wants_delta(job, a, b));
    strait_turns_await(&job->chosen, index);
    if (good)
        sz_chain_choose(e, &job->chain, n);
    strait_turns_pass(&job->chosen);
    if (good)
        sz_segment_write(e, &w, e->value, n, &job->head, index);
    strait_turns_await(&job->written, index);
    strait_write_bytes(job->w, e->bytes, (size_t)(w.p - e->bytes));
    strait_turns_pass(&job->written);
}

static void add_segments(void *arg)
{
    struct add_job *job = arg;
    struct sz_unpacker a, b;
    struct sz_encoder *e = sz_take_encoder(job->state);
    struct sz_decoder *of_a = sz_take_decoder(job->state), *of_b = sz_take_decoder(job->state);
    size_t index;
    bool good;
    while (e && of_a && of_b && open_next(job, &a, &b, of_a, of_b, &index, &good)) {
        good = good && sum_segment(job, e, &a, &b, index);
        add_segment(job, e, &a, &b, index, good);
        if (good)
            continue;
        pthread_mutex_lock(&job->mutex);
        job->bad = true;
        pthread_mutex_unlock(&job->mutex);
    }
    if (e)
        strait_pool_give(&job->state->encoders, e);
    if (of_a)
        strait_pool_give(&job->state->decoders, of_a);
    if (of_b)
        strait_pool_give(&job->state->decoders, of_b);
}

static void set_head(struct sz_head *sum, const struct sz_head *a, const struct sz_head *b)
{
    const size_t n = a->n_elems;
    const float of_a = a->mode == SZ_CONST ? a->constant : a->grid.centre;
    const float of_b = b->mode == SZ_CONST ? b->constant : b->grid.centre;
    *sum = (struct sz_head){.n_elems = n, .mode = n > SZ_SEGMENT ? SZ_RAW_SEGMENTS : SZ_RAW};
    if (a->mode == SZ_CONST && b->mode == SZ_CONST) {
        sum->mode = SZ_CONST;
        sum->constant = of_a + of_b;
    } else if ((on_grid(a) || on_grid(b)) && isfinite(of_a + of_b)) {
        sum->mode = n <= SZ_FIXED_ELEMS ? SZ_FIXED : SZ_SEGMENTS;
        sum->grid = on_grid(a) ? a->grid : b->grid;
        sum->grid.centre = of_a + of_b;
    }
}

static void write_fixed(struct strait_writer *w, const struct sz_encoder *e, size_t n)
{
    struct sz_fixed sum;
    for (size_t i = 0; i < n; i++) {
        sum.mark[i] = !(fabsf(e->integer[i]) <= 4194303.0f);
        sum.q[i] = sum.mark[i] ? 0 : (int32_t)e->integer[i];
        sum.value[i] = e->value[i];
    }
    sz_fixed_write(w, &sum, n);
}

/* Sums without segments. False: a or b is malformed. */
static bool add_small(struct add_job *job, struct strait_writer *w, struct sz_encoder *e,
                      struct sz_decoder *of_a, struct sz_decoder *of_b)
{
    struct sz_unpacker a, b;
    const struct strait_writer start = *w;
    const size_t n = job->head.n_elems;
    sz_write_head(w, &job->head);
    if (job->head.mode == SZ_CONST || n == 0)
        return !in_segments(&job->a.head) && !in_segments(&job->b.head);
    if (!open_segment(&job->a, &a, of_a, 0) || !open_segment(&job->b, &b, of_b, 0) ||
        !sum_segment(job, e, &a, &b, 0))
        return false;
    if (job->head.mode == SZ_FIXED) {
        write_fixed(w, e, n);
    } else if (job->head.mode == SZ_SEGMENTS) {
        sz_segment_split_integers(e, e->value, n, &job->head, wants_delta(job, &a, &b));
        sz_chain_choose(e, &job->chain, n);
        sz_segment_write(e, w, e->value, n, &job->head, 0);
    }
    sz_finish_whole(w, &start, e->value, n, job->head.mode == SZ_RAW);
    return true;
}

static int add_whole(struct add_job *job, struct strait_error *err)
{
    struct sz_state *s = job->state;
    struct sz_encoder *e = sz_take_encoder(s);
    struct sz_decoder *of_a = sz_take_decoder(s), *of_b = sz_take_decoder(s);
    const bool room = e && of_a && of_b;
    job->bad = room && !add_small(job, job->w, e, of_a, of_b);
    if (e)
        strait_pool_give(&s->encoders, e);
    if (of_a)
        strait_pool_give(&s->decoders, of_a);
    if (of_b)
        strait_pool_give(&s->decoders, of_b);
    return room ? 0 : strait_error_memory(err, "sz");
}

static int add_by_segments(struct add_job *job, struct strait_error *err)
{
    const size_t n_segments = sz_segments_in(job->head.n_elems);
    sz_write_head(job->w, &job->head);
    pthread_mutex_init(&job->mutex, NULL);
    strait_turns_init(&job->chosen);
    strait_turns_init(&job->written);
    strait_team_run(job->state->team, add_segments, job);
    const bool done = job->bad || job->written.now == n_segments;
    strait_turns_release(&job->written);
    strait_turns_release(&job->chosen);
    pthread_mutex_destroy(&job->mutex);
    for (const struct operand *o = &job->a; o; o = o == &job->a ? &job->b : NULL)
        if (in_segments(&o->head) && o->r.p != o->r.end)
            job->bad = true;
    return done ? 0 : strait_error_memory(err, "sz");
}

/* Returns: 0, or -1 with *err */
static int add_operands(struct add_job *job, size_t n_elems, struct strait_error *err)
{
    if (!share_step(&job->a.head, &job->b.head))
        return strait_refuse(err, "sz", "expected two streams that share a step");
    set_head(&job->head, &job->a.head, &job->b.head);
    const bool whole = job->head.mode == SZ_CONST || n_elems <= SZ_SEGMENT;
    if ((whole ? add_whole(job, err) : add_by_segments(job, err)) != 0)
        return -1;
    if (job->bad)
        return strait_refuse(err, "sz", "expected two streams of %zu values", n_elems);
    return 0;
}

int sz_add(void *state, unsigned char *out, size_t cap_bytes, size_t *len_bytes,
           const unsigned char *a, size_t a_bytes, const unsigned char *b, size_t b_bytes,
           size_t n_elems, struct strait_error *err)
{
    struct strait_writer w = {.p = out, .end = out + cap_bytes};
    struct add_job job = {.state = state, .w = &w};
    if (cap_bytes < sz_max_bytes(state, n_elems))
        return strait_refuse(err, "sz", "expected room for %zu bytes, found %zu",
                             sz_max_bytes(state, n_elems), cap_bytes);
    const bool open = open_operand(state, &job.a, a, a_bytes, n_elems) &&
                      open_operand(state, &job.b, b, b_bytes, n_elems);
    const int failed =
        open ? add_operands(&job, n_elems, err)
             : strait_refuse(err, "sz", "expected two streams of %zu values", n_elems);
    sz_give_matrix(state, job.a.head.matrix);
    sz_give_matrix(state, job.b.head.matrix);
    *len_bytes = (size_t)(w.p - out);
    return failed;
}
