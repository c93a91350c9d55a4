/* The part of a result header that describes the machine and the versions. */
#pragma once
#include <jansson.h>
#include "core/hash.h"

/* In a guest: names the host's processor. */
#define STRAIT_HOST_CPU_NAME "STRAIT_HOST_PROCESSOR"

/** {"cpu", "cores", "memory_bytes", "kernel", "host"}; a new reference. */
json_t *strait_host_json(void);
/** Hash of everything about the machine that measured times depend on: all but its free memory.
 *  Returns: key */
const char *strait_host_hash(char key[STRAIT_KEY_CHARS]);
/** {"strait", "simgrid", "jansson", "kernel", "program"}; a new reference. */
json_t *strait_versions_json(void);
/** Hash of the running program's file: another build is another program. Returns: key */
const char *strait_program_hash(char key[STRAIT_KEY_CHARS]);
/** Number of processors that this process may use. */
int strait_host_n_cores(void);
