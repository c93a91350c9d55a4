/* A star network for tests, and sockets in its namespaces. */
#pragma once
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include "emu/links/net.h"
#include "emu/links/userns.h"
#include "tests/kit/suite.h"

enum { MAX_NODES = 9 };

struct world {
    struct strait_link out[MAX_NODES], in[MAX_NODES];
    struct strait_emu_net_plan plan;
    struct strait_emu_net *net;
};

static inline double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline void sleep_ms(long ms)
{
    const struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    nanosleep(&t, NULL);
}

/* Node 0 is the server; the whole one-way delay is at the clients' ports. */
static inline void world_init(struct world *w, int n_nodes, double rate_bits_per_s, double rtt_s)
{
    *w = (struct world){.plan = {.n_nodes = n_nodes, .seed = 1, .realtime = true}};
    for (int i = 0; i < n_nodes; i++)
        w->out[i] = w->in[i] = (struct strait_link){.rate_bits_per_s = rate_bits_per_s,
                                                    .delay_s = i > 0 ? rtt_s / 2 : 0};
    w->plan.out = w->out;
    w->plan.in = w->in;
}

/* False, with the test skipped, where this machine or user cannot do it at all. */
static inline bool world_up(struct world *w)
{
    struct strait_error err = {0};
    if ((geteuid() == 0 || strait_emu_launch_userns(&err) == 0) &&
        strait_emu_net_up(&w->net, &w->plan, &err) == 0)
        return true;
    if (err.code == STRAIT_ERR_HOST) {
        char reason[800];
        snprintf(reason, sizeof(reason), "%s%s%s", err.where, err.where[0] ? ": " : "", err.text);
        strait_test_skip(reason);
    } else
        CU_FAIL_FATAL("the network did not come up");
    return false;
}

struct opening {
    struct strait_emu_net *net;
    int node, type, fd;
};

static inline void *open_inside(void *arg)
{
    struct opening *o = arg;
    if (strait_emu_net_enter(o->net, o->node, NULL) == 0)
        o->fd = socket(AF_INET, o->type | SOCK_CLOEXEC, 0);
    return NULL;
}

/* A socket stays in the namespace in which it was made, so only its making needs a thread there. */
static inline int socket_inside(struct strait_emu_net *net, int node, int type)
{
    struct opening o = {net, node, type, -1};
    pthread_t thread;
    CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, open_inside, &o), 0);
    pthread_join(thread, NULL);
    CU_ASSERT_FATAL(o.fd >= 0);
    const int one = 1;
    if (type == SOCK_STREAM) {
        setsockopt(o.fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
        CU_ASSERT_EQUAL_FATAL(setsockopt(o.fd, IPPROTO_TCP, TCP_CONGESTION, "reno", 4), 0);
    }
    return o.fd;
}

struct flow {
    int tx_fd, rx_fd;
};

static inline struct sockaddr_in address_of(int node)
{
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_port = htons(7000),
                                .sin_addr = {.s_addr = strait_emu_net_address(node)}};
}

static inline struct flow flow_open(struct strait_emu_net *net, int from, int to)
{
    struct sockaddr_in a = address_of(to);
    const int listener = socket_inside(net, to, SOCK_STREAM), one = 1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    CU_ASSERT_EQUAL_FATAL(bind(listener, (struct sockaddr *)&a, sizeof(a)), 0);
    CU_ASSERT_EQUAL_FATAL(listen(listener, 1), 0);
    struct flow f = {.tx_fd = socket_inside(net, from, SOCK_STREAM)};
    CU_ASSERT_EQUAL_FATAL(connect(f.tx_fd, (struct sockaddr *)&a, sizeof(a)), 0);
    f.rx_fd = accept(listener, NULL, NULL);
    CU_ASSERT_FATAL(f.rx_fd >= 0);
    close(listener);
    return f;
}

static inline void flow_close(struct flow f)
{
    close(f.tx_fd);
    close(f.rx_fd);
}
