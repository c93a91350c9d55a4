/* Inside this room: nodes of Chakra execution traces, whatever their encoding, as a graph. */
#pragma once
#include "imported.h"
#include "labels.h"

/* Kinds as in Chakra's et_def.proto. */
enum strait_chakra_kind {
    STRAIT_CHAKRA_METADATA = 1,
    STRAIT_CHAKRA_MEM_LOAD,
    STRAIT_CHAKRA_MEM_STORE,
    STRAIT_CHAKRA_COMP,
    STRAIT_CHAKRA_SEND,
    STRAIT_CHAKRA_RECV,
    STRAIT_CHAKRA_COLLECTIVE
};

struct strait_chakra_node {
    uint64_t id;
    double kind, duration_us, n_ops;                           /* numbers as the file has them */
    double comm_type, comm_size, comm_src, comm_dst, comm_tag; /* -1: not there */
    double root;
    bool is_cpu;
    char group[64]; /* pg_name; "": all ranks */
    uint64_t *deps; /* ids; memory of the reader, used again */
    size_t n_deps, cap_deps;
};

/* A trace of one file a rank while it is read. */
struct strait_chakra {
    struct strait_import *in;
    int rank, n_ranks;
    struct strait_labels ids;    /* of this rank; value: node + 1 */
    struct strait_labels groups; /* names; value: bit for what is said of it */
    size_t n_memory, n_unknown, n_comm, n_calls;
    struct strait_chakra_node node; /* the current one */
};

void strait_chakra_node_begin(struct strait_chakra_node *n);
/** One more dependency. False when memory runs out. */
bool strait_chakra_depend(struct strait_chakra_node *n, uint64_t id);
/** Put an attribute or key of a node into it, by its name; others are ignored. text may be NULL. */
void strait_chakra_attribute(struct strait_chakra_node *n, const char *name, double value,
                             const char *text);
/** Add the current node to the graph. 0, or -1 with *err naming the byte. */
int strait_chakra_add(struct strait_chakra *c, struct strait_source *s, struct strait_error *err);
/** Read all files: the first is open, the others have ".1.", ".2.", ... in place of its ".0.".
 *  In:  read  reads the nodes of one file */
int strait_chakra_read(struct strait_import *in, struct strait_source *s,
                       int (*read)(struct strait_chakra *c, struct strait_source *s,
                                   struct strait_error *err),
                       struct strait_error *err);
