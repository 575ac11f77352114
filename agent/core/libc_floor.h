/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libc_floor - bind moved functions to the versions that older C libraries have.
 *
 * Included before everything else when the agent is compiled: it must load where
 * the C library is as old as glibc 2.28. glibc 2.34 moved libdl and libpthread
 * into libc under new versions; the old ones are still there. (The stat family,
 * gettid, getrandom and memfd_create are avoided altogether: sys.h.)
 */
#ifndef CORE_LIBC_FLOOR_H
#define CORE_LIBC_FLOOR_H

#if defined __x86_64__
#define FLOOR(name, version) __asm__(".symver " #name "," #name "@" version);
FLOOR(dlsym, "GLIBC_2.2.5")
FLOOR(dlvsym, "GLIBC_2.2.5")
FLOOR(dlopen, "GLIBC_2.2.5")
FLOOR(dladdr, "GLIBC_2.2.5")
FLOOR(dladdr1, "GLIBC_2.3.3")
FLOOR(dlinfo, "GLIBC_2.3.3")
FLOOR(pthread_create, "GLIBC_2.2.5")
FLOOR(pthread_attr_setstack, "GLIBC_2.2.5")
FLOOR(pthread_key_create, "GLIBC_2.2.5")
FLOOR(pthread_setspecific, "GLIBC_2.2.5")
FLOOR(pthread_setname_np, "GLIBC_2.12")
#undef FLOOR
#else
#error "proflaunch is built for x86-64 only so far"
#endif

#endif
