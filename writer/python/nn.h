/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nn - calls of nn.Module in a file: slices as torch.profiler has them, and the path
 * of the module that an operator is in.
 *
 * Threads  one at a time.
 * Memory   24 bytes for each level of nesting; objects.h, pieces.h.
 * Errors   0 or -ENOMEM; t->nn stays NULL where there are none.
 * Units    ticks.
 */
#ifndef WRITER_PYTHON_NN_H
#define WRITER_PYTHON_NN_H

#include "agent/core/record_module.h"

struct piece;
struct pieces;
struct trace;
struct nn;

/* Numbers the window's modules: of each class from 0, by their first calls. */
int nn_start(struct trace *t);
void nn_free(struct trace *t);
/* NULL: there are no functions. */
struct pieces *nn_pieces(const struct trace *t);
void nn_thread(struct trace *t); /* a new row */
/* Where the call ends in the window. */
uint64_t nn_end(const struct trace *t, const struct rec_module *m);
/* A call of a module or a function begins, or a piece of it: writes the members of its
 * args, each with a comma behind it. */
int nn_begin(struct trace *t, const struct piece *piece);
/* "Module path" of the module around an operator, as a member with a comma behind it;
 * nothing where there is none. A backward one that is in none has that of its forward
 * operator, which is found by the numbers of `numbered`, and the file says so. 0 or
 * -ENOMEM. t->nn is not NULL. */
int nn_path(struct trace *t, const struct rec_op *op, const struct rec_op *numbered);
/* Writes the member "modules" of the object "proflaunch", where they were asked for. */
void nn_counts(struct trace *t);
/* Writes "nn.Module: <class>_<number>", without quotes. */
void nn_name(struct trace *t, const struct rec_module *m);
void nn_c_name(struct trace *t, uint32_t id); /* that of a call of C */

#endif
