/* SPDX-License-Identifier: Apache-2.0 */
/* known_ask: answers questions in the process that asks. */
#include "agent/core/clock.h"
#include "base/hash.h"
#include "launcher/symbols/symbolize.h"
#include "writer/writer.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define KEPT_MOST (64u << 20) /* bytes of answers: beyond that all are dropped */
#define FIRST     4096

struct answer {
	uint64_t key; /* 0 = an empty slot */
	const char *module; /* in `texts`: "id:path"; others may have the same key */
	uint64_t offset;
	char *texts; /* each text with a NUL, then an empty text */
	size_t len;
};

static struct {
	struct answer *slot;
	size_t slots, n, bytes;
} known;

/* ---- what is known ---- */

static uint64_t make_answer_key(const struct symbolize_module *m, uint64_t offset)
{
	uint64_t h = hash_bytes(m->id, strlen(m->id)) ^ offset * 0x9e3779b97f4a7c15ull;

	h ^= h >> 29;
	return h ? h : 1;
}

static struct answer *slot_of(uint64_t key, const char *module, uint64_t offset)
{
	size_t at = key & (known.slots - 1);

	for (;; at = (at + 1) & (known.slots - 1)) {
		struct answer *a = &known.slot[at];

		if (!a->key ||
		    (a->key == key && a->offset == offset && !strcmp(a->module, module)))
			return a;
	}
}

static void forget_answers(void)
{
	for (size_t i = 0; i < known.slots; i++)
		free(known.slot[i].texts);
	free(known.slot);
	memset(&known, 0, sizeof(known));
}

static bool grow_slots(void)
{
	size_t had = known.slots, slots = had ? 2 * had : FIRST;
	struct answer *old = known.slot, *more = calloc(slots, sizeof(*more));

	if (!more)
		return false;
	known.slot = more;
	known.slots = slots;
	for (size_t i = 0; i < had; i++)
		if (old[i].key)
			*slot_of(old[i].key, old[i].module, old[i].offset) = old[i];
	free(old);
	return true;
}

static const struct answer *find_answer(const struct symbolize_module *m, uint64_t offset)
{
	const struct answer *a =
		known.slots ? slot_of(make_answer_key(m, offset), m->id, offset) : NULL;

	return a && a->key ? a : NULL;
}

/* Keeps an answer. The module's name is behind the texts, in one allocation. */
static bool keep_answer(const struct symbolize_module *m, uint64_t offset,
			const char *texts, size_t len)
{
	size_t name = strlen(m->id) + 1;
	struct answer *a;

	if (2 * known.n >= known.slots && !grow_slots())
		return false;
	a = slot_of(make_answer_key(m, offset), m->id, offset);
	if (a->key)
		return true;
	a->texts = malloc(len + name);
	if (!a->texts)
		return false;
	memcpy(a->texts, texts, len);
	a->module = memcpy(a->texts + len, m->id, name);
	a->len = len;
	a->offset = offset;
	a->key = make_answer_key(m, offset);
	known.n++;
	known.bytes += len + name;
	return true;
}

/* ---- finding out what is not known ---- */

struct learning {
	const struct symbolize_module *m; /* the module with its unknown frames */
	size_t next;
	bool failed;
};

static int learn_answers(void *arg, const char *text, size_t len)
{
	struct learning *l = arg;

	while (len && l->next < l->m->n) {
		size_t n = symbolize_length(text, len);

		if (!n)
			return -EINVAL; /* half an answer: nobody sends that */
		if (!keep_answer(l->m, l->m->offset[l->next++], text, n))
			return -ENOMEM;
		text += n;
		len -= n;
	}
	return 0;
}

/* Asks only for frames that are not known yet, in the question's order, as answers have
 * no numbers. */
static int find_out(const struct symbolize_module *m, int64_t until)
{
	struct symbolize_module asked = { .path = m->path, .id = m->id };
	struct learning l = { .m = &asked };
	struct symbolize_to to = { learn_answers, writer_beat, until, &l };

	asked.offset = calloc(m->n, sizeof(*asked.offset));
	if (!asked.offset)
		return -ENOMEM;
	for (size_t i = 0; i < m->n; i++)
		if (!find_answer(m, m->offset[i]))
			asked.offset[asked.n++] = m->offset[i];
	if (asked.n)
		symbolize_answer(&asked, &to);
	free(asked.offset);
	return sys_clock_ns(CLOCK_MONOTONIC) > until ? -ETIME : 0;
}

int known_ask(const char *question, size_t len, int64_t ns,
	      int (*take)(void *arg, const char *text, size_t n), void *arg)
{
	int64_t until = sys_clock_ns(CLOCK_MONOTONIC) + ns;
	struct symbolize_question q = { .text = malloc(len + 1), .len = len };
	int err = q.text ? 0 : -ENOMEM;

	if (err)
		return err;
	memcpy(q.text, question, len);
	q.text[len] = '\0';
	symbolize_parse(&q);
	if (known.bytes > KEPT_MOST)
		forget_answers();
	for (size_t i = 0; i < q.modules && !err; i++)
		err = find_out(&q.module[i], until);
	for (size_t i = 0; i < q.modules; i++) {
		for (size_t f = 0; f < q.module[i].n; f++) {
			const struct answer *a =
				find_answer(&q.module[i], q.module[i].offset[f]);
			int no = a ? take(arg, a->texts, a->len) : take(arg, "", 1);

			err = no ? no : err;
		}
	}
	symbolize_free(&q);
	return err;
}
