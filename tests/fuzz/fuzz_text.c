/* SPDX-License-Identifier: Apache-2.0 */
/* Hostile text: configuration lines, plans, markers, globs, names for JSON. */
#include "agent/sched/marker.h"
#include "agent/sched/schedule.h"
#include "config/config.h"
#include "tests/fuzz/fuzz.h"
#include "writer/json.h"

static const char *const seeds[] = {
	"logdir = ./log",
	"schedule = \"skip_first=10,wait=5,warmup=1,active=3,repeat=2\"",
	"marker = torch:Optimizer.step*@begin",
	"buffer_mb = 256   # a comment",
	"metadata.note = say \"hi\" \\ \x01",
	"skip_first=10,wait=5,warmup=1,active=3,repeat=2,skip_first_wait=0",
	"active=18446744073709551615,repeat=-1",
	"torch:[a-z!*?\\]x[^",
	"symbol:lib[c.so!name",
	"time:0.5",
	"a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xff\xc0\x80\xed\xa0\x80",
	"{\"a\": [1, -2.5e+3, true, null, \"\\u00e9\\n\"], \"b\": {}}",
};

struct sink {
	char text[16384];
	size_t len;
};

static int collect(void *arg, const char *text, size_t len)
{
	struct sink *s = arg;

	fuzz_require(s->len + len <= sizeof(s->text));
	memcpy(s->text + s->len, text, len);
	s->len += len;
	return 0;
}

/* Whatever the bytes, what comes out is one valid JSON string. */
static void name_to_json(const char *text, size_t len)
{
	static struct sink sink;
	static char buf[2 * JSON_ROOM];
	struct json json;

	sink.len = 0;
	json_init(&json, buf, sizeof(buf), collect, &sink);
	json_string(&json, text, len);
	json_flush(&json);
	fuzz_require(json_valid(sink.text, sink.len));
}

static void configuration(char *line)
{
	static struct config config;
	static char text[65536];

	config_defaults(&config);
	config_line(&config, line);
	fuzz_require(config_print(&config, text, sizeof(text)) < sizeof(text));
}

static void plan_and_marker(const char *text)
{
	struct schedule plan;
	static struct marker marker;

	if (!schedule_parse(&plan, text))
		for (unsigned i = 0; i < 100; i++)
			schedule_at(&plan, fuzz_random() >> fuzz_below(64));
	if (!marker_parse(&marker, text))
		marker_matches(&marker, text, strlen(text));
}

int main(int argc, char **argv)
{
	while (fuzz_goes_on(argc, argv)) {
		const char *seed = seeds[fuzz_below(sizeof(seeds) / sizeof(*seeds))];
		char text[256] = "";
		size_t len = strlen(seed), glob;

		memcpy(text, seed, len);
		fuzz_mutate((uint8_t *)text, len, (unsigned)fuzz_below(6));
		name_to_json(text, len);
		json_valid(text, len);
		glob = fuzz_below(len);
		marker_glob(text, glob, text + glob, len - glob);
		plan_and_marker(text);
		configuration(text);
	}
	return 0;
}
