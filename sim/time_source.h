/* What the machine of virtual time needs from whoever turns the clock: SimGrid or the fluid loop.
 * The machine decides what is sent when, and runs the lanes; a kernel knows only time and flows. */
#pragma once

struct strait_stream;

struct strait_kernel {
    double (*now_s)(void *world);
    /** An idle stream has something to do: carry out strait_stream_next until it is idle again. On
     *  the stack of a lane: it must not wait for anything. */
    void (*kick)(void *world, struct strait_stream *stream);
};

/* What a stream does next. */
enum strait_action_kind { STRAIT_IDLE, STRAIT_SLEEP, STRAIT_FLOW };
struct strait_action {
    enum strait_action_kind kind;
    double until_s; /* SLEEP */
    double bytes;   /* FLOW: from host `src` to host `dst`, a whole number above 0 */
};
