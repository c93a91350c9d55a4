/* How results are named for people: axes, values and codecs. Labels are for eyes and never keys:
 * place.h has those, and names.h makes labels of many rows differ where the rows do. */
#pragma once
#include <jansson.h>
#include <stdbool.h>

/** Whether a JSON Pointer of an experiment says how to compress, and whether it is /clients. */
bool strait_label_is_codec(const char *pointer);
bool strait_label_is_clients(const char *pointer);

/* Each returns a new string, to be freed; NULL when memory ran out. Nothing is cut off. */

/** "/network/server/rate" is "server rate", "/strategy/decode_cores" is "decode cores". */
char *strait_label_axis(const char *pointer);
/** A value as people write it; "-" for NULL. A codec is "none", "sz 1e-3",
 *  "sz abs 1e-3" or "sz 1e-3 [sz3-class]"; a bound without a word is relative to the range. */
char *strait_label_value(const json_t *value);
/** Both directions of a row: "sz 1e-3", or "sz 1e-3, down zstd" where the way down has one. */
char *strait_label_row_codec(const json_t *row);
/** What --set put in, {pointer: value}: "/clients=64, /network/client/rate=100 Mbps"; "" for
 *  nothing or NULL. */
char *strait_label_set(const json_t *set);

/** Whether a row compresses in neither direction. */
bool strait_label_row_is_plain(const json_t *row);
