/* Spans, and how a log keeps them: the newest as they are, older ones packed by blocks, each in an
 * eighth of its size or less where a rank does the same again and again. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum strait_span_kind {
    STRAIT_SPAN_COMPUTE, /* forward, backward, local training, optimiser step */
    STRAIT_SPAN_ENCODE,
    STRAIT_SPAN_DECODE,
    STRAIT_SPAN_AGGREGATE, /* adding tensors */
    STRAIT_SPAN_TRANSFER,  /* logged by the receiver: from the post by the sender to the arrival */
    STRAIT_SPAN_WAIT,      /* the lane was blocked in a receive */
    STRAIT_SPAN_ROUND,     /* a round of rank 0, from start to end */
    STRAIT_N_SPAN_KINDS
};

struct strait_span {
    double queued_s, start_s, end_s; /* queued_s < start_s if a job waited for its slots */
    uint64_t bytes;                  /* payload on the wire or encoded; 0: none */
    uint64_t raw_bytes;              /* float32 bytes of the values */
    int32_t rank, round, peer, tag;  /* peer: the sender of a transfer, else -1 */
    int16_t lane, channel;
    int32_t kind; /* enum strait_span_kind */
};

/* The most spans of a packed block; and of a run's logs as long as nothing is packed, 8 MB: unpacking
 * takes time. */
enum { STRAIT_SPANS_BLOCK = 64, STRAIT_SPANS_UNPACKED = 1 << 17 };

struct strait_span_block {
    unsigned char *packed;
    uint32_t n_bytes;
    uint32_t kinds;     /* of its spans: a bit each */
    double least_end_s; /* the earliest end of its spans */
    double most_end_s;  /* the latest end of its and all spans before */
};

struct strait_spans {           /* zeroed: none */
    struct strait_span *newest; /* n_newest, after those of the blocks */
    struct strait_span_block *blocks;
    size_t n_blocks, cap_blocks, packed_bytes; /* of all blocks */
    unsigned n_newest, cap_newest;
    unsigned max_unpacked; /* blocks, while none is packed; 0: two */
    unsigned n_a_block;    /* at most STRAIT_SPANS_BLOCK; 0: that */
};

static inline unsigned strait_spans_a_block(const struct strait_spans *s)
{
    return s->n_a_block > 0 ? s->n_a_block : (unsigned)STRAIT_SPANS_BLOCK;
}

/** Make room for one more. Returns: where it comes; NULL when memory ran out, and those before
 *  stay */
struct strait_span *strait_spans_room(struct strait_spans *s);
/** Append a span. Returns: false when memory ran out; those before stay. Inline, as is what calls
 *  it for each message: a span whose fields were just written and is then copied waits until all
 *  stores before are done. */
static inline bool strait_spans_add(struct strait_spans *s, const struct strait_span *span)
{
    struct strait_span *to =
        s->n_newest < s->cap_newest ? &s->newest[s->n_newest] : strait_spans_room(s);
    if (!to)
        return false;
    *to = *span;
    s->n_newest++;
    return true;
}
void strait_spans_release(struct strait_spans *s);
/** All blocks' packed bytes, one after the other: s->packed_bytes, to be freed. NULL when memory
 *  ran out. */
unsigned char *strait_spans_gather(const struct strait_spans *s);
/** Give blocks that came from another process their bytes, as gathered. False when memory ran out;
 *  release s in any case. */
bool strait_spans_scatter(struct strait_spans *s, const unsigned char *gathered);
/** All spans of a block, or, after the last block, the newest.
 *  Out:     n      how many
 *  In:      room   STRAIT_SPANS_BLOCK spans, where they may be unpacked
 *           block  at most s->n_blocks
 *  Returns: the spans, in `room` or in `s` */
const struct strait_span *strait_spans_block(size_t *n, struct strait_span *room,
                                             const struct strait_spans *s, size_t block);
/** The span with this number, from 0; it must be there. Unpacks its block: for single ones. */
struct strait_span strait_spans_at(const struct strait_spans *s, size_t i);

/* A walk over all spans in their order. */
struct strait_span_walk {
    const struct strait_spans *of;
    const struct strait_span *now; /* the block's */
    size_t block, at, n;
    uint32_t kinds; /* of packed blocks only those that have one of these */
    struct strait_span room[STRAIT_SPANS_BLOCK];
};
void strait_spans_begin(struct strait_span_walk *w, const struct strait_spans *s);
/** One over all spans of a kind in their order, among which come others. */
void strait_spans_begin_kind(struct strait_span_walk *w, const struct strait_spans *s,
                             enum strait_span_kind kind);
bool strait_spans_turn(struct strait_span_walk *w); /* to the next block, if there is one */
/** The next one, which stays until the next call; NULL: there are no more. */
static inline const struct strait_span *strait_spans_next(struct strait_span_walk *w)
{
    return w->at < w->n || strait_spans_turn(w) ? &w->now[w->at++] : NULL;
}
