/* SPDX-License-Identifier: Apache-2.0 */
/* Prints rows of operators as torch's profiler_util.py does (_build_table). */
#include "report/view/torch_table.h"
#include "base/order.h"
#include "report/out.h"
#include "report/view/torch_flops.h"
#include "report/view/torch_source.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define COLUMN      12 /* the width of all but names and shapes */
#define CELL        64
#define SOURCE_MOST 75 /* of a line of Python */

/* ---- order ---- */

/* X(torch's name, behind the device's): a number of a row. */
#define SORT_KEYS(X)                                               \
	X(cpu_time, r->torch.cpu / (double)r->count)               \
	X(device_time, r->torch.device / (double)r->count)         \
	X(cpu_time_total, r->torch.cpu)                            \
	X(device_time_total, r->torch.device)                      \
	X(self_cpu_time_total, r->torch.self_cpu)                  \
	X(self_device_time_total, r->torch.self_device)            \
	X(cpu_memory_usage, (double)r->cpu_memory)                 \
	X(device_memory_usage, (double)r->device_memory)           \
	X(self_cpu_memory_usage, (double)r->self_cpu_memory)       \
	X(self_device_memory_usage, (double)r->self_device_memory) \
	X(count, (double)r->count)

#define KEY(name, value)                                           \
	static double key_##name(const struct operator_figures *r) \
	{                                                          \
		return value;                                      \
	}
SORT_KEYS(KEY)
#undef KEY

struct sort_key {
	const char *name;
	double (*of)(const struct operator_figures *r);
};

/* Spells a key with "device" for each name of a device, as torch does. */
static void spell_plainly(char *to, size_t size, const char *key)
{
	static const char *const devices[] = { "cuda", "xpu", "privateuse1" };
	size_t n = 0;

	while (*key && n + sizeof("device") < size) {
		unsigned i = 0;

		while (i < 3 && strncmp(key, devices[i], strlen(devices[i])))
			i++;
		if (i < 3) {
			n = (size_t)(stpcpy(to + n, "device") - to);
			key += strlen(devices[i]);
		} else {
			to[n++] = *key++;
		}
	}
	to[n] = '\0';
}

static const struct sort_key *find_key(const char *sort_by)
{
	static const struct sort_key keys[] = {
#define KEY(name, value) { #name, key_##name },
		SORT_KEYS(KEY)
#undef KEY
	};
	char name[CELL];

	spell_plainly(name, sizeof(name), sort_by);
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (!strcmp(keys[i].name, name))
			return &keys[i];
	return NULL;
}

bool torch_table_knows(const char *sort_by)
{
	return find_key(sort_by);
}

static int by_key(const void *left, const void *right, void *arg)
{
	const struct operator_figures *a = *(const struct operator_figures *const *)left;
	const struct operator_figures *b = *(const struct operator_figures *const *)right;
	const struct sort_key *key = arg;
	double x = key ? key->of(a) : 0, y = key ? key->of(b) : 0;

	return x > y ? -1 : x < y ? 1 : order_of(a->first, b->first);
}

/* ---- cells ---- */

struct table {
	FILE *out;
	const struct model *m;
	const struct operator_figures **row;
	size_t n;
	size_t name_width, shapes_width, name_most;
	size_t source_width; /* 0 = no row has a stack */
	double self_cpu, self_device; /* sums */
	bool device, memory, device_memory, shapes;
	struct torch_flops flops;
	bool full; /* not enough memory */
	char cell[CELL];
};

/* Is the byte inside a character of UTF-8, behind its first? */
static bool is_inside(char byte)
{
	return (byte & 0xc0) == 0x80;
}

/* How many characters a text has. */
static size_t text_length(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += !is_inside(*text);
	return n;
}

/* Writes a cell's text, or its first `most` characters, at the right of its column. */
static void put_text(struct table *t, const char *text, size_t most, size_t width)
{
	const char *end = text;
	size_t n = 0;
	char *part;

	for (; *end && (n < most || is_inside(*end)); end++)
		n += !is_inside(*end);
	part = strndup(text, (size_t)(end - text));
	t->full |= !part;
	fprintf(t->out, "%*s", (int)(n < width ? width - n : 0), "");
	out_text(t->out, part ? part : "", SIZE_MAX);
	free(part);
}

static void put_cell(struct table *t)
{
	fprintf(t->out, "%*s  ", COLUMN, t->cell);
}

static void format_time(struct table *t, double us)
{
	if (us >= 1e6)
		snprintf(t->cell, CELL, "%.3fs", us / 1e6);
	else if (us >= 1e3)
		snprintf(t->cell, CELL, "%.3fms", us / 1e3);
	else
		snprintf(t->cell, CELL, "%.3fus", us);
}

static void put_time(struct table *t, double us)
{
	format_time(t, us);
	put_cell(t);
}

static void put_share(struct table *t, double part, double whole)
{
	if (whole == 0)
		snprintf(t->cell, CELL, "NaN");
	else
		snprintf(t->cell, CELL, "%.2f%%", part * 100.0 / whole);
	put_cell(t);
}

static void put_memory(struct table *t, int64_t bytes)
{
	static const char units[] = "KMG";
	double size = (double)bytes, most = size < 0 ? -size : size;
	int unit = most >= 1 << 30 ? 2 : most >= 1 << 20 ? 1 : most >= 1 << 10 ? 0 : -1;

	if (unit < 0)
		snprintf(t->cell, CELL, "%" PRId64 " B", bytes);
	else
		snprintf(t->cell, CELL, "%.2f %cB",
			 size / (double)(INT64_C(1) << 10 * (unit + 1)), units[unit]);
	put_cell(t);
}

/* ---- lines ---- */

static const char *shapes_text(const struct table *t, const struct operator_figures *r)
{
	return r->shapes == TEXT_NONE ? "" : texts_get(&t->m->texts, r->shapes);
}

static const char *source_text(const struct table *t, const struct operator_figures *r)
{
	return r->group == TEXT_NONE ? NULL : texts_get(&t->m->texts, r->group);
}

/* How many columns of 12 the table has. */
static unsigned plain_columns(const struct table *t)
{
	return 6 + 4 * t->device + 2 * t->memory + 2 * t->device_memory;
}

/* The heads of torch's FLOPs stand behind those of the source, their cells before. */
static size_t source_right(const struct table *t)
{
	return t->flops.scale > 0 ? COLUMN : 0;
}

/* How many columns of the terminal stand before the source's cells. */
static size_t row_columns(const struct table *t)
{
	return t->name_width + 2 + plain_columns(t) * (COLUMN + 2) +
	       (t->shapes ? t->shapes_width + 2 : 0) +
	       (source_right(t) ? t->source_width + 2 : 0);
}

static void put_rule(const struct table *t)
{
	for (size_t i = 0; i < t->name_width; i++)
		putc('-', t->out);
	for (unsigned i = 0; i < plain_columns(t); i++)
		fputs("  ------------", t->out);
	fputs("  ", t->out);
	for (size_t i = 0; t->shapes && i < t->shapes_width; i++)
		putc('-', t->out);
	fputs(t->shapes ? "  " : "", t->out);
	for (size_t i = 0; i < t->source_width; i++)
		putc('-', t->out);
	fputs(t->source_width ? "  " : "", t->out);
	fputs(t->flops.scale > 0 ? "------------  \n" : "\n", t->out);
}

static void put_heads(const struct table *t)
{
	static const struct {
		const char *head;
		unsigned group; /* 0 = always; 1, 2, 3 = device, memory, its memory */
	} heads[] = {
		{ "Self CPU %", 0 },    { "Self CPU", 0 },     { "CPU total %", 0 },
		{ "CPU total", 0 },     { "CPU time avg", 0 }, { "Self CUDA", 1 },
		{ "Self CUDA %", 1 },   { "CUDA total", 1 },   { "CUDA time avg", 1 },
		{ "CPU Mem", 2 },       { "Self CPU Mem", 2 }, { "CUDA Mem", 3 },
		{ "Self CUDA Mem", 3 }, { "# of Calls", 0 },
	};
	const bool shown[] = { true, t->device, t->memory, t->device_memory };

	fprintf(t->out, "%*s  ", (int)t->name_width, "Name");
	for (size_t i = 0; i < sizeof(heads) / sizeof(*heads); i++)
		if (shown[heads[i].group])
			fprintf(t->out, "%*s  ", COLUMN, heads[i].head);
	if (t->shapes)
		fprintf(t->out, "%*s  ", (int)t->shapes_width, "Input Shapes");
	if (t->source_width)
		torch_source_first(t->out, "Source Location", t->source_width, 0);
	if (t->flops.scale > 0)
		fprintf(t->out, "%*s  ", COLUMN, t->flops.head);
	putc('\n', t->out);
}

static void put_name(struct table *t, const char *name)
{
	if (t->name_most && text_length(name) >= t->name_most - 3) {
		put_text(t, name, t->name_most - 3, t->name_width - 3);
		fputs("...  ", t->out);
	} else {
		put_text(t, name, SIZE_MAX, t->name_width);
		fputs("  ", t->out);
	}
}

static void put_row(struct table *t, const struct operator_figures *r)
{
	put_name(t, texts_get(&t->m->texts, r->name));
	put_share(t, r->torch.self_cpu, t->self_cpu);
	put_time(t, r->torch.self_cpu);
	put_share(t, r->torch.cpu, t->self_cpu);
	put_time(t, r->torch.cpu);
	put_time(t, r->torch.cpu / (double)r->count);
	if (t->device) {
		put_time(t, r->torch.self_device);
		put_share(t, r->torch.self_device, t->self_device);
		put_time(t, r->torch.device);
		put_time(t, r->torch.device / (double)r->count);
	}
	if (t->memory) {
		put_memory(t, r->cpu_memory);
		put_memory(t, r->self_cpu_memory);
	}
	if (t->device_memory) {
		put_memory(t, r->device_memory);
		put_memory(t, r->self_device_memory);
	}
	snprintf(t->cell, CELL, "%" PRIu64, r->count);
	put_cell(t);
	if (t->shapes) {
		put_text(t, shapes_text(t, r), t->shapes_width, t->shapes_width);
		fputs("  ", t->out);
	}
	if (t->flops.scale > 0)
		torch_flops_put(t->out, &t->flops, r->torch_flops,
				t->source_width ? -(int)t->source_width : COLUMN);
	if (t->source_width)
		torch_source_first(t->out, source_text(t, r), t->source_width,
				   source_right(t));
	putc('\n', t->out);
	if (t->source_width)
		torch_source_rest(t->out, source_text(t, r), row_columns(t),
				  t->source_width, source_right(t));
}

/* ---- the table ---- */

/* Does the model show that a GPU was recorded? Without one torch has no columns for it,
 * whatever memory a device had. */
static bool has_device(const struct model *m)
{
	for (size_t i = 0; i < m->slices_n; i++)
		if (m->slices[i].kind == SLICE_CALL || m->slices[i].kind == SLICE_DEVICE)
			return true;
	return false;
}

static void measure_table(struct table *t, const struct torch_table_options *options)
{
	bool device = false;

	for (size_t i = 0; i < t->n; i++) {
		const struct operator_figures *r = t->row[i];
		const char *shapes = shapes_text(t, r);
		size_t name = text_length(texts_get(&t->m->texts, r->name));

		t->name_width = name > t->name_width ? name : t->name_width;
		t->shapes |= *shapes && strcmp(shapes, "[]");
		name = text_length(shapes);
		t->shapes_width = name > t->shapes_width ? name : t->shapes_width;
		name = torch_source_columns(source_text(t, r));
		t->source_width = name > t->source_width ? name : t->source_width;
		t->device |= r->torch.self_device > 0;
		device |= r->self_device_memory > 0;
		t->self_cpu += r->torch.self_cpu;
		if (r->kind == SLICE_DEVICE)
			t->self_device += r->torch.self_device;
	}
	if (t->source_width && t->source_width < SOURCE_MOST)
		t->source_width += 4;
	if (t->source_width > SOURCE_MOST)
		t->source_width = SOURCE_MOST;
	t->name_width += 4;
	t->shapes_width += 4;
	if (options->name_width && t->name_width > options->name_width)
		t->name_width = options->name_width;
	if (options->shapes_width && t->shapes_width > options->shapes_width)
		t->shapes_width = options->shapes_width;
	t->memory = t->m->says_memory;
	t->device_memory = t->memory && device && has_device(t->m);
}

bool torch_table_print(FILE *out, const struct model *m, const struct operators *o,
		       const struct torch_table_options *options)
{
	const struct sort_key *key = options->sort_by ? find_key(options->sort_by) : NULL;
	struct table t = {
		.out = out, .m = m, .n = o->n, .name_most = options->name_width
	};

	t.row = malloc((o->n + 1) * sizeof(*t.row));
	if (!t.row || (options->sort_by && !key)) {
		free(t.row);
		return false;
	}
	for (size_t i = 0; i < o->n; i++)
		t.row[i] = &o->row[i];
	if (o->n)
		qsort_r(t.row, o->n, sizeof(*t.row), by_key, (void *)key);
	measure_table(&t, options);
	t.flops = torch_flops_column(m, o);
	if (o->n) {
		put_rule(&t);
		put_heads(&t);
		put_rule(&t);
		for (size_t i = 0; i < o->n && (int64_t)i != options->row_limit; i++)
			put_row(&t, t.row[i]);
		put_rule(&t);
		format_time(&t, t.self_cpu);
		fprintf(out, "Self CPU time total: %s\n", t.cell);
	}
	if (o->n && t.device) {
		format_time(&t, t.self_device);
		fprintf(out, "Self CUDA time total: %s\n", t.cell);
	}
	free(t.row);
	return !t.full;
}
