/* The process of a rank by itself, with the test as its supervisor: what it says and hears, and the
 * figures that it leaves. */
#include "emu/process/rank_process.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "emu/process/run_delay.h"
#include "tests/kit/emu_world.h"
#include "tests/kit/folder.h"
#include "tests/kit/suite.h"

static bool no_stream(const struct strait_run *run, int src, int dst, int channel)
{
    (void)run, (void)src, (void)dst, (void)channel;
    return false;
}

static void return_at_once(struct strait_rank *r)
{
    board_of(r)->numbers[r->me][0] = 1;
}

static char hear(int fd)
{
    char word = 0;
    CU_ASSERT_EQUAL_FATAL(recv(fd, &word, 1, 0), 1);
    return word;
}

static void say(int fd, char word)
{
    CU_ASSERT_EQUAL_FATAL(send(fd, &word, 1, MSG_NOSIGNAL), 1);
}

/* Told to go a quarter of a second after the run's time 0, it says that it stood still so long. */
static void begins_late(void)
{
    struct world w;
    struct strait_error err = {0};
    int pair[2], status;
    world_init(&w, 2, 1e9, 0.01);
    w.run.uses_stream = no_stream;
    w.run.rank_main = return_at_once;
    struct strait_emu_shared *shared = strait_emu_shared_new(&w.run, 2, 1, &err);
    CU_ASSERT_FATAL(shared && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
    FILE *log = tmpfile();
    CU_ASSERT_PTR_NOT_NULL_FATAL(log);
    fflush(stdout);
    const pid_t pid = fork();
    CU_ASSERT_FATAL(pid >= 0);
    if (pid == 0) {
        close(pair[0]);
        strait_emu_rank_main(&(struct strait_emu_rank_plan){.run = &w.run,
                                                            .backend = &strait_emu,
                                                            .shared = shared,
                                                            .me = 1,
                                                            .control = pair[1],
                                                            .log = fileno(log)});
    }
    close(pair[1]);
    CU_ASSERT_EQUAL(hear(pair[0]), STRAIT_EMU_LISTENING);
    say(pair[0], STRAIT_EMU_CONNECT);
    CU_ASSERT_EQUAL(hear(pair[0]), STRAIT_EMU_READY);
    CU_ASSERT_EQUAL(w.board->numbers[1][0], 0);
    shared->start_ns = strait_proc_mono_ns() - 250000000;
    say(pair[0], STRAIT_EMU_GO);
    CU_ASSERT_EQUAL(hear(pair[0]), STRAIT_EMU_DONE);
    say(pair[0], STRAIT_EMU_END);
    CU_ASSERT_EQUAL(hear(pair[0]), STRAIT_EMU_BYE);
    close(pair[0]);
    CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
    CU_ASSERT_EQUAL(status, 0);
    const struct strait_emu_rank_shared *r = &shared->ranks[1];
    CU_ASSERT_EQUAL(w.board->numbers[1][0], 1);
    CU_ASSERT_AT_LEAST(r->stall_max_s, 0.25);
    CU_ASSERT_AT_LEAST(r->returned_s, 0.125); /* virtual, at dilation 2 */
    CU_ASSERT_AT_MOST(r->returned_s, r->stall_max_s);
    CU_ASSERT(r->cpu_s > 0);
    CU_ASSERT_AT_LEAST(r->run_delay_s, 0);
    CU_ASSERT_EQUAL(r->bytes_sent + r->bytes_received + r->n_retransmits + r->n_measured, 0);
    fclose(log);
    strait_emu_shared_free(shared);
    world_release(&w);
}

/* Three threads waited 1.5, 0.25 and 0 s; one has just ended, and one says nothing that counts. */
static void waited(void)
{
    static const char *const texts[] = {"9 1500000000 3\n", "0 250000000 1\n", "7 0 2\n", NULL,
                                        "none\n"};
    char folder[] = "/tmp/strait-tasks-XXXXXX", path[64];
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    for (int i = 0; i < 5; i++) {
        snprintf(path, sizeof(path), "%s/%d", folder, 100 + i);
        CU_ASSERT_EQUAL_FATAL(mkdir(path, 0700), 0);
        strcat(path, "/schedstat");
        FILE *f = texts[i] ? fopen(path, "w") : NULL;
        CU_ASSERT_FATAL(!texts[i] || (f && fputs(texts[i], f) >= 0 && fclose(f) == 0));
    }
    CU_ASSERT_DOUBLE_EQUAL(strait_emu_run_delay_s(folder), 1.75, 1e-12);
    folder_remove(folder);
    CU_ASSERT_EQUAL(strait_emu_run_delay_s(folder), 0);
}

static const struct strait_test tests[] = {
    {"a rank that is told late to go stood still until then", begins_late},
    {"what threads waited for a processor is summed", waited},
};
STRAIT_SUITE("emu/process/rank_process", tests);
