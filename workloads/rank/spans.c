/* A packed span is three bytes that say which of its fields are like those of a span before it in
 * its block, and the fields that are not. Spans before it are the previous three, and the last two
 * of its own kind. Nothing is lost: times are compared and kept bit by bit. */
#include "spans.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/bytes.h"

/* There may be a million clients, and one of them has three spans when its update is sent, five or
 * six after a round. */
enum { FIRST_SPANS = 3 };
/* Of a span whose fields are like no other's. */
enum { MAX_PACKED_BYTES = 3 + 3 * 8 + 2 * 8 + 5 * 4 };
enum { N_KINDS = 8 }; /* that three bits can name */
_Static_assert((int)STRAIT_N_SPAN_KINDS <= (int)N_KINDS, "a kind of span has no number");

struct before { /* a span, in its block; where there are none: zeros */
    const struct strait_span *previous;
    double times[6]; /* end and start of the previous three, the last of them first */
    const struct strait_span *alike[N_KINDS][2];      /* by kind */
    unsigned char start_as[N_KINDS], end_as[N_KINDS]; /* packing: how the last one's times are */
};

static const struct strait_span none;

static void begin(struct before *b)
{
    b->previous = &none;
    memset(b->times, 0, sizeof(b->times));
    for (int kind = 0; kind < N_KINDS; kind++)
        b->alike[kind][0] = b->alike[kind][1] = &none;
    memset(b->start_as, 0, sizeof(b->start_as));
    memset(b->end_as, 0, sizeof(b->end_as));
}

static void pass(struct before *b, const struct strait_span *span)
{
    b->previous = span;
    for (int i = 5; i >= 2; i--)
        b->times[i] = b->times[i - 2];
    b->times[0] = span->end_s;
    b->times[1] = span->start_s;
    b->alike[span->kind][1] = b->alike[span->kind][0];
    b->alike[span->kind][0] = span;
}

/* --- times: like one of eight, or with the upper two bytes of the first, or whole ------------ */

enum { N_LIKE = 8, LOWER = N_LIKE, WHOLE, LOWER_BYTES = 6 };

static uint64_t bits_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof(bits));
    return bits;
}

static double start_like(const struct before *b, int kind, int how)
{
    if (how < 6)
        return b->times[how];
    return how == 6 ? b->alike[kind][0]->end_s : b->alike[kind][0]->start_s;
}

static double end_like(const struct before *b, int kind, double start_s, int how)
{
    const struct strait_span *alike = b->alike[kind][how == 5];
    switch (how) {
    case 0:
    case 1:
    case 2:
        return b->times[2 * how];
    case 3:
        return start_s;
    case 4:
    case 5:
        return start_s + (alike->end_s - alike->start_s);
    case 6:
        return alike->end_s;
    default:
        return b->times[1];
    }
}

/* Like none of the eight. */
static int put_time(unsigned char **to, double time_s, double first)
{
    const uint64_t bits = bits_of(time_s);
    const int how = bits >> 48 == bits_of(first) >> 48 ? LOWER : WHOLE;
    strait_put32(*to, (uint32_t)bits);
    strait_put16(*to + 4, (uint16_t)(bits >> 32));
    if (how == WHOLE)
        strait_put16(*to + LOWER_BYTES, (uint16_t)(bits >> 48));
    *to += how == LOWER ? LOWER_BYTES : 8;
    return how;
}

static double take_time(const unsigned char **from, int how, double first)
{
    double time_s;
    uint64_t bits = strait_get32(*from) | (uint64_t)strait_get16(*from + 4) << 32;
    if (how == LOWER)
        bits |= bits_of(first) >> 48 << 48;
    else
        bits |= (uint64_t)strait_get16(*from + LOWER_BYTES) << 48;
    *from += how == LOWER ? LOWER_BYTES : 8;
    memcpy(&time_s, &bits, sizeof(time_s));
    return time_s;
}

/* Mostly as the start of the last one of its kind. */
static int put_start(unsigned char **to, const struct strait_span *s, struct before *b)
{
    const uint64_t bits = bits_of(s->start_s);
    int how = b->start_as[s->kind];
    if (bits_of(start_like(b, s->kind, how)) == bits)
        return how;
    for (how = 0; how < N_LIKE; how++)
        if (bits_of(start_like(b, s->kind, how)) == bits)
            return b->start_as[s->kind] = (unsigned char)how;
    return put_time(to, s->start_s, b->times[0]);
}

static int put_end(unsigned char **to, const struct strait_span *s, struct before *b)
{
    const uint64_t bits = bits_of(s->end_s);
    int how = b->end_as[s->kind];
    if (bits_of(end_like(b, s->kind, s->start_s, how)) == bits)
        return how;
    for (how = 0; how < N_LIKE; how++)
        if (bits_of(end_like(b, s->kind, s->start_s, how)) == bits)
            return b->end_as[s->kind] = (unsigned char)how;
    return put_time(to, s->end_s, b->times[0]);
}

static double take_start(const unsigned char **from, int how, const struct before *b, int kind)
{
    return how < N_LIKE ? start_like(b, kind, how) : take_time(from, how, b->times[0]);
}

static double take_end(const unsigned char **from, int how, const struct before *b, int kind,
                       double start_s)
{
    return how < N_LIKE ? end_like(b, kind, start_s, how) : take_time(from, how, b->times[0]);
}

/* --- other fields ------------------------------------------------------------------------- */

static void put(unsigned char **to, const void *field, size_t n_bytes)
{
    memcpy(*to, field, n_bytes);
    *to += n_bytes;
}

static void take(const unsigned char **from, void *field, size_t n_bytes)
{
    memcpy(field, *from, n_bytes);
    *from += n_bytes;
}

enum { SAME, SAME_AS_SECOND, MOVED, OWN }; /* sizes */

static int put_sizes(unsigned char **to, const struct strait_span *s, const struct before *b)
{
    for (int i = 0; i < 2; i++) {
        const struct strait_span *alike = b->alike[s->kind][i];
        if (s->bytes == alike->bytes && s->raw_bytes == alike->raw_bytes)
            return i == 0 ? SAME : SAME_AS_SECOND;
    }
    const struct strait_span *alike = b->alike[s->kind][0];
    const int64_t by = (int64_t)(s->bytes - alike->bytes);
    if (by == (int64_t)(s->raw_bytes - alike->raw_bytes) && by >= INT8_MIN && by <= INT8_MAX) {
        const int8_t moved = (int8_t)by;
        put(to, &moved, sizeof(moved));
        return MOVED;
    }
    put(to, &s->bytes, sizeof(s->bytes));
    put(to, &s->raw_bytes, sizeof(s->raw_bytes));
    return OWN;
}

/* Of a span that has the sizes of the last one of its kind. */
static void take_sizes(struct strait_span *s, const unsigned char **from, int how,
                       const struct strait_span *second)
{
    int8_t moved;
    switch (how) {
    case SAME_AS_SECOND:
        s->bytes = second->bytes;
        s->raw_bytes = second->raw_bytes;
        break;
    case MOVED:
        take(from, &moved, sizeof(moved));
        s->bytes += (uint64_t)moved;
        s->raw_bytes += (uint64_t)moved;
        break;
    case OWN:
        take(from, &s->bytes, sizeof(s->bytes));
        take(from, &s->raw_bytes, sizeof(s->raw_bytes));
        break;
    default:
        break;
    }
}

/* Peers and tags: as the last of the kind, or the next after that, or as the previous span. */
enum { AS_ALIKE, NEXT, AS_PREVIOUS, NUMBER };

static int put_number(unsigned char **to, int32_t value, int32_t alike, int32_t previous)
{
    if (value == alike)
        return AS_ALIKE;
    if (alike < INT32_MAX && value == alike + 1)
        return NEXT;
    if (value == previous)
        return AS_PREVIOUS;
    put(to, &value, sizeof(value));
    return NUMBER;
}

static int32_t take_number(const unsigned char **from, int how, int32_t alike, int32_t previous)
{
    int32_t value = how == AS_PREVIOUS ? previous : how == NEXT ? alike + 1 : alike;
    if (how == NUMBER)
        take(from, &value, sizeof(value));
    return value;
}

/* --- a span ------------------------------------------------------------------------------- */

/* Bits of the first byte, beside the kind's three and the two of sizes. */
enum { SIZES_AT = 3, QUEUED = 1 << 5, RANK = 1 << 6, ROUND = 1 << 7 };
/* Of the third: where peer and tag are, and lane and channel of its own. */
enum { TAG_AT = 2, PLACE = 1 << 4 };

static void pack_span(unsigned char **to, const struct strait_span *s, struct before *b)
{
    const struct strait_span *alike = b->alike[s->kind][0], *previous = b->previous;
    unsigned char *head = *to;
    *to += 3;
    const int start = put_start(to, s, b), end = put_end(to, s, b);
    int first = s->kind | put_sizes(to, s, b) << SIZES_AT, third = 0;
    if (bits_of(s->queued_s) != bits_of(s->start_s)) {
        first |= QUEUED;
        put(to, &s->queued_s, sizeof(s->queued_s));
    }
    if (s->rank != previous->rank) {
        first |= RANK;
        put(to, &s->rank, sizeof(s->rank));
    }
    if (s->round != previous->round) {
        first |= ROUND;
        put(to, &s->round, sizeof(s->round));
    }
    third |= put_number(to, s->peer, alike->peer, previous->peer);
    third |= put_number(to, s->tag, alike->tag, previous->tag) << TAG_AT;
    if (s->lane != alike->lane || s->channel != alike->channel) {
        third |= PLACE;
        put(to, &s->lane, sizeof(s->lane));
        put(to, &s->channel, sizeof(s->channel));
    }
    head[0] = (unsigned char)first;
    head[1] = (unsigned char)(start | end << 4);
    head[2] = (unsigned char)third;
}

/* What the first and third byte have beside the kind is mostly nothing. */
static void unpack_span(struct strait_span *s, const unsigned char **from, const struct before *b)
{
    const unsigned char first = (*from)[0], times = (*from)[1], third = (*from)[2];
    const int kind = first & (N_KINDS - 1);
    const struct strait_span *previous = b->previous;
    *from += 3;
    *s = *b->alike[kind][0];
    s->kind = kind;
    s->rank = previous->rank;
    s->round = previous->round;
    s->start_s = take_start(from, times & 15, b, kind);
    s->end_s = take_end(from, times >> 4, b, kind, s->start_s);
    s->queued_s = s->start_s;
    if (first >= 1 << SIZES_AT) {
        take_sizes(s, from, first >> SIZES_AT & 3, b->alike[kind][1]);
        if (first & QUEUED)
            take(from, &s->queued_s, sizeof(s->queued_s));
        if (first & RANK)
            take(from, &s->rank, sizeof(s->rank));
        if (first & ROUND)
            take(from, &s->round, sizeof(s->round));
    }
    if (third > 0) {
        s->peer = take_number(from, third & 3, s->peer, previous->peer);
        s->tag = take_number(from, third >> TAG_AT & 3, s->tag, previous->tag);
        if (third & PLACE) {
            take(from, &s->lane, sizeof(s->lane));
            take(from, &s->channel, sizeof(s->channel));
        }
    }
}

/* --- blocks ------------------------------------------------------------------------------- */

/* Room for one more block. */
static bool reserve(struct strait_spans *s)
{
    if (s->n_blocks < s->cap_blocks)
        return true;
    const size_t cap = s->cap_blocks + s->cap_blocks / 2 + 1;
    struct strait_span_block *more = realloc(s->blocks, cap * sizeof(*more));
    if (!more)
        return false;
    s->blocks = more;
    s->cap_blocks = cap;
    return true;
}

/* Make a block of these. */
static bool pack(struct strait_spans *s, const struct strait_span *spans)
{
    unsigned char bytes[STRAIT_SPANS_BLOCK * MAX_PACKED_BYTES], *to = bytes;
    double least_s = INFINITY;
    double most_s = s->n_blocks > 0 ? s->blocks[s->n_blocks - 1].most_end_s : -INFINITY;
    uint32_t kinds = 0;
    struct before before;
    begin(&before);
    for (unsigned i = 0, n = strait_spans_a_block(s); i < n; i++) {
        const struct strait_span *span = &spans[i];
        kinds |= 1u << span->kind;
        pack_span(&to, span, &before);
        pass(&before, span);
        least_s = span->end_s < least_s ? span->end_s : least_s;
        most_s = span->end_s > most_s ? span->end_s : most_s;
    }
    const size_t n_bytes = (size_t)(to - bytes);
    unsigned char *packed = reserve(s) ? malloc(n_bytes) : NULL;
    if (!packed)
        return false;
    memcpy(packed, bytes, n_bytes);
    s->packed_bytes += n_bytes;
    s->blocks[s->n_blocks++] =
        (struct strait_span_block){packed, (uint32_t)n_bytes, kinds, least_s, most_s};
    return true;
}

/* Make blocks of the newest spans, whose memory is then larger than what the next need. */
static bool pack_newest(struct strait_spans *s)
{
    const size_t n_before = s->n_blocks, bytes_before = s->packed_bytes;
    const unsigned n_a_block = strait_spans_a_block(s);
    for (unsigned i = 0; i < s->n_newest; i += n_a_block)
        if (!pack(s, &s->newest[i])) { /* all or none */
            while (s->n_blocks > n_before)
                free(s->blocks[--s->n_blocks].packed);
            s->packed_bytes = bytes_before;
            return false;
        }
    if (s->cap_newest > n_a_block) {
        free(s->newest);
        s->newest = NULL;
        s->cap_newest = 0;
    }
    s->n_newest = 0;
    return true;
}

struct strait_span *strait_spans_room(struct strait_spans *s)
{
    const unsigned n_a_block = strait_spans_a_block(s);
    const unsigned at_first = n_a_block * (s->max_unpacked > 0 ? s->max_unpacked : 2);
    const unsigned most = s->n_blocks > 0 ? n_a_block : at_first;
    if (s->n_newest == most && !pack_newest(s))
        return NULL;
    if (s->n_newest == s->cap_newest) {
        const unsigned grown = s->cap_newest + s->cap_newest / 4 + FIRST_SPANS;
        const unsigned cap = s->cap_newest == 0 ? FIRST_SPANS : grown < most ? grown : most;
        struct strait_span *more = realloc(s->newest, cap * sizeof(*more));
        if (!more)
            return NULL;
        s->newest = more;
        s->cap_newest = cap;
    }
    return &s->newest[s->n_newest];
}

void strait_spans_release(struct strait_spans *s)
{
    free(s->newest);
    for (size_t i = 0; i < s->n_blocks; i++)
        free(s->blocks[i].packed);
    free(s->blocks);
    *s = (struct strait_spans){0};
}

unsigned char *strait_spans_gather(const struct strait_spans *s)
{
    unsigned char *all = malloc(s->packed_bytes + 1), *to = all;
    for (size_t i = 0; all && i < s->n_blocks; i++)
        put(&to, s->blocks[i].packed, s->blocks[i].n_bytes);
    return all;
}

bool strait_spans_scatter(struct strait_spans *s, const unsigned char *gathered)
{
    bool fits = true;
    for (size_t i = 0; i < s->n_blocks; i++) { /* all of them: what they had is another's */
        struct strait_span_block *block = &s->blocks[i];
        block->packed = malloc(block->n_bytes);
        if (block->packed)
            memcpy(block->packed, gathered, block->n_bytes);
        fits = fits && block->packed;
        gathered += block->n_bytes;
    }
    return fits;
}

const struct strait_span *strait_spans_block(size_t *n, struct strait_span *room,
                                             const struct strait_spans *s, size_t block)
{
    if (block == s->n_blocks) {
        *n = s->n_newest;
        return s->newest;
    }
    const unsigned char *from = s->blocks[block].packed;
    struct before before;
    begin(&before);
    *n = strait_spans_a_block(s);
    for (size_t i = 0; i < *n; i++) {
        unpack_span(&room[i], &from, &before);
        pass(&before, &room[i]);
    }
    return room;
}

struct strait_span strait_spans_at(const struct strait_spans *s, size_t i)
{
    struct strait_span room[STRAIT_SPANS_BLOCK];
    const size_t n_a_block = strait_spans_a_block(s), block = i / n_a_block;
    size_t n;
    if (block >= s->n_blocks)
        return s->newest[i - s->n_blocks * n_a_block];
    return strait_spans_block(&n, room, s, block)[i % n_a_block];
}

void strait_spans_begin(struct strait_span_walk *w, const struct strait_spans *s)
{
    w->of = s;
    w->now = NULL;
    w->block = w->at = w->n = 0;
    w->kinds = UINT32_MAX;
}

void strait_spans_begin_kind(struct strait_span_walk *w, const struct strait_spans *s,
                             enum strait_span_kind kind)
{
    strait_spans_begin(w, s);
    w->kinds = 1u << kind;
}

bool strait_spans_turn(struct strait_span_walk *w)
{
    while (w->block < w->of->n_blocks && !(w->of->blocks[w->block].kinds & w->kinds))
        w->block++;
    if (w->block > w->of->n_blocks)
        return false;
    w->now = strait_spans_block(&w->n, w->room, w->of, w->block++);
    w->at = 0;
    return w->n > 0;
}
