/* SPDX-License-Identifier: Apache-2.0 */
/* A question is a list of items, each with a NUL behind it: "m<build id>:<path>" for a
 * module, "f<offset>" for a frame of the last one, in hex. The answer has for each frame
 * its texts, the innermost call first, and an empty text at the end. A child of its own
 * looks into each module: a first child with libdw; when that dies, or is too slow, a
 * second one goes on with the symbol table alone from the first frame that has no
 * answer. */
#include "launcher/symbols/symbolize.h"
#include "base/array.h"
#include "base/sys.h"
#include "launcher/symbols/frames.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define QUESTION_MOST (256u << 20)
#define PATIENCE_S    60 /* then the process ends by itself, whoever asked */
#define MODULE_CPU_S  20 /* processor time for one module */
#define BEAT_NS       1000000000ll
#define MODULE_DATA   (8ull << 30)

#if defined SANITIZED_ADDRESS || defined SANITIZED_THREAD
#define SANITIZED true /* the sanitizer maps terabytes */
#else
#define SANITIZED false
#endif

/* ---- the question ---- */

static bool read_all(struct symbolize_question *q)
{
	size_t room = 0;
	ssize_t n = 1;

	while (n > 0 && q->len < QUESTION_MOST) {
		if (!GROW(q->text, room, q->len + 1))
			return false;
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

static bool add_module(struct symbolize_question *q, const char *item)
{
	const char *path = strchr(item, ':');

	if (!path || !GROW(q->module, q->room, q->modules))
		return false;
	q->module[q->modules++] =
		(struct symbolize_module){ .id = item, .path = path + 1 };
	return true;
}

static bool add_frame(struct symbolize_question *q, const char *item)
{
	struct symbolize_module *m = q->modules ? &q->module[q->modules - 1] : NULL;
	char *end;

	if (!m || !GROW(m->offset, m->room, m->n))
		return false;
	m->offset[m->n++] = strtoull(item, &end, 16);
	return end != item && !*end;
}

/* Parses the question as far as it can be read: frames behind a bad item get no
 * answer. */
void symbolize_parse(struct symbolize_question *q)
{
	for (char *at = q->text; at < q->text + q->len; at += strlen(at) + 1)
		if (!(*at == 'm'   ? add_module(q, at + 1)
		      : *at == 'f' ? add_frame(q, at + 1)
				   : false))
			return;
}

size_t symbolize_length(const char *text, size_t len)
{
	size_t n = 0;

	while (n < len && text[n])
		n += strnlen(text + n, len - n) + 1;
	return n < len ? n + 1 : 0;
}

/* ---- one module, in a process of its own ---- */

static bool same_id(const struct symbolize_module *m, const struct symbol_file *f)
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

static void write_answer(int fd, const char *text, size_t len)
{
	if (sys_write_all(fd, text, len))
		_exit(1); /* nobody reads the answer */
}

/* Answers the frames from `first` on; with libdw if `dwarf`, else by names alone. */
static void look_up_frames(const struct symbolize_module *m, size_t first, bool dwarf,
			   int fd)
{
	struct text found = { 0 }, out = { 0 };
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
	symbol_put_end(&found); /* an empty text first, so that no text lies at 0 */
	if (d)
		symbol_dwarf_find(d, frame, n, &found, &names);
	for (size_t i = 0; i < n; i++) {
		struct symbol_frame key = { .pc = m->offset[first + i] };
		const struct symbol_frame *at =
			bsearch(&key, frame, n, sizeof(key), by_pc);

		if (at && at->text && !found.failed) {
			const char *texts = found.mem + at->text;

			write_answer(fd, texts,
				     symbolize_length(texts, found.n - at->text));
			continue;
		}
		out.n = 0;
		symbol_put_offset(&out, symbol_find(&names, key.pc), m->path, key.pc);
		symbol_put_end(&out);
		if (out.failed)
			return; /* else the next answer would be taken for this one */
		write_answer(fd, out.mem, out.n);
	}
}

/* Debug information can be made so that reading it never ends, or fills all memory. */
static void lower_limit(int what, rlim_t most)
{
	struct rlimit l;

	if (!getrlimit(what, &l) && l.rlim_cur > most) {
		l.rlim_cur = most;
		setrlimit(what, &l);
	}
}

/* Waits for more to read; false: the time is up, or the caller ends it. */
static bool wait_for_more(int fd, const struct symbolize_to *to)
{
	for (;;) {
		struct pollfd p = { fd, POLLIN, 0 };
		int64_t left =
			to->until ? to->until - sys_clock_ns(CLOCK_MONOTONIC) : BEAT_NS;
		int n;

		if (left <= 0 || (to->beat && to->beat()))
			return false;
		n = poll(&p, 1, (int)((left < BEAT_NS ? left : BEAT_NS) / 1000000) + 1);
		if (n > 0)
			return true;
		if (n < 0 && errno != EINTR)
			return false;
	}
}

/* Passes on whole answers; returns how many. */
static size_t pass_on(int fd, size_t most, const struct symbolize_to *to)
{
	static char buf[1 << 20];
	size_t used = 0, answers = 0;

	while (wait_for_more(fd, to)) {
		ssize_t n = read(fd, buf + used, sizeof(buf) - used);
		size_t whole = 0;
		bool begin = true; /* of a text; an empty text ends an answer */

		if (!n || (n < 0 && errno != EINTR))
			break;
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
		if (to->take(to->arg, buf, whole))
			break;
		used -= whole;
		memmove(buf, buf + whole, used);
		if (used == sizeof(buf))
			break; /* no frame has that many texts */
	}
	return answers;
}

static size_t look_apart(const struct symbolize_module *m, size_t first, bool dwarf,
			 const struct symbolize_to *to)
{
	int pipes[2], status;
	size_t answers;
	pid_t pid;

	if (pipe(pipes))
		return 0;
	pid = fork();
	if (!pid) {
		/* The process that asked may be killed for taking too long: this child
		 * must end with it. */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(pipes[0]);
		lower_limit(RLIMIT_CPU, MODULE_CPU_S);
		if (!SANITIZED)
			lower_limit(RLIMIT_DATA, MODULE_DATA);
		look_up_frames(m, first, dwarf, pipes[1]);
		_exit(0);
	}
	close(pipes[1]);
	answers = pid > 0 ? pass_on(pipes[0], m->n - first, to) : 0;
	close(pipes[0]);
	if (pid > 0)
		kill(pid, SIGKILL); /* the child has told all, or its time is up */
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return answers;
}

void symbolize_answer(const struct symbolize_module *m, const struct symbolize_to *to)
{
	size_t done = look_apart(m, 0, true, to);

	if (done < m->n)
		done += look_apart(m, done, false, to);
	if (to->beat && to->beat())
		return; /* the caller ended it: nothing is known of the rest */
	for (; done < m->n; done++)
		to->take(to->arg, "", 1);
}

static int put_out(void *arg, const char *text, size_t len)
{
	(void)arg;
	write_answer(STDOUT_FILENO, text, len);
	return 0;
}

void symbolize_free(struct symbolize_question *q)
{
	for (size_t i = 0; i < q->modules; i++)
		free(q->module[i].offset);
	free(q->module);
	free(q->text);
}

int symbolize_main(void)
{
	struct symbolize_to to = { .take = put_out };
	struct symbolize_question q = { 0 };

	lower_limit(RLIMIT_CORE, 0);
	alarm(PATIENCE_S);
	if (!read_all(&q))
		return 1;
	symbolize_parse(&q);
	for (size_t i = 0; i < q.modules; i++)
		symbolize_answer(&q.module[i], &to);
	symbolize_free(&q);
	return 0;
}
