/* Measure a codec on given tensors as a rank would pay for it: with cold caches. */
#pragma once
#include "codecs/bundle.h"

enum { STRAIT_TIMING_MAX_REPEATS = 64 };

struct strait_codec_times {
    double encode_s[STRAIT_TIMING_MAX_REPEATS], decode_s[STRAIT_TIMING_MAX_REPEATS]; /* ascending */
    size_t n_repeats;
    size_t len_bytes; /* encoded, including the heads of the tensors */
};

/** CPU time of this thread, and of isolated codecs working for it in another process.
 *  Source:  core/cpu_clock */
double strait_cpu_s(void);

/* A buffer of twice the last-level cache. */
struct strait_sweeper {
    unsigned char *memory;
    size_t len_bytes;
};
size_t strait_sweep_bytes(void); /* that one has on this machine */
int strait_sweeper_init(struct strait_sweeper *s, struct strait_error *err);
void strait_sweeper_release(struct strait_sweeper *s);
/** Empty the caches: between two uses of a tensor a rank's caches hold other data. */
void strait_sweep(const struct strait_sweeper *s);

/** Encode and decode: one warm-up, then at least n_repeats measured runs, and more until they span
 *  min_s seconds (at most MAX_REPEATS), since a disturbance of the host lasts about as long.
 *  In:      bundle  open
 *           from    n_slices tensors with values; to: the same with room for the decoded values
 *  Returns: 0, or -1 with *err
 *  Cost:    (n_repeats + 1) x (encode + decode + two sweeps), or min_s */
int strait_time_bundle(struct strait_codec_times *out, const struct strait_bundle *bundle,
                       const struct strait_slice *from, struct strait_slice *to, size_t n_slices,
                       size_t n_repeats, double min_s, const struct strait_sweeper *sweeper,
                       struct strait_error *err);
