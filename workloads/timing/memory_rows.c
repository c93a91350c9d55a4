#include "memory_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/buffer.h"
#include "timing.h"
#include "turns.h"
#include "core/heap.h"

enum { MIN_ROW_BYTES = 64, SHARE = 8 };

/* xorshift64* (Vigna, 2016): a nanosecond a row, where a keyed draw would take longer than the
 * row. */
static uint64_t draw(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(2685821657736338717);
}

void strait_gather(void *gather)
{
    struct strait_gather *g = gather;
    if (g->n_rows >= g->n_stored) {
        memcpy(g->to, g->from, g->n_stored * g->row_bytes);
        return;
    }
    size_t first = 0;
    for (size_t i = 0; i < g->n_rows; i++) {
        const size_t end = (i + 1) * g->n_stored / g->n_rows;
        const size_t at = first + (size_t)(draw(&g->state) >> 32) % (end - first);
        memcpy(g->to + i * g->row_bytes, g->from + at * g->row_bytes, g->row_bytes);
        first = end;
    }
}

/* Seconds of one gather. */
static double typical_s(struct strait_gather *g, size_t n_repeats, const struct strait_sweeper *s)
{
    double taken_s[STRAIT_TIMING_MAX_REPEATS];
    const size_t n = n_repeats < STRAIT_TIMING_MAX_REPEATS ? n_repeats : STRAIT_TIMING_MAX_REPEATS;
    for (size_t i = 0; i < n; i++) {
        strait_sweep(s);
        const double from_s = strait_cpu_s();
        strait_gather(g);
        taken_s[i] = fmax(strait_cpu_s() - from_s, 1e-9);
    }
    strait_sort(taken_s, n);
    return strait_typical_s(taken_s, n);
}

int strait_time_gather(struct strait_gather_speed *out, size_t n_repeats, struct strait_error *err)
{
    struct strait_sweeper sweeper = {0};
    const size_t stored_bytes = strait_sweep_bytes(), len_bytes = stored_bytes / SHARE;
    unsigned char *from = strait_buffer_new(stored_bytes), *to = strait_buffer_new(len_bytes);
    int failed =
        from && to ? strait_sweeper_init(&sweeper, err) : strait_error_memory(err, "timing");
    if (!failed) {
        struct strait_gather g = {to, from, len_bytes, 1, 1, 1};
        out->bytes_per_s = (double)len_bytes / typical_s(&g, n_repeats, &sweeper);
        for (size_t i = 0; i < STRAIT_N_GATHER_ROWS; i++) {
            g.row_bytes = (size_t)MIN_ROW_BYTES << i;
            g.n_rows = len_bytes / g.row_bytes;
            g.n_stored = stored_bytes / g.row_bytes;
            const double speed = (double)len_bytes / typical_s(&g, n_repeats, &sweeper);
            out->row_bytes[i] = (double)g.row_bytes;
            out->efficiency[i] = fmin(1, speed / out->bytes_per_s);
        }
    }
    strait_sweeper_release(&sweeper);
    strait_buffer_free(from);
    strait_buffer_free(to);
    return failed;
}
