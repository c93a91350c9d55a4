/* What the kernel says of this computer's memory. */
#pragma once

/** A value of /proc/meminfo ("MemTotal", "MemAvailable") in bytes; INFINITY if the kernel does not
 *  say. */
double strait_host_memory_bytes(const char *key);
