/* An encoded tensor in a file of its own, as `strait codec encode` writes it: the frame of frame.h,
 * whose payload begins with what a reader needs. Little-endian:
 *
 *       0  frame, 96 bytes: codec id, flags 1, n_elems, payload_bytes = all that follows,
 *          raw_bytes = 4 n_elems, words[0] = 1 (the version of what follows), XXH3 of everything
 *      96  uint8   0: the tensor came from raw float32, 1: from a .npy file
 *      97  char    dtype[3], the type of the values in that file, such as "<f4"
 *     100  uint32  n_dims, at most 32
 *     104  uint64  key of the random draws
 *     112  uint64  n_rows, 0: a vector
 *     120  uint64  shape[n_dims]
 *          uint32  length of the codec's settings, then these as text (spec.h): "sz:range=1e-3"
 *          the codec's bytes, to the end */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include "npy.h"
#include "spec.h"

#define STRAIT_CONTAINER_SUFFIX ".strait"
enum { STRAIT_CONTAINER_VERSION = 1 };

struct strait_container {
    struct strait_codec_spec spec; /* the codec may be unavailable on this machine */
    uint64_t key;
    size_t n_rows;
    struct strait_array_form form;
    size_t payload_bytes; /* length of the codec's bytes */
};

/** Length of the head before the codec's bytes. */
size_t strait_container_head_bytes(const struct strait_container *c);
/** Write the head in front of payload_bytes bytes of the codec, which are already in place.
 *  In/out:  file  strait_container_head_bytes(c), then c->payload_bytes */
void strait_container_seal(unsigned char *file, const struct strait_container *c);
/** Read the head of a whole file; any input bytes are safe.
 *  Out:     c, at_bytes  where the codec's bytes begin; they end with the file
 *  In:      name  for errors
 *  Returns: 0, or -1 with *err INPUT. c->form.n_elems is not limited by the file's size (a few
 *           bytes can be a large constant tensor), so compare it with the memory available */
int strait_container_open(struct strait_container *c, size_t *at_bytes, const unsigned char *file,
                          size_t len_bytes, const char *name, struct strait_error *err);
