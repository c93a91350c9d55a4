/* What strait calibrate net measured, as a network file and as a table. */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include "emu/path/path_probe.h"

struct strait_measured_path {
    struct strait_path path;
    bool over_mpi;             /* else over TCP and UDP */
    const char *source;        /* how it was measured: "HOST:PORT", "--on mpi, ..." */
    const char *place, *title; /* what is measured; NULL: a title that says that */
    double overhead_bytes, server_bits_per_s; /* measured with all clients; 0: not */
    /* A collective of the library, and what it takes beside its steps; NAN: not measured. */
    struct strait_path_figure collective_s, launch_s;
    struct strait_path_figure others_rtt_s, server_rtt_s; /* between two clients; of its port */
};

/** The file: the network as an experiment takes it, sources, and under "measured" all figures. */
json_t *strait_measured_path_json(const struct strait_measured_path *m);
/** The same as a table on standard output. */
void strait_measured_path_print(const struct strait_measured_path *m);
