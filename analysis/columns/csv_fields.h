/* Comma-separated values as RFC 4180 has them: lines end in CR LF. */
#pragma once
#include <jansson.h>
#include <stdio.h>

/** Write one field: a number with the digits that give it back, a text in quotes where it needs
 *  them, a list or object as JSON, nothing for null and NULL. */
void strait_csv_put(FILE *out, const json_t *value);
