/* SPDX-License-Identifier: Apache-2.0 */
/* Texts become numbers here, once: afterwards nobody looks at an option's text again
 * but for plans, markers and paths. No call allocates, for the agent reads its options
 * before the program's malloc may be called; complaints lie in static memory, and in
 * an order that `why` (the value) may be part of `told` (the line). */
#include "config/config.h"
#include "base/fmt.h"
#include "base/text.h"
#include "config/several.h"

#include <string.h>

#define METADATA     "metadata."
#define ENV          "PROF_"
#define ENV_METADATA "PROF_METADATA_"
#define NAME_MOST    64

const char *(*config_check)(const char *name, const char *value);

static char why[320]; /* the latest complaint; parsing is one at a time */

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Letters of either case are the same: On, OFF, True. */
static bool same_word(const char *word, size_t len, const char *text)
{
	for (size_t i = 0; i < len; i++)
		if (text_lower(word[i]) != text_lower(text[i]))
			return false;
	return !text[len];
}

static bool is_quoted(const char *s, size_t n)
{
	return n >= 2 && (*s == '"' || *s == '\'') && s[n - 1] == *s &&
	       !memchr(s + 1, *s, n - 2);
}

/* Cuts blanks, then one pair of quotes of either kind, if no other of that kind lies
 * between. */
static const char *trim_value(const char *s, size_t *len)
{
	size_t n = strlen(s);

	for (; n && is_blank(*s); n--)
		s++;
	while (n && is_blank(s[n - 1]))
		n--;
	if (is_quoted(s, n)) {
		s++;
		n -= 2;
	}
	*len = n;
	return s;
}

/* A value that needs quotes does not hold both kinds: it was itself read from one
 * kind. */
size_t config_quote(const char *value, size_t len, char *buf, size_t size)
{
	char quote = memchr(value, '"', len) ? '\'' : '"';

	if (len &&
	    (is_blank(value[0]) || is_blank(value[len - 1]) || is_quoted(value, len)))
		return fmt(buf, size, "%c%.*s%c", quote, (int)len, value, quote);
	return fmt(buf, size, "%.*s", (int)len, value);
}

static bool same_name(const char *name, const char *option)
{
	for (; *name && (*name == '-' ? '_' : *name) == *option; option++)
		name++;
	return !*name && !*option;
}

const char *config_alias(const char *name)
{
	for (const struct config_alias *a = config_aliases; *a->name; a++)
		if (same_name(name, a->name))
			return a->option;
	return name;
}

const struct config_option *config_find(const char *name)
{
	name = config_alias(name);
	for (const struct config_option *o = config_options; *o->name; o++)
		if (same_name(name, o->name))
			return o;
	return several_is_old(name) ? config_find("native_stacks") : NULL;
}

bool config_is_switch(const struct config_option *o)
{
	return o->type != CFG_u32 && o->high;
}

/* One option asks for another: FLOPs are computed from inputs. */
bool config_wants_inputs(const struct config *c)
{
	return c->record_shapes || c->flops;
}

bool config_wants_modules(const struct config *c)
{
	return c->modules || c->python_stack == PYTHON_FULL;
}

bool config_marker_is(const struct config *c, const char *by)
{
	return text_after(c->marker, by);
}

bool config_is_metadata(const char *name)
{
	return !strncmp(name, METADATA, strlen(METADATA));
}

/* ---- one value ---- */

/* The loop ends one digit behind the bound, so that the number cannot wrap. */
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

/* 1 is on, 0 off; below 0 it is neither. */
static int flag_of(const char *v, size_t len)
{
	static const char *const words[] = { "off", "on",  "0",     "1",
					     "no",  "yes", "false", "true" };

	for (int i = 0; i < (int)(sizeof(words) / sizeof(*words)); i++)
		if (same_word(v, len, words[i]))
			return i % 2;
	return -1;
}

static const char *set_flag(uint32_t *at, const char *v, size_t len)
{
	int flag = flag_of(v, len);

	if (flag < 0) {
		fmt(why, sizeof(why), "'%.*s' is neither on nor off", (int)len, v);
		return why;
	}
	*at = (uint32_t)flag;
	return NULL;
}

static const char *set_choice(const struct config_option *o, uint32_t *at, const char *v,
			      size_t len)
{
	int flag = config_is_switch(o) ? flag_of(v, len) : -1;
	const char *p = o->values;

	if (flag >= 0) {
		*at = (uint32_t)flag;
		return NULL;
	}
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

/* Trace files stay below the log directory. */
static const char *check_file(const char *pattern)
{
	bool out = *pattern == '/';

	for (const char *p = pattern; *p; p += strcspn(p, "/"), p += *p == '/')
		out |= !strncmp(p, "..", 2) && (!p[2] || p[2] == '/');
	return out ? "it goes below logdir: no slash at its begin, no '..' in it" : NULL;
}

static const char *set_text(const struct config_option *o, char *at, const char *v,
			    size_t len)
{
	char text[CONFIG_TEXT];
	const char *no;

	if (len >= sizeof(text))
		return "the value is too long (1023 bytes at most)";
	memcpy(text, v, len);
	text[len] = '\0';
	if (strpbrk(text, "\n\r"))
		return "the value must be one line";
	no = strcmp(o->name, "file") ? NULL : check_file(text);
	if (!no && config_check && *text)
		no = config_check(o->name, text);
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

/* ---- the calls ---- */

static const char *set_option(struct config *c, const struct config_option *o,
			      const char *name, const char *value)
{
	size_t len;
	void *at;

	value = trim_value(value, &len);
	/* An empty value counts only where the default is empty, too. */
	if (!len && *o->def)
		return "the value is empty";
	at = (char *)c + o->at;
	switch (o->type) {
	case CFG_u32:
		return set_u32(o, at, value, len);
	case CFG_flag:
		return set_flag(at, value, len);
	case CFG_choice:
		return set_choice(o, at, value, len);
	case CFG_set:
		return several_read(o, name, at, flag_of(value, len), value, len);
	default:
		return set_text(o, at, value, len);
	}
}

const char *config_set(struct config *c, const char *name, const char *value)
{
	const struct config_option *o;
	size_t len;

	if (config_is_metadata(name)) {
		value = trim_value(value, &len);
		return set_metadata(c, name + strlen(METADATA), value, len);
	}
	o = config_find(name);
	return o ? set_option(c, o, name, value) : config_unknown(name, CONFIG_LINE);
}

void config_defaults_zeroed(struct config *c)
{
	for (const struct config_option *o = config_options; *o->name; o++)
		if (*o->def)
			set_option(c, o, o->name, o->def);
}

void config_defaults(struct config *c)
{
	memset(c, 0, sizeof(*c));
	config_defaults_zeroed(c);
}

const char *config_line(struct config *c, char *line)
{
	char *name = line + strspn(line, " \t\r\n"), *end = strchr(name, '=');
	static char told[400];
	const char *no;
	size_t len;

	if (!*name || *name == '#')
		return NULL;
	if (!end || end == name) {
		fmt(told, sizeof(told), "expected 'option = value' instead of '%.*s'",
		    (int)strcspn(name, "\r\n"), name);
		return told;
	}
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

/* For the options in a spool, as config_print wrote them: a line that is wrong is from
 * another version, or hostile, and nobody is told. */
void config_lines(struct config *c, char *text)
{
	char *next;

	config_defaults(c);
	for (; *text; text = next) {
		next = strchrnul(text, '\n');
		if (*next)
			*next++ = '\0';
		config_line(c, text);
	}
}

/* PROF_<NAME>=value, of which `len` bytes are the name: the option's name in `name`;
 * false for what is no option of ours. */
static bool env_name(const char *entry, size_t len, char *name)
{
	size_t prefix = strlen(ENV);

	if (len <= prefix || len - prefix > NAME_MOST + strlen(METADATA) ||
	    !strncmp(entry, "PROF_JOB=", 9))
		return false;
	if (!strncmp(entry, ENV_METADATA, strlen(ENV_METADATA))) {
		fmt(name, 2 * NAME_MOST, METADATA "%.*s",
		    (int)(len - strlen(ENV_METADATA)), entry + strlen(ENV_METADATA));
		return true;
	}
	for (size_t i = prefix; i < len; i++)
		name[i - prefix] = text_lower(entry[i]);
	name[len - prefix] = '\0';
	/* Other programs use this prefix, too: only a name that resembles an option is a
	 * mistake. */
	return config_find(name) || config_nearest(name);
}

void config_env(struct config *c, char *const *env,
		void (*bad)(const char *name, const char *why, void *arg), void *arg)
{
	char name[2 * NAME_MOST], shown[2 * NAME_MOST];

	for (; env && *env; env++) {
		const struct config_option *o;
		const char *no;
		size_t len;

		if (strncmp(*env, ENV, strlen(ENV)))
			continue;
		len = strcspn(*env, "=");
		if (!(*env)[len] || !env_name(*env, len, name))
			continue;
		o = config_find(name);
		/* Set to nothing is the same as not set, as for most programs, but for
		 * what is nothing by default: it becomes so again. */
		if (!(*env)[len + 1] && (!o || *o->def))
			continue;
		no = o || config_is_metadata(name) ? config_set(c, name, *env + len + 1)
						   : config_unknown(name, CONFIG_ROW);
		if (!no)
			continue;
		fmt(shown, sizeof(shown), "%.*s", (int)len, *env);
		bad(shown, no, arg);
	}
}
