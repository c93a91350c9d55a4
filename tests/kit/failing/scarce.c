#include "scarce.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include "tests/kit/suite.h"

enum { MANY = 20000 };

static _Thread_local bool counts;
static _Thread_local long n_calls, chosen;
static struct strait_places *places; /* NULL: none are recorded */
static bool *failed;                 /* shared with processes that the function forks */

static bool fails(const void *caller)
{
    if (!counts)
        return false;
    if (places)
        strait_places_note(places, caller, n_calls);
    if (n_calls++ != chosen)
        return false;
    *failed = true;
    errno = ENOMEM;
    return true;
}

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__real_aligned_alloc(size_t alignment, size_t n);
char *__real_strdup(const char *text);
FILE *__real_open_memstream(char **bytes, size_t *n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
void *__wrap_aligned_alloc(size_t alignment, size_t n);
char *__wrap_strdup(const char *text);
FILE *__wrap_open_memstream(char **bytes, size_t *n);

void *__wrap_malloc(size_t n)
{
    return fails(__builtin_return_address(0)) ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t size)
{
    return fails(__builtin_return_address(0)) ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t n)
{
    return fails(__builtin_return_address(0)) ? NULL : __real_realloc(p, n);
}

void *__wrap_aligned_alloc(size_t alignment, size_t n)
{
    return fails(__builtin_return_address(0)) ? NULL : __real_aligned_alloc(alignment, n);
}

char *__wrap_strdup(const char *text)
{
    return fails(__builtin_return_address(0)) ? NULL : __real_strdup(text);
}

FILE *__wrap_open_memstream(char **bytes, size_t *n)
{
    return fails(__builtin_return_address(0)) ? NULL : __real_open_memstream(bytes, n);
}

void strait_scarce_begin(long n)
{
    if (!failed)
        failed = mmap(NULL, 1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CU_ASSERT_FATAL(failed != MAP_FAILED);
    n_calls = 0;
    chosen = n;
    *failed = false;
    counts = true;
}

bool strait_scarce_end(void)
{
    counts = false;
    return *failed;
}

void strait_scarce_record(struct strait_places *p)
{
    places = p;
}

static long each(int (*fn)(void *arg, struct strait_error *err), void *arg, long stride,
                 bool may_do_without)
{
    for (long n = (long)(strait_test_seed() % (uint64_t)stride); n < MANY; n += stride) {
        struct strait_error err = {0};
        strait_scarce_begin(n);
        const int status = fn(arg, &err);
        const bool ran_out = strait_scarce_end();
        strait_test_context("allocation %ld: %s: %s", n, err.where, err.text);
        if (!may_do_without || !ran_out)
            CU_ASSERT_EQUAL(status, ran_out ? -1 : 0);
        CU_ASSERT_EQUAL(err.code, status != 0 ? STRAIT_ERR_NOMEM : STRAIT_OK);
        if (!ran_out)
            return n;
    }
    CU_FAIL_FATAL("it never ends");
    return MANY;
}

long strait_scarce_each(int (*fn)(void *arg, struct strait_error *err), void *arg)
{
    return each(fn, arg, 1, false);
}

long strait_scarce_some(int (*fn)(void *arg, struct strait_error *err), void *arg, long stride)
{
    return each(fn, arg, stride, true);
}
