/* Streams of several TCP connections, emulated on this machine's own kernel. In virtual time:
 * test_virtual. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "tests/kit/emu_world.h"
#include "tests/kit/judged.h"
#include "tests/kit/suite.h"

enum { MESSAGE_BYTES = 4000000 };

static bool is_star(const struct strait_run *run, int src, int dst, int channel)
{
    (void)run;
    return src > 0 && dst == 0 && channel == 0;
}

/* Rank 1 sends 4 MB to rank 0, which notes when they are there. */
static void upload(struct strait_rank *r)
{
    struct strait_packet *p;
    struct strait_message m;
    if (r->me == 0) {
        r->backend->ops->recv(r, &m, 1, 0, INFINITY);
        strait_packet_drop(m.packet);
        board_of(r)->numbers[0][0] = m.arrived_s;
        return;
    }
    if (!(p = strait_packet_new(0)))
        abort();
    p->payload_bytes = MESSAGE_BYTES;
    r->backend->ops->send(r, 0, 0, 0, p, false);
}

/* 1 Gbps is C = 119.55 MB/s of payload. On S connections 4 MB need n* = ceil(log2(4e6 / (S 14480) +
 * 1)) = 9, 7, 5 windows, one a round trip of 50 ms. The connections follow one another through the
 * link: of the window before the last, 2^(n* - 2) 14480 bytes each, the last connection's comes
 * behind those of all others, and so do its acknowledgements, which let its share of the rest go,
 * R = 4e6 - S 14480 (2^(n* - 1) - 1). So the last byte is there after
 * (n* - 1) 50 ms + (S - 1) 2^(n* - 2) 14480 / C + R / (S C) + 25 ms:
 * S = 1: 0.400 + 0 + 0.0026 + 0.025 = 0.4276 s; S = 4: 0.300 + 0.0116 + 0.0007 + 0.025 = 0.3374 s;
 * S = 16: 0.200 + 0.0145 + 0.0003 + 0.025 = 0.2398 s. */
static void ramps(void)
{
    static const struct {
        unsigned n_connections;
        double wanted_s;
    } cases[] = {{1, 0.4276}, {4, 0.3374}, {16, 0.2398}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct world w;
        struct strait_error err = {0};
        world_init(&w, 2, 1e9, 0.050);
        w.network->tcp.n_connections = cases[i].n_connections;
        w.run.rank_main = upload;
        w.run.uses_stream = is_star;
        if (strait_emu.check(&w.run, &err) != 0) {
            CU_ASSERT(err.code == STRAIT_ERR_HOST);
            strait_test_skip(err.text);
            world_release(&w);
            return;
        }
        CU_ASSERT_FATAL(strait_emu.run(&w.run, &err) == 0);
        const double found_s = w.board->numbers[0][0];
        fprintf(stderr, "4 MB on %u connections: %.4f s, by arithmetic %.4f\n",
                cases[i].n_connections, found_s, cases[i].wanted_s);
        CU_ASSERT_AT_LEAST(found_s, 0.95 * cases[i].wanted_s);
        if (time_is_judged() && !world_is_invalid(&w))
            CU_ASSERT_AT_MOST(found_s, 1.05 * cases[i].wanted_s);
        /* the payload, and a frame on each connection */
        CU_ASSERT_EQUAL(json_integer_value(json_object_get(w.facts.report, "sent_bytes")),
                        MESSAGE_BYTES + (int)cases[i].n_connections * 96);
        const json_t *said = json_object_get(w.facts.constants, "connections");
        CU_ASSERT_EQUAL(json_integer_value(json_object_get(said, "value")), cases[i].n_connections);
        world_release(&w);
    }
}

static const struct strait_test tests[] = {
    {"4 MB on 1, 4 and 16 cold connections take what TCP takes", ramps},
};
STRAIT_SUITE("emu/process/connections", tests);
