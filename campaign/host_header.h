/* The part of a result header that describes the machine and the versions. */
#pragma once
#include <jansson.h>
#include "core/error.h"
#include "core/hash.h"

/* In a guest: names the host's processor. */
#define STRAIT_HOST_CPU_NAME "STRAIT_HOST_PROCESSOR"

/** {"cpu", "cores", "memory_bytes", "kernel"}; a new reference. NULL: /proc could not be read, or
 *  memory ran out. */
json_t *strait_host_json(void);
/** Hash of everything about the machine that measured times depend on: all but its free memory.
 *  Returns: 0, or -1 with *err SYSTEM or NOMEM: a key that says less would be another machine's */
int strait_host_hash(char key[STRAIT_KEY_CHARS], struct strait_error *err);
/** {"strait", "simgrid", "jansson", "kernel", "program"}; a new reference, or NULL as above.
 *  In:      program  its hash as below; NULL: it is computed */
json_t *strait_versions_json(const char *program);
/** Hash of the running program's file: another build is another program.
 *  Returns: 0, or -1 with *err SYSTEM */
int strait_program_hash(char key[STRAIT_KEY_CHARS], struct strait_error *err);
