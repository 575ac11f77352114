/* SPDX-License-Identifier: Apache-2.0 */
/* .eh_frame_hdr and .eh_frame: from an address to its function's entry. */
#include "agent/unwind/tables.h"

#include <string.h>

/* Encodings of pointers (DW_EH_PE): linkers write the table, which is sorted, in the
 * second; a table in another encoding is not searched. */
enum { ENCODING_OMIT = 0xff, ENCODING_TABLE = 0x3b /* datarel, sdata4 */ };
enum { ENTRY = 8 }; /* bytes of the table: function, FDE */

bool unwind_tables_open(struct unwind_tables *t, const uint8_t *hdr, const uint8_t *end,
			uintptr_t *eh_frame)
{
	struct unwind_reader r = { hdr, end };
	uint8_t version, frame, count, table;

	memset(t, 0, sizeof(*t));
	version = (uint8_t)unwind_read(&r, 1);
	frame = (uint8_t)unwind_read(&r, 1);
	count = (uint8_t)unwind_read(&r, 1);
	table = (uint8_t)unwind_read(&r, 1);
	if (version != 1 || frame == ENCODING_OMIT || count == ENCODING_OMIT ||
	    table != ENCODING_TABLE)
		return false;
	*eh_frame = unwind_pointer(&r, frame, (uintptr_t)hdr);
	t->count = unwind_pointer(&r, count, (uintptr_t)hdr);
	if (r.bad || t->count > (size_t)(end - r.at) / ENTRY) {
		t->count = 0;
		return false;
	}
	t->hdr = hdr;
	t->hdr_end = end;
	t->table = r.at;
	return true;
}

static int32_t table_word(const struct unwind_tables *t, size_t i, unsigned half)
{
	int32_t word;

	memcpy(&word, t->table + i * ENTRY + 4 * half, 4);
	return word;
}

/* The last function that begins at or below pc. */
static uintptr_t fde_of(const struct unwind_tables *t, uintptr_t pc)
{
	int64_t want = (int64_t)(pc - (uintptr_t)t->hdr);
	size_t low = 0, n = t->count;

	while (n > 1) {
		size_t half = n / 2;

		/* Without a branch, of which the processor would guess half wrong. */
		low = table_word(t, low + half, 0) <= want ? low + half : low;
		n -= half;
	}
	return n && table_word(t, low, 0) <= want
		       ? (uintptr_t)t->hdr + (uintptr_t)(intptr_t)table_word(t, low, 1)
		       : 0;
}

/* Reads an entry of .eh_frame (a CIE or FDE) from behind its length to its end. */
static struct unwind_reader open_entry(const struct unwind_tables *t, uintptr_t at)
{
	struct unwind_reader r = { t->lo, t->lo, true };
	uint64_t len;

	if (at < (uintptr_t)t->lo || at >= (uintptr_t)t->hi)
		return r;
	r = (struct unwind_reader){ (const uint8_t *)at, t->hi, false };
	len = unwind_read(&r, 4);
	if (len == UINT32_MAX)
		len = unwind_read(&r, 8);
	if (r.bad || !len || len > (size_t)(r.end - r.at))
		r.bad = true;
	else
		r.end = r.at + len;
	return r;
}

/* The letters after 'z'; their data lies in `data`. */
static bool read_augmentation(struct unwind_cie *cie, const char *letter,
			      struct unwind_reader *data)
{
	for (; *letter; letter++)
		switch (*letter) {
		case 'R':
			cie->encoding = (uint8_t)unwind_read(data, 1);
			break;
		case 'P':
			/* Only its size matters: an indirect one is read as it stands. */
			unwind_pointer(data, (uint8_t)unwind_read(data, 1) & 0x0f, 0);
			break;
		case 'L':
			unwind_read(data, 1);
			break;
		case 'S':
			cie->signal = true;
			break;
		case 'B':
			break;
		default:
			return false;
		}
	return !data->bad;
}

static bool open_cie(const struct unwind_tables *t, uintptr_t at, struct unwind_cie *cie)
{
	struct unwind_reader r = open_entry(t, at), data;
	const char *letters;
	uint8_t version;
	uint64_t len;

	memset(cie, 0, sizeof(*cie));
	if (unwind_read(&r, 4)) /* else an FDE */
		return false;
	version = (uint8_t)unwind_read(&r, 1);
	letters = (const char *)r.at;
	while (unwind_read(&r, 1))
		;
	if (r.bad || (version != 1 && version != 3))
		return false;
	cie->code_align = unwind_uleb(&r);
	cie->data_align = unwind_sleb(&r);
	cie->ra = version == 1 ? unwind_read(&r, 1) : unwind_uleb(&r);
	if (r.bad || cie->ra != REG_RA)
		return false;
	if (*letters == 'z') {
		cie->sized = true;
		len = unwind_uleb(&r);
		if (r.bad || len > (size_t)(r.end - r.at))
			return false;
		data = (struct unwind_reader){ r.at, r.at + len, false };
		r.at += len;
		letters++;
		if (!read_augmentation(cie, letters, &data))
			return false;
	} else if (*letters) {
		return false;
	}
	cie->instructions = r;
	return true;
}

uint64_t unwind_tables_rule(const struct unwind_tables *t, uintptr_t pc)
{
	struct unwind_reader r;
	struct unwind_cie cie;
	uintptr_t here, begin;
	uint64_t back, length, len;

	r = open_entry(t, t->count ? fde_of(t, pc) : 0);
	here = (uintptr_t)r.at;
	back = unwind_read(&r, 4);
	if (r.bad || !back || !open_cie(t, here - back, &cie))
		return RULE_NONE;
	begin = unwind_pointer(&r, cie.encoding, 0);
	length = unwind_pointer(&r, cie.encoding & 0x0f, 0);
	if (cie.sized) {
		len = unwind_uleb(&r);
		if (r.bad || len > (size_t)(r.end - r.at))
			return RULE_NONE;
		r.at += len;
	}
	/* The search gave the last function below pc: it may end before pc. */
	if (r.bad || pc - begin >= length)
		return RULE_NONE;
	return unwind_cfa_rule(&cie, r, begin, pc);
}
