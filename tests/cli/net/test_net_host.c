/* What of the network commands depends on the machine and the user. */
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "net_up.h"

static void write_script(const struct program *p, const char *name, const char *says)
{
    char text[256], path[128];
    snprintf(text, sizeof(text), "#!/bin/sh\n%s\n", says);
    program_write(p, name, text);
    snprintf(path, sizeof(path), "%s/%s", p->folder, name);
    chmod(path, 0755);
}

/* Whatever this machine can, both commands find the same, and up agrees with them. */
static void probe(void)
{
    struct program p;
    program_set_up(&p);
    program_write(&p, "net.json", experiment);
    struct said s = PROGRAM_CALL(&p, "net", "probe", "--json");
    char before[4096], path[4300];
    snprintf(before, sizeof(before), "%s", getenv("PATH"));
    snprintf(path, sizeof(path), "%s:%s", p.folder, before);
    write_script(&p, "gnuplot", "echo 'gnuplot 9 of a test'; echo and more");
    setenv("PATH", path, 1);
    struct said doctor = PROGRAM_CALL(&p, "doctor", "--json");
    setenv("PATH", before, 1);
    CU_ASSERT_CONTAINS(doctor.out, "{\"what\":\"gnuplot\",\"good\":true,\"found\":\"gnuplot 9 of a "
                                   "test\",\"hint\":\"\"}");
    struct said up_said = PROGRAM_CALL(&p, "net", "up", "net.json");
    json_t *all = json_loads(s.out, 0, NULL);
    const bool works = json_is_true(json_object_get(all, "works"));
    const json_t *tried = json_object_get(all, "tried"), *line;
    size_t i;
    CU_ASSERT_EQUAL(s.status, works ? 0 : 3);
    CU_ASSERT_EQUAL(up_said.status, works ? 0 : 3);
    CU_ASSERT(json_array_size(tried) >= 12);
    json_array_foreach (tried, i, line) {
        char *text = json_dumps(line, JSON_COMPACT);
        CU_ASSERT_PTR_NOT_NULL(strstr(doctor.out, text));
        free(text);
    }
    if (works) {
        const char *launcher = json_string_value(json_object_get(all, "launcher"));
        CU_ASSERT_PTR_NOT_NULL(strstr(up_said.out, launcher));
        EXPECT(&p, 0, "", "down");
    }
    json_decref(all);
    said_release(&s);
    said_release(&doctor);
    said_release(&up_said);
    program_tear_down(&p);
}

/* With scripts in the places of the guests' kernels, one of which says what a kernel that works
 * would, and no TUN device. Where this kernel has netem, emulation works without either. */
static void doctor(void)
{
    static const char good[] = "echo 'strait: host_cpu 1'; echo 'strait: uptime 0 3600'; "
                               "echo 'strait: boots'",
                      bad[] = "echo 'Kernel panic - not syncing: of the test'; exit 1";
    struct program p;
    char before[4096], path[4300], built[128];
    program_set_up(&p);
    snprintf(before, sizeof(before), "%s", getenv("PATH"));
    snprintf(path, sizeof(path), "%s:/usr/sbin:/usr/bin:/sbin:/bin", p.folder);
    snprintf(built, sizeof(built), "%s/built", p.folder);
    snprintf(p.tun, sizeof(p.tun), "%s/no-tun", p.folder);
    setenv("PATH", path, 1);
    setenv("STRAIT_VKERNEL", built, 1);
    setenv("XDG_CACHE_HOME", p.folder, 1);
    write_script(&p, "linux.uml", bad);
    for (int works = 1; works >= 0; works--) { /* the second time it has learned otherwise */
        write_script(&p, "built", works ? good : bad);
        write_script(&p, "gnuplot", works ? "echo 'gnuplot 9 of a test'" : "exit 1");
        struct said s = PROGRAM_CALL(&p, "doctor");
        const bool netem = strstr(s.out, "ok  netem") != NULL;
        CU_ASSERT_EQUAL(s.status, works || netem ? 0 : 3);
        CU_ASSERT_PTR_NOT_NULL(strstr(s.out, netem   ? "emulation works\n"
                                             : works ? "emulation works with --launcher vuml\n"
                                                     : "emulation does not work\n"));
        CU_ASSERT_CONTAINS(s.out, works ? "ok  gnuplot" : "--  gnuplot");
        CU_ASSERT_PTR_NOT_NULL(strstr(s.out, works ? "ok  virtual time" : "--  virtual time"));
        CU_ASSERT_PTR_NOT_NULL(strstr(s.out, works ? "ok  User-Mode Linux" : "--  User-Mode"));
        CU_ASSERT(works || strstr(s.out, "(Kernel panic - not syncing: of the test)") != NULL);
        said_release(&s);
        s = PROGRAM_CALL(&p, "run", "wan-check", "--on", "emu", "--set", "/clients=2", "--out",
                         "r");
        CU_ASSERT(netem || s.status == 3);
        CU_ASSERT(netem || strstr(s.err, "no tun device") != NULL);
        CU_ASSERT(netem || strstr(s.err, "--launcher vuml or uml") != NULL);
        said_release(&s);
    }
    unsetenv("XDG_CACHE_HOME");
    unsetenv("STRAIT_VKERNEL");
    setenv("PATH", before, 1);
    program_tear_down(&p);
}

/* The program and a TUN node of the test, as user 65534. */
static void ordinary_user(void)
{
    struct program p;
    program_set_up(&p);
    snprintf(p.tun, sizeof(p.tun), "%s/tun", p.folder);
    const bool made = geteuid() == 0 && mknod(p.tun, S_IFCHR | 0666, makedev(10, 200)) == 0 &&
                      chmod(p.tun, 0666) == 0 && chown(p.folder, 65534, 65534) == 0;
    const int fd = made ? open(p.tun, O_RDWR | O_CLOEXEC) : -1;
    p.uid = 65534;
    struct said s = {0};
    if (fd < 0) {
        strait_test_skip("not root, or no TUN node can be made in a folder of the test");
    } else if ((s = PROGRAM_CALL(&p, "--version")).status != 0) {
        strait_test_skip("the program is where an ordinary user cannot reach it");
    } else if (up(&p, "default")) {
        EXPECT(&p, 0, "client1\n", "exec", "--rank", "1", "--", "uname", "-n");
        EXPECT(&p, 0, "0\n", "exec", "--", "id", "-u");
        EXPECT(&p, 0, "client2\n", "exec", "--", p.path, "net", "rsh", "client2", "uname", "-n");
        EXPECT(&p, 0, NULL, "exec", "--rank", "2", "--", "ping", "-c", "2", "-i", "0.2", "server");
        EXPECT(&p, 0, NULL, "run", "net.json", "--", "ping", "-c", "1", "server");
        EXPECT(&p, 0, "", "down");
        CU_ASSERT_EQUAL(n_files(&p), 0);
    }
    if (fd >= 0)
        close(fd);
    said_release(&s);
    program_tear_down(&p);
}

static const struct strait_test tests[] = {
    {"probe, doctor and up agree on what works here", probe},
    {"doctor boots guests, and emulation works where one does", doctor},
    {"an ordinary user has all of it with a TUN node of the test", ordinary_user},
};
STRAIT_SUITE_WITH("cli/net/net_host", tests, .slow_s = 3);
