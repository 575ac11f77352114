/* SPDX-License-Identifier: Apache-2.0 */
/* JSON of the schema https://www.speedscope.app/file-format-schema.json. */
#include "report/export/speedscope.h"
#include "report/out.h"

#include <stdlib.h>

/* The weights move from the tree to the samples: the next trace begins with none. */
bool speedscope_take(struct speedscope *s, struct fold *f, const char *name)
{
	struct speedscope_profile p = { strdup(name), s->samples_n, s->samples_n };
	size_t n = 0;
	uint32_t *nodes = p.name ? fold_sorted(f, &n) : NULL;
	bool fine = nodes && GROW(s->profiles, s->profiles_room, s->profiles_n);

	for (size_t i = 0; fine && i < n; i++) {
		fine = GROW(s->samples, s->samples_room, s->samples_n);
		if (!fine)
			break;
		s->samples[s->samples_n++] =
			(struct sample){ f->nodes[nodes[i]].weight, nodes[i] };
		f->nodes[nodes[i]].weight = 0;
	}
	free(nodes);
	if (!fine) {
		free(p.name);
		return false;
	}
	p.to = s->samples_n;
	s->profiles[s->profiles_n++] = p;
	return true;
}

/* ---- frames ---- */

/* Where the number in "(12)" or ":12)" ends that begins at p; NULL: there is none. */
static const char *skip_number(const char *p)
{
	const char *begin = p;

	while (*p >= '0' && *p <= '9')
		p++;
	return p > begin && p - begin < 10 && *p == ')' ? p + 1 : NULL;
}

/* Finds a frame of Python, "path(12): name", or a native one, "name (path:12)". Returns
 * the length of the path; 0 = neither. */
static size_t find_place(const char *text, const char **path, const char **line,
			 const char **name, size_t *name_len)
{
	const char *open, *end;

	for (open = strchr(text, '('); open; open = strchr(open + 1, '(')) {
		end = skip_number(open + 1);
		if (!end || strncmp(end, ": ", 2) || open == text)
			continue;
		*path = text, *line = open + 1;
		*name = end + 2, *name_len = strlen(end + 2);
		return (size_t)(open - text);
	}
	open = strrchr(text, '(');
	end = open ? strrchr(open, ':') : NULL;
	if (!end || open < text + 2 || open[-1] != ' ' || end == open + 1 ||
	    !skip_number(end + 1) || *skip_number(end + 1))
		return 0;
	*path = open + 1, *line = end + 1;
	*name = text, *name_len = (size_t)(open - 1 - text);
	return (size_t)(end - open - 1);
}

/* The text lies inside of a longer one: a copy of it gets an end. */
static void put_part(FILE *out, const char *key, const char *text, size_t len)
{
	char part[FOLD_FRAME_MOST + 1];

	memcpy(part, text, len);
	part[len] = '\0';
	fputs(key, out);
	out_json(out, part);
}

/* A line of Python is taken apart into file, line and name; other frames are names. */
static void put_frame(FILE *out, const char *text)
{
	const char *path, *line, *name;
	size_t name_len, len = find_place(text, &path, &line, &name, &name_len);

	if (!len) {
		put_part(out, "{\"name\": ", text, strlen(text));
	} else {
		put_part(out, "{\"name\": ", name, name_len);
		put_part(out, ", \"file\": ", path, len);
		fprintf(out, ", \"line\": %lu", strtoul(line, NULL, 10));
	}
	fputs("}", out);
}

/* ---- profiles ---- */

/* Microseconds keep their three decimals, in whole numbers until they are text. */
static void put_number(FILE *out, unsigned __int128 n, bool bytes)
{
	uint64_t whole = (uint64_t)(bytes ? n : n / 1000);

	fprintf(out, "%llu", (unsigned long long)whole);
	if (!bytes)
		fprintf(out, ".%03u", (unsigned)(n % 1000));
}

/* A sample lists the numbers of its frames, the outermost first. */
static void put_sample(FILE *out, const struct fold *f, uint32_t node)
{
	uint32_t path[FOLD_DEPTH_MOST];
	unsigned n = fold_path(f, node, path);

	putc('[', out);
	for (unsigned i = 0; i < n; i++)
		fprintf(out, "%s%u", i ? "," : "", path[i]);
	putc(']', out);
}

/* Each weight fits 64 bits, but their sum may not. */
static void put_profile(const struct speedscope *s, const struct fold *f,
			const struct speedscope_profile *p, bool bytes, FILE *out)
{
	unsigned __int128 sum = 0;

	for (size_t i = p->from; i < p->to; i++)
		sum += (unsigned __int128)s->samples[i].weight;
	fputs("{\"type\": \"sampled\", \"name\": ", out);
	out_json(out, p->name);
	fprintf(out, ", \"unit\": \"%s\", \"startValue\": 0, \"endValue\": ",
		bytes ? "bytes" : "microseconds");
	put_number(out, sum, bytes);
	fputs(", \"samples\": [", out);
	for (size_t i = p->from; i < p->to; i++) {
		fputs(i > p->from ? ",\n" : "\n", out);
		put_sample(out, f, s->samples[i].node);
	}
	fputs("], \"weights\": [", out);
	for (size_t i = p->from; i < p->to; i++) {
		fputs(i > p->from ? "," : "", out);
		put_number(out, (unsigned __int128)s->samples[i].weight, bytes);
	}
	fputs("]}", out);
}

/* All profiles share one list of frames: it is written once. */
void speedscope_write(const struct speedscope *s, const struct fold *f, bool bytes,
		      FILE *out)
{
	fputs("{\"$schema\": \"https://www.speedscope.app/file-format-schema.json\",\n"
	      "\"exporter\": \"proflaunch " VERSION "\", \"activeProfileIndex\": 0,\n"
	      "\"shared\": {\"frames\": [",
	      out);
	for (uint32_t i = 0; i < f->frames.n; i++) {
		fputs(i ? ",\n" : "\n", out);
		put_frame(out, fold_text(f, i));
	}
	fputs("]},\n\"profiles\": [", out);
	for (size_t i = 0; i < s->profiles_n; i++) {
		fputs(i ? ",\n" : "\n", out);
		put_profile(s, f, &s->profiles[i], bytes, out);
	}
	fputs("]}\n", out);
}

void speedscope_free(struct speedscope *s)
{
	for (size_t i = 0; i < s->profiles_n; i++)
		free(s->profiles[i].name);
	free(s->profiles);
	free(s->samples);
	*s = (struct speedscope){ 0 };
}
