/* What the commands of strait net share: which network an experiment describes, which rank a word
 * names, what a program in a network finds in its environment. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cli/net/net_command.h"
#include "tests/kit/program.h"

#define FIVE(more)                                                                                 \
    "{\"schema\": \"strait-experiment/1\", \"model\": \"cnn\", \"codec\": \"none\","               \
    " \"strategy\": {\"name\": \"fedavg\", \"rounds\": 1}, \"clients\": 5, \"network\":"           \
    " {\"client\": {\"rate\": \"10 Mbps\"}, \"server\": {\"rate\": \"20 Mbps\"}}" more "}"

/* The error of a file with this text; "" with *e: it has one network. */
static void load(struct strait_experiment **e, struct strait_error *err, const char *text,
                 const struct strait_texts *settings)
{
    char file[] = "/tmp/strait-net-XXXXXX";
    const int fd = mkstemp(file);
    CU_ASSERT_FATAL(fd >= 0);
    CU_ASSERT_EQUAL_FATAL(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    *err = (struct strait_error){0};
    *e = NULL;
    const int failed = strait_net_load(e, file, settings, err);
    CU_ASSERT_EQUAL(failed, err->code == STRAIT_OK ? 0 : -1);
    CU_ASSERT_EQUAL(*e != NULL, err->code == STRAIT_OK);
    unlink(file);
}

static void one_network(void)
{
    static const char *const fine[] = {
        FIVE(""), FIVE(", \"vary\": {\"/codec\": [\"none\", \"fp16\"], \"/seed\": [1, 2]}")};
    static const struct {
        const char *text, *says;
    } cases[] = {
        {FIVE(", \"vary\": {\"/clients\": [5, 6]}"),
         "expected one network, found several in \"vary\": choose with --set /clients=..."},
        {FIVE(", \"vary\": {\"/network/client/rate\": [\"1 Mbps\", \"2 Mbps\"], \"/codec\": "
              "[\"none\", \"fp16\"], \"/clients\": [2, 3], \"/seed\": [4]}"),
         "expected one network, found several in \"vary\": choose with --set "
         "/network/client/rate=... --set /clients=..."},
        /* the strategy decides whether there is a server */
        {FIVE(", \"vary\": {\"/strategy\": [\"fedavg\", \"bsp\"], \"/seed\": [4]}"),
         "expected one network, found several in \"vary\": choose with --set /strategy=..."},
        {FIVE(", \"vary\": {\"/clients\": [5, 0]}"), "expected an integer of at least 1, found 0"}};
    struct strait_experiment *e;
    struct strait_error err;
    const char *set[] = {"/clients=7"}, *flows[] = {"/network/client/background={\"flows\":1}"};
    for (size_t i = 0; i < sizeof(fine) / sizeof(*fine); i++) {
        load(&e, &err, fine[i], &(struct strait_texts){0});
        CU_ASSERT_STRING_EQUAL(err.text, "");
        CU_ASSERT_PTR_NOT_NULL_FATAL(e);
        CU_ASSERT_EQUAL(e->n_clients, 5);
        CU_ASSERT_EQUAL(e->n_ranks, 6);
        strait_experiment_free(e);
    }
    load(&e, &err, cases[0].text, &(struct strait_texts){.items = set, .n = 1});
    CU_ASSERT_PTR_NOT_NULL_FATAL(e);
    CU_ASSERT_EQUAL(e->n_clients, 7);
    strait_experiment_free(e);
    load(&e, &err, fine[0], &(struct strait_texts){.items = flows, .n = 1});
    CU_ASSERT_STRING_EQUAL(err.text, "expected no flows of others (\"background\"): only ranks "
                                     "make them, start programs of your own instead");
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        strait_test_context("case %zu", i);
        load(&e, &err, cases[i].text, &(struct strait_texts){0});
        CU_ASSERT_STRING_EQUAL(err.text, cases[i].says);
        CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
    }
    load(&e, &err, "{}", &(struct strait_texts){0});
    CU_ASSERT_NOT_EQUAL(err.code, STRAIT_OK);
}

static json_t *state_of_three(void)
{
    return json_pack("{s:[{s:s, s:s}, {s:s, s:s}, {s:s, s:s, s:i}], s:{s:[s, s]}}", "ranks", "host",
                     "server", "address", "10.0.0.1", "host", "office", "address", "10.0.0.2",
                     "host", "2x", "address", "10.0.0.30", "on", 1, "hosts", "names", "alpha",
                     "beta");
}

static void words_for_ranks(void)
{
    static const struct {
        const char *word;
        int rank;
    } cases[] = {{"0", 0},        {"1", 1},         {"2", 2},   {"rank0", 0}, {"rank2", 2},
                 {"server", 0},   {"office", 1},    {"2x", 2},  {"3", -1},    {"rank3", -1},
                 {"10.0.0.1", 0}, {"10.0.0.30", 2}, {"", -1},   {"-1", -1},   {"Server", -1},
                 {"rank", -1},    {"10.0.0.3", -1}, {"00", -1}, {"1 ", -1}};
    json_t *state = state_of_three();
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char says[128];
        struct strait_error err = {0};
        strait_test_context("\"%s\"", cases[i].word);
        CU_ASSERT_EQUAL(strait_net_rank(state, cases[i].word, &err), cases[i].rank);
        snprintf(says, sizeof(says),
                 "expected a rank from 0 to 2, a host name or an address, found \"%s\"",
                 cases[i].word);
        CU_ASSERT_STRING_EQUAL(err.text, cases[i].rank < 0 ? says : "");
        CU_ASSERT_EQUAL(err.code, cases[i].rank < 0 ? STRAIT_ERR_USAGE : STRAIT_OK);
    }
    json_decref(state);
}

static void environment(void)
{
    static const char *const wanted[] = {
        "STRAIT_NET=mine",         "STRAIT_NET_FOLDER=/f",  "STRAIT_RANK=%d",
        "STRAIT_HOST=%s",          "STRAIT_ADDR=%s",        "STRAIT_NET_ON=beta",
        "GLOO_SOCKET_IFNAME=eth0", "TP_SOCKET_IFNAME=eth0", "NCCL_SOCKET_IFNAME=eth0"};
    json_t *state = state_of_three();
    struct strait_emu_registry place = {0};
    struct strait_net_env env;
    char line[64];
    snprintf(place.name, sizeof(place.name), "mine");
    snprintf(place.folder, sizeof(place.folder), "/f");
    for (int rank = 1; rank < 3; rank++) {
        size_t n = 0;
        strait_net_env_room(&env, &place, state, rank);
        for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
            if (i == 5 && rank == 1) /* that rank does not say on which host it is */
                continue;
            if (i == 2)
                snprintf(line, sizeof(line), "STRAIT_RANK=%d", rank);
            else if (i == 3)
                snprintf(line, sizeof(line), "STRAIT_HOST=%s", rank == 1 ? "office" : "2x");
            else if (i == 4)
                snprintf(line, sizeof(line), "STRAIT_ADDR=10.0.0.%s", rank == 1 ? "2" : "30");
            else
                snprintf(line, sizeof(line), "%s", wanted[i]);
            CU_ASSERT_PTR_NOT_NULL_FATAL(env.items[n]);
            CU_ASSERT_STRING_EQUAL(env.items[n], line);
            n++;
        }
        CU_ASSERT_EQUAL(env.n, n);
        CU_ASSERT_PTR_NULL(env.items[n]);
    }
    while (env.n < STRAIT_NET_MAX_ENV)
        strait_net_env_add(&env, "X%zu=%s", env.n, "y");
    CU_ASSERT_STRING_EQUAL(env.items[STRAIT_NET_MAX_ENV - 1], "X23=y");
    strait_net_env_add(&env, "TOO=many");
    CU_ASSERT_EQUAL(env.n, STRAIT_NET_MAX_ENV);
    CU_ASSERT_PTR_NULL(env.items[STRAIT_NET_MAX_ENV]);
    json_decref(state);
}

static void small_words(void)
{
    static const char *const fine[] = {"relay", "kernel", "auto", NULL};
    struct strait_error err = {0};
    const char *kept = getenv("STRAIT_NET");
    char *own = kept ? strdup(kept) : NULL;
    unsetenv("STRAIT_NET");
    CU_ASSERT_STRING_EQUAL(strait_net_default_name(), "default");
    setenv("STRAIT_NET", "", 1);
    CU_ASSERT_STRING_EQUAL(strait_net_default_name(), "default");
    setenv("STRAIT_NET", "d", 1);
    CU_ASSERT_STRING_EQUAL(strait_net_default_name(), "d");
    unsetenv("STRAIT_NET");
    if (own)
        setenv("STRAIT_NET", own, 1);
    free(own);
    for (size_t i = 0; i < sizeof(fine) / sizeof(*fine); i++)
        CU_ASSERT_EQUAL(strait_net_check_realisation("net up", fine[i], &err), 0);
    CU_ASSERT_EQUAL(err.code, STRAIT_OK);
    CU_ASSERT_EQUAL(strait_net_check_realisation("net up", "kernl", &err), -1);
    CU_ASSERT_STRING_EQUAL(err.where, "net up");
    CU_ASSERT_STRING_EQUAL(err.text, "expected relay, kernel or auto after --realisation, found "
                                     "\"kernl\", did you mean \"kernel\"?");
}

static void errors_of_hosts(void)
{
    struct strait_error err = {0};
    json_t *fine = json_pack("{s:b}", "up", 1),
           *wrong = json_pack("{s:{s:i, s:s, s:s}}", "error", "code", STRAIT_ERR_HOST, "where",
                              "tun", "text", "100 % not there"),
           *empty = json_pack("{s:{s:i}}", "error", "code", STRAIT_ERR_INPUT);
    strait_net_error_of(&err, fine);
    CU_ASSERT_EQUAL(err.code, STRAIT_OK);
    strait_net_error_of(&err, wrong);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_HOST);
    CU_ASSERT_STRING_EQUAL(err.where, "tun");
    CU_ASSERT_STRING_EQUAL(err.text, "100 % not there");
    err = (struct strait_error){0};
    strait_net_error_of(&err, empty);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
    CU_ASSERT_STRING_EQUAL(err.text, "");
    json_decref(fine);
    json_decref(wrong);
    json_decref(empty);
}

/* Who holds a network's lock and has not yet said what it is. */
static void being_set_up(void)
{
    struct program p;
    struct strait_emu_registry place;
    struct strait_error err = {0};
    const char *kept = getenv("XDG_RUNTIME_DIR");
    char *own = kept ? strdup(kept) : NULL;
    program_set_up(&p);
    setenv("XDG_RUNTIME_DIR", p.folder, 1);
    CU_ASSERT_EQUAL_FATAL(strait_emu_registry_init(&place, "coming", &err), 0);
    const int lock = strait_emu_registry_lock(&place, &err);
    CU_ASSERT_FATAL(lock >= 0);
    struct said s = PROGRAM_CALL(&p, "net", "list");
    CU_ASSERT_EQUAL(s.status, 0);
    CU_ASSERT_STRING_EQUAL(s.out, "no network is up (strait net up --help)\n");
    said_release(&s);
    s = PROGRAM_CALL(&p, "net", "list", "--json");
    CU_ASSERT_EQUAL(s.status, 0);
    CU_ASSERT_STRING_EQUAL(s.out, "");
    said_release(&s);
    s = PROGRAM_CALL(&p, "net", "top", "--name", "coming", "-n", "1");
    CU_ASSERT_EQUAL(s.status, 1);
    CU_ASSERT_STRING_EQUAL(s.out, "");
    CU_ASSERT_CONTAINS(s.err, "\"coming\"");
    CU_ASSERT_EQUAL(program_n_lines(s.err), 1);
    said_release(&s);
    close(lock);
    if (own)
        setenv("XDG_RUNTIME_DIR", own, 1);
    else
        unsetenv("XDG_RUNTIME_DIR");
    free(own);
    program_tear_down(&p);
}

static const struct strait_test tests[] = {
    {"an experiment has one network, or it is said which axes differ", one_network},
    {"a rank is named by number, host or address", words_for_ranks},
    {"a program finds its rank in its environment", environment},
    {"a default name, and words for who shapes links", small_words},
    {"a network that is being set up is not listed", being_set_up},
    {"what a host says of an error is the error", errors_of_hosts},
};
STRAIT_SUITE("cli/net/net_common", tests);
