/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments of a collective in the members that Kineto writes for record_param_comms,
 * and for the kernels under it. */
#include "writer/collective.h"
#include "agent/core/names.h"
#include "agent/core/record_cuda.h"
#include "agent/core/record_stack.h"
#include "base/fmt.h"
#include "writer/scalar.h"

#define LOOK_AHEAD 4096 /* records inside the operator */
#define ITEMS      16 /* arguments kept: the first and the last ones */

bool collective_named(const struct name *n)
{
	static const char name[] = "record_param_comms";

	return n && n->len == sizeof(name) - 1 && !memcmp(n->text, name, n->len);
}

/* ---- names ---- */

/* NCCL's function, torch's word, and how many times the call's count go in and out: 0 =
 * once for each rank. */
static const struct {
	const char *nccl, *torch;
	int8_t in, out;
} functions[] = {
	{ "AllReduce", "allreduce", 1, 1 },
	{ "Broadcast", "broadcast", 1, 1 },
	{ "Bcast", "broadcast", 1, 1 },
	{ "Reduce", "reduce", 1, 1 },
	{ "AllGather", "_allgather_base", 1, 0 },
	{ "ReduceScatter", "_reduce_scatter_base", 0, 1 },
	{ "AlltoAll", "all_to_all", 0, 0 },
	{ "Gather", "gather", 1, 0 },
	{ "Scatter", "scatter", 0, 1 },
	{ "Send", "send", 1, 1 },
	{ "Recv", "recv", 1, 1 },
};
#define FUNCTIONS (sizeof(functions) / sizeof(*functions))

static size_t function_of(const struct name *n)
{
	for (size_t i = 0; n && n->len > 4 && i < FUNCTIONS; i++) {
		const char *text = functions[i].nccl;

		if (!memcmp(n->text, "nccl", 4) && n->len == 4 + strlen(text) &&
		    !memcmp(n->text + 4, text, n->len - 4))
			return i;
	}
	return FUNCTIONS;
}

/* As ncclDataType_t counts them. */
static const char *const nccl_types[] = { "Char",     "Byte",          "Int",
					  "UInt32",   "Long",          "UInt64",
					  "Half",     "Float",         "Double",
					  "BFloat16", "Float8_e4m3fn", "Float8_e5m2" };
static void set_text(char *to, size_t size, const char *text)
{
	if (!*to)
		fmt(to, size, "%s", text);
}

/* ---- NCCL's arguments ---- */

/* Returns -1 where the product is no count. */
static int64_t product_of(uint64_t count, int64_t by)
{
	int64_t n;

	if (by < 0 || count > INT64_MAX || __builtin_mul_overflow((int64_t)count, by, &n))
		return -1;
	return n;
}

/* The sum is known (0 or more) as soon as one of its parts is. */
static void add_known(int64_t *sum, int64_t n)
{
	int64_t all;

	if (n < 0)
		return;
	*sum = __builtin_add_overflow(*sum < 0 ? 0 : *sum, n, &all) ? -1 : all;
}

/* Several NCCL calls in one operator are parts of one collective; sends and receives
 * together are an exchange. */
static void add_call(struct collective *c, const struct spool_view *v,
		     const struct rec_collective *r)
{
	const struct name *n = names_get(v, r->r.name);
	size_t f = function_of(n);
	bool send, receive;

	if (f == FUNCTIONS)
		return;
	send = !strcmp(functions[f].torch, "send");
	receive = !strcmp(functions[f].torch, "recv");
	if (c->name[0] && (send || receive) && strcmp(c->name, functions[f].torch)) {
		fmt(c->name, sizeof(c->name), "all_to_allv");
		c->source = c->destination = -1;
	}
	if (!c->name[0]) {
		set_text(c->name, sizeof(c->name), functions[f].torch);
		c->source = receive ? r->peer : -1;
		c->destination = send ? r->peer : -1;
	}
	if (r->type >= 0 && (size_t)r->type < sizeof(nccl_types) / sizeof(*nccl_types))
		set_text(c->type, sizeof(c->type), nccl_types[r->type]);
	if (!receive)
		add_known(&c->in, product_of(r->count, functions[f].in ? 1 : r->size));
	if (!send)
		add_known(&c->out, product_of(r->count, functions[f].out ? 1 : r->size));
	c->size = r->size >= 0 ? r->size : c->size;
	c->rank = r->rank >= 0 ? r->rank : c->rank;
	c->comm = r->comm ? r->comm : c->comm;
}

/* Reads the NCCL calls made while the operator ran; false: there were none. */
static bool from_calls(struct collective *c, const struct cursor *cursor,
		       const struct rec_op *op)
{
	const struct cycle_read *cycle = cursor->cycle;
	uint64_t end = read_end(cycle, &op->r), offset;
	struct cursor ahead = *cursor;
	const struct record *r;
	bool found = false;

	for (int i = 0; i < LOOK_AHEAD && (r = read_next(&ahead, &offset)); i++) {
		if (r->begin >= end)
			break;
		if (r->kind != REC_COLLECTIVE)
			continue;
		add_call(c, cycle->view, (const struct rec_collective *)r);
		found = true;
	}
	/* A send or a receive goes one way: torch gives both sides the same number. */
	if (c->in < 0)
		c->in = c->out;
	if (c->out < 0)
		c->out = c->in;
	return found;
}

/* ---- torch's inputs ---- */

struct item {
	unsigned tag;
	int64_t number;
	const uint8_t *at; /* behind the tag */
};

/* Counts the elements of an item's tensors; *type becomes the type of the first. */
static int64_t count_elements(struct scalar_walk *w, unsigned tag, int *type)
{
	int64_t all = 1, n = 0, ndim;
	unsigned inner;

	if (tag == IN_TENSORS) {
		while (!w->bad && (inner = scalar_byte(w)) != IN_END)
			add_known(&n, count_elements(w, inner, type));
		return n;
	}
	if (tag != IN_TENSOR && tag != IN_SPARSE)
		return 0;
	*type = (int)scalar_byte(w);
	ndim = scalar_number(w);
	for (int64_t i = 0; i < ndim && !w->bad; i++)
		if (__builtin_mul_overflow(all, scalar_number(w), &all))
			all = 0;
	for (int64_t i = 0; i < ndim && tag == IN_TENSOR && !w->bad; i++)
		scalar_number(w);
	return all;
}

/* Reads one argument. The text of its value goes nowhere: the value is only passed
 * over. */
static void read_item(struct scalar_walk *w, unsigned tag, struct item *item)
{
	char none[JSON_DIGITS + 1];
	struct text t = { none, none };
	int type;

	*item = (struct item){ tag, 0, w->at };
	if (tag == IN_INT)
		item->number = scalar_number(w);
	else if (tag == IN_TENSOR || tag == IN_SPARSE || tag == IN_TENSORS)
		item->number = count_elements(w, tag, &type);
	else if (tag == IN_SCALARS)
		scalar_put_list(&t, w);
	else
		scalar_put_value(&t, w, tag);
}

/* A list that does not fit is left out whole: half a list would say something else. */
static void put_split(char *to, size_t size, const struct item *item, const uint8_t *end)
{
	struct scalar_walk w = { item->at, end, false };
	struct text t = { to, to + size - 1 };

	scalar_put_list(&t, &w);
	*(t.at < t.end && !w.bad ? t.at : to) = '\0';
}

static void set_number(int64_t *to, int64_t n)
{
	if (*to < 0)
		*to = n;
}

/* The arguments from the end, as newer torches put more in front: [asynchronous,] world
 * size, stride, start, out split, in split, name, rank, ... */
static void from_end(struct collective *c, const struct item *last, size_t n,
		     const uint8_t *end)
{
	if (n && (last->tag == IN_TRUE || last->tag == IN_FALSE)) {
		c->async = last->tag == IN_TRUE;
		last--;
		n--;
	}
	if (n < 7 || last[0].tag != IN_INT || last[-1].tag != IN_INT ||
	    last[-2].tag != IN_INT || last[-6].tag != IN_INT)
		return;
	set_number(&c->size, last[0].number);
	c->stride = last[-1].number;
	c->start = last[-2].number;
	if (last[-3].tag == IN_SCALARS)
		put_split(c->out_split, sizeof(c->out_split), &last[-3], end);
	if (last[-4].tag == IN_SCALARS)
		put_split(c->in_split, sizeof(c->in_split), &last[-4], end);
	set_number(&c->rank, last[-6].number);
	if (last[-5].tag == IN_TEXT) {
		struct scalar_walk w = { last[-5].at, end, false };
		int64_t len = scalar_number(&w);

		if (len > 0 && len <= w.end - w.at)
			fmt(c->name, sizeof(c->name), "%.*s", (int)(len < 47 ? len : 47),
			    (const char *)w.at);
	}
}

/* Guesses how many elements go out, which torch does not record, from those that go
 * in. */
static void guess_out(struct collective *c)
{
	for (size_t i = 0; c->in >= 0 && c->out < 0 && i < FUNCTIONS; i++)
		if (!strcmp(functions[i].torch, c->name) && functions[i].in)
			c->out = product_of((uint64_t)c->in,
					    functions[i].out ? 1 : c->size);
}

/* Reads the arguments of record_param_comms from their recorded description, without
 * its outputs. False: the operator has no inputs, or they break off. */
static bool from_inputs(struct collective *c, const struct rec_op *op)
{
	size_t len;
	const uint8_t *at = op_inputs(op, &len);
	struct scalar_walk w = { at, at + len, false };
	struct item item[ITEMS];
	size_t n = 0;
	unsigned tag;
	int type = -1;

	if (!(op->r.flags & OP_INPUTS))
		return false;
	while (w.at < w.end && (tag = scalar_byte(&w)) != IN_END && !w.bad) {
		if (n == ITEMS) /* the last ones count, and the first */
			memmove(item + 1, item + 2, (--n - 1) * sizeof(*item));
		read_item(&w, tag, &item[n++]);
	}
	if (w.bad || !n)
		return false;
	w = (struct scalar_walk){ item[0].at, w.end, false };
	if (item[0].number >= 0 &&
	    (item[0].tag == IN_TENSOR || item[0].tag == IN_TENSORS))
		set_number(&c->in, count_elements(&w, item[0].tag, &type));
	if (type >= 0)
		set_text(c->type, sizeof(c->type), scalar_type((unsigned)type)->word);
	from_end(c, &item[n - 1], n, w.end);
	guess_out(c);
	return true;
}

bool collective_find(struct collective *c, const struct cursor *cursor,
		     const struct rec_op *op)
{
	bool calls, inputs;

	*c = (struct collective){ .in = -1,
				  .out = -1,
				  .size = -1,
				  .rank = -1,
				  .source = -1,
				  .destination = -1,
				  .start = -1,
				  .stride = -1,
				  .async = -1 };
	calls = from_calls(c, cursor, op);
	inputs = from_inputs(c, op);
	return calls || inputs;
}

/* ---- as text ---- */

static void put_text(struct json *j, const char *key, const char *text)
{
	if (!*text)
		return;
	json_string(j, key, strlen(key));
	json_lit(j, ":");
	json_string(j, text, strlen(text));
	json_lit(j, ",");
}

static void put_number(struct json *j, const char *key, int64_t n)
{
	if (n < 0)
		return;
	json_member(j, key, (uint64_t)n);
}

void collective_write(const struct collective *c, struct json *j, bool kernel)
{
	bool whole =
		c->name[0] && c->type[0] && c->in >= 0 && c->out >= 0 && c->size >= 0;

	if (!kernel || whole) {
		put_text(j, "Collective name", c->name);
		put_text(j, "dtype", c->type);
		put_number(j, "In msg nelems", c->in);
		put_number(j, "Out msg nelems", c->out);
		put_number(j, "Group size", c->size);
	}
	put_text(j, "In split size", c->in_split);
	put_text(j, "Out split size", c->out_split);
	put_number(j, "Src Rank", c->source);
	put_number(j, "Dst Rank", c->destination);
	if (kernel)
		return;
	put_number(j, "Global rank start", c->start);
	put_number(j, "Global rank stride", c->stride);
	put_number(j, "Rank", c->rank);
	if (c->comm)
		json_member(j, "Comms Id", c->comm);
	if (c->async >= 0)
		json_text(j, c->async ? "\"Is asynchronized op\":true,"
				      : "\"Is asynchronized op\":false,");
}
