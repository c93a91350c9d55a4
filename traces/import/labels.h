/* Labels of nodes and their numbers: a hash table of byte strings, 4 GB of them at most. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct strait_label {
    uint32_t at, len, value;
};

struct strait_labels {
    char *bytes; /* all labels, one behind the other */
    size_t n_bytes, cap_bytes;
    struct strait_label *items;
    size_t n, cap_items;
    uint32_t *table; /* index of an item + 1; 0: free */
    size_t cap_table;
};

/** Index of a label among the items; -1: it is not there. */
int64_t strait_labels_find(const struct strait_labels *l, const void *label, size_t len);
/** Add a label that is not there, as the last item. False when memory runs out. */
bool strait_labels_put(struct strait_labels *l, const void *label, size_t len, uint32_t value);
/** Forget all labels, keep the memory. */
void strait_labels_clear(struct strait_labels *l);
void strait_labels_release(struct strait_labels *l);
