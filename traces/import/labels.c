#include "labels.h"

#include <stdlib.h>
#include <string.h>

#include "core/hash.h"

/* Numbers follow one another: 16 of them share a line of the cache. */
static uint64_t hash_of(const void *label, size_t len)
{
    uint64_t number, block;
    if (len != sizeof(number))
        return strait_checksum(label, len);
    memcpy(&number, label, sizeof(number));
    block = number >> 4;
    return (strait_checksum(&block, sizeof(block)) & ~(uint64_t)15) |
           ((number ^ number >> 56) & 15); /* of a text its last letter */
}

static size_t place_of(const struct strait_labels *l, const void *label, size_t len)
{
    size_t i = hash_of(label, len) & (l->cap_table - 1);
    for (;; i = (i + 1) & (l->cap_table - 1)) {
        const uint32_t item = l->table[i];
        if (item == 0 || (l->items[item - 1].len == len &&
                          memcmp(l->bytes + l->items[item - 1].at, label, len) == 0))
            return i;
    }
}

int64_t strait_labels_find(const struct strait_labels *l, const void *label, size_t len)
{
    return l->cap_table > 0 ? (int64_t)l->table[place_of(l, label, len)] - 1 : -1;
}

static bool room(void **memory, size_t *cap, size_t wanted, size_t size)
{
    if (wanted <= *cap)
        return true;
    const size_t more = wanted + wanted / 2 + 64;
    void *p = realloc(*memory, more * size);
    if (!p)
        return false;
    *memory = p;
    *cap = more;
    return true;
}

/* At most half of the table is taken. */
static bool grow_table(struct strait_labels *l)
{
    if (2 * (l->n + 1) <= l->cap_table)
        return true;
    const size_t cap = l->cap_table ? 2 * l->cap_table : 256;
    uint32_t *table = calloc(cap, sizeof(*table));
    if (!table)
        return false;
    free(l->table);
    l->table = table;
    l->cap_table = cap;
    for (size_t i = 0; i < l->n; i++)
        l->table[place_of(l, l->bytes + l->items[i].at, l->items[i].len)] = (uint32_t)i + 1;
    return true;
}

bool strait_labels_put(struct strait_labels *l, const void *label, size_t len, uint32_t value)
{
    if (l->n_bytes + len > UINT32_MAX ||
        !room((void **)&l->bytes, &l->cap_bytes, l->n_bytes + len + 1, 1) ||
        !room((void **)&l->items, &l->cap_items, l->n + 1, sizeof(*l->items)) || !grow_table(l))
        return false;
    memcpy(l->bytes + l->n_bytes, label, len);
    l->items[l->n].at = (uint32_t)l->n_bytes;
    l->items[l->n].len = (uint32_t)len;
    l->items[l->n].value = value;
    l->n_bytes += len;
    l->table[place_of(l, label, len)] = (uint32_t)++l->n;
    return true;
}

void strait_labels_clear(struct strait_labels *l)
{
    l->n = l->n_bytes = 0;
    if (l->table)
        memset(l->table, 0, l->cap_table * sizeof(*l->table));
}

void strait_labels_release(struct strait_labels *l)
{
    free(l->bytes);
    free(l->items);
    free(l->table);
    *l = (struct strait_labels){0};
}
