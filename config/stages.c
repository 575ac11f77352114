/* SPDX-License-Identifier: Apache-2.0 */
/* Which stages a run has: the preset's rows, and what the user's lines put over them.
 * Processes of a job count their stages alike: the order of lines is none, for an
 * environment, which shells sort as they like, has brought them. */
#include "config/stages.h"
#include "base/fmt.h"
#include "config/keyed.h"

#include <string.h>

/* Texts lie inside: pointers would be written by the dynamic linker at each start. */
static const struct preset {
	enum cfg_preset of;
	char name[16];
	char marker[192], within[192], enter[192], leave[192];
} presets[] = {
#define PRESET(preset, name, marker, within, enter, leave) \
	{ PRESET_##preset, name, marker, within, enter, leave },
#include "config/presets.def"
#undef PRESET
};

/* A text that fills its member would have no end. */
#define FITS(text, member) \
	_Static_assert(sizeof(text) <= sizeof(presets->member), #member);
#define PRESET(preset, a_name, a_marker, a_within, a_enter, a_leave) \
	FITS(a_name, name)                                           \
	FITS(a_marker, marker)                                       \
	FITS(a_within, within) FITS(a_enter, enter) FITS(a_leave, leave)
#include "config/presets.def"
#undef PRESET
#undef FITS

/* One more than may be, so that too many are seen. */
struct names {
	char at[STAGES_MOST + 1][STAGES_NAME];
	size_t count;
};

static const struct preset *find_preset(uint32_t of, const char *name)
{
	for (size_t i = 0; i < sizeof(presets) / sizeof(*presets); i++)
		if (presets[i].of == of && !strcmp(presets[i].name, name))
			return &presets[i];
	return NULL;
}

static bool has_name(const struct names *n, const char *name)
{
	for (size_t i = 0; i < n->count; i++)
		if (!strcmp(n->at[i], name))
			return true;
	return false;
}

/* Behind the first `fixed`, which have an order of their own. */
static void insert_name(struct names *n, size_t fixed, const char *name)
{
	size_t at = n->count;

	if (at > STAGES_MOST || has_name(n, name))
		return;
	for (; at > fixed && strcmp(n->at[at - 1], name) > 0; at--)
		memcpy(n->at[at], n->at[at - 1], STAGES_NAME);
	fmt(n->at[at], STAGES_NAME, "%s", name);
	n->count++;
}

static void find_names(const struct config *c, struct names *n)
{
	const char *at = c->stages;
	char name[STAGES_NAME];
	struct keyed_row row;
	size_t fixed;

	n->count = 0;
	for (size_t i = 0; i < sizeof(presets) / sizeof(*presets); i++)
		if (presets[i].of == c->preset)
			insert_name(n, n->count, presets[i].name);
	fixed = n->count;
	while (keyed_next(&at, &row)) {
		fmt(name, sizeof(name), "%.*s", (int)strcspn(row.key, ". \n"), row.key);
		insert_name(n, fixed, name);
	}
}

/* What the user says of a stage; false: nothing. */
static bool read_said(const struct config *c, const char *name, const char *key,
		      char *buf)
{
	char full[STAGES_NAME + 16];
	struct keyed_row row;

	fmt(full, sizeof(full), "%s.%s", name, key);
	if (!keyed_find(c->stages, full, &row))
		return false;
	fmt(buf, STAGES_TEXT, "%.*s", (int)row.value_len, row.value);
	return true;
}

/* Ways in and out belong together: the preset's are for the preset's alone. */
static void fill_row(const struct config *c, const char *name, struct stages_row *r)
{
	const struct preset *p = find_preset(c->preset, name);
	bool way = false;

	memset(r, 0, sizeof(*r));
	fmt(r->name, sizeof(r->name), "%s", name);
	if (!read_said(c, name, "marker", r->marker) && p)
		fmt(r->marker, sizeof(r->marker), "%s", p->marker);
	way |= read_said(c, name, "within", r->within);
	way |= read_said(c, name, "enter", r->enter);
	way |= read_said(c, name, "leave", r->leave);
	if (p && !way) {
		fmt(r->within, sizeof(r->within), "%s", p->within);
		fmt(r->enter, sizeof(r->enter), "%s", p->enter);
		fmt(r->leave, sizeof(r->leave), "%s", p->leave);
	}
	read_said(c, name, "schedule", r->schedule);
	read_said(c, name, "file", r->file);
}

size_t stages_of(const struct config *c, struct stages_row *rows)
{
	struct names n;
	size_t i;

	find_names(c, &n);
	for (i = 0; i < n.count && i < STAGES_MOST; i++)
		fill_row(c, n.at[i], &rows[i]);
	return i;
}

void stages_name(const struct config *c, unsigned number, char *buf, size_t size)
{
	struct names n;
	bool known;

	find_names(c, &n);
	known = number && number <= n.count && number <= STAGES_MOST;
	fmt(buf, size, "%s", known ? n.at[number - 1] : "");
}

void stages_suffix(const struct config *c, unsigned number, char *buf, size_t size)
{
	char name[STAGES_NAME], file[STAGES_TEXT];

	stages_name(c, number, name, sizeof(name));
	if (!*name)
		fmt(buf, size, "%s", "");
	else if (read_said(c, name, "file", file))
		fmt(buf, size, "%s", file);
	else
		fmt(buf, size, ".%s", name);
}

/* ---- do they make stages? ---- */

static bool has_way(const struct stages_row *r)
{
	return *r->within || *r->enter;
}

static const char *check_row(const struct stages_row *r)
{
	if (!*r->marker)
		return "has no marker, which says where its steps end (auto, torch:<glob>, python:<name>)";
	if (*r->within && *r->enter)
		return "has both within and enter, which are two ways into it: one is enough";
	if (*r->leave && !*r->enter)
		return "has leave without enter";
	if (!strcmp(r->marker, "auto") && !has_way(r))
		return "has the marker auto, which begins no stage: within or enter says what does";
	return NULL;
}

/* Without a way in a call of the marker begins the stage: it can begin but one. */
static const char *find_twin(const struct config *c, const struct names *n, size_t i,
			     const struct stages_row *r)
{
	struct stages_row other;

	while (i-- && !has_way(r)) {
		fill_row(c, n->at[i], &other);
		if (!strcmp(other.marker, r->marker) && !has_way(&other))
			return n->at[i];
	}
	return NULL;
}

const char *stages_check(const struct config *c)
{
	static char why[256];
	struct stages_row row;
	struct names n;

	find_names(c, &n);
	if (n.count > STAGES_MOST)
		return "there are more than 8";
	for (size_t i = 0; i < n.count; i++) {
		const char *no, *twin;

		fill_row(c, n.at[i], &row);
		no = check_row(&row);
		twin = find_twin(c, &n, i, &row);
		if (no)
			fmt(why, sizeof(why), "%s %s", row.name, no);
		else if (twin)
			fmt(why, sizeof(why),
			    "%s and %s have the same marker: within or enter must tell them apart",
			    twin, row.name);
		if (no || twin)
			return why;
	}
	return NULL;
}
