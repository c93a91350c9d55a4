/* JSON read piece by piece from a source: nothing but the current text is kept, so that files may
 * be larger than memory. Errors name the byte. */
#pragma once
#include "source.h"

enum strait_pull {
    STRAIT_PULL_ERROR = -1, /* *err was set, or is_cut; every further call gives this */
    STRAIT_PULL_END,        /* of the file */
    STRAIT_PULL_OBJECT,
    STRAIT_PULL_OBJECT_END,
    STRAIT_PULL_ARRAY,
    STRAIT_PULL_ARRAY_END,
    STRAIT_PULL_KEY,
    STRAIT_PULL_STRING,
    STRAIT_PULL_NUMBER,
    STRAIT_PULL_TRUE,
    STRAIT_PULL_FALSE,
    STRAIT_PULL_NULL
};

enum { STRAIT_PULL_MAX_DEPTH = 64 };

struct strait_pull_json {
    struct strait_source *s;
    struct strait_error *err;
    char *text; /* of the last key, string or number, with a NUL behind its end */
    size_t len, cap;
    unsigned char closes[STRAIT_PULL_MAX_DEPTH]; /* '}' or ']' of what is open */
    int depth;
    bool needs_comma, after_key, has_failed;
    /* Accept what trace viewers accept: a comma before a closing bracket, and a file that ends
     * inside its outermost array; within a value of it, is_cut is set in place of *err. */
    bool is_lenient, is_cut;
};

/** Begin; borrows s and err until release. */
void strait_pull_begin(struct strait_pull_json *p, struct strait_source *s, bool is_lenient,
                       struct strait_error *err);
void strait_pull_release(struct strait_pull_json *p);
/** The next piece; its text is valid until the next call. */
enum strait_pull strait_pull_next(struct strait_pull_json *p);
/** Skip the rest of the value that `piece` began. 0, or -1 with *err. */
int strait_pull_skip(struct strait_pull_json *p, enum strait_pull piece);
/** Skip the value that follows. */
int strait_pull_skip_next(struct strait_pull_json *p);
/** The last text as a number; 0 if it is none. */
double strait_pull_number(const struct strait_pull_json *p);
/** Record what was expected at this byte. Returns: -1 */
int strait_pull_fail(struct strait_pull_json *p, const char *expected);
