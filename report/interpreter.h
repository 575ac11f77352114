/* SPDX-License-Identifier: Apache-2.0 */
/*
 * interpreter - which Python ran the program, and how calls of its functions were
 * recorded, as a file of proflaunch says; torch's own files do not.
 *
 * Threads  one at a time.
 * Memory   texts are the caller's.
 * Errors   none: what cannot be read is not known.
 * Units    in the names.
 */
#ifndef REPORT_INTERPRETER_H
#define REPORT_INTERPRETER_H

#include "report/parse.h"
#include "report/texts.h"

struct interpreter {
	uint32_t version; /* "3.11.7"; TEXT_NONE = not said */
	bool asked; /* calls were asked for ... */
	bool seen; /* ... and are recorded */
	int64_t late_us; /* from so long after the window's begin on */
	uint64_t deep; /* calls that lay too deep and are not there */
	uint64_t away; /* threads whose calls another tool had */
	/* What recording a call of a function of Python takes, and of one of C; 0 = not
	 * said */
	double call_ns, c_call_ns;
};

/* Each takes the value of a key: "python" of the facts, "python functions". */
void interpreter_take_fact(struct interpreter *i, struct texts *texts, struct parse *p);
void interpreter_take_calls(struct interpreter *i, struct parse *p);

#endif
