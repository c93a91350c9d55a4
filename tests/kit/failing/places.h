/* Places of the program that make a call which can fail. A command makes thousands of calls from a
 * few hundred places: each place once is enough to see what it does with a failure. */
#pragma once
#include <stdatomic.h>

enum { MAX_PLACES = 1 << 12 };

/* Shared with processes that are forked. */
struct strait_places {
    atomic_int n;
    long first[MAX_PLACES]; /* number of each place's first call, as they came */
    _Atomic(const void *) slots[2 * MAX_PLACES];
};

/** Asserts success. */
struct strait_places *strait_places_new(void);
void strait_places_free(struct strait_places *p);
/** A call with this number, from there. */
void strait_places_note(struct strait_places *p, const void *caller, long number);
