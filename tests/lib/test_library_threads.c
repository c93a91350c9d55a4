/* The installed functions called by several threads at once, as their header allows. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "lib/strait.h"
#include "tests/kit/suite.h"

enum { N = 4096, N_THREADS = 4, N_TIMES = 3 };

/* What one thread found: the bytes of a tensor, what it costs, an experiment's rows. */
struct found {
    unsigned char *bytes;
    size_t len_bytes;
    double ratio;
    char *rows;
    int n_failed;
};

static void encode(struct found *f)
{
    struct strait_tensor_codec *c;
    float *x = malloc(N * sizeof(*x)), *y = malloc(N * sizeof(*y));
    if (!x || !y || strait_tensor_codec_new(&c, "sz:range=1e-3", N, 0, NULL) != 0) {
        f->n_failed++;
        return;
    }
    for (int i = 0; i < N; i++)
        x[i] = (float)((i * 7919) % 1009) / 1009;
    const size_t cap_bytes = strait_tensor_codec_max_bytes(c);
    f->bytes = malloc(cap_bytes);
    f->n_failed +=
        !f->bytes ||
        strait_tensor_codec_encode(c, f->bytes, cap_bytes, &f->len_bytes, x, 0, NULL) != 0 ||
        strait_tensor_codec_decode(c, y, f->bytes, f->len_bytes, NULL) != 0;
    strait_tensor_codec_free(c);
    free(x);
    free(y);
}

static void *call_all(void *arg)
{
    static const char *const settings[] = {"/clients=2", NULL};
    struct found *f = arg;
    struct strait_tensor_cost cost;
    encode(f);
    f->n_failed += strait_tensor_cost(&cost, NULL, "sz:range=1e-3", "update", N, NULL) != 0;
    f->ratio = cost.ratio;
    f->n_failed += strait_predict(&f->rows, "wan-check", "fluid", NULL, settings, NULL) != 0;
    return NULL;
}

/* The text without what each run has of its own: how long it took. */
static void drop_wall(char *rows)
{
    for (char *at = rows; (at = strstr(at, "\"wall_s\":")) != NULL;) {
        at += strlen("\"wall_s\":");
        memmove(at, at + strcspn(at, ",}"), strlen(at + strcspn(at, ",}")) + 1);
    }
}

static void release(struct found *f)
{
    free(f->bytes);
    strait_rows_free(f->rows);
}

static void as_alone(void)
{
    struct found alone = {0};
    call_all(&alone);
    CU_ASSERT_EQUAL_FATAL(alone.n_failed, 0);
    drop_wall(alone.rows);
    for (int n = 0; n < N_TIMES; n++) {
        struct found each[N_THREADS] = {{0}};
        pthread_t threads[N_THREADS];
        for (int i = 0; i < N_THREADS; i++)
            CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, call_all, &each[i]), 0);
        for (int i = 0; i < N_THREADS; i++)
            pthread_join(threads[i], NULL);
        for (int i = 0; i < N_THREADS; i++) {
            CU_ASSERT_EQUAL_FATAL(each[i].n_failed, 0);
            drop_wall(each[i].rows);
            CU_ASSERT_EQUAL(each[i].len_bytes, alone.len_bytes);
            CU_ASSERT(memcmp(each[i].bytes, alone.bytes, alone.len_bytes) == 0);
            CU_ASSERT_EQUAL(each[i].ratio, alone.ratio);
            CU_ASSERT_STRING_EQUAL(each[i].rows, alone.rows);
            release(&each[i]);
        }
    }
    release(&alone);
}

static const struct strait_test tests[] = {
    {"threads find at once what one finds alone", as_alone},
};
STRAIT_SUITE_WITH("lib/library_threads", tests, .threads = true);
