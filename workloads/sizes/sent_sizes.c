#include "sent_sizes.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "core/hash.h"

/* 24 MB of address space, of which only what is written takes memory. */
enum { MAX_NOTES = 1 << 20 };

struct note {
    uint64_t key;
    uint32_t rank, i; /* i: in the order of notes */
    uint64_t n_bytes;
};

/* Notes of one kind of one rank: [first, first + n), in their order. */
struct group {
    uint64_t key;
    size_t first, n;
};

/* What the noting process shares with the one that asks. */
struct notes {
    atomic_size_t n;
    struct note at[MAX_NOTES];
};

struct strait_sent_sizes {
    struct notes *notes;
    int n_ranks;
    struct group *groups;  /* rank by rank, by key */
    size_t *first_of_rank; /* n_ranks + 1 */
};

static uint64_t key_of(struct strait_encoding what)
{
    if (isnan(what.bound))
        what.bound = NAN; /* of all bit patterns one */
    return strait_checksum(&what, sizeof(what));
}

struct strait_sent_sizes *strait_sent_sizes_new(int n_ranks, struct strait_error *err)
{
    struct strait_sent_sizes *s = calloc(1, sizeof(*s));
    void *shared = mmap(NULL, sizeof(*s->notes), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (shared == MAP_FAILED || !s) {
        if (shared != MAP_FAILED)
            munmap(shared, sizeof(*s->notes));
        free(s);
        strait_error_memory(err, "sizes");
        return NULL;
    }
    s->notes = shared;
    s->n_ranks = n_ranks;
    return s;
}

void strait_sent_sizes_free(struct strait_sent_sizes *s)
{
    if (!s)
        return;
    munmap(s->notes, sizeof(*s->notes));
    free(s->groups);
    free(s->first_of_rank);
    free(s);
}

void strait_sent_sizes_note(struct strait_sent_sizes *s, int rank, struct strait_encoding what,
                            size_t n_bytes)
{
    const size_t i = atomic_load(&s->notes->n);
    if (i >= MAX_NOTES || rank >= s->n_ranks)
        return;
    s->notes->at[i] = (struct note){key_of(what), (uint32_t)rank, (uint32_t)i, n_bytes};
    atomic_store(&s->notes->n, i + 1);
}

static int by_rank_key_order(const void *a, const void *b)
{
    const struct note *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->i < y->i ? -1 : x->i > y->i;
}

int strait_sent_sizes_close(struct strait_sent_sizes *s, struct strait_error *err)
{
    const struct note *at = s->notes->at;
    const size_t n = atomic_load(&s->notes->n), n_ranks = (size_t)s->n_ranks;
    size_t n_groups = 0, rank = 0;
    s->groups = calloc(n + 1, sizeof(*s->groups));
    s->first_of_rank = calloc(n_ranks + 1, sizeof(*s->first_of_rank));
    if (!s->groups || !s->first_of_rank)
        return strait_error_memory(err, "sizes");
    qsort(s->notes->at, n, sizeof(*at), by_rank_key_order);
    for (size_t i = 0; i < n; i++) {
        while (rank < at[i].rank)
            s->first_of_rank[++rank] = n_groups;
        if (i > 0 && at[i].rank == at[i - 1].rank && at[i].key == at[i - 1].key)
            s->groups[n_groups - 1].n++;
        else
            s->groups[n_groups++] = (struct group){at[i].key, i, 1};
    }
    while (rank < n_ranks)
        s->first_of_rank[++rank] = n_groups;
    return 0;
}

size_t strait_sent_sizes_n(const struct strait_sent_sizes *s, int rank)
{
    return rank < s->n_ranks ? s->first_of_rank[rank + 1] - s->first_of_rank[rank] : 0;
}

static int by_key(const void *key, const void *group)
{
    const uint64_t a = *(const uint64_t *)key, b = ((const struct group *)group)->key;
    return a < b ? -1 : a > b;
}

bool strait_sent_sizes_next(size_t *n_bytes, uint32_t *n_taken, const struct strait_sent_sizes *s,
                            int rank, struct strait_encoding what)
{
    const uint64_t key = key_of(what);
    const size_t n = strait_sent_sizes_n(s, rank);
    if (n == 0)
        return false;
    const struct group *mine = s->groups + s->first_of_rank[rank];
    const struct group *of = bsearch(&key, mine, n, sizeof(*mine), by_key);
    if (!of)
        return false;
    uint32_t *taken = &n_taken[of - mine];
    *n_bytes = s->notes->at[of->first + *taken].n_bytes;
    *taken += *taken + 1 < of->n; /* stays at the last */
    return true;
}
