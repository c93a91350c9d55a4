/* Which zones a platform of sites has routes between. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "sim/platform.h"
#include "tests/kit/suite.h"

static size_t count(const char *text, const char *part)
{
    size_t n = 0;
    for (const char *at = text; (at = strstr(at, part)); at += strlen(part))
        n++;
    return n;
}

/* The platform of this many ranks at each of three sites, and at the core. */
static void written(char *text, size_t cap, int n_at_site, int n_at_core)
{
    enum { N_SITES = 3, MAX_RANKS = 8 };
    int site[MAX_RANKS];
    struct strait_error err = {0};
    struct strait_link links[2 * MAX_RANKS];
    for (int i = 0; i < 2 * MAX_RANKS; i++)
        links[i] = (struct strait_link){.rate_bits_per_s = 1e9};
    const struct strait_network n = {.n_ranks = N_SITES * n_at_site + n_at_core,
                                     .out = links,
                                     .in = links + MAX_RANKS,
                                     .n_sites = N_SITES,
                                     .site = site,
                                     .site_out = links,
                                     .site_in = links + MAX_RANKS};
    for (int i = 0; i < n.n_ranks; i++)
        site[i] = i < n_at_core ? -1 : (i - n_at_core) % N_SITES;
    const int fd = strait_platform_write(&n, &err);
    CU_ASSERT_FATAL(fd >= 0);
    const ssize_t n_bytes = pread(fd, text, cap - 1, 0);
    CU_ASSERT_FATAL(n_bytes > 0);
    text[n_bytes] = '\0';
    close(fd);
}

/* n zones have n (n - 1) routes: 3 x 2 between three sites, 4 x 3 with the core. */
static void routes(void)
{
    char text[1 << 14];
    written(text, sizeof(text), 2, 0);
    CU_ASSERT_EQUAL(count(text, "<zone id=\"z"), 3);
    CU_ASSERT_EQUAL(count(text, "<zoneRoute "), 6);
    CU_ASSERT_EQUAL(count(text, "<host "), 6);
    written(text, sizeof(text), 1, 2);
    CU_ASSERT_EQUAL(count(text, "<zone id=\"z"), 4);
    CU_ASSERT_EQUAL(count(text, "<zoneRoute "), 12);
    CU_ASSERT_EQUAL(count(text, "<host "), 5);
}

static const struct strait_test tests[] = {
    {"every two zones have a route each way, and no others are there", routes},
};
STRAIT_SUITE("sim/platform_routes", tests);
