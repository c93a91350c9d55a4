/* One entry of a profile from several measurements of it. */
#pragma once
#include "codecs/profile/profile.h"

/** Take the speeds of one pass, for each way by itself. A codec is as fast as in the fastest pass:
 *  in the others the host was busy. Of memory (`none`) the middle one counts, since a pass can also
 *  be lucky, as pages lie in the caches.
 *  In: of: the measurements, whose order changes; n_passes: at least 1 */
void strait_passes_settle(struct strait_profile_entry *e, struct strait_profile_entry *of,
                          size_t n_passes);
