#include "coroutine.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef __x86_64__
#include <ucontext.h>
#endif
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

#ifdef __x86_64__
/* swapcontext makes two system calls a switch to save signal masks, which never change here; that
 * took a third of a large simulation. This saves what the System V ABI (x86-64, section 3.2)
 * requires. */
struct place {
    void *stack_pointer;
};
void strait_coroutine_switch(struct place *from, const struct place *to);
__asm__(".text\n"
        ".globl strait_coroutine_switch\n"
        ".hidden strait_coroutine_switch\n"
        ".type strait_coroutine_switch, @function\n"
        "strait_coroutine_switch:\n"
        "    pushq %rbp\n"
        "    pushq %rbx\n"
        "    pushq %r12\n"
        "    pushq %r13\n"
        "    pushq %r14\n"
        "    pushq %r15\n"
        "    subq $8, %rsp\n"
        "    stmxcsr (%rsp)\n"
        "    fnstcw 4(%rsp)\n"
        "    movq %rsp, (%rdi)\n"
        "    movq (%rsi), %rsp\n"
        "    ldmxcsr (%rsp)\n"
        "    fldcw 4(%rsp)\n"
        "    addq $8, %rsp\n"
        "    popq %r15\n"
        "    popq %r14\n"
        "    popq %r13\n"
        "    popq %r12\n"
        "    popq %rbx\n"
        "    popq %rbp\n"
        "    ret\n"
        ".size strait_coroutine_switch, .-strait_coroutine_switch\n");
#else
struct place {
    ucontext_t context;
};
static void strait_coroutine_switch(struct place *from, const struct place *to)
{
    swapcontext(&from->context, &to->context);
}
#endif

/* What one had on the stack, for others that pause at the same depth, which is mostly in the same
 * place: of their words two thirds are the same. */
struct strait_stack_image {
    uint64_t *words;
    size_t n;
    const struct strait_coroutine *unlike; /* the last one that had little in common with it, and */
    unsigned n_unlike;                     /* how many one after the other had */
};

struct strait_coroutine {
    struct place here;
    const struct place *caller;
    struct strait_coroutine *next; /* spare */
    struct strait_coroutines *all;
    void (*fn)(void *);
    void *arg;
    char *stack;    /* with stack_bytes; all->shared, or its own */
    uint64_t *kept; /* of a shared one: what it had on the stack, or how that differs from `like` */
    struct strait_stack_image *like; /* NULL: what it had */
    unsigned cap_kept;               /* bytes */
    unsigned apart_bytes;            /* left free at its stack's top */
    bool ended;
#ifdef __SANITIZE_ADDRESS__
    void *fake_stack, *caller_fake_stack;
    const void *caller_stack;
    size_t caller_stack_bytes;
#endif
};

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
/* The frame that a coroutine begins with fits; what it has at its first pause mostly too, where it
 * is kept as differences. */
enum { FIRST_KEPT_BYTES = 192 };
enum { N_IMAGES = 32, WORD_BYTES = 8, WORD_BITS = 64 };
/* Where of some one after the other more than one word of so many differs there is to be another
 * image, so that what ranks have left on the stack in this round is compared with what others have
 * left in it. */
enum { ALIKE = 3, ENOUGH_UNLIKE = 8 };

static size_t used_bytes(const struct strait_coroutine *c)
{
    return (size_t)(c->stack + c->all->stack_bytes - (char *)c->here.stack_pointer);
}

/* The newest for this depth; NULL: there is none. */
static struct strait_stack_image *image_of(const struct strait_coroutines *all, size_t n)
{
    for (size_t i = all->n_images; i > 0; i--)
        if (all->images[i - 1].n == n)
            return &all->images[i - 1];
    return NULL;
}

/* NULL: there are enough, or memory ran out. */
static struct strait_stack_image *add_image(struct strait_coroutines *all, const uint64_t *words,
                                            size_t n)
{
    uint64_t *copy = all->images && all->n_images < N_IMAGES ? malloc(n * WORD_BYTES) : NULL;
    if (!copy)
        return NULL;
    memcpy(copy, words, n * WORD_BYTES);
    all->images[all->n_images] = (struct strait_stack_image){.words = copy, .n = n};
    return &all->images[all->n_images++];
}

static bool reserve(struct strait_coroutine *c, size_t n_bytes)
{
    if (n_bytes <= c->cap_kept)
        return true;
    free(c->kept);
    c->kept = n_bytes <= UINT32_MAX ? malloc(n_bytes) : NULL;
    c->cap_kept = c->kept ? (unsigned)n_bytes : 0;
    return c->kept;
}

/* For each 64 words one that says which of them differ, and these. */
static size_t difference(uint64_t *out, const uint64_t *words, const uint64_t *image, size_t n)
{
    uint64_t *const first = out;
    for (size_t i = 0; i < n; i += WORD_BITS) {
        const size_t n_here = n - i < WORD_BITS ? n - i : WORD_BITS;
        uint64_t differ = 0;
        for (size_t k = 0; k < n_here; k++)
            differ |= (uint64_t)(words[i + k] != image[i + k]) << k;
        *out++ = differ;
        for (; differ; differ &= differ - 1)
            *out++ = words[i + (size_t)__builtin_ctzll(differ)];
    }
    return (size_t)(out - first);
}

static void restore(uint64_t *words, const uint64_t *kept, struct strait_stack_image *image)
{
    memcpy(words, image->words, image->n * WORD_BYTES);
    for (size_t i = 0; i < image->n; i += WORD_BITS)
        for (uint64_t differ = *kept++; differ; differ &= differ - 1)
            words[i + (size_t)__builtin_ctzll(differ)] = *kept++;
}

/* Is it the last of enough that had little in common with this image? A rank that nobody is like
 * counts once. */
static bool is_unlike(struct strait_stack_image *image, const struct strait_coroutine *c,
                      size_t n_kept)
{
    if (ALIKE * n_kept <= image->n)
        image->n_unlike = 0;
    else if (image->unlike != c)
        image->n_unlike++;
    else
        return false;
    image->unlike = c;
    return image->n_unlike >= ENOUGH_UNLIKE;
}

/* Below its variables there is room on the stack for what differs in them. */
static bool keep(struct strait_coroutine *c)
{
    const uint64_t *words = c->here.stack_pointer;
    const size_t n_bytes = used_bytes(c), n = n_bytes / WORD_BYTES, n_most = n + n / WORD_BITS + 1;
    const bool fits =
        n_bytes % WORD_BYTES == 0 && n_bytes + n_most * WORD_BYTES <= c->all->stack_bytes;
    struct strait_stack_image *like = fits ? image_of(c->all, n) : NULL;
    if (!like && fits)
        like = add_image(c->all, words, n);
    c->like = like;
    if (!like) {
        if (!reserve(c, n_bytes))
            return false;
        memcpy(c->kept, words, n_bytes);
        return true;
    }
    uint64_t *room = c->here.stack_pointer;
    room -= n_most;
    size_t n_kept = difference(room, words, like->words, n);
    if (is_unlike(like, c, n_kept) && (like = add_image(c->all, words, n))) {
        c->like = like;
        n_kept = difference(room, words, like->words, n);
    }
    if (!reserve(c, n_kept * WORD_BYTES))
        return false;
    memcpy(c->kept, room, n_kept * WORD_BYTES);
    return true;
}

/* Put its variables onto the shared stack, in the place of another one's. */
static bool move_in(struct strait_coroutine *c)
{
    struct strait_coroutines *all = c->all;
    struct strait_coroutine *before = all->on_shared;
    if (c->stack != all->shared || before == c)
        return true;
    if (before && !before->ended && !keep(before)) {
        all->is_abandoned = all->no_memory = true;
        return false;
    }
    if (c->like)
        restore(c->here.stack_pointer, c->kept, c->like);
    else
        memcpy(c->here.stack_pointer, c->kept, used_bytes(c));
    all->on_shared = c;
    return true;
}
#else
static bool move_in(struct strait_coroutine *c)
{
    (void)c;
    return true;
}
#endif

void strait_coroutine_fetch(const struct strait_coroutine *c)
{
#ifdef __x86_64__
    /* Its frames, and what their calls had below. */
    enum { LINE_BYTES = 64, ABOVE = 8, BELOW = 4 };
    const char *at = c->stack == c->all->shared ? (const char *)c->kept : c->here.stack_pointer;
    for (int i = -BELOW; i < ABOVE; i++)
        __builtin_prefetch(at + i * LINE_BYTES, 1);
#else
    (void)c;
#endif
}

/* Tell the sanitizer which stack is in use. */
static void enter(struct strait_coroutine *c)
{
    struct place caller;
    c->caller = &caller;
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_start_switch_fiber(&c->caller_fake_stack, c->stack, c->all->stack_bytes);
    strait_coroutine_switch(&caller, &c->here);
    __sanitizer_finish_switch_fiber(c->caller_fake_stack, NULL, NULL);
#else
    strait_coroutine_switch(&caller, &c->here);
#endif
}

static void arrive(struct strait_coroutine *c)
{
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_finish_switch_fiber(c->fake_stack, &c->caller_stack, &c->caller_stack_bytes);
#else
    (void)c;
#endif
}

static void leave(struct strait_coroutine *c)
{
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_start_switch_fiber(c->ended ? NULL : &c->fake_stack, c->caller_stack,
                                   c->caller_stack_bytes);
#endif
    strait_coroutine_switch(&c->here, c->caller);
}

static void live(struct strait_coroutine *c)
{
    arrive(c);
    c->fn(c->arg);
    c->ended = true;
    leave(c);
    abort(); /* unreachable: an ended coroutine is never resumed */
}

#ifdef __x86_64__
/* Stacks lie whole pages apart, so that their tops would share a few sets of each cache: they begin
 * at different lines of their first page. */
enum { N_APART = 32, APART_BYTES = 64 };

/* Entry point of the first switch to a coroutine, which is passed in rbx. */
void strait_coroutine_enter(void);
__asm__(".text\n"
        ".globl strait_coroutine_enter\n"
        ".hidden strait_coroutine_enter\n"
        ".type strait_coroutine_enter, @function\n"
        "strait_coroutine_enter:\n"
        "    movq %rbx, %rdi\n"
        "    callq *%rbp\n"
        "    ud2\n"
        ".size strait_coroutine_enter, .-strait_coroutine_enter\n");

static void begin_at_live(struct strait_coroutine *c)
{
    /* 16-byte aligned */
    uint64_t *top = (uint64_t *)(void *)(c->stack + c->all->stack_bytes - c->apart_bytes);
    uint64_t *frame = top - 10; /* as strait_coroutine_switch leaves the stack */
    c->here.stack_pointer = frame;
    if (c->kept) /* until it is first resumed */
        frame = c->kept;
    c->like = NULL;
    memset(frame, 0, 10 * sizeof(*frame));
    __asm__ volatile("stmxcsr (%0)\n\tfnstcw 4(%0)" : : "r"(frame) : "memory");
    frame[5] = (uint64_t)(uintptr_t)c;    /* rbx */
    frame[6] = (uint64_t)(uintptr_t)live; /* rbp */
    frame[7] = (uint64_t)(uintptr_t)strait_coroutine_enter;
}
#else
static void body(unsigned high, unsigned low) /* makecontext passes ints only */
{
    live((struct strait_coroutine *)(uintptr_t)((uint64_t)high << 32 | (uint64_t)low));
}

static void begin_at_live(struct strait_coroutine *c)
{
    getcontext(&c->here.context);
    c->here.context.uc_stack.ss_sp = c->stack;
    c->here.context.uc_stack.ss_size = c->all->stack_bytes;
    c->here.context.uc_link = NULL;
    makecontext(&c->here.context, (void (*)(void))body, 2, (unsigned)((uint64_t)(uintptr_t)c >> 32),
                (unsigned)(uintptr_t)c);
}
#endif

static size_t guard_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

/* Forget what frames that were left for ever had marked, before the memory is used again. */
static void forget_frames(struct strait_coroutine *c)
{
#ifdef __SANITIZE_ADDRESS__
    ASAN_UNPOISON_MEMORY_REGION(c->stack, c->all->stack_bytes);
#else
    (void)c;
#endif
}

/* NULL when memory runs out. */
static char *make_stack(size_t n_bytes)
{
    const size_t below = guard_bytes();
    char *memory = mmap(NULL, n_bytes + below, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    if (mprotect(memory, below, PROT_NONE) == 0)
        return memory + below; /* stacks grow down, into the guard */
    munmap(memory, n_bytes + below);
    return NULL;
}

static void free_stack(char *stack, size_t n_bytes)
{
    munmap(stack - guard_bytes(), n_bytes + guard_bytes());
}

static struct strait_coroutine *make(struct strait_coroutines *all)
{
    struct strait_coroutine *c = calloc(1, sizeof(*c));
    const bool shares = all->shared && all->n_made > 0;
    if (!c)
        return NULL;
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    c->cap_kept = shares ? FIRST_KEPT_BYTES : 0;
    c->kept = shares ? malloc(FIRST_KEPT_BYTES) : NULL;
#endif
    c->stack = !shares ? make_stack(all->stack_bytes) : c->kept ? all->shared : NULL;
    if (!c->stack) {
        free(c);
        return NULL;
    }
    c->all = all;
    c->apart_bytes = shares ? 0 : (unsigned)(all->n_made % N_APART * APART_BYTES);
    all->n_made += !shares;
    return c;
}

bool strait_coroutines_share(struct strait_coroutines *all, bool are_many)
{
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    strait_coroutines_release(all, 0);
    all->shared = make_stack(all->stack_bytes);
    if (are_many && all->shared) /* without memory for it all is kept */
        all->images = calloc(N_IMAGES, sizeof(*all->images));
#else
    (void)are_many;
#endif
    return all->shared != NULL;
}

struct strait_coroutine *strait_coroutine_new(struct strait_coroutines *all, void (*fn)(void *),
                                              void *arg)
{
    struct strait_coroutine *c = all->spare;
    if (c) {
        all->spare = c->next;
        forget_frames(c);
    } else if (!(c = make(all))) {
        return NULL;
    }
    c->fn = fn;
    c->arg = arg;
    c->ended = false;
    if (all->on_shared == c)
        all->on_shared = NULL;
#ifdef __SANITIZE_ADDRESS__
    c->fake_stack = NULL;
#endif
    begin_at_live(c);
    return c;
}

bool strait_coroutine_resume(struct strait_coroutines *all, struct strait_coroutine *c)
{
    if (!move_in(c))
        return false;
    all->running = c;
    enter(c);
    all->running = NULL;
    if (!c->ended)
        return false;
    c->next = all->spare;
    all->spare = c;
    return true;
}

void strait_coroutine_pause(struct strait_coroutines *all)
{
    struct strait_coroutine *c = all->running;
    leave(c);
    arrive(c);
}

void strait_coroutine_exit(struct strait_coroutines *all)
{
    struct strait_coroutine *c = all->running;
    c->ended = true;
    leave(c);
    abort(); /* unreachable, as above */
}

void strait_coroutine_abandon(struct strait_coroutines *all)
{
    all->is_abandoned = true;
    strait_coroutine_exit(all);
}

void strait_coroutine_give_up(struct strait_coroutines *all, struct strait_coroutine *c)
{
    c->ended = true;
    c->next = all->spare;
    all->spare = c;
}

void strait_coroutines_release(struct strait_coroutines *all, size_t n_kept)
{
    struct strait_coroutine **last = &all->spare;
    for (size_t n = 0; n < n_kept && *last && !all->shared; n++)
        last = &(*last)->next;
    for (struct strait_coroutine *c = *last, *next; c; c = next) {
        next = c->next;
        forget_frames(c);
        if (c->stack != all->shared) {
            free_stack(c->stack, all->stack_bytes);
            all->n_made--;
        }
        free(c->kept);
        free(c);
    }
    *last = NULL;
    if (all->shared)
        free_stack(all->shared, all->stack_bytes);
    for (size_t i = 0; i < all->n_images; i++)
        free(all->images[i].words);
    free(all->images);
    all->images = NULL;
    all->n_images = 0;
    all->shared = NULL;
    all->on_shared = NULL;
    all->is_abandoned = all->no_memory = false;
}
