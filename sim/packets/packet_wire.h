/* Links that carry single packets: delay, jitter, loss, a queue of finite length and a rate, in
 * this order, and what happens when on all of them. Where a link loses packets, jitter comes last,
 * as in the relay that then makes the links of an emulation. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include "core/heap.h"
#include "workloads/ask/network.h"

struct strait_connection;

struct strait_packet_on_wire {
    struct strait_packet_on_wire *next;
    struct strait_connection *connection;
    double wire_bytes, out_s; /* out_s: when it leaves the link that it is on */
    double sent_s;            /* data: when the sender sent it */
    uint64_t seq;             /* data: which segment; acknowledgement: all before have arrived */
    uint64_t n_logged;        /* acknowledgement: arrivals that it tells of */
    double echo_s;            /* acknowledgement: sent_s of the segment that caused it */
    double start_s;           /* when the link begins to transmit it */
    double frees_bytes;       /* of the link's queue then */
    double memory_bytes;      /* data: of its sender, free when it has left the own port */
    uint64_t key, number;     /* of what links draw for it (core/random.h) */
    int hop;
    bool is_ack;
};

struct strait_wire_link {
    double bytes_per_s, delay_s, jitter_s, loss_ratio, queue_bytes;
    const struct strait_jitter *jitter;     /* NULL: uniform */
    const struct strait_schedule *schedule; /* NULL: bytes_per_s stays */
    double queued_bytes;                    /* from `waiting` on */
    struct strait_packet_on_wire *waiting;  /* the first one that was not transmitted at in_s */
    double free_s, in_s; /* when the last packet has left; the latest arrival so far, after its
                            delay, which no later packet may precede */
    struct strait_packet_on_wire *first, *last; /* by out_s */
    struct strait_heap_node node;               /* key: out_s of the first one */
};

struct strait_wire {
    struct strait_wire_link *links;
    int n_links;
    struct strait_heap events;
    struct strait_packet_on_wire *spare;
    double header_bytes; /* of each packet, overhead included */
    bool delays_last;
    bool no_memory;
};

/** 0, or -1 when memory runs out. */
int strait_wire_init(struct strait_wire *w, const struct strait_network *n);
void strait_wire_release(struct strait_wire *w);
/** A zeroed packet; NULL when memory runs out, which is then noted. */
struct strait_packet_on_wire *strait_wire_packet(struct strait_wire *w);
void strait_wire_free(struct strait_wire *w, struct strait_packet_on_wire *p);
/** Whether the queue of a link without a delay has room for so many bytes at now_s. */
bool strait_wire_has_room(struct strait_wire *w, int link, double now_s, double wire_bytes);
/** Put a packet on a link at now_s, or lose it there. True: it was carried. */
bool strait_wire_carry(struct strait_wire *w, int link, struct strait_packet_on_wire *p,
                       double now_s);
/** p, put on the link at now_s, is of one super-packet with `first`: they wait until that one is
 *  transmitted. */
void strait_wire_join(struct strait_wire *w, int link, struct strait_packet_on_wire *first,
                      struct strait_packet_on_wire *p, double now_s);
/** The link's first packet, which leaves now. */
struct strait_packet_on_wire *strait_wire_take(struct strait_wire *w, struct strait_wire_link *l);
/** Call the node's owner at that time or before. */
void strait_wire_at(struct strait_wire *w, struct strait_heap_node *node, double at_s);
