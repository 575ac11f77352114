/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calibration half of abi.h: nothing here trusts an offset before an event has
 * confirmed it, and no pointer is followed before the kernel has said it is readable.
 */
#include "agent/torch/abi.h"
#include "agent/torch/field.h"

#include "base/log.h"
#include "base/sys.h"

#include <string.h>

enum proof {
	PROVEN_INPUTS = 1,
	PROVEN_SIZES = 2,
	PROVEN_LIST = 4,
	PROVEN_BOOL = 8,
	PROVEN_ALL = 15,
};
enum {
	MOST_TRIES = 4096,
	MOST_MISFITS = 64,
	MOST_INPUTS = 4096,
	MOST_DIMS = 1024,
	TEXT_MOST = 4096
};

static _Atomic uint32_t proven; /* enum proof */
static _Atomic uint32_t forward_tries;
static _Atomic uint32_t misfits;

/* What is learned goes from unknown to known once, and each fact stands alone: so no
 * order between them is needed. */
static uint32_t load_word(_Atomic uint32_t *word)
{
	return atomic_load_explicit(word, memory_order_relaxed);
}

static void store_word(_Atomic uint32_t *word, uint32_t value)
{
	atomic_store_explicit(word, value, memory_order_relaxed);
}

/* The kernel is asked once for each page from p to p + size. */
static bool is_readable(const void *p, size_t size)
{
	uintptr_t from = (uintptr_t)p & ~(uintptr_t)7;
	uintptr_t last = ((uintptr_t)p + size - 1) & ~(uintptr_t)7;

	if ((uintptr_t)p < 4096 || size > 1024 * 1024 || last < from)
		return false;
	for (uintptr_t at = from; at < last; at = (at & ~(uintptr_t)4095) + 4096)
		if (!sys_can_read((const void *)at))
			return false;
	return sys_can_read((const void *)last);
}

/* ---- RecordFunction ---- */

static bool record_fits(const uint8_t *rf, const char *name)
{
	const void *word = field_pointer(rf, abi.variant_at);

	if (field_word(rf, ABI_THREAD_AT) != abi.thread_id() || rf[ABI_SCOPE_AT] >= 10 ||
	    rf[abi.index_at] > 1)
		return false;
	if (rf[abi.index_at] == 0) /* the string's text lies where name() says */
		return word == name;
	return is_readable(word, 96) && field_pointer(word, 0) == name;
}

/* Is the overload name the second std::string of the schema? */
static bool overload_fits(const uint8_t *schema, const char *name)
{
	const char *text = field_pointer(schema, abi.schema_overload_at);
	size_t len;

	if (abi.new_strings) { /* {text, length, ...} */
		len = field_word(schema, abi.schema_overload_at + 8u);
		return field_word(schema, 8) == strlen(name) && len < TEXT_MOST &&
		       is_readable(text, len + 1) && text[len] == '\0';
	}
	if (field_word(name - 24, 0) != strlen(name) || !is_readable(text - 24, 24))
		return false; /* text, with its length 24 bytes before it */
	len = field_word(text - 24, 0);
	return len < TEXT_MOST && is_readable(text, len + 1) && text[len] == '\0';
}

/* Called for events until one has fitted; the offsets of abi.c are right or not used. */
static void learn_record(const uint8_t *rf)
{
	const char *name = abi.name(rf);

	if (!abi.thread_id || !name || !record_fits(rf, name)) {
		/* A RecordFunction may be made on one thread and begin on another (gloo's
		 * work): only when none ever fits is the layout another one. */
		if (atomic_fetch_add(&misfits, 1) < MOST_MISFITS)
			return;
		if (atomic_exchange(&abi.record, ABI_OFF) == ABI_OFF)
			return;
		store_word(&abi.values, ABI_OFF);
		log_warn(
			"this PyTorch (%s) is laid out in a way we do not know: operators "
			"are recorded without shapes and sequence numbers",
			abi.version[0] ? abi.version : "unknown version");
		return;
	}
	if (rf[abi.index_at] != 1)
		return; /* proves too little: wait for an operator */
	if (!overload_fits(field_pointer(rf, abi.variant_at), name))
		abi.schema_overload_at = 0;
	store_word(&abi.record, ABI_GOOD);
}

/*
 * Between the inputs and the outputs newer versions have an unordered_map, empty in
 * all events that we can see: it points to its own single bucket, 48 bytes in. Older
 * ones have the outputs there, still three null pointers when an event begins.
 */
static void learn_forward(const uint8_t *rf)
{
	uint32_t at = abi.inputs_at + 16u;

	if (field_word(rf, at) == (uintptr_t)(rf + at + 48) &&
	    field_word(rf, at + 8) == 1)
		store_word(&abi.fwd_at, at + 56 + 24);
	else if (!field_word(rf, at) && !field_word(rf, at + 8) &&
		 !field_word(rf, at + 16))
		store_word(&abi.fwd_at, at + 24);
	else if (atomic_fetch_add(&forward_tries, 1) == MOST_TRIES)
		log_warn("cannot find forward threads in this PyTorch (%s): backward "
			 "operators are not linked to forward ones",
			 abi.version);
}

/* ---- values ---- */

/* Switches values off for good, and says so once: what was recorded so far stays, later
 * operators have no inputs. */
static void values_off(const char *what)
{
	if (atomic_exchange(&abi.values, ABI_OFF) != ABI_OFF)
		log_warn("cannot read %s of this PyTorch (%s): operators are recorded "
			 "without inputs",
			 what, abi.version[0] ? abi.version : "unknown version");
}

/* aten::copy_(Tensor, Tensor, bool) shows the tag of Bool; libtorch said it already
 * where it could be asked. */
static void learn_bool(const char *name, const struct abi_value *in, size_t n)
{
	if (strcmp(name, "aten::copy_") != 0 || n != 3 || in[0].tag != 1 ||
	    in[1].tag != 1)
		return;
	if (in[2].tag < 8 || in[2].tag > 12 || in[2].u.i & 0xfe) {
		values_off("the types of arguments");
		return;
	}
	store_word(&abi.bool_tag, in[2].tag);
	atomic_fetch_or(&proven, PROVEN_BOOL);
}

/* A weak count (a small number) at 16 means the old, longer header: the vector is
 * behind it. Else the vector itself begins there. */
static void learn_list(const uint8_t *list)
{
	uint64_t begin, end, cap;
	uint32_t at;

	if (!is_readable(list, 48))
		return;
	at = field_word(list, 16) - 1 < 4095 ? 24 : 16;
	begin = field_word(list, at);
	end = field_word(list, at + 8);
	cap = field_word(list, at + 16);
	if (begin > end || end > cap || (end - begin) % 16 || (begin && begin < 4096)) {
		values_off("lists");
		return;
	}
	store_word(&abi.list_at, at);
	atomic_fetch_or(&proven, PROVEN_LIST);
}

/* SizesAndStrides: the number of dimensions, then up to 5 sizes and 5 strides in place,
 * or a pointer to all of them. */
static const int64_t *sizes_of(const uint8_t *tensor, uint32_t at)
{
	uint64_t ndim = field_word(tensor, at);

	return ndim > 5 ? field_pointer(tensor, at + 8)
			: (const int64_t *)(tensor + at + 8);
}

/* Do dimensions, sizes and their product agree when sizes lie at `at`? */
static bool sizes_fit(const uint8_t *tensor, uint32_t at)
{
	uint64_t ndim = field_word(tensor, at), product = 1;
	const int64_t *size = sizes_of(tensor, at);

	if (!ndim || ndim > MOST_DIMS || (ndim > 5 && !is_readable(size, ndim * 16)))
		return false;
	for (uint64_t i = 0; i < ndim; i++)
		product *= (uint64_t)size[i];
	return product == field_word(tensor, at + 96) &&
	       field_word(tensor, at + 104) % 65536 < 256;
}

/* The one candidate that fits this tensor, the guess if it is among several; else 0. */
static uint32_t sizes_candidate(const uint8_t *tensor)
{
	static const uint8_t candidates[] = { 72, 64, 56, 48 };
	uint32_t guess = load_word(&abi.sizes_at), found = 0;
	unsigned fits = 0;

	if (!is_readable(tensor, 72 + 112))
		return 0;
	for (size_t i = 0; i < sizeof(candidates); i++) {
		if (!sizes_fit(tensor, candidates[i]))
			continue;
		if (candidates[i] == guess)
			return guess;
		found = candidates[i];
		fits++;
	}
	return fits == 1 ? found : 0;
}

/* inputSizes would throw for symbolic sizes and call Python for custom ones. */
static bool is_plain_tensor(const uint8_t *tensor, uint32_t at)
{
	return field_pointer(tensor, 0) == abi.strided_vtable &&
	       !(tensor[at + 110] & 0x1c);
}

struct vector {
	uint8_t *begin, *end, *cap;
};

/* Compares what inputSizes gave, a vector of vectors, with what lies in the tensors; then
 * frees it as a C++ compiler would have it freed. */
static bool same_sizes(const struct vector *all, const struct abi_value *in, size_t n,
		       uint32_t at)
{
	void (*release)(void *) = abi_symbol("_ZdlPv");
	const struct vector *one = (const struct vector *)all->begin;
	bool same = (size_t)(all->end - all->begin) == n * sizeof(*one);

	for (; (const uint8_t *)one < all->end; one++, in++) {
		size_t bytes = (size_t)(one->end - one->begin);

		if (same && in->tag == 1 && in->u.p != abi.undefined)
			same = bytes == field_word(in->u.p, at) * 8 &&
			       !memcmp(one->begin, sizes_of(in->u.p, at), bytes);
		if (one->begin && release)
			release(one->begin);
	}
	if (all->begin && release)
		release(all->begin);
	return same;
}

/* A tensor without dimensions, as far as the guess goes: it teaches nothing, and is not
 * worth the system calls of a closer look at each of a million events. */
static bool teaches_nothing(const uint8_t *tensor)
{
	uint32_t at = load_word(&abi.sizes_at);

	return tensor == abi.undefined ||
	       (at && !field_word(tensor, at) && field_word(tensor, at + 96) == 1);
}

static void learn_sizes(const uint8_t *rf, const struct abi_value *in, size_t n)
{
	struct vector all = { NULL, NULL, NULL };
	uint32_t at = 0;

	for (size_t i = 0; i < n && !at; i++) {
		if (in[i].tag != 1 || teaches_nothing(in[i].u.p))
			continue;
		at = sizes_candidate(in[i].u.p);
		/* A plain tensor that no offset explains: the layout is another one. */
		if (!at && load_word(&abi.sizes_at) &&
		    is_plain_tensor(in[i].u.p, load_word(&abi.sizes_at))) {
			values_off("tensor shapes");
			return;
		}
	}
	if (!at)
		return;
	store_word(&abi.sizes_at, at);
	/* Where torch cannot be asked, the tensor's own numbers, which agree, must do. */
	if (!abi.input_sizes) {
		atomic_fetch_or(&proven, PROVEN_SIZES);
		return;
	}
	for (size_t i = 0; i < n; i++)
		if (in[i].tag == 1 && in[i].u.p != abi.undefined &&
		    !is_plain_tensor(in[i].u.p, at))
			return;
	abi.input_sizes(&all, rf, false);
	if (same_sizes(&all, in, n, at))
		atomic_fetch_or(&proven, PROVEN_SIZES);
	else
		values_off("tensor shapes");
}

static bool inputs_fit(const uint8_t *rf, const struct abi_value *in, size_t n)
{
	if (load_word(&proven) & PROVEN_INPUTS)
		return true;
	if (!abi.num_inputs || n > MOST_INPUTS || n != abi.num_inputs(rf) ||
	    !is_readable(in, n * sizeof(*in)) || !abi.strided_vtable || !abi.undefined)
		return false;
	atomic_fetch_or(&proven, PROVEN_INPUTS);
	return true;
}

static void learn_values(const uint8_t *rf)
{
	const struct abi_value *in = field_pointer(rf, abi.inputs_at);
	size_t n = field_word(rf, abi.inputs_at + 8u);

	if (rf[abi.index_at] != 1 || !n)
		return;
	if (!inputs_fit(rf, in, n)) {
		values_off("inputs");
		return;
	}
	if (abi.bool_asked)
		atomic_fetch_or(&proven, PROVEN_BOOL);
	else if (!(load_word(&proven) & PROVEN_BOOL))
		learn_bool(abi.name(rf), in, n);
	for (size_t i = 0; i < n && !(load_word(&proven) & PROVEN_LIST); i++)
		/* The tag of lists is four behind that of Bool, wherever that is. */
		if (load_word(&abi.bool_tag) && in[i].tag == load_word(&abi.bool_tag) + 4)
			learn_list(in[i].u.p);
	if (!(load_word(&proven) & PROVEN_SIZES))
		learn_sizes(rf, in, n);
	if (load_word(&abi.values) == ABI_UNKNOWN && load_word(&abi.sizes_at) &&
	    load_word(&abi.bool_tag) && load_word(&abi.list_at))
		store_word(&abi.values, ABI_GOOD);
}

/* ABI_SETTLED once nothing of the event itself is left to be learnt, ABI_SETTLED_INPUTS
 * once nothing of its values is. */
static uint32_t settled_flags(void)
{
	if (load_word(&abi.record) == ABI_OFF)
		return ABI_SETTLED | ABI_SETTLED_INPUTS;
	if (load_word(&abi.record) != ABI_GOOD ||
	    (!load_word(&abi.fwd_at) && load_word(&forward_tries) <= MOST_TRIES))
		return 0;
	if (load_word(&abi.values) != ABI_OFF && load_word(&proven) != PROVEN_ALL)
		return ABI_SETTLED;
	return ABI_SETTLED | ABI_SETTLED_INPUTS;
}

void learn_event(const void *rf, bool inputs)
{
	if (load_word(&abi.record) == ABI_UNKNOWN)
		learn_record(rf);
	if (load_word(&abi.record) == ABI_GOOD) {
		if (!load_word(&abi.fwd_at) && load_word(&forward_tries) <= MOST_TRIES)
			learn_forward(rf);
		if (inputs && load_word(&abi.values) != ABI_OFF &&
		    load_word(&proven) != PROVEN_ALL)
			learn_values(rf);
	}
	store_word(&abi.settled, settled_flags());
}
