/* K-FAC's values, where a run trains: running averages of summed factors, inverses and
 * preconditioned gradients. Without training all of this does nothing but take its time. */
#pragma once
#include "kfac_state.h"
#include "workloads/ask/experiment.h"

/** Whether the optimiser and the task of an experiment that trains go with K-FAC. */
int kfac_values_check(const struct strait_experiment *e, struct strait_error *err);
/** Call when all jobs are made: tells which parts of their tensors belong to which factor. */
void kfac_values_begin(struct kfac *k);
/** Where this rank's factor i goes; NULL: the run does not train. */
struct strait_tensor *kfac_factor(struct kfac *k, int i);
/** Factor i was computed: note its trace, for damping. */
void kfac_note_trace(struct kfac *k, int i);
/** Sum the traces of factors that are reduced to their owner, of which others learn no trace. */
void kfac_send_traces(struct kfac *k);
/** All sums are there: average their traces. */
void kfac_take_traces(struct kfac *k);
void kfac_invert(struct kfac *k, int i);
void kfac_precondition(struct kfac *k, int i);
/** One step along the preconditioned gradients, clipped, and the plain ones of other layers. */
void kfac_step(struct kfac *k);
