/* SPDX-License-Identifier: Apache-2.0 */
/* Do operators run on as many threads as there are CPUs? Our files say how many CPUs the
 * process may use, and how many threads torch takes for an operator. */
#include "base/text.h"
#include "report/advice/phrase.h"
#include "report/advice/rules.h"
#include "report/advice/thresholds.h"

/* How many threads are in operators at the same time, while any is: each calls on torch's
 * threads. 0: none is; below 0: no memory. */
static double callers_of(const struct facts *f)
{
	struct spans all = { 0 };
	double sum = 0, whole;
	uint32_t thread = NO_ROW;
	int64_t end = 0;

	for (uint32_t i = 0; i < f->m->slices_n; i++) {
		const struct slice *s = &f->m->slices[i];
		int64_t from;

		if (s->kind != SLICE_OP || s->begin < f->from || s->end > f->to)
			continue;
		from = s->thread == thread && end > s->begin ? end : s->begin;
		if (s->end <= from)
			continue;
		sum += (double)(s->end - from);
		end = s->end;
		thread = s->thread;
		if (!spans_add(&all, from, s->end)) {
			spans_free(&all);
			return -1;
		}
	}
	spans_join(&all);
	whole = (double)spans_within(&all, f->from, f->to);
	spans_free(&all);
	return whole > 0 ? sum / whole : 0;
}

/* The product of callers and torch's threads is shown, as neither alone need be too
 * large. */
static void say_many(const struct facts *f, struct advice *a, double callers)
{
	ADVICE_SAY(a->title, "More threads than CPUs");
	ADVICE_SAY(
		a->seen,
		"%.1f threads at a time run operators, each on %lld threads of torch: %.0f for "
		"%lld CPUs",
		callers, (long long)f->m->whose.torch_threads,
		callers * (double)f->m->whose.torch_threads, (long long)f->m->whose.cpus);
	ADVICE_SAY(
		a->why,
		"They take the CPUs from each other, and an operator waits for the last of its "
		"threads.");
	ADVICE_SAY(a->act,
		   "torch.set_num_threads(CPUs divided by the threads that call), or "
		   "OMP_NUM_THREADS; or fewer calling threads with larger batches");
}

/* Only operators that share their work well are evidence for more threads. */
static bool is_divisible(const char *name)
{
	static const char *const words[] = { "mm",     "convolution",
					     "conv",   "scaled_dot_product",
					     "linear", NULL };

	for (size_t i = 0; words[i]; i++)
		if (text_after(name, "aten::") && text_has(name, words[i]))
			return true;
	return false;
}

struct products {
	double time, all; /* of operators' own time */
	uint64_t count;
};

/* What more threads would share: large matrix products and convolutions. */
static struct products products_of(const struct facts *f)
{
	struct products p = { .time = 0 };

	for (size_t i = 0; i < f->e->operators->n; i++) {
		const struct operator_figures *o = &f->e->operators->row[i];

		if (o->kind != SLICE_OP || o->self_cpu <= 0)
			continue;
		p.all += (double)o->self_cpu;
		if (!is_divisible(texts_get(&f->m->texts, o->name)) ||
		    o->self_cpu / (int64_t)o->count < THREADS_US * INT64_C(1000))
			continue;
		p.time += (double)o->self_cpu;
		p.count += o->count;
	}
	return p;
}

/* The gain is an upper limit, as no operator divides perfectly over all CPUs. */
static void say_few(const struct facts *f, struct advice *a, const struct products *p,
		    double used)
{
	double cpus = (double)f->m->whose.cpus;
	double a_step = p->time / (double)f->e->steps->n;

	ADVICE_SAY(a->title, "Operators use %.0f of %.0f CPUs", used, cpus);
	ADVICE_SAY(
		a->seen,
		"torch has %lld thread%s for an operator; %u %% of operators' time are %llu "
		"matrix products and convolutions of %s on average",
		(long long)f->m->whose.torch_threads,
		f->m->whose.torch_threads == 1 ? "" : "s",
		phrase_percent(p->time, p->all), (unsigned long long)p->count,
		phrase_time((int64_t)(p->time / (double)p->count)));
	ADVICE_SAY(a->why, "Operators as large as these share their work over threads.");
	ADVICE_SAY(a->act, "torch.set_num_threads(%lld), or OMP_NUM_THREADS",
		   (long long)f->m->whose.cpus);
	a->gain = facts_time(a_step * (1 - used / cpus));
}

bool threads_look(struct facts *f, struct advice *a)
{
	double cpus = (double)f->m->whose.cpus, callers = callers_of(f);
	double used = callers * (double)f->m->whose.torch_threads;
	struct products p;

	if (callers < 0)
		return false;
	if (used <= 0)
		return true;
	if (used >= cpus * THREADS_MANY) {
		say_many(f, a, callers);
		return true;
	}
	if (used * 100 >= cpus * THREADS_FEW_PERCENT || f->m->whose.rank >= 0)
		return true;
	p = products_of(f);
	if (p.count && p.time * 100 >= p.all * THREADS_PERCENT)
		say_few(f, a, &p, used);
	return true;
}
