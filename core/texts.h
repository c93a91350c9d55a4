/* A list of strings, such as the values of an option that may be repeated. */
#pragma once
#include <stddef.h>

struct strait_texts {
    const char **items; /* free(items) is up to the owner of the struct */
    size_t n;
};
