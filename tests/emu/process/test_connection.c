/* What epoll is told of a connection, and its place among those that wait for their turn. */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>
#include "emu/process/pump.h"
#include "tests/kit/suite.h"

/* First come, first served, and each once until it had its turn. */
static void turns(void)
{
    static struct strait_emu_transport t;
    struct strait_emu_out_connection c[3] = {0};
    memset(&t, 0, sizeof(t));
    pthread_mutex_init(&t.lock, NULL);
    t.ready_end = &t.ready;
    t.out_connections = c;
    t.n_outs = 3;
    t.n_connections = 1;
    for (int i = 0; i < 3; i++)
        c[i].blocked = true; /* which writes nothing in its turn */
    strait_emu_connection_ready(&t, &c[2]);
    strait_emu_connection_ready(&t, &c[0]);
    strait_emu_connection_ready(&t, &c[2]);
    strait_emu_connection_ready(&t, &c[1]);
    strait_emu_connection_ready(&t, &c[0]);
    CU_ASSERT_EQUAL(t.n_ready, 3);
    CU_ASSERT_PTR_EQUAL(t.ready, &c[2]);
    CU_ASSERT_PTR_EQUAL(c[2].next_ready, &c[0]);
    CU_ASSERT_PTR_EQUAL(c[0].next_ready, &c[1]);
    CU_ASSERT_PTR_NULL(c[1].next_ready);
    CU_ASSERT(c[0].ready && c[1].ready && c[2].ready);
    CU_ASSERT_EQUAL(strait_emu_outgoing_flush_ready(&t, NULL), 0);
    CU_ASSERT_EQUAL(t.n_ready, 0);
    CU_ASSERT_PTR_NULL(t.ready);
    CU_ASSERT_FALSE(c[0].ready || c[1].ready || c[2].ready);
    strait_emu_connection_ready(&t, &c[0]);
    CU_ASSERT_PTR_EQUAL(t.ready, &c[0]);
    CU_ASSERT_EQUAL(t.n_ready, 1);
    pthread_mutex_destroy(&t.lock);
}

static void watched(void)
{
    static struct strait_emu_transport t;
    struct strait_error err = {0};
    struct epoll_event e;
    bool blocked = false;
    int pair[2];
    CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    t.epoll = epoll_create1(EPOLL_CLOEXEC);
    CU_ASSERT_EQUAL(
        strait_emu_connection_watch(&t, EPOLL_CTL_ADD, pair[0], EPOLLIN, STRAIT_EMU_OUT, 7, &err),
        0);
    CU_ASSERT_EQUAL(epoll_wait(t.epoll, &e, 1, 0), 0); /* it could be written to */
    CU_ASSERT_EQUAL(
        strait_emu_connection_set_blocked(&t, &blocked, false, -1, STRAIT_EMU_OUT, 7, &err),
        0); /* it is not: nothing to do */
    CU_ASSERT_EQUAL(
        strait_emu_connection_set_blocked(&t, &blocked, true, pair[0], STRAIT_EMU_OUT, 9, &err), 0);
    CU_ASSERT(blocked);
    CU_ASSERT_EQUAL(epoll_wait(t.epoll, &e, 1, 0), 1);
    CU_ASSERT_EQUAL(e.events, EPOLLOUT);
    CU_ASSERT_EQUAL(e.data.u64, ((uint64_t)STRAIT_EMU_OUT << 32) + 9);
    CU_ASSERT_EQUAL(
        strait_emu_connection_set_blocked(&t, &blocked, false, pair[0], STRAIT_EMU_IN, 3, &err), 0);
    CU_ASSERT_FALSE(blocked);
    CU_ASSERT_EQUAL(epoll_wait(t.epoll, &e, 1, 0), 0);
    CU_ASSERT_EQUAL(write(pair[1], "x", 1), 1);
    CU_ASSERT_EQUAL(epoll_wait(t.epoll, &e, 1, 0), 1);
    CU_ASSERT_EQUAL(e.events, EPOLLIN);
    CU_ASSERT_EQUAL(e.data.u64, ((uint64_t)STRAIT_EMU_IN << 32) + 3);
    CU_ASSERT_STRING_EQUAL(err.text, "");
    CU_ASSERT_EQUAL(
        strait_emu_connection_set_blocked(&t, &blocked, true, -1, STRAIT_EMU_IN, 3, &err), -1);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_SYSTEM);
    CU_ASSERT_STRING_EQUAL(err.text, "cannot watch a connection: Bad file descriptor");
    close(t.epoll);
    close(pair[0]);
    close(pair[1]);
}

static void breaks(void)
{
    struct strait_error err = {0};
    CU_ASSERT_EQUAL(strait_emu_connection_broken(4, "to", 0, &err), -1);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_BACKEND);
    CU_ASSERT_STRING_EQUAL(err.text, "the connection to rank 4 ended");
    err = (struct strait_error){0};
    errno = EPIPE;
    CU_ASSERT_EQUAL(strait_emu_connection_broken(2, "from", -1, &err), -1);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_SYSTEM);
    CU_ASSERT_STRING_EQUAL(err.text, "the connection from rank 2 broke: Broken pipe");
    errno = EAGAIN;
    CU_ASSERT(strait_emu_connection_would_block(-1));
    CU_ASSERT_FALSE(strait_emu_connection_would_block(0));
    CU_ASSERT_FALSE(strait_emu_connection_would_block(1));
    errno = EINTR;
    CU_ASSERT_FALSE(strait_emu_connection_would_block(-1));
}

static const struct strait_test tests[] = {
    {"connections have their turns in order, and each once", turns},
    {"epoll is told which connection waits to read or to write", watched},
    {"a connection that ends is told from one that breaks", breaks},
};
STRAIT_SUITE("emu/process/connection", tests);
