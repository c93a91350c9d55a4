/* Errors of collectives with a bounded codec against the stated composition of bounds. */
#pragma once
#include "core/hash.h"
#include "collective_cases.h"

/* Divided by 1 to 9 ranks without a rest. */
enum { N = 40 * 2520 };

static const double BOUND = 1e-4;
#define BOUNDED_CODEC "{\"name\":\"sz\",\"bound\":{\"abs\":1e-4}}"

/* Encodings whose errors are in a result. Reductions: each of the n - 1 messages that an element's
 * sum is made of, and the sum on its way back; encoded, each rank's part. Sites: as the ring of
 * their leaders. Movement: one. */
static inline int n_encodings(enum collective kind, int n)
{
    switch (kind) {
    case SITES:
        return (n + RANKS_A_SITE - 1) / RANKS_A_SITE;
    case REDUCE:
    case CHAIN:
    case SCATTER:
        return n - 1;
    case GATHER:
    case BROADCAST:
    case PIPELINED:
        return 1;
    default:
        return n;
    }
}

/* What rank k brings; a bound that is added up is tested best where all errors can be as large. */
static inline double share_of(int rank, double recorded)
{
    return recorded * (rank + 1);
}

/* Is it in element i of the result? */
static inline bool brings(enum collective kind, int rank, int n, size_t i)
{
    return kind == BROADCAST || kind == PIPELINED ? rank == n - 1
           : kind == GATHER                       ? rank == (part_with(N, i, n) + n - 1) % n
                                                  : true;
}

/* Everybody's bits are alike: rank 0 holds the others' check sums against its own. */
static inline void compare_ranks(struct strait_rank *r, enum collective kind, const float *values)
{
    const int n = strait_n_ranks(r), me = strait_me(r);
    const bool to_one = kind == REDUCE || kind == CHAIN;
    const double sum = (double)(strait_checksum(values, N * sizeof(float)) >> 12);
    if (me > 0 && has_result(kind, me, n))
        strait_send(r, 0, LAP, 0, strait_control(r, sum));
    for (int i = 1; i < n && me == 0 && !to_one; i++) {
        if (!has_result(kind, i, n))
            continue;
        struct strait_message m = strait_recv(r, i, LAP);
        if (fabs(m.packet->words[0] - sum) > 0)
            complain(r, kind, "check sum of another rank", m.packet->words[0], sum);
        strait_drop(r, m.packet);
    }
    if (to_one && me == 0)
        strait_drop(r, strait_recv(r, n - 1, LAP).packet);
}

static inline void bounded_one(struct strait_rank *r, enum collective kind, struct strait_tensor *x,
                               const float *recorded)
{
    const int n = strait_n_ranks(r), me = strait_me(r);
    float *values = strait_values(r, x);
    double worst = 0;
    for (size_t i = 0; i < N; i++)
        values[i] = (float)share_of(me, (double)recorded[i]);
    call_collective(r, kind, x);
    values = strait_values(r, x);
    for (size_t i = 0; i < N && has_result(kind, me, n); i++) {
        if (!has_element(kind, me, n, N, i))
            continue;
        double exact = 0, largest = 0;
        for (int k = 0; k < n; k++)
            exact += brings(kind, k, n, i) ? (double)(float)share_of(k, (double)recorded[i]) : 0;
        for (int k = 0; k < n; k++)
            largest += brings(kind, k, n, i) ? fabs(share_of(k, (double)recorded[i])) : 0;
        /* every addition and every decoded value rounds to float once */
        const double most = n_encodings(kind, n) * BOUND + 2 * n * ldexp(largest, -24),
                     error = fabs((double)values[i] - exact);
        worst = fmax(worst, error);
        if (error > most)
            complain(r, kind, "error", error, most);
    }
    if (n > 1 && has_result(kind, me, n) && !(worst > BOUND / 4)) /* or nothing was encoded */
        complain(r, kind, "largest error", worst, BOUND / 4);
    if (kind != SCATTER) /* there everybody ends with another part */
        compare_ranks(r, kind, values);
}

/* Sites: where there is but one, nothing is encoded. */
static inline void bounded_all(struct strait_rank *r)
{
    const int n = strait_n_ranks(r);
    struct strait_tensor *whole = strait_tensor(r, STRAIT_GRADIENTS, 0, STRAIT_ALL_LAYERS);
    struct strait_tensor *x = strait_range(r, whole, 0, N);
    float *recorded = strait_alloc(r, N, sizeof(float));
    memcpy(recorded, strait_values(r, x), N * sizeof(float));
    for (enum collective kind = 0; kind < N_COLLECTIVES; kind++) {
        /* GLOO, OPEN_MPI: plain values */
        if (kind != GLOO && kind != OPEN_MPI && n_encodings(kind, n) > (kind == SITES))
            bounded_one(r, kind, x, recorded);
        barrier(r); /* nobody writes anew what somebody still reads */
    }
}
