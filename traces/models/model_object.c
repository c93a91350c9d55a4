#include "model_object.h"
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include "core/shipped.h"
#include "hf_config.h"
#include "inferred.h"

enum { MAX_BATCH = 1000000000, MAX_TOKENS = 1 << 24, MAX_BLOCKS = 1000 };
static const double MAX_PARAMS = 1e13, MAX_STEP_S = 1e6;

/* What the object says beside its shapes; 0: nothing. */
struct figures {
    long batch, tokens;
    double step_s, flop, flop_per_s;
};

static int fail(struct strait_object *o, const char *key, struct strait_error *err,
                const char *text)
{
    char where[STRAIT_JSON_POINTER_MAX * 2];
    return strait_refuse(err, strait_object_where(o, key, where, sizeof(where)), "%s", text);
}

/* The same where a key is missing: a misspelled one is what its writer meant. */
static int fail_of_missing(struct strait_object *o, struct strait_error *err, const char *text)
{
    static const char *const keys[] = {"name", "config", "params", "batch",  "step",
                                       "rate", "tokens", "flops",  "layers", "vocabulary"};
    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
        strait_object_has(o, keys[i]);
    return strait_object_close(o, err) != 0 ? -1 : fail(o, NULL, err, text);
}

int strait_model_name_load(struct strait_model **out, const char *name, const char *where,
                           struct strait_error *err)
{
    struct strait_error why = {0};
    if (strait_model_load(out, name, &why) == 0)
        return 0;
    /* An error in a line of the user's table names that line; an unknown name or a missing file is
     * an error where it is named. */
    const bool in_file = why.where[0] && strcmp(why.where, name) != 0;
    const bool is_path = !in_file && why.where[0] && !strstr(why.text, name);
    return strait_error_set(err, why.code, in_file ? why.where : where, "%s%s%s",
                            is_path ? name : "", is_path ? ": " : "", why.text);
}

/* --- times -------------------------------------------------------------------------------- */

/* From the FLOPs of its layers, at the user's rate. */
static void time_by_rate(struct strait_model *m, const struct figures *f, const char *flop_source)
{
    const double fwd_s = m->batch * m->fwd_flop_per_sample / f->flop_per_s;
    strait_model_spread_times(m, fwd_s, 2 * fwd_s);
    m->timing = STRAIT_TIMING_STATED_FLOPS;
    m->device_flop_per_s = f->flop_per_s;
    snprintf(m->device, sizeof m->device, "a device of %.4g TFLOP/s", f->flop_per_s / 1e12);
    snprintf(m->timing_source, sizeof m->timing_source,
             "%.4g TFLOP a step (%s) at %.4g TFLOP/s: stated by the user, a third of it forward",
             3e-12 * m->batch * m->fwd_flop_per_sample, flop_source, f->flop_per_s / 1e12);
}

static void time_by_step(struct strait_model *m, const struct figures *f, bool flops_known)
{
    strait_model_spread_times(m, f->step_s / 3, f->step_s * 2 / 3);
    m->timing = STRAIT_TIMING_STATED_STEP;
    m->device_flop_per_s = flops_known ? 3 * m->fwd_flop_per_sample * m->batch / f->step_s : 0;
    snprintf(m->device, sizeof m->device, "the user's device");
    snprintf(m->timing_source, sizeof m->timing_source,
             "a step of %.6g s, stated by the user, divided among the layers by their "
             "multiply-adds, a third of it forward",
             f->step_s);
}

/* --- the three forms ---------------------------------------------------------------------- */

static int change_named(struct strait_model *m, const struct figures *f, struct strait_object *o,
                        struct strait_error *err)
{
    struct strait_error why = {0};
    if (f->batch > 0 && strait_model_set_batch(m, (unsigned)f->batch, &why) != 0)
        return fail(o, "batch", err, why.text);
    if (f->step_s > 0 && strait_model_set_step(m, f->step_s, &why) != 0)
        return fail(o, "step", err, why.text);
    if (f->flop_per_s > 0 && strait_model_set_device_rate(m, f->flop_per_s, &why) != 0)
        return fail(o, "rate", err, why.text);
    return 0;
}

static int read_named(struct strait_model **out, const struct figures *f, struct strait_object *o,
                      struct strait_error *err)
{
    const char *name;
    char where[STRAIT_JSON_POINTER_MAX * 2];
    return strait_object_string(o, &name, "name", err) != 0 ||
                   strait_model_name_load(
                       out, name, strait_object_where(o, "name", where, sizeof(where)), err) != 0 ||
                   change_named(*out, f, o, err) != 0
               ? -1
               : 0;
}

static int read_config(struct strait_model **out, const struct figures *f, struct strait_object *o,
                       struct strait_error *err)
{
    const char *path;
    char shipped[4096], where[STRAIT_JSON_POINTER_MAX * 2];
    struct strait_error why = {0};
    if (f->step_s <= 0 && f->flop_per_s <= 0)
        return fail_of_missing(o, err, "expected a \"step\" or a \"rate\" beside \"config\"");
    if (strait_object_string(o, &path, "config", err) != 0)
        return -1;
    const char *found = strait_shipped_path(shipped, sizeof(shipped), path);
    if (strait_hf_config_load(out, found, (size_t)f->tokens, &why) != 0) {
        const bool in_file = strcmp(why.where, found) != 0; /* a place in it */
        return strait_error_set(err, why.code,
                                in_file ? why.where
                                        : strait_object_where(o, "config", where, sizeof(where)),
                                "%s%s%s", in_file ? "" : path, in_file ? "" : ": ", why.text);
    }
    (*out)->batch = f->batch > 0 ? (unsigned)f->batch : 1;
    if (f->step_s > 0) {
        time_by_step(*out, f, true);
        (*out)->inferred[0] = '\0'; /* tokens say how much there is to do: that is known */
    } else
        time_by_rate(*out, f, "the layers' multiply-adds");
    return 0;
}

/* "350 M", or the number itself. */
static int read_count(double *n, struct strait_object *o, const char *key, struct strait_error *err)
{
    long whole;
    if (!json_is_integer(strait_object_value(o, key)))
        return strait_object_quantity(o, n, key, STRAIT_UNIT_COUNT, STRAIT_INFERRED_MIN_PARAMS,
                                      MAX_PARAMS, err);
    if (strait_object_integer(o, &whole, key, STRAIT_INFERRED_MIN_PARAMS, (long)MAX_PARAMS, err) !=
        0)
        return -1;
    *n = (double)whole;
    return 0;
}

static void scale_flops(struct strait_model *m, double factor)
{
    for (size_t l = 0; l < m->n_layers; l++)
        m->layers[l].fwd_flop_per_sample *= factor;
    m->fwd_flop_per_sample *= factor;
}

static int read_params(struct strait_model **out, const struct figures *f, struct strait_object *o,
                       struct strait_error *err)
{
    long n_blocks, vocabulary;
    double n_params;
    struct strait_error why = {0};
    if (f->step_s <= 0 && !(f->flop_per_s > 0 && (f->flop > 0) != (f->tokens > 0)))
        return fail_of_missing(
            o, err,
            "expected beside \"params\" a \"step\", or a \"rate\" with \"flops\" or "
            "\"tokens\" of a step");
    if (read_count(&n_params, o, "params", err) != 0 ||
        strait_object_integer_or(o, &n_blocks, "layers", 1, MAX_BLOCKS, 0, err) != 0 ||
        strait_object_integer_or(o, &vocabulary, "vocabulary", 1, MAX_TOKENS,
                                 STRAIT_INFERRED_VOCABULARY, err) != 0)
        return -1;
    if (strait_inferred_model(out, (size_t)llround(n_params), (size_t)n_blocks, (size_t)vocabulary,
                              &why) != 0)
        return why.code == STRAIT_ERR_INPUT
                   ? fail(o, "layers", err, why.text)
                   : strait_error_set(err, why.code, why.where, "%s", why.text);
    struct strait_model *m = *out;
    m->batch = (unsigned)f->batch;
    if (f->step_s > 0) {
        time_by_step(m, f, false);
        scale_flops(m, 0); /* unknown */
        return 0;
    }
    m->batch = f->batch > 0 ? m->batch : 1;
    /* 6 FLOPs a parameter and token: Kaplan et al. arXiv 2001.08361, section 2.1 */
    const double flop = f->flop > 0 ? f->flop : 6 * n_params * (double)f->tokens;
    scale_flops(m, flop / 3 / m->batch / m->fwd_flop_per_sample);
    time_by_rate(m, f, f->flop > 0 ? "stated by the user" : "6 a parameter and token");
    return 0;
}

/* --- the whole ---------------------------------------------------------------------------- */

static int read_figures(struct figures *f, struct strait_object *o, struct strait_error *err)
{
    const bool is_config = strait_object_has(o, "config"),
               is_params = strait_object_has(o, "params");
    if (strait_object_has(o, "name") + is_config + is_params != 1)
        return fail_of_missing(o, err, "expected one of \"name\", \"config\" and \"params\"");
    if (strait_object_integer_or(o, &f->batch, "batch", 1, MAX_BATCH, 0, err) != 0 ||
        strait_object_quantity_or(o, &f->step_s, "step", STRAIT_UNIT_TIME, DBL_MIN, MAX_STEP_S, 0,
                                  err) != 0 ||
        strait_object_quantity_or(o, &f->flop_per_s, "rate", STRAIT_UNIT_COMPUTE, 1, 1e20, 0,
                                  err) != 0)
        return -1;
    if ((is_config || is_params) &&
        strait_object_integer_or(o, &f->tokens, "tokens", 1, MAX_TOKENS, 0, err) != 0)
        return -1;
    if (is_params &&
        strait_object_quantity_or(o, &f->flop, "flops", STRAIT_UNIT_FLOP, 1, 1e30, 0, err) != 0)
        return -1;
    return f->step_s > 0 && (f->flop_per_s > 0 || f->flop > 0)
               ? fail(o, "step", err, "expected no \"rate\" and no \"flops\" beside a \"step\"")
               : 0;
}

int strait_model_object_load(struct strait_model **out, struct strait_object *o,
                             struct strait_error *err)
{
    struct figures f = {0};
    *out = NULL;
    if (read_figures(&f, o, err) != 0 ||
        (strait_object_has(o, "config")   ? read_config(out, &f, o, err)
         : strait_object_has(o, "params") ? read_params(out, &f, o, err)
                                          : read_named(out, &f, o, err)) != 0 ||
        strait_object_close(o, err) != 0) {
        strait_model_free(*out);
        *out = NULL;
        return -1;
    }
    return 0;
}
