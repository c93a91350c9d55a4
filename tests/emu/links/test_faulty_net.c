/* A network of namespaces of which one call of the system fails, once at each place that makes one:
 * it says so, or does without; and the next one comes up. */
#include <string.h>
#include "tests/kit/failing/faulty.h"
#include "tests/kit/links/net_world.h"

/* Up, entered by nobody, its counters read, down. Every port is shaped, with jitter and loss. */
static int use_net(void *arg, struct strait_error *err)
{
    struct world *w = arg;
    struct strait_emu_relay_report r;
    struct strait_emu_counters c;
    int failed = strait_emu_net_up(&w->net, &w->plan, err);
    if (failed == 0) {
        failed = strait_emu_net_counters(&c, w->net, 1, err);
        if (failed == 0 && (failed = strait_emu_net_report(&r, w->net, true, err)) == 0)
            strait_emu_relay_report_release(&r);
        strait_emu_net_free(w->net);
    }
    return failed;
}

static void each_place(void)
{
    struct world w;
    world_init(&w, 2, 1e8, 0.01);
    w.out[1].loss_ratio = 0.01;
    w.in[1].jitter_s = 0.001;
    if (!world_up(&w))
        return;
    strait_emu_net_free(w.net);
    CU_ASSERT_AT_LEAST(strait_faulty_places(use_net, &w), 10);
}

static const struct strait_test tests[] = {
    {"a call that fails while a network is built and read is said", each_place},
};
STRAIT_SUITE("emu/links/faulty_net", tests);
