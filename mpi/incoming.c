/* The half of the link that receives. */
#include "link_parts.h"

#include <stdlib.h>

/* NULL: memory ran out. */
static struct in *in_of(struct strait_mpi_link *l, int src, int channel)
{
    struct in **at = &l->ins[src * STRAIT_MAX_CHANNELS + channel];
    if (!*at && (*at = calloc(1, sizeof(**at)))) {
        **at = (struct in){.next = l->used_ins, .src = src, .channel = channel};
        (*at)->end = &(*at)->first;
        l->used_ins = *at;
    }
    return *at;
}

/* Make room for the payload that the letter announces. */
static int prepare(struct strait_mpi_link *l, struct arriving *a, struct strait_error *err)
{
    const uint64_t noise_bytes = a->letter.envelope.noise_bytes;
    if (strait_proc_wire_unpack(&a->packet, &a->tag, a->letter.frame, noise_bytes, noise_bytes == 0,
                                err) != 0)
        return -1;
    const size_t n = a->packet->payload_bytes;
    if (n > 0 && !a->packet->data && !(a->noise = malloc(n)))
        return strait_error_set(err, STRAIT_ERR_NOMEM, NULL,
                                "a payload of %zu bytes does not fit in memory", n);
    l->figures.bytes_received += sizeof(a->letter) + n;
    return 0;
}

/* Ask for as much of the payload as may be under way. */
static int ask(struct strait_mpi_link *l, const struct in *in, struct arriving *a,
               struct strait_error *err)
{
    const size_t n = a->packet->payload_bytes;
    unsigned char *to = a->noise ? a->noise : a->packet->data;
    struct strait_mpi_request *request;
    while (a->n_asked < n && (request = strait_mpi_parts_push(&a->parts)) != NULL) {
        const size_t left = n - a->n_asked;
        const size_t part = a->letter.envelope.part_bytes;
        const size_t n_part = left < part ? left : part;
        if (l->world->calls->irecv(l->world->mpi, request, STRAIT_MPI_PAYLOADS, to + a->n_asked,
                                   n_part, in->src, in->channel) != 0)
            return strait_mpi_broken(err);
        a->n_asked += n_part;
    }
    return 0;
}

static int take_message(struct strait_mpi_link *l, int src, int channel, size_t n_bytes,
                        struct strait_error *err)
{
    struct in *in = in_of(l, src, channel);
    struct arriving *a = in ? calloc(1, sizeof(*a)) : NULL;
    if (!a)
        return strait_error_set(err, STRAIT_ERR_NOMEM, NULL, "memory ran out for a message");
    *in->end = a;
    in->end = &a->next;
    if (n_bytes != sizeof(a->letter))
        return strait_error_set(err, STRAIT_ERR_BACKEND, NULL,
                                "rank %d sent a frame of %zu bytes, expected %zu", src, n_bytes,
                                sizeof(a->letter));
    if (l->world->calls->take(l->world->mpi, &a->letter, n_bytes, src, channel) != 0)
        return strait_mpi_broken(err);
    return prepare(l, a, err);
}

static int take_ack(struct strait_mpi_link *l, int src, int channel, struct strait_error *err)
{
    struct out *o = l->outs[src * STRAIT_MAX_CHANNELS + channel];
    struct sending *a = o ? o->acks : NULL;
    if (l->world->calls->take(l->world->mpi, NULL, 0, src, TAG_ACK + channel) != 0)
        return strait_mpi_broken(err);
    if (!a)
        return strait_error_set(err, STRAIT_ERR_BACKEND, NULL,
                                "rank %d acknowledges what was not sent", src);
    o->acks = a->next;
    if (!o->acks)
        o->acks_end = &o->acks;
    strait_proc_rank_acknowledged(l->rank, a->ticket, strait_proc_mono_ns());
    free(a);
    return 0;
}

static int take_note(struct strait_mpi_link *l, int src, size_t n_bytes, struct strait_error *err)
{
    struct strait_mpi_note note;
    if (n_bytes != sizeof(note))
        return strait_error_set(err, STRAIT_ERR_BACKEND, NULL,
                                "rank %d sent a note of %zu bytes, expected %zu", src, n_bytes,
                                sizeof(note));
    if (l->world->calls->take(l->world->mpi, &note, n_bytes, src, STRAIT_MPI_TAG_NOTE) != 0)
        return strait_mpi_broken(err);
    note.from = src;
    l->note(l->of, &note);
    return 0;
}

int strait_mpi_take_letters(struct strait_mpi_link *l, bool *moved, struct strait_error *err)
{
    for (;;) {
        int src = -1, tag = -1;
        size_t n_bytes;
        const int found = l->world->calls->probe(l->world->mpi, &src, &tag, &n_bytes);
        if (found < 0)
            return strait_mpi_broken(err);
        if (!found || tag == STRAIT_MPI_TAG_TALK) /* of what comes after the run */
            return 0;
        *moved = true;
        const int failed = tag == STRAIT_MPI_TAG_NOTE ? take_note(l, src, n_bytes, err)
                           : tag >= TAG_ACK           ? take_ack(l, src, tag - TAG_ACK, err)
                                                      : take_message(l, src, tag, n_bytes, err);
        if (failed)
            return -1;
    }
}

static int deliver(struct strait_mpi_link *l, struct in *in, struct arriving *a,
                   struct strait_error *err)
{
    struct strait_proc_rank *rank = l->rank;
    struct strait_message m = {.packet = a->packet,
                               .src = in->src,
                               .tag = a->tag,
                               .posted_s = a->letter.envelope.posted_s,
                               .seq = in->n_delivered++};
    if (a->packet->data && strait_proc_wire_verify(a->letter.frame, a->packet, err) != 0)
        return -1;
    m.arrived_s = strait_proc_clock_virtual_s(&rank->clock, strait_proc_mono_ns());
    pthread_mutex_lock(&rank->lock);
    strait_proc_rank_put(rank, &m, in->channel);
    pthread_mutex_unlock(&rank->lock);
    if (a->letter.envelope.acked) {
        struct sending *s = strait_mpi_sending_new(err);
        if (!s)
            return -1;
        strait_mpi_sending_activate(l, s);
        if (strait_mpi_sending_letter(l, s, NULL, 0, in->src, TAG_ACK + in->channel, err) != 0)
            return -1;
    }
    atomic_fetch_add(&rank->state->n_landed, 1);
    return 0;
}

/* Is the stream's first message here? 1, 0, or -1 with *err. Parts are asked for in their order:
 * the next message's when all of this one's are. */
static int has_come(struct strait_mpi_link *l, const struct in *in, bool *moved,
                    struct strait_error *err)
{
    const size_t n = in->first->packet->payload_bytes;
    int done = 1;
    for (struct arriving *a = in->first; a; a = a->next) {
        const unsigned n_under_way = a->parts.n;
        const int all = strait_mpi_parts_test(l, &a->parts);
        if (all < 0)
            return strait_mpi_broken(err);
        *moved = *moved || a->parts.n < n_under_way;
        if (ask(l, in, a, err) != 0)
            return -1;
        if (a == in->first)
            done = a->parts.n == 0 && a->n_asked == n;
        if (a->n_asked < a->packet->payload_bytes)
            break;
    }
    return done;
}

int strait_mpi_finish_received(struct strait_mpi_link *l, bool *moved, struct strait_error *err)
{
    for (struct in *in = l->used_ins; in; in = in->next)
        for (struct arriving *a; (a = in->first) != NULL;) {
            const int done = has_come(l, in, moved, err);
            if (done < 0)
                return -1;
            if (!done)
                break; /* those behind it wait for it */
            if (deliver(l, in, a, err) != 0)
                return -1;
            *moved = true;
            in->first = a->next;
            if (!in->first)
                in->end = &in->first;
            free(a->noise);
            free(a);
        }
    return 0;
}
