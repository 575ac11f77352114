/* SPDX-License-Identifier: Apache-2.0 */
/* Lines lie in a ring on the job's page, with a number for the next place that is
 * given out. Launcher and finisher each look there; a line belongs to whoever moves
 * `taken` on by one, in memory that no process of the job can reach. What was taken is
 * written to the page as well, so that writers see which places are free. */
#include "finisher/lines.h"
#include "base/fmt.h"
#include "base/sys.h"

#include <string.h>
#include <unistd.h>

#define PATIENCE_NS 1000000000ll /* for a line whose writer was stopped, or killed */

static bool read_at(const struct page *p, void *buf, size_t size, size_t at)
{
	return p->fd >= 0 && pread(p->fd, buf, size, (off_t)at) == (ssize_t)size;
}

static void put_line(char *text, void (*plain)(char *line))
{
	size_t len;

	for (char *c = text; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 127)
			*c = '?';
	if (plain)
		plain(text);
	len = strlen(text);
	text[len++] = '\n';
	sys_write_all(STDERR_FILENO, text, len);
}

/* Is the line whole? If not, *wait tells to wait for it, PATIENCE_NS at most. */
static bool is_ready(struct lines *l, uint32_t number, uint32_t ready, bool last,
		     bool *wait)
{
	int64_t now = sys_clock_ns(CLOCK_MONOTONIC);

	*wait = false;
	if (ready == number + 1)
		return true;
	if (l->stuck != number + 1) {
		l->stuck = number + 1;
		l->stuck_ns = now;
	}
	*wait = !last && now - l->stuck_ns < PATIENCE_NS;
	return false;
}

/* Says one line; false: there is no more for now. The line is copied before it is
 * checked, for its writer may still be at it; the copy gets an end of its own. */
static bool say_one(const struct page *p, struct lines *l, uint32_t next,
		    void (*plain)(char *line), bool last)
{
	uint32_t number = atomic_load(&l->taken);
	struct said_line line;
	char text[SAID_TEXT + 1];
	bool ready, wait;

	/* The ring went round since the last look, or the page lies: at most one ring of
	 * lines is said. */
	if (next - number > SAID_LINES)
		atomic_store(&l->taken, number = next - SAID_LINES);
	if (next == number || !read_at(p, &line, sizeof(line),
				       offsetof(struct job_page, said.line) +
					       number % SAID_LINES * sizeof(line)))
		return false;
	ready = is_ready(l, number, atomic_load(&line.ready), last, &wait);
	if (wait || !atomic_compare_exchange_strong(&l->taken, &number, number + 1))
		return false;
	number++;
	sys_pwrite_all(p->fd, &number, sizeof(number),
		       offsetof(struct job_page, said.taken));
	if (!ready)
		return true;
	memcpy(text, line.text, SAID_TEXT);
	text[SAID_TEXT - 1] = '\0';
	put_line(text, plain);
	return true;
}

/* Says how many lines found no place. The page's sum only grows; l->lost has what was
 * told of it, so that each loss is told once. */
static void say_lost(struct lines *l, uint32_t lost)
{
	char text[64];
	uint32_t more = lost - atomic_exchange(&l->lost, lost);

	if (!more)
		return;
	fmt(text, sizeof(text), "proflaunch: %u more messages", more);
	put_line(text, NULL);
}

void lines_say(const struct page *p, struct lines *l, void (*plain)(char *line),
	       bool last)
{
	uint32_t word[3]; /* next, taken, lost */

	if (!read_at(p, word, sizeof(word), offsetof(struct job_page, said)))
		return;
	for (unsigned i = 0; i < SAID_LINES; i++)
		if (!say_one(p, l, word[0], plain, last))
			break;
	say_lost(l, word[2]);
}
