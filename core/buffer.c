#include "buffer.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { HUGE_PAGE_BYTES = 2 << 20, CACHE_LINE_BYTES = 64 };

static size_t align_of(size_t len_bytes)
{
    return len_bytes >= HUGE_PAGE_BYTES ? HUGE_PAGE_BYTES : CACHE_LINE_BYTES;
}

size_t strait_buffer_bytes(size_t len_bytes)
{
    const size_t align = align_of(len_bytes);
    return (len_bytes / align + 1) * align;
}

void *strait_buffer_new_untouched(size_t len_bytes)
{
    const size_t align = align_of(len_bytes);
    void *buffer;
    if (align == CACHE_LINE_BYTES)
        return strait_buffer_new(len_bytes);
    if (len_bytes > SIZE_MAX - 2 * align)
        return NULL;
    const size_t rounded = strait_buffer_bytes(len_bytes);
    if (posix_memalign(&buffer, align, rounded) != 0)
        return NULL;
    madvise(buffer, rounded, MADV_DONTNEED); /* clears what an earlier owner of this memory wrote */
    return buffer;
}

void strait_buffer_populate(void *memory, size_t len_bytes)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), at = (uintptr_t)memory;
    const uintptr_t first = (at + page - 1) / page * page, end = (at + len_bytes) / page * page;
    if (first < end) /* only advice: if refused, pages are faulted in one by one */
        madvise((char *)memory + (first - at), end - first, MADV_POPULATE_WRITE);
}

void *strait_buffer_new(size_t len_bytes)
{
    const size_t align = align_of(len_bytes);
    void *buffer;
    if (len_bytes > SIZE_MAX - align)
        return NULL;
    const size_t rounded = strait_buffer_bytes(len_bytes);
    if (posix_memalign(&buffer, align, rounded) != 0)
        return NULL;
    if (align == HUGE_PAGE_BYTES)
        madvise(buffer, rounded, MADV_HUGEPAGE); /* only advice: if refused, pages stay small */
    if (align == HUGE_PAGE_BYTES)
        strait_buffer_populate(buffer, rounded);
    memset(buffer, 0, rounded);
    return buffer;
}

void strait_buffer_free(void *buffer)
{
    free(buffer);
}

bool strait_grow(void **items, size_t *cap, size_t n, size_t size, size_t max)
{
    if (n < *cap)
        return true;
    const size_t more = *cap > 0 ? 2 * *cap : 64;
    void *p = more <= max && more <= SIZE_MAX / size ? realloc(*items, more * size) : NULL;
    if (!p)
        return false;
    *items = p;
    *cap = more;
    return true;
}
