#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "core/buffer.h"
#include "tests/kit/suite.h"

static bool is_zero(const unsigned char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (bytes[i] != 0)
            return false;
    return true;
}

/* Twice: the second time it may be memory that was written before. */
static void zeroed(void)
{
    static const size_t sizes[] = {0, 1, 63, 4096, (2 << 20) - 1, 2 << 20, 7000001};
    for (size_t i = 0; i < 4 * sizeof(sizes) / sizeof(*sizes); i++) {
        const size_t n = sizes[i / 4];
        unsigned char *b = i % 2 ? strait_buffer_new_untouched(n) : strait_buffer_new(n);
        CU_ASSERT_PTR_NOT_NULL_FATAL(b);
        CU_ASSERT_EQUAL((uintptr_t)b % 64, 0);
        CU_ASSERT(is_zero(b, n));
        memset(b, 7, n);
        strait_buffer_free(b);
    }
    strait_buffer_free(NULL);
}

static long resident_pages(void)
{
    long size = 0, resident = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f && fscanf(f, "%ld %ld", &size, &resident) != 2)
        resident = -1;
    if (f)
        fclose(f);
    return resident;
}

/* 64 MB, in pages of 4 KiB 16384 of them; without them a few for the C library. */
static void touched_or_not(void)
{
    enum { BYTES = 64 << 20 };
    const long all = BYTES / sysconf(_SC_PAGESIZE), before = resident_pages();
    unsigned char *untouched = strait_buffer_new_untouched(BYTES);
    CU_ASSERT_PTR_NOT_NULL_FATAL(untouched);
    CU_ASSERT(resident_pages() - before < all / 8);
    strait_buffer_populate(untouched + 100, 0); /* less than a page: nothing to do */
    CU_ASSERT(resident_pages() - before < all / 8);
    unsigned char *touched = strait_buffer_new(BYTES);
    CU_ASSERT_PTR_NOT_NULL_FATAL(touched);
    const long once = resident_pages();
    CU_ASSERT(once - before >= all);
    strait_buffer_populate(untouched + 1, BYTES - 1); /* since Linux 5.14; before, still nothing */
    CU_ASSERT(resident_pages() - once >= all - 8 || resident_pages() - once < all / 8);
    CU_ASSERT(is_zero(untouched, BYTES));
    strait_buffer_free(untouched);
    strait_buffer_free(touched);
}

static void too_large(void)
{
    CU_ASSERT_PTR_NULL(strait_buffer_new(SIZE_MAX));
    CU_ASSERT_PTR_NULL(strait_buffer_new_untouched(SIZE_MAX));
}

/* 64 items, then twice as many; none beyond max, and what was there stays. */
static void growing(void)
{
    enum { MAX = 200 };
    uint32_t *items = NULL;
    size_t cap = 0, n = 0;
    while (strait_grow((void **)&items, &cap, n, sizeof(*items), MAX)) {
        CU_ASSERT_EQUAL(cap, n < 64 ? 64 : 128);
        items[n] = (uint32_t)n;
        n++;
    }
    CU_ASSERT_EQUAL(n, 128); /* 256 would be more than MAX */
    CU_ASSERT_EQUAL(cap, 128);
    for (uint32_t i = 0; i < n; i++)
        CU_ASSERT_EQUAL(items[i], i);
    CU_ASSERT_FALSE(strait_grow((void **)&items, &cap, n, SIZE_MAX / 2, SIZE_MAX));
    CU_ASSERT_EQUAL(cap, 128);
    free(items);
}

static const struct strait_test tests[] = {
    {"buffers are aligned and zero, used memory too", zeroed},
    {"pages come at once, or when they are written", touched_or_not},
    {"more than there is gives NULL", too_large},
    {"an array doubles up to its largest size", growing},
};
STRAIT_SUITE("core/buffer", tests);
