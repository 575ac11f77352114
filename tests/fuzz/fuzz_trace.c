/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hostile trace files: what is damaged is refused or read, never obeyed.
 *
 * fuzz_trace SECONDS SEED FILE: damaged copies of the file go through the model and every
 * output of the memory view, of export, of the report and of a comparison. The scanner
 * must read them as the strict parser does, and what is exported as JSON is read again.
 */
#include "report/compare/compare.h"
#include "report/export/chrome.h"
#include "report/export/event_lines.h"
#include "report/export/export.h"
#include "report/export/pstats.h"
#include "report/memory/memory.h"
#include "report/memory/timeline.h"
#include "report/scan/find.h"
#include "report/view/view.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/event_dump.h"

#include <unistd.h>

static const char *const words[] = {
	"9223372036854775807",
	"-9223372036854775808",
	"1e308",
	"-1",
	"[[",
	"]]",
	"{\"a\":",
	"}",
	"\"\\ud800",
	"null",
	"\"Bytes\":",
	"\"Addr\":0",
	"\"ProfilerStep#9\"",
	"18446744073709551615",
	"\"steps\":[",
	"\"stack\":4294967295",
	"\"ts\":",
	"\"dur\":",
	"\"tid\":\"x\"",
};

static size_t damage(char *text, size_t len)
{
	fuzz_mutate((uint8_t *)text, len, (unsigned)fuzz_below(8));
	for (uint64_t n = fuzz_below(6); n && len > 64; n--) {
		const char *word = words[fuzz_below(sizeof(words) / sizeof(*words))];

		memcpy(text + fuzz_below(len - 32), word, strlen(word));
	}
	return fuzz_below(4) ? len : fuzz_below(len);
}

/* Numbers where numbers are: damage that the grammar lets through. */
static void change_numbers(char *text, size_t len)
{
	for (uint64_t n = fuzz_below(200); n; n--) {
		size_t at = fuzz_below(len);

		while (at < len && (text[at] < '0' || text[at] > '9'))
			at++;
		if (at < len)
			text[at] = (char)('0' + fuzz_below(10));
	}
}

static void look(struct model *m, FILE *out)
{
	struct memory_options o = { .top = (unsigned)fuzz_below(20) + 1,
				    .depth = (unsigned)fuzz_below(6) + 1,
				    .first = INT64_MIN,
				    .last = INT64_MAX };
	struct leak_options l = { (unsigned)fuzz_below(40), (int64_t)fuzz_below(5000) };
	static const char *const names[] = { "x.html", "x.raw.json", "x.json" };
	char why[256];
	struct memory_view v;

	fuzz_require(memory_make(&v, m, &o));
	memory_print(&v, "x", out);
	memory_json(&v, "x", out);
	leaks_print(&v, &l, "x", out);
	timeline_write(&v, NULL, names[fuzz_below(3)], out, why, sizeof(why));
	memory_free(&v);
}

static void look_at_stacks(const char *path, FILE *out)
{
	static struct export x;
	struct export_found found;
	char why[256];

	export_begin(&x, (enum export_format)fuzz_below(3), (enum export_by)fuzz_below(4),
		     out);
	if (x.format == EXPORT_STACKS)
		x.by %= EXPORT_ALLOCATED;
	for (uint64_t n = 1 + fuzz_below(2); n; n--)
		fuzz_require(export_add(&x, path, &found, why, sizeof(why)));
	fuzz_require(export_end(&x, true));
}

static void look_at_functions(const char *path, FILE *out)
{
	const struct cut_options all = { 0 };
	struct pstats p = { .options = &all, .operators = fuzz_below(2) };
	struct pstats_found found;
	char why[256];

	for (uint64_t n = 1 + fuzz_below(2); n; n--)
		fuzz_require(pstats_add(&p, path, &found, why, sizeof(why)));
	fuzz_require(pstats_end(&p, out));
}

/* ---- JSON that is written is JSON ---- */

static ssize_t take_text_bytes(void *arg, void *bytes, size_t size, const char **why)
{
	const char **text = arg;
	size_t n = strlen(*text);

	(void)why;
	n = n < size ? n : size;
	memcpy(bytes, *text, n);
	*text += n;
	return (ssize_t)n;
}

/* Is the text one value, without what the parser lets through beside the grammar? */
static bool is_json(const char *text)
{
	const char *rest = text;
	struct parse p;
	enum token token;
	bool strict = true;

	for (const char *at = text; *at; at++)
		strict &= (unsigned char)*at >= 0x20 || *at == '\n';
	fuzz_require(parse_start(&p, take_text_bytes, &rest));
	do {
		token = parse_next(&p);
		strict &= token != TOKEN_NULL || p.buf[p.start + 1] == 'u';
	} while (token != TOKEN_END && token != TOKEN_ERROR);
	if (token == TOKEN_ERROR)
		fprintf(stderr, "%s at byte %llu\n", p.why, (unsigned long long)p.offset);
	parse_stop(&p);
	return token == TOKEN_END && strict;
}

/* A cut, or all of the trace, once or twice. */
static void look_at_chrome(const char *path, bool good)
{
	const char *threads[] = { "1", "main" };
	struct cut_options o = { INT64_MIN, INT64_MAX, threads, fuzz_below(2) };
	static struct chrome c;
	char why[512], *text;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	bool fine = true;

	fuzz_require(out);
	if (fuzz_below(2)) {
		o.first = (int64_t)fuzz_below(10);
		o.last = o.first + (int64_t)fuzz_below(10);
	}
	chrome_begin(&c, &o, fuzz_below(2), out);
	for (uint64_t n = 1 + fuzz_below(2); n; n--)
		fine &= chrome_add(&c, path, why, sizeof(why));
	fuzz_require(fine || !good || cut_is_wanted(&o));
	fine = chrome_end(&c);
	fclose(out);
	fuzz_require(fine ? is_json(text) : len < 1 << 20);
	free(text);
}

static void look_at_lines(const char *path)
{
	struct joined j;
	char why[512], *text, *line, *rest;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	fuzz_require(out);
	if (!joined_make(&j, path, why, sizeof(why))) {
		fclose(out);
		free(text);
		return;
	}
	fuzz_require(event_lines_write(&j, out));
	joined_free(&j);
	fclose(out);
	rest = text;
	while ((line = strsep(&rest, "\n")) && *line)
		fuzz_require(is_json(line));
	free(text);
}

static void look_at_report(const char *path, FILE *out)
{
	struct subject_options o = { (enum operators_by)fuzz_below(3), INT64_MIN,
				     INT64_MAX, fuzz_below(2) };
	struct view_order order = { .view = (enum view)fuzz_below(VIEWS),
				    .format = (enum view_format)fuzz_below(VIEW_FORMATS),
				    .limit = fuzz_below(30) };
	struct screen to = { out, 80 + (unsigned)fuzz_below(121), fuzz_below(2),
			     fuzz_below(2) };
	static struct subject s;
	char why[256];

	if (fuzz_below(2)) {
		o.first = (int64_t)fuzz_below(10);
		o.last = o.first + (int64_t)fuzz_below(10);
	}
	order.like_torch = order.view == VIEW_OPS && fuzz_below(2);
	o.group = (struct group_options){ (enum group_by)fuzz_below(3),
					  1 + (unsigned)fuzz_below(4), order.like_torch };
	if (!subject_make(&s, path, &o, why, sizeof(why)))
		return;
	view_print(&s, &order, &to, why, sizeof(why));
	subject_free(&s);
}

static void look_at_two(const char *path, const char *good)
{
	struct profile a, b;
	struct compare c;
	char why[256];

	profile_start(&a);
	profile_start(&b);
	if (profile_add(&a, path, why, sizeof(why)) &&
	    profile_add(&b, good, why, sizeof(why))) {
		fuzz_require(compare_make(&c, &a, &b));
		compare_free(&c);
	}
	profile_free(&a);
	profile_free(&b);
}

/* The scanner and the strict parser read the same, where the file is JSON, or ends. */
static void look_at_scanner(const char *text, size_t len)
{
	static const size_t pieces[] = { 64, 1000, 1 << 20 };
	const struct find_set *set = find_nth((unsigned)fuzz_below(3));
	char *strict = event_dump(text, len, 1 << 20, true, NULL);
	char *fast = event_dump(text, len, pieces[fuzz_below(3)], false, set);

	if (event_dump_is_clean(strict))
		fuzz_require(!strcmp(strict, fast));
	free(strict);
	free(fast);
}

static char *slurp(const char *path, size_t *len)
{
	FILE *in = fopen(path, "r");
	char *text = malloc(1 << 20);

	fuzz_require(in && text);
	*len = fread(text, 1, 1 << 20, in);
	fclose(in);
	return text;
}

int main(int argc, char **argv)
{
	char path[64], why[256], *good, *bad;
	unsigned long long read = 0;
	FILE *out = fopen("/dev/null", "w");
	size_t len;

	fuzz_require(argc > 3 && out);
	good = slurp(argv[3], &len);
	bad = malloc(len);
	snprintf(path, sizeof(path), "/tmp/fuzz_trace.%d", (int)getpid());
	while (fuzz_goes_on(argc, argv)) {
		FILE *file = fopen(path, "w");
		size_t part = len;
		struct model m;

		memcpy(bad, good, len);
		change_numbers(bad, len);
		if (fuzz_below(2))
			part = damage(bad, len);
		fuzz_require(file && fwrite(bad, 1, part, file) == part);
		fclose(file);
		look_at_scanner(bad, part);
		if (model_read(&m, path, ~0u, why, sizeof(why))) {
			look_at_chrome(path, false);
			continue;
		}
		read++;
		look(&m, out);
		look_at_stacks(path, out);
		look_at_functions(path, out);
		look_at_chrome(path, true);
		look_at_lines(path);
		look_at_report(path, out);
		if (!fuzz_below(4))
			look_at_two(path, argv[3]);
		model_free(&m);
	}
	unlink(path);
	fclose(out);
	free(good);
	free(bad);
	printf("%llu files were read\n", read);
	return 0;
}
