#include "relay_flows.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include "codecs/frame.h"

/* A full segment's payload, with TCP's time stamps. */
enum { SEGMENT_BYTES = STRAIT_EMU_MTU_BYTES - 20 - 32, FIRST_SLOTS = 64, FIRST_COUNTS = 256 };
/* How a message's frame begins (codecs/frame.h): magic and version. Other bytes look so once in
 * 2^40; a draw more or less shared is all that follows. */
static const unsigned char FRAME_HEAD[] = {'S', 'T', 'R', 'T', STRAIT_FRAME_VERSION};
enum { HEAD_BYTES = sizeof(FRAME_HEAD) };

struct begun { /* a message: where it begins, and segments before it */
    int64_t from;
    size_t n_before;
};

struct half { /* of a connection: one direction's data */
    bool has_begun;
    uint32_t seq; /* the end of what was seen so far, and its distance from the stream's begin */
    int64_t end;
    unsigned char tail[HEAD_BYTES - 1]; /* the last bytes before it */
    struct begun *messages;
    size_t n_messages, cap_messages;
    uint16_t *n_sent; /* of each segment of all messages */
    size_t cap_sent;
    struct strait_ack_count acks; /* that acknowledge it */
};

struct ends {
    int src, dst; /* who opened it, and to whom */
    uint16_t from, to;
    bool is_tcp;
};

struct strait_emu_flow {
    bool used;
    struct ends ends;
    unsigned ordinal;
    uint32_t first_seq; /* of the SYN */
    uint64_t key;
    struct half halves[2]; /* of src, of dst */
    struct strait_ack_count others;
};

struct tcp_packet {
    uint32_t seq, ack;
    uint16_t from, to;
    const unsigned char *payload;
    unsigned payload_bytes;
    bool is_tcp, opens; /* a SYN without ACK */
};

static void release(struct strait_emu_flow *f)
{
    for (int i = 0; i < 2; i++) {
        free(f->halves[i].messages);
        free(f->halves[i].n_sent);
    }
}

void strait_emu_flows_release(struct strait_emu_flows *flows)
{
    for (size_t i = 0; i < flows->cap; i++)
        release(&flows->slots[i]);
    free(flows->slots);
    *flows = (struct strait_emu_flows){0};
}

static bool same(const struct ends *a, const struct ends *b)
{
    return a->src == b->src && a->dst == b->dst && a->from == b->from && a->to == b->to &&
           a->is_tcp == b->is_tcp;
}

static struct strait_emu_flow *slot_of(const struct strait_emu_flows *flows, const struct ends *e)
{
    uint64_t key = ((uint64_t)(uint32_t)e->src << 48) ^ ((uint64_t)(uint32_t)e->dst << 32) ^
                   ((uint64_t)e->from << 16) ^ e->to;
    key = (key ^ (key >> 31)) * 0x9e3779b97f4a7c15u; /* 2^64 / golden ratio */
    for (size_t i = (size_t)(key ^ (key >> 29));; i++) {
        struct strait_emu_flow *f = &flows->slots[i & (flows->cap - 1)];
        if (!f->used || same(&f->ends, e))
            return f;
    }
}

static bool make_room(struct strait_emu_flows *flows)
{
    if (2 * (flows->n + 1) <= flows->cap)
        return true;
    struct strait_emu_flows more = {.cap = flows->cap > 0 ? 2 * flows->cap : FIRST_SLOTS};
    more.slots = calloc(more.cap, sizeof(*more.slots));
    if (!more.slots)
        return false;
    for (size_t i = 0; i < flows->cap; i++)
        if (flows->slots[i].used)
            *slot_of(&more, &flows->slots[i].ends) = flows->slots[i];
    free(flows->slots);
    flows->slots = more.slots;
    flows->cap = more.cap;
    return true;
}

/* How many connections were opened by the same node to the same other one. */
static unsigned ordinal_of(const struct strait_emu_flows *flows, const struct ends *e)
{
    unsigned n = 0;
    for (size_t i = 0; i < flows->cap; i++) {
        const struct strait_emu_flow *f = &flows->slots[i];
        if (f->used && f->ends.is_tcp == e->is_tcp && f->ends.src == e->src &&
            f->ends.dst == e->dst && f->ordinal >= n)
            n = f->ordinal + 1;
    }
    return n;
}

static void begin(struct strait_emu_flows *flows, struct strait_emu_flow *f, const struct ends *e,
                  uint32_t first_seq)
{
    const unsigned ordinal = ordinal_of(flows, e);
    flows->n += !f->used;
    release(f);
    *f = (struct strait_emu_flow){
        .used = true,
        .ends = *e,
        .ordinal = ordinal,
        .first_seq = first_seq,
        .key = strait_packet_key(flows->seed, e->src, e->dst, ordinal),
    };
}

/* The packet's connection, begun if it is new: a SYN opens one, and so does what belongs to none.
 * Out: whether the packet comes from whom it was opened to. */
static struct strait_emu_flow *flow_of(struct strait_emu_flows *flows, bool *is_back,
                                       const struct tcp_packet *p, int src, int dst)
{
    const struct ends there = {src, dst, p->from, p->to, p->is_tcp},
                      back = {dst, src, p->to, p->from, p->is_tcp};
    if (!make_room(flows))
        return NULL;
    struct strait_emu_flow *f = slot_of(flows, &back);
    *is_back = f->used && p->is_tcp && !p->opens;
    if (*is_back)
        return f;
    f = slot_of(flows, &there);
    if (!f->used || (p->opens && f->first_seq != p->seq))
        begin(flows, f, &there, p->seq);
    return f;
}

static struct tcp_packet read_packet(const unsigned char *bytes, size_t len_bytes)
{
    struct iphdr ip;
    struct tcphdr tcp;
    struct tcp_packet p = {0};
    bytes += STRAIT_EMU_VNET_BYTES;
    len_bytes -= STRAIT_EMU_VNET_BYTES;
    memcpy(&ip, bytes, sizeof(ip));
    const size_t ip_bytes = ip.ihl * 4U;
    if (ip.protocol != IPPROTO_TCP || len_bytes < ip_bytes + sizeof(tcp))
        return p;
    memcpy(&tcp, bytes + ip_bytes, sizeof(tcp));
    const size_t head_bytes = ip_bytes + tcp.doff * 4U;
    if (len_bytes < head_bytes)
        return p;
    return (struct tcp_packet){.seq = ntohl(tcp.seq),
                               .ack = ntohl(tcp.ack_seq),
                               .from = ntohs(tcp.source),
                               .to = ntohs(tcp.dest),
                               .payload = bytes + head_bytes,
                               .payload_bytes = (unsigned)(len_bytes - head_bytes),
                               .is_tcp = true,
                               .opens = tcp.syn && !tcp.ack};
}

/* --- one direction's data -------------------------------------------------------------------- */

/* How far a sequence number is from the stream's begin. */
static int64_t distance(const struct half *h, uint32_t seq)
{
    return h->end + (int32_t)(seq - h->seq);
}

static bool note_message(struct half *h, int64_t from)
{
    if (h->n_messages == h->cap_messages) {
        const size_t cap = h->cap_messages > 0 ? 2 * h->cap_messages : 8;
        struct begun *more = realloc(h->messages, cap * sizeof(*more));
        if (!more)
            return false;
        h->messages = more;
        h->cap_messages = cap;
    }
    const struct begun *last = h->n_messages > 0 ? &h->messages[h->n_messages - 1] : NULL;
    const size_t n_before =
        last ? last->n_before + (size_t)(from - last->from) / SEGMENT_BYTES + 1 : 0;
    if (!last || from > last->from)
        h->messages[h->n_messages++] = (struct begun){from, n_before};
    return true;
}

/* Find the frames that begin in so many bytes, which follow on what was seen. */
static bool note_frames(struct half *h, const unsigned char *bytes, size_t n_bytes)
{
    unsigned char joint[2 * (HEAD_BYTES - 1)];
    const size_t n_more = n_bytes < HEAD_BYTES - 1 ? n_bytes : HEAD_BYTES - 1;
    memcpy(joint, h->tail, HEAD_BYTES - 1);
    memcpy(joint + HEAD_BYTES - 1, bytes, n_more);
    const unsigned char *at = memmem(joint, HEAD_BYTES - 1 + n_more, FRAME_HEAD, HEAD_BYTES);
    if (at && !note_message(h, h->end - (HEAD_BYTES - 1) + (at - joint)))
        return false;
    for (at = bytes; (at = memmem(at, n_bytes - (size_t)(at - bytes), FRAME_HEAD, HEAD_BYTES));
         at++)
        if (!note_message(h, h->end + (at - bytes)))
            return false;
    memcpy(h->tail, joint + n_more, HEAD_BYTES - 1);
    if (n_bytes >= HEAD_BYTES - 1)
        memcpy(h->tail, bytes + n_bytes - (HEAD_BYTES - 1), HEAD_BYTES - 1);
    return true;
}

/* The message that a byte belongs to. */
static size_t message_at(const struct half *h, int64_t at)
{
    size_t first = 0, n = h->n_messages;
    while (n > 1) {
        const size_t half = n / 2;
        first += h->messages[first + half].from <= at ? half : 0;
        n -= half;
    }
    return first;
}

static uint64_t place_of(const struct half *h, int64_t at)
{
    const size_t i = message_at(h, at);
    return strait_packet_place(i, (uint64_t)(at - h->messages[i].from) / SEGMENT_BYTES);
}

/* How often a segment that begins there was sent before; counts it. */
static bool count(uint64_t *before, struct half *h, int64_t at)
{
    const struct begun *m = &h->messages[message_at(h, at)];
    const size_t i = m->n_before + (size_t)(at - m->from) / SEGMENT_BYTES;
    if (i >= h->cap_sent) {
        const size_t cap = i < FIRST_COUNTS ? FIRST_COUNTS : 2 * i;
        uint16_t *n = realloc(h->n_sent, cap * sizeof(*n));
        if (!n)
            return false;
        memset(n + h->cap_sent, 0, (cap - h->cap_sent) * sizeof(*n));
        h->n_sent = n;
        h->cap_sent = cap;
    }
    *before = h->n_sent[i]++;
    return true;
}

/* --- packets --------------------------------------------------------------------------------- */

static bool number_data(uint64_t *number, struct half *h, enum strait_packet_kind kind,
                        const struct tcp_packet *p)
{
    const int64_t at = distance(h, p->seq), end = at + p->payload_bytes;
    uint64_t before;
    if (at <= h->end && end > h->end) { /* new bytes, not beyond a hole */
        const size_t known = (size_t)(h->end - at);
        if (!note_frames(h, p->payload + known, p->payload_bytes - known))
            return false;
    }
    if (end > h->end) {
        h->end = end;
        h->seq = p->seq + p->payload_bytes;
    }
    if (!count(&before, h, at))
        return false;
    *number = strait_packet_number(kind, place_of(h, at), before);
    return true;
}

bool strait_emu_flows_packet(uint64_t *key, uint64_t *number, struct strait_emu_flows *flows,
                             int src, int dst, const unsigned char *bytes, size_t len_bytes)
{
    const struct tcp_packet p = read_packet(bytes, len_bytes);
    bool is_back;
    struct strait_emu_flow *f = flow_of(flows, &is_back, &p, src, dst);
    if (!f)
        return false;
    *key = f->key;
    struct half *mine = &f->halves[is_back], *other = &f->halves[!is_back];
    if (p.payload_bytes > 0 && !mine->has_begun) {
        mine->has_begun = true;
        mine->seq = p.seq + p.payload_bytes;
        if (!note_message(mine, 0))
            return false;
    }
    if (p.payload_bytes > 0 && distance(mine, p.seq) >= 0)
        return number_data(number, mine, is_back ? STRAIT_PACKET_BACK : STRAIT_PACKET_DATA, &p);
    if (p.payload_bytes == 0 && other->has_begun && distance(other, p.ack) > 0)
        *number =
            strait_ack_number(&other->acks, is_back ? STRAIT_PACKET_ACK : STRAIT_PACKET_BACK_ACK,
                              place_of(other, distance(other, p.ack) - 1));
    else
        *number = strait_ack_number(&f->others, STRAIT_PACKET_OTHER, 0);
    return true;
}
