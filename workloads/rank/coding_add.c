/* Sums of encoded packets. Real payload: the codec's own `add`, tensor by tensor. Sized: the size
 * of one summand, since how much a sum grows depends on how similar the summands are; the cost of
 * one encode and two decodes, which is what an addition consists of. Measured on normal values (AMD
 * EPYC, one core), an sz addition takes 1.00 to 1.04 times that at 1.6 to 7.8 bits a value, fp16
 * 1.25, bf16 0.86; randomk far less. Where streams are numbers that add (LINEAR): one addition of
 * as many bytes. */
#include <math.h>
#include <stdlib.h>

#include "core/buffer.h"
#include "coding.h"

struct adding {
    struct strait_task task; /* codec, slices, out */
    const struct strait_packet *a, *b;
    float *scratch;
};

static void add_now(void *arg)
{
    struct adding *d = arg;
    const struct strait_bundle bundle = strait_codec_bundle(d->task.codec, NAN);
    strait_bundle_add(&bundle, d->task.out, d->task.room_bytes, &d->task.len_bytes, d->task.slices,
                      d->task.n_slices, d->a->data, d->a->payload_bytes, d->b->data,
                      d->b->payload_bytes, d->scratch, &d->task.err);
}

struct strait_packet *strait_add_encoded(struct strait_rank *r, struct strait_codec *c,
                                         struct strait_tensor *x, struct strait_packet *a_taken,
                                         struct strait_packet *b_taken)
{
    struct strait_rank_state *w = strait_rank_state_of(r);
    struct adding d = {.task = {.codec = c, .tensor = x, .bound = NAN}, .a = a_taken, .b = b_taken};
    const struct strait_estimate e =
        strait_codec_estimate(r, c, (struct strait_within){NAN, NULL}, x, false);
    const bool is_linear = c->choice->spec.ops->flags & STRAIT_CODEC_LINEAR;
    const double cost_s = is_linear ? e.bytes / w->add_bytes_per_s : e.encode_s + 2 * e.decode_s;
    struct strait_job job = {.resource = STRAIT_CPU,
                             .cost_s = r->run->measured_cost ? NAN : cost_s,
                             .arg = &d,
                             .readings =
                                 strait_reading_of(w, STRAIT_READING_ADD_ENCODED, c, NAN, x)};
    struct strait_times times;
    if (a_taken->n_elems != strait_n_elems(x) || b_taken->n_elems != strait_n_elems(x))
        strait_rank_state_fail(r, STRAIT_ERR_BACKEND,
                               "a packet came that this rank did not expect");
    if (r->run->real_payload) {
        const struct strait_bundle bundle = strait_codec_bundle(c, NAN);
        strait_task_cut(r, &d.task, false);
        d.task.room_bytes = strait_bundle_max_bytes(&bundle, d.task.slices, d.task.n_slices);
        d.scratch = strait_buffer_new((2 * strait_n_elems(x) + 1) * sizeof(float));
        if (!d.scratch)
            strait_rank_state_fail(r, STRAIT_ERR_NOMEM, "an encoded sum does not fit in memory");
        job.fn = add_now;
    }
    struct strait_packet *sum = strait_codec_packet(r, c, &d.task.room_bytes);
    d.task.out = sum->data;
    r->backend->ops->wait(r, r->backend->ops->start(r, &job), &times);
    free(d.task.slices);
    strait_buffer_free(d.scratch);
    if (d.task.err.code != STRAIT_OK)
        r->backend->ops->fail(r, &d.task.err);
    sum->payload_bytes = r->run->real_payload ? d.task.len_bytes : (size_t)e.bytes;
    strait_rank_state_hold_in_room(w, (double)sum->payload_bytes);
    strait_footprint_touch(w, (2.0 * (double)strait_n_elems(x) + 1) * sizeof(float));
    strait_codec_label(sum, c, NAN, x);
    strait_rank_state_span(r, STRAIT_SPAN_AGGREGATE, &times, sum, -1, -1, -1);
    strait_drop(r, a_taken);
    strait_drop(r, b_taken);
    return sum;
}
