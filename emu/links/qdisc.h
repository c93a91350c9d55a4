/* The kernel's shapers of one direction of a link, as set and as read back: netem (delay, jitter,
 * loss) with a tbf (rate, queue) inside, or either alone; or a tbf that only cuts super-packets
 * with a netem inside whose rate is the link's. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "core/error.h"
#include "workloads/ask/network.h"

struct strait_emu_qdisc {
    bool has_netem, has_tbf;
    /* --- known of what is wanted alone: the kernel does not say it */
    bool has_debt;                      /* the delay makes up for the burst */
    bool in_order;                      /* although the delay changes */
    const struct strait_jitter *jitter; /* how jitter_ns is distributed; NULL: uniformly */
    /* --- */
    int64_t delay_ns, jitter_ns;
    uint32_t loss; /* in units of 1 / (2^32 - 1) */
    uint64_t seed; /* of netem's draws, which kernels from 6.6 on take; 0: the kernel's own */
    uint64_t rate_bytes_per_s; /* of the tbf */
    uint32_t burst_bytes, limit_bytes;
    uint32_t netem_bytes_per_s; /* of a netem inside of the tbf: each packet takes its own time */
};

/** Compute the shaper of a link: real time, whole bytes. tbf counts a packet's IP bytes plus 14 for
 *  every segment, but an overhead only once for a super-packet, so rate and queue are scaled by
 *  1514 / (1514 + overhead).
 *  In:      link    its rate at time 0, where that changes
 *           late_s  real time by which tbf may be woken late and still keep the rate; 2 us and
 *                   less is virtual time: the rate of a link with a delay is netem's, or, where its
 *                   queue is finite, it loses or its rate changes, a burst of a frame and that,
 *                   whose time is added to the delay; without a delay 0.3 ms */
void strait_emu_qdisc_of(struct strait_emu_qdisc *out, const struct strait_link *link,
                         double overhead_bytes, double dilation, double late_s);
/** The same for one of the rates of a link whose rate may change. */
void strait_emu_qdisc_of_step(struct strait_emu_qdisc *out, const struct strait_link *link,
                              double rate_bits_per_s, double overhead_bytes, double dilation,
                              double late_s);
/** late_s for this machine: 1.5 ms; 5 ms in User-Mode Linux, whose host may take its processor;
 *  2 us in virtual time. */
double strait_emu_qdisc_late_s(void);
/** By how many real seconds a message may pass an idle shaper earlier than the rate allows. */
double strait_emu_qdisc_credit_s(const struct strait_emu_qdisc *s);
/** Whether `found` equals `wanted`, to the kernel's resolution. If not, text says what differs:
 *  "tbf rate 100 bytes/s, asked for 200". */
bool strait_emu_qdisc_same(char *text, size_t cap, const struct strait_emu_qdisc *wanted,
                           const struct strait_emu_qdisc *found);

/** Put a shaper on a device of the socket's namespace; does nothing if it has neither netem nor
 *  tbf.
 *  Returns: 0, or -1 with *err: HOST if this kernel lacks one of them */
int strait_emu_qdisc_add(int fd, int index, const struct strait_emu_qdisc *s,
                         struct strait_error *err);

/** Give a shaper that is there another rate, and the delay and burst that go with it. What is
 *  queued stays; the bucket is full then.
 *  In:      from  as it is
 *  Returns: 0, or -1 with *err */
int strait_emu_qdisc_change(int fd, int index, const struct strait_emu_qdisc *to,
                            const struct strait_emu_qdisc *from, struct strait_error *err);

struct strait_emu_qdisc_reading {
    struct strait_emu_qdisc shaper;  /* as the kernel reports it */
    uint64_t n_segments, bytes;      /* that left the inner one */
    uint64_t netem_drops, tbf_drops; /* packets; netem's include tbf's */
    uint64_t backlog_bytes;          /* in them now */
    uint64_t settings; /* a hash of every queue on the device, of any kind, with all its options */
};

/** Read the shapers of devices first_index .. first_index + n - 1 in the socket's namespace. */
int strait_emu_qdisc_read(struct strait_emu_qdisc_reading *out, int n, int first_index, int fd,
                          struct strait_error *err);
