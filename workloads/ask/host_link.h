/* The link between a host and its accelerator: part of the machine, independent of the strategy. */
#pragma once
#include "core/json.h"
#include "measured.h"

struct strait_host_link {
    double bytes_per_s;            /* for contiguous data */
    double half_row_bytes;         /* a gather of rows this long has half the rate; NAN: measured */
    struct strait_measured gather; /* efficiency by row length in bytes */
    bool in_memory;                /* ranks with real payload copy for real, in the host's memory */
};

/** Read {"rate": "25 GB/s", "half_row": "512 B"} or {"rate": .., "gather": "file.csv"} under
 *  `link`; a gather is also [[row bytes, efficiency], ..]. Absent keys default to the values of
 *  this example, PCIe 4 x16 as usually quoted, an assumption; "in_memory" to false. The caller
 *  releases *out, also after an error. */
int strait_host_link_read(struct strait_host_link *out, struct strait_object *device,
                          struct strait_error *err);
void strait_host_link_release(struct strait_host_link *l);
/** Fraction of the rate for a gather of rows of this length: row / (row + half_row), or the
 *  measured curve, at most 1. */
double strait_host_link_efficiency(const struct strait_host_link *l, double row_bytes);
