// SPDX-License-Identifier: Apache-2.0
// A server that forgets to end its sessions, for the cookbook.
#include <cstdio>
#include <string>
#include <vector>

static std::vector<std::string *> sessions;

static std::string *login() { return new std::string(4000, 'x'); }

static void answer(std::string &page)
{
	for (int line = 0; line < 500; line++)
		page += "one more line of the answer\n";
}

// One round: fifty users.
extern "C" __attribute__((noinline)) void serve()
{
	for (int user = 0; user < 50; user++) {
		std::string page;

		sessions.push_back(login());
		answer(page);
	}
}

int main()
{
	for (int round = 0; round < 40; round++)
		serve();
	std::printf("%zu users served\n", sessions.size());
}
