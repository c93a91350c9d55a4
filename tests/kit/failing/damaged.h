/* What a reader makes of every beginning of a text and of every byte of it changed, held against
 * tests/golden/damaged.json: "name": a letter for each damaged text. `make golden-runs` adds
 * to it. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include "core/error.h"

/* A checksum that grows by what was read. */
struct damaged_sum {
    uint64_t value;
};
void damaged_add(struct damaged_sum *s, const char *text); /* NULL: as "" */
void damaged_add_number(struct damaged_sum *s, double v);  /* its first nine digits */
/** An error as "code where: text", of each what follows the path, or that of this tree. */
void damaged_add_error(struct damaged_sum *s, const struct strait_error *err, const char *path);

/* Reads bytes, which are followed by a NUL, and adds what came of it. */
typedef void (*damaged_read)(struct damaged_sum *s, void *context, const unsigned char *bytes,
                             size_t n);
/** Of n bytes: each beginning, each byte with one bit changed, and each digit as two others; of JSON
 *  also other values in the place of each (misused.h), in a line of their own. */
void damaged_check(const char *name, const void *bytes, size_t n, damaged_read read, void *context);
