/* Error-bounded compressors loaded with dlopen: common to SZ3 and LibPressio. */
#include "plugin.h"
#include <assert.h>
#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include "core/hash.h"
#include "codecs/bound.h"
#include "corrections.h"
#include "core/bytes.h"
#include "isolate.h"
#include "codecs/kit/scratch_pool.h"

enum { RAW, CODED };
enum job_kind { JOB_PROBE, JOB_COMPRESS, JOB_EXPAND };
enum { HEAD_BYTES = 32 };
enum { MIN_ELEMS = 8 }; /* fewer gain nothing; LibPressio takes one value for no dimension */

/* Context of the work, constant from open to close. */
struct bundle {
    const struct strait_plugin_kernel *kernel;
    void *context;
};

struct state {
    const struct strait_codec_ops *ops;
    struct bundle bundle;
    struct strait_pool pool; /* of struct piece */
    bool here, verify;
    double limit_s;
};

struct piece {
    struct strait_pooled pooled;
    struct strait_isolate isolate;
};

void *strait_plugin_load(const char *const *names, const char *variable)
{
    const char *asked = getenv(variable);
    void *library = NULL;
    if (asked && *asked)
        return dlopen(asked, RTLD_NOW | RTLD_LOCAL);
    for (size_t i = 0; names[i] && !library; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    return library;
}

void (*strait_plugin_symbol(void *library, const char *name))(void)
{
    void *object = dlsym(library, name);
    void (*function)(void);
    static_assert(sizeof(object) == sizeof(function), "POSIX has one kind of address");
    memcpy(&function, &object, sizeof(function));
    return function;
}

/* Runs in the other process. args: kind, n_elems, bits of the tolerance, verify. The decoded values
 * of JOB_COMPRESS come first, the stream behind them. */
static bool work(const void *context, struct strait_isolated_job *job, const unsigned char *in,
                 unsigned char *out)
{
    const struct bundle *b = context;
    const size_t n = (size_t)job->args[1], room = job->out_bytes;
    float *y = (float *)(void *)out;
    double tolerance;
    memcpy(&tolerance, &job->args[2], sizeof(tolerance));
    if (job->args[0] == JOB_PROBE)
        return b->kernel->probe(b->context);
    if (job->args[0] == JOB_EXPAND)
        return b->kernel->expand(b->context, y, n, in, job->in_bytes);
    job->out_bytes = b->kernel->compress(b->context, out + 4 * n, room - 4 * n,
                                         (const float *)(const void *)in, n, tolerance);
    if (job->out_bytes == 0 || job->out_bytes > room - 4 * n)
        return false;
    return !job->args[3] || b->kernel->expand(b->context, y, n, out + 4 * n, job->out_bytes);
}

static struct piece *take(struct state *s)
{
    struct piece *p = strait_pool_take(&s->pool);
    if (p)
        return p;
    p = calloc(1, sizeof(*p));
    if (p)
        p->isolate = (struct strait_isolate){.work = work,
                                             .context = &s->bundle,
                                             .library = s->bundle.kernel->library,
                                             .here = s->here,
                                             .limit_s = s->limit_s};
    return p;
}

void strait_plugin_close(void *state)
{
    struct state *s = state;
    for (struct piece *p; (p = strait_pool_take(&s->pool)) != NULL;) {
        strait_isolate_release(&p->isolate);
        free(p);
    }
    strait_pool_release(&s->pool);
    s->bundle.kernel->close(s->bundle.context);
    free(s);
}

/* Start the process now, while the program is small. */
static int start(struct state *s, struct strait_error *err)
{
    const char *name = s->ops->name;
    struct strait_isolated_job job = {.args = {JOB_PROBE}};
    struct piece *p = take(s);
    if (!p)
        return strait_error_set(err, STRAIT_ERR_NOMEM, name, "no memory for the codec");
    int result = strait_isolate_room(&p->isolate, 0, 0, err);
    if (result == 0)
        result = strait_isolate_start(&p->isolate, err);
    if (result == 0 && s->bundle.kernel->probe) {
        result = strait_isolate_call(&p->isolate, &job, err);
        if (result == 0 && job.good != 1)
            result = strait_refuse(err, name, "expected %s", s->bundle.kernel->probe_expects);
    }
    strait_pool_give(&s->pool, p);
    return result;
}

int strait_plugin_open(void **state, const struct strait_codec_ops *ops, void *context,
                       const double *params, struct strait_error *err)
{
    const struct strait_plugin_kernel *kernel = ops->kernel;
    struct state *s = calloc(1, sizeof(*s));
    if (!s) {
        kernel->close(context);
        return strait_error_set(err, STRAIT_ERR_NOMEM, ops->name, "no memory for the codec");
    }
    s->ops = ops;
    s->bundle = (struct bundle){kernel, context};
    s->here = params[STRAIT_FOREIGN_ISOLATE] < 0.5;
    s->verify = params[STRAIT_FOREIGN_VERIFY] > 0.5;
    s->limit_s = params[STRAIT_FOREIGN_LIMIT];
    strait_pool_init(&s->pool);
    if (start(s, err) != 0) {
        strait_plugin_close(s);
        return -1;
    }
    *state = s;
    return 0;
}

size_t strait_plugin_max_bytes(const void *state, size_t n_elems)
{
    (void)state;
    return 4 * n_elems + HEAD_BYTES;
}

/* Write everything behind the checksum, at w: false if it would not be smaller than the raw
 * values. */
static bool write_coded(struct strait_writer *w, const struct state *s, const struct piece *p,
                        const float *x, size_t n, double tolerance, size_t stream_bytes)
{
    const float *y = s->verify ? (const float *)(const void *)p->isolate.out : NULL;
    strait_corrections_put(w, x, y, n, tolerance);
    strait_write_bytes(w, p->isolate.out + 4 * n, stream_bytes);
    return !w->full;
}

/* Returns: 1: coded; 0: store raw; -1 with *err. */
static int encode_coded(struct state *s, struct piece *p, struct strait_writer *w, const float *x,
                        size_t n, double tolerance, struct strait_error *err)
{
    struct strait_isolated_job job = {
        .in_bytes = 4 * n, .out_bytes = 8 * n, .args = {JOB_COMPRESS, n, 0, s->verify}};
    memcpy(&job.args[2], &tolerance, sizeof(tolerance));
    if (!(tolerance > 0) || !isfinite(tolerance) || n < MIN_ELEMS)
        return 0;
    if (strait_isolate_room(&p->isolate, job.in_bytes, job.out_bytes, err) != 0)
        return -1;
    if (!strait_corrections_fill((float *)(void *)p->isolate.in, x, n))
        return 0;
    if (strait_isolate_call(&p->isolate, &job, err) != 0)
        return -1;
    if (job.good != 1)
        return 0;
    /* leave room so that the whole stream is shorter than raw values */
    struct strait_writer body = {.p = w->p + 9, .end = w->p + 4 * n};
    if (4 * n <= 9 || !write_coded(&body, s, p, x, n, tolerance, job.out_bytes))
        return 0;
    strait_write_u8(w, CODED);
    strait_put64(w->p, strait_checksum(w->p + 8, (size_t)(body.p - w->p) - 8));
    w->p = body.p;
    return 1;
}

int strait_plugin_encode(void *state, unsigned char *out, size_t *len_bytes, const float *x,
                         size_t n_elems, struct strait_request request, struct strait_error *err)
{
    struct state *s = state;
    const struct strait_codec_ops *ops = s->ops;
    struct piece *p = take(s);
    if (!p)
        return strait_error_memory(err, ops->name);
    struct strait_writer w = {.p = out, .end = out + strait_plugin_max_bytes(state, n_elems)};
    strait_write_u8(&w, ops->id);
    strait_write_varint(&w, n_elems);
    const int coded =
        encode_coded(s, p, &w, x, n_elems, strait_bound_absolute(request.bound, x, n_elems), err);
    strait_pool_give(&s->pool, p);
    if (coded < 0)
        return -1;
    if (coded == 0) {
        strait_write_u8(&w, RAW);
        strait_put_floats(w.p, x, n_elems);
        w.p += 4 * n_elems;
    }
    assert(!w.full && w.p <= w.end);
    *len_bytes = (size_t)(w.p - out);
    return 0;
}

/* r is behind the checksum. Returns: 1: good; 0: malformed; -1 with *err. */
static int decode_coded(struct state *s, float *y, size_t n, struct strait_reader r,
                        struct strait_error *err)
{
    struct strait_reader corrections = r;
    struct strait_isolated_job job = {.out_bytes = 4 * n, .args = {JOB_EXPAND, n}};
    if (!strait_corrections_get(NULL, n, &r) || r.p == r.end || (size_t)(r.end - r.p) > 4 * n)
        return 0;
    job.in_bytes = (size_t)(r.end - r.p);
    struct piece *p = take(s);
    if (!p)
        return strait_error_memory(err, s->ops->name);
    int result = strait_isolate_room(&p->isolate, job.in_bytes, job.out_bytes, err);
    if (result == 0) {
        struct strait_error why = {0};
        memcpy(p->isolate.in, r.p, job.in_bytes);
        result = strait_isolate_call(&p->isolate, &job, &why);
        if (result != 0 && why.code == STRAIT_ERR_BACKEND)
            why.code = STRAIT_ERR_INPUT; /* most likely the stream's fault */
        if (result != 0)
            strait_error_set(err, why.code, s->ops->name, "expected a stream of %zu values: %s", n,
                             why.text);
    }
    if (result == 0 && job.good == 1) {
        memcpy(y, p->isolate.out, 4 * n);
        strait_corrections_get(y, n, &corrections);
    }
    strait_pool_give(&s->pool, p);
    return result == 0 ? job.good == 1 : -1;
}

int strait_plugin_decode(void *state, float *y, size_t n_elems, const unsigned char *in,
                         size_t len_bytes, struct strait_error *err)
{
    struct state *s = state;
    const struct strait_codec_ops *ops = s->ops;
    struct strait_reader r = {.p = in, .end = in + len_bytes};
    int good = strait_read_u8(&r) == ops->id && strait_read_varint(&r) == n_elems;
    const unsigned kind = strait_read_u8(&r);
    if (good && !r.bad && kind == CODED && n_elems > 0) {
        const unsigned char *sum = strait_read_bytes(&r, 8);
        good = sum && strait_get64(sum) == strait_checksum(r.p, (size_t)(r.end - r.p));
        good = good ? decode_coded(s, y, n_elems, r, err) : 0;
        if (good < 0)
            return -1;
    } else {
        good = good && !r.bad && kind == RAW && (size_t)(r.end - r.p) == 4 * n_elems;
        if (good)
            strait_get_floats(y, r.p, n_elems);
    }
    if (!good)
        return strait_refuse(err, ops->name, "expected a stream of %zu values", n_elems);
    return 0;
}
