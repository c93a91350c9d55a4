/* What the live view writes on stderr: the time that is left, the rounds, rates between two
 * readings, and what a terminal's screen gets. */
#include "campaign/live_view.h"
#include <fcntl.h>
#include <math.h>
#include <pty.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "tests/kit/harness.h"
#include "tests/kit/suite.h"

enum { SHOWN_BYTES = 8192 };

/* A server at the core, a client at a site, two at another, and a link between these. */
static const char text[] =
    "{\"schema\": \"strait-experiment/1\", \"model\": \"cnn\", \"clients\": 3,"
    " \"strategy\": {\"name\": \"fedavg\", \"rounds\": 2}, \"codec\": \"none\","
    " \"network\": {\"topology\": \"sites\", \"client\": {\"rate\": \"100 Mbps\"},"
    "   \"server\": {\"rate\": \"1 Gbps\"},"
    "   \"site\": [{\"ranks\": 1, \"rate\": \"1 Gbps\"}, {\"ranks\": 2, \"rate\": \"1 Gbps\"}],"
    "   \"between\": [{\"from\": 0, \"to\": 1, \"rate\": \"50 Mbps\"}]}}";
enum { N_LINKS = 2 * 4 + 2 * 2 + 4, FIRST_SITE = 8, FIRST_PAIR = 12 };

struct world {
    struct strait_outcome o;
    struct strait_run run;
    struct strait_live_view view;
    char shown[SHOWN_BYTES];
};

static void set_up(struct world *w, bool screen)
{
    w->o = strait_outcome_of(text, json_object(), "default", &strait_fluid,
                             (struct strait_trial_options){0});
    w->o.point->n_rounds = 5;
    w->o.point->expected_s = 0;
    w->run = w->o.point->run;
    w->view =
        (struct strait_live_view){.screen = screen, .what = "emulating", .i_task = 2, .n_tasks = 3};
    w->run.watcher = &w->view;
    w->run.context = w->o.point;
}

/* What one call says; stderr is a file for so long. */
static const char *watch(struct world *w, const struct strait_live *live)
{
    const int file = memfd_create("stderr", MFD_CLOEXEC), kept = dup(STDERR_FILENO);
    CU_ASSERT_FATAL(file >= 0 && kept >= 0);
    fflush(stderr);
    dup2(file, STDERR_FILENO);
    strait_live_watch(&w->run, live);
    fflush(stderr);
    dup2(kept, STDERR_FILENO);
    close(kept);
    const ssize_t n = pread(file, w->shown, SHOWN_BYTES - 1, 0);
    close(file);
    CU_ASSERT_FATAL(n >= 0);
    w->shown[n] = '\0';
    return w->shown;
}

static struct strait_live at(double now_s, double dilation, int n_rounds, double rounds_s)
{
    return (struct strait_live){.now_s = now_s,
                                .dilation = dilation,
                                .n_rounds = n_rounds,
                                .rounds_s = rounds_s,
                                .read_at_s = NAN,
                                .real_s = NAN,
                                .loss = NAN,
                                .accuracy = NAN};
}

static void lines(void)
{
    struct world w;
    struct strait_live live = at(-1, 1, 0, 0);
    set_up(&w, false);
    CU_ASSERT_STRING_EQUAL(watch(&w, &live), ""); /* nothing before time 0 */
    live = at(0, 1, 0, 0);
    CU_ASSERT_STRING_EQUAL(watch(&w, &live),
                           "emulating 2/3: 0.00 s of virtual time, round 1 of 5\n");
    w.o.point->expected_s = 30; /* before the first round the prediction: 30 - 2.5, twice */
    live = at(2.5, 2, 0, 0);
    CU_ASSERT_STRING_EQUAL(watch(&w, &live), "emulating 2/3: 2.50 s of virtual time at dilation 2,"
                                             " round 1 of 5, about 55 s left\n");
    live = at(3, NAN, 2, 3); /* simulated training: two rounds in 4 s of real time, three left */
    live.real_s = 4;
    live.has_score = true;
    live.loss = 0.25;
    live.accuracy = 0.875;
    CU_ASSERT_STRING_EQUAL(watch(&w, &live),
                           "emulating 2/3: 3.00 s of virtual time, round 3 of 5, loss 0.25,"
                           " accuracy 87.5 %, about 6 s left\n");
    live = at(5, 2, 2, 4); /* two rounds in 4 s: five in 10 s */
    CU_ASSERT_STRING_EQUAL(watch(&w, &live), "emulating 2/3: 5.00 s of virtual time at dilation 2,"
                                             " round 3 of 5, about 10 s left\n");
    live = at(50, 2, 2, 60); /* 150 s, less 50, twice */
    CU_ASSERT_STRING_EQUAL(watch(&w, &live), "emulating 2/3: 50.00 s of virtual time at dilation "
                                             "2, round 3 of 5, about 200.0 s left\n");
    live = at(0, 4, 1, 5); /* 25 s, four times: 100 s is written as other times are */
    CU_ASSERT_CONTAINS(watch(&w, &live), ", about 100.0 s left\n");
    live = at(12, 1, 5, 11); /* done, and over the estimate */
    CU_ASSERT_STRING_EQUAL(
        watch(&w, &live), "emulating 2/3: 12.00 s of virtual time, round 5 of 5, about 0 s left\n");
    live = at(1, NAN, 0, 0); /* virtual: nobody knows how long it takes */
    CU_ASSERT_STRING_EQUAL(watch(&w, &live),
                           "emulating 2/3: 1.00 s of virtual time, round 1 of 5\n");
    live = at(8, 1, 2, 8); /* a simulation: three rounds more at 5 real seconds each */
    live.real_s = 10;
    CU_ASSERT_CONTAINS(watch(&w, &live), ", round 3 of 5, about 15 s left\n");
    live = at(1, 1, 0, 0);
    live.real_s = 10; /* before its first round nobody knows */
    CU_ASSERT_STRING_EQUAL(watch(&w, &live),
                           "emulating 2/3: 1.00 s of virtual time, round 1 of 5\n");
    live.loss = 0.12345; /* of real training, once it was scored */
    live.accuracy = NAN;
    live.has_score = true;
    CU_ASSERT_STRING_EQUAL(watch(&w, &live),
                           "emulating 2/3: 1.00 s of virtual time, round 1 of 5, loss 0.1235\n");
    live.accuracy = 0.875;
    CU_ASSERT_CONTAINS(watch(&w, &live), ", round 1 of 5, loss 0.1235, accuracy 87.5 %\n");
    CU_ASSERT_STRING_EQUAL(watch(&w, NULL), "");
    strait_outcome_free(&w.o);
}

/* Each link's bytes are its number in millions; its rates are told once two readings stand
 * apart. */
static void readings(void)
{
    struct world w;
    struct strait_live_link links[N_LINKS];
    struct strait_live live = at(1, 1, 0, 0);
    set_up(&w, false);
    for (int i = 0; i < N_LINKS; i++)
        links[i] = (struct strait_live_link){1e6 * i, NAN, NAN};
    live.links = links;
    live.n_links = N_LINKS;
    live.read_at_s = 0.5;
    /* Of the ranks out 0, 2, 4 and 6 MB in half a second, 192 Mbps; in 1, 3, 5 and 7: 256. From
     * site 2 to site 1 14 MB, 224 Mbps where 50 go. */
    CU_ASSERT_STRING_EQUAL(watch(&w, &live),
                           "emulating 2/3: 1.00 s of virtual time, round 1 of 5; sends 192.0 "
                           "Mbit/s, receives 256.0; busiest site 2 to 1, out at 448 %\n");
    CU_ASSERT_EQUAL(w.view.n_rows, 4 + 2 + 2); /* ranks, sites, and both ways between these */
    CU_ASSERT_STRING_EQUAL(w.view.rows[0].name, "server");
    CU_ASSERT_STRING_EQUAL(w.view.rows[3].name, "client3");
    CU_ASSERT_FALSE(w.view.rows[3].inner);
    CU_ASSERT_STRING_EQUAL(w.view.rows[4].name, "site 1");
    CU_ASSERT_TRUE(w.view.rows[4].inner);
    CU_ASSERT_STRING_EQUAL(w.view.rows[6].name, "site 1 to 2");
    CU_ASSERT_STRING_EQUAL(w.view.rows[7].name, "site 2 to 1");
    CU_ASSERT_TRUE(w.view.rows[7].inner);
    CU_ASSERT_TRUE(isnan(w.view.rows[6].in.bits_per_s));
    CU_ASSERT_DOUBLE_EQUAL(w.view.rows[3].out.bits_per_s, 6 * 16e6, 1);
    CU_ASSERT_DOUBLE_EQUAL(w.view.rows[3].in.bits_per_s, 7 * 16e6, 1);
    CU_ASSERT_DOUBLE_EQUAL(w.view.rows[3].in.share_ratio, 1.12, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(w.view.rows[5].out.bits_per_s, (FIRST_SITE + 2) * 16e6, 1);
    CU_ASSERT_DOUBLE_EQUAL(w.view.rows[6].out.bits_per_s, (FIRST_PAIR + 1) * 16e6, 1);
    CU_ASSERT_DOUBLE_EQUAL(w.view.rows[7].out.bits_per_s, (FIRST_PAIR + 2) * 16e6, 1);
    links[6].carried_bytes += 5e5; /* client3 alone, for a second: 4 Mbps */
    live.read_at_s = 1.5;
    CU_ASSERT_CONTAINS(watch(&w, &live),
                       "; sends 4.0 Mbit/s, receives 0.0; busiest client3, out at 4 %\n");
    links[6].carried_bytes += 5e5; /* the same reading once more says the same */
    CU_ASSERT_CONTAINS(watch(&w, &live), "; sends 4.0 Mbit/s, receives 0.0");
    watch(&w, NULL);
    CU_ASSERT_PTR_NULL(w.view.rows);
    CU_ASSERT_PTR_NULL(w.view.before);
    CU_ASSERT_EQUAL(w.view.n_rows, 0);
    CU_ASSERT_EQUAL(w.view.before_s, 0); /* the next task's time begins anew */
    strait_outcome_free(&w.o);
}

/* On a screen each call wipes what the last one drew, line by line. */
static void screens(void)
{
    struct world w;
    struct strait_live_link links[N_LINKS] = {0};
    struct strait_live live = at(-1, 1, 0, 0);
    set_up(&w, true);
    CU_ASSERT_STRING_EQUAL(watch(&w, &live), "\033[?7lemulating 2/3: setting up\n\033[?7h");
    CU_ASSERT_EQUAL(w.view.n_lines, 1);
    live = at(1, 1, 0, 0);
    live.links = links;
    live.n_links = N_LINKS;
    live.read_at_s = 1;
    const char *shown = watch(&w, &live);
    CU_ASSERT_EQUAL(strncmp(shown, "\033[1A\r\033[J\033[?7lemulating 2/3: 1.00 s", 34), 0);
    CU_ASSERT_CONTAINS(shown, ", round 1 of 5\n\nhost");
    /* heading, a blank, titles, eight rows, the total between two rules or with one */
    size_t n_lines = 0;
    for (const char *c = shown; *c; c++)
        n_lines += *c == '\n';
    CU_ASSERT_EQUAL(w.view.n_lines, n_lines);
    CU_ASSERT_AT_LEAST(n_lines, 12);
    char wipe[32];
    snprintf(wipe, sizeof(wipe), "\033[%zuA\r\033[J", n_lines);
    CU_ASSERT_STRING_EQUAL(watch(&w, NULL), wipe);
    CU_ASSERT_EQUAL(w.view.n_lines, 0);
    strait_outcome_free(&w.o);
}

/* Eight lines stand beside the links; where no size is known there are 24. */
static void rows_that_fit(void)
{
    static const struct {
        unsigned short lines;
        size_t rows;
    } cases[] = {{40, 32}, {24, 16}, {12, 4}, {11, 3}, {10, 3}, {1, 3}, {0, 16}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int ours, theirs;
        const struct winsize size = {.ws_row = cases[i].lines, .ws_col = 80};
        CU_ASSERT_EQUAL_FATAL(openpty(&ours, &theirs, NULL, NULL, &size), 0);
        CU_ASSERT_EQUAL(strait_live_most_rows(theirs), cases[i].rows);
        close(ours);
        close(theirs);
    }
    const int none = open("/dev/null", O_RDONLY | O_CLOEXEC);
    CU_ASSERT_EQUAL(strait_live_most_rows(none), 16);
    close(none);
}

static const struct strait_test tests[] = {
    {"lines say the round and the time that is left", lines},
    {"rates are told between readings, of ranks, sites and pairs of sites", readings},
    {"a screen is wiped before it is drawn", screens},
    {"as many rows as the screen has room for", rows_that_fit},
};
STRAIT_SUITE("campaign/live_view", tests);
