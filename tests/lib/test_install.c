/* make install, moved elsewhere and used without the source tree: program, library, example. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "core/process.h"
#include "tests/kit/data.h"
#include "tests/kit/program.h"

static const double LIMIT_S = 600; /* make may have the library to link, on a busy machine */
static const char SPEC[] = "sz:range=1e-3";
enum { N_ROWS = 256, N_ELEMS = N_ROWS * N_ROWS, OUT_BYTES = 1 << 18 };

static struct program program;
static bool is_installed; /* this program is one suite, which installs once */

/* A script with $T the test's folder, $ROOT the tree, $I the moved installation. */
static int shell(char *out, const char *script, struct strait_error *err)
{
    char folder[80], tree[4200], moved[90];
    snprintf(folder, sizeof(folder), "T=%s", program.folder);
    snprintf(moved, sizeof(moved), "I=%s/moved", program.folder);
    snprintf(tree, sizeof(tree), "ROOT=%s", DATA(""));
    const char *const argv[] = {"env", folder, moved, tree, "sh", "-ec", script, NULL};
    *err = (struct strait_error){0};
    return strait_process_run(out, OUT_BYTES, argv, NULL, LIMIT_S, err);
}

static void expect(char *out, const char *script)
{
    struct strait_error err;
    const int status = shell(out, script, &err);
    CU_ASSERT_EQUAL(status, 0);
    if (status != 0)
        fprintf(stderr, "%s\n  %s: %s\n", script, err.where, err.text);
}

/* The same where the source tree is an empty folder. */
static void expect_without_tree(char *out, const char *script)
{
    char hidden[4096];
    snprintf(hidden, sizeof(hidden),
             "unshare --map-root-user --mount sh -ec 'mount -t tmpfs none $ROOT; "
             "cd $T; test ! -e $ROOT/Makefile; %s'",
             script);
    expect(out, hidden);
}

static void leave(void)
{
    const char *const argv[] = {"rm", "-rf", program.folder, NULL};
    strait_process_run(NULL, 0, argv, NULL, LIMIT_S, NULL);
}

/* make of the same build as this test, whose folder is where the program lies. Once for all tests.
 * False: skipped. */
static bool install(void)
{
    struct strait_error err;
    char script[4400], build[4096];
    if (is_installed)
        return true;
    if (IS_SANITIZED) {
        strait_test_skip("a library under a sanitizer needs a program under it");
        return false;
    }
    if (shell(NULL, "test -w $ROOT/Makefile && unshare --map-root-user --mount true", &err) != 0) {
        strait_test_skip("no mount namespace, or the tree cannot be written");
        return false;
    }
    program_set_up(&program);
    atexit(leave);
    snprintf(build, sizeof(build), "%s", program.path);
    *strrchr(build, '/') = '\0';
    snprintf(script, sizeof(script),
             "env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s -C $ROOT install BUILD=%s "
             "COMMIT=\"$(cut -d' ' -f2- %s/commit)\" " /* later commits link no program anew */
             "DESTDIR=$T/root PREFIX=/opt/strait >&2; cp -a $T/root/opt/strait $I",
             build, build);
    expect(NULL, script);
    return is_installed = true;
}

static char *text(void)
{
    char *out = calloc(1, OUT_BYTES);
    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    return out;
}

static void used_elsewhere(void)
{
    char *out = text();
    if (install()) {
        expect_without_tree(out, "$I/bin/strait list models");
        CU_ASSERT_PTR_NOT_NULL(strstr(out, "resnet50"));
        expect_without_tree(out, "$I/bin/strait check wan-check --on sim; $I/bin/strait --version");
        CU_ASSERT_PTR_NOT_NULL(strstr(out, "commit"));
        expect(out, "man -l $I/share/man/man1/strait-run.1 2>/dev/null || "
                    "cat $I/share/man/man1/strait-run.1");
        CU_ASSERT_PTR_NOT_NULL(strstr(out, "every-round") ? out : strstr(out, "every\\-round"));
    }
    free(out);
}

/* Rows without what every run has of its own: its time, its key with the program in it. */
static json_t *plain(json_t *row)
{
    static const char *const own[] = {"key", "wall_s", "stored", "record"};
    for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
        json_object_del(row, own[i]);
    return row;
}

/* Both say the same of both points of the experiment, to the last digit. */
static void expect_rows(const char *json, const char *lines)
{
    json_t *rows = json_loads(json, 0, NULL), *row;
    size_t i, n = 0;
    CU_ASSERT_PTR_NOT_NULL_FATAL(rows);
    json_array_foreach (rows, i, row) {
        const size_t len = strcspn(lines, "\n");
        json_t *line = json_loadb(lines, len, 0, NULL);
        CU_ASSERT(json_number_value(json_object_get(row, "round_s")) > 0);
        CU_ASSERT(json_equal(plain(row), plain(line)));
        json_decref(line);
        lines += len + (lines[len] == '\n');
        n++;
    }
    CU_ASSERT_EQUAL(n, 2);
    CU_ASSERT_STRING_EQUAL(lines, "");
    json_decref(rows);
}

/* The values that the example encodes. */
static void write_matrix(void)
{
    float *x = malloc(N_ELEMS * sizeof(*x));
    CU_ASSERT_PTR_NOT_NULL_FATAL(x);
    for (int i = 0; i < N_ELEMS; i++)
        x[i] = (float)(i % N_ROWS) / N_ROWS - (float)(i / N_ROWS) / N_ROWS;
    program_write_bytes(&program, "m.f32", x, N_ELEMS * sizeof(*x));
    free(x);
}

/* Of an encoded file, what is the codec's: container.h says what stands before. */
static size_t payload_bytes(void)
{
    size_t len_bytes;
    char *file = program_read_bytes(&program, "m.f32.strait", &len_bytes);
    const unsigned n_dims = (unsigned char)file[100];
    free(file);
    return len_bytes - (120 + 8 * (size_t)n_dims + 4 + strlen(SPEC));
}

/* Where no other library's file is found: who links has not what strait was built with. */
#define PKG_CONFIG "PKG_CONFIG_LIBDIR=$I/lib/pkgconfig pkg-config "

static void example(void)
{
    char *out = text(), *of_static = text(), *lines = text(), expected[64];
    if (install()) {
        expect_without_tree(out, "cc -Wall -Wextra -Wpedantic -Werror -std=c17 -o shared "
                                 "$I/share/doc/strait/examples/c/encode_and_predict.c $(" PKG_CONFIG
                                 "--cflags --libs strait) -lm; LD_LIBRARY_PATH=$I/lib ./shared");
        expect_without_tree(
            of_static,
            "cc -o static $I/share/doc/strait/examples/c/encode_and_predict.c $(" PKG_CONFIG
            "--cflags --libs --static strait | sed s/-lstrait/-l:libstrait.a/) -lm; "
            "STRAIT_SHARE=$I/share/strait ./static");
        /* An installation that was not moved is found wherever the program is. */
        expect_without_tree(of_static, "mount --bind $T/root/opt /opt; env -u STRAIT_SHARE "
                                       "./static sz:range=1e-3 wan-check");
        write_matrix();
        expect_without_tree(lines, "$I/bin/strait codec encode m.f32 --rows 256 "
                                   "--codec sz:range=1e-3; $I/bin/strait run wan-check "
                                   "--set /clients=4 --json --no-break-even --out rows");
        snprintf(expected, sizeof(expected), "encoded %zu bytes,", payload_bytes());
        CU_ASSERT_PTR_NOT_NULL(strstr(out, expected));
        CU_ASSERT_PTR_NOT_NULL(strstr(of_static, expected));
        /* A simulation is a child: what was printed before it must not come twice. */
        const char *once = strstr(out, "largest error"), *json = strchr(out, '[');
        CU_ASSERT_PTR_NOT_NULL_FATAL(once);
        CU_ASSERT_PTR_NULL(strstr(once + 1, "largest error"));
        expect_rows(json ? json : "", lines);
        json = strchr(of_static, '[');
        expect_rows(json ? json : "", lines);
    }
    free(out);
    free(of_static);
    free(lines);
}

/* The program that docs/library.md begins with: a tensor of 65536 zeros, 4 bytes each. */
static void first_program(void)
{
    char *out = text();
    if (install()) {
        expect(NULL, "sed -n '/^```c$/,/^```$/ { /^```/d; p }' $I/share/doc/strait/docs/library.md "
                     ">$T/first.c");
        expect_without_tree(out, "cc -Wall -Wextra -Wpedantic -Werror -std=c17 -o first first.c "
                                 "$(" PKG_CONFIG
                                 "--cflags --libs strait); LD_LIBRARY_PATH=$I/lib ./first");
        CU_ASSERT_CONTAINS(out, " bytes instead of 262144\n");
    }
    free(out);
}

/* Pages lie as in the tree, and the manual names them there. */
static void pages(void)
{
    char *out = text();
    if (install()) {
        expect_without_tree(
            out, "cd $I/share/doc/strait; find . -name \"*.md\" | while read -r page; do "
                 "grep -oE \"\\]\\([^):# ]+\" \"$page\" | cut -c3- | "
                 "grep -v ^http | while read -r to; do "
                 "test -e \"$(dirname \"$page\")/$to\" || echo \"$page: $to is missing\"; "
                 "echo link; done; done | sort | uniq -c; "
                 "grep -ohE \"share/doc/strait/[a-z/]+[.]md\" $I/share/man/man1/strait.1 | "
                 "while read -r named; do test -e $I/$named && echo named || "
                 "echo \"$named is missing\"; done");
        CU_ASSERT_CONTAINS(out, " link\n");
        CU_ASSERT_CONTAINS(out, "named\nnamed\n"); /* by the manual */
        CU_ASSERT_PTR_NULL(strstr(out, "missing"));
    }
    free(out);
}

static void from_cpp(void)
{
    struct strait_error err;
    if (shell(NULL, "c++ --version", &err) != 0) {
        strait_test_skip("no compiler of C++ (apt install g++)");
    } else if (install()) {
        expect(NULL, "{ echo '#include <strait.h>'; "
                     "echo 'bool failed(const strait_error &e) { return e.code != STRAIT_OK; }'; } "
                     ">$T/header.cpp");
        expect_without_tree(NULL, "c++ -std=c++11 -Wall -Wextra -Wpedantic -Werror -fsyntax-only "
                                  "-I$I/include/strait header.cpp");
    }
}

/* The module's own tests against the moved library; those with PyTorch are `make python-check`. */
static void from_python(void)
{
    char *out = text();
    if (install()) {
        struct strait_error err;
        if (shell(NULL, "/usr/bin/python3 -c 'import numpy'", &err) != 0)
            strait_test_skip("/usr/bin/python3 has no numpy (apt install python3-numpy)");
        else
            expect(out, "cd $T; PYTHONPATH=$ROOT/python PYTHONDONTWRITEBYTECODE=1 "
                        "STRAIT_LIBRARY=$I/lib/libstrait.so.0 STRAIT=$I/bin/strait "
                        "/usr/bin/python3 $ROOT/python/tests/test_codec.py 2>&1");
    }
    free(out);
}

static void exported(void)
{
    char *out = text();
    if (install()) {
        /* seven of codecs and costs, two of predictions, the version; and the linker's own marks */
        expect(out, "nm -D --defined-only $I/lib/libstrait.so | awk '{print $3}' | "
                    "grep -v -e '^_' | sort | tr '\\n' ' '; nm -g --defined-only "
                    "$I/lib/libstrait.a | awk 'NF == 3 {print $3}' | sort | tr '\\n' ' '");
#define NAMES                                                                                      \
    "strait_predict strait_rows_free strait_tensor_codec_decode strait_tensor_codec_encode "       \
    "strait_tensor_codec_free strait_tensor_codec_max_bytes strait_tensor_codec_new "              \
    "strait_tensor_codec_reset strait_tensor_cost strait_version "
        CU_ASSERT_STRING_EQUAL(out, NAMES NAMES);
        expect(out, "objdump -p $I/lib/libstrait.so | awk '/SONAME/ {print $2}'");
        CU_ASSERT_STRING_EQUAL(out, "libstrait.so.0\n");
        /* every header compiles by itself, in C++ too */
        expect(NULL, "cd $I/include/strait; for h in $(find . -name '*.h'); do "
                     "echo \"#include \\\"$h\\\"\" >$T/h.c; for s in c c++; do "
                     "cc -Wall -Wextra -Werror -fsyntax-only -I. -x $s $T/h.c; done; done");
    }
    free(out);
}

static void removed(void)
{
    char *out = text();
    if (install()) {
        expect(NULL, "env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s -C $ROOT uninstall "
                     "DESTDIR=$T/root PREFIX=/opt/strait >&2");
        expect(out, "find $T/root ! -type d; find $I ! -type d | wc -l");
        CU_ASSERT(atoi(out) > 200); /* nothing before the count of the copy's files */
    }
    free(out);
}

/* What a run reads is there, every file of it, and nothing that only builders read. */
static void complete(void)
{
    char *out = text();
    if (install()) {
        expect(
            out,
            "cd $ROOT; find experiments traces codecs/profiles -type f ! -name '*.[ch]' ! "
            "-name '*.md' ! -name '*.sh' | sort >$T/a; cd $I/share/strait; find experiments traces "
            "codecs/profiles -type f | sort >$T/b; diff $T/a $T/b; "
            "find . -name '*.[ch]' -o -name '*.o'");
        CU_ASSERT_STRING_EQUAL(out, "");
    }
    free(out);
}

static const struct strait_test tests[] = {
    {"an installation that was moved runs without the source tree", used_elsewhere},
    {"the example gives the command line's bytes and predictions, both libraries", example},
    {"the page's first program compiles and says what it encoded", first_program},
    {"the installed pages lead to pages that are there", pages},
    {"a program in C++ may include the header", from_cpp},
    {"the Python module gives the command line's numbers", from_python},
    {"the libraries export what their header declares", exported},
    {"all data is installed and no source", complete},
    {"make uninstall leaves no file", removed},
};
STRAIT_SUITE_WITH("lib/install", tests, .slow_s = 5, .release = true);
