/* A damaged line is left out, and whoever reads the rest is told. */
#include "results.h"

#include <stdio.h>

int strait_results_open(struct strait_store **out, const char *folder, struct strait_error *err)
{
    if (strait_store_open(out, folder, false, err) != 0)
        return -1;
    const size_t n = strait_store_n_refused(*out);
    if (n > 0)
        fprintf(stderr, "strait: %s: %zu damaged line%s not believed\n", strait_store_path(*out), n,
                n == 1 ? "" : "s");
    return 0;
}
