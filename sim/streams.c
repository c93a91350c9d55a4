/* Streams and inboxes: posting, the next message to send, and arrival. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "engine.h"
#include "core/heap.h"
#include "core/random.h"

static void push(struct strait_queue *q, struct strait_parcel *parcel)
{
    parcel->next = NULL;
    if (q->first)
        q->last->next = parcel;
    else
        q->first = parcel;
    q->last = parcel;
}

static struct strait_parcel *pop(struct strait_queue *q)
{
    struct strait_parcel *parcel = q->first;
    q->first = parcel->next;
    return parcel;
}

struct strait_parcel *strait_parcel_new(struct strait_engine *m)
{
    struct strait_parcel *parcel = m->spare_parcels;
    if (!parcel)
        return strait_child_alloc(m->child, 1, sizeof(*parcel));
    m->spare_parcels = parcel->next;
    *parcel = (struct strait_parcel){0};
    return parcel;
}

void strait_parcel_free(struct strait_engine *m, struct strait_parcel *parcel)
{
    parcel->next = m->spare_parcels;
    m->spare_parcels = parcel;
}

static size_t place_of(const struct strait_engine *m, int src, int dst, int channel)
{
    uint64_t key = ((uint64_t)(uint32_t)src << 32) ^ ((uint64_t)(uint32_t)dst << 8) ^
                   (uint64_t)(uint32_t)channel;
    key = (key ^ (key >> 31)) * 0x9e3779b97f4a7c15u; /* 2^64 / golden ratio spreads the ranks */
    return (size_t)(key ^ (key >> 29)) & (m->cap_streams - 1);
}

/* The hash slot of the stream, or the free slot where it belongs. */
static struct strait_stream **slot_of(const struct strait_engine *m, int src, int dst, int channel)
{
    for (size_t i = place_of(m, src, dst, channel);; i = (i + 1) & (m->cap_streams - 1)) {
        struct strait_stream *s = m->streams[i];
        if (!s || (s->src == src && s->dst == dst && s->channel == channel))
            return &m->streams[i];
    }
}

static void grow(struct strait_engine *m)
{
    struct strait_stream **old = m->streams;
    const size_t n_old = m->cap_streams, cap = n_old > 0 ? 2 * n_old : 64;
    struct strait_stream **streams = calloc(cap, sizeof(struct strait_stream *));
    if (!streams)
        strait_child_no_memory(m->child);
    m->streams = streams;
    m->cap_streams = cap;
    for (size_t i = 0; i < n_old; i++)
        if (old[i])
            *slot_of(m, old[i]->src, old[i]->dst, old[i]->channel) = old[i];
    free(old);
}

/* How many streams of the pair are on lower channels. */
static unsigned n_before(const struct strait_run *run, int src, int dst, int channel)
{
    unsigned n = 0;
    for (int c = 0; c < channel; c++)
        n += !run->uses_stream || run->uses_stream(run, src, dst, c);
    return n;
}

static struct strait_stream *find(struct strait_engine *m, int src, int dst, int channel);

/* Its own, or that of the channel whose connections carry this one. */
static struct strait_pipe *pipe_of(struct strait_engine *m, int src, int dst, int channel)
{
    const struct strait_run *run = m->run;
    const int carrier = run->carrier ? run->carrier(run, channel) : channel;
    struct strait_pipe *pipe =
        carrier != channel
            ? find(m, src, dst, carrier)->pipe
            : strait_packets_open(m->packets, src, dst, channel, n_before(run, src, dst, channel));
    if (!pipe)
        strait_child_no_memory(m->child);
    return pipe;
}

static void init_stream(struct strait_stream *s, struct strait_engine *m, int src, int dst,
                        int channel)
{
    const struct strait_network *net = m->run->network;
    s->machine = m;
    s->src = src;
    s->dst = dst;
    s->channel = channel;
    s->delay_s = strait_path_delay_s(net, src, dst);
    const double rtt_s = strait_path_rtt_s(net, src, dst);
    const double bytes_per_s = strait_path_goodput_bytes_per_s(net, src, dst);
    strait_window_init(&s->window, rtt_s, bytes_per_s, &net->tcp, m->ramp);
    if (m->packets && src != dst && channel < STRAIT_MAX_CHANNELS)
        s->pipe = pipe_of(m, src, dst, channel);
}

static struct strait_stream *find(struct strait_engine *m, int src, int dst, int channel)
{
    if (2 * m->n_streams >= m->cap_streams)
        grow(m);
    struct strait_stream **slot = slot_of(m, src, dst, channel);
    if (!*slot) {
        struct strait_stream *s = *slot = strait_child_alloc(m->child, 1, sizeof(*s));
        m->n_streams++;
        init_stream(s, m, src, dst, channel); /* may find its carrier, and grow the table */
        return s;
    }
    return *slot;
}

static bool is_to(const struct strait_stream *s, int dst, int channel)
{
    return s && s->dst == dst && s->channel == channel;
}

/* A rank sends on one stream again and again, or on all of its streams in the same order. */
struct strait_stream *strait_stream_find(struct strait_engine *m, int src, int dst, int channel)
{
    struct strait_stream *last = m->nodes[src].last;
    if (is_to(last, dst, channel))
        return last;
    if (last && !is_to(last->then, dst, channel))
        last->then = find(m, src, dst, channel);
    return m->nodes[src].last = last ? last->then : find(m, src, dst, channel);
}

struct strait_inbox *strait_inbox_of(struct strait_engine *m, int dst, int channel)
{
    struct strait_inbox **inbox = &m->nodes[dst].inboxes;
    while (*inbox && (*inbox)->channel != channel)
        inbox = &(*inbox)->next;
    if (!*inbox) {
        *inbox = strait_child_alloc(m->child, 1, sizeof(**inbox));
        (*inbox)->channel = channel;
    }
    return *inbox;
}

static struct strait_stream *of_node(struct strait_heap_node *node)
{
    return node ? (struct strait_stream *)((char *)node - offsetof(struct strait_stream, node))
                : NULL;
}

struct strait_stream *strait_inbox_first(struct strait_engine *m, struct strait_inbox *inbox,
                                         int dst, int src)
{
    if (src == STRAIT_ANY)
        return of_node(strait_heap_first(&inbox->streams));
    if (!inbox->last || inbox->last->src != src)
        inbox->last = find(m, src, dst, inbox->channel);
    struct strait_stream *s = inbox->last;
    return s->there.first ? s : NULL;
}

/* From here on the receiver owns the message's packet, unless the receiver has ended. */
static void deliver(struct strait_stream *s, struct strait_parcel *parcel, double arrived_s,
                    double now_s)
{
    struct strait_engine *m = s->machine;
    parcel->arrived_s = arrived_s;
    if (parcel->ack)
        strait_op_acked(parcel->ack,
                        arrived_s + strait_path_delay_s(m->run->network, s->dst, s->src), now_s);
    if (m->nodes[s->dst].n_running == 0) {
        strait_packet_landed(parcel->packet);
        strait_packet_drop(parcel->packet);
        strait_parcel_free(m, parcel);
        return;
    }
    if (!s->inbox)
        s->inbox = strait_inbox_of(m, s->dst, s->channel);
    struct strait_inbox *inbox = s->inbox;
    const bool was_empty = !s->there.first;
    push(&s->there, parcel);
    if (!was_empty)
        return;
    s->node.key = arrived_s;
    s->node.tie = s->src;
    if (strait_heap_push(&inbox->streams, &s->node) != 0)
        strait_child_no_memory(m->child);
    /* The reader sleeps until the first arrived message is due: wake it only if this one comes
     * before. */
    if (!inbox->reader ||
        !(inbox->wanted == s->src ||
          (inbox->wanted == STRAIT_ANY && strait_heap_first(&inbox->streams) == &s->node)))
        return;
    if (inbox->reader->is_idle)
        strait_lane_serve_at(inbox->reader, arrived_s);
    else
        strait_lane_wake(inbox->reader, now_s);
}

struct strait_parcel *strait_stream_take(struct strait_stream *s)
{
    struct strait_inbox *inbox = s->inbox;
    struct strait_parcel *parcel = pop(&s->there);
    if (s->there.first)
        strait_heap_rekey(&inbox->streams, &s->node, s->there.first->arrived_s);
    else
        strait_heap_remove(&inbox->streams, &s->node);
    return parcel;
}

static double size_of(const struct strait_stream *s, const struct strait_parcel *parcel)
{
    return (double)parcel->packet->payload_bytes + s->machine->frame_bytes;
}

/* Packets take about so many times less than messages. */
enum { PACKETS_A_MESSAGE = 32 };

static void fail_beyond(const struct strait_engine *m, const char *what, uint64_t limit)
{
    struct strait_error err = {0};
    strait_error_set(&err, STRAIT_ERR_HOST, NULL,
                     "expected at most %llu %s of %d ranks, found more", (unsigned long long)limit,
                     what, m->run->n_ranks);
    strait_child_fail(m->child, &err);
}

/* A message that goes out as packets counts as its packets do. */
static void count_posted(struct strait_engine *m, const struct strait_stream *s, double bytes)
{
    const uint64_t limit = m->run->limit_messages;
    m->n_messages++;
    if (s->pipe)
        m->n_packets += bytes / m->run->network->tcp.segment_bytes;
    if (limit == 0)
        return;
    if (m->n_messages > limit)
        fail_beyond(m, "messages", limit);
    if (m->n_packets > PACKETS_A_MESSAGE * (double)limit)
        fail_beyond(m, "packets", PACKETS_A_MESSAGE * limit);
}

void strait_stream_post(struct strait_stream *s, struct strait_parcel *parcel, double now_s)
{
    struct strait_engine *m = s->machine;
    m->n_used_streams += s->n_sent == 0;
    parcel->seq = s->n_sent++;
    parcel->posted_s = now_s;
    count_posted(m, s, size_of(s, parcel));
    if (s->src == s->dst) {
        deliver(s, parcel, now_s, now_s);
        return;
    }
    m->nodes[s->src].n_under_way++;
    if (!s->posted.first)
        s->left_bytes = size_of(s, parcel);
    push(&s->posted, parcel);
    if (s->pipe && strait_pipe_post(s->pipe, s, now_s, size_of(s, parcel)) != 0)
        strait_child_no_memory(m->child);
    if (s->busy)
        return;
    s->busy = true;
    m->n_active++;
    if (!s->pipe)
        m->kernel->kick(m->world, s);
}

struct strait_action strait_stream_next(struct strait_stream *s, double now_s)
{
    struct strait_engine *m = s->machine;
    assert(s->busy);
    if (!s->posted.first) {
        s->busy = false;
        strait_engine_rest(m);
        return (struct strait_action){.kind = STRAIT_IDLE};
    }
    const double next_s = strait_window_next(&s->window, now_s, s->left_bytes, &s->flow_bytes);
    if (s->flow_bytes <= 0)
        return (struct strait_action){.kind = STRAIT_SLEEP, .until_s = next_s};
    s->flow_start_s = now_s;
    m->n_flows++;
    return (struct strait_action){.kind = STRAIT_FLOW, .bytes = s->flow_bytes};
}

/* The oldest message has left, and it is known when it arrives. */
static void complete(struct strait_stream *s, double now_s)
{
    struct strait_parcel *parcel = pop(&s->posted);
    if (s->posted.first)
        s->left_bytes = size_of(s, s->posted.first);
    struct strait_node *sender = &s->machine->nodes[s->src];
    sender->drained_s = strait_most(sender->drained_s, s->arrived_s);
    sender->n_under_way--;
    deliver(s, parcel, s->arrived_s, now_s);
    if (sender->n_under_way == 0 && sender->drainer)
        strait_lane_wake(sender->drainer, now_s);
}

void strait_stream_flow_ended(struct strait_stream *s, double now_s)
{
    strait_window_sent(&s->window, s->flow_start_s, now_s, s->flow_bytes);
    s->left_bytes -= s->flow_bytes;
    if (s->left_bytes > 0)
        return;
    s->arrived_s = strait_most(s->arrived_s, strait_window_left_s(&s->window, now_s) + s->delay_s);
    complete(s, now_s);
}

void strait_stream_arrived(struct strait_stream *s, double now_s)
{
    s->arrived_s = now_s;
    complete(s, now_s);
    if (s->posted.first)
        return;
    s->busy = false;
    strait_engine_rest(s->machine);
}
