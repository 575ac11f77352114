/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fmt - bounded text without allocation, locks or locale.
 *
 * Threads  any, also in signal handlers.
 * Memory   the caller's buffer, always terminated when size > 0.
 * Errors   what does not fit is cut; the result says how long it would be.
 * Units    bytes.  %s %d %u %ld %lu %x %lx %c %% and %.*s only.
 */
#ifndef BASE_FMT_H
#define BASE_FMT_H

#include <stdarg.h>
#include <stddef.h>

size_t fmt(char *buf, size_t size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
size_t fmt_v(char *buf, size_t size, const char *format, va_list args)
	__attribute__((format(printf, 3, 0)));

#endif
