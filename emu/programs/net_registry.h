/* Where a network that stays up can be found: a folder of this user that holds a lock, a socket and
 * a description for each. The keeper holds the lock for as long as it lives, so that nothing that a
 * killed one left behind is ever believed. */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include "core/error.h"

enum { STRAIT_EMU_NAME_CHARS = 65, STRAIT_EMU_PLACE_CHARS = 108 /* as a socket's address has */ };

struct strait_emu_place {
    char name[STRAIT_EMU_NAME_CHARS];
    char folder[STRAIT_EMU_PLACE_CHARS];
    char lock[STRAIT_EMU_PLACE_CHARS], socket[STRAIT_EMU_PLACE_CHARS],
        state[STRAIT_EMU_PLACE_CHARS];
};

/** The place of a network: in $STRAIT_NET_FOLDER (set inside of networks), $XDG_RUNTIME_DIR/strait,
 *  /run/strait for root, else /tmp/strait-UID, for the owner alone. Makes the folder.
 *  In:      name  letters, digits, ".", "_" and "-", not first; at most 64
 *  Returns: 0, or -1 with *err: USAGE for a bad name, INPUT where the folder belongs to others
 */
int strait_emu_place_init(struct strait_emu_place *out, const char *name, struct strait_error *err);

/** Take the lock and remove what a killed keeper left.
 *  Returns: a descriptor: whoever holds it last, holds the lock; or -1 with *err USAGE when the
 *           network is up
 */
int strait_emu_place_lock(const struct strait_emu_place *p, struct strait_error *err);

/** Is its keeper alive? If not, what it left is removed. */
bool strait_emu_place_is_up(const struct strait_emu_place *p);

/** Remove socket, description and lock; the caller holds the lock. */
void strait_emu_place_clear(const struct strait_emu_place *p);

/** The names of the networks that are up, in order: a new array, or NULL with *err. */
json_t *strait_emu_place_names(struct strait_error *err);
