/* make judged: 4 MB from each of N clients at once, and 16 clients that work before they send, in
 * every realisation and launcher that this host can do, at the dilation that is chosen there. The
 * median of three valid runs is held against the run in virtual time and against arithmetic; with
 * too little dilation a run must be INVALID or right all the same. The program runs itself again
 * for each way of emulation: in place, in namespaces of a user, in a guest. */
#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "core/heap.h"
#include "core/process.h"
#include "emu/host/dilation.h"
#include "emu/guest/uml.h"
#include "tests/kit/data.h"
#include "tests/kit/folder.h"
#include "tests/kit/suite.h"
#include "tests/kit/links/uploads.h"

#define SUITE "emu/judge/judged"
#define AS    "STRAIT_JUDGED" /* "relay root": what the program is to measure when run again */
/* Asked for by who looks into one thing: a way beside the reference, "kernel uml"; numbers of
 * cases, "23". */
#define ONLY_WAY   "STRAIT_WAY"
#define ONLY_CASES "STRAIT_CASES"
enum { TEXT_BYTES = 1 << 20, N_VALID = 3, N_TRIES = 6, N_WAYS = 7, N_CASES = 8, WHY_CHARS = 160 };
static const double RTT_S = 0.050, ALIKE = 0.03, RIGHT = 0.05, BURN_RIGHT = 0.01;
/* For all cases in one way of emulation. */
static const double LIMIT_S = 1800;

struct way {
    const char *realisation, *launcher;
};
/* The first is the reference. */
static const struct way ways[N_WAYS] = {{"kernel", "vuml"}, {"relay", "root"}, {"relay", "userns"},
                                        {"kernel", "root"}, {"kernel", "uml"}, {"relay", "uml"},
                                        {"relay", "vuml"}};

struct setting {
    int n_clients;
    bool burns; /* 200 ms of work before it sends, links without delay */
    double overhead_bytes;
    double dilation; /* 0: chosen; else too little */
};
static const struct setting cases[N_CASES] = {
    {1, false, 0, 0}, {4, false, 0, 0},  {16, false, 0, 0}, {64, false, 0, 0},
    {16, true, 0, 0}, {16, true, 24, 0}, {64, false, 0, 1}, {16, true, 0, 1}};

static bool is_asked(int i_case)
{
    const char *only = getenv(ONLY_CASES);
    return !only || strchr(only, '0' + i_case);
}

/* What came back for one case in one way. */
struct outcome {
    double found_s[N_TRIES], credit_s, dilation;
    int n_valid, n_tries;
    bool failed; /* for a reason that is not the host's */
    char congestion[16];
    char why[WHY_CHARS]; /* it cannot run there, or why the last run was INVALID */
};

/* Cold connections: n* = ceil(log2(C RTT / (N W0))) or, where the message ends before, ceil(log2(B
 * / W0 + 1)) round trips of slow start, one more, and then the rest at the link's goodput C: 0.450,
 * 0.472, 0.775 and 2.287 s. Work: 0.2 s, then the link: 0.735 s, on Ethernet 0.744 s. */
static double by_arithmetic_s(const struct setting *s, double credit_s)
{
    const double w0 = 14480, c = upload_goodput(s->overhead_bytes), n = s->n_clients;
    if (s->burns)
        return BURN_MS / 1e3 + n * UPLOAD_BYTES / c - credit_s;
    const double until_full = ceil(log2(c * RTT_S / (n * w0)));
    const double until_sent = ceil(log2(UPLOAD_BYTES / w0 + 1));
    if (until_sent <= until_full)
        return RTT_S * until_sent;
    return RTT_S * (until_full + 1) +
           fmax(0, n * UPLOAD_BYTES - n * w0 * (exp2(until_full) - 1)) / c;
}

/* --- inside: measure and say ---------------------------------------------------------------- */

static bool hystart_is_off(void)
{
    int on = 1;
    FILE *f = fopen("/sys/module/tcp_cubic/parameters/hystart", "r");
    if (!f || fscanf(f, "%d", &on) != 1)
        on = 1;
    if (f)
        fclose(f);
    return on == 0;
}

/* One line of JSON for each run; false where no more are needed. */
static bool measure_once(const struct setting *s, int i_case, const char *realisation,
                         const char *launcher, int *n_valid)
{
    struct world w;
    struct strait_error err = {0};
    char why[WHY_CHARS] = "";
    upload_world(&w, s->n_clients, s->burns ? 0 : RTT_S, s->burns);
    w.network->overhead_bytes = s->overhead_bytes;
    /* nothing is dropped, and so cubic without HyStart and reno do the same */
    w.network->tcp.congestion = hystart_is_off() ? STRAIT_CUBIC : STRAIT_RENO;
    w.run.realisation = realisation;
    w.run.launcher = launcher;
    w.run.dilation = s->dilation;
    w.run.deadline_s = 300;
    const double found_s = upload_run_s(&w, &err);
    const json_t *report = w.facts.report, *invalid = json_array_get(w.facts.invalid, 0);
    if (isnan(found_s) || invalid)
        snprintf(why, sizeof(why), "%.159s",
                 isnan(found_s) ? err.text : json_string_value(invalid));
    *n_valid += !isnan(found_s) && !invalid;
    json_t *line =
        json_pack("{s:i, s:b, s:b, s:f, s:f, s:f, s:s, s:s}", "case", i_case, "ran",
                  !isnan(found_s), "valid", !invalid, "found_s", isnan(found_s) ? 0 : found_s,
                  "dilation", json_number_value(json_object_get(report, "dilation")), "credit_s",
                  json_number_value(json_object_get(report, "credit_s")), "congestion",
                  strait_congestion_name(w.network->tcp.congestion), "why", why);
    json_dumpf(line, stdout, JSON_COMPACT);
    puts("");
    fflush(stdout);
    json_decref(line);
    world_release(&w);
    return !isnan(found_s) && s->dilation == 0 && *n_valid < N_VALID;
}

static void measure(const char *as)
{
    char realisation[16] = "", launcher[16] = "";
    CU_ASSERT_EQUAL_FATAL(sscanf(as, "%15s %15s", realisation, launcher), 2);
    const bool guest = strait_emu_in_uml();
    for (int i = 0; i < N_CASES; i++) {
        int n_valid = 0;
        if (!is_asked(i) || (cases[i].dilation > 0 && strait_emu_in_virtual_time()))
            continue; /* it needs no dilation there */
        for (int t = 0; t < N_TRIES; t++)
            if (!measure_once(&cases[i], i, realisation, guest ? NULL : launcher, &n_valid))
                break;
    }
}

/* --- outside ------------------------------------------------------------------------------ */

static char *in_guest(const struct way *way, const char *program, struct strait_error *err)
{
    char job[] = "/tmp/strait-judged-XXXXXX", bin[PATH_MAX], as[64], only[64];
    snprintf(bin, sizeof(bin), "%s", program);
    *strrchr(bin, '/') = '\0';
    snprintf(as, sizeof(as), AS "=%s %s", way->realisation, way->launcher);
    snprintf(only, sizeof(only), ONLY_CASES "=%s",
             getenv(ONLY_CASES) ? getenv(ONLY_CASES) : "01234567");
    CU_ASSERT_FATAL(mkdtemp(job) != NULL);
    const char *const argv[] = {program, "--here", SUITE, NULL},
                      *const read[] = {DATA(""), bin, NULL}, *const none[] = {NULL},
                      *const env[] = {as, only, NULL};
    const bool virtual_time = strcmp(way->launcher, "vuml") == 0;
    const struct strait_emu_uml_plan plan = {
        .virtual_time = virtual_time,
        .argv = argv,
        .folder = "/",
        .job = job,
        .read = read,
        .write = none,
        .setenv = env,
        .memory_bytes = strait_emu_uml_memory_bytes(virtual_time, 65, 4e8, 0),
        .limit_s = LIMIT_S};
    strait_emu_uml_run(&plan, err);
    char *text = folder_text(job, STRAIT_EMU_UML_OUT);
    folder_remove(job);
    return text;
}

static void take_line(struct outcome *outcomes, const char *text)
{
    json_t *line = json_loads(text, 0, NULL);
    const json_int_t i = json_integer_value(json_object_get(line, "case"));
    if (line && i >= 0 && i < N_CASES) {
        struct outcome *o = &outcomes[i];
        const char *why = json_string_value(json_object_get(line, "why"));
        o->n_tries += json_is_true(json_object_get(line, "ran"));
        o->failed |= json_is_true(json_object_get(line, "failed"));
        o->dilation = json_number_value(json_object_get(line, "dilation"));
        o->credit_s = json_number_value(json_object_get(line, "credit_s"));
        snprintf(o->congestion, sizeof(o->congestion), "%s",
                 json_string_value(json_object_get(line, "congestion")));
        if (*why)
            snprintf(o->why, sizeof(o->why), "%.159s", why);
        if (!*why && o->n_valid < N_TRIES)
            o->found_s[o->n_valid++] = json_number_value(json_object_get(line, "found_s"));
    }
    json_decref(line);
}

static void run_way(struct outcome *outcomes, const struct way *way)
{
    struct strait_error err = {0};
    char program[PATH_MAX] = "", as[64];
    CU_ASSERT_FATAL(readlink("/proc/self/exe", program, PATH_MAX - 1) > 0);
    fprintf(stderr, "%s, launcher %s ...\n", way->realisation, way->launcher);
    snprintf(as, sizeof(as), AS "=%s %s", way->realisation, way->launcher);
    const char *const argv[] = {"env", as, program, "--here", SUITE, NULL};
    char *text;
    if (strstr(way->launcher, "uml")) {
        text = in_guest(way, program, &err);
    } else {
        text = calloc(1, TEXT_BYTES);
        CU_ASSERT_FATAL(text != NULL);
        strait_process_run(text, TEXT_BYTES, argv, NULL, LIMIT_S, &err);
    }
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        if (line[0] == '{')
            take_line(outcomes, line);
    free(text);
    CU_ASSERT(err.code == STRAIT_OK || err.code == STRAIT_ERR_HOST);
    for (int i = 0; i < N_CASES; i++) {
        strait_sort(outcomes[i].found_s, (size_t)outcomes[i].n_valid);
        if (outcomes[i].n_tries == 0 && !outcomes[i].why[0])
            snprintf(outcomes[i].why, WHY_CHARS, "%.159s", err.text);
    }
}

static double median_s(const struct outcome *o)
{
    return o->n_valid > 0 ? o->found_s[(o->n_valid - 1) / 2] : NAN;
}

static const char *difference(char text[16], double found_s, double wanted_s)
{
    snprintf(text, 16, "-");
    if (isfinite(found_s) && isfinite(wanted_s))
        snprintf(text, 16, "%+.1f %%", 100 * (found_s / wanted_s - 1));
    return text;
}

static const char *seconds(char text[16], double found_s)
{
    snprintf(text, 16, isfinite(found_s) ? "%.4f" : "-", found_s);
    return text;
}

static bool is_within(double found_s, double wanted_s, double ratio)
{
    return !isfinite(wanted_s) || fabs(found_s / wanted_s - 1) <= ratio;
}

/* One line of the table. False: it ran, and what came out does not stand. */
static bool show(const struct setting *s, const struct way *way, const struct outcome *o,
                 double virtual_s)
{
    const double found_s = median_s(o), wanted_s = by_arithmetic_s(s, o->credit_s);
    char against[2][16], valid[32], found[16];
    const bool right = is_within(found_s, virtual_s, s->burns ? BURN_RIGHT : ALIKE) &&
                       is_within(found_s, wanted_s, s->burns ? BURN_RIGHT : RIGHT);
    const bool control = s->dilation > 0;
    const bool good = control ? o->n_valid == 0 || right : o->n_valid >= N_VALID && right;
    snprintf(valid, sizeof(valid), "%d of %d", o->n_valid, o->n_tries);
    printf("%3d%s%-9s %-6s %-6s ", s->n_clients,
           s->burns ? (s->overhead_bytes > 0 ? " work, 24 B" : " work      ") : "           ",
           control ? "  k = 1" : "", way->realisation, way->launcher);
    if (o->n_tries == 0) {
        printf("%s: %s\n", o->failed ? "NOT GOOD" : "cannot", o->why);
        return !o->failed;
    }
    printf("%3.0f %-5s %7s %8s %7.4f %8s  %-8s %s%s%s\n", o->dilation, o->congestion,
           seconds(found, found_s), difference(against[0], found_s, virtual_s), wanted_s,
           difference(against[1], found_s, wanted_s), valid, good ? "good" : "NOT GOOD",
           o->n_valid < o->n_tries ? ", INVALID: " : "", o->n_valid < o->n_tries ? o->why : "");
    return good;
}

static void judged(void)
{
    static struct outcome outcomes[N_WAYS][N_CASES];
    if (getenv(AS)) {
        measure(getenv(AS));
        return;
    }
    printf("clients             links  where    k tcp     found  virtual  arithm. difference "
           "valid    verdict\n");
    fflush(stdout);
    for (int w = 0; w < N_WAYS; w++) {
        char name[64];
        snprintf(name, sizeof(name), "%s %s", ways[w].realisation, ways[w].launcher);
        if (w > 0 && getenv(ONLY_WAY) && strcmp(getenv(ONLY_WAY), name) != 0)
            continue;
        run_way(outcomes[w], &ways[w]);
        for (int i = 0; i < N_CASES; i++) {
            const struct setting *s = &cases[i];
            if (!is_asked(i) || (s->dilation > 0 && strcmp(ways[w].launcher, "vuml") == 0))
                continue; /* there it needs none */
            const int reference = s->dilation == 0 ? i : s->burns ? 4 : 3;
            CU_ASSERT(show(s, &ways[w], &outcomes[w][i], median_s(&outcomes[0][reference])));
        }
        fflush(stdout);
    }
}

static const struct strait_test tests[] = {
    {"uploads take as long in every realisation and launcher as in virtual time", judged},
};
STRAIT_SUITE_WITH(SUITE, tests, .apart = true, .deadline_s = 4 * 3600);
