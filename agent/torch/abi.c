/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/torch/abi.h"

#include "agent/core/fmt.h"
#include "agent/core/sys.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

/* Where torch.profiler begins and ends: abi_profiler's numbers. */
static const char *const profiler[] = {
	"_ZN5torch8autograd8profiler14enableProfilerERKNS_8profiler4impl1"
	"4ProfilerConfigERKSt3setINS3_12ActivityTypeESt4lessIS8_ESaIS8_EE"
	"RKSt13unordered_setIN2at11RecordScopeESt4hashISH_ESt8equal_toISH"
	"_ESaISH_EE",
	"_ZN5torch8autograd8profiler15prepareProfilerERKNS_8profiler4impl"
	"14ProfilerConfigERKSt3setINS3_12ActivityTypeESt4lessIS8_ESaIS8_E"
	"E",
	"_ZN5torch8autograd8profiler15disableProfilerEv",
};
#define TOGGLE                                                            \
	"_ZN5torch8autograd8profiler23toggleCollectionDynamicEbRKSt3setI" \
	"NS_8profiler4impl12ActivityTypeESt4lessIS5_ESaIS5_EE"
#define ENGINE_EXECUTE                                                     \
	"_ZN5torch8autograd6Engine7executeERKSt6vectorINS0_4EdgeESaIS3_EE" \
	"RKS2_IN2at6TensorESaIS9_EEbbbS7_"

struct abi abi;

/* A mapped library, found by the beginning of its file name. */
struct library {
	const char *prefix;
	char path[sizeof(abi.path)];
	uintptr_t begin, end;
	void *handle;
};
static struct library torch_cpu = { .prefix = "libtorch_cpu.so" };
static struct library c10 = { .prefix = "libc10.so" };

static int match(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct library *lib = arg;
	const char *name = strrchr(info->dlpi_name, '/');

	(void)size;
	name = name ? name + 1 : info->dlpi_name;
	if (strncmp(name, lib->prefix, strlen(lib->prefix)) != 0 ||
	    strlen(info->dlpi_name) >= sizeof(lib->path))
		return 0;
	strcpy(lib->path, info->dlpi_name);
	lib->begin = UINTPTR_MAX;
	lib->end = 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t at = info->dlpi_addr + p->p_vaddr;

		if (p->p_type != PT_LOAD)
			continue;
		lib->begin = at < lib->begin ? at : lib->begin;
		lib->end = at + p->p_memsz > lib->end ? at + p->p_memsz : lib->end;
	}
	return 1;
}

/* By path and RTLD_NOLOAD: Python loads these RTLD_LOCAL, no other way sees them. */
static bool open_library(struct library *lib)
{
	if (lib->handle)
		return true;
	if (dl_iterate_phdr(match, lib) != 1)
		return false;
	lib->handle = dlopen(lib->path, RTLD_NOLOAD | RTLD_LAZY);
	return lib->handle;
}

void *abi_symbol(const char *name)
{
	void *p = NULL;

	if (torch_cpu.handle)
		p = dlsym(torch_cpu.handle, name);
	if (!p && (c10.handle || open_library(&c10)))
		p = dlsym(c10.handle, name);
	return p;
}

/* Objects may have been copied into a C++ program (copy relocations): theirs is the
 * one that counts then. */
static const void *data_symbol(const char *name)
{
	const void *p = dlsym(RTLD_DEFAULT, name);

	return p ? p : abi_symbol(name);
}

/* Word 0 of an object whose class has this vtable. */
static const void *vtable(const char *name)
{
	const char *p = data_symbol(name);

	return p ? p + 2 * sizeof(void *) : NULL;
}

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
	abi.engine_execute = abi_symbol(ENGINE_EXECUTE);
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
	abi.undefined_vtable = vtable("_ZTVN3c1019UndefinedTensorImplE");
	abi.strided_vtable = vtable("_ZTVN3c1010TensorImplE");
	abi.sparse_vtable = vtable("_ZTVN2at16SparseTensorImplE");
	abi.csr_vtable = vtable("_ZTVN2at19SparseCsrTensorImplE");
	abi.nested_vtable = vtable("_ZTVN2at6native16NestedTensorImplE");
	abi.tensor_type_vtable = vtable("_ZTVN3c1010TensorTypeE");
	for (size_t i = 0; i < sizeof(wrappers) / sizeof(wrappers[0]); i++)
		abi.wrapper_vtables[i] = vtable(wrappers[i]);
}

/* What the string type of this build decides (both columns were run on wheels). */
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
	static char text[2048];
	char path[sizeof(torch_cpu.path) + 16];
	const char *base = strrchr(torch_cpu.path, '/');
	const char *at;

	if (!base)
		return;
	if (base[1 + strlen(torch_cpu.prefix)] == '.') {
		copy_version(base + 1 + strlen(torch_cpu.prefix) + 1);
		return;
	}
	fmt(path, sizeof(path), "%.*s/../version.py", (int)(base - torch_cpu.path),
	    torch_cpu.path);
	if (sys_read_file(path, text, sizeof(text)) <= 0)
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

/* Where values lay in the releases that were run; learn.c confirms or corrects it. */
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
	const void *bool_type = vtable("_ZTVN3c108BoolTypeE");

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

static bool usable(void)
{
	return abi.add && abi.disable && abi.enable && abi.name;
}

bool abi_find(void)
{
	if (abi.add)
		return usable();
	if (!open_library(&torch_cpu))
		return false;
	open_library(&c10);
	memcpy(abi.path, torch_cpu.path, sizeof(abi.path));
	abi.cpu_begin = torch_cpu.begin;
	abi.cpu_end = torch_cpu.end;
	find_functions();
	find_objects();
	place_fields();
	find_version();
	guess_values();
	ask_bool_tag();
	return usable();
}

void *abi_engine(void)
{
	if (!abi.engine_execute && open_library(&torch_cpu))
		abi.engine_execute = abi_symbol(ENGINE_EXECUTE);
	return abi.engine_execute;
}

void *abi_usage(void)
{
	void *p = NULL;

	if (c10.handle || open_library(&c10)) {
		p = dlsym(c10.handle,
			  "_ZN3c1011LogAPIUsageERKNSt7__cxx1112basic_stringIcSt11"
			  "char_traitsIcESaIcEEE");
		p = p ? p : dlsym(c10.handle, "_ZN3c1011LogAPIUsageERKSs");
	}
	return p;
}

void *abi_toggle(void)
{
	return torch_cpu.handle || open_library(&torch_cpu) ? abi_symbol(TOGGLE) : NULL;
}

void *abi_profiler(enum abi_profiler which)
{
	return torch_cpu.handle || open_library(&torch_cpu) ? abi_symbol(profiler[which])
							    : NULL;
}

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
