/* What a result header says of the machine and of the versions that made it. */
#pragma once
#include <jansson.h>
#include "core/hash.h"

/* In a guest: the host's processor, as its machine says. */
#define STRAIT_MACHINE_HOST_CPU "STRAIT_HOST_PROCESSOR"

/** {"cpu", "cores", "memory_bytes", "kernel", "host"}; a new reference. */
json_t *strait_machine_json(void);
/** Hash of what measured times depend on: the machine without its free memory. Returns key. */
const char *strait_machine_hash(char key[STRAIT_KEY_CHARS]);
/** {"strait", "simgrid", "jansson", "kernel", "program"}; a new reference. */
json_t *strait_versions_json(void);
/** Hash of the running program's file: another build is another program. Returns key. */
const char *strait_program_hash(char key[STRAIT_KEY_CHARS]);
/** Processors that this process may use. */
int strait_machine_n_cores(void);
/** Memory in bytes: all, and what is available now. */
void strait_machine_memory(double *total_bytes, double *available_bytes);
