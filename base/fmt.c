/* SPDX-License-Identifier: Apache-2.0 */
/* printf's place in the agent: the C library's own may allocate, takes locks and looks
 * at the locale. Only what the agent's texts need is there, and a conversion that is
 * not there prints a question mark, so that it is seen. */
#include "base/fmt.h"

#include <stdint.h>

struct out {
	char *buf;
	size_t size, len;
};

static void put_char(struct out *o, char c)
{
	if (o->len + 1 < o->size)
		o->buf[o->len] = c;
	o->len++;
}

static void put_text(struct out *o, const char *s, size_t most)
{
	if (!s)
		s = "(null)";
	while (most-- && *s)
		put_char(o, *s++);
}

static void put_number(struct out *o, uint64_t n, unsigned base)
{
	char digits[24];
	unsigned k = 0;

	do
		digits[k++] = "0123456789abcdef"[n % base];
	while (n /= base);
	while (k)
		put_char(o, digits[--k]);
}

static void put_signed(struct out *o, int64_t n)
{
	if (n < 0)
		put_char(o, '-');
	put_number(o, n < 0 ? 0 - (uint64_t)n : (uint64_t)n, 10);
}

/* One conversion; `f` points behind the percent sign. Returns behind it. */
static const char *put_conversion(struct out *o, const char *f, va_list *args)
{
	size_t most = SIZE_MAX;
	int longs = 0;

	if (f[0] == '.' && f[1] == '*') {
		int n = va_arg(*args, int);

		most = n < 0 ? SIZE_MAX : (size_t)n;
		f += 2;
	}
	for (; *f == 'l' || *f == 'z'; f++)
		longs++;
	switch (*f) {
	case 's':
		put_text(o, va_arg(*args, const char *), most);
		break;
	case 'c':
		put_char(o, (char)va_arg(*args, int));
		break;
	case 'd':
		put_signed(o, longs ? va_arg(*args, long) : va_arg(*args, int));
		break;
	case 'u':
	case 'x':
		put_number(o,
			   longs ? va_arg(*args, unsigned long) : va_arg(*args, unsigned),
			   *f == 'u' ? 10 : 16);
		break;
	case '%':
		put_char(o, '%');
		break;
	case '\0':
		return f;
	default:
		put_char(o, '?');
	}
	return f + 1;
}

size_t fmt_v(char *buf, size_t size, const char *format, va_list args)
{
	struct out o = { buf, size, 0 };
	/* A parameter of this type is a pointer on x86-64, whose address would be of
	 * another type than put_conversion takes. */
	va_list copy;

	va_copy(copy, args);
	while (*format) {
		if (*format == '%')
			format = put_conversion(&o, format + 1, &copy);
		else
			put_char(&o, *format++);
	}
	va_end(copy);
	if (size)
		buf[o.len < size ? o.len : size - 1] = '\0';
	return o.len;
}

size_t fmt(char *buf, size_t size, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	size_t n = fmt_v(buf, size, format, args);
	va_end(args);
	return n;
}
