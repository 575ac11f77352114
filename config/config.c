/* SPDX-License-Identifier: Apache-2.0 */
/* Texts become numbers here, once: afterwards nobody looks at an option's text again
 * but for plans, markers and paths. No call allocates, for the agent reads its options
 * before the program's malloc may be called; complaints lie in static memory, and in
 * an order that `why` (the value) may be part of `told` (the line). */
#include "config/config.h"
#include "base/fmt.h"
#include "base/text.h"
#include "config/config_near.h"
#include "config/keyed.h"
#include "config/several.h"
#include "config/stages.h"

#include <string.h>

#define METADATA     "metadata."
#define ENV          "PROF_"
#define ENV_METADATA "PROF_METADATA_"
#define NAME_MOST    64

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

/* ---- options whose names are the user's: lines, one for each ---- */

bool config_is_keyed(const char *name)
{
	return !strncmp(name, METADATA, strlen(METADATA)) ||
	       !strncmp(name, STAGES_PREFIX, strlen(STAGES_PREFIX)) ||
	       !strcmp(name, "stage");
}

static const char *set_metadata(struct config *c, const char *key, const char *v,
				size_t len)
{
	if (!*key || strlen(key) > NAME_MOST || strpbrk(key, " \t\r\n="))
		return "a metadata key is 1 to 64 bytes without blanks and '='";
	return keyed_set(c->metadata, key, v, len);
}

static const char *set_keyed(struct config *c, const char *name, const char *value)
{
	const char *key;
	size_t len;

	value = trim_value(value, &len);
	value = text_trim(value, &len); /* what quotes kept could not be read back */
	if ((key = text_after(name, METADATA)))
		return set_metadata(c, key, value, len);
	if ((key = text_after(name, STAGES_PREFIX)))
		return stages_set(c, key, value, len);
	return stages_set_marker(c, value, len);
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

	if (config_is_keyed(name))
		return set_keyed(c, name, value);
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

/* Some keys of stages are options, too: there they are the stage's. */
static const char *set_in(struct config *c, const char *section, const char *name,
			  const char *value)
{
	char full[2 * NAME_MOST];

	if (!section || text_after(name, STAGES_PREFIX))
		return config_set(c, name, value);
	if (!stages_has_key(name) && (config_find(name) || config_is_keyed(name)))
		return "an option of the whole run stands above the first [stage ...]";
	fmt(full, sizeof(full), "%s%s", section, name);
	return config_set(c, full, value);
}

const char *config_line_in(struct config *c, const char *section, char *line)
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
	no = set_in(c, section, name, end + 1);
	if (!no)
		return NULL;
	fmt(told, sizeof(told), "%s: %s", name, no);
	return told;
}

const char *config_line(struct config *c, char *line)
{
	return config_line_in(c, NULL, line);
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
	if (!strncmp(entry, STAGES_ENV, strlen(STAGES_ENV)) &&
	    stages_of_row(entry, len, name, 2 * NAME_MOST))
		return true;
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
		no = o || config_is_keyed(name) ? config_set(c, name, *env + len + 1)
						: config_unknown(name, CONFIG_ROW);
		if (!no)
			continue;
		fmt(shown, sizeof(shown), "%.*s", (int)len, *env);
		bad(shown, no, arg);
	}
}
