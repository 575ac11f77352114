/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/config.h"
#include "agent/core/fmt.h"

#include <string.h>

#define METADATA     "metadata."
#define ENV          "PROF_"
#define ENV_METADATA "PROF_METADATA_"
#define NAME_MOST    64

const struct config_option config_options[] = {
#define CFG(type, name, def, low, high, values, unit, help)                          \
	{ #name, def, values, unit, help, CFG_##type, offsetof(struct config, name), \
	  low,   high },
#include "agent/core/config.def"
#undef CFG
	{ NULL }
};

const char *(*config_check)(const char *name, const char *value);

static char why[320]; /* the latest complaint; parsing is one at a time */

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Locale-proof: in some locales tolower('I') is no ASCII letter. */
static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

static bool same_word(const char *word, size_t len, const char *text)
{
	for (size_t i = 0; i < len; i++)
		if (lower(word[i]) != lower(text[i]))
			return false;
	return !text[len];
}

/* Cuts blanks, then one pair of quotes that holds no other quote. */
static const char *trim(const char *s, size_t *len)
{
	size_t n = strlen(s);

	for (; n && is_blank(*s); n--)
		s++;
	while (n && is_blank(s[n - 1]))
		n--;
	if (n >= 2 && s[0] == '"' && s[n - 1] == '"' && !memchr(s + 1, '"', n - 2)) {
		s++;
		n -= 2;
	}
	*len = n;
	return s;
}

static const struct config_option *find(const char *name)
{
	for (const struct config_option *o = config_options; o->name; o++)
		if (!strcmp(o->name, name))
			return o;
	return NULL;
}

/* ---- one value ---- */

static const char *set_u32(const struct config_option *o, uint32_t *at, const char *v,
			   size_t len)
{
	uint64_t n = 0;
	size_t i;

	for (i = 0; i < len && v[i] >= '0' && v[i] <= '9' && n <= o->high; i++)
		n = n * 10 + (uint64_t)(v[i] - '0');
	if (i < len || !len || n < o->low || n > o->high) {
		fmt(why, sizeof(why), "'%.*s' is no number from %u to %u", (int)len, v,
		    o->low, o->high);
		return why;
	}
	*at = (uint32_t)n;
	return NULL;
}

static const char *set_flag(uint32_t *at, const char *v, size_t len)
{
	static const char *const words[] = { "off", "on",  "0",     "1",
					     "no",  "yes", "false", "true" };

	for (uint32_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		if (same_word(v, len, words[i])) {
			*at = i % 2;
			return NULL;
		}
	}
	fmt(why, sizeof(why), "'%.*s' is neither on nor off", (int)len, v);
	return why;
}

static const char *set_choice(const struct config_option *o, uint32_t *at, const char *v,
			      size_t len)
{
	const char *p = o->values;

	for (uint32_t i = 0; *p; i++) {
		size_t n = strcspn(p, "|");

		if (n == len && !memcmp(p, v, n)) {
			*at = i;
			return NULL;
		}
		p += n + (p[n] == '|');
	}
	fmt(why, sizeof(why), "'%.*s' is none of %s", (int)len, v, o->values);
	return why;
}

/* An empty text means the default: there is no option for which "" says more. */
static const char *set_text(const struct config_option *o, char *at, const char *v,
			    size_t len)
{
	char text[CONFIG_TEXT];
	const char *no;

	if (!len) {
		v = o->def;
		len = strlen(v);
	}
	if (len >= sizeof(text))
		return "the value is too long (1023 bytes at most)";
	memcpy(text, v, len);
	text[len] = '\0';
	if (strpbrk(text, "\n\r"))
		return "the value must be one line";
	no = config_check && *text ? config_check(o->name, text) : NULL;
	if (!no)
		memcpy(at, text, len + 1);
	return no;
}

/* ---- metadata.<key>: lines, one for each key ---- */

/* Where the line of this key begins, or the end of the lines. */
static char *metadata_find(char *lines, const char *key, size_t len)
{
	char *p = lines;

	while (*p && (strncmp(p, key, len) || strncmp(p + len, " = ", 3)))
		p += strcspn(p, "\n") + 1;
	return p;
}

static const char *set_metadata(struct config *c, const char *key, const char *v,
				size_t len)
{
	size_t key_len = strlen(key), used, old;
	char *line;

	if (!key_len || key_len > NAME_MOST || strpbrk(key, " \t\r\n="))
		return "a metadata key is 1 to 64 bytes without blanks and '='";
	if (memchr(v, '\n', len) || memchr(v, '\r', len))
		return "the value must be one line";
	for (; len && is_blank(*v);
	     len--) /* what quotes kept: it could not be read back */
		v++;
	while (len && is_blank(v[len - 1]))
		len--;
	line = metadata_find(c->metadata, key, key_len);
	old = strcspn(line, "\n") + (*line != '\0');
	used = strlen(c->metadata);
	if (used - old + key_len + 3 + len + 1 >= CONFIG_METADATA)
		return "there is no room for more metadata (4 KiB at most)";
	memmove(line, line + old, strlen(line + old) + 1);
	used = strlen(c->metadata);
	fmt(c->metadata + used, CONFIG_METADATA - used, "%s = %.*s\n", key, (int)len, v);
	return NULL;
}

/* ---- names ---- */

static unsigned least3(unsigned a, unsigned b, unsigned c)
{
	unsigned ab = a < b ? a : b;

	return ab < c ? ab : c;
}

/* Edits between two names; two letters swapped are one edit. */
static unsigned distance(const char *a, const char *b)
{
	unsigned rows[3][NAME_MOST + 1], *old = rows[0], *last = rows[1], *row = rows[2];
	size_t m = strlen(a), n = strlen(b);

	if (m > NAME_MOST || n > NAME_MOST)
		return NAME_MOST;
	for (unsigned j = 0; j <= n; j++)
		last[j] = j;
	for (unsigned i = 1; i <= m; i++) {
		unsigned *spare = old;

		row[0] = i;
		for (size_t j = 1; j <= n; j++) {
			bool differ = lower(a[i - 1]) != lower(b[j - 1]);

			row[j] =
				least3(last[j] + 1, row[j - 1] + 1, last[j - 1] + differ);
			if (i > 1 && j > 1 && differ &&
			    lower(a[i - 1]) == lower(b[j - 2]) &&
			    lower(a[i - 2]) == lower(b[j - 1]) && old[j - 2] + 1 < row[j])
				row[j] = old[j - 2] + 1;
		}
		old = last;
		last = row;
		row = spare;
	}
	return last[n];
}

const char *config_nearest(const char *name)
{
	size_t len = strlen(name);
	unsigned best = len < 5 ? 2 : len < 9 ? 3 : 4; /* one more than may differ */
	const char *nearest = NULL;

	for (const struct config_option *o = config_options; o->name; o++) {
		unsigned d = distance(name, o->name);

		if (d < best) {
			best = d;
			nearest = o->name;
		}
	}
	return nearest;
}

static const char *unknown(const char *name)
{
	const char *near = config_nearest(name);

	if (!near && !strncmp(name, "meta", 4))
		near = METADATA "<key>";
	if (near)
		fmt(why, sizeof(why), "no such option (did you mean %s?)", near);
	else
		fmt(why, sizeof(why), "no such option");
	return why;
}

/* ---- the calls ---- */

const char *config_set(struct config *c, const char *name, const char *value)
{
	const struct config_option *o = find(name);
	size_t len;
	void *at;

	value = trim(value, &len);
	if (!strncmp(name, METADATA, strlen(METADATA)))
		return set_metadata(c, name + strlen(METADATA), value, len);
	if (!o)
		return unknown(name);
	at = (char *)c + o->at;
	switch (o->type) {
	case CFG_u32:
		return set_u32(o, at, value, len);
	case CFG_flag:
		return set_flag(at, value, len);
	case CFG_choice:
		return set_choice(o, at, value, len);
	default:
		return set_text(o, at, value, len);
	}
}

void config_defaults(struct config *c)
{
	memset(c, 0, sizeof(*c));
	for (const struct config_option *o = config_options; o->name; o++)
		config_set(c, o->name, o->def);
}

const char *config_line(struct config *c, char *line)
{
	char *name = line + strspn(line, " \t\r\n"), *end = strchr(name, '=');
	static char told[400];
	const char *no;
	size_t len;

	if (!*name || *name == '#')
		return NULL;
	if (!end || end == name)
		return "expected: option = value";
	*end = '\0';
	for (len = strlen(name); len && is_blank(name[len - 1]); len--)
		;
	name[len] = '\0';
	no = config_set(c, name, end + 1);
	if (!no)
		return NULL;
	fmt(told, sizeof(told), "%s: %s", name, no);
	return told;
}

/* PROF_<NAME>=value: the option's name in `name`; false for what is no option of ours. */
static bool env_name(const char *entry, size_t len, char *name)
{
	size_t prefix = strlen(ENV);

	if (len <= prefix || len - prefix > NAME_MOST + strlen(METADATA) ||
	    strncmp(entry, ENV, prefix) || !strncmp(entry, "PROF_JOB=", 9))
		return false;
	if (!strncmp(entry, ENV_METADATA, strlen(ENV_METADATA))) {
		fmt(name, 2 * NAME_MOST, METADATA "%.*s",
		    (int)(len - strlen(ENV_METADATA)), entry + strlen(ENV_METADATA));
		return true;
	}
	for (size_t i = prefix; i < len; i++)
		name[i - prefix] = lower(entry[i]);
	name[len - prefix] = '\0';
	/* Others use this prefix, too: only what resembles an option is a mistake. */
	return find(name) || config_nearest(name);
}

void config_env(struct config *c, char *const *env,
		void (*bad)(const char *name, const char *why, void *arg), void *arg)
{
	char name[2 * NAME_MOST], shown[2 * NAME_MOST];

	for (; env && *env; env++) {
		size_t len = strcspn(*env, "=");
		const char *no;

		/* Set to nothing is the same as not set, as for most programs. */
		if (!(*env)[len] || !(*env)[len + 1] || !env_name(*env, len, name))
			continue;
		no = config_set(c, name, *env + len + 1);
		if (!no)
			continue;
		fmt(shown, sizeof(shown), "%.*s", (int)len, *env);
		bad(shown, no, arg);
	}
}

size_t config_value(const struct config *c, const struct config_option *o, char *buf,
		    size_t size)
{
	const char *at = (const char *)c + o->at, *values = o->values;
	uint32_t n = 0;
	size_t len;

	if (o->type == CFG_text) {
		len = strlen(at);
		if (len && (is_blank(at[0]) || is_blank(at[len - 1])))
			return fmt(buf, size, "\"%s\"", at);
		return fmt(buf, size, "%s", at);
	}
	memcpy(&n, at, sizeof(n));
	if (o->type == CFG_u32)
		return fmt(buf, size, "%u", n);
	if (o->type == CFG_flag)
		return fmt(buf, size, "%s", n ? "on" : "off");
	while (n-- && strchr(values, '|'))
		values = strchr(values, '|') + 1;
	return fmt(buf, size, "%.*s", (int)strcspn(values, "|"), values);
}

size_t config_print(const struct config *c, char *buf, size_t size)
{
	char value[CONFIG_TEXT + 2];
	const char *p = c->metadata;
	size_t n = 0;

#define REST (n < size ? buf + n : NULL), (n < size ? size - n : 0)
	for (const struct config_option *o = config_options; o->name; o++) {
		config_value(c, o, value, sizeof(value));
		n += fmt(REST, "%s = %s\n", o->name, value);
	}
	for (size_t len; *p; p += len) {
		len = strcspn(p, "\n") + 1;
		n += fmt(REST, METADATA "%.*s", (int)len, p);
	}
#undef REST
	return n;
}
