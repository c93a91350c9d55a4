#include "known_accuracy.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include "analysis/fields.h"
#include "analysis/tradeoff.h"
#include "codecs/codec.h"

static const char *name_of(const json_t *codec)
{
    const char *name = json_string_value(codec);
    name = name ? name : json_string_value(json_object_get(codec, "name"));
    return name ? name : "none";
}

static bool is_lossless(const json_t *codec)
{
    const struct strait_codec_ops *ops = strait_codec_find(name_of(codec));
    return ops && (ops->flags & STRAIT_CODEC_LOSSLESS);
}

/* Equal but for what takes time alone: "zstd" is {"name": "zstd"}. */
static bool same_codec(const json_t *a, const json_t *b)
{
    static const char *const of_time[] = {"profile", "speed"};
    json_t *all[2];
    const json_t *given[2] = {a, b};
    for (int i = 0; i < 2; i++) {
        all[i] = json_is_object(given[i]) ? json_copy((json_t *)given[i])
                                          : json_pack("{s:s}", "name", name_of(given[i]));
        for (size_t k = 0; k < sizeof(of_time) / sizeof(*of_time); k++)
            json_object_del(all[i], of_time[k]);
    }
    const bool same = json_equal(all[0], all[1]);
    json_decref(all[0]);
    json_decref(all[1]);
    return same;
}

/* Whether two strategies are equally accurate where nothing is encoded, as far as is known. */
static bool steps_alike(const char *a, const char *b)
{
    const struct strait_strategy *x = strait_strategy_find(a), *y = strait_strategy_find(b);
    return strcmp(a, b) == 0 || (x && y && x->is_exact && y->is_exact);
}

/* A lossless codec is as good as none in the experiment's own strategy; in another one that may
 * lose something by itself (the ranks of PowerSGD), only where its steps are exact. */
static bool loses_nothing(const struct strait_plan_question *q, const char *strategy)
{
    const struct strait_strategy *s = strait_strategy_find(strategy);
    return strcmp(strategy, q->strategy) == 0 || (s && s->is_exact);
}

/* What was trained holds for its own model, strategy and number of clients. */
static bool is_of(const json_t *of, const json_t *row)
{
    const char *key;
    json_t *value;
    json_object_foreach ((json_t *)of, key, value)
        if (!json_equal(value, json_object_get(row, key)))
            return false;
    return true;
}

/* What the question states of this codec; of any lossless one what it states of "none". */
static const json_t *stated_of(const struct strait_plan_question *q, const json_t *codec,
                               const json_t *down, bool lossless, const json_t *row)
{
    size_t i;
    json_t *entry;
    const char *strategy = strait_text_of(row, "strategy");
    json_array_foreach (q->known, i, entry) {
        const json_t *of = json_object_get(entry, "codec"),
                     *of_down = json_object_get(entry, "download_codec");
        const char *stated = json_string_value(json_object_get(entry, "strategy"));
        if (!json_object_get(entry, "of") && !steps_alike(stated ? stated : q->strategy, strategy))
            continue;
        const bool same_down =
            same_codec(of_down, down) || (is_lossless(of_down) && is_lossless(down));
        if (is_of(json_object_get(entry, "of"), row) && same_down &&
            (same_codec(of, codec) || (lossless && is_lossless(of))))
            return entry;
    }
    return NULL;
}

void strait_known_accuracy_of(struct strait_known_accuracy *out,
                              const struct strait_plan_question *q,
                              const struct strait_curves *curves, const json_t *point,
                              const json_t *row)
{
    json_t *resolved = json_copy((json_t *)point);
    strait_codec_same_resolve(resolved);
    const json_t *codec = json_object_get(resolved, "codec"),
                 *down = json_object_get(resolved, "download_codec");
    *out = (struct strait_known_accuracy){.accuracy = NAN, .spread = NAN, .n_rounds = NAN};
    out->lossless = is_lossless(codec) && is_lossless(down) &&
                    loses_nothing(q, strait_text_of(row, "strategy"));
    const json_t *stated = stated_of(q, codec, down, out->lossless, row);
    const struct strait_curve *curve = stated ? NULL : strait_tradeoff_curve(curves, row);
    if (stated) {
        const double n_rounds = strait_row_number(stated, "rounds");
        out->accuracy = strait_row_number(stated, "accuracy");
        out->spread = strait_row_number(stated, "spread");
        out->n_rounds = n_rounds > 0 ? n_rounds : NAN;
        snprintf(out->source, sizeof(out->source), "%s%.140s",
                 json_object_get(stated, "of") ? "" : "stated: ", strait_text_of(stated, "source"));
    } else if (curve) {
        const unsigned n = strait_curve_rounds_to(
            curve, q->target == STRAIT_TARGET_ACCURACY ? q->target_value : INFINITY);
        out->accuracy = strait_curve_final_acc(curve, 3); /* as the trade-off has it */
        out->spread = strait_tradeoff_spread(curves, curve);
        out->n_rounds = n > 0 ? (double)n : NAN;
        snprintf(out->source, sizeof(out->source), "recorded: run %.64s", curve->run);
    } else if (out->lossless) {
        snprintf(out->source, sizeof(out->source), "lossless: as without a codec");
    }
    out->known = stated || curve || out->lossless;
    json_decref(resolved);
}
