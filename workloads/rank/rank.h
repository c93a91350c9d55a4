/* The functions that strategies call. They wrap the ten operations so that every codec call is
 * charged, every operation leaves a span, and payload (real or sized) and cost (measured or from a
 * profile) are handled in one place. None returns an error: the first failure ends the run. */
#pragma once
#include "backend.h"
#include "learn/learner.h"

enum { STRAIT_ALL_LAYERS = -1 };

struct strait_experiment;
struct strait_tensor; /* elements of the flattened model, of one kind; private to a rank */
struct strait_codec;  /* one per rank and direction */
struct strait_task;   /* a started encode, decode or compute; strait_wait ends it */

int strait_me(const struct strait_rank *r);
int strait_n_ranks(const struct strait_rank *r);
/** 0 to n - 1: the same array for all ranks that are no processes; lives as long as the run. */
const int *strait_all_ranks(struct strait_rank *r);
double strait_now_s(const struct strait_rank *r);
/** Whether an event of the network has taken this rank away. It must then answer nothing. */
bool strait_is_away(const struct strait_rank *r);
/** When that changes next; INFINITY: never. */
double strait_next_presence_s(const struct strait_rank *r);
/** Value of a declared parameter, in base units. */
double strait_param(const struct strait_rank *r, const char *name);
/** Random number in [0, 1), keyed by seed, purpose, rank and round. */
double strait_draw(const struct strait_rank *r, const char *purpose);
/** Begin the next round; false after the last. This is the only round loop. Rank 0's rounds are the
 *  run's times. */
bool strait_round(struct strait_rank *r);
/** True in the last round: communication normally overlapped with the next round must finish
 *  here. */
bool strait_is_last_round(const struct strait_rank *r);
/** For ranks that follow another rank's rounds: label spans and key draws with this round. */
void strait_enter_round(struct strait_rank *r, int round);
/** Fail the run, for strategies whose own helpers fail. */
void strait_fail(struct strait_rank *r, const struct strait_error *err) __attribute__((noreturn));
/** Zeroed memory, freed with the rank. */
void *strait_alloc(struct strait_rank *r, size_t n, size_t size);

/* Compute: the times of the model's table on the device that it was timed on. The layers' times are
 * scaled so that their sum is the recorded total. If the experiment trains ("training", and real
 * payload), the values are computed for real, in the same time; else they are recorded ones. */
void strait_forward(struct strait_rank *r, int layer);
void strait_backward(struct strait_rank *r, int layer);
/** Pass the time of the layers [first, end) for this share of a batch (a microbatch), without
 *  values. */
void strait_forward_share(struct strait_rank *r, int first, int end, double share);
void strait_backward_share(struct strait_rank *r, int first, int end, double share);
/* A stage's part of a batch: the layers [first, end) of microbatch `micro` of n_micro, of this
 * round's minibatch. */
struct strait_microbatch {
    int micro, n_micro, first, end;
};
/** strait_forward_share of a microbatch; if the rank trains, out becomes what the layers make of
 *  `in` by the parameters w, of these layers. First stage: in is not read, the data are; last one:
 *  out is not written. */
void strait_forward_micro(struct strait_rank *r, const struct strait_microbatch *m,
                          struct strait_tensor *w, struct strait_tensor *in,
                          struct strait_tensor *out);
/** strait_backward_share of it; if the rank trains, gradient becomes that of the minibatch's mean
 *  loss by w, as far as this microbatch and those before it go, and dx that by `in`, from dy, that
 *  by `out`. First stage: dx is not written; last one: dy is not read, the labels are. */
void strait_backward_micro(struct strait_rank *r, const struct strait_microbatch *m,
                           struct strait_tensor *w, struct strait_tensor *in,
                           struct strait_tensor *dy, struct strait_tensor *dx,
                           struct strait_tensor *gradient);
/** As strait_backward. With real payload it also fills x, of kind GRADIENTS, with the layer's
 *  gradient: that of this rank's parameters and next minibatch if it trains, else the recorded one.
 *  All views of x must have been read; before the first layer of a step, also those of the whole
 *  tensor that x is a range of. */
void strait_backward_into(struct strait_rank *r, int layer, struct strait_tensor *x);
/** Take cost_s of the device. If the rank trains, x also becomes a factor of K-FAC, a triangle
 *  (learn/factors.h), of this step's minibatch: the last gradient's, or the next one's if no layer
 *  has a gradient yet. */
void strait_factor_into(struct strait_rank *r, int layer, bool of_input, struct strait_tensor *x,
                        double cost_s);
/** Pass the time of one optimiser step. If the rank trains, its parameters move along weight * x,
 *  where x are whole gradients. x NULL: only time passes. */
void strait_step(struct strait_rank *r, struct strait_tensor *x, double weight);
/** A share of an optimiser step; with real payload fn(arg) computes it. */
void strait_resume_part(struct strait_rank *r, double share, void (*fn)(void *), void *arg);
/** The optimiser's step for the layers [first, end) of x. It takes their share, by elements, of a
 *  step's time. Several calls may make up one step, each layer once. */
void strait_step_layers(struct strait_rank *r, int first, int end, struct strait_tensor *x,
                        double weight);
/** The same for the elements of x alone: a sharded optimiser steps its own part. The time that
 *  software takes for each tensor is left out. */
void strait_step_shard(struct strait_rank *r, struct strait_tensor *x, double weight);
/** Seconds that a step of strait_train takes on this rank now, slowness included. */
double strait_train_step_s(const struct strait_rank *r);
/** From now on this rank's compute takes `factor` times as long: a straggler. Its codecs do not. */
void strait_set_slowness(struct strait_rank *r, double factor);
/** Pass n_steps of forward, backward and optimiser. If the rank trains, it begins with the
 *  parameters `from` (NULL: it trains its own). Then `to` holds their change (kind UPDATE) or the
 *  trained parameters (any other kind; `to` may be `from`). If it does not train, `to` keeps its
 *  recorded values. The optimiser begins anew at each call unless "keep_state" is asked for or the
 *  strategy has no server. */
void strait_train(struct strait_rank *r, struct strait_tensor *from, struct strait_tensor *to,
                  int n_steps);

/* Real training. Without it these do nothing, or what is said. */
bool strait_trains(const struct strait_rank *r);
/** w holds this rank's parameters, or a part of them that further calls complete. The gradient is
 *  taken at w, and steps change w. Without this call the parameters are a copy that the strategy
 *  does not see. */
void strait_owns(struct strait_rank *r, struct strait_tensor *w);
/** w holds the run's model, or a part of it that further calls complete. On rank 0 it is evaluated
 *  after each round. A later w with the same elements replaces it. Without this call the model is
 *  what rank 0 owns (strait_owns). */
void strait_learns(struct strait_rank *r, struct strait_tensor *w);
/** Examples of a rank, to weigh its update by; 1 if it does not train. */
double strait_n_examples(const struct strait_rank *r, int rank);
/** Ranks that train. */
int strait_n_workers(const struct strait_rank *r);
/** This rank trains on the data of this worker from now on, as others may: stages of a pipeline. */
void strait_shares_data(struct strait_rank *r, int worker);
/** Values that an example passes on from the layers before `layer`. Fails the run where the task
 *  cannot be cut into stages. */
size_t strait_n_passed_on(struct strait_rank *r, int layer);
/** Which of the rank's examples a microbatch has, from 0 on. Out: examples: batch / n_micro */
void strait_microbatch_examples(struct strait_rank *r, const struct strait_microbatch *m,
                                uint32_t *examples);
/** Mean loss of this rank's minibatches in its last strait_train or step; NAN: none. */
double strait_train_loss(const struct strait_rank *r);
/** Evaluate x, whole parameters, on held-out data, for policies. Costs no virtual time, but real
 *  time in emulation. The loss is NAN if the run does not train. */
struct strait_score strait_score_of(struct strait_rank *r, struct strait_tensor *x);
/** Set the bound that the row shows for this round (default: the experiment's). Rank 0 only. */
void strait_note_bound(struct strait_rank *r, double bound);
/** y = after - before, the change of parameters; without training y = recorded. Charged as a copy
 *  of `recorded`. */
void strait_set_change(struct strait_rank *r, struct strait_tensor *y, struct strait_tensor *after,
                       struct strait_tensor *before, struct strait_tensor *recorded);

/** The model, for plans: shapes, layers, times. */
const struct strait_model *strait_model(const struct strait_rank *r);
/** The experiment, for plans. */
const struct strait_experiment *strait_experiment(const struct strait_rank *r);
/** For plans: the network, and the time to add or copy a byte. */
const struct strait_network *strait_network(const struct strait_rank *r);
double strait_add_s_per_byte(const struct strait_rank *r);
double strait_copy_s_per_byte(const struct strait_rank *r);
/** From now on this rank, a server, adds and copies at the profile's speed instead of the clients'
 *  device's. */
void strait_use_host_memory(struct strait_rank *r);
/** The same at a given speed. INFINITY: adding takes no time, as in a switch that adds at line
 *  rate. A run with measured costs takes the time of its own machine. */
void strait_use_memory(struct strait_rank *r, double bytes_per_s);
/** Any other work on a resource of this rank; returns when it is done. cost_s as in struct
 *  strait_job; fn may be NULL; kind is the span's. */
void strait_work(struct strait_rank *r, enum strait_span_kind kind, enum strait_resource resource,
                 double cost_s, void (*fn)(void *), void *arg);
struct strait_task *strait_work_start(struct strait_rank *r, enum strait_span_kind kind,
                                      enum strait_resource resource, double cost_s,
                                      void (*fn)(void *), void *arg);
/** Copy bytes over the host-accelerator link (STRAIT_TO_ACCEL or STRAIT_FROM_ACCEL), as
 *  strait_work_start; fn NULL: only time passes. Transfers do not contend. */
struct strait_task *strait_copy_start(struct strait_rank *r, enum strait_resource link,
                                      double bytes, double cost_s, void (*fn)(void *), void *arg);
/** The resource that the model computes on: STRAIT_ACCEL, or STRAIT_CPU if its table was timed on
 *  one. */
enum strait_resource strait_device(const struct strait_rank *r);
/** Speed of that device relative to the model's table: divide costs from other sources by it. */
double strait_device_speed(const struct strait_rank *r);

/* Tensors. */
enum strait_tensor_kind { STRAIT_WEIGHTS, STRAIT_UPDATE, STRAIT_GRADIENTS, STRAIT_SCRATCH };
/** The layers [first, end) of the model (0, STRAIT_ALL_LAYERS: all) as a tensor. With real payload
 *  it holds recorded values of its kind (SCRATCH: zeros), filled on first use; if the rank trains,
 *  WEIGHTS are the initial parameters, the same on all ranks, and all others zeros. */
struct strait_tensor *strait_tensor(struct strait_rank *r, enum strait_tensor_kind kind, int first,
                                    int end);
/** n_elems of zeros outside the model (factors, sketches), coded as one matrix. All ranks must make
 *  theirs in the same order: the position keys random draws and error feedback. */
struct strait_tensor *strait_scratch(struct strait_rank *r, size_t n_elems);
/** The same, filled by repeating the values of `recorded` if it has any. Stands for activations and
 *  other values that were not recorded; they do not change. */
struct strait_tensor *strait_scratch_of(struct strait_rank *r, size_t n_elems,
                                        struct strait_tensor *recorded);
/** A tensor of the same elements as x with its own memory: zeros. */
struct strait_tensor *strait_like(struct strait_rank *r, const struct strait_tensor *x);
/** Elements [lo, hi) of x, counted from its start, sharing its memory. The same range gives the
 *  same handle; it lives as long as x. */
struct strait_tensor *strait_range(struct strait_rank *r, struct strait_tensor *x, size_t lo,
                                   size_t hi);
/** Part i of n of x: the range [i size / n, (i + 1) size / n). */
struct strait_tensor *strait_slice(struct strait_rank *r, struct strait_tensor *x, int i, int n);
/** The same for ranks that need many slices, one after the other (a large ring). Without real
 *  payload the handle lies in `room`: it is valid until `room` is used again or goes out of scope.
 */
struct strait_slice_room {
    uint64_t words[16];
};
struct strait_tensor *strait_slice_in(struct strait_slice_room *room, struct strait_rank *r,
                                      struct strait_tensor *x, int i, int n);
size_t strait_n_elems(const struct strait_tensor *x);
/** The values with real payload, else NULL. For tests and this room; not for strategies. */
float *strait_values(struct strait_rank *r, struct strait_tensor *x);

/* Codec work; always charged. bound NAN: the experiment's. */
/** The codec "up", "down", "none" (plain values whatever the experiment says), or "inside": that of
 *  "up" with the strategy's "inside_bits", where there are any. */
struct strait_codec *strait_codec(struct strait_rank *r, const char *which);
/** From now on `dgc` sends this share of the values instead of its "ratio"; in sized runs its bytes
 *  change in proportion. */
void strait_set_share(struct strait_codec *c, double share);
/** Whether its packets are views of tensors, which must not change until all receivers have read
 *  them. */
bool strait_sends_views(const struct strait_codec *c);
/** Whether its packets can be added without decoding (strait_add_encoded). */
bool strait_adds_encoded(const struct strait_codec *c);
/** Whether the encoded size of x follows from its shape alone; if not, receivers must be told. */
bool strait_size_is_fixed(struct strait_rank *r, const struct strait_codec *c,
                          const struct strait_tensor *x);
struct strait_coding_cost {
    double bytes, encode_s, decode_s;
};
/** For plans: what encoding x once costs by the profile. False for `none`, and where the codec's
 *  cost is measured and not known beforehand. */
bool strait_coding_cost(struct strait_rank *r, struct strait_coding_cost *cost,
                        struct strait_codec *c, const struct strait_tensor *x);
/** Encode x. With `none` the packet is a view of x, which must not change until the packet is
 *  dropped. */
struct strait_packet *strait_encode(struct strait_rank *r, struct strait_codec *c, double bound,
                                    struct strait_tensor *x);
/** The same within the experiment's bound, of a sum of so many ranks' values: sized runs take what
 *  such sums cost, where the profile tells. */
struct strait_packet *strait_encode_sum(struct strait_rank *r, struct strait_codec *c, int n_ranks,
                                        struct strait_tensor *x);
/** The same with a bound for each parameter tensor: by_row has one for each row of the model, of a
 *  kind that the codec supports. Lossless tensors stay lossless. In a sized run the kind must be
 *  that of the codec's own bound. */
struct strait_packet *strait_encode_within(struct strait_rank *r, struct strait_codec *c,
                                           const struct strait_bound *by_row,
                                           struct strait_tensor *x);
/** y = x encoded and decoded by c within this bound, for policies. Uses neither a reference nor the
 *  sender's memory. Charged as one encode and one decode. */
void strait_round_trip(struct strait_rank *r, struct strait_codec *c, double bound,
                       struct strait_tensor *y, struct strait_tensor *x);
/* If a codec's setting "reference" is on, a sender codes "down" packets as differences from the
 * values of these elements that its receivers decoded last, and receivers code "up" packets as
 * differences from the same values. A sender whose packets do not all go to the same ranks calls
 * one of these two before it encodes. If "reference" is off they do nothing. */
/** The next packet of c must be readable by rank dst too; it becomes a key frame if dst missed the
 *  last packet. Call this for every receiver, or never. */
void strait_reach(struct strait_rank *r, struct strait_codec *c, int dst);
/** The next packet of c is for rank dst alone, coded against what dst has. */
void strait_address(struct strait_rank *r, struct strait_codec *c, int dst);
void strait_decode(struct strait_rank *r, struct strait_tensor *y, struct strait_packet *taken);
struct strait_task *strait_decode_start(struct strait_rank *r, struct strait_tensor *y,
                                        struct strait_packet *taken);
void strait_wait(struct strait_rank *r, struct strait_task *task);
/** Add two packets that encode the same elements as x; takes both. Tensors that the codec cannot
 *  add (small lossless ones; streams without a common step) are decoded, added and encoded. Charged
 *  as one encode and two decodes; as one addition of as many bytes if the streams are plain
 *  numbers; or as measured. */
struct strait_packet *strait_add_encoded(struct strait_rank *r, struct strait_codec *c,
                                         struct strait_tensor *x, struct strait_packet *a_taken,
                                         struct strait_packet *b_taken);
/** Whether packets of c can be added only if their senders agree on norms first
 *  (STRAIT_CODEC_AGREED). */
bool strait_codec_agrees(const struct strait_codec *c);
/** Set norms[at], norms[at + 1], ... to the norms of the parameters (or parts of them) in x, with
 *  the sender's memory added; 0 for those that stay lossless. Charged as an addition.
 *  Returns: how many */
size_t strait_norms(struct strait_rank *r, struct strait_codec *c, struct strait_tensor *norms,
                    size_t at, struct strait_tensor *x);
/** y = the larger of x and y, value by value. Charged as an addition. */
void strait_raise(struct strait_rank *r, struct strait_tensor *y, struct strait_tensor *x);
/** strait_encode with the norms that all ranks agreed on, from `at` on. */
struct strait_packet *strait_encode_agreed(struct strait_rank *r, struct strait_codec *c,
                                           struct strait_tensor *x, struct strait_tensor *norms,
                                           size_t at);
/** Whether ranks that sum with c agree on statistics first (codecs/codec.h). */
bool strait_codec_has_statistics(const struct strait_codec *c);
/** Words of the parameters (or parts of them) in x, which travel as values of a tensor. x NULL: of
 *  the whole model. */
size_t strait_n_statistics(struct strait_rank *r, struct strait_codec *c, struct strait_tensor *x);
/** Set words to those of x, without the sender's memory. Charged as an addition. */
void strait_measure_statistics(struct strait_rank *r, struct strait_codec *c,
                               struct strait_tensor *words, struct strait_tensor *x);
/** Add other ranks' words. Charged as an addition. */
void strait_merge_statistics(struct strait_rank *r, struct strait_codec *c,
                             struct strait_tensor *sum, struct strait_tensor *more);
/** From now on strait_encode_sum codes x and its parts by these words of n_ranks ranks, and what
 *  comes for them is decoded by the same. Charged as so many additions as the search for a
 *  threshold needs. */
void strait_settle_statistics(struct strait_rank *r, struct strait_codec *c,
                              struct strait_tensor *x, struct strait_tensor *sum, int n_ranks);
/** sum += weight * x */
void strait_add(struct strait_rank *r, struct strait_tensor *sum, struct strait_tensor *x,
                double weight);
/** y = weight * x; x may be y. Charged as a copy. */
void strait_set(struct strait_rank *r, struct strait_tensor *y, struct strait_tensor *x,
                double weight);
/** strait_encode for a tensor that changes while the packet is under way: with `none` the values
 *  are copied, and charged as a copy. */
struct strait_packet *strait_snapshot(struct strait_rank *r, struct strait_codec *c, double bound,
                                      struct strait_tensor *x);

/* Rows of a large tensor, in memory beside the accelerator, that x has one behind the other. */
struct strait_rows {
    struct strait_tensor *x, *memory;
    const uint32_t *rows; /* of as many values each as x has for one */
    size_t n_rows;
    double bytes_per_s;     /* of the way between them */
    float *values, *stored; /* the call's own */
};
/** Begin to copy the rows to x, or x to the rows. `rows` stays as it is until the task has ended. */
struct strait_task *strait_rows_load(struct strait_rank *r, struct strait_rows *rows);
struct strait_task *strait_rows_store(struct strait_rank *r, struct strait_rows *rows);

/* Messages. */
struct strait_packet *strait_control(struct strait_rank *r, double word); /* no payload */
/** A packet of n_bytes without content, for messages of which only the size is known. */
struct strait_packet *strait_filler(struct strait_rank *r, size_t n_bytes);
/** Half i (0 or 1) of a packet's bytes, padded with zeros to padded_bytes, for transports that cut
 *  messages. It can only be sent, dropped and made whole again; p stays the caller's. */
struct strait_packet *strait_half(struct strait_rank *r, const struct strait_packet *p, int i,
                                  size_t padded_bytes);
/** The packet of n_bytes again, from both halves, which it takes: they came from another rank. */
struct strait_packet *strait_whole(struct strait_rank *r, struct strait_packet *const halves[2],
                                   size_t n_bytes);
/** The same in any number of pieces: bytes [lo, hi) of a packet, zeros where it has ended. */
struct strait_packet *strait_piece(struct strait_rank *r, const struct strait_packet *p, size_t lo,
                                   size_t hi);
/** A packet of n_bytes to be filled with its pieces, of which this is one. */
struct strait_packet *strait_empty_like(struct strait_rank *r, const struct strait_packet *piece,
                                        size_t n_bytes);
/** Its bytes from `at` on, as far as p has room. */
void strait_put_piece(struct strait_rank *r, struct strait_packet *p, size_t at,
                      struct strait_packet *taken);
struct strait_packet *strait_keep(struct strait_packet *p);
void strait_drop(struct strait_rank *r, struct strait_packet *p);
void strait_send(struct strait_rank *r, int dst, int channel, int tag, struct strait_packet *taken);
/** The same; the task ends when the acknowledgement has arrived. */
struct strait_task *strait_send_acked(struct strait_rank *r, int dst, int channel, int tag,
                                      struct strait_packet *taken);
struct strait_message strait_recv(struct strait_rank *r, int src, int channel);
/** The newest of the messages that have arrived, dropping the others; waits for one if there is
 *  none. */
struct strait_message strait_recv_newest(struct strait_rank *r, int src, int channel);
/** The last that a rank's program does: take the newest message of a stream again and again, until
 *  `answer`, which takes the packet, returns false. In simulations of many ranks one that waits
 *  here needs no stack: `arg` must not lie on it. */
void strait_serve(struct strait_rank *r, int src, int channel,
                  bool (*answer)(struct strait_rank *, void *arg, const struct strait_message *),
                  void *arg);
/** The next message if it arrives by deadline_s, in seconds since time 0 (strait_now_s + a
 *  duration; INFINITY: waits for ever).
 *  Out:     m  the message, if there was one
 *  Returns: whether there was */
bool strait_recv_by(struct strait_rank *r, struct strait_message *m, int src, int channel,
                    double deadline_s);
/** Count n updates that this round waited for and did not get, for the row. */
void strait_note_missing(struct strait_rank *r, int n);
void strait_post(struct strait_rank *r, int channel, int word); /* to a lane of this rank; free */
int strait_pend(struct strait_rank *r, int channel);            /* and instant */
struct strait_rank *strait_spawn(struct strait_rank *r, void (*fn)(struct strait_rank *, void *),
                                 void *arg);
void strait_join(struct strait_rank *r, struct strait_rank *lane);

/** A tensor like x in spare memory, which the next call for the same whole tensor reuses. */
struct strait_tensor *strait_spare(struct strait_rank *r, struct strait_tensor *x);

/* For backends: set-up, the strategy, tear-down. */
void strait_rank_begin(struct strait_rank *r);
void strait_rank_main(struct strait_rank *r);
void strait_rank_end(struct strait_rank *r);
