/* SPDX-License-Identifier: Apache-2.0 */
/* Texts for stacks, modules and phases; work on a device has that of its launch. */
#include "report/view/group.h"
#include "report/export/origin.h"
#include "report/figures/launches.h"
#include "report/figures/modules.h"
#include "report/figures/phases.h"

#include <stdio.h>
#include <stdlib.h>

#define UNKNOWN (TEXT_NONE - 1)

/* ---- stacks ---- */

/* Writes the innermost frames of a node, the innermost first. */
static uint32_t frames_text(struct model *m, const struct fold *f, uint32_t node,
			    const struct group_options *o)
{
	static uint32_t path[FOLD_DEPTH_MOST];
	unsigned n = fold_path(f, node, path), left = o->frames;
	bool backward = n && !strcmp(fold_text(f, path[n - 1]), ORIGIN_BACKWARD);
	uint32_t id = TEXT_NONE;
	size_t len = 0;
	char *text = NULL;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		return UNKNOWN;
	if (backward && n--)
		fputs(ORIGIN_BACKWARD " ", out);
	for (const char *between = ""; left && n; left--) {
		fprintf(out, "%s%s", between, fold_text(f, path[--n]));
		between = o->torch ? "\n" : " < ";
	}
	if (!fclose(out))
		id = texts_add(&m->texts, text, len);
	free(text);
	return id == TEXT_NONE ? UNKNOWN : id;
}

/* Stacks that are equal are one node of the fold: its text is made once. */
static bool group_stacks(uint32_t *of, struct model *m, const struct group_options *o)
{
	struct fold *f = malloc(sizeof(*f));
	struct origin origin = { 0 };
	uint32_t *text = NULL;
	bool fine = f != NULL;

	if (fine) {
		fold_start(f, "");
		fine = origin_make(&origin, m, f, o->torch ? ORIGIN_TORCH : ORIGIN_LINES);
		text = fine ? malloc((f->n + 1) * sizeof(*text)) : NULL;
		fine = text != NULL;
	}
	for (size_t i = 0; fine && i < f->n; i++)
		text[i] = UNKNOWN;
	for (size_t i = 0; fine && i < m->slices_n; i++) {
		uint32_t node = origin.node[i];

		if (node == FOLD_ROOT)
			continue;
		if (text[node] == UNKNOWN)
			text[node] = frames_text(m, f, node, o);
		of[i] = text[node];
		fine = of[i] != UNKNOWN;
	}
	free(text);
	origin_free(&origin);
	if (f)
		fold_free(f);
	free(f);
	return fine;
}

/* ---- modules and phases ---- */

/* The innermost module's path, or where the trace has none its name: places of one name
 * are one group. */
static bool group_modules(uint32_t *of, struct model *m)
{
	struct modules all;

	if (!modules_make(&all, m, INT64_MIN, INT64_MAX))
		return false;
	for (size_t i = 0; i < m->slices_n; i++) {
		const struct module_figures *around =
			all.of[i] == NO_ROW ? NULL : &all.row[all.of[i]];

		of[i] = m->slices[i].path;
		if (of[i] == TEXT_NONE && around)
			of[i] = around->path == TEXT_NONE ? around->name : around->path;
	}
	modules_free(&all);
	return true;
}

/* "forward", "backward", ... as texts of the model. */
static bool group_phases(uint32_t *of, struct model *m)
{
	uint32_t text[PHASES];
	uint8_t *phase = phases_make(m);
	bool fine = phase != NULL;

	for (unsigned i = 0; fine && i < PHASES; i++) {
		text[i] = texts_add(&m->texts, phase_names[i], strlen(phase_names[i]));
		fine = text[i] != TEXT_NONE;
	}
	for (size_t i = 0; fine && i < m->slices_n; i++)
		of[i] = text[phase[i]];
	free(phase);
	return fine;
}

/* Gives work on devices the group of the operator that launched it. */
static bool follow_launches(uint32_t *of, const struct model *m)
{
	struct launches all;

	if (!launches_make(&all, m))
		return false;
	for (size_t i = 0; i < m->slices_n; i++) {
		const struct slice *s = &m->slices[i];
		uint32_t op = s->kind == SLICE_DEVICE || s->kind == SLICE_DEVICE_NOTE
				      ? launches_op(&all, s)
				      : NO_ROW;

		if (op != NO_ROW)
			of[i] = of[op];
	}
	launches_free(&all);
	return true;
}

uint32_t *group_make(struct model *m, const struct group_options *o)
{
	uint32_t *of = malloc((m->slices_n + 1) * sizeof(*of));
	bool fine = of != NULL;

	for (size_t i = 0; fine && i < m->slices_n; i++)
		of[i] = TEXT_NONE;
	if (fine && o->by == GROUP_STACK)
		fine = group_stacks(of, m, o);
	else if (fine && o->by == GROUP_MODULE)
		fine = group_modules(of, m);
	else if (fine)
		fine = group_phases(of, m);
	if (fine && !o->torch)
		fine = follow_launches(of, m);
	if (!fine) {
		free(of);
		of = NULL;
	}
	return of;
}
