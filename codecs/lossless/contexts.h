/* Bytes coded under several tables: a symbol's context, which both sides know before it, says
 * which. Contexts are numbered so that neighbours are alike; runs of them share a table. */
#pragma once
#include <stdbool.h>
#include "codecs/sz/sz_parts.h"

enum {
    STRAIT_CONTEXTS = 256,
    STRAIT_CONTEXT_TABLES = 16,
    STRAIT_CONTEXT_TILE = 64, /* symbols of a lane that follow each other */
};

enum { STRAIT_CONTEXT_LOGS = 4096 };
struct strait_context_counts {
    uint32_t n[STRAIT_CONTEXTS][256]; /* valid where the context occurs */
    bool occurs[STRAIT_CONTEXTS];
};

/** Fill n log2 n for n up to STRAIT_CONTEXT_LOGS - 1. */
void strait_contexts_logs(double *logs);

struct strait_context_tables {
    unsigned n_tables;
    uint8_t of[STRAIT_CONTEXTS]; /* the table of a context, ascending */
    struct sz_freqs freqs[STRAIT_CONTEXT_TABLES];
};

struct strait_context_coder {
    struct sz_put_table put[STRAIT_CONTEXT_TABLES];
    uint32_t slots[STRAIT_CONTEXT_TABLES][SZ_PROB];
    uint32_t states[SZ_LANES];
};

/** Add n symbols to the counts of their contexts. In: context of each symbol, or NULL: the symbol
 *  before it in its lane, 0 for the first; n_all: symbols of the call, of which these begin at a
 *  multiple of 2048 and are as many, or the last */
void strait_contexts_count(struct strait_context_counts *counts, const uint8_t *symbols,
                           const uint8_t *context, size_t n, size_t n_all);
/** Join runs of contexts while data and tables together get shorter, to 16 tables at most; joins
 *  the counts too. Returns: about how many bits both take; 0 if there is no symbol */
double strait_contexts_join(struct strait_context_tables *tables,
                            struct strait_context_counts *counts, const double *logs);
void strait_contexts_write(struct strait_writer *w, const struct strait_context_tables *tables);
/** False when malformed. */
bool strait_contexts_read(struct strait_reader *r, struct strait_context_tables *tables);

/** Code n symbols backwards.
 *  Out:     c->states  strait_context_lanes(n) of them
 *           end        n + 8 words in front of it may be written
 *  Returns: the first word */
uint16_t *strait_contexts_put(struct strait_context_coder *c, uint16_t *end,
                              const struct strait_context_tables *tables, const uint8_t *symbols,
                              const uint8_t *context, size_t n);
/** The inverse. In: words: n words and 2 bytes may be read; c->states. Returns: the end of what was
 *  taken of them */
const unsigned char *strait_contexts_get(struct strait_context_coder *c, uint8_t *symbols,
                                         const struct strait_context_tables *tables,
                                         const uint8_t *context, size_t n,
                                         const unsigned char *words);

static inline unsigned strait_context_lanes(size_t n)
{
    return n < SZ_MANY ? SZ_FEW_LANES : SZ_LANES;
}
