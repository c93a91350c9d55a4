/* Inside coding: tensors split into the model's parameters, and encoded. From the bottom up:
 * rank_state.c, coding_packets.c (encoded tensors as packets), tensor.c, coding_pieces.c (the split
 * into parameters), coding.c (the functions for strategies), messages.c, coding_setup.c (what runs
 * before and after the rounds), rank_rounds.c. */
#pragma once
#include "rank_state.h"

/* A sender's memory for one parameter or a part of one, made by its first encode. */
struct strait_remembered {
    size_t lo, hi; /* elements of the flattened model */
    struct strait_feedback *memory;
    struct strait_remembered *next;
};

/* Flags of packets: coded against a reference; sent back to the rank that the reference came from.
 * The bits above say which of the rank's codecs encoded it, since a frame does not tell all their
 * differences. */
enum { STRAIT_PACKET_REFERS = 1, STRAIT_PACKET_COMES_BACK = 2, STRAIT_PACKET_CODEC = 4 };

/* Values that one rank encoded and others decoded: a sender has one for all of its receivers or for
 * one of them, a receiver one for each sender. */
struct strait_line {
    int sender, to;                  /* to: -1: all receivers, and at receivers */
    size_t lo, hi;                   /* elements of the flattened model */
    struct strait_reference *values; /* NULL in a sized run */
    uint32_t version;                /* also in a sized run */
    uint32_t *has; /* sender: the version that each rank has; NULL: all have the last */
    bool is_key;   /* sender: the packet being encoded is a key frame */
    struct strait_line *next;
};
/** The line of what c is to encode of x now, or NULL; decides whether it will be a key frame. */
struct strait_line *strait_line_to_encode(struct strait_rank *r, struct strait_codec *c,
                                          const struct strait_tensor *x);
/** Does encoding by c change the line, which what goes up does not? */
bool strait_line_keeps(const struct strait_codec *c);
/** It was encoded. */
void strait_line_encoded(struct strait_rank *r, struct strait_codec *c, struct strait_line *line);
/** The line of a packet that came and of the tensor that it is decoded to, or NULL. */
struct strait_line *strait_line_to_decode(struct strait_rank *r, const struct strait_packet *p,
                                          const struct strait_tensor *y);
/** Cost of encoding besides the codec's own work: decoding one's own packet, and passes over the
 *  values. */
double strait_line_cost_s(const struct strait_rank_state *w, const struct strait_codec *c,
                          const struct strait_tensor *x, double decode_s);
void strait_lines_free(struct strait_rank_state *w);
/** Bytes before a bundle of so many parameters; 0 without a reference. */
size_t strait_line_head_bytes(const struct strait_codec *c, size_t n_slices);
/** Call fn for every parameter that overlaps t, or its part in it; elements outside the model are one
 *  matrix. NULL: only count them. Returns: how many */
size_t strait_each_row(const struct strait_rank_state *w, const struct strait_tensor *t,
                       void (*fn)(void *arg, const struct strait_param_row *row, size_t lo,
                                  size_t hi),
                       void *arg);
size_t strait_task_n_slices(const struct strait_rank_state *w, const struct strait_tensor *t);
/** Decode a packet and discard its values, because the next packets are coded as differences from
 *  them. */
void strait_follow(struct strait_rank *r, struct strait_packet *taken);

/* Words that ranks agreed on for elements [lo, hi) of the model. */
struct strait_settled {
    const struct strait_codec *codec;
    size_t lo, hi;
    uint32_t *words;            /* NULL in a sized run */
    struct strait_settled_row { /* of each row of the model, or its part */
        size_t first, at;       /* its first element, its first word */
    } * rows;
    struct strait_settled *next;
};
/** The newest that holds all of x, or NULL. */
const struct strait_settled *strait_settled_of(struct strait_rank *r, const struct strait_codec *c,
                                               const struct strait_tensor *x);

bool strait_codec_is_none(const struct strait_codec *c);
bool strait_codec_is_lossy(const struct strait_codec *c, const struct strait_param_row *row);
struct strait_bundle strait_codec_bundle(const struct strait_codec *c, double bound);
/** Split task->tensor into the model's parameters, as task->slices, which the caller frees; for
 *  encode each with its sender's memory. */
void strait_task_cut(struct strait_rank *r, struct strait_task *task, bool with_memory);
void strait_task_encode(void *arg); /* jobs */
void strait_task_decode(void *arg);

/* The bound of an encoding: one of the codec's kind for all tensors (NAN: the experiment's), or one
 * for each row of the model. */
struct strait_within {
    double bound;
    const struct strait_bound *by_row;
    const float *scales; /* of each tensor that is encoded; NULL: their own */
    int of_ranks;        /* to estimate: the values are sums of so many ranks'; 0: unknown */
    unsigned n_added;    /* to estimate a sum of so many packets; below 2: one packet */
    bool settled;        /* to estimate: coded by what ranks agreed on */
};
struct strait_packet *strait_encode_at(struct strait_rank *r, struct strait_codec *c,
                                       struct strait_within within, struct strait_tensor *x);
/* Size and times from a profile, or from the codec itself. */
struct strait_estimate {
    double encode_s, decode_s, bytes;
};
/** In:      changes: against a reference. Fails the run if the profile has no entry. */
struct strait_estimate strait_codec_estimate(struct strait_rank *r, struct strait_codec *c,
                                             struct strait_within within,
                                             const struct strait_tensor *t, bool changes);
/** Bytes of what was encoded now: as written with real payload, and noted if the trial notes them;
 *  else those that were noted, where the trial knows any, or else the estimated ones. In: within:
 *  n_added above 0: of packets that were added. */
size_t strait_codec_sent_bytes(struct strait_rank *r, const struct strait_codec *c,
                               const struct strait_tensor *x, struct strait_within within,
                               size_t written_bytes, double estimated_bytes);
/** Room for estimates of a trial, to be freed; NULL when memory ran out. */
struct strait_estimates *strait_estimates_new(void);
/** A packet of this codec; data NULL in a sized run. Out: room_bytes: its capacity. On release it
 *  subtracts payload_bytes from the rank's memory: add them when they are known. */
struct strait_packet *strait_codec_packet(struct strait_rank *r, struct strait_codec *c,
                                          size_t *room_bytes);
/** Set the packet's description in the frame. */
void strait_codec_label(struct strait_packet *p, const struct strait_codec *c, double bound,
                        const struct strait_tensor *x);

/** A packet that is a tensor's values themselves; the function that releases it, which tells. */
void strait_packet_release_view(struct strait_packet *p);
/** Does the packet count in this rank's memory as received, until it is decoded or dropped? */
bool strait_packet_is_received(const struct strait_rank_state *w, const struct strait_packet *p);
/** Tell the footprint how much of the codec's output buffer was written. */
void strait_codec_written(struct strait_codec *c, size_t n_bytes);

enum strait_reading_of {
    STRAIT_READING_ENCODE = 1,
    STRAIT_READING_DECODE,
    STRAIT_READING_ADD,
    STRAIT_READING_COPY,
    STRAIT_READING_ADD_ENCODED,
    STRAIT_READING_SET,
    STRAIT_READING_NORMS
};
/** The shared readings of this work; NULL in a run that measures nothing. In: bound: NAN
 *  unless the work depends on it. */
struct strait_readings *strait_reading_of(const struct strait_rank_state *w,
                                          enum strait_reading_of operation,
                                          const struct strait_codec *c, double bound,
                                          const struct strait_tensor *t);
