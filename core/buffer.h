/* Memory for tensors and payloads: zeroed, touched, and in huge pages where the kernel has them, so
 * that no page fault is charged to whoever writes it first. */
#pragma once
#include <stddef.h>

/** At least len_bytes of zeros, 64-byte aligned. NULL when memory ran out. */
void *strait_buffer_new(size_t len_bytes);
/** The same, but pages come when they are written first: for what is rarely used to its end. */
void *strait_buffer_new_untouched(size_t len_bytes);
/** Touch what is not there yet of any memory, as a whole: so its pages lie side by side. */
void strait_buffer_populate(void *memory, size_t len_bytes);
void strait_buffer_free(void *buffer); /* NULL is fine */
/** What strait_buffer_new takes for so many. */
size_t strait_buffer_bytes(size_t len_bytes);
