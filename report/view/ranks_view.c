/* SPDX-License-Identifier: Apache-2.0 */
/* A sentence, a row for each rank, and what makes the numbers doubtful. */
#include "report/view/ranks_view.h"
#include "report/out.h"
#include "report/units.h"
#include "report/view/rows_ranks.h"

#include <stdarg.h>
#include <stdlib.h>

#define NOTES  12u /* more would be no note */
#define MUCH   0.1 /* of a step */
#define LITTLE 0.02
#define LENGTH 320u

struct notes {
	char row[NOTES][LENGTH];
	unsigned n;
};

/* ---- sentences ---- */

/* A program that is not distributed has no number to show. */
static const char *rank_words(const struct rank *r)
{
	char *out = out_buffer();

	if (r->number < 0)
		snprintf(out, OUT_BUFFER, "the only rank");
	else
		snprintf(out, OUT_BUFFER, "rank %lld", (long long)r->number);
	return out;
}

/* The straggler that computes longest; its n: there is none. */
static size_t worst_straggler(const struct ranks *all)
{
	size_t worst = all->n;

	for (size_t i = 0; i < all->n; i++)
		if (all->verdict[i].straggler &&
		    (worst == all->n ||
		     all->verdict[i].factor > all->verdict[worst].factor))
			worst = i;
	return worst;
}

/* The share of a step that the ranks wait, on average. */
static double mean_waiting(const struct ranks *all)
{
	double waiting = 0, step = 0;

	for (size_t i = 0; i < all->n; i++) {
		waiting += all->verdict[i].waiting;
		step += all->verdict[i].step;
	}
	return step > 0 ? waiting / step : 0;
}

/* Without joined collectives nobody knows how long the others waited. A rank that
 * computes longer may do so while they compute, too, or work outside of operators. */
static void write_straggler(const struct ranks *all, size_t worst, char *to, size_t size)
{
	const struct rank_verdict *v = &all->verdict[worst];
	bool known = all->match.n, little = known && v->late < LITTLE * v->step;
	int n = snprintf(to, size,
			 "%s %s %.2f times as long as the median rank, and is slower in "
			 "%zu of %zu steps",
			 rank_words(&all->row[worst]),
			 little ? "computes" : "holds up the others: it computes",
			 v->factor, v->slow, all->judged);

	if (known)
		snprintf(to + n, size - (size_t)n,
			 "; %sthe others wait for it %s a step.", little ? "but " : "",
			 units_time(units_whole(v->late)));
	else
		snprintf(to + n, size - (size_t)n, ".");
}

/* One sentence answers the question before any table: who is slow, or that nobody is. */
static void write_sentence(const struct ranks *all, char *to, size_t size)
{
	size_t worst = worst_straggler(all);
	double waiting = mean_waiting(all);

	if (all->n < 2)
		snprintf(to, size, "There is one rank: nothing to compare it with.");
	else if (!all->judged)
		snprintf(to, size,
			 "No step is in the files of all ranks: which is slower cannot "
			 "be said.");
	else if (worst < all->n)
		write_straggler(all, worst, to, size);
	else if (!all->match.n)
		snprintf(to, size,
			 "No rank computes longer than the others all the time; how long "
			 "they wait for one another is not known.");
	else if (waiting >= MUCH)
		snprintf(to, size,
			 "No rank is slower than the others all the time, but they wait "
			 "for one another for %s of a step.",
			 units_percent(waiting));
	else
		snprintf(to, size,
			 "No rank stands out; they wait for one another for %s of a "
			 "step.",
			 units_percent(waiting));
	if (*to == 'r')
		*to = 'R';
}

/* ---- what is to be known beside ---- */

__attribute__((format(printf, 2, 3))) static void add_note(struct notes *n,
							   const char *format, ...)
{
	va_list args;

	if (n->n == NOTES)
		return;
	va_start(args, format);
	vsnprintf(n->row[n->n++], LENGTH, format, args);
	va_end(args);
}

/* A correction is said, as it changes who was late. */
static void note_clock(struct notes *n, const struct rank *r,
		       const struct clock_bounds *b)
{
	if (b->n && b->mixed)
		add_note(
			n,
			"%s: its collectives do not fit together with those of the first "
			"rank, on the same host: they are of different groups of ranks, "
			"so that who waits for whom is not said",
			rank_words(r));
	else if (b->n && b->apart)
		add_note(
			n,
			"%s: its collectives do not fit together with those of the first "
			"rank: its clock drifts, or one of them is missing",
			rank_words(r));
	else if (r->offset)
		add_note(n,
			 "%s: its clock is %s %s the first rank's, by the ends of %zu "
			 "collectives: taken off",
			 rank_words(r), units_time(llabs(r->offset)),
			 r->offset > 0 ? "ahead of" : "behind", b->n);
}

/* A rank whose file is damaged may have had more collectives and longer steps. */
static void note_damage(struct notes *n, const struct ranks *all)
{
	const struct rank *first = NULL;
	char words[256], more[64] = "";
	size_t damaged = 0;

	for (size_t i = all->n; i-- > 0;)
		if (damage_is(&all->row[i].damage)) {
			first = &all->row[i];
			damaged++;
		}
	if (!first)
		return;
	damage_words(&first->damage, words, sizeof(words));
	if (damaged > 1)
		snprintf(more, sizeof(more), "; so are %zu more files", damaged - 1);
	add_note(n, "%s: %s%s", rank_words(first), words, more);
}

/* What makes the table doubtful, the files themselves and the clocks first. */
static void make_notes(struct notes *n, const struct ranks *all)
{
	size_t collectives = 0;

	n->n = 0;
	if (all->n && *all->row[0].stage)
		add_note(n, "all of it is of stage %s", all->row[0].stage);
	note_damage(n, all);
	for (size_t i = 0; i < all->n; i++) {
		collectives += all->row[i].collectives_n;
		note_clock(n, &all->row[i], &all->bounds[i]);
	}
	if (!collectives)
		add_note(n, "no collectives are in the files: who waits for whom cannot "
			    "be said; record steps that exchange gradients");
	else if (all->match.parts && !all->match.n)
		add_note(n, "there are groups of some of the ranks (tensor or pipeline "
			    "parallel), and the files do not say which of them a "
			    "collective is of: who waits for whom is not said");
	else if (all->n > 1 && all->match.alone && !all->mixed)
		add_note(n,
			 "%zu of %zu collectives are not in all ranks of their group, or "
			 "not as often in that step: of these no waiting is known",
			 all->match.alone, collectives);
	if (all->unaligned)
		add_note(
			n,
			"%zu collectives are of ranks that exchange nothing with the first "
			"one, so that their clocks are not known: awaited leaves them out",
			all->unaligned);
	for (size_t i = 0; i < all->n; i++)
		if (all->n > 1 && all->row[i].steps_n != all->judged)
			add_note(n, "%s: %zu of its %zu steps are in all ranks' files",
				 rank_words(&all->row[i]), all->judged,
				 all->row[i].steps_n);
}

/* ---- formats ---- */

/* The table is freed on both paths; nothing is written when it could not be made. */
static bool put_table(FILE *out, const char *key, const struct ranks *all,
		      bool (*rows)(struct table *t, const struct ranks *all))
{
	struct table t;
	bool fine = rows(&t, all);

	if (fine) {
		fprintf(out, ",\n\"%s\": ", key);
		table_json(&t, out, TABLE_ALL);
	}
	table_free(&t);
	return fine;
}

/* Programs get steps and collectives as well: they ask once. */
static bool print_json(const struct ranks *all, const char *sentence,
		       const struct notes *notes, FILE *out)
{
	bool fine;

	fputs("{\"schema\": 1, \"sentence\": ", out);
	out_json(out, sentence);
	fputs(", \"notes\": [", out);
	for (unsigned i = 0; i < notes->n; i++) {
		fputs(i ? ", " : "", out);
		out_json(out, notes->row[i]);
	}
	fputs("], \"stage\": ", out);
	out_json_or_null(out, all->n ? all->row[0].stage : NULL);
	fprintf(out, ", \"judged_steps\": %zu", all->judged);
	fine = put_table(out, "ranks", all, rows_ranks) &&
	       put_table(out, "steps", all, rows_ranks_steps) &&
	       put_table(out, "collectives", all, rows_ranks_collectives);
	fputs("}\n", out);
	return fine;
}

/* The sentence first: most readers need no more. */
static void print_text(const struct table *t, const char *sentence,
		       const struct notes *notes, bool markdown, const struct screen *to)
{
	if (markdown)
		fprintf(to->out, "%s\n\n", sentence);
	else
		screen_wrap(to, SCREEN_BOLD, sentence, 0, 0);
	if (!markdown)
		putc('\n', to->out);
	(markdown ? table_markdown : table_text)(t, to, TABLE_ALL);
	for (unsigned i = 0; i < notes->n; i++) {
		if (!i)
			putc('\n', to->out);
		if (markdown)
			fprintf(to->out, "- %s\n", notes->row[i]);
		else
			screen_wrap(to, SCREEN_PLAIN, notes->row[i], 0, 2);
	}
	if (!markdown)
		screen_wrap(to, SCREEN_DIM,
			    "\nof a step, on average; waiting: in collectives, for other "
			    "ranks; awaited: all others waited for this rank alone",
			    0, 0);
}

bool ranks_view_print(const struct ranks *all, enum view_format format,
		      const struct screen *to)
{
	static struct notes notes;
	char sentence[LENGTH];
	struct table t;
	bool fine;

	write_sentence(all, sentence, sizeof(sentence));
	make_notes(&notes, all);
	if (format == VIEW_JSON)
		return print_json(all, sentence, &notes, to->out);
	fine = rows_ranks(&t, all);
	if (fine && format == VIEW_CSV)
		table_csv(&t, to->out, TABLE_ALL);
	else if (fine)
		print_text(&t, sentence, &notes, format == VIEW_MARKDOWN, to);
	table_free(&t);
	return fine;
}
