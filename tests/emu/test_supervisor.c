/* A rank that somebody stops for good: the others would wait for it, and the run says which. */
#include <math.h>
#include <signal.h>
#include <string.h>
#include "tests/kit/emu_world.h"
#include "tests/kit/suite.h"

static bool is_star(const struct strait_run *run, int src, int dst, int channel)
{
    (void)run;
    return src > 0 && dst == 0 && channel == 0;
}

static void stop(struct strait_rank *r)
{
    struct strait_message m;
    if (r->me == 2)
        raise(SIGSTOP);
    if (r->me == 0)
        r->backend->ops->recv(r, &m, 2, 0, INFINITY);
}

static void stopped(void)
{
    struct world w;
    struct strait_error err = {0};
    world_init(&w, 3, 1e9, 0.01);
    w.run.rank_main = stop;
    w.run.uses_stream = is_star;
    w.run.realisation = "relay";
    w.run.dilation = 1;
    if (strait_emu.check(&w.run, &err) != 0) {
        strait_test_skip(err.text);
    } else {
        CU_ASSERT_EQUAL(strait_emu.run(&w.run, &err), -1);
        CU_ASSERT_EQUAL(err.code, STRAIT_ERR_BACKEND);
        CU_ASSERT_STRING_EQUAL(err.text, "rank 2 was stopped by a signal and does not go on");
    }
    world_release(&w);
}

static const struct strait_test tests[] = {
    {"a rank that is stopped for good ends the run", stopped},
};
STRAIT_SUITE_WITH("emu/supervisor", tests, .slow_s = 7, .release = true);
