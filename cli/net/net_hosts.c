/* strait net run --hosts: start a part of the network on each host through a launcher, check that
 * the parts fit together and that the hosts' links carry them, and end all together. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include "campaign/host_header.h"
#include "core/clock.h"
#include "emu/links/trunk.h"
#include "net_command.h"
#include "net_crew.h"

enum { MAX_WORDS = 64 };
/* For a host to answer; building a thousand namespaces takes some seconds. */
static const double ANSWER_S = 120;
/* The way between hosts may add so much to a round trip, or 5 % of it. */
static const double MAX_MORE_S = 1e-3, MAX_MORE_RATIO = 0.05;

const char **strait_net_launch_words(const char *launch, const char *host, const char *const *more)
{
    size_t n_more = 0, n_chars = 0;
    for (; more[n_more]; n_more++)
        n_chars += strlen(more[n_more]) + 1;
    n_chars += (strlen(launch) + 1) * (strlen(host) + 1);
    const char **words = calloc(1, (MAX_WORDS + n_more + 1) * sizeof(*words) + n_chars);
    if (!words)
        return NULL;
    char *to = (char *)(words + MAX_WORDS + n_more + 1);
    size_t n = 0;
    for (const char *at = launch + strspn(launch, " "); *at && n < MAX_WORDS;
         at += strspn(at, " ")) {
        words[n++] = to;
        while (*at && *at != ' ') {
            const bool is_host = strncmp(at, "{host}", 6) == 0;
            to += is_host ? sprintf(to, "%s", host) : sprintf(to, "%c", *at);
            at += is_host ? 6 : 1;
        }
        to++;
    }
    for (size_t i = 0; i < n_more; i++) {
        words[n++] = to;
        to += sprintf(to, "%s", more[i]) + 1;
    }
    return words;
}

/* The line of a host that failed, or of one that has gone without a word. */
static int refuse(const struct strait_net_crew *c, int host, struct strait_error *err)
{
    const struct strait_net_part *p = &c->parts[host];
    const char *name = c->hosts->items[host].name;
    struct strait_error own = {.code = STRAIT_OK};
    strait_net_error_of(&own, p->said);
    if (own.code != STRAIT_OK)
        return strait_error_set(err, own.code, NULL, "host %s: %s%s%s", name, own.where,
                                *own.where ? ": " : "", own.text);
    if (c->running)
        return strait_error_set(err, STRAIT_ERR_BACKEND, NULL, "host %s was lost%s%s", name,
                                *p->complaint ? ": " : "", p->complaint);
    return strait_error_set(err, STRAIT_ERR_HOST, NULL,
                            "host %s: expected an answer of strait net part, found %s%s%s", name,
                            *p->complaint ? "\"" : "none", p->complaint, *p->complaint ? "\"" : "");
}

static bool is_silent(const struct strait_net_part *p)
{
    return !p->said && p->out.fd >= 0;
}

/* Wait until hosts [0, n) have answered. */
static int hear(struct strait_net_crew *c, int n, struct strait_error *err)
{
    const double until_s = strait_clock_s() + ANSWER_S;
    for (int i = 0; i < n; i++) {
        while (is_silent(&c->parts[i]) && !c->caught && strait_clock_s() < until_s)
            strait_net_crew_attend(c, 1000);
        while (!c->parts[i].said && c->parts[i].errors.fd >= 0 && c->parts[i].out.fd < 0 &&
               strait_clock_s() < until_s)
            strait_net_crew_attend(c, 1000); /* its reason */
        if (c->caught)
            return strait_error_set(err, STRAIT_ERR_BACKEND, "net run", "interrupted by %s",
                                    strsignal(c->caught));
        if (!c->parts[i].said || json_object_get(c->parts[i].said, "error"))
            return refuse(c, i, err);
    }
    return 0;
}

static json_t *hosts_json(const struct strait_emu_hosts *hosts)
{
    json_t *all = json_array();
    for (int i = 0; i < hosts->n; i++) {
        const struct strait_emu_host *h = &hosts->items[i];
        json_array_append_new(all, json_pack("{s:s, s:I, s:i, s:i}", "name", h->name, "address",
                                             (json_int_t)h->address, "first", h->first, "n", h->n));
    }
    return all;
}

static json_t *order_json(const struct strait_net_hosts *where, const struct strait_net_order *o,
                          const struct strait_emu_hosts *hosts, const struct strait_experiment *e,
                          const char *label)
{
    json_t *argv = json_array();
    char *cwd = getcwd(NULL, 0);
    for (const char *const *word = o->command; *word; word++)
        json_array_append_new(argv, json_string(*word));
    json_t *all = json_pack("{s:s, s:s, s:s, s:s, s:s?, s:s, s:O, s:i, s:o, s:o, s:i, s:i, s:b}",
                            "name", o->name, "launch", where->launch, "program", where->program,
                            "cwd", cwd ? cwd : "/", "log", o->log, "file", label, "experiment",
                            e->json, "n_ranks", e->n_ranks, "hosts", hosts_json(hosts), "argv",
                            argv, "first", o->first, "n", o->n, "keep_going", o->keep_going);
    free(cwd);
    return all;
}

/* Hold every host's program against ours; the largest packet that fits between all of them. */
static int agree(const struct strait_net_crew *c, int *mtu_bytes, struct strait_error *err)
{
    char program[STRAIT_KEY_CHARS];
    if (strait_program_hash(program, err) != 0)
        return -1;
    *mtu_bytes = 1500;
    for (int i = 0; i < c->hosts->n; i++) {
        const json_t *said = c->parts[i].said;
        const char *theirs = json_string_value(json_object_get(said, "program"));
        const char *version = json_string_value(json_object_get(said, "version"));
        const int fits =
            (int)json_integer_value(json_object_get(said, "mtu_bytes")) - STRAIT_EMU_VXLAN_BYTES;
        if (!theirs || strcmp(theirs, program) != 0)
            return strait_refuse(
                err, NULL,
                "expected the same program on all hosts, found %s (%.8s) here and %s (%.8s) on %s",
                STRAIT_VERSION, program, version ? version : "?", theirs ? theirs : "?",
                c->hosts->items[i].name);
        *mtu_bytes = fits < *mtu_bytes ? fits : *mtu_bytes;
    }
    return *mtu_bytes >= 1000 ? 0
                              : strait_error_set(err, STRAIT_ERR_HOST, c->hosts->file,
                                                 "expected packets of 1050 bytes and more between "
                                                 "the hosts, found %d",
                                                 *mtu_bytes + STRAIT_EMU_VXLAN_BYTES);
}

/* The way between the hosts delays packets too, which the network's links do not know. */
static int check_delay(const struct strait_net_crew *c, const struct strait_experiment *e,
                       struct strait_error *err)
{
    const double more_s = json_number_value(json_object_get(c->parts[0].said, "more_s"));
    const double rtt_s = strait_path_rtt_s(e->network, 0, e->n_ranks - 1);
    const double most_s = MAX_MORE_RATIO * rtt_s > MAX_MORE_S ? MAX_MORE_RATIO * rtt_s : MAX_MORE_S;
    if (more_s > most_s)
        return strait_error_set(err, STRAIT_ERR_HOST, c->hosts->file,
                                "the way between the hosts adds %.3g ms to a round trip of %.4g "
                                "ms, more than %.3g",
                                1e3 * more_s, 1e3 * rtt_s, 1e3 * most_s);
    fprintf(stderr, "the way between hosts adds %.3f ms to a round trip\n", 1e3 * more_s);
    return 0;
}

static int start_all(struct strait_net_crew *c, const struct strait_net_hosts *where, json_t *order,
                     struct strait_error *err)
{
    const char *const more[] = {where->program, "net", "part", NULL};
    for (int i = 0; i < c->hosts->n; i++) {
        const char **words = strait_net_launch_words(where->launch, c->hosts->items[i].name, more);
        const int failed = words ? strait_net_crew_start(&c->parts[i], words, err)
                                 : strait_error_memory(err, NULL);
        free(words);
        if (failed)
            return -1;
        json_object_set_new(order, "here", json_integer(i));
        strait_net_crew_say(&c->parts[i], order);
    }
    return hear(c, c->hosts->n, err);
}

static int bring_up(struct strait_net_crew *c, const struct strait_net_order *o,
                    const struct strait_experiment *e, struct strait_error *err)
{
    int mtu_bytes;
    if (agree(c, &mtu_bytes, err) != 0 ||
        strait_emu_hosts_carry(c->hosts, e->network, e->n_ranks, mtu_bytes, err) != 0)
        return -1;
    char text[96];
    snprintf(text, sizeof(text), "%.64s %d %.0f", o->name, (int)getpid(), 1e6 * strait_clock_s());
    const uint64_t hash = strait_checksum(text, strlen(text));
    json_t *up = json_pack("{s:i, s:i}", "mtu_bytes", mtu_bytes, "id", (int)(hash & 0xffffff));
    for (int i = 0; i < c->hosts->n; i++)
        strait_net_crew_say(&c->parts[i], up);
    json_decref(up);
    if (hear(c, c->hosts->n, err) != 0 || c->hosts->n == 1)
        return c->hosts->n == 1 && err->code == STRAIT_OK ? 0 : -1;
    json_t *ping = json_pack("{s:b}", "ping", 1);
    strait_net_crew_say(&c->parts[0], ping);
    json_decref(ping);
    if (hear(c, 1, err) != 0)
        return -1;
    for (int i = 0; i < c->hosts->n; i++) {
        const struct strait_emu_host *h = &c->hosts->items[i];
        fprintf(stderr, "%s: ranks %d to %d, packets of %d bytes\n", h->name, h->first,
                h->first + h->n - 1, mtu_bytes);
    }
    return check_delay(c, e, err);
}

/* Wait for all copies: 0, or -1 with *err, which names those that failed. */
static int run(struct strait_net_crew *c, const struct strait_net_order *o,
               struct strait_error *err)
{
    char failed[400] = "";
    int n_failed = 0;
    json_t *go = json_pack("{s:b}", "go", 1);
    c->running = true;
    for (int i = 0; i < c->hosts->n; i++)
        strait_net_crew_say(&c->parts[i], go);
    json_decref(go);
    bool all_said = false, one_failed = false;
    while (!all_said && !c->caught && !(one_failed && !o->keep_going)) {
        strait_net_crew_attend(c, -1);
        all_said = true;
        for (int i = 0; i < c->hosts->n; i++) {
            const struct strait_net_part *p = &c->parts[i];
            all_said = all_said && p->said;
            if (!is_silent(p) && !json_object_get(p->said, "failed"))
                return refuse(c, i, err);
            one_failed = one_failed || json_integer_value(json_object_get(p->said, "failed")) > 0;
        }
    }
    if (c->caught)
        return strait_error_set(err, STRAIT_ERR_BACKEND, "net run", "interrupted by %s",
                                strsignal(c->caught));
    for (int i = 0; i < c->hosts->n; i++) {
        const json_t *said = c->parts[i].said;
        const char *text = json_string_value(json_object_get(said, "text"));
        n_failed += (int)json_integer_value(json_object_get(said, "failed"));
        if (text && *text)
            strait_text_add(failed, sizeof(failed), "%s%s", *failed ? ", " : "", text);
    }
    return n_failed == 0 ? 0
                         : strait_error_set(err, STRAIT_ERR_BACKEND, "net run",
                                            "%d of %d failed: %.300s", n_failed, o->n, failed);
}

static int conduct(struct strait_net_crew *c, const struct strait_net_hosts *where,
                   const struct strait_net_order *o, const struct strait_experiment *e,
                   const char *label, struct strait_error *err)
{
    json_t *order = order_json(where, o, c->hosts, e, label);
    sigset_t mask;
    strait_net_hold_signals();
    sigprocmask(SIG_SETMASK, NULL, &mask);
    signal(SIGPIPE, SIG_IGN);
    c->signals = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
    int failed = !order           ? strait_error_memory(err, NULL)
                 : c->signals < 0 ? strait_error_system(err, "signalfd", "cannot be made")
                                  : 0;
    if (!failed)
        failed = start_all(c, where, order, err) != 0 || bring_up(c, o, e, err) != 0 ||
                 run(c, o, err) != 0;
    strait_net_crew_end(c);
    if (c->signals >= 0)
        close(c->signals);
    json_decref(order);
    return failed ? -1 : 0;
}

int strait_net_hosts_run(const struct strait_net_hosts *hosts, const struct strait_net_order *order,
                         const struct strait_experiment *e, const char *label,
                         struct strait_error *err)
{
    char self[4096];
    struct strait_net_hosts where = *hosts;
    const ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    self[n > 0 ? n : 0] = '\0';
    where.launch = where.launch ? where.launch : "ssh {host}";
    where.program = where.program ? where.program : self;
    struct strait_emu_hosts *list = calloc(1, sizeof(*list));
    struct strait_net_crew c = {.hosts = list,
                                .parts = calloc(STRAIT_EMU_MAX_HOSTS, sizeof(*c.parts))};
    int failed = !list || !c.parts ? strait_error_memory(err, NULL)
                                   : strait_emu_hosts_read(list, where.file, err) != 0 ||
                                         strait_emu_hosts_resolve(list, err) != 0 ||
                                         strait_emu_hosts_place(list, e->n_ranks, err) != 0;
    for (int i = 0; c.parts && i < STRAIT_EMU_MAX_HOSTS; i++)
        c.parts[i].to = c.parts[i].out.fd = c.parts[i].errors.fd = -1;
    if (!failed)
        failed = conduct(&c, &where, order, e, label, err);
    free(c.parts);
    free(list);
    return failed ? -1 : 0;
}
