/* SPDX-License-Identifier: Apache-2.0 */
#include "report/out.h"

#include <stdlib.h>
#include <string.h>

static char *next_buffer(void)
{
	static char ring[8][48];
	static unsigned at;

	return ring[at++ % 8];
}

const char *out_bytes(int64_t bytes)
{
	static const char *const units[] = { "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	char *out = next_buffer();
	double n = (double)bytes;
	int unit = -1;

	while ((n >= 1024 || n <= -1024) && unit < 5) {
		n /= 1024;
		unit++;
	}
	/* 1023.96 would be printed as 1024.0. */
	if ((n >= 1023.95 || n <= -1023.95) && unit < 5) {
		n /= 1024;
		unit++;
	}
	if (unit < 0)
		snprintf(out, 48, "%lld B", (long long)bytes);
	else
		snprintf(out, 48, "%.1f %s", n, units[unit]);
	return out;
}

const char *out_count(int64_t n)
{
	char digits[24], *out = next_buffer(), *p = out;
	int len = snprintf(digits, sizeof(digits), "%lld", (long long)n);

	for (int i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0 && digits[i - 1] != '-')
			*p++ = ',';
		*p++ = digits[i];
	}
	*p = '\0';
	return out;
}

const char *out_ms(int64_t ns)
{
	char *out = next_buffer();

	snprintf(out, 48, "%.3f ms", (double)ns / 1e6);
	return out;
}

/* The length of the UTF-8 character there; 0 = it is none. */
static size_t utf8(const unsigned char *p)
{
	size_t n = *p < 0x80       ? 1
		   : *p >> 5 == 6  ? 2
		   : *p >> 4 == 14 ? 3
		   : *p >> 3 == 30 ? 4
				   : 0;
	unsigned c = n == 2 ? *p & 31 : n == 3 ? *p & 15 : n == 4 ? *p & 7 : *p;

	for (size_t i = 1; i < n; i++) {
		if (p[i] >> 6 != 2)
			return 0;
		c = c << 6 | (p[i] & 63);
	}
	if ((n == 2 && c < 0x80) || (n == 3 && c < 0x800) || (n == 4 && c < 0x10000) ||
	    c > 0x10ffff || c >> 11 == 0x1b)
		return 0;
	return n;
}

void out_text(FILE *out, const char *text, size_t most)
{
	const unsigned char *p = (const unsigned char *)text;
	size_t columns = 0, n;

	for (const unsigned char *q = p; *q; q += (n = utf8(q)) ? n : 1)
		columns++;
	for (size_t i = 0; *p; i++) {
		if (columns > most && i + 3 >= most) {
			fputs("...", out);
			return;
		}
		n = utf8(p);
		/* Control characters, those of C1 and what turns the direction of a line.
		 */
		if (!n || *p < 0x20 || *p == 0x7f || (*p == 0xc2 && p[1] < 0xa0) ||
		    (*p == 0xe2 && p[1] == 0x80 && p[2] >= 0xaa && p[2] <= 0xae) ||
		    (*p == 0xe2 && p[1] == 0x81 && p[2] >= 0xa6 && p[2] <= 0xa9))
			putc('?', out);
		else
			fwrite(p, 1, n, out);
		p += n ? n : 1;
	}
}

void out_json(FILE *out, const char *text)
{
	const unsigned char *p = (const unsigned char *)text;

	putc('"', out);
	while (*p) {
		size_t n = utf8(p);

		if (!n)
			fputs("\\ufffd", out);
		else if (*p == '"' || *p == '\\')
			fprintf(out, "\\%c", *p);
		else if (*p < 0x20 || *p == 0x7f)
			fprintf(out, "\\u%04x", *p);
		else
			fwrite(p, 1, n, out);
		p += n ? n : 1;
	}
	putc('"', out);
}
