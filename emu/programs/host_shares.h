/* The hosts that share a network: which of its ranks each has, and whether the links between the
 * hosts carry what the network's links may ask of them. */
#pragma once
#include <stdint.h>
#include "workloads/ask/network.h"

enum { STRAIT_EMU_HOST_CHARS = 64, STRAIT_EMU_MAX_HOSTS = 256 };

struct strait_emu_host {
    char name[STRAIT_EMU_HOST_CHARS];  /* for {host} of the launcher */
    char named[STRAIT_EMU_HOST_CHARS]; /* what the others reach it by: address=, else its name */
    uint32_t address;                  /* IPv4, network byte order */
    int slots;                         /* ranks that it may have; 0: as many as the others */
    double rate_bits_per_s;            /* to the other hosts, each way; NAN: unknown */
    int first, n;                      /* its ranks */
};

struct strait_emu_hosts {
    const char *file; /* borrowed */
    int n;
    struct strait_emu_host items[STRAIT_EMU_MAX_HOSTS];
};

/** Read a file of hosts, one a line: `alpha slots=2 address=10.1.0.1 rate=10Gbps`, of which only
 *  the name must be; # begins a comment.
 *  Returns: 0, or -1 with *err INPUT: "hosts:3: expected ..." */
int strait_emu_hosts_read(struct strait_emu_hosts *out, const char *file, struct strait_error *err);

/** Find every host's address.
 *  Returns: 0, or -1 with *err INPUT for an unknown host, or two with one address
 */
int strait_emu_hosts_resolve(struct strait_emu_hosts *hosts, struct strait_error *err);

/** Give the ranks out in order: as many as a host has slots, or where none says, equally many.
 *  Returns: 0, or -1 with *err INPUT when there are fewer slots than ranks, or a host gets none */
int strait_emu_hosts_place(struct strait_emu_hosts *hosts, int n_ranks, struct strait_error *err);

/** The most that may leave a host for the others (or come from there) when all ranks send as fast
 *  as their ports allow, as IP packets around those of the network.
 *  In:      mtu_bytes  of the network's nodes
 *  Returns: bits/s with every header, the VXLAN's too; INFINITY where ports have no rate */
double strait_emu_hosts_demand_bits_per_s(const struct strait_emu_hosts *hosts, int host, bool out,
                                          const struct strait_network *network, int n_ranks,
                                          double mtu_bytes);

/** Refuse what the link of some host cannot carry.
 *  Returns: 0, or -1 with *err: INPUT when a rate is unknown, HOST when one is too small */
int strait_emu_hosts_carry(const struct strait_emu_hosts *hosts,
                           const struct strait_network *network, int n_ranks, double mtu_bytes,
                           struct strait_error *err);
