/* Packets under way in the relay, each a run of one or more TCP segments (a super-packet), and
 * their memory. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include "core/heap.h"
#include "workloads/ask/network.h"
#include "emu/links/segment.h"

struct strait_emu_packet_run {
    struct strait_heap_node due;        /* by the time of its next event */
    struct strait_emu_packet_run *next; /* in the pool */
    unsigned pool_class;
    int dst;
    int links[STRAIT_MAX_HOPS], n_hops, hop; /* its path, and the link that it waits for */
    struct strait_emu_shape shape;
    double first_s;       /* when its first segment is complete at the link that it waits for */
    double s_per_byte;    /* spacing of the segments after it */
    uint64_t key, number; /* of what links draw for it (core/random.h) */
    size_t len_bytes;
    unsigned char bytes[];
};

enum { STRAIT_EMU_POOL_CLASSES = 10 }; /* buffers of 2^8 .. 2^17 bytes */
struct strait_emu_packet_runs {        /* begins zeroed */
    struct strait_emu_packet_run *free[STRAIT_EMU_POOL_CLASSES];
    size_t kept_bytes;
    double frame_bytes; /* on the wire, for each segment beside its IP packet */
};

void strait_emu_packet_runs_release(struct strait_emu_packet_runs *pool);
/** Memory for a packet; sets only pool_class and len_bytes. NULL: memory ran out, or the pool's
 *  limit of 1 GiB. */
struct strait_emu_packet_run *strait_emu_packet_run_new(struct strait_emu_packet_runs *pool,
                                                        size_t len_bytes);
void strait_emu_packet_run_drop(struct strait_emu_packet_runs *pool,
                                struct strait_emu_packet_run *t);

/** Bytes on the wire of segment `first` and the n - 1 after it. */
double strait_emu_packet_run_wire_bytes(const struct strait_emu_packet_runs *pool,
                                        const struct strait_emu_packet_run *t, unsigned first,
                                        unsigned n);
/** When segment j is complete at the link that the run waits for. */
double strait_emu_packet_run_there_s(const struct strait_emu_packet_runs *pool,
                                     const struct strait_emu_packet_run *t, unsigned j);
/** Segments [first, first + n) as a packet run of their own on the same path; NULL as for new. */
struct strait_emu_packet_run *strait_emu_packet_run_cut(struct strait_emu_packet_runs *pool,
                                                        const struct strait_emu_packet_run *t,
                                                        unsigned first, unsigned n);
