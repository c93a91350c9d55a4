/* The keys by which results are grouped and matched: equal exactly when the canonical JSON of the
 * requested setting or codec is equal. */
#pragma once
#include <jansson.h>
#include "core/error.h"
#include "core/hash.h"

struct strait_place {
    char setting[STRAIT_KEY_CHARS]; /* of all but the codecs and the number of clients */
    char codec[STRAIT_KEY_CHARS];   /* of both directions */
};

/** The place of a resolved point. 0, or -1 with *err NOMEM. */
int strait_place_of_point(struct strait_place *p, const json_t *resolved, struct strait_error *err);
/** The place of a row, of a pair of a comparison or of a break-even record: its "setting_key" and
 *  "codec_key". Rows of earlier versions have none: their labels and codecs as a whole are the
 *  keys. 0, or -1 with *err NOMEM. */
int strait_place_of_row(struct strait_place *p, const json_t *row, struct strait_error *err);
/** Put both keys into a row. */
void strait_place_put(json_t *row, const struct strait_place *p);
