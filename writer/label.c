/* SPDX-License-Identifier: Apache-2.0 */
/* Metadata events: how readers name and sort the rows of a file. */
#include "writer/trace.h"

void label_open(struct trace *t, const char *name)
{
	json_lit(&t->json, "{\"ph\":\"M\",\"name\":\"");
	json_text(&t->json, name);
	slice_text_ts(t, "\",\"ts\":", t->row.begin_ns);
	json_lit(&t->json, ",\"pid\":");
}

void label_arg(struct trace *t, const char *arg)
{
	json_lit(&t->json, ",\"args\":{\"");
	json_text(&t->json, arg);
	json_lit(&t->json, "\":");
}

void label_row(struct trace *t, const char *name, uint32_t tid, const char *arg)
{
	struct json *j = &t->json;

	label_open(t, name);
	json_unsigned(j, t->pid);
	json_text_unsigned(j, ",\"tid\":", tid);
	label_arg(t, arg);
}

void label_thread(struct trace *t, uint32_t tid, const char *name, size_t len)
{
	struct json *j = &t->json;

	label_row(t, "thread_name", tid, "name");
	json_text_unsigned(j, "\"thread ", tid);
	json_lit(j, " (");
	json_escaped(j, name, len);
	json_lit(j, ")\"}},\n");
	label_row(t, "thread_sort_index", tid, "sort_index");
	json_unsigned(j, tid);
	json_lit(j, "}},\n");
}
