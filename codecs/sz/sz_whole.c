/* sz: a whole tensor: its head and its segments, by one thread or several. Each segment's tables
 * depend on the previous one, so they are chosen in turn; quantising and coding, which cost most,
 * run in parallel. The bytes do not depend on the number of threads. */
#include <math.h>
#include "sz_whole.h"

size_t sz_head_bytes(const struct sz_state *s, size_t n_elems)
{
    enum { DIRECTIONS_HEAD = 24 + 4 * SZ_MAX_DIRECTIONS };
    return SZ_HEAD_BYTES + (s->most_directions > 0 ? DIRECTIONS_HEAD + sz_matrix_room(n_elems) : 0);
}

/* In one piece it is at most as long as raw values. */
size_t sz_max_bytes(const void *state, size_t n_elems)
{
    if (n_elems <= SZ_SEGMENT)
        return 4 * n_elems + SZ_HEAD_BYTES;
    return 4 * n_elems + sz_head_bytes(state, n_elems) + sz_segments_in(n_elems) * SZ_TABLE_BYTES;
}

int sz_check_bound(const struct sz_state *s, struct strait_bound bound, struct strait_error *err)
{
    if (strait_bound_check(bound, s->ops, err) != 0)
        return -1;
    if (bound.kind == STRAIT_BOUND_RATIO && bound.value < 1)
        return strait_refuse(err, "sz", "expected a target ratio of at least 1, found %g",
                             bound.value);
    return 0;
}

/* ---- extent */

struct extent_job {
    const struct sz_kernels *kernels;
    const float *x;
    size_t n, next;
    pthread_mutex_t mutex;
    struct strait_extent sum;
};

enum { EXTENT_ELEMS = 1 << 20 };

static void take_in(struct strait_extent *sum, const struct strait_extent *part)
{
    if (part->n_finite > 0) {
        sum->min = sum->n_finite == 0 || part->min < sum->min ? part->min : sum->min;
        sum->max = sum->n_finite == 0 || part->max > sum->max ? part->max : sum->max;
    }
    sum->n_finite += part->n_finite;
    sum->all_finite = sum->all_finite && part->all_finite;
}

static void find_extents(void *arg)
{
    struct extent_job *job = arg;
    pthread_mutex_lock(&job->mutex);
    while (job->next < job->n) {
        const size_t at = job->next, left = job->n - at;
        job->next += EXTENT_ELEMS;
        pthread_mutex_unlock(&job->mutex);
        const struct strait_extent part = strait_extent_at(
            job->kernels->level, job->x + at, left < EXTENT_ELEMS ? left : EXTENT_ELEMS);
        pthread_mutex_lock(&job->mutex);
        take_in(&job->sum, &part);
    }
    pthread_mutex_unlock(&job->mutex);
}

static struct strait_extent extent_of(struct sz_state *s, const float *x, size_t n)
{
    if (!s->team || n < 2 * EXTENT_ELEMS)
        return strait_extent_at(s->kernels->level, x, n);
    struct extent_job job = {.kernels = s->kernels, .x = x, .n = n, .sum = {.all_finite = true}};
    pthread_mutex_init(&job.mutex, NULL);
    strait_team_run(s->team, find_extents, &job);
    pthread_mutex_destroy(&job.mutex);
    return job.sum;
}

/* ---- head */

static float centre_of(const float *x, size_t n, const struct strait_extent *extent)
{
    if (n > SZ_FIXED_ELEMS)
        return sz_sample_centre(x, n, extent->all_finite);
    const bool apart = extent->min > 0 || extent->max < 0;
    return apart ? (float)(extent->min / 2 + extent->max / 2) : 0.0f;
}

/* Whether one value can represent all. */
static bool is_constant(const struct strait_extent *extent, double limit, bool exact, float *value)
{
    const double middle = (double)(float)(extent->min / 2 + extent->max / 2);
    *value = exact ? (float)extent->min : (float)middle;
    if (exact)
        return !(extent->min < extent->max) && signbit(extent->min) == signbit(extent->max);
    return extent->max - middle <= limit && middle - extent->min <= limit;
}

/* The integers of the directions as a stream. False: it is too long. */
static bool code_directions(struct sz_matrix *m, struct sz_encoder *e)
{
    const size_t n = m->rank * (m->n_rows + m->n_columns);
    struct sz_coding c;
    c.x = m->code;
    c.head = (struct sz_head){
        .mode = n <= SZ_FIXED_ELEMS ? SZ_FIXED : SZ_SEGMENTS, .n_elems = n, .grid = sz_integers};
    sz_chain_begin(&c.chain);
    c.chain.hasty = true;
    const size_t room = sz_matrix_room(m->n_rows * m->n_columns);
    struct strait_writer w = {.p = m->bytes, .end = m->bytes + room};
    for (size_t i = 0; i < sz_pieces_in(&c.head); i++)
        sz_coding_put(&c, e, &w, i);
    memset(e->version, 0, sizeof(e->version)); /* its tables are of another stream */
    m->len_bytes = (size_t)(w.p - m->bytes);
    return !w.full;
}

static void find_matrix(struct sz_coding *c, struct sz_encoder *e, size_t n_rows, double rival)
{
    struct sz_head *head = &c->head;
    const bool centred = head->grid.centre < 0 || head->grid.centre > 0;
    struct sz_matrix *m = centred ? NULL : sz_take_matrix(c->state, head->n_elems, n_rows);
    if (!m) /* without memory: coded without directions */
        return;
    if (sz_matrix_find(m, c->x, head->grid.inverse, c->state->most_directions, rival) &&
        sz_matrix_complete(m) && code_directions(m, e))
        head->matrix = m;
    else
        strait_pool_give(&c->state->matrices, m);
}

void sz_coding_begin(struct sz_coding *c, struct sz_state *s, struct sz_encoder *e, const float *x,
                     size_t n, size_t n_rows, struct strait_bound bound)
{
    struct sz_head *head = &c->head;
    const bool pointwise = bound.kind == STRAIT_BOUND_POINTWISE;
    const bool target = bound.kind == STRAIT_BOUND_RATIO;
    const struct strait_extent extent = extent_of(s, x, n);
    c->x = x;
    c->state = s;
    c->head = (struct sz_head){0};
    sz_chain_begin(&c->chain);
    head->n_elems = n;
    head->pointwise = pointwise;
    head->mode = n > SZ_SEGMENT ? SZ_RAW_SEGMENTS : SZ_RAW;
    double limit = 0;
    if (target) {
        limit = sz_target_bound(e, x, n, bound.value, &extent);
        memset(e->version, 0, sizeof(e->version)); /* tables may be of another stream */
    } else if (!pointwise)
        limit = strait_bound_within(bound, &extent, x, n);
    if (n == 0)
        return;
    if (extent.all_finite && is_constant(&extent, limit, pointwise || target, &head->constant)) {
        head->mode = SZ_CONST;
        return;
    }
    if (pointwise) {
        if (!sz_powers_for(&head->powers, bound.value, x, n, &extent))
            return;
        head->grid = sz_integers;
    } else if (!sz_grid_for(&head->grid, limit, centre_of(x, n, &extent))) {
        return;
    }
    head->mode = n <= SZ_FIXED_ELEMS ? SZ_FIXED : SZ_SEGMENTS;
    if (head->mode == SZ_FIXED || pointwise)
        return;
    const double by_delta = sz_sample_delta(e, x, n, &head->grid);
    if (s->most_directions > 0 && !target && extent.all_finite && sz_matrix_fits(n, n_rows))
        find_matrix(c, e, n_rows, by_delta);
    head->delta = by_delta > 0 && !head->matrix;
    c->chain.hasty = head->matrix != NULL;
}

static void coding_end(struct sz_coding *c)
{
    if (c->head.matrix)
        strait_pool_give(&c->state->matrices, c->head.matrix);
    c->head.matrix = NULL;
}

/* ---- directions of a matrix: their integers are a stream of their own */

int sz_open_matrix(struct sz_state *s, struct sz_head *head, bool *good, struct strait_error *err)
{
    const struct sz_directions *d = &head->directions;
    *good = true;
    if (d->rank == 0)
        return 0;
    struct strait_reader r = {.p = d->bytes, .end = d->bytes + d->len_bytes};
    *good = sz_matrix_fits(head->n_elems, d->n_rows) && sz_head_is_plain(&r);
    if (!*good)
        return 0;
    struct sz_matrix *m = sz_take_matrix(s, head->n_elems, d->n_rows);
    if (!m)
        return strait_error_memory(err, "sz");
    m->rank = d->rank;
    memcpy(m->scale, d->scale, sizeof(m->scale));
    const size_t n_codes = m->rank * (m->n_rows + m->n_columns);
    const int failed = sz_decode_whole(s, m->code, n_codes, &r, good, err);
    *good = !failed && *good && r.p == r.end && sz_matrix_complete(m);
    if (*good)
        head->matrix = m;
    else
        strait_pool_give(&s->matrices, m);
    return failed;
}

/* ---- encoding */

void sz_finish_whole(struct strait_writer *w, const struct strait_writer *start, const float *value,
                     size_t n, bool raw)
{
    const struct sz_head head = {.mode = SZ_RAW, .n_elems = n};
    unsigned char bytes[SZ_HEAD_BYTES];
    struct strait_writer h = {.p = bytes, .end = bytes + sizeof(bytes)};
    sz_write_head(&h, &head);
    const size_t head_bytes = (size_t)(h.p - bytes);
    if (!raw && !w->full && (size_t)(w->p - start->p) <= 4 * n + head_bytes)
        return;
    *w = *start;
    strait_write_bytes(w, bytes, head_bytes);
    if (strait_write_room(w, 4 * n)) {
        strait_put_floats(w->p, value, n);
        w->p += 4 * n;
    }
}

static void put_segment(struct sz_coding *c, struct sz_encoder *e, struct strait_writer *w,
                        size_t index)
{
    const float *x = c->x + index * SZ_SEGMENT;
    const size_t n = sz_segment_elems(c->head.n_elems, index);
    sz_segment_split(e, x, n, &c->head, index);
    sz_chain_choose(e, &c->chain, n);
    sz_segment_write(e, w, x, n, &c->head, index);
}

void sz_coding_put(struct sz_coding *c, struct sz_encoder *e, struct strait_writer *w, size_t index)
{
    const struct strait_writer start = *w;
    const struct sz_head *head = &c->head;
    struct sz_fixed fixed;
    if (index == 0)
        sz_write_head(w, head);
    if (head->mode == SZ_FIXED) {
        sz_fixed_quantise(&fixed, c->x, head->n_elems, head);
        sz_fixed_write(w, &fixed, head->n_elems);
    } else if (head->mode >= SZ_SEGMENTS) {
        put_segment(c, e, w, index);
    }
    if (sz_pieces_in(head) == 1 && head->mode != SZ_CONST)
        sz_finish_whole(w, &start, c->x, head->n_elems, head->mode == SZ_RAW);
}

struct encode_job {
    struct sz_coding *c;
    struct sz_state *state;
    struct strait_writer *w;
    pthread_mutex_t mutex;
    size_t next;
    struct strait_turns chosen, written;
};

static void encode_segments(void *arg)
{
    struct encode_job *job = arg;
    const struct sz_head *head = &job->c->head;
    struct sz_encoder *e = sz_take_encoder(job->state);
    while (e) {
        pthread_mutex_lock(&job->mutex);
        const size_t index = job->next < sz_segments_in(head->n_elems) ? job->next++ : SIZE_MAX;
        pthread_mutex_unlock(&job->mutex);
        if (index == SIZE_MAX)
            break;
        const float *x = job->c->x + index * SZ_SEGMENT;
        const size_t n = sz_segment_elems(head->n_elems, index);
        struct strait_writer w = {.p = e->bytes, .end = e->bytes + sizeof(e->bytes)};
        sz_segment_split(e, x, n, head, index);
        strait_turns_await(&job->chosen, index);
        sz_chain_choose(e, &job->c->chain, n);
        strait_turns_pass(&job->chosen);
        sz_segment_write(e, &w, x, n, head, index);
        strait_turns_await(&job->written, index);
        strait_write_bytes(job->w, e->bytes, (size_t)(w.p - e->bytes));
        strait_turns_pass(&job->written);
    }
    if (e)
        strait_pool_give(&job->state->encoders, e);
}

int sz_encode_whole(struct sz_state *s, struct strait_writer *w, const float *x, size_t n,
                    size_t n_rows, struct strait_bound bound, struct strait_error *err)
{
    struct sz_coding c;
    struct sz_encoder *e = sz_take_encoder(s);
    if (!e)
        return strait_error_memory(err, "sz");
    sz_coding_begin(&c, s, e, x, n, n_rows, bound);
    const size_t n_pieces = sz_pieces_in(&c.head);
    if (!s->team || n_pieces == 1) {
        for (size_t i = 0; i < n_pieces; i++)
            sz_coding_put(&c, e, w, i);
        strait_pool_give(&s->encoders, e);
        coding_end(&c);
        return 0;
    }
    strait_pool_give(&s->encoders, e);
    struct encode_job job = {.c = &c, .state = s, .w = w};
    sz_write_head(w, &c.head);
    pthread_mutex_init(&job.mutex, NULL);
    strait_turns_init(&job.chosen);
    strait_turns_init(&job.written);
    strait_team_run(s->team, encode_segments, &job);
    const bool done = job.written.now == n_pieces;
    strait_turns_release(&job.written);
    strait_turns_release(&job.chosen);
    pthread_mutex_destroy(&job.mutex);
    coding_end(&c);
    return done ? 0 : strait_error_memory(err, "sz");
}

/* ---- decoding */

bool sz_decode_plain(float *y, struct strait_reader *r, const struct sz_head *head)
{
    const size_t n = head->n_elems;
    struct sz_fixed fixed;
    if (head->mode == SZ_RAW) {
        const unsigned char *p = n <= SIZE_MAX / 4 ? strait_read_bytes(r, 4 * n) : NULL;
        if (p)
            strait_get_floats(y, p, n);
        return p != NULL;
    }
    if (head->mode == SZ_CONST) {
        for (size_t i = 0; i < n; i++)
            y[i] = head->constant;
        return true;
    }
    if (head->mode != SZ_FIXED || !sz_fixed_read(&fixed, n, r, head))
        return false;
    memcpy(y, fixed.value, n * sizeof(*y));
    return true;
}

struct decode_job {
    struct sz_state *state;
    struct strait_reader *r;
    const struct sz_head *head;
    float *y;
    pthread_mutex_t mutex; /* protects all that follows, and the reader */
    struct sz_chain chain;
    size_t next, n_done;
    bool bad;
};

static void decode_segments(void *arg)
{
    struct decode_job *job = arg;
    struct sz_unpacker u;
    const size_t n_segments = sz_segments_in(job->head->n_elems);
    struct sz_decoder *d = sz_take_decoder(job->state);
    if (!d)
        return;
    pthread_mutex_lock(&job->mutex);
    while (!job->bad && job->next < n_segments) {
        const size_t index = job->next++;
        bool good = sz_segment_open(&u, d, &job->chain, job->r, job->head, index);
        job->bad = !good;
        pthread_mutex_unlock(&job->mutex);
        good = good && sz_segment_decode(&u, job->y + index * SZ_SEGMENT);
        pthread_mutex_lock(&job->mutex);
        job->bad = job->bad || !good;
        job->n_done += good;
    }
    pthread_mutex_unlock(&job->mutex);
    strait_pool_give(&job->state->decoders, d);
}

int sz_decode_whole(struct sz_state *s, float *y, size_t n, struct strait_reader *r, bool *good,
                    struct strait_error *err)
{
    struct sz_head head;
    *good = sz_read_head(r, &head, n);
    if (!*good)
        return 0;
    if (head.mode < SZ_SEGMENTS || n == 0) {
        *good = sz_decode_plain(y, r, &head);
        return 0;
    }
    if (sz_open_matrix(s, &head, good, err) != 0)
        return -1;
    if (!*good)
        return 0;
    struct decode_job job;
    job.state = s;
    job.r = r;
    job.head = &head;
    job.y = y;
    job.next = job.n_done = 0;
    job.bad = false;
    sz_chain_begin(&job.chain);
    pthread_mutex_init(&job.mutex, NULL);
    strait_team_run(n > SZ_SEGMENT ? s->team : NULL, decode_segments, &job);
    pthread_mutex_destroy(&job.mutex);
    *good = !job.bad && job.n_done == sz_segments_in(n);
    sz_give_matrix(s, head.matrix);
    if (!job.bad && job.next == 0)
        return strait_error_memory(err, "sz");
    return 0;
}
