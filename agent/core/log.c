/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/log.h"
#include "agent/core/fmt.h"
#include "agent/core/sys.h"

#include <stdatomic.h>
#include <unistd.h>

#define LINE 1024

bool log_quiet;
const char *log_name = "proflaunch";

static _Atomic unsigned lines;

static void say(const char *format, va_list args)
{
	char line[LINE];
	unsigned n = atomic_fetch_add_explicit(&lines, 1, memory_order_relaxed);
	size_t len;

	if (n > LOG_MOST)
		return;
	len = fmt(line, sizeof(line), "%s[%u]: ", log_name, sys_pid());
	if (n == LOG_MOST)
		len += fmt(line + len, sizeof(line) - len, "more lines are not shown");
	else
		len += fmt_v(line + len, sizeof(line) - len, format, args);
	if (len > LINE - 1)
		len = LINE - 1;
	line[len] = '\n';
	sys_write_all(STDERR_FILENO, line, len + 1);
}

void log_note(const char *format, ...)
{
	va_list args;

	if (log_quiet)
		return;
	va_start(args, format);
	say(format, args);
	va_end(args);
}

void log_warn(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(format, args);
	va_end(args);
}
