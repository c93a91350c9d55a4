/* Where a result belongs among others, as keys: equal exactly where the canonical JSON of what was
 * asked for is equal. Whatever is grouped or matched goes by these. */
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
