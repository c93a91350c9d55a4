/* Which lines of the tests led here: for failures in helpers. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

/** "        called from FILE:LINE (FUNCTION)\n" for every function of the tests between the one
 * that checked and the test, by addr2line. False: none, or no addr2line here. */
bool strait_calling_lines(char *out, size_t cap_bytes);
