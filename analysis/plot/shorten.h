/* Names that stand side by side in a picture, without what all of them say. */
#pragma once
#include <jansson.h>

/** Take the settings that all names have out of them: "ps rounds=2,servers=1" and "ring rounds=2"
 *  become "ps servers=1" and "ring". "none" and "no compression" count as having them; nothing is
 *  taken where two names would then be alike.
 *  Out:     names  array of texts, changed in place
 *  Returns: what was taken, "rounds=2", to be freed; "" for nothing; NULL when memory ran out */
char *strait_plot_shorten(json_t *names);
