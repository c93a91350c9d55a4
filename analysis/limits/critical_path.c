/* Which rank or link each second of the critical path is spent on. */
#include "critical_path.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Sums of a few thousand numbers that are equal differ by less. */
static const double SAME_RATIO = 1e-9;

static const char *const names[STRAIT_N_PARTS] = {"compute", "encode", "transfer",  "wait",
                                                  "latency", "decode", "aggregate", "other"};

struct sums {
    const struct strait_limits_inputs *in;
    struct strait_carried_question *asked; /* of the steps that are transfers, hop by hop */
    size_t n_asked, n_read;
    double *rank_s[STRAIT_N_PARTS], *link_s[STRAIT_N_PARTS]; /* by rank; by link */
    double most_latency_s;                                   /* of one step */
    struct strait_critical_path *out;
};

static struct strait_span span_of(const struct strait_path_step *step)
{
    return (struct strait_span){
        .kind = step->kind, .rank = step->rank, .peer = step->peer, .bytes = step->bytes};
}

static enum strait_part part_of(const struct strait_path_step *step)
{
    switch (step->is_gap ? STRAIT_SPAN_WAIT : step->kind) {
    case STRAIT_SPAN_COMPUTE:
        return STRAIT_PART_COMPUTE;
    case STRAIT_SPAN_ENCODE:
        return STRAIT_PART_ENCODE;
    case STRAIT_SPAN_DECODE:
        return STRAIT_PART_DECODE;
    case STRAIT_SPAN_AGGREGATE:
        return STRAIT_PART_AGGREGATE;
    case STRAIT_SPAN_TRANSFER: /* of a rank with its own accelerator */
        return STRAIT_PART_TRANSFER;
    default:
        return STRAIT_PART_OTHER;
    }
}

/* Seconds of a step that a link needs for so many bytes. */
static double filled_s(const struct sums *s, const struct strait_path_step *step, int link,
                       double bytes)
{
    return strait_carried_needs_s(s->in->network, link, step->from_s, step->to_s, bytes);
}

/* A transfer by the link of its path that had most to carry meanwhile. */
static void add_transfer(struct sums *s, const struct strait_path_step *step)
{
    const struct strait_network *n = s->in->network;
    const struct strait_span span = span_of(step);
    const double step_s = step->to_s - step->from_s;
    int links[STRAIT_MAX_HOPS], link = 0;
    double most_s = -1;
    const int n_hops = strait_network_path(n, step->peer, step->rank, links);
    for (int i = 0; i < n_hops; i++) {
        /* Each flow of others takes as much of its port as the stream of this transfer. */
        const double here_s = (1 + strait_network_link(n, links[i])->n_flows) *
                              filled_s(s, step, links[i], s->asked[s->n_read++].bytes);
        if (here_s <= most_s * (1 + SAME_RATIO)) /* of equal ones the first, but for rounding */
            continue;
        link = links[i];
        most_s = here_s;
    }
    const double own_bytes = strait_carried_wire_bytes(n, &span) * step_s / step->span_s;
    const double busy_s = fmin(most_s, step_s);
    const double own_s = fmin(filled_s(s, step, link, own_bytes), busy_s);
    const double latency_s = step_s - busy_s;
    s->link_s[STRAIT_PART_TRANSFER][link] += own_s;
    s->link_s[STRAIT_PART_WAIT][link] += busy_s - own_s;
    s->out->part_s[STRAIT_PART_LATENCY] += latency_s;
    if (latency_s > s->most_latency_s) {
        s->most_latency_s = latency_s;
        s->out->from = step->peer;
        s->out->to = step->rank;
    }
}

static int most_of(const double *values, int n)
{
    int at = -1;
    for (int i = 0; i < n; i++)
        if (values[i] > (at < 0 ? 0 : values[at] * (1 + SAME_RATIO)))
            at = i;
    return at;
}

static enum strait_links links_of(const struct strait_network *n, int link)
{
    if (link >= 2 * (n->n_ranks + n->n_sites))
        return STRAIT_SITE_PAIRS;
    if (link >= 2 * n->n_ranks)
        return STRAIT_SITE_PORTS;
    return n->has_server && link < 2 ? STRAIT_SERVER_PORT : STRAIT_CLIENT_PORTS;
}

static void add_up_links(struct sums *s, double scale)
{
    double most_s[STRAIT_N_LINKS] = {0};
    for (int kind = 0; kind < STRAIT_N_LINKS; kind++)
        s->out->busiest[kind] = -1;
    for (int l = 0; l < strait_network_n_links(s->in->network); l++) {
        const enum strait_links kind = links_of(s->in->network, l);
        const double here_s = s->link_s[STRAIT_PART_TRANSFER][l] + s->link_s[STRAIT_PART_WAIT][l];
        s->out->links_s[kind] += scale * here_s;
        if (here_s > most_s[kind] * (1 + SAME_RATIO)) {
            most_s[kind] = here_s;
            s->out->busiest[kind] = l;
        }
    }
}

/* Sum ranks and links up to seconds a round, of which "other" is what is left. */
static void add_up(struct sums *s)
{
    struct strait_critical_path *out = s->out;
    const int n_ranks = s->in->n_ranks, n_links = strait_network_n_links(s->in->network);
    const double scale = s->in->known_s > 0 ? s->in->round_s / s->in->known_s : 0;
    double sum_s = 0;
    for (int part = 0; part < STRAIT_N_PARTS; part++) {
        out->rank[part] = most_of(s->rank_s[part], n_ranks);
        out->link[part] = most_of(s->link_s[part], n_links);
        if (out->link[part] >= 0)
            out->rank[part] = -1;
        for (int r = 0; r < n_ranks; r++)
            out->part_s[part] += s->rank_s[part][r];
        for (int l = 0; l < n_links; l++)
            out->part_s[part] += s->link_s[part][l];
        out->part_s[part] *= scale;
        sum_s += part == STRAIT_PART_OTHER ? 0 : out->part_s[part];
    }
    out->part_s[STRAIT_PART_OTHER] = fmax(0, s->in->round_s - sum_s);
    add_up_links(s, scale);
}

static bool is_transfer(const struct sums *s, const struct strait_path_step *step)
{
    const struct strait_span span = span_of(step);
    return step->to_s > step->from_s && !step->is_gap &&
           strait_carried_crosses(s->in->network, &span);
}

/* What the links of the path's transfers carried meanwhile. */
static int carry(struct sums *s, const struct strait_span_witness *witness,
                 struct strait_error *err)
{
    const struct strait_limits_inputs *in = s->in;
    int links[STRAIT_MAX_HOPS];
    s->asked = malloc((STRAIT_MAX_HOPS * in->n_steps + 1) * sizeof(*s->asked));
    if (!s->asked)
        return strait_error_memory(err, "limits");
    for (size_t i = 0; i < in->n_steps; i++) {
        const struct strait_path_step *step = &in->steps[i];
        if (!is_transfer(s, step))
            continue;
        const int n_hops = strait_network_path(in->network, step->peer, step->rank, links);
        for (int k = 0; k < n_hops; k++)
            s->asked[s->n_asked++] = (struct strait_carried_question){
                .link = links[k], .from_s = step->from_s, .to_s = step->to_s};
    }
    return strait_carried_answer(s->asked, s->n_asked, witness, in->logs, in->n_ranks, in->network,
                                 err);
}

int strait_critical_path_of(struct strait_critical_path *out, const struct strait_limits_inputs *in,
                            const struct strait_span_witness *witness, struct strait_error *err)
{
    const size_t n_ranks = (size_t)in->n_ranks,
                 n_links = (size_t)strait_network_n_links(in->network);
    double *all = calloc(STRAIT_N_PARTS * (n_ranks + n_links), sizeof(*all));
    struct sums s = {.in = in, .out = out};
    *out = (struct strait_critical_path){.from = -1, .to = -1};
    if (!all || carry(&s, witness, err) != 0) {
        free(all);
        free(s.asked);
        return strait_error_memory(err, "limits");
    }
    for (size_t part = 0; part < STRAIT_N_PARTS; part++) {
        s.rank_s[part] = all + part * n_ranks;
        s.link_s[part] = all + STRAIT_N_PARTS * n_ranks + part * n_links;
    }
    for (size_t i = 0; i < in->n_steps; i++) {
        const struct strait_path_step *step = &in->steps[i];
        if (!(step->to_s > step->from_s))
            continue;
        if (is_transfer(&s, step))
            add_transfer(&s, step);
        else
            s.rank_s[part_of(step)][step->rank] += step->to_s - step->from_s;
    }
    add_up(&s);
    free(s.asked);
    free(all);
    return 0;
}

json_t *strait_critical_path_json(const struct strait_critical_path *p,
                                  const struct strait_limits_inputs *in)
{
    json_t *all = json_object();
    for (int part = 0; part < STRAIT_N_PARTS; part++) {
        char from[STRAIT_LINK_NAME_CHARS], to[STRAIT_LINK_NAME_CHARS],
            at[2 * STRAIT_LINK_NAME_CHARS + 8];
        const char *name = NULL;
        if (p->link[part] >= 0)
            name = strait_link_name(from, in->network, p->link[part]);
        else if (p->rank[part] >= 0 && part != STRAIT_PART_OTHER)
            name = strait_rank_name(from, in->has_server, p->rank[part]);
        if (part == STRAIT_PART_LATENCY && p->from >= 0) {
            snprintf(at, sizeof(at), "%s to %s", strait_rank_name(from, in->has_server, p->from),
                     strait_rank_name(to, in->has_server, p->to));
            name = at;
        }
        json_object_set_new(all, names[part],
                            json_pack("{s:f, s:s?}", "s", p->part_s[part], "at", name));
    }
    return all;
}
