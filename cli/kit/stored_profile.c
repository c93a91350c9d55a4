/* Profiles are read from files: the header's is written to one that is gone afterwards. */
#include "stored_profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int strait_header_profile(struct strait_profile **out, const json_t *header,
                          struct strait_error *err)
{
    const json_t *as = json_object_get(json_object_get(header, "profile"), "as");
    const char *tmp = getenv("TMPDIR");
    char path[4096];
    *out = NULL;
    if (!as)
        return strait_refuse(err, "results", "expected a header with its profile, found none");
    snprintf(path, sizeof(path), "%.4000s/strait-profile-XXXXXX.json", tmp && *tmp ? tmp : "/tmp");
    const int fd = mkstemps(path, 5);
    FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (!file)
        return strait_error_system(err, path, "cannot write");
    const bool failed = json_dumpf(as, file, 0) != 0;
    const int status = fclose(file) != 0 || failed ? strait_error_system(err, path, "cannot write")
                                                   : strait_profile_load(out, path, err);
    unlink(path);
    return status;
}
