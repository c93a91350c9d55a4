#include "folder.h"
#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "suite.h"

enum { READ_BYTES = 1 << 16 };

/* To the end, whatever its size is said to be: files of /proc say 0. */
char *folder_bytes(const char *folder, const char *name, size_t *len_bytes)
{
    char path[PATH_MAX], *bytes = NULL;
    size_t n_read = 0;
    snprintf(path, sizeof(path), "%s%s%s", *name == '/' ? "" : folder, *name == '/' ? "" : "/",
             name);
    FILE *in = fopen(path, "re");
    if (!in)
        return NULL;
    *len_bytes = 0;
    do {
        *len_bytes += n_read;
        char *more = realloc(bytes, *len_bytes + READ_BYTES + 1);
        CU_ASSERT_PTR_NOT_NULL_FATAL(more);
        bytes = more;
    } while ((n_read = fread(bytes + *len_bytes, 1, READ_BYTES, in)) > 0);
    bytes[*len_bytes] = '\0';
    fclose(in);
    return bytes;
}

char *folder_text(const char *folder, const char *name)
{
    size_t len_bytes;
    char *text = folder_bytes(folder, name, &len_bytes);
    return text ? text : calloc(1, 1);
}

static bool remove_tree(const char *path)
{
    DIR *dir = opendir(path);
    for (const struct dirent *e; dir && (e = readdir(dir));) {
        char inner[PATH_MAX];
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        snprintf(inner, sizeof(inner), "%s/%s", path, e->d_name);
        if (unlink(inner) != 0)
            remove_tree(inner);
    }
    if (dir)
        closedir(dir);
    return rmdir(path) == 0;
}

void folder_remove(const char *folder)
{
    CU_ASSERT_TRUE(remove_tree(folder));
}

int folder_n_processes(const char *folder, const char *where)
{
    int n = 0;
    DIR *proc = opendir("/proc");
    for (const struct dirent *e; proc && (e = readdir(proc));) {
        char name[300];
        size_t len_bytes;
        if (e->d_name[0] < '0' || e->d_name[0] > '9')
            continue;
        snprintf(name, sizeof(name), "/proc/%s/%s", e->d_name, where);
        char *bytes = folder_bytes(folder, name, &len_bytes);
        n += bytes && memmem(bytes, len_bytes, folder, strlen(folder)) != NULL;
        free(bytes);
    }
    if (proc)
        closedir(proc);
    return n;
}
