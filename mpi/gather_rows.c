/* After a run: every rank's log and figures to rank 0, and what they say of the run. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "mpi_session.h"

static const double GATHER_S = 120;
/* A padded job may end so late, of the run's time and once. On real machines that is what the run
 * was; above it the row says so. */
static const double SLIP_RATIO = 0.01, SLIP_ONCE_S = 0.005;

/* What a rank tells beside its log. */
struct figures {
    struct strait_error error;
    struct strait_mpi_figures link;
    double returned_s, slip_sum_s, slip_max_s, lag_sum_s, lag_max_s, job_cpu_s;
    uint64_t n_measured, n_slow;
    char host[STRAIT_MPI_HOST_CHARS];
    uint64_t log_bytes;
};

static struct figures figures_of(struct strait_mpi_session *s)
{
    const struct strait_proc_slots *slots = &s->rank.slots;
    struct figures f = {.link = strait_mpi_link_figures(s->link),
                        .returned_s = s->returned_s,
                        .slip_sum_s = slots->slip_sum_s,
                        .slip_max_s = slots->slip_max_s,
                        .lag_sum_s = s->state.lag_sum_s,
                        .lag_max_s = s->state.lag_max_s,
                        .job_cpu_s = slots->cpu_s,
                        .n_measured = slots->n_measured,
                        .n_slow = slots->n_slow};
    strait_mpi_world_host(f.host);
    return f;
}

/* Figures and log in a file in memory; its size, or -1 with *err. */
static int64_t write_log(int fd, struct strait_mpi_session *s, struct strait_error *err)
{
    struct figures f = figures_of(s);
    const struct strait_log *log = &s->run->logs[s->world->me];
    if (log->no_memory)
        strait_error_set(&f.error, STRAIT_ERR_NOMEM, NULL, "memory ran out for spans");
    if (lseek(fd, (off_t)sizeof(f), SEEK_SET) < 0 || strait_log_write(fd, log, err) != 0)
        return strait_error_system(err, "memfd", "the log cannot be written");
    const off_t end = lseek(fd, 0, SEEK_CUR);
    f.log_bytes = (uint64_t)end - sizeof(f);
    if (end < 0 || pwrite(fd, &f, sizeof(f), 0) != (ssize_t)sizeof(f))
        return strait_error_system(err, "memfd", "the log cannot be written");
    return end;
}

static int send_log(struct strait_mpi_session *s, struct strait_error *err)
{
    const int fd = memfd_create("strait-log", MFD_CLOEXEC);
    if (fd < 0)
        return strait_error_system(err, "memfd", "cannot be made");
    const int64_t n = write_log(fd, s, err);
    void *bytes = n > 0 ? mmap(NULL, (size_t)n, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
    int failed = -1;
    if (bytes != MAP_FAILED) {
        failed = strait_mpi_tell(s->world, 0, bytes, (size_t)n, GATHER_S, err);
        munmap(bytes, (size_t)n);
    } else {
        strait_error_system(err, "mmap", "the log cannot be read");
    }
    close(fd);
    return failed;
}

static int take_log(struct strait_mpi_session *s, int rank, struct figures *f,
                    struct strait_error *err)
{
    void *bytes = NULL;
    size_t n = 0;
    if (strait_mpi_listen(s->world, rank, &bytes, &n, GATHER_S, err) != 0) {
        free(bytes);
        return -1;
    }
    const int fd = memfd_create("strait-log", MFD_CLOEXEC);
    int failed = -1;
    if (n >= sizeof(*f))
        memcpy(f, bytes, sizeof(*f));
    if (n < sizeof(*f) || f->log_bytes != n - sizeof(*f))
        strait_error_set(err, STRAIT_ERR_BACKEND, NULL, "the log of rank %d is cut off", rank);
    else if (f->error.code != STRAIT_OK)
        *err = f->error;
    else if (fd < 0 ||
             write(fd, (char *)bytes + sizeof(*f), n - sizeof(*f)) != (ssize_t)(n - sizeof(*f)) ||
             lseek(fd, 0, SEEK_SET) != 0)
        strait_error_system(err, "memfd", "the log of rank %d cannot be kept", rank);
    else
        failed = strait_log_read(fd, &s->run->logs[rank], err);
    if (fd >= 0)
        close(fd);
    free(bytes);
    return failed;
}

/* --- what they say ------------------------------------------------------------------------ */

static json_t *hosts_of(const struct figures *all, int n)
{
    json_t *hosts = json_object(); /* {name: ranks} */
    for (int i = 0; i < n; i++) {
        const json_t *before = json_object_get(hosts, all[i].host);
        json_object_set_new(hosts, all[i].host, json_integer(1 + json_integer_value(before)));
    }
    return hosts;
}

/* What is known of the common clock: half of the shortest round trip, and how far a clock went
 * from rank 0's during the run. */
static json_t *clock_of(const struct strait_mpi_session *s)
{
    int64_t error_ns = 0, drift_ns = 0;
    for (int i = 1; i < s->run->n_ranks; i++) {
        const struct strait_mpi_peer *p = &s->peers[i];
        const int64_t off_ns = llabs(p->offset_ns[1] - p->offset_ns[0]);
        error_ns = p->rtt_ns[0] / 2 > error_ns ? p->rtt_ns[0] / 2 : error_ns;
        drift_ns = off_ns > drift_ns ? off_ns : drift_ns;
    }
    return json_pack("{s:f, s:f}", "error_s", 1e-9 * (double)error_ns, "drift_s",
                     1e-9 * (double)drift_ns);
}

static int report(struct strait_mpi_session *s, const struct figures *all, struct strait_error *err)
{
    const int n = s->run->n_ranks;
    struct figures sum = {.link = {0}};
    char checksum[17], text[160];
    int latest = 0;
    for (int i = 0; i < n; i++) {
        sum.link.bytes_sent += all[i].link.bytes_sent;
        sum.link.sent_checksum += all[i].link.sent_checksum;
        sum.n_measured += all[i].n_measured;
        sum.n_slow += all[i].n_slow;
        sum.job_cpu_s += all[i].job_cpu_s;
        sum.slip_max_s = fmax(sum.slip_max_s, all[i].slip_max_s);
        sum.lag_sum_s = fmax(sum.lag_sum_s, all[i].lag_sum_s);
        sum.lag_max_s = fmax(sum.lag_max_s, all[i].lag_max_s);
        if (all[i].slip_sum_s > all[latest].slip_sum_s)
            latest = i;
    }
    sum.slip_sum_s = all[latest].slip_sum_s;
    snprintf(checksum, sizeof(checksum), "%016llx", (unsigned long long)sum.link.sent_checksum);
    json_t *facts = json_pack(
        "{s:s, s:o, s:o, s:f, s:I, s:s, s:I, s:I, s:f, s:f, s:f, s:f, s:f}", "library",
        s->world->library, "hosts", hosts_of(all, n), "clock", clock_of(s), "run_s",
        all[0].returned_s, "sent_bytes", (json_int_t)sum.link.bytes_sent, "sent_checksum", checksum,
        "n_measured_jobs", (json_int_t)sum.n_measured, "n_slow_readings", (json_int_t)sum.n_slow,
        "job_cpu_s", sum.job_cpu_s, "slip_sum_s", sum.slip_sum_s, "slip_max_s", sum.slip_max_s,
        "lag_sum_s", sum.lag_sum_s, "lag_max_s", sum.lag_max_s);
    int failed = !facts || json_object_update(s->run->facts->report, facts) != 0;
    json_decref(facts);
    if (!failed && sum.slip_sum_s > fmax(SLIP_RATIO * all[0].returned_s, SLIP_ONCE_S)) {
        snprintf(text, sizeof(text),
                 "jobs of rank %d ended %.1f ms late, in all: its processors had other work",
                 latest, 1e3 * sum.slip_sum_s);
        failed = json_array_append_new(s->run->facts->flags, json_string(text));
    }
    return failed ? strait_error_memory(err, NULL) : 0;
}

int strait_mpi_gather(struct strait_mpi_session *s, struct strait_error *err)
{
    if (s->world->me != 0)
        return send_log(s, err);
    const int n = s->run->n_ranks;
    struct figures *all = calloc((size_t)n, sizeof(*all));
    if (!all)
        return strait_error_memory(err, NULL);
    int failed = 0;
    all[0] = figures_of(s);
    if (s->run->logs[0].no_memory)
        failed = strait_error_set(err, STRAIT_ERR_NOMEM, NULL, "memory ran out for spans");
    for (int i = 1; i < n && !failed; i++)
        failed = take_log(s, i, &all[i], err);
    if (!failed && s->run->facts)
        failed = report(s, all, err);
    free(all);
    return failed;
}
