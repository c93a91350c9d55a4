/* Checksums and keys by XXH3. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>
#include "hash.h"

uint64_t strait_checksum(const void *data, size_t len_bytes)
{
    return XXH3_64bits(data, len_bytes);
}

/* Add the rest of a file. False where it cannot be read. */
static bool add_rest(XXH3_state_t *state, uint64_t *len_bytes, int fd)
{
    char piece[16384];
    ssize_t n;
    while ((n = TEMP_FAILURE_RETRY(read(fd, piece, sizeof(piece)))) > 0) {
        XXH3_64bits_update(state, piece, (size_t)n);
        *len_bytes += (uint64_t)n;
    }
    return n == 0;
}

bool strait_checksum_file(uint64_t *sum, uint64_t *len_bytes, const char *path)
{
    struct stat info;
    XXH3_state_t *state = XXH3_createState();
    const int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    bool read_all = false;
    *len_bytes = 0;
    if (state && fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode)) {
        XXH3_64bits_reset(state);
        read_all = add_rest(state, len_bytes, fd);
        *sum = XXH3_64bits_digest(state);
    }
    if (fd >= 0)
        close(fd);
    XXH3_freeState(state);
    return read_all;
}

const char *strait_hash_bytes(char key[STRAIT_KEY_CHARS], const void *data, size_t len_bytes)
{
    const XXH128_hash_t hash = XXH3_128bits(data, len_bytes);
    snprintf(key, STRAIT_KEY_CHARS, "%016llx%016llx", (unsigned long long)hash.high64,
             (unsigned long long)hash.low64);
    return key;
}

const char *strait_hash_json(char key[STRAIT_KEY_CHARS], const json_t *value)
{
    char *text = json_dumps(value, JSON_SORT_KEYS | JSON_COMPACT | JSON_ENCODE_ANY |
                                       JSON_REAL_PRECISION(17));
    if (!text)
        return NULL;
    strait_hash_bytes(key, text, strlen(text));
    free(text);
    return key;
}
