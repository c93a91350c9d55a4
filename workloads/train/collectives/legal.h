/* Which codecs are legal in which collective; checked when an experiment is read. */
#pragma once
#include "collectives.h"
#include "workloads/ask/experiment.h"

/** Whether this all-reduce may encode its partial sums with the codec. Refused are - codecs with a
 *  state, or momentum: they belong to one rank's gradient, not to partial sums; - signs and chosen
 *  elements if every hop encodes, since the last cut is not that of the sum; in the all-to-all form
 *  they are encoded only at the source, and once more as a sum; - a shared key in halving, where
 *  ranks draw for different ranges and would add other elements; - in the encoded ring, all codecs
 *  that cannot add; - in a library's own, all, since it sums plain values. */
bool strait_codec_legal(const struct strait_codec_spec *spec, enum strait_all_reduce how);
/** Whether packets of the codec are added only after all ranks have agreed on norms. */
bool strait_spec_agrees(const struct strait_codec_spec *spec);
/** 0, or -1 with *err INPUT at #/codec, naming the legal codecs. name: of the collective, as in the
 *  file. */
int strait_all_reduce_check(const struct strait_experiment *e, enum strait_all_reduce how,
                            const char *name, struct strait_error *err);
