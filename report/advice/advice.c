/* SPDX-License-Identifier: Apache-2.0 */
/* Asks all rules, drops what is not worth telling, and puts first what gains most. */
#include "report/advice/advice.h"
#include "report/advice/phrase.h"
#include "report/advice/rules.h"
#include "report/advice/stalls.h"
#include "report/advice/thresholds.h"
#include "report/figures/functions.h"

#include <stdlib.h>
#include <string.h>

struct rule {
	const char *name;
	rule_look *look;
	unsigned needs;
	const char *causes, *text;
};

static const struct rule rules[] = {
#define RULE(name, look, needs, causes, text) { name, look, needs, causes, text },
#include "report/advice/rules.def"
#undef RULE
};

#define RULES (sizeof(rules) / sizeof(*rules))

_Static_assert(RULES <= ADVICE_MOST, "there is a row for each rule");

/* ---- evidence ---- */

/* One slice is enough: a kind that was recorded at all counts as evidence. */
static bool has_kind(const struct model *m, enum slice_kind kind)
{
	for (size_t i = 0; i < m->slices_n; i++)
		if (m->slices[i].kind == kind)
			return true;
	return false;
}

/* Events of the CPU's memory do not count where `gpu` asks for a device's. */
static bool has_memory(const struct model *m, bool gpu)
{
	for (size_t i = 0; i < m->memory_n; i++)
		if (!gpu || m->devices[m->memory[i].device].type != 0)
			return true;
	return false;
}

/* What must be recorded for the rule to look; NULL: it can. */
static const char *missing_for(const struct facts *f, unsigned needs)
{
	const struct model *m = f->m;
	bool ours = m->ours;

	if (needs & NEED_STEPS && (!f->e->steps->marked || f->e->steps->n < 2))
		return ours ? "several steps: --marker, --schedule wait=1,warmup=1,active=5"
			    : "several steps: profiler.step() in the loop";
	if (needs & NEED_OPS && !has_kind(m, SLICE_OP) && !has_kind(m, SLICE_NOTE))
		return ours ? "operators: --activities cpu,cuda"
			    : "operators: ProfilerActivity.CPU";
	if (needs & NEED_KERNELS && !f->kernels)
		return ours ? "the GPU: --activities cpu,cuda"
			    : "the GPU: ProfilerActivity.CUDA";
	if (f->host == NO_ROW &&
	    (needs & NEED_CALLS || (needs & NEED_MEMORY && f->kernels)))
		return "calls of CUDA, with the correlation of their work";
	if (needs & NEED_GPU && !m->gpus_n)
		return "the GPU's properties (deviceProperties in the file)";
	if ((needs & NEED_MEMORY && !f->kernels && !has_memory(m, false)) ||
	    (needs & NEED_GPU_MEMORY && !has_memory(m, true)))
		return ours ? "memory: --profile-memory on"
			    : "memory: profile_memory=True";
	if (needs & NEED_PYTHON && !m->whose.collections && !functions_are_there(m))
		return ours ? "garbage collections: --python-events gc"
			    : "Python's functions: torch.profiler, with_stack=True";
	if (needs & NEED_CPUS && m->whose.cpus <= 0)
		return ours ? "threads and CPUs: steps that the program ends itself, no --marker time:"
			    : "threads and CPUs: proflaunch records them";
	return NULL;
}

/* Rules about a GPU are not silent where the process used none: they do not apply. */
static bool does_apply(const struct facts *f, const struct rule *r)
{
	unsigned gpu = NEED_KERNELS | NEED_CALLS | NEED_GPU | NEED_GPU_MEMORY;

	if (r->needs & NEED_CPUS && (f->e->steps->gpu || f->kernels))
		return false;
	return !(r->needs & gpu) || f->e->steps->gpu || f->kernels ||
	       has_memory(f->m, true);
}

/* ---- rows ---- */

/* A finding from one step or two may be chance: its text says so to the reader. */
static void mark_few(const struct facts *f, struct advice *a)
{
	size_t len = strlen(a->seen);

	if (f->n < 3)
		snprintf(a->seen + len, sizeof(a->seen) - len, "; from %zu step%s only",
			 f->n, f->n == 1 ? "" : "s");
}

/* A rule that does not apply leaves no trace, one that lacks its evidence counts as
 * silent, and no gain is larger than the step. */
static bool ask_rule(struct advices *a, struct facts *f, const struct rule *r)
{
	struct advice *row = &a->row[a->n];
	const char *record = missing_for(f, r->needs);

	if (!does_apply(f, r))
		return true;
	if (record) {
		a->silent[a->silent_n++] = (struct silent){ r->name, record };
		return true;
	}
	*row = (struct advice){ .rule = r->name };
	if (!r->look(f, row))
		return false;
	if (!*row->title)
		return true;
	if (row->gain > f->e->step)
		row->gain = f->e->step;
	mark_few(f, row);
	a->n++;
	return true;
}

/* The name may come from a user: NULL says that no rule has it. */
static const struct rule *rule_named(const char *name)
{
	for (size_t i = 0; i < RULES; i++)
		if (!strcmp(rules[i].name, name))
			return &rules[i];
	return NULL;
}

/* Is a rule in a list of causes? */
static bool is_cause(const char *causes, const char *rule)
{
	size_t n = strlen(rule);

	causes += *causes == '-';
	for (; *causes; causes += strcspn(causes, " "), causes += *causes == ' ')
		if (!strncmp(causes, rule, n) && (!causes[n] || causes[n] == ' '))
			return true;
	return false;
}

/* ---- consequences ---- */

struct causes {
	int64_t sum, most;
};

/* Both the sum of the causes' gains and the largest of them are needed: the one
 * explains a consequence, the other is what a rest must exceed. */
static struct causes causes_of(const struct advices *a, const char *list)
{
	struct causes c = { 0 };

	for (unsigned i = 0; i < a->n; i++) {
		if (!is_cause(list, a->row[i].rule))
			continue;
		facts_add(&c.sum, a->row[i].gain);
		c.most = a->row[i].gain > c.most ? a->row[i].gain : c.most;
	}
	return c;
}

/* Is a consequence explained, or a rest smaller than what else there is? */
static bool is_explained(const struct advices *a, struct advice *row)
{
	const char *list = rule_named(row->rule)->causes;
	struct causes c = causes_of(a, list);

	if (!*list)
		return false;
	if (*list != '-') {
		row->consequence = c.sum > 0;
		return c.sum > 0 &&
		       (double)c.sum * 100 >= (double)row->gain * EXPLAINED_PERCENT;
	}
	row->gain -= c.sum < row->gain ? c.sum : row->gain;
	return row->gain <= c.most;
}

/* What is measured and small is not told; 0 is what cannot be said. Causes stand before
 * what they explain, so that they are all judged by then. */
static void drop_rows(struct advices *a, const struct evidence *e)
{
	unsigned kept = 0, n = a->n;

	for (unsigned i = 0; i < n; i++) {
		struct advice row = a->row[i];

		a->n = kept;
		if (is_explained(a, &row) ||
		    (row.gain &&
		     (double)row.gain * 100 < (double)e->step * LEAST_PERCENT))
			continue;
		a->row[kept++] = row;
	}
	a->n = kept;
}

/* ---- order ---- */

/* The rows between both places keep their order. */
static void move_row(struct advices *a, unsigned from, unsigned to)
{
	struct advice row = a->row[from];

	if (from < to)
		memmove(&a->row[from], &a->row[from + 1], (to - from) * sizeof(row));
	else
		memmove(&a->row[to + 1], &a->row[to], (from - to) * sizeof(row));
	a->row[to] = row;
}

/* Equal rows keep the rules' order; what makes all numbers doubtful is first. */
static void order_rows(struct advices *a)
{
	for (unsigned i = 1; i < a->n; i++) {
		unsigned to = i;

		while (to && a->row[to - 1].gain < a->row[i].gain &&
		       strcmp(a->row[to - 1].rule, "overhead"))
			to--;
		move_row(a, i, to);
	}
	for (unsigned i = 0, turns = 0; i < a->n && turns < a->n; i++) {
		unsigned last = i;

		for (unsigned k = i + 1; a->row[i].consequence && k < a->n; k++)
			if (is_cause(rule_named(a->row[i].rule)->causes, a->row[k].rule))
				last = k;
		if (last == i)
			continue;
		move_row(a, i--, last);
		turns++;
	}
}

bool advice_make(struct advices *a, const struct evidence *e)
{
	struct facts f;
	bool fine;

	memset(a, 0, sizeof(*a));
	if (!e->judged)
		return true;
	if (!facts_make(&f, e))
		return false;
	fine = stalls_make(&f);
	for (size_t i = 0; fine && i < RULES; i++)
		fine = ask_rule(a, &f, &rules[i]);
	facts_free(&f);
	if (fine) {
		drop_rows(a, e);
		order_rows(a);
	}
	return fine;
}

/* ---- what a rule is ---- */

/* Breaks lines at 78 columns. */
static void print_text(FILE *out, const char *text)
{
	while (*text) {
		size_t len = strlen(text), cut = len;

		if (len > 74)
			for (cut = 74; cut && text[cut] != ' ';)
				cut--;
		if (!cut)
			cut = strcspn(text, " ");
		fprintf(out, "    %.*s\n", (int)cut, text);
		text += cut + (text[cut] == ' ');
	}
}

bool advice_explain(FILE *out, const char *rule)
{
	bool found = false;

	for (size_t i = 0; i < RULES; i++) {
		if (rule && strcmp(rules[i].name, rule))
			continue;
		fprintf(out, "%s%s\n", found ? "\n" : "", rules[i].name);
		print_text(out, rules[i].text);
		found = true;
	}
	return found;
}
