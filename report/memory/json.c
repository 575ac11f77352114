/* SPDX-License-Identifier: Apache-2.0 */
/* The memory report as JSON. */
#include "report/memory/category.h"
#include "report/memory/memory.h"
#include "report/out.h"

#include <inttypes.h>

/* Writes a member with a comma behind it. */
static void put_member(FILE *out, const char *key, int64_t n)
{
	fprintf(out, "\"%s\": %" PRId64 ", ", key, n);
}

/* Writes a label, without a comma; null: outside of all operators. */
static void put_label(const struct memory_view *v, const char *key, uint32_t label,
		      FILE *out)
{
	fprintf(out, "\"%s\": ", key);
	if (label == TEXT_NONE)
		fputs("null", out);
	else
		out_json(out, texts_get(&v->model->texts, label));
}

static void put_rows(const struct memory_view *v, const struct memory_space *s,
		     const char *key, const struct memory_table *t, FILE *out)
{
	fprintf(out, ",\n  \"%s\": [", key);
	for (size_t i = 0; i < t->n; i++) {
		const struct memory_row *r = &t->rows[i];

		fputs(i ? ",\n    {" : "\n    {", out);
		put_label(v, "name", r->label, out);
		fputs(", ", out);
		put_member(out, "peak", r->peak);
		if (!s->heap) {
			put_member(out, "peak_blocks", r->peak_blocks);
			put_member(out, "temporary", r->brief);
		}
		put_member(out, "end", r->end);
		put_member(out, "end_blocks", r->end_blocks);
		put_member(out, "allocs", r->allocs);
		put_member(out, "bytes", r->bytes);
		put_member(out, "frees", r->frees);
		fprintf(out, "\"freed\": %" PRId64, r->freed);
		if (r->steps) {
			fputs(", \"steps\": [", out);
			for (size_t k = 0; k < s->steps_n; k++)
				fprintf(out, "%s%" PRId64, k ? ", " : "", r->steps[k]);
			putc(']', out);
		}
		putc('}', out);
	}
	fputs("]", out);
}

static void put_churn(const struct memory_space *s, FILE *out)
{
	fputs(",\n  \"churn\": [", out);
	for (size_t k = 0; s->churn && k < s->steps_n; k++) {
		const struct memory_churn *c = &s->churn[k];

		fputs(k ? ",\n    {" : "\n    {", out);
		put_member(out, "step", s->numbers[k]);
		put_member(out, "allocs", c->allocs);
		put_member(out, "bytes", c->bytes);
		put_member(out, "frees", c->frees);
		put_member(out, "freed", c->freed);
		put_member(out, "temporary", c->brief);
		fprintf(out, "\"end\": %" PRId64 "}", c->end);
	}
	putc(']', out);
}

/* Writes one space: the heap has no categories and no churn, tensors have both. */
static void put_space(const struct memory_view *v, const struct memory_space *s,
		      FILE *out)
{
	fputs(" {\"space\": ", out);
	out_json(out, s->name);
	fprintf(out, ", \"estimated\": %s, ", s->estimated ? "true" : "false");
	put_member(out, "peak", s->peak);
	put_member(out, "peak_in_window", s->peak_seen);
	fprintf(out, "\"peak_us\": %" PRId64 ".%03d, ", s->peak_ts / 1000,
		(int)(s->peak_ts % 1000));
	if (s->peak_step >= 0)
		put_member(out, "peak_step", s->peak_step);
	else
		fputs("\"peak_step\": null, ", out);
	put_label(v, "peak_operator", s->peak_op, out);
	fputs(",\n  ", out);
	put_member(out, "end", s->end);
	put_member(out, "end_blocks", s->end_blocks);
	put_member(out, "allocs", s->allocs);
	put_member(out, "bytes", s->bytes);
	put_member(out, "frees", s->frees);
	put_member(out, "freed", s->freed);
	put_member(out, "older_frees", s->foreign);
	put_member(out, "reserved", s->reserved);
	fprintf(out, "\"out_of_memory\": %" PRId64 ",\n  \"steps\": [", s->oom);
	for (size_t k = 0; k < s->steps_n; k++)
		fprintf(out, "%s%" PRId64, k ? ", " : "", s->numbers[k]);
	putc(']', out);
	if (!s->heap) {
		fputs(",\n  \"by_category\": {", out);
		for (unsigned i = 0; i < CATEGORIES; i++)
			fprintf(out, "%s\"%s\": %" PRId64, i ? ", " : "",
				category_names[i], s->category[i]);
		fprintf(out, "}, \"older\": %" PRId64, s->older);
		put_churn(s, out);
	}
	put_rows(v, s, "by_operator", &s->by_op, out);
	put_rows(v, s, "by_site", &s->by_site, out);
	putc('}', out);
}

void memory_json(const struct memory_view *v, const char *path, FILE *out)
{
	fputs("{\"trace\": ", out);
	out_json(out, path);
	fprintf(out, ", \"dropped\": %" PRIu64 ", ", v->model->dropped);
	damage_json(&v->model->damage, out);
	fputs(", \"spaces\": [\n", out);
	for (size_t i = 0; i < v->spaces_n; i++) {
		put_space(v, &v->spaces[i], out);
		fputs(i + 1 < v->spaces_n ? ",\n" : "\n", out);
	}
	fputs("]}\n", out);
}
