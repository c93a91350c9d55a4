#include "tuner.h"

bool strait_tuner_ends_trial(const struct strait_tuner *t, int round)
{
    return round > 0 && round % t->n_rounds == 0 && round / t->n_rounds <= t->n_trials;
}

int strait_tuner_mark(struct strait_tuner *t, int round, double now_s, struct strait_error *err)
{
    const int nth = (round - 1) % t->n_rounds + 1;
    if (nth == STRAIT_TUNER_FIRST_TIMED)
        t->third_mark_s = now_s;
    if (!strait_tuner_ends_trial(t, round))
        return 0;
    strait_bayes_observe(&t->bayes, t->fusion_bytes,
                         (now_s - t->third_mark_s) / (t->n_rounds - STRAIT_TUNER_FIRST_TIMED));
    t->fusion_bytes = t->bayes.x[strait_bayes_best(&t->bayes)];
    if (round / t->n_rounds == t->n_trials)
        return 0;
    return strait_bayes_suggest(&t->fusion_bytes, &t->bayes, err);
}
