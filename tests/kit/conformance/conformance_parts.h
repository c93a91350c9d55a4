/* Inside the conformance suite: what its files share. */
#pragma once
#include "conformance.h"
#include "tests/kit/rig.h"

/* One way between any two ranks, 5 ms a port; bytes/s of payload and frames on a link of 5 Mbps. */
#define PATH_S (conformance_of_suite()->unshaped ? 0 : 0.010)
#define C      (conformance_of_suite()->unshaped ? INFINITY : 5e6 / 8 * 1448 / 1514)
#define FRAME  96 /* bytes before each payload */
enum { ARRIVED, NOW, TAG, SRC, SEQ, POSTED, STARTED, ENDED, YES, WORD, COUNT }; /* keys of notes */

/** The usual star of n ranks: 5 Mbps, 5 ms a port. False: this host cannot, the test is skipped. */
bool conform_begin(struct strait_rig *rig, int n_ranks, void (*rank_main)(struct strait_rank *));
/** Run it, and assert that it went well. */
void conform_run(struct strait_rig *rig);
/** Is it the expected time, within what the backend may be off? NAN is not. */
bool conform_near(double found_s, double expected_s);

void conform_stream(void);
void conform_two_streams(void);
void conform_channels(void);
void conform_ramp(void);
void conform_idle(void);
void conform_empty(void);
void conform_acked(void);
void conform_any(void);
void conform_overtaking(void);
void conform_one_source(void);
void conform_payload(void);
void conform_words(void);
void conform_undeclared(void);
void conform_not_kept(void);

void conform_slots(void);
void conform_functions(void);
void conform_deadline(void);
void conform_deadline_instant(void);
void conform_poll(void);
void conform_oneself(void);
void conform_one_rank(void);
void conform_early_return(void);
void conform_nothing_can_arrive(void);
void conform_rank_0_ends(void);
void conform_lanes(void);
void conform_fail(void);
void conform_rerun(void);
