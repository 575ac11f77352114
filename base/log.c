/* SPDX-License-Identifier: Apache-2.0 */
/* One line is one write, so that lines of several processes do not mix. The line is
 * put together on the stack, for there is no memory to ask for in a hook; and after
 * LOG_MOST lines a process says nothing more, for an error in each operator would bury
 * the program's own output. */
#include "base/log.h"
#include "base/fmt.h"
#include "base/sys.h"

#include <stdatomic.h>
#include <unistd.h>

#define LINE 1024

bool log_quiet;

bool (*log_elsewhere)(const char *line, size_t len);

static _Atomic unsigned lines;
/* What descriptor 2 was when the agent began. */
static struct {
	bool on, open;
	struct sys_stat st;
} watched;

void log_watch(void)
{
	watched.open = !sys_fstat(STDERR_FILENO, &watched.st);
	watched.on = true;
}

/* Is descriptor 2 what it was? A daemon closes what it does not know, and opens what it
 * needs. */
static bool is_ours(void)
{
	struct sys_stat st;

	return !watched.on || (watched.open && !sys_fstat(STDERR_FILENO, &st) &&
			       st.dev == watched.st.dev && st.ino == watched.st.ino &&
			       st.mode == watched.st.mode);
}

static void write_line(const char *format, va_list args)
{
	char line[LINE];
	unsigned n = atomic_fetch_add_explicit(&lines, 1, memory_order_relaxed);
	size_t len;

	if (n > LOG_MOST)
		return;
	len = fmt(line, sizeof(line), "proflaunch[%u]: ", sys_pid());
	/* The last line says that there would be more. */
	if (n == LOG_MOST)
		len += fmt(line + len, sizeof(line) - len, "more lines are not shown");
	else
		len += fmt_v(line + len, sizeof(line) - len, format, args);
	if (len > LINE - 1)
		len = LINE - 1;
	line[len] = '\n';
	if ((log_elsewhere && log_elsewhere(line, len)) || !is_ours())
		return;
	sys_write_all(STDERR_FILENO, line, len + 1);
}

void log_silence(void)
{
	atomic_store(&lines, LOG_MOST + 1);
}

void log_note(const char *format, ...)
{
	va_list args;

	if (log_quiet)
		return;
	va_start(args, format);
	write_line(format, args);
	va_end(args);
}

void log_warn(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	write_line(format, args);
	va_end(args);
}
