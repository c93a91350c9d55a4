/* Lists of hosts, ranks on them, and what their links may have to carry. */
#include <arpa/inet.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "emu/programs/host_shares.h"
#include "tests/kit/suite.h"

static struct strait_emu_hosts hosts; /* 40 KB: not for a stack of a sanitizer */

static int read_text(const char *text, struct strait_error *err)
{
    static char file[64];
    snprintf(file, sizeof(file), "/tmp/strait-hosts-%d", (int)getpid());
    FILE *f = fopen(file, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    fputs(text, f);
    fclose(f);
    const int failed = strait_emu_hosts_read(&hosts, file, err);
    unlink(file);
    return failed;
}

static void lines_are_read(void)
{
    struct strait_error err = {0};
    CU_ASSERT_EQUAL(read_text("# the cluster\n\nalpha slots=2 rate=10Gbps # fast\n"
                              "me@beta\taddress=10.1.0.2\n",
                              &err),
                    0);
    CU_ASSERT_EQUAL(hosts.n, 2);
    CU_ASSERT_STRING_EQUAL(hosts.items[0].name, "alpha");
    CU_ASSERT_EQUAL(hosts.items[0].slots, 2);
    CU_ASSERT_EQUAL(hosts.items[0].rate_bits_per_s, 1e10);
    CU_ASSERT_STRING_EQUAL(hosts.items[1].name, "me@beta");
    CU_ASSERT_STRING_EQUAL(hosts.items[1].named, "10.1.0.2");
    CU_ASSERT(isnan(hosts.items[1].rate_bits_per_s));
    CU_ASSERT_EQUAL(read_text("127.0.0.1\n127.0.0.2\n", &err), 0);
    CU_ASSERT_EQUAL(strait_emu_hosts_resolve(&hosts, &err), 0);
    CU_ASSERT_EQUAL(hosts.items[1].address, inet_addr("127.0.0.2"));
}

static void bad_lines_are_refused(void)
{
    const struct {
        const char *text, *says;
    } cases[] = {
        {"alpha slots=0\n", ":1: expected a number of ranks after slots=, found \"0\""},
        {"alpha\nbeta slots=two\n", ":2: expected a number of ranks after slots=, found \"two\""},
        {"alpha rate=10\n", ":1: expected a rate such as"},
        {"alpha cores=4\n",
         ":1: expected slots=, address= or rate= behind a host, found \"cores=4\""},
        {"alpha\nalpha\n", ":2: expected each host once, found \"alpha\" again"},
        {"-oProxyCommand=x\n", ":1: expected a host's name, found \"-oProxyCommand=x\""},
        {"a;b\n", ":1: expected a host's name, found \"a;b\""},
        {"# nobody\n", "expected hosts, found none"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct strait_error err = {0};
        char all[1200];
        strait_test_context("%s", cases[i].text);
        CU_ASSERT_EQUAL(read_text(cases[i].text, &err), -1);
        CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
        snprintf(all, sizeof(all), "%s: %s", err.where, err.text);
        CU_ASSERT_CONTAINS(all, cases[i].says);
    }
    struct strait_error err = {0};
    CU_ASSERT_EQUAL(read_text("alpha..beta\n", &err), 0); /* no name server is asked for that */
    CU_ASSERT_EQUAL(strait_emu_hosts_resolve(&hosts, &err), -1);
    CU_ASSERT_CONTAINS(err.text, "expected hosts with an IPv4 address, found \"alpha..beta\"");
    err = (struct strait_error){0};
    CU_ASSERT_EQUAL(read_text("127.0.0.1\na address=127.0.0.1\n", &err), 0);
    CU_ASSERT_EQUAL(strait_emu_hosts_resolve(&hosts, &err), -1);
    CU_ASSERT_CONTAINS(err.text, "expected an address for each host, found one for 127.0.0.1 and "
                                 "a");
}

static void check_places(const char *text, int n_ranks, int n_hosts, const int *n)
{
    struct strait_error err = {0};
    strait_test_context("%s %d ranks", text, n_ranks);
    CU_ASSERT_EQUAL(read_text(text, &err), 0);
    CU_ASSERT_EQUAL(strait_emu_hosts_place(&hosts, n_ranks, &err), 0);
    for (int i = 0, first = 0; i < n_hosts; first += n[i++]) {
        CU_ASSERT_EQUAL(hosts.items[i].first, first);
        CU_ASSERT_EQUAL(hosts.items[i].n, n[i]);
    }
}

static void ranks_are_given_out_in_order(void)
{
    struct strait_error err = {0};
    check_places("a\nb\n", 4, 2, (const int[]){2, 2});
    check_places("a\nb\nc\n", 5, 3, (const int[]){2, 2, 1});
    check_places("a slots=1\nb slots=4\n", 5, 2, (const int[]){1, 4});
    check_places("a slots=3\nb\n", 4, 2, (const int[]){3, 1}); /* one, as MPI's host files say */
    check_places("a slots=3\nb slots=3\n", 4, 2, (const int[]){3, 1});
    CU_ASSERT_EQUAL(read_text("a slots=2\nb slots=2\n", &err), 0);
    CU_ASSERT_EQUAL(strait_emu_hosts_place(&hosts, 5, &err), -1);
    CU_ASSERT_CONTAINS(err.text, "expected 5 slots, one for each rank, found 4");
    err = (struct strait_error){0};
    CU_ASSERT_EQUAL(read_text("a\nb\nc\n", &err), 0);
    CU_ASSERT_EQUAL(strait_emu_hosts_place(&hosts, 2, &err), -1);
    CU_ASSERT_CONTAINS(err.text, "expected a rank for each host, found 2 ranks: none is left for "
                                 "c");
}

/* A server of 1 Gbps and three clients of 100 Mbps, two ranks a host. The first host has the server
 * and a client, the second two clients. What leaves the first: at most 1.1 Gbps of its ports, and
 * 200 Mbps that the two clients take: 200 Mbps on the network's wire. A frame there has 1450 + 14 +
 * 24 bytes, between the hosts 1450 + 50: 201.6 Mbps. The same comes back. */
static void demand_is_what_both_sides_let_through(void)
{
    struct strait_link out[4], in[4];
    struct strait_error err = {0};
    for (int i = 0; i < 4; i++)
        out[i] = in[i] = (struct strait_link){.rate_bits_per_s = i == 0 ? 1e9 : 1e8};
    const struct strait_network network = {.out = out, .in = in, .overhead_bytes = 24};
    CU_ASSERT_EQUAL(read_text("a rate=1Gbps\nb rate=202Mbps\n", &err), 0);
    CU_ASSERT_EQUAL(strait_emu_hosts_place(&hosts, 4, &err), 0);
    for (int i = 0; i < 4; i++)
        CU_ASSERT_DOUBLE_EQUAL(
            strait_emu_hosts_demand_bits_per_s(&hosts, i / 2, i % 2, &network, 4, 1450),
            2e8 * 1500 / 1488, 1);
    CU_ASSERT_EQUAL(strait_emu_hosts_carry(&hosts, &network, 4, 1450, &err), 0);
    hosts.items[1].rate_bits_per_s = 201e6;
    CU_ASSERT_EQUAL(strait_emu_hosts_carry(&hosts, &network, 4, 1450, &err), -1);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_HOST);
    CU_ASSERT_CONTAINS(err.text, "the link of b carries 201 Mbps, and its 2 ranks may send 201.6 "
                                 "Mbps");
    err = (struct strait_error){0};
    hosts.items[1].rate_bits_per_s = NAN;
    CU_ASSERT_EQUAL(strait_emu_hosts_carry(&hosts, &network, 4, 1450, &err), -1);
    CU_ASSERT_CONTAINS(err.text, "expected the rate of b's link to the other hosts, which may have "
                                 "to carry 201.6 Mbps");
    err = (struct strait_error){0};
    for (int i = 0; i < 4; i++)
        in[i].rate_bits_per_s = out[i].rate_bits_per_s = INFINITY;
    CU_ASSERT_EQUAL(strait_emu_hosts_carry(&hosts, &network, 4, 1450, &err), -1);
    CU_ASSERT_CONTAINS(err.text, "expected ports with a rate on several hosts");
}

static const struct strait_test tests[] = {
    {"a line is a host, with slots, an address and a rate", lines_are_read},
    {"bad lines, unknown hosts and one address for two are refused", bad_lines_are_refused},
    {"ranks are given out in order, by slots or evenly", ranks_are_given_out_in_order},
    {"a host's link carries what the ports of both sides let through, or is refused",
     demand_is_what_both_sides_let_through},
};
STRAIT_SUITE("emu/programs/host_shares", tests);
