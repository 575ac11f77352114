/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parts - the page's own text, as join.sh made it: what comes before the runs, and after.
 *
 * Threads  any.
 * Memory   constant.
 * Errors   none.
 * Units    bytes: a part ends where its _end is.
 */
#ifndef REPORT_PAGE_PARTS_H
#define REPORT_PAGE_PARTS_H

extern const char parts_head[], parts_head_end[];
extern const char parts_tail[], parts_tail_end[];

#endif
