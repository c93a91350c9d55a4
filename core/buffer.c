#include "buffer.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { HUGE_PAGE_BYTES = 2 << 20, CACHE_LINE_BYTES = 64 };

void *strait_buffer_new(size_t len_bytes)
{
    const size_t align = len_bytes >= HUGE_PAGE_BYTES ? HUGE_PAGE_BYTES : CACHE_LINE_BYTES;
    void *buffer;
    if (len_bytes > SIZE_MAX - align)
        return NULL;
    const size_t rounded = (len_bytes / align + 1) * align;
    if (posix_memalign(&buffer, align, rounded) != 0)
        return NULL;
    if (align == HUGE_PAGE_BYTES)
        madvise(buffer, rounded, MADV_HUGEPAGE); /* a wish: without it pages are small */
    memset(buffer, 0, rounded);
    return buffer;
}

void strait_buffer_free(void *buffer)
{
    free(buffer);
}
