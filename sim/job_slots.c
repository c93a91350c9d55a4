#include "job_slots.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "core/heap.h"

int strait_slots_init(struct strait_slots *s, unsigned n)
{
    memset(s, 0, sizeof(*s));
    if (n > 1 && !(s->several_s = calloc(n, sizeof(*s->several_s))))
        return -1;
    s->n = n;
    return 0;
}

static void sift_down(double *heap, unsigned n, double value)
{
    unsigned i = 0;
    for (unsigned child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && heap[child + 1] < heap[child])
            child++;
        if (heap[child] >= value)
            break;
        heap[i] = heap[child];
    }
    heap[i] = value;
}

static void sift_up(double *heap, unsigned i, double value)
{
    for (; i > 0 && heap[(i - 1) / 2] > value; i = (i - 1) / 2)
        heap[i] = heap[(i - 1) / 2];
    heap[i] = value;
}

/* No job overtakes: the remaining slots were not free before those taken, so no later job starts
 * earlier than this one. */
double strait_slots_queue(struct strait_slots *s, double now_s, unsigned n_slots, double cost_s)
{
    assert(n_slots > 0 && n_slots <= s->n);
    if (s->n == 1) {
        const double only_s = strait_most(now_s, s->one_s);
        s->one_s = only_s + cost_s;
        return only_s;
    }
    double *const free_s = s->several_s;
    double start_s = now_s;
    unsigned n = s->n;
    for (unsigned i = 0; i < n_slots; i++) { /* the n_slots that are free first */
        start_s = strait_most(start_s, free_s[0]);
        n--;
        sift_down(free_s, n, free_s[n]);
    }
    for (; n < s->n; n++)
        sift_up(free_s, n, start_s + cost_s);
    return start_s;
}

void strait_slots_release(struct strait_slots *s)
{
    if (s->n > 1)
        free(s->several_s);
    memset(s, 0, sizeof(*s));
}
