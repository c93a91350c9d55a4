/* How results are named for people: axes, values, codecs and settings. */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum { STRAIT_LABEL_CHARS = 192 };

/** Whether a JSON Pointer of an experiment says how to compress, and whether it is /clients. */
bool strait_label_is_codec(const char *pointer);
bool strait_label_is_clients(const char *pointer);

/** "/network/server/rate" is "server rate", "/strategy/decode_cores" is "decode cores". Returns
 *  buf. */
const char *strait_label_axis(char buf[STRAIT_LABEL_CHARS], const char *pointer);
/** A value as people write it; of an object its name. Returns buf. */
const char *strait_label_value(char buf[STRAIT_LABEL_CHARS], const json_t *value);
/** A row's codec: "none", "sz 1e-3", "sz abs 1e-3", "sz 1e-3 [sz3-class]". A bound without a word
 *  is relative to the range. Returns buf. */
const char *strait_label_codec(char buf[STRAIT_LABEL_CHARS], const json_t *codec);
/** Both directions of a row: "sz 1e-3", or "sz 1e-3, down zstd" where the way down has one. */
const char *strait_label_row_codec(char buf[STRAIT_LABEL_CHARS], const json_t *row);
/** Whether a row compresses in neither direction. */
bool strait_label_row_is_plain(const json_t *row);
/** A row's labels beside clients and codec: "server rate 1 Gbps, decode cores 16"; "" for none.
 *  Equal texts are equal settings of one sweep. Returns buf. */
const char *strait_label_setting(char buf[STRAIT_LABEL_CHARS], const json_t *row);
