/* SPDX-License-Identifier: Apache-2.0 */
#include "report/category.h"
#include "report/memory.h"
#include "report/out.h"

#include <inttypes.h>

static void put(FILE *out, const char *key, int64_t n)
{
	fprintf(out, "\"%s\": %" PRId64 ", ", key, n);
}

static void put_rows(const struct memory_view *v, const struct memory_space *s,
		     const char *key, const struct memory_table *t, FILE *out)
{
	fprintf(out, ",\n  \"%s\": [", key);
	for (size_t i = 0; i < t->n; i++) {
		const struct memory_row *r = &t->rows[i];

		fputs(i ? ",\n    {" : "\n    {", out);
		fputs("\"name\": ", out);
		if (r->label == TEXT_NONE)
			fputs("null", out);
		else
			out_json(out, texts_get(&v->model->texts, r->label));
		fputs(", ", out);
		put(out, "peak", r->peak);
		if (!s->heap) {
			put(out, "peak_blocks", r->peak_blocks);
			put(out, "temporary", r->brief);
		}
		put(out, "end", r->end);
		put(out, "end_blocks", r->end_blocks);
		put(out, "allocs", r->allocs);
		put(out, "bytes", r->bytes);
		put(out, "frees", r->frees);
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
		put(out, "step", s->numbers[k]);
		put(out, "allocs", c->allocs);
		put(out, "bytes", c->bytes);
		put(out, "frees", c->frees);
		put(out, "freed", c->freed);
		put(out, "temporary", c->brief);
		fprintf(out, "\"end\": %" PRId64 "}", c->end);
	}
	putc(']', out);
}

static void put_space(const struct memory_view *v, const struct memory_space *s,
		      FILE *out)
{
	fputs(" {\"space\": ", out);
	out_json(out, s->name);
	fprintf(out, ", \"estimated\": %s, ", s->estimated ? "true" : "false");
	put(out, "peak", s->peak);
	put(out, "peak_in_window", s->peak_seen);
	fprintf(out, "\"peak_us\": %" PRId64 ".%03d, ", s->peak_ts / 1000,
		(int)(s->peak_ts % 1000));
	if (s->peak_step >= 0)
		put(out, "peak_step", s->peak_step);
	else
		fputs("\"peak_step\": null, ", out);
	fputs("\"peak_operator\": ", out);
	if (s->peak_op == TEXT_NONE)
		fputs("null", out);
	else
		out_json(out, texts_get(&v->model->texts, s->peak_op));
	fputs(",\n  ", out);
	put(out, "end", s->end);
	put(out, "end_blocks", s->end_blocks);
	put(out, "allocs", s->allocs);
	put(out, "bytes", s->bytes);
	put(out, "frees", s->frees);
	put(out, "freed", s->freed);
	put(out, "older_frees", s->foreign);
	put(out, "reserved", s->reserved);
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
	fprintf(out, ", \"dropped\": %" PRIu64 ", \"spaces\": [\n", v->model->dropped);
	for (size_t i = 0; i < v->spaces_n; i++) {
		put_space(v, &v->spaces[i], out);
		fputs(i + 1 < v->spaces_n ? ",\n" : "\n", out);
	}
	fputs("]}\n", out);
}
