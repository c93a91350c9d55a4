/* The process of a rank by itself, with the test as its supervisor: what it says and hears, and the
 * figures that it leaves. */
#include "emu/process/rank_process.h"
#include <math.h>
#include <poll.h>
#include <signal.h>
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

/* --- ranks of a run whose supervisor is the test ---------------------------------------------- */

enum { LARGE_BYTES = 64000000 };

struct few {
    struct world w;
    struct strait_emu_shared *shared;
    int control[2];
    FILE *logs[2];
    pid_t pids[2];
};

static bool one_stream(const struct strait_run *run, int src, int dst, int channel)
{
    (void)run;
    return src == 1 && dst == 0 && channel == 0;
}

/* Two ranks over the loopback device, which have connected. */
static void begin_few(struct few *f, void (*rank_main)(struct strait_rank *r))
{
    struct strait_error err = {0};
    world_init(&f->w, 2, 1e9, 0.01);
    f->w.run.uses_stream = one_stream;
    f->w.run.rank_main = rank_main;
    f->shared = strait_emu_shared_new(&f->w.run, 2, 1, &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(f->shared);
    fflush(stdout);
    for (int i = 0; i < 2; i++) {
        int pair[2];
        f->logs[i] = tmpfile();
        CU_ASSERT_FATAL(f->logs[i] &&
                        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
        f->control[i] = pair[0];
        f->pids[i] = fork();
        CU_ASSERT_FATAL(f->pids[i] >= 0);
        if (f->pids[i] == 0) {
            for (int k = 0; k <= i; k++)
                close(f->control[k]);
            strait_emu_rank_main(&(struct strait_emu_rank_plan){.run = &f->w.run,
                                                                .backend = &strait_emu,
                                                                .shared = f->shared,
                                                                .me = i,
                                                                .control = pair[1],
                                                                .log = fileno(f->logs[i])});
        }
        close(pair[1]);
    }
    for (int i = 0; i < 2; i++)
        CU_ASSERT_EQUAL(hear(f->control[i]), STRAIT_EMU_LISTENING);
    for (int i = 0; i < 2; i++)
        say(f->control[i], STRAIT_EMU_CONNECT);
    for (int i = 0; i < 2; i++)
        CU_ASSERT_EQUAL(hear(f->control[i]), STRAIT_EMU_READY);
    f->shared->start_ns = strait_proc_mono_ns();
}

/* All of them have said that they are done. Rank 0, which may fail and then says no word, is the
 * last: another one that has not ended yet would miss its connection. */
static void end_few(struct few *f, int status_of_0)
{
    int status;
    for (int i = 1; i >= 0; i--) {
        say(f->control[i], STRAIT_EMU_END);
        if (i > 0 || status_of_0 == 0)
            CU_ASSERT_EQUAL(hear(f->control[i]), STRAIT_EMU_BYE);
    }
    for (int i = 0; i < 2; i++) {
        close(f->control[i]);
        CU_ASSERT_EQUAL(waitpid(f->pids[i], &status, 0), f->pids[i]);
        CU_ASSERT(WIFEXITED(status));
        CU_ASSERT_EQUAL(WEXITSTATUS(status), i == 0 ? status_of_0 : 0);
    }
}

static void release_few(struct few *f)
{
    for (int i = 0; i < 2; i++)
        fclose(f->logs[i]);
    strait_emu_shared_free(f->shared);
    world_release(&f->w);
}

static void one_message(struct strait_rank *r)
{
    struct strait_message m;
    if (r->me == 0) {
        r->backend->ops->recv(r, &m, 1, 0, INFINITY);
        board_of(r)->numbers[0][0] = (double)m.packet->payload_bytes;
        strait_packet_drop(m.packet);
        return;
    }
    struct strait_packet *p = strait_packet_new(0);
    if (!p)
        abort();
    p->payload_bytes = LARGE_BYTES;
    r->backend->ops->send(r, 0, 0, 0, p, false);
    board_of(r)->numbers[1][0] = 1;
}

/* More than the kernel keeps is on its way to a rank that stands still: who sent it is not done,
 * though its program has ended. */
static void drains(void)
{
    struct few f;
    begin_few(&f, one_message);
    CU_ASSERT_EQUAL(kill(f.pids[0], SIGSTOP), 0);
    say(f.control[1], STRAIT_EMU_GO);
    struct pollfd p = {.fd = f.control[1], .events = POLLIN};
    CU_ASSERT_EQUAL(poll(&p, 1, 300), 0);
    CU_ASSERT_EQUAL(kill(f.pids[0], SIGCONT), 0);
    say(f.control[0], STRAIT_EMU_GO);
    CU_ASSERT_EQUAL(hear(f.control[1]), STRAIT_EMU_DONE);
    CU_ASSERT_EQUAL(hear(f.control[0]), STRAIT_EMU_DONE);
    end_few(&f, 0);
    CU_ASSERT_EQUAL(f.w.board->numbers[1][0], 1);
    CU_ASSERT_EQUAL(f.w.board->numbers[0][0], LARGE_BYTES);
    const struct strait_emu_rank_shared *r = f.shared->ranks;
    CU_ASSERT_EQUAL(r[1].bytes_sent, LARGE_BYTES + 96);
    CU_ASSERT_EQUAL(r[0].bytes_received, r[1].bytes_sent);
    CU_ASSERT_EQUAL(r[0].bytes_sent + r[1].bytes_received, 0);
    CU_ASSERT_AT_LEAST(r[0].returned_s, r[1].returned_s);
    CU_ASSERT_EQUAL(r[0].state.n_landed, 1);
    CU_ASSERT_EQUAL(r[1].state.n_sent, 1);
    release_few(&f);
}

/* Rank 0 waits for a message that nobody sends, and whose log lacks memory. */
static void waits(struct strait_rank *r)
{
    struct strait_message m;
    if (r->me == 0)
        r->run->logs[0].no_memory = board_of(r)->numbers[1][1] > 0;
    board_of(r)->numbers[r->me][0] = 1;
    if (r->me == 0)
        r->backend->ops->recv(r, &m, 1, 0, INFINITY);
    board_of(r)->numbers[r->me][0] = 2;
}

static void stopped(bool no_memory)
{
    struct few f;
    begin_few(&f, waits);
    f.w.board->numbers[1][1] = no_memory;
    for (int i = 0; i < 2; i++)
        say(f.control[i], STRAIT_EMU_GO);
    CU_ASSERT_EQUAL(hear(f.control[1]), STRAIT_EMU_DONE);
    say(f.control[0], STRAIT_EMU_STOP);
    CU_ASSERT_EQUAL(hear(f.control[0]), STRAIT_EMU_DONE);
    end_few(&f, no_memory ? EXIT_FAILURE : 0);
    CU_ASSERT_EQUAL(f.w.board->numbers[0][0], 1); /* it was parked where it waited */
    CU_ASSERT_EQUAL(f.w.board->numbers[1][0], 2);
    const struct strait_proc_state *s = &f.shared->ranks[0].state;
    CU_ASSERT_EQUAL(s->has_error, no_memory ? 2 : 0);
    CU_ASSERT_STRING_EQUAL(s->error.text, no_memory ? "memory ran out for spans" : "");
    CU_ASSERT_EQUAL(s->error.code, no_memory ? STRAIT_ERR_NOMEM : STRAIT_OK);
    release_few(&f);
}

static void is_stopped(void)
{
    stopped(false);
}

static void lacks_memory(void)
{
    stopped(true);
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
    {"a rank is done when all that it sent has been carried", drains},
    {"a rank that is told to stop parks what waits", is_stopped},
    {"a rank whose spans lack memory says so at its end", lacks_memory},
    {"what threads waited for a processor is summed", waited},
};
STRAIT_SUITE("emu/process/rank_process", tests);
