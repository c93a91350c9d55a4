/* Whether an emulated run is valid; one text for each reason that it is not. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include "workloads/rank/backend.h"
#include "emu/links/net.h"
#include "emu/process/shared.h"

enum { STRAIT_EMU_MAX_PROBES = 4, STRAIT_EMU_PING_FRAME_BYTES = 98 };

struct strait_emu_probe { /* a stock ping between two nodes before the start, virtual seconds */
    int from, to;
    double rtt_s, expected_s;
};

/* Observations before, during and after a run. */
struct strait_emu_evidence {
    const struct strait_run *run;
    const struct strait_emu_shared *shared;
    bool shaped; /* by this realisation */
    enum strait_emu_realisation realisation;
    double run_s; /* virtual: until the last rank returned */
    double wall_s, dilation;
    struct strait_emu_probe probes[STRAIT_EMU_MAX_PROBES];
    int n_probes;
    struct strait_emu_relay_report relay;
    struct strait_emu_counters *before, *after; /* of each node; NULL without namespaces */
    uint64_t softnet_drops;                     /* of this machine, during the run */
    double pressure_s;  /* PSI: some thread of this machine waited for a processor; NAN: unknown */
    double relay_cpu_s; /* during the run; NAN: kernel links */
    int n_stops;        /* processes of the run that somebody stopped; that continued count too */
    int stopped_rank;   /* the first of them; -1: a process of the network */
};

/** Append a text to `invalid` for each reason, and to `flags` for what else is worth knowing.
 *  Returns: 0, or -1 with *err NOMEM */
int strait_emu_validity(json_t *invalid, json_t *flags, const struct strait_emu_evidence *e,
                        struct strait_error *err);
/** Over all streams of the run. */
double strait_emu_largest_rtt_s(const struct strait_run *run,
                                const struct strait_emu_shared *shared);
/** Expected ping time: the delays, plus four links for its 98 bytes and the overhead. */
double strait_emu_expected_ping_s(const struct strait_network *n, int from, int to);
/** Whether a probe differs by more than 2 % and 0.3 ms of real time (and the jitter). */
bool strait_emu_probe_is_off(const struct strait_network *n, const struct strait_emu_probe *p,
                             double dilation);
/** Seconds since boot in which some thread waited for a processor; NAN if the kernel does not tell.
 *  Not conclusive with padded jobs. */
double strait_emu_pressure_s(void);
/** Packets dropped by the kernel's backlog since boot, which no queue's statistics count. */
uint64_t strait_emu_softnet_drops(void);
