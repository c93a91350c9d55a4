#include "conformance_parts.h"

#include <string.h>
#include "tests/kit/judged.h"

const struct strait_conformance *conformance_of_suite(void)
{
    return strait_suite_data();
}

bool conform_begin(struct strait_rig *rig, int n_ranks, void (*rank_main)(struct strait_rank *))
{
    strait_rig_init(rig, n_ranks, strait_rig_link(5e6, PATH_S / 2), rank_main);
    /* more dilation makes room for other programs: in vain where times are lower bounds */
    rig->run.dilation = conform_is_timed() ? conformance_of_suite()->dilation : 1;
    rig->run.in_process = conformance_of_suite()->in_process;
    struct strait_error err = {0};
    if (conformance_of_suite()->backend->check(&rig->run, &err) == 0 || err.code != STRAIT_ERR_HOST)
        return true;
    strait_test_skip(err.text);
    strait_rig_release(rig);
    return false;
}

void conform_run(struct strait_rig *rig)
{
    strait_rig_run(rig, conformance_of_suite()->backend);
    CU_ASSERT_EQUAL(rig->rc, 0);
    if (rig->rc != 0)
        printf("    %s: %s\n", rig->err.where, rig->err.text);
}

bool conform_is_timed(void)
{
    return conformance_of_suite()->ideal || (!conformance_of_suite()->unshaped && time_is_judged());
}

bool conform_near(double found_s, double expected_s)
{
    const double off_s = conform_is_timed() ? fabs(found_s - expected_s) : expected_s - found_s;
    const bool near = off_s <= conformance_of_suite()->tolerance_s +
                                   conformance_of_suite()->tolerance_ratio * fabs(expected_s);
    if (!near)
        printf("    expected %.9f s%s, found %.9f s\n", expected_s,
               conform_is_timed() ? "" : " or later", found_s);
    return near;
}

const struct strait_test strait_conformance_tests[STRAIT_N_CONFORMANCE] = {
    {"a stream carries its messages in order and pays the path delay once", conform_stream},
    {"two streams share a port", conform_two_streams},
    {"channels of one pair are separate streams", conform_channels},
    {"a cold stream doubles its window every round trip", conform_ramp},
    {"a stream that was idle for some RTOs begins smaller again", conform_idle},
    {"an empty payload costs its frame", conform_empty},
    {"an acknowledged send ends when the acknowledgement is back", conform_acked},
    {"messages of a channel come in the order of their arrival", conform_any},
    {"a short path overtakes a long one", conform_overtaking},
    {"a receive from one rank leaves the others' messages", conform_one_source},
    {"a real payload arrives bit by bit", conform_payload},
    {"words, codec, bound and sizes arrive exactly", conform_words},
    {"a send on a stream that the run does not declare fails", conform_undeclared},
    {"a packet that is sent more often than it is held fails", conform_not_kept},
    {"slots are served in order and nobody overtakes", conform_slots},
    {"the function of a job runs once, in order, before its wait returns", conform_functions},
    {"a deadline is met or missed", conform_deadline},
    {"a message that arrives at the deadline is in time", conform_deadline_instant},
    {"a poll takes what is there and does not wait", conform_poll},
    {"a message to oneself is free and instant", conform_oneself},
    {"a run of one rank works and ends", conform_one_rank},
    {"a rank may return early: its messages arrive, those to it vanish", conform_early_return},
    {"a receive that nothing can satisfy is an error that names the rank",
     conform_nothing_can_arrive},
    {"where the run says so it ends with rank 0", conform_rank_0_ends},
    {"lanes share slots and memory and signal by messages to their rank", conform_lanes},
    {"a failure is reported once, for the whole run", conform_fail},
    {"a rerun gives the same messages in the order of their arrival", conform_rerun},
};
