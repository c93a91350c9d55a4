/* Reading "training" of an experiment. */
#include <assert.h>
#include <float.h>
#include <math.h>
#include <string.h>
#include "core/names.h"
#include "training.h"

enum { MAX_NAMES = 32, MAX_EXAMPLES = 1000000000 };

static const char *const optimisers[] = {"sgd", "adam", "adamw", "lamb", "kfac", NULL};

const char *const *strait_optimiser_names(void)
{
    return optimisers;
}

static int read_task(struct strait_training *t, struct strait_object *o, struct strait_error *err)
{
    const char *name, *names[MAX_NAMES + 1] = {0};
    char where[STRAIT_JSON_POINTER_MAX];
    if (strait_object_string(o, &name, "task", err))
        return -1;
    const struct strait_learn_task_info *info;
    for (size_t i = 0; (info = strait_learn_task(i)) && i < MAX_NAMES; i++) {
        names[i] = info->name;
        if (strcmp(info->name, name) == 0)
            break;
    }
    if (!info)
        return strait_refuse_name(err, STRAIT_ERR_INPUT,
                                  strait_object_where(o, "task", where, sizeof(where)),
                                  "a task (strait list tasks)", name, names);
    t->task = info->name;
    assert(info->n_params <= STRAIT_TRAINING_MAX_OPTIONS);
    for (size_t i = 0; i < info->n_params; i++) {
        const struct strait_param *p = &info->params[i];
        if (p->kind == STRAIT_PARAM_INTEGER) {
            long value;
            if (strait_object_integer_or(o, &value, p->name, (long)p->min, (long)p->max,
                                         (long)p->fallback, err))
                return -1;
            t->options[i] = (double)value;
        } else {
            assert(p->kind == STRAIT_PARAM_NUMBER);
            if (strait_object_number_or(o, &t->options[i], p->name, p->min, p->max, p->fallback,
                                        err))
                return -1;
        }
    }
    return 0;
}

/* Defaults are those of PyTorch 1.13; LAMB's are of You et al., arXiv 1904.00962, section 4; SGD's
 * those of the recorded curves (traces/curves); K-FAC's damping that of Pauloski et al.,
 * arXiv 2007.00784, section VI, kl_clip that of their program (kfac_pytorch), factor_decay that of
 * Martens and Grosse, arXiv 1503.05671, section 5. */
static int read_optimiser(struct strait_training *t, struct strait_object *o,
                          struct strait_error *err)
{
    const char *name;
    char where[STRAIT_JSON_POINTER_MAX];
    if (strait_object_string_or(o, &name, "optimiser", "sgd", err))
        return -1;
    int kind = 0;
    while (optimisers[kind] && strcmp(optimisers[kind], name) != 0)
        kind++;
    if (!optimisers[kind])
        return strait_refuse_name(err, STRAIT_ERR_INPUT,
                                  strait_object_where(o, "optimiser", where, sizeof(where)),
                                  "an optimiser", name, optimisers);
    t->optimiser = (enum strait_optimiser_kind)kind;
    const bool is_sgd = kind == STRAIT_SGD || kind == STRAIT_KFAC;
    const double decay = kind == STRAIT_ADAMW || kind == STRAIT_LAMB ? 0.01 : 0;
    if (strait_object_number_or(o, &t->lr, "lr", DBL_MIN, 1e6, is_sgd ? 0.05 : 1e-3, err) ||
        strait_object_number_or(o, &t->weight_decay, "weight_decay", 0, 1e3, decay, err) ||
        strait_object_bool_or(o, &t->keep_state, "keep_state", false, err))
        return -1;
    if (!is_sgd) {
        const double epsilon = kind == STRAIT_LAMB ? 1e-6 : 1e-8;
        return strait_object_number_or(o, &t->beta1, "beta1", 0, 1 - DBL_EPSILON, 0.9, err) ||
                       strait_object_number_or(o, &t->beta2, "beta2", 0, 1 - DBL_EPSILON, 0.999,
                                               err) ||
                       strait_object_number_or(o, &t->epsilon, "epsilon", 0, 1, epsilon, err)
                   ? -1
                   : 0;
    }
    if (strait_object_number_or(o, &t->momentum, "momentum", 0, 1 - DBL_EPSILON, 0.9, err) ||
        strait_object_bool_or(o, &t->nesterov, "nesterov", false, err))
        return -1;
    if (kind == STRAIT_KFAC)
        return strait_object_number_or(o, &t->damping, "damping", DBL_MIN, 1e6, 1e-3, err) ||
                       strait_object_number_or(o, &t->factor_decay, "factor_decay", 0,
                                               1 - DBL_EPSILON, 0.95, err) ||
                       strait_object_number_or(o, &t->kl_clip, "kl_clip", 0, 1e30, 1e-3, err)
                   ? -1
                   : 0;
    return 0;
}

/* "even" or {"dirichlet": alpha}. */
static int read_split(struct strait_training *t, struct strait_object *o, struct strait_error *err)
{
    t->alpha = INFINITY;
    const json_t *split = strait_object_value(o, "split");
    if (!split)
        return 0;
    char where[STRAIT_JSON_POINTER_MAX];
    if (json_is_string(split)) {
        if (strcmp(json_string_value(split), "even") == 0)
            return 0;
        return strait_refuse(err, strait_object_where(o, "split", where, sizeof(where)),
                             "expected \"even\" or {\"dirichlet\": alpha}, found \"%s\"",
                             json_string_value(split));
    }
    struct strait_object child;
    if (strait_object_enter(&child, o, "split", false, err) ||
        strait_object_number(&child, &t->alpha, "dirichlet", 1e-3, 1e6, err))
        return -1;
    return strait_object_close(&child, err);
}

static int read_evaluation(struct strait_training *t, struct strait_object *o,
                           struct strait_error *err)
{
    struct strait_object child;
    long every;
    if (strait_object_enter(&child, o, "eval", true, err) ||
        strait_object_integer_or(&child, &every, "every", 0, 1000000, 1, err) ||
        strait_object_integer_or(&child, &t->eval_samples, "samples", 0, MAX_EXAMPLES, 0, err) ||
        strait_object_bool_or(&child, &t->charge_eval, "charge", false, err))
        return -1;
    t->eval_every = (int)every;
    return strait_object_close(&child, err);
}

int strait_training_read(struct strait_training *t, struct strait_object *o,
                         struct strait_error *err)
{
    *t = (struct strait_training){0};
    long batch;
    if (read_task(t, o, err) || read_optimiser(t, o, err) || read_split(t, o, err) ||
        read_evaluation(t, o, err) ||
        strait_object_integer_or(o, &batch, "batch", 1, 65536, 32, err) ||
        strait_object_integer_or(o, &t->samples, "samples", 0, MAX_EXAMPLES, 0, err))
        return -1;
    t->batch = (int)batch;
    return strait_object_close(o, err);
}
