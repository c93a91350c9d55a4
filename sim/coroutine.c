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

struct strait_coroutine {
    struct place here, caller;
    struct strait_coroutine *next; /* spare */
    struct strait_coroutines *all;
    void (*fn)(void *);
    void *arg;
    char *stack;
    bool ended;
    void *fake_stack, *caller_fake_stack; /* for the address sanitizer */
    const void *caller_stack;
    size_t caller_stack_bytes;
};

/* Tell the sanitizer which stack is in use. */
static void enter(struct strait_coroutine *c)
{
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_start_switch_fiber(&c->caller_fake_stack, c->stack, c->all->stack_bytes);
    strait_coroutine_switch(&c->caller, &c->here);
    __sanitizer_finish_switch_fiber(c->caller_fake_stack, NULL, NULL);
#else
    strait_coroutine_switch(&c->caller, &c->here);
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
    strait_coroutine_switch(&c->here, &c->caller);
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
    uint64_t *top = (uint64_t *)(void *)(c->stack + c->all->stack_bytes); /* 16-byte aligned */
    uint64_t *frame = top - 10; /* as strait_coroutine_switch leaves the stack */
    memset(frame, 0, 10 * sizeof(*frame));
    __asm__ volatile("stmxcsr (%0)\n\tfnstcw 4(%0)" : : "r"(frame) : "memory");
    frame[5] = (uint64_t)(uintptr_t)c;    /* rbx */
    frame[6] = (uint64_t)(uintptr_t)live; /* rbp */
    frame[7] = (uint64_t)(uintptr_t)strait_coroutine_enter;
    c->here.stack_pointer = frame;
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

static struct strait_coroutine *make(struct strait_coroutines *all)
{
    const size_t below = guard_bytes();
    struct strait_coroutine *c = calloc(1, sizeof(*c));
    if (!c)
        return NULL;
    char *memory = mmap(NULL, all->stack_bytes + below, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (memory == MAP_FAILED || mprotect(memory, below, PROT_NONE) != 0) {
        if (memory != MAP_FAILED)
            munmap(memory, all->stack_bytes + below);
        free(c);
        return NULL;
    }
    c->stack = memory + below; /* stacks grow down, into the guard */
    c->all = all;
    all->n_made++;
    return c;
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
    c->fake_stack = NULL;
    begin_at_live(c);
    return c;
}

bool strait_coroutine_resume(struct strait_coroutines *all, struct strait_coroutine *c)
{
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

void strait_coroutine_abandon(struct strait_coroutines *all)
{
    struct strait_coroutine *c = all->running;
    all->is_abandoned = true;
    c->ended = true;
    leave(c);
    abort(); /* unreachable, as above */
}

void strait_coroutine_give_up(struct strait_coroutines *all, struct strait_coroutine *c)
{
    c->next = all->spare;
    all->spare = c;
}

void strait_coroutines_release(struct strait_coroutines *all, size_t n_kept)
{
    struct strait_coroutine **last = &all->spare;
    for (size_t n = 0; n < n_kept && *last; n++)
        last = &(*last)->next;
    for (struct strait_coroutine *c = *last, *next; c; c = next) {
        next = c->next;
        forget_frames(c);
        munmap(c->stack - guard_bytes(), all->stack_bytes + guard_bytes());
        free(c);
        all->n_made--;
    }
    *last = NULL;
    all->is_abandoned = false;
}
