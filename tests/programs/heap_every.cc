// SPDX-License-Identifier: Apache-2.0
// every SECTION,SECTION... ROUNDS - allocates in every way there is, the same each round, and frees
// all of it.  Its output does not depend on the allocator, nor on who looks on.
//
//   c         malloc's family, and what the C library allocates by itself
//   page      valloc, pvalloc
//   zero      realloc to nothing
//   new       all forms of operator new and delete
//   throw     operator new of more than there is
//   std       containers, strings, smart pointers, functions, exceptions
//   threads   eight threads, every block freed by another one than its maker
//   keep      blocks that stay, one of each kind
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <list>
#include <malloc.h>
#include <map>
#include <memory>
#include <new>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <unistd.h>
#include <unordered_map>
#include <vector>

static uint64_t sum;

// All bytes are written and read again: two live blocks may not overlap.
static void *fill(void *block, size_t size, int with)
{
	if (!block)
		abort();
	memset(block, with, size);
	return block;
}

static void check(void *block, size_t size, int with)
{
	const unsigned char *bytes = static_cast<const unsigned char *>(block);

	for (size_t i = 0; i < size; i++)
		if (bytes[i] != static_cast<unsigned char>(with))
			abort();
	if (malloc_usable_size(block) < size)
		abort();
	sum += size;
}

static void aligned(void *block, size_t size, size_t align)
{
	if (reinterpret_cast<uintptr_t>(block) % align)
		abort();
	check(fill(block, size, 7), size, 7);
}

static void resizing()
{
	static const size_t sizes[] = { 1, 24, 25, 1000, 8, 70000, 69999, 3000000, 16, 40 };
	void *block = nullptr;
	size_t old = 0;

	for (size_t size : sizes) {
		block = realloc(block, size);
		check(block, std::min(old, size), 3);
		fill(block, old = size, 3);
	}
	block = reallocarray(block, 30, 50);
	check(block, 40, 3);
	free(block);
	free(reallocarray(nullptr, 7, 9));
}

// Each fails, and changes nothing.
static void failing()
{
	volatile size_t huge = PTRDIFF_MAX;
	void *block = fill(malloc(99), 99, 5), *out = block;

	errno = 0;
	if (malloc(huge) || errno != ENOMEM || calloc(huge, 4) ||
	    reallocarray(block, huge, 4) || posix_memalign(&out, 3, 8) != EINVAL ||
	    out != block)
		abort();
	check(block, 99, 5);
	free(block);
	errno = 77;
	free(nullptr);
	void *ok = malloc(10);
	free(ok);
	if (errno != 77)
		abort();
}

static void by_libc(int round)
{
	char *text = nullptr, *line = nullptr;
	size_t room = 0;

	if (asprintf(&text, "%d: %s", round, "by the C library") < 0)
		abort();
	FILE *zeros = fopen("/dev/null", "r");
	if (!zeros || getline(&line, &room, zeros) != -1)
		abort();
	fclose(zeros);
	free(line);
	sum += strlen(text);
	free(text);
	char *copy = strdup("a copy"), *part = strndup(copy, 3);
	sum += strlen(copy) + strlen(part);
	free(copy);
	free(part);
}

static void section_c(int round)
{
	void *block = fill(malloc(100 + round % 7), 100, 1), *none = malloc(0);

	check(block, 100, 1);
	free(block);
	check(block = calloc(50, 60), 3000, 0);
	free(block);
	free(none);
	free(calloc(0, 8));
	resizing();
	failing();
	void *out;
	for (size_t align = 8; align <= 8192; align *= 2) {
		if (posix_memalign(&out, align, 100))
			abort();
		aligned(out, 100, align);
		free(out);
		aligned(out = aligned_alloc(align, align * 3), align * 3, align);
		free(out);
		aligned(out = memalign(align, 10), 10, align);
		out = realloc(out, 300);
		check(out, 10, 7);
		free(out);
	}
	by_libc(round);
}

static void section_page(int)
{
	void *block = valloc(10);

	aligned(block, 10, 4096);
	free(block);
	aligned(block = pvalloc(5000), 5000, 4096);
	free(block);
}

// What that gives is the allocator's affair: NULL, or a block.
// Of some C libraries and allocators only; with us, always.
extern "C" {
void sdallocx(void *, size_t, int) __attribute__((weak));
void free_sized(void *, size_t) __attribute__((weak));
void free_aligned_sized(void *, size_t, size_t) __attribute__((weak));
}

static void section_sized(int round)
{
	const size_t size = 100 + static_cast<size_t>(round);
	void *volatile p = malloc(size), *volatile q = malloc(size), *volatile r = aligned_alloc(64, 640);

	sdallocx ? sdallocx(p, size, 0) : free(p);
	free_sized ? free_sized(q, size) : free(q);
	free_aligned_sized ? free_aligned_sized(r, 64, 640) : free(r);
}

static void section_zero(int)
{
	free(realloc(malloc(20), 0));
	free(realloc(nullptr, 0));
}

struct alignas(256) Wide {
	char text[300];
};
struct Base {
	virtual ~Base() { sum++; }
	long words[5];
};
struct Derived : Base {
	~Derived() override { sum++; }
	long more[50];
};

static void section_new(int round)
{
	const size_t size = 40 + static_cast<size_t>(round) % 5;
	const auto align = std::align_val_t(128);
	const auto &no = std::nothrow;
	void *p;

	::operator delete(fill(::operator new(size), size, 1));
	::operator delete(fill(::operator new(size), size, 1), size);
	::operator delete(fill(::operator new(size, no), size, 1), no);
	::operator delete[](fill(::operator new[](size), size, 1));
	::operator delete[](fill(::operator new[](size), size, 1), size);
	::operator delete[](fill(::operator new[](size, no), size, 1), no);
	aligned(p = ::operator new(size, align), size, 128);
	::operator delete(p, align);
	aligned(p = ::operator new(size, align), size, 128);
	::operator delete(p, size, align);
	aligned(p = ::operator new(size, align, no), size, 128);
	::operator delete(p, align, no);
	aligned(p = ::operator new[](size, align), size, 128);
	::operator delete[](p, align);
	aligned(p = ::operator new[](size, align), size, 128);
	::operator delete[](p, size, align);
	aligned(p = ::operator new[](size, align, no), size, 128);
	::operator delete[](p, align, no);
	::operator delete(::operator new(0));
	::operator delete(nullptr);
	::operator delete[](static_cast<void *>(nullptr), size);

	Base *volatile object = new Derived;
	delete object;
	Wide *volatile wide = new Wide[3];
	delete[] wide;
	std::string *volatile strings = new std::string[9];
	delete[] strings;
	long *volatile array = new (no) long[static_cast<size_t>(round % 3 + 1)];
	delete[] array;
}

static void section_throw(int)
{
	for (auto align : { std::align_val_t(0), std::align_val_t(64) }) {
		volatile size_t huge = PTRDIFF_MAX;
		void *block = nullptr;

		try {
			if (align == std::align_val_t(0))
				block = ::operator new(huge);
			else
				block = ::operator new[](huge, align);
			abort();
		} catch (const std::bad_alloc &) {
			sum += block == nullptr;
		}
		// libstdc++ throws and catches here, too
		if (align == std::align_val_t(0) ? ::operator new(huge, std::nothrow) :
						   ::operator new[](huge, align, std::nothrow))
			abort();
	}
}

static void section_std(int round)
{
	std::vector<long> numbers;
	std::map<std::string, std::vector<int>> tree;
	std::unordered_map<long, std::string> hash;
	std::deque<std::string> queue;
	std::list<std::shared_ptr<Base>> list;

	for (long i = 0; i < 200; i++) {
		numbers.push_back(i * round);
		tree[std::to_string(i % 50) + " is longer than a small string"].push_back(1);
		hash[i] = std::string(static_cast<size_t>(i), 'x');
		queue.push_back(std::to_string(i) + " in a queue of strings");
		list.push_back(std::make_shared<Derived>());
		if (i % 3 == 0)
			queue.pop_front();
	}
	std::stable_sort(numbers.begin(), numbers.end());
	std::function<long()> sums = [numbers] { return numbers.back(); };
	std::unique_ptr<Wide> wide(new Wide);
	std::ostringstream text;
	text << tree.size() << ' ' << hash.size() << std::string(100, ' ') << sums();
	try {
		throw std::runtime_error(text.str());
	} catch (const std::exception &error) {
		sum += strlen(error.what());
	}
	sum += queue.size() + list.size();
}

enum { THREADS = 8, BLOCKS = 400 };
static std::atomic<void *> passed[THREADS][BLOCKS];

static void exchange(int me, int rounds)
{
	for (int i = 0; i < rounds * 4 && i < BLOCKS; i++) {
		size_t size = static_cast<size_t>(16 + 37 * i % 5000);
		void *block = i % 2 ? malloc(size) : ::operator new(size);

		passed[me][i] = fill(block, size, me + 1);
		if (i % 5 == 0)
			section_new(i);
	}
	int from = (me + 1) % THREADS;
	for (int i = 0; i < rounds * 4 && i < BLOCKS; i++) {
		void *block;

		while (!(block = passed[from][i].load()))
			std::this_thread::yield();
		passed[from][i] = nullptr;
		if (i % 2)
			free(block);
		else
			::operator delete(block);
	}
}

static void section_threads(int rounds)
{
	std::thread threads[THREADS];
	uint64_t before = sum;

	for (int i = 0; i < THREADS; i++)
		threads[i] = std::thread(exchange, i, rounds);
	for (auto &thread : threads)
		thread.join();
	sum = before; // it is no thread's alone
}

static void section_keep(int)
{
	void *volatile kept;

	kept = malloc(1000);
	kept = calloc(10, 10);
	kept = realloc(malloc(10), 500);
	kept = aligned_alloc(64, 640);
	kept = new char[77];
	kept = new Derived;
	kept = new Wide;
	sum += kept != nullptr;
}

int main(int argc, char **argv)
{
	const std::map<std::string, void (*)(int)> sections = {
		{ "c", section_c },         { "page", section_page }, { "new", section_new },
		{ "throw", section_throw }, { "std", section_std },   { "keep", section_keep },
		{ "zero", section_zero },
		{ "sized", section_sized }
	};
	int rounds = argc > 2 ? atoi(argv[2]) : 0;
	char line[128];

	if (argc < 3)
		return 2;
	std::string names = argv[1];
	names += ',';
	for (size_t at = 0, comma; (comma = names.find(',', at)) < names.size(); at = comma + 1) {
		std::string name = names.substr(at, comma - at);

		if (name == "threads")
			section_threads(rounds);
		for (int i = 0; name != "threads" && i < rounds; i++)
			sections.at(name)(i);
	}
	int length = snprintf(line, sizeof(line), "%s %d: %llu\n", argv[1], rounds,
			      static_cast<unsigned long long>(sum));
	return write(1, line, static_cast<size_t>(length)) != length;
}
