/* The live view of `strait run --on emu`: on a terminal, and as lines. */
#include <errno.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "tests/kit/judged.h"
#include "tests/kit/program.h"

enum { SHOWN_BYTES = 1 << 18 };
static const char wipe[] = "A\r\033[J"; /* some lines up, and nothing below */

/* 25 clients so that a screen of 20 lines has no room for them. They would take four minutes for a
 * model of 423 KB at 5 Mbps: nobody waits for the end. */
static const char slow[] =
    "{\"schema\": \"strait-experiment/1\", \"title\": \"slow\", \"model\": \"cnn\","
    " \"strategy\": {\"name\": \"fedavg\", \"rounds\": 7, \"local_steps\": 1}, \"codec\": \"none\","
    " \"network\": {\"client\": {\"rate\": \"5 Mbps\", \"rtt\": \"10 ms\"},"
    "               \"server\": {\"rate\": \"5 Mbps\"}}, \"clients\": 25}\n";

static const char *const slow_args[] = {"run", "slow.json", "--on", "emu", "--dilation", "1", NULL};

/* Can this machine emulate at all? */
static bool can_emulate(const struct program *p)
{
    static const char *const args[] = {"check", "slow.json", "--on", "emu", NULL};
    struct said s = program_call(p, args);
    if (s.status == 3)
        strait_test_skip(s.err);
    CU_ASSERT(s.status == 0 || s.status == 3);
    const bool can = s.status == 0;
    said_release(&s);
    return can;
}

static pid_t start_on_terminal(int *fd, const struct program *p, const char *const args[])
{
    const struct winsize size = {.ws_row = 20, .ws_col = 90};
    const pid_t pid = forkpty(fd, NULL, NULL, &size);
    if (pid == 0)
        program_exec(p, args);
    return pid;
}

/* What is shown until `part` is there, or all of it (NULL); false where it does not come. */
static bool read_until(char *shown, int fd, const char *part)
{
    size_t n = strlen(shown);
    struct pollfd p = {.fd = fd, .events = POLLIN};
    while (!part || !strstr(shown, part)) {
        if (poll(&p, 1, 300000) <= 0)
            return false;
        const ssize_t more = read(fd, shown + n, SHOWN_BYTES - 1 - n);
        if (more <= 0) /* EIO: nobody has the terminal open any more */
            return part == NULL;
        n += (size_t)more;
        shown[n] = '\0';
    }
    return true;
}

static void on_a_terminal(void)
{
    static char shown[SHOWN_BYTES];
    struct program p;
    int fd;
    shown[0] = '\0';
    program_set_up(&p);
    program_write(&p, "slow.json", slow);
    if (!can_emulate(&p)) {
        program_tear_down(&p);
        return;
    }
    const pid_t pid = start_on_terminal(&fd, &p, slow_args);
    CU_ASSERT_FATAL(pid > 0);
    /* the first table, then one over it */
    CU_ASSERT(read_until(shown, fd, "all 26 "));
    const size_t first = strlen(shown);
    CU_ASSERT_PTR_NOT_NULL(strstr(shown, "emulating 1/1: "));
    CU_ASSERT_PTR_NOT_NULL(strstr(shown, " s of virtual time, round 1 of 7, about "));
    CU_ASSERT_PTR_NOT_NULL(strstr(shown, " left\r\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(shown, "host "));
    CU_ASSERT_PTR_NOT_NULL(strstr(shown, "of its rate "));
    CU_ASSERT_PTR_NOT_NULL(strstr(shown, "\r\nserver "));
    const char *at = strstr(shown, "host ");
    int n_clients = 0;
    while (at && (at = strstr(at + 1, "\r\nclient")))
        n_clients++;
    CU_ASSERT_EQUAL(n_clients, 20 - 8 - 1); /* and the server, the busiest */
    CU_ASSERT(read_until(shown + first, fd, wipe));
    /* ended from the keyboard: the screen is as it was, and the reason is said */
    CU_ASSERT_EQUAL(write(fd, "\003", 1), 1);
    CU_ASSERT(read_until(shown, fd, NULL));
    CU_ASSERT_EQUAL(program_wait(pid), 1);
    const char *last = shown;
    for (const char *next; (next = strstr(last + 1, wipe));)
        last = next;
    CU_ASSERT_PTR_NOT_NULL(strstr(last, "interrupted"));
    CU_ASSERT_PTR_NULL(strstr(last, "client"));
    close(fd);
    program_tear_down(&p);
}

static void as_lines(void)
{
    struct program p;
    program_set_up(&p);
    program_write(&p, "slow.json", slow);
    if (!can_emulate(&p)) {
        program_tear_down(&p);
        return;
    }
    static const char *const args[] = {"run",
                                       "slow.json",
                                       "--on",
                                       "emu",
                                       "--dilation",
                                       "1",
                                       "--tries",
                                       "1",
                                       "--no-break-even",
                                       "--live",
                                       "--realisation",
                                       "relay",
                                       "--set",
                                       "/clients=1",
                                       "--set",
                                       "/strategy/rounds=1",
                                       NULL};
    /* the relay's links are read at one moment: never above 100 % */
    struct said s = program_call(&p, args);
    CU_ASSERT(s.status == 0 || s.status == 1); /* 1: INVALID on a busy machine, and all the same */
    const char *line = strstr(s.err, "; sends ");
    CU_ASSERT_PTR_NOT_NULL_FATAL(line);
    while (line > s.err && line[-1] != '\n')
        line--;
    double now_s, sends, receives, dropped, share;
    char name[32];
    CU_ASSERT_EQUAL(sscanf(line,
                           "emulating 1/1: %lf s of virtual time, round 1 of 1, about %*f s left; "
                           "sends %lf Mbit/s, receives %lf, queued %*s %*[a-zA-Z], dropped %lf; "
                           "busiest %31[^,], %*s at %lf %%",
                           &now_s, &sends, &receives, &dropped, name, &share),
                    6);
    CU_ASSERT(now_s > 0 && sends > 0 && dropped == 0);
    if (time_is_judged()) { /* a relay that was late passes on at once what was due */
        CU_ASSERT_AT_MOST(sends, 10.1);
        CU_ASSERT_AT_MOST(receives, 10.1);
    }
    CU_ASSERT(strcmp(name, "server") == 0 || strcmp(name, "client1") == 0);
    CU_ASSERT(share > 0 && share <= 100);
    CU_ASSERT_PTR_NULL(strchr(s.err, '\033'));
    said_release(&s);
    program_tear_down(&p);
}

static void elsewhere(void)
{
    struct program p;
    program_set_up(&p);
    program_write(&p, "slow.json", slow);
    static const char *const args[] = {"run", "slow.json", "--live", NULL};
    struct said s = program_call(&p, args);
    CU_ASSERT_EQUAL(s.status, 2);
    CU_ASSERT_STRING_EQUAL(s.err,
                           "strait: run: expected --on emu or both with --live, found --on sim\n");
    said_release(&s);
    program_tear_down(&p);
}

static const struct strait_test tests[] = {
    {"on a terminal the busiest links are redrawn in place, and wiped at the end", on_a_terminal},
    {"--live without a terminal says a line a refresh", as_lines},
    {"--live is emu's", elsewhere},
};
STRAIT_SUITE_WITH("cli/cli_live", tests, .slow_s = 4);
