/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbolize - tells functions and lines of frames, by libdw or symbol tables.
 *
 * A process of its own looks at each file, bounded in time and memory: debug information
 * may be damaged, or made to harm.
 *
 * Threads  one at a time.
 * Memory   the question; known_ask keeps what it has learnt, up to a bound.
 * Errors   a frame that nobody knows has no text.
 * Units    ns.
 */
#ifndef LAUNCHER_SYMBOLS_SYMBOLIZE_H
#define LAUNCHER_SYMBOLS_SYMBOLIZE_H

#include <stddef.h>
#include <stdint.h>

struct symbolize_module {
	const char *path;
	const char *id; /* hex, ends with ':' */
	uint64_t *offset;
	size_t n, room;
};

struct symbolize_question {
	char *text; /* malloc'ed, with a NUL behind it */
	size_t len;
	struct symbolize_module *module;
	size_t modules, room;
};

struct symbolize_to { /* takes whole answers */
	int (*take)(void *arg, const char *text, size_t len);
	int (*beat)(void); /* called now and then; not 0 ends the work. May be NULL */
	int64_t until; /* CLOCK_MONOTONIC; 0 = for as long as it takes */
	void *arg;
};

/* Parses the question as far as it can be read: frames behind a bad item get no
 * answer. */
void symbolize_parse(struct symbolize_question *q);
/* Gives one answer for each frame of the module. */
void symbolize_answer(const struct symbolize_module *m, const struct symbolize_to *to);
void symbolize_free(struct symbolize_question *q);

/* How many bytes the answer at the begin of `text` has, with the empty text at its end;
 * 0: it is not all there. */
size_t symbolize_length(const char *text, size_t len);

/* `proflaunch symbolize`: the question comes by standard input. */
int symbolize_main(void);

/* Answers in this process, for symbols_ask (writer/symbols/symbols.h), and keeps each
 * answer for all windows of all processes, by build id, path and offset. */
int known_ask(const char *question, size_t len, int64_t ns,
	      int (*take)(void *arg, const char *text, size_t len), void *arg);

#endif
