/* SPDX-License-Identifier: Apache-2.0 */
/*
 * phrase - numbers and places as advice says them.
 *
 * Threads  one at a time.
 * Memory   texts lie in a ring of static buffers: eight at once.
 * Errors   none; what is too long is cut.
 * Units    in the texts.
 */
#ifndef REPORT_ADVICE_PHRASE_H
#define REPORT_ADVICE_PHRASE_H

#include "report/advice/facts.h"

#define PHRASE 256u

/* The next buffer of the ring. */
char *phrase_room(void);
/* Three digits and a unit: "59.3 ms", "7.20 us", "850 ns". */
const char *phrase_time(int64_t ns);
/* Of two times or counts, 0 to 100. */
unsigned phrase_percent(double part, double of);
/* A name, cut to so many bytes, "..." at its end. */
const char *phrase_name(const char *name, size_t most);
/* Where a slice was called: "aten::item, train.py(14): main"; "" = the file does not say.
 * The operator is the outermost, the line the innermost that is not torch's own. */
const char *phrase_place(const struct facts *f, uint32_t slice);
/* Tells places apart: the text of their line, or else of their operator. */
uint32_t phrase_key(const struct facts *f, uint32_t slice);

#endif
