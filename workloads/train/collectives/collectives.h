/* Collectives, one file each. All take a codec: where data only moves it is encoded once at its
 * source (one error); where it is reduced, every hop decodes, adds and encodes again unless the
 * codec adds encoded tensors. All members of the group make the same calls in the same order on the
 * group's channel, and end with the same bits. With `none` packets are views: do not change a sent
 * tensor until all others have read it. */
#pragma once
#include "workloads/rank/rank.h"
#include "workloads/ask/strategy.h"

/* Whose algorithms and messages the movers below take: our own, as each says, or a library's. */
enum strait_library { STRAIT_TEXTBOOK, STRAIT_OPEN_MPI, STRAIT_NCCL, STRAIT_GLOO };

struct strait_group { /* the ranks of a collective, and its channel */
    const int *ranks; /* n of them, in the order of the collective */
    int n, me, channel;
    struct strait_agreement *agreement; /* of strait_agreement_of; else NULL */
    enum strait_library library;        /* of all but all-reduces, which are asked for by name */
    struct strait_gloo_room *gloo;      /* of strait_world_by_library; NULL: not Gloo's */
    double skew_s; /* how late a rank ends an exchange at most (open_mpi_messages.c); 0: never */
    struct strait_group_scratch *scratch;
};

/* Scratch of a call: n parts, n packets, 2 n tasks, n sizes and n ranks, each made by the first
 * call that needs it: all ranks of a simulation have groups of all of them. */
struct strait_tensor **strait_group_parts(struct strait_rank *r, const struct strait_group *g);
struct strait_packet **strait_group_packets(struct strait_rank *r, const struct strait_group *g);
struct strait_task **strait_group_tasks(struct strait_rank *r, const struct strait_group *g);
double *strait_group_sizes(struct strait_rank *r, const struct strait_group *g);
int *strait_group_others(struct strait_rank *r, const struct strait_group *g);
/** By rank, whether this one has a connection to it (open_mpi_messages.c). NULL for a group of some
 *  ranks. */
bool *strait_group_met(struct strait_rank *r, const struct strait_group *g);

struct strait_group strait_world(struct strait_rank *r, int channel);
/** The same with the library and the lateness that the strategy's parameters say. */
struct strait_group strait_world_by_library(struct strait_rank *r, int channel);
#define STRAIT_SKEW_PARAM                                                                          \
    {                                                                                              \
        "skew", "how late a rank of open_mpi ends an exchange at most, drawn", STRAIT_PARAM_TIME,  \
            .min = 0, .max = 10, .fallback = 1e-4                                                  \
    }
/** Wait up to most_s, as drawn for this rank, round and step: on real processors no rank is ever
 *  exactly in step with the others. */
void strait_be_late(struct strait_rank *r, double most_s, unsigned step);
extern const char *const strait_libraries[];
extern const char
    *const strait_scatter_libraries[]; /* with reduce-scatters: PyTorch's Gloo has none */
#define STRAIT_LIBRARY_PARAMS STRAIT_LIBRARY_PARAMS_OF(STRAIT_GLOO, strait_libraries)
#define STRAIT_SCATTER_LIBRARY_PARAMS                                                              \
    STRAIT_LIBRARY_PARAMS_OF(STRAIT_NCCL, strait_scatter_libraries)
#define STRAIT_LIBRARY_PARAMS_OF(most, names)                                                      \
    {"library",           "whose algorithms and messages collectives take; none: those of strait", \
     STRAIT_PARAM_CHOICE, .min = 0,                                                                \
     .max = (most),       .choices = (names)},                                                     \
        STRAIT_SKEW_PARAM
/** Copies ranks; the caller must be one of them. */
struct strait_group strait_group_of(struct strait_rank *r, const int *ranks, int n, int channel);
/** First element of part i of n, as strait_slice cuts n_elems; i = n: n_elems. */
size_t strait_part_start(size_t n_elems, int i, int n);

/** Time to call a collective beside its steps on the wire: kernel launch, the transport's threads,
 *  negotiation; 0 for a single rank. For strategies with STRAIT_LAUNCH_PARAM. */
double strait_launch_s(const struct strait_rank *r);
void strait_launch(struct strait_rank *lane); /* spends that time */
#define STRAIT_LAUNCH_PARAM                                                                        \
    {                                                                                              \
        "launch", "what calling a collective takes beside its steps on the wire",                  \
            STRAIT_PARAM_TIME, .min = 0, .max = 10                                                 \
    }

/** Negotiation: before a call, all ranks agree that they have its tensors, one call after another,
 *  beside the transfers of earlier calls. Starts a lane that passes words on from channel `from` to
 *  channel `to`, in order, each after the time to negotiate its calls; a negative word ends it.
 *  In:      n_calls  of each word; NULL: one each
 *  Returns: the lane, to be joined after that; NULL where negotiation is free: then the words stay
 *           on `from` */
struct strait_rank *strait_negotiator(struct strait_rank *r, int from, int to, const int *n_calls);
#define STRAIT_NEGOTIATE_PARAM                                                                     \
    {"negotiate", "what agreeing on a call takes, beside the transfers of earlier calls",          \
     STRAIT_PARAM_TIME, .min = 0, .max = 10},                                                      \
    {                                                                                              \
        "negotiate_hop", "and what it takes more each time the ranks double", STRAIT_PARAM_TIME,   \
            .min = 0, .max = 10                                                                    \
    }
/* Spent by strait_step() where there are several ranks. */
#define STRAIT_UPDATE_PARAM                                                                        \
    {                                                                                              \
        "update", "what updating a tensor takes once its sum is there, beside the passes",         \
            STRAIT_PARAM_TIME, .min = 0, .max = 10                                                 \
    }

enum { STRAIT_AGREEING = 9 }; /* the channel on which all ranks of a group agree */
/** Room for the norms of n_parts parts of the model at most; NULL where packets of c are added
 *  without. */
struct strait_agreement *strait_agreement_of(struct strait_rank *r, struct strait_codec *c,
                                             int n_parts);
/** All ranks of g agree on the norms of these parts; a is not NULL. */
void strait_agree(struct strait_rank *r, struct strait_agreement *a, struct strait_group g,
                  struct strait_codec *c, struct strait_tensor *const *parts, int n_parts);
/** Encode part i of them; a NULL: as strait_encode does. */
struct strait_packet *strait_encode_part(struct strait_rank *r, const struct strait_agreement *a,
                                         struct strait_codec *c, int i, struct strait_tensor *part);

/** Room to agree on statistics of the model at most (codecs/codec.h); NULL where hops are not coded
 *  by any. */
struct strait_agreement *strait_statistics_of(struct strait_rank *r, struct strait_codec *c);
/** All ranks of g agree on statistics of x, if g.agreement is for them; strait_all_reduce does so. */
void strait_agree_on_statistics(struct strait_rank *r, struct strait_group g,
                                struct strait_codec *c, struct strait_tensor *x);

/** Ring: afterwards part (me + 1) mod n of x is the sum over all ranks, added in ring order. */
void strait_reduce_scatter(struct strait_rank *r, struct strait_group g, struct strait_codec *c,
                           struct strait_tensor *x);
/** The same with every rank's part encoded once and packets added encoded, where g.agreement is for
 *  g.n parts; the codec's packets are no views.
 *  Returns: the sum of part (me + 1) mod n, for strait_all_gather_packet; NULL for a single rank */
struct strait_packet *strait_reduce_scatter_encoded(struct strait_rank *r, struct strait_group g,
                                                    struct strait_codec *c,
                                                    struct strait_tensor *x);
/** Ring: part (me + 1) mod n of x goes to all ranks, encoded once at its source. */
void strait_all_gather(struct strait_rank *r, struct strait_group g, struct strait_codec *c,
                       struct strait_tensor *x);
/** The same of a packet that encodes that part, from anywhere: also the sender decodes it. */
void strait_all_gather_packet(struct strait_rank *r, struct strait_group g,
                              struct strait_packet *taken, struct strait_tensor *x);
/** Part me of x becomes the sum over all ranks, each part sent directly to its owner: encoded once
 *  for any number of ranks. Sum order: part p begins with rank p, then p + 1, ... */
void strait_reduce_scatter_direct(struct strait_rank *r, struct strait_group g,
                                  struct strait_codec *c, struct strait_tensor *x);
/** Ring all-gather of packets of any sizes. In: all[me], which stays the caller's. Out: all[i]:
 *  rank i's packet, a reference each. sizes_first: exchange all sizes first in a round of empty
 *  messages, as receivers with fixed buffers need (GRACE). */
void strait_gather_packets(struct strait_rank *r, struct strait_group g, struct strait_packet **all,
                           bool sizes_first);

/* Scratch of strait_gather_by_gloo, for each rank. */
struct strait_gloo_room {
    struct strait_packet *(*halves)[2], **sizes;
    size_t *n_bytes;
};
struct strait_gloo_room strait_gloo_room_of(struct strait_rank *r);
/** The same by Gloo's ring, sizes first, then all packets padded to the largest; two calls, each
 *  launched. Also on the group's next channels (gloo_ring.h). For strategies with
 *  STRAIT_LAUNCH_PARAM. */
void strait_gather_by_gloo(struct strait_rank *r, struct strait_group g, struct strait_packet **all,
                           struct strait_gloo_room *room);
/** The same without launches, of a group of Gloo's; sizes_first false: all have its size. */
void strait_gather_with_gloo(struct strait_rank *r, struct strait_group g,
                             struct strait_packet **all, bool sizes_first);
bool strait_gloo_gather_uses(int n, int channel, int src, int dst); /* as strait_gloo_uses */

/** Binomial tree: root's x goes to all ranks, encoded once. root is a position in the group. */
void strait_broadcast(struct strait_rank *r, struct strait_group g, int root,
                      struct strait_codec *c, struct strait_tensor *x);
/** The same of a sum of n_ranks ranks' values, as for strait_encode_sum. */
void strait_broadcast_sum(struct strait_rank *r, struct strait_group g, int root,
                          struct strait_codec *c, int n_ranks, struct strait_tensor *x);
/** The same of a packet: the root gives its own, which it takes, the others NULL. n_bytes: its
 *  size, where all know it; 0: they do not, so that a library tells them first. Returns: the
 *  packet, a reference on each rank. */
struct strait_packet *strait_broadcast_packet(struct strait_rank *r, struct strait_group g,
                                              int root, struct strait_packet *taken,
                                              size_t n_bytes);
/** Time of that tree over n ranks of equal ports, for plans: a message takes message_s on a port of
 *  its own, and delay_s. For n = 2^k: k delays and k (k + 1) / 2 messages. */
double strait_broadcast_s(int n, double message_s, double delay_s);
/** The same along a chain from the root, in n_pieces that follow one another. */
void strait_broadcast_pipelined(struct strait_rank *r, struct strait_group g, int root,
                                struct strait_codec *c, struct strait_tensor *x, int n_pieces);
/** Binomial tree: root's x becomes the sum; the others' x holds the sums of their subtrees. */
void strait_reduce(struct strait_rank *r, struct strait_group g, int root, struct strait_codec *c,
                   struct strait_tensor *x);
/** The same sum along a chain that ends at the root, in n_pieces that follow one another; the
 *  others' x holds the partial sums. Each rank sends only to the next position. */
void strait_reduce_pipelined(struct strait_rank *r, struct strait_group g, int root,
                             struct strait_codec *c, struct strait_tensor *x, int n_pieces);
/** Whether position src may send to dst in a tree in either direction, for any root. */
bool strait_tree_uses(int n, int src, int dst);

enum strait_all_reduce {
    STRAIT_AR_RING,         /* reduce-scatter and all-gather above */
    STRAIT_AR_HALVING,      /* recursive halving, then doubling */
    STRAIT_AR_TREE,         /* reduce to place 0, then broadcast */
    STRAIT_AR_ALL_TO_ALL,   /* every part directly to its owner, the sums directly to all */
    STRAIT_AR_RING_ENCODED, /* the ring with packets added encoded: strait_codec_adds */
    STRAIT_AR_DOUBLE_TREE,  /* two trees, also on the group's next channel */
    STRAIT_AR_GLOO,         /* Gloo's ring; plain values, also on the group's next channel */
    STRAIT_AR_PAT,          /* a binomial tree for each part, from its owner */
    STRAIT_AR_OPEN_MPI,     /* Open MPI's over TCP, with its handshakes; plain values */
    STRAIT_AR_NCCL          /* NCCL's, as its tuning chooses; plain values, also the next channel */
};
/* Where the strategy's codec adds: strait_codec_adds for encoded. */
enum { STRAIT_SUMS_DECODED, STRAIT_SUMS_ENCODED };
extern const char *const strait_sums[];
#define STRAIT_SUMS_PARAM                                                                          \
    {                                                                                              \
        "sums", "add decoded values, or the codec's packets as they are", STRAIT_PARAM_CHOICE,     \
            .min = 0, .max = 1, .fallback = STRAIT_SUMS_DECODED, .choices = strait_sums            \
    }
/** x becomes the sum over all ranks. Orders of summation: see each file. */
void strait_all_reduce(struct strait_rank *r, struct strait_group g, struct strait_codec *c,
                       struct strait_tensor *x, enum strait_all_reduce how);
/** Whether position src of n may send to dst: segments (channel 0), or that it is ready for one. */
bool strait_gloo_uses(int n, int channel, int src, int dst);
/** Whether position src of n may send to dst on this channel, the group's being 0. */
bool strait_open_mpi_uses(int n, size_t n_elems, int channel, int src, int dst);
/** Whether the strategy's library may send from src to dst, on the group's channel `data`, or to
 *  answer: any rank, as sizes decide. Gloo has channels of its own. */
bool strait_library_uses(const struct strait_experiment *e, int channel, int data, int src,
                         int dst);
/** A `carrier` of data on channel 0: a library has one connection for each pair, so that its
 *  answers wait behind data, and keep the connection from being idle. */
int strait_library_carrier(const struct strait_experiment *e, int channel);
bool strait_has_library(const struct strait_experiment *e);
/** A `needs_packets`: with such a library both directions of a link are full. */
bool strait_library_needs_packets(const struct strait_experiment *e);
/** Its all-reduce; not of STRAIT_TEXTBOOK. */
enum strait_all_reduce strait_library_sum(enum strait_library library);
/* NCCL's plan of a call: at most two channels, each a ring or a tree. */
enum { STRAIT_NCCL_CHANNELS = 2 };
struct strait_nccl_plan {
    bool is_tree, is_pat; /* else: a ring */
    bool is_ll;           /* flags beside data (LL) or not (Simple) */
    int n_channels;       /* 1 for small ones */
    size_t chunk_bytes;   /* of a ring's step */
    double us;            /* what its tuning thinks that it takes */
};
/** Its choice for n > 1 ranks of one accelerator each, by the slowest port of the network. */
struct strait_nccl_plan strait_nccl_plan(const struct strait_network *network, int n,
                                         size_t n_elems);
/** Whether position src of n may send to dst on this channel, from the group's on. */
bool strait_nccl_uses(const struct strait_network *network, int n, size_t n_elems, int channel,
                      int src, int dst);
/** The same in any of its calls, whatever their sizes. */
bool strait_nccl_may_use(int n, int channel, int src, int dst);
/** Whether position src of n may send to dst in the first (0) or the second tree (1). */
bool strait_double_tree_uses(int n, int tree, int src, int dst);
/** Whether its hops are coded by statistics that ranks agree on, where the codec has any. */
bool strait_all_reduce_agrees(enum strait_all_reduce how);
/** Whether position src of n may send to dst; for uses_stream of a strategy. */
bool strait_all_reduce_uses(enum strait_all_reduce how, int n, int src, int dst);

/* Sites: groups of neighbouring ranks, each led by its first rank. Sums inside a site are not
 * encoded. */
struct strait_sites {
    int n_ranks;
    int (*of)(const void *arg, int rank); /* the site of a rank, any number */
    const void *arg;
};
struct strait_hierarchy {
    struct strait_group site, leaders; /* leaders.me: -1 for ranks that are not leaders */
};
/** Each site, and the leaders, have a channel of their own. */
struct strait_hierarchy strait_hierarchy_of(struct strait_rank *r, struct strait_sites sites,
                                            int channel_inside, int channel_between);
/** Reduce to the site's leader, ring all-reduce among leaders with the codec, broadcast in the
 *  site. */
void strait_all_reduce_by_sites(struct strait_rank *r, const struct strait_hierarchy *h,
                                struct strait_codec *c, struct strait_tensor *x);
/** Whether these two agree on statistics: leaders of sites do. */
bool strait_hierarchy_agrees(struct strait_sites sites, int src, int dst);
/** Whether src may send to dst inside a site, or between leaders. */
bool strait_hierarchy_uses(struct strait_sites sites, int src, int dst, bool inside);
