/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ask - one question to a process of our own, `proflaunch symbolize`, and its answer.
 *
 * The program must not notice: the process is no child that its wait() could see, no
 * SIGCHLD or SIGPIPE is sent, none of its descriptors stays open in there, and it has
 * nothing of the program's environment. It ends with us.
 *
 * Question  items that end with NUL: "m<build id, hex>:<path>" names a module, and
 *           "f<offset, hex>" each of its frames; then the end.
 * Answer    for each frame, in order: its texts, innermost first, each with a NUL behind
 *           it; then an empty one.  No text at all: nothing is known, a file that was
 *           replaced tells nothing.  An answer that ends early is right as far as it
 * goes.
 *
 * Threads  one at a time.
 * Memory   two stacks for as long as it takes.
 * Errors   -ENOENT: there is no launcher to trust; -ETIME; -errno.
 * Units    ns.
 */
#ifndef WRITER_ASK_H
#define WRITER_ASK_H

#include <stddef.h>
#include <stdint.h>

/* `take` gets the answer piece by piece; what is not 0 ends it. */
int ask(const char *question, size_t len, int64_t ns,
	int (*take)(void *arg, const char *text, size_t len), void *arg);

#endif
