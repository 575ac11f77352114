/* SPDX-License-Identifier: Apache-2.0 */
/* A set of choices, and the two options that native_stacks has taken the place of: they
 * are still read wherever options are, and each is one of its bits. */
#include "config/several.h"
#include "base/fmt.h"

#include <string.h>

static char why[160];

/* The choice's number; below 0: there is none of that name. */
static int number_of(const struct config_option *o, const char *word, size_t len)
{
	const char *p = o->values;

	for (int i = 0; *p; i++) {
		size_t n = strcspn(p, "|");

		if (n == len && !memcmp(p, word, n))
			return i;
		p += n + (p[n] == '|');
	}
	return -1;
}

static uint32_t all_of(const struct config_option *o)
{
	uint32_t bits = 1;

	for (const char *p = o->values; *p; p++)
		if (*p == '|')
			bits = bits << 1 | 1;
	return bits;
}

static const char *read_list(const struct config_option *o, uint32_t *at, const char *v,
			     size_t len)
{
	const char *end = v + len;
	bool alone = !memchr(v, ',', len);
	uint32_t bits = 0;

	for (const char *next; v <= end; v = next + 1) {
		size_t n;
		int i;

		next = memchr(v, ',', (size_t)(end - v));
		next = next ? next : end;
		for (n = (size_t)(next - v); n && *v == ' '; n--)
			v++;
		while (n && v[n - 1] == ' ')
			n--;
		i = number_of(o, v, n);
		if (i < 0) {
			/* In a list there is no place for them. */
			fmt(why, sizeof(why), "'%.*s' is none of %s%s", (int)n, v,
			    alone ? SEVERAL_SWITCH : "", o->values);
			return why;
		}
		bits |= 1u << i;
	}
	*at = bits;
	return NULL;
}

size_t several_write(const struct config_option *o, uint32_t bits, char *buf, size_t size)
{
	const char *p = o->values;
	size_t at = 0;

	for (bits &= all_of(o); bits; bits >>= 1) {
		size_t n = strcspn(p, "|");

		if (bits & 1)
			at += fmt(at < size ? buf + at : NULL, at < size ? size - at : 0,
				  "%s%.*s", at ? "," : "", (int)n, p);
		p += n + (p[n] == '|');
	}
	return at ? at : fmt(buf, size, "off");
}

/* ---- options of old ---- */

static const struct old {
	char name[16];
	char on[8]; /* the only word for it; "": each that a flag has */
	unsigned choice;
} olds[] = {
	{ SEVERAL_CUDA_STACKS, "native", NATIVE_CUDA },
	{ SEVERAL_MALLOC_STACKS, "", NATIVE_MALLOC },
};

static bool is_name(const char *name, const char *old)
{
	for (; *name && (*name == '-' ? '_' : *name) == *old; old++)
		name++;
	return !*name && !*old;
}

static const struct old *find_old(const char *name)
{
	for (size_t i = 0; i < sizeof(olds) / sizeof(*olds); i++)
		if (is_name(name, olds[i].name))
			return &olds[i];
	return NULL;
}

bool several_is_old(const char *name)
{
	return find_old(name);
}

static const char *read_old(const struct old *old, uint32_t *at, int flag, const char *v,
			    size_t len)
{
	uint32_t bit = 1u << old->choice;

	if (*old->on && flag)
		flag = len == strlen(old->on) && !memcmp(v, old->on, len) ? 1 : -1;
	if (flag >= 0) {
		*at = flag ? *at | bit : *at & ~bit;
		return NULL;
	}
	if (*old->on)
		fmt(why, sizeof(why), "'%.*s' is none of off|%s", (int)len, v, old->on);
	else
		fmt(why, sizeof(why), "'%.*s' is neither on nor off", (int)len, v);
	return why;
}

/* ---- either ---- */

const char *several_read(const struct config_option *o, const char *name, uint32_t *at,
			 int flag, const char *v, size_t len)
{
	const struct old *old = find_old(name);

	if (old)
		return read_old(old, at, flag, v, len);
	if (len == 3 && !memcmp(v, "all", 3) && number_of(o, v, len) < 0)
		flag = 1;
	if (flag < 0)
		return read_list(o, at, v, len);
	*at = flag ? all_of(o) : 0;
	return NULL;
}
