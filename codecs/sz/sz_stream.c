/* sz: streaming by pieces. A piece is a segment, the first one with the tensor's head before it:
 * only the tables carry over from one piece to the next. A tensor without segments is one piece. */
#include <stdlib.h>
#include "sz_whole.h"

struct stream {
    struct sz_state *state;
    struct sz_encoder *e; /* either one, until end */
    struct sz_decoder *d;
    size_t next; /* piece */
    bool failed;
    struct sz_coding coding; /* the decoder uses its head and chain */
    float *y;
};

static struct stream *stream_new(void *state, struct strait_error *err)
{
    struct stream *s = calloc(1, sizeof(*s));
    if (!s)
        strait_error_memory(err, "sz");
    else
        s->state = state;
    return s;
}

static void stream_end(void *stream)
{
    struct stream *s = stream;
    if (!s)
        return;
    if (s->e)
        strait_pool_give(&s->state->encoders, s->e);
    sz_give_matrix(s->state, s->coding.head.matrix);
    if (s->d)
        strait_pool_give(&s->state->decoders, s->d);
    free(s);
}

static int stream_begin(void *state, void **stream, const float *x, size_t n_elems,
                        struct strait_request request, struct strait_error *err)
{
    if (sz_check_bound(state, request.bound, err) != 0)
        return -1;
    struct stream *s = stream_new(state, err);
    if (!s)
        return -1;
    s->e = sz_take_encoder(state);
    if (!s->e) {
        stream_end(s);
        return strait_error_memory(err, "sz");
    }
    sz_coding_begin(&s->coding, state, s->e, x, n_elems, request.n_rows, request.bound);
    *stream = s;
    return 0;
}

static size_t piece_max_bytes(const void *state, size_t n_elems)
{
    return n_elems > SZ_SEGMENT ? (size_t)SZ_SEGMENT_BYTES + sz_head_bytes(state, n_elems)
                                : 4 * n_elems + SZ_HEAD_BYTES;
}

static size_t done_after(const struct sz_head *head, size_t n_pieces)
{
    return n_pieces >= sz_pieces_in(head) ? head->n_elems : n_pieces * SZ_SEGMENT;
}

static int stream_put(void *stream, unsigned char *out, size_t cap_bytes, size_t *len_bytes,
                      size_t *n_done, struct strait_error *err)
{
    struct stream *s = stream;
    const struct sz_head *head = &s->coding.head;
    struct strait_writer w = {.p = out, .end = out + cap_bytes};
    if (s->next >= sz_pieces_in(head))
        return strait_refuse(err, "sz", "expected no piece after the last");
    if (cap_bytes < piece_max_bytes(s->state, head->n_elems))
        return strait_refuse(err, "sz", "expected room for %zu bytes, found %zu",
                             piece_max_bytes(s->state, head->n_elems), cap_bytes);
    sz_coding_put(&s->coding, s->e, &w, s->next++);
    *len_bytes = (size_t)(w.p - out);
    *n_done = done_after(head, s->next);
    return 0;
}

static int stream_begin_decode(void *state, void **stream, float *y, size_t n_elems,
                               struct strait_error *err)
{
    struct stream *s = stream_new(state, err);
    if (!s)
        return -1;
    s->y = y;
    s->coding.head.n_elems = n_elems;
    s->d = sz_take_decoder(state);
    if (!s->d) {
        stream_end(s);
        return strait_error_memory(err, "sz");
    }
    *stream = s;
    return 0;
}

static bool get_head(struct stream *s, struct strait_reader *r)
{
    struct sz_head *head = &s->coding.head;
    bool good;
    return sz_read_head(r, head, head->n_elems) &&
           sz_open_matrix(s->state, head, &good, NULL) == 0 && good;
}

static bool get_piece(struct stream *s, struct strait_reader *r)
{
    struct sz_head *head = &s->coding.head;
    struct sz_unpacker u;
    if (s->next == 0 && !get_head(s, r))
        return false;
    if (s->next >= sz_pieces_in(head))
        return false;
    if (head->mode < SZ_SEGMENTS || head->n_elems == 0)
        return sz_decode_plain(s->y, r, head) && r->p == r->end;
    return sz_segment_open(&u, s->d, &s->coding.chain, r, head, s->next) && r->p == r->end &&
           sz_segment_decode(&u, s->y + s->next * SZ_SEGMENT);
}

static int stream_get(void *stream, size_t *n_done, const unsigned char *in, size_t len_bytes,
                      struct strait_error *err)
{
    struct stream *s = stream;
    struct strait_reader r = {.p = in, .end = in + len_bytes};
    /* After a malformed piece the tables are unknown. */
    if (s->failed || !get_piece(s, &r)) {
        s->failed = true;
        return strait_refuse(err, "sz", "expected piece %zu of a stream of %zu values", s->next,
                             s->coding.head.n_elems);
    }
    s->next++;
    *n_done = done_after(&s->coding.head, s->next);
    return 0;
}

const struct strait_codec_stream_ops sz_stream_ops = {
    .piece_elems = SZ_SEGMENT,
    .begin = stream_begin,
    .put = stream_put,
    .piece_max_bytes = piece_max_bytes,
    .end = stream_end,
    .begin_decode = stream_begin_decode,
    .get = stream_get,
};
