/* What is packed for a guest: names, modes, links and bytes, each once and in order; and what is
 * not. */
#include "emu/guest/guest_archive.h"
#include <archive.h>
#include <archive_entry.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "core/names.h"
#include "tests/kit/folder.h"
#include "tests/kit/suite.h"

enum { LISTING_CHARS = 8192, MAX_LINKS = 40 };

static char folder[] = "/tmp/strait-test-XXXXXX", packed[64];

static const char *in_folder(char path[128], const char *name)
{
    snprintf(path, 128, "%s/%s", folder, name);
    return path;
}

static void make_file(const char *name, const char *text, mode_t mode)
{
    char path[128];
    FILE *f = fopen(in_folder(path, name), "we");
    CU_ASSERT_FATAL(f != NULL);
    fputs(text, f);
    fclose(f);
    chmod(path, mode);
}

static void make_folder(const char *name)
{
    char path[128];
    CU_ASSERT_EQUAL(mkdir(in_folder(path, name), 0700), 0);
}

static void make_link(const char *name, const char *target)
{
    char path[128];
    CU_ASSERT_EQUAL(symlink(target, in_folder(path, name)), 0);
}

static void begin(struct strait_emu_archive *a)
{
    struct strait_error err = {0};
    strcpy(folder + strlen(folder) - 6, "XXXXXX");
    CU_ASSERT_FATAL(mkdtemp(folder) != NULL);
    snprintf(packed, sizeof(packed), "%s.cpio", folder);
    CU_ASSERT_EQUAL_FATAL(strait_emu_archive_init(a, packed, &err), 0);
}

/* What of it lies in the folder: "mode name [-> target | = text]", a line each. */
static void end(char listing[LISTING_CHARS], struct strait_emu_archive *a)
{
    struct strait_error err = {0};
    struct archive_entry *e;
    listing[0] = '\0';
    CU_ASSERT_EQUAL(strait_emu_archive_finish(a, &err), 0);
    strait_emu_archive_release(a);
    struct archive *r = archive_read_new();
    archive_read_support_format_cpio(r);
    CU_ASSERT_EQUAL(archive_read_open_filename(r, packed, 4096), ARCHIVE_OK);
    while (archive_read_next_header(r, &e) == ARCHIVE_OK) {
        const char *name = archive_entry_pathname(e), *target = archive_entry_symlink(e);
        const size_t above = strlen(folder) - 1; /* names are without the first slash */
        char text[200] = "";
        CU_ASSERT_EQUAL(archive_entry_mtime(e), 0);
        CU_ASSERT_EQUAL(archive_entry_uid(e), 0);
        if (strncmp(name, folder + 1, above) != 0 || name[above] == '\0') {
            CU_ASSERT(strcmp(name, "tmp") == 0 || strcmp(name, folder + 1) == 0);
            continue;
        }
        if (archive_entry_size(e) > 0)
            text[archive_read_data(r, text, sizeof(text) - 1)] = '\0';
        strait_text_add(listing, LISTING_CHARS, "%o %s%s%s%s%s\n", (unsigned)archive_entry_mode(e),
                        name + above + 1, target ? " -> " : "", target ? target : "",
                        *text ? " = " : "", text);
    }
    archive_read_free(r);
    unlink(packed);
    folder_remove(folder);
}

static void add(struct strait_emu_archive *a, const char *name)
{
    char path[128];
    struct strait_error err = {0};
    CU_ASSERT_EQUAL(strait_emu_archive_add(a, in_folder(path, name), &err), 0);
    CU_ASSERT_STRING_EQUAL(err.text, "");
}

static void names(void)
{
    struct strait_emu_archive a;
    char listing[LISTING_CHARS], path[128];
    struct strait_error err = {0};
    begin(&a);
    make_folder("d");
    make_folder("d/e");
    make_file("d/e/f", "hello", 0640);
    make_file("d/run", "x", 0777);
    make_file("d/none", "", 0600);
    add(&a, "d/e/f");
    add(&a, "d/run");
    add(&a, "d/none");
    add(&a, "d/e/f"); /* is there */
    add(&a, "d");
    CU_ASSERT_EQUAL(strait_emu_archive_add_link(&a, in_folder(path, "d/l"), "/any/where", &err), 0);
    CU_ASSERT_EQUAL(strait_emu_archive_add_link(&a, in_folder(path, "d/l"), "/another", &err), 0);
    end(listing, &a);
    CU_ASSERT_STRING_EQUAL(listing, "40755 d\n40755 d/e\n100640 d/e/f = hello\n100755 d/run = x\n"
                                    "100600 d/none\n120777 d/l -> /any/where\n");
}

/* A relative link is from its own folder, an absolute one from the root; folders may be links. */
static void links(void)
{
    struct strait_emu_archive a;
    char listing[LISTING_CHARS], path[128], wanted[500];
    begin(&a);
    make_folder("real");
    make_folder("real/in");
    make_file("real/in/f", "deep", 0644);
    make_file("real/g", "near", 0644);
    make_link("soft", "real/in");
    make_link("real/in/up", "../g");
    make_link("far", in_folder(path, "real/g"));
    add(&a, "soft/f");
    add(&a, "real/in/up");
    add(&a, "far");
    snprintf(wanted, sizeof(wanted),
             "120777 soft -> real/in\n40755 real\n40755 real/in\n100644 soft/f = deep\n"
             "120777 real/in/up -> ../g\n100644 real/g = near\n120777 far -> %s/real/g\n",
             folder);
    end(listing, &a);
    CU_ASSERT_STRING_EQUAL(listing, wanted);
}

/* l1 leads to l2 and so on, and the last one to a file: as many as a kernel follows. */
static void chains(void)
{
    for (int n = MAX_LINKS + 1; n <= MAX_LINKS + 2; n++) {
        struct strait_emu_archive a;
        struct strait_error err = {0};
        char listing[LISTING_CHARS], path[128], name[16], target[16];
        begin(&a);
        make_file("file", "x", 0644);
        for (int i = 1; i <= n; i++) {
            snprintf(name, sizeof(name), "l%d", i);
            snprintf(target, sizeof(target), i < n ? "l%d" : "file", i + 1);
            make_link(name, target);
        }
        strait_test_context("%d links", n);
        CU_ASSERT_EQUAL(strait_emu_archive_add(&a, in_folder(path, "l1"), &err),
                        n <= MAX_LINKS + 1 ? 0 : -1);
        CU_ASSERT_EQUAL(strstr(err.text, "cannot be followed") != NULL, n > MAX_LINKS + 1);
        end(listing, &a);
        CU_ASSERT_EQUAL(strstr(listing, "100644 file = x\n") != NULL, n <= MAX_LINKS + 1);
    }
}

static void folders(void)
{
    static const char *const wanted[] = {
        "40755 d\n100644 d/a = 1\n100644 d/c = 3\n",
        "40755 d\n100644 d/a = 1\n40755 d/b\n100644 d/b/x = 2\n100644 d/c = 3\n",
        "40755 d\n100644 d/a = 1\n40755 d/b\n40755 d/b/w\n100644 d/b/w/y = 4\n100644 d/b/x = 2\n"
        "100644 d/c = 3\n"};
    for (int depth = 1; depth <= 3; depth++) {
        struct strait_emu_archive a;
        struct strait_error err = {0};
        char listing[LISTING_CHARS], path[128];
        begin(&a);
        make_folder("d");
        make_folder("d/b");
        make_folder("d/b/w");
        make_file("d/c", "3", 0644);
        make_file("d/a", "1", 0644);
        make_file("d/b/x", "2", 0644);
        make_file("d/b/w/y", "4", 0644);
        make_file("d/.hidden", "5", 0644);
        CU_ASSERT_EQUAL(mkfifo(in_folder(path, "d/pipe"), 0600), 0);
        strait_test_context("depth %d", depth);
        CU_ASSERT_EQUAL(strait_emu_archive_add_folder(&a, in_folder(path, "d"), depth, &err), 0);
        end(listing, &a);
        CU_ASSERT_STRING_EQUAL(listing, wanted[depth - 1]);
    }
}

static void refused(void)
{
    struct strait_emu_archive a;
    char listing[LISTING_CHARS], path[128];
    struct strait_error err = {0};
    begin(&a);
    CU_ASSERT_EQUAL(mkfifo(in_folder(path, "pipe"), 0600), 0);
    CU_ASSERT_EQUAL(strait_emu_archive_add(&a, path, &err), -1);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
    CU_ASSERT_STRING_EQUAL(err.where, path);
    CU_ASSERT_STRING_EQUAL(err.text, "expected a file or a folder");
    err = (struct strait_error){0};
    CU_ASSERT_EQUAL(strait_emu_archive_add(&a, in_folder(path, "none"), &err), -1);
    CU_ASSERT_CONTAINS(err.text, "cannot be read");
    err = (struct strait_error){0};
    make_link("nowhere", "none/at/all");
    CU_ASSERT_EQUAL(strait_emu_archive_add(&a, in_folder(path, "nowhere"), &err), -1);
    CU_ASSERT_CONTAINS(err.text, "leads nowhere");
    err = (struct strait_error){0};
    CU_ASSERT_EQUAL(strait_emu_archive_add_folder(&a, in_folder(path, "none"), 1, &err), -1);
    err = (struct strait_error){0};
    make_file("huge", "", 0644); /* a hole of 4 GiB */
    CU_ASSERT_EQUAL(truncate(in_folder(path, "huge"), (off_t)UINT32_MAX + 1), 0);
    CU_ASSERT_EQUAL(strait_emu_archive_add(&a, path, &err), -1);
    CU_ASSERT_STRING_EQUAL(err.text, "expected a file of less than 4 GiB for the guest");
    end(listing, &a);
    CU_ASSERT_STRING_EQUAL(listing, "120777 nowhere -> none/at/all\n");
}

/* More bytes than a block, and more names than are remembered at first. */
static void many(void)
{
    struct strait_emu_archive a;
    struct strait_error err = {0};
    char path[128], name[16], listing[LISTING_CHARS];
    begin(&a);
    for (int i = 0; i < 150; i++) {
        snprintf(name, sizeof(name), "n%03d", i);
        make_file(name, "", 0644);
    }
    make_file("large", "", 0644);
    CU_ASSERT_EQUAL(truncate(in_folder(path, "large"), 200001), 0);
    CU_ASSERT_EQUAL(strait_emu_archive_add_folder(&a, folder, 1, &err), 0);
    CU_ASSERT_EQUAL(strait_emu_archive_add_folder(&a, folder, 1, &err), 0);
    CU_ASSERT_EQUAL(a.n_seen, 2 + 151);
    end(listing, &a);
    CU_ASSERT_EQUAL(strlen(listing), 150 * strlen("100644 n000\n") + strlen("100644 large\n"));
}

static const struct strait_test tests[] = {
    {"names are packed once, below their folders, without a group's right to write", names},
    {"links are packed with what they lead to", links},
    {"41 links lead somewhere, 42 do not", chains},
    {"a folder is packed in the order of its names, as deep as is asked", folders},
    {"pipes, what is missing and files of 4 GiB are refused", refused},
    {"any number of names and bytes is packed", many},
};
STRAIT_SUITE("emu/guest/guest_archive", tests);
