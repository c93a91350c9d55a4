/* What accuracy a candidate reaches, as far as anybody knows. */
#pragma once
#include <jansson.h>
#include "traces/curves.h"
#include "question.h"

struct strait_known_accuracy {
    bool known;      /* stated or recorded, or the codec is lossless */
    bool lossless;   /* both directions, and the strategy too: as without a codec */
    double accuracy; /* 0 to 1; NAN: not known, though a lossless one is as good as none */
    double spread;   /* half of what chance may do to it; NAN: not known */
    double n_rounds; /* until the target accuracy; NAN: not known, or never */
    char source[160];
};

/** Of the row of a point: stated in the question (the entry whose "codec" is the point's, with a
 *  "download_codec", by default lossless, and a "strategy", by default the experiment's), else of a
 *  trained run of the folders that it names with this codec, model, strategy and number of clients,
 *  else of the recorded run with this codec, model and number of clients (strait_tradeoff_curve),
 *  else not known. Lossless codecs are what "none" is. */
void strait_known_accuracy_of(struct strait_known_accuracy *out,
                              const struct strait_plan_question *q,
                              const struct strait_curves *curves, const json_t *point,
                              const json_t *row);
