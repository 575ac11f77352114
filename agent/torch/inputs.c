/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inputs of an operator, from torch's own objects to the bytes of record_inputs.h.
 * They say what torch.profiler would show: what it leaves empty is left empty here.
 */
#include "agent/torch/inputs.h"

#include "agent/core/record_inputs.h"
#include "agent/torch/abi.h"

#include <string.h>

/* Tags that never moved, and those that are counted from Bool. */
enum { TAG_TENSOR = 1, TAG_DOUBLE = 3, TAG_COMPLEX = 4, TAG_INT = 5, TAG_UINT = 6 };
enum { LIST_AFTER_BOOL = 4, BOOL_WITH_UINT = 10 };

/* Bytes from a TensorImpl's SizesAndStrides to what follows it; dimensions within it. */
enum { DTYPE_AFTER = 104, FLAGS_AFTER = 110, KEYS_AFTER = 112, INLINE_DIMS = 5 };

/* Flags: a size is symbolic; sizes are asked of the tensor's class, which for a plain
 * TensorImpl is one in Python. torch shows such sizes all the same, but for a jagged
 * tensor's (2.1 to 2.3; later ones are symbolic), which has the nested tensors' dispatch
 * key: 26 there, 25 in 2.4. */
enum { FLAG_SYMBOLIC = 0x10, FLAG_ASKED = 0x08 };
enum { KEY_NESTED = 3u << 25 };

#define LIST_MOST                                                            \
	30 /* torch shows no longer lists, neither of tensors nor of scalars \
	    */
#define DIMS_MOST         1024
#define ITEM_MOST         24 /* no scalar takes more */
#define NUMBER_MOST       9
#define TENSOR_MOST(ndim) (ITEM_MOST + (ndim) * (2u * NUMBER_MOST))

struct shape { /* what tags and offsets mean here, read once per call */
	uint32_t bool_tag, list_at, sizes_at;
};

struct list {
	const struct abi_value *begin, *end, *cap;
	const void *const *element_type;
};

static uint8_t *put_wide(uint8_t *to, uint64_t n)
{
	if (n <= UINT8_MAX) {
		to[0] = 0xf8;
		to[1] = (uint8_t)n;
		return to + 2;
	}
	if (n <= UINT16_MAX) {
		to[0] = 0xf9;
		memcpy(to + 1, &n, 2);
		return to + 3;
	}
	if (n <= UINT32_MAX) {
		to[0] = 0xfa;
		memcpy(to + 1, &n, 4);
		return to + 5;
	}
	to[0] = 0xfb; /* negative numbers, too */
	memcpy(to + 1, &n, 8);
	return to + 9;
}

static inline uint8_t *put_number(uint8_t *to, int64_t n)
{
	if (__builtin_expect((uint64_t)n >= 0xf8, 0))
		return put_wide(to, (uint64_t)n);
	*to = (uint8_t)n;
	return to + 1;
}

/* What torch would show of a tensor that is no plain TensorImpl. torch's own subclasses
 * lie in libtorch_cpu; the only ones there without strides and a name are the opaque ones
 * (mkldnn). Backends of others (XLA, NPU) are strided. */
static enum input_tag odd_tensor(const uint8_t *tensor, const void *vtable)
{
	if (tensor == abi.undefined || vtable == abi.undefined_vtable ||
	    vtable == abi.nested_vtable)
		return IN_UNDEFINED;
	if (vtable == abi.sparse_vtable || vtable == abi.csr_vtable)
		return IN_SPARSE;
	for (size_t i = 0; i < sizeof(abi.wrapper_vtables) / sizeof(void *); i++)
		if (vtable == abi.wrapper_vtables[i])
			return IN_TENSOR;
	if ((uintptr_t)vtable - abi.cpu_begin < abi.cpu_end - abi.cpu_begin)
		return IN_SPARSE;
	return IN_TENSOR;
}

static bool is_jagged(const uint8_t *at)
{
	uint64_t keys;

	memcpy(&keys, at + KEYS_AFTER, sizeof(keys));
	return keys & KEY_NESTED;
}

static inline uint8_t *put_dims(uint8_t *to, const uint8_t *at, enum input_tag tag,
				const int64_t *size, const int64_t *stride, uint64_t ndim)
{
	to[0] = (uint8_t)tag;
	to[1] = at[DTYPE_AFTER];
	to = put_number(to + 2, (int64_t)ndim);
	for (uint64_t i = 0; i < ndim; i++)
		to = put_number(to, size[i]);
	for (uint64_t i = 0; i < ndim && tag == IN_TENSOR; i++)
		to = put_number(to, stride[i]);
	return to;
}

/* Any tensor; put_tensor, which is inlined, has only plain ones with few dimensions. */
static __attribute__((noinline)) uint8_t *put_any_tensor(uint8_t *to,
							 const uint8_t *limit,
							 const uint8_t *tensor,
							 const uint8_t *at)
{
	enum input_tag tag = IN_TENSOR;
	const int64_t *size, *stride;
	const void *vtable;
	uint64_t ndim;

	memcpy(&vtable, tensor, sizeof(vtable));
	if (vtable != abi.strided_vtable)
		tag = odd_tensor(tensor, vtable);
	else if (at[FLAGS_AFTER] & FLAG_ASKED && is_jagged(at))
		tag = IN_UNDEFINED;
	memcpy(&ndim, at, sizeof(ndim));
	if (tag == IN_UNDEFINED || at[FLAGS_AFTER] & FLAG_SYMBOLIC || ndim > DIMS_MOST) {
		*to = IN_UNDEFINED;
		return to + 1;
	}
	if ((uint64_t)(limit - to) < TENSOR_MOST(ndim))
		return NULL;
	size = (const int64_t *)(at + 8);
	stride = size + INLINE_DIMS;
	if (ndim > INLINE_DIMS) {
		memcpy(&size, at + 8, sizeof(size));
		stride = size + ndim;
	}
	return put_dims(to, at, tag, size, stride, ndim);
}

static inline __attribute__((always_inline)) uint8_t *put_tensor(
	uint8_t *to, const uint8_t *limit, const uint8_t *tensor,
	const struct shape *shape)
{
	const uint8_t *at = tensor + shape->sizes_at;
	const int64_t *size = (const int64_t *)(at + 8);
	const void *vtable;
	uint64_t ndim;

	memcpy(&vtable, tensor, sizeof(vtable));
	memcpy(&ndim, at, sizeof(ndim));
	if (__builtin_expect(vtable != abi.strided_vtable ||
				     at[FLAGS_AFTER] & (FLAG_ASKED | FLAG_SYMBOLIC) ||
				     ndim > INLINE_DIMS ||
				     (uint64_t)(limit - to) < TENSOR_MOST(INLINE_DIMS),
			     0))
		return put_any_tensor(to, limit, tensor, at);
	return put_dims(to, at, IN_TENSOR, size, size + INLINE_DIMS, ndim);
}

static uint8_t *put_complex(uint8_t *to, const uint8_t *holder, const struct shape *shape)
{
	*to = IN_COMPLEX; /* aligned to 16 behind the reference counts */
	memcpy(to + 1, holder + ((shape->list_at + 15) & ~15u), 16);
	return to + 17;
}

/* Scalars, and everything that torch leaves empty: at most ITEM_MOST bytes. */
static inline uint8_t *put_scalar(uint8_t *to, const struct abi_value *v,
				  const struct shape *shape)
{
	switch (v->tag) {
	case TAG_INT:
		*to = IN_INT;
		return put_number(to + 1, v->u.i);
	case TAG_DOUBLE:
		*to = IN_DOUBLE;
		memcpy(to + 1, &v->u.d, 8);
		return to + 9;
	case TAG_COMPLEX:
		return put_complex(to, v->u.p, shape);
	default:
		break;
	}
	if (v->tag == shape->bool_tag) {
		*to = v->u.i & 1 ? IN_TRUE : IN_FALSE;
		return to + 1;
	}
	if (v->tag > TAG_INT && v->tag < shape->bool_tag &&
	    !(v->tag == TAG_UINT && shape->bool_tag >= BOOL_WITH_UINT)) {
		to[0] = IN_SYM;
		to[1] = 0;
		return to + 2;
	}
	*to = IN_OTHER;
	return to + 1;
}

static bool is_scalar(const struct abi_value *v, const struct shape *shape)
{
	return v->tag >= TAG_DOUBLE && v->tag <= shape->bool_tag &&
	       !(v->tag == TAG_UINT && shape->bool_tag >= BOOL_WITH_UINT);
}

/* torch shows a list by its element type, or by its first element's, and of scalars only
 * when there are few. */
static uint8_t *put_list(uint8_t *to, const uint8_t *limit, const uint8_t *impl,
			 const struct shape *shape)
{
	struct list list;
	bool tensors, many;

	memcpy(&list, impl + shape->list_at, sizeof(list));
	tensors = list.element_type && *list.element_type == abi.tensor_type_vtable;
	many = list.end - list.begin > LIST_MOST;
	if (!tensors && list.begin != list.end &&
	    (many || !is_scalar(list.begin, shape))) {
		*to = IN_OTHER;
		return to + 1;
	}
	*to++ = tensors ? IN_TENSORS : IN_SCALARS;
	if (many)
		list.end = list.begin; /* torch shows such a list as an empty one */
	for (const struct abi_value *v = list.begin; v != list.end; v++) {
		if (limit - to < ITEM_MOST)
			return NULL;
		if (tensors && v->tag == TAG_TENSOR)
			to = put_tensor(to, limit, v->u.p, shape);
		else
			to = put_scalar(to, v, shape);
		if (!to)
			return NULL;
	}
	*to = IN_END;
	return to + 1;
}

uint8_t *inputs_put(uint8_t *to, const uint8_t *limit, const void *rf)
{
	const struct shape shape = {
		atomic_load_explicit(&abi.bool_tag, memory_order_relaxed),
		atomic_load_explicit(&abi.list_at, memory_order_relaxed),
		atomic_load_explicit(&abi.sizes_at, memory_order_relaxed),
	};
	const struct abi_value *v;
	uint64_t n = 0;

	memcpy(&v, (const uint8_t *)rf + abi.inputs_at, sizeof(v));
	if (atomic_load_explicit(&abi.values, memory_order_relaxed) == ABI_GOOD)
		memcpy(&n, (const uint8_t *)rf + abi.inputs_at + 8, sizeof(n));
	for (const struct abi_value *end = v + n; v != end; v++) {
		if (__builtin_expect(limit - to < ITEM_MOST, 0))
			return NULL;
		if (v->tag == TAG_TENSOR)
			to = put_tensor(to, limit, v->u.p, &shape);
		else if (v->tag == shape.bool_tag + LIST_AFTER_BOOL)
			to = put_list(to, limit, v->u.p, &shape);
		else
			to = put_scalar(to, v, &shape);
		if (__builtin_expect(!to, 0))
			return NULL;
	}
	if (limit - to < 8)
		return NULL;
	/* At least one IN_END, and as many as make the record's size a multiple of 8. */
	memset(to, IN_END, 8);
	return (uint8_t *)(((uintptr_t)to + 8) & ~(uintptr_t)7);
}
