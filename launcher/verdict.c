/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/verdict.h"

#include <stdarg.h>
#include <stdio.h>

bool verdict_off;

static void line(const char *word, const char *format, va_list args)
{
	printf("%-5s", word);
	vprintf(format, args);
	putchar('\n');
	fflush(stdout);
}

void verdict_good(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	line("ok", format, args);
	va_end(args);
}

void verdict_note(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	line("note", format, args);
	va_end(args);
}

void verdict_bad(const char *format, ...)
{
	va_list args;

	verdict_off = true;
	va_start(args, format);
	line("OFF", format, args);
	va_end(args);
}
