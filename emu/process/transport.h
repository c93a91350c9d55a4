/* The TCP connections of one rank: one a stream, or several that share each of its messages.
 * Messages are sent in order and always drained on the receiving side, by a thread of its own. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include "transport_plan.h"

/** Listen for the other ranks; the port goes to the shared memory. Call inside the rank's
 *  namespace.
 *  Out:     out  free with strait_emu_transport_free
 *  Returns: 0, or -1 with *err */
int strait_emu_transport_new(struct strait_emu_transport **out,
                             const struct strait_emu_transport_plan *plan,
                             struct strait_error *err);
/** Connect all declared streams of this rank, once every rank listens.
 *  In:      until_mono_ns  when to give up
 *  Returns: 0, or -1 with *err BACKEND naming the rank that was not reached */
int strait_emu_transport_connect(struct strait_emu_transport *t, int64_t until_mono_ns,
                                 struct strait_error *err);
/** Start the thread. */
int strait_emu_transport_start(struct strait_emu_transport *t, struct strait_error *err);
/** Queue a message; takes the packet, after strait_packet_post, and lands it. Never blocks. The
 *  stream is declared.
 *  In:      posted_ns  posted_s as a moment of CLOCK_MONOTONIC, to see how late it is sent
 *           ticket  for the acknowledged event; NULL: none is asked for
 *  Returns: 0, or -1 with *err NOMEM
 */
int strait_emu_transport_post(struct strait_emu_transport *t, int dst, int channel, int tag,
                              struct strait_packet *packet, double posted_s, int64_t posted_ns,
                              void *ticket, struct strait_error *err);
/** Wait until everything posted was written to the kernel. */
void strait_emu_transport_drain(struct strait_emu_transport *t);

struct strait_emu_transport_figures {
    uint64_t bytes_sent, bytes_received; /* frames, payload and acknowledgements */
    uint64_t sent_checksum;  /* sum of the checksums of all messages: what was sent, in any order */
    uint64_t n_retransmits;  /* segments, from TCP_INFO of all streams of this rank */
    double write_late_max_s; /* real: delay of a message that had nothing before it */
    double read_late_max_s;  /* real: from the arrival of bytes in the kernel to their reading */
    double stall_max_s;      /* real: how late the thread was for a beat */
};
/** Call after the thread was stopped. */
struct strait_emu_transport_figures
strait_emu_transport_figures(const struct strait_emu_transport *t);
/** End the thread; connections stay open but carry nothing. */
void strait_emu_transport_stop(struct strait_emu_transport *t);
/** Stop and close all connections. NULL is fine. */
void strait_emu_transport_free(struct strait_emu_transport *t);
