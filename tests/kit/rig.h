/* A small star and a program over the raw operations of a backend, with what its ranks noted. */
#pragma once
#include "workloads/rank/backend.h"

struct strait_rig {
    struct strait_network *network;
    struct strait_facts facts;
    struct strait_run run; /* change it before the run */
    unsigned n_slots[STRAIT_N_RESOURCES];
    struct strait_error err; /* of the run */
    int rc;
};

/** Linux's TCP: 10 segments of 1448 bytes to begin with, the window never full. */
struct strait_tcp strait_rig_tcp(void);
struct strait_link strait_rig_link(double rate_bits_per_s, double delay_s);
/** All ranks behind equal links, one slot of everything. Memory that runs out ends the test. */
void strait_rig_init(struct strait_rig *rig, int n_ranks, struct strait_link link,
                     void (*rank_main)(struct strait_rank *));
/** Sets rig->rc and rig->err; asserts nothing. May be called again: notes begin anew. */
void strait_rig_run(struct strait_rig *rig, const struct strait_backend *backend);
void strait_rig_release(struct strait_rig *rig);

/** In a rank: leave a number for the test, which may run in another process. The words that a rank
 *  notes under one key are counted from 0. One lane at a time. */
void strait_note(struct strait_rank *r, int key, double value);
/** In the test: NAN where there is no such note. */
double strait_noted(const struct strait_rig *rig, int rank, int key, int nth);
int strait_n_noted(const struct strait_rig *rig, int rank, int key);

/* Shorter forms for programs. */
struct strait_packet *strait_rig_packet(size_t payload_bytes); /* sized */
void strait_rig_send(struct strait_rank *r, int dst, int channel, int tag, size_t payload_bytes);
/** Blocks until a message is there and drops its packet. */
struct strait_message strait_rig_recv(struct strait_rank *r, int src, int channel);
void strait_rig_work(struct strait_rank *r, enum strait_resource resource, double cost_s);
void strait_rig_sleep_until(struct strait_rank *r, double time_s);
