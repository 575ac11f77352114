/* SPDX-License-Identifier: Apache-2.0 */
/* What is said of a stage, in its three spellings: stage.<name>.<key> and a section of a
 * file, --stage.<name>.<key>, PROF_STAGE_<name>_<key>. Each value is judged here; whether
 * all of them make stages is judged when nothing more comes (stages_check). */
#include "base/fmt.h"
#include "base/near.h"
#include "base/text.h"
#include "config/keyed.h"
#include "config/stages.h"

#include <string.h>

#define NAME_RULE "a stage's name is 1 to 31 letters, digits, '_' and '-'"

#define SUFFIX_MOST 64 /* a name has 255 bytes, with host, process and time */

static char why[320];

static const char keys[][12] = {
#define KEY(name) #name,
	STAGES_KEYS(KEY)
#undef KEY
};

bool stages_has_key(const char *key)
{
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (!strcmp(keys[i], key))
			return true;
	return false;
}

static const char *nearest_key(const char *key)
{
	struct near near = near_begin(key);

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		near_try(&near, keys[i]);
	return near.best;
}

static const char *unknown_key(const char *key)
{
	const char *near = nearest_key(key);

	if (!near)
		return "a stage has marker, within, enter, leave, schedule and file";
	fmt(why, sizeof(why), "no such key of a stage (did you mean %s?)", near);
	return why;
}

static bool may_name(char c)
{
	c = text_lower(c);
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

/* Copies the name; false: it is none. */
static bool read_name(const char *text, size_t len, char name[STAGES_NAME])
{
	if (!len || len >= STAGES_NAME)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (!may_name(text[i]))
			return false;
		name[i] = text[i] == '-' ? '_' : text_lower(text[i]);
	}
	name[len] = '\0';
	return true;
}

/* ---- values ---- */

static const char *check_by(const char *option, const char *value)
{
	return config_check ? config_check(option, value) : NULL;
}

/* "python:f|g": a function that has had several names. */
static const char *check_functions(const char *value)
{
	const char *part = text_after(value, MARKER_BY_PYTHON), *next, *no = NULL;
	char one[STAGES_TEXT];

	if (!part) {
		fmt(why, sizeof(why), "'%s' is no function: python:[module.]name", value);
		return why;
	}
	for (; !no && part; part = *next ? next + 1 : NULL) {
		size_t len = strcspn(part, "|");

		next = part + len;
		if (!len)
			return "a name is missing beside '|'";
		if (*next && memchr(part, '@', len))
			return "@begin or @end stands behind the last name, for all of them";
		fmt(one, sizeof(one), MARKER_BY_PYTHON "%.*s", (int)len, part);
		no = check_by("marker", one);
	}
	return no;
}

static const char *check_marker(const char *value)
{
	if (text_after(value, MARKER_BY_PYTHON))
		return check_functions(value);
	if (!strcmp(value, "auto"))
		return NULL;
	if (text_after(value, MARKER_BY_TORCH))
		return check_by("marker", value);
	return "a stage's marker is auto, torch:<glob>[@begin|@end] or python:[module.]name[@begin|@end]: others are for a whole run";
}

static const char *check_value(const char *key, const char *value)
{
	if (!strcmp(key, "marker"))
		return check_marker(value);
	if (!strcmp(key, "schedule"))
		return check_by("schedule", value);
	if (!strcmp(key, "file") && strlen(value) > SUFFIX_MOST)
		return "it is a part of a file's name: 64 bytes at most";
	if (!strcmp(key, "file"))
		return strpbrk(value, "/%") || strstr(value, "..")
			       ? "it is a part of a file's name: no slash, no '%', no '..' in it"
			       : NULL;
	if (!strcmp(key, "within") && strchr(value, '@'))
		return "it takes no @begin and no @end: the stage is on during the call";
	return check_functions(value);
}

/* ---- the calls ---- */

const char *stages_set(struct config *c, const char *name, const char *v, size_t len)
{
	const char *key = strchrnul(name, '.'), *no;
	char full[STAGES_NAME + sizeof(*keys)], own[STAGES_NAME], text[STAGES_TEXT];

	if (!read_name(name, (size_t)(key - name), own))
		return NAME_RULE;
	if (!*key || !stages_has_key(++key))
		return unknown_key(key);
	fmt(full, sizeof(full), "%s.%s", own, key);
	if (!len) {
		keyed_drop(c->stages, full);
		return NULL;
	}
	if (len >= sizeof(text))
		return "the value is too long (255 bytes at most)";
	memcpy(text, v, len);
	text[len] = '\0';
	no = check_value(key, text);
	return no ? no : keyed_set(c->stages, full, v, len);
}

const char *stages_set_marker(struct config *c, const char *v, size_t len)
{
	const char *equals = memchr(v, '=', len);
	size_t name_len = equals ? (size_t)(equals - v) : 0;
	char name[STAGES_NAME], full[STAGES_NAME + sizeof(*keys)];

	if (!equals || equals + 1 == v + len)
		return "expected name=marker, as val=python:validate";
	len -= name_len + 1;
	v = text_trim(v, &name_len);
	if (!read_name(v, name_len, name))
		return NAME_RULE;
	fmt(full, sizeof(full), "%s.marker", name);
	v = text_trim(equals + 1, &len);
	return stages_set(c, full, v, len);
}

const char *stages_head(const char *head, char section[STAGES_SECTION])
{
	const char *begin = text_after(head, "["), *end, *rest;
	char name[STAGES_NAME];
	size_t len;

	begin = begin ? text_after(begin + strspn(begin, " \t"), "stage") : NULL;
	len = begin ? strspn(begin, " \t") : 0;
	end = len ? strchr(begin += len, ']') : NULL;
	rest = end ? end + 1 + strspn(end + 1, " \t\r") : head;
	if (*rest) {
		fmt(why, sizeof(why), "expected [stage name] instead of '%.*s'",
		    (int)strcspn(head, "\r\n"), head);
		return why;
	}
	while (end > begin && text_is_blank(end[-1]))
		end--;
	if (!read_name(begin, (size_t)(end - begin), name))
		return NAME_RULE;
	fmt(section, STAGES_SECTION, STAGES_PREFIX "%s.", name);
	return NULL;
}

/* A key may be in capitals, as names of variables are. Other programs use the prefix,
 * too: a last word that resembles no key is not ours. */
bool stages_of_row(const char *row, size_t len, char *name, size_t size)
{
	const char *begin = text_after(row, STAGES_ENV), *key = row + len;
	char word[sizeof(*keys)];
	size_t n = 0;

	if (!begin || begin > key)
		return false;
	while (key > begin && key[-1] != '_' && key[-1] != '.')
		key--;
	for (; key + n < row + len && n < sizeof(word) - 1; n++)
		word[n] = text_lower(key[n]);
	word[n] = '\0';
	if (key < begin + 2 || key + n < row + len || !nearest_key(word))
		return false;
	fmt(name, size, STAGES_PREFIX "%.*s.%s", (int)(key - 1 - begin), begin, word);
	return true;
}
