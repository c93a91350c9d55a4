/* Every codec by several threads at once. */
#include <pthread.h>
#include "codec_bench.h"
#include "tests/kit/tensor_kinds.h"

/* ThreadSanitizer sees what is not ordered in any round; wrong values need that two meet. */
enum { N_THREADS = 3, N_ROUNDS = IS_SANITIZED ? 4 : 20 };

struct sharer {
    const struct bench *b;
    struct strait_bound bound;
    float *y;
    unsigned char *bytes;
    bool good;
};

static void *share(void *arg)
{
    struct sharer *s = arg;
    const struct bench *b = s->b;
    size_t len;
    s->good = true;
    for (int i = 0; i < N_ROUNDS && s->good; i++)
        s->good =
            strait_codec_encode(b->ops, b->state, s->bytes, b->cap_bytes, &len, b->x, b->n_elems,
                                (struct strait_request){.bound = s->bound, .key = 1}, NULL) == 0 &&
            len == b->len_bytes && memcmp(s->bytes, b->bytes, len) == 0 &&
            b->ops->decode(b->state, s->y, b->n_elems, s->bytes, len, NULL) == 0 &&
            same_bits(s->y, b->y, b->n_elems);
    return NULL;
}

static void check_shared(const struct strait_codec_ops *ops)
{
    struct bench b;
    struct sharer sharers[N_THREADS];
    pthread_t threads[N_THREADS];
    if (ops->flags & STRAIT_CODEC_STATEFUL)
        return;
    bench_init(&b, ops, 20000);
    make_tensor(b.x, b.n_elems, TENSOR_ROWS, 1);
    const struct strait_bound bound = bound_for(ops, STRAIT_BOUND_RANGE, 1e-3);
    CU_ASSERT_FATAL(encode(&b, bound) && decode(&b, b.bytes, b.len_bytes));
    for (int i = 0; i < N_THREADS; i++) {
        sharers[i] = (struct sharer){
            .b = &b, .bound = bound, .y = malloc(4 * b.n_elems), .bytes = malloc(b.cap_bytes)};
        CU_ASSERT_FATAL(sharers[i].y && sharers[i].bytes);
        CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, share, &sharers[i]), 0);
    }
    for (int i = 0; i < N_THREADS; i++) {
        pthread_join(threads[i], NULL);
        CU_ASSERT(sharers[i].good);
        free(sharers[i].y);
        free(sharers[i].bytes);
    }
    bench_release(&b);
}

static void shared_state(void)
{
    for_each_codec(check_shared);
}

static const struct strait_test tests[] = {
    {"threads that share a state get what one alone gets", shared_state},
};
STRAIT_SUITE_WITH("codecs/codec_threads", tests, .threads = true);
