/* How a network is shown: ranks with the same links share a line, each link in its own units. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "cli/net/net_command.h"
#include "tests/kit/suite.h"

static void add(json_t *ranks, const char *host, const char *address, double out_bits_per_s,
                double in_bits_per_s)
{
    json_array_append_new(
        ranks,
        json_pack("{s:i, s:s, s:s, s:{s:f, s:f, s:f, s:f, s:n}, s:{s:f, s:f, s:f, s:f, s:i}}",
                  "rank", (int)json_array_size(ranks), "host", host, "address", address, "out",
                  "rate_bits_per_s", out_bits_per_s, "delay_s", 0.005, "loss_ratio", 0.01,
                  "jitter_s", 0.0, "queue_bytes", "in", "rate_bits_per_s", in_bits_per_s, "delay_s",
                  0.0, "loss_ratio", 0.0, "jitter_s", 0.001, "queue_bytes", 100000));
}

/* What strait_net_print writes to standard output, with one blank between words. */
static void printed(char text[4096], const json_t *state)
{
    const int kept = dup(STDOUT_FILENO), file = memfd_create("out", MFD_CLOEXEC);
    fflush(stdout);
    CU_ASSERT_FATAL(kept >= 0 && file >= 0 && dup2(file, STDOUT_FILENO) >= 0);
    strait_net_print(state);
    fflush(stdout);
    dup2(kept, STDOUT_FILENO);
    close(kept);
    const ssize_t n = pread(file, text, 4095, 0);
    CU_ASSERT_FATAL(n > 0);
    text[n] = '\0';
    close(file);
    printf("%s", text);
    char *to = text;
    for (const char *from = text; *from; from++)
        if (*from != ' ' || (to > text && to[-1] != ' '))
            *to++ = *from;
    *to = '\0';
}

static void ranks_that_are_alike(void)
{
    char text[4096];
    json_t *ranks = json_array();
    add(ranks, "server", "10.0.0.1", 1e9, 1e9);
    add(ranks, "client1", "10.0.0.2", 1e8, 2e8);
    add(ranks, "client2", "10.0.0.3", 1e8, 2e8);
    add(ranks, "client3", "10.0.0.4", 1e8, 3e8); /* another link in */
    json_t *state =
        json_pack("{s:s, s:s, s:I, s:s, s:f, s:s, s:b, s:o}", "name", "n", "experiment", "x.json",
                  "supervisor", (json_int_t)42, "launcher", "root", "overhead_bytes", 24.0,
                  "congestion", "reno", "congestion_set", 1, "ranks", ranks);
    printed(text, state);
    CU_ASSERT_CONTAINS(text, "network \"n\" of x.json: 4 ranks, supervisor 42, launcher root\n");
    CU_ASSERT_CONTAINS(text, "0 server 10.0.0.1 1 Gbps");
    CU_ASSERT_CONTAINS(text, "1 - 2 client1 - client2 10.0.0.2 - 10.0.0.3 100 Mbps, 5 ms, loss 1 % "
                             "200 Mbps, jitter 1 ms, queue 100 KB\n");
    CU_ASSERT_CONTAINS(text, "\n3 client3 10.0.0.4 100 Mbps, 5 ms, loss 1 % 300 Mbps, ");
    CU_ASSERT_CONTAINS(text, "a full frame is 1538 bytes on the wire"); /* 1514 + 24 */
    CU_ASSERT_PTR_NULL(strstr(text, "loss 0")); /* what is not there is not shown */
    CU_ASSERT_PTR_NULL(strstr(text, "jitter 0"));
    CU_ASSERT_CONTAINS(text, "; congestion control reno\n"); /* HyStart is a matter of cubic's */
    json_decref(state);
}

static void whether_cubic_has_hystart(void)
{
    static const char *const said[] = {"; congestion control cubic without HyStart\n",
                                       "; congestion control cubic with HyStart\n"};
    for (int on = 0; on < 2; on++) {
        char text[4096];
        json_t *state =
            json_pack("{s:s, s:s, s:I, s:s, s:f, s:s, s:b, s:b, s:[]}", "name", "n", "experiment",
                      "x.json", "supervisor", (json_int_t)42, "launcher", "root", "overhead_bytes",
                      24.0, "congestion", "cubic", "congestion_set", 1, "hystart", on, "ranks");
        printed(text, state);
        CU_ASSERT_CONTAINS(text, said[on]);
        json_decref(state);
    }
}

static const struct strait_test tests[] = {
    {"ranks that are alike share a line, others have their own", ranks_that_are_alike},
    {"of cubic it is said whether it has HyStart", whether_cubic_has_hystart},
};
STRAIT_SUITE("cli/net/net_print", tests);
