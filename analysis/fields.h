/* Read fields of result rows, some of which may be missing. */
#pragma once
#include <jansson.h>

/** A number; NAN if missing. */
double strait_row_number(const json_t *object, const char *key);
/** A text, borrowed from the object; "" if missing. */
const char *strait_text_of(const json_t *object, const char *key);
