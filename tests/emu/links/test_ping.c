/* What is asked of ping, and what is made of its words: a script in its place. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "tests/kit/folder.h"
#include "tests/kit/links/net_world.h"

static char folder[] = "/tmp/strait-test-XXXXXX";

static void write_ping(const char *script)
{
    char path[64];
    snprintf(path, sizeof(path), "%s/ping", folder);
    FILE *f = fopen(path, "we");
    CU_ASSERT_FATAL(
        f && fprintf(f, "#!/bin/sh\necho \"$LC_ALL $*\" >%s/asked\n%s\n", folder, script) > 0 &&
        fclose(f) == 0);
    chmod(path, 0755);
}

static void expect(struct world *w, const char *script, int n, double min_s, double median_s)
{
    struct strait_error err = {0};
    double found_min_s = -1, found_median_s = -1;
    write_ping(script);
    strait_test_context("%s", script);
    CU_ASSERT_EQUAL(strait_emu_net_ping(&found_min_s, &found_median_s, w->net, 0, 1, n, &err), 0);
    CU_ASSERT_STRING_EQUAL(err.text, "");
    CU_ASSERT_DOUBLE_EQUAL(found_min_s, min_s, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(found_median_s, median_s, 1e-12);
    CU_ASSERT_EQUAL(strait_emu_net_ping(NULL, NULL, w->net, 0, 1, n, &err), 0);
}

static void expect_failure(struct world *w, const char *script, int n, enum strait_error_code code,
                           const char *where, const char *text)
{
    struct strait_error err = {0};
    double min_s = 7, median_s = 7;
    write_ping(script);
    strait_test_context("%s", script);
    CU_ASSERT_EQUAL(strait_emu_net_ping(&min_s, &median_s, w->net, 0, 1, n, &err), -1);
    CU_ASSERT_EQUAL(err.code, code);
    CU_ASSERT_STRING_EQUAL(err.where, where);
    CU_ASSERT_CONTAINS(err.text, text);
    CU_ASSERT(min_s == 7 && median_s == 7);
}

/* At dilation 4 a quarter of what the program says. */
static void words(void)
{
    struct world w;
    char path[4200], before[4096];
    world_init(&w, 2, 1e9, 0.01);
    w.plan.dilation = 4;
    if (!world_up(&w))
        return;
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    snprintf(before, sizeof(before), "%s", getenv("PATH"));
    snprintf(path, sizeof(path), "%s:%s", folder, before);
    setenv("PATH", path, 1);
    expect(&w, "echo 'time=40 ms'; echo 'x time=8.5 ms'; echo 'time=20 ms'", 3, 2.125e-3, 5e-3);
    expect(&w, "echo 'time=40 ms time=8 ms time=20 ms time=30 ms'", 4, 2e-3, 6.25e-3);
    expect(&w, "echo time=1; echo time=2; echo time=0.1", 2, 0.25e-3, 0.375e-3); /* two are asked */
    expect(&w, "echo time=12", 1, 3e-3, 3e-3);
    char *asked = folder_text(folder, "asked");
    /* as many, 20 ms apart; for 5 s, 1 s of virtual time and all intervals */
    CU_ASSERT_STRING_EQUAL(asked, "C -n -c 1 -i 0.020 -w 10 10.0.0.2\n");
    free(asked);
    expect_failure(&w, "echo time=1", 2, STRAIT_ERR_BACKEND, "ping",
                   "expected 2 answers from node 1, got 1");
    expect_failure(&w, "exit 1", 1, STRAIT_ERR_BACKEND,
                   "env LC_ALL=C ping -n -c 1 -i 0.020 -w 10 10.0.0.2", "exit status 1");
    expect_failure(&w, "exit 127", 1, STRAIT_ERR_HOST, "", "the ping program is not installed");
    expect_failure(&w, "echo 'no such socket' >&2; exit 2", 1, STRAIT_ERR_BACKEND,
                   "env LC_ALL=C ping -n -c 1 -i 0.020 -w 10 10.0.0.2", "no such socket");
    setenv("PATH", before, 1);
    strait_emu_net_free(w.net);
    folder_remove(folder);
}

static const struct strait_test tests[] = {
    {"round trips are what ping says, in virtual time", words},
};
STRAIT_SUITE("emu/links/ping", tests);
