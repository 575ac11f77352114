/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of a hostile file may be anything: none is below 0 here. */
#include "report/interpreter.h"

void interpreter_take_fact(struct interpreter *i, struct texts *texts, struct parse *p)
{
	if (!parse_value(p, TOKEN_OBJECT))
		return;
	while (parse_next(p) == TOKEN_KEY)
		if (!parse_is(p, "version"))
			parse_skip(p, TOKEN_KEY);
		else if (parse_value(p, TOKEN_STRING))
			i->version = texts_add(texts, p->text, p->len);
}

static uint64_t count_value(struct parse *p)
{
	return parse_value(p, TOKEN_NUMBER) ? number_u64(p) : 0;
}

/* null: they were asked for, and no call was seen. */
void interpreter_take_calls(struct interpreter *i, struct parse *p)
{
	i->asked = true;
	if (!parse_value(p, TOKEN_OBJECT))
		return;
	i->seen = true;
	while (parse_next(p) == TOKEN_KEY) {
		if (parse_is(p, "late_us"))
			i->late_us = (int64_t)(count_value(p) & INT64_MAX);
		else if (parse_is(p, "too deep"))
			i->deep = count_value(p);
		else if (parse_is(p, "threads of another tool"))
			i->away = count_value(p);
		else
			parse_skip(p, TOKEN_KEY);
	}
}
