#include "net_registry.h"
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { LOCK_TRIES = 20 }; /* another command that checks the network holds the lock briefly */
static const char LOCK_END[] = ".lock";

static int check_name(const char *name, struct strait_error *err)
{
    const size_t n = strlen(name);
    bool good = n > 0 && n < STRAIT_EMU_NAME_CHARS && isalnum((unsigned char)name[0]);
    for (size_t i = 0; i < n && good; i++)
        good = isalnum((unsigned char)name[i]) || strchr("._-", name[i]);
    if (good)
        return 0;
    return strait_error_set(err, STRAIT_ERR_USAGE, "net",
                            "expected a name of up to %d letters, digits, \".\", \"_\" or \"-\", "
                            "found \"%s\"",
                            STRAIT_EMU_NAME_CHARS - 1, name);
}

/* "a" + "b" where there is room for it. */
static int put(char out[STRAIT_EMU_PLACE_CHARS], const char *a, const char *b, const char *c,
               struct strait_error *err)
{
    if (snprintf(out, STRAIT_EMU_PLACE_CHARS, "%s%s%s", a, b, c) < STRAIT_EMU_PLACE_CHARS)
        return 0;
    return strait_refuse(err, a, "expected a path of at most %d characters for a socket",
                         STRAIT_EMU_PLACE_CHARS - 1);
}

static int find_folder(char folder[STRAIT_EMU_PLACE_CHARS], struct strait_error *err)
{
    const char *given = getenv("STRAIT_NET_FOLDER"), *runtime = getenv("XDG_RUNTIME_DIR");
    char user[32];
    if (given && *given)
        return put(folder, given, "", "", err);
    if (runtime && *runtime == '/' && access(runtime, W_OK | X_OK) == 0)
        return put(folder, runtime, "/strait", "", err);
    if (geteuid() == 0 && access("/run", W_OK | X_OK) == 0)
        return put(folder, "/run/strait", "", "", err);
    snprintf(user, sizeof(user), "%u", (unsigned)geteuid());
    return put(folder, "/tmp/strait-", user, "", err);
}

/* Must belong to this user: whoever else could write there could send programs into any network. */
static int make_folder(const char *folder, struct strait_error *err)
{
    struct stat info;
    if (mkdir(folder, 0700) != 0 && errno != EEXIST)
        return strait_error_system(err, folder, "cannot make the folder of networks");
    if (lstat(folder, &info) != 0)
        return strait_error_system(err, folder, "cannot look at the folder of networks");
    if (!S_ISDIR(info.st_mode) || info.st_uid != geteuid() || (info.st_mode & 077) != 0)
        return strait_refuse(err, folder,
                             "expected a folder of user %u that others cannot read (mode 700)",
                             (unsigned)geteuid());
    return 0;
}

int strait_emu_registry_init(struct strait_emu_registry *out, const char *name,
                             struct strait_error *err)
{
    *out = (struct strait_emu_registry){.name = ""};
    if (check_name(name, err) != 0 || find_folder(out->folder, err) != 0 ||
        make_folder(out->folder, err) != 0)
        return -1;
    snprintf(out->name, sizeof(out->name), "%s", name);
    char stem[STRAIT_EMU_PLACE_CHARS];
    if (put(stem, out->folder, "/", name, err) != 0 ||
        put(out->lock, stem, LOCK_END, "", err) != 0 ||
        put(out->socket, stem, ".sock", "", err) != 0 ||
        put(out->state, stem, ".json", "", err) != 0)
        return -1;
    return 0;
}

/* Whether the lock file still exists: it may have been removed between open and lock. */
static bool is_still_there(int fd, const char *path)
{
    struct stat ours, there;
    return fstat(fd, &ours) == 0 && stat(path, &there) == 0 && ours.st_dev == there.st_dev &&
           ours.st_ino == there.st_ino;
}

int strait_emu_registry_lock(const struct strait_emu_registry *p, struct strait_error *err)
{
    const struct timespec moment = {.tv_nsec = 10 * 1000 * 1000};
    for (int i = 0; i < LOCK_TRIES; i++) {
        const int fd = open(p->lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0)
            return strait_error_system(err, p->lock, "cannot open it");
        if (flock(fd, LOCK_EX | LOCK_NB) == 0 && is_still_there(fd, p->lock)) {
            unlink(p->socket);
            unlink(p->state);
            return fd;
        }
        close(fd);
        nanosleep(&moment, NULL);
    }
    return strait_error_set(err, STRAIT_ERR_USAGE, "net",
                            "network \"%s\" is up already (strait net down --name %s)", p->name,
                            p->name);
}

bool strait_emu_registry_is_up(const struct strait_emu_registry *p)
{
    const int fd = open(p->lock, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return false;
    const bool stale = flock(fd, LOCK_EX | LOCK_NB) == 0;
    if (stale && is_still_there(fd, p->lock))
        strait_emu_registry_clear(p);
    close(fd);
    return !stale;
}

void strait_emu_registry_clear(const struct strait_emu_registry *p)
{
    unlink(p->socket);
    unlink(p->state);
    unlink(p->lock);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(json_string_value(*(json_t *const *)a), json_string_value(*(json_t *const *)b));
}

static json_t *sorted(json_t *names)
{
    const size_t n = json_array_size(names);
    json_t **items = malloc((n + 1) * sizeof(*items)), *out = json_array();
    for (size_t i = 0; items && i < n; i++)
        items[i] = json_array_get(names, i);
    if (items)
        qsort(items, n, sizeof(*items), by_text);
    for (size_t i = 0; items && i < n; i++)
        json_array_append(out, items[i]);
    free(items);
    json_decref(names);
    return out;
}

json_t *strait_emu_registry_names(struct strait_error *err)
{
    struct strait_emu_registry p;
    if (strait_emu_registry_init(&p, "default", err) != 0)
        return NULL;
    DIR *dir = opendir(p.folder);
    if (!dir) {
        strait_error_system(err, p.folder, "cannot read the folder of networks");
        return NULL;
    }
    json_t *names = json_array();
    for (const struct dirent *e; (e = readdir(dir));) {
        char name[STRAIT_EMU_NAME_CHARS];
        const size_t n = strlen(e->d_name), n_end = sizeof(LOCK_END) - 1;
        if (n <= n_end || n - n_end >= sizeof(name) || strcmp(e->d_name + n - n_end, LOCK_END) != 0)
            continue;
        snprintf(name, sizeof(name), "%.*s", (int)(n - n_end), e->d_name);
        if (strait_emu_registry_init(&p, name, NULL) == 0 && strait_emu_registry_is_up(&p))
            json_array_append_new(names, json_string(name));
    }
    closedir(dir);
    return sorted(names);
}
