/* SPDX-License-Identifier: Apache-2.0 */
/*
 * marker - what ends a step: the option's text, and names that torch gives.
 *
 * Threads  any: pure.
 * Memory   a struct marker holds all of its text.
 * Errors   marker_parse returns NULL, or why the text is no marker.
 * Units    time: in nanoseconds once parsed.
 */
#ifndef SCHED_MARKER_H
#define SCHED_MARKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum marker_kind {
	MARKER_AUTO,
	MARKER_TORCH,
	MARKER_SYMBOL,
	MARKER_PYTHON, /* a function of Python's */
	MARKER_CUDA, /* a CUDA call */
	MARKER_KERNEL, /* the call that launches a kernel */
	MARKER_TIME,
	MARKER_NONE,
	MARKER_OUTSIDE /* no option's: of what is in none of the user's stages */
};

struct marker {
	enum marker_kind kind;
	bool at_begin; /* but time: the boundary is at the begin, not at the end */
	uint64_t period_ns; /* time: the length of a step */
	size_t len; /* of text */
	size_t plain; /* leading bytes of text without wildcards */
	char text[1024]; /* the glob; symbol: [library!]name; python: module.name */
};

/* Annotations that mean something to `auto` and to the counters. */
enum marker_class {
	CLASS_OTHER,
	CLASS_LOADER,
	CLASS_OPTIMIZER,
	CLASS_ZERO_GRAD,
	CLASS_PROFILER
};

const char *marker_parse(struct marker *m, const char *text);
enum marker_class marker_classify(const char *name, size_t len);
/* Is `name` matched by the glob (* ? [a-z] [!x], \ quotes the next byte)? */
bool marker_glob(const char *glob, size_t glob_len, const char *name, size_t len);
bool marker_matches(const struct marker *m, const char *name, size_t len);
/* May the glob match operators? Then they must be observed outside windows, too. */
bool marker_may_be_op(const struct marker *m);

#endif
