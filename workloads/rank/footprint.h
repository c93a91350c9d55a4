/* What a rank's process will allocate with real payload, counted by a sized run of the same
 * strategy: beside what the rank holds (struct strait_log, peak_bytes) the rooms that codecs write
 * into, values that wait for their first use, messages that are still on their way in, and what
 * readings before time 0 need. Not for strategies. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "rank.h"

struct strait_footprint_change {
    double time_s, bytes;
    size_t n; /* of one moment by number */
};

struct strait_footprint {
    struct strait_rank *rank; /* whose clock tells the time of changes; NULL before and after */
    bool has_ended;
    bool prepared[3]; /* whole models, by kind, that wait for the first tensor that asks */
    int n_scratch;    /* and those to decode into */
    struct strait_footprint_change *changes;
    size_t n_changes, cap_changes;
    double *last_s; /* of each source and channel: when its last message had arrived */
    bool is_short;  /* memory did not suffice for counting */
};

/** NULL: nobody counts. */
void strait_footprint_add(struct strait_footprint *f, double bytes);
/** What strait_buffer_new of so many bytes takes, n times; below 0: gives back. */
void strait_footprint_buffers(struct strait_footprint *f, int n, size_t len_bytes);
/** Held for a moment only. */
void strait_footprint_touch(struct strait_footprint *f, double bytes);
/** Does a whole model of this kind, now touched, get memory that was prepared? Then it waits no
 *  longer. */
bool strait_footprint_take(struct strait_footprint *f, enum strait_tensor_kind kind);
/** A message was received, to be held from now on: its memory is there since its first byte. */
void strait_footprint_arrive(struct strait_footprint *f, struct strait_rank *r,
                             const struct strait_message *m, int channel);
/** The most that the process had at once; INFINITY where counting failed. */
double strait_footprint_end(struct strait_footprint *f);
