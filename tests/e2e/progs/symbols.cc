// SPDX-License-Identifier: Apache-2.0
// What test_symbolize.py asks about: inlined, static, nameless and templated functions.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

void *volatile sink;

static inline __attribute__((always_inline)) void *grab(size_t size)
{
	return malloc(size); // in grab
}

static __attribute__((noinline, used)) void *hidden(int n)
{
	void *p = grab((size_t)n + 16); // in hidden

	sink = p;
	return p;
}

namespace deep
{

template <class T> struct Box {
	std::vector<T *> all;

	template <class U> __attribute__((noinline)) T *fill(U n)
	{
		all.push_back(new T[n]); // in fill
		return all.back();
	}
};

namespace
{
struct Local {
	int a;
	__attribute__((noinline)) void touch(int n)
	{
		sink = hidden(n + a);
		puts("");
	}
};
} // namespace

__attribute__((noinline)) void work(int n)
{
	static Box<int> box;
	Local local = { n };
	auto again = [&](int m) __attribute__((noinline))
	{
		sink = hidden(m + n);
	};

	sink = box.fill<short>((short)n);
	local.touch(3);
	again(4);
	again(n);
}

} // namespace deep

void shown()
{
	std::map<std::string, int> names;

	names["a"] = 1;
	names[std::string(100, 'b')] = 2;
	sink = &names;
	printf("%zu\n", names.size());
}

static volatile sig_atomic_t signals;

static void on_child(int)
{
	signals++;
}

/* Steps, while who has us as parent would be seen. */
static int watch()
{
	int children = 0;

	signal(SIGCHLD, on_child);
	for (int i = 0; i < 40; i++) {
		deep::work(5 + i);
		usleep(20000);
		children += waitpid(-1, nullptr, WNOHANG) != -1;
	}
	printf("%d signals, %d children\n", (int)signals, children);
	return 0;
}

int main(int argc, char **)
{
	if (argc > 1)
		return watch();
	deep::work(argc + 3);
	shown();
	return 0;
}
