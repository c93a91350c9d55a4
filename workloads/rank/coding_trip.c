/* A codec's effect on a tensor, for policies that probe it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/buffer.h"
#include "coding.h"

struct trip {
    struct strait_task encode, decode;
    struct strait_packet packet;
    struct strait_error err; /* of both */
};

static void go_and_come(void *arg)
{
    struct trip *t = arg;
    strait_task_encode(&t->encode);
    t->packet.data = t->encode.out;
    t->packet.payload_bytes = t->encode.len_bytes;
    if (t->err.code == STRAIT_OK)
        strait_task_decode(&t->decode);
}

void strait_round_trip(struct strait_rank *r, struct strait_codec *c, double bound,
                       struct strait_tensor *y, struct strait_tensor *x)
{
    struct trip t = {.encode = {.codec = c, .tensor = x, .bound = bound, .err = &t.err},
                     .decode = {.codec = c, .tensor = y, .bound = bound, .err = &t.err}};
    const struct strait_within within = {.bound = bound};
    struct strait_job job = {.resource = STRAIT_CPU, .cost_s = NAN};
    if (!r->run->measured_cost) {
        const struct strait_estimate e = strait_codec_estimate(r, c, within, x, false);
        job.cost_s = e.encode_s + e.decode_s;
    }
    strait_tensor_touch(r, x);
    strait_tensor_touch(r, y);
    if (r->run->real_payload) {
        const struct strait_bundle bundle = strait_codec_bundle(c, bound);
        strait_task_cut(r, &t.encode, false);
        strait_task_cut(r, &t.decode, false);
        t.encode.room_bytes = strait_bundle_max_bytes(&bundle, t.encode.slices, t.encode.n_slices);
        t.encode.out = strait_buffer_new(t.encode.room_bytes);
        t.decode.packet = &t.packet;
        if (!t.encode.out)
            strait_rank_state_fail(r, STRAIT_ERR_NOMEM, "an encoded tensor does not fit in memory");
        job.fn = go_and_come;
        job.arg = &t;
    }
    strait_rank_state_work(r, STRAIT_SPAN_ENCODE, &job);
    free(t.encode.slices);
    free(t.decode.slices);
    strait_buffer_free(t.encode.out);
    if (t.err.code != STRAIT_OK)
        r->backend->ops->fail(r, &t.err);
    y->version++;
}
