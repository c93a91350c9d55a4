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
