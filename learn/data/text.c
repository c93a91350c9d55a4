#include "text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "fashion.h"
#include "split.h"

/* The topics above 35 KB that are prose or verse. */
static const char *const topics[LEARN_TEXT_TOPICS] = {
    "computers", "cookie",     "definitions", "humorists", "knghtbrd",    "law",    "linux",
    "people",    "platitudes", "politics",    "science",   "songs-poems", "wisdom", "work"};
static const char folder[] = "/usr/share/games/fortunes";

int learn_text_word(unsigned char byte)
{
    if (byte == '\n')
        return 0;
    if (byte == '\t')
        byte = ' ';
    if (byte >= 0xc0) /* the first byte of a character; 0x80 to 0xbf are its others */
        byte = '?';
    return byte >= ' ' && byte <= '~' ? byte - ' ' + 1 : -1;
}

static int missing(const char *path, struct strait_error *err)
{
    return errno == ENOENT || errno == ENOTDIR
               ? strait_error_set(err, STRAIT_ERR_HOST, path,
                                  "expected the text of Debian's package " LEARN_TEXT_PACKAGE
                                  ", found no such file (apt-get install " LEARN_TEXT_PACKAGE ")")
               : strait_error_system(err, path, "cannot read the file");
}

/* Append a topic's words; t->words has room for n_bytes of the file. */
static int append(struct learn_text *t, size_t topic, const char *path, struct strait_error *err)
{
    FILE *f = fopen(path, "rb");
    unsigned char bytes[65536];
    size_t got, at = t->first[topic];
    if (!f)
        return missing(path, err);
    while ((got = fread(bytes, 1, sizeof(bytes), f)) > 0) {
        unsigned char *more = realloc(t->words, at + got);
        if (!more) {
            fclose(f);
            return strait_error_memory(err, path);
        }
        t->words = more;
        for (size_t i = 0; i < got; i++) {
            const int word = learn_text_word(bytes[i]);
            if (word >= 0)
                t->words[at++] = (unsigned char)word;
        }
    }
    t->first[topic + 1] = at;
    const bool bad = ferror(f) != 0;
    fclose(f);
    return bad ? missing(path, err) : 0;
}

int learn_text_read(struct learn_text *t, struct strait_error *err)
{
    const char *elsewhere = getenv(STRAIT_DATA_VARIABLE);
    char path[4096];
    *t = (struct learn_text){0};
    for (size_t k = 0; k < LEARN_TEXT_TOPICS; k++) {
        snprintf(path, sizeof(path), "%s%s/%s", elsewhere && *elsewhere ? elsewhere : folder,
                 elsewhere && *elsewhere ? "/fortunes" : "", topics[k]);
        if (append(t, k, path, err) != 0) {
            learn_text_release(t);
            return -1;
        }
    }
    return 0;
}

void learn_text_release(struct learn_text *t)
{
    free(t->words);
    *t = (struct learn_text){0};
}

/* Where topic k is cut into what is trained on and what is held out. */
static size_t cut(const struct learn_text *t, size_t k)
{
    return t->first[k] + (t->first[k + 1] - t->first[k]) / 10 * 9;
}

/* Examples between two places. */
static uint32_t count(size_t from, size_t to, size_t context)
{
    return to > from ? (uint32_t)((to - from - 1) / context) : 0;
}

/* Starts of the examples between two places go to all[permuted place]. */
static void fill(uint32_t *all, unsigned char *topic_of, uint32_t n_all, uint32_t *n, size_t topic,
                 size_t from, uint32_t n_here, size_t context)
{
    for (uint32_t i = 0; i < n_here; i++) {
        const uint32_t place = strait_permuted(0, n_all, (*n)++);
        all[place] = (uint32_t)(from + i * context);
        topic_of[place] = (unsigned char)topic;
    }
}

int learn_text_windows(struct learn_text_windows *w, const struct learn_text *t, size_t context,
                       struct strait_error *err)
{
    uint32_t n_train = 0, n_held_out = 0;
    *w = (struct learn_text_windows){0};
    for (size_t k = 0; k < LEARN_TEXT_TOPICS; k++) {
        w->n_train += count(t->first[k], cut(t, k), context);
        w->n_held_out += count(cut(t, k), t->first[k + 1], context);
    }
    w->train = malloc((w->n_train + 1) * sizeof(*w->train));
    w->held_out = malloc((w->n_held_out + 1) * sizeof(*w->held_out));
    w->topics = malloc(w->n_train + 1);
    w->held_out_topics = malloc(w->n_held_out + 1);
    if (!w->train || !w->held_out || !w->topics || !w->held_out_topics) {
        learn_text_windows_release(w);
        return strait_error_memory(err, "text");
    }
    for (size_t k = 0; k < LEARN_TEXT_TOPICS; k++) {
        const size_t from = t->first[k], middle = cut(t, k), to = t->first[k + 1];
        fill(w->train, w->topics, w->n_train, &n_train, k, from, count(from, middle, context),
             context);
        fill(w->held_out, w->held_out_topics, w->n_held_out, &n_held_out, k, middle,
             count(middle, to, context), context);
    }
    return 0;
}

void learn_text_windows_release(struct learn_text_windows *w)
{
    free(w->train);
    free(w->held_out);
    free(w->topics);
    free(w->held_out_topics);
    *w = (struct learn_text_windows){0};
}
