/* Which tensors are measured: the recorded ones or files of the user's. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "core/json.h"
#include "core/names.h"
#include "codec_command.h"
#include "cli/kit/files.h"

static const char *const words[] = {"weights", "updates", "gradients", NULL};
static const char *const kinds[] = {"param", "update", "grad"};

const char *strait_tensor_kind_word(const char *kind)
{
    for (size_t i = 0; words[i]; i++)
        if (strcmp(kind, kinds[i]) == 0)
            return words[i];
    return strcmp(kind, "change") == 0 ? "changes" : "all";
}

/* The kind that a word names. */
static int parse_kind(const char **kind, const char *word, struct strait_error *err)
{
    for (size_t i = 0; words[i]; i++)
        if (strcmp(word, words[i]) == 0) {
            *kind = kinds[i];
            return 0;
        }
    return strait_refuse_name(err, STRAIT_ERR_USAGE, "--kind", "weights, updates or gradients",
                              word, words);
}

static int load_files(struct strait_tensor_set *set, const char *const *paths, const char *kind,
                      struct strait_error *err)
{
    for (; set->n_loaded < set->n; set->n_loaded++) {
        struct strait_array_form form;
        struct strait_set_tensor *t = &set->items[set->n_loaded];
        size_t n_changed;
        if (strait_tensor_read(&form, &set->owned[set->n_loaded], &n_changed, paths[set->n_loaded],
                               err) != 0)
            return -1;
        *t = (struct strait_set_tensor){.name = paths[set->n_loaded],
                                        .kind = kind ? kind : "any",
                                        .x = set->owned[set->n_loaded],
                                        .n_elems = form.n_elems,
                                        .n_rows = form.n_dims >= 2 ? form.shape[0] : 0,
                                        .n_dims = form.n_dims};
    }
    return 0;
}

static void take_recordings(struct strait_tensor_set *set, const char *kind)
{
    for (size_t i = 0; i < set->recorded->n_recordings; i++) {
        const struct strait_recording *r = &set->recorded->recordings[i];
        if (kind && strcmp(kind, r->kind) != 0)
            continue;
        set->items[set->n++] =
            (struct strait_set_tensor){.name = r->file,
                                       .kind = r->kind,
                                       .x = r->values,
                                       .n_elems = r->n_elems,
                                       .n_rows = r->n_dims >= 2 ? r->shape[0] : 0,
                                       .n_dims = r->n_dims};
    }
}

static bool is_folder(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0 && S_ISDIR(s.st_mode);
}

int strait_tensor_set_load(struct strait_tensor_set *set, const char *const *paths, size_t n_paths,
                           const char *kind_word, struct strait_error *err)
{
    const char *kind = NULL;
    *set = (struct strait_tensor_set){0};
    if (kind_word && parse_kind(&kind, kind_word, err) != 0)
        return -1;
    const char *folder = n_paths == 1 && is_folder(paths[0]) ? paths[0] : NULL;
    if (folder)
        n_paths = 0;
    if (n_paths == 0 && strait_tensors_load(&set->recorded, folder, err) != 0)
        return -1;
    const size_t most = n_paths > 0 ? n_paths : set->recorded->n_recordings;
    set->items = calloc(most, sizeof(*set->items));
    set->owned = calloc(most, sizeof(*set->owned));
    int status = 0;
    if (!set->items || !set->owned)
        status = strait_error_memory(err, NULL);
    else if (n_paths == 0)
        take_recordings(set, kind);
    else {
        set->n = n_paths;
        status = load_files(set, paths, kind, err);
    }
    if (status != 0)
        strait_tensor_set_release(set);
    return status;
}

void strait_tensor_set_release(struct strait_tensor_set *set)
{
    for (size_t i = 0; set->owned && i < set->n_loaded; i++)
        free(set->owned[i]);
    free(set->owned);
    free(set->items);
    strait_tensors_free(set->recorded);
    *set = (struct strait_tensor_set){0};
}
