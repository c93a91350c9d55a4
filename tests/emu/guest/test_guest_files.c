/* What a guest is given to see, by the list that is written for it: a script in the place of its
 * kernel boots where it is tried and does nothing where it should run. All of it lies below /tmp,
 * which is another folder in the guest. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "emu/guest/uml.h"
#include "tests/kit/data.h"
#include "tests/kit/folder.h"
#include "tests/kit/program.h"

static const char kernel[] = "#!/bin/sh\necho 'strait: host_cpu 1'; echo 'strait: uptime 0 3600'; "
                             "echo 'strait: boots'\n";
static const char experiment[] =
    "{\"schema\": \"strait-experiment/1\", \"model\": \"%s\", \"strategy\": {\"name\": \"fedavg\","
    " \"rounds\": 1}, \"codec\": \"none\", \"network\": {\"client\": {\"rate\": \"1 Gbps\","
    " \"rtt\": \"10 ms\"}, \"server\": {\"rate\": \"1 Gbps\"}}, \"clients\": 2}\n";

struct world {
    struct program p;
    char tables[64], iterations[64], profile[64], link[80]; /* two folders, a file, a link */
    char table[128];
    bool can_try;
};

static void copy(const char *to, const char *name, const char *from)
{
    char path[PATH_MAX], shipped[PATH_MAX];
    size_t n;
    snprintf(shipped, sizeof(shipped), "%s", DATA(from));
    char *text = folder_bytes("/", shipped, &n);
    CU_ASSERT_FATAL(text != NULL);
    snprintf(path, sizeof(path), "%s%s", to, name);
    FILE *f = fopen(path, "we");
    CU_ASSERT_FATAL(f && fwrite(text, 1, n, f) == n && fclose(f) == 0);
    free(text);
}

/* A layer table whose iterations are a link to another folder, and a profile straight in /tmp. */
static void set_up(struct world *w)
{
    char path[128], to[128], built[128];
    struct strait_error err = {0};
    program_set_up(&w->p);
    strcpy(w->tables, "/tmp/strait-tables-XXXXXX");
    strcpy(w->iterations, "/tmp/strait-iters-XXXXXX");
    strcpy(w->profile, "/tmp/strait-profile-XXXXXX.json");
    CU_ASSERT_FATAL(mkdtemp(w->tables) && mkdtemp(w->iterations));
    const int fd = mkstemps(w->profile, 5);
    CU_ASSERT_FATAL(fd >= 0);
    close(fd);
    copy(w->profile, "", "codecs/profiles/sz3-class.json");
    copy(w->tables, "/table.csv", "tests/data/kfac.csv");
    copy(w->iterations, "/kfac-iters.csv", "tests/data/kfac-iters.csv");
    snprintf(path, sizeof(path), "%s/kfac-iters.csv", w->tables);
    snprintf(to, sizeof(to), "%s/kfac-iters.csv", w->iterations);
    CU_ASSERT_EQUAL_FATAL(symlink(to, path), 0);
    snprintf(w->table, sizeof(w->table), "%s/table.csv", w->tables);
    snprintf(w->link, sizeof(w->link), "%s-link", w->tables);
    CU_ASSERT_EQUAL_FATAL(symlink(w->tables, w->link), 0);
    program_write(&w->p, "kernel", kernel);
    snprintf(built, sizeof(built), "%s/kernel", w->p.folder);
    chmod(built, 0755);
    setenv("STRAIT_VKERNEL", built, 1);
    setenv("XDG_CACHE_HOME", w->p.folder, 1);
    w->can_try = strait_emu_uml_check(true, &err) == 0;
    if (!w->can_try)
        strait_test_skip(err.text);
}

static void tear_down(struct world *w)
{
    unsetenv("STRAIT_VKERNEL");
    unsetenv("XDG_CACHE_HOME");
    unlink(w->link);
    unlink(w->profile);
    folder_remove(w->tables);
    folder_remove(w->iterations);
    program_tear_down(&w->p);
}

/* Is it a line of the list? */
static bool sees(const struct world *w, const char *path)
{
    char line[256];
    char *list = program_read(&w->p, "r/uml/read");
    snprintf(line, sizeof(line), "%s\n", path);
    const char *at = strstr(list, line);
    const bool found = at && (at == list || at[-1] == '\n');
    if (!found)
        fprintf(stderr, "no %s in:\n%s", path, list);
    free(list);
    return found;
}

static void run(struct world *w, const char *model, const char *setting, const char *option)
{
    char text[1024];
    snprintf(text, sizeof(text), experiment, model);
    program_write(&w->p, "e.json", text);
    struct said s = PROGRAM_CALL(&w->p, "run", "e.json", "--on", "emu", "--launcher", "vuml",
                                 "--out", "r", "--set", setting, option, "--no-break-even");
    CU_ASSERT_EQUAL(s.status, 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(s.err, "User-Mode Linux ended before the program in it did"));
    said_release(&s);
}

static void tables(void)
{
    struct world w;
    char setting[256], link_table[128];
    set_up(&w);
    if (w.can_try) { /* named in the experiment, in a setting, through a link */
        run(&w, w.table, "/seed=2", "--json");
        CU_ASSERT(sees(&w, w.tables));
        CU_ASSERT(sees(&w, w.iterations));
        CU_ASSERT(sees(&w, w.p.folder));
        snprintf(setting, sizeof(setting), "/model=%s", w.table);
        run(&w, "cnn", setting, "--json");
        CU_ASSERT(sees(&w, w.tables));
        CU_ASSERT(sees(&w, w.iterations));
        snprintf(link_table, sizeof(link_table), "%s/table.csv", w.link);
        run(&w, link_table, "/seed=2", "--json");
        CU_ASSERT(sees(&w, w.link));
        CU_ASSERT(sees(&w, w.tables));
        CU_ASSERT(sees(&w, w.iterations));
        run(&w, "cnn", "/seed=2", "--json");
        char *list = program_read(&w.p, "r/uml/read");
        CU_ASSERT_PTR_NULL(strstr(list, w.tables));
        free(list);
    }
    tear_down(&w);
}

static void profiles(void)
{
    struct world w;
    char setting[256], option[128];
    set_up(&w);
    if (w.can_try) {
        snprintf(setting, sizeof(setting),
                 "/codec={\"name\": \"sz\", \"bound\": {\"range\": 1e-3}, \"profile\": \"%s\"}",
                 w.profile);
        run(&w, "cnn", setting, "--json");
        CU_ASSERT(sees(&w, w.profile));
        snprintf(option, sizeof(option), "--profile=%s", w.profile);
        run(&w, "cnn", "/codec={\"name\": \"sz\", \"bound\": {\"range\": 1e-3}}", option);
        CU_ASSERT(sees(&w, w.profile));
    }
    tear_down(&w);
}

/* The guest asks its own profile, or measures; the plan for it must not. */
static void unknown_codec(void)
{
    struct world w;
    set_up(&w);
    if (w.can_try)
        run(&w, "cnn", "/codec={\"name\": \"qsgd\", \"levels\": 31}", "--json");
    tear_down(&w);
}

/* Links are chosen there: the kernel's have netem, and only the relay joins sites. */
static void links(void)
{
    struct world w;
    size_t n;
    set_up(&w);
    if (w.can_try) {
        run(&w, "cnn", "/seed=2", "--json");
        char *argv = program_read_bytes(&w.p, "r/uml/argv", &n);
        for (size_t i = 0; i < n; i++)
            if (argv[i] == '\0')
                argv[i] = ' ';
        CU_ASSERT_PTR_NOT_NULL(strstr(argv, " run e.json --on emu --out r --set /seed=2 --json "));
        CU_ASSERT_PTR_NULL(strstr(argv, "--realisation"));
        CU_ASSERT_PTR_NULL(strstr(argv, "--launcher"));
        free(argv);
    }
    tear_down(&w);
}

static const struct strait_test tests[] = {
    {"layer tables and what they name, wherever they are named", tables},
    {"profiles, of a codec and of a run, straight in /tmp too", profiles},
    {"a codec that the shipped profile lacks is left to the guest", unknown_codec},
    {"the guest chooses its links itself", links},
};
STRAIT_SUITE("emu/guest/guest_files", tests);
