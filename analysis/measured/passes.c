#include "passes.h"

#include <stdlib.h>
#include <string.h>

static int by_encode(const void *a, const void *b)
{
    const struct strait_profile_entry *x = a, *y = b;
    return (x->encode_bytes_per_s > y->encode_bytes_per_s) -
           (x->encode_bytes_per_s < y->encode_bytes_per_s);
}

static int by_decode(const void *a, const void *b)
{
    const struct strait_profile_entry *x = a, *y = b;
    return (x->decode_bytes_per_s > y->decode_bytes_per_s) -
           (x->decode_bytes_per_s < y->decode_bytes_per_s);
}

void strait_passes_settle(struct strait_profile_entry *e, struct strait_profile_entry *of,
                          size_t n_passes)
{
    const size_t at = strcmp(e->codec, "none") == 0 ? n_passes / 2 : n_passes - 1;
    qsort(of, n_passes, sizeof(*of), by_encode);
    e->encode_bytes_per_s = of[at].encode_bytes_per_s;
    e->encode = of[at].encode;
    qsort(of, n_passes, sizeof(*of), by_decode);
    e->decode_bytes_per_s = of[at].decode_bytes_per_s;
    e->decode = of[at].decode;
}
