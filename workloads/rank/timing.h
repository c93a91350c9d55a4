/* What a codec takes on given tensors, as a rank pays it: data that no cache holds. */
#pragma once
#include "codecs/bundle.h"

enum { STRAIT_TIMING_MAX_REPEATS = 64 };

struct strait_codec_times {
    double encode_s[STRAIT_TIMING_MAX_REPEATS], decode_s[STRAIT_TIMING_MAX_REPEATS]; /* ascending */
    size_t n_repeats;
    size_t len_bytes; /* encoded, heads of the slices included */
};

/** CPU time of this thread, and of foreign codecs that work for it in a process of their own.
 *  Source: core/cpu_clock */
double strait_cpu_s(void);

/* As large as two last-level caches. */
struct strait_sweeper {
    unsigned char *memory;
    size_t len_bytes;
};
size_t strait_sweep_bytes(void); /* that one has on this machine */
int strait_sweeper_init(struct strait_sweeper *s, struct strait_error *err);
void strait_sweeper_release(struct strait_sweeper *s);
/** Empty the caches: what a rank works on was last touched before others used them. */
void strait_sweep(const struct strait_sweeper *s);

/** Encode and decode, one run to warm up, then at least n_repeats that count, and more until they
 *  span least_s seconds (at most MAX_REPEATS): a host is busy with something else for that long.
 *  Out:     out
 *  In:      bundle  open
 *           from    n_slices slices with the values; to: the same with room for what is decoded
 *  Returns: 0, or -1 with *err
 *  Cost:    (n_repeats + 1) x (encode + decode + two sweeps), or least_s */
int strait_time_bundle(struct strait_codec_times *out, const struct strait_bundle *bundle,
                       const struct strait_slice *from, struct strait_slice *to, size_t n_slices,
                       size_t n_repeats, double least_s, const struct strait_sweeper *sweeper,
                       struct strait_error *err);
