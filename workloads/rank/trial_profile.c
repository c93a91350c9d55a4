/* What a point takes from its profile, so that entries for other codecs change nothing about it. */
#include <string.h>

#include "trial.h"

/* Entries that the rank code may ask for while it runs: a policy's other bounds, and the kernels of
 * strategies that encode by themselves. */
static bool may_ask(const struct strait_experiment *e, const struct strait_profile_entry *entry)
{
    const struct strait_codec_ops *ops = strait_codec_find(entry->codec);
    return (e->strategy->bounds_of && ops == e->up.spec.ops) ||
           (strcmp(e->up.spec.ops->name, "none") == 0 && ops &&
            strcmp(ops->family, "low-rank") == 0);
}

const char *strait_trial_profile_hash(char key[STRAIT_KEY_CHARS], const struct strait_trial *p)
{
    const struct strait_codec_cost *costs[] = {&p->up, &p->down, &p->lossless_up,
                                               &p->lossless_down};
    enum { N_COSTS = sizeof(costs) / sizeof(costs[0]) };
    const double speeds[2] = {p->add_bytes_per_s, p->copy_bytes_per_s};
    struct strait_codec_cost taken[N_COSTS];
    char numbers[STRAIT_KEY_CHARS], memory[STRAIT_KEY_CHARS], entry[STRAIT_KEY_CHARS];
    for (size_t i = 0; i < N_COSTS; i++)
        taken[i] = *costs[i];
    json_t *all = json_pack("[s, s]", strait_hash_bytes(numbers, taken, sizeof(taken)),
                            strait_hash_bytes(memory, speeds, sizeof(speeds)));
    for (size_t i = 0; all && i < p->profile->n_entries; i++) {
        const struct strait_profile_entry *e = &p->profile->entries[i];
        if (may_ask(p->experiment, e))
            json_array_append_new(all, json_string(strait_hash_bytes(entry, e, sizeof(*e))));
    }
    const char *hashed = all ? strait_hash_json(key, all) : NULL;
    json_decref(all);
    return hashed;
}
