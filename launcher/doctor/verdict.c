/* SPDX-License-Identifier: Apache-2.0 */
/* Verdicts go to stdout, as the lines are doctor's result; elsewhere the launcher's lines
 * go to stderr (say.h). */
#include "launcher/doctor/verdict.h"

#include <stdarg.h>
#include <stdio.h>

bool verdict_off;

void verdict_say(enum verdict verdict, const char *format, ...)
{
	static const char *const words[] = { "ok", "note", "OFF" };
	va_list args;

	verdict_off |= verdict == VERDICT_BAD;
	printf("%-5s", words[verdict]);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
	/* doctor runs the program next: the program's output comes behind this line. */
	fflush(stdout);
}
