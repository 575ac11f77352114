/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hostile spool: what a killed program left, with some bytes changed, is finished as
 * `recover` does it. Whatever comes of it must be valid JSON.
 *
 * fuzz_spool SECONDS SEED SPOOL; the spool's configuration is left alone, for it says
 * where files go.
 */
#include "agent/core/spool.h"
#include "tests/fuzz/fuzz.h"
#include "writer/json.h"
#include "writer/writer.h"

#include <unistd.h>

static uint64_t files;

static char *slurp(const char *path, size_t *len)
{
	FILE *f = fopen(path, "rb");
	char *text;

	fuzz_require(f);
	fseek(f, 0, SEEK_END);
	*len = (size_t)ftell(f);
	rewind(f);
	text = malloc(*len + 1);
	fuzz_require(fread(text, 1, *len, f) == *len);
	fclose(f);
	return text;
}

static void finished(const struct writer_result *r, void *arg)
{
	size_t len;
	char *text;

	(void)arg;
	if (!r->path[0])
		return;
	text = slurp(r->path, &len);
	fuzz_require(json_valid(text, len));
	free(text);
	unlink(r->path);
	files++;
}

/* The header is hit as often as the rest, though it is small. */
static void damage(uint8_t *bytes, size_t len)
{
	size_t keep = offsetof(struct spool_header, config);
	size_t end = keep + sizeof(((struct spool_header *)0)->config);
	unsigned times = (unsigned)fuzz_below(20);

	if (fuzz_below(2))
		fuzz_mutate(bytes, keep, times);
	if (len > end)
		fuzz_mutate(bytes + end, len - end, times);
}

int main(int argc, char **argv)
{
	size_t len;
	uint8_t *good, *bad;

	fuzz_require(argc > 3);
	good = (uint8_t *)slurp(argv[3], &len);
	bad = malloc(len);
	while (fuzz_goes_on(argc, argv)) {
		struct spool_view view;
		size_t part = fuzz_below(10) ? len : fuzz_below(len);

		memcpy(bad, good, len);
		damage(bad, part);
		if (!spool_view_init(&view, bad, part))
			writer_recover(&view, finished, NULL);
	}
	printf("%llu files\n", (unsigned long long)files);
	free(good);
	free(bad);
	return 0;
}
