/* Measure a path between two hosts: short trains of packets one way and the other. */
#pragma once
#include "path_fit.h"
#include "core/error.h"

struct strait_path_plan {
    const char *host, *port;
    uint32_t n_apart;       /* packets sent one by one, each way: loss and jitter */
    double max_burst_bytes; /* sent at once, at most: rate and queue */
    double overhead_bytes;  /* on the wire beyond 1514 for a full frame */
    double connect_s;       /* how long the other end may take to be there */
};

struct strait_path_direction {
    struct strait_path_figure rate, loss, jitter;
    struct strait_path_figure queue; /* error NAN: not full with that much in it */
    bool is_held; /* the sender's own buffer stopped it, so a longer queue cannot be told */
};

struct strait_path {
    struct strait_path_direction up, down; /* from here, to here */
    struct strait_path_figure rtt_s;       /* of an empty packet: without transmission times */
    struct strait_path_figure message_s;   /* what a small message over TCP takes beyond a packet */
    char congestion[16];                   /* this host's, of TCP */
};

/** Answer measurements on this port, TCP and UDP, one at a time, for ever.
 *  In:      ended  is told of each that failed; NULL: the first one ends the call
 *  Returns: 0 after the first, or -1 with *err when that failed or the port cannot be had */
int strait_path_serve(const char *port, void (*ended)(const struct strait_error *),
                      struct strait_error *err);
/** Returns: 0, or -1 with *err: INPUT when host or port are not names of any, SYSTEM when nobody
 *  answers
 *  Cost:    some seconds; at most max_burst_bytes at once, about four times that each way */
int strait_path_probe(struct strait_path *out, const struct strait_path_plan *plan,
                      struct strait_error *err);
