/* Where a row's time goes, how busy what was, and what would make the round shorter. */
#include "show_why.h"

#include <math.h>
#include <string.h>
#include "analysis/fields.h"
#include "analysis/table.h"
#include "core/names.h"
#include "show.h"

/* Parts of the critical path and kinds of resources, for people. */
static const char *const texts[][2] = {{"compute", "computing"},
                                       {"encode", "encoding"},
                                       {"transfer", "transfer: own bytes"},
                                       {"wait", "waiting for other transfers"},
                                       {"latency", "delays, slow start, losses"},
                                       {"decode", "decoding"},
                                       {"aggregate", "adding up"},
                                       {"other", "nothing logged"},
                                       {"client_out", "clients' ports, out"},
                                       {"client_in", "clients' ports, in"},
                                       {"server_out", "server's port, out"},
                                       {"server_in", "server's port, in"},
                                       {"site_out", "sites' ports, out"},
                                       {"site_in", "sites' ports, in"},
                                       {"between_sites", "links between sites"},
                                       {"accelerators", "accelerators"},
                                       {"host_links", "links to accelerators"},
                                       {"client_cores", "clients' cores"},
                                       {"server_cores", "server's cores"}};

const char *strait_resource_name(const char *key)
{
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        if (strcmp(texts[i][0], key) == 0)
            return texts[i][1];
    return key;
}

const char *strait_interval_text(char buf[STRAIT_INTERVAL_CHARS], const json_t *interval_s)
{
    char low[STRAIT_NUMBER_CHARS], high[STRAIT_NUMBER_CHARS];
    if (json_array_size(interval_s) != 2)
        return "-";
    snprintf(buf, STRAIT_INTERVAL_CHARS, "%s to %s",
             strait_format_number(low, json_number_value(json_array_get(interval_s, 0)), 3),
             strait_format_number(high, json_number_value(json_array_get(interval_s, 1)), 3));
    return buf;
}

int strait_show_critical_path(FILE *out, const json_t *row, struct strait_error *err)
{
    const char *part, *at;
    json_t *value;
    char number[STRAIT_NUMBER_CHARS];
    const double round_s = strait_row_number(row, "round_s");
    struct strait_table *t = strait_table_new();
    strait_table_column(t, "where a round's time goes", false);
    strait_table_column(t, "s", true);
    strait_table_column(t, "%", true);
    strait_table_column(t, "most of it at", false);
    json_object_foreach (json_object_get(row, "critical_path"), part, value) {
        const double s = strait_row_number(value, "s");
        if (!(s > 1e-9 * round_s)) /* rounding */
            continue;
        at = strait_text_of(value, "at");
        strait_table_cell(t, strait_resource_name(part));
        strait_table_cell(t, strait_format_number(number, s, 4));
        if (s < 5e-3 * round_s)
            strait_table_cell(t, "<1");
        else
            strait_table_cellf(t, "%.0f", 100 * s / round_s);
        strait_table_cell(t, at);
    }
    return strait_table_finish(t, out, err);
}

int strait_show_utilisation(FILE *out, const json_t *row, struct strait_error *err)
{
    const char *kind;
    json_t *value;
    struct strait_table *t = strait_table_new();
    strait_table_column(t, "how busy", false);
    strait_table_column(t, "n", true);
    strait_table_column(t, "mean %", true);
    strait_table_column(t, "worst %", true);
    strait_table_column(t, "left %", true);
    strait_table_column(t, "the worst", false);
    json_object_foreach (json_object_get(row, "utilisation"), kind, value) {
        const double most = strait_row_number(value, "most");
        strait_table_cell(t, strait_resource_name(kind));
        strait_table_cellf(t, "%.0f", strait_row_number(value, "n"));
        strait_table_cellf(t, "%.1f", 100 * strait_row_number(value, "mean"));
        strait_table_cellf(t, "%.1f", 100 * most);
        strait_table_cellf(t, "%.1f", fmax(0, 100 * (1 - most)));
        strait_table_cell(t, strait_text_of(value, "at"));
    }
    return strait_table_finish(t, out, err);
}

const char *strait_limit_text(char buf[STRAIT_LIMIT_CHARS], const json_t *limits)
{
    const char *by = strait_text_of(limits, "by"), *at = strait_text_of(limits, "at");
    const bool link = strcmp(by, "link") == 0;
    snprintf(buf, STRAIT_LIMIT_CHARS, "%s%s%s, %.0f %%", link ? "" : by, link || !*at ? "" : " at ",
             at, 100 * strait_row_number(limits, "share"));
    return buf;
}

static int show_faster(FILE *out, const json_t *why, struct strait_error *err)
{
    size_t i;
    json_t *try;
    char number[STRAIT_NUMBER_CHARS], interval[STRAIT_INTERVAL_CHARS], title[64],
        none[512] = "", limit[STRAIT_LIMIT_CHARS];
    const double round_s = strait_row_number(json_object_get(why, "predicted"), "round_s");
    struct strait_table *t = strait_table_new();
    snprintf(title, sizeof(title), "%g times as fast", strait_row_number(why, "factor"));
    strait_table_column(t, title, false);
    strait_table_column(t, "round s", true);
    strait_table_column(t, "90 % within s", true);
    strait_table_column(t, "saves %", true);
    strait_table_column(t, "then limited by", false);
    json_array_foreach (json_object_get(why, "faster"), i, try) {
        if (strait_row_number(try, "saves_s") < 1e-3 * round_s) {
            strait_text_add(none, sizeof(none), "%s%s", *none ? "; " : "",
                            strait_text_of(try, "text"));
            continue;
        }
        strait_table_cell(t, strait_text_of(try, "text"));
        strait_table_cell(t, strait_format_number(number, strait_row_number(try, "round_s"), 4));
        strait_table_cell(t, strait_interval_text(interval, json_object_get(try, "interval_s")));
        strait_table_cellf(t, "%.1f", 100 * strait_row_number(try, "saves_s") / round_s);
        strait_table_cell(t, strait_limit_text(limit, json_object_get(try, "limits")));
    }
    if (strait_table_finish(t, out, err) != 0)
        return -1;
    if (*none)
        strait_prose(out, "Below 0.1 %%: %s.", none);
    return 0;
}

void strait_show_names(FILE *out, const json_t *names)
{
    enum { MOST = 12 };
    char text[1024] = "";
    size_t i;
    json_t *name;
    json_array_foreach (names, i, name)
        if (i < MOST)
            strait_text_add(text, sizeof(text), "%s%s", *text ? ", " : "", json_string_value(name));
    if (*text)
        strait_prose(out, "Names: %s%s.", text, json_array_size(names) > MOST ? ", and so on" : "");
}

int strait_show_why(FILE *out, const json_t *why, const char *codec, const char *setting,
                    struct strait_error *err)
{
    const json_t *row = json_object_get(why, "row"), *predicted = json_object_get(why, "predicted");
    char interval[STRAIT_INTERVAL_CHARS], number[STRAIT_NUMBER_CHARS];
    const bool has_limits = json_is_object(json_object_get(row, "limits"));
    const json_t *explained = has_limits ? row : predicted;
    const json_t *interval_s = json_object_get(row, "interval_s");
    const bool has_interval = json_is_array(interval_s); /* a measured row has none */
    const char *title = strait_text_of(row, "title");
    if (*title)
        strait_prose(out, "%s", title);
    strait_show_set(out, "set", json_object_get(row, "set"));
    strait_prose(out, "%s with %s, %.0f clients, codec %s%s%s; %s: a round takes %s s%s%s%s.",
                 strait_text_of(row, "model"), strait_text_of(row, "strategy"),
                 strait_row_number(row, "clients"), codec, *setting ? "; " : "", setting,
                 strait_text_of(row, "backend"),
                 strait_format_number(number, strait_row_number(row, "round_s"), 4),
                 has_interval ? ", in 90 % of cases " : "",
                 has_interval ? strait_interval_text(interval, interval_s) : "",
                 has_interval ? " s" : "");
    strait_prose(out, "What limits it: %s.%s",
                 strait_text_of(json_object_get(explained, "limits"), "text"),
                 has_limits ? "" : " (Predicted again: the row is of an earlier version.)");
    strait_show_names(out, json_object_get(why, "names"));
    fputs("\n", out);
    if (strait_show_critical_path(out, explained, err) != 0)
        return -1;
    fputs("\n", out);
    if (strait_show_utilisation(out, explained, err) != 0)
        return -1;
    fprintf(out, "\nIf one thing were faster (fluid: %s s as it is):\n\n",
            strait_format_number(number, strait_row_number(predicted, "round_s"), 4));
    return show_faster(out, why, err);
}
