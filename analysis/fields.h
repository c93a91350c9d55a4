/* Fields of results as JSON has them, where some may be missing. */
#pragma once
#include <jansson.h>

/** A number; NAN where there is none. */
double strait_number_of(const json_t *object, const char *key);
/** A text of the object's; "" where there is none. */
const char *strait_text_of(const json_t *object, const char *key);
