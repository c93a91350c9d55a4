/* Which codec may go with which exchange: asked when an experiment is read. */
#pragma once
#include "collectives.h"
#include "workloads/ask/experiment.h"

/** May sums on their way through this all-reduce be encoded with the codec? Refused are
 *  - codecs with a state, or momentum: they belong to one rank's gradient, not to partial sums;
 *  - signs and chosen elements where every hop encodes, since the last one's cut is no sum's;
 *    straight to the owner they are encoded at the source alone, and once more as a sum;
 *  - a shared key in halving, where ranks draw for different ranges and add other elements;
 *  - in the encoded ring all that do not add. */
bool strait_codec_legal(const struct strait_codec_spec *spec, enum strait_all_reduce how);
/** 0, or -1 with *err INPUT at #/codec, naming the codecs that are legal. name: of the collective,
 *  as the file says it. */
int strait_all_reduce_check(const struct strait_experiment *e, enum strait_all_reduce how,
                            const char *name, struct strait_error *err);
