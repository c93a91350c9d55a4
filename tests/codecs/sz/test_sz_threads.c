/* sz by several threads: the same bytes and values as by one. */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tests/kit/suite.h"
#include "sz_fixture.h"

enum { MAX = 3 * 128 * 1024 + 777 };

static struct strait_request request_of(enum strait_bound_kind kind, double value)
{
    return (struct strait_request){.bound = {kind, value}};
}

static void any_number_of_threads(void)
{
    static const double teams[] = {2, 3, 7};
    static const enum tensor_kind kinds[] = {TENSOR_WEIGHTS, TENSOR_ROWS, TENSOR_BROKEN,
                                             TENSOR_BITS, TENSOR_SPARSE};
    float *x = new_floats(MAX);
    struct sz_fixture one, team;
    sz_fixture_init(&one, MAX, 1);
    for (size_t t = 0; t < 3; t++) {
        sz_fixture_init(&team, MAX, teams[t]);
        for (size_t k = 0; k < 5; k++) {
            make_tensor(x, MAX, kinds[k], t);
            for (unsigned b = 0; b < 2; b++) {
                const enum strait_bound_kind kind = b ? STRAIT_BOUND_POINTWISE : STRAIT_BOUND_RMS;
                CU_ASSERT_EQUAL_FATAL(sz_encoded(&team, x, MAX, kind, 1e-2),
                                      sz_encoded(&one, x, MAX, kind, 1e-2));
                CU_ASSERT(equal_bits(one.bytes, team.bytes, one.len_bytes));
                sz_decoded(&one, MAX);
                sz_decoded(&team, MAX);
                CU_ASSERT(equal_bits(one.y, team.y, 4 * MAX));
            }
        }
        /* damage in the middle is found whoever meets it */
        team.bytes[team.len_bytes / 2] ^= 255;
        team.bytes[3] = 255;
        CU_ASSERT_EQUAL(team.ops->decode(team.state, team.y, MAX, team.bytes, team.len_bytes, NULL),
                        -1);
        sz_fixture_release(&team);
    }
    sz_fixture_release(&one);
    free(x);
}

struct caller {
    struct sz_fixture *f;
    const float *x;
    unsigned char *bytes;
    bool good;
};

static void *call(void *arg)
{
    struct caller *c = arg;
    c->good = true;
    for (int i = 0; i < 5; i++) {
        size_t len;
        c->good = c->good &&
                  strait_codec_encode(c->f->ops, c->f->state, c->bytes, c->f->cap_bytes, &len, c->x,
                                      MAX, request_of(STRAIT_BOUND_RANGE, 1e-3), NULL) == 0 &&
                  len == c->f->len_bytes && equal_bits(c->bytes, c->f->bytes, len);
    }
    return NULL;
}

static void callers_share_a_team(void)
{
    enum { N_CALLERS = 3 };
    struct sz_fixture f;
    struct caller callers[N_CALLERS];
    pthread_t threads[N_CALLERS];
    float *x = new_floats(MAX);
    sz_fixture_init(&f, MAX, 2);
    make_tensor(x, MAX, TENSOR_WEIGHTS, 5);
    sz_encoded(&f, x, MAX, STRAIT_BOUND_RANGE, 1e-3);
    for (int i = 0; i < N_CALLERS; i++) {
        callers[i] = (struct caller){.f = &f, .x = x, .bytes = malloc(f.cap_bytes)};
        CU_ASSERT_PTR_NOT_NULL_FATAL(callers[i].bytes);
        CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, call, &callers[i]), 0);
    }
    for (int i = 0; i < N_CALLERS; i++) {
        pthread_join(threads[i], NULL);
        CU_ASSERT(callers[i].good);
        free(callers[i].bytes);
    }
    free(x);
    sz_fixture_release(&f);
}

static void wrong_teams(void)
{
    static const double wrong[][2] = {{0, 0}, {65, 0}, {-1, 0}, {NAN, 0}, {1, 17}, {1, -1}};
    for (size_t i = 0; i < 6; i++) {
        struct strait_error err = {0};
        void *state;
        CU_ASSERT_EQUAL(strait_codec_open(strait_codec_find("sz"), &state, wrong[i], &err), -1);
        CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
    }
}

/* The helpers stay behind: the child works alone. */
static void after_a_fork(void)
{
    struct sz_fixture f;
    float *x = new_floats(MAX);
    sz_fixture_init(&f, MAX, 3);
    make_tensor(x, MAX, TENSOR_WEIGHTS, 5);
    sz_encoded(&f, x, MAX, STRAIT_BOUND_RANGE, 1e-3);
    const pid_t child = fork();
    CU_ASSERT_FATAL(child >= 0);
    if (child == 0) {
        alarm(120);
        const bool good = f.ops->decode(f.state, f.y, MAX, f.bytes, f.len_bytes, NULL) == 0;
        f.ops->close(f.state);
        _exit(good ? 0 : 1);
    }
    int status = -1;
    CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
    CU_ASSERT_EQUAL(status, 0);
    free(x);
    sz_fixture_release(&f);
}

/* Threads look for the extremes in parts of 2^20 values. Where one value is not finite the rest
 * does not stand for it, however equal it is, and whichever part has it. */
static void one_value_that_is_not_finite(void)
{
    enum { PART = 1 << 20, N = 3 * PART };
    static const size_t places[] = {0, PART + 5, N - 1};
    float *x = new_floats(N);
    struct sz_fixture f;
    sz_fixture_init(&f, N, 3);
    for (size_t k = 0; k < 3; k++) {
        for (size_t i = 0; i < N; i++)
            x[i] = 2.5f;
        x[places[k]] = k == 1 ? -INFINITY : NAN;
        sz_encoded(&f, x, N, STRAIT_BOUND_ABS, 1e-3);
        sz_decoded(&f, N);
        CU_ASSERT(equal_bits(&x[places[k]], &f.y[places[k]], 4));
        CU_ASSERT_EQUAL(f.y[places[k] ^ 1], 2.5f);
    }
    sz_fixture_release(&f);
    free(x);
}

/* Whichever part has the smallest and the largest value: a range of 1500 in all cases. */
static void extremes_of_any_part(void)
{
    enum { PART = 1 << 20, N = 2 * PART };
    static const size_t places[][2] = {{0, N - 1}, {N - 1, 0}, {PART, PART - 1}, {3, 5}};
    float *x = new_floats(N);
    struct sz_fixture one, team;
    sz_fixture_init(&one, N, 1);
    sz_fixture_init(&team, N, 2);
    for (size_t k = 0; k < 4; k++) {
        for (size_t i = 0; i < N; i++)
            x[i] = 7;
        x[places[k][0]] = 1000;
        x[places[k][1]] = -500;
        strait_test_context("case %zu", k);
        CU_ASSERT_EQUAL_FATAL(sz_encoded(&team, x, N, STRAIT_BOUND_RANGE, 1e-3),
                              sz_encoded(&one, x, N, STRAIT_BOUND_RANGE, 1e-3));
        CU_ASSERT(equal_bits(one.bytes, team.bytes, one.len_bytes));
    }
    sz_fixture_release(&one);
    sz_fixture_release(&team);
    free(x);
}

static const struct strait_test tests[] = {
    {"the extremes are found in whichever part they are", extremes_of_any_part},
    {"one value that is not finite comes back from among equal ones", one_value_that_is_not_finite},
    {"any number of threads writes the same bytes and values", any_number_of_threads},
    {"callers that share a team get what one alone gets", callers_share_a_team},
    {"a team has 1 to 64 threads", wrong_teams},
    {"a forked child codes without its helpers", after_a_fork},
};
STRAIT_SUITE_WITH("codecs/sz/sz_threads", tests, .threads = true);
