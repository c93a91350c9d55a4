/* What of the host's files a guest is given: the list itself, without any guest. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "cli/guest/guest_files.h"
#include "tests/kit/folder.h"
#include "tests/kit/suite.h"

/* /tmp/x/in is where the command runs. Beside it: far/, with files that others name, and link,
 * which leads to far. All below /tmp: what lies elsewhere a guest sees anyway. */
struct world {
    char top[64], from[PATH_MAX];
    struct strait_guest_texts read;
};

static void put(const struct world *w, const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", w->top, name);
    FILE *f = fopen(path, "we");
    CU_ASSERT_FATAL(f && fputs(text, f) >= 0 && fclose(f) == 0);
}

static void set_up(struct world *w)
{
    char path[256];
    *w = (struct world){.top = "/tmp/strait-seen-XXXXXX"};
    CU_ASSERT_FATAL(getcwd(w->from, sizeof(w->from)) && mkdtemp(w->top) && chdir(w->top) == 0);
    CU_ASSERT_FATAL(mkdir("in", 0700) == 0 && mkdir("far", 0700) == 0 && mkdir("3", 0700) == 0);
    snprintf(path, sizeof(path), "%s/far", w->top);
    CU_ASSERT_FATAL(symlink(path, "link") == 0 && chdir("in") == 0);
    put(w, "far/far.txt", "in/deep.txt\n");
    put(w, "far/1.5", "");
    put(w, "3/4", "");
    put(w, "in/plain", "../far/far.txt\n");
}

static void tear_down(struct world *w)
{
    CU_ASSERT_EQUAL(chdir(w->from), 0);
    strait_guest_texts_release(&w->read);
    folder_remove(w->top);
}

/* What was seen since the last call, each below top, in their order: "in far". */
static const char *seen(struct world *w, char out[512])
{
    const size_t n_top = strlen(w->top);
    size_t at = 0;
    out[0] = '\0';
    for (size_t i = 0; i < w->read.n; i++) {
        const char *item = w->read.items[i];
        const bool ours = strncmp(item, w->top, n_top) == 0;
        at += (size_t)snprintf(out + at, 512 - at, "%s%s", i > 0 ? " " : "",
                               !ours              ? item
                               : item[n_top] == 0 ? "TOP"
                                                  : item + n_top + 1);
    }
    strait_guest_texts_release(&w->read);
    return out;
}

static void see(struct world *w, bool has_none, const char *argument)
{
    const struct strait_guest_files f = {.read = &w->read, .has_none = has_none};
    strait_guest_see_argument(&f, argument);
}

static void arguments(void)
{
    static const struct {
        const char *argument, *shared,
            *alone; /* where the guest has our files; where it has none */
    } cases[] = {
        {"plain", "in", "in/plain"},
        {"../far", "far", ""}, /* a folder as it is named */
        {"../link/far.txt", "far", "far/far.txt"},
        {"LINK", "far link", "far/far.txt"}, /* its absolute path: there it must lead on, too */
        {"..", "TOP", ""},
        {".", "in", ""},
        {"./plain", "in", "in/plain"},
        {"--out=../far", "far", ""},
        {"--set=/model=../far/far.txt", "far", "far/far.txt"},
        {"--set=/model=\"../far/far.txt\"", "", ""}, /* JSON is what follows the first "=" */
        {"/codec={\"profile\": \"../far/far.txt\", \"n\": 1}", "far", "far/far.txt"},
        {"/codec={\"profile\": [\"plain\", \"../far\"]}", "in", "in/plain"},
        {"", "", ""},
        {"--json", "", ""},
        {"x=", "", ""},
        {"gone.csv", "", ""},
        {"/usr", "", ""}, /* every guest has it */
    };
    struct world w;
    char out[512], link[128];
    set_up(&w);
    snprintf(link, sizeof(link), "%s/link/far.txt", w.top);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const bool is_link = strcmp(cases[i].argument, "LINK") == 0;
        const char *const argument = is_link ? link : cases[i].argument;
        strait_test_context("%s", argument);
        see(&w, false, argument);
        CU_ASSERT_STRING_EQUAL(seen(&w, out), cases[i].shared);
        if (strcmp(cases[i].argument, "/usr") == 0)
            continue;
        see(&w, true, argument);
        CU_ASSERT_STRING_EQUAL(seen(&w, out), cases[i].alone);
    }
    tear_down(&w);
}

/* A word is a name if it has a letter, and a dot or a slash, and leads to a file: beside the table
 * or from where the command runs. A folder is not meant: a dot and a slash are in any table. */
static void words_of_tables(void)
{
    static const struct {
        const char *words, *seen;
    } cases[] = {
        {"../far/far.txt\n", "in far"},
        {"# iters: '../far/far.txt'\n", "in far"},
        {"1,2;\"../far/far.txt\",3\n", "in far"},
        {"far.txt\n", "in"},                   /* not there */
        {". .. / ./ ../ ../far /tmp\n", "in"}, /* folders */
        {"../far/1.5 ../3/4\n", "in far"},     /* the first has a letter */
        {"../3/4\n", "in"},
        {"far\n", "in"},
    };
    struct world w;
    char out[512];
    set_up(&w);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        strait_test_context("%s", cases[i].words);
        put(&w, "in/t.csv", cases[i].words);
        see(&w, false, "t.csv");
        CU_ASSERT_STRING_EQUAL(seen(&w, out), cases[i].seen);
        put(&w, "in/t.txt", cases[i].words);
        see(&w, false, "t.txt"); /* not a table */
        CU_ASSERT_STRING_EQUAL(seen(&w, out), "in");
    }
    tear_down(&w);
}

/* A file that names one beside itself, that is named by one beside where the command runs; in the
 * fourth of a chain of files nothing is looked for. */
static void files_in_files(void)
{
    struct world w;
    char out[512];
    set_up(&w);
    put(&w, "far/one.json", "{\"title\": \".\", \"a\": \"..\", \"x\": \"two.csv\"}");
    put(&w, "far/two.csv", "three.json\n");
    put(&w, "far/three.json", "[\"../3/four.csv\"]");
    put(&w, "3/four.csv", "../in/plain\n");
    put(&w, "in/bad.json", "{\"x\": \"../far/far.txt\"");
    see(&w, true, "../far/one.json");
    CU_ASSERT_STRING_EQUAL(seen(&w, out), "far/one.json far/two.csv far/three.json 3/four.csv");
    see(&w, true, "../far/two.csv");
    CU_ASSERT_STRING_EQUAL(seen(&w, out), "far/two.csv far/three.json 3/four.csv in/plain");
    see(&w, false, "../far/one.json");
    CU_ASSERT_STRING_EQUAL(seen(&w, out), "far 3");
    see(&w, false, "bad.json");
    CU_ASSERT_STRING_EQUAL(seen(&w, out), "in");
    json_t *experiment =
        json_pack("{s:s, s:s, s:[s]}", "title", ".", "out", "..", "model", "../far/two.csv");
    const struct strait_guest_files f = {.read = &w.read, .has_none = true};
    strait_guest_see_json(&f, experiment);
    CU_ASSERT_STRING_EQUAL(seen(&w, out), "far/two.csv far/three.json 3/four.csv");
    json_decref(experiment);
    tear_down(&w);
}

/* A file straight in /tmp is given alone: the guest has a /tmp of its own. So is one in its run and
 * its shared memory; "/tmp" itself and what only begins like it are not of that kind. */
static void covered_folders(void)
{
    char path[] = "/tmp/strait-seen-XXXXXX", out[512];
    struct world w = {.top = "/nowhere"};
    const int fd = mkstemp(path);
    CU_ASSERT_FATAL(fd >= 0);
    close(fd);
    strait_guest_add_folder(&w.read, path);
    CU_ASSERT_STRING_EQUAL(seen(&w, out), path);
    unlink(path);
    strait_guest_add_folder(&w.read, path);
    strait_guest_add_folder(&w.read, "/tmp");
    strait_guest_add_folder(&w.read, "/tmp/");
    strait_guest_add_folder(&w.read, "/usr/bin/env");
    CU_ASSERT_STRING_EQUAL(seen(&w, out), "");
}

/* Two of one, and the list that ends with NULL. */
static void lists(void)
{
    struct strait_guest_texts t = {0};
    CU_ASSERT_PTR_NULL(strait_guest_texts_items(&t));
    strait_guest_texts_add(&t, "a");
    strait_guest_texts_add(&t, "a");
    strait_guest_texts_add_once(&t, "a");
    strait_guest_texts_add_once(&t, "bcd");
    CU_ASSERT_EQUAL(t.n, 3);
    CU_ASSERT_EQUAL(t.n_chars, 8); /* 1 + 1 + 3 characters and their ends */
    CU_ASSERT_STRING_EQUAL(strait_guest_texts_items(&t)[2], "bcd");
    CU_ASSERT_PTR_NULL(strait_guest_texts_items(&t)[3]);
    CU_ASSERT_FALSE(t.is_short);
    strait_guest_texts_release(&t);
    CU_ASSERT_EQUAL(t.n, 0);
}

/* Options go with their values; behind "--" everything is another program's. */
static void arguments_without_options(void)
{
    static const char *argv[] = {
        "run", "e.json", "--launcher", "vuml", "--launcher=uml", "--launchers", "-j",
        "2",   "--out",  "r",          "--",   "--launcher",     "--launcher=x"};
    static const char *const options[] = {"--launcher", "-j", NULL};
    static const char *const left[] = {"run", "e.json", "--launchers", "--out",
                                       "r",   "--",     "--launcher",  "--launcher=x"};
    struct strait_guest_texts t = {0};
    strait_guest_add_arguments(&t, sizeof(argv) / sizeof(argv[0]), (char **)(void *)argv, options);
    CU_ASSERT_EQUAL_FATAL(t.n, sizeof(left) / sizeof(left[0]));
    for (size_t i = 0; i < t.n; i++)
        CU_ASSERT_STRING_EQUAL(t.items[i], left[i]);
    strait_guest_texts_release(&t);
}

static const struct strait_test tests[] = {
    {"an argument is a path, a path behind \"=\", or JSON behind \"=\"", arguments},
    {"words of a table are files, not numbers and not folders", words_of_tables},
    {"files that name files that name files", files_in_files},
    {"what lies straight in a folder that the guest has for itself is given alone",
     covered_folders},
    {"lists end with NULL", lists},
    {"options are left out with their values", arguments_without_options},
};
STRAIT_SUITE("cli/guest/guest_job", tests);
