/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/sched/schedule.h"

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
	const char *p = *text, *end;
	uint64_t value;
	int key;

	for (end = p; (*end >= 'a' && *end <= 'z') || *end == '_'; end++)
		;
	key = find_key(p, (size_t)(end - p));
	if (key < 0)
		return "unknown word; known are skip_first, wait, warmup, active, repeat, skip_first_wait";
	if (*seen & 1u << key)
		return "a word is given twice";
	*seen |= 1u << key;
	p = skip_blanks(end);
	if (*p != '=')
		return "each word needs =number";
	p = read_number(skip_blanks(p + 1), &value);
	if (!p)
		return "each word needs a number from 0 to 1000000000000";
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
			return "words must be separated by commas";
	}
	return plan->active ? NULL : "active must be given, and be at least 1";
}

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

unsigned schedule_end(enum phase before)
{
	switch (before) {
	case PHASE_NONE:
		return 0;
	case PHASE_WARMUP:
		return DO_START | DO_STOP;
	default:
		return DO_STOP | DO_SAVE;
	}
}
