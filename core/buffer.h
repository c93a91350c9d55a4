/* Memory for tensors and payloads: zeroed, with its pages already faulted in and huge where the
 * kernel allows, so that no page fault is counted as a rank's work. */
#pragma once
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
