/* Print the explanation of a row. */
#pragma once
#include <jansson.h>
#include <stdio.h>
#include "core/error.h"

/** Print what the file calls clients and sites, "names" of strait_why; nothing for none. */
void strait_show_names(FILE *out, const json_t *names);
/** Print the result of strait_why. In: codec, setting: the row's, by the names of all rows beside
 *  it. 0, or -1 with *err. */
int strait_show_why(FILE *out, const json_t *why, const char *codec, const char *setting,
                    struct strait_error *err);
/** "critical_path" of a row or of "predicted", a line a part. 0, or -1 with *err. */
int strait_show_critical_path(FILE *out, const json_t *row, struct strait_error *err);
/** "utilisation" of a row, a line a kind, with the headroom. 0, or -1 with *err. */
int strait_show_utilisation(FILE *out, const json_t *row, struct strait_error *err);
/** "clients' ports, out" of a key of "utilisation"; the key itself where it has no name. */
const char *strait_resource_name(const char *key);
/** "server port in, 72 %", "compute at client 3, 50 %" of a row's "limits". Returns: buf */
enum { STRAIT_LIMIT_CHARS = 160 };
const char *strait_limit_text(char buf[STRAIT_LIMIT_CHARS], const json_t *limits);
/** "1.2 to 3.4" of two seconds, "-" where there are none. Returns: buf */
enum { STRAIT_INTERVAL_CHARS = 80 };
const char *strait_interval_text(char buf[STRAIT_INTERVAL_CHARS], const json_t *interval_s);
