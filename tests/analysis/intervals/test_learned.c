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

/* n settings like this, 0.01, 0.02, ... n / 100 above the prediction, in an order that is not
 * theirs; nothing is known of any spread. */
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
        s->miss = s->off = 0.01 * (double)(1 + (i * 7) % n);
    }
    return l;
}

/* Split conformal: of n exchangeable values the next one is above the k-th smallest with a
 * probability of at most 5 % for k = ceil(0.95 (n + 1)): 39 of 40, 96 of 100, 950 of 999; of 18
 * there is none. At most 10 % are more off than ceil(0.9 (n + 1)): 37, 91, 900. */
static void quantiles(void)
{
    const struct strait_case c = clean_server();
    static const struct {
        size_t n;
        double off, high, low;
    } cases[] = {{40, 0.37, 0.39, -0.02}, {100, 0.91, 0.96, -0.05}, {999, 9.00, 9.50, -0.50}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct strait_learned l = settings_like(&c, cases[i].n);
        struct strait_margin m;
        CU_ASSERT_TRUE(strait_learned_margin(&m, &l, &c));
        CU_ASSERT_DOUBLE_EQUAL(m.off, cases[i].off, 1e-12);
        CU_ASSERT_DOUBLE_EQUAL(strait_margin_above(&m, 0), cases[i].high, 1e-12);
        CU_ASSERT_DOUBLE_EQUAL(strait_margin_below(&m, 0), cases[i].low, 1e-12);
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
    for (size_t i = 0; i < 38; i++)
        strcpy(l.settings[i].network, "queue");
    CU_ASSERT_TRUE(strait_learned_margin(&m, &l, &c));
    CU_ASSERT_STRING_EQUAL(m.of, "all"); /* of 38, ends are those of the worst alone */
    strcpy(l.settings[38].network, "loss");
    CU_ASSERT_TRUE(strait_learned_margin(&m, &l, &c));
    CU_ASSERT_STRING_EQUAL(m.of, "loss, jitter or queue");
    CU_ASSERT_EQUAL(m.n, 39);
    CU_ASSERT_STRING_EQUAL(m.why, "");
    for (size_t i = 0; i < 39; i++)
        strcpy(l.settings[i].network, "loss");
    CU_ASSERT_TRUE(strait_learned_margin(&m, &l, &c));
    CU_ASSERT_STRING_EQUAL(m.of, "loss");
    strait_learned_release(&l);
}

/* Half of 100 settings reach 0.3 around their middle and missed it by up to 0.6, half reach nothing
 * and missed by up to 0.02: nine of ten are 0.018 off at most, so the misses of the first half
 * alone decide, 0.012 x 46 of their reach. */
static void scales(void)
{
    const struct strait_case c = clean_server();
    struct strait_learned l = settings_like(&c, 100);
    struct strait_margin m;
    for (size_t i = 0; i < 100; i++) {
        struct strait_learned_setting *s = &l.settings[i];
        const bool spreads = i < 50;
        s->low = s->high = spreads ? 0.3 : 0;
        s->miss = (spreads ? 0.012 : 0.0004) * (double)(1 + i % 50);
        s->off = 0.0002 * (double)(1 + i);
    }
    CU_ASSERT_TRUE(strait_learned_margin(&m, &l, &c));
    CU_ASSERT_DOUBLE_EQUAL(m.off, 0.0182, 1e-12);                        /* 91 of 100 */
    CU_ASSERT_DOUBLE_EQUAL(m.up, 0.012 * 46 / hypot(0.3, 0.0182), 1e-9); /* 46 of the 50 */
    CU_ASSERT_DOUBLE_EQUAL(strait_margin_above(&m, 0.3), 0.552, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(strait_margin_above(&m, 0), 0.552 * 0.0182 / hypot(0.3, 0.0182), 1e-9);
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
    CU_ASSERT_DOUBLE_EQUAL(strait_margin_above(&m, 0), 1.5 * 0.96, 1e-12);
    CU_ASSERT_STRING_EQUAL(m.why, "narrowest port 400 Mbps, tried 100 to 100");
    c.features[STRAIT_FEATURE_RATE] = 10000;
    CU_ASSERT_TRUE(strait_learned_margin(&m, &l, &c));
    CU_ASSERT_STRING_EQUAL(m.why, "narrowest port 10000 Mbps, tried 100 to 100");
    c.features[STRAIT_FEATURE_RATE] = 12.5;
    CU_ASSERT_TRUE(strait_learned_margin(&m, &l, &c));
    CU_ASSERT_DOUBLE_EQUAL(strait_margin_above(&m, 0), 1.75 * 0.96, 1e-12);
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
    l.settings[0].miss = 1000; /* kept within what is read */
    fprintf(f, "# a comment\n%s\n", strait_learned_header);
    for (size_t i = 0; i < l.n; i++)
        fprintf(f, "%s\n", strait_learned_line(line, &l.settings[i]));
    fclose(f);
    CU_ASSERT_EQUAL(strait_learned_load(&read, path, &err), 0);
    CU_ASSERT_STRING_EQUAL(err.text, "");
    CU_ASSERT_EQUAL_FATAL(read.n, 3);
    CU_ASSERT_EQUAL(read.settings[0].miss, 10);
    CU_ASSERT_EQUAL(read.settings[2].off, l.settings[2].off);
    CU_ASSERT_STRING_EQUAL(read.settings[1].family, "server");
    CU_ASSERT_EQUAL(read.settings[1].features[STRAIT_FEATURE_RTT], 20);
    CU_ASSERT_TRUE(strait_learned_has(&read, l.settings[1].point));
    CU_ASSERT_FALSE(strait_learned_has(&read, "another"));
    CU_ASSERT_EQUAL(strlen(read.hash), STRAIT_KEY_CHARS - 1);
    strait_learned_release(&read);
    f = fopen(path, "ae");
    fputs("p,clean,bbr,server,long,1,2,3,4,5,six,7,8,9,10\n", f);
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
    {"misses count in units of what is known and of the model's error", scales},
    {"a margin grows with the doublings beyond what was tried", beyond},
    {"a table is read as it was written, and a wrong number has its line", files},
};
STRAIT_SUITE("analysis/intervals/learned", tests);
