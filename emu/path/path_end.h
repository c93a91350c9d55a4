/* One end of a measurement: a TCP connection for orders and a UDP socket for packets. */
#pragma once
#include <netinet/in.h>
#include "core/error.h"
#include "path_fit.h"

/* Orders on the TCP connection, each of STRAIT_PATH_ORDER_BYTES; the peer answers each. */
enum strait_path_word {
    STRAIT_PATH_HELLO = 1, /* number: of the measurement, in every packet of it */
    STRAIT_PATH_TAKE,      /* n packets of train `number` will come */
    STRAIT_PATH_TAKEN, /* they were sent: the answer's n of them arrived, a record each follows */
    STRAIT_PATH_GIVE,  /* send n packets; answered when they are sent, with is_held */
    STRAIT_PATH_PING,  /* answered at once */
    STRAIT_PATH_BYE,
    STRAIT_PATH_N_WORDS
};
enum {
    STRAIT_PATH_ORDER_BYTES = 32,
    STRAIT_PATH_HEAD_BYTES = 24, /* the shortest packet */
    STRAIT_PATH_MAX_PACKETS = 1 << 16
};

struct strait_path_order {
    uint32_t word, number, n, payload_bytes;
    double gap_s; /* from one packet to the next; 0: at once */
    bool is_held;
};

struct strait_path_end {
    int tcp, udp;
    const char *who; /* for errors: "client1:7000" */
    uint32_t number; /* of the measurement */
    int64_t base_ns; /* what the clock's times are counted from */
    struct sockaddr_in to;
    bool knows_to;
    /* of the train that arrives */
    uint32_t train;
    struct strait_path_packet *packets;
    size_t n_arrived;
    /* the answer to an echo: packet echo was back at echo_s; NAN: not yet */
    uint32_t echo;
    double echo_s;
};

/** Take over connected sockets; room for the largest train is allocated. 0, or -1 with *err. */
int strait_path_end_init(struct strait_path_end *e, int tcp, int udp, const char *who,
                         struct strait_error *err);
void strait_path_end_release(struct strait_path_end *e); /* closes tcp alone */
double strait_path_now_s(const struct strait_path_end *e);
/** 0, or -1 with *err when the connection broke or was silent for 30 s, or on nonsense. */
int strait_path_tell(struct strait_path_end *e, const struct strait_path_order *o,
                     struct strait_error *err);
/** Meanwhile packets that come in are kept and echoes answered. */
int strait_path_hear(struct strait_path_end *e, struct strait_path_order *o,
                     struct strait_error *err);
/** Take packets until none came for quiet_s. */
int strait_path_drain(struct strait_path_end *e, double quiet_s, struct strait_error *err);
/** Take what has come and what comes until until_s, or until the echo is back. */
int strait_path_take(struct strait_path_end *e, double until_s, struct strait_error *err);
/** Send a train. Out: is_held */
int strait_path_send(struct strait_path_end *e, struct strait_path_order *train,
                     struct strait_error *err);
/** Send one packet whose echo is awaited with strait_path_take. */
int strait_path_send_echo(struct strait_path_end *e, uint32_t number, uint32_t payload_bytes,
                          struct strait_error *err);
/** All of the train's packets that arrived, over the connection. */
int strait_path_tell_train(struct strait_path_end *e, struct strait_error *err);
int strait_path_hear_train(struct strait_path_end *e, uint32_t n, struct strait_error *err);
