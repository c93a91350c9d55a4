/* Questions under way: each in a process of its own, a few at a time, the others in a queue. */
#pragma once
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include "rows_answer.h"
#include "request.h"

/* At a time: of exact questions, and as many estimates. */
enum { STRAIT_MAX_JOBS = 12, STRAIT_JOBS_AT_A_TIME = 2 };

struct strait_asked_job {
    enum strait_http_kind kind;
    char *body; /* owned */
    size_t len_bytes;
    void *owner; /* whom the answer is for */
    /* --- state */
    pid_t pid;         /* 0: it waits in the queue */
    int fd;            /* of its answer */
    double deadline_s; /* by the monotonic clock */
    bool stopped, late;
    char *answer; /* a status of three digits, a line end, JSON; owned */
    size_t n_answer, cap_answer;
};

struct strait_jobs {
    const struct strait_answers *answers;
    const char *folder;                            /* for a check, made and removed by it */
    struct strait_asked_job jobs[STRAIT_MAX_JOBS]; /* in order of asking */
    size_t n;
    const sigset_t *signals; /* as they were before the server's; NULL: as they are */
};

/** Put a question at the end of the queue; takes body, also in a failure.
 *  Returns: 0, or -1: the queue is full */
int strait_jobs_add(struct strait_jobs *j, enum strait_http_kind kind, char *body, size_t len_bytes,
                    void *owner);
/** Start what may run, and end what takes too long. 0, or -1 with *err SYSTEM. */
int strait_jobs_step(struct strait_jobs *j, struct strait_error *err);
/** Read what a job has to say, once its fd is readable.
 *  Returns: whether it has ended */
bool strait_asked_job_read(struct strait_asked_job *job);
/** Status and JSON of an ended job: of a process that died, an error of ours. A new text. */
char *strait_asked_job_take_answer(struct strait_asked_job *job, unsigned *status);
/** Nobody waits for it any more: end its processes and forget it. */
void strait_jobs_remove(struct strait_jobs *j, size_t i);
