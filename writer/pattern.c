/* SPDX-License-Identifier: Apache-2.0 */
/* The name of a trace file, made of the option `file` and what its %-signs stand for. */
#include "agent/core/ranks.h"
#include "base/fmt.h"
#include "config/config_file.h"
#include "config/stages.h"
#include "writer/text.h"
#include "writer/trace.h"

#include <errno.h>
#include <unistd.h>

#define DEFAULT "%h_%p.%t"
/* The TensorBoard plugin takes the text before "_<pid>" for the node's name. */
#define DEFAULT_OF_RANK "%h_%p.rank%r.%t"
#define TIME_DIGITS     19 /* a constant width: readers sort windows by text */

static void put_char(struct text *t, char c)
{
	if (t->at < t->end)
		*t->at++ = c;
}

static void put_plain(struct text *t, char c)
{
	unsigned char u = (unsigned char)c;

	put_char(t, u < 0x20 || u == 0x7f || c == '"' || c == '\\' ? '_' : c);
}

/* Writes a text that somebody else chose: it must stay one plain part of a file name. */
static void put_value(struct text *t, const char *value)
{
	const char *from = value;

	for (; *value; value++) {
		bool fine = (*value >= 'a' && *value <= 'z') ||
			    (*value >= 'A' && *value <= 'Z') ||
			    (*value >= '0' && *value <= '9') ||
			    strchr("_-+=@,", *value) || (*value == '.' && value > from);

		put_char(t, fine ? *value : '_');
	}
}

/* Writes the value of "{VAR}" behind %q. Returns the place behind it, or NULL where there
 * is no {VAR}. */
static const char *put_variable(struct text *t, const char *p)
{
	const char *close = *p == '{' ? strchr(p, '}') : NULL;
	const char *value;
	char name[128];

	if (!close || (size_t)(close - p) > sizeof(name))
		return NULL;
	fmt(name, sizeof(name), "%.*s", (int)(close - p - 1), p + 1);
	value = config_getenv(environ, name);
	put_value(t, value ? value : "");
	return close + 1;
}

static void put_number(struct text *t, uint64_t n)
{
	char digits[JSON_DIGITS];

	*json_put_unsigned(digits, n) = '\0';
	put_value(t, digits);
}

/* Resolves the conversion behind the percent sign; %t and %% stay for each file. */
static const char *put_conversion(struct text *t, const char *p,
				  const struct spool_header *h)
{
	const char *behind;
	char host[sizeof(h->host) + 1];
	struct ranks r;

	switch (*p) {
	case 'h':
		fmt(host, sizeof(host), "%.*s", (int)sizeof(h->host), h->host);
		put_value(t, host);
		return p + 1;
	case 'p':
		put_number(t, h->pid);
		return p + 1;
	case 'r':
		put_value(t, ranks_find(&r, environ) ? r.rank : "0");
		return p + 1;
	case 'q':
		behind = put_variable(t, p + 1);
		if (behind)
			return behind;
		break;
	case 't':
		put_char(t, '%');
		put_char(t, 't');
		return p + 1;
	case '%':
		p++;
		break;
	}
	put_char(t, '%');
	put_char(t, '%');
	return p;
}

void writer_pattern(const struct config *config, const struct spool_header *h, char *buf,
		    size_t size)
{
	struct ranks r;
	const char *p = config->file[0]           ? config->file
			: ranks_find(&r, environ) ? DEFAULT_OF_RANK
						  : DEFAULT;
	struct text t = { buf, buf + size - 2 };

	put_char(&t, '"');
	while (*p) {
		char c = *p++;

		if (c == '%')
			p = put_conversion(&t, p, h);
		else
			put_plain(&t, c);
	}
	t.at[0] = '"';
	t.at[1] = '\0';
}

/* Writes the time with leading zeros: readers sort windows by their files' names as
 * text. */
static void put_stamp(struct text *t, int64_t stamp_ns)
{
	char digits[JSON_DIGITS + 1];
	uint64_t stamp = stamp_ns < 0 ? 0 : (uint64_t)stamp_ns;
	size_t len = (size_t)(json_put_unsigned(digits, stamp) - digits);

	for (size_t i = len; i < TIME_DIGITS; i++)
		put_char(t, '0');
	for (size_t i = 0; i < len; i++)
		put_char(t, digits[i]);
}

/* What stands behind the process's name, so that the time stays last: ".%t". */
static const char *find_time(const char *fact, size_t len)
{
	const char *at = len > 3 ? fact + len - 3 : NULL;

	return at && !memcmp(at, ".%t", 3) ? at : fact + len;
}

static void put_suffix(struct text *to, const struct trace *t)
{
	char suffix[STAGES_TEXT];

	stages_suffix(t->config, t->info->stage, suffix, sizeof(suffix));
	for (const char *p = suffix; *p; p++)
		put_plain(to, *p == '/' ? '_' : *p);
}

/* Writes the resolved pattern. Returns whether the time is in it. */
static bool put_fact(struct text *to, const char *fact, size_t len, const struct trace *t)
{
	const char *time = find_time(fact, len);
	bool timed = false;

	for (const char *p = fact; p < fact + len; p++) {
		if (p == time)
			put_suffix(to, t);
		if (*p != '%' || p + 1 == fact + len) {
			put_plain(to, *p);
		} else if (*++p == 't') {
			put_stamp(to, t->info->stamp_ns);
			timed = true;
		} else {
			put_char(to, '%');
		}
	}
	if (time == fact + len && (!len || fact[len - 1] != '/'))
		put_suffix(to, t);
	return timed;
}

/* Writes the pattern that the agent resolved or, without one, a name from the header
 * alone. Whoever wrote the spool chose both. Returns whether the time is in it. */
static bool put_resolved(struct text *to, const struct trace *t)
{
	const struct spool_header *h = t->view->head;
	char host[sizeof(h->host) + 1];
	const char *start = to->at, *fact;
	bool timed = false;
	size_t len = 0;

	fact = facts_get(h, "file", &len);
	if (fact && len > 2 && fact[0] == '"' && fact[len - 1] == '"')
		timed = put_fact(to, fact + 1, len - 2, t);
	if (to->at > start && to->at[-1] != '/')
		return timed;
	fmt(host, sizeof(host), "%.*s", (int)sizeof(h->host), h->host);
	put_value(to, host);
	put_char(to, '_');
	put_number(to, t->pid);
	put_suffix(to, t);
	put_char(to, '.');
	put_stamp(to, t->info->stamp_ns);
	return true;
}

/* Writes the name part by part, so that no part leads out of the directory before it. */
static void put_below(struct text *to, const char *name)
{
	while (*name) {
		size_t len = strcspn(name, "/");
		bool dots = len <= 2 && strspn(name, ".") == len;

		if (!dots || len == 2)
			put_char(to, '/');
		for (size_t i = 0; i < len && (!dots || len == 2); i++)
			put_char(to, dots ? '_' : name[i]);
		name += len + (name[len] == '/');
	}
}

int pattern_path(const struct trace *t, char *buf, size_t size, bool *timed)
{
	char name[2048 + 64];
	struct text text = { buf, buf + size - 1 };
	struct text whole = { name, name + sizeof(name) - 1 };

	*timed = put_resolved(&whole, t);
	for (const char *p = t->config->format == FORMAT_JSON_GZ ? ".pt.trace.json.gz"
								 : ".pt.trace.json";
	     *p; p++)
		put_char(&whole, *p);
	*whole.at = '\0';
	text.at += fmt(buf, size, "%s%s", t->config->logdir,
		       t->info->flags & CYCLE_CHILD ? "/children" : "");
	if (text.at >= text.end || whole.at >= whole.end)
		return -ENAMETOOLONG;
	put_below(&text, name);
	*text.at = '\0';
	return text.at < text.end ? 0 : -ENAMETOOLONG;
}
