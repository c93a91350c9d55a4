#include "platform.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* SimGrid shares a link in inverse proportion to the latencies of the routes over it, so a port's
 * latency carries the rank's drag, scaled until it takes no time (1 ns a flow). */
#define DRAG_S 1e-9

/* The engine adds path delay and ramp: with latency in the links SimGrid would charge it for every
 * message instead of once a stream, and shares would depend on it. */
static void put_link(FILE *f, const struct strait_network *n, const char *name, int index,
                     const struct strait_link *l, double drag)
{
    struct strait_link now = *l;
    now.rate_bits_per_s = strait_link_bits_per_s(l, 0);
    fprintf(f, "<link id=\"%s%d\" bandwidth=\"%.17gBps\" latency=\"%.17gs\"/>\n", name, index,
            strait_goodput_bytes_per_s(n, &now), DRAG_S * drag);
}

/* Write the ranks of one site and their switch; hosts and links come before the routes. */
static void put_switch(FILE *f, const struct strait_network *n, int site, const int *ranks,
                       int n_ranks)
{
    fprintf(f, "<zone id=\"z%d\" routing=\"Cluster\">\n", site);
    for (int i = 0; i < n_ranks; i++)
        fprintf(f, "<host id=\"h%d\" speed=\"1Gf\"/>\n", ranks[i]);
    if (n->n_sites > 0)
        fprintf(f, "<router id=\"r%d\"/>\n", site);
    for (int i = 0; i < n_ranks; i++) {
        const double drag = n->drag ? n->drag[ranks[i]] : 0;
        put_link(f, n, "u", ranks[i], &n->out[ranks[i]], drag);
        put_link(f, n, "d", ranks[i], &n->in[ranks[i]], drag);
    }
    for (int i = 0; i < n_ranks; i++)
        fprintf(f, "<host_link id=\"h%d\" up=\"u%d\" down=\"d%d\"/>\n", ranks[i], ranks[i],
                ranks[i]);
    fputs("</zone>\n", f);
}

/* Write the route between the switches of two sites; site n_sites is that of ranks at the core. */
static void put_route(FILE *f, const struct strait_network *n, int from, int to)
{
    fprintf(f,
            "<zoneRoute src=\"z%d\" dst=\"z%d\" gw_src=\"r%d\" gw_dst=\"r%d\" "
            "symmetrical=\"NO\">",
            from, to, from, to);
    if (from < n->n_sites)
        fprintf(f, "<link_ctn id=\"su%d\"/>", from);
    if (from < n->n_sites && to < n->n_sites && n->between &&
        n->between[from * n->n_sites + to].rate_bits_per_s > 0)
        fprintf(f, "<link_ctn id=\"p%d\"/>", from * n->n_sites + to);
    if (to < n->n_sites)
        fprintf(f, "<link_ctn id=\"sd%d\"/>", to);
    fputs("</zoneRoute>\n", f);
}

static void write_sites(FILE *f, const struct strait_network *n, int *ranks)
{
    bool core = false;
    fputs("<zone id=\"world\" routing=\"Full\">\n", f);
    for (int site = 0; site <= n->n_sites; site++) {
        int n_here = 0;
        for (int i = 0; i < n->n_ranks; i++)
            if (n->site[i] == (site < n->n_sites ? site : -1))
                ranks[n_here++] = i;
        core |= site == n->n_sites && n_here > 0;
        if (site < n->n_sites || core)
            put_switch(f, n, site, ranks, n_here);
    }
    for (int site = 0; site < n->n_sites; site++) {
        put_link(f, n, "su", site, &n->site_out[site], 0);
        put_link(f, n, "sd", site, &n->site_in[site], 0);
    }
    for (int pair = 0; n->between && pair < n->n_sites * n->n_sites; pair++)
        if (n->between[pair].rate_bits_per_s > 0)
            put_link(f, n, "p", pair, &n->between[pair], 0);
    const int n_zones = n->n_sites + (core ? 1 : 0);
    for (int from = 0; from < n_zones; from++)
        for (int to = 0; to < n_zones; to++)
            if (from != to)
                put_route(f, n, from, to);
    fputs("</zone>\n", f);
}

static void write_network(FILE *f, const struct strait_network *n, int *ranks)
{
    fputs("<?xml version=\"1.0\"?>\n"
          "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
          "<platform version=\"4.1\">\n",
          f);
    if (n->n_sites > 0) {
        write_sites(f, n, ranks);
    } else {
        for (int i = 0; i < n->n_ranks; i++)
            ranks[i] = i;
        put_switch(f, n, 0, ranks, n->n_ranks);
    }
    fputs("</platform>\n", f);
}

int strait_platform_write(const struct strait_network *n, struct strait_error *err)
{
    const int fd = memfd_create("platform.xml", 0);
    int *ranks = calloc((size_t)n->n_ranks, sizeof(*ranks));
    const int copy = fd >= 0 ? dup(fd) : -1;
    FILE *f = copy >= 0 ? fdopen(copy, "w") : NULL;
    if (!f || !ranks) {
        strait_error_system(err, "platform", "cannot make an anonymous file");
        if (f)
            fclose(f);
        else if (copy >= 0)
            close(copy);
        goto fail;
    }
    write_network(f, n, ranks);
    free(ranks);
    ranks = NULL;
    if (fclose(f) == 0)
        return fd;
    strait_error_system(err, "platform", "cannot write it");
fail:
    free(ranks);
    if (fd >= 0)
        close(fd);
    return -1;
}

void strait_platform_link_name(char name[32], const struct strait_network *n, int link)
{
    static const char *const ports[] = {"u", "d"}, *const sites[] = {"su", "sd"};
    const int first_pair = 2 * (n->n_ranks + n->n_sites);
    if (link < 2 * n->n_ranks)
        snprintf(name, 32, "%s%d", ports[link % 2], link / 2);
    else if (link < first_pair)
        snprintf(name, 32, "%s%d", sites[link % 2], link / 2 - n->n_ranks);
    else
        snprintf(name, 32, "p%d", link - first_pair);
}
