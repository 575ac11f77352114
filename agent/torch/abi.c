/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The finding half of abi.h: which libraries of torch are mapped, what they export, and
 * which offsets their release and string ABI suggest. learn.c confirms those.
 */
#include "agent/torch/abi.h"

#include "base/elf.h"
#include "base/fmt.h"
#include "base/seldom.h"
#include "base/sys.h"
#include "base/text.h"
#include "base/unseen.h"

#include <dlfcn.h>
#include <string.h>

SELDOM struct abi abi;

/* A mapped library, found by the beginning of its file name. */
struct library {
	char path[sizeof(abi.path)];
	struct elf_span span;
	void *handle;
};
static SELDOM struct library torch_cpu, c10;
#define TORCH_CPU "libtorch_cpu.so"

static int match_library(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct library *lib = arg;
	const char *prefix = lib == &torch_cpu ? TORCH_CPU : "libc10.so";
	const char *name = text_base(info->dlpi_name);

	(void)size;
	if (strncmp(name, prefix, strlen(prefix)) != 0 ||
	    strlen(info->dlpi_name) >= sizeof(lib->path))
		return 0;
	strcpy(lib->path, info->dlpi_name);
	/* Which classes are torch's own is told by where their vtables lie (inputs.c). */
	lib->span = elf_span(info);
	return 1;
}

/* A library is opened by its path, with RTLD_NOLOAD: Python loads these RTLD_LOCAL, where
 * a search by name alone does not see them. */
static bool open_library(struct library *lib)
{
	if (lib->handle)
		return true;
	if (dl_iterate_phdr(match_library, lib) != 1)
		return false;
	lib->handle = dlopen(lib->path, RTLD_NOLOAD | RTLD_LAZY);
	return lib->handle;
}

void *abi_symbol(const char *name)
{
	void *p = NULL;

	if (torch_cpu.handle)
		p = dlsym(torch_cpu.handle, name);
	return p ? p : abi_c10_symbol(name);
}

void *abi_cpu_symbol(const char *name)
{
	return torch_cpu.handle || open_library(&torch_cpu) ? abi_symbol(name) : NULL;
}

void *abi_c10_symbol(const char *name)
{
	return c10.handle || open_library(&c10) ? dlsym(c10.handle, name) : NULL;
}

/* An object may have been copied into a C++ program (copy relocation): then the
 * program's is the one that counts. */
static const void *data_symbol(const char *name)
{
	const void *p = dlsym(RTLD_DEFAULT, name);

	return p ? p : abi_symbol(name);
}

/* Word 0 of an object whose class has this vtable: it points behind the table's first two
 * words (offset to top, type information), as the C++ ABI wants it. */
static const void *vtable_word(const char *name)
{
	const char *p = data_symbol(name);

	return p ? p + 2 * sizeof(void *) : NULL;
}

/* What a release does not export stays NULL. Without add, disable, enable and name
 * nothing can be observed (can_observe); the others are done without. */
static void find_functions(void)
{
	abi.add = abi_symbol("_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE");
	abi.disable = abi_symbol("_ZN2at15disableCallbackEm");
	abi.enable = abi_symbol("_ZN2at16reenableCallbackEm");
	abi.remove = abi_symbol("_ZN2at14removeCallbackEm");
	abi.name = abi_symbol("_ZNK2at14RecordFunction4nameEv");
	abi.thread_id = abi_symbol("_ZN2at14RecordFunction15currentThreadIdEv");
	abi.num_inputs = abi_symbol("_ZNK2at14RecordFunction10num_inputsEv");
	abi.input_sizes = abi_symbol(
		"_ZN5torch8profiler4impl10inputSizesERKN2at14RecordFunctionEb");
	/* GCC's OpenMP reads a variable. LLVM's and Intel's may start themselves first,
	 * in a thread that never asked for them: they are left alone, and what somebody
	 * preloads stands before torch's own. */
	if (!data_symbol("__kmpc_global_thread_num"))
		abi.threads = abi_symbol("omp_get_max_threads");
	abi.rf_construct = abi_symbol("_ZN2at14RecordFunctionC1ENS_11RecordScopeE");
	abi.rf_destroy = abi_symbol("_ZN2at14RecordFunctionD1Ev");
}

static void find_objects(void)
{
	static const char *const wrappers[] = {
		"_ZTVN2at11QTensorImplE",
		"_ZTVN2at23FunctionalTensorWrapperE",
		"_ZTVN2at9functorch17BatchedTensorImplE",
		"_ZTVN2at9functorch13TensorWrapperE",
		"_ZTVN2at17BatchedTensorImplE",
		"_ZTVN5torch4lazy13LTCTensorImplE",
	};

	abi.undefined = data_symbol("_ZN3c1019UndefinedTensorImpl10_singletonE");
	abi.undefined_vtable = vtable_word("_ZTVN3c1019UndefinedTensorImplE");
	abi.strided_vtable = vtable_word("_ZTVN3c1010TensorImplE");
	abi.sparse_vtable = vtable_word("_ZTVN2at16SparseTensorImplE");
	abi.csr_vtable = vtable_word("_ZTVN2at19SparseCsrTensorImplE");
	abi.nested_vtable = vtable_word("_ZTVN2at6native16NestedTensorImplE");
	abi.tensor_type_vtable = vtable_word("_ZTVN3c1010TensorTypeE");
	for (size_t i = 0; i < sizeof(wrappers) / sizeof(wrappers[0]); i++)
		abi.wrapper_vtables[i] = vtable_word(wrappers[i]);
}

/* The offsets that depend on this build's string type (both columns were run on
 * wheels). */
static void place_fields(void)
{
	abi.new_strings = abi_symbol("_ZN5torch8profiler4impl10inputTypesB5cxx11E"
				     "RKN2at14RecordFunctionE");
	abi.variant_at = 160;
	abi.index_at = abi.new_strings ? 192 : 168;
	abi.seq_at = abi.new_strings ? 200 : 176;
	abi.inputs_at = abi.new_strings ? 208 : 184;
	abi.schema_overload_at = abi.new_strings ? 32 : 8;
}

/* Takes only letters that need no quoting in JSON (abi_facts). */
static void copy_version(const char *from)
{
	size_t n = strspn(from, "0123456789.abcdefghijklmnopqrstuvwxyz+_-");

	n = n < sizeof(abi.version) - 1 ? n : sizeof(abi.version) - 1;
	memcpy(abi.version, from, n);
	abi.version[n] = '\0';
}

/* torch/lib/libtorch_cpu.so has torch/version.py above it; distributions put the
 * version behind the name instead. */
static void find_version(void)
{
	static const char mark[] = "__version__ = '";
	static SELDOM char text[2048];
	char path[sizeof(torch_cpu.path) + 16];
	const char *base = strrchr(torch_cpu.path, '/');
	const char *at;

	if (!base)
		return;
	if (base[1 + strlen(TORCH_CPU)] == '.') {
		copy_version(base + 1 + strlen(TORCH_CPU) + 1);
		return;
	}
	fmt(path, sizeof(path), "%.*s/../version.py", (int)(base - torch_cpu.path),
	    torch_cpu.path);
	if (unseen_read(path, text, sizeof(text)) <= 0)
		return;
	at = strstr(text, mark);
	if (at)
		copy_version(at + sizeof(mark) - 1);
}

/* "2.13.0" to 213; 0 = unknown. */
static unsigned version_number(const char *text)
{
	unsigned part[2] = { 0, 0 };

	for (int i = 0; i < 2; i++) {
		for (; *text >= '0' && *text <= '9'; text++)
			part[i] = part[i] * 10 + (unsigned)(*text - '0');
		if (*text != '.')
			break;
		text++;
	}
	return part[0] * 100 + (part[1] < 100 ? part[1] : 99);
}

/* Where values lay in the releases that were run; learn.c confirms or corrects it. The
 * last row that is not newer than this torch counts. */
static void guess_values(void)
{
	static const struct {
		unsigned since;
		uint8_t sizes, list, boolean;
	} known[] = {
		{ 113, 72, 24, 8 },  { 201, 72, 24, 9 },  { 203, 64, 16, 9 },
		{ 209, 64, 16, 10 }, { 213, 56, 16, 10 },
	};
	unsigned have = version_number(abi.version);

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (have < known[i].since)
			break;
		abi.sizes_at = known[i].sizes;
		abi.list_at = known[i].list;
		abi.bool_tag = known[i].boolean;
	}
}

/*
 * Which tag does Bool have?  TagType::get names the type of an IValue by its tag
 * alone for all tags below Bool, so it can be asked about values that are not there.
 */
static void ask_bool_tag(void)
{
	void *(*type_of)(void *result, const void *value) =
		abi_symbol("_ZN3c106IValue7TagTypeINS_4TypeEE3getERKS0_");
	const void *bool_type = vtable_word("_ZTVN3c108BoolTypeE");

	if (!type_of || !bool_type)
		return;
	for (uint32_t tag = 8; tag <= 10; tag++) {
		struct abi_value value = { .tag = tag };
		const void *result[4] = { NULL };

		type_of(result, &value);
		if (result[0] && *(const void *const *)result[0] == bool_type) {
			abi.bool_tag = tag;
			abi.bool_asked = true;
			return;
		}
	}
}

static bool can_observe(void)
{
	return abi.add && abi.disable && abi.enable && abi.name;
}

bool abi_find(void)
{
	if (abi.add)
		return can_observe();
	if (!open_library(&torch_cpu))
		return false;
	open_library(&c10);
	memcpy(abi.path, torch_cpu.path, sizeof(abi.path));
	abi.cpu_begin = torch_cpu.span.begin;
	abi.cpu_end = torch_cpu.span.end;
	find_functions();
	find_objects();
	place_fields();
	find_version();
	guess_values();
	ask_bool_tag();
	return can_observe();
}

/* The name of an enum abi_state. */
static const char *state_text(uint32_t state)
{
	static const char *const text[] = { "unknown", "good", "off" };

	return text[state < 3 ? state : 0];
}

size_t abi_facts(char *buf, size_t size)
{
	return fmt(
		buf, size,
		"{\"torch\": \"%s\", \"strings\": \"%s\", \"record\": \"%s\", "
		"\"overload\": %u, \"forward_thread\": %u, \"values\": \"%s\", "
		"\"sizes\": %u, \"list\": %u, \"bool_tag\": %u}",
		abi.version, abi.new_strings ? "cxx11" : "old",
		state_text(atomic_load(&abi.record)), (unsigned)abi.schema_overload_at,
		(unsigned)atomic_load(&abi.fwd_at), state_text(atomic_load(&abi.values)),
		(unsigned)atomic_load(&abi.sizes_at), (unsigned)atomic_load(&abi.list_at),
		(unsigned)atomic_load(&abi.bool_tag));
}
