/* The network as a SimGrid platform: one host a rank, one link each way without latency, sites as
 * zones. */
#pragma once
#include "workloads/ask/network.h"
#include "core/error.h"

/** Write the platform file of a network.
 *  Returns: a file descriptor of an anonymous file, or -1 with *err */
int strait_platform_write(const struct strait_network *n, struct strait_error *err);
/** The name that a link of the network has there. */
void strait_platform_link_name(char name[32], const struct strait_network *n, int link);
