/* strait net list, status, top: what is up and what it carries. */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "cli/kit/memory.h"
#include "analysis/row.h"
#include "analysis/table.h"
#include "core/clock.h"
#include "core/units.h"
#include "campaign/live_view.h"
#include "net_command.h"

enum { LINK_CHARS = 160, RANGE_CHARS = 64 };

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "-";
}

static double number_of(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

static void put_quantity(char *text, const char *name, enum strait_unit unit, const json_t *value)
{
    char quantity[48];
    const size_t used = strlen(text);
    if (json_number_value(value) > 0) /* null: a queue without end */
        snprintf(
            text + used, LINK_CHARS - used, ", %s%s", name,
            strait_quantity_format(quantity, sizeof(quantity), unit, json_number_value(value)));
}

/* "1 Gbps, 25 ms, loss 0.1 %" */
static const char *link_text(char text[LINK_CHARS], const json_t *link)
{
    char rate[48];
    snprintf(text, LINK_CHARS, "%s",
             strait_quantity_format(rate, sizeof(rate), STRAIT_UNIT_LINK_RATE,
                                    number_of(link, "rate_bits_per_s")));
    put_quantity(text, "", STRAIT_UNIT_TIME, json_object_get(link, "delay_s"));
    put_quantity(text, "jitter ", STRAIT_UNIT_TIME, json_object_get(link, "jitter_s"));
    put_quantity(text, "loss ", STRAIT_UNIT_PERCENT, json_object_get(link, "loss_ratio"));
    put_quantity(text, "queue ", STRAIT_UNIT_BYTES, json_object_get(link, "queue_bytes"));
    return text;
}

static bool are_alike(const json_t *a, const json_t *b)
{
    return json_equal(json_object_get(a, "out"), json_object_get(b, "out")) &&
           json_equal(json_object_get(a, "in"), json_object_get(b, "in"));
}

static const char *range_text(char text[RANGE_CHARS], const json_t *first, const json_t *last,
                              const char *key)
{
    if (first == last)
        snprintf(text, RANGE_CHARS, "%s", text_of(first, key));
    else
        snprintf(text, RANGE_CHARS, "%s - %s", text_of(first, key), text_of(last, key));
    return text;
}

static void print_head(const json_t *state)
{
    const size_t n = json_array_size(json_object_get(state, "ranks"));
    printf("network \"%s\" of %s: %zu rank%s, supervisor %lld, launcher %s\n",
           text_of(state, "name"), text_of(state, "experiment"), n, n == 1 ? "" : "s",
           (long long)json_integer_value(json_object_get(state, "supervisor")),
           text_of(state, "launcher"));
    const json_t *hosts = json_object_get(state, "hosts"), *names = json_object_get(hosts, "names");
    if (hosts)
        printf("the part of host %s, of %zu; packets of %.0f bytes\n",
               json_string_value(json_array_get(
                   names, (size_t)json_integer_value(json_object_get(hosts, "here")))),
               json_array_size(names), number_of(hosts, "mtu_bytes"));
    printf("a full frame is %.0f bytes on the wire; congestion control %s",
           (hosts ? 14 + number_of(hosts, "mtu_bytes") : 1514) + number_of(state, "overhead_bytes"),
           text_of(state, "congestion"));
    if (json_object_get(state, "hystart"))
        printf(" with%s HyStart", json_is_true(json_object_get(state, "hystart")) ? "" : "out");
    if (!json_is_true(json_object_get(state, "congestion_set")))
        printf(", where a program asks for it: this kernel keeps its own as the default");
    puts("\n");
}

void strait_net_print(const json_t *state)
{
    static const char *const titles[] = {"rank", "host", "address", "sends", "receives"};
    const json_t *ranks = json_object_get(state, "ranks");
    struct strait_table *t = strait_table_new();
    char text[RANGE_CHARS], link[LINK_CHARS];
    print_head(state);
    for (size_t i = 0; i < sizeof(titles) / sizeof(*titles); i++)
        strait_table_column(t, titles[i], false);
    for (size_t i = 0, next; i < json_array_size(ranks); i = next) {
        const json_t *first = json_array_get(ranks, i);
        for (next = i + 1; next < json_array_size(ranks); next++)
            if (!are_alike(first, json_array_get(ranks, next)))
                break;
        const json_t *last = json_array_get(ranks, next - 1);
        if (first == last)
            strait_table_cellf(t, "%zu", i);
        else
            strait_table_cellf(t, "%zu - %zu", i, next - 1);
        strait_table_cell(t, range_text(text, first, last, "host"));
        strait_table_cell(t, range_text(text, first, last, "address"));
        strait_table_cell(t, link_text(link, json_object_get(first, "out")));
        strait_table_cell(t, link_text(link, json_object_get(first, "in")));
    }
    strait_show_table(t);
}

/* --- list ------------------------------------------------------------------------------------- */

static int list(bool json, struct strait_error *err)
{
    static const char *const titles[] = {"name", "ranks", "supervisor", "launcher", "experiment"};
    json_t *names = strait_emu_registry_names(err), *name;
    size_t i;
    if (!names)
        return -1;
    struct strait_table *t = strait_table_new();
    for (i = 0; i < sizeof(titles) / sizeof(*titles); i++)
        strait_table_column(t, titles[i], i == 1 || i == 2);
    json_array_foreach (names, i, name) {
        struct strait_emu_registry place;
        json_t *state = NULL;
        if (strait_emu_registry_init(&place, json_string_value(name), NULL) == 0)
            state = strait_emu_join_state(&place, NULL);
        if (!state) /* it went down meanwhile, or is being set up */
            continue;
        if (json)
            strait_command_print_json(state);
        strait_table_cell(t, text_of(state, "name"));
        strait_table_cellf(t, "%zu", json_array_size(json_object_get(state, "ranks")));
        strait_table_cellf(t, "%lld",
                           (long long)json_integer_value(json_object_get(state, "supervisor")));
        strait_table_cell(t, text_of(state, "launcher"));
        strait_table_cell(t, text_of(state, "experiment"));
        json_decref(state);
    }
    if (!json && strait_table_n_rows(t) > 0) {
        strait_show_table(t);
    } else {
        if (!json)
            puts("no network is up (strait net up --help)");
        strait_table_free(t);
    }
    json_decref(names);
    return 0;
}

int strait_net_list(int argc, char **argv)
{
    bool json = false;
    const struct strait_option options[] = {
        {"json", 0, STRAIT_OPTION_FLAG, &json, NULL, "JSON Lines on standard output"},
        STRAIT_WIDE_OPTION};
    const struct strait_usage usage = {"net list", "", "The networks of this user that are up.",
                                       STRAIT_OPTIONS(options), NULL};
    struct strait_error err = {0};
    const char *none[1];
    int status = strait_net_parse(&usage, argc, argv, none, 0, NULL, &err);
    if (status == 0)
        status = list(json, &err);
    return status < 0 ? strait_command_fail(&err) : 0;
}

/* --- status ----------------------------------------------------------------------------------- */

static void print_counters(const json_t *state)
{
    static const char *const titles[] = {"host",     "sent",     "packets",
                                         "received", "packets ", "dropped or failed"};
    const json_t *rank;
    struct strait_table *t = strait_table_new();
    char bytes[STRAIT_NUMBER_CHARS];
    size_t i;
    for (i = 0; i < sizeof(titles) / sizeof(*titles); i++)
        strait_table_column(t, titles[i], i > 0);
    json_array_foreach (json_object_get(state, "ranks"), i, rank) {
        const json_t *c = json_object_get(rank, "counters");
        strait_table_cell(t, text_of(rank, "host"));
        strait_table_cell(t, strait_bytes_text(bytes, number_of(c, "sent_bytes")));
        strait_table_cellf(t, "%.0f", number_of(c, "sent_packets"));
        strait_table_cell(t, strait_bytes_text(bytes, number_of(c, "received_bytes")));
        strait_table_cellf(t, "%.0f", number_of(c, "received_packets"));
        strait_table_cellf(t, "%.0f", number_of(c, "dropped") + number_of(c, "errors"));
    }
    puts("");
    strait_show_table(t);
}

int strait_net_status(int argc, char **argv)
{
    const char *name = strait_net_default_name(), *none[1];
    bool json = false;
    const struct strait_option options[] = {
        {"name", 0, STRAIT_OPTION_TEXT, &name, "NAME", "name of the network (\"default\")"},
        {"json", 0, STRAIT_OPTION_FLAG, &json, NULL, "one JSON object on standard output"},
        STRAIT_WIDE_OPTION};
    const struct strait_usage usage = {
        "net status", "", "Ranks, addresses, links and counters of a network.",
        STRAIT_OPTIONS(options),
        "Counters are the network devices': a train of TCP segments counts as one packet.\n"};
    struct strait_error err = {0};
    struct strait_emu_registry place;
    json_t *state = NULL;
    int status = strait_net_parse(&usage, argc, argv, none, 0, NULL, &err);
    if (status == 1)
        return 0;
    if (status == 0 && strait_emu_registry_init(&place, name, &err) == 0)
        state = strait_emu_join_state(&place, &err);
    if (!state)
        return strait_command_fail(&err);
    if (json) {
        strait_command_print_json(state);
    } else {
        strait_net_print(state);
        print_counters(state);
    }
    json_decref(state);
    return 0;
}

/* --- top -------------------------------------------------------------------------------------- */

/* IP packets, so what share of the link's rate they are is not known. */
static struct strait_flow flow_of(const json_t *now, const json_t *before, const char *key,
                                  double span_s)
{
    const double n_bytes = number_of(json_object_get(now, "counters"), key) -
                           number_of(json_object_get(before, "counters"), key);
    return (struct strait_flow){
        .bits_per_s = 8 * n_bytes / span_s, .share_ratio = NAN, .queue_bytes = NAN, .n_drops = NAN};
}

enum form { SCREEN, LINES, JSON_LINES };

static void put_line(const struct strait_flow_row *row, double at_s, enum form form)
{
    if (form == LINES) {
        printf("%.1f %s %.1f %.1f\n", at_s, row->name, 1e-6 * row->out.bits_per_s,
               1e-6 * row->in.bits_per_s);
    } else if (form == JSON_LINES) {
        json_t *line =
            json_pack("{s:f, s:s, s:s, s:o, s:o}", "at_s", at_s, "host", row->name, "address",
                      row->address, "out_bits_per_s", strait_json_number(row->out.bits_per_s),
                      "in_bits_per_s", strait_json_number(row->in.bits_per_s));
        strait_command_print_json(line);
        json_decref(line);
    }
}

static void show_rates(const json_t *now, const json_t *before, double at_s, double span_s,
                       enum form form)
{
    const json_t *ranks = json_object_get(now, "ranks"), *rank;
    struct strait_flow_row *rows = calloc(json_array_size(ranks) + 1, sizeof(*rows));
    size_t i;
    json_array_foreach (rows ? ranks : NULL, i, rank) {
        const json_t *then = json_array_get(json_object_get(before, "ranks"), i);
        struct strait_flow_row *row = &rows[i];
        row->out = flow_of(rank, then, "sent_bytes", span_s);
        row->in = flow_of(rank, then, "received_bytes", span_s);
        snprintf(row->name, sizeof(row->name), "%s", text_of(rank, "host"));
        snprintf(row->address, sizeof(row->address), "%s", text_of(rank, "address"));
        put_line(row, at_s, form);
    }
    if (form == SCREEN) {
        fputs("\033[H\033[J", stdout); /* from the top left corner, over an empty screen */
        printf("network \"%s\", %.0f s\n\n", text_of(now, "name"), at_s);
        strait_flows_print(stdout, rows, i, strait_live_most_rows(STDOUT_FILENO));
    }
    fflush(stdout);
    free(rows);
}

static int watch(const char *name, double interval_s, long count, bool json,
                 struct strait_error *err)
{
    struct strait_emu_registry place;
    const struct timespec pause = {.tv_sec = (time_t)interval_s,
                                   .tv_nsec = (long)(1e9 * fmod(interval_s, 1))};
    const enum form form = json ? JSON_LINES : isatty(STDOUT_FILENO) ? SCREEN : LINES;
    const double start_s = strait_clock_s();
    double before_s = start_s;
    if (strait_emu_registry_init(&place, name, err) != 0)
        return -1;
    json_t *before = strait_emu_join_state(&place, err);
    if (before && form == LINES)
        puts("# seconds host sends_mbit_per_s receives_mbit_per_s");
    for (long i = 0; before && i < count && !ferror(stdout); i++) {
        nanosleep(&pause, NULL);
        json_t *now = strait_emu_join_state(&place, err);
        const double now_s = strait_clock_s();
        if (now)
            show_rates(now, before, now_s - start_s, now_s - before_s, form);
        json_decref(before);
        before = now;
        before_s = now_s;
    }
    const int status = before ? 0 : -1;
    json_decref(before);
    return status;
}

int strait_net_top(int argc, char **argv)
{
    const char *name = strait_net_default_name(), *none[1];
    double interval_s = 1;
    long count = 1000000000;
    bool json = false;
    const struct strait_option options[] = {
        {"name", 0, STRAIT_OPTION_TEXT, &name, "NAME", "name of the network (\"default\")"},
        {"interval", 0, STRAIT_OPTION_NUMBER, &interval_s, "SECONDS", "seconds between lines (1)"},
        {"count", 'n', STRAIT_OPTION_COUNT, &count, "N", "end after N times (Ctrl-C)"},
        {"json", 0, STRAIT_OPTION_FLAG, &json, NULL, "JSON Lines on standard output, in bit/s"}};
    const struct strait_usage usage = {
        "net top",
        "",
        "Mbit/s that every rank sends and receives, every second.",
        options,
        sizeof(options) / sizeof(*options),
        "Rates follow the network devices' counters. Prints plain lines if standard\n"
        "output is not a terminal. Ends with an error when the network goes down.\n"};
    struct strait_error err = {0};
    int status = strait_net_parse(&usage, argc, argv, none, 0, NULL, &err);
    if (status == 0)
        status = watch(name, interval_s, count, json, &err);
    return status < 0 ? strait_command_fail(&err) : 0;
}
