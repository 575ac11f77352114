/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libc_floor - bind moved functions to the versions that older C libraries have.
 *
 * Included before everything else when agent and launcher are compiled: they must load
 * where the C library is as old as glibc 2.28. glibc 2.34 moved libdl and libpthread
 * into libc under new versions; the old ones are still there. (In the agent the stat
 * family, gettid, getrandom and memfd_create are avoided altogether: sys.h. For the
 * launcher see launcher/old_libc.c.)
 *
 * The agent names neither library as needed: each would cost every program a tenth of its
 * start. So these functions are weak: an older C library has them where the launcher, or
 * the program itself, has loaded both (hook_libc_whole).
 */
#ifndef BASE_LIBC_FLOOR_H
#define BASE_LIBC_FLOOR_H

#if defined __x86_64__
#define FLOOR_TEXT(text) _Pragma(#text)
#define FLOOR(name, version)                             \
	__asm__(".symver " #name "," #name "@" version); \
	FLOOR_TEXT(weak name)
FLOOR(dlsym, "GLIBC_2.2.5")
FLOOR(dlvsym, "GLIBC_2.2.5")
FLOOR(dlopen, "GLIBC_2.2.5")
FLOOR(dladdr, "GLIBC_2.2.5")
FLOOR(dlerror, "GLIBC_2.2.5")
FLOOR(dlinfo, "GLIBC_2.3.3")
FLOOR(pthread_create, "GLIBC_2.2.5")
FLOOR(pthread_join, "GLIBC_2.2.5")
FLOOR(pthread_attr_setstack, "GLIBC_2.2.5")
FLOOR(pthread_key_create, "GLIBC_2.2.5")
FLOOR(pthread_setspecific, "GLIBC_2.2.5")
#undef FLOOR
#undef FLOOR_TEXT
#else
#error "proflaunch is built for x86-64 only so far"
#endif

#endif
