/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/config_file.h"
#include "agent/core/fmt.h"
#include "writer/trace.h"

#include <errno.h>
#include <unistd.h>

#define DEFAULT     "%h_%p.%t"
#define TIME_DIGITS 19 /* constant: readers sort windows by text */

struct text {
	char *at, *end;
};

static void put(struct text *t, char c)
{
	if (t->at < t->end)
		*t->at++ = c;
}

/* What others chose must stay one plain part of a file name. */
static void put_value(struct text *t, const char *value)
{
	const char *from = value;

	for (; *value; value++) {
		bool fine = (*value >= 'a' && *value <= 'z') ||
			    (*value >= 'A' && *value <= 'Z') ||
			    (*value >= '0' && *value <= '9') ||
			    strchr("_-+=@,", *value) || (*value == '.' && value > from);

		put(t, fine ? *value : '_');
	}
}

static const char *rank(void)
{
	static const char *const names[] = { "RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK",
					     "SLURM_PROCID" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const char *value = config_getenv(environ, names[i]);

		if (value && *value)
			return value;
	}
	return "0";
}

/* "{VAR}" behind %q. Returns behind it, or NULL when it is none. */
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

/* One conversion behind the percent sign; %t and %% are left for each file. */
static const char *convert(struct text *t, const char *p, const struct spool_header *h)
{
	const char *behind;
	char host[sizeof(h->host) + 1];

	switch (*p) {
	case 'h':
		fmt(host, sizeof(host), "%.*s", (int)sizeof(h->host), h->host);
		put_value(t, host);
		return p + 1;
	case 'p':
		put_number(t, h->pid);
		return p + 1;
	case 'r':
		put_value(t, rank());
		return p + 1;
	case 'q':
		behind = put_variable(t, p + 1);
		if (behind)
			return behind;
		break;
	case 't':
		put(t, '%');
		put(t, 't');
		return p + 1;
	case '%':
		p++;
		break;
	}
	put(t, '%');
	put(t, '%');
	return p;
}

void writer_pattern(const struct config *config, const struct spool_header *h, char *buf,
		    size_t size)
{
	const char *p = config->file[0] ? config->file : DEFAULT;
	struct text t = { buf, buf + size - 2 };

	put(&t, '"');
	while (*p) {
		unsigned char c = (unsigned char)*p++;

		if (c == '%')
			p = convert(&t, p, h);
		else
			put(&t, c < 0x20 || c == 0x7f || c == '"' || c == '\\' ? '_'
									       : (char)c);
	}
	t.at[0] = '"';
	t.at[1] = '\0';
}

/* What the agent resolved, or, for want of it, what the header alone tells. */
static void resolved(const struct trace *t, char *buf, size_t size)
{
	size_t len = 0;
	const char *fact = facts_get(t->view->head, "file", &len);

	if (fact && len > 2 && fact[0] == '"' && fact[len - 1] == '"')
		fmt(buf, size, "%.*s", (int)(len - 2), fact + 1);
	else
		fmt(buf, size, "%.*s_%u.%%t", (int)sizeof(t->view->head->host),
		    t->view->head->host, t->pid);
}

static void put_stamp(struct text *t, int64_t stamp_ns)
{
	char digits[JSON_DIGITS + 1];
	uint64_t stamp = stamp_ns < 0 ? 0 : (uint64_t)stamp_ns;
	size_t len = (size_t)(json_put_unsigned(digits, stamp) - digits);

	for (size_t i = len; i < TIME_DIGITS; i++)
		put(t, '0');
	for (size_t i = 0; i < len; i++)
		put(t, digits[i]);
}

int pattern_path(const struct trace *t, char *buf, size_t size)
{
	char pattern[2048];
	struct text text = { buf, buf + size - 1 };
	bool timed = false;

	text.at += fmt(buf, size, "%s%s/", t->config->logdir,
		       t->info->flags & CYCLE_CHILD ? "/children" : "");
	if (text.at >= text.end)
		return -ENAMETOOLONG;
	resolved(t, pattern, sizeof(pattern));
	for (const char *p = pattern; *p; p++) {
		if (*p != '%' || !p[1]) {
			put(&text, *p);
		} else if (*++p == 't') {
			put_stamp(&text, t->info->stamp_ns);
			timed = true;
		} else {
			put(&text, '%');
		}
	}
	/* Two windows of a process must never have the same name. */
	if (!timed) {
		put(&text, '.');
		put_stamp(&text, t->info->stamp_ns);
	}
	for (const char *p = t->config->format == FORMAT_JSON_GZ ? ".pt.trace.json.gz"
								 : ".pt.trace.json";
	     *p; p++)
		put(&text, *p);
	*text.at = '\0';
	return text.at < text.end ? 0 : -ENAMETOOLONG;
}
