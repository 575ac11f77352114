/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torch_image - memory as libtorch lays it out, built by hand for tests.
 *
 * Threads  one.
 * Memory   static pools; a test runs in a process of its own.
 * Errors   none.
 * Units    bytes.
 */
#ifndef TESTS_TORCH_IMAGE_H
#define TESTS_TORCH_IMAGE_H

#include "agent/torch/abi.h"

#include <string.h>

struct layout { /* one row of the table of measured releases */
	const char *torch;
	bool new_strings, kwinputs;
	uint16_t inputs_at, fwd_at;
	uint8_t bool_tag, list_at, sizes_at;
};

static const struct layout layouts[] = {
	{ "1.13.1", false, false, 184, 224, 8, 24, 72 },
	{ "2.2.2", false, false, 184, 224, 9, 24, 72 },
	{ "2.3.1", false, false, 184, 224, 9, 16, 64 },
	{ "2.4.1", false, true, 184, 280, 9, 16, 64 },
	{ "1.13.1 (distribution)", true, false, 208, 248, 8, 24, 72 },
	{ "2.8.0", true, true, 208, 304, 9, 16, 64 },
	{ "2.12.1", true, true, 208, 304, 10, 16, 64 },
	{ "2.15.0", true, true, 208, 304, 10, 16, 56 },
};
enum { LAYOUTS = sizeof(layouts) / sizeof(layouts[0]) };

static const void *strided_class[2], *sparse_class[2], *undefined_class[2],
	*type_class[2];
static const void *nested_class[2], *foreign_class[2];
static const void *const tensor_type[2] __attribute__((unused)) = { type_class };
static const void *other_type[2] __attribute__((unused)) = { foreign_class };
static uint64_t undefined_tensor[24];

static inline void put_word(void *object, size_t at, uint64_t word)
{
	memcpy((uint8_t *)object + at, &word, sizeof(word));
}

static inline void put_pointer(void *object, size_t at, const void *p)
{
	put_word(object, at, (uintptr_t)p);
}

/* What abi_find leaves behind, with everything still to be learnt. */
static inline void image_abi(const struct layout *l)
{
	abi.new_strings = l->new_strings;
	abi.variant_at = 160;
	abi.index_at = l->new_strings ? 192 : 168;
	abi.seq_at = l->inputs_at - 8;
	abi.inputs_at = l->inputs_at;
	abi.schema_overload_at = l->new_strings ? 32 : 8;
	abi.strided_vtable = strided_class;
	abi.sparse_vtable = sparse_class;
	abi.nested_vtable = nested_class;
	abi.undefined_vtable = undefined_class;
	abi.undefined = undefined_tensor;
	abi.tensor_type_vtable = type_class;
	put_pointer(undefined_tensor, 0, undefined_class);
}

/* What calibration ends with. */
static inline void image_known(const struct layout *l)
{
	image_abi(l);
	abi.bool_tag = l->bool_tag;
	abi.list_at = l->list_at;
	abi.sizes_at = l->sizes_at;
	abi.record = ABI_GOOD;
	abi.values = ABI_GOOD;
}

/* A TensorImpl of `ndim` dimensions; sizes and strides are both given. */
static inline uint8_t *image_tensor(const struct layout *l, uint64_t ndim,
				    const int64_t *sizes, const int64_t *strides,
				    int dtype)
{
	static uint64_t pool[64][26];
	static int64_t outside[64][32];
	static unsigned used;
	uint8_t *t = (uint8_t *)pool[used];
	int64_t *far = outside[used++];
	uint64_t numel = 1;

	put_pointer(t, 0, strided_class);
	put_word(t, 8, 0x100000001); /* reference counts */
	put_word(t, l->sizes_at, ndim);
	for (uint64_t i = 0; i < ndim; i++)
		numel *= (uint64_t)sizes[i];
	if (ndim > 5) {
		memcpy(far, sizes, ndim * 8);
		memcpy(far + ndim, strides, ndim * 8);
		put_pointer(t, l->sizes_at + 8u, far);
	} else if (ndim) {
		memcpy(t + l->sizes_at + 8, sizes, ndim * 8);
		memcpy(t + l->sizes_at + 48, strides, ndim * 8);
	}
	put_word(t, l->sizes_at + 96u, numel);
	t[l->sizes_at + 104] = (uint8_t)dtype;
	t[l->sizes_at + 110] = 1; /* its metadata may be changed */
	put_word(t, l->sizes_at + 112u, 0x1000000000001); /* dispatch keys */
	return t;
}

/* A ListImpl over `n` values. */
static inline uint8_t *image_list(const struct layout *l, const struct abi_value *v,
				  size_t n, const void *type)
{
	static uint64_t pool[16][10];
	static unsigned used;
	uint8_t *list = (uint8_t *)pool[used++];

	put_pointer(list, 0, foreign_class);
	if (l->list_at == 24) {
		put_word(list, 8, 1); /* reference count */
		put_word(list, 16, 1); /* weak count */
	} else {
		put_word(list, 8, 0x100000001);
	}
	put_pointer(list, l->list_at, v);
	put_pointer(list, l->list_at + 8u, v + n);
	put_pointer(list, l->list_at + 16u, v + n);
	put_pointer(list, l->list_at + 24u, type);
	return list;
}

/* A FunctionSchema: its name and overload as this layout's strings are. */
static inline void *image_schema(const struct layout *l, const char *name,
				 const char *overload)
{
	static uint64_t pool[64][16];
	static struct {
		uint64_t len, cap, refs;
		char text[64];
	} old[64][2];
	static unsigned used;
	uint64_t *s = pool[used];

	if (l->new_strings) {
		put_pointer(s, 0, name);
		put_word(s, 8, strlen(name));
		put_pointer(s, 32, overload);
		put_word(s, 40, strlen(overload));
	} else {
		old[used][0].len = strlen(name);
		old[used][1].len = strlen(overload);
		put_pointer(s, 0, strcpy(old[used][0].text, name));
		put_pointer(s, 8, strcpy(old[used][1].text, overload));
	}
	used++;
	return s;
}

/* A RecordFunction of 48 words as an operator's begin finds it. */
static inline void image_operator(const struct layout *l, uint64_t *rf, void *schema,
				  const struct abi_value *v, size_t n)
{
	memset(rf, 0, 48 * sizeof(*rf));
	put_word(rf, 88, 3); /* thread id */
	put_pointer(rf, 160, schema);
	((uint8_t *)rf)[l->new_strings ? 192 : 168] = 1;
	put_word(rf, l->inputs_at - 8u, 77); /* sequence number */
	put_pointer(rf, l->inputs_at, v);
	put_word(rf, l->inputs_at + 8u, n);
	put_word(rf, l->fwd_at, 5);
	if (l->kwinputs) {
		put_pointer(rf, l->inputs_at + 16u, (uint8_t *)rf + l->inputs_at + 64);
		put_word(rf, l->inputs_at + 24u, 1);
	}
}

#endif
