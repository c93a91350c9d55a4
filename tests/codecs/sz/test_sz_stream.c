/* sz by pieces: the same bytes as in one go. */
#include "tests/kit/suite.h"
#include "sz_fixture.h"

enum { PIECE = 128 * 1024, MAX_PIECES = 8, MAX = 3 * PIECE + 777 };

struct piece {
    unsigned char *bytes;
    size_t len_bytes;
};

static struct strait_request request_of(enum strait_bound_kind kind, double value)
{
    return (struct strait_request){.bound = {kind, value}};
}

/* All pieces of x, each in memory of exactly its length. */
static size_t put_all(struct sz_fixture *f, struct piece *pieces, const float *x, size_t n,
                      struct strait_request request)
{
    const struct strait_codec_stream_ops *ops = f->ops->stream;
    struct strait_error err = {0};
    void *stream;
    size_t n_pieces = 0, n_done = 0, before = 0;
    const size_t cap = ops->piece_max_bytes(f->state, n);
    unsigned char *buffer = malloc(cap);
    CU_ASSERT_PTR_NOT_NULL_FATAL(buffer);
    CU_ASSERT_EQUAL_FATAL(ops->begin(f->state, &stream, x, n, request, &err), 0);
    do {
        struct piece *p = &pieces[n_pieces++];
        CU_ASSERT_FATAL(n_pieces <= MAX_PIECES);
        CU_ASSERT_EQUAL_FATAL(ops->put(stream, buffer, cap, &p->len_bytes, &n_done, &err), 0);
        CU_ASSERT(n_done > before || n == 0);
        CU_ASSERT(n_done == n || n_done == n_pieces * PIECE);
        before = n_done;
        p->bytes = malloc(p->len_bytes);
        CU_ASSERT_PTR_NOT_NULL_FATAL(p->bytes);
        memcpy(p->bytes, buffer, p->len_bytes);
    } while (n_done < n);
    CU_ASSERT_EQUAL(ops->put(stream, buffer, cap, &before, &n_done, &err), -1);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
    ops->end(stream);
    free(buffer);
    return n_pieces;
}

static void free_pieces(struct piece *pieces, size_t n_pieces)
{
    for (size_t i = 0; i < n_pieces; i++)
        free(pieces[i].bytes);
}

/* The pieces in the order that is given. Returns how many were taken. */
static size_t get_all(struct sz_fixture *f, float *y, size_t n, const struct piece *pieces,
                      const size_t *order, size_t n_order)
{
    const struct strait_codec_stream_ops *ops = f->ops->stream;
    struct strait_error err = {0};
    void *stream;
    size_t n_done = 0, taken = 0;
    CU_ASSERT_EQUAL_FATAL(ops->begin_decode(f->state, &stream, y, n, &err), 0);
    for (; taken < n_order; taken++) {
        const struct piece *p = &pieces[order[taken]];
        if (ops->get(stream, &n_done, p->bytes, p->len_bytes, &err) != 0) {
            CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
            break;
        }
    }
    ops->end(stream);
    CU_ASSERT(taken < n_order || n_done <= n);
    return taken;
}

static const size_t in_order[] = {0, 1, 2, 3, 4, 5, 6, 7};

/* Whatever the tensor: laid end to end the pieces are what encode writes, and they decode so. */
static void check_pieces(struct sz_fixture *f, const float *x, size_t n, struct strait_request r)
{
    struct piece pieces[MAX_PIECES];
    struct strait_error err = {0};
    float *y = new_floats(n);
    size_t at = 0;
    const size_t n_pieces = put_all(f, pieces, x, n, r);
    CU_ASSERT_EQUAL_FATAL(
        strait_codec_encode(f->ops, f->state, f->bytes, f->cap_bytes, &f->len_bytes, x, n, r, &err),
        0);
    bool same = true;
    for (size_t i = 0; i < n_pieces && same; at += pieces[i++].len_bytes)
        same = at + pieces[i].len_bytes <= f->len_bytes &&
               equal_bits(f->bytes + at, pieces[i].bytes, pieces[i].len_bytes);
    CU_ASSERT(r.bound.kind == STRAIT_BOUND_RATIO || (same && at == f->len_bytes));
    CU_ASSERT_EQUAL(get_all(f, y, n, pieces, in_order, n_pieces), n_pieces);
    sz_decoded(f, n);
    CU_ASSERT(r.bound.kind == STRAIT_BOUND_RATIO || equal_bits(y, f->y, 4 * n));
    free_pieces(pieces, n_pieces);
    free(y);
}

static void same_as_whole(void)
{
    static const size_t lengths[] = {
        0, 1, 2, 17, 512, 513, 70001, PIECE - 1, PIECE, PIECE + 1, 2 * PIECE + 300, MAX};
    struct sz_fixture f;
    float *x = new_floats(MAX);
    sz_fixture_init(&f, MAX, 1);
    for (size_t l = 0; l < 12; l++)
        for (int kind = 0; kind < N_TENSOR_KINDS; kind++) {
            if (lengths[l] > PIECE && kind % 3 != (int)l % 3)
                continue;
            make_tensor(x, lengths[l], (enum tensor_kind)kind, l);
            check_pieces(&f, x, lengths[l], request_of(STRAIT_BOUND_RANGE, 1e-3));
            check_pieces(&f, x, lengths[l], request_of(STRAIT_BOUND_POINTWISE, 1e-2));
            check_pieces(&f, x, lengths[l], request_of(STRAIT_BOUND_ABS, 0));
            check_pieces(&f, x, lengths[l], request_of(STRAIT_BOUND_RATIO, 8));
        }
    free(x);
    sz_fixture_release(&f);
}

/* Tables go from piece to piece: the next one needs what came before it. */
static void wrong_pieces(void)
{
    static const struct {
        size_t order[5], n, taken;
    } cases[] = {
        {{1}, 1, 0},          /* not the first */
        {{0, 2}, 2, 1},       /* one is missing */
        {{0, 0}, 2, 1},       /* one comes twice */
        {{0, 1, 1}, 3, 2},    /* also later */
        {{0, 2, 1}, 3, 1},    /* and after a wrong one nothing is taken */
        {{0, 1, 2, 3}, 4, 3}, /* a fourth of three */
    };
    enum { N = 2 * PIECE + 100 };
    struct sz_fixture f;
    struct piece pieces[MAX_PIECES];
    float *x = new_floats(N), *y = new_floats(N);
    sz_fixture_init(&f, N, 1);
    make_tensor(x, N, TENSOR_WEIGHTS, 1);
    CU_ASSERT_EQUAL_FATAL(put_all(&f, pieces, x, N, request_of(STRAIT_BOUND_RANGE, 1e-3)), 3);
    pieces[3] = pieces[2];
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        CU_ASSERT_EQUAL(get_all(&f, y, N, pieces, cases[i].order, cases[i].n), cases[i].taken);
    free_pieces(pieces, 3);
    free(x);
    free(y);
    sz_fixture_release(&f);
}

static void hostile_pieces(void)
{
    enum { N = 2 * PIECE + 5000 };
    struct sz_fixture f;
    float *x = new_floats(N), *y = new_floats(N);
    struct strait_sequence s = strait_sequence_at(1);
    sz_fixture_init(&f, N, 1);
    for (unsigned kind = 0; kind < 3; kind++) {
        struct piece pieces[MAX_PIECES];
        make_tensor(x, N, kind ? TENSOR_ROWS : TENSOR_WALK, 1);
        const size_t n_pieces =
            put_all(&f, pieces, x, N,
                    request_of(kind == 2 ? STRAIT_BOUND_POINTWISE : STRAIT_BOUND_RANGE, 1e-2));
        for (unsigned i = 0; i < 120; i++) {
            struct piece *p = &pieces[i % 3];
            const size_t whole = p->len_bytes, reach = i % 2 && whole > 300 ? 300 : whole;
            const size_t at = strait_sequence_next(&s) % reach;
            const unsigned char before = p->bytes[at];
            if (i % 5 == 4)
                p->len_bytes = at;
            else
                p->bytes[at] ^= (unsigned char)(1u << strait_sequence_next(&s) % 8);
            get_all(&f, y, N, pieces, in_order, n_pieces);
            p->len_bytes = whole;
            p->bytes[at] = before;
        }
        CU_ASSERT_EQUAL(get_all(&f, y, N, pieces, in_order, n_pieces), n_pieces);
        free_pieces(pieces, n_pieces);
    }
    free(x);
    free(y);
    sz_fixture_release(&f);
}

/* What a stream found out about its tensor is not taken for another one's. */
static void left_alone(void)
{
    enum { N = 4096 };
    struct sz_fixture f, fresh;
    struct strait_error err = {0};
    void *stream;
    float *x = new_floats(N), *other = new_floats(N);
    sz_fixture_init(&f, N, 1);
    sz_fixture_init(&fresh, N, 1);
    make_tensor(x, N, TENSOR_WEIGHTS, 1);
    make_tensor(other, N, TENSOR_WEIGHTS, 2);
    static const enum strait_bound_kind kinds[] = {STRAIT_BOUND_RANGE, STRAIT_BOUND_POINTWISE,
                                                   STRAIT_BOUND_RATIO};
    for (size_t k = 0; k < 3; k++) {
        const double value = kinds[k] == STRAIT_BOUND_RATIO ? 6 : 1e-3;
        CU_ASSERT_EQUAL_FATAL(f.ops->stream->begin(f.state, &stream, x, N,
                                                   request_of(STRAIT_BOUND_RANGE, 1e-3), &err),
                              0);
        f.ops->stream->end(stream);
        sz_encoded(&f, other, N, kinds[k], value);
        sz_encoded(&fresh, other, N, kinds[k], value);
        CU_ASSERT(f.len_bytes == fresh.len_bytes && equal_bits(f.bytes, fresh.bytes, f.len_bytes));
    }
    free(x);
    free(other);
    sz_fixture_release(&f);
    sz_fixture_release(&fresh);
}

static const struct strait_test tests[] = {
    {"pieces laid end to end are what encode writes, and decode alone", same_as_whole},
    {"missing, repeated and exchanged pieces are refused", wrong_pieces},
    {"damaged pieces do no harm", hostile_pieces},
    {"a stream that ended early leaves nothing to the next tensor", left_alone},
};
STRAIT_SUITE("codecs/sz/sz_stream", tests);
