/* Foreign work in a process of its own, as the caller and that process see it. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct strait_isolated_job {
    size_t in_bytes;  /* length at `in` */
    size_t out_bytes; /* room at `out`; afterwards the length written there */
    uint64_t args[4]; /* arguments of the work, by its own convention */
    unsigned good;    /* afterwards: 1 if the work returned true, else 0 */
};

/** The foreign work. In: in: read-only; out: 64-byte aligned. */
typedef bool (*strait_isolated_work)(const void *context, struct strait_isolated_job *job,
                                     const unsigned char *in, unsigned char *out);
