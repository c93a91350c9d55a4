/* What links carry: rates from two readings, the total, the busiest, a table and a line. */
#include "analysis/flows.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "tests/kit/suite.h"

static const struct strait_flow unknown = {NAN, NAN, NAN, NAN};

static void two_readings(void)
{
    const struct strait_live_link before = {1e6, 5e4, 2}, now = {3.5e6, 1.5e5, 3};
    /* 2.5 MB in 0.5 s: 40 Mbps, of 100 Mbps */
    struct strait_flow f = strait_flow_of(&now, &before, 0.5, 1e8);
    CU_ASSERT_DOUBLE_EQUAL(f.bits_per_s, 40e6, 1e-3);
    CU_ASSERT_DOUBLE_EQUAL(f.share_ratio, 0.4, 1e-12);
    CU_ASSERT_EQUAL(f.queue_bytes, 1.5e5);
    CU_ASSERT_EQUAL(f.n_drops, 3);
    f = strait_flow_of(&now, NULL, 1, INFINITY); /* since time 0, on a link that takes no time */
    CU_ASSERT_DOUBLE_EQUAL(f.bits_per_s, 28e6, 1e-3);
    CU_ASSERT(isnan(f.share_ratio));
    f = strait_flow_of(&(const struct strait_live_link){NAN, NAN, 0}, NULL, 1, 1e8);
    CU_ASSERT(isnan(f.bits_per_s) && isnan(f.share_ratio) && isnan(f.n_drops));
    CU_ASSERT(isnan(strait_flow_of(&now, &before, 0, 1e8).bits_per_s));
}

/* A server, three clients, a site's port and a link of a pair. */
static size_t example(struct strait_flow_row rows[6])
{
    memset(rows, 0, 6 * sizeof(*rows));
    rows[0] = (struct strait_flow_row){
        .name = "server", .out = {10e6, 0.01, 0, 0}, .in = {600e6, 0.6, 2e6, 5}};
    for (int i = 1; i < 4; i++) {
        snprintf(rows[i].name, sizeof(rows[i].name), "client%d", i);
        rows[i].out = (struct strait_flow){200e6, i == 2 ? 0.9 : 0.2, 1e5, 0};
        rows[i].in = (struct strait_flow){3e6, 0.003, 0, 1};
    }
    rows[4] = (struct strait_flow_row){
        .name = "site 1", .out = {600e6, 0.6, 3e6, 7}, .in = {10e6, 0.01, 0, 0}, .inner = true};
    rows[5] = (struct strait_flow_row){
        .name = "site 1 to 2", .out = {600e6, 0.5, 0, 0}, .in = unknown, .inner = true};
    return 6;
}

static void totals(void)
{
    struct strait_flow_row rows[6];
    const struct strait_flow_row all = strait_flows_total(rows, example(rows));
    CU_ASSERT_STRING_EQUAL(all.name, "all 4"); /* ports; what sites carry was counted there */
    CU_ASSERT_DOUBLE_EQUAL(all.out.bits_per_s, 610e6, 1);
    CU_ASSERT_DOUBLE_EQUAL(all.in.bits_per_s, 609e6, 1);
    CU_ASSERT(isnan(all.out.share_ratio));
    CU_ASSERT_EQUAL(all.out.queue_bytes, 3.3e6); /* waiting bytes wait in one place */
    CU_ASSERT_EQUAL(all.out.n_drops, 7);
    CU_ASSERT_EQUAL(all.in.n_drops, 8);
}

enum { TEXT_BYTES = 8192 };

static void print(char text[TEXT_BYTES], const struct strait_flow_row *rows, size_t n, size_t most)
{
    memset(text, 0, TEXT_BYTES);
    FILE *f = fmemopen(text, TEXT_BYTES - 1, "w");
    CU_ASSERT_FATAL(f != NULL);
    if (most > 0)
        strait_flows_print(f, rows, n, most);
    else
        strait_flows_print_line(f, rows, n);
    CU_ASSERT_EQUAL_FATAL(fclose(f), 0);
}

/* The names at the line beginnings, in order. */
static void expect_names(const char *text, const char *const *names)
{
    for (; *names; names++) {
        char begin[48];
        snprintf(begin, sizeof(begin), "\n%s  ", *names);
        const char *at = strstr(text, begin);
        CU_ASSERT_PTR_NOT_NULL(at);
        if (!at)
            return;
        text = at + 1;
    }
}

static void tables(void)
{
    struct strait_flow_row rows[6];
    const size_t n = example(rows);
    char text[TEXT_BYTES];
    print(text, rows, n, 6);
    expect_names(text, (const char *const[]){"server", "client1", "client2", "client3", "site 1",
                                             "site 1 to 2", "all 4", NULL});
    CU_ASSERT_EQUAL(strncmp(text, "host  ", 6), 0);
    CU_ASSERT_PTR_NULL(strstr(text, "address"));
    const char *server = strstr(text, "server");
    CU_ASSERT_PTR_NOT_NULL(strstr(server, "600.0"));
    CU_ASSERT_PTR_NOT_NULL(strstr(server, "60 %"));
    CU_ASSERT_PTR_NOT_NULL(strstr(server, "2.00 MB"));
    print(text, rows, n, 3); /* the three with the largest shares: 90, 60 and 60 % */
    expect_names(text, (const char *const[]){"client2", "server", "site 1", "all 4", NULL});
    CU_ASSERT_PTR_NULL(strstr(text, "client1"));
}

static void known_columns(void)
{
    struct strait_flow_row rows[2] = {
        {.name = "a", .address = "10.0.0.1", .out = {1e6, NAN, NAN, NAN}, .in = unknown},
        {.name = "b", .address = "10.0.0.2", .out = {5e6, NAN, NAN, NAN}, .in = unknown}};
    char text[TEXT_BYTES];
    print(text, rows, 2, 1); /* without shares the rate says who is busy */
    CU_ASSERT_EQUAL(strncmp(text, "host   address   sends Mbit/s  receives Mbit/s\n", 47), 0);
    expect_names(text, (const char *const[]){"b    ", "all 2", NULL});
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "           5.0                -\n"));
}

static void lines(void)
{
    struct strait_flow_row rows[6];
    const size_t n = example(rows);
    char text[TEXT_BYTES];
    print(text, rows, n, 0);
    CU_ASSERT_STRING_EQUAL(text, "sends 610.0 Mbit/s, receives 609.0, queued 5.30 MB, dropped 15; "
                                 "busiest client2, out at 90 %");
    rows[0].out = rows[0].in = unknown;
    print(text, rows, 1, 0);
    CU_ASSERT_STRING_EQUAL(text, "sends 0.0 Mbit/s, receives 0.0");
}

static const struct strait_test tests[] = {
    {"a rate is what was carried between two readings", two_readings},
    {"the total takes rates of ports, queues and drops of all links", totals},
    {"a table has all rows, or the busiest ones first", tables},
    {"what is not known of any link has no column", known_columns},
    {"a line has the total and the busiest link", lines},
};
STRAIT_SUITE("analysis/flows", tests);
