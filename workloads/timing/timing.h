/* Processor time, and caches that other data has emptied. */
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
