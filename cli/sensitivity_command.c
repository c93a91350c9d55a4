/* strait sensitivity: how much error each tensor of a model stands, and bounds for a loss. */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "analysis/table.h"
#include "campaign/trained/sensitivity.h"
#include "codecs/bundle.h"
#include "cli/kit/command.h"
#include "cli/kit/options.h"
#include "core/units.h"
#include "workloads/ask/tensor_bounds.h"

struct sensitivity {
    const char *codec, *budget, *out_path;
    const char *checkpoint, *model_name, *program, *limit;
    long n_steps, n_trials;
    bool json;
    struct strait_texts settings;

    struct strait_experiment *experiment; /* of a task that is trained here */
    struct strait_trained_model *trained;
    struct strait_model *model; /* of a checkpoint */
    float *w;                   /* its values */
    struct strait_checkpoint copy;
    struct strait_codec_choice choice;
    struct strait_sensitivity_asked asked;
    struct strait_sensitivity_found found;
};

static const char command[] = "sensitivity";

static int use_codec(struct sensitivity *s, const struct strait_codec_choice *own,
                     struct strait_error *err)
{
    const struct strait_codec_spec *spec = &s->choice.spec;
    char text[STRAIT_SPEC_CHARS];
    if (own)
        s->choice = *own;
    else
        s->choice.cutoff_elems = STRAIT_BUNDLE_CUTOFF_ELEMS;
    if (s->codec && strait_codec_spec_parse(&s->choice.spec, s->codec, err) != 0)
        return -1;
    s->asked.codec = &s->choice;
    const unsigned kinds =
        1u << STRAIT_BOUND_ABS | 1u << STRAIT_BOUND_RANGE | 1u << STRAIT_BOUND_RMS;
    if (kinds & 1u << spec->bound.kind && spec->ops->bounds & 1u << STRAIT_BOUND_ABS)
        return 0;
    return strait_error_set(err, STRAIT_ERR_USAGE, command,
                            "expected a codec with a bound of kind abs, range or rms, such as "
                            "--codec sz:rms=0.1, found \"%s\"",
                            strait_codec_spec_text(text, spec));
}

/* --- a task that is trained here ----------------------------------------------------------- */

static int load_experiment(struct sensitivity *s, const char *file, struct strait_error *err)
{
    struct strait_sweep *sweep = NULL;
    if (strait_sweep_load(&sweep, file, s->settings.items, s->settings.n, err) != 0)
        return -1;
    json_t *point = strait_sweep_point(sweep, 0, NULL, err);
    const int failed =
        !point || strait_experiment_read(&s->experiment, sweep->file, point, err) != 0;
    json_decref(point);
    strait_sweep_free(sweep);
    if (failed)
        return -1;
    const struct strait_experiment *e = s->experiment;
    if (!e->trains)
        return strait_error_set(err, STRAIT_ERR_USAGE, command,
                                "expected an experiment with \"training\", found none in %s", file);
    const bool sends = strcmp(e->up.spec.ops->name, "none") != 0;
    if (use_codec(s, sends ? &e->up : &e->down, err) != 0 ||
        strait_trained_model_new(&s->trained, e, s->n_steps, err) != 0)
        return -1;
    s->asked.model = e->model;
    s->asked.w = strait_trained_model_values(s->trained);
    s->asked.loss_of = strait_trained_model_loss;
    s->asked.arg = s->trained;
    s->asked.seed = e->seed;
    return 0;
}

/* --- a checkpoint -------------------------------------------------------------------------- */

/* A file without a name, so that it ends with this process however that ends. Where the folder's
 * file system has none, it is in memory. */
static int open_copy(struct strait_checkpoint *copy, struct strait_error *err)
{
    copy->fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (copy->fd < 0)
        copy->fd = memfd_create("strait-checkpoint", MFD_CLOEXEC);
    if (copy->fd < 0)
        return strait_error_system(err, "/tmp", "cannot make a file");
    snprintf(copy->path, sizeof(copy->path), "/proc/%d/fd/%d", (int)getpid(), copy->fd);
    return 0;
}

static int load_checkpoint(struct sensitivity *s, struct strait_error *err)
{
    static const char *const names[] = {"--checkpoint", "--model", "--eval"};
    const char *const given[] = {s->checkpoint, s->model_name, s->program};
    for (size_t i = 0; i < 3; i++)
        if (!given[i])
            return strait_error_set(err, STRAIT_ERR_USAGE, command,
                                    "expected --checkpoint, --model and --eval together, found no "
                                    "%s",
                                    names[i]);
    if (!s->codec)
        s->codec = "sz:rms=0.1";
    if (strait_quantity_parse(&s->copy.limit_s, STRAIT_UNIT_TIME, s->limit, "--limit", err) != 0 ||
        use_codec(s, NULL, err) != 0 || strait_model_load(&s->model, s->model_name, err) != 0 ||
        !(s->w = strait_checkpoint_read(s->checkpoint, s->model->n_elems, err)))
        return -1;
    s->copy.program = s->program;
    s->copy.n_elems = s->model->n_elems;
    if (open_copy(&s->copy, err) != 0)
        return -1;
    s->asked.model = s->model;
    s->asked.w = s->w;
    s->asked.loss_of = strait_checkpoint_loss;
    s->asked.arg = &s->copy;
    s->asked.seed = 1;
    return 0;
}

/* --- output -------------------------------------------------------------------------------- */

static json_t *numbers(const double *x)
{
    json_t *list = json_array();
    for (int i = 0; i < STRAIT_N_NOISE_LEVELS; i++)
        json_array_append_new(list, isfinite(x[i]) ? json_real(x[i]) : json_null());
    return list;
}

/* How the bounds were found, for their file and for programs. */
static json_t *record_of(const struct sensitivity *s, const double *bounds)
{
    char text[STRAIT_SPEC_CHARS], name[192];
    json_t *tensors = json_object();
    for (size_t i = 0; i < s->asked.model->n_rows; i++) {
        const struct strait_tensor_sensitivity *t = &s->found.tensors[i];
        if (t->is_lossy)
            json_object_set_new(
                tensors, strait_tensor_name(name, &s->asked.model->rows[i]),
                json_pack("{s:f, s:o, s:o, s:o}", "rms", t->rms, "uniform", numbers(t->uniform),
                          "coded", numbers(t->coded), "bound",
                          isfinite(bounds[i]) ? json_real(bounds[i]) : json_null()));
    }
    return json_pack(
        "{s:s, s:s, s:f, s:f, s:f, s:f, s:f, s:I, s:o, s:o}", "model", s->asked.model->name,
        "codec", strait_codec_spec_text(text, &s->choice.spec), "budget", s->asked.budget, "loss",
        s->found.loss, "added", s->found.added, "scale", s->found.scale, "ratio",
        isfinite(s->found.ratio) ? s->found.ratio : 1, "losses", (json_int_t)s->found.n_losses,
        "levels", numbers(STRAIT_NOISE_LEVELS), "tensors", tensors);
}

static int print_table(const struct sensitivity *s, const double *bounds, struct strait_error *err)
{
    char title[64], name[192], number[STRAIT_NUMBER_CHARS];
    const char *kind = strait_bound_kind_name(s->choice.spec.bound.kind);
    struct strait_table *t = strait_table_new();
    printf("%s: a loss of %.4g; what noise within a bound adds to it, %%\n\n", s->asked.model->name,
           s->found.loss);
    strait_table_column(t, "tensor", false);
    strait_table_column(t, "elements", true);
    strait_table_column(t, "noise", false);
    strait_table_key(t);
    for (int k = 0; k < STRAIT_N_NOISE_LEVELS; k++) {
        snprintf(title, sizeof(title), "%g rms", STRAIT_NOISE_LEVELS[k]);
        strait_table_column(t, title, true);
    }
    snprintf(title, sizeof(title), "bound (%s)", kind);
    strait_table_column(t, title, true);
    for (size_t i = 0; i < s->asked.model->n_rows; i++) {
        const struct strait_tensor_sensitivity *of = &s->found.tensors[i];
        for (int way = 0; way < 2 && of->is_lossy; way++) {
            const double *added = way == 0 ? of->uniform : of->coded;
            strait_table_cell(t, strait_tensor_name(name, &s->asked.model->rows[i]));
            strait_table_cellf(t, "%zu", s->asked.model->rows[i].n_elems);
            strait_table_cell(t, way == 0 ? "uniform" : s->choice.spec.ops->name);
            for (int k = 0; k < STRAIT_N_NOISE_LEVELS; k++)
                strait_table_cellf(t, "%.2f", 100 * added[k] / s->found.loss);
            strait_table_cell(t, strait_format_number(number, bounds[i], 3));
        }
    }
    if (strait_table_finish(t, stdout, err) != 0)
        return -1;
    printf("\nAll together: %+.2f %% of the loss, of %.3g %% wanted; these tensors %.3g times "
           "smaller.\n",
           100 * s->found.added / s->found.loss, 100 * s->asked.budget, s->found.ratio);
    if (s->out_path)
        printf("%s: \"bounds\" of a codec with a bound of kind \"%s\"\n", s->out_path, kind);
    return 0;
}

static int finish(struct sensitivity *s, struct strait_error *err)
{
    double *bounds = malloc((s->asked.model->n_rows + 1) * sizeof(*bounds));
    if (!bounds)
        return strait_error_memory(err, command);
    strait_sensitivity_bounds(bounds, &s->asked, &s->found);
    json_t *record = record_of(s, bounds);
    int failed =
        s->out_path && strait_tensor_bounds_save(s->out_path, bounds, s->choice.spec.bound.kind,
                                                 s->asked.model, record, err) != 0;
    if (!failed && s->json)
        strait_command_print_json(record);
    else if (!failed)
        failed = print_table(s, bounds, err);
    json_decref(record);
    free(bounds);
    return failed ? -1 : 0;
}

static const char notes[] =
    "Puts noise into one tensor at a time, uniform within a bound and the codec's\n"
    "own, measures what that adds to the loss, and finds a bound for each tensor so\n"
    "that all together add the budget at most. A codec takes the file that -o\n"
    "writes: {\"name\": \"sz\", \"bound\": {\"rms\": 0.1}, \"bounds\": \"FILE\"}.\n"
    "\n"
    "The model is one that the experiment's \"training\" trains here, or a checkpoint\n"
    "of raw float32 in the order of a layer table; PROGRAM is given the path of a\n"
    "changed copy and ends its output with the loss.\n"
    "\n"
    "  strait sensitivity live.json --budget '1 %' -o bounds.json\n"
    "  strait sensitivity --checkpoint w.f32 --model layers.csv --eval ./loss.sh\n";

static int run(struct sensitivity *s, const char *experiment, struct strait_error *err)
{
    double budget;
    if (strait_quantity_parse(&budget, STRAIT_UNIT_PERCENT, s->budget, "--budget", err) != 0)
        return -1;
    if (!(budget > 0))
        return strait_error_set(err, STRAIT_ERR_USAGE, command,
                                "expected a --budget above 0 %%, found \"%s\"", s->budget);
    const bool has_file = s->checkpoint || s->model_name || s->program;
    if ((experiment != NULL) == has_file)
        return strait_error_set(err, STRAIT_ERR_USAGE, command,
                                "expected an experiment with \"training\", or --checkpoint, "
                                "--model and --eval, found %s",
                                experiment ? "both" : "neither");
    if ((experiment ? load_experiment(s, experiment, err) : load_checkpoint(s, err)) != 0)
        return -1;
    s->asked.budget = budget;
    s->asked.n_trials = (int)s->n_trials;
    return strait_sensitivity_find(&s->found, &s->asked, err) != 0 ? -1 : finish(s, err);
}

int strait_command_sensitivity(int argc, char **argv)
{
    struct sensitivity s = {.budget = "1 %", .limit = "60 s", .n_steps = 500, .n_trials = 3};
    struct strait_error err = {0};
    const char *experiment = NULL;
    int status;
    const struct strait_option options[] = {
        {"budget", 0, STRAIT_OPTION_TEXT, &s.budget, "PERCENT",
         "what all bounds may add to the loss (1 %)"},
        {"out", 'o', STRAIT_OPTION_TEXT, &s.out_path, "FILE", "write the bounds"},
        {"codec", 0, STRAIT_OPTION_TEXT, &s.codec, "SPEC", "codec and kind of bound (sz:rms=0.1)"},
        {"trials", 0, STRAIT_OPTION_COUNT, &s.n_trials, "N", "draws of uniform noise (3)"},
        {"steps", 0, STRAIT_OPTION_COUNT, &s.n_steps, "N",
         "steps of training before measuring (500)"},
        {"set", 0, STRAIT_OPTION_TEXTS, &s.settings, "/POINTER=VALUE",
         "set a value of the experiment"},
        {"checkpoint", 0, STRAIT_OPTION_TEXT, &s.checkpoint, "FILE", "raw float32 values"},
        {"model", 0, STRAIT_OPTION_TEXT, &s.model_name, "NAME",
         "the checkpoint's model, or a layer table"},
        {"eval", 0, STRAIT_OPTION_TEXT, &s.program, "PROGRAM",
         "program that prints a checkpoint's loss"},
        {"limit", 0, STRAIT_OPTION_TEXT, &s.limit, "TIME", "time limit of a run of PROGRAM (60 s)"},
        {"json", 0, STRAIT_OPTION_FLAG, &s.json, NULL, "one JSON object on standard output"},
        STRAIT_WIDE_OPTION};
    const struct strait_usage usage = {
        command, "[EXPERIMENT]", "Find the largest error that each tensor of a model tolerates.",
        STRAIT_OPTIONS(options), notes};
    strait_command_begins_again();
    if (strait_command_begin(&status, &usage, argc, argv, &experiment, 1, NULL))
        status = run(&s, experiment, &err) == 0 ? 0 : strait_command_fail(&err);
    if (*s.copy.path)
        close(s.copy.fd);
    strait_sensitivity_release(&s.found);
    strait_trained_model_free(s.trained);
    strait_experiment_free(s.experiment);
    strait_model_free(s.model);
    free(s.w);
    free(s.settings.items);
    return status;
}
