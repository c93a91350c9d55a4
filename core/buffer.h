/* Memory for tensors and payloads: zeroed, with its pages already faulted in and huge where the
 * kernel allows, so that no page fault is counted as a rank's work. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

/** Allocate at least len_bytes of zeros, 64-byte aligned. NULL when memory ran out. */
void *strait_buffer_new(size_t len_bytes);
/** The same without faulting pages in: for buffers that are rarely used to their end. */
void *strait_buffer_new_untouched(size_t len_bytes);
/** Fault in all pages of an allocation at once so that they are contiguous. */
void strait_buffer_populate(void *memory, size_t len_bytes);
void strait_buffer_free(void *buffer); /* NULL is fine */
/** Bytes that strait_buffer_new allocates for a buffer of this length. */
size_t strait_buffer_bytes(size_t len_bytes);

/** Make room for one more item in an array of n, doubling it.
 *  In:      items, cap  the array and the items that it has room for; NULL and 0 in the beginning
 *           max         items that it may ever have room for
 *  Returns: false when memory runs out, or max is reached; the array is then as it was */
bool strait_grow(void **items, size_t *cap, size_t n, size_t size, size_t max);
