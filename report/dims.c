/* SPDX-License-Identifier: Apache-2.0 */
/* Reads lists in lists token by token: once for the text and for the first one's product.
 */
#include "report/dims.h"

#include <string.h>

static void add_text(struct dims *d, const char *text, size_t len)
{
	static const char dots[] = "...";

	if (d->cut)
		return;
	if (d->len + len + sizeof(dots) > sizeof(d->text)) {
		d->cut = true;
		text = dots;
		len = sizeof(dots) - 1;
	}
	memcpy(d->text + d->len, text, len);
	d->len += len;
	d->text[d->len] = '\0';
}

/* Multiplies the product of a dimension into *n; what is no dimension leaves none. */
static void multiply_side(int64_t *n, const struct parse *p, enum token token)
{
	int64_t side = token == TOKEN_NUMBER ? number_i64(p) : -1;

	if (side < 0 || *n < 0 || __builtin_mul_overflow(*n, side, n))
		*n = -1;
}

static void add_scalar(struct dims *d, struct parse *p, enum token token)
{
	if (token == TOKEN_STRING) {
		add_text(d, "'", 1);
		add_text(d, p->text, p->len);
		add_text(d, "'", 1);
	} else if (token == TOKEN_NUMBER) {
		add_text(d, p->text, p->len);
	} else {
		add_text(d, "None", 4);
	}
	parse_skip(p, token);
}

/* Adds a list whose first token was taken. `product` (or NULL) gets that of its numbers.
 */
static void add_list(struct dims *d, struct parse *p, unsigned depth, int64_t *product)
{
	enum token token;
	bool is_first = true;

	add_text(d, "[", 1);
	for (; parse_element(p, &token); is_first = false) {
		bool inner = token == TOKEN_ARRAY;

		if (!is_first)
			add_text(d, ", ", 2);
		if (product)
			multiply_side(product, p, token);
		if (inner && depth < DIMS_DEEPEST) {
			if (!depth && is_first)
				d->first = 1;
			add_list(d, p, depth + 1, !depth && is_first ? &d->first : NULL);
		} else if (inner) {
			add_text(d, "...", 3);
			parse_skip(p, token);
		} else {
			add_scalar(d, p, token);
		}
	}
	add_text(d, "]", 1);
}

void dims_read(struct dims *d, struct parse *p)
{
	*d->text = '\0';
	d->len = 0;
	d->cut = false;
	d->first = -1;
	if (parse_value(p, TOKEN_ARRAY))
		add_list(d, p, 0, NULL);
}
