/* SPDX-License-Identifier: Apache-2.0 */
/* Code objects in the spool, each once: found by their whole content, for an address
 * means nothing once the program has made other code there. */
#include "agent/core/codes.h"
#include "base/hash.h"

#include <string.h>

#define SHARE 8 /* code may take cap / SHARE bytes */

static hash_index codes;
static struct chunk_fill fill;

/* What is looked for. */
struct wanted {
	struct code_text part[3]; /* file, name, table */
	uint32_t hash;
	struct code code; /* without its text */
};

static bool same_code(uint32_t id, const void *wanted)
{
	const struct code *c = (const struct code *)(spool.base + (uint64_t)id * 8);
	const struct wanted *w = wanted;

	return !memcmp(c, &w->code, sizeof(*c)) &&
	       !memcmp(code_file(c), w->part[0].text, w->part[0].len) &&
	       !memcmp(code_name(c), w->part[1].text, w->part[1].len) &&
	       !memcmp(code_table(c), w->part[2].text, w->part[2].len);
}

/* Plain stores: no thread knows the id before the index has it. */
static uint32_t store_code(const void *wanted)
{
	const struct wanted *w = wanted;
	size_t text = w->part[0].len + w->part[1].len + w->part[2].len + 2;
	uint32_t size = (uint32_t)((sizeof(struct code) + text + 7) & ~7ull);
	uint64_t where = chunk_room(&fill, CHUNK_STACKS, size, SHARE);
	struct code *c;
	char *at;

	if (!where || where / 8 > INT32_MAX) /* stacks_pack: the top bit is taken */
		return 0;
	c = (struct code *)(spool.base + where);
	*c = w->code;
	at = c->text;
	for (unsigned i = 0; i < 3; i++) {
		memcpy(at, w->part[i].text, w->part[i].len);
		at += w->part[i].len;
		if (i < 2)
			*at++ = '\0';
	}
	return (uint32_t)(where / 8);
}

static struct code_text cut_text(struct code_text text, size_t most)
{
	return (struct code_text){ text.text, text.len < most ? text.len : most };
}

uint32_t codes_add(struct code_text file, struct code_text name, uint32_t first_line,
		   enum code_lines lines, struct code_text table)
{
	struct wanted w = { .part = { cut_text(file, CODES_TEXT),
				      cut_text(name, CODES_TEXT),
				      cut_text(table, CODES_TABLE) } };

	w.code = (struct code){ .magic = CODES_MAGIC,
				.first_line = first_line,
				.table_len = (uint32_t)w.part[2].len,
				.file_len = (uint16_t)w.part[0].len,
				.name_len = (uint16_t)w.part[1].len,
				.lines = (uint8_t)lines };
	if (!spool.head)
		return 0;
	w.hash = first_line * 0x9e3779b1u;
	for (unsigned i = 0; i < 3; i++)
		w.hash =
			w.hash * 31 + (uint32_t)hash_bytes(w.part[i].text, w.part[i].len);
	return hash_intern(&codes, w.hash, &w, same_code, store_code);
}

void codes_forget(void)
{
	hash_forget(&codes);
	atomic_store(&fill.chunk, 0);
	atomic_store(&fill.taken, 0);
}

/* All lengths are checked: the spool may be one that a crash has left half written. */
const struct code *codes_get(const struct spool_view *v, uint32_t id)
{
	uint64_t where = (uint64_t)id * 8, text;
	const struct code *c;

	if (where < SPOOL_HEADER || where + sizeof(*c) > v->size)
		return NULL;
	c = (const struct code *)(v->base + where);
	text = (uint64_t)c->file_len + c->name_len + c->table_len + 2;
	if (c->magic != CODES_MAGIC || c->table_len > CODES_TABLE ||
	    c->file_len > CODES_TEXT || c->name_len > CODES_TEXT ||
	    where + sizeof(*c) + text > v->size || code_file(c)[c->file_len] ||
	    code_name(c)[c->name_len])
		return NULL;
	return c;
}
