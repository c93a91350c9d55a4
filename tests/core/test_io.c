/* Whole reads and writes, through pipes and at places of files, and texts that grow. */
#include "core/io.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "core/names.h"
#include "tests/kit/suite.h"

/* More than a pipe holds: both ends need several calls. */
enum { MANY_BYTES = 1 << 20 };

static void through_a_pipe(void)
{
    static unsigned char sent[MANY_BYTES], got[MANY_BYTES];
    int ends[2];
    for (size_t i = 0; i < MANY_BYTES; i++)
        sent[i] = (unsigned char)(i * 31 + i / 255);
    CU_ASSERT_FATAL(pipe(ends) == 0);
    const pid_t pid = fork();
    if (pid == 0)
        _exit(strait_io_write(ends[1], sent, MANY_BYTES, STRAIT_IO_HERE) ? 0 : 1);
    close(ends[1]);
    CU_ASSERT_TRUE(strait_io_read(ends[0], got, MANY_BYTES, STRAIT_IO_HERE));
    CU_ASSERT_EQUAL(memcmp(sent, got, MANY_BYTES), 0);
    errno = EIO;
    CU_ASSERT_FALSE(strait_io_read(ends[0], got, 1, STRAIT_IO_HERE)); /* the writer has ended */
    CU_ASSERT_EQUAL(errno, 0);
    int status = 1;
    waitpid(pid, &status, 0);
    CU_ASSERT_EQUAL(status, 0);
    close(ends[0]);
}

static void at_places_of_a_file(void)
{
    char got[6] = "", path[] = "/tmp/strait-test-XXXXXX";
    const int fd = mkstemp(path);
    CU_ASSERT_FATAL(fd >= 0);
    unlink(path);
    CU_ASSERT_TRUE(strait_io_write(fd, "abcdef", 6, STRAIT_IO_HERE));
    CU_ASSERT_TRUE(strait_io_write(fd, "XY", 2, 1));             /* aXYdef */
    CU_ASSERT_TRUE(strait_io_write(fd, "g", 1, STRAIT_IO_HERE)); /* behind the f */
    CU_ASSERT_TRUE(strait_io_read(fd, got, 5, 2));
    CU_ASSERT_STRING_EQUAL(got, "Ydefg");
    CU_ASSERT_FALSE(strait_io_read(fd, got, 5, 3)); /* four are left */
    CU_ASSERT_EQUAL(errno, 0);
    close(fd);
    CU_ASSERT_FALSE(strait_io_write(fd, "a", 1, 0));
    CU_ASSERT_EQUAL(errno, EBADF);
    CU_ASSERT_FALSE(strait_io_read(fd, got, 1, 0));
    CU_ASSERT_EQUAL(errno, EBADF);
}

static void texts_grow_to_their_end(void)
{
    char text[8] = "";
    strait_text_add(text, sizeof(text), "%s%d", "ab", 1);
    strait_text_add(text, sizeof(text), ", %d", 2);
    CU_ASSERT_STRING_EQUAL(text, "ab1, 2");
    strait_text_add(text, sizeof(text), "345");
    CU_ASSERT_STRING_EQUAL(text, "ab1, 23");
    strait_text_add(text, sizeof(text), "6");
    CU_ASSERT_STRING_EQUAL(text, "ab1, 23");
}

static const struct strait_test tests[] = {
    {"all bytes through a pipe, and its end", through_a_pipe},
    {"at places of a file, which stays where it stands", at_places_of_a_file},
    {"a text grows and is cut where its memory ends", texts_grow_to_their_end},
};
STRAIT_SUITE("core/io", tests);
