/* Sums of sz streams that are added while encoded. */
#include "tests/kit/suite.h"
#include "sz_fixture.h"

struct stream {
    unsigned char *bytes;
    size_t len_bytes;
    float *y; /* what it decodes to */
};

static struct stream encoded(struct sz_fixture *f, const float *x, size_t n,
                             enum strait_bound_kind kind, double value)
{
    struct stream s = {.len_bytes = sz_encoded(f, x, n, kind, value), .y = new_floats(n)};
    s.bytes = malloc(s.len_bytes);
    CU_ASSERT_PTR_NOT_NULL_FATAL(s.bytes);
    memcpy(s.bytes, f->bytes, s.len_bytes);
    CU_ASSERT_EQUAL_FATAL(f->ops->decode(f->state, s.y, n, s.bytes, s.len_bytes, NULL), 0);
    return s;
}

static void stream_free(struct stream *s)
{
    free(s->bytes);
    free(s->y);
}

/* The sum in memory of exactly its length. */
static struct stream added(struct sz_fixture *f, const struct stream *a, const struct stream *b,
                           size_t n)
{
    struct strait_error err = {0};
    struct stream s = {.y = new_floats(n)};
    CU_ASSERT(f->ops->summable(f->state, a->bytes, a->len_bytes, b->bytes, b->len_bytes));
    CU_ASSERT_EQUAL_FATAL(f->ops->add(f->state, f->bytes, f->ops->max_bytes(f->state, n),
                                      &s.len_bytes, a->bytes, a->len_bytes, b->bytes, b->len_bytes,
                                      n, &err),
                          0);
    CU_ASSERT_FATAL(s.len_bytes <= f->ops->max_bytes(f->state, n));
    s.bytes = malloc(s.len_bytes);
    CU_ASSERT_PTR_NOT_NULL_FATAL(s.bytes);
    memcpy(s.bytes, f->bytes, s.len_bytes);
    CU_ASSERT_EQUAL_FATAL(f->ops->decode(f->state, s.y, n, s.bytes, s.len_bytes, &err), 0);
    return s;
}

/* The step of a FIXED or SEGMENTS stream without centre: behind the mode and the length. */
static float step_of(const struct stream *s)
{
    size_t at = 1;
    float step;
    CU_ASSERT_FATAL(s->bytes[0] == 2 || s->bytes[0] == 4);
    while (s->bytes[at++] >= 128)
        ;
    memcpy(&step, s->bytes + at, 4); /* of a little-endian machine, as CI's are */
    return step;
}

/* Without centre y is (float)q * step, and the sum (float)(q_a + q_b) * step, bit by bit; where a
 * value was stored as it is, the sum of the two floats. */
static void integers_add(void)
{
    static const size_t lengths[] = {1, 2, 3, 16, 17, 300, 512, 513, 2000, 70001, 300000};
    static const enum tensor_kind kinds[] = {TENSOR_WEIGHTS, TENSOR_SPARSE, TENSOR_WALK};
    struct sz_fixture f;
    float *x = new_floats(300000);
    size_t n_exact_all = 0;
    sz_fixture_init(&f, 300000, 1);
    for (size_t l = 0; l < sizeof(lengths) / sizeof(lengths[0]); l++)
        for (size_t k = 0; k < 3; k++) {
            const size_t n = lengths[l];
            make_tensor(x, n, kinds[k], 1);
            struct stream a = encoded(&f, x, n, STRAIT_BOUND_ABS, 1e-4);
            make_tensor(x, n, kinds[(k + l) % 3], 2);
            struct stream b = encoded(&f, x, n, STRAIT_BOUND_ABS, 1e-4);
            struct stream sum = added(&f, &a, &b, n);
            size_t n_exact = 0;
            bool same = true;
            if ((a.bytes[0] & 2) + (b.bytes[0] & 2) + (a.bytes[0] & 4) + (b.bytes[0] & 4) > 2 &&
                !((a.bytes[0] | b.bytes[0]) & 8)) {
                const float step = step_of(&a);
                CU_ASSERT(equal_bits(&step, &(float){step_of(&b)}, 4));
                for (size_t i = 0; i < n; i++) {
                    const long q = lround((double)a.y[i] / (double)step) +
                                   lround((double)b.y[i] / (double)step);
                    const float y = (float)q * step, plain = a.y[i] + b.y[i];
                    same = same && (fabsf(y - sum.y[i]) <= 0 || fabsf(plain - sum.y[i]) <= 0);
                    n_exact += fabsf(y - sum.y[i]) <= 0;
                }
            }
            CU_ASSERT(same);
            CU_ASSERT(n_exact == 0 || 100 * n_exact >= 99 * n);
            n_exact_all += n_exact;
            stream_free(&a);
            stream_free(&b);
            stream_free(&sum);
        }
    CU_ASSERT(n_exact_all > 1000000);
    free(x);
    sz_fixture_release(&f);
}

/* y_a + y_b up to the rounding of products and of sums to float, each half a unit in its last
 * place; what is not finite adds as floats do. */
static bool is_sum(const float *y, const float *a, const float *b, size_t n, double largest)
{
    for (size_t i = 0; i < n; i++) {
        const float plain = a[i] + b[i];
        if (isnan(plain) ? !isnan(y[i])
                         : !(fabs((double)y[i] - (double)plain) <= largest * 0x1p-21) &&
                               !equal_bits(&y[i], &plain, 4))
            return false;
    }
    return true;
}

static double largest_of(const float *a, const float *b, size_t n)
{
    double most = 0;
    for (size_t i = 0; i < n; i++)
        most = fmax(most, fmax(isfinite(a[i]) ? fabs((double)a[i]) : 0,
                               isfinite(b[i]) ? fabs((double)b[i]) : 0));
    return most;
}

/* Every pair of kinds: constants, centres, raw values, escapes, NaN on one side or both. */
static void kinds_add(void)
{
    static const size_t lengths[] = {0, 1, 2, 5, 9, 17, 300, 513, 5000, 140000};
    static const double bounds[] = {1e-3, 0, 0.5};
    struct sz_fixture f;
    float *x = new_floats(140000);
    sz_fixture_init(&f, 140000, 1);
    for (size_t l = 0; l < sizeof(lengths) / sizeof(lengths[0]); l++)
        for (unsigned pair = 0; pair < N_TENSOR_KINDS * N_TENSOR_KINDS; pair++) {
            const size_t n = lengths[l];
            const double bound = bounds[l % 3 == 2 ? pair % 3 : 0];
            if (n > 1000 && pair % 7 != l % 7)
                continue;
            make_tensor(x, n, (enum tensor_kind)(pair % N_TENSOR_KINDS), 1);
            struct stream a = encoded(&f, x, n, STRAIT_BOUND_ABS, bound);
            make_tensor(x, n, (enum tensor_kind)(pair / N_TENSOR_KINDS), 2);
            struct stream b = encoded(&f, x, n, STRAIT_BOUND_ABS, bound);
            if (f.ops->summable(f.state, a.bytes, a.len_bytes, b.bytes, b.len_bytes)) {
                struct stream sum = added(&f, &a, &b, n);
                CU_ASSERT(is_sum(sum.y, a.y, b.y, n, largest_of(a.y, b.y, n)));
                stream_free(&sum);
            }
            stream_free(&a);
            stream_free(&b);
        }
    free(x);
    sz_fixture_release(&f);
}

/* Differences go on behind what is no number, or too far away: three such values of 20000 cost a
 * few bytes and not the segment, which would be kept as floats of 80 KB. */
static void escapes_cost_little(void)
{
    enum { N = 20000 };
    const float odd[] = {NAN, INFINITY, 3e7f};
    struct sz_fixture f;
    float *x = new_floats(N);
    sz_fixture_init(&f, N, 1);
    for (size_t i = 0; i < 3; i++) {
        strait_test_context("%g", (double)odd[i]);
        make_tensor(x, N, TENSOR_WALK, 1);
        struct stream plain = encoded(&f, x, N, STRAIT_BOUND_ABS, 1e-3);
        x[100] = x[7000] = x[19990] = odd[i];
        struct stream a = encoded(&f, x, N, STRAIT_BOUND_ABS, 1e-3);
        make_tensor(x, N, TENSOR_WALK, 2);
        struct stream b = encoded(&f, x, N, STRAIT_BOUND_ABS, 1e-3);
        struct stream sum = added(&f, &a, &b, N), without = added(&f, &plain, &b, N);
        CU_ASSERT(is_sum(sum.y, a.y, b.y, N, largest_of(a.y, b.y, N)));
        CU_ASSERT_AT_MOST(sum.len_bytes, without.len_bytes + 500);
        stream_free(&plain);
        stream_free(&a);
        stream_free(&b);
        stream_free(&sum);
        stream_free(&without);
    }
    free(x);
    sz_fixture_release(&f);
}

/* One bound for all: any two tensors that are not far from 0 share a step. */
static void one_bound_one_step(void)
{
    static const double bounds[] = {1e-7, 1e-4, 0.3};
    static const enum tensor_kind kinds[] = {TENSOR_WEIGHTS, TENSOR_ROWS,  TENSOR_SPARSE,
                                             TENSOR_WALK,    TENSOR_ZEROS, TENSOR_OUTLIERS,
                                             TENSOR_BROKEN,  TENSOR_HUGE,  TENSOR_BITS};
    enum { N = 3000, N_KINDS = sizeof(kinds) / sizeof(kinds[0]) };
    struct sz_fixture f;
    float *x = new_floats(N);
    sz_fixture_init(&f, N, 1);
    for (size_t b = 0; b < 3; b++) {
        struct stream s[N_KINDS];
        for (unsigned k = 0; k < N_KINDS; k++) {
            make_tensor(x, N, kinds[k], 1);
            s[k] = encoded(&f, x, N, STRAIT_BOUND_ABS, bounds[b]);
        }
        for (unsigned k = 0; k < N_KINDS * N_KINDS; k++)
            CU_ASSERT(f.ops->summable(f.state, s[k % N_KINDS].bytes, s[k % N_KINDS].len_bytes,
                                      s[k / N_KINDS].bytes, s[k / N_KINDS].len_bytes));
        for (unsigned k = 0; k < N_KINDS; k++)
            stream_free(&s[k]);
    }
    free(x);
    sz_fixture_release(&f);
}

/* Integers up to 4 million a side: what goes beyond 2^22 is stored as it is, still exactly. */
static void overflow(void)
{
    enum { N = 2000 };
    struct sz_fixture f;
    float *x = new_floats(N);
    sz_fixture_init(&f, N, 1);
    for (size_t n = 200; n <= N; n += N - 200) {
        for (size_t i = 0; i < n; i++)
            x[i] = (float)(i % 5 == 0 ? 4e6 : (double)i) * 2;
        struct stream a = encoded(&f, x, n, STRAIT_BOUND_ABS, 1);
        struct stream sum = added(&f, &a, &a, n), twice = added(&f, &sum, &sum, n);
        for (size_t i = 0; i < n; i++) {
            CU_ASSERT(equal_bits(&sum.y[i], &(float){2 * a.y[i]}, 4));
            CU_ASSERT(equal_bits(&twice.y[i], &(float){4 * a.y[i]}, 4));
        }
        stream_free(&a);
        stream_free(&sum);
        stream_free(&twice);
    }
    free(x);
    sz_fixture_release(&f);
}

/* Ranks hold what one recorded gradient gives when it is turned and scaled. */
static void of_rank(float *x, const struct strait_recording *r, size_t rank)
{
    for (size_t i = 0; i < r->n_elems; i++)
        x[i] = r->values[(i + rank * 7919) % r->n_elems] * (0.75f + 0.0625f * (float)rank);
}

static void eight_ranks(void)
{
    enum { RANKS = 8 };
    struct strait_tensors *t = load_tensors();
    struct sz_fixture f;
    const size_t most = max_elems_of(t);
    float *x = new_floats(most);
    double *sum = malloc(8 * most);
    CU_ASSERT_PTR_NOT_NULL_FATAL(sum);
    sz_fixture_init(&f, most, 1);
    for (size_t i = 0; i < t->n_recordings; i++) {
        const struct strait_recording *r = &t->recordings[i];
        if (strcmp(r->kind, "grad") != 0 || (r->n_elems < LARGE_ELEMS && i % 4 != 0))
            continue;
        const double bound = r->rms * (i % 2 ? 0.3 : 0.01);
        struct stream all = {0};
        memset(sum, 0, 8 * most);
        for (size_t rank = 0; rank < RANKS; rank++) {
            of_rank(x, r, rank);
            for (size_t k = 0; k < r->n_elems; k++)
                sum[k] += (double)x[k];
            struct stream mine = encoded(&f, x, r->n_elems, STRAIT_BOUND_ABS, bound);
            if (rank == 0) {
                all = mine;
                continue;
            }
            struct stream next = added(&f, &all, &mine, r->n_elems);
            stream_free(&all);
            stream_free(&mine);
            all = next;
        }
        double worst = 0, largest = 0;
        for (size_t k = 0; k < r->n_elems; k++) {
            worst = fmax(worst, fabs(sum[k] - (double)all.y[k]));
            largest = fmax(largest, fabs(sum[k]));
        }
        /* eight bounds, and the last float's rounding */
        CU_ASSERT(worst <= RANKS * bound + largest * 0x1p-23);
        stream_free(&all);
    }
    free(x);
    free(sum);
    sz_fixture_release(&f);
    strait_tensors_free(t);
}

/* A ring adds in another order on every rank: integers do not mind. */
static void any_order(void)
{
    enum { N = 200000 };
    struct sz_fixture f, team;
    struct stream s[3];
    float *x = new_floats(N);
    sz_fixture_init(&f, N, 1);
    sz_fixture_init(&team, N, 3);
    for (unsigned k = 0; k < 3; k++) {
        make_tensor(x, N, TENSOR_WEIGHTS, k);
        s[k] = encoded(&f, x, N, STRAIT_BOUND_ABS, 1e-4);
    }
    struct stream ab = added(&f, &s[0], &s[1], N), ab_c = added(&f, &ab, &s[2], N);
    struct stream bc = added(&f, &s[1], &s[2], N), bc_a = added(&f, &bc, &s[0], N);
    struct stream by_team = added(&team, &s[0], &s[1], N);
    CU_ASSERT(equal_bits(ab_c.y, bc_a.y, 4 * N));
    CU_ASSERT(ab.len_bytes == by_team.len_bytes &&
              equal_bits(ab.bytes, by_team.bytes, ab.len_bytes));
    struct stream *all[] = {&s[0], &s[1], &s[2], &ab, &bc, &ab_c, &bc_a, &by_team};
    for (unsigned k = 0; k < 8; k++)
        stream_free(all[k]);
    free(x);
    sz_fixture_release(&team);
    sz_fixture_release(&f);
}

static bool can_add(struct sz_fixture *f, const struct stream *a, const struct stream *b, size_t n)
{
    struct strait_error err = {0};
    const bool may = f->ops->summable(f->state, a->bytes, a->len_bytes, b->bytes, b->len_bytes);
    const bool can = f->ops->add(f->state, f->bytes, f->cap_bytes, &f->len_bytes, a->bytes,
                                 a->len_bytes, b->bytes, b->len_bytes, n, &err) == 0;
    CU_ASSERT(can || err.code == STRAIT_ERR_INPUT);
    CU_ASSERT_EQUAL(may, can);
    return can;
}

static void refused(void)
{
    enum { N = 4000 };
    struct sz_fixture f;
    float *x = new_floats(N);
    sz_fixture_init(&f, N, 1);
    make_tensor(x, N, TENSOR_WEIGHTS, 1);
    struct stream a = encoded(&f, x, N, STRAIT_BOUND_ABS, 1e-3);
    struct stream finer = encoded(&f, x, N, STRAIT_BOUND_ABS, 1.001e-3);
    struct stream shorter = encoded(&f, x, N - 1, STRAIT_BOUND_ABS, 1e-3);
    struct stream powers = encoded(&f, x, N, STRAIT_BOUND_POINTWISE, 1e-3);
    CU_ASSERT(can_add(&f, &a, &a, N));
    CU_ASSERT_FALSE(can_add(&f, &a, &finer, N));
    CU_ASSERT_FALSE(can_add(&f, &a, &shorter, N));
    CU_ASSERT_FALSE(can_add(&f, &a, &powers, N));
    CU_ASSERT_FALSE(can_add(&f, &powers, &powers, N));
    f.cap_bytes = f.ops->max_bytes(f.state, N) - 1;
    CU_ASSERT_EQUAL(f.ops->add(f.state, f.bytes, f.cap_bytes, &f.len_bytes, a.bytes, a.len_bytes,
                               a.bytes, a.len_bytes, N, NULL),
                    -1);
    stream_free(&a);
    stream_free(&finer);
    stream_free(&shorter);
    stream_free(&powers);
    free(x);
    sz_fixture_release(&f);
}

static void hostile(void)
{
    enum { N = 150000 };
    static const size_t lengths[] = {100, 700, N};
    struct sz_fixture f;
    struct strait_sequence s = strait_sequence_at(1);
    float *x = new_floats(N);
    sz_fixture_init(&f, N, 2);
    for (unsigned kind = 0; kind < 6; kind++) {
        const size_t n = lengths[kind % 3];
        make_tensor(x, n, kind < 3 ? TENSOR_ROWS : TENSOR_WALK, 1);
        struct stream a = encoded(&f, x, n, STRAIT_BOUND_ABS, 1e-4);
        make_tensor(x, n, TENSOR_BROKEN, 1);
        struct stream b = encoded(&f, x, n, STRAIT_BOUND_ABS, 1e-4);
        for (unsigned i = 0; i < 150; i++) {
            const size_t whole = a.len_bytes, reach = i % 2 && whole > 300 ? 300 : whole;
            const size_t at = strait_sequence_next(&s) % reach;
            const unsigned char before = a.bytes[at];
            a.bytes[at] ^= (unsigned char)(1u << strait_sequence_next(&s) % 8);
            a.len_bytes = i % 5 == 4 ? at : whole;
            f.ops->summable(f.state, a.bytes, a.len_bytes, b.bytes, b.len_bytes);
            f.ops->add(f.state, f.bytes, f.cap_bytes, &f.len_bytes, a.bytes, a.len_bytes, b.bytes,
                       b.len_bytes, n, NULL);
            f.ops->add(f.state, f.bytes, f.cap_bytes, &f.len_bytes, b.bytes, b.len_bytes, a.bytes,
                       a.len_bytes, n, NULL);
            a.bytes[at] = before;
            a.len_bytes = whole;
        }
        struct stream sum = added(&f, &a, &b, n);
        CU_ASSERT(is_sum(sum.y, a.y, b.y, n, largest_of(a.y, b.y, n)));
        stream_free(&a);
        stream_free(&b);
        stream_free(&sum);
    }
    free(x);
    sz_fixture_release(&f);
}

static const struct strait_test tests[] = {
    {"the integers of two streams are added exactly", integers_add},
    {"constants, centres, raw values and escapes add as floats do", kinds_add},
    {"three values that are no numbers cost a sum little", escapes_cost_little},
    {"streams of one absolute bound share a step, whatever the tensors", one_bound_one_step},
    {"integers that leave the range are stored as values", overflow},
    {"eight ranks' gradients add up within eight bounds", eight_ranks},
    {"the order of adding and the number of threads do not matter", any_order},
    {"other steps, lengths and pointwise streams are refused", refused},
    {"damaged streams do no harm", hostile},
};
STRAIT_SUITE("codecs/sz/sz_add", tests);
