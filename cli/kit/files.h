/* Read and write whole files; a file is never replaced by an incomplete one. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include "codecs/npy.h"
#include "core/error.h"

/** Read a whole file, or standard input if path is "-".
 *  Out:     bytes  to be freed; aligned as by malloc
 *  Returns: 0, or -1 with *err: INPUT when there is no such file or it is a folder, SYSTEM,
 *           NOMEM */
int strait_file_read(unsigned char **bytes, size_t *len_bytes, const char *path,
                     struct strait_error *err);
/** Read a .npy or raw float32 file (codecs/npy.h) as float32.
 *  Out:     x  float32[form->n_elems], to be freed
 *           n_changed  values changed by rounding to float32 */
int strait_tensor_read(struct strait_array_form *form, float **x, size_t *n_changed,
                       const char *path, struct strait_error *err);

/** Refuse a path that exists already, unless force, and one where no file can be made. "-", devices
 *  and pipes are fine.
 *  Returns: 0, or -1 with *err INPUT */
int strait_file_check_new(const char *path, bool force, struct strait_error *err);
/** Write head and body as one file, under a temporary name beside it that is then renamed. "-": to
 *  standard output; a device or pipe is written directly.
 *  Returns: 0, or -1 with *err: SYSTEM, or INPUT as strait_file_check_new */
int strait_file_write(const char *path, bool force, const void *head, size_t head_bytes,
                      const void *body, size_t body_bytes, struct strait_error *err);
