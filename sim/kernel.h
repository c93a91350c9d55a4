/* What the machine of virtual time needs from whoever turns the clock: SimGrid or the fluid loop.
 * The machine decides what is sent when; a kernel knows only time, coroutines and flows. */
#pragma once
#include <stdbool.h>

struct strait_machine;
struct strait_lane;
struct strait_stream;

struct strait_kernel {
    double (*now_s)(void *world);
    /** Make the coroutine that will call strait_lane_main(lane), now, after its maker blocks. */
    void (*begin)(void *world, struct strait_lane *lane);
    /** Called on the lane's own coroutine: returns at until_s (INFINITY: never), or at once after
     *  wake was called for it. */
    void (*block)(void *world, struct strait_lane *lane, double until_s);
    void (*wake)(void *world, struct strait_lane *lane);
    /** An idle stream has something to do: carry out strait_stream_next until it is idle again. */
    void (*kick)(void *world, struct strait_stream *stream);
};

/* What a stream does next. */
enum strait_action_kind { STRAIT_IDLE, STRAIT_SLEEP, STRAIT_FLOW };
struct strait_action {
    enum strait_action_kind kind;
    double until_s; /* SLEEP */
    double bytes;   /* FLOW: from host `src` to host `dst`, above 0 */
};
