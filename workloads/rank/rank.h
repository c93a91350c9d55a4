/* What strategies call: the ten operations wrapped, so that every codec call is charged, every
 * operation leaves a span, and payload and cost (real or sized, measured or from a profile) are
 * decided in one place. No call returns an error: the first failure ends the run. */
#pragma once
#include "backend.h"

enum { STRAIT_ALL_LAYERS = -1 };

struct strait_experiment;
struct strait_tensor; /* elements of the flattened model, of one kind; private to a rank */
struct strait_codec;  /* one per rank and direction */
struct strait_task;   /* a started encode, decode or compute; strait_wait ends it */

int strait_me(const struct strait_rank *r);
int strait_n_ranks(const struct strait_rank *r);
double strait_now_s(const struct strait_rank *r);
/** As the strategy declared it, units taken off. */
double strait_param(const struct strait_rank *r, const char *name);
/** [0, 1) by seed, purpose, rank and round. */
double strait_draw(const struct strait_rank *r, const char *purpose);
/** The next round, while there is any: the only round loop. Rank 0's marks are the run's times. */
bool strait_round(struct strait_rank *r);
/** For what has no next round to hide behind. */
bool strait_is_last_round(const struct strait_rank *r);
/** For ranks that follow another's rounds: label spans and draws with this one. */
void strait_enter_round(struct strait_rank *r, int round);
/** End the run: for what a strategy calls that can fail. */
void strait_fail(struct strait_rank *r, const struct strait_error *err) __attribute__((noreturn));
/** Zeroed; freed with the rank. */
void *strait_alloc(struct strait_rank *r, size_t n, size_t size);

/* Compute: the times of the model's table on the device that it was timed on. A layer's time is its
 * share of the recorded total, so that all layers together take what the whole does. */
void strait_forward(struct strait_rank *r, int layer);
void strait_backward(struct strait_rank *r, int layer);
/** The same, and with real payload x, of kind GRADIENTS, holds what was recorded again: a round's
 *  sum is not the next one's gradient. Views of x must have been read. */
void strait_backward_into(struct strait_rank *r, int layer, struct strait_tensor *x);
/** One optimiser step. */
void strait_step(struct strait_rank *r);
/** A share of it; fn computes what is real, with real payload alone. */
void strait_step_part(struct strait_rank *r, double share, void (*fn)(void *), void *arg);
/** The optimiser's share of the layers [first, end), by elements. */
void strait_step_layers(struct strait_rank *r, int first, int end);
/** From now on this rank computes in factor times the time: a straggler. Its codecs do not. */
void strait_set_slowness(struct strait_rank *r, double factor);
/** n_steps of forward, backward and optimiser. The update's values are the recorded ones. */
void strait_train(struct strait_rank *r, struct strait_tensor *update, int n_steps);

/** The model, for plans: shapes, layers, times. */
const struct strait_model *strait_model(const struct strait_rank *r);
/** All that is asked for, for plans. */
const struct strait_experiment *strait_experiment(const struct strait_rank *r);
/** The network and the time to add to or copy a byte, for plans. */
const struct strait_network *strait_network(const struct strait_rank *r);
double strait_add_s_per_byte(const struct strait_rank *r);
double strait_copy_s_per_byte(const struct strait_rank *r);
/** A server: adds and copies at the profile's speed, whatever the clients' device does. */
void strait_use_host_memory(struct strait_rank *r);
/** Any other work on a resource of this rank, done when it returns. cost_s as in struct strait_job;
 *  fn may be NULL. kind says what its span counts as. */
void strait_work(struct strait_rank *r, enum strait_span_kind kind, enum strait_resource resource,
                 double cost_s, void (*fn)(void *), void *arg);
struct strait_task *strait_work_start(struct strait_rank *r, enum strait_span_kind kind,
                                      enum strait_resource resource, double cost_s,
                                      void (*fn)(void *), void *arg);
/** bytes over the link between host and accelerator, STRAIT_TO_ACCEL or STRAIT_FROM_ACCEL, which
 *  take cost_s: a transfer that nobody else takes part in, on every backend a job of that time. */
struct strait_task *strait_copy_start(struct strait_rank *r, enum strait_resource link,
                                      double bytes, double cost_s);
/** Where the model computes: STRAIT_ACCEL, or STRAIT_CPU where its table was timed on one. */
enum strait_resource strait_device(const struct strait_rank *r);
/** How much faster than the model's table that device is: divide costs that come from elsewhere. */
double strait_device_speed(const struct strait_rank *r);

/* Tensors. */
enum strait_tensor_kind { STRAIT_WEIGHTS, STRAIT_UPDATE, STRAIT_GRADIENTS, STRAIT_SCRATCH };
/** Elements of the layers [first, end) of the model (0, STRAIT_ALL_LAYERS: all). With real payload
 *  they hold recorded values of that kind (SCRATCH: zeros), made when first touched. */
struct strait_tensor *strait_tensor(struct strait_rank *r, enum strait_tensor_kind kind, int first,
                                    int end);
/** n_elems of memory that is no part of the model (factors, sketches): zeros, coded as one matrix.
 *  All ranks must make theirs in the same order, since their place decides draws and memories. */
struct strait_tensor *strait_scratch(struct strait_rank *r, size_t n_elems);
/** Memory of its own for what x is: zeros. */
struct strait_tensor *strait_like(struct strait_rank *r, const struct strait_tensor *x);
/** Elements [lo, hi) of x, counted from its start, in memory that it shares with x. The same range
 *  gives the same handle; it lives as long as x. */
struct strait_tensor *strait_range(struct strait_rank *r, struct strait_tensor *x, size_t lo,
                                   size_t hi);
/** Part i of n of x: the range [i size / n, (i + 1) size / n). */
struct strait_tensor *strait_slice(struct strait_rank *r, struct strait_tensor *x, int i, int n);
size_t strait_n_elems(const struct strait_tensor *x);
/** The values with real payload, else NULL. For tests and for wrappers; no strategy looks. */
float *strait_values(struct strait_rank *r, struct strait_tensor *x);

/* Codec work; always charged. bound NAN: the experiment's. */
/** "up", "down", or "none": plain values whatever the experiment says. */
struct strait_codec *strait_codec(struct strait_rank *r, const char *which);
/** Are its packets views of tensors, which have to stay as they are until all have read them? */
bool strait_sends_views(const struct strait_codec *c);
/** Can its packets be summed without decoding them (strait_add_encoded)? */
bool strait_adds_encoded(const struct strait_codec *c);
/** Does the size of x encoded follow from its shape alone? Else receivers have to be told. */
bool strait_size_is_fixed(struct strait_rank *r, const struct strait_codec *c,
                          const struct strait_tensor *x);
/** `none` is a view of x, which stays as it is until the packet is dropped. */
struct strait_packet *strait_encode(struct strait_rank *r, struct strait_codec *c, double bound,
                                    struct strait_tensor *x);
void strait_decode(struct strait_rank *r, struct strait_tensor *y, struct strait_packet *taken);
struct strait_task *strait_decode_start(struct strait_rank *r, struct strait_tensor *y,
                                        struct strait_packet *taken);
void strait_wait(struct strait_rank *r, struct strait_task *task);
/** A packet that decodes to the sum of two, both taken, that encode tensors of x's place. Tensors
 *  that its codec does not add (small lossless ones; streams without a common step) are decoded,
 *  added and encoded. Charged as one encode and two decodes, or as measured. */
struct strait_packet *strait_add_encoded(struct strait_rank *r, struct strait_codec *c,
                                         struct strait_tensor *x, struct strait_packet *a_taken,
                                         struct strait_packet *b_taken);
/** sum += weight * x */
void strait_add(struct strait_rank *r, struct strait_tensor *sum, struct strait_tensor *x,
                double weight);
/** y = weight * x, where x may be y: charged as a copy. */
void strait_set(struct strait_rank *r, struct strait_tensor *y, struct strait_tensor *x,
                double weight);
/** strait_encode for a tensor that changes while the packet is still on its way: `none` is copied
 *  too, and charged as a copy. */
struct strait_packet *strait_snapshot(struct strait_rank *r, struct strait_codec *c, double bound,
                                      struct strait_tensor *x);

/* Messages. */
struct strait_packet *strait_control(struct strait_rank *r, double word); /* no payload */
struct strait_packet *strait_keep(struct strait_packet *p);
void strait_drop(struct strait_rank *r, struct strait_packet *p);
void strait_send(struct strait_rank *r, int dst, int channel, int tag, struct strait_packet *taken);
/** The same; the task ends when the acknowledgement is back. */
struct strait_task *strait_send_acked(struct strait_rank *r, int dst, int channel, int tag,
                                      struct strait_packet *taken);
struct strait_message strait_recv(struct strait_rank *r, int src, int channel);
/** The last of those that are there already, the others dropped; waits for one if there is none. */
struct strait_message strait_recv_newest(struct strait_rank *r, int src, int channel);
bool strait_recv_by(struct strait_rank *r, struct strait_message *m, int src, int channel,
                    double deadline_s);
void strait_post(struct strait_rank *r, int channel, int word); /* to oneself: lane to lane, free */
int strait_pend(struct strait_rank *r, int channel);            /* and instant */
struct strait_rank *strait_spawn(struct strait_rank *r, void (*fn)(struct strait_rank *, void *),
                                 void *arg);
void strait_join(struct strait_rank *r, struct strait_rank *lane);

/** A tensor like x, in spare memory of x's whole that the next call uses again. */
struct strait_tensor *strait_spare(struct strait_rank *r, struct strait_tensor *x);

/* What every backend is given: set-up, the strategy, tear-down. */
void strait_rank_begin(struct strait_rank *r);
void strait_rank_main(struct strait_rank *r);
void strait_rank_end(struct strait_rank *r);
