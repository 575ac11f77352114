/* SPDX-License-Identifier: Apache-2.0 */
/*
 * setting - in what a program ran: its command, software and machine.
 *
 * What nobody knows has no line.
 *
 * Threads  one at a time.
 * Memory   none of its own.
 * Errors   none.
 * Units    none.
 */
#ifndef REPORT_VIEW_SETTING_H
#define REPORT_VIEW_SETTING_H

#include "report/view/screen.h"
#include "report/view/subject.h"

struct setting { /* what no trace says; NULL or 0 = not known */
	const char *command, *cpu, *system;
	int64_t cpus; /* where the trace does not say them */
};

void setting_print(const struct setting *o, const struct subject *s,
		   const struct screen *to);

#endif
