/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/symbolize.h"
#include "launcher/symbol_parts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define QUESTION_MOST (256u << 20)
#define PATIENCE_S    60 /* we end by ourselves, whoever asked */
#define MODULE_CPU_S  20 /* one file may take ... */
#define MODULE_DATA   (8ull << 30)

#if defined SANITIZED_ADDRESS || defined SANITIZED_THREAD
#define SANITIZED true /* maps terabytes */
#else
#define SANITIZED false
#endif

struct module {
	const char *path;
	const char *id; /* hex, ends with ':' */
	uint64_t *offset;
	size_t n, room;
};

struct question {
	char *text;
	size_t len;
	struct module *module;
	size_t modules, room;
};

/* ---- the question ---- */

static bool read_all(struct question *q)
{
	size_t room = 0;
	ssize_t n = 1;

	while (n > 0 && q->len < QUESTION_MOST) {
		if (room - q->len < 2) {
			char *more = realloc(q->text, room = 2 * room + 65536);

			if (!more)
				return false;
			q->text = more;
		}
		n = read(STDIN_FILENO, q->text + q->len, room - q->len - 1);
		if (n < 0 && errno == EINTR)
			n = 1;
		else if (n > 0)
			q->len += (size_t)n;
	}
	if (!q->text)
		return false;
	q->text[q->len] = '\0';
	return n == 0;
}

static bool add_module(struct question *q, const char *item)
{
	const char *path = strchr(item, ':');

	if (!path)
		return false;
	if (q->modules == q->room) {
		size_t room = 2 * q->room + 64;
		struct module *more = realloc(q->module, room * sizeof(*more));

		if (!more)
			return false;
		q->module = more;
		q->room = room;
	}
	q->module[q->modules++] = (struct module){ .id = item, .path = path + 1 };
	return true;
}

static bool add_frame(struct question *q, const char *item)
{
	struct module *m = q->modules ? &q->module[q->modules - 1] : NULL;
	char *end;

	if (m && m->n == m->room) {
		size_t room = 2 * m->room + 64;
		uint64_t *more = realloc(m->offset, room * sizeof(*more));

		if (!more)
			return false;
		m->offset = more;
		m->room = room;
	}
	if (!m)
		return false;
	m->offset[m->n++] = strtoull(item, &end, 16);
	return end != item && !*end;
}

/* As far as it can be read: what is behind a bad item is not answered. */
static void parse(struct question *q)
{
	for (char *at = q->text; at < q->text + q->len; at += strlen(at) + 1)
		if (!(*at == 'm'   ? add_module(q, at + 1)
		      : *at == 'f' ? add_frame(q, at + 1)
				   : false))
			return;
}

/* ---- one module, in a process of its own ---- */

static bool same_id(const struct module *m, const struct symbol_file *f)
{
	uint8_t id[SYMBOL_ID];
	unsigned len = symbol_file_id(f, id);
	const char *want = m->id;

	for (unsigned i = 0; i < len; i++) {
		char pair[3];

		snprintf(pair, sizeof(pair), "%02x", id[i]);
		if (strncmp(want, pair, 2))
			return false;
		want += 2;
	}
	return *want == ':';
}

static int by_pc(const void *left, const void *right)
{
	const struct symbol_frame *a = left, *b = right;

	return a->pc < b->pc ? -1 : a->pc > b->pc;
}

static const struct symbol_frame *frame_of(const struct symbol_frame *frame, size_t n,
					   uint64_t pc)
{
	struct symbol_frame key = { .pc = pc };

	return bsearch(&key, frame, n, sizeof(*frame), by_pc);
}

static size_t length_of(const char *texts)
{
	const char *end = texts;

	while (*end)
		end += strlen(end) + 1;
	return (size_t)(end - texts) + 1;
}

static void write_all(int fd, const char *at, size_t left)
{
	while (left) {
		ssize_t n = write(fd, at, left);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			_exit(1); /* nobody listens */
		at += n;
		left -= (size_t)n;
	}
}

/* The frames from `first` on; with libdw if `dwarf`, else by names alone. */
static void look(const struct module *m, size_t first, bool dwarf, int fd)
{
	struct symbol_text found = { 0 }, out = { 0 };
	struct symbol_table names = { 0 };
	struct symbol_dwarf *d = NULL;
	struct symbol_frame *frame;
	struct symbol_file f;
	size_t n = m->n - first;

	if (!symbol_file_open(&f, m->path) || !same_id(m, &f))
		return;
	frame = calloc(n, sizeof(*frame));
	if (!frame)
		return;
	for (size_t i = 0; i < n; i++)
		frame[i].pc = m->offset[first + i];
	qsort(frame, n, sizeof(*frame), by_pc);
	d = dwarf ? symbol_dwarf_open(&f, m->path) : NULL;
	if (d)
		symbol_dwarf_names(d, &names);
	if (!names.n)
		symbol_file_read(&f, &names);
	symbol_put_end(&found); /* so that no text lies at 0 */
	if (d)
		symbol_dwarf_find(d, frame, n, &found, &names);
	for (size_t i = 0; i < n; i++) {
		uint64_t pc = m->offset[first + i];
		const struct symbol_frame *at = frame_of(frame, n, pc);

		if (at && at->text && !found.failed) {
			const char *texts = found.mem + at->text;

			write_all(fd, texts, length_of(texts));
			continue;
		}
		out.used = 0;
		symbol_put_offset(&out, symbol_find(&names, pc), m->path, pc);
		symbol_put_end(&out);
		if (!out.failed)
			write_all(fd, out.mem, out.used);
	}
}

static void limit(int what, rlim_t most)
{
	struct rlimit l;

	if (!getrlimit(what, &l) && l.rlim_cur > most) {
		l.rlim_cur = most;
		setrlimit(what, &l);
	}
}

/* Passes on whole answers; returns how many. */
static size_t pass_on(int fd, size_t most)
{
	static char buf[1 << 20];
	size_t used = 0, answers = 0;
	ssize_t n;

	while ((n = read(fd, buf + used, sizeof(buf) - used)) > 0 ||
	       (n < 0 && errno == EINTR)) {
		size_t whole = 0;
		bool begin = true; /* of a text: an empty one ends an answer */

		if (n < 0)
			continue;
		used += (size_t)n;
		for (size_t i = 0; i < used && answers < most; i++) {
			if (!buf[i] && begin) {
				answers++;
				whole = i + 1;
			}
			begin = !buf[i];
		}
		write_all(STDOUT_FILENO, buf, whole);
		used -= whole;
		memmove(buf, buf + whole, used);
		if (used == sizeof(buf))
			break; /* no frame has that much to tell */
	}
	return answers;
}

static size_t look_apart(const struct module *m, size_t first, bool dwarf)
{
	int pipes[2], status;
	size_t answers;
	pid_t pid;

	if (pipe(pipes))
		return 0;
	pid = fork();
	if (!pid) {
		close(pipes[0]);
		limit(RLIMIT_CPU, MODULE_CPU_S);
		if (!SANITIZED)
			limit(RLIMIT_DATA, MODULE_DATA);
		look(m, first, dwarf, pipes[1]);
		_exit(0);
	}
	close(pipes[1]);
	answers = pid > 0 ? pass_on(pipes[0], m->n - first) : 0;
	close(pipes[0]); /* whoever still writes ends by that */
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return answers;
}

static void answer(const struct module *m)
{
	size_t done = look_apart(m, 0, true);

	if (done < m->n)
		done += look_apart(m, done, false);
	for (; done < m->n; done++)
		write_all(STDOUT_FILENO, "", 1);
}

int symbolize_main(void)
{
	struct question q = { 0 };

	limit(RLIMIT_CORE, 0);
	alarm(PATIENCE_S);
	if (!read_all(&q))
		return 1;
	parse(&q);
	for (size_t i = 0; i < q.modules; i++) {
		answer(&q.module[i]);
		free(q.module[i].offset);
	}
	free(q.module);
	free(q.text);
	return 0;
}
