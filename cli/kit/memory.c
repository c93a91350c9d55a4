#include "memory.h"
#include <jansson.h>
#include <stdlib.h>
#include <unistd.h>

/* Allocates nothing. Buffered output is lost: what is printed is complete or not there. */
static void end(void) __attribute__((noreturn));
static void end(void)
{
    static const char text[] = "strait: memory ran out\n";
    if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0)
        _exit(EXIT_FAILURE); /* nobody hears it */
    _exit(EXIT_FAILURE);
}

static void *allocate(size_t n_bytes)
{
    void *p = malloc(n_bytes);
    return n_bytes == 0 ? p : strait_or_end(p);
}

void *strait_or_end(void *p)
{
    if (!p)
        end();
    return p;
}

void strait_show_table(struct strait_table *t)
{
    if (strait_table_finish(t, stdout, NULL) != 0)
        end();
}

void strait_json_or_end(void)
{
    json_set_alloc_funcs(allocate, free);
}
