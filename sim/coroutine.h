/* Coroutines with their own guarded stacks, of which only touched pages use memory; or on one stack
 * for all, from which what a paused one has there, some hundred bytes, is copied and put back where
 * it was. Nobody else may then look at a paused one's variables. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct strait_coroutine;
struct strait_stack_image;

struct strait_coroutines { /* zero it, then set stack_bytes */
    size_t stack_bytes;
    struct strait_coroutine *spare, *running;
    size_t n_made;     /* each uses two memory mappings */
    bool is_abandoned; /* strait_coroutine_abandon was called: nothing more is to be resumed */
    bool no_memory;    /* what a paused one had could not be kept; is_abandoned is set too */
    char *shared;      /* the one stack; NULL: each has its own */
    struct strait_coroutine *on_shared; /* the one whose variables are on it */
    struct strait_stack_image *images; /* that what others have is compared with; NULL: it is not */
    size_t n_images;
};

/** Let all that are made until the release be on one stack, but for the first, which may take as
 *  many turns as all others together; none may be there now.
 *  In:      are_many: keep only what differs from others' in the same place, a third of the memory
 *  Returns: false where they keep their own: when memory runs out, or this machine cannot */
bool strait_coroutines_share(struct strait_coroutines *all, bool are_many);

/** Make one that calls fn(arg) when first resumed. NULL when memory runs out. */
struct strait_coroutine *strait_coroutine_new(struct strait_coroutines *all, void (*fn)(void *),
                                              void *arg);
/** Run it until it pauses or ends. Call from outside all coroutines.
 *  Returns: true when it has ended; its stack is reused */
bool strait_coroutine_resume(struct strait_coroutines *all, struct strait_coroutine *c);
/** Have the cache fetch what a paused one needs first when it is resumed, soon. */
void strait_coroutine_fetch(const struct strait_coroutine *c);
/** Return from the running coroutine to whoever resumed it. */
void strait_coroutine_pause(struct strait_coroutines *all);
/** The same for ever: the running coroutine has ended, what its stack held is lost. */
void strait_coroutine_exit(struct strait_coroutines *all) __attribute__((noreturn));
/** And none is to be resumed any more. */
void strait_coroutine_abandon(struct strait_coroutines *all) __attribute__((noreturn));
/** Give back the stack of one that paused and is never resumed. */
void strait_coroutine_give_up(struct strait_coroutines *all, struct strait_coroutine *c);
/** Unmap the spare stacks beyond the first n_kept; all coroutines have ended or were given up. */
void strait_coroutines_release(struct strait_coroutines *all, size_t n_kept);
