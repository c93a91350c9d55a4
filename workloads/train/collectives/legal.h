/* Which codecs are legal in which collective; checked when an experiment is read. */
#pragma once
#include "collectives.h"
#include "workloads/ask/experiment.h"

/** Whether packets of the codec are added only after all ranks have agreed on norms. */
bool strait_spec_agrees(const struct strait_codec_spec *spec);
/** 0, or -1 with *err INPUT at #/codec, naming the legal codecs. name: of the collective, as in the
 *  file. */
int strait_all_reduce_check(const struct strait_experiment *e, enum strait_all_reduce how,
                            const char *name, struct strait_error *err);

/* Strategies whose every sum is a ring of all ranks, on one channel. */
int strait_ring_check(const struct strait_experiment *e, struct strait_error *err);
/** For their `uses_stream`: the ring's, and where ranks agree on statistics first. */
bool strait_ring_uses_stream(const struct strait_experiment *e, int ring, int src, int dst,
                             int channel);
