/* strait serve: the classroom page, for a browser on this machine. */
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "cli/codec/codec_command.h"
#include "cli/kit/command.h"
#include "cli/kit/options.h"
#include "codecs/profile/profile.h"
#include "serve/server.h"
#include "shipped_list.h"
#include "strategy_list.h"
#include "task_list.h"

enum { OWN_PORT = 8765, MAX_PORT = 65535 };

/* The bounds between which the shipped profile has entries: {kind: [least, most]}. */
static json_t *measured_bounds(const struct strait_profile *p, const char *codec)
{
    json_t *out = json_object();
    for (size_t i = 0; i < p->n_entries; i++) {
        const struct strait_profile_entry *e = &p->entries[i];
        if (strcmp(e->codec, codec) != 0 || *e->settings || e->bound.kind == STRAIT_BOUND_NONE)
            continue;
        const char *kind = strait_bound_kind_name(e->bound.kind);
        const json_t *known = json_object_get(out, kind);
        const double low = known ? json_number_value(json_array_get(known, 0)) : e->bound.value,
                     high = known ? json_number_value(json_array_get(known, 1)) : e->bound.value;
        json_object_set_new(out, kind,
                            json_pack("[f, f]", e->bound.value < low ? e->bound.value : low,
                                      e->bound.value > high ? e->bound.value : high));
    }
    return out;
}

/* What an experiment of the page may name: the rows of strait list, and where codecs were
 * measured. */
static json_t *choices(struct strait_error *err)
{
    static const struct {
        const char *name;
        int (*list)(json_t *out, struct strait_error *err);
    } lists[] = {{"models", strait_model_rows},
                 {"codecs", strait_codec_rows},
                 {"strategies", strait_strategy_rows},
                 {"networks", strait_network_rows},
                 {"tasks", strait_task_rows}};
    struct strait_profile *profile = NULL;
    json_t *out = json_pack("{s:s}", "version", STRAIT_VERSION), *row;
    size_t k;
    int failed = strait_profile_load(&profile, "default", err);
    for (size_t i = 0; i < sizeof(lists) / sizeof(*lists) && !failed; i++) {
        json_t *rows = json_array();
        failed = lists[i].list(rows, err);
        json_object_set_new(out, lists[i].name, rows);
    }
    if (!failed)
        json_array_foreach (json_object_get(out, "codecs"), k, row) {
            const char *name = json_string_value(json_object_get(row, "name"));
            struct strait_profile *other = NULL;
            if (!failed && !strait_profile_has(profile, name))
                failed = strait_profile_load_shipped_for(&other, name, err);
            const struct strait_profile *from = other ? other : profile;
            json_object_set_new(row, "measured", measured_bounds(from, name));
            json_object_set_new(row, "in_profile", json_boolean(strait_profile_has(from, name)));
            strait_profile_free(other);
        }
    strait_profile_free(profile);
    if (!failed)
        return out;
    json_decref(out);
    return NULL;
}

/* Address on stdout; and where asked for, in the user's browser. */
static void ready(unsigned port, void *context)
{
    const bool *open = context;
    char url[64];
    snprintf(url, sizeof(url), "http://127.0.0.1:%u/", port);
    printf("%s\n", url);
    fflush(stdout);
    fprintf(stderr, "serve: Ctrl-C ends it\n");
    char *const argv[] = {(char[]){"xdg-open"}, url, NULL};
    pid_t pid;
    if (*open && posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ) != 0)
        fprintf(stderr, "serve: xdg-open is not installed: open the address by hand\n");
}

int strait_command_serve(int argc, char **argv)
{
    long port = OWN_PORT;
    bool open = false;
    const struct strait_option options[] = {
        {"port", 'p', STRAIT_OPTION_COUNT, &port, "N", "port of 127.0.0.1 (8765)"},
        {"open", 0, STRAIT_OPTION_FLAG, &open, NULL, "open the page in the browser"}};
    const struct strait_usage usage = {
        "serve", "", "Show predictions on a page with sliders, for a browser on this machine.",
        STRAIT_OPTIONS(options),
        "Prints the page's address and answers until Ctrl-C. The page loads nothing\n"
        "from elsewhere, only this machine can connect, and nothing is stored.\n\n"
        "  strait serve --open\n"
        "  ssh -L 8765:localhost:8765 HOST strait serve    the page of another machine\n"};
    struct strait_error err = {0};
    json_t *named = NULL, *experiments = NULL;
    int status;
    const char *none[1];
    if (!strait_command_begin(&status, &usage, argc, argv, none, 0, NULL))
        return status;
    int failed = port > MAX_PORT
                     ? strait_error_set(&err, STRAIT_ERR_USAGE, "serve",
                                        "expected --port from 1 to %d, found %ld", MAX_PORT, port)
                     : 0;
    experiments = json_array();
    if (!failed)
        failed = !(named = choices(&err)) || strait_experiment_rows(experiments, &err) != 0;
    const struct strait_server_options server = {.port = (unsigned)port,
                                                 .choices = named,
                                                 .experiments = experiments,
                                                 .ready = ready,
                                                 .context = &open};
    if (!failed)
        failed = strait_server_run(&server, &err);
    json_decref(named);
    json_decref(experiments);
    return failed ? strait_command_fail(&err) : 0;
}
