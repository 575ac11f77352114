/* SPDX-License-Identifier: Apache-2.0 */
/* The option `schedule`, and torch.profiler's arithmetic of steps and phases. */
#include "agent/sched/schedule.h"
#include "base/fmt.h"
#include "base/near.h"

#include <stddef.h>
#include <string.h>

#define SCHEDULE_MOST 1000000000000ull /* so that no sum of them can overflow */

static const struct {
	const char *name;
	size_t at;
} keys[] = {
	{ "skip_first", offsetof(struct schedule, skip_first) },
	{ "wait", offsetof(struct schedule, wait) },
	{ "warmup", offsetof(struct schedule, warmup) },
	{ "active", offsetof(struct schedule, active) },
	{ "repeat", offsetof(struct schedule, repeat) },
	{ "skip_first_wait", offsetof(struct schedule, skip_first_wait) },
};
#define KEYS (sizeof(keys) / sizeof(keys[0]))

static const char *skip_blanks(const char *p)
{
	while (*p == ' ' || *p == '\t')
		p++;
	return p;
}

static int find_key(const char *text, size_t len)
{
	for (size_t i = 0; i < KEYS; i++)
		if (strlen(keys[i].name) == len && !memcmp(keys[i].name, text, len))
			return (int)i;
	return -1;
}

/* ---- what is said of a plan that cannot be read; one is read at a time ---- */

static char complaint_text[256];

static int word_length(const char *p)
{
	return (int)strcspn(p, ", \t");
}

static const char *unknown_word(const char *p)
{
	static const char known[] =
		"known are skip_first, wait, warmup, active, repeat, skip_first_wait";
	char word[64];
	struct near near;

	fmt(word, sizeof(word), "%.*s", (int)strcspn(p, "= \t,"), p);
	near = near_begin(word);
	for (size_t i = 0; i < KEYS; i++)
		near_try(&near, keys[i].name);
	if (!word_length(p))
		fmt(complaint_text, sizeof(complaint_text), "a word is missing; %s",
		    known);
	else if (near.best)
		fmt(complaint_text, sizeof(complaint_text),
		    "unknown word '%.*s' (did you mean %s?); %s", word_length(p), p,
		    near.best, known);
	else
		fmt(complaint_text, sizeof(complaint_text), "unknown word '%.*s'; %s",
		    word_length(p), p, known);
	return complaint_text;
}

static const char *no_number(const char *pair, const char *p)
{
	fmt(complaint_text, sizeof(complaint_text),
	    "'%.*s' is no whole number from 0 to 1000000000000, in '%.*s'",
	    word_length(p), p, (int)(p - pair) + word_length(p), pair);
	return complaint_text;
}

static const char *quote_word(const char *format, const char *p)
{
	fmt(complaint_text, sizeof(complaint_text), "'%.*s' %s", word_length(p), p,
	    format);
	return complaint_text;
}

/* ---- reading ---- */

/* Reads a decimal number; NULL when there is none or it is too big. */
static const char *read_number(const char *p, uint64_t *value)
{
	const char *start = p;

	for (*value = 0; *p >= '0' && *p <= '9'; p++) {
		*value = *value * 10 + (uint64_t)(*p - '0');
		if (*value > SCHEDULE_MOST)
			return NULL;
	}
	return p == start ? NULL : p;
}

/* One "key=number"; stops at what follows it. */
static const char *read_pair(struct schedule *plan, const char **text, unsigned *seen)
{
	const char *p = *text, *end, *number;
	uint64_t value;
	int key;

	for (end = p; (*end >= 'a' && *end <= 'z') || *end == '_'; end++)
		;
	key = find_key(p, (size_t)(end - p));
	if (key < 0)
		return unknown_word(p);
	if (*seen & 1u << key)
		return quote_word("is given twice", p);
	*seen |= 1u << key;
	p = skip_blanks(end);
	if (*p != '=')
		return quote_word("needs a number: word=number", *text);
	number = skip_blanks(p + 1);
	p = read_number(number, &value);
	if (!p || (*p && !strchr(", \t", *p)))
		return no_number(*text, number);
	*(uint64_t *)((char *)plan + keys[key].at) = value;
	*text = skip_blanks(p);
	return NULL;
}

const char *schedule_parse(struct schedule *plan, const char *text)
{
	unsigned seen = 0;
	const char *why;

	memset(plan, 0, sizeof(*plan));
	for (text = skip_blanks(text);; text = skip_blanks(text + 1)) {
		why = read_pair(plan, &text, &seen);
		if (why)
			return why;
		if (!*text)
			break;
		if (*text != ',')
			return quote_word("must follow a comma", text);
	}
	return plan->active ? NULL : "active must be given, and be at least 1";
}

/* As schedule_fn in torch/profiler/profiler.py. */
enum phase schedule_at(const struct schedule *plan, uint64_t step)
{
	uint64_t length = plan->wait + plan->warmup + plan->active, at;

	if (step < plan->skip_first)
		return PHASE_NONE;
	step -= plan->skip_first;
	if (plan->skip_first_wait)
		step += plan->wait; /* the first cycle has no wait */
	if (plan->repeat && step / length >= plan->repeat)
		return PHASE_NONE;
	at = step % length;
	if (at < plan->wait)
		return PHASE_NONE;
	if (at < plan->wait + plan->warmup)
		return PHASE_WARMUP;
	return at == length - 1 ? PHASE_SAVE : PHASE_RECORD;
}

/* As action_map in torch/profiler/profiler.py, which has a row for each pair, too: what
 * torch does between two steps is done here, also where it only warns. */
unsigned schedule_change(enum phase before, enum phase after)
{
	static const uint8_t table[4][4] = {
		[PHASE_NONE] = {
			[PHASE_WARMUP] = DO_PREPARE,
			[PHASE_RECORD] = DO_PREPARE | DO_START,
			[PHASE_SAVE] = DO_PREPARE | DO_START,
		},
		[PHASE_WARMUP] = {
			[PHASE_NONE] = DO_START | DO_STOP,
			[PHASE_RECORD] = DO_START,
			[PHASE_SAVE] = DO_START,
		},
		[PHASE_RECORD] = {
			[PHASE_NONE] = DO_STOP,
			[PHASE_WARMUP] = DO_STOP,
		},
		[PHASE_SAVE] = {
			[PHASE_NONE] = DO_STOP | DO_SAVE,
			[PHASE_WARMUP] = DO_STOP | DO_SAVE | DO_PREPARE_AGAIN,
			[PHASE_RECORD] = DO_STOP | DO_SAVE | DO_PREPARE_AGAIN | DO_START_AGAIN,
			[PHASE_SAVE] = DO_STOP | DO_SAVE | DO_PREPARE_AGAIN | DO_START_AGAIN,
		},
	};

	return table[before][after];
}
