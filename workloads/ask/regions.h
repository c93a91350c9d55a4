/* Networks of regions: sites whose links between them come from a published matrix. */
#pragma once
#include <jansson.h>
#include "core/error.h"

/** In a network of "topology": "regions", write "site", "between" and the server's "site" from
 *  "regions": [{"name": "Ohio", "ranks": 4}, ...] and the "pairs" of the matrix that has their
 *  names. A region without a rate of its own gets the sum of its links', which never limits. Twice
 *  is the same as once.
 *  Returns: 0, or -1 with *err INPUT naming the experiment's key */
int strait_regions_expand(json_t *network, const json_t *pairs, const char *file,
                          struct strait_error *err);
