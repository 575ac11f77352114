/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hostile ELF files, trace files and answers: what `proflaunch symbolize` and `recover`
 * read. A heap that was JSON is JSON afterwards.
 *
 * fuzz_symbols SECONDS SEED ELF-FILE
 */
#include "launcher/refill_frames.c"
#include "launcher/refill_heap.c"
#include "launcher/span.c"
#include "launcher/symbol_file.c"
#include "launcher/symbol_table.c"
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

static uint64_t filled;

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
		for (int i = 0; i < 20; i++)
			fill_heap();
		read_elf(fd, whole, size);
	}
	printf("%llu filled in\n", (unsigned long long)filled);
	fuzz_require(filled || argc < 2);
	return 0;
}
