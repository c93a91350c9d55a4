#include "link.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Beside the frame, in the same letter. */
struct envelope {
    double posted_s;
    uint64_t noise_bytes; /* of a sized payload, which the frame does not announce */
    uint64_t acked;
};

struct letter {
    unsigned char frame[STRAIT_PROC_FRAME_BYTES];
    struct envelope envelope;
};

enum { TAG_ACK = STRAIT_MAX_CHANNELS }; /* and the channel; empty */
_Static_assert(2 * STRAIT_MAX_CHANNELS <= (int)STRAIT_MPI_TAG_TALK, "tags are told apart");

struct sending { /* a message, an acknowledgement or a note */
    struct sending *next;
    struct strait_packet *packet; /* NULL: an acknowledgement or a note */
    struct out *stream;
    void *ticket;
    int tag; /* of the message */
    double posted_s;
    struct strait_mpi_request requests[1 + STRAIT_MPI_MAX_PIECES];
    unsigned n_requests;
    union {
        struct letter letter;
        struct strait_mpi_note note;
    };
};

struct out { /* a stream from this rank */
    struct out *next;
    int dst, channel;
    struct sending *first, **end;     /* not begun */
    struct sending *acks, **acks_end; /* tickets of what was begun, in order */
    unsigned n_begun;
};

struct arriving {
    struct arriving *next;
    struct strait_packet *packet;
    unsigned char *noise; /* of a sized payload: where it goes */
    struct letter letter;
    int tag;
    struct strait_mpi_request requests[STRAIT_MPI_MAX_PIECES];
    unsigned n_requests;
};

struct in { /* a stream to this rank */
    struct in *next;
    int src, channel;
    struct arriving *first, **end;
    uint64_t n_delivered;
};

struct strait_mpi_link {
    struct strait_mpi_world *world;
    struct strait_proc_rank *rank;
    void (*note)(void *of, const struct strait_mpi_note *note);
    void *of;
    pthread_mutex_t lock; /* protects posted */
    struct sending *posted, **posted_end;
    struct sending *active; /* begun */
    struct out **outs;      /* by dst and channel; NULL: not used yet */
    struct in **ins;
    struct out *used_outs;
    struct in *used_ins;
    unsigned char *noise; /* zeros, as long as any payload; takes no memory */
    struct strait_mpi_figures figures;
};

int strait_mpi_link_new(struct strait_mpi_link **out, struct strait_mpi_world *world,
                        struct strait_proc_rank *rank,
                        void (*note)(void *of, const struct strait_mpi_note *note), void *of,
                        struct strait_error *err)
{
    const size_t n_streams = (size_t)rank->run->n_ranks * STRAIT_MAX_CHANNELS;
    struct strait_mpi_link *l = calloc(1, sizeof(*l));
    *out = l;
    if (!l)
        return strait_error_set(err, STRAIT_ERR_NOMEM, NULL, "memory ran out");
    l->world = world;
    l->rank = rank;
    l->note = note;
    l->of = of;
    l->posted_end = &l->posted;
    pthread_mutex_init(&l->lock, NULL);
    l->outs = calloc(n_streams, sizeof(struct out *));
    l->ins = calloc(n_streams, sizeof(struct in *));
    l->noise = mmap(NULL, STRAIT_PROC_MAX_PAYLOAD_BYTES, PROT_READ,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (l->noise == MAP_FAILED)
        l->noise = NULL;
    return l->outs && l->ins && l->noise
               ? 0
               : strait_error_set(err, STRAIT_ERR_NOMEM, NULL, "memory ran out for %zu streams",
                                  n_streams);
}

/* --- sending ------------------------------------------------------------------------------ */

static struct sending *new_sending(struct strait_error *err)
{
    struct sending *s = calloc(1, sizeof(*s));
    if (!s)
        strait_error_set(err, STRAIT_ERR_NOMEM, NULL, "memory ran out for a message");
    return s;
}

static struct out *out_of(struct strait_mpi_link *l, int dst, int channel, struct strait_error *err)
{
    struct out **at = &l->outs[dst * STRAIT_MAX_CHANNELS + channel];
    if (!*at && (*at = calloc(1, sizeof(**at)))) {
        **at = (struct out){.next = l->used_outs, .dst = dst, .channel = channel};
        (*at)->end = &(*at)->first;
        (*at)->acks_end = &(*at)->acks;
        l->used_outs = *at;
    }
    if (!*at)
        strait_error_set(err, STRAIT_ERR_NOMEM, NULL, "memory ran out for a stream");
    return *at;
}

int strait_mpi_link_post(struct strait_mpi_link *l, int dst, int channel, int tag,
                         struct strait_packet *packet, double posted_s, void *ticket,
                         struct strait_error *err)
{
    struct sending *s = new_sending(err);
    if (!s)
        return -1;
    s->packet = packet;
    s->tag = tag;
    s->posted_s = posted_s;
    s->ticket = ticket;
    pthread_mutex_lock(&l->lock);
    s->stream = out_of(l, dst, channel, err);
    if (s->stream) {
        *l->posted_end = s;
        l->posted_end = &s->next;
    }
    pthread_mutex_unlock(&l->lock);
    if (s->stream)
        return 0;
    free(s);
    return -1;
}

static int send_part(struct strait_mpi_link *l, struct sending *s, enum strait_mpi_way way,
                     const void *data, size_t n_bytes, int dst, int tag, struct strait_error *err)
{
    const struct strait_mpi_calls *calls = l->world->calls;
    if (calls->isend(l->world->mpi, &s->requests[s->n_requests], way, data, n_bytes, dst, tag) != 0)
        return strait_mpi_broken(err);
    s->n_requests++;
    return 0;
}

static void activate(struct strait_mpi_link *l, struct sending *s)
{
    s->next = l->active;
    l->active = s;
}

int strait_mpi_link_note(struct strait_mpi_link *l, int dst, const struct strait_mpi_note *note,
                         struct strait_error *err)
{
    struct sending *s = new_sending(err);
    if (!s)
        return -1;
    s->note = *note;
    activate(l, s);
    return send_part(l, s, STRAIT_MPI_LETTERS, &s->note, sizeof(s->note), dst, STRAIT_MPI_TAG_NOTE,
                     err);
}

static int begin(struct strait_mpi_link *l, struct out *o, struct strait_error *err)
{
    struct sending *s = o->first;
    const struct strait_packet *p = s->packet;
    const size_t n = p->payload_bytes;
    const unsigned char *data = p->data ? p->data : l->noise;
    if (n > STRAIT_PROC_MAX_PAYLOAD_BYTES)
        return strait_error_set(err, STRAIT_ERR_BACKEND, NULL,
                                "expected a payload of at most %llu bytes, found %zu",
                                (unsigned long long)STRAIT_PROC_MAX_PAYLOAD_BYTES, n);
    o->first = s->next;
    if (!o->first)
        o->end = &o->first;
    strait_proc_wire_pack(s->letter.frame, p, s->tag);
    s->letter.envelope = (struct envelope){s->posted_s, p->data ? 0 : n, s->ticket != NULL};
    l->figures.bytes_sent += sizeof(s->letter) + n;
    l->figures.sent_checksum += strait_proc_wire_checksum(s->letter.frame);
    o->n_begun++;
    activate(l, s);
    if (s->ticket) { /* outlives s */
        struct sending *a = new_sending(err);
        if (!a)
            return -1;
        a->ticket = s->ticket;
        *o->acks_end = a;
        o->acks_end = &a->next;
    }
    int failed =
        send_part(l, s, STRAIT_MPI_LETTERS, &s->letter, sizeof(s->letter), o->dst, o->channel, err);
    for (size_t at = 0; at < n && !failed; at += STRAIT_MPI_PIECE_BYTES)
        failed = send_part(l, s, STRAIT_MPI_PAYLOADS, data + at,
                           n - at < STRAIT_MPI_PIECE_BYTES ? n - at : STRAIT_MPI_PIECE_BYTES,
                           o->dst, o->channel, err);
    return failed;
}

/* Sort what lanes have posted into its streams. */
static bool collect(struct strait_mpi_link *l)
{
    pthread_mutex_lock(&l->lock);
    struct sending *s = l->posted;
    l->posted = NULL;
    l->posted_end = &l->posted;
    pthread_mutex_unlock(&l->lock);
    const bool any = s != NULL;
    while (s) {
        struct sending *next = s->next;
        s->next = NULL;
        *s->stream->end = s;
        s->stream->end = &s->next;
        s = next;
    }
    return any;
}

/* Test the last n requests of a list. 1: all are complete; 0: not yet; -1: an error. */
static int test_all(struct strait_mpi_link *l, struct strait_mpi_request *requests, unsigned *n)
{
    while (*n > 0) {
        const int done = l->world->calls->test(l->world->mpi, &requests[*n - 1]);
        if (done != 1)
            return done;
        (*n)--;
    }
    return 1;
}

static int finish_sent(struct strait_mpi_link *l, bool *moved, struct strait_error *err)
{
    for (struct sending **at = &l->active, *s; (s = *at) != NULL;) {
        const int done = test_all(l, s->requests, &s->n_requests);
        if (done < 0)
            return strait_mpi_broken(err);
        if (!done) {
            at = &s->next;
            continue;
        }
        *at = s->next;
        *moved = true;
        if (s->packet) {
            s->stream->n_begun--;
            strait_packet_landed(s->packet);
            strait_packet_drop(s->packet);
        }
        free(s);
    }
    return 0;
}

/* --- receiving ---------------------------------------------------------------------------- */

static struct in *in_of(struct strait_mpi_link *l, int src, int channel, struct strait_error *err)
{
    struct in **at = &l->ins[src * STRAIT_MAX_CHANNELS + channel];
    if (!*at && (*at = calloc(1, sizeof(**at)))) {
        **at = (struct in){.next = l->used_ins, .src = src, .channel = channel};
        (*at)->end = &(*at)->first;
        l->used_ins = *at;
    }
    if (!*at)
        strait_error_set(err, STRAIT_ERR_NOMEM, NULL, "memory ran out for a stream");
    return *at;
}

/* Ask for the payload that the letter announces. */
static int receive(struct strait_mpi_link *l, struct in *in, struct arriving *a,
                   struct strait_error *err)
{
    const uint64_t noise_bytes = a->letter.envelope.noise_bytes;
    if (strait_proc_wire_unpack(&a->packet, &a->tag, a->letter.frame, noise_bytes, noise_bytes == 0,
                                err) != 0)
        return -1;
    const size_t n = a->packet->payload_bytes;
    unsigned char *to = a->packet->data;
    if (n > 0 && !to && !(to = a->noise = malloc(n)))
        return strait_error_set(err, STRAIT_ERR_NOMEM, NULL,
                                "a payload of %zu bytes does not fit in memory", n);
    l->figures.bytes_received += sizeof(a->letter) + n;
    for (size_t at = 0; at < n; at += STRAIT_MPI_PIECE_BYTES) {
        if (l->world->calls->irecv(
                l->world->mpi, &a->requests[a->n_requests], STRAIT_MPI_PAYLOADS, to + at,
                n - at < STRAIT_MPI_PIECE_BYTES ? n - at : STRAIT_MPI_PIECE_BYTES, in->src,
                in->channel) != 0)
            return strait_mpi_broken(err);
        a->n_requests++;
    }
    return 0;
}

static int take_message(struct strait_mpi_link *l, int src, int channel, size_t n_bytes,
                        struct strait_error *err)
{
    struct in *in = in_of(l, src, channel, err);
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
    return receive(l, in, a, err);
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

static int take_letters(struct strait_mpi_link *l, bool *moved, struct strait_error *err)
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
        struct sending *s = new_sending(err);
        if (!s)
            return -1;
        activate(l, s);
        if (send_part(l, s, STRAIT_MPI_LETTERS, NULL, 0, in->src, TAG_ACK + in->channel, err) != 0)
            return -1;
    }
    atomic_fetch_add(&rank->state->n_landed, 1);
    return 0;
}

static int finish_received(struct strait_mpi_link *l, bool *moved, struct strait_error *err)
{
    for (struct in *in = l->used_ins; in; in = in->next)
        for (struct arriving *a; (a = in->first) != NULL;) {
            const int done = test_all(l, a->requests, &a->n_requests);
            if (done < 0)
                return strait_mpi_broken(err);
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

int strait_mpi_link_turn(struct strait_mpi_link *l, bool *moved, struct strait_error *err)
{
    *moved = collect(l);
    pthread_mutex_lock(&l->lock); /* lanes may add streams, at the front */
    struct out *outs = l->used_outs;
    pthread_mutex_unlock(&l->lock);
    for (struct out *o = outs; o; o = o->next)
        while (o->first && o->n_begun < STRAIT_MPI_N_BEGUN)
            if (begin(l, o, err) != 0)
                return -1;
    return finish_sent(l, moved, err) != 0 || take_letters(l, moved, err) != 0 ||
                   finish_received(l, moved, err) != 0
               ? -1
               : 0;
}

bool strait_mpi_link_is_calm(struct strait_mpi_link *l)
{
    pthread_mutex_lock(&l->lock);
    bool calm = !l->posted && !l->active;
    for (const struct out *o = l->used_outs; o && calm; o = o->next)
        calm = !o->first;
    pthread_mutex_unlock(&l->lock);
    for (const struct in *in = l->used_ins; in && calm; in = in->next)
        calm = !in->first;
    return calm;
}

struct strait_mpi_figures strait_mpi_link_figures(const struct strait_mpi_link *l)
{
    return l->figures;
}

void strait_mpi_link_free(struct strait_mpi_link *l)
{
    if (!l)
        return;
    for (struct out *o = l->used_outs, *next; o; o = next) {
        next = o->next;
        for (struct sending *a = o->acks, *after; a; a = after) { /* the run ended before them */
            after = a->next;
            free(a);
        }
        free(o);
    }
    for (struct in *in = l->used_ins, *next; in; in = next) {
        next = in->next;
        free(in);
    }
    free(l->outs);
    free(l->ins);
    if (l->noise)
        munmap(l->noise, STRAIT_PROC_MAX_PAYLOAD_BYTES);
    pthread_mutex_destroy(&l->lock);
    free(l);
}
