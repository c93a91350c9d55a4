#include "host_shares.h"
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "core/names.h"
#include "core/units.h"
#include "emu/links/segment.h"
#include "emu/links/trunk.h"

enum { LINE_CHARS = 512, WHERE_CHARS = 300 };

static int take_count(int *out, const char *text, const char *where, struct strait_error *err)
{
    char *end;
    const long n = strtol(text, &end, 10);
    if (end == text || *end || n < 1 || n > 1000000)
        return strait_refuse(err, where, "expected a number of ranks after slots=, found \"%s\"",
                             text);
    *out = (int)n;
    return 0;
}

/* "slots=2" and its kin. */
static int take_word(struct strait_emu_host *host, const char *word, const char *where,
                     struct strait_error *err)
{
    const char *value = strchr(word, '=');
    const size_t n = value ? (size_t)(value - word) : 0;
    value += value != NULL;
    if (n == 5 && strncmp(word, "slots", n) == 0)
        return take_count(&host->slots, value, where, err);
    if (n == 4 && strncmp(word, "rate", n) == 0) {
        if (strait_quantity_parse(&host->rate_bits_per_s, STRAIT_UNIT_LINK_RATE, value, where,
                                  err) != 0)
            return -1;
        return host->rate_bits_per_s > 0
                   ? 0
                   : strait_refuse(err, where, "expected a rate above 0, found \"%s\"", value);
    }
    if (n == 7 && strncmp(word, "address", n) == 0 && strlen(value) < sizeof(host->named)) {
        snprintf(host->named, sizeof(host->named), "%s", value);
        return 0;
    }
    return strait_refuse(err, where,
                         "expected slots=, address= or rate= behind a host, found \"%.80s\"", word);
}

/* Names become words of a command line: letters of host names and of user@host alone. */
static bool is_name(const char *word)
{
    bool good = *word != '-' && strlen(word) < STRAIT_EMU_HOST_CHARS;
    for (const char *c = word; *c && good; c++)
        good = isalnum((unsigned char)*c) || strchr("._-@:", *c);
    return good;
}

static int take_line(struct strait_emu_hosts *hosts, char *line, const char *where,
                     struct strait_error *err)
{
    char *rest, *word;
    line[strcspn(line, "#\n")] = '\0';
    word = strtok_r(line, " \t\r", &rest);
    if (!word)
        return 0;
    if (!is_name(word))
        return strait_refuse(err, where, "expected a host's name, found \"%.80s\"", word);
    if (hosts->n == STRAIT_EMU_MAX_HOSTS)
        return strait_refuse(err, where, "expected at most %d hosts, found more",
                             STRAIT_EMU_MAX_HOSTS);
    for (int i = 0; i < hosts->n; i++)
        if (strcmp(hosts->items[i].name, word) == 0)
            return strait_refuse(err, where, "expected each host once, found \"%s\" again", word);
    struct strait_emu_host *host = &hosts->items[hosts->n++];
    *host = (struct strait_emu_host){.rate_bits_per_s = NAN};
    snprintf(host->name, sizeof(host->name), "%s", word);
    const char *at = strchr(word, '@'); /* user@host, for ssh */
    snprintf(host->named, sizeof(host->named), "%s", at ? at + 1 : word);
    while ((word = strtok_r(NULL, " \t\r", &rest)))
        if (take_word(host, word, where, err) != 0)
            return -1;
    return 0;
}

int strait_emu_hosts_read(struct strait_emu_hosts *out, const char *file, struct strait_error *err)
{
    char line[LINE_CHARS], where[WHERE_CHARS];
    FILE *f = fopen(file, "re");
    *out = (struct strait_emu_hosts){.file = file};
    if (!f)
        return strait_error_path(err, file, "cannot be read as a list of hosts");
    int failed = 0;
    for (int n = 1; !failed && fgets(line, sizeof(line), f); n++) {
        snprintf(where, sizeof(where), "%.280s:%d", file, n);
        if (!strchr(line, '\n') && !feof(f))
            failed =
                strait_refuse(err, where, "expected a line of at most %d bytes, found a longer one",
                              LINE_CHARS - 2);
        else
            failed = take_line(out, line, where, err);
    }
    fclose(f);
    if (!failed && out->n == 0)
        failed = strait_refuse(err, file, "expected hosts, found none");
    return failed;
}

int strait_emu_hosts_resolve(struct strait_emu_hosts *hosts, struct strait_error *err)
{
    const struct addrinfo wanted = {.ai_family = AF_INET, .ai_socktype = SOCK_DGRAM};
    for (int i = 0; i < hosts->n; i++) {
        struct strait_emu_host *host = &hosts->items[i];
        struct addrinfo *found;
        const int refused = getaddrinfo(host->named, NULL, &wanted, &found);
        if (refused)
            return strait_refuse(err, hosts->file,
                                 "expected hosts with an IPv4 address, found \"%s\": %s",
                                 host->named, gai_strerror(refused));
        host->address = ((const struct sockaddr_in *)(const void *)found->ai_addr)->sin_addr.s_addr;
        freeaddrinfo(found);
        for (int j = 0; j < i; j++)
            if (hosts->items[j].address == host->address)
                return strait_refuse(err, hosts->file,
                                     "expected an address for each host, found one for %s and %s",
                                     hosts->items[j].name, host->name);
    }
    return 0;
}

int strait_emu_hosts_place(struct strait_emu_hosts *hosts, int n_ranks, struct strait_error *err)
{
    int n_slots = 0;
    for (int i = 0; i < hosts->n; i++)
        n_slots += hosts->items[i].slots;
    for (int i = 0, next = 0; i < hosts->n; i++) {
        struct strait_emu_host *host = &hosts->items[i];
        if (n_slots == 0) { /* the first ones get one more where it does not divide */
            host->n = n_ranks / hosts->n + (i < n_ranks % hosts->n);
        } else {
            host->n = host->slots > 0 ? host->slots : 1; /* as MPI's host files have it */
            host->n = host->n < n_ranks - next ? host->n : n_ranks - next;
        }
        host->first = next;
        next += host->n;
        if (host->n == 0)
            return strait_refuse(
                err, hosts->file,
                "expected a rank for each host, found %d ranks: none is left for %s", n_ranks,
                host->name);
        if (i + 1 == hosts->n && next < n_ranks)
            return strait_refuse(err, hosts->file, "expected %d slots, one for each rank, found %d",
                                 n_ranks, next);
    }
    return 0;
}

/* All ranks of one side send to all of the other: what the ports of either side let through. */
double strait_emu_hosts_demand_bits_per_s(const struct strait_emu_hosts *hosts, int host, bool out,
                                          const struct strait_network *network, int n_ranks,
                                          double mtu_bytes)
{
    const struct strait_emu_host *h = &hosts->items[host];
    double here_bits_per_s = 0, there_bits_per_s = 0;
    for (int i = 0; i < n_ranks; i++) {
        const bool is_here = i >= h->first && i < h->first + h->n;
        const struct strait_link *link = is_here == out ? &network->out[i] : &network->in[i];
        *(is_here ? &here_bits_per_s : &there_bits_per_s) += link->rate_bits_per_s;
    }
    /* A full frame of the network has 14 bytes and its overhead around a packet, the VXLAN 50. */
    return fmin(here_bits_per_s, there_bits_per_s) * (mtu_bytes + STRAIT_EMU_VXLAN_BYTES) /
           (mtu_bytes + STRAIT_EMU_ETHERNET_BYTES + network->overhead_bytes);
}

int strait_emu_hosts_carry(const struct strait_emu_hosts *hosts,
                           const struct strait_network *network, int n_ranks, double mtu_bytes,
                           struct strait_error *err)
{
    char asked[32], has[32];
    if (network->schedules)
        return strait_refuse(err, hosts->file,
                             "expected rates that stay on several hosts, found some that change "
                             "with time, which the hosts do not have in common");
    for (int i = 0; i < 2 * hosts->n; i++) {
        const struct strait_emu_host *host = &hosts->items[i / 2];
        const bool out = i % 2 == 0;
        const double bits_per_s =
            strait_emu_hosts_demand_bits_per_s(hosts, i / 2, out, network, n_ranks, mtu_bytes);
        if (hosts->n > 1 && isinf(bits_per_s))
            return strait_refuse(err, hosts->file,
                                 "expected ports with a rate on several hosts, found some without "
                                 "on both sides of %s's link",
                                 host->name);
        strait_quantity_format(asked, sizeof(asked), STRAIT_UNIT_LINK_RATE, bits_per_s);
        if (hosts->n > 1 && isnan(host->rate_bits_per_s))
            return strait_refuse(err, hosts->file,
                                 "expected the rate of %s's link to the other hosts, which may "
                                 "have to carry %s: rate=... behind its name",
                                 host->name, asked);
        strait_quantity_format(has, sizeof(has), STRAIT_UNIT_LINK_RATE, host->rate_bits_per_s);
        if (bits_per_s > host->rate_bits_per_s)
            return strait_error_set(err, STRAIT_ERR_HOST, hosts->file,
                                    "the link of %s carries %s, and its %d ranks may %s %s: give "
                                    "ranks that talk much to one host, or ports a smaller rate",
                                    host->name, has, host->n, out ? "send" : "receive", asked);
    }
    return 0;
}
