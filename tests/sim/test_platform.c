/* The platform file of a network, line by line. */
#include "sim/platform.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "tests/kit/rig.h"
#include "tests/kit/suite.h"

enum { TEXT_BYTES = 16384 };

static const char *written(char text[TEXT_BYTES], const struct strait_network *n)
{
    struct strait_error err = {0};
    const int fd = strait_platform_write(n, &err);
    CU_ASSERT_FATAL(fd >= 0);
    const ssize_t len = pread(fd, text, TEXT_BYTES - 1, 0);
    close(fd);
    CU_ASSERT_FATAL(len > 0);
    text[len] = '\0';
    return text;
}

/* A port of 80 Mbps carries 1e7 bytes a second, of which 1448 in 1514 and the overhead are ours. */
static void star(void)
{
    char text[TEXT_BYTES], name[4], expected[16];
    const struct strait_link port = strait_rig_link(80e6, 0.01);
    struct strait_network *n = strait_network_star(3, port, port, port, port, 0, strait_rig_tcp());
    CU_ASSERT_PTR_NOT_NULL_FATAL(n);
    written(text, n);
    const char *at =
        strstr(text, "<platform version=\"4.1\">\n<zone id=\"z0\" routing=\"Cluster\">\n"
                     "<host id=\"h0\" speed=\"1Gf\"/>\n<host id=\"h1\" speed=\"1Gf\"/>\n"
                     "<host id=\"h2\" speed=\"1Gf\"/>\n<link id=\"u0\" ");
    CU_ASSERT_PTR_NOT_NULL_FATAL(at);
    for (int i = 0; i < 3; i++)
        for (int down = 0; down < 2; down++) {
            double bytes_per_s = 0, latency_s = -1;
            at = strstr(at, "<link ");
            CU_ASSERT_PTR_NOT_NULL_FATAL(at);
            CU_ASSERT_EQUAL(sscanf(at++,
                                   "<link id=\"%3[^\"]\" bandwidth=\"%lfBps\" latency=\"%lfs\"",
                                   name, &bytes_per_s, &latency_s),
                            3);
            snprintf(expected, sizeof(expected), "%c%d", down ? 'd' : 'u', i);
            CU_ASSERT_STRING_EQUAL(name, expected);
            CU_ASSERT_DOUBLE_EQUAL(bytes_per_s, strait_goodput_bytes_per_s(n, &port), 1e-6);
            CU_ASSERT(bytes_per_s > 0.9e7 && bytes_per_s < 1e7);
            /* its latency is its drag, so small that it takes no time */
            CU_ASSERT_DOUBLE_EQUAL(latency_s, n->drag ? 1e-9 * n->drag[i] : 0, 1e-15);
        }
    CU_ASSERT_CONTAINS(at, "<host_link id=\"h0\" up=\"u0\" down=\"d0\"/>\n<host_link id=\"h1\" "
                           "up=\"u1\" down=\"d1\"/>\n<host_link id=\"h2\" up=\"u2\" down=\"d2\"/>\n"
                           "</zone>\n</platform>\n");
    strait_network_free(n);
}

/* A server at the core, a rank at a site and two at another, with a link one way between these. */
static void sites(void)
{
    char text[TEXT_BYTES];
    struct strait_error err = {0};
    struct strait_object o;
    struct strait_network *n = NULL;
    json_t *json = json_loads(
        "{\"network\": {\"topology\": \"sites\", \"client\": {\"rate\": \"1 Gbps\"},"
        " \"server\": {\"rate\": \"1 Gbps\"}, \"site\": [{\"ranks\": 1, \"rate\": \"1 Gbps\"},"
        " {\"ranks\": 2, \"rate\": \"1 Gbps\"}],"
        " \"between\": [{\"from\": 0, \"to\": 1, \"rate\": \"50 Mbps\"}]}}",
        0, NULL);
    CU_ASSERT_EQUAL_FATAL(strait_object_open(&o, "x.json", "", json, &err), 0);
    CU_ASSERT_EQUAL_FATAL(strait_network_read(&n, &o, 4, true, &err), 0);
    n->between[2].rate_bits_per_s = 0; /* back over the core */
    written(text, n);
    static const char *const parts[] = {
        "<zone id=\"world\" routing=\"Full\">\n<zone id=\"z0\" routing=\"Cluster\">\n"
        "<host id=\"h1\" speed=\"1Gf\"/>\n<router id=\"r0\"/>\n<link id=\"u1\" ",
        "<zone id=\"z1\" routing=\"Cluster\">\n<host id=\"h2\" speed=\"1Gf\"/>\n"
        "<host id=\"h3\" speed=\"1Gf\"/>\n<router id=\"r1\"/>\n<link id=\"u2\" ",
        "<zone id=\"z2\" routing=\"Cluster\">\n<host id=\"h0\" speed=\"1Gf\"/>\n"
        "<router id=\"r2\"/>\n<link id=\"u0\" ",
        "<link id=\"su0\" ",
        "<link id=\"sd0\" ",
        "<link id=\"su1\" ",
        "<link id=\"sd1\" ",
        "<link id=\"p1\" ",
        "src=\"z0\" dst=\"z1\" gw_src=\"r0\" gw_dst=\"r1\" symmetrical=\"NO\"><link_ctn "
        "id=\"su0\"/><link_ctn id=\"p1\"/><link_ctn id=\"sd1\"/></zoneRoute>\n",
        "src=\"z0\" dst=\"z2\" gw_src=\"r0\" gw_dst=\"r2\" symmetrical=\"NO\"><link_ctn "
        "id=\"su0\"/></zoneRoute>\n",
        "src=\"z1\" dst=\"z0\" gw_src=\"r1\" gw_dst=\"r0\" symmetrical=\"NO\"><link_ctn "
        "id=\"su1\"/><link_ctn id=\"sd0\"/></zoneRoute>\n",
        "src=\"z1\" dst=\"z2\" gw_src=\"r1\" gw_dst=\"r2\" symmetrical=\"NO\"><link_ctn "
        "id=\"su1\"/></zoneRoute>\n",
        "src=\"z2\" dst=\"z0\" gw_src=\"r2\" gw_dst=\"r0\" symmetrical=\"NO\"><link_ctn "
        "id=\"sd0\"/></zoneRoute>\n",
        "src=\"z2\" dst=\"z1\" gw_src=\"r2\" gw_dst=\"r1\" symmetrical=\"NO\"><link_ctn "
        "id=\"sd1\"/></zoneRoute>\n</zone>\n</platform>\n"};
    const char *at = text;
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        const char *found = strstr(at, parts[i]);
        CU_ASSERT_CONTAINS(at, parts[i]);
        at = found ? found : at;
    }
    CU_ASSERT_PTR_NULL(strstr(text, "id=\"p2\""));
    strait_network_free(n);
    json_decref(json);
}

static const struct strait_test tests[] = {
    {"a star is one switch, each rank with its two links", star},
    {"sites are zones, with routes between all of them", sites},
};
STRAIT_SUITE("sim/platform", tests);
