/* How the connections of a rank are set up, each call of the system failing in its turn. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <math.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "process/dilated_clock.h"
#include "emu/process/pump.h"
#include "emu/process/transport.h"
#include "tests/kit/failing/faulty.h"
#include "tests/kit/suite.h"

enum { PATIENCE_S = 5 };

static uint32_t loopback(int rank)
{
    (void)rank;
    return htonl(INADDR_LOOPBACK);
}

static bool one_stream(const struct strait_run *run, int src, int dst, int channel)
{
    (void)run;
    return src == 0 && dst == 1 && channel == 0;
}

static const struct strait_network star = {.n_ranks = 2};
static const struct strait_run run = {.n_ranks = 2, .network = &star, .uses_stream = one_stream};

static struct strait_emu_transport_plan plan_of(struct strait_emu_shared *shared, int me)
{
    return (struct strait_emu_transport_plan){.shared = shared,
                                              .me = me,
                                              .address = loopback,
                                              .congestion = STRAIT_RENO,
                                              .n_connections = 1,
                                              .window_bytes = INFINITY};
}

static int connect_until(struct strait_emu_transport *t, struct strait_error *err)
{
    return strait_emu_transport_connect(t, strait_proc_mono_ns() + (int64_t)PATIENCE_S * 1000000000,
                                        err);
}

/* Rank 1, and a peer that greets as rank 0 does: source, channel and connection, all 0. */
static int be_greeted(void *arg, struct strait_error *err)
{
    static const int32_t greeting[3] = {0, 0, 0};
    struct strait_emu_shared *shared = arg;
    struct strait_emu_transport *t = NULL;
    const struct strait_emu_transport_plan plan = plan_of(shared, 1);
    if (strait_emu_transport_new(&t, &plan, err) != 0)
        return -1;
    const struct sockaddr_in to = {.sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                                   .sin_port = shared->ranks[1].port};
    int failed = -1;
    const int peer = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (peer < 0 || connect(peer, (const struct sockaddr *)&to, sizeof(to)) != 0 ||
        send(peer, greeting, sizeof(greeting), 0) != (ssize_t)sizeof(greeting))
        strait_error_system(err, "the test", "cannot greet");
    else
        failed = connect_until(t, err);
    if (peer >= 0)
        close(peer);
    strait_emu_transport_free(t);
    return failed;
}

/* Rank 0, which greets; nobody answers it, and nobody need. */
static int greet(void *arg, struct strait_error *err)
{
    struct strait_emu_shared *shared = arg;
    struct strait_emu_transport *t = NULL, *to = NULL;
    const struct strait_emu_transport_plan plan = plan_of(shared, 0), other = plan_of(shared, 1);
    const int failed = strait_emu_transport_new(&to, &other, err) != 0 ||
                       strait_emu_transport_new(&t, &plan, err) != 0 || connect_until(t, err) != 0;
    strait_emu_transport_free(t);
    strait_emu_transport_free(to);
    return failed ? -1 : 0;
}

/* A call that fails is said at once: waiting for the end of the other's patience is none of it. */
static int at_once(int (*connects)(void *, struct strait_error *), void *arg,
                   struct strait_error *err)
{
    const int status = connects(arg, err);
    CU_ASSERT_PTR_NULL(strstr(err->text, "in time"));
    return status;
}

static int be_greeted_at_once(void *arg, struct strait_error *err)
{
    return at_once(be_greeted, arg, err);
}

static int greet_at_once(void *arg, struct strait_error *err)
{
    return at_once(greet, arg, err);
}

static void each_call(void)
{
    struct strait_error err = {0};
    struct strait_emu_shared *shared = strait_emu_shared_new(&run, 1, 1, &err);
    CU_ASSERT_FATAL(shared != NULL);
    strait_test_may_leave(2); /* of a peer that has not greeted when the run fails */
    /* socket, three options, accept, three options, two for the least bytes, two reads */
    CU_ASSERT_AT_LEAST(strait_faulty_each(be_greeted_at_once, shared, 1), 10);
    CU_ASSERT_AT_LEAST(strait_faulty_each(greet_at_once, shared, 1), 8);
    strait_emu_shared_free(shared);
}

static int option(int fd, int level, int name)
{
    int value = -1;
    socklen_t n = sizeof(value);
    CU_ASSERT_EQUAL(getsockopt(fd, level, name, &value, &n), 0);
    return value;
}

/* What an experiment says of TCP stands in every socket; without a window the kernel's own does. */
static void options(void)
{
    static const double windows[] = {100000, INFINITY};
    struct strait_error err = {0};
    struct strait_emu_shared *shared = strait_emu_shared_new(&run, 1, 1, &err);
    CU_ASSERT_FATAL(shared != NULL);
    for (int i = 0; i < 2; i++) {
        char congestion[16] = "";
        socklen_t n = sizeof(congestion);
        struct strait_emu_transport_plan plan = plan_of(shared, 0);
        plan.window_bytes = windows[i];
        const int fd = strait_emu_open_socket(&plan, &err);
        CU_ASSERT_FATAL(fd >= 0);
        CU_ASSERT_EQUAL(option(fd, IPPROTO_TCP, TCP_NODELAY), 1);
        CU_ASSERT_EQUAL(getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, congestion, &n), 0);
        CU_ASSERT_STRING_EQUAL(congestion, "reno");
        if (i == 0)
            CU_ASSERT_EQUAL(option(fd, IPPROTO_TCP, TCP_WINDOW_CLAMP), 100000);
        else
            CU_ASSERT_NOT_EQUAL(option(fd, IPPROTO_TCP, TCP_WINDOW_CLAMP), 1 << 30);
        CU_ASSERT_NOT_EQUAL(fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
        close(fd);
    }
    strait_emu_shared_free(shared);
}

static const struct strait_test tests[] = {
    {"sockets are as the experiment says", options},
    {"a call that fails as ranks connect is said at once", each_call},
};
STRAIT_SUITE("emu/process/connect", tests);
