/* SPDX-License-Identifier: Apache-2.0 */
/* places-plugin.so - says peer_here while the dynamic linker has its lock. */
void peer_here(const char *name) __attribute__((weak));

__attribute__((constructor)) static void begin(void)
{
	if (peer_here)
		peer_here("constructor of a library");
}

__attribute__((destructor)) static void end(void)
{
	if (peer_here)
		peer_here("destructor of a library");
}
