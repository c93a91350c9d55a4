/* strait net run --hosts, whose hosts are scripts: what each is told and in which order, and what
 * is made of each answer, of none, and of words that are no answers. */
#include <arpa/inet.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tests/kit/program.h"

/* Server and client1 on alpha, client2 and client3 on beta. */
static const char experiment[] =
    "{\"schema\": \"strait-experiment/1\", \"clients\": 3, \"model\": \"cnn\","
    " \"strategy\": {\"name\": \"fedavg\", \"rounds\": 1}, \"codec\": \"none\","
    " \"network\": {\"client\": {\"rate\": \"10 Mbps\", \"rtt\": \"%d ms\"},"
    "               \"server\": {\"rate\": \"20 Mbps\"}}}\n";

/* Plays strait net part on the host $1, all but what HOST.sh does otherwise. */
static const char part[] =
    "say() { printf '\\036%s\\n' \"$1\"; }\n"
    "read -r order; echo \"$order\" > $1.order; shift $(($# - 4))\n"
    "PROGRAM=$(cat hash) MTU=1500 MORE=0.0005 FAILED=0 TEXT= HOST=$1\n"
    "before() { :; }; after() { :; }\n"
    ". ./$HOST.sh\n"
    "echo \"$*\" > $HOST.words\n"
    "before\n"
    "say \"{\\\"version\\\":\\\"9\\\",\\\"program\\\":\\\"$PROGRAM\\\",\\\"mtu_bytes\\\":$MTU}\"\n"
    "read -r up; echo \"$up\" > $HOST.up; say '{\"up\":true}'\n"
    "read -r go; case $go in *ping*) echo \"$go\" > $HOST.ping\n"
    "say \"{\\\"more_s\\\":$MORE}\"; read -r go;; esac; echo \"$go\" > $HOST.go\n"
    "echo output of $HOST; echo trouble of $HOST >&2\n"
    "after\n"
    "say \"{\\\"failed\\\":$FAILED,\\\"text\\\":\\\"$TEXT\\\"}\"\n"
    "printf 'last of %s' $HOST; cat > /dev/null\n";

/* The program's own hash, as hosts have to tell it: from the header of any run. */
static void find_hash(const struct program *p, char hash[33])
{
    struct said s = PROGRAM_CALL(p, "run", "net.json", "--on", "fluid", "--out", "r");
    CU_ASSERT_EQUAL_FATAL(s.status, 0);
    said_release(&s);
    char *rows = program_read(p, "r/results.jsonl"), *at = strstr(rows, "\"program\":\"");
    CU_ASSERT_PTR_NOT_NULL_FATAL(at);
    snprintf(hash, 33, "%.32s", at + strlen("\"program\":\""));
    free(rows);
}

static void begin(struct program *p, int rtt_ms)
{
    char text[4096], hash[33];
    program_set_up(p);
    snprintf(text, sizeof(text), experiment, rtt_ms);
    program_write(p, "net.json", text);
    find_hash(p, hash);
    program_write(p, "hash", hash);
    program_write(p, "part", part);
    program_write(p, "hosts.txt",
                  "alpha address=192.0.2.1 rate=1Gbps\nbeta address=192.0.2.2 rate=1Gbps\n");
    program_write(p, "alpha.sh", "");
    program_write(p, "beta.sh", "");
}

#define ON_HOSTS(p, ...)                                                                           \
    PROGRAM_CALL(p, "net", "run", "net.json", "--hosts", "hosts.txt", "--launch",                  \
                 " sh  part {host} ", __VA_ARGS__)

static json_t *told(const struct program *p, const char *name)
{
    char *text = program_read(p, name);
    json_t *json = json_loads(text, JSON_DECODE_ANY, NULL);
    strait_test_context("%s: %s", name, text);
    CU_ASSERT_PTR_NOT_NULL_FATAL(json);
    free(text);
    return json;
}

static void expect_told(const struct program *p, const char *name, json_t *wanted)
{
    json_t *json = told(p, name);
    CU_ASSERT_PTR_NOT_NULL_FATAL(wanted);
    CU_ASSERT(json_equal(json, wanted));
    json_decref(json);
    json_decref(wanted);
}

static json_t *host_json(const char *name, const char *address, int first)
{
    return json_pack("{s:s, s:I, s:i, s:i}", "name", name, "address",
                     (json_int_t)inet_addr(address), "first", first, "n", 2);
}

/* The order is the same for both but for which of the hosts one is; then the packets' size and a
 * number that names this network; the first host alone pings; then all begin. */
static void what_is_told(void)
{
    struct program p;
    char line[4300];
    begin(&p, 20);
    struct said s = ON_HOSTS(&p, "--name", "mine", "--log", "logs", "--", "echo", "a b", "c");
    CU_ASSERT_EQUAL(s.status, 0);
    CU_ASSERT_CONTAINS(s.out, "output of alpha\n");
    CU_ASSERT_CONTAINS(s.out, "output of beta\n");
    CU_ASSERT_CONTAINS(s.out, "last of alpha\n");
    CU_ASSERT_CONTAINS(s.out, "last of beta\n");
    CU_ASSERT_EQUAL(program_n_lines(s.out), 4);
    CU_ASSERT_CONTAINS(s.err, "alpha: ranks 0 to 1, packets of 1450 bytes\n"
                              "beta: ranks 2 to 3, packets of 1450 bytes\n"
                              "the way between hosts adds 0.500 ms to a round trip\n");
    CU_ASSERT_CONTAINS(s.err, "trouble of alpha\n");
    CU_ASSERT_CONTAINS(s.err, "trouble of beta\n");
    CU_ASSERT_EQUAL(program_n_lines(s.err), 5);
    said_release(&s);
    for (int i = 0; i < 2; i++) {
        char name[16];
        snprintf(name, sizeof(name), "%s.order", i ? "beta" : "alpha");
        json_t *order = told(&p, name), *e = json_object_get(order, "experiment");
        CU_ASSERT_EQUAL(json_integer_value(json_object_get(e, "clients")), 3);
        CU_ASSERT_EQUAL(json_object_del(order, "experiment"), 0);
        json_t *wanted =
            json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:i, s:[o, o], s:[s, s, s], s:i, s:i, s:b,"
                      " s:i}",
                      "name", "mine", "launch", " sh  part {host} ", "program", p.path, "cwd",
                      p.folder, "log", "logs", "file", "net.json", "n_ranks", 4, "hosts",
                      host_json("alpha", "192.0.2.1", 0), host_json("beta", "192.0.2.2", 2), "argv",
                      "echo", "a b", "c", "first", 1, "n", 3, "keep_going", 0, "here", i);
        CU_ASSERT(json_equal(order, wanted));
        json_decref(order);
        json_decref(wanted);
    }
    json_t *up = told(&p, "alpha.up");
    const json_int_t id = json_integer_value(json_object_get(up, "id"));
    CU_ASSERT(id > 0 && id < 1 << 24);
    json_decref(up);
    for (int i = 0; i < 2; i++) {
        expect_told(&p, i ? "beta.up" : "alpha.up",
                    json_pack("{s:i, s:I}", "mtu_bytes", 1450, "id", id));
        expect_told(&p, i ? "beta.go" : "alpha.go", json_pack("{s:b}", "go", 1));
    }
    expect_told(&p, "alpha.ping", json_pack("{s:b}", "ping", 1));
    CU_ASSERT_FALSE(program_has(&p, "beta.ping"));
    snprintf(line, sizeof(line), "alpha %s net part\n", p.path);
    char *words = program_read(&p, "alpha.words");
    CU_ASSERT_STRING_EQUAL(words, line);
    free(words);
    program_tear_down(&p);
}

struct answer {
    const char *alpha, *beta; /* what these hosts do otherwise */
    const char *option;       /* of net run; NULL: none */
    int status;
    const char *says; /* on the standard error */
};

static void expect_answers(const struct answer *cases, size_t n, int rtt_ms)
{
    struct program p;
    begin(&p, rtt_ms);
    for (size_t i = 0; i < n; i++) {
        const struct answer *c = &cases[i];
        program_write(&p, "alpha.sh", c->alpha);
        program_write(&p, "beta.sh", c->beta);
        struct said s =
            c->option ? ON_HOSTS(&p, c->option, "--", "true") : ON_HOSTS(&p, "--", "true");
        strait_test_context("%s | %s: %s", c->alpha, c->beta, s.err);
        CU_ASSERT_EQUAL(s.status, c->status);
        CU_ASSERT_CONTAINS(s.err, c->says);
        said_release(&s);
    }
    strait_test_context("%s", "");
    program_tear_down(&p);
}

/* 50 bytes of each packet are the VXLAN's; never more than 1500 are the network's, nor less than
 * 1000. All hosts run one program. */
static void how_hosts_agree(void)
{
    static const struct answer cases[] = {
        {"MTU=1051", "", NULL, 0, "alpha: ranks 0 to 1, packets of 1001 bytes\n"},
        {"", "MTU=1050", NULL, 0, "beta: ranks 2 to 3, packets of 1000 bytes\n"},
        {"", "MTU=1049", NULL, 3,
         "strait: hosts.txt: expected packets of 1050 bytes and more between the hosts, found "
         "1049\n"},
        {"MTU=1551", "MTU=9000", NULL, 0, "alpha: ranks 0 to 1, packets of 1500 bytes\n"},
        {"MTU=9000", "MTU=1549", NULL, 0, "alpha: ranks 0 to 1, packets of 1499 bytes\n"},
        {"", "PROGRAM=0123456789abcdef", NULL, 2, " here and 9 (01234567) on beta\n"},
        {"say() { printf '\\036{\"mtu_bytes\":1500}\\n'; }", "", NULL, 2, "and ? (?) on alpha\n"}};
    expect_answers(cases, sizeof(cases) / sizeof(*cases), 20);
}

/* The way between may add a millisecond, or 5 % of a round trip where that is more. */
static void what_the_way_adds(void)
{
    static const struct answer near[] = {
        {"MORE=0.001", "", NULL, 0, "the way between hosts adds 1.000 ms to a round trip\n"},
        {"MORE=0.0011", "MORE=0", NULL, 3,
         "strait: hosts.txt: the way between the hosts adds 1.1 ms to a round trip of 10 ms, more "
         "than 1\n"}};
    static const struct answer far[] = {
        {"MORE=0.01", "MORE=1", NULL, 0, "the way between hosts adds 10.000 ms to a round trip\n"},
        {"MORE=0.0101", "", NULL, 3,
         "strait: hosts.txt: the way between the hosts adds 10.1 ms to a round trip of 200 ms, "
         "more "
         "than 10\n"}};
    expect_answers(near, sizeof(near) / sizeof(*near), 10);
    expect_answers(far, sizeof(far) / sizeof(*far), 200);
}

/* What a host says before it answers, or does not say. */
static void who_does_not_answer(void)
{
#define SEVEN_LETTERS "abcdefg abcdefg abcdefg abcdefg abcdefg "
    static const struct answer cases[] = {
        /* its reason comes after the end of its output */
        {"", "before() { exec >&-; sleep 0.2; echo no route to $HOST >&2; exit 255; }", NULL, 3,
         "strait: host beta: expected an answer of strait net part, found \"no route to beta\"\n"},
        {"before() { exit 0; }", "", NULL, 3,
         "strait: host alpha: expected an answer of strait net part, found none\n"},
        {"before() { echo first; echo a banner; echo; exit 0; }", "", NULL, 3,
         "strait: host alpha: expected an answer of strait net part, found \"a banner\"\n"},
        {"before() { echo not a word of which; echo; }; FAILED=0", "", NULL, 0, "beta: ranks"},
        {"before() { printf '" SEVEN_LETTERS SEVEN_LETTERS SEVEN_LETTERS SEVEN_LETTERS
         "'; exit 1; }",
         "", NULL, 3, "abcdefg abcdef\"\n"},
        {"",
         "before() { say '{\"error\":{\"code\":2,\"where\":\"net.json#/x\",\"text\":\"not "
         "so\"}}'; cat > /dev/null; exit; }",
         NULL, 2, "strait: host beta: net.json#/x: not so\n"},
        {"",
         "before() { say '{\"error\":{\"code\":2,\"where\":\"\",\"text\":\"not so\"}}'; cat > "
         "/dev/null; exit; }",
         NULL, 2, "strait: host beta: not so\n"},
        {"before() { kill -TERM $PPID; cat > /dev/null; exit; }", "", NULL, 1,
         "strait: net run: interrupted by Terminated\n"}};
    expect_answers(cases, sizeof(cases) / sizeof(*cases), 10);
}

/* Copies that fail are counted over all hosts and named; the first ends all, or does not. */
static void how_copies_end(void)
{
    static const struct answer cases[] = {
        {"FAILED=1 TEXT='client1 (exit status 3)'", "after() { cat > /dev/null; exit 0; }", NULL, 1,
         "strait: net run: 1 of 3 failed: client1 (exit status 3)\n"},
        {"FAILED=1 TEXT='client1 (exit status 3)'",
         "after() { sleep 0.2; }; FAILED=2 TEXT='client2 (killed), client3 (killed)'",
         "--keep-going", 1,
         "strait: net run: 3 of 3 failed: client1 (exit status 3), client2 (killed), client3 "
         "(killed)\n"},
        {"after() { sleep 0.2; }", "FAILED=1 TEXT=client2", NULL, 1,
         "strait: net run: 1 of 3 failed: client2\n"},
        {"", "after() { echo in pieces >&2; exit 1; }", NULL, 1, "strait: host beta was lost\n"},
        {"", "after() { say '{}'; cat > /dev/null; exit; }", NULL, 1,
         "strait: host beta was lost\n"},
        {"", "after() { say '{\"error\":{\"code\":5,\"text\":\"gone\"}}'; cat > /dev/null; exit; }",
         "--keep-going", 3, "strait: host beta: gone\n"},
        {"after() { kill -INT $PPID; cat > /dev/null; exit; }", "", NULL, 1,
         "strait: net run: interrupted by Interrupt\n"}};
    expect_answers(cases, sizeof(cases) / sizeof(*cases), 10);
}

/* A launcher that is not there, and one host alone, which nobody pings. */
static void launchers(void)
{
    struct program p;
    begin(&p, 10);
    struct said s = PROGRAM_CALL(&p, "net", "run", "net.json", "--hosts", "hosts.txt", "--launch",
                                 "./none {host}", "--", "true");
    CU_ASSERT_EQUAL(s.status, 3);
    CU_ASSERT_STRING_EQUAL(s.err,
                           "strait: host alpha: expected an answer of strait net part, found "
                           "\"./none: No such file or directory\"\n");
    said_release(&s);
    program_write(&p, "hosts.txt", "alpha address=192.0.2.1\n");
    s = ON_HOSTS(&p, "--program", "there/strait", "--", "true");
    CU_ASSERT_EQUAL(s.status, 0);
    CU_ASSERT_STRING_EQUAL(s.err, "trouble of alpha\n");
    CU_ASSERT_STRING_EQUAL(s.out, "output of alpha\nlast of alpha\n");
    CU_ASSERT_FALSE(program_has(&p, "alpha.ping"));
    said_release(&s);
    char *words = program_read(&p, "alpha.words");
    CU_ASSERT_STRING_EQUAL(words, "alpha there/strait net part\n");
    free(words);
    program_tear_down(&p);
}

static const struct strait_test tests[] = {
    {"hosts are told the order, their packets, and to begin", what_is_told},
    {"hosts agree on a program and the largest packet", how_hosts_agree},
    {"the way between hosts may add so much and no more", what_the_way_adds},
    {"a host that does not answer is named, with its last words", who_does_not_answer},
    {"copies that fail on any host are counted and named", how_copies_end},
    {"launchers that are not there, and a host alone", launchers},
};
STRAIT_SUITE("cli/net/net_crew", tests);
