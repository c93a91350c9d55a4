/* Find networks that stay up: a folder of this user has a lock, a socket and a description for
 * each. The supervisor holds the lock as long as it lives, so files that a killed supervisor left
 * behind are not trusted. */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include "core/error.h"

enum { STRAIT_EMU_NAME_CHARS = 65, STRAIT_EMU_PLACE_CHARS = 108 /* as a socket's address has */ };

struct strait_emu_registry {
    char name[STRAIT_EMU_NAME_CHARS];
    char folder[STRAIT_EMU_PLACE_CHARS];
    char lock[STRAIT_EMU_PLACE_CHARS], socket[STRAIT_EMU_PLACE_CHARS],
        state[STRAIT_EMU_PLACE_CHARS];
};

/** The files of a network: in $STRAIT_NET_FOLDER (set inside networks), $XDG_RUNTIME_DIR/strait,
 *  /run/strait for root, else /tmp/strait-UID, accessible to the owner only. Makes the folder.
 *  In:      name  letters, digits, ".", "_" and "-"; not "." or "-" first; at most 64
 *  Returns: 0, or -1 with *err: USAGE for a bad name, INPUT if the folder belongs to others */
int strait_emu_registry_init(struct strait_emu_registry *out, const char *name,
                             struct strait_error *err);

/** Take the lock and remove what a killed supervisor left.
 *  Returns: a descriptor, whose last holder keeps the lock; or -1 with *err USAGE when the network
 *           is up */
int strait_emu_registry_lock(const struct strait_emu_registry *p, struct strait_error *err);

/** Whether its supervisor is alive. If not, removes what it left. */
bool strait_emu_registry_is_up(const struct strait_emu_registry *p);

/** Remove socket, description and lock; the caller holds the lock. */
void strait_emu_registry_clear(const struct strait_emu_registry *p);

/** The names of the networks that are up, sorted: a new array, or NULL with *err. */
json_t *strait_emu_registry_names(struct strait_error *err);
