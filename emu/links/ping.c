/* Round-trip time measured by an independent program. */
#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "core/heap.h"
#include "core/process.h"
#include "net.h"

enum { PING_OUTPUT_BYTES = 1 << 20 };
/* Real seconds. All answers may take five seconds plus one of virtual time. */
static const double INTERVAL_S = 0.02, ANSWER_S = 5;

struct ping {
    int namespace_fd;
    const char *const *argv;
    double deadline_s;
    char *output;
    int status;
    struct strait_error err;
};

static void *ping_inside(void *arg)
{
    struct ping *p = arg;
    if (setns(p->namespace_fd, CLONE_NEWNET) != 0)
        p->status = strait_error_system(&p->err, NULL, "cannot enter a namespace");
    else
        p->status =
            strait_process_run(p->output, PING_OUTPUT_BYTES, p->argv, NULL, p->deadline_s, &p->err);
    return NULL;
}

/* Collect the numbers after "time=", in milliseconds. */
static int read_times(double *times_s, int cap, const char *output)
{
    int n = 0;
    for (const char *at = output; n < cap && (at = strstr(at, "time=")); at += 5)
        times_s[n++] = 1e-3 * strtod(at + 5, NULL);
    strait_sort(times_s, (size_t)n);
    return n;
}

int strait_emu_net_ping(double *rtt_min_s, double *rtt_median_s, struct strait_emu_net *net,
                        int from, int to, int n, struct strait_error *err)
{
    assert(to >= 0 && to < strait_emu_net_n_nodes(net) && n > 0);
    const double k = strait_emu_net_dilation(net);
    const uint32_t address = strait_emu_net_address(to);
    char count[16], interval[32], answer[32], name[INET_ADDRSTRLEN];
    snprintf(count, sizeof(count), "%d", n);
    snprintf(interval, sizeof(interval), "%.3f", INTERVAL_S);
    snprintf(answer, sizeof(answer), "%.0f", ceil(ANSWER_S + k + INTERVAL_S * n));
    inet_ntop(AF_INET, &address, name, sizeof(name));
    /* With -w it goes on until so many have answered; without, it waits for the last ones no longer
     * than two round trips, and a busy machine's are late. */
    const char *const argv[] = {"env", "LC_ALL=C", "ping", "-n",   "-c", count,
                                "-i",  interval,   "-w",   answer, name, NULL};
    struct ping p = {.namespace_fd = strait_emu_net_namespace_fd(net, from),
                     .argv = argv,
                     .deadline_s = 2 * ANSWER_S + k + INTERVAL_S * n,
                     .output = calloc(1, PING_OUTPUT_BYTES)};
    double *times_s = calloc((size_t)n, sizeof(*times_s));
    pthread_t inside;
    if (!p.output || !times_s) {
        p.status = strait_error_set(&p.err, STRAIT_ERR_NOMEM, NULL, "no memory for %d pings", n);
    } else if ((errno = pthread_create(&inside, NULL, ping_inside, &p)) != 0) {
        p.status = strait_error_system(&p.err, NULL, "cannot start a thread");
    } else {
        pthread_join(inside, NULL);
        const int got = read_times(times_s, n, p.output);
        if (p.status == 127)
            p.err = (struct strait_error){.code = STRAIT_ERR_HOST,
                                          .text = "the ping program is not installed"};
        else if (p.status == 0 && got < n)
            p.status = strait_error_set(&p.err, STRAIT_ERR_BACKEND, "ping",
                                        "expected %d answers from node %d, got %d", n, to, got);
    }
    if (p.status == 0 && rtt_min_s)
        *rtt_min_s = times_s[0] / k;
    if (p.status == 0 && rtt_median_s)
        *rtt_median_s = (times_s[(n - 1) / 2] + times_s[n / 2]) / 2 / k;
    free(p.output);
    free(times_s);
    if (p.status != 0 && err && err->code == STRAIT_OK)
        *err = p.err;
    return p.status == 0 ? 0 : -1;
}
