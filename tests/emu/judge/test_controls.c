/* Negative controls: what must come back INVALID does, for the reason that it has. That links were
 * not shaped at all is among the tests of emu/emu. */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "core/host.h"
#include "emu/host/dilation.h"
#include "tests/kit/emu_world.h"
#include "tests/kit/suite.h"

enum { N_CLIENTS = 16 };

static bool is_star(const struct strait_run *run, int src, int dst, int channel)
{
    (void)run;
    return (src == 0 || dst == 0) && channel == 0;
}

static bool is_possible(const struct world *w)
{
    struct strait_error err = {.code = STRAIT_OK};
    if (strait_emu.check(&w->run, &err) == 0)
        return true;
    CU_ASSERT(err.code == STRAIT_ERR_HOST);
    strait_test_skip(err.text);
    return false;
}

static void send_sized(struct strait_rank *r, size_t n_bytes)
{
    struct strait_packet *p = strait_packet_new(0);
    if (!p)
        abort();
    p->payload_bytes = n_bytes;
    r->backend->ops->send(r, 0, 0, 0, p, false);
}

static void take_all(struct strait_rank *r, int n_each)
{
    for (int i = 0; i < n_each * (r->run->n_ranks - 1); i++) {
        struct strait_message m;
        r->backend->ops->recv(r, &m, STRAIT_ANY, 0, INFINITY);
        strait_packet_drop(m.packet);
    }
}

/* --- too little dilation ------------------------------------------------------------------ */

static volatile uint64_t sink;

/* Some 20 ms of a processor. */
static void burn(void *arg)
{
    uint64_t x = *(const uint64_t *)arg;
    for (int i = 0; i < 20000000; i++)
        x = x * 6364136223846793005u + 1442695040888963407u;
    sink = x;
}

static void burn_and_send(struct strait_rank *r)
{
    uint64_t seed = 7;
    const struct strait_job job = {
        .resource = STRAIT_CPU, .n_slots = 1, .cost_s = NAN, .fn = burn, .arg = &seed};
    if (r->me == 0) {
        take_all(r, 1);
        return;
    }
    r->backend->ops->wait(r, r->backend->ops->start(r, &job), NULL);
    send_sized(r, 100000);
}

/* All begin at once, on one processor less than there are, and each is due after its own time: with
 * two processors the last is 15 jobs late. */
static void sixteen_clients_at_dilation_1_are_invalid(void)
{
    struct world w;
    struct strait_error err = {.code = STRAIT_OK};
    world_init(&w, N_CLIENTS + 1, 1e9, 0.01);
    w.run.rank_main = burn_and_send;
    w.run.uses_stream = is_star;
    w.run.measured_cost = true;
    CU_ASSERT(strait_emu_dilation_choose(&w.run, 2).k >= 22); /* 16 / 0.75 */
    w.run.dilation = 1;
    if (strait_host_processors() > N_CLIENTS)
        strait_test_skip("this machine has a processor for each client");
    else if (is_possible(&w)) {
        bool late = false;
        size_t i;
        json_t *text;
        CU_ASSERT(strait_emu.run(&w.run, &err) == 0);
        json_array_foreach (w.facts.invalid, i, text)
            late |= strncmp(json_string_value(text), "padded jobs of rank ", 20) == 0;
        CU_ASSERT(late);
    }
    world_release(&w);
}

/* --- a starved relay ---------------------------------------------------------------------- */

enum { N_MESSAGES = 20 };

static void stream(struct strait_rank *r)
{
    atomic_store(&board_of(r)->pids[r->me], (int)getpid());
    if (r->me == 0) {
        take_all(r, N_MESSAGES);
        return;
    }
    for (int i = 0; i < N_MESSAGES; i++) /* 20 x 100 KB at 20 Mbps: 0.8 s */
        send_sized(r, 100000);
}

/* In a child of the test: was the relay late, by its own account? */
static int run_and_judge(struct world *w)
{
    struct strait_error err = {.code = STRAIT_OK};
    size_t i;
    json_t *text;
    if (strait_emu.run(&w->run, &err) != 0)
        printf("    %s: %s\n", err.where, err.text);
    fflush(stdout);
    json_array_foreach (w->facts.invalid, i, text) {
        if (strncmp(json_string_value(text), "the relay was late: p99 ", 24) == 0)
            return EXIT_SUCCESS;
    }
    return EXIT_FAILURE;
}

/* 10 of every 20 ms it does not run: half of what is due then is late by up to 10 ms, and the limit
 * is half a millisecond for 99 of 100. */
static void a_starved_relay_is_invalid(void)
{
    struct world w;
    world_init(&w, 2, 20e6, 0.01);
    w.run.rank_main = stream;
    w.run.uses_stream = is_star;
    w.run.realisation = "relay";
    w.run.dilation = 1;
    if (is_possible(&w)) {
        const pid_t caller = fork();
        if (caller == 0)
            _exit(run_and_judge(&w));
        CU_ASSERT_FATAL(caller > 0);
        int relay = 0, status = 0;
        for (int i = 0; i < 2000 && atomic_load(&w.board->pids[1]) == 0; i++)
            usleep(5000);
        relay = descendant_named(caller, "strait-relay");
        CU_ASSERT(relay > 0);
        while (waitpid(caller, &status, WNOHANG) == 0) {
            if (relay > 0 && kill(relay, SIGSTOP) == 0) {
                usleep(10000);
                kill(relay, SIGCONT);
            }
            usleep(10000);
        }
        CU_ASSERT(WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS);
    }
    world_release(&w);
}

static const struct strait_test tests[] = {
    {"16 clients at dilation 1 are INVALID", sixteen_clients_at_dilation_1_are_invalid},
    {"a starved relay is INVALID", a_starved_relay_is_invalid},
};
STRAIT_SUITE_WITH("emu/judge/controls", tests, .release = true);
