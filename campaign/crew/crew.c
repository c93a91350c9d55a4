#include "crew.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "core/clock.h"
#include "core/progress.h"

/* Who is silent for so long is lost; who lives says so every second. */
static const double LOST_S = 30, BEAT_S = 1;
static const double TELL_S = 120; /* for a letter to rank 0 to leave */
/* A task that has cost so many workers is at fault itself. */
enum { MAX_LOSSES = 3 };
/* Answers go in parts that every MPI sends at once, without asking the receiver, which must not
 * wait for one that has stopped: 4 KiB over shared memory in Open MPI, more elsewhere. */
enum { PART_CHARS = 3000 };
/* Between two looks; what computes must not be disturbed. */
static const long LOOK_NS = 200000;

/* NO_HAND: a process without a hand computes nothing any more. */
enum word { ALIVE, ASK, PART, ANSWER, TASK, END, NO_HAND };
struct letter {
    uint64_t word, i, task; /* a task as rank 0 counts it, and as the hands know it */
    char text[PART_CHARS];  /* of an answer, or a part of one */
};
enum { HEAD_BYTES = offsetof(struct letter, text) };

static void look_later(void)
{
    nanosleep(&(struct timespec){.tv_nsec = LOOK_NS}, NULL);
}

/* --- rank 0 ------------------------------------------------------------------------------- */

struct peer {
    bool busy, idle, lost; /* neither busy nor idle: it has not asked yet */
    bool no_hand;
    size_t i; /* the task that it has */
    double heard_s;
    char *text; /* of its answer, so far */
    size_t len, cap;
    struct letter letter; /* to it, while sending */
    struct strait_mpi_request request;
    bool sending;
};

struct task {
    bool done, given;
    int n_lost;
};

struct lead {
    struct strait_crew *crew;
    const size_t *tasks;
    size_t n, n_done, from; /* before `from` all are done or given */
    struct task *state;
    struct peer *peers;
    const struct strait_crew_use *use;
};

/* Letters to a process that does not listen stay under way; then the next is not sent. */
static int send_to(struct lead *l, int rank, enum word word, struct strait_error *err)
{
    const struct strait_mpi_world *w = l->crew->world;
    struct peer *p = &l->peers[rank];
    p->letter.word = word;
    p->letter.i = p->i;
    p->letter.task = l->tasks[p->i];
    if (w->calls->isend(w->mpi, &p->request, STRAIT_MPI_LETTERS, &p->letter, HEAD_BYTES, rank,
                        STRAIT_MPI_TAG_TALK) != 0)
        return strait_mpi_broken(err);
    p->sending = true;
    return 0;
}

static bool is_free(struct lead *l, int rank)
{
    const struct strait_mpi_world *w = l->crew->world;
    struct peer *p = &l->peers[rank];
    if (p->sending && w->calls->test(w->mpi, &p->request) == 1)
        p->sending = false;
    return !p->sending;
}

/* Its task goes to another; after some losses nobody gets it. */
static int lose(struct lead *l, struct peer *p, const char *why, struct strait_error *err)
{
    struct task *t = &l->state[p->i];
    if (!p->busy || t->done)
        return 0;
    p->busy = false;
    t->given = false;
    if (p->i < l->from)
        l->from = p->i;
    if (++t->n_lost < MAX_LOSSES)
        return 0;
    t->done = t->given = true;
    l->n_done++;
    return l->use->lost(p->i, why, l->use->context, err);
}

/* Another may have answered before, where this one was silent for long. */
static int take(struct lead *l, struct peer *p, size_t i, const char *text, size_t len,
                struct strait_error *err)
{
    json_t *answer = json_loadb(text, len, 0, NULL);
    const json_t *lost = json_object_get(answer, "lost");
    int status = 0;
    if (!answer || lost) {
        status = lose(l, p, lost ? json_string_value(lost) : "its answer was cut off", err);
    } else if (!l->state[i].done) {
        l->state[i].done = l->state[i].given = true;
        l->n_done++;
        status = l->use->take(i, answer, l->use->context, err);
    }
    if (p->i == i)
        p->busy = false;
    json_decref(answer);
    return status;
}

static int add_part(struct peer *p, const struct letter *in, size_t n, struct strait_error *err)
{
    if (p->cap - p->len < n) {
        char *more = realloc(p->text, 2 * p->cap + 65536);
        if (!more)
            return strait_error_memory(err, "sweep");
        p->text = more;
        p->cap = 2 * p->cap + 65536;
    }
    memcpy(p->text + p->len, in->text, n);
    p->len += n;
    return 0;
}

static int read_letter(struct lead *l, int rank, size_t n_bytes, struct strait_error *err)
{
    const struct strait_mpi_world *w = l->crew->world;
    struct peer *p = &l->peers[rank];
    struct letter in;
    int status = 0;
    if (n_bytes < HEAD_BYTES || n_bytes > sizeof(in) ||
        w->calls->take(w->mpi, &in, n_bytes, rank, STRAIT_MPI_TAG_TALK) != 0)
        return strait_mpi_broken(err);
    p->heard_s = strait_clock_s();
    p->lost = false;
    if (in.word == PART || in.word == ANSWER)
        status = add_part(p, &in, n_bytes - HEAD_BYTES, err);
    if (in.word == ANSWER && status == 0) {
        if (in.i < l->n)
            status = take(l, p, in.i, p->text, p->len, err);
        p->len = 0;
    }
    p->no_hand = p->no_hand || in.word == NO_HAND;
    if (in.word == ASK)
        p->idle = true;
    else if (in.word == ALIVE && is_free(l, rank) && status == 0)
        status = send_to(l, rank, ALIVE, err);
    return status;
}

static int read_letters(struct lead *l, struct strait_error *err)
{
    const struct strait_mpi_world *w = l->crew->world;
    for (;;) {
        int rank = -1, tag = STRAIT_MPI_TAG_TALK;
        size_t n_bytes;
        const int found = w->calls->probe(w->mpi, &rank, &tag, &n_bytes);
        if (found <= 0)
            return found == 0 ? 0 : strait_mpi_broken(err);
        if (read_letter(l, rank, n_bytes, err) != 0)
            return -1;
    }
}

/* The next task that nobody has; n: none. */
static size_t next_task(struct lead *l)
{
    while (l->from < l->n && l->state[l->from].given)
        l->from++;
    return l->from;
}

static int give(struct lead *l, int rank, struct strait_error *err)
{
    struct peer *p = &l->peers[rank];
    const size_t i = next_task(l);
    if (i == l->n || !p->idle || p->lost || (rank > 0 && !is_free(l, rank)))
        return 0;
    p->i = i;
    p->busy = true;
    p->idle = false;
    l->state[i].given = true;
    if (rank > 0)
        return send_to(l, rank, TASK, err);
    strait_hand_give(&l->crew->hand, l->tasks[i]);
    return 0;
}

static int look_at_own_hand(struct lead *l, struct strait_error *err)
{
    struct strait_hand *h = &l->crew->hand;
    struct peer *me = &l->peers[0];
    char *text = me->busy ? strait_hand_look(h, 0) : NULL;
    const int status = text ? take(l, me, me->i, text, strlen(text), err) : 0;
    me->lost = h->pid == 0;
    me->idle = !me->busy && !me->lost;
    free(text);
    return status;
}

static int look_for_losses(struct lead *l, struct strait_error *err)
{
    const double lost_s = l->crew->lost_s > 0 ? l->crew->lost_s : LOST_S;
    int n_here = !l->peers[0].lost;
    for (int i = 1; i < l->crew->world->n; i++) {
        struct peer *p = &l->peers[i];
        p->lost = p->lost || strait_clock_s() - p->heard_s > lost_s;
        n_here += !p->lost && !p->no_hand;
        if (p->lost && lose(l, p, "its process is not heard any more", err) != 0)
            return -1;
    }
    return n_here > 0 ? 0
                      : strait_error_set(err, STRAIT_ERR_BACKEND, "sweep",
                                         "all workers are lost; complete rows are kept, the same "
                                         "command goes on");
}

static int turn(struct lead *l, struct strait_error *err)
{
    if (read_letters(l, err) != 0 || look_at_own_hand(l, err) != 0 || look_for_losses(l, err) != 0)
        return -1;
    for (int i = 0; i < l->crew->world->n; i++)
        if (give(l, i, err) != 0)
            return -1;
    look_later();
    return 0;
}

/* The others hear that nothing is left; who does not is lost. */
static int end_all(struct lead *l, struct strait_error *err)
{
    bool waiting = true;
    bool *told = calloc((size_t)l->crew->world->n, sizeof(*told));
    if (!told)
        return strait_error_memory(err, "sweep");
    int status = 0;
    while (waiting && status == 0) {
        waiting = false;
        status = read_letters(l, err) != 0 || look_for_losses(l, err) != 0 ? -1 : 0;
        for (int i = 1; i < l->crew->world->n && status == 0; i++) {
            const bool can = is_free(l, i) && !l->peers[i].lost;
            if (!told[i] && can)
                status = send_to(l, i, END, err);
            told[i] = told[i] || can;
            waiting = waiting || (!l->peers[i].lost && (!told[i] || l->peers[i].sending));
        }
        look_later();
    }
    free(told);
    return status;
}

int strait_crew_lead(struct strait_crew *c, const size_t *tasks, size_t n,
                     const struct strait_crew_use *use, const char *what, struct strait_error *err)
{
    struct lead l = {.crew = c,
                     .tasks = tasks,
                     .n = n,
                     .use = use,
                     .state = calloc(n + 1, sizeof(*l.state)),
                     .peers = calloc((size_t)c->world->n, sizeof(*l.peers))};
    struct strait_progress progress;
    int status = l.state && l.peers ? 0 : strait_error_memory(err, "sweep");
    for (int i = 0; i < c->world->n && status == 0; i++)
        l.peers[i].heard_s = strait_clock_s();
    strait_progress_init(&progress, what ? what : "", what ? n : 0);
    while (status == 0 && l.n_done < n) {
        status = turn(&l, err);
        strait_progress_step(&progress, l.n_done);
    }
    strait_progress_release(&progress);
    if (status == 0)
        status = end_all(&l, err);
    for (int i = 0; i < c->world->n && l.peers; i++) {
        c->n_lost += i > 0 && l.peers[i].lost;
        free(l.peers[i].text);
    }
    free(l.state);
    if (status == 0 && c->n_lost == 0)
        free(l.peers); /* else letters to the lost are still under way */
    return status;
}

/* --- the others --------------------------------------------------------------------------- */

static int tell(const struct strait_crew *c, const struct letter *letter, size_t n_chars,
                struct strait_error *err)
{
    return strait_mpi_tell(c->world, 0, letter, HEAD_BYTES + n_chars, TELL_S, err);
}

static int tell_word(const struct strait_crew *c, enum word word, struct strait_error *err)
{
    const struct letter letter = {.word = word};
    return tell(c, &letter, 0, err);
}

/* The hand's answer, if there is one, and what to do next. */
static int pass_on(struct strait_crew *c, bool *busy, uint64_t i, struct strait_error *err)
{
    char *text = *busy ? strait_hand_look(&c->hand, 0) : NULL;
    struct letter part = {.word = PART, .i = i};
    int status = 0;
    if (!text)
        return 0;
    *busy = false;
    for (size_t at = 0, left = strlen(text); part.word == PART && status == 0;) {
        const size_t n = left < PART_CHARS ? left : PART_CHARS;
        memcpy(part.text, text + at, n);
        part.word = n == left ? ANSWER : PART;
        status = tell(c, &part, n, err);
        at += n;
        left -= n;
    }
    free(text);
    return status == 0 ? tell_word(c, c->hand.pid > 0 ? ASK : NO_HAND, err) : status;
}

/* What rank 0 says, if anything. */
static int hear(const struct strait_crew *c, struct letter *in, bool *heard,
                struct strait_error *err)
{
    int rank = 0, tag = STRAIT_MPI_TAG_TALK;
    size_t n_bytes;
    const int found = c->world->calls->probe(c->world->mpi, &rank, &tag, &n_bytes);
    *heard = found > 0;
    if (found == 0)
        return 0;
    return found > 0 && n_bytes == HEAD_BYTES &&
                   c->world->calls->take(c->world->mpi, in, n_bytes, 0, STRAIT_MPI_TAG_TALK) == 0
               ? 0
               : strait_mpi_broken(err);
}

int strait_crew_follow(struct strait_crew *c, struct strait_error *err)
{
    const double alone_s = 2 * (c->lost_s > 0 ? c->lost_s : LOST_S);
    double heard_s = strait_clock_s(), beat_s = heard_s;
    struct letter in = {.word = ALIVE}, task = in;
    bool busy = false, heard;
    for (int status = tell_word(c, ASK, err); status == 0; look_later()) {
        if (hear(c, &in, &heard, err) != 0 || pass_on(c, &busy, task.i, err) != 0)
            return -1;
        const double now_s = strait_clock_s();
        heard_s = heard ? now_s : heard_s;
        if (heard && in.word == END)
            return 0;
        if (heard && in.word == TASK) {
            busy = true;
            task = in;
            strait_hand_give(&c->hand, in.task);
        }
        if (now_s - beat_s >= BEAT_S) {
            beat_s = now_s;
            status = tell_word(c, ALIVE, err);
        }
        if (now_s - heard_s > alone_s)
            return strait_error_set(err, STRAIT_ERR_BACKEND, "sweep",
                                    "rank 0 has not been heard for %.3g s", alone_s);
    }
    return -1;
}
