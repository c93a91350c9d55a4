/* Margins from tables made by hand. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "analysis/intervals/learned.h"
#include "tests/kit/suite.h"

static struct strait_case clean_server(void)
{
    return (struct strait_case){.network = "clean",
                                .congestion = "bbr",
                                .family = "server",
                                .messages = "long",
                                .features = {100, 20, 8, 4, 0}};
}

/* n settings like this whose errors are 1, 2, ... n per cent, in an order that is not theirs. */
static struct strait_learned settings_like(const struct strait_case *c, size_t n)
{
    struct strait_learned l = {.settings = calloc(n, sizeof(*l.settings)), .n = n};
    for (size_t i = 0; i < n; i++) {
        struct strait_learned_setting *s = &l.settings[i];
        snprintf(s->point, sizeof(s->point), "%032zu", i);
        snprintf(s->network, sizeof(s->network), "%s", c->network);
        snprintf(s->congestion, sizeof(s->congestion), "%s", c->congestion);
        snprintf(s->family, sizeof(s->family), "%s", c->family);
        snprintf(s->messages, sizeof(s->messages), "%s", c->messages);
        memcpy(s->features, c->features, sizeof(s->features));
        s->above = 0.01 * (double)(1 + (i * 7) % n);
        s->below = -s->above;
    }
    return l;
}

/* Split conformal: of n exchangeable values the next one is above the k-th smallest with a
 * probability of at most 5 % for k = ceil(0.95 (n + 1)): 20 of 20, 96 of 100, 950 of 999; of 18
 * there is none. */
static void quantiles(void)
{
    const struct strait_case c = clean_server();
    static const struct {
        size_t n;
        double high, low;
    } cases[] = {{20, 0.20, -0.01}, {100, 0.96, -0.05}, {999, 9.50, -0.50}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct strait_learned l = settings_like(&c, cases[i].n);
        struct strait_margin m;
        CU_ASSERT_TRUE(strait_learned_margin(&m, &l, &c));
        CU_ASSERT_DOUBLE_EQUAL(m.high, cases[i].high, 1e-12);
        CU_ASSERT_DOUBLE_EQUAL(m.low, cases[i].low, 1e-12);
        CU_ASSERT_EQUAL(m.n, cases[i].n);
        CU_ASSERT_STRING_EQUAL(m.of, "clean, bbr, server, long messages");
        CU_ASSERT_STRING_EQUAL(m.why, "");
        CU_ASSERT_EQUAL(m.widened, 1);
        strait_learned_release(&l);
    }
    struct strait_learned few = settings_like(&c, 18), none = {0};
    struct strait_margin m;
    CU_ASSERT_FALSE(strait_learned_margin(&m, &few, &c));
    CU_ASSERT_FALSE(strait_learned_margin(&m, &none, &c));
    strait_learned_release(&few);
}

/* A kind without enough settings takes those that share less with it; one whose network was never
 * tried says so. */
static void kinds(void)
{
    struct strait_case c = clean_server();
    struct strait_learned l = settings_like(&c, 40);
    struct strait_margin m;
    c.congestion = "loss-based";
    CU_ASSERT_TRUE(strait_learned_margin(&m, &l, &c));
    CU_ASSERT_STRING_EQUAL(m.of, "clean, server, long messages");
    c.family = "peers";
    CU_ASSERT_TRUE(strait_learned_margin(&m, &l, &c));
    CU_ASSERT_STRING_EQUAL(m.of, "clean, long messages");
    c.messages = "short";
    CU_ASSERT_TRUE(strait_learned_margin(&m, &l, &c));
    CU_ASSERT_STRING_EQUAL(m.of, "clean");
    CU_ASSERT_STRING_EQUAL(m.why, "");
    c.network = "loss";
    CU_ASSERT_TRUE(strait_learned_margin(&m, &l, &c));
    CU_ASSERT_STRING_EQUAL(m.of, "all");
    CU_ASSERT_STRING_EQUAL(m.why, "too few settings tried with loss");
    for (size_t i = 0; i < 20; i++)
        strcpy(l.settings[i].network, "queue");
    CU_ASSERT_TRUE(strait_learned_margin(&m, &l, &c));
    CU_ASSERT_STRING_EQUAL(m.of, "loss, jitter or queue");
    CU_ASSERT_EQUAL(m.n, 20);
    CU_ASSERT_STRING_EQUAL(m.why, "");
    strait_learned_release(&l);
}

/* 100 Mbps tried; 400 are two doublings beyond, 12.5 three below: a quarter more for each. */
static void beyond(void)
{
    struct strait_case c = clean_server();
    struct strait_learned l = settings_like(&c, 100);
    struct strait_margin m;
    c.features[STRAIT_FEATURE_RATE] = 400;
    CU_ASSERT_TRUE(strait_learned_margin(&m, &l, &c));
    CU_ASSERT_DOUBLE_EQUAL(m.widened, 1.5, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(m.high, 1.5 * 0.96, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(m.low, -0.05, 1e-12); /* inside of what is known: not moved outwards */
    CU_ASSERT_STRING_EQUAL(m.why, "narrowest port 400 Mbps, tried 100 to 100");
    c.features[STRAIT_FEATURE_RATE] = 10000;
    CU_ASSERT_TRUE(strait_learned_margin(&m, &l, &c));
    CU_ASSERT_STRING_EQUAL(m.why, "narrowest port 10000 Mbps, tried 100 to 100");
    c.features[STRAIT_FEATURE_RATE] = 12.5;
    CU_ASSERT_TRUE(strait_learned_margin(&m, &l, &c));
    CU_ASSERT_DOUBLE_EQUAL(m.high, 1.75 * 0.96, 1e-12);
    strait_learned_release(&l);
}

static void files(void)
{
    const struct strait_case c = clean_server();
    char path[] = "/tmp/strait-learned-XXXXXX", line[512];
    struct strait_learned l = settings_like(&c, 3), read;
    struct strait_error err = {0};
    const int fd = mkstemp(path);
    CU_ASSERT_FATAL(fd >= 0);
    FILE *f = fdopen(fd, "w");
    l.settings[0].above = 1000; /* kept within what is read */
    fprintf(f, "# a comment\n%s\n", strait_learned_header);
    for (size_t i = 0; i < l.n; i++)
        fprintf(f, "%s\n", strait_learned_line(line, &l.settings[i]));
    fclose(f);
    CU_ASSERT_EQUAL(strait_learned_load(&read, path, &err), 0);
    CU_ASSERT_STRING_EQUAL(err.text, "");
    CU_ASSERT_EQUAL_FATAL(read.n, 3);
    CU_ASSERT_EQUAL(read.settings[0].above, 10);
    CU_ASSERT_EQUAL(read.settings[2].above, l.settings[2].above);
    CU_ASSERT_STRING_EQUAL(read.settings[1].family, "server");
    CU_ASSERT_EQUAL(read.settings[1].features[STRAIT_FEATURE_RTT], 20);
    CU_ASSERT_TRUE(strait_learned_has(&read, l.settings[1].point));
    CU_ASSERT_FALSE(strait_learned_has(&read, "another"));
    CU_ASSERT_EQUAL(strlen(read.hash), STRAIT_KEY_CHARS - 1);
    strait_learned_release(&read);
    f = fopen(path, "ae");
    fputs("p,clean,bbr,server,long,1,2,3,4,5,six,7,8\n", f);
    fclose(f);
    CU_ASSERT_EQUAL(strait_learned_load(&read, path, &err), -1);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
    CU_ASSERT_CONTAINS(err.where, ":6");
    strait_learned_release(&read);
    strait_learned_release(&l);
    unlink(path);
}

static const struct strait_test tests[] = {
    {"a margin is the quantile that split conformal prediction asks for", quantiles},
    {"a kind with few settings takes those of a wider one", kinds},
    {"a margin grows with the doublings beyond what was tried", beyond},
    {"a table is read as it was written, and a wrong number has its line", files},
};
STRAIT_SUITE("analysis/intervals/learned", tests);
