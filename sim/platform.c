#include "platform.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

/* Path delay and ramp are the machine's: with latency in the links SimGrid would charge it for
 * every message instead of once a stream, and would make shares depend on it. */
static void write_star(FILE *f, const struct strait_network *n)
{
    fputs("<?xml version=\"1.0\"?>\n"
          "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
          "<platform version=\"4.1\">\n<zone id=\"star\" routing=\"Cluster\">\n",
          f);
    for (int i = 0; i < n->n_ranks; i++) /* hosts and links come before the pairs */
        fprintf(f, "<host id=\"h%d\" speed=\"1Gf\"/>\n", i);
    for (int i = 0; i < n->n_ranks; i++)
        fprintf(f,
                "<link id=\"u%d\" bandwidth=\"%.17gBps\" latency=\"0s\"/>"
                "<link id=\"d%d\" bandwidth=\"%.17gBps\" latency=\"0s\"/>\n",
                i, strait_goodput_bytes_per_s(n, &n->out[i]), i,
                strait_goodput_bytes_per_s(n, &n->in[i]));
    for (int i = 0; i < n->n_ranks; i++)
        fprintf(f, "<host_link id=\"h%d\" up=\"u%d\" down=\"d%d\"/>\n", i, i, i);
    fputs("</zone>\n</platform>\n", f);
}

int strait_platform_write(const struct strait_network *n, struct strait_error *err)
{
    const int fd = memfd_create("platform.xml", 0);
    const int copy = fd >= 0 ? dup(fd) : -1;
    FILE *f = copy >= 0 ? fdopen(copy, "w") : NULL;
    if (!f) {
        strait_error_system(err, "platform", "cannot make an anonymous file");
        if (copy >= 0)
            close(copy);
        goto fail;
    }
    write_star(f, n);
    if (fclose(f) == 0)
        return fd;
    strait_error_system(err, "platform", "cannot write it");
fail:
    if (fd >= 0)
        close(fd);
    return -1;
}
