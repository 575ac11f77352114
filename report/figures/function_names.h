/* SPDX-License-Identifier: Apache-2.0 */
/*
 * function_names - which function of Python each name in a trace means.
 *
 * A name has the line that ran when the call was seen: "train.py(42): step". For most
 * calls that is the function's first line. Elsewhere names of one function are put
 * together as far as the trace tells that they are:
 *
 * - A frame that was open when recording began has its line of that moment. It is of the
 *   nearest known function above that line in its file, if that has its name.
 * - Every file has one "<module>", at line 1.
 * - The address of a built-in's object says nothing: "<built-in method mm of Tensor
 *   object>" is what remains.
 *
 * A generator that goes on has the line of its yield. Two methods of one name, in two
 * classes, look the same: such a line stays apart.
 *
 * Threads  one at a time.
 * Memory   4 bytes a text of the model; while it is made 1 byte a slice, 1 a text and 40
 *          a function. Free it.
 * Errors   NULL: not enough memory.
 * Units    none.
 */
#ifndef REPORT_FIGURES_FUNCTION_NAMES_H
#define REPORT_FIGURES_FUNCTION_NAMES_H

#include "report/model.h"

/* By text of the model, as there are now: the text of the function. What is no function's
 * name has its own number. Texts are added to the model. */
uint32_t *function_names_make(struct model *m);

#endif
