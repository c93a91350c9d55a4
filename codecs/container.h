/* An encoded tensor in a file of its own, as `strait codec encode` writes it: the frame of the wire
 * (frame.h), whose payload begins with what a reader needs to know. Little-endian:
 *
 *      0  frame, 96 bytes: codec id, flags 1, n_elems, payload_bytes = all that follows,
 *         raw_bytes = 4 n_elems, words[0] = 1 (the version of what follows), XXH3 of everything
 *     96  uint8   0: the tensor came from raw float32, 1: from a .npy file
 *     97  char    dtype[3], the type of the values in that file, such as "<f4"
 *    100  uint32  n_dims, at most 32
 *    104  uint64  key of chance
 *    112  uint64  n_rows, 0: a vector
 *    120  uint64  shape[n_dims]
 *         uint32  letters of the codec's settings, then these (spec.h): "sz:range=1e-3"
 *         the codec's bytes, to the end */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include "npy.h"
#include "spec.h"

#define STRAIT_CONTAINER_SUFFIX ".strait"
enum { STRAIT_CONTAINER_VERSION = 1 };

struct strait_container {
    struct strait_codec_spec spec; /* its codec may be unavailable here */
    uint64_t key;
    size_t n_rows;
    struct strait_array_form form;
    size_t payload_bytes; /* the codec's */
};

/** Bytes before the codec's. */
size_t strait_container_head_bytes(const struct strait_container *c);
/** Write the head before payload_bytes of codec's bytes, which are in their place already.
 *  In/out:  file  strait_container_head_bytes(c), then c->payload_bytes */
void strait_container_seal(unsigned char *file, const struct strait_container *c);
/** Read the head of a whole file; any bytes are safe.
 *  Out:     c, at_bytes  where the codec's bytes begin; they end with the file
 *  In:      name  for errors
 *  Returns: 0, or -1 with *err INPUT. c->form.n_elems is as the file says: a few bytes may well be
 *           a large constant tensor, so a reader compares it to the memory that there is */
int strait_container_open(struct strait_container *c, size_t *at_bytes, const unsigned char *file,
                          size_t len_bytes, const char *name, struct strait_error *err);
