/* Pieces of a stream from one thread to another. */
#include <pthread.h>
#include "tests/kit/suite.h"
#include "sz_fixture.h"

enum { MAX = 3 * 128 * 1024 + 777 };

static struct strait_request request_of(enum strait_bound_kind kind, double value)
{
    return (struct strait_request){.bound = {kind, value}};
}

/* A queue of one piece between the thread that encodes and the one that decodes. */
struct pipe {
    struct sz_fixture *f;
    const float *x;
    float *y;
    size_t n;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    unsigned char *bytes; /* of the piece that waits */
    size_t len_bytes;     /* 0: none waits */
    size_t n_put, n_got;  /* values */
    unsigned overlaps;    /* pieces that were decoded before the last was encoded */
};

static void *decode_pieces(void *arg)
{
    struct pipe *p = arg;
    const struct strait_codec_stream_ops *ops = p->f->ops->stream;
    unsigned char *bytes = malloc(ops->piece_max_bytes(p->f->state, p->n));
    void *stream = NULL;
    size_t n_done = 0;
    if (!bytes || ops->begin_decode(p->f->state, &stream, p->y, p->n, NULL) != 0)
        return NULL;
    while (n_done < p->n) {
        pthread_mutex_lock(&p->mutex);
        while (p->len_bytes == 0)
            pthread_cond_wait(&p->changed, &p->mutex);
        const size_t len = p->len_bytes;
        memcpy(bytes, p->bytes, len);
        p->len_bytes = 0;
        p->overlaps += p->n_put < p->n;
        pthread_cond_signal(&p->changed);
        pthread_mutex_unlock(&p->mutex);
        if (ops->get(stream, &n_done, bytes, len, NULL) != 0)
            break;
    }
    p->n_got = n_done;
    ops->end(stream);
    free(bytes);
    return NULL;
}

static void encode_pieces(struct pipe *p, struct strait_request request)
{
    const struct strait_codec_stream_ops *ops = p->f->ops->stream;
    const size_t cap = ops->piece_max_bytes(p->f->state, p->n);
    unsigned char *bytes = malloc(cap);
    void *stream;
    size_t len, n_done = 0;
    CU_ASSERT_PTR_NOT_NULL_FATAL(bytes);
    CU_ASSERT_EQUAL_FATAL(ops->begin(p->f->state, &stream, p->x, p->n, request, NULL), 0);
    while (n_done < p->n) {
        CU_ASSERT_EQUAL_FATAL(ops->put(stream, bytes, cap, &len, &n_done, NULL), 0);
        pthread_mutex_lock(&p->mutex);
        while (p->len_bytes > 0)
            pthread_cond_wait(&p->changed, &p->mutex);
        memcpy(p->bytes, bytes, len);
        p->len_bytes = len;
        p->n_put = n_done;
        pthread_cond_signal(&p->changed);
        pthread_mutex_unlock(&p->mutex);
    }
    ops->end(stream);
    free(bytes);
}

static void through_a_pipe(void)
{
    struct sz_fixture f;
    struct pipe p = {.f = &f, .n = MAX};
    pthread_t decoder;
    float *x = new_floats(MAX), *y = new_floats(MAX);
    sz_fixture_init(&f, MAX, 1);
    make_tensor(x, MAX, TENSOR_ROWS, 2);
    sz_encoded(&f, x, MAX, STRAIT_BOUND_ABS, 1e-4);
    sz_decoded(&f, MAX);
    p.x = x;
    p.y = y;
    p.bytes = malloc(f.ops->stream->piece_max_bytes(f.state, MAX));
    CU_ASSERT_PTR_NOT_NULL_FATAL(p.bytes);
    pthread_mutex_init(&p.mutex, NULL);
    pthread_cond_init(&p.changed, NULL);
    CU_ASSERT_EQUAL_FATAL(pthread_create(&decoder, NULL, decode_pieces, &p), 0);
    encode_pieces(&p, request_of(STRAIT_BOUND_ABS, 1e-4));
    pthread_join(decoder, NULL);
    CU_ASSERT_EQUAL(p.n_got, MAX);
    /* room for one piece: all but the last two have been taken when the last one is there */
    CU_ASSERT(p.overlaps >= 2);
    CU_ASSERT(equal_bits(y, f.y, 4 * MAX));
    double worst = 0;
    for (size_t i = 0; i < MAX; i++)
        worst = fmax(worst, fabs((double)x[i] - (double)y[i]));
    CU_ASSERT(worst <= 1e-4);
    pthread_cond_destroy(&p.changed);
    pthread_mutex_destroy(&p.mutex);
    free(p.bytes);
    free(x);
    free(y);
    sz_fixture_release(&f);
}

static const struct strait_test tests[] = {
    {"one thread encodes pieces while another decodes them", through_a_pipe},
};
STRAIT_SUITE_WITH("codecs/sz/sz_pipe", tests, .threads = true);
