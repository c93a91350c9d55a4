/* What the engine needs from its source of time, SimGrid or the fluid loop. The engine decides what
 * is sent when and runs the lanes; the source knows only time and flows. */
#pragma once

struct strait_stream;

struct strait_kernel {
    double (*now_s)(void *world);
    /** An idle stream has work: carry out strait_stream_next until it is idle again. Called on a
     *  lane's stack, so it must not block. */
    void (*kick)(void *world, struct strait_stream *stream);
};

/* What a stream does next. */
enum strait_action_kind { STRAIT_IDLE, STRAIT_SLEEP, STRAIT_FLOW };
struct strait_action {
    enum strait_action_kind kind;
    double until_s; /* SLEEP */
    double bytes;   /* FLOW: from host `src` to host `dst`, a whole number above 0 */
};
