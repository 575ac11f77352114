/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hostile ELF files, trace files and answers: what `proflaunch symbolize` and `recover`
 * read. A heap that was JSON is JSON afterwards.
 *
 * fuzz_symbols SECONDS SEED ELF-FILE
 */
#include "launcher/recover/refill_events.c"
#include "launcher/recover/refill_find.c"
#include "launcher/recover/refill_frames.c"
#include "launcher/recover/refill_heap.c"
#include "launcher/recover/span.c"
#include "launcher/symbols/file.c"
#include "launcher/symbols/table.c"
#include "tests/fuzz/fuzz.h"

#include <sys/mman.h>

static const char heap[] =
	"{\"mode\": \"all\", \"symbols\": false,\n\"modules\": [{\"path\": \"/a/lib\\u00e9.so\", "
	"\"build_id\": \"00ff\"},\n{\"path\": \"/b\", \"build_id\": \"\"}],\n\"frames\": [\"?? "
	"(a+0x1)\",\n\"f (x.c:1)\",\n\"?? (b+0x2)\",\n\"?? (b+0x3)\"],\n\"raw\": [[0, 0, 1], [2, 1, "
	"2], [3, 1, 3]],\n\"stacks\": [[0, 1, 2],\n[3],\n[]], \"sites\": [{\"stack\": 0}]}";
static const char answer[] = "g (y.c:1)\0h (y.c:2)\0\0\0f (x.c:1)\0";

/* Instead of a process: some answer, in pieces. */
int ask(const char *question, size_t len, int64_t ns,
	int (*give)(void *arg, const char *text, size_t len), void *arg)
{
	char text[sizeof(answer)];
	size_t n = fuzz_below(4) ? sizeof(text) : fuzz_below(sizeof(text));

	(void)ns;
	fuzz_require(len && !question[len - 1]);
	memcpy(text, answer, sizeof(text));
	fuzz_mutate((uint8_t *)text, n, (unsigned)fuzz_below(3));
	for (size_t at = 0, piece; at < n; at += piece) {
		piece = 1 + fuzz_below(n - at);
		if (give(arg, text + at, piece))
			return -1;
	}
	return 0;
}

static uint64_t filled, named;

static void fill_heap(void)
{
	char text[sizeof(heap)], *exact, *result;
	size_t len = sizeof(heap) - 1, n;

	memcpy(text, heap, len);
	fuzz_mutate((uint8_t *)text, len, (unsigned)fuzz_below(6));
	if (!fuzz_below(8))
		len = fuzz_below(len);
	exact = malloc(len); /* so that a byte too far is seen */
	memcpy(exact, text, len);
	result = refill_heap(exact, len, &n);
	filled += result != NULL;
	if (result && json_valid(exact, len))
		fuzz_require(json_valid(result, n));
	free(result);
	free(exact);
}

/* ---- where it lies in a file ---- */

static uint64_t found;

static void find_heap(void)
{
	static const char file[] = "{\"a\": [\"\\\"\", {}],\n\"proflaunch\": {\"b\": 1e3,"
				   "\"heap\": {\"mode\": \"all\"}}, \"traceEvents\": []}";
	size_t len = fuzz_below(sizeof(file));
	char *exact = malloc(len);
	struct span heap;

	memcpy(exact, file, len);
	fuzz_mutate((uint8_t *)exact, len, (unsigned)fuzz_below(6));
	if (refill_find((struct span){ exact, exact + len }, &heap) == REFILL_HEAP) {
		found++;
		fuzz_require(exact < heap.at && heap.at <= heap.end &&
			     heap.end <= exact + len);
	}
	free(exact);
}

/* ---- what names a call site in the events ---- */

static const char events[] =
	"{\"ph\":\"X\",\"name\":\"a\"},\n{\"ph\":\"i\",\"cat\":\"heap\",\"s\":\"t\",\"args\":{\"bytes\":1,"
	"\"stack\":0,\"site\":\"?? (a+0x1)\",\"op\":null}},\n{\"ph\":\"i\",\"cat\":\"heap\",\"args\":{"
	"\"stack\":2,\"site\":null}},\n{\"ph\":\"i\",\"cat\":\"heap\",\"args\":{\"stack\":1,\"site\":\"\"}}\n";

struct sink {
	char text[16 * sizeof(events)];
	size_t n;
};

static void sink(void *arg, const char *text, size_t len)
{
	struct sink *s = arg;

	fuzz_require(s->n + len <= sizeof(s->text));
	memcpy(s->text + s->n, text, len);
	s->n += len;
}

/* In pieces of any size it is what it is in one. */
static void pass_events(const char *in, size_t len, struct span object, bool pieces,
			struct sink *out)
{
	static struct refill_events e;

	out->n = 0;
	e = (struct refill_events){ .put = sink, .arg = out };
	if (refill_events_open(&e, object)) {
		for (size_t at = 0, n; at < len; at += n) {
			n = pieces ? 1 + fuzz_below(len - at) : len;
			if (pieces && fuzz_below(2) && refill_events_pass(&e, in + at, n))
				sink(out, in + at, n);
			else
				refill_events_text(&e, in + at, n);
		}
		refill_events_last(&e);
	}
	refill_events_close(&e);
}

static void name_sites(void)
{
	size_t len = sizeof(events) - 1;
	char *in = malloc(len), object[sizeof(heap)];
	struct span span = { object, object + sizeof(heap) - 1 };
	static struct sink whole, parts;

	memcpy(in, events, len);
	memcpy(object, heap, sizeof(heap));
	fuzz_mutate((uint8_t *)in, len, (unsigned)fuzz_below(4));
	fuzz_mutate((uint8_t *)object, sizeof(heap) - 1, (unsigned)fuzz_below(4));
	pass_events(in, len, span, false, &whole);
	pass_events(in, len, span, true, &parts);
	fuzz_require(whole.n == parts.n && !memcmp(whole.text, parts.text, whole.n));
	named += whole.n && (whole.n != len || memcmp(whole.text, in, len));
	free(in);
}

static void read_elf(int fd, const uint8_t *whole, size_t size)
{
	uint8_t *bytes = malloc(size), id[SYMBOL_ID];
	struct symbol_table t = { 0 };
	struct symbol_file f;
	char path[64];

	memcpy(bytes, whole, size);
	/* Its head and its tables, which tell where the rest is. */
	fuzz_mutate(bytes, size < 1024 ? size : 1024, (unsigned)fuzz_below(4));
	fuzz_mutate(bytes + size - size / 8, size / 8, (unsigned)fuzz_below(20));
	fuzz_mutate(bytes, size, (unsigned)fuzz_below(50));
	fuzz_require(pwrite(fd, bytes, size, 0) == (ssize_t)size);
	fuzz_require(!ftruncate(fd, (off_t)(fuzz_below(4) ? size : fuzz_below(size))));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (symbol_file_open(&f, path)) {
		fuzz_require(symbol_file_id(&f, id) <= SYMBOL_ID);
		symbol_file_defines(&f, "malloc");
		symbol_file_read(&f, &t);
		for (int i = 0; i < 100; i++) {
			const char *name = symbol_find(&t, fuzz_below(2 * size));

			fuzz_require(!name || strlen(name) < size);
		}
		symbol_file_close(&f);
	}
	free(t.at);
	free(bytes);
}

int main(int argc, char **argv)
{
	FILE *in = argc > 3 ? fopen(argv[3], "rb") : NULL;
	static uint8_t whole[1 << 20];
	int fd = memfd_create("elf", 0);
	size_t size;

	fuzz_require(in && fd >= 0);
	size = fread(whole, 1, sizeof(whole), in);
	fclose(in);
	fuzz_require(size > 8192);
	while (fuzz_goes_on(argc, argv)) {
		for (int i = 0; i < 20; i++) {
			fill_heap();
			find_heap();
			name_sites();
		}
		read_elf(fd, whole, size);
	}
	printf("%llu filled in, %llu found, %llu named\n", (unsigned long long)filled,
	       (unsigned long long)found, (unsigned long long)named);
	fuzz_require((filled && found && named) || argc < 2);
	return 0;
}
