#include "guest_job.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_CHARS = STRAIT_GUEST_PATH_CHARS };

void strait_guest_texts_add(struct strait_guest_texts *t, const char *text)
{
    char **items = realloc(t->items, (t->n + 2) * sizeof(*items)), *copy = strdup(text);
    if (items)
        t->items = items;
    t->is_short = t->is_short || !items || !copy;
    if (t->is_short) {
        free(copy);
        return;
    }
    items[t->n++] = copy;
    items[t->n] = NULL;
    t->n_chars += strlen(text) + 1;
}

void strait_guest_texts_add_once(struct strait_guest_texts *t, const char *text)
{
    for (size_t i = 0; i < t->n; i++)
        if (strcmp(t->items[i], text) == 0)
            return;
    strait_guest_texts_add(t, text);
}

void strait_guest_texts_release(struct strait_guest_texts *t)
{
    for (size_t i = 0; i < t->n; i++)
        free(t->items[i]);
    free(t->items);
    *t = (struct strait_guest_texts){0};
}

const char *const *strait_guest_texts_items(const struct strait_guest_texts *t)
{
    return (const char *const *)(void *)t->items;
}

int strait_guest_find_self(char self[PATH_CHARS], char here[PATH_CHARS], struct strait_error *err)
{
    const ssize_t n = readlink("/proc/self/exe", self, PATH_CHARS - 1);
    if (n < 0 || !getcwd(here, PATH_CHARS))
        return strait_error_system(err, NULL, "cannot find out where this program is");
    self[n] = '\0';
    return 0;
}

void strait_guest_add_arguments(struct strait_guest_texts *t, int argc, char **argv,
                                const char *const *options)
{
    int i = 0;
    while (i < argc && strcmp(argv[i], "--") != 0) {
        const size_t n = strcspn(argv[i], "=");
        bool is_named = false;
        for (size_t j = 0; options[j] && !is_named; j++)
            is_named = strlen(options[j]) == n && strncmp(argv[i], options[j], n) == 0;
        if (!is_named)
            strait_guest_texts_add(t, argv[i]);
        i += is_named && argv[i][n] == '\0' ? 2 : 1; /* with its value */
    }
    for (; i < argc; i++)
        strait_guest_texts_add(t, argv[i]);
}

void strait_guest_add_folder(struct strait_guest_texts *t, const char *path)
{
    static const char *const covered[] = {"/tmp", "/var/tmp", "/run", "/dev/shm"};
    char name[PATH_CHARS];
    struct stat st;
    if (stat(path, &st) != 0 || snprintf(name, sizeof(name), "%s", path) >= PATH_CHARS)
        return;
    const bool is_folder = S_ISDIR(st.st_mode);
    char *slash = strrchr(name, '/');
    for (size_t i = 0; i < sizeof(covered) / sizeof(covered[0]); i++) {
        const size_t n = strlen(covered[i]);
        if (strncmp(name, covered[i], n) != 0 || name[n] != '/' || name[n + 1] == '\0')
            continue;
        if (!is_folder && slash != name + n)
            *slash = '\0';
        strait_guest_texts_add_once(t, name);
        return;
    }
}

void strait_guest_show(const char *job, const char *name, FILE *to)
{
    char path[PATH_CHARS + 16], bytes[65536];
    size_t n;
    snprintf(path, sizeof(path), "%s/%s", job, name);
    FILE *from = fopen(path, "re");
    while (from && (n = fread(bytes, 1, sizeof(bytes), from)) > 0)
        fwrite(bytes, 1, n, to);
    if (from)
        fclose(from);
    fflush(to);
}
