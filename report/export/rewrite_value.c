/* SPDX-License-Identifier: Apache-2.0 */
/* Values go level by level: the parser bounds how many there are. */
#include "report/export/rewrite_value.h"

/* A zero before other digits is no number of JSON. */
static void put_number(struct json_piece *t, const struct parse *p)
{
	const char *at = p->text, *end = p->text + p->len;

	if (*at == '-') {
		json_piece_literal(t, "-");
		at++;
	}
	while (end - at > 1 && at[0] == '0' && at[1] >= '0' && at[1] <= '9')
		at++;
	json_piece_add(t, at, (size_t)(end - at));
}

/* What stands for no number, such as NaN, is null to every reader. */
static void put_scalar(struct json_piece *t, const struct parse *p, enum token token)
{
	if (token == TOKEN_STRING)
		json_piece_string(t, p->text, p->len);
	else if (token == TOKEN_NUMBER)
		put_number(t, p);
	else if (token == TOKEN_TRUE)
		json_piece_literal(t, "true");
	else if (token == TOKEN_FALSE)
		json_piece_literal(t, "false");
	else
		json_piece_literal(t, "null");
}

/* HTA looks for the rank with a blank before it. */
static void put_comma(struct json_piece *t)
{
	json_piece_add(t, ", ", t->wide ? 2 : 1);
}

/* Members of the file have a blank behind the colon; events, which are many, have
 * none. */
void rewrite_key(struct json_piece *t, const struct parse *p, bool first)
{
	if (!first)
		put_comma(t);
	json_piece_string(t, p->text, p->len);
	json_piece_add(t, ": ", t->wide ? 2 : 1);
}

void rewrite_value(struct json_piece *t, struct parse *p, enum token token)
{
	bool first = true;

	if (token == TOKEN_ARRAY) {
		json_piece_literal(t, "[");
		for (; parse_element(p, &token); first = false) {
			if (!first)
				put_comma(t);
			rewrite_value(t, p, token);
		}
		json_piece_literal(t, "]");
	} else if (token == TOKEN_OBJECT) {
		json_piece_literal(t, "{");
		for (; parse_next(p) == TOKEN_KEY; first = false) {
			rewrite_key(t, p, first);
			rewrite_value(t, p, parse_next(p));
		}
		json_piece_literal(t, "}");
	} else {
		put_scalar(t, p, token);
	}
}
