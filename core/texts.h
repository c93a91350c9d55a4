/* A list of texts, such as an option that may be given again and again. */
#pragma once
#include <stddef.h>

struct strait_texts {
    const char **items; /* owned by whoever declared it: free(items) */
    size_t n;
};
