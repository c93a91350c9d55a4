/* strait plot: which question its options ask. No gnuplot is found here: the script and the data
 * are there for another one, and say what would be drawn. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tests/kit/program.h"

static struct program p;
static char *path;
#define CALL(...) PROGRAM_CALL(&p, __VA_ARGS__)

/* Two counts of clients, without a codec and with one. */
static void begin(void)
{
    program_set_up(&p);
    program_write(&p, "e.json",
                  "{\"schema\":\"strait-experiment/1\",\"model\":\"cnn\",\"clients\":2,"
                  "\"strategy\":{\"name\":\"fedavg\",\"rounds\":2,\"local_steps\":1},\"codec\":"
                  "\"none\",\"network\":{\"client\":{\"rate\":\"1 Gbps\",\"rtt\":\"1 ms\"},"
                  "\"server\":{\"rate\":\"1 Gbps\"}},\"vary\":{\"/clients\":[2,3],\"/codec\":"
                  "[\"none\",\"u8bit\"]}}");
    struct said s = CALL("run", "e.json", "--on", "fluid", "--out", "r", "-j", "1");
    CU_ASSERT_EQUAL_FATAL(s.status, 0);
    said_release(&s);
    const char *old = getenv("PATH");
    path = old ? strdup(old) : NULL;
    setenv("PATH", p.folder, 1);
}

static void end(void)
{
    if (path)
        setenv("PATH", path, 1);
    else
        unsetenv("PATH");
    free(path);
    program_tear_down(&p);
}

/* A file that a call left, to be freed; the call wanted gnuplot. */
static char *left(struct said s, const char *name)
{
    CU_ASSERT_EQUAL(s.status, 3);
    CU_ASSERT_CONTAINS(s.err, "gnuplot");
    CU_ASSERT_STRING_EQUAL(s.out, "");
    said_release(&s);
    char *text = program_read(&p, name);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    return text;
}

/* How often a text stands in another. */
static size_t n_times(const char *text, const char *part)
{
    size_t n = 0;
    for (; (text = strstr(text, part)); text += strlen(part))
        n++;
    return n;
}

static void questions(void)
{
    begin();
    char *text = left(CALL("plot", "r", "--kind", "heat", "--x", "/clients", "--series", "/codec",
                           "--y", "speed-up", "--out", "h.svg"),
                      "h.csv");
    CU_ASSERT_EQUAL(strncmp(text, "panel,number,by,x,y,low,high\r\n", 30), 0);
    CU_ASSERT_CONTAINS(text, "\r\n,/speedup,none,2,1,"); /* over itself */
    CU_ASSERT_EQUAL(n_times(text, "/speedup"), 4);
    free(text);
    /* --y time is that of a round, beside another number that of all rounds */
    text = left(
        CALL("plot", "r", "--y", "time", "--style", "paper", "--columns", "1", "--out", "p.pdf"),
        "p.csv");
    CU_ASSERT_EQUAL(n_times(text, ",/round_s,"), 4);
    free(text);
    text = program_read(&p, "p.gp");
    CU_ASSERT_CONTAINS(text, "set terminal pdfcairo size 3.5in,");
    free(text);
    /* without a --y what strait plot draws in its own style: what the codec gains */
    text = left(CALL("plot", "r", "--style", "paper", "--out", "g.svg"), "g.csv");
    CU_ASSERT_EQUAL(n_times(text, ",/speedup,"), 4);
    free(text);
    text =
        left(CALL("plot", "r", "--y", "time", "--y", "/ratio", "--log", "none", "--out", "two.png"),
             "two.csv");
    CU_ASSERT_EQUAL(n_times(text, ",/total_s,"), 4);
    CU_ASSERT_EQUAL(n_times(text, ",/ratio,"), 4);
    free(text);
    text = program_read(&p, "two.gp");
    CU_ASSERT_PTR_NULL(strstr(text, "\nset logscale"));
    free(text);
    /* without a codec, against what was sent; a panel for each count */
    text = left(CALL("plot", "r", "--x", "bytes", "--y", "/round_s", "--where", "/codec=none",
                     "--facet", "/clients", "--log", "x", "--style", "slides"),
                "r/plot.csv");
    CU_ASSERT_EQUAL(n_times(text, ",/round_s,"), 2);
    CU_ASSERT_EQUAL(strncmp(text, "panel,number,line,x,y,low,high\r\nclients 2,", 42), 0);
    free(text);
    text = program_read(&p, "r/plot.gp");
    CU_ASSERT_CONTAINS(text, "set terminal svg size 1280,720 "); /* 13.333 x 7.5 inches of 96 */
    CU_ASSERT_CONTAINS(text, "\nset logscale x");
    free(text);
    end();
}

/* The pictures that have names, each with its own. */
static void names(void)
{
    begin();
    free(left(CALL("plot", "r"), "r/scaling.gp"));
    free(left(CALL("plot", "r", "--y", "time"), "r/scaling-time.gp"));
    free(left(CALL("plot", "r", "--out", "mine.png"), "mine.gp"));
    end();
}

/* Where other things than the clients are varied, the first of them goes across: four lengths of
 * rounds with two codecs are two lines of four points, not four panels of a point. */
static void no_clients(void)
{
    begin();
    program_write(&p, "f.json",
                  "{\"schema\":\"strait-experiment/1\",\"model\":\"cnn\","
                  "\"strategy\":{\"name\":\"fedavg\",\"rounds\":2},\"network\":{\"client\":"
                  "[{\"count\":2,\"rate\":\"1 Gbps\"}],\"server\":{\"rate\":\"1 Gbps\"}},\"vary\":"
                  "{\"/strategy/local_steps\":[1,2,4,8],\"/codec\":[\"none\",\"u8bit\"]}}");
    struct said s = CALL("run", "f.json", "--on", "fluid", "--out", "s", "-j", "1");
    CU_ASSERT_EQUAL_FATAL(s.status, 0);
    said_release(&s);
    char *text = left(CALL("plot", "s"), "s/plot.csv");
    CU_ASSERT_EQUAL(n_times(text, "\r\n,/round_s,no compression,"), 4);
    CU_ASSERT_EQUAL(n_times(text, "\r\n,/round_s,u8bit,"), 4);
    CU_ASSERT_CONTAINS(text, ",/round_s,u8bit,8,");
    free(text);
    s = CALL("report", "s", "--out", "s.html"); /* the network counts the clients */
    CU_ASSERT_EQUAL(s.status, 0);
    said_release(&s);
    text = program_read(&p, "s.html");
    CU_ASSERT_CONTAINS(text, "<p>Seconds a round on the critical path, with 2 clients.</p>");
    free(text);
    text = left(CALL("plot", "s", "--y", "speed-up"), "s/plot.csv");
    CU_ASSERT_CONTAINS(text, "\r\n,/speedup,no compression,8,1,");
    free(text);
    /* over the clients too, where no codec is compared with none: two lines in one panel */
    program_write(&p, "g.json",
                  "{\"schema\":\"strait-experiment/1\",\"model\":\"cnn\",\"strategy\":{\"name\":"
                  "\"fedavg\",\"rounds\":2},\"network\":{\"client\":{\"rate\":\"1 Gbps\"},"
                  "\"server\":{\"rate\":\"1 Gbps\"}},\"vary\":{\"/clients\":[2,3],"
                  "\"/strategy/local_steps\":[1,2]}}");
    s = CALL("run", "g.json", "--on", "fluid", "--out", "t", "-j", "1");
    CU_ASSERT_EQUAL_FATAL(s.status, 0);
    said_release(&s);
    text = left(CALL("plot", "t"), "t/plot.csv");
    CU_ASSERT_EQUAL(n_times(text, "\r\n,/round_s,local steps 1,"), 2);
    CU_ASSERT_EQUAL(n_times(text, "\r\n,/round_s,local steps 2,"), 2);
    free(text);
    end();
}

/* One point makes no curve, and its report says nothing of one. */
static void one_point(void)
{
    begin();
    program_write(&p, "o.json",
                  "{\"schema\":\"strait-experiment/1\",\"model\":\"cnn\",\"strategy\":{\"name\":"
                  "\"fedavg\",\"rounds\":2},\"network\":{\"client\":[{\"count\":2,\"rate\":"
                  "\"1 Gbps\"}],\"server\":{\"rate\":\"1 Gbps\"}}}");
    struct said s = CALL("run", "o.json", "--on", "fluid", "--out", "o", "-j", "1");
    CU_ASSERT_EQUAL_FATAL(s.status, 0);
    said_release(&s);
    s = CALL("report", "o", "--out", "o.html");
    CU_ASSERT_EQUAL(s.status, 0);
    said_release(&s);
    char *text = program_read(&p, "o.html");
    CU_ASSERT_CONTAINS(text, "<summary>1 row</summary>");
    CU_ASSERT_PTR_NULL(strstr(text, "No chart"));
    CU_ASSERT_PTR_NULL(strstr(text, "<h3>Curves"));
    free(text);
    end();
}

/* Of runs that trained, what they ended with is drawn: a bowl has a loss and no accuracy. */
static void trained(void)
{
    begin();
    program_write(&p, "q.json",
                  "{\"schema\":\"strait-experiment/1\",\"model\":\"quadratic\",\"clients\":2,"
                  "\"strategy\":{\"name\":\"bsp\",\"rounds\":4},\"network\":{\"client\":{\"rate\":"
                  "\"1 Gbps\"}},\"training\":{\"task\":\"quadratic\",\"lr\":0.1,\"eval\":"
                  "{\"every\":2}},\"vary\":{\"/codec\":[\"none\",\"u8bit\"]}}");
    struct said s = CALL("run", "q.json", "--on", "fluid", "--out", "u", "-j", "1");
    CU_ASSERT_EQUAL_FATAL(s.status, 0);
    said_release(&s);
    char *text = left(CALL("plot", "u"), "u/loss.gp");
    CU_ASSERT_CONTAINS(text, "final loss");
    free(text);
    text = left(CALL("plot", "u", "--style", "paper"), "u/plot.csv");
    CU_ASSERT_EQUAL(n_times(text, "/training/final/loss,"), 2);
    free(text);
    text = left(CALL("plot", "u", "--y", "/round_s"), "u/plot.csv");
    CU_ASSERT_EQUAL(n_times(text, ",/round_s,"), 2);
    free(text);
    end();
}

/* Three rates send the same bytes: they are the question, and the mean over the seeds its answer. */
static void searched(void)
{
    begin();
    program_write(&p, "q.json",
                  "{\"schema\":\"strait-experiment/1\",\"model\":\"quadratic\",\"clients\":2,"
                  "\"seeds\":3,\"strategy\":{\"name\":\"bsp\",\"rounds\":4},\"network\":"
                  "{\"client\":{\"rate\":\"1 Gbps\"}},\"training\":{\"task\":\"quadratic\","
                  "\"eval\":{\"every\":2}},\"vary\":{\"/training/lr\":[0.05,0.1,0.2]}}");
    struct said s = CALL("run", "q.json", "--on", "fluid", "--out", "u", "-j", "1");
    CU_ASSERT_EQUAL_FATAL(s.status, 0);
    said_release(&s);
    char *text = left(CALL("plot", "u"), "u/plot.gp");
    CU_ASSERT_CONTAINS(text, "'lr'");
    CU_ASSERT_CONTAINS(text, "means over the seeds, bands: their deviation");
    free(text);
    text = left(CALL("plot", "u"), "u/plot.csv");
    CU_ASSERT_EQUAL(n_times(text, "/training/spread/loss/mean,"), 3);
    free(text);
    text = left(CALL("plot", "u", "--x", "time"), "u/loss.gp");
    CU_ASSERT_CONTAINS(text, "time of the run (s)");
    free(text);
    text = left(CALL("plot", "u", "--y", "loss"), "u/loss.gp");
    CU_ASSERT_CONTAINS(text, "MB sent by all ranks");
    free(text);
    end();
}

static void refused(void)
{
    static const char *const calls[][6] = {{"--out", ".svg"},
                                           {"--out", "r/.svg"},
                                           {"--style", "paper", "--columns", "3"},
                                           {"--style", "screen", "--columns", "1"},
                                           {"--where", "/clients=4", "--out", "x.svg"}},
                             *const says[] = {"found \".svg\"", "found \"r/.svg\"",
                                              "expected 1 or 2 after --columns, found 3",
                                              "expected --style paper with --columns",
                                              "expected one of 2, 3, found \"4\""};
    begin();
    for (size_t i = 0; i < sizeof(says) / sizeof(*says); i++) {
        struct said s = calls[i][2]
                            ? CALL("plot", "r", calls[i][0], calls[i][1], calls[i][2], calls[i][3])
                            : CALL("plot", "r", calls[i][0], calls[i][1]);
        CU_ASSERT_EQUAL(s.status, 2);
        CU_ASSERT_CONTAINS(s.err, says[i]);
        said_release(&s);
    }
    end();
}

static const struct strait_test tests[] = {
    {"options ask for numbers, settings, rows and pages", questions},
    {"pictures with names lie beside the results", names},
    {"what is varied instead of the clients goes across", no_clients},
    {"the report of one point has no curve", one_point},
    {"what runs trained to is drawn without a --y", trained},
    {"learning rates go across where they are what is searched for", searched},
    {"what cannot be drawn is refused", refused},
};
STRAIT_SUITE("cli/cli_plot", tests);
