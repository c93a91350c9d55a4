/* Checksums and keys: XXH3 of libxxhash, which is stable across versions from 0.8 on. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <jansson.h>

enum { STRAIT_KEY_CHARS = 33 }; /* 32 hexadecimal digits and the end */

uint64_t strait_checksum(const void *data, size_t len_bytes);
/** The same of what a regular file holds. Returns: false where it cannot be read. */
bool strait_checksum_file(uint64_t *sum, uint64_t *len_bytes, const char *path);
/** 128-bit hash as 32 lower-case hexadecimal digits. Returns key. */
const char *strait_hash_bytes(char key[STRAIT_KEY_CHARS], const void *data, size_t len_bytes);
/** Hash of a JSON value as canonical text: keys sorted, compact, 17 digits. Equal values give equal
 *  hashes.
 *  Returns: key, or NULL when memory ran out */
const char *strait_hash_json(char key[STRAIT_KEY_CHARS], const json_t *value);
