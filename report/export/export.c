/* SPDX-License-Identifier: Apache-2.0 */
/* One trace after the other into the same tree of stacks. */
#include "report/export/export.h"
#include "base/text.h"
#include "report/export/folded.h"
#include "report/export/torch_lines.h"
#include "report/export/weights.h"
#include "report/whose.h"

void export_begin(struct export *x, enum export_format format, enum export_by by,
		  FILE *out)
{
	/* What a frame may not have: torch's lines, and folded ones. */
	static const char *const replaced[] = { " ;\t\n", ";\t\n\r", "" };

	*x = (struct export){ .format = format, .by = by, .out = out };
	fold_start(&x->fold, replaced[format]);
}

/* As `memory` has it: tensors belong to operators, not to the calls inside of them. */
static unsigned wanted_slices(enum export_by by)
{
	unsigned host = WANT(SLICE_OP) | WANT(SLICE_NOTE) | WANT(SLICE_PYTHON);

	if (by == EXPORT_CPU)
		return host | WANT(SLICE_CALL);
	return by == EXPORT_CUDA ? host | WANT(SLICE_CALL) | WANT(SLICE_DEVICE) : host;
}

/* A trace without any work of a device was recorded without its part. */
static bool has_device(const struct model *m)
{
	size_t i = 0;

	while (i < m->slices_n && m->slices[i].kind != SLICE_DEVICE)
		i++;
	return i < m->slices_n;
}

/* ---- what is measured ---- */

/* Tensors and the heap; the labels that blocks make are texts, so that they come before
 * the chains. */
static bool add_bytes(struct export *x, struct model *m, struct export_found *found)
{
	uint64_t before = x->fold.added;
	struct blocks b;
	struct chain c;
	bool fine = blocks_make(&b, m, 1);

	if (!fine)
		return false;
	fine = chain_make(&c, m, &x->fold);
	if (fine) {
		weights_tensors(&c, &b, x->by == EXPORT_LIVE);
		fine = !m->heap || weights_heap(&x->fold, m, x->by == EXPORT_LIVE);
		found->stacks = c.origin.any || !b.n;
		chain_free(&c);
	}
	found->seen = b.n || m->heap;
	found->values = x->fold.added > before;
	blocks_free(&b);
	return fine;
}

/* The tree has the weights of other traces, too: this one has values where it added
 * some. */
static bool add_times(struct export *x, const struct model *m, struct export_found *found)
{
	uint64_t before = x->fold.added;
	struct chain c;
	bool fine = chain_make(&c, m, &x->fold);

	if (!fine)
		return false;
	fine = x->by == EXPORT_CPU ? weights_cpu(&c) : weights_device(&c);
	found->stacks = c.origin.any || !m->slices_n;
	found->seen = x->by == EXPORT_CPU ? m->slices_n : has_device(m);
	found->values = x->fold.added > before;
	chain_free(&c);
	return fine;
}

/* The lines of torch are written at once; the tree has only their stacks. */
static bool add_lines(struct export *x, const struct model *m, struct export_found *found)
{
	bool device = x->by == EXPORT_CUDA;

	if (!torch_lines_write(m, &x->fold, device, &found->stacks, &found->values,
			       x->out))
		return false;
	found->seen = found->stacks && (!device || has_device(m));
	/* A trace of the device alone lacks the device's part, not stacks. */
	found->stacks |= device && !has_device(m);
	return true;
}

/* ---- a file ---- */

/* Whose trace it is: "python3 train.py (pid 7, rank 3), stage val, window 2"; torch's
 * files do not say, and have their names. */
static void make_name(const struct model *m, const char *path, char *to, size_t size)
{
	const struct whose *w = &m->whose;
	const char *stage = whose_stage(m);
	char rank[32] = "";

	if (w->name == TEXT_NONE) {
		snprintf(to, size, "%s", text_base(path));
		return;
	}
	if (w->rank >= 0)
		snprintf(rank, sizeof(rank), ", rank %lld", (long long)w->rank);
	snprintf(to, size, "%.200s%s%.200s (pid %lld%s)%s%s, window %lld",
		 texts_get(&m->texts, w->name), w->script == TEXT_NONE ? "" : " ",
		 w->script == TEXT_NONE ? "" : texts_get(&m->texts, w->script),
		 (long long)w->pid, rank, *stage ? ", stage " : "", stage,
		 (long long)w->window);
}

/* A profile of speedscope takes the weights out of the tree: each trace has one of its
 * own. */
static bool add_model(struct export *x, struct model *m, const char *path,
		      struct export_found *found)
{
	char name[512];
	bool fine;

	if (x->format == EXPORT_STACKS)
		fine = add_lines(x, m, found);
	else if (x->by == EXPORT_CPU || x->by == EXPORT_CUDA)
		fine = add_times(x, m, found);
	else
		fine = add_bytes(x, m, found);
	if (!fine || x->fold.full)
		return false;
	if (x->format != EXPORT_SPEEDSCOPE || !found->values)
		return true;
	make_name(m, path, name, sizeof(name));
	return speedscope_take(&x->speedscope, &x->fold, name);
}

/* The model is freed at once: of a trace only the tree stays. */
bool export_add(struct export *x, const char *path, struct export_found *found, char *why,
		size_t size)
{
	struct model m;
	bool fine;

	*found = (struct export_found){ 0 };
	if (model_read(&m, path, wanted_slices(x->by), why, size))
		return false;
	found->damage = m.damage;
	fine = add_model(x, &m, path, found);
	if (!fine)
		snprintf(why, size, "%s: not enough memory", path);
	model_free(&m);
	return fine;
}

/* Folded stacks and profiles wait for the last trace; the lines of torch are there. */
bool export_end(struct export *x, bool write)
{
	bool bytes = x->by == EXPORT_ALLOCATED || x->by == EXPORT_LIVE, fine = true;

	if (write && x->format == EXPORT_FOLDED)
		fine = folded_write(&x->fold, bytes ? 1 : 1000, x->out);
	if (write && x->format == EXPORT_SPEEDSCOPE)
		speedscope_write(&x->speedscope, &x->fold, bytes, x->out);
	speedscope_free(&x->speedscope);
	fold_free(&x->fold);
	return fine;
}
