/* Which room may include which: the arrows between the top folders, no circle of rooms inside one,
 * and from another room only the headers that its README.md calls public. */
#include <ftw.h>
#include <libgen.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tests/kit/suite.h"

/* A folder may include itself and what stands before it; sim, emu and mpi never see each other. */
static const char *const folders[] = {"core",     "codecs",  "traces", "learn", "workloads",
                                      "sim",      "process", "emu",    "mpi",   "analysis",
                                      "campaign", "lib",     "serve",  "cli"};
enum {
    N_FOLDERS = sizeof(folders) / sizeof(folders[0]),
    LEARN = 3,
    WORKLOADS,
    SIM,
    PROCESS,
    EMU,
    MPI,
    ANALYSIS
};
enum {
    MAX_FILES = 2048,
    MAX_ROOMS = 192,
    MAX_ARROWS = 8192,
    MAX_IN_FOLDER = 32,
    PATH_CHARS = 512,
    MAX_README_LINES = 24
};

struct arrow {
    char from[PATH_CHARS], to[PATH_CHARS]; /* files */
};
static struct {
    char rooms[MAX_ROOMS][PATH_CHARS];
    unsigned n_files[MAX_ROOMS], n_rooms;
    struct arrow arrows[MAX_ARROWS];
    unsigned n_arrows;
    char files[MAX_FILES][PATH_CHARS];
    unsigned n_all;
    bool reaches[MAX_ROOMS][MAX_ROOMS];
} house; /* nftw passes no context */

static int folder_of(const char *path)
{
    for (int i = 0; i < N_FOLDERS; i++)
        if (strncmp(path, folders[i], strlen(folders[i])) == 0 && path[strlen(folders[i])] == '/')
            return i;
    return -1;
}

static bool may_include(int from, int to)
{
    if (from == to)
        return true;
    if (from == LEARN)
        return to == 0;
    if (from == EMU || from == MPI)
        return to < SIM || to == PROCESS;
    if (from == PROCESS || from == ANALYSIS) /* analysis: rows and logs, not backends */
        return to < SIM;
    return to < from;
}

static unsigned room_of(const char *file)
{
    char path[PATH_CHARS];
    snprintf(path, sizeof(path), "%s", file);
    const char *room = dirname(path);
    for (unsigned i = 0; i < house.n_rooms; i++)
        if (strcmp(house.rooms[i], room) == 0)
            return i;
    CU_ASSERT_FATAL(house.n_rooms < MAX_ROOMS);
    snprintf(house.rooms[house.n_rooms], PATH_CHARS, "%s", room);
    return house.n_rooms++;
}

static int read_file(const char *path, const struct stat *status, int type, struct FTW *where)
{
    (void)status;
    const char *suffix = path + strlen(path) - 2;
    if (type != FTW_F || where->level == 0 ||
        (strcmp(suffix, ".c") != 0 && strcmp(suffix, ".h") != 0))
        return 0;
    const unsigned room = room_of(path);
    house.n_files[room]++;
    CU_ASSERT_FATAL(house.n_all < MAX_FILES);
    snprintf(house.files[house.n_all++], PATH_CHARS, "%s", path);
    FILE *f = fopen(path, "r");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    char line[512], name[256];
    while (fgets(line, sizeof(line), f)) {
        if (sscanf(line, " # include \"%255[^\"]\"", name) != 1)
            continue;
        CU_ASSERT_FATAL(house.n_arrows < MAX_ARROWS);
        struct arrow *a = &house.arrows[house.n_arrows++];
        snprintf(a->from, sizeof(a->from), "%s", path);
        if (strchr(name, '/'))
            snprintf(a->to, sizeof(a->to), "%s", name);
        else
            snprintf(a->to, sizeof(a->to), "%.*s/%s", (int)(strrchr(path, '/') - path), path, name);
    }
    fclose(f);
    return 0;
}

/* Tests run in the root of the tree. */
static void read_house(void)
{
    memset(&house, 0, sizeof(house));
    for (int i = 0; i < N_FOLDERS; i++)
        CU_ASSERT_EQUAL_FATAL(nftw(folders[i], read_file, 16, FTW_PHYS), 0);
    CU_ASSERT(house.n_arrows > 1000);
    CU_ASSERT(house.n_rooms > N_FOLDERS);
}

static void arrows(void)
{
    read_house();
    for (unsigned i = 0; i < house.n_arrows; i++) {
        const struct arrow *a = &house.arrows[i];
        if (folder_of(a->to) < 0 || !may_include(folder_of(a->from), folder_of(a->to))) {
            fprintf(stderr, "%s includes %s\n", a->from, a->to);
            CU_FAIL("an arrow points the wrong way");
        }
    }
    CU_ASSERT_TRUE(may_include(SIM, WORKLOADS));
    CU_ASSERT_FALSE(may_include(SIM, EMU));
    CU_ASSERT_FALSE(may_include(EMU, SIM));
    CU_ASSERT_FALSE(may_include(MPI, EMU));
    CU_ASSERT_FALSE(may_include(0, 1));
    CU_ASSERT_TRUE(may_include(WORKLOADS, LEARN));
    CU_ASSERT_FALSE(may_include(LEARN, 1));
}

static void circles(void)
{
    read_house();
    const unsigned n = house.n_rooms;
    for (unsigned i = 0; i < house.n_arrows; i++)
        house.reaches[room_of(house.arrows[i].from)][room_of(house.arrows[i].to)] = true;
    CU_ASSERT_EQUAL_FATAL(house.n_rooms, n); /* nothing was included that is not there */
    for (unsigned k = 0; k < n; k++)
        for (unsigned i = 0; i < n; i++)
            for (unsigned j = 0; j < n; j++)
                house.reaches[i][j] |= house.reaches[i][k] && house.reaches[k][j];
    for (unsigned i = 0; i < n; i++)
        for (unsigned j = i + 1; j < n; j++)
            if (house.reaches[i][j] && house.reaches[j][i]) {
                fprintf(stderr, "%s and %s\n", house.rooms[i], house.rooms[j]);
                CU_FAIL("two rooms include each other");
            }
}

/* x.c and x.h are a unit, which the first of them stands for. */
static unsigned unit_of(const char *file)
{
    const size_t n = (size_t)(strrchr(file, '.') + 1 - file);
    unsigned i = 0;
    while (i < house.n_all && strncmp(house.files[i], file, n) != 0)
        i++;
    CU_ASSERT_FATAL(i < house.n_all);
    return i;
}

/* Which units each reaches by includes, a bit a unit. */
static uint64_t reached[MAX_FILES][MAX_FILES / 64];

static bool is_above(unsigned i, unsigned j)
{
    return reached[i][j / 64] >> j % 64 & 1;
}

static bool is_tied(unsigned i, unsigned j)
{
    return i != j && is_above(i, j) && is_above(j, i);
}

static void file_circles(void)
{
    static unsigned from[MAX_ARROWS], to[MAX_ARROWS];
    read_house();
    memset(reached, 0, sizeof(reached));
    for (unsigned a = 0; a < house.n_arrows; a++) {
        from[a] = unit_of(house.arrows[a].from);
        to[a] = unit_of(house.arrows[a].to);
        reached[from[a]][to[a] / 64] |= UINT64_C(1) << to[a] % 64;
    }
    for (unsigned k = 0; k < house.n_all; k++)
        for (unsigned i = 0; i < house.n_all; i++)
            for (unsigned w = 0; is_above(i, k) && w < MAX_FILES / 64; w++)
                reached[i][w] |= reached[k][w];
    for (unsigned i = 0; i < house.n_all; i++) {
        bool is_first = true, is_circle = false;
        for (unsigned j = 0; j < house.n_all; j++) {
            is_first = is_first && !(j < i && is_tied(i, j));
            is_circle = is_circle || is_tied(i, j);
        }
        if (!is_first || !is_circle)
            continue;
        CU_FAIL("files include each other in a circle");
        for (unsigned a = 0; a < house.n_arrows; a++)
            if (is_tied(from[a], to[a]) && (from[a] == i || is_tied(from[a], i)))
                fprintf(stderr, "%s includes %s\n", house.arrows[a].from, house.arrows[a].to);
    }
    CU_ASSERT_TRUE(is_above(unit_of("cli/run_command.c"), unit_of("core/error.h")));
    CU_ASSERT_FALSE(is_above(unit_of("core/error.h"), unit_of("cli/run_command.c")));
}

static void sizes(void)
{
    read_house();
    CU_ASSERT_EQUAL_FATAL(nftw("tests", read_file, 16, FTW_PHYS), 0);
    for (unsigned i = 0; i < house.n_rooms; i++)
        if (house.n_files[i] > MAX_IN_FOLDER) {
            fprintf(stderr, "%s has %u files\n", house.rooms[i], house.n_files[i]);
            CU_FAIL("a folder is too full to be read at a glance");
        }
}

/* A name alone, in a message or a debugger, says which file is meant. */
static void file_names(void)
{
    read_house();
    for (unsigned i = 0; i < house.n_all; i++)
        for (unsigned j = i + 1; j < house.n_all; j++)
            if (strcmp(strrchr(house.files[i], '/'), strrchr(house.files[j], '/')) == 0) {
                fprintf(stderr, "%s and %s\n", house.files[i], house.files[j]);
                CU_FAIL("two files have one name");
            }
    CU_ASSERT(house.n_all > 1000);
}

/* Does the README of the header's room list it? Lines "- `name.h`: what it is for". */
static bool is_public(const char *header)
{
    char path[PATH_CHARS], line[1024], entry[PATH_CHARS];
    const char *name = strrchr(header, '/') + 1;
    snprintf(path, sizeof(path), "%.*s/README.md", (int)(name - header - 1), header);
    FILE *f = fopen(path, "r");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    bool found = false;
    while (!found && fgets(line, sizeof(line), f))
        found = sscanf(line, "- `%511[^`]`", entry) == 1 && strcmp(entry, name) == 0;
    fclose(f);
    return found;
}

/* Headers that no other room includes do not count as the room's face. */
static bool is_wanted(const char *header)
{
    for (unsigned i = 0; i < house.n_arrows; i++)
        if (strcmp(house.arrows[i].to, header) == 0 &&
            room_of(house.arrows[i].from) != room_of(header))
            return true;
    return false;
}

static void faces(void)
{
    read_house();
    for (unsigned i = 0; i < house.n_arrows; i++) {
        const struct arrow *a = &house.arrows[i];
        if (room_of(a->from) == room_of(a->to) || folder_of(a->to) == 0)
            continue; /* all of core is for everybody */
        if (!is_public(a->to)) {
            fprintf(stderr, "%s includes %s\n", a->from, a->to);
            CU_FAIL("a header that its room keeps to itself");
        }
    }
    for (unsigned i = 0; i < house.n_all; i++) {
        const char *file = house.files[i];
        if (strcmp(file + strlen(file) - 2, ".h") == 0 && folder_of(file) != 0 && is_public(file) &&
            !is_wanted(file)) {
            fprintf(stderr, "%s\n", file);
            CU_FAIL("a public header that no other room includes");
        }
    }
    CU_ASSERT_TRUE(is_public("codecs/codec.h"));
    CU_ASSERT_FALSE(is_public("codecs/sz/sz_state.h"));
}

/* The first line is the room's path and what it is; the whole is read at a glance. */
static void readmes(void)
{
    char path[PATH_CHARS + 16], line[1024], head[PATH_CHARS + 8];
    read_house();
    for (unsigned i = 0; i < house.n_rooms; i++) {
        if (strcmp(house.rooms[i], "mpi/module") == 0) /* one file, which mpi/README.md explains */
            continue;
        snprintf(path, sizeof(path), "%s/README.md", house.rooms[i]);
        strait_test_context("%s", path);
        FILE *f = fopen(path, "r");
        CU_ASSERT_PTR_NOT_NULL_FATAL(f);
        snprintf(head, sizeof(head), "# %s: ", house.rooms[i]);
        CU_ASSERT_FATAL(fgets(line, sizeof(line), f) != NULL);
        CU_ASSERT_EQUAL(strncmp(line, head, strlen(head)), 0);
        unsigned n_lines = 1;
        while (fgets(line, sizeof(line), f))
            n_lines++;
        fclose(f);
        CU_ASSERT(n_lines <= MAX_README_LINES);
    }
}

/* System headers, from what the compiler says each object includes: nobody below sim sees SimGrid,
 * and workloads no socket. Objects of sources that are gone do not count. */
static unsigned n_simgrid;

static int read_dependencies(const char *path, const struct stat *status, int type,
                             struct FTW *where)
{
    (void)status;
    char word[1024];
    if (type != FTW_F || where->level == 0 || strcmp(path + strlen(path) - 2, ".d") != 0)
        return 0;
    FILE *f = fopen(path, "r");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    int folder = -1;
    while (fscanf(f, "%1023s", word) == 1) {
        if (folder < 0 && strcmp(word + strlen(word) - 1, ":") != 0 && folder_of(word) >= 0) {
            FILE *source = fopen(word, "r");
            if (!source)
                break;
            fclose(source);
            folder = folder_of(word);
        }
        n_simgrid += folder == SIM && strstr(word, "/simgrid/") != NULL;
        if (folder >= 0 && folder < SIM && strstr(word, "/simgrid/"))
            CU_FAIL("SimGrid below sim");
        if (folder == WORKLOADS && strstr(word, "sys/socket.h"))
            CU_FAIL("a socket in workloads");
    }
    fclose(f);
    return 0;
}

static void system_headers(void)
{
    const char *bin = getenv("STRAIT_BIN");
    char build[PATH_CHARS], path[PATH_CHARS + 32];
    snprintf(build, sizeof(build), "%s", bin ? bin : "build/strait");
    n_simgrid = 0;
    for (int i = 0; i < N_FOLDERS; i++) {
        char copy[PATH_CHARS];
        snprintf(copy, sizeof(copy), "%s", build);
        snprintf(path, sizeof(path), "%s/%s", dirname(copy), folders[i]);
        CU_ASSERT_EQUAL_FATAL(nftw(path, read_dependencies, 16, FTW_PHYS), 0);
    }
    CU_ASSERT(n_simgrid > 0); /* system headers are listed: the checks above can fail */
}

static const struct strait_test tests[] = {
    {"includes follow the arrows of the design", arrows},
    {"no two rooms include each other", circles},
    {"no two files include each other in a circle", file_circles},
    {"no folder has more than 32 sources", sizes},
    {"no two files have one name", file_names},
    {"other rooms include public headers, and every one of them", faces},
    {"every room has a README of some lines", readmes},
    {"SimGrid and sockets stay where they belong", system_headers},
};
STRAIT_SUITE("layers", tests);
