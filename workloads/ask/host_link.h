/* The link between a host and its accelerator: part of the machine, whatever runs on it. */
#pragma once
#include "core/json.h"
#include "measured.h"

struct strait_host_link {
    double bytes_per_s;            /* of what lies together */
    double half_row_bytes;         /* a gather of such rows has half of it; NAN: measured */
    struct strait_measured gather; /* efficiency by bytes of a row */
};

/** Read {"rate": "25 GB/s", "half_row": "512 B"} or {"rate": .., "gather": "file.csv"} under
 *  `link`; whatever is absent: as in this example, which is PCIe 4 x16 as it is usually quoted and
 *  an assumption. Released by the caller, also after an error. */
int strait_host_link_read(struct strait_host_link *out, struct strait_object *device,
                          struct strait_error *err);
void strait_host_link_release(struct strait_host_link *l);
/** Share of the rate that a gather of rows of so many bytes has: row / (row + half_row), or the
 *  measured one, at most 1. */
double strait_host_link_efficiency(const struct strait_host_link *l, double row_bytes);
