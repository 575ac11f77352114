/* SPDX-License-Identifier: Apache-2.0 */
/*
 * input - the bytes of a file, plain or gzip (several members, too).
 *
 * Threads  one at a time.
 * Memory   one buffer of fixed size; input_close frees all.
 * Errors   NULL or -1; `why` then has the reason, without the path.
 * Units    bytes.
 */
#ifndef REPORT_INPUT_H
#define REPORT_INPUT_H

#include <stddef.h>
#include <sys/types.h>

#define INPUT_CUT "the gzip data end early" /* a `why` */

struct input;

/* NULL: there is no such file, it is a directory, or there is no memory. */
struct input *input_open(const char *path, const char **why);
/* Returns 0 at the end, -1 on an error. */
ssize_t input_read(struct input *in, void *bytes, size_t size, const char **why);
/* `in` may be NULL. */
void input_close(struct input *in);

#endif
