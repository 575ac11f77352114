/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flames - the trees of a page's flame graph: whole stacks, by time on the CPU and on
 * GPUs.
 *
 * Stacks are those of `proflaunch export`: lines of Python, then annotations, operators
 * and calls. A node below FLAMES_LEAST of its tree is left out, and counts as its
 * parent's own time.
 *
 * Threads  one at a time.
 * Memory   24 bytes a distinct stack and 17 a slice until it returns.
 * Errors   false: not enough memory.
 * Units    microseconds.
 */
#ifndef REPORT_PAGE_FLAMES_H
#define REPORT_PAGE_FLAMES_H

#include "report/view/subject.h"

#define FLAMES_LEAST 0.0005

/* A JSON object: "cpu" and "gpu", each {"frames": [[text, kind], ...], "nodes": [[parent,
 * frame, time], ...]}, a parent before its children; -1 = the root. */
bool flames_print(const struct subject *s, FILE *out);

#endif
