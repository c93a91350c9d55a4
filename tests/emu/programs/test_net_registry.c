/* Where networks that are up are found: names, folders, locks, and what a killed one left. */
#include "emu/programs/net_registry.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "tests/kit/folder.h"
#include "tests/kit/suite.h"

static char folder[64];

static void set_up(void)
{
    strcpy(folder, "/tmp/strait-reg-XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    setenv("STRAIT_NET_FOLDER", folder, 1);
}

static void tear_down(void)
{
    unsetenv("STRAIT_NET_FOLDER");
    folder_remove(folder);
}

static void names(void)
{
    char longest[66];
    memset(longest, 'n', 65);
    longest[65] = '\0';
    const struct {
        const char *name;
        bool good;
    } cases[] = {{"a", true},      {"A.b_c-9", true}, {"9", true},   {longest + 1, true},
                 {longest, false}, {"", false},       {".a", false}, {"-a", false},
                 {"a/b", false},   {"a b", false},    {"_a", false}, {"\xc3\xa4", false}};
    set_up();
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct strait_emu_registry p;
        struct strait_error err = {0};
        strait_test_context("%s", cases[i].name);
        CU_ASSERT_EQUAL(strait_emu_registry_init(&p, cases[i].name, &err), cases[i].good ? 0 : -1);
        CU_ASSERT_EQUAL(err.code, cases[i].good ? STRAIT_OK : STRAIT_ERR_USAGE);
        if (!cases[i].good)
            CU_ASSERT_EQUAL(strncmp(err.text, "expected a name of up to 64 letters, digits, ", 45),
                            0);
    }
    struct strait_emu_registry p;
    char path[160];
    CU_ASSERT_EQUAL(strait_emu_registry_init(&p, "n", NULL), 0);
    CU_ASSERT_STRING_EQUAL(p.name, "n");
    CU_ASSERT_STRING_EQUAL(p.folder, folder);
    snprintf(path, sizeof(path), "%s/n.lock", folder);
    CU_ASSERT_STRING_EQUAL(p.lock, path);
    snprintf(path, sizeof(path), "%s/n.sock", folder);
    CU_ASSERT_STRING_EQUAL(p.socket, path);
    snprintf(path, sizeof(path), "%s/n.json", folder);
    CU_ASSERT_STRING_EQUAL(p.state, path);
    tear_down();
}

/* Of this user alone; in its runtime folder where nothing else is said. */
static void folders(void)
{
    struct strait_emu_registry p;
    struct strait_error err = {0};
    char path[160], text[128], far[120];
    set_up();
    CU_ASSERT_EQUAL(chmod(folder, 0750), 0);
    CU_ASSERT_EQUAL(strait_emu_registry_init(&p, "n", &err), -1);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
    snprintf(text, sizeof(text), "expected a folder of user %u that others cannot read (mode 700)",
             (unsigned)geteuid());
    CU_ASSERT_STRING_EQUAL(err.text, text);
    chmod(folder, 0700);
    snprintf(path, sizeof(path), "%s/file", folder);
    FILE *f = fopen(path, "w");
    CU_ASSERT_FATAL(f && fclose(f) == 0 && chmod(path, 0700) == 0);
    setenv("STRAIT_NET_FOLDER", path, 1);
    err = (struct strait_error){0};
    CU_ASSERT_EQUAL(strait_emu_registry_init(&p, "n", &err), -1); /* no folder */
    CU_ASSERT_STRING_EQUAL(err.text, text);
    unsetenv("STRAIT_NET_FOLDER");
    const char *before = getenv("XDG_RUNTIME_DIR");
    char *kept = before ? strdup(before) : NULL;
    setenv("XDG_RUNTIME_DIR", folder, 1);
    CU_ASSERT_EQUAL(strait_emu_registry_init(&p, "n", NULL), 0);
    snprintf(path, sizeof(path), "%s/strait", folder);
    CU_ASSERT_STRING_EQUAL(p.folder, path);
    struct stat info;
    CU_ASSERT_EQUAL(stat(path, &info), 0); /* made */
    CU_ASSERT_EQUAL(info.st_mode & 0777, 0700);
    if (kept)
        setenv("XDG_RUNTIME_DIR", kept, 1);
    else
        unsetenv("XDG_RUNTIME_DIR");
    free(kept);
    /* a socket's address has room for 107 characters */
    memset(far, 'x', sizeof(far));
    memcpy(far, "/tmp/", 5);
    far[119] = '\0';
    setenv("STRAIT_NET_FOLDER", far, 1);
    err = (struct strait_error){0};
    CU_ASSERT_EQUAL(strait_emu_registry_init(&p, "n", &err), -1);
    CU_ASSERT_STRING_EQUAL(err.text, "expected a path of at most 107 characters for a socket");
    tear_down();
}

static void touch(const char *path)
{
    FILE *f = fopen(path, "w");
    CU_ASSERT_FATAL(f && fclose(f) == 0);
}

/* Up as long as somebody holds the lock; what is left without one is removed. */
static void locks(void)
{
    struct strait_emu_registry p, other;
    struct strait_error err = {0};
    set_up();
    CU_ASSERT_EQUAL_FATAL(strait_emu_registry_init(&p, "zeta", &err), 0);
    CU_ASSERT_EQUAL_FATAL(strait_emu_registry_init(&other, "alpha", &err), 0);
    CU_ASSERT_FALSE(strait_emu_registry_is_up(&p));
    touch(p.socket); /* of a killed one */
    touch(p.state);
    const int fd = strait_emu_registry_lock(&p, &err);
    CU_ASSERT_FATAL(fd >= 0);
    CU_ASSERT_NOT_EQUAL(access(p.socket, F_OK), 0);
    CU_ASSERT_NOT_EQUAL(access(p.state, F_OK), 0);
    CU_ASSERT_TRUE(strait_emu_registry_is_up(&p));
    CU_ASSERT_EQUAL(strait_emu_registry_lock(&p, &err), -1);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_USAGE);
    CU_ASSERT_STRING_EQUAL(err.text,
                           "network \"zeta\" is up already (strait net down --name zeta)");
    err = (struct strait_error){0};
    const int second = strait_emu_registry_lock(&other, &err);
    CU_ASSERT_FATAL(second >= 0);
    json_t *all = strait_emu_registry_names(&err);
    CU_ASSERT_EQUAL_FATAL(json_array_size(all), 2);
    CU_ASSERT_STRING_EQUAL(json_string_value(json_array_get(all, 0)), "alpha");
    CU_ASSERT_STRING_EQUAL(json_string_value(json_array_get(all, 1)), "zeta");
    json_decref(all);
    close(second);
    touch(other.state);
    all = strait_emu_registry_names(&err);
    CU_ASSERT_EQUAL(json_array_size(all), 1);
    json_decref(all);
    CU_ASSERT_NOT_EQUAL(access(other.lock, F_OK), 0);
    CU_ASSERT_NOT_EQUAL(access(other.state, F_OK), 0);
    strait_emu_registry_clear(&p);
    CU_ASSERT_NOT_EQUAL(access(p.lock, F_OK), 0);
    close(fd);
    CU_ASSERT_FALSE(strait_emu_registry_is_up(&p));
    tear_down();
}

static const struct strait_test tests[] = {
    {"names that can be names of files and hosts", names},
    {"the folder is this user's alone", folders},
    {"a network is up while its lock is held", locks},
};
STRAIT_SUITE("emu/programs/net_registry", tests);
