#include "path_probe.h"

#include <errno.h>
#include <netdb.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "path_end.h"

/* After the last packet of a train none may come for so long. */
static const double QUIET_S = 0.2;

static int listen_on(int type, const char *port, struct strait_error *err)
{
    const struct addrinfo hints = {
        .ai_family = AF_INET, .ai_socktype = type, .ai_flags = AI_PASSIVE};
    struct addrinfo *at;
    const int on = 1;
    if (getaddrinfo(NULL, port, &hints, &at) != 0)
        return strait_refuse(err, port, "expected a port");
    const int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    const bool good = fd >= 0 && bind(fd, at->ai_addr, at->ai_addrlen) == 0 &&
                      (type == SOCK_DGRAM || listen(fd, 1) == 0);
    freeaddrinfo(at);
    if (!good)
        strait_error_system(err, port, "cannot listen");
    if (!good && fd >= 0)
        close(fd);
    return good ? fd : -1;
}

/* Do what the other end asks until it leaves. */
static int answer(struct strait_path_end *e, struct strait_error *err)
{
    struct strait_path_order o;
    for (;;) {
        if (strait_path_hear(e, &o, err) != 0)
            return -1;
        switch ((enum strait_path_word)o.word) {
        case STRAIT_PATH_HELLO:
            e->number = o.number;
            break;
        case STRAIT_PATH_TAKE:
            e->train = o.number;
            e->n_arrived = 0;
            break;
        case STRAIT_PATH_TAKEN:
            if (strait_path_drain(e, QUIET_S, err) != 0 || strait_path_tell_train(e, err) != 0)
                return -1;
            continue;
        case STRAIT_PATH_GIVE:
            if (!e->knows_to)
                return strait_error_set(err, STRAIT_ERR_SYSTEM, e->who,
                                        "no packet of the other end came");
            if (strait_path_send(e, &o, err) != 0)
                return -1;
            break;
        case STRAIT_PATH_BYE:
            return strait_path_tell(e, &o, err);
        case STRAIT_PATH_PING:
        case STRAIT_PATH_N_WORDS:
            break;
        }
        if (strait_path_tell(e, &o, err) != 0)
            return -1;
    }
}

int strait_path_serve(const char *port, void (*ended)(const struct strait_error *),
                      struct strait_error *err)
{
    const int listener = listen_on(SOCK_STREAM, port, err);
    const int udp = listener < 0 ? -1 : listen_on(SOCK_DGRAM, port, err);
    int failed = udp < 0 ? -1 : 0;
    for (bool goes_on = !failed; goes_on;) {
        struct strait_path_end e;
        struct strait_error own = {0};
        const int tcp = accept(listener, NULL, NULL);
        if (tcp < 0 && (errno == EINTR || errno == ECONNABORTED))
            continue;
        if (tcp < 0) {
            failed = strait_error_system(err, port, "cannot accept connections");
            break;
        }
        failed = strait_path_end_init(&e, tcp, udp, port, &own) != 0 || answer(&e, &own) != 0;
        strait_path_end_release(&e);
        goes_on = ended != NULL; /* for the next one, whatever this one did */
        if (failed && ended)
            ended(&own);
        else if (failed)
            *err = own;
    }
    if (listener >= 0)
        close(listener);
    if (udp >= 0)
        close(udp);
    return failed ? -1 : 0;
}
