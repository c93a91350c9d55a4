/* Keyed random numbers: a draw depends on its key alone, never on the order of drawing. */
#pragma once
#include <stdint.h>

/** 64 random bits for (seed, purpose, a, b); a is usually the rank and b the round. */
uint64_t strait_random_bits(uint64_t seed, const char *purpose, uint64_t a, uint64_t b);
/** The same as a double in [0, 1), 53 bits. */
double strait_random_unit(uint64_t seed, const char *purpose, uint64_t a, uint64_t b);

/* A sequence that starts at a key, for many draws in a stated order (element after element of a
 * tensor). splitmix64 (Steele, Lea, Flood 2014). */
struct strait_sequence {
    uint64_t state;
};
struct strait_sequence strait_sequence_at(uint64_t key);
uint64_t strait_sequence_next(struct strait_sequence *s);
/** A double in [0, 1). */
double strait_sequence_unit(struct strait_sequence *s);

/* Draws for packets of TCP connections, keyed by what a packet carries and not by when it comes: an
 * emulation and its prediction so lose the same packets, also after one of them has sent a packet
 * more or a message was somewhat longer. Draws of different packets are independent. */
enum strait_packet_kind {
    STRAIT_PACKET_DATA,
    STRAIT_PACKET_ACK,      /* without data */
    STRAIT_PACKET_BACK,     /* data of whom the connection was opened to */
    STRAIT_PACKET_BACK_ACK, /* acknowledgements of that */
    STRAIT_PACKET_OTHER     /* the connection's set-up; what is no TCP */
};
/** The key of a connection's draws.
 *  In:      ordinal  of the connections that src opened to dst, from 0 */
uint64_t strait_packet_key(uint64_t seed, int src, int dst, unsigned ordinal);
/** The place of a byte in a stream: which message it belongs to, and in that which full segment's
 *  payload, both from 0. */
uint64_t strait_packet_place(uint64_t message, uint64_t segment);
/** The number of a packet.
 *  In:      place   data: of its first byte; acknowledgement: of the last byte acknowledged
 *           before  packets of that kind and place before it */
uint64_t strait_packet_number(enum strait_packet_kind kind, uint64_t place, uint64_t before);
/* Acknowledgements, whose places never decrease: how many there were of the last one. Begins
 * zeroed. */
struct strait_ack_count {
    uint64_t place, n;
};
/** The number of the next acknowledgement. */
uint64_t strait_ack_number(struct strait_ack_count *c, enum strait_packet_kind kind,
                           uint64_t place);
/** What a link draws for the packet, in [0, 1).
 *  In:      purpose  "loss", "jitter"
 *           link     as numbered in a network */
double strait_packet_draw(uint64_t key, const char *purpose, int link, uint64_t number);
