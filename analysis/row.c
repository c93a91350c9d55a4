/* Rows. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "place.h"
#include "row.h"
#include "analysis/fields.h"
#include "analysis/training/recorded_curve.h"
#include "analysis/training/training_row.h"
#include "core/names.h"
#include "workloads/ask/software.h"
#include "workloads/ask/packet_effects.h"
#include "workloads/train/collectives/collectives.h"

static json_t *text_or_null(const char *text)
{
    return text ? json_string(text) : json_null();
}
/* --- parts of a row ----------------------------------------------------------------------- */

json_t *strait_row_codec(const struct strait_codec_choice *choice)
{
    json_t *out = json_object(), *bound = json_null();
    if (choice->spec.bound.kind != STRAIT_BOUND_NONE) {
        bound = json_object();
        json_object_set_new(bound, strait_bound_kind_name(choice->spec.bound.kind),
                            strait_json_number(choice->spec.bound.value));
    }
    char settings[STRAIT_SPEC_CHARS];
    json_object_set_new(out, "name", json_string(choice->spec.ops->name));
    if (*strait_codec_settings_text(settings, &choice->spec))
        json_object_set_new(out, "settings", json_string(settings));
    json_object_set_new(out, "bound", bound);
    if (choice->reference)
        json_object_set_new(out, "reference", json_string(choice->own ? "own" : "last"));
    json_object_set_new(out, "profile", text_or_null(choice->profile));
    if (choice->encode_speed > 0 && choice->encode_speed != 1)
        json_object_set_new(out, "speed", strait_json_number(choice->encode_speed));
    return out;
}

static bool is_plain(const struct strait_codec_choice *choice)
{
    return strcmp(choice->spec.ops->name, "none") == 0;
}

static json_t *spans_object(const double *seconds)
{
    json_t *out = json_object();
    for (int kind = 0; kind < STRAIT_SPAN_ROUND; kind++)
        json_object_set_new(out, strait_span_kind_name((enum strait_span_kind)kind),
                            strait_json_number(seconds[kind]));
    return out;
}

static void put_times(json_t *row, const struct strait_breakdown *b, bool has_server)
{
    json_t *rounds = json_array(), *path = json_object(), *busy = json_object();
    for (size_t i = 0; i < b->n_rounds; i++)
        json_array_append_new(rounds, strait_json_number(b->rounds_s[i]));
    for (int phase = 0; phase < STRAIT_N_PHASES; phase++)
        json_object_set_new(path, strait_phase_name((enum strait_phase)phase),
                            strait_json_number(b->phase_s[phase]));
    json_object_set_new(busy, "client", spans_object(b->client_busy_s));
    json_object_set_new(busy, "server", has_server ? spans_object(b->server_busy_s) : json_null());
    json_object_set_new(row, "round_s", strait_json_number(b->round_s));
    json_object_set_new(row, "total_s", strait_json_number(b->total_s));
    json_object_set_new(row, "rounds_s", rounds);
    json_object_set_new(row, "interval_s", json_null()); /* its place: whoever runs it knows */
    json_object_set_new(row, "path_s", path);
    json_object_set_new(row, "wait_s", json_null()); /* see put_limits */
    json_object_set_new(row, "busy_s", busy);
}

/* Where the time goes, how busy what was, and what limits the round. */
static int put_limits(json_t *row, const struct strait_trial *p, const struct strait_breakdown *b,
                      struct strait_error *err)
{
    const struct strait_experiment *e = p->experiment;
    struct strait_waits waits = strait_waits_begin(b, e->strategy->has_server);
    const struct strait_limits_inputs in = {
        .logs = p->logs,
        .n_ranks = p->experiment->n_ranks,
        .network = e->network,
        .has_server = e->strategy->has_server,
        .has_deadline = strait_experiment_has_param(e, "deadline") &&
                        strait_experiment_param(e, "deadline") > 0,
        .on_cpu = e->model->on_cpu,
        .n_server_cores = p->run.n_slots ? p->run.n_slots(&p->run, 0, STRAIT_CPU) : 1,
        .steps = b->steps,
        .n_steps = b->n_steps,
        .from_s = b->from_s,
        .to_s = b->known_to_s,
        .known_s = b->known_s,
        .round_s = b->round_s,
        .also = {strait_waits_add, &waits}};
    if (strait_limits_put(row, &in, err) != 0)
        return -1;
    const double wait_s = strait_waits_mean_s(&waits, b, e->n_ranks);
    json_object_set_new(row, "wait_s", strait_json_number(wait_s));
    return 0;
}

struct sums {
    uint64_t raw_bytes, payload_bytes, n_messages, link_bytes;
};

static struct sums sum_logs(const struct strait_log *logs, int first, int end)
{
    struct sums s = {0};
    for (int r = first; r < end; r++) {
        s.raw_bytes += logs[r].raw_bytes;
        s.payload_bytes += logs[r].payload_bytes;
        s.n_messages += logs[r].n_messages;
        s.link_bytes += logs[r].link_bytes;
    }
    return s;
}

static double ratio(uint64_t raw_bytes, uint64_t payload_bytes)
{
    return payload_bytes > 0 ? (double)raw_bytes / (double)payload_bytes : NAN;
}

/* Bytes of all ranks and rounds: what the server sends is down, everything else up. Bytes between
 * hosts and accelerators are counted separately. */
static void put_bytes(json_t *row, const struct strait_trial *p)
{
    const struct strait_experiment *e = p->experiment;
    const int n = p->experiment->n_ranks, first = e->strategy->has_server ? 1 : 0;
    const struct sums all = sum_logs(p->logs, 0, n), down = sum_logs(p->logs, 0, first),
                      up = sum_logs(p->logs, first, n);
    struct sums compressed = {0};
    if (!is_plain(&e->up) || is_plain(&e->down))
        compressed = up;
    if (!is_plain(&e->down)) {
        compressed.raw_bytes += down.raw_bytes;
        compressed.payload_bytes += down.payload_bytes;
    }
    const bool predicted = !p->run.real_payload && !(is_plain(&e->up) && is_plain(&e->down));
    const char *sizes = !predicted ? "exact" : p->sizes ? "sent" : "predicted";
    json_object_set_new(
        row, "bytes",
        json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:s}", "raw", (json_int_t)all.raw_bytes,
                  "payload", (json_int_t)all.payload_bytes, "frame",
                  (json_int_t)all.n_messages * (json_int_t)strait_network_frame_bytes(e->network),
                  "messages", (json_int_t)all.n_messages, "up", (json_int_t)up.payload_bytes,
                  "down", (json_int_t)down.payload_bytes, "link", (json_int_t)all.link_bytes,
                  "sizes", sizes));
    json_object_set_new(row, "ratio",
                        strait_json_number(ratio(compressed.raw_bytes, compressed.payload_bytes)));
    json_object_set_new(row, "ratio_overall",
                        strait_json_number(ratio(all.raw_bytes, all.payload_bytes)));
}

bool strait_row_has_sent_sizes(const json_t *row)
{
    return strcmp(strait_text_of(json_object_get(row, "bytes"), "sizes"), "sent") == 0;
}

static void put_checks(json_t *row, const struct strait_trial *p)
{
    uint64_t peak_bytes = 0, n_added_encoded = 0, n_missing = 0;
    double error = -1;
    for (int r = 0; r < p->experiment->n_ranks; r++) {
        n_missing += p->logs[r].n_missing;
        n_added_encoded += p->logs[r].n_added_encoded;
        peak_bytes = p->logs[r].peak_bytes > peak_bytes ? p->logs[r].peak_bytes : peak_bytes;
        error = fmax(error, p->logs[r].error_over_bound);
    }
    json_object_set_new(row, "peak_bytes", json_integer((json_int_t)peak_bytes));
    json_object_set_new(row, "error_over_bound", strait_json_number(error < 0 ? NAN : error));
    json_object_set_new(row, "recorded_ratio", strait_json_number(p->recorded_ratio));
    if (n_added_encoded > 0)
        json_object_set_new(row, "added_encoded", json_integer((json_int_t)n_added_encoded));
    if (n_missing > 0)
        json_object_set_new(row, "missing_updates", json_integer((json_int_t)n_missing));
}

static void note(json_t *list, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void note(json_t *list, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    json_array_append_new(list, json_string(text));
}

/* Constants of software that were estimated on another model or device than this one. */
static void note_estimates(json_t *list, const struct strait_experiment *e)
{
    json_t *used = strait_software_used(e), *from;
    const char *name;
    json_object_foreach (used, name, from) {
        const int n = (int)json_integer_value(json_object_get(from, "figures"));
        if (json_is_true(json_object_get(from, "own")))
            continue;
        note(list, "\"%s\" comes from another job, %s on %s (%d figure%s, error %s)", name,
             json_string_value(json_object_get(from, "model")),
             json_string_value(json_object_get(from, "device")), n, n == 1 ? "" : "s",
             json_string_value(json_object_get(from, "error")));
    }
    json_decref(used);
}

/* Named software whose collectives the strategy does not take. */
static void note_collectives(json_t *list, const struct strait_experiment *e)
{
    static const char *const names[] = {"collective", "library"};
    bool names_some = false, takes_some = false;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        const bool named = json_object_get(e->estimated, names[i]) != NULL;
        names_some = names_some || named;
        takes_some = takes_some || (named && strait_experiment_has_param(e, names[i]));
    }
    if (names_some && !takes_some)
        note(list, "collectives are our own: strategy \"%s\" takes none of the named software's",
             e->strategy->name);
}

/* Of a codec whose ranks agree on statistics, where the strategy lets them. */
static void note_statistics(json_t *list, const struct strait_trial *p)
{
    const struct strait_experiment *e = p->experiment;
    bool agrees = false;
    if (!strait_codec_wants_statistics(&e->up.spec) || e->n_ranks == 1)
        return;
    for (int i = 1; i < e->n_ranks && !agrees; i++)
        agrees = e->strategy->uses_stream(e, 0, i, STRAIT_AGREEING);
    if (!agrees)
        note(list, "each packet is coded by its own statistics: ranks of \"%s\" agree on none",
             e->strategy->name);
    else if (!p->run.measured_cost)
        note(list, "codec times are those of packets with their own statistics");
}

/* Everything that is stated, scaled, tiled, aggregated or not modelled. */
static json_t *approximations(const struct strait_trial *p, const struct strait_breakdown *b,
                              const json_t *quality, const struct strait_row_context *c)
{
    const struct strait_experiment *e = p->experiment;
    json_t *list = json_array();
    note(list, "compute time is not computed but taken from the model's table (%s: %s)",
         strait_timing_name(e->model->timing), e->model->timing_source);
    if (e->model->inferred[0])
        note(list, "%s", e->model->inferred);
    note_estimates(list, e);
    note_collectives(list, e);
    note_statistics(list, p);
    if (strait_experiment_chooses(e, "collective", "nccl") ||
        strait_experiment_chooses(e, "library", "nccl"))
        note(list,
             "NCCL's collectives follow its code for one accelerator a node, without LL128 and "
             "with the room of its buffers unlimited: extrapolated, nothing was measured");
    if (e->graph)
        note(list, "replayed: a send of the trace ends when it is posted, the k-th from a rank to "
                   "another with a tag is the k-th receive there, and the round ends when rank 0 "
                   "has heard from all");
    if (e->compute_speed != 1)
        note(list, "compute time is scaled to a device %g times as fast", e->compute_speed);
    if (p->sizes)
        note(list, "encoded sizes are those of the recorded tensors that an emulation sends, "
                   "encoded once before");
    else if (!p->run.real_payload && !(is_plain(&e->up) && is_plain(&e->down)))
        note(list, "encoded sizes are the profile's ratios, no tensor is encoded%s%s",
             c->no_sizes ? ": " : "", c->no_sizes ? c->no_sizes : "");
    if (e->strategy->approximates && !(is_plain(&e->up) && is_plain(&e->down)))
        note(list, "%s", e->strategy->approximates);
    if (!p->run.measured_cost && !(is_plain(&e->up) && is_plain(&e->down)))
        note(list, "codec times are the profile's%s", p->learn ? "" : ", no codec runs");
    static const char *const ways[] = {"", "download "};
    const double speeds[2] = {e->up.encode_speed, e->down.encode_speed};
    for (int i = 0; i < 2; i++)
        if (speeds[i] > 0 && speeds[i] != 1)
            note(list, "the %scodec is taken %g times as fast as its profile says", ways[i],
                 speeds[i]);
    for (int i = 0; i < 2; i++)
        if (p->has_one_ratio[i])
            note(list,
                 "the %scodec's profile has one ratio for all bounds: they change with the "
                 "training, sizes and times do not",
                 ways[i]);
    if (p->learn && !p->run.measured_cost && e->strategy->bounds_of)
        note(list, "codec times at bounds that the profile lacks are those at the experiment's");
    const bool refer[] = {e->up.reference && !e->up.own, e->down.reference && !e->down.own};
    for (int i = 0; i < 2; i++)
        if (refer[i] && !p->has_changes[i] && !(p->run.real_payload && p->run.measured_cost))
            note(list,
                 "the profile has no %scodec for changes of parameters: %s those of whole ones",
                 ways[i], p->run.real_payload ? "times are" : "times and sizes are");
    for (int i = 0; i < 2 && !p->run.measured_cost; i++)
        if (*p->speeds_of[i])
            note(list, "speeds of the %scodec are those of %s: the profile has none of its own",
                 ways[i], p->speeds_of[i]);
    const struct strait_codec_choice *choices[] = {&e->up, &e->down};
    for (int i = 0; i < 2 && !p->run.measured_cost; i++)
        if (p->own_profiles[i] && !choices[i]->profile)
            note(list, STRAIT_NOTE_PROFILE "%scodec %s: its costs are those of %s (%s)", ways[i],
                 choices[i]->spec.ops->name, p->own_profiles[i]->machine,
                 p->own_profiles[i]->title);
    for (int i = 0; i < 2 && p->run.measured_cost; i++)
        if (choices[i]->profile || choices[i]->encode_speed != 1 || choices[i]->decode_speed != 1)
            note(list,
                 "the %scodec %s runs at this machine's speed: the profile or speed that it names "
                 "is for simulations",
                 ways[i], choices[i]->spec.ops->name);
    const bool spread = e->network->share_spread > 0;
    if (!p->run.real_payload && (strcmp(c->backend, "emu") == 0 || strcmp(c->backend, "mpi") == 0))
        note(list, "replayed: what is sent are so many bytes of noise");
    else if (!p->run.real_payload && spread)
        note(list, "no packet is sent: flows share links by keyed weights of 1 +- %.3g %%",
             100 * e->network->share_spread);
    else if (!p->run.real_payload && !strait_network_by_packets(e->network))
        note(list, "no packet is sent: flows share links ideally, so that equal ones end together");
    if (p->run.measured_cost && spread)
        note(list, "the spread of flow shares is TCP's own, not the keyed one of simulations");
    if (e->n_slowness > 0)
        note(list, "compute time is stretched by a table of %zu factors, one a client in turn",
             e->n_slowness);
    if (p->run.real_payload && !p->learn && p->recorded_ratio < 1)
        note(list,
             "%.3g %% of the model's bytes are recorded as they are, the rest is tiled from "
             "recordings",
             100 * p->recorded_ratio);
    const int n_scheduled = strait_network_n_scheduled(e->network);
    if (n_scheduled > 0)
        note(list,
             "the rates of %d link%s change while the run goes on; what is planned from a rate "
             "(windows, pieces) takes the largest",
             n_scheduled, n_scheduled == 1 ? "" : "s");
    if (e->network->presences)
        note(list, "clients that leave end their work, and what they were sending still arrives");
    int n_background = 0;
    for (int i = 0; i < strait_network_n_links(e->network); i++)
        n_background += strait_network_link(e->network, i)->background_bits_per_s > 0;
    if (n_background > 0)
        note(list,
             "background traffic on %d link%s is a rate taken off theirs: it does not give way and "
             "fills no queue",
             n_background, n_background == 1 ? "" : "s");
    if (strcmp(c->backend, "mpi") != 0 && strait_network_n_flows(e->network) > 0)
        note(list,
             "%d long TCP flow%s of others compete%s for ports; their other ends are at the core, "
             "without delay, and what they carry counts in no byte and in no busy link of this row",
             strait_network_n_flows(e->network), strait_network_n_flows(e->network) == 1 ? "" : "s",
             strait_network_n_flows(e->network) == 1 ? "s" : "");
    char effects[STRAIT_EFFECTS_CHARS];
    if (*strait_effects_text(effects, p->facts.report))
        note(list, "%s", effects);
    const json_t *steady = json_object_get(p->facts.report, "steady");
    if (steady)
        note(list,
             "rounds repeat: %d were simulated, the rest follows from the last %d of them, "
             "%.6g s, exactly",
             (int)json_integer_value(json_object_get(steady, "simulated_rounds")),
             (int)json_integer_value(json_object_get(steady, "period_rounds")),
             json_real_value(json_object_get(steady, "period_s")));
    if (p->run.real_payload && !p->learn)
        note(list, "every round sends the tensors of the same recorded step");
    if (p->run.real_payload && !p->learn && !p->shares_values)
        note(list, "every rank sends the same recorded values%s",
             p->recorded_ratio < 1 ? ", where they are tiled an excerpt of its own" : "");
    if (p->learn && strait_experiment_has_param(e, "update_freq")) /* of K-FAC */
        note(list,
             "factors of K-FAC are of true labels (the empirical Fisher matrix), not of drawn "
             "ones; norms, embeddings and layers above largest_dim take their plain gradient; "
             "scaling and clipping the step are not charged");
    if (p->learn && e->strategy->ends_with_rank_0)
        note(list, "updates are added in order of arrival, which decides the last digits");
    if (p->learn && e->has_until && !p->stops_at_target)
        note(list, "an emulation scores its models after the run: it does not end at the target");
    const struct strait_curve *curve = strait_recorded_of(e);
    if (curve)
        note(list, "losses and accuracies are those of the recorded run \"%s\"", curve->run);
    else if (e->curves)
        note(list, "no run with this codec, %d client%s and this seed is among the curves",
             e->n_clients, e->n_clients == 1 ? "" : "s");
    if (p->shares_values)
        note(list, "all clients send the same values: their own would not fit in memory");
    if (e->inverse_s.n > 0 && strait_experiment_has_param(e, "update_freq")) /* of K-FAC */
        note(list, "factors of K-FAC are inverted in the time of a table of %zu dimensions",
             e->inverse_s.n);
    char rate[64];
    const bool copied = e->link.in_memory && p->run.measured_cost;
    if (p->logs[0].link_bytes > 0 && copied)
        note(list, "the link between host and accelerator is this host's memory: rows of a cache "
                   "of zeros are copied there, which rows are drawn");
    else if (p->logs[0].link_bytes > 0)
        note(list, "the link between host and accelerator is a timer of %s, no byte crosses it; %s",
             strait_quantity_format(rate, sizeof(rate), STRAIT_UNIT_SPEED, e->link.bytes_per_s),
             e->link.gather.n > 0 ? "gathers of rows go by the device's table"
                                  : "gathers of rows go by an assumed curve");
    const char *of = json_string_value(json_object_get(quality, "of"));
    if (of)
        note(list, "quality is that of %s", of);
    if (c->control)
        note(list, "negative control \"%s\": wrong on purpose", c->control);
    if (b->n_known_rounds < b->n_rounds)
        note(list,
             "a log was full: where the time goes is that of the first %zu rounds of %zu, no more "
             "are known",
             b->n_known_rounds, b->n_rounds);
    return list;
}

/* "stated" if the upload codec's figures were never measured. */
static const char *cost_of(const struct strait_trial *p)
{
    const struct strait_profile *own = p->own_profiles[0];
    const struct strait_profile *from =
        own && strait_profile_has(own, p->experiment->up.spec.ops->name) ? own : p->profile;
    if (p->run.measured_cost)
        return "measured";
    return from && from->stated && !is_plain(&p->experiment->up) ? "stated" : "profile";
}

/* Of a run that trained, or that recorded curves know. */
static void put_training(json_t *row, const struct strait_trial *p,
                         const struct strait_breakdown *b)
{
    if (p->learn)
        json_object_set_new(row, "training", strait_training_row(p));
    else if (strait_recorded_of(p->experiment))
        json_object_set_new(row, "training", strait_recorded_row(p, b->rounds_s, b->n_rounds));
}

json_t *strait_row_new(const struct strait_trial *p, const struct strait_row_context *c,
                       struct strait_error *err)
{
    const struct strait_experiment *e = p->experiment;
    const bool has_server = e->strategy->has_server;
    struct strait_breakdown b;
    char point[STRAIT_KEY_CHARS], constants[STRAIT_KEY_CHARS];
    struct strait_place place;
    json_t *quality = NULL;
    if (strait_place_of_point(&place, e->json, err) != 0 ||
        strait_breakdown_of(&b, p->logs, p->experiment->n_ranks, has_server, err) != 0)
        return NULL;
    if (e->strategy->quality && e->strategy->quality(&quality, e, err) != 0) {
        strait_breakdown_release(&b);
        return NULL;
    }
    json_t *row = json_object();
    if (!row || !strait_hash_json(point, e->json) ||
        !strait_hash_json(constants, p->facts.constants)) {
        strait_error_memory(err, "row");
        json_decref(row);
        json_decref(quality);
        strait_breakdown_release(&b);
        return NULL;
    }
    json_object_set_new(row, "record", json_string("row"));
    json_object_set_new(row, "key", json_string(c->key));
    json_object_set_new(row, "point", json_string(point));
    strait_place_put(row, &place);
    json_object_set_new(row, "valid", json_boolean(json_array_size(p->facts.invalid) == 0));
    json_object_set_new(row, "invalid", json_deep_copy(p->facts.invalid));
    json_object_set_new(row, "flags", json_deep_copy(p->facts.flags));
    json_object_set_new(row, "title", json_string(e->title));
    json_object_set_new(row, "labels", c->labels ? json_deep_copy(c->labels) : json_object());
    json_object_set_new(row, "backend", json_string(c->backend));
    json_object_set_new(row, "control", text_or_null(c->control));
    json_object_set_new(row, "repeat", json_integer(c->repeat));
    json_object_set_new(row, "machine", c->machine ? json_deep_copy(c->machine) : json_null());
    json_object_set_new(row, "model", json_string(e->model->name));
    json_object_set_new(row, "strategy", json_string(e->strategy->name));
    json_object_set_new(row, "clients", json_integer(e->n_clients));
    json_object_set_new(row, "ranks", json_integer(e->n_ranks));
    json_object_set_new(row, "connections",
                        json_integer(strait_tcp_n_connections(&e->network->tcp)));
    json_object_set_new(row, "codec", strait_row_codec(&e->up));
    json_object_set_new(row, "download_codec", strait_row_codec(&e->down));
    put_times(row, &b, has_server);
    put_bytes(row, p);
    put_checks(row, p);
    json_object_set_new(row, "quality", quality ? quality : json_null());
    put_training(row, p, &b);
    json_object_set_new(row, "payload", json_string(p->run.real_payload ? "real" : "sized"));
    json_object_set_new(row, "cost", json_string(cost_of(p)));
    const json_t *used = json_object_get(p->facts.report, "dilation"); /* asked for, or chosen */
    json_object_set_new(row, "dilation",
                        strait_json_number(used ? json_number_value(used) : p->run.dilation));
    json_object_set_new(row, "profile",
                        p->run.measured_cost ? json_null() : text_or_null(c->profile));
    json_object_set_new(row, "constants", json_string(constants));
    json_object_set_new(row, "report", json_deep_copy(p->facts.report));
    json_object_set_new(row, "log_full", json_boolean(b.n_known_rounds < b.n_rounds));
    json_object_set_new(row, "approximations", approximations(p, &b, quality, c));
    json_object_set_new(row, "wall_s", strait_json_number(c->wall_s));
    if (put_limits(row, p, &b, err) != 0) {
        json_decref(row);
        row = NULL;
    }
    strait_breakdown_release(&b);
    return row;
}
