/* libFuzzer on the readers of other tools' traces: the input is a file, whose format is
 * recognised. A graph that was read is written as another one, layers as a table. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include "traces/import/import.h"
#include "traces/import/ti_write.h"
#include "traces/models/model_object.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t n);

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t n)
{
    char path[64];
    struct strait_import in;
    struct strait_error err = {0};
    const int fd = memfd_create("trace", MFD_CLOEXEC);
    if (fd < 0 || write(fd, data, n) != (ssize_t)n)
        abort();
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    const int status = strait_import_read(&in, path, NULL, &err);
    if ((status == 0) != (err.code == STRAIT_OK))
        abort();
    if (status == 0 && in.graph) {
        char *text;
        if (strait_ti_text(&text, NULL, in.graph, 1e9, &err) == 0)
            free(text);
    }
    if (status == 0 && in.model)
        free(strait_model_table_text(in.model));
    strait_import_release(&in);
    close(fd);
    return 0;
}
