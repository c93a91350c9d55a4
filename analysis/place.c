/* Keys of settings and codecs. */
#include "place.h"

#include <string.h>

#include "label.h"

static int hash(char key[STRAIT_KEY_CHARS], json_t *value, struct strait_error *err)
{
    const bool hashed = value && strait_hash_json(key, value);
    json_decref(value);
    return hashed ? 0 : strait_error_memory(err, "results");
}

int strait_place_of_point(struct strait_place *p, const json_t *resolved, struct strait_error *err)
{
    json_t *setting = json_copy((json_t *)resolved), *codecs = json_object();
    static const char *const both[] = {"codec", "download_codec"};
    for (size_t i = 0; i < 2; i++) {
        json_object_set(codecs, both[i], json_object_get(resolved, both[i]));
        json_object_del(setting, both[i]);
    }
    json_object_del(setting, "clients");
    const int failed = hash(p->setting, setting, err);
    return hash(p->codec, codecs, err) != 0 || failed ? -1 : 0;
}

/* The labels that say how to compress, or all the others but the number of clients. */
static json_t *labels_of(const json_t *row, bool codec)
{
    json_t *some = json_object(), *value;
    const char *pointer;
    json_object_foreach (json_object_get(row, "labels"), pointer, value)
        if (strait_label_is_codec(pointer) == codec && !strait_label_is_clients(pointer))
            json_object_set(some, pointer, value);
    return some;
}

int strait_place_of_row(struct strait_place *p, const json_t *row, struct strait_error *err)
{
    const char *setting = json_string_value(json_object_get(row, "setting_key")),
               *codec = json_string_value(json_object_get(row, "codec_key"));
    if (setting && codec && strlen(setting) < STRAIT_KEY_CHARS &&
        strlen(codec) < STRAIT_KEY_CHARS) {
        strcpy(p->setting, setting);
        strcpy(p->codec, codec);
        return 0;
    }
    /* without a codec it is the same with and without its label: "none", or taken out */
    json_t *codecs =
        json_pack("{s:O?, s:O?, s:o}", "codec", json_object_get(row, "codec"), "download_codec",
                  json_object_get(row, "download_codec"), "labels",
                  strait_label_row_is_plain(row) ? json_object() : labels_of(row, true));
    const int failed = hash(p->setting, labels_of(row, false), err);
    return hash(p->codec, codecs, err) != 0 || failed ? -1 : 0;
}

void strait_place_put(json_t *row, const struct strait_place *p)
{
    json_object_set_new(row, "setting_key", json_string(p->setting));
    json_object_set_new(row, "codec_key", json_string(p->codec));
}
