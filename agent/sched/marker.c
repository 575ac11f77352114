/* SPDX-License-Identifier: Apache-2.0 */
/* The option `marker` in its eight forms, globs, and the names that torch gives to its
 * own annotations. */
#include "agent/sched/marker.h"
#include "base/fmt.h"
#include "base/text.h"
#include "config/config.h"

#include <string.h>

#define TIME_MOST_MS 86400000ull

static bool has_prefix(const char *text, size_t len, const char *prefix)
{
	size_t n = strlen(prefix);

	return len >= n && !memcmp(text, prefix, n);
}

static bool cut_suffix(const char *text, size_t *len, const char *suffix)
{
	size_t n = strlen(suffix);

	if (*len < n || memcmp(text + *len - n, suffix, n))
		return false;
	*len -= n;
	return true;
}

/* The first `plain` bytes are compared before the glob is tried: most names differ
 * there. */
static const char *keep_name(struct marker *m, const char *text, size_t len)
{
	if (!len)
		return "a name is missing after the colon";
	if (len >= sizeof(m->text))
		return "the name is too long";
	memcpy(m->text, text, len);
	m->text[len] = 0;
	m->len = len;
	m->plain = strcspn(m->text, "*?[\\");
	return NULL;
}

/* "@word": hardly a name ends so, so it is taken for a mistyped @begin or @end. A name
 * that does end so needs one of these behind it. */
static const char *refuse_place(const char *text, size_t len)
{
	static char why[160];
	size_t at = len;

	while (at && text[at - 1] >= 'a' && text[at - 1] <= 'z')
		at--;
	if (!at || at == len || text[at - 1] != '@')
		return NULL;
	fmt(why, sizeof(why),
	    "'@%.*s' is neither @begin nor @end (add @end if it belongs to the name)",
	    (int)(len - at), text + at);
	return why;
}

static const char *parse_glob(struct marker *m, enum marker_kind kind, const char *text)
{
	size_t len = strlen(text);
	const char *why = NULL;

	m->kind = kind;
	m->at_begin = cut_suffix(text, &len, "@begin");
	if (!m->at_begin && !cut_suffix(text, &len, "@end"))
		why = refuse_place(text, len);
	return why ? why : keep_name(m, text, len);
}

static const char *parse_symbol(struct marker *m, const char *text)
{
	size_t len = strlen(text);
	const char *bang, *why = NULL;

	m->kind = MARKER_SYMBOL;
	m->at_begin = true;
	if (cut_suffix(text, &len, "@end"))
		return "the end of a native function cannot be marked, only its begin";
	if (!cut_suffix(text, &len, "@begin"))
		why = refuse_place(text, len);
	bang = memchr(text, '!', len);
	if (bang && (bang == text || bang + 1 == text + len))
		return "symbol: needs library!name or name";
	return why ? why : keep_name(m, text, len);
}

static bool may_begin(char c)
{
	return (text_lower(c) >= 'a' && text_lower(c) <= 'z') || c == '_' || c & 0x80;
}

/* One name, or several with a bar between them. Only ASCII is judged: which letters of
 * other scripts a name may have is Python's business. */
static const char *refuse_dotted(const char *name)
{
	static char why[96];
	bool first = true;

	for (; *name; name++) {
		bool digit = *name >= '0' && *name <= '9';

		if (*name == '|' && !first) {
			first = true;
			continue;
		}

		if (first ? !may_begin(*name)
			  : !may_begin(*name) && !digit && *name != '.')
			break;
		first = *name == '.';
	}
	if (!*name && !first)
		return NULL;
	if (!*name || *name == '.')
		return "a name is missing beside a dot";
	fmt(why, sizeof(why), "'%c' cannot %s a name of Python's", *name,
	    first ? "begin" : "be in");
	return why;
}

static const char *parse_python(struct marker *m, const char *text)
{
	const char *why = parse_glob(m, MARKER_PYTHON, text);

	return why ? why : refuse_dotted(m->text);
}

static const char *parse_time(struct marker *m, const char *text)
{
	uint64_t ms = 0;

	m->kind = MARKER_TIME;
	if (!*text)
		return "time: needs a number of milliseconds";
	for (; *text >= '0' && *text <= '9' && ms <= TIME_MOST_MS; text++)
		ms = ms * 10 + (uint64_t)(*text - '0');
	if (*text || !ms || ms > TIME_MOST_MS)
		return "time: needs a number of milliseconds from 1 to 86400000";
	m->period_ns = ms * 1000000;
	return NULL;
}

const char *marker_parse(struct marker *m, const char *text)
{
	static char why[256];
	const char *rest;

	memset(m, 0, sizeof(*m));
	if (!*text || !strcmp(text, "auto"))
		return NULL;
	if (!strcmp(text, "none")) {
		m->kind = MARKER_NONE;
		return NULL;
	}
	if ((rest = text_after(text, MARKER_BY_TORCH)))
		return parse_glob(m, MARKER_TORCH, rest);
	if ((rest = text_after(text, MARKER_BY_CUDA)))
		return parse_glob(m, MARKER_CUDA, rest);
	if ((rest = text_after(text, MARKER_BY_KERNEL)))
		return parse_glob(m, MARKER_KERNEL, rest);
	if ((rest = text_after(text, MARKER_BY_SYMBOL)))
		return parse_symbol(m, rest);
	if ((rest = text_after(text, MARKER_BY_PYTHON)))
		return parse_python(m, rest);
	if ((rest = text_after(text, MARKER_BY_TIME)))
		return parse_time(m, rest);
	fmt(why, sizeof(why),
	    "'%s' is no marker; known are auto, none, torch:<glob>[@begin|@end], python:[module.]name[@begin|@end], symbol:[library!]name, cuda:<glob>, kernel:<glob>, time:<ms>",
	    text);
	return why;
}

/* Runs at each annotation, in windows and outside: length and first letter tell nearly
 * all annotations apart from torch's own. */
enum marker_class marker_classify(const char *name, size_t len)
{
	if (len < 10)
		return CLASS_OTHER;
	switch (name[0]) {
	case 'O':
		if (has_prefix(name, len, "Optimizer.step#"))
			return CLASS_OPTIMIZER;
		return has_prefix(name, len, "Optimizer.zero_grad#") ? CLASS_ZERO_GRAD
								     : CLASS_OTHER;
	case 'P':
		return has_prefix(name, len, "ProfilerStep#") ? CLASS_PROFILER
							      : CLASS_OTHER;
	case 'e':
		return has_prefix(name, len, "enumerate(DataLoader)#") &&
				       cut_suffix(name, &len, ".__next__")
			       ? CLASS_LOADER
			       : CLASS_OTHER;
	}
	return CLASS_OTHER;
}

/* Matches c with the [set] at glob[*at], and moves *at behind the set. A '[' without its
 * ']' is just itself. */
static bool match_set(const char *glob, size_t len, size_t *at, unsigned char c)
{
	size_t i = *at + 1, first;
	bool not = i < len && (glob[i] == '!' || glob[i] == '^'), hit = false;

	i += not ;
	for (first = i; i < len && (glob[i] != ']' || i == first); i++) {
		unsigned char low = (unsigned char)glob[i], high = low;

		if (i + 2 < len && glob[i + 1] == '-' && glob[i + 2] != ']') {
			high = (unsigned char)glob[i + 2];
			i += 2;
		}
		hit |= c >= low && c <= high;
	}
	if (i >= len) {
		++*at;
		return c == '[';
	}
	*at = i + 1;
	return hit != not ;
}

static bool match_one(const char *glob, size_t len, size_t *at, char c)
{
	switch (glob[*at]) {
	case '?':
		++*at;
		return true;
	case '[':
		return match_set(glob, len, at, (unsigned char)c);
	case '\\':
		*at += *at + 1 < len;
	}
	return glob[(*at)++] == c;
}

/* Only the last star is ever tried again: so no glob takes exponential time. */
bool marker_glob(const char *glob, size_t glob_len, const char *name, size_t len)
{
	size_t g = 0, n = 0, star = SIZE_MAX, star_n = 0;

	while (n < len) {
		size_t next = g;

		if (g < glob_len && glob[g] == '*') {
			star = ++g;
			star_n = n;
		} else if (g < glob_len && match_one(glob, glob_len, &next, name[n])) {
			g = next;
			n++;
		} else if (star != SIZE_MAX) {
			g = star;
			n = ++star_n;
		} else {
			return false;
		}
	}
	while (g < glob_len && glob[g] == '*')
		g++;
	return g == glob_len;
}

bool marker_matches(const struct marker *m, const char *name, size_t len)
{
	if (len < m->plain || memcmp(name, m->text, m->plain))
		return false;
	return marker_glob(m->text + m->plain, m->len - m->plain, name + m->plain,
			   len - m->plain);
}

/* Names under which torch itself makes annotations are never operators. */
bool marker_may_be_op(const struct marker *m)
{
	static const char *const annotations[] = { "Optimizer.", "enumerate(",
						   "ProfilerStep#",
						   "DistributedDataParallel.",
						   "DataParallel." };

	for (size_t i = 0; i < sizeof(annotations) / sizeof(annotations[0]); i++)
		if (has_prefix(m->text, m->plain, annotations[i]))
			return false;
	return m->kind == MARKER_TORCH;
}
