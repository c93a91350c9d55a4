/* What this program is: the lines of make that compile this file say what it was built from. */
#include <xbt/base.h>
#include <simgrid/version.h>
#include "cli/kit/command.h"

/* "gcc 12.2.0" */
#define TEXT_OF(x)   #x
#define NUMBER_OF(x) TEXT_OF(x)
#ifdef __clang__
#define STRAIT_COMPILER                                                                            \
    "clang " NUMBER_OF(__clang_major__) "." NUMBER_OF(__clang_minor__) "." NUMBER_OF(              \
        __clang_patchlevel__)
#else
#define STRAIT_COMPILER                                                                            \
    "gcc " NUMBER_OF(__GNUC__) "." NUMBER_OF(__GNUC_MINOR__) "." NUMBER_OF(__GNUC_PATCHLEVEL__)
#endif

const char *strait_commit_date(void)
{
    return STRAIT_COMMIT_DATE;
}

const char *strait_commit(void)
{
    return *STRAIT_COMMIT ? STRAIT_COMMIT : "unknown";
}

void strait_print_version(FILE *out)
{
    fprintf(out, "strait %s (commit %s, %s, %s build, SimGrid %d.%d.%d)\n", STRAIT_VERSION,
            strait_commit(), STRAIT_COMPILER, STRAIT_MODE, SIMGRID_VERSION_MAJOR,
            SIMGRID_VERSION_MINOR, SIMGRID_VERSION_PATCH);
}
