/* SPDX-License-Identifier: Apache-2.0 */
/*
 * units - numbers with their unit and three digits, for people.
 *
 * Threads  one at a time.
 * Memory   texts lie in the ring of report/out.h: eight at once.
 * Errors   none.
 * Units    in the names.
 */
#ifndef REPORT_UNITS_H
#define REPORT_UNITS_H

#include <stdint.h>

/* "23.7 ms", "912 us". */
const char *units_time(int64_t ns);
/* "56 %", "<1 %"; of 0 "0 %". */
const char *units_percent(double share);
/* Microseconds with three decimals, for programs: "23700.125". */
const char *units_us(int64_t ns);

/* A time as a whole number; what is out of range stays at its end. */
int64_t units_whole(double n);

#endif
