/* What strait calibrate net says of a path: each figure that is above none, or is not; in the file
 * with its digits, in the table with its error. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "cli/net/measured_path.h"
#include "tests/kit/suite.h"

#define FIGURE(value, error, n) ((struct strait_path_figure){value, error, n})

/* 20 Mbps up, without losses, jitter or queue; 50 down, with all of them. */
static struct strait_measured_path a_path(void)
{
    struct strait_measured_path m = {
        .source = "home:5300", .place = "home", .overhead_bytes = 24, .server_bits_per_s = 0};
    const struct strait_path_figure none = FIGURE(NAN, NAN, 0);
    m.path.up = (struct strait_path_direction){.rate = FIGURE(20.1234567e6, 1e5, 30),
                                               .loss = FIGURE(0.001, 0.0005, 2000),
                                               .jitter = FIGURE(1e-4, 1e-6, 2000),
                                               .queue = FIGURE(123456, NAN, 9)};
    m.path.down = (struct strait_path_direction){.rate = FIGURE(50e6, 2e5, 31),
                                                 .loss = FIGURE(0.00123456, 0.0006, 1999),
                                                 .jitter = FIGURE(1.01e-4, 2e-6, 1998),
                                                 .queue = FIGURE(250000, 1514, 1)};
    m.path.rtt_s = FIGURE(0.010, 1e-5, 50);
    m.path.message_s = FIGURE(2e-4, 1.01e-4, 40);
    snprintf(m.path.congestion, sizeof(m.path.congestion), "vegas");
    m.collective_s = m.launch_s = m.others_rtt_s = m.server_rtt_s = none;
    return m;
}

static void expect_json(const json_t *found, const char *wanted)
{
    json_t *json = json_loads(wanted, 0, NULL);
    char *text = json_dumps(found, JSON_COMPACT);
    CU_ASSERT_PTR_NOT_NULL_FATAL(json);
    strait_test_context("%s", text);
    CU_ASSERT_TRUE(json_equal(found, json));
    free(text);
    json_decref(json);
}

static void over_tcp(void)
{
    struct strait_measured_path m = a_path();
    json_t *file = strait_measured_path_json(&m);
    expect_json(json_object_get(file, "network"),
                "{\"client\": {\"rate\": \"50 Mbps\", \"rtt\": \"10 ms\", \"out\": {\"rate\": "
                "\"20.1235 Mbps\"}, \"in\": {\"rate\": \"50 Mbps\", \"loss\": \"0.1235 %\", "
                "\"jitter\": \"0.101 ms\", \"queue\": \"250000 B\"}}, \"server\": {\"rate\": "
                "\"50 Mbps\"}, \"overhead\": \"24 B\", \"constants\": {}}");
    expect_json(json_object_get(file, "sources"), "{}");
    expect_json(
        json_object_get(file, "measured"),
        "{\"out\": {\"rate\": {\"value\": 20123456.7, \"standard_error\": 1e5, \"unit\": \"bit/s\","
        " \"readings\": 30}, \"loss\": {\"value\": 0.001, \"standard_error\": 0.0005, \"unit\": "
        "\"of all packets\", \"readings\": 2000}, \"jitter\": {\"value\": 1e-4, "
        "\"standard_error\": 1e-6, \"unit\": \"s\", \"readings\": 2000}, \"queue_above\": "
        "{\"value\": 123456.0, \"standard_error\": null, \"unit\": \"B\", \"readings\": 9}}, "
        "\"in\": {\"rate\": {\"value\": 5e7, \"standard_error\": 2e5, \"unit\": \"bit/s\", "
        "\"readings\": 31}, \"loss\": {\"value\": 0.00123456, \"standard_error\": 0.0006, "
        "\"unit\": \"of all packets\", \"readings\": 1999}, \"jitter\": {\"value\": 1.01e-4, "
        "\"standard_error\": 2e-6, \"unit\": \"s\", \"readings\": 1998}, \"queue\": {\"value\": "
        "250000.0, \"standard_error\": 1514.0, \"unit\": \"B\", \"readings\": 1}}, \"rtt\": "
        "{\"value\": 0.01, \"standard_error\": 1e-5, \"unit\": \"s\", \"readings\": 50}, "
        "\"message\": {\"value\": 2e-4, \"standard_error\": 1.01e-4, \"unit\": \"s\", "
        "\"readings\": 40}}");
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(file, "schema")), "strait-network/1");
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(file, "title")),
                           "the path to home, measured");
    const char *source = json_string_value(json_object_get(file, "source"));
    CU_ASSERT_EQUAL(strncmp(source, "strait calibrate net home:5300 on 20", 36), 0);
    CU_ASSERT_CONTAINS(source, "; standard errors under \"measured\"");
    json_decref(file);
    /* a round trip of 10.2 ms has 0.102 ms of jitter in a hundredth; a message above two errors is
     * the software's call; a congestion control that experiments know is the network's */
    m.path.rtt_s.value = 0.0102;
    m.path.message_s.error = 0.99e-4;
    m.title = "my home";
    snprintf(m.path.congestion, sizeof(m.path.congestion), "bbr");
    file = strait_measured_path_json(&m);
    expect_json(json_object_get(file, "network"),
                "{\"client\": {\"rate\": \"50 Mbps\", \"rtt\": \"10.2 ms\", \"out\": {\"rate\": "
                "\"20.1235 Mbps\"}, \"in\": {\"rate\": \"50 Mbps\", \"loss\": \"0.1235 %\", "
                "\"queue\": \"250000 B\"}}, \"server\": {\"rate\": \"50 Mbps\"}, \"overhead\": "
                "\"24 B\", \"tcp\": {\"congestion\": \"bbr\"}, \"constants\": {\"launch\": "
                "\"0.2 ms\"}}");
    expect_json(json_object_get(file, "sources"),
                "{\"launch\": \"what a small message over TCP takes beyond its packet, the same "
                "measurement\"}");
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(file, "title")), "my home");
    json_decref(file);
}

/* What the server's port adds to the round trip is not the client's. */
static struct strait_measured_path over_mpi(void)
{
    const struct strait_path_figure none = FIGURE(NAN, NAN, 0);
    struct strait_measured_path m = a_path();
    m.over_mpi = true;
    m.source = "--on mpi, 4 ranks, Open MPI";
    m.place = "4 ranks, Open MPI";
    m.server_bits_per_s = 80e6;
    m.collective_s = FIGURE(0.002, 1e-5, 11);
    m.launch_s = FIGURE(0.0003, 1e-5, 12);
    m.others_rtt_s = FIGURE(0.008, 1e-5, 13);
    m.server_rtt_s = FIGURE(0.002, 1e-4, 14);
    m.path.up.loss = m.path.up.jitter = m.path.up.queue = none;
    m.path.down.loss = m.path.down.jitter = m.path.down.queue = none;
    m.path.congestion[0] = '\0';
    return m;
}

static void file_of_mpi(void)
{
    struct strait_measured_path m = over_mpi();
    json_t *file = strait_measured_path_json(&m);
    expect_json(json_object_get(file, "network"),
                "{\"client\": {\"rate\": \"50 Mbps\", \"rtt\": \"8 ms\", \"out\": {\"rate\": "
                "\"20.1235 Mbps\"}, \"in\": {\"rate\": \"50 Mbps\"}}, \"server\": {\"rate\": "
                "\"80 Mbps\", \"rtt\": \"2 ms\"}, \"overhead\": \"24 B\", \"constants\": "
                "{\"launch\": \"0.3 ms\"}}");
    expect_json(json_object_get(file, "sources"),
                "{\"launch\": \"what MPI_Allreduce of one float takes beyond log2 n exchanges of a "
                "float over MPI, the same measurement\"}");
    const json_t *measured = json_object_get(file, "measured");
    expect_json(json_object_get(measured, "rtt_of_others"),
                "{\"value\": 0.008, \"standard_error\": 1e-5, \"unit\": \"s\", \"readings\": 13}");
    expect_json(json_object_get(measured, "collective"),
                "{\"value\": 0.002, \"standard_error\": 1e-5, \"unit\": \"s\", \"readings\": 11}");
    CU_ASSERT_EQUAL(json_object_size(json_object_get(measured, "out")), 1);
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(file, "title")),
                           "the links of 4 ranks, Open MPI, measured");
    json_decref(file);
    m.server_rtt_s.value = 2e-4; /* no more than two errors: none */
    m.server_bits_per_s = 10e6;
    m.launch_s.value = 2e-5;
    file = strait_measured_path_json(&m);
    expect_json(json_object_get(file, "network"),
                "{\"client\": {\"rate\": \"50 Mbps\", \"rtt\": \"10 ms\", \"out\": {\"rate\": "
                "\"20.1235 Mbps\"}, \"in\": {\"rate\": \"50 Mbps\"}}, \"server\": {\"rate\": "
                "\"50 Mbps\"}, \"overhead\": \"24 B\", \"constants\": {}}");
    expect_json(json_object_get(file, "sources"), "{}");
    json_decref(file);
}

/* What is printed, with one blank between words. */
static void expect_table(const struct strait_measured_path *m, const char *wanted)
{
    char text[4096], *to = text;
    const int kept = dup(STDOUT_FILENO), file = memfd_create("out", MFD_CLOEXEC);
    fflush(stdout);
    CU_ASSERT_FATAL(kept >= 0 && file >= 0 && dup2(file, STDOUT_FILENO) >= 0);
    strait_measured_path_print(m);
    fflush(stdout);
    dup2(kept, STDOUT_FILENO);
    close(kept);
    const ssize_t n = pread(file, text, sizeof(text) - 1, 0);
    CU_ASSERT_FATAL(n > 0);
    text[n] = '\0';
    close(file);
    const char *rule = memrchr(text, 0xe2, (size_t)n), *from = rule ? strchr(rule, '\n') + 1 : text;
    for (; *from; from++)
        if (*from != ' ' || (to > text && to[-1] != ' ' && to[-1] != '\n'))
            *to++ = *from;
    *to = '\0';
    CU_ASSERT_STRING_EQUAL(text, wanted);
}

static void tables(void)
{
    struct strait_measured_path m = a_path();
    expect_table(&m, "round trip 10 ms 10 us\n"
                     "a small message 200 us 101 us not in the file\n"
                     "out: rate 20.12 Mbps 100 kbps\n"
                     "loss 0.1 % 0.05 % not in the file\n"
                     "jitter 100 us 1 us not in the file\n"
                     "queue 123.5 KB - it is longer; try a larger --burst\n"
                     "in: rate 50 Mbps 200 kbps\n"
                     "loss 0.1235 % 0.06 %\n"
                     "jitter 101 us 2 us\n"
                     "queue 250 KB 1.514 KB\n");
    m.path.up.is_held = true;
    m.path.message_s.error = 0.99e-4;
    m.path.down.queue = FIGURE(NAN, NAN, 0);
    expect_table(&m, "round trip 10 ms 10 us\n"
                     "a small message 200 us 99 us\n"
                     "out: rate 20.12 Mbps 100 kbps\n"
                     "loss 0.1 % 0.05 % not in the file\n"
                     "jitter 100 us 1 us not in the file\n"
                     "queue 123.5 KB - it is longer; the sender's buffer was full\n"
                     "in: rate 50 Mbps 200 kbps\n"
                     "loss 0.1235 % 0.06 %\n"
                     "jitter 101 us 2 us\n");
    m = over_mpi();
    expect_table(&m, "round trip 10 ms 10 us\n"
                     "between two others 8 ms 10 us not in the file\n"
                     "rank 0's port 2 ms 100 us\n"
                     "a small message 200 us 101 us not in the file\n"
                     "a collective 2 ms 10 us not in the file\n"
                     "beside its steps 300 us 10 us\n"
                     "out: rate 20.12 Mbps 100 kbps\n"
                     "in: rate 50 Mbps 200 kbps\n");
    m.server_rtt_s.value = m.launch_s.value = 1e-5;
    expect_table(&m, "round trip 10 ms 10 us\n"
                     "between two others 8 ms 10 us not in the file\n"
                     "rank 0's port 10 us 100 us not in the file\n"
                     "a small message 200 us 101 us not in the file\n"
                     "a collective 2 ms 10 us not in the file\n"
                     "beside its steps 10 us 10 us not in the file\n"
                     "out: rate 20.12 Mbps 100 kbps\n"
                     "in: rate 50 Mbps 200 kbps\n");
}

static const struct strait_test tests[] = {
    {"a path over TCP is a network of what is above none", over_tcp},
    {"links over MPI are a client's and the server's", file_of_mpi},
    {"the table says what is not in the file", tables},
};
STRAIT_SUITE("cli/net/measured_path", tests);
