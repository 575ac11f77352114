/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a trace file up to its events, and looks whether it has an end. */
#include "report/head.h"
#include "base/order.h"
#include "base/text.h"
#include "report/input.h"
#include "report/parse.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static ssize_t read_input(void *arg, void *bytes, size_t size, const char **why)
{
	return input_read(arg, bytes, size, why);
}

static int64_t number_value(struct parse *p)
{
	return parse_value(p, TOKEN_NUMBER) ? number_i64(p) : 0;
}

int head_by_stage(const struct head *a, const struct head *b)
{
	return order_of(a->stage_number, b->stage_number) ?: strcmp(a->stage, b->stage);
}

/* Where the stage was named letters became small ones, and a dash an underscore. */
bool head_has_stage(const struct head *h, const char *wanted)
{
	const char *name = h->stage;

	if (!wanted)
		return true;
	for (; *wanted && (*wanted == '-' ? '_' : text_lower(*wanted)) == *name; name++)
		wanted++;
	return !*wanted && !*name;
}

void head_stage(char to[HEAD_STAGE], const char *name, size_t len)
{
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
		"0123456789_-";
	bool fine = len > 0 && len < HEAD_STAGE;

	for (size_t i = 0; fine && i < len; i++)
		fine = name[i] && strchr(letters, name[i]);
	snprintf(to, HEAD_STAGE, "%.*s", fine ? (int)len : 0, name);
}

/* Takes "window", "process" or "events" of the object "proflaunch". */
static void read_member(struct head *h, struct parse *p)
{
	if (!parse_value(p, TOKEN_OBJECT))
		return;
	while (parse_next(p) == TOKEN_KEY) {
		if (parse_is(p, "number"))
			h->window = number_value(p);
		else if (parse_is(p, "stage"))
			h->stage_number = number_value(p);
		else if (parse_is(p, "pid"))
			h->pid = number_value(p);
		else if (parse_is(p, "parent"))
			h->parent = number_value(p);
		else if (parse_is(p, "operators"))
			h->operators = number_value(p) > 0;
		else if (!parse_is(p, "job"))
			parse_skip(p, TOKEN_KEY);
		else if (parse_value(p, TOKEN_STRING))
			snprintf(h->run, sizeof(h->run), "job %.*s",
				 (int)(p->len < 128 ? p->len : 128), p->text);
	}
}

static void read_ours(struct head *h, struct parse *p)
{
	h->ours = true;
	h->operators = false;
	if (!parse_value(p, TOKEN_OBJECT))
		return;
	while (parse_next(p) == TOKEN_KEY)
		if (parse_is(p, "window") || parse_is(p, "process") ||
		    parse_is(p, "events"))
			read_member(h, p);
		else
			parse_skip(p, TOKEN_KEY);
}

/* The only process of a job is no rank. */
static void read_rank(struct head *h, struct parse *p)
{
	int64_t rank = -1, size = 0;

	if (!parse_value(p, TOKEN_OBJECT))
		return;
	while (parse_next(p) == TOKEN_KEY) {
		if (parse_is(p, "rank"))
			rank = number_value(p);
		else if (parse_is(p, "world_size"))
			size = number_value(p);
		else
			parse_skip(p, TOKEN_KEY);
	}
	h->rank = size > 1 ? rank : -1;
}

/* Whoever adds metadata to a trace may have called some of it that, too: the number,
 * which comes behind it, says that it is a stage. */
static void read_stage(struct head *h, struct parse *p)
{
	if (parse_value(p, TOKEN_STRING) && !*h->stage)
		head_stage(h->stage, p->text, p->len);
}

static void read_members(struct head *h, struct parse *p)
{
	if (parse_next(p) != TOKEN_OBJECT)
		return;
	while (parse_next(p) == TOKEN_KEY && !parse_is(p, "traceEvents")) {
		if (parse_is(p, "proflaunch"))
			read_ours(h, p);
		else if (parse_is(p, "distributedInfo"))
			read_rank(h, p);
		else if (parse_is(p, "stage"))
			read_stage(h, p);
		else
			parse_skip(p, TOKEN_KEY);
	}
}

/* Whatever cannot be read leaves the rest unknown: the reader says why, if the file is
 * chosen. */
static void read_head(struct head *h)
{
	const char *why;
	struct input *in = input_open(h->path, &why);
	struct parse p;

	if (!in)
		return;
	if (parse_start(&p, read_input, in)) {
		read_members(h, &p);
		parse_stop(&p);
	}
	input_close(in);
	if (h->stage_number <= 0 || !*h->stage) {
		h->stage_number = 0;
		*h->stage = '\0';
	}
}

/* Does the file end as JSON does? What is packed is taken to be whole. */
static bool is_finished(int fd, off_t size)
{
	char end[64] = "", begin[2] = "";
	ssize_t n = pread(fd, end, sizeof(end), size > 64 ? size - 64 : 0);

	if (pread(fd, begin, 2, 0) == 2 && !memcmp(begin, "\x1f\x8b", 2))
		return true;
	while (n > 0 && strchr(" \t\r\n", end[n - 1]))
		n--;
	return n > 0 && (end[n - 1] == '}' || end[n - 1] == ']');
}

/* Is the file's own folder "children"? */
static bool is_in_children(const char *path)
{
	static const char folder[] = "/children";
	const char *slash = strrchr(path, '/');
	size_t len = sizeof(folder) - 1;

	return slash && (size_t)(slash - path) >= len &&
	       !memcmp(slash - len, folder, len);
}

bool head_read(struct head *h, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	bool fine = fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode) &&
		    is_finished(fd, st.st_size);

	*h = (struct head){
		.path = path, .rank = -1, .operators = true, .child = is_in_children(path)
	};
	if (fine)
		h->changed = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
	if (fd >= 0)
		close(fd);
	if (fine)
		read_head(h);
	return fine;
}

static bool ends_with(const char *text, const char *end)
{
	size_t len = strlen(text), n = strlen(end);

	return len >= n && !strcmp(text + len - n, end);
}

static bool is_trace_name(const char *path)
{
	return ends_with(path, ".pt.trace.json") || ends_with(path, ".pt.trace.json.gz");
}

/* A list of events alone: its first object has a phase. */
static bool is_event_list(struct parse *p)
{
	enum token token;

	if (!parse_element(p, &token) || token != TOKEN_OBJECT)
		return false;
	while (parse_next(p) == TOKEN_KEY) {
		if (parse_is(p, "ph"))
			return true;
		parse_skip(p, TOKEN_KEY);
	}
	return false;
}

/* Kineto's first key is "schemaVersion"; before "traceEvents" there may be much. */
static bool is_trace_object(struct parse *p)
{
	while (parse_next(p) == TOKEN_KEY) {
		if (parse_is(p, "traceEvents") || parse_is(p, "schemaVersion"))
			return true;
		parse_skip(p, TOKEN_KEY);
	}
	return false;
}

bool head_is_trace(const char *path)
{
	const char *why;
	struct input *in;
	struct parse p;
	enum token token;
	bool trace = false;

	if (is_trace_name(path))
		return true;
	in = input_open(path, &why);
	if (!in)
		return access(path, R_OK) && errno == EACCES;
	if (parse_start(&p, read_input, in)) {
		token = parse_next(&p);
		trace = token == TOKEN_ARRAY
				? is_event_list(&p)
				: token == TOKEN_OBJECT && is_trace_object(&p);
		parse_stop(&p);
	}
	input_close(in);
	return trace;
}
