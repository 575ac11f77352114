/* SPDX-License-Identifier: Apache-2.0 */
/* A thread's slice as text: its head, which is the same for all slices of a name, and its
 * times. */
#include "agent/core/names.h"
#include "writer/collective.h"
#include "writer/trace.h"

/* Times in a file count from the job's base, which all of its ranks share: HTA
 * subtracts the smallest "ts" and never looks at "baseTimeNanoseconds". */
uint64_t slice_ts(const struct trace *t, int64_t ns)
{
	int64_t ts;

	if (__builtin_sub_overflow(ns, t->base_ns, &ts) || ts < 0)
		return 0;
	return (uint64_t)ts;
}

void slice_text_ts(struct trace *t, const char *text, int64_t ns)
{
	struct json *j = &t->json;

	json_text(j, text);
	json_need(j);
	j->at = json_put_us(j->at, slice_ts(t, ns));
}

/* ---- names and categories ---- */

/* Is it a name that plugin 0.4.3 only knows as an operator's? */
static bool is_operator_in_tb043(const struct name *n)
{
	static const char *const prefixes[] = { "enumerate(Data",
						"Optimizer.",
						"nccl:",
						"gloo:",
						"DistributedDataParallel.forward",
						"DataParallel.forward" };

	for (size_t i = 0; n && i < sizeof(prefixes) / sizeof(*prefixes); i++)
		if (name_starts_with(n, prefixes[i]))
			return true;
	return false;
}

/* In the dialect tb043 categories are the ones that plugin 0.4.3 knows; see
 * docs/trace.md. */
static const char *choose_slice_category(const struct trace *t, const struct name *n,
					 unsigned kind)
{
	bool old = t->config->dialect == DIALECT_TB043;

	if (kind == REC_CALL || kind == TRACE_DRIVER_CALL)
		return old                ? "Runtime"
		       : kind == REC_CALL ? "cuda_runtime"
					  : "cuda_driver";
	if (kind == REC_OP || (old && is_operator_in_tb043(n)))
		return "cpu_op";
	return "user_annotation";
}

void slice_unkept_head(const struct trace *t, struct json *j, const struct name *n,
		       unsigned kind)
{
	const char *cat = choose_slice_category(t, n, kind);

	json_lit(j, "{\"ph\":\"X\",\"cat\":\"");
	json_text(j, cat);
	json_lit(j, "\",\"name\":\"");
	if (n)
		json_escaped(j, n->text, n->len);
	else
		json_lit(j, "unknown");
	json_text_unsigned(j, "\",\"pid\":", t->pid);
	json_lit(j, ",\"tid\":");
}

void slice_overload(struct json *j, const struct name *n)
{
	if (!n || !n->extra_len)
		return;
	json_lit(j, "\"Overload\":");
	json_string(j, n->text + n->len + 1, n->extra_len);
	json_lit(j, ",");
}

/* The texts around the numbers are the same for all events of a name, so they are kept.
 * NULL: they are too long. */
const struct name_slot *slice_slot(struct trace *t, uint32_t id, unsigned kind)
{
	struct name_slot *s = &t->names[(id ^ id >> 10) & (NAME_SLOTS - 1)];
	const struct name *n;
	char text[4 * JSON_ROOM];
	struct json j;
	size_t head, len;

	if (s->kind == kind && s->name == id)
		return s;
	/* A byte becomes six at worst when it is escaped, so this cannot fill the
	 * buffer. */
	n = names_get(t->view, id);
	if (n && (size_t)n->len + n->extra_len > NAME_TEXT)
		return NULL;
	json_init(&j, text, sizeof(text), NULL, NULL);
	slice_unkept_head(t, &j, n, kind);
	head = (size_t)(j.at - text);
	slice_overload(&j, n);
	len = (size_t)(j.at - text);
	if (len > NAME_TEXT)
		return NULL;
	s->name = id;
	s->kind = kind;
	s->head_len = (uint16_t)head;
	s->tail_len = (uint16_t)(len - head);
	s->collective = collective_named(n);
	memcpy(s->text, text, len);
	return s;
}

void slice_head(struct trace *t, uint32_t name, unsigned kind)
{
	const struct name_slot *s = slice_slot(t, name, kind);

	if (s)
		json_raw(&t->json, s->text, s->head_len);
	else
		slice_unkept_head(t, &t->json, names_get(t->view, name), kind);
}

void slice_times(struct trace *t, int64_t begin, int64_t end)
{
	struct json *j = &t->json;
	uint64_t ts = slice_ts(t, begin);

	json_need(j);
	memcpy(j->at, ",\"ts\":", 6);
	j->at = json_put_us(j->at + 6, ts);
	memcpy(j->at, ",\"dur\":", 7);
	j->at = json_put_us(j->at + 7, slice_ts(t, end) - ts);
}
