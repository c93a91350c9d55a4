/* What limits a round, in a sentence. */
#include "limits.h"

#include <math.h>
#include <stdio.h>
#include "critical_path.h"
#include "utilisation.h"

/* A client that computes longer than the mean by more than this is named a straggler: a tenth is
 * beyond the spread of equal machines (p90 over p50 of the shipped models' steps). */
static const double STRAGGLER_RATIO = 1.1;

enum limit {
    OTHER,
    DEADLINE,
    LATENCY,
    COMPUTE,
    ENCODE,
    DECODE,
    AGGREGATE,
    HOST_LINK,
    LINKS,
    STRAGGLER
};
static const struct {
    const char *by, *text; /* in the row; in a sentence, before where it is */
} limits[] = {[OTHER] = {"other", "nothing that is logged"},
              [DEADLINE] = {"deadline", "waiting for the deadline of the round"},
              [LATENCY] = {"latency", "latency (delays, slow start, losses)"},
              [COMPUTE] = {"compute", "computing at "},
              [ENCODE] = {"encode", "encoding at "},
              [DECODE] = {"decode", "decoding at "},
              [AGGREGATE] = {"aggregate", "adding up at "},
              [HOST_LINK] = {"host-link", "the link to the accelerator of "},
              [LINKS] = {"link", ""},
              [STRAGGLER] = {"straggler", "straggler "}};

struct verdict {
    enum limit limit;
    char at[STRAIT_LINK_NAME_CHARS];
    double s, utilisation; /* seconds a round; NAN: no resource */
    int link;              /* of a port, which has two; -1: none */
};

/* By how many times a rank computes longer than the mean of all that do. */
static double slower_ratio(const struct strait_utilisation *u,
                           const struct strait_limits_inputs *in, int rank)
{
    const double *busy = in->on_cpu ? u->cores : u->accelerators;
    const int first = in->has_server ? 1 : 0;
    double sum = 0;
    for (int r = first; r < u->n_ranks; r++)
        sum += busy[r];
    return sum > 0 ? busy[rank] * (u->n_ranks - first) / sum : 1;
}

static struct verdict of_rank(enum limit limit, enum strait_part part,
                              const struct strait_critical_path *p,
                              const struct strait_utilisation *u,
                              const struct strait_limits_inputs *in)
{
    struct verdict v = {.limit = limit, .s = p->part_s[part], .utilisation = NAN, .link = -1};
    const int rank = p->rank[part];
    if (rank < 0)
        return v;
    const bool straggles = limit == COMPUTE && slower_ratio(u, in, rank) > STRAGGLER_RATIO;
    v.limit = straggles ? STRAGGLER : limit;
    strait_rank_name(v.at, in->has_server, rank);
    v.utilisation = limit == HOST_LINK                ? u->host_links[rank]
                    : limit == COMPUTE && !in->on_cpu ? u->accelerators[rank]
                                                      : u->cores[rank];
    return v;
}

/* What has most of the critical path; a link counts with all that it carried meanwhile. */
static struct verdict judge(const struct strait_critical_path *p,
                            const struct strait_utilisation *u,
                            const struct strait_limits_inputs *in)
{
    static const struct {
        enum limit limit;
        enum strait_part part;
    } ranks[] = {{COMPUTE, STRAIT_PART_COMPUTE},
                 {ENCODE, STRAIT_PART_ENCODE},
                 {DECODE, STRAIT_PART_DECODE},
                 {AGGREGATE, STRAIT_PART_AGGREGATE},
                 {HOST_LINK, STRAIT_PART_TRANSFER}}; /* of a rank: no network's */
    struct verdict v = {.limit = in->has_deadline ? DEADLINE : OTHER,
                        .s = p->part_s[STRAIT_PART_OTHER],
                        .utilisation = NAN,
                        .link = -1};
    if (p->part_s[STRAIT_PART_LATENCY] > v.s) {
        v.limit = LATENCY;
        v.s = p->part_s[STRAIT_PART_LATENCY];
    }
    for (size_t i = 0; i < sizeof(ranks) / sizeof(*ranks); i++)
        if (p->part_s[ranks[i].part] > v.s &&
            (ranks[i].limit != HOST_LINK || p->rank[STRAIT_PART_TRANSFER] >= 0))
            v = of_rank(ranks[i].limit, ranks[i].part, p, u, in);
    for (int kind = 0; kind < STRAIT_N_LINKS; kind++)
        if (p->busiest[kind] >= 0 && p->links_s[kind] > v.s) {
            v = (struct verdict){LINKS, "", p->links_s[kind], u->links[p->busiest[kind]],
                                 kind == STRAIT_SITE_PAIRS ? -1 : p->busiest[kind]};
            strait_link_name(v.at, in->network, p->busiest[kind]);
        }
    return v;
}

/* ", busy 97 % of the time" of a resource, of a link in both directions. */
static const char *busy_text(char buf[96], const struct verdict *v,
                             const struct strait_utilisation *u)
{
    *buf = '\0';
    if (v->limit == LINKS && v->link >= 0) {
        const int other = v->link ^ 1; /* links of ports are pairs */
        snprintf(buf, 96, ", filled %.0f %% of the time, %.0f %% the other way",
                 100 * v->utilisation, 100 * u->links[other]);
    } else if (isfinite(v->utilisation)) {
        snprintf(buf, 96, ", busy %.0f %% of the time", 100 * v->utilisation);
    }
    return buf;
}

static json_t *verdict_json(const struct verdict *v, const struct strait_utilisation *u,
                            const struct strait_limits_inputs *in)
{
    char busy[96];
    const double share = in->round_s > 0 ? v->s / in->round_s : 0;
    return json_pack("{s:s, s:s?, s:f, s:o, s:o}", "by", limits[v->limit].by, "at",
                     *v->at ? v->at : NULL, "share", share, "utilisation",
                     isfinite(v->utilisation) ? json_real(v->utilisation) : json_null(), "text",
                     json_sprintf("%s%s%s: %.0f %% of the round", limits[v->limit].text, v->at,
                                  busy_text(busy, v, u), 100 * share));
}

struct watch {
    struct strait_utilisation use;
    const struct strait_span_witness *also;
};

static void see(void *of, const struct strait_span *s)
{
    struct watch *w = of;
    strait_utilisation_add(&w->use, s);
    if (w->also->see)
        w->also->see(w->also->arg, s);
}

int strait_limits_put(json_t *row, const struct strait_limits_inputs *in, struct strait_error *err)
{
    static const char *const keys[] = {"critical_path", "utilisation", "limits"};
    struct strait_critical_path path;
    struct watch watch = {.also = &in->also};
    struct strait_utilisation *use = &watch.use;
    const struct strait_span_witness witness = {see, &watch};
    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
        json_object_set_new(row, keys[i], json_null());
    if (!(in->known_s > 0))
        return 0;
    if (strait_utilisation_begin(use, in, err) != 0)
        return -1;
    if (strait_critical_path_of(&path, in, &witness, err) != 0) {
        strait_utilisation_release(use);
        return -1;
    }
    strait_utilisation_end(use);
    const struct verdict v = judge(&path, use, in);
    json_object_set_new(row, keys[0], strait_critical_path_json(&path, in));
    json_object_set_new(row, keys[1], strait_utilisation_json(use, in));
    const int failed = json_object_set_new(row, keys[2], verdict_json(&v, use, in));
    strait_utilisation_release(use);
    return failed ? strait_error_memory(err, "limits") : 0;
}
