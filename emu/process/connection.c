/* One TCP connection of a stream: what epoll tells of it, and its place among those that write. */
#include <errno.h>
#include <sys/epoll.h>
#include "pump.h"

int strait_emu_connection_watch(struct strait_emu_transport *t, int operation, int fd,
                                uint32_t events, enum strait_emu_source source, int index,
                                struct strait_error *err)
{
    struct epoll_event e = {.events = events, .data.u64 = (uint64_t)source << 32 | (uint32_t)index};
    if (epoll_ctl(t->epoll, operation, fd, &e) != 0)
        return strait_error_system(err, "epoll_ctl", "cannot watch a connection");
    return 0;
}

int strait_emu_connection_broken(int other, const char *direction, ssize_t n,
                                 struct strait_error *err)
{
    if (n == 0)
        return strait_error_set(err, STRAIT_ERR_BACKEND, NULL, "the connection %s rank %d ended",
                                direction, other);
    return strait_error_system(err, NULL, "the connection %s rank %d broke", direction, other);
}

bool strait_emu_connection_would_block(ssize_t n)
{
    return n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

int strait_emu_connection_set_blocked(struct strait_emu_transport *t, bool *blocked, bool now,
                                      int fd, enum strait_emu_source source, int index,
                                      struct strait_error *err)
{
    if (*blocked == now)
        return 0;
    *blocked = now;
    return strait_emu_connection_watch(t, EPOLL_CTL_MOD, fd, EPOLLIN | (now ? EPOLLOUT : 0u),
                                       source, index, err);
}

void strait_emu_connection_ready(struct strait_emu_transport *t,
                                 struct strait_emu_out_connection *connection)
{
    if (connection->ready)
        return;
    connection->ready = true;
    connection->next_ready = NULL;
    *t->ready_end = connection;
    t->ready_end = &connection->next_ready;
    t->n_ready++;
}
